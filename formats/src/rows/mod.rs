//! Row encodings: records one after another in a stream of bytes, plain or compressed as a whole.
//!
//! An encoding of this kind implements the small [`Decoder`]; [`reader::RowReader`] makes it a file reader, for a
//! range of bytes, a whole file or standard input. Modules in the order in which bytes meet them:
//! - [`split`]: cutting a file into morsels, and where the first record of a morsel begins.
//! - [`quotes`]: the automaton of quotes, for borders and for records that are not regular.
//! - [`reader`]: the adapter: which bytes are needed, decompression, records that cross blocks.
//! - [`batch`]: the batch being filled, and what is done with what does not fit.
//! - [`column`], [`views`]: columns under construction.
//! - [`parse`], [`print`](mod@print): text to values and back.
//! - [`bits`]: where bytes occur, 64 at a time.
//! - [`encoder`]: blocks of rows to bytes.
//! - [`infer`](mod@infer): types from examples.
//! - [`format`](mod@format): what makes an encoding one of the table of formats.

pub mod batch;
pub mod bits;
pub mod column;
pub mod encoder;
pub mod format;
pub mod infer;
pub mod parse;
pub mod print;
pub mod quotes;
pub mod reader;
mod source;
pub mod split;
pub mod views;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;

use crate::error::Result;
use crate::reader::Skipped;

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

/// Turns the bytes of a row encoding into rows. Bytes are pushed in, batches come out.
pub trait Decoder: Send {
    /// Decodes the whole records of the input until the batch is full, and gives the number of bytes consumed. It
    /// stops before a record that goes on beyond the block, except that with [`Input::last`] there is none.
    fn decode(&mut self, input: Input) -> Result<usize>;

    /// Whether the batch is full: flush before going on.
    fn is_full(&self) -> bool;

    /// The rows so far.
    fn flush(&mut self) -> Result<Option<RecordBatch>>;

    /// The records and the lines consumed so far, with those that were skipped.
    fn position(&self) -> (u64, u64);

    /// What was passed over so far.
    fn skipped(&self) -> Skipped;
}
