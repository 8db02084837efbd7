//! How deep a schema is nested.
//!
//! In the footer a schema is a flat list of its groups and leaves, each with the number of its children. The crate
//! makes a tree of it, and everything behind walks that tree with a call for each level. A list of some KiB would
//! overflow the stack. So the list is looked at first.

use std::path::PathBuf;

use super::thrift::{I32, LIST, STRUCT, fields, list, skip, zigzag};
use crate::error::{Error, Result};

/// The most groups within each other, the whole schema among them. A list of values takes two.
pub const DEEPEST: usize = 256;

/// Checks the schema of a footer.
///
/// # Errors
/// It is nested deeper than [`DEEPEST`], or can't be parsed: what the crate would make of it is not known then.
pub fn check(footer: &[u8]) -> Result<()> {
    let mut deepest = 0;
    let mut footer = footer;
    let parsed = fields(&mut footer, 0, &mut |id, kind, bytes, depth| match (id, kind) {
        (2, LIST) => {
            deepest = deepest.max(depth_of(bytes, depth)?);
            Some(())
        }
        (2, _) => None,
        _ => skip(kind, bytes, depth),
    });
    if parsed.is_none() {
        return Err(Error::corrupt("not valid Parquet: its footer can't be parsed"));
    }
    if deepest > DEEPEST {
        return Err(Error::Schema {
            path: PathBuf::new(),
            message: format!(
                "its schema has {deepest} groups within each other, and Parquet is read with {DEEPEST} at most"
            ),
        });
    }
    Ok(())
}

/// The most groups of a list of schema elements that are within each other.
fn depth_of(bytes: &mut &[u8], depth: usize) -> Option<usize> {
    let (count, kind) = list(bytes)?;
    // For each group that is open the children that are to come.
    let (mut open, mut deepest): (Vec<i32>, usize) = (Vec::new(), 0);
    for _ in 0..count {
        if kind != STRUCT {
            return None;
        }
        let mut children = 0;
        fields(bytes, depth + 1, &mut |id, kind, bytes, depth| match (id, kind) {
            // The crate cuts it to 32 bits too.
            (5, I32) => zigzag(bytes).map(|number| children = number as i32),
            (5, _) => None,
            _ => skip(kind, bytes, depth),
        })?;
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if children > 0 {
            open.push(children);
            deepest = deepest.max(open.len());
        }
        while open.last().is_some_and(|left| *left <= 0) {
            open.pop();
        }
    }
    Some(deepest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer whose schema has the root and groups of these numbers of children, and leaves (0).
    fn footer(children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x15, 2, 0x19, 0xf0 | STRUCT];
        let mut count = children.len();
        while count > 127 {
            bytes.push(count as u8 | 0x80);
            count >>= 7;
        }
        bytes.push(count as u8);
        for &children in children {
            // Field 4, a name, and field 5.
            bytes.extend([0x48, 1, b'a', 0x15, children * 2, 0]);
        }
        bytes.push(0);
        bytes
    }

    fn depth(children: &[u8]) -> Option<usize> {
        // Behind the version and the head of the list's field.
        depth_of(&mut &footer(children)[3..], 0)
    }

    #[test]
    fn groups_within_each_other_are_counted() {
        assert_eq!(depth(&[1, 0]), Some(1));
        assert_eq!(depth(&[2, 1, 0, 1, 0]), Some(2), "beside each other");
        assert_eq!(depth(&[2, 1, 1, 0, 3, 0, 0, 1, 0]), Some(3));
        let chain: Vec<u8> = std::iter::repeat_n(1, 1200).chain([0]).collect();
        assert_eq!(depth(&chain), Some(1200));
        let error = check(&footer(&chain)).unwrap_err().to_string();
        assert!(error.contains("1200 groups within each other"), "{error}");
        assert!(check(&footer(&chain[1200 - DEEPEST..])).is_ok());
        for end in 0..100 {
            // Whatever is cut off: no panic.
            let _ = check(&footer(&chain)[..end]);
        }
    }
}
