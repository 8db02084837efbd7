//! Columns under construction, by type: text goes in, Arrow arrays come out.

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryViewArray, BooleanArray, PrimitiveArray, StringViewArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, TimeUnit};

use super::parse;
use super::views::Views;
use crate::error::{Error, Result};

/// What lies between the borders of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// No value.
    Null,
    /// The value is these bytes as they stand.
    Plain(usize, usize),
    /// The value is these bytes after [`Syntax::unescape`].
    Escaped(usize, usize),
    /// An empty string, which is no value for types other than strings.
    Empty,
    /// The quoting is broken.
    Broken,
}

/// How an encoding writes values into fields.
pub trait Syntax: Copy {
    /// What the field `start..end` holds; both are within `bytes`.
    fn token(&self, bytes: &[u8], start: usize, end: usize) -> Token;

    /// Rewrites the bytes of a [`Token::Escaped`]. Gives the number of sequences replaced by U+FFFD, or `None` if an
    /// escape is broken.
    fn unescape(&self, raw: &[u8], out: &mut Vec<u8>) -> Option<u64>;
}

/// A value that is not one of its column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bad {
    /// The record, counted from 0 in the stretch at hand.
    pub record: usize,
    /// Where the field begins in the block.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// What the columns need to know of the stretch of text at hand.
pub struct Stretch<'a> {
    /// The block of which it is a part.
    pub block: &'a Buffer,
    /// Whether it is known to be UTF-8 throughout.
    pub utf8: bool,
    /// Whether the first bad value of a column ends the work on it.
    pub fail_fast: bool,
}

/// What came of a column's part of a stretch besides its values. The count goes on from stretch to stretch, the list
/// is empty when a column begins.
#[derive(Default)]
pub struct Found {
    /// Bad values, in order; each is NULL in the column.
    pub bad: Vec<Bad>,
    /// Sequences that were not UTF-8.
    pub replaced: u64,
}

/// A column of values of one width.
#[derive(Default)]
struct Fixed<T> {
    values: Vec<T>,
    nulls: Vec<u32>,
}

impl<T: Copy + Default> Fixed<T> {
    #[inline(always)]
    fn extend<S: Syntax>(
        &mut self,
        syntax: S,
        stretch: &Stretch,
        fields: impl Iterator<Item = (usize, usize)>,
        nullable: bool,
        found: &mut Found,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) {
        let bytes = stretch.block.as_slice();
        for (record, (start, end)) in fields.enumerate() {
            let value = match syntax.token(bytes, start, end) {
                Token::Plain(from, to) => {
                    parse(&bytes[from..to]).or_else(|| parse(bytes[from..to].trim_ascii()))
                }
                Token::Null | Token::Empty if nullable => {
                    self.nulls.push(self.values.len() as u32);
                    self.values.push(T::default());
                    continue;
                }
                Token::Escaped(from, to) => {
                    let mut text = Vec::new();
                    syntax.unescape(&bytes[from..to], &mut text).and_then(|_| parse(text.trim_ascii()))
                }
                Token::Null | Token::Empty | Token::Broken => None,
            };
            match value {
                Some(value) => self.values.push(value),
                None => {
                    found.bad.push(Bad { record, start, end });
                    if stretch.fail_fast {
                        return;
                    }
                    self.nulls.push(self.values.len() as u32);
                    self.values.push(T::default());
                }
            }
        }
    }

    fn take(&mut self) -> (Vec<T>, Option<NullBuffer>) {
        let nulls = null_buffer(self.values.len(), &mut self.nulls);
        let capacity = self.values.len();
        (std::mem::replace(&mut self.values, Vec::with_capacity(capacity)), nulls)
    }

    fn array<P: ArrowPrimitiveType<Native = T>>(&mut self, data_type: &DataType) -> ArrayRef
    where
        T: ArrowNativeType,
    {
        let (values, nulls) = self.take();
        Arc::new(
            PrimitiveArray::<P>::new(ScalarBuffer::from(values), nulls).with_data_type(data_type.clone()),
        )
    }
}

/// The validity of `len` rows of which these are NULL.
fn null_buffer(len: usize, nulls: &mut Vec<u32>) -> Option<NullBuffer> {
    if nulls.is_empty() {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(len);
    valid.append_n(len, true);
    for row in nulls.drain(..) {
        valid.set_bit(row as usize, false);
    }
    Some(NullBuffer::new(valid.finish()))
}

enum Store {
    Bool(Fixed<bool>),
    Int8(Fixed<i8>),
    Int16(Fixed<i16>),
    Int32(Fixed<i32>),
    Int64(Fixed<i64>),
    UInt8(Fixed<u8>),
    UInt16(Fixed<u16>),
    UInt32(Fixed<u32>),
    UInt64(Fixed<u64>),
    Float32(Fixed<f32>),
    Float64(Fixed<f64>),
    Decimal(Fixed<i128>, u8, i8),
    Date(Fixed<i32>),
    Timestamp(Fixed<i64>, TimeUnit),
    Text(Views, Vec<u32>),
    Binary(Views, Vec<u32>),
}

/// A column under construction.
pub struct Column {
    data_type: DataType,
    nullable: bool,
    store: Store,
    scratch: Vec<u8>,
}

impl Column {
    /// An empty column for this field; its type is the one of [`view_type`].
    pub fn new(field: &Field) -> Result<Column> {
        let store = match field.data_type() {
            DataType::Boolean => Store::Bool(Fixed::default()),
            DataType::Int8 => Store::Int8(Fixed::default()),
            DataType::Int16 => Store::Int16(Fixed::default()),
            DataType::Int32 => Store::Int32(Fixed::default()),
            DataType::Int64 => Store::Int64(Fixed::default()),
            DataType::UInt8 => Store::UInt8(Fixed::default()),
            DataType::UInt16 => Store::UInt16(Fixed::default()),
            DataType::UInt32 => Store::UInt32(Fixed::default()),
            DataType::UInt64 => Store::UInt64(Fixed::default()),
            DataType::Float32 => Store::Float32(Fixed::default()),
            DataType::Float64 => Store::Float64(Fixed::default()),
            DataType::Decimal128(precision, scale) => Store::Decimal(Fixed::default(), *precision, *scale),
            DataType::Date32 => Store::Date(Fixed::default()),
            DataType::Timestamp(unit, _) => Store::Timestamp(Fixed::default(), *unit),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Store::Text(Views::default(), Vec::new())
            }
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                Store::Binary(Views::default(), Vec::new())
            }
            other => {
                return Err(Error::Unsupported(format!(
                    "column {} of type {other} cannot be read from text; give it the type Utf8 and cast it in the \
                     query",
                    field.name()
                )));
            }
        };
        let data_type = view_type(field.data_type());
        Ok(Column { data_type, nullable: field.is_nullable(), store, scratch: Vec::new() })
    }

    /// The type of its values.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Whether it may hold NULL.
    pub fn nullable(&self) -> bool {
        self.nullable
    }

    /// Whether its values must be UTF-8.
    pub fn is_text(&self) -> bool {
        matches!(self.store, Store::Text(..))
    }

    /// Values from here on lie in another block.
    pub fn next_block(&mut self) {
        if let Store::Text(views, _) | Store::Binary(views, _) = &mut self.store {
            views.next_block();
        }
    }

    /// Appends one value for each field of a stretch. NULL in a column that has none is a bad value.
    pub fn extend<S: Syntax>(
        &mut self,
        syntax: S,
        stretch: &Stretch,
        fields: impl Iterator<Item = (usize, usize)>,
        found: &mut Found,
    ) {
        let nullable = self.nullable;
        macro_rules! fixed {
            ($fixed:expr, $parse:expr) => {
                $fixed.extend(syntax, stretch, fields, nullable, found, $parse)
            };
        }
        match &mut self.store {
            Store::Bool(c) => fixed!(c, parse::boolean),
            Store::Int8(c) => fixed!(c, parse::integer),
            Store::Int16(c) => fixed!(c, parse::integer),
            Store::Int32(c) => fixed!(c, parse::integer),
            Store::Int64(c) => fixed!(c, parse::integer),
            Store::UInt8(c) => fixed!(c, parse::integer),
            Store::UInt16(c) => fixed!(c, parse::integer),
            Store::UInt32(c) => fixed!(c, parse::integer),
            Store::UInt64(c) => fixed!(c, parse::integer),
            Store::Float32(c) => fixed!(c, parse::float),
            Store::Float64(c) => fixed!(c, parse::float),
            Store::Decimal(c, precision, scale) => {
                let (precision, scale) = (*precision, *scale);
                fixed!(c, |text: &[u8]| parse::decimal(text, precision, scale))
            }
            Store::Date(c) => fixed!(c, parse::date),
            Store::Timestamp(c, unit) => {
                let unit = *unit;
                fixed!(c, |text: &[u8]| parse::timestamp(text, unit))
            }
            Store::Text(views, nulls) => {
                let mut sink = Strings { nullable, views, nulls, scratch: &mut self.scratch, found };
                sink.extend_text(syntax, stretch, fields);
            }
            Store::Binary(views, nulls) => {
                let mut sink = Strings { nullable, views, nulls, scratch: &mut self.scratch, found };
                sink.extend_binary(syntax, stretch, fields);
            }
        }
    }

    /// Appends a row without a value.
    pub fn push_null(&mut self) {
        macro_rules! null {
            ($c:expr) => {{
                $c.nulls.push($c.values.len() as u32);
                $c.values.push(Default::default());
            }};
        }
        match &mut self.store {
            Store::Bool(c) => null!(c),
            Store::Int8(c) => null!(c),
            Store::Int16(c) => null!(c),
            Store::Int32(c) => null!(c),
            Store::Int64(c) => null!(c),
            Store::UInt8(c) => null!(c),
            Store::UInt16(c) => null!(c),
            Store::UInt32(c) => null!(c),
            Store::UInt64(c) => null!(c),
            Store::Float32(c) => null!(c),
            Store::Float64(c) => null!(c),
            Store::Decimal(c, ..) => null!(c),
            Store::Date(c) => null!(c),
            Store::Timestamp(c, _) => null!(c),
            Store::Text(views, nulls) | Store::Binary(views, nulls) => {
                nulls.push(views.views.len() as u32);
                views.push_empty();
            }
        }
    }

    /// The array of all values so far; the column is empty again.
    pub fn take(&mut self) -> ArrayRef {
        let data_type = &self.data_type;
        match &mut self.store {
            Store::Bool(c) => {
                let (values, nulls) = c.take();
                Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls))
            }
            Store::Int8(c) => c.array::<Int8Type>(data_type),
            Store::Int16(c) => c.array::<Int16Type>(data_type),
            Store::Int32(c) => c.array::<Int32Type>(data_type),
            Store::Int64(c) => c.array::<Int64Type>(data_type),
            Store::UInt8(c) => c.array::<UInt8Type>(data_type),
            Store::UInt16(c) => c.array::<UInt16Type>(data_type),
            Store::UInt32(c) => c.array::<UInt32Type>(data_type),
            Store::UInt64(c) => c.array::<UInt64Type>(data_type),
            Store::Float32(c) => c.array::<Float32Type>(data_type),
            Store::Float64(c) => c.array::<Float64Type>(data_type),
            Store::Decimal(c, ..) => c.array::<Decimal128Type>(data_type),
            Store::Date(c) => c.array::<Date32Type>(data_type),
            Store::Timestamp(c, TimeUnit::Second) => c.array::<TimestampSecondType>(data_type),
            Store::Timestamp(c, TimeUnit::Millisecond) => c.array::<TimestampMillisecondType>(data_type),
            Store::Timestamp(c, TimeUnit::Microsecond) => c.array::<TimestampMicrosecondType>(data_type),
            Store::Timestamp(c, TimeUnit::Nanosecond) => c.array::<TimestampNanosecondType>(data_type),
            Store::Text(views, nulls) => {
                let nulls = null_buffer(views.views.len(), nulls);
                let (views, buffers) = views.take();
                // SAFETY: `Views` makes views whose length, prefix, buffer and offset agree with buffers that it holds
                // itself. `Strings::extend_text` pushes only values that are UTF-8: parts of a stretch that is UTF-8
                // and is cut at ASCII bytes, or values that it checked or rewrote one by one.
                let array = unsafe { StringViewArray::new_unchecked(views.into(), buffers, nulls) };
                Arc::new(array)
            }
            Store::Binary(views, nulls) => {
                let nulls = null_buffer(views.views.len(), nulls);
                let (views, buffers) = views.take();
                // SAFETY: as above; bytes need not be UTF-8.
                let array = unsafe { BinaryViewArray::new_unchecked(views.into(), buffers, nulls) };
                Arc::new(array)
            }
        }
    }
}

/// The type that values of this type are read as: strings and bytes as views.
pub fn view_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        other => other.clone(),
    }
}

/// A column of strings or bytes while a stretch is appended to it.
struct Strings<'a> {
    nullable: bool,
    views: &'a mut Views,
    nulls: &'a mut Vec<u32>,
    scratch: &'a mut Vec<u8>,
    found: &'a mut Found,
}

impl Strings<'_> {
    fn null(&mut self) {
        self.nulls.push(self.views.views.len() as u32);
        self.views.push_empty();
    }

    /// Appends bytes as text, with U+FFFD for what is not UTF-8.
    fn push_checked(&mut self, bytes: &[u8]) {
        if simdutf8::basic::from_utf8(bytes).is_ok() {
            return self.views.push_copy(bytes);
        }
        let mut text = String::with_capacity(bytes.len() + 8);
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
                self.found.replaced += 1;
            }
        }
        self.views.push_copy(text.as_bytes());
    }

    #[inline(always)]
    fn extend_text<S: Syntax>(
        &mut self,
        syntax: S,
        stretch: &Stretch,
        fields: impl Iterator<Item = (usize, usize)>,
    ) {
        let bytes = stretch.block.as_slice();
        for (record, (start, end)) in fields.enumerate() {
            match syntax.token(bytes, start, end) {
                Token::Plain(from, to) if stretch.utf8 => self.views.push(stretch.block, from, to),
                Token::Plain(from, to) => self.push_checked(&bytes[from..to]),
                Token::Null if self.nullable => self.null(),
                Token::Null | Token::Broken => self.bad(record, start, end),
                Token::Empty => self.views.push_empty(),
                Token::Escaped(from, to) => {
                    let mut text = std::mem::take(self.scratch);
                    text.clear();
                    match syntax.unescape(&bytes[from..to], &mut text) {
                        Some(replaced) => {
                            self.found.replaced += replaced;
                            self.push_checked(&text);
                        }
                        None => self.bad(record, start, end),
                    }
                    *self.scratch = text;
                }
            }
            if stretch.fail_fast && !self.found.bad.is_empty() {
                return;
            }
        }
    }

    fn extend_binary<S: Syntax>(
        &mut self,
        syntax: S,
        stretch: &Stretch,
        fields: impl Iterator<Item = (usize, usize)>,
    ) {
        let bytes = stretch.block.as_slice();
        for (record, (start, end)) in fields.enumerate() {
            let mut text = std::mem::take(self.scratch);
            text.clear();
            match syntax.token(bytes, start, end) {
                Token::Plain(from, to) => match parse::hex(&bytes[from..to], &mut text) {
                    Some(()) => self.views.push_copy(&text),
                    None => self.views.push(stretch.block, from, to),
                },
                Token::Null if self.nullable => self.null(),
                Token::Null | Token::Broken => self.bad(record, start, end),
                Token::Empty => self.views.push_empty(),
                Token::Escaped(from, to) => match syntax.unescape(&bytes[from..to], &mut text) {
                    Some(_) => {
                        let mut decoded = Vec::new();
                        let hex = parse::hex(&text, &mut decoded).is_some();
                        self.views.push_copy(if hex { &decoded } else { &text });
                    }
                    None => self.bad(record, start, end),
                },
            }
            *self.scratch = text;
            if stretch.fail_fast && !self.found.bad.is_empty() {
                return;
            }
        }
    }

    fn bad(&mut self, record: usize, start: usize, end: usize) {
        self.found.bad.push(Bad { record, start, end });
        self.null();
    }
}
