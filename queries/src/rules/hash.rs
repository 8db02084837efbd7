//! Hashes of expressions, to find equal ones among many in linear time.
//!
//! A hash is only asked whether two expressions may be equal: no plan depends on its value.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::algebra::{Expr, Kind, SubqueryKind};

/// The hash of an expression: the same for equal ones.
pub fn hash(e: &Expr) -> u64 {
    let parts: Vec<u64> = e.children().into_iter().map(hash).collect();
    hash_over(e, &parts)
}

/// The hash of expressions in their order.
pub fn hash_all(all: &[Expr]) -> u64 {
    let mut hasher = DefaultHasher::new();
    all.iter().for_each(|e| hash(e).hash(&mut hasher));
    hasher.finish()
}

/// The hash of an expression by those of its parts, in their order.
pub fn hash_over(e: &Expr, parts: &[u64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    own(e, &mut hasher);
    parts.hash(&mut hasher);
    hasher.finish()
}

/// What an expression is besides its parts.
fn own(e: &Expr, hasher: &mut DefaultHasher) {
    std::mem::discriminant(&e.kind).hash(hasher);
    e.data_type.hash(hasher);
    match &e.kind {
        Kind::Column(id) => id.hash(hasher),
        Kind::Literal(value) => value.hash(hasher),
        Kind::Binary(op, ..) => op.hash(hasher),
        Kind::And(terms) | Kind::Or(terms) => terms.len().hash(hasher),
        Kind::Cast { safe, .. } => safe.hash(hasher),
        Kind::Case { operand, branches, otherwise } => {
            (operand.is_some(), branches.len(), otherwise.is_some()).hash(hasher);
        }
        Kind::InList { list, negated, .. } => (list.len(), negated).hash(hasher),
        Kind::Between { negated, .. } => negated.hash(hasher),
        Kind::Like { negated, case_insensitive, .. } => (negated, case_insensitive).hash(hasher),
        Kind::Call { function, args } => (function.name(), args.len()).hash(hasher),
        Kind::Stage(number) => number.hash(hasher),
        Kind::Subquery(subquery) => {
            std::mem::discriminant(&subquery.kind).hash(hasher);
            if let SubqueryKind::Any { op, .. } | SubqueryKind::All { op, .. } = &subquery.kind {
                op.hash(hasher);
            }
        }
        Kind::Not(_) | Kind::IsNull(_) | Kind::Negative(_) => {}
    }
}

/// Expressions that were met, each once.
#[derive(Debug, Default)]
pub struct Seen<'a>(BTreeMap<u64, Vec<&'a Expr>>);

impl<'a> Seen<'a> {
    /// Adds an expression; whether it is a new one.
    pub fn add(&mut self, e: &'a Expr) -> bool {
        let same = self.0.entry(hash(e)).or_default();
        let is_new = !same.contains(&e);
        if is_new {
            same.push(e);
        }
        is_new
    }

    /// Whether an expression was met.
    pub fn has(&self, e: &Expr) -> bool {
        self.0.get(&hash(e)).is_some_and(|same| same.contains(&e))
    }
}

/// Each expression where it stands first, but for volatile ones, of which each is one of its own.
pub fn distinct(all: Vec<Expr>) -> Vec<Expr> {
    distinct_by(all, |e| e)
}

/// The same of what has an expression.
pub fn distinct_by<T>(mut all: Vec<T>, expr: impl Fn(&T) -> &Expr) -> Vec<T> {
    if all.len() < 2 {
        return all;
    }
    let mut seen = Seen::default();
    let kept: Vec<bool> = all.iter().map(&expr).map(|e| e.is_volatile() || seen.add(e)).collect();
    let mut kept = kept.into_iter();
    all.retain(|_| kept.next().unwrap_or(true));
    all
}
