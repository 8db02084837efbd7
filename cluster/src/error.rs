//! What can go wrong between processes.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The result of functions of this package.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong between processes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A process could not be started.
    #[error("{host}: cannot start a process: {source}")]
    Launch {
        /// The host.
        host: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A file of hosts is wrong.
    #[error("{}: {what}", path.display())]
    Hosts {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, as a clause.
        what: String,
    },
    /// A host's address is not known.
    #[error(
        "{host}: there is no address '{address}'\n  help: give an IP address, or a name that is known here"
    )]
    Address {
        /// The host.
        host: String,
        /// The address as the file gives it.
        address: String,
    },
    /// A process is of another version.
    #[error(
        "{host}: palais {theirs} runs there, and {ours} here\n  help: all processes of a query must be of one version"
    )]
    Version {
        /// The host.
        host: String,
        /// Its version.
        theirs: String,
        /// The version of the coordinator.
        ours: String,
    },
    /// The first line of what was started is not a version of palais.
    #[error(
        "{host}: what was started there tells first: '{told}'\n  help: it is to be palais {ours}, and nothing may write \
         to its standard output before it does"
    )]
    Stranger {
        /// The host.
        host: String,
        /// The first line, or its beginning.
        told: String,
        /// The version of the coordinator.
        ours: String,
    },
    /// A node refuses, or can't be reached.
    #[error("{node}: {what}")]
    Node {
        /// The address of the node.
        node: String,
        /// What is wrong, as a clause.
        what: String,
    },
    /// A process ended.
    #[error("{host}: the process {how}{stderr}")]
    Ended {
        /// The host.
        host: String,
        /// How it ended, as a clause.
        how: String,
        /// The last lines that it wrote to standard error, each on a line of its own.
        stderr: String,
    },
    /// A process was silent for too long.
    #[error("{host}: nothing was heard of the process for {} seconds", patience.as_secs_f32())]
    Silent {
        /// The host.
        host: String,
        /// How long it was silent.
        patience: Duration,
    },
    /// A process could not reach another one, or lost it.
    #[error("{host}: the connection to {peer} failed: {reason}")]
    Lost {
        /// The host.
        host: String,
        /// The other process.
        peer: String,
        /// Why.
        reason: String,
    },
    /// A process was lost that was to make the written files appear, and perhaps did.
    #[error("{0}\n  help: look whether the files are there: they may have appeared before it was lost")]
    Appearing(Box<Error>),
    /// The query failed in a process.
    #[error("{message}\n  host: {host}")]
    Failed {
        /// The host.
        host: String,
        /// What went wrong, and what would help.
        message: String,
        /// The exit code of palais for this error.
        code: u8,
    },
    /// A statement failed on nodes.
    #[error("{message}")]
    Told {
        /// What went wrong, where, and what would help.
        message: String,
        /// The exit code of palais for this error.
        code: u8,
    },
    /// A process sent a message that does not belong to the protocol of this version.
    #[error("{host}: {what}\n  help: please report this")]
    Protocol {
        /// The host.
        host: String,
        /// What is wrong with the message.
        what: String,
    },
    /// The processes still run another query.
    #[error("these processes run another query\n  help: take its rows first, or start other processes")]
    Busy,
    /// The processes have ended with the first query that failed or was stopped.
    #[error("these processes have ended with a query that failed or was stopped\n  help: start others")]
    Over,
    /// The system gives no random numbers, or no threads.
    #[error("cannot start processes: {0}")]
    System(String),
    /// A flag or setting is wrong.
    #[error("{0}")]
    Usage(String),
    /// A process refuses what the coordinator or caller asked.
    #[error("{0}")]
    Refused(String),
    /// A process was told to go on with files that it has not begun.
    #[error("nothing was begun")]
    NotBegun,
    /// Bytes of another process are not the value that was expected.
    #[error("what another process has sent can't be read: {0}")]
    Received(String),
    /// A value can't be sent, because a path in it is not UTF-8.
    #[error("the names of files must be UTF-8 here: {0}")]
    Sent(String),
    /// A statement can't be run.
    #[error("{0}")]
    Session(#[source] session::Error),
    /// Rows can't be computed or written.
    #[error("{0}")]
    Query(#[from] engine::Error),
    /// A file may not be touched.
    #[error("{0}")]
    File(#[from] formats::Error),
    /// The query was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    /// The host without which the caller might run the query again.
    pub fn lost(&self) -> Option<&str> {
        match self {
            Error::Launch { host, .. } | Error::Ended { host, .. } | Error::Silent { host, .. } => Some(host),
            Error::Lost { peer, .. } => Some(peer),
            Error::Node { node, .. } => Some(node),
            _ => None,
        }
    }

    /// How much the error tells of what happened first; greater is more. A process that is killed makes other processes
    /// lose it, so their errors tell less.
    pub(crate) fn tells(&self) -> u8 {
        match self {
            Error::Cancelled => 0,
            Error::Lost { .. } => 1,
            Error::Silent { .. } => 2,
            _ => 3,
        }
    }
}

impl From<Error> for engine::Error {
    fn from(e: Error) -> Self {
        match e {
            Error::Cancelled => engine::Error::Cancelled,
            Error::Query(e) => e,
            e => engine::Error::Processes(e.to_string()),
        }
    }
}

impl From<Error> for session::Error {
    fn from(e: Error) -> Self {
        match e {
            Error::Session(e) => e,
            Error::Query(e) => e.into(),
            e => session::Error::Runner(Box::new(e)),
        }
    }
}

impl From<session::Error> for Error {
    fn from(e: session::Error) -> Self {
        match e {
            // The runner of the session gave it an error of this package.
            session::Error::Runner(cause) => match cause.downcast::<Error>() {
                Ok(e) => *e,
                Err(cause) => Error::Session(session::Error::Runner(cause)),
            },
            e => Error::Session(e),
        }
    }
}

impl From<queries::Error> for Error {
    fn from(e: queries::Error) -> Self {
        Error::Session(e.into())
    }
}
