//! Lists that are taken apart: they are the last columns of what is computed below.

use super::{Lowered, Lowering};
use crate::algebra::{ColumnId, Expr, Rel, Unnest};
use crate::compile::Layout;
use crate::error::Result;
use crate::estimates;
use crate::plan::{self, Op};

impl Lowering<'_> {
    /// Lowers rows of which each is given once for each item of lists.
    pub fn unnest(&mut self, rel: &Rel, unnest: &Unnest, at: usize) -> Result<Lowered> {
        let input = self.rel(&unnest.input, at + 1)?;
        let estimate = estimates::of(rel, &[&input.estimate]);
        let passed = self.wanted(&input, at);
        // The lists stand behind all else, whatever is read above.
        let lists: Vec<(ColumnId, Expr)> = unnest
            .lists
            .iter()
            .map(|(id, list)| {
                let name = self.columns.get(*id).name.clone();
                (self.columns.add(name, list.data_type.clone()), list.clone())
            })
            .collect();
        let given: Vec<ColumnId> = passed.iter().copied().chain(lists.iter().map(|(id, _)| *id)).collect();
        let computed = self.computing(input, passed.clone(), lists)?;
        let node = self.arranged(computed, &given)?.node;
        let place = unnest.place.filter(|id| self.reads.is_wanted(*id, at));
        let made = unnest.lists.iter().map(|(id, _)| *id).chain(place);
        let layout = Layout::new(passed.into_iter().chain(made).collect(), &self.columns);
        let op = plan::Unnest { lists: unnest.lists.len(), place: place.is_some(), keeps: unnest.keeps };
        let node = self.node(Op::Unnest(op), layout.schema().clone(), vec![node], estimate.rows);
        Ok(Lowered { node, layout, estimate })
    }
}
