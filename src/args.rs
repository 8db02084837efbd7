//! The command line as it is written; `settings` resolves it.
//!
//! - [`mod@bench`]: the command line of `palais bench`.
//! - [`cluster`]: the command line of `palais cluster` and `palais node`.

mod bench;
mod cluster;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args as Flags, Parser, Subcommand, ValueEnum};

use formats::format::Format;
use formats::registry::{formats, written};
use session::writers::ResultFormat;

pub use bench::{Bench, BenchFormats, BenchOutput, BenchTable, BenchThreads};
pub use cluster::{
    At, Cleanup, Cluster, ClusterConvert, ClusterGenerate, ClusterRun, MakeTarget, Node, PlacementFlags,
    Started, Tls,
};

/// SQL over files on timely dataflow.
#[derive(Debug, Parser)]
#[command(name = "palais", version = env!("PALAIS_VERSION"), disable_help_subcommand = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The usual `--read-ahead`.
const READ_AHEAD: u16 = engine::operators::scan::prefetch::PARTS as u16;

/// The name of one of these encodings, of which the suffix of its files is one too.
fn encoding(of: impl Iterator<Item = &'static dyn Format>) -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(of.map(|f| PossibleValue::new(f.name()).aliases(f.extensions())))
        .try_map(|name| formats::registry::format(&name).map(|f| f.name().to_string()))
}

fn result_formats() -> impl TypedValueParser<Value = ResultFormat> {
    let values = ResultFormat::all()
        .into_iter()
        .map(|(format, what)| PossibleValue::new(format.name()).help(what).aliases(format.aliases()));
    PossibleValuesParser::new(values)
        .try_map(|name| ResultFormat::named(&name).ok_or("there is no such format"))
}

/// The commands. The flags of one are made only when it is called or explained: those of all took a fifth of the
/// instructions of a short query. What is said of a command is said here alone: a doc comment at its flags, or at
/// flags that it shares with others, would take its place.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Run a SQL query over files.
    Query(Query),
    /// Run statements that are typed, one after another.
    Shell(Shell),
    /// Run a query of the AMPLab Big Data Benchmark by name: 1a to 1c, 2a to 2c, 3a to 3c, 4.
    Bdb(Bdb),
    /// Write files into files of another format, in the order of their rows.
    Convert(Convert),
    /// Write the tables of the AMPLab Big Data Benchmark.
    Generate(Generate),
    /// Print the schema of files, as text that --schema reads.
    Schema(Schema),
    /// Print what lies in files: format, rows, bytes and columns. Of Parquet, Arrow and buren also the row groups, and
    /// of each column the encoding, the bytes, the least and the greatest value.
    Inspect(Inspect),
    /// Keep the result of a query up to date as files are added; prints changes as JSON lines with __diff.
    Watch(Watch),
    /// Run a SQL query in several processes, make files with them, or look at nodes and what runs there.
    #[command(subcommand)]
    Cluster(Cluster),
    /// Serve this host: run queries for `palais query --cluster` together with other nodes.
    Node(Node),
    /// Measure what a choice costs, on your own data.
    #[command(subcommand)]
    Bench(Bench),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

// `palais query`.
#[derive(Debug, Flags)]
pub struct Query {
    /// The statement, or several with semicolons between them; read from standard input if neither this nor --file is given.
    pub sql: Option<String>,
    /// Read the statements from a file.
    #[arg(short = 'f', long = "file", value_name = "FILE", conflicts_with = "sql")]
    pub file: Option<PathBuf>,
    /// Print the fingerprint of the plan instead of running it; a line for each statement where lines of a single
    /// semicolon separate several.
    #[arg(long)]
    pub plan_fingerprint: bool,
    /// Run it on nodes (palais node), of which this is any one; files are those of the nodes.
    #[arg(long, value_name = "HOST:PORT", requires = "token_file",
        conflicts_with_all = ["plan_fingerprint", "repeat", "profile"])]
    pub cluster: Option<String>,
    /// The file with the token of the nodes.
    #[arg(long, value_name = "FILE", env = "PALAIS_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
    /// Whether the nodes speak TLS.
    #[command(flatten)]
    pub tls: Tls,
    /// With --cluster: each node has files of its own at the places of a table, which is all of them together.
    #[arg(long, requires = "cluster")]
    pub local_parts: bool,
    /// With --cluster: run it again, up to so many times, when a node is lost and no row was printed; without that node.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "cluster")]
    pub retries: u32,
    /// Tables and how to read them.
    #[command(flatten)]
    pub input: Input,
    /// How to run.
    #[command(flatten)]
    pub run: Run,
}

// `palais shell`.
#[derive(Debug, Flags)]
pub struct Shell {
    /// Run the statements and commands of a file first, and not those of ~/.config/palais/init.sql.
    #[arg(long, value_name = "FILE")]
    pub init: Option<PathBuf>,
    /// Run nothing first.
    #[arg(long, conflicts_with = "init")]
    pub no_init: bool,
    /// The form of results: on a terminal a table if not given, else csv.
    #[arg(long, value_parser = result_formats())]
    pub format: Option<ResultFormat>,
    /// Don't show a progress bar.
    #[arg(long)]
    pub no_progress: bool,
    /// Tables and how to read them.
    #[command(flatten)]
    pub input: Input,
    /// How to run.
    #[command(flatten)]
    pub execution: Execution,
}

// `palais bdb`.
#[derive(Debug, Flags)]
pub struct Bdb {
    /// The query: 1a, 1b, 1c, 2a, 2b, 2c, 3a, 3b, 3c or 4.
    pub name: String,
    /// The command that query 4 streams each file of documents through; a Python script of palais' own if not given.
    #[arg(long, value_name = "COMMAND")]
    pub script: Option<String>,
    /// Tables and how to read them.
    #[command(flatten)]
    pub input: Input,
    /// How to run.
    #[command(flatten)]
    pub run: Run,
}

// `palais convert`.
#[derive(Debug, Clone, Flags)]
pub struct Convert {
    /// A file, '-', a glob, a directory or a dataset.
    pub source: String,
    /// A file, if its suffix names an encoding (x.parquet, x.csv.gz); else a directory, with a part for each file.
    pub destination: PathBuf,
    /// How to write.
    #[command(flatten)]
    pub write: Write,
    /// csv: write no names into the first row.
    #[arg(long)]
    pub no_header: bool,
    /// msgpack, cbor: write a row as an array of its values, without the columns' names, instead of a map.
    #[arg(long)]
    pub arrays: bool,
    /// Read back what was written and compare every value with the source before it appears.
    #[arg(long)]
    pub verify: bool,
    /// Write into directories that the values of these columns name, such as year=2026/month=5: the destination is a
    /// directory, and its files have the other columns.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', conflicts_with = "verify")]
    pub partition_by: Option<Vec<String>>,
    /// Write the rows and values that are passed over to a file, with their line and the reason; csv, or what its
    /// suffix says. A bad value is passed over with its row, unless --on-error null says otherwise.
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<PathBuf>,
    /// How to read.
    #[command(flatten)]
    pub input: Input,
}

// `palais generate`.
#[derive(Debug, Clone, Flags)]
pub struct Generate {
    /// Where each table gets a directory.
    pub directory: PathBuf,
    /// A published size of the three tables.
    #[arg(long, value_parser = PossibleValuesParser::new(schema::bdb::Sizes::SETS),
        conflicts_with_all = ["rankings", "uservisits", "documents"])]
    pub set: Option<String>,
    /// Rows of rankings, the pages.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub rankings: Option<u64>,
    /// Rows of uservisits.
    #[arg(long, value_name = "N", requires = "rankings")]
    pub uservisits: Option<u64>,
    /// About the bytes of documents, such as 20MB.
    #[arg(long, value_name = "BYTES", requires = "rankings", value_parser = session::variables::size)]
    pub documents: Option<u64>,
    /// The files of each table; one for each 256 MB of text if not given.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub parts: Option<u32>,
    /// Another seed gives other rows.
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// How to write.
    #[command(flatten)]
    pub write: Write,
}

// How files are written.
#[derive(Debug, Clone, Flags)]
#[command(next_help_heading = "Output")]
pub struct Write {
    /// The encoding; what the name of the file says, or csv for generated tables, if not given.
    #[arg(long, value_name = "ENCODING", value_parser = encoding(written()))]
    pub to: Option<String>,
    /// The compression: none, gzip, zlib, snappy, lz4 or zstd, as far as the encoding takes it.
    #[arg(long, value_name = "COMPRESSION", value_parser = PossibleValuesParser::new(formats::compress::names()))]
    pub compression: Option<String>,
    /// Replace a file or dataset that is already there.
    #[arg(long)]
    pub overwrite: bool,
    /// Worker threads; the cores of the machine or its control group if not given.
    #[arg(long, short = 'w', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// No progress bar.
    #[arg(long)]
    pub no_progress: bool,
}

// `palais schema`.
#[derive(Debug, Flags)]
pub struct Schema {
    /// A file, a directory or a glob.
    pub path: String,
    /// The form of the text.
    #[arg(long = "as", value_enum, default_value = "ddl")]
    pub form: crate::schema::Form,
    /// How to read the files.
    #[command(flatten)]
    pub input: Input,
}

// `palais inspect`.
#[derive(Debug, Flags)]
pub struct Inspect {
    /// A file, a directory or a glob.
    pub path: String,
    /// Compare every checksum of buren files and of a dataset's manifest with the bytes.
    #[arg(long)]
    pub check: bool,
    /// How to read the files.
    #[command(flatten)]
    pub input: Input,
}

// `palais watch`.
#[derive(Debug, Flags)]
pub struct Watch {
    /// The query: filters, computed columns, and GROUP BY with COUNT, SUM and AVG, over one table.
    pub sql: String,
    /// End once no file was added for so many seconds.
    #[arg(
        long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        value_parser = crate::settings::seconds
    )]
    pub until_idle: Option<Duration>,
    /// Tables and how to read them.
    #[command(flatten)]
    pub input: Input,
    /// How to run.
    #[command(flatten)]
    pub run: Execution,
}

// Tables and how to read them.
#[derive(Debug, Clone, Flags)]
#[command(next_help_heading = "Input")]
pub struct Input {
    /// A table's name and where it lies; may be given several times.
    #[arg(long = "table", value_name = "NAME=PATH")]
    pub tables: Vec<String>,
    /// A directory of which each sub-directory or file is a table.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The schema of a table: 'bdb' for the benchmark's, a schema file, FILE.proto#MESSAGE or FILE.capnp#STRUCT; may be given several times.
    #[arg(long = "schema", value_name = "TABLE=bdb|FILE")]
    pub schemas: Vec<String>,
    /// The encoding of all files, whatever their names say.
    #[arg(long, value_name = "ENCODING", value_parser = encoding(formats().iter().copied()))]
    pub from: Option<String>,
    /// csv, workbooks: whether the first row holds the names.
    #[arg(long, value_enum, default_value = "auto")]
    pub header: Header,
    /// csv: the character between fields.
    #[arg(long, value_name = "CHAR")]
    pub delimiter: Option<String>,
    /// csv: the character around fields.
    #[arg(long, value_name = "CHAR")]
    pub quote: Option<String>,
    /// csv: the character that makes one behind it, inside quotes, stand for itself; quotes are doubled if not given.
    #[arg(long, value_name = "CHAR")]
    pub escape: Option<String>,
    /// csv: the lines before the header.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip: u64,
    /// csv: the character with which comments begin; none if it is empty.
    #[arg(long, value_name = "CHAR")]
    pub comment: Option<String>,
    /// csv: the fields that are NULL, in place of bare empty ones.
    #[arg(long, value_name = "TEXTS")]
    pub nullstr: Option<String>,
    /// csv: the character before the fraction of numbers.
    #[arg(long, value_name = "CHAR")]
    pub decimal_separator: Option<String>,
    /// csv: the character between groups of three digits.
    #[arg(long, value_name = "CHAR")]
    pub thousands: Option<String>,
    /// csv: how dates are written, such as '%d.%m.%Y'.
    #[arg(long, value_name = "FORMAT")]
    pub dateformat: Option<String>,
    /// csv: how timestamps are written, such as '%d.%m.%Y %H:%M'.
    #[arg(long, value_name = "FORMAT")]
    pub timestampformat: Option<String>,
    /// csv, JSON lines, text: the character encoding, such as latin-1, windows-1252 or utf-16; UTF-8 if not given.
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<String>,
    /// JSON: the keys to the array with the rows of a file, such as data or result.items; '$': its values are rows.
    #[arg(long, value_name = "KEYS")]
    pub json_path: Option<String>,
    /// Workbooks: the name of the sheet; the first one if not given.
    #[arg(long, value_name = "NAME")]
    pub sheet: Option<String>,
    /// Workbooks: the cells of the table, such as A1:C10, A:C or 2:10; those in use if not given.
    #[arg(long, value_name = "CELLS")]
    pub range: Option<String>,
    /// How many records are looked at to infer a schema.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub infer_rows: u64,
    /// Files of one table may have different columns: they are matched by name, and a missing one is NULL.
    #[arg(long)]
    pub union_by_name: bool,
    /// What is done with a value that does not fit the schema.
    #[arg(long, value_enum, default_value = "fail")]
    pub on_error: OnErrorFlag,
    /// The longest record that is read.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = session::variables::record)]
    pub max_record: u64,
    /// Add a column _file with the path that each row comes from.
    #[arg(long)]
    pub file_column: bool,
}

// How to run.
#[derive(Debug, Flags)]
#[command(next_help_heading = "Execution")]
pub struct Execution {
    /// Worker threads; the cores of the machine or its control group if not given.
    #[arg(long, short = 'w', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// The most memory that is used, such as 4GiB; 70 % of what the machine or its control group has if not given.
    /// Groups that do not fit are put on disk, in the directory that TMPDIR names or in /var/tmp.
    #[arg(long, value_name = "SIZE", value_parser = session::variables::memory)]
    pub memory_limit: Option<u64>,
    /// A join copies its smaller input to every worker if that is estimated at no more than this. A larger one is
    /// spread over the workers by its keys, and in a single process all but tiny ones. 16MiB if not given.
    #[arg(long, value_name = "SIZE", value_parser = session::variables::size)]
    pub broadcast_limit: Option<u64>,
    /// The time zone in which instants have their dates, times and texts, by its name (Europe/Berlin). UTC if not given.
    #[arg(long, value_name = "ZONE", value_parser = session::variables::time_zone)]
    pub time_zone: Option<String>,
    /// Allow transform() to start commands.
    #[arg(long)]
    pub allow_scripts: bool,
}

// How to run, and where the result goes.
#[derive(Debug, Flags)]
#[command(next_help_heading = "Execution and output")]
pub struct Run {
    /// How to run.
    #[command(flatten)]
    pub execution: Execution,
    /// The form of the result: on a terminal a table if not given, else csv.
    #[arg(long, value_parser = result_formats())]
    pub format: Option<ResultFormat>,
    /// Write the result to a file; - is standard output.
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The compression of that file: none, gzip, zlib, snappy, lz4 or zstd, as far as its format takes it. It is what
    /// its name says, or what is usual, if not given.
    #[arg(long, value_name = "COMPRESSION", requires = "output",
        value_parser = PossibleValuesParser::new(formats::compress::names()))]
    pub compression: Option<String>,
    /// Write the result into directories that the values of these columns name, such as year=2026/month=5. The output
    /// is a directory, and its files have the other columns.
    #[arg(long, value_name = "COLUMNS", requires = "output", value_delimiter = ',')]
    pub partition_by: Option<Vec<String>>,
    /// Replace a file that is already there.
    #[arg(long)]
    pub overwrite: bool,
    /// Write the rows and values that are passed over to a file, with their line and the reason; csv, or what its
    /// suffix says. A bad value is passed over with its row, unless --on-error null says otherwise.
    #[arg(long, value_name = "FILE", conflicts_with = "repeat")]
    pub rejects: Option<PathBuf>,
    /// Write figures of the run to a file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    /// Write a flame graph of the run to a file: SVG with the functions in which processor time went.
    #[arg(long, value_name = "FILE.svg")]
    pub profile: Option<PathBuf>,
    /// Run the query N times in one process; the result is kept in memory and not printed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
        conflicts_with_all = ["format", "output"])]
    pub repeat: Option<u32>,
    /// How many of the next files, or parts of files, the system is asked to read ahead, and 2 MiB for each; 0 for none.
    #[arg(long, value_name = "N", default_value_t = READ_AHEAD, value_parser = clap::value_parser!(u16).range(..=256))]
    pub read_ahead: u16,
    /// No progress bar.
    #[arg(long)]
    pub no_progress: bool,
}

/// `--header`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Header {
    /// There is one.
    Yes,
    /// There is none.
    No,
    /// Look.
    Auto,
}

/// `--on-error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnErrorFlag {
    /// The query fails.
    Fail,
    /// The value is NULL.
    Null,
    /// The row is left out.
    Skip,
}

#[cfg(test)]
mod tests {
    use session::Settings;

    use super::*;

    /// What is said of each command and of those below it.
    fn said(command: &clap::Command) -> Vec<String> {
        let of = |command: &clap::Command| {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            [vec![format!("{}: {about}", command.get_name())], said(command)].concat()
        };
        command.get_subcommands().flat_map(of).collect()
    }

    #[test]
    fn a_command_says_of_itself_what_the_list_says() {
        let mut command = <Args as clap::CommandFactory>::command();
        let listed = said(&command);
        command.build();
        assert_eq!(listed, said(&command));
        assert!(listed.len() > 20 && listed.iter().all(|said| !said.ends_with(": ")), "{listed:?}");
    }

    /// Flags that no SET goes with. Three name tables, as paths in FROM and CREATE VIEW do. Whether scripts may be started
    /// is decided by whoever starts palais.
    const WITHOUT_SET: [&str; 4] = ["table", "data", "schema", "allow_scripts"];

    #[test]
    fn what_a_flag_sets_is_a_setting_too() {
        let command = Execution::augment_args(Input::augment_args(clap::Command::new("palais")));
        let flags = command.get_arguments().filter_map(|flag| Some(flag.get_long()?.replace('-', "_")));
        let mut settings = Settings::default();
        let without = flags.filter(|name| settings.reset(name, &Settings::default()).is_err());
        assert_eq!(without.collect::<Vec<_>>(), WITHOUT_SET);
    }
}
