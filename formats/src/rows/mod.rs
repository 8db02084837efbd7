//! Row encodings: records one after another in a stream of bytes, plain or compressed as a whole.
//!
//! An encoding of this kind implements the small [`RecordParser`]. [`reader::RowReader`] makes it a file reader, for a
//! range of bytes, a whole file or standard input. Modules in the order in which bytes meet them:
//! - [`split`]: cutting a file into morsels, and where the first record of a morsel begins.
//! - [`quotes`]: the automaton of quotes, for borders and for records that are not regular.
//! - [`reader`]: the adapter: which morsel is read, and where its first record begins.
//! - `begin`: how it begins with a file; `seek`: how it finds that record; `speculative`: how it counts records without looking for quotes first.
//! - [`rewrite`]: text in other encodings, and with lines and escapes that csv does not have.
//! - [`sequential_splits`]: files whose pieces are found as they are read.
//! - `stream`: cutting pieces of whole records off a stream.
//! - `blocks`: which bytes are needed, decompression, records that cross blocks.
//! - `decoder`: what an encoding implements.
//! - [`batch`]: the batch being filled, and what is done with what does not fit.
//! - [`binary`]: what encodings that are no text share.
//! - [`json_strings`]: what strings of JSON spell, and how they are written.
//! - [`walk`]: records that nothing but their values delimits.
//! - [`noted`]: where the fields of structs lie.
//! - [`column`], `fixed`, `strings`, `nested`, [`views`]: columns under construction.
//! - [`syntax`]: how an encoding writes values.
//! - [`tagged`]: values that carry their own kind.
//! - [`described`]: records as a file of another program describes them.
//! - [`keys`]: which column a key names.
//! - [`parse`]: text to values.
//! - [`cells`], [`values`], [`print`](mod@print): columns to values, values to text.
//! - [`bits`]: where bytes occur, 64 at a time.
//! - [`encoder`]: blocks of rows to bytes.
//! - [`wider`]: the type that holds the values of two.
//! - [`head`](mod@head): the first records of a file, for guesses.
//! - `samples`: records from several places of a large file, for types.
//! - [`infer`](mod@infer), [`shape`]: types from examples; [`schema_probe`]: whether others have the same.
//! - [`format`](mod@format): what makes an encoding one of the table of formats.

pub mod batch;
mod begin;
pub mod binary;
pub mod bits;
mod blocks;
pub mod cells;
pub mod column;
mod decoder;
pub mod described;
pub mod encoder;
mod fixed;
pub mod format;
pub mod head;
pub mod infer;
pub mod json_strings;
pub mod keys;
mod nested;
pub mod noted;
pub mod parse;
pub mod print;
pub mod quotes;
pub mod reader;
pub mod rewrite;
pub(crate) mod samples;
pub mod schema_probe;
mod seek;
pub mod sequential_splits;
pub mod shape;
mod source;
mod speculative;
pub mod split;
mod stream;
mod strings;
pub mod syntax;
pub mod tagged;
pub mod values;
pub mod views;
pub mod walk;
pub mod wider;

pub use decoder::{BatchDecoder, Decoder, Input, RecordParser};
