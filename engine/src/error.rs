//! What can go wrong while a query runs.

use std::path::PathBuf;

use arrow_schema::ArrowError;
use datafusion_common::DataFusionError;

/// The result of this package's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong while a query ran.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written, or its bytes are bad.
    #[error(transparent)]
    Format(#[from] formats::Error),
    /// Rows can't be written into directories by these columns.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// A value could not be computed (overflow, a bad cast, division by zero).
    #[error("{0}")]
    Compute(String),
    /// The limit of memory is reached.
    #[error("out of memory: {needed_by} took {whose} to {used} of {limit}\n  help: {help}")]
    Memory {
        /// Which operator asked.
        needed_by: String,
        /// The process, or one query of several.
        whose: &'static str,
        /// What is in use, for people.
        used: String,
        /// Which limit and how much it is, for people.
        limit: String,
        /// What would help.
        help: String,
    },
    /// More memory was asked for at once than the limit allows at all.
    #[error(
        "out of memory: {asked} were asked for at once, of --memory-limit {limit}{purpose}\n  help: {help}"
    )]
    Request {
        /// How much, for people.
        asked: String,
        /// The limit, for people.
        limit: String,
        /// What for, as a clause that ends the sentence; empty if it is not known.
        purpose: String,
        /// What would help.
        help: &'static str,
    },
    /// A scalar subquery gave more than one row.
    #[error(
        "a scalar subquery gave {0} rows; it may give one at most\n  help: use MIN, MAX or LIMIT 1, or IN (…)"
    )]
    SubqueryRows(usize),
    /// A user's command failed.
    #[error("the command '{command}' on {file} {outcome}{stderr}")]
    Script {
        /// The command.
        command: String,
        /// The file whose lines it was given.
        file: String,
        /// How it ended.
        outcome: String,
        /// The last lines of what it wrote to standard error.
        stderr: String,
    },
    /// What was written is not what was to be written.
    #[error(
        "{}: {difference}\n  help: the result was removed, and what was there before is as it was; please report this, with \
         the columns and the format, unless the disk is failing", path.display()
    )]
    Verify {
        /// The destination.
        path: PathBuf,
        /// How what was read back differs, as a clause that follows the path.
        difference: String,
    },
    /// Another process of the query sent what no process of this version sends.
    #[error(
        "rows of another process can't be read: {0}\n  help: please report this, unless the network is failing"
    )]
    Wire(String),
    /// Another process of the query, or the network, failed; what failed is told by whoever runs all of them.
    #[error("{0}")]
    Processes(String),
    /// The engine does not run this.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The query was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// A thread of the query panicked.
    #[error(
        "internal error: {text}{place}\n  help: this is a bug in palais; please report it with the query"
    )]
    Panic {
        /// What the panic says.
        text: String,
        /// The file and line of the panic, as a clause that follows the text; empty if they are not known.
        place: String,
    },
    /// timely could not start its workers.
    #[error("cannot start workers: {0}")]
    Start(String),
}

/// The reasons why rows can't be partitioned by some columns.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PartitionError {
    /// There is no such column.
    #[error("PARTITION_BY: the result has no column '{name}'\n  help: {help}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The names that it may have meant, or the names that there are.
        help: String,
    },
    /// Several columns have the name.
    #[error(
        "PARTITION_BY: the result has several columns '{name}'\n  help: give each a name of its own with AS, or write the name \
         as the column spells it"
    )]
    Ambiguous {
        /// The name.
        name: String,
    },
    /// A column is named twice.
    #[error("PARTITION_BY: the column '{name}' is named twice\n  help: name each column once")]
    Twice {
        /// The column.
        name: String,
    },
    /// The files would have no columns.
    #[error(
        "PARTITION_BY: all columns of the result are named, and files without columns hold no rows\n  help: leave out one of \
         them, or add a column to the query"
    )]
    All,
    /// No column is named.
    #[error("PARTITION_BY: no column is named\n  help: write PARTITION_BY (a, b)")]
    Nothing,
    /// A value of this type can't be a directory's name.
    #[error("PARTITION_BY: the column '{name}' is a {data_type}, which names no directory\n  help: {help}")]
    Type {
        /// The column.
        name: String,
        /// Its type as SQL names it.
        data_type: String,
        /// The help: what to write instead.
        help: &'static str,
    },
    /// A value is too long for a directory's name.
    #[error(
        "PARTITION_BY: a value of the column '{column}' makes a directory's name of {bytes} bytes, and the system takes \
         {most}: '{value}…'\n  help: partition by a shorter text, such as left({column}, 40)"
    )]
    Long {
        /// The column.
        column: String,
        /// The bytes of the name.
        bytes: usize,
        /// The most bytes of a name.
        most: usize,
        /// The beginning of the value.
        value: String,
    },
}

impl From<ArrowError> for Error {
    fn from(e: ArrowError) -> Self {
        Error::Compute(queries::messages::plain(&e.to_string()))
    }
}

impl From<DataFusionError> for Error {
    fn from(e: DataFusionError) -> Self {
        match e {
            DataFusionError::ArrowError(inner, _) => Error::from(*inner),
            DataFusionError::Context(_, inner) => Error::from(*inner),
            DataFusionError::Execution(text) => Error::Compute(queries::messages::plain(&text)),
            other => Error::Compute(queries::messages::plain(&other.to_string())),
        }
    }
}
