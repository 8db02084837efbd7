//! The names that a SELECT gives its columns.

use sqlparser::ast::{Expr as Ast, Ident, Value};

use super::scope::{Env, Named};
use crate::parse::{exclude, joins, limits, stars};
use crate::visitors;

/// The name of an expression without an alias: its text, in which columns have the spelling of whoever gave them theirs.
pub fn of(e: &Ast, env: &Env<'_>) -> String {
    let mut e = e.clone();
    visitors::change_outside_subqueries(&mut e, &mut |e| match e {
        Ast::Identifier(name) => spell(std::slice::from_mut(name), env),
        Ast::CompoundIdentifier(parts) => spell(parts, env),
        _ => {}
    });
    match &e {
        Ast::Identifier(name) => name.value.clone(),
        Ast::CompoundIdentifier(parts) => parts.last().map(|part| part.value.clone()).unwrap_or_default(),
        other => {
            let text = stars::shown(exclude::shown(other.to_string()));
            // What the parser was given in another form: texts of values are as they are.
            let is_query =
                |e: &Ast| matches!(e, Ast::Subquery(_) | Ast::Exists { .. } | Ast::InSubquery { .. });
            match visitors::any_expression(other, &mut |e| is_query(e)) {
                true => limits::shown(joins::shown(text)),
                false => text,
            }
        }
    }
}

/// An expression in one spelling: each column by its number, and no parentheses.
pub fn resolved(e: &Ast, env: &Env<'_>) -> Ast {
    let mut e = e.clone();
    visitors::change_outside_subqueries(&mut e, &mut |e| number(e, env));
    e
}

/// Puts a number in the place of the name of a column, and takes parentheses off.
fn number(e: &mut Ast, env: &Env<'_>) {
    let found = match e {
        Ast::Identifier(name) => match env.find(name) {
            Ok(Some(Named::Column(field, _))) => Some(field.id),
            _ => None,
        },
        Ast::CompoundIdentifier(parts) => match env.find_path(parts) {
            Ok(Some((field, []))) => Some(field.id),
            _ => None,
        },
        Ast::Nested(inner) => {
            *e = std::mem::replace(inner, Ast::Value(Value::Null.into()));
            None
        }
        _ => None,
    };
    if let Some(id) = found {
        *e = Ast::Identifier(Ident::new(format!("#{}", id.0)));
    }
}

/// Gives the name of a column its spelling.
fn spell(parts: &mut [Ident], env: &Env<'_>) {
    let found = match &*parts {
        [name] => match env.find(name) {
            Ok(Some(Named::Column(field, _))) => Some((field.name, 0)),
            _ => None,
        },
        parts => {
            let found = env.find_path(parts).ok().flatten();
            found.map(|(field, rest)| (field.name, parts.len() - rest.len() - 1))
        }
    };
    if let Some((name, place)) = found {
        parts[place].value = name;
    }
}
