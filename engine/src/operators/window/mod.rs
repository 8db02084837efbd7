//! Functions over windows. The rows of a partition come one behind the other, in the order of the window. Each row goes
//! on as it is, with the results behind its columns.
//!
//! Rows wait until all functions know their results. How long that is depends on how far each one sees ([`Reach`]):
//!
//! - Ranks, running sums, `lag` and frames of some rows see a bounded number of rows around a row, or its peers. They carry a
//!   state from row to row, so that no partition is ever held as a whole.
//! - Everything else sees the whole partition, which is kept until its last row has come.
//!
//! What waits lies in *pieces*, the batches as they came. Once enough rows are ready, the arguments of the pieces are
//! put together to a [`Block`]. Its rows are given a batch at a time, so that calls of `pull` stay short.
//!
//! - `changes`: where partitions and peers begin. [`block`]: rows that are evaluated together.
//! - [`frames`]: which rows a row's frame has.
//! - `ranks`, `shift`, `frame_rows`: functions that are no aggregates.
//! - `running`, `sliding`, `folds`: aggregates in typed loops; `counts`: `COUNT`. [`accumulate`]: what they add up.
//! - `whole`: aggregates of whole partitions. `tree`: any aggregate of any frame.

mod accumulate;
mod block;
mod changes;
mod counts;
mod folds;
mod frame_rows;
mod frames;
mod ranks;
mod running;
mod shift;
mod sliding;
#[cfg(test)]
mod tests;
mod tree;
mod whole;

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat;
use queries::plan::{
    AggregateFunction, Bound, Exclude, Expr, Frame, Shift, Units, Window as Plan, WindowCall, WindowFunction,
};

use super::{evaluate, rows_of};
use crate::dataflow::batch::{BATCH_ROWS, ExchangeBatch, batch_bytes, batch_of, compact};
use crate::dataflow::operator::{Operator, Pull};
use crate::error::{Error, Result};
use block::Block;
use changes::Changes;

/// A frame that reaches further counts as one of the whole partition.
const FAR: u64 = 1 << 24;

/// A block has so many rows at least, unless no more are there. Small partitions are evaluated together.
const BLOCK_ROWS: usize = 2 * BATCH_ROWS;

/// Where evaluating rows takes longer than this, fewer of them are evaluated in one call. Some aggregates of a frame
/// take a time that grows with its rows.
const LONG: Duration = Duration::from_millis(20);

/// How far a function sees from a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// So many rows before, and so many behind.
    Rows(usize, usize),
    /// To the last of the row's peers.
    Peers,
    /// All rows of the partition.
    Partition,
}

/// A function over the rows of a block.
trait Evaluator {
    /// Looks at a block, whose rows come next.
    fn prepare(&mut self, _block: &Block) -> Result<()> {
        Ok(())
    }

    /// The results of rows of the block, which are the next ones.
    fn evaluate(&mut self, block: &Block, rows: Range<usize>) -> Result<ArrayRef>;

    /// Lets go of what it keeps of the last block.
    fn release(&mut self) {}
}

/// The places of what a call reads, among the inputs of a block.
struct Inputs {
    args: Vec<usize>,
    filter: Option<usize>,
    key: Option<usize>,
    start: Option<usize>,
    end: Option<usize>,
}

/// A batch that came, and what is known of its rows.
struct Piece {
    batch: RecordBatch,
    /// The values that functions read.
    inputs: Vec<ArrayRef>,
    /// The number of its first row.
    first: u64,
    /// The rows at which partitions begin.
    partitions: Vec<u32>,
    /// By the number of keys, the rows at which peers begin; empty where nobody asks.
    peers: Vec<Vec<u32>>,
    bytes: usize,
}

impl Piece {
    fn end(&self) -> u64 {
        self.first + self.batch.num_rows() as u64
    }
}

/// The block that is being given.
struct Current {
    block: Block,
    /// The number of its first row.
    first: u64,
    /// The number behind the last row that is given.
    limit: u64,
    /// The piece that the next row is in.
    piece: usize,
}

/// Computes functions over windows.
pub struct Window {
    schema: SchemaRef,
    /// What is evaluated of each batch: the values that functions read.
    inputs: Vec<Expr>,
    calls: Vec<Box<dyn Evaluator>>,
    /// How far each call sees, and the number of its keys.
    reaches: Vec<(Reach, usize)>,
    changes: Changes,
    pieces: VecDeque<Piece>,
    /// The bytes of the pieces.
    bytes: usize,
    /// The rows that came.
    seen: u64,
    /// The rows that were given.
    given: u64,
    current: Option<Current>,
    /// The most rows that are evaluated in one call.
    at_once: usize,
    ended: bool,
}

impl Window {
    /// Computes the functions of a plan over rows of `input`; gives batches of `schema`.
    ///
    /// # Errors
    /// There is no accumulator for an aggregate.
    pub fn new(plan: &Plan, input: &SchemaRef, schema: SchemaRef) -> Result<Window> {
        let mut inputs: Vec<Expr> = Vec::new();
        let mut wanted = vec![false; plan.order.len() + 1];
        let (mut calls, mut reaches) = (Vec::with_capacity(plan.calls.len()), Vec::new());
        for (place, call) in plan.calls.iter().enumerate() {
            let field = schema.field(input.fields().len() + place);
            let own = read(call, input, &mut inputs);
            let reach = reach(call);
            if needs_peers(call) {
                wanted[call.order] = true;
            }
            calls.push(evaluator(call, own, plan, field.data_type())?);
            reaches.push((reach, call.order));
        }
        Ok(Window {
            schema,
            inputs,
            calls,
            reaches,
            changes: Changes::new(plan, wanted),
            pieces: VecDeque::new(),
            bytes: 0,
            seen: 0,
            given: 0,
            current: None,
            at_once: BATCH_ROWS,
            ended: false,
        })
    }

    /// Whether some function sees the whole partition.
    fn is_whole(&self) -> bool {
        self.reaches.iter().any(|(reach, _)| *reach == Reach::Partition)
    }

    /// The most rows before a block that are looked at again: none before whole partitions.
    fn behind(&self) -> u64 {
        if self.is_whole() {
            return 0;
        }
        let behind = self.reaches.iter().map(|(reach, _)| match reach {
            Reach::Rows(behind, _) => *behind as u64,
            Reach::Peers | Reach::Partition => 0,
        });
        behind.max().unwrap_or(0)
    }

    /// The number behind the last row whose results can be known.
    fn limit(&self) -> u64 {
        if self.ended {
            return self.seen;
        }
        let partition = self.changes.last_partition;
        let known = self.reaches.iter().map(|(reach, keys)| match reach {
            Reach::Partition => partition,
            Reach::Peers => self.changes.last_peer[*keys],
            Reach::Rows(_, ahead) => self.seen.saturating_sub(*ahead as u64),
        });
        known.min().unwrap_or(self.seen).max(partition)
    }

    /// Makes the next block, if enough rows are ready.
    fn next_block(&mut self) -> Result<bool> {
        let limit = self.limit();
        let Some(first) = self.pieces.front().map(|piece| piece.first) else { return Ok(false) };
        let ready = limit.saturating_sub(self.given);
        // What is only looked at is put together again with each block: there shall be no more of it than of rows that
        // are given.
        let enough = match self.is_whole() {
            true => ready as usize >= BLOCK_ROWS,
            false => 2 * ready >= self.seen - first,
        };
        if ready == 0 || !(enough || self.ended) {
            return Ok(false);
        }
        // Partitions that were given before may end in the first piece.
        let (first, end) = if self.is_whole() { (self.given, limit) } else { (first, self.seen) };
        let block = self.block(first, end)?;
        self.calls.iter_mut().try_for_each(|call| call.prepare(&block))?;
        let piece = self.pieces.partition_point(|piece| piece.end() <= self.given);
        self.current = Some(Current { block, first, limit, piece });
        Ok(true)
    }

    /// The rows of the pieces whose numbers are in a range.
    fn block(&self, first: u64, end: u64) -> Result<Block> {
        let rows = usize::try_from(end - first).ok().filter(|rows| u32::try_from(*rows).is_ok());
        let Some(rows) = rows else {
            return Err(Error::Unsupported("a window over more than 4 billion rows of one partition".into()));
        };
        let pieces = self.pieces.iter().filter(|piece| piece.end() > first && piece.first < end);
        let pieces: Vec<&Piece> = pieces.collect();
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for place in 0..self.inputs.len() {
            let parts: Vec<ArrayRef> = pieces
                .iter()
                .map(|piece| {
                    let from = first.saturating_sub(piece.first) as usize;
                    let to = (end.min(piece.end()) - piece.first) as usize;
                    piece.inputs[place].slice(from, to - from)
                })
                .collect();
            inputs.push(match parts.as_slice() {
                [only] => only.clone(),
                parts => concat(&parts.iter().map(|part| part.as_ref()).collect::<Vec<_>>())?,
            });
        }
        let moved = |of: &dyn Fn(&Piece) -> &Vec<u32>| {
            let mut all = Vec::new();
            for piece in &pieces {
                let numbers = of(piece).iter().map(|row| piece.first + u64::from(*row));
                let wanted = numbers.filter(|number| (first..end).contains(number));
                all.extend(wanted.map(|number| (number - first) as u32));
            }
            all
        };
        let partitions = moved(&|piece| &piece.partitions);
        let counts = self.pieces.front().map_or(0, |piece| piece.peers.len());
        let peers = (0..counts).map(|keys| moved(&|piece| &piece.peers[keys])).collect();
        Ok(Block { rows, partitions, peers, inputs })
    }

    /// The next rows of the block.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(current) = &mut self.current else { return Ok(None) };
        let Some(piece) = self.pieces.get(current.piece).filter(|_| self.given < current.limit) else {
            self.current = None;
            self.calls.iter_mut().for_each(|call| call.release());
            self.drop_pieces();
            return Ok(None);
        };
        let from = (self.given - piece.first) as usize;
        let to = (current.limit.min(piece.end()) - piece.first) as usize;
        let to = to.min(from + self.at_once);
        let start = (self.given - current.first) as usize;
        let begin = Instant::now();
        let mut columns = piece.batch.slice(from, to - from).columns().to_vec();
        for call in &mut self.calls {
            columns.push(call.evaluate(&current.block, start..start + (to - from))?);
        }
        self.at_once = match begin.elapsed() {
            long if long > LONG => (self.at_once / 2).max(1),
            short if short < LONG / 4 => (2 * self.at_once).min(BATCH_ROWS),
            _ => self.at_once,
        };
        self.given += (to - from) as u64;
        if self.given == piece.end() {
            current.piece += 1;
        }
        Ok(Some(batch_of(&self.schema, columns, to - from)?))
    }

    /// Drops the pieces that nobody looks at any more.
    fn drop_pieces(&mut self) {
        let is_over = self.ended && self.given == self.seen;
        let needed = if is_over { self.seen } else { self.given.saturating_sub(self.behind()) };
        while let Some(piece) = self.pieces.front()
            && piece.end() <= needed
        {
            self.bytes -= piece.bytes;
            self.pieces.pop_front();
        }
    }
}

impl Operator for Window {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        // It is kept until its rows are given, and looked at from behind.
        let batch = compact(rows_of(&given));
        let inputs = self.inputs.iter().map(|e| evaluate(e, &batch)).collect::<Result<Vec<_>>>()?;
        let found = self.changes.find(&batch, self.seen)?;
        let bytes = batch_bytes(&batch);
        let rows = batch.num_rows() as u64;
        self.bytes += bytes;
        let piece = Piece {
            batch,
            inputs,
            first: self.seen,
            partitions: found.partitions,
            peers: found.peers,
            bytes,
        };
        self.pieces.push_back(piece);
        self.seen += rows;
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        self.ended = true;
        if self.current.is_none() {
            self.drop_pieces();
        }
        Ok(())
    }

    fn kept(&self) -> usize {
        self.bytes
    }

    fn pull(&mut self) -> Result<Pull> {
        loop {
            if let Some(batch) = self.next_batch()? {
                return Ok(Pull::Batch(ExchangeBatch::from(batch)));
            }
            if !self.next_block()? {
                return Ok(Pull::Empty);
            }
        }
    }
}

/// Notes what a call reads. Equal expressions are evaluated once.
fn read(call: &WindowCall, input: &SchemaRef, inputs: &mut Vec<Expr>) -> Inputs {
    let mut place = |e: Expr| {
        inputs.iter().position(|known| known.eq(&e)).unwrap_or_else(|| {
            inputs.push(e);
            inputs.len() - 1
        })
    };
    let column = |position: usize| -> Expr {
        let name = input.field(position).name();
        std::sync::Arc::new(datafusion_physical_expr::expressions::Column::new(name, position))
    };
    let of = |bound: &Bound| if let Bound::Value(position) = bound { Some(column(*position)) } else { None };
    Inputs {
        args: call.args.iter().map(|arg| place(arg.clone())).collect(),
        filter: call.filter.clone().map(&mut place),
        key: call.frame.key.map(column).map(&mut place),
        start: of(&call.frame.start).map(&mut place),
        end: of(&call.frame.end).map(&mut place),
    }
}

/// Whether a function is given what the running loops add up.
fn runs(call: &WindowCall) -> bool {
    let frame = &call.frame;
    let is_running =
        frame.start == Bound::First && frame.end == Bound::Current && frame.exclude == Exclude::Nothing;
    is_running && matches!(&call.function, WindowFunction::Aggregate(f) if running::is_typed(f))
}

fn is_whole(frame: &Frame) -> bool {
    frame.start == Bound::First && frame.end == Bound::Last && frame.exclude == Exclude::Nothing
}

fn reach(call: &WindowCall) -> Reach {
    match &call.function {
        WindowFunction::RowNumber
        | WindowFunction::Rank
        | WindowFunction::DenseRank
        | WindowFunction::Shift(Shift::Nowhere) => Reach::Rows(0, 0),
        WindowFunction::Shift(Shift::Rows(rows))
            if !call.ignore_nulls && rows.unsigned_abs() <= FAR.into() =>
        {
            let count = rows.unsigned_abs() as usize;
            if *rows < 0 { Reach::Rows(count, 0) } else { Reach::Rows(0, count) }
        }
        WindowFunction::Shift(_)
        | WindowFunction::PercentRank
        | WindowFunction::CumeDist
        | WindowFunction::Ntile => Reach::Partition,
        _ if runs(call) => match call.frame.units {
            Units::Rows => Reach::Rows(0, 0),
            Units::Range | Units::Groups => Reach::Peers,
        },
        WindowFunction::Aggregate(f) if !is_moving(f) => Reach::Partition,
        WindowFunction::First | WindowFunction::Last | WindowFunction::Nth | WindowFunction::Aggregate(_) => {
            rows_around(&call.frame)
        }
    }
}

/// Whether an aggregate of some rows around a row is computed without those of the whole partition at once.
fn is_moving(function: &AggregateFunction) -> bool {
    matches!(function, AggregateFunction::Count) || running::is_typed(function)
}

/// How far a frame of ROWS reaches.
fn rows_around(frame: &Frame) -> Reach {
    let is_of_rows =
        frame.units == Units::Rows && matches!(frame.exclude, Exclude::Nothing | Exclude::CurrentRow);
    let (mut behind, mut ahead) = (0, 0);
    for bound in [&frame.start, &frame.end] {
        match bound {
            Bound::Current => {}
            Bound::Before(n) if *n <= FAR => behind = behind.max(*n as usize),
            Bound::After(n) if *n <= FAR => ahead = ahead.max(*n as usize),
            _ => return Reach::Partition,
        }
    }
    if is_of_rows { Reach::Rows(behind, ahead) } else { Reach::Partition }
}

/// Whether a function asks where peers begin.
fn needs_peers(call: &WindowCall) -> bool {
    match &call.function {
        WindowFunction::Rank
        | WindowFunction::DenseRank
        | WindowFunction::PercentRank
        | WindowFunction::CumeDist => true,
        WindowFunction::First | WindowFunction::Last | WindowFunction::Nth | WindowFunction::Aggregate(_) => {
            call.frame.units != Units::Rows || matches!(call.frame.exclude, Exclude::Group | Exclude::Ties)
        }
        _ => false,
    }
}

/// What computes a call.
fn evaluator(
    call: &WindowCall,
    inputs: Inputs,
    plan: &Plan,
    data_type: &arrow_schema::DataType,
) -> Result<Box<dyn Evaluator>> {
    let options = plan.order.first().map(|(_, options)| *options).unwrap_or_default();
    let spec = frames::Spec { frame: call.frame.clone(), keys: call.order, options };
    Ok(match &call.function {
        WindowFunction::RowNumber => Box::new(ranks::Ranks::new(ranks::Rank::Row, call.order)),
        WindowFunction::Rank => Box::new(ranks::Ranks::new(ranks::Rank::First, call.order)),
        WindowFunction::DenseRank => Box::new(ranks::Ranks::new(ranks::Rank::Dense, call.order)),
        WindowFunction::PercentRank => Box::new(ranks::Parts::new(ranks::Part::Percent, call.order)),
        WindowFunction::CumeDist => Box::new(ranks::Parts::new(ranks::Part::Cumulative, call.order)),
        WindowFunction::Ntile => Box::new(ranks::Ntile::new(inputs)),
        WindowFunction::Shift(by) => Box::new(shift::Shifted::new(*by, inputs, call.ignore_nulls)),
        WindowFunction::First => Box::new(frame_rows::ValueOfRow::new(
            frame_rows::FrameRow::First,
            spec,
            inputs,
            call.ignore_nulls,
        )),
        WindowFunction::Last => {
            Box::new(frame_rows::ValueOfRow::new(frame_rows::FrameRow::Last, spec, inputs, call.ignore_nulls))
        }
        WindowFunction::Nth => {
            Box::new(frame_rows::ValueOfRow::new(frame_rows::FrameRow::Nth, spec, inputs, call.ignore_nulls))
        }
        WindowFunction::Aggregate(f) if is_whole(&call.frame) => {
            Box::new(whole::Whole::new(f.clone(), inputs))
        }
        WindowFunction::Aggregate(f) => {
            let is_running = runs(call);
            match f {
                AggregateFunction::Count if is_running => counts::running(&spec, inputs),
                AggregateFunction::Count => counts::moving(spec, inputs),
                f if is_running => running::running(f, &spec, inputs, data_type),
                f if running::is_typed(f) => folds::moving(f, spec, inputs, data_type),
                f => Box::new(tree::Tree::new(f.clone(), spec, inputs)),
            }
        }
    })
}
