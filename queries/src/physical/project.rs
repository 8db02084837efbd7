//! Computed columns, and columns put in order.

use std::collections::{BTreeMap, BTreeSet};

use super::{Lowered, Lowering, column};
use crate::algebra::{ColumnId, Expr, Map, Rel};
use crate::compile::Layout;
use crate::error::{Error, Result};
use crate::estimates;
use crate::plan::{JoinType, Op};

impl Lowering<'_> {
    /// Computes the columns that are wanted. Maps below it, of which each column is read once, are computed with it.
    pub fn map(&mut self, rel: &Rel, map: &Map, at: usize) -> Result<Lowered> {
        let is_wanted = |id: ColumnId| self.reads.is_wanted(id, at);
        let mut given: Vec<(ColumnId, Expr)> =
            map.exprs.iter().filter(|(id, _)| is_wanted(*id)).cloned().collect();
        if given.is_empty() {
            return self.rel(&map.input, at + 1);
        }
        let (mut maps, mut below, mut below_at) = (vec![rel], &*map.input, at + 1);
        while let Rel::Map(inner) = below {
            let own = given.len();
            let passed = inner.exprs.iter().filter(|(id, _)| is_wanted(*id));
            given.extend(passed.map(|(id, _)| (*id, self.columns.read(*id))));
            if !inline(inner, &mut given.iter_mut().map(|(_, e)| e).collect::<Vec<_>>()) {
                given.truncate(own);
                break;
            }
            maps.push(below);
            (below, below_at) = (&inner.input, below_at + 1);
        }
        let passed: Vec<Expr> = match below {
            Rel::Scan(scan) => {
                scan.columns.iter().filter(|id| is_wanted(**id)).map(|id| self.columns.read(*id)).collect()
            }
            _ => vec![],
        };
        let seen: Vec<&Expr> = given.iter().map(|(_, e)| e).chain(&passed).collect();
        let input = self.below(below, below_at, &seen)?;
        let estimate = maps.iter().rfold(input.estimate.clone(), |below, map| estimates::of(map, &[&below]));
        let Lowered { node, layout, .. } = match self.renamed(&input.layout, &given, at) {
            Some(layout) => Lowered { layout, ..input },
            None => {
                let own: BTreeSet<ColumnId> = given.iter().map(|(id, _)| *id).collect();
                let passed = input.layout.ids().iter().copied();
                let passed = passed.filter(|id| self.reads.is_wanted(*id, at) && !own.contains(id)).collect();
                self.computing(input, passed, given)?
            }
        };
        Ok(Lowered { node, layout, estimate })
    }

    /// The columns of rows under other numbers, if nothing is computed, and each is wanted once.
    fn renamed(&self, input: &Layout, given: &[(ColumnId, Expr)], at: usize) -> Option<Layout> {
        let mut names = BTreeMap::new();
        for (id, e) in given {
            let from = e.as_column().filter(|from| !self.reads.is_wanted(*from, at))?;
            if names.insert(from, *id).is_some() {
                return None;
            }
        }
        let ids = input.ids().iter().map(|id| names.get(id).copied().unwrap_or(*id)).collect();
        Some(Layout::new(ids, &self.columns))
    }

    /// Gives columns of the rows, and computed ones.
    pub fn computing(
        &mut self,
        input: Lowered,
        passed: Vec<ColumnId>,
        computed: Vec<(ColumnId, Expr)>,
    ) -> Result<Lowered> {
        if computed.is_empty() {
            return self.arranged(input, &passed);
        }
        let mut given: Vec<(ColumnId, Option<Expr>)> = passed.into_iter().map(|id| (id, None)).collect();
        given.extend(computed.into_iter().map(|(id, e)| (id, Some(e))));
        self.reads.arrange(&mut given, |(id, _)| *id);
        let mut exprs = Vec::with_capacity(given.len());
        for (id, e) in &given {
            exprs.push(match (e, input.layout.position(*id)) {
                (Some(e), _) => self.compile(e, &input.layout)?,
                (None, Some(position)) => column(input.layout.schema(), position),
                (None, None) => return Err(self.missing(*id)),
            });
        }
        let layout = Layout::new(given.into_iter().map(|(id, _)| id).collect(), &self.columns);
        let rows = input.node.rows;
        let node = self.node(Op::Project { exprs }, layout.schema().clone(), vec![input.node], rows);
        Ok(Lowered { node, layout, estimate: input.estimate })
    }

    /// Gives these columns of the rows, in this order.
    pub fn arranged(&mut self, rows: Lowered, ids: &[ColumnId]) -> Result<Lowered> {
        if rows.layout.ids() == ids {
            return Ok(rows);
        }
        let mut positions = Vec::with_capacity(ids.len());
        for id in ids {
            positions.push(rows.layout.position(*id).ok_or_else(|| self.missing(*id))?);
        }
        let layout = Layout::new(ids.to_vec(), &self.columns);
        let Lowered { mut node, layout: from, estimate } = rows;
        let is_each_once = positions.iter().collect::<BTreeSet<_>>().len() == positions.len();
        match &mut node.op {
            // The mark of a mark join stays behind its columns.
            Op::Join(join) if join.kind != JoinType::LeftMark => {
                join.output = positions.iter().map(|i| join.output[*i]).collect();
                node.schema = layout.schema().clone();
            }
            Op::Project { exprs } if is_each_once => {
                *exprs = positions.iter().map(|i| exprs[*i].clone()).collect();
                node.schema = layout.schema().clone();
            }
            _ => {
                let exprs = positions.iter().map(|i| column(from.schema(), *i)).collect();
                let rows = node.rows;
                node = self.node(Op::Project { exprs }, layout.schema().clone(), vec![node], rows);
            }
        }
        Ok(Lowered { node, layout, estimate })
    }

    /// Gives only the columns that are wanted of the relation with number `at`, whose rows these are: what is kept or moved
    /// shall be narrow.
    pub fn narrowed(&mut self, rows: Lowered, at: usize) -> Result<Lowered> {
        let ids = self.wanted(&rows, at);
        self.arranged(rows, &ids)
    }

    /// The columns that are wanted of the relation with number `at`, whose rows these are.
    pub fn wanted(&self, rows: &Lowered, at: usize) -> Vec<ColumnId> {
        rows.layout.ids().iter().copied().filter(|id| self.reads.is_wanted(*id, at)).collect()
    }

    /// A column that no relation below gives: a rule has left it behind.
    fn missing(&self, id: ColumnId) -> Error {
        let name = &self.columns.get(id).name;
        Error::Unsupported(format!("column '{name}' at this place, where no table gives it"))
    }
}

/// Puts the expressions of a map in the place of its columns, if that computes none of them twice. `false`: nothing is done.
pub(super) fn inline(map: &Map, exprs: &mut [&mut Expr]) -> bool {
    let mut uses: BTreeMap<ColumnId, usize> = map.exprs.iter().map(|(id, _)| (*id, 0)).collect();
    for e in exprs.iter() {
        e.look(&mut |e| {
            if let Some(uses) = e.as_column().and_then(|id| uses.get_mut(&id)) {
                *uses += 1;
            }
            true
        });
    }
    let is_free = |e: &Expr| e.as_column().is_some() || e.as_literal().is_some();
    let fits = |(id, e): &(ColumnId, Expr)| match uses.get(id) {
        None | Some(0) => true,
        Some(1) => !e.is_volatile(),
        Some(_) => is_free(e),
    };
    if !map.exprs.iter().all(fits) {
        return false;
    }
    let by_id: BTreeMap<ColumnId, &Expr> = map.exprs.iter().map(|(id, e)| (*id, e)).collect();
    for e in exprs {
        e.replace(&|id| by_id.get(&id).map(|e| (*e).clone()));
    }
    true
}
