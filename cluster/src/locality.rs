//! Processes of one machine, which read rows in each other's memory instead of having them sent.
//!
//! A process draws random bytes, and says them and where in its memory they are. Who finds them there can read its memory;
//! who does not (another machine or container, another user, a system that forbids it) has rows sent. Nobody but the
//! process itself can have them there, so that none can have another one's memory read. They are read again together with
//! all that is read, for another process may have got the number of one that has ended.

use std::net::IpAddr;

use engine::distributed::wire::memory::{Mark, Memory};
use serde::{Deserialize, Serialize};

/// Where a process has what it is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkAddress {
    /// Its number, as the system counts processes.
    pub process: u32,
    /// The address in its memory.
    pub address: u64,
    /// What it has there.
    pub mark: Mark,
}

impl MarkAddress {
    /// That of this process, drawn anew.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn here() -> std::io::Result<MarkAddress> {
        let mut mark = [0; 32];
        getrandom::fill(&mut mark).map_err(std::io::Error::other)?;
        // It stays as long as the process does.
        let address = Box::leak(Box::new(mark)).as_ptr() as u64;
        Ok(MarkAddress { process: std::process::id(), address, mark })
    }

    /// The memory of the process that said this, if it can be read.
    pub fn memory(self) -> Option<Memory> {
        Memory::of(self.process, self.address, self.mark)
    }
}

/// Whether two processes are on one machine, and not on hosts that are only made to look like several.
pub fn are_near(one: IpAddr, other: IpAddr) -> bool {
    one == other || one.is_loopback() && other.is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_mark() {
        let place = MarkAddress::here().unwrap();
        assert!(place.memory().is_some());
        assert!(MarkAddress { mark: [4; 32], ..place }.memory().is_none());
        assert!(MarkAddress { address: 8, ..place }.memory().is_none());
        assert!(MarkAddress { process: u32::MAX, ..place }.memory().is_none());
        assert_ne!(MarkAddress::here().unwrap().mark, place.mark);
    }

    #[test]
    fn hosts_with_addresses_of_their_own_are_not_near() {
        let near = |one: &str, other: &str| are_near(one.parse().unwrap(), other.parse().unwrap());
        assert!(near("127.0.0.1", "127.0.0.9") && near("10.0.0.1", "10.0.0.1") && near("::1", "127.0.0.1"));
        assert!(!near("10.0.0.1", "10.0.0.2") && !near("127.0.0.1", "10.0.0.1"));
    }
}
