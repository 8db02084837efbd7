//! A process, as the coordinator sees it.

use std::io::{self, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::distributed::wire::memory::Memory;

use super::group::ENDING;
use crate::ending::{Tail, how};
use crate::error::{Error, Result};
use crate::locality::MarkAddress;
use crate::locked;
use crate::message::{self, Frame, Order, Report};
use crate::node::{Fate, Slot};
use crate::ports::Ports;
use crate::socket::{Socket, is_closed};
use crate::tls::Files;
use crate::version_exchange::{self, FirstLine};

/// How often the coordinator tells a process that it lives.
const BEAT: Duration = Duration::from_secs(1);

/// Where a process runs, and how it is started.
pub struct Host {
    /// Its name in messages.
    pub name: String,
    /// The address at which the other processes reach it.
    pub address: IpAddr,
    /// The ports of which the process takes one.
    pub ports: Ports,
    /// The directory where relative paths begin, if it is not the one where the process starts.
    pub directory: Option<PathBuf>,
    /// How many processes of the group run on its machine.
    pub sharing: usize,
    /// Whether the process runs on another machine.
    pub far: bool,
    /// Files on the host for connections with TLS, if the process does not know them itself.
    pub tls: Option<Files>,
    /// What starts the process.
    pub launch: Launch,
}

impl Host {
    /// Processes of this machine, as many as `processes`. Each runs `program`, which must be a palais of the
    /// coordinator's version.
    pub fn local(program: &Path, processes: usize) -> Vec<Host> {
        let process = |process| {
            let mut command = Command::new(program);
            command.args(["cluster", "process"]);
            Host {
                name: format!("local-{process}"),
                address: IpAddr::V4(Ipv4Addr::LOCALHOST),
                ports: Ports::ANY,
                directory: None,
                sharing: processes,
                far: false,
                tls: None,
                launch: Launch::Command(command),
            }
        };
        (0..processes).map(process).collect()
    }
}

/// What starts a process.
pub enum Launch {
    /// A command. The coordinator talks with it over its standard streams.
    Command(Command),
    /// The node of its host. The process gets the connection to the node as its standard streams.
    Node(Slot),
}

/// A process that was started.
pub(super) struct Member {
    pub name: String,
    started: Started,
    /// Whether the process has reported anything yet.
    pub begun: AtomicBool,
    /// Orders to the process. A thread writes them, so that the coordinator does not wait for a process that does not
    /// read.
    pub orders: Mutex<Option<Sender<Order>>>,
    /// The address at which it listens, once it does.
    pub address: Mutex<Option<SocketAddr>>,
    /// The workers that the process has cores for.
    pub workers: AtomicUsize,
    /// Whether the process is on this machine, as far as the coordinator knows: a command started it, and not over ssh.
    pub near: bool,
    /// Where the process has its mark in its memory, if others may read rows there.
    pub place: Mutex<Option<MarkAddress>>,
    /// The memory of the process, if the coordinator can read it.
    pub memory: Mutex<Option<Memory>>,
}

/// A process, by what has started it.
enum Started {
    Child {
        child: Mutex<Child>,
        /// Ends the process and what it has started, when dropped.
        group: Mutex<Option<engine::context::children::Group>>,
        stderr: Arc<Tail>,
    },
    Node(Slot, Socket),
}

/// Events that came together from a process, in their order.
pub(super) type Reports = (usize, Vec<Event>);

/// What comes from the output of a process.
pub(super) enum Event {
    /// A report.
    Report(Report),
    /// Rows of the result, as [`Frame::Rows`] has them.
    Rows(Vec<u8>),
    /// The process is of another version, or is no palais.
    Other(Error),
    /// Its output has ended.
    Over,
}

impl Member {
    /// Starts a process, with threads that write its orders and read its reports into `events`.
    pub fn start(index: usize, host: Host, version: &str, events: SyncSender<Reports>) -> Result<Member> {
        let near = !host.far && matches!(host.launch, Launch::Command(_));
        let Host { name, launch, .. } = host;
        let failed = |source| Error::Launch { host: name.clone(), source };
        let thread = |what: &str| std::thread::Builder::new().name(format!("palais-{what}-{index}"));
        let system = |e: io::Error| Error::System(e.to_string());
        let started;
        let (orders, out): (Box<dyn Write + Send>, Box<dyn Read + Send>) = match launch {
            Launch::Command(mut command) => {
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
                let (mut child, group) = engine::context::children::spawn_bound(command).map_err(failed)?;
                let (orders, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
                let stderr = Arc::new(Tail::default());
                let kept = stderr.clone();
                let keep = move || err.into_iter().for_each(|err| kept.keep(err, |_| {}));
                thread("stderr").spawn(keep).map_err(system)?;
                started = Started::Child { child: Mutex::new(child), group: Mutex::new(Some(group)), stderr };
                let none = || failed(io::ErrorKind::BrokenPipe.into());
                (Box::new(orders.ok_or_else(none)?), Box::new(out.ok_or_else(none)?))
            }
            Launch::Node(seat) => {
                let socket = seat.take()?;
                let (orders, out) =
                    (socket.try_clone().map_err(failed)?, socket.try_clone().map_err(failed)?);
                started = Started::Node(seat, socket);
                (Box::new(orders), Box::new(out))
            }
        };
        let (teller, told) = channel();
        thread("orders").spawn(move || tell_orders(orders, &told)).map_err(system)?;
        let (host, ours) = (name.clone(), version.to_string());
        thread("reports").spawn(move || listen(index, out, host, ours, &events)).map_err(system)?;
        let (orders, workers) = (Mutex::new(Some(teller)), AtomicUsize::new(1));
        let (address, place, memory) = (Mutex::default(), Mutex::default(), Mutex::default());
        let begun = AtomicBool::new(false);
        Ok(Member { name, started, begun, orders, address, workers, near, place, memory })
    }

    /// Sends an order to the process. Sending fails if the process has ended; the end of its output tells that.
    pub fn tell(&self, order: Order) {
        if let Some(orders) = &*locked(&self.orders) {
            let _ = orders.send(order);
        }
    }

    /// How the process ended, as an error. Call it when the output of the process has ended.
    pub fn ending(&self) -> Error {
        let deadline = Instant::now() + ENDING;
        let host = self.name.clone();
        match &self.started {
            Started::Child { child, stderr, .. } => {
                let how = loop {
                    match locked(child).try_wait() {
                        Ok(Some(status)) => break how(status),
                        Ok(None) if Instant::now() < deadline => {}
                        _ => break "closed its output".into(),
                    }
                    std::thread::sleep(Duration::from_millis(5));
                };
                // Another thread reads the last lines of the process.
                std::thread::sleep(Duration::from_millis(20));
                Error::Ended { host, how, stderr: stderr.lines() }
            }
            Started::Node(seat, _) => loop {
                match seat.fate() {
                    Ok(Some(Fate { how, stderr, .. })) => return Error::Ended { host, how, stderr },
                    Ok(None) if Instant::now() < deadline => {}
                    Ok(None) => {
                        return Error::Ended { host, how: "closed its output".into(), stderr: String::new() };
                    }
                    Err(Error::Node { node, what }) => {
                        let what = format!("its process was lost, and it can't be asked why: {what}");
                        return Error::Node { node, what };
                    }
                    Err(e) => return e,
                }
                std::thread::sleep(Duration::from_millis(20));
            },
        }
    }

    /// Lets the process end: no more orders come.
    pub fn release(&self) {
        *locked(&self.orders) = None;
        if let Started::Node(_, socket) = &self.started {
            // A connection that is gone needs no end.
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    /// Whether the process has ended, as far as the coordinator knows.
    pub fn is_over(&self) -> bool {
        match &self.started {
            Started::Child { child, .. } => !matches!(locked(child).try_wait(), Ok(None)),
            // The node closes the connection when the process has ended.
            Started::Node(_, socket) => is_closed(socket, Duration::ZERO),
        }
    }

    /// Kills the process.
    pub fn kill(&self) {
        match &self.started {
            Started::Child { child, group, .. } => {
                *locked(group) = None;
                let mut child = locked(child);
                // The process may have ended by itself.
                let _ = child.kill();
                let _ = child.wait();
            }
            Started::Node(seat, socket) => {
                // An error means that the process is gone already, or is cut off and ends by itself.
                let _ = socket.shutdown(Shutdown::Both);
                let _ = seat.end();
            }
        }
    }
}

/// Writes the orders of a process, and once in [`BEAT`] without an order that the coordinator lives. Closes the input
/// of the process when there are no more orders.
fn tell_orders(mut orders: impl Write, told: &Receiver<Order>) {
    loop {
        let order = match told.recv_timeout(BEAT) {
            Ok(order) => order,
            Err(RecvTimeoutError::Timeout) => Order::Alive,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        // The end of a process is seen at its output.
        if message::write(&mut orders, &order).is_err() {
            return;
        }
    }
}

/// Passes on the reports of a process, if it is of the version `ours`.
fn listen(index: usize, out: impl Read, host: String, ours: String, events: &SyncSender<Reports>) {
    let mut out = BufReader::new(out);
    let other = match version_exchange::read(&mut out) {
        FirstLine::Version(theirs) if theirs == ours => None,
        FirstLine::Version(theirs) => Some(Event::Other(Error::Version { host, theirs, ours })),
        FirstLine::Other(told) => Some(Event::Other(Error::Stranger { host, told, ours })),
        FirstLine::Over => Some(Event::Over),
    };
    if let Some(other) = other {
        // The coordinator may be gone.
        let _ = events.send((index, vec![other]));
        return;
    }
    let mut together = Vec::new();
    while let Ok(Some(frame)) = message::read_frame(&mut out) {
        together.push(match frame {
            Frame::Message(report) => Event::Report(report),
            Frame::Rows(bytes) => Event::Rows(bytes),
        });
        // Short frames come several at a time, and each send wakes a thread. A frame of which a part is still missing
        // is not waited for.
        if !message::has_frame(out.buffer()) && events.send((index, std::mem::take(&mut together))).is_err() {
            return;
        }
    }
    together.push(Event::Over);
    // The coordinator may be gone.
    let _ = events.send((index, together));
}
