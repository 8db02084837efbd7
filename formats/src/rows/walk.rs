//! Records that end where their last value ends. No byte marks a border, so each record is walked from its first byte;
//! then columns are filled one by one.

use std::iter::{Copied, Skip, StepBy};
use std::slice::Iter;

use super::batch::{Batch, Records};
use super::keys::ColumnSlots;
use super::syntax::Syntax;
use super::{Input, RecordParser};
use crate::error::{Error, Result};
use crate::format::ScanOptions;
use crate::rejects::RejectKind;

/// The bytes of records that are walked before columns are filled.
const WINDOW_BYTES: usize = 64 << 10;

/// Where a value lies: its first byte and the one behind its last.
pub type Span = (usize, usize);

/// The place of a value that the record which begins at `at` does not have: it ends before it begins.
pub fn missing(at: usize) -> Span {
    (at + 1, at)
}

/// The place of a value within another that this one does not have, and of which no record is known. No other lies
/// there: a value that is empty has its length before it.
pub const MISSING: Span = (0, 0);

/// Whether this is the place of a value that is not there.
#[inline(always)]
pub fn is_missing(place: Span) -> bool {
    place.0 > place.1 || place == MISSING
}

/// The places of one column's values.
pub type Spans<'a> = StepBy<Skip<Copied<Iter<'a, Span>>>>;

/// The places of the values of slot `slot` of records that have `each` of them.
#[inline(always)]
pub fn spans(found: &[Span], slot: usize, each: usize) -> Spans<'_> {
    found.iter().copied().skip(slot).step_by(each)
}

/// What came of walking over a record.
pub enum Walked {
    /// It ends here.
    Whole(usize),
    /// There is none before this place, which is the end of what holds all records.
    Passed(usize),
    /// It goes on behind the bytes at hand.
    Short,
}

/// A record that is not built as it should be.
pub struct Wrong {
    /// What is wrong with it.
    pub message: String,
    /// Where the next record begins, if that is known all the same.
    pub next: Option<usize>,
}

impl Wrong {
    /// A record behind which nothing can be read.
    pub fn fatal(message: impl Into<String>) -> Wrong {
        Wrong { message: message.into(), next: None }
    }

    /// Passes the record at `at`, and tells where the next one begins.
    ///
    /// # Errors
    /// It is not known where, or a record that is wrong is an error.
    pub fn pass(self, input: &Input, at: usize, batch: &mut Batch) -> Result<usize> {
        let Some(next) = self.next else {
            return Err(batch.lost(input.offset + at as u64, self.message));
        };
        let width = batch.width() as u64;
        batch.malformed(Records::of(input, at..next, 1, 0), RejectKind::InvalidState, self.message, width)?;
        Ok(next)
    }
}

/// Finds values in records.
pub trait Walker: Send {
    /// Looks at the beginning of a file, as which these bytes come first; with `last` it ends with them. False if it needs
    /// more of them. It is called before records are walked over, whether a file begins or not.
    fn begin(&mut self, _bytes: &[u8], _last: bool) -> Result<bool, Wrong> {
        Ok(true)
    }

    /// Another file begins.
    fn restart(&mut self) {}

    /// Walks over the record that begins at `at`, and notes where the values of wanted columns lie. `found` has a place
    /// for each slot of [`ColumnSlots`], and [`missing`] in all of them.
    fn walk(&mut self, bytes: &[u8], at: usize, found: &mut [Span]) -> Result<Walked, Wrong>;
}

/// Whether there are columns: what has none can't be walked over.
pub fn check_columns(scan: &ScanOptions) -> Result<()> {
    match scan.schema.fields().is_empty() {
        true => Err(Error::Unsupported("a record without columns has no bytes; give a --schema".into())),
        false => Ok(()),
    }
}

/// A parser of records that a walker finds and whose values this syntax reads.
pub struct WalkParser<W, S> {
    walker: W,
    syntax: S,
    slots: ColumnSlots,
    /// The values found, `slots.count` for each record.
    found: Vec<Span>,
    /// Where the records lie, if what is passed over is kept.
    records: Vec<Span>,
    max_record: usize,
}

impl<W: Walker, S: Syntax> WalkParser<W, S> {
    /// A parser of the columns that the scan wants.
    pub fn new(walker: W, syntax: S, slots: ColumnSlots, scan: &ScanOptions) -> Result<WalkParser<W, S>> {
        check_columns(scan)?;
        let (found, records, max_record) = (Vec::new(), Vec::new(), scan.format.max_record);
        Ok(WalkParser { walker, syntax, slots, found, records, max_record })
    }
}

impl<W: Walker, S: Syntax + Send> RecordParser for WalkParser<W, S> {
    const IN_LINES: bool = false;
    const NESTED: bool = S::NESTED;

    fn restart(&mut self) {
        self.walker.restart();
    }

    fn parse(&mut self, input: Input, batch: &mut Batch) -> Result<usize> {
        let bytes = input.block.as_slice();
        let limit = input.limit.min(bytes.len());
        let each = self.slots.count;
        let mut at = input.at;
        match self.walker.begin(&bytes[at..], input.last) {
            Ok(true) => {}
            Ok(false) => return Ok(0),
            Err(wrong) => return Err(batch.lost(input.offset + at as u64, wrong.message)),
        }
        while at < limit && batch.room() > 0 {
            let (start, room) = (at, batch.room());
            let (mut count, mut wrong) = (0, None);
            self.found.clear();
            self.records.clear();
            let keeps = batch.keeps_rejects();
            while at < limit && at - start < WINDOW_BYTES && count < room {
                let first = self.found.len();
                self.found.resize(first + each, missing(at));
                // No record is looked at further than it may be long, so that what is wrong with it does not depend on
                // how many bytes are at hand.
                let within = bytes.len().min(at.saturating_add(self.max_record));
                match self.walker.walk(&bytes[..within], at, &mut self.found[first..]) {
                    Ok(Walked::Whole(end)) => {
                        if keeps {
                            self.records.push((at, end));
                        }
                        (at, count) = (end, count + 1);
                        continue;
                    }
                    Ok(Walked::Passed(end)) => {
                        self.found.truncate(first);
                        at = end;
                        continue;
                    }
                    Ok(Walked::Short) => {}
                    Err(error) => wrong = Some(error),
                }
                self.found.truncate(first);
                break;
            }
            let (found, slots) = (&self.found, &self.slots.of_batch);
            let fields = |column: usize| spans(found, slots[column], each);
            let borders = |record: usize| self.records[record];
            let records = Records::of(&input, start..at, count, 0).with_borders(&borders);
            batch.append(records, self.syntax, fields)?;
            match wrong {
                Some(wrong) => at = wrong.pass(&input, at, batch)?,
                None if at == start => break,
                None => {}
            }
        }
        Ok(at - input.at)
    }
}
