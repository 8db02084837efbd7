//! Bytes to Arrow record batches and back. Nothing here names SQL or timely.
//!
//! Modules in the order in which bytes pass through them:
//! - [`error`]: what can be wrong with bytes, and where.
//! - [`memory`]: what decoders ask before they allocate.
//! - [`panics`]: panics that are caught where they happen.
//! - [`threads`], `parallel`: threads that do the same work side by side, and the same work for many files.
//! - [`format`]: the traits that an encoding implements. [`registry`]: the table of encodings.
//! - [`inspect`]: what lies in a file, for people.
//! - [`store`]: where bytes are: files and pipes, the directories outside of which nothing is touched, and writes that appear
//!   whole or not at all.
//! - [`discover`]: from what a user writes behind FROM to a table: which files, in which format, of which schema.
//! - [`checksum`]: compares files with their checksums.
//! - [`compress`]: compressions around whole files.
//! - [`rows`]: what all row encodings share, and the adapter that makes them file readers.
//! - [`text`], [`csv`], [`jsonl`]: row encodings.
//! - [`reader`]: the file reader, a state machine that does no I/O, and a driver for it.
//! - [`rejects`]: which rows and values readers have passed over.
//! - [`writer`]: blocks of rows to bytes, in parallel, and their assembly in order.
//! - [`columns`]: what the column formats have in common.
//! - [`bincode`], [`msgpack`], [`cbor`], [`protobuf`], [`capnproto`]: records of bytes.
//! - [`parquet`]: Apache Parquet.
//! - [`arrow`]: Arrow IPC files and streams.
//! - [`avro`]: Avro object container files, which are read and not written.
//! - [`buren`]: the column format of palais.
//! - [`xlsx`]: Excel workbooks, read.

pub mod arrow;
pub mod avro;
pub mod bincode;
pub mod buren;
pub mod capnproto;
pub mod cbor;
pub mod checksum;
pub mod columns;
pub mod compress;
pub mod csv;
pub mod discover;
pub mod error;
pub mod format;
pub mod inspect;
pub mod jsonl;
pub mod memory;
pub mod msgpack;
pub mod panics;
mod parallel;
pub mod parquet;
pub mod protobuf;
pub mod reader;
pub mod registry;
pub mod rejects;
pub mod rows;
pub mod store;
pub mod text;
pub mod threads;
pub mod writer;
pub mod xlsx;

pub use error::{Error, Result};
