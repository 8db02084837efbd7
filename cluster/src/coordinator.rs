//! The starter of a group of processes: has them run queries, and sees to it that all end when one does.
//!
//! - `figures`: how far processes are.
//! - [`group`]: the processes, and what is waited for of all of them.
//! - `make`: files that they write together.
//! - [`member`]: one of them.
//! - `rows`: what a query gives.

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

use crate::error::{Error, Result};
use crate::locality::MarkAddress;
use crate::locked;
use crate::mesh::link::Compression;
use crate::message::{Begin, Job, Order, Raw, Report};
use group::{Events, Group};
use member::Member;
pub use member::{Host, Launch};

/// How much longer processes wait for one another than the starter for them, which knows more of them.
const LONGER: Duration = Duration::from_secs(1);
/// So many reports wait at most for the starter.
const WAITING: usize = 64;

/// A query for all processes.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// What [`crate::worker::Binary::plan`] takes.
    pub bytes: &'a [u8],
    /// The fingerprint of its plan.
    pub fingerprint: u64,
}

/// How a group of processes is started.
pub struct Options {
    /// The starter's version.
    pub version: String,
    /// The processes.
    pub hosts: Vec<Host>,
    /// How processes send each other rows.
    pub traffic: Traffic,
    /// After how long without a word a process is lost.
    pub patience: Duration,
}

/// How processes of a query send each other rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traffic {
    /// Over sockets.
    pub compression: Compression,
    /// Whether that is the only way, also on one machine, where they could read each other's memory.
    pub sockets_only: bool,
}

/// A group of processes that runs queries, one after another, until one fails or is stopped: then all have ended. Dropping
/// it ends them.
pub struct Cluster {
    group: Arc<Group>,
    runs: Mutex<u32>,
    is_busy: Arc<AtomicBool>,
}

/// What is done now, before anything else is.
struct Turn(Arc<AtomicBool>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Cluster {
    /// Starts processes and waits until all of them listen.
    ///
    /// # Errors
    /// One can't be started, says nothing in time or is of another version.
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

    /// Begins to do something with the processes.
    ///
    /// # Errors
    /// They have ended, or still run a query.
    fn turn(&self) -> Result<Turn> {
        if self.group.has_ended.load(Ordering::SeqCst) {
            return Err(Error::Over);
        }
        match self.is_busy.swap(true, Ordering::SeqCst) {
            true => Err(Error::Busy),
            false => Ok(Turn(self.is_busy.clone())),
        }
    }

    /// How many processes there are.
    pub fn processes(&self) -> usize {
        self.group.members.len()
    }

    /// The host that was lost, if that ended a query: it might be run again without.
    pub fn lost(&self) -> Option<String> {
        locked(&self.group.lost).clone()
    }

    /// The workers that each process has cores for.
    pub fn workers(&self) -> usize {
        self.group.members.iter().map(|member| member.workers.load(Ordering::Relaxed)).min().unwrap_or(1)
    }

    /// Has the first `processes` look at the tables of a query; what each of them sees.
    ///
    /// # Errors
    /// Those of looking at them, and a process that is lost meanwhile.
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

    /// The name of a process's host.
    pub fn name(&self, process: usize) -> String {
        self.group.name(process)
    }

    /// Has all processes plan a query and run it. Figures go into `state`.
    ///
    /// # Errors
    /// Those of planning, and a process that is lost meanwhile. What fails later is told by the results.
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

    /// Has all processes plan a query. Gives what process 0 tells the others, where it `writes`.
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

    /// Waits until all processes know what to do.
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

/// What processes have said before they begin.
struct Begun {
    /// What process 0 tells the others.
    told: Option<Raw>,
    /// Of each process, whose memory it can read.
    reads: Vec<Vec<bool>>,
}

impl Begun {
    /// Has all processes run what they have planned.
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
