//! `json_each` and `json_tree`: the values in JSON as rows. Each column is a list of its own, of the same length as the
//! others, so that those that nobody reads are not made.

use std::sync::Arc;

use arrow_array::builder::{StringViewBuilder, UInt64Builder};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};

use super::path::Path;
use super::reads::{Lists, Paths, texts, type_name};
use super::tape::Tape;
use super::writer::normal;
use crate::functions::own::arguments::Call;

/// The most bytes that the paths of a batch have.
const MOST_BYTES: usize = 1 << 30;

/// A column of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The key of a member of an object, or the place of an item of an array.
    Key,
    /// The value, as JSON.
    Value,
    /// The name of its type.
    Type,
    /// The value, if it is neither an array nor an object nor `null`.
    Atom,
    /// The number of the value in the text, keys counted too.
    Id,
    /// The number of the container that it is in; only `json_tree` gives it.
    Parent,
    /// The path of the value.
    FullKey,
    /// The path of the container that it is in.
    Path,
}

impl Part {
    /// All of them with the names of their columns.
    pub const ALL: [(&'static str, Part); 8] = [
        ("key", Part::Key),
        ("value", Part::Value),
        ("type", Part::Type),
        ("atom", Part::Atom),
        ("id", Part::Id),
        ("parent", Part::Parent),
        ("fullkey", Part::FullKey),
        ("path", Part::Path),
    ];

    /// The type of the column.
    pub fn gives(self) -> DataType {
        match self {
            Part::Id | Part::Parent => DataType::UInt64,
            _ => DataType::Utf8View,
        }
    }

    /// The name of the function of the column, which no text can have.
    pub fn function(self, is_tree: bool) -> &'static str {
        match (self, is_tree) {
            (Part::Key, false) => "json_each key",
            (Part::Value, false) => "json_each value",
            (Part::Type, false) => "json_each type",
            (Part::Atom, false) => "json_each atom",
            (Part::Id, false) => "json_each id",
            (Part::Parent, false) => "json_each parent",
            (Part::FullKey, false) => "json_each fullkey",
            (Part::Path, false) => "json_each path",
            (Part::Key, true) => "json_tree key",
            (Part::Value, true) => "json_tree value",
            (Part::Type, true) => "json_tree type",
            (Part::Atom, true) => "json_tree atom",
            (Part::Id, true) => "json_tree id",
            (Part::Parent, true) => "json_tree parent",
            (Part::FullKey, true) => "json_tree fullkey",
            (Part::Path, true) => "json_tree path",
        }
    }

    /// Whether it has JSON.
    pub fn is_json(self) -> bool {
        matches!(self, Part::Value | Part::Atom)
    }
}

/// The values of a column.
enum Column {
    Texts(StringViewBuilder),
    Numbers(UInt64Builder),
}

/// The column of the rows that each text of a batch has. The text of a path may be the second argument.
pub fn rows(call: &Call, part: Part, is_tree: bool) -> Result<ArrayRef> {
    let (source, one) = texts(call, 0)?;
    let mut paths = if call.given() > 1 { Some(Paths::of(call, 1)?) } else { None };
    let column = match part.gives() {
        DataType::UInt64 => Column::Numbers(UInt64Builder::new()),
        _ => Column::Texts(StringViewBuilder::new()),
    };
    let mut rows =
        Rows { part, is_tree, column, path: String::new(), made: String::new(), bytes: 0, rows: 0 };
    let mut lists = Lists::default();
    for row in 0..call.rows {
        let from = if one { 0 } else { row };
        let begin = match &paths {
            Some(paths) => paths.text(row),
            None => Some("$"),
        };
        let (Some(begin), true) = (begin, source.is_valid(from)) else {
            lists.end(rows.rows, false);
            continue;
        };
        let begin = begin_of(begin)?;
        let text = source.value(from);
        let tape = Tape::of(text).map_err(|wrong| wrong.error(text))?;
        let root = match paths.as_mut().map(|paths| paths.get(row)).transpose()?.flatten() {
            Some(path) => path.all(&tape)?.first().copied(),
            None => Path::of("$")?.all(&tape)?.first().copied(),
        };
        if let Some(root) = root {
            rows.path.clone_from(&begin);
            rows.add(&tape, root)?;
        }
        lists.end(rows.rows, true);
    }
    let values: ArrayRef = match rows.column {
        Column::Texts(mut texts) => Arc::new(texts.finish()),
        Column::Numbers(mut numbers) => Arc::new(numbers.finish()),
    };
    lists.finish(values)
}

/// The path from which the paths of rows begin.
fn begin_of(path: &str) -> Result<String> {
    match path.as_bytes() {
        [b'$', ..] => Ok(path.to_string()),
        [] | [b'/', ..] => {
            exec_err!("a path of json_each() and json_tree() begins with $, and '{path}' does not")
        }
        _ if path.contains('"') => {
            exec_err!("a path of json_each() and json_tree() begins with $, and '{path}' does not")
        }
        _ => Ok(format!("$.\"{path}\"")),
    }
}

struct Rows {
    part: Part,
    is_tree: bool,
    column: Column,
    /// The path of the container at hand.
    path: String,
    made: String,
    /// Those of the paths so far.
    bytes: usize,
    rows: usize,
}

/// A container whose members are being added.
struct Open {
    value: usize,
    /// How long its path is.
    path: usize,
    /// The numbers of its members that come next.
    members: Vec<(Option<usize>, usize)>,
    /// How many have been added.
    added: usize,
}

impl Rows {
    /// Adds the rows of a value: itself, if it is no container or a tree is wanted, and its members.
    fn add(&mut self, tape: &Tape<'_>, root: usize) -> Result<()> {
        let opened = |value: usize, path: usize| {
            let mut members: Vec<_> = tape.members(value).collect();
            members.reverse();
            Open { value, path, members, added: 0 }
        };
        let is_container = tape.kind(root).is_container();
        if self.is_tree || !is_container {
            self.row(tape, root, None, "", None)?;
        }
        let mut open = Vec::new();
        if is_container {
            open.push(opened(root, self.path.len()));
        }
        let mut name = String::new();
        while let Some(container) = open.last_mut() {
            self.path.truncate(container.path);
            let Some((key, value)) = container.members.pop() else {
                open.pop();
                continue;
            };
            name.clear();
            let shown = match key {
                Some(key) => {
                    let key = tape.key(key);
                    field_of(&key, &mut name);
                    key.into_owned()
                }
                None => {
                    let place = container.added.to_string();
                    name.extend(["[", &place, "]"]);
                    place
                }
            };
            container.added += 1;
            let parent = container.value;
            self.row(tape, value, Some(&shown), &name, Some(parent))?;
            if self.is_tree && tape.kind(value).is_container() {
                self.path.push_str(&name);
                open.push(opened(value, self.path.len()));
            }
        }
        Ok(())
    }

    /// Adds a row: a value with its key, what its path has behind that of its container, and that container.
    fn row(
        &mut self,
        tape: &Tape<'_>,
        value: usize,
        key: Option<&str>,
        name: &str,
        parent: Option<usize>,
    ) -> Result<()> {
        self.rows += 1;
        let texts = match &mut self.column {
            Column::Numbers(numbers) => {
                match self.part {
                    Part::Id => numbers.append_value(value as u64),
                    _ => numbers.append_option(parent.filter(|_| self.is_tree).map(|parent| parent as u64)),
                }
                return Ok(());
            }
            Column::Texts(texts) => texts,
        };
        match self.part {
            Part::Key => texts.append_option(key),
            Part::Type => texts.append_value(type_name(tape.text(value))),
            Part::Atom if tape.kind(value).is_container() || tape.text(value) == "null" => {
                texts.append_null()
            }
            Part::Value | Part::Atom => {
                self.made.clear();
                normal(tape.text(value), &mut self.made);
                texts.try_append_value(&self.made)?;
            }
            _ => {
                let behind = if self.part == Part::FullKey { name } else { "" };
                self.bytes += self.path.len() + behind.len();
                if self.bytes > MOST_BYTES {
                    return exec_err!(
                        "the paths of json_each() or json_tree() have more than {MOST_BYTES} bytes"
                    );
                }
                self.made.clear();
                self.made.extend([self.path.as_str(), behind]);
                texts.try_append_value(&self.made)?;
            }
        }
        Ok(())
    }
}

/// Adds a key as a path has it, in quotes if it is no word.
fn field_of(key: &str, out: &mut String) {
    out.push('.');
    let is_word = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_word {
        return out.push_str(key);
    }
    out.push('"');
    for c in key.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}
