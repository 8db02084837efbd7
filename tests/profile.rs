//! `palais query --profile`: a flame graph of a run.

#[path = "support/process.rs"]
mod process;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use process::palais;

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the directory can be listed");
    entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

/// Takes some seconds of processor time on two workers.
const LONG: &str = "SELECT range % 1000 AS k, count(*), max(sqrt(range)) FROM range(20000000) GROUP BY 1";

#[test]
fn the_functions_that_take_the_time_are_in_the_picture() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let path = home.path().join("flame.svg").display().to_string();
    let plain = palais(["query", &format!("{LONG} ORDER BY 1"), "--workers", "2"]);
    let done = palais(["query", &format!("{LONG} ORDER BY 1"), "--workers", "2", "--profile", &path]);
    assert_eq!(done.code(), Some(0), "it {}: {}", done.ending(), done.stderr);
    assert!(done.stdout == plain.stdout, "the result is the same");
    assert_eq!(names(home.path()), ["flame.svg"]);
    let svg = fs::read_to_string(&path).expect("it was written");
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{svg:.200}");
    assert!(svg.contains("SELECT range % 1000 AS k"), "{svg:.600}");
    assert!(svg.contains("aggregate"), "the aggregation takes most of the time");
    // An XML parser other than ours reads it, and boxes lie within those that they stand upon.
    let script = "import sys, xml.dom.minidom as m\n\
        d = m.parse(sys.argv[1])\n\
        b = [(g, g.getElementsByTagName('rect')[0]) for g in d.getElementsByTagName('g') if g.hasAttribute('data-x')]\n\
        rows = {}\n\
        for g, r in b: rows.setdefault(float(r.getAttribute('y')), []).append((float(g.getAttribute('data-x')), float(g.getAttribute('data-w'))))\n\
        ys = sorted(rows, reverse=True)\n\
        assert len(b) > 20 and len(ys) > 10, (len(b), len(ys))\n\
        for below, above in zip(ys, ys[1:]):\n\
        \x20   assert all(any(x >= p - .1 and x + w <= p + q + .1 for p, q in rows[below]) for x, w in rows[above])\n";
    let read = Command::new("python3")
        .args(["-c", script, &path])
        .stderr(Stdio::piped())
        .output()
        .expect("python3 runs");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}

#[test]
fn a_file_that_can_not_be_written_is_told_before_the_query_runs() {
    let home = tempfile::tempdir().expect("a directory can be made");
    let path = |name: &str| home.path().join(name).display().to_string();
    // This query would never end.
    let endless = "SELECT count(*) FROM range(9000000000000000000) WHERE sqrt(range) < 0";
    fs::write(path("there.svg"), "mine").expect("a file can be written");
    let done = palais(["query", endless, "--profile", &path("there.svg")]);
    assert_eq!(done.code(), Some(1), "it {}", done.ending());
    assert!(
        done.stderr.contains("there.svg: the file exists") && done.stderr.contains("--overwrite"),
        "{}",
        done.stderr
    );
    let done = palais(["query", endless, "--profile", &path("there.svg/x.svg")]);
    assert_eq!(done.code(), Some(1), "it {}: {}", done.ending(), done.stderr);
    let done = palais(["query", "SHOW TABLES", "--profile", &path("x.svg")]);
    assert!(done.code() == Some(2) && done.stderr.contains("--profile has no use"), "{}", done.stderr);
    // A query that fails leaves none.
    let done =
        palais(["query", "SELECT CAST('x' || range AS INTEGER) FROM range(9)", "--profile", &path("x.svg")]);
    assert_eq!(done.code(), Some(1), "it {}", done.ending());
    assert_eq!(names(home.path()), ["there.svg"]);
    assert_eq!(fs::read_to_string(path("there.svg")).expect("it is there"), "mine");
    let done = palais(["query", "SELECT 1", "--profile", &path("there.svg"), "--overwrite"]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    assert!(fs::read_to_string(path("there.svg")).expect("it is there").contains("</svg>"));
}
