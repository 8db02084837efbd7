//! A process of a query, from its first order to its end: it connects to the other processes and runs its part.
//!
//! - `files`: traits of what processes write together.
//! - `out`: writes to the coordinator.
//! - `shared`: the state that the threads of a process share.

mod files;
mod out;
mod shared;

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use engine::distributed::processes::{Locality, Notes, Processes};
use engine::distributed::wire::memory::Memory;
use engine::distributed::wire::transfer::Transfers;
use queries::Plan;

use crate::handshake::{Hello, Kind};
use crate::locality::{self, MarkAddress};
use crate::locked;
use crate::mesh::{Mesh, OnLost, Settings};
use crate::message::{self, Begin, Done, Failure, Figures, Job, Order, Raw, Report};
use crate::ports::Ports;
use crate::tls::{Files, Tls};
use crate::version_exchange;
pub use files::{Maker, Together, Writer};
use out::Out;
use shared::{Running, Shared};

/// How often a process says that it lives.
const BEAT: Duration = Duration::from_millis(500);

/// What the binary does for a process.
pub trait Binary: Send + Sync {
    /// The version of the binary.
    fn version(&self) -> String;

    /// Looks at the tables of a query, for [`Order::Open`].
    ///
    /// # Errors
    /// A table can't be opened.
    fn open(&self, request: &[u8]) -> Result<Vec<u8>, Failure>;

    /// Plans the query of [`Job::query`]; `sharing` processes of the query are on this machine.
    ///
    /// # Errors
    /// Errors of planning.
    fn plan(&self, query: &[u8], sharing: usize) -> Result<Planned, Failure>;

    /// Takes the job of [`Order::Make`]; `sharing` processes are on this machine.
    ///
    /// # Errors
    /// The job can't be done.
    fn make(&self, job: &[u8], sharing: usize) -> Result<Box<dyn Maker>, Failure>;

    /// The workers that the process has cores for, if `sharing` processes of the query are on this machine.
    fn workers(&self, sharing: usize) -> usize;

    /// The address at which the process listens and the ports of which it takes one, if the binary knows better than
    /// the coordinator.
    fn listens(&self) -> Option<(IpAddr, Ports)> {
        None
    }

    /// Both ends of connections with TLS, if they are to have it; `files` are those that the coordinator names.
    ///
    /// # Errors
    /// A file can't be read, or holds something else.
    fn tls(&self, files: Option<&Files>) -> Result<Option<Tls>, Failure>;

    /// The process has done its part of a query.
    fn done(&self, _figures: &Figures) {}

    /// Ends the process and what it has started, and leaves nothing behind.
    fn end(&self, code: u8) -> !;
}

/// A query that was planned.
pub struct Planned {
    /// Its plan.
    pub plan: Arc<Plan>,
    /// The settings with which it runs.
    pub settings: engine::Settings,
    /// The fingerprint of the plan.
    pub fingerprint: u64,
    /// Writes the rows, if the query writes files.
    pub writer: Option<Box<dyn Writer>>,
}

/// The task that the coordinator has given.
enum Task {
    Query(Job, Planned, Vec<Option<Memory>>),
    Make(Box<dyn Maker>),
}

impl Task {
    /// The files that the task writes, if it does.
    fn files(&mut self) -> Option<&mut dyn Together> {
        match self {
            Task::Query(_, planned, _) => {
                planned.writer.as_mut().map(|writer| &mut **writer as &mut dyn Together)
            }
            Task::Make(maker) => Some(&mut **maker),
        }
    }
}

/// Called when timely's threads lose another process.
static ON_LOST: OnceLock<OnLost> = OnceLock::new();

/// Whether a panic is that of a timely thread that has lost another process; the panic hook asks. Reports the loss to
/// the coordinator in that case. The hook must then park the thread, because timely would end the process.
pub fn is_loss(thread: Option<&str>, message: &str) -> bool {
    let Some(thread) = thread.filter(|_| message.starts_with("timely communication error: ")) else {
        return false;
    };
    let peer = thread.strip_prefix("timely:recv-").or_else(|| thread.strip_prefix("timely:send-"));
    let (Some(Ok(peer)), Some(lose)) = (peer.map(str::parse), ON_LOST.get()) else { return false };
    let reason = message.rsplit(": ").next().unwrap_or_default();
    lose(peer, reason.to_string());
    true
}

/// The way to the coordinator, once there is one.
static COORDINATOR: OnceLock<Arc<Shared>> = OnceLock::new();

/// Reports to the coordinator that this process has failed; any thread may call it at any time. The coordinator then
/// ends the process. Gives false if there is no coordinator.
pub fn report_failure(failure: Failure) -> bool {
    let coordinator = COORDINATOR.get();
    coordinator.inspect(|shared| shared.report(&Report::Failed(failure))).is_some()
}

/// Serves the coordinator until that closes the input. Never returns: the process ends.
pub fn serve(
    mut input: impl Read + Send + 'static,
    mut output: impl Write + Send + 'static,
    binary: &Arc<impl Binary + 'static>,
) -> ! {
    // This process has more threads than others, and they start before the rows come.
    engine::context::pages::small();
    // If writing fails the coordinator is gone.
    let _ = version_exchange::write(&mut output, &binary.version());
    let Ok(Some(Order::Begin(begin))) = message::read(&mut input) else {
        // A coordinator of another version ends this process once it has read that line.
        let _ = std::io::copy(&mut input, &mut std::io::sink());
        binary.end(2)
    };
    let shared = Arc::new(Shared {
        out: Mutex::new(Out::new(output)),
        running: Mutex::default(),
        carried: Arc::default(),
        lent: Transfers::default(),
        lost: AtomicBool::new(false),
        heard: Mutex::new(Instant::now()),
    });
    // A process serves one coordinator.
    let _ = COORDINATOR.set(shared.clone());
    let listener = match listen(&begin, binary.listens()) {
        Ok(listener) => listener,
        Err(e) => {
            let message = format!("cannot begin at {}: {e}", begin.address);
            shared.report(&Report::Failed(Failure { message, code: 1 }));
            binary.end(1);
        }
    };
    if let Ok(address) = listener.local_addr() {
        let workers = binary.workers(begin.sharing);
        let address = SocketAddr::new(begin.address, address.port());
        // Without random bytes all rows go over sockets.
        let place = MarkAddress::here().ok();
        shared.report(&Report::Listening { address, workers, place });
    }
    let losing = shared.clone();
    let on_lost: OnLost = Arc::new(move |peer, reason| losing.lose(peer, reason));
    // A process serves one coordinator.
    let _ = ON_LOST.set(on_lost.clone());
    let (orders, taken) = channel();
    let (hearing, ending) = (shared.clone(), binary.clone());
    let hear = move || {
        while let Ok(Some(order)) = message::read(&mut input) {
            *locked(&hearing.heard) = Instant::now();
            match order {
                Order::Alive => {}
                Order::Returned(numbers) => hearing.lent.take_back(&numbers),
                Order::Stop => locked(&hearing.running).notes.stop(),
                order => {
                    if orders.send(order).is_err() {
                        break;
                    }
                }
            }
        }
        // The coordinator is gone, or needs this process no more.
        locked(&hearing.running).notes.stop();
        ending.end(0);
    };
    let beating = shared.clone();
    let beat = move || {
        loop {
            std::thread::sleep(BEAT);
            beating.report(&Report::Alive(beating.figures()));
        }
    };
    // This needs a thread of its own, because one that reports may wait for a coordinator that reads nothing.
    let (watching, ending, patience) = (shared.clone(), binary.clone(), begin.patience);
    let watch = move || {
        while locked(&watching.heard).elapsed() <= patience {
            std::thread::sleep(BEAT);
        }
        ending.end(1);
    };
    let mut threads = vec![
        std::thread::Builder::new().name("palais-orders".into()).spawn(hear),
        std::thread::Builder::new().name("palais-beat".into()).spawn(beat),
    ];
    if begin.far {
        threads.push(std::thread::Builder::new().name("palais-watch".into()).spawn(watch));
    }
    if threads.iter().any(Result::is_err) {
        let message = "the system has no more threads".to_string();
        shared.report(&Report::Failed(Failure { message, code: 1 }));
        binary.end(1);
    }
    let tls = match binary.tls(begin.tls.as_ref()) {
        Ok(tls) => tls,
        Err(failure) => {
            shared.report(&Report::Failed(failure));
            binary.end(1);
        }
    };
    let process = Process { begin, tls, listener: Arc::new(listener), shared: shared.clone(), on_lost };
    // The files that were begun stay until the coordinator knows that this process failed. Removing them makes other
    // processes fail too, with less clear errors.
    let mut task = None;
    if let Err(failure) = process.obey(&taken, &**binary, &mut task)
        && !shared.lost.load(Ordering::SeqCst)
    {
        shared.report(&Report::Failed(failure));
    }
    // The coordinator ends the process by closing the input.
    loop {
        std::thread::park();
    }
}

fn listen(begin: &Begin, listens: Option<(IpAddr, Ports)>) -> std::io::Result<TcpListener> {
    if let Some(directory) = &begin.directory {
        let enter = |e| std::io::Error::other(format!("{}: {e}", directory.display()));
        std::env::set_current_dir(directory).map_err(enter)?;
    }
    let (address, ports) = listens.unwrap_or((begin.address, begin.ports));
    let listener = ports.listen(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

struct Process {
    begin: Begin,
    tls: Option<Tls>,
    listener: Arc<TcpListener>,
    shared: Arc<Shared>,
    on_lost: OnLost,
}

fn failure(e: &engine::Error) -> Failure {
    let code = if matches!(e, engine::Error::Cancelled) { 130 } else { 1 };
    Failure { message: e.to_string(), code }
}

impl Process {
    fn obey(
        &self,
        orders: &Receiver<Order>,
        binary: &dyn Binary,
        task: &mut Option<Task>,
    ) -> Result<(), Failure> {
        let Begin { process, processes, sharing, .. } = self.begin;
        while let Ok(order) = orders.recv() {
            match order {
                Order::Open(request) => self.shared.report(&Report::Opened(Raw(binary.open(&request.0)?))),
                Order::Plan(job) => {
                    let made = binary.plan(&job.query.0, sharing)?;
                    if made.fingerprint != job.fingerprint {
                        let message =
                            "it plans this query in another way\n  help: please report this with the query";
                        return Err(Failure { message: message.into(), code: 70 });
                    }
                    let (writes, near) = (job.writes, self.near(&job));
                    let reads = near.iter().map(Option::is_some).collect();
                    self.prepared(task.insert(Task::Query(job, made, near)), writes, reads)?;
                }
                Order::Make(Raw(job)) => {
                    let task = task.insert(Task::Make(binary.make(&job, sharing)?));
                    self.prepared(task, true, Vec::new())?;
                }
                Order::Join(Raw(begun)) => {
                    let Some(Task::Make(maker)) = task else { continue };
                    if process > 0 {
                        maker.join(&begun, process, processes)?;
                    }
                    self.shared.report(&Report::Joined(Raw(maker.look()?)));
                }
                Order::Run { begun, lends } => {
                    let Some(Task::Query(job, made, reads)) = task else { continue };
                    if let (Some(Raw(begun)), Some(writer), true) = (&begun, &mut made.writer, process > 0) {
                        writer.join(begun, process, processes)?;
                    }
                    let near = Locality { reads: std::mem::take(reads), lends, loans: Arc::default() };
                    self.done(self.run(job, made, near), binary)?;
                }
                Order::Write(told) => {
                    let Some(Task::Make(maker)) = task else { continue };
                    self.done(self.make(&mut **maker, told), binary)?;
                }
                Order::Finish(written) => {
                    let Some(files) = task.as_mut().and_then(Task::files) else { continue };
                    let written = files.finish(written.into_iter().map(|Raw(bytes)| bytes).collect())?;
                    self.shared.report(&Report::Finished(written));
                }
                Order::Begin(_) | Order::Stop | Order::Alive | Order::Returned(_) => {}
            }
        }
        Ok(())
    }

    /// Reports that the process knows what to do. Process 0 begins the files that are to be written.
    fn prepared(&self, task: &mut Task, writes: bool, reads: Vec<bool>) -> Result<(), Failure> {
        let Begin { process, processes, .. } = self.begin;
        let files = task.files().filter(|_| writes && process == 0);
        let begun = files.map(|files| files.begin(processes)).transpose()?;
        self.shared.report(&Report::Planned { begun: begun.map(Raw), reads });
        Ok(())
    }

    /// The memory of each other process, if this one can read it.
    fn near(&self, job: &Job) -> Vec<Option<Memory>> {
        let me = &self.begin.process;
        let here = job.addresses.get(*me).map(SocketAddr::ip);
        let places = job.places.iter().zip(&job.addresses).enumerate();
        let memory = |(process, (place, address)): (usize, (&Option<MarkAddress>, &SocketAddr))| {
            let is_near = process != *me && here.is_some_and(|here| locality::are_near(here, address.ip()));
            place.filter(|_| is_near)?.memory()
        };
        places.map(memory).collect()
    }

    /// Reports what the process has done.
    fn done(&self, outcome: engine::Result<Done>, binary: &dyn Binary) -> Result<(), Failure> {
        let done = outcome.map_err(|e| failure(&e))?;
        binary.done(&done.figures);
        self.shared.report(&Report::Done(done));
        Ok(())
    }

    fn run(&self, job: &Job, planned: &mut Planned, near: Locality) -> engine::Result<Done> {
        let (notes, loans) = (Arc::new(Notes::default()), near.loans.clone());
        let running = Running { notes: notes.clone(), state: None, loans: loans.clone() };
        *locked(&self.shared.running) = running;
        self.shared.carried.clear();
        self.shared.lent.clear();
        let Begin { process, processes, incarnation, token, patience, .. } = &self.begin;
        let hello = Hello {
            incarnation: *incarnation,
            fingerprint: job.fingerprint,
            run: job.run,
            kind: Kind::Notes,
            from: 0,
            to: 0,
        };
        let settings = Settings {
            process: *process,
            workers: planned.settings.workers,
            addresses: job.addresses.clone(),
            hello,
            token: *token,
            compression: self.begin.compression,
            tls: self.tls.clone(),
            patience: *patience,
            on_lost: self.on_lost.clone(),
        };
        let (listener, carried) = (self.listener.clone(), self.shared.carried.clone());
        let mesh = Mesh::start(settings, listener, notes.clone(), carried, loans)?;
        let among = Processes { index: *process, count: *processes, network: mesh.clone(), notes, near };
        let results = engine::run_among(&planned.plan, &planned.settings, Arc::new(among))?;
        let state = results.state().clone();
        locked(&self.shared.running).state = Some(state.clone());
        let mut written = None;
        match &mut planned.writer {
            Some(writer) if job.writes => written = Some(Raw(writer.write(results)?)),
            _ => results.drain(|batch| self.shared.report_rows(&batch, job.lends))?,
        }
        mesh.end();
        let first = process * planned.settings.workers;
        let nodes = state.figures[first..first + planned.settings.workers].iter().map(|worker| {
            let node = |f: &engine::context::query::Figures| {
                let all = [&f.rows, &f.batches, &f.bytes, &f.busy_ns, &f.kept];
                all.map(|figure| figure.load(Ordering::Relaxed))
            };
            worker.iter().map(node).collect()
        });
        Ok(Done { figures: self.shared.figures(), nodes: nodes.collect(), skipped: state.skipped(), written })
    }
}
