//! Connects the sockets of a mesh.

use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::{Mesh, Settings, reason};
use crate::handshake::{self, Channel, Hello, Kind};
use crate::locked;
use crate::socket::{Hasty, Socket};
use crate::tls::Server;

/// How long a process that has connected may take to show the token.
const SHOW: Duration = Duration::from_secs(3);
/// The pause before a process that could not be reached is tried again, and between two looks for incoming connections.
const PAUSE: Duration = Duration::from_micros(200);

impl Mesh {
    /// Connects a socket to each other process. Gives them in the order of the processes; this process has none.
    pub(super) fn meet(&self, kind: Kind) -> engine::Result<Vec<Option<Socket>>> {
        let (me, deadline) = (self.settings.process, Instant::now() + self.settings.patience);
        let reached = std::thread::scope(|scope| {
            let reaching = |to| scope.spawn(move || self.reach(to, kind, deadline).map_err(|e| (to, e)));
            let reaching: Vec<_> = (0..me).map(reaching).collect();
            let came = self.take_in(kind, deadline);
            let mut sockets = Vec::new();
            for thread in reaching {
                let socket =
                    thread.join().unwrap_or_else(|_| Err((me, io::Error::other("a thread ended"))))?;
                sockets.push(Some(socket));
            }
            sockets.push(None);
            sockets.extend(came?.into_iter().map(Some));
            Ok(sockets)
        });
        reached.map_err(|(peer, e): (usize, io::Error)| {
            if self.notes.is_stopped() {
                return engine::Error::Cancelled;
            }
            let why = reason(&e, self.settings.patience);
            (self.settings.on_lost)(peer, why.clone());
            engine::Error::Processes(format!("process {peer} can't be reached: {why}"))
        })
    }

    /// Connects to a process with a lesser number.
    fn reach(&self, to: usize, kind: Kind, deadline: Instant) -> io::Result<Socket> {
        let Settings { hello, addresses, process, token, tls, .. } = &self.settings;
        let hello = Hello { kind, from: *process as u32, to: to as u32, ..*hello };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let connected = TcpStream::connect_timeout(&addresses[to], left.max(PAUSE));
            let tried = connected.and_then(|socket| {
                socket.set_nodelay(true)?;
                let (mut socket, channel) = match tls {
                    Some(tls) => tls.client.connect(socket, &addresses[to].ip().to_string(), deadline)?,
                    None => (Socket::Bare(socket), Channel::Plain),
                };
                socket.set_read_timeout(Some(left.max(PAUSE)))?;
                handshake::connect(&mut socket, channel, &hello, token)?;
                socket.set_read_timeout(None)?;
                Ok(socket)
            });
            match tried {
                // A certificate that is not trusted now is not trusted later.
                Err(e) if e.kind() == io::ErrorKind::InvalidData => return Err(e),
                Err(e) if Instant::now() + PAUSE >= deadline || self.notes.is_stopped() => return Err(e),
                Err(_) => std::thread::sleep(PAUSE),
                Ok(socket) => return Ok(socket),
            }
        }
    }

    /// Waits until all processes with greater numbers have connected.
    fn take_in(&self, kind: Kind, deadline: Instant) -> Result<Vec<Socket>, (usize, io::Error)> {
        let wanted = self.settings.process + 1..self.processes();
        loop {
            let mut came = locked(&self.came);
            let missing = wanted.clone().find(|&from| !came.contains_key(&(kind, from as u32)));
            let Some(missing) = missing else {
                let taken = wanted.filter_map(|from| came.remove(&(kind, from as u32)));
                return Ok(taken.collect());
            };
            drop(came);
            match self.listener.accept() {
                Ok((socket, _)) => self.let_show(socket),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    if Instant::now() >= deadline || self.notes.is_stopped() {
                        return Err((missing, io::ErrorKind::TimedOut.into()));
                    }
                    std::thread::sleep(PAUSE);
                }
                // The other end is gone already, or there are no more descriptors for now.
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Starts a thread in which a new connection shows the token.
    fn let_show(&self, socket: TcpStream) {
        let Ok(guest) = self.lobby.enter(&socket) else { return };
        let (processes, me) = (self.processes() as u32, self.settings.process as u32);
        let (ours, token) = (self.settings.hello, self.settings.token);
        let came = self.came.clone();
        let server = self.settings.tls.as_ref().map(|tls| tls.server.clone());
        let show = move || {
            let expects = |hello: &Hello| {
                *hello == Hello { kind: hello.kind, from: hello.from, to: me, ..ours }
                    && (me + 1..processes).contains(&hello.from)
            };
            let prove = |socket: &mut Hasty<'_>, channel| handshake::accept(socket, channel, expects, &token);
            if let Ok((socket, hello)) = take_within(socket, server.as_ref(), SHOW, prove) {
                locked(&came).entry((hello.kind, hello.from)).or_insert(socket);
            }
            drop(guest);
        };
        // Without the thread the connection is closed, and the process tries again.
        let _ = std::thread::Builder::new().name("palais-show".into()).spawn(show);
    }
}

/// Has `take` read from an accepted socket within `time`, however slowly the bytes come. With a `server` it does TLS
/// first.
pub(crate) fn take_within<T>(
    socket: TcpStream,
    server: Option<&Server>,
    time: Duration,
    take: impl FnOnce(&mut Hasty<'_>, Channel) -> io::Result<T>,
) -> io::Result<(Socket, T)> {
    let deadline = Instant::now() + time;
    // A socket that was accepted from a listener that does not block may not block either.
    socket.set_nonblocking(false)?;
    socket.set_nodelay(true)?;
    let (mut socket, channel) = match server {
        Some(server) => server.accept(socket, deadline)?,
        None => (Socket::Bare(socket), Channel::Plain),
    };
    let taken = take(&mut Hasty::new(&mut socket, deadline), channel)?;
    socket.set_read_timeout(None)?;
    Ok((socket, taken))
}
