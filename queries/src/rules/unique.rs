//! By which columns the rows of a relation are told apart.
//!
//! Only aggregates prove it, and what gives one row at most. NULLs count as equal, as in GROUP BY.

use std::collections::BTreeSet;

use crate::algebra::{ColumnId, Expr, Join, JoinKind, Rel};
use crate::estimates::equality;

/// Columns of which no two rows have the same values; none of them if there is one row at most. `None` where it is not
/// known.
pub fn keys(rel: &Rel) -> Option<Vec<ColumnId>> {
    match rel {
        Rel::Values(node) => (node.rows.len() <= 1).then(Vec::new),
        Rel::Aggregate(node) => Some(node.keys.clone()),
        Rel::Limit(node) if node.fetch.is_some_and(|fetch| fetch <= 1) => Some(vec![]),
        Rel::Sort(node) if node.fetch.is_some_and(|fetch| fetch <= 1) => Some(vec![]),
        Rel::Filter(node) => keys(&node.input),
        Rel::Map(node) => keys(&node.input),
        Rel::Window(node) => keys(&node.input),
        Rel::Sort(node) => keys(&node.input),
        Rel::Limit(node) => keys(&node.input),
        Rel::Join(node) => match node.kind {
            JoinKind::Semi | JoinKind::Anti | JoinKind::AntiNullAware => keys(&node.left),
            JoinKind::Mark(_) | JoinKind::Single => keys(&node.left),
            JoinKind::Inner | JoinKind::Left => {
                let mut both = keys(&node.left)?;
                both.extend(keys(&node.right)?);
                Some(both)
            }
            JoinKind::Full => None,
        },
        Rel::Shared(node) => node.keys(),
        Rel::Scan(_) | Rel::Expand(_) | Rel::Union(_) | Rel::Repeat(_) | Rel::Unnest(_) => None,
    }
}

/// Whether each left row of a join has one match at most, and the columns of the right side if so.
pub fn matches_once(node: &Join) -> Option<BTreeSet<ColumnId>> {
    let keys = keys(&node.right)?;
    let right = node.right.columns();
    // Each key equals what the left row says.
    let is_left = |e: &Expr| !e.is_volatile() && e.columns().is_disjoint(&right);
    let fixed: BTreeSet<ColumnId> = node
        .predicates
        .iter()
        .filter_map(equality)
        .filter_map(|(a, b)| match (a.as_column(), b.as_column()) {
            (Some(id), _) if right.contains(&id) && is_left(b) => Some(id),
            (_, Some(id)) if right.contains(&id) && is_left(a) => Some(id),
            _ => None,
        })
        .collect();
    keys.iter().all(|key| fixed.contains(key)).then_some(right)
}

/// Takes away each DISTINCT over rows that are distinct.
pub fn drop_distinct(rel: &mut Rel) {
    while let Rel::Aggregate(node) = rel
        && node.calls.is_empty()
        && node.totals.is_empty()
        && !node.keys.is_empty()
        && let Some(unique) = keys(&node.input)
        && BTreeSet::from_iter(unique).is_subset(&BTreeSet::from_iter(node.keys.iter().copied()))
    {
        *rel = super::simplify::nodes::taken(&mut node.input);
    }
    rel.inputs_mut().into_iter().for_each(drop_distinct);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{Sample, eq, filter, group, id, int, join};

    #[test]
    fn a_distinct_of_groups_goes() {
        let mut sample = Sample::default();
        let (t, [x, y]) = sample.table("t", ["x", "y"]);
        let grouped = filter(group(t, vec![id(&x)]), vec![eq(&x, &int(1))]);
        let drop = |statement: &mut crate::algebra::Statement| drop_distinct(&mut statement.root);
        let grouped_as = "filter (x#0 = 1)\n  aggregate by x#0\n    scan t x#0, y#1\n";
        sample.becomes(drop, group(grouped.clone(), vec![id(&x)]), &[&x], grouped_as);
        let (u, [z]) = sample.table("u", ["z"]);
        let joined = group(join(JoinKind::Inner, grouped, u, vec![]), vec![id(&x), id(&z)]);
        let kept = sample.columns.show_rel(&joined);
        sample.becomes(drop, joined, &[&x], &kept);
        let _ = y;
    }

    #[test]
    fn a_left_row_has_one_match_if_all_keys_are_asked_for() {
        let mut sample = Sample::default();
        let (t, [x, y]) = sample.table("t", ["x", "y"]);
        let (u, [a, b]) = sample.table("u", ["a", "b"]);
        let grouped = group(u, vec![id(&a), id(&b)]);
        let once = |predicates: Vec<Expr>| {
            let (left, right) = (Box::new(t.clone()), Box::new(grouped.clone()));
            matches_once(&Join { kind: JoinKind::Left, left, right, predicates }).is_some()
        };
        assert!(once(vec![eq(&x, &a), eq(&b, &y)]));
        assert!(once(vec![eq(&x, &a), eq(&b, &int(1))]));
        assert!(!once(vec![eq(&x, &a), eq(&b, &a)]));
        assert!(!once(vec![eq(&x, &a)]));
    }
}
