//! Statements of `tests/slt` in a session of this process.

use arrow_array::{Array, ArrayRef, RecordBatch};
use expected::{cell, same_rows};
use formats::discover::SchemaChoice;
use formats::rows::cells::Cells;
use session::writers::{ResultFormat, shape};
use session::{Result, Session};

use super::statements::{Expected, Statement};

#[path = "expected.rs"]
pub mod expected;

/// The session with the tables of these arguments of the command line.
pub fn with_tables(session: Session, tables: &[String]) -> Session {
    for flag in tables.chunks(2) {
        let (name, value) = flag[1].split_once('=').expect("NAME=…");
        match flag[0].as_str() {
            "--table" => session.register(name, value),
            _ => session.set_schema(name, SchemaChoice::parse(value)),
        }
    }
    session
}

/// The rows as `tests/slt` has them: nested columns are the text that csv has.
fn cells(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let column = |column: &ArrayRef| {
        let (values, nulls) = (Cells::new(column).expect("it can be printed"), column.logical_nulls());
        let value = |row| {
            let mut text = Vec::new();
            values.print(row, &mut text);
            String::from_utf8(text).expect("text is UTF-8")
        };
        let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        (0..column.len()).map(|row| cell((!is_null(row)).then(|| value(row)))).collect::<Vec<_>>()
    };
    let of = |batch: &RecordBatch| {
        let (_, lay_out) = shape(ResultFormat::Csv, &batch.schema());
        let batch = lay_out(batch.clone()).expect("nested columns have a text");
        let columns: Vec<Vec<String>> = batch.columns().iter().map(column).collect();
        let row = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
        (0..batch.num_rows()).map(row).collect::<Vec<Vec<String>>>()
    };
    batches.iter().flat_map(of).collect()
}

/// Runs a statement and compares.
pub fn check(session: &Session, statement: &Statement) -> std::result::Result<(), String> {
    let got = session.execute(&statement.sql).and_then(Iterator::collect::<Result<Vec<RecordBatch>>>);
    match (&statement.expected, got) {
        (Expected::Rows { kinds, sorted, lines }, Ok(batches)) => {
            let mut rows = cells(&batches);
            if *sorted {
                rows.sort();
            }
            same_rows(kinds, &rows, lines)
        }
        (Expected::Error(expected), Err(e)) => match expected.is_match(&format!("error: {e}")) {
            true => Ok(()),
            false => Err(format!("the message is not as expected: {e}")),
        },
        (Expected::Error(_), Ok(_)) => Err("an error was expected".into()),
        (Expected::Rows { .. }, Err(e)) => Err(e.to_string()),
    }
}
