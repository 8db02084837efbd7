//! Files that were made to harm, or that change while they are read: the process reads them as documented or ends with
//! an error that names the place, and takes little memory for it.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use process::palais;
use watched::{Done, Home, MOST, PATIENCE};

#[path = "support/process.rs"]
mod process;
#[path = "support/watched.rs"]
mod watched;

/// A Parquet file of one column of three texts, as pyarrow writes it with DELTA_LENGTH_BYTE_ARRAY, whose page claims to
/// hold 2^46 values: room for their lengths is made before any is read.
const FORGED: &[&str] = &[
    "504152311500154a154a2c1506150c150615061c000000800104808080808080",
    "100e000000000076616c7565203076616c7565203176616c756520321504192c",
    "35001806736368656d61150200150c250018017425004c1c0000001606191c19",
    "1c26001c150c1925060c1918017415001606167016702608491c1500150c1502",
    "003c162a190619060000001670160626081670002820706172717565742d6370",
    "702d6172726f772076657273696f6e2032362e302e31191c1c00000080000000",
    "50415231",
];

/// The bytes that pairs of hexadecimal digits stand for.
fn unhex(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks_exact(2).map(|pair| std::str::from_utf8(pair).expect("digits"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect()
}

#[test]
fn a_forged_count_in_a_page_is_an_error() {
    let home = Home::new();
    home.write("forged.parquet", &unhex(&FORGED.concat()));
    for query in ["SELECT count(t) FROM", "SELECT * FROM"] {
        let done = palais(["query", &format!("{query} '{}'", home.path("forged.parquet").display())]);
        assert_eq!((done.code(), done.stdout.as_str()), (Some(1), ""), "{}:\n{}", done.ending(), done.stderr);
        let expected = "error: out of memory: 256.0 TiB were asked for at once";
        assert!(done.stderr.contains(expected), "{}", done.stderr);
        assert!(done.stderr.contains("is damaged"), "{}", done.stderr);
    }
}

#[test]
fn a_line_of_nothing_longer_than_a_record_may_be() {
    let home = Home::new();
    let (before, behind) = (&b"\"first\"\n\"s"[..], &b"\"\n\"last\"\n"[..]);
    let size = 256 << 20;
    home.sparse("nul.log", size, &[(0, before), (size - behind.len() as u64, behind)]);
    let sql = "SELECT line FROM 'nul.log' WHERE length(line) < 100 ORDER BY line";
    for workers in ["1", "3"] {
        let options = |on_error| ["--workers", workers, "--max-record", "1MiB", "--on-error", on_error];
        let place = "error: nul.log, row 2, byte 8: the record that begins here is longer than 1048576 bytes";
        home.fails(sql, &options("fail"), &[place, "--max-record"]);
        let (rows, told) = home.rows(sql, &options("skip"));
        assert_eq!(rows, "\"\"\"first\"\"\"\n\"\"\"last\"\"\"", "{workers}");
        assert!(told.contains("1 rows left out"), "{told}");
        let (rows, told) = home.rows("SELECT count(*), count(line) FROM 'nul.log'", &options("null"));
        assert_eq!(rows, "3,2", "{workers}");
        assert!(told.contains("1 values read as NULL"), "{told}");
    }
    // In JSON lines a record ends with its line too; in csv a quote may be open, and what follows is not known.
    home.sparse("x.jsonl", 100 << 20, &[(0, b"{\"a\":1}\n"), ((100 << 20) - 9, b"\n{\"a\":2}\n")]);
    let (rows, told) =
        home.rows("SELECT a FROM 'x.jsonl' ORDER BY a", &["--max-record", "1MiB", "--on-error", "skip"]);
    assert_eq!(rows, "1\n2");
    assert!(told.contains("1 rows left out"), "{told}");
    home.sparse("x.csv", 100 << 20, &[(0, b"a,b\n1,2\n"), ((100 << 20) - 5, b"\n3,4\n")]);
    let place =
        "error: x.csv, row 2, line 3, byte 8: the record that begins here is longer than 1048576 bytes";
    for on_error in ["fail", "skip", "null"] {
        home.fails("SELECT sum(a) FROM 'x.csv'", &["--max-record", "1MiB", "--on-error", on_error], &[place]);
    }
    // A record of many windows has no index.
    let place = "row 2, line 3, byte 8: the record that begins here is longer than 33554432 bytes";
    home.fails("SELECT sum(a) FROM 'x.csv'", &["--max-record", "32MiB"], &[place]);
}

#[test]
fn a_row_of_nothing_but_commas() {
    let home = Home::new();
    home.write("s.sql", b"CREATE TABLE t (a INT, b INT);");
    home.write("x.csv", &[b"1,2\n", &[b','; 20 << 20][..], b"\n3,4\n"].concat());
    let table = ["--table", "t=x.csv", "--schema", "t=s.sql"];
    let said = "error: x.csv, row 2, byte 4: expected 2 fields, this record has 20971521, found ',,,";
    home.fails("SELECT sum(a) FROM t", &table, &[said]);
    let (rows, told) = home.rows("SELECT sum(a) FROM t", &[&table[..], &["--on-error", "skip"]].concat());
    assert_eq!(rows, "4");
    assert!(told.contains("1 rows left out"), "{told}");
}

#[test]
fn a_quote_that_is_never_closed() {
    let home = Home::new();
    // Newlines and delimiters between are those of the field: no later record can be told.
    let line = b"1,2\n".repeat(1 << 18);
    let mut pieces: Vec<(u64, &[u8])> = vec![(0, b"a,b\n1,2\n3,\"")];
    pieces.extend((1..5).map(|megabyte| (megabyte << 22, line.as_slice())));
    home.sparse("open.csv", 5 << 30, &pieces);
    let place =
        "error: open.csv, row 2, line 3, byte 8: the record that begins here is longer than 1048576 bytes";
    for workers in ["1", "3"] {
        let options = ["--max-record", "1MiB", "--workers", workers, "--on-error", "skip"];
        home.fails("SELECT count(*) FROM 'open.csv'", &options, &[place, "a closing quote may be missing"]);
        home.fails("SELECT sum(a) FROM 'open.csv'", &options, &[place, "a closing quote may be missing"]);
    }
    home.write("short.csv", b"a,b\n1,2\n3,\"4\n5,6\n");
    let place = "error: short.csv, row 2, line 3, byte 8: a quote in this record is never closed";
    home.fails("SELECT count(*) FROM 'short.csv'", &[], &[place]);
}

#[test]
fn lengths_that_are_claimed_and_not_there() {
    let home = Home::new();
    home.write("s.sql", b"CREATE TABLE t (a BIGINT NOT NULL, s VARCHAR)");
    // A string of 2^32 - 1 bytes behind a first row that is as it should be.
    let files: [(&str, &[u8]); 8] = [
        ("string.msgpack", b"\x92\x01\xa1x\x92\x02\xdb\xff\xff\xff\xffabc"),
        ("bytes.msgpack", b"\x92\x01\xa1x\x92\x02\xc6\xff\xff\xff\xffabc"),
        ("rows.msgpack", b"\x92\x01\xa1x\xdd\xff\xff\xff\xff\x01\x01"),
        ("map.msgpack", b"\x92\x01\xa1x\xdf\xff\xff\xff\xff\xa1a\x01"),
        ("string.cbor", b"\x82\x01\x61x\x82\x02\x7b\xff\xff\xff\xff\xff\xff\xff\xffabc"),
        ("rows.cbor", b"\x82\x01\x61x\x9b\x7f\xff\xff\xff\xff\xff\xff\xff\x01\x01"),
        (
            "string.bincode",
            b"\x01\0\0\0\0\0\0\0\x01\x01\0\0\0\0\0\0\0x\x02\0\0\0\0\0\0\0\x01\xff\xff\xff\xff\0\0\0\0abc",
        ),
        ("string.pb", b"\x05\x08\x01\x12\x01x\xff\xff\xff\xff\x0f\x08\x02\x12\xff\xff\xff\xff\x0fabc"),
    ];
    for (name, bytes) in files {
        home.write(name, bytes);
        for on_error in ["fail", "skip"] {
            let options = ["--schema", "t=s.sql", "--table", &format!("t={name}"), "--on-error", on_error];
            for sql in ["SELECT * FROM t", "SELECT count(*) FROM t", "SELECT max(a) FROM t"] {
                home.fails(sql, &options, &[&format!("error: {name}, row 2, byte ")]);
            }
        }
    }
}

#[test]
fn pointers_that_lead_in_circles() {
    let home = Home::new();
    home.write("s.sql", b"CREATE TABLE t (a BIGINT NOT NULL, s VARCHAR)");
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let message = |body: &[u64]| [words(&[(body.len() as u64) << 32]), words(body)].concat();
    // A structure of one word and one pointer.
    let root = 1 << 32 | 1 << 48;
    let circles: [(&str, &[u64]); 6] = [
        ("the root leads to itself", &[2]),
        ("the root leads to itself over two words", &[2 | 4, 2, 0]),
        ("the root is a structure around itself", &[0xffff_fffc | 1 << 32 | 1 << 48]),
        ("the text leads to itself", &[root, 7, 2 | 2 << 3]),
        ("the text leads to a far pointer and back", &[root, 7, 2 | 3 << 3, 2 | 2 << 3]),
        ("the text is a list of 2^29 words", &[root, 7, 1 | 5 << 32 | 0x1fff_ffff << 35]),
    ];
    let good = message(&[root, 7, 1 | 2 << 32 | 2 << 35, u64::from_le_bytes(*b"x\0\0\0\0\0\0\0")]);
    for (what, body) in circles {
        home.write("c.capnproto", &[good.clone(), message(body)].concat());
        let options = ["--schema", "t=s.sql", "--table", "t=c.capnproto"];
        home.fails("SELECT * FROM t", &options, &["error: c.capnproto, row 2, byte "]);
        let done = home.query(
            "SELECT a, s FROM t",
            &[&options[..], &["--on-error", "skip", "--format", "csv"]].concat(),
        );
        assert_eq!(done.status.code(), Some(0), "{what}: {}", done.stderr);
        assert_eq!(done.stdout, "a,s\n7,x\n", "{what}: {}", done.stderr);
        assert!(done.stderr.contains("1 rows left out"), "{what}: {}", done.stderr);
    }
}

#[test]
fn nesting_of_any_depth() {
    let home = Home::new();
    let depth = 400_000;
    let around = |open: &[u8], close: &[u8]| [open.repeat(depth), close.repeat(depth)].concat();
    let row = |before: &[u8], value: Vec<u8>, behind: &[u8]| [before, &value, behind].concat();
    let files = [
        ("a.jsonl", row(b"{\"a\":1}\n{\"a\":2,\"b\":", around(b"[", b"]"), b"}\n")),
        ("b.jsonl", row(b"{\"a\":1}\n{\"a\":2,\"b\":", around(b"{\"x\":", b"}"), b"}\n")),
        ("c.jsonl", row(b"{\"a\":1}\n{\"a\":2,\"b\":", b"[".repeat(depth), b"\n")),
        ("d.jsonl", row(b"[{\"a\":1},\n{\"a\":2,\"b\":", around(b"[{\"x\":", b"}]"), b"}]")),
        ("a.msgpack", row(b"\x81\xa1a\x01\x82\xa1a\x02\xa1b", b"\x91".repeat(depth), b"\xc0")),
        ("b.msgpack", row(b"\x81\xa1a\x01\x82\xa1a\x02\xa1b", b"\x81\xa1x".repeat(depth), b"\xc0")),
        ("a.cbor", row(b"\xa1\x61a\x01\xa2\x61a\x02\x61b", b"\x81".repeat(depth), b"\xf6")),
        ("b.cbor", row(b"\xa1\x61a\x01\xa2\x61a\x02\x61b", b"\x9f".repeat(depth), b"")),
        ("c.cbor", row(b"\xa1\x61a\x01\xa2\x61a\x02\x61b", b"\xc1".repeat(depth), b"\xf6")),
    ];
    for (name, bytes) in files {
        home.write(name, &bytes);
        for sql in ["SELECT * FROM", "SELECT count(*) FROM", "SELECT sum(a) FROM"] {
            let sql = format!("{sql} '{name}'");
            let done = home.query(&sql, &[]);
            // Either it is read as it is, or the row is named.
            let told = done.status.code() == Some(1) && done.stderr.contains(&format!("error: {name}"));
            assert!(told || done.status.code() == Some(0), "{sql}: {}\n{}", done.status, done.stderr);
            assert!(done.stderr.len() < 2000, "{sql}: a message has an end");
        }
    }
}

#[test]
fn bombs() {
    let home = Home::new();
    let megabytes = 256 << 20;
    // One line of zeros, and many short ones.
    home.sparse("line.txt", megabytes, &[(megabytes - 6, b"\nlast\n")]);
    home.write("lines.txt", &b"0\n".repeat(4 << 20));
    for compression in ["gzip", "zlib", "snappy", "lz4", "zstd"] {
        for name in ["line", "lines"] {
            let (from, to) = (format!("{name}.txt"), format!("{name}.{compression}"));
            let done = palais([
                "convert".as_ref(),
                home.path(&from).as_os_str(),
                home.path(&to).as_os_str(),
                "--to".as_ref(),
                "text".as_ref(),
                "--compression".as_ref(),
                compression.as_ref(),
                "--max-record".as_ref(),
                "1GiB".as_ref(),
            ]);
            assert_eq!(done.code(), Some(0), "{}", done.stderr);
        }
        let bomb = format!("line.{compression}");
        let options = |on_error| ["--max-record", "1MiB", "--on-error", on_error, "--from", "text"];
        let sql = format!("SELECT count(*) FROM '{bomb}'");
        let place =
            format!("error: {bomb}, row 1, byte 0: the record that begins here is longer than 1048576 bytes");
        home.fails(&sql, &options("fail"), &[&place]);
        let (rows, told) = home.rows(&sql, &options("skip"));
        assert_eq!(rows, "1", "{bomb}");
        assert!(told.contains("1 rows left out"), "{told}");
        let (rows, _) = home.rows(&format!("SELECT count(*) FROM 'lines.{compression}'"), &options("fail"));
        assert_eq!(rows, (4 << 20).to_string(), "lines.{compression}");
        fs::remove_file(home.path(&bomb)).expect("it was made");
    }
    // 100 streams of 45 MB of zeros, as `bzip2 -9` writes them.
    home.write("bomb.bz2", &unhex(&BZIP2.concat()).repeat(100));
    let options = ["--max-record", "1MiB", "--from", "text"];
    let place = "error: bomb.bz2, row 1, byte 0: the record that begins here is longer than 1048576 bytes";
    home.fails("SELECT count(*) FROM 'bomb.bz2'", &options, &[place]);
}

/// 45,000,000 zeros.
const BZIP2: &[&str] = &[
    "425a6839314159265359c901b6c80158ab4020c00010000008200030cc0529a6",
    "5248526c5492149e2ee48a70a12192036d90",
];

#[test]
fn text_that_is_not_as_it_should_be() {
    let home = Home::new();
    let rows = |name: &str, bytes: &[u8], sql: &str| {
        home.write(name, bytes);
        home.rows(&sql.replace('@', &format!("'{name}'")), &[])
    };
    // Bytes that are not UTF-8 become U+FFFD, and are counted; tests/csv_files.rs has those of csv.
    let bytes = b"{\"a\":1,\"b\":\"x\xff\xfey\"}\n{\"a\":2,\"b\":\"\xc3\"}\n";
    let (found, told) = rows("utf.jsonl", bytes, "SELECT a, b || '.' FROM @ ORDER BY a");
    assert_eq!(found.replace('"', ""), "1,x\u{fffd}\u{fffd}y.\n2,\u{fffd}.");
    assert!(told.contains("3 "), "{told}");
    // Line ends of all kinds, a byte order mark, and a last line without an end.
    let (found, _) = rows(
        "ends.csv",
        b"\xef\xbb\xbfa,b\r\n1,x\n2,y\r\n3,\"z\r\n\"\n4,w",
        "SELECT a, length(b) FROM @ ORDER BY a",
    );
    assert_eq!(found, "1,1\n2,1\n3,3\n4,1");
    let (found, _) = rows(
        "ends.jsonl",
        b"\xef\xbb\xbf{\"a\":1}\r\n\n{\"a\":2}\n\r\n{\"a\":3}",
        "SELECT sum(a), count(*) FROM @",
    );
    assert_eq!(found, "6,3");
    let (found, _) =
        rows("ends.log", b"\xef\xbb\xbfa\r\nb\n\nc\rd\r", "SELECT line FROM @ WHERE length(line) > 0");
    assert_eq!(found.replace('\r', "<cr>"), "a\nb\n\"c<cr>d\"");
    let (found, _) = rows("marks.log", b"\xef\xbb", "SELECT count(*) FROM @");
    assert_eq!(found, "1");
    // Nothing at all.
    home.write("empty.log", b"");
    assert_eq!(home.rows("SELECT count(*) FROM 'empty.log'", &[]).0, "0");
    for name in [
        "empty.csv",
        "empty.jsonl",
        "empty.msgpack",
        "empty.cbor",
        "empty.csv.gz",
        "empty.parquet",
        "empty.buren",
    ] {
        home.write(name, b"");
        home.fails(&format!("SELECT count(*) FROM '{name}'"), &[], &[name]);
    }
}

/// Starts a query that takes a while, waits until it has read some of its file, and lets `change` change that.
fn meanwhile(home: &Home, change: impl FnOnce(&Path)) -> Done {
    let line = b"a line that is looked at for a while,1234567\n";
    let path = home.path("long.csv");
    let mut file = File::create(&path).expect("a file can be made");
    file.write_all(b"a,b\n").expect("it can be written");
    for _ in 0..64 {
        file.write_all(&line.repeat(1 << 15)).expect("it can be written");
    }
    drop(file);
    let hashed = (0..12).fold("a".to_string(), |inner, _| format!("md5(concat({inner}, b))"));
    let child = home.start(&[
        "query",
        &format!("SELECT count(*), count({hashed}) FROM 'long.csv'"),
        "--workers",
        "1",
        "--format",
        "csv",
    ]);
    let read = || {
        let io = fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap_or_default();
        let line = io.lines().find_map(|line| line.strip_prefix("rchar: "));
        line.map_or(u64::MAX, |text| text.parse::<u64>().expect("a number"))
    };
    let start = Instant::now();
    while read() < 12 << 20 {
        assert!(start.elapsed() < PATIENCE, "it reads");
        sleep(Duration::from_millis(1));
    }
    change(&path);
    home.finish(child)
}

#[test]
fn a_file_that_changes_while_it_is_read() {
    let home = Home::new();
    let rows = 64 << 15;
    // What is appended is not seen.
    let done = meanwhile(&home, |path| {
        let mut file = File::options().append(true).open(path).expect("it is there");
        file.write_all(&b"more,1\n".repeat(1 << 16)).expect("it can be written");
    });
    assert_eq!(done.status.code(), Some(0), "{}", done.stderr);
    assert!(done.stdout.ends_with(&format!("\n{rows},{rows}\n")), "{}", done.stdout);
    // What was cut off is missed.
    let done = meanwhile(&home, |path| {
        let file = File::options().write(true).open(path).expect("it is there");
        file.set_len(70 << 20).expect("it can be cut");
    });
    assert_eq!((done.status.code(), done.stdout.as_str()), (Some(1), ""), "{}", done.stderr);
    let place = format!("error: long.csv, byte {}: the file ends here; it had ", 70 << 20);
    assert!(done.stderr.contains(&place), "{}", done.stderr);
    assert!(done.peak <= MOST, "{} MiB", done.peak >> 20);
}

/// A message of these bytes again and again, so many times, behind its length.
fn message_of(bytes: &[u8], times: usize) -> Vec<u8> {
    let message = bytes.repeat(times);
    let (mut length, mut whole) = (message.len(), Vec::new());
    while length >= 0x80 {
        whole.push(length as u8 | 0x80);
        length >>= 7;
    }
    whole.push(length as u8);
    [whole, message].concat()
}

#[test]
fn a_message_of_very_many_fields() {
    let home = Home::new();
    let wide: String = (1..=300).map(|number| format!("int32 f{number} = {number}; ")).collect();
    let proto = format!(
        "syntax = \"proto3\"; message W {{ {wide} }}
         message M {{ int32 a = 1; int32 b = 2; repeated W w = 3; repeated bool l = 4; map<int32, W> m = 5;
         repeated fixed32 f = 6; }}"
    );
    home.write("m.proto", proto.as_bytes());
    // Two fields in turn, each of which replaces the one before.
    home.write("turns.pb", &message_of(b"\x08\x01\x10\x02", 2 << 20));
    // Each empty message of two bytes is a struct of 300 values.
    home.write("empty.pb", &message_of(b"\x1a\x00", 64 << 10));
    home.write("entries.pb", &message_of(b"\x2a\x02\x12\x00", 64 << 10));
    // A list that claims more than it has.
    home.write("claims.pb", b"\x06\x32\xff\xff\xff\x7f\x00");
    let schema = |name: &str| format!("{name}=m.proto#M");
    let turns = ["--schema", &schema("turns.pb"), "--memory-limit", "64MiB"];
    home.fails(
        "SELECT a FROM 'turns.pb'",
        &turns,
        &["error: out of memory: turns.pb: a message of more than"],
    );
    let known = ["--schema", &schema("turns.pb"), "--max-record", "1MiB"];
    home.fails("SELECT a FROM 'turns.pb'", &known, &["turns.pb, row 1", "longer than 1048576 bytes"]);
    for name in ["empty.pb", "entries.pb"] {
        let options = ["--schema", &schema(name), "--max-record", "4MiB"];
        let said = "take more bytes than --max-record allows";
        home.fails(&format!("SELECT count(w), count(m) FROM '{name}'"), &options, &[name, "row 1", said]);
    }
    home.fails(
        "FROM 'claims.pb'",
        &["--schema", &schema("claims.pb")],
        &["claims.pb, row 1", "goes on behind the end"],
    );
    // A list of what takes a byte a value.
    home.write("list.pb", &message_of(b"\x20\x01", 64 << 10));
    let list = ["--schema", &schema("list.pb")];
    assert_eq!(home.rows("SELECT len(l), list_max(l) FROM 'list.pb'", &list).0, "65536,true");
}
