//! Files that are cut for several workers: those of other tools and those of palais, lone and in datasets, give the same
//! rows with any number of workers; EXPLAIN tells how; damage is noticed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use process::{Finished, palais, run};

#[path = "support/process.rs"]
mod process;

/// Records of which a fifth hold newlines and quotes; what stands between does not compress well.
fn csv(rows: u64) -> String {
    let mut text = String::new();
    let mut seed = 1u64;
    for row in 0..rows {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let word = format!("{:016x}", seed ^ seed >> 31);
        let value = match row % 5 {
            0 => format!("\"{word}\n\"\"{row}\"\", {word}\""),
            _ => format!("{word} {}", seed >> 40),
        };
        text.push_str(&format!("{row},{value},{}.5\n", seed % 1000));
    }
    text
}

const ROWS: u64 = 120_000;
const QUERY: &str = "SELECT count(*), sum(column1), sum(length(column2)), max(column2), sum(column3) FROM";

fn query(path: &Path, workers: usize) -> Finished {
    let workers = workers.to_string();
    let sql = format!("{QUERY} '{}'", path.display());
    palais(["query", "--workers", &workers, "--header", "no", &sql])
}

fn answer(path: &Path, workers: usize) -> String {
    let done = query(path, workers);
    assert_eq!(done.code(), Some(0), "{}: {}\n{}", path.display(), done.ending(), done.stderr);
    done.stdout
}

fn explained(path: &Path) -> String {
    let done = palais(["query", "--header", "no", &format!("EXPLAIN {QUERY} '{}'", path.display())]);
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    done.stdout
}

/// Runs a command whose output goes to a file.
fn tool(command: &str, path: &Path) {
    let done = run(Command::new("sh").arg("-c").arg(format!("({command}) > '{}'", path.display())));
    assert_eq!(done.code(), Some(0), "{command}: {} (apt-get install gzip bzip2 lz4 zstd)", done.stderr);
}

fn python(script: &str, arguments: &[&Path]) {
    let python = std::env::var("PALAIS_PYTHON").unwrap_or_else(|_| ".venv/bin/python".into());
    let done = run(Command::new(python).arg("-c").arg(script).args(arguments));
    assert_eq!(done.code(), Some(0), "`make venv` installs what it needs: {}", done.stderr);
}

/// The plain file, and the answer to the query over it.
fn plain(home: &Path) -> (PathBuf, String) {
    let path = home.join("t.csv");
    fs::write(&path, csv(ROWS)).unwrap();
    let expected = answer(&path, 1);
    assert!(expected.contains(&ROWS.to_string()), "{expected}");
    (path, expected)
}

#[test]
fn files_of_other_tools_are_read_by_all_workers() {
    let home = tempfile::tempdir().unwrap();
    let (path, expected) = plain(home.path());
    let shown = path.display();
    let half = ROWS as usize * 20;
    for (suffix, command, how) in [
        ("gz", format!("gzip -c '{shown}'"), "in turns"),
        ("bz2", format!("bzip2 -c '{shown}'"), "in turns"),
        ("zst", format!("zstd -q -c '{shown}'"), "in blocks by their headers"),
        (
            "1.zst",
            format!("head -c {half} '{shown}' | zstd -q -c; tail -c +{} '{shown}' | zstd -q -c", half + 1),
            "in turns",
        ),
        ("lz4", format!("lz4 -q -c '{shown}'"), "in turns"),
        ("1.lz4", format!("lz4 -q -c -BD --no-frame-crc '{shown}'"), "in turns"),
        (
            "1.gz",
            format!("head -c {half} '{shown}' | gzip -c; tail -c +{} '{shown}' | gzip -c", half + 1),
            "in turns",
        ),
    ] {
        let packed = home.path().join(format!("other.csv.{suffix}"));
        tool(&command, &packed);
        assert!(explained(&packed).contains(how), "{command}: {}", explained(&packed));
        for workers in [1, 2, 3] {
            assert_eq!(answer(&packed, workers), expected, "{command} with {workers} workers");
        }
    }
    let script = "import sys, zlib\nb = open(sys.argv[1], 'rb').read()\n\
                  open(sys.argv[2], 'wb').write(zlib.compress(b))\n\
                  c = zlib.compressobj(wbits=-15)\nopen(sys.argv[3], 'wb').write(c.compress(b) + c.flush())\n\
                  import snappy\ns = snappy.StreamCompressor()\nopen(sys.argv[4], 'wb').write(s.compress(b))";
    let [zlib, raw, snappy] =
        ["z.csv.deflate", "r.csv.deflate", "s.csv.sz"].map(|name| home.path().join(name));
    python(script, &[&path, &zlib, &raw, &snappy]);
    for (packed, how) in [(zlib, "in turns"), (raw, "in turns"), (snappy, "in blocks by their headers")] {
        assert!(explained(&packed).contains(how), "{}", explained(&packed));
        for workers in [1, 2, 3] {
            assert_eq!(answer(&packed, workers), expected, "{} with {workers} workers", packed.display());
        }
    }
}

/// Workers that have enough leave their turns to the others.
#[test]
fn limits_end_early_and_never_hang() {
    let home = tempfile::tempdir().unwrap();
    let (path, _) = plain(home.path());
    let packed = home.path().join("t.csv.gz");
    tool(&format!("gzip -c '{}'", path.display()), &packed);
    for workers in ["1", "2", "3", "5"] {
        for limit in [1, 10, 9000, 50_000] {
            let sql = format!("SELECT column1 FROM '{}' LIMIT {limit}", packed.display());
            let done = palais(["query", "--workers", workers, "--header", "no", &sql]);
            assert_eq!((done.code(), done.stdout.lines().count()), (Some(0), limit + 1), "{}", done.stderr);
        }
    }
}

#[test]
fn other_tools_read_what_is_written_and_so_do_all_workers() {
    let home = tempfile::tempdir().unwrap();
    let (path, expected) = plain(home.path());
    let script = "import sys, zlib, snappy\nb = open(sys.argv[1], 'rb').read()\n\
                  d = zlib.decompress if sys.argv[1].endswith('zz') else snappy.StreamDecompressor().decompress\n\
                  open(sys.argv[2], 'wb').write(d(b))";
    for (name, suffix, how) in [
        ("gzip", "gz", "in blocks by their headers"),
        ("zlib", "zz", "in turns"),
        ("snappy", "sz", "in blocks by their headers"),
        ("lz4", "lz4", "in blocks by their headers"),
        ("zstd", "zst", "in blocks by their headers"),
    ] {
        let packed = home.path().join(format!("t.csv.{suffix}"));
        let dataset = home.path().join(format!("dataset-{suffix}"));
        for to in [&packed, &dataset] {
            let arguments =
                ["convert", "--header", "no", "--no-header", "--to", "csv", "--compression", name];
            let paths = [path.as_os_str(), to.as_os_str()];
            let done = palais(arguments.iter().map(std::ffi::OsStr::new).chain(paths));
            assert_eq!(done.code(), Some(0), "{}", done.stderr);
        }
        let unpacked = home.path().join("unpacked");
        match name {
            "gzip" => tool(&format!("gzip -dc '{}'", packed.display()), &unpacked),
            "lz4" | "zstd" => tool(&format!("{name} -q -dc '{}'", packed.display()), &unpacked),
            _ => python(script, &[&packed, &unpacked]),
        }
        assert_eq!(answer(&unpacked, 1), expected, "{name}");
        assert!(explained(&packed).contains(how), "{}", explained(&packed));
        assert!(explained(&dataset).contains("in blocks by the manifest"), "{}", explained(&dataset));
        for workers in [1, 2, 3] {
            assert_eq!(answer(&packed, workers), expected, "{name} with {workers} workers");
            assert_eq!(answer(&dataset, workers), expected, "a dataset of {name} with {workers} workers");
        }
    }
}

#[test]
fn damage_within_a_dataset_is_noticed_by_its_manifest() {
    let home = tempfile::tempdir().unwrap();
    let (path, _) = plain(home.path());
    for name in ["none", "snappy", "zlib"] {
        let dataset = home.path().join(name);
        let arguments = ["convert", "--header", "no", "--no-header", "--to", "csv", "--compression", name];
        let paths = [path.as_os_str(), dataset.as_os_str()];
        let done = palais(arguments.iter().map(std::ffi::OsStr::new).chain(paths));
        assert_eq!(done.code(), Some(0), "{}", done.stderr);
        let part = fs::read_dir(&dataset)
            .unwrap()
            .map(|e| e.unwrap().path())
            .find(|p| !p.ends_with("_manifest.json"));
        let part = part.unwrap();
        let bytes = fs::read(&part).unwrap();
        // The first and the last byte, and some between: a digit that becomes another would be a value like any.
        for at in [0, bytes.len() / 3, bytes.len() / 2, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            fs::write(&part, &damaged).unwrap();
            for workers in [1, 2] {
                let done = query(&dataset, workers);
                assert_eq!(done.code(), Some(1), "{name} {at}: {}", done.stdout);
                assert!(done.stderr.contains("checksum in the manifest"), "{name} {at}: {}", done.stderr);
            }
        }
        fs::write(&part, &bytes).unwrap();
        assert_eq!(query(&dataset, 2).code(), Some(0));
    }
}

#[test]
fn small_files_fill_batches_together() {
    let home = tempfile::tempdir().unwrap();
    let (path, expected) = plain(home.path());
    let text = fs::read_to_string(&path).unwrap();
    let many = home.path().join("many");
    let headed = home.path().join("headed");
    for dir in [&many, &headed] {
        fs::create_dir(dir).unwrap();
    }
    // A record begins where a line begins with its number and the line before is no part of quotes.
    let mut records: Vec<&str> = Vec::new();
    let mut rest = text.as_str();
    for row in 1..ROWS {
        let next = rest.find(&format!("\n{row},")).unwrap() + 1;
        records.push(&rest[..next]);
        rest = &rest[next..];
    }
    records.push(rest);
    for (number, some) in records.chunks(97).enumerate() {
        fs::write(many.join(format!("{number:05}.csv")), some.concat()).unwrap();
        let headed = headed.join(format!("{number:05}.csv"));
        fs::write(headed, format!("column1,column2,column3\n{}", some.concat())).unwrap();
    }
    for workers in [1, 2, 3] {
        assert_eq!(answer(&many, workers), expected, "{workers} workers");
        let sql = format!("{QUERY} '{}'", headed.display());
        let done = palais(["query", "--workers", &workers.to_string(), &sql]);
        assert_eq!(done.stdout, expected, "{}", done.stderr);
    }
    // An error names the file and the row within it.
    let bad = many.join("00007.csv");
    let text = fs::read_to_string(&bad).unwrap();
    let spoiled = text.replacen(&format!("\n{},", 7 * 97 + 20), "\nx,", 1);
    assert_ne!(spoiled, text);
    fs::write(&bad, spoiled).unwrap();
    for workers in [1, 2] {
        let done = query(&many, workers);
        assert_eq!(done.code(), Some(1));
        assert!(done.stderr.contains("00007.csv, row 21"), "{}", done.stderr);
    }
}
