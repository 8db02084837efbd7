//! What can go wrong with a statement.

/// The result of functions of this package.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong with a statement. `source` gives the cause too, for callers that look for its type.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The statement is wrong, or names something that does not exist.
    #[error("{0}")]
    Statement(#[from] queries::Error),
    /// A file can't be read or written.
    #[error("{0}")]
    File(#[from] formats::Error),
    /// The query failed while it ran, or was cancelled.
    #[error("{0}")]
    Query(#[from] engine::Error),
    /// A result can't be written.
    #[error("{0}")]
    Write(#[from] crate::writers::Error),
    /// Settings of the session do not go together.
    #[error("{0}")]
    Settings(String),
    /// Planning took more processor time than it may.
    #[error(
        "planning the statement took more than {seconds} seconds\n  \
         help: write a shorter statement, or several with COPY (…) TO 'file' between them"
    )]
    PlanningTime {
        /// How many seconds it may take.
        seconds: u64,
    },
    /// The runner of this session failed.
    #[error("{0}")]
    Runner(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// The error of the query while it ran, if there is one.
    pub fn of_query(&self) -> Option<&engine::Error> {
        match self {
            Error::Query(error) => Some(error),
            _ => None,
        }
    }
}
