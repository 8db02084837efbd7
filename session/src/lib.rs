//! palais as a library: tables, statements and their results.
//!
//! ```
//! use session::{Session, Settings};
//!
//! # fn main() -> session::Result<()> {
//! # let directory = tempfile::tempdir().expect("a directory can be made");
//! # let path = directory.path().join("visits.csv").display().to_string();
//! # std::fs::write(&path, "page,seconds\na,3\nb,4\na,5\n").expect("it can be written");
//! let session = Session::new(Settings::default());
//! session.register("visits", &path);
//! let rows = session.execute("SELECT page, sum(seconds) AS s FROM visits GROUP BY page ORDER BY s")?;
//! for batch in rows {
//!     println!("{:?}", batch?);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A query that fails, is cancelled or panics ends with its error, and other queries go on. Three things are not
//! caught, and end the process: a stack that overflows, an abort, and an allocation. The last is one above the memory
//! limit inside a library, where the program counts memory ([`engine::context::memory::end_by`]). A panic in a process
//! of a cluster query ends that process.
//!
//! Modules in the order in which a statement meets them:
//! - [`session`]: a session, its tables and the statements that it runs.
//! - [`settings`]: how queries are planned and run, and how files are read.
//! - [`sources`]: where the tables of a session are and how files are read, for other processes too.
//! - [`conversion`]: a conversion of files to another format, for other processes too.
//! - [`tables`]: the tables that a session knows by name.
//! - `readers`: the tables that `read_csv()` and the like open; `about_files`: those that `glob()` and the like make.
//! - [`limits`]: how long parsing, opening files and planning may take; `planners`: the threads that do it.
//! - [`parsed`]: a statement with its text.
//! - [`prepared`]: a statement that is parsed once and run with values.
//! - [`planned_query`]: a query with its plan.
//! - [`runner`]: the trait of what runs queries; [`threads`]: threads of this process, which implement it.
//! - `introspection`: EXPLAIN, DESCRIBE, SHOW TABLES and SUMMARIZE; `system`: what a session knows of its tables as
//!   tables.
//! - `pivots`: the values of PIVOT.
//! - [`rejects`]: what readers have passed over, as tables and as a file.
//! - `definitions`: CREATE, DROP, SET and RESET.
//! - [`copy`]: COPY: where and how rows are written.
//! - `kept`: rows that a statement keeps for later ones.
//! - [`variables`]: the settings that SET changes.
//! - [`results`]: the rows of a statement.
//! - [`progress`]: how far a query has come.
//! - [`watch`]: a query whose result is kept up to date.
//! - [`writers`]: write the rows of a result as text or bytes.
//! - [`statistics`]: the figures of a run.
//! - [`error`]: what can go wrong.

mod about_files;
pub mod conversion;
pub mod copy;
mod definitions;
pub mod error;
mod introspection;
mod kept;
pub mod limits;
pub mod parsed;
mod pivots;
pub mod planned_query;
mod planners;
pub mod prepared;
pub mod progress;
mod readers;
pub mod rejects;
pub mod results;
pub mod runner;
pub mod session;
pub mod settings;
pub mod sources;
pub mod statistics;
mod system;
pub mod tables;
pub mod threads;
pub mod variables;
pub mod watch;
pub mod writers;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

pub use conversion::Conversion;
pub use copy::CopyTarget;
pub use engine::context::cancel::Cancel;
pub use error::{Error, Result};
pub use parsed::{Parsed, parse, parse_all};
pub use planned_query::PlannedQuery;
pub use prepared::Prepared;
pub use progress::Progress;
pub use queries::ScalarValue;
pub use queries::parameters::{Parameter, Values};
pub use results::Results;
pub use runner::Runner;
pub use session::Session;
pub use settings::Settings;
pub use sources::Sources;
pub use statistics::Statistics;
pub use tables::Tables;
pub use threads::Threads;
pub use watch::Watch;

/// A server gives these to its threads, and several threads may use one at once. A watch belongs to one thread at a time.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    const fn is_sent<T: Send>() {}
    is_shared::<Session>();
    is_shared::<Results>();
    is_shared::<Prepared<'_>>();
    is_shared::<Cancel>();
    is_sent::<Watch<'_>>();
};
