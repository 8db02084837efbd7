//! Reads messages where they lie: the struct is found, and of it the places of the columns that are wanted.

use arrow_schema::TimeUnit;

use super::layout::{ColumnPlacement, layout};
use super::segments::{Framed, KIND_AND_SIZE, LIST_OF_BYTES, Segments, Struct, frame, sections, word};
use crate::error::Result;
use crate::format::ScanOptions;
use crate::rows::binary::{decimal_or_zero, float_or_zero, within_day};
use crate::rows::keys::ColumnSlots;
use crate::rows::parse::{Decimal, Float, Half, Integer};
use crate::rows::syntax::Syntax;
use crate::rows::walk::{Span, Walked, Walker, Wrong, missing};

/// Values as structs hold them. One that is not there is 0 or empty. That of a bit is its byte and as many bytes before
/// it as there are bits below it.
#[derive(Clone, Copy)]
pub struct Values;

impl Syntax for Values {
    const TEXT: bool = false;

    fn boolean(&self, value: &[u8]) -> Option<bool> {
        Some(value.last().is_some_and(|byte| byte >> (value.len() - 1) & 1 == 1))
    }

    #[inline(always)]
    fn integer<T: Integer>(&self, value: &[u8]) -> Option<T> {
        T::read_le(value).or_else(|| if value.is_empty() { T::from_bits(0) } else { None })
    }

    fn half(&self, value: &[u8]) -> Option<Half> {
        self.float::<f32>(value).map(Half::from_f32)
    }

    #[inline(always)]
    fn float<T: Float>(&self, value: &[u8]) -> Option<T> {
        float_or_zero(value)
    }

    fn decimal<T: Decimal>(&self, value: &[u8], precision: u8, scale: i8) -> Option<T> {
        decimal_or_zero(value, precision, scale)
    }

    #[inline(always)]
    fn date(&self, value: &[u8]) -> Option<i32> {
        self.integer(value)
    }

    #[inline(always)]
    fn timestamp(&self, value: &[u8], _: TimeUnit, _: bool) -> Option<i64> {
        self.integer(value)
    }

    fn time_of_day(&self, value: &[u8], unit: TimeUnit) -> Option<i64> {
        let time = i32::read_le(value).map(i64::from).or_else(|| self.integer(value))?;
        within_day(time, unit)
    }
}

/// A column that is wanted and lies in the data section, in bytes from its beginning.
struct Value {
    slot: usize,
    name: String,
    /// May lie before the section, and is then a negative number that was wrapped: see [`Values`].
    from: usize,
    to: usize,
    /// Where the discriminant of its union lies, if it may be NULL.
    tag: Option<usize>,
}

impl Value {
    fn new(slot: usize, name: String, bits: u32, offset: usize, tag: Option<u32>) -> Value {
        let (from, to) = match bits as usize / 8 {
            0 => ((offset / 8).wrapping_sub(offset % 8), offset / 8 + 1),
            bytes => (offset * bytes, (offset + 1) * bytes),
        };
        Value { slot, name, from, to, tag: tag.map(|tag| tag as usize * 2) }
    }
}

/// A column that is wanted and lies behind a pointer.
struct List {
    slot: usize,
    name: String,
    number: usize,
    /// 1 for text, which a NUL ends.
    nul: usize,
    nullable: bool,
}

/// Finds the columns that are wanted in messages.
pub struct MessageWalker {
    values: Vec<Value>,
    lists: Vec<List>,
    /// The bytes of the data section that have all of their values.
    data_bytes: usize,
    max_record: usize,
}

impl MessageWalker {
    /// A walker for the columns that the scan wants.
    pub fn new(scan: &ScanOptions, slots: &ColumnSlots) -> Result<MessageWalker> {
        let places = layout(&scan.schema)?.places;
        let (mut values, mut lists) = (Vec::new(), Vec::new());
        for ((field, &slot), place) in scan.schema.fields().iter().zip(&slots.of_schema).zip(places) {
            let (Some(slot), name, nullable) = (slot, field.name().clone(), field.is_nullable()) else {
                continue;
            };
            match place {
                ColumnPlacement::Data { bits, offset, tag } => {
                    values.push(Value::new(slot, name, bits, offset as usize, tag));
                }
                ColumnPlacement::Pointer { number, text } => {
                    let (number, nul) = (number as usize, usize::from(text));
                    lists.push(List { slot, name, number, nul, nullable });
                }
            }
        }
        let ends = values.iter().map(|value| value.to.max(value.tag.map_or(0, |tag| tag + 2)));
        let data_bytes = ends.max().unwrap_or(0);
        Ok(MessageWalker { values, lists, data_bytes, max_record: scan.format.max_record })
    }

    /// Whether [`MessageWalker::note`] looks at one of the words before the lists of a message of one segment.
    /// `data_words` are those of the data section. The first two are the table of segments and the pointer to the
    /// struct.
    pub fn wants(&self, word: usize, data_words: usize) -> bool {
        let of_value = |value: &Value| {
            let tag = value.tag.is_some_and(|tag| tag / 8 + 2 == word);
            tag || (value.to - 1) / 8 + 2 == word
        };
        word < 2
            || self.values.iter().any(of_value)
            || self.lists.iter().any(|list| list.number + 2 + data_words == word)
    }

    /// Notes where the columns lie of a message of one segment, which lies at `base` and has `size` bytes. It must be
    /// built as most are. The struct is behind the pointer to it, no column of it is missing, no pointer leads to
    /// another segment, nothing is wrong. `head` is its beginning up to the end of the struct at least, which is all
    /// that is looked at. Gives where the last list ends that is wanted, or the struct; if it is `None`,
    /// [`MessageWalker::columns`] tells.
    #[inline(always)]
    pub fn note(&self, head: &[u8], base: usize, size: usize, found: &mut [Span]) -> Option<usize> {
        let root = word(head, 0)?;
        let (data, pointers) = sections(root);
        let lists = 8 + data + pointers;
        if root as u32 != 0 || data < self.data_bytes || lists > size {
            return None;
        }
        let (values, pointers) = head.get(8..lists)?.split_at(data);
        for column in &self.values {
            let there = match column.tag {
                Some(tag) => match values.get(tag..tag + 2)? {
                    [1, 0] => true,
                    [0, 0] => false,
                    _ => return None,
                },
                None => true,
            };
            let place = ((base + 8).wrapping_add(column.from), base + 8 + column.to);
            found[column.slot] = if there { place } else { missing(base - 8) };
        }
        let (mut last, mut listed) = (lists, 0);
        for column in &self.lists {
            let pointer = u64::from_le_bytes(*pointers.as_chunks::<8>().0.get(column.number)?);
            if pointer == 0 && column.nullable {
                found[column.slot] = missing(base - 8);
                continue;
            }
            let bytes = (pointer >> 35) as usize;
            let behind = 16 + data + column.number * 8;
            let from = behind.wrapping_add_signed((pointer as i32 >> 2) as isize * 8);
            let to = from.wrapping_add(bytes);
            if pointer & KIND_AND_SIZE != LIST_OF_BYTES || from < lists || to > size || bytes < column.nul {
                return None;
            }
            listed += bytes;
            last = last.max(to);
            found[column.slot] = (base + from, base + to - column.nul);
        }
        (listed <= size).then_some(base + last)
    }

    /// Whether all texts of a message that were noted end with a NUL.
    #[inline(always)]
    pub fn are_terminated(&self, bytes: &[u8], found: &[Span]) -> bool {
        // The place of a text that is not there ends at the message's first byte, which is 0 too: it has one segment.
        let ends = self.lists.iter().filter(|column| column.nul == 1).map(|column| found[column.slot].1);
        ends.fold(0, |other, end| other | bytes.get(end).copied().unwrap_or(1)) == 0
    }

    /// Notes the columns of the message with these segments.
    #[cold]
    fn columns(&self, segments: Segments, found: &mut [Span]) -> Result<(), String> {
        let row = segments.root()?;
        for column in &self.values {
            let value = data(segments.bytes, &row, column).map_err(|message| of(&column.name, &message))?;
            found[column.slot] = value.unwrap_or(found[column.slot]);
        }
        let mut listed = 0;
        for column in &self.lists {
            let list = segments.list(&row, column.number).map_err(|message| of(&column.name, &message))?;
            found[column.slot] = match list {
                None if column.nullable => continue,
                None => (row.data, row.data),
                Some((from, to)) => {
                    listed += to - from;
                    if column.nul == 1 && segments.bytes.get(from..to).and_then(<[u8]>::last) != Some(&0) {
                        return Err(of(&column.name, "the text does not end with a NUL"));
                    }
                    (from, to - column.nul)
                }
            };
        }
        // Values that lie in each other could be more than memory holds.
        if listed > segments.places.iter().map(|place| place.len()).sum() {
            return Err("the values are longer than the message in which they lie".into());
        }
        Ok(())
    }
}

/// Where a value of the data section lies; `None` if it is NULL.
fn data(bytes: &[u8], row: &Struct, column: &Value) -> Result<Option<Span>, String> {
    let size = row.pointers - row.data;
    if let Some(tag) = column.tag {
        // The section ends at a word, so that a discriminant which begins in it lies in it.
        let word = if tag < size { word(bytes, row.data + tag / 8 * 8).unwrap_or(0) } else { 0 };
        match word >> (tag % 8 * 8) & 0xffff {
            0 => return Ok(None),
            1 => {}
            other => {
                return Err(format!("member {other} of the union is neither its null nor its value"));
            }
        }
    }
    let start = row.data;
    let there = column.to <= size;
    Ok(Some(if there { (start.wrapping_add(column.from), start + column.to) } else { (start, start) }))
}

#[cold]
fn of(column: &str, message: &str) -> String {
    format!("column {column}: {message}; the columns may be others than those of the schema")
}

impl Walker for MessageWalker {
    #[inline(always)]
    fn walk(&mut self, bytes: &[u8], at: usize, found: &mut [Span]) -> Result<Walked, Wrong> {
        let (end, noted) = match frame(bytes, at, self.max_record)? {
            Framed::Short => return Ok(Walked::Short),
            Framed::One(segment) => {
                let noted = self.note(&bytes[segment.clone()], segment.start, segment.len(), found);
                if noted.is_some() && self.are_terminated(bytes, found) {
                    return Ok(Walked::Whole(segment.end));
                }
                found.fill(missing(at));
                (segment.end, self.columns(Segments { bytes, places: &[segment] }, found))
            }
            Framed::Many(places) => {
                let end = places.last().map_or(at, |last| last.end);
                (end, self.columns(Segments { bytes, places: &places }, found))
            }
        };
        match noted {
            Ok(()) => Ok(Walked::Whole(end)),
            Err(message) => Err(Wrong { message, next: Some(end) }),
        }
    }
}
