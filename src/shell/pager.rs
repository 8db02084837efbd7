//! Results that are longer or wider than the terminal.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use session::writers::{self, Error, Output, Result, ResultFormat, ResultWriter, TableOptions, failed};
use unicode_width::UnicodeWidthStr;

use crate::{signals, terminal};

/// The most rows of a table that a pager shows, unless the user says how many: it is held whole.
const PAGED_ROWS: usize = 10_000;

/// Who shows what does not fit the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pager {
    /// What the shell of the system runs; nothing if nobody does.
    pub command: Option<String>,
}

impl Pager {
    /// The command of `PALAIS_PAGER` or `PAGER`, or else `less`. Where they are empty there is none.
    pub fn usual() -> Pager {
        let set = |name: &str| std::env::var(name).ok();
        let command =
            set("PALAIS_PAGER").or_else(|| set("PAGER")).or_else(|| has_less().then(|| "less".into()));
        Pager { command: command.filter(|command: &String| !command.trim().is_empty()) }
    }

    /// The writer of a result to the terminal, as a table if no form is given.
    pub fn writer(
        &self,
        format: Option<ResultFormat>,
        width: Option<usize>,
        max_rows: Option<usize>,
        plan: Option<usize>,
        time_zone: &str,
    ) -> Result<Box<dyn ResultWriter>> {
        let format = format.unwrap_or(ResultFormat::Table);
        if writers::is_binary(format) {
            return Err(Error::Refused(format!(
                "{} is not text that a terminal could show\n  help: COPY (…) TO 'file', or .mode csv",
                format.name()
            )));
        }
        let fitted = terminal::table_options();
        let is_paged = self.command.is_some();
        let table = TableOptions {
            // A plan is folded at the terminal's width, and read from above.
            width: width.or(fitted.width.filter(|_| !is_paged || plan.is_some())),
            max_rows: max_rows.unwrap_or(if is_paged { PAGED_ROWS } else { fitted.max_rows }),
            ..fitted
        };
        let out =
            Paged { command: self.command.clone(), held: Vec::new(), size: Size::default(), child: None };
        writers::writer(format, Box::new(out), "none", table, plan, time_zone)
    }
}

/// Whether there is `less`; small images of containers have none.
fn has_less() -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|at| at.join("less").is_file()))
}

/// Text that is held until it is known whether it fits the terminal.
struct Paged {
    command: Option<String>,
    held: Vec<u8>,
    size: Size,
    child: Option<Child>,
}

impl Paged {
    fn give(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(child) = &mut self.child {
            return child.stdin.as_mut().map_or(Ok(()), |pipe| pipe.write_all(bytes));
        }
        self.size.add(bytes);
        self.held.extend_from_slice(bytes);
        let (rows, columns) = terminal::size();
        match &self.command {
            // The next prompt takes a line.
            Some(command) if self.size.lines >= rows.saturating_sub(1) || self.size.widest > columns => {
                let mut child = start(command)?;
                let held = std::mem::take(&mut self.held);
                let written = child.stdin.as_mut().map_or(Ok(()), |pipe| pipe.write_all(&held));
                self.child = Some(child);
                written
            }
            Some(_) => Ok(()),
            None => self.show(),
        }
    }

    fn show(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(&std::mem::take(&mut self.held))?;
        out.flush()
    }
}

/// Starts a pager. What it is told of colours and long lines is for `less`, unless the user has told it otherwise.
fn start(command: &str) -> io::Result<Child> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        shell.env("LESS", "-R -S");
    }
    // SAFETY: between fork and exec is one call of the system, which takes a set that is whole.
    unsafe { shell.pre_exec(signals::take_none) };
    let child = shell.spawn()?;
    signals::pages(true);
    Ok(child)
}

impl Write for Paged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.give(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Paged {
    fn finish(&mut self) -> Result<()> {
        self.show().map_err(|e| failed(self.path(), "write", e))
    }

    fn path(&self) -> &Path {
        Path::new("the terminal")
    }
}

impl Drop for Paged {
    /// Waits until the user has seen enough: the terminal is the pager's until then.
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            drop(child.stdin.take());
            let _ = child.wait();
            signals::pages(false);
        }
    }
}

/// The lines and columns that a text takes, as far as it is known.
#[derive(Debug, Default)]
struct Size {
    lines: usize,
    widest: usize,
    /// The line that has no end yet.
    line: Vec<u8>,
}

impl Size {
    fn add(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.lines += 1;
                self.widest = self.widest.max(width(&String::from_utf8_lossy(&self.line)));
                self.line.clear();
            }
        }
    }
}

/// The columns that a line takes, colours left out.
fn width(line: &str) -> usize {
    let mut parts = line.trim_end_matches('\n').split("\x1b[");
    let first = parts.next().unwrap_or_default().width();
    let behind_colour = |part: &str| part.split_once('m').map_or(part, |(_, text)| text).width();
    first + parts.map(behind_colour).sum::<usize>()
}

/// The writer of a result into a file that has others before it.
pub fn to_file(
    format: ResultFormat,
    path: &Path,
    file: &File,
    plan: Option<usize>,
    time_zone: &str,
) -> Result<Box<dyn ResultWriter>> {
    if writers::is_binary(format) {
        let text =
            format!("{}: several results in one file are text\n  help: COPY (…) TO 'file'", path.display());
        return Err(Error::Refused(text));
    }
    let file = file.try_clone().map_err(|e| failed(path, "write", e))?;
    let out = Appended { path: path.to_path_buf(), out: io::BufWriter::new(file) };
    writers::writer(format, Box::new(out), "none", TableOptions::default(), plan, time_zone)
}

/// A file to which results are added.
struct Appended {
    path: PathBuf,
    out: io::BufWriter<File>,
}

impl Write for Appended {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Output for Appended {
    fn finish(&mut self) -> Result<()> {
        self.out.flush().map_err(|e| failed(&self.path, "write", e))
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_text_leaves_colours_out() {
        let mut size = Size::default();
        size.add(b"a\n\x1b[1mb\xe6\x97");
        assert_eq!((size.lines, size.widest), (1, 1));
        size.add(b"\xa5\x1b[0mc\n");
        assert_eq!((size.lines, size.widest), (2, 4));
    }
}
