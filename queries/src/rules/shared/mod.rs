//! Relations that several others read: computed once where that pays, and else wherever they are read.
//!
//! The binder makes a stage of each query of a WITH, and a reader of each place that names it. Here each stage stays, or
//! its relation takes the places of its readers:
//!
//! - One that nothing reads goes, and one with a single reader takes that reader's place.
//! - What only reads, filters and computes is read again: there its filters, bounds and columns are worth more than rows
//!   that are kept. A join, a group, a sort for the first rows, a command, a random number is computed once.
//! - What the statement asks for (`MATERIALIZED`) stays whoever reads it, and so does a recursion.
//! - What a recursion reads in each round is read several times.
//!
//! What stays is run whether or not one of its rows is wanted, so that what fails in it fails the statement. Its
//! readers see the same rows, also where these are random or depend on the order in which floats are summed. So a stage
//! of which unnesting has made several readers must not become several relations again. Only cheap ones do, which give
//! the same rows each time.
//!
//! - [`equal`]: relations that stand several times in a statement become one.
//! - [`inline`]: relations into the places of their readers.
//! - [`filter`]: what the filters of readers say of a stage. [`cost`]: about how much work a relation is.
//! - [`limited`]: how many rows readers want.

mod cost;
pub mod equal;
pub mod filter;
mod inline;
pub mod limited;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::unique;
use crate::algebra::{Expr, Facts, Rel, StageOutput, Statement};
use crate::estimates::{self, Estimate};

/// A recursion has about so many rounds.
const ROUNDS: usize = 10;

/// Puts relations that are not computed once into the places of their readers. Whether there was one.
pub fn settle(statement: &mut Statement) -> bool {
    statement.drop_unread_stages();
    if !statement.has_shared() {
        return false;
    }
    let inlined = inlined(statement);
    let is_any = inlined.contains(&true);
    if is_any {
        inline::inline(statement, &inlined);
        statement.drop_unread_stages();
    }
    describe(statement);
    is_any
}

/// For each stage whether its relation takes the places of its readers.
fn inlined(statement: &Statement) -> Vec<bool> {
    let count = statement.stages.len();
    let (mut readers, mut inlined) = (vec![0_usize; count], vec![false; count]);
    let add = |tree: &Rel, times: usize, readers: &mut [usize]| {
        for (stage, reads) in reads_of(tree) {
            readers[stage] = readers[stage].saturating_add(reads.saturating_mul(times));
        }
    };
    add(&statement.root, 1, &mut readers);
    let changing = statement.changing();
    // Those that read a stage come behind it.
    for (number, stage) in statement.stages.iter().enumerate().rev() {
        inlined[number] = match stage.gives {
            StageOutput::Rows { is_asked: false } => readers[number] == 1 || is_cheap(&stage.root),
            StageOutput::Rows { is_asked: true }
            | StageOutput::Value
            | StageOutput::Seed
            | StageOutput::Rounds(_) => false,
        };
        // It stands wherever it is read, and so does what it reads.
        let times = match inlined[number] {
            true => readers[number],
            false if changing[number].is_empty() => 1,
            false => ROUNDS,
        };
        add(&stage.root, times, &mut readers);
    }
    inlined
}

/// How often a tree reads each stage.
fn reads_of(tree: &Rel) -> BTreeMap<usize, usize> {
    let mut reads = BTreeMap::new();
    tree.look_at_readers(&mut |reader| *reads.entry(reader.stage).or_default() += 1);
    reads
}

/// Whether a relation only reads, filters and computes, and gives the same rows each time.
fn is_cheap(rel: &Rel) -> bool {
    let is_plain = |e: &Expr| !e.is_volatile() && !e.has_subquery();
    rel.exprs().into_iter().all(is_plain)
        && match rel {
            Rel::Scan(node) => node.transform.is_none() && node.fetch.is_none(),
            Rel::Shared(node) => node.fetch.is_none(),
            Rel::Sort(node) => node.fetch.is_none(),
            Rel::Values(_) | Rel::Filter(_) | Rel::Map(_) | Rel::Union(_) => true,
            Rel::Join(_) | Rel::Aggregate(_) | Rel::Window(_) => false,
            Rel::Expand(_) | Rel::Limit(_) | Rel::Repeat(_) | Rel::Unnest(_) => false,
        }
        && rel.inputs().into_iter().all(is_cheap)
}

/// Tells readers what is known of the rows of their stages.
pub fn describe(statement: &mut Statement) {
    if !statement.has_shared() {
        return;
    }
    let mut known: Vec<Option<Arc<Facts>>> = Vec::with_capacity(statement.stages.len());
    for stage in &mut statement.stages {
        tell(&mut stage.root, &known);
        let facts = (stage.is_shared() && !stage.is_recursive()).then(|| {
            let estimate = estimates::of_tree(&stage.root);
            let place = |id| stage.columns.iter().position(|other| *other == id);
            let keys = unique::keys(&stage.root)
                .and_then(|keys| keys.into_iter().map(place).collect::<Option<Vec<usize>>>());
            let columns = stage.columns.iter().map(|id| estimate.column(*id)).collect();
            let Estimate { rows, whole, is_known, .. } = estimate;
            Arc::new(Facts { rows, whole, is_known, columns, keys })
        });
        known.push(facts);
    }
    tell(&mut statement.root, &known);
}

fn tell(tree: &mut Rel, known: &[Option<Arc<Facts>>]) {
    tree.change_readers(&mut |reader| {
        reader.facts = known.get(reader.stage).cloned().flatten();
        None
    });
}

#[cfg(test)]
mod tests;
