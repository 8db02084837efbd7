//! The processes that a node has started, and those that wait for their turn.

use std::collections::VecDeque;
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::metrics::Counts;
use super::{BEAT, FAILED, Fate, Running};
use crate::brief::Lines;
use crate::ending::{LINE_BREAK, Tail, how};
use crate::locked;
use crate::socket::{Socket, is_closed};

/// How long the node remembers how a process has ended.
const KEPT: Duration = Duration::from_secs(60);
/// The most processes that wait for their turn.
const WAITING: usize = 1024;
/// How long a query that is cancelled may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);

/// The processes of a node.
pub struct Table {
    /// The address of the node, for its log.
    host: String,
    inner: Mutex<Inner>,
    changed: Condvar,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Inner {
    entries: Vec<Entry>,
    /// The processes that wait, in their order: their numbers, and whether they are to lead.
    waiting: VecDeque<(u64, bool)>,
    tickets: u64,
}

impl Inner {
    /// How many processes of a kind run.
    fn count(&self, leads: bool) -> usize {
        self.entries.iter().filter(|entry| entry.ended.is_none() && entry.leads == leads).count()
    }
}

struct Entry {
    query: String,
    statement: String,
    leads: bool,
    pid: i32,
    started: Instant,
    /// Whether the process has told what it has done. A process that makes several tables tells so for each.
    done: bool,
    /// Whether a client asked to end its query.
    cancelled: bool,
    ended: Option<(Instant, Fate)>,
}

impl Entry {
    /// Sends a signal to the process, which has not ended, and to what it has started.
    fn kill(&self, signal: i32) {
        // SAFETY: kill(2) takes any numbers. That of a child that has just ended may be taken again only once the entry
        // says so, but for a moment.
        unsafe { libc::kill(-self.pid, signal) };
    }
}

/// A place in the queue of the processes that wait for their turn. Dropping it gives the place up.
struct Ticket<'a>(&'a Table, u64);

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        locked(&self.0.inner).waiting.retain(|(ticket, _)| *ticket != self.1);
        self.0.changed.notify_all();
    }
}

/// What a process is started for.
pub struct Purpose {
    /// The query.
    pub query: String,
    /// Its statement.
    pub statement: String,
    /// Whether it leads: it talks with the caller of the query.
    pub leads: bool,
}

impl Table {
    /// A table without processes.
    pub fn new(host: String, counts: Arc<Counts>) -> Table {
        Table { host, inner: Mutex::default(), changed: Condvar::new(), counts }
    }

    /// Waits until fewer than `most` processes of a kind run here, and all that have asked before have begun. Calls
    /// `wait` once in [`BEAT`], and gives up when that fails.
    fn take_turn(
        &self,
        leads: bool,
        most: usize,
        mut wait: impl FnMut() -> io::Result<()>,
    ) -> io::Result<Ticket<'_>> {
        let number = {
            let mut inner = locked(&self.inner);
            if inner.waiting.len() >= WAITING {
                return Err(io::Error::other("too many queries wait here already"));
            }
            inner.tickets += 1;
            let number = inner.tickets;
            inner.waiting.push_back((number, leads));
            number
        };
        let ticket = Ticket(self, number);
        let mut told = Instant::now();
        loop {
            let inner = locked(&self.inner);
            let first = inner.waiting.iter().find(|(_, other)| *other == leads);
            if first == Some(&(number, leads)) && inner.count(leads) < most {
                drop(inner);
                return Ok(ticket);
            }
            drop(self.changed.wait_timeout(inner, BEAT).unwrap_or_else(PoisonError::into_inner));
            if told.elapsed() >= BEAT {
                told = Instant::now();
                wait()?;
            }
        }
    }

    /// Starts a process whose standard input and output are the socket, once its turn has come; see
    /// [`Table::take_turn`]. Calls `taken` before that.
    pub fn start(
        self: &Arc<Table>,
        mut command: Command,
        purpose: Purpose,
        socket: &Socket,
        most: usize,
        wait: impl FnMut() -> io::Result<()>,
        taken: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let Purpose { query, statement, leads } = purpose;
        command.stdin(OwnedFd::from(socket.try_clone()?)).stdout(OwnedFd::from(socket.try_clone()?));
        let ticket = self.take_turn(leads, most, wait)?;
        // The client gets the answer before the process writes to the connection.
        taken()?;
        command.stderr(Stdio::piped());
        let (table, socket) = (self.clone(), socket.try_clone()?);
        let watched = socket.try_clone()?;
        let (started, outcome) = channel();
        // The thread that starts the process lives as long as the process: the system ends such a child with the thread
        // that started it.
        let follow = move || {
            engine::context::children::end_with_this_thread(&mut command);
            let (mut child, group) = match engine::context::children::spawn(&mut command) {
                Ok(spawned) => spawned,
                Err(e) => {
                    let _ = started.send(Err(e));
                    return;
                }
            };
            // The command holds copies of the connection, which from now on belong to the child alone.
            drop(command);
            let pid = child.id() as i32;
            table.add(Entry {
                query: query.clone(),
                statement,
                leads,
                pid,
                started: Instant::now(),
                done: false,
                cancelled: false,
                ended: None,
            });
            // The caller below waits for this.
            let _ = started.send(Ok(pid));
            let (tail, mut lines) = (Tail::default(), Lines::default());
            // The log of the node has whole messages.
            let log = |line: &str| warn!(host = table.host, query, "{}", line.replace(LINE_BREAK, "\n"));
            child.stderr.take().into_iter().for_each(|err| tail.keep(err, |bytes| lines.take(bytes, log)));
            lines.finish(log);
            let ended = child.wait();
            drop(group);
            // This process has copies of the connection too, so it must close the connection itself.
            let _ = socket.shutdown(Shutdown::Both);
            table.note_end(pid, ended, &tail);
        };
        std::thread::Builder::new().name("palais-follow".into()).spawn(follow)?;
        let pid = outcome.recv().unwrap_or_else(|_| Err(io::Error::other("a thread ended")))?;
        drop(ticket);
        let table = self.clone();
        let watch = move || table.watch(pid, &watched);
        std::thread::Builder::new().name("palais-watch".into()).spawn(watch).map(|_| ())
    }

    fn add(&self, entry: Entry) {
        self.counts.started.fetch_add(1, Ordering::Relaxed);
        let Entry { query, leads, pid, .. } = &entry;
        info!(host = self.host, query, leads, pid, "a process was started");
        let (mut inner, now) = (locked(&self.inner), Instant::now());
        inner.entries.retain(|entry| entry.ended.as_ref().is_none_or(|(then, _)| now - *then < KEPT));
        inner.entries.push(entry);
    }

    fn note_end(&self, pid: i32, ended: io::Result<ExitStatus>, tail: &Tail) {
        let code = ended.as_ref().ok().and_then(ExitStatus::code);
        let is_well = matches!(code, Some(0 | FAILED));
        if !is_well {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
        let how = match ended {
            Ok(status) => how(status),
            Err(e) => format!("can't be waited for: {e}"),
        };
        let mut inner = locked(&self.inner);
        let entry = inner.entries.iter_mut().find(|entry| entry.pid == pid && entry.ended.is_none());
        if let Some(Entry { query, leads, started, cancelled, ended, .. }) = entry {
            if *leads && code != Some(0) {
                self.counts.failed.fetch_add(1, Ordering::Relaxed);
            }
            let fate = Fate { how, stderr: tail.lines(), cancelled: *cancelled };
            let seconds = started.elapsed().as_secs_f64();
            match is_well {
                true => info!(host = self.host, query, leads, pid, seconds, "a process has ended"),
                false => warn!(host = self.host, query, leads, pid, seconds, "a process {}", fate.how),
            }
            *ended = Some((Instant::now(), fate));
        }
        drop(inner);
        self.changed.notify_all();
    }

    /// Kills a process whose connection the other end has closed, if the process does not end by itself. A process that
    /// is stopped does not.
    fn watch(&self, pid: i32, socket: &Socket) {
        let runs = |entry: &Entry| entry.pid == pid && entry.ended.is_none();
        let mut closed: Option<Instant> = None;
        while locked(&self.inner).entries.iter().any(runs) {
            match closed {
                None if is_closed(socket, BEAT) => closed = Some(Instant::now()),
                Some(since) if since.elapsed() > GRACE => {
                    let inner = locked(&self.inner);
                    let own = inner.entries.iter().filter(|entry| runs(entry));
                    own.for_each(|entry| entry.kill(libc::SIGKILL));
                    return;
                }
                Some(_) => std::thread::sleep(BEAT / 10),
                None => {}
            }
        }
    }

    /// How a process of a query has ended, if it has: the process that leads the query, or the one that reads rows for
    /// it.
    pub fn fate(&self, query: &str, leads: bool) -> Option<Fate> {
        let inner = locked(&self.inner);
        let entry = inner.entries.iter().rev().find(|entry| entry.query == query && entry.leads == leads)?;
        entry.ended.as_ref().map(|(_, fate)| fate.clone())
    }

    /// Notes that a query was done here. Gives whether that was new.
    pub fn note_done(&self, query: &str) -> bool {
        let mut inner = locked(&self.inner);
        let entry = inner.entries.iter_mut().rev().find(|entry| entry.query == query && !entry.leads);
        entry.is_some_and(|entry| !std::mem::replace(&mut entry.done, true))
    }

    /// The processes that run.
    pub fn running(&self) -> Vec<Running> {
        let running = |entry: &Entry| Running {
            query: entry.query.clone(),
            statement: entry.statement.clone(),
            leads: entry.leads,
            time: entry.started.elapsed(),
            memory: resident(entry.pid),
        };
        locked(&self.inner).entries.iter().filter(|entry| entry.ended.is_none()).map(running).collect()
    }

    /// How many processes wait for their turn.
    pub fn waiting(&self) -> usize {
        locked(&self.inner).waiting.len()
    }

    /// Ends the process that leads a query, which ends all others; or (`led` false) the processes that read rows for
    /// the query. Gives how many processes got a signal.
    pub fn end(self: &Arc<Table>, query: &str, led: bool) -> usize {
        if !led {
            return self.signal(query, false, libc::SIGKILL);
        }
        let told = self.signal(query, true, libc::SIGTERM);
        let (table, query) = (self.clone(), query.to_string());
        let insist = move || {
            std::thread::sleep(GRACE);
            table.signal(&query, true, libc::SIGKILL);
        };
        if told > 0 {
            // Without the thread a process that does not end by itself stays until a client asks again.
            let _ = std::thread::Builder::new().name("palais-end".into()).spawn(insist);
        }
        told
    }

    /// Sends a signal to the processes of one kind of a query, so that it ends. Gives how many processes got it.
    fn signal(&self, query: &str, leads: bool, signal: i32) -> usize {
        let mut inner = locked(&self.inner);
        let runs = |entry: &&mut Entry| entry.query == query && entry.leads == leads && entry.ended.is_none();
        let ends = |entry: &mut Entry| {
            entry.cancelled = true;
            entry.kill(signal);
        };
        inner.entries.iter_mut().filter(runs).map(ends).count()
    }
}

/// The resident memory of a process, in bytes; 0 if the process is gone.
fn resident(pid: i32) -> u64 {
    let pages = std::fs::read_to_string(format!("/proc/{pid}/statm"));
    let pages = pages.ok().and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    // SAFETY: sysconf(3) takes any number and touches no memory.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages.unwrap_or(0) * u64::try_from(page).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(leads: bool) -> Entry {
        Entry {
            query: "5c0fb4a1".into(),
            statement: "SELECT 1".into(),
            leads,
            pid: i32::MAX,
            started: Instant::now(),
            done: false,
            cancelled: false,
            ended: None,
        }
    }

    /// Whether one gets a turn at once, of at most one of its kind that runs.
    fn has_turn(table: &Table, leads: bool) -> Result<bool, String> {
        match table.take_turn(leads, 1, || Err(io::ErrorKind::TimedOut.into())) {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::TimedOut => Ok(false),
            Err(e) => Err(e.to_string()),
        }
    }

    #[test]
    fn processes_that_lead_wait_for_their_own_kind() {
        let table = Table::new("here".into(), Arc::default());
        assert_eq!((has_turn(&table, true), has_turn(&table, false)), (Ok(true), Ok(true)));
        table.add(runs(true));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| has_turn(&table, true));
            while table.waiting() == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            // One that waits to lead is not before one that is to read.
            assert_eq!(has_turn(&table, false), Ok(true));
            assert_eq!(waits.join().unwrap(), Ok(false));
        });
        table.add(runs(false));
        assert_eq!(has_turn(&table, false), Ok(false));
        locked(&table.inner).waiting.extend((0..WAITING as u64).map(|number| (number, false)));
        for leads in [true, false] {
            assert!(has_turn(&table, leads).is_err_and(|e| e.contains("too many queries wait")));
        }
    }
}
