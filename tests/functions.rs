//! The functions, as users read of them: `docs/functions.md` is made of the table in `queries/src/functions/table.rs`, and
//! each example in it gives the value that stands there.
//!
//! `PALAIS_WRITE_DOCS=1 cargo test --locked --release --test functions` writes the page.

use std::alloc::System;
use std::fs;
use std::path::Path;

use arrow_array::{Array, RecordBatch};
use engine::context::memory::Counting;
use formats::rows::cells::Cells;
use queries::functions::table::{AGGREGATES, ALL, COLUMNS, Described, ROWS, TABLES, rows};
use session::{Result, Session, Settings};

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

const HEAD: &str = "# Functions

All functions, aggregates and table functions, by what they are about. `SHOW FUNCTIONS` and `SELECT * FROM functions()` give
the same list. Parameters at the end may be left out where an example does so. A function of an argument that is NULL is
NULL, unless its text says otherwise; aggregates pass NULL over. What differs from DuckDB is in
[sql.md](sql.md#differences-from-duckdb).

This page is written by `PALAIS_WRITE_DOCS=1 cargo test --locked --release --test functions`, from the table in
`queries/src/functions/table.rs`; the values are computed.
";

/// The rows that a statement gives, as text.
fn answer(session: &Session, sql: &str) -> Vec<Vec<Option<String>>> {
    let batches = session.execute(sql).and_then(Iterator::collect::<Result<Vec<RecordBatch>>>);
    let batches = batches.unwrap_or_else(|e| panic!("{sql}\n{e}"));
    let cell = |column: &arrow_array::ArrayRef, row: usize| {
        let is_null = column.logical_nulls().is_some_and(|nulls| nulls.is_null(row));
        let mut text = Vec::new();
        Cells::new(column).expect("it is printed").print(row, &mut text);
        (!is_null).then(|| String::from_utf8(text).expect("text is UTF-8"))
    };
    let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)));
    rows.map(|(batch, row)| batch.columns().iter().map(|column| cell(column, row)).collect()).collect()
}

/// The value of an example.
fn value(session: &Session, described: &Described) -> String {
    let from = if described.group == AGGREGATES { format!(" FROM {ROWS}") } else { String::new() };
    let group = if described.name == "grouping" { " GROUP BY x LIMIT 1" } else { "" };
    let example = described.example;
    let only = |sql: String| answer(session, &sql)[0][0].clone().unwrap_or_else(|| "NULL".into());
    // Lists, structs and maps are printed by their cast alone.
    let data_type = only(format!("SELECT typeof({example}){from}{group}"));
    let is_nested =
        data_type.starts_with("MAP") || data_type.starts_with("STRUCT") || data_type.ends_with("[]");
    let shown = if is_nested { format!("CAST({example} AS VARCHAR)") } else { example.to_string() };
    only(format!("SELECT {shown}{from}{group}"))
}

/// Text in a cell of a table.
fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", text.replace('|', "\\|")) }
}

fn page(session: &Session) -> String {
    let mut page = HEAD.to_string();
    let mut group = "";
    for described in ALL {
        if described.group != group {
            group = described.group;
            page += &format!("\n## {group}\n");
            page += &match group {
                AGGREGATES => format!("The examples are computed over `{ROWS}`.\n"),
                _ => String::new(),
            };
            page += if group == TABLES {
                "| function | what it gives |\n|---|---|\n"
            } else {
                "| function | what it gives | example | value |\n|---|---|---|---|\n"
            };
        }
        let call = code(&format!("{}({})", described.name, described.parameters));
        let names = described.aliases.iter().map(|name| format!(", `{name}`")).collect::<String>();
        let text = described.text.replace('|', "\\|");
        page += &if group == TABLES {
            format!("| {call}{names} | {text} |\n")
        } else {
            let (example, value) = (code(described.example), code(&value(session, described)));
            format!("| {call}{names} | {text} | {example} | {value} |\n")
        };
    }
    page
}

#[test]
fn the_page_of_functions_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/functions.md");
    let page = page(&Session::new(Settings::default()));
    if std::env::var_os("PALAIS_WRITE_DOCS").is_some() {
        fs::write(&path, &page).expect("the page can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    let differs = written.lines().zip(page.lines()).find(|(written, line)| written != line);
    assert!(
        written == page,
        "docs/functions.md is not up to date; PALAIS_WRITE_DOCS=1 writes it: {differs:?}"
    );
}

#[test]
fn functions_are_rows() {
    let session = Session::new(Settings::default());
    let all = answer(&session, "SELECT * FROM functions()");
    let wanted: Vec<Vec<Option<String>>> = rows().into_iter().map(Vec::from).collect();
    assert_eq!(all, wanted);
    assert_eq!(all[0].len(), COLUMNS.len());
    let shown = answer(&session, "SHOW FUNCTIONS");
    assert_eq!(shown.len(), wanted.len());
    let aliases = answer(&session, "SELECT alias_of FROM functions() WHERE function_name = 'max_by'");
    assert_eq!(aliases, [[Some("arg_max".to_string())]]);
}
