//! The coordinator of a group of processes: starts them, has them run queries, and ends all of them when one ends.
//!
//! The coordinator is `palais cluster run`, or the process of a node that leads a query.
//!
//! - `figures`: adds up the figures of the processes.
//! - `group`: the processes, and the waiting for reports of all of them.
//! - `make`: files that the processes write together.
//! - `member`: one process of the group.
//! - `rows`: takes the rows of a query.

mod figures;
mod group;
mod make;
mod member;
mod rows;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_schema::SchemaRef;
use engine::execution::run::Sink;
use engine::{QueryState, Results};

use crate::compression::Compression;
use crate::error::{Error, Result};
use crate::locality::MarkAddress;
use crate::locked;
use crate::message::{Begin, Job, Order, Raw, Report};
use group::{Events, Group};
use member::Member;
pub use member::{Host, Launch};

/// How much longer a process waits for another process than the coordinator does. The coordinator knows more of both,
/// and is to notice a loss first.
const LONGER: Duration = Duration::from_secs(1);
/// At most so many reports wait for the coordinator.
const WAITING: usize = 64;

/// A query for all processes.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The bytes that [`crate::worker::Binary::plan`] takes.
    pub bytes: &'a [u8],
    /// The fingerprint of the plan that the coordinator has made.
    pub fingerprint: u64,
}

/// What [`Cluster::start`] needs to know.
pub struct Options {
    /// The version of the coordinator.
    pub version: String,
    /// The processes.
    pub hosts: Vec<Host>,
    /// How processes send each other rows.
    pub traffic: Traffic,
    /// A process from which nothing was heard for so long is lost.
    pub patience: Duration,
}

/// How processes of a query send each other rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traffic {
    /// How rows that go over sockets are compressed.
    pub compression: Compression,
    /// Whether rows go over sockets alone, also on one machine, where processes could read each other's memory.
    pub sockets_only: bool,
}

/// A group of processes that runs queries, one after another. The first query that fails or is stopped ends all
/// processes, and so does dropping this.
pub struct Cluster {
    group: Arc<Group>,
    runs: Mutex<u32>,
    is_busy: Arc<AtomicBool>,
}

/// Keeps the group busy: [`Cluster`] does one thing at a time. Dropping it frees the group.
struct Turn(Arc<AtomicBool>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Cluster {
    /// Starts the processes, and waits until all of them listen.
    ///
    /// # Errors
    /// A process can't be started, says nothing in time or is of another version.
    pub fn start(options: Options) -> Result<Cluster> {
        let (events, taken) = sync_channel(WAITING);
        let processes = options.hosts.len();
        let is_far = options.hosts.iter().any(|host| !host.address.is_loopback());
        let compression = options.traffic.compression.among(is_far);
        let (mut incarnation, mut token) = ([0; 16], [0; 32]);
        let random = getrandom::fill(&mut incarnation).and_then(|()| getrandom::fill(&mut token));
        random.map_err(|e| Error::System(e.to_string()))?;
        let mut members = Vec::new();
        for (process, host) in options.hosts.into_iter().enumerate() {
            let begin = Begin {
                incarnation,
                token,
                process,
                processes,
                address: host.address,
                ports: host.ports,
                directory: host.directory.clone(),
                sharing: host.sharing,
                far: host.far,
                compression,
                tls: host.tls.clone(),
                patience: options.patience + LONGER,
            };
            let member = Member::start(process, host, &options.version, events.clone())?;
            member.tell(Order::Begin(begin));
            members.push(member);
        }
        let (events, lost) = (Mutex::new(Events::new(taken)), Mutex::default());
        let has_ended = AtomicBool::new(false);
        let group = Group { members, events, patience: options.patience, lost, has_ended };
        let cluster = Cluster { group: Arc::new(group), runs: Mutex::new(0), is_busy: Arc::default() };
        let group = &cluster.group;
        group.wait(&|| false, processes, processes, |process, report| match report {
            Report::Listening { address, workers, place } => {
                let member = &group.members[process];
                *locked(&member.address) = Some(address);
                member.workers.store(workers, Ordering::Relaxed);
                if !options.traffic.sockets_only {
                    *locked(&member.place) = place;
                    *locked(&member.memory) = place.filter(|_| member.near).and_then(MarkAddress::memory);
                }
                Ok(true)
            }
            other => group.unless_alive(process, &other),
        })?;
        Ok(cluster)
    }

    /// Keeps the group for the caller until the turn is dropped.
    ///
    /// # Errors
    /// The processes have ended, or still run a query.
    fn turn(&self) -> Result<Turn> {
        if self.group.has_ended.load(Ordering::SeqCst) {
            return Err(Error::Over);
        }
        match self.is_busy.swap(true, Ordering::SeqCst) {
            true => Err(Error::Busy),
            false => Ok(Turn(self.is_busy.clone())),
        }
    }

    /// The number of processes.
    pub fn processes(&self) -> usize {
        self.group.members.len()
    }

    /// The host that was lost, if that loss ended a query. The caller may run the query again without this host.
    pub fn lost(&self) -> Option<String> {
        locked(&self.group.lost).clone()
    }

    /// The workers that each process has cores for: those of the process with the fewest.
    pub fn workers(&self) -> usize {
        self.group.members.iter().map(|member| member.workers.load(Ordering::Relaxed)).min().unwrap_or(1)
    }

    /// Has the first `processes` look at the tables of a query, and gives what each of them sees.
    ///
    /// # Errors
    /// The error of a process that can't open the tables, and a process that is lost meanwhile.
    pub fn open(&self, request: &[u8], processes: usize) -> Result<Vec<Vec<u8>>> {
        let (_turn, group) = (self.turn()?, &self.group);
        let asked = &group.members[..processes];
        asked.iter().for_each(|member| member.tell(Order::Open(Raw(request.to_vec()))));
        let mut opened = vec![Vec::new(); asked.len()];
        group.wait(&|| false, group.members.len(), asked.len(), |process, report| {
            match (report, opened.get_mut(process)) {
                (Report::Opened(Raw(bytes)), Some(seen)) => {
                    *seen = bytes;
                    Ok(true)
                }
                (other, _) => group.unless_alive(process, &other),
            }
        })?;
        Ok(opened)
    }

    /// The name of the host of a process.
    pub fn name(&self, process: usize) -> String {
        self.group.name(process)
    }

    /// Has all processes plan a query and run it. Adds their figures to `state`.
    ///
    /// # Errors
    /// Errors of planning, and a process that is lost meanwhile. The results give errors of running the query.
    pub fn run(&self, query: &Query<'_>, schema: SchemaRef, state: Arc<QueryState>) -> Result<Results> {
        let (turn, group) = (self.turn()?, self.group.clone());
        self.plan(query, false, &state)?.run(&group);
        let (rows_of, conducted) = (schema.clone(), state.clone());
        let feed = move |sink: &Sink| {
            let _turn = turn;
            Ok(group.conduct(Some((sink, &rows_of)), &conducted).map(|_| ())?)
        };
        Results::fed(schema, state, feed).map_err(|e| Error::System(e.to_string()))
    }

    /// Has all processes plan a query. `writes` says that the processes write its rows to files. Gives what they have
    /// answered.
    fn plan(&self, query: &Query<'_>, writes: bool, state: &QueryState) -> Result<Begun> {
        let group = &self.group;
        let addresses: Option<Vec<_>> = group.members.iter().map(|member| *locked(&member.address)).collect();
        let addresses = addresses.ok_or_else(|| Error::System("not all processes listen".into()))?;
        let run = {
            let mut runs = locked(&self.runs);
            *runs += 1;
            *runs
        };
        let Query { bytes, fingerprint } = *query;
        let places: Vec<_> = group.members.iter().map(|member| *locked(&member.place)).collect();
        for member in &group.members {
            let (query, addresses, places) = (Raw(bytes.to_vec()), addresses.clone(), places.clone());
            let lends = locked(&member.memory).is_some();
            member.tell(Order::Plan(Job { run, query, fingerprint, writes, addresses, places, lends }));
        }
        self.begun(state)
    }

    /// Waits until all processes have planned, or know which files to make.
    fn begun(&self, state: &QueryState) -> Result<Begun> {
        let group = &self.group;
        let mut begun = Begun { told: None, reads: vec![Vec::new(); group.members.len()] };
        let all = group.members.len();
        group.wait(&|| state.stopped(), all, all, |process, report| match report {
            Report::Planned { begun: told, reads } => {
                begun.told = begun.told.take().or(told);
                begun.reads[process] = reads;
                Ok(true)
            }
            other => group.unless_alive(process, &other),
        })?;
        Ok(begun)
    }
}

/// What the processes have answered before they begin.
struct Begun {
    /// What process 0 tells the others, where files are written.
    told: Option<Raw>,
    /// For each process, of which other processes it can read the memory.
    reads: Vec<Vec<bool>>,
}

impl Begun {
    /// Has all processes run the query that they have planned.
    fn run(self, group: &Group) {
        for (process, member) in group.members.iter().enumerate() {
            let lends = self.reads.iter().map(|reads| reads.get(process).is_some_and(|&reads| reads));
            member.tell(Order::Run { begun: self.told.clone(), lends: lends.collect() });
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.group.end();
    }
}
