//! What several expressions of an operator compute is computed once, below it.
//!
//! A part of expressions becomes a column if it stands there at least twice, and for each row is computed at least once:
//! what stands behind another term of AND and OR, in a branch of CASE or behind a FILTER may be computed for some rows only,
//! and can fail for the others.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;

use datafusion_expr::Volatility;

use super::Lowering;
use crate::algebra::{ColumnId, Expr, Kind};
use crate::compile::fails;

/// Expressions of an operator, and whether each is computed for each row.
pub(super) type Places<'a> = Vec<(&'a mut Expr, bool)>;

/// The terms of a conjunction: of the others it depends on the first one whether they are computed.
pub(super) fn places(predicates: &mut [Expr]) -> Places<'_> {
    let first = first_evaluated(predicates);
    predicates.iter_mut().enumerate().map(|(i, e)| (e, i == first)).collect()
}

/// Which of the terms of AND or OR is evaluated first: those that can't fail are before the others.
fn first_evaluated(terms: &[Expr]) -> usize {
    terms.iter().position(|term| !fails(term)).unwrap_or(0)
}

impl Lowering<'_> {
    /// Puts new columns in the place of what stands several times in the expressions. Gives the columns, and what they
    /// are.
    pub fn take_common(&mut self, mut places: Places) -> Vec<(ColumnId, Expr)> {
        let mut parts = Parts::default();
        for (e, always) in &places {
            parts.visit(e, *always);
        }
        if !parts.found.values().any(Found::is_common) {
            return vec![];
        }
        let mut taken = Taken { lowering: self, parts: &parts, at: 0, by_hash: BTreeMap::new() };
        places.iter_mut().for_each(|(e, _)| taken.take(e));
        let (common, once): (Vec<Column>, Vec<Column>) =
            taken.by_hash.into_values().partition(|column| column.uses > 1);
        if !once.is_empty() {
            // The others stood within one that is a column now.
            let back: BTreeMap<ColumnId, Expr> = once.into_iter().map(|c| (c.id, c.expr)).collect();
            places.iter_mut().for_each(|(e, _)| e.replace(&|id| back.get(&id).cloned()));
        }
        let mut columns: Vec<(ColumnId, Expr)> = common.into_iter().map(|c| (c.id, c.expr)).collect();
        columns.sort_by_key(|(id, _)| *id);
        columns
    }
}

/// How often a part was found.
#[derive(Default)]
struct Found {
    count: usize,
    /// Where it is computed for each row.
    always: usize,
}

impl Found {
    fn is_common(&self) -> bool {
        self.count > 1 && self.always > 0
    }
}

/// The parts of expressions.
#[derive(Default)]
struct Parts {
    /// In the order of a walk that meets each before those inside: its hash, and how many it is with those inside.
    walk: Vec<(u64, usize)>,
    /// By their hash those that may become columns.
    found: BTreeMap<u64, Found>,
}

/// What is known of a part once it is visited.
struct Part {
    hash: u64,
    has_column: bool,
    is_volatile: bool,
}

impl Parts {
    fn visit(&mut self, e: &Expr, always: bool) -> Part {
        let at = self.walk.len();
        self.walk.push((0, 1));
        let mut hasher = DefaultHasher::new();
        discriminant(&e.kind).hash(&mut hasher);
        e.data_type.hash(&mut hasher);
        let mut part = Part { hash: 0, has_column: false, is_volatile: false };
        let mut is_atom = false;
        match &e.kind {
            Kind::Column(id) => {
                id.hash(&mut hasher);
                (part.has_column, is_atom) = (true, true);
            }
            Kind::Literal(value) => {
                value.hash(&mut hasher);
                is_atom = true;
            }
            Kind::Stage(stage) => {
                stage.hash(&mut hasher);
                is_atom = true;
            }
            Kind::Subquery(_) => is_atom = true,
            Kind::Binary(op, ..) => op.hash(&mut hasher),
            Kind::Call { function, .. } => {
                function.name().hash(&mut hasher);
                part.is_volatile = function.signature().volatility == Volatility::Volatile;
            }
            // What else there is to it is compared once it is taken.
            _ => {}
        }
        let children = e.children();
        let sure = sure_children(e, children.len());
        for (i, child) in children.into_iter().enumerate() {
            let child = self.visit(child, always && sure.contains(&i));
            child.hash.hash(&mut hasher);
            part.has_column |= child.has_column;
            part.is_volatile |= child.is_volatile;
        }
        part.hash = hasher.finish();
        self.walk[at] = (part.hash, self.walk.len() - at);
        if !is_atom && part.has_column && !part.is_volatile {
            let found = self.found.entry(part.hash).or_default();
            found.count += 1;
            found.always += usize::from(always);
        }
        part
    }
}

/// Which parts of an expression are computed for each row for which it is.
fn sure_children(e: &Expr, count: usize) -> std::ops::Range<usize> {
    match &e.kind {
        Kind::And(terms) | Kind::Or(terms) => {
            let first = first_evaluated(terms);
            first..first + 1
        }
        Kind::Case { operand: Some(_), .. } => 0..2,
        Kind::Case { operand: None, .. } => 0..1,
        Kind::Call { function, .. } if function.short_circuits() => 0..1,
        _ => 0..count,
    }
}

/// A part that is a column now.
struct Column {
    id: ColumnId,
    expr: Expr,
    uses: usize,
}

/// A second walk through the same expressions, which takes parts out.
struct Taken<'a, 'b> {
    lowering: &'a mut Lowering<'b>,
    parts: &'a Parts,
    at: usize,
    by_hash: BTreeMap<u64, Column>,
}

impl Taken<'_, '_> {
    fn take(&mut self, e: &mut Expr) {
        let Some((hash, size)) = self.parts.walk.get(self.at).copied() else { return };
        if self.parts.found.get(&hash).is_some_and(Found::is_common) {
            let (columns, number) = (&mut self.lowering.columns, self.by_hash.len() + 1);
            let column = self.by_hash.entry(hash).or_insert_with(|| {
                let id = columns.add(format!("common {number}"), e.data_type.clone());
                Column { id, expr: e.clone(), uses: 0 }
            });
            if column.expr == *e {
                column.uses += 1;
                *e = columns.read(column.id);
                self.at += size;
                return;
            }
        }
        self.at += 1;
        e.children_mut().into_iter().for_each(|child| self.take(child));
    }
}
