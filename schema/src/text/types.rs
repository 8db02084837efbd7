//! The names of types in SQL.
//!
//! | SQL | Arrow |
//! |---|---|
//! | `BOOLEAN` (`BOOL`) | Boolean |
//! | `TINYINT`, `SMALLINT`, `INT` (`INTEGER`), `BIGINT` | Int8 … Int64 |
//! | `UTINYINT`, `USMALLINT`, `UINTEGER`, `UBIGINT` (or `… UNSIGNED`) | UInt8 … UInt64 |
//! | `HALF`, `FLOAT` (`REAL`), `DOUBLE` (`DOUBLE PRECISION`) | Float16, Float32, Float64 |
//! | `DECIMAL(p, s)` (`NUMERIC`) | Decimal128 to 38 digits, Decimal256 beyond |
//! | `DECIMAL32(p, s)`, `DECIMAL64(p, s)`, `DECIMAL256(p, s)` | the decimal of that width |
//! | `VARCHAR` (`TEXT`, `STRING`, `CHAR`), a length is read and not enforced | Utf8View |
//! | `BLOB` (`BYTEA`, `VARBINARY`, `BINARY`), `BINARY(n)` | BinaryView, FixedSizeBinary |
//! | `DATE`, `DATE64` | Date32, Date64 |
//! | `TIME(d)`, `TIMESTAMP(d)`, `DURATION(d)`; d = 0, 3, 6, 9 digits of a second, 6 if not given | Time32 or Time64, Timestamp, Duration |
//! | `TIMESTAMP(d) WITH TIME ZONE 'zone'` (`TIMESTAMPTZ`), UTC if not given | Timestamp with a zone |
//! | `INTERVAL YEAR TO MONTH`, `INTERVAL DAY TO SECOND`, `INTERVAL` | the interval of months, of days and milliseconds, of months, days and nanoseconds |
//! | `T[]`, `T[n]`, `STRUCT(name T, …)`, `MAP(K, V)` | List, FixedSizeList, Struct, Map |

use arrow_schema::{DataType, Fields, IntervalUnit, TimeUnit};

/// How deep types may be nested in one another where they come from text or from values.
pub const DEEPEST: usize = 32;

/// The name of a type in SQL, or `None` where it has none (unions). Text has one name whatever its layout, dictionary
/// and run-end encoded columns the name of their values' type.
pub fn sql_name(data_type: &DataType) -> Option<String> {
    use DataType as T;
    let name = match data_type {
        T::Null => "NULL",
        T::Boolean => "BOOLEAN",
        T::Int8 => "TINYINT",
        T::Int16 => "SMALLINT",
        T::Int32 => "INT",
        T::Int64 => "BIGINT",
        T::UInt8 => "UTINYINT",
        T::UInt16 => "USMALLINT",
        T::UInt32 => "UINTEGER",
        T::UInt64 => "UBIGINT",
        T::Float16 => "HALF",
        T::Float32 => "FLOAT",
        T::Float64 => "DOUBLE",
        T::Utf8 | T::LargeUtf8 | T::Utf8View => "VARCHAR",
        T::Binary | T::LargeBinary | T::BinaryView => "BLOB",
        T::Date32 => "DATE",
        T::Date64 => "DATE64",
        T::Interval(IntervalUnit::YearMonth) => "INTERVAL YEAR TO MONTH",
        T::Interval(IntervalUnit::DayTime) => "INTERVAL DAY TO SECOND",
        T::Interval(IntervalUnit::MonthDayNano) => "INTERVAL",
        T::FixedSizeBinary(n) => return Some(format!("BINARY({n})")),
        T::Decimal32(p, s) => return Some(format!("DECIMAL32({p}, {s})")),
        T::Decimal64(p, s) => return Some(format!("DECIMAL64({p}, {s})")),
        T::Decimal128(p, s) => return Some(format!("DECIMAL({p}, {s})")),
        T::Decimal256(p, s) if *p > 38 => return Some(format!("DECIMAL({p}, {s})")),
        T::Decimal256(p, s) => return Some(format!("DECIMAL256({p}, {s})")),
        T::Time32(unit) | T::Time64(unit) => return Some(with_digits("TIME", *unit)),
        T::Duration(unit) => return Some(with_digits("DURATION", *unit)),
        T::Timestamp(unit, None) => return Some(with_digits("TIMESTAMP", *unit)),
        T::Timestamp(unit, Some(zone)) => {
            let name = with_digits("TIMESTAMP", *unit) + " WITH TIME ZONE";
            return Some(if &**zone == "UTC" {
                name
            } else {
                format!("{name} '{}'", zone.replace('\'', "''"))
            });
        }
        T::List(item) | T::LargeList(item) | T::ListView(item) | T::LargeListView(item) => {
            return Some(sql_name(item.data_type())? + "[]");
        }
        T::FixedSizeList(item, n) => return Some(format!("{}[{n}]", sql_name(item.data_type())?)),
        T::Struct(fields) => return Some(format!("STRUCT({})", members(fields)?)),
        T::Map(entries, _) => {
            let T::Struct(fields) = entries.data_type() else { return None };
            let [key, value] = fields.as_ref() else { return None };
            return Some(format!("MAP({}, {})", sql_name(key.data_type())?, sql_name(value.data_type())?));
        }
        T::Dictionary(_, values) => return sql_name(values),
        T::RunEndEncoded(_, values) => return sql_name(values.data_type()),
        T::Union(_, _) => return None,
    };
    Some(name.to_string())
}

fn with_digits(name: &str, unit: TimeUnit) -> String {
    match unit {
        TimeUnit::Second => format!("{name}(0)"),
        TimeUnit::Millisecond => format!("{name}(3)"),
        TimeUnit::Microsecond => name.to_string(),
        TimeUnit::Nanosecond => format!("{name}(9)"),
    }
}

fn members(fields: &Fields) -> Option<String> {
    let members: Option<Vec<String>> =
        fields.iter().map(|f| Some(format!("{} {}", quoted(f.name()), sql_name(f.data_type())?))).collect();
    Some(members?.join(", "))
}

/// A name as SQL writes it: in double quotes where it is not a plain word.
pub fn quoted(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !RESERVED.iter().any(|word| word.eq_ignore_ascii_case(name));
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Words that SQL reads as something else where a column's name stands.
const RESERVED: &[&str] = &[
    "ALL",
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "CHECK",
    "CONSTRAINT",
    "CREATE",
    "CROSS",
    "DESC",
    "DISTINCT",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "FALSE",
    "FOREIGN",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "IN",
    "INNER",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "PRIMARY",
    "RIGHT",
    "SELECT",
    "TABLE",
    "THEN",
    "TRUE",
    "UNION",
    "UNIQUE",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
];

/// Every type that is neither nested nor another layout of one that is here.
#[cfg(test)]
pub fn flat_types() -> Vec<DataType> {
    use DataType as T;
    let mut types = vec![T::Null, T::Boolean, T::Int8, T::Int16, T::Int32, T::Int64];
    types.extend([T::UInt8, T::UInt16, T::UInt32, T::UInt64, T::Float16, T::Float32, T::Float64]);
    types.extend([T::Utf8View, T::BinaryView, T::FixedSizeBinary(16), T::Date32, T::Date64]);
    types.extend([T::Decimal32(9, 2), T::Decimal64(18, 0), T::Decimal128(38, 10), T::Decimal128(5, -2)]);
    types.extend([T::Decimal256(76, 38), T::Decimal256(10, 2)]);
    types.extend([T::Time32(TimeUnit::Second), T::Time32(TimeUnit::Millisecond)]);
    types.extend([T::Time64(TimeUnit::Microsecond), T::Time64(TimeUnit::Nanosecond)]);
    for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
        types.extend([T::Duration(unit), T::Timestamp(unit, None)]);
        types.extend(["UTC", "+05:30", "Europe/Berlin"].map(|zone| T::Timestamp(unit, Some(zone.into()))));
    }
    types.extend(
        [IntervalUnit::YearMonth, IntervalUnit::DayTime, IntervalUnit::MonthDayNano].map(T::Interval),
    );
    types
}
