//! Comparisons, IN and LIKE. Constants stand on the right side, where other rules look for them.
//!
//! [`crate::types`] takes casts off columns that are compared with constants.

use datafusion_common::ScalarValue;
use datafusion_expr::Operator;

use super::{Simplifier, is_null, spans};
use crate::algebra::{Expr, Kind};
use crate::compile::is_text;
use crate::error::Result;
use crate::rules::hash;

/// Items of a longer list may stand twice.
const LONG: usize = 10_000;

impl Simplifier<'_> {
    /// A comparison of values that are simplified.
    pub(super) fn comparison(&self, left: Expr, op: Operator, right: Expr, condition: bool) -> Result<Expr> {
        let (left, op, right) = match op.swap() {
            Some(swapped) if left.as_literal().is_some() && right.as_literal().is_none() => {
                (right, swapped, left)
            }
            _ => (left, op, right),
        };
        match op {
            Operator::IsDistinctFrom | Operator::IsNotDistinctFrom if is_null(&right) => {
                return Ok(self.types.is_null(left, op == Operator::IsDistinctFrom));
            }
            Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => {}
            _ if is_null(&left) || is_null(&right) => return Ok(Expr::boolean(None)),
            _ => {}
        }
        if let Some(range) = spans::comparison(&left, op, &right) {
            return Ok(range);
        }
        let Some(ScalarValue::Boolean(Some(value))) = right.as_literal() else {
            return self.types.binary(left, op, right);
        };
        match (op, *value) {
            (Operator::Eq, true) | (Operator::NotEq, false) => Ok(left),
            (Operator::Eq, false) | (Operator::NotEq, true) => self.not(left, condition),
            (Operator::IsNotDistinctFrom, true) if condition => Ok(left),
            (Operator::IsNotDistinctFrom, false) if condition => self.not(left, condition),
            _ => self.types.binary(left, op, right),
        }
    }

    /// `e [NOT] IN (…)` of values that are simplified.
    pub(super) fn in_list(&self, e: Expr, list: Vec<Expr>, negated: bool, condition: bool) -> Result<Expr> {
        if is_null(&e) && !list.is_empty() {
            return Ok(Expr::boolean(None));
        }
        let has_null = list.iter().any(is_null);
        if has_null && condition && negated {
            return Ok(Expr::boolean(false));
        }
        let list = if list.len() > LONG { list } else { hash::distinct(list) };
        let list: Vec<Expr> = match has_null && condition {
            true => list.into_iter().filter(|item| !is_null(item)).collect(),
            false => list,
        };
        if list.is_empty() && has_null {
            // Of NULLs alone.
            return Ok(Expr::boolean(false));
        }
        let is_done = |item: &Expr| item.as_literal().is_some() && item.data_type == e.data_type;
        if e.as_column().is_some() && list.len() > 1 && list.iter().all(is_done) {
            // Nothing is left to be done to it, which takes a while for long lists.
            return Ok(Expr::condition(Kind::InList { expr: Box::new(e), list, negated }));
        }
        self.types.in_list(e, list, negated)
    }

    /// `e [NOT] LIKE pattern` of values that are simplified; how: whether it is NOT, and whether case does not matter.
    pub(super) fn like(
        &self,
        e: Expr,
        pattern: Expr,
        (negated, case_insensitive): (bool, bool),
        condition: bool,
    ) -> Result<Expr> {
        if is_null(&e) || is_null(&pattern) {
            return Ok(Expr::boolean(None));
        }
        if let Some(Some(text)) = pattern.as_literal().map(|pattern| pattern.try_as_str().flatten())
            && e.data_type == pattern.data_type
            && is_text(&e.data_type)
        {
            let is_plain = !text.contains(['%', '_', '\\']);
            if is_plain && !case_insensitive {
                let op = if negated { Operator::NotEq } else { Operator::Eq };
                return self.comparison(e, op, pattern, condition);
            }
            // Every text is like it, and NULL is not known to be.
            if condition && !text.is_empty() && text.chars().all(|c| c == '%') {
                return Ok(if negated { Expr::boolean(false) } else { self.types.is_null(e, true) });
            }
        }
        let (expr, pattern) = (Box::new(e), Box::new(pattern));
        Ok(self.types.folded(Expr::condition(Kind::Like { expr, pattern, negated, case_insensitive })))
    }
}

#[cfg(test)]
mod tests {
    use datafusion_common::ScalarValue;
    use datafusion_expr::Operator;

    use crate::algebra::{Expr, Kind};
    use crate::rules::testing::{Sample, int};

    #[test]
    fn constants_stand_on_the_right() {
        let mut sample = Sample::default();
        let x = sample.number("x");
        sample.simplifies(Expr::compare(int(5), Operator::Lt, x.clone()), "x#0 > 5");
        sample.simplifies(Expr::compare(x.clone(), Operator::Eq, x.clone()), "x#0 = x#0");
        sample.simplifies(Expr::compare(x.clone(), Operator::Eq, Expr::null(&x.data_type)), "NULL");
    }

    #[test]
    fn a_list_has_each_item_once() {
        let mut sample = Sample::default();
        let x = sample.number("x");
        let null = Expr::null(&x.data_type);
        let list = |list: Vec<Expr>, negated| {
            Expr::condition(Kind::InList { expr: Box::new(x.clone()), list, negated })
        };
        sample.simplifies(list(vec![int(1), int(1)], false), "x#0 = 1");
        sample.simplifies(list(vec![int(1), int(2), int(1)], true), "x#0 NOT IN (1, 2)");
        sample.simplifies(list(vec![int(1), null.clone()], true), "x#0 NOT IN (1, NULL)");
        sample.keeps(list(vec![int(1), null.clone()], true), "false");
        sample.keeps(list(vec![int(1), int(2), null.clone()], false), "x#0 IN (1, 2)");
        sample.keeps(list(vec![null], false), "false");
    }

    #[test]
    fn a_pattern_without_wildcards_is_a_text() {
        let mut sample = Sample::default();
        let t = sample.text("t");
        let like = |pattern: &str| {
            let pattern = Expr::literal(ScalarValue::Utf8View(Some(pattern.into())));
            let (expr, pattern) = (Box::new(t.clone()), Box::new(pattern));
            Expr::condition(Kind::Like { expr, pattern, negated: false, case_insensitive: false })
        };
        sample.simplifies(like("abc"), "t#0 = abc");
        sample.simplifies(like("a\\%c"), "t#0 LIKE a\\%c");
        sample.simplifies(like("%"), "t#0 LIKE %");
        sample.keeps(like("%%"), "NOT (t#0 IS NULL)");
    }
}
