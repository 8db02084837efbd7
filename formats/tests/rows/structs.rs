//! Structs of Cap'n Proto as a `.capnp` file describes them: what other programs may make of them, and hostile bytes.

use std::sync::Arc;

use formats::Result;
use schema::text::capnp_file;
use schema::{FormatOptions, RecordLayout};

use crate::common::{options, read_whole, scan, write};

const FILE: &str =
    "struct M { numbers @0 :List(Int32); structs @1 :List(Inner); texts @2 :List(Text); bits @3 :List(Bool);
    one @4 :Inner; struct Inner { a @0 :Int32; b @1 :Text; } }";

/// The rows of a file as JSON lines, with the columns of the struct `M`.
fn rows(bytes: &[u8], file: &str, max_record: usize) -> Result<String> {
    let (schema, layout) = capnp_file::parse(file, Some("M"), "t").expect("the file can be parsed");
    let schema = Arc::new(schema);
    let record_layout = Some(Box::new(RecordLayout::Structs(layout)));
    let format = FormatOptions { record_layout, max_record, ..options("capnproto") };
    let (found, _) = read_whole(bytes, &scan(&schema, &format))?;
    Ok(String::from_utf8(write(&schema, &found, &options("jsonl"))?).unwrap().replace('\n', " "))
}

const fn word(low: u32, high: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

/// A pointer to a list behind so many words, of items of this size.
const fn list(words: u32, size: u32, items: u32) -> u64 {
    word(words << 2 | 1, items << 3 | size)
}

/// A message of one segment that begins with a struct of five pointers.
fn message(pointers: [u64; 5], rest: &[u64]) -> Vec<u8> {
    let words: Vec<u64> =
        [word(0, 5 << 16)].into_iter().chain(pointers).chain(rest.iter().copied()).collect();
    let head = u64::try_from(words.len()).unwrap() << 32;
    [head].iter().chain(&words).flat_map(|word| word.to_le_bytes()).collect()
}

fn said(pointers: [u64; 5], rest: &[u64]) -> String {
    rows(&message(pointers, rest), FILE, 1 << 20).expect("the message can be read")
}

fn wrong(pointers: [u64; 5], rest: &[u64]) -> String {
    rows(&message(pointers, rest), FILE, 1 << 20).expect_err("the message is wrong").to_string()
}

const NONE: &str = "{\"numbers\":null,\"structs\":null,\"texts\":null,\"bits\":null,\"one\":null} ";

#[test]
fn lists_that_became_lists_of_structs_are_read_as_both() {
    assert_eq!(said([0; 5], &[]), NONE);
    let with =
        |name: &str, value: &str| NONE.replace(&format!("\"{name}\":null"), &format!("\"{name}\":{value}"));
    // Structs of a word of data whose beginnings are the numbers: 16 bytes behind a tag.
    let tag = word(2 << 2, 1);
    assert_eq!(said([list(4, 7, 2), 0, 0, 0, 0], &[tag, word(7, 1), word(8, 2)]), with("numbers", "[7,8]"));
    // Numbers where structs are expected, and pointers.
    let (numbers, text) = (list(3, 4, 2), list(0, 2, 2));
    assert_eq!(
        said([0, numbers, 0, 0, 0], &[word(5, 6)]),
        with("structs", "[{\"a\":5,\"b\":null},{\"a\":6,\"b\":null}]")
    );
    assert_eq!(
        said([0, list(3, 6, 1), 0, 0, 0], &[text, word(0x78, 0)]),
        with("structs", "[{\"a\":0,\"b\":\"x\"}]")
    );
    // Structs of a pointer where texts are expected.
    assert_eq!(
        said([0, 0, list(2, 7, 1), 0, 0], &[word(1 << 2, 1 << 16), text, word(0x78, 0)]),
        with("texts", "[\"x\"]")
    );
    assert_eq!(said([0, 0, 0, list(1, 1, 3), 0], &[word(0b101, 0)]), with("bits", "[true,false,true]"));
    // A struct without anything in it has what its fields are by default.
    assert_eq!(said([0, 0, 0, 0, word((-1i32 as u32) << 2, 0)], &[]), with("one", "{\"a\":0,\"b\":null}"));
}

#[test]
fn pointers_that_lead_elsewhere_are_errors() {
    let text_without_end = [list(0, 2, 1), word(0x78, 0)];
    for (pointers, rest, part) in [
        ([list(4, 4, 3), 0, 0, 0, 0], &[0][..], "'numbers': a pointer leads out of its segment"),
        ([list(4, 3, 2), 0, 0, 0, 0], &[0], "items of 16 bits, not 32"),
        ([list(4, 6, 1), 0, 0, 0, 0], &[0], "items of 64 bits, not 32"),
        ([word(4 << 2, 1), 0, 0, 0, 0], &[0], "something that is no list"),
        ([0, list(3, 1, 3), 0, 0, 0], &[0], "a list of bits is none of structs"),
        ([0, list(3, 7, 1), 0, 0, 0], &[word(2 << 2, 1), 0], "does not begin with their number and size"),
        ([0, list(3, 7, 1), 0, 0, 0], &[word(1 << 2 | 1, 1), 0], "does not begin with their number and size"),
        ([0, 0, list(2, 4, 1), 0, 0], &[0], "values where pointers are expected"),
        ([0, 0, list(2, 6, 1), 0, 0], &text_without_end, "'texts': the text does not end with a NUL"),
        ([0, 0, 0, 0, list(0, 4, 1)], &[0], "'one': a pointer leads to something that is no struct"),
        ([0, 0, 0, 0, word(0, 9)], &[0], "'one': a pointer leads out of its segment"),
        ([0, 0, 0, 0, word(2, 7)], &[], "a pointer names segment 7 of 1"),
    ] {
        let error = wrong(pointers, rest);
        assert!(error.contains(part) && error.contains("row 1"), "{error}");
    }
}

#[test]
fn a_few_bytes_do_not_become_very_many() {
    let too_long = "take more bytes than --max-record allows";
    // Half a thousand million structs of no bytes.
    let error = wrong([0, list(3, 0, (1 << 29) - 1), 0, 0, 0], &[]);
    assert!(error.contains(too_long), "{error}");
    let error = wrong([0, list(3, 7, 0), 0, 0, 0], &[word(((1 << 29) - 1) << 2, 0)]);
    assert!(error.contains(too_long), "{error}");
    // Pointers that all lead to one text of 8,000 bytes.
    let count = 1000;
    let pointers = (0..count).map(|at| list(count - 1 - at, 2, 8000));
    let text = (0..1000).map(|at| if at == 999 { 0x0078_7878_7878_7878 } else { 0x7878_7878_7878_7878 });
    let error = wrong([0, 0, list(2, 6, count), 0, 0], &pointers.chain(text).collect::<Vec<_>>());
    assert!(error.contains(too_long), "{error}");
    // Structs that are not there take room in each of their columns.
    let wide: String = (0..300).map(|number| format!("f{number} @{number} :Int8; ")).collect();
    let file = format!(
        "struct M {{ w @0 :List(W); a @1 :Text; b @2 :Text; c @3 :Text; d @4 :Text; struct W {{ i @0 :In; }} struct In {{ {wide} }} }}"
    );
    let bytes = message([list(4, 0, 100_000), 0, 0, 0, 0], &[]);
    let error = rows(&bytes, &file, 1 << 20).expect_err("it is too long").to_string();
    assert!(error.contains(too_long), "{error}");
    assert!(rows(&message([list(4, 0, 1000), 0, 0, 0, 0], &[]), &file, 1 << 20).is_ok());
}
