//! Rules.
use crate::algebra::Statement;
use crate::error::Result;
/// None yet.
pub fn apply(statement: Statement, _: &crate::Settings) -> Result<Statement> {
    Ok(statement)
}
