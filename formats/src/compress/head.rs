//! Reads the beginning of a file, decompressed.

use schema::FileEntry;

use super::{Decompressor, compression};
use crate::error::Result;
use crate::store::input::Input;

/// The bytes of a compressed file that are read at once.
const HEAD: usize = 64 << 10;

/// The beginning of a file.
pub struct Beginning {
    /// Its bytes, decompressed.
    pub bytes: Vec<u8>,
    /// About how many bytes of the file hold them.
    pub packed: u64,
    /// Whether the file has no more.
    pub is_whole: bool,
}

/// The first `most` bytes of a file, decompressed. Fewer only if the file has no more.
pub fn first_bytes(file: &FileEntry, compression_name: &str, most: usize) -> Result<Vec<u8>> {
    first_of(file, compression(compression_name)?.decompressor()?, most)
}

/// The first `most` bytes of a file, as the decompressor gives them. Fewer only if the file has no more.
pub fn first_of(
    file: &FileEntry,
    decompressor: Option<Box<dyn Decompressor>>,
    most: usize,
) -> Result<Vec<u8>> {
    let mut bytes = begin(file, decompressor, most)?.0.bytes;
    bytes.truncate(most);
    Ok(bytes)
}

/// The first `most` bytes of a file, as the decompressor gives them, and how many bytes of the file these are.
pub fn beginning(
    file: &FileEntry,
    decompressor: Option<Box<dyn Decompressor>>,
    most: usize,
) -> Result<Beginning> {
    let (beginning, decompressor) = begin(file, decompressor, most)?;
    let Some(mut decompressor) = decompressor else { return Ok(beginning) };
    let Beginning { mut bytes, packed, is_whole } = beginning;
    // What was consumed may hold the rest of a block too.
    let mut raw = bytes.len();
    if !is_whole {
        let mut rest = Vec::new();
        loop {
            decompressor.push(&[], &mut rest, HEAD).map_err(|e| e.at(&file.path))?;
            if rest.is_empty() {
                break;
            }
            raw += rest.len();
            rest.clear();
        }
    }
    let is_whole = is_whole && raw <= most;
    bytes.truncate(most);
    let part = bytes.len() as f64 / raw.max(1) as f64;
    Ok(Beginning { bytes, packed: (packed as f64 * part) as u64, is_whole })
}

/// The first `most` bytes, or some more, of a file, and the decompressor; `packed` are the bytes that it has consumed.
fn begin(
    file: &FileEntry,
    decompressor: Option<Box<dyn Decompressor>>,
    most: usize,
) -> Result<(Beginning, Option<Box<dyn Decompressor>>)> {
    let input = Input::of(file)?;
    let Some(mut decompressor) = decompressor else {
        let bytes = input.read_range(&(0..most as u64))?.to_vec();
        let packed = bytes.len() as u64;
        return Ok((Beginning { is_whole: bytes.len() < most || packed == file.bytes, packed, bytes }, None));
    };
    let mut out = Vec::new();
    let (mut at, mut packed) = (0, 0);
    let mut is_whole = false;
    while out.len() < most {
        let bytes = input.read_range(&(at..at + HEAD as u64))?;
        if bytes.is_empty() {
            decompressor.finish().map_err(|e| e.at(&file.path))?;
            is_whole = true;
            break;
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() && out.len() < most {
            let used = decompressor.push(rest, &mut out, most).map_err(|e| e.at(&file.path))?;
            packed += used as u64;
            rest = &rest[used..];
        }
        at += bytes.len() as u64;
    }
    Ok((Beginning { bytes: out, packed, is_whole }, Some(decompressor)))
}
