//! Generating and converting: the same bytes with any number of workers, rows kept in order, and nothing left behind
//! by what fails.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_schema::{DataType, Field, Schema};
use engine::writing::convert::convert;
use engine::writing::dataset::{Destination, WriteOptions, Written};
use engine::writing::generate::generate;
use engine::writing::make::{Making, Origin};
use engine::{Error, QueryState};
use formats::discover::{OpenOptions, SchemaChoice, open};
use formats::store::atomic::Overwrite;
use schema::bdb::{Kind, Sizes};
use schema::{FormatOptions, Manifest, Table};
use support::SlowStore;

#[path = "../../session/tests/support/mod.rs"]
mod support;

const SIZES: Sizes = Sizes { rankings: 3_000, uservisits: 30_000, documents_bytes: 1_500_000 };

fn options(encoding: &str, compression: &str, workers: usize) -> WriteOptions {
    let format = FormatOptions {
        encoding: encoding.into(),
        compression: compression.into(),
        ..FormatOptions::default()
    };
    WriteOptions { format, workers, overwrite: Overwrite::flag(false), part_bytes: None, verify: false }
}

fn make(table: Kind, parts: usize, directory: &Path, options: &WriteOptions) -> Written {
    generate(&SIZES.table(table, 1), parts, directory, options, &QueryState::default()).unwrap()
}

fn table(path: &Path, options: &OpenOptions) -> Arc<Table> {
    Arc::new(open(path.to_str().unwrap(), "t", options).unwrap())
}

fn turn(from: &Path, to: &Destination, options: &WriteOptions) -> engine::Result<Written> {
    convert(&table(from, &OpenOptions::default()), to, options, &QueryState::default())
}

/// How csv files of these columns are opened.
fn columns(columns: &[(&str, DataType)], header: bool) -> OpenOptions {
    let fields: Vec<_> = columns.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect();
    let schema = Some(SchemaChoice::Given(Arc::new(Schema::new(fields))));
    OpenOptions { header: Some(header), schema, ..OpenOptions::default() }
}

/// The files of a directory, by name.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            let bytes = if path.is_dir() { Vec::new() } else { fs::read(path).unwrap() };
            (name, bytes)
        })
        .collect()
}

/// The lines of all text parts, in order.
fn lines(directory: &Path) -> Vec<String> {
    let parts = files(directory).into_iter().filter(|(name, _)| name.starts_with("part"));
    parts
        .flat_map(|(_, bytes)| {
            String::from_utf8(bytes).unwrap().lines().map(String::from).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn tables_are_the_same_bytes_with_any_number_of_workers() {
    let home = tempfile::tempdir().unwrap();
    for (encoding, compression) in [("csv", "none"), ("csv", "gzip"), ("parquet", "zstd"), ("buren", "lz4")] {
        for kind in Kind::ALL {
            let made: Vec<_> = [1, 2, 5]
                .map(|workers| {
                    let directory =
                        home.path().join(format!("{encoding}-{compression}-{}-{workers}", kind.name()));
                    let written = make(kind, 3, &directory, &options(encoding, compression, workers));
                    let manifest = Manifest::read(&directory).unwrap().unwrap();
                    assert_eq!(manifest.rows(), written.rows);
                    assert_eq!(manifest.table.as_deref(), Some(kind.name()));
                    assert_eq!(manifest.schema, kind.schema());
                    let files = files(&directory);
                    for part in &manifest.files {
                        assert_eq!(part.bytes, files[&part.name].len() as u64);
                        assert_eq!(part.crc32, crc32fast::hash(&files[&part.name]));
                    }
                    assert_eq!(manifest.files.len() + 1, files.len());
                    (written, files)
                })
                .into();
            assert!(
                made[1..].iter().all(|other| *other == made[0]),
                "{kind:?} as {encoding} with {compression}"
            );
        }
    }
}

#[test]
fn the_number_of_parts_moves_rows_and_changes_none() {
    let home = tempfile::tempdir().unwrap();
    for kind in Kind::ALL {
        let sorted = |parts: usize| {
            let directory = home.path().join(format!("{}-{parts}", kind.name()));
            make(kind, parts, &directory, &options("csv", "none", 2));
            let mut lines = lines(&directory);
            lines.sort();
            lines
        };
        let whole = sorted(1);
        assert!(whole.len() as u64 >= SIZES.rankings);
        assert_eq!(whole, sorted(4));
    }
    // More parts than rows leave empty files.
    let spec = Sizes { rankings: 5, ..SIZES }.table(Kind::Rankings, 1);
    let directory = home.path().join("many");
    generate(&spec, 9, &directory, &options("csv", "none", 2), &QueryState::default()).unwrap();
    assert_eq!((files(&directory).len(), lines(&directory).len()), (10, 5));
}

#[test]
fn there_and_back_gives_the_same_files_with_any_number_of_workers() {
    let home = tempfile::tempdir().unwrap();
    for kind in Kind::ALL {
        let csv = home.path().join(kind.name());
        make(kind, 3, &csv, &options("csv", "none", 2));
        for encoding in ["parquet", "buren"] {
            let there: Vec<_> = [1, 2, 5]
                .map(|workers| {
                    let there = home.path().join(format!("{}-{encoding}-{workers}", kind.name()));
                    let written =
                        turn(&csv, &Destination::Dataset(there.clone()), &options(encoding, "none", workers));
                    assert_eq!(written.unwrap().files, 3);
                    there
                })
                .into();
            assert!(there[1..].iter().all(|other| files(other) == files(&there[0])));
            let back = home.path().join(format!("{}-{encoding}-back", kind.name()));
            turn(&there[1], &Destination::Dataset(back.clone()), &options("csv", "none", 3)).unwrap();
            let (was, mut is) = (files(&csv), files(&back));
            // Only the name of the table is not known any more.
            let manifest = is.remove(schema::manifest::FILE_NAME).unwrap();
            assert!(!manifest.is_empty());
            assert!(
                was.iter().filter(|(name, _)| name.starts_with("part")).eq(is.iter()),
                "{kind:?} by {encoding}"
            );
        }
    }
}

#[test]
fn many_files_become_one() {
    let home = tempfile::tempdir().unwrap();
    let csv = home.path().join("uservisits");
    make(Kind::UserVisits, 5, &csv, &options("csv", "none", 2));
    for workers in [1, 4] {
        let one = home.path().join(format!("one-{workers}.csv"));
        let written = turn(&csv, &Destination::File(one.clone()), &options("csv", "none", workers)).unwrap();
        assert_eq!((written.files, written.rows), (1, SIZES.uservisits));
        let text = fs::read_to_string(&one).unwrap();
        assert!(text.lines().eq(lines(&csv)));
    }
}

#[test]
fn columns_of_directories_and_empty_files_are_kept() {
    let home = tempfile::tempdir().unwrap();
    for (year, text) in [(2025, "a\n1\n2\n"), (2026, "a\n"), (2027, "a\n3\n")] {
        let directory = home.path().join(format!("logs/year={year}"));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("x.csv"), text).unwrap();
    }
    let read = columns(&[("a", DataType::Int64)], true);
    let (logs, out) = (table(&home.path().join("logs"), &read), home.path().join("out"));
    let write = options("csv", "none", 2);
    convert(&logs, &Destination::Dataset(out.clone()), &write, &QueryState::default()).unwrap();
    let parts: Vec<_> = files(&out).into_values().map(|bytes| String::from_utf8(bytes).unwrap()).collect();
    assert_eq!(parts[1..], ["1,2025\n2,2025\n", "", "3,2027\n"]);
}

/// A csv file whose last row does not fit the types of the others.
fn bad_csv(home: &Path) -> PathBuf {
    let path = home.join("bad.csv");
    let mut text: String = (0..300_000).map(|i| format!("{i},x{i}\n")).collect();
    text.push_str("oops,y\n");
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_bad_value_leaves_nothing_and_is_named() {
    let home = tempfile::tempdir().unwrap();
    let bad = bad_csv(home.path());
    for destination in
        [Destination::File(home.path().join("x.parquet")), Destination::Dataset(home.path().join("x"))]
    {
        for workers in [1, 4] {
            let error =
                turn(&bad, &destination, &options("parquet", "none", workers)).unwrap_err().to_string();
            assert!(
                error.contains("bad.csv") && error.contains("oops") && error.contains("300001"),
                "{error}"
            );
            assert_eq!(files(home.path()).into_keys().collect::<Vec<_>>(), ["bad.csv"]);
        }
    }
}

#[test]
fn a_cancelled_run_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let state = QueryState::default();
    state.cancel();
    let out = home.path().join("out");
    let spec = Sizes { rankings: 1_000_000_000_000, ..SIZES }.table(Kind::Rankings, 1);
    let error = generate(&spec, 2, &out, &options("csv", "none", 2), &state).unwrap_err();
    assert!(matches!(error, Error::Cancelled));
    // While it runs.
    let state = QueryState::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while state.rows_read.load(std::sync::atomic::Ordering::Relaxed) < 100_000 {
                std::thread::yield_now();
            }
            state.cancel();
        });
        let error = generate(&spec, 2, &out, &options("csv", "none", 2), &state).unwrap_err();
        assert!(matches!(error, Error::Cancelled));
    });
    assert!(files(home.path()).is_empty());
}

#[test]
fn what_is_there_is_kept_unless_it_may_be_replaced() {
    let home = tempfile::tempdir().unwrap();
    let (csv, out) = (home.path().join("csv"), home.path().join("out"));
    make(Kind::Rankings, 2, &csv, &options("csv", "none", 1));
    let to = Destination::Dataset(out.clone());
    turn(&csv, &to, &options("parquet", "none", 2)).unwrap();
    let before = files(&out);
    let error = turn(&csv, &to, &options("csv", "none", 2)).unwrap_err().to_string();
    assert!(error.contains("--overwrite"), "{error}");
    assert_eq!(files(&out), before);
    let replace = WriteOptions { overwrite: Overwrite::Yes, ..options("csv", "none", 2) };
    turn(&csv, &to, &replace).unwrap();
    assert_eq!(lines(&out), lines(&csv));
    // A table does not replace what it is read from, as a whole or in part.
    let error = turn(&csv, &Destination::Dataset(csv.clone()), &replace).unwrap_err().to_string();
    assert!(error.contains("is read and would be replaced"), "{error}");
    let part = csv.join("part-00000.csv");
    let one =
        OpenOptions { schema: Some(SchemaChoice::Given(Kind::Rankings.schema())), ..OpenOptions::default() };
    let own = Destination::File(part.clone());
    let error = convert(&table(&part, &one), &own, &replace, &QueryState::default()).unwrap_err().to_string();
    assert!(error.contains("is read and would be replaced"), "{error}");
    assert_eq!(files(home.path()).into_keys().collect::<Vec<_>>(), ["csv", "out"]);
}

#[test]
fn what_cannot_be_written_is_refused_before_anything_is_read() {
    let home = tempfile::tempdir().unwrap();
    let spec = SIZES.table(Kind::Rankings, 1);
    let refused = |options: &WriteOptions, spec| {
        generate(spec, 1, &home.path().join("x"), options, &QueryState::default()).unwrap_err().to_string()
    };
    assert!(refused(&options("xml", "none", 1), &spec).contains("no encoding 'xml'"));
    assert!(refused(&options("csv", "rar", 1), &spec).contains("rar"));
    assert!(refused(&options("parquet", "rar", 1), &spec).contains("rar"));
    let large = Sizes { rankings: u64::MAX, ..SIZES }.table(Kind::Rankings, 1);
    assert!(refused(&options("csv", "none", 1), &large).contains("at most"));
    assert!(files(home.path()).is_empty());
}

#[test]
fn what_is_converted_goes_into_a_store() {
    let home = tempfile::tempdir().unwrap();
    let store = SlowStore::register("made", &home.path().join("there"), Duration::ZERO);
    let (csv, there) = (home.path().join("csv"), PathBuf::from("made://set"));
    make(Kind::Rankings, 2, &csv, &options("csv", "none", 1));
    let written = turn(&csv, &Destination::Dataset(there.clone()), &options("parquet", "none", 2)).unwrap();
    assert_eq!((written.files, store.puts.lock().unwrap().len()), (2, 3));
    let back = home.path().join("back");
    let verified = WriteOptions { verify: true, ..options("csv", "none", 2) };
    turn(&there, &Destination::Dataset(back.clone()), &verified).unwrap();
    assert_eq!(lines(&back), lines(&csv));
    turn(&csv, &Destination::File("made://one.csv".into()), &verified).unwrap();
    assert_eq!(fs::read_to_string(home.path().join("there/one.csv")).unwrap().lines().count(), 3000);
    // As files here, these are not replaced by what is read from them.
    let replace = WriteOptions { overwrite: Overwrite::Yes, ..options("csv", "none", 2) };
    for own in ["made://set/part-00000.parquet", "made://set"] {
        let error = turn(&there, &Destination::File(own.into()), &replace).unwrap_err().to_string();
        assert!(error.contains("is read and would be replaced"), "{error}");
    }
}

#[test]
fn several_processes_write_no_dataset_into_a_store() {
    let home = tempfile::tempdir().unwrap();
    SlowStore::register("several", home.path(), Duration::ZERO);
    let origin = Origin::Generated(SIZES.table(Kind::Rankings, 1), 2);
    let begun = Making::begin(origin, Path::new("several://set"), &options("csv", "none", 1), 2);
    let error = begun.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("several://set: several processes write no dataset into a store"), "{error}");
}
