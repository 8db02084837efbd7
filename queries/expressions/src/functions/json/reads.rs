//! What is asked of JSON, or of what a path leads to in it: `json_extract` and the like.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, BooleanBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, ListArray, StringViewArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_cast::cast;
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};

use super::path::Path;
use super::reader::{Kind, Member, Quoted, Read, Reader};
use super::tape::Tape;
use super::views::Views;
use super::writer::{is_integer, is_normal, normal, unescaped};
use crate::functions::lists::list_of;
use crate::functions::own::arguments::Call;

/// What is asked of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asks {
    /// The value, as JSON.
    Json,
    /// The text of a string; of anything else its JSON, and of `null` NULL.
    Text,
    /// The value as JSON, if it is neither an array nor an object nor `null`.
    Scalar,
    /// Whether it is there.
    Exists,
    /// The name of its type.
    Type,
    /// The keys of an object; of anything else there are none.
    Keys,
    /// The number of items of an array; anything else has none.
    Length,
}

impl Asks {
    /// The type of an answer.
    pub fn gives(self) -> DataType {
        match self {
            Asks::Json | Asks::Text | Asks::Scalar | Asks::Type => DataType::Utf8View,
            Asks::Exists => DataType::Boolean,
            Asks::Keys => list_of(&DataType::Utf8View),
            Asks::Length => DataType::UInt64,
        }
    }
}

/// Of which value it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// Of the whole text.
    Whole,
    /// Of the one that a path leads to.
    At(Path),
    /// Of those that several paths lead to: a list.
    Each(Vec<Path>),
    /// Of all that a path with wildcards leads to: a list.
    All(Path),
    /// Of the one that the path in the second argument leads to, which is a text, or the place of an item.
    Column,
}

impl Target {
    /// Whether there is a list of answers.
    pub fn gives_list(&self) -> bool {
        matches!(self, Target::Each(_) | Target::All(_))
    }
}

/// The texts of an argument.
pub fn texts(call: &Call, at: usize) -> Result<(StringViewArray, bool)> {
    let (array, one) = call.array(at)?;
    let array =
        if array.data_type() == &DataType::Utf8View { array } else { cast(&array, &DataType::Utf8View)? };
    Ok((array.as_string_view().clone(), one))
}

/// The answers for the rows of a batch.
pub fn read(call: &Call, asks: Asks, place: &Target) -> Result<ArrayRef> {
    let (source, one) = texts(call, 0)?;
    let of = |row: usize| if one { 0 } else { row };
    let mut answers = Answers::new(asks, &source, call.rows);
    let mut lists = Lists::default();
    let mut paths = if *place == Target::Column { Some(Paths::of(call, 1)?) } else { None };
    for row in 0..call.rows {
        let from = of(row);
        let is_list = place.gives_list();
        if source.is_null(from) {
            if is_list {
                lists.end(answers.len(), false)
            } else {
                answers.add(from, None)?
            };
            continue;
        }
        let text = source.value(from);
        let find = |path: &Path| path.find(text).map_err(|wrong| wrong.error(text));
        match place {
            Target::Whole => {
                answers.add(from, Some(Reader::whole(text).map_err(|wrong| wrong.error(text))?))?
            }
            Target::At(path) => answers.add(from, find(path)?)?,
            Target::Each(paths) => {
                for path in paths {
                    answers.add(from, find(path)?)?;
                }
            }
            Target::All(path) => {
                let tape = Tape::of(text).map_err(|wrong| wrong.error(text))?;
                for value in path.all(&tape)? {
                    answers.add(from, Some(tape.range(value)))?;
                }
            }
            Target::Column => match paths.as_mut().map(|paths| paths.get(row)).transpose()?.flatten() {
                Some(path) => answers.add(from, find(path)?)?,
                None => answers.add(from, None)?,
            },
        }
        if is_list {
            lists.end(answers.len(), true);
        }
    }
    let values = answers.finish()?;
    if place.gives_list() { lists.finish(values) } else { Ok(values) }
}

/// Lists that are made one after another.
#[derive(Default)]
pub struct Lists {
    lengths: Vec<usize>,
    valid: Vec<bool>,
    before: usize,
}

impl Lists {
    /// Ends a list, where there are so many items in all.
    pub fn end(&mut self, items: usize, is_list: bool) {
        self.lengths.push(items - self.before);
        self.valid.push(is_list);
        self.before = items;
    }

    /// The lists of these items.
    pub fn finish(self, items: ArrayRef) -> Result<ArrayRef> {
        if i32::try_from(items.len()).is_err() {
            return exec_err!("the lists of a batch have more than 2^31 items");
        }
        let mut nulls = NullBufferBuilder::new(self.valid.len());
        self.valid.iter().for_each(|valid| nulls.append(*valid));
        let DataType::List(field) = list_of(items.data_type()) else { return exec_err!("no list of items") };
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        Ok(Arc::new(ListArray::try_new(field, offsets, items, nulls.finish())?))
    }
}

/// The paths of a column: that of the row before is kept.
pub struct Paths {
    texts: Option<StringViewArray>,
    places: Option<ArrayRef>,
    one: bool,
    last: Option<(String, Path)>,
}

impl Paths {
    /// Of an argument.
    pub fn of(call: &Call, at: usize) -> Result<Paths> {
        let (array, one) = call.array(at)?;
        Ok(match array.data_type() {
            t if t.is_integer() => {
                Paths { texts: None, places: Some(cast(&array, &DataType::Int64)?), one, last: None }
            }
            _ => {
                let texts = cast(&array, &DataType::Utf8View)?.as_string_view().clone();
                Paths { texts: Some(texts), places: None, one, last: None }
            }
        })
    }

    /// The path of a row, if it is not NULL.
    ///
    /// # Errors
    /// It is none, or has wildcards.
    pub fn get(&mut self, row: usize) -> Result<Option<&Path>> {
        let row = if self.one { 0 } else { row };
        if let Some(places) = &self.places {
            let places = places.as_primitive::<Int64Type>();
            if places.is_null(row) {
                return Ok(None);
            }
            return Ok(Some(&self.last.insert((String::new(), Path::item(places.value(row)))).1));
        }
        let Some(text) = self.text(row) else { return Ok(None) };
        if self.last.as_ref().is_none_or(|(last, _)| last != text) {
            let path = Path::of(text)?;
            if path.is_wild() {
                return exec_err!(
                    "the JSON path '{text}' has a wildcard, which a path may have that is constant"
                );
            }
            self.last = Some((text.to_string(), path));
        }
        Ok(self.last.as_ref().map(|(_, path)| path))
    }

    /// The text of the path of a row.
    pub fn text(&self, row: usize) -> Option<&str> {
        let row = if self.one { 0 } else { row };
        let texts = self.texts.as_ref()?;
        texts.is_valid(row).then(|| texts.value(row))
    }
}

/// Answers, one behind the other.
enum Column<'a> {
    Texts(Views<'a>),
    Conditions(BooleanBuilder),
    Counts(UInt64Builder),
    Lists(Views<'a>, Lists),
}

struct Answers<'a> {
    asks: Asks,
    source: &'a StringViewArray,
    column: Column<'a>,
    /// A text that is made.
    made: String,
}

impl<'a> Answers<'a> {
    fn new(asks: Asks, source: &'a StringViewArray, rows: usize) -> Answers<'a> {
        let column = match asks {
            Asks::Json | Asks::Text | Asks::Scalar | Asks::Type => Column::Texts(Views::new(source, rows)),
            Asks::Exists => Column::Conditions(BooleanBuilder::with_capacity(rows)),
            Asks::Length => Column::Counts(UInt64Builder::with_capacity(rows)),
            Asks::Keys => Column::Lists(Views::new(source, rows), Lists::default()),
        };
        Answers { asks, source, column, made: String::new() }
    }

    fn len(&self) -> usize {
        match &self.column {
            Column::Texts(views) => views.len(),
            Column::Conditions(conditions) => conditions.len(),
            Column::Counts(counts) => counts.len(),
            Column::Lists(_, lists) => lists.valid.len(),
        }
    }

    /// Adds the answer for a value of a row, or for none.
    #[inline]
    fn add(&mut self, row: usize, value: Option<Range<usize>>) -> Result<()> {
        let is_null_row = self.source.is_null(row);
        let Answers { asks, source, column, made } = self;
        let Some(range) = value else {
            match column {
                Column::Texts(views) => views.null(),
                Column::Conditions(conditions) => conditions.append_option((!is_null_row).then_some(false)),
                Column::Counts(counts) => counts.append_null(),
                Column::Lists(keys, lists) => lists.end(keys.len(), false),
            }
            return Ok(());
        };
        let text = source.value(row);
        let value = &text[range.clone()];
        match column {
            Column::Texts(views) => {
                let kind = Kind::of(value.as_bytes());
                match (*asks, kind) {
                    (Asks::Type, _) => views.text(type_name(value)),
                    (Asks::Text | Asks::Scalar, Kind::Null) => views.null(),
                    (Asks::Scalar, Kind::Array | Kind::Object) => views.null(),
                    (Asks::Text, Kind::String) => {
                        let inside = range.start + 1..range.end - 1;
                        match memchr::memchr(b'\\', value.as_bytes()) {
                            None => views.part(row, inside),
                            Some(_) => {
                                made.clear();
                                unescaped(&text[inside], made);
                                views.text(made);
                            }
                        }
                    }
                    _ if is_normal(value) => views.part(row, range),
                    _ => {
                        made.clear();
                        normal(value, made);
                        views.text(made);
                    }
                }
            }
            Column::Conditions(conditions) => conditions.append_value(true),
            Column::Counts(counts) => counts.append_value(items(value).map_err(|wrong| wrong.error(value))?),
            Column::Lists(keys, lists) => {
                let found = each_key(value, |key| match key.is_escaped {
                    true => {
                        made.clear();
                        unescaped(&value[key.begin..key.end], made);
                        keys.text(made);
                    }
                    false => keys.part(row, range.start + key.begin..range.start + key.end),
                });
                found.map_err(|wrong| wrong.error(value))?;
                lists.end(keys.len(), true);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<ArrayRef> {
        Ok(match self.column {
            Column::Texts(views) => views.finish(),
            Column::Conditions(mut conditions) => Arc::new(conditions.finish()),
            Column::Counts(mut counts) => Arc::new(counts.finish()),
            Column::Lists(keys, lists) => lists.finish(keys.finish())?,
        })
    }
}

/// Gives each key of an object; anything else has none.
fn each_key(value: &str, mut each: impl FnMut(Quoted)) -> Read<()> {
    let mut reader = Reader::new(value)?;
    if !reader.is_at_object() || !reader.enter(true)? {
        return Ok(());
    }
    let mut first = true;
    while let Member::Field(key) = reader.member(first)? {
        each(key);
        reader.value()?;
        first = false;
    }
    Ok(())
}

/// The number of items of an array; anything else has none.
fn items(value: &str) -> Read<u64> {
    let mut reader = Reader::new(value)?;
    let mut items = 0;
    if Kind::of(value.as_bytes()) == Kind::Array && reader.enter(false)? {
        while reader.member(items == 0)? == Member::Item {
            reader.value()?;
            items += 1;
        }
    }
    Ok(items)
}

/// The name of the type of a value, as DuckDB has it.
pub fn type_name(value: &str) -> &'static str {
    match Kind::of(value.as_bytes()) {
        Kind::Null => "NULL",
        Kind::Boolean => "BOOLEAN",
        Kind::String => "VARCHAR",
        Kind::Array => "ARRAY",
        Kind::Object => "OBJECT",
        Kind::Number if !is_integer(value) => "DOUBLE",
        Kind::Number if value.starts_with('-') => match value.parse::<i64>() {
            Ok(_) => "BIGINT",
            Err(_) => "DOUBLE",
        },
        Kind::Number => match value.parse::<u64>() {
            Ok(_) => "UBIGINT",
            Err(_) => "DOUBLE",
        },
    }
}
