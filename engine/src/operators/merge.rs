//! Merges sorted runs: those of one sort, and those of the workers.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::order::{Keys, Order, Part, Sorter, gather};
use super::rows_of;
use crate::dataflow::batch::{BATCH_ROWS, ExchangeBatch};
use crate::dataflow::credit::Credit;
use crate::dataflow::operator::{Operator, Pull};
use crate::error::{Error, Result};

/// Merges sorted runs, block by block. Of the rows at hand those up to a bound are sorted together; no row to come is
/// below it. The sort is one that finds and merges what is sorted already (driftsort), without a branch a row. A tree
/// of losers takes several times as long.
///
/// A run is given piece by piece, each when the one before it is used up. So one piece a run and its keys are held
/// here.
pub struct Merger {
    order: Rc<Order>,
    schema: SchemaRef,
    runs: Vec<Run>,
    /// The runs whose next piece has to be known first.
    wanted: Vec<usize>,
    /// Rows still wanted.
    left: usize,
    /// The rows of the block in their order; its parts are pieces of these runs.
    block: Sorter,
    parts: Vec<usize>,
    /// How many of the block's rows were given.
    given: usize,
}

enum Run {
    /// Its next piece is not known.
    Wanted,
    /// A piece, and the first row of it that is in no block yet.
    Open {
        piece: RecordBatch,
        keys: Keys,
        row: usize,
    },
    Ended,
}

/// A block has about so many rows, so that it is sorted in the processor's cache and well within 50 ms.
const BLOCK_ROWS: usize = 2 * BATCH_ROWS;

/// What a merger says.
pub enum Step {
    /// The next rows.
    Batch(RecordBatch),
    /// The next piece of this run is needed, or that it has ended.
    Wants(usize),
    /// There are no more rows.
    Done,
}

impl Merger {
    /// Merges so many runs, the first `fetch` rows of them.
    pub fn new(order: Rc<Order>, schema: SchemaRef, runs: usize, fetch: Option<usize>) -> Merger {
        Merger {
            order,
            schema,
            runs: (0..runs).map(|_| Run::Wanted).collect(),
            wanted: (0..runs).rev().collect(),
            left: fetch.unwrap_or(usize::MAX),
            block: Sorter::default(),
            parts: Vec::new(),
            given: 0,
        }
    }

    /// Whether no more rows are wanted.
    pub fn has_enough(&self) -> bool {
        self.left == 0
    }

    /// The next piece of the run that is wanted; it has rows.
    pub fn give(&mut self, run: usize, piece: RecordBatch) -> Result<()> {
        let keys = self.order.keys(&piece)?;
        self.set(run, Run::Open { piece, keys, row: 0 });
        Ok(())
    }

    /// The run that is wanted has ended.
    pub fn end(&mut self, run: usize) {
        self.set(run, Run::Ended);
    }

    fn set(&mut self, run: usize, to: Run) {
        debug_assert!(self.wanted.last() == Some(&run), "what is wanted is given");
        self.wanted.pop();
        self.runs[run] = to;
    }

    /// Does the next step: at most a block of keys or a batch of rows.
    pub fn step(&mut self) -> Result<Step> {
        if self.left == 0 {
            return Ok(Step::Done);
        }
        if self.given < self.block.sorted().len() {
            return self.gather();
        }
        self.drop_used();
        if let Some(run) = self.wanted.last() {
            return Ok(Step::Wants(*run));
        }
        let open: Vec<usize> =
            (0..self.runs.len()).filter(|r| matches!(self.runs[*r], Run::Open { .. })).collect();
        if open.is_empty() {
            return Ok(Step::Done);
        }
        let ends = self.block_ends(&open);
        match ends.as_slice() {
            [(run, _)] => Ok(Step::Batch(self.whole(*run, &open))),
            _ => {
                self.sort_block(&ends);
                self.gather()
            }
        }
    }

    /// Asks for the next pieces of runs whose pieces are used up.
    fn drop_used(&mut self) {
        self.block.clear();
        self.given = 0;
        for (i, run) in self.runs.iter_mut().enumerate() {
            if matches!(run, Run::Open { keys, row, .. } if *row == keys.count()) {
                *run = Run::Wanted;
                self.wanted.push(i);
            }
        }
    }

    fn open(&self, run: usize) -> (&Keys, usize) {
        match &self.runs[run] {
            Run::Open { keys, row, .. } => (keys, *row),
            _ => unreachable!("only open runs are looked at"),
        }
    }

    /// The runs that have rows in the next block, and where those end. Each run offers a share of the block; the bound
    /// is the least of the last rows offered. The first row of all is not above it, so that some run has rows.
    fn block_ends(&self, open: &[usize]) -> Vec<(usize, usize)> {
        let share = (BLOCK_ROWS / open.len()).max(1);
        let offers = open.iter().map(|run| {
            let (keys, row) = self.open(*run);
            (*run, row, keys.count().min(row + share), keys)
        });
        let bound = offers.clone().min_by(|(_, _, a, x), (_, _, b, y)| x.compare(a - 1, y, b - 1));
        let Some((_, _, last, bounding)) = bound else { return Vec::new() };
        offers
            .map(|(run, row, end, keys)| (run, row, keys.first_above(row..end, bounding, last - 1)))
            .filter(|(_, row, end)| row < end)
            .map(|(run, _, end)| (run, end))
            .collect()
    }

    /// The rows of one run that come before those of all others, cut out of its piece.
    fn whole(&mut self, run: usize, open: &[usize]) -> RecordBatch {
        let (keys, from) = self.open(run);
        let mut to = keys.count();
        for other in open.iter().filter(|other| **other != run) {
            let (others, row) = self.open(*other);
            to = keys.first_above(from..to, others, row);
        }
        let rows = (to - from).min(self.left);
        self.left -= rows;
        match &mut self.runs[run] {
            Run::Open { piece, row, .. } => {
                *row = to;
                piece.slice(from, rows)
            }
            _ => unreachable!("only open runs are looked at"),
        }
    }

    /// Sorts the rows of the runs up to their ends.
    fn sort_block(&mut self, ends: &[(usize, usize)]) {
        let mut block = std::mem::take(&mut self.block);
        let parts = ends.iter().map(|(run, end)| {
            let (keys, row) = self.open(*run);
            Part { keys, rows: row..*end }
        });
        block.merge(&parts.collect::<Vec<_>>());
        self.block = block;
        self.parts.clear();
        for (run, end) in ends {
            self.parts.push(*run);
            if let Run::Open { row, .. } = &mut self.runs[*run] {
                *row = *end;
            }
        }
    }

    /// The next batch of the block.
    fn gather(&mut self) -> Result<Step> {
        let rows = &self.block.sorted()[self.given..];
        let rows = &rows[..rows.len().min(BATCH_ROWS).min(self.left)];
        let piece = |run: &usize| match &self.runs[*run] {
            Run::Open { piece, .. } => piece,
            _ => unreachable!("the block is made of open runs"),
        };
        let pieces: Vec<&RecordBatch> = self.parts.iter().map(piece).collect();
        let batch = gather(&self.schema, &pieces, rows)?;
        self.given += batch.num_rows();
        self.left -= batch.num_rows();
        Ok(Step::Batch(batch))
    }
}

/// Merges the runs of all workers, on worker 0. Each sender has credit of its own. A run that is ahead must not use up
/// what another one needs to send the batch that is waited for.
pub struct Merge {
    merger: Merger,
    /// What was sent and not yet given to the merger, by sender; the credit stays taken meanwhile.
    waiting: Vec<VecDeque<ExchangeBatch>>,
    /// The credit of the piece that the merger has of each sender.
    held: Vec<Option<Arc<Credit>>>,
}

impl Merge {
    /// Merges the runs of `peers` workers, the first `fetch` rows of them.
    pub fn new(order: Order, schema: SchemaRef, peers: usize, fetch: Option<usize>) -> Merge {
        Merge {
            merger: Merger::new(Rc::new(order), schema, peers, fetch),
            waiting: (0..peers).map(|_| VecDeque::new()).collect(),
            held: (0..peers).map(|_| None).collect(),
        }
    }
}

impl Operator for Merge {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        let Some(waiting) = self.waiting.get_mut(given.source as usize) else {
            return Err(Error::Wire(format!("there is no worker {}", given.source)));
        };
        if !self.merger.has_enough() {
            waiting.push_back(given);
        }
        Ok(())
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        Ok(())
    }

    fn pull(&mut self) -> Result<Pull> {
        loop {
            match self.merger.step()? {
                Step::Batch(batch) => return Ok(Pull::Batch(ExchangeBatch::from(batch))),
                Step::Done => {
                    // Enough rows were given: what is left gives its credit back.
                    self.waiting.iter_mut().for_each(VecDeque::clear);
                    self.held.fill(None);
                    return Ok(Pull::Empty);
                }
                Step::Wants(run) => {
                    self.held[run] = None;
                    let Some(mut given) = self.waiting[run].pop_front() else { return Ok(Pull::Empty) };
                    if given.last {
                        self.merger.end(run);
                    } else {
                        self.held[run] = given.credit.take();
                        self.merger.give(run, rows_of(&given).clone())?;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::{ArrayRef, StringViewArray};
    use arrow_schema::{DataType, Field, Schema, SortOptions};
    use datafusion_physical_expr::expressions::Column;
    use queries::plan::SortKey;

    use super::*;

    /// Merges runs that are given in pieces of `piece` rows.
    fn merged(runs: &[Vec<String>], piece: usize, fetch: Option<usize>) -> Vec<String> {
        let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("t", DataType::Utf8View, true)]));
        let key = SortKey { expr: Arc::new(Column::new("t", 0)), options: SortOptions::default() };
        let order = Rc::new(Order::new(vec![key], &schema).expect("text has an order"));
        let mut merger = Merger::new(order, schema.clone(), runs.len(), fetch);
        let mut given = vec![0; runs.len()];
        let mut out = Vec::new();
        loop {
            match merger.step().expect("nothing fails here") {
                Step::Done => return out,
                Step::Batch(batch) => {
                    assert!((1..=BATCH_ROWS).contains(&batch.num_rows()));
                    let texts = batch.column(0).as_string_view();
                    out.extend(texts.iter().map(|t| t.expect("no NULL was given").to_string()));
                }
                Step::Wants(run) => {
                    let rest = &runs[run][given[run]..];
                    if rest.is_empty() {
                        merger.end(run);
                        continue;
                    }
                    let now = &rest[..rest.len().min(piece)];
                    given[run] += now.len();
                    let column: ArrayRef = Arc::new(StringViewArray::from_iter_values(now));
                    let batch = RecordBatch::try_new(schema.clone(), vec![column]).expect("it fits");
                    merger.give(run, batch).expect("text has an order");
                }
            }
        }
    }

    /// Runs of texts that are equal in their first bytes, made by a multiplication modulo a prime.
    fn runs(lengths: &[usize], values: u64) -> Vec<Vec<String>> {
        let mut next = 1_u64;
        let mut run = |length: &usize| {
            let mut texts: Vec<String> = (0..*length)
                .map(|_| {
                    next = next * 48_271 % 2_147_483_647;
                    format!("the same beginning {:06}", next % values)
                })
                .collect();
            texts.sort();
            texts
        };
        lengths.iter().map(&mut run).collect()
    }

    #[test]
    fn runs_of_any_lengths_are_merged() {
        for lengths in
            [&[][..], &[0], &[5], &[0, 0], &[1, 0, 1], &[100, 3, 50], &[1; 40], &[20_000, 1, 9_000]]
        {
            for (values, piece) in [(1, 7), (10, 3), (1_000_000, 1), (1_000_000, 5_000)] {
                let runs = runs(lengths, values);
                let mut expected: Vec<String> = runs.concat();
                expected.sort();
                assert_eq!(merged(&runs, piece, None), expected, "{lengths:?} {values} {piece}");
                expected.truncate(60);
                assert_eq!(merged(&runs, piece, Some(60)), expected, "{lengths:?} {values} {piece}");
            }
        }
    }

    #[test]
    fn runs_that_follow_one_another_are_passed_on() {
        let mut all: Vec<String> = (0..30_000).map(|i| format!("{i:05}")).collect();
        let expected = all.clone();
        let last = all.split_off(20_000);
        let middle = all.split_off(10_000);
        assert_eq!(merged(&[last, all, middle], 4_096, None), expected);
    }
}
