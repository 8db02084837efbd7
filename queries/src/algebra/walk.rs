//! The columns of relations, and how trees of them are looked at and changed.

use std::collections::BTreeSet;

use super::{Aggregate, Call, ColumnId, Expr, JoinKind, Kind, Rel};

impl Call {
    /// Its expressions.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.args.iter().chain(&self.filter).chain(self.order_by.iter().map(|key| &key.expr))
    }

    /// Its expressions, to be changed.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let order = self.order_by.iter_mut().map(|key| &mut key.expr);
        self.args.iter_mut().chain(&mut self.filter).chain(order)
    }
}

impl Rel {
    /// Its inputs, the left one first.
    pub fn inputs(&self) -> Vec<&Rel> {
        match self {
            Rel::Scan(_) | Rel::Values(_) | Rel::Shared(_) => vec![],
            Rel::Filter(node) => vec![&node.input],
            Rel::Map(node) => vec![&node.input],
            Rel::Join(node) => vec![&node.left, &node.right],
            Rel::Aggregate(node) => vec![&node.input],
            Rel::Window(node) => vec![&node.input],
            Rel::Expand(node) => vec![&node.input],
            Rel::Sort(node) => vec![&node.input],
            Rel::Limit(node) => vec![&node.input],
            Rel::Union(node) => node.inputs.iter().map(|(input, _)| input).collect(),
            Rel::Repeat(node) => vec![&node.input],
            Rel::Unnest(node) => vec![&node.input],
        }
    }

    /// Its inputs, to be changed.
    pub fn inputs_mut(&mut self) -> Vec<&mut Rel> {
        match self {
            Rel::Scan(_) | Rel::Values(_) | Rel::Shared(_) => vec![],
            Rel::Filter(node) => vec![&mut node.input],
            Rel::Map(node) => vec![&mut node.input],
            Rel::Join(node) => vec![&mut node.left, &mut node.right],
            Rel::Aggregate(node) => vec![&mut node.input],
            Rel::Window(node) => vec![&mut node.input],
            Rel::Expand(node) => vec![&mut node.input],
            Rel::Sort(node) => vec![&mut node.input],
            Rel::Limit(node) => vec![&mut node.input],
            Rel::Union(node) => node.inputs.iter_mut().map(|(input, _)| input).collect(),
            Rel::Repeat(node) => vec![&mut node.input],
            Rel::Unnest(node) => vec![&mut node.input],
        }
    }

    /// The expressions of its own operator.
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Rel::Scan(node) => node.bounds.iter().collect(),
            Rel::Values(node) => node.rows.iter().flatten().collect(),
            Rel::Filter(node) => node.predicates.iter().collect(),
            Rel::Map(node) => node.exprs.iter().map(|(_, e)| e).collect(),
            Rel::Join(node) => node.predicates.iter().collect(),
            Rel::Aggregate(node) => node.calls.iter().flat_map(|(_, call)| call.exprs()).collect(),
            Rel::Window(node) => node.exprs().collect(),
            Rel::Sort(node) => node.keys.iter().map(|key| &key.expr).collect(),
            Rel::Unnest(node) => node.lists.iter().map(|(_, list)| list).collect(),
            Rel::Expand(_) | Rel::Limit(_) | Rel::Union(_) | Rel::Repeat(_) | Rel::Shared(_) => vec![],
        }
    }

    /// The expressions of its own operator, to be changed.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Rel::Scan(node) => node.bounds.iter_mut().collect(),
            Rel::Values(node) => node.rows.iter_mut().flatten().collect(),
            Rel::Filter(node) => node.predicates.iter_mut().collect(),
            Rel::Map(node) => node.exprs.iter_mut().map(|(_, e)| e).collect(),
            Rel::Join(node) => node.predicates.iter_mut().collect(),
            Rel::Aggregate(node) => node.calls.iter_mut().flat_map(|(_, call)| call.exprs_mut()).collect(),
            Rel::Window(node) => node.exprs_mut().collect(),
            Rel::Sort(node) => node.keys.iter_mut().map(|key| &mut key.expr).collect(),
            Rel::Unnest(node) => node.lists.iter_mut().map(|(_, list)| list).collect(),
            Rel::Expand(_) | Rel::Limit(_) | Rel::Union(_) | Rel::Repeat(_) | Rel::Shared(_) => vec![],
        }
    }

    /// The columns that it gives.
    pub fn columns(&self) -> BTreeSet<ColumnId> {
        let mut columns = BTreeSet::new();
        self.collect_columns(&mut columns);
        columns
    }

    fn collect_columns(&self, columns: &mut BTreeSet<ColumnId>) {
        match self {
            Rel::Scan(node) => columns.extend(&node.columns),
            Rel::Values(node) => columns.extend(&node.columns),
            Rel::Filter(node) => node.input.collect_columns(columns),
            Rel::Map(node) => {
                columns.extend(node.exprs.iter().map(|(id, _)| *id));
                node.input.collect_columns(columns);
            }
            Rel::Join(node) => {
                node.left.collect_columns(columns);
                if node.kind.gives_right() {
                    node.right.collect_columns(columns);
                }
                if let JoinKind::Mark(mark) = node.kind {
                    columns.insert(mark);
                }
            }
            Rel::Aggregate(node) => {
                columns.extend(&node.keys);
                columns.extend(node.calls.iter().map(|(id, _)| *id));
            }
            Rel::Window(node) => {
                columns.extend(node.calls.iter().map(|(id, _)| *id));
                node.input.collect_columns(columns);
            }
            Rel::Expand(node) => {
                columns.extend(node.keys.iter().map(|(id, _)| *id));
                columns.insert(node.id);
                node.input.collect_columns(columns);
            }
            Rel::Sort(node) => node.input.collect_columns(columns),
            Rel::Limit(node) => node.input.collect_columns(columns),
            Rel::Union(node) => columns.extend(&node.columns),
            Rel::Repeat(node) => node.input.collect_columns(columns),
            Rel::Unnest(node) => {
                columns.extend(node.made());
                node.input.collect_columns(columns);
            }
            Rel::Shared(node) => columns.extend(&node.columns),
        }
    }

    /// The columns that its own operator reads.
    pub fn reads(&self) -> BTreeSet<ColumnId> {
        let mut columns = BTreeSet::new();
        self.exprs().into_iter().for_each(|e| e.collect_columns(&mut columns));
        match self {
            Rel::Aggregate(Aggregate { keys, .. }) => columns.extend(keys),
            Rel::Expand(node) => columns.extend(node.keys.iter().map(|(_, from)| *from)),
            Rel::Union(node) => node.inputs.iter().for_each(|(_, from)| columns.extend(from)),
            Rel::Repeat(node) => {
                columns.insert(node.times);
            }
            _ => {}
        }
        columns
    }

    /// The columns that it reads and that none of its relations gives: those of relations around it.
    pub fn free(&self) -> BTreeSet<ColumnId> {
        let (mut read, mut given) = (BTreeSet::new(), BTreeSet::new());
        self.look(&mut |node| {
            read.extend(node.reads());
            given.extend(node.made_here());
        });
        &read - &given
    }

    /// Looks at each relation, itself first, without those of subqueries in expressions.
    pub fn look(&self, visit: &mut dyn FnMut(&Rel)) {
        visit(self);
        self.inputs().into_iter().for_each(|input| input.look(visit));
    }

    /// Puts other expressions in the place of columns of relations around it.
    ///
    /// Keys of aggregates, grouping sets and unions are columns. Where one of them is a free column, only another
    /// column can take its place, and a relation below has to give that.
    pub fn replace_free(&mut self, with: &dyn Fn(ColumnId) -> Option<Expr>) {
        let column = |id: &mut ColumnId| {
            if let Some(other) = with(*id).and_then(|e| e.as_column()) {
                *id = other;
            }
        };
        match self {
            Rel::Aggregate(node) => node.keys.iter_mut().for_each(column),
            Rel::Expand(node) => node.keys.iter_mut().for_each(|(_, from)| column(from)),
            Rel::Union(node) => node.inputs.iter_mut().flat_map(|(_, from)| from).for_each(column),
            Rel::Repeat(node) => column(&mut node.times),
            _ => {}
        }
        self.exprs_mut().into_iter().for_each(|e| e.replace(with));
        self.inputs_mut().into_iter().for_each(|input| input.replace_free(with));
    }

    /// Changes each relation, those below first.
    ///
    /// # Errors
    /// That of the change.
    pub fn change_up<E>(self, change: &mut dyn FnMut(Rel) -> Result<Rel, E>) -> Result<Rel, E> {
        let mut rel = self;
        for input in rel.inputs_mut() {
            let below = std::mem::replace(input, super::Values::one());
            *input = below.change_up(change)?;
        }
        change(rel)
    }

    /// Whether an expression of it, or of a relation below, has a subquery.
    pub fn has_subquery(&self) -> bool {
        let mut found = false;
        self.look(&mut |node| found |= node.exprs().into_iter().any(Expr::has_subquery));
        found
    }
}

impl Kind {
    /// A short name of what is computed, for errors.
    pub fn name(&self) -> &str {
        match self {
            Kind::Column(_) => "a column",
            Kind::Literal(_) => "a constant",
            Kind::Subquery(_) | Kind::Stage(_) => "a subquery",
            Kind::Call { function, .. } => function.name(),
            _ => "an expression",
        }
    }
}
