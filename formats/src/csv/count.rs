//! Counts regular records without noting where their fields lie, for queries that read no column.
//!
//! The masks are those of [`Index`](super::index::Index). Each record's delimiters are counted as the bits before its
//! newline, so that one with another number of fields is found all the same.

use crate::rows::bits::prefix_xor;
use crate::rows::quotes::Marks;

/// The records that a window begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// How many are whole and have the right number of fields, without one between them that does not.
    pub records: usize,
    /// Where the last of them ends, its newline included.
    pub end: usize,
    /// Whether there are quotes in the window as far as it was looked at.
    pub quoted: bool,
}

/// Counts the records of `columns` fields that `window` begins with, at most `most` of them.
pub fn count(window: &[u8], columns: usize, most: usize, marks: Marks) -> Counted {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has both features, and the function has no other conditions.
        return unsafe { wide::count(window, columns, most, marks) };
    }
    count_by(window, columns, most, |chunk| {
        crate::rows::bits::masks(chunk, [marks.delimiter, b'\n', marks.quote])
    })
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8,
    };

    use super::{Counted, Marks, count_by};

    /// As [`super::count`], 32 bytes at a time.
    #[target_feature(enable = "avx2,popcnt")]
    pub fn count(window: &[u8], columns: usize, most: usize, marks: Marks) -> Counted {
        let needles = [marks.delimiter, b'\n', marks.quote].map(|byte| _mm256_set1_epi8(byte as i8));
        count_by(window, columns, most, |chunk| {
            let (low, high) = chunk.split_at(32);
            // SAFETY: the loads, which may be unaligned, read the 32 bytes of each half.
            let load = |half: &[u8]| unsafe { _mm256_loadu_si256(half.as_ptr().cast::<__m256i>()) };
            let halves = [load(low), load(high)];
            needles.map(|needle| {
                let bits =
                    |half: __m256i| u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(half, needle)) as u32);
                bits(halves[0]) | bits(halves[1]) << 32
            })
        })
    }
}

/// Counts by the masks of delimiters, newlines and quotes of each 64 bytes.
#[inline(always)]
fn count_by(window: &[u8], columns: usize, most: usize, masks: impl Fn(&[u8; 64]) -> [u64; 3]) -> Counted {
    let wanted = columns as u32 - 1;
    let mut counted = Counted::default();
    // The delimiters since the last newline; all ones within quotes; whether a quote may open at the next byte.
    let (mut delimiters, mut inside, mut may_open) = (0, 0u64, 1u64);
    let mut base = 0;
    for chunk in window.chunks(64) {
        let [mut separators, mut newlines, quotes] = match chunk.first_chunk() {
            Some(chunk) => masks(chunk),
            None => {
                let mut padded = [0; 64];
                padded[..chunk.len()].copy_from_slice(chunk);
                let valid = (1 << chunk.len()) - 1;
                masks(&padded).map(|mask| mask & valid)
            }
        };
        if quotes | inside != 0 {
            counted.quoted = true;
            // As in the index: set from an opening quote to just before the closing one.
            let within = prefix_xor(quotes) ^ inside;
            separators &= !within;
            newlines &= !within;
            let closing = quotes & !within;
            if quotes & within & !((separators | newlines | closing) << 1 | may_open) != 0 {
                return counted;
            }
            inside = ((within as i64) >> 63) as u64;
            may_open = (separators | newlines | closing) >> 63;
        } else {
            may_open = (separators | newlines) >> 63;
        }
        while newlines != 0 {
            let before = (newlines & newlines.wrapping_neg()) - 1;
            if delimiters + (separators & before).count_ones() != wanted {
                return counted;
            }
            counted.records += 1;
            counted.end = base + newlines.trailing_zeros() as usize + 1;
            if counted.records == most {
                return counted;
            }
            separators &= !before;
            delimiters = 0;
            newlines &= newlines - 1;
        }
        delimiters += separators.count_ones();
        base += 64;
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::index::Index;

    const MARKS: Marks = Marks { delimiter: b',', quote: b'"' };

    #[test]
    fn counts_are_those_of_the_index() {
        let mut seed = 11u64;
        let mut below = move |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        let mut regular = 0;
        for round in 0..4000 {
            let columns = 1 + below(4) as usize;
            let mut text = Vec::new();
            for _ in 0..below(40) {
                // Mostly records of the right number of fields, some quoted, and then and now another one.
                let fields = if below(60) == 0 { below(6) as usize } else { columns };
                for field in 0..fields {
                    text.extend_from_slice(if field > 0 { b"," } else { b"" });
                    match below(if round % 2 == 0 { 8 } else { 12 }) {
                        8 => text.extend_from_slice(b"\"a,b\nc\""),
                        9 => text.extend_from_slice(b"\"x\"\"y\""),
                        10 if below(20) == 0 => text.extend_from_slice(b"x\"y"),
                        n => text.extend(std::iter::repeat_n(b'v', n as usize)),
                    }
                }
                text.push(b'\n');
            }
            text.extend_from_slice(b"tail");
            let mut index = Index::default();
            index.scan(&text, 0, text.len(), columns, false, MARKS);
            let counted = count(&text, columns, usize::MAX, MARKS);
            let narrow = count_by(&text, columns, usize::MAX, |chunk| {
                crate::rows::bits::masks(chunk, [b',', b'\n', b'"'])
            });
            assert_eq!(counted, narrow);
            // Both stop at what is irregular; the index sees a chunk of it as a whole.
            let text_of = String::from_utf8_lossy(&text);
            assert!(counted.records >= index.records, "{columns} columns of {text_of:?}");
            if counted.records > index.records {
                assert!(index.irregular, "{columns} columns of {text_of:?}");
            }
            if counted.records > 0 && counted.records == index.records {
                assert_eq!(counted.end, index.end(index.records - 1), "{columns} columns of {text_of:?}");
                regular += 1;
            }
            let some = count(&text, columns, 3, MARKS);
            assert_eq!(some.records, counted.records.min(3));
        }
        assert!(regular > 2000, "{regular} texts begin with regular records");
    }

    #[test]
    fn newlines_in_quotes_end_no_record() {
        let long = format!("\"{}\n\",2\n1,\"\"\n", "x\n,".repeat(40));
        let counted = count(long.as_bytes(), 2, usize::MAX, MARKS);
        assert_eq!(counted, Counted { records: 2, end: long.len(), quoted: true });
        assert_eq!(count(b"a,b\nc\nd,e\n", 2, usize::MAX, MARKS).records, 1, "another number of fields");
        assert_eq!(count(b"a,\"b\n", 2, usize::MAX, MARKS).records, 0, "never closed");
    }
}
