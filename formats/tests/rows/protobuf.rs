//! Messages as other programs write them: fields that are not there, or there more than once.

use std::sync::Arc;

use formats::Result;
use schema::FormatOptions;
use schema::text::ddl;

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
