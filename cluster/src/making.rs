//! Files that several processes make together, without a query: tables of the benchmark, and files of files of another format.
//!
//! - [`group`]: processes that make files, as their starter sees them.
//! - [`files`]: the part of one of them.

pub mod files;
pub mod group;

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::QueryState;
use engine::context::query::Skipped;
use engine::writing::dataset::{Destination, Written};
use formats::store::input::STDIN;
use schema::FormatOptions;
use schema::bdb::Spec;
use serde::{Deserialize, Serialize};
use session::Conversion;
use session::conversion::is_device;

use crate::error::{Error, Result};
use crate::retry::{Undone, retried};
pub use group::Group;

/// What is made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Task {
    /// Tables of the benchmark.
    Generate(Generation),
    /// Files of other files.
    Convert(Conversion),
}

/// Tables of the benchmark that are made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Generation {
    /// Where each table gets a directory.
    pub directory: PathBuf,
    /// The tables.
    pub tables: Vec<GeneratedTable>,
    /// The format of their files.
    pub format: FormatOptions,
    /// Whether a dataset that is there may be replaced.
    pub overwrite: bool,
}

/// A table of the benchmark that is made.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct GeneratedTable {
    /// Which, of how many rows.
    pub spec: Spec,
    /// In so many files.
    pub parts: usize,
    /// Its bytes as text, about.
    pub bytes: u64,
}

/// Files that were made.
#[derive(Debug)]
pub struct Made<'a> {
    /// What they are, for people.
    pub what: &'a str,
    /// The files.
    pub written: Written,
    /// How long it took.
    pub took: Duration,
}

/// Hears how far the making of files is.
pub trait Listener {
    /// Something begins for which about so many bytes are read or made; what is given is dropped when it ends.
    fn begin(&self, bytes: u64, state: &Arc<QueryState>) -> Box<dyn Any>;

    /// What readers passed over.
    fn skipped(&self, skipped: Skipped);

    /// Files were made.
    fn made(&self, made: &Made<'_>);

    /// What is to be known besides.
    fn warn(&self, text: String);
}

impl Task {
    /// It, for people who look at what runs.
    pub fn text(&self) -> String {
        match self {
            Task::Generate(asked) => format!("cluster generate {}", asked.directory.display()),
            Task::Convert(asked) => {
                format!("cluster convert {} {}", asked.source, asked.destination.display())
            }
        }
    }

    /// Has processes make it that `start` gives, and others while one is lost, so often at most; `local_parts` as of
    /// [`retried`].
    ///
    /// # Errors
    /// Those of making it, a destination that is one file, and a source that one process alone can read.
    pub fn make(
        &self,
        retries: u32,
        local_parts: bool,
        start: impl Fn(&[String]) -> Result<Group>,
        listener: &dyn Listener,
    ) -> Result<()> {
        let again = |attempt: &mut dyn FnMut(Group) -> Result<()>| {
            let warn = |text| listener.warn(text);
            let attempt = |without: &[String]| start(without).and_then(&mut *attempt).map_err(Undone::from);
            retried(retries, local_parts, "the files are made", warn, attempt)
        };
        match self {
            Task::Generate(asked) => {
                // Tables that have appeared are not made again.
                let mut left = asked.tables.iter().peekable();
                again(&mut |group| {
                    while let Some(table) = left.peek() {
                        let start = Instant::now();
                        let written = group.generate(asked, table, listener)?;
                        let what = table.spec.table.name();
                        listener.made(&Made { what, written, took: start.elapsed() });
                        left.next();
                    }
                    Ok(())
                })
            }
            Task::Convert(asked) => {
                let start = Instant::now();
                // What lies outside of what a node serves is not even looked at.
                formats::store::roots::check(&asked.destination)?;
                let (destination, format) = asked.target()?;
                let Destination::Dataset(path) = destination else {
                    let shown = asked.destination.display();
                    let help = "name a directory and give --to, or write it with palais convert";
                    let text = format!("{shown} is one file, which one process writes\n  help: {help}");
                    return Err(Error::Usage(text));
                };
                if asked.source == STDIN {
                    return Err(not_a_file("standard input"));
                }
                again(&mut |group| {
                    let written = group.convert(asked, &path, &format, listener)?;
                    let what = &converted(asked);
                    listener.made(&Made { what, written, took: start.elapsed() });
                    Ok(())
                })
            }
        }
    }
}

/// What was converted, for people.
pub fn converted(conversion: &Conversion) -> String {
    let shown = conversion.destination.display();
    if conversion.verify { format!("{shown}, verified") } else { shown.to_string() }
}

/// Refuses a source that one process alone could read, where the processes are.
pub(crate) fn check_source(source: &str) -> Result<()> {
    let path = Path::new(source);
    // What may not be touched is refused by whoever opens it.
    match formats::store::roots::check(path).is_ok() && is_device(path) {
        true => Err(not_a_file(source)),
        false => Ok(()),
    }
}

fn not_a_file(what: &str) -> Error {
    let help = "write it to a file first, or use palais convert";
    Error::Usage(format!("{what} can't be read by several processes\n  help: {help}"))
}
