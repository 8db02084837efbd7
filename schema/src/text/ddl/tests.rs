use super::*;
use crate::text::types::flat_types;

fn types(columns: &str) -> Vec<DataType> {
    let mut tables = parse(&format!("CREATE TABLE t ({columns})")).unwrap();
    tables.remove(0).1.fields().iter().map(|f| f.data_type().clone()).collect()
}

fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn every_flat_type_comes_back() {
    let fields: Vec<Field> = flat_types()
        .into_iter()
        .enumerate()
        .map(|(i, data_type)| Field::new(format!("c{i}"), data_type, i % 2 == 0))
        .collect();
    let schema = Schema::new(fields);
    let text = print("t", &schema).unwrap();
    assert_eq!(parse(&text).unwrap(), [("t".to_string(), schema)], "{text}");
}

#[test]
fn names_of_any_kind_come_back() {
    let names = ["a", "sourceIP", "two words", "order", "1st", "q\"uote", "größe", "", "a.b", "new\nline"];
    let fields: Vec<Field> = names.iter().map(|n| Field::new(*n, DataType::Int8, true)).collect();
    let text = print("my table", &Schema::new(fields)).unwrap();
    let (table, schema) = parse(&text).unwrap().remove(0);
    assert_eq!(table, "my table");
    assert_eq!(schema.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(), names);
    assert!(text.contains("  sourceIP TINYINT") && text.contains("\"order\""), "{text}");
}

#[test]
fn nested_types_come_back() {
    let columns = "a INT[], b VARCHAR[3], c STRUCT(x INT, \"y z\" DOUBLE[]), d MAP(VARCHAR, BIGINT[][])";
    let schema = parse(&format!("CREATE TABLE t ({columns})")).unwrap().remove(0).1;
    assert_eq!(parse(&print("t", &schema).unwrap()).unwrap().remove(0).1, schema);
}

#[test]
fn what_other_databases_print_is_read() {
    let text = "-- a dump\nCREATE OR REPLACE TABLE IF NOT EXISTS public.\"Rankings\" (\n  pageURL character \
                varying(300) PRIMARY KEY, /* in-links */ pageRank INTEGER NOT NULL, d double precision UNIQUE,\n\
                t timestamp(3) without time zone NULL\n);\n";
    let (name, schema) = parse(text).unwrap().remove(0);
    assert_eq!(name, "Rankings");
    let columns: Vec<_> = schema.fields().iter().map(|f| (f.name().as_str(), f.is_nullable())).collect();
    assert_eq!(columns, [("pageURL", false), ("pageRank", false), ("d", true), ("t", true)]);
    assert_eq!(
        types("a FLOAT(24), b FLOAT(25), c INT UNSIGNED, d DECIMAL(5), e NUMERIC, f DECIMAL(40, -2)"),
        [
            DataType::Float32,
            DataType::Float64,
            DataType::UInt32,
            DataType::Decimal128(5, 0),
            DataType::Decimal128(38, 10),
            DataType::Decimal256(40, -2),
        ]
    );
    assert_eq!(
        types("a TIMESTAMPTZ, b TIMESTAMP(9) WITH TIME ZONE 'Europe/Berlin', c TIME(0)"),
        [
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            DataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Berlin".into())),
            DataType::Time32(TimeUnit::Second),
        ]
    );
}

#[test]
fn errors_tell_the_place() {
    assert_eq!(error("CREATE TABLE t (a INT,\n  b INTT)"), "line 2, column 5: there is no type 'INTT'");
    assert_eq!(
        error("CREATE TABLE t (a INT"),
        "line 1, column 22: expected ',' or ')' behind the column, found the end of the text"
    );
    assert_eq!(error("CREATE TABLE t (a INT, A INT)"), "line 1, column 24: there are two columns called 'A'");
    assert_eq!(error("SELECT 1"), "line 1, column 1: expected CREATE TABLE, found 'SELECT'");
    assert_eq!(error("CREATE TABLE t ()"), "line 1, column 17: expected a column's name, found ')'");
    assert_eq!(
        error("CREATE TABLE t (a DECIMAL(77, 1))"),
        "line 1, column 27: expected a number from 1 to 76, found 77"
    );
    assert!(error("CREATE TABLE t (a TIME(4))").contains("0, 3, 6 or 9 digits"));
    assert!(error("CREATE TABLE \"t (a INT)").contains("line 1, column 14: the quote"));
    assert!(error("/* CREATE").contains("comment"));
    assert!(error("CREATE TABLE t (a INT) x").contains("behind the table"));
    assert!(error("CREATE TABLE t (a INT DEFAULT 5)").contains("found 'DEFAULT'"));
}

#[test]
fn nesting_has_a_bound() {
    let deep = format!("CREATE TABLE t (a {}INT{})", "STRUCT(x ".repeat(100_000), ")".repeat(100_000));
    assert!(error(&deep).contains("nested more than"));
    assert!(error(&format!("CREATE TABLE t (a INT{})", "[]".repeat(100_000))).contains("nested more than"));
}
