//! What a process does as [`crate::worker`] asks it to, for a query or for making files: it looks at tables, plans and
//! writes.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow_schema::SchemaRef;
use engine::QueryState;
use engine::writing::dataset::{Begun, Output, WritingProcess, Written};
use queries::{Statement, summarize};
use schema::Table;
use session::{Cancel, CopyTarget, PlannedQuery, writers};

use crate::decode::{decode, encode};
use crate::error::{Error, Result};
use crate::making::check_source;
use crate::making::files::{Files, Job};
use crate::message::{Failure, Figures};
use crate::node::config::Config;
use crate::node::{Ask, NodeClient};
use crate::ports::Ports;
use crate::processes::catalog;
use crate::program::Program;
use crate::query::{Look, Query};
use crate::tls::{self, Tls};
use crate::worker::{Binary, Maker, Planned, Together, Writer};

/// How long the node may take to answer when a process tells what it has done.
const TELL: Duration = Duration::from_secs(1);

/// The most workers of a process that no node has started: more than any machine has cores.
const MOST_WORKERS: usize = 4096;

/// What the command line tells a process of the node that started it.
#[derive(Debug, Clone, Default)]
pub struct Started {
    /// The file of the node; `None` if no node started the process.
    pub node: Option<PathBuf>,
    /// The name of the query on the node.
    pub query: Option<String>,
}

/// A process of a query.
pub struct Process {
    program: Program,
    /// The settings of the node that started the process, and its token.
    node: Option<(Config, [u8; 32])>,
    /// The name of the query on the node.
    query: String,
    /// Both ends of connections with TLS, if the node has it.
    tls: Option<Tls>,
    /// The most memory of a query on the node, in bytes.
    memory_limit: Option<u64>,
}

impl Process {
    /// A process that was started in this way. Enters the directory of the node.
    ///
    /// # Errors
    /// The file of the node says something that it may not, or names files that can't be read.
    pub fn of(started: &Started, program: Program) -> Result<Process> {
        let query = started.query.clone().unwrap_or_default();
        let Some(path) = &started.node else {
            return Ok(Process { program, node: None, query, tls: None, memory_limit: None });
        };
        let config = Config::read(path)?;
        let (token, tls) = (config.token()?, config.tls()?);
        config.enter()?;
        let memory_limit = Some(config.share_of_memory()?);
        Ok(Process { program, node: Some((config, token)), query, tls, memory_limit })
    }

    fn look(&self, request: &[u8]) -> Result<Vec<u8>> {
        let catalog = match decode(request)? {
            Look::Tables(sources, names) => sources.tables()?.catalog(&names, false, &sources.open)?,
            Look::Names(sources) => return encode(&sources.tables()?.names()),
            Look::Source(sources, source) => {
                check_source(&source)?;
                return encode(&sources.open_one(&source)?);
            }
        };
        let tables: Vec<&Table> = catalog.tables().map(|table| &**table).collect();
        encode(&tables)
    }

    /// Sets the memory limit of this process: `asked`, but at most the share of a query on the node. Without either it
    /// is a part of the machine's, divided by `sharing`.
    fn limit_memory(&self, asked: Option<u64>, sharing: usize) {
        let usual = || engine::context::memory::default_limit() / sharing.max(1) as u64;
        let limit = asked.or(self.memory_limit).unwrap_or_else(usual);
        engine::context::memory::set_limit(limit.min(self.memory_limit.unwrap_or(u64::MAX)));
    }

    /// Refuses more workers than this process may have: any client with the token may ask for them.
    fn check_workers(&self, asked: usize) -> Result<()> {
        let most = self.node.as_ref().map_or(MOST_WORKERS, |(config, _)| config.share_of_workers());
        match (1..=most).contains(&asked) {
            true => Ok(()),
            false => Err(Error::Refused(format!(
                "{asked} workers are asked for in each process, and here are 1 to {most}"
            ))),
        }
    }

    fn planned(&self, query: &[u8], sharing: usize) -> Result<Planned> {
        let mut query: Query = decode(query)?;
        self.check_workers(query.workers)?;
        if query.planning.allow_scripts && self.node.as_ref().is_some_and(|(config, _)| !config.allow_scripts)
        {
            let text = "this node starts no commands\n  help: allow_scripts in its file lets it";
            return Err(Error::Refused(text.into()));
        }
        let mut to = None;
        self.limit_memory(query.memory_limit, sharing);
        let statement = session::parse(&query.statement)?;
        let parsed = match &*statement {
            Statement::Query(parsed) | Statement::Summarize(parsed) => parsed,
            Statement::Explain { query: parsed, .. } => parsed,
            Statement::Copy { query: parsed, target, options } => {
                to = Some(CopyTarget::of_statement(target, options, query.overwrite)?);
                parsed
            }
            _ => return Err(Error::Refused("only a query has a plan".into())),
        };
        let catalog = catalog(std::mem::take(&mut query.tables));
        let planned = |parsed: &_| {
            PlannedQuery::new(parsed, catalog.clone(), &query.planning, &Cancel::default()).map(|p| p.plan)
        };
        let mut plan = planned(parsed)?;
        if query.is_summary {
            let summary = summarize::query(parsed, &plan.schema)?;
            plan = planned(&summary)?;
        }
        let fingerprint = queries::explain::fingerprint(&plan);
        let settings = engine::Settings {
            read_ahead: query.read_ahead.min(u16::MAX.into()),
            ..engine::Settings::new(query.workers)
        };
        let writer = to.map(|to| -> Box<dyn Writer> {
            Box::new(Parts {
                program: self.program,
                to,
                columns: plan.schema.clone(),
                single: plan.root.single,
                workers: query.workers,
                output: None,
                state: None,
            })
        });
        Ok(Planned { plan: Arc::clone(&plan), settings, fingerprint, writer })
    }
}

impl Binary for Process {
    fn version(&self) -> String {
        self.program.version.into()
    }

    fn open(&self, request: &[u8]) -> Result<Vec<u8>, Failure> {
        self.look(request).map_err(|e| self.program.failure(&e))
    }

    fn plan(&self, query: &[u8], sharing: usize) -> Result<Planned, Failure> {
        self.planned(query, sharing).map_err(|e| self.program.failure(&e))
    }

    fn make(&self, job: &[u8], sharing: usize) -> Result<Box<dyn Maker>, Failure> {
        let job = decode::<Job>(job).and_then(|job| self.check_workers(job.workers).map(|()| job));
        let job = job.map_err(|e| self.program.failure(&e))?;
        self.limit_memory(None, sharing);
        Ok(Box::new(Files::new(self.program, job)))
    }

    fn workers(&self, sharing: usize) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.node
            .as_ref()
            .map_or_else(|| (cores() / sharing.max(1)).max(1), |(config, _)| config.share_of_workers())
    }

    fn listens(&self) -> Option<(IpAddr, Ports)> {
        self.node.as_ref().map(|(config, _)| (config.listen.ip(), config.ports()))
    }

    fn tls(&self, files: Option<&tls::Files>) -> Result<Option<Tls>, Failure> {
        if self.node.is_some() {
            return Ok(self.tls.clone());
        }
        files.map(Tls::read).transpose().map_err(|e| self.program.failure(&e))
    }

    fn done(&self, figures: &Figures) {
        if let Some((config, token)) = &self.node {
            let door = NodeClient {
                address: config.reached_here().to_string(),
                token: *token,
                tls: self.tls.as_ref().map(|tls| tls.client.clone()),
                version: self.program.version.into(),
                patience: TELL,
            };
            // The counts of the node do not matter to the query.
            let _ = door.ask(&Ask::Done { query: self.query.clone(), figures: *figures });
        }
    }

    fn end(&self, code: u8) -> ! {
        (self.program.end)(code.into())
    }
}

/// The part of one process in writing the rows of a query as a dataset.
struct Parts {
    program: Program,
    to: CopyTarget,
    columns: SchemaRef,
    /// Whether one worker gives all rows.
    single: bool,
    workers: usize,
    output: Option<Output>,
    state: Option<Arc<QueryState>>,
}

impl Parts {
    fn format(&self) -> Result<schema::FormatOptions> {
        let none = || Error::Refused("a directory is written in a format of files".into());
        self.to.format().ok_or_else(none)
    }
}

impl Together for Parts {
    fn begin(&mut self, processes: usize) -> Result<Vec<u8>, Failure> {
        let program = self.program;
        let mut begin = || -> Result<Vec<u8>> {
            let output = self.to.open(self.format()?, &self.columns, self.single, self.workers)?;
            let output = output.with_process(WritingProcess { index: 0, count: processes });
            let begun = output.begun()?;
            self.output = Some(output);
            encode(&begun)
        };
        begin().map_err(|e| program.failure(&e))
    }

    fn join(&mut self, begun: &[u8], process: usize, processes: usize) -> Result<(), Failure> {
        let program = self.program;
        let mut join = || -> Result<()> {
            let begun: Begun = decode(begun)?;
            let (columns, _) = writers::shape(self.to.form, &self.columns);
            let part = WritingProcess { index: process, count: processes };
            let options = self.to.options(self.format()?, self.single, self.workers);
            let output = Output::join(columns, &self.to.path, &begun, &options)?;
            self.output = Some(output.with_process(part));
            Ok(())
        };
        join().map_err(|e| program.failure(&e))
    }

    fn finish(&mut self, written: Vec<Vec<u8>>) -> Result<Written, Failure> {
        let program = self.program;
        let finish = || -> Result<Written> {
            let (output, state) = self.output.take().zip(self.state.as_ref()).ok_or(Error::NotBegun)?;
            let mut parts = engine::writing::dataset::Parts::new();
            for written in written {
                parts.extend(decode::<engine::writing::dataset::Parts>(&written)?);
            }
            Ok(output.finish(parts, state)?)
        };
        finish().map_err(|e| program.failure(&e))
    }
}

impl Writer for Parts {
    fn write(&mut self, mut results: engine::Results) -> engine::Result<Vec<u8>> {
        let (_, shape) = writers::shape(self.to.form, &self.columns);
        self.state = Some(results.state().clone());
        let Some(output) = &mut self.output else { return Err(engine::Error::Cancelled) };
        let parts = engine::writing::copy::copy_parts(&mut results, output, shape)?;
        Ok(encode(&parts)?)
    }
}
