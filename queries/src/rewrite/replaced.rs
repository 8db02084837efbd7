//! `SELECT * REPLACE (value AS column)`: the column must be there.
//!
//! The planner passes a name over that no column has. Here each value is put into a call that names the column too, so
//! that the planner looks for it; the call is taken out with those of [`casts`](super::casts).

use datafusion_sql::sqlparser::ast::{
    Expr, ObjectName, ReplaceSelectElement, SelectItem, SelectItemQualifiedWildcardKind, Value,
};

use super::{call, casts};

/// Checks the columns of each `REPLACE` of a SELECT.
pub fn check(projection: &mut [SelectItem]) {
    for item in projection {
        let (relation, options) = match item {
            SelectItem::Wildcard(options) => (None, options),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                (Some(&*name), options)
            }
            _ => continue,
        };
        for element in options.opt_replace.iter_mut().flat_map(|r| &mut r.items) {
            check_element(element, relation);
        }
    }
}

/// Checks one column, of a relation or of any.
pub fn check_element(element: &mut ReplaceSelectElement, relation: Option<&ObjectName>) {
    let qualifier = relation.and_then(|name| name.0.last()?.as_ident().cloned());
    let name = element.column_name.clone();
    let column = match qualifier {
        Some(qualifier) => Expr::CompoundIdentifier(vec![qualifier, name]),
        None => Expr::Identifier(name),
    };
    let value = std::mem::replace(&mut element.expr, Expr::Value(Value::Null.into()));
    element.expr = call(casts::NAME, vec![value, column]);
}
