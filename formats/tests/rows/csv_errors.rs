//! csv: what does not fit the schema or the format.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, SchemaRef};
use formats::format::{Morsel, ScanOptions};
use formats::registry::format;
use schema::OnError;

use crate::common::*;
use crate::csv::{rows, text_columns};

#[test]
fn text_that_is_not_utf8_is_a_bad_value() {
    let text = b"a\xffb,ok\n\xf0\x9f\x92,\"\xfe\"\"\"\nfine,fine\n";
    let strict = scan(&text_columns(2), &options("csv"));
    assert_eq!(
        message(read_whole(text, &strict)),
        ", row 1, byte 0, column column1: these bytes are not UTF-8, found 'a\u{fffd}b'\n  help: --encoding latin-1 reads it, or \
         windows-1252, utf-16 or what the file has; --on-error null or --on-error skip passes over it and counts it, \
         --schema gives other types"
    );
    let mut nulls = strict.clone();
    nulls.format.on_error = OnError::Null;
    let (batches, skipped) = read_whole(text, &nulls).unwrap();
    let found = rows(&batches);
    assert_eq!((found[0][0].as_deref(), found[0][1].as_deref()), (None, Some("ok")));
    assert_eq!((found[1][0].as_deref(), found[1][1].as_deref()), (None, None));
    assert_eq!(found[2][1].as_deref(), Some("fine"));
    assert_eq!((skipped.values, skipped.replaced), (3, 0));
    // As bytes they stay what they are.
    let schema = fields(&[("a", DataType::Binary), ("b", DataType::Binary)]);
    let batch = concat(&schema, &read_whole(text, &scan(&schema, &options("csv"))).unwrap().0);
    assert_eq!(batch.column(0).as_binary_view().value(0), b"a\xffb");
}

fn typed() -> (SchemaRef, ScanOptions) {
    let schema = fields(&[("n", DataType::Int32), ("s", DataType::Utf8), ("d", DataType::Date32)]);
    let scan = scan(&schema, &options("csv"));
    (schema, scan)
}

#[test]
fn errors_name_the_place() {
    let (_, scan) = typed();
    let text = "1,a,2020-01-01\n2,\"b\nb\",2020-01-02\nx3,c,2020-01-03\n";
    assert_eq!(
        message(read_whole(text.as_bytes(), &scan)),
        ", row 3, line 4, byte 34, column n: expected a whole number of 32 bits, found 'x3'\n  help: --on-error null or \
         --on-error skip passes over it and counts it, --schema gives other types"
    );
    let text = "1,a,2020-01-01\n2,b\n";
    assert_eq!(
        message(read_whole(text.as_bytes(), &scan)),
        ", row 2, byte 15: expected 3 fields, this record has 2, found '2,b'\n  help: --on-error skip passes over such \
         records and counts them, --skip N passes over lines before the header"
    );
    let text = "1,a,2020-01-01,\n";
    assert!(message(read_whole(text.as_bytes(), &scan)).contains("this record has 4"));
    let text = "1,\"a,2020-01-01\n2,b,2020-01-01\n";
    assert!(
        message(read_whole(text.as_bytes(), &scan))
            .contains("row 1, byte 0: a quote in this record is never closed")
    );
    let text = "1,\"a\"b,2020-01-01\n";
    assert!(
        message(read_whole(text.as_bytes(), &scan)).contains("column s: expected text with whole quotes")
    );
    // The first error of a file wins, whatever column it is in.
    let text = "1,a,2020-01-01\n2,b,2020-02-30\nx,c,2020-01-03\n";
    assert!(message(read_whole(text.as_bytes(), &scan)).contains("row 2, byte 19, column d"));
}

#[test]
fn errors_name_the_row_of_the_file_from_any_morsel() {
    let (_, mut scan) = typed();
    let mut text = "n,s,d\n".to_string();
    for i in 0..400 {
        text.push_str(&format!("{i},\"a\n\"\"{i}\",2020-01-01\n\n"));
    }
    let good = text.len();
    text.push_str("77,bad,2020-13-01\n88,b,2020-01-01\n");
    let format = format("csv").unwrap();
    scan.format.header = true;
    for target in [10, 100, 1000, 100_000] {
        let morsels = format.split(&entry(text.as_bytes()), &scan, target).unwrap();
        let found = message(read_morsels(text.as_bytes(), &morsels, &scan));
        let place = format!(", row 401, line 1202, byte {}, column d: expected a date", good + 7);
        assert!(found.starts_with(&place), "{found}");
    }
}

#[test]
fn bad_values_are_passed_over_on_request() {
    let (schema, mut scan) = typed();
    let text = "1,a,2020-01-01\nx,b,y\n3,c\n4,d,2020-01-04,5\n\n6,e,2020-01-06\n";
    scan.format.on_error = OnError::Null;
    let (batches, skipped) = read_whole(text.as_bytes(), &scan).unwrap();
    let batch = concat(&schema, &batches);
    assert_eq!(batch.num_rows(), 5);
    assert!(batch.column(0).is_null(1) && batch.column(2).is_null(1) && batch.column(1).is_valid(1));
    assert!(batch.column(2).is_null(2) && batch.column(2).is_valid(3));
    assert_eq!((skipped.rows, skipped.values), (0, 4));
    scan.format.on_error = OnError::Skip;
    let (batches, skipped) = read_whole(text.as_bytes(), &scan).unwrap();
    let batch = concat(&schema, &batches);
    let numbers = batch.column(0).as_primitive::<arrow_array::types::Int32Type>();
    assert_eq!(numbers.values().to_vec(), [1, 6]);
    assert_eq!((skipped.rows, skipped.values), (3, 0));
    // The structure is checked whatever columns are wanted.
    scan.projection = vec![];
    let (batches, skipped) = read_whole(text.as_bytes(), &scan).unwrap();
    assert_eq!((batches.iter().map(|b| b.num_rows()).sum::<usize>(), skipped.rows), (3, 2));
}

#[test]
fn columns_without_nulls_have_none() {
    let field = arrow_schema::Field::new("n", DataType::Int64, false);
    let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
    let mut scan = scan(&schema, &options("csv"));
    let text = b"1\n\n3\n";
    assert!(
        message(read_whole(text, &scan))
            .contains("row 2, byte 2, column n: expected a whole number of 64 bits (the")
    );
    scan.format.on_error = OnError::Null;
    assert!(read_whole(text, &scan).is_err());
    scan.format.on_error = OnError::Skip;
    assert_eq!(read_whole(text, &scan).unwrap().1.rows, 1);
}

#[test]
fn records_longer_than_allowed_are_errors() {
    let mut scan = scan(&text_columns(2), &options("csv"));
    scan.format.max_record = 50;
    let text = format!("a,b\n{},b\nc,d\n", "x".repeat(60));
    for on_error in [OnError::Fail, OnError::Null, OnError::Skip] {
        scan.format.on_error = on_error;
        let found = message(read_whole(text.as_bytes(), &scan));
        assert!(
            found.contains("row 2, byte 4: the record that begins here is longer than 50 bytes"),
            "{found}"
        );
    }
    scan.format.max_record = 2 << 20;
    let text = format!("a,b\nc,\"{}\n", "x,\n".repeat(2_000_000));
    let found = message(read_whole(text.as_bytes(), &scan));
    assert!(found.contains("row 2, byte 4: the record that begins here is longer"), "{found}");
}

#[test]
fn a_file_that_was_cut_short_meanwhile_is_an_error() {
    let text = b"1,2\n3,4\n";
    let scan = scan(&text_columns(2), &options("csv"));
    let morsels: Vec<Morsel> = formats::rows::split::whole(&entry(b"1,2\n3,4\n5,6\n"));
    assert!(
        message(read_morsels(text, &morsels, &scan)).contains("byte 8: the file ends here; it had 12 bytes")
    );
}
