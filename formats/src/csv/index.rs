//! The structural index of a window of csv: where fields and records end.
//!
//! Delimiters and newlines are found 64 bytes at a time as bit masks. Those inside quotes are masked out. The rest
//! become a list of positions (after G. Langdale and D. Lemire, "Parsing Gigabytes of JSON per Second", VLDB Journal
//! 2019, section 3.1). The regular shape ends with a quote that opens in the middle of a field, or with a record of
//! another number of fields. There the index ends: the decoder takes that record byte by byte.

use crate::rows::bits::{Chunk, masks, prefix_xor};
use crate::rows::quotes::Marks;

/// Where fields and records end in a window.
#[derive(Default)]
pub struct Index {
    /// Where each field begins: the window's first byte, then one behind each separator.
    starts: Vec<u32>,
    /// One behind each newline that ends a record.
    ends: Vec<u32>,
    /// Whether there are quotes in the window.
    pub quoted: bool,
    /// The records that are whole and have the right number of fields, from the window's first byte on.
    pub records: usize,
    /// Whether something irregular follows behind them.
    pub irregular: bool,
}

impl Index {
    /// Indexes `bytes[from..to]`, in which a record of `columns` fields begins at `from`. With `last`, the data ends
    /// at `to`, and the last record may lack its newline.
    pub fn scan(&mut self, bytes: &[u8], from: usize, to: usize, columns: usize, last: bool, marks: Marks) {
        let window = &bytes[from..to];
        // Room for every byte of the window and the spare places of the last write.
        if self.starts.len() < window.len() + 66 {
            self.starts.resize(window.len() + 66, 0);
            self.ends.resize(window.len() + 66, 0);
        }
        let mut scan = Scan {
            starts: &mut self.starts,
            ends: &mut self.ends,
            fields: 1,
            records: 0,
            inside: 0,
            may_open: 1,
            quoted: false,
            marks,
        };
        scan.starts[0] = from as u32;
        let mut regular = true;
        let mut chunks = window.chunks_exact(64);
        let mut base = from as u32;
        for chunk in &mut chunks {
            let chunk: &Chunk = chunk.try_into().expect("chunks_exact gives slices of 64 bytes");
            regular = scan.chunk(chunk, base, u64::MAX);
            if !regular {
                break;
            }
            base += 64;
        }
        let rest = chunks.remainder();
        if regular && !rest.is_empty() {
            let mut chunk = [0; 64];
            chunk[..rest.len()].copy_from_slice(rest);
            regular = scan.chunk(&chunk, base, (1 << rest.len()) - 1);
        }
        if regular && last {
            let ended = scan.ends[..scan.records].last().map_or(from, |&end| end as usize);
            if scan.inside != 0 {
                regular = false;
            } else if ended < to {
                // The last record ends as if a newline stood behind the data.
                let behind = to as u32 + 1;
                (scan.starts[scan.fields], scan.ends[scan.records]) = (behind, behind);
                (scan.fields, scan.records) = (scan.fields + 1, scan.records + 1);
            }
        }
        self.quoted = scan.quoted;
        let (fields, records) = (scan.fields, scan.records);
        // Record r is regular if the newline that ends it is separator (r + 1) * columns.
        let every = self.starts[..fields].iter().skip(columns).step_by(columns);
        self.records = every.zip(&self.ends[..records]).take_while(|(field, end)| field == end).count();
        self.irregular = !regular || self.records < records;
    }

    /// The borders of field `column` of the first `count` records.
    #[inline(always)]
    pub fn fields(
        &self,
        column: usize,
        columns: usize,
        count: usize,
    ) -> impl Iterator<Item = (usize, usize)> {
        let starts = &self.starts[..=count * columns];
        (0..count).map(move |record| {
            let field = record * columns + column;
            (starts[field] as usize, starts[field + 1] as usize - 1)
        })
    }

    /// One behind the newline of record `record`.
    pub fn end(&self, record: usize) -> usize {
        self.ends[record] as usize
    }
}

/// The state of indexing from chunk to chunk.
struct Scan<'a> {
    starts: &'a mut [u32],
    ends: &'a mut [u32],
    fields: usize,
    records: usize,
    /// All ones if the chunk begins inside quotes, else 0.
    inside: u64,
    /// 1 if a quote at the chunk's first byte opens or follows a closing one, else 0.
    may_open: u64,
    quoted: bool,
    marks: Marks,
}

impl Scan<'_> {
    /// Indexes one chunk, of which only the bytes of `valid` count. False if a quote stands where none opens.
    #[inline(always)]
    fn chunk(&mut self, chunk: &Chunk, base: u32, valid: u64) -> bool {
        let [delimiters, newlines, quotes] = masks(chunk, [self.marks.delimiter, b'\n', self.marks.quote]);
        let (mut newlines, quotes) = (newlines & valid, quotes & valid);
        let mut separators = (delimiters & valid) | newlines;
        if quotes | self.inside != 0 {
            self.quoted = true;
            // Set from an opening quote to just before the closing one; a doubled quote closes and opens.
            let within = prefix_xor(quotes) ^ self.inside;
            separators &= !within;
            newlines &= !within;
            let opening = quotes & within;
            let closing = quotes & !within;
            if opening & !((separators | closing) << 1 | self.may_open) != 0 {
                return false;
            }
            self.inside = ((within as i64) >> 63) as u64;
            self.may_open = (separators | closing) >> 63;
        } else {
            self.may_open = separators >> 63;
        }
        self.fields = write(self.starts, self.fields, separators, base);
        self.records = write(self.ends, self.records, newlines, base);
        true
    }
}

/// Appends the position behind each set bit, and gives the new length.
#[inline(always)]
fn write(out: &mut [u32], mut len: usize, mut mask: u64, base: u32) -> usize {
    while mask != 0 {
        out[len] = base + mask.trailing_zeros() + 1;
        len += 1;
        mask &= mask - 1;
    }
    len
}
