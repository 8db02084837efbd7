//! What can go wrong between processes.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The result of this package's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong between processes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A process could not be started.
    #[error("{host}: cannot start a process: {source}")]
    Launch {
        /// Where.
        host: String,
        /// What the system says.
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
        /// Which host.
        host: String,
        /// What the file says.
        address: String,
    },
    /// A process is of another version.
    #[error(
        "{host}: palais {theirs} runs there, and {ours} here\n  help: all processes of a query must be of one version"
    )]
    Version {
        /// Where.
        host: String,
        /// Its version.
        theirs: String,
        /// That of the starter.
        ours: String,
    },
    /// What was started tells something else than its version first.
    #[error(
        "{host}: what was started there tells first: '{told}'\n  help: it is to be palais {ours}, and nothing may write \
         to its standard output before it does"
    )]
    Stranger {
        /// Where.
        host: String,
        /// What it tells.
        told: String,
        /// The version of the starter.
        ours: String,
    },
    /// A node does not do what it was asked, or can't be reached.
    #[error("{node}: {what}")]
    Node {
        /// Its address.
        node: String,
        /// What is wrong, as a clause.
        what: String,
    },
    /// A process ended.
    #[error("{host}: the process {how}{stderr}")]
    Ended {
        /// Where.
        host: String,
        /// How, as a clause.
        how: String,
        /// The last lines that it wrote to standard error, on lines of their own.
        stderr: String,
    },
    /// Nothing was heard of a process.
    #[error("{host}: nothing was heard of the process for {} seconds", patience.as_secs_f32())]
    Silent {
        /// Where.
        host: String,
        /// How long.
        patience: Duration,
    },
    /// A process could not reach another one, or lost it.
    #[error("{host}: the connection to {peer} failed: {reason}")]
    Lost {
        /// Where.
        host: String,
        /// The other one.
        peer: String,
        /// Why.
        reason: String,
    },
    /// A process was lost that made appear, or perhaps did, what was written.
    #[error("{0}\n  help: look whether the files are there: they may have appeared before it was lost")]
    Appearing(Box<Error>),
    /// The query failed in a process.
    #[error("{message}\n  host: {host}")]
    Failed {
        /// Where.
        host: String,
        /// What went wrong, with what would help.
        message: String,
        /// The exit code of palais for it.
        code: u8,
    },
    /// A statement failed on nodes.
    #[error("{message}")]
    Told {
        /// What went wrong, where and what would help.
        message: String,
        /// The exit code of palais for it.
        code: u8,
    },
    /// A process told something that none of this version tells.
    #[error("{host}: {what}\n  help: please report this")]
    Protocol {
        /// Where.
        host: String,
        /// What is wrong with it.
        what: String,
    },
    /// The processes still run something else.
    #[error("these processes run another query\n  help: take its rows first, or start other processes")]
    Busy,
    /// The processes have ended, as they do with the first query that fails or is stopped.
    #[error("these processes have ended with a query that failed or was stopped\n  help: start others")]
    Over,
    /// The system has no random numbers, or no threads.
    #[error("cannot start processes: {0}")]
    System(String),
    /// What was asked for is wrong, as flags and settings can be.
    #[error("{0}")]
    Usage(String),
    /// A process does not do what it was asked.
    #[error("{0}")]
    Refused(String),
    /// A process is told to go on with files that it has not begun.
    #[error("nothing was begun")]
    NotBegun,
    /// What another process has sent is something else than it is to be.
    #[error("what another process has sent can't be read: {0}")]
    Received(String),
    /// What is to be sent has the name of a file that is not UTF-8.
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
    /// Somebody asked that it ends.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    /// The host without which the query might be run again.
    pub fn lost(&self) -> Option<&str> {
        match self {
            Error::Launch { host, .. } | Error::Ended { host, .. } | Error::Silent { host, .. } => Some(host),
            Error::Lost { peer, .. } => Some(peer),
            Error::Node { node, .. } => Some(node),
            _ => None,
        }
    }

    /// How much it tells of what happened first, greater is more: a process that is killed makes others lose it.
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
            // One of these, which the session was given by its runner.
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
