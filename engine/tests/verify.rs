//! What was written is compared with its source: the same table in other files is the same, another one is not.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use engine::writing::convert::convert;
use engine::writing::dataset::{Destination, WriteOptions};
use engine::writing::generate::generate;
use engine::writing::verify::{content, verify};
use engine::{Error, QueryState};
use formats::discover::{OpenOptions, SchemaChoice, open};
use formats::store::atomic::Overwrite;
use schema::bdb::{Kind, Sizes};
use schema::{FormatOptions, Manifest, Table};

fn options(encoding: &str, workers: usize) -> WriteOptions {
    let format = FormatOptions { encoding: encoding.into(), ..FormatOptions::default() };
    WriteOptions { format, workers, overwrite: Overwrite::Yes, part_bytes: None, verify: true }
}

fn table(path: &Path) -> Arc<Table> {
    let schema = path.is_file().then(|| SchemaChoice::Given(Kind::UserVisits.schema()));
    Arc::new(open(path.to_str().unwrap(), "t", &OpenOptions { schema, ..OpenOptions::default() }).unwrap())
}

/// A table of 100,000 rows as csv in three parts.
fn visits(home: &Path) -> Arc<Table> {
    let spec = Sizes { rankings: 10_000, uservisits: 100_000, documents_bytes: 0 }.table(Kind::UserVisits, 1);
    let directory = home.join("csv");
    generate(&spec, 3, &directory, &options("csv", 2), &QueryState::default()).unwrap();
    table(&directory)
}

#[test]
fn the_same_rows_in_other_files_are_the_same() {
    let home = tempfile::tempdir().unwrap();
    let (source, state) = (visits(home.path()), QueryState::default());
    let whole = content(&source, 1, &state).unwrap();
    let (one, set) = (home.path().join("one.parquet"), home.path().join("set"));
    convert(&source, &Destination::File(one.clone()), &options("parquet", 3), &state).unwrap();
    convert(&source, &Destination::Dataset(set.clone()), &options("buren", 1), &state).unwrap();
    for (path, workers) in [(&one, 1), (&one, 4), (&set, 1), (&set, 4)] {
        let other = content(&table(path), workers, &state).unwrap();
        assert_eq!(whole.difference(&other, &source.schema), None, "{}", path.display());
    }
}

#[test]
fn a_changed_value_a_lost_row_and_rows_that_changed_places_are_told() {
    let home = tempfile::tempdir().unwrap();
    let (source, state) = (visits(home.path()), QueryState::default());
    let whole = content(&source, 2, &state).unwrap();
    let one = home.path().join("one.csv");
    convert(&source, &Destination::File(one.clone()), &options("csv", 2), &state).unwrap();
    let text = fs::read_to_string(&one).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let told = |lines: &[&str]| {
        fs::write(&one, lines.join("\n") + "\n").unwrap();
        whole.difference(&content(&table(&one), 3, &state).unwrap(), &source.schema)
    };
    assert_eq!(told(&lines), None);
    let mut changed = lines.clone();
    // The last column is the duration, from 1 to 10.
    let row = lines[80_000].rsplit_once(',').unwrap().0.to_string() + ",11";
    changed[80_000] = &row;
    let difference = told(&changed).unwrap();
    assert!(difference.ends_with("column 'duration', first in rows 65537 to 100000"), "{difference}");
    let mut swapped = lines.clone();
    swapped.swap(10, 99_999);
    assert!(told(&swapped).unwrap().contains("first in rows 1 to 65536"));
    assert!(told(&lines[1..]).unwrap().contains("has 99999 rows, and the source 100000"));
}

#[test]
fn a_dataset_that_is_not_its_source_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let (source, state) = (visits(home.path()), QueryState::default());
    let whole = content(&source, 2, &state).unwrap();
    let (set, shown) = (home.path().join("set"), Path::new("shown"));
    convert(&source, &Destination::Dataset(set.clone()), &options("msgpack", 2), &state).unwrap();
    let manifest = Manifest::read(&set).unwrap().unwrap();
    verify(&set, shown, &manifest, &whole, 2, &state).unwrap();
    // The parts of the dataset in another order are other rows.
    let turned = Manifest { files: manifest.files.iter().rev().cloned().collect(), ..manifest.clone() };
    fs::write(set.join(schema::manifest::FILE_NAME), turned.print(&set).unwrap()).unwrap();
    let error = verify(&set, shown, &turned, &whole, 2, &state).unwrap_err();
    assert!(matches!(error, Error::Verify { .. }), "{error}");
    assert!(error.to_string().starts_with("shown: what was written has other values"), "{error}");
    // A byte that its checksum does not go with.
    fs::write(set.join(schema::manifest::FILE_NAME), manifest.print(&set).unwrap()).unwrap();
    let part = set.join(&manifest.files[1].name);
    let mut bytes = fs::read(&part).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&part, bytes).unwrap();
    let error = verify(&set, shown, &manifest, &whole, 2, &state).unwrap_err().to_string();
    assert!(error.starts_with("shown: what was written can't be read again: shown/part-00001"), "{error}");
    let stopped = QueryState::default();
    stopped.cancel();
    let error = verify(&set, shown, &manifest, &whole, 2, &stopped).unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error}");
}
