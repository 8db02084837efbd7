//! `palais generate` and `palais convert` as commands: what they leave when they are stopped, and how they refuse.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use parquet::file::reader::{FileReader, SerializedFileReader};
use process::palais;

#[path = "support/process.rs"]
mod process;

/// The names in a directory, hidden ones included.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the directory is there");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Starts to generate a table that takes hours, and waits until some of it is written.
fn generate_for_hours(out: &Path) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_palais"))
        .args(["generate", "--rankings", "1000000000000", "--parts", "3", "--workers", "2"])
        .arg(out)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("palais starts");
    let partial = out.join(format!(".rankings.partial-{}", child.id())).join("part-00000.csv");
    let start = Instant::now();
    while fs::metadata(&partial).map_or(0, |m| m.len()) < 1_000_000 {
        assert!(start.elapsed() < Duration::from_secs(600), "nothing is written");
        assert!(child.try_wait().expect("a child can be waited for").is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

fn generate(out: &Path) {
    let done =
        palais(["generate", out.to_str().expect("text"), "--rankings", "1000", "--uservisits", "5000"]);
    let given = (done.code(), done.stdout.as_str());
    assert_eq!(given, (Some(0), ""), "{} {}", done.ending(), done.stderr);
}

#[test]
fn a_killed_process_leaves_no_table_and_the_next_one_cleans_up() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let out = home.path().join("out");
    let mut child = generate_for_hours(&out);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    assert_eq!(names(&out).len(), 1, "only the hidden remains");
    generate(&out);
    assert_eq!(names(&out), ["rankings", "uservisits"]);
}

#[test]
fn an_interrupt_leaves_nothing_and_is_told_by_the_exit_code() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    for signal in ["-INT", "-TERM"] {
        let mut child = generate_for_hours(home.path());
        let start = Instant::now();
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(130));
        assert!(start.elapsed() < Duration::from_secs(600), "it ends soon");
        assert!(names(home.path()).is_empty());
    }
}

#[test]
fn generated_tables_are_converted_and_refused_as_the_flags_say() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name).to_string_lossy().into_owned();
    generate(Path::new(&path("csv")));
    let visits = path("csv/uservisits");
    let code = |arguments: &[&str]| {
        let done = palais(arguments);
        (done.code(), done.stderr)
    };
    let (done, said) = code(&["convert", &visits, &path("new/visits.parquet"), "--compression", "zstd"]);
    assert_eq!(done, Some(0), "{said}");
    assert!(said.contains("5,000 rows") && said.contains("1 file,"), "{said}");
    let (done, _) = code(&["convert", &path("new/visits.parquet"), &path("back.csv.gz"), "--no-header"]);
    assert_eq!(done, Some(0));
    let back = Command::new("gzip").args(["-dc", &path("back.csv.gz")]).output().expect("gzip runs").stdout;
    assert_eq!(back, fs::read(path("csv/uservisits/part-00000.csv")).expect("it was generated"));

    let (done, said) = code(&["convert", &visits, &path("new/visits.parquet")]);
    assert!(done == Some(1) && said.contains("--overwrite"), "{said}");
    let (done, _) = code(&["convert", &visits, &path("new/visits.parquet"), "--overwrite"]);
    assert_eq!(done, Some(0));
    let (done, said) = code(&["convert", &visits, &path("x")]);
    assert!(done == Some(2) && said.contains("--to ENCODING"), "{said}");
    let (done, said) = code(&["convert", &path("csv/uservisit"), &path("x"), "--to", "csv"]);
    assert!(done == Some(1) && said.contains("uservisit"), "{said}");
    let (done, said) = code(&["generate", &path("csv"), "--rankings", "10"]);
    assert!(done == Some(1) && said.contains("not empty"), "{said}");
    let (done, said) = code(&["generate", &path("y"), "--uservisits", "10"]);
    assert!(done == Some(2) && said.contains("--rankings"), "{said}");
    assert_eq!(names(home.path()), ["back.csv.gz", "csv", "new"]);
}

#[test]
fn parquet_is_compressed_as_it_is_asked_for_or_with_snappy() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name).to_string_lossy().into_owned();
    fs::write(path("t.csv"), "a,b\n".to_string() + &"1,one\n".repeat(10_000)).expect("it can be written");
    let (from, select) = (path("t.csv"), format!("SELECT * FROM '{}'", path("t.csv")));
    let copy = |name: &str, options: &str| format!("COPY ({select}) TO '{}' {options}", path(name));
    for (name, arguments, expected) in [
        ("a.parquet", vec!["convert".into(), from.clone(), path("a.parquet")], "SNAPPY"),
        (
            "b.parquet",
            vec!["convert".into(), from.clone(), path("b.parquet"), "--compression".into(), "none".into()],
            "UNCOMPRESSED",
        ),
        ("c.parquet", vec!["query".into(), copy("c.parquet", "")], "SNAPPY"),
        ("d.parquet", vec!["query".into(), copy("d.parquet", "(COMPRESSION none)")], "UNCOMPRESSED"),
        ("e.pq", vec!["query".into(), select.clone(), "--output".into(), path("e.pq")], "SNAPPY"),
        (
            "f.pq",
            vec![
                "query".into(),
                select.clone(),
                "-o".into(),
                path("f.pq"),
                "--compression".into(),
                "zstd".into(),
            ],
            "ZSTD",
        ),
    ] {
        let done = palais(arguments);
        assert_eq!(done.code(), Some(0), "{name}: {}", done.stderr);
        let file = fs::File::open(path(name)).expect("it was written");
        let footer = SerializedFileReader::new(file).expect("it is Parquet");
        let compression = footer.metadata().row_group(0).column(0).compression().to_string();
        assert!(compression.starts_with(expected), "{name}: {compression}");
    }
}

#[test]
fn encodings_have_the_names_of_their_suffixes_too() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| home.path().join(name).to_string_lossy().into_owned();
    fs::write(path("t"), "{\"a\":1}\n{\"a\":2}\n").expect("it can be written");
    for name in ["json", "ndjson", "jsonl"] {
        let done = palais(["convert", &path("t"), &path(name), "--from", name, "--to", name]);
        assert_eq!(done.code(), Some(0), "{name}: {}", done.stderr);
        let part = Path::new(&path(name)).join("part-00000.jsonl");
        assert_eq!(fs::read_to_string(part).expect("it was written"), "{\"a\":1}\n{\"a\":2}\n");
    }
    let done = palais(["query", "SELECT 1 AS a", "--format", "ndjson"]);
    assert_eq!(done.stdout, "{\"a\":1}\n", "{}", done.stderr);
    let done = palais(["query", &format!("COPY (SELECT 1 AS a) TO '{}' (FORMAT ndjson)", path("x"))]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    assert_eq!(fs::read_to_string(path("x")).expect("it was written"), "{\"a\":1}\n");
    // A name that says lines goes before the name that both may have.
    let done = palais(["query", &format!("COPY (SELECT 1 AS a) TO '{}' (FORMAT json)", path("x.ndjson"))]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    assert_eq!(fs::read_to_string(path("x.ndjson")).expect("it was written"), "{\"a\":1}\n");
}
