//! Schemas, manifests, and files of which nothing is known but their bytes.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use formats::discover::{OpenOptions, open};
use formats::format::ScanOptions;
use formats::reader::Driver;
use formats::registry::format;
use formats::rows::schema_probe::Like;
use formats::rows::wider::wider;
use schema::manifest::{FILE_NAME, Manifest};
use schema::text::{capnp_file, ddl, json, proto_file};
use schema::{Comments, Dialect, FileEntry, FormatOptions, OnError, Source};

use super::choice;

/// Rows that are read of a file whose schema was inferred.
const ROWS: usize = 5000;

thread_local! {
    static HOME: tempfile::TempDir = tempfile::tempdir().expect("a temporary directory can be made");
}

/// Calls `run` with a file of this thread that holds the bytes.
pub fn with_file(name: &str, bytes: &[u8], run: impl FnOnce(&Path)) {
    HOME.with(|home| {
        let path = home.path().join(name);
        // Some file systems flush a file that is truncated and written again, which takes milliseconds.
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, bytes).expect("a temporary file can be written");
        run(&path);
    });
}

/// One of some ways to write text.
fn dialect(bytes: &[u8]) -> Dialect {
    let plain = Dialect::default();
    let charsets = ["latin-1", "utf-16", "shift_jis", "gb18030", "iso-2022-jp"];
    match choice(&bytes[bytes.len() / 2..], 13) {
        0 => Dialect { skip: 2, comments: Comments::From(b'#'), escape: Some(b'\\'), ..plain },
        1 => Dialect { nulls: vec!["NA".into(), "".into()], thousands: Some(b'\''), ..plain },
        2 => Dialect { decimal_separator: b',', thousands: Some(b'.'), ..plain },
        3 => Dialect {
            date_format: Some("%d.%m.%Y".into()),
            timestamp_format: Some("%Y%m%dT%H%M%S%z".into()),
            ..plain
        },
        at @ 4..9 => {
            Dialect { charset: Some(charsets[at - 4].into()), comments: Comments::From(b'#'), ..plain }
        }
        9 => Dialect { json_path: Some("data".into()), ..plain },
        _ => plain,
    }
}

/// Opens a file without a telling name, as a user would, and reads it.
pub fn inference(bytes: &[u8]) {
    with_file("f", bytes, |path| {
        let encodings = [None, Some("csv"), Some("jsonl"), Some("msgpack"), Some("cbor"), Some("text")];
        let options = OpenOptions {
            encoding: encodings[choice(bytes, encodings.len())].map(String::from),
            on_error: OnError::Skip,
            max_record: 4096,
            dialect: Box::new(dialect(bytes)),
            ..OpenOptions::default()
        };
        // A column format has a target of its own.
        let Some(path) = path.to_str() else { return };
        let Ok(table) = open(path, "t", &options) else { return };
        let Source::Files(set) = &table.source else { return };
        let Ok(encoding) = format(&set.format.encoding) else { return };
        if encoding.compresses_inside() {
            return;
        }
        let scan = ScanOptions {
            schema: Arc::new(Schema::new(table.schema.fields().clone())),
            projection: (0..table.schema.fields().len()).collect(),
            bounds: Vec::new(),
            prefixes: vec![],
            unseen: schema::DeferredValidation::Nothing,
            batch_rows: 100,
            format: set.format.clone(),
        };
        let mut rows = 0;
        for file in &set.files {
            for morsel in encoding.split(&Arc::new(file.clone()), &scan, 1 << 20).into_iter().flatten() {
                let reader = encoding.reader(&morsel, &scan).expect("an inferred schema can be read");
                let Ok(batches) = Driver::open(&morsel, reader) else { return };
                for batch in batches.map_while(Result::ok) {
                    for column in batch.columns() {
                        column.to_data().validate_full().expect("batches are valid");
                    }
                    rows += batch.num_rows();
                    if rows >= ROWS {
                        return;
                    }
                }
            }
        }
    });
}

/// Looks whether the second half of a text begins like the first. If it is said to, it has no columns but those, and no
/// types that theirs do not hold.
pub fn beginnings(bytes: &[u8]) {
    const ROWS: usize = 3;
    let middle = bytes.len() / 2;
    let Some(line) = bytes[middle..].iter().position(|&byte| byte == b'\n') else { return };
    let (first, second) = bytes.split_at(middle + line + 1);
    let (name, header) = [("csv", false), ("csv", true), ("jsonl", false)][choice(bytes, 3)];
    let options = FormatOptions { encoding: name.into(), header, ..FormatOptions::default() };
    let encoding = format(name).expect("it is there");
    let infer = |bytes: &[u8]| {
        let mut inferred = None;
        with_file("b", bytes, |path| {
            let file = FileEntry::new(path, bytes.len() as u64, 0);
            inferred = Some(encoding.infer(&file, &options, ROWS));
        });
        inferred.expect("it was called")
    };
    let Ok(known) = infer(first) else { return };
    let Some(mut probe) = encoding.probe(&options, ROWS, &known) else { return };
    let second = second.strip_prefix(b"\xef\xbb\xbf").unwrap_or(second);
    // As much as may be read of it at first, and all of it.
    let parts = [(second.len() / 3, false), (second.len() / 2, false), (second.len(), true)];
    let is_alike = parts.map(|(length, whole)| probe.look(&second[..length], whole) == Like::Same);
    if second.is_empty() || !is_alike.contains(&true) {
        return;
    }
    // What is wrong behind the first records is told when they are read.
    let Ok(own) = infer(second) else { return };
    for (i, field) in own.fields().iter().enumerate() {
        let place = known.fields().iter().position(|known| known.name() == field.name());
        let place = place.expect("it has no other columns");
        assert!(name != "csv" || place == i, "the columns are in the same order");
        let (known, own) = (known.field(place).data_type(), field.data_type());
        let holds = *known == DataType::Utf8View || wider(known, own).as_ref() == Some(known);
        assert!(holds, "{own} is not held by {known}");
    }
    assert!(name != "csv" || own.fields().is_empty() || own.fields().len() == known.fields().len());
}

/// Parses a manifest, alone and as that of a directory.
pub fn manifest(bytes: &[u8]) {
    let Ok(manifest) = Manifest::parse(bytes, Path::new(FILE_NAME)) else { return };
    let printed = manifest.print(Path::new(FILE_NAME)).expect("what was read can be written");
    let again = Manifest::parse(&printed, Path::new(FILE_NAME)).expect("what was written can be read");
    assert_eq!(manifest, again);
    with_file(FILE_NAME, bytes, |path| {
        let home = path.parent().and_then(Path::to_str).expect("the directory has a name");
        let _ = open(home, "t", &OpenOptions::default());
        let _ = std::fs::remove_file(path);
    });
}

/// Parses a schema; what it prints is the same one.
pub fn schema(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(schema) = schema::text::parse(text, "t") else { return };
    if let Ok(printed) = json::print(&schema) {
        assert_eq!(json::parse(&printed).expect("what was printed can be read"), schema);
    }
    if let Ok(printed) = ddl::print("t", &schema) {
        let mut tables = ddl::parse(&printed).expect("what was printed can be read");
        let (_, again) = tables.pop().expect("a table was printed");
        // SQL has no names for some types of Arrow, which it prints as the nearest one.
        assert_eq!(ddl::print("t", &again).expect("it was printed before"), printed);
    }
    let _ = (schema::text::proto::print("t", &schema), schema::text::capnp::print("t", &schema));
}

/// Parses a `.capnp` file; a struct of it has as many members as columns.
pub fn capnp(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok((schema, layout)) = capnp_file::parse(text, None, "row") else { return };
    assert_eq!(schema.fields().len(), layout.members.len());
    assert!(layout.leaves >= layout.members.len());
    ddl::print("row", &schema).expect("all types have names");
}

/// Parses a `.proto` file; a message of it has as many fields as columns.
pub fn proto(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok((schema, layout)) = proto_file::parse(text, None, "row") else { return };
    assert_eq!(schema.fields().len(), layout.fields.len());
    assert!(layout.leaves >= layout.fields.len());
    ddl::print("row", &schema).expect("all types have names");
}
