//! Heavy keys. Both sides of a join may be spread by the hash of their keys. If many probe rows have one key, all of
//! these would go to one worker. The other workers keep theirs, and get the key's build rows from it (Rödiger, Idicula,
//! Kemper, Neumann: Flow-Join, 2016).
//!
//! In Flow-Join heavy keys are found among the first rows, and what is done with them is decided before others are
//! sent. Here each sender asks for the build rows of a key when it finds it heavy, and goes on as before until they are
//! there. Each probe row still meets all build rows of its key in one place. So nothing is decided for all, and no
//! sender waits.
//!
//! Where build rows are given at the end, their worker has to know which of them have met their like. This includes
//! matches among the rows that stay elsewhere. The worker is asked with the key of a probe row. All build rows of that
//! key have met one, if nothing but the key decides, and the worker gives them away only then. A hash that build rows of several keys
//! have is not given away.
//!
//! Workers of one process probe each other's tables; rows go to other processes as notes.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{Field, Schema, SchemaRef};
use arrow_select::take::take_record_batch;
use datafusion_common::NullEquality;
use foldhash::fast::FixedState;
use queries::plan::{Expr, Join, NodeId, Side};

use super::super::evaluate_all;
use super::semantics::JoinSemantics;
use super::shared::Built;
use super::table::Table;
use crate::context::memory;
use crate::dataflow::batch::{BATCH_ROWS, batch_bytes, batch_of};
use crate::distributed::processes::{Note, Topology, Wanted};
use crate::distributed::raw::Raw;
use crate::distributed::wire;
use crate::error::{Error, Result};
use crate::state::hash::{comparable, worker_of};

/// The most bytes of the build rows of one key that go to another process. A probe row that meets more gives so many
/// rows that sending it costs little beside.
const KEY_BYTES: usize = 4 << 20;
/// The most rows: as many as a join gives at once.
const KEY_ROWS: usize = BATCH_ROWS;
/// The most bytes of the build rows of all keys that come to a process; those on their way may be more.
const ALL_BYTES: usize = 32 << 20;
/// The most keys that a process asks for, and that wait for the end of a build side.
const KEYS: usize = 4096;

/// The build rows of heavy keys that a process has of other processes, and what its workers give to those.
pub struct Replicas {
    site: Topology,
    node: NodeId,
    schema: SchemaRef,
    keys: Vec<Expr>,
    /// The columns of a key, in the form in which they are compared.
    key_schema: SchemaRef,
    equal_nulls: bool,
    gives: JoinSemantics,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// What this process's workers have built.
    parts: Vec<Option<Arc<Built>>>,
    /// What others have asked for before that.
    waiting: Vec<Wanted>,
    /// Hashes of this process's workers whose build rows have met their like among rows that stay elsewhere.
    met: HashSet<u64, FixedState>,
    /// By hash; none where the rows were asked for and are not here.
    replicas: HashMap<u64, Option<Arc<Built>>, FixedState>,
    /// The bytes of those that came.
    bytes: usize,
    /// How many workers of this process have had their last probe row.
    left: usize,
}

impl Replicas {
    /// For a join with this number and build rows of `schema`.
    ///
    /// # Errors
    /// Keys that can't be computed of no rows either.
    pub fn new(join: &Join, schema: SchemaRef, node: NodeId, site: Topology) -> Result<Arc<Replicas>> {
        let on = join.on.iter().cloned();
        let keys: Vec<Expr> =
            on.map(|(left, right)| if join.build == Side::Left { left } else { right }).collect();
        let no_keys = key_columns(&keys, &RecordBatch::new_empty(schema.clone()))?;
        let field = |column: &ArrayRef| Field::new("key", column.data_type().clone(), true);
        let key_schema = Arc::new(Schema::new(no_keys.iter().map(field).collect::<Vec<_>>()));
        let gives = JoinSemantics::new(join.kind, join.build);
        let equal_nulls = join.null_equality == NullEquality::NullEqualsNull;
        let inner = Inner { parts: vec![None; site.workers], ..Inner::default() };
        let inner = Mutex::new(inner);
        Ok(Arc::new(Replicas { site, node, schema, keys, key_schema, equal_nulls, gives, inner }))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number within this process of the worker that has the build rows of a hash, if it is one of this process.
    fn owner_here(&self, hash: u64) -> Option<usize> {
        let (owner, here) = (worker_of(hash, self.site.peers()), self.site.here());
        here.contains(&owner).then(|| owner - here.start)
    }

    /// Takes what a worker of this process has built, and gives rows of it to whoever waits for them.
    pub fn publish(&self, worker: usize, built: &Arc<Built>) -> Result<()> {
        let worker = worker - self.site.here().start;
        let mut inner = self.inner();
        inner.parts[worker] = Some(built.clone());
        let waiting = std::mem::take(&mut inner.waiting);
        let (now, later) = waiting.into_iter().partition(|w| self.owner_here(w.hash) == Some(worker));
        inner.waiting = later;
        drop(inner);
        Vec::into_iter(now).try_for_each(|wanted| self.tell(built, &wanted))
    }

    /// Whether rows of heavy keys give nothing, once it is known that there is one.
    pub fn drops(&self) -> bool {
        !self.gives.probe_rows()
    }

    /// Whether the build rows of a heavy key are here. If not, they are asked for, with the key of a probe row that has
    /// this hash, if there is one at hand.
    ///
    /// # Errors
    /// A key that can't be compared or encoded.
    pub fn want(&self, hash: u64, key: impl FnOnce() -> Option<Vec<ArrayRef>>) -> Result<bool> {
        let mut inner = self.inner();
        if let Some(replica) = inner.replicas.get(&hash) {
            return Ok(replica.is_some());
        }
        if let Some(worker) = self.owner_here(hash) {
            let Some(part) = inner.parts[worker].clone() else { return Ok(false) };
            let Some(key) = key() else { return Ok(false) };
            let is_met = self.meet(&mut inner, &part, hash, key)?;
            inner.replicas.insert(hash, is_met.then_some(part));
            return Ok(is_met);
        }
        let is_full = inner.replicas.len() >= KEYS || inner.bytes >= ALL_BYTES;
        let Some(processes) = self.site.processes.as_ref().filter(|_| !is_full && !memory::is_scarce())
        else {
            return Ok(false);
        };
        let Some(key) = key() else { return Ok(false) };
        inner.replicas.insert(hash, None);
        let key = Raw(wire::encode(&batch_of(&self.key_schema, key, 1)?)?);
        // Build rows of a longer key are not given away either.
        if key.0.len() <= KEY_BYTES {
            let (stage, node) = (self.site.stage as u32, self.node as u32);
            let note = Note::Wanted { stage, node, hash, key, process: processes.index as u32 };
            processes.network.tell(worker_of(hash, self.site.peers()) / self.site.workers, note);
        }
        Ok(false)
    }

    /// Build rows meet a probe row of this key, which has this hash; false if others than these have the hash too.
    fn meet(&self, inner: &mut Inner, built: &Built, hash: u64, key: Vec<ArrayRef>) -> Result<bool> {
        let key = built.table.probe_keys(key, 1, &mut Vec::new())?;
        let is_met = built.table.has_only(&key, 0, hash);
        if is_met && self.gives.build_rows() {
            inner.met.insert(hash);
        }
        Ok(is_met)
    }

    /// The rows of worker `index`, which has built `own`, that have met their like among rows that stay elsewhere.
    pub fn met(&self, own: &Built, index: usize) -> impl Iterator<Item = u32> {
        let (met, peers) = (self.inner().met.clone(), self.site.peers());
        let own_hashes = met.into_iter().filter(move |hash| worker_of(*hash, peers) == index);
        own_hashes.flat_map(|hash| own.table.of_hash(hash, usize::MAX))
    }

    /// Gives build rows to a process that asks for them, now or when they are complete.
    ///
    /// # Errors
    /// Bytes that are no key, and rows that can't be encoded.
    pub fn give(&self, wanted: Wanted) -> Result<()> {
        let Some(worker) = self.owner_here(wanted.hash) else { return Ok(()) };
        let mut inner = self.inner();
        let Some(built) = inner.parts[worker].clone() else {
            if inner.waiting.len() < KEYS {
                inner.waiting.push(wanted);
            }
            return Ok(());
        };
        drop(inner);
        self.tell(&built, &wanted)
    }

    /// Tells a process the build rows of a hash, if they are not too many: without an answer it goes on sending rows.
    fn tell(&self, built: &Built, wanted: &Wanted) -> Result<()> {
        let hash = wanted.hash;
        // Rows that give nothing need no rows to meet.
        let rows = if self.drops() { vec![] } else { built.table.of_hash(hash, KEY_ROWS) };
        let Some(processes) = self.site.processes.as_ref().filter(|_| rows.len() <= KEY_ROWS) else {
            return Ok(());
        };
        let key = wire::decode(&wanted.key, &self.key_schema)?;
        if key.num_rows() != 1 {
            return Err(Error::Wire("not one key of a probe row".into()));
        }
        if !self.meet(&mut self.inner(), built, hash, key.columns().to_vec())? {
            return Ok(());
        }
        let rows = take_record_batch(&built.rows, &UInt32Array::from(rows))?;
        if batch_bytes(&rows) <= KEY_BYTES {
            let (stage, node, rows) = (self.site.stage as u32, self.node as u32, Raw(wire::encode(&rows)?));
            processes.network.tell(wanted.process, Note::Replica { stage, node, hash, rows });
        }
        Ok(())
    }

    /// Takes build rows from another process.
    ///
    /// # Errors
    /// Bytes that are no rows of the build side, or more than are sent; memory that runs out.
    pub fn take(&self, hash: u64, rows: &[u8]) -> Result<()> {
        if !matches!(self.inner().replicas.get(&hash), Some(None)) {
            return Ok(());
        }
        let rows = wire::decode(rows, &self.schema)?;
        if rows.num_rows() > KEY_ROWS {
            return Err(Error::Wire("more build rows of a key than are sent".into()));
        }
        let (bytes, count) = (batch_bytes(&rows), rows.num_rows());
        memory::check(bytes + count * 48, || "join (heavy keys)".into())?;
        let built = Arc::new(self.build(rows)?);
        let mut inner = self.inner();
        if let Some(replica) = inner.replicas.get_mut(&hash) {
            *replica = Some(built);
            inner.bytes += bytes + count * 48;
        }
        Ok(())
    }

    fn build(&self, rows: RecordBatch) -> Result<Built> {
        let columns = key_columns(&self.keys, &rows)?;
        let has_null = columns.iter().any(|c| c.logical_null_count() > 0);
        let table = Table::new(columns, rows.num_rows(), self.equal_nulls)?;
        Ok(Built { rows, table, has_null })
    }

    /// What the probe rows of these hashes meet on worker `index`, which has built `own`. These are the parts, and for
    /// each row which of them, if that is not always `own`.
    ///
    /// # Errors
    /// A row that its sender was to send to another worker.
    pub fn parts(&self, own: &Arc<Built>, index: usize, hashes: &[u64]) -> Result<Parts> {
        let peers = self.site.peers();
        let is_own = |hash: &u64| worker_of(*hash, peers) == index;
        let mut built = vec![own.clone()];
        if hashes.iter().all(is_own) {
            return Ok((built, None));
        }
        let (inner, mut numbers) = (self.inner(), HashMap::<u64, u32, FixedState>::default());
        let mut part = |hash: &u64| -> Result<u32> {
            if is_own(hash) {
                return Ok(0);
            }
            if let Some(number) = numbers.get(hash) {
                return Ok(*number);
            }
            let replica = inner.replicas.get(hash).and_then(Clone::clone);
            built.push(replica.ok_or_else(|| Error::Wire("a row that is another worker's".into()))?);
            numbers.insert(*hash, built.len() as u32 - 1);
            Ok(built.len() as u32 - 1)
        };
        let parts = hashes.iter().map(&mut part).collect::<Result<_>>()?;
        Ok((built, Some(parts)))
    }

    /// A worker of this process has had its last probe row. Once all have, no other worker has one for them either.
    pub fn leave(&self) {
        let mut inner = self.inner();
        inner.left += 1;
        if inner.left == self.site.workers {
            inner.replicas.clear();
            inner.parts.iter_mut().for_each(|part| *part = None);
        }
    }

    /// The bytes that each worker has of what came, about.
    pub fn kept(&self) -> usize {
        self.inner().bytes / self.site.workers
    }
}

fn key_columns(keys: &[Expr], rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
    Ok(evaluate_all(keys, rows)?.into_iter().map(comparable).collect())
}

/// Parts of the build side, and for each probe row which of them it meets.
pub type Parts = (Vec<Arc<Built>>, Option<Vec<u32>>);

#[cfg(test)]
mod tests;
