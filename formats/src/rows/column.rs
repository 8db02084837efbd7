//! Columns under construction, by type: fields of records go in, Arrow arrays come out.

use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType};
use arrow_buffer::Buffer;
use arrow_cast::{can_cast_types, cast};
use arrow_schema::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
use arrow_schema::{ArrowError, DataType, Field};
use schema::text::types::{DEEPEST, sql_name};

use super::fixed::Fixed;
use super::keys::Unknown;
use super::nested::Nested;
use super::noted::Noted;
use super::strings::Strings;
use super::syntax::Syntax;
use super::walk::Spans;
use crate::columns::types::read_type;
use crate::error::{Error, Result};

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
#[derive(Clone, Copy)]
pub struct TextBlock<'a> {
    /// The block of which it is a part.
    pub block: &'a Buffer,
    /// Whether it is known to be UTF-8 throughout.
    pub utf8: bool,
    /// Whether the first bad value of a column ends the work on it.
    pub fail_fast: bool,
    /// Where the fields of the values lie, if they are structs and that was noted.
    pub noted: Option<Noted<'a>>,
}

/// What came of a column's part of a stretch besides its values. The count goes on from stretch to stretch, the list
/// is empty when a column begins.
#[derive(Default)]
pub struct Found {
    /// Bad values, in order; each is NULL in the column.
    pub bad: Vec<Bad>,
    /// Where in the first of them, a nested one, the bad value lies.
    pub within: Option<Within>,
    /// Sequences that were not UTF-8.
    pub replaced: u64,
    /// Values of structs under keys that are no fields of them.
    pub unknown: Unknown,
}

/// A value in a nested one.
#[derive(Debug, Clone)]
pub struct Within {
    /// The way to it, as in `.name[]`.
    pub path: String,
    /// Its type.
    pub data_type: DataType,
    /// Whether it may be NULL.
    pub nullable: bool,
}

/// Makes `Store` of the types of one width. For each it gives a name, Arrow's type, which data types are meant, and
/// which function of the syntax makes a value of bytes.
macro_rules! stores {
    ($($name:ident: $arrow:ty, $data_type:pat => |$syntax:ident, $value:ident| $parse:expr;)*) => {
        /// A column by its type.
        enum Store {
            Bool(Fixed<bool>),
            $($name(Fixed<<$arrow as ArrowPrimitiveType>::Native>),)*
            Text(Strings),
            Binary(Strings),
            FixedBinary(Strings, i32),
            Nested(Box<Nested>),
        }

        impl Store {
            /// An empty column; `None` for types that have no form as text.
            fn new(data_type: &DataType) -> Option<Store> {
                Some(match data_type {
                    DataType::Boolean => Store::Bool(Fixed::default()),
                    DataType::Utf8View => Store::Text(Strings::default()),
                    DataType::BinaryView => Store::Binary(Strings::default()),
                    DataType::FixedSizeBinary(size) => Store::FixedBinary(Strings::default(), *size),
                    $(
                        #[allow(unused_variables, reason = "not every parser needs the parameters of its type")]
                        $data_type => Store::$name(Fixed::default()),
                    )*
                    _ => return None,
                })
            }

            fn extend<S: Syntax>(
                &mut self,
                data_type: &DataType,
                syntax: S,
                stretch: &TextBlock,
                fields: impl Iterator<Item = (usize, usize)>,
                nullable: bool,
                found: &mut Found,
            ) {
                match self {
                    Store::Bool(c) => c.extend(syntax, stretch, fields, nullable, found, |syntax: S, value| syntax.boolean(value)),
                    Store::Text(c) => c.extend_text(syntax, stretch, fields, nullable, found),
                    Store::Binary(c) => c.extend_binary(syntax, stretch, fields, nullable, found, None),
                    Store::FixedBinary(c, size) => {
                        let size = usize::try_from(*size).ok();
                        c.extend_binary(syntax, stretch, fields, nullable, found, size);
                    }
                    Store::Nested(c) => {
                        if S::NESTED {
                            c.extend(syntax, stretch, fields, nullable, found);
                        }
                    }
                    $(Store::$name(c) => {
                        if let $data_type = data_type {
                            c.extend(syntax, stretch, fields, nullable, found, |$syntax: S, $value: &[u8]| $parse);
                        }
                    })*
                }
            }

            fn push_null(&mut self) {
                match self {
                    Store::Bool(c) => c.push_null(),
                    Store::Text(c) | Store::Binary(c) | Store::FixedBinary(c, _) => c.push_null(),
                    Store::Nested(c) => c.push_null(),
                    $(Store::$name(c) => c.push_null(),)*
                }
            }

            fn nulls(&self) -> &[u32] {
                match self {
                    Store::Bool(c) => c.nulls(),
                    Store::Text(c) | Store::Binary(c) | Store::FixedBinary(c, _) => c.nulls(),
                    Store::Nested(c) => c.nulls(),
                    $(Store::$name(c) => c.nulls(),)*
                }
            }

            fn take(&mut self, data_type: &DataType) -> Result<ArrayRef> {
                Ok(match self {
                    Store::Bool(c) => c.booleans(),
                    Store::Text(c) => c.text(),
                    Store::Binary(c) => c.binary(),
                    Store::FixedBinary(c, size) => c.fixed_size(*size),
                    Store::Nested(c) => c.take()?,
                    $(Store::$name(c) => c.array::<$arrow>(data_type),)*
                })
            }
        }
    };
}

stores! {
    Int8: Int8Type, DataType::Int8 => |syntax, value| syntax.integer(value);
    Int16: Int16Type, DataType::Int16 => |syntax, value| syntax.integer(value);
    Int32: Int32Type, DataType::Int32 => |syntax, value| syntax.integer(value);
    Int64: Int64Type, DataType::Int64 => |syntax, value| syntax.integer(value);
    UInt8: UInt8Type, DataType::UInt8 => |syntax, value| syntax.integer(value);
    UInt16: UInt16Type, DataType::UInt16 => |syntax, value| syntax.integer(value);
    UInt32: UInt32Type, DataType::UInt32 => |syntax, value| syntax.integer(value);
    UInt64: UInt64Type, DataType::UInt64 => |syntax, value| syntax.integer(value);
    Float16: Float16Type, DataType::Float16 => |syntax, value| syntax.half(value);
    Float32: Float32Type, DataType::Float32 => |syntax, value| syntax.float(value);
    Float64: Float64Type, DataType::Float64 => |syntax, value| syntax.float(value);
    Decimal128: Decimal128Type, DataType::Decimal128(p, s) => |syntax, value| syntax.decimal(value, *p, *s);
    Decimal256: Decimal256Type, DataType::Decimal256(p, s) => |syntax, value| syntax.decimal(value, *p, *s);
    Date32: Date32Type, DataType::Date32 => |syntax, value| syntax.date(value);
    Date64: Date64Type, DataType::Date64 => |syntax, value| syntax.timestamp(value, Millisecond, true);
    Seconds: TimestampSecondType, DataType::Timestamp(Second, zone) =>
        |syntax, value| syntax.timestamp(value, Second, zone.is_some());
    Millis: TimestampMillisecondType, DataType::Timestamp(Millisecond, zone) =>
        |syntax, value| syntax.timestamp(value, Millisecond, zone.is_some());
    Micros: TimestampMicrosecondType, DataType::Timestamp(Microsecond, zone) =>
        |syntax, value| syntax.timestamp(value, Microsecond, zone.is_some());
    Nanos: TimestampNanosecondType, DataType::Timestamp(Nanosecond, zone) =>
        |syntax, value| syntax.timestamp(value, Nanosecond, zone.is_some());
    TimeSeconds: Time32SecondType, DataType::Time32(Second) =>
        |syntax, value| syntax.time_of_day(value, Second).map(|time| time as i32);
    TimeMillis: Time32MillisecondType, DataType::Time32(Millisecond) =>
        |syntax, value| syntax.time_of_day(value, Millisecond).map(|time| time as i32);
    TimeMicros: Time64MicrosecondType, DataType::Time64(Microsecond) =>
        |syntax, value| syntax.time_of_day(value, Microsecond);
    TimeNanos: Time64NanosecondType, DataType::Time64(Nanosecond) =>
        |syntax, value| syntax.time_of_day(value, Nanosecond);
}

/// A column under construction.
pub struct Column {
    /// The type in which it is built.
    data_type: DataType,
    /// The type in which it is wanted, if that is another.
    wanted: Option<DataType>,
    nullable: bool,
    store: Store,
}

impl Column {
    /// An empty column for this field; its type is the one of [`view_type`]. With `nested` it may be a list, struct or
    /// map.
    pub fn new(field: &Field, nested: bool) -> Result<Column> {
        let most = if nested { DEEPEST } else { 0 };
        Column::of(&view_type(field.data_type()), field.is_nullable(), most).map_err(|wrong| {
            let name = sql_name(&wrong).unwrap_or_else(|| wrong.to_string());
            let what = if wrong == view_type(field.data_type()) { "is" } else { "holds" };
            Error::Unsupported(format!(
                "column '{}' {what} {name}, which is not read from records; give it the type VARCHAR and cast it in the query",
                field.name()
            ))
        })
    }

    /// A column of this type, in which at most so many types are nested; an error is a type that can't be read.
    pub(super) fn of(wanted: &DataType, nullable: bool, most: usize) -> Result<Column, DataType> {
        let data_type = match wanted {
            DataType::LargeList(item) | DataType::ListView(item) | DataType::LargeListView(item) => {
                DataType::List(item.clone())
            }
            other => read_type(other),
        };
        let store = match Store::new(&data_type) {
            Some(store) => store,
            None if most > 0 => Store::Nested(Box::new(Nested::new(&data_type, most - 1)?)),
            None => return Err(wanted.clone()),
        };
        let wanted = Some(wanted).filter(|wanted| **wanted != data_type).cloned();
        match wanted {
            Some(wanted) if !can_cast_types(&data_type, &wanted) => Err(wanted),
            wanted => Ok(Column { data_type, wanted, nullable, store }),
        }
    }

    /// The same column, of whose texts so many characters are enough.
    pub fn cut(mut self, chars: usize) -> Column {
        if let Store::Text(strings) = &mut self.store {
            *strings = Strings::cut(chars);
        }
        self
    }

    /// The type of its values.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Whether it may hold NULL.
    pub fn nullable(&self) -> bool {
        self.nullable
    }

    /// Whether its values, or some in them, must be UTF-8.
    pub fn is_text(&self) -> bool {
        match &self.store {
            Store::Text(_) => true,
            Store::Nested(c) => c.columns().iter().any(Column::is_text),
            _ => false,
        }
    }

    /// Values from here on lie in another block.
    pub fn next_block(&mut self) {
        match &mut self.store {
            Store::Text(c) | Store::Binary(c) | Store::FixedBinary(c, _) => c.next_block(),
            Store::Nested(c) => c.columns_mut().iter_mut().for_each(Column::next_block),
            _ => {}
        }
    }

    /// Appends one value for each field of a stretch. NULL in a column that has none is a bad value.
    pub fn extend<S: Syntax>(
        &mut self,
        syntax: S,
        stretch: &TextBlock,
        fields: impl Iterator<Item = (usize, usize)>,
        found: &mut Found,
    ) {
        self.store.extend(&self.data_type, syntax, stretch, fields, self.nullable, found);
    }

    /// The same, with NULL for what is no value whether the column may hold it or not. The holder of the column looks
    /// at [`Column::nulls`], as NULL may stand in a value that is NULL itself.
    pub(super) fn extend_nullable<S: Syntax>(
        &mut self,
        syntax: S,
        stretch: &TextBlock,
        fields: Spans,
        found: &mut Found,
    ) {
        self.store.extend(&self.data_type, syntax, stretch, fields, true, found);
    }

    /// The rows that are NULL, ascending.
    pub(super) fn nulls(&self) -> &[u32] {
        self.store.nulls()
    }

    /// Appends a row without a value.
    pub fn push_null(&mut self) {
        self.store.push_null();
    }

    /// The array of all values so far; the column is empty again.
    pub fn take(&mut self) -> Result<ArrayRef> {
        let array = self.store.take(&self.data_type)?;
        match &self.wanted {
            None => Ok(array),
            Some(wanted) => cast(&array, wanted).map_err(unfit),
        }
    }
}

/// The error of arrays that do not go together.
pub fn unfit(error: ArrowError) -> Error {
    Error::Unsupported(format!("what was read does not fit its schema: {error}"))
}

/// The type that values of this type are read as: strings and bytes as views.
pub fn view_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        other => other.clone(),
    }
}
