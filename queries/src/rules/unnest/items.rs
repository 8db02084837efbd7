//! A right side that is made of a left row alone, such as the items of a list. What makes it stands above the left
//! side, and there is no join.

use crate::algebra::{self, Filter, Join, JoinKind, Map, Rel, Sort, Values};

use super::{filtered, mapped, take};

/// The rows of a dependent join, if its right side is made of one row.
pub(super) fn of_each_row(node: Join) -> Result<Rel, Join> {
    let keeps = match (node.kind, &*node.right) {
        (JoinKind::Inner, right) if is_of_one_row(right) => false,
        // A row without items is given with NULLs, as one without a match is.
        (JoinKind::Left, Rel::Unnest(unnest))
            if node.predicates.is_empty() && is_one_row(&unnest.input) && !unnest.keeps =>
        {
            true
        }
        _ => return Err(node),
    };
    let Join { left, right, predicates, .. } = node;
    let mut rel = above(*left, *right);
    if let Rel::Unnest(unnest) = &mut rel
        && keeps
    {
        unnest.keeps = true;
    }
    Ok(filtered(rel, predicates))
}

/// Whether a relation computes, filters and takes lists apart of one row.
fn is_of_one_row(rel: &Rel) -> bool {
    match rel {
        Rel::Map(Map { input, .. })
        | Rel::Filter(Filter { input, .. })
        | Rel::Unnest(algebra::Unnest { input, .. })
        | Rel::Sort(Sort { input, fetch: None, .. }) => is_of_one_row(input),
        rel => is_one_row(rel),
    }
}

fn is_one_row(rel: &Rel) -> bool {
    matches!(rel, Rel::Values(values) if values.rows.len() == 1)
}

/// The operators of a relation of one row above another one.
fn above(left: Rel, right: Rel) -> Rel {
    match right {
        Rel::Values(Values { columns, mut rows }) => {
            mapped(left, columns.into_iter().zip(rows.pop().unwrap_or_default()).collect())
        }
        Rel::Sort(mut node) => above(left, take(&mut node.input)),
        Rel::Map(node) => Rel::Map(Map { input: Box::new(above(left, *node.input)), ..node }),
        Rel::Filter(node) => Rel::Filter(Filter { input: Box::new(above(left, *node.input)), ..node }),
        Rel::Unnest(node) => {
            Rel::Unnest(algebra::Unnest { input: Box::new(above(left, *node.input)), ..node })
        }
        other => other,
    }
}
