//! A relation computed for each combination of a domain.
//!
//! The domain is moved down to where the relation names its columns. From there on the columns are carried along. They
//! are keys of aggregates, of partitions, and columns of unions. What stands on both sides of a join meets where they
//! are the same.
//!
//! A part of which all conditions on outer columns can be moved up is joined to the domain on them. If every column of
//! the domain is compared for equality with something there, that takes its place, and nothing is joined. Rows of
//! combinations that the domain does not have find no left row later. This is not done where something can fail on such
//! rows.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use arrow_schema::DataType;

use crate::algebra::{
    Aggregate, Call, ColumnId, Columns, Expr, Filter, Join, JoinKind, Kind, Map, Rel, Repeat, Union, Values,
};
use crate::error::{Error, Result};

use super::domain::Domain;
use super::eliminate::{equality, not_false};
use super::group::exprs_of;
use super::pull::{accesses, conditions};
use super::{Above, Unnest, case, filtered, gives, integer, join, mapped, reads, take};

/// A column that carries a column of the domain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carried {
    pub(super) id: ColumnId,
    /// Where it is NULL the row belongs to no combination.
    pub(super) strict: bool,
}

/// A relation for each combination of a domain.
pub(super) struct Pushed {
    pub(super) rel: Rel,
    /// The columns that carry the combination.
    pub(super) columns: Vec<Carried>,
}

impl Domain<'_> {
    /// Puts the columns carried in the place of outer ones.
    pub(super) fn inside<'e>(
        &self,
        exprs: impl IntoIterator<Item = &'e mut Expr>,
        carried: &[Carried],
        columns: &Columns,
    ) {
        let with = |id: ColumnId| self.carried(id, carried).map(|id| columns.read(id));
        exprs.into_iter().for_each(|e| e.replace(&with));
    }

    /// The column that carries an outer one.
    pub(super) fn carried(&self, id: ColumnId, carried: &[Carried]) -> Option<ColumnId> {
        if !self.outer.contains(&id) {
            return None;
        }
        let place = self.columns.iter().position(|other| *other == id)?;
        carried.get(place).map(|carried| carried.id)
    }

    pub(super) fn column_inside(&self, id: &mut ColumnId, carried: &[Carried]) {
        if let Some(other) = self.carried(*id, carried) {
            *id = other;
        }
    }
}

impl Unnest {
    pub(super) fn push(&mut self, rel: Rel, domain: &mut Domain, above: &Above) -> Result<Pushed> {
        if !accesses(&rel, &domain.outer) {
            let rel = self.joined(rel, above)?;
            let (rows, columns) = self.combinations(domain)?;
            return Ok(Pushed { rel: join(JoinKind::Inner, rows, rel, vec![]), columns });
        }
        if conditions(&rel, &domain.outer, false).is_some() {
            return self.meet(rel, domain, above);
        }
        let here = Above::below(&rel, above);
        match rel {
            Rel::Filter(mut node) => {
                let input = self.push(*node.input, domain, &here)?;
                domain.inside(&mut node.predicates, &input.columns, &self.columns);
                let rel = Rel::Filter(Filter { input: Box::new(input.rel), ..node });
                Ok(Pushed { rel, columns: input.columns })
            }
            Rel::Map(mut node) => {
                let input = self.push(*node.input, domain, &here)?;
                domain.inside(node.exprs.iter_mut().map(|(_, e)| e), &input.columns, &self.columns);
                let rel = Rel::Map(Map { input: Box::new(input.rel), ..node });
                Ok(Pushed { rel, columns: input.columns })
            }
            Rel::Window(mut node) => {
                let input = self.push(take(&mut node.input), domain, &here)?;
                domain.inside(node.exprs_mut(), &input.columns, &self.columns);
                // The rows of a combination are those that the subquery would have had.
                for carried in &input.columns {
                    let key = self.read(carried.id);
                    if !node.partition.contains(&key) {
                        node.partition.push(key);
                    }
                }
                *node.input = input.rel;
                Ok(Pushed { rel: Rel::Window(node), columns: input.columns })
            }
            Rel::Sort(node) if node.fetch.is_none() => self.push(*node.input, domain, above),
            Rel::Sort(_) | Rel::Limit(_) => self.push_limit(rel, domain, above),
            Rel::Expand(mut node) => {
                let input = self.push(*node.input, domain, &here)?;
                node.keys.iter_mut().for_each(|(_, from)| domain.column_inside(from, &input.columns));
                *node.input = input.rel;
                Ok(Pushed { rel: Rel::Expand(node), columns: input.columns })
            }
            Rel::Repeat(mut node) => {
                let input = self.push(*node.input, domain, &here)?;
                domain.column_inside(&mut node.times, &input.columns);
                let rel = Rel::Repeat(Repeat { input: Box::new(input.rel), times: node.times });
                Ok(Pushed { rel, columns: input.columns })
            }
            Rel::Unnest(mut node) => {
                let input = self.push(take(&mut node.input), domain, &here)?;
                domain.inside(node.lists.iter_mut().map(|(_, list)| list), &input.columns, &self.columns);
                *node.input = input.rel;
                Ok(Pushed { rel: Rel::Unnest(node), columns: input.columns })
            }
            Rel::Aggregate(node) if !node.totals.is_empty() => self.push_totals(node, domain),
            Rel::Aggregate(node) if node.keys.is_empty() => self.push_padded(node, domain),
            Rel::Aggregate(node) => self.push_group(node, domain),
            Rel::Union(node) => self.push_union(node, domain, &here),
            Rel::Values(node) => self.push_values(node, domain),
            Rel::Join(node) => self.push_join(node, domain, above),
            Rel::Scan(_) | Rel::Shared(_) => {
                Err(Error::Unsupported("a scan that names outer columns".into()))
            }
        }
    }

    /// A part of which all conditions can be moved up.
    fn meet(&mut self, rel: Rel, domain: &mut Domain, above: &Above) -> Result<Pushed> {
        let mut on = Vec::new();
        let rel = self.pull(rel, &domain.outer, false, &mut on);
        if let Some(places) = covering(&on, domain) {
            let mut exprs = Vec::new();
            let mut columns = Vec::with_capacity(places.len());
            for place in &places {
                if let Some((inner, _)) = on.get(*place).and_then(|e| equality(e, &domain.outer)) {
                    columns.push(Carried { id: self.key(inner, &mut exprs), strict: true });
                }
            }
            let mut rest = Vec::with_capacity(on.len());
            for (i, e) in on.into_iter().enumerate() {
                if !places.contains(&i) {
                    rest.push(e);
                }
            }
            domain.inside(&mut rest, &columns, &self.columns);
            let mut read = reads(&rest);
            read.extend(reads(exprs.iter().map(|(_, e)| e)));
            read.extend(columns.iter().map(|carried| carried.id));
            let rel = self.joined(rel, &Above::of(read, Some(above)))?;
            return Ok(Pushed { rel: filtered(mapped(rel, exprs), rest), columns });
        }
        let rel = self.joined(rel, &Above::of(reads(&on), Some(above)))?;
        let (rows, columns) = self.combinations(domain)?;
        domain.inside(&mut on, &columns, &self.columns);
        Ok(Pushed { rel: join(JoinKind::Inner, rows, rel, on), columns })
    }

    /// An aggregate by its keys and the combination. Without keys of its own it has no row for a combination without rows.
    pub(super) fn push_group(&mut self, mut node: Aggregate, domain: &mut Domain) -> Result<Pushed> {
        let here = Above::of(reads_of(&node), None);
        let input = self.push(*node.input, domain, &here)?;
        self.inside_group(&mut node.keys, &mut node.calls, domain, &input.columns);
        let rel = Rel::Aggregate(Aggregate { input: Box::new(input.rel), ..node });
        Ok(Pushed { rel, columns: input.columns })
    }

    /// The keys and calls of an aggregate by the combination too.
    pub(super) fn inside_group(
        &self,
        keys: &mut Vec<ColumnId>,
        calls: &mut [(ColumnId, Call)],
        domain: &Domain,
        carried: &[Carried],
    ) {
        keys.iter_mut().for_each(|key| domain.column_inside(key, carried));
        keys.extend(carried.iter().map(|carried| carried.id));
        let mut seen = BTreeSet::new();
        keys.retain(|key| seen.insert(*key));
        domain.inside(calls.iter_mut().flat_map(|(_, call)| call.exprs_mut()), carried, &self.columns);
    }

    fn push_union(&mut self, node: Union, domain: &mut Domain, here: &Above) -> Result<Pushed> {
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for (input, from) in node.inputs {
            inputs.push((self.push(input, domain, here)?, from));
        }
        let mut carried = Vec::with_capacity(domain.columns.len());
        for (i, id) in domain.columns.iter().enumerate() {
            let strict = inputs.iter().all(|(input, _)| input.columns.get(i).is_some_and(|c| c.strict));
            carried.push(Carried { id: self.like(*id), strict });
        }
        let mut united = Vec::with_capacity(inputs.len());
        for (input, mut from) in inputs {
            let input = self.definite(input, &carried);
            from.iter_mut().for_each(|id| domain.column_inside(id, &input.columns));
            from.extend(input.columns.iter().map(|carried| carried.id));
            united.push((input.rel, from));
        }
        let columns = node.columns.into_iter().chain(carried.iter().map(|carried| carried.id)).collect();
        Ok(Pushed { rel: Rel::Union(Union { columns, inputs: united }), columns: carried })
    }

    /// Leaves out rows of no combination where it is not seen from the column that they are such.
    pub(super) fn definite(&self, pushed: Pushed, as_columns: &[Carried]) -> Pushed {
        let Pushed { rel, mut columns } = pushed;
        let mut predicates = Vec::new();
        for (column, other) in columns.iter_mut().zip(as_columns) {
            if column.strict && !other.strict {
                predicates.push(self.read(column.id).is_null().not());
                column.strict = false;
            }
        }
        Pushed { rel: filtered(rel, predicates), columns }
    }

    /// Rows of expressions over the combination: of several rows one is chosen by its number.
    fn push_values(&mut self, node: Values, domain: &mut Domain) -> Result<Pushed> {
        let (rows, columns) = self.combinations(domain)?;
        let count = node.rows.len();
        let mut cells = node.rows;
        for row in &mut cells {
            domain.inside(row.iter_mut(), &columns, &self.columns);
        }
        if count == 1 {
            let exprs = node.columns.into_iter().zip(cells.into_iter().flatten()).collect();
            return Ok(Pushed { rel: mapped(rows, exprs), columns });
        }
        let number = self.column("number", DataType::Int64);
        let numbers = (0..count as i64).map(|i| vec![integer(i)]).collect();
        let numbers = Rel::Values(Values { columns: vec![number], rows: numbers });
        let mut exprs: Vec<(ColumnId, Expr)> = Vec::with_capacity(node.columns.len());
        let mut cells: Vec<_> = cells.into_iter().map(Vec::into_iter).collect();
        for id in node.columns {
            let data_type = self.columns.get(id).data_type.clone();
            let results = cells.iter_mut().filter_map(Iterator::next);
            let branches = (0..count as i64).map(integer).zip(results).collect();
            let operand = Some(Box::new(self.read(number)));
            exprs.push((id, Expr { kind: Kind::Case { operand, branches, otherwise: None }, data_type }));
        }
        Ok(Pushed { rel: mapped(join(JoinKind::Inner, rows, numbers, vec![]), exprs), columns })
    }

    fn push_join(&mut self, mut node: Join, domain: &mut Domain, above: &Above) -> Result<Pushed> {
        let mut read = reads(&node.predicates);
        let gives_right = node.kind.gives_right();
        let of_right = Above::of(read.clone(), gives_right.then_some(above));
        let free = node.right.free();
        // A key of the left side may be an outer column.
        let is_dependent = free.iter().any(|id| !domain.outer.contains(id) && gives(&node.left, *id));
        read.extend(free);
        let of_left = Above::of(read, Some(above));
        if is_dependent {
            // The combination is carried by the left side, of which the right side then names columns alone.
            let left = self.push(*node.left, domain, &of_left)?;
            let with = |id: ColumnId| domain.carried(id, &left.columns).map(|id| self.columns.read(id));
            node.right.replace_free(&with);
            domain.inside(&mut node.predicates, &left.columns, &self.columns);
            *node.left = left.rel;
            return Ok(Pushed { rel: self.apart(node, above)?, columns: left.columns });
        }
        let in_right = accesses(&node.right, &domain.outer);
        // A side that is kept, or filled with NULLs, has its rows for each combination.
        let keeps = node.kind != JoinKind::Inner;
        let in_left = keeps || !in_right || accesses(&node.left, &domain.outer);
        let in_right = in_right || node.kind == JoinKind::Full;
        let left = match in_left {
            true => Ok(self.push(*node.left, domain, &of_left)?),
            false => Err(self.joined(*node.left, &of_left)?),
        };
        let right = match in_right {
            true => Ok(self.push(*node.right, domain, &of_right)?),
            false => Err(self.joined(*node.right, &of_right)?),
        };
        match (left, right) {
            (Ok(left), Ok(right)) if node.kind == JoinKind::Full => {
                Ok(self.push_full(left, right, node.predicates, domain))
            }
            (Ok(left), Ok(right)) => {
                let mut on = self.same(domain, &left.columns, &right.columns);
                domain.inside(&mut node.predicates, &left.columns, &self.columns);
                if node.kind == JoinKind::AntiNullAware {
                    node.kind = JoinKind::Anti;
                    node.predicates = node.predicates.into_iter().map(not_false).collect();
                }
                on.extend(node.predicates);
                Ok(Pushed { rel: join(node.kind, left.rel, right.rel, on), columns: left.columns })
            }
            (Ok(left), Err(right)) => {
                domain.inside(&mut node.predicates, &left.columns, &self.columns);
                let rel = join(node.kind, left.rel, right, node.predicates);
                Ok(Pushed { rel, columns: left.columns })
            }
            (Err(left), Ok(right)) => {
                domain.inside(&mut node.predicates, &right.columns, &self.columns);
                let rel = join(node.kind, left, right.rel, node.predicates);
                Ok(Pushed { rel, columns: right.columns })
            }
            (Err(_), Err(_)) => Err(Error::Unsupported("this correlated join".into())),
        }
    }

    /// A row of a full join has the combination of the side that it has.
    fn push_full(&mut self, left: Pushed, right: Pushed, mut on: Vec<Expr>, domain: &Domain) -> Pushed {
        let left = self.definite(left, &right.columns);
        let right = self.definite(right, &left.columns);
        let mut predicates = self.same(domain, &left.columns, &right.columns);
        domain.inside(&mut on, &left.columns, &self.columns);
        predicates.extend(on);
        let mut columns = Vec::with_capacity(left.columns.len());
        let mut exprs = Vec::with_capacity(left.columns.len());
        for (l, r) in left.columns.iter().zip(&right.columns) {
            let id = self.like(l.id);
            let value = self.read(l.id);
            exprs.push((id, case(vec![(value.clone().is_null(), self.read(r.id))], value)));
            columns.push(Carried { id, strict: l.strict });
        }
        let rel = mapped(join(JoinKind::Full, left.rel, right.rel, predicates), exprs);
        Pushed { rel, columns }
    }
}

/// The columns that an aggregate reads.
pub(super) fn reads_of(node: &Aggregate) -> BTreeSet<ColumnId> {
    let mut columns = reads(exprs_of(node));
    columns.extend(&node.keys);
    columns
}

/// For each column of a domain the place of a condition that compares it with something inside, if all have one.
pub(super) fn covering(on: &[impl Borrow<Expr>], domain: &Domain) -> Option<Vec<usize>> {
    if domain.exact || domain.columns.len() > domain.outer.len() {
        return None;
    }
    let compares = |e: &Expr, id: ColumnId| {
        equality(e, &domain.outer)
            .is_some_and(|(_, other)| other.as_column() == Some(id) && is_told_apart(&other.data_type))
    };
    let place = |id: &ColumnId| on.iter().position(|e| compares(e.borrow(), *id));
    domain.columns.iter().map(place).collect()
}

/// Whether equal values of a type are the same in every other respect. Of floats 0 and -0 are equal, of intervals 24
/// hours and a day.
fn is_told_apart(t: &DataType) -> bool {
    !t.is_floating() && !matches!(t, DataType::Interval(_)) && !t.is_nested()
}
