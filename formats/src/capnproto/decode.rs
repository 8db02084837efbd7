//! Reads messages where they lie: the struct is found, and of it the places of the columns that are wanted.

use arrow_schema::TimeUnit;

use super::layout::{Place, layout};
use super::segments::{Framed, Segments, Struct, frame, word};
use crate::error::Result;
use crate::format::ScanOptions;
use crate::rows::binary::{decimal_or_zero, float_or_zero, within_day};
use crate::rows::keys::Slots;
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
    fn timestamp(&self, value: &[u8], _: TimeUnit) -> Option<i64> {
        self.integer(value)
    }

    fn time_of_day(&self, value: &[u8], unit: TimeUnit) -> Option<i64> {
        let time = i32::read_le(value).map(i64::from).or_else(|| self.integer(value))?;
        within_day(time, unit)
    }
}

/// A column that is wanted.
struct Wanted {
    slot: usize,
    name: String,
    nullable: bool,
    at: At,
}

/// Where its values lie, in bytes from the beginning of a section.
enum At {
    /// `from` may lie before the section, and is then a negative number that was wrapped: see [`Values`].
    Data {
        from: usize,
        to: usize,
        tag: Option<usize>,
    },
    Pointer {
        number: usize,
        text: bool,
    },
}

impl At {
    fn of(place: Place) -> At {
        match place {
            Place::Pointer { number, text } => At::Pointer { number: number as usize, text },
            Place::Data { bits: 1, offset, tag } => {
                let (byte, bit) = (offset as usize / 8, offset as usize % 8);
                At::Data { from: byte.wrapping_sub(bit), to: byte + 1, tag: tag.map(|tag| tag as usize * 2) }
            }
            Place::Data { bits, offset, tag } => {
                let (bytes, offset) = (bits as usize / 8, offset as usize);
                At::Data {
                    from: offset * bytes,
                    to: (offset + 1) * bytes,
                    tag: tag.map(|tag| tag as usize * 2),
                }
            }
        }
    }
}

/// The bits of a pointer that tell its kind, and the size of a list's elements.
const KIND_AND_SIZE: u64 = 7 << 32 | 3;

/// Those bits of a pointer to a list of bytes.
const LIST_OF_BYTES: u64 = 2 << 32 | 1;

/// Finds the columns that are wanted in messages.
pub struct MessageWalker {
    wanted: Vec<Wanted>,
    max_record: usize,
}

impl MessageWalker {
    /// A walker for the columns that the scan wants.
    pub fn new(scan: &ScanOptions, slots: &Slots) -> Result<MessageWalker> {
        let places = layout(&scan.schema)?.places;
        let columns = scan.schema.fields().iter().zip(&slots.of_schema).zip(places);
        let wanted = columns.filter_map(|((field, &slot), place)| {
            let (name, nullable) = (field.name().clone(), field.is_nullable());
            Some(Wanted { slot: slot?, name, nullable, at: At::of(place) })
        });
        Ok(MessageWalker { wanted: wanted.collect(), max_record: scan.format.max_record })
    }

    /// Notes the columns of a message of one segment that lies at `base`, if it is built as most are: the struct behind
    /// the pointer to it, no column of it missing, no pointer to another segment, nothing wrong. Else the answer is
    /// `false`, and [`MessageWalker::columns`] tells.
    #[inline(always)]
    fn plain_columns(&self, segment: &[u8], base: usize, found: &mut [Span]) -> bool {
        let Some(root) = word(segment, 0) else { return false };
        if root as u32 != 0 {
            return false;
        }
        let data = 8 + (root >> 32 & 0xffff) as usize * 8;
        let end = data + (root >> 48) as usize * 8;
        let mut listed = 0;
        for column in &self.wanted {
            match column.at {
                At::Data { from, to, tag } => {
                    if let Some(tag) = tag {
                        match segment.get(8 + tag..10 + tag) {
                            _ if 8 + tag >= data => return false,
                            Some([1, 0]) => {}
                            Some([0, 0]) => continue,
                            _ => return false,
                        }
                    }
                    if 8 + to > data {
                        return false;
                    }
                    found[column.slot] = ((base + 8).wrapping_add(from), base + 8 + to);
                }
                At::Pointer { number, text } => {
                    let at = data + number * 8;
                    let Some(pointer) = word(segment, at).filter(|_| at < end) else { return false };
                    if pointer == 0 && column.nullable {
                        continue;
                    }
                    if pointer & KIND_AND_SIZE != LIST_OF_BYTES {
                        return false;
                    }
                    let size = (pointer >> 35) as usize;
                    let from = (at + 8).wrapping_add_signed((pointer as i32 >> 2) as isize * 8);
                    let to = from.wrapping_add(size);
                    let Some(value) = segment.get(from..to) else { return false };
                    if text && value.last() != Some(&0) {
                        return false;
                    }
                    listed += size;
                    found[column.slot] = (base + from, base + to - usize::from(text));
                }
            }
        }
        end <= segment.len() && listed <= segment.len()
    }

    /// Notes the columns of the message with these segments.
    #[cold]
    fn columns(&self, segments: Segments, found: &mut [Span]) -> Result<(), String> {
        let row = segments.root()?;
        let mut listed = 0;
        for column in &self.wanted {
            let value = match column.at {
                At::Data { from, to, tag } => data(segments.bytes, &row, column, from, to, tag)?,
                At::Pointer { number, text } => {
                    let list = segments.list(&row, number).map_err(|message| of(column, &message))?;
                    match list {
                        None if column.nullable => None,
                        None => Some((row.data, row.data)),
                        Some((from, to)) => {
                            listed += to - from;
                            Some((
                                from,
                                if text { unterminated(segments.bytes, column, from, to)? } else { to },
                            ))
                        }
                    }
                }
            };
            if let Some(value) = value {
                found[column.slot] = value;
            }
        }
        // Values that lie in each other could be more than memory holds.
        if listed > segments.places.iter().map(|place| place.len()).sum() {
            return Err("the values are longer than the message in which they lie".into());
        }
        Ok(())
    }
}

/// Where a value of the data section lies; `None` if it is NULL.
fn data(
    bytes: &[u8],
    row: &Struct,
    column: &Wanted,
    from: usize,
    to: usize,
    tag: Option<usize>,
) -> Result<Option<Span>, String> {
    let size = row.pointers - row.data;
    if let Some(tag) = tag {
        // The section ends at a word, so that a discriminant which begins in it lies in it.
        let word = if tag < size { word(bytes, row.data + tag / 8 * 8).unwrap_or(0) } else { 0 };
        match word >> (tag % 8 * 8) & 0xffff {
            0 => return Ok(None),
            1 => {}
            other => {
                let message = format!("member {other} of the union is neither its null nor its value");
                return Err(of(column, &message));
            }
        }
    }
    let start = row.data;
    Ok(Some(if to <= size { (start.wrapping_add(from), start + to) } else { (start, start) }))
}

/// Where a text ends without its NUL.
fn unterminated(bytes: &[u8], column: &Wanted, from: usize, to: usize) -> Result<usize, String> {
    match bytes.get(from..to).and_then(|text| text.last()) {
        Some(0) => Ok(to - 1),
        _ => Err(of(column, "the text does not end with a NUL")),
    }
}

#[cold]
fn of(column: &Wanted, message: &str) -> String {
    format!("column {}: {message}; the columns may be others than those of the schema", column.name)
}

impl Walker for MessageWalker {
    #[inline(always)]
    fn walk(&mut self, bytes: &[u8], at: usize, found: &mut [Span]) -> Result<Walked, Wrong> {
        let (end, noted) = match frame(bytes, at, self.max_record)? {
            Framed::Short => return Ok(Walked::Short),
            Framed::One(segment) => {
                if self.plain_columns(&bytes[segment.clone()], segment.start, found) {
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
