//! Where printed bytes go.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{Error, Result};

/// What is gathered before it is written, in bytes.
const BUFFER: usize = 64 << 10;

/// Takes bytes. As a [`Write`] it is for encoders; its errors there come back as those of [`Output::put`].
pub trait Output: Write + Send {
    /// Writes all of these bytes.
    fn put(&mut self, bytes: &[u8]) -> Result<()>;

    /// Hands on what was gathered, so that a reader sees it now.
    fn pass_on(&mut self) -> Result<()>;

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

/// Standard output.
pub struct StandardOutput {
    out: BufWriter<std::io::Stdout>,
}

impl StandardOutput {
    /// Standard output of this process.
    pub fn new() -> StandardOutput {
        StandardOutput { out: BufWriter::with_capacity(BUFFER, std::io::stdout()) }
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

impl Output for StandardOutput {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| failed(self.path(), "write", e))
    }

    fn pass_on(&mut self) -> Result<()> {
        self.out.flush().map_err(|e| failed(self.path(), "write", e))
    }

    fn finish(&mut self) -> Result<()> {
        self.pass_on()
    }

    fn path(&self) -> &Path {
        Path::new("standard output")
    }
}

/// A file that is written aside, in the same directory, and gets its name when it is whole. Dropped before, it leaves
/// nothing. What is there and is not a regular file (`/dev/null`, a pipe) is written as it is.
pub struct FileOutput {
    path: PathBuf,
    overwrite: bool,
    out: Option<BufWriter<Target>>,
}

enum Target {
    Aside(NamedTempFile),
    AsItIs(File),
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Target::Aside(file) => file.write(bytes),
            Target::AsItIs(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl FileOutput {
    /// Begins a file. That it exists is an error unless it may be overwritten.
    pub fn create(path: &Path, overwrite: bool) -> Result<FileOutput> {
        let target = match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => {
                return Err(Error::Refused(format!(
                    "{}: this is a directory; name a file in it",
                    path.display()
                )));
            }
            Ok(meta) if !meta.is_file() => {
                let file = OpenOptions::new().write(true).open(path);
                Target::AsItIs(file.map_err(|e| failed(path, "open", e))?)
            }
            Ok(_) if !overwrite => return Err(exists(path)),
            _ => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let aside = tempfile::Builder::new()
                    .prefix(&format!(".{name}."))
                    .suffix(".partial")
                    .permissions(std::fs::Permissions::from_mode(0o666))
                    .tempfile_in(directory(path));
                Target::Aside(aside.map_err(|e| failed(path, "create", e))?)
            }
        };
        Ok(FileOutput {
            path: path.to_path_buf(),
            overwrite,
            out: Some(BufWriter::with_capacity(BUFFER, target)),
        })
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn exists(path: &Path) -> Error {
    Error::Refused(format!("{}: the file exists\n  help: --overwrite replaces it", path.display()))
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
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|e| failed(&self.path, "write", e))
    }

    fn pass_on(&mut self) -> Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let path = self.path.as_path();
        let target = out.into_inner().map_err(|e| failed(path, "write", e.into_error()))?;
        let Target::Aside(file) = target else { return Ok(()) };
        file.as_file().sync_all().map_err(|e| failed(path, "sync", e))?;
        match self.overwrite {
            true => file.persist(path).map(drop).map_err(|e| failed(path, "rename", e.error))?,
            false => file.persist_noclobber(path).map(drop).map_err(|e| match e.error.kind() {
                ErrorKind::AlreadyExists => exists(path),
                _ => failed(path, "rename", e.error),
            })?,
        }
        let directory = File::open(directory(path)).and_then(|d| d.sync_all());
        directory.map_err(|e| failed(path, "sync the directory of", e))
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
        let mut out = FileOutput::create(&path, false).unwrap();
        out.put(b"half").unwrap();
        assert!(!path.exists());
        drop(out);
        assert_eq!(names(), 0);
        let mut out = FileOutput::create(&path, false).unwrap();
        out.put(b"whole").unwrap();
        out.finish().unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), names()), (b"whole".to_vec(), 1));
    }

    #[test]
    fn a_file_that_exists_is_replaced_only_when_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.csv");
        let mut late = FileOutput::create(&path, false).unwrap();
        std::fs::write(&path, "old").unwrap();
        assert!(FileOutput::create(&path, false).err().unwrap().to_string().contains("--overwrite"));
        assert!(late.finish().unwrap_err().to_string().contains("exists"), "it came while the query ran");
        let mut out = FileOutput::create(&path, true).unwrap();
        out.put(b"new").unwrap();
        out.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn what_is_no_file_is_written_as_it_is() {
        let mut out = FileOutput::create(Path::new("/dev/null"), false).unwrap();
        out.put(b"x").unwrap();
        out.finish().unwrap();
        let dir = tempfile::tempdir().unwrap();
        assert!(FileOutput::create(dir.path(), true).err().unwrap().to_string().contains("directory"));
        let missing = dir.path().join("no/such/file");
        assert!(FileOutput::create(&missing, true).err().unwrap().to_string().contains("cannot create"));
    }
}
