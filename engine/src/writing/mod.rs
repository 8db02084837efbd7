//! Rows to files.
//!
//! - [`generate`], [`convert`], [`copy`]: the benchmark's tables, files of any format, and the rows of a query, to files.
//! - [`make`]: the first two by several processes.
//! - [`dataset`]: rows to the files of a dataset, or to one file.
//! - [`ordered_pipeline`]: encodes in parallel, and keeps the order.
//! - [`row_checksum`], [`verify`]: a checksum of what rows hold, by which what was written is compared with its source.

pub mod convert;
pub mod copy;
pub mod dataset;
pub mod generate;
pub mod make;
pub mod ordered_pipeline;
pub mod row_checksum;
pub mod verify;
