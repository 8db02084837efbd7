//! `.capnp` files as schemas: a struct becomes the columns of a table.
//!
//! | field | column |
//! |---|---|
//! | `Bool` | BOOLEAN |
//! | `Int8` … `Int64`; `UInt8` … `UInt64` | TINYINT … BIGINT; UTINYINT … UBIGINT |
//! | `Float32`, `Float64` | FLOAT, DOUBLE |
//! | `Text`; `Data` | VARCHAR; BLOB |
//! | an enum | VARCHAR: the name of the value |
//! | a struct, a group, a union with a name | STRUCT |
//! | `List(T)` | a list |
//! | `Void` in a union | BOOLEAN: true where it is the member that is there, else NULL |
//! | a union of `null :Void` and `value :T`, as palais prints it | the type of `value` |
//! | `Void` elsewhere, `AnyPointer`, interfaces, type parameters that nothing stands for | none |
//!
//! A pointer that is null is NULL, and so is a member of a union which is not there.
//!
//! - `syntax`: from the text to declarations.
//! - `names`: which type a name means.
//! - `members`: where the members of a struct lie.

mod members;
mod names;
mod syntax;

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};

use self::members::{Layouts, Placed};
use self::names::{Bound, Names, Type};
use self::syntax::{MemberKind as Declared, Value, whole};
use super::TextError;
use super::described::{check_text, count_names, joined, refused};
use super::types::DEEPEST;
use crate::structs::{DataKind, ItemKind, MemberKind, MemberLayout, PointerKind, StructLayout};

/// A struct has at most so many members, those within one another counted wherever they occur.
const MOST_MEMBERS: usize = 10_000;

/// What to do about a field that can't be a column: another pointer takes the same place.
const PASS_OVER: &str = "give the field the type AnyPointer, and it is passed over";

/// The columns of a struct, and how its members lie.
///
/// `name` names it, with the structs around it or without. If it is `None`, the struct is the only one of the file that
/// lies in no other, or the one that is called like the table.
pub fn parse(text: &str, name: Option<&str>, table: &str) -> Result<(Schema, StructLayout), TextError> {
    check_text(text, "struct")?;
    let declarations = syntax::parse(text)?;
    let names = Names::of(&declarations)?;
    let chosen = names.choose(name, table)?;
    let mut columns = Columns { names: &names, within: Vec::new(), members: 0, enum_bytes: 0 };
    let (fields, layout) = columns.of_struct(chosen, &Bound::default(), 0)?;
    if fields.is_empty() {
        return Err(refused(&names.full(chosen), "the struct has no fields that are columns"));
    }
    Ok((Schema::new(fields), layout))
}

/// Makes columns of structs.
struct Columns<'a> {
    names: &'a Names<'a>,
    /// The structs that lie around the one at hand, which it must not hold.
    within: Vec<usize>,
    /// How many members there are so far.
    members: usize,
    /// The bytes of the names that enums of these have.
    enum_bytes: usize,
}

impl<'a> Columns<'a> {
    /// The columns of a struct, which lies `depth` types deep.
    fn of_struct(
        &mut self,
        node: usize,
        bound: &Bound,
        depth: usize,
    ) -> Result<(Vec<Field>, StructLayout), TextError> {
        let full = self.names.full(node);
        let (mut layouts, top) = Layouts::of(self.names.members(node), full.clone())?;
        self.members = self.members.saturating_add(layouts.placed.len());
        if self.members > MOST_MEMBERS {
            let message = format!("the struct has more than {MOST_MEMBERS} members within one another");
            return Err(refused(&full, message));
        }
        layouts.place_all(|name| self.names.resolve(name, node, bound))?;
        self.within.push(node);
        let columns = self.members_of(&layouts, &top, node, depth)?;
        self.within.pop();
        Ok(columns)
    }

    /// The columns of members, in the order in which they are declared.
    fn members_of(
        &mut self,
        layouts: &Layouts<'a>,
        members: &[usize],
        scope: usize,
        depth: usize,
    ) -> Result<(Vec<Field>, StructLayout), TextError> {
        let (mut fields, mut layout) = (Vec::new(), Vec::new());
        self.collect(layouts, members, scope, depth, &mut fields, &mut layout)?;
        let mut names = HashSet::new();
        if let Some(field) = fields.iter().find(|field| !names.insert(field.name())) {
            let path = joined(&self.names.full(scope), field.name());
            return Err(refused(&path, "two members have this name"));
        }
        Ok((fields, StructLayout::new(layout)))
    }

    fn collect(
        &mut self,
        layouts: &Layouts<'a>,
        members: &[usize],
        scope: usize,
        depth: usize,
        fields: &mut Vec<Field>,
        layout: &mut Vec<MemberLayout>,
    ) -> Result<(), TextError> {
        for &index in members {
            let placed = &layouts.placed[index];
            if placed.own_union.is_some() && placed.member.name.is_empty() {
                self.collect(layouts, &placed.children, scope, depth, fields, layout)?;
                continue;
            }
            let Some((data_type, nullable, kind)) = self.member(layouts, index, scope, depth)? else {
                continue;
            };
            let name = placed.member.name.clone();
            fields.push(Field::new(&name, data_type, nullable || placed.union.is_some()));
            layout.push(MemberLayout { name, chosen: layouts.chosen(index), kind });
        }
        Ok(())
    }

    /// The type of a member's column, whether it may be NULL where the member is there, and what the member is. `None` if
    /// it has no column.
    fn member(
        &mut self,
        layouts: &Layouts<'a>,
        index: usize,
        scope: usize,
        depth: usize,
    ) -> Result<Option<(DataType, bool, MemberKind)>, TextError> {
        let placed = &layouts.placed[index];
        let is_void = || placed.union.map(|_| (DataType::Boolean, false, MemberKind::Void));
        let Some((kind, at)) = &placed.field else {
            if depth + 1 > DEEPEST {
                return Err(too_deep(&layouts.path(index)));
            }
            if let Some(flat) = self.nullable(layouts, placed, scope, depth)? {
                return Ok(Some(flat));
            }
            let (fields, layout) = self.members_of(layouts, &placed.children, scope, depth + 1)?;
            return Ok(match fields.is_empty() {
                true => is_void(),
                false => Some((DataType::Struct(fields.into()), false, MemberKind::Group(layout))),
            });
        };
        let default = match &placed.member.kind {
            Declared::Field { default, .. } => default.as_ref(),
            _ => None,
        };
        if let Some(kind) = self.data(kind, || layouts.path(index))? {
            let default = default.map_or(Ok(0), |value| bits(&kind, value));
            let default = default.map_err(|message| refused(&layouts.path(index), message))?;
            return Ok(Some((data_type(&kind), false, MemberKind::Data { kind, offset: *at, default })));
        }
        Ok(match kind {
            Type::Void => is_void(),
            Type::AnyPointer => None,
            pointer => {
                let Some((data_type, kind)) = self.pointer(pointer, &layouts.path(index), depth)? else {
                    return Ok(None);
                };
                let default = match (&kind, default) {
                    (_, None) => None,
                    (PointerKind::Text, Some(Value::Text(bytes)))
                    | (PointerKind::Data, Some(Value::Text(bytes) | Value::Data(bytes))) => {
                        Some(bytes.clone())
                    }
                    _ => {
                        return Err(refused(
                            &layouts.path(index),
                            "defaults of lists and structs, and constants as defaults, are not read; without it, a \
                             value that is not there is NULL",
                        ));
                    }
                };
                let nullable = default.is_none();
                Some((data_type, nullable, MemberKind::Pointer { kind, number: *at, default }))
            }
        })
    }

    /// The column of a union that palais prints for one that may be NULL: of `null :Void` and `value`.
    fn nullable(
        &mut self,
        layouts: &Layouts<'a>,
        placed: &Placed<'a>,
        scope: usize,
        depth: usize,
    ) -> Result<Option<(DataType, bool, MemberKind)>, TextError> {
        let (Some(_), &[null, value]) = (placed.own_union, placed.children.as_slice()) else {
            return Ok(None);
        };
        let is = |index: usize, name: &str| layouts.placed[index].member.name == name;
        let is_void = |index: usize| matches!(layouts.placed[index].field, Some((Type::Void, _)));
        if placed.union.is_some()
            || !is(null, "null")
            || !is(value, "value")
            || !is_void(null)
            || is_void(value)
        {
            return Ok(None);
        }
        let Some((data_type, _, kind)) = self.member(layouts, value, scope, depth)? else { return Ok(None) };
        let layout = MemberLayout { name: "value".into(), chosen: layouts.chosen(value), kind };
        Ok(Some((data_type, true, MemberKind::Optional(Box::new(layout)))))
    }

    /// What values of the data section are, if the type has such values.
    fn data(&mut self, kind: &Type, path: impl Fn() -> String) -> Result<Option<DataKind>, TextError> {
        Ok(match kind {
            Type::Data(kind) => Some(kind.clone()),
            Type::Enum(node) => {
                let names = self.names.values(*node);
                count_names(&mut self.enum_bytes, names.iter().map(String::as_str), &path())?;
                Some(DataKind::Enum(names.to_vec()))
            }
            _ => None,
        })
    }

    /// The type of what a pointer leads to, and what it is.
    fn pointer(
        &mut self,
        kind: &Type,
        path: &str,
        depth: usize,
    ) -> Result<Option<(DataType, PointerKind)>, TextError> {
        if depth + 1 > DEEPEST {
            return Err(too_deep(path));
        }
        Ok(match kind {
            Type::Text => Some((DataType::Utf8View, PointerKind::Text)),
            Type::Bytes => Some((DataType::BinaryView, PointerKind::Data)),
            Type::Struct(node, bound) => {
                if self.within.contains(node) {
                    let message = format!(
                        "the struct {} holds itself, which no type of a column does; {PASS_OVER}",
                        self.names.full(*node)
                    );
                    return Err(refused(path, message));
                }
                let (fields, layout) = self.of_struct(*node, bound, depth + 1)?;
                if fields.is_empty() {
                    let message = format!(
                        "the struct {} has no fields that are columns; {PASS_OVER}",
                        self.names.full(*node)
                    );
                    return Err(refused(path, message));
                }
                Some((DataType::Struct(fields.into()), PointerKind::Struct(Box::new(layout))))
            }
            Type::List(item) => {
                if matches!(**item, Type::Void) {
                    return Err(refused(path, format!("a list of Void has no values; {PASS_OVER}")));
                }
                let (item_type, nullable, item) = match self.data(item, || path.to_string())? {
                    Some(kind) => (data_type(&kind), false, ItemKind::Data(kind)),
                    None => match self.pointer(item, path, depth + 1)? {
                        Some((data_type, kind)) => (data_type, true, ItemKind::Pointer(kind)),
                        None => return Ok(None),
                    },
                };
                let item_field = Arc::new(Field::new("item", item_type, nullable));
                Some((DataType::List(item_field), PointerKind::List(Box::new(item))))
            }
            Type::AnyPointer | Type::Void | Type::Data(_) | Type::Enum(_) => None,
        })
    }
}

fn too_deep(path: &str) -> TextError {
    refused(path, format!("more than {DEEPEST} types lie within one another"))
}

fn data_type(kind: &DataKind) -> DataType {
    match kind {
        DataKind::Bool => DataType::Boolean,
        DataKind::Int8 => DataType::Int8,
        DataKind::Int16 => DataType::Int16,
        DataKind::Int32 => DataType::Int32,
        DataKind::Int64 => DataType::Int64,
        DataKind::UInt8 => DataType::UInt8,
        DataKind::UInt16 => DataType::UInt16,
        DataKind::UInt32 => DataType::UInt32,
        DataKind::UInt64 => DataType::UInt64,
        DataKind::Float32 => DataType::Float32,
        DataKind::Float64 => DataType::Float64,
        DataKind::Enum(_) => DataType::Utf8View,
    }
}

/// The bits of a default.
fn bits(kind: &DataKind, value: &Value) -> Result<u64, String> {
    let number = match value {
        Value::Number(text) | Value::Name(text) => text.as_str(),
        _ => return Err(format!("a default of another type than {}", name_of(kind))),
    };
    let float = || -> Option<f64> {
        match number {
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            "nan" => Some(f64::NAN),
            _ if matches!(value, Value::Name(_)) => None,
            _ => number.parse().ok().or_else(|| signed(number).map(|whole| whole as f64)),
        }
    };
    let within = |least: i128, most: i128| signed(number).filter(|number| (least..=most).contains(number));
    let bits = match kind {
        DataKind::Bool => match number {
            "true" => Some(1),
            "false" => Some(0),
            _ => None,
        },
        DataKind::Int8 => within(i8::MIN.into(), i8::MAX.into()).map(|n| u64::from(n as u8)),
        DataKind::Int16 => within(i16::MIN.into(), i16::MAX.into()).map(|n| u64::from(n as u16)),
        DataKind::Int32 => within(i32::MIN.into(), i32::MAX.into()).map(|n| u64::from(n as u32)),
        DataKind::Int64 => within(i64::MIN.into(), i64::MAX.into()).map(|n| n as u64),
        DataKind::UInt8 => within(0, u8::MAX.into()).map(|n| n as u64),
        DataKind::UInt16 => within(0, u16::MAX.into()).map(|n| n as u64),
        DataKind::UInt32 => within(0, u32::MAX.into()).map(|n| n as u64),
        DataKind::UInt64 => within(0, u64::MAX.into()).map(|n| n as u64),
        DataKind::Float32 => float().map(|float| u64::from((float as f32).to_bits())),
        DataKind::Float64 => float().map(f64::to_bits),
        DataKind::Enum(names) => names.iter().position(|name| name == number).map(|at| at as u64),
    };
    let constants = "where it is a constant, write its value in its place";
    bits.ok_or_else(|| format!("the default {number} is no value of {}; {constants}", name_of(kind)))
}

/// A whole number with its sign.
fn signed(number: &str) -> Option<i128> {
    match number.strip_prefix('-') {
        Some(digits) => Some(-i128::from(whole(digits)?)),
        None => Some(whole(number)?.into()),
    }
}

fn name_of(kind: &DataKind) -> String {
    match kind {
        DataKind::Enum(names) => format!("the enum of {}", names.first().map_or("no values", String::as_str)),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::ddl;

    fn columns(text: &str, name: Option<&str>) -> Result<String, String> {
        let (schema, layout) = parse(text, name, "t").map_err(|error| error.to_string())?;
        assert_eq!(schema.fields().len(), layout.members.len());
        let printed = ddl::print("t", &schema).expect("all types have names");
        let inner = printed.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
        Ok(inner.expect("it is a table").0.split_whitespace().collect::<Vec<_>>().join(" ").replace('"', ""))
    }

    fn refused(text: &str, name: Option<&str>) -> String {
        columns(text, name).expect_err(text)
    }

    #[test]
    fn fields_become_columns_in_the_order_of_the_file() {
        let text = r#"# The orders of a shop.
            @0xb5e8f0b1c2d3e4f5; $Cxx.namespace("shop");
            using Cxx = import "/capnp/c++.capnp";
            struct Order @0xdbb9ad1f14bf0b36 $foo(1) {
              paid :union { cash @8 :Void; card @9 :Card; }   # numbers don't order the columns
              id @0 :UInt64 $Cxx.name("number");
              note @1 :Text = "a \"none\"\n";
              kind @2 :Kind = gift;
              lines @3 :List(Line);
              raw @4 :Data;
              share @5 :Float32 = -1.5e3;
              place :group { x @6 :Int16 = 0x10; y @7 :Int8 = -1; }
              any @10 :AnyPointer;
              nothing @11 :Void;
              union { count @12 :Int32; open @13 :Void; }
              enum Kind { sale @0; gift @1; }
              struct Line { sku @0 :Text; tags @1 :List(List(Text)); }
              const most :Int32 = 12;
            }
            struct Card { year @0 :Int64; }
            annotation foo(struct) :Int32;
            interface Shop extends(Base) { sell @0 (order :Order) -> (done :Bool); struct Receipt { n @0 :Bool; } }"#;
        let expected = "paid STRUCT(cash BOOLEAN, card STRUCT(year BIGINT)) NOT NULL, id UBIGINT NOT NULL, \
                        note VARCHAR NOT NULL, kind VARCHAR NOT NULL, \
                        lines STRUCT(sku VARCHAR, tags VARCHAR[][])[] NULL, raw BLOB NULL, share FLOAT NOT NULL, \
                        place STRUCT(x SMALLINT, y TINYINT) NOT NULL, count INT NULL, open BOOLEAN NULL";
        let found = columns(text, Some("Order")).unwrap();
        assert_eq!(found, expected);
        assert_eq!(columns(text, Some(".Order")).unwrap(), found);
        assert_eq!(columns(text, Some("Receipt")).unwrap(), "n BOOLEAN NOT NULL");
        let (_, layout) = parse(text, Some("Order"), "t").unwrap();
        let kind = &layout.members[3].kind;
        assert!(
            matches!(kind, MemberKind::Data { kind: DataKind::Enum(names), default: 1, .. } if names == &["sale", "gift"])
        );
        let MemberKind::Pointer { default: Some(note), .. } = &layout.members[2].kind else {
            panic!("{layout:?}")
        };
        assert_eq!(note, b"a \"none\"\n");
        // The members of the union without a name, whose discriminant comes just before the second one.
        let chosen = |at: usize| layout.members[at].chosen.map(|chosen| chosen.value);
        assert_eq!((chosen(8), chosen(9), chosen(0)), (Some(0), Some(1), None));
    }

    #[test]
    fn what_palais_prints_is_the_same_table() {
        let table = ddl::parse(
            "CREATE TABLE user_visits (a BIGINT NOT NULL, b INT NULL, c VARCHAR NULL, d BOOLEAN NULL, e BLOB NULL)",
        );
        let schema = table.unwrap().remove(0).1;
        let printed = crate::text::capnp::print("user_visits", &schema).unwrap();
        let (found, _) = parse(&printed, None, "t").unwrap();
        assert_eq!(found, schema);
    }

    #[test]
    fn the_nearest_type_of_a_name_is_meant_and_parameters_are_bound() {
        let text = r#"struct T { outer @0 :Text; }
            using Other = M2.T; using M2.Deep;
            struct M { a @0 :T; b @1 :.T; c @2 :Other; d @3 :Deep; e @4 :N; f @5 :Pair(Text, List(Int8)); g @6 :Pair(T, T).Both;
              struct T { inner @0 :Int32; }
              struct N { t @0 :T; } }
            struct M2 { struct T { other @0 :Bool; } struct Deep { x @0 :Int8; } }
            struct Pair(A, B) { first @0 :A; second @1 :B; struct Both { both @0 :List(A); } }"#;
        let expected = "a STRUCT(inner INT) NULL, b STRUCT(outer VARCHAR) NULL, c STRUCT(other BOOLEAN) NULL, \
                        d STRUCT(x TINYINT) NULL, e STRUCT(t STRUCT(inner INT)) NULL, \
                        f STRUCT(first VARCHAR, second TINYINT[]) NULL, g STRUCT(both STRUCT(inner INT)[]) NULL";
        assert_eq!(columns(text, Some("M")).unwrap(), expected);
        // Nothing stands for the parameters of a table.
        assert!(refused(text, Some("Pair")).contains("no fields that are columns"));
        assert!(refused(text, Some("Deep2")).contains("no struct 'Deep2'; it has T, M, M2, Pair"));
        assert_eq!(columns(text, Some("M2.T")).unwrap(), "other BOOLEAN NOT NULL");
    }

    #[test]
    fn the_table_chooses_among_several_structs() {
        let text = "struct T { a @0 :Int8; } struct UserVisits { b @0 :Int8; }";
        assert_eq!(columns(text, None).unwrap(), "a TINYINT NOT NULL");
        assert_eq!(parse(text, None, "user_visits").unwrap().0.field(0).name(), "b");
        let error = parse(text, None, "other").unwrap_err().to_string();
        assert!(
            error.contains("several structs (T, UserVisits)") && error.contains("FILE.capnp#T"),
            "{error}"
        );
        assert!(refused("", None).contains("the file has no struct"));
    }

    #[test]
    fn what_has_no_column_is_refused_with_its_name() {
        for (text, part) in [
            ("struct M { n @0 :N; } struct N { m @0 :List(M); }", "N.m: the struct M holds itself"),
            ("struct M { e @0 :E; } struct E { }", "M.e: the struct E has no fields"),
            ("struct M { x @0 :X; }", "line 1, column 18: there is no type 'X'"),
            ("using Other = import \"other.capnp\"; struct M { x @0 :Other.X; }", "'other.capnp'"),
            ("struct M { x @0 :import \"other.capnp\".X; }", "files that are imported are not read"),
            ("struct M { a @0 :Int8; b @0 :Int8; }", "M.b: the number is 0, where 1 is the next one"),
            ("struct M { a @0 :Int8; b @2 :Int8; }", "M.b: the number is 2, where 1 is the next one"),
            ("struct M { a @0 :Int8; a @1 :Int8; }", "M.a: two members have this name"),
            ("struct M { a @0 :Int8; } struct M { a @0 :Int8; }", "M: two types have this name"),
            ("struct M { u :union { a @0 :Int8; } }", "M.u: a union has at least two members"),
            ("struct M { l @0 :List(Void); }", "M.l: a list of Void has no values"),
            ("struct M { l @0 :List; }", "a list is written List(T)"),
            ("struct M { a @0 :Int8 = 128; }", "M.a: the default 128 is no value of Int8"),
            ("struct M { a @0 :Bool = .x; }", "M.a: a default of another type than Bool"),
            ("struct M { a @0 :List(Int8) = [1]; }", "M.a: defaults of lists and structs"),
            ("enum E { a @1; } struct M { e @0 :E; }", "'a' has the number 1, where 0 is the next one"),
            ("struct M {\n  a @0 Int8;\n}", "line 2, column 8: expected ':', found 'Int8'"),
            ("struct M { a :Int8; }", "the field 'a' has no number"),
            ("struct M { a @0 :Text = \"x; }", "the text that begins here is not closed"),
            ("message M { }", "expected a declaration"),
            ("struct M { a @70000 :Int8; }", "a number is at most 65535"),
            ("struct M { a @0 :Int8 = [", "expected ';', found the end of the file"),
        ] {
            let error = refused(text, Some("M"));
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_that_asks_for_too_much_is_refused() {
        // Each struct holds the one before twice.
        let doubled: String =
            (1..30).map(|n| format!("struct M{n} {{ a @0 :M{}; b @1 :M{}; }}", n - 1, n - 1)).collect();
        let text = format!("struct M0 {{ x @0 :Int8; }} {doubled}");
        assert!(refused(&text, Some("M20")).contains("more than 10000 members within one another"));
        let chain: String = (1..50).map(|n| format!("struct M{n} {{ a @0 :M{}; }}", n - 1)).collect();
        let text = format!("struct M0 {{ x @0 :Int8; }} {chain}");
        assert!(columns(&text, Some("M20")).is_ok());
        assert!(refused(&text, Some("M49")).contains("more than 32 types lie within one another"));
        // Names that stand for names, in a chain and in a circle, and types that double with each.
        let aliases: String = (1..90).map(|n| format!("using A{n} = List(A{});", n - 1)).collect();
        let text = format!("using A0 = Int8; {aliases} struct M {{ a @0 :A80; }}");
        assert!(refused(&text, Some("M")).contains("more than 32 names of types"));
        assert!(
            refused("using A = B; using B = A; struct M { a @0 :A; }", None).contains("more than 32 names")
        );
        let eight = |n: usize| vec![format!("P{n}"); 8].join(", ");
        let more: String = (1..12).map(|n| format!("using P{n} = Eight({});", eight(n - 1))).collect();
        let text = format!(
            "struct Eight(A, B, C, D, E, F, G, H) {{ x @0 :Int8; }} using P0 = Text; {more} struct M {{ a @0 :P11; }}"
        );
        assert!(refused(&text, Some("M")).contains("too often"));
        for nested in [
            format!("{}{}", "struct M { ".repeat(10_000), "}".repeat(10_000)),
            format!("struct M {{ {}", "g :group { ".repeat(10_000)),
            format!("struct M {{ a @0 :{}", "List(".repeat(10_000)),
        ] {
            assert!(refused(&nested, None).contains("more than 32 levels lie within one another"));
        }
        let long = format!("# {}", "x".repeat(1 << 20));
        assert!(refused(&long, None).contains("more than 1 MiB"));
        // Names that each place keeps in which they are used.
        let name = "n".repeat(1001);
        for text in [format!("struct {name} {{ a @0 :Int8; }}"), format!("struct M {{ {name} @0 :Int8; }}")] {
            assert!(refused(&text, None).contains("a name has at most 1000 bytes"));
        }
        let values: String = (0..5000).map(|n| format!("{}{n} @{n}; ", "v".repeat(60))).collect();
        let fields: String = (0..100).map(|n| format!("f{n} @{n} :List(E); ")).collect();
        let text = format!("enum E {{ {values} }} struct M {{ {fields} }}");
        assert!(refused(&text, None).contains("the names of all enums have too many bytes"));
        // Brackets in what is passed over take no stack.
        let value = format!(
            "const a :Int8 = {}; struct M {{ a @0 :Int8; }}",
            "[".repeat(100_000) + &"]".repeat(100_000)
        );
        assert!(columns(&value, None).is_ok());
    }
}
