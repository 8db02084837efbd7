//! `try(e)`: NULL on the rows where computing an expression is an error.

use std::collections::BTreeMap;
use std::sync::Arc;

use expressions::functions::attempt::{self, Attempt};

use super::Types;
use crate::algebra::{ColumnId, Columns, Expr};
use crate::compile::{self, Layout};
use crate::error::{Error, Result};

/// The name of the function.
pub const NAME: &str = "try";

impl Types {
    /// An expression without its errors. `text` is how it is written. The call takes the columns that it reads, so that
    /// no rule computes a part of it elsewhere.
    ///
    /// # Errors
    /// It has a subquery, or another value each time.
    pub fn attempted(&self, text: String, mut body: Expr, columns: &Columns) -> Result<Expr> {
        if body.has_subquery() {
            return Err(Error::Unsupported("a subquery in try()".into()));
        }
        if body.is_volatile() {
            return Err(Error::Unsupported("random() and the like in try()".into()));
        }
        if !compile::fails(&body) {
            return Ok(body);
        }
        let holds = columns.holds(&body);
        let mut own = Columns::default();
        let mut numbers: BTreeMap<ColumnId, ColumnId> = BTreeMap::new();
        let mut args = Vec::new();
        for id in body.columns() {
            let column = columns.get(id);
            numbers.insert(id, own.add(&column.name, column.data_type.clone()));
            args.push(columns.read(id));
        }
        body.renumber(&|id| numbers.get(&id).copied().unwrap_or(id));
        let layout = Layout::new((0..own.len() as u32).map(ColumnId).collect(), &own);
        let attempt = Attempt {
            text,
            body: self.compiler.compile(&body, &layout)?,
            schema: Arc::clone(layout.schema()),
            gives: body.data_type.clone(),
            holds,
        };
        self.typed_call(attempt::function(attempt), args)
    }
}
