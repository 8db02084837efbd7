//! Relations in whose expressions subqueries stand: the subqueries are joined to the relation's input, and their values are
//! columns there.

use crate::algebra::{Aggregate, ColumnId, Expr, Join, JoinKind, Map, Rel, Sort, Union, Values};
use crate::error::{Error, Result};

use super::failing::fails;
use super::values::{InputRows, Nulls};
use super::{Unnest, filtered, mapped, take};

impl Unnest {
    /// A relation without subqueries in its expressions and in those below it.
    pub(super) fn relation(&mut self, mut rel: Rel) -> Result<Rel> {
        for input in rel.inputs_mut() {
            let below = take(input);
            *input = self.relation(below)?;
        }
        rel = match rel {
            Rel::Join(node) if node.kind == JoinKind::Single => return self.single_join(node),
            rel => rel,
        };
        if !rel.exprs().into_iter().any(Expr::has_subquery) {
            return Ok(rel);
        }
        match rel {
            Rel::Filter(node) => self.filter(*node.input, node.predicates),
            Rel::Map(node) => self.map(node),
            Rel::Join(node) => self.condition(node),
            Rel::Aggregate(node) => self.aggregate(node),
            Rel::Sort(node) => self.sort(node),
            Rel::Values(node) => self.constants(node),
            _ => Err(Error::Unsupported("a subquery here".into())),
        }
    }

    /// What has no subquery and can't fail comes first, which leaves fewer rows to ask for; then the others in their order.
    pub(super) fn filter(&mut self, input: Rel, predicates: Vec<Expr>) -> Result<Rel> {
        let terms = predicates.into_iter().flat_map(Expr::split);
        let (first, rest): (Vec<_>, Vec<_>) = terms.partition(|e| !e.has_subquery() && !fails(e));
        let mut place = InputRows::of(filtered(input, first));
        let mut kept = Vec::new();
        for term in rest {
            if term.has_subquery() {
                place.filter(&mut kept);
                self.term(term, &mut place, &mut kept)?;
            } else {
                kept.push(term);
            }
        }
        kept = kept.into_iter().flat_map(Expr::split).collect();
        place.filter(&mut kept);
        Ok(place.rel)
    }

    fn map(&mut self, node: Map) -> Result<Rel> {
        let mut place = InputRows::of(*node.input);
        let mut exprs = Vec::with_capacity(node.exprs.len());
        for (id, e) in node.exprs {
            exprs.push((id, self.exact(e, &mut place)?));
        }
        Ok(mapped(place.rel, exprs))
    }

    fn exact(&mut self, e: Expr, place: &mut InputRows) -> Result<Expr> {
        self.value(e, place, Nulls::Exact, &mut vec![])
    }

    fn sort(&mut self, mut node: Sort) -> Result<Rel> {
        let mut place = InputRows::of(*node.input);
        for key in &mut node.keys {
            self.replace(&mut key.expr, &mut place, Nulls::Exact, &mut vec![])?;
        }
        Ok(Rel::Sort(Sort { input: Box::new(place.rel), ..node }))
    }

    /// Arguments, and keys of an order, are asked for where FILTER is true.
    fn aggregate(&mut self, mut node: Aggregate) -> Result<Rel> {
        let mut place = InputRows::of(*node.input);
        for (_, call) in &mut node.calls {
            let mut skip = Vec::new();
            if let Some(filter) = &mut call.filter {
                self.replace(filter, &mut place, Nulls::False, &mut vec![])?;
                skip.push(Expr::or([filter.clone().not(), filter.clone().is_null()]));
            }
            for e in call.args.iter_mut().chain(call.order_by.iter_mut().map(|key| &mut key.expr)) {
                self.replace(e, &mut place, Nulls::Exact, &mut skip)?;
            }
        }
        Ok(Rel::Aggregate(Aggregate { input: Box::new(place.rel), ..node }))
    }

    /// Rows of which some have subqueries that are not run before: each of these is computed from one row.
    fn constants(&mut self, node: Values) -> Result<Rel> {
        let mut inputs: Vec<(Rel, Vec<ColumnId>)> = Vec::new();
        let mut plain: Vec<Vec<Expr>> = Vec::new();
        let only = node.rows.len() == 1;
        for row in node.rows {
            let mut place = InputRows::of(Values::one());
            let mut exprs = Vec::with_capacity(row.len());
            for e in row {
                exprs.push(self.exact(e, &mut place)?);
            }
            if place.rel == Values::one() {
                plain.push(exprs);
                continue;
            }
            if only {
                return Ok(mapped(place.rel, node.columns.into_iter().zip(exprs).collect()));
            }
            self.flush(&mut plain, &node.columns, &mut inputs);
            let columns: Vec<ColumnId> = node.columns.iter().map(|id| self.like(*id)).collect();
            let rel = mapped(place.rel, columns.iter().copied().zip(exprs).collect());
            inputs.push((rel, columns));
        }
        if inputs.is_empty() {
            return Ok(Rel::Values(Values { columns: node.columns, rows: plain }));
        }
        self.flush(&mut plain, &node.columns, &mut inputs);
        Ok(Rel::Union(Union { columns: node.columns, inputs }))
    }

    fn flush(
        &mut self,
        rows: &mut Vec<Vec<Expr>>,
        columns: &[ColumnId],
        inputs: &mut Vec<(Rel, Vec<ColumnId>)>,
    ) {
        if !rows.is_empty() {
            let columns: Vec<ColumnId> = columns.iter().map(|id| self.like(*id)).collect();
            let rows = std::mem::take(rows);
            inputs.push((Rel::Values(Values { columns: columns.clone(), rows }), columns));
        }
    }

    /// The condition of an inner join is one above it, from the first term on that has a subquery.
    pub(super) fn inner(&mut self, node: Join) -> Result<Rel> {
        let mut is_behind = false;
        let terms = node.predicates.into_iter().flat_map(Expr::split);
        let (above, on): (Vec<_>, Vec<_>) = terms.partition(|e| {
            is_behind |= e.has_subquery();
            e.has_subquery() || is_behind && fails(e)
        });
        let joined = Rel::Join(Join { predicates: on, ..node });
        self.filter(joined, above)
    }
}
