//! Encodings whose columns another file describes: the file that palais prints goes with the bytes that it writes.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use formats::capnproto::layout::{ColumnPlacement, layout};
use formats::discover::by_name;
use schema::FormatOptions;

use super::{ROWS, assert_same, python, read_as, table, write};

/// Puts the descriptions of the table in a directory.
fn describe(directory: &Path) {
    let schema = table().schema();
    let proto = schema::text::proto::print("table", &schema).unwrap();
    std::fs::write(directory.join("table.proto"), proto).unwrap();
    let capnp = schema::text::capnp::print("table", &schema).unwrap();
    std::fs::write(directory.join("table.capnp"), capnp).unwrap();
}

#[test]
fn described_rows_are_read_as_others_write_them() {
    let dir = tempfile::tempdir().unwrap();
    describe(dir.path());
    python("messages.py", "write", dir.path());
    let mut files = 0;
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let Some(encoding) = by_name(&path).encoding else { continue };
        let options = FormatOptions { encoding: encoding.into(), ..FormatOptions::default() };
        let found = read_as(&path, table().schema(), options);
        assert_eq!(found.num_rows(), ROWS, "{}", path.display());
        assert_same(&found, &path);
        files += 1;
    }
    assert_eq!(files, 1 + 2 * 3);
}

#[test]
fn described_rows_are_written_as_others_read_them() {
    let dir = tempfile::tempdir().unwrap();
    describe(dir.path());
    for (encoding, name) in
        [("protobuf", "a.pb"), ("capnproto", "a.capnproto"), ("capnproto-packed", "a.capnproto-packed")]
    {
        let options = FormatOptions { encoding: encoding.into(), ..FormatOptions::default() };
        write(&dir.path().join(name), &options);
    }
    python("messages.py", "check", dir.path());
}

/// What Cap'n Proto's compiler makes of a schema, with the places of all fields as comments.
fn compiled(text: &str, directory: &Path) -> String {
    let file = directory.join("t.capnp");
    std::fs::File::create(&file).unwrap().write_all(text.as_bytes()).unwrap();
    let output =
        Command::new("capnp").args(["compile", "-ocapnp"]).arg(&file).stderr(Stdio::piped()).output();
    let output =
        output.unwrap_or_else(|e| panic!("no capnp ({e}): `make others` installs Debian's capnproto"));
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The numbers in `before[a, b)` or `before[a]`.
fn numbers(line: &str, before: &str) -> Option<Vec<u32>> {
    let (_, rest) = line.split_once(before)?;
    let (numbers, _) = rest.split_once([')', ']'])?;
    Some(numbers.split(", ").map(|number| number.parse().unwrap()).collect())
}

#[test]
fn columns_lie_where_the_compiler_puts_them() {
    let types = [
        DataType::Boolean,
        DataType::Int8,
        DataType::UInt16,
        DataType::Int32,
        DataType::UInt64,
        DataType::Float32,
        DataType::Float64,
        DataType::Time32(TimeUnit::Second),
        DataType::Decimal128(10, 2),
        DataType::Utf8View,
        DataType::BinaryView,
    ];
    let dir = tempfile::tempdir().unwrap();
    let mut state = 1u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % bound
    };
    for columns in [1, 2, 3, 5, 8, 12, 20, 40, 90, 400] {
        let fields = (0..columns).map(|_| Field::new("a column", types[below(11)].clone(), below(2) == 0));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let text = schema::text::capnp::print("t", &schema).unwrap();
        let compiled = compiled(&text, dir.path());
        // Groups come at their places among the fields, and in them the tag before the value.
        let (mut found, mut tag) = (Vec::new(), None);
        for line in compiled.lines().filter(|line| !line.contains("null @")) {
            if let Some(bits) = numbers(line, "# tag bits [") {
                tag = Some(bits[0] / 16);
            } else if let Some(place) = numbers(line, "# ptr[") {
                found.push(ColumnPlacement::Pointer { number: place[0], text: line.contains(":Text") });
            } else if let Some(place) = numbers(line, "# bits[") {
                let bits = place[1] - place[0];
                found.push(ColumnPlacement::Data { bits, offset: place[0] / bits, tag: tag.take() });
            }
        }
        let expected = layout(&schema).unwrap();
        assert_eq!(expected.places, found, "{compiled}");
        let sizes = format!("# {} bytes, {} ptrs", u32::from(expected.data_words) * 8, expected.pointers);
        assert!(compiled.contains(&sizes), "{sizes}\n{compiled}");
    }
}
