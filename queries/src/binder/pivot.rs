//! PIVOT and UNPIVOT, in the form that [`crate::parse::pivots`] gives them: a SELECT over the table that is turned.
//!
//! - PIVOT groups by the columns that it does not name, or by those of GROUP BY. It computes each aggregate once for
//!   each combination of values, of the rows that have it: `sum(x) FILTER (WHERE q IS NOT DISTINCT FROM 'a')`.
//! - UNPIVOT gives each row once for each of its entries: a cross join with the numbers of the entries, and a CASE for each
//!   column.

use std::collections::BTreeSet;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use sqlparser::ast::{
    self, BinaryOperator, Expr as Ast, Function, GroupByExpr, Ident, ObjectNamePart, Select, SelectItem,
    Spanned, Value,
};
use sqlparser::tokenizer::Span;

use super::columns::written;
use super::query::{Range, mapped};
use super::scope::{Ctes, Env, Field, Named, Scope};
use super::{Binder, Bound, names};
use crate::algebra::{ColumnId, Expr, Filter, Join, JoinKind, Rel, Values};
use crate::error::{Error, Result};
use crate::parse::{calls, pivots};
use crate::visitors;

/// The most columns that PIVOT makes.
const MOST_COLUMNS: usize = 20_000;

/// What turns the table of a SELECT.
#[derive(Debug, Clone, Copy)]
pub(super) enum Turning<'q> {
    Pivot,
    /// The call that has the names.
    Unpivot(&'q Function),
}

/// Whether a SELECT is that of a PIVOT or UNPIVOT.
pub(super) fn of(select: &Select) -> Option<Turning<'_>> {
    let first = select.projection.first()?;
    match calls::call(first, &[pivots::INTO, pivots::INTO_NULLS]) {
        Some(names) => Some(Turning::Unpivot(names)),
        None => calls::call(first, &[pivots::ON, pivots::LISTED]).map(|_| Turning::Pivot),
    }
}

/// A column that PIVOT turns.
struct Element<'q> {
    column: &'q Ast,
    /// Each value and its name.
    values: Vec<(&'q Ast, String)>,
}

/// An aggregate of PIVOT.
struct Computed<'q> {
    expr: &'q Ast,
    /// What stands behind the names of the values in that of its columns.
    name: Option<String>,
}

impl Binder<'_> {
    /// What PIVOT or UNPIVOT gives of a relation.
    pub(super) fn turned(
        &mut self,
        select: &Select,
        turning: Turning<'_>,
        rel: Rel,
        scope: Scope,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Bound> {
        if select.having.is_some() {
            let message = "HAVING in PIVOT\n  help: put a SELECT … WHERE around it: FROM (PIVOT …) WHERE …";
            return Err(Error::Unsupported(message.into()).at_word("HAVING"));
        }
        match turning {
            Turning::Pivot => self.pivoted(select, rel, scope, outer, ctes),
            Turning::Unpivot(names) => self.unpivoted(select, names, rel, scope, outer, ctes),
        }
    }

    fn pivoted(
        &mut self,
        select: &Select,
        rel: Rel,
        scope: Scope,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Bound> {
        let env = Env { outer, ctes, ..Env::of(&scope, "PIVOT") };
        let mut elements = Vec::new();
        let mut computed: Vec<Computed<'_>> = Vec::new();
        for item in &select.projection {
            if let Some(function) = calls::call(item, &[pivots::ON, pivots::LISTED]) {
                elements.push(self.element(function, &env)?);
                continue;
            }
            computed.push(match item {
                SelectItem::UnnamedExpr(expr) => Computed { expr, name: None },
                SelectItem::ExprWithAlias { expr, alias } => {
                    Computed { expr, name: Some(alias.value.clone()) }
                }
                other => {
                    let message = format!("USING of PIVOT takes aggregates, and {other} is none");
                    return Err(Error::Invalid(message).at(other.span()));
                }
            });
        }
        if let [_, _, ..] = computed.as_slice() {
            for aggregate in &mut computed {
                aggregate.name.get_or_insert_with(|| names::of(aggregate.expr, &env));
            }
        }
        let mut read = BTreeSet::new();
        let named = elements.iter().map(|element| element.column);
        named.chain(computed.iter().map(|one| one.expr)).for_each(|e| read_by(e, &env, &mut read));
        let count = elements.iter().try_fold(computed.len(), |all, one| all.checked_mul(one.values.len()));
        if count.is_none_or(|count| count > MOST_COLUMNS) {
            return Err(Error::TooLarge {
                message: format!("PIVOT would make more than {MOST_COLUMNS} columns"),
            });
        }
        let mut projection = Vec::new();
        let groups = match &select.group_by {
            GroupByExpr::All(_) => {
                let message = "GROUP BY ALL in PIVOT\n  help: without GROUP BY, all columns group that it does not name";
                return Err(Error::Unsupported(message.into()).at_word("GROUP"));
            }
            GroupByExpr::Expressions(given, _) if !given.is_empty() => {
                projection.extend(given.iter().map(|key| SelectItem::UnnamedExpr(key.clone())));
                given.clone()
            }
            GroupByExpr::Expressions(..) => {
                let rest = scope.shown().iter().map(|shown| &shown.field).filter(|f| !read.contains(&f.id));
                let mut groups = Vec::new();
                for field in rest {
                    let expr = written(field, Span::empty(), &env);
                    groups.push(expr.clone());
                    let alias = Ident::with_quote('"', &field.name);
                    projection.push(SelectItem::ExprWithAlias { expr, alias });
                }
                groups
            }
        };
        for (condition, name) in combinations(&elements) {
            for aggregate in &computed {
                let name = match &aggregate.name {
                    Some(own) => format!("{name}_{own}"),
                    None => name.clone(),
                };
                let expr = self.of_rows(aggregate.expr, &condition)?;
                projection.push(SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) });
            }
        }
        if projection.is_empty() {
            let message = "PIVOT finds no value, and no column to group by";
            return Err(Error::Invalid(message.into()));
        }
        let group_by = GroupByExpr::Expressions(groups, vec![]);
        let select = Select { projection, group_by, ..select.clone() };
        self.select_over(&select, rel, scope, None, Range::default(), outer, ctes)
    }

    /// A column of PIVOT, and its values.
    fn element<'q>(&mut self, function: &'q Function, env: &Env<'_>) -> Result<Element<'q>> {
        let mut args = calls::args(function);
        let Some(column) = args.next() else {
            return Err(Error::Invalid("PIVOT takes columns".into()));
        };
        // A column that is not there is told before its values.
        self.expr(column, env)?;
        let mut values: Vec<(&Ast, String)> = Vec::new();
        for value in args {
            let Ast::Function(value) = value else { continue };
            let mut of_value = calls::args(value);
            let Some(written) = of_value.next() else { continue };
            let name = match of_value.next() {
                Some(Ast::Value(name)) => name.value.clone().into_string().unwrap_or_default(),
                _ => self.name_of_value(written)?,
            };
            if values.iter().any(|(_, other)| *other == name) {
                let message = format!("PIVOT has the value '{name}' twice");
                return Err(Error::Invalid(message).at(written.span()));
            }
            values.push((written, name));
        }
        if values.is_empty() && calls::name_of(function) == Some(pivots::ON) {
            let message = "PIVOT without the values of its column, where they can't be asked for\n  \
                           help: list them: ON column IN ('a', 'b')";
            return Err(Error::Unsupported(message.into()).at(column.span()));
        }
        Ok(Element { column, values })
    }

    /// The text of a constant.
    fn name_of_value(&mut self, value: &Ast) -> Result<String> {
        let scope = Scope::default();
        let constant = self.expr(value, &Env::of(&scope, "the list of PIVOT"))?;
        let text = self.types.cast(constant, &DataType::Utf8View, false)?;
        let text = self.types.constant(&text).map_err(|_| {
            Error::Invalid(format!("the list of PIVOT takes constants, and {value} is none")).at(value.span())
        })?;
        Ok(text.try_as_str().flatten().unwrap_or("NULL").to_string())
    }

    /// An expression of aggregates, each of which gets a condition on its rows.
    fn of_rows(&self, e: &Ast, condition: &Ast) -> Result<Ast> {
        let (mut expr, mut found) = (e.clone(), false);
        visitors::try_outside_subqueries(&mut expr, &mut |e| {
            let Ast::Function(function) = e else { return Ok(()) };
            let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return Ok(()) };
            if self.functions.aggregate(&name.value.to_lowercase()).is_none() {
                return Ok(());
            }
            if function.over.is_some() {
                let message = "a window function in USING of PIVOT, which takes aggregates";
                return Err(Error::Invalid(message.into()).at(name.span));
            }
            found = true;
            let own = function.filter.take();
            function.filter = Some(Box::new(match own {
                Some(own) => both(condition.clone(), *own),
                None => condition.clone(),
            }));
            Ok(())
        })?;
        match found {
            true => Ok(expr),
            false => {
                let message = format!("USING of PIVOT takes an aggregate, such as sum(x), and {e} is none");
                Err(Error::Invalid(message).at(e.span()))
            }
        }
    }

    fn unpivoted(
        &mut self,
        select: &Select,
        into: &Function,
        rel: Rel,
        scope: Scope,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Bound> {
        let mut given = Vec::new();
        for name in calls::args(into) {
            let Ast::Identifier(name) = name else {
                let message = format!("INTO of UNPIVOT takes names of columns, and {name} is none");
                return Err(Error::Invalid(message).at(name.span()));
            };
            given.push(name.value.clone());
        }
        let env = Env { outer, ctes, ..Env::of(&scope, "UNPIVOT") };
        let projection = select.projection.iter().skip(1).cloned().collect();
        // So that `*` is given as the columns that it stands for.
        let entries = Select { projection, group_by: GroupByExpr::All(vec![]), ..select.clone() };
        let entries = self.selected(&entries, &env)?;
        let (mut labels, mut rows, mut read) = (Vec::new(), Vec::new(), BTreeSet::new());
        for item in entries.iter() {
            let (e, alias) = match item {
                SelectItem::UnnamedExpr(e) => (e, None),
                SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.value.clone())),
                other => {
                    let message = format!("ON of UNPIVOT takes columns, and {other} is none");
                    return Err(Error::Invalid(message).at(other.span()));
                }
            };
            let parts: Vec<&Ast> = match e {
                Ast::Tuple(parts) => parts.iter().collect(),
                one => vec![one],
            };
            if parts.len() + 1 != given.len() {
                return Err(Error::Invalid(format!(
                    "an entry of UNPIVOT has {} values, and {} names are given for them\n  \
                     help: (a, b), (c, d) INTO NAME n VALUE v, w",
                    parts.len(),
                    given.len() - 1
                ))
                .at(e.span()));
            }
            let label = |part: &&Ast| {
                let mut own = BTreeSet::new();
                read_by(part, &env, &mut own);
                let mut shown = scope.shown().iter().map(|shown| &shown.field);
                match shown.find(|field| own.contains(&field.id)) {
                    Some(field) if own.len() == 1 => field.name.clone(),
                    _ => names::of(part, &env),
                }
            };
            labels.push(alias.unwrap_or_else(|| parts.iter().map(label).collect::<Vec<_>>().join("_")));
            parts.iter().for_each(|part| read_by(part, &env, &mut read));
            let values = parts.iter().map(|part| self.expr(part, &env)).collect::<Result<Vec<_>>>()?;
            rows.push((values, e.span()));
        }
        let entry = self.columns.add("entry", DataType::Int64);
        let number = |i: usize| Expr::literal(ScalarValue::Int64(Some(i as i64)));
        let numbers =
            Values { columns: vec![entry], rows: (0..rows.len()).map(|i| vec![number(i)]).collect() };
        let (left, right) = (Box::new(rel), Box::new(Rel::Values(numbers)));
        let all = Rel::Join(Join { kind: JoinKind::Inner, left, right, predicates: vec![] });
        let case = |binder: &Self, values: Vec<Expr>| {
            let branches = values.into_iter().enumerate().map(|(i, value)| (number(i), value)).collect();
            binder.types.case(Some(binder.columns.read(entry)), branches, None)
        };
        let text = |text: &String| Expr::literal(ScalarValue::Utf8View(Some(text.clone())));
        let mut computed = vec![case(self, labels.iter().map(text).collect())?];
        for i in 0..given.len() - 1 {
            let values = rows.iter().map(|(values, _)| values[i].clone()).collect();
            let place = rows.first().map_or(Span::empty(), |(_, place)| *place);
            computed.push(case(self, values).map_err(|error| error.at(place))?);
        }
        let rest = scope.shown().iter().map(|shown| shown.field.clone());
        let mut fields: Vec<Field> = rest.filter(|field| !read.contains(&field.id)).collect();
        let mut exprs = Vec::with_capacity(computed.len());
        let mut predicates = Vec::new();
        let keeps_nulls = calls::name_of(into) == Some(pivots::INTO_NULLS);
        for (i, (name, e)) in given.into_iter().zip(computed).enumerate() {
            let id = self.columns.add_of(&name, &e);
            exprs.push((id, e));
            if i > 0 && !keeps_nulls {
                predicates.push(self.types.is_null(self.columns.read(id), true));
            }
            fields.push(Field { name, id });
        }
        let rel = mapped(all, exprs);
        let rel = match predicates.is_empty() {
            true => rel,
            false => Rel::Filter(Filter { input: Box::new(rel), predicates }),
        };
        Ok(Bound { rel, fields })
    }
}

/// For each combination of values the condition on the rows that have it, and its name.
fn combinations(elements: &[Element<'_>]) -> Vec<(Ast, String)> {
    let mut all: Vec<(Option<Ast>, String)> = vec![(None, String::new())];
    for element in elements {
        let mut more = Vec::with_capacity(all.len() * element.values.len());
        for (condition, name) in &all {
            for (value, of_value) in &element.values {
                let nested = |e: &Ast| Box::new(Ast::Nested(Box::new(e.clone())));
                let column = match value {
                    Ast::Value(text) if matches!(text.value, Value::SingleQuotedString(_)) => {
                        Box::new(as_text(element.column))
                    }
                    _ => nested(element.column),
                };
                let own = Ast::IsNotDistinctFrom(column, nested(value));
                more.push(match condition {
                    None => (Some(own), of_value.clone()),
                    Some(before) => (Some(both(before.clone(), own)), format!("{name}_{of_value}")),
                });
            }
        }
        all = more;
    }
    all.into_iter().filter_map(|(condition, name)| Some((condition?, name))).collect()
}

/// A column whose values are told by their texts.
fn as_text(column: &Ast) -> Ast {
    let data_type = ast::DataType::Varchar(None);
    let (kind, expr) = (ast::CastKind::Cast, Box::new(column.clone()));
    Ast::Cast { kind, expr, data_type, array: false, format: None }
}

fn both(left: Ast, right: Ast) -> Ast {
    let nested = |e: Ast| Box::new(Ast::Nested(Box::new(e)));
    Ast::BinaryOp { left: nested(left), op: BinaryOperator::And, right: nested(right) }
}

/// Adds the columns of the relations at hand that an expression names.
fn read_by(e: &Ast, env: &Env<'_>, read: &mut BTreeSet<ColumnId>) {
    visitors::any_expression(e, &mut |e| {
        let found = match e {
            Ast::Identifier(name) => match env.find(name) {
                Ok(Some(Named::Column(field, _))) => Some(field),
                _ => None,
            },
            Ast::CompoundIdentifier(parts) => env.find_path(parts).ok().flatten().map(|(field, _)| field),
            _ => None,
        };
        read.extend(found.map(|field| field.id));
        false
    });
}
