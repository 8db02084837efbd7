//! The tasks of `docs/cookbook.md`: each statement prints the table that stands below it, with one worker and with two, and
//! a part of them in two processes. `tests/oracle/cookbook.py` holds the tables against DuckDB.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use process::run;
use tempfile::TempDir;

#[path = "support/process.rs"]
#[allow(dead_code, reason = "here the program is run in a directory")]
mod process;

/// The tasks that the page has at least.
const LEAST: usize = 60;

/// A question, the statements that answer it, and what they print.
#[derive(Default)]
struct Task {
    question: String,
    sql: String,
    answer: String,
}

impl Task {
    /// Whether it runs in several processes: these take one statement, and PIVOT with its values listed alone.
    fn can_be_spread(&self) -> bool {
        self.sql.matches(";\n").count() == 1 && !self.sql.starts_with("PIVOT")
    }
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

fn page() -> String {
    fs::read_to_string(docs().join("cookbook.md")).expect("the page can be read")
}

/// The tasks of a page. Each is a heading of the third level, some sentences, a block of sql and one of text.
fn tasks(page: &str) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    // What the block is that the line stands in; empty outside of blocks.
    let mut block = "";
    for line in page.lines() {
        if let Some(kind) = line.strip_prefix("```") {
            block = kind;
        } else if let Some(question) = line.strip_prefix("### ") {
            tasks.push(Task { question: question.to_string(), ..Task::default() });
        } else if let (Some(task), "sql" | "text") = (tasks.last_mut(), block) {
            let text = if block == "sql" { &mut task.sql } else { &mut task.answer };
            text.push_str(line);
            text.push('\n');
        }
    }
    tasks
}

/// A directory of its own with the files of the tasks, some of which write others beside them.
fn files() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory can be made");
    for entry in fs::read_dir(docs().join("cookbook")).expect("the directory can be read") {
        let path = entry.expect("the directory can be read").path();
        if path.is_file() {
            let name = path.file_name().expect("a file has a name");
            fs::copy(&path, dir.path().join(name)).expect("a file can be copied");
        }
    }
    dir
}

/// Runs tasks by a command, and tells all that print something else than the page has.
fn check(arguments: &[&str], tasks: &[Task]) {
    let dir = files();
    let mut failures = Vec::new();
    for task in tasks {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palais"));
        command.args(arguments).arg(&task.sql).args(["--format", "table"]).current_dir(dir.path());
        let done = run(&mut command);
        if done.code() != Some(0) {
            failures.push(format!("{}\n{}{}", task.question, done.stderr, done.ending()));
        } else if done.stdout != task.answer {
            failures.push(format!("{}\n{}is not\n{}", task.question, done.stdout, task.answer));
        }
    }
    let (failed, all) = (failures.len(), tasks.len());
    assert!(failures.is_empty(), "{failed} of {all} tasks fail:\n{}", failures.join("\n"));
}

#[test]
fn each_task_has_a_statement_and_an_answer() {
    let page = page();
    let tasks = tasks(&page);
    assert!(tasks.len() >= LEAST, "{} tasks, and not {LEAST}", tasks.len());
    for task in &tasks {
        assert!(task.sql.ends_with(";\n"), "{}: no statement, or one without a semicolon", task.question);
        assert!(task.answer.starts_with('┌'), "{}: no table below the statement", task.question);
    }
    // A heading or a fence that is written otherwise would hide a task.
    for fence in ["\n```sql\n", "\n```text\n"] {
        assert_eq!(page.matches(fence).count(), tasks.len(), "{fence}");
    }
}

#[test]
fn one_worker() {
    check(&["query", "--workers", "1"], &tasks(&page()));
}

#[test]
fn two_workers() {
    check(&["query", "--workers", "2"], &tasks(&page()));
}

#[test]
fn two_processes() {
    let spread: Vec<Task> = tasks(&page()).into_iter().filter(Task::can_be_spread).step_by(4).collect();
    assert!(spread.len() >= 15, "{} tasks", spread.len());
    check(&["cluster", "run", "--local", "2", "--workers", "1"], &spread);
}
