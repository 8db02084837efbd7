//! Typed constructors of expressions.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_expr::{Operator, ScalarUDF};

use crate::Settings;
use crate::algebra::{Call, Expr};
use crate::error::{Error, Result};

/// What the types of expressions depend on.
#[derive(Debug)]
pub struct Types {}

fn not_yet<T>() -> Result<T> {
    Err(Error::Unsupported("not yet".into()))
}

impl Types {
    pub fn new(_settings: &Settings) -> Types {
        Types {}
    }
    pub fn binary(&self, _left: Expr, _op: Operator, _right: Expr) -> Result<Expr> {
        not_yet()
    }
    pub fn and(&self, _terms: Vec<Expr>) -> Result<Expr> {
        not_yet()
    }
    pub fn or(&self, _terms: Vec<Expr>) -> Result<Expr> {
        not_yet()
    }
    pub fn not(&self, _e: Expr) -> Result<Expr> {
        not_yet()
    }
    pub fn condition(&self, _e: Expr) -> Result<Expr> {
        not_yet()
    }
    /// `IS [NOT] TRUE`, `IS [NOT] FALSE`, and with `None` `IS [NOT] UNKNOWN`.
    pub fn is(&self, _e: Expr, _value: Option<bool>, _negated: bool) -> Result<Expr> {
        not_yet()
    }
    pub fn is_null(&self, e: Expr, _negated: bool) -> Expr {
        e
    }
    pub fn negative(&self, _e: Expr) -> Result<Expr> {
        not_yet()
    }
    pub fn cast(&self, _e: Expr, _to: &DataType, _safe: bool) -> Result<Expr> {
        not_yet()
    }
    pub fn case(
        &self,
        _operand: Option<Expr>,
        _branches: Vec<(Expr, Expr)>,
        _otherwise: Option<Expr>,
    ) -> Result<Expr> {
        not_yet()
    }
    pub fn in_list(&self, _e: Expr, _list: Vec<Expr>, _negated: bool) -> Result<Expr> {
        not_yet()
    }
    pub fn between(&self, _e: Expr, _low: Expr, _high: Expr, _negated: bool) -> Result<Expr> {
        not_yet()
    }
    pub fn like(&self, _e: Expr, _pattern: Expr, _negated: bool, _case_insensitive: bool) -> Result<Expr> {
        not_yet()
    }
    pub fn call(&self, _function: &Arc<ScalarUDF>, _args: Vec<Expr>) -> Result<Expr> {
        not_yet()
    }
    pub fn aggregate(&self, _call: Call) -> Result<(Call, DataType)> {
        not_yet()
    }
    pub fn union(&self, _types: &[DataType]) -> Result<DataType> {
        not_yet()
    }
    pub fn common(&self, _exprs: Vec<Expr>) -> Result<Vec<Expr>> {
        not_yet()
    }
    pub fn comparable(&self, _value: Expr, _op: Operator, _column: &DataType) -> Result<(Expr, DataType)> {
        not_yet()
    }
}
