//! Clients that have connected and have not shown the token yet: they may be strangers.
//!
//! Each address has a share of the places, so that no address keeps others out. When the share is used up, or no place
//! is left, the lobby closes the connection that has waited longest. A client with the token needs a moment only, and
//! tries again if its connection was closed.

use std::io;
use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex};

use crate::locked;

/// The clients that wait.
#[derive(Debug, Clone)]
pub struct Lobby {
    guests: Arc<Mutex<Guests>>,
    most: usize,
    share: usize,
}

#[derive(Debug, Default)]
struct Guests {
    /// The client that has waited longest comes first.
    waiting: Vec<(u64, IpAddr, TcpStream)>,
    came: u64,
}

/// A client that waits, until this is dropped.
#[derive(Debug)]
pub struct Guest {
    guests: Arc<Mutex<Guests>>,
    number: u64,
}

impl Default for Lobby {
    /// A lobby of 256 places, 128 of one address, for clients that show the token within seconds.
    fn default() -> Lobby {
        Lobby::new(256, 128)
    }
}

impl Lobby {
    /// A lobby of `most` places, of which one address may have `share`.
    pub fn new(most: usize, share: usize) -> Lobby {
        Lobby { guests: Arc::default(), most, share }
    }

    /// Lets a client in. Closes the connection of another client if there is no place.
    ///
    /// # Errors
    /// The client is gone already, or there are no more descriptors.
    pub fn enter(&self, socket: &TcpStream) -> io::Result<Guest> {
        let (from, copy) = (network(socket.peer_addr()?.ip()), socket.try_clone()?);
        let mut guests = locked(&self.guests);
        if let Some(leaves) = guests.leaves(from, self.most, self.share) {
            let (_, _, socket) = guests.waiting.remove(leaves);
            // The thread of this client sees that its connection is over.
            let _ = socket.shutdown(Shutdown::Both);
        }
        guests.came += 1;
        let number = guests.came;
        guests.waiting.push((number, from, copy));
        Ok(Guest { guests: self.guests.clone(), number })
    }
}

impl Guests {
    /// Which client has to leave so that one from this address can enter.
    fn leaves(&self, from: IpAddr, most: usize, share: usize) -> Option<usize> {
        let of = |address: IpAddr| self.waiting.iter().filter(move |(_, other, _)| *other == address).count();
        let oldest = |address: IpAddr| self.waiting.iter().position(|(_, other, _)| *other == address);
        if of(from) >= share {
            return oldest(from);
        }
        if self.waiting.len() < most {
            return None;
        }
        // The oldest client of the address that has most clients.
        let crowd = self.waiting.iter().map(|&(_, address, _)| (of(address), address)).max()?;
        oldest(crowd.1)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        locked(&self.guests).waiting.retain(|(number, _, _)| *number != self.number);
    }
}

/// What counts as one address. Of IPv6 these are the upper 64 bits, because one host may have a whole network of that
/// size.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() >> 64 << 64).into(),
        four => four,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    /// Connects from an address of this machine.
    fn connect(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (here, listener.accept().unwrap().0)
    }

    fn is_over(socket: &mut TcpStream) -> bool {
        socket.set_nonblocking(true).unwrap();
        socket.read(&mut [0]).is_ok_and(|read| read == 0)
    }

    #[test]
    fn the_one_that_has_waited_longest_leaves() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let lobby = Lobby::new(9, 3);
        let mut sockets: Vec<_> = (0..5).map(|_| connect(&listener)).collect();
        let guests: Vec<_> = sockets.iter().map(|(_, there)| lobby.enter(there).unwrap()).collect();
        let over: Vec<bool> = sockets.iter_mut().map(|(here, _)| is_over(here)).collect();
        assert_eq!(over, [true, true, false, false, false]);
        drop(guests);
        assert!(locked(&lobby.guests).waiting.is_empty());
    }

    #[test]
    fn nobody_is_kept_out_by_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = |last| IpAddr::from([10, 0, 0, last]);
        let mut guests = Guests::default();
        let enter = |guests: &mut Guests, from| {
            let leaves = guests.leaves(from, 4, 3);
            let gone = leaves.map(|leaves| guests.waiting.remove(leaves).1);
            guests.came += 1;
            guests.waiting.push((guests.came, from, connect(&listener).1));
            gone
        };
        assert_eq!([1, 1, 1].map(|last| enter(&mut guests, at(last))), [None; 3]);
        assert_eq!(enter(&mut guests, at(1)), Some(at(1)), "its share is used up");
        assert_eq!(enter(&mut guests, at(2)), None);
        assert_eq!(enter(&mut guests, at(3)), Some(at(1)), "it has most of the room");
        assert_eq!(enter(&mut guests, at(4)), Some(at(1)));
        assert_eq!(guests.waiting.iter().filter(|(_, from, _)| *from == at(2)).count(), 1);
        let six = |text: &str| network(text.parse().unwrap());
        assert_eq!(six("2001:db8::1"), six("2001:db8::ffff:1"));
        assert_ne!(six("2001:db8::1"), six("2001:db8:0:1::1"));
        assert_eq!(six("::ffff:10.0.0.1"), at(1));
    }
}
