//! The command line of `palais bench`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args as Flags, Subcommand};

use formats::registry::written;

use super::{Input, encoding};

/// `palais bench`.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Bench {
    /// What each encoding with each compression costs: bytes, time to write, time of a query, and what bounds it.
    Formats(BenchFormats),
    /// What the number of workers and reading ahead do to the time of a query, over small and large files.
    Threads(BenchThreads),
}

// The table that is measured, and the query.
#[derive(Debug, Flags)]
pub struct BenchTable {
    /// A file, a glob, a directory or a dataset; rows of the benchmark's uservisits are made if not given.
    #[arg(value_name = "TABLE")]
    pub path: Option<String>,
    /// The rows that are made.
    #[arg(long, value_name = "N", default_value_t = 2_000_000, conflicts_with = "path",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub rows: u64,
    /// The query, which calls the table t; the benchmark's query 2A if not given.
    #[arg(long, value_name = "SQL")]
    pub query: Option<String>,
}

// Where files and figures go.
#[derive(Debug, Flags)]
pub struct BenchOutput {
    /// Where the files that are measured are put; each is removed once it is measured.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub scratch: PathBuf,
    /// Write the figures into this directory, as CSV and JSON, and a chart as SVG.
    #[arg(long, short = 'o', value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace a directory of figures that is already there.
    #[arg(long)]
    pub overwrite: bool,
}

// `palais bench formats`.
#[derive(Debug, Flags)]
pub struct BenchFormats {
    /// The table.
    #[command(flatten)]
    pub table: BenchTable,
    /// A file with the rows that the query is to give; the rows that it gives on the table itself if not given.
    #[arg(long, value_name = "FILE")]
    pub expect: Option<PathBuf>,
    /// Encodings, with commas between them; all if not given.
    #[arg(long, value_name = "ENCODINGS", value_delimiter = ',', value_parser = encoding(written()))]
    pub encodings: Vec<String>,
    /// Compressions, with commas between them; all if not given.
    #[arg(long, value_name = "COMPRESSIONS", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(formats::compress::names()))]
    pub compressions: Vec<String>,
    /// How often the query runs on each after a first run, of which the median is taken.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Have the system forget the files before each run, so that they are read from the disk.
    #[arg(long)]
    pub cold: bool,
    /// Worker threads; the cores of the machine or its control group if not given.
    #[arg(long, short = 'w', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Where files and figures go.
    #[command(flatten)]
    pub place: BenchOutput,
    /// How to read the table.
    #[command(flatten)]
    pub input: Input,
}

// `palais bench threads`.
#[derive(Debug, Flags)]
pub struct BenchThreads {
    /// The table.
    #[command(flatten)]
    pub table: BenchTable,
    /// The encoding of the files.
    #[arg(long, value_name = "ENCODING", default_value = "csv", value_parser = encoding(written()))]
    pub encoding: String,
    /// Their compressions, with commas between them.
    #[arg(long, value_name = "COMPRESSIONS", value_delimiter = ',', default_value = "none,zstd",
        value_parser = PossibleValuesParser::new(formats::compress::names()))]
    pub compressions: Vec<String>,
    /// Numbers of worker threads, with commas between them; from 1 to four times the cores if not given.
    #[arg(long, short = 'w', value_name = "NUMBERS", value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Vec<u16>,
    /// Numbers of files, or parts of files, that the system is asked to read ahead, with commas between them. From 0 to
    /// 64 if not given.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(..=256))]
    pub read_ahead: Vec<u16>,
    /// How often the query runs with each setting, of which the median is taken.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Measure also from the disk: the system is asked to forget the files before each run.
    #[arg(long)]
    pub cold: bool,
    /// Where files and figures go.
    #[command(flatten)]
    pub place: BenchOutput,
    /// How to read the table.
    #[command(flatten)]
    pub input: Input,
}
