//! The ports at which a process may listen, for hosts between which not all ports are open.

use std::io;
use std::net::{IpAddr, TcpListener};

use serde::{Deserialize, Serialize};

/// A range of ports at which a process may listen, or any port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports(Option<[u16; 2]>);

impl Ports {
    /// Any free port.
    pub const ANY: Ports = Ports(None);

    /// This port alone, or any free port if it is 0.
    pub fn one(port: u16) -> Ports {
        Ports(Some([port; 2]).filter(|_| port > 0))
    }

    /// The ports from the first to the last, as a file says: `ports = [7100, 7199]`.
    ///
    /// # Errors
    /// The first port is 0, or after the last one.
    pub fn range([first, last]: [u16; 2]) -> Result<Ports, String> {
        match first > 0 && first <= last {
            true => Ok(Ports(Some([first, last]))),
            false => {
                Err(format!("ports are the first and the last one, from 1 to 65535, not [{first}, {last}]"))
            }
        }
    }

    /// How many ports there are; `None` if any will do.
    pub fn count(self) -> Option<usize> {
        self.0.map(|[first, last]| usize::from(last) - usize::from(first) + 1)
    }

    /// Listens at the first free port.
    ///
    /// # Errors
    /// Errors of the system, also if no port is free.
    pub fn listen(self, address: IpAddr) -> io::Result<TcpListener> {
        let Some([first, last]) = self.0 else { return TcpListener::bind((address, 0)) };
        for port in first..=last {
            match TcpListener::bind((address, port)) {
                Err(e) if e.kind() == io::ErrorKind::AddrInUse && first < last => {}
                listener => return listener,
            }
        }
        Err(io::Error::new(io::ErrorKind::AddrInUse, format!("no port from {first} to {last} is free")))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 81));

    #[test]
    fn a_range_is_from_its_first_to_its_last() {
        assert_eq!(Ports::range([7100, 7199]).unwrap().count(), Some(100));
        assert_eq!(Ports::range([7, 7]), Ok(Ports::one(7)));
        assert_eq!((Ports::one(0), Ports::ANY.count()), (Ports::ANY, None));
        for wrong in [[2, 1], [0, 9]] {
            assert!(Ports::range(wrong).unwrap_err().contains(&format!("not {wrong:?}")));
        }
    }

    #[test]
    fn the_first_port_that_is_free_is_taken() {
        // Whatever else runs listens at other addresses.
        let ports = Ports::range([7101, 7103]).unwrap();
        let held: Vec<TcpListener> = (0..3).map(|_| ports.listen(HERE).unwrap()).collect();
        let taken: Vec<u16> = held.iter().map(|held| held.local_addr().unwrap().port()).collect();
        assert_eq!(taken, [7101, 7102, 7103]);
        assert_eq!(ports.listen(HERE).unwrap_err().to_string(), "no port from 7101 to 7103 is free");
        let one = Ports::one(7102).listen(HERE).unwrap_err().to_string();
        assert!(one.contains("in use"), "{one}");
        drop(held);
        assert_eq!(ports.listen(HERE).unwrap().local_addr().unwrap().port(), 7101);
        assert!(Ports::ANY.listen(HERE).is_ok());
    }
}
