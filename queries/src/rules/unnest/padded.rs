//! Aggregates that have a row for each combination of a domain, also where there is nothing to aggregate.

use std::collections::{BTreeMap, BTreeSet};

use arrow_schema::DataType;

use crate::algebra::{Aggregate, Call, ColumnId, Expr, JoinKind, Rel, Union, Values};
use crate::error::Result;

use super::domain::Domain;
use super::failing::fails;
use super::pull::conditions;
use super::push::{Carried, Pushed, covering, reads_of};
use super::{Above, Unnest, count, join, mapped, reads, renumbering, take};

impl Unnest {
    /// An aggregate without keys.
    ///
    /// If all conditions on outer columns can be moved up, the domain is joined to its rows on them. A combination
    /// without any keeps a row, which no call counts. Else the domain is joined to the groups.
    pub(super) fn push_padded(&mut self, mut node: Aggregate, domain: &mut Domain) -> Result<Pushed> {
        let meets = match conditions(&node.input, &domain.outer, false) {
            Some(on) => !on.is_empty() && covering(&on, domain).is_none(),
            None => false,
        };
        if !meets {
            let fills = self.fills(&mut node)?;
            let groups = self.push_group(node, domain)?;
            let (rows, columns) = self.combinations(domain)?;
            let on = self.same(domain, &columns, &groups.columns);
            let rel = mapped(join(JoinKind::Left, rows, groups.rel, on), fills);
            return Ok(Pushed { rel, columns });
        }
        let mut on = Vec::new();
        let mut read = reads_of(&node);
        let input = self.pull(*node.input, &domain.outer, false, &mut on);
        read.extend(reads(&on));
        let input = self.joined(input, &Above::of(read, None))?;
        let given = input.columns();
        let matched = self.column("matched", DataType::Boolean);
        let input = mapped(input, vec![(matched, Expr::boolean(true))]);
        let (rows, columns) = self.combinations(domain)?;
        domain.inside(&mut on, &columns, &self.columns);
        self.inside_group(&mut node.keys, &mut node.calls, domain, &columns);
        let is_given = |e: &Expr| e.as_column().is_some_and(|id| given.contains(&id));
        node.calls.iter_mut().for_each(|(_, call)| only_matched(call, &self.read(matched), &is_given));
        *node.input = join(JoinKind::Left, rows, input, on);
        Ok(Pushed { rel: Rel::Aggregate(node), columns })
    }

    /// An aggregate of grouping sets of which some are empty: their groups are there for each combination. Beside the rows
    /// it is given one for each of them, which no call counts.
    pub(super) fn push_totals(&mut self, mut node: Aggregate, domain: &mut Domain) -> Result<Pushed> {
        let here = Above::of(reads_of(&node), None);
        let input = self.push(take(&mut node.input), domain, &here)?;
        let (rows, combination) = self.combinations(domain)?;
        let input = self.distinguished(self.definite(input, &combination));
        let totals = std::mem::take(&mut node.totals);
        let keys = node.keys.clone();
        self.inside_group(&mut node.keys, &mut node.calls, domain, &input.columns);

        // The rows, under other numbers: the columns are those of the union.
        let needed: Vec<ColumnId> = reads_of(&node).into_iter().collect();
        let (real, numbers) = self.renumbered(input.rel);
        let in_real = self.column("matched", DataType::Boolean);
        let real = mapped(real, vec![(in_real, Expr::boolean(true))]);
        let from_real = needed.iter().copied().map(renumbering(&numbers)).chain([in_real]).collect();

        let columns: Vec<ColumnId> = keys.iter().map(|id| self.like(*id)).collect();
        let cells = totals.into_iter().map(|row| row.into_iter().map(Expr::literal).collect()).collect();
        let totals = Rel::Values(Values { columns: columns.clone(), rows: cells });
        let in_totals = self.column("matched", DataType::Boolean);
        let mut nulls = vec![(in_totals, Expr::boolean(None))];
        let mut from_totals = Vec::with_capacity(needed.len() + 1);
        for id in &needed {
            let mut carried = input.columns.iter().zip(&combination).filter(|(carried, _)| carried.id == *id);
            let mut key = keys.iter().zip(&columns).filter(|(key, _)| *key == id);
            from_totals.push(match (carried.next(), key.next()) {
                (Some((_, own)), _) => own.id,
                (None, Some((_, column))) => *column,
                (None, None) => {
                    let null = Expr::null(&self.columns.get(*id).data_type);
                    let column = self.like(*id);
                    nulls.push((column, null));
                    column
                }
            });
        }
        from_totals.push(in_totals);
        let padding = mapped(join(JoinKind::Inner, rows, totals, vec![]), nulls);

        let matched = self.column("matched", DataType::Boolean);
        // In the rows added the others are NULL.
        let has_value = |id: ColumnId| keys.contains(&id) || input.columns.iter().any(|c| c.id == id);
        let is_given = |e: &Expr| e.as_column().is_some_and(|id| needed.contains(&id) && !has_value(id));
        node.calls.iter_mut().for_each(|(_, call)| only_matched(call, &self.read(matched), &is_given));
        let columns = needed.into_iter().chain([matched]).collect();
        let inputs = vec![(real, from_real), (padding, from_totals)];
        *node.input = Rel::Union(Union { columns, inputs });
        let columns = input.columns.iter().map(|carried| Carried { id: carried.id, strict: false }).collect();
        Ok(Pushed { rel: Rel::Aggregate(node), columns })
    }

    /// Each column of the domain is carried by one of its own.
    fn distinguished(&mut self, pushed: Pushed) -> Pushed {
        let Pushed { rel, mut columns } = pushed;
        let (mut seen, mut exprs) = (BTreeSet::new(), Vec::new());
        for carried in &mut columns {
            if !seen.insert(carried.id) {
                let e = self.read(carried.id);
                carried.id = self.like(carried.id);
                exprs.push((carried.id, e));
            }
        }
        Pushed { rel: mapped(rel, exprs), columns }
    }

    /// A relation whose columns have other numbers, so that the old ones can be made above it.
    pub(super) fn renumbered(&mut self, mut rel: Rel) -> (Rel, BTreeMap<ColumnId, ColumnId>) {
        let mut numbers = BTreeMap::new();
        for id in rel.made() {
            let new = self.like(id);
            numbers.insert(id, new);
        }
        rel.renumber(&renumbering(&numbers));
        (rel, numbers)
    }
}

/// A call that is given only the rows for which `matched` is true. In the others the columns that `is_given` knows are
/// NULL, and most aggregates pass over NULLs.
fn only_matched(call: &mut Call, matched: &Expr, is_given: &dyn Fn(&Expr) -> bool) {
    let passes_nulls = matches!(call.function.name(), "avg" | "count" | "max" | "min" | "sum");
    let of_given = matches!(call.args.as_slice(), [arg] if is_given(arg));
    if passes_nulls && of_given && call.order_by.is_empty() && !call.filter.as_ref().is_some_and(fails) {
        return;
    }
    let counts_rows = call.function.name() == "count"
        && call.filter.is_none()
        && !call.distinct
        && call.args.iter().all(|e| e.as_literal().is_some_and(|value| !value.is_null()));
    if counts_rows {
        *call = count(matched.clone());
        return;
    }
    let filter = call.filter.take();
    call.filter = Some(Expr::and([matched.clone()].into_iter().chain(filter)));
}
