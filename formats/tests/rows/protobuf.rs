//! Messages as other programs write them: fields that are not there, or there more than once.

use std::sync::Arc;

use formats::Result;
use schema::text::{ddl, proto_file};
use schema::{FormatOptions, RecordLayout};

use crate::common::*;

/// The rows of a file as JSON lines, with the columns of a `CREATE TABLE`.
fn rows(bytes: &[u8], columns: &str) -> Result<String> {
    let table = ddl::tables_of(&format!("CREATE TABLE t ({columns})")).unwrap().remove(0);
    let schema = Arc::new(table.schema);
    let format = FormatOptions { unsaid: table.unsaid, ..options("protobuf") };
    let (found, _) = read_whole(bytes, &scan(&schema, &format))?;
    Ok(String::from_utf8(write(&schema, &found, &options("jsonl"))?).unwrap().replace('\n', " "))
}

#[test]
fn a_field_that_is_not_there_is_what_the_schema_says() {
    // Two messages: 1 and "a", and nothing, as proto3 writes 0 and "".
    let bytes = b"\x05\x08\x01\x12\x01a\x00";
    let said = |columns| rows(bytes, columns).unwrap();
    assert_eq!(said("n BIGINT NOT NULL, s VARCHAR NOT NULL"), "{\"n\":1,\"s\":\"a\"} {\"n\":0,\"s\":\"\"} ");
    assert_eq!(said("n BIGINT NULL, s VARCHAR NULL"), "{\"n\":1,\"s\":\"a\"} {\"n\":null,\"s\":null} ");
    let error = message(rows(bytes, "n BIGINT, s VARCHAR"));
    assert!(error.contains("row 2") && error.contains("field 1, column 'n', is not there"), "{error}");
    let error = message(rows(bytes, "n BIGINT NOT NULL, s VARCHAR"));
    assert!(error.contains("field 2, column 's', is not there"), "{error}");
    // A schema of palais, or one in JSON, says it of every column.
    assert_eq!(rows(b"\x02\x08\x07", "n BIGINT").unwrap(), "{\"n\":7} ");
}

#[test]
fn a_repeated_field_is_refused() {
    for (bytes, columns, part) in [
        (&b"\x04\x08\x01\x08\x02"[..], "n BIGINT", "field 1, column 'n', is there more than once"),
        (b"\x06\x0a\x01a\x0a\x01b", "s VARCHAR NOT NULL", "column 's', is there more than once"),
        (b"\x04\x0a\x02\x01\x02", "n BIGINT", "packed repeated field"),
    ] {
        let error = message(rows(bytes, columns));
        assert!(error.contains(part), "{error}");
    }
    // One that no column stands for is passed over.
    assert_eq!(rows(b"\x06\x08\x01\x10\x02\x10\x03", "n BIGINT").unwrap(), "{\"n\":1} ");
}

/// The rows of a file as JSON lines, with the columns of the message `M` of a `.proto` file.
fn messages(bytes: &[u8], proto: &str) -> Result<String> {
    let (schema, layout) = proto_file::parse(proto, Some("M"), "t").expect("the file can be parsed");
    let schema = Arc::new(schema);
    let format = FormatOptions {
        record_layout: Some(Box::new(RecordLayout::Messages(layout))),
        ..options("protobuf")
    };
    let (found, _) = read_whole(bytes, &scan(&schema, &format))?;
    Ok(String::from_utf8(write(&schema, &found, &options("jsonl"))?).unwrap().replace('\n', " "))
}

/// A message behind its length.
fn counted(message: &[u8]) -> Vec<u8> {
    [&[u8::try_from(message.len()).expect("it is short")], message].concat()
}

fn said(message: &[u8], proto: &str) -> String {
    messages(&counted(message), proto).expect("the message can be read")
}

#[test]
fn numbers_of_the_file_decide_and_unknown_fields_are_passed_over() {
    let proto = "syntax = \"proto3\"; message M { string s = 9; sint32 z = 2; fixed32 f = 300; }";
    // Field 1 is unknown, of each kind; 300 has a tag of two bytes.
    let message = b"\x08\x05\x0a\x01x\x09abcdefgh\x0dabcd\x4a\x02hi\x10\x03\xe5\x12\x07\x00\x00\x00";
    assert_eq!(said(message, proto), "{\"s\":\"hi\",\"z\":-2,\"f\":7} ");
}

#[test]
fn what_is_not_there_is_zero_or_null_as_the_file_says() {
    let inner = "message I { int32 a = 1; optional int32 b = 2; repeated int32 c = 3; }";
    let proto3 = format!(
        "syntax = \"proto3\"; {inner} enum E {{ ZERO = 0; ONE = 1; }}
         message M {{ int32 n = 1; optional int32 o = 2; string s = 3; E e = 4; bool b = 5; double d = 6;
            I i = 7; repeated I l = 8; map<string, I> m = 9; oneof c {{ int32 x = 10; string y = 11; }} }}"
    );
    assert_eq!(
        said(b"", &proto3),
        "{\"n\":0,\"o\":null,\"s\":\"\",\"e\":\"ZERO\",\"b\":false,\"d\":0.0,\"i\":null,\"l\":[],\"m\":{},\
         \"x\":null,\"y\":null} "
    );
    // A message that is there and empty; an entry of a map without key and value.
    let rest = "\"l\":[{\"a\":0,\"b\":null,\"c\":[]}],\"m\":{\"\":{\"a\":0,\"b\":null,\"c\":[]}},\"x\":0,\"y\":null} ";
    let found = said(b"\x3a\x00\x42\x00\x4a\x00\x50\x00", &proto3);
    assert!(found.ends_with(rest) && found.contains("\"i\":{\"a\":0,\"b\":null,\"c\":[]}"), "{found}");

    let proto2 =
        "message M { optional int32 o = 1; required int32 r = 2; optional string s = 3 [default = \"d\"]; }";
    assert_eq!(said(b"\x10\x00", proto2), "{\"o\":null,\"r\":0,\"s\":null} ");
    let error = message(messages(b"\x02\x08\x01", proto2));
    assert!(
        error.contains("row 1") && error.contains("field 2, 'r', is required, and is not there"),
        "{error}"
    );
}

#[test]
fn the_last_value_counts_and_pieces_of_messages_are_one() {
    let proto =
        "syntax = \"proto3\"; message I { int32 a = 1; string b = 2; repeated int32 l = 3; I2 deep = 4; }
         message I2 { int32 p = 1; int32 q = 2; } message M { int32 n = 1; I i = 2; }";
    assert_eq!(said(b"\x08\x01\x08\x02", proto), "{\"n\":2,\"i\":null} ");
    // Between its pieces stands another field; the second piece has another value of `a`, and more of `l` and `deep`.
    let pieces =
        b"\x12\x08\x08\x01\x18\x05\x22\x02\x08\x07\x08\x09\x12\x0b\x08\x02\x12\x01x\x18\x06\x22\x02\x10\x08";
    assert_eq!(
        said(pieces, proto),
        "{\"n\":9,\"i\":{\"a\":2,\"b\":\"x\",\"l\":[5,6],\"deep\":{\"p\":7,\"q\":8}}} "
    );
}

#[test]
fn of_a_oneof_the_last_member_counts() {
    let proto = "syntax = \"proto3\"; message I { int32 a = 1; int32 b = 2; }
         message M { oneof c { int32 x = 1; string y = 2; I i = 3; } int32 n = 4; optional int32 o = 5; }";
    let of = |message: &[u8]| said(message, proto);
    let rest = "\"n\":0,\"o\":null} ";
    assert_eq!(of(b"\x08\x07\x12\x01s"), format!("{{\"x\":null,\"y\":\"s\",\"i\":null,{rest}"));
    assert_eq!(of(b"\x12\x01s\x08\x00"), format!("{{\"x\":0,\"y\":null,\"i\":null,{rest}"));
    // Two pieces are one message, unless another member stands between them.
    let both = format!("{{\"x\":null,\"y\":null,\"i\":{{\"a\":1,\"b\":2}},{rest}");
    assert_eq!(of(b"\x1a\x02\x08\x01\x1a\x02\x10\x02"), both);
    let second = format!("{{\"x\":null,\"y\":null,\"i\":{{\"a\":0,\"b\":2}},{rest}");
    assert_eq!(of(b"\x1a\x02\x08\x01\x08\x05\x1a\x02\x10\x02"), second);
    // `optional` is none of them.
    let optional = "{\"x\":null,\"y\":null,\"i\":null,\"n\":3,\"o\":4} ";
    assert_eq!(of(b"\x28\x04\x20\x03"), optional);
}

#[test]
fn lists_are_packed_or_not_and_maps_keep_the_last_of_a_key() {
    let proto = "syntax = \"proto3\"; enum E { A = 0; B = 1; } message M { repeated sint64 s = 1; repeated fixed32 f = 2;
         repeated string t = 3; repeated E e = 4; repeated bool b = 5; map<int32, string> m = 6; }";
    // Packed, alone, and packed again; a string between them; an enum of a number that has no name.
    let message = b"\x0a\x02\x01\x02\x1a\x01x\x08\x03\x0a\x01\x04\x1a\x00\x12\x08\x01\0\0\0\x02\0\0\0\x22\x03\x00\x01\x09\x28\x01\
        \x32\x05\x08\x05\x12\x01p\x32\x05\x12\x01q\x08\x06\x32\x05\x08\x05\x12\x01r";
    assert_eq!(
        said(message, proto),
        "{\"s\":[-1,1,-2,2],\"f\":[1,2],\"t\":[\"x\",\"\"],\"e\":[\"A\",\"B\",\"9\"],\"b\":[true],\
         \"m\":{\"6\":\"q\",\"5\":\"r\"}} "
    );
}

#[test]
fn numbers_are_cut_to_their_type_as_other_readers_cut_them() {
    let proto = "syntax = \"proto3\"; message M { int32 i = 1; uint32 u = 2; bool b = 3; sint32 s = 4; }";
    let long = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x81\x80\x80\x80\x10\x18\x80\x02\x20\x03";
    assert_eq!(said(long, proto), "{\"i\":-1,\"u\":1,\"b\":true,\"s\":-2} ");
}

#[test]
fn types_of_protocol_buffers_itself() {
    let proto = "syntax = \"proto3\"; import \"google/protobuf/timestamp.proto\"; import \"google/protobuf/wrappers.proto\";
         message M { google.protobuf.Timestamp t = 1; google.protobuf.Int32Value w = 2;
         repeated .google.protobuf.StringValue l = 3; google.protobuf.Duration d = 4; }";
    assert_eq!(said(b"", proto), "{\"t\":null,\"w\":null,\"l\":[],\"d\":null} ");
    assert_eq!(
        said(b"\x0a\x05\x08\x01\x10\xf4\x03\x12\x00\x1a\x03\x0a\x01x\x1a\x00\x22\x02\x10\x05", proto),
        "{\"t\":\"1970-01-01T00:00:01.000000500Z\",\"w\":0,\"l\":[\"x\",\"\"],\"d\":{\"seconds\":0,\"nanos\":5}} "
    );
    // The zero of Go's times, the year 1, is no number of nanoseconds of 64 bits.
    let error = message(messages(&counted(b"\x0a\x0b\x08\x80\x92\xb8\xc3\x98\xfe\xff\xff\xff\x01"), proto));
    assert!(error.contains("a Timestamp of -62135596800 seconds and 0 nanoseconds is none"), "{error}");
    let error = message(messages(&counted(b"\x0a\x06\x10\xff\xff\xff\xff\x07"), proto));
    assert!(error.contains("2147483647 nanoseconds"), "{error}");
}

#[test]
fn messages_that_are_none_are_refused() {
    let proto = "syntax = \"proto3\"; message I { repeated fixed64 f = 1; } message M { int32 n = 1; I i = 2; string s = 3; }";
    for (bytes, part) in [
        (&b"\x08"[..], "goes on behind the end of its message"),
        (b"\x12\x05\x09", "goes on behind the end of its message"),
        // Beyond the message within, though not beyond the whole one.
        (b"\x12\x02\x0a\x08abcdefgh", "goes on behind the end of its message"),
        (b"\x12\x05\x0a\x03abc", "a packed list ends within a value"),
        (b"\x0a\x01x", "field 1 has the wire type 2, and 'n' has 0"),
        (b"\x18\x01", "field 3 has the wire type 0, and 's' has 2"),
        (b"\x2b\x2c", "field 5 is a group"),
        (b"\x2e", "wire type 6"),
        (b"\x00\x01", "0 is no number of a field"),
        (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "more than ten bytes"),
    ] {
        let error = message(messages(&counted(bytes), proto));
        assert!(error.contains("row 1") && error.contains(part), "{bytes:x?}: {error}");
    }
    let error = message(messages(b"\x05\x08\x01", proto));
    assert!(error.contains("row 1"), "{error}");
}

#[test]
fn a_message_that_becomes_too_many_values_is_refused() {
    let fields: String = (1..=1000).map(|number| format!("int32 f{number} = {number};")).collect();
    let proto = format!(
        "syntax = \"proto3\"; message W {{ {fields} }} message I {{ W w = 1; }}
         message M {{ repeated W l = 1; repeated I i = 2; }}"
    );
    let (schema, layout) = proto_file::parse(&proto, Some("M"), "t").unwrap();
    let schema = Arc::new(schema);
    let format = FormatOptions {
        record_layout: Some(Box::new(RecordLayout::Messages(layout))),
        max_record: 100_000,
        ..options("protobuf")
    };
    // A hundred empty messages of a thousand fields; and as many whose message of a thousand fields is not there.
    for field in [b"\x0a\x00", b"\x12\x00"] {
        let of = |count: usize| [&[field.repeat(count).len() as u8][..], &field.repeat(count)].concat();
        assert_eq!(read_whole(&of(60), &scan(&schema, &format)).unwrap().0[0].num_rows(), 1);
        let long: Vec<u8> = [&[0xc8, 0x01][..], &field.repeat(100)].concat();
        let error = message(read_whole(&long, &scan(&schema, &format)));
        assert!(error.contains("more bytes than --max-record allows"), "{error}");
    }
}
