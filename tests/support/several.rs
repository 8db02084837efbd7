//! What tests of several processes share.

use std::path::Path;

use super::process::{Finished, palais};

/// A path as text.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("the paths of tests are text")
}

/// Runs `palais`, which is to succeed.
pub fn succeed(arguments: &[&str]) -> Finished {
    let done = palais(arguments);
    assert_eq!(done.code(), Some(0), "{arguments:?} {}: {}", done.ending(), done.stderr);
    done
}
