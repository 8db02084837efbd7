//! Statements in few words.

use datafusion_common::ScalarValue;
use datafusion_expr::{AggregateUDF, Operator};
use std::sync::Arc;

use arrow_schema::DataType;

use super::{scan, table};
use crate::algebra::{
    Aggregate, Call, ColumnId, Columns, Expr, Filter, Join, JoinKind, Kind, Limit, Map, Rel, Sort, SortKey,
    Statement, Subquery, SubqueryKind,
};
use crate::error::Result;
use crate::rules::unnest::unnest;

/// The columns of a statement while it is built.
#[derive(Default)]
pub(super) struct Build {
    pub(super) columns: Columns,
}

impl Build {
    pub(super) fn scan<const N: usize>(&mut self, name: &str, columns: [&str; N]) -> (Rel, [ColumnId; N]) {
        let (rel, ids) = scan(&table(name, &columns), &mut self.columns);
        let mut all = [ColumnId(0); N];
        all.copy_from_slice(&ids);
        (rel, all)
    }

    pub(super) fn read(&self, id: ColumnId) -> Expr {
        self.columns.read(id)
    }

    pub(super) fn compare(&self, left: ColumnId, op: Operator, right: ColumnId) -> Expr {
        Expr::compare(self.read(left), op, self.read(right))
    }

    pub(super) fn eq(&self, left: ColumnId, right: ColumnId) -> Expr {
        self.compare(left, Operator::Eq, right)
    }

    /// One group, or those of the keys; the column of the call.
    pub(super) fn group(
        &mut self,
        input: Rel,
        keys: &[ColumnId],
        function: Arc<AggregateUDF>,
        arg: Expr,
    ) -> (Rel, ColumnId) {
        let data_type = if function.name() == "count" { DataType::Int64 } else { arg.data_type.clone() };
        let id = self.columns.add(function.name(), data_type);
        let call = Call {
            function,
            args: vec![arg],
            distinct: false,
            filter: None,
            order_by: vec![],
            ignore_nulls: None,
        };
        let (keys, calls) = (keys.to_vec(), vec![(id, call)]);
        (Rel::Aggregate(Aggregate { input: Box::new(input), keys, calls, totals: vec![] }), id)
    }

    pub(super) fn map(&mut self, input: Rel, name: &str, e: Expr) -> (Rel, ColumnId) {
        let id = self.columns.add(name, e.data_type.clone());
        (Rel::Map(Map { input: Box::new(input), exprs: vec![(id, e)] }), id)
    }

    pub(super) fn sort(&self, input: Rel, key: ColumnId) -> Rel {
        let key = SortKey { expr: self.read(key), descending: false, nulls_first: false };
        Rel::Sort(Sort { input: Box::new(input), keys: vec![key], fetch: None })
    }

    pub(super) fn scalar(&self, rel: Rel, column: ColumnId) -> Expr {
        let data_type = self.columns.get(column).data_type.clone();
        let subquery = Subquery { kind: SubqueryKind::Scalar, rel, columns: vec![column] };
        Expr { kind: Kind::Subquery(Box::new(subquery)), data_type }
    }

    pub(super) fn any(&self, value: ColumnId, op: Operator, rel: Rel, column: ColumnId) -> Expr {
        let kind = SubqueryKind::Any { op, values: vec![self.read(value)] };
        Expr::condition(Kind::Subquery(Box::new(Subquery { kind, rel, columns: vec![column] })))
    }

    pub(super) fn unnested(self, root: Rel, output: &[ColumnId]) -> Result<Statement> {
        unnest(Statement { columns: self.columns, stages: vec![], root, output: output.to_vec() })
    }

    /// The relations of the unnested statement, stages first.
    pub(super) fn shape(self, root: Rel, output: &[ColumnId]) -> String {
        match self.unnested(root, output) {
            Ok(statement) => {
                let stages = statement.stages.iter().map(|stage| &stage.root);
                let all = stages.chain([&statement.root]).map(|rel| statement.columns.show_rel(rel));
                all.collect::<Vec<_>>().join("--\n")
            }
            Err(e) => e.to_string(),
        }
    }
}

pub(super) fn filter(input: Rel, predicates: Vec<Expr>) -> Rel {
    Rel::Filter(Filter { input: Box::new(input), predicates })
}

pub(super) fn inner(left: Rel, right: Rel) -> Rel {
    Rel::Join(Join {
        kind: JoinKind::Inner,
        left: Box::new(left),
        right: Box::new(right),
        predicates: vec![],
    })
}

pub(super) fn limit(input: Rel, skip: usize, fetch: Option<usize>) -> Rel {
    Rel::Limit(Limit { input: Box::new(input), skip, fetch })
}

pub(super) fn exists(rel: Rel) -> Expr {
    let subquery = Subquery { kind: SubqueryKind::Exists, rel, columns: vec![] };
    Expr::condition(Kind::Subquery(Box::new(subquery)))
}

pub(super) fn number(n: i64) -> Expr {
    Expr::literal(ScalarValue::Int64(Some(n)))
}

/// A shape as it is written in a test: without the margin.
pub(super) fn lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let margin = lines.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines.iter().map(|line| format!("{}\n", &line[margin..])).collect()
}
