//! What equalities say of other columns: where `a.x = b.y` and `a.x = 5` hold, `b.y = 5` does.
//!
//! Take a region of filters and inner joins. Predicates that read one column are *facts* of it, and columns that
//! equalities bring together are a class. Each fact of a column holds of the others of its class, and is put on them.
//! Their tables give fewer rows, and their zone maps are asked. A fact that can fail or is volatile is left alone. So
//! is one over floats, intervals and lists that sees more of them than their values: equal ones may be written
//! differently.
//!
//! Beside a left, semi or anti join, the right rows that can match a left row have what is known of its keys.

use std::collections::BTreeMap;

use datafusion_expr::Operator;
use expressions::compare::is_ambiguous;

use super::predicate::Predicate;
use crate::algebra::{ColumnId, Expr, JoinKind, Kind, Rel};
use crate::compile::{fails, is_comparison};
use crate::rules::hash::Seen;

/// The most facts that one class of columns is given.
const MOST: usize = 2_000;

/// What is known of the columns of a region.
#[derive(Debug, Default)]
pub struct Facts {
    /// For each column the predicates that read it alone.
    known: BTreeMap<ColumnId, Vec<Expr>>,
    /// Those that follow from equalities and that no filter asks for yet.
    inferred: Vec<Expr>,
}

impl Facts {
    /// The facts of the region that a relation is the top of, and of predicates above it.
    pub fn of(rel: &Rel, above: &[Predicate]) -> Facts {
        let mut found = Found::default();
        above.iter().for_each(|predicate| found.add(&predicate.expr));
        found.collect(rel);
        let Found { mut known, classes } = found;
        let mut inferred = Vec::new();
        for class in classes.groups() {
            infer(&class, &mut known, &mut inferred);
        }
        Facts { known, inferred }
    }

    /// The predicates that follow from equalities, once.
    pub fn inferred(&mut self) -> impl Iterator<Item = Predicate> + use<> {
        std::mem::take(&mut self.inferred).into_iter().map(Predicate::new)
    }

    /// What holds of a column that equals another one of the region.
    pub fn over(&self, from: ColumnId, to: ColumnId) -> Vec<Predicate> {
        let known = self.known.get(&from).into_iter().flatten();
        known.filter_map(|fact| Some(Predicate::new(renamed(fact, from, to)?))).collect()
    }
}

/// Both columns of an equality of columns. Where NULL equals NULL, what is true of the one is true of the other as well.
pub fn columns_of(e: &Expr) -> Option<(ColumnId, ColumnId)> {
    let Kind::Binary(Operator::Eq | Operator::IsNotDistinctFrom, a, b) = &e.kind else { return None };
    let (of_a, of_b) = (a.as_column()?, b.as_column()?);
    (of_a != of_b && a.data_type == b.data_type).then_some((of_a, of_b))
}

/// Whether an expression sees no more of floats, intervals and lists than what they equal, and what is less.
pub fn is_by_value(e: &Expr) -> bool {
    let compares = match &e.kind {
        Kind::Column(_) => return !is_ambiguous(&e.data_type),
        Kind::Binary(op, ..) => is_comparison(*op),
        Kind::IsNull(_) | Kind::Between { .. } | Kind::InList { .. } => true,
        _ => false,
    };
    e.children().into_iter().all(|part| compares && part.as_column().is_some() || is_by_value(part))
}

/// A fact of another column.
fn renamed(fact: &Expr, from: ColumnId, to: ColumnId) -> Option<Expr> {
    if !is_by_value(fact) {
        return None;
    }
    let mut other = fact.clone();
    other.change(&mut |e| {
        if let Kind::Column(id) = &mut e.kind
            && *id == from
        {
            *id = to;
        }
    });
    Some(other)
}

/// Gives each column of a class the facts of the others.
fn infer(class: &[ColumnId], known: &mut BTreeMap<ColumnId, Vec<Expr>>, inferred: &mut Vec<Expr>) {
    let facts: Vec<(ColumnId, Expr)> = class
        .iter()
        .filter_map(|id| known.get(id).map(|facts| (id, facts)))
        .flat_map(|(id, facts)| facts.iter().map(|fact| (*id, fact.clone())))
        .collect();
    if facts.len().saturating_mul(class.len()) > MOST {
        return;
    }
    for id in class {
        let others = facts.iter().filter(|(from, _)| from != id);
        let others: Vec<Expr> = others.filter_map(|(from, fact)| renamed(fact, *from, *id)).collect();
        let mut seen = Seen::default();
        let own = known.get(id).cloned().unwrap_or_default();
        own.iter().for_each(|fact| {
            seen.add(fact);
        });
        let new: Vec<Expr> = others.iter().filter(|fact| seen.add(fact)).cloned().collect();
        inferred.extend(new.iter().cloned());
        known.entry(*id).or_default().extend(new);
    }
}

/// What is found in a region.
#[derive(Default)]
struct Found {
    known: BTreeMap<ColumnId, Vec<Expr>>,
    classes: Classes,
}

impl Found {
    fn collect(&mut self, rel: &Rel) {
        match rel {
            Rel::Filter(node) => {
                node.predicates.iter().for_each(|e| self.add(e));
                self.collect(&node.input);
            }
            Rel::Map(node) => self.collect(&node.input),
            Rel::Sort(node) if node.fetch.is_none() => self.collect(&node.input),
            Rel::Join(node) => match node.kind {
                JoinKind::Inner => {
                    node.predicates.iter().for_each(|e| self.add(e));
                    self.collect(&node.left);
                    self.collect(&node.right);
                }
                JoinKind::Full => {}
                _ => self.collect(&node.left),
            },
            _ => {}
        }
    }

    fn add(&mut self, e: &Expr) {
        if let Some((a, b)) = columns_of(e) {
            return self.classes.join(a, b);
        }
        // An equality says already that neither side is NULL.
        if matches!(&e.kind, Kind::Not(inner) if matches!(inner.kind, Kind::IsNull(_))) {
            return;
        }
        let mut columns = e.columns().into_iter();
        if let (Some(id), None) = (columns.next(), columns.next())
            && !fails(e)
            && !e.is_volatile()
        {
            self.known.entry(id).or_default().push(e.clone());
        }
    }
}

/// Columns that are equal, each with one that stands for its class.
#[derive(Debug, Default)]
pub struct Classes(BTreeMap<ColumnId, ColumnId>);

impl Classes {
    /// Both are equal.
    pub fn join(&mut self, a: ColumnId, b: ColumnId) {
        let (a, b) = (self.of(a), self.of(b));
        self.0.insert(a.max(b), a.min(b));
    }

    /// The column that stands for the class of one.
    fn of(&mut self, id: ColumnId) -> ColumnId {
        let mut path = vec![];
        let mut at = *self.0.entry(id).or_insert(id);
        let mut below = id;
        while at != below {
            path.push(below);
            below = at;
            at = self.0.get(&at).copied().unwrap_or(at);
        }
        path.into_iter().for_each(|id| {
            self.0.insert(id, at);
        });
        at
    }

    /// The classes of more than one column.
    fn groups(mut self) -> Vec<Vec<ColumnId>> {
        let ids: Vec<ColumnId> = self.0.keys().copied().collect();
        let mut groups: BTreeMap<ColumnId, Vec<ColumnId>> = BTreeMap::new();
        for id in ids {
            groups.entry(self.of(id)).or_default().push(id);
        }
        groups.into_values().filter(|group| group.len() > 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{Limit, Sort, SortKey};
    use crate::rules::testing::{Sample, eq, filter, id, int, join, more};

    #[test]
    fn what_holds_of_a_column_holds_of_its_equals() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let (u, [y]) = sample.table("u", ["y"]);
        let (v, [z]) = sample.table("v", ["z"]);
        let left = join(JoinKind::Inner, filter(t, vec![more(&x, &int(5))]), u, vec![eq(&x, &y)]);
        let rel = join(JoinKind::Inner, left, v, vec![eq(&z, &y)]);
        let above = [Predicate::new(eq(&z, &int(7)))];
        let mut facts = Facts::of(&rel, &above);
        let shown: Vec<String> = facts.inferred().map(|fact| sample.columns.show(&fact.expr)).collect();
        assert_eq!(shown, ["x#0 = 7", "y#1 > 5", "y#1 = 7", "z#2 > 5"]);
        assert_eq!(facts.over(id(&x), ColumnId(9)).len(), 2);
    }

    #[test]
    fn facts_stay_above_what_keeps_the_first_rows() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let (u, [y]) = sample.table("u", ["y"]);
        let limit = |input: Rel| Rel::Limit(Limit { input: Box::new(input), skip: 1, fetch: Some(3) });
        let sort = |input: Rel| {
            let keys = vec![SortKey { expr: x.clone(), descending: false, nulls_first: false }];
            Rel::Sort(Sort { input: Box::new(input), keys, fetch: Some(3) })
        };
        // Fewer right rows would be other rows that are kept.
        for kind in [JoinKind::Inner, JoinKind::Left] {
            let joined = join(kind, t.clone(), u.clone(), vec![eq(&x, &y)]);
            for first in [limit(joined.clone()), sort(joined)] {
                let kept = filter(first, vec![eq(&x, &int(5))]);
                sample.pushes(kept.clone(), &sample.columns.show_rel(&kept));
            }
        }
        let left = limit(filter(t, vec![more(&x, &int(5))]));
        sample.pushes(
            filter(join(JoinKind::Inner, left, u, vec![eq(&x, &y)]), vec![eq(&y, &int(7))]),
            "inner join (x#0 = y#1)\n  filter (x#0 = 7)\n    limit 3 from 1\n      filter (x#0 > 5)\n        \
             scan t x#0\n  filter (y#1 = 7)\n    scan u y#1\n",
        );
    }

    #[test]
    fn a_text_of_a_float_is_not_one_of_its_equals() {
        let mut sample = Sample::default();
        let f = sample.column("f", arrow_schema::DataType::Float64);
        let cast = Kind::Cast { expr: Box::new(f.clone()), safe: false };
        let text = Expr { kind: cast, data_type: arrow_schema::DataType::Utf8View };
        assert!(!is_by_value(&eq(&text, &text)));
        assert!(is_by_value(&Expr::compare(f.clone(), Operator::Lt, f)));
    }
}
