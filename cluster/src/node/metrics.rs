//! Counts of what a node has done, in the text format of Prometheus (exposition format 0.0.4), over plain HTTP.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::table::Table;
use crate::lobby::Lobby;
use crate::message::Figures;
use crate::socket::{Hasty, Socket};

/// The longest request that is read, in bytes.
const REQUEST: usize = 8 << 10;
/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// The connections that are served at once, half of them from one address. A further one takes the place of the
/// connection that has waited longest.
const ASKING: usize = 64;

/// Counts since the node began.
#[derive(Debug, Default)]
pub struct Counts {
    /// Processes that were started, those that lead too.
    pub started: AtomicU64,
    /// Processes that were lost: killed, or ended with an error of their own.
    pub lost: AtomicU64,
    /// Queries of which this node has done its part.
    pub finished: AtomicU64,
    /// Queries led here that ended with an error, were cancelled, or whose leading process was lost.
    pub failed: AtomicU64,
    /// Sums of the figures of the queries.
    rows_read: AtomicU64,
    bytes_read: AtomicU64,
    bytes_sent: AtomicU64,
    bytes_received: AtomicU64,
    bytes_spilled: AtomicU64,
    bytes_lent: AtomicU64,
}

impl Counts {
    /// Adds the figures of a process that is done. `first` says that they are the first ones of their query.
    pub fn add(&self, figures: &Figures, first: bool) {
        self.finished.fetch_add(first.into(), Ordering::Relaxed);
        self.rows_read.fetch_add(figures.rows_read, Ordering::Relaxed);
        self.bytes_read.fetch_add(figures.bytes_read, Ordering::Relaxed);
        self.bytes_sent.fetch_add(figures.bytes_sent, Ordering::Relaxed);
        self.bytes_received.fetch_add(figures.bytes_received, Ordering::Relaxed);
        self.bytes_spilled.fetch_add(figures.bytes_spilled, Ordering::Relaxed);
        self.bytes_lent.fetch_add(figures.bytes_lent, Ordering::Relaxed);
    }

    /// The counts, and gauges of the processes in `table`, as text of Prometheus.
    pub fn text(&self, table: &Table, version: &str) -> String {
        let running = table.running();
        let leading = running.iter().filter(|process| process.leads).count();
        let memory: u64 = running.iter().map(|process| process.memory).sum();
        let counted = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut text = format!("# TYPE palais_info gauge\npalais_info{{version=\"{version}\"}} 1\n");
        for (name, kind, what, value) in [
            ("processes_started_total", "counter", "Processes of queries started", counted(&self.started)),
            ("processes_lost_total", "counter", "Processes killed or failed", counted(&self.lost)),
            ("queries_finished_total", "counter", "Queries done on this node", counted(&self.finished)),
            ("queries_failed_total", "counter", "Queries led from here that failed", counted(&self.failed)),
            ("rows_read_total", "counter", "Rows that scans gave", counted(&self.rows_read)),
            ("bytes_read_total", "counter", "Bytes of files read", counted(&self.bytes_read)),
            ("bytes_sent_total", "counter", "Bytes sent to other nodes", counted(&self.bytes_sent)),
            (
                "bytes_received_total",
                "counter",
                "Bytes that came from other nodes",
                counted(&self.bytes_received),
            ),
            (
                "bytes_spilled_total",
                "counter",
                "Bytes put on disk for want of memory",
                counted(&self.bytes_spilled),
            ),
            ("bytes_lent_total", "counter", "Bytes read in memory by others", counted(&self.bytes_lent)),
            ("queries_running", "gauge", "Queries that run here", (running.len() - leading) as u64),
            ("queries_led", "gauge", "Queries that are led from here", leading as u64),
            ("queries_waiting", "gauge", "Queries that wait for their turn", table.waiting() as u64),
            ("memory_bytes", "gauge", "Resident memory of all processes of queries", memory),
        ] {
            // Writing into a text does not fail.
            let _ = write!(
                text,
                "# HELP palais_{name} {what}\n# TYPE palais_{name} {kind}\npalais_{name} {value}\n"
            );
        }
        text
    }
}

/// Serves metrics for ever, on threads of its own.
///
/// # Errors
/// The address is taken.
pub fn serve(address: SocketAddr, text: impl Fn() -> String + Send + Sync + 'static) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let (text, lobby) = (Arc::new(text), Lobby::new(ASKING, ASKING / 2));
    let serve = move || {
        loop {
            let Ok((socket, _)) = listener.accept() else {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            };
            let Ok(guest) = lobby.enter(&socket) else { continue };
            let text = text.clone();
            let answer = move || {
                // A client that is slow gets no answer.
                let _ = take(socket, text.as_ref());
                drop(guest);
            };
            // Without the thread the connection is closed.
            let _ = std::thread::Builder::new().name("palais-figures".into()).spawn(answer);
        }
    };
    std::thread::Builder::new().name("palais-metrics".into()).spawn(serve).map(|_| ())
}

/// Reads a request from a connection and answers it.
fn take(socket: TcpStream, text: &impl Fn() -> String) -> io::Result<()> {
    let (mut socket, deadline) = (Socket::Bare(socket), Instant::now() + PATIENCE);
    socket.set_write_timeout(Some(PATIENCE))?;
    answer(&mut Hasty::new(&mut socket, deadline), text)?;
    // If bytes of the client stay unread, the system throws away what was answered. So they are read.
    socket.shutdown(Shutdown::Write)?;
    io::copy(&mut Hasty::new(&mut socket, deadline).take(REQUEST as u64), &mut io::sink()).map(|_| ())
}

/// Reads a request and answers it.
///
/// # Errors
/// Errors of the connection, and a request that is too long or has no end.
pub fn answer(socket: &mut (impl Read + Write), text: &impl Fn() -> String) -> io::Result<()> {
    let mut request = Vec::new();
    loop {
        let end = request.windows(4).position(|end| end == b"\r\n\r\n");
        if end.map_or(request.len(), |end| end + 4) > REQUEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if end.is_some() {
            break;
        }
        let mut bytes = [0; 1 << 10];
        match socket.read(&mut bytes)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => request.extend_from_slice(&bytes[..read]),
        }
    }
    let (status, body) = match request.starts_with(b"GET /metrics ") {
        true => ("200 OK", text()),
        false => ("404 Not Found", "there is /metrics\n".into()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    socket.write_all(head.as_bytes())?;
    socket.write_all(body.as_bytes())
}
