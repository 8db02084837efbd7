//! Where a file's bytes come from. That is a file, read at any place by any thread, or a file of a store that is asked
//! by requests. Or it is standard input or another pipe. What was read of a pipe is kept, so that it too can be looked
//! at before it is read, read twice, and read at any place.
//!
//! A pipe is read only as far as it is asked for: `LIMIT 10` does not wait for its end. What was read lies in memory
//! up to 4 MiB, beyond that in a file without a name in the directory for temporary files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use bytes::Bytes;
use schema::FileEntry;

use super::remote::{self, RemoteFile};
use super::roots;
use crate::error::{Error, Result};

/// The path that stands for standard input.
pub const STDIN: &str = "-";

/// What was read of a pipe lies in memory up to this size, in bytes.
const IN_MEMORY: usize = 4 << 20;
/// Of ranges from this size in bytes it is looked first whether they are in memory, before they are read ahead.
const PROBED: u64 = 1 << 20;
/// At so many places.
const PROBES: u64 = 4;
/// Bytes asked of a pipe at once.
const CHUNK: usize = 256 << 10;

/// The bytes of a file, of a file of a store (`scheme://name`), of standard input (`-`) or of a named pipe. Clones share
/// what was read.
#[derive(Debug, Clone)]
pub struct Input {
    path: PathBuf,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    /// A file, and its length when it was opened.
    File(Arc<File>, u64),
    Remote(Arc<RemoteFile>),
    Pipe(Arc<Mutex<Pipe>>),
}

#[derive(Debug)]
struct Pipe {
    from: File,
    memory: Vec<u8>,
    /// Holds everything that was read once it is too much for `memory`, which is then empty.
    disk: Option<File>,
    read: u64,
    ended: bool,
}

/// The pipes of this process. A pipe can be read only once, so whoever opens its path is given the same.
static PIPES: Mutex<BTreeMap<PathBuf, Arc<Mutex<Pipe>>>> = Mutex::new(BTreeMap::new());

impl Input {
    /// Opens a path. Nothing is read.
    ///
    /// # Errors
    /// There is nothing, or it can't be opened.
    pub fn open(path: &Path) -> Result<Input> {
        let source = source(path).map_err(|e| Error::io(path, "open", e))?;
        Ok(Input { path: path.to_path_buf(), source })
    }

    /// Opens the file of a morsel. What a listing found to be a regular file is not looked at again.
    pub fn of(file: &FileEntry) -> Result<Input> {
        let path = file.path.as_path();
        if let Some((store, name)) = path.to_str().and_then(remote::store_of) {
            let remote = RemoteFile::new(store, name, path, file.bytes, file.modified_ns);
            return Ok(Input { path: path.to_path_buf(), source: Source::Remote(Arc::new(remote)) });
        }
        if file.bytes == 0 || path.as_os_str() == STDIN {
            return Input::open(path);
        }
        // Should it be a pipe by now, this does not wait for a writer, and reading it at a place is an error.
        let opened = match roots::serves() {
            true => roots::open_file(path),
            false => File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path),
        };
        let opened = opened.map_err(|e| Error::io(path, "open", e))?;
        Ok(Input { path: path.to_path_buf(), source: Source::File(Arc::new(opened), file.bytes) })
    }

    /// Reads a range of bytes, fewer only at the end; that of a file is where it was when it was opened. Of a pipe it
    /// waits for them.
    pub fn read_range(&self, range: &Range<u64>) -> Result<Bytes> {
        match &self.source {
            Source::File(file, len) => {
                // A reader that does not know the size asks for much: room is made only for what there is.
                let range = range.start.min(*len)..range.end.min(*len);
                read_range(file, &range).map_err(|e| Error::io(&self.path, "read", e))
            }
            Source::Remote(file) => file.read(range).map_err(|e| Error::io(&self.path, "read", e)),
            Source::Pipe(pipe) => {
                let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
                pipe.read_until(range.end).and_then(|()| pipe.kept(range)).map_err(|e| self.error(e))
            }
        }
    }

    /// The same, without waiting for a store: the waker is called when more of the bytes are there.
    pub fn poll_range(&self, range: &Range<u64>, waker: &Waker) -> Poll<Result<Bytes>> {
        match &self.source {
            Source::Remote(file) => {
                file.poll(range, waker).map(|bytes| bytes.map_err(|e| Error::io(&self.path, "read", e)))
            }
            Source::File(..) | Source::Pipe(_) => Poll::Ready(self.read_range(range)),
        }
    }

    /// Says which bytes are read next. A store is asked for all of them before the first of them is waited for.
    pub fn begin(&self, ranges: &[Range<u64>]) {
        if let Source::Remote(file) = &self.source {
            file.begin(ranges);
        }
    }

    /// Asks the system, or a store, to read these bytes soon, and does not wait for them. `is_all` says that about no others
    /// will be read.
    pub fn read_ahead(&self, ranges: &[Range<u64>], is_all: bool) {
        match &self.source {
            Source::File(file, len) => ranges.iter().for_each(|range| read_ahead(file, *len, range)),
            Source::Remote(file) => file.read_ahead(ranges, is_all),
            Source::Pipe(_) => {}
        }
    }

    /// Whether it holds a descriptor of the system, of which there are few.
    pub fn holds_descriptor(&self) -> bool {
        !matches!(self.source, Source::Remote(_))
    }

    /// Whether the last of these bytes of a file is in memory, so far as the system says so.
    pub fn is_in_memory(&self, range: &Range<u64>) -> bool {
        match &self.source {
            Source::File(file, len) => {
                range.end.min(*len).checked_sub(1).is_some_and(|last| in_memory(file, last))
            }
            Source::Remote(_) | Source::Pipe(_) => false,
        }
    }

    /// Asks the system to forget what it keeps of a file in memory, so that the disk is read next. What has not been
    /// written to disk yet is kept.
    pub fn forget(&self) {
        let Source::File(file, _) = &self.source else { return };
        // SAFETY: the descriptor is open as long as `file` lives; the call touches no memory of this process. It is
        // advice: a system that keeps the pages reads the same bytes sooner.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    }

    /// The number of bytes. A pipe is read to its end for it.
    pub fn len(&self) -> Result<u64> {
        match &self.source {
            Source::File(_, len) => Ok(*len),
            Source::Remote(file) => Ok(file.bytes()),
            Source::Pipe(pipe) => {
                let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
                pipe.read_until(u64::MAX).map_err(|e| self.error(e))?;
                Ok(pipe.read)
            }
        }
    }

    /// Whether there are no bytes. A pipe is read as far as its first byte.
    pub fn is_empty(&self) -> Result<bool> {
        match &self.source {
            Source::Remote(file) => Ok(file.bytes() == 0),
            Source::File(..) | Source::Pipe(_) => Ok(self.read_range(&(0..1))?.is_empty()),
        }
    }

    /// Whether it is a pipe: its length is not known before its end is read, and one thread reads it in order.
    pub fn is_pipe(&self) -> bool {
        matches!(self.source, Source::Pipe(_))
    }

    fn error(&self, e: std::io::Error) -> Error {
        match e.kind() {
            std::io::ErrorKind::StorageFull => {
                Error::io(std::env::temp_dir(), "keep what was read of a pipe", e)
            }
            _ => Error::io(&self.path, "read", e),
        }
    }
}

/// Opens a small file, here or in a store, to read it from its beginning.
///
/// # Errors
/// It can't be opened, or the store not be asked.
pub fn reader(path: &Path) -> std::io::Result<Box<dyn Read>> {
    let Some((store, name)) = path.to_str().and_then(remote::store_of) else {
        return Ok(Box::new(roots::open_file(path)?));
    };
    let there = store.stat(name)?.ok_or(std::io::ErrorKind::NotFound)?;
    let remote = RemoteFile::new(store, name, path, there.bytes, there.modified_ns);
    Ok(Box::new(std::io::Cursor::new(remote.read(&(0..there.bytes))?)))
}

/// Reads the bytes of one range, fewer only at the end of the file.
fn read_range(file: &File, range: &Range<u64>) -> std::io::Result<Bytes> {
    let most = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    let mut buffer: Vec<u8> = Vec::new();
    buffer.try_reserve_exact(most)?;
    while buffer.len() < most {
        let at = libc::off_t::try_from(range.start + buffer.len() as u64).map_err(std::io::Error::other)?;
        let left = most - buffer.len();
        let room = &mut buffer.spare_capacity_mut()[..left];
        // Zeros that are overwritten at once would cost as much as a copy of the file.
        // SAFETY: `room` is memory of this buffer, of which the call writes at most `room.len()` bytes.
        let read = unsafe { libc::pread(file.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), at) };
        match usize::try_from(read) {
            Ok(0) => break,
            // SAFETY: `read` bytes behind the length are now written, and there is room for them.
            Ok(read) => unsafe { buffer.set_len(buffer.len() + read) },
            Err(_) => match std::io::Error::last_os_error() {
                e if e.kind() == std::io::ErrorKind::Interrupted => {}
                e => return Err(e),
            },
        }
    }
    Ok(Bytes::from(buffer))
}

/// Asks the system to read these bytes of a file of this length.
fn read_ahead(file: &File, len: u64, range: &Range<u64>) {
    let (start, end) = (range.start, range.end.min(len));
    let length = end.saturating_sub(start);
    // The system would look for each page of a long range, which takes a tenth as long as reading it from memory.
    if length >= PROBED && (1..=PROBES).all(|i| in_memory(file, start + length / PROBES * i - 1)) {
        return;
    }
    let (Ok(start), Ok(length)) = (start.try_into(), length.try_into()) else { return };
    // SAFETY: the descriptor is open as long as `file` lives; the call touches no memory of this process. It is
    // advice: that it fails changes nothing but the time.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), start, length, libc::POSIX_FADV_WILLNEED) };
}

/// Whether the system has this byte of a file in memory, so far as it says so. It may begin to read it.
fn in_memory(file: &File, at: u64) -> bool {
    let Ok(at) = at.try_into() else { return false };
    let mut byte = 0_u8;
    let room = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: the descriptor is open as long as `file` lives, and the one byte of room outlives the call.
    unsafe { libc::preadv2(file.as_raw_fd(), &room, 1, at, libc::RWF_NOWAIT) == 1 }
}

fn source(path: &Path) -> std::io::Result<Source> {
    if let Some((store, name)) = path.to_str().and_then(remote::store_of) {
        let there = store.stat(name)?.ok_or(std::io::ErrorKind::NotFound)?;
        let file = RemoteFile::new(store, name, path, there.bytes, there.modified_ns);
        return Ok(Source::Remote(Arc::new(file)));
    }
    // The standard input of a process that serves others is no table, and a pipe of theirs might never end.
    if roots::serves() {
        let file = roots::open_file(path)?;
        let len = file.metadata()?.len();
        return Ok(Source::File(Arc::new(file), len));
    }
    // Only pipes are shared. To open a named pipe waits for its writer, and files must not wait with it.
    if path != Path::new(STDIN) && std::fs::metadata(path)?.is_file() {
        let file = File::open(path)?;
        let meta = file.metadata()?;
        if meta.is_file() {
            return Ok(Source::File(Arc::new(file), meta.len()));
        }
    }
    let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pipe) = pipes.get(path) {
        return Ok(Source::Pipe(pipe.clone()));
    }
    let from = match path == Path::new(STDIN) {
        true => {
            let mut stdin = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
            // A file as standard input is read like a file, unless somebody has read the beginning of it.
            let meta = stdin.metadata()?;
            if meta.is_file() && stdin.stream_position()? == 0 {
                return Ok(Source::File(Arc::new(stdin), meta.len()));
            }
            stdin
        }
        false => File::open(path)?,
    };
    let pipe = Pipe { from, memory: Vec::new(), disk: None, read: 0, ended: false };
    let pipe = Arc::new(Mutex::new(pipe));
    pipes.insert(path.to_path_buf(), pipe.clone());
    Ok(Source::Pipe(pipe))
}

impl Pipe {
    /// Reads until `end` bytes are kept or the pipe has ended.
    fn read_until(&mut self, end: u64) -> std::io::Result<()> {
        let mut chunk = vec![0; if self.read < end && !self.ended { CHUNK } else { 0 }];
        while self.read < end && !self.ended {
            match self.from.read(&mut chunk) {
                Ok(0) => self.ended = true,
                Ok(n) => self.keep(&chunk[..n])?,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.disk.is_none() && self.memory.len() + bytes.len() > IN_MEMORY {
            let mut disk = tempfile::tempfile()?;
            disk.write_all(&std::mem::take(&mut self.memory))?;
            self.disk = Some(disk);
        }
        match &mut self.disk {
            Some(disk) => {
                disk.seek(SeekFrom::Start(self.read))?;
                disk.write_all(bytes)?;
            }
            None => self.memory.extend_from_slice(bytes),
        }
        self.read += bytes.len() as u64;
        Ok(())
    }

    fn kept(&self, range: &Range<u64>) -> std::io::Result<Bytes> {
        let range = range.start.min(self.read)..range.end.min(self.read);
        match &self.disk {
            Some(disk) => {
                let mut bytes = vec![0; (range.end - range.start) as usize];
                disk.read_exact_at(&mut bytes, range.start)?;
                Ok(bytes.into())
            }
            None => Ok(Bytes::copy_from_slice(&self.memory[range.start as usize..range.end as usize])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    /// A named pipe into which a thread writes `bytes`.
    fn pipe(bytes: Vec<u8>) -> (tempfile::TempDir, PathBuf, std::thread::JoinHandle<()>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name is a valid C string for the length of the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let to = path.clone();
        let writer = std::thread::spawn(move || {
            // Whoever reads may leave before the end.
            let _ = File::options().write(true).open(to).unwrap().write_all(&bytes);
        });
        (dir, path, writer)
    }

    #[test]
    fn a_file_is_read_at_any_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, "0123456789").unwrap();
        let input = Input::open(&path).unwrap();
        assert!(!input.is_pipe() && !input.is_empty().unwrap());
        assert_eq!(input.len().unwrap(), 10);
        assert_eq!(&input.read_range(&(7..20)).unwrap()[..], b"789");
        assert_eq!(&input.read_range(&(4..7)).unwrap()[..], b"456");
        assert!(Input::open(&dir.path().join("y")).unwrap_err().to_string().contains("cannot open"));
    }

    #[test]
    fn a_pipe_is_read_as_far_as_asked_and_twice() {
        let bytes: Vec<u8> = (0..IN_MEMORY as u32 / 2).flat_map(u32::to_le_bytes).collect();
        let (_dir, path, writer) = pipe(bytes.clone());
        let input = Input::open(&path).unwrap();
        assert!(input.is_pipe());
        assert_eq!(&input.read_range(&(4..8)).unwrap()[..], &bytes[4..8]);
        assert!(!writer.is_finished(), "the rest waits in the pipe");
        let again = Input::open(&path).unwrap();
        assert_eq!(again.len().unwrap(), bytes.len() as u64);
        writer.join().unwrap();
        assert!(input.read_range(&(0..u64::MAX)).unwrap() == bytes);
        assert_eq!(
            &again.read_range(&(bytes.len() as u64 - 2..u64::MAX)).unwrap()[..],
            &bytes[bytes.len() - 2..]
        );
    }

    #[test]
    fn an_empty_pipe_is_empty() {
        let (_dir, path, writer) = pipe(Vec::new());
        let input = Input::open(&path).unwrap();
        assert!(input.is_empty().unwrap());
        assert_eq!(input.len().unwrap(), 0);
        writer.join().unwrap();
    }
}
