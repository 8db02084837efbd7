//! What can go wrong with a statement.

/// The result of this package's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong with a statement. The cause is given as the source too, for callers that look for its type.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The statement is wrong, or names what is not there.
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
    /// What the session was told does not go together.
    #[error("{0}")]
    Settings(String),
    /// Planning took more time of a processor than it may.
    #[error(
        "planning the statement took more than {seconds} seconds\n  \
         help: write a shorter statement, or several with COPY (…) TO 'file' between them"
    )]
    PlanningTime {
        /// How much it may.
        seconds: u64,
    },
    /// What runs the queries of this session failed.
    #[error("{0}")]
    Runner(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// What went wrong while a query ran, if it did.
    pub fn of_query(&self) -> Option<&engine::Error> {
        match self {
            Error::Query(error) => Some(error),
            _ => None,
        }
    }
}
