//! Groups that a join asks for, and no others (magic sets: Mumick, Finkelstein, Pirahesh and Ramakrishnan, SIGMOD 1990; by
//! cost: Seshadri et al., SIGMOD 1996).
//!
//! One side of a join may give groups, and the join compare a key of theirs with a column of the other side. Then
//! groups of other values are made for nothing. So the rows of the groups are asked for in a semi join before. It is
//! with a copy of the relation that has the least of these values. That is a correlated scalar subquery most of the
//! time: query 17 of TPC-H asks for the average of 200 parts, where there are 200,000.
//!
//! It is right for joins that give no group that has no match. It is not right for a full join, nor for the side that
//! an outer join keeps. The copy has to give the same rows each time, and it has to be cheap beside what it saves.

use std::collections::BTreeMap;

use datafusion_expr::Operator;

use crate::algebra::{Aggregate, ColumnId, Columns, Expr, Join, JoinKind, Kind, Rel, Values};
use crate::estimates::{self, Estimate, equality};
use crate::rules::filters::origins::Origins;
use crate::rules::simplify::nodes::taken;
use crate::rules::unnest::is_repeatable;

/// To look up a row in a semi join takes about so many nanoseconds.
const PROBE: f64 = 20.0;
/// To put a row into a group and to give the group.
const GROUP: f64 = 70.0;
/// To read a row of a table once more.
const READ: f64 = 30.0;

/// The most relations of the other side that are looked at.
const MOST_SOURCES: usize = 32;
/// The most relations that are copied at once.
const MOST_COPIED: usize = 32;

/// Adds semi joins below groups where they pay.
pub fn reduce(rel: &mut Rel, columns: &mut Columns) {
    let mut joins_groups = false;
    rel.look(&mut |node| {
        joins_groups |= matches!(node, Rel::Join(join) if has_groups(&join.left) || has_groups(&join.right));
    });
    if !joins_groups {
        return;
    }
    let mut known = Known { origins: Origins::of(rel), estimates: vec![] };
    known.estimate(rel);
    let mut chosen = BTreeMap::new();
    known.choose(rel, 0, &mut chosen);
    if !chosen.is_empty() {
        apply(rel, 0, &mut chosen, &known.origins, columns);
    }
}

/// Whether a relation gives groups, and maybe more of each.
fn has_groups(rel: &Rel) -> bool {
    match rel {
        Rel::Aggregate(node) => !node.keys.is_empty() && node.totals.is_empty(),
        Rel::Filter(node) => has_groups(&node.input),
        Rel::Map(node) => has_groups(&node.input),
        _ => false,
    }
}

/// What is known of the relations of a tree, by their numbers in it.
struct Known {
    origins: Origins,
    estimates: Vec<Estimate>,
}

/// What the rows of groups are to be asked for.
struct Wanted {
    /// The key of the groups.
    key: ColumnId,
    /// The relation that has the values that are asked for, and its column of them.
    source: Rel,
    column: ColumnId,
    /// About how many nanoseconds are saved.
    saved: f64,
}

/// A relation that has all values that a column of a join's side has, or more.
struct Source<'a> {
    rel: &'a Rel,
    at: usize,
    column: ColumnId,
}

impl Known {
    /// Notes the estimates of a tree whose top has the next number.
    fn estimate(&mut self, rel: &Rel) -> Estimate {
        let at = self.estimates.len();
        let nothing = estimates::of(&Values::one(), &[]);
        self.estimates.push(nothing);
        let inputs: Vec<Estimate> = rel.inputs().into_iter().map(|input| self.estimate(input)).collect();
        let estimate = estimates::of(rel, &inputs.iter().collect::<Vec<_>>());
        self.estimates[at] = estimate.clone();
        estimate
    }

    /// Chooses what each aggregate of a tree is asked for, by the number of the aggregate.
    fn choose(&self, rel: &Rel, at: usize, chosen: &mut BTreeMap<usize, Wanted>) {
        if let Rel::Join(join) = rel {
            let (left_at, right_at) = (at + 1, at + 1 + self.origins.size(at + 1));
            let right_is_asked = !matches!(join.kind, JoinKind::Full | JoinKind::AntiNullAware);
            for e in &join.predicates {
                let Some((left, right)) = self.sides(e, left_at, right_at) else { continue };
                if right_is_asked {
                    self.ask((&join.right, right_at, right), (&join.left, left_at, left), chosen);
                }
                if matches!(join.kind, JoinKind::Inner | JoinKind::Semi) {
                    self.ask((&join.left, left_at, left), (&join.right, right_at, right), chosen);
                }
            }
        }
        let mut number = at + 1;
        for input in rel.inputs() {
            self.choose(input, number, chosen);
            number += self.origins.size(number);
        }
    }

    /// The columns of both sides that are equal, the left one's first.
    fn sides(&self, e: &Expr, left_at: usize, right_at: usize) -> Option<(ColumnId, ColumnId)> {
        let (a, b) = equality(e)?;
        let (a, b) = (a.as_column()?, b.as_column()?);
        let is = |a, b| self.origins.is_in(a, left_at) && self.origins.is_in(b, right_at);
        if is(a, b) {
            Some((a, b))
        } else if is(b, a) {
            Some((b, a))
        } else {
            None
        }
    }

    /// Notes the best way to ask groups for the values that the other side has, if it pays.
    fn ask(
        &self,
        (groups, at, key): (&Rel, usize, ColumnId),
        (other, other_at, column): (&Rel, usize, ColumnId),
        chosen: &mut BTreeMap<usize, Wanted>,
    ) {
        let Some(at) = aggregate_with(groups, at, key) else { return };
        let mut sources = Vec::new();
        self.collect(&Source { rel: other, at: other_at, column }, &mut sources);
        for source in sources.into_iter().filter(|source| self.origins.size(source.at) <= MOST_COPIED) {
            let Some(saved) = self.saved(at + 1, key, &source) else { continue };
            let is_best = chosen.get(&at).is_none_or(|other| saved > other.saved);
            if is_best && is_repeatable(source.rel) && source.rel.free().is_empty() {
                chosen.insert(at, Wanted { key, source: source.rel.clone(), column: source.column, saved });
            }
        }
    }

    /// The relations of a side that have all values of its column.
    fn collect<'a>(&self, source: &Source<'a>, all: &mut Vec<Source<'a>>) {
        if all.len() >= MOST_SOURCES {
            return;
        }
        let Source { rel, at, column } = *source;
        all.push(Source { rel, at, column });
        match rel {
            Rel::Join(join) => {
                let (left_at, right_at) = (at + 1, at + 1 + self.origins.size(at + 1));
                if self.origins.is_in(column, left_at) && join.kind != JoinKind::Full {
                    self.collect(&Source { rel: &join.left, at: left_at, column }, all);
                }
                if !matches!(join.kind, JoinKind::Inner | JoinKind::Semi) {
                    return;
                }
                if self.origins.is_in(column, right_at) {
                    self.collect(&Source { rel: &join.right, at: right_at, column }, all);
                }
                for (left, right) in join.predicates.iter().filter_map(|e| self.sides(e, left_at, right_at)) {
                    let equal = [
                        (left, Source { rel: &join.right, at: right_at, column: right }),
                        (right, Source { rel: &join.left, at: left_at, column: left }),
                    ];
                    equal
                        .iter()
                        .filter(|(id, _)| *id == column)
                        .for_each(|(_, other)| self.collect(other, all));
                }
            }
            Rel::Filter(node) => self.collect(&Source { rel: &node.input, at: at + 1, column }, all),
            Rel::Map(node) if node.exprs.iter().all(|(id, _)| *id != column) => {
                self.collect(&Source { rel: &node.input, at: at + 1, column }, all);
            }
            Rel::Aggregate(node) if node.keys.contains(&column) && node.totals.is_empty() => {
                self.collect(&Source { rel: &node.input, at: at + 1, column }, all);
            }
            _ => {}
        }
    }

    /// About how many nanoseconds are saved if the rows of relation `at` are asked for the values of a source; `None` if
    /// nothing is.
    fn saved(&self, at: usize, key: ColumnId, source: &Source) -> Option<f64> {
        let (rows, other) = (self.estimates.get(at)?, self.estimates.get(source.at)?);
        if !rows.is_known || !other.is_known {
            return None;
        }
        let read = |id| Expr { kind: Kind::Column(id), data_type: arrow_schema::DataType::Null };
        let (own, asked) = (rows.spread(&read(key))?, other.spread(&read(source.column))?);
        let kept = (asked.values().min(other.rows) / own.shared(asked)).min(1.0);
        let mut reading = 0.0;
        let mut number = source.at;
        source.rel.look(&mut |node| {
            let known = self.estimates.get(number);
            number += 1;
            if matches!(node, Rel::Scan(_) | Rel::Join(_)) {
                reading += known.map_or(f64::INFINITY, |known| known.rows);
            }
        });
        let saved = rows.rows * (1.0 - kept) * GROUP - rows.rows * PROBE - reading * READ;
        (saved > 0.0).then_some(saved)
    }
}

/// The number of the aggregate below filters and computed columns, if a column is a key of its groups.
fn aggregate_with(rel: &Rel, at: usize, key: ColumnId) -> Option<usize> {
    match rel {
        Rel::Aggregate(Aggregate { keys, totals, .. }) => {
            (keys.contains(&key) && totals.is_empty()).then_some(at)
        }
        Rel::Filter(node) => aggregate_with(&node.input, at + 1, key),
        Rel::Map(node) if node.exprs.iter().all(|(id, _)| *id != key) => {
            aggregate_with(&node.input, at + 1, key)
        }
        _ => None,
    }
}

/// Adds the semi joins that were chosen to a tree, the numbers of which are those before.
fn apply(
    rel: &mut Rel,
    at: usize,
    chosen: &mut BTreeMap<usize, Wanted>,
    origins: &Origins,
    columns: &mut Columns,
) {
    let mut number = at + 1;
    for input in rel.inputs_mut() {
        apply(input, number, chosen, origins, columns);
        number += origins.size(number);
    }
    if let Rel::Aggregate(node) = rel
        && let Some(Wanted { key, source, column, .. }) = chosen.remove(&at)
    {
        let (copy, numbers) = source.copied(columns);
        let column = numbers.get(&column).copied().unwrap_or(column);
        let predicates = vec![Expr::compare(columns.read(key), Operator::Eq, columns.read(column))];
        let (left, right) = (Box::new(taken(&mut node.input)), Box::new(copy));
        *node.input = Rel::Join(Join { kind: JoinKind::Semi, left, right, predicates });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Statement;
    use crate::rules::testing::{Sample, eq, filter, group, id, int, join};

    fn reduce_all(statement: &mut Statement) {
        reduce(&mut statement.root, &mut statement.columns);
    }

    /// Two tables joined, one of them filtered, and the groups of a third one by a column.
    fn tables(sample: &mut Sample) -> (Rel, Rel, [Expr; 3]) {
        let (t, [a, b]) = sample.sized("t", ["a", "b"], Some(1_000_000));
        let (u, [x, y]) = sample.sized("u", ["x", "y"], Some(10_000));
        let (v, [g]) = sample.sized("v", ["g"], Some(1_000_000));
        let few = filter(u, vec![eq(&y, &int(1))]);
        let joined = join(JoinKind::Inner, t, few, vec![eq(&a, &x)]);
        let _ = b;
        (joined, group(v, vec![id(&g)]), [a, x, g])
    }

    #[test]
    fn groups_are_asked_for_by_the_relation_with_the_fewest_values() {
        for by in [0, 1] {
            let mut sample = Sample::default();
            let (joined, groups, [a, x, g]) = tables(&mut sample);
            let rel = join(JoinKind::Inner, joined, groups, vec![eq([&a, &x][by], &g)]);
            let shown = sample.columns.show_rel(&rel);
            let reduced = shown.replace(
                "    scan v g#4\n",
                "    semi join (g#4 = x#5)\n      scan v g#4\n      filter (y#6 = 1)\n        scan u x#5, y#6\n",
            );
            sample.becomes(reduce_all, rel, &[&g], &reduced);
        }
    }

    #[test]
    fn what_a_join_keeps_is_not_reduced() {
        let mut sample = Sample::default();
        let (joined, groups, [a, _, g]) = tables(&mut sample);
        let kept = [
            join(JoinKind::Full, joined.clone(), groups.clone(), vec![eq(&a, &g)]),
            join(JoinKind::Left, groups.clone(), joined.clone(), vec![eq(&a, &g)]),
            join(JoinKind::Anti, groups.clone(), joined.clone(), vec![eq(&a, &g)]),
        ];
        for rel in kept {
            let shown = sample.columns.show_rel(&rel);
            sample.becomes(reduce_all, rel, &[&g], &shown);
        }
        for kind in [JoinKind::Left, JoinKind::Semi, JoinKind::Anti] {
            let mut statement =
                sample.statement(join(kind, joined.clone(), groups.clone(), vec![eq(&a, &g)]), &[&a]);
            reduce_all(&mut statement);
            assert!(
                statement.columns.show_rel(&statement.root).contains("semi join (g#4 = x#5)"),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn nothing_is_added_where_nothing_is_saved() {
        let mut sample = Sample::default();
        let (t, [a]) = sample.sized("t", ["a"], Some(1_000_000));
        let (v, [g]) = sample.sized("v", ["g"], Some(1_000_000));
        let rel = join(JoinKind::Inner, t, group(v, vec![id(&g)]), vec![eq(&a, &g)]);
        let shown = sample.columns.show_rel(&rel);
        sample.becomes(reduce_all, rel, &[&a], &shown);
    }
}
