//! Statements and commands that lie in a file, or come in from somewhere else than a terminal.

use std::ops::ControlFlow;
use std::path::Path;

use queries::tokens;

use super::{Shell, commands};

/// The most scripts that run each other.
const MOST_SCRIPTS: usize = 20;

impl Shell {
    /// Runs what lies in a file.
    pub(super) fn read(&mut self, file: &Path) -> anyhow::Result<ControlFlow<()>> {
        if self.scripts == MOST_SCRIPTS {
            anyhow::bail!(
                "{}: {MOST_SCRIPTS} scripts run each other\n  help: does one run itself?",
                file.display()
            );
        }
        let text = std::fs::read_to_string(file).map_err(|e| formats::Error::io(file, "read", e))?;
        self.scripts += 1;
        let done = self.script(&text);
        self.scripts -= 1;
        done
    }

    /// Runs statements and commands one after another, and the next one only if nothing was wrong. A command takes a line.
    pub(super) fn script(&mut self, text: &str) -> anyhow::Result<ControlFlow<()>> {
        let mut statements = String::new();
        for line in text.lines() {
            if statements.is_empty() && (line.trim().is_empty() || line.trim_start().starts_with('#')) {
                continue;
            }
            // Comments may stand before it.
            if commands::is_command(line) && tokens::is_whole(&statements) {
                statements.clear();
                if self.command(line.trim())?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                continue;
            }
            statements.push_str(line);
            statements.push('\n');
            // Most lines end no statement, and a long one is not taken apart for each of them.
            if line.contains(';') && tokens::is_whole(&statements) {
                self.statements(&statements)?;
                statements.clear();
            }
        }
        self.statements(&statements)?;
        Ok(ControlFlow::Continue(()))
    }
}
