//! Copies of relations. A column has one number in a statement: what is read twice makes columns of its own each time.

use std::collections::BTreeMap;

use super::{ColumnId, Columns, Expr, JoinKind, Kind, Rel};

impl Rel {
    /// A copy that makes new columns, and the number in the copy of each column that is made here.
    pub fn copied(&self, columns: &mut Columns) -> (Rel, BTreeMap<ColumnId, ColumnId>) {
        let mut numbers = BTreeMap::new();
        for id in self.made() {
            numbers.entry(id).or_insert_with(|| columns.again(id));
        }
        let mut copy = self.clone();
        copy.renumber(&|id| numbers.get(&id).copied().unwrap_or(id));
        (copy, numbers)
    }

    /// The columns that it makes, those of relations below it and of subqueries in expressions too. Two relations that
    /// differ in the numbers of columns alone have them in one order.
    pub fn made(&self) -> Vec<ColumnId> {
        let mut made = Vec::new();
        self.collect_made(&mut made);
        made
    }

    /// The relation with numbers of its columns that its shape alone decides, and what they are. Those that differ in
    /// the numbers of columns alone become equal.
    pub fn canonical(&self) -> (Rel, BTreeMap<ColumnId, ColumnId>) {
        let mut numbers = BTreeMap::new();
        for id in self.made() {
            // Numbers of other columns count up.
            let next = ColumnId(u32::MAX - numbers.len() as u32);
            numbers.entry(id).or_insert(next);
        }
        let mut shape = self.clone();
        shape.renumber(&|id| numbers.get(&id).copied().unwrap_or(id));
        (shape, numbers)
    }

    /// The columns that its own operator makes.
    pub fn made_here(&self) -> Vec<ColumnId> {
        match self {
            Rel::Scan(node) => node.columns.clone(),
            Rel::Values(node) => node.columns.clone(),
            Rel::Map(node) => node.exprs.iter().map(|(id, _)| *id).collect(),
            Rel::Join(node) => match node.kind {
                JoinKind::Mark(mark) => vec![mark],
                _ => vec![],
            },
            Rel::Aggregate(node) => node.calls.iter().map(|(id, _)| *id).collect(),
            Rel::Window(node) => node.calls.iter().map(|(id, _)| *id).collect(),
            Rel::Expand(node) => node.keys.iter().map(|(id, _)| *id).chain([node.id]).collect(),
            Rel::Union(node) => node.columns.clone(),
            Rel::Shared(node) => node.columns.clone(),
            Rel::Unnest(node) => node.made().collect(),
            Rel::Filter(_) | Rel::Sort(_) | Rel::Limit(_) | Rel::Repeat(_) => vec![],
        }
    }

    fn collect_made(&self, made: &mut Vec<ColumnId>) {
        made.extend(self.made_here());
        for e in self.exprs() {
            e.look(&mut |e| {
                if let Kind::Subquery(subquery) = &e.kind {
                    subquery.rel.collect_made(made);
                }
                true
            });
        }
        self.inputs().into_iter().for_each(|input| input.collect_made(made));
    }

    /// Gives columns other numbers, where they are made and where they are read.
    pub fn renumber(&mut self, number: &dyn Fn(ColumnId) -> ColumnId) {
        let change = |id: &mut ColumnId| *id = number(*id);
        match self {
            Rel::Scan(node) => node.columns.iter_mut().for_each(change),
            Rel::Values(node) => node.columns.iter_mut().for_each(change),
            Rel::Map(node) => node.exprs.iter_mut().for_each(|(id, _)| change(id)),
            Rel::Join(node) => {
                if let JoinKind::Mark(mark) = &mut node.kind {
                    change(mark);
                }
            }
            Rel::Aggregate(node) => {
                node.keys.iter_mut().for_each(change);
                node.calls.iter_mut().for_each(|(id, _)| change(id));
            }
            Rel::Window(node) => node.calls.iter_mut().for_each(|(id, _)| change(id)),
            Rel::Expand(node) => {
                node.keys.iter_mut().for_each(|(id, from)| {
                    change(id);
                    change(from);
                });
                change(&mut node.id);
            }
            Rel::Union(node) => {
                node.columns.iter_mut().for_each(change);
                node.inputs.iter_mut().flat_map(|(_, from)| from).for_each(change);
            }
            Rel::Repeat(node) => change(&mut node.times),
            Rel::Shared(node) => node.columns.iter_mut().for_each(change),
            Rel::Unnest(node) => {
                node.lists.iter_mut().map(|(id, _)| id).chain(&mut node.place).for_each(change);
            }
            Rel::Filter(_) | Rel::Sort(_) | Rel::Limit(_) => {}
        }
        self.exprs_mut().into_iter().for_each(|e| e.renumber(number));
        self.inputs_mut().into_iter().for_each(|input| input.renumber(number));
    }
}

impl Expr {
    /// Gives columns other numbers, inside subqueries too.
    pub fn renumber(&mut self, number: &dyn Fn(ColumnId) -> ColumnId) {
        self.change(&mut |e| match &mut e.kind {
            Kind::Column(id) => *id = number(*id),
            Kind::Subquery(subquery) => {
                subquery.columns.iter_mut().for_each(|id| *id = number(*id));
                subquery.rel.renumber(number);
            }
            _ => {}
        });
    }
}
