//! `CREATE TABLE name (column TYPE [NULL | NOT NULL], …)`: printed, and read by a small parser that tells places.
//!
//! Reading takes what other databases print where it does not change how rows are read. That is `OR REPLACE`,
//! `TEMPORARY`, `IF NOT EXISTS`, a name with a schema before it, and lengths of text. `PRIMARY KEY` and `UNIQUE` may
//! stand behind a column (not checked; a primary key is not null). Anything else is an error. Names keep their case.

use std::sync::Arc;

use arrow_schema::{DataType, Field, IntervalUnit, Schema, TimeUnit};

use super::TextError;
use super::lexer::{TextPosition, Token, tokens};
use super::types::{DEEPEST, quoted, sql_name};

/// Prints a schema as one `CREATE TABLE` statement.
///
/// All flat types come back from [`parse`] as they were, text as `Utf8View`, bytes as `BinaryView`; the elements of
/// nested types come back nullable.
pub fn print(table: &str, schema: &Schema) -> Result<String, TextError> {
    let mut text = format!("CREATE TABLE {} (", quoted(table));
    for (i, field) in schema.fields().iter().enumerate() {
        let name = sql_name(field.data_type()).ok_or_else(|| TextError::Type {
            column: field.name().clone(),
            data_type: field.data_type().to_string(),
            form: "SQL",
        })?;
        text += if i == 0 { "\n" } else { ",\n" };
        text += &format!(
            "  {} {name}{}",
            quoted(field.name()),
            if field.is_nullable() { " NULL" } else { " NOT NULL" }
        );
    }
    text += "\n);\n";
    Ok(text)
}

/// A table as a statement has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub schema: Schema,
    /// The columns of which it is not said whether they may be NULL; they may, as in SQL.
    pub unsaid: Vec<usize>,
}

/// Reads `CREATE TABLE` statements: the names of the tables and their schemas, in order.
pub fn parse(text: &str) -> Result<Vec<(String, Schema)>, TextError> {
    Ok(tables_of(text)?.into_iter().map(|table| (table.name, table.schema)).collect())
}

/// Reads `CREATE TABLE` statements.
pub fn tables_of(text: &str) -> Result<Vec<Table>, TextError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0 };
    let mut tables = Vec::new();
    loop {
        while parser.sign(';') {}
        if *parser.peek() == Token::End {
            return Ok(tables);
        }
        tables.push(parser.table()?);
        if *parser.peek() != Token::End && !parser.sign(';') {
            return Err(parser.expected("';' or the end of the text behind the table"));
        }
    }
}

struct Parser {
    tokens: Vec<(Token, TextPosition)>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn place(&self) -> TextPosition {
        self.tokens[self.at].1
    }

    /// Takes the next token; the end stays.
    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        if token != Token::End {
            self.at += 1;
        }
        token
    }

    fn expected(&self, what: &str) -> TextError {
        self.place().error(format!("expected {what}, found {}", self.peek()))
    }

    /// Takes the sign if it is next.
    fn sign(&mut self, sign: char) -> bool {
        let is = *self.peek() == Token::Sign(sign);
        self.at += usize::from(is);
        is
    }

    fn need_sign(&mut self, sign: char) -> Result<(), TextError> {
        if self.sign(sign) { Ok(()) } else { Err(self.expected(&format!("'{sign}'"))) }
    }

    /// Takes these words if they are next.
    fn words(&mut self, words: &[&str]) -> bool {
        let are = words.iter().enumerate().all(|(i, word)| {
            matches!(self.tokens.get(self.at + i), Some((Token::Word(w), _)) if w.eq_ignore_ascii_case(word))
        });
        self.at += if are { words.len() } else { 0 };
        are
    }

    fn name(&mut self, what: &str) -> Result<String, TextError> {
        match self.peek() {
            Token::Word(_) | Token::Quoted(_) => {}
            _ => return Err(self.expected(what)),
        }
        let (Token::Word(name) | Token::Quoted(name)) = self.take() else { unreachable!("peeked at a name") };
        Ok(name)
    }

    fn table(&mut self) -> Result<Table, TextError> {
        if !self.words(&["CREATE"]) {
            return Err(self.expected("CREATE TABLE"));
        }
        self.words(&["OR", "REPLACE"]);
        let _ = self.words(&["TEMPORARY"]) || self.words(&["TEMP"]);
        if !self.words(&["TABLE"]) {
            return Err(self.expected("TABLE"));
        }
        self.words(&["IF", "NOT", "EXISTS"]);
        let mut name = self.name("the table's name")?;
        while self.sign('.') {
            name = self.name("the table's name")?;
        }
        self.need_sign('(')?;
        let (mut fields, mut unsaid): (Vec<Field>, _) = (Vec::new(), Vec::new());
        loop {
            let place = self.place();
            let column = self.name("a column's name")?;
            if fields.iter().any(|f| f.name().eq_ignore_ascii_case(&column)) {
                return Err(place.error(format!("there are two columns called '{column}'")));
            }
            let data_type = self.data_type(0)?;
            let said = self.nullable();
            unsaid.extend(said.is_none().then_some(fields.len()));
            fields.push(Field::new(column, data_type, said.unwrap_or(true)));
            if !self.sign(',') {
                break;
            }
        }
        if !self.sign(')') {
            return Err(self.expected("',' or ')' behind the column"));
        }
        Ok(Table { name, schema: Schema::new(fields), unsaid })
    }

    /// Whether a column may be NULL, if that is said.
    fn nullable(&mut self) -> Option<bool> {
        let mut nullable = None;
        loop {
            if self.words(&["NOT", "NULL"]) || self.words(&["PRIMARY", "KEY"]) {
                nullable = Some(false);
            } else if self.words(&["NULL"]) {
                nullable = nullable.or(Some(true));
            } else if !self.words(&["UNIQUE"]) {
                return nullable;
            }
        }
    }

    fn data_type(&mut self, depth: usize) -> Result<DataType, TextError> {
        let place = self.place();
        if depth > DEEPEST {
            return Err(place.error(format!("types are nested more than {DEEPEST} deep")));
        }
        let Token::Word(word) = self.peek().clone() else { return Err(self.expected("a type")) };
        self.take();
        let mut data_type = self.named_type(&word.to_ascii_uppercase(), place, depth)?;
        let mut depth = depth;
        while self.sign('[') {
            depth += 1;
            if depth > DEEPEST {
                return Err(place.error(format!("types are nested more than {DEEPEST} deep")));
            }
            let item = Arc::new(Field::new_list_field(data_type, true));
            data_type = match self.peek() {
                Token::Number(_) => DataType::FixedSizeList(item, self.number(1, i32::MAX as i64)? as i32),
                _ => DataType::List(item),
            };
            self.need_sign(']')?;
        }
        Ok(data_type)
    }

    fn named_type(&mut self, name: &str, place: TextPosition, depth: usize) -> Result<DataType, TextError> {
        use DataType as T;
        Ok(match name {
            "NULL" => T::Null,
            "BOOLEAN" | "BOOL" => T::Boolean,
            "TINYINT" | "INT1" => self.signed_or(T::Int8, T::UInt8),
            "SMALLINT" | "INT2" => self.signed_or(T::Int16, T::UInt16),
            "INT" | "INTEGER" | "INT4" => self.signed_or(T::Int32, T::UInt32),
            "BIGINT" | "INT8" | "LONG" => self.signed_or(T::Int64, T::UInt64),
            "UTINYINT" => T::UInt8,
            "USMALLINT" => T::UInt16,
            "UINTEGER" => T::UInt32,
            "UBIGINT" => T::UInt64,
            "HALF" | "FLOAT16" => T::Float16,
            "REAL" | "FLOAT4" => T::Float32,
            "FLOAT" => match self.argument(1, 53)? {
                Some(25..) => T::Float64,
                _ => T::Float32,
            },
            "DOUBLE" | "FLOAT8" => {
                self.words(&["PRECISION"]);
                T::Float64
            }
            "DECIMAL" | "NUMERIC" | "DEC" => match self.precision(76, 38, 10)? {
                (p, s) if p > 38 => T::Decimal256(p, s),
                (p, s) => T::Decimal128(p, s),
            },
            "DECIMAL32" => self.precision(9, 9, 0).map(|(p, s)| T::Decimal32(p, s))?,
            "DECIMAL64" => self.precision(18, 18, 0).map(|(p, s)| T::Decimal64(p, s))?,
            "DECIMAL256" => self.precision(76, 76, 0).map(|(p, s)| T::Decimal256(p, s))?,
            "VARCHAR" | "TEXT" | "STRING" | "CHAR" | "CHARACTER" | "BPCHAR" => {
                self.words(&["VARYING"]);
                self.argument(1, i64::MAX)?;
                T::Utf8View
            }
            "BLOB" | "BYTEA" | "VARBINARY" => {
                self.argument(1, i64::MAX)?;
                T::BinaryView
            }
            "BINARY" => match self.argument(0, i32::MAX as i64)? {
                Some(n) => T::FixedSizeBinary(n as i32),
                None => T::BinaryView,
            },
            "DATE" => T::Date32,
            "DATE64" => T::Date64,
            "TIME" => match self.unit()? {
                unit @ (TimeUnit::Second | TimeUnit::Millisecond) => T::Time32(unit),
                unit => T::Time64(unit),
            },
            "DURATION" => T::Duration(self.unit()?),
            "TIMESTAMP" | "DATETIME" => {
                let unit = self.unit()?;
                let _ = self.words(&["WITHOUT", "TIME", "ZONE"]);
                let zone = if self.words(&["WITH", "TIME", "ZONE"]) { Some(self.zone()) } else { None };
                T::Timestamp(unit, zone.map(Into::into))
            }
            "TIMESTAMPTZ" => T::Timestamp(self.unit()?, Some(self.zone().into())),
            "INTERVAL" if self.words(&["YEAR", "TO", "MONTH"]) => T::Interval(IntervalUnit::YearMonth),
            "INTERVAL" if self.words(&["DAY", "TO", "SECOND"]) => T::Interval(IntervalUnit::DayTime),
            "INTERVAL" => T::Interval(IntervalUnit::MonthDayNano),
            "STRUCT" => {
                self.need_sign('(')?;
                let mut fields = Vec::new();
                loop {
                    let name = self.name("a member's name")?;
                    fields.push(Field::new(name, self.data_type(depth + 1)?, true));
                    if !self.sign(',') {
                        break;
                    }
                }
                self.need_sign(')')?;
                T::Struct(fields.into())
            }
            "MAP" => {
                self.need_sign('(')?;
                let key = Field::new("key", self.data_type(depth + 1)?, false);
                self.need_sign(',')?;
                let value = Field::new("value", self.data_type(depth + 1)?, true);
                self.need_sign(')')?;
                let entries = Field::new("entries", T::Struct(vec![key, value].into()), false);
                T::Map(Arc::new(entries), false)
            }
            _ => return Err(place.error(format!("there is no type '{name}'"))),
        })
    }

    fn signed_or(&mut self, signed: DataType, unsigned: DataType) -> DataType {
        if self.words(&["UNSIGNED"]) { unsigned } else { signed }
    }

    fn zone(&mut self) -> String {
        match self.peek().clone() {
            Token::Text(zone) => {
                self.take();
                zone
            }
            _ => "UTC".into(),
        }
    }

    /// A whole number between two bounds.
    fn number(&mut self, least: i64, most: i64) -> Result<i64, TextError> {
        let place = self.place();
        let minus = self.sign('-');
        let Token::Number(digits) = self.peek().clone() else { return Err(self.expected("a number")) };
        self.take();
        let number = digits.parse::<i64>().ok().map(|n| if minus { -n } else { n });
        number
            .filter(|n| (least..=most).contains(n))
            .ok_or_else(|| place.error(format!("expected a number from {least} to {most}, found {digits}")))
    }

    /// `(n)` behind a type's name.
    fn argument(&mut self, least: i64, most: i64) -> Result<Option<i64>, TextError> {
        if !self.sign('(') {
            return Ok(None);
        }
        let number = self.number(least, most)?;
        self.need_sign(')')?;
        Ok(Some(number))
    }

    fn unit(&mut self) -> Result<TimeUnit, TextError> {
        let place = self.place();
        match self.argument(0, 9)? {
            Some(0) => Ok(TimeUnit::Second),
            Some(3) => Ok(TimeUnit::Millisecond),
            None | Some(6) => Ok(TimeUnit::Microsecond),
            Some(9) => Ok(TimeUnit::Nanosecond),
            Some(_) => Err(place.error("fractions of a second have 0, 3, 6 or 9 digits")),
        }
    }

    /// `(precision, scale)`, `(precision)`, or what stands for nothing.
    fn precision(&mut self, most: i64, precision: u8, scale: i8) -> Result<(u8, i8), TextError> {
        if !self.sign('(') {
            return Ok((precision, scale));
        }
        let precision = self.number(1, most)?;
        let scale = if self.sign(',') { self.number(-precision, precision)? } else { 0 };
        self.need_sign(')')?;
        Ok((precision as u8, scale as i8))
    }
}

#[cfg(test)]
mod tests;
