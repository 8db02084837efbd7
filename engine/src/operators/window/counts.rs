//! `COUNT` of the rows of a frame.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_buffer::BooleanBuffer;
use queries::plan::Units;

use super::block::Block;
use super::frames::{Frames, Span, Spec};
use super::{Evaluator, Inputs};
use crate::error::Result;

/// The count from the partition's first row to the row, or to its last peer.
pub fn running(spec: &Spec, inputs: Inputs) -> Box<dyn Evaluator> {
    let by_row = spec.frame.units == Units::Rows;
    Box::new(Running { by_row, keys: spec.keys, inputs, mask: None, count: 0, added: 0 })
}

/// The count of any frame.
pub fn moving(spec: Spec, inputs: Inputs) -> Box<dyn Evaluator> {
    Box::new(Moving { spec, inputs, frames: Frames::default(), counted: Counted::default() })
}

/// How many of the rows before a row count.
#[derive(Default)]
pub struct Counted(Option<Vec<u32>>);

impl Counted {
    /// Of rows of which those of a mask count.
    pub fn new(mask: Option<&BooleanBuffer>) -> Counted {
        Counted(mask.map(|mask| {
            let mut count = 0;
            let mut counts = Vec::with_capacity(mask.len() + 1);
            counts.push(0);
            counts.extend(mask.iter().map(|counts| {
                count += u32::from(counts);
                count
            }));
            counts
        }))
    }

    /// How many of a range count.
    pub fn rows(&self, rows: &Range<usize>) -> usize {
        match &self.0 {
            Some(counts) => (counts[rows.end] - counts[rows.start]) as usize,
            None => rows.len(),
        }
    }

    /// How many of a frame count.
    pub fn span(&self, span: &Span) -> usize {
        match &self.0 {
            Some(_) => span.parts().iter().map(|part| self.rows(part)).sum(),
            None => span.len(),
        }
    }
}

struct Running {
    by_row: bool,
    keys: usize,
    inputs: Inputs,
    mask: Option<BooleanBuffer>,
    count: i64,
    /// The rows ahead that were counted, peers of the last one that was given.
    added: usize,
}

impl Running {
    fn add(&mut self, rows: Range<usize>) {
        self.count += match &self.mask {
            None => rows.len() as i64,
            Some(mask) => mask.slice(rows.start, rows.len()).count_set_bits() as i64,
        };
    }
}

impl Evaluator for Running {
    fn prepare(&mut self, block: &Block) -> Result<()> {
        self.mask = block.mask(&self.inputs);
        Ok(())
    }

    fn evaluate(&mut self, block: &Block, rows: Range<usize>) -> Result<ArrayRef> {
        let mut counts: Vec<i64> = Vec::with_capacity(rows.len());
        for (_, rows) in block.segments(rows) {
            if block.begins(rows.start) {
                (self.count, self.added) = (0, 0);
            }
            if self.by_row {
                for row in rows {
                    self.count += self.mask.as_ref().map_or(1, |mask| i64::from(mask.value(row)));
                    counts.push(self.count);
                }
                continue;
            }
            let mut row = rows.start;
            while row < rows.end {
                if self.added == 0 {
                    let (group, peers) = block.group(self.keys, row);
                    let end = block.rows_of(peers, group).end;
                    self.add(row..end);
                    self.added = end - row;
                }
                let count = self.added.min(rows.end - row);
                counts.resize(counts.len() + count, self.count);
                self.added -= count;
                row += count;
            }
        }
        Ok(Arc::new(Int64Array::from(counts)))
    }

    fn release(&mut self) {
        self.mask = None;
    }
}

struct Moving {
    spec: Spec,
    inputs: Inputs,
    frames: Frames,
    counted: Counted,
}

impl Evaluator for Moving {
    fn prepare(&mut self, block: &Block) -> Result<()> {
        self.frames = Frames::new(&self.spec, &self.inputs, block)?;
        self.counted = Counted::new(block.mask(&self.inputs).as_ref());
        Ok(())
    }

    fn evaluate(&mut self, block: &Block, rows: Range<usize>) -> Result<ArrayRef> {
        let mut counts: Vec<i64> = Vec::with_capacity(rows.len());
        let counted = &self.counted;
        self.frames.each(&self.spec, block, rows, |_, span| {
            counts.push(counted.span(span) as i64);
            Ok(())
        })?;
        Ok(Arc::new(Int64Array::from(counts)))
    }

    fn release(&mut self) {
        (self.frames, self.counted) = (Frames::default(), Counted::default());
    }
}
