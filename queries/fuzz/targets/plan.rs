//! Text to plan.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use queries::explain::explain;
use queries::parse::{Query, select_all, tables};
use queries::{Catalog, Settings, View, Views};
use schema::{Source, Table};

/// The longest statement that is tried: some of what the planner does takes a time that grows with the square of it.
const LONGEST: usize = 8 << 10;

/// The most parentheses and CASEs that are open at once. Where a syntax error stands in them, the parser tries other readings
/// of each one around it, a time that doubles with each: 28 take minutes, and the binary ends them at its limit of time.
/// Deeper statements are those of `tests/limits.rs`.
const DEEPEST: usize = 16;

/// The name of a view.
const VIEW: &str = "a view";

/// Plans a statement twice, and as a view.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
    if depth(&text) > DEEPEST {
        return;
    }
    let Ok(statement) = queries::parse(&text) else { return };
    let Some(query) = statement.query() else { return };
    let first = planned(&query);
    assert_eq!(first, planned(&query), "the plan is another one the second time");
    // A view of it is planned, or refused.
    let view = View { name: VIEW.into(), columns: Vec::new(), query, text: None };
    let mut views = Views::default();
    if views.insert(view).is_ok()
        && let Ok(all) = select_all(VIEW)
        && let Ok(expanded) = views.expand(&all)
    {
        let _ = planned(&expanded);
    }
}

/// How many parentheses and CASEs are open at once at most, wherever they stand.
fn depth(text: &str) -> usize {
    let mut open = 0_usize;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' => open += 1,
            b')' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest + text.to_ascii_lowercase().matches("case").count()
}

/// The plan of a query as text, or the error.
fn planned(query: &Query) -> Result<Vec<String>, String> {
    let mut catalog = Catalog::default();
    for name in tables(query) {
        catalog.add(table(name));
    }
    let settings = Settings { workers: 3, allow_scripts: true, ..Settings::default() };
    let plan = queries::plan(query, &catalog, &settings).map_err(|e| e.to_string())?;
    Ok(explain(&plan).into_iter().map(|line| line.to_string()).collect())
}

/// A table with a column of each type. None is read.
fn table(name: String) -> Table {
    let nested = |data_type| Arc::new(Field::new("item", data_type, true));
    let pair = vec![Field::new("key", DataType::Utf8View, false), Field::new("value", DataType::Int64, true)];
    let pair = DataType::Struct(pair.into());
    let columns = [
        ("a", DataType::Int64),
        ("b", DataType::Utf8View),
        ("i", DataType::Int32),
        ("k", DataType::UInt64),
        ("s", DataType::Utf8View),
        ("x", DataType::Float64),
        ("f", DataType::Float32),
        ("d", DataType::Decimal128(10, 2)),
        ("t", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("z", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))),
        ("day", DataType::Date32),
        ("flag", DataType::Boolean),
        ("bytes", DataType::BinaryView),
        ("list", DataType::List(nested(DataType::Int64))),
        ("st", pair.clone()),
        ("m", DataType::Map(Arc::new(Field::new("entries", pair, false)), false)),
    ];
    let fields: Vec<Field> = columns.map(|(name, data_type)| Field::new(name, data_type, true)).into();
    let source = Source::Range { start: 0, end: 1000, step: 1 };
    let (schema, guesses) = (Arc::new(Schema::new(fields)), schema::TableEstimates::default());
    Table { name, schema, source, rows: Some(1000), spans: vec![], guesses }
}
