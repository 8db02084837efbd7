//! What Tab offers, when a statement is whole, and colours.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use queries::functions::Functions;
use queries::tokens::{KEYWORDS, TokenKind, Tokens, is_whole};
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Result};
use session::writers::ResultFormat;
use session::{Cancel, Session};

use super::commands::{COMMANDS, is_command};

/// How long it may take to find out the columns of a table while somebody types.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 60_000 } else { 300 });

/// A statement that names no table yet is offered the columns of so many.
const MOST_TABLES: usize = 20;

/// The most paths that are offered: the editor counts them in 16 bits.
const MOST_PATHS: usize = 10_000;

/// A longer text gets no colours: it is taken apart at each key.
const COLOURED_BYTES: usize = 20_000;

/// What the editor asks about a statement that is typed.
pub struct Helper {
    session: Arc<Session>,
    /// The columns of tables, those that can't be told too.
    columns: RefCell<BTreeMap<String, Vec<String>>>,
}

impl Helper {
    /// For the statements of a session.
    pub fn new(session: Arc<Session>) -> Helper {
        Helper { session, columns: RefCell::default() }
    }

    /// Forgets the columns of tables: a statement may have changed them.
    pub fn forget_columns(&mut self) {
        self.columns.get_mut().clear();
    }

    /// The columns of a table or of what lies at a path; none if that takes too long.
    fn columns_of(&self, table: &str) -> Vec<String> {
        if let Some(known) = self.columns.borrow().get(table) {
            return known.clone();
        }
        let sql = format!("SELECT * FROM {}", schema::text::types::quoted(table));
        let cancel = Cancel::default();
        let schema = std::thread::scope(|scope| {
            let (done, waiting) = std::sync::mpsc::channel::<()>();
            let stop = cancel.clone();
            scope.spawn(move || {
                if waiting.recv_timeout(PATIENCE).is_err() {
                    stop.cancel();
                }
            });
            let schema = self.session.prepare(&sql).and_then(|all| all.schema_until(&cancel));
            let _ = done.send(());
            schema
        });
        let names = schema.map(|schema| schema.fields().iter().map(|f| f.name().clone()).collect());
        let names: Vec<String> = names.unwrap_or_default();
        self.columns.borrow_mut().insert(table.into(), names.clone());
        names
    }

    /// The tables and files that a statement names; those of the session, if it names none.
    fn tables_in(&self, line: &str) -> Vec<String> {
        let known = self.session.table_names().unwrap_or_default();
        let tokens = Tokens::of(line).tokens;
        let mut tables = Vec::new();
        for (i, (kind, range)) in tokens.iter().enumerate() {
            let word = line[range.clone()].trim_matches(['"', '\'']);
            let is_behind_from = i > 0 && {
                let before = &line[tokens[i - 1].1.clone()];
                ["FROM", "JOIN", ","].iter().any(|word| before.eq_ignore_ascii_case(word))
            };
            let is_table = match kind {
                TokenKind::Name => known.iter().any(|name| name.eq_ignore_ascii_case(word)),
                TokenKind::Text => is_behind_from && is_looked_at(word),
                _ => false,
            };
            if is_table {
                tables.push(word.to_string());
            }
        }
        if tables.is_empty() {
            // FROM is still to come.
            tables = known.into_iter().take(MOST_TABLES).collect();
        }
        tables
    }

    /// Words that may stand where one begins so, those of this statement first.
    fn words(&self, line: &str, prefix: &str) -> Vec<String> {
        let begins = |word: &String| starts_with(word, prefix) && !prefix.is_empty();
        let columns = self.tables_in(line).into_iter().flat_map(|table| self.columns_of(&table));
        let mut words: Vec<String> =
            columns.map(|name| schema::text::types::quoted(&name)).filter(begins).collect();
        words.extend(self.session.table_names().unwrap_or_default().into_iter().filter(begins));
        let is_lower = prefix.chars().all(|c| !c.is_uppercase());
        let keyword = |word: &&str| if is_lower { word.to_lowercase() } else { word.to_string() };
        words.extend(KEYWORDS.iter().map(keyword).filter(begins));
        let functions = Functions::all();
        let mut names = [functions.scalar_names(), functions.aggregate_names()].concat();
        names.sort();
        words.extend(names.into_iter().filter(begins).map(|name| name + "("));
        let mut seen = std::collections::BTreeSet::new();
        words.retain(|word| seen.insert(word.clone()));
        words
    }
}

/// Whether a path may be opened while somebody types: what is read from a pipe is gone.
fn is_looked_at(path: &str) -> bool {
    path != "-" && std::fs::metadata(path).map_or(true, |there| there.is_file() || there.is_dir())
}

fn starts_with(word: &str, prefix: &str) -> bool {
    let word = word.trim_start_matches('"');
    word.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
}

fn pair(word: String) -> Pair {
    Pair { display: word.clone(), replacement: word }
}

/// Paths that begin so, each as the part behind the last slash, and where that part begins in `path`.
fn paths(path: &str) -> (usize, Vec<Pair>) {
    let begin = path.rfind('/').map_or(0, |at| at + 1);
    let (directory, prefix) = path.split_at(begin);
    let directory = if directory.is_empty() { Path::new(".") } else { Path::new(directory) };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_hidden = name.starts_with('.') && !prefix.starts_with('.');
            let is_directory = entry.path().is_dir();
            (name.starts_with(prefix) && !is_hidden).then(|| name + if is_directory { "/" } else { "" })
        })
        .collect();
    names.sort();
    names.truncate(MOST_PATHS);
    (begin, names.into_iter().map(pair).collect())
}

impl Completer for Helper {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> Result<(usize, Vec<Pair>)> {
        let before = &line[..pos];
        if is_command(before) || before.trim() == "." {
            return Ok(command(before, &self.session));
        }
        // Within quotes stands a path.
        if let Some(open) = Tokens::of(before).open
            && before[open..].starts_with(['\'', '"'])
        {
            let (begin, found) = paths(&before[open + 1..]);
            return Ok((open + 1 + begin, found));
        }
        let word = before
            .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
            .map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
        let (head, prefix) = before.split_at(word);
        let found = match head.strip_suffix('.') {
            // Behind a point stands a column of one table, of which an alias tells nothing.
            Some(_) => {
                let columns = self.tables_in(line).into_iter().flat_map(|table| self.columns_of(&table));
                columns
                    .filter(|name| starts_with(name, prefix))
                    .map(|name| schema::text::types::quoted(&name))
                    .collect()
            }
            None => self.words(line, prefix),
        };
        Ok((word, found.into_iter().map(pair).collect()))
    }
}

/// Completes a command, or what stands behind it.
fn command(before: &str, session: &Session) -> (usize, Vec<Pair>) {
    let indent = before.len() - before.trim_start().len();
    let Some((word, argument)) = before[indent..].split_once(char::is_whitespace) else {
        let names =
            COMMANDS.iter().map(|(name, ..)| *name).filter(|name| name.starts_with(&before[indent..]));
        return (indent, names.map(|name| pair(name.into())).collect());
    };
    let begin = before.len() - argument.len();
    let of = |words: Vec<String>| {
        let words = words.into_iter().filter(|word| word.starts_with(argument));
        (begin, words.map(pair).collect())
    };
    match word {
        ".read" | ".output" | ".cd" | "\\i" | "\\o" | "\\cd" => {
            let (at, found) = paths(argument);
            (begin + at, found)
        }
        ".mode" => of(ResultFormat::all().into_iter().map(|(format, _)| format.name().to_string()).collect()),
        ".schema" | "\\d" => of(session.table_names().unwrap_or_default()),
        ".timer" => of(vec!["on".into(), "off".into()]),
        _ => (begin, Vec::new()),
    }
}

impl rustyline::Helper for Helper {}

impl Hinter for Helper {
    type Hint = String;
}

impl Validator for Helper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> Result<ValidationResult> {
        let text = context.input();
        Ok(match is_command(text) || is_whole(text) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Highlighter for Helper {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if line.len() > COLOURED_BYTES || is_command(line) {
            return Cow::Borrowed(line);
        }
        Cow::Owned(coloured(line))
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(format!("\x1b[1m{prompt}\x1b[0m"))
    }
}

/// The text with colours, which are of no width.
fn coloured(line: &str) -> String {
    let Tokens { tokens, open, .. } = Tokens::of(line);
    let mut out = String::with_capacity(line.len() * 2);
    let mut done = 0;
    let mut push = |range: Range<usize>, colour: &str| {
        out.push_str(&line[done..range.start]);
        match colour.is_empty() {
            true => out.push_str(&line[range.clone()]),
            false => out.push_str(&format!("\x1b[{colour}m{}\x1b[0m", &line[range.clone()])),
        }
        done = range.end;
    };
    for (kind, range) in tokens {
        let colour = match kind {
            TokenKind::Keyword => "1;34",
            TokenKind::Text => "32",
            TokenKind::Number => "36",
            TokenKind::Comment => "2",
            TokenKind::Name | TokenKind::Semicolon | TokenKind::Sign => "",
        };
        push(range, colour);
    }
    if let Some(open) = open {
        push(open..line.len(), "32");
    }
    push(line.len()..line.len(), "");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustyline::history::DefaultHistory;
    use session::Settings;

    fn helper() -> Helper {
        let session = Session::new(Settings::default());
        session
            .execute("CREATE TEMP TABLE visits AS SELECT 1 AS page, 2 AS \"page no\", 3 AS seconds")
            .unwrap();
        Helper::new(Arc::new(session))
    }

    /// What is offered at the bar, and the text that it replaces.
    fn offered(helper: &Helper, text: &str) -> (String, Vec<String>) {
        let (pos, line) = (text.find('|').expect("there is a bar"), text.replace('|', ""));
        let history = DefaultHistory::new();
        let (begin, pairs) = helper.complete(&line, pos, &Context::new(&history)).unwrap();
        (line[begin..pos].to_string(), pairs.into_iter().map(|pair| pair.replacement).collect())
    }

    #[test]
    fn words_columns_tables_and_commands_are_offered() {
        let helper = helper();
        let of = |text: &str| offered(&helper, text);
        assert_eq!(of("sel|"), ("sel".into(), vec!["select".to_string()]));
        assert_eq!(of("SUMM|"), ("SUMM".into(), vec!["SUMMARIZE".to_string()]));
        assert_eq!(of("SELECT 1 FROM vis|").1, ["visits"]);
        assert_eq!(of("SELECT pag| FROM visits").1, ["page", "\"page no\""]);
        assert_eq!(of("SELECT max(secon|").1[0], "seconds");
        assert_eq!(of("SELECT v.sec| FROM visits v").1, ["seconds"]);
        assert!(of("SELECT regexp_m|").1.contains(&"regexp_match(".to_string()));
        assert_eq!(of("SELECT |").1, [""; 0]);
        assert_eq!(of(".sch|").1, [".schema"]);
        assert_eq!(of(".mode json|").1, ["json", "jsonl"]);
        assert_eq!(of(".schema v|").1, ["visits"]);
    }

    #[test]
    fn paths_are_offered_within_quotes() {
        let home = tempfile::tempdir().unwrap();
        for name in ["a.csv", "b.csv", ".hidden"] {
            std::fs::write(home.path().join(name), "n\n1\n").unwrap();
        }
        std::fs::create_dir(home.path().join("bare")).unwrap();
        let helper = helper();
        let at = |name: &str| offered(&helper, &format!("SELECT * FROM '{}/{name}|", home.path().display()));
        assert_eq!(at("b"), ("b".into(), vec!["b.csv".to_string(), "bare/".to_string()]));
        assert_eq!(at("").1.len(), 3);
        let columns = format!("SELECT n| FROM '{}/a.csv'", home.path().display());
        assert_eq!(offered(&helper, &columns).1[0], "n");
    }

    #[test]
    fn colours_change_no_character() {
        for text in ["SELECT 'größe', 1.5 -- x\nFROM t;", "SELECT 'a", "", "  ", "SELECT \"a /* */"] {
            let mut parts = coloured(text);
            for colour in ["1;34", "32", "36", "2", "0"] {
                parts = parts.replace(&format!("\x1b[{colour}m"), "");
            }
            assert_eq!(parts, text);
        }
        assert!(coloured("select 1").starts_with("\x1b[1;34mselect\x1b[0m "));
    }
}
