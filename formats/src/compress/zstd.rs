//! zstd (RFC 8878): frames one after another. Every block of rows is a frame. Behind the last one stands the table of
//! the seekable format (zstd's contrib/seekable_format), in a frame that ordinary tools skip:
//!
//! ```text
//! frame…  frame…  5e 2a 4d 18  size:u32  (compressed:u32 raw:u32)…  frames:u32 00 b1 ea 92 8f
//! ```

use std::io::Write;

use zstd::stream::raw::{CParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::{
    BlockInfo, CompressedBlock, Compression, Container, Decompressor, Unit, corrupt, cut_short, refused,
    sized, u32_at,
};
use crate::error::{Error, Result};
use crate::memory;

/// The level of `zstd` itself.
const LEVEL: i32 = 3;

const MAGIC: u32 = 0xfd2f_b528;
const SKIPPABLE_MAGIC: u32 = 0x184d_2a5e;
const SEEKABLE_MAGIC: u32 = 0x8f92_eab1;

/// zstd.
pub struct Zstd;

impl Compression for Zstd {
    fn name(&self) -> &'static str {
        "zstd"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["zst", "zstd"]
    }

    fn begins(&self, head: &[u8]) -> bool {
        head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
    }

    fn decompressor(&self) -> Result<Option<Box<dyn Decompressor>>> {
        Ok(Some(Box::new(Unzstd::new(0)?)))
    }

    fn resume(&self) -> Result<Option<Box<dyn Decompressor>>> {
        Ok(Some(Box::new(Unzstd::new(1)?)))
    }

    fn unit(&self, bytes: &[u8]) -> Unit {
        unit(bytes).unwrap_or(Unit::Short)
    }

    fn compress(&self, raw: Vec<u8>) -> Result<CompressedBlock> {
        let compress = || {
            let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
            compressor.set_parameter(CParameter::ChecksumFlag(true))?;
            compressor.compress(&raw)
        };
        let bytes = compress().map_err(|e: std::io::Error| refused("zstd", e))?;
        Ok(CompressedBlock { bytes, about: BlockInfo::of(&raw) })
    }

    fn container(&self) -> Box<dyn Container> {
        Box::new(Seekable { table: Vec::new() })
    }
}

/// The header of a frame.
struct Header {
    /// The bytes that it has.
    at: usize,
    /// The bytes of the frame's content, if it says so.
    size: Option<u64>,
    /// How many of the last bytes of its content the library keeps.
    window: u64,
}

/// The most bytes that the header of a frame has.
const HEADER_BYTES: usize = 18;

/// The header of a frame, behind whose magic number these bytes are whole; `None` if it goes on behind them.
fn header(bytes: &[u8]) -> Option<Header> {
    let flags = *bytes.get(4)?;
    let single = flags & 0x20 != 0;
    let dictionary = [0, 1, 2, 4][usize::from(flags & 3)];
    let size_at = 5 + usize::from(!single) + dictionary;
    let window = match *bytes.get(5)? {
        _ if single => 0,
        byte => (1 << (10 + (byte >> 3))) / 8 * (8 + u64::from(byte & 7)),
    };
    let (size_bytes, least) = match flags >> 6 {
        0 if single => (1, 0),
        0 => return Some(Header { at: size_at, size: None, window }),
        1 => (2, 256),
        2 => (4, 0),
        _ => (8, 0),
    };
    let at = size_at + size_bytes;
    let size = bytes.get(size_at..at)?.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
    let size = size.saturating_add(least);
    Some(Header { at, size: Some(size), window: if single { size } else { window } })
}

/// The frame that begins here, by its header and those of its blocks; `None` if it goes on behind the bytes. One that
/// does not tell the size of its content is no unit.
fn unit(bytes: &[u8]) -> Option<Unit> {
    let magic = u32_at(bytes, 0)?;
    if magic & !15 == SKIPPABLE_MAGIC & !15 {
        let packed = 8 + u32_at(bytes, 4)? as usize;
        return (packed <= bytes.len()).then_some(Unit::Whole { packed, raw: 0, aligned: false });
    }
    if magic != MAGIC {
        return Some(Unit::Unknown);
    }
    let flags = *bytes.get(4)?;
    let Header { mut at, size, .. } = header(bytes)?;
    let Some(raw) = size.and_then(|size| usize::try_from(size).ok()) else { return Some(Unit::Unknown) };
    loop {
        let header = bytes.get(at..at + 3)?;
        let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        // A block of one byte repeated has that byte alone.
        let len = if header >> 1 & 3 == 1 { 1 } else { (header >> 3) as usize };
        at += 3 + len;
        if header & 1 != 0 {
            break;
        }
    }
    let packed = at + if flags & 4 != 0 { 4 } else { 0 };
    (packed <= bytes.len()).then_some(Unit::Whole { packed, raw, aligned: false })
}

/// Frames and a table of their sizes.
struct Seekable {
    table: Vec<(u64, u64)>,
}

impl Container for Seekable {
    fn begin(&mut self, _: &mut dyn Write) -> std::io::Result<()> {
        Ok(())
    }

    fn append(&mut self, bytes: &[u8], about: &BlockInfo, out: &mut dyn Write) -> std::io::Result<()> {
        self.table.push((bytes.len() as u64, about.raw));
        out.write_all(bytes)
    }

    fn finish(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        let mut table = Vec::with_capacity(8 * self.table.len() + 9);
        for &(compressed, raw) in &self.table {
            // Sizes of 4 GiB or more have no place in the table; without one the file is read in one piece.
            let (Ok(compressed), Ok(raw)) = (u32::try_from(compressed), u32::try_from(raw)) else {
                return Ok(());
            };
            table.extend_from_slice(&compressed.to_le_bytes());
            table.extend_from_slice(&raw.to_le_bytes());
        }
        table.extend_from_slice(&(self.table.len() as u32).to_le_bytes());
        table.push(0);
        table.extend_from_slice(&SEEKABLE_MAGIC.to_le_bytes());
        out.write_all(&SKIPPABLE_MAGIC.to_le_bytes())?;
        out.write_all(&(table.len() as u32).to_le_bytes())?;
        out.write_all(&table)
    }
}

#[derive(PartialEq)]
enum State {
    /// A frame may begin.
    Fresh,
    /// Within a frame.
    Frame,
}

struct Unzstd {
    inner: Decoder<'static>,
    state: State,
    frames: u64,
    /// The first bytes of the frame, up to [`HEADER_BYTES`].
    head: Vec<u8>,
    /// The bytes of the frame's content so far.
    content: u64,
    /// Whether the frame's window was asked for.
    asked: bool,
}

impl Unzstd {
    /// At the beginning of a frame before which there were so many.
    fn new(frames: u64) -> Result<Unzstd> {
        let inner = Decoder::new().map_err(|e| Error::Unsupported(format!("zstd cannot start: {e}")))?;
        Ok(Unzstd { inner, state: State::Fresh, frames, head: Vec::new(), content: 0, asked: false })
    }
}

impl Unzstd {
    /// Asks for the frame's window, once its header is whole with these bytes. Until then the library allocates nothing.
    fn ask(&mut self, next: &[u8]) -> Result<()> {
        let room = HEADER_BYTES - self.head.len();
        let head = [&self.head, &next[..next.len().min(room)]].concat();
        let is_frame = u32_at(&head, 0) == Some(MAGIC);
        let Some(Header { window, .. }) = header(&head).filter(|_| is_frame) else { return Ok(()) };
        self.asked = true;
        memory::ask(window, || format!("a zstd frame keeps {window} bytes to look back to"))
    }

    /// At the end of a frame: an error unless it holds as many bytes as its header says. The library looks at that too,
    /// but not where the last block is empty.
    fn end_frame(&mut self) -> Result<()> {
        self.state = State::Fresh;
        self.frames += 1;
        self.asked = false;
        let is_frame = u32_at(&self.head, 0) == Some(MAGIC);
        let size = header(&self.head).filter(|_| is_frame).and_then(|header| header.size);
        let (content, _) = (std::mem::take(&mut self.content), self.head.clear());
        sized("zstd", size.is_none_or(|size| size == content))
    }
}

impl Decompressor for Unzstd {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<usize> {
        let mut consumed = 0;
        while self.state == State::Frame || consumed < input.len() {
            self.state = State::Frame;
            if !self.asked {
                self.ask(&input[consumed..])?;
            }
            out.reserve(most.saturating_sub(out.len()));
            let before = out.len();
            let mut from = InBuffer::around(&input[consumed..]);
            let mut to = OutBuffer::around_pos(out, before);
            // How many bytes are still expected of the frame; 0 at its end.
            let expected = self.inner.run(&mut from, &mut to).map_err(|e| corrupt("zstd", e))?;
            let read = from.pos();
            let room = HEADER_BYTES - self.head.len();
            self.head.extend_from_slice(&input[consumed..][..read.min(room)]);
            self.content += (out.len() - before) as u64;
            consumed += read;
            if expected == 0 {
                self.end_frame()?;
            } else if out.len() == before && read == 0 {
                break;
            }
            if out.len() >= most {
                break;
            }
        }
        Ok(consumed)
    }

    fn finish(&mut self) -> Result<()> {
        match self.state {
            State::Fresh if self.frames > 0 => Ok(()),
            _ => Err(cut_short("zstd", "a frame")),
        }
    }
}
