//! A node with `data_root` does not so much as look at anything else: whatever a caller names, the message is the same
//! whether there is something or not, and strace sees no call of the node that names it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use chance::Chance;
use nodes::Nodes;
use process::Finished;
use several::text;

#[path = "support/cells.rs"]
mod cells;
#[path = "support/chance.rs"]
mod chance;
#[path = "support/nodes.rs"]
#[allow(dead_code, reason = "other tests look at nodes more closely")]
mod nodes;
#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
#[allow(dead_code, reason = "other tests start several processes")]
mod several;

/// Names outside: the first one is there.
const NAMES: [&str; 2] = ["exists", "missing"];

/// In how many ways a node is asked.
const WAYS: usize = 14;

/// How often a node is asked again that was silent.
const TRIES: usize = 20;

/// A data root with files and links, and a directory beside it.
struct Trees {
    home: PathBuf,
    data: PathBuf,
    outside: PathBuf,
}

impl Trees {
    fn make(home: &Path) -> Trees {
        let home = home.canonicalize().expect("it is there");
        let (data, outside) = (home.join("data"), home.join("outside"));
        for directory in ["a/b", "set"] {
            fs::create_dir_all(data.join(directory)).expect("it can be made");
        }
        for directory in ["exists", "exists/set"] {
            fs::create_dir_all(outside.join(directory)).expect("it can be made");
        }
        for file in [
            data.join("x.csv"),
            data.join("a/x.csv"),
            outside.join("exists/x.csv"),
            outside.join("exists.csv"),
        ] {
            fs::write(file, "n\n1\n").expect("it can be written");
        }
        fs::create_dir(data.join("linked")).expect("it can be made");
        for (target, link) in [
            (outside.join("exists.csv"), "linked/_manifest.json"),
            (outside.clone(), "absolute"),
            ("../outside".into(), "relative"),
            ("../../outside".into(), "a/deeper"),
            (outside.join("exists.csv"), "there.csv"),
            (outside.join("missing.csv"), "gone.csv"),
        ] {
            symlink(target, data.join(link)).expect("it can be made");
        }
        Trees { home, data, outside }
    }

    /// Whether a call that names this path, in the directory of the node, looks outside.
    fn is_outside(&self, path: &str) -> bool {
        let mut real = PathBuf::new();
        for component in self.data.join(path).components() {
            match component {
                Component::ParentDir => drop(real.pop()),
                other => real.push(other),
            }
        }
        // Through the links too, by their names.
        let by_link = ["absolute", "relative", "a/deeper"].map(|link| self.data.join(link));
        let is_below = by_link.iter().any(|link| real != *link && real.starts_with(link));
        is_below || real.starts_with(&self.outside) || text(&real).starts_with("/etc/pass")
    }
}

/// One of these words.
fn one_of<'a>(chance: &mut Chance, words: &[&'a str]) -> &'a str {
    words[chance.below(words.len())]
}

/// A path that leads outside, or may; `NAME` in it stands for one of the names there.
fn path(chance: &mut Chance, trees: &Trees) -> String {
    let start = match chance.below(6) {
        0 => text(&trees.outside).to_string(),
        1 => format!(
            "{}/{}",
            text(&trees.data),
            one_of(chance, &["absolute", "relative", "../outside", "a/../relative"])
        ),
        2 => format!("{}/outside", text(&trees.home)),
        _ => one_of(
            chance,
            &[
                "absolute",
                "relative",
                "a/deeper",
                "../outside",
                "a/../../outside",
                "./a/b/../../../outside",
                "set/../absolute",
                "a//b/..//deeper",
                "none/../../outside",
                "../data/../outside",
            ],
        )
        .to_string(),
    };
    let end = one_of(
        chance,
        &[
            "NAME.csv",
            "NAME",
            "NAME/",
            "NAME/x.csv",
            "NAME/set",
            "NAME*",
            "NAME/*.csv",
            "NAME?csv",
            "[N]AME/**",
            "NAME/../NAME.csv",
        ],
    );
    format!("{start}/{}", end.replace("[N]AME", "[em]xists"))
}

/// Asks a node for what lies at a path, in one of many ways, and again if it did not answer in time: it is traced, and the
/// machine may be busy.
fn ask(nodes: &Nodes, way: usize, path: &str) -> Finished {
    let is_silent = |done: &Finished| done.stderr.contains("nothing was heard of the query for");
    let mut done = ask_once(nodes, way, path);
    for _ in 0..TRIES {
        if !is_silent(&done) {
            break;
        }
        done = ask_once(nodes, way, path);
    }
    done
}

fn ask_once(nodes: &Nodes, way: usize, path: &str) -> Finished {
    let select = format!("SELECT * FROM '{path}'");
    match way {
        0 => nodes.query(0, &[&select]),
        1 => nodes.query(0, &["SELECT 1", "--data", path]),
        2 => nodes.query(0, &["SELECT * FROM t", "--table", &format!("t={path}")]),
        3 => nodes.query(0, &["SELECT * FROM t", "--table", "t=x.csv", "--schema", &format!("t={path}")]),
        4 => nodes.query(0, &[&format!("COPY (SELECT 1 AS a) TO '{path}' (FORMAT csv)"), "--overwrite"]),
        5 => nodes
            .query(0, &[&format!("COPY (SELECT 1 AS a) TO '{}/' (FORMAT csv)", path.trim_end_matches('/'))]),
        6 => nodes.query(0, &[&format!("SUMMARIZE '{path}'")]),
        7 => nodes.ask(0, &["cluster", "convert"], &[path, "made", "--to", "csv"]),
        8 => nodes.ask(0, &["cluster", "convert"], &["x.csv", path, "--to", "csv", "--overwrite"]),
        9 => nodes.query(0, &[&format!("FROM read_csv('{path}', all_varchar = true, header = true)")]),
        10 => nodes.query(0, &[&format!("FROM glob('{path}')")]),
        11 => nodes.query(0, &[&format!("FROM sniff_csv('{path}')")]),
        12 => nodes.query(0, &[&format!("FROM parquet_schema('{path}')")]),
        _ => nodes.ask(0, &["cluster", "generate"], &[path, "--rankings", "10"]),
    }
}

/// Whether processes can be traced here, which some containers forbid.
///
/// # Panics
/// There is no strace.
fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-f", "-e", "trace=file", "-o", "/dev/null", "true"]).output();
    let traced = traced.expect("strace is needed: apt-get install strace");
    if !traced.status.success() {
        eprintln!(
            "strace can't trace here, so that no calls are looked at: {}",
            String::from_utf8_lossy(&traced.stderr)
        );
    }
    traced.status.success()
}

#[test]
fn nothing_outside_of_the_data_root_is_looked_at() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let trees = Trees::make(home.path());
    let (log, traced) = (home.path().join("strace"), can_trace());
    let strace = ["strace", "-f", "-qq", "-s", "4096", "-e", "trace=file", "-o", text(&log)];
    let before: &[&str] = if traced { &strace } else { &[] };
    let (data, more) = (text(&trees.data), "queries = 2\nsockets_only = true");
    let nodes =
        Nodes::start_with(before, 1, &format!("data_root = [{data:?}]\ndirectory = {data:?}\n{more}"));
    // What is inside is read, links within too, and so is what is written.
    for place in ["x.csv", "a/../x.csv", "a/*.csv", text(&trees.data.join("x.csv"))] {
        let done = ask(&nodes, 0, place);
        assert_eq!(done.code(), Some(0), "{place}: {}", done.stderr);
    }
    let done = ask(&nodes, 4, "set/new.csv");
    assert_eq!(done.code(), Some(0), "{}", done.stderr);
    // Of a name the message tells no more than was said.
    let mut asked = vec![
        (1, "/etc/passNAME".to_string()),
        (0, "/etc/passNAME".to_string()),
        (0, "**/../../outside/NAME.csv".to_string()),
        (0, "*/../../outside/NAME*".to_string()),
        (0, "**/NAME.csv".to_string()),
    ];
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    asked.extend((0..42).map(|number| (number % WAYS, path(&mut chance, &trees))));
    for (way, path) in &asked {
        let told = NAMES.map(|name| {
            let done = ask(&nodes, *way, &path.replace("NAME", name));
            assert_eq!(done.code(), Some(1), "{way} {path}: {} {}", done.stdout, done.stderr);
            done.stderr.replace(name, "NAME")
        });
        assert_eq!(told[0], told[1], "{way} {path}");
    }
    // A link of a directory that is read, and of a manifest.
    for place in [".", "a", "*", "there.csv", "gone.csv", "linked"] {
        let done = ask(&nodes, 0, place);
        assert!(done.code() == Some(1) && done.stderr.contains("outside"), "{place}: {}", done.stderr);
    }
    drop(nodes);
    if !traced {
        return;
    }
    let log = fs::read_to_string(&log).expect("strace has written it");
    let mut seen = 0;
    for line in log.lines() {
        // What the system itself keeps below a directory may have any name.
        if line.contains("openat2(") && line.contains("RESOLVE_BENEATH") || line.contains("execve(") {
            continue;
        }
        let paths = line.split('"').skip(1).step_by(2);
        seen += paths.clone().count();
        for path in paths.filter(|path| trees.is_outside(path)) {
            // What a link says is no look at it.
            assert!(line.contains("readlinkat("), "{path} was looked at: {line}");
        }
    }
    assert!(seen > 1000, "strace has seen {seen} paths");
}
