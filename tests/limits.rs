//! Statements and files of any size and depth: each is answered, or refused with an error that says which bound it passes.
//! None aborts the process, hangs, takes much more memory than it may, or leaves a file that is not whole.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use arrow_array::{ArrayRef, DictionaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field, Schema};
use interrupt::interrupt;
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression};
use parquet::file::properties::WriterProperties;
use watched::{Home, PATIENCE};

#[path = "support/interrupt.rs"]
mod interrupt;
#[path = "support/watched.rs"]
#[allow(dead_code, reason = "other tests look at files of no end")]
mod watched;

/// A list of so many items.
fn list(separator: &str, count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(separator)
}

/// One text around another, so often.
fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

/// A statement of each kind of so many parts. `s.csv` has the columns a and b.
fn statements(n: usize) -> Vec<(&'static str, String)> {
    let select = |text: String| format!("SELECT {text} AS x");
    let of_file = |text: String| format!("SELECT {text} AS x FROM 's.csv'");
    let filtered = |text: String| format!("SELECT count(*) AS x FROM 's.csv' WHERE {text}");
    let join = |i: usize| format!("JOIN 's.csv' t{} ON t{}.a = t{i}.a", i + 1, i + 1);
    let cte = |i: usize| format!(", c{} AS (SELECT a FROM c{i} UNION ALL SELECT a FROM c{i})", i + 1);
    let step = |i: usize| format!(", c{} AS (SELECT a + 1 AS a FROM c{i})", i + 1);
    vec![
        ("cast", select(nested("CAST(", "1", " AS BIGINT)", n))),
        ("colons", of_file(format!("a{}", "::BIGINT".repeat(n)))),
        ("joins", format!("SELECT count(*) AS x FROM 's.csv' t0 {}", list(" ", n, join))),
        ("commas", format!("SELECT count(*) AS x FROM {}", list(", ", n, |i| format!("range(1) t{i}")))),
        ("plus", select(list("+", n, |_| "1".into()))),
        ("plus of columns", of_file(list("+", n, |_| "a".into()))),
        ("minus", select(format!("{}1", "- ".repeat(n)))),
        ("and", filtered(list(" AND ", n, |i| format!("a <> {i}")))),
        ("or", filtered(list(" OR ", n, |i| format!("a = {i}")))),
        ("or of two columns", filtered(list(" OR ", n, |i| format!("a = {i} AND b > '{i}'")))),
        ("union", list(" UNION ALL ", n, |_| "SELECT 1 AS x".into())),
        ("except", list(" EXCEPT ", n, |_| "SELECT 1 AS x".into())),
        ("concatenation", of_file(list("||", n, |_| "b".into()))),
        (
            "cube",
            format!(
                "SELECT count(*) AS x FROM 's.csv' GROUP BY CUBE({})",
                list(",", n, |i| format!("a + {i}"))
            ),
        ),
        (
            "doubling",
            format!("WITH c0 AS (SELECT 1 AS a){} SELECT count(*) AS x FROM c{n}", list("", n, cte)),
        ),
        ("steps", format!("WITH c0 AS (SELECT 1 AS a){} SELECT a AS x FROM c{n}", list("", n, step))),
        ("function", select(nested("abs(", "1", ")", n))),
        ("case", select(nested("CASE WHEN 1=1 THEN 2 ELSE ", "1", " END", n))),
        ("when", of_file(format!("CASE {} END", list(" ", n, |i| format!("WHEN a = {i} THEN {i}"))))),
        ("subqueries", select(nested("(SELECT ", "1", ")", n))),
        ("scalar subqueries", select(list(", ", n, |i| format!("(SELECT max(a) + {i} FROM 's.csv')")))),
        ("exists", format!("SELECT 1 AS x WHERE {}", nested("EXISTS (SELECT 1 WHERE ", "1=1", ")", n))),
        ("in", select(nested("1 IN (", "1", ")", n))),
        ("list", filtered(format!("a IN ({})", list(", ", n, |i| i.to_string())))),
        ("parentheses", select(nested("(", "1", ")", n))),
        ("derived tables", format!("SELECT * FROM {}", nested("(SELECT 1 AS x", "", ")", n))),
        ("tables in parentheses", format!("SELECT * FROM {}", nested("(", "range(3)", ")", n))),
        ("intervals", select(format!("{}'1' DAY", "INTERVAL ".repeat(n)))),
        ("array", select(nested("ARRAY[", "1", "]", n))),
        ("type", select(format!("CAST(NULL AS BIGINT{})", "[]".repeat(n)))),
        ("type in brackets", select(format!("CAST(NULL AS {})", nested("ARRAY<", "INT", ">", n)))),
        ("struct type", select(format!("CAST(NULL AS {})", nested("STRUCT<a ", "INT", ">", n)))),
        ("not", select(format!("{}true", "NOT ".repeat(n)))),
        ("like", select(list(" LIKE ", n, |_| "'a'".into()))),
        ("tuple", select(nested("(1,", "1", ")", n))),
        ("substring", select(nested("SUBSTRING(", "'a'", " FROM 1)", n))),
        ("lambda", select(nested("abs(x -> ", "1", ")", n))),
        ("typed text", select(format!("{}'2020-01-01'", "date ".repeat(n)))),
        ("columns", of_file(list(", ", n, |i| format!("a + {i}")))),
        (
            "values",
            format!("SELECT count(*) AS x FROM (VALUES {}) t", list(", ", n, |i| format!("({i}, 'x')"))),
        ),
        ("order", format!("SELECT a AS x FROM 's.csv' ORDER BY {}", list(", ", n, |i| format!("a + {i}")))),
        ("backwards", select(nested("", "1", " IS NULL", n))),
        ("one name", format!("SELECT {} FROM 's.csv'", list(".", n, |_| "a".into()))),
        ("text", select(format!("'{}'", "x".repeat(n * 100)))),
    ]
}

fn names(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.path(".")).expect("the directory is there");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("it can be listed").file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !["s.csv", ".stdout", ".stderr"].contains(&name.as_str()));
    names
}

fn home_with_table() -> Home {
    let home = Home::new();
    home.write("s.csv", b"a,b\n1,x\n2,y\n3,z\n");
    home
}

/// Runs statements of this size but for some kinds; each is answered or refused. Gives the kinds that were answered.
fn run_all(size: usize, left_out: &[&str]) -> Vec<&'static str> {
    let home = home_with_table();
    let mut answered = Vec::new();
    for (kind, sql) in statements(size).into_iter().filter(|(kind, _)| !left_out.contains(kind)) {
        home.write("statement.sql", format!("COPY ({sql}) TO 'out.csv' (FORMAT csv)").as_bytes());
        let done = home.finish(home.start(&["query", "--file", "statement.sql", "--memory-limit", "512MiB"]));
        let what =
            format!("{kind} {size}: {}\n{}", done.status, done.stderr.chars().take(500).collect::<String>());
        match done.status.code() {
            Some(0) => answered.push(kind),
            Some(1) => assert!(done.stderr.starts_with("error: "), "{what}"),
            _ => panic!("{what}"),
        }
        assert!(done.stderr.len() < 20_000, "{what}");
        assert!(done.peak < 1536 << 20, "{what} took {} MiB", done.peak >> 20);
        let mut left = names(&home);
        left.retain(|name| name != "statement.sql");
        assert_eq!(left, if done.status.success() { vec!["out.csv"] } else { vec![] }, "{what}");
        let _ = fs::remove_file(home.path("out.csv"));
    }
    answered
}

#[test]
fn statements_of_ten_parts_are_answered() {
    let answered = run_all(10, &[]);
    for kind in ["colons", "joins", "plus", "or", "doubling", "steps", "case", "exists", "list", "values"] {
        assert!(answered.contains(&kind), "{kind} is not among {answered:?}");
    }
}

#[test]
fn statements_of_a_thousand_parts_end() {
    // These end as well, some by the limit of time, and take most of the time of all.
    let slow = ["plus of columns", "scalar subqueries", "commas", "union", "except", "joins"];
    let answered = run_all(1_000, &slow);
    for kind in ["colons", "plus", "and", "or", "or of two columns", "when", "list", "values", "columns"] {
        assert!(answered.contains(&kind), "{kind} is not among {answered:?}");
    }
}

#[test]
fn statements_of_ten_thousand_parts_end() {
    let slow = [
        "colons",
        "plus",
        "plus of columns",
        "concatenation",
        "union",
        "except",
        "like",
        "backwards",
        "columns",
        "order",
        "scalar subqueries",
        "one name",
    ];
    let answered = run_all(9_900, &slow);
    assert!(answered.contains(&"list"), "{answered:?}");
}

#[test]
fn statements_of_a_hundred_thousand_parts_end() {
    let slow = ["columns", "values", "order", "scalar subqueries", "doubling", "steps", "cube"];
    let answered = run_all(100_000, &slow);
    assert!(answered.contains(&"list"), "{answered:?}");
}

#[test]
fn many_joins_and_what_ends_planning() {
    let home = home_with_table();
    let join = |i: usize| format!("JOIN 's.csv' t{} ON t{}.a = t{i}.a", i + 1, i + 1);
    let joins = format!("SELECT count(*) AS x FROM 's.csv' t0 {}", list(" ", 300, join));
    home.write("joins.sql", joins.as_bytes());
    let done = home.finish(home.start(&["query", "--file", "joins.sql", "--format", "csv"]));
    assert_eq!((done.status.code(), done.stdout.as_str()), (Some(0), "x\n3\n"), "{}", done.stderr);
    // Chains within their bound whose planning takes a time that grows with the square of their length: many of them, so that
    // no machine plans them in time.
    let sum = list("+", 9_900, |_| "a".into());
    let sums =
        format!("COPY (SELECT {} FROM 's.csv') TO 'out.csv'", list(", ", 100, |i| format!("{sum} AS x{i}")));
    home.write("sums.sql", sums.as_bytes());
    let done = home.finish(home.start(&["query", "--file", "sums.sql"]));
    assert_eq!(done.status.code(), Some(1), "{}", done.stderr);
    let said = "error: planning the statement took more than 10 seconds\n";
    assert!(done.stderr.starts_with(said), "{}", done.stderr);
    let mut left = names(&home);
    left.sort();
    assert_eq!(left, ["joins.sql", "sums.sql"]);
}

#[test]
fn bounds_that_statements_pass() {
    let home = home_with_table();
    let cte = |i: usize| format!(", c{} AS (SELECT a FROM c{i} UNION ALL SELECT a FROM C{i})", i + 1);
    let keys = list(", ", 1_000, |i| format!("a + {i}"));
    for (sql, said) in [
        (
            format!("WITH c0 AS (SELECT 1 AS a){} SELECT count(*) FROM c100", list("", 100, cte)),
            "too large: its plan has more than 20000 operators",
        ),
        (format!("SELECT a{} FROM 's.csv'", "::INT::BIGINT".repeat(500)), "1000 casts and functions"),
        (format!("SELECT now(){}", " AT TIME ZONE 'UTC'".repeat(500)), "501 casts and functions"),
        (format!("SELECT count(*) FROM 's.csv' GROUP BY CUBE ({keys})"), "more than 4096 grouping sets"),
        (format!("SELECT count(*) FROM 's.csv' GROUP BY ROLLUP ({keys})"), "grouping sets of more than 48"),
        (list(" UNION ALL ", 2, |_| nested("(SELECT ", "1", ")", 30)), "29 subqueries within each other"),
    ] {
        home.write("statement.sql", sql.as_bytes());
        let done = home.finish(home.start(&["query", "--file", "statement.sql"]));
        assert_eq!(done.status.code(), Some(1), "{said}: {}", done.stderr);
        assert!(done.stderr.contains(said), "{said}: {}", done.stderr);
        assert!(done.peak < 200 << 20, "{said}: {} MiB", done.peak >> 20);
    }
}

#[test]
fn planning_stays_within_the_memory_limit() {
    let home = home_with_table();
    let sql =
        format!("SELECT count(*) FROM 's.csv' WHERE a IN ({})", list(",", 1_000_000, |i| format!("{i}+a")));
    home.write("statement.sql", sql.as_bytes());
    let done = home.finish(home.start(&["query", "--file", "statement.sql", "--memory-limit", "100MiB"]));
    // The request that would pass the limit counts too.
    let said = "error: out of memory: planning the statement took the process to 10";
    assert!(done.stderr.starts_with(said), "{}\n{}", done.status, done.stderr);
    assert!(done.stderr.contains("of --memory-limit 100.0 MiB"), "{}", done.stderr);
    assert_eq!(done.status.code(), Some(1));
    assert!(done.peak < 300 << 20, "{} MiB", done.peak >> 20);
}

#[test]
fn an_interrupt_ends_planning_at_once() {
    let home = home_with_table();
    // Far more than can be planned in a second.
    let sql = list(" OR ", 9_000, |i| format!("a + {i} = length(b)"));
    home.write(
        "statement.sql",
        format!("COPY (SELECT count(*) FROM 's.csv' WHERE {sql}) TO 'out.csv'").as_bytes(),
    );
    let child = home.start(&["query", "--file", "statement.sql"]);
    sleep(Duration::from_millis(300));
    interrupt(child.id());
    let done = home.finish(child);
    assert_eq!((done.status.code(), done.stderr.as_str()), (Some(130), "interrupted\n"));
    assert_eq!(names(&home), ["statement.sql"]);
}

#[test]
fn an_abort_leaves_nothing() {
    let home = Home::new();
    let child =
        home.start(&["query", "COPY (SELECT a.range FROM range(100000) a, range(100000) b) TO 'out.csv'"]);
    let mut waited = Duration::ZERO;
    while names(&home).is_empty() {
        assert!(waited < PATIENCE, "nothing is written");
        sleep(Duration::from_millis(5));
        waited += Duration::from_millis(5);
    }
    let sent = Command::new("kill").args(["-ABRT", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let done = home.finish(child);
    assert_eq!(done.status.code(), Some(70), "{}", done.stderr);
    assert!(done.stderr.starts_with("internal error: "), "{}", done.stderr);
    assert!(names(&home).is_empty(), "{:?}", names(&home));
}

/// What a query may take that has 128 MiB: a worker's stack, the program's own pages and what the allocator keeps beside.
const RESIDENT: u64 = 400 << 20;

/// Runs a query that has to end for lack of memory, within bounds. It must name all of these.
fn runs_out(home: &Home, sql: &str, options: &[&str], expected: &[&str]) {
    let arguments = [&["query", sql, "--memory-limit", "128MiB"][..], options].concat();
    let done = home.finish(home.start(&arguments));
    let what = format!("{sql}: {}, {} MiB\n{}{}", done.status, done.peak >> 20, done.stdout, done.stderr);
    assert_eq!(done.status.code(), Some(1), "{what}");
    assert!(done.stderr.starts_with("error: out of memory: "), "{what}");
    assert!(expected.iter().all(|part| done.stderr.contains(part)), "{what}");
    assert!(done.peak < RESIDENT, "{what}");
}

#[test]
fn a_file_of_more_columns_than_a_table_may_have() {
    let home = Home::new();
    let keys =
        |range: std::ops::Range<usize>| range.map(|i| format!("\"k{i}\":1")).collect::<Vec<_>>().join(",");
    // In one record, and in several.
    home.write("one.jsonl", format!("{{{}}}\n", keys(0..2_000_000)).as_bytes());
    let several = (0..20).map(|i| format!("{{{}}}\n", keys(i * 10_000..(i + 1) * 10_000)));
    home.write("several.jsonl", several.collect::<String>().as_bytes());
    home.write("header.csv", list(",", 300_000, |i| format!("k{i}")).as_bytes());
    for file in ["one.jsonl", "several.jsonl", "header.csv"] {
        let sql = format!("SELECT count(*) FROM '{file}'");
        let done = home.finish(home.start(&["query", &sql, "--memory-limit", "128MiB"]));
        assert_eq!(done.status.code(), Some(1), "{file}");
        let message = format!("error: {file}: there are more than 100000 columns");
        assert!(done.stderr.starts_with(&message), "{}", done.stderr);
        assert!(done.peak < RESIDENT, "{file}: {} MiB", done.peak >> 20);
    }
}

/// A Parquet file without rows whose schema has so many groups within each other.
fn deep_parquet(groups: usize) -> Vec<u8> {
    let number = |mut n: usize| {
        let mut bytes = Vec::new();
        while n > 127 {
            bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        bytes.push(n as u8);
        bytes
    };
    // FileMetaData and SchemaElement in Thrift's compact protocol: the version, the schema, no rows, no row groups.
    let mut footer = [&[0x15, 2, 0x19, 0xfc][..], &number(groups + 2)].concat();
    footer.extend([0x48, 1, b'r', 0x15, 2, 0]);
    (0..groups).for_each(|_| footer.extend([0x35, 2, 0x18, 1, b'a', 0x15, 2, 0]));
    footer.extend([0x15, 2, 0x25, 2, 0x18, 1, b'l', 0]);
    footer.extend([0x16, 0, 0x19, 0x0c, 0]);
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", footer.as_slice(), &length, b"PAR1"].concat()
}

#[test]
fn a_parquet_file_of_groups_within_each_other() {
    let home = Home::new();
    for (groups, is_read) in [(100, true), (1_200, false), (20_000, false)] {
        home.write("deep.parquet", &deep_parquet(groups));
        let before = names(&home);
        for sql in ["SELECT count(*) FROM 'deep.parquet'", "COPY (FROM 'deep.parquet') TO 'copy.csv'"] {
            let done = home.finish(home.start(&["query", sql, "--memory-limit", "128MiB"]));
            let code = if is_read { 0 } else { 1 };
            assert_eq!(done.status.code(), Some(code), "{groups}: {}", done.stderr);
            assert!(is_read || done.stderr.contains("groups within each other"), "{groups}: {}", done.stderr);
        }
        match is_read {
            true => fs::remove_file(home.path("copy.csv")).expect("it was written"),
            false => assert_eq!(names(&home), before),
        }
    }
}

#[test]
fn what_is_written_of_lists_within_each_other_is_read() {
    let home = Home::new();
    let run = |sql: String| home.finish(home.start(&["query", &sql]));
    for (form, deepest) in
        [("parquet", 70), ("arrow", 60), ("jsonl", 32), ("json", 32), ("msgpack", 32), ("buren", 8)]
    {
        for (depth, is_written) in [(deepest, true), (deepest + 1, form == "parquet")] {
            let name = format!("{depth}.{form}");
            let done = run(format!("COPY (SELECT {} AS l) TO '{name}'", nested("[", "1", "]", depth)));
            let what = format!("{name}: {}{}", done.stdout, done.stderr);
            if !is_written {
                assert_eq!(done.status.code(), Some(1), "{what}");
                assert!(done.stderr.contains("types within one another"), "{what}");
                assert!(!done.stderr.contains("error: :"), "{what}");
                continue;
            }
            assert_eq!(done.status.code(), Some(0), "{what}");
            let done = run(format!("SELECT count(l) AS n FROM '{name}'"));
            assert_eq!(done.stdout, "n\n1\n", "{name}: {}", done.stderr);
        }
    }
    let inner = nested("[", "1", "]", 70);
    let done = run(format!(
        "COPY (SELECT {} AS l FROM (SELECT {inner} AS k)) TO 'deep.parquet'",
        nested("[", "k", "]", 70)
    ));
    assert_eq!(done.status.code(), Some(1), "{}", done.stdout);
    assert!(done.stderr.contains("281 groups within each other"), "{}", done.stderr);
}

#[test]
fn a_small_arrow_file_that_unpacks_to_a_lot() {
    let home = Home::new();
    let zeros: ArrayRef = Arc::new(Int64Array::from(vec![0; 12_000_000]));
    let fields: Vec<Field> = (0..16).map(|i| Field::new(format!("c{i}"), DataType::Int64, false)).collect();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), vec![zeros; 16]).expect("it is as the schema says");
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD));
    let file = fs::File::create(home.path("bomb.arrow")).expect("it can be made");
    let writer = FileWriter::try_new_with_options(file, &schema, options.expect("it is known"));
    let mut writer = writer.expect("it begins");
    writer.write(&batch).and_then(|()| writer.finish()).expect("it is written");
    let columns = list(", ", 16, |i| format!("max(c{i})"));
    let said = ["bomb.arrow: columns of a record batch unpack to 1536000000 bytes", "raise --memory-limit"];
    for workers in ["1", "3"] {
        runs_out(&home, &format!("SELECT {columns} FROM 'bomb.arrow'"), &["--workers", workers], &said);
    }
    // One column alone has room.
    let done =
        home.finish(home.start(&["query", "SELECT max(c7) FROM 'bomb.arrow'", "--memory-limit", "128MiB"]));
    assert_eq!(done.status.code(), Some(0), "{}", done.stderr);
    assert!(done.peak < RESIDENT, "{} MiB", done.peak >> 20);
}

#[test]
fn a_small_parquet_file_that_unpacks_to_a_lot() {
    let home = Home::new();
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(300 << 20)]));
    let batch = RecordBatch::try_from_iter([("s", text)]).expect("it is a column");
    let compression = Compression::BROTLI(BrotliLevel::try_new(1).expect("it is a level"));
    for (name, dictionary) in [("plain.parquet", false), ("dictionary.parquet", true)] {
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_dictionary_enabled(dictionary)
            .set_dictionary_page_size_limit(1 << 30)
            .build();
        let file = fs::File::create(home.path(name)).expect("it can be made");
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("it begins");
        writer.write(&batch).expect("it is written");
        writer.close().expect("it is whole");
        assert!(fs::metadata(home.path(name)).expect("it is there").len() < 100_000);
        let said = [name, " bytes unpacks to 3145728", "raise --memory-limit"];
        runs_out(&home, &format!("SELECT length(s) FROM '{name}'"), &[], &said);
    }
}

#[test]
fn a_small_parquet_file_of_a_list_that_unpacks_to_a_lot() {
    let home = Home::new();
    let text = StringArray::from(vec!["x".repeat(300 << 20)]);
    let field = Arc::new(Field::new("item", DataType::Utf8, false));
    let lists = ListArray::new(field, OffsetBuffer::from_lengths([1]), Arc::new(text), None);
    let batch = RecordBatch::try_from_iter([("l", Arc::new(lists) as ArrayRef)]).expect("it is a column");
    let compression = Compression::BROTLI(BrotliLevel::try_new(1).expect("it is a level"));
    let properties = WriterProperties::builder().set_compression(compression).build();
    let file = fs::File::create(home.path("list.parquet")).expect("it can be made");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("it begins");
    writer.write(&batch).expect("it is written");
    writer.close().expect("it is whole");
    runs_out(&home, "SELECT l FROM 'list.parquet'", &[], &["list.parquet", " unpacks to 3145728"]);
}

#[test]
fn a_dictionary_of_arrow_that_unpacks_to_a_lot() {
    let home = Home::new();
    let word: ArrayRef = Arc::new(StringArray::from(vec!["z".repeat(300 << 20)]));
    let words = DictionaryArray::new(Int32Array::from(vec![0, 0, 0]), word);
    let batch = RecordBatch::try_from_iter([("d", Arc::new(words) as ArrayRef)]).expect("it is a column");
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD));
    let file = fs::File::create(home.path("words.arrow")).expect("it can be made");
    let writer = FileWriter::try_new_with_options(file, &batch.schema(), options.expect("it is known"));
    let mut writer = writer.expect("it begins");
    writer.write(&batch).and_then(|()| writer.finish()).expect("it is written");
    runs_out(&home, "SELECT d FROM 'words.arrow'", &[], &["words.arrow: a dictionary unpacks to 3145728"]);
}

/// A frame of zstd: a text, a byte so often, a text. Its window is 2 to the power of `window`.
fn frame(window: u8, head: &[u8], byte: u8, times: usize, tail: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 128 << 10;
    let block = |kind: usize, size: usize| (size << 3 | kind << 1).to_le_bytes()[..3].to_vec();
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0, (window - 10) << 3];
    bytes.extend([block(0, head.len()), head.to_vec()].concat());
    for _ in 0..times / BLOCK {
        bytes.extend([block(1, BLOCK), vec![byte]].concat());
    }
    let last = block(0, tail.len());
    bytes.extend([vec![last[0] | 1], last[1..].to_vec(), tail.to_vec()].concat());
    bytes
}

#[test]
fn records_of_two_gigabytes_in_a_small_file() {
    const MANY: usize = 2 << 30;
    let (msgpack, cbor) = (*b"\x81\xa1a\xdb\xff\xff\xff\xff", *b"\xa1\x61a\x7a\xff\xff\xff\xff");
    let home = Home::new();
    let files: [(&str, &[u8], u8, &[u8]); 14] = [
        ("line.csv.zst", b"a,b\n1,", b'x', b"\n"),
        ("quoted.csv.zst", b"a,b\n1,\"", b'x', b"\"\n"),
        ("header.csv.zst", b"a", b'x', b"\n1\n"),
        ("fields.csv.zst", b"a,b\n1", b',', b"\n"),
        ("line.txt.zst", b"x", b'x', b"\n"),
        ("text.jsonl.zst", b"{\"a\":\"", b'x', b"\"}\n"),
        ("key.jsonl.zst", b"{\"", b'x', b"\":1}\n"),
        ("nested.jsonl.zst", b"{\"a\":", b'[', b"\n"),
        ("digits.jsonl.zst", b"{\"a\":1", b'1', b"}\n"),
        ("text.msgpack.zst", &msgpack, b'x', b""),
        ("nested.msgpack.zst", b"\x81\xa1a", b'\x91', b""),
        ("text.cbor.zst", &cbor, b'x', b""),
        ("nested.cbor.zst", b"\xa1\x61a", b'\x81', b""),
        ("tags.cbor.zst", b"\xa1\x61a", b'\xc1', b""),
    ];
    for (name, head, byte, tail) in files {
        home.write(name, &frame(17, head, byte, MANY, tail));
        let done = home.finish(home.start(&[
            "query",
            &format!("SELECT * FROM '{name}'"),
            "--memory-limit",
            "128MiB",
        ]));
        let what = format!("{name}: {}, {} MiB\n{}", done.status, done.peak >> 20, done.stderr);
        assert_eq!(done.status.code(), Some(1), "{what}");
        assert!(done.stderr.starts_with("error: "), "{what}");
        assert!(done.peak < RESIDENT, "{what}");
    }
}

#[test]
fn lengths_that_claim_gigabytes() {
    let home = Home::new();
    home.write("columns.sql", b"CREATE TABLE t (a VARCHAR, b BIGINT)");
    let claims: [(&str, &str, &[u8]); 14] = [
        ("text.msgpack", "msgpack", b"\x81\xa1a\xdb\xff\xff\xff\xffx"),
        ("bytes.msgpack", "msgpack", b"\x81\xa1a\xc6\xff\xff\xff\xffx"),
        ("list.msgpack", "msgpack", b"\x81\xa1a\xdd\xff\xff\xff\xff\x01\x01\x01"),
        ("map.msgpack", "msgpack", b"\xdf\xff\xff\xff\xff\xa1a\x01"),
        ("rows.msgpack", "msgpack", b"\xdd\xff\xff\xff\xff\x01"),
        ("text.cbor", "cbor", b"\xa1\x61a\x7b\x7f\xff\xff\xff\xff\xff\xff\xffx"),
        ("list.cbor", "cbor", b"\xa1\x61a\x9b\x7f\xff\xff\xff\xff\xff\xff\xff\x01\x01"),
        ("map.cbor", "cbor", b"\xbb\x7f\xff\xff\xff\xff\xff\xff\xff\x61a\x01"),
        ("text.bin", "bincode", b"\x01\x00\x00\x00\x00\x01\x00\x00\x00x"),
        ("more.bin", "bincode", b"\x01\xff\xff\xff\xff\xff\xff\xff\xffx"),
        ("message.pb", "protobuf", b"\xff\xff\xff\xff\x07\x0a\xf0\xff\xff\xff\x07x"),
        ("field.pb", "protobuf", b"\x0c\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7fx"),
        ("segment.capnp", "capnproto", b"\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x01\x00"),
        ("segments.capnp", "capnproto", b"\xff\x01\x00\x00\x00\x00\x00\x10\x00\x00\x00\x10"),
    ];
    for (name, encoding, bytes) in claims {
        home.write(name, bytes);
        let schema = format!("{name}=columns.sql");
        let statement = format!("SELECT * FROM '{name}'");
        let mut arguments = vec!["query", &statement, "--from", encoding, "--memory-limit", "128MiB"];
        if !["msgpack", "cbor"].contains(&encoding) {
            arguments.extend(["--schema", &schema]);
        }
        let done = home.finish(home.start(&arguments));
        let what = format!("{name}: {}, {} MiB\n{}", done.status, done.peak >> 20, done.stderr);
        assert_eq!(done.status.code(), Some(1), "{what}");
        assert!(done.stderr.starts_with(&format!("error: {name}")), "{what}");
        assert!(done.peak < RESIDENT / 2, "{what}");
    }
}

#[test]
fn a_window_of_zstd_that_does_not_fit() {
    let home = Home::new();
    home.write("w.csv.zst", &frame(27, b"a,b\n1,2\n", b' ', 0, b""));
    let done = home.finish(home.start(&["query", "SELECT b FROM 'w.csv.zst'", "--memory-limit", "100MiB"]));
    let said = "error: out of memory: w.csv.zst: a zstd frame keeps 134217728 bytes to look back to";
    assert!(done.stderr.starts_with(said), "{}", done.stderr);
    let done = home.finish(home.start(&["query", "SELECT b FROM 'w.csv.zst'", "--memory-limit", "200MiB"]));
    assert_eq!(done.status.code(), Some(0), "{}", done.stderr);
    // More than the library takes.
    home.write("w.csv.zst", &frame(40, b"a,b\n1,2\n", b' ', 0, b""));
    let done = home.finish(home.start(&["query", "SELECT b FROM 'w.csv.zst'", "--memory-limit", "200MiB"]));
    assert_eq!(done.status.code(), Some(1), "{}", done.stderr);
    assert!(done.stderr.starts_with("error: out of memory: w.csv.zst: "), "{}", done.stderr);
}

#[test]
fn functions_that_make_much_of_little() {
    let home = Home::new();
    for sql in [
        "SELECT length(repeat('x', 2000000000))",
        "SELECT length(repeat('x', 200000000 + range)) FROM range(2)",
        "SELECT length(lpad('x', 1000000000, 'y'))",
        "SELECT max(length(repeat('abc', 1000000 * range))) FROM range(1000)",
        "SELECT length(string_agg(repeat('x', 1000000), '')) FROM range(1000)",
        "SELECT count(*) FROM (SELECT array_agg(range) FROM range(1000000000000))",
        "SELECT median(range) FROM range(1000000000000)",
        "SELECT * FROM range(1000000000000) ORDER BY range DESC OFFSET 1000000000",
        "SELECT length(replace(repeat('a', 20000000), 'a', 'aaaaaaaaaaaaaaaaaaaaaaaa'))",
    ] {
        let arguments = ["query", sql, "--memory-limit", "128MiB"];
        let done = home.finish(home.start(&arguments));
        let what = format!("{sql}: {}, {} MiB\n{}{}", done.status, done.peak >> 20, done.stdout, done.stderr);
        assert!(matches!(done.status.code(), Some(0 | 1)), "{what}");
        assert!(done.status.success() || done.stderr.starts_with("error: "), "{what}");
        assert!(done.peak < RESIDENT, "{what}");
    }
}

#[test]
fn copies_of_a_constant_list_fit() {
    let home = Home::new();
    let sql = "SELECT count(*) AS n FROM range(20000) WHERE (range(10000))[range + 1] = range";
    let done = home.finish(home.start(&["query", sql, "--memory-limit", "100MiB"]));
    assert_eq!((done.status.code(), done.stdout.as_str()), (Some(0), "n\n10000\n"), "{}", done.stderr);
}
