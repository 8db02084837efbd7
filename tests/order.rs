//! The order of rows that no ORDER BY asks for, on the real binary.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use process::palais;

#[path = "support/process.rs"]
mod process;

const WORKERS: [&str; 4] = ["1", "2", "3", "7"];

/// The rows of a query of one column.
fn rows(sql: &str, workers: &str) -> Vec<u64> {
    let done = palais(["query", sql, "--format", "csv", "--workers", workers]);
    assert_eq!(done.code(), Some(0), "{sql}: {}: {}", done.ending(), done.stderr);
    done.stdout.lines().skip(1).map(|line| line.parse().expect("the column has numbers")).collect()
}

fn assert_rows(sql: &str, expected: impl Iterator<Item = u64> + Clone) {
    for workers in WORKERS {
        let got = rows(sql, workers);
        let differs = got.iter().copied().zip(expected.clone()).position(|(got, expected)| got != expected);
        assert_eq!((got.len(), differs), (expected.clone().count(), None), "{sql} with {workers} workers");
    }
}

/// 40 MB of rows: `n` is three times `id`, which counts, and `pad` is long.
const ROWS: u64 = 400_000;

fn write_table(path: &Path, rows: std::ops::Range<u64>) {
    let mut text = String::from("n,id,pad\n");
    for row in rows {
        let _ = writeln!(text, "{},{row},{row:090}", 3 * row);
    }
    fs::write(path, text).expect("the table can be written");
}

fn convert(from: &Path, to: &Path) {
    let done = palais(["convert".as_ref(), from.as_os_str(), to.as_os_str()]);
    assert_eq!(done.code(), Some(0), "{}: {}", done.ending(), done.stderr);
}

#[test]
fn rows_of_a_file_come_in_its_order() {
    let home = tempfile::tempdir().unwrap();
    let csv = home.path().join("t.csv");
    write_table(&csv, 0..ROWS);
    let mut tables = vec![csv.clone()];
    for name in ["t.jsonl", "t.csv.gz", "t.msgpack", "t.parquet", "t.buren"] {
        let to = home.path().join(name);
        convert(&csv, &to);
        tables.push(to);
    }
    for table in tables {
        let table = table.display();
        assert_rows(&format!("SELECT n FROM '{table}'"), (0..ROWS).map(|row| 3 * row));
        // So few rows are kept that those of several batches are given at once, and so many that they are not.
        let some = |of: u64| (0..ROWS).filter(move |row| row % of == 7).map(|row| 3 * row);
        assert_rows(&format!("SELECT n FROM '{table}' WHERE id % 1000 = 7"), some(1000));
        assert_rows(&format!("SELECT n FROM '{table}' WHERE id % 11 = 7"), some(11));
    }
}

#[test]
fn a_limit_gives_the_first_rows() {
    let home = tempfile::tempdir().unwrap();
    let csv = home.path().join("t.csv");
    write_table(&csv, 0..ROWS);
    let buren = home.path().join("t.buren");
    convert(&csv, &buren);
    // Files that share batches, and a large one among them.
    let files = home.path().join("files");
    fs::create_dir(&files).unwrap();
    for file in 0..40 {
        let from = if file < 20 { 100 * file } else { 100 * (file - 20) + 202_000 };
        write_table(&files.join(format!("{:02}.csv", file + 10)), from..from + 100);
    }
    write_table(&files.join("295.csv"), 2000..202_000);
    let in_files = || (0..204_000).map(|row| 3 * row);
    for table in [csv, buren] {
        let table = table.display();
        for (limit, offset) in [(5, 0), (10_000, 0), (7, 150_000), (250_000, 100_000), (0, 9)] {
            let sql = format!("SELECT n FROM '{table}' LIMIT {limit} OFFSET {offset}");
            assert_rows(&sql, (offset..(offset + limit).min(ROWS)).map(|row| 3 * row));
        }
        let sql = format!("SELECT n + 1 AS m FROM '{table}' WHERE id % 1000 = 7 LIMIT 300 OFFSET 50");
        assert_rows(&sql, (50..350).map(|i| 3 * (1000 * i + 7) + 1));
    }
    let files = files.display();
    for (limit, offset) in [(150, 0), (2500, 1900), (203_000, 10)] {
        let sql = format!("SELECT n FROM '{files}' LIMIT {limit} OFFSET {offset}");
        assert_rows(&sql, in_files().skip(offset).take(limit));
        let sql = format!("SELECT n FROM '{files}' WHERE id % 3 = 0 LIMIT {limit} OFFSET {offset}");
        assert_rows(&sql, in_files().step_by(3).skip(offset).take(limit));
    }
    // In a subquery, and where rows are joined, grouped or sorted behind it.
    let sql = format!("SELECT sum(n) AS s FROM (SELECT n FROM '{files}' LIMIT 3000)");
    assert_rows(&sql, [(0..3000).map(|row| 3 * row).sum()].into_iter());
}

#[test]
fn made_rows_come_in_order() {
    assert_rows("SELECT range AS n FROM range(1000000)", 0..1_000_000);
    assert_rows(
        "SELECT range AS n FROM range(3000000) WHERE range % 100000 = 1 LIMIT 20",
        (0..20).map(|i| 100_000 * i + 1),
    );
    // The plan says so; what gives no row of its own order does not.
    let plan = |sql: &str| palais(["query", &format!("EXPLAIN {sql}"), "--format", "csv"]).stdout;
    assert!(
        plan("SELECT * FROM range(9) WHERE range > 2").contains("gather on worker 0 in the table's order")
    );
    let joined = plan("SELECT * FROM range(9) a JOIN range(9) b ON a.range = b.range");
    assert!(joined.contains("gather on worker 0 ") && !joined.contains("in the table's order"), "{joined}");
}

#[test]
fn what_is_written_to_one_file_is_in_order() {
    let home = tempfile::tempdir().unwrap();
    let (csv, copy) = (home.path().join("t.csv"), home.path().join("copy.csv"));
    write_table(&csv, 0..ROWS);
    for workers in ["2", "5"] {
        let sql = format!("COPY (SELECT * FROM '{}') TO '{}'", csv.display(), copy.display());
        let done = palais(["query", &sql, "--overwrite", "--workers", workers]);
        assert_eq!(done.code(), Some(0), "{}: {}", done.ending(), done.stderr);
        assert!(fs::read(&csv).unwrap() == fs::read(&copy).unwrap(), "the copy is the file");
    }
}
