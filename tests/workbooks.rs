//! Excel workbooks that openpyxl and XlsxWriter wrote (tests/workbooks/write.py), against what openpyxl reads of them.

use std::fs;
use std::path::{Path, PathBuf};

use process::{Finished, palais};
use serde_json::Value;

#[path = "support/process.rs"]
mod process;

fn books() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workbooks")
}

/// Asks with `DIR` as the directory of the workbooks.
fn ask(sql: &str, flags: &[&str]) -> Finished {
    let sql = sql.replace("DIR", &books().display().to_string());
    palais([&["query", &sql], flags].concat())
}

/// The rows as csv, without the names of the columns.
fn rows(sql: &str, flags: &[&str]) -> String {
    let done = ask(sql, &[&["--format", "csv"], flags].concat());
    assert_eq!(done.code(), Some(0), "{sql}: {}{}", done.stderr, done.ending());
    done.stdout.split_once('\n').map(|(_, rows)| rows.to_string()).unwrap_or_default()
}

fn fails(sql: &str, flags: &[&str], parts: &[&str]) {
    let done = ask(sql, flags);
    assert!(matches!(done.code(), Some(1 | 2)), "{sql}: {}{}", done.stdout, done.ending());
    for part in parts {
        assert!(done.stderr.contains(part), "{sql}: '{part}' is not in {}", done.stderr);
    }
}

/// Columns and types, as `name type, …`.
fn columns(from: &str) -> String {
    let done = ask(&format!("DESCRIBE SELECT * {from}"), &["--format", "csv"]);
    assert_eq!(done.code(), Some(0), "{from}: {}", done.stderr);
    let lines = done.stdout.lines().skip(1).map(|line| line.split(',').take(2).collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join(", ")
}

/// A value that openpyxl gives, as palais prints it.
fn printed(value: &Value) -> Value {
    match value.as_str() {
        Some("True") => "TRUE".into(),
        Some("False") => "FALSE".into(),
        Some(text) => text.strip_suffix(" 00:00:00").unwrap_or(text).into(),
        None => Value::Null,
    }
}

#[test]
fn openpyxl_reads_the_same_cells() {
    let text = fs::read_to_string(books().join("openpyxl.json")).expect("it lies beside the workbooks");
    let expected: serde_json::Map<String, Value> = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(expected.len(), 9);
    for (place, rows) in &expected {
        let (file, sheet) = place.split_once('/').expect("a file and a sheet");
        if sheet == "Twice" || sheet == "Plain" {
            continue;
        }
        let rows = rows.as_array().expect("rows").iter().map(|row| row.as_array().expect("a row"));
        let mut rows = rows.skip_while(|row| row.iter().all(Value::is_null));
        let names = rows.next().expect("a header");
        let sql = format!("FROM read_xlsx('DIR/{file}', sheet = '{sheet}', all_varchar = true)");
        let done = ask(&sql, &["--format", "jsonl"]);
        assert_eq!(done.code(), Some(0), "{sql}: {}", done.stderr);
        let found: Vec<Value> =
            done.stdout.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
        let rows: Vec<_> = rows.collect();
        assert_eq!(found.len(), rows.len(), "{place}");
        for (found, row) in found.iter().zip(rows) {
            for (name, value) in names.iter().zip(row) {
                // openpyxl has elapsed times as days and hours.
                let Some(name) = name.as_str().filter(|name| *name != "took") else { continue };
                assert_eq!(found.get(name).unwrap_or(&Value::Null), &printed(value), "{place}, {name}");
            }
        }
    }
}

#[test]
fn types_follow_the_cells() {
    assert_eq!(
        columns("FROM 'DIR/types.xlsx'"),
        "number DOUBLE, whole DOUBLE, flag BOOLEAN, day DATE, moment TIMESTAMP, clock TIME, word VARCHAR, \
         mixed VARCHAR, none VARCHAR"
    );
    assert_eq!(columns("FROM 'DIR/epoch1904.xlsx'"), "day DATE, moment TIMESTAMP");
    assert_eq!(
        columns("FROM 'DIR/formulas.xlsx'"),
        "a DOUBLE, double DOUBLE, text VARCHAR, day DATE, took VARCHAR"
    );
    assert_eq!(
        rows("SELECT took FROM 'DIR/formulas.xlsx' ORDER BY a", &[]),
        "18:00:00\n36:00:00\n54:00:00\n"
    );
    assert_eq!(rows("SELECT count(*), count(number), sum(whole) FROM 'DIR/types.xlsx'", &[]), "5,4,6000.0\n");
    // A dimension that lies takes no memory, and adds no rows.
    assert_eq!(rows("SELECT count(*) FROM 'DIR/dimension.xlsx'", &["--memory-limit", "256MiB"]), "5\n");
    assert_eq!(rows("SELECT sum(n), max(t) FROM 'DIR/inline.xlsx'", &[]), "190.0,text 9\n");
}

#[test]
fn sheets_ranges_and_headers_are_chosen() {
    let from = |options: &str| format!("FROM read_xlsx('DIR/types.xlsx', {options})");
    assert_eq!(columns(&from("sheet = 'second SHEET'")), "x DOUBLE, y VARCHAR");
    assert_eq!(rows(&from("sheet = 'Second sheet'"), &[]), "1.0,2\n,\n3.0,four\n");
    assert_eq!(columns(&from("sheet = 'Plain'")), "A DOUBLE, B VARCHAR");
    assert_eq!(columns(&from("sheet = 'Plain', header = true")), "1 DOUBLE, x VARCHAR");
    assert_eq!(columns(&from("sheet = 'Twice'")), "n DOUBLE, n_1 DOUBLE, C DOUBLE, N_2 DOUBLE");
    assert_eq!(rows(&from("range = 'A2:B3'"), &[]), "0.5,0.0\n1.5,1000.0\n");
    assert_eq!(columns(&from("range = 'A1:B3'")), "number DOUBLE, whole DOUBLE");
    assert_eq!(rows(&from("range = 'H:H'"), &[]), "7\nseven\n7.25\nTRUE\n");
    let flags = ["--sheet", "Plain", "--header", "no", "--range", "B1:B2"];
    assert_eq!(rows("FROM 'DIR/types.xlsx'", &flags), "x\ny\n");
    let set = "SET sheet = 'Plain'; SET range = 'A:A'; FROM 'DIR/types.xlsx'";
    assert_eq!(rows(set, &[]), "1.0\n2.0\n");
    // An empty sheet before the others is passed over.
    assert_eq!(rows("SELECT n FROM 'DIR/cover.xlsx'", &[]), "7.0\n");
    let done = palais(["inspect", &books().join("cover.xlsx").display().to_string()]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    fails(&from("sheet = 'Plan'"), &[], &["types.xlsx", "no sheet 'Plan'", "'Plain'"]);
    fails(&from("sheet = 'Empty'"), &[], &["no columns"]);
    fails(&from("range = 'C1:A1'"), &[], &["range takes"]);
    fails(&from("stop_at_empty = true"), &[], &["stop_at_empty", "all_varchar"]);
    fails("FROM 'DIR/types.xlsx'", &["--range", "x"], &["--range takes"]);
}

#[test]
fn errors_of_cells_are_errors_or_null() {
    let sql = "SELECT sum(a), sum(b), count(*) FROM 'DIR/errors.xlsx'";
    fails(sql, &[], &["errors.xlsx", "#DIV/0!", "cell A3", "--on-error null"]);
    assert_eq!(rows(sql, &["--on-error", "null"]), "4.0,60.0,3\n");
    assert_eq!(rows(sql, &["--on-error", "skip"]), "4.0,40.0,2\n");
    assert_eq!(rows("SELECT sum(b) FROM 'DIR/errors.xlsx'", &[]), "60.0\n");
    let ignored = "SELECT sum(a) FROM read_xlsx('DIR/errors.xlsx', ignore_errors = true)";
    assert_eq!(rows(ignored, &[]), "4.0\n");
}

#[test]
fn workbooks_are_known_by_their_content_and_several_are_a_table() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let at = |name: &str| dir.path().join(name).display().to_string();
    fs::copy(books().join("inline.xlsx"), at("book")).expect("it can be copied");
    assert_eq!(rows(&format!("SELECT count(*) FROM '{}'", at("book")), &[]), "19\n");
    fs::create_dir(at("many")).expect("it can be made");
    for name in ["many/a.xlsx", "many/b.xlsm"] {
        fs::copy(books().join("inline.xlsx"), at(name)).expect("it can be copied");
    }
    assert_eq!(rows(&format!("SELECT count(*), sum(n) FROM '{}'", at("many")), &[]), "38,380.0\n");
    // Another archive is none, and neither is one that was cut short.
    fs::write(at("other"), b"PK\x03\x04 and no more").expect("it can be written");
    fails(&format!("FROM '{}'", at("other")), &[], &["files of zip are not unpacked here"]);
    let bytes = fs::read(books().join("inline.xlsx")).expect("it can be read");
    fs::write(at("cut.xlsx"), &bytes[..bytes.len() / 2]).expect("it can be written");
    fails(&format!("FROM '{}'", at("cut.xlsx")), &[], &["cut.xlsx", "not a valid Excel workbook"]);
    let out = at("out.csv");
    let done = palais(["convert", &at("many/a.xlsx"), &out]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    let done = palais(["inspect", &books().join("types.xlsx").display().to_string()]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    for part in ["Second sheet", "Merged", "sheet", "rows"] {
        assert!(done.stdout.contains(part), "{}", done.stdout);
    }
}
