//! Values as people read them: a text for each cell of tables and markdown, and for nested values everywhere.
//!
//! Flat values have the form of csv and JSON lines. Nested ones are `[1, 2]`, `{a: 1}` and `{'key' => 1}`, with strings
//! in them in single quotes.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use formats::rows::cells::Cells;
use schema::zones::Clocks;

use super::escape::{escaped, is_unseen, push_escaped};

/// A column of a batch, ready to be read as text.
pub struct Column {
    nulls: Option<NullBuffer>,
    values: Values,
}

enum Values {
    /// All NULL.
    Null,
    Text(Cells),
    Flat(Cells),
    /// The elements, and for each row its first element and the number of them.
    List(Box<Column>, Vec<(usize, usize)>),
    Struct(Vec<(String, Column)>),
    Map(Box<(Column, Column)>, Vec<(usize, usize)>),
}

impl Column {
    /// Prepares a column. Types that have no text of their own (unions) are an error.
    pub fn new(array: &ArrayRef) -> Result<Column, formats::Error> {
        let nulls = array.logical_nulls();
        let values = match array.data_type() {
            DataType::Null => Values::Null,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Values::Text(Cells::new(array)?),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let ranges = list.value_offsets().windows(2).map(|o| (o[0] as usize, (o[1] - o[0]) as usize));
                Values::List(Box::new(Column::new(list.values())?), ranges.collect())
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                let ranges = list.value_offsets().windows(2).map(|o| (o[0] as usize, (o[1] - o[0]) as usize));
                Values::List(Box::new(Column::new(list.values())?), ranges.collect())
            }
            DataType::FixedSizeList(_, n) => {
                let list = array.as_fixed_size_list();
                let n = *n as usize;
                Values::List(
                    Box::new(Column::new(list.values())?),
                    (0..list.len()).map(|i| (i * n, n)).collect(),
                )
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct().columns().iter().map(Column::new);
                let columns = fields.iter().zip(columns).map(|(f, column)| Ok((f.name().clone(), column?)));
                Values::Struct(columns.collect::<Result<_, formats::Error>>()?)
            }
            DataType::Map(_, _) => {
                let map = array.as_map();
                let ranges = map.value_offsets().windows(2).map(|o| (o[0] as usize, (o[1] - o[0]) as usize));
                let entries = (Column::new(map.keys())?, Column::new(map.values())?);
                Values::Map(Box::new(entries), ranges.collect())
            }
            DataType::Dictionary(_, values) => return Column::new(&cast(array, values)?),
            DataType::RunEndEncoded(_, values) => return Column::new(&cast(array, values.data_type())?),
            _ => Values::Flat(Cells::new(array)?),
        };
        Ok(Column { nulls, values })
    }

    /// The columns of a batch, whose instants are printed as the clocks of a zone show them.
    pub fn all(batch: &RecordBatch, clocks: Option<Clocks>) -> Result<Vec<Column>, formats::Error> {
        batch.columns().iter().map(|column| Ok(Column::new(column)?.in_zone(clocks))).collect()
    }

    /// The same; instants are printed as the clocks of a zone show them.
    pub fn in_zone(self, clocks: Option<Clocks>) -> Column {
        let values = match self.values {
            Values::Flat(cells) => Values::Flat(cells.in_zone(clocks)),
            Values::List(items, ranges) => Values::List(Box::new(items.in_zone(clocks)), ranges),
            Values::Struct(fields) => Values::Struct(
                fields.into_iter().map(|(name, field)| (name, field.in_zone(clocks))).collect(),
            ),
            Values::Map(entries, ranges) => {
                let (keys, values) = *entries;
                Values::Map(Box::new((keys.in_zone(clocks), values.in_zone(clocks))), ranges)
            }
            other => other,
        };
        Column { values, ..self }
    }

    /// Whether the value of a row is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        matches!(self.values, Values::Null) || self.nulls.as_ref().is_some_and(|n| n.is_null(row))
    }

    /// Appends the value of a row as a cell has it. NULL becomes `NULL`. A string stays as it is, unless it could be
    /// taken for something else (see [`quote`]).
    pub fn cell(&self, row: usize, out: &mut String) {
        match &self.values {
            Values::Text(cells) if !self.is_null(row) => {
                let text = printed(cells, row);
                match quote(&text) {
                    Some(quoted) => out.push_str(&quoted),
                    None => out.push_str(&text),
                }
            }
            _ => self.literal(row, out),
        }
    }

    /// Appends the value of a row as a nested value has it: strings in quotes.
    fn literal(&self, row: usize, out: &mut String) {
        if self.is_null(row) {
            out.push_str("NULL");
            return;
        }
        let elements = |column: &Column, (first, count): (usize, usize), out: &mut String| {
            for i in 0..count {
                out.push_str(if i == 0 { "" } else { ", " });
                column.literal(first + i, out);
            }
        };
        match &self.values {
            Values::Null => {}
            Values::Text(cells) => out.push_str(&quoted(&printed(cells, row))),
            Values::Flat(cells) => out.push_str(&printed(cells, row)),
            Values::List(column, ranges) => {
                out.push('[');
                elements(column, ranges[row], out);
                out.push(']');
            }
            Values::Struct(columns) => {
                out.push('{');
                for (i, (name, column)) in columns.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    out.push_str(&escaped(&schema::text::types::quoted(name), |_| false));
                    out.push_str(": ");
                    column.literal(row, out);
                }
                out.push('}');
            }
            Values::Map(entries, ranges) => {
                let (first, count) = ranges[row];
                out.push('{');
                for i in first..first + count {
                    out.push_str(if i == first { "" } else { ", " });
                    entries.0.literal(i, out);
                    out.push_str(" => ");
                    entries.1.literal(i, out);
                }
                out.push('}');
            }
        }
    }
}

fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, formats::Error> {
    arrow_cast::cast(array, to).map_err(|e| formats::Error::Unsupported(e.to_string()))
}

fn printed(cells: &Cells, row: usize) -> String {
    let mut bytes = Vec::new();
    cells.print(row, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How a cell shows a string, if not as it is. The string `NULL`, strings that seem to be in quotes and strings with
/// invisible characters are written like literals of SQL. So every cell is read in one way.
pub fn quote(text: &str) -> Option<String> {
    let like_literal = text.ends_with('\'') && (text.starts_with('\'') || text.starts_with("E'"));
    (text == "NULL" || like_literal || text.contains(is_unseen)).then(|| quoted(text))
}

/// A string as a SQL literal: `'it''s'`, or `E'a\nb'` where it has invisible characters.
fn quoted(text: &str) -> String {
    let is_escaped = text.contains(is_unseen);
    let mut out = String::from(if is_escaped { "E'" } else { "'" });
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' if is_escaped => out.push_str("\\\\"),
            c if is_unseen(c) => push_escaped(c, &mut out),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Whether values of a type are set at the right.
pub fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || matches!(data_type, DataType::Dictionary(_, v) if v.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
    use arrow_array::*;
    use arrow_schema::{Field, TimeUnit};

    fn cells(array: impl Array + 'static) -> Vec<String> {
        let array: ArrayRef = Arc::new(array);
        let column = Column::new(&array).unwrap();
        (0..array.len())
            .map(|row| {
                let mut out = String::new();
                column.cell(row, &mut out);
                out
            })
            .collect()
    }

    #[test]
    fn strings_are_read_in_one_way_only() {
        let expected = [
            ("", ""),
            (" x ", " x "),
            ("NULL", "'NULL'"),
            ("null", "null"),
            ("'q'", "'''q'''"),
            ("it's", "it's"),
            ("E'x'", "'E''x'''"),
            ("a\nb\\", "E'a\\nb\\\\'"),
            ("\u{1b}[31m", "E'\\u001b[31m'"),
            ("\u{202e}x", "E'\\u202ex'"),
            ("C:\\x", "C:\\x"),
            ("größe", "größe"),
        ];
        let array = StringArray::from_iter_values(expected.iter().map(|(string, _)| *string));
        assert_eq!(cells(array), expected.map(|(_, shown)| shown));
        assert_eq!(cells(StringArray::from(vec![None::<&str>])), ["NULL"]);
    }

    #[test]
    fn flat_values() {
        assert_eq!(
            cells(Float64Array::from(vec![0.1, 1.0, -0.0, 1e300, 5e-324, f64::NAN, f64::INFINITY])),
            ["0.1", "1.0", "-0.0", "1e+300", "5e-324", "NaN", "Infinity"]
        );
        assert_eq!(cells(Float32Array::from(vec![0.1, 16777216.0])), ["0.1", "16777216.0"]);
        assert_eq!(cells(BooleanArray::from(vec![Some(true), Some(false), None])), ["true", "false", "NULL"]);
        assert_eq!(cells(Date32Array::from(vec![0, -1, 11_016])), ["1970-01-01", "1969-12-31", "2000-02-29"]);
        assert_eq!(
            cells(TimestampMicrosecondArray::from(vec![1, i64::MIN])),
            ["1970-01-01T00:00:00.000001", "-290308-12-21T19:59:05.224192"]
        );
        let decimals = Decimal128Array::from(vec![1250, -1]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(cells(decimals), ["12.50", "-0.01"]);
        assert_eq!(cells(BinaryArray::from(vec![&b"\x00hi\xff"[..], b""])), ["\\x006869ff", "\\x"]);
        assert_eq!(cells(NullArray::new(2)), ["NULL", "NULL"]);
        assert_eq!(cells(Time32SecondArray::from(vec![3_661])), ["01:01:01"]);
        assert!(
            is_number(&DataType::Decimal128(3, 1))
                && !is_number(&DataType::Timestamp(TimeUnit::Second, None))
        );
    }

    #[test]
    fn nested_values() {
        let mut list = ListBuilder::new(StringBuilder::new());
        list.append_value([Some("a"), None, Some("NULL"), Some("it's")]);
        list.append_null();
        list.append_value([None::<&str>; 0]);
        let list = list.finish();
        assert_eq!(cells(list.clone()), ["['a', NULL, 'NULL', 'it''s']", "NULL", "[]"]);
        assert_eq!(cells(list.slice(1, 2)), ["NULL", "[]"]);
        let field = |name: &str, data_type| Arc::new(Field::new(name, data_type, true));
        let structs = StructArray::from(vec![
            (field("a", DataType::Int32), Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef),
            (field("b c", DataType::Utf8), Arc::new(StringArray::from(vec!["x", "y"]))),
        ]);
        assert_eq!(cells(structs), ["{a: 1, \"b c\": 'x'}", "{a: NULL, \"b c\": 'y'}"]);
        let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        map.keys().append_value("k");
        map.values().append_value(5);
        map.append(true).unwrap();
        assert_eq!(cells(map.finish()), ["{'k' => 5}"]);
        let numbers = Int32Array::from(vec![1, 2, 3, 4]);
        let pairs = FixedSizeListArray::new(field("item", DataType::Int32), 2, Arc::new(numbers), None);
        assert_eq!(cells(pairs.slice(1, 1)), ["[3, 4]"]);
        let words: DictionaryArray<types::Int32Type> = vec![Some("x"), None, Some("x")].into_iter().collect();
        assert_eq!(cells(words), ["x", "NULL", "x"]);
    }
}
