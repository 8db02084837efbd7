//! The files of a shell: the history, and what is run at first.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustyline::Editor;
use rustyline::history::FileHistory;

use super::complete::Helper;

/// What was typed, in the directory of the user's state (XDG Base Directory Specification).
pub fn history() -> Option<PathBuf> {
    Some(directory("XDG_STATE_HOME", ".local/state")?.join("palais/history"))
}

/// Statements and commands that are run before the first prompt.
pub fn init() -> Option<PathBuf> {
    Some(directory("XDG_CONFIG_HOME", ".config")?.join("palais/init.sql"))
}

/// The directory that a variable names, or that lies so in the user's own.
fn directory(variable: &str, within_home: &str) -> Option<PathBuf> {
    // Those that are not absolute are to be ignored.
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    path(variable).or_else(|| Some(path("HOME")?.join(within_home)))
}

/// Adds what was typed last to the history. Its owner alone can read the file, which rustyline sees to, and list the
/// directory: statements may hold what is secret.
pub fn append(editor: &mut Editor<Helper, FileHistory>, file: &Path) -> rustyline::Result<()> {
    if let Some(parent) = file.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    editor.append_history(file)
}
