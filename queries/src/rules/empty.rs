//! Relations that are known to have no rows, or one, and operators that do nothing.
//!
//! What has no rows makes nothing of what is joined with it, or fills it with NULLs. Operators below a relation without
//! rows are not run, so that what fails there does not.

use super::simplify::nodes::taken;
use super::unions::alone;
use crate::algebra::{ColumnId, Columns, Expr, Filter, Join, JoinKind, Limit, Map, Rel, Values};
use crate::compile::fails;

/// Takes away what does nothing, and what has no rows; from the bottom to the top.
pub fn remove(rel: &mut Rel, columns: &Columns) {
    rel.inputs_mut().into_iter().for_each(|input| remove(input, columns));
    if let Some(other) = replaced(rel, columns) {
        *rel = other;
    }
}

fn is_empty(rel: &Rel) -> bool {
    matches!(rel, Rel::Values(values) if values.rows.is_empty())
}

/// No row of the columns of a relation.
fn none(rel: &Rel) -> Rel {
    Values::none(rel.columns().into_iter().collect())
}

/// Whether a predicate is true of no row.
fn is_never(e: &Expr) -> bool {
    e.as_bool().is_some_and(|value| value != Some(true))
}

fn replaced(rel: &mut Rel, columns: &Columns) -> Option<Rel> {
    match rel {
        Rel::Scan(_) | Rel::Values(_) | Rel::Shared(_) => None,
        Rel::Filter(node) if is_empty(&node.input) || node.predicates.is_empty() => {
            Some(taken(&mut node.input))
        }
        Rel::Filter(node) => node.predicates.iter().any(is_never).then(|| none(&node.input)),
        Rel::Map(node) if node.exprs.is_empty() => Some(taken(&mut node.input)),
        Rel::Map(node) => is_empty(&node.input).then(|| none(rel)),
        Rel::Join(node) => join(node, columns),
        Rel::Aggregate(node) => {
            let gives_none = is_empty(&node.input) && !node.keys.is_empty() && node.totals.is_empty();
            gives_none.then(|| none(rel))
        }
        Rel::Window(node) => is_empty(&node.input).then(|| none(rel)),
        Rel::Expand(node) => is_empty(&node.input).then(|| none(rel)),
        Rel::Repeat(node) => is_empty(&node.input).then(|| taken(&mut node.input)),
        Rel::Unnest(node) => is_empty(&node.input).then(|| none(rel)),
        Rel::Sort(node) if node.fetch == Some(0) => Some(none(&node.input)),
        Rel::Sort(node) => match (&*node.input, node.fetch) {
            (Rel::Values(values), _) if values.rows.len() <= 1 => Some(taken(&mut node.input)),
            (_, None) if node.keys.is_empty() => Some(taken(&mut node.input)),
            (_, fetch) if node.keys.is_empty() => {
                Some(Rel::Limit(Limit { input: Box::new(taken(&mut node.input)), skip: 0, fetch }))
            }
            _ => None,
        },
        Rel::Limit(node) if node.fetch == Some(0) => Some(none(&node.input)),
        Rel::Limit(node) => match &mut *node.input {
            Rel::Values(values) => {
                values.rows.drain(..node.skip.min(values.rows.len()));
                values.rows.truncate(node.fetch.unwrap_or(usize::MAX));
                Some(taken(&mut node.input))
            }
            _ => (node.skip == 0 && node.fetch.is_none()).then(|| taken(&mut node.input)),
        },
        Rel::Union(node) => {
            node.inputs.retain(|(input, _)| !is_empty(input));
            match node.inputs.len() {
                0 => Some(Values::none(node.columns.clone())),
                1 => Some(alone(node, columns)),
                _ => None,
            }
        }
    }
}

fn join(node: &mut Join, columns: &Columns) -> Option<Rel> {
    let never = node.kind != JoinKind::AntiNullAware && node.predicates.iter().any(is_never);
    let (left, right) = (is_empty(&node.left), is_empty(&node.right));
    // Whether no left row has a match.
    let unmatched = right || never;
    match node.kind {
        JoinKind::Inner if left || unmatched => Some(Values::none(both(node))),
        JoinKind::Inner => with_one_row(node),
        JoinKind::Left | JoinKind::Single if left => Some(Values::none(both(node))),
        JoinKind::Left | JoinKind::Single if unmatched => Some(filled(&mut node.left, &node.right, columns)),
        JoinKind::Full if left && right => Some(Values::none(both(node))),
        JoinKind::Full if right => Some(filled(&mut node.left, &node.right, columns)),
        JoinKind::Full if left => Some(filled(&mut node.right, &node.left, columns)),
        JoinKind::Semi if left || unmatched => Some(none(&node.left)),
        JoinKind::Anti | JoinKind::AntiNullAware if left || unmatched => Some(taken(&mut node.left)),
        JoinKind::Mark(mark) if unmatched => {
            let input = Box::new(taken(&mut node.left));
            Some(Rel::Map(Map { input, exprs: vec![(mark, Expr::boolean(false))] }))
        }
        JoinKind::Mark(mark) if left => {
            Some(Values::none(node.left.columns().into_iter().chain([mark]).collect()))
        }
        _ => None,
    }
}

fn both(node: &Join) -> Vec<ColumnId> {
    node.left.columns().into_iter().chain(node.right.columns()).collect()
}

/// One side of a join, beside NULLs for the columns of the other.
fn filled(side: &mut Rel, other: &Rel, columns: &Columns) -> Rel {
    let null = |id: ColumnId| (id, Expr::null(&columns.get(id).data_type));
    let exprs: Vec<_> = other.columns().into_iter().map(null).collect();
    let input = taken(side);
    if exprs.is_empty() { input } else { Rel::Map(Map { input: Box::new(input), exprs }) }
}

/// A join with one row, that a query without FROM gives: its columns are computed beside those of the other side.
fn with_one_row(node: &mut Join) -> Option<Rel> {
    let (one, other) = match (constants(&node.left), constants(&node.right)) {
        (_, true) => (&mut node.right, &mut node.left),
        (true, false) => (&mut node.left, &mut node.right),
        (false, false) => return None,
    };
    let mut exprs = Vec::new();
    let mut one = taken(one);
    while let Rel::Map(map) = one {
        exprs.push(map.exprs);
        one = *map.input;
    }
    let all = exprs
        .into_iter()
        .rev()
        .fold(taken(other), |input, exprs| Rel::Map(Map { input: Box::new(input), exprs }));
    let predicates = std::mem::take(&mut node.predicates);
    Some(match predicates.is_empty() {
        true => all,
        false => Rel::Filter(Filter { input: Box::new(all), predicates }),
    })
}

/// Whether a relation is one row of expressions that can be computed for each of many rows instead.
fn constants(rel: &Rel) -> bool {
    match rel {
        Rel::Values(values) => values.columns.is_empty() && values.rows.len() == 1,
        Rel::Map(map) => {
            map.exprs.iter().all(|(_, e)| !e.is_volatile() && !fails(e)) && constants(&map.input)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Statement;
    use crate::rules::testing::{Sample, eq, filter, id, int, join, map, union};

    fn remove_all(statement: &mut Statement) {
        let columns = statement.columns.clone();
        remove(&mut statement.root, &columns);
    }

    #[test]
    fn a_join_with_nothing_is_nothing_or_filled_with_nulls() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let (u, [y]) = sample.table("u", ["y"]);
        let m = sample.condition("m");
        let never = filter(u, vec![Expr::boolean(false)]);
        let joined = |kind| join(kind, t.clone(), never.clone(), vec![eq(&x, &y)]);
        let check = |kind, to: &str| sample.becomes(remove_all, joined(kind), &[&x], to);
        check(JoinKind::Inner, "values of 0 rows x#0, y#1\n");
        check(JoinKind::Left, "map y#1 := NULL\n  scan t x#0\n");
        check(JoinKind::Full, "map y#1 := NULL\n  scan t x#0\n");
        check(JoinKind::Semi, "values of 0 rows x#0\n");
        check(JoinKind::AntiNullAware, "scan t x#0\n");
        check(JoinKind::Mark(id(&m)), "map m#2 := false\n  scan t x#0\n");
    }

    #[test]
    fn a_union_leaves_out_what_has_no_rows() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let (u, [y]) = sample.table("u", ["y"]);
        let p = sample.number("p");
        let never = filter(u, vec![Expr::boolean(None)]);
        let all = union(vec![id(&p)], vec![(t, vec![id(&x)]), (never.clone(), vec![id(&y)])]);
        sample.becomes(remove_all, all, &[&p], "map p#2 := x#0\n  scan t x#0\n");
        let none = union(vec![id(&p)], vec![(never, vec![id(&y)])]);
        sample.becomes(remove_all, none, &[&p], "values of 0 rows p#2\n");
    }

    #[test]
    fn one_row_of_constants_is_computed_beside_the_others() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let one = sample.number("one");
        let constants = map(Values::one(), vec![(id(&one), int(1))]);
        let rel = join(JoinKind::Inner, constants, t, vec![eq(&x, &one)]);
        sample.becomes(remove_all, rel, &[&x], "filter (x#0 = one#1)\n  map one#1 := 1\n    scan t x#0\n");
    }
}
