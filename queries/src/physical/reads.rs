//! Which columns are read, and where: what each operator has to give.
//!
//! A relation of the algebra gives all columns of its inputs, and an operator of the plan those that something above it
//! reads. Relations are numbered in a walk that meets each of them before its inputs, the left one first. A column
//! belongs to one relation, so that all that read it are on the way from there to the root. It is wanted above a
//! relation if the first that reads it has a lower number than that.

use crate::algebra::{Aggregate, ColumnId, Expr, JoinKind, Kind, Rel};

/// No relation reads it.
const NEVER: usize = usize::MAX;

/// The place of a column that is wanted nowhere in particular.
const ANYWHERE: usize = usize::MAX - 1;

/// Which columns the relations of a statement read.
#[derive(Default)]
pub(super) struct Reads {
    /// For each column the number of the first relation that reads it.
    first: Vec<usize>,
    /// For each column where it stands best among those beside it.
    rank: Vec<usize>,
    /// For each number how many relations the tree below it has, itself among them.
    sizes: Vec<usize>,
}

impl Reads {
    /// Of a statement with so many columns, and no trees yet.
    pub fn new(columns: usize) -> Reads {
        Reads { first: vec![NEVER; columns], rank: vec![ANYWHERE; columns], sizes: vec![] }
    }

    /// Adds a tree that is to give these columns. Gives the number of its root.
    pub fn add(&mut self, root: &Rel, output: &[ColumnId]) -> usize {
        // The result reads them: it has a number before the root's.
        let result = self.sizes.len();
        self.sizes.push(1);
        for (place, id) in output.iter().enumerate() {
            self.read(*id, result);
            self.place(*id, place);
        }
        self.visit(root);
        result + 1
    }

    /// Whether a column is read above relation `at`.
    pub fn is_wanted(&self, id: ColumnId, at: usize) -> bool {
        self.first.get(id.0 as usize).is_some_and(|first| *first < at)
    }

    /// The number of the relation behind `at` and all below it: of its right input, if `at` is the left one.
    pub fn next(&self, at: usize) -> usize {
        at + self.sizes.get(at).copied().unwrap_or(1)
    }

    /// Puts columns, or what has one, where they stand best; else they keep their order.
    pub fn arrange<T>(&self, items: &mut [T], id: impl Fn(&T) -> ColumnId) {
        items.sort_by_key(|item| self.rank.get(id(item).0 as usize).copied().unwrap_or(ANYWHERE));
    }

    fn visit(&mut self, rel: &Rel) {
        let at = self.sizes.len();
        self.sizes.push(1);
        self.visit_own(rel, at);
        rel.inputs().into_iter().for_each(|input| self.visit(input));
        self.sizes[at] = self.sizes.len() - at;
    }

    /// What the operator itself reads to give what is wanted of it.
    fn visit_own(&mut self, rel: &Rel, at: usize) {
        match rel {
            // Bounds are conditions that are evaluated above.
            Rel::Scan(_) | Rel::Values(_) | Rel::Shared(_) | Rel::Limit(_) => {}
            Rel::Map(node) => {
                for (id, e) in &node.exprs {
                    if self.is_wanted(*id, at) {
                        self.read_all(e, at);
                    }
                }
            }
            Rel::Join(node) => {
                let is_needed = !matches!(node.kind, JoinKind::Mark(mark) if !self.is_wanted(mark, at));
                node.predicates.iter().filter(|_| is_needed).for_each(|e| self.read_all(e, at));
            }
            Rel::Aggregate(node) => self.visit_aggregate(node, at),
            Rel::Window(node) => {
                let order = node.order.iter().map(|key| &key.expr);
                node.partition.iter().chain(order).for_each(|e| self.read_all(e, at));
                let wanted: Vec<bool> = node.calls.iter().map(|(id, _)| self.is_wanted(*id, at)).collect();
                for ((_, call), _) in node.calls.iter().zip(wanted).filter(|(_, wanted)| *wanted) {
                    call.exprs().for_each(|e| self.read_all(e, at));
                }
            }
            Rel::Expand(node) => node.keys.iter().for_each(|(_, from)| self.read(*from, at)),
            Rel::Union(node) => {
                let mut given: Vec<(usize, ColumnId)> = node.columns.iter().copied().enumerate().collect();
                given.retain(|(_, id)| self.is_wanted(*id, at));
                self.arrange(&mut given, |(_, id)| *id);
                for (_, from) in &node.inputs {
                    for (place, (i, _)) in given.iter().enumerate() {
                        if let Some(from) = from.get(*i) {
                            self.read(*from, at);
                            self.place(*from, place);
                        }
                    }
                }
            }
            Rel::Repeat(node) => {
                self.read(node.times, at);
                // It is the last one.
                self.place(node.times, NEVER);
            }
            Rel::Filter(_) | Rel::Sort(_) | Rel::Unnest(_) => {
                rel.exprs().into_iter().for_each(|e| self.read_all(e, at))
            }
        }
    }

    fn visit_aggregate(&mut self, node: &Aggregate, at: usize) {
        node.keys.iter().for_each(|key| self.read(*key, at));
        for (id, call) in &node.calls {
            if self.is_wanted(*id, at) {
                call.exprs().for_each(|e| self.read_all(e, at));
            }
        }
    }

    fn read_all(&mut self, e: &Expr, at: usize) {
        e.look(&mut |e| {
            if let Kind::Column(id) = e.kind {
                self.read(id, at);
            }
            true
        });
    }

    fn read(&mut self, id: ColumnId, at: usize) {
        if let Some(first) = self.first.get_mut(id.0 as usize) {
            *first = at.min(*first);
        }
    }

    fn place(&mut self, id: ColumnId, place: usize) {
        if let Some(rank) = self.rank.get_mut(id.0 as usize)
            && *rank == ANYWHERE
        {
            *rank = place;
        }
    }
}
