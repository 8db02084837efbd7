//! The schema of a file: Avro's JSON to a tree of types, the Arrow types that they become, and the JSON that the crate is
//! given.
//!
//! A named type is copied to where its name stands, so that a tree is all there is to walk. How many types and levels that
//! gives is bounded. A record that holds itself has no such tree, and is refused.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Fields, IntervalUnit, Schema, TimeUnit};
use serde_json::{Map, Value, json};

use super::bad;
use crate::columns::uuid;
use crate::error::{Error, Result};

/// The most types of a schema, with those that stand for names.
const MOST_TYPES: usize = 20_000;
/// The most levels of the JSON that the crate is given: its parser stops at 128.
const DEEPEST: usize = 110;
/// The levels that a record takes: the object of a field, their array, and the object of the record.
const RECORD_LEVELS: usize = 3;

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type.
    pub data_type: Type,
}

/// A type, with its nulls and what its values mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// How its values are written.
    pub kind: Kind,
    /// What they mean, if that is something else.
    pub logical: Option<Logical>,
    /// Whether it is one of two branches of a union with null.
    pub nulls: Nulls,
    /// About the bytes of a value in a column, without its text and without what lies within it.
    pub width: u64,
    /// About the bytes of a NULL: those of a struct have values in its fields.
    pub null_width: u64,
}

/// How values are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// In no bytes.
    Null,
    /// In a byte.
    Boolean,
    /// As a long of at most 32 bits.
    Int,
    /// As a long.
    Long,
    /// In 4 bytes.
    Float,
    /// In 8 bytes.
    Double,
    /// As a length and bytes.
    Bytes,
    /// The same, as UTF-8.
    String,
    /// In so many bytes.
    Fixed(usize),
    /// As the number of one of these symbols.
    Enum(Vec<String>),
    /// As blocks of items.
    Array(Box<Type>),
    /// As blocks of keys with values.
    Map(Box<Type>),
    /// As its fields.
    Record(Vec<Field>),
}

/// What values mean beside how they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logical {
    /// A number of this precision and scale.
    Decimal(u8, i8),
    /// Days since 1970.
    Date,
    /// Milliseconds or microseconds since midnight.
    Time(TimeUnit),
    /// Units since 1970, in UTC or of no time zone.
    Timestamp(TimeUnit, bool),
    /// A UUID as text or as 16 bytes.
    Uuid,
    /// Months, days and milliseconds.
    Duration,
}

/// The place of null in a union with another type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// There is no union.
    Never,
    /// `["null", T]`.
    First,
    /// `[T, "null"]`.
    Last,
}

impl Type {
    fn new(kind: Kind, logical: Option<Logical>) -> Type {
        let width = match (&kind, logical) {
            (Kind::Bytes | Kind::Fixed(_), Some(Logical::Decimal(..))) => 32,
            (Kind::Null, _) => 0,
            (Kind::Boolean, _) => 1,
            (Kind::Int | Kind::Float, _) => 4,
            (Kind::Long | Kind::Double, _) => 8,
            // A UUID becomes a view and its text.
            (Kind::Fixed(_), Some(Logical::Uuid)) => 80,
            (Kind::Fixed(size), _) => 16 + *size as u64,
            // An offset and a view.
            (Kind::Bytes | Kind::String | Kind::Enum(_), _) => 24,
            (Kind::Array(_) | Kind::Map(_), _) => 8,
            (Kind::Record(_), _) => 1,
        };
        let within = match &kind {
            Kind::Record(fields) => {
                fields.iter().map(|field| field.data_type.null_width).fold(0, u64::saturating_add)
            }
            _ => 0,
        };
        Type { kind, logical, nulls: Nulls::Never, width, null_width: width.saturating_add(within) }
    }

    /// The least bytes of a value.
    pub fn least_bytes(&self) -> u64 {
        match &self.kind {
            _ if self.nulls != Nulls::Never => 1,
            Kind::Null => 0,
            Kind::Float => 4,
            Kind::Double => 8,
            Kind::Fixed(size) => *size as u64,
            Kind::Record(fields) => {
                fields.iter().map(|field| field.data_type.least_bytes()).fold(0, u64::saturating_add)
            }
            _ => 1,
        }
    }

    /// The number of types that it is made of.
    pub fn types(&self) -> u64 {
        let within = match &self.kind {
            Kind::Array(inner) | Kind::Map(inner) => inner.types(),
            Kind::Record(fields) => fields.iter().map(|field| field.data_type.types()).sum(),
            _ => 0,
        };
        1 + within
    }

    fn arrow(&self) -> DataType {
        match (&self.kind, self.logical) {
            (_, Some(Logical::Decimal(precision, scale))) if precision > 38 => {
                DataType::Decimal256(precision, scale)
            }
            (_, Some(Logical::Decimal(precision, scale))) => DataType::Decimal128(precision, scale),
            (_, Some(Logical::Date)) => DataType::Date32,
            (_, Some(Logical::Time(TimeUnit::Millisecond))) => DataType::Time32(TimeUnit::Millisecond),
            (_, Some(Logical::Time(unit))) => DataType::Time64(unit),
            (_, Some(Logical::Timestamp(unit, in_utc))) => {
                DataType::Timestamp(unit, in_utc.then(|| ::schema::instants::UTC.into()))
            }
            (_, Some(Logical::Duration)) => DataType::Interval(IntervalUnit::MonthDayNano),
            (Kind::Null, _) => DataType::Null,
            (Kind::Boolean, _) => DataType::Boolean,
            (Kind::Int, _) => DataType::Int32,
            (Kind::Long, _) => DataType::Int64,
            (Kind::Float, _) => DataType::Float32,
            (Kind::Double, _) => DataType::Float64,
            (Kind::Bytes, _) => DataType::BinaryView,
            (Kind::String | Kind::Enum(_), _) => DataType::Utf8View,
            // A size has at most 31 bits.
            (Kind::Fixed(size), _) => DataType::FixedSizeBinary(i32::try_from(*size).unwrap_or(i32::MAX)),
            (Kind::Array(items), _) => {
                DataType::List(Arc::new(items.field(ArrowField::LIST_FIELD_DEFAULT_NAME)))
            }
            (Kind::Map(values), _) => {
                let key = ArrowField::new("key", DataType::Utf8View, false);
                let entries = DataType::Struct(vec![key, values.field("value")].into());
                DataType::Map(Arc::new(ArrowField::new("entries", entries, false)), false)
            }
            (Kind::Record(fields), _) => DataType::Struct(arrow_fields(fields)),
        }
    }

    fn field(&self, name: &str) -> ArrowField {
        let is_nullable = self.nulls != Nulls::Never || self.kind == Kind::Null;
        let field = ArrowField::new(name, self.arrow(), is_nullable);
        match (&self.kind, self.logical) {
            (Kind::Fixed(_), Some(Logical::Uuid)) => uuid::annotated(&field),
            _ => field,
        }
    }

    /// What the crate is given: every named type has a name of its own, without a character that JSON would escape.
    fn plain(&self, names: &mut usize) -> Value {
        let mut named = |kind: &str, key: &str, value: Value| {
            *names += 1;
            let mut object = Map::new();
            object.insert("type".into(), kind.into());
            object.insert("name".into(), format!("t{names}").into());
            object.insert(key.into(), value);
            object
        };
        let mut plain: Value = match &self.kind {
            Kind::Null => "null".into(),
            Kind::Boolean => "boolean".into(),
            Kind::Int => "int".into(),
            Kind::Long => "long".into(),
            Kind::Float => "float".into(),
            Kind::Double => "double".into(),
            Kind::Bytes => "bytes".into(),
            // UUIDs as text stay the text that they are.
            Kind::String => return self.in_union("string".into()),
            Kind::Fixed(size) => named("fixed", "size", (*size).into()).into(),
            // `columns.rs` makes symbols of the numbers.
            Kind::Enum(_) => "int".into(),
            Kind::Array(items) => json!({"type": "array", "items": items.plain(names)}),
            Kind::Map(values) => json!({"type": "map", "values": values.plain(names)}),
            Kind::Record(fields) => {
                let record = named("record", "fields", Value::Null);
                plain_record(record, fields, names)
            }
        };
        let logical = match self.logical {
            None | Some(Logical::Uuid) => None,
            Some(Logical::Decimal(..)) => Some("decimal"),
            Some(Logical::Date) => Some("date"),
            Some(Logical::Time(TimeUnit::Millisecond)) => Some("time-millis"),
            Some(Logical::Time(_)) => Some("time-micros"),
            Some(Logical::Timestamp(unit, in_utc)) => Some(match (unit, in_utc) {
                (TimeUnit::Millisecond, true) => "timestamp-millis",
                (TimeUnit::Millisecond, false) => "local-timestamp-millis",
                (TimeUnit::Nanosecond, true) => "timestamp-nanos",
                (TimeUnit::Nanosecond, false) => "local-timestamp-nanos",
                (_, true) => "timestamp-micros",
                (_, false) => "local-timestamp-micros",
            }),
            Some(Logical::Duration) => Some("duration"),
        };
        if let Some(logical) = logical {
            if plain.is_string() {
                plain = json!({"type": plain});
            }
            plain["logicalType"] = logical.into();
        }
        if let Some(Logical::Decimal(precision, scale)) = self.logical {
            plain["precision"] = precision.into();
            plain["scale"] = scale.into();
        }
        self.in_union(plain)
    }

    fn in_union(&self, plain: Value) -> Value {
        match self.nulls {
            Nulls::Never => plain,
            Nulls::First => json!(["null", plain]),
            Nulls::Last => json!([plain, "null"]),
        }
    }
}

fn plain_record(mut record: Map<String, Value>, fields: &[Field], names: &mut usize) -> Value {
    let fields = fields.iter().enumerate();
    let fields = fields
        .map(|(number, field)| json!({"name": format!("f{number}"), "type": field.data_type.plain(names)}));
    record.insert("fields".into(), Value::Array(fields.collect()));
    record.into()
}

/// The JSON of rows of these fields that the crate is given.
pub fn plain(fields: &[Field]) -> String {
    let mut record = Map::new();
    record.insert("type".into(), "record".into());
    record.insert("name".into(), "t".into());
    plain_record(record, fields, &mut 0).to_string()
}

fn arrow_fields(fields: &[Field]) -> Fields {
    fields.iter().map(|field| field.data_type.field(&field.name)).collect()
}

/// The columns of rows of these fields.
pub fn arrow_schema(fields: &[Field]) -> Schema {
    Schema::new(arrow_fields(fields))
}

/// The fields of a row, by the JSON of a file's metadata.
///
/// # Errors
/// It is no schema of records, or a column is of a type that is not read.
pub fn parse(json: &[u8]) -> Result<Vec<Field>> {
    let value: Value = serde_json::from_slice(json).map_err(|e| bad(format_args!("its schema: {e}")))?;
    if value.is_array() {
        return Err(refused("", "is a union, and rows are records"));
    }
    let mut names = Names::default();
    let row = names.parse(&value, "", "", 0)?;
    match row {
        Type { kind: Kind::Record(fields), nulls: Nulls::Never, .. } => Ok(fields),
        other => Err(refused("", &format!("is that of {}, and rows are records", kind_name(&other)))),
    }
}

/// The error of a column, or of the whole schema if the path is empty.
fn refused(path: &str, what: &str) -> Error {
    let message = match path {
        "" => format!("its schema {what}"),
        path => format!("column '{path}' {what}"),
    };
    Error::Schema { path: PathBuf::new(), message }
}

/// The error of a union of other branches than null and one type.
fn not_read(branches: &[Value], path: &str) -> Error {
    let name = |value: &Value| match value {
        Value::String(name) => name.clone(),
        Value::Object(object) => {
            let name = object.get("name").or_else(|| object.get("type"));
            name.and_then(Value::as_str).unwrap_or("another").to_string()
        }
        _ => "another".to_string(),
    };
    let branches: Vec<String> = branches.iter().take(8).map(name).collect();
    let what = format!(
        "is a union of {}; read are unions of null and one other type: write the file without it",
        branches.join(", ")
    );
    refused(path, &what)
}

fn kind_name(data_type: &Type) -> &'static str {
    match data_type.kind {
        Kind::Null => "null",
        Kind::Boolean => "boolean",
        Kind::Int => "int",
        Kind::Long => "long",
        Kind::Float => "float",
        Kind::Double => "double",
        Kind::Bytes => "bytes",
        Kind::String => "string",
        Kind::Fixed(_) => "fixed",
        Kind::Enum(_) => "enum",
        Kind::Array(_) => "array",
        Kind::Map(_) => "map",
        Kind::Record(_) => "record",
    }
}

/// The named types that a schema has defined so far.
#[derive(Default)]
struct Names<'a> {
    /// By their full names, with the namespace around them.
    defined: HashMap<String, (&'a Value, String)>,
    /// The records that are being parsed.
    open: Vec<String>,
    types: usize,
}

impl<'a> Names<'a> {
    /// Parses a type that stands in this namespace, in the column of this path.
    fn parse(&mut self, value: &'a Value, namespace: &str, path: &str, depth: usize) -> Result<Type> {
        self.types += 1;
        if self.types > MOST_TYPES {
            return Err(refused("", &format!("has more than {MOST_TYPES} types")));
        }
        if depth > DEEPEST {
            return Err(refused(path, "has more types within one another than are read"));
        }
        match value {
            Value::String(name) => self.named(name, &Map::new(), namespace, path, depth),
            Value::Array(branches) => self.union(branches, namespace, path, depth),
            Value::Object(object) => match object.get("type") {
                Some(Value::String(name)) => self.complex(name, value, object, namespace, path, depth),
                Some(inner) => self.parse(inner, namespace, path, depth),
                None => Err(refused(path, "has a type without 'type'")),
            },
            _ => Err(refused(path, "has a type that is neither a name, an object nor an array")),
        }
    }

    /// A primitive type with its attributes, or one that was defined before.
    fn named(
        &mut self,
        name: &str,
        attributes: &Map<String, Value>,
        namespace: &str,
        path: &str,
        depth: usize,
    ) -> Result<Type> {
        let kind = match name {
            "null" => Kind::Null,
            "boolean" => Kind::Boolean,
            "int" => Kind::Int,
            "long" => Kind::Long,
            "float" => Kind::Float,
            "double" => Kind::Double,
            "bytes" => Kind::Bytes,
            "string" => Kind::String,
            _ => return self.defined(name, namespace, path, depth),
        };
        // A null within a list or a struct is of a type without values, which columns don't have.
        if kind == Kind::Null && depth > RECORD_LEVELS {
            return Err(refused(
                path,
                "has values of the type null alone within another type, which are not read",
            ));
        }
        let logical = logical(&kind, attributes, path)?;
        Ok(Type::new(kind, logical))
    }

    fn defined(&mut self, name: &str, namespace: &str, path: &str, depth: usize) -> Result<Type> {
        let full = full_name(name, namespace);
        let full = if self.defined.contains_key(&full) { full } else { name.to_string() };
        if self.open.contains(&full) {
            let what = format!("holds itself by the record '{full}': recursive types are not read");
            return Err(refused(path, &what));
        }
        let Some((value, around)) = self.defined.get(&full) else {
            return Err(refused(path, &format!("has the type '{name}', which is not defined")));
        };
        let (value, around) = (*value, around.clone());
        self.parse(value, &around, path, depth)
    }

    fn union(&mut self, branches: &'a [Value], namespace: &str, path: &str, depth: usize) -> Result<Type> {
        let is_null = |value: &Value| {
            let of_object =
                |object: &Map<String, Value>| object.get("type").is_some_and(|kind| *kind == "null");
            *value == "null" || value.as_object().is_some_and(of_object)
        };
        let (nulls, other) = match branches {
            [null, other] if is_null(null) && !is_null(other) => (Nulls::First, other),
            [other, null] if is_null(null) && !is_null(other) => (Nulls::Last, other),
            _ => return Err(not_read(branches, path)),
        };
        if other.is_array() {
            return Err(refused(path, "is a union within a union"));
        }
        let parsed = self.parse(other, namespace, path, depth + 1)?;
        Ok(Type { nulls, ..parsed })
    }

    fn complex(
        &mut self,
        name: &str,
        value: &'a Value,
        object: &'a Map<String, Value>,
        namespace: &str,
        path: &str,
        depth: usize,
    ) -> Result<Type> {
        let inner = |key: &str| {
            object.get(key).ok_or_else(|| refused(path, &format!("is of the type {name} without '{key}'")))
        };
        match name {
            "array" => {
                let items = self.parse(inner("items")?, namespace, path, depth + 1)?;
                Ok(Type::new(Kind::Array(Box::new(items)), None))
            }
            "map" => {
                let values = self.parse(inner("values")?, namespace, path, depth + 1)?;
                Ok(Type::new(Kind::Map(Box::new(values)), None))
            }
            "record" | "error" => {
                let (full, namespace) = self.define(value, object, namespace, path)?;
                let fields = inner("fields")?.as_array();
                let fields = fields.ok_or_else(|| refused(path, "has a record whose fields are no array"))?;
                self.open.push(full);
                let fields: Vec<Field> = fields
                    .iter()
                    .map(|field| self.field(field, &namespace, path, depth))
                    .collect::<Result<_>>()?;
                self.open.pop();
                if fields.is_empty() {
                    return Err(refused(path, "has a record without fields, which is not read"));
                }
                Ok(Type::new(Kind::Record(fields), None))
            }
            "enum" => {
                self.define(value, object, namespace, path)?;
                let symbols = inner("symbols")?.as_array().map(|symbols| {
                    symbols
                        .iter()
                        .map(|symbol| symbol.as_str().map(str::to_string))
                        .collect::<Option<Vec<_>>>()
                });
                match symbols.flatten() {
                    Some(symbols) if !symbols.is_empty() => Ok(Type::new(Kind::Enum(symbols), None)),
                    _ => Err(refused(path, "is an enum without symbols")),
                }
            }
            "fixed" => {
                self.define(value, object, namespace, path)?;
                let size = inner("size")?.as_u64().filter(|size| (1..=i32::MAX as u64).contains(size));
                let size =
                    size.ok_or_else(|| refused(path, "is of the type fixed, of 0 or too many bytes"))?;
                let kind = Kind::Fixed(size as usize);
                let logical = logical(&kind, object, path)?;
                Ok(Type::new(kind, logical))
            }
            _ => self.named(name, object, namespace, path, depth),
        }
    }

    fn field(&mut self, field: &'a Value, namespace: &str, path: &str, depth: usize) -> Result<Field> {
        let name = field.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| refused(path, "has a field without a name"))?;
        let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        let data_type = field.get("type").ok_or_else(|| refused(&path, "has no type"))?;
        let data_type = self.parse(data_type, namespace, &path, depth + RECORD_LEVELS)?;
        Ok(Field { name: name.to_string(), data_type })
    }

    /// Notes a named type. Gives its full name, and the namespace of what stands in it.
    fn define(
        &mut self,
        value: &'a Value,
        object: &Map<String, Value>,
        namespace: &str,
        path: &str,
    ) -> Result<(String, String)> {
        let name = object.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| refused(path, "has a named type without a name"))?;
        let own = object.get("namespace").and_then(Value::as_str).unwrap_or(namespace);
        let full = full_name(name, own);
        let within = full.rsplit_once('.').map_or("", |(namespace, _)| namespace).to_string();
        self.defined.insert(full.clone(), (value, namespace.to_string()));
        Ok((full, within))
    }
}

/// A name with its namespace. One with a point has it already.
fn full_name(name: &str, namespace: &str) -> String {
    match namespace.is_empty() || name.contains('.') {
        true => name.trim_start_matches('.').to_string(),
        false => format!("{namespace}.{name}"),
    }
}

/// The logical type that attributes give. One that does not go with how values are written is ignored, as the specification
/// says.
fn logical(kind: &Kind, attributes: &Map<String, Value>, path: &str) -> Result<Option<Logical>> {
    let Some(name) = attributes.get("logicalType").and_then(Value::as_str) else { return Ok(None) };
    Ok(match (name, kind) {
        ("date", Kind::Int) => Some(Logical::Date),
        ("time-millis", Kind::Int) => Some(Logical::Time(TimeUnit::Millisecond)),
        ("time-micros", Kind::Long) => Some(Logical::Time(TimeUnit::Microsecond)),
        ("timestamp-millis", Kind::Long) => Some(Logical::Timestamp(TimeUnit::Millisecond, true)),
        ("timestamp-micros", Kind::Long) => Some(Logical::Timestamp(TimeUnit::Microsecond, true)),
        ("timestamp-nanos", Kind::Long) => Some(Logical::Timestamp(TimeUnit::Nanosecond, true)),
        ("local-timestamp-millis", Kind::Long) => Some(Logical::Timestamp(TimeUnit::Millisecond, false)),
        ("local-timestamp-micros", Kind::Long) => Some(Logical::Timestamp(TimeUnit::Microsecond, false)),
        ("local-timestamp-nanos", Kind::Long) => Some(Logical::Timestamp(TimeUnit::Nanosecond, false)),
        ("uuid", Kind::String | Kind::Fixed(16)) => Some(Logical::Uuid),
        ("duration", Kind::Fixed(12)) => Some(Logical::Duration),
        ("decimal", Kind::Bytes | Kind::Fixed(_)) => decimal(kind, attributes, path)?,
        _ => None,
    })
}

/// A decimal whose digits the bytes hold, and whose scale is within its precision.
fn decimal(kind: &Kind, attributes: &Map<String, Value>, path: &str) -> Result<Option<Logical>> {
    /// The most digits that Arrow's decimals have, and the bytes of the widest one.
    const MOST_DIGITS: u64 = 76;
    const MOST_BYTES: usize = 32;
    let Some(precision) = attributes.get("precision").and_then(Value::as_u64).filter(|&p| p > 0) else {
        return Ok(None);
    };
    let scale = match attributes.get("scale") {
        None => 0,
        Some(scale) => match scale.as_u64().filter(|&scale| scale <= precision) {
            Some(scale) => scale,
            None => return Ok(None),
        },
    };
    if let Kind::Fixed(size) = kind {
        // The digits of the greatest number of this size: 10 to their number is at most 2 to its bits.
        let digits = ((8 * *size as u64).saturating_sub(1) as f64 * 2_f64.log10()).floor() as u64;
        if precision > digits {
            return Ok(None);
        }
        if *size > MOST_BYTES {
            return Err(refused(
                path,
                &format!("is a decimal in {size} bytes; read are those of {MOST_BYTES}"),
            ));
        }
    }
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(digits), Ok(scale)) if precision <= MOST_DIGITS => Ok(Some(Logical::Decimal(digits, scale))),
        _ => Err(refused(
            path,
            &format!("is a decimal of {precision} digits; read are those of {MOST_DIGITS}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fields: &str) -> Result<Vec<Field>> {
        let text = format!(r#"{{"type": "record", "name": "a.b.Row", "fields": [{fields}]}}"#);
        parse(text.as_bytes())
    }

    fn refusal(fields: &str) -> String {
        of(fields).unwrap_err().to_string()
    }

    #[test]
    fn names_are_found_in_their_namespaces() {
        let fields = of(r#"
            {"name": "x", "type": {"type": "enum", "name": "E", "symbols": ["A"]}},
            {"name": "y", "type": "a.b.E"},
            {"name": "z", "type": ["null", "E"]},
            {"name": "r", "type": {"type": "record", "name": "R", "namespace": "c", "fields": [
                {"name": "f", "type": {"type": "fixed", "name": "F", "size": 3}}]}},
            {"name": "s", "type": "c.F"}"#)
        .unwrap();
        assert_eq!(fields[1].data_type, fields[0].data_type);
        assert_eq!(fields[2].data_type.nulls, Nulls::First);
        assert_eq!(fields[4].data_type.kind, Kind::Fixed(3));
    }

    #[test]
    fn what_is_not_read_is_refused_by_its_column() {
        let message = refusal(r#"{"name": "x", "type": ["null", "int", "string"]}"#);
        assert!(message.contains("column 'x' is a union of null, int, string"), "{message}");
        let message = refusal(r#"{"name": "x", "type": {"type": "array", "items": "Row"}}"#);
        assert!(message.contains("column 'x' holds itself by the record 'a.b.Row'"), "{message}");
        let message = refusal(
            r#"{"name": "x", "type": {"type": "record", "name": "r", "fields": [
            {"name": "y", "type": "null"}]}}"#,
        );
        assert!(message.contains("column 'x.y' has values of the type null"), "{message}");
        assert!(refusal(r#"{"name": "x", "type": "no"}"#).contains("'no', which is not defined"));
        assert!(parse(br#""int""#).unwrap_err().to_string().contains("is that of int"));
    }

    #[test]
    fn a_small_schema_that_grows_is_refused() {
        let levels = (1..40).map(|level| {
            let last = level - 1;
            format!(
                r#"{{"name": "f{level}", "type": {{"type": "record", "name": "r{level}", "fields": [
                    {{"name": "x", "type": "r{last}"}}, {{"name": "y", "type": "r{last}"}}]}}}}"#
            )
        });
        let first = r#"{"name": "f0", "type": {"type": "record", "name": "r0", "fields": [
            {"name": "x", "type": "int"}]}}"#;
        let fields: Vec<String> = std::iter::once(first.to_string()).chain(levels).collect();
        assert!(refusal(&fields.join(", ")).contains("types"));
    }

    #[test]
    fn logical_types_that_can_not_be_are_ignored() {
        let kind = |of_type: &str| {
            of(&format!(r#"{{"name": "x", "type": {of_type}}}"#)).unwrap()[0].data_type.arrow()
        };
        let fixed = |size, precision| {
            kind(&format!(
                r#"{{"type": "fixed", "name": "f", "size": {size}, "logicalType": "decimal",
                    "precision": {precision}, "scale": 2}}"#
            ))
        };
        assert_eq!(fixed(4, 9), DataType::Decimal128(9, 2));
        assert_eq!(fixed(4, 10), DataType::FixedSizeBinary(4));
        assert_eq!(fixed(20, 40), DataType::Decimal256(40, 2));
        assert_eq!(kind(r#"{"type": "string", "logicalType": "date"}"#), DataType::Utf8View);
        assert_eq!(kind(r#"{"type": "int", "logicalType": "date"}"#), DataType::Date32);
    }

    #[test]
    fn the_crate_is_given_names_that_are_safe() {
        let fields =
            of(r#"{"name": "größe\"", "type": ["null", {"type": "fixed", "name": "é", "size": 2}]}"#);
        let plain = plain(&fields.unwrap());
        assert!(plain.is_ascii() && !plain.contains('\\'), "{plain}");
    }
}
