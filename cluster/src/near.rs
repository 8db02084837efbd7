//! Processes of one machine, which read rows in each other's memory instead of having them sent.
//!
//! A process says where in its memory there is what tells it from all others. Who finds that there can read its memory; who
//! does not (another machine or container, another user, a system that forbids it) has rows sent.

use std::net::IpAddr;

use engine::wire::memory::Memory;
use serde::{Deserialize, Serialize};

/// Where a process has what it is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its number, as the system counts processes.
    pub process: u32,
    /// The address in its memory.
    pub address: u64,
}

/// What a process of a group is known by.
fn mark(incarnation: &[u8; 16], process: usize) -> [u8; 24] {
    let mut mark = [0; 24];
    mark[..16].copy_from_slice(incarnation);
    mark[16..].copy_from_slice(&(process as u64).to_le_bytes());
    mark
}

impl Place {
    /// That of this process.
    pub fn here(incarnation: &[u8; 16], process: usize) -> Place {
        // It stays as long as the process does.
        let mark = Box::leak(Box::new(mark(incarnation, process)));
        Place { process: std::process::id(), address: mark.as_ptr() as u64 }
    }

    /// The memory of the process that said this, if it can be read.
    pub fn memory(self, incarnation: &[u8; 16], process: usize) -> Option<Memory> {
        Memory::of(self.process, self.address, &mark(incarnation, process))
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
        let place = Place::here(&[3; 16], 5);
        assert!(place.memory(&[3; 16], 5).is_some());
        assert!(place.memory(&[3; 16], 6).is_none());
        assert!(place.memory(&[4; 16], 5).is_none());
        assert!(Place { address: 8, ..place }.memory(&[3; 16], 5).is_none());
        assert!(Place { process: u32::MAX, ..place }.memory(&[3; 16], 5).is_none());
    }

    #[test]
    fn hosts_with_addresses_of_their_own_are_not_near() {
        let near = |one: &str, other: &str| are_near(one.parse().unwrap(), other.parse().unwrap());
        assert!(near("127.0.0.1", "127.0.0.9") && near("10.0.0.1", "10.0.0.1") && near("::1", "127.0.0.1"));
        assert!(!near("10.0.0.1", "10.0.0.2") && !near("127.0.0.1", "10.0.0.1"));
    }
}
