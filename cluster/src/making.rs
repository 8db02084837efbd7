//! Files that several processes make together without a query: tables of the benchmark, and copies of files in another
//! format.
//!
//! - [`group`]: processes that make files, as the coordinator sees them.
//! - [`files`]: the share of one process.

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

/// Files to make.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Task {
    /// Tables of the benchmark.
    Generate(Generation),
    /// Files from files of another format.
    Convert(Conversion),
}

/// Tables of the benchmark to make.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Generation {
    /// The directory in which each table gets one of its own.
    pub directory: PathBuf,
    /// The tables.
    pub tables: Vec<GeneratedTable>,
    /// The format of their files.
    pub format: FormatOptions,
    /// Whether a dataset that exists may be replaced.
    pub overwrite: bool,
}

/// A table of the benchmark to make.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct GeneratedTable {
    /// Which table, of how many rows.
    pub spec: Spec,
    /// The number of its files.
    pub parts: usize,
    /// About how many bytes it has as text.
    pub bytes: u64,
}

/// Files that were made.
#[derive(Debug)]
pub struct Made<'a> {
    /// A name for people.
    pub what: &'a str,
    /// The files.
    pub written: Written,
    /// How long their making took.
    pub took: Duration,
}

/// Gets the progress of the making of files.
pub trait Listener {
    /// A step begins that reads or makes about `bytes` bytes. The step drops the given value when it ends.
    fn begin(&self, bytes: u64, state: &Arc<QueryState>) -> Box<dyn Any>;

    /// Readers passed over these rows and values.
    fn skipped(&self, skipped: Skipped);

    /// Files were made.
    fn made(&self, made: &Made<'_>);

    /// A warning for the caller.
    fn warn(&self, text: String);
}

impl Task {
    /// The task as text, for people who look at what runs.
    pub fn text(&self) -> String {
        match self {
            Task::Generate(asked) => format!("cluster generate {}", asked.directory.display()),
            Task::Convert(asked) => {
                format!("cluster convert {} {}", asked.source, asked.destination.display())
            }
        }
    }

    /// Has processes make the files. `start` starts them, and starts others after a loss, at most `retries` times. For
    /// `local_parts` see [`retried`].
    ///
    /// # Errors
    /// Errors of making the files, a destination that is one file, and a source that only one process can read.
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
                // A path outside of the directories that a node serves is not even looked at.
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

/// The destination of a conversion as text for people, and whether it was verified.
pub fn converted(conversion: &Conversion) -> String {
    let shown = conversion.destination.display();
    if conversion.verify { format!("{shown}, verified") } else { shown.to_string() }
}

/// Refuses a source that only one process could read. Called where the processes are.
pub(crate) fn check_source(source: &str) -> Result<()> {
    let path = Path::new(source);
    // Opening the source refuses a path that may not be touched.
    match formats::store::roots::check(path).is_ok() && is_device(path) {
        true => Err(not_a_file(source)),
        false => Ok(()),
    }
}

fn not_a_file(what: &str) -> Error {
    let help = "write it to a file first, or use palais convert";
    Error::Usage(format!("{what} can't be read by several processes\n  help: {help}"))
}
