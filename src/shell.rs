//! `palais shell`: runs statements and commands that the user types, one after another.
//!
//! - [`commands`]: commands, which begin with a point or a backslash.
//! - [`complete`]: completions by Tab, and colours.
//! - [`files`]: the history, and the script that runs at first.
//! - [`pager`]: shows results that are longer or wider than the terminal.
//! - [`script`]: runs statements and commands of a file.

mod commands;
mod complete;
mod files;
mod pager;
mod script;

use std::fs::File;
use std::io::{ErrorKind, IsTerminal};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use queries::Statement;
use queries::tokens::Tokens;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Behavior, CompletionType, Config, Editor};
use session::statistics::before_operators;
use session::writers::{self, ResultFormat, ResultWriter};
use session::{Cancel, Parsed, Session};

use crate::args;
use crate::print;
use crate::progress::Progress;
use crate::query::warn;
use crate::say::{self, say};
use crate::settings;
use crate::signals;
use crate::tables;
use complete::Helper;
use pager::Pager;

/// The text before a statement.
const PROMPT: &str = "palais> ";

/// The most statements in the history.
const HISTORY: usize = 10_000;

/// A shell: a session, and how results are shown.
struct Shell {
    session: Arc<Session>,
    /// The form of results. If the user chose none, the usual one of the place where they go.
    mode: Option<ResultFormat>,
    /// The file into which results go.
    output: Option<(PathBuf, File)>,
    /// Whether a line with rows and time stands below each result.
    timer: bool,
    /// The characters in a line of a table, if the user chose a number.
    width: Option<usize>,
    /// The rows of a table, if the user chose a number.
    max_rows: Option<usize>,
    pager: Pager,
    no_progress: bool,
    /// Whether a user types at a terminal.
    is_interactive: bool,
    /// How many scripts are being run, each by the one before.
    scripts: usize,
}

/// `palais shell`.
pub fn run(s: &args::Shell) -> anyhow::Result<()> {
    let sources = tables::sources(&s.input)?;
    let settings = settings::resolve(&s.execution, None, sources.open.clone());
    engine::context::memory::set_limit(settings.memory_limit);
    let session = Session::new(settings).with_tables(sources.tables()?);
    let is_interactive = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut shell = Shell {
        session: Arc::new(session),
        mode: s.format,
        output: None,
        timer: is_interactive,
        width: None,
        max_rows: None,
        pager: Pager::usual(),
        no_progress: s.no_progress,
        is_interactive,
        scripts: 0,
    };
    if is_interactive {
        signals::interrupts_cancel();
    }
    let init = match &s.init {
        Some(file) => Some(file.clone()),
        None if is_interactive && !s.no_init => files::init().filter(|file| file.exists()),
        None => None,
    };
    match init.map(|file| shell.read(&file)) {
        Some(Ok(ControlFlow::Break(()))) => return Ok(()),
        // A user at a terminal can put it right.
        Some(Err(e)) if is_interactive => say(crate::describe(e.as_ref()).0),
        Some(Err(e)) => return Err(e),
        Some(Ok(ControlFlow::Continue(()))) | None => {}
    }
    match is_interactive {
        true => shell.converse(),
        false => {
            let text = std::io::read_to_string(std::io::stdin());
            let text = text.map_err(|e| anyhow::anyhow!("cannot read standard input: {e}"))?;
            shell.script(&text).map(|_| ())
        }
    }
}

impl Shell {
    /// Runs what the user types until the end.
    fn converse(&mut self) -> anyhow::Result<()> {
        signals::keep_terminal();
        let config = Config::builder()
            .max_history_size(HISTORY)?
            .completion_type(CompletionType::List)
            .history_ignore_space(true)
            .behavior(Behavior::Stdio)
            .build();
        let mut editor: Editor<Helper, FileHistory> = Editor::with_config(config)?;
        editor.set_helper(Some(Helper::new(self.session.clone())));
        let history = files::history();
        if let Some(file) = &history {
            // Before the first run there is no history.
            let _ = editor.load_history(file);
        }
        say(format_args!("palais {}; .help for help, .quit or Ctrl-D to leave", env!("PALAIS_VERSION")));
        loop {
            let text = match editor.readline(PROMPT) {
                Ok(text) => text,
                // The text typed so far is dropped.
                Err(ReadlineError::Interrupted) => continue,
                Err(ReadlineError::Eof) => return Ok(()),
                Err(ReadlineError::Io(e)) if e.kind() == ErrorKind::InvalidData => {
                    say("error: what was typed is not UTF-8");
                    continue;
                }
                Err(e) => return Err(e.into()),
            };
            if text.trim().is_empty() {
                continue;
            }
            let is_new = editor.add_history_entry(text.trim_end())?;
            if let Some(file) = history.as_deref().filter(|_| is_new)
                && let Err(e) = files::append(&mut editor, file)
            {
                say::warn(format_args!("{}: the history can't be written: {e}", file.display()));
            }
            let done = match commands::is_command(&text) {
                // Pasted text may have several lines.
                true => self.script(&text),
                false => self.statements(&text).map(|()| ControlFlow::Continue(())),
            };
            match done {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return Ok(()),
                Err(e) => say(crate::describe(e.as_ref()).0),
            }
            editor.helper_mut().iter_mut().for_each(|helper| helper.forget_columns());
        }
    }

    /// Runs statements one after another. All of them are parsed before the first one runs.
    fn statements(&mut self, text: &str) -> anyhow::Result<()> {
        if Tokens::of(text).is_empty() {
            return Ok(());
        }
        session::parse_all(text)?.iter().try_for_each(|statement| self.statement(statement))
    }

    /// Runs a statement, which an interrupt cancels.
    fn statement(&mut self, statement: &Parsed) -> anyhow::Result<()> {
        let (start, cancel) = (Instant::now(), Cancel::default());
        let _running = signals::running(&cancel);
        let mut progress = None;
        // The writer is made first, so that a form that can't be shown is an error before the query runs.
        let writer = statement.gives_rows().then(|| self.writer(statement)).transpose()?;
        let mut results = self.session.run(statement, &cancel, &mut |planned, state| {
            if !self.is_interactive {
                signals::cancel_on_interrupt(state);
            }
            progress = Some(Progress::start(planned.total, state, self.no_progress));
        })?;
        let mut rows = results.statistics().map(|statistics| statistics.rows);
        let mut took = None;
        if let Some(mut writer) = writer {
            let schema = results.schema().clone();
            let batches = results.by_ref().map(|batch| batch.map_err(anyhow::Error::from));
            let written = writers::write_all(&schema, batches, writer.as_mut(), || {
                progress.iter_mut().for_each(Progress::hide_before_output);
            });
            // The time in which the user looks at the result does not count.
            took = Some(start.elapsed());
            rows = match written {
                Ok(rows) => Some(rows),
                // The user of the pager has seen enough of this result, and may want the next one.
                Err(e) if self.is_interactive && is_closed(&e) => return Ok(()),
                Err(e) => return Err(e),
            };
            writer.warning().into_iter().for_each(say::warn);
        }
        drop(progress);
        results.warnings().iter().for_each(say::warn);
        warn(results.skipped());
        let is_plan = matches!(&**statement, Statement::Explain { .. });
        if let Some(rows) = rows.filter(|_| self.timer && !is_plan) {
            say(print::summary(rows, took.unwrap_or_else(|| start.elapsed())));
        }
        Ok(())
    }

    /// The writer of the next result.
    fn writer(&self, statement: &Statement) -> anyhow::Result<Box<dyn ResultWriter>> {
        let (plan, zone) = (before_operators(statement), self.session.settings().time_zone.clone());
        match &self.output {
            Some((path, file)) => {
                let usual = ResultFormat::by_suffix(path).unwrap_or(ResultFormat::Csv);
                Ok(pager::to_file(self.mode.unwrap_or(usual), path, file, plan, &zone)?)
            }
            None if self.is_interactive => {
                Ok(self.pager.writer(self.mode, self.width, self.max_rows, plan, &zone)?)
            }
            None => Ok(print::writer(self.mode, plan, &zone)?),
        }
    }
}

/// Whether the error says that the reader of the output is gone.
fn is_closed(error: &anyhow::Error) -> bool {
    matches!(crate::cause(error), Some(writers::Error::Closed))
}
