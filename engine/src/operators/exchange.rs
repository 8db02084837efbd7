//! Moves rows between workers. On each worker a sender partitions its rows and takes credit, and a receiver gives the
//! rows on.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::coalesce::BatchCoalescer;
use arrow_select::take::take_record_batch;
use queries::plan::{Exchange, Expr};

use super::join::hot_keys::HotKeyDetector;
use super::{evaluate_all, rows_of};
use crate::dataflow::batch::{BATCH_ROWS, ExchangeBatch, Wire, WireBytes, batch_bytes, to_take_from};
use crate::dataflow::credit::Pool;
use crate::dataflow::operator::{Operator, Pull, Wake};
use crate::distributed::processes::{Locality, Processes, Topology};
use crate::distributed::wire::{self, transfer};
use crate::error::Result;
use crate::state::hash::{comparable, hash_columns, worker_of};

/// The rows of a batch to another process, if there are few workers. Each batch wakes threads in both processes, so
/// that large batches are better.
const FAR_ROWS: usize = 4 * BATCH_ROWS;
/// With more workers than this, a sender gathers fewer rows for each worker, so that it keeps no more rows in all.
const FEW: usize = 32;

/// The bytes that a sender gathers in all, about, where rows are large.
const GATHERED: usize = 16 << 20;
const GATHERED_FOR_ONE: (usize, usize) = (256 << 10, 4 << 20);

/// The place of a sender among the workers of the query.
pub struct At {
    /// The number of its worker, over all processes.
    pub index: usize,
    /// The workers of its process.
    pub here: Range<usize>,
    /// The number of workers over all processes.
    pub peers: usize,
    /// The processes, if there are several.
    pub processes: Option<Arc<Processes>>,
}

/// Sends each row to the worker that it belongs to.
pub struct Send {
    route: Route,
    peers: usize,
    /// The workers of this process.
    here: Range<usize>,
    index: usize,
    processes: Option<Arc<Processes>>,
    pool: Arc<Pool>,
    wake: Wake,
    outgoing: VecDeque<ExchangeBatch>,
    /// Detects heavy keys. The sender gathers their rows behind the rows of all workers.
    watch: Option<HotKeyDetector>,
}

enum Route {
    Hash {
        keys: Vec<Expr>,
        gathered: Vec<Gathered>,
        hashes: Vec<u64>,
    },
    Broadcast,
    /// To worker 0. With `waits`, worker 0 waits for the next rows of each worker, so that each sender says when it has
    /// no more.
    ToFirst {
        waits: Option<SchemaRef>,
    },
}

/// Rows that wait until there are enough of them for one worker.
struct Gathered {
    rows: BatchCoalescer,
    /// The bytes of the rows, about.
    bytes: usize,
    /// The bytes at which the rows are sent.
    enough: usize,
}

impl Gathered {
    /// Gathers batches of so many rows, or of fewer rows if they are large.
    fn new(schema: SchemaRef, rows: usize, peers: usize) -> Gathered {
        let (least, most) = GATHERED_FOR_ONE;
        let enough = (GATHERED / peers).clamp(least, most);
        Gathered { rows: BatchCoalescer::new(schema, rows), bytes: 0, enough }
    }

    fn push(&mut self, rows: RecordBatch) -> Result<()> {
        self.bytes += batch_bytes(&rows);
        self.rows.push_batch(rows)?;
        if self.bytes >= self.enough { self.end() } else { Ok(()) }
    }

    /// Completes a batch of the rows that are there.
    fn end(&mut self) -> Result<()> {
        Ok(self.rows.finish_buffered_batch()?)
    }

    /// Takes the next complete batch.
    fn next(&mut self) -> Option<RecordBatch> {
        let next = self.rows.next_completed_batch()?;
        self.bytes = 0;
        Some(next)
    }
}

impl Send {
    /// A sender of batches of `schema`.
    pub fn new(exchange: &Exchange, schema: &SchemaRef, at: At, pool: Arc<Pool>, wake: Wake) -> Send {
        let At { peers, here, index, processes } = at;
        let far_rows = (FAR_ROWS * FEW / peers).clamp(BATCH_ROWS, FAR_ROWS);
        let rows = |target: usize| if here.contains(&target) { BATCH_ROWS } else { far_rows };
        let route = match exchange {
            Exchange::Hash(keys) => Route::Hash {
                keys: keys.clone(),
                gathered: (0..peers).map(|to| Gathered::new(schema.clone(), rows(to), peers)).collect(),
                hashes: Vec::new(),
            },
            Exchange::Broadcast => Route::Broadcast,
            Exchange::Gather => Route::ToFirst { waits: None },
            Exchange::InOrder | Exchange::Merge { .. } => Route::ToFirst { waits: Some(schema.clone()) },
        };
        let outgoing = VecDeque::new();
        Send { route, peers, here, index, processes, pool, wake, outgoing, watch: None }
    }

    /// Keeps the rows of heavy keys in this process.
    pub fn watching(mut self, watch: Option<HotKeyDetector>) -> Send {
        if let Route::Hash { gathered, .. } = &mut self.route
            && watch.is_some()
        {
            let schema = gathered[self.index].rows.schema();
            gathered.push(Gathered::new(schema, BATCH_ROWS, self.peers));
            self.watch = watch;
        }
        self
    }

    fn queue(&mut self, target: usize, batch: RecordBatch) {
        let target = match &mut self.watch {
            Some(watch) if target == self.peers => watch.deal(),
            _ => target,
        };
        let (target, source) = (target as u32, self.index as u32);
        self.outgoing.push_back(ExchangeBatch { target, source, ..ExchangeBatch::from(batch) });
    }

    fn queue_for_all(&mut self, batch: &RecordBatch) -> Result<()> {
        let elsewhere = (0..self.peers).any(|target| !self.here.contains(&target));
        let bytes = if elsewhere { Some(encode(batch)?) } else { None };
        for target in 0..self.peers {
            self.queue(target, batch.clone());
            if !self.here.contains(&target)
                && let Some(given) = self.outgoing.back_mut()
            {
                given.wire.clone_from(&bytes);
            }
        }
        Ok(())
    }
}

fn encode(batch: &RecordBatch) -> Result<Wire> {
    let bytes = wire::encode(batch)?;
    let owed = bytes.len() as u64;
    Ok(Wire { rows: batch.num_rows() as u32, owed, bytes: WireBytes::Made(Arc::new(bytes)) })
}

/// Prepares a batch for one process. If the process can read this one's memory (`locality`), the batch is lent. Else
/// timely's buffer takes the bytes as they are encoded, if their number is known before.
fn encode_once(batch: &RecordBatch, locality: Option<&Locality>, process: usize) -> Result<Wire> {
    if let Some(lent) = locality.and_then(|locality| locality.lend(process, batch)) {
        return Ok(lent);
    }
    let rows = batch.num_rows() as u32;
    match wire::size(batch) {
        Some(size) => Ok(Wire { rows, owed: size as u64, bytes: WireBytes::ToMake(size) }),
        None => encode(batch),
    }
}

/// The rows for each target, in their order. With `watch`, the rows of heavy keys come behind them, because they stay
/// in this process. Rows of heavy keys that can give no result are dropped.
fn partition(
    batch: &RecordBatch,
    hashes: &[u64],
    peers: usize,
    watch: Option<&HotKeyDetector>,
) -> Result<Vec<RecordBatch>> {
    let targets = peers + usize::from(watch.is_some());
    let mut rows: Vec<Vec<u32>> =
        (0..targets).map(|_| Vec::with_capacity(hashes.len() / peers + 16)).collect();
    for (row, hash) in hashes.iter().enumerate() {
        match watch {
            Some(watch) if watch.keeps(*hash) && watch.drops() => {}
            Some(watch) if watch.keeps(*hash) => rows[peers].push(row as u32),
            _ => rows[worker_of(*hash, peers)].push(row as u32),
        }
    }
    let batch = to_take_from(batch);
    rows.into_iter().map(|rows| Ok(take_record_batch(&batch, &UInt32Array::from(rows))?)).collect()
}

impl Operator for Send {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        if given.begins.is_some() {
            self.outgoing.push_back(ExchangeBatch { source: self.index as u32, ..given });
            return Ok(());
        }
        let batch = rows_of(&given).clone();
        let peers = self.peers;
        match &mut self.route {
            Route::ToFirst { .. } => self.queue(0, batch),
            Route::Broadcast => self.queue_for_all(&batch)?,
            Route::Hash { .. } if peers == 1 => self.queue(0, batch),
            Route::Hash { keys, gathered, hashes } => {
                let columns: Vec<_> = evaluate_all(keys, &batch)?.into_iter().map(comparable).collect();
                hash_columns(&columns, batch.num_rows(), hashes)?;
                if let Some(watch) = &mut self.watch {
                    watch.see(hashes, &columns)?;
                }
                let mut full = Vec::new();
                for (target, rows) in
                    partition(&batch, hashes, peers, self.watch.as_ref())?.into_iter().enumerate()
                {
                    if rows.num_rows() > 0 {
                        gathered[target].push(rows)?;
                    }
                    while let Some(batch) = gathered[target].next() {
                        full.push((target, batch));
                    }
                }
                full.into_iter().for_each(|(target, batch)| self.queue(target, batch));
            }
        }
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        let mut last = Vec::new();
        match &mut self.route {
            Route::Hash { gathered, .. } => {
                for (target, rows) in gathered.iter_mut().enumerate() {
                    rows.end()?;
                    while let Some(batch) = rows.next() {
                        last.push((target, batch));
                    }
                }
            }
            Route::ToFirst { waits: Some(schema) } => {
                let (source, batch) = (self.index as u32, RecordBatch::new_empty(schema.clone()));
                self.outgoing.push_back(ExchangeBatch { source, last: true, ..ExchangeBatch::from(batch) });
            }
            Route::ToFirst { waits: None } | Route::Broadcast => {}
        }
        last.into_iter().for_each(|(target, batch)| self.queue(target, batch));
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        let Some(next) = self.outgoing.front_mut() else { return Ok(Pull::Empty) };
        if self.here.contains(&(next.target as usize)) {
            let bytes = batch_bytes(rows_of(next));
            let Some(credit) = self.pool.take(bytes, || self.wake.sync()) else { return Ok(Pull::Blocked) };
            next.credit = Some(credit);
        } else {
            let wire = match &mut next.wire {
                Some(wire) => wire,
                None => {
                    let batch = next.batch.as_ref().expect("it is one's own given");
                    let locality = self.processes.as_ref().map(|processes| &processes.near);
                    let process = next.target as usize / self.here.len();
                    next.wire.insert(encode_once(batch, locality, process)?)
                }
            };
            if !self.pool.take_to_be_given(wire.owed as usize, || self.wake.sync()) {
                return Ok(Pull::Blocked);
            }
        }
        Ok(self.outgoing.pop_front().map_or(Pull::Empty, Pull::Batch))
    }

    fn takes_beginnings(&self) -> bool {
        true
    }
}

/// Hands the batches of other workers to the operator above. Their credit goes along.
pub struct Receive {
    schema: SchemaRef,
    topology: Topology,
    waiting: VecDeque<ExchangeBatch>,
}

impl Receive {
    /// A receiver of batches of `schema`.
    pub fn new(schema: SchemaRef, topology: Topology) -> Receive {
        Receive { schema, topology, waiting: VecDeque::new() }
    }

    fn decode(&self, source: u32, bytes: &[u8]) -> Result<RecordBatch> {
        match &self.topology.processes {
            Some(processes) if transfer::number(bytes).is_some() => {
                processes.near.read(source as usize / self.topology.workers, bytes, &self.schema)
            }
            _ => wire::decode(bytes, &self.schema),
        }
    }
}

impl Operator for Receive {
    fn push(&mut self, _port: usize, mut given: ExchangeBatch) -> Result<()> {
        let Some(wire) = given.wire.take() else {
            self.waiting.push_back(given);
            return Ok(());
        };
        if given.last && wire.rows == 0 {
            given.batch = Some(RecordBatch::new_empty(self.schema.clone()));
            self.waiting.push_back(given);
            return Ok(());
        }
        let batch = self.decode(given.source, wire.bytes())?;
        if batch.num_rows() > 0 {
            self.waiting.push_back(ExchangeBatch { batch: Some(batch), ..given });
        }
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        // A few bytes may hold many rows without columns. They are cut into batches when they are pulled.
        if let Some(first) = self.waiting.front_mut()
            && let Some(batch) = first.batch.take_if(|batch| batch.num_rows() > BATCH_ROWS)
        {
            first.batch = Some(batch.slice(BATCH_ROWS, batch.num_rows() - BATCH_ROWS));
            // The credit comes back when the last of these batches is dropped.
            return Ok(Pull::Batch(ExchangeBatch {
                batch: Some(batch.slice(0, BATCH_ROWS)),
                ..first.clone()
            }));
        }
        Ok(self.waiting.pop_front().map_or(Pull::Empty, Pull::Batch))
    }

    fn takes_beginnings(&self) -> bool {
        true
    }
}
