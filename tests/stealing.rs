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
/// The bytes of a part of a csv file.
const PART: u64 = 8 << 20;
/// What is wanted of a text that takes long to work on.
const SLOW: &str = "length(regexp_replace(repeat(b, 5), '[0-9]+ ', 'x', 'g'))";

/// Writes a table of some 150 MB as one file, or as many. Its texts have newlines.
fn write(home: &Path, name: &str, more: &[&str]) -> String {
    let rows = format!(
        "SELECT range AS a, 'a text of row ' || range || chr(10) || ' that makes the file long enough, and ' || \
         (range * 7919 % 1000003) AS b, range % 1000 AS c FROM range({ROWS})"
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

/// Writes such a table as a csv file whose rows all have the same length and stand in their order.
fn write_csv(home: &Path) -> String {
    let rows = format!(
        "SELECT 1000000 + range AS a, 'a text \"of\" row ' || (1000000 + range) || chr(10) || \
         ' that makes the file long enough, and ' || (1000000 + range * 7919 % 1000003) AS b, 100 + range % 900 AS c \
         FROM range({ROWS})"
    );
    let file = home.join("even.csv");
    // One worker writes rows in their order.
    succeed(&["query", &format!("COPY ({rows}) TO '{}'", text(&file)), "--workers", "1"]);
    text(&file).to_string()
}

/// Which of its rows begin in parts of the turn of one of so many processes.
fn parts_of_turn(csv: &str, processes: u64, process: u64) -> String {
    const HEADER: u64 = 6;
    let bytes = fs::metadata(csv).expect("it was written").len() - HEADER;
    assert!(bytes.is_multiple_of(ROWS), "rows of the same length");
    format!("((a - 1000000) * {} + {HEADER}) // {PART} % {processes} = {process}", bytes / ROWS)
}

/// The rows that a scan or filter gave on the workers that gave the fewest and the most.
fn spread(plan: &str, node: &str) -> (u64, u64) {
    // Figures stand before the operator.
    let operators = plan.lines().find_map(|line| line.find("operator")).expect("there are headings");
    let begins =
        |line: &&str| line.get(operators..).is_some_and(|operator| operator.trim_start().starts_with(node));
    let line = plan.lines().find(begins).expect("the plan has such a node");
    let (_, rows) = line.rsplit_once("; ").expect("it tells rows");
    let (rows, _) = rows.split_once(" rows and ").expect("of each worker");
    let (fewest, most) = rows.split_once(" to ").expect("from the fewest to the most");
    let number = |text: &str| text.replace(',', "").parse().expect("a number");
    (number(fewest), number(most))
}

/// Texts of some rows are worked on at length: those of the first part of the file, or of the last one.
fn slow_where(predicate: &str, table: &str) -> String {
    format!("SELECT count(*), sum(a), sum(CASE WHEN {predicate} THEN {SLOW} ELSE 0 END) FROM '{table}'")
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
        write_csv(home.path()),
    ];
    let csv = &tables[5];
    for table in &tables {
        let first = if table == csv { 1_000_000 } else { 0 };
        for slow in [format!("a - {first} < 130000"), format!("a - {first} > {ROWS} - 130000")] {
            is_as_in_one_process(&slow_where(&slow, table), &[("2", "1"), ("3", "1")]);
        }
    }
    for (processes, process) in [(2, 0), (2, 1), (3, 1)] {
        let slow = format!("a % 5 = 0 AND {}", parts_of_turn(csv, processes, process));
        is_as_in_one_process(&slow_where(&slow, csv), &[("2", "1"), ("3", "1"), ("2", "2"), ("4", "1")]);
    }
    let few = format!("SELECT count(*), count(length(b)) FROM (SELECT b FROM '{csv}' LIMIT 5000)");
    for sql in [format!("SELECT count(*) FROM '{csv}'"), few] {
        is_as_in_one_process(&sql, &[("2", "1"), ("3", "2"), ("4", "1")]);
    }
}

/// A query gives in so many processes and workers of each what it gives in one.
fn is_as_in_one_process(sql: &str, places: &[(&str, &str)]) {
    let expected = succeed(&["query", sql]).stdout;
    for (processes, workers) in places {
        let found = succeed(&["cluster", "run", "--local", processes, "--workers", workers, sql]).stdout;
        assert_eq!(found, expected, "{sql} in {processes} processes of {workers} workers");
    }
}

/// The plan of a query that was run in two processes of one worker.
fn analyze(sql: &str) -> String {
    let explain = format!("EXPLAIN ANALYZE {sql}");
    let run = ["cluster", "run", "--allow-scripts", "--local", "2", "--workers", "1", &explain];
    succeed(&run).stdout
}

/// Both of two processes work on rows that take long, of which one alone would have all if none were taken from it.
fn slow_rows_are_shared(table: &str, slow: &str) {
    let slow = format!("CASE WHEN {slow} THEN {SLOW} > 0 ELSE false END");
    let plan = analyze(&format!("SELECT count(*) FROM '{table}' WHERE {slow}"));
    let (fewest, most) = spread(&plan, "filter ");
    assert!(fewest > (fewest + most) / 10, "a worker had {most} of the slow rows:\n{plan}");
}

/// A query over a table with so many rows goes on in two processes of one worker so that one worker reads more than its
/// half of them.
fn takes_work(sql: &str, rows: u64) {
    let plan = analyze(sql);
    let (fewest, most) = spread(&plan, "scan ");
    assert_eq!(fewest + most, rows, "{plan}");
    assert!(most > rows * 11 / 20, "a worker had {most} of {rows} rows:\n{plan}");
}

#[test]
fn who_is_done_takes_work_from_others() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let table = write(home.path(), "x.jsonl", &["--workers", "1"]);
    for slow in ["a < 750000", "a >= 750000"] {
        slow_rows_are_shared(&table, slow);
    }
}

#[test]
fn parts_of_a_csv_file_are_taken_by_whoever_has_time() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let table = write_csv(home.path());
    for process in [0, 1] {
        slow_rows_are_shared(&table, &parts_of_turn(&table, 2, process));
    }
}

#[test]
fn rows_that_are_made_are_taken_too() {
    let slow = "length(regexp_replace(repeat('a' || range, 5), '[0-9]+', 'x'))";
    let sql = |slow_rows: &str| {
        format!(
            "SELECT count(*), sum(range), sum(CASE WHEN {slow_rows} THEN {slow} END) FROM range(12000000)"
        )
    };
    for slow_rows in ["range < 6000000", "range >= 6000000"] {
        is_as_in_one_process(&sql(slow_rows), &[("2", "1"), ("3", "2")]);
        takes_work(&sql(slow_rows), 12_000_000);
    }
}

#[test]
fn files_are_given_to_scripts_of_whoever_has_time() {
    const FILES: u64 = 40;
    const LINES: u64 = 20_000;
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    for file in 0..FILES {
        let line = format!("{file:02}{}\n", "x".repeat(97));
        let path = home.path().join(format!("{file:02}.txt"));
        fs::write(path, line.repeat(LINES as usize)).expect("it can be written");
    }
    let script = "NR == 1 && $1 < \"20\" { system(\"sleep 0.1\") } END { print NR }";
    let files = text(home.path());
    let sql = format!("SELECT count(*), sum(n) FROM transform('{files}', 'awk ''{script}''', 'n BIGINT')");
    for processes in ["2", "3"] {
        let run = ["cluster", "run", "--allow-scripts", "--local", processes, "--workers", "1", &sql];
        let found = succeed(&run).stdout;
        assert_eq!(found.lines().last(), Some(&*format!("{FILES},{}", FILES * LINES)), "{found}");
    }
    takes_work(&sql, FILES);
}
