//! Puts the commit into the version.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=.git/HEAD");
    println!("cargo:rerun-if-changed=.git/logs/HEAD");
    let commit = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()
        .filter(|o| o.status.success())
        .and_then(|o| String::from_utf8(o.stdout).ok())
        .map_or_else(|| "unknown commit".to_string(), |s| s.trim().to_string());
    println!("cargo:rustc-env=PALAIS_VERSION={} ({commit})", env!("CARGO_PKG_VERSION"));
}
