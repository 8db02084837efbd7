//! JSON files as people have them: over several lines, below a key, with keys that come late and values of mixed types.
//! DuckDB answers the statements that it reads alike.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use compared::{agree, answer, ask, fails, rows, within};
use process::palais;
use tempfile::TempDir;

#[path = "support/compared.rs"]
mod compared;
#[path = "support/process.rs"]
mod process;

fn directory(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory can be made");
    for (name, text) in files {
        fs::write(dir.path().join(name), text).expect("it can be written");
    }
    dir
}

/// Lines `{"a":0}`, `{"a":1}` and so on.
fn numbered(rows: usize) -> String {
    (0..rows).map(|row| format!("{{\"a\":{row}}}\n")).collect()
}

#[test]
fn both_systems_read_the_same_rows() {
    let long = "x".repeat(100_000);
    let dir = directory(&[
        ("pretty.json", "{\n  \"a\": 1,\n  \"b\": {\"x\": \"}\\n\"}\n}\n{\n  \"a\": 2\n}\n\n{\"a\": 3}\n"),
        ("windows.json", "\u{feff}{\r\n  \"a\": 1\r\n}\r\n{\r\n  \"a\": 2\r\n}\r\n"),
        ("joined.json", "{\"a\":1}{\"a\":2}{\"a\":3}"),
        ("spaced.json", "{\"a\":1} {\"a\":2}\n{\"a\":3}\n"),
        ("array.json", "[\n  {\n    \"a\": 1\n  },\n  {\n    \"a\": 2\n  }\n]\n"),
        ("one.json", "{\n  \"a\": 1,\n  \"b\": [1, 2]\n}\n"),
        ("long.json", &format!("{{\n\"a\": 1, \"b\": \"{long}\"\n}}\n{{\n\"a\": 2, \"b\": \"{long}\"\n}}")),
        ("lines.json", "{\"a\":1,\"b\":1}\n\n{\"a\":2}\n"),
        ("mixed.json", "{\"a\":1,\"b\":1,\"c\":5,\"d\":true}\n{\"a\":2,\"b\":2.5,\"c\":{\"x\":1},\"d\":0}\n"),
        ("k1.json", "{\"a\":1}\n"),
        ("k2.json", "{\"b\":2}\n"),
        ("k3.json", "{\"a\":3,\"c\":[1],\"s\":{\"x\":1}}\n"),
        ("k4.json", "{\"c\":[2.5],\"s\":{\"y\":2}}\n"),
    ]);
    // DuckDB has text without spaces where palais keeps it as it stands, and orders NULL last by default as well.
    let statements = [
        "SELECT a, b.x FROM 'DIR/pretty.json' ORDER BY a",
        "SELECT sum(a), count(*) FROM 'DIR/windows.json'",
        "SELECT sum(a), count(*) FROM 'DIR/joined.json'",
        "SELECT sum(a), count(*) FROM 'DIR/spaced.json'",
        "SELECT sum(a), count(*) FROM 'DIR/array.json'",
        "SELECT a, b[2] FROM 'DIR/one.json'",
        "SELECT a, length(b) FROM 'DIR/long.json' ORDER BY a",
        "SELECT a, b FROM 'DIR/lines.json' ORDER BY a",
        "SELECT a, b, c, d FROM 'DIR/mixed.json' ORDER BY a",
        "SELECT b, typeof(b) FROM 'DIR/mixed.json' ORDER BY a",
        "SELECT a, b FROM 'DIR/k*.json' ORDER BY a, b",
        "SELECT c[1], s.x, s.y FROM 'DIR/k*.json' ORDER BY 1, 2",
        "SELECT count(*), count(a), count(b), count(c) FROM read_json('DIR/k*.json', union_by_name = true)",
        "SELECT sum(a) FROM read_json('DIR/pretty.json', format = 'unstructured')",
        "SELECT sum(a) FROM read_json('DIR/array.json', format = 'array')",
        "SELECT sum(a) FROM read_json('DIR/lines.json', format = 'newline_delimited')",
    ];
    agree(&dir, &statements);
}

#[test]
fn commas_between_objects() {
    let dir = directory(&[
        ("lines.json", "{\"a\":1},\n{\"a\":2},\n{\"a\":3},\n"),
        ("pretty.json", "{\n\"a\":1\n},\n{\n\"a\":2\n}\n"),
        ("twice.json", "{\n\"a\":1\n},,\n{\n\"a\":2\n}\n"),
        ("open.json", "{\n\"a\":1\n}\n{\n\"a\":2\n"),
        ("line.json", "{\"a\":1}\n{\"a\":2}\n{\"a\":\n3}\n"),
    ]);
    assert_eq!(rows(&dir, &[], "SELECT sum(a), count(*) FROM 'DIR/lines.json'"), "6,3\n");
    assert_eq!(rows(&dir, &[], "SELECT sum(a), count(*) FROM 'DIR/pretty.json'"), "3,2\n");
    let sum = |name: &str| format!("SELECT sum(a) FROM 'DIR/{name}.json'");
    fails(
        &dir,
        &[],
        &sum("twice"),
        &["row 2", "byte 10", "not JSON objects one after another: an object was"],
    );
    fails(&dir, &[], &sum("open"), &["row 2", "the last one is not closed"]);
    fails(&dir, &[], &sum("line"), &["row 3, byte 16", "the record is not JSON"]);
}

#[test]
fn what_stands_before_the_first_record() {
    let dir = directory(&[
        ("array.json", "\u{feff}\n \t[\n{\"a\": 1}\n]\n"),
        ("line.json", "\u{feff} \n{\"a\": 1}\n"),
        ("objects.json", "\n\n{\n\"a\": 1\n}"),
        ("below.json", "\u{feff}\r\n{\"data\": [{\"a\": 1}]}"),
        ("nothing.json", "[]"),
        ("object.json", "{}"),
        ("values.json", "[1,2]"),
        ("none.json", "{\"data\": []}"),
    ]);
    for name in ["array", "line", "objects", "below"] {
        assert_eq!(rows(&dir, &[], &format!("SELECT a FROM 'DIR/{name}.json'")), "1\n", "{name}");
    }
    for name in ["nothing", "object"] {
        fails(&dir, &[], &format!("FROM 'DIR/{name}.json'"), &[name, "no columns"]);
    }
    let place = "values.json, row 1, byte 1: the record is not JSON: an object { … } was expected";
    fails(&dir, &[], "FROM 'DIR/values.json'", &[place]);
    // An array without objects says nothing of rows.
    let sql = "SELECT count(*), count(data) FROM 'DIR/none.json'";
    assert_eq!(answer(&dir, &[], sql), ("1,1\n".into(), String::new()));
    fails(&dir, &["--json-path", "data"], sql, &["none.json", "no columns"]);
}

#[test]
fn wherever_a_file_is_cut_it_is_an_error() {
    let dir = directory(&[]);
    let objects = "{\n\"a\": 1\n}\n{\n\"a\": \"}\"\n}";
    let below = "{\"n\": [1], \"data\": [{\"a\": 1}, {\"a\": \"]\"}], \"m\": {}}";
    let array = "[{\"a\": 1}, {\"a\": \"]\"}]";
    // Behind the first object its file may end.
    for (text, flags, whole) in [
        (objects, &["--json-path", "$"], &[10, 11][..]),
        (below, &["--json-path", "data"], &[]),
        (array, &["--json-path", "$"], &[]),
    ] {
        for cut in (1..text.len()).filter(|cut| !whole.contains(cut)) {
            fs::write(dir.path().join("cut.json"), &text[..cut]).expect("it can be written");
            fails(&dir, flags, "SELECT a FROM 'DIR/cut.json'", &["error: ", "cut.json"]);
        }
        fs::write(dir.path().join("cut.json"), text).expect("it can be written");
        assert_eq!(rows(&dir, flags, "SELECT count(a) FROM 'DIR/cut.json'"), "2\n", "{text}");
    }
}

#[test]
fn records_that_are_passed_over() {
    let deep = format!("{{\n\"a\": 5, \"b\": {}1{}\n}}", "[".repeat(200), "]".repeat(200));
    let long = format!("{{\n\"a\": 5, \"b\": \"{}\"\n}}", "x".repeat(10_000));
    // A record between two others, in each layout but lines.
    let layouts = |record: &str| {
        let objects = format!("{{\n\"a\": 1\n}}\n{record}\n{{\n\"a\": 2\n}}\n");
        let array = format!("[{{\"a\": 1}},\n{record},\n{{\"a\": 2}}]");
        let below = format!("{{\"data\": {array}}}");
        directory(&[("objects.json", &objects), ("array.json", &array), ("below.json", &below)])
    };
    let names = [("objects", "$"), ("array", "$"), ("below", "data")];
    let sum = |name: &str| format!("SELECT sum(a), count(*) FROM 'DIR/{name}.json'");
    for (record, message) in [
        ("7", "an object { … } was expected"),
        ("[{\"a\": 5}]", "an object { … } was expected"),
        ("{\"a\": 5, \"a\": 6}", "the key a is there twice"),
        ("{\"a\": 5, \"b\": {\"c\" 1}}", "a colon was expected"),
        (deep.as_str(), "nested deeper than 128 levels"),
    ] {
        let dir = layouts(record);
        for (name, path) in names {
            fails(&dir, &["--json-path", path], &sum(name), &[&format!("{name}.json, row 2"), message]);
            let (found, told) = answer(&dir, &["--json-path", path, "--on-error", "skip"], &sum(name));
            assert_eq!(found, "3,2\n", "{name}: {record}");
            assert!(told.contains("1 rows left out"), "{name}: {told}");
        }
    }
    // Where the next record begins is not known of these.
    let dir = layouts(&long);
    for (name, path) in names {
        let flags = ["--json-path", path, "--on-error", "skip", "--max-record", "4KiB"];
        let place = format!("{name}.json, row 2");
        fails(&dir, &flags, &sum(name), &[&place, "is longer than 4096 bytes", "--max-record"]);
        assert_eq!(rows(&dir, &[], &sum(name)), "8,3\n", "{name}");
    }
    let dir = directory(&[
        ("open.json", "[{\"a\": 1}\n{\"a\": 2}]"),
        ("doubled.json", "[{\"a\": 1},,{\"a\": 2}]"),
        ("last.json", "[{\"a\": 1},{\"a\": 2},]"),
    ]);
    for (place, message) in [
        ("open.json, row 1, byte 10", "a comma or a closing bracket was expected behind an element"),
        ("doubled.json, row 2, byte 10", "an element of the array was expected"),
        ("last.json, row 3, byte 19", "an element of the array was expected"),
    ] {
        let name = place.split('.').next().unwrap_or_default();
        fails(&dir, &["--on-error", "skip"], &sum(name), &[place, message]);
    }
}

#[test]
fn several_workers_and_processes_read_the_same() {
    let dir = directory(&[]);
    let write = |name: &str, text: String| {
        assert!(text.len() > 9 << 20, "one worker would read a shorter file anyway");
        fs::write(dir.path().join(name), text).expect("it can be written");
    };
    let pad = "{[\\\"}]".repeat(16);
    let row = |a: usize| format!("{{\n\"a\": {a},\n\"pad\": \"{pad}\"\n}}");
    let list = |between: &str| (0..120_000).map(row).collect::<Vec<_>>().join(between);
    write("objects.json", list("\n"));
    write("joined.json", list(""));
    write("array.json", format!("[{}]", list(",")));
    write("below.json", format!("{{\"of\": {{\"n\": [[]]}}, \"data\": [{}], \"n\": 1}}", list(",\n")));
    for name in ["objects", "below"] {
        let packed = Command::new("gzip").arg("--keep").arg(dir.path().join(format!("{name}.json"))).status();
        assert!(packed.expect("gzip is there").success());
    }
    for name in
        ["objects.json", "joined.json", "array.json", "below.json", "objects.json.gz", "below.json.gz"]
    {
        let sql = format!("SELECT count(*), sum(a), sum(length(pad)) FROM 'DIR/{name}'");
        let expected = "120000,7199940000,9600000\n";
        for workers in ["1", "4"] {
            assert_eq!(rows(&dir, &["--workers", workers], &sql), expected, "{name}");
        }
        let sql = within(&dir, &sql);
        let done = palais(["cluster", "run", "--local", "2", "--workers", "2", &sql, "--format", "csv"]);
        assert_eq!(done.code(), Some(0), "{name}: {}{}", done.stderr, done.ending());
        assert_eq!(done.stdout.split_once('\n').map(|(_, rows)| rows), Some(expected), "{name}");
        assert_eq!(done.stderr.matches("array at 'data'").count(), usize::from(name.starts_with("below")));
    }
}

#[test]
fn values_of_pretty_printed_objects_have_places() {
    let text = format!("{{\n\"a\": 1\n}}\n{}{{\n\"a\":\n\"x\"\n}}\n", "{\n\"a\": 2\n}\n".repeat(20));
    let dir =
        directory(&[("a.json", &text), ("b.json", "{\n\"a\": 1\n}\n{\n\"a\": 1 2\n}\n{\n\"a\": 3\n}\n")]);
    let sum = "SELECT sum(a) FROM 'DIR/a.json'";
    let place = ["a.json, row 22, line 66, byte 238, column a", "'\"x\"'", "--infer-rows"];
    fails(&dir, &["--infer-rows", "5"], sum, &place);
    assert_eq!(rows(&dir, &["--infer-rows", "5", "--on-error", "skip"], sum), "41\n");
    fails(
        &dir,
        &[],
        "SELECT sum(a) FROM 'DIR/b.json'",
        &["row 2, line 4, byte 11", "the record is not JSON"],
    );
    let (found, told) = answer(&dir, &["--on-error", "skip"], "SELECT sum(a) FROM 'DIR/b.json'");
    assert_eq!(found, "4\n");
    assert!(told.contains("1 rows left out"), "{told}");
}

#[test]
fn rows_below_a_key() {
    let pages = "{\n  \"next\": null, \"n\": [1, 2],\n  \"data\": [\n    {\"a\": 1},\n    {\"a\": 2, \"b\": \"x\"}\n  ]}\n";
    let dir = directory(&[
        ("page1.json", pages),
        ("page2.json", "{\"data\":[{\"a\":3}],\"next\":{\"data\":[{}]}}"),
        ("page3.json", "{\"data\":[]}"),
        ("page4.json", "{\"data\":null}"),
        ("deep.json", "{\"hits\":{\"n\":1,\"hits\":[{\"a\":5},{\"a\":6}]},\"b.c\":[{\"a\":7}]}"),
        ("two.json", "{\"x\":[{\"a\":1}],\"y\":[{\"a\":2}]}"),
        ("other.json", "{\"items\":[{\"a\":1}]}"),
        ("cut.json", "{\"data\":[{\"a\":3}],\"next\":{}"),
        ("row.jsonl", "{\"data\":[{\"a\":3}]}\n"),
    ]);
    let sql = "SELECT a, b FROM 'DIR/page*.json' ORDER BY a";
    let (found, told) = answer(&dir, &[], sql);
    assert_eq!(found, "1,\n2,x\n3,\n");
    assert!(told.contains("array at 'data'") && told.contains("--json-path $"), "{told}");
    let (found, told) = answer(&dir, &["--json-path", "data"], sql);
    assert_eq!((found.as_str(), told.as_str()), ("1,\n2,x\n3,\n", ""));
    let from = "SELECT sum(a) FROM read_json('DIR/deep.json', json_path =";
    assert_eq!(rows(&dir, &[], &format!("{from} 'hits.hits')")), "11\n");
    assert_eq!(rows(&dir, &[], &format!("{from} '$.\"b.c\"')")), "7\n");
    assert_eq!(rows(&dir, &[], "SET json_path = 'y'; SELECT sum(a) FROM 'DIR/two.json'"), "2\n");
    assert_eq!(rows(&dir, &["--json-path", "$"], "SELECT x[1].a + y[1].a FROM 'DIR/two.json'"), "3\n");
    assert_eq!(rows(&dir, &[], "SELECT data[1].a FROM 'DIR/row.jsonl'"), "3\n");
    fails(&dir, &[], "FROM 'DIR/two.json'", &["keys 'x', 'y'", "--json-path x", "--json-path $"]);
    fails(&dir, &[], "SELECT a FROM 'DIR/cut.json'", &["cut.json"]);
    fails(
        &dir,
        &["--json-path", "data"],
        "SELECT a FROM 'DIR/cut.json'",
        &["the file ends within the object"],
    );
    let mixed = "SELECT a FROM read_json(['DIR/page1.json', 'DIR/other.json'])";
    fails(&dir, &[], mixed, &["page1.json", "it has no array at 'items'"]);
    for wrong in ["", "a..b", "$x"] {
        fails(&dir, &["--json-path", wrong], "SELECT 1", &["--json-path takes keys"]);
    }
    // Values in the array have the places of the file.
    let place = ["other.json, row 1, byte 15, column a", "expected a date"];
    fails(
        &dir,
        &[],
        "SELECT a FROM read_json('DIR/other.json', json_path = 'items', columns = {'a': 'DATE'})",
        &place,
    );
}

#[test]
fn a_path_says_which_of_several_arrays() {
    let dir = directory(&[
        ("page1.json", "{\"data\":[{\"data\":1,\"a\":1}]}"),
        ("page2.json", "{\"more\":[{\"a\":3}],\"data\":[{\"a\":2}]}"),
        ("points.json", "{\"b.c\":[{\"a\":1}],\"y\":[{\"a\":2}]}"),
        ("spaces.json", "{\"b c\":[{\"a\":1}]}"),
    ]);
    let sum = "SELECT sum(a) FROM 'DIR/page*.json'";
    fails(&dir, &[], sum, &["page2.json", "both 'data' and 'more' hold arrays of objects", "--json-path"]);
    assert_eq!(answer(&dir, &["--json-path", "data"], sum), ("3\n".into(), String::new()));
    // What is proposed can be typed.
    fails(&dir, &[], "FROM 'DIR/points.json'", &["--json-path '\"b.c\"'; "]);
    assert_eq!(rows(&dir, &["--json-path", "\"b.c\""], "SELECT a FROM 'DIR/points.json'"), "1\n");
    let (_, told) = answer(&dir, &[], "SELECT a FROM 'DIR/spaces.json'");
    assert!(told.contains("--json-path 'b c' says so"), "{told}");
    // A schema that names the key makes a row of the object, and types of columns do not.
    let whole = "SELECT data FROM read_json('DIR/page1.json', columns = {'data': 'VARCHAR'})";
    assert_eq!(answer(&dir, &[], whole).1, "");
    assert_eq!(rows(&dir, &[], whole), "\"[{\"\"data\"\":1,\"\"a\"\":1}]\"\n");
    let typed = "SELECT data, a FROM read_json('DIR/page1.json', types = {'a': 'VARCHAR'})";
    assert_eq!(rows(&dir, &[], typed), "1,1\n");
    for again in ["RESET json_path", "SET json_path = auto"] {
        let sql = format!("SET json_path = '$'; {again}; SELECT a FROM 'DIR/page1.json'");
        assert_eq!(rows(&dir, &[], &sql), "1\n");
    }
    fails(&dir, &[], "SET json_path = 'a..b'", &["SET json_path takes keys"]);
    fails(&dir, &[], "FROM read_json('DIR/page1.json', json_path = '')", &["json_path takes keys"]);
    fails(&dir, &[], "FROM read_json('DIR/page1.json', format = 'csv')", &["format takes auto"]);
}

#[test]
fn a_large_document_is_streamed() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let path = dir.path().join("large.json");
    let mut file = std::io::BufWriter::new(fs::File::create(&path).expect("a file can be made"));
    let row = |a: usize| format!("{{\"a\": {a}, \"pad\": \"{}\"}}", "x".repeat(200));
    write!(file, "{{\"meta\": {{\"of\": [[{{}}]]}}, \"data\": [").expect("it can be written");
    for a in 0..800_000 {
        writeln!(file, "{}{}", if a == 0 { "" } else { "," }, row(a)).expect("it can be written");
    }
    write!(file, "], \"end\": 1}}").expect("it can be written");
    drop(file);
    let sql = "SELECT count(*), sum(a) FROM 'DIR/large.json'";
    // The file has more than 170 MB.
    assert_eq!(rows(&dir, &["--memory-limit", "128MiB"], sql), "800000,319999600000\n");
    let packed = Command::new("gzip").arg(&path).status();
    assert!(packed.expect("gzip is there").success());
    let sql = "SELECT count(*), sum(a) FROM 'DIR/large.json.gz'";
    assert_eq!(rows(&dir, &["--memory-limit", "128MiB"], sql), "800000,319999600000\n");
}

#[test]
fn a_pipe_is_read_in_any_layout() {
    let dir = directory(&[]);
    for (text, expected) in [
        ("{\n\"a\": 1\n}\n{\n\"a\": 2\n}", "3"),
        ("{\"n\": 0, \"data\": [{\"a\": 1}, {\"a\": 2}]}", "3"),
        ("[{\"a\": 1}]", "1"),
        ("{\"a\": 5}\n{\"a\": 6}\n", "11"),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_palais"))
            .args(["query", "SELECT sum(a) AS s FROM '-'", "--format", "csv", "--from", "jsonl"])
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        child.stdin.take().expect("it is piped").write_all(text.as_bytes()).expect("it is read");
        let done = child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&done.stdout), format!("s\n{expected}\n"), "{text}");
    }
}

#[test]
fn keys_behind_the_sample_are_told() {
    let late = format!("{}{{\"a\":5,\"z\":1}}\n{{\"a\":5,\"z\":null,\"y\":2}}\n", numbered(12_000));
    let nested = format!(
        "{}{{\"o\":{{\"x\":1,\"late\":2}},\"l\":[{{\"k\":1,\"m\":1}}]}}\n",
        "{\"o\":{\"x\":1},\"l\":[{\"k\":1}]}\n".repeat(12_000)
    );
    let dir = directory(&[
        ("late.json", &late),
        ("nested.json", &nested),
        ("array.json", &format!("[{}]", late.trim_end().replace('\n', ","))),
    ]);
    for name in ["late", "array"] {
        let sql = format!("SELECT count(*), max(a) FROM 'DIR/{name}.json'");
        let (found, told) = answer(&dir, &[], &sql);
        assert_eq!(found, "12002,11999\n");
        assert!(told.contains("2 values left out") && told.contains("'y'"), "{told}");
        assert!(told.contains("--infer-rows"), "{told}");
        let (_, told) = answer(&dir, &["--infer-rows", "20000"], &sql);
        assert_eq!(told, "");
        let sql = format!("SELECT sum(z), sum(y) FROM 'DIR/{name}.json'");
        assert_eq!(rows(&dir, &["--infer-rows", "20000"], &sql), "1,2\n");
    }
    let (found, told) = answer(&dir, &[], "SELECT count(o.x), sum(l[1].k) FROM 'DIR/nested.json'");
    assert_eq!(found, "12001,12001\n");
    assert!(told.contains("2 values left out") && told.contains("'late'"), "{told}");
    let (_, told) =
        answer(&dir, &[], "SELECT max(a) FROM read_json('DIR/late.json', types = {'a': 'DOUBLE'})");
    assert!(told.contains("2 values left out"), "{told}");
    // A schema that is given leaves out what it does not name.
    let sql = "SELECT count(a) FROM read_json('DIR/late.json', columns = {'a': 'INTEGER'})";
    assert_eq!(answer(&dir, &[], sql), ("12002\n".into(), String::new()));
}

#[test]
fn keys_that_are_left_out_are_counted_by_all_workers() {
    let pad = "x".repeat(300);
    let line = |row: usize| match row {
        // Behind the records that are looked at, and between the other places.
        10_500..10_503 => format!("{{\"a\":{row},\"pad\":\"{pad}\",\"z{row}\":1}}\n"),
        _ => format!("{{\"a\":{row},\"pad\":\"{pad}\"}}\n"),
    };
    let dir = directory(&[("rare.json", &(0..30_000).map(line).collect::<String>())]);
    let sql = "SELECT count(*), sum(a) FROM 'DIR/rare.json'";
    let rare = "3 values left out, because the records from which columns were inferred don't have their keys, \
                such as 'z10500'";
    for workers in ["1", "4"] {
        let (found, told) = answer(&dir, &["--workers", workers], sql);
        assert_eq!(found, "30000,449985000\n");
        assert!(told.contains(rare), "{told}");
    }
    let done = palais(["cluster", "run", "--local", "2", &within(&dir, sql), "--format", "csv"]);
    assert_eq!(done.code(), Some(0), "{}{}", done.stderr, done.ending());
    assert_eq!(done.stderr.matches(rare).count(), 1, "{}", done.stderr);
}

#[test]
fn files_of_too_many_keys_in_all() {
    let keys = |file: usize| (0..10_000).map(move |key| format!("\"k{}\":1", file * 10_000 + key));
    let dir = directory(&[]);
    for file in 0..11 {
        let text = format!("{{{}}}\n", keys(file).collect::<Vec<_>>().join(","));
        fs::write(dir.path().join(format!("{file:02}.json")), text).expect("it can be written");
    }
    let sql = "SELECT count(*) FROM 'DIR/*.json'";
    fails(&dir, &[], sql, &["10.json: there are more than 100000 columns"]);
}

#[test]
fn other_places_of_a_large_file_are_looked_at() {
    let pad = "x".repeat(300);
    let line = |row: usize| match row {
        15_000.. => format!("{{\"a\":{row}.5,\"pad\":\"{pad}\",\"z\":{row}}}\n"),
        _ => format!("{{\"a\":{row},\"pad\":\"{pad}\"}}\n"),
    };
    let dir = directory(&[("large.json", &(0..30_000).map(line).collect::<String>())]);
    let sql = "SELECT count(z), min(z), max(a) FROM 'DIR/large.json'";
    assert_eq!(answer(&dir, &[], sql), ("15000,15000,29999.5\n".into(), String::new()));
}

#[test]
fn a_type_that_changes_late_names_what_helps() {
    let dir = directory(&[
        ("text.json", &format!("{}{{\"a\":\"x\"}}\n", numbered(12_000))),
        ("zeros.json", &format!("{}{{\"a\":\"007\"}}\n", numbered(12_000))),
        ("float.json", &format!("{}{{\"a\":1.5}}\n", numbered(12_000))),
        ("list.json", &format!("{}{{\"a\":[1]}}\n", numbered(12_000))),
        ("scalar.json", &format!("{}{{\"l\":1}}\n", "{\"l\":[1]}\n".repeat(12_000))),
        ("struct.json", &format!("{}{{\"o\":5}}\n", "{\"o\":{\"x\":1}}\n".repeat(12_000))),
    ]);
    for (name, column, value) in [
        ("text", "a", "a"),
        ("zeros", "a", "a"),
        ("float", "a", "a"),
        ("list", "a", "a"),
        ("scalar", "l", "l[1]"),
        ("struct", "o", "o.x"),
    ] {
        let sql = format!("SELECT max({value}) FROM 'DIR/{name}.json'");
        let place = format!("{name}.json, row 12001");
        fails(&dir, &[], &sql, &[&place, &format!("column {column}"), "--infer-rows"]);
    }
    let zeros = "expected a whole number of 64 bits, without '+' or zeros before it";
    fails(&dir, &[], "SELECT max(a) FROM 'DIR/zeros.json'", &[zeros]);
    let more = ["--infer-rows", "20000"];
    assert_eq!(rows(&dir, &more, "SELECT a FROM 'DIR/zeros.json' WHERE a = '007'"), "007\n");
    assert_eq!(rows(&dir, &more, "SELECT a FROM 'DIR/float.json' WHERE a = 1.5"), "1.5\n");
    assert_eq!(rows(&dir, &more, "SELECT o FROM 'DIR/struct.json' WHERE o = '5'"), "5\n");
    assert_eq!(rows(&dir, &more, "SELECT l FROM 'DIR/scalar.json' WHERE l = '1'"), "1\n");
    // Text takes whatever comes.
    let any = format!("{}{{\"t\":7}}\n{{\"t\":{{\"x\": [1]}}}}\n", "{\"t\":\"x\"}\n".repeat(12_000));
    let dir = directory(&[("any.json", &any)]);
    let sql = "SELECT t FROM 'DIR/any.json' WHERE t <> 'x' ORDER BY length(t)";
    assert_eq!(answer(&dir, &[], sql), ("7\n\"{\"\"x\"\": [1]}\"\n".into(), String::new()));
}

#[test]
fn few_files_are_looked_at_further_than_many() {
    let dir = directory(&[
        ("a.json", "{\"a\":1}\n"),
        ("b.json", &format!("{}{{\"a\":5,\"z\":1}}\n", numbered(200))),
    ]);
    assert_eq!(rows(&dir, &[], "SELECT count(*), sum(z) FROM 'DIR/*.json'"), "202,1\n");
}

#[test]
fn a_path_into_an_object_takes_its_field() {
    let line = "{\"p\":{\"u\":{\"n\":\"a \\\"b\\\"\",\"i\":7,\"t\":null},\"l\":[{\"k\":1}]},\"j\":\"{\\\"a\\\": {\\\"b\\\": [5]}}\"}\n";
    let dir = directory(&[("x.jsonl", line)]);
    let from = |what: &str| format!("SELECT {what} FROM 'DIR/x.jsonl'");
    let plan = |what: &str| ask(&dir, &[], &format!("EXPLAIN {}", from(what))).stdout;
    // Of a path's last field that is a text or an integer no JSON is made, of others as little as there is.
    for (what, wanted, makes_json) in [
        ("p ->> '$.u.n'", "get_field(get_field(p@0, u), n)", false),
        ("p -> 'u' ->> 'i'", "get_field(get_field(p@0, u), i)", false),
        ("p -> 'u' -> 't'", "to_json(get_field(p@0, u))", true),
        ("p -> 'l' -> 0 ->> 'k'", "to_json(get_field(p@0, l))", true),
        ("j -> 'a' -> 'b' ->> 0", "(j@0, $.a.b[0])", false),
        ("(j::JSON)['a']['b'][0]", "$.a.b[0]", false),
    ] {
        let plan = plan(what);
        assert!(plan.contains(wanted) && plan.contains("to_json") == makes_json, "{what}: {plan}");
        agree(&dir, &[from(what).as_str()]);
    }
}
