//! How the queries of a session are planned and run, and how it reads files.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use formats::discover::OpenOptions;
use schema::zones::{Clocks, is_utc};

/// How the queries of a session are planned and run, and how it reads files.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Worker threads of a query.
    pub workers: usize,
    /// Parts of files that the system is asked to read ahead; see [`engine::Settings::read_ahead`].
    pub read_ahead: usize,
    /// The most bytes that the operators of a query may keep. It counts if it is less than the limit of the process
    /// ([`engine::context::memory::set_limit`], or else 70 % of what there is). Groups that do not fit are put on disk.
    /// Operators that can't do that end the query with an error.
    pub memory_limit: u64,
    /// A build side of a join of at most this many bytes is sent to every worker.
    pub broadcast_bytes: u64,
    /// See [`queries::Settings::integer_division`].
    pub integer_division: bool,
    /// The time zone by its name in the IANA database: see [`queries::Settings::time_zone`]. Rows are printed with its
    /// offsets.
    pub time_zone: String,
    /// Whether COPY may replace files that exist, without the option OVERWRITE.
    pub overwrite: bool,
    /// Whether `transform()` may start the user's command.
    pub allow_scripts: bool,
    /// The file into which queries write the rows and values that they pass over. Their readers keep them if `open`
    /// says so.
    pub rejects: Option<PathBuf>,
    /// How files are read, unless a table has a way of its own.
    pub open: OpenOptions,
}

impl Default for Settings {
    /// All cores, and 70 % of the memory, of the machine or its control group.
    fn default() -> Settings {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        Settings {
            workers,
            read_ahead: engine::Settings::new(workers).read_ahead,
            memory_limit: engine::context::memory::default_limit(),
            broadcast_bytes: queries::Settings::default().broadcast_bytes,
            integer_division: false,
            time_zone: queries::Settings::default().time_zone,
            overwrite: false,
            allow_scripts: false,
            rejects: None,
            open: OpenOptions::default(),
        }
    }
}

impl Settings {
    /// Has queries write into this file what they pass over, or keep none of it.
    pub fn set_rejects(&mut self, file: Option<PathBuf>) {
        self.open.rejects = file.as_ref().map(|_| Box::default());
        self.rejects = file;
    }

    /// The settings of planning for a statement that begins now and that threads of this process run.
    pub fn planning(&self) -> queries::Settings {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        queries::Settings {
            now_ns: since_1970.map_or(0, |d| d.as_nanos() as i64),
            workers: self.workers,
            broadcast_bytes: self.broadcast_bytes,
            integer_division: self.integer_division,
            time_zone: self.time_zone.clone(),
            allow_scripts: self.allow_scripts,
            ..queries::Settings::default()
        }
    }

    /// The clocks by which instants are printed, if they are not those of UTC.
    pub fn clocks(&self) -> Option<Clocks> {
        Clocks::of(&self.time_zone).filter(|_| !is_utc(&self.time_zone))
    }

    /// The settings with which this process runs a plan.
    pub fn engine(&self) -> engine::Settings {
        engine::Settings {
            workers: self.workers,
            read_ahead: self.read_ahead,
            memory_limit: self.memory_limit,
        }
    }
}
