//! One expression after another, the parts before the whole. Types are those of the algebra, so that the time is linear in
//! the size of the expression.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_expr::physical_planning_context::SubqueryIndex;
use datafusion_physical_expr::expressions::{
    BinaryExpr, Column, Literal, NegativeExpr, case, is_not_null, is_null, like as like_pattern, not,
};
use datafusion_physical_expr::scalar_subquery::ScalarSubqueryExpr;
use expressions::between::Between;
use expressions::compare::normal::normal;
use expressions::compare::varying::in_list;
use expressions::compare::{self, is_ambiguous};
use expressions::first_known::FirstKnown;
use expressions::like;
use expressions::short_circuit;

use super::casts::is_text;
use super::failing::fails_itself;
use super::{Compiler, Layout, Part, cost, operators, order};
use crate::algebra::{Expr, Kind};
use crate::error::{Error, Result};
use crate::estimates::kept;
use crate::plan;

/// Of more texts the one that a value is, is looked for by its hash.
const MOST_COMPARED: usize = 6;

impl Compiler {
    /// Compiles an expression. `filter`: whether NULL counts as false, as in WHERE.
    pub(super) fn part(&self, e: &Expr, input: &Layout, filter: bool) -> Result<Part> {
        if let Kind::And(terms) | Kind::Or(terms) = &e.kind {
            let parts = terms.iter().map(|term| self.part(term, input, filter)).collect::<Result<_>>()?;
            let and = matches!(e.kind, Kind::And(_));
            return Ok(order::in_order(short_circuit::Kind { and, filter }, parts));
        }
        if let Kind::Between { expr, low, high, negated } = &e.kind {
            return self.between([expr, low, high], *negated, input, filter);
        }
        if let Some(compared) = compared_texts(e) {
            return self.one_of(compared, input);
        }
        let (mut fails, mut cost) = (fails_itself(e), cost::itself(e));
        let expr = self.whole(e, input, &mut |part| {
            fails |= part.fails;
            cost += part.cost;
        })?;
        Ok(Part { expr, fails, cost, kept: kept::guess(e) })
    }

    /// Whether a text is one of some others: a comparison with each is quicker than to look it up by its hash.
    fn one_of(&self, (text, list, negated): (&Expr, &[Expr], bool), input: &Layout) -> Result<Part> {
        let mut terms = Vec::with_capacity(list.len());
        for item in list {
            terms.push(self.part(&Expr::compare(text.clone(), Operator::Eq, item.clone()), input, false)?);
        }
        let any = order::in_order(short_circuit::Kind { and: false, filter: false }, terms);
        Ok(if negated { Part { expr: not(any.expr)?, kept: 1.0 - any.kept, ..any } } else { any })
    }

    /// Whether a value is between two others: one comparison behind the other, of which that comes first which can't fail.
    fn between(&self, parts: [&Expr; 3], negated: bool, input: &Layout, filter: bool) -> Result<Part> {
        let [value, low, high] = parts;
        let data_type = &value.data_type;
        // Else it would be computed twice, and one within others many times.
        let once = value.is_volatile() || value.any(&mut |e| matches!(e.kind, Kind::Between { .. }));
        let value = self.part(value, input, false)?;
        let (low, high) = (self.part(low, input, false)?, self.part(high, input, false)?);
        let own_cost = cost::compared(data_type);
        let both = if once {
            let fails = value.fails || low.fails || high.fails;
            let cost = value.cost + low.cost + high.cost + 2.0 * own_cost;
            let expr = Arc::new(Between::new(value.expr, low.expr, high.expr, data_type));
            Part { expr, fails, cost, kept: kept::BETWEEN }
        } else {
            let compared = |op, bound: Part| -> Result<Part> {
                let fails = value.fails || bound.fails;
                let cost = value.cost + bound.cost + own_cost;
                let expr =
                    operators::compared(value.expr.clone(), op, bound.expr, data_type, input.schema())?;
                Ok(Part { expr, fails, cost, kept: kept::BETWEEN.sqrt() })
            };
            let terms = vec![compared(Operator::GtEq, low)?, compared(Operator::LtEq, high)?];
            order::in_order(short_circuit::Kind { and: true, filter: filter && !negated }, terms)
        };
        Ok(if negated { Part { expr: not(both.expr)?, kept: 1.0 - both.kept, ..both } } else { both })
    }

    /// Compiles an expression that is neither AND, OR nor BETWEEN. `note` is told each part.
    fn whole(&self, e: &Expr, input: &Layout, note: &mut dyn FnMut(&Part)) -> Result<plan::Expr> {
        let schema = input.schema();
        let mut one = |e: &Expr, filter: bool| -> Result<plan::Expr> {
            let part = self.part(e, input, filter)?;
            note(&part);
            Ok(part.expr)
        };
        Ok(match &e.kind {
            Kind::Column(id) => match input.position(*id) {
                Some(position) => Arc::new(Column::new(schema.field(position).name(), position)),
                None => return Err(Error::Invalid(format!("column {} is not in the input", id.0))),
            },
            Kind::Literal(value) => Arc::new(Literal::new(typed(value, e)?)),
            Kind::And(_) | Kind::Or(_) | Kind::Between { .. } => one(e, false)?,
            Kind::Binary(op, left, right) => {
                let operands = (one(left, false)?, one(right, false)?);
                let (left, right) = ((operands.0, &left.data_type), (operands.1, &right.data_type));
                operators::binary(e, left, *op, right, schema)?
            }
            Kind::Not(inner) => match &inner.kind {
                Kind::IsNull(value) => is_not_null(one(value, false)?)?,
                _ => not(one(inner, false)?)?,
            },
            Kind::IsNull(value) => is_null(one(value, false)?)?,
            Kind::Negative(value) => negative(one(value, false)?, value)?,
            Kind::Cast { expr, safe } => {
                let value = one(expr, false)?;
                self.cast(value, &expr.data_type, &e.data_type, *safe, schema)?
            }
            Kind::Case { operand, branches, otherwise } => {
                let compared = operand.as_deref().map(|e| one(e, false)).transpose()?;
                let pairs = branches
                    .iter()
                    .map(|(when, then)| Ok((one(when, operand.is_none())?, one(then, false)?)))
                    .collect::<Result<_>>()?;
                let otherwise = otherwise.as_deref().map(|e| one(e, false)).transpose()?;
                let plain = case(compared, pairs, otherwise)?;
                let is_own = operand.as_ref().is_some_and(|operand| is_ambiguous(&operand.data_type));
                let own = if is_own { compare::replaced(&plain, schema)? } else { None };
                own.unwrap_or(plain)
            }
            Kind::InList { expr, list, negated } => {
                // Of no value nothing is known, but that it is not in an empty list.
                if expr.as_literal().is_some_and(ScalarValue::is_null) && !list.is_empty() {
                    return Ok(Arc::new(Literal::new(ScalarValue::Boolean(None))));
                }
                let normalises = is_ambiguous(&expr.data_type);
                let mut value = |e: &Expr| -> Result<plan::Expr> {
                    let value = one(e, false)?;
                    Ok(if normalises { normal(&value)? } else { value })
                };
                let compared = value(expr)?;
                let items = list.iter().map(value).collect::<Result<_>>()?;
                in_list(compared, items, *negated, schema)?
            }
            Kind::Like { expr, pattern, negated, case_insensitive } => {
                let value = one(expr, false)?;
                let is_plain = !*case_insensitive && expr.data_type == DataType::Utf8View;
                let text = pattern.as_literal().filter(|_| is_plain);
                let text = text.and_then(|text| text.try_as_str().flatten());
                match text.and_then(|text| like::like(value.clone(), text, *negated)) {
                    Some(own) => own,
                    None => like_pattern(*negated, *case_insensitive, value, one(pattern, false)?, schema)?,
                }
            }
            Kind::Call { function, args } => {
                let args = args.iter().map(|arg| one(arg, false)).collect::<Result<Vec<_>>>()?;
                if matches!(function.name(), "coalesce" | "nvl") {
                    return Ok(Arc::new(FirstKnown::new(e.data_type.clone(), args)));
                }
                let call = self.call(function.clone(), args, schema)?;
                let call = compare::replaced(&call, schema)?.unwrap_or(call);
                let data_type = call.data_type(schema)?;
                self.cast(call, &data_type, &e.data_type, false, schema)?
            }
            Kind::Stage(index) => {
                let index = SubqueryIndex::new(*index);
                Arc::new(ScalarSubqueryExpr::new(e.data_type.clone(), true, index, self.results.clone()))
            }
            Kind::Subquery(_) => {
                return Err(Error::Unsupported("this subquery, of which no join could be made".into()));
            }
        })
    }
}

/// The column of texts, the few constants that it is compared with, and whether it must be none of them.
fn compared_texts(e: &Expr) -> Option<(&Expr, &[Expr], bool)> {
    let Kind::InList { expr, list, negated } = &e.kind else { return None };
    let is_text = |item: &Expr| item.as_literal().is_some_and(|value| !value.is_null());
    let is_few = (2..=MOST_COMPARED).contains(&list.len());
    let compares = is_few && expr.as_column().is_some() && self::is_text(&expr.data_type);
    (compares && list.iter().all(is_text)).then_some((expr, list, *negated))
}

/// The value of a literal, NULL in its type.
fn typed(value: &ScalarValue, e: &Expr) -> Result<ScalarValue> {
    match value {
        ScalarValue::Null if !e.data_type.is_null() => Ok(ScalarValue::try_from(&e.data_type)?),
        value => Ok(value.clone()),
    }
}

/// The negative of a number or an interval. That of the least integer is an error.
fn negative(value: plan::Expr, e: &Expr) -> Result<plan::Expr> {
    if e.data_type.is_null() {
        return Ok(value);
    }
    if e.data_type.is_integer() {
        let zero: plan::Expr = Arc::new(Literal::new(ScalarValue::new_zero(&e.data_type)?));
        return Ok(Arc::new(BinaryExpr::new(zero, Operator::Minus, value).with_fail_on_overflow(true)));
    }
    Ok(Arc::new(NegativeExpr::new(value)))
}
