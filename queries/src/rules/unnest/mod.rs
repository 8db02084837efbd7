//! Subqueries in expressions and dependent joins become joins and stages.
//!
//! It is done in two steps. First each subquery is taken out of its expression. One that names no columns around it and
//! gives a value becomes a stage. Any other one becomes the right side of a join, whose columns its value is computed
//! from. Such a join is *dependent*: its right side reads columns of its left side. Then dependent joins are taken
//! apart from the top down, in the cheapest way that keeps the meaning:
//!
//! - Conditions that name columns of the left side are moved up into the join, past what does not change them.
//! - Else the right side is computed for each distinct combination of these columns, the *domain*. It is moved down to
//!   where they are named and is carried along from there. The join then looks for the row's own combination. After
//!   Neumann and Kemper, Unnesting Arbitrary Queries (BTW 2015), and Neumann, Improving Unnesting of Complex Queries
//!   (BTW 2025). A join that is taken apart inside of another one gets the domain of both, so that depth costs no more
//!   than breadth. Where a column of the right side is compared with a column of the domain for equality, it takes its
//!   place, and nothing is joined.
//!
//! Modules of the first step:
//! - [`relations`]: what becomes of the relations in whose expressions subqueries stand.
//! - [`values`]: an expression, and what is known of the place where its value goes.
//! - [`exists`]: EXISTS. [`quantified`]: ANY and ALL. [`scalar`]: the value of the only row. [`single`]: the error if there are several.
//! - [`stages`]: subqueries that are run before the rest, equal ones once.
//! - [`sides`]: subqueries in ON that name columns of both sides of an outer join.
//!
//! Modules of the second step:
//! - [`eliminate`]: a dependent join. [`pull`]: conditions that are moved up.
//! - [`lift`]: what is computed from outer columns above the join. [`group`]: an aggregate without keys as the right side.
//! - [`items`]: a right side that is made of a left row alone.
//! - [`domain`]: where the combinations come from. [`push`]: a relation for each of them. [`padded`]: where each of them
//!   must have a row. [`limits`]: some rows of each of them.
//! - [`repeatable`]: what gives the same rows whenever it is read. [`failing`]: what can fail on some row.

mod domain;
mod eliminate;
mod exists;
mod failing;
mod group;
mod items;
mod lift;
mod limits;
mod padded;
mod pull;
mod push;
mod quantified;
mod relations;
pub mod repeatable;
mod scalar;
mod sides;
mod single;
mod stages;
#[cfg(test)]
mod tests;
mod values;

pub(super) use repeatable::is_repeatable;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::{AggregateUDF, Operator};

use crate::algebra::{
    Call, ColumnId, Columns, Expr, Filter, Join, JoinKind, Kind, Map, Rel, Stage, Statement, Subquery,
};
use crate::error::{Error, Result};

/// The most operators that copies of relations may add to a statement.
const MOST_COPIED: usize = 200_000;

/// Makes joins and stages of all subqueries, and plain joins of dependent ones.
///
/// # Errors
/// A shape that has no such form. What changes from one reading to the next would have to be read twice; or a statement
/// that becomes too large.
pub fn unnest(statement: Statement) -> Result<Statement> {
    if !eliminate::is_nested(&statement) {
        return Ok(statement);
    }
    let used = stages::used(&statement);
    let Statement { columns, stages: before, mut root, output } = statement;
    let mut unnest = Unnest { columns, stages: vec![], shapes: vec![], used, copied: 0 };
    let mut numbers = Vec::with_capacity(before.len());
    for mut stage in before {
        stage.renumber_stages(&|old| numbers.get(old).copied().unwrap_or(old));
        let root = unnest.relation(stage.root)?;
        numbers.push(unnest.stages.len());
        unnest.stages.push(Stage { root, ..stage });
    }
    renumber(&mut root, &numbers);
    let root = unnest.relation(root)?;

    let mut stages = Vec::with_capacity(unnest.stages.len());
    for stage in std::mem::take(&mut unnest.stages) {
        let above = Above::of(stage.columns.iter().copied().collect(), None);
        let root = unnest.joined(stage.root, &above)?;
        stages.push(Stage { root, ..stage });
    }
    let root = unnest.joined(root, &Above::of(output.iter().copied().collect(), None))?;
    Ok(Statement { columns: unnest.columns, stages, root, output })
}

/// Gives the stages that a relation reads other numbers, by their numbers so far.
fn renumber(rel: &mut Rel, numbers: &[usize]) {
    if numbers.iter().enumerate().any(|(old, new)| old != *new) {
        rel.renumber_stages(&|old| numbers.get(old).copied().unwrap_or(old));
    }
}

struct Unnest {
    columns: Columns,
    /// The stages so far.
    stages: Vec<Stage>,
    /// What each stage was made from, in a form in which equal ones are equal.
    shapes: Vec<(usize, Subquery)>,
    /// The columns that the statement reads somewhere.
    used: BTreeSet<ColumnId>,
    /// The operators of all copies.
    copied: usize,
}

impl Unnest {
    /// A new column.
    fn column(&mut self, name: &str, data_type: DataType) -> ColumnId {
        let id = self.columns.add(name, data_type);
        self.used.insert(id);
        id
    }

    /// A new column of the name and type of another one.
    fn like(&mut self, id: ColumnId) -> ColumnId {
        let column = self.columns.get(id).clone();
        self.column(&column.name, column.data_type)
    }

    fn read(&self, id: ColumnId) -> Expr {
        self.columns.read(id)
    }

    /// A copy of a relation, which makes columns of its own.
    fn copy(&mut self, rel: &Rel) -> Result<(Rel, BTreeMap<ColumnId, ColumnId>)> {
        rel.look(&mut |_| self.copied += 1);
        if self.copied > MOST_COPIED {
            let message = format!("its subqueries become more than {MOST_COPIED} operators");
            return Err(Error::TooLarge { message });
        }
        let (copy, numbers) = rel.copied(&mut self.columns);
        for (old, new) in &numbers {
            if self.used.contains(old) {
                self.used.insert(*new);
            }
        }
        Ok((copy, numbers))
    }
}

/// The columns that are read above a relation.
struct Above<'a> {
    reads: BTreeSet<ColumnId>,
    /// What is read further above, where that sees the relation's columns.
    parent: Option<&'a Above<'a>>,
}

impl<'a> Above<'a> {
    fn of(reads: BTreeSet<ColumnId>, parent: Option<&'a Above<'a>>) -> Above<'a> {
        Above { reads, parent }
    }

    /// What is read above the inputs of a relation.
    fn below(rel: &Rel, above: &'a Above<'a>) -> Above<'a> {
        let hides = matches!(rel, Rel::Aggregate(_) | Rel::Union(_));
        Above { reads: rel.reads(), parent: (!hides).then_some(above) }
    }

    fn reads(&self, id: ColumnId) -> bool {
        self.reads.contains(&id) || self.parent.is_some_and(|parent| parent.reads(id))
    }
}

/// The columns that expressions read.
fn reads<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> BTreeSet<ColumnId> {
    let mut columns = BTreeSet::new();
    exprs.into_iter().for_each(|e| e.collect_columns(&mut columns));
    columns
}

/// Whether an expression without subqueries reads one of these columns.
fn reads_any(e: &Expr, columns: &BTreeSet<ColumnId>) -> bool {
    e.any(&mut |e| e.as_column().is_some_and(|id| columns.contains(&id)))
}

/// Whether a relation gives a column.
fn gives(rel: &Rel, id: ColumnId) -> bool {
    match rel {
        Rel::Scan(node) => node.columns.contains(&id),
        Rel::Values(node) => node.columns.contains(&id),
        Rel::Map(node) => node.exprs.iter().any(|(made, _)| *made == id) || gives(&node.input, id),
        Rel::Join(node) => {
            matches!(node.kind, JoinKind::Mark(mark) if mark == id)
                || gives(&node.left, id)
                || node.kind.gives_right() && gives(&node.right, id)
        }
        Rel::Aggregate(node) => node.keys.contains(&id) || node.calls.iter().any(|(made, _)| *made == id),
        Rel::Window(node) => node.calls.iter().any(|(made, _)| *made == id) || gives(&node.input, id),
        Rel::Expand(node) => {
            node.id == id || node.keys.iter().any(|(made, _)| *made == id) || gives(&node.input, id)
        }
        Rel::Union(node) => node.columns.contains(&id),
        Rel::Shared(node) => node.columns.contains(&id),
        Rel::Filter(node) => gives(&node.input, id),
        Rel::Sort(node) => gives(&node.input, id),
        Rel::Limit(node) => gives(&node.input, id),
        Rel::Repeat(node) => gives(&node.input, id),
        Rel::Unnest(node) => node.made().any(|made| made == id) || gives(&node.input, id),
    }
}

/// Takes a relation out of its place.
fn take(rel: &mut Rel) -> Rel {
    std::mem::replace(rel, crate::algebra::Values::one())
}

/// The rows for which all predicates are true.
fn filtered(input: Rel, predicates: Vec<Expr>) -> Rel {
    if predicates.is_empty() {
        return input;
    }
    match input {
        Rel::Filter(mut node) => {
            node.predicates.extend(predicates);
            Rel::Filter(node)
        }
        input => Rel::Filter(Filter { input: Box::new(input), predicates }),
    }
}

/// Computes columns, if any.
fn mapped(input: Rel, exprs: Vec<(ColumnId, Expr)>) -> Rel {
    if exprs.is_empty() { input } else { Rel::Map(Map { input: Box::new(input), exprs }) }
}

/// What columns are computed from, for [`Expr::replace`].
fn sources(exprs: &[(ColumnId, Expr)]) -> impl Fn(ColumnId) -> Option<Expr> {
    |id| exprs.iter().find(|(made, _)| *made == id).map(|(_, e)| e.clone())
}

/// The numbers of columns after some got other ones.
fn renumbering(numbers: &BTreeMap<ColumnId, ColumnId>) -> impl Fn(ColumnId) -> ColumnId {
    |id| numbers.get(&id).copied().unwrap_or(id)
}

fn join(kind: JoinKind, left: Rel, right: Rel, predicates: Vec<Expr>) -> Rel {
    Rel::Join(Join { kind, left: Box::new(left), right: Box::new(right), predicates })
}

/// The result of the first branch whose condition is true.
fn case(branches: Vec<(Expr, Expr)>, otherwise: Expr) -> Expr {
    let data_type = otherwise.data_type.clone();
    Expr { kind: Kind::Case { operand: None, branches, otherwise: Some(Box::new(otherwise)) }, data_type }
}

/// The value where the condition is true, else NULL.
fn only_if(condition: Expr, value: Expr) -> Expr {
    let null = Expr::null(&value.data_type);
    case(vec![(condition, value)], null)
}

/// A 64-bit integer.
fn integer(value: i64) -> Expr {
    Expr::literal(ScalarValue::Int64(Some(value)))
}

/// Whether a number is above 0.
fn positive(e: Expr) -> Expr {
    Expr::compare(e, Operator::Gt, integer(0))
}

/// A plain call of an aggregate.
fn call(function: Arc<AggregateUDF>, args: Vec<Expr>) -> Call {
    Call { function, args, distinct: false, filter: None, order_by: vec![], ignore_nulls: None }
}

/// A call that counts rows.
fn count_rows() -> Call {
    call(datafusion_functions_aggregate::count::count_udaf(), vec![integer(1)])
}

/// A call that counts values.
fn count(e: Expr) -> Call {
    call(datafusion_functions_aggregate::count::count_udaf(), vec![e])
}
