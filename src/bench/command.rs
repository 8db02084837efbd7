//! Runs commands of palais as a user would, each in a process of its own, so that the memory of each is known.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use engine::context::children;
use serde::Deserialize;

use super::TABLE;

/// Runs commands that have a query in common.
pub struct Runner {
    /// The path of palais.
    binary: PathBuf,
    /// A directory for figures and answers.
    scratch: PathBuf,
    /// The query.
    sql: String,
}

/// The figures that `--stats` gives of a query.
#[derive(Deserialize)]
pub struct Queried {
    /// Seconds to list the files and plan.
    pub plan_seconds: f64,
    /// Seconds of each run.
    pub execution_seconds: Vec<f64>,
    /// The rows of its result.
    pub rows: u64,
    /// The most memory that was resident, in bytes.
    pub peak_resident_bytes: u64,
}

impl Runner {
    /// A runner of `sql`, which calls the table [`TABLE`].
    pub fn new(scratch: &Path, sql: &str) -> anyhow::Result<Runner> {
        Ok(Runner { binary: std::env::current_exe()?, scratch: scratch.to_path_buf(), sql: sql.into() })
    }

    /// Writes a data set.
    pub fn convert(
        &self,
        source: &Path,
        directory: &Path,
        encoding: &str,
        compression: &str,
        workers: usize,
    ) -> anyhow::Result<()> {
        let written = ["--to", encoding, "--compression", compression, "--no-progress", "--workers"];
        let mut command = Command::new(&self.binary);
        command.arg("convert").arg(source).arg(directory).args(written).arg(workers.to_string());
        if formats::registry::format(encoding)?.is_tagged() {
            // As `palais generate` writes them: the benchmark measures values, and not the same names again and again.
            command.arg("--arrays");
        }
        run(&mut command)
    }

    /// Runs the query over a data set `times` times in one process.
    pub fn query(&self, directory: &Path, flags: &[&str], times: u32) -> anyhow::Result<Queried> {
        let path = self.scratch.join("stats.json");
        let mut command = self.over(directory, flags);
        run(command.args(["--repeat", &times.to_string()]).arg("--stats").arg(&path))?;
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("{}: cannot be read", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Runs the query over a data set, and writes its rows to a file. Gives its path.
    pub fn answer(&self, directory: &Path, flags: &[&str]) -> anyhow::Result<PathBuf> {
        let path = self.scratch.join("answer.arrow");
        run(self.over(directory, flags).arg("--overwrite").arg("--output").arg(&path))?;
        Ok(path)
    }

    fn over(&self, directory: &Path, flags: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        let mut table = std::ffi::OsString::from(format!("{TABLE}="));
        table.push(directory);
        command.arg("query").arg(&self.sql).arg("--table").arg(table).arg("--no-progress").args(flags);
        command
    }
}

/// Runs a command of palais. If it fails, its messages are the error.
fn run(command: &mut Command) -> anyhow::Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let (child, group) = children::spawn(command).context("palais cannot be started")?;
    let done = child.wait_with_output().context("palais cannot be waited for")?;
    drop(group);
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let said = said.trim().trim_start_matches("error: ");
    anyhow::bail!("{}", if said.is_empty() { done.status.to_string() } else { said.to_string() })
}
