//! Reads the beginning of a file, decompressed.

use schema::FileEntry;

use super::compression;
use crate::error::Result;
use crate::store::input::Input;

/// The bytes of a compressed file that are read at once.
const HEAD: usize = 64 << 10;

/// The first `most` bytes of a file, decompressed. Fewer only if the file has no more.
pub fn first_bytes(file: &FileEntry, compression_name: &str, most: usize) -> Result<Vec<u8>> {
    let input = Input::of(file)?;
    let Some(mut decompressor) = compression(compression_name)?.decompressor()? else {
        return Ok(input.read_range(&(0..most as u64))?.to_vec());
    };
    let mut out = Vec::new();
    let mut at = 0;
    while out.len() < most {
        let bytes = input.read_range(&(at..at + HEAD as u64))?;
        if bytes.is_empty() {
            decompressor.finish().map_err(|e| e.at(&file.path))?;
            break;
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() && out.len() < most {
            let used = decompressor.push(rest, &mut out, most).map_err(|e| e.at(&file.path))?;
            rest = &rest[used..];
        }
        at += bytes.len() as u64;
    }
    out.truncate(most);
    Ok(out)
}
