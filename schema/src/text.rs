//! Schemas as text: Arrow's JSON form and SQL's `CREATE TABLE`, both printed and read, and forms for other tools, which
//! are printed only. Of these `.proto` and `.capnp` files of other programs are read too.
//!
//! - [`json`]: the form that Arrow's specification uses in its integration tests, so that it does not change with a
//!   version of a library.
//! - [`ddl`]: `CREATE TABLE name (column TYPE [NULL | NOT NULL], …)`.
//! - [`proto`]: a `.proto` file, with which others read and write the encoding `protobuf`.
//! - [`proto_file`]: a `.proto` file of another program, read: a message becomes the columns of a table.
//! - [`capnp`]: a `.capnp` file, with which others read and write the encoding `capnproto`.
//! - [`capnp_file`]: a `.capnp` file of another program, read: a struct becomes the columns of a table.
//! - [`described`]: what the last two share.
//! - [`types`]: the names of types in SQL.
//!
//! A file may hold JSON or SQL; its first character tells which. One whose name ends in `.proto` holds messages, in
//! `.capnp` structs.

pub mod capnp;
pub mod capnp_file;
pub mod ddl;
pub mod described;
pub mod json;
mod lexer;
pub mod proto;
pub mod proto_file;
pub mod types;

use arrow_schema::Schema;

/// What is wrong with the text of a schema, and where.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// The JSON is not a schema.
    #[error("{path}: {message}")]
    Json {
        /// The way to the value, as in `fields[2].type`.
        path: String,
        /// What was expected.
        message: String,
    },
    /// The text is not a list of `CREATE TABLE` statements.
    #[error("line {line}, column {column}: {message}")]
    Ddl {
        /// The line, counted from 1.
        line: usize,
        /// The character in the line, counted from 1.
        column: usize,
        /// What was expected.
        message: String,
    },
    /// The text is no `.proto` or `.capnp` file.
    #[error("line {line}, column {column}: {message}")]
    File {
        /// The line, counted from 1.
        line: usize,
        /// The character in the line, counted from 1.
        column: usize,
        /// What was expected.
        message: String,
    },
    /// A field or type of a `.proto` or `.capnp` file that can't be read.
    #[error("{path}: {message}")]
    Field {
        /// Its full name.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// A type that the form has no name for.
    #[error("column '{column}': the type {data_type} has no name in {form}")]
    Type {
        /// The column.
        column: String,
        /// Arrow's name of the type.
        data_type: String,
        /// The form of text.
        form: &'static str,
    },
    /// The text holds several tables, none of this name, or no table.
    #[error("{0}")]
    Table(String),
}

/// The schema of `table` in a schema file: JSON if the text begins with `{`, `CREATE TABLE` statements otherwise.
///
/// If the text holds one table, its name does not matter; of several, the one whose name is `table` without regard to
/// case is taken.
pub fn parse(text: &str, table: &str) -> Result<Schema, TextError> {
    parse_said(text, table).map(|(schema, _)| schema)
}

/// The same, and the columns of which the text does not say whether they may be NULL.
pub fn parse_said(text: &str, table: &str) -> Result<(Schema, Vec<usize>), TextError> {
    if text.trim_start().starts_with('{') {
        return Ok((json::parse(text)?, Vec::new()));
    }
    let mut tables = ddl::tables_of(text)?;
    if tables.len() == 1 {
        let only = tables.remove(0);
        return Ok((only.schema, only.unsaid));
    }
    let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
    match tables.into_iter().find(|known| known.name.eq_ignore_ascii_case(table)) {
        Some(known) => Ok((known.schema, known.unsaid)),
        None if names.is_empty() => Err(TextError::Table("the text holds no CREATE TABLE statement".into())),
        None => Err(TextError::Table(format!(
            "the text holds several tables ({}), and none is called '{table}'",
            names.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_tells_its_form_and_the_name_chooses_the_table() {
        let one = "CREATE TABLE a (x INT)";
        assert_eq!(parse(one, "whatever").unwrap().field(0).name(), "x");
        let two = "CREATE TABLE a (x INT); CREATE TABLE B (y INT);";
        assert_eq!(parse(two, "b").unwrap().field(0).name(), "y");
        assert_eq!(
            parse(two, "c").unwrap_err().to_string(),
            "the text holds several tables (a, B), and none is called 'c'"
        );
        assert!(parse(" -- nothing\n", "c").unwrap_err().to_string().contains("no CREATE TABLE"));
        let said = parse_said(
            "CREATE TABLE a (x INT, y INT NULL, z INT NOT NULL, k INT PRIMARY KEY, u INT UNIQUE)",
            "a",
        );
        let (schema, unsaid) = said.unwrap();
        let nullable: Vec<bool> = schema.fields().iter().map(|field| field.is_nullable()).collect();
        assert_eq!((nullable, unsaid), (vec![true, true, false, false, true], vec![0, 4]));
        let json = json::print(&parse(one, "a").unwrap()).unwrap();
        assert_eq!(parse(&json, "a").unwrap(), parse(one, "a").unwrap());
    }
}
