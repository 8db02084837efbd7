//! lz4 in its frame format: frames one after another, each of blocks behind a header, with a mark at its end.
//!
//! Every block of rows is a frame. Skippable frames are passed over, a frame without its end mark is an error. The
//! crate decodes blocks. Frames are read here, so that a block is decoded to where it is wanted, and every end is
//! noticed. The crate's reader of frames, which copies the block there, takes 1.7 times as long.
//!
//! ```text
//! 04 22 4d 18  flags  block size  [content size:u64]  [dictionary:u32]  header checksum
//! (size:u32  bytes…  [checksum:u32])…  00 00 00 00  [content checksum:u32]          checksums: xxHash-32, seed 0
//! ```

use std::io::Write;

use lz4_flex::block::{decompress_into, decompress_into_with_dict};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use twox_hash::XxHash32;

use super::container::Concatenated;
use super::framed::take;
use super::{
    BlockInfo, CompressedBlock, Compression, Container, Decompressor, Unit, corrupt, cut_short, refused,
    u32_at,
};
use crate::error::Result;

const MAGIC: u32 = 0x184d_2204;
const LEGACY_MAGIC: u32 = 0x184c_2102;
const SKIPPABLE_MAGIC: u32 = 0x184d_2a50;

/// So far back a block may refer to the blocks before it.
const WINDOW: usize = 64 << 10;

/// lz4.
pub struct Lz4;

impl Compression for Lz4 {
    fn name(&self) -> &'static str {
        "lz4"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["lz4"]
    }

    fn begins(&self, head: &[u8]) -> bool {
        head.starts_with(&MAGIC.to_le_bytes())
    }

    fn decompressor(&self) -> Result<Option<Box<dyn Decompressor>>> {
        Ok(Some(Box::new(Unlz4 { part: Vec::new(), state: State::Between, frames: 0 })))
    }

    fn resume(&self) -> Result<Option<Box<dyn Decompressor>>> {
        Ok(Some(Box::new(Unlz4 { part: Vec::new(), state: State::Between, frames: 1 })))
    }

    fn unit(&self, bytes: &[u8]) -> Unit {
        unit(bytes).unwrap_or(Unit::Short)
    }

    fn compress(&self, raw: Vec<u8>) -> Result<CompressedBlock> {
        let info = FrameInfo::new()
            .block_mode(BlockMode::Independent)
            .block_size(BlockSize::Max1MB)
            .content_size(Some(raw.len() as u64))
            .content_checksum(true);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::with_capacity(raw.len() / 2 + 64));
        encoder.write_all(&raw).map_err(|e| refused("lz4", e))?;
        let bytes = encoder.finish().map_err(|e| refused("lz4", e))?;
        Ok(CompressedBlock { bytes, about: BlockInfo::of(&raw) })
    }

    fn container(&self) -> Box<dyn Container> {
        let empty = self.compress(Vec::new()).map(|piece| piece.bytes).unwrap_or_default();
        Box::new(Concatenated::new(empty))
    }
}

/// The frame that begins here, by its header and those of its blocks; `None` if it goes on behind the bytes. One that
/// does not tell the size of its content is no unit.
fn unit(bytes: &[u8]) -> Option<Unit> {
    let magic = u32_at(bytes, 0)?;
    if magic & !15 == SKIPPABLE_MAGIC {
        let packed = 8 + u32_at(bytes, 4)? as usize;
        return (packed <= bytes.len()).then_some(Unit::Whole { packed, raw: 0, aligned: false });
    }
    let flags = *bytes.get(4)?;
    if magic != MAGIC || flags & 8 == 0 {
        return Some(Unit::Unknown);
    }
    let size = u64::from(u32_at(bytes, 6)?) | u64::from(u32_at(bytes, 10)?) << 32;
    let Ok(raw) = usize::try_from(size) else { return Some(Unit::Unknown) };
    let mut at = header_len(flags);
    loop {
        let word = u32_at(bytes, at)?;
        at += 4;
        if word == 0 {
            break;
        }
        at += (word & STORED_MASK) as usize + checksum_len(flags & BLOCK_CHECKSUMS);
    }
    let packed = at + checksum_len(flags & CONTENT_CHECKSUM);
    (packed <= bytes.len()).then_some(Unit::Whole { packed, raw, aligned: false })
}

/// Flags of a frame.
const INDEPENDENT: u8 = 0x20;
const BLOCK_CHECKSUMS: u8 = 0x10;
const CONTENT_CHECKSUM: u8 = 4;

/// The size in a block's header; the bit that is left says that the block is stored as it is.
const STORED_MASK: u32 = 0x7fff_ffff;

/// The length of a frame's header with these flags.
fn header_len(flags: u8) -> usize {
    7 + usize::from(flags & 8 != 0) * 8 + usize::from(flags & 1 != 0) * 4
}

fn checksum_len(flag: u8) -> usize {
    4 * usize::from(flag != 0)
}

/// A frame that is being read.
struct Frame {
    flags: u8,
    max_block: usize,
    /// The size of the content, if the header tells it.
    expected: Option<u64>,
    seen: u64,
    sum: XxHash32,
    /// The last bytes of its text, where blocks refer to those before them.
    window: Vec<u8>,
}

enum State {
    /// A frame may begin.
    Between,
    /// In a skippable frame, of which this much is left.
    Skip(u64),
    /// A block or the end mark follows.
    Blocks(Box<Frame>),
}

struct Unlz4 {
    /// The header or block so far, unless all of it lay in one input.
    part: Vec<u8>,
    state: State,
    frames: u64,
}

impl Frame {
    /// From a whole header.
    fn new(header: &[u8]) -> Result<Frame> {
        let (flags, block) = (header[4], header[5]);
        if flags >> 6 != 1 {
            return Err(corrupt("lz4", "a frame is of a version that does not exist"));
        }
        if flags & 1 != 0 {
            return Err(corrupt("lz4", "a frame needs a dictionary, and none can be given"));
        }
        let max_block = match block >> 4 & 7 {
            size @ 4..=7 => 1 << (8 + 2 * size),
            _ => return Err(corrupt("lz4", "a frame has a block size that does not exist")),
        };
        let (described, sum) = header[4..].split_at(header.len() - 5);
        if (XxHash32::oneshot(0, described) >> 8) as u8 != sum[0] {
            return Err(corrupt("lz4", "the checksum of a frame's header does not match"));
        }
        let expected = described.get(2..10).and_then(|size| size.try_into().ok()).map(u64::from_le_bytes);
        Ok(Frame { flags, max_block, expected, seen: 0, sum: XxHash32::with_seed(0), window: Vec::new() })
    }

    /// Appends the text of a block.
    fn unpack(&mut self, word: u32, body: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let (packed, sum) = body.split_at(body.len() - checksum_len(self.flags & BLOCK_CHECKSUMS));
        if u32_at(sum, 0).is_some_and(|sum| sum != XxHash32::oneshot(0, packed)) {
            return Err(corrupt("lz4", "the checksum of a block does not match"));
        }
        let from = out.len();
        if word & !STORED_MASK != 0 {
            out.extend_from_slice(packed);
        } else {
            // No more room than is needed, where that is known: to grow `out` would copy it.
            let left = self.expected.map_or(u64::MAX, |size| size.saturating_sub(self.seen));
            let room = usize::try_from(left).unwrap_or(usize::MAX).min(self.max_block);
            out.resize(from + room, 0);
            let unpacked = match self.window.is_empty() {
                true => decompress_into(packed, &mut out[from..]),
                false => decompress_into_with_dict(packed, &mut out[from..], &self.window),
            };
            out.truncate(from + unpacked.map_err(|e| corrupt("lz4", e))?);
        }
        let text = &out[from..];
        self.seen += text.len() as u64;
        if self.flags & CONTENT_CHECKSUM != 0 {
            std::hash::Hasher::write(&mut self.sum, text);
        }
        if self.flags & INDEPENDENT == 0 {
            self.window.extend_from_slice(&text[text.len().saturating_sub(WINDOW)..]);
            self.window.drain(..self.window.len().saturating_sub(WINDOW));
        }
        Ok(())
    }

    /// Compares what was read with what the frame says of it.
    fn finish(&self, sum: Option<u32>) -> Result<()> {
        if sum.is_some_and(|sum| sum != self.sum.finish_32()) {
            return Err(corrupt("lz4", "the checksum of a frame does not match"));
        }
        match self.expected {
            Some(size) if size != self.seen => {
                Err(corrupt("lz4", format!("a frame holds {} bytes, and its header says {size}", self.seen)))
            }
            _ => Ok(()),
        }
    }
}

impl Decompressor for Unlz4 {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<usize> {
        let mut rest = input;
        loop {
            match &mut self.state {
                State::Between => {
                    let Some(head) = take(&mut self.part, 4, &mut rest, false) else { break };
                    match u32_at(head, 0).unwrap_or_default() {
                        MAGIC => {}
                        magic if magic & !15 == SKIPPABLE_MAGIC => {
                            let Some(head) = take(&mut self.part, 8, &mut rest, true) else { break };
                            self.state = State::Skip(u64::from(u32_at(head, 4).unwrap_or_default()));
                            self.part.clear();
                            continue;
                        }
                        LEGACY_MAGIC => {
                            return Err(corrupt("lz4", "frames of the legacy format are not read"));
                        }
                        _ => return Err(corrupt("lz4", "a frame does not begin with its magic number")),
                    }
                    let Some(head) = take(&mut self.part, 7, &mut rest, false) else { break };
                    let len = header_len(head[4]);
                    let Some(header) = take(&mut self.part, len, &mut rest, true) else { break };
                    self.state = State::Blocks(Box::new(Frame::new(header)?));
                    self.part.clear();
                }
                State::Skip(left) => {
                    let some = (*left).min(rest.len() as u64);
                    rest = &rest[some as usize..];
                    *left -= some;
                    if *left > 0 {
                        break;
                    }
                    self.frames += 1;
                    self.state = State::Between;
                }
                State::Blocks(frame) => {
                    let Some(head) = take(&mut self.part, 4, &mut rest, false) else { break };
                    let word = u32_at(head, 0).unwrap_or_default();
                    let size = (word & STORED_MASK) as usize;
                    if size > frame.max_block {
                        return Err(corrupt("lz4", "a block is longer than its frame allows"));
                    }
                    let flag = if word == 0 { CONTENT_CHECKSUM } else { BLOCK_CHECKSUMS };
                    let len = 4 + size + checksum_len(frame.flags & flag);
                    let Some(block) = take(&mut self.part, len, &mut rest, true) else { break };
                    if word == 0 {
                        frame.finish(u32_at(block, 4))?;
                        self.frames += 1;
                        self.state = State::Between;
                    } else {
                        frame.unpack(word, &block[4..], out)?;
                    }
                    self.part.clear();
                    if out.len() >= most {
                        break;
                    }
                }
            }
        }
        Ok(input.len() - rest.len())
    }

    fn finish(&mut self) -> Result<()> {
        match self.state {
            State::Between if self.part.is_empty() && self.frames > 0 => Ok(()),
            State::Between => Err(cut_short("lz4", "a frame's header")),
            State::Skip(_) => Err(cut_short("lz4", "a skippable frame")),
            State::Blocks(_) => Err(cut_short("lz4", "a frame")),
        }
    }
}
