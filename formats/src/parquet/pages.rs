//! What page headers claim, checked before the crate believes it.
//!
//! The crate makes room for as many dictionary entries and as many decompressed bytes as a page's header says. A bit
//! that is flipped there asks for more memory than there is, which ends the process. So the headers of a column chunk
//! are walked first. No page may claim more bytes than its compression can hold, nor a dictionary more entries than it
//! has bytes.
//!
//! ```text
//! column chunk = page*      page = PageHeader (Thrift, compact protocol)  its compressed bytes
//! ```

use parquet::basic::Compression;

use super::thrift::{I32, STRUCT, fields, skip, zigzag};
use crate::error::{Error, Result};
use crate::memory;

/// Kinds of pages.
const DICTIONARY: i64 = 2;

/// Checks the pages of a column chunk, whose values take so many bytes before they are decoded, without those of the page.
/// What can't be parsed is left to the crate, which says what is wrong.
pub fn check(compression: Compression, bytes_a_value: i64, chunk: &[u8]) -> Result<()> {
    let mut rest = chunk;
    while !rest.is_empty() {
        let Some(page) = Header::read(&mut rest) else { return Ok(()) };
        let Some(behind) = usize::try_from(page.compressed).ok().and_then(|n| rest.get(n..)) else {
            return Ok(());
        };
        rest = behind;
        let most = page.compressed.saturating_mul(most_times(compression));
        if compression != Compression::UNCOMPRESSED && page.uncompressed > most {
            let Header { compressed, uncompressed, .. } = page;
            return Err(Error::corrupt(format!(
                "damaged Parquet: a page of {compressed} bytes claims to hold {uncompressed}"
            )));
        }
        memory::ask(u64::try_from(page.uncompressed).unwrap_or(0), || {
            format!("a page of {} bytes unpacks to {}", page.compressed, page.uncompressed)
        })?;
        let levels = page.values.saturating_mul(bytes_a_value);
        memory::ask(u64::try_from(levels).unwrap_or(0), || {
            format!(
                "a page of {} bytes has {} values, whose lists take {levels}",
                page.compressed, page.values
            )
        })?;
        // An entry has at least a byte, but for the one entry of no bytes that can be.
        let bytes =
            if compression == Compression::UNCOMPRESSED { page.compressed } else { page.uncompressed };
        if page.kind == DICTIONARY && page.entries > bytes.saturating_add(1) {
            let entries = page.entries;
            return Err(Error::corrupt(format!(
                "damaged Parquet: a dictionary of {bytes} bytes claims to have {entries} entries"
            )));
        }
    }
    Ok(())
}

/// The most bytes that a compressed byte can stand for, with room to spare. Brotli has no bound worth the name.
fn most_times(compression: Compression) -> i64 {
    match compression {
        Compression::SNAPPY => 64,
        Compression::LZ4 | Compression::LZ4_RAW => 256,
        Compression::GZIP(_) => 1040,
        Compression::ZSTD(_) => 1 << 15,
        _ => i64::MAX,
    }
}

/// What is wanted of a page's header; 0 where it says nothing.
#[derive(Debug, Default, PartialEq)]
struct Header {
    kind: i64,
    uncompressed: i64,
    compressed: i64,
    /// The entries of a dictionary.
    entries: i64,
    /// The values of a page of data, NULLs and lists without items among them.
    values: i64,
}

impl Header {
    fn read(bytes: &mut &[u8]) -> Option<Header> {
        let mut header = Header::default();
        fields(bytes, 0, &mut |id, kind, bytes, depth| match (id, kind) {
            (1, I32) => zigzag(bytes).map(|number| header.kind = number),
            (2, I32) => zigzag(bytes).map(|number| header.uncompressed = number),
            (3, I32) => zigzag(bytes).map(|number| header.compressed = number),
            (5 | 8, STRUCT) => fields(bytes, depth + 1, &mut |id, kind, bytes, depth| match (id, kind) {
                (1, I32) => zigzag(bytes).map(|number| header.values = number),
                _ => skip(kind, bytes, depth),
            }),
            (7, STRUCT) => fields(bytes, depth + 1, &mut |id, kind, bytes, depth| match (id, kind) {
                (1, I32) => zigzag(bytes).map(|number| header.entries = number),
                _ => skip(kind, bytes, depth),
            }),
            _ => skip(kind, bytes, depth),
        })?;
        Some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dictionary page with a list and a structure among its fields.
    fn page(uncompressed: u8, entries: u8, body: &[u8]) -> Vec<u8> {
        let mut page = vec![0x15, 4, 0x15, uncompressed * 2, 0x15, body.len() as u8 * 2];
        // Field 7, a structure: 1 entries, 2 encoding, 3 sorted, 4 a list of bytes, 5 a structure with a text.
        page.extend([
            0x4c,
            0x15,
            entries * 2,
            0x15,
            0,
            0x11,
            0x19,
            0x23,
            9,
            9,
            0x1c,
            0x18,
            2,
            b'a',
            b'b',
            0,
            0,
            0,
        ]);
        page.extend(body);
        page
    }

    #[test]
    fn headers_are_read() {
        let bytes = page(5, 3, b"xyz");
        let mut rest = &bytes[..];
        let header = Header { kind: 2, uncompressed: 5, compressed: 3, entries: 3, values: 0 };
        assert_eq!(Header::read(&mut rest), Some(header));
        assert_eq!(rest, b"xyz");
        // A page of data: field 5, or 8 in the second version, is a structure whose field 1 is the number of values.
        for (field, kind) in [(0x2c, 0), (0x5c, 3)] {
            let page = [0x15, kind * 2, 0x15, 10, 0x15, 6, field, 0x15, 0x90, 0x4e, 0x15, 0, 0, 0];
            let header =
                Header { kind: kind.into(), uncompressed: 5, compressed: 3, entries: 0, values: 5000 };
            assert_eq!(Header::read(&mut &page[..]), Some(header));
        }
        for end in 0..bytes.len() {
            // Whatever is cut off: no panic, and nothing that is not there is read.
            let _ = check(Compression::SNAPPY, 0, &bytes[..end]);
        }
    }

    #[test]
    fn claims_beyond_reason_are_errors() {
        let both = |uncompressed, entries| [page(3, 1, b"abc"), page(uncompressed, entries, b"x")].concat();
        assert!(check(Compression::SNAPPY, 0, &both(63, 63)).is_ok());
        let error = check(Compression::LZ4_RAW, 0, &both(20, 22)).unwrap_err().to_string();
        assert!(error.contains("a dictionary of 20 bytes claims to have 22 entries"), "{error}");
        assert!(check(Compression::UNCOMPRESSED, 0, &both(60, 2)).is_ok());
        assert!(check(Compression::UNCOMPRESSED, 0, &both(60, 3)).is_err());
        // 65 is two bytes as a zigzag number.
        let mut large = both(1, 1);
        let at = large.len() - page(1, 1, b"x").len() + 3;
        large.splice(at..=at, [0x82, 1]);
        assert!(check(Compression::SNAPPY, 0, &large).unwrap_err().to_string().contains("claims to hold 65"));
        assert!(check(Compression::GZIP(Default::default()), 0, &large).is_ok());
    }
}
