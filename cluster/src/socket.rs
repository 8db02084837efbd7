//! A connection between two processes: a TCP socket, or the end of a pair behind which TLS is done.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Passes a call on to whichever socket there is.
macro_rules! either {
    ($socket:expr, $inner:ident => $call:expr) => {
        match $socket {
            Socket::Bare($inner) => $call,
            Socket::Pair($inner) => $call,
        }
    };
}

/// A connection. Its copies are the same connection, as those of [`TcpStream`].
#[derive(Debug)]
pub enum Socket {
    /// What is written is sent as it is.
    Bare(TcpStream),
    /// What is written is taken by threads at the other end of the pair, see [`crate::tls`].
    Pair(UnixStream),
}

impl Socket {
    /// A copy.
    ///
    /// # Errors
    /// There are no more descriptors.
    pub fn try_clone(&self) -> io::Result<Socket> {
        match self {
            Socket::Bare(socket) => socket.try_clone().map(Socket::Bare),
            Socket::Pair(socket) => socket.try_clone().map(Socket::Pair),
        }
    }

    /// How long reading waits; for ever if `None`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_read_timeout(&self, longest: Option<Duration>) -> io::Result<()> {
        either!(self, socket => socket.set_read_timeout(longest))
    }

    /// How long writing waits; for ever if `None`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_write_timeout(&self, longest: Option<Duration>) -> io::Result<()> {
        either!(self, socket => socket.set_write_timeout(longest))
    }

    /// Whether reading and writing wait.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        either!(self, socket => socket.set_nonblocking(nonblocking))
    }

    /// Ends one direction of the connection, or both.
    ///
    /// # Errors
    /// Those of the system.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        either!(self, socket => socket.shutdown(how))
    }
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        either!(self, socket => socket.read(into))
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        either!(self, socket => socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        either!(self, socket => socket.flush())
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        either!(self, socket => socket.as_raw_fd())
    }
}

impl From<Socket> for OwnedFd {
    fn from(socket: Socket) -> OwnedFd {
        either!(socket, socket => socket.into())
    }
}

/// Whether the other end has closed a connection; waits so long for it.
pub(crate) fn is_closed(socket: &Socket, longest: Duration) -> bool {
    let mut polled = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
    let longest = i32::try_from(longest.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the descriptor is open as long as `socket` lives, and `polled` is the one entry that the call is told of.
    unsafe { libc::poll(&raw mut polled, 1, longest) > 0 }
}

/// A socket that is read until a moment, however slowly its bytes come.
pub(crate) struct Hasty<'a> {
    socket: &'a mut Socket,
    deadline: Instant,
}

impl<'a> Hasty<'a> {
    /// Until `deadline`.
    pub(crate) fn new(socket: &'a mut Socket, deadline: Instant) -> Hasty<'a> {
        Hasty { socket, deadline }
    }
}

impl Read for Hasty<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.socket.set_read_timeout(Some(left))?;
        self.socket.read(into)
    }
}

impl Write for Hasty<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}
