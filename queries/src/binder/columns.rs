//! `COLUMNS(…)`: an expression for each of some columns.

use std::borrow::Cow;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use sqlparser::ast::{
    Array, BinaryOperator, Expr as Ast, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    GroupByExpr, Ident, LambdaFunction, ObjectNamePart, OneOrManyWithParens, Select, SelectItem,
    SelectItemQualifiedWildcardKind, Spanned, Value, ValueWithSpan, WildcardAdditionalOptions,
};
use sqlparser::tokenizer::Span;

use super::scope::{Env, Field, Named, Scope};
use super::wildcard::{self, Given};
use super::{Binder, literal, names};
use crate::error::{Error, Result};
use crate::names::same;
use crate::parse::{calls, stars};
use crate::{meant, visitors};

/// An expression that stands for one column of `COLUMNS`.
pub struct Expanded {
    /// The name of the column.
    pub name: String,
    /// The expression with the column in the place of `COLUMNS(…)`.
    pub expr: Ast,
}

impl Binder<'_> {
    /// The select list with an expression for each column of `COLUMNS(…)`, and for GROUP BY ALL of `*` too.
    ///
    /// # Errors
    /// There are no such columns.
    pub(super) fn selected<'q>(
        &mut self,
        select: &'q Select,
        env: &Env<'_>,
    ) -> Result<Cow<'q, [SelectItem]>> {
        let lists_all = matches!(select.group_by, GroupByExpr::All(_));
        let mut selected = Cow::Borrowed(select.projection.as_slice());
        for (at, item) in select.projection.iter().enumerate() {
            let expanded = match item {
                SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => {
                    self.expanded(e, env)?
                }
                SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) if lists_all => {
                    let (place, given) = match item {
                        SelectItem::QualifiedWildcard(kind, _) => {
                            (kind.span(), self.of_name(kind, options, env))
                        }
                        _ => (options.wildcard_token.0.span, wildcard::all(options, env)),
                    };
                    let given = given.and_then(|given| self.liked(given, options));
                    let given = given.map_err(|error| error.at(place))?;
                    let column = |given| match given {
                        Given::Column(field) => {
                            let expr = written(&field, place, env);
                            Expanded { name: field.name, expr }
                        }
                        Given::Replaced(name, expr) => Expanded { name, expr: expr.clone() },
                        Given::Part(name, expr) => Expanded { name, expr: *expr },
                    };
                    Some(given.into_iter().map(column).collect())
                }
                _ => None,
            };
            if let (Some(_), SelectItem::ExprWithAlias { alias, .. }) = (&expanded, item)
                && alias.value.contains('\\')
            {
                let message = "groups of the regular expression in the name of COLUMNS";
                return Err(Error::Unsupported(message.into()).at(alias.span));
            }
            let Some(expanded) = expanded else {
                if let Cow::Owned(selected) = &mut selected {
                    selected.push(item.clone());
                }
                continue;
            };
            if let Cow::Borrowed(before) = selected {
                selected = Cow::Owned(before[..at].to_vec());
            }
            selected.to_mut().extend(expanded.into_iter().map(|Expanded { name, expr }| {
                let alias = match item {
                    SelectItem::ExprWithAlias { alias, .. } => alias.clone(),
                    _ => Ident::with_quote('"', name),
                };
                SelectItem::ExprWithAlias { expr, alias }
            }));
        }
        Ok(selected)
    }

    /// The expressions that one with `COLUMNS(…)` in it stands for; `None` if it has none.
    ///
    /// # Errors
    /// It stands for no columns, or for several choices of them.
    pub(super) fn expanded(&mut self, e: &Ast, env: &Env<'_>) -> Result<Option<Vec<Expanded>>> {
        if visitors::any_expression(e, &mut |e| unpacked_of(e).is_some() || filter_of_columns(e).is_some()) {
            let (mut expr, mut is_changed) = (e.clone(), false);
            visitors::try_outside_subqueries(&mut expr, &mut |e| {
                is_changed |= self.filter_by_all(e, env)?;
                is_changed |= self.unpacked(e, env)?;
                Ok(())
            })?;
            // What a subquery holds is the subquery's.
            if is_changed {
                let expanded = self.expanded(&expr, env)?;
                return Ok(Some(
                    expanded.unwrap_or_else(|| vec![Expanded { name: names::of(e, env), expr }]),
                ));
            }
        }
        if !visitors::any_expression(e, &mut |e| matches!(e, Ast::Function(function) if is_columns(function)))
        {
            return Ok(None);
        }
        let mut calls: Vec<Function> = Vec::new();
        visitors::change_outside_subqueries(&mut e.clone(), &mut |e| match e {
            Ast::Function(function) if is_columns(function) => calls.push(function.clone()),
            _ => {}
        });
        let Some(function) = calls.first() else { return Ok(None) };
        if let Some(other) = calls.iter().find(|other| other.args != function.args) {
            let message = "COLUMNS of different columns in one expression";
            return Err(Error::Unsupported(message.into()).at(other.span()));
        }
        let fields = self.chosen(function, env).map_err(|error| error.at(function.span()))?;
        let expanded = fields.into_iter().map(|field| {
            let mut expr = e.clone();
            let column = written(&field, function.name.span(), env);
            visitors::change_outside_subqueries(&mut expr, &mut |e| match e {
                Ast::Function(function) if is_columns(function) => *e = column.clone(),
                _ => {}
            });
            Expanded { name: field.name, expr }
        });
        Ok(Some(expanded.collect()))
    }

    /// Puts a condition for each column of `COLUMNS(…)` in the FILTER of a call into it: all of them have to hold. Says
    /// whether there are such columns.
    fn filter_by_all(&mut self, e: &mut Ast, env: &Env<'_>) -> Result<bool> {
        let Some(filter) = filter_of_columns(e) else { return Ok(false) };
        let Some(conditions) = self.expanded(filter, env)? else { return Ok(false) };
        let conditions = conditions.into_iter();
        let all = conditions.map(|column| Ast::Nested(Box::new(column.expr))).reduce(|left, right| {
            Ast::BinaryOp { left: Box::new(left), op: BinaryOperator::And, right: Box::new(right) }
        });
        if let Ast::Function(Function { filter, .. }) = e {
            *filter = all.map(Box::new);
        }
        Ok(true)
    }

    /// Puts the columns of `*COLUMNS(…)` into the call or the list that it stands in. Says whether there are some.
    fn unpacked(&mut self, e: &mut Ast, env: &Env<'_>) -> Result<bool> {
        let mut is_changed = false;
        match e {
            Ast::Function(Function { args: FunctionArguments::List(list), .. }) => {
                let mut args = Vec::with_capacity(list.args.len());
                for arg in std::mem::take(&mut list.args) {
                    match calls::unnamed(&arg).and_then(unpacked_of) {
                        Some(function) => {
                            is_changed = true;
                            let columns = self.written_columns(function, env)?.into_iter();
                            args.extend(columns.map(|e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e))));
                        }
                        None => args.push(arg),
                    }
                }
                list.args = args;
            }
            Ast::Array(Array { elem: list, .. }) | Ast::InList { list, .. } => {
                let mut items = Vec::with_capacity(list.len());
                for item in std::mem::take(list) {
                    match unpacked_of(&item) {
                        Some(function) => {
                            is_changed = true;
                            items.extend(self.written_columns(function, env)?);
                        }
                        None => items.push(item),
                    }
                }
                *list = items;
            }
            _ => {}
        }
        Ok(is_changed)
    }

    fn written_columns(&mut self, function: &Function, env: &Env<'_>) -> Result<Vec<Ast>> {
        let place = function.name.span();
        let fields = self.chosen(function, env).map_err(|error| error.at(place))?;
        Ok(fields.iter().map(|field| written(field, place, env)).collect())
    }

    /// The columns that `COLUMNS(…)` stands for.
    fn chosen(&mut self, function: &Function, env: &Env<'_>) -> Result<Vec<Field>> {
        let takes = || {
            let message = "COLUMNS takes *, a regular expression of names, a list of names, or a lambda: \
                           COLUMNS('^price_'), COLUMNS(['a', 'b']), COLUMNS(lambda c: c LIKE 'price%')";
            Error::Invalid(message.into())
        };
        let all = |options: &WildcardAdditionalOptions| {
            if options.opt_ilike.is_some() {
                let message =
                    "LIKE in COLUMNS\n  help: COLUMNS takes a regular expression: COLUMNS('^price_')";
                return Err(Error::Unsupported(message.into()));
            }
            columns_of(wildcard::all(options, env)?)
        };
        let FunctionArguments::List(list) = &function.args else { return Err(takes()) };
        match list.args.as_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => all(&WildcardAdditionalOptions::default()),
            [FunctionArg::Unnamed(FunctionArgExpr::WildcardWithOptions(options))] => all(options),
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Value(value)))] => {
                let Value::SingleQuotedString(pattern) = &value.value else { return Err(takes()) };
                let mut fields = all(&WildcardAdditionalOptions::default())?;
                let mut error = None;
                let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
                fields.retain(|field| match self.matches(&field.name, pattern) {
                    Ok(is) => is,
                    Err(e) => {
                        error.get_or_insert(e);
                        false
                    }
                });
                match error {
                    Some(error) => Err(error),
                    None if fields.is_empty() => Err(Error::Name {
                        message: format!("COLUMNS: no name of a column matches '{pattern}'"),
                        help: meant::column(pattern, names.iter().map(String::as_str)),
                    }),
                    None => Ok(fields),
                }
            }
            [FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(relation))] => {
                let options = WildcardAdditionalOptions::default();
                let kind = SelectItemQualifiedWildcardKind::ObjectName(relation.clone());
                columns_of(self.of_name(&kind, &options, env)?)
            }
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Array(names)))] if !names.elem.is_empty() => {
                let mut fields = all(&WildcardAdditionalOptions::default())?;
                let names = names.elem.iter().map(|name| match name {
                    Ast::Value(ValueWithSpan { value: Value::SingleQuotedString(name), .. }) => Ok(name),
                    _ => Err(takes()),
                });
                let names = names.collect::<Result<Vec<&String>>>()?;
                for name in &names {
                    if !fields.iter().any(|field| same(&field.name, name)) {
                        return Err(Error::Name {
                            message: format!("COLUMNS: there is no column '{name}'"),
                            help: meant::column(name, fields.iter().map(|field| field.name.as_str())),
                        });
                    }
                }
                fields.retain(|field| names.iter().any(|name| same(&field.name, name)));
                Ok(fields)
            }
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(lambda))] if is_lambda(lambda) => {
                let mut chosen = Vec::new();
                for field in all(&WildcardAdditionalOptions::default())? {
                    if self.is_chosen(lambda, &field.name)? {
                        chosen.push(field);
                    }
                }
                match chosen.is_empty() {
                    true => Err(Error::Invalid("COLUMNS: the lambda is true for no name of a column".into())),
                    false => Ok(chosen),
                }
            }
            _ => Err(takes()),
        }
    }

    /// Whether a lambda is true for a name: a list of the name that it filters keeps it.
    fn is_chosen(&mut self, lambda: &Ast, name: &str) -> Result<bool> {
        if let Ast::Lambda(LambdaFunction { params: OneOrManyWithParens::Many(parameters), .. }) = lambda
            && parameters.len() > 1
        {
            return Err(Error::Unsupported("a second parameter of the lambda of COLUMNS".into()));
        }
        let names = Array { elem: vec![text(name)], named: false };
        let kept = calls::of("list_filter", vec![Ast::Array(names), lambda.clone()], Span::empty());
        let count = calls::of("len", vec![kept], Span::empty());
        let scope = Scope::default();
        let count = self.expr(&count, &Env::of(&scope, "COLUMNS"))?;
        let count = self.types.constant(&count)?;
        Ok(count.cast_to(&DataType::Int64).ok() == Some(ScalarValue::Int64(Some(1))))
    }

    /// Whether a name has something that a regular expression matches.
    fn matches(&self, name: &str, pattern: &str) -> Result<bool> {
        let matched = self.types.binary(literal::text(name), Operator::RegexMatch, literal::text(pattern))?;
        Ok(self.types.constant(&matched)? == ScalarValue::Boolean(Some(true)))
    }
}

/// The columns that a star stands for.
///
/// # Errors
/// It stands for something else too.
fn columns_of(given: Vec<Given<'_>>) -> Result<Vec<Field>> {
    let columns = given.into_iter().map(|column| match column {
        Given::Column(field) => Ok(field),
        Given::Replaced(..) => Err(Error::Unsupported("REPLACE in COLUMNS(*)".into())),
        Given::Part(..) => Err(Error::Unsupported("fields of a struct in COLUMNS(…)".into())),
    });
    columns.collect()
}

/// Whether a call is `COLUMNS(…)`.
fn is_columns(function: &Function) -> bool {
    matches!(function.name.0.as_slice(), [ObjectNamePart::Identifier(name)] if name.value.eq_ignore_ascii_case("columns"))
}

/// The FILTER of a call, if `COLUMNS(…)` stands in it.
fn filter_of_columns(e: &Ast) -> Option<&Ast> {
    let Ast::Function(Function { filter: Some(filter), .. }) = e else { return None };
    let has_columns = |e: &Ast| matches!(e, Ast::Function(function) if is_columns(function));
    visitors::any_expression(filter, &mut |e| has_columns(e)).then_some(filter.as_ref())
}

/// The call that `*COLUMNS(…)` is.
fn unpacked_of(e: &Ast) -> Option<&Function> {
    match e {
        Ast::Function(function) if calls::name_of(function) == Some(stars::UNPACKED) => Some(function),
        _ => None,
    }
}

/// Whether an expression is a lambda, which may be written with an arrow.
fn is_lambda(e: &Ast) -> bool {
    matches!(e, Ast::Lambda(_) | Ast::BinaryOp { op: BinaryOperator::Arrow, .. })
}

fn text(text: &str) -> Ast {
    Ast::Value(Value::SingleQuotedString(text.into()).into())
}

/// A column as a name at this place of the text. The name of its relation stands before it where the name alone means
/// another one, or several.
pub(super) fn written(field: &Field, span: Span, env: &Env<'_>) -> Ast {
    let quoted = |name: &str| Ident::with_quote_and_span('"', span, name);
    let column = quoted(&field.name);
    if matches!(env.find(&column), Ok(Some(Named::Column(found, _))) if found.id == field.id) {
        return Ast::Identifier(column);
    }
    let mut relations = env.scope.relations().iter();
    let relation = relations.find(|relation| relation.fields.iter().any(|other| other.id == field.id));
    match relation.and_then(|relation| relation.name.as_deref()) {
        Some(relation) => Ast::CompoundIdentifier(vec![quoted(relation), column]),
        None => Ast::Identifier(column),
    }
}
