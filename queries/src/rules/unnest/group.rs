//! An aggregate without keys as the right side of a dependent join.
//!
//! It has a row for each left row, also where it has nothing to aggregate. Grouped by what its conditions compare with
//! outer values, or by the combinations of the domain, it has no row there. The join fills in NULLs, and a count is
//! made 0 where the columns are made, so that everything above sees a row.

use std::collections::BTreeSet;

use datafusion_expr::Operator;

use crate::algebra::{Aggregate, ColumnId, Expr, JoinKind, Rel};
use crate::error::Result;

use super::domain::Domain;
use super::eliminate::equality;
use super::failing::{fails, rel_fails};
use super::pull::{accesses, conditions};
use super::{Above, Unnest, case, gives, join, mapped, reads, reads_any};

impl Unnest {
    /// Each left row beside the row of the aggregate for it. The left side has no dependent joins.
    pub(super) fn group(&mut self, mut left: Rel, group: Aggregate, above: &Above) -> Result<Rel> {
        let group = Rel::Aggregate(group);
        let free = group.free();
        let Rel::Aggregate(mut group) = group else { return Ok(left) };
        let outer: BTreeSet<ColumnId> = free.into_iter().filter(|id| gives(&left, *id)).collect();
        if outer.is_empty() {
            let right = self.joined(Rel::Aggregate(group), above)?;
            return Ok(join(JoinKind::Left, left, right, vec![]));
        }
        let fills = self.fills(&mut group)?;
        if is_keyed(&group, &outer) {
            let mut conditions = Vec::new();
            let input = self.pull(*group.input, &outer, false, &mut conditions);
            let (mut exprs, mut on) = (Vec::new(), Vec::new());
            for e in conditions {
                let Some((inner, other)) = equality(&e, &outer) else {
                    on.push(e);
                    continue;
                };
                let key = self.key(inner, &mut exprs);
                if !group.keys.contains(&key) {
                    group.keys.push(key);
                }
                on.push(Expr::compare(other.clone(), Operator::Eq, self.read(key)));
            }
            group.input = Box::new(mapped(input, exprs));
            let right = self.joined(Rel::Aggregate(group), &Above::of(BTreeSet::new(), None))?;
            return Ok(mapped(join(JoinKind::Left, left, right, on), fills));
        }
        let mut read = reads(fills.iter().map(|(_, e)| e));
        read.extend(&outer);
        let left_above = Above::of(read, Some(above));
        let exact = rel_fails(&group.input) || exprs_of(&group).any(fails);
        let mut domain = Domain::new(&mut left, outer, exact, &left_above);
        let pushed = self.push_group(group, &mut domain)?;
        let on = self.own_combination(&domain, &pushed);
        Ok(mapped(join(JoinKind::Left, left, pushed.rel, on), fills))
    }

    /// Gives new columns to calls that are not NULL for no rows; what makes the old ones of these where a row is missing.
    pub(super) fn fills(&mut self, group: &mut Aggregate) -> Result<Vec<(ColumnId, Expr)>> {
        let mut fills = Vec::new();
        for (id, call) in &mut group.calls {
            let data_type = self.columns.get(*id).data_type.clone();
            let of_nothing = call.function.default_value(&data_type)?;
            if of_nothing.is_null() {
                continue;
            }
            let of_nothing = Expr::literal(of_nothing.cast_to(&data_type)?);
            let old = std::mem::replace(id, self.like(*id));
            let value = self.read(*id);
            fills.push((old, case(vec![(value.clone().is_null(), of_nothing)], value)));
        }
        Ok(fills)
    }
}

/// The expressions of the calls.
pub(super) fn exprs_of(group: &Aggregate) -> impl Iterator<Item = &Expr> {
    group.calls.iter().flat_map(|(_, call)| call.exprs())
}

/// Whether all conditions on outer columns are equalities with them, or name them alone.
fn is_keyed(group: &Aggregate, outer: &BTreeSet<ColumnId>) -> bool {
    if exprs_of(group).any(|e| reads_any(e, outer) || fails(e)) || !accesses(&group.input, outer) {
        return false;
    }
    conditions(&group.input, outer, false)
        .is_some_and(|on| on.iter().all(|e| equality(e, outer).is_some() || e.columns().is_subset(outer)))
}
