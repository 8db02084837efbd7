//! Decompressors: the same bytes, or an error, however the input is cut.

use formats::compress::{Compression, Unit, compression};

use super::choice;

/// What is decompressed at most of one input.
const MOST: usize = 8 << 20;

/// Pushes bytes whole and in pieces, and walks over the headers of units.
pub fn check(name: &str, bytes: &[u8]) {
    let compression = compression(name).expect("targets are named after compressions");
    let whole = unpack(compression, bytes, usize::MAX, 64 << 10);
    for piece in [1 + choice(bytes, 40) + bytes.len() / 500, 1000] {
        let pieces = unpack(compression, bytes, piece, 1 + choice(bytes, 3000));
        match (&whole, &pieces) {
            (Some(whole), Some(pieces)) => {
                assert!(whole == pieces, "pieces of {piece} bytes give other bytes")
            }
            (None, None) => {}
            (Some(_), None) => panic!("pieces of {piece} bytes are an error"),
            // libzstd refuses an empty compressed block in a frame that it is given whole, and passes it otherwise.
            (None, Some(_)) if name == "zstd" => {}
            (None, Some(_)) => panic!("pieces of {piece} bytes are no error"),
        }
    }
    units(compression, bytes, whole.as_deref());
}

/// Raw deflate has no header to be told by: it is read where zlib was expected.
pub fn deflate(bytes: &[u8]) {
    check("zlib", bytes);
}

/// All bytes, or the first [`MOST`]; `None` after an error.
fn unpack(compression: &dyn Compression, bytes: &[u8], piece: usize, step: usize) -> Option<Vec<u8>> {
    let mut decompressor = compression.decompressor().ok()??;
    let mut out = Vec::new();
    let mut rest = bytes;
    loop {
        let (before, most) = (out.len(), out.len() + step);
        let used = decompressor.push(&rest[..rest.len().min(piece)], &mut out, most).ok()?;
        assert!(
            out.len() < most + (5 << 20),
            "{} bytes were asked for and {} come",
            step,
            out.len() - before
        );
        rest = &rest[used..];
        if out.len() >= MOST {
            out.truncate(MOST);
            return Some(out);
        }
        if rest.is_empty() && out.len() < most {
            decompressor.finish().ok()?;
            return Some(out);
        }
        assert!(used > 0 || out.len() > before, "it goes on for ever");
    }
}

/// Where headers tell of units, each holds what they say, and together they hold what the whole does.
fn units(compression: &dyn Compression, bytes: &[u8], whole: Option<&[u8]>) {
    let (mut at, mut found) = (0, Vec::new());
    while let Unit::Whole { packed, raw, .. } = compression.unit(&bytes[at..]) {
        assert!(packed > 0 && packed <= bytes.len() - at, "a unit lies in the bytes");
        if raw > MOST - found.len().min(MOST) {
            return;
        }
        if compression.expand(&bytes[at..at + packed], raw, at == 0, &mut found).is_err() {
            return;
        }
        at += packed;
    }
    if let Some(whole) = whole
        && whole.len() < MOST
    {
        assert!(whole.starts_with(&found), "units hold something else");
    }
}
