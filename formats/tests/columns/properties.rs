//! Random tables through the column formats with every compression: whatever the columns and how their values are
//! spread, however many row groups there are and however a file is cut, the rows are those that were written.
//!
//! `PROPERTY_ROUNDS` says how many tables each pair gets (20), `PROPERTY_SEED` is a number from which other tables follow.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Datum, Float64Array, Int64Array, ListArray, RecordBatch, Scalar,
    StringViewArray, StructArray, UInt32Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_ord::cmp::{gt_eq, lt_eq};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use formats::format::{Format, ScanOptions};
use formats::reader::Driver;
use formats::registry::format;
use schema::ColumnBound;

use crate::common::{Numbers, all_types, assert_same, entry, options, read_all, replace, scan};

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

struct Random(Numbers);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        (self.0.next() >> 20) as usize % bound
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Which rows are NULL: none, all, some here and there, or long runs.
    fn nulls(&mut self, rows: usize) -> Option<NullBuffer> {
        let one_of = match self.below(6) {
            0..=2 => return None,
            3 => 1,
            4 => 5,
            _ => 0,
        };
        let mut valid = true;
        Some(
            (0..rows)
                .map(|_| {
                    match one_of {
                        0 if self.below(30) == 0 => valid = !valid,
                        0 => {}
                        n => valid = self.below(n) > 0,
                    }
                    valid
                })
                .collect(),
        )
    }

    /// Places of a pool of values for so many rows: one, a few, runs, in order, or any.
    fn places(&mut self, rows: usize, pool: usize) -> UInt32Array {
        let (kind, few) = (self.below(5), 1 + self.below(pool.min(9)));
        let mut at = self.below(pool);
        let mut places: Vec<u32> = (0..rows)
            .map(|_| {
                at = match kind {
                    0 => at,
                    1 => self.below(few),
                    2 if self.below(20) > 0 => at,
                    _ => self.below(pool),
                };
                at as u32
            })
            .collect();
        if kind == 3 {
            places.sort_unstable();
        }
        let nulls = self.nulls(rows);
        UInt32Array::new(places.into(), nulls)
    }

    /// A column of a flat type.
    fn flat(&mut self, rows: usize) -> ArrayRef {
        let values = 1 + self.below(2 * rows + 2);
        let mut noise = (0..values).map(|_| self.0.next()).collect::<Vec<_>>().into_iter();
        let base = noise.len() as i64 * 1_000_003;
        let pool: ArrayRef = match self.below(8) {
            0 => Arc::new(noise.by_ref().map(|n| Some(base + (n % 1000) as i64)).collect::<Int64Array>()),
            1 => {
                Arc::new(noise.by_ref().map(|n| Some((n % 90_000) as f64 / 100.0)).collect::<Float64Array>())
            }
            2 => {
                let address = |n| Some(std::net::Ipv4Addr::from(n as u32).to_string());
                Arc::new(noise.by_ref().map(address).collect::<StringViewArray>())
            }
            3 => {
                let page = |n: u64| Some(format!("https://www.example.org/{}/Ünter-{}", n % 70, n % 7));
                Arc::new(noise.by_ref().map(page).collect::<StringViewArray>())
            }
            _ => {
                let all = all_types(values, self.0.next());
                all.column(self.below(all.num_columns())).clone()
            }
        };
        arrow_select::take::take(&pool, &self.places(rows, values), None).unwrap()
    }

    /// A column of any type.
    fn column(&mut self, rows: usize, depth: usize) -> ArrayRef {
        match self.below(if depth < 3 { 8 } else { 6 }) {
            6 => {
                let (longest, nulls) = (self.pick(&[1, 3, 20]), self.nulls(rows));
                let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                let lengths: Vec<usize> =
                    (0..rows).map(|row| if is_null(row) { 0 } else { self.below(longest + 1) }).collect();
                let items = self.column(lengths.iter().sum(), depth + 1);
                let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
                Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), items, nulls))
            }
            7 => {
                let fields: Vec<_> = (0..1 + self.below(3)).map(|_| self.column(rows, depth + 1)).collect();
                let named = fields.iter().enumerate();
                let named = named.map(|(i, f)| Field::new(format!("f{i}"), f.data_type().clone(), true));
                Arc::new(StructArray::new(named.collect(), fields, self.nulls(rows)))
            }
            _ => self.flat(rows),
        }
    }

    /// A table whose first column numbers its rows.
    fn table(&mut self, rows: usize, allowed: fn(&DataType) -> bool) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
        let mut columns = vec![("row".to_string(), numbers, false)];
        for place in 0..1 + self.below(6) {
            let column = self.column(rows, 0);
            if allowed(column.data_type()) {
                columns.push((format!("c{place}"), column, true));
            }
        }
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }
}

/// Whether a type, or one in it, is of a kind.
fn any(data_type: &DataType, is: fn(&DataType) -> bool) -> bool {
    is(data_type)
        || match data_type {
            DataType::List(item) => any(item.data_type(), is),
            DataType::Struct(fields) => fields.iter().any(|field| any(field.data_type(), is)),
            _ => false,
        }
}

/// The type without views, which Parquet's nested columns are read without.
fn plain(data_type: &DataType) -> DataType {
    let field = |f: &Arc<Field>| f.as_ref().clone().with_data_type(plain(f.data_type()));
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(item) => DataType::List(Arc::new(field(item))),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        other => other.clone(),
    }
}

/// A table with its nested columns as Parquet's are read.
fn as_parquet(table: RecordBatch) -> RecordBatch {
    let schema = table.schema();
    let columns = schema.fields().iter().zip(table.columns()).map(|(field, column)| {
        let nested = column.data_type().is_nested();
        let to = if nested { plain(column.data_type()) } else { column.data_type().clone() };
        (field.name(), arrow_cast::cast(column, &to).unwrap(), field.is_nullable())
    });
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// The bytes of a file of these row groups.
fn encoded(format: &dyn Format, groups: &[RecordBatch], table: &RecordBatch, compression: &str) -> Vec<u8> {
    let encoder = format.encoder(&table.schema(), &options(format.name(), compression)).unwrap();
    let mut assembler = encoder.assembler().unwrap();
    let mut out = Vec::new();
    assembler.begin(&mut out).unwrap();
    for group in groups {
        assembler.append(encoder.encode(std::slice::from_ref(group)).unwrap(), &mut out).unwrap();
    }
    assembler.finish(&mut out).unwrap();
    out
}

/// Reads a file cut into parts of about `most` bytes.
fn read(format: &dyn Format, path: &std::path::Path, scan: &ScanOptions, most: u64) -> RecordBatch {
    let mut batches = Vec::new();
    for morsel in format.split(&entry(path), scan, most).unwrap() {
        let reader = format.reader(&morsel, scan).unwrap();
        for batch in Driver::open(&morsel, reader).unwrap() {
            let batch = batch.unwrap();
            assert!(batch.num_rows() <= scan.batch_rows);
            batch.columns().iter().for_each(|column| column.to_data().validate_full().unwrap());
            batches.push(batch);
        }
    }
    let fields: Vec<_> = scan.projection.iter().map(|&c| scan.schema.field(c).clone()).collect();
    arrow_select::concat::concat_batches(&Arc::new(Schema::new(fields)), &batches).unwrap()
}

/// With bounds no row is lost that is within them, and those that are read are as they were written.
fn bounded(format: &dyn Format, path: &std::path::Path, table: &RecordBatch, random: &mut Random) {
    let columns = (0..table.num_columns()).filter(|&c| !table.column(c).data_type().is_nested());
    let column = random.pick(&columns.collect::<Vec<_>>());
    let values = table.column(column);
    let (low, high) = (random.below(table.num_rows()), random.below(table.num_rows()));
    let ends = [low, high].map(|row| values.slice(row, 1));
    if ends.iter().any(|end| end.is_null(0)) {
        return;
    }
    let [low, high] = ends;
    let bounds = vec![ColumnBound { column, min: Some(low.clone()), max: Some(high.clone()) }];
    let scan = scan(&table.schema(), (0..table.num_columns()).collect(), bounds);
    let found = read(format, path, &scan, 1);
    let rows = found.column(0).as_primitive::<Int64Type>().clone();
    assert!(rows.values().is_sorted_by(|a, b| a < b));
    assert_same(&arrow_select::take::take_record_batch(table, &rows).unwrap(), &found);
    let compared = |end: ArrayRef, is: fn(&dyn Datum, &dyn Datum) -> Result<BooleanArray, _>| {
        is(values, &Scalar::new(end)).ok()
    };
    // Types that have no order are not compared.
    let (Some(above), Some(below)) = (compared(low, gt_eq), compared(high, lt_eq)) else { return };
    for row in 0..table.num_rows() {
        let within = [&above, &below].iter().all(|is| is.is_valid(row) && is.value(row));
        assert!(!within || rows.values().binary_search(&(row as i64)).is_ok(), "row {row} is lost");
    }
}

fn check(random: &mut Random, format: &dyn Format, compression: &str, allowed: fn(&DataType) -> bool) {
    let rows = random.pick(&[0, 1, 7, 100, 1000, 3000]);
    let table = random.table(rows, allowed);
    let table = if format.name() == "parquet" { as_parquet(table) } else { table };
    let mut groups = Vec::new();
    let (mut row, most) = (0, 1 + random.below(rows + 1));
    while row < rows {
        let size = (1 + random.below(most)).min(rows - row);
        groups.push(table.slice(row, size));
        row += size;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(format!("x.{}", format.extensions()[0]));
    let bytes = encoded(format, &groups, &table, compression);
    assert!(bytes == encoded(format, &groups, &table, compression), "two runs differ");
    replace(&path, &bytes);
    assert_same(&table, &read_all(format, &path).unwrap());
    for _ in 0..3 {
        let columns = (0..1 + random.below(4)).map(|_| random.below(table.num_columns())).collect::<Vec<_>>();
        let scan = ScanOptions {
            batch_rows: 1 + random.below(2000),
            ..scan(&table.schema(), columns.clone(), vec![])
        };
        let found = read(format, &path, &scan, 1 + random.below(2 * bytes.len()) as u64);
        assert_same(&table.project(&columns).unwrap(), &found);
        if rows > 0 {
            bounded(format, &path, &table, random);
        }
    }
}

#[test]
fn what_is_written_is_read() {
    let rounds = number("PROPERTY_ROUNDS", 20);
    let all: fn(&DataType) -> bool = |_| true;
    // Parquet has no timestamps in seconds.
    let without_seconds: fn(&DataType) -> bool =
        |t| !any(t, |t| matches!(t, DataType::Timestamp(TimeUnit::Second, _)));
    for (name, allowed) in [("buren", all), ("arrow", all), ("parquet", without_seconds)] {
        let format = format(name).unwrap();
        for compression in format.compressions() {
            for round in 0..rounds {
                let seed = number("PROPERTY_SEED", 0).wrapping_mul(1_000_003).wrapping_add(round * 7919);
                let names = name.bytes().chain(compression.bytes());
                let seed = names.fold(seed, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
                println!("{name} {compression}, round {round}, seed {seed}");
                check(&mut Random(Numbers(seed)), format, compression, allowed);
            }
        }
    }
}
