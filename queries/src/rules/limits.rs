//! LIMIT down to where rows come from.
//!
//! A limit keeps its place, and what is below it is told how many rows are wanted. They are those that it passes over,
//! and those that it gives. A sort gives no more than these by itself. Rows are computed for no more than these where
//! [`Map`] stands between. A left join gives each left row once at least, and a union all rows of all inputs. So no
//! more than so many are wanted of the left side and of each input. A filter may drop rows: nothing is known below it.

use super::simplify::nodes::taken;
use crate::algebra::{JoinKind, Limit, Map, Rel};

/// Tells relations below limits how many rows are wanted.
pub fn push(rel: &mut Rel) {
    if let Rel::Limit(_) = rel {
        limited(rel);
    }
    rel.inputs_mut().into_iter().for_each(push);
}

/// Moves a limit down, and leaves what it says with what is below.
fn limited(rel: &mut Rel) {
    let Rel::Limit(node) = rel else { return };
    merge(node);
    if let Rel::Map(map) = &mut *node.input {
        // The columns are computed of the rows that are left.
        let (exprs, input) = (std::mem::take(&mut map.exprs), Box::new(taken(&mut map.input)));
        let mut below = Rel::Limit(Limit { input, ..*node });
        limited(&mut below);
        *rel = Rel::Map(Map { input: Box::new(below), exprs });
        return;
    }
    if let Some(wanted) = wanted(node) {
        want(&mut node.input, wanted);
    }
    if let Rel::Sort(sort) = &*node.input
        && node.skip == 0
        && sort.fetch == node.fetch
    {
        // The first rows of an order are all that it gives.
        *rel = taken(&mut node.input);
    }
}

/// The rows that are wanted of what is below a limit.
fn wanted(node: &Limit) -> Option<usize> {
    node.fetch.and_then(|fetch| fetch.checked_add(node.skip))
}

/// A limit of a limit is one.
fn merge(node: &mut Limit) {
    while let Rel::Limit(below) = &mut *node.input {
        let left = below.fetch.map(|fetch| fetch.saturating_sub(node.skip));
        let Some(skip) = node.skip.checked_add(below.skip) else { return };
        node.fetch = least(node.fetch, left);
        node.skip = skip;
        let input = taken(&mut below.input);
        *node.input = input;
    }
}

fn least(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    a.into_iter().chain(b).min()
}

/// Leaves with a relation that so many of its rows are wanted, whichever they are, or the first ones of a sort.
fn want(rel: &mut Rel, rows: usize) {
    match rel {
        Rel::Sort(node) => node.fetch = least(node.fetch, Some(rows)),
        Rel::Scan(node) => node.fetch = least(node.fetch, Some(rows)),
        Rel::Shared(node) => node.fetch = least(node.fetch, Some(rows)),
        Rel::Map(node) => want(&mut node.input, rows),
        Rel::Union(node) => node.inputs.iter_mut().for_each(|(input, _)| cut(input, rows)),
        Rel::Join(node) if gives_each_left_row(node.kind) => cut(&mut node.left, rows),
        _ => {}
    }
}

fn gives_each_left_row(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Left | JoinKind::Mark(_) | JoinKind::Single)
}

/// Has a relation give about so many rows, and no fewer than that if it has them.
fn cut(rel: &mut Rel, rows: usize) {
    match rel {
        Rel::Scan(_) | Rel::Shared(_) | Rel::Sort(_) | Rel::Union(_) => want(rel, rows),
        Rel::Join(node) if gives_each_left_row(node.kind) => want(rel, rows),
        Rel::Map(node) => cut(&mut node.input, rows),
        Rel::Limit(node) => {
            node.fetch = least(node.fetch, Some(rows));
            limited(rel);
        }
        Rel::Values(_) => {}
        _ => {
            let input = Box::new(taken(rel));
            *rel = Rel::Limit(Limit { input, skip: 0, fetch: Some(rows) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{Sort, SortKey, Statement};
    use crate::rules::testing::{Sample, eq, filter, id, int, join, map, union};

    fn push_all(statement: &mut Statement) {
        push(&mut statement.root);
    }

    fn limit_of(input: Rel, skip: usize, fetch: Option<usize>) -> Rel {
        Rel::Limit(Limit { input: Box::new(input), skip, fetch })
    }

    #[test]
    fn a_sort_and_a_scan_know_how_many_rows_are_wanted() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let a = sample.number("a");
        let keys = vec![SortKey { expr: x.clone(), descending: true, nulls_first: false }];
        let sorted = Rel::Sort(Sort { input: Box::new(t.clone()), keys: keys.clone(), fetch: None });
        let rel = limit_of(map(sorted, vec![(id(&a), eq(&x, &x))]), 2, Some(3));
        let to = "map a#1 := x#0 = x#0\n  limit 3 from 2\n    sort x#0 DESC fetch 5\n      scan t x#0\n";
        sample.becomes(push_all, rel, &[&a], to);
        let first = Rel::Sort(Sort { input: Box::new(t.clone()), keys, fetch: None });
        sample.becomes(push_all, limit_of(first, 0, Some(3)), &[&x], "sort x#0 DESC fetch 3\n  scan t x#0\n");
        let twice = limit_of(limit_of(t.clone(), 1, Some(10)), 3, Some(9));
        sample.becomes(push_all, twice, &[&x], "limit 7 from 4\n  scan t x#0 fetch 11\n");
        let kept = limit_of(filter(t, vec![eq(&x, &int(1))]), 0, Some(1));
        sample.becomes(push_all, kept.clone(), &[&x], &sample.columns.show_rel(&kept));
    }

    #[test]
    fn no_more_rows_are_wanted_of_the_inputs_of_a_union() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let (u, [y]) = sample.table("u", ["y"]);
        let (v, [z]) = sample.table("v", ["z"]);
        let p = sample.number("p");
        let left = join(JoinKind::Left, t, u, vec![eq(&x, &y)]);
        let all = union(vec![id(&p)], vec![(left, vec![id(&x)]), (v, vec![id(&z)])]);
        let kept = limit_of(all.clone(), 1, None);
        sample.becomes(push_all, kept.clone(), &[&p], &sample.columns.show_rel(&kept));
        let to = "limit 4 from 1\n  union p#3 of x#0 of z#2\n    left join (x#0 = y#1)\n      \
                  scan t x#0 fetch 5\n      scan u y#1\n    scan v z#2 fetch 5\n";
        sample.becomes(push_all, limit_of(all, 1, Some(4)), &[&p], to);
    }
}
