//! Writes rows to files.
//!
//! - [`generate`], [`convert`], [`copy`]: write the benchmark's tables, files of any format, and the rows of a query.
//! - [`make`]: several processes write the first two together.
//! - [`dataset`]: writes rows to the files of a dataset, or to one file.
//! - [`ordered_pipeline`]: encodes in parallel, and keeps the order.
//! - [`row_checksum`], [`verify`]: a checksum of rows, by which written files are compared with their source.

pub mod convert;
pub mod copy;
pub mod dataset;
pub mod generate;
pub mod make;
pub mod ordered_pipeline;
pub mod row_checksum;
pub mod verify;
