//! `read_csv()` and the like: files with DuckDB's names for how they are read. DuckDB answers the same statements.

use std::fs;

use compared::{agree, duckdb, fails, rows, within};
use process::palais;
use tempfile::TempDir;

#[path = "support/compared.rs"]
mod compared;
#[path = "support/process.rs"]
mod process;

/// Files that both systems read.
fn files() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    };
    write("bars.csv", "id|name|price\n1|a|1.5\n2|'b|c'|2.5\n");
    write("none.csv", "1,x\n2,y\n");
    write("codes.csv", "code,n\n007,1\n008,2\n");
    write("more/one.csv", "a,b\n1,2\n");
    write("more/two.csv", "b,c\n3,4\n");
    write("bad.csv", "a,b\n1,2\nx,3\n4,5\n");
    write("short.csv", "a,b,c\n1,2,3\n4,5\n6\n");
    write("long.csv", "a;b\n1;2;3\n4\n");
    write("kinds.csv", "i,f,d,t\n1,1.5,2024-01-31,x\n2,2.5,2024-02-29,y\n");
    write("empty.csv", "a,t,b\n1,x,2\n3\n");
    write("tagged/1.csv", "# tags\na;b\n1;2\n# more\n3;4\n");
    write("tagged/2.csv", "a;b\n#fff;1\n5;6\n");
    write("swapped/a=1/b=x/part.csv", "v\n7\n");
    write("swapped/b=y/a=2/part.csv", "v\n8\n");
    write("rows.json", "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2}\n");
    write("year=2024/part.csv", "v\n7\n");
    write("year=2025/part.csv", "v\n8\n");
    write("days/month=01/zip=01234/day=2024-01-31/part.csv", "v\n7\n");
    write("days/month=12/zip=98765/day=2024-12-31/part.csv", "v\n8\n");
    let made = palais(["convert", &within(&dir, "DIR/none.csv"), &within(&dir, "DIR/none.parquet")]);
    assert_eq!(made.code(), Some(0), "{}", made.stderr);
    dir
}

#[test]
fn both_systems_answer_alike() {
    let dir = files();
    let statements = [
        "SELECT codes.n, rows.b FROM 'DIR/codes.csv' JOIN 'DIR/rows.json' ON codes.n = rows.a ORDER BY codes.n",
        "SELECT rows.* FROM 'DIR/rows.json' ORDER BY rows.a",
        "SELECT id, name, price FROM read_csv('DIR/bars.csv', delim = '|', quote = '''') ORDER BY id",
        "SELECT name FROM read_csv_auto('DIR/bars.csv', sep = '|', quote = '''', header = true) WHERE id = 2",
        "SELECT count(*), sum(n) FROM read_csv('DIR/codes.csv')",
        "SELECT code FROM read_csv('DIR/codes.csv', types = {'code': 'VARCHAR'}) ORDER BY 1",
        "SELECT code || 'x', n || 'x' FROM read_csv('DIR/codes.csv', all_varchar = true) ORDER BY 1",
        "SELECT a + 1, b FROM read_csv('DIR/none.csv', header = false, names = ['a', 'b']) ORDER BY 1",
        "SELECT a * 2, b FROM read_csv('DIR/none.csv', header = false, columns = {'a': 'INTEGER', 'b': 'VARCHAR'}) ORDER BY 1",
        "SELECT a, b, c FROM read_csv('DIR/more/*.csv', union_by_name = true) ORDER BY b",
        "SELECT a, b, c FROM read_csv(['DIR/more/one.csv', 'DIR/more/two.csv'], union_by_name = true) ORDER BY b",
        "SELECT b, filename FROM read_csv(['DIR/more/one.csv', 'DIR/more/two.csv'], union_by_name = true, filename = true) ORDER BY b",
        "SELECT count(*), sum(n) FROM read_csv(['DIR/codes.csv', 'DIR/codes.csv'])",
        "SELECT b, filename FROM read_csv(['DIR/more/one.csv', 'DIR/more/*.csv'], union_by_name = true, filename = true) ORDER BY b",
        "SELECT count(*), count(DISTINCT column1) FROM read_parquet(['DIR/none.parquet', 'DIR/none*.parquet'])",
        "SELECT a, b FROM read_csv('DIR/bad.csv', columns = {'a': 'BIGINT', 'b': 'BIGINT'}, header = true, ignore_errors = true) ORDER BY a",
        "SELECT a, b, c FROM read_csv('DIR/short.csv', null_padding = true) ORDER BY a",
        "SELECT count(*), sum(a), sum(c) FROM read_csv('DIR/short.csv', null_padding = true, auto_detect = false, header = true, columns = {'a': 'BIGINT', 'b': 'BIGINT', 'c': 'BIGINT'})",
        "SELECT * FROM read_csv('DIR/long.csv', null_padding = true) ORDER BY 1",
        "SELECT a, t, t IS NULL, b FROM read_csv('DIR/empty.csv', null_padding = true) ORDER BY a",
        "SELECT a, b FROM read_csv('DIR/tagged/*.csv', comment = '#', header = true, all_varchar = true) ORDER BY 1",
        "SELECT x, y FROM read_csv('DIR/codes.csv', names = ['x', 'y'], types = {'x': 'VARCHAR'}) ORDER BY 1",
        "SELECT x, n FROM read_csv('DIR/codes.csv', names = ['x'], header = true, types = ['VARCHAR']) ORDER BY 1",
        "SELECT * FROM read_csv('DIR/codes.csv', names = ['x', 'y'], header = false, all_varchar = true) ORDER BY 1",
        "SELECT code, n FROM read_csv('DIR/codes.csv', dtypes = ['VARCHAR', 'DOUBLE']) ORDER BY 1",
        "SELECT i + 1, f || '', t FROM read_csv('DIR/kinds.csv', auto_type_candidates = ['BIGINT', 'VARCHAR']) ORDER BY 1",
        "SELECT typeof(i), typeof(f) FROM read_csv('DIR/kinds.csv', auto_type_candidates = ['DOUBLE', 'VARCHAR']) LIMIT 1",
        "SELECT sum(n) FROM read_csv('DIR/codes.csv', auto_detect = true, strict_mode = false, buffer_size = 100000, parallel = false, new_line = '\\n', sample_size = 100, comment = '')",
        "SELECT a, b FROM read_csv('DIR/none.csv', auto_detect = false, columns = {'a': INT, 'b': VARCHAR}) ORDER BY 1",
        "SELECT a, b FROM read_csv('DIR/none.csv', header = false, columns = STRUCT_PACK(a := 'INTEGER', b := 'VARCHAR')) ORDER BY 1",
        "SELECT n, file FROM read_csv('DIR/codes.csv', filename = 'file') ORDER BY 1",
        "SELECT v FROM read_csv('DIR/year=*/part.csv', hive_partitioning = false) ORDER BY 1",
        "SELECT v, year + 1 FROM read_csv('DIR/year=*/part.csv', hive_types = {'year': 'INTEGER'}) ORDER BY 1",
        "SELECT v, year || '' FROM read_csv('DIR/year=*/part.csv', hive_partitioning = true, hive_types_autocast = false) ORDER BY 1",
        "SELECT v, a, b FROM read_csv('DIR/swapped/**/part.csv', hive_partitioning = true) ORDER BY 1",
        "SELECT count(*) FROM read_parquet('DIR/none.parquet', binary_as_string = false, file_row_number = false)",
        "SELECT file FROM glob('DIR/more/*.csv') ORDER BY file",
        "SELECT count(*), count(DISTINCT g.file) FROM glob(['DIR/more/*.csv', 'DIR/more/one.csv']) g",
        "SELECT count(*) FROM glob('DIR/nothing*') WHERE file LIKE '%x'",
        "SELECT name, type, repetition_type, num_children, converted_type, logical_type, column_id FROM parquet_schema('DIR/none.parquet') ORDER BY column_id",
        "SELECT row_group_id, row_group_num_rows, column_id, num_values, path_in_schema, type, stats_min_value, stats_max_value, stats_null_count, compression, total_compressed_size FROM parquet_metadata('DIR/none.parquet') ORDER BY column_id",
        "SELECT num_rows, num_row_groups, format_version, file_size_bytes FROM parquet_file_metadata(['DIR/none.parquet', 'DIR/none.parquet'])",
        "SELECT Delimiter, HasHeader, SkipRows, Columns[1].name, Columns[2].type FROM sniff_csv('DIR/codes.csv', all_varchar = true)",
        "SELECT a, b FROM read_json('DIR/rows.json', records = true, maximum_depth = -1, auto_detect = true) ORDER BY a",
        "SELECT a, b FROM read_json('DIR/rows.json') ORDER BY a",
        "SELECT a FROM read_ndjson_auto('DIR/rows.json', maximum_object_size = 1000000) ORDER BY a",
        "SELECT a, b FROM read_json('DIR/rows.json', format = 'newline_delimited', columns = {'a': 'DOUBLE', 'b': 'VARCHAR'}) ORDER BY a",
        "SELECT v, year FROM read_csv('DIR/year=*/part.csv', hive_partitioning = true) ORDER BY v",
        "SELECT v, month, zip, day, year(day) FROM read_csv('DIR/days/*/*/*/part.csv', hive_partitioning = true) ORDER BY v",
        "SELECT v FROM read_csv('DIR/days/*/*/*/part.csv', hive_partitioning = true) WHERE month = 1 AND day < '2024-02-01'",
        "SELECT * FROM read_parquet('DIR/none.parquet') ORDER BY 1",
        "SELECT count(*) FROM parquet_scan('DIR/none.parquet') x JOIN read_parquet('DIR/none.parquet') y ON x.column1 = y.column1",
        "SELECT x.id FROM read_csv('DIR/bars.csv', delim = '|', quote = '''') AS x WHERE x.price > 2",
        "SELECT (SELECT max(n) FROM read_csv('DIR/codes.csv')) + id FROM read_csv('DIR/bars.csv', delim = '|', quote = '''') ORDER BY 1",
        "WITH t AS (FROM read_csv('DIR/codes.csv')) SELECT count(*) FROM t",
    ];
    agree(&dir, &statements);
}

#[test]
fn several_processes_read_them_too() {
    let dir = files();
    let sql = within(&dir, "SELECT sum(a), sum(b) FROM read_csv('DIR/more/*.csv', union_by_name = true)");
    let done = palais(["cluster", "run", "--local", "2", &sql, "--format", "csv"]);
    assert_eq!((done.code(), done.stdout.as_str()), (Some(0), "sum(a),sum(b)\n1,5\n"), "{}", done.stderr);
}

#[test]
fn they_stand_wherever_a_table_does() {
    let dir = files();
    let copied = "COPY (FROM read_csv('DIR/bars.csv', delim = '|', quote = '''')) TO 'DIR/out.parquet'";
    let sql = within(&dir, &format!("{copied}; SELECT count(*) AS c FROM 'DIR/out.parquet'"));
    let done = palais(["query", &sql]);
    assert!(done.stdout.ends_with("2\n"), "{}{}", done.stdout, done.stderr);
    assert_eq!(rows(&dir, &[], "SELECT line FROM read_text('DIR/bad.csv') LIMIT 1"), "\"a,b\"\n");
}

#[test]
fn what_is_found_is_told_as_a_call_that_says_it() {
    let dir = files();
    let told = rows(&dir, &[], "SELECT Prompt FROM sniff_csv('DIR/bars.csv', quote = '''')");
    let told = told.trim_end().trim_matches('"').replace("\"\"", "\"");
    assert!(told.contains("delim = '|'") && told.contains("'price': 'DOUBLE'"), "{told}");
    let said = rows(&dir, &[], told.trim_end_matches(';'));
    assert_eq!(said, rows(&dir, &[], "FROM read_csv('DIR/bars.csv', quote = '''')"));
    let said = rows(&dir, &[], "SELECT UserArguments FROM sniff_csv('DIR/bars.csv', header = true)");
    assert_eq!(said.trim_end(), "header = 'true'");
}

#[test]
fn what_is_found_keeps_the_names_and_options_that_were_given() {
    let dir = files();
    let call = "('DIR/bad.csv', names = ['x'], ignore_errors = true, types = {'x': 'BIGINT'})";
    let told = rows(&dir, &[], &format!("SELECT Prompt FROM sniff_csv{call}"));
    let told = told.trim_end().trim_matches('"').replace("\"\"", "\"");
    assert!(told.contains("'x': 'BIGINT'") && told.contains("ignore_errors = 'true'"), "{told}");
    let said = rows(&dir, &[], &format!("SELECT x, b FROM ({}) t", told.trim_end_matches(';')));
    assert_eq!(said, rows(&dir, &[], &format!("SELECT x, b FROM read_csv{call}")));
}

#[test]
fn the_nodes_of_a_parquet_schema_have_their_types() {
    let dir = files();
    let columns = "1.5::DECIMAL(5, 2) d, TIMESTAMP '2024-01-31' t, TIMESTAMP_NS '2024-01-31' n, TIME '10:00:00' h, \
                   DATE '2024-01-31' a, 'x' s, uuid() u, '{}'::JSON j, INTERVAL 1 DAY i, {'i': INTERVAL 1 DAY} r, \
                   [DATE '2024-01-31'] l, MAP {'a': 1.5::DOUBLE} m, '\\x00'::BLOB b, 3::UTINYINT k";
    let copy = format!("COPY (SELECT {columns}) TO 'DIR/types.parquet'");
    duckdb(&dir, &[&copy]);
    let said = "SELECT name, type, type_length, num_children, converted_type, scale, precision, logical_type, column_id \
                FROM parquet_schema('DIR/types.parquet') ORDER BY column_id";
    agree(&dir, &[said]);
}

#[test]
fn a_row_that_begins_as_comments_do_is_not_lost() {
    let dir = files();
    let sql = "SELECT count(*) FROM read_csv('DIR/tagged/*.csv', all_varchar = true)";
    fails(&dir, &[], sql, &["2.csv", "'#fff;1'", "comment = ''"]);
    let sql = "SELECT count(*) FROM read_csv('DIR/tagged/2.csv', comment = '')";
    assert_eq!(rows(&dir, &[], sql), "2\n");
}

#[test]
fn tables_and_columns_have_their_functions() {
    let dir = files();
    let flags = ["--table", &within(&dir, "codes=DIR/codes.csv")];
    let sql = "CREATE VIEW v AS SELECT n FROM codes; \
               SELECT table_name, temporary, column_count FROM duckdb_tables()";
    assert_eq!(rows(&dir, &flags, sql), "codes,false,2\n");
    let sql = "CREATE VIEW v AS SELECT n FROM codes; SELECT view_name, column_count FROM duckdb_views() w";
    assert_eq!(rows(&dir, &flags, sql), "v,1\n");
    let sql = "SELECT column_name, column_index, data_type FROM duckdb_columns() WHERE table_name = 'codes'";
    assert_eq!(rows(&dir, &flags, sql), "code,1,VARCHAR\nn,2,BIGINT\n");
}

#[test]
fn what_is_wrong_is_told() {
    let dir = files();
    for (sql, said) in [
        ("FROM read_csv('DIR/no.csv')", "no.csv"),
        ("FROM read_csv()", "read_csv() takes a path"),
        ("FROM read_csv('DIR/bars.csv', delim = 'ab')", "the option delim takes one ASCII character"),
        ("FROM read_csv('DIR/bars.csv', header = 'perhaps')", "the option header takes true or false"),
        ("FROM read_csv('DIR/bars.csv', dateformats = 'x')", "the option dateformats of read_csv()"),
        ("FROM read_parquet('DIR/none.parquet', delim = '|')", "the option delim of read_parquet()"),
        (
            "FROM read_csv('DIR/codes.csv', types = {'cod': 'VARCHAR'})",
            "the column 'cod', which is not there",
        ),
        ("FROM read_csv('DIR/codes.csv', types = {'code': 'STRONG'})", "the type STRONG"),
        ("FROM read_csv('DIR/codes.csv', names = ['a', 'b', 'c'])", "the files have 2 columns"),
        ("FROM read_csv('DIR/codes.csv', hive_types = {'year': 'INT'})", "no directory is called year="),
        ("FROM read_csv('DIR/year=*/part.csv', hive_types = {'year': 'DATE'})", "hive_types of 'year'"),
        ("FROM read_csv('DIR/codes.csv', auto_detect = false)", "goes with columns"),
        ("FROM read_csv('DIR/codes.csv', auto_type_candidates = ['INTERVAL'])", "auto_type_candidates takes"),
        ("FROM read_csv('DIR/codes.csv', types = ['INT', 'INT', 'INT'])", "the files have 2 columns"),
        ("FROM read_csv('DIR/codes.csv', quote = '')", "the option quote takes one ASCII character"),
        ("FROM read_csv('DIR/codes.csv', escape = '')", "the option escape takes one ASCII character"),
        ("FROM read_csv('DIR/codes.csv', filename = '')", "the option filename takes"),
        ("FROM read_csv('DIR/codes.csv', buffer_size = -1)", "the option buffer_size takes a number"),
        (
            "FROM read_csv('DIR/year=*/part.csv', hive_types = {'year': 'INT', 'YEAR': 'DATE'})",
            "hive_types names 'YEAR' twice",
        ),
        ("FROM glob('DIR/*', x = 1)", "the option x of glob()"),
        ("FROM parquet_schema(n)", "in single quotes"),
        ("FROM read_csv('DIR/codes.csv', allow_quoted_nulls = false)", "the option allow_quoted_nulls"),
        ("FROM read_parquet('DIR/none.parquet', file_row_number = true)", "the option file_row_number"),
        ("FROM read_json('DIR/rows.json', maximum_depth = 1)", "the option maximum_depth"),
        ("FROM read_xml('DIR/a.xml')", "there is no function 'read_xml'"),
    ] {
        // A file that is not there has its name for a place.
        let place = if said == "no.csv" { said } else { "line 1, column" };
        fails(&dir, &[], sql, &[said, place]);
    }
}
