//! Where printed bytes go.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use formats::store::atomic::{AtomicWrite, Overwrite};

use super::{Error, Result};

/// What is gathered before it is written, in bytes.
const BUFFER: usize = 64 << 10;

/// Takes bytes. As a [`Write`] it is for encoders; its errors there come back as those of [`Output::put`].
pub trait Output: Write + Send {
    /// Writes all of these bytes.
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|e| failed(self.path(), "write", e))
    }

    /// Hands on what was gathered, so that a reader sees it now, if somebody reads while it is written.
    fn pass_on(&mut self) -> Result<()> {
        Ok(())
    }

    /// What was written is whole.
    fn finish(&mut self) -> Result<()>;

    /// Its name in errors.
    fn path(&self) -> &Path;
}

/// An error of the system in writing to `path`.
pub fn failed(path: &Path, action: &'static str, source: std::io::Error) -> Error {
    match source.kind() {
        ErrorKind::BrokenPipe => Error::Closed,
        _ => Error::Io { path: path.to_path_buf(), action, source },
    }
}

/// A file that is written under a temporary name, in the same directory or, for a store, in that of temporary files. It
/// gets its name when it is whole. Dropped before, it leaves nothing. What is there and is not a regular file
/// (`/dev/null`, a pipe) is written as it is.
pub struct FileOutput {
    path: PathBuf,
    aside: Option<AtomicWrite>,
    out: Option<BufWriter<File>>,
}

impl FileOutput {
    /// Begins a file. That it exists is an error unless it may be overwritten.
    pub fn create(path: &Path, overwrite: Overwrite) -> Result<FileOutput> {
        let (aside, file) = AtomicWrite::file(path, overwrite)?;
        let out = Some(BufWriter::with_capacity(BUFFER, file));
        Ok(FileOutput { path: path.to_path_buf(), aside: Some(aside), out })
    }
}

impl Write for FileOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.out {
            Some(out) => out.write(bytes),
            None => Err(std::io::Error::other("the file is finished")),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Output for FileOutput {
    fn finish(&mut self) -> Result<()> {
        let (Some(out), Some(aside)) = (self.out.take(), self.aside.take()) else { return Ok(()) };
        out.into_inner().map_err(|e| failed(&self.path, "write", e.into_error()))?;
        Ok(aside.commit()?)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Keeps what was written, and whether it was finished.
    #[derive(Clone, Default)]
    pub struct Memory(Arc<Mutex<(Vec<u8>, bool)>>);

    impl Memory {
        pub fn bytes(&self) -> Vec<u8> {
            self.0.lock().unwrap().0.clone()
        }

        pub fn text(&self) -> String {
            String::from_utf8(self.bytes()).unwrap()
        }

        pub fn finished(&self) -> bool {
            self.0.lock().unwrap().1
        }
    }

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().0.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Output for Memory {
        fn put(&mut self, bytes: &[u8]) -> Result<()> {
            self.write_all(bytes).map_err(|e| failed(self.path(), "write", e))
        }

        fn pass_on(&mut self) -> Result<()> {
            Ok(())
        }

        fn finish(&mut self) -> Result<()> {
            self.0.lock().unwrap().1 = true;
            Ok(())
        }

        fn path(&self) -> &Path {
            Path::new("memory")
        }
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.csv");
        let names = || std::fs::read_dir(dir.path()).unwrap().count();
        let mut out = FileOutput::create(&path, Overwrite::flag(false)).unwrap();
        out.put(b"half").unwrap();
        assert!(!path.exists());
        drop(out);
        assert_eq!(names(), 0);
        let mut out = FileOutput::create(&path, Overwrite::flag(false)).unwrap();
        out.put(b"whole").unwrap();
        out.finish().unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), names()), (b"whole".to_vec(), 1));
    }

    #[test]
    fn a_file_that_comes_while_the_query_runs_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.csv");
        let mut late = FileOutput::create(&path, Overwrite::flag(false)).unwrap();
        std::fs::write(&path, "old").unwrap();
        assert!(late.finish().unwrap_err().to_string().contains("exists"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn what_is_no_file_is_written_as_it_is() {
        let mut out = FileOutput::create(Path::new("/dev/null"), Overwrite::flag(false)).unwrap();
        out.put(b"x").unwrap();
        out.finish().unwrap();
    }
}
