//! A process, seen by its starter.

use std::collections::VecDeque;
use std::io::{BufReader, Read};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::ENDING;
use crate::error::{Error, Result};
use crate::locked;
use crate::message::{self, Order, Report};

/// How often is told that the starter lives.
const BEAT: Duration = Duration::from_secs(1);
/// The last bytes of standard error that are told.
const STDERR: usize = 2 << 10;

/// Where a process is.
#[derive(Debug)]
pub struct Host {
    /// Its name in messages.
    pub name: String,
    /// The address at which the others reach it.
    pub address: IpAddr,
    /// The port at which they do; any free one if it is 0.
    pub port: u16,
    /// Where relative paths begin, if not where it is started.
    pub directory: Option<PathBuf>,
    /// How many processes of the group are on its machine.
    pub sharing: usize,
    /// Whether it is on another machine.
    pub far: bool,
    /// What starts it.
    pub command: Command,
}

/// A process that was started.
pub(super) struct Member {
    pub name: String,
    pub child: Mutex<Child>,
    /// Ends it and what it has started.
    pub group: Mutex<Option<engine::children::Group>>,
    /// What is to be told; a thread tells it, so that a process that does not listen holds nobody up.
    pub orders: Mutex<Option<Sender<Order>>>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    /// Where it listens, once it does.
    pub address: Mutex<Option<SocketAddr>>,
    /// The workers that it has cores for.
    pub workers: AtomicUsize,
}

/// What comes from a process.
pub(super) enum Event {
    /// What it reports.
    Report(Report),
    /// Its output has ended.
    Over,
}

impl Member {
    /// Starts it.
    pub fn start(index: usize, host: Host, events: SyncSender<(usize, Event)>) -> Result<Member> {
        let Host { name, mut command, .. } = host;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let launch = |source| Error::Launch { host: name.clone(), source };
        let (mut child, group) = engine::children::spawn(&mut command).map_err(launch)?;
        let (orders, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let stderr = Arc::<Mutex<VecDeque<u8>>>::default();
        let kept = stderr.clone();
        let keep = move || keep(err, &kept);
        let listen = move || listen(index, out, &events);
        let (teller, told) = channel();
        let tell = move || tell_orders(orders, &told);
        let threads = [
            std::thread::Builder::new().name(format!("palais-orders-{index}")).spawn(tell),
            std::thread::Builder::new().name(format!("palais-stderr-{index}")).spawn(keep),
            std::thread::Builder::new().name(format!("palais-reports-{index}")).spawn(listen),
        ];
        for thread in threads {
            thread.map_err(|e| Error::System(e.to_string()))?;
        }
        Ok(Member {
            name,
            child: Mutex::new(child),
            group: Mutex::new(Some(group)),
            orders: Mutex::new(Some(teller)),
            stderr,
            address: Mutex::default(),
            workers: AtomicUsize::new(1),
        })
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
        let how = loop {
            match locked(&self.child).try_wait() {
                Ok(Some(status)) => break how(status),
                Ok(None) if Instant::now() < deadline => {}
                _ => break "closed its output".into(),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        // What it wrote last is read by another thread.
        std::thread::sleep(Duration::from_millis(20));
        let stderr: Vec<u8> = locked(&self.stderr).iter().copied().collect();
        let stderr = String::from_utf8_lossy(&stderr);
        let lines = stderr.lines().map(|line| format!("\n  | {line}")).collect();
        Error::Ended { host: self.name.clone(), how, stderr: lines }
    }
}

/// How a process ended, as a clause.
fn how(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(9), _) => "was killed (signal 9: by somebody, or because memory ran out)".into(),
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended".into(),
    }
}

/// Keeps the last that a process writes to standard error.
fn keep(err: Option<ChildStderr>, kept: &Mutex<VecDeque<u8>>) {
    let Some(mut err) = err else { return };
    let mut bytes = [0; STDERR];
    while let Ok(read) = err.read(&mut bytes)
        && read > 0
    {
        let mut kept = locked(kept);
        kept.extend(&bytes[..read]);
        let surplus = kept.len().saturating_sub(STDERR);
        kept.drain(..surplus);
    }
}

/// Tells a process its orders, and in between that the starter lives. Its input ends when there are no more.
fn tell_orders(orders: Option<ChildStdin>, told: &Receiver<Order>) {
    let Some(mut orders) = orders else { return };
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

/// Passes on what a process reports.
fn listen(index: usize, out: Option<ChildStdout>, events: &SyncSender<(usize, Event)>) {
    let mut out = out.map(BufReader::new);
    while let Some(Ok(Some(report))) = out.as_mut().map(message::read) {
        if events.send((index, Event::Report(report))).is_err() {
            return;
        }
    }
    // Whoever started it may be gone.
    let _ = events.send((index, Event::Over));
}
