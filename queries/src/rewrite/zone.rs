//! `x AT TIME ZONE 'zone'` as a call. The planner's cast changes the label of an instant alone.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast;
use expressions::functions::zone::NAME;

use super::call;
use crate::error::Error;

/// Makes the syntax a call of the function.
pub fn rewrite(expr: &mut ast::Expr) -> ControlFlow<Error> {
    if matches!(expr, ast::Expr::AtTimeZone { .. }) {
        let nothing = ast::Expr::Value(ast::Value::Null.into());
        if let ast::Expr::AtTimeZone { timestamp, time_zone } = std::mem::replace(expr, nothing) {
            *expr = call(NAME, vec![*timestamp, *time_zone]);
        }
    }
    ControlFlow::Continue(())
}
