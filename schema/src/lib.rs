//! Tables: schemas, the catalog, datasets and their manifests, and the benchmark's tables.
//!
//! Modules in the order in which data meets them:
//! - [`table`]: what a query knows of a table: its schema and where its rows come from.
//! - [`dialect`]: how csv files of other programs are written.
//! - [`messages`]: how the messages of a Protocol Buffers file lie.
//! - [`structs`]: how the structs of a Cap'n Proto file lie.
//! - [`estimates`]: what is guessed of a table before it is read.
//! - [`instants`]: time zones of columns.
//! - [`zones`]: time zones by their names, and what their clocks show.
//! - [`time_formats`]: dates and times as text by a format, and back.
//! - [`durations`]: differences of timestamps as intervals.
//! - [`text`]: schemas as text: Arrow's JSON form and SQL's `CREATE TABLE`.
//! - [`names`]: names of columns that must differ, and names that are near to an unknown one.
//! - [`parts`]: one table of parts that lie on several hosts.
//! - [`manifest`]: the `_manifest.json` of a dataset, a directory of part files.
//! - [`bdb`]: the tables of the AMPLab Big Data Benchmark, each row a pure function of seed and row number.

pub mod bdb;
pub mod dialect;
pub mod durations;
pub mod estimates;
pub mod instants;
pub mod manifest;
pub mod messages;
pub mod names;
pub mod parts;
pub mod structs;
pub mod table;
pub mod text;
pub mod time_formats;
pub mod zones;

pub use dialect::{Comments, Dialect, SheetChoice};
pub use estimates::{ColumnEstimate, TableEstimates};
pub use manifest::{Manifest, ManifestError};
pub use table::{
    ColumnBound, ColumnPrefix, DeferredValidation, FileEntry, FileLayout, FileSet, FormatOptions,
    KeepRejects, Listed, MemoryRows, OnError, RecordLayout, Source, Splitting, Table,
};
