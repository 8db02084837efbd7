//! Runs the binary in a fresh process and does not wait for ever.

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a process may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(600);

/// What a process left behind.
pub struct Finished {
    /// How it ended; `None` if it was killed because it hung.
    pub status: Option<ExitStatus>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Finished {
    /// The exit code; `None` after a signal.
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// How the process ended, in words.
    pub fn ending(&self) -> String {
        match self.status {
            None => format!("was killed after {} s", PATIENCE.as_secs()),
            Some(status) => format!("ended with {status}"),
        }
    }
}

/// Runs `palais` with arguments. Output goes through files, so that no pipe can fill up.
pub fn palais<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Finished {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palais"));
    run(command.args(arguments))
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Finished {
    let stdout = tempfile::tempfile().expect("a temporary file can be made");
    let stderr = tempfile::tempfile().expect("a temporary file can be made");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone().expect("a file can be shared"))
        .stderr(stderr.try_clone().expect("a file can be shared"))
        .spawn()
        .unwrap_or_else(|e| panic!("{command:?} does not start: {e}"));
    let start = Instant::now();
    let status = loop {
        match child.try_wait().expect("a child can be waited for") {
            Some(status) => break Some(status),
            None if start.elapsed() > PATIENCE => {
                child.kill().expect("a child can be killed");
                child.wait().expect("a child can be waited for");
                break None;
            }
            None => thread::sleep(Duration::from_millis(1)),
        }
    };
    Finished { status, stdout: text(stdout), stderr: text(stderr) }
}

fn text(mut file: File) -> String {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("a temporary file can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}
