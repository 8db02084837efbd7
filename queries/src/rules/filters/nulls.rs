//! What predicates are where columns are NULL.
//!
//! An outer join fills a side with NULLs. Where a predicate above is not true of such rows, they need not be made.
//! Whether it can be true is found out by computing with sets of outcomes. Each part is true, false or NULL in some of
//! the rows. What is not known can be anything, so that the answer errs on the side of "it can be".

use std::ops::BitOr;

use datafusion_common::ScalarValue;
use datafusion_expr::Operator;

use crate::algebra::{ColumnId, Expr, Kind};
use crate::compile::is_comparison;

/// Functions that are NULL where an argument is.
const STRICT: [&str; 16] = [
    "abs",
    "btrim",
    "ceil",
    "character_length",
    "date_part",
    "date_trunc",
    "floor",
    "lower",
    "ltrim",
    "octet_length",
    "round",
    "rtrim",
    "strpos",
    "substr",
    "trunc",
    "upper",
];

/// What an expression can be: of one that is not BOOLEAN, a value counts as true and false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outcomes {
    yes: bool,
    no: bool,
    null: bool,
}

const YES: Outcomes = Outcomes { yes: true, no: false, null: false };
const NO: Outcomes = Outcomes { yes: false, no: true, null: false };
const NULL: Outcomes = Outcomes { yes: false, no: false, null: true };
const VALUE: Outcomes = Outcomes { yes: true, no: true, null: false };
const ANY: Outcomes = Outcomes { yes: true, no: true, null: true };

impl BitOr for Outcomes {
    type Output = Outcomes;

    fn bitor(self, other: Outcomes) -> Outcomes {
        Outcomes { yes: self.yes | other.yes, no: self.no | other.no, null: self.null | other.null }
    }
}

impl Outcomes {
    fn not(self) -> Outcomes {
        Outcomes { yes: self.no, no: self.yes, null: self.null }
    }

    /// Of two terms of an AND.
    fn and(self, other: Outcomes) -> Outcomes {
        let open = |o: Outcomes| o.yes || o.null;
        Outcomes {
            yes: self.yes && other.yes,
            no: self.no || other.no,
            null: self.null && open(other) || other.null && open(self),
        }
    }

    /// Of what is NULL where a part is, and else anything.
    fn strict(parts: impl Iterator<Item = Outcomes>) -> Outcomes {
        parts.fold(VALUE, |all, part| if all == NULL || part == NULL { NULL } else { all | part })
    }
}

/// Whether a predicate is true of no row in which these columns are NULL.
pub fn rejects(predicate: &Expr, is_null: &dyn Fn(ColumnId) -> bool) -> bool {
    !outcomes(predicate, is_null).yes
}

/// Whether an expression is NULL in all rows in which these columns are.
pub fn is_null_with(e: &Expr, is_null: &dyn Fn(ColumnId) -> bool) -> bool {
    outcomes(e, is_null) == NULL
}

fn outcomes(e: &Expr, is_null: &dyn Fn(ColumnId) -> bool) -> Outcomes {
    let of = |e: &Expr| outcomes(e, is_null);
    match &e.kind {
        Kind::Column(id) => {
            if is_null(*id) {
                NULL
            } else {
                ANY
            }
        }
        Kind::Literal(value) => match value {
            ScalarValue::Boolean(Some(true)) => YES,
            ScalarValue::Boolean(Some(false)) => NO,
            value if value.is_null() => NULL,
            _ => VALUE,
        },
        Kind::Binary(op @ (Operator::IsDistinctFrom | Operator::IsNotDistinctFrom), left, right) => {
            let same = match (of(left), of(right)) {
                (NULL, NULL) => YES,
                (NULL, other) | (other, NULL) if !other.null => NO,
                _ => VALUE,
            };
            if *op == Operator::IsNotDistinctFrom { same } else { same.not() }
        }
        Kind::Binary(op, left, right) if is_comparison(*op) || op.is_numerical_operators() => {
            Outcomes::strict([of(left), of(right)].into_iter())
        }
        Kind::And(terms) => terms.iter().map(of).fold(YES, Outcomes::and),
        Kind::Or(terms) => terms.iter().map(|term| of(term).not()).fold(YES, Outcomes::and).not(),
        Kind::Not(inner) => of(inner).not(),
        Kind::IsNull(inner) => match of(inner) {
            NULL => YES,
            inner if !inner.null => NO,
            _ => VALUE,
        },
        Kind::Negative(inner) => of(inner),
        Kind::Cast { expr, .. } => {
            if of(expr) == NULL {
                NULL
            } else {
                ANY
            }
        }
        Kind::Case { operand, branches, otherwise } => {
            let last = otherwise.as_deref().map_or(NULL, of);
            if let Some(operand) = operand {
                let results = branches.iter().map(|(_, then)| of(then));
                return if of(operand) == NULL { last } else { results.fold(last, BitOr::bitor) };
            }
            let mut all: Option<Outcomes> = None;
            for (when, then) in branches {
                let when = of(when);
                if when.yes {
                    let then = of(then);
                    all = Some(all.map_or(then, |all| all | then));
                }
                if when == YES {
                    return all.unwrap_or(ANY);
                }
            }
            all.map_or(last, |all| all | last)
        }
        Kind::InList { expr, list, .. } => {
            if of(expr) == NULL && !list.is_empty() {
                NULL
            } else {
                ANY
            }
        }
        Kind::Between { expr, low, high, negated } => {
            let value = of(expr);
            let side = |bound: &Expr| Outcomes::strict([value, of(bound)].into_iter());
            let both = side(low).and(side(high));
            if *negated { both.not() } else { both }
        }
        Kind::Like { expr, pattern, .. } => Outcomes::strict([of(expr), of(pattern)].into_iter()),
        Kind::Call { function, args } if STRICT.contains(&function.name()) => {
            if args.iter().any(|arg| of(arg) == NULL) { NULL } else { ANY }
        }
        Kind::Call { function, args } if matches!(function.name(), "coalesce" | "nvl") => {
            let mut all: Option<Outcomes> = None;
            for arg in args.iter().map(of) {
                let known = Outcomes { null: false, ..arg };
                if known.yes || known.no {
                    all = Some(all.map_or(known, |all| all | known));
                }
                if !arg.null {
                    return all.unwrap_or(ANY);
                }
            }
            all.map_or(NULL, |all| all | NULL)
        }
        Kind::Binary(..) | Kind::Call { .. } | Kind::Stage(_) | Kind::Subquery(_) => ANY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{JoinKind, Limit, Rel, Sort, SortKey};
    use crate::rules::testing::{Sample, eq, id, int, join, more};

    #[test]
    fn rows_of_nulls_are_rejected_or_not() {
        let mut sample = Sample::default();
        let (x, y) = (sample.number("x"), sample.number("y"));
        let rejects = |e: Expr| rejects(&e, &|column| column == id(&x));
        let is_null = |e: &Expr| e.clone().is_null();
        assert!(rejects(eq(&x, &y)));
        assert!(rejects(is_null(&x).not()));
        assert!(!rejects(is_null(&x)));
        assert!(!rejects(eq(&y, &int(1))));
        assert!(rejects(Expr::or([eq(&x, &int(1)), Expr::and([more(&x, &int(2)), eq(&y, &y)])])));
        assert!(!rejects(Expr::or([eq(&x, &int(1)), eq(&y, &int(1))])));
        assert!(!rejects(eq(&x, &y).is_null()));
        assert!(rejects(Expr::compare(x.clone(), Operator::IsNotDistinctFrom, int(1))));
        assert!(!rejects(Expr::compare(x.clone(), Operator::IsNotDistinctFrom, y.clone())));
        // NOT of what is NULL is NULL.
        assert!(rejects(Expr::or([eq(&x, &y), more(&x, &y)]).not()));
        let branches = vec![(is_null(&x), Expr::boolean(true))];
        let case = Expr::condition(Kind::Case { operand: None, branches, otherwise: None });
        assert!(!rejects(case.clone()));
        assert!(rejects(case.not()));
    }

    #[test]
    fn an_outer_join_below_the_first_rows_makes_its_nulls() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let (u, [y]) = sample.table("u", ["y"]);
        let (v, [z]) = sample.table("v", ["z"]);
        let outer = join(JoinKind::Left, t, u, vec![eq(&x, &y)]);
        let input = Box::new(outer.clone());
        let limit = Rel::Limit(Limit { input, skip: 0, fetch: Some(3) });
        let keys = vec![SortKey { expr: y.clone(), descending: false, nulls_first: true }];
        let sort = Rel::Sort(Sort { input: Box::new(outer), keys, fetch: Some(3) });
        for first in [limit, sort] {
            let kept = join(JoinKind::Inner, first, v.clone(), vec![eq(&y, &z)]);
            sample.pushes(kept.clone(), &sample.columns.show_rel(&kept));
        }
    }
}
