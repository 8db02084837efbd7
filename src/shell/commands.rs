//! The commands of the shell: those that begin with a point, and the short ones that users of psql know.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use queries::Kind;
use session::Cancel;
use session::writers::ResultFormat;

use super::Shell;
use super::pager::Pager;
use crate::Usage;
use crate::print;
use crate::signals;

/// The commands: name, short forms, what stands behind it, and what it does.
pub const COMMANDS: &[(&str, &[&str], &str, &str)] = &[
    (".cd", &["\\cd"], "DIRECTORY", "go to a directory; paths begin there"),
    (".help", &["\\?", "\\h"], "", "show this"),
    (".maxrows", &[], "N", "show at most so many rows of a table; auto is as many as fit"),
    (".mode", &[], "FORMAT", "show results as table, csv, json or another; auto is what is usual"),
    (".output", &["\\o"], "[FILE]", "write results to a file; without one show them again"),
    (".pager", &[], "COMMAND", "show long results with a command; off for none, auto for what is usual"),
    (".quit", &[".exit", "\\q"], "", "leave; so does Ctrl-D"),
    (".read", &["\\i"], "FILE", "run the statements and commands of a file"),
    (".schema", &["\\d"], "[NAME]", "show the columns of a table or view, or of all that have a name"),
    (".tables", &["\\dt", "\\dv"], "", "show the names of tables and views"),
    (".timer", &["\\timing"], "on|off", "say how many rows a result has, and how long it took"),
    (".width", &[], "N", "fit tables to so many characters; auto is the terminal's width"),
];

/// Whether a line is a command and no statement.
pub fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    let is_named = |sign| {
        line.strip_prefix(sign).is_some_and(|rest: &str| rest.starts_with(|c: char| !c.is_ascii_digit()))
    };
    is_named('.') || is_named('\\')
}

impl Shell {
    /// Runs a command; tells whether the shell goes on.
    pub(super) fn command(&mut self, line: &str) -> anyhow::Result<ControlFlow<()>> {
        // What waits for a pipe ends with palais, at the second interrupt.
        let cancel = Cancel::default();
        let _running = signals::running(&cancel);
        // A semicolon at the end is a habit.
        let line = line.trim_end_matches(';').trim();
        let (word, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = unquoted(argument.trim());
        let is_it = |name: &str, short: &[&str]| name.eq_ignore_ascii_case(word) || short.contains(&word);
        let Some((name, ..)) = COMMANDS.iter().find(|(name, short, ..)| is_it(name, short)) else {
            return Err(
                Usage(format!("there is no command {word}\n  help: .help shows those there are")).into()
            );
        };
        match (*name, argument) {
            (".quit", "") => return Ok(ControlFlow::Break(())),
            (".help", "") => print::text(&help())?,
            (".tables", "") => self.statements("SHOW TABLES")?,
            (".schema", "") => {
                for table in self.session.table_names()? {
                    self.schema(&table, &cancel)?;
                }
            }
            (".schema", table) => self.schema(table, &cancel)?,
            (".read", file) if !file.is_empty() => return self.read(Path::new(file)),
            (".cd", directory) if !directory.is_empty() => std::env::set_current_dir(directory)
                .map_err(|e| formats::Error::io(Path::new(directory), "enter", e))?,
            (".mode", format) => self.mode = chosen(name, format, ResultFormat::named)?,
            (".timer", "on") => self.timer = true,
            (".timer", "off") => self.timer = false,
            (".width", number) => self.width = chosen(name, number, count)?,
            (".maxrows", number) => self.max_rows = chosen(name, number, count)?,
            (".output", file) => self.output = (!file.is_empty()).then(|| self.create(file)).transpose()?,
            (".pager", "off") => self.pager.command = None,
            (".pager", "auto") => self.pager = Pager::usual(),
            (".pager", command) if !command.is_empty() => self.pager.command = Some(command.into()),
            (name, argument) => return Err(wrong(name, argument)),
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Shows the columns of a table, or of what lies at a path.
    fn schema(&mut self, table: &str, cancel: &Cancel) -> anyhow::Result<()> {
        let quoted = schema::text::types::quoted(table);
        let all = self.session.prepare(&format!("SELECT * FROM {quoted}"))?;
        let columns = all.schema_until(cancel)?;
        let text = match self.session.kind(table) {
            Some(Kind::View) => {
                let names: Vec<_> = columns.fields().iter().map(|field| field.name().as_str()).collect();
                format!("CREATE VIEW {quoted} ({});\n", names.join(", "))
            }
            _ => schema::text::ddl::print(table, &columns)?,
        };
        Ok(print::text(&text)?)
    }

    /// Makes a file for results. One that is there is replaced only where COPY would do that.
    fn create(&self, file: &str) -> anyhow::Result<(PathBuf, File)> {
        let path = PathBuf::from(file);
        let mut options = File::options();
        match self.session.settings().overwrite {
            true => options.write(true).create(true).truncate(true),
            false => options.write(true).create_new(true),
        };
        let made = options.open(&path).map_err(|e| formats::Error::io(&path, "create", e))?;
        Ok((path, made))
    }
}

/// A choice, or none with `auto`.
fn chosen<T>(command: &str, text: &str, read: impl Fn(&str) -> Option<T>) -> anyhow::Result<Option<T>> {
    if text == "auto" {
        return Ok(None);
    }
    read(text).map(Some).ok_or_else(|| wrong(command, text))
}

fn count(text: &str) -> Option<usize> {
    text.parse().ok().filter(|count| *count > 0)
}

fn wrong(command: &str, argument: &str) -> anyhow::Error {
    let takes = COMMANDS.iter().find(|(name, ..)| *name == command).map_or("", |(_, _, takes, _)| takes);
    let takes = if takes.is_empty() { "nothing" } else { takes };
    let given = if argument.is_empty() { "nothing".into() } else { format!("'{argument}'") };
    let formats: Vec<_> = ResultFormat::all().into_iter().map(|(format, _)| format.name()).collect();
    let formats = formats.join(", ");
    let help =
        if command == ".mode" { format!("\n  help: there are auto, {formats}") } else { String::new() };
    Usage(format!("{command} takes {takes}, and was given {given}{help}")).into()
}

/// A text without quotes around it.
fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    within('\'').or_else(|| within('"')).unwrap_or(text)
}

fn help() -> String {
    let mut text =
        String::from("A statement ends with a semicolon, and may take several lines. Commands take one:\n");
    for (name, short, takes, what) in COMMANDS {
        let left = format!("{name} {takes}");
        let short = if short.is_empty() { String::new() } else { format!(" ({})", short.join(", ")) };
        text.push_str(&format!("  {left:<18} {what}{short}\n"));
    }
    text.push_str(
        "Tab completes words, columns, functions and paths in quotes; Ctrl-R searches what was typed;\n\
         Ctrl-C cancels a query, and empties a line.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_statements() {
        for (line, expected) in [
            (".tables", true),
            ("  \\d t", true),
            (".5 + 1;", false),
            ("SELECT 1", false),
            (".", false),
            ("", false),
        ] {
            assert_eq!(is_command(line), expected, "{line}");
        }
        assert_eq!((unquoted("'a b'"), unquoted("\"a\""), unquoted("a'")), ("a b", "a", "a'"));
    }

    #[test]
    fn help_fits_a_terminal() {
        let longest = help().lines().map(str::len).max();
        assert!(longest.is_some_and(|length| length <= 100), "{longest:?}");
    }
}
