//! Lists and what is in them: subscripts, IN of a list, lambdas.

use std::borrow::Cow;
use std::slice;

use arrow_schema::DataType;
use expressions::functions::json::Holds;
use expressions::functions::lists::lambda::Makes;
use expressions::functions::lists::{item_of, list_of};
use sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr as Ast, Ident, LambdaFunction, LambdaFunctionParameter, LambdaSyntax,
    OneOrManyWithParens, Spanned, Subscript,
};

use super::Binder;
use super::call::Written;
use super::scope::{Env, Field, Relation, Scope};
use crate::algebra::{ColumnId, Expr};
use crate::error::{Error, Result};
use crate::parse::calls;
use crate::types::lists::OverItems;

/// How often the type of what `list_reduce()` has so far is widened to that of the lambda. A lambda that gives a list
/// of what it had, `[a]`, would go on. A sum of decimals has a digit more each time, up to 38.
const MOST_TURNS: usize = 64;

/// Functions of a lambda, and what they make of its values.
const LAMBDAS: [(&[&str], Makes); 3] = [
    (&["list_transform", "array_transform", "list_apply", "array_apply", "apply"], Makes::Lists),
    (&["list_filter", "array_filter", "filter"], Makes::Chosen),
    (&["list_reduce", "array_reduce", "reduce"], Makes::One { from_value: false }),
];

/// What a function of a lambda makes, if it is one.
pub(super) fn of_lambda(name: &str) -> Option<Makes> {
    LAMBDAS.iter().find(|(names, _)| names.contains(&name)).map(|(_, makes)| *makes)
}

/// The names of functions of a lambda.
pub fn lambda_names() -> impl Iterator<Item = &'static str> {
    LAMBDAS.iter().flat_map(|(names, _)| names.iter().copied())
}

impl<'a> Binder<'a> {
    /// `value[1]`, `value[1:2].name` and the like.
    pub(super) fn accessed(&mut self, root: &Ast, chain: &[AccessExpr], env: &Env<'_>) -> Result<Expr> {
        // Names with points between them are a path.
        let mut path: Vec<_> = match root {
            Ast::Identifier(name) => vec![name.clone()],
            Ast::CompoundIdentifier(parts) => parts.clone(),
            _ => vec![],
        };
        let mut rest = chain;
        while let [AccessExpr::Dot(Ast::Identifier(name)), behind @ ..] = rest
            && !path.is_empty()
        {
            path.push(name.clone());
            rest = behind;
        }
        let mut value = match path.len() {
            0 | 1 => self.expr(root, env)?,
            _ => self.expr(&Ast::CompoundIdentifier(path), env)?,
        };
        let of = root.to_string();
        for access in rest {
            value = match access {
                AccessExpr::Dot(Ast::Identifier(name)) => {
                    self.field(value, &of, &name.value, env).map_err(|error| error.at(name.span))?
                }
                AccessExpr::Dot(other) => {
                    return Err(Error::Invalid(format!("'{other}' is no name of a field")).at(other.span()));
                }
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    let bound = self.expr(index, env)?;
                    self.subscript(value, bound, &of, env).map_err(|error| error.at(index.span()))?
                }
                AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride }) => {
                    let mut bound = |e: &Option<Ast>| e.as_ref().map(|e| self.expr(e, env)).transpose();
                    let (from, to, step) = (bound(lower_bound)?, bound(upper_bound)?, bound(stride)?);
                    self.types.slice(value, [from, to], step)?
                }
            };
        }
        Ok(value)
    }

    fn subscript(&mut self, value: Expr, index: Expr, of: &str, env: &Env<'_>) -> Result<Expr> {
        let name = index.as_literal().and_then(|name| name.try_as_str().flatten());
        if self.columns.is_json(&value) {
            return match name {
                Some(name) => self.types.json_field(value, name, &self.columns),
                None => self.types.json_item(value, index, &self.columns),
            };
        }
        match (&value.data_type, name) {
            (DataType::Struct(_), Some(name)) => {
                let name = name.to_string();
                self.field(value, of, &name, env)
            }
            _ => self.types.subscript(value, index),
        }
    }

    /// `x IN list`: whether it is one of the items. Items that are NULL are none.
    pub(super) fn in_value(&mut self, e: &Ast, list: &Ast, env: &Env<'_>) -> Result<Expr> {
        let e = self.expr(e, env)?;
        if let Ast::Array(array) = list {
            let items = self.exprs(&array.elem, env)?;
            let is_known = |item: &Expr| item.as_literal().is_some_and(|value| !value.is_null());
            // Of constants that are known it is `x IN (…)`, which scans make use of.
            return match !items.is_empty() && items.iter().all(is_known) {
                true => self.types.in_list(e, items, false),
                false => {
                    let list = self.types.list_call("list_value", items)?;
                    self.types.in_value(e, list)
                }
            };
        }
        let list = self.expr(list, env)?;
        self.types.in_value(e, list)
    }

    /// `list_transform(list, lambda x: …)` and the like.
    pub(super) fn lambda_call(&mut self, makes: Makes, written: &Written<'_>, env: &Env<'_>) -> Result<Expr> {
        let name = written.name.as_str();
        let usage = || {
            let (parameters, more) = match makes {
                Makes::One { .. } => ("a, x", " A value to begin with may follow."),
                _ => ("x", ""),
            };
            Error::Invalid(format!(
                "{name}() takes a list and a lambda: {name}(list, lambda {parameters}: …).{more}"
            ))
        };
        let exprs: Option<Vec<&Ast>> = written.args.iter().copied().map(calls::unnamed).collect();
        let (list, lambda, first) = match exprs.as_deref() {
            Some([list, lambda]) => (*list, lambda_of(lambda), None),
            Some([list, lambda, first]) if matches!(makes, Makes::One { .. }) => {
                (*list, lambda_of(lambda), Some(*first))
            }
            _ => return Err(usage()),
        };
        let Some(lambda) = lambda else { return Err(usage()) };
        let lambda = lambda.as_ref();
        let mut list = self.expr(list, env)?;
        if list.data_type.is_null() {
            list = self.types.cast(list, &list_of(&DataType::Null), false)?;
        }
        if !matches!(list.data_type, DataType::List(_)) {
            return Err(usage());
        }
        let first = first.map(|first| self.expr(first, env)).transpose()?;
        let text = format!("{name}({lambda})");
        let of_items = self.columns.holds(&list).items().clone();
        let Makes::One { .. } = makes else {
            let (parameters, mut body) =
                self.lambda_body(lambda, &[item_of(&list.data_type), DataType::Int64], &[of_items], 1, env)?;
            if makes == Makes::Chosen {
                body = self.types.condition(body)?;
            }
            let over = OverItems { makes, text, list, first, parameters: &parameters, body };
            return self.types.over_items(over, &self.columns);
        };
        let makes = Makes::One { from_value: first.is_some() };
        let of_first = first.as_ref().map_or_else(|| of_items.clone(), |first| self.columns.holds(first));
        let mut so_far = first.as_ref().map_or(item_of(&list.data_type), |first| first.data_type.clone());
        let holds = [of_first, of_items];
        // What the expression gives is its first operand the next time.
        for _ in 0..MOST_TURNS {
            let item = if first.is_some() { item_of(&list.data_type) } else { so_far.clone() };
            let (parameters, body) =
                self.lambda_body(lambda, &[so_far.clone(), item, DataType::Int64], &holds, 2, env)?;
            let common = self.types.in_common_of(&[&so_far, &body.data_type]);
            let Some(common) = common else {
                return Err(Error::Invalid(format!(
                    "the lambda of {name}() gives {}, which is no {} as the value before",
                    expressions::text::shown(&body.data_type),
                    expressions::text::shown(&so_far)
                ))
                .at(lambda.body.span()));
            };
            if common != so_far {
                so_far = common;
                continue;
            }
            let body = self.types.in_type(body, &so_far)?;
            let first = first.map(|first| self.types.in_type(first, &so_far)).transpose()?;
            if first.is_none() {
                list = self.types.in_type(list, &list_of(&so_far))?;
            }
            let over = OverItems { makes, text, list, first, parameters: &parameters, body };
            return self.types.over_items(over, &self.columns);
        }
        let message = format!(
            "the lambda of {name}() gives a value of a wider type each time\n  help: a CAST in it may help"
        );
        Err(Error::Invalid(message).at(lambda.body.span()))
    }

    /// The columns that the parameters of a lambda are, of these types, and its expression.
    fn lambda_body(
        &mut self,
        lambda: &LambdaFunction,
        types: &[DataType],
        holds: &[Holds],
        least: usize,
        env: &Env<'_>,
    ) -> Result<(Vec<ColumnId>, Expr)> {
        let parameters = match &lambda.params {
            OneOrManyWithParens::One(parameter) => slice::from_ref(parameter),
            OneOrManyWithParens::Many(parameters) => parameters.as_slice(),
        };
        if !(least..=types.len()).contains(&parameters.len()) {
            let message = format!(
                "a lambda of {} parameters, of which it has {least} or {}",
                parameters.len(),
                types.len()
            );
            return Err(Error::Invalid(message).at(lambda.body.span()));
        }
        let fields: Vec<Field> = parameters
            .iter()
            .zip(types)
            .enumerate()
            .map(|(place, (parameter, data_type))| {
                let name = parameter.name.value.clone();
                let id = self.columns.add(&name, data_type.clone());
                self.columns.mark(id, holds.get(place).cloned().unwrap_or_default());
                Field { id, name }
            })
            .collect();
        let ids = fields.iter().map(|field| field.id).collect();
        let scope = Scope::of(Relation::new(None, None, fields));
        let inside = Env {
            scope: &scope,
            outer: Some(env),
            aliases: &[],
            unseen: &[],
            unnested: None,
            macros: None,
            clause: "a lambda",
            ..*env
        };
        let body = self.expr(&lambda.body, &inside)?;
        if body.has_subquery() {
            let message = "a subquery in a lambda\n  help: UNNEST of the list in a subquery does the same";
            return Err(Error::Unsupported(message.into()).at(lambda.body.span()));
        }
        Ok((ids, body))
    }
}

/// A lambda, which may be written with an arrow behind its parameter, as the operator `->` is.
fn lambda_of(e: &Ast) -> Option<Cow<'_, LambdaFunction>> {
    match e {
        Ast::Lambda(lambda) => Some(Cow::Borrowed(lambda)),
        Ast::BinaryOp { op: BinaryOperator::Arrow, .. } => {
            let (name, body) = behind_arrow(e)?;
            let parameter = LambdaFunctionParameter { name, data_type: None };
            let params = OneOrManyWithParens::One(parameter);
            let (body, syntax) = (Box::new(body), LambdaSyntax::Arrow);
            Some(Cow::Owned(LambdaFunction { params, body, syntax }))
        }
        _ => None,
    }
}

/// The name before the first of some arrows, and what stands behind it.
fn behind_arrow(e: &Ast) -> Option<(Ident, Ast)> {
    let Ast::BinaryOp { left, op: BinaryOperator::Arrow, right } = e else { return None };
    match left.as_ref() {
        Ast::Identifier(name) => Some((name.clone(), right.as_ref().clone())),
        Ast::Nested(inner) => match inner.as_ref() {
            Ast::Identifier(name) => Some((name.clone(), right.as_ref().clone())),
            _ => None,
        },
        // The next arrow is an operator of the lambda's expression.
        inner => {
            let (name, first) = behind_arrow(inner)?;
            let (left, op, right) = (Box::new(first), BinaryOperator::Arrow, right.clone());
            Some((name, Ast::BinaryOp { left, op, right }))
        }
    }
}
