//! Many small files of which some are looked at, and the others are compared when they are read.

use arrow_schema::DataType;
use formats::Error;
use formats::discover::OpenOptions;
use schema::DeferredValidation;

use crate::common::{at, rows, set, tree, try_rows};

fn late() -> OpenOptions {
    OpenOptions { late: true, ..OpenOptions::default() }
}

/// So many files with a record each, but for one.
fn files(count: usize, other: Option<(usize, &str)>) -> tempfile::TempDir {
    let names: Vec<_> = (0..count).map(|i| format!("{i:04}.csv")).collect();
    let text = |i| match other {
        Some((place, text)) if place == i => text.as_bytes(),
        _ => b"a,b\n1,x\n".as_slice(),
    };
    tree(&names.iter().enumerate().map(|(i, name)| (name.as_str(), text(i))).collect::<Vec<_>>())
}

#[test]
fn many_small_files_are_compared_when_they_are_read() {
    let dir = files(256, None);
    let table = at(&dir, "", &late()).unwrap();
    let DeferredValidation::Records { known, rows: compared } = &set(&table).unseen else {
        panic!("all were looked at")
    };
    assert_eq!((known.field(0).data_type(), *compared), (&DataType::Int64, 10));
    assert_eq!(rows(&table).len(), 256);
    assert_eq!(set(&at(&dir, "", &OpenOptions::default()).unwrap()).unseen, DeferredValidation::Nothing);
}

#[test]
fn few_or_large_files_or_such_that_differ_are_looked_at() {
    let large = format!("a,b\n{}", "1,x\n".repeat(150_000));
    for (count, other) in [
        (255, None),
        (256, Some((77, large.as_str()))),
        (256, Some((34, "a,b\n1.5,x\n"))),
        (256, Some((255, "a,b\n1.5,x\n"))),
    ] {
        let dir = files(count, other);
        let table = at(&dir, "", &late()).unwrap();
        assert_eq!(set(&table).unseen, DeferredValidation::Nothing, "{count} {:?}", other.map(|(i, _)| i));
        assert_eq!(rows(&table).len(), if count == 256 && other.unwrap().0 == 77 { 150_255 } else { count });
    }
}

#[test]
fn a_file_that_is_unlike_is_told() {
    let dir = files(300, Some((77, "a,b\n1.5,x\n")));
    let table = at(&dir, "", &late()).unwrap();
    let error = try_rows(&table).unwrap_err();
    assert!(matches!(&error, Error::Unlike { path } if path.ends_with("0077.csv")), "{error}");
}
