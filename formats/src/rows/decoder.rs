//! What turns the bytes of a row encoding into batches: bytes are pushed in, batches come out.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use schema::OnError;

use super::batch::{Batch, Records};
use super::quotes::State;
use crate::error::Result;
use crate::format::ScanOptions;
use crate::reader::Skipped;
use crate::rejects::{RejectKind, Rejects};

/// Decompressed bytes in which a record begins.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The bytes; columns may keep views into them.
    pub block: &'a Buffer,
    /// Where the first record that was not decoded yet begins.
    pub at: usize,
    /// Records that begin here or later are not to be decoded; may lie beyond the block.
    pub limit: usize,
    /// Whether the data ends with the block.
    pub last: bool,
    /// The offset of the block's first byte in the decompressed file.
    pub offset: u64,
}

impl Input<'_> {
    /// Where the line that begins at `at` ends, without and with its newline; `None` if it goes on beyond the block.
    #[inline(always)]
    pub fn line(&self, at: usize) -> Option<(usize, usize)> {
        let bytes = self.block.as_slice();
        match memchr::memchr(b'\n', &bytes[at..]) {
            Some(newline) => Some((at + newline, at + newline + 1)),
            None if self.last => Some((bytes.len(), bytes.len())),
            None => None,
        }
    }
}

/// Turns the bytes of a row encoding into rows.
pub trait Decoder: Send {
    /// Decodes the whole records of the input until the batch is full, and gives the number of bytes consumed. It stops
    /// before a record that goes on beyond the block, except that with [`Input::last`] there is none. It also stops
    /// before one that is longer than a record may be. What becomes of that must not depend on the size of the block.
    fn decode(&mut self, input: Input) -> Result<usize>;

    /// Whether the batch is full: flush before going on.
    fn is_full(&self) -> bool;

    /// The rows so far.
    fn flush(&mut self) -> Result<Option<RecordBatch>>;

    /// The data of another file begins, of which the first byte comes next. Rows that were not flushed are kept, and
    /// records are counted anew.
    fn restart(&mut self) {}

    /// Whether the next record is known to end at the next newline, whatever stands in it.
    fn is_line(&self) -> bool {
        false
    }

    /// Passes the record that begins at the input and goes on beyond it. It counts as one that is not built as it
    /// should be. This is done if `--on-error` says so and the next one begins behind the next newline. False if it is
    /// to be an error.
    fn pass_line(&mut self, _input: Input, _message: String) -> Result<bool> {
        Ok(false)
    }

    /// The records and, where they stand in lines, the lines consumed so far, with those that were skipped.
    fn position(&self) -> (u64, Option<u64>);

    /// What was passed over so far.
    fn skipped(&self) -> Skipped;

    /// As [`FileReader::take_rejects`](crate::reader::FileReader::take_rejects), as if the data began where the decoder
    /// began.
    fn take_rejects(&mut self) -> Rejects {
        Rejects::default()
    }

    /// The state of quotes at the limit, if the last record consumed goes on behind it.
    fn state_at_limit(&self) -> State {
        State::RecordStart
    }
}

/// What an encoding has to say of its own: how records are found in bytes and appended to a batch.
pub trait RecordParser: Send {
    /// Whether records stand in lines, which errors then name.
    const IN_LINES: bool = true;
    /// Whether columns may be nested.
    const NESTED: bool = false;

    /// As [`Decoder::decode`], into this batch.
    fn parse(&mut self, input: Input, batch: &mut Batch) -> Result<usize>;

    /// As [`Decoder::restart`].
    fn restart(&mut self) {}

    /// As [`Decoder::is_line`].
    fn is_line(&self) -> bool {
        false
    }

    /// As [`Decoder::state_at_limit`].
    fn state_at_limit(&self) -> State {
        State::RecordStart
    }
}

/// The decoder of an encoding: its parser and the batch that it fills.
pub struct BatchDecoder<P> {
    parser: P,
    batch: Batch,
}

impl<P: RecordParser> BatchDecoder<P> {
    /// A decoder of the columns that the scan wants.
    pub fn new(parser: P, scan: &ScanOptions) -> Result<BatchDecoder<P>> {
        let batch = Batch::new(scan, P::NESTED)?;
        let batch = if P::IN_LINES { batch } else { batch.without_lines() };
        Ok(BatchDecoder { parser, batch })
    }
}

impl<P: RecordParser> Decoder for BatchDecoder<P> {
    fn decode(&mut self, input: Input) -> Result<usize> {
        self.parser.parse(input, &mut self.batch)
    }

    fn is_full(&self) -> bool {
        self.batch.room() == 0
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        self.batch.flush()
    }

    fn restart(&mut self) {
        self.parser.restart();
        self.batch.restart();
    }

    fn is_line(&self) -> bool {
        self.parser.is_line()
    }

    fn pass_line(&mut self, input: Input, message: String) -> Result<bool> {
        if !self.parser.is_line() || self.batch.on_error() == OnError::Fail {
            return Ok(false);
        }
        let records = Records::of(&input, input.at..input.at, 1, 1);
        let values = self.batch.width() as u64;
        self.batch.malformed(records, RejectKind::TooLong, message, values).map(|()| true)
    }

    fn position(&self) -> (u64, Option<u64>) {
        (self.batch.records(), self.batch.lines())
    }

    fn skipped(&self) -> Skipped {
        self.batch.skipped()
    }

    fn take_rejects(&mut self) -> Rejects {
        self.batch.take_rejects()
    }

    fn state_at_limit(&self) -> State {
        self.parser.state_at_limit()
    }
}
