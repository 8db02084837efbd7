//! What the filters of readers say of a stage.
//!
//! A relation may be less work if it is computed for each reader, with the filter that stands above the reader moved
//! down. It may be too if its rows are so many and so wide that keeping them is more work than making them. Else, where
//! every reader stands below a filter, a row of the stage is wanted if one of the filters lets it through. This becomes
//! a filter of the stage, which moves down from there. The readers' own filters stay.

use std::collections::BTreeSet;

use arrow_schema::DataType;

use super::{ROUNDS, cost, inline};
use crate::algebra::{ColumnId, Expr, Filter, Kind, Rel, Shared, Stage, StageOutput, Statement};
use crate::compile::fails;
use crate::error::Result;
use crate::rules::filters;
use crate::rules::simplify::Simplifier;
use crate::rules::unnest::repeatable::is_exact;

/// The most readers that are looked at.
const MOST_READERS: usize = 32;

/// Has the filters of readers decide about stages. Whether something has changed.
///
/// # Errors
/// Those of simplifying expressions.
pub fn filter(statement: &mut Statement, simplifier: &Simplifier) -> Result<bool> {
    let mut inlined = vec![false; statement.stages.len()];
    // How often each stage is computed.
    let of_rounds = |changing: &BTreeSet<usize>| if changing.is_empty() { 1 } else { ROUNDS };
    let mut times: Vec<usize> = statement.changing().iter().map(of_rounds).collect();
    let mut is_filtered = false;
    // Those that read a stage come behind it, and a filter of them may come to stand above what they read.
    for number in (0..statement.stages.len()).rev() {
        let readers = readers(statement, number, &times);
        if readers.is_empty() || readers.len() > MOST_READERS {
            continue;
        }
        let stage = &mut statement.stages[number];
        let types = stage.columns.iter().map(|id| statement.columns.get(*id).data_type.clone());
        let types: Vec<DataType> = types.collect();
        let filtered = match any(&readers) {
            Some(condition) => Some(filtered(&stage.root, condition, simplifier)?),
            None => None,
        };
        let once = filtered.as_ref().unwrap_or(&stage.root);
        inlined[number] = is_less_apart(stage, &types, once, &readers, simplifier)?;
        if inlined[number] {
            times[number] = count(&readers);
        } else if let Some(filtered) = filtered {
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

/// A reader of a stage.
struct Reader {
    /// How often it reads the stage: it may stand in one that is computed several times.
    times: usize,
    /// The condition above it, on the stage's columns.
    condition: Option<Expr>,
}

/// How often readers read their stage.
fn count(readers: &[Reader]) -> usize {
    readers.iter().fold(0, |sum, reader| sum.saturating_add(reader.times))
}

/// Whether one of the conditions holds; `None` if a reader has none.
fn any(readers: &[Reader]) -> Option<Expr> {
    let mut any: Vec<Expr> = Vec::with_capacity(readers.len());
    for reader in readers {
        let condition = reader.condition.as_ref()?;
        if !any.contains(condition) {
            any.push(condition.clone());
        }
    }
    Some(Expr::or(any))
}

/// The relation with a condition moved down.
fn filtered(root: &Rel, condition: Expr, simplifier: &Simplifier) -> Result<Rel> {
    let predicates = simplifier.condition(condition)?.split();
    let input = Box::new(root.clone());
    filters::push(Rel::Filter(Filter { input, predicates }), simplifier)
}

/// Whether it is less work to compute a stage for each reader than once for all of them. Only what gives the same rows each
/// time may be computed several times. `types` are those of the stage's columns, and `once` is what is computed once.
fn is_less_apart(
    stage: &Stage,
    types: &[DataType],
    once: &Rel,
    readers: &[Reader],
    simplifier: &Simplifier,
) -> Result<bool> {
    if stage.gives == (StageOutput::Rows { is_asked: true }) || !is_exact(&stage.root) {
        return Ok(false);
    }
    let (shared, estimate) = cost::of(once);
    let shared = shared + cost::of_keeping(estimate.rows, types, count(readers));
    let mut apart = 0.0;
    for reader in readers {
        let work = match &reader.condition {
            Some(condition) => cost::of(&filtered(&stage.root, condition.clone(), simplifier)?).0,
            None => cost::of(&stage.root).0,
        };
        apart += work * reader.times as f64;
    }
    Ok(apart < shared)
}

/// The readers of a stage. `times` is how often each stage is computed.
fn readers(statement: &Statement, stage: usize, times: &[usize]) -> Vec<Reader> {
    let Some(given) = statement.stages.get(stage).filter(|stage| stage.is_shared() && !stage.is_recursive())
    else {
        return vec![];
    };
    let mut wanted = Wanted { stage, given: &given.columns, times: 1, readers: vec![] };
    for (later, times) in statement.stages.iter().zip(times).skip(stage + 1) {
        wanted.times = *times;
        wanted.look(&later.root, &[]);
    }
    wanted.times = 1;
    wanted.look(&statement.root, &[]);
    wanted.readers
}

/// The rows of a stage that its readers want.
struct Wanted<'a> {
    stage: usize,
    /// The columns of the stage.
    given: &'a [ColumnId],
    /// How often the tree is computed that is looked at.
    times: usize,
    readers: Vec<Reader>,
}

impl Wanted<'_> {
    /// Looks at a tree that stands below these predicates.
    fn look(&mut self, rel: &Rel, above: &[Expr]) {
        match rel {
            Rel::Shared(reader) if reader.stage == self.stage => {
                let condition = self.condition(reader, above);
                self.readers.push(Reader { times: self.times, condition });
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
