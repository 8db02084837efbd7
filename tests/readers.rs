//! `read_csv()` and the like: files with DuckDB's names for how they are read. DuckDB answers the same statements.

use std::fs;

use compared::{agree, answer, duckdb, fails, rows, within};
use process::{palais, run};
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

/// Some rows of a table with an integer, a text and a date, among which are bad ones of each kind.
const BAD: &[u8] = b"a,b,c\n1,x,2020-01-01\n2,y\nfoo,z,2020-01-01\n4,w,2020-01-01,5\n\"6\n\",u,nodate\n7,\xff,2020-01-01\n8,\"q\"r,2020-01-01\n9,v,2020-01-02\n";

const READ_BAD: &str = "read_csv('DIR/rejects.csv', header = true, columns = {'a': 'INT', 'b': 'VARCHAR', 'c': 'DATE'}, store_rejects = true";

#[test]
fn what_is_passed_over_is_in_tables() {
    let dir = files();
    fs::write(dir.path().join("rejects.csv"), BAD).expect("it can be written");
    // DuckDB gives lines, positions and kinds alike, of the records that it finds bad too.
    let sql = format!(
        "SELECT sum(a), max(b), max(c) FROM {READ_BAD}); \
         SELECT line, line_byte_position, byte_position, column_idx, column_name, error_type, csv_line FROM reject_errors; \
         SELECT scan_id, file_id, delimiter, quote, skip_rows, has_header, columns FROM reject_scans"
    );
    let (said, _) = answer(&dir, &[], &sql);
    let expected = "10,x,2020-01-02\n\
        line,line_byte_position,byte_position,column_idx,column_name,error_type,csv_line\n\
        3,22,25,3,c,MISSING COLUMNS,\"2,y\"\n\
        4,26,26,1,a,CAST,\"foo,z,2020-01-01\"\n\
        5,43,57,4,,TOO MANY COLUMNS,\"4,w,2020-01-01,5\"\n\
        6,60,67,3,c,CAST,\"\"\"6\n\"\",u,nodate\"\n\
        8,74,76,2,b,INVALID ENCODING,\"7,\u{fffd},2020-01-01\"\n\
        9,89,91,2,b,UNQUOTED VALUE,\"8,\"\"q\"\"r,2020-01-01\"\n\
        scan_id,file_id,delimiter,quote,skip_rows,has_header,columns\n\
        1,0,\",\",\"\"\"\",0,true,\"{'a': 'INT','b': 'VARCHAR','c': 'DATE'}\"\n";
    assert_eq!(said, expected);
    let named = format!("{READ_BAD}, rejects_table = 'wrong', rejects_scan = 'seen', rejects_limit = 2)");
    let sql = format!(
        "SELECT sum(a), max(b), max(c) FROM {named}; SELECT line FROM wrong; SELECT file_id FROM seen"
    );
    let (said, warned) = answer(&dir, &[], &sql);
    assert_eq!(said, "10,x,2020-01-02\nline\n3\n4\nfile_id\n0\n");
    assert!(warned.contains("4 of what was passed over are not among the rejects"), "{warned}");
    // Each query keeps so many, of records as they are.
    fs::write(dir.path().join("blanks.csv"), "a,b\nx,1  \n2,3\ny,4\n").expect("it can be written");
    let read = "SELECT sum(a) FROM read_csv('DIR/blanks.csv', columns = {'a': 'INT', 'b': 'VARCHAR'}, \
                store_rejects = true, rejects_limit = 1)";
    let sql = format!("{read}; {read}; SELECT scan_id, line, csv_line || '|' AS l FROM reject_errors");
    let said = rows(&dir, &[], &sql);
    assert!(said.ends_with("scan_id,line,l\n1,2,\"x,1  |\"\n2,2,\"x,1  |\"\n"), "{said}");
}

#[test]
fn what_is_passed_over_is_in_a_file() {
    let dir = files();
    let file = within(&dir, "DIR/out.csv");
    let kept = || fs::read_to_string(&file).expect("it is there");
    rows(&dir, &["--rejects", &file], "SELECT count(a) FROM 'DIR/bad.csv'");
    assert_eq!(kept(), "file,line,byte,column,error_type,reason,record\n");
    let schema = ["--schema", &within(&dir, "t=DIR/t.sql"), "--table", &within(&dir, "t=DIR/bad.csv")];
    fs::write(dir.path().join("t.sql"), "CREATE TABLE t (a BIGINT, b BIGINT)").expect("it can be written");
    let flags = [&schema[..], &["--rejects", &file]].concat();
    fails(&dir, &flags, "SELECT sum(a) FROM t", &["out.csv", "--overwrite"]);
    let flags = [&flags[..], &["--overwrite"]].concat();
    assert_eq!(rows(&dir, &flags, "SELECT sum(a) FROM t"), "5\n");
    let place = within(&dir, "DIR/bad.csv");
    let row = format!("{place},3,8,a,CAST,\"expected a whole number of 64 bits, found 'x'\",\"x,3\"\n");
    assert_eq!(kept().split_once('\n').map(|(_, rows)| rows), Some(row.as_str()));
    let nulls = [&flags[..], &["--on-error", "null"]].concat();
    assert_eq!(rows(&dir, &nulls, "SELECT count(*), count(a) FROM t"), "3,2\n");
    assert_eq!(kept().split_once('\n').map(|(_, rows)| rows), Some(row.as_str()));
    // JSON lines by the setting, into JSON lines.
    fs::write(dir.path().join("bad.jsonl"), "{\"a\": 1}\n{\"a\": 2\n{\"a\": 3}\n")
        .expect("it can be written");
    let sql = "SET rejects = 'DIR/out.jsonl'; SELECT sum(a) FROM 'DIR/bad.jsonl'; SELECT line, csv_line FROM reject_errors";
    assert!(rows(&dir, &[], sql).ends_with("line,csv_line\n2,\"{\"\"a\"\": 2\"\n"));
    let lines = fs::read_to_string(dir.path().join("out.jsonl")).expect("it is there");
    assert!(
        lines.contains("\"line\":2,\"byte\":9,\"column\":null,\"error_type\":\"INVALID STATE\""),
        "{lines}"
    );
    let out = within(&dir, "DIR/converted.parquet");
    let made = palais(["convert", &within(&dir, "DIR/bad.jsonl"), &out, "--rejects", &file]);
    assert_eq!(made.code(), Some(1), "{}", made.stderr);
    let made = palais(["convert", &within(&dir, "DIR/bad.jsonl"), &out, "--rejects", &file, "--overwrite"]);
    assert_eq!(made.code(), Some(0), "{}", made.stderr);
    assert_eq!(kept().lines().count(), 2, "{}", kept());
}

#[test]
fn lines_are_right_wherever_readers_begin() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let (mut csv, mut json) = (String::from("id,t\n"), String::new());
    let (mut line, mut of_csv, mut of_json) = (2, Vec::new(), Vec::new());
    for row in 0..110_000 {
        let (bad, several) = (row % 9_000 == 4_321, row % 7 == 0);
        let id = if bad { "x".to_string() } else { row.to_string() };
        let text = if several { format!("\"{}\n,\n\"", "y".repeat(200)) } else { "z".repeat(200) };
        csv.push_str(&format!("{id},{text}\n"));
        json.push_str(&format!(
            "{{\"id\": {}, \"t\": \"{}\"}}\n",
            if bad { "\"x\"" } else { &id },
            "z".repeat(200)
        ));
        if bad {
            of_csv.push(line.to_string());
            of_json.push((row + 1).to_string());
        }
        line += if several { 3 } else { 1 };
    }
    assert!(csv.len() > 20 << 20);
    fs::write(dir.path().join("large.csv"), csv).expect("it can be written");
    fs::write(dir.path().join("large.jsonl"), json).expect("it can be written");
    fs::write(dir.path().join("t.sql"), "CREATE TABLE t (id BIGINT, t VARCHAR)").expect("it can be written");
    let packed = run(std::process::Command::new("gzip")
        .arg("-k1")
        .args(["large.csv", "large.jsonl"])
        .current_dir(&dir));
    assert_eq!(packed.code(), Some(0), "{}", packed.stderr);
    for (name, expected) in [
        ("large.csv", &of_csv),
        ("large.csv.gz", &of_csv),
        ("large.jsonl", &of_json),
        ("large.jsonl.gz", &of_json),
    ] {
        let (table, schema) = (within(&dir, &format!("t=DIR/{name}")), within(&dir, "t=DIR/t.sql"));
        let file = within(&dir, "DIR/out.csv");
        let mut all = Vec::new();
        for how in [&["query", "-w", "1"][..], &["query", "-w", "2"], &["query", "-w", "3"]] {
            let given = ["SELECT count(*), sum(id) > 0 FROM t", "--table", &table, "--schema", &schema];
            let done = palais([how, &given, &["--rejects", &file, "--overwrite"]].concat());
            assert_eq!(done.code(), Some(0), "{name}, {how:?}: {}{}", done.stderr, done.ending());
            all.push(fs::read_to_string(&file).expect("it is there"));
        }
        let lines: Vec<&str> =
            all[0].lines().filter_map(|row| row.split(',').nth(1)).filter(|cell| *cell != "line").collect();
        let lines: Vec<&str> = lines.into_iter().filter(|cell| cell.parse::<u64>().is_ok()).collect();
        assert_eq!(lines, *expected, "{name}");
        assert!(all.iter().all(|rejects| *rejects == all[0]), "{name}");
    }
}

#[test]
fn what_can_keep_no_rejects_says_so() {
    let dir = files();
    fails(&dir, &[], "SELECT a FROM read_csv('DIR/bad.csv', rejects_limit = 5)", &["store_rejects = true"]);
    fails(
        &dir,
        &[],
        "SELECT a FROM read_csv('DIR/bad.csv', store_rejects = true, rejects_limit = 0)",
        &["1000000"],
    );
    let sql = "SELECT a FROM read_csv('DIR/bad.csv', store_rejects = true, rejects_table = 'R', rejects_scan = 'r')";
    fails(&dir, &[], sql, &["must differ"]);
    let sql = "CREATE TEMP TABLE reject_scans AS SELECT 1 x; SELECT a FROM read_csv('DIR/bad.csv', store_rejects = true)";
    fails(&dir, &[], sql, &["'reject_scans' is a table", "rejects_scan"]);
    // A table of the user's own, in the place of one that was removed, stays the user's.
    let read = "SELECT sum(a) FROM read_csv('DIR/bad.csv', columns = {'a': 'INT', 'b': 'INT'}, store_rejects = true)";
    let sql =
        format!("{read}; DROP TABLE reject_errors; CREATE TEMP TABLE reject_errors AS SELECT 1 x; {read}");
    fails(&dir, &[], &sql, &["'reject_errors' is a table", "rejects_table"]);
    fails(&dir, &["--rejects", "-"], "SELECT 1", &["one file"]);
    let done =
        palais(["watch", &within(&dir, "SELECT a FROM read_csv('DIR/bad.csv', store_rejects = true)")]);
    assert!(done.stderr.contains("without store_rejects"), "{}", done.stderr);
    let done = palais([
        "query",
        "SELECT 1",
        "--cluster",
        "localhost:1",
        "--token-file",
        "none",
        "--rejects",
        "r.csv",
    ]);
    assert!(done.stderr.contains("--rejects does not go with --cluster"), "{}", done.stderr);
    let done = palais(["cluster", "run", "--local", "2", "SELECT 1", "--rejects", "r.csv"]);
    assert!(done.stderr.contains("--rejects is not for several processes"), "{}", done.stderr);
    let done = palais(["cluster", "run", "--local", "2", &within(&dir, read)]);
    assert_eq!(done.code(), Some(1), "{}", done.stdout);
    assert!(done.stderr.contains("store_rejects where other processes run the queries"), "{}", done.stderr);
}
