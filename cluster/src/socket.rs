//! A connection between two processes: a TCP socket, or one end of a pair of sockets behind which threads do TLS.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Passes a call on to the socket of either kind.
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
    /// A TCP socket.
    Bare(TcpStream),
    /// An end of a pair. Threads at its other end do TLS, see [`crate::tls`].
    Pair(UnixStream),
}

impl Socket {
    /// Copies the connection.
    ///
    /// # Errors
    /// There are no more descriptors.
    pub fn try_clone(&self) -> io::Result<Socket> {
        match self {
            Socket::Bare(socket) => socket.try_clone().map(Socket::Bare),
            Socket::Pair(socket) => socket.try_clone().map(Socket::Pair),
        }
    }

    /// Sets how long reading waits; `None` waits for ever.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn set_read_timeout(&self, longest: Option<Duration>) -> io::Result<()> {
        either!(self, socket => socket.set_read_timeout(longest))
    }

    /// Sets how long writing waits; `None` waits for ever.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn set_write_timeout(&self, longest: Option<Duration>) -> io::Result<()> {
        either!(self, socket => socket.set_write_timeout(longest))
    }

    /// Sets whether reading and writing return at once instead of waiting.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        either!(self, socket => socket.set_nonblocking(nonblocking))
    }

    /// Ends one direction of the connection, or both.
    ///
    /// # Errors
    /// Errors of the system.
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

/// Whether the other end has closed a connection. Waits for that at most for `longest`.
pub(crate) fn is_closed(socket: &Socket, longest: Duration) -> bool {
    let mut polled = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
    let longest = i32::try_from(longest.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the descriptor is open as long as `socket` lives, and `polled` is the one entry that the call is told of.
    unsafe { libc::poll(&raw mut polled, 1, longest) > 0 }
}

/// A socket whose reads all end at a deadline, however slowly its bytes come.
pub(crate) struct Hasty<'a> {
    socket: &'a mut Socket,
    deadline: Instant,
}

impl<'a> Hasty<'a> {
    /// Reads from `socket` until `deadline`.
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
