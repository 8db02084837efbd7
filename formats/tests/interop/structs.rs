//! Structs of other programs: random `.capnp` files, and messages that Cap'n Proto's own tool makes with them.

use std::fmt::Write;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use formats::registry::format;
use schema::text::capnp_file;
use schema::{FormatOptions, RecordLayout};
use serde_json::{Map, Value, json};

use super::read_as;

/// Numbers that depend on a seed alone.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }

    fn bits(&mut self) -> u64 {
        (self.below(1 << 31) as u64) << 33 ^ (self.below(1 << 31) as u64) << 11 ^ self.below(1 << 11) as u64
    }
}

#[derive(Clone)]
enum Type {
    Void,
    Bool,
    Int(u32),
    UInt(u32),
    Float(u32),
    Enum,
    Text,
    Data,
    Struct(usize),
    List(Box<Type>),
    Any,
}

enum Kind {
    Field { number: usize, kind: Type, default: Option<(String, Value)> },
    Group(Vec<Member>),
    Union { number: Option<usize>, members: Vec<Member> },
}

struct Member {
    name: String,
    kind: Kind,
}

/// The structs of a file; each may hold those before it.
struct File {
    structs: Vec<Vec<Member>>,
}

fn random_type(random: &mut Random, structs: usize, depth: usize) -> Type {
    let scalar = |random: &mut Random| match random.below(12) {
        0..4 => Type::Bool,
        4..6 => Type::Int(8 << random.below(4)),
        6..8 => Type::UInt(8 << random.below(4)),
        8 => Type::Float(32 << random.below(2)),
        9 => Type::Enum,
        10 => Type::Text,
        _ => Type::Data,
    };
    match random.below(14) {
        0 if structs > 0 => Type::Struct(random.below(structs)),
        1 | 2 if depth < 3 => match random_type(random, structs, depth + 1) {
            Type::Void | Type::Any => Type::Any,
            item => Type::List(Box::new(item)),
        },
        3 if depth == 0 => Type::Void,
        4 if depth == 0 && random.below(3) == 0 => Type::Any,
        _ => scalar(random),
    }
}

fn name_of(kind: &Type) -> String {
    match kind {
        Type::Void => "Void".into(),
        Type::Bool => "Bool".into(),
        Type::Int(bits) => format!("Int{bits}"),
        Type::UInt(bits) => format!("UInt{bits}"),
        Type::Float(bits) => format!("Float{bits}"),
        Type::Enum => "Colour".into(),
        Type::Text => "Text".into(),
        Type::Data => "Data".into(),
        Type::Struct(number) => format!("S{number}"),
        Type::List(item) => format!("List({})", name_of(item)),
        Type::Any => "AnyPointer".into(),
    }
}

fn random_members(
    random: &mut Random,
    count: usize,
    structs: usize,
    depth: usize,
    name: &str,
) -> Vec<Member> {
    let mut has_union = false;
    let mut members = Vec::new();
    for index in 0..count {
        let name = format!("{name}{}", (b'a' + (index % 26) as u8) as char);
        let kind = match random.below(12) {
            0 if depth < 3 && index > 0 => {
                let count = 1 + random.below(4);
                Kind::Group(random_members(random, count, structs, depth + 1, &name))
            }
            1 | 2 if depth < 3 && index > 0 => {
                let count = 2 + random.below(4);
                let number = (random.below(3) == 0).then_some(0);
                let members = random_members(random, count, structs, depth + 1, &name);
                Kind::Union { number, members }
            }
            _ => {
                // A group and a union have a column.
                let kind = if index == 0 && depth > 0 { Type::Bool } else { random_type(random, structs, 0) };
                let scalar = !matches!(kind, Type::Void | Type::Struct(_) | Type::List(_) | Type::Any);
                let default = (scalar && random.below(4) == 0)
                    .then(|| random_value(random, &kind, &File { structs: vec![] }));
                Kind::Field { number: 0, kind, default }
            }
        };
        let unnamed = depth == 0
            && !has_union
            && matches!(kind, Kind::Union { number: None, .. })
            && random.below(2) == 0;
        has_union |= unnamed;
        members.push(Member { name: if unnamed { String::new() } else { name }, kind });
    }
    members
}

/// Fields and unions with numbers of their own, in the order in which they stand.
fn numbered<'a>(members: &'a mut [Member], found: &mut Vec<&'a mut usize>) {
    for member in members {
        match &mut member.kind {
            Kind::Field { number, .. } => found.push(number),
            Kind::Group(members) => numbered(members, found),
            Kind::Union { number, members } => {
                found.extend(number);
                numbered(members, found);
            }
        }
    }
}

/// The least number of a member, which decides its place in a union.
fn least(member: &Member) -> usize {
    let of = |members: &[Member]| members.iter().map(least).min().expect("there are members");
    match &member.kind {
        Kind::Field { number, .. } => *number,
        Kind::Group(members) => of(members),
        Kind::Union { number, members } => number.unwrap_or(usize::MAX).min(of(members)),
    }
}

/// Whether no number of a union comes behind one of its members. One may, but the tool fails there if other fields come
/// between them.
fn is_early(members: &[Member]) -> bool {
    members.iter().all(|member| match &member.kind {
        Kind::Field { .. } => true,
        Kind::Group(members) => is_early(members),
        Kind::Union { number, members } => {
            let late = |number: usize| members.iter().any(|member| least(member) < number);
            !number.is_some_and(late) && is_early(members)
        }
    })
}

fn random_file(random: &mut Random) -> File {
    let mut structs: Vec<Vec<Member>> = Vec::new();
    for index in 0..1 + random.below(4) {
        loop {
            let count = 1 + random.below(12);
            let mut members = random_members(random, count, index, 0, "f");
            // There is always a column.
            members.push(Member {
                name: "last".into(),
                kind: Kind::Field { number: 0, kind: Type::Bool, default: None },
            });
            let mut numbers = Vec::new();
            numbered(&mut members, &mut numbers);
            let mut order: Vec<usize> = (0..numbers.len()).collect();
            if random.below(4) > 0 {
                for at in (1..order.len()).rev() {
                    order.swap(at, random.below(at + 1));
                }
            }
            numbers.into_iter().zip(order).for_each(|(number, order)| *number = order);
            if is_early(&members) {
                structs.push(members);
                break;
            }
        }
    }
    File { structs }
}

fn print(members: &[Member], text: &mut String) {
    for Member { name, kind } in members {
        let _ = match kind {
            Kind::Field { number, kind, default } => {
                let default = default.as_ref().map_or(String::new(), |(text, _)| format!(" = {text}"));
                writeln!(text, "{name} @{number} :{}{default}; # a field", name_of(kind))
            }
            Kind::Group(members) => {
                let _ = writeln!(text, "{name} :group {{");
                print(members, text);
                writeln!(text, "}}")
            }
            Kind::Union { number, members } => {
                let number = number.map_or(String::new(), |number| format!(" @{number}!"));
                let _ = match name.as_str() {
                    "" => writeln!(text, "union{number} {{"),
                    name => writeln!(text, "{name}{number} :union {{"),
                };
                print(members, text);
                writeln!(text, "}}")
            }
        };
    }
}

fn printed(file: &File) -> String {
    let mut text = String::from(
        "@0xb5e8f0b1c2d3e4f5;\nusing Cxx = import \"/capnp/c++.capnp\";\n$Cxx.namespace(\"random\");\n\
         enum Colour { red @0; green @2; blue @1; }\n",
    );
    for (index, members) in file.structs.iter().enumerate() {
        let _ = writeln!(text, "struct S{index} {{");
        print(members, &mut text);
        text += "}\n";
    }
    text
}

/// A value as the tool takes it, and as JSON.
fn random_value(random: &mut Random, kind: &Type, file: &File) -> (String, Value) {
    match kind {
        Type::Void => ("void".into(), json!(true)),
        Type::Bool => {
            let value = random.below(2) == 0;
            (value.to_string(), json!(value))
        }
        Type::Int(bits) => {
            let value =
                random.bits() as i64 >> (64 - bits) >> (random.below(2) * random.below(*bits as usize));
            (value.to_string(), json!(value))
        }
        Type::UInt(bits) => {
            let value = random.bits() >> (64 - bits);
            (value.to_string(), json!(value))
        }
        Type::Float(_) => {
            let value = random.below(4000) as f64 / 4.0 - 500.0;
            (format!("{value:?}"), json!(value))
        }
        Type::Enum => {
            let value = ["red", "green", "blue"][random.below(3)];
            (value.into(), json!(value))
        }
        Type::Text => {
            let value = ["", "a", "eight by", "grüße \\\" and more of it"][random.below(4)];
            (format!("\"{value}\""), json!(value.replace('\\', "")))
        }
        Type::Data => {
            let bytes: Vec<u8> = (0..random.below(12)).map(|_| random.below(256) as u8).collect();
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            // The tool takes no empty one in this form.
            let text = if hex.is_empty() { "\"\"".into() } else { format!("0x\"{hex}\"") };
            (text, json!(format!("\\x{hex}")))
        }
        Type::List(item) => {
            let items: Vec<(String, Value)> =
                (0..random.below(5)).map(|_| random_value(random, item, file)).collect();
            let (texts, values): (Vec<String>, Vec<Value>) = items.into_iter().unzip();
            (format!("[{}]", texts.join(", ")), Value::Array(values))
        }
        Type::Struct(number) => {
            let (mut text, mut value) = (Vec::new(), Map::new());
            random_struct(random, &file.structs[*number], file, &mut text, &mut value);
            (format!("({})", text.join(", ")), Value::Object(value))
        }
        Type::Any => unreachable!("no value is made of it"),
    }
}

/// What a member is that was not set; `None` if it has no column.
fn unset(member: &Member) -> Option<Value> {
    let mut object = Map::new();
    match &member.kind {
        Kind::Field { default: Some((_, value)), .. } => return Some(value.clone()),
        Kind::Field { kind, .. } => {
            return match kind {
                Type::Void => Some(json!(true)),
                Type::Bool => Some(json!(false)),
                Type::Int(_) | Type::UInt(_) => Some(json!(0)),
                Type::Float(_) => Some(json!(0.0)),
                Type::Enum => Some(json!("red")),
                Type::Text | Type::Data | Type::Struct(_) | Type::List(_) => Some(Value::Null),
                Type::Any => None,
            };
        }
        Kind::Group(members) => members.iter().for_each(|member| put(member, unset(member), &mut object)),
        Kind::Union { members, .. } => {
            union_of(members, first(members), unset(first(members)), &mut object);
        }
    }
    Some(Value::Object(object))
}

/// The member of a union that is there if none was set.
fn first(members: &[Member]) -> &Member {
    members.iter().min_by_key(|member| least(member)).expect("there are members")
}

/// Adds a member that is in no union. `Void` has no column there.
fn put(member: &Member, value: Option<Value>, object: &mut Map<String, Value>) {
    match (&member.kind, value) {
        (_, None) | (Kind::Field { kind: Type::Void, .. }, _) => {}
        (Kind::Union { .. }, Some(Value::Object(members))) if member.name.is_empty() => {
            object.extend(members)
        }
        (_, Some(value)) => {
            object.insert(member.name.clone(), value);
        }
    }
}

/// Adds the members of a union, of which one is there.
fn union_of(members: &[Member], chosen: &Member, value: Option<Value>, object: &mut Map<String, Value>) {
    for member in members {
        let is_column = !matches!(&member.kind, Kind::Field { kind: Type::Any, .. });
        if is_column {
            let there = std::ptr::eq(member, chosen);
            let value = if there { value.clone().unwrap_or(Value::Null) } else { Value::Null };
            object.insert(member.name.clone(), value);
        }
    }
}

fn random_struct(
    random: &mut Random,
    members: &[Member],
    file: &File,
    text: &mut Vec<String>,
    object: &mut Map<String, Value>,
) {
    for member in members {
        if random.below(4) == 0 {
            put(member, unset(member), object);
            continue;
        }
        let value = random_member(random, member, file, text);
        put(member, value, object);
    }
}

/// Sets a member.
fn random_member(random: &mut Random, member: &Member, file: &File, text: &mut Vec<String>) -> Option<Value> {
    let name = &member.name;
    match &member.kind {
        Kind::Field { kind: Type::Any, .. } => None,
        Kind::Field { kind, .. } => {
            let (value, json) = random_value(random, kind, file);
            text.push(format!("{name} = {value}"));
            Some(json)
        }
        Kind::Group(members) => {
            let (mut inner, mut object) = (Vec::new(), Map::new());
            random_struct(random, members, file, &mut inner, &mut object);
            text.push(format!("{name} = ({})", inner.join(", ")));
            Some(Value::Object(object))
        }
        Kind::Union { members, .. } => {
            let (mut inner, mut object) = (Vec::new(), Map::new());
            let mut chosen = &members[random.below(members.len())];
            if matches!(chosen.kind, Kind::Field { kind: Type::Any, .. }) {
                chosen = &members[0];
            }
            let value = random_member(random, chosen, file, &mut inner);
            union_of(members, chosen, value, &mut object);
            match name.as_str() {
                "" => text.append(&mut inner),
                name => text.push(format!("{name} = ({})", inner.join(", "))),
            }
            Some(Value::Object(object))
        }
    }
}

fn encoded(schema: &Path, name: &str, values: &str, more: &[&str]) -> Vec<u8> {
    let mut tool = Command::new("capnp")
        .arg("encode")
        .args(more)
        .arg(schema)
        .arg(name)
        // Else it refuses structs that its old versions placed wrongly.
        .env("CAPNP_IGNORE_ISSUE_344", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("no capnp ({e}): `make others` installs Debian's capnproto"));
    let mut stdin = tool.stdin.take().unwrap();
    stdin.write_all(values.as_bytes()).unwrap();
    drop(stdin);
    let done = tool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}\n{}\n{values}", std::fs::read_to_string(schema).unwrap());
    done.stdout
}

fn check(seed: usize, directory: &Path) {
    let mut random = Random(seed as u64);
    let file = random_file(&mut random);
    let text = printed(&file);
    let path = directory.join("random.capnp");
    std::fs::write(&path, &text).unwrap();
    let table = format!("S{}", file.structs.len() - 1);
    let (mut values, mut expected) = (String::new(), Vec::new());
    for _ in 0..8 {
        let (text, value) = random_value(&mut random, &Type::Struct(file.structs.len() - 1), &file);
        values += &(text + "\n");
        expected.push(value);
    }
    let (schema, layout) =
        capnp_file::parse(&text, Some(&table), "t").unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
    let schema = Arc::new(schema);
    let ways: [(&str, &[&str]); 3] =
        [("capnproto", &[]), ("capnproto", &["--segment-size=1"]), ("capnproto-packed", &["--packed"])];
    for (encoding, more) in ways {
        let rows = directory.join("rows");
        std::fs::write(&rows, encoded(&path, &table, &values, more)).unwrap();
        let options = FormatOptions {
            encoding: encoding.into(),
            record_layout: Some(Box::new(RecordLayout::Structs(layout.clone()))),
            ..FormatOptions::default()
        };
        let found = read_as(&rows, schema.clone(), options);
        let lines = lines(&found);
        let found: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "seed {seed}, row {row}, {encoding} {more:?}\n{text}\n{values}");
        }
        assert_eq!(found.len(), expected.len());
    }
}

/// The rows as JSON lines.
fn lines(rows: &arrow_array::RecordBatch) -> String {
    let options = FormatOptions { encoding: "jsonl".into(), ..FormatOptions::default() };
    let encoder = format("jsonl").unwrap().encoder(&rows.schema(), &options).unwrap();
    let (mut assembler, mut out) = (encoder.assembler().unwrap(), Vec::new());
    assembler.begin(&mut out).unwrap();
    assembler.append(encoder.encode(std::slice::from_ref(rows)).unwrap(), &mut out).unwrap();
    assembler.finish(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn structs_lie_where_the_compiler_puts_them() {
    let directory = tempfile::tempdir().unwrap();
    for seed in 0..150 {
        check(seed, directory.path());
    }
}
