//! Subqueries in expressions: as a value, as a list, and compared with by IN, ANY and ALL.

use datafusion_expr::Operator;
use expressions::functions::quantified;
use sqlparser::ast::{BinaryOperator, Expr as Ast, Query};

use super::expr::operator;
use super::query::mapped;
use super::scope::{Env, Field};
use super::{Binder, Bound};
use crate::algebra::{Aggregate, Call, ColumnId, Expr, Kind, Rel, SortKey, Subquery, SubqueryKind};
use crate::error::{Error, Result};
use crate::types::aggregates::is_ordered;

impl Binder<'_> {
    /// The value of the only row of a query.
    pub(super) fn scalar(&mut self, query: &Query, env: &Env<'_>) -> Result<Expr> {
        let (rel, column) = self.one_column(query, env)?;
        Ok(self.value_of(rel, column))
    }

    /// `ARRAY(SELECT …)`: the values of a query in its order, as a list.
    pub(super) fn listed(&mut self, query: &Query, env: &Env<'_>) -> Result<Expr> {
        let (rel, column) = self.one_column(query, env)?;
        let function = self.functions.aggregate("array_agg");
        // What it can't put in order comes in that of the rows where the subquery is not correlated.
        let mut order_by = order_of(&rel).to_vec();
        if !order_by.iter().all(|key| is_ordered(&key.expr.data_type)) {
            order_by.clear();
        }
        let call = Call {
            function: function.ok_or_else(|| Error::Invalid("there is no aggregate 'array_agg'".into()))?,
            args: vec![self.columns.read(column)],
            distinct: false,
            filter: None,
            order_by,
            ignore_nulls: None,
        };
        let holds = self.columns.holds_of_aggregate(&call);
        let (call, data_type) = self.types.aggregate_as("array_agg", call)?;
        let list = self.columns.add("array", data_type);
        self.columns.mark(list, holds);
        let (input, calls) = (Box::new(rel), vec![(list, call)]);
        let rel = Rel::Aggregate(Aggregate { input, keys: vec![], calls, totals: vec![] });
        // Of no rows the aggregate is NULL, and this an empty list.
        let empty = self.types.list_call("list_value", vec![])?;
        let value = self.value_of(rel, list);
        self.call_named("coalesce", vec![value, empty])
    }

    /// A query of one column, and that column.
    fn one_column(&mut self, query: &Query, env: &Env<'_>) -> Result<(Rel, ColumnId)> {
        let bound = self.query(query, Some(env), env.ctes)?;
        match bound.fields.as_slice() {
            [field] => Ok((bound.rel, field.id)),
            fields => Err(Error::Invalid(format!(
                "a subquery as a value has one column, and this one has {}",
                fields.len()
            ))),
        }
    }

    /// The value of a column of the one row that there is at most.
    fn value_of(&self, rel: Rel, column: ColumnId) -> Expr {
        let data_type = self.columns.get(column).data_type.clone();
        let subquery = Subquery { kind: SubqueryKind::Scalar, rel, columns: vec![column] };
        Expr { kind: Kind::Subquery(Box::new(subquery)), data_type }
    }

    /// `left op ANY (subquery)` or ALL.
    pub(super) fn compared_with(
        &mut self,
        left: &Ast,
        op: &BinaryOperator,
        is_all: bool,
        right: &Ast,
        env: &Env<'_>,
    ) -> Result<Expr> {
        let op = operator(op)?;
        let Ast::Subquery(query) = right else {
            // Of a list.
            let args = vec![self.expr(left, env)?, self.expr(right, env)?];
            return self.call_named(&quantified::name(op, is_all), args);
        };
        if !op.supports_propagation() {
            return Err(Error::Unsupported(format!("{op} ANY and {op} ALL of a subquery")));
        }
        // `= ANY` and `<> ALL` are IN and NOT IN.
        if op == Operator::NotEq && is_all {
            return Ok(self.quantified(left, Operator::Eq, false, query, env)?.not());
        }
        self.quantified(left, op, is_all, query, env)
    }

    /// A query of one column, which has the columns of another one as a struct.
    fn as_rows(&mut self, bound: Bound) -> Result<Bound> {
        let columns = bound.fields.iter().map(|field| self.columns.read(field.id)).collect();
        let row = self.call_named("struct", columns)?;
        let id = self.columns.add_of("row", &row);
        let fields = vec![Field { id, name: "row".into() }];
        Ok(Bound { rel: mapped(bound.rel, vec![(id, row)]), fields })
    }

    /// Whether a comparison with the rows of a query is true for one of them, or for all.
    pub(super) fn quantified(
        &mut self,
        left: &Ast,
        op: Operator,
        is_all: bool,
        query: &Query,
        env: &Env<'_>,
    ) -> Result<Expr> {
        let mut left = left;
        while let Ast::Nested(inner) = left {
            left = inner;
        }
        let mut bound = self.query(query, Some(env), env.ctes)?;
        let values = match left {
            // Rows in an order are values as a whole, as `(a, b) < (c, d)` compares them.
            Ast::Tuple(parts) if parts.len() == bound.fields.len() && is_of_order(op) && parts.len() > 1 => {
                bound = self.as_rows(bound)?;
                vec![self.expr(left, env)?]
            }
            // One column has to hold rows.
            Ast::Tuple(parts) if parts.len() > 1 && bound.fields.len() != 1 => self.exprs(parts, env)?,
            Ast::Tuple(parts) if parts.len() == 1 => self.exprs(parts, env)?,
            one => vec![self.expr(one, env)?],
        };
        if bound.fields.len() != values.len() {
            return Err(Error::Invalid(format!(
                "the subquery has {} columns, and is compared with {}",
                bound.fields.len(),
                values.len()
            )));
        }
        let (mut casts, mut columns, mut compared) = (Vec::new(), Vec::new(), Vec::new());
        for (value, field) in values.into_iter().zip(&bound.fields) {
            let column = self.columns.read(field.id);
            let (value, data_type) = self.types.comparable(value, op, &column.data_type)?;
            compared.push(value);
            columns.push(match column.data_type == data_type {
                true => field.id,
                false => {
                    let cast = self.types.cast(column, &data_type, false)?;
                    let id = self.columns.add(&field.name, data_type);
                    casts.push((id, cast));
                    id
                }
            });
        }
        let rel = mapped(bound.rel, casts);
        let kind = match is_all {
            true => SubqueryKind::All { op, values: compared },
            false => SubqueryKind::Any { op, values: compared },
        };
        Ok(subquery_of(kind, rel, columns))
    }
}

/// Whether a comparison asks which of two values comes first.
fn is_of_order(op: Operator) -> bool {
    matches!(op, Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq)
}

/// The order of the rows of a query.
fn order_of(rel: &Rel) -> &[SortKey] {
    match rel {
        Rel::Sort(sort) => &sort.keys,
        Rel::Limit(limit) => order_of(&limit.input),
        _ => &[],
    }
}

/// A condition on the rows of a subquery.
pub(super) fn subquery_of(kind: SubqueryKind, rel: Rel, columns: Vec<ColumnId>) -> Expr {
    Expr::condition(Kind::Subquery(Box::new(Subquery { kind, rel, columns })))
}
