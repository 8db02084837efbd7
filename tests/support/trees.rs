//! What lies in directories and below them.

use std::fs;
use std::path::Path;

use super::names::names;

/// Two directories hold the same files, with the same bytes.
pub fn assert_same(one: &Path, other: &Path) {
    assert_eq!(names(one), names(other), "{} {}", one.display(), other.display());
    for name in names(one) {
        let (left, right) = (one.join(&name), other.join(&name));
        match left.is_dir() {
            true => assert_same(&left, &right),
            false => {
                let read = |path: &Path| fs::read(path).expect("it can be read");
                assert!(read(&left) == read(&right), "{} differs from {}", right.display(), left.display());
            }
        }
    }
}
