//! Split assignment: splits whose readers wait for each other go one by one to the workers of all processes.
//!
//! The reader of a csv split waits until all splits before it have been looked at. A quote may be open where the split
//! begins. A worker looks at a split as soon as it has it. So no reader waits for long, as long as workers take the
//! first splits first. What a process does with the rows of a split must not hold up the others.
//!
//! The splits of all such files are numbered, and process 0 assigns them (`docs/decisions/0020`):
//! - A process gets the splits of its turn. They are the same in each query, so they lie in its memory from the last one.
//! - If the next one of its turn is too far ahead of the first split left, it gets that one instead.
//! - A worker whose reader waits asks for a split before its own that nobody has taken, and scans it meanwhile.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use formats::format::Morsel;
use queries::plan::NodeId;
use timely::scheduling::SyncActivator;

use super::files::{Files, MORSEL_BYTES};
use super::prefetch::{FileSplit, Window};
use super::static_partition::StaticPartition;
use crate::distributed::processes::{Note, Processes, Topology};
use crate::error::Result;

/// The process that assigns splits.
const ASSIGNER: usize = 0;

/// The answer to a worker that asks for a split.
#[derive(Debug, PartialEq, Eq)]
pub enum Assigned<T> {
    /// It gets this split.
    Part(T),
    /// There is no such split left.
    Nothing,
    /// Process 0 was asked. The answer wakes the worker.
    Later,
}

/// What a worker asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The next split of its process's turn, or the first one left if that is too far ahead.
    Own,
    /// The first split left, if its number is smaller than this.
    Before(u64),
}

/// Assigns splits in process 0, and asks process 0 in the others.
pub struct Assigner {
    topology: Topology,
    node: NodeId,
    next: Mutex<Next>,
    /// The questions of workers of this process, by worker.
    asked: Mutex<HashMap<usize, Asked>>,
}

enum Asked {
    Waiting(SyncActivator),
    Answered(Option<u64>),
}

/// The next split of each process's turn.
struct Next {
    parts: Vec<u64>,
    /// A turn goes on while it is fewer splits than this ahead of the first one left.
    slack: u64,
}

impl Next {
    fn of(topology: &Topology) -> Next {
        let (_, processes) = topology.process();
        Next { parts: (0..processes as u64).collect(), slack: topology.peers() as u64 }
    }

    /// The number of the split that a process gets.
    fn assign(&mut self, process: usize, wanted: Wanted) -> Option<u64> {
        let own = *self.parts.get(process)?;
        let (first, left) = self.parts.iter().copied().enumerate().min_by_key(|(_, part)| *part)?;
        let turn = match wanted {
            Wanted::Own if own < left + self.slack => process,
            Wanted::Before(part) if left >= part => return None,
            Wanted::Own | Wanted::Before(_) => first,
        };
        let part = self.parts[turn];
        self.parts[turn] += self.parts.len() as u64;
        Some(part)
    }
}

impl Assigner {
    /// In the scan of a node.
    pub fn new(topology: Topology, node: NodeId) -> Assigner {
        Assigner { next: Mutex::new(Next::of(&topology)), asked: Mutex::default(), topology, node }
    }

    fn next(&self) -> MutexGuard<'_, Next> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<usize, Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(
        &self,
        processes: &Processes,
        process: usize,
        worker: usize,
        note: impl Fn(u32, u32, u32) -> Note,
    ) {
        processes.network.tell(process, note(self.topology.stage as u32, self.node as u32, worker as u32));
    }

    /// Asks for a split for a worker, and gives its number. After [`Assigned::Later`] the worker asks again once it is woken.
    pub fn ask(&self, worker: usize, wanted: Wanted, wake: impl Fn() -> SyncActivator) -> Assigned<u64> {
        let Some(processes) = &self.topology.processes else { return Assigned::Nothing };
        if processes.index == ASSIGNER {
            return self.next().assign(ASSIGNER, wanted).map_or(Assigned::Nothing, Assigned::Part);
        }
        let mut asked = self.asked();
        match asked.remove(&worker) {
            Some(Asked::Answered(part)) => return part.map_or(Assigned::Nothing, Assigned::Part),
            Some(waiting) => drop(asked.insert(worker, waiting)),
            None => {
                asked.insert(worker, Asked::Waiting(wake()));
                let before = match wanted {
                    Wanted::Own => None,
                    Wanted::Before(part) => Some(part),
                };
                self.tell(processes, ASSIGNER, worker, |stage, node, worker| Note::Wants {
                    stage,
                    node,
                    worker,
                    before,
                });
            }
        }
        Assigned::Later
    }

    /// Answers a worker of another process.
    pub fn answer(&self, worker: usize, before: Option<u64>) {
        let (process, wanted) = (worker / self.topology.workers, before.map_or(Wanted::Own, Wanted::Before));
        if let Some(processes) = &self.topology.processes
            && process < processes.count
        {
            let part = self.next().assign(process, wanted);
            self.tell(processes, process, worker, |stage, node, worker| Note::Assigned {
                stage,
                node,
                worker,
                part,
            });
        }
    }

    /// Takes the answer for a worker of this process.
    pub fn answered(&self, worker: usize, part: Option<u64>) {
        if let Some(asked) = self.asked().get_mut(&worker)
            && let Asked::Waiting(waiting) = std::mem::replace(asked, Asked::Answered(part))
        {
            // A worker that is gone needs no waking.
            let _ = waiting.activate();
        }
    }
}

/// The splits that are assigned one by one, by their numbers. Files are cut as far as a number asks for it.
#[derive(Default)]
pub struct Numbered {
    parts: Vec<Morsel>,
    /// Files before this one have been cut.
    file: usize,
    /// Splits of this process's turn before this one have been prefetched.
    ahead: u64,
}

impl Numbered {
    /// The split of a number, if there are so many.
    ///
    /// # Errors
    /// A file that can't be cut.
    pub fn part(
        &mut self,
        number: u64,
        files: &Files,
        partition: &StaticPartition,
    ) -> Result<Option<FileSplit>> {
        while self.parts.len() as u64 <= number {
            let Some(file) = files.list().get(self.file) else { return Ok(None) };
            if files.is_assigned_one_by_one(file) {
                let morsels = files.split(file)?;
                partition.tell_borders(files.format, self.file, &morsels);
                self.parts.extend(morsels);
            }
            self.file += 1;
        }
        let part = self.parts.get(number as usize);
        Ok(part.map(|morsel| FileSplit::assigned(morsel.clone(), number)))
    }

    /// The splits of a process's turn behind a number that have come into the window, to be prefetched now.
    pub fn soon(&mut self, number: u64, window: Window, (process, processes): (u64, u64)) -> Vec<FileSplit> {
        let following = (number / processes + 1) * processes + process;
        let end = following + window.bytes() / MORSEL_BYTES * processes;
        let Range { start, end } = self.ahead.max(following)..end;
        self.ahead = self.ahead.max(end);
        let numbers = (start..end).step_by(processes as usize);
        let part = |number| Some(FileSplit::assigned(self.parts.get(number as usize)?.clone(), number));
        numbers.filter_map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(processes: u64, slack: u64) -> Next {
        Next { parts: (0..processes).collect(), slack }
    }

    #[test]
    fn processes_that_keep_pace_get_those_of_their_turn() {
        let mut next = next(3, 3);
        for round in 0..5 {
            for process in [2, 0, 1] {
                assert_eq!(next.assign(process, Wanted::Own), Some(round * 3 + process as u64));
            }
        }
    }

    #[test]
    fn who_is_ahead_gets_what_others_have_left() {
        let mut next = next(2, 2);
        let dealt: Vec<_> = (0..6).map(|_| next.assign(0, Wanted::Own).unwrap()).collect();
        assert_eq!(dealt, [0, 2, 1, 4, 3, 6]);
        assert_eq!(next.assign(1, Wanted::Own), Some(5));
        assert_eq!(next.assign(1, Wanted::Before(7)), None);
        assert_eq!(next.assign(1, Wanted::Before(8)), Some(7));
        assert_eq!(next.assign(9, Wanted::Own), None);
    }
}
