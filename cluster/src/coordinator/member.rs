//! A process, seen by its starter.

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

/// How often is told that the starter lives.
const BEAT: Duration = Duration::from_secs(1);

/// Where a process is.
pub struct Host {
    /// Its name in messages.
    pub name: String,
    /// The address at which the others reach it.
    pub address: IpAddr,
    /// The ports of which it takes one.
    pub ports: Ports,
    /// Where relative paths begin, if not where it is started.
    pub directory: Option<PathBuf>,
    /// How many processes of the group are on its machine.
    pub sharing: usize,
    /// Whether it is on another machine.
    pub far: bool,
    /// Files there for connections with TLS, if the process does not know them itself.
    pub tls: Option<Files>,
    /// What starts it.
    pub launch: Launch,
}

impl Host {
    /// So many processes of this machine, each of which is this program, a palais of the starter's version.
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
    /// A command, with whose standard streams is talked.
    Command(Command),
    /// The daemon of its host, through a connection of which it becomes the other end.
    Node(Slot),
}

/// A process that was started.
pub(super) struct Member {
    pub name: String,
    started: Started,
    /// Whether it has told anything yet.
    pub begun: AtomicBool,
    /// What is to be told; a thread tells it, so that a process that does not listen holds nobody up.
    pub orders: Mutex<Option<Sender<Order>>>,
    /// Where it listens, once it does.
    pub address: Mutex<Option<SocketAddr>>,
    /// The workers that it has cores for.
    pub workers: AtomicUsize,
    /// Whether it is on this machine, as far as is known.
    pub near: bool,
    /// What it is known by in its memory, if rows may be read there.
    pub place: Mutex<Option<MarkAddress>>,
    /// Its memory, if it can be read here.
    pub memory: Mutex<Option<Memory>>,
}

/// A process, by what started it.
enum Started {
    Child {
        child: Mutex<Child>,
        /// Ends it and what it has started.
        group: Mutex<Option<engine::context::children::Group>>,
        stderr: Arc<Tail>,
    },
    Node(Slot, Socket),
}

/// What came from a process together, in its order.
pub(super) type Reports = (usize, Vec<Event>);

/// What comes from a process.
pub(super) enum Event {
    /// What it reports.
    Report(Report),
    /// Rows of the result, as [`Frame::Rows`] has them.
    Rows(Vec<u8>),
    /// It is another version, or no palais.
    Other(Error),
    /// Its output has ended.
    Over,
}

impl Member {
    /// Starts it.
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
                engine::context::children::end_with_this_thread(&mut command);
                let (mut child, group) = engine::context::children::spawn(&mut command).map_err(failed)?;
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

    /// Tells it something. Where that fails it has ended, which its output tells.
    pub fn tell(&self, order: Order) {
        if let Some(orders) = &*locked(&self.orders) {
            let _ = orders.send(order);
        }
    }

    /// How it ended, once its output has.
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
                // What it wrote last is read by another thread.
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

    /// Lets it end: there are no more orders.
    pub fn release(&self) {
        *locked(&self.orders) = None;
        if let Started::Node(_, socket) = &self.started {
            // One that is gone has ended.
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    /// Whether it has ended, so far as that is known here.
    pub fn is_over(&self) -> bool {
        match &self.started {
            Started::Child { child, .. } => !matches!(locked(child).try_wait(), Ok(None)),
            // Its node closes the connection when it has.
            Started::Node(_, socket) => is_closed(socket, Duration::ZERO),
        }
    }

    /// Ends it, whatever it does.
    pub fn kill(&self) {
        match &self.started {
            Started::Child { child, group, .. } => {
                *locked(group) = None;
                let mut child = locked(child);
                // It may have ended by itself.
                let _ = child.kill();
                let _ = child.wait();
            }
            Started::Node(seat, socket) => {
                // What fails here is gone already, or cut off: then it ends by itself.
                let _ = socket.shutdown(Shutdown::Both);
                let _ = seat.end();
            }
        }
    }
}

/// Tells a process its orders, and in between that the starter lives. Its input ends when there are no more.
fn tell_orders(mut orders: impl Write, told: &Receiver<Order>) {
    loop {
        let order = match told.recv_timeout(BEAT) {
            Ok(order) => order,
            Err(RecvTimeoutError::Timeout) => Order::Alive,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        // A process that has ended is told of by its output.
        if message::write(&mut orders, &order).is_err() {
            return;
        }
    }
}

/// Passes on what a process of a host reports, if it is of this version.
fn listen(index: usize, out: impl Read, host: String, ours: String, events: &SyncSender<Reports>) {
    let mut out = BufReader::new(out);
    let other = match version_exchange::read(&mut out) {
        FirstLine::Version(theirs) if theirs == ours => None,
        FirstLine::Version(theirs) => Some(Event::Other(Error::Version { host, theirs, ours })),
        FirstLine::Other(told) => Some(Event::Other(Error::Stranger { host, told, ours })),
        FirstLine::Over => Some(Event::Over),
    };
    if let Some(other) = other {
        // Whoever started it may be gone.
        let _ = events.send((index, vec![other]));
        return;
    }
    let mut together = Vec::new();
    while let Ok(Some(frame)) = message::read_frame(&mut out) {
        together.push(match frame {
            Frame::Message(report) => Event::Report(report),
            Frame::Rows(bytes) => Event::Rows(bytes),
        });
        // Short ones come several at a time, and each that is passed on wakes a thread. A part of one may come late.
        if !message::has_frame(out.buffer()) && events.send((index, std::mem::take(&mut together))).is_err() {
            return;
        }
    }
    together.push(Event::Over);
    // Whoever started it may be gone.
    let _ = events.send((index, together));
}
