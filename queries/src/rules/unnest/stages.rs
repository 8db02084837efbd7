//! Subqueries that are run before the rest: their value is a constant to it. Equal ones are run once.

use std::collections::BTreeSet;

use crate::algebra::{
    Aggregate, ColumnId, Expr, Kind, Limit, Rel, Stage, StageOutput, Statement, Subquery, SubqueryKind,
};

use super::failing::any_expr;
use super::{Unnest, count_rows, positive, renumbering};

/// Equal subqueries are looked for among so many.
const MOST_SHAPES: usize = 200;

impl Unnest {
    /// The value of a subquery that names no columns around it.
    pub(super) fn stage(&mut self, root: Rel, column: ColumnId) -> Expr {
        let data_type = self.columns.get(column).data_type.clone();
        let value = |number| Expr { kind: Kind::Stage(number), data_type };
        let whole = Subquery { kind: SubqueryKind::Scalar, rel: root, columns: vec![column] };
        let shape = if is_volatile(&whole.rel) { None } else { Some(canonical(&whole)) };
        if let Some(shape) = &shape
            && let Some((number, _)) = self.shapes.iter().find(|(_, other)| other == shape)
        {
            return value(*number);
        }
        let number = self.stages.len();
        self.stages.push(Stage { root: whole.rel, columns: vec![column], gives: StageOutput::Value });
        if let Some(shape) = shape
            && self.shapes.len() < MOST_SHAPES
        {
            self.shapes.push((number, shape));
        }
        value(number)
    }

    /// Whether a subquery that names no columns around it has a row.
    pub(super) fn exists_stage(&mut self, rel: Rel) -> Expr {
        let first = Rel::Limit(Limit { input: Box::new(rel), skip: 0, fetch: Some(1) });
        let column = self.column("rows", arrow_schema::DataType::Int64);
        let calls = vec![(column, count_rows())];
        let root = Rel::Aggregate(Aggregate { input: Box::new(first), keys: vec![], calls, totals: vec![] });
        positive(self.stage(root, column))
    }
}

/// Whether an expression of a relation, of one below it or of a subquery in them has a value of its own each time.
pub(super) fn is_volatile(rel: &Rel) -> bool {
    any_expr(rel, &mut Expr::is_volatile)
}

/// A subquery with numbers of its columns that only its shape decides: equal ones are equal.
pub(super) fn canonical(subquery: &Subquery) -> Subquery {
    let (rel, numbers) = subquery.rel.canonical();
    let columns = subquery.columns.iter().map(|id| renumbering(&numbers)(*id)).collect();
    Subquery { kind: subquery.kind.clone(), rel, columns }
}

/// The columns that a statement reads somewhere.
pub(super) fn used(statement: &Statement) -> BTreeSet<ColumnId> {
    let mut used: BTreeSet<ColumnId> = statement.output.iter().copied().collect();
    for stage in &statement.stages {
        used.extend(&stage.columns);
        collect(&stage.root, &mut used);
    }
    collect(&statement.root, &mut used);
    used
}

fn collect(rel: &Rel, used: &mut BTreeSet<ColumnId>) {
    rel.look(&mut |node| {
        used.extend(node.reads());
        for e in node.exprs() {
            e.look(&mut |e| {
                if let Kind::Subquery(subquery) = &e.kind {
                    used.extend(&subquery.columns);
                    collect(&subquery.rel, used);
                }
                true
            });
        }
    });
}
