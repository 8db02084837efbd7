//! Tables with the row counts and spans that footers of their files would tell. Changing a number changes plans.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use queries::Catalog;
use schema::{DeferredValidation, FileEntry, FileSet, FormatOptions, Source, Table, TableEstimates};

/// A file's name, bytes, rows and columns. A column is a name, a type and, where the footer tells, its least and greatest
/// value: decimals by their digits, dates by their days since 1970.
type Described = (&'static str, u64, u64, &'static str);

/// TPC-H at scale 1.
const TPCH: [Described; 8] = [
    ("region", 1_071, 5, "r_regionkey integer 0 4, r_name text, r_comment text"),
    ("nation", 2_311, 25, "n_nationkey integer 0 24, n_name text, n_regionkey integer 0 4, n_comment text"),
    (
        "supplier",
        793_644,
        10_000,
        "s_suppkey bigint 1 10000, s_name text, s_address text, s_nationkey integer 0 24, s_phone text, \
         s_acctbal money -99822 999972, s_comment text",
    ),
    (
        "customer",
        12_388_477,
        150_000,
        "c_custkey bigint 1 150000, c_name text, c_address text, c_nationkey integer 0 24, c_phone text, \
         c_acctbal money -99999 999999, c_mktsegment text, c_comment text",
    ),
    (
        "part",
        6_363_519,
        200_000,
        "p_partkey bigint 1 200000, p_name text, p_mfgr text, p_brand text, p_type text, \
         p_size integer 1 50, p_container text, p_retailprice money 90100 209899, p_comment text",
    ),
    (
        "partsupp",
        42_643_732,
        800_000,
        "ps_partkey bigint 1 200000, ps_suppkey bigint 1 10000, ps_availqty bigint 1 9999, \
         ps_supplycost money 100 100000, ps_comment text",
    ),
    (
        "orders",
        56_375_002,
        1_500_000,
        "o_orderkey bigint 1 6000000, o_custkey bigint 1 149999, o_orderstatus text, \
         o_totalprice money 85771 55528516, o_orderdate date 8035 10440, o_orderpriority text, o_clerk text, \
         o_shippriority integer 0 0, o_comment text",
    ),
    (
        "lineitem",
        207_130_015,
        6_001_215,
        "l_orderkey bigint 1 6000000, l_partkey bigint 1 200000, l_suppkey bigint 1 10000, \
         l_linenumber bigint 1 7, l_quantity money 100 5000, l_extendedprice money 90100 10494950, \
         l_discount money 0 10, l_tax money 0 8, l_returnflag text, l_linestatus text, \
         l_shipdate date 8036 10561, l_commitdate date 8065 10530, l_receiptdate date 8038 10591, \
         l_shipinstruct text, l_shipmode text, l_comment text",
    ),
];

/// The tables of the benchmark with five nodes.
const BDB: [Described; 2] = [
    (
        "rankings",
        2_500_000_000,
        90_000_000,
        "pageURL text, pageRank integer 1 2000000, avgDuration integer 1 99",
    ),
    (
        "uservisits",
        60_000_000_000,
        775_000_000,
        "sourceIP text, destURL text, visitDate date 0 15460, adRevenue real 0 1, userAgent text, \
         countryCode text, languageCode text, searchWord text, duration integer 1 10",
    ),
];

pub fn tpch() -> Catalog {
    catalog(TPCH.map(parquet))
}

/// Of the documents, which are lines of text, the number is not known.
pub fn bdb() -> Catalog {
    let documents = table("documents", "text", 136_900_000_000, None, "line text");
    catalog(BDB.map(parquet).into_iter().chain([documents]))
}

fn catalog(tables: impl IntoIterator<Item = Table>) -> Catalog {
    let mut catalog = Catalog::default();
    tables.into_iter().for_each(|table| catalog.add(table));
    catalog
}

fn parquet((name, bytes, rows, columns): Described) -> Table {
    table(name, "parquet", bytes, Some(rows), columns)
}

/// A table in one file.
fn table(name: &str, encoding: &str, bytes: u64, rows: Option<u64>, columns: &str) -> Table {
    let (fields, spans): (Vec<Field>, Vec<_>) = columns.split(", ").map(column).unzip();
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
    let (source, guesses) = (Source::Files(set), TableEstimates::default());
    Table { name: name.into(), schema, source, rows, spans, guesses }
}

fn column(text: &str) -> (Field, Option<(f64, f64)>) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let data_type = match words[1] {
        "bigint" => DataType::Int64,
        "integer" => DataType::Int32,
        "money" => DataType::Decimal128(15, 2),
        "date" => DataType::Date32,
        "real" => DataType::Float32,
        "text" => DataType::Utf8View,
        other => panic!("no type: {other}"),
    };
    let value = |at: usize| words.get(at).map(|value| value.parse().expect("a number"));
    (Field::new(words[0], data_type, true), value(2).zip(value(3)))
}
