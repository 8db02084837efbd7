//! Records of other programs, as a file of theirs describes them, with lists and structs. Their values don't lie one
//! behind the other in the order of the columns. So each record is written again, as MessagePack: a struct as an array
//! of its fields, a map with its entries.

use std::ops::Range;

use arrow_buffer::Buffer;

use super::batch::{Batch, Records};
use super::keys::ColumnSlots;
use super::tagged::TaggedSyntax;
use super::walk::{Span, Wrong, missing, spans};
use super::{Input, RecordParser};
use crate::error::{Error, Result};
use crate::format::ScanOptions;
use crate::msgpack::Msgpack;

/// The bytes of records that are rewritten before columns are filled, and those of what is written.
const WINDOW_BYTES: usize = 64 << 10;

/// What MessagePack writes for NULL.
const NULL: u8 = 0xc0;

/// Writes records again.
pub trait Rewrite: Send {
    /// Writes the wanted columns of the record that begins at `at`. Gives where it ends; `None` if it goes on behind the
    /// bytes. What it has written of a record that is wrong is taken off by the caller.
    fn rewrite(&mut self, bytes: &[u8], at: usize, record: &mut Record) -> Result<Option<usize>, Wrong>;

    /// The lack of memory that ended the rewriting of the last record, if it did.
    fn take_lack(&mut self) -> Option<Error> {
        None
    }
}

/// A record that is being written again.
pub struct Record<'a> {
    /// Where its values are appended.
    pub out: &'a mut Vec<u8>,
    /// For each column its place in `found`, if it is wanted.
    slots: &'a [Option<usize>],
    /// Where the values lie in `out`; those that are NULL are not noted.
    found: &'a mut [Span],
    /// More than this must not be written.
    limit: usize,
    /// How many values are NULL in structs that are not there: columns have room for them all the same.
    absent: usize,
}

impl Record<'_> {
    /// Whether this column is wanted.
    pub fn wants(&self, column: usize) -> bool {
        self.slots.get(column).is_some_and(Option::is_some)
    }

    /// Notes that what was written from `start` on is this column.
    pub fn note(&mut self, column: usize, start: usize) {
        let slot = self.slots.get(column).copied().flatten();
        if let Some(slot) = slot.filter(|_| self.out[start..] != [NULL]) {
            self.found[slot] = (start, self.out.len());
        }
    }

    /// Writes NULL for a value that has so many values within it.
    pub fn null(&mut self, leaves: usize) {
        self.absent += leaves - 1;
        self.out.push(NULL);
    }

    /// Whether so much may be written. It has to be asked after each value.
    pub fn check(&self) -> Result<(), String> {
        match self.out.len().saturating_add(self.absent) > self.limit {
            false => Ok(()),
            true => {
                Err("its values, with those that are not there, take more bytes than --max-record allows"
                    .into())
            }
        }
    }
}

/// A parser of records that are rewritten.
pub struct DescribedParser<R> {
    rewrite: R,
    slots: ColumnSlots,
    /// The values found, `slots.count` for each record.
    found: Vec<Span>,
    max_record: usize,
}

impl<R: Rewrite> DescribedParser<R> {
    /// A parser of the columns that the scan wants, whose schema goes with the layout of the records.
    pub fn new(rewrite: R, slots: ColumnSlots, scan: &ScanOptions) -> DescribedParser<R> {
        DescribedParser { rewrite, slots, found: Vec::new(), max_record: scan.format.max_record }
    }

    /// Rewrites the record that begins at `at`, and tells where it ends; `None` if it goes on behind the bytes at hand.
    fn record(&mut self, bytes: &[u8], at: usize, out: &mut Vec<u8>) -> Result<Option<usize>, Wrong> {
        // No record is looked at further than it may be long, so that what is wrong with it does not depend on how many
        // bytes are at hand.
        let within = bytes.len().min(at.saturating_add(self.max_record));
        let (written, first) = (out.len(), self.found.len());
        self.found.resize(first + self.slots.count, missing(0));
        let (slots, found) = (&self.slots.of_schema, &mut self.found[first..]);
        let limit = written.saturating_add(self.max_record);
        let mut record = Record { out, slots, found, limit, absent: 0 };
        let end = self.rewrite.rewrite(&bytes[..within], at, &mut record);
        if !matches!(end, Ok(Some(_))) {
            out.truncate(written);
            self.found.truncate(first);
        }
        end
    }
}

impl<R: Rewrite> RecordParser for DescribedParser<R> {
    const IN_LINES: bool = false;
    const NESTED: bool = true;

    fn parse(&mut self, input: Input, batch: &mut Batch) -> Result<usize> {
        let bytes = input.block.as_slice();
        let limit = input.limit.min(bytes.len());
        let mut at = input.at;
        while at < limit && batch.room() > 0 {
            let (start, room) = (at, batch.room());
            let (mut count, mut wrong, mut out) = (0, None, Vec::with_capacity(WINDOW_BYTES));
            self.found.clear();
            // Where each record lies here, and where it lies in `out`.
            let mut written: Vec<(Range<usize>, Range<usize>)> = Vec::new();
            while at < limit && at - start < WINDOW_BYTES && out.len() < WINDOW_BYTES && count < room {
                let from = out.len();
                match self.record(bytes, at, &mut out) {
                    Ok(Some(end)) => {
                        written.push((at..end, from..out.len()));
                        (at, count) = (end, count + 1);
                    }
                    Ok(None) => break,
                    Err(error) => {
                        wrong = Some(error);
                        break;
                    }
                }
            }
            if let Some(lack) = self.rewrite.take_lack() {
                return Err(lack);
            }
            if count > 0 {
                let block = Buffer::from_vec(out);
                let offset = input.offset + start as u64;
                let borders = |record: usize| (written[record].1.start, written[record].1.end);
                let places = |place: u64| {
                    let before =
                        written.partition_point(|(_, to)| to.start as u64 <= place.saturating_sub(offset));
                    input.offset + written[before.saturating_sub(1)].0.start as u64
                };
                let originals = |record: usize| &bytes[written[record].0.clone()];
                let records = Records {
                    block: &block,
                    offset,
                    start: 0,
                    end: block.len(),
                    count,
                    lines: 0,
                    borders: Some(&borders),
                    places: Some(&places),
                    originals: Some(&originals),
                    noted: None,
                };
                let (found, slots, each) = (&self.found, &self.slots.of_batch, self.slots.count);
                batch.append(records, TaggedSyntax(Msgpack), |column| spans(found, slots[column], each))?;
            }
            match wrong {
                Some(wrong) => at = wrong.pass(&input, at, batch)?,
                None if at == start => break,
                None => {}
            }
        }
        Ok(at - input.at)
    }
}
