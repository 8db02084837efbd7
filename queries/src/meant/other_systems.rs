//! Functions and types of other systems that palais has not, and what to write instead.
//!
//! What is to be written is an expression over columns of these names. `text` and `part` are texts, `n` and `m`
//! integers, `x` and `y` floats. `date` and `earlier` dates, `time` is a timestamp, `condition` a condition. The tests
//! plan each.

/// Words that Oracle and others read as values, in lower case, and what gives these.
const WORDS: &[(&[&str], &str)] = &[
    (&["rownum"], "row_number() OVER (), or LIMIT for the first rows"),
    (&["sysdate", "systimestamp", "sysdatetime"], "now()"),
];

/// Names of functions, in lower case, and expressions that do what they do.
const FUNCTIONS: &[(&[&str], &[&str])] = &[
    // Text.
    (&["lengthb", "byte_length"], &["octet_length(text)"]),
    (&["toupper"], &["upper(text)"]),
    (&["tolower"], &["lower(text)"]),
    (&["charindex", "locate"], &["strpos(text, part)"]),
    (&["mid"], &["substr(text, n, m)"]),
    (&["startswith"], &["starts_with(text, part)"]),
    (&["endswith"], &["ends_with(text, part)"]),
    (&["space"], &["repeat(' ', n)"]),
    (&["replicate"], &["repeat(text, n)"]),
    (&["char"], &["chr(n)"]),
    (&["rlike", "regexp_contains"], &["regexp_matches(text, 'pattern')"]),
    (&["regexp_substr"], &["regexp_extract(text, 'pattern')"]),
    (&["tostring", "to_varchar", "varchar", "string", "str"], &["CAST(x AS VARCHAR)"]),
    (&["unbase64"], &["from_base64(text)"]),
    (&["sha2"], &["sha256(text)"]),
    (&["edit_distance"], &["levenshtein(text, part)"]),
    (&["generate_uuid", "newid"], &["uuid()"]),
    // Choices.
    (&["isnull"], &["x IS NULL", "coalesce(x, y)"]),
    (&["notnull", "isnotnull"], &["x IS NOT NULL"]),
    (&["zeroifnull"], &["coalesce(x, 0)"]),
    (&["nullifzero"], &["nullif(x, 0)"]),
    (&["equal_null"], &["x IS NOT DISTINCT FROM y"]),
    (&["iff", "iif"], &["if(condition, x, y)"]),
    (&["pg_typeof", "totypename"], &["typeof(x)"]),
    // Numbers.
    (&["truncate"], &["trunc(x)"]),
    (&["div"], &["n // m"]),
    (&["safe_divide"], &["x / nullif(y, 0)"]),
    (&["square"], &["x * x"]),
    (&["bitand", "bitwise_and"], &["n & m"]),
    (&["bitor", "bitwise_or"], &["n | m"]),
    (&["bitxor", "bitwise_xor"], &["n ^ m"]),
    (&["shiftleft", "bitwise_left_shift"], &["n << m"]),
    (&["shiftright", "bitwise_right_shift"], &["n >> m"]),
    (&["e"], &["exp(1)"]),
    (&["int", "integer", "bigint", "toint64"], &["CAST(x AS BIGINT)"]),
    (&["float", "double", "tofloat64"], &["CAST(n AS DOUBLE)"]),
    (&["to_number", "tonumber", "to_decimal"], &["CAST(x AS DECIMAL(18, 3))"]),
    // Dates and times.
    (&["toyear"], &["year(date)"]),
    (&["toquarter"], &["quarter(date)"]),
    (&["tomonth"], &["month(date)"]),
    (&["toweek"], &["week(date)"]),
    (&["todayofmonth"], &["day(date)"]),
    (&["yearofweek"], &["isoyear(date)"]),
    (&["todayofyear"], &["dayofyear(date)"]),
    (&["tohour"], &["hour(time)"]),
    (&["tominute"], &["minute(time)"]),
    (&["tosecond"], &["second(time)"]),
    (&["unix_timestamp", "unixepoch", "tounixtimestamp"], &["epoch(time)"]),
    (&["dateadd", "adddate"], &["date + INTERVAL '1 day'"]),
    (&["subdate"], &["date - INTERVAL '1 day'"]),
    (&["add_months"], &["date + INTERVAL (n) MONTH"]),
    (&["end_of_month"], &["last_day(date)"]),
    (&["date", "todate"], &["CAST(time AS DATE)"]),
    (&["timestamp", "datetime", "todatetime"], &["CAST(date AS TIMESTAMP)"]),
    (&["str_to_date", "parse_date"], &["to_date(text, '%Y-%m-%d')"]),
    (&["parse_timestamp", "parse_datetime"], &["strptime(text, '%Y-%m-%d %H:%M:%S')"]),
    (&["format_date", "format_timestamp", "format_datetime"], &["strftime(date, '%Y-%m-%d')"]),
    (&["getdate", "sysdate", "current_datetime"], &["now()"]),
    (&["curdate", "get_current_date"], &["current_date"]),
    (&["curtime", "get_current_time"], &["current_time"]),
    (&["timestamp_trunc", "datetime_trunc"], &["date_trunc('month', time)"]),
    (&["tostartofmonth"], &["date_trunc('month', date)"]),
    (&["convert_tz", "convert_timezone", "from_utc_timestamp"], &["time AT TIME ZONE 'Europe/Berlin'"]),
    // Aggregates.
    (&["concat_agg"], &["string_agg(text, ',')"]),
    (&["collect_list", "grouparray", "array_concat_agg"], &["array_agg(x)"]),
    (&["collect_set", "groupuniqarray"], &["array_agg(DISTINCT x)"]),
    (&["any", "anyvalue"], &["any_value(x)"]),
    (&["average"], &["avg(x)"]),
    (&["total"], &["sum(x)"]),
    (&["std", "stdev"], &["stddev(x)"]),
    (&["stdevp", "stddevpop"], &["stddev_pop(x)"]),
    (&["percentile"], &["quantile_cont(x, 0.5)"]),
    (&["approx_percentile", "approx_quantiles"], &["approx_quantile(x, 0.5)"]),
    (&["ndv", "uniq", "hll"], &["approx_count_distinct(text)"]),
    (&["uniqexact", "count_distinct"], &["count(DISTINCT x)"]),
    (&["sum_if", "sumif"], &["sum(x) FILTER (WHERE condition)"]),
    (&["avg_if", "avgif"], &["avg(x) FILTER (WHERE condition)"]),
    (&["every", "logical_and", "booland_agg"], &["bool_and(condition)"]),
    (&["some", "logical_or", "boolor_agg"], &["bool_or(condition)"]),
    // JSON.
    (&["get_json_object", "json_extract_scalar", "json_query"], &["json_extract_string('{}', '$.a')"]),
    (&["parse_json", "to_variant"], &["CAST('{}' AS JSON)"]),
    (&["try_parse_json"], &["TRY_CAST('{}' AS JSON)"]),
    (&["is_valid_json", "json_isvalid"], &["json_valid(text)"]),
    (&["json_object_keys", "jsonb_object_keys"], &["unnest(json_keys('{}'))"]),
    (&["json_agg", "jsonb_agg", "json_arrayagg"], &["json_group_array(x)"]),
    (&["json_object_agg", "jsonb_object_agg", "json_objectagg"], &["json_group_object(text, x)"]),
    (&["json_build_object", "jsonb_build_object"], &["json_object('a', x)"]),
    (&["json_build_array", "jsonb_build_array"], &["json_array(x, y)"]),
    (&["json_typeof", "jsonb_typeof"], &["json_type('{}')"]),
];

/// Names of functions that nothing here does, and what is to be said of them.
const NOTHING: &[(&[&str], &str)] = &[
    (
        &["explode"],
        "UNNEST gives a row for each item: SELECT unnest(list), or FROM t, UNNEST(t.list) AS u(x)",
    ),
    (
        &["json_array_elements", "jsonb_array_elements", "jsonb_each"],
        "json_each() gives a row for each member: FROM json_each(text), or FROM t, json_each(t.text)",
    ),
    (&["json_each", "json_tree"], "it gives rows: FROM json_each(text), or FROM t, json_each(t.text)"),
];

/// Formats that table functions of other systems read: `csv_scan()`.
const FORMATS: [&str; 8] = ["csv", "csv_auto", "parquet", "json", "json_auto", "ndjson", "arrow", "text"];

/// Types of other systems, in upper case, and what they are called here.
const SYNONYMS: &[(&[&str], &str)] = &[
    (&["BIT"], "BOOLEAN"),
    (&["BYTEINT"], "TINYINT"),
    (&["YEAR"], "SMALLINT"),
    (&["MEDIUMINT", "SERIAL"], "INT"),
    (&["BIGSERIAL"], "BIGINT"),
    (&["UNSIGNED"], "INT UNSIGNED"),
    (&["UHUGEINT", "UINT128", "VARINT", "BIGNUM"], "DECIMAL(38, 0)"),
    (&["FLOAT32", "BINARY_FLOAT"], "FLOAT"),
    (&["FLOAT64", "BINARY_DOUBLE"], "DOUBLE"),
    (&["NUMBER", "DEC", "BIGDECIMAL", "BIGNUMERIC", "MONEY", "SMALLMONEY"], "DECIMAL(18, 2)"),
    (
        &[
            "CHAR VARYING",
            "NCHAR",
            "VARCHAR2",
            "NVARCHAR2",
            "CLOB",
            "TINYTEXT",
            "MEDIUMTEXT",
            "LONGTEXT",
            "UUID",
            "UNIQUEIDENTIFIER",
            "ENUM",
        ],
        "VARCHAR",
    ),
    (&["BYTES", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "BINARY LARGE OBJECT"], "BLOB"),
    (&["DATE32", "DATE64"], "DATE"),
    (&["JSONB", "VARIANT"], "JSON"),
    (&["TIMETZ", "TIME WITH TIME ZONE"], "TIME"),
    (&["DATETIME2", "DATETIME64", "SMALLDATETIME", "TIMESTAMP_NTZ"], "TIMESTAMP"),
    (&["TIMESTAMP_TZ", "TIMESTAMP_LTZ", "DATETIMEOFFSET"], "TIMESTAMPTZ"),
];

/// The names of the types that there are.
pub const TYPES: [&str; 23] = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "INTEGER",
    "BIGINT",
    "FLOAT",
    "REAL",
    "DOUBLE",
    "DECIMAL",
    "NUMERIC",
    "VARCHAR",
    "CHAR",
    "TEXT",
    "STRING",
    "BLOB",
    "BYTEA",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "INTERVAL",
    "JSON",
];

/// What to write instead of a word that another system reads as a value.
pub fn word(name: &str) -> Option<&'static str> {
    WORDS
        .iter()
        .find(|(words, _)| words.iter().any(|word| word.eq_ignore_ascii_case(name)))
        .map(|(_, instead)| *instead)
}

/// What to write instead of a function of another system.
pub fn function(name: &str) -> Option<String> {
    let name = name.to_lowercase();
    if let Some((_, instead)) = FUNCTIONS.iter().find(|(names, _)| names.contains(&name.as_str())) {
        return Some(format!("write {}", instead.join(" or ")));
    }
    NOTHING.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, said)| said.to_string())
}

/// Whether a table function of another system reads files.
pub fn reads_files(name: &str) -> bool {
    let name = name.to_lowercase();
    let format = name.strip_suffix("_scan");
    format.is_some_and(|format| FORMATS.contains(&format))
}

/// What a type of another system is called here.
pub fn data_type(name: &str) -> Option<&'static str> {
    SYNONYMS.iter().find(|(names, _)| names.contains(&name)).map(|(_, instead)| *instead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::Functions;
    use crate::{Catalog, Settings, Statement, parse, plan};

    const V: &str = "(VALUES ('2024-02-29', 'a', 3, 2, 1.5e0, 2e0, DATE '2024-02-29', DATE '2024-01-01', \
                     TIMESTAMP '2024-02-29 13:14:15', true)) \
                     v(text, part, n, m, x, y, date, earlier, time, condition)";

    fn planned(sql: &str) {
        let Ok(Statement::Query(query)) = parse(sql) else { panic!("no query: {sql}") };
        let settings = Settings::default();
        let done = plan(&query, &Catalog::default(), &settings);
        assert!(done.is_ok(), "{sql}\n{}", done.unwrap_err());
    }

    #[test]
    fn what_is_to_be_written_is_planned() {
        for instead in FUNCTIONS.iter().flat_map(|(_, instead)| *instead) {
            match instead.strip_prefix("SELECT ") {
                Some(_) => planned(&instead.replace("FROM v", &format!("FROM {V}"))),
                None => planned(&format!("SELECT {instead} FROM {V}")),
            }
        }
        for name in SYNONYMS.iter().map(|(_, instead)| instead).chain(&TYPES) {
            planned(&format!("SELECT CAST(NULL AS {name})"));
        }
    }

    #[test]
    fn names_are_unknown_and_stand_once() {
        let functions: Vec<&str> = FUNCTIONS
            .iter()
            .map(|(names, _)| names)
            .chain(NOTHING.iter().map(|(names, _)| names))
            .flat_map(|names| *names)
            .copied()
            .collect();
        for (i, name) in functions.iter().enumerate() {
            assert!(!functions[..i].contains(name), "{name} stands twice");
            assert!(Functions::all().scalar(name).is_none(), "{name} is a function");
            assert!(Functions::all().aggregate(name).is_none(), "{name} is an aggregate");
            assert_eq!(*name, name.to_lowercase());
        }
        let types: Vec<&str> = SYNONYMS.iter().flat_map(|(names, _)| *names).copied().collect();
        for (i, name) in types.iter().enumerate() {
            assert!(!types[..i].contains(name) && !TYPES.contains(name), "{name} stands twice");
            assert_eq!(*name, name.to_uppercase());
        }
    }
}
