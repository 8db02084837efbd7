//! Processes that have read their part of a table take some of what others have left.

use std::fs;
use std::path::Path;

use several::{succeed, text};

#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

/// Rows of the tables here.
const ROWS: u64 = 1_500_000;

/// Writes a table of some 150 MB as one file, or as many.
fn write(home: &Path, name: &str, more: &[&str]) -> String {
    let rows = format!(
        "SELECT range AS a, 'a text of row ' || range || ' that makes the file long enough, and ' || (range * 7919 % 1000003) \
         AS b, range % 1000 AS c FROM range({ROWS})"
    );
    let file = home.join(name);
    succeed(&[&["query", &format!("COPY ({rows}) TO '{}'", text(&file))], more].concat());
    text(&file).to_string()
}

/// The lines of a file in many files of a directory.
fn in_parts(file: &Path) -> String {
    let (lines, directory) =
        (fs::read_to_string(file).expect("it was written"), file.with_extension("parts"));
    fs::create_dir(&directory).expect("it can be made");
    let lines: Vec<&str> = lines.split_inclusive('\n').collect();
    for (number, lines) in lines.chunks(40_000).enumerate() {
        fs::write(directory.join(format!("{number:03}.jsonl")), lines.concat()).expect("it can be written");
    }
    text(&directory).to_string()
}

/// The rows that a scan gave on the workers that gave the fewest and the most.
fn spread(plan: &str) -> (u64, u64) {
    let scan = plan.lines().find(|line| line.contains("scan ")).expect("the plan has a scan");
    let (_, rows) = scan.rsplit_once(" rows (").expect("it tells rows");
    let (rows, _) = rows.split_once(" a worker)").expect("of each worker");
    let (fewest, most) = rows.split_once(" to ").expect("from the fewest to the most");
    (fewest.parse().expect("a number"), most.parse().expect("a number"))
}

/// Texts of some rows are worked on at length: those of the first part of the file, or of the last one.
fn slow_where(predicate: &str, table: &str) -> String {
    format!(
        "SELECT count(*), sum(a), sum(CASE WHEN {predicate} THEN length(regexp_replace(repeat(b, 5), '[0-9]+ ', 'x', 'g')) \
         ELSE 0 END) FROM '{table}'"
    )
}

#[test]
fn every_row_is_read_once_however_work_moves() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let jsonl = write(home.path(), "x.jsonl", &[]);
    let tables = [
        in_parts(Path::new(&jsonl)),
        jsonl,
        write(home.path(), "x.buren", &["--workers", "2"]),
        write(home.path(), "x.parquet", &[]),
        write(home.path(), "x.csv.gz", &[]),
    ];
    for table in &tables {
        for slow in ["a < 400000", "a > 1100000"] {
            let sql = slow_where(slow, table);
            let expected = succeed(&["query", &sql]).stdout;
            for processes in ["2", "3"] {
                let found = succeed(&["cluster", "run", "--local", processes, "--workers", "1", &sql]).stdout;
                assert_eq!(found, expected, "{sql} in {processes} processes");
            }
        }
    }
}

#[test]
fn who_is_done_takes_work_from_others() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let table = write(home.path(), "x.jsonl", &[]);
    for slow in ["a < 750000", "a >= 750000"] {
        let explain = format!("EXPLAIN ANALYZE {}", slow_where(slow, &table));
        let plan = succeed(&["cluster", "run", "--local", "2", "--workers", "1", &explain]).stdout;
        let (fewest, most) = spread(&plan);
        assert_eq!(fewest + most, ROWS, "{plan}");
        assert!(most > ROWS * 11 / 20, "a worker had {most} of {ROWS} rows:\n{plan}");
    }
}
