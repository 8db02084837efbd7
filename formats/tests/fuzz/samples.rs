//! Files that are read, of which others are made by changing bytes: the first ones of `seeds/`.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Int32Array, ListArray, RecordBatch, RecordBatchOptions, StringViewArray, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, SchemaRef};
use formats::registry::format;
use schema::FormatOptions;
use schema::manifest::{BlockChecksum, BlockStart, Manifest, PartFile};
use schema::text::{ddl, json};

use crate::targets::records;

/// The files of a target.
pub fn files(target: &str) -> Vec<Vec<u8>> {
    let uncompressed = |encoding: &str| {
        let batch = table(&records::schema(encoding), 12);
        vec![written(encoding, "none", &batch.slice(0, 1)), written(encoding, "none", &batch)]
    };
    let csv = table(&records::schema("csv"), 40).project(&[0, 4, 10, 14]).expect("there are these");
    let inner = |encoding: &str, compressions: &[&str]| {
        let batch = table(&records::schema("csv"), 60);
        compressions.iter().map(|compression| written(encoding, compression, &batch)).collect()
    };
    match target {
        "jsonarray" => {
            let lines = written("jsonl", "none", &table(&records::schema("jsonl"), 5));
            let text = String::from_utf8(lines).expect("JSON is text");
            // The bracket that opens the array is not part of the input.
            vec![format!("{}]\n", text.trim_end().replace('\n', ",\n")).into_bytes()]
        }
        "jsonl" => {
            let objects = b"{\n\"long\": 1, \"double\": 2,\n\"word\": \"}\"}\n, {\"small\": 3}{}".to_vec();
            [uncompressed("jsonl"), vec![objects]].concat()
        }
        "jsonbelow" => {
            let lines = written("jsonl", "none", &table(&records::schema("jsonl"), 5));
            let text = String::from_utf8(lines).expect("JSON is text");
            let rows = text.trim_end().replace('\n', ",\n");
            let meta = r#""meta": [{"n": "\"]"}, -1.5e3, null]"#;
            vec![
                format!("{{\"data\": [{rows}],\n{meta}}}\n").into_bytes(),
                format!("{{{meta}, \"a\": {{\"data\": [{rows}]}}, \"data\": []}}").into_bytes(),
            ]
        }
        "csv" => [uncompressed("csv"), vec![b"\xef\xbb\xbfa,b\r\n\"x\"\"\n\",\r\n\n1,2".to_vec()]].concat(),
        "buren" => inner("buren", &["none", "lz4", "zstd"]),
        "parquet" => {
            [inner("parquet", &["none", "snappy", "zstd"]), deep_and_wide("parquet", &[90, 165])].concat()
        }
        "arrow" => {
            [inner("arrow", &["none", "lz4"]), vec![stream()], deep_and_wide("arrow", &[30, 60])].concat()
        }
        // Which is not written.
        "avro" => ["kinds-null", "kinds-deflate", "kinds-snappy", "kinds-zstandard", "namespaces", "nulls"]
            .map(avro)
            .to_vec(),
        "xlsx" => {
            let inline = include_bytes!("../../../tests/workbooks/inline.xlsx");
            vec![inline.to_vec(), include_bytes!("../../../tests/workbooks/types.xlsx").to_vec()]
        }
        "gzip" | "zlib" | "snappy" | "lz4" | "zstd" => {
            vec![written("csv", target, &csv), written("csv", target, &csv.slice(0, 0))]
        }
        "deflate" => {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&written("csv", "none", &csv)).expect("memory can be written");
            vec![encoder.finish().expect("memory can be written")]
        }
        "bzip2" => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(&written("csv", "none", &csv)).expect("memory can be written");
            vec![encoder.finish().expect("memory can be written")]
        }
        "inference" => {
            let small =
                table(&records::schema("csv"), 8).project(&[0, 4, 7, 10, 14, 16]).expect("there are these");
            let plain = ["csv", "jsonl", "msgpack", "cbor"].map(|encoding| written(encoding, "none", &small));
            let packed = ["gzip", "zstd", "zlib"].map(|compression| written("csv", compression, &small));
            let other =
                [&b"a;b|c\td\n1;2|3\t4\n"[..], b"[{\"a\": [1, {\"b\": null}]}, {\"c\": \"\\u00e9\"}]"];
            let below = br#"{"n": {"a": 1}, "data": [{"a": 1, "b": "x"}, {"c": [2]}], "next": null}"#;
            [plain.to_vec(), packed.to_vec(), other.map(<[u8]>::to_vec).to_vec(), vec![below.to_vec()]]
                .concat()
        }
        "proto" => {
            let two = "package p; message Row { required A a = 1; optional group G = 2 { } \
                       extensions 100 to max; message A { repeated E e = 1 [packed = true]; } enum E { X = 1; } }";
            vec![records::PROTO.into(), two.into()]
        }
        "capnp" => {
            let two = "using Foo = import \"foo.capnp\"; struct Row @0x8000000000000001 $Foo.bar(x = [1]) { a @0 :.Row.A; b @2! :union { \
                       c @1 :List(A); d @3 :Data = 0x\"ab cd\"; } using A = Inner; struct Inner { e @0 :E; } enum E { x @0; } } \
                       interface I(T) extends(J) { m @0 (a :T) -> stream; } const k :Int8 = -0x10;";
            vec![records::CAPNP.into(), two.into()]
        }
        // What Cap'n Proto's tool writes, in one segment and in many.
        "capnproto-structs" => structs(&[], &["--segment-size=1"]),
        "capnproto-structs-packed" => structs(&["--packed"], &["--packed", "--segment-size=4"]),
        // Each field once, lists in both forms, pieces of a message, and members of a oneof behind one another.
        "protobuf-messages" => {
            let flat = b"\x08\x05\x10\x03\x1d\x07\0\0\0\x21\x01\0\0\0\0\0\0\0\x29\0\0\0\0\0\0\xf8\x3f\x32\x02hi\x3a\x01\xff\
                \x40\x01\x48\x01\xe5\x12\0\0\x80\x3f\xaa\x01\x05\x08\x01\x10\xf4\x03\xb2\x01\x03\x0a\x01w";
            let lists = b"\x52\x02\x08\x01\x5a\x06\x12\x04\x0a\x02\x01\x02\x5a\x00\x62\x02\x01\x02\x60\x03\x6a\x01t\x72\x02\0\x01\x7a\x08\
                \x01\0\0\0\0\0\0\0\x52\x04\x1a\x02\x08\x05\xba\x01\x00";
            let maps = b"\x82\x01\x07\x0a\x01k\x12\x02\x20\x01\x82\x01\x03\x0a\x01k\x8a\x01\x04\x08\x05\x10\x01\x90\x01\x02\x9a\x01\x02\x08\x01\
                \xa2\x01\x01x\x9a\x01\x02\x28\x01";
            let counted = |message: &[u8]| [&[message.len() as u8][..], message].concat();
            vec![counted(flat), [counted(lists), counted(b""), counted(maps)].concat()]
        }
        // All of its seeds are kept files.
        "beginnings" => Vec::new(),
        "manifest" => vec![manifest()],
        "schema" => {
            let columns = records::schema("csv");
            let nested =
                "CREATE TABLE t (a INT[], b STRUCT(c TEXT, d DECIMAL(5, 2)), e MAP(INT, DATE) NOT NULL)";
            vec![
                json::print(&columns).expect("all types have names").into_bytes(),
                ddl::print("t", &columns).expect("all types have names").into_bytes(),
                nested.into(),
            ]
        }
        encoding => uncompressed(encoding),
    }
}

/// Messages of all that a `.capnp` file may say, which Cap'n Proto's tool makes in two ways.
fn structs(first: &[&str], second: &[&str]) -> Vec<Vec<u8>> {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let (schema, values) = (home.path().join("row.capnp"), home.path().join("values"));
    std::fs::write(&schema, records::CAPNP).expect("it can be written");
    let text = r#"()
        (n = -1, z = 9, b = false, f = 1e3, d = -0.25, u = 255, w = 18446744073709551615, s = "", raw = "\x00\xff",
         kind = first, inner = (a = 5, deep = [(), (l = [1, 2], m = "x")], one = (l = []), y = -7), inners = [(x = true), ()],
         bits = [true, false, true], texts = ["", "a text of some length"], lists = [[], [1, -1]], kinds = [last, none],
         pair = (first = "p", second = [(a = 1)]), place = (x = 3, y = "y"), maybe = (value = 4), choice = (two = (four = [0.5])))
        (large = (a = 2), maybe = (null = void), choice = (two = (three = true)))
        (none = void, choice = (one = 2.5))"#;
    std::fs::write(&values, text).expect("it can be written");
    let encoded = |options: &[&str]| {
        let input = std::fs::File::open(&values).expect("it can be read");
        let mut tool = std::process::Command::new("capnp");
        let done = tool.arg("encode").args(options).arg(&schema).arg("Row").stdin(input).output();
        let done = done.expect("capnp is there (`make others` installs it)");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        done.stdout
    };
    vec![encoded(first), encoded(second)]
}

/// A file that fastavro wrote.
fn avro(name: &str) -> Vec<u8> {
    let path = format!("{}/../tests/avro/{name}.avro", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).expect("a file of the tests can be read")
}

/// Rows of these columns: every fifth value is NULL, the others are text that was read as the column's type.
fn table(schema: &SchemaRef, rows: usize) -> RecordBatch {
    let column = |data_type: &DataType, nullable: bool, seed: usize| -> ArrayRef {
        let text = |row: usize| {
            let number = (row * 7919 + seed * 104_729) % 100_003;
            match data_type {
                DataType::Boolean => ["true", "false"][number % 2].to_string(),
                DataType::Int8 => (number % 100).to_string(),
                DataType::Date32 => format!("20{:02}-0{}-1{}", number % 40, 1 + number % 9, number % 10),
                DataType::Time64(_) => format!("1{}:0{}:59.123456", number % 10, number % 7),
                DataType::Timestamp(_, _) => {
                    format!("2001-0{}-03T04:05:06.7{:02}", 1 + number % 9, number % 90)
                }
                DataType::Utf8View => {
                    let texts =
                        ["", "a, \"b\"", "line\nbreak\r", "é und 日本語 in a longer text", "\\x00 \u{0}"];
                    texts[number % texts.len()].to_string()
                }
                DataType::BinaryView => "bytes of some length".repeat(number % 3),
                DataType::FixedSizeBinary(size) => "f".repeat(*size as usize),
                _ => (number % 60_000).to_string(),
            }
        };
        let values = (0..rows).map(|row| (!nullable || row % 5 != seed % 5).then(|| text(row)));
        let values = StringViewArray::from_iter(values);
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let bytes = |to: &DataType| cast(&cast(&values, &DataType::Binary)?, to);
        match data_type {
            DataType::BinaryView => cast(&values, data_type),
            DataType::FixedSizeBinary(_) => bytes(data_type),
            _ => cast_with_options(&values, data_type, &options),
        }
        .expect("the texts are values of the type")
    };
    let columns = schema.fields().iter().enumerate();
    let columns = columns.map(|(seed, field)| column(field.data_type(), field.is_nullable(), seed)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).expect("columns have their types")
}

/// The bytes of a file that palais writes, in two blocks.
fn written(encoding: &str, compression: &str, batch: &RecordBatch) -> Vec<u8> {
    let options = FormatOptions {
        encoding: encoding.into(),
        compression: compression.into(),
        header: true,
        ..FormatOptions::default()
    };
    let batch = match encoding {
        "text" => RecordBatch::try_from_iter([(
            "line",
            Arc::new(StringViewArray::from(vec!["a line", "", "an other \u{fffd}"])) as ArrayRef,
        )]),
        _ => Ok(batch.clone()),
    };
    let batch = batch.expect("columns have one length");
    let encoder = format(encoding).expect("it is known").encoder(&batch.schema(), &options);
    let encoder = encoder.expect("it writes these types");
    let mut assembler = encoder.assembler().expect("there is one");
    let mut out = Vec::new();
    assembler.begin(&mut out).expect("memory can be written");
    let half = batch.num_rows() / 2;
    for piece in [batch.slice(0, half), batch.slice(half, batch.num_rows() - half)] {
        let block = encoder.encode(&[piece]).expect("the values can be written");
        assembler.append(block, &mut out).expect("memory can be written");
    }
    assembler.finish(&mut out).expect("memory can be written");
    out
}

/// Files of lists and structs within each other, so many levels of them, of which the last is refused; and one of columns
/// each of which unpacks to a part of what may be kept, and all of which to more.
fn deep_and_wide(encoding: &str, levels: &[usize]) -> Vec<Vec<u8>> {
    let of = |columns: Vec<(String, ArrayRef)>| RecordBatch::try_from_iter(columns).expect("one length");
    let deep = levels.iter().map(|&levels| of(vec![("deep".into(), nested(levels))]));
    let text = StringViewArray::from_iter_values((0..4).map(|row| row.to_string().repeat(1 << 21)));
    let text: ArrayRef = Arc::new(text);
    let wide = of((0..40).map(|column| (format!("c{column}"), text.clone())).collect());
    deep.map(|batch| written(encoding, "none", &batch)).chain([written(encoding, "zstd", &wide)]).collect()
}

/// Two rows of lists and structs in turn, within each other.
fn nested(levels: usize) -> ArrayRef {
    (0..levels).fold(Arc::new(Int32Array::from(vec![Some(1), None])), |inner: ArrayRef, level| {
        let field = Arc::new(Field::new("item", inner.data_type().clone(), true));
        match level % 2 {
            0 => Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([1, 1]), inner, None)),
            _ => Arc::new(StructArray::new(vec![field].into(), vec![inner], None)),
        }
    })
}

/// An Arrow stream with a dictionary.
fn stream() -> Vec<u8> {
    let words = StringViewArray::from_iter_values((0..20).map(|row| ["one", "two", "three"][row % 3]));
    let kind = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let words = cast(&words, &kind).expect("texts can be a dictionary");
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..20));
    let batch = RecordBatch::try_from_iter([("word", words), ("number", numbers)]).expect("one length");
    let mut out = Vec::new();
    let mut writer = StreamWriter::try_new(&mut out, &batch.schema()).expect("memory can be written");
    writer.write(&batch).and_then(|()| writer.finish()).expect("memory can be written");
    drop(writer);
    out
}

fn manifest() -> Vec<u8> {
    let block =
        |offset, rows| BlockStart { offset, rows, content: Some(BlockChecksum { raw: 50, crc32: 7 }) };
    let file = |name: &str| PartFile {
        name: name.into(),
        rows: 12,
        bytes: 100,
        crc32: 1234,
        blocks: vec![block(0, 5), block(50, 7)],
    };
    let manifest = Manifest {
        version: schema::manifest::VERSION,
        table: Some("t".into()),
        schema: records::schema("csv"),
        format: FormatOptions::default(),
        files: vec![file("a.csv"), file("b.csv")],
    };
    manifest.print(std::path::Path::new("m")).expect("a manifest can be printed")
}
