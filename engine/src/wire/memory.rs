//! The memory of another process of this machine.

use std::io;

use arrow_buffer::{Buffer, MutableBuffer};
use libc::{c_void, iovec, pid_t};

/// So many parts are read at once: IOV_MAX of Linux (limits.h).
const AT_ONCE: usize = 1024;

/// The memory of a process, as process_vm_readv(2) reads it.
#[derive(Debug, Clone, Copy)]
pub struct Memory(pid_t);

impl Memory {
    /// That of the process with this number, if it has `content` at `address`, by which it is known.
    pub fn of(process: u32, address: u64, content: &[u8]) -> Option<Memory> {
        let memory = Memory(pid_t::try_from(process).ok()?);
        let read = memory.read(&[(address, content.len())]).ok()?;
        (read.first()?.as_slice() == content).then_some(memory)
    }

    /// Copies parts of it: their addresses, and how many bytes each has.
    ///
    /// # Errors
    /// ESRCH if there is no such process, EFAULT if it has nothing there, EPERM if it may not be read.
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
        let to: Vec<_> = to.collect();
        let from = parts.iter().map(|&(address, length)| iovec {
            iov_base: std::ptr::without_provenance_mut::<c_void>(address as usize),
            iov_len: length,
        });
        let from: Vec<_> = from.collect();
        let wanted: usize = parts.iter().map(|&(_, length)| length).sum();
        let (count, others) = (to.len() as u64, from.len() as u64);
        // SAFETY: each of `to` is the room of a buffer of at least that many bytes, which nobody else has; what `from`
        // names is checked by the system, for it is not of this process.
        let had = unsafe { libc::process_vm_readv(self.0, to.as_ptr(), count, from.as_ptr(), others, 0) };
        if had < 0 {
            return Err(io::Error::last_os_error());
        }
        if had as usize != wanted {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
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
        let (one, other) = (vec![7_u8; 100_000], *b"by which it is known");
        let here = std::process::id();
        let memory = Memory::of(here, other.as_ptr() as u64, b"by which it is known").unwrap();
        let parts = vec![(one.as_ptr() as u64, one.len()); 2000];
        let read = memory.read(&parts).unwrap();
        assert!(read.len() == parts.len() && read.iter().all(|part| part.as_slice() == one));
        assert_eq!(memory.read(&[(0, 0)]).unwrap()[0].len(), 0);
        let nothing = [(one.as_ptr() as u64, 5), (8, 5)];
        assert_eq!(memory.read(&nothing).unwrap_err().raw_os_error(), Some(libc::EFAULT));
        assert!(Memory::of(here, other.as_ptr() as u64, b"another").is_none());
        assert!(Memory::of(u32::MAX, other.as_ptr() as u64, &other).is_none());
        let gone = Memory(pid_t::MAX).read(&parts).unwrap_err();
        assert_eq!(gone.raw_os_error(), Some(libc::ESRCH));
    }
}
