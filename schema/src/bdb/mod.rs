//! The tables of the AMPLab Big Data Benchmark, made while they are read.
//!
//! A row is a pure function of the seed and the row's number, so any worker makes any range of rows, in any order. Its
//! memory depends on the range alone. `docs/benchmark-data.md` says how each column is drawn and where that departs
//! from the generator of the published data, HiveData of Intel's HiBench.
//!
//! Modules in the order in which a row is made:
//! - [`random`]: random numbers addressed by key and counter.
//! - [`parts`]: how the rows of a table are assigned to part files.
//! - [`url`]: page number to URL, without repeats.
//! - [`links`]: how many links lead to a page, and which page a link leads to.
//! - [`agents`], [`lists`]: the user agents, locales and words that values are picked from.
//! - [`strings`]: a column of string views over one buffer.
//! - [`rankings`], [`visits`], [`documents`]: the columns of the three tables.

mod agents;
mod documents;
mod links;
mod lists;
pub mod parts;
mod random;
mod rankings;
mod strings;
mod url;
mod visits;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

pub use url::MAX_PAGES;

/// One of the benchmark's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Pages and how many links lead to them.
    Rankings,
    /// Visits to the pages of rankings.
    UserVisits,
    /// The text of crawled pages, a line a row.
    Documents,
}

impl Kind {
    /// All tables, in the order in which they are generated.
    pub const ALL: [Kind; 3] = [Kind::Rankings, Kind::UserVisits, Kind::Documents];

    /// The table's name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Rankings => "rankings",
            Kind::UserVisits => "uservisits",
            Kind::Documents => "documents",
        }
    }

    /// The table of this name, in any case of letters.
    pub fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// The columns. None of them is ever null.
    pub fn schema(self) -> SchemaRef {
        let field = |name: &str, data_type| Field::new(name, data_type, false);
        let fields = match self {
            Kind::Rankings => vec![
                field("pageURL", DataType::Utf8View),
                field("pageRank", DataType::Int32),
                field("avgDuration", DataType::Int32),
            ],
            Kind::UserVisits => vec![
                field("sourceIP", DataType::Utf8View),
                field("destURL", DataType::Utf8View),
                field("visitDate", DataType::Date32),
                field("adRevenue", DataType::Float32),
                field("userAgent", DataType::Utf8View),
                field("countryCode", DataType::Utf8View),
                field("languageCode", DataType::Utf8View),
                field("searchWord", DataType::Utf8View),
                field("duration", DataType::Int32),
            ],
            Kind::Documents => vec![field("line", DataType::Utf8View)],
        };
        Arc::new(Schema::new(fields))
    }
}

/// The sizes of the tables of one data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Rows of rankings: the number of pages.
    pub rankings: u64,
    /// Rows of uservisits.
    pub uservisits: u64,
    /// Bytes of documents as text, about.
    pub documents_bytes: u64,
}

impl Sizes {
    /// The published sets: `tiny`, `1node`, `5nodes`.
    pub fn of_set(name: &str) -> Option<Sizes> {
        let (rankings, uservisits, documents_bytes) = match name {
            "tiny" => (1_200, 10_000, 6_800_000),
            "1node" => (18_000_000, 155_000_000, 29_000_000_000),
            "5nodes" => (90_000_000, 775_000_000, 136_900_000_000),
            _ => return None,
        };
        Some(Sizes { rankings, uservisits, documents_bytes })
    }

    /// The names that [`Sizes::of_set`] knows.
    pub const SETS: [&'static str; 3] = ["tiny", "1node", "5nodes"];

    /// One table of these sizes.
    pub fn table(self, table: Kind, seed: u64) -> Spec {
        let Sizes { rankings, uservisits, documents_bytes } = self;
        Spec { table, rankings, uservisits, documents_bytes, seed }
    }
}

/// Which rows of which table are made. The sizes of the other tables matter too: visits and links lead to the pages
/// of rankings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Spec {
    /// The table.
    pub table: Kind,
    /// Rows of rankings: the number of pages.
    pub rankings: u64,
    /// Rows of uservisits.
    pub uservisits: u64,
    /// Bytes of documents as text, about.
    pub documents_bytes: u64,
    /// The seed; every row is a pure function of it and the row's number.
    pub seed: u64,
}

impl Spec {
    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    /// The number of units that [`Generator::batch`] makes: rows of rankings and uservisits, pages of documents.
    pub fn units(&self) -> u64 {
        match self.table {
            Kind::Rankings => self.rankings,
            Kind::UserVisits => self.uservisits,
            Kind::Documents => documents::pages(self.documents_bytes),
        }
    }

    /// The number of rows, where it is known without making them: not for documents.
    pub fn rows(&self) -> Option<u64> {
        match self.table {
            Kind::Rankings | Kind::UserVisits => Some(self.units()),
            Kind::Documents => None,
        }
    }

    /// The mean size of a unit in bytes, as csv or text.
    pub fn unit_bytes(&self) -> u64 {
        match self.table {
            Kind::Rankings => 62,
            Kind::UserVisits => 164,
            Kind::Documents => documents::mean_page_bytes() as u64,
        }
    }

    /// Whether tables of this size can be made; if not, why.
    pub fn check(&self) -> Result<(), String> {
        if self.rankings > MAX_PAGES {
            return Err(format!("rankings has at most {MAX_PAGES} rows, for so many URLs are distinct"));
        }
        Ok(())
    }

    /// Prepares what all rows share. Costs about as much as a few rows; make it once a scan.
    pub fn generator(&self) -> Generator {
        let pages = self.rankings.clamp(1, MAX_PAGES);
        let urls = url::Urls::new(self.seed);
        let table = match self.table {
            Kind::Rankings => Table::Rankings(rankings::Rankings::new(self.seed, pages, urls)),
            Kind::UserVisits => Table::Visits(visits::Visits::new(self.seed, pages, self.uservisits, urls)),
            Kind::Documents => Table::Documents(documents::Documents::new(self.seed, pages, urls)),
        };
        Generator { spec: *self, schema: self.schema(), table }
    }

    /// [`Generator::batch`] for a single call.
    pub fn batch(&self, range: Range<u64>, projection: &[usize]) -> RecordBatch {
        self.generator().batch(range, projection)
    }
}

/// Makes the rows of one table.
#[derive(Debug, Clone)]
pub struct Generator {
    spec: Spec,
    schema: SchemaRef,
    table: Table,
}

#[derive(Debug, Clone)]
enum Table {
    Rankings(rankings::Rankings),
    Visits(visits::Visits),
    Documents(documents::Documents),
}

impl Generator {
    /// What is made.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The rows of these units (see [`Spec::units`]; what lies beyond the last is left out), only the columns of
    /// `projection`, in its order. The same range gives the same rows wherever and whenever it is asked for.
    ///
    /// # Panics
    /// If `projection` names a column that the table does not have.
    pub fn batch(&self, range: Range<u64>, projection: &[usize]) -> RecordBatch {
        let end = range.end.min(self.spec.units());
        let range = range.start.min(end)..end;
        let (rows, columns): (usize, Vec<ArrayRef>) = match &self.table {
            Table::Rankings(rankings) => (
                (range.end - range.start) as usize,
                projection.iter().map(|&c| rankings.column(c, range.clone())).collect(),
            ),
            Table::Visits(visits) => (
                (range.end - range.start) as usize,
                projection.iter().map(|&c| visits.column(c, range.clone())).collect(),
            ),
            Table::Documents(documents) => documents.columns(range, projection),
        };
        let fields: Vec<_> = projection.iter().map(|&c| self.schema.fields()[c].clone()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
            .expect("every column has the type and the rows that the schema says")
    }
}

#[cfg(test)]
mod tests;
