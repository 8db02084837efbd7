//! `INTERSECT ALL` and `EXCEPT ALL`: a row that occurs l times on the left and r times on the right is given
//! min(l, r) or l - r times. The planner would take them for semi and anti joins, which give other multiplicities.
//!
//! In the syntax tree such an operation becomes a `UNION ALL` whose right side has a reserved name. In the bound plan
//! the rows of such a union are counted, and each is repeated.

use std::cmp::Ordering;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, DFSchema, DFSchemaRef, Result as DfResult};
use datafusion_expr::logical_plan::{Extension, Union};
use datafusion_expr::{
    Expr as LogicalExpr, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNodeCore, lit, when,
};
use datafusion_functions_aggregate::expr_fn::sum;
use datafusion_sql::sqlparser::ast::{Query, SetExpr, SetOperator, SetQuantifier, TableFactor, Values};

use crate::error::{Error, Result};
use crate::parse::{self, Statement};
use crate::tree;

/// The names that mark the right side of a union.
const INTERSECT: &str = "the right side of INTERSECT ALL";
const EXCEPT: &str = "the right side of EXCEPT ALL";

/// Makes the operations of a query's body unions.
pub fn mark(body: &mut SetExpr) -> ControlFlow<Error> {
    let SetExpr::SetOperation { op, set_quantifier, left, right } = body else {
        return ControlFlow::Continue(());
    };
    let name = match op {
        SetOperator::Intersect => INTERSECT,
        SetOperator::Except | SetOperator::Minus => EXCEPT,
        SetOperator::Union => "",
    };
    match set_quantifier {
        SetQuantifier::All if !name.is_empty() => {
            *op = SetOperator::Union;
            let nothing = SetExpr::Values(Values { explicit_row: false, value_keyword: false, rows: vec![] });
            let side = std::mem::replace(right.as_mut(), nothing);
            **right = SetExpr::Query(named(side, name)?);
        }
        SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName
            if !name.is_empty() =>
        {
            return ControlFlow::Break(Error::Unsupported(format!("{op} {set_quantifier}")));
        }
        _ => mark(right)?,
    }
    mark(left)
}

/// `SELECT * FROM (side) AS name`.
fn named(side: SetExpr, name: &str) -> ControlFlow<Error, Box<Query>> {
    let text = format!("SELECT * FROM (SELECT 1) AS \"{name}\"");
    let mut query = match parse::parse(&text) {
        Ok(Statement::Query(query)) => Box::new(Arc::unwrap_or_clone(query)),
        Ok(_) => unreachable!("the text is a SELECT"),
        Err(e) => return ControlFlow::Break(e),
    };
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(TableFactor::Derived { subquery, .. }) = select.from.first_mut().map(|t| &mut t.relation)
    {
        *subquery.body = side;
    }
    ControlFlow::Continue(query)
}

/// Counts and repeats the rows of the unions that are marked.
pub fn apply(plan: LogicalPlan) -> Result<LogicalPlan> {
    let applied = tree::plan_up(plan, &mut |node| match &node {
        LogicalPlan::Union(union) => match operation(union) {
            Some(name) => Ok(Transformed::yes(counted(union, name)?)),
            None => Ok(Transformed::no(node)),
        },
        _ => Ok(Transformed::no(node)),
    })?;
    Ok(applied.data)
}

/// The mark of a union.
fn operation(union: &Union) -> Option<&'static str> {
    let [_, right] = union.inputs.as_slice() else { return None };
    let mut node = right;
    while let LogicalPlan::Projection(projection) = node.as_ref() {
        node = &projection.input;
    }
    let LogicalPlan::SubqueryAlias(alias) = node.as_ref() else { return None };
    [INTERSECT, EXCEPT].into_iter().find(|name| alias.alias.table() == *name)
}

fn counted(union: &Union, operation: &str) -> DfResult<LogicalPlan> {
    let named = |name: String| LogicalExpr::Column(Column::new_unqualified(name));
    let width = union.schema.fields().len();
    let keys: Vec<LogicalExpr> = (0..width).map(|i| named(format!("column {i}"))).collect();
    let side = |input: &LogicalPlan, in_left: i64, in_right: i64| {
        let columns = input.schema().columns().into_iter().enumerate();
        let columns = columns.map(|(i, c)| LogicalExpr::Column(c).alias(format!("column {i}")));
        let counts = [lit(in_left).alias("in left"), lit(in_right).alias("in right")];
        LogicalPlanBuilder::from(input.clone()).project(columns.chain(counts).collect::<Vec<_>>())?.build()
    };
    let counts = ["in left", "in right"].map(|name| sum(named(name.into())).alias(format!("sum {name}")));
    let (left, right) = (named("sum in left".into()), named("sum in right".into()));
    let times = match operation {
        INTERSECT => when(left.clone().lt(right.clone()), left).otherwise(right)?,
        _ => left - right,
    };
    let input = LogicalPlanBuilder::from(side(&union.inputs[0], 1, 0)?)
        .union(side(&union.inputs[1], 0, 1)?)?
        .aggregate(keys.clone(), counts)?
        .project(keys.into_iter().chain([times.alias("times")]).collect::<Vec<_>>())?
        .filter(named("times".into()).gt(lit(0_i64)))?
        .build()?;
    let repeat = Repeat { input: Arc::new(input), schema: union.schema.clone() };
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(repeat) }))
}

/// Gives each row of the input as often as its last column says, without that column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Repeat {
    /// The rows and, last, a count above 0 (a 64-bit integer).
    pub input: Arc<LogicalPlan>,
    schema: DFSchemaRef,
}

impl Repeat {
    /// The same over an input that carries columns behind those of the rows, before the count.
    pub fn carrying(&self, input: LogicalPlan, columns: usize) -> DfResult<Repeat> {
        let width = self.schema.fields().len();
        let given = self.schema.iter().map(|(qualifier, field)| (qualifier.cloned(), field.clone()));
        let carried = input.schema().iter().skip(width).take(columns);
        let carried = carried.map(|(qualifier, field)| (qualifier.cloned(), field.clone()));
        let schema =
            DFSchema::new_with_metadata(given.chain(carried).collect(), self.schema.metadata().clone())?;
        Ok(Repeat { input: Arc::new(input), schema: Arc::new(schema) })
    }
}

impl PartialOrd for Repeat {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.input.partial_cmp(&other.input)
    }
}

impl UserDefinedLogicalNodeCore for Repeat {
    fn name(&self) -> &str {
        "Repeat"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<LogicalExpr> {
        vec![]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Repeat")
    }

    fn with_exprs_and_inputs(&self, _: Vec<LogicalExpr>, mut inputs: Vec<LogicalPlan>) -> DfResult<Self> {
        let input = inputs.swap_remove(0);
        // The input's types change when the sides of the union are given a common type.
        let typed = self.schema.iter().zip(input.schema().fields()).map(|((qualifier, field), from)| {
            let field = field.as_ref().clone().with_data_type(from.data_type().clone());
            (qualifier.cloned(), Arc::new(field.with_nullable(from.is_nullable())))
        });
        let schema = DFSchema::new_with_metadata(typed.collect(), self.schema.metadata().clone())?;
        Ok(Repeat { input: Arc::new(input), schema: Arc::new(schema) })
    }
}
