//! Runs a command on a terminal of its own (a pseudo terminal), types keys, and reads what is shown.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// What takes longer counts as hanging.
const PATIENCE: Duration = Duration::from_secs(300);

/// A command on a terminal. It is killed when this is dropped.
pub struct Terminal {
    keys: File,
    child: Child,
    shown: Receiver<Vec<u8>>,
    /// What was shown and has not been waited for, as bytes.
    rest: Vec<u8>,
}

impl Terminal {
    /// Starts a command on a terminal of so many lines and columns.
    pub fn start(command: &mut Command, lines: u16, columns: u16) -> Terminal {
        let size = libc::winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let (mut ours, mut theirs) = (0, 0);
        // SAFETY: both places take a descriptor, the name and the settings may be null, and the size is read alone.
        let opened = unsafe {
            libc::openpty(
                &raw mut ours,
                &raw mut theirs,
                std::ptr::null_mut(),
                std::ptr::null(),
                &raw const size,
            )
        };
        assert_eq!(opened, 0, "a terminal can be opened: {}", io::Error::last_os_error());
        for descriptor in [ours, theirs] {
            // Else processes that other tests start would hold it, and it would not end. The command gets copies.
            // SAFETY: the call touches no memory, and the descriptor was just opened.
            unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
        // SAFETY: both descriptors were just opened, and belong to nobody else.
        let (ours, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        let side = || Stdio::from(theirs.try_clone().expect("a descriptor can be copied"));
        command.stdin(side()).stdout(side()).stderr(side()).env("TERM", "xterm");
        // SAFETY: between fork and exec are only two calls of the system, which touch no memory.
        unsafe {
            command.pre_exec(|| match libc::setsid() >= 0 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0 {
                true => Ok(()),
                false => Err(io::Error::last_os_error()),
            })
        };
        let child = command.spawn().expect("the command starts");
        drop(theirs);
        // The command keeps copies of the terminal, which would hide its end.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let (give, shown) = channel();
        let mut screen = ours.try_clone().expect("a descriptor can be copied");
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // At its end the terminal gives an error.
            while let Ok(count) = screen.read(&mut bytes)
                && count > 0
                && give.send(bytes[..count].to_vec()).is_ok()
            {}
        });
        Terminal { keys: ours, child, shown, rest: Vec::new() }
    }

    /// Types keys.
    pub fn send(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until this is shown, and gives all that was shown up to it since the last call, without what moves or colours.
    pub fn until(&mut self, text: &str) -> String {
        let start = Instant::now();
        loop {
            let seen = plain(&self.rest);
            if let Some(at) = seen.find(text) {
                self.rest = seen.as_bytes()[at + text.len()..].to_vec();
                return seen[..at + text.len()].to_string();
            }
            assert!(start.elapsed() < PATIENCE, "'{text}' is not shown; there is: {seen}");
            match self.shown.recv_timeout(Duration::from_millis(200)) {
                Ok(bytes) => self.rest.extend(bytes),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("it ended without '{text}'; there is: {seen}"),
            }
        }
    }

    /// Waits until a prompt stands in a new line; the line that is typed is drawn again at each key, with its prompt.
    pub fn prompt(&mut self, prompt: &str) -> String {
        self.until(&format!("\n{prompt}"))
    }

    /// Waits for the end, and gives what was shown before it.
    pub fn end(mut self) -> (ExitStatus, String) {
        let start = Instant::now();
        loop {
            match self.shown.recv_timeout(Duration::from_millis(200)) {
                Ok(bytes) => self.rest.extend(bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    assert!(start.elapsed() < PATIENCE, "it does not end: {}", plain(&self.rest));
                }
            }
        }
        let status = self.child.wait().expect("a child can be waited for");
        (status, plain(&self.rest))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A text without sequences that move, colour or name something (ECMA-48), and without carriage returns.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let (mut out, mut chars) = (String::new(), text.chars().peekable());
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\x1b', Some('[')) => {
                chars.next();
                while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
            }
            ('\x1b', Some(']')) => while chars.next().is_some_and(|c| c != '\x07') {},
            ('\r', _) => {}
            (c, _) => out.push(c),
        }
    }
    out
}
