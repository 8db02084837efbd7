use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewArray};
use arrow_schema::{DataType, Field, SchemaRef};
use formats::store::atomic::Overwrite;
use schema::FormatOptions;

use super::partitioner::{CHUNK_ROWS, Partitioner, RowsOfPartition};
use super::*;
use crate::writing::dataset::{Destination, WriteOptions};
use crate::writing::ordered_pipeline::Step;

fn schema() -> SchemaRef {
    let field = |name, data_type| Field::new(name, data_type, true);
    Arc::new(Schema::new(vec![field("v", DataType::Int64), field("p", DataType::Utf8View)]))
}

/// Rows from `first` on, of which most are in few partitions.
fn rows(first: i64, count: usize) -> RecordBatch {
    let numbers = first..first + count as i64;
    let mut names = StringViewBuilder::new();
    for n in numbers.clone() {
        match n * n % 97 {
            0 => names.append_null(),
            p if p < 50 => names.append_value("large"),
            p => names.append_value(format!("a partition with a long name {p}")),
        }
    }
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Int64Array::from_iter_values(numbers)), Arc::new(names.finish())];
    RecordBatch::try_new(schema(), columns).unwrap()
}

/// The rows that go, with their directories, of `total` rows in batches of so many.
fn gone(total: usize, batch: usize, bound: usize) -> Vec<(String, Vec<i64>)> {
    let mut partitioner = Partitioner::new(&schema(), &[1], 1000, bound).unwrap();
    let mut gone: Vec<RowsOfPartition> = Vec::new();
    for first in (0..total).step_by(batch) {
        partitioner.add(rows(first as i64, batch.min(total - first)), &mut gone).unwrap();
    }
    partitioner.finish(&mut gone).unwrap();
    let of = |rows: &RowsOfPartition| {
        let batch = rows.gather().unwrap();
        assert_eq!(batch.schema().fields().len(), 1, "files have the other columns alone");
        (rows.partition.directory.clone(), batch.column(0).as_primitive::<Int64Type>().values().to_vec())
    };
    gone.iter().map(of).collect()
}

#[test]
fn what_goes_follows_from_the_rows_and_not_from_batches() {
    let total = 5 * CHUNK_ROWS + 17;
    for bound in [1, 100_000, 1 << 30] {
        let all = gone(total, 8192, bound);
        assert_eq!(all, gone(total, 1000, bound), "bound {bound}");
        assert_eq!(all, gone(total, total, bound), "bound {bound}");
        let mut by_directory: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        for (directory, rows) in &all {
            assert!((1..=1000).contains(&rows.len()));
            by_directory.entry(directory).or_default().extend(rows);
        }
        assert!(by_directory.contains_key("p=__HIVE_DEFAULT_PARTITION__"));
        assert!(by_directory.values().all(|rows| rows.is_sorted()), "each partition keeps its order");
        let mut rows: Vec<i64> = by_directory.into_values().flatten().collect();
        rows.sort();
        assert_eq!(rows, (0..total as i64).collect::<Vec<_>>(), "each row once");
    }
}

#[test]
fn whole_blocks_go_first_and_small_partitions_wait() {
    let mut partitioner = Partitioner::new(&schema(), &[1], 1000, 300_000).unwrap();
    let mut gone = Vec::new();
    for first in (0..40_000).step_by(1000) {
        let names = (first..first + 1000).map(|n| match n % 100 {
            0 => format!("small {}", n / 100 % 100),
            _ => "large".to_string(),
        });
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(first..first + 1000)),
            Arc::new(StringViewArray::from_iter_values(names)),
        ];
        partitioner.add(RecordBatch::try_new(schema(), columns).unwrap(), &mut gone).unwrap();
    }
    assert!(gone.len() > 20, "more is held than the bound: {} blocks went", gone.len());
    partitioner.finish(&mut gone).unwrap();
    let mut sizes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for rows in &gone {
        sizes.entry(&rows.partition.directory).or_default().push(rows.gather().unwrap().num_rows());
    }
    let large = sizes.remove("p=large").unwrap();
    assert_eq!(large.iter().sum::<usize>(), 39_600);
    assert!(large[..large.len() - 1].iter().all(|&rows| rows == 1000), "{large:?}");
    assert!(sizes.len() == 100 && sizes.values().all(|sizes| *sizes == [4]), "{sizes:?}");
}

#[test]
fn values_of_one_text_share_a_directory_and_long_ones_are_refused() {
    let fields = vec![Field::new("f", DataType::Float64, true), Field::new("v", DataType::Int64, true)];
    let other_nan = f64::from_bits(f64::NAN.to_bits() ^ 1);
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, other_nan, 1.5]));
    let batch = RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        vec![floats, Arc::new(Int64Array::from(vec![1, 2, 3]))],
    )
    .unwrap();
    assert!(batch.column(0).as_primitive::<Float64Type>().value(1).is_nan());
    let mut gone = Vec::new();
    let mut partitioner = Partitioner::new(&batch.schema(), &[0], 10, 1 << 20).unwrap();
    partitioner.add(batch, &mut gone).unwrap();
    partitioner.finish(&mut gone).unwrap();
    let directories: Vec<_> = gone.iter().map(|rows| rows.partition.directory.as_str()).collect();
    assert_eq!(directories, ["f=NaN", "f=1.5"]);

    let long = StringViewArray::from(vec!["x".repeat(254)]);
    let batch = RecordBatch::try_new(schema(), vec![Arc::new(Int64Array::from(vec![1])), Arc::new(long)]);
    let mut partitioner = Partitioner::new(&schema(), &[1], 10, 1 << 20).unwrap();
    partitioner.add(batch.unwrap(), &mut gone).unwrap();
    let error = partitioner.finish(&mut gone).unwrap_err().to_string();
    assert!(error.contains("a value of the column 'p'") && error.contains("256 bytes"), "{error}");
}

/// A csv tree of rows, whose unfinished files keep at most so many column chunks.
fn tree(path: &Path, chunks: usize) -> Vec<(String, u64)> {
    let format = FormatOptions { encoding: "csv".into(), header: true, ..FormatOptions::default() };
    let options =
        WriteOptions { format, workers: 1, overwrite: Overwrite::Yes, part_bytes: None, verify: false };
    let to = Destination::Partitions(path.to_path_buf(), vec![1]);
    let output = Output::open(None, schema(), &to, &options).unwrap();
    let mut sink = PartitionSink::new(&output.place, 1, chunks);
    let encoder = &output.place.encoder;
    for round in 0..3 {
        for number in 0..10 {
            let partition = Partition { number, directory: format!("p={number}") };
            let rows = rows(round * 10 + number as i64, 1).project(&[0]).unwrap();
            sink.put(&partition, encoder.encode_all(&[rows]).unwrap()).unwrap();
        }
    }
    let mut files: Vec<_> =
        sink.finish().unwrap().into_iter().map(|(_, file)| (file.name, file.rows)).collect();
    files.sort();
    for (name, rows) in &files {
        let text = fs::read_to_string(output.place.directory.join(name)).unwrap();
        assert_eq!(text.lines().count() as u64, rows + 1, "{name}");
    }
    files
}

#[test]
fn files_are_ended_when_too_many_are_unfinished() {
    let home = tempfile::tempdir().unwrap();
    let all = tree(&home.path().join("a"), 1000);
    assert_eq!(all.len(), 10);
    assert!(all.iter().all(|(name, rows)| name.ends_with("/part-00000.csv") && *rows == 3), "{all:?}");
    let cut = tree(&home.path().join("b"), 6);
    assert!(cut.len() > 10 && cut.iter().any(|(name, _)| name.ends_with("/part-00001.csv")), "{cut:?}");
    assert_eq!(cut.iter().map(|(_, rows)| rows).sum::<u64>(), 30);
}

#[test]
fn a_tree_has_no_manifest_and_an_empty_one_has_a_file() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("t");
    let format = FormatOptions { encoding: "csv".into(), header: true, ..FormatOptions::default() };
    let options =
        WriteOptions { format, workers: 2, overwrite: Overwrite::Yes, part_bytes: None, verify: false };
    let to = Destination::Partitions(path.clone(), vec![1]);
    let state = QueryState::default();
    for (count, file) in [(0, "p=__HIVE_DEFAULT_PARTITION__/part-00000.csv"), (2, "p=large/part-00000.csv")] {
        let mut output = Output::open(None, schema(), &to, &options).unwrap();
        let mut lane = Some(rows(1, count));
        let rows = Rows {
            files: 1,
            deal: Box::new(|| Ok(lane.take().map(Some))),
            read: Box::new(|lane: &mut Option<RecordBatch>| {
                Ok(lane.take().map_or(Step::Done, |batch| Step::Item((0, batch))))
            }),
        };
        let parts = output.write(rows, &state).unwrap();
        let written = output.finish(parts, &state).unwrap();
        assert_eq!((written.files, written.rows), (1, count as u64));
        assert!(path.join(file).is_file() && !path.join("_manifest.json").exists());
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
    }
}
