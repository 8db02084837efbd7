//! `palais inspect` on the real binary; `tests/buren.rs` has what it prints of buren.

use std::fs;
use std::path::Path;

use process::{Finished, palais};

#[path = "support/process.rs"]
mod process;

fn inspect(arguments: &[&Path]) -> Finished {
    palais(["inspect".as_ref()].into_iter().chain(arguments.iter().map(|path| path.as_os_str())))
}

fn report(path: &Path) -> String {
    let done = inspect(&[path]);
    assert_eq!(done.code(), Some(0), "{}: {}", done.ending(), done.stderr);
    done.stdout
}

/// The cells of the last line that begins with this one.
fn line<'a>(text: &'a str, first: &str) -> Vec<&'a str> {
    let line = text.lines().rfind(|line| line.split_whitespace().next() == Some(first));
    line.unwrap_or_else(|| panic!("no {first} in\n{text}")).split_whitespace().collect()
}

fn write(sql: &str, to: &Path) {
    let done = palais(["query".as_ref(), sql.as_ref(), "--output".as_ref(), to.as_os_str()]);
    assert_eq!(done.code(), Some(0), "{sql}: {}: {}", done.ending(), done.stderr);
}

const SQL: &str = "SELECT range AS id, CASE WHEN range % 10 <> 3 THEN 'page ' || (range % 7) END AS page,
                     DATE '2024-01-01' + range % 31 AS day, CAST(range % 5 AS DECIMAL(5, 2)) AS price
                   FROM range(200000)";

#[test]
fn of_parquet_it_prints_what_the_footer_tells() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("t.parquet");
    write(SQL, &path);
    let text = report(&path);
    assert!(text.contains("t.parquet: 200,000 rows in 2 row groups, "), "{text}");
    assert!(text.contains("row group 1: 68,928 rows") && text.contains(" VARCHAR "), "{text}");
    let id = line(&text, "id");
    assert_eq!((id[3], id[4], id[5], id[6]), ("0", "131072", "199999", "snappy"), "{text}");
    let page = line(&text, "page");
    assert_eq!((page[3], &page[4..8]), ("6,893", &["page", "0", "page", "6"][..]), "{text}");
    assert_eq!(line(&text, "day")[4..6], ["2024-01-01", "2024-01-31"], "{text}");
    assert_eq!(line(&text, "price")[4..6], ["0.00", "4.00"], "{text}");
    assert!(page.contains(&"RLE_DICTIONARY"), "{text}");
    // Nobody knows how many distinct values there are.
    assert!(!text.contains("distinct"), "{text}");
}

#[test]
fn of_arrow_it_prints_the_record_batches() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("t.arrow");
    write(SQL, &path);
    let text = report(&path);
    let batches = text.lines().filter(|line| line.starts_with("record batch ")).count();
    assert!(batches > 1 && text.contains(&format!("200,000 rows in {batches} record batches, ")), "{text}");
    let total = text.lines().find(|line| line.trim_start().starts_with("page ")).unwrap();
    let total: Vec<&str> = total.split_whitespace().collect();
    assert_eq!((total[1], total[4]), ("VARCHAR", "20,000"), "{text}");
    assert!(!text.contains(" min "), "{text}");
}

#[test]
fn of_other_files_it_prints_how_they_are_read() {
    let home = tempfile::tempdir().unwrap();
    let csv = home.path().join("a.csv");
    fs::write(&csv, "n;t\n1;x\n2;y\n").unwrap();
    let text = report(&csv);
    assert!(
        text.contains("a.csv: 12 bytes of csv, ';' between fields, names in the first record\n"),
        "{text}"
    );
    assert_eq!((line(&text, "n"), line(&text, "t")), (vec!["n", "BIGINT"], vec!["t", "VARCHAR"]));
    // A directory with a column of its own, whose files are compressed in two ways.
    for (day, name) in [("1", "a.jsonl.gz"), ("2", "b.jsonl.zst")] {
        let directory = home.path().join(format!("logs/day={day}"));
        fs::create_dir_all(&directory).unwrap();
        write("SELECT range AS id FROM range(9)", &directory.join(name));
    }
    let text = report(&home.path().join("logs"));
    assert!(
        text.contains("logs: 2 files, ") && text.contains(" bytes of jsonl with gzip and zstd\n"),
        "{text}"
    );
    assert_eq!(line(&text, "day"), ["day", "BIGINT"]);
    assert!(text.contains("day=2/b.jsonl.zst"), "{text}");
    let done = inspect(&[&home.path().join("none.csv")]);
    assert_eq!(done.code(), Some(1), "{}", done.stdout);
    assert!(done.stderr.contains("there is no such file"), "{}", done.stderr);
}

#[test]
fn of_a_dataset_it_compares_the_files_with_the_manifest() {
    let home = tempfile::tempdir().unwrap();
    let dataset = home.path().join("t");
    let copy = format!("COPY ({SQL}) TO '{}/' (FORMAT csv, FILE_SIZE_BYTES 1000000)", dataset.display());
    let done = palais(["query", &copy]);
    assert_eq!(done.code(), Some(0), "{}: {}", done.ending(), done.stderr);
    let checked = inspect(&[&dataset, "--check".as_ref()]);
    assert_eq!(checked.code(), Some(0), "{}: {}", checked.ending(), checked.stderr);
    let files = fs::read_dir(&dataset).unwrap().count() as u64 - 1;
    let text = checked.stdout;
    assert!(files > 1 && text.contains(&format!("t: 200,000 rows in {files} files, ")), "{text}");
    assert!(text.ends_with(&format!("\n{files} checksums agree\n")), "{text}");
    let part = dataset.join("part-00001.csv");
    let mut bytes = fs::read(&part).unwrap();
    bytes[100] ^= 1;
    fs::write(&part, bytes).unwrap();
    let checked = inspect(&[&dataset, "--check".as_ref()]);
    assert_eq!(checked.code(), Some(1), "{}", checked.stdout);
    assert!(
        checked.stderr.contains("part-00001.csv") && checked.stderr.contains("checksum"),
        "{}",
        checked.stderr
    );
    // Without a manifest nobody knows what the bytes were.
    let checked = inspect(&[&part, "--check".as_ref()]);
    assert_eq!(checked.code(), Some(1), "{}", checked.stdout);
    assert!(checked.stderr.contains("no checksum of this file is known: csv has none"), "{}", checked.stderr);
}
