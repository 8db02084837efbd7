//! What the right side of a dependent join computes from outer columns, computed above the join.
//!
//! In `FROM t, LATERAL (SELECT t.a + u.x AS s FROM u WHERE …)` the sum is computed for the same pairs of rows above the
//! join. A left join has a mark for its pairs, without which the columns are NULL. A right side of one row without columns
//! is no join at all.

use std::collections::BTreeSet;

use arrow_schema::DataType;

use crate::algebra::{ColumnId, Expr, Filter, Join, JoinKind, Map, Rel, Sort, Values};
use crate::error::Result;

use super::scalar::size;
use super::{Above, Unnest, case, filtered, mapped, only_if, reads, reads_any, sources, take};

/// A condition of more parts is not made out of what it compares.
pub(super) const MOST_PARTS: usize = 500;

/// What stands above the rows of the right side.
enum Step {
    Map(Vec<(ColumnId, Expr)>),
    Filter(Vec<Expr>),
}

impl Unnest {
    /// A join whose right side computes columns from outer ones, if that can be done above it.
    pub(super) fn lift(
        &mut self,
        mut node: Join,
        outer: &BTreeSet<ColumnId>,
        above: &Above,
    ) -> Result<Result<Rel, Join>> {
        constants(&mut node.right, outer);
        let depth = depth(&node.right, outer);
        let is_inner = node.kind == JoinKind::Inner;
        if depth == 0 || !is_inner && (node.kind != JoinKind::Left || !can_inline(&node, depth)) {
            return Ok(Err(node));
        }
        let mut steps = Vec::with_capacity(depth);
        let mut right = take(&mut node.right);
        for _ in 0..depth {
            right = match right {
                Rel::Map(Map { input, exprs }) => {
                    steps.push(Step::Map(exprs));
                    *input
                }
                Rel::Filter(Filter { input, predicates }) => {
                    steps.push(Step::Filter(predicates));
                    *input
                }
                Rel::Sort(Sort { input, .. }) => *input,
                other => other,
            };
        }
        let (mut read, mut marked) = (reads(&node.predicates), None);
        for step in &steps {
            match step {
                Step::Map(exprs) => read.extend(reads(exprs.iter().map(|(_, e)| e))),
                Step::Filter(predicates) => read.extend(reads(predicates)),
            }
        }
        let predicates = std::mem::take(&mut node.predicates);
        let has_filter = !predicates.is_empty() || steps.iter().any(|step| matches!(step, Step::Filter(_)));
        if is_inner || !has_filter && right == Values::one() {
            node.kind = JoinKind::Inner;
            steps.insert(0, Step::Filter(predicates));
        } else {
            node.predicates = inlined(predicates, &mut steps);
            let matched = self.column("matched", DataType::Boolean);
            right = mapped(right, vec![(matched, Expr::boolean(true))]);
            read.insert(matched);
            marked = Some(self.read(matched));
        }
        *node.right = right;
        let mut rel = self.apart(node, &Above::of(read, Some(above)))?;
        for step in steps.into_iter().rev() {
            rel = match (step, &marked) {
                (Step::Filter(predicates), _) => filtered(rel, predicates),
                (Step::Map(exprs), None) => mapped(rel, exprs),
                (Step::Map(exprs), Some(matched)) => {
                    let guarded = |(id, e): (ColumnId, Expr)| (id, only_if(matched.clone(), e));
                    mapped(rel, exprs.into_iter().map(guarded).collect())
                }
            };
        }
        Ok(Ok(rel))
    }
}

/// One row of expressions over outer columns as what is computed from a row without columns.
fn constants(rel: &mut Rel, outer: &BTreeSet<ColumnId>) {
    match rel {
        Rel::Values(node)
            if node.rows.len() == 1 && node.rows.iter().flatten().any(|e| reads_any(e, outer)) =>
        {
            let row = node.rows.swap_remove(0);
            let exprs = std::mem::take(&mut node.columns).into_iter().zip(row).collect();
            *rel = mapped(Values::one(), exprs);
        }
        Rel::Map(Map { input, .. }) | Rel::Filter(Filter { input, .. }) | Rel::Sort(Sort { input, .. }) => {
            constants(input, outer);
        }
        _ => {}
    }
}

/// How many relations stand above the rows, up to the last one that computes a column from outer ones.
fn depth(rel: &Rel, outer: &BTreeSet<ColumnId>) -> usize {
    let (mut rel, mut steps, mut last) = (rel, 0, 0);
    loop {
        steps += 1;
        rel = match rel {
            Rel::Map(node) => {
                if node.exprs.iter().any(|(_, e)| reads_any(e, outer)) {
                    last = steps;
                }
                &node.input
            }
            Rel::Filter(node) => &node.input,
            Rel::Sort(node) if node.fetch.is_none() => &node.input,
            _ => return last,
        };
    }
}

/// Whether conditions may be over what the columns are computed from.
fn can_inline(node: &Join, depth: usize) -> bool {
    let mut rel = &*node.right;
    let (mut maps, mut predicates) = (Vec::new(), vec![&node.predicates]);
    for _ in 0..depth {
        rel = match rel {
            Rel::Map(map) => {
                maps.push(map);
                &map.input
            }
            Rel::Filter(filter) => {
                predicates.push(&filter.predicates);
                &filter.input
            }
            Rel::Sort(sort) => &sort.input,
            _ => return false,
        };
    }
    let mut parts = std::collections::BTreeMap::new();
    for map in maps.into_iter().rev() {
        if map.exprs.iter().any(|(_, e)| e.is_volatile()) {
            return false;
        }
        let own: Vec<_> = map.exprs.iter().map(|(id, e)| (*id, size(e, &parts))).collect();
        parts.extend(own);
    }
    let sizes = predicates.into_iter().flatten().map(|e| size(e, &parts));
    sizes.fold(0, usize::saturating_add) <= MOST_PARTS
}

/// The conditions of a left join and of what stands above its right rows, as conditions on these rows. The filters are
/// taken out of the steps.
fn inlined(predicates: Vec<Expr>, steps: &mut Vec<Step>) -> Vec<Expr> {
    let mut on = predicates;
    steps.retain_mut(|step| match step {
        Step::Filter(predicates) => {
            on.splice(0..0, std::mem::take(predicates));
            false
        }
        Step::Map(exprs) => {
            on.iter_mut().for_each(|e| e.replace(&sources(exprs)));
            true
        }
    });
    on
}

/// A join with one row without columns as what it does to the left rows.
pub(super) fn alone(node: Join) -> Result<Rel, Join> {
    let is_one = matches!(&*node.right, Rel::Values(one) if one.columns.is_empty() && one.rows.len() == 1);
    if !is_one {
        return Err(node);
    }
    let truth = |e: Expr, is: bool| case(vec![(e, Expr::boolean(is))], Expr::boolean(!is));
    let all = || Expr::and(node.predicates.clone());
    Ok(match node.kind {
        JoinKind::Inner | JoinKind::Semi => filtered(*node.left, node.predicates),
        JoinKind::Left => *node.left,
        JoinKind::Anti => filtered(*node.left, vec![truth(all(), false)]),
        JoinKind::Mark(mark) => {
            let exprs = vec![(mark, truth(all(), true))];
            mapped(*node.left, exprs)
        }
        JoinKind::Full | JoinKind::AntiNullAware | JoinKind::Single => return Err(node),
    })
}
