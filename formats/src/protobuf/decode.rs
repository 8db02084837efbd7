//! Reads messages: each is walked from field to field to find those that are wanted.

use arrow_schema::TimeUnit;
use schema::text::types::sql_name;

use super::{Wire, wire};
use crate::error::{Error, Result};
use crate::format::ScanOptions;
use crate::rows::binary::{decimal_or_zero, float_or_zero, is_flat, within_day};
use crate::rows::keys::ColumnSlots;
use crate::rows::parse::{Decimal, Float, Half, Integer};
use crate::rows::syntax::Syntax;
use crate::rows::walk::{Span, Walked, Walker, Wrong, is_missing};

/// What came of reading a varint.
pub enum Varint {
    /// Its value, and how many bytes it has.
    Whole(u64, usize),
    /// It goes on behind the bytes at hand.
    Short,
    /// It has more than the ten bytes of 64 bits.
    TooLong,
}

/// Reads the varint that bytes begin with.
#[inline(always)]
pub fn varint(bytes: &[u8]) -> Varint {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().enumerate() {
        if i == 10 {
            return Varint::TooLong;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Varint::Whole(value, i + 1);
        }
    }
    if bytes.len() >= 10 { Varint::TooLong } else { Varint::Short }
}

/// The value of a field that is a varint; that of one that is not there is 0.
#[inline(always)]
fn number(value: &[u8]) -> Option<u64> {
    match varint(value) {
        Varint::Whole(number, len) if len == value.len() => Some(number),
        _ if value.is_empty() => Some(0),
        _ => None,
    }
}

/// Values as fields hold them.
#[derive(Clone, Copy)]
pub struct Protobuf;

impl Syntax for Protobuf {
    const TEXT: bool = false;

    fn boolean(&self, value: &[u8]) -> Option<bool> {
        number(value).map(|number| number != 0)
    }

    #[inline(always)]
    fn integer<T: Integer>(&self, value: &[u8]) -> Option<T> {
        T::from_bits(number(value)?)
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
        within_day(self.integer(value)?, unit)
    }
}

/// Where the message lies whose length stands at `at`; `None` if it goes on behind the bytes at hand.
pub fn message_at(bytes: &[u8], at: usize) -> Result<Option<Span>, Wrong> {
    let (size, len) = match varint(&bytes[at..]) {
        Varint::Whole(size, len) => (size, len),
        Varint::Short => return Ok(None),
        Varint::TooLong => return Err(Wrong::fatal("the length of this message has more than ten bytes")),
    };
    let start = at + len;
    let end = usize::try_from(size).ok().and_then(|size| start.checked_add(size));
    Ok(end.filter(|&end| end <= bytes.len()).map(|end| (start, end)))
}

/// A column as a field.
struct Field {
    name: String,
    wire: Wire,
    nullable: bool,
    /// Nothing says what a field that is not there means.
    unsaid: bool,
    slot: Option<usize>,
}

/// Walks over messages.
pub struct MessageWalker {
    fields: Vec<Field>,
}

impl MessageWalker {
    /// A walker over the columns of the scan's schema.
    pub fn new(scan: &ScanOptions, slots: &ColumnSlots) -> Result<MessageWalker> {
        if let Some(field) = scan.schema.fields().iter().find(|field| !is_flat(field.data_type())) {
            let name = sql_name(field.data_type()).unwrap_or_else(|| field.data_type().to_string());
            return Err(Error::Unsupported(format!(
                "column '{}': the numbers of the fields in {name} are not known\n  \
                 help: give the schema as a .proto file, --schema NAME=FILE.proto",
                field.name()
            )));
        }
        let columns = scan.schema.fields().iter().zip(&slots.of_schema).enumerate();
        let fields = columns.map(|(column, (field, &slot))| Field {
            name: field.name().clone(),
            wire: wire(field.data_type()),
            nullable: field.is_nullable(),
            unsaid: scan.format.unsaid.contains(&column),
            slot,
        });
        Ok(MessageWalker { fields: fields.collect() })
    }

    /// Notes the fields of the message `at..end`.
    fn fields(&self, bytes: &[u8], at: usize, end: usize, found: &mut [Span]) -> Result<(), String> {
        let beyond = || "a field goes on behind the end of its message".to_string();
        for field in self.fields.iter().filter(|field| !field.nullable) {
            if let Some(slot) = field.slot {
                // What is not there is 0 or empty.
                found[slot] = (at, at);
            }
        }
        let start = at;
        let mut at = at;
        while at < end {
            let (tag, len) = whole(&bytes[at..end])?;
            at += len;
            let number = tag >> 3;
            let field = usize::try_from(number).ok().and_then(|n| self.fields.get(n.checked_sub(1)?));
            let (from, to, found_wire) = match tag & 7 {
                0 => {
                    let (_, len) = whole(&bytes[at..end])?;
                    (at, at + len, Wire::Varint)
                }
                1 => (at, at + 8, Wire::Eight),
                2 => {
                    let (size, len) = whole(&bytes[at..end])?;
                    let from = at + len;
                    let to = usize::try_from(size).ok().and_then(|size| from.checked_add(size));
                    (from, to.ok_or_else(beyond)?, Wire::Counted)
                }
                5 => (at, at + 4, Wire::Four),
                other => return Err(format!("field {number} has wire type {other}, which is not read")),
            };
            if to > end {
                return Err(beyond());
            }
            at = to;
            let Some(field) = field else { continue };
            if field.wire != found_wire {
                let packed = match found_wire {
                    Wire::Counted => {
                        " (or it is a packed repeated field: a list, which is read with a .proto file as the schema)"
                    }
                    _ => "",
                };
                return Err(format!(
                    "field {number} is no {}; the columns are others than those of the schema{packed}",
                    field.name
                ));
            }
            if let Some(slot) = field.slot {
                let place = found[slot];
                if !is_missing(place) && place != (start, start) {
                    return Err(format!(
                        "field {number}, column '{}', is there more than once: a repeated field is a list, \
                         which is read with a .proto file as the schema",
                        field.name
                    ));
                }
                found[slot] = (from, to);
            }
        }
        for (number, field) in (1..).zip(&self.fields).filter(|(_, field)| field.unsaid) {
            if field.slot.is_some_and(|slot| is_missing(found[slot])) {
                return Err(unsaid(number, field));
            }
        }
        Ok(())
    }
}

/// What is wrong with a message that has no such field.
#[cold]
fn unsaid(number: usize, field: &Field) -> String {
    format!(
        "field {number}, column '{}', is not there, which means NULL if the field is `optional`, and else 0, false or \
         empty: write NULL or NOT NULL behind the column's type in the schema",
        field.name
    )
}

/// The varint that bytes begin with, and how many it has: mostly one.
#[inline(always)]
pub fn whole(bytes: &[u8]) -> Result<(u64, usize), String> {
    match bytes.first() {
        Some(&byte) if byte < 0x80 => Ok((byte.into(), 1)),
        _ => longer(bytes),
    }
}

#[inline(never)]
fn longer(bytes: &[u8]) -> Result<(u64, usize), String> {
    match varint(bytes) {
        Varint::Whole(value, len) => Ok((value, len)),
        Varint::Short => Err("a field goes on behind the end of its message".into()),
        Varint::TooLong => Err("a number has more than ten bytes".into()),
    }
}

impl Walker for MessageWalker {
    fn walk(&mut self, bytes: &[u8], at: usize, found: &mut [Span]) -> Result<Walked, Wrong> {
        let Some((start, end)) = message_at(bytes, at)? else { return Ok(Walked::Short) };
        match self.fields(bytes, start, end, found) {
            Ok(()) => Ok(Walked::Whole(end)),
            Err(message) => Err(Wrong { message, next: Some(end) }),
        }
    }
}
