//! The static partition of a table: the splits that one process scans unless another process steals them.
//!
//! A process scans the splits that begin in its part of the bytes of all files. Splits of a csv file are the exception,
//! because a quote may be open where a split begins. They are assigned one by one, see
//! [`assignment`](super::assignment). Each process tells the others what its csv splits do to the state of quotes.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use formats::format::{Format, Found, Morsel, Part};
use queries::plan::NodeId;
use timely::scheduling::SyncActivator;

use super::assignment::Assigner;
use super::split_range::{Quotes, SplitRange};
use super::stealing::{self, Asking, More};
use crate::distributed::processes::{Note, Topology};

/// The splits of a table that the workers of this process scan. The other processes scan the rest.
pub struct StaticPartition {
    topology: Topology,
    node: NodeId,
    /// The bytes of all files that are divided by their bytes, or the number of generated rows.
    pub total: u64,
    /// A process with fewer bytes or rows left than this keeps them.
    pub least: u64,
    /// Assigns splits one by one, if some of the table's are assigned so.
    pub dealing: Option<Assigner>,
    borders: Mutex<HashMap<usize, Known>>,
    /// The range of splits to scan, if it is not the whole table, and the known states of quotes before it.
    range: Option<(SplitRange, Vec<Quotes>)>,
    asking: Asking,
}

/// What this process knows of the morsel borders of a file.
enum Known {
    /// Other processes reported these borders before this process has cut the file.
    Early(Vec<Found>),
    /// The file is cut; this is one of its morsels.
    Cut(Morsel),
}

impl StaticPartition {
    /// The partition of a process in the scan of a plan's node.
    pub fn of(topology: Topology, node: NodeId) -> StaticPartition {
        let (borders, asking) = (Mutex::default(), Asking::default());
        StaticPartition {
            topology,
            node,
            total: 0,
            least: stealing::LEAST,
            dealing: None,
            borders,
            range: None,
            asking,
        }
    }

    /// Exactly this range of splits; `before` are the states of quotes at the morsels before it.
    pub fn of_range(range: SplitRange, before: Vec<Quotes>) -> StaticPartition {
        StaticPartition { range: Some((range, before)), ..StaticPartition::of(Topology::alone(1), 0) }
    }

    /// The number of the first file in the partition.
    pub fn first_file(&self) -> usize {
        self.range.as_ref().map_or(0, |(range, _)| range.files().start)
    }

    /// Whether the partition has no split of this file nor of the files behind it.
    pub fn ends_before(&self, file: usize) -> bool {
        self.range.as_ref().is_some_and(|(range, _)| range.files().end <= file)
    }

    /// The morsels of a file that are in the partition, where this process alone scans the table.
    pub fn keep_own(&self, format: &dyn Format, file: usize, morsels: Vec<Morsel>) -> Vec<Morsel> {
        match &self.range {
            Some((range, before)) => range.keep(format, file, morsels, before),
            None => morsels,
        }
    }

    /// The number of this process, and the number of processes.
    pub fn process(&self) -> (u64, u64) {
        let (process, processes) = self.topology.process();
        (process as u64, processes as u64)
    }

    /// The same partition with splits that are assigned one by one to the workers of all processes.
    pub fn dealing(self) -> StaticPartition {
        StaticPartition { dealing: Some(Assigner::new(self.topology.clone(), self.node)), ..self }
    }

    /// Whether there is only one process.
    pub fn is_all(&self) -> bool {
        self.topology.process().1 == 1
    }

    /// The range of bytes of this process, over all files that are divided by their bytes, before any is given away.
    pub fn own(&self) -> Range<u64> {
        let (process, processes) = self.process();
        // The first byte that is not one of an owner before this one.
        let first = |process: u64| {
            let bytes = u128::from(process) * u128::from(self.total.max(1));
            bytes.div_ceil(u128::from(processes)) as u64
        };
        first(process)..if process + 1 == processes { u64::MAX } else { first(process + 1) }
    }

    /// Whether this process can get splits from another process, once it has none left.
    pub fn more(&self, seen: &mut u64, wake: impl Fn() -> SyncActivator) -> More {
        self.asking.more(&self.topology, self.node, self.total, self.least, seen, wake)
    }

    /// Takes the range that another process gives away.
    pub fn take_over(&self, range: Range<u64>, begin: impl FnOnce(Range<u64>)) {
        self.asking.answered(range, begin);
    }

    /// Tells another process which range it gets from this one.
    pub fn tell_given(&self, process: usize, Range { start, end }: Range<u64>) {
        if let Some(processes) = &self.topology.processes {
            let (stage, node) = (self.topology.stage as u32, self.node as u32);
            processes.network.tell(process, Note::Given { stage, node, start, end });
        }
    }

    /// The morsels that begin in a range of bytes, each with its position. `before` is the position of their file.
    pub fn keep(before: u64, morsels: Vec<Morsel>, range: &Range<u64>) -> Vec<(u64, Morsel)> {
        let mut behind = before;
        let placed = morsels.into_iter().map(|morsel| {
            let at = match morsel.part {
                Part::Bytes(_) | Part::Blocks(_) | Part::Groups(_) => behind,
                // The reader of the first morsel finds the morsels behind it.
                Part::Whole | Part::Turn(_) => before,
            };
            behind += morsel.bytes;
            (at, morsel)
        });
        placed.filter(|(at, _)| range.contains(at)).collect()
    }

    /// Connects the morsel borders of a file with the other processes: they get what readers find here, and readers here get
    /// what they have reported.
    pub fn tell_borders(&self, format: &dyn Format, file: usize, morsels: &[Morsel]) {
        if let Some(first) = morsels.first()
            && let Some(borders) = format.borders(first)
        {
            let (topology, node) = (self.topology.clone(), self.node);
            borders.tell(Box::new(move |found| topology.tell_others(note(&topology, node, file, found))));
            let early = self.borders().insert(file, Known::Cut(first.clone()));
            if let Some(Known::Early(early)) = early {
                early.into_iter().for_each(|found| borders.hear(found));
            }
        }
    }

    /// Takes what a reader of another process reports of a morsel border.
    pub fn hear(&self, format: &dyn Format, file: usize, found: Found) {
        let mut borders = self.borders();
        match borders.entry(file).or_insert_with(|| Known::Early(Vec::new())) {
            Known::Early(early) => early.push(found),
            Known::Cut(morsel) => {
                if let Some(borders) = format.borders(morsel) {
                    borders.hear(found);
                }
            }
        }
    }

    fn borders(&self) -> MutexGuard<'_, HashMap<usize, Known>> {
        self.borders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn note(topology: &Topology, node: NodeId, file: usize, found: Found) -> Note {
    let (stage, node, file) = (topology.stage as u32, node as u32, file as u32);
    match found {
        Found::Quotes { morsel, states } => Note::Quotes { stage, node, file, morsel, states },
        Found::Abandoned => Note::Abandoned { stage, node, file },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::distributed::processes::{Channels, Locality, Network, Processes};

    struct Nobody;

    impl Network for Nobody {
        fn connect(&self, _stage: usize) -> crate::Result<Channels> {
            Err(crate::Error::Cancelled)
        }

        fn tell(&self, _process: usize, _note: Note) {}

        fn tell_value(&self, _stage: usize, _value: Vec<u8>) {}

        fn value(&self, _stage: usize) -> crate::Result<Vec<u8>> {
            Err(crate::Error::Cancelled)
        }
    }

    #[test]
    fn every_byte_is_read_by_one_process_and_each_reads_its_part() {
        for (total, count) in [(0, 3), (1, 2), (7, 3), (1 << 40, 5), (u64::MAX / 2, 64)] {
            let of = |index| {
                let processes = Processes {
                    index,
                    count,
                    network: Arc::new(Nobody),
                    notes: Arc::default(),
                    near: Locality::default(),
                };
                let topology = Topology { processes: Some(Arc::new(processes)), ..Topology::alone(2) };
                StaticPartition { total, ..StaticPartition::of(topology, 0) }
            };
            assert!(!of(0).is_all());
            let mut behind = 0;
            for process in 0..count {
                let own = of(process).own();
                assert_eq!(own.start, behind, "{total} {count}");
                behind = own.end;
                let bytes = own.end.min(total).saturating_sub(own.start);
                assert!(
                    bytes.abs_diff(total / count as u64) <= 1 + count as u64,
                    "{bytes} of {total} {count}"
                );
            }
            assert_eq!(behind, u64::MAX);
        }
    }
}
