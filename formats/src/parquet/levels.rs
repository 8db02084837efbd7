//! Repetition and definition levels of a list column whose items hold no lists.
//!
//! A value of such a column has a repetition level, 0 where a row begins and 1 behind that, and a definition level: how
//! much of the way to the value is there (Melnik and others, Dremel, 2010). What is left for the items, without the list
//! around them, are the definition levels of those that are there.

use crate::columns::bits;
use crate::error::{Error, Result};

/// The definition levels of a leaf below a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// The level of an item, be it NULL. One less is a list without items, and what is less than that a NULL.
    pub item: u16,
    /// The level of a value.
    pub value: u16,
}

/// The lists of the rows of a column chunk, as far as its pages have been read.
#[derive(Debug, Default)]
pub struct Rows {
    /// How many items each list has. The last one may get more.
    pub counts: Vec<u32>,
    /// The rows whose list is NULL, ascending.
    pub nulls: Vec<usize>,
}

/// The items of a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Items {
    /// How many there are.
    pub count: usize,
    /// How many of them have no value.
    pub nulls: usize,
    /// Their definition levels, as one run; nothing if each has a value by the schema.
    pub levels: Vec<u8>,
}

impl Rows {
    fn begin(&mut self) {
        self.counts.push(0);
    }

    /// Adds items to the last list.
    fn add(&mut self, items: usize) -> Result<()> {
        if items == 0 {
            return Ok(());
        }
        let items = u32::try_from(items).ok();
        match self.counts.last_mut().and_then(|last| Some((last.checked_add(items?)?, last))) {
            Some((sum, last)) => *last = sum,
            None => return Err(damaged("an item that is in no list")),
        }
        Ok(())
    }

    /// Adds lists, each of whose items is there.
    fn add_full(&mut self, repetition: &[u8], count: usize) -> Result<()> {
        let (mut at, mut added) = (0, 0);
        for run in runs(repetition, 1, count) {
            match run? {
                Run::Same { level: 0, count } => {
                    self.add(at - added)?;
                    // The last of them may get more.
                    self.counts.extend(std::iter::repeat_n(1, count.saturating_sub(1)));
                    if count > 0 {
                        self.begin();
                        added = at + count - 1;
                    }
                    at += count;
                }
                Run::Same { level: 1, count } => at += count,
                Run::Same { .. } => return Err(damaged("a repetition level that is too high")),
                Run::Packed { bytes, count } => {
                    let words = bytes.chunks(8).map(|chunk| {
                        let mut word = [0; 8];
                        word[..chunk.len()].copy_from_slice(chunk);
                        u64::from_le_bytes(word)
                    });
                    for (word, from) in words.zip((0..count).step_by(64)) {
                        let held = (count - from).min(64);
                        let mut begins = !word & (u64::MAX >> (64 - held));
                        while begins != 0 {
                            let begin = at + from + begins.trailing_zeros() as usize;
                            self.add(begin - added)?;
                            self.begin();
                            added = begin;
                            begins &= begins - 1;
                        }
                    }
                    at += count;
                }
            }
        }
        self.add(count - added)
    }
}

/// The most bytes that a level takes in [`Rows`], and on the way to its [`Items`]. Any number of them may be one run of some
/// bytes, so that who unpacks a page asks for them.
pub const BYTES: i64 = 10;

/// Takes the levels of a page apart: `count` of each. Adds its lists to `rows`, if they are wanted.
///
/// # Errors
/// The levels are damaged.
pub fn take_apart(
    repetition: &[u8],
    definition: &[u8],
    count: usize,
    depth: Depth,
    rows: Option<&mut Rows>,
) -> Result<Items> {
    let width = width_of(depth.value);
    let all = runs(definition, width, count).next().transpose()?;
    if let Some(Run::Same { level, count: same }) = all
        && same == count
        && (depth.item..=depth.value).contains(&level)
    {
        if let Some(rows) = rows {
            rows.add_full(repetition, count)?;
        }
        let nulls = if level < depth.value { count } else { 0 };
        return Ok(items(std::iter::repeat_n(level - depth.item, count), count, nulls, depth));
    }
    let definition = unpacked(definition, width, count)?;
    if let Some(rows) = rows {
        let repetition = unpacked(repetition, 1, count)?;
        for (repetition, definition) in repetition.iter().zip(&definition) {
            let is_item = *definition >= depth.item;
            if *repetition == 0 {
                if *definition < depth.item - 1 {
                    rows.nulls.push(rows.counts.len());
                }
                rows.begin();
            } else if *repetition > 1 {
                return Err(damaged("a repetition level that is too high"));
            } else if !is_item {
                return Err(damaged("a list that goes on without an item"));
            }
            rows.add(usize::from(is_item))?;
        }
    }
    if definition.iter().any(|level| *level > depth.value) {
        return Err(damaged("a definition level that is too high"));
    }
    let levels = definition.iter().filter_map(|level| level.checked_sub(depth.item));
    let (count, values) =
        (levels.clone().count(), definition.iter().filter(|level| **level == depth.value).count());
    Ok(items(levels, count, count - values, depth))
}

/// So many items with these definition levels, of which so many have no value.
fn items(mut levels: impl Iterator<Item = u16> + Clone, count: usize, nulls: usize, depth: Depth) -> Items {
    let width = width_of(depth.value - depth.item);
    let mut bytes = Vec::new();
    if width > 0 && (nulls == 0 || nulls == count && is_same(levels.clone())) {
        varint((count as u64) << 1, &mut bytes);
        let level = levels.next().unwrap_or(0);
        bytes.extend(&level.to_le_bytes()[..width.div_ceil(8)]);
    } else if width > 0 {
        pack(levels, count, width, &mut bytes);
    }
    Items { count, nulls, levels: bytes }
}

fn is_same(mut levels: impl Iterator<Item = u16>) -> bool {
    levels.next().is_none_or(|first| levels.all(|level| level == first))
}

/// Writes levels of so many bits as one run of packed ones.
fn pack(levels: impl Iterator<Item = u16>, count: usize, width: usize, bytes: &mut Vec<u8>) {
    let groups = count.div_ceil(8);
    varint((groups as u64) << 1 | 1, bytes);
    let end = bytes.len() + groups * width;
    bits::pack(levels.map(u64::from), width, bytes);
    bytes.resize(end, 0);
}

fn varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The bits that hold a level of at most `most`.
fn width_of(most: u16) -> usize {
    bits::bits(u64::from(most))
}

/// Levels side by side.
enum Run<'a> {
    /// All the same.
    Same { level: u16, count: usize },
    /// Packed bits, the lowest ones first.
    Packed { bytes: &'a [u8], count: usize },
}

/// The runs of `count` levels of so many bits (Parquet, Encodings, RLE). Levels that are missing are an error.
fn runs(bytes: &[u8], width: usize, count: usize) -> Runs<'_> {
    Runs { bytes, width, left: count }
}

struct Runs<'a> {
    bytes: &'a [u8],
    width: usize,
    /// How many levels are to come.
    left: usize,
}

impl<'a> Runs<'a> {
    fn header(&mut self) -> Option<u64> {
        let (mut header, mut shift) = (0_u64, 0);
        while shift <= 35 {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            header |= u64::from(byte & 127) << shift;
            if *byte < 128 {
                return Some(header);
            }
            shift += 7;
        }
        None
    }

    fn run(&mut self) -> Option<Run<'a>> {
        let header = self.header()?;
        let total = usize::try_from(header >> 1).ok()?;
        if header & 1 == 1 {
            let count = total.checked_mul(8)?.min(self.left);
            // The last run may be cut behind its last level.
            let needed = (count * self.width).div_ceil(8);
            let held = total.checked_mul(self.width)?.min(self.bytes.len());
            let (packed, rest) = self.bytes.split_at(held);
            self.bytes = rest;
            return (packed.len() >= needed).then_some(Run::Packed { bytes: packed, count });
        }
        let (level, rest) = self.bytes.split_at_checked(self.width.div_ceil(8))?;
        self.bytes = rest;
        let level = level.iter().rev().fold(0, |level, byte| level << 8 | u16::from(*byte));
        Some(Run::Same { level, count: total.min(self.left) })
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = Result<Run<'a>>;

    fn next(&mut self) -> Option<Result<Run<'a>>> {
        if self.left == 0 {
            return None;
        }
        let run = self.run();
        match &run {
            Some(Run::Same { count, .. } | Run::Packed { count, .. }) if *count > 0 => self.left -= count,
            // Runs of nothing would go on for ever.
            _ => {
                self.left = 0;
                return Some(Err(damaged("levels that are cut short")));
            }
        }
        run.map(Ok)
    }
}

/// The levels of runs, one by one.
fn unpacked(bytes: &[u8], width: usize, count: usize) -> Result<Vec<u16>> {
    let mut levels = Vec::new();
    for run in runs(bytes, width, count) {
        match run? {
            Run::Same { level, count } => levels.extend(std::iter::repeat_n(level, count)),
            Run::Packed { bytes, count } => {
                // At most 16 bits, so that 32 hold what is left over too.
                let (mut held, mut filled, mut bytes) = (0_u32, 0, bytes.iter());
                let mask = (1_u32 << width) - 1;
                for _ in 0..count {
                    while filled < width {
                        held |= u32::from(*bytes.next().unwrap_or(&0)) << filled;
                        filled += 8;
                    }
                    levels.push((held & mask) as u16);
                    held >>= width;
                    filled -= width;
                }
            }
        }
    }
    Ok(levels)
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("damaged Parquet: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: Depth = Depth { item: 2, value: 3 };

    fn packed(levels: &[u16], width: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(levels.iter().copied(), levels.len(), width, &mut bytes);
        bytes
    }

    /// A run of the same level.
    fn same(level: u8, count: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        varint(count << 1, &mut bytes);
        bytes.push(level);
        bytes
    }

    #[test]
    fn lists_of_all_kinds_are_found() {
        // [7, NULL], NULL, [], [8]
        let repetition = packed(&[0, 1, 0, 0, 0], 1);
        let definition = packed(&[3, 2, 0, 1, 3], 2);
        let mut rows = Rows::default();
        let items = take_apart(&repetition, &definition, 5, DEPTH, Some(&mut rows)).unwrap();
        assert_eq!((rows.counts, rows.nulls), (vec![2, 0, 0, 1], vec![1]));
        assert_eq!((items.count, items.nulls), (3, 1));
        assert_eq!(unpacked(&items.levels, 1, 3).unwrap(), [1, 0, 1]);
    }

    #[test]
    fn full_lists_are_counted_by_their_beginnings() {
        // Rows of 1, 1, 4 and 72 items, the last of which begins in this page, and of 3 more in the next one.
        let mut levels = vec![0_u16; 3];
        levels.extend([1; 3]);
        levels.push(0);
        levels.extend([1; 71]);
        let expected = vec![1, 1, 4, 72];
        let definition = same(3, 78);
        let as_runs = [same(0, 3), same(1, 3), same(0, 1), same(1, 71)].concat();
        let mixed = [same(0, 2), packed(&levels[2..66], 1), same(1, 12)].concat();
        for repetition in [packed(&levels, 1), as_runs, mixed] {
            let mut rows = Rows::default();
            let items = take_apart(&repetition, &definition, 78, DEPTH, Some(&mut rows)).unwrap();
            assert_eq!((&rows.counts, items.count, items.nulls), (&expected, 78, 0));
            assert_eq!(items.levels, same(1, 78));
            let next = take_apart(&same(1, 3), &same(3, 3), 3, DEPTH, Some(&mut rows)).unwrap();
            assert_eq!((rows.counts[3], next.count), (75, 3));
        }
        // The same by the way of single levels.
        let mut rows = Rows::default();
        take_apart(&packed(&levels, 1), &packed(&[3; 78], 2), 78, DEPTH, Some(&mut rows)).unwrap();
        assert_eq!(rows.counts, expected);
    }

    #[test]
    fn items_that_can_not_be_null_have_no_levels() {
        let depth = Depth { item: 1, value: 1 };
        let mut rows = Rows::default();
        let items = take_apart(&same(0, 2), &packed(&[1, 0], 1), 2, depth, Some(&mut rows)).unwrap();
        assert_eq!((rows.counts, rows.nulls), (vec![1, 0], vec![]));
        assert_eq!(items, Items { count: 1, nulls: 0, levels: vec![] });
    }

    #[test]
    fn damaged_levels_are_errors() {
        let error = |repetition: &[u8], definition: &[u8], count| {
            take_apart(repetition, definition, count, DEPTH, Some(&mut Rows::default()))
                .unwrap_err()
                .to_string()
        };
        assert!(error(&same(1, 1), &same(3, 1), 1).contains("in no list"));
        assert!(error(&packed(&[0, 1], 1), &packed(&[3, 1], 2), 2).contains("goes on without an item"));
        assert!(error(&same(0, 2), &same(3, 1), 2).contains("cut short"));
        assert!(error(&same(0, 1), &same(3, 2), 2).contains("cut short"));
        assert!(error(&[0, 0], &same(3, 2), 2).contains("cut short"), "a run of nothing");
        assert!(error(&[255; 9], &same(3, 2), 2).contains("cut short"));
        assert!(error(&[same(0, 1), same(2, 1)].concat(), &same(3, 2), 2).contains("too high"));
        assert!(error(&[same(0, 1), same(2, 1)].concat(), &packed(&[3, 2], 2), 2).contains("too high"));
        let high = Depth { item: 2, value: 4 };
        assert!(take_apart(&same(0, 2), &packed(&[5, 4], 3), 2, high, None).is_err());
    }

    #[test]
    fn levels_are_packed_and_unpacked() {
        for width in 1..=16_usize {
            for count in [0, 1, 7, 8, 9, 100] {
                let levels: Vec<u16> =
                    (0..count).map(|i| (i as u32 * 40_503 % (1 << width)) as u16).collect();
                assert_eq!(unpacked(&packed(&levels, width), width, count).unwrap(), levels, "{width} bits");
            }
        }
    }
}
