//! Cap'n Proto beyond what palais writes itself: messages of many segments, newer and older schemas, hostile bytes. The
//! `capnp` crate's reader is the oracle.

use std::sync::Arc;

use arrow_array::*;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use capnp::message::{AllocationStrategy, Builder, HeapAllocator, ReaderOptions};
use capnp::private::layout::{PointerBuilder, PointerReader, StructBuilder, StructReader, StructSize};
use capnp::traits::{FromPointerBuilder, FromPointerReader};
use formats::Result;
use schema::OnError;

use crate::common::{Random, entry, options, read_whole, scan, write};

/// A struct of `number @0 :Int64; text @1 :Text; small :union { null @2 :Void; value @3 :Int16; } bytes @4 :Data;`,
/// whose first column, and no other, is NOT NULL.
fn table() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("number", DataType::Int64, false),
        Field::new("text", DataType::Utf8View, true),
        Field::new("small", DataType::Int16, true),
        Field::new("bytes", DataType::BinaryView, true),
    ]))
}

type Row = (i64, Option<Vec<u8>>, Option<i16>, Option<Vec<u8>>);

struct Write<'a>(StructBuilder<'a>);

impl<'a> FromPointerBuilder<'a> for Write<'a> {
    fn init_pointer(builder: PointerBuilder<'a>, _: u32) -> Self {
        Write(builder.init_struct(StructSize { data: 2, pointers: 2 }))
    }

    fn get_from_pointer(_: PointerBuilder<'a>, _: Option<&'a [capnp::Word]>) -> capnp::Result<Self> {
        Err(capnp::Error::failed("only new messages are built".into()))
    }
}

struct Read<'a>(StructReader<'a>);

impl<'a> FromPointerReader<'a> for Read<'a> {
    fn get_from_pointer(
        reader: &PointerReader<'a>,
        default: Option<&'a [capnp::Word]>,
    ) -> capnp::Result<Self> {
        reader.get_struct(default).map(Read)
    }
}

/// A message with segments of `words`, or more where a value needs them; so pointers are far where they don't fit.
fn message(row: &Row, words: u32) -> Vec<u8> {
    capnp::serialize::write_message_to_words(&built(row, words))
}

fn packed(row: &Row, words: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    capnp::serialize_packed::write_message(&mut bytes, &built(row, words)).unwrap();
    bytes
}

fn built(row: &Row, words: u32) -> Builder<HeapAllocator> {
    let allocator =
        HeapAllocator::new().first_segment_words(words).allocation_strategy(AllocationStrategy::FixedSize);
    let mut message = Builder::new(allocator);
    let mut fields = message.init_root::<Write>().0;
    fields.set_data_field(0, row.0);
    if let Some(small) = row.2 {
        fields.set_data_field(4, 1u16);
        fields.set_data_field(5, small);
    }
    if let Some(text) = &row.1 {
        fields.reborrow().get_pointer_field(0).set_text(capnp::text::Reader(text));
    }
    if let Some(bytes) = &row.3 {
        fields.reborrow().get_pointer_field(1).set_data(bytes);
    }
    message
}

/// What the crate reads.
fn by_crate(mut bytes: &[u8]) -> capnp::Result<Row> {
    let mut options = ReaderOptions::new();
    options.traversal_limit_in_words(Some(1 << 17));
    let message = capnp::serialize::read_message(&mut bytes, options)?;
    let fields = message.get_root::<Read>()?.0;
    let small = match fields.get_data_field::<u16>(4) {
        0 => None,
        1 => Some(fields.get_data_field(5)),
        _ => return Err(capnp::Error::failed("no such member".into())),
    };
    let pointer = |i: usize| fields.get_pointer_field(i);
    let text = match pointer(0).is_null() {
        true => None,
        false => Some(pointer(0).get_text(None)?.as_bytes().to_vec()),
    };
    let bytes = match pointer(1).is_null() {
        true => None,
        false => Some(pointer(1).get_data(None)?.to_vec()),
    };
    Ok((fields.get_data_field(0), text, small, bytes))
}

fn read(encoding: &str, bytes: &[u8], schema: &SchemaRef, on_error: OnError) -> Result<Vec<RecordBatch>> {
    let mut options = options(encoding);
    options.on_error = on_error;
    options.max_record = 1 << 20;
    read_whole(bytes, &scan(schema, &options)).map(|(batches, _)| batches)
}

/// What palais reads of one message.
fn by_palais(bytes: &[u8]) -> Result<Row> {
    let batches = read("capnproto", bytes, &table(), OnError::Fail)?;
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
    let columns = batches[0].columns();
    let number = columns[0].as_any().downcast_ref::<Int64Array>().unwrap().value(0);
    let text = columns[1].as_any().downcast_ref::<StringViewArray>().unwrap();
    let small = columns[2].as_any().downcast_ref::<Int16Array>().unwrap();
    let data = columns[3].as_any().downcast_ref::<BinaryViewArray>().unwrap();
    Ok((
        number,
        text.is_valid(0).then(|| text.value(0).as_bytes().to_vec()),
        small.is_valid(0).then(|| small.value(0)),
        data.is_valid(0).then(|| data.value(0).to_vec()),
    ))
}

fn random_row(random: &mut Random) -> Row {
    let small = random.next() as i16;
    (
        i64::from(random.next()) * 1_000_003,
        (random.below(4) > 0).then(|| (0..random.below(40)).map(|_| b'a' + random.below(26) as u8).collect()),
        (random.below(4) > 0).then_some(small),
        (random.below(4) > 0).then(|| (0..random.below(40)).map(|_| random.next() as u8).collect()),
    )
}

#[test]
fn messages_of_any_segments_are_read_as_the_crate_reads_them() {
    let mut random = Random(5);
    for words in [1, 2, 3, 4, 6, 9, 1000] {
        for _ in 0..50 {
            let row = random_row(&mut random);
            let bytes = message(&row, words);
            assert_eq!(by_crate(&bytes).unwrap(), row);
            assert_eq!(by_palais(&bytes).unwrap(), row);
        }
    }
}

#[test]
fn damaged_messages_are_errors_or_read_as_the_crate_reads_them() {
    let mut random = Random(6);
    let (mut same, mut refused) = (0, 0);
    for round in 0..30_000 {
        let row = random_row(&mut random);
        let mut bytes = message(&row, [1, 3, 5, 1000][round % 4]);
        for _ in 0..1 + random.below(3) {
            // Bytes of pointers and tables more than those of values.
            let at = if random.below(3) > 0 {
                random.below(bytes.len().min(72))
            } else {
                random.below(bytes.len())
            };
            bytes[at] =
                if random.below(2) == 0 { bytes[at] ^ 1 << random.below(8) } else { random.next() as u8 };
        }
        let found = by_palais_or_none(&bytes);
        match (by_crate(&bytes), found) {
            (Ok(mut expected), Ok(Some(found))) => {
                // What is not UTF-8 is replaced.
                expected.1 = expected.1.map(|text| String::from_utf8_lossy(&text).into_owned().into_bytes());
                assert_eq!(found, expected, "round {round}");
                same += 1;
            }
            // Values may not lie in each other, which the crate allows up to a limit that is off here; and what follows
            // the message has to be one too.
            (Ok(_), Err(error)) => {
                let text = error.to_string();
                let stricter = ["longer than the message", "is not whole", "is said to have", "is empty"];
                assert!(stricter.iter().any(|s| text.contains(s)), "round {round}: {text}");
                refused += 1;
            }
            (Err(_), Err(_)) => refused += 1,
            (expected, found) => panic!("round {round}: {expected:?}, {found:?}"),
        }
    }
    assert!(same > 5000 && refused > 5000, "{same} {refused}");
    // Packed, damage can move all that is behind it: it is read somehow, or an error.
    for round in 0..10_000 {
        let mut bytes: Vec<u8> = (0..3).flat_map(|_| packed(&random_row(&mut random), 1000)).collect();
        let at = random.below(bytes.len());
        bytes[at] = random.next() as u8;
        let on_error = [OnError::Fail, OnError::Skip, OnError::Null][round % 3];
        if let Err(error) = read("capnproto-packed", &bytes, &table(), on_error) {
            assert!(!error.to_string().is_empty());
        }
    }
}

/// `None` if the damage made two messages of one, or none.
fn by_palais_or_none(bytes: &[u8]) -> Result<Option<Row>> {
    let rows = read("capnproto", bytes, &table(), OnError::Fail)?;
    match rows.iter().map(RecordBatch::num_rows).sum::<usize>() {
        1 => by_palais(bytes).map(Some),
        _ => Ok(None),
    }
}

fn word(low: u32, high: u32) -> [u8; 8] {
    (u64::from(high) << 32 | u64::from(low)).to_le_bytes()
}

/// A message of one segment with these words.
fn framed(words: &[[u8; 8]]) -> Vec<u8> {
    [&[word(0, words.len() as u32)], words].concat().concat()
}

#[test]
fn hostile_messages_are_errors_that_name_row_and_byte() {
    let good = message(&(1, Some(b"one".to_vec()), Some(1), None), 1000);
    let root = |offset: i32| word((offset << 2) as u32, 2 | 2 << 16);
    let zero = [0; 8];
    let list = |offset: i32, size: u32, count: u32| word((offset << 2) as u32 | 1, size | count << 3);
    let far = |segment: u32, offset: u32, two: bool| word(offset << 3 | u32::from(two) << 2 | 2, segment);
    let two = |words: &[[u8; 8]]| {
        let first = words.len() as u32 - 1;
        [&[word(1, first), word(1, 0)], words].concat().concat()
    };
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        (
            "a root that is a list",
            framed(&[list(0, 2, 8), zero]),
            "does not begin with a pointer to a struct",
        ),
        ("a root that is a capability", framed(&[word(3, 0)]), "does not begin with a pointer to a struct"),
        ("no root", framed(&[]), "is empty"),
        ("a root out of the message", framed(&[root(1), zero, zero]), "leads out of its segment"),
        (
            "a root before the message",
            framed(&[root(-2), zero, zero, zero, zero]),
            "leads out of its segment",
        ),
        ("a root to itself", framed(&[root(-1), zero]), "leads out of its segment"),
        (
            "text out of it",
            framed(&[root(0), zero, zero, list(1, 2, 9), zero, zero]),
            "leads out of its segment",
        ),
        ("text that is a struct", framed(&[root(0), zero, zero, root(-5), zero]), "neither text nor data"),
        ("text of words", framed(&[root(0), zero, zero, list(1, 5, 1), zero, zero]), "neither text nor data"),
        (
            "text without a NUL",
            framed(&[root(0), zero, zero, list(1, 2, 8), zero, [65; 8]]),
            "end with a NUL",
        ),
        ("text of no byte", framed(&[root(0), zero, zero, list(1, 2, 0), zero]), "end with a NUL"),
        (
            "values in each other",
            framed(&[root(0), zero, zero, list(-4, 2, 40), list(-5, 2, 40)]),
            "longer than the message",
        ),
        ("another member", framed(&[root(0), zero, word(2, 0), zero, zero]), "member 2 of the union"),
        ("a segment that is not there", framed(&[far(1, 0, false)]), "names segment 1 of 1"),
        ("a far pointer to itself", framed(&[far(0, 0, false)]), "leads to another far pointer"),
        ("a landing pad out of it", framed(&[far(0, 7, false)]), "leads out of its segment"),
        ("a landing pad that is half out", framed(&[far(0, 0, true)]), "leads out of its segment"),
        ("a landing pad of structs", framed(&[far(0, 1, true), root(0), root(0)]), "to a landing pad"),
        ("two far pointers in a ring", two(&[far(1, 0, false), far(0, 0, false)]), "another far pointer"),
    ];
    for (what, bad, expected) in cases {
        let bytes = [&good[..], &bad, &good].concat();
        let error = read("capnproto", &bytes, &table(), OnError::Fail).map(drop);
        let error = crate::common::message(error);
        assert!(error.contains(expected), "{what}: {error}");
        assert!(
            error.contains("row 2") && error.contains(&format!("byte {}", good.len())),
            "{what}: {error}"
        );
        // Where the next message begins is known.
        let rows = read("capnproto", &bytes, &table(), OnError::Skip).unwrap();
        assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 2, "{what}");
    }
    for (what, bad, expected) in [
        ("4 GB", word(0, u32::MAX).to_vec(), "34359738360 bytes or more, of which a record may have 1048576"),
        ("2^32 segments", word(u32::MAX, 1).to_vec(), "said to have 4294967296 segments"),
        ("513 segments", word(512, 1).to_vec(), "said to have 513 segments"),
        ("two of 4 GB", word(1, u32::MAX).to_vec(), "bytes or more"),
        ("a packed message", b"\x10\x05\x50\x02\x01\x01\0\0".to_vec(), "segments"),
        ("a head cut short", good[..5].to_vec(), "is not whole"),
        ("a message cut short", good[..good.len() - 8].to_vec(), "is not whole"),
        ("a table cut short", word(4, 1).to_vec(), "is not whole"),
    ] {
        let bytes = [&good[..], &bad].concat();
        for on_error in [OnError::Fail, OnError::Skip, OnError::Null] {
            let error = crate::common::message(read("capnproto", &bytes, &table(), on_error).map(drop));
            assert!(error.contains(expected), "{what}: {error}");
            assert!(error.contains(&format!("byte {}", good.len())), "{what}: {error}");
        }
    }
}

#[test]
fn newer_and_older_structs_are_read() {
    let long = Arc::new(Schema::new(vec![
        Field::new("a", DataType::Int32, false),
        Field::new("b", DataType::Utf8View, true),
        Field::new("c", DataType::Int64, true),
        Field::new("d", DataType::Float64, false),
        Field::new("e", DataType::Utf8View, false),
        Field::new("f", DataType::Boolean, false),
        Field::new("g", DataType::Boolean, true),
        Field::new("h", DataType::BinaryView, true),
    ]));
    let short = Arc::new(long.project(&[0, 1]).unwrap());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![7, -8])),
        Arc::new(StringViewArray::from(vec![Some("text"), None])),
        Arc::new(Int64Array::from(vec![Some(1), None])),
        Arc::new(Float64Array::from(vec![0.5, 2.0])),
        Arc::new(StringViewArray::from(vec!["", "a text that is long"])),
        Arc::new(BooleanArray::from(vec![true, false])),
        Arc::new(BooleanArray::from(vec![Some(false), Some(true)])),
        Arc::new(BinaryViewArray::from(vec![Some(&b"\0"[..]), Some(b"")])),
    ];
    let new = RecordBatch::try_new(long.clone(), columns).unwrap();
    let old = new.project(&[0, 1]).unwrap();
    for encoding in ["capnproto", "capnproto-packed"] {
        let bytes = write(&long, std::slice::from_ref(&new), &options(encoding)).unwrap();
        let found = read(encoding, &bytes, &short, OnError::Fail).unwrap();
        assert_eq!(found, std::slice::from_ref(&old), "{encoding}");

        let bytes = write(&short, std::slice::from_ref(&old), &options(encoding)).unwrap();
        let found = read(encoding, &bytes, &long, OnError::Fail).unwrap();
        let defaults: Vec<ArrayRef> = vec![
            new.column(0).clone(),
            new.column(1).clone(),
            Arc::new(Int64Array::new_null(2)),
            Arc::new(Float64Array::from(vec![0.0, 0.0])),
            Arc::new(StringViewArray::from(vec!["", ""])),
            Arc::new(BooleanArray::from(vec![false, false])),
            Arc::new(BooleanArray::new_null(2)),
            Arc::new(BinaryViewArray::new_null(2)),
        ];
        assert_eq!(found, [RecordBatch::try_new(long.clone(), defaults).unwrap()], "{encoding}");
    }
}

#[test]
fn packed_messages_in_pieces_of_any_size() {
    let mut random = Random(8);
    let rows: Vec<Row> = (0..200).map(|_| random_row(&mut random)).collect();
    let mut bytes: Vec<u8> = rows.iter().flat_map(|row| packed(row, 1000)).collect();
    // Runs of words that are 0, and of words that are not, longer than one count can tell.
    for fill in [0, 7] {
        let long: Row = (fill, Some(vec![b'x'; 100]), None, Some(vec![fill as u8; 9000]));
        bytes.extend(packed(&long, 10_000));
    }
    let scan = scan(&table(), &options("capnproto-packed"));
    let (expected, _) = read_whole(&bytes, &scan).unwrap();
    assert_eq!(expected.iter().map(RecordBatch::num_rows).sum::<usize>(), 202);
    let plain: Vec<u8> = rows.iter().flat_map(|row| message(row, 1000)).collect();
    let plain = read("capnproto", &plain, &table(), OnError::Fail).unwrap();
    assert_eq!(plain[0], expected[0].slice(0, 200));
    // The same bytes from a pipe, which has no size, piece by piece.
    for piece in [1, 2, 3, 7, 11, 64, 1000] {
        let mut reader = formats::registry::format("capnproto-packed")
            .unwrap()
            .reader(&formats::rows::split::whole(&entry(b""))[0], &scan)
            .unwrap();
        let mut found = Vec::new();
        loop {
            match reader.next().unwrap() {
                formats::reader::Next::Batch(batch) => found.push(batch),
                formats::reader::Next::Done => break,
                formats::reader::Next::Wait => panic!("nothing to wait for"),
                formats::reader::Next::Need(ranges) => {
                    for range in ranges {
                        let start = (range.start as usize).min(bytes.len());
                        let end = (start + piece).min(bytes.len());
                        reader.give(range, bytes::Bytes::copy_from_slice(&bytes[start..end])).unwrap();
                    }
                }
            }
        }
        assert_eq!(found, expected, "{piece}");
    }
    // Cut anywhere but behind a message it is an error.
    let ends: Vec<usize> = rows
        .iter()
        .scan(0, |end, row| {
            *end += packed(row, 1000).len();
            Some(*end)
        })
        .collect();
    for cut in 1..=ends[20] {
        let result = read_whole(&bytes[..cut], &scan);
        assert_eq!(result.is_ok(), ends.contains(&cut), "{cut}");
        if let Err(error) = result {
            let error = error.to_string();
            assert!(error.contains("is not whole"), "{cut}: {error}");
        }
    }
}

#[test]
fn runs_that_claim_more_than_there_is_are_errors() {
    for bytes in [&b"\x00"[..], b"\xff", b"\xff12345678", b"\xff12345678\x02 12345678", b"\x10\x05\x7f1"] {
        let error =
            crate::common::message(read("capnproto-packed", bytes, &table(), OnError::Skip).map(drop));
        let known = ["is not whole", "is said to have"];
        assert!(known.iter().any(|known| error.contains(known)), "{bytes:?}: {error}");
    }
    // Zeros are packed 1,000-fold: a message of more than a record may have ends the reading.
    let mut bomb = b"\xf0\xff\xff\xff\x7f".to_vec();
    bomb.extend(b"\x00\xff".repeat(100_000));
    let error = crate::common::message(read("capnproto-packed", &bomb, &table(), OnError::Fail).map(drop));
    assert!(error.contains("--max-record"), "{error}");
}
