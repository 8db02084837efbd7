//! FSST: the most useful strings of up to 8 bytes get a code of one byte. (Boncz, Neumann, Leis, FSST: fast random
//! access string compression, VLDB 2020.)
//!
//! ```text
//! symbols = count: u8  length: u8 for each symbol  the bytes of all symbols
//!           integers of 32 bits(n): how many codes a value has  buffer codes
//! ```
//!
//! Code c stands for symbol c; code 255 says that the next byte stands for itself, and both count as codes. A value can
//! be read without those before it, and compared without being written out.

use fsst::Compressor;

use super::super::chunk::Source;
use crate::error::{Error, Result};

/// The code in front of a byte that stands for itself.
pub const ESCAPE: u8 = 255;

/// Values as codes.
pub struct Encoded {
    /// The table: lengths and bytes of symbols.
    pub table: Vec<u8>,
    /// The codes of all values.
    pub codes: Vec<u8>,
    /// How many codes each value has.
    pub lengths: Vec<u32>,
}

/// Learns symbols from values.
pub fn train(values: &[&[u8]]) -> Compressor {
    Compressor::train(&values.to_vec())
}

/// Values to codes.
pub fn encode(compressor: &Compressor, values: &[&[u8]]) -> Encoded {
    let lengths = compressor.symbol_lengths();
    let symbols = compressor.symbol_table();
    let count = compressor.n_symbols().min(lengths.len());
    let mut table = vec![count as u8];
    table.extend_from_slice(&lengths[..count]);
    for (symbol, length) in symbols.iter().zip(&lengths[..count]) {
        table.extend_from_slice(&symbol.to_u64().to_le_bytes()[..usize::from(*length)]);
    }
    let (mut codes, mut ends) = (Vec::new(), Vec::new());
    compressor.compress_bulk_into::<{ Compressor::DEFAULT_BULK_LANES }>(values, &mut codes, &mut ends);
    let mut start = 0;
    let lengths = ends.iter().map(|end| (end - std::mem::replace(&mut start, *end)) as u32).collect();
    Encoded { table, codes, lengths }
}

/// The symbols of a chunk.
pub struct Table {
    /// The bytes of each code's symbol and their number; 0 for codes without one.
    symbols: Box<[(u64, u64); 256]>,
}

impl Table {
    /// Reads a table.
    pub fn open(source: &mut Source) -> Result<Table> {
        let count = usize::from(source.input().u8()?);
        let listed = source.input().take(count)?;
        let mut table = Table { symbols: Box::new([(0, 0); 256]) };
        for (symbol, &length) in table.symbols.iter_mut().zip(listed) {
            if !(1..=8).contains(&length) {
                return Err(source.damaged(format_args!("a symbol of {length} bytes")));
            }
            let bytes = source.input().take(length.into())?;
            let word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            *symbol = (word, length.into());
        }
        Ok(table)
    }

    /// Writes the value of codes to `out` at `at`, which grows as it must, and gives its end.
    pub fn decode(&self, codes: &[u8], out: &mut Vec<u8>, mut at: usize) -> Result<usize> {
        let room = at + codes.len() * 8 + 8;
        if out.len() < room {
            out.resize(room.max(out.len() * 2), 0);
        }
        let mut rest = codes.iter();
        while let Some(&code) = rest.next() {
            // Eight bytes are written whatever the length; what is too much is overwritten by the next symbol.
            let Some(slot) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<8>()) else { break };
            let (word, length) = self.symbols[usize::from(code)];
            *slot = word.to_le_bytes();
            at += length as usize;
            if length == 0 {
                slot[0] = literal(code, rest.next())?;
                at += 1;
            }
        }
        Ok(at)
    }

    /// How the value of these codes compares with `wanted`, symbol by symbol up to the first byte that differs. A value
    /// that only begins with it is greater.
    pub fn compare(&self, codes: &[u8], wanted: &[u8]) -> Result<std::cmp::Ordering> {
        let mut wanted = wanted;
        let mut rest = codes.iter();
        while let Some(&code) = rest.next() {
            let (word, length) = self.symbols[usize::from(code)];
            let word = if length == 0 { literal(code, rest.next())?.into() } else { word };
            let symbol = &word.to_le_bytes()[..(length as usize).clamp(1, 8)];
            let both = symbol.len().min(wanted.len());
            let order = symbol[..both].cmp(&wanted[..both]);
            if order.is_ne() || both < symbol.len() {
                return Ok(order.then(std::cmp::Ordering::Greater));
            }
            wanted = &wanted[both..];
        }
        Ok(if wanted.is_empty() { std::cmp::Ordering::Equal } else { std::cmp::Ordering::Less })
    }
}

/// The byte behind an escape.
#[cold]
fn literal(code: u8, byte: Option<&u8>) -> Result<u8> {
    match byte {
        Some(byte) if code == ESCAPE => Ok(*byte),
        _ => Err(Error::corrupt("damaged column chunk: a code without a symbol")),
    }
}

#[cfg(test)]
mod tests {
    use arrow_buffer::Buffer;

    use super::super::super::chunk::Sink;
    use super::super::super::compress::Codec;
    use super::*;

    #[test]
    fn values_come_back_and_compare_as_they_are() {
        let texts: Vec<String> = (0..3000)
            .map(|i| {
                format!("http://www.example.org/{}/page{}?q=ü{}", i % 7, i * i % 991, "\u{1}".repeat(i % 3))
            })
            .chain([String::new(), "\u{ff}".into()])
            .collect();
        let values: Vec<&[u8]> = texts.iter().map(|t| t.as_bytes()).collect();
        let encoded = encode(&train(&values), &values);
        let again = encode(&train(&values), &values);
        assert!(encoded.table == again.table && encoded.codes == again.codes);
        let total: usize = values.iter().map(|v| v.len()).sum();
        assert!(encoded.codes.len() * 2 < total, "{} of {total}", encoded.codes.len());

        let mut sink = Sink::new(Codec::None);
        sink.put(&encoded.table);
        let chunk = Buffer::from(sink.finish());
        let mut source = Source::new(&chunk).unwrap();
        let table = Table::open(&mut source).unwrap();
        source.finish().unwrap();
        let (mut out, mut at, mut start) = (Vec::new(), 0, 0);
        for (i, length) in encoded.lengths.iter().enumerate() {
            let codes = &encoded.codes[start..start + *length as usize];
            let end = table.decode(codes, &mut out, at).unwrap();
            assert_eq!(&out[at..end], values[i]);
            for other in values.iter().skip(i % 17).step_by(301) {
                assert_eq!(table.compare(codes, other).unwrap(), values[i].cmp(other));
            }
            let half = &values[i][..values[i].len() / 2];
            assert_eq!(table.compare(codes, half).unwrap(), values[i].cmp(half));
            (start, at) = (start + *length as usize, end);
        }
        assert!(table.decode(&[ESCAPE], &mut out, 0).is_err());
        assert!(table.compare(&[ESCAPE], b"x").is_err());
    }
}
