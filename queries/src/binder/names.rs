//! The names that a SELECT gives its columns.

use sqlparser::ast::{Expr as Ast, Ident, Query, Value, VisitorMut};
use std::ops::ControlFlow;

use super::scope::{Env, Named};
use crate::error::Error;
use crate::parse::exclude;
use crate::visits;

/// The name of an expression without an alias: its text, in which columns have the spelling of whoever gave them theirs.
pub fn of(e: &Ast, env: &Env<'_>) -> String {
    let mut e = e.clone();
    // It never breaks off.
    let _ = visits::change(&mut e, &mut Spell { env, depth: 0 });
    match &e {
        Ast::Identifier(name) => name.value.clone(),
        Ast::CompoundIdentifier(parts) => parts.last().map(|part| part.value.clone()).unwrap_or_default(),
        other => exclude::shown(other.to_string()),
    }
}

/// An expression in one spelling: each column by its number, and no parentheses.
pub fn resolved(e: &Ast, env: &Env<'_>) -> Ast {
    let mut e = e.clone();
    let _ = visits::change(&mut e, &mut Number { env, depth: 0 });
    e
}

/// Gives names of columns their spelling, outside of subqueries.
struct Spell<'a> {
    env: &'a Env<'a>,
    depth: usize,
}

/// Puts numbers in the place of names of columns, outside of subqueries.
struct Number<'a> {
    env: &'a Env<'a>,
    depth: usize,
}

impl VisitorMut for Number<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, e: &mut Ast) -> ControlFlow<Error> {
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        let found = match e {
            Ast::Identifier(name) => match self.env.find(name) {
                Ok(Some(Named::Column(field, _))) => Some(field.id),
                _ => None,
            },
            Ast::CompoundIdentifier(parts) => match self.env.find_path(parts) {
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
        ControlFlow::Continue(())
    }
}

impl Spell<'_> {
    fn spell(&self, parts: &mut [Ident]) {
        let found = match &*parts {
            [name] => match self.env.find(name) {
                Ok(Some(Named::Column(field, _))) => Some((field.name, 0)),
                _ => None,
            },
            parts => {
                let found = self.env.find_path(parts).ok().flatten();
                found.map(|(field, rest)| (field.name, parts.len() - rest.len() - 1))
            }
        };
        if let Some((name, place)) = found {
            parts[place].value = name;
        }
    }
}

impl VisitorMut for Spell<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, e: &mut Ast) -> ControlFlow<Error> {
        if self.depth == 0 {
            match e {
                Ast::Identifier(name) => self.spell(std::slice::from_mut(name)),
                Ast::CompoundIdentifier(parts) => self.spell(parts),
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }
}
