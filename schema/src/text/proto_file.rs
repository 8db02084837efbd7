//! `.proto` files as schemas: a message becomes the columns of a table.
//!
//! | field | column |
//! |---|---|
//! | `bool` | BOOLEAN |
//! | `int32`, `sint32`, `sfixed32`; `uint32`, `fixed32` | INT; UINTEGER |
//! | `int64`, `sint64`, `sfixed64`; `uint64`, `fixed64` | BIGINT; UBIGINT |
//! | `float`, `double` | FLOAT, DOUBLE |
//! | `string`; `bytes` | VARCHAR; BLOB |
//! | an enum | VARCHAR: the name of the value |
//! | a message | STRUCT |
//! | `repeated`; `map` | a list; MAP |
//! | `google.protobuf.Timestamp` | TIMESTAMP(9) WITH TIME ZONE |
//! | the wrappers, such as `google.protobuf.Int32Value` | the type of their value |
//! | `google.protobuf.Duration`, `Any`, `FieldMask` | STRUCT of their fields |
//!
//! The text is parsed by protox-parse, which bounds how deep messages lie within one another. Names of types are
//! resolved here, from the innermost message outwards. Files that it imports are not read.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use prost_types::field_descriptor_proto::{Label as ProtoLabel, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto};

use super::TextError;
use super::described::{Records, check_name, check_text, count_names, joined, refused};
use super::types::DEEPEST;
use crate::messages::{FieldKind, FieldLayout, Label, MessageLayout};

/// A message has at most so many fields, those within one another counted wherever they occur.
const MOST_FIELDS: usize = 10_000;

/// What to do about a field that can't be a column.
const LEAVE_OUT: &str = "take the field out of the file, and it is passed over";

/// The columns of a message, and how its fields lie.
///
/// `message` names it, with its package and the messages around it, or without. If it is `None`, the message is the only
/// one of the file that lies in no other, or the one that is called like the table.
pub fn parse(text: &str, message: Option<&str>, table: &str) -> Result<(Schema, MessageLayout), TextError> {
    check_text(text, "message")?;
    let file = protox_parse::parse("", text).map_err(|error| syntax_error(text, &error))?;
    let types = Types::of(&file)?;
    let chosen = types.records(&file).choose(message, table)?;
    let mut columns = Columns { types: &types, within: Vec::new(), fields: 0, enum_bytes: 0 };
    let (fields, layout) = columns.message(&chosen, 0)?;
    Ok((Schema::new(fields), layout))
}

fn syntax_error(text: &str, error: &protox_parse::ParseError) -> TextError {
    let at = error.span().map_or(text.len(), |span| span.start);
    let before = text.get(..at).unwrap_or(text);
    let is_edition = text.lines().any(|line| line.trim_start().starts_with("edition"));
    let help =
        if is_edition { " (editions are not read: syntax = \"proto2\" and \"proto3\" are)" } else { "" };
    TextError::File {
        line: before.matches('\n').count() + 1,
        column: before.chars().rev().take_while(|&c| c != '\n').count() + 1,
        message: format!("{error}{help}"),
    }
}

/// A type that a file declares.
#[derive(Clone, Copy)]
enum Declared<'a> {
    Message(&'a DescriptorProto),
    Enum(&'a EnumDescriptorProto),
}

/// The types that a file declares, by their full names.
struct Types<'a> {
    by_name: HashMap<String, Declared<'a>>,
    proto3: bool,
    /// Whether the file imports others than those of Protocol Buffers itself.
    imports: bool,
}

impl<'a> Types<'a> {
    fn of(file: &'a FileDescriptorProto) -> Result<Types<'a>, TextError> {
        let mut types = Types {
            by_name: HashMap::new(),
            proto3: file.syntax() == "proto3",
            imports: file.dependency.iter().any(|import| !import.starts_with("google/protobuf/")),
        };
        let package = file.package();
        for declared in &file.enum_type {
            types.add(package, declared.name(), Declared::Enum(declared))?;
        }
        let mut waiting: Vec<(String, &DescriptorProto)> =
            file.message_type.iter().map(|message| (package.to_string(), message)).collect();
        while let Some((scope, message)) = waiting.pop() {
            let name = types.add(&scope, message.name(), Declared::Message(message))?;
            for declared in &message.enum_type {
                types.add(&name, declared.name(), Declared::Enum(declared))?;
            }
            waiting.extend(message.nested_type.iter().map(|nested| (name.clone(), nested)));
        }
        Ok(types)
    }

    fn add(&mut self, scope: &str, name: &str, declared: Declared<'a>) -> Result<String, TextError> {
        let full = joined(scope, name);
        check_name(&full)?;
        match self.by_name.insert(full.clone(), declared) {
            None => Ok(full),
            Some(_) => Err(refused(&full, "two types have this name")),
        }
    }

    /// What the file gives names to that may be the table.
    fn records<'f>(&self, file: &'f FileDescriptorProto) -> Records<'f> {
        let is_message = |&(_, declared): &(&String, &Declared)| matches!(declared, Declared::Message(_));
        Records {
            kind: "message",
            extension: "proto",
            package: file.package(),
            outer: file.message_type.iter().map(DescriptorProto::name).collect(),
            all: self.by_name.iter().filter(is_message).map(|(name, _)| name.clone()).collect(),
        }
    }

    /// The type that a name means within the message `scope`: the nearest one of that name.
    fn resolve(&self, name: &str, scope: &str) -> Option<(String, Declared<'a>)> {
        let known = |full: String| self.by_name.get(&full).map(|&declared| (full, declared));
        if let Some(full) = name.strip_prefix('.') {
            return known(full.to_string());
        }
        let mut scope = Some(scope);
        while let Some(around) = scope {
            if let Some(found) = known(joined(around, name)) {
                return Some(found);
            }
            scope = match around.rsplit_once('.') {
                Some((outer, _)) => Some(outer),
                None if around.is_empty() => None,
                None => Some(""),
            };
        }
        None
    }
}

/// Makes columns of messages.
struct Columns<'a> {
    types: &'a Types<'a>,
    /// The full names of the messages that lie around the one at hand, which it must not hold.
    within: Vec<String>,
    /// How many fields there are so far.
    fields: usize,
    /// The bytes of the names that enums of these have.
    enum_bytes: usize,
}

impl Columns<'_> {
    /// The columns of the message of this full name, which lies `depth` types deep.
    fn message(&mut self, full: &str, depth: usize) -> Result<(Vec<Field>, MessageLayout), TextError> {
        let Some(&Declared::Message(message)) = self.types.by_name.get(full) else {
            return Err(refused(full, "there is no such message"));
        };
        if message.field.is_empty() {
            return Err(refused(full, format!("the message has no fields, and no columns; {LEAVE_OUT}")));
        }
        self.within.push(full.to_string());
        let (mut fields, mut layouts): (Vec<Field>, Vec<FieldLayout>) = (Vec::new(), Vec::new());
        let (mut names, mut numbers) = (HashMap::new(), HashMap::new());
        for declared in &message.field {
            check_name(declared.name())?;
            let path = joined(full, declared.name());
            let number = u32::try_from(declared.number()).unwrap_or_default();
            if number == 0 {
                return Err(refused(&path, "the number of a field is at least 1"));
            }
            if let Some(other) = numbers.insert(number, declared.name()) {
                return Err(refused(&path, format!("the field '{other}' has the number {number} too")));
            }
            if names.insert(declared.name(), ()).is_some() {
                return Err(refused(&path, "two fields have this name"));
            }
            self.fields += 1;
            if self.fields > MOST_FIELDS {
                return Err(refused(
                    &path,
                    format!("the message has more than {MOST_FIELDS} fields within one another; {LEAVE_OUT}"),
                ));
            }
            let (field, layout) = self.field(declared, number, full, &path, depth)?;
            fields.push(field);
            layouts.push(layout);
        }
        self.within.pop();
        Ok((fields, MessageLayout::new(layouts, u32::try_from(message.oneof_decl.len()).unwrap_or(u32::MAX))))
    }

    fn field(
        &mut self,
        declared: &FieldDescriptorProto,
        number: u32,
        scope: &str,
        path: &str,
        depth: usize,
    ) -> Result<(Field, FieldLayout), TextError> {
        let is_list = declared.label() == ProtoLabel::Repeated;
        let (data_type, kind, is_map) = self.kind(declared, scope, path, depth + usize::from(is_list))?;
        let is_optional = declared.proto3_optional();
        let oneof = declared.oneof_index.filter(|_| !is_optional).and_then(|index| u32::try_from(index).ok());
        let label = match declared.label() {
            _ if is_map => Label::Map,
            ProtoLabel::Repeated => Label::Repeated,
            ProtoLabel::Required => Label::Required,
            ProtoLabel::Optional => {
                let has_presence = is_optional || oneof.is_some() || kind.message().is_some();
                if self.types.proto3 && !has_presence { Label::Implicit } else { Label::Explicit }
            }
        };
        let data_type = match label {
            Label::Repeated => DataType::new_list(data_type, true),
            _ => data_type,
        };
        // Within others every value may be NULL in the type, as the struct may be NULL that holds it.
        let nullable = depth > 0 || label == Label::Explicit;
        let name = declared.name().to_string();
        Ok((Field::new(&name, data_type, nullable), FieldLayout { name, number, label, kind, oneof }))
    }

    /// The type of the values of a field, and what they are; also whether they are entries of a map.
    fn kind(
        &mut self,
        declared: &FieldDescriptorProto,
        scope: &str,
        path: &str,
        depth: usize,
    ) -> Result<(DataType, FieldKind, bool), TextError> {
        if depth > DEEPEST {
            let message = format!("more than {DEEPEST} types lie within one another; {LEAVE_OUT}");
            return Err(refused(path, message));
        }
        let flat = |data_type, kind| Ok((data_type, kind, false));
        match declared.r#type.and_then(|number| Type::try_from(number).ok()) {
            Some(Type::Bool) => flat(DataType::Boolean, FieldKind::Bool),
            Some(Type::Int32) => flat(DataType::Int32, FieldKind::Int32),
            Some(Type::Sint32) => flat(DataType::Int32, FieldKind::SInt32),
            Some(Type::Sfixed32) => flat(DataType::Int32, FieldKind::SFixed32),
            Some(Type::Uint32) => flat(DataType::UInt32, FieldKind::UInt32),
            Some(Type::Fixed32) => flat(DataType::UInt32, FieldKind::Fixed32),
            Some(Type::Int64) => flat(DataType::Int64, FieldKind::Int64),
            Some(Type::Sint64) => flat(DataType::Int64, FieldKind::SInt64),
            Some(Type::Sfixed64) => flat(DataType::Int64, FieldKind::SFixed64),
            Some(Type::Uint64) => flat(DataType::UInt64, FieldKind::UInt64),
            Some(Type::Fixed64) => flat(DataType::UInt64, FieldKind::Fixed64),
            Some(Type::Float) => flat(DataType::Float32, FieldKind::Float),
            Some(Type::Double) => flat(DataType::Float64, FieldKind::Double),
            Some(Type::String) => flat(DataType::Utf8View, FieldKind::Text),
            Some(Type::Bytes) => flat(DataType::BinaryView, FieldKind::Bytes),
            Some(Type::Group) => Err(refused(path, format!("groups are not read; {LEAVE_OUT}"))),
            // The parser leaves open whether a name means a message or an enum.
            Some(Type::Message | Type::Enum) | None => self.named(declared.type_name(), scope, path, depth),
        }
    }

    fn named(
        &mut self,
        name: &str,
        scope: &str,
        path: &str,
        depth: usize,
    ) -> Result<(DataType, FieldKind, bool), TextError> {
        let (full, message) = match self.types.resolve(name, scope) {
            Some((_, Declared::Enum(declared))) => {
                count_names(&mut self.enum_bytes, declared.value.iter().map(|value| value.name()), path)?;
                return Ok((DataType::Utf8View, names_of(declared, path)?, false));
            }
            Some((full, Declared::Message(message))) => (full, message),
            None => return self.elsewhere(name, path),
        };
        if self.within.contains(&full) {
            let message =
                format!("the message {full} holds itself, which no type of a column does; {LEAVE_OUT}");
            return Err(refused(path, message));
        }
        let (fields, mut layout) = self.message(&full, depth + 1)?;
        if !message.options.as_ref().is_some_and(|options| options.map_entry()) {
            return Ok((DataType::Struct(fields.into()), FieldKind::Message(Box::new(layout)), false));
        }
        // Key and value of an entry are 0 or empty if they are not there, even in proto2.
        layout.fields.iter_mut().for_each(|field| field.label = Label::Implicit);
        let [key, value] = <[Field; 2]>::try_from(fields)
            .map_err(|_| refused(path, "the entry of a map has a key and a value, and nothing else"))?;
        let entry = vec![key.with_nullable(false), value.with_nullable(true)];
        let entries = Field::new("entries", DataType::Struct(entry.into()), false);
        Ok((DataType::Map(Arc::new(entries), false), FieldKind::Message(Box::new(layout)), true))
    }

    /// A type that the file does not declare: one of Protocol Buffers itself.
    fn elsewhere(&mut self, name: &str, path: &str) -> Result<(DataType, FieldKind, bool), TextError> {
        let plain = |name: &str, number, label, kind| FieldLayout {
            name: name.to_string(),
            number,
            label,
            kind,
            oneof: None,
        };
        let layout = |fields: &[(&str, Label, FieldKind)]| {
            let fields = (1..)
                .zip(fields)
                .map(|(number, (name, label, kind))| plain(name, number, *label, kind.clone()));
            Box::new(MessageLayout::new(fields.collect(), 0))
        };
        let structure = |fields: Vec<(&str, DataType)>| {
            DataType::Struct(fields.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect())
        };
        let time =
            || [("seconds", Label::Implicit, FieldKind::Int64), ("nanos", Label::Implicit, FieldKind::Int32)];
        let wrapper = |data_type, kind| {
            Ok((data_type, FieldKind::Wrapper(layout(&[("value", Label::Implicit, kind)])), false))
        };
        match name.trim_start_matches('.').strip_prefix("google.protobuf.") {
            Some("Timestamp") => {
                let data_type = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
                Ok((data_type, FieldKind::Moment(layout(&time())), false))
            }
            Some("Duration") => {
                let data_type = structure(vec![("seconds", DataType::Int64), ("nanos", DataType::Int32)]);
                Ok((data_type, FieldKind::Message(layout(&time())), false))
            }
            Some("Any") => {
                let fields = [
                    ("type_url", Label::Implicit, FieldKind::Text),
                    ("value", Label::Implicit, FieldKind::Bytes),
                ];
                let data_type =
                    structure(vec![("type_url", DataType::Utf8View), ("value", DataType::BinaryView)]);
                Ok((data_type, FieldKind::Message(layout(&fields)), false))
            }
            Some("FieldMask") => {
                let data_type = structure(vec![("paths", DataType::new_list(DataType::Utf8View, true))]);
                let fields = [("paths", Label::Repeated, FieldKind::Text)];
                Ok((data_type, FieldKind::Message(layout(&fields)), false))
            }
            Some("BoolValue") => wrapper(DataType::Boolean, FieldKind::Bool),
            Some("Int32Value") => wrapper(DataType::Int32, FieldKind::Int32),
            Some("Int64Value") => wrapper(DataType::Int64, FieldKind::Int64),
            Some("UInt32Value") => wrapper(DataType::UInt32, FieldKind::UInt32),
            Some("UInt64Value") => wrapper(DataType::UInt64, FieldKind::UInt64),
            Some("FloatValue") => wrapper(DataType::Float32, FieldKind::Float),
            Some("DoubleValue") => wrapper(DataType::Float64, FieldKind::Double),
            Some("StringValue") => wrapper(DataType::Utf8View, FieldKind::Text),
            Some("BytesValue") => wrapper(DataType::BinaryView, FieldKind::Bytes),
            Some(other @ ("Struct" | "Value" | "ListValue" | "NullValue" | "Empty")) => {
                Err(refused(path, format!("google.protobuf.{other} has no type of a column; {LEAVE_OUT}")))
            }
            _ if self.types.imports => Err(refused(
                path,
                format!(
                    "the type '{name}' is not in this file, and files that it imports are not read; copy it into this file"
                ),
            )),
            _ => Err(refused(path, format!("there is no type '{name}'"))),
        }
    }
}

/// The names of an enum by their numbers; of two names for one number the first counts.
fn names_of(declared: &EnumDescriptorProto, path: &str) -> Result<FieldKind, TextError> {
    let mut names: Vec<(i32, String)> =
        declared.value.iter().map(|value| (value.number(), value.name().to_string())).collect();
    let Some(&(first, _)) = names.first() else {
        return Err(refused(path, format!("the enum {} has no values", declared.name())));
    };
    names.sort_by_key(|&(number, _)| number);
    names.dedup_by_key(|(number, _)| *number);
    Ok(FieldKind::Enum(names, first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::ddl;

    fn columns(text: &str, message: Option<&str>) -> Result<String, String> {
        let (schema, layout) = parse(text, message, "t").map_err(|error| error.to_string())?;
        assert_eq!(schema.fields().len(), layout.fields.len());
        let printed = ddl::print("t", &schema).expect("all types have names");
        let inner = printed.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
        Ok(inner.expect("it is a table").0.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn refused(text: &str, message: Option<&str>) -> String {
        columns(text, message).expect_err(text)
    }

    #[test]
    fn fields_become_columns_with_their_presence() {
        let text = r#"syntax = "proto3";
            package shop.v1;
            message Order {
              uint64 id = 7;  // the number decides
              optional string note = 2;
              Kind kind = 3;
              repeated Line lines = 4;
              map<string, double> rates = 5;
              oneof paid { bool cash = 6; Card card = 8; }
              enum Kind { UNKNOWN = 0; SALE = 1; GIFT = 1; option allow_alias = true; }
              message Line { string sku = 1; int32 count = 2; }
            }
            message Card { bytes number = 1; }"#;
        let expected = "id UBIGINT NOT NULL, note VARCHAR NULL, kind VARCHAR NOT NULL, \
                        lines STRUCT(sku VARCHAR, \"count\" INT)[] NOT NULL, \
                        rates MAP(VARCHAR, DOUBLE) NOT NULL, cash BOOLEAN NULL, card STRUCT(\"number\" BLOB) NULL";
        let found = columns(text, Some("Order")).unwrap();
        assert_eq!(found.replace('"', ""), expected.replace('"', ""));
        for name in ["shop.v1.Order", ".shop.v1.Order", "Order"] {
            assert_eq!(columns(text, Some(name)).unwrap(), found);
        }
        assert_eq!(columns(text, Some("Line")).unwrap().matches("NOT NULL").count(), 2);
        let (_, layout) = parse(text, Some("Order"), "t").unwrap();
        let kind = FieldKind::Enum(vec![(0, "UNKNOWN".into()), (1, "SALE".into())], 0);
        assert_eq!((layout.fields[0].number, &layout.fields[2].kind), (7, &kind));
        assert_eq!(
            (layout.fields[5].oneof, layout.fields[6].oneof, layout.fields[1].oneof),
            (Some(0), Some(0), None)
        );

        let two = "message A { required int32 r = 1; optional int32 o = 2; repeated B b = 3; } message B { optional int32 x = 1; }";
        assert_eq!(
            columns(two, Some("A")).unwrap(),
            "r INT NOT NULL, o INT NULL, b STRUCT(x INT)[] NOT NULL"
        );
    }

    #[test]
    fn the_nearest_type_of_a_name_is_meant() {
        let text = r#"syntax = "proto3"; package p;
            message T { string outer = 1; }
            message M { T a = 1; .p.T b = 2; p.T c = 3; N d = 4; M2.T e = 5;
              message T { int32 inner = 1; }
              message N { T f = 1; } }
            message M2 { message T { bool other = 1; } }"#;
        let expected = "a STRUCT(inner INT) NULL, b STRUCT(\"outer\" VARCHAR) NULL, c STRUCT(\"outer\" VARCHAR) NULL, \
                        d STRUCT(f STRUCT(inner INT)) NULL, e STRUCT(other BOOLEAN) NULL";
        assert_eq!(columns(text, Some("M")).unwrap().replace('"', ""), expected.replace('"', ""));
        // The outer one is called so as a whole; without it, several would be meant.
        assert_eq!(columns(text, Some("T")).unwrap().replace('"', ""), "outer VARCHAR NOT NULL");
        let without =
            text.replace("message T { string outer", "message U { string outer").replace("p.T", "p.U");
        assert!(refused(&without, Some("T")).contains("(p.M.T, p.M2.T)"));
    }

    #[test]
    fn the_table_chooses_among_several_messages() {
        let text = "syntax = \"proto3\"; message T { int32 a = 1; } message UserVisits { int32 b = 1; }";
        assert_eq!(columns(text, None).unwrap(), "a INT NOT NULL");
        assert_eq!(parse(text, None, "user_visits").unwrap().0.field(0).name(), "b");
        let error = parse(text, None, "other").unwrap_err().to_string();
        assert!(
            error.contains("several messages (T, UserVisits)") && error.contains("FILE.proto#T"),
            "{error}"
        );
        assert!(refused(text, Some("X")).contains("no message 'X'; it has T, UserVisits"));
        let one = "syntax = \"proto3\"; message Whatever { int32 a = 1; message T { int32 c = 1; } }";
        assert_eq!(columns(one, None).unwrap(), "a INT NOT NULL");
        assert!(refused("syntax = \"proto3\";", None).contains("the file has no message"));
    }

    #[test]
    fn what_has_no_column_is_refused_with_its_name() {
        let proto3 = |text: &str| refused(&format!("syntax = \"proto3\"; {text}"), Some("M"));
        for (text, part) in [
            ("message M { N n = 1; } message N { repeated M m = 1; }", "N.m: the message M holds itself"),
            ("message M { map<int32, M> m = 1; }", "holds itself"),
            ("message M { E e = 1; } message E { }", "E: the message has no fields"),
            (
                "message M { google.protobuf.Value v = 1; }",
                "M.v: google.protobuf.Value has no type of a column",
            ),
            ("message M { X x = 1; }", "M.x: there is no type 'X'"),
            ("import \"other.proto\"; message M { X x = 1; }", "files that it imports are not read"),
            ("message M { int32 a = 1; int32 b = 1; }", "M.b: the field 'a' has the number 1 too"),
            ("message M { int32 a = 1; int32 a = 2; }", "M.a: two fields have this name"),
            ("message M { int32 a = 1; } message M { int32 a = 1; }", "M: two types have this name"),
            ("message M {\n  int32 a = ;\n}", "line 2, column 13: expected"),
        ] {
            let error = proto3(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        let group = "message M { optional group G = 1 { optional int32 a = 1; } }";
        assert!(refused(group, Some("M")).contains("M.g: groups are not read"));
        let edition = refused("edition = \"2023\"; message M { int32 a = 1; }", Some("M"));
        assert!(edition.contains("editions are not read"), "{edition}");
    }

    #[test]
    fn a_file_that_asks_for_too_much_is_refused() {
        // Each message holds the one before twice.
        let doubled: String =
            (1..30).map(|n| format!("message M{n} {{ M{} a = 1; M{} b = 2; }}", n - 1, n - 1)).collect();
        let text = format!("syntax = \"proto3\"; message M0 {{ int32 x = 1; }} {doubled}");
        assert!(refused(&text, Some("M20")).contains("more than 10000 fields within one another"));
        // Deep in one another, with braces and by names.
        let nested = format!("syntax = \"proto3\"; {}{}", "message M { ".repeat(10_000), "}".repeat(10_000));
        assert!(!refused(&nested, None).is_empty());
        let chain: String = (1..50).map(|n| format!("message M{n} {{ M{} a = 1; }}", n - 1)).collect();
        let text = format!("syntax = \"proto3\"; message M0 {{ int32 x = 1; }} {chain}");
        assert!(columns(&text, Some("M30")).is_ok());
        assert!(refused(&text, Some("M49")).contains("more than 32 types lie within one another"));
        let long = format!("syntax = \"proto3\"; // {}", "x".repeat(1 << 20));
        assert!(refused(&long, None).contains("more than 1 MiB"));
        // Names that each place keeps in which they are used.
        let name = "n".repeat(1001);
        for text in
            [format!("message {name} {{ int32 a = 1; }}"), format!("message M {{ int32 {name} = 1; }}")]
        {
            assert!(
                refused(&format!("syntax = \"proto3\"; {text}"), None)
                    .contains("a name has at most 1000 bytes")
            );
        }
        let values: String = (0..5000).map(|n| format!("{}{n} = {n}; ", "V".repeat(60))).collect();
        let fields: String = (1..100).map(|n| format!("E f{n} = {n}; ")).collect();
        let text = format!("syntax = \"proto3\"; enum E {{ {values} }} message M {{ {fields} }}");
        assert!(refused(&text, None).contains("the names of all enums have too many bytes"));
    }
}
