//! LIMIT down to where rows come from, those of stages too.
//!
//! A reader may want only some rows of a stage, whichever they are, or the first ones of an order. Where each of its
//! readers does, the stage gives no more than the most that one of them wants. All of them see the same rows. A recursion ends
//! with the round that has given them.

use crate::algebra::{Limit, Rel, StageOutput, Statement};
use crate::rules::limits;
use crate::rules::simplify::nodes::taken;

/// Tells relations below limits how many rows are wanted.
pub fn push(statement: &mut Statement) {
    limits::push(&mut statement.root);
    // Those that read a stage come behind it.
    for number in (0..statement.stages.len()).rev() {
        let fetch = wanted(statement, number);
        let stage = &mut statement.stages[number];
        match &mut stage.gives {
            StageOutput::Rounds(rounds) => rounds.fetch = fetch,
            // The rows of a round are others than the readers' in the next one.
            StageOutput::Seed => {}
            StageOutput::Value | StageOutput::Rows { .. } if fetch.is_some() => {
                let input = Box::new(taken(&mut stage.root));
                stage.root = Rel::Limit(Limit { input, skip: 0, fetch });
            }
            StageOutput::Value | StageOutput::Rows { .. } => {}
        }
        limits::push(&mut stage.root);
    }
}

/// The most rows of a stage that one of its readers wants; `None` if one of them wants all, or it has none.
fn wanted(statement: &Statement, stage: usize) -> Option<usize> {
    let mut all: Vec<Option<usize>> = Vec::new();
    let later = statement.stages[stage + 1..].iter().map(|stage| &stage.root);
    for tree in later.chain([&statement.root]) {
        tree.look_at_readers(&mut |reader| {
            if reader.stage == stage {
                all.push(reader.fetch);
            }
        });
    }
    let all: Option<Vec<usize>> = all.into_iter().collect();
    all?.into_iter().max()
}
