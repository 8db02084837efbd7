//! A store for tests: the files below a directory, each request answered after a while.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use formats::reader::Bytes;
use formats::store::remote::{self, Object, Store};

/// Serves the files below a directory.
pub struct SlowStore {
    directory: PathBuf,
    delay: Duration,
    /// Reads that were asked for.
    pub reads: AtomicUsize,
    /// Reads that are under way, and the most of them at any time.
    under_way: AtomicUsize,
    pub most_under_way: AtomicUsize,
    /// Whether a thread has read that is to do other work.
    pub has_blocked_others: AtomicBool,
    /// No read is answered while somebody holds this.
    pub silence: Mutex<()>,
    /// Whether reads and puts fail.
    pub fails: AtomicBool,
    /// What was put, in order.
    pub puts: Mutex<Vec<String>>,
}

impl SlowStore {
    /// Serves the files below `directory`, which is made if it is not there, as `scheme://…`.
    pub fn register(scheme: &str, directory: &Path, delay: Duration) -> Arc<SlowStore> {
        fs::create_dir_all(directory).unwrap();
        let store = Arc::new(SlowStore {
            directory: directory.to_path_buf(),
            delay,
            reads: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            most_under_way: AtomicUsize::new(0),
            has_blocked_others: AtomicBool::new(false),
            silence: Mutex::default(),
            fails: AtomicBool::new(false),
            puts: Mutex::default(),
        });
        remote::register(scheme, store.clone());
        store
    }

    fn object(&self, path: &Path) -> io::Result<Object> {
        let name = path.strip_prefix(&self.directory).map_err(io::Error::other)?;
        let name = name.to_str().ok_or(io::ErrorKind::InvalidData)?.to_string();
        Ok(Object { name, bytes: fs::metadata(path)?.len(), modified_ns: 1 })
    }

    fn collect(&self, directory: &Path, all: &mut Vec<Object>) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            match path.is_dir() {
                true => self.collect(&path, all)?,
                false => all.push(self.object(&path)?),
            }
        }
        Ok(())
    }
}

impl Store for SlowStore {
    fn list(&self, prefix: &str) -> io::Result<Vec<Object>> {
        std::thread::sleep(self.delay);
        let mut all = Vec::new();
        self.collect(&self.directory, &mut all)?;
        all.retain(|object| object.name.starts_with(prefix));
        Ok(all)
    }

    fn stat(&self, name: &str) -> io::Result<Option<Object>> {
        std::thread::sleep(self.delay);
        let path = self.directory.join(name);
        if path.is_file() { self.object(&path).map(Some) } else { Ok(None) }
    }

    fn read(&self, name: &str, range: Range<u64>) -> io::Result<Bytes> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_under_way.fetch_max(under_way, Ordering::SeqCst);
        let is_own = std::thread::current().name() == Some("palais-store");
        self.has_blocked_others.fetch_or(!is_own, Ordering::SeqCst);
        std::thread::sleep(self.delay);
        drop(self.silence.lock().unwrap_or_else(PoisonError::into_inner));
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        if self.fails.load(Ordering::SeqCst) {
            return Err(io::Error::other("the store is closed on Sundays"));
        }
        let mut bytes = vec![0; (range.end - range.start) as usize];
        File::open(self.directory.join(name))?.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes.into())
    }

    fn takes_files(&self) -> bool {
        true
    }

    fn put(&self, name: &str, file: &Path) -> io::Result<()> {
        std::thread::sleep(self.delay);
        if self.fails.load(Ordering::SeqCst) {
            return Err(io::Error::other("the store is closed on Sundays"));
        }
        self.puts.lock().unwrap().push(name.to_string());
        let path = self.directory.join(name);
        fs::create_dir_all(path.parent().unwrap())?;
        let half = path.with_extension("half");
        fs::copy(file, &half)?;
        fs::rename(half, path)
    }
}
