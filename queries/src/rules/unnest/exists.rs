//! EXISTS.
//!
//! Without outer columns it is the same for all rows: a stage looks for a first row. Conditions that name nothing of the
//! subquery stand beside it. Else a mark join says for each row whether it has a match.

use arrow_schema::DataType;

use crate::algebra::{Expr, JoinKind, Limit, Rel, Values};
use crate::error::Result;

use super::failing::fails;
use super::scalar::{OneRow, is_one_row_of_a_group};
use super::values::{InputRows, Nulls, Side};
use super::{Unnest, case, filtered, reads_any, take};

impl Unnest {
    /// Whether a subquery has rows, as a value.
    pub(super) fn exists(
        &mut self,
        rel: Rel,
        place: &mut InputRows,
        side: Side,
        nulls: Nulls,
        skip: &[Expr],
    ) -> Result<Expr> {
        let mut rel = bare(rel);
        // Conditions that name no column of the subquery.
        let mut outside = Vec::new();
        while let Rel::Filter(node) = &mut rel {
            let given = node.input.columns();
            let is_inside = |e: &Expr| reads_any(e, &given) || e.is_volatile();
            if node.predicates.iter().any(|e| is_inside(e) && fails(e)) {
                break;
            }
            let (inside, now): (Vec<_>, Vec<_>) =
                std::mem::take(&mut node.predicates).into_iter().partition(is_inside);
            outside.extend(now);
            if !inside.is_empty() {
                node.predicates = inside;
                break;
            }
            rel = bare(take(&mut node.input));
        }
        if !rel.free().is_empty() {
            rel = filtered(rel, outside);
            outside = vec![];
            self.guard(&mut rel, place, side, skip);
        }
        let found = if rel.free().is_empty() {
            match &rel {
                Rel::Values(node) if node.columns.is_empty() => Expr::boolean(!node.rows.is_empty()),
                _ => self.exists_stage(rel),
            }
        } else if is_one_row_of_a_group(&rel) {
            let OneRow { passed, .. } = self.one_row(rel, Expr::boolean(true), place, side);
            outside.extend(passed);
            Expr::boolean(true)
        } else {
            self.mark(rel, vec![], place, side)
        };
        if outside.is_empty() {
            return Ok(found);
        }
        if found.as_bool() != Some(Some(true)) {
            outside.insert(0, found);
        }
        let all = Expr::and(outside);
        Ok(if nulls == Nulls::False {
            all
        } else {
            case(vec![(all, Expr::boolean(true))], Expr::boolean(false))
        })
    }

    /// Whether a row has a match among those of a subquery: true or false.
    pub(super) fn mark(
        &mut self,
        rel: Rel,
        predicates: Vec<Expr>,
        place: &mut InputRows,
        side: Side,
    ) -> Expr {
        let mark = self.column("mark", DataType::Boolean);
        place.join(side, JoinKind::Mark(mark), rel, predicates);
        self.read(mark)
    }
}

/// The relation below what does not change whether there is a row.
pub(super) fn bare(rel: Rel) -> Rel {
    let one = |has_row: bool| if has_row { Values::one() } else { Values::none(vec![]) };
    match rel {
        Rel::Map(node) => bare(*node.input),
        Rel::Window(node) => bare(*node.input),
        Rel::Sort(node) if node.fetch != Some(0) => bare(*node.input),
        Rel::Limit(Limit { input, skip: 0, fetch }) if fetch != Some(0) => bare(*input),
        Rel::Aggregate(node) if node.keys.is_empty() || !node.totals.is_empty() => one(true),
        Rel::Aggregate(node) => bare(*node.input),
        Rel::Expand(node) if !node.sets.is_empty() => bare(*node.input),
        Rel::Repeat(node) => bare(*node.input),
        Rel::Join(node) if matches!(node.kind, JoinKind::Left | JoinKind::Mark(_)) => bare(*node.left),
        Rel::Values(node) => one(!node.rows.is_empty()),
        rel => rel,
    }
}
