//! Files whose rows lie in one array: what `msgpack.packb(rows)` and `cbor2.dumps(rows)` make of a list of rows.
//!
//! Such a file is one value, and a file of rows one after another is many. The two begin alike where a row is an array
//! of arrays or maps. A file is taken for one array of rows if that array is alone in it, as far as its first
//! [`LOOKED_AT`] bytes tell. Its elements, at least two, must all be maps, or all arrays of one length. Where a schema
//! is given that goes with one row of such values, it is one row.
//!
//! An element is given out once it is seen what stands behind it. So an array that was cut short is noticed wherever
//! the cut is.

use arrow_schema::{DataType, Schema};

use super::walk::{Item, Values, column};
use super::{Container, Tagged};
use crate::rows::walk::Wrong;

/// So many bytes of a file are looked at to tell how its rows lie.
pub const LOOKED_AT: usize = 64 << 10;

/// How the rows of a file lie, as far as its first bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One after another.
    Rows,
    /// In one array, of so many elements if it tells.
    Array(Option<u64>),
    /// More bytes are needed to tell.
    Short,
}

/// How the rows of a file lie that begins with these bytes; with `whole` it ends with them.
pub fn layout<T: Tagged>(tagged: T, bytes: &[u8], whole: bool) -> Layout {
    let short = if whole || bytes.len() >= LOOKED_AT { Layout::Rows } else { Layout::Short };
    let at = tagged.behind_tags(bytes);
    let rest = bytes.get(at..).unwrap_or_default();
    let Some(outer) = tagged.container(rest) else {
        // Of a head that is not all there nothing is known.
        return if rest.len() < LONGEST_HEAD { short } else { Layout::Rows };
    };
    if outer.map {
        return Layout::Rows;
    }
    let mut values = Values::within(tagged, outer, at);
    let mut first: Option<Container> = None;
    loop {
        match values.next(bytes) {
            Ok(Item::Value(_, (from, to))) => {
                let value = &bytes[from..to];
                let Some(element) = tagged.container(&value[tagged.behind_tags(value)..]) else {
                    return Layout::Rows;
                };
                let first = *first.get_or_insert(element);
                if first.map != element.map || (!element.map && first.count != element.count) {
                    return Layout::Rows;
                }
            }
            // Behind it stands another row.
            Ok(Item::End(end)) if end < bytes.len() => return Layout::Rows,
            // If something follows where nothing was looked at, the reader says so.
            Ok(Item::End(_)) if short == Layout::Rows => break,
            Ok(Item::End(_)) => return Layout::Short,
            Ok(Item::Short) if bytes.len() < LOOKED_AT && !whole => {
                // A row of values that hold no others is known at once.
                let next = bytes.get(values.at..).filter(|next| next.len() >= LONGEST_HEAD);
                match next.map(|next| tagged.container(&next[tagged.behind_tags(next).min(next.len())..])) {
                    Some(None) => return Layout::Rows,
                    _ => return Layout::Short,
                }
            }
            Ok(Item::Short) => {
                // What an element is that is cut off here, its head tells.
                let next = bytes.get(values.at..).unwrap_or_default();
                let head = next.get(tagged.behind_tags(next)..).unwrap_or_default();
                first = first.or(tagged.container(head));
                if first.is_none() {
                    return Layout::Rows;
                }
                break;
            }
            Err(_) => return Layout::Rows,
        }
    }
    let maps = first.is_none_or(|first| first.map);
    if maps || values.passed > 1 { Layout::Array(outer.count) } else { Layout::Rows }
}

/// Whether a file that begins with these bytes is cut into records: one array is read from its beginning on.
pub fn splits<T: Tagged>(tagged: T, head: &[u8]) -> bool {
    layout(tagged, head, head.len() < LOOKED_AT) == Layout::Rows
}

/// Whether all rows of a file that begins with these bytes lie in one array: see
/// [`Format::is_in_array`](crate::format::Format::is_in_array).
pub fn is_in_array<T: Tagged>(tagged: T, head: &[u8], whole: bool, given: Option<&Schema>) -> bool {
    match layout(tagged, head, whole) {
        Layout::Array(count) => !given.is_some_and(|schema| is_row(tagged, head, count, schema)),
        Layout::Rows | Layout::Short => false,
    }
}

/// The bytes of the longest head of a value.
const LONGEST_HEAD: usize = 9;

/// Whether the array that a file begins with, of so many elements, is one row of these columns and not an array of
/// rows. It is one row of columns that hold lists, structs or maps, or any value as text, as many as it has elements.
/// It is an array of rows all the same if its elements have the columns' names. It is too if they have as many values
/// of their own as there are columns.
pub fn is_row<T: Tagged>(tagged: T, bytes: &[u8], count: Option<u64>, schema: &Schema) -> bool {
    let fields = schema.fields();
    let nested = fields.iter().filter(|field| field.data_type().is_nested()).count();
    let texts = fields.iter().filter(|field| *field.data_type() == DataType::Utf8View).count();
    if nested + texts < fields.len() || count.is_some_and(|count| count != fields.len() as u64) {
        return false;
    }
    let Some(mut elements) = Values::of(tagged, bytes, tagged.behind_tags(bytes)) else { return true };
    let Ok(Item::Value(_, (from, to))) = elements.next(bytes) else { return texts == 0 };
    let first = &bytes[from..to];
    let Some(mut values) = Values::of(tagged, first, tagged.behind_tags(first)) else { return true };
    if !values.is_map() {
        return texts == 0 || values.count() != Some(fields.len() as u64);
    }
    while let Ok(Item::Value(Some((from, to)), _)) = values.next(first) {
        let name = column(tagged, &first[from..to]);
        if name.is_some_and(|name| fields.iter().any(|field| field.name().as_bytes() == &*name)) {
            return false;
        }
    }
    true
}

/// Where in a file rows are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At its beginning.
    Start,
    /// Between rows that follow one another.
    Rows,
    /// In the array, before so many elements, or until a break.
    Within(Option<u64>),
    /// Behind the array.
    Behind,
}

/// Finds the rows of a file.
pub struct Outer {
    state: State,
    /// Rows lie in one array.
    in_array: bool,
}

/// What comes next.
pub enum NextRow {
    /// A row begins here, which is one of so many that are left; see [`Outer::end`].
    Row(usize, Left),
    /// The array ends here and has no rows.
    End(usize),
    /// More bytes are needed.
    Short,
}

/// The rows that are left with the one at hand, if they lie in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left(State);

impl Outer {
    /// For a file whose rows lie in one array, or not; `first` says that the data begins at the file's beginning.
    pub fn new(in_array: bool, first: bool) -> Outer {
        Outer { state: if first { State::Start } else { State::Rows }, in_array }
    }

    /// Another file begins.
    pub fn restart(&mut self) {
        self.state = State::Start;
    }

    /// Looks at the beginning of the file, if that is due: whether its rows lie as those of the table's other files do.
    /// False if more bytes are needed.
    pub fn begin<T: Tagged>(
        &mut self,
        tagged: T,
        bytes: &[u8],
        whole: bool,
        schema: &Schema,
    ) -> Result<bool, Wrong> {
        if self.state != State::Start || self.in_array {
            return Ok(true);
        }
        match layout(tagged, bytes, whole) {
            Layout::Short => return Ok(false),
            Layout::Array(count) if !is_row(tagged, bytes, count, schema) => {
                return Err(Wrong::fatal(
                    "all rows of this file lie in one array, and those of the first file of the table do not; \
                     read the files apart",
                ));
            }
            Layout::Array(_) | Layout::Rows => self.state = State::Rows,
        }
        Ok(true)
    }

    /// Where the next row begins, at `at` or behind it.
    #[inline]
    pub fn next<T: Tagged>(&mut self, tagged: T, bytes: &[u8], at: usize) -> Result<NextRow, Wrong> {
        match self.state {
            State::Rows => Ok(NextRow::Row(at, Left(State::Rows))),
            State::Within(left) => Ok(NextRow::Row(at, Left(State::Within(left)))),
            State::Behind => Err(Wrong::fatal("something follows the array of all rows")),
            State::Start => Ok(self.first(tagged, bytes, at)),
        }
    }

    fn first<T: Tagged>(&mut self, tagged: T, bytes: &[u8], at: usize) -> NextRow {
        let from = at + tagged.behind_tags(&bytes[at..]);
        let rest = bytes.get(from..).unwrap_or_default();
        let outer = tagged.container(rest).filter(|outer| self.in_array && !outer.map);
        let Some(outer) = outer else {
            return match rest.len() < LONGEST_HEAD && self.in_array && tagged.container(rest).is_none() {
                true => NextRow::Short,
                false => NextRow::Row(at, Left(State::Rows)),
            };
        };
        let first = from + outer.from;
        match (outer.count, bytes.get(first..).filter(|rest| !rest.is_empty())) {
            (Some(0), _) => self.close(first),
            (None, Some(rest)) => match tagged.after_break(rest) {
                Some(behind) => self.close(first + behind),
                None => NextRow::Row(first, Left(State::Within(None))),
            },
            (_, None) => NextRow::Short,
            (count, Some(_)) => NextRow::Row(first, Left(State::Within(count))),
        }
    }

    fn close(&mut self, end: usize) -> NextRow {
        self.state = State::Behind;
        NextRow::End(end)
    }

    /// A row ends at `end`: where the next one is to be looked for. `None` if more bytes are needed to know what follows.
    #[inline]
    pub fn end<T: Tagged>(&mut self, tagged: T, bytes: &[u8], end: usize, left: Left) -> Option<usize> {
        let (state, next) = match left.0 {
            State::Within(Some(1)) => (State::Behind, end),
            State::Within(_) if end >= bytes.len() => return None,
            State::Within(Some(left)) => (State::Within(Some(left - 1)), end),
            State::Within(None) => match tagged.after_break(&bytes[end..]) {
                Some(behind) => (State::Behind, end + behind),
                None => (State::Within(None), end),
            },
            other => (other, end),
        };
        self.state = state;
        Some(next)
    }
}
