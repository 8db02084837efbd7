//! What tests of rules share: columns, tables of whole numbers, and how results are compared with texts.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use schema::{Source, Table};

use super::simplify::Simplifier;
use crate::Settings;
use crate::algebra::{
    Aggregate, ColumnId, Columns, Expr, Filter, Join, JoinKind, Kind, Map, Rel, Scan, Statement, Union,
};
use crate::types::Types;

/// The columns of a test.
#[derive(Default)]
pub struct Sample {
    pub columns: Columns,
}

/// A whole number.
pub fn int(n: i64) -> Expr {
    Expr::literal(ScalarValue::Int64(Some(n)))
}

pub fn eq(left: &Expr, right: &Expr) -> Expr {
    Expr::compare(left.clone(), Operator::Eq, right.clone())
}

pub fn more(left: &Expr, right: &Expr) -> Expr {
    Expr::compare(left.clone(), Operator::Gt, right.clone())
}

/// The quotient, which fails if the right side is zero.
pub fn quotient(left: &Expr, right: &Expr) -> Expr {
    let kind = Kind::Binary(Operator::Divide, Box::new(left.clone()), Box::new(right.clone()));
    Expr { kind, data_type: DataType::Int64 }
}

pub fn filter(input: Rel, predicates: Vec<Expr>) -> Rel {
    Rel::Filter(Filter { input: Box::new(input), predicates })
}

pub fn map(input: Rel, exprs: Vec<(ColumnId, Expr)>) -> Rel {
    Rel::Map(Map { input: Box::new(input), exprs })
}

pub fn join(kind: JoinKind, left: Rel, right: Rel, predicates: Vec<Expr>) -> Rel {
    Rel::Join(Join { kind, left: Box::new(left), right: Box::new(right), predicates })
}

pub fn group(input: Rel, keys: Vec<ColumnId>) -> Rel {
    Rel::Aggregate(Aggregate { input: Box::new(input), keys, calls: vec![], totals: vec![] })
}

pub fn union(columns: Vec<ColumnId>, inputs: Vec<(Rel, Vec<ColumnId>)>) -> Rel {
    Rel::Union(Union { columns, inputs })
}

/// The column that an expression is.
pub fn id(e: &Expr) -> ColumnId {
    e.as_column().unwrap()
}

impl Sample {
    pub fn column(&mut self, name: &str, data_type: DataType) -> Expr {
        let id = self.columns.add(name, data_type);
        self.columns.read(id)
    }

    pub fn condition(&mut self, name: &str) -> Expr {
        self.column(name, DataType::Boolean)
    }

    pub fn number(&mut self, name: &str) -> Expr {
        self.column(name, DataType::Int64)
    }

    pub fn text(&mut self, name: &str) -> Expr {
        self.column(name, DataType::Utf8View)
    }

    /// A table of whole numbers, of so many rows, and its columns.
    pub fn sized<const N: usize>(
        &mut self,
        name: &str,
        columns: [&str; N],
        rows: Option<u64>,
    ) -> (Rel, [Expr; N]) {
        let fields = columns.map(|name| Field::new(name, DataType::Int64, true));
        let read = columns.map(|name| self.number(name));
        let source = Source::Range { start: 0, end: 0, step: 1 };
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let table = Arc::new(Table {
            name: name.into(),
            schema,
            source,
            rows,
            spans: vec![],
            guesses: schema::TableEstimates::default(),
        });
        let columns = read.iter().map(id).collect();
        (Rel::Scan(Scan { table, transform: None, columns, bounds: vec![], fetch: None }), read)
    }

    /// A table of whole numbers, and its columns.
    pub fn table<const N: usize>(&mut self, name: &str, columns: [&str; N]) -> (Rel, [Expr; N]) {
        self.sized(name, columns, Some(1000))
    }

    /// An expression becomes this.
    #[track_caller]
    pub fn simplifies(&self, e: Expr, to: &str) {
        let types = Types::new(&Settings::default());
        assert_eq!(self.columns.show(&Simplifier::new(&types).value(e).unwrap()), to);
    }

    /// A condition becomes this.
    #[track_caller]
    pub fn keeps(&self, e: Expr, to: &str) {
        let types = Types::new(&Settings::default());
        assert_eq!(self.columns.show(&Simplifier::new(&types).condition(e).unwrap()), to);
    }

    /// A statement that gives these columns of a relation.
    pub fn statement(&self, root: Rel, output: &[&Expr]) -> Statement {
        let output = output.iter().map(|e| id(e)).collect();
        Statement { columns: self.columns.clone(), stages: vec![], root, output }
    }

    /// A rule makes this of a statement that gives the columns.
    #[track_caller]
    pub fn becomes(&self, rule: impl Fn(&mut Statement), rel: Rel, output: &[&Expr], to: &str) {
        let mut statement = self.statement(rel, output);
        rule(&mut statement);
        let shown = statement.columns.show_rel(&statement.root);
        let plain = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(plain(&shown), plain(to), "\n{shown}");
    }

    /// Filters are moved down to this.
    #[track_caller]
    pub fn pushes(&self, rel: Rel, to: &str) {
        let types = Types::new(&Settings::default());
        let push = |statement: &mut Statement| {
            let root = super::simplify::nodes::taken(&mut statement.root);
            statement.root = super::filters::push(root, &Simplifier::new(&types)).unwrap();
        };
        self.becomes(push, rel, &[], to);
    }
}
