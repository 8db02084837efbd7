//! Groups that do not fit the memory limit are put on disk: the answers are DuckDB's, by one process and by several, and
//! what can't be put there is told.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use disk::Disk;
use names::names;
use process::{Finished, run};
use several::{succeed, text};

#[path = "support/disk.rs"]
mod disk;
#[path = "support/names.rs"]
mod names;
#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

/// Keys and states of one width, of several, and no states; with a limit, in MiB, that their groups do not fit.
const QUERIES: [(&str, u32); 3] = [
    ("SELECT SUBSTR(sourceIP, 1, 12) AS a, SUM(adRevenue) AS n FROM uservisits GROUP BY 1", 64),
    (
        "SELECT sourceIP AS a, destURL AS b, CAST(max(visitDate) AS VARCHAR) AS c, max(userAgent) AS d, count(*) AS e, \
         avg(duration) AS n FROM uservisits GROUP BY 1, 2",
        240,
    ),
    ("SELECT DISTINCT sourceIP AS a, destURL AS b, 0 AS n FROM uservisits", 160),
];

/// One worker, several, and several processes.
const WAYS: [&[&str]; 3] = [
    &["query", "--workers", "1"],
    &["query", "--workers", "3"],
    &["cluster", "run", "--local", "2", "--workers", "1", "--timeout", "120"],
];

/// Whether files have the rows of DuckDB's answer on what it reads, but for the last bits of a number.
const COMPARE: &str = "
import duckdb, sys
table, sql, least, *answers = sys.argv[1:]
c = duckdb.connect()
c.sql(f\"CREATE VIEW uservisits AS FROM '{table}'\")
c.sql(f'CREATE TABLE expected AS {sql}')
using = ', '.join(k[0] for k in c.sql('DESCRIBE expected').fetchall() if k[0] != 'n')
for answer in answers:
    [(differ, rows)] = c.sql(f'''SELECT count(*) FILTER (x.n IS NULL OR y.n IS NULL OR abs(x.n - y.n) > 1e-9 * abs(x.n)), count(*)
        FROM expected x FULL JOIN '{answer}' y USING ({using})''').fetchall()
    assert differ == 0 and rows >= int(least), (answer, differ, rows)
";

fn python(script: &str, arguments: &[&str]) {
    let python = std::env::var("PALAIS_PYTHON").unwrap_or_else(|_| ".venv/bin/python".into());
    let done = run(Command::new(python).args(["-c", script]).args(arguments));
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
}

/// A number of `--stats`.
fn figure(stats: &Path, name: &str) -> u64 {
    let stats = std::fs::read_to_string(stats).expect("palais wrote it");
    let stats: serde_json::Value = serde_json::from_str(&stats).expect("it is JSON");
    stats[name].as_u64().expect("it is a number")
}

#[test]
fn groups_beyond_the_limit_are_those_of_duckdb() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name);
    succeed(&[
        "generate",
        text(&path("data")),
        "--rankings",
        "90000",
        "--uservisits",
        "1200000",
        "--to",
        "buren",
    ]);
    let (visits, stats) = (path("visits.parquet"), path("stats"));
    let answers = ["one.parquet", "three.parquet", "two_processes.parquet"].map(&path);
    succeed(&["convert", text(&path("data").join("uservisits")), text(&visits)]);
    let data = path("data");
    for (sql, limit) in QUERIES {
        for (way, answer) in WAYS.iter().zip(&answers) {
            // Several processes share it, and each has rows on their way.
            let limit = if way[0] == "cluster" { limit * 4 / 3 } else { limit };
            let limit = ["--memory-limit", &format!("{limit}MiB"), "--data", text(&data)];
            let files = ["--output", text(answer), "--overwrite", "--stats", text(&stats)];
            succeed(&[way, &limit[..], &files, &[sql]].concat());
            let spilled = figure(&stats, "bytes_spilled");
            assert!(spilled > 1 << 20, "{way:?} put {spilled} bytes on disk for {sql}");
        }
        let [one, three, two] = &answers;
        python(COMPARE, &[text(&visits), sql, "1140000", text(one), text(three), text(two)]);
    }
}

#[test]
fn few_groups_that_are_large_are_those_of_duckdb() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name);
    let (table, stats) = (path("table.csv"), path("stats"));
    let answers = ["one.parquet", "three.parquet", "two_processes.parquet"].map(&path);
    std::fs::write(&table, "a\n1\n").expect("a temporary file can be written");
    let sql = "SELECT range % 200 AS a, count(*) AS b, median(range) AS n FROM range(60000000) GROUP BY 1";
    for (way, answer) in WAYS.iter().zip(&answers) {
        let limit = ["--memory-limit", "400MiB"];
        let files = ["--output", text(answer), "--overwrite", "--stats", text(&stats)];
        succeed(&[way, &limit[..], &files, &[sql]].concat());
        let spilled = figure(&stats, "bytes_spilled");
        assert!(spilled > 1 << 20, "{way:?} put {spilled} bytes on disk");
    }
    let [one, three, two] = &answers;
    python(COMPARE, &[text(&table), sql, "200", text(one), text(three), text(two)]);
}

/// 20 million groups, with what is to be seen as the directory for what does not fit.
fn many(directory: &Path) -> Command {
    let sql =
        "SELECT count(*), sum(n) FROM (SELECT range, count(*) AS n FROM range(20000000) GROUP BY range)";
    let mut command = Command::new(env!("CARGO_BIN_EXE_palais"));
    command.args(["query", sql, "--workers", "2", "--memory-limit", "64MiB"]).env("TMPDIR", directory);
    command
}

fn refused(done: &Finished, parts: &[&str]) {
    assert_eq!(done.code(), Some(1), "{}: {}", done.ending(), done.stderr);
    assert!(parts.iter().all(|part| done.stderr.contains(part)), "{parts:?}: {}", done.stderr);
    assert_eq!((done.stderr.matches("error:").count(), done.stdout.as_str()), (1, ""), "{}", done.stderr);
}

#[test]
fn what_is_put_on_disk_is_told() {
    let sql = "EXPLAIN ANALYZE SELECT DISTINCT range FROM range(20000000)";
    let done = succeed(&["query", sql, "--workers", "2", "--memory-limit", "100MiB"]);
    assert!(done.stdout.contains("did not fit the memory and were put on disk"), "{}", done.stdout);
    assert!(done.stdout.contains("20,000,000 "), "{}", done.stdout);
}

#[test]
fn where_nothing_can_be_put_on_disk_the_error_says_so() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let nowhere = home.path().join("nowhere");
    let parts =
        ["out of memory: final aggregate", "group by fewer", text(&nowhere), "No such file", "set TMPDIR"];
    refused(&run(&mut many(&nowhere)), &parts);
}

#[test]
fn a_partition_beyond_the_limit_is_an_error() {
    let palais = |sql: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palais"));
        command.args(["query", sql, "--workers", "2", "--memory-limit", "64MiB", "--format", "csv"]);
        run(&mut command)
    };
    let whole = "SELECT max(s) FROM (SELECT sum(range) OVER () AS s FROM range(20000000))";
    refused(&palais(whole), &["out of memory: window by [] order []", "PARTITION BY more"]);
    let sorted = "SELECT max(r) FROM (SELECT median(range) OVER (ORDER BY -range) AS r FROM range(20000000))";
    refused(&palais(sorted), &["out of memory: ", "read fewer columns or rows"]);
    // What sees the rows so far, or a few around a row, keeps no more than these.
    let few = "SELECT max(n), sum(s), count(l) FROM (SELECT row_number() OVER () AS n, \
               sum(range) OVER (ROWS BETWEEN 10 PRECEDING AND 10 FOLLOWING) AS s, lag(range, 1000) OVER () AS l \
               FROM range(20000000))";
    let done = palais(few);
    assert_eq!(done.code(), Some(0), "{}: {}", done.ending(), done.stderr);
    assert!(done.stdout.ends_with("\n20000000,4199998690000055,19999000\n"), "{}", done.stdout);
}

#[test]
fn a_disk_that_is_full_is_told_and_nothing_is_left() {
    let Some(disk) = Disk::small() else { return };
    let done = run(&mut many(disk.path()));
    let parts =
        [text(disk.path()), "cannot be put there: No space left on device", "set TMPDIR", "--memory-limit"];
    refused(&done, &parts);
    assert_eq!(names(disk.path()), [""; 0]);
    // With room enough, and killed in the midst.
    disk.remount("size=1g");
    let used = || {
        let done = Command::new("df").arg("--output=used").arg(disk.path()).output().expect("df starts");
        let told = String::from_utf8_lossy(&done.stdout).into_owned();
        told.lines().last().and_then(|line| line.trim().parse::<u64>().ok()).expect("a number of KiB")
    };
    let mut killed = many(disk.path()).stdout(Stdio::null()).spawn().expect("palais starts");
    let deadline = Instant::now() + Duration::from_secs(600);
    while used() == 0 {
        assert!(killed.try_wait().expect("it can be waited for").is_none(), "nothing is put on disk");
    }
    killed.kill().and_then(|()| killed.wait()).expect("it can be killed");
    while used() > 0 {
        assert!(Instant::now() < deadline, "something is left");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(names(disk.path()), [""; 0]);
}
