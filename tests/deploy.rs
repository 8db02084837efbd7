//! The files of `deploy/`: what they say of each other and of palais is so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cluster::node::config::Config;
use process::{palais, run};

#[path = "support/process.rs"]
mod process;

fn text(path: &Path) -> &str {
    path.to_str().expect("paths here are UTF-8")
}

fn deploy(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(name);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What stands behind this in a file, on its line.
fn behind<'a>(file: &'a str, beginning: &str) -> &'a str {
    let mut lines = file.lines().filter_map(|line| line.trim_start().strip_prefix(beginning));
    lines.next().unwrap_or_else(|| panic!("no line begins with {beginning}"))
}

/// The words of a list that stands behind this.
fn words<'a>(file: &'a str, beginning: &str) -> Vec<&'a str> {
    let list = behind(file, beginning).strip_prefix('[').and_then(|list| list.strip_suffix(']'));
    list.expect("it is a list").split(", ").map(|word| word.trim_matches('"')).collect()
}

/// The file of a node within the manifest, which is indented there.
fn manifest_node(manifest: &str) -> String {
    let (_, file) = manifest.split_once("  node.toml: |\n").expect("the manifest has it");
    let lines = file.lines().map_while(|line| line.strip_prefix("    "));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn systemd_takes_the_unit() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let unit = home.path().join("palais.service");
    // There is no palais where it is to be installed.
    let there = deploy("palais.service").replace("/usr/local/bin/palais", env!("CARGO_BIN_EXE_palais"));
    fs::write(&unit, there).expect("it can be written");
    let done = run(Command::new("systemd-analyze").arg("verify").arg(&unit));
    // What it does not know is a warning.
    let told = [&*done.stdout, &done.stderr].concat();
    assert_eq!((done.code(), told.as_str()), (Some(0), ""), "{}", done.ending());
}

#[test]
fn palais_takes_the_files_of_nodes() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    for (name, node, host) in [
        ("compose", deploy("node.toml"), behind(&deploy("compose.yaml"), "hostname: ")),
        ("kubernetes", manifest_node(&deploy("kubernetes.yaml")), "palais-0"),
    ] {
        let file = home.path().join(name);
        fs::write(&file, node).expect("it can be written");
        let config = Config::read(&file).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(config.nodes.len(), 3, "{name}");
        assert!(config.listen.ip().is_unspecified() && config.listen.port() == 7700, "{name}");
        assert_eq!(config.name(config.listen, host), config.nodes[0], "{name}: what its log calls it");
        assert_eq!(config.directory.into_iter().collect::<Vec<_>>(), [PathBuf::from("/data")], "{name}");
        assert_eq!(config.data_root, [PathBuf::from("/data")], "{name}");
    }
}

#[test]
fn palais_takes_the_commands_of_containers() {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let token = home.path().join("token");
    fs::write(&token, "a text that is long enough to be one").expect("it can be written");
    let (compose, manifest) = (deploy("compose.yaml"), deploy("kubernetes.yaml"));
    for words in [words(&compose, "test: "), words(&manifest, "command: ")] {
        let words: Vec<&str> = words.into_iter().skip_while(|word| *word == "CMD").collect();
        assert_eq!(words[0], "palais");
        let mut command = Command::new(env!("CARGO_BIN_EXE_palais"));
        // Nobody listens at this port, whatever runs on the machine.
        let at = ["--cluster", "127.0.0.1:1"];
        let done = run(command.args(&words[1..]).args(at).env("PALAIS_TOKEN_FILE", &token));
        assert!(done.code() == Some(1) && done.stderr.contains("127.0.0.1:1"), "{words:?}: {}", done.stderr);
    }
    let image = deploy("Dockerfile");
    assert_eq!(words(&image, "ENTRYPOINT "), ["palais"]);
    let command = words(&image, "CMD ");
    let done = palais([&command[..command.len() - 1], &[text(&home.path().join("none"))]].concat());
    assert!(done.code() == Some(1) && done.stderr.contains("none: it can't be read"), "{}", done.stderr);
}

#[test]
fn what_containers_mount_is_where_palais_looks() {
    let (compose, manifest, image) =
        (deploy("compose.yaml"), deploy("kubernetes.yaml"), deploy("Dockerfile"));
    let config = words(&image, "CMD ").pop().expect("it is a list of words");
    assert!(
        compose.contains(&format!("- ./node.toml:{config}:ro\n")) && compose.contains("- ./data:/data\n")
    );
    let token_of = |file: &str| behind(file, "token_file = ").trim_matches('"').to_string();
    let token = token_of(&deploy("node.toml"));
    assert_eq!(behind(&compose, "PALAIS_TOKEN_FILE: "), token);
    let secret = Path::new(&token).strip_prefix("/run/secrets").expect("compose mounts secrets there");
    assert_eq!(words(&compose, "secrets: "), [text(secret)]);
    let (token, directory) =
        (token_of(&manifest_node(&manifest)), text(Path::new(config).parent().expect("/")));
    assert_eq!(behind(&manifest, "value: "), token);
    for mounted in [directory, text(Path::new(&token).parent().expect("/")), "/data"] {
        assert!(manifest.contains(&format!("mountPath: {mounted}\n")), "{mounted}");
    }
    // Who runs there, and what is built, the token and the tables are no part of the image.
    assert_eq!(behind(&image, "USER "), "65532:65532");
    assert!(compose.contains("{PALAIS_USER:-65532:65532}") && behind(&manifest, "runAsUser: ") == "65532");
    let ignored = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".dockerignore"));
    let ignored = ignored.expect("there is one");
    for left_out in ["**/target", "deploy/token", "deploy/data"] {
        assert!(ignored.lines().any(|line| line == left_out), "{left_out}");
    }
}
