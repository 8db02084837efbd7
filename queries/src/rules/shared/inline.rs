//! Relations of stages into the places of their readers.
//!
//! A single reader gets the relation itself, and what reads the reader's columns reads those of the relation. Of several
//! each gets a copy, which makes columns of its own.

use std::collections::BTreeMap;

use crate::algebra::{ColumnId, Columns, Rel, Statement};
use crate::rules::simplify::nodes::taken;

/// Puts the relations of these stages into the places of their readers. The stages stay, empty and without readers.
pub fn inline(statement: &mut Statement, inlined: &[bool]) {
    let mut readers = vec![0_usize; statement.stages.len()];
    let trees = statement.stages.iter().map(|stage| &stage.root).chain([&statement.root]);
    trees.for_each(|tree| tree.look_at_readers(&mut |reader| readers[reader.stage] += 1));
    let Statement { columns, stages, root, output } = statement;
    let mut inliner = Inliner { columns, parts: vec![], numbers: BTreeMap::new() };
    for ((stage, is_inlined), readers) in stages.iter_mut().zip(inlined).zip(readers) {
        inliner.replace(&mut stage.root);
        let part = is_inlined.then(|| {
            let mut root = taken(&mut stage.root);
            let mut given = std::mem::take(&mut stage.columns);
            if readers > 1 {
                // Copies are made of columns that have their last numbers.
                let number = inliner.last();
                root.renumber(&number);
                given.iter_mut().for_each(|id| *id = number(*id));
            }
            Part { root: Some(root), columns: given, left: readers }
        });
        inliner.parts.push(part);
    }
    inliner.replace(root);
    let number = inliner.last();
    for stage in stages.iter_mut() {
        stage.root.renumber(&number);
        stage.columns.iter_mut().for_each(|id| *id = number(*id));
    }
    root.renumber(&number);
    output.iter_mut().for_each(|id| *id = number(*id));
}

/// A relation that takes the places of readers.
struct Part {
    root: Option<Rel>,
    columns: Vec<ColumnId>,
    /// The readers that have not got it yet.
    left: usize,
}

struct Inliner<'a> {
    columns: &'a mut Columns,
    /// By the number of the stage.
    parts: Vec<Option<Part>>,
    /// The columns of readers, and those of relations that are in their places now.
    numbers: BTreeMap<ColumnId, ColumnId>,
}

impl Inliner<'_> {
    /// Replaces the readers in a tree.
    fn replace(&mut self, tree: &mut Rel) {
        tree.change_readers(&mut |reader| {
            let part = self.parts.get_mut(reader.stage)?.as_mut()?;
            part.left = part.left.saturating_sub(1);
            let (rel, given) = if part.left == 0 {
                (part.root.take()?, part.columns.clone())
            } else {
                let (rel, numbers) = part.root.as_ref()?.copied(self.columns);
                let own = |id: &ColumnId| numbers.get(id).copied().unwrap_or(*id);
                (rel, part.columns.iter().map(own).collect())
            };
            self.numbers.extend(reader.columns.iter().copied().zip(given));
            Some(rel)
        });
    }

    /// The last number of a column: a relation that has taken the place of a reader may have been one itself.
    fn last(&self) -> impl Fn(ColumnId) -> ColumnId + 'static {
        let mut last: BTreeMap<ColumnId, ColumnId> = BTreeMap::new();
        for id in self.numbers.keys() {
            let (mut path, mut at) = (vec![], *id);
            while let Some(next) = self.numbers.get(&at).filter(|_| !last.contains_key(&at)) {
                path.push(at);
                at = *next;
            }
            let end = last.get(&at).copied().unwrap_or(at);
            last.extend(path.into_iter().map(|id| (id, end)));
        }
        move |id| last.get(&id).copied().unwrap_or(id)
    }
}
