//! What the filters of readers say of a stage.
//!
//! Where every reader of a stage stands below a filter, the relation may be less work if it is computed for each of them,
//! with the reader's filter moved down. Else a row of the stage is wanted if one of the filters lets it through: this
//! becomes a filter of the stage, which moves down from there. The readers' own filters stay.

use arrow_schema::DataType;

use super::{inline, work};
use crate::algebra::{ColumnId, Expr, Filter, Gives, Kind, Rel, Shared, Stage, Statement};
use crate::compile::fails;
use crate::error::Result;
use crate::rules::filters;
use crate::rules::simplify::Simplifier;
use crate::rules::unnest::repeatable::is_exact;

/// The most readers whose filters are put together.
const MOST_READERS: usize = 32;

/// Has the filters of readers decide about stages. Whether something has changed.
///
/// # Errors
/// Those of simplifying expressions.
pub fn filter(statement: &mut Statement, simplifier: &Simplifier) -> Result<bool> {
    let mut inlined = vec![false; statement.stages.len()];
    let mut is_filtered = false;
    // Those that read a stage come behind it, and a filter of them may come to stand above what they read.
    for number in (0..statement.stages.len()).rev() {
        let Some(conditions) = conditions(statement, number) else { continue };
        let stage = &mut statement.stages[number];
        let types = stage.columns.iter().map(|id| statement.columns.get(*id).data_type.clone());
        let types: Vec<DataType> = types.collect();
        let mut any: Vec<Expr> = Vec::with_capacity(conditions.len());
        for condition in &conditions {
            if !any.contains(condition) {
                any.push(condition.clone());
            }
        }
        let filtered = filtered(&stage.root, Expr::or(any), simplifier)?;
        inlined[number] = is_less_apart(stage, &types, &filtered, &conditions, simplifier)?;
        if !inlined[number] {
            stage.root = filtered;
            is_filtered = true;
        }
    }
    let is_inlined = inlined.contains(&true);
    if is_inlined {
        inline::inline(statement, &inlined);
    }
    Ok(is_filtered || is_inlined)
}

/// The relation with a condition moved down.
fn filtered(root: &Rel, condition: Expr, simplifier: &Simplifier) -> Result<Rel> {
    let predicates = simplifier.condition(condition)?.split();
    let input = Box::new(root.clone());
    filters::push(Rel::Filter(Filter { input, predicates }), simplifier)
}

/// Whether it is less work to compute a stage for each reader, which has such a condition, than once for all of them. Only
/// what gives the same rows each time may be computed several times. `types` are those of the stage's columns, and `once` is
/// what is computed once.
fn is_less_apart(
    stage: &Stage,
    types: &[DataType],
    once: &Rel,
    conditions: &[Expr],
    simplifier: &Simplifier,
) -> Result<bool> {
    if stage.gives == (Gives::Rows { is_asked: true }) || !is_exact(&stage.root) {
        return Ok(false);
    }
    let (shared, estimate) = work::of(once);
    let shared = shared + work::of_keeping(estimate.rows, types, conditions.len());
    let mut apart = 0.0;
    for condition in conditions {
        apart += work::of(&filtered(&stage.root, condition.clone(), simplifier)?).0;
    }
    Ok(apart < shared)
}

/// For each reader of a stage the condition above it, on the stage's columns; `None` if one has none.
fn conditions(statement: &Statement, stage: usize) -> Option<Vec<Expr>> {
    let given = &statement.stages.get(stage).filter(|stage| stage.is_shared())?.columns;
    let mut wanted = Wanted { stage, given, conditions: Some(vec![]) };
    let later = statement.stages[stage + 1..].iter().map(|stage| &stage.root);
    later.chain([&statement.root]).for_each(|tree| wanted.look(tree, &[]));
    wanted.conditions.filter(|conditions| !conditions.is_empty())
}

/// The rows of a stage that its readers want.
struct Wanted<'a> {
    stage: usize,
    /// The columns of the stage.
    given: &'a [ColumnId],
    conditions: Option<Vec<Expr>>,
}

impl Wanted<'_> {
    /// Looks at a tree that stands below these predicates.
    fn look(&mut self, rel: &Rel, above: &[Expr]) {
        match rel {
            Rel::Shared(reader) if reader.stage == self.stage => {
                let condition = self.condition(reader, above);
                let before = self.conditions.take().filter(|conditions| conditions.len() < MOST_READERS);
                self.conditions = before.zip(condition).map(|(mut conditions, condition)| {
                    conditions.push(condition);
                    conditions
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
