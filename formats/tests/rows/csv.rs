//! csv: reading and writing, splitting at every byte.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringViewArray};
use arrow_schema::{DataType, SchemaRef};
use formats::format::{Morsel, ScanOptions};
use formats::reader::Next;
use formats::registry::format;
use formats::rows::split::{Border, cut};

use crate::common::*;

pub fn text_columns(n: usize) -> SchemaRef {
    let names: Vec<_> = (1..=n).map(|i| format!("column{i}")).collect();
    fields(&names.iter().map(|n| (n.as_str(), DataType::Utf8View)).collect::<Vec<_>>())
}

pub type Rows = Vec<Vec<Option<String>>>;

pub fn rows(batches: &[RecordBatch]) -> Rows {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let columns = batch.columns().iter();
            rows.push(
                columns
                    .map(|c| c.as_string_view())
                    .map(|c| c.is_valid(row).then(|| c.value(row).to_string()))
                    .collect(),
            );
        }
    }
    rows
}

/// Reads csv one byte at a time, as plainly as it can be said.
fn reference(text: &str, columns: usize) -> Rows {
    let mut rows = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let mut row = Vec::new();
        let mut blank = true;
        loop {
            let mut field = Vec::new();
            let quoted = bytes.get(at) == Some(&b'"');
            if quoted {
                at += 1;
                loop {
                    match bytes[at] {
                        b'"' if bytes.get(at + 1) == Some(&b'"') => {
                            field.push(b'"');
                            at += 2;
                        }
                        b'"' => break,
                        b => {
                            field.push(b);
                            at += 1;
                        }
                    }
                }
                at += 1;
            } else {
                while at < bytes.len() && !b",\n".contains(&bytes[at]) {
                    field.push(bytes[at]);
                    at += 1;
                }
            }
            let last = bytes.get(at) != Some(&b',') && !(quoted && bytes.get(at..at + 2) == Some(b"\r,"));
            if last && quoted && bytes.get(at) == Some(&b'\r') {
                at += 1;
            } else if last && !quoted && field.last() == Some(&b'\r') {
                field.pop();
            }
            blank &= !quoted && field.is_empty();
            row.push((quoted || !field.is_empty()).then(|| String::from_utf8(field).unwrap()));
            at += 1;
            if last {
                break;
            }
        }
        if row.len() == columns && !(blank && columns > 1 && row.len() == 1) {
            rows.push(row);
        } else {
            assert!(blank && row.len() == 1, "the generator makes whole rows");
        }
    }
    rows
}

/// Rows of strange values, written in strange but legal ways.
fn strange(random: &mut Random, columns: usize, rows: usize) -> String {
    let mut text = String::new();
    if random.below(4) == 0 {
        text.push('\u{feff}');
    }
    for row in 0..rows {
        if columns > 1 && random.below(10) == 0 {
            text.push_str(random.pick(&["\n", "\r\n"]));
        }
        for column in 0..columns {
            if column > 0 {
                text.push(',');
            }
            let plain =
                random.pick(&["", "a", "b\"c", "1\"", "é", "a longer text than twelve bytes", "x\ry", " "]);
            let quoted = random.pick(&[
                "",
                "a",
                "a,b",
                "line\nline",
                "line\r\nline",
                "\"\"",
                "\"\"\"\"",
                "he said \"\"no\"\", and went",
                ",\n\"\",\n",
                "日本語の文字列です",
            ]);
            if random.below(3) == 0 {
                text.push('"');
                text.push_str(quoted);
                text.push('"');
            } else {
                text.push_str(plain);
            }
        }
        if row + 1 < rows || random.below(2) == 0 || columns == 1 {
            text.push_str(random.pick(&["\n", "\r\n"]));
        }
    }
    text
}

#[test]
fn reads_what_the_reference_reads() {
    let mut random = Random(42);
    for round in 0..400 {
        let columns = 1 + round % 4;
        let count = 1 + random.below(if round % 50 == 0 { 3000 } else { 12 });
        let text = strange(&mut random, columns, count);
        let schema = text_columns(columns);
        let (batches, skipped) = read_whole(text.as_bytes(), &scan(&schema, &options("csv"))).unwrap();
        assert_eq!(rows(&batches), reference(&text, columns), "{text:?}");
        assert_eq!(skipped, Default::default());
    }
}

#[test]
fn splits_at_every_byte() {
    let mut random = Random(7);
    for round in 0..60 {
        let columns = 1 + round % 4;
        let text = strange(&mut random, columns, 6);
        let bytes = text.as_bytes();
        let expected = reference(&text, columns);
        let scan = scan(&text_columns(columns), &options("csv"));
        // A byte order mark is never cut.
        for first in 3..bytes.len() as u64 {
            let second = first + 1 + random.below(9) as u64;
            let begins = if second < bytes.len() as u64 { vec![0, first, second] } else { vec![0, first] };
            let morsels = cut(&entry(bytes), Border::Quotes, begins);
            let (batches, _) = read_morsels(bytes, &morsels, &scan).unwrap();
            assert_eq!(rows(&batches), expected, "{text:?} at {first} and {second}");
        }
        let format = format("csv").unwrap();
        for target in [1, 2, 3, 7, 16] {
            let morsels = format.split(&entry(bytes), &scan, target).unwrap();
            let (batches, _) = read_morsels(bytes, &morsels, &scan).unwrap();
            assert_eq!(rows(&batches), expected, "{text:?} in pieces of {target}");
        }
    }
}

#[test]
fn later_morsels_wait_for_earlier_ones() {
    let text = "a,\"b\nc\"\nd,\"\ne\"\nf,g\n".repeat(5);
    let scan = scan(&text_columns(2), &options("csv"));
    let format = format("csv").unwrap();
    let morsels = format.split(&entry(text.as_bytes()), &scan, 9).unwrap();
    let (found, waits) = read_in_turns(text.as_bytes(), &morsels, &scan);
    assert!(waits > 0);
    assert_eq!(rows(&found), reference(&text, 2));
}

/// Reads morsels of a file in memory in turns, from the first to the last and back, so that most begin before those
/// before them end. Gives their batches in order, and how often one had to wait.
fn read_in_turns(bytes: &[u8], morsels: &[Morsel], scan: &ScanOptions) -> (Vec<RecordBatch>, u32) {
    let format = format("csv").unwrap();
    let mut readers: Vec<_> = morsels.iter().map(|m| format.reader(m, scan).unwrap()).collect();
    let mut found = vec![Vec::new(); readers.len()];
    let mut waits = 0;
    let mut open: Vec<usize> = (0..readers.len()).collect();
    while !open.is_empty() {
        open.retain(|&i| open_step(&mut readers[i], bytes, &mut found[i], &mut waits));
        open.reverse();
    }
    (found.concat(), waits)
}

#[test]
fn records_are_counted_wherever_morsels_begin() {
    let mut random = Random(11);
    let format = format("csv").unwrap();
    let (mut again, mut errors) = (0, 0);
    for round in 0..120 {
        let columns = 1 + round % 4;
        let text = strange(&mut random, columns, 12);
        let all = scan(&text_columns(columns), &options("csv"));
        let none = ScanOptions { projection: vec![], ..all.clone() };
        let expected = reference(&text, columns).len();
        for target in [4, 5, 7, 16, 40] {
            let morsels = format.split(&entry(text.as_bytes()), &none, target).unwrap();
            let (found, waits) = read_in_turns(text.as_bytes(), &morsels, &none);
            let counted: usize = found.iter().map(RecordBatch::num_rows).sum();
            assert_eq!(counted, expected, "{text:?} in pieces of {target}");
            again += waits;
            // In order nothing has to be guessed.
            let (batches, _) = read_morsels(text.as_bytes(), &morsels, &none).unwrap();
            assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), expected);
        }
        // A record that is not whole is an error of its own row, whoever guesses what.
        let broken = format!("{text}{}x\n", "x,".repeat(columns));
        let morsels = format.split(&entry(broken.as_bytes()), &none, 7).unwrap();
        let error = read_morsels(broken.as_bytes(), &morsels, &none).unwrap_err();
        errors += usize::from(error.to_string().contains("this record has"));
    }
    assert!(again > 0, "no reader waited");
    assert_eq!(errors, 120);
}

#[test]
fn readers_do_not_wait_for_one_that_has_gone() {
    let text = "a,b\n".repeat(40);
    let all = scan(&text_columns(2), &options("csv"));
    let none = ScanOptions { projection: vec![], ..all };
    let format = format("csv").unwrap();
    let morsels = format.split(&entry(text.as_bytes()), &none, 40).unwrap();
    let mut readers: Vec<_> = morsels.iter().map(|m| format.reader(m, &none).unwrap()).collect();
    let (mut found, mut waits) = (Vec::new(), 0);
    let mut last = readers.pop().unwrap();
    for _ in 0..5 {
        assert!(open_step(&mut last, text.as_bytes(), &mut found, &mut waits));
    }
    assert!(waits > 0 && found.is_empty());
    drop(readers);
    while open_step(&mut last, text.as_bytes(), &mut found, &mut waits) {}
    assert!(found.is_empty());
}

/// Takes one step of a reader; false at its end.
fn open_step(
    reader: &mut Box<dyn formats::reader::FileReader>,
    bytes: &[u8],
    found: &mut Vec<RecordBatch>,
    waits: &mut u32,
) -> bool {
    match reader.next().unwrap() {
        Next::Batch(batch) => found.push(batch),
        Next::Wait => *waits += 1,
        Next::Done => return false,
        Next::Need(ranges) => {
            for range in ranges.into_iter().rev() {
                let end = (range.end as usize).min(bytes.len());
                let given = bytes::Bytes::copy_from_slice(&bytes[range.start as usize..end]);
                reader.give(range, given).unwrap();
            }
        }
    }
    true
}

#[test]
fn a_pipe_may_give_any_number_of_bytes() {
    let mut random = Random(3);
    for round in 0..40 {
        let columns = 1 + round % 3;
        let text = strange(&mut random, columns, 20);
        let bytes = text.as_bytes();
        let scan = scan(&text_columns(columns), &options("csv"));
        let mut file = (*entry(b"")).clone();
        file.path = "-".into();
        let format = format("csv").unwrap();
        let morsels = format.split(&Arc::new(file), &scan, 1 << 20).unwrap();
        let mut reader = format.reader(&morsels[0], &scan).unwrap();
        let (mut at, mut batches) = (0, Vec::new());
        loop {
            match reader.next().unwrap() {
                Next::Batch(batch) => batches.push(batch),
                Next::Done => break,
                Next::Wait => panic!("a whole file does not wait"),
                Next::Need(ranges) => {
                    assert_eq!((ranges.len(), ranges[0].start), (1, at as u64));
                    let some = (1 + random.below(40)).min(bytes.len() - at);
                    reader
                        .give(ranges[0].clone(), bytes::Bytes::copy_from_slice(&bytes[at..at + some]))
                        .unwrap();
                    at += some;
                }
            }
        }
        assert_eq!(rows(&batches), reference(&text, columns), "{text:?}");
    }
}

#[test]
fn records_longer_than_blocks() {
    let long = "x".repeat(3_000_000);
    let text = format!("a,{long}\n\"{long}\n\",b\nc,d\n");
    let expected = reference(&text, 2);
    let scan = scan(&text_columns(2), &options("csv"));
    let (batches, _) = read_whole(text.as_bytes(), &scan).unwrap();
    assert_eq!(rows(&batches), expected);
    let format = format("csv").unwrap();
    let morsels = format.split(&entry(text.as_bytes()), &scan, 700_000).unwrap();
    let (batches, _) = read_morsels(text.as_bytes(), &morsels, &scan).unwrap();
    assert_eq!(rows(&batches), expected);
}

#[test]
fn projections_in_any_order() {
    let text = "1,a,2.5\n2,b,\n,c,-0\n";
    let schema = fields(&[("i", DataType::Int32), ("s", DataType::Utf8), ("f", DataType::Float64)]);
    let mut scan = scan(&schema, &options("csv"));
    scan.projection = vec![2, 0, 2];
    let batch = concat(&schema, &read_whole(text.as_bytes(), &scan).unwrap().0);
    assert_eq!(batch.num_columns(), 3);
    assert_eq!(batch.schema().field(1).name(), "i");
    assert_eq!(batch.column(1).as_primitive::<arrow_array::types::Int32Type>().value(1), 2);
    assert!(batch.column(1).is_null(2));
    assert!(batch.column(0).is_null(1));
    scan.projection = vec![];
    let (batches, _) = read_whole(text.as_bytes(), &scan).unwrap();
    assert_eq!(batches.iter().map(|b| b.num_rows()).sum::<usize>(), 3);
}

#[test]
fn a_batch_keeps_to_its_size() {
    let text = "1\n".repeat(2500);
    let scan = scan(&fields(&[("n", DataType::Int64)]), &options("csv"));
    let (batches, _) = read_whole(text.as_bytes(), &scan).unwrap();
    assert_eq!(batches.iter().map(|b| b.num_rows()).collect::<Vec<_>>(), [1000, 1000, 500]);
}

#[test]
fn views_hold_up_to_a_check() {
    let mut random = Random(11);
    let text = strange(&mut random, 3, 500);
    let (batches, _) = read_whole(text.as_bytes(), &scan(&text_columns(3), &options("csv"))).unwrap();
    for batch in &batches {
        for column in batch.columns() {
            let column = column.as_string_view();
            let (views, buffers, nulls) = column.clone().into_parts();
            StringViewArray::try_new(views, buffers, nulls).unwrap();
        }
    }
}

#[test]
fn other_delimiters_and_quotes() {
    let text = "'a|b'|c''d|\n'''x'|y|'z\n'\n";
    let mut scan = scan(&text_columns(3), &options("csv"));
    (scan.format.delimiter, scan.format.quote) = (b'|', b'\'');
    let found = rows(&read_whole(text.as_bytes(), &scan).unwrap().0);
    let some = |s: &str| Some(s.to_string());
    assert_eq!(found, [[some("a|b"), some("c''d"), None], [some("'x"), some("y"), some("z\n")]]);
    for (delimiter, quote) in [(b'"', b'"'), (b'\n', b'"'), (b',', 0xc3)] {
        (scan.format.delimiter, scan.format.quote) = (delimiter, quote);
        assert!(read_whole(text.as_bytes(), &scan).is_err());
    }
}

#[test]
fn writes_quotes_only_where_they_are_needed() {
    let schema = text_columns(2);
    let columns: Vec<arrow_array::ArrayRef> = vec![
        Arc::new(StringViewArray::from(vec![
            Some("a"),
            Some(""),
            None,
            Some("x,y"),
            Some("\"q\" and a longer text"),
        ])),
        Arc::new(StringViewArray::from(vec![
            Some("l\nl"),
            Some(" b "),
            Some("\r"),
            Some("é"),
            Some("plain and long enough"),
        ])),
    ];
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let text =
        "a,\"l\nl\"\n\"\", b \n,\"\r\"\n\"x,y\",é\n\"\"\"q\"\" and a longer text\",plain and long enough\n";
    let written = write(&schema, &[batch], &options("csv")).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), text);
}
