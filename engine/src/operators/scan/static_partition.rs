//! Which part of a table a process reads, and what it tells others of it.
//!
//! Of files that can be cut into parts that are read apart a process reads those parts that begin in its share of the
//! bytes of all such files. The parts of a csv file can't be read apart, for a quote may be open where one begins; they
//! are dealt one by one, see [`assignment`](super::assignment), and each process tells the others what its parts do to quotes.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use formats::format::{Format, Found, Morsel, Part};
use queries::plan::NodeId;
use timely::scheduling::SyncActivator;

use super::assignment::Assigner;
use super::split_range::{Quotes, Stretch};
use super::stealing::{self, Asking, More};
use crate::distributed::processes::{Note, Topology};

/// The part of a table that the workers of this process read. Other processes read the rest.
pub struct StaticPartition {
    site: Topology,
    node: NodeId,
    /// Bytes of all files that are dealt by their bytes, or the rows of a made table.
    pub total: u64,
    /// A process with less of that left than this keeps it.
    pub least: u64,
    /// Deals parts one by one, if any are.
    pub dealing: Option<Assigner>,
    borders: Mutex<HashMap<usize, Known>>,
    /// What of the table is read, if not all, and what is known of the quotes before it.
    stretch: Option<(Stretch, Vec<Quotes>)>,
    asking: Asking,
}

/// What is known of the borders of a file.
enum Known {
    /// It was not cut yet; this was heard.
    Early(Vec<Found>),
    /// One of its morsels.
    Cut(Morsel),
}

impl StaticPartition {
    /// That of a process in the scan of a node.
    pub fn of(site: Topology, node: NodeId) -> StaticPartition {
        let (borders, asking) = (Mutex::default(), Asking::default());
        StaticPartition {
            site,
            node,
            total: 0,
            least: stealing::LEAST,
            dealing: None,
            borders,
            stretch: None,
            asking,
        }
    }

    /// A stretch of a table, before which so much is known of quotes.
    pub fn of_stretch(stretch: Stretch, before: Vec<Quotes>) -> StaticPartition {
        StaticPartition { stretch: Some((stretch, before)), ..StaticPartition::of(Topology::alone(1), 0) }
    }

    /// The first file of which something is read.
    pub fn first_file(&self) -> usize {
        self.stretch.as_ref().map_or(0, |(stretch, _)| stretch.files().start)
    }

    /// Whether nothing is read of a file, nor of those behind it.
    pub fn ends_before(&self, file: usize) -> bool {
        self.stretch.as_ref().is_some_and(|(stretch, _)| stretch.files().end <= file)
    }

    /// Keeps of the morsels of a file of which this process alone decides those that are read.
    pub fn keep_own(&self, format: &dyn Format, file: usize, morsels: Vec<Morsel>) -> Vec<Morsel> {
        match &self.stretch {
            Some((stretch, before)) => stretch.keep(format, file, morsels, before),
            None => morsels,
        }
    }

    /// This process, and how many there are.
    pub fn process(&self) -> (u64, u64) {
        let (process, processes) = self.site.process();
        (process as u64, processes as u64)
    }

    /// Deals parts one by one to the workers of all processes.
    pub fn dealing(self) -> StaticPartition {
        StaticPartition { dealing: Some(Assigner::new(self.site.clone(), self.node)), ..self }
    }

    /// Whether there is one process.
    pub fn is_all(&self) -> bool {
        self.site.process().1 == 1
    }

    /// The bytes, of all files that are dealt by their bytes, that this process reads, but for what is given away.
    pub fn own(&self) -> Range<u64> {
        let (process, processes) = self.process();
        // The first byte that is not one of an owner before this one.
        let first = |process: u64| {
            let bytes = u128::from(process) * u128::from(self.total.max(1));
            bytes.div_ceil(u128::from(processes)) as u64
        };
        first(process)..if process + 1 == processes { u64::MAX } else { first(process + 1) }
    }

    /// What of a table is to be read once this process has done its own part.
    pub fn more(&self, seen: &mut u64, wake: impl Fn() -> SyncActivator) -> More {
        self.asking.more(&self.site, self.node, self.total, self.least, seen, wake)
    }

    /// Takes what another process gives of its own part.
    pub fn take_over(&self, stretch: Range<u64>, begin: impl FnOnce(Range<u64>)) {
        self.asking.answered(stretch, begin);
    }

    /// Tells another process what it is given.
    pub fn tell_given(&self, process: usize, Range { start, end }: Range<u64>) {
        if let Some(processes) = &self.site.processes {
            let (stage, node) = (self.site.stage as u32, self.node as u32);
            processes.network.tell(process, Note::Given { stage, node, start, end });
        }
    }

    /// Keeps of the morsels of a file that is dealt by its bytes those of a stretch; with each, where it lies.
    pub fn keep(before: u64, morsels: Vec<Morsel>, stretch: &Range<u64>) -> Vec<(u64, Morsel)> {
        let mut behind = before;
        let placed = morsels.into_iter().map(|morsel| {
            let at = match morsel.part {
                Part::Bytes(_) | Part::Blocks(_) | Part::Groups(_) => behind,
                // What comes behind is found by whoever reads it.
                Part::Whole | Part::Turn(_) => before,
            };
            behind += morsel.bytes;
            (at, morsel)
        });
        placed.filter(|(at, _)| stretch.contains(at)).collect()
    }

    /// Has what the readers of a file's morsels find here told to the others, and what they have told heard.
    pub fn tell_borders(&self, format: &dyn Format, file: usize, morsels: &[Morsel]) {
        if let Some(first) = morsels.first()
            && let Some(borders) = format.borders(first)
        {
            let (site, node) = (self.site.clone(), self.node);
            borders.tell(Box::new(move |found| site.tell_others(note(&site, node, file, found))));
            let early = self.borders().insert(file, Known::Cut(first.clone()));
            if let Some(Known::Early(early)) = early {
                early.into_iter().for_each(|found| borders.hear(found));
            }
        }
    }

    /// Takes what a reader in another process has found at a border of a file.
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

fn note(site: &Topology, node: NodeId, file: usize, found: Found) -> Note {
    let (stage, node, file) = (site.stage as u32, node as u32, file as u32);
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
                let site = Topology { processes: Some(Arc::new(processes)), ..Topology::alone(2) };
                StaticPartition { total, ..StaticPartition::of(site, 0) }
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
