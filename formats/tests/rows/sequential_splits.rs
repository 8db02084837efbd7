//! Files whose pieces are found as they are read: wherever pieces and units begin, whoever reads which of them in
//! which order, the rows are those of the file read in one piece.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringViewArray};
use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;
use formats::compress::{Unit, compression};
use formats::format::{Morsel, ScanOptions};
use formats::reader::{FileReader, Next};
use formats::registry::format;
use formats::{Error, Result};
use schema::{FileEntry, FormatOptions, Splitting};

use crate::common::{Random, concat, entry, fields, message, options, read_whole, scan, units, write};

fn cut_entry(bytes: &[u8], cut: Splitting) -> Arc<FileEntry> {
    Arc::new(FileEntry { cut, ..(*entry(bytes)).clone() })
}

fn give(reader: &mut dyn FileReader, bytes: &[u8], ranges: Vec<std::ops::Range<u64>>) -> Result<()> {
    for range in ranges {
        let end = (range.end as usize).min(bytes.len());
        let start = (range.start as usize).min(end);
        reader.give(range, Bytes::copy_from_slice(&bytes[start..end]))?;
    }
    Ok(())
}

/// The batches of a file cut so, read by `workers` readers of which a random one goes on at a time, and how many pieces
/// there were.
fn read(
    bytes: &[u8],
    scan: &ScanOptions,
    cut: Splitting,
    most: u64,
    workers: usize,
) -> Result<(Vec<RecordBatch>, usize)> {
    read_file(&cut_entry(bytes, cut), bytes, scan, most, workers)
}

/// As [`read`], of a file that is cut as its entry says.
pub fn read_file(
    file: &Arc<FileEntry>,
    bytes: &[u8],
    scan: &ScanOptions,
    most: u64,
    workers: usize,
) -> Result<(Vec<RecordBatch>, usize)> {
    let format = format(&scan.format.encoding)?;
    let mut queue: VecDeque<Morsel> = format.split(file, scan, most)?.into();
    let mut readers: Vec<(usize, Box<dyn FileReader>)> = Vec::new();
    let mut batches: Vec<Vec<RecordBatch>> = Vec::new();
    let mut random = Random(most + workers as u64);
    loop {
        while readers.len() < workers
            && let Some(morsel) = queue.pop_front().filter(|morsel| !morsel.is_over())
        {
            queue.extend(morsel.next());
            readers.push((batches.len(), format.reader(&morsel, scan)?));
            batches.push(Vec::new());
        }
        if readers.is_empty() {
            let pieces = batches.iter().filter(|piece| !piece.is_empty()).count();
            return Ok((batches.into_iter().flatten().collect(), pieces));
        }
        let one = random.below(readers.len());
        let (number, reader) = &mut readers[one];
        match reader.next()? {
            Next::Batch(batch) => batches[*number].push(batch),
            Next::Need(ranges) => give(reader.as_mut(), bytes, ranges)?,
            Next::Wait => {}
            Next::Done => drop(readers.remove(one)),
        }
    }
}

const CSV: &str =
    "7,\"a \"\"quoted\"\" word\nand a second line\"\n8,plain\n,\"\n\n\"\n9,\"\"\n-1,\"x\r\n\"\n";

/// Records with newlines, quotes and commas within quotes; no record has another number of fields.
fn csv(rows: usize) -> String {
    let mut random = Random(11);
    let mut text = String::from("\u{feff}");
    for row in 0..rows {
        let value = match random.below(4) {
            0 => format!("\"line {row}\nand, another \"\"line\"\"\n\""),
            1 => "\"\"".into(),
            2 => format!("{row} plain"),
            _ => "\"\n\"\"\n\"".to_string(),
        };
        text.push_str(&format!("{row},{value}\n"));
    }
    text
}

fn schema() -> SchemaRef {
    fields(&[("a", DataType::Int64), ("b", DataType::Utf8View)])
}

fn with(encoding: &str, compression: &str) -> FormatOptions {
    FormatOptions { compression: compression.into(), ..options(encoding) }
}

/// What tools write that know of no blocks.
fn foreign(name: &str, text: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::new(6);
    let write = |writer: &mut dyn Write| writer.write_all(text).unwrap();
    match name {
        "gzip" => {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), level);
            write(&mut gzip);
            gzip.finish().unwrap()
        }
        "zlib" => {
            let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), level);
            write(&mut zlib);
            zlib.finish().unwrap()
        }
        "deflate" => {
            let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), level);
            write(&mut deflate);
            deflate.finish().unwrap()
        }
        "zstd" => zstd::stream::encode_all(text, 3).unwrap(),
        "lz4" => {
            let info = lz4_flex::frame::FrameInfo::new().block_mode(lz4_flex::frame::BlockMode::Linked);
            let mut lz4 = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            write(&mut lz4);
            lz4.finish().unwrap()
        }
        "snappy" => {
            let mut snappy = snap::write::FrameEncoder::new(Vec::new());
            write(&mut snappy);
            snappy.into_inner().unwrap()
        }
        "bzip2" => {
            let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(1));
            write(&mut bzip2);
            bzip2.finish().unwrap()
        }
        _ => unreachable!("{name}"),
    }
}

const WITH_UNITS: &[&str] = &["gzip", "snappy", "lz4", "zstd"];

#[test]
fn units_may_begin_at_every_byte() {
    let text = CSV.as_bytes();
    let schema = schema();
    let expected = concat(&schema, &read_whole(text, &scan(&schema, &options("csv"))).unwrap().0);
    for name in WITH_UNITS {
        let scan = scan(&schema, &with("csv", name));
        for cut in 0..=text.len() {
            let second = (cut + 7).min(text.len());
            let file = units(name, &[&text[..cut], &text[cut..second], &text[second..]]);
            let (found, _) = read(&file, &scan, Splitting::Units, 1, 1 + cut % 3).unwrap();
            assert_eq!(concat(&schema, &found), expected, "{name} {cut}");
        }
    }
}

#[test]
fn turns_may_end_anywhere() {
    let text = csv(120);
    let schema = schema();
    let expected = concat(&schema, &read_whole(text.as_bytes(), &scan(&schema, &options("csv"))).unwrap().0);
    for name in ["gzip", "zlib", "snappy", "lz4", "zstd", "bzip2"] {
        let file = foreign(name, text.as_bytes());
        let scan = scan(&schema, &with("csv", name));
        for most in [1, 2, 7, 30, 100, 333, 1000, 5000] {
            let (found, pieces) =
                read(&file, &scan, Splitting::Sequential, most, 1 + most as usize % 3).unwrap();
            assert_eq!(concat(&schema, &found), expected, "{name} {most}");
            assert!(pieces > 1 || most >= 1000, "{name} {most}: {pieces}");
        }
    }
}

#[test]
fn a_reader_that_is_given_up_holds_nobody_back() {
    let text = csv(120);
    let schema = schema();
    let expected = concat(&schema, &read_whole(text.as_bytes(), &scan(&schema, &options("csv"))).unwrap().0);
    let scan = scan(&schema, &with("csv", "gzip"));
    let pieces: Vec<&[u8]> = text.as_bytes().chunks(300).collect();
    let file = units("gzip", &pieces);
    for cut in [Splitting::Units, Splitting::Sequential] {
        let format = format("csv").unwrap();
        let first = format.split(&cut_entry(&file, cut), &scan, 300).unwrap().remove(0);
        let mut next = Some(first);
        let mut batches = Vec::new();
        let mut number = 0;
        while let Some(morsel) = next {
            let mut reader = format.reader(&morsel, &scan).unwrap();
            // Every third one is dropped unread, and the rest still have all rows.
            let given_up = number % 3 == 0;
            loop {
                if given_up {
                    break;
                }
                match reader.next().unwrap() {
                    Next::Batch(batch) => batches.push(batch),
                    Next::Need(ranges) => give(reader.as_mut(), &file, ranges).unwrap(),
                    Next::Wait => panic!("those before are read or given up"),
                    Next::Done => break,
                }
            }
            number += 1;
            drop(reader);
            next = morsel.next();
        }
        assert_eq!(concat(&schema, &batches), expected, "{cut:?}");
    }
}

#[test]
fn lines_are_cut_too() {
    let text: String =
        (0..300).map(|i| format!("{{\"a\":{i},\"b\":\"{}\"}}\n", "\\n".repeat(i % 9))).collect();
    let schema = schema();
    let expected =
        concat(&schema, &read_whole(text.as_bytes(), &scan(&schema, &options("jsonl"))).unwrap().0);
    for name in WITH_UNITS {
        let scan = scan(&schema, &with("jsonl", name));
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(37).collect();
        let found = read(&units(name, &pieces), &scan, Splitting::Units, 50, 2).unwrap().0;
        assert_eq!(concat(&schema, &found), expected, "{name}");
        let found = read(&foreign(name, text.as_bytes()), &scan, Splitting::Sequential, 50, 2).unwrap().0;
        assert_eq!(concat(&schema, &found), expected, "{name}");
    }
}

fn table(rows: i64) -> RecordBatch {
    let a = Int64Array::from_iter((0..rows).map(|i| (i % 5 > 0).then_some(i * 77_777)));
    let b =
        StringViewArray::from_iter((0..rows).map(|i| (i % 7 > 0).then(|| "text\n".repeat(i as usize % 11))));
    RecordBatch::try_new(schema(), vec![Arc::new(a), Arc::new(b)]).unwrap()
}

#[test]
fn binary_records_are_walked() {
    let batch = table(500);
    let blocks: Vec<RecordBatch> = (0..10).map(|i| batch.slice(i * 50, 50)).collect();
    for encoding in ["bincode", "msgpack", "cbor", "protobuf"] {
        for name in ["none", "gzip", "zlib", "snappy", "lz4", "zstd"] {
            let options = with(encoding, name);
            let file = write(&schema(), &blocks, &options).unwrap();
            let scan = scan(&schema(), &options);
            for most in [1, 100, 1000] {
                let (found, pieces) =
                    read(&file, &scan, Splitting::Sequential, most, 1 + most as usize % 3).unwrap();
                assert_eq!(concat(&schema(), &found), batch, "{encoding} {name} {most}");
                assert!(pieces > 3, "{encoding} {name} {most}: {pieces}");
            }
            if name == "gzip" {
                let (found, pieces) = read(&file, &scan, Splitting::Units, 1, 3).unwrap();
                assert_eq!((concat(&schema(), &found), pieces), (batch.clone(), 10), "{encoding}");
            }
        }
    }
}

#[test]
fn what_follows_the_units_is_read_as_well() {
    let text = csv(90);
    let text = text.as_bytes();
    let schema = schema();
    let expected = concat(&schema, &read_whole(text, &scan(&schema, &options("csv"))).unwrap().0);
    for name in WITH_UNITS {
        let scan = scan(&schema, &with("csv", name));
        for cut in [10, 500, 501, 502, 503, 504, 505, 506, 507, 1000] {
            // Snappy has one identifier a stream, and may have several.
            let mut file = units(name, &[&text[..cut / 2], &text[cut / 2..cut]]);
            file.extend(foreign(name, &text[cut..]));
            let (found, _) = read(&file, &scan, Splitting::Units, 1, 2).unwrap();
            assert_eq!(concat(&schema, &found), expected, "{name} {cut}");
        }
    }
    let mut padded = units("gzip", &[&text[..100], &text[100..]]);
    padded.extend([0; 1000]);
    let found = read(&padded, &scan(&schema, &with("csv", "gzip")), Splitting::Units, 1, 2).unwrap().0;
    assert_eq!(concat(&schema, &found), expected);
}

#[test]
fn errors_are_those_of_the_file_in_one_piece() {
    let mut text = csv(200);
    let bad = text.find("\n150,").unwrap();
    text.insert(bad + 2, 'x');
    let schema = schema();
    for name in WITH_UNITS {
        let scan = scan(&schema, &with("csv", name));
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(91).collect();
        let file = units(name, &pieces);
        let expected = message(read_whole(&file, &scan));
        assert!(expected.contains("row 151") && expected.contains("'1x50'"), "{expected}");
        for cut in [Splitting::Units, Splitting::Sequential] {
            assert_eq!(message(read(&file, &scan, cut, 60, 1)), expected, "{name} {cut:?}");
        }
    }
}

#[test]
fn every_end_that_comes_too_early_is_an_error() {
    let text = csv(60);
    let schema = schema();
    for name in WITH_UNITS {
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(200).collect();
        let file = units(name, &pieces);
        let scan = scan(&schema, &with("csv", name));
        let mut borders = Vec::new();
        let mut at = 0;
        while let Unit::Whole { packed, .. } = compression(name).unwrap().unit(&file[at..]) {
            at += packed;
            borders.push(at);
        }
        assert_eq!(at, file.len(), "{name}: all of it is units");
        for end in 1..file.len() {
            // A file that ends with a unit is whole, unless a quote is open there.
            if !borders.contains(&end) {
                assert!(read(&file[..end], &scan, Splitting::Units, 1, 1).is_err(), "{name} {end}");
            }
            assert!(matches!(
                read(&file[..end], &scan, Splitting::Sequential, 100, 2).err(),
                None | Some(Error::Data(_))
            ));
        }
        // What was appended since the query began is not looked at.
        let first = borders[borders.len() / 2];
        let grown =
            Arc::new(FileEntry { bytes: first as u64, ..(*cut_entry(&file, Splitting::Units)).clone() });
        let morsels = format("csv").unwrap().split(&grown, &scan, 1 << 20).unwrap();
        let before = read_whole(&file[..first], &scan).map(|(batches, _)| concat(&schema, &batches));
        let found =
            crate::common::read_morsels(&file, &morsels, &scan).map(|(batches, _)| concat(&schema, &batches));
        assert_eq!(found.ok(), before.ok(), "{name}");
        // Shorter than it was when the query began.
        let long = Arc::new(FileEntry {
            bytes: file.len() as u64 + 10,
            ..(*cut_entry(&file, Splitting::Units)).clone()
        });
        let morsels = format("csv").unwrap().split(&long, &scan, 1 << 20).unwrap();
        let error = message(crate::common::read_morsels(&file, &morsels, &scan));
        assert!(error.contains("when the query began"), "{error}");
    }
}

#[test]
fn raw_deflate_and_bzip2_are_read() {
    let text = csv(500);
    let schema = schema();
    let expected = concat(&schema, &read_whole(text.as_bytes(), &scan(&schema, &options("csv"))).unwrap().0);
    for (name, compression) in [("deflate", "zlib"), ("bzip2", "bzip2")] {
        let file = foreign(name, text.as_bytes());
        let scan = scan(&schema, &with("csv", compression));
        assert_eq!(concat(&schema, &read_whole(&file, &scan).unwrap().0), expected, "{name}");
        for end in 0..file.len() {
            assert!(read_whole(&file[..end], &scan).is_err(), "{name} cut at {end}");
        }
    }
    let twice =
        [foreign("bzip2", &text.as_bytes()[..1000]), foreign("bzip2", &text.as_bytes()[1000..])].concat();
    let scan = scan(&schema, &with("csv", "bzip2"));
    assert_eq!(concat(&schema, &read_whole(&twice, &scan).unwrap().0), expected);
}
