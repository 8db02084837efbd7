//! Processes of another version than the coordinator's, and what is no palais at all: an error that names the host and says what
//! runs there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use process::{palais, run};
use several::{succeed, text};

#[path = "support/process.rs"]
mod process;
#[path = "support/several.rs"]
mod several;

/// The version of this binary.
fn version() -> String {
    let told = succeed(&["--version"]).stdout;
    told.trim().strip_prefix("palais ").expect("it tells its name").to_string()
}

/// A file of two hosts, the second of which has another binary.
fn hosts(home: &Path, binary: &Path) -> PathBuf {
    let hosts = home.join("hosts.toml");
    let host = |name: &str| format!("[[host]]\naddress = \"127.0.0.1\"\nname = \"{name}\"\n");
    let entries = format!("workers = 1\n{}{}binary = {:?}\n", host("one"), host("two"), text(binary));
    fs::write(&hosts, entries).expect("it can be written");
    hosts
}

/// Runs a query whose second process is another binary; its message.
fn message(home: &Path, binary: &Path) -> String {
    fs::set_permissions(binary, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let done = palais(["cluster", "run", "--hosts", text(&hosts(home, binary)), "SELECT 1"]);
    assert!(done.code() == Some(1) && done.stdout.is_empty(), "{} {}", done.ending(), done.stderr);
    done.stderr
}

#[test]
fn a_process_of_another_version_is_named_with_both() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    // This binary, which says that it is another version.
    let (ours, other) = (version(), home.path().join("other"));
    let theirs = format!("9{}", &ours[1..]);
    let mut bytes = fs::read(env!("CARGO_BIN_EXE_palais")).expect("it can be read");
    let places = bytes.windows(ours.len()).enumerate().filter(|(_, window)| *window == ours.as_bytes());
    for at in places.map(|(at, _)| at).collect::<Vec<_>>() {
        bytes[at] = b'9';
    }
    fs::write(&other, bytes).expect("it can be written");
    let says = format!("error: two: palais {theirs} runs there, and {ours} here");
    let told = message(home.path(), &other);
    assert!(told.starts_with(&says) && told.contains("help: "), "{told}");
    let told = run(Command::new(&other).arg("--version")).stdout;
    assert_eq!(told, format!("palais {theirs}\n"));
    // Ones that tell everything else in another way, and do not understand what they are told.
    for (name, does) in [
        ("ends", "exit 2"),
        ("tells", "printf '\\377\\377\\377\\377 in another way'; cat > /dev/null"),
        ("waits", "exec sleep 100"),
        ("fails", "echo 'this is no order' >&2; exit 70"),
    ] {
        let binary = home.path().join(name);
        let script = format!("#!/bin/sh\necho 'palais process 0.0.1 (of old)'\n{does}\n");
        fs::write(&binary, script).expect("it can be written");
        let told = message(home.path(), &binary);
        let says = format!("error: two: palais 0.0.1 (of old) runs there, and {ours} here");
        assert!(told.starts_with(&says), "{name}: {told}");
    }
}

#[test]
fn a_process_that_understands_nothing_tells_its_version_all_the_same() {
    let done = Command::new("sh")
        .args(["-c", "printf '\\10\\0\\0\\0 nothing that is understood' | \"$0\" cluster process"])
        .arg(env!("CARGO_BIN_EXE_palais"))
        .output()
        .expect("there is a shell");
    assert_eq!(String::from_utf8_lossy(&done.stdout), format!("palais process {}\n", version()));
    assert_eq!(done.status.code(), Some(2));
}

#[test]
fn what_is_no_palais_is_shown() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let binary = home.path().join("binary");
    fs::write(&binary, "#!/bin/sh\necho Welcome to this host\ncat > /dev/null\n").expect("it can be written");
    let told = message(home.path(), &binary);
    assert!(
        told.starts_with("error: two: what was started there tells first: 'Welcome to this host'"),
        "{told}"
    );
    assert!(told.contains(&format!("palais {}", version())), "{told}");
    // What ends without a word is told of with what it wrote to standard error.
    fs::write(&binary, "#!/bin/sh\necho 'no such thing' >&2\nexit 3\n").expect("it can be written");
    let told = message(home.path(), &binary);
    assert!(told.starts_with("error: two: the process ended with exit code 3"), "{told}");
    assert!(told.contains("| no such thing"), "{told}");
}
