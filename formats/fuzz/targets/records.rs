//! Row encodings: the same rows, or the same error, whether a file is read whole, as a pipe, in sequential splits or in morsels.

use std::sync::Arc;

use ::schema::text::{capnp_file, proto_file};
use ::schema::{Dialect, FileEntry, FormatOptions, OnError, RecordLayout, Splitting};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use formats::format::{Format, Morsel, ScanOptions};
use formats::jsonl::JSONL;
use formats::reader::{Next, Skipped};
use formats::registry::format;
use formats::rows::split::whole;

use super::choice;

/// A record of more bytes is too long.
const MAX_RECORD: usize = 4096;

/// More steps than the reader of any input here needs.
const STEPS: usize = 1 << 20;

/// What reading ends in: rows and what was passed over, or the text of the error.
type Outcome = Result<(RecordBatch, Skipped), String>;

/// The columns of the files that are read: every type but those that are others under another name.
pub fn schema(encoding: &str) -> SchemaRef {
    let some = |name: &str, data_type| Field::new(name, data_type, true);
    let all = |name: &str, data_type| Field::new(name, data_type, false);
    if encoding == "text" {
        return Arc::new(Schema::new(vec![some("line", DataType::Utf8View)]));
    }
    Arc::new(Schema::new(vec![
        some("flag", DataType::Boolean),
        some("tiny", DataType::Int8),
        all("small", DataType::UInt16),
        some("int", DataType::Int32),
        all("long", DataType::Int64),
        some("ulong", DataType::UInt64),
        some("float", DataType::Float32),
        all("double", DataType::Float64),
        some("money", DataType::Decimal128(20, 2)),
        some("wide", DataType::Decimal256(50, 4)),
        some("date", DataType::Date32),
        some("time", DataType::Time64(TimeUnit::Microsecond)),
        some("moment", DataType::Timestamp(TimeUnit::Millisecond, None)),
        all("zoned", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        some("text", DataType::Utf8View),
        all("word", DataType::Utf8View),
        some("bytes", DataType::BinaryView),
        some("fixed", DataType::FixedSizeBinary(4)),
    ]))
}

/// The messages that are read as a `.proto` file describes them: all that such a file may say.
pub const PROTO: &str = r#"
    syntax = "proto3";
    message Row {
      int32 n = 1; sint64 z = 2; fixed32 f = 3; sfixed64 g = 4; double d = 5; string s = 6; bytes b = 7;
      Kind kind = 8; optional bool flag = 9; float half = 300;
      Inner inner = 10; repeated Inner inners = 11; repeated sint32 packed = 12; repeated string texts = 13;
      repeated Kind kinds = 14; repeated fixed64 wide = 15;
      map<string, Inner> named = 16; map<int64, Kind> counted = 17;
      oneof choice { uint32 small = 18; Inner large = 19; string text = 20; }
      google.protobuf.Timestamp at = 21; google.protobuf.StringValue wrapped = 22;
      repeated google.protobuf.Timestamp times = 23;
    }
    message Inner { int32 a = 1; repeated Deep deep = 2; Deep one = 3; oneof c { bool x = 4; uint64 y = 5; } }
    message Deep { repeated int32 l = 1; map<bool, string> m = 2; }
    enum Kind { NONE = 0; FIRST = 1; LAST = -1; }
"#;

/// The structs that are read as a `.capnp` file describes them: all that such a file may say.
pub const CAPNP: &str = r#"
    @0xb5e8f0b1c2d3e4f5;
    struct Row {
      n @0 :Int32; z @1 :Int64 = -5; b @2 :Bool = true; f @3 :Float32 = 0.5; d @4 :Float64; u @5 :UInt8 = 7; w @6 :UInt64;
      s @7 :Text = "none"; raw @8 :Data; kind @9 :Kind = last; any @10 :AnyPointer; void @11 :Void;
      inner @12 :Inner; inners @13 :List(Inner); bits @14 :List(Bool); texts @15 :List(Text);
      lists @16 :List(List(Int16)); kinds @17 :List(Kind); pair @18 :Pair(Text, List(Inner));
      union { small @19 :UInt16; large @20 :Inner; none @21 :Void; place :group { x @22 :Int8; y @23 :Text; } }
      maybe :union { null @24 :Void; value @25 :Int32; }
      choice :union { one @26 :Float32; two :union { three @27 :Bool; four @28 :List(Float64); } }
    }
    struct Inner { a @0 :Int16; deep @1 :List(Deep); one @2 :Deep; union { x @3 :Bool; y @4 :Int64; } }
    struct Deep { l @0 :List(UInt32); m @1 :Data; }
    struct Pair(A, B) { first @0 :A; second @1 :B; }
    enum Kind { none @0; first @1; last @2; }
"#;

/// Reads bytes in every way.
pub fn check(encoding: &str, bytes: &[u8]) {
    check_as(encoding, &schema(encoding), FormatOptions::default(), bytes);
}

/// The same of messages as a `.proto` file describes them.
pub fn check_messages(bytes: &[u8]) {
    let (schema, layout) = proto_file::parse(PROTO, Some("Row"), "t").expect("the file can be parsed");
    let format = FormatOptions {
        record_layout: Some(Box::new(RecordLayout::Messages(layout))),
        ..FormatOptions::default()
    };
    check_as("protobuf", &Arc::new(schema), format, bytes);
}

/// The same of structs as a `.capnp` file describes them.
pub fn check_structs(encoding: &str, bytes: &[u8]) {
    let (schema, layout) = capnp_file::parse(CAPNP, Some("Row"), "t").expect("the file can be parsed");
    let record_layout = Some(Box::new(RecordLayout::Structs(layout)));
    let format = FormatOptions { record_layout, ..FormatOptions::default() };
    check_as(encoding, &Arc::new(schema), format, bytes);
}

/// The same of JSON whose rows lie in an array below keys.
pub fn check_below(bytes: &[u8]) {
    let (json_path, json_path_found) = match choice(bytes, 3) {
        0 => ("a.data", false),
        1 => ("data", false),
        _ => ("data", true),
    };
    let dialect = Dialect { json_path: Some(json_path.into()), json_path_found, ..Dialect::default() };
    let format = FormatOptions { dialect: Some(Box::new(dialect)), ..FormatOptions::default() };
    check_as("jsonl", &schema("jsonl"), format, bytes);
}

fn check_as(encoding: &str, schema: &SchemaRef, format: FormatOptions, bytes: &[u8]) {
    let encoding = self::format(encoding).expect("targets are named after encodings");
    let columns = schema.fields().len();
    let way = choice(bytes, 24);
    let format = FormatOptions {
        encoding: encoding.name().into(),
        on_error: [OnError::Fail, OnError::Null, OnError::Skip][way % 3],
        max_record: MAX_RECORD,
        header: way % 5 == 4,
        ..format
    };
    let projection = match way / 3 % 4 {
        0 | 1 => (0..columns).collect(),
        2 => (0..columns).rev().step_by(3).collect(),
        _ => Vec::new(),
    };
    let scan = ScanOptions {
        schema: schema.clone(),
        projection,
        bounds: Vec::new(),
        prefixes: Vec::new(),
        unseen: schema::DeferredValidation::Nothing,
        batch_rows: 16 + way,
        format,
    };

    let file = Arc::new(FileEntry::new("f", bytes.len() as u64, 0));
    let at_once = read(encoding, bytes, &whole(&file), &scan, usize::MAX);

    // Of long inputs no pieces so small that most of the time goes into them.
    let small = 1 + way + bytes.len() / 200;
    let pipe = Arc::new(FileEntry::new("f", 0, 0));
    for piece in [small, 500 + small] {
        let piecewise = read(encoding, bytes, &whole(&pipe), &scan, piece);
        same(&at_once, &piecewise, "read like a pipe", piece);
    }
    // A file without a record a line is never split.
    if encoding.name() == "jsonl" && !(JSONL.splits)(bytes, &scan.format) {
        return;
    }
    if encoding.name() == "csv" && scan.format.header && has_blank_lines(bytes) {
        return;
    }
    for target in [small, 1000 + small] {
        let morsels = encoding.split(&file, &scan, target as u64).expect("any file can be split");
        same(&at_once, &read(encoding, bytes, &morsels, &scan, usize::MAX), "split", target);
    }
    let turns = Arc::new(FileEntry { cut: Splitting::Sequential, ..FileEntry::clone(&file) });
    for target in [small, 1000 + small] {
        let morsels = encoding.split(&turns, &scan, target as u64).expect("any file can be split");
        same(&at_once, &read(encoding, bytes, &morsels, &scan, usize::MAX), "in turns", target);
    }
}

/// A header behind blank lines is looked for in the first piece alone, which has megabytes where no test asks for less.
fn has_blank_lines(bytes: &[u8]) -> bool {
    matches!(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), [b'\n' | b'\r', ..])
}

fn same(expected: &Outcome, found: &Outcome, way: &str, size: usize) {
    match (expected, found) {
        (Ok((rows, skipped)), Ok((other_rows, other_skipped))) => {
            assert_eq!(rows, other_rows, "{way} by {size}");
            assert_eq!(skipped, other_skipped, "{way} by {size}");
        }
        (Err(error), Err(other)) => assert_eq!(error, other, "{way} by {size}"),
        (Ok((rows, _)), Err(error)) => panic!("{} rows, but {way} by {size}: {error}", rows.num_rows()),
        (Err(error), Ok((rows, _))) => panic!("{error}, but {way} by {size}: {} rows", rows.num_rows()),
    }
}

/// Reads morsels one after another; a range is given at most `piece` bytes at once.
fn read(format: &dyn Format, bytes: &[u8], morsels: &[Morsel], scan: &ScanOptions, piece: usize) -> Outcome {
    let mut batches = Vec::new();
    let mut skipped = Skipped::default();
    for morsel in morsels {
        let mut next = Some(morsel.clone()).filter(|morsel| !morsel.is_over());
        while let Some(morsel) = next {
            let some =
                read_one(format, bytes, &morsel, scan, piece, &mut batches).map_err(|e| e.to_string())?;
            skipped.add(&some);
            next = morsel.next();
        }
    }
    let schema: SchemaRef = match batches.first() {
        Some(batch) => batch.schema(),
        None => Arc::new(scan.schema.project(&scan.projection).expect("columns are chosen among these")),
    };
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let whole = match scan.projection.is_empty() {
        true => {
            let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
            RecordBatch::try_new_with_options(schema, Vec::new(), &options)
        }
        false => concat_batches(&schema, &batches),
    };
    Ok((whole.expect("batches of a table have one schema"), skipped))
}

fn read_one(
    format: &dyn Format,
    bytes: &[u8],
    morsel: &Morsel,
    scan: &ScanOptions,
    piece: usize,
    batches: &mut Vec<RecordBatch>,
) -> formats::Result<Skipped> {
    let mut reader = format.reader(morsel, scan)?;
    for _ in 0..STEPS {
        match reader.next()? {
            Next::Batch(batch) => {
                assert!(batch.num_rows() > 0 && batch.num_rows() <= scan.batch_rows, "a batch has a size");
                for column in batch.columns() {
                    column.to_data().validate_full().expect("batches are valid");
                }
                batches.push(batch);
            }
            Next::Done => return Ok(reader.skipped()),
            Next::Wait => panic!("morsels that are read in order never wait"),
            Next::Need(ranges) => {
                for range in ranges {
                    let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(bytes.len());
                    let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(end);
                    let end = end.min(start.saturating_add(piece));
                    reader.give(range, Bytes::copy_from_slice(&bytes[start..end]))?;
                }
            }
        }
    }
    panic!("it goes on for ever");
}
