//! As much of Thrift's compact protocol as is looked at before the crate decodes it. What can't be read gives `None`.

/// Kinds of values.
pub const I32: u8 = 5;
/// A list.
pub const LIST: u8 = 9;
/// A structure.
pub const STRUCT: u8 = 12;

/// The most values within each other that are passed, as many as the crate passes.
const MAX_DEPTH: usize = 64;

/// Given the number and type of a field, its value and what follows, and the depth.
type OnField<'a> = dyn FnMut(i64, u8, &mut &[u8], usize) -> Option<()> + 'a;

/// Reads the fields of a structure; `field` is given the number and type of each and must pass its value.
pub fn fields(bytes: &mut &[u8], depth: usize, field: &mut OnField) -> Option<()> {
    let mut id = 0i64;
    loop {
        let head = byte(bytes)?;
        if head == 0 {
            return Some(());
        }
        id = match head >> 4 {
            0 => zigzag(bytes)?,
            step => id.checked_add(step.into())?,
        };
        field(id, head & 15, bytes, depth)?;
    }
}

/// Passes a value.
pub fn skip(kind: u8, bytes: &mut &[u8], depth: usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    match kind {
        // Booleans lie in the field's head.
        1 | 2 => Some(()),
        3 => byte(bytes).map(drop),
        4..=6 => varint(bytes).map(drop),
        7 => take(bytes, 8),
        8 => {
            let length = varint(bytes)?;
            take(bytes, length)
        }
        // Lists and sets.
        9 | 10 => {
            let (count, kind) = list(bytes)?;
            (0..count).try_for_each(|_| match kind {
                1 | 2 => take(bytes, 1),
                kind => skip(kind, bytes, depth + 1),
            })
        }
        STRUCT => fields(bytes, depth + 1, &mut |_, kind, bytes, depth| skip(kind, bytes, depth)),
        // There are no maps in what is looked at.
        _ => None,
    }
}

/// The length of a list, whose values follow, and their type.
pub fn list(bytes: &mut &[u8]) -> Option<(u64, u8)> {
    let head = byte(bytes)?;
    let count = if head >> 4 == 15 { varint(bytes)? } else { u64::from(head >> 4) };
    Some((count, head & 15))
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(first)
}

fn take(bytes: &mut &[u8], n: u64) -> Option<()> {
    *bytes = bytes.get(usize::try_from(n).ok()?..)?;
    Some(())
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let next = byte(bytes)?;
        value |= u64::from(next & 0x7f) << shift;
        if next < 0x80 {
            return Some(value);
        }
    }
    None
}

/// A signed number.
pub fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let value = varint(bytes)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}
