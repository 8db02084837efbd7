//! Puts the commit into the version, and links the program to a fixed address.

use std::env;
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
    // 212,000 addresses would be written at each start (decision 51).
    let target = |name: &str| env::var(name).unwrap_or_default();
    if target("CARGO_CFG_TARGET_OS") == "linux" && target("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
