//! Processes of one machine read rows in each other's memory instead of having them sent.
//!
//! A process draws random bytes, its mark, and tells the others the mark and its address. A process that finds the mark
//! there can read the memory. If it does not (another machine, container or user, or a system that forbids it), rows
//! are sent to it.
//!
//! Only the process itself can put the mark there, so no process can pass off the memory of another one as its own.
//! Each read of rows reads the mark again, because another process may have got the number of one that has ended.

use std::net::IpAddr;

use engine::distributed::wire::memory::{Mark, Memory};
use serde::{Deserialize, Serialize};

/// Where a process has its mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkAddress {
    /// The number of the process, as the system counts.
    pub process: u32,
    /// The address of the mark in its memory.
    pub address: u64,
    /// The mark.
    pub mark: Mark,
}

impl MarkAddress {
    /// Draws a mark for this process.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn here() -> std::io::Result<MarkAddress> {
        let mut mark = [0; 32];
        getrandom::fill(&mut mark).map_err(std::io::Error::other)?;
        // The mark stays as long as the process does.
        let address = Box::leak(Box::new(mark)).as_ptr() as u64;
        Ok(MarkAddress { process: std::process::id(), address, mark })
    }

    /// The memory of the process with this mark, if this process can read it.
    pub fn memory(self) -> Option<Memory> {
        Memory::of(self.process, self.address, self.mark)
    }
}

/// Whether the addresses of two processes say that they are on one machine. Hosts with addresses of their own count as
/// several machines, also if one machine only pretends to be all of them.
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
