//! What is computed before the rest of a statement: values of scalar subqueries, and relations that are computed once and
//! read by several.
//!
//! A relation that several read is a stage, and each that reads it has a [`Shared`] in its place. So each stage is a tree,
//! and the statement is too: nothing is on its way to two readers at once. The rows of a stage are kept, and its readers
//! begin when it has ended.
//!
//! A recursion is two stages. The first one, its seed, has the rows that the name stands for in the first round. The second
//! one is computed again in each round, and the readers of the seed see the rows that it gave in the last round. All of its
//! rows, those of the seed first, are what others read. A stage between the two that depends on the seed is computed in each
//! round too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{ColumnId, Facts, Kind, Rel, Statement};

/// What is computed before the rest.
#[derive(Debug, Clone)]
pub struct Stage {
    /// What is computed.
    pub root: Rel,
    /// The columns that it gives.
    pub columns: Vec<ColumnId>,
    /// What is read of them.
    pub gives: StageOutput,
}

/// What a stage gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageOutput {
    /// The value of its only column, a constant to the rest ([`Kind::Stage`]). The root gives at most one row; more is an
    /// error.
    Value,
    /// Its rows, which [`Rel::Shared`] reads.
    Rows {
        /// Whether the statement asks for it (`MATERIALIZED`).
        is_asked: bool,
    },
    /// The first rows of a recursion. What reads them sees those of the last round.
    Seed,
    /// The rows of all rounds of a recursion.
    Rounds(Rounds),
}

/// A recursion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounds {
    /// The stage that has its first rows, of columns of the same types.
    pub seed: usize,
    /// Whether a row that was given before is left out (`UNION`).
    pub distinct: bool,
    /// At most this many rows are wanted.
    pub fetch: Option<usize>,
}

/// Reads the rows of a stage.
#[derive(Debug, Clone)]
pub struct Shared {
    /// The number of the stage.
    pub stage: usize,
    /// The number here of each column of the stage.
    pub columns: Vec<ColumnId>,
    /// At most this many rows are wanted.
    pub fetch: Option<usize>,
    /// What is known of the rows of the stage, where it was looked at.
    pub facts: Option<Arc<Facts>>,
}

impl PartialEq for Shared {
    /// What is known follows from the stage.
    fn eq(&self, other: &Self) -> bool {
        self.stage == other.stage && self.columns == other.columns && self.fetch == other.fetch
    }
}

impl Shared {
    /// The numbers here of columns of which no two rows have the same values, where some are known.
    pub fn keys(&self) -> Option<Vec<ColumnId>> {
        let keys = self.facts.as_ref()?.keys.as_ref()?;
        keys.iter().map(|place| self.columns.get(*place).copied()).collect()
    }
}

impl Stage {
    /// Whether its rows are read.
    pub fn is_shared(&self) -> bool {
        !matches!(self.gives, StageOutput::Value)
    }

    /// Whether it is a part of a recursion: its relation is not what its readers read.
    pub fn is_recursive(&self) -> bool {
        matches!(self.gives, StageOutput::Seed | StageOutput::Rounds(_))
    }

    /// The stages that it needs: those that its relation reads, and the first rows of a recursion.
    pub fn needs(&self) -> BTreeSet<usize> {
        let mut stages = self.root.stages();
        if let StageOutput::Rounds(rounds) = self.gives {
            stages.insert(rounds.seed);
        }
        stages
    }

    /// Gives the stages that it needs other numbers.
    pub fn renumber_stages(&mut self, number: &dyn Fn(usize) -> usize) {
        self.root.renumber_stages(number);
        if let StageOutput::Rounds(rounds) = &mut self.gives {
            rounds.seed = number(rounds.seed);
        }
    }
}

impl Rel {
    /// Looks at each reader of a stage's rows, those of subqueries in expressions too.
    pub fn look_at_readers(&self, visit: &mut dyn FnMut(&Shared)) {
        self.look_everywhere(&mut |rel| {
            if let Rel::Shared(reader) = rel {
                visit(reader);
            }
        });
    }

    /// Changes each reader of a stage's rows, or puts another relation in its place, in subqueries of expressions too.
    pub fn change_readers(&mut self, change: &mut dyn FnMut(&mut Shared) -> Option<Rel>) {
        if let Rel::Shared(reader) = self {
            if let Some(other) = change(reader) {
                *self = other;
            }
            return;
        }
        for e in self.exprs_mut() {
            e.change(&mut |e| {
                if let Kind::Subquery(subquery) = &mut e.kind {
                    subquery.rel.change_readers(change);
                }
            });
        }
        self.inputs_mut().into_iter().for_each(|input| input.change_readers(change));
    }

    /// The stages that it reads, of relations below it and of subqueries in expressions too.
    pub fn stages(&self) -> BTreeSet<usize> {
        let mut stages = BTreeSet::new();
        self.look_everywhere(&mut |rel| {
            if let Rel::Shared(reader) = rel {
                stages.insert(reader.stage);
            }
            for e in rel.exprs() {
                e.look(&mut |e| {
                    if let Kind::Stage(number) = e.kind {
                        stages.insert(number);
                    }
                    true
                });
            }
        });
        stages
    }

    /// Gives the stages that it reads other numbers.
    pub fn renumber_stages(&mut self, number: &dyn Fn(usize) -> usize) {
        if let Rel::Shared(reader) = self {
            reader.stage = number(reader.stage);
        }
        for e in self.exprs_mut() {
            e.change(&mut |e| match &mut e.kind {
                Kind::Stage(stage) => *stage = number(*stage),
                Kind::Subquery(subquery) => subquery.rel.renumber_stages(number),
                _ => {}
            });
        }
        self.inputs_mut().into_iter().for_each(|input| input.renumber_stages(number));
    }

    /// Looks at each relation, itself first, those of subqueries in expressions too.
    fn look_everywhere(&self, visit: &mut dyn FnMut(&Rel)) {
        visit(self);
        for e in self.exprs() {
            e.look(&mut |e| {
                if let Kind::Subquery(subquery) = &e.kind {
                    subquery.rel.look_everywhere(visit);
                }
                true
            });
        }
        self.inputs().into_iter().for_each(|input| input.look_everywhere(visit));
    }
}

impl Statement {
    /// Takes away stages that nothing reads, and numbers the others anew.
    pub fn drop_unread_stages(&mut self) {
        if self.stages.is_empty() {
            return;
        }
        let mut read = self.root.stages();
        for (number, stage) in self.stages.iter().enumerate().rev() {
            // A stage reads those before it.
            if read.contains(&number) {
                read.extend(stage.needs());
            }
        }
        if read.len() == self.stages.len() {
            return;
        }
        let numbers: BTreeMap<usize, usize> = read.iter().enumerate().map(|(new, old)| (*old, new)).collect();
        let number = |old: usize| numbers.get(&old).copied().unwrap_or(old);
        let mut old = 0;
        self.stages.retain(|_| {
            old += 1;
            read.contains(&(old - 1))
        });
        self.stages.iter_mut().for_each(|stage| stage.renumber_stages(&number));
        self.root.renumber_stages(&number);
    }

    /// For each stage the stages whose rows or values change from round to round of the recursions that compute it.
    /// They are their seeds, and those that depend on them. Empty for a stage that is computed once.
    pub fn changing(&self) -> Vec<BTreeSet<usize>> {
        let mut changing = vec![BTreeSet::new(); self.stages.len()];
        for (number, stage) in self.stages.iter().enumerate() {
            let StageOutput::Rounds(rounds) = stage.gives else { continue };
            let mut dependent = BTreeSet::from([rounds.seed]);
            for (between, stage) in self.stages.iter().enumerate().take(number).skip(rounds.seed + 1) {
                if !stage.needs().is_disjoint(&dependent) {
                    dependent.insert(between);
                }
            }
            // The seed itself is computed once, before the rounds.
            let anew: Vec<usize> = dependent.iter().copied().filter(|other| *other != rounds.seed).collect();
            anew.into_iter().chain([number]).for_each(|stage| changing[stage].extend(&dependent));
        }
        changing
    }

    /// Whether the rows of a stage are read.
    pub fn has_shared(&self) -> bool {
        self.stages.iter().any(Stage::is_shared)
    }
}
