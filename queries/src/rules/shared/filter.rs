//! Rows that no reader wants are not kept.
//!
//! Where every reader of a stage stands below a filter, a row of the stage is wanted if one of the filters lets it through.
//! This becomes a filter of the stage, and moves down from there. The readers' own filters stay.

use crate::algebra::{ColumnId, Expr, Filter, Kind, Rel, Shared, Statement};
use crate::compile::fails;
use crate::error::Result;
use crate::rules::filters;
use crate::rules::simplify::Simplifier;
use crate::rules::simplify::nodes::taken;

/// The most readers whose filters are put together.
const MOST_READERS: usize = 32;

/// Filters stages by what their readers want. Whether a stage was.
///
/// # Errors
/// Those of simplifying expressions.
pub fn filter(statement: &mut Statement, simplifier: &Simplifier) -> Result<bool> {
    let mut is_any = false;
    // A stage reads those before it, and a filter of it may come to stand above what it reads.
    for number in (0..statement.stages.len()).rev() {
        if !statement.stages[number].is_shared() {
            continue;
        }
        let mut wanted =
            Wanted { stage: number, given: &statement.stages[number].columns, branches: Some(vec![]) };
        let later = statement.stages[number + 1..].iter().map(|stage| &stage.root);
        later.chain([&statement.root]).for_each(|tree| wanted.look(tree, &[]));
        let Some(branches) = wanted.branches.filter(|branches| !branches.is_empty()) else { continue };
        let condition = simplifier.condition(Expr::or(branches))?;
        let stage = &mut statement.stages[number];
        let input = Box::new(taken(&mut stage.root));
        stage.root = filters::push(Rel::Filter(Filter { input, predicates: condition.split() }), simplifier)?;
        is_any = true;
    }
    Ok(is_any)
}

/// The rows of a stage that its readers want.
struct Wanted<'a> {
    stage: usize,
    /// The columns of the stage.
    given: &'a [ColumnId],
    /// For each reader the condition on the stage's columns; `None` once there is a reader without one.
    branches: Option<Vec<Expr>>,
}

impl Wanted<'_> {
    /// Looks at a tree that stands below these predicates.
    fn look(&mut self, rel: &Rel, above: &[Expr]) {
        match rel {
            Rel::Shared(reader) if reader.stage == self.stage => {
                let condition = self.condition(reader, above);
                let branches = self.branches.take().filter(|branches| branches.len() < MOST_READERS);
                self.branches = branches.zip(condition).map(|(mut branches, condition)| {
                    if !branches.contains(&condition) {
                        branches.push(condition);
                    }
                    branches
                });
            }
            Rel::Filter(node) => self.look(&node.input, &node.predicates),
            _ => rel.inputs().into_iter().for_each(|input| self.look(input, &[])),
        }
    }

    /// What of the predicates above a reader can be asked of the stage. The value of a stage may be known only later.
    fn condition(&self, reader: &Shared, above: &[Expr]) -> Option<Expr> {
        let usable = |e: &&Expr| {
            let columns = e.columns();
            !columns.is_empty()
                && columns.iter().all(|id| reader.columns.contains(id))
                && !fails(e)
                && !e.is_volatile()
                && !e.any(&mut |e| matches!(e.kind, Kind::Stage(_)))
        };
        let mut terms: Vec<Expr> = above.iter().filter(usable).cloned().collect();
        let own = |id: ColumnId| {
            let place = reader.columns.iter().position(|other| *other == id);
            place.and_then(|place| self.given.get(place)).copied().unwrap_or(id)
        };
        terms.iter_mut().for_each(|e| e.renumber(&own));
        (!terms.is_empty()).then(|| Expr::and(terms))
    }
}
