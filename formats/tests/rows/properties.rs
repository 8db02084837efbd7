//! Random tables through every pair of encoding and compression: whatever the columns, wherever blocks begin, however a
//! file is cut and whoever reads which part of it, the rows are those that were written.
//!
//! `PROPERTY_ROUNDS` says how many tables each pair gets (6), `PROPERTY_SEED` is a number from which other tables follow.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringViewArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use formats::compress::{Unit, compression, names};
use formats::format::{Format, ScanOptions};
use formats::registry::format;
use formats::rows::split::{Border, cut};
use schema::manifest::{BlockChecksum, BlockStart};
use schema::{ColumnPrefix, FileEntry, FormatOptions, Listed, Splitting};

use crate::common::{Random, concat, entry, options, read_morsels, scan};
use crate::roundtrip::{ENCODINGS, all_types, assert_same};
use crate::sequential_splits::read_file;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// The same values with another one in the place of each NULL, if there is one.
fn dense(array: &ArrayRef) -> ArrayRef {
    let Some(first) = (0..array.len()).find(|&row| array.is_valid(row)) else { return array.clone() };
    let rows = (0..array.len()).map(|row| if array.is_valid(row) { row as u32 } else { first as u32 });
    arrow_select::take::take(array, &UInt32Array::from_iter_values(rows), None).unwrap()
}

/// Some columns of some types, in any order, about a third of them without NULLs.
fn table(random: &mut Random, encoding: &str, rows: usize) -> RecordBatch {
    if encoding == "text" {
        let lines =
            (0..rows).map(|_| random.pick(&["", "a line", " ", "\u{feff}mark", "é, \"日本語\"\t\\n\u{0}"]));
        let lines: ArrayRef = Arc::new(StringViewArray::from_iter_values(lines));
        return RecordBatch::try_from_iter_with_nullable([("line", lines, true)]).unwrap();
    }
    let all = all_types(random, rows);
    let mut columns: Vec<(Field, ArrayRef)> = Vec::new();
    for place in 0..1 + random.below(9) {
        let (chosen, without) = (random.below(all.num_columns()), random.below(3) == 0);
        let array = if without { dense(all.column(chosen)) } else { all.column(chosen).clone() };
        let name = format!("{} {place}", all.schema().field(chosen).name());
        columns
            .push((Field::new(name, array.data_type().clone(), array.null_count() > 0 || !without), array));
    }
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

/// The bytes of a file of these blocks, and what a manifest would say of them.
fn write(
    encoding: &dyn Format,
    schema: &SchemaRef,
    blocks: &[RecordBatch],
    with: &FormatOptions,
) -> (Vec<u8>, Listed) {
    let encoder = encoding.encoder(schema, with).unwrap();
    let mut assembler = encoder.assembler().unwrap();
    let (mut out, mut starts, mut raw) = (Vec::new(), Vec::new(), 0);
    assembler.begin(&mut out).unwrap();
    for block in blocks {
        let offset = out.len();
        assembler.append(encoder.encode(std::slice::from_ref(block)).unwrap(), &mut out).unwrap();
        starts.push((offset, block.num_rows() as u64, assembler.raw() - raw));
        raw = assembler.raw();
    }
    assembler.finish(&mut out).unwrap();
    let blocks = starts.iter().enumerate().map(|(number, &(offset, rows, raw))| {
        // The first block's checksum begins with the file, the last one's ends with it.
        let from = if number == 0 { 0 } else { offset };
        let to = starts.get(number + 1).map_or(out.len(), |next| next.0);
        let crc32 = crc32fast::hash(&out[from..to]);
        BlockStart { offset: offset as u64, rows, content: Some(BlockChecksum { raw, crc32 }) }
    });
    let listed = Listed { crc32: crc32fast::hash(&out), blocks: blocks.collect() };
    (out, listed)
}

/// All ways in which a file can be cut.
fn cuts(with: &FormatOptions, bytes: &[u8], listed: &Listed) -> Vec<(Splitting, Option<Listed>)> {
    let mut cuts = vec![
        (Splitting::Anywhere, None),
        (Splitting::Sequential, None),
        (Splitting::Blocks, Some(listed.clone())),
    ];
    let compression = compression(&with.compression).unwrap();
    let marked = ["csv", "jsonl", "text"].contains(&with.encoding.as_str());
    if matches!(compression.unit(bytes), Unit::Whole { aligned, .. } if aligned || marked) {
        cuts.push((Splitting::Units, None));
    }
    cuts
}

/// The columns of text of a projection without what is behind the characters that are enough.
fn beginnings(batch: &RecordBatch, scan: &ScanOptions) -> RecordBatch {
    let columns = batch.columns().iter().zip(&scan.projection).map(|(array, &column)| -> ArrayRef {
        let Some(prefix) = scan.prefixes.iter().find(|prefix| prefix.column == column) else {
            return array.clone();
        };
        let texts = array.as_string_view().iter();
        let texts = texts.map(|text| text.map(|text| text.chars().take(prefix.chars).collect::<String>()));
        Arc::new(texts.collect::<StringViewArray>())
    });
    RecordBatch::try_new(batch.schema(), columns.collect()).unwrap()
}

fn check(random: &mut Random, encoding: &dyn Format, compression: &str) {
    let rows = random.below(150);
    let table = table(random, encoding.name(), rows);
    let mut with = options(encoding.name());
    with.compression = compression.into();
    with.header = random.below(2) == 0;
    let mut blocks = Vec::new();
    let mut row = 0;
    while row < table.num_rows() {
        let rows = (1 + random.below(60)).min(table.num_rows() - row);
        blocks.push(table.slice(row, rows));
        row += rows;
    }
    let (bytes, listed) = write(encoding, &table.schema(), &blocks, &with);
    let columns: Vec<usize> = (0..table.num_columns()).collect();
    for (cut, listed) in cuts(&with, &bytes, &listed) {
        let projection: Vec<usize> = match random.below(4) {
            0 => columns.clone(),
            1 => columns.iter().rev().copied().collect(),
            _ => (0..1 + random.below(4)).map(|_| random.below(columns.len())).collect(),
        };
        let texts = columns.iter().copied().filter(|&c| table.column(c).data_type() == &DataType::Utf8View);
        let wanted = texts.filter(|_| random.below(2) == 0).collect::<Vec<_>>();
        let prefixes = wanted.into_iter().map(|column| ColumnPrefix { column, chars: 1 + random.below(14) });
        let scan = ScanOptions {
            prefixes: prefixes.collect(),
            projection: projection.clone(),
            unseen: schema::DeferredValidation::Nothing,
            batch_rows: 1 + random.below(100),
            ..scan(&table.schema(), &with)
        };
        let (most, workers) = (1 + random.below(2 * bytes.len() + 1) as u64, 1 + random.below(4));
        let file = Arc::new(FileEntry { cut, listed, ..(*entry(&bytes)).clone() });
        let what = format!(
            "{} {compression}, {cut:?} by {most}, {workers} workers, {projection:?}, {:?}",
            encoding.name(),
            scan.prefixes
        );
        let (found, _) =
            read_file(&file, &bytes, &scan, most, workers).unwrap_or_else(|e| panic!("{what}: {e}"));
        let expected = table.project(&projection).unwrap();
        if expected.num_rows() > 0 {
            let found = concat(&expected.schema(), &found);
            assert_same(&beginnings(&found, &scan), &beginnings(&expected, &scan), &what);
        } else {
            assert!(found.is_empty(), "{what}");
        }
    }
    if compression == "none" {
        borders(encoding, &bytes, &listed, &scan(&table.schema(), &with), &table);
    }
}

/// A plain file of text cut in two at every byte near the border of a block.
fn borders(encoding: &dyn Format, bytes: &[u8], listed: &Listed, scan: &ScanOptions, table: &RecordBatch) {
    let border = match encoding.name() {
        "csv" => Border::Quotes,
        "jsonl" | "text" => Border::Newline,
        _ => return,
    };
    for block in &listed.blocks {
        for at in block.offset.saturating_sub(5)..block.offset + 6 {
            if at < 4 || at >= bytes.len() as u64 {
                continue;
            }
            let morsels = cut(&entry(bytes), border, vec![0, at]);
            let (found, _) = read_morsels(bytes, &morsels, scan).unwrap();
            assert_same(&concat(&table.schema(), &found), table, &format!("{} cut at {at}", encoding.name()));
        }
    }
}

#[test]
fn what_is_written_is_read() {
    let rounds = number("PROPERTY_ROUNDS", 6);
    for encoding in ENCODINGS.iter().chain(&["text"]) {
        for compression in names() {
            for round in 0..rounds {
                let seed = number("PROPERTY_SEED", 0).wrapping_mul(1_000_003).wrapping_add(round * 7919);
                let names = encoding.bytes().chain(compression.bytes());
                let seed = names.fold(seed, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
                check(&mut Random(seed), format(encoding).unwrap(), compression);
            }
        }
    }
}
