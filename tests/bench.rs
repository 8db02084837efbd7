//! `palais bench`: the real binary measures itself on small tables.

#[path = "support/process.rs"]
mod process;

use std::fs;
use std::path::Path;

use process::palais;

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the directory can be listed");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_pair_is_measured_and_its_answer_compared() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| home.path().join(name).display().to_string();
    let flags = ["bench", "formats", "--rows", "3000", "--rounds", "1", "--scratch", &path(""), "--output"];
    let done = palais(flags.iter().chain(&[path("figures").as_str(), "--compressions", "none,zstd"]));
    assert_eq!(done.code(), Some(0), "it {}: {}", done.ending(), done.stderr);
    assert!(done.stdout.contains("not measured: text: the table: text holds one column"), "{}", done.stdout);
    assert!(done.stdout.contains("Sweet spots"), "{}", done.stdout);
    assert_eq!(names(home.path()), ["figures"], "the data sets are removed");
    assert_eq!(names(&home.path().join("figures")), ["formats.csv", "formats.json", "formats.svg"]);

    let figures = path("figures/formats.csv");
    let sql = format!(
        "SELECT count(*) AS pairs, count(query_seconds) AS measured, count(error) AS refused, \
         count(decompress_seconds) AS unpacked, min(bytes) > 1000 AS large FROM '{figures}'"
    );
    let done = palais(["query", &sql]);
    let formats = formats::format::formats();
    let inside = formats.iter().filter(|f| f.compresses_inside()).count();
    let (pairs, refused) = (formats.len() * 2, 2);
    let unpacked = formats.len() - inside - 1;
    let expected = format!(
        "pairs,measured,refused,unpacked,large\n{pairs},{},{refused},{unpacked},true\n",
        pairs - refused
    );
    assert_eq!((done.code(), done.stdout), (Some(0), expected), "{}", done.stderr);
}

#[test]
fn a_table_of_ones_own_is_held_against_an_answer_of_ones_own() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| home.path().join(name).display().to_string();
    fs::write(path("t.csv"), "k,v\na,1.5\nb,2\na,0.25\n").expect("a file can be written");
    fs::write(path("right.csv"), "k,s\nb,2\na,1.75\n").expect("a file can be written");
    fs::write(path("wrong.csv"), "k,s\nb,2\na,1.7500001\n").expect("a file can be written");
    let run = |expected: &str| {
        let (table, expected, scratch) = (path("t.csv"), path(expected), path("scratch"));
        palais([
            "bench",
            "formats",
            &table,
            "--query",
            "SELECT k, sum(v) AS s FROM t GROUP BY k",
            "--expect",
            &expected,
            "--encodings",
            "csv,msgpack",
            "--compressions",
            "lz4",
            "--scratch",
            &scratch,
        ])
    };
    let done = run("right.csv");
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    let done = run("wrong.csv");
    assert_eq!(done.code(), Some(1), "{}", done.stdout);
    assert!(
        done.stderr.contains("csv with lz4: the answer is wrong: row 1 in order has 1.75 as s"),
        "{}",
        done.stderr
    );
    assert!(done.stdout.contains("failed: msgpack with lz4"), "{}", done.stdout);
    assert_eq!(names(home.path()), ["right.csv", "t.csv", "wrong.csv"]);
}

#[test]
fn a_query_that_is_wrong_is_told_before_anything_is_measured() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let scratch = home.path().display().to_string();
    let flags = ["bench", "formats", "--rows", "10", "--scratch", &scratch];
    let done = palais(flags.iter().chain(&["--query", "SELECT nothing FROM t"]));
    assert_eq!(done.code(), Some(1));
    assert!(done.stderr.contains("nothing") && !done.stderr.contains("csv none"), "{}", done.stderr);
    assert_eq!(names(home.path()), [""; 0]);
}
