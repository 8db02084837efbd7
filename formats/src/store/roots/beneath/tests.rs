use std::io::Read;
use std::os::unix::fs::symlink;

use super::*;
use crate::error::Outside;

/// A directory `data` with files and links, and one beside it.
fn tree() -> (tempfile::TempDir, PathBuf) {
    let made = tempfile::tempdir().unwrap();
    let home = made.path().canonicalize().unwrap();
    for dir in ["data/a/b", "other", "second"] {
        fs::create_dir_all(home.join(dir)).unwrap();
    }
    for file in ["data/x", "data/a/x", "other/x", "second/x"] {
        fs::write(home.join(file), file).unwrap();
    }
    for (target, link) in [
        (home.join("other"), "data/out"),
        ("../other".into(), "data/up"),
        ("../../other/x".into(), "data/a/file"),
        (home.join("data/a"), "data/in"),
        ("a".into(), "data/near"),
        ("../data/a".into(), "data/round"),
        ("../x".into(), "data/a/parent"),
        ("loop".into(), "data/loop"),
        ("gone".into(), "data/dangling"),
        (home.join("data/a"), "other/back"),
        (home.join("second"), "data/second"),
        (home.join("data"), "alias"),
    ] {
        symlink(target, home.join(link)).unwrap();
    }
    (made, home)
}

/// What a path leads to: what the file holds, or in which way it does not.
fn told(roots: &Roots, path: &Path) -> String {
    let mut text = String::new();
    let read = |mut file: File| match file.metadata()?.is_dir() {
        true => Ok("a directory".to_string()),
        false => file.read_to_string(&mut text).map(|_| text),
    };
    match roots.open_path(path, libc::O_RDONLY).and_then(read) {
        Ok(text) => text,
        Err(e) if Outside::is_in(&e) => "outside".into(),
        Err(e) => e.kind().to_string(),
    }
}

#[test]
fn paths_lead_below_the_directories_or_nowhere() {
    let (_made, home) = tree();
    let roots = Roots::open(&[home.join("alias"), home.join("second")]).unwrap();
    // Also where the system has no openat2.
    for is_old in [false, true] {
        IS_OLD.store(is_old, Ordering::Relaxed);
        for (path, expected) in [
            ("data", "a directory"),
            ("data/x", "data/x"),
            ("data/./a//x", "data/a/x"),
            ("data/a/../x", "data/x"),
            ("data/a/b/../../x", "data/x"),
            ("alias/x", "data/x"),
            ("alias/in/x", "data/a/x"),
            ("data/in/x", "data/a/x"),
            ("data/in/../x", "data/x"),
            ("data/near/x", "data/a/x"),
            ("data/round/x", "data/a/x"),
            ("data/a/parent", "data/x"),
            ("data/second/x", "second/x"),
            ("data/../data/x", "data/x"),
            ("data/../second/x", "second/x"),
            ("data/none", "entity not found"),
            ("data/none/../x", "entity not found"),
            ("data/x/y", "not a directory"),
            ("data/x/../a/x", "not a directory"),
            ("data/dangling", "entity not found"),
            ("data/loop", "filesystem loop or indirection limit (e.g. symlink loop)"),
            ("data/out", "outside"),
            ("data/out/x", "outside"),
            ("data/out/none", "outside"),
            ("data/up/x", "outside"),
            ("data/up/none", "outside"),
            ("data/a/file", "outside"),
            ("data/../other/x", "outside"),
            ("data/../other/none", "outside"),
            ("data/none/../../other/x", "entity not found"),
            ("data/..", "outside"),
            ("other/x", "outside"),
            ("other/none", "outside"),
            // It would have to be looked at.
            ("other/back/x", "outside"),
            ("database", "outside"),
        ] {
            assert_eq!(told(&roots, &home.join(path)), expected, "{path} {is_old}");
        }
        for path in ["/", "", "/..", "/proc/self/root", "x"] {
            assert_eq!(told(&roots, Path::new(path)), "outside", "{path}");
        }
        let place = |path: &str| roots.place(&home.join(path)).ok();
        assert_eq!(place("alias/in/new/x"), Some((home.join("data/a/new/x"), false)));
        assert_eq!(place("data/dangling"), Some((home.join("data/gone"), false)));
        assert_eq!(place("data/near"), Some((home.join("data/a"), true)));
        assert_eq!(place("data/up/new"), None);
        assert!(roots.check_open(&File::open(home.join("data/near/x")).unwrap()).is_ok());
        assert!(roots.check_open(&File::open(home.join("data/up/x")).unwrap()).is_err());
    }
    IS_OLD.store(false, Ordering::Relaxed);
}
