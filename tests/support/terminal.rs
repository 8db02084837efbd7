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

/// Stands in what was shown for the request of a line editor that pasted text be marked, which it makes before each line.
const BEGUN: char = '\u{1}';

/// A command on a terminal. It is killed when this is dropped.
pub struct Terminal {
    keys: File,
    child: Child,
    shown: Receiver<Vec<u8>>,
    /// What was shown and is not text yet.
    rest: Vec<u8>,
    /// What was shown and has not been waited for.
    text: String,
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
        // SAFETY: between fork and exec are only three calls of the system, which touch no memory.
        unsafe {
            command.pre_exec(|| {
                // Whoever runs tests in the background has interrupts ignored, and who has a terminal does not.
                let is_usual = libc::signal(libc::SIGINT, libc::SIG_DFL) != libc::SIG_ERR;
                match is_usual && libc::setsid() >= 0 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0 {
                    true => Ok(()),
                    false => Err(io::Error::last_os_error()),
                }
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
        Terminal { keys: ours, child, shown, rest: Vec::new(), text: String::new() }
    }

    /// Types keys.
    pub fn send(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until this is shown, and gives all that was shown up to it since the last call, without what moves or colours.
    pub fn until(&mut self, text: &str) -> String {
        self.wait(text, |seen| seen.find(text).map(|at| at + text.len()))
    }

    /// Waits until a line editor begins to take a line behind a prompt, and gives all that was shown since the last call. A
    /// line that is typed is drawn again at each key, with its prompt.
    pub fn prompt(&mut self, prompt: &str) -> String {
        self.wait(prompt, |seen| {
            let begun = seen.find(BEGUN)?;
            Some(begun + seen[begun..].find(prompt)? + prompt.len())
        })
    }

    /// Waits until the end of something is there.
    fn wait(&mut self, what: &str, end: impl Fn(&str) -> Option<usize>) -> String {
        let start = Instant::now();
        loop {
            if let Some(end) = end(&self.text) {
                let rest = self.text.split_off(end);
                return std::mem::replace(&mut self.text, rest);
            }
            assert!(start.elapsed() < PATIENCE, "{what:?} is not shown; there is: {}", self.text);
            match self.shown.recv_timeout(Duration::from_millis(200)) {
                Ok(bytes) => self.take(bytes),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("it ended without {what:?}; there is: {}", self.text)
                }
            }
        }
    }

    fn take(&mut self, bytes: Vec<u8>) {
        self.rest.extend(bytes);
        take_text(&mut self.rest, &mut self.text);
    }

    /// Waits for the end, and gives what was shown before it.
    pub fn end(mut self) -> (ExitStatus, String) {
        let start = Instant::now();
        loop {
            match self.shown.recv_timeout(Duration::from_millis(200)) {
                Ok(bytes) => self.take(bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    assert!(start.elapsed() < PATIENCE, "it does not end: {}", self.text);
                }
            }
        }
        let status = self.child.wait().expect("a child can be waited for");
        (status, std::mem::take(&mut self.text))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Takes text out of bytes, without sequences that move, colour or name something (ECMA-48), and without carriage returns.
/// What is not whole yet stays.
fn take_text(bytes: &mut Vec<u8>, out: &mut String) {
    let whole = match std::str::from_utf8(bytes) {
        Ok(text) => text.len(),
        Err(e) => e.valid_up_to(),
    };
    let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let length = match rest.as_bytes() {
            [b'\x1b'] | [b'\x1b', b'['] => None,
            [b'\x1b', b'[', sequence @ ..] => {
                sequence.iter().position(|c| (b'@'..=b'~').contains(c)).map(|at| at + 3)
            }
            [b'\x1b', b']', ..] => rest.find('\x07').map(|at| at + 1),
            _ => Some(c.len_utf8()),
        };
        let Some(length) = length else { break };
        match &rest[..length] {
            "\x1b[?2004h" => out.push(BEGUN),
            "\r" => {}
            sequence if sequence.starts_with('\x1b') => {}
            text => out.push_str(text),
        }
        rest = &rest[length..];
    }
    let taken = text.len() - rest.len();
    bytes.drain(..taken);
}
