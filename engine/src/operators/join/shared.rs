//! Complete build sides. Where a plan says so, the workers of a process probe each other's. Then only the rows of the
//! build side have been moved by the hash of their keys. The probe side, mostly the longer one, stays where it is.

use std::sync::{Arc, Mutex, OnceLock};

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use timely::scheduling::SyncActivator;

use super::table::Table;
use crate::dataflow::batch::batch_bytes;
use crate::error::Result;
use crate::state::hash::worker_of;

/// A complete build side, or one worker's part of it.
pub struct Built {
    /// Its rows.
    pub rows: RecordBatch,
    /// Where they are by key.
    pub table: Table,
    /// Whether a key is NULL.
    pub has_null: bool,
}

/// What a row takes in a table beside its columns. That is its key, its hash, its place in a chain and up to four heads
/// of chains.
pub const ROW_BYTES: usize = 48;

/// The parts of a build side, one for each worker that has one.
pub struct Builds {
    building: Mutex<Building>,
    complete: OnceLock<Vec<Arc<Built>>>,
}

struct Building {
    parts: Vec<Option<Arc<Built>>>,
    waiting: Vec<SyncActivator>,
}

impl Builds {
    /// Of so many parts.
    pub fn new(parts: usize) -> Arc<Builds> {
        let building = Building { parts: vec![None; parts], waiting: Vec::new() };
        Arc::new(Builds { building: Mutex::new(building), complete: OnceLock::new() })
    }

    /// Adds a part. The last one wakes whoever waits.
    pub fn add(&self, part: usize, built: Built) {
        let mut building = self.building.lock().expect("a panic with this lock ends the process");
        building.parts[part] = Some(Arc::new(built));
        if let Some(all) = building.parts.iter().cloned().collect::<Option<Vec<_>>>() {
            // Each part is added once, so that it is complete once.
            let _ = self.complete.set(all);
            for waiting in building.waiting.drain(..) {
                // An operator that is gone needs no waking.
                let _ = waiting.activate();
            }
        }
    }

    /// All parts, if they are there.
    pub fn get(&self) -> Option<&[Arc<Built>]> {
        self.complete.get().map(Vec::as_slice)
    }

    /// The bytes of the rows and their keys, about; 0 until all parts are there.
    pub fn bytes(&self) -> usize {
        let of = |built: &Arc<Built>| batch_bytes(&built.rows) + built.rows.num_rows() * ROW_BYTES;
        self.get().unwrap_or_default().iter().map(of).sum()
    }

    /// Has an operator woken once all parts are there.
    pub fn wake(&self, waiting: SyncActivator) {
        let mut building = self.building.lock().expect("a panic with this lock ends the process");
        match self.complete.get() {
            None => building.waiting.push(waiting),
            Some(_) => {
                let _ = waiting.activate();
            }
        }
    }
}

/// Which part has the keys of a hash.
pub fn part_of(hash: u64, parts: usize) -> usize {
    if parts == 1 { 0 } else { worker_of(hash, parts) }
}

/// Rows of the build side: the part of each, and its place there. With one part the parts are left out.
pub struct Picked {
    parts: Option<UInt32Array>,
    rows: UInt32Array,
}

impl Picked {
    /// These rows of `of` parts.
    pub fn new(parts: Vec<u32>, rows: Vec<u32>, of: usize) -> Picked {
        Picked { parts: (of > 1).then(|| parts.into()), rows: rows.into() }
    }

    /// So many times no row.
    pub fn nothing(count: usize) -> Picked {
        Picked { parts: None, rows: UInt32Array::new_null(count) }
    }

    /// The places within the parts.
    pub fn rows(&self) -> &UInt32Array {
        &self.rows
    }

    /// How many rows.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The places of those in the first part.
    pub fn of_first(&self) -> impl Iterator<Item = usize> {
        let parts = self.parts.as_ref();
        let rows = self.rows.values().iter().enumerate();
        rows.filter(move |(i, _)| parts.is_none_or(|p| p.value(*i) == 0)).map(|(_, row)| *row as usize)
    }

    /// Those for which `filter` says so.
    pub fn filtered(&self, filter: impl Fn(&UInt32Array) -> Result<UInt32Array>) -> Result<Picked> {
        Ok(Picked { parts: self.parts.as_ref().map(&filter).transpose()?, rows: filter(&self.rows)? })
    }

    /// Their values in a column.
    pub fn column(&self, built: &[Arc<Built>], column: usize) -> Result<ArrayRef> {
        let Some(parts) = &self.parts else {
            return Ok(take(built[0].rows.column(column), &self.rows, None)?);
        };
        let columns: Vec<&dyn Array> = built.iter().map(|b| b.rows.column(column).as_ref()).collect();
        let places = parts.values().iter().zip(self.rows.values());
        let places: Vec<(usize, usize)> = places.map(|(p, r)| (*p as usize, *r as usize)).collect();
        Ok(interleave(&columns, &places)?)
    }
}
