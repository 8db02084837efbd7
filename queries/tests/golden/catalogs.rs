//! Tables with the row counts and spans that footers of their files would tell. Changing a number changes plans.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use queries::Catalog;
use schema::{DeferredValidation, FileEntry, FileSet, FormatOptions, Source, Table};

/// A column, and from which value to which it goes: decimals by their digits, dates by their days since 1970.
struct Column(&'static str, DataType, Option<(f64, f64)>);

fn key(name: &'static str, from: i32, to: i32) -> Column {
    Column(name, DataType::Int64, Some((from.into(), to.into())))
}

fn number(name: &'static str, from: i32, to: i32) -> Column {
    Column(name, DataType::Int32, Some((from.into(), to.into())))
}

fn money(name: &'static str, from: i32, to: i32) -> Column {
    Column(name, DataType::Decimal128(15, 2), Some((from.into(), to.into())))
}

fn date(name: &'static str, from: i32, to: i32) -> Column {
    Column(name, DataType::Date32, Some((from.into(), to.into())))
}

fn text(name: &'static str) -> Column {
    Column(name, DataType::Utf8View, None)
}

/// A table in one file.
fn table(name: &str, encoding: &str, bytes: u64, rows: Option<u64>, columns: Vec<Column>) -> Table {
    let spans = columns.iter().map(|column| column.2).collect();
    let fields: Vec<Field> = columns.into_iter().map(|c| Field::new(c.0, c.1, true)).collect();
    let mut file = FileEntry::new(format!("/data/{name}.{encoding}"), bytes, 0);
    file.rows = rows;
    let set = FileSet {
        files: vec![file],
        format: FormatOptions { encoding: encoding.into(), ..FormatOptions::default() },
        file_columns: fields.len(),
        layouts: vec![],
        unseen: DeferredValidation::Nothing,
    };
    let schema = Arc::new(Schema::new(fields));
    Table { name: name.into(), schema, source: Source::Files(set), rows, spans }
}

fn parquet(name: &str, bytes: u64, rows: u64, columns: Vec<Column>) -> Table {
    table(name, "parquet", bytes, Some(rows), columns)
}

fn catalog(tables: Vec<Table>) -> Catalog {
    let mut catalog = Catalog::default();
    tables.into_iter().for_each(|table| catalog.add(table));
    catalog
}

/// TPC-H at scale 1.
pub fn tpch() -> Catalog {
    catalog(vec![
        parquet("region", 1_071, 5, vec![number("r_regionkey", 0, 4), text("r_name"), text("r_comment")]),
        parquet(
            "nation",
            2_311,
            25,
            vec![
                number("n_nationkey", 0, 24),
                text("n_name"),
                number("n_regionkey", 0, 4),
                text("n_comment"),
            ],
        ),
        parquet(
            "supplier",
            793_644,
            10_000,
            vec![
                key("s_suppkey", 1, 10_000),
                text("s_name"),
                text("s_address"),
                number("s_nationkey", 0, 24),
                text("s_phone"),
                money("s_acctbal", -99_822, 999_972),
                text("s_comment"),
            ],
        ),
        parquet(
            "customer",
            12_388_477,
            150_000,
            vec![
                key("c_custkey", 1, 150_000),
                text("c_name"),
                text("c_address"),
                number("c_nationkey", 0, 24),
                text("c_phone"),
                money("c_acctbal", -99_999, 999_999),
                text("c_mktsegment"),
                text("c_comment"),
            ],
        ),
        parquet(
            "part",
            6_363_519,
            200_000,
            vec![
                key("p_partkey", 1, 200_000),
                text("p_name"),
                text("p_mfgr"),
                text("p_brand"),
                text("p_type"),
                number("p_size", 1, 50),
                text("p_container"),
                money("p_retailprice", 90_100, 209_899),
                text("p_comment"),
            ],
        ),
        parquet(
            "partsupp",
            42_643_732,
            800_000,
            vec![
                key("ps_partkey", 1, 200_000),
                key("ps_suppkey", 1, 10_000),
                key("ps_availqty", 1, 9_999),
                money("ps_supplycost", 100, 100_000),
                text("ps_comment"),
            ],
        ),
        parquet(
            "orders",
            56_375_002,
            1_500_000,
            vec![
                key("o_orderkey", 1, 6_000_000),
                key("o_custkey", 1, 149_999),
                text("o_orderstatus"),
                money("o_totalprice", 85_771, 55_528_516),
                date("o_orderdate", 8_035, 10_440),
                text("o_orderpriority"),
                text("o_clerk"),
                number("o_shippriority", 0, 0),
                text("o_comment"),
            ],
        ),
        parquet(
            "lineitem",
            207_130_015,
            6_001_215,
            vec![
                key("l_orderkey", 1, 6_000_000),
                key("l_partkey", 1, 200_000),
                key("l_suppkey", 1, 10_000),
                key("l_linenumber", 1, 7),
                money("l_quantity", 100, 5_000),
                money("l_extendedprice", 90_100, 10_494_950),
                money("l_discount", 0, 10),
                money("l_tax", 0, 8),
                text("l_returnflag"),
                text("l_linestatus"),
                date("l_shipdate", 8_036, 10_561),
                date("l_commitdate", 8_065, 10_530),
                date("l_receiptdate", 8_038, 10_591),
                text("l_shipinstruct"),
                text("l_shipmode"),
                text("l_comment"),
            ],
        ),
    ])
}

/// The tables of the benchmark with five nodes. Of the documents, which are lines of text, the number is not known.
pub fn bdb() -> Catalog {
    catalog(vec![
        parquet(
            "rankings",
            2_500_000_000,
            90_000_000,
            vec![text("pageURL"), number("pageRank", 1, 2_000_000), number("avgDuration", 1, 99)],
        ),
        parquet(
            "uservisits",
            60_000_000_000,
            775_000_000,
            vec![
                text("sourceIP"),
                text("destURL"),
                date("visitDate", 0, 15_460),
                Column("adRevenue", DataType::Float32, Some((0.0, 1.0))),
                text("userAgent"),
                text("countryCode"),
                text("languageCode"),
                text("searchWord"),
                number("duration", 1, 10),
            ],
        ),
        table("documents", "text", 136_900_000_000, None, vec![text("line")]),
    ])
}
