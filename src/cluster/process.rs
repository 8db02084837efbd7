//! What the binary does for a process of a query: it looks at tables, and plans.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use arrow_schema::SchemaRef;
use cluster::message::{Failure, Figures};
use cluster::node::config::Config;
use cluster::node::{Ask, NodeClient};
use cluster::ports::Ports;
use cluster::tls::{self, Tls};
use cluster::worker::{Binary, Maker, Planned, Together, Writer};
use engine::QueryState;
use engine::writing::dataset::{Begun, Output, WritingProcess, Written};
use queries::{Statement, summarize};
use schema::Table;
use serde::{Deserialize, Serialize};
use session::{Cancel, CopyTarget, PlannedQuery, Sources, writers};

use super::decode::decode;
use super::maker::{Files, Job};
use super::{catalog, make, node, version};
use crate::args;
use crate::signals;
use crate::tables;

/// How long the node may take to hear what a process has done.
const TELL: Duration = Duration::from_secs(1);

/// The most workers of a process that no node has started: more than the cores of any machine.
const MOST_WORKERS: usize = 4096;

/// What all processes plan.
#[derive(Serialize, Deserialize)]
pub struct Query {
    /// The statement as it was given: a query that was printed is not always the same.
    pub statement: String,
    pub is_summary: bool,
    pub tables: Vec<Table>,
    /// What planning depends on besides.
    pub planning: queries::Settings,
    /// Workers of a process.
    pub workers: usize,
    pub read_ahead: usize,
    /// The most memory of a process; its part of what its machine has if it isn't given.
    pub memory_limit: Option<u64>,
    /// Whether COPY may replace what is there.
    pub overwrite: bool,
}

/// What a process is asked to look at.
#[derive(Serialize, Deserialize)]
pub enum Look {
    /// These tables.
    Tables(Sources, Vec<String>),
    /// The names of all tables that have one.
    Names(Sources),
    /// The table that lies here.
    Source(Sources, String),
}

/// What the binary does for a process.
#[derive(Default)]
pub struct Process {
    /// What the node that started it says, and its token.
    node: Option<(Config, [u8; 32])>,
    /// The query, as the node calls it.
    query: String,
    /// For connections with TLS, if the node has it.
    tls: Option<Tls>,
    /// The most memory that a query has on the node.
    memory_limit: Option<u64>,
}

impl Process {
    /// Of a process that was started so.
    pub fn of(started: &args::Started) -> anyhow::Result<Process> {
        let Some(path) = &started.node else { return Ok(Process::default()) };
        let config = Config::read(path)?;
        let (token, tls) = (config.token()?, config.tls()?);
        node::enter(&config)?;
        let memory_limit = Some(node::memory_limit(&config)? / config.queries as u64);
        let query = started.query.clone().unwrap_or_default();
        Ok(Process { node: Some((config, token)), query, tls, memory_limit })
    }

    fn look(&self, request: &[u8]) -> anyhow::Result<Vec<u8>> {
        let catalog = match decode(request)? {
            Look::Tables(sources, names) => sources.tables()?.catalog(&names, false, &sources.open)?,
            Look::Names(sources) => return Ok(bincode::serialize(&sources.tables()?.names())?),
            Look::Source(sources, source) => {
                make::check_source(&source)?;
                let table = tables::open_one(&sources, &source)?;
                return bincode::serialize(&table).context("the names of files must be UTF-8 here");
            }
        };
        let tables: Vec<&Table> = catalog.tables().map(|table| &**table).collect();
        bincode::serialize(&tables).context("the names of files must be UTF-8 here")
    }

    /// Holds memory to what this process may use, `asked` for if that is less.
    fn limit_memory(&self, asked: Option<u64>, sharing: usize) {
        let usual = || engine::context::memory::default_limit() / sharing.max(1) as u64;
        let limit = asked.or(self.memory_limit).unwrap_or_else(usual);
        engine::context::memory::set_limit(limit.min(self.memory_limit.unwrap_or(u64::MAX)));
    }

    /// Refuses more workers than this process may have, as somebody may say who has the token.
    fn check_workers(&self, asked: usize) -> anyhow::Result<()> {
        let most = self.node.as_ref().map_or(MOST_WORKERS, |(config, _)| config.share_of_workers());
        match (1..=most).contains(&asked) {
            true => Ok(()),
            false => anyhow::bail!("{asked} workers are asked for in each process, and here are 1 to {most}"),
        }
    }

    fn planned(&self, query: &[u8], sharing: usize) -> anyhow::Result<Planned> {
        let mut query: Query = decode(query)?;
        self.check_workers(query.workers)?;
        if query.planning.allow_scripts && self.node.as_ref().is_some_and(|(config, _)| !config.allow_scripts)
        {
            anyhow::bail!("this node starts no commands\n  help: allow_scripts in its file lets it");
        }
        let mut to = None;
        self.limit_memory(query.memory_limit, sharing);
        let parsed = match session::parse(&query.statement)? {
            Statement::Query(parsed) | Statement::Summarize(parsed) => parsed,
            Statement::Explain { query: parsed, .. } => parsed,
            Statement::Copy { query: parsed, target, options } => {
                to = Some(CopyTarget::of_statement(&target, &options, query.overwrite)?);
                parsed
            }
            _ => anyhow::bail!("only a query has a plan"),
        };
        let catalog = catalog(std::mem::take(&mut query.tables));
        let planned = |parsed: &_| {
            PlannedQuery::new(parsed, catalog.clone(), &query.planning, &Cancel::default()).map(|p| p.plan)
        };
        let mut plan = planned(&parsed)?;
        if query.is_summary {
            let summary = summarize::query(&parsed, &plan.schema)?;
            plan = planned(&summary)?;
        }
        let fingerprint = queries::explain::fingerprint(&plan);
        let settings = engine::Settings {
            read_ahead: query.read_ahead.min(u16::MAX.into()),
            ..engine::Settings::new(query.workers)
        };
        let writer = to.map(|to| -> Box<dyn Writer> {
            Box::new(Parts {
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

pub fn failure(e: &anyhow::Error) -> Failure {
    let (message, code) = crate::describe(e);
    Failure { message: message.strip_prefix("error: ").unwrap_or(&message).to_string(), code }
}

impl Binary for Process {
    fn version(&self) -> String {
        version()
    }

    fn open(&self, request: &[u8]) -> Result<Vec<u8>, Failure> {
        self.look(request).map_err(|e| failure(&e))
    }

    fn plan(&self, query: &[u8], sharing: usize) -> Result<Planned, Failure> {
        self.planned(query, sharing).map_err(|e| failure(&e))
    }

    fn make(&self, job: &[u8], sharing: usize) -> Result<Box<dyn Maker>, Failure> {
        let job = decode::<Job>(job).and_then(|job| self.check_workers(job.workers).map(|()| job));
        let job = job.map_err(|e| failure(&e))?;
        self.limit_memory(None, sharing);
        Ok(Box::new(Files::new(job)))
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
        files.map(Tls::read).transpose().map_err(|e| failure(&e.into()))
    }

    fn done(&self, figures: &Figures) {
        if let Some((config, token)) = &self.node {
            let door = NodeClient {
                address: config.reached_here().to_string(),
                token: *token,
                tls: self.tls.as_ref().map(|tls| tls.client.clone()),
                version: version(),
                patience: TELL,
            };
            // What the node counts is of no meaning to the query.
            let _ = door.ask(&Ask::Done { query: self.query.clone(), figures: *figures });
        }
    }

    fn end(&self, code: u8) -> ! {
        signals::end(code.into())
    }
}

/// What a process writes of a dataset.
struct Parts {
    to: CopyTarget,
    columns: SchemaRef,
    /// Whether all rows lie on one worker.
    single: bool,
    workers: usize,
    output: Option<Output>,
    state: Option<Arc<QueryState>>,
}

impl Parts {
    fn format(&self) -> anyhow::Result<schema::FormatOptions> {
        self.to.format().context("a directory is written in a format of files")
    }
}

impl Together for Parts {
    fn begin(&mut self, processes: usize) -> Result<Vec<u8>, Failure> {
        let mut begin = || -> anyhow::Result<Vec<u8>> {
            let output = self.to.open(self.format()?, &self.columns, self.single, self.workers)?;
            let output = output.with_share(WritingProcess { index: 0, count: processes });
            let begun = output.begun()?;
            self.output = Some(output);
            bincode::serialize(&begun).context("the names of files must be UTF-8 here")
        };
        begin().map_err(|e| failure(&e))
    }

    fn join(&mut self, begun: &[u8], process: usize, processes: usize) -> Result<(), Failure> {
        let mut join = || -> anyhow::Result<()> {
            let begun: Begun = decode(begun)?;
            let (columns, _) = writers::shape(self.to.form, &self.columns);
            let share = WritingProcess { index: process, count: processes };
            let options = self.to.options(self.format()?, self.single, self.workers);
            let output = Output::join(columns, &self.to.path, &begun, &options)?;
            self.output = Some(output.with_share(share));
            Ok(())
        };
        join().map_err(|e| failure(&e))
    }

    fn finish(&mut self, written: Vec<Vec<u8>>) -> Result<Written, Failure> {
        let finish = || -> anyhow::Result<Written> {
            let (output, state) = self.output.take().zip(self.state.as_ref()).context("nothing was begun")?;
            let mut parts = engine::writing::dataset::Parts::new();
            for written in written {
                parts.extend(decode::<engine::writing::dataset::Parts>(&written)?);
            }
            Ok(output.finish(parts, state)?)
        };
        finish().map_err(|e| failure(&e))
    }
}

impl Writer for Parts {
    fn write(&mut self, mut results: engine::Results) -> engine::Result<Vec<u8>> {
        let (_, shape) = writers::shape(self.to.form, &self.columns);
        self.state = Some(results.state().clone());
        let Some(output) = &mut self.output else { return Err(engine::Error::Cancelled) };
        let parts = engine::writing::copy::copy_parts(&mut results, output, shape)?;
        bincode::serialize(&parts).map_err(|e| engine::Error::Processes(e.to_string()))
    }
}
