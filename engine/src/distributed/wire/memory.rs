//! The memory of another process of this machine.

use std::io;

use arrow_buffer::{Buffer, MutableBuffer};
use libc::{c_void, iovec, pid_t};

/// The most parts that one call of the system reads, beside the mark: IOV_MAX of Linux (limits.h), less 1.
const AT_ONCE: usize = 1023;

/// Random bytes that a process has drawn. Other processes recognise it by them.
pub type Mark = [u8; 32];

/// The memory of a process, which process_vm_readv(2) reads.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    process: pid_t,
    address: u64,
    mark: Mark,
}

impl Memory {
    /// The memory of the process with this number, if the process has its mark at `address`.
    pub fn of(process: u32, address: u64, mark: Mark) -> Option<Memory> {
        let memory = Memory { process: pid_t::try_from(process).ok()?, address, mark };
        memory.read_some(&[], &mut Vec::new()).ok().map(|()| memory)
    }

    /// Copies parts of the memory. Each part is an address and a number of bytes.
    ///
    /// # Errors
    /// ESRCH if the process has ended, also if another process has its number now. EFAULT if the process has no memory
    /// at an address. EPERM if this process may not read it.
    pub fn read(self, parts: &[(u64, usize)]) -> io::Result<Vec<Buffer>> {
        let mut read = Vec::with_capacity(parts.len());
        for parts in parts.chunks(AT_ONCE) {
            self.read_some(parts, &mut read)?;
        }
        Ok(read)
    }

    fn read_some(self, parts: &[(u64, usize)], read: &mut Vec<Buffer>) -> io::Result<()> {
        let mut buffers: Vec<_> =
            parts.iter().map(|&(_, length)| MutableBuffer::with_capacity(length)).collect();
        let to = buffers
            .iter_mut()
            .zip(parts)
            .map(|(buffer, &(_, length))| iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: length });
        let mut found: Mark = [0; 32];
        let mark = iovec { iov_base: found.as_mut_ptr().cast(), iov_len: found.len() };
        let to: Vec<_> = std::iter::once(mark).chain(to).collect();
        let from = [(self.address, found.len())].into_iter().chain(parts.iter().copied());
        let from = from.map(|(address, length)| iovec {
            iov_base: std::ptr::without_provenance_mut::<c_void>(address as usize),
            iov_len: length,
        });
        let from: Vec<_> = from.collect();
        let wanted: usize = from.iter().map(|part| part.iov_len).sum();
        let (count, others) = (to.len() as u64, from.len() as u64);
        // SAFETY: each of `to` is the memory of a buffer of at least that many bytes, which no other code uses, or the
        // memory of `found`. The system checks the addresses in `from`, which are another process's.
        let had =
            unsafe { libc::process_vm_readv(self.process, to.as_ptr(), count, from.as_ptr(), others, 0) };
        if had < 0 {
            return Err(io::Error::last_os_error());
        }
        if had as usize != wanted {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        }
        if found != self.mark {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        for (mut buffer, &(_, length)) in buffers.into_iter().zip(parts) {
            // SAFETY: all bytes were read, so that the first `length` of this one are written.
            unsafe { buffer.set_len(length) };
            read.push(buffer.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_memory_is_read_and_nothing_else() {
        let (one, mut mark) = (vec![7_u8; 100_000], Box::new([5; 32]));
        let (here, address) = (std::process::id(), mark.as_ptr() as u64);
        let memory = Memory::of(here, address, *mark).unwrap();
        let parts = vec![(one.as_ptr() as u64, one.len()); 2000];
        let read = memory.read(&parts).unwrap();
        assert!(read.len() == parts.len() && read.iter().all(|part| part.as_slice() == one));
        assert_eq!(memory.read(&[(0, 0)]).unwrap()[0].len(), 0);
        let nothing = [(one.as_ptr() as u64, 5), (8, 5)];
        assert_eq!(memory.read(&nothing).unwrap_err().raw_os_error(), Some(libc::EFAULT));
        assert!(Memory::of(here, address, [6; 32]).is_none());
        assert!(Memory::of(here, address + 1, *mark).is_none());
        assert!(Memory::of(u32::MAX, address, *mark).is_none());
        let gone = Memory { process: pid_t::MAX, ..memory }.read(&parts).unwrap_err();
        assert_eq!(gone.raw_os_error(), Some(libc::ESRCH));
        // Another process has its number.
        mark[0] = 6;
        let other = memory.read(&parts).unwrap_err();
        assert_eq!(other.raw_os_error(), Some(libc::ESRCH));
    }
}
