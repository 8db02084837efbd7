//! csv files as other programs write them: the options that say how, given as a flag, by `SET` and to `read_csv()`.
//! DuckDB answers the statements with options that it has too.

use std::fs;
use std::process::Command;

use compared::{agree, fails, rows, within};
use process::run;
use tempfile::TempDir;

#[path = "support/compared.rs"]
mod compared;
#[path = "support/process.rs"]
mod process;

fn write(dir: &TempDir, name: &str, bytes: &[u8]) {
    fs::write(dir.path().join(name), bytes).expect("it can be written");
}

/// A directory with files as they come.
fn files() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory can be made");
    for (name, text) in [
        ("nulls.csv", "a,b\n1,NA\n-,x\n3,\"NA\"\n4,\n"),
        ("skip.csv", "a report\n\"never closed, and more\n\na,b\n1,2\n3,4\n"),
        ("rows.csv", "a report\n1,2\n3,4\n"),
        ("comments.csv", "# \"one, two\n  # three\na,b\n1,2#x\n3,4 # y\n#z\n\n5,6\n#"),
        ("quoted.csv", "#c\na,b\nx,\"#1\n#2\"\n\"y\",#\"\n,z\n"),
        ("noted.csv", "# one\n  # three\na,b\n1,2#x\n3,4 # y\n#z\n5,6\n"),
        ("one.csv", "# c\na\n1\n#z\n\n5\n"),
        ("escapes.csv", "a,b\n1,\"x\\\"y\"\n2,\"p\\\\q\"\n3,\"z\\n\"\n4,a\\b\n5,\"\\\",\\\"\n\"\n"),
        ("comma.csv", "n;m\n1,5;0,25\n-2,25;1e3\n3;,5\n"),
        ("german.csv", "n;m\n1.234,5;1.000\n-2,25;2.500\n;\n1.234.567,891;7\n"),
        ("english.csv", "n;m\n1,234.5;1,000\n-2.25;2,500\n"),
        ("dates.csv", "d,t\n31.12.2024,31.12.2024 10:00\n1.2.2024,01.02.2024 23:30\n,\n"),
        ("days.csv", "d,n\n20240229,1\n20240301,2\n"),
    ] {
        write(&dir, name, text.as_bytes());
    }
    write(&dir, "latin.csv", b"id,na\xefve\n1,Gr\xf6\xdfe\n2,\xe9t\xe9\n");
    write(&dir, "windows.csv", b"id,s\n1,5 \x80\n2,\x84x\x93\n");
    let wide: Vec<u8> =
        "\u{feff}id,s\r\n1,Größe €\r\n2,\"🦀\n\"\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    write(&dir, "wide.csv", &wide);
    // DuckDB knows no characters beyond 16 bits.
    let wide: Vec<u8> = "\u{feff}id,s\n1,Größe €\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    write(&dir, "bmp.csv", &wide);
    dir
}

#[test]
fn both_systems_answer_alike() {
    let dir = files();
    let statements = [
        "SELECT a, b FROM read_csv('DIR/nulls.csv', nullstr = ['NA', '-', ''])",
        "SELECT a || '', b || '.' FROM read_csv('DIR/nulls.csv', nullstr = 'NA')",
        "SELECT sum(a), count(b) FROM read_csv('DIR/nulls.csv', nullstr = ['NA', '-'])",
        "SELECT sum(a), sum(b) FROM read_csv('DIR/skip.csv', skip = 3)",
        "SELECT count(*), sum(column0) FROM (SELECT * FROM read_csv('DIR/rows.csv', skip = 1, header = false, names = ['column0', 'b']))",
        "SELECT a, b FROM read_csv('DIR/noted.csv', comment = '#')",
        "SELECT count(*) FROM read_csv('DIR/noted.csv', comment = '#')",
        "SELECT coalesce(a, 0) FROM read_csv('DIR/one.csv', comment = '#')",
        "SELECT count(*) FROM read_csv('DIR/one.csv', comment = '#')",
        r"SELECT a, b FROM read_csv('DIR/escapes.csv', escape = '\') ORDER BY a",
        "SELECT n, m, n + m FROM read_csv('DIR/comma.csv', decimal_separator = ',', delim = ';')",
        "SELECT n, m, n + m FROM read_csv('DIR/german.csv', decimal_separator = ',', thousands = '.', delim = ';')",
        "SELECT n, m FROM read_csv('DIR/german.csv', decimal_separator = ',', thousands = '.', delim = ';', columns = {'n': 'DECIMAL(12, 3)', 'm': 'INTEGER'})",
        "SELECT n, m FROM read_csv('DIR/english.csv', thousands = ',', delim = ';')",
        "SELECT d, strftime(t, '%Y-%m-%d %H:%M') FROM read_csv('DIR/dates.csv', dateformat = '%d.%m.%Y', timestampformat = '%d.%m.%Y %H:%M', types = {'t': 'TIMESTAMP'})",
        "SELECT d, t FROM read_csv('DIR/dates.csv', dateformat = '%d.%m.%Y', types = {'t': 'VARCHAR'})",
        "SELECT d, n FROM read_csv('DIR/days.csv', dateformat = '%Y%m%d')",
        "SELECT sum(d) FROM read_csv('DIR/days.csv')",
        "SELECT * FROM read_csv('DIR/latin.csv', encoding = 'latin-1')",
        "SELECT \"naïve\" FROM read_csv('DIR/latin.csv', encoding = 'latin-1') WHERE id = 2",
        "SELECT id, s FROM read_csv('DIR/bmp.csv', encoding = 'utf-16')",
    ];
    agree(&dir, &statements);
}

#[test]
fn a_flag_a_setting_and_an_option_say_the_same() {
    let dir = files();
    for (flags, set, options, from, expected) in [
        (
            &["--nullstr", "NA,-"][..],
            "SET nullstr = 'NA,-'",
            "nullstr = ['NA', '-']",
            "nulls.csv",
            "1,\n,x\n3,\n4,\"\"\n",
        ),
        (&["--skip", "3"], "SET skip = 3", "skip = 3", "skip.csv", "1,2\n3,4\n"),
        (&["--comment", "#"], "SET comment = '#'", "comment = '#'", "quoted.csv", "x,\"#1\n#2\"\ny,\n,z\n"),
        (
            &["--escape", "\\"],
            "SET escape = '\\'",
            "escape = '\\'",
            "escapes.csv",
            "1,\"x\"\"y\"\n2,p\\q\n3,zn\n4,a\\b\n5,\"\"\",\"\"\n\"\n",
        ),
        (
            &["--thousands", ","],
            "SET thousands = ','",
            "thousands = ','",
            "english.csv",
            "1234.5,1000\n-2.25,2500\n",
        ),
        (
            &["--decimal-separator", ",", "--thousands", "."],
            "SET decimal_separator = ','; SET thousands = '.'",
            "decimal_separator = ',', thousands = '.'",
            "german.csv",
            "1234.5,1000\n-2.25,2500\n,\n1234567.891,7\n",
        ),
        (
            &["--dateformat", "%Y%m%d"],
            "SET dateformat = '%Y%m%d'",
            "dateformat = '%Y%m%d'",
            "days.csv",
            "2024-02-29,1\n2024-03-01,2\n",
        ),
        (
            &["--timestampformat", "%d.%m.%Y %H:%M", "--dateformat", "%d.%m.%Y"],
            "SET timestampformat = '%d.%m.%Y %H:%M'; SET dateformat = '%d.%m.%Y'",
            "timestampformat = '%d.%m.%Y %H:%M', dateformat = '%d.%m.%Y'",
            "dates.csv",
            "2024-12-31,2024-12-31T10:00:00\n2024-02-01,2024-02-01T23:30:00\n,\n",
        ),
        (
            &["--encoding", "latin-1"],
            "SET encoding = 'latin-1'",
            "encoding = 'latin-1'",
            "latin.csv",
            "1,Größe\n2,été\n",
        ),
        (
            &["--encoding", "windows-1252"],
            "SET encoding = 'windows-1252'",
            "encoding = 'CP1252'",
            "windows.csv",
            "1,5 €\n2,„x“\n",
        ),
        (
            &["--encoding", "utf-16"],
            "SET encoding = 'utf-16'",
            "encoding = 'utf-16'",
            "wide.csv",
            "1,Größe €\n2,\"🦀\n\"\n",
        ),
    ] {
        let plain = format!("FROM 'DIR/{from}'");
        assert_eq!(rows(&dir, flags, &plain), expected, "{flags:?}");
        assert_eq!(rows(&dir, &[], &format!("{set}; {plain}")), expected, "{set}");
        assert_eq!(
            rows(&dir, &[], &format!("FROM read_csv('DIR/{from}', {options})")),
            expected,
            "{options}"
        );
    }
}

#[test]
fn what_an_option_does_not_take_is_told() {
    let dir = files();
    for (flags, said) in [
        (["--comment", "ab"], "--comment takes one ASCII character"),
        (["--thousands", "."], "--decimal-separator and --thousands must differ"),
        (["--decimal-separator", "e"], "no part of a number"),
        (["--dateformat", "%Q"], "--dateformat takes a format"),
        (["--encoding", "utf-17"], "--encoding takes an encoding"),
        (["--skip", "x"], "--skip"),
        (["--comment", ","], "comment and delimiter are the same character"),
        (["--comment", "\""], "comment and quote are the same character"),
        (["--escape", ","], "escape and delimiter are the same character"),
    ] {
        fails(&dir, &flags, "FROM 'DIR/days.csv'", &[said]);
    }
    for (sql, said) in [
        ("SET comment = 'ab'", "SET comment takes one ASCII character, or none"),
        ("SET encoding = 'utf-17'", "SET encoding takes a character encoding"),
        ("SET thousands = '.'", "SET thousands takes"),
        ("FROM read_csv('DIR/days.csv', dateformat = '%Q')", "the option dateformat takes a format"),
        ("FROM read_csv('DIR/days.csv', nullstr = {'a': 'b'})", "the option nullstr takes a text or a list"),
        ("FROM read_csv('DIR/days.csv', skip = -1)", "the option skip takes a number of lines"),
        ("FROM read_csv('DIR/german.csv', thousands = '.')", "decimal_separator and thousands must differ"),
    ] {
        fails(&dir, &[], sql, &[said]);
    }
}

#[test]
fn errors_name_the_line_and_what_helps() {
    let dir = files();
    write(&dir, "bad.csv", b"# c\nreport\n#d\na,b\n#e\n1,2\nx,4\n");
    let columns = "columns = {'a': 'BIGINT', 'b': 'BIGINT'}, header = true";
    fails(
        &dir,
        &[],
        &format!("FROM read_csv('DIR/bad.csv', skip = 2, comment = '#', {columns})"),
        &["bad.csv, row 2, line 7, column a: expected a whole number of 64 bits, found 'x'"],
    );
    // Not UTF-8: the file, the byte and the option.
    fails(
        &dir,
        &[],
        "FROM 'DIR/windows.csv'",
        &["windows.csv", "byte 7", "these bytes are not UTF-8", "--encoding"],
    );
    fails(&dir, &[], "FROM 'DIR/latin.csv'", &["latin.csv", "the first record is not UTF-8", "--encoding"]);
    for flags in [&[][..], &["--encoding", "utf-8"]] {
        fails(&dir, flags, "FROM 'DIR/wide.csv'", &["wide.csv", "UTF-16", "--encoding utf-16"]);
    }
    assert_eq!(
        rows(&dir, &["--on-error", "null"], "SELECT count(*), count(s) FROM 'DIR/windows.csv'"),
        "2,0\n"
    );
    write(&dir, "cut.csv", &[&b"\xff\xfe"[..], b"a\0\n\x001\0\n\0\x3d\xd8"].concat());
    fails(
        &dir,
        &[],
        "FROM read_csv('DIR/cut.csv', encoding = 'utf-16')",
        &["cut.csv", "byte 10", "UTF-16LE"],
    );
    // A late value that does not fit: what would have read it.
    let many = |last: &str| format!("n,d\n{}{last}\n", "1,2024-01-01\n".repeat(20_000));
    for (last, helps) in [
        ("NA,2024-01-01", "--nullstr"),
        ("\"1,5\",2024-01-01", "--decimal-separator"),
        ("1,31.12.2024", "--dateformat"),
        ("x,2024-01-01", "--infer-rows"),
    ] {
        write(&dir, "late.csv", many(last).as_bytes());
        fails(&dir, &[], "SELECT max(n), max(d) FROM 'DIR/late.csv'", &["row 20001, line 20002", helps]);
    }
    // Quotes that are written in another way.
    for (text, helps) in [
        ("n,s\n1,\"x\\\"y\"\n", "--escape"),
        ("n,s\n1,\"a \\\"x\\\", b\"\n", "--escape"),
        ("n,s\n1,'a,b'\n", "--quote"),
    ] {
        write(&dir, "quotes.csv", text.as_bytes());
        fails(&dir, &[], "FROM 'DIR/quotes.csv'", &["quotes.csv, row 1", helps]);
    }
}

#[test]
fn large_files_are_rewritten_in_turns_and_give_the_same_rows() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let rows_of = |escaped: bool| {
        let mut text = String::new();
        for i in 0..60_000_u32 {
            let quote = if escaped { "\\\"" } else { "\"\"" };
            if i % 1000 == 0 && escaped {
                text.push_str("# a comment with a quote \", and a comma\n");
            }
            text.push_str(&format!("{i},\"é {quote}{i},\n# no comment\",{}\n", i % 7));
        }
        text
    };
    let plain = format!("id,s,k\n{}", rows_of(false));
    let other = format!("a report \"\n\nid,s,k\n{}", rows_of(true));
    write(&dir, "plain.csv", plain.as_bytes());
    write(&dir, "utf8.csv", other.as_bytes());
    let wide: Vec<u8> = other.encode_utf16().flat_map(u16::to_be_bytes).collect();
    write(&dir, "wide.csv", &wide);
    let latin: Vec<u8> = other.chars().map(|c| u8::try_from(u32::from(c)).expect("it is latin")).collect();
    write(&dir, "latin.csv", &latin);
    let packed = within(&dir, "gzip -k DIR/latin.csv");
    assert_eq!(run(Command::new("sh").args(["-c", &packed])).code(), Some(0));
    let sql = |from: &str| {
        format!("SELECT count(*), sum(id), sum(length(s)), min(md5(s)), max(md5(s)), max(k) FROM {from}")
    };
    let options = r"skip = 2, comment = '#', escape = '\', header = true";
    let expected = rows(&dir, &[], &sql("'DIR/plain.csv'"));
    for (name, encoding) in [
        ("utf8.csv", "utf-8"),
        ("wide.csv", "utf-16be"),
        ("latin.csv", "latin-1"),
        ("latin.csv.gz", "latin-1"),
    ] {
        let from = format!("read_csv('DIR/{name}', encoding = '{encoding}', {options})");
        for workers in ["1", "4"] {
            assert_eq!(rows(&dir, &["--workers", workers], &sql(&from)), expected, "{name} with {workers}");
        }
        assert_eq!(rows(&dir, &["--workers", "4"], &format!("SELECT count(*) FROM {from}")), "60000\n");
        // A small compressed file is read by one worker.
        let plan = rows(&dir, &[], &format!("EXPLAIN SELECT sum(id) FROM {from}"));
        assert!(plan.contains("in turns") || name.ends_with(".gz"), "{plan}");
    }
}

#[test]
fn what_is_clear_is_found() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    for (text, columns, first) in [
        ("a report\n2024-01-01\n\na,b\n1,2\n", "a BIGINT, b BIGINT", "1,2"),
        (
            "Sales;;\n\nd;n;s\n31.12.2024;1.234,56;x\n01.02.2024;7;y\n",
            "d DATE, n DOUBLE, s VARCHAR",
            "2024-12-31,1234.56,x",
        ),
        ("d\n12/31/2024\n1/2/2024\n", "d DATE", "2024-12-31"),
        ("d,e\n12/31/2024,1/2/2024\n", "d DATE, e DATE", "2024-12-31,2024-01-02"),
        ("d\n2024/12/31\n", "d DATE", "2024-12-31"),
        ("d\n01/02/2024\n03/04/2024\n", "d VARCHAR", "01/02/2024"),
        ("d,e\n12/31/2024,31/12/2024\n", "d VARCHAR, e VARCHAR", "12/31/2024,31/12/2024"),
        ("t\n31.12.2024 10:00\n", "t TIMESTAMP", "2024-12-31T10:00:00"),
        ("v\n1.2.3\n10.11.12\n", "v VARCHAR", "1.2.3"),
        ("n\n\"1,234.5\"\n2\n", "n DOUBLE", "1234.5"),
        ("# of July\na;b\n1;2\n  # late, and more\n3;4\n", "a BIGINT, b BIGINT", "1,2"),
        ("# of July\n1,#f00\n2,#0f0\n", "column1 BIGINT, column2 VARCHAR", "1,#f00"),
        ("# of July\na;b\n1;2#3;4\n5;6\n", "a BIGINT, b BIGINT", "1,2"),
        ("# of July\nn\n1\n# late\n2\n", "n BIGINT", "1"),
        ("#a,b\n1,2\n", "#a BIGINT, b BIGINT", "1,2"),
        ("## of July\n#a,b\n1,2\n3,4\n", "#a BIGINT, b BIGINT", "1,2"),
        ("tag,n\n#x,1\n", "tag VARCHAR, n BIGINT", "#x,1"),
        ("n;m\n1,5;1.5\n", "n VARCHAR, m DOUBLE", "\"1,5\",1.5"),
        ("n;m\n1,234;2\n", "n VARCHAR, m BIGINT", "\"1,234\",2"),
    ] {
        write(&dir, "a.csv", text.as_bytes());
        let described = rows(&dir, &[], "DESCRIBE FROM 'DIR/a.csv'");
        let found: Vec<_> =
            described.lines().map(|line| line.split(',').take(2).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(found.join(", "), columns, "{text}");
        assert_eq!(rows(&dir, &[], "FROM 'DIR/a.csv' LIMIT 1").trim_end(), first, "{text}");
    }
    // Comments between rows, wherever they stand in the file and whatever is in them.
    let mut text = "# \"of July\na;b\n".to_string();
    for i in 0..100_000 {
        text.push_str(&format!("{i};{}\n{}", i % 7, if i % 1000 == 3 { "# late; \"\n" } else { "" }));
    }
    write(&dir, "a.csv", text.as_bytes());
    let sql = "SELECT count(*), sum(a), count(b) FROM 'DIR/a.csv'";
    assert_eq!(rows(&dir, &[], sql), "100000,4999950000,100000\n");
    let sql = "SELECT count(*), max(length(a)) FROM read_csv('DIR/a.csv', types = {'a': 'VARCHAR'})";
    assert_eq!(rows(&dir, &[], sql), "100000,5\n");
    // Types that are given leave the formats that were found.
    write(&dir, "a.csv", b"d;n\n31.12.2024;1.234,56\n");
    let sql = "FROM read_csv('DIR/a.csv', types = {'n': 'DECIMAL(10, 2)'})";
    assert_eq!(rows(&dir, &[], sql), "2024-12-31,1234.56\n");
    // What is not clear is told, with what helps.
    write(&dir, "a.csv", b"a report\nname,city\nAda,Paris\n");
    fails(&dir, &[], "FROM 'DIR/a.csv'", &["line 2", "--skip N"]);
}

#[test]
fn types_come_from_several_places_of_a_large_file() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let lines = |other: &str| {
        let line = |i: u32| match i {
            250_000..350_000 => format!("{i},{other}\n"),
            _ => format!("{i},{}\n", i % 10),
        };
        format!("id,x\n{}", (0..600_000).map(line).collect::<String>())
    };
    for (other, column_type) in [("n/a", "VARCHAR"), ("2.5", "DOUBLE"), ("7", "BIGINT")] {
        write(&dir, "large.csv", lines(other).as_bytes());
        let described = rows(&dir, &[], "DESCRIBE FROM 'DIR/large.csv'");
        assert_eq!(
            described.lines().nth(1).and_then(|line| line.split(',').nth(1)),
            Some(column_type),
            "{other}"
        );
        assert_eq!(rows(&dir, &[], "SELECT count(x) FROM 'DIR/large.csv'"), "600000\n");
    }
}
