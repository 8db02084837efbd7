//! Runs the binary in a directory of its own and watches the memory that it takes.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// No query here needs more memory than this, in bytes, however large its file is.
pub const MOST: u64 = 200 << 20;

/// How long a process may take before it counts as hanging.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// A directory of files, in which palais is run.
pub struct Home(tempfile::TempDir);

/// How a process ended.
pub struct Done {
    /// Its exit code or signal.
    pub status: ExitStatus,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The most memory that was resident at once, in bytes.
    pub peak: u64,
}

impl Home {
    /// An empty one.
    pub fn new() -> Home {
        Home(tempfile::tempdir().expect("a temporary directory can be made"))
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes a file of these bytes.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("a file can be written");
    }

    /// A file of so many bytes, of which all that is not written is 0 and takes no room.
    pub fn sparse(&self, name: &str, len: u64, pieces: &[(u64, &[u8])]) {
        let mut file = File::create(self.path(name)).expect("a file can be made");
        file.set_len(len).expect("a file can be sparse");
        for (at, bytes) in pieces {
            file.seek(SeekFrom::Start(*at)).and_then(|_| file.write_all(bytes)).expect("it can be written");
        }
    }

    /// Starts palais in it.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let output = |name| File::create(self.path(name)).expect("a file can be made");
        Command::new(env!("CARGO_BIN_EXE_palais"))
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .stdout(output(".stdout"))
            .stderr(output(".stderr"))
            .spawn()
            .expect("palais starts")
    }

    /// Waits for a process that was started.
    pub fn finish(&self, child: Child) -> Done {
        let (status, peak) = wait(child);
        let text =
            |name| String::from_utf8_lossy(&fs::read(self.path(name)).expect("it was made")).into_owned();
        Done { status, stdout: text(".stdout"), stderr: text(".stderr"), peak }
    }

    /// Runs a query, which must stay within [`MOST`].
    pub fn query(&self, sql: &str, options: &[&str]) -> Done {
        let done = self.finish(self.start(&[&["query", sql][..], options].concat()));
        assert!(done.peak <= MOST, "{sql} {options:?} took {} MiB\n{}", done.peak >> 20, done.stderr);
        done
    }

    /// The rows of a query that succeeds, and its messages.
    pub fn rows(&self, sql: &str, options: &[&str]) -> (String, String) {
        let done = self.query(sql, &[&["--format", "csv"][..], options].concat());
        assert_eq!(done.status.code(), Some(0), "{sql} {options:?}: {}{}", done.status, done.stderr);
        let rows = done.stdout.split_once('\n').map(|(_, rows)| rows.trim_end().to_string());
        (rows.unwrap_or_default(), done.stderr)
    }

    /// The message of a query that fails, which must name all of these.
    pub fn fails(&self, sql: &str, options: &[&str], expected: &[&str]) {
        let done = self.query(sql, options);
        assert_eq!(done.status.code(), Some(1), "{sql} {options:?}: {}{}", done.status, done.stdout);
        assert_eq!(done.stderr.matches("error:").count(), 1, "{sql} {options:?}: {}", done.stderr);
        for part in expected {
            assert!(done.stderr.contains(part), "{sql} {options:?}: '{part}' is not in\n{}", done.stderr);
        }
    }
}

/// Waits for a process; how it ended, and its peak of resident memory.
fn wait(mut child: Child) -> (ExitStatus, u64) {
    let start = Instant::now();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        // What wait4(2) tells begins with what the process had before it was palais: a copy of this one.
        peak = peak.max(resident(&status).unwrap_or(0));
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return (status, peak);
        }
        if start.elapsed() > PATIENCE {
            child.kill().expect("it can be killed");
            panic!("killed after {PATIENCE:?}");
        }
        sleep(Duration::from_millis(1));
    }
}

/// The most memory that a process had, in bytes, by its file of proc(5).
fn resident(status: &str) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    // Until it is palais it has the name of the thread that started it.
    let is_palais = text.lines().next()?.ends_with("palais");
    let kibibytes = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    is_palais.then_some(kibibytes?.parse::<u64>().ok()? << 10)
}
