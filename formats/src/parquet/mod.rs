//! Apache Parquet, by the `parquet` crate.
//!
//! - [`footer`]: the footer, parsed once a file, and the types in which its columns are read.
//! - `inspect`: what lies in a file, for people; [`facts`]: what footers tell, as rows.
//! - [`interval`]: INTERVAL, which the crate does not read whole.
//! - `row_groups`: row groups with columns of lists; `lists`: such a column, of its items and of the lists around them;
//!   `levels`: which items a list has; `chunks`: the pages of a column, without snappy and without the levels of a list.
//! - `room`: memory for unpacked pages.
//! - [`prune`]: row groups that a scan can't want, by their statistics.
//! - `depth`: how deep a schema is nested, looked at before the crate makes a tree of it.
//! - `pages`: what page headers claim, checked before the crate believes it.
//! - [`read`]: the reader of a run of row groups, around the crate's push decoder.
//! - [`select`]: rows chosen before the other columns are decoded.
//! - `thrift`: as much of Thrift as is looked at before.
//! - [`write`]: row groups encoded in parallel and appended in order.

mod chunks;
mod depth;
pub mod facts;
pub mod footer;
mod inspect;
pub mod interval;
mod levels;
mod lists;
mod pages;
pub mod prune;
pub mod read;
mod room;
mod row_groups;
pub mod select;
mod thrift;
pub mod write;

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use schema::{FileEntry, FormatOptions};

use crate::columns::adapt::Adapter;
use crate::columns::bounds::{Wanted, united};
use crate::columns::facts::{ColumnFacts, RowsPart, values_of};
use crate::columns::groups;
use crate::columns::guard::guarded;
use crate::error::{Error, Result};
use crate::format::{Format, Morsel, Part, ScanOptions};
use crate::inspect::Inspection;
use crate::reader::FileReader;
use crate::writer::FileEncoder;

use footer::Footer;

/// The Parquet format.
pub struct Parquet;

impl Format for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn title(&self) -> &'static str {
        "Parquet"
    }

    fn magic(&self) -> &'static [&'static [u8]] {
        &[b"PAR1"]
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["parquet", "pq", "parq"]
    }

    fn compresses_inside(&self) -> bool {
        true
    }

    fn compressions(&self) -> &'static [&'static str] {
        &["none", "snappy", "gzip", "lz4", "zstd"]
    }

    fn usual_compression(&self) -> &'static str {
        // As DuckDB, pyarrow and Spark do: every reader has it, and it costs little.
        "snappy"
    }

    fn infer(&self, file: &FileEntry, _options: &FormatOptions, _infer_rows: usize) -> Result<SchemaRef> {
        Ok(Footer::open(file)?.schema().clone())
    }

    fn rows(&self, file: &FileEntry, _options: &FormatOptions) -> Result<Option<u64>> {
        Ok(Some(Footer::open(file)?.rows()))
    }

    fn stated(&self, file: &FileEntry, _options: &FormatOptions) -> Result<(SchemaRef, Option<u64>)> {
        let footer = Footer::open(file)?;
        Ok((footer.schema().clone(), Some(footer.rows())))
    }

    fn facts(&self, file: &FileEntry) -> Result<Vec<ColumnFacts>> {
        let footer = Footer::open(file)?;
        let rows = footer.rows() as f64;
        let facts = footer.schema().fields().iter().enumerate().map(|(column, field)| {
            let zone = |group| prune::zone(&footer, group, column, field.data_type()).unwrap_or_default();
            let groups = || 0..footer.groups();
            let part = |group| {
                let values = footer.distinct(group, column)? as f64;
                Some(RowsPart { rows: footer.group_rows(group) as f64, values, zone: zone(group) })
            };
            let parts: Option<Vec<RowsPart>> = groups().map(part).collect();
            let values = parts.and_then(|parts| values_of(&parts, rows));
            ColumnFacts { field: field.clone(), zone: united(groups().map(zone)), values }
        });
        Ok(facts.collect())
    }

    fn inspect(&self, file: &FileEntry) -> Result<Option<Inspection>> {
        inspect::inspect(file).map(Some)
    }

    fn split(&self, file: &Arc<FileEntry>, scan: &ScanOptions, target_bytes: u64) -> Result<Vec<Morsel>> {
        let footer = Arc::new(Footer::open(file)?);
        let adapter = Adapter::new(footer.decoded(), scan).map_err(|e| e.at(&file.path))?;
        let wanted = Wanted::of(scan);
        let kept = (0..footer.groups())
            .filter(|&group| !prune::excluded(&footer, group, scan, &wanted))
            .map(|group| (group, footer.bytes(group, adapter.read())));
        Ok(groups::morsels(file, kept, target_bytes, footer.clone()))
    }

    fn ranges(&self, morsel: &Morsel, scan: &ScanOptions) -> Vec<Range<u64>> {
        let (Part::Groups(groups), Ok(footer)) = (&morsel.part, morsel.shared.clone().downcast::<Footer>())
        else {
            return vec![];
        };
        let Ok(adapter) = Adapter::new(footer.decoded(), scan) else { return vec![] };
        groups.clone().flat_map(|group| footer.ranges(group, adapter.read())).collect()
    }

    fn reader(&self, morsel: &Morsel, scan: &ScanOptions) -> Result<Box<dyn FileReader>> {
        let (Part::Groups(groups), Ok(footer)) = (&morsel.part, morsel.shared.clone().downcast::<Footer>())
        else {
            return Err(Error::Unsupported("a parquet reader was given a morsel of another format".into()));
        };
        let reader = guarded(|| read::Reader::new(&footer, groups.clone(), scan));
        Ok(Box::new(reader.map_err(|e| e.at(&morsel.file.path))?))
    }

    fn encoder(&self, schema: &SchemaRef, options: &FormatOptions) -> Result<Arc<dyn FileEncoder>> {
        Ok(Arc::new(write::Encoder::new(schema, options)?))
    }
}

/// What the parquet crate says of bytes that it can't read.
fn bad(error: impl std::fmt::Display) -> Error {
    let text = error.to_string();
    // Each layer of the crates puts its name before.
    let text = ["Arrow: ", "Parquet argument error: ", "Parquet error: "]
        .iter()
        .fold(text.as_str(), |text, layer| text.strip_prefix(layer).unwrap_or(text));
    Error::corrupt(format!("not valid Parquet: {text}"))
}
