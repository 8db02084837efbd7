//! Counts regular records without noting where their fields lie, for queries that read no column.
//!
//! The masks are those of [`Index`](super::index::Index). Each record's delimiters are counted as the bits before its
//! newline, so that one with another number of fields is found all the same.
//!
//! Some ranges are counted without a branch that depends on the text. They have no quotes, and their records have the
//! right number of fields and more than 64 bytes. Without AVX-512 two masks of 64 bytes are enough there, since taking
//! a mask out of a vector is what costs most. One has delimiters and newlines, the other newlines and quotes. Each is
//! found by looking up the lower half of a byte (Langdale, Lemire: Parsing gigabytes of JSON per second, 2019, section
//! 3.1.2).

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
    if std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("popcnt")
    {
        if std::arch::is_x86_feature_detected!("avx512bw") {
            // SAFETY: the processor has these features, and the function has no other conditions.
            return unsafe { wide::count_64(window, columns, most, marks) };
        }
        // SAFETY: as above.
        return unsafe { wide::count_32(window, columns, most, marks) };
    }
    let masks = |chunk: &_| crate::rows::bits::masks(chunk, [marks.delimiter, b'\n', marks.quote]);
    count_by(window, columns, most, masks, |_, _, _| None)
}

/// Bytes that are counted together without a branch on what they hold.
const STRETCH: usize = 2048;
/// How many stretches are not tried behind one that holds a quote or another number of fields.
const PAUSE: usize = 7;

/// What was counted in a stretch.
struct TextBlock {
    records: usize,
    /// The delimiters behind the last record.
    delimiters: u32,
    /// 1 if it ends with a delimiter or a newline, so that a quote may open behind it.
    may_open: u64,
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
        _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8, _mm256_shuffle_epi8,
        _mm512_cmpeq_epi8_mask, _mm512_loadu_si512, _mm512_set1_epi8, _pdep_u64,
    };
    use std::hint::select_unpredictable;

    use super::{Counted, Marks, STRETCH, TextBlock, count_by};

    /// As [`super::count`], 32 bytes at a time.
    #[target_feature(enable = "avx2,bmi2,popcnt")]
    pub fn count_32(window: &[u8], columns: usize, most: usize, marks: Marks) -> Counted {
        let tables = tables(marks).map(|tables| tables.map(|table| _mm256_broadcastsi128_si256(table)));
        count_by(window, columns, most, masks(marks), |text, before, wanted| {
            let [separators, breaks] = tables?;
            let look = |chunk: &[u8; 64]| {
                let halves = halves(chunk);
                [looked_up(separators, halves), looked_up(breaks, halves)]
            };
            let pick = |bit, found| _pdep_u64(bit, found);
            match wanted < 64 {
                true => stretch::<true>(text, before, wanted, look, pick),
                false => stretch::<false>(text, before, wanted, look, pick),
            }
        })
    }

    /// As [`super::count`], 64 bytes at a time in ranges. There a mask out of a vector costs so little that three of
    /// them need no table.
    #[target_feature(enable = "avx512f,avx512bw,avx2,bmi2,popcnt")]
    pub fn count_64(window: &[u8], columns: usize, most: usize, marks: Marks) -> Counted {
        let needles = [marks.delimiter, b'\n', marks.quote].map(|byte| _mm512_set1_epi8(byte as i8));
        count_by(window, columns, most, masks(marks), |text, before, wanted| {
            let look = |chunk: &[u8; 64]| {
                // SAFETY: the load, which may be unaligned, reads the 64 bytes of the chunk.
                let bytes = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
                let [delimiters, newlines, quotes] =
                    needles.map(|needle| _mm512_cmpeq_epi8_mask(bytes, needle));
                [delimiters | newlines, newlines | quotes]
            };
            let pick = |bit, found| _pdep_u64(bit, found);
            match wanted < 64 {
                true => stretch::<true>(text, before, wanted, look, pick),
                false => stretch::<false>(text, before, wanted, look, pick),
            }
        })
    }

    /// The masks of delimiters, newlines and quotes.
    #[target_feature(enable = "avx2")]
    fn masks(marks: Marks) -> impl Fn(&[u8; 64]) -> [u64; 3] {
        let needles = [marks.delimiter, b'\n', marks.quote].map(|byte| _mm256_set1_epi8(byte as i8));
        move |chunk| {
            let [low, high] = halves(chunk);
            needles.map(|needle| mask(_mm256_cmpeq_epi8(low, needle), _mm256_cmpeq_epi8(high, needle)))
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(chunk: &[u8; 64]) -> [__m256i; 2] {
        let (low, high) = chunk.split_at(32);
        // SAFETY: the loads, which may be unaligned, read the 32 bytes of each half.
        let load = |half: &[u8]| unsafe { _mm256_loadu_si256(half.as_ptr().cast::<__m256i>()) };
        [load(low), load(high)]
    }

    /// A bit for each byte that is all ones.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn mask(low: __m256i, high: __m256i) -> u64 {
        u64::from(_mm256_movemask_epi8(low) as u32) | u64::from(_mm256_movemask_epi8(high) as u32) << 32
    }

    /// The tables of separators, and of newlines and quotes.
    #[target_feature(enable = "sse2")]
    fn tables(marks: Marks) -> Option<[__m128i; 2]> {
        Some([table([b'\n', marks.delimiter])?, table([b'\n', marks.quote])?])
    }

    /// For each lower half of a byte the one of `bytes` that has it, else a byte with another lower half. `None` where
    /// one lower half does not tell them apart, or one is no ASCII.
    #[target_feature(enable = "sse2")]
    fn table(bytes: [u8; 2]) -> Option<__m128i> {
        if bytes[0] % 16 == bytes[1] % 16 || bytes.iter().any(|byte| *byte == 0 || *byte >= 0x80) {
            return None;
        }
        let mut table = [0_u8; 16];
        table[0] = 1;
        for byte in bytes {
            table[usize::from(byte % 16)] = byte;
        }
        // SAFETY: the load, which may be unaligned, reads the 16 bytes of the table.
        Some(unsafe { _mm_loadu_si128(table.as_ptr().cast::<__m128i>()) })
    }

    /// A bit for each byte that is in a table. One of 0x80 and more looks nothing up and gets zero, which it is not.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn looked_up(table: __m256i, [low, high]: [__m256i; 2]) -> u64 {
        mask(
            _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, low), low),
            _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, high), high),
        )
    }

    /// Counts a range that begins `before` delimiters behind a record's beginning. `None` if there is a quote in it,
    /// two newlines within 64 bytes, or a record of another number of delimiters than `wanted`. `look` finds
    /// separators, and newlines and quotes; `pick` gives of the bits of its second number the one that the first number
    /// tells.
    ///
    /// The separator with the number `wanted` from a record's beginning has to be the only newline or quote of its 64
    /// bytes. Other 64 bytes may have none. `FEW` says that at most 63 delimiters are wanted.
    #[inline(always)]
    fn stretch<const FEW: bool>(
        text: &[u8; STRETCH],
        before: u32,
        wanted: u32,
        look: impl Fn(&[u8; 64]) -> [u64; 2],
        pick: impl Fn(u64, u64) -> u64,
    ) -> Option<TextBlock> {
        // Separators so far, and the number of the next one that has to be a newline.
        let (mut seen, mut next) = (u64::from(before), u64::from(wanted));
        let columns = next + 1;
        let (mut wrong, mut last) = (u64::from(before > wanted), 0);
        // Two at a time: half as many turns of the loop.
        for chunks in text.as_chunks::<128>().0 {
            let (chunks, _) = chunks.as_chunks::<64>();
            for [found, breaks] in [look(&chunks[0]), look(&chunks[1])] {
                let ahead = next.wrapping_sub(seen);
                // No bit where the separator is behind these 64 bytes. With few columns it is never so far ahead, unless
                // something is wrong already.
                let bit = if FEW || ahead < 64 { 1_u64.wrapping_shl(ahead as u32) } else { 0 };
                wrong |= pick(bit, found) ^ breaks;
                seen += u64::from(found.count_ones());
                // A choice and no branch, which would be mispredicted once a record.
                next = select_unpredictable(seen > next, next + columns, next);
                last = found;
            }
        }
        let records = (next - u64::from(wanted)) / columns;
        (wrong == 0).then_some(TextBlock {
            records: records as usize,
            delimiters: (seen - records * columns) as u32,
            may_open: last >> 63,
        })
    }
}

/// Counts by the masks of delimiters, newlines and quotes of each 64 bytes.
#[inline(always)]
fn count_by(
    window: &[u8],
    columns: usize,
    most: usize,
    masks: impl Fn(&[u8; 64]) -> [u64; 3],
    stretch: impl Fn(&[u8; STRETCH], u32, u32) -> Option<TextBlock>,
) -> Counted {
    let (mut counted, stretched) = count_chunks(window, columns, most, masks, stretch);
    if stretched > counted.end {
        // No quotes are in a stretch, so that its last newline ends its last record.
        counted.end = memchr::memrchr(b'\n', &window[..stretched]).map_or(0, |at| at + 1);
    }
    counted
}

/// As [`count_by`], and where the last stretch ends that has the end of a record, which is not in [`Counted::end`].
#[inline(always)]
fn count_chunks(
    window: &[u8],
    columns: usize,
    most: usize,
    masks: impl Fn(&[u8; 64]) -> [u64; 3],
    stretch: impl Fn(&[u8; STRETCH], u32, u32) -> Option<TextBlock>,
) -> (Counted, usize) {
    let wanted = columns as u32 - 1;
    let mut counted = Counted::default();
    // The delimiters since the last newline; all ones within quotes; whether a quote may open at the next byte.
    let (mut delimiters, mut inside, mut may_open) = (0, 0u64, 1u64);
    let mut base = 0;
    // Where a stretch is tried next.
    let (mut try_at, mut stretched) = (0, 0);
    while base < window.len() {
        if base >= try_at
            && inside == 0
            && counted.records + STRETCH / 64 <= most
            && let Some(text) = window[base..].first_chunk()
        {
            if let Some(found) = stretch(text, delimiters, wanted) {
                counted.records += found.records;
                delimiters = found.delimiters;
                base += STRETCH;
                stretched = if found.records > 0 { base } else { stretched };
                may_open = found.may_open;
                continue;
            }
            try_at = base + (1 + PAUSE) * STRETCH;
        }
        let chunk = &window[base..window.len().min(base + 64)];
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
                return (counted, stretched);
            }
            inside = ((within as i64) >> 63) as u64;
            may_open = (separators | newlines | closing) >> 63;
        } else {
            may_open = (separators | newlines) >> 63;
        }
        while newlines != 0 {
            let before = (newlines & newlines.wrapping_neg()) - 1;
            if delimiters + (separators & before).count_ones() != wanted {
                return (counted, stretched);
            }
            counted.records += 1;
            counted.end = base + newlines.trailing_zeros() as usize + 1;
            if counted.records == most {
                return (counted, stretched);
            }
            separators &= !before;
            delimiters = 0;
            newlines &= newlines - 1;
        }
        delimiters += separators.count_ones();
        base += 64;
    }
    (counted, stretched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::index::Index;

    const MARKS: Marks = Marks { delimiter: b',', quote: b'"' };

    /// Numbers below the one that is asked for.
    fn numbers(mut seed: u64) -> impl FnMut(u64) -> u64 {
        move |n| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        }
    }

    #[test]
    fn counts_are_those_of_the_index() {
        let mut below = numbers(11);
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
            let masks = |chunk: &_| crate::rows::bits::masks(chunk, [b',', b'\n', b'"']);
            let narrow = count_by(&text, columns, usize::MAX, masks, |_, _, _| None);
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
    fn long_records_are_counted_as_chunk_by_chunk() {
        let mut below = numbers(5);
        for round in 0..1500 {
            let columns = if round % 50 == 0 { 60 + below(9) as usize } else { 2 + below(4) as usize };
            let (mut text, delimiter) = (Vec::new(), [b',', b';', b'\t', b'|', b'*', 0xa7][round % 6]);
            for _ in 0..60 {
                // Now and then a short record, one of another number of fields, or with quotes.
                let least = if below(40) == 0 { 0 } else { 64 / columns as u64 };
                let fields = if below(90) == 0 { columns + 1 } else { columns };
                for field in 0..fields {
                    text.extend((field > 0).then_some(delimiter));
                    let length = least + below(30);
                    match below(100) {
                        0 => text.extend_from_slice(b"\"a\n,;\t|*\""),
                        1 => text.extend_from_slice("£\u{8a}\u{ac}".as_bytes()),
                        _ => text
                            .extend((0..length).map(|i| b'0' + (i % 75) as u8).filter(|b| *b != delimiter)),
                    }
                }
                text.push(b'\n');
            }
            let marks = Marks { delimiter, quote: b'"' };
            let masks = |chunk: &_| crate::rows::bits::masks(chunk, [delimiter, b'\n', b'"']);
            for most in [usize::MAX, 50] {
                for from in [0, below(100) as usize] {
                    let narrow = count_by(&text[from..], columns, most, masks, |_, _, _| None);
                    let found = count(&text[from..], columns, most, marks);
                    assert_eq!(found, narrow, "{columns} columns of {:?}", String::from_utf8_lossy(&text));
                    // Where the processor counts 64 bytes at a time, 32 bytes at a time count the same.
                    #[cfg(target_arch = "x86_64")]
                    if std::arch::is_x86_feature_detected!("avx512bw") {
                        // SAFETY: processors with AVX-512 have AVX2, BMI2 and POPCNT.
                        let half = unsafe { wide::count_32(&text[from..], columns, most, marks) };
                        assert_eq!(half, narrow, "{columns} columns");
                    }
                }
            }
        }
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
