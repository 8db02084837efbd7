//! Expressions.

use std::collections::BTreeSet;

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, CeilFloorKind, DataType as DataTypeName, DateTimeField, Expr as Ast,
    Ident, Spanned, TrimWhereField, UnaryOperator, Value, ValueWithSpan,
};
use sqlparser::tokenizer::Span;

use super::scope::{Env, Named};
use super::subqueries::subquery_of;
use super::syntax::intervals;
use super::{Binder, literal, sql_type, syntax};
use crate::algebra::{ColumnId, Expr, Kind, SubqueryKind};
use crate::compile::{self, is_text};
use crate::dialect::{GLOB, IN};
use crate::error::{Error, Result};
use crate::meant;
use crate::parse::distances::DISTANCE;
use crate::types::structs;
use expressions::functions::json::Holds;
use expressions::functions::own::uuids;
use expressions::functions::zone;

impl<'a> Binder<'a> {
    /// An expression whose names `env` knows. An error has the place of the smallest expression that it is about.
    pub(super) fn expr(&mut self, e: &Ast, env: &Env<'_>) -> Result<Expr> {
        match self.without_place(e, env) {
            Err(error) if !error.is_placed() => Err(error.at(e.span())),
            bound => bound,
        }
    }

    /// A condition: a BOOLEAN.
    pub(super) fn condition(&mut self, e: &Ast, env: &Env<'_>) -> Result<Expr> {
        let condition = self.expr(e, env).and_then(|condition| self.truth(condition))?;
        self.types.condition(condition).map_err(|error| error.at(e.span()))
    }

    /// An expression, or whether it is true if it is JSON.
    fn truth(&mut self, e: Expr) -> Result<Expr> {
        match self.columns.is_json(&e) {
            true => self.types.cast_json(e, (&DataType::Boolean, &Holds::Nothing), false, &self.columns),
            false => Ok(e),
        }
    }

    fn without_place(&mut self, e: &Ast, env: &Env<'_>) -> Result<Expr> {
        if let Some(group) = env.group
            && let Some(id) = group.borrow().written(e, env)
        {
            return Ok(self.columns.read(id));
        }
        match e {
            Ast::Identifier(name) => self.identifier(name, env),
            Ast::CompoundIdentifier(parts) => {
                let Some((field, rest)) = env.find_path(parts)? else {
                    return Err(env.no_column(parts, self.catalog));
                };
                let mut value = self.column(field.id)?;
                for (i, name) in rest.iter().enumerate() {
                    let of = i.checked_sub(1).map_or(&field.name, |before| &rest[before].value);
                    value = self.field(value, of, &name.value, env).map_err(|error| error.at(name.span))?;
                }
                Ok(value)
            }
            Ast::Nested(inner) => self.expr(inner, env),
            Ast::Value(value) => literal::value(&value.value),
            Ast::BinaryOp { left, op, right } => self.binary(left, op, right, env),
            Ast::UnaryOp { op, expr } => self.unary(*op, expr, env),
            Ast::IsNull(e) => Ok(self.expr(e, env)?.is_null()),
            Ast::IsNotNull(e) => {
                let e = self.expr(e, env)?;
                Ok(self.types.is_null(e, true))
            }
            Ast::IsTrue(e) => self.is(e, true, false, env),
            Ast::IsNotTrue(e) => self.is(e, true, true, env),
            Ast::IsFalse(e) => self.is(e, false, false, env),
            Ast::IsNotFalse(e) => self.is(e, false, true, env),
            Ast::IsUnknown(e) => self.is_unknown(e, false, env),
            Ast::IsNotUnknown(e) => self.is_unknown(e, true, env),
            Ast::IsDistinctFrom(left, right) => self.two(left, Operator::IsDistinctFrom, right, env),
            Ast::IsNotDistinctFrom(left, right) => self.two(left, Operator::IsNotDistinctFrom, right, env),
            Ast::InList { expr, list, negated } => {
                let (e, list) = (self.expr(expr, env)?, self.exprs(list, env)?);
                let ([e], list) = self.types.compared_json([e], list, &self.columns)?;
                self.types.in_list(e, list, *negated)
            }
            Ast::Between { expr, negated, low, high } => {
                let all = [self.expr(expr, env)?, self.expr(low, env)?, self.expr(high, env)?];
                let ([e, low, high], _) = self.types.compared_json(all, vec![], &self.columns)?;
                self.types.between(e, low, high, *negated)
            }
            Ast::Like { negated, any, expr, pattern, escape_char } => {
                self.like(expr, pattern, *negated, false, *any, escape_char.as_ref(), env)
            }
            Ast::ILike { negated, any, expr, pattern, escape_char } => {
                self.like(expr, pattern, *negated, true, *any, escape_char.as_ref(), env)
            }
            Ast::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), env)
            }
            Ast::Cast { array: true, .. } | Ast::Cast { format: Some(_), .. } => {
                Err(Error::Unsupported(format!("this form of CAST: {e}")))
            }
            Ast::Cast { kind, expr, data_type, .. } => {
                let safe = matches!(kind, CastKind::TryCast | CastKind::SafeCast);
                let e = self.expr(expr, env)?;
                self.cast(e, data_type, safe)
            }
            Ast::TypedString(typed) => {
                let Some(text) = typed.value.clone().into_string() else {
                    return Err(Error::Invalid(format!("{} takes a text", typed.data_type)));
                };
                self.cast(literal::text(&text), &typed.data_type, false)
            }
            Ast::Interval(_) => self.interval(e, env),
            Ast::Function(function) => self.function(function, env),
            Ast::Exists { subquery, negated } => {
                let bound = self.query(subquery, Some(env), env.ctes)?;
                let columns = bound.fields.iter().map(|field| field.id).collect();
                let exists = subquery_of(SubqueryKind::Exists, bound.rel, columns);
                Ok(if *negated { exists.not() } else { exists })
            }
            Ast::Subquery(query) => self.scalar(query, env),
            Ast::InSubquery { expr, subquery, negated } => {
                let is_in = self.quantified(expr, Operator::Eq, false, subquery, env)?;
                Ok(if *negated { is_in.not() } else { is_in })
            }
            Ast::AnyOp { left, compare_op, right, .. } => {
                self.compared_with(left, compare_op, false, right, env)
            }
            Ast::AllOp { left, compare_op, right } => self.compared_with(left, compare_op, true, right, env),
            other => self.special(other, env),
        }
    }

    /// A cast to the type of a name. If it is `safe`, what can't be cast is NULL.
    fn cast(&mut self, value: Expr, to: &DataTypeName, safe: bool) -> Result<Expr> {
        if *to == DataTypeName::Uuid && (is_text(&value.data_type) || value.data_type.is_null()) {
            return self.call_named(if safe { uuids::TRY_CAST } else { uuids::CAST }, vec![value]);
        }
        let (data_type, holds) = (sql_type::written(to)?, sql_type::holds(to));
        let is_known = |e: &Expr| e.as_literal().is_some_and(|value| !value.is_null());
        let constant = is_known(&value).then(|| value.clone());
        let cast = self.types.cast_json(value, (&data_type, &holds), safe, &self.columns)?;
        match (&data_type, constant) {
            // A constant of the year 9999 is one of microseconds.
            (DataType::Timestamp(TimeUnit::Nanosecond, zone), Some(constant)) if !is_known(&cast) => {
                let micros = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
                let kept = self.types.cast_json(constant, (&micros, &holds), safe, &self.columns)?;
                Ok(if is_known(&kept) { kept } else { cast })
            }
            _ => Ok(cast),
        }
    }

    pub(super) fn exprs(&mut self, all: &[Ast], env: &Env<'_>) -> Result<Vec<Expr>> {
        all.iter().map(|e| self.expr(e, env)).collect()
    }

    /// Syntax that stands for a call of a function, and what is not supported.
    fn special(&mut self, e: &Ast, env: &Env<'_>) -> Result<Expr> {
        match e {
            Ast::Extract { field, expr, .. } => {
                let args = vec![literal::text(&field.to_string()), self.expr(expr, env)?];
                self.call_named("date_part", args)
            }
            Ast::SimilarTo { negated, expr, pattern, escape_char: None } => {
                let (text, pattern) = (self.expr(expr, env)?, self.expr(pattern, env)?);
                let matched = self.similar(text, pattern)?;
                if *negated { self.types.not(matched) } else { Ok(matched) }
            }
            Ast::SimilarTo { .. } => Err(Error::Unsupported("SIMILAR TO … ESCAPE".into())),
            Ast::AtTimeZone { timestamp, time_zone } => {
                let args = vec![self.expr(timestamp, env)?, self.expr(time_zone, env)?];
                self.call_named(zone::NAME, args)
            }
            Ast::Ceil { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                let e = self.expr(expr, env)?;
                self.call_named("ceil", vec![e])
            }
            Ast::Floor { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                let e = self.expr(expr, env)?;
                self.call_named("floor", vec![e])
            }
            Ast::Position { expr, r#in } => {
                let args = vec![self.expr(r#in, env)?, self.expr(expr, env)?];
                self.call_named("strpos", args)
            }
            Ast::Substring { expr, substring_from, substring_for, .. } => {
                let mut args = vec![self.expr(expr, env)?];
                match (substring_from, substring_for) {
                    (None, None) => {
                        return Err(Error::Invalid(
                            "substring() takes a place to start at: substr(text, start, length)".into(),
                        ));
                    }
                    (Some(from), _) => args.push(self.expr(from, env)?),
                    (None, Some(_)) => args.push(Expr::literal(ScalarValue::Int64(Some(1)))),
                }
                if let Some(length) = substring_for {
                    args.push(self.expr(length, env)?);
                }
                self.call_named("substr", args)
            }
            Ast::Trim { expr, trim_where, trim_what, trim_characters } => {
                let mut args = vec![self.expr(expr, env)?];
                match (trim_what, trim_characters.as_deref()) {
                    (Some(_), Some(_)) => {
                        return Err(Error::Invalid("TRIM takes the characters once".into()));
                    }
                    (Some(what), None) => args.push(self.expr(what, env)?),
                    (None, Some([what, ..])) => args.push(self.expr(what, env)?),
                    (None, _) => {}
                }
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    Some(TrimWhereField::Both) | None => "btrim",
                };
                self.call_named(name, args)
            }
            Ast::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut args =
                    vec![self.expr(expr, env)?, self.expr(overlay_what, env)?, self.expr(overlay_from, env)?];
                if let Some(length) = overlay_for {
                    args.push(self.expr(length, env)?);
                }
                self.call_named("overlay", args)
            }
            Ast::Struct { values, fields } if fields.is_empty() => self.structure(values, env),
            Ast::Tuple(values) => self.structure(values, env),
            Ast::Dictionary(fields) => {
                let mut args = Vec::with_capacity(2 * fields.len());
                let mut names = BTreeSet::new();
                for field in fields {
                    if !names.insert(field.key.value.to_lowercase()) {
                        let message = format!("two fields called '{}' in a struct", field.key.value);
                        return Err(Error::Invalid(message).at(field.key.span));
                    }
                    args.push(literal::text(&field.key.value));
                    args.push(self.expr(&field.value, env)?);
                }
                self.call_named("named_struct", args)
            }
            Ast::Map(map) => {
                let keys = map.entries.iter().map(|entry| self.expr(&entry.key, env));
                let keys = keys.collect::<Result<Vec<_>>>()?;
                let values = map.entries.iter().map(|entry| self.expr(&entry.value, env));
                let values = values.collect::<Result<Vec<_>>>()?;
                let lists = [keys, values].map(|items| self.types.list_call("list_value", items));
                self.types.of_maps("map", lists.into_iter().collect::<Result<_>>()?)
            }
            Ast::Array(array) => {
                let items = self.exprs(&array.elem, env)?;
                self.types.list_call("list_value", items)
            }
            Ast::CompoundFieldAccess { root, access_chain } => self.accessed(root, access_chain, env),
            Ast::Lambda(_) => Err(Error::Invalid(
                "a lambda stands in list_transform(), list_filter() and list_reduce() alone".into(),
            )),
            Ast::Wildcard(_) | Ast::QualifiedWildcard(..) => {
                Err(Error::Invalid("* stands for all columns in SELECT and in count(*) alone".into()))
            }
            Ast::GroupingSets(_) | Ast::Rollup(_) | Ast::Cube(_) => {
                Err(Error::Invalid("grouping sets stand in GROUP BY alone".into()))
            }
            other => Err(Error::Unsupported(format!("this expression: {other}"))),
        }
    }

    /// An item of a select list, of which a column has the type that it has.
    pub(super) fn selected_item(&mut self, e: &Ast, env: &Env<'_>) -> Result<Expr> {
        let value = self.expr(e, env)?;
        Ok(match value.kind {
            Kind::Cast { expr, .. }
                if matches!(e, Ast::Identifier(_) | Ast::CompoundIdentifier(_))
                    && matches!(expr.data_type, DataType::FixedSizeList(..)) =>
            {
                *expr
            }
            kind => Expr { kind, ..value },
        })
    }

    /// A column. One of lists of a fixed size, such as embeddings in Parquet, is one of lists to functions.
    fn column(&self, id: ColumnId) -> Result<Expr> {
        let value = self.columns.read(id);
        match value.data_type.clone() {
            DataType::FixedSizeList(item, _) => self.types.cast(value, &DataType::List(item), false),
            _ => Ok(value),
        }
    }

    fn identifier(&mut self, name: &Ident, env: &Env<'_>) -> Result<Expr> {
        if let Some(row) = self.row(name, env)? {
            return Ok(row);
        }
        match env.find(name)? {
            Some(Named::Column(field, _)) => self.column(field.id),
            Some(Named::Alias(alias)) => {
                let value = self.expr(alias.expr, &alias.env)?;
                match value.is_volatile() {
                    true => Err(Error::Unsupported(format!(
                        "the name '{}' of an expression that gives another value at each call\n  help: give the \
                         name in a subquery",
                        name.value
                    ))),
                    false => Ok(value),
                }
            }
            None => match place_of(name).and_then(|place| env.scope.shown().get(place)) {
                Some(shown) => self.column(shown.field.id),
                None => Err(env.no_column(std::slice::from_ref(name), self.catalog)),
            },
        }
    }

    /// An interval: a constant, or a computed number of a unit, which is the text of both.
    fn interval(&mut self, e: &Ast, env: &Env<'_>) -> Result<Expr> {
        let mut e = e.clone();
        syntax::allowed(intervals::normalise(&mut e))?;
        match &e {
            Ast::Interval(interval) => literal::of_interval(interval),
            other => self.expr(other, env),
        }
    }

    /// A field of a struct, which is called `of`.
    pub(super) fn field(&mut self, value: Expr, of: &str, name: &str, env: &Env<'_>) -> Result<Expr> {
        if self.columns.is_json(&value) {
            return self.types.json_field(value, name, &self.columns);
        }
        let no_field = |why: &str, help| {
            Err(Error::Name { message: format!("'{of}' has no field '{name}'{why}"), help })
        };
        match &value.data_type {
            DataType::Struct(fields) => match structs::field_named(fields, name) {
                Some(field) => {
                    let name = literal::text(field.name());
                    self.call_named("get_field", vec![value, name])
                }
                None => no_field("", meant::column(name, fields.iter().map(|field| field.name().as_str()))),
            },
            DataType::Map(..) => self.types.map_value(value, literal::text(name)),
            t if t.is_nested() => self.call_named("get_field", vec![value, literal::text(name)]),
            _ => no_field(": it is no struct", env.renamed(of, name)),
        }
    }

    fn two(&mut self, left: &Ast, op: Operator, right: &Ast, env: &Env<'_>) -> Result<Expr> {
        let sides = [self.expr(left, env)?, self.expr(right, env)?];
        let ([left, right], _) = self.types.compared_json(sides, vec![], &self.columns)?;
        self.types.binary(left, op, right)
    }

    fn binary(&mut self, left: &Ast, op: &BinaryOperator, right: &Ast, env: &Env<'_>) -> Result<Expr> {
        if matches!(op, BinaryOperator::And | BinaryOperator::Or) {
            // A chain hangs to the left.
            let mut terms = vec![right];
            let mut first = left;
            while let Ast::BinaryOp { left, op: inner, right } = first
                && inner == op
            {
                terms.push(right);
                first = left;
            }
            terms.push(first);
            terms.reverse();
            let bound = terms.iter().map(|term| self.expr(term, env).and_then(|term| self.truth(term)));
            let bound = bound.collect::<Result<Vec<_>>>()?;
            let is_wrong = |e: &Expr| !matches!(e.data_type, DataType::Boolean | DataType::Null);
            let wrong = bound.iter().position(is_wrong);
            let all = match op {
                BinaryOperator::And => self.types.and(bound),
                _ => self.types.or(bound),
            };
            let place = || wrong.map_or(Span::empty(), |wrong| terms[wrong].span());
            return all.map_err(|error| error.at(place()));
        }
        let (is_like, negated, case_insensitive) = match op {
            BinaryOperator::PGLikeMatch => (true, false, false),
            BinaryOperator::PGNotLikeMatch => (true, true, false),
            BinaryOperator::PGILikeMatch => (true, false, true),
            BinaryOperator::PGNotILikeMatch => (true, true, true),
            _ => (false, false, false),
        };
        if matches!(op, BinaryOperator::Custom(name) if name == IN) {
            return self.in_value(left, right, env);
        }
        if *op == BinaryOperator::Arrow
            && let Some(last) = arrows(left, right)
        {
            return self.expr(&last, env);
        }
        let (left, right) = (self.expr(left, env)?, self.expr(right, env)?);
        if is_like {
            return self.types.like(left, right, negated, case_insensitive);
        }
        match op {
            // What the parser takes `^` for.
            BinaryOperator::BitwiseXor | BinaryOperator::PGExp => self.call_named("power", vec![left, right]),
            BinaryOperator::Custom(name) if name == GLOB => self.glob(left, right),
            BinaryOperator::Arrow | BinaryOperator::LongArrow => {
                self.types.json_arrow(left, right, *op == BinaryOperator::LongArrow, &self.columns)
            }
            BinaryOperator::PGOverlap if !is_list(&left) && !is_list(&right) => Err(Error::Invalid(
                "&& is for lists that have items in common\n  help: AND joins conditions".into(),
            )),
            BinaryOperator::PGOverlap => self.types.list_call("list_has_any", vec![left, right]),
            BinaryOperator::AtArrow => self.types.list_call("list_has_all", vec![left, right]),
            BinaryOperator::Custom(name) if name == DISTANCE => {
                self.types.list_call("list_distance", vec![left, right])
            }
            BinaryOperator::Spaceship if is_list(&left) || is_list(&right) => {
                self.types.list_call("list_cosine_distance", vec![left, right])
            }
            BinaryOperator::Spaceship => Err(Error::Invalid(
                "<=> is the cosine distance of two lists\n  help: IS NOT DISTINCT FROM compares values, of which NULL \
                 may be one"
                    .into(),
            )),
            BinaryOperator::ArrowAt => self.types.list_call("list_has_all", vec![right, left]),
            BinaryOperator::StringConcat if is_list(&left) || is_list(&right) => {
                self.types.lists_concatenated(left, right)
            }
            BinaryOperator::PGStartsWith => self.call_named("starts_with", vec![left, right]),
            BinaryOperator::DuckIntegerDivide => self.types.integer_quotient(left, right),
            _ => {
                let op = operator(op)?;
                let ([left, right], _) = match compile::is_comparison(op) {
                    true => self.types.compared_json([left, right], vec![], &self.columns)?,
                    false => ([left, right], vec![]),
                };
                self.types.binary(left, op, right)
            }
        }
    }

    fn unary(&mut self, op: UnaryOperator, e: &Ast, env: &Env<'_>) -> Result<Expr> {
        match op {
            UnaryOperator::Not => {
                let e = self.expr(e, env).and_then(|e| self.truth(e))?;
                self.types.not(e)
            }
            UnaryOperator::Plus => {
                let e = self.expr(e, env)?;
                let t = &e.data_type;
                let has_sign = t.is_numeric() || t.is_null() || t.is_temporal();
                match has_sign {
                    true => Ok(e),
                    false => Err(Error::Invalid("+ takes a number, an interval or a timestamp".into())),
                }
            }
            UnaryOperator::Minus => {
                if let Ast::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) = e {
                    return literal::number(digits, true);
                }
                let e = self.expr(e, env)?;
                self.types.negative(e)
            }
            UnaryOperator::BitwiseNot => {
                let e = self.expr(e, env)?;
                self.types.bits_inverted(e)
            }
            other => Err(Error::Unsupported(format!("the operator {other}"))),
        }
    }

    /// `IS [NOT] TRUE` and `IS [NOT] FALSE`.
    fn is(&mut self, e: &Ast, value: bool, negated: bool, env: &Env<'_>) -> Result<Expr> {
        let e = self.condition(e, env)?;
        let op = if negated { Operator::IsDistinctFrom } else { Operator::IsNotDistinctFrom };
        self.types.binary(e, op, Expr::boolean(value))
    }

    fn is_unknown(&mut self, e: &Ast, negated: bool, env: &Env<'_>) -> Result<Expr> {
        let e = self.condition(e, env)?;
        Ok(self.types.is_null(e, negated))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of the syntax, each once")]
    fn like(
        &mut self,
        e: &Ast,
        pattern: &Ast,
        negated: bool,
        case_insensitive: bool,
        any: bool,
        escape: Option<&ValueWithSpan>,
        env: &Env<'_>,
    ) -> Result<Expr> {
        if any {
            return Err(Error::Unsupported("LIKE ANY".into()));
        }
        let (e, pattern) = (self.expr(e, env)?, self.like_pattern(pattern, escape, env)?);
        self.types.like(e, pattern, negated, case_insensitive)
    }

    fn case(
        &mut self,
        operand: Option<&Ast>,
        conditions: &[CaseWhen],
        otherwise: Option<&Ast>,
        env: &Env<'_>,
    ) -> Result<Expr> {
        let mut operand = operand.map(|e| self.expr(e, env)).transpose()?;
        let mut branches = Vec::with_capacity(conditions.len());
        for CaseWhen { condition, result } in conditions {
            let mut when = self.expr(condition, env)?;
            if operand.is_none() {
                when = self.truth(when)?;
            }
            branches.push((when, self.expr(result, env)?));
        }
        if let Some(compared) = operand.take() {
            let (whens, thens): (Vec<Expr>, Vec<Expr>) = branches.into_iter().unzip();
            let ([compared], whens) = self.types.compared_json([compared], whens, &self.columns)?;
            operand = Some(compared);
            branches = whens.into_iter().zip(thens).collect();
        }
        let otherwise = otherwise.map(|e| self.expr(e, env)).transpose()?;
        self.types.case(operand, branches, otherwise)
    }

    /// A struct of values, some of which may have names.
    fn structure(&mut self, values: &[Ast], env: &Env<'_>) -> Result<Expr> {
        if values.is_empty() {
            return Err(Error::Unsupported("an empty tuple".into()));
        }
        let has_names = values.iter().any(|value| matches!(value, Ast::Named { .. }));
        let mut args = Vec::with_capacity(values.len());
        for (i, value) in values.iter().enumerate() {
            let (name, value) = match value {
                Ast::Named { expr, name } => (name.value.clone(), expr.as_ref()),
                other => (format!("c{i}"), other),
            };
            if has_names {
                args.push(literal::text(&name));
            }
            args.push(self.expr(value, env)?);
        }
        self.call_named(if has_names { "named_struct" } else { "struct" }, args)
    }
}

/// `a -> ('b' ->> 'c')` without the parentheses, as the precedence of both has it, is `(a -> 'b') ->> 'c'`, as DuckDB
/// has it: that, if it is such.
fn arrows(left: &Ast, right: &Ast) -> Option<Ast> {
    let Ast::BinaryOp { left: first, op: BinaryOperator::LongArrow, right: last } = right else {
        return None;
    };
    let arrow = |left: Ast, op: BinaryOperator, right: &Ast| Ast::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right.clone()),
    };
    let begin = match arrows(left, first) {
        Some(begin) => begin,
        None => arrow(left.clone(), BinaryOperator::Arrow, first),
    };
    Some(arrow(begin, BinaryOperator::LongArrow, last))
}

fn is_list(e: &Expr) -> bool {
    matches!(e.data_type, DataType::List(_))
}

/// The place, from 0, that a name such as `#1` stands for: that of a column of FROM.
fn place_of(name: &Ident) -> Option<usize> {
    let digits = name.value.strip_prefix('#').filter(|_| name.quote_style.is_none())?;
    digits.parse::<usize>().ok()?.checked_sub(1)
}

/// The operator of the syntax.
pub(super) fn operator(op: &BinaryOperator) -> Result<Operator> {
    Ok(match op {
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Plus => Operator::Plus,
        BinaryOperator::Minus => Operator::Minus,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Divide => Operator::Divide,
        BinaryOperator::Modulo => Operator::Modulo,
        BinaryOperator::PGRegexMatch => Operator::RegexMatch,
        BinaryOperator::PGRegexIMatch => Operator::RegexIMatch,
        BinaryOperator::PGRegexNotMatch => Operator::RegexNotMatch,
        BinaryOperator::PGRegexNotIMatch => Operator::RegexNotIMatch,
        BinaryOperator::BitwiseAnd => Operator::BitwiseAnd,
        BinaryOperator::BitwiseOr => Operator::BitwiseOr,
        BinaryOperator::Xor | BinaryOperator::PGBitwiseXor => Operator::BitwiseXor,
        BinaryOperator::PGBitwiseShiftRight => Operator::BitwiseShiftRight,
        BinaryOperator::PGBitwiseShiftLeft => Operator::BitwiseShiftLeft,
        BinaryOperator::StringConcat => Operator::StringConcat,
        other => return Err(Error::Unsupported(format!("the operator {other}"))),
    })
}
