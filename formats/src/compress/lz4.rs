//! lz4 in its frame format: frames one after another, each of blocks behind a header, with a mark at its end.
//!
//! Every block of rows is a frame. Skippable frames are passed over, a frame without its end mark is an error (the
//! crate's decoder takes it for the end).

use std::io::{BufRead, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};

use super::container::Concatenated;
use super::framed::{Parts, collect};
use super::{About, Compression, Container, Decompressor, Piece, corrupt, cut_short, refused};
use crate::error::Result;

const MAGIC: u32 = 0x184d_2204;
const LEGACY_MAGIC: u32 = 0x184c_2102;

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
        Ok(Some(Box::new(Unlz4 {
            inner: FrameDecoder::new(Parts::default()),
            part: Vec::new(),
            state: State::Between,
            left: 0,
            frames: 0,
        })))
    }

    fn compress(&self, raw: Vec<u8>) -> Result<Piece> {
        let info = FrameInfo::new()
            .block_mode(BlockMode::Independent)
            .block_size(BlockSize::Max1MB)
            .content_size(Some(raw.len() as u64))
            .content_checksum(true);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::with_capacity(raw.len() / 2 + 64));
        encoder.write_all(&raw).map_err(|e| refused("lz4", e))?;
        let bytes = encoder.finish().map_err(|e| refused("lz4", e))?;
        Ok(Piece { bytes, about: About::of(&raw) })
    }

    fn container(&self) -> Box<dyn Container> {
        let empty = self.compress(Vec::new()).map(|piece| piece.bytes).unwrap_or_default();
        Box::new(Concatenated::new(empty))
    }
}

/// What a frame's header says of its blocks.
#[derive(Clone, Copy)]
struct Frame {
    max_block: usize,
    block_checksums: bool,
    content_checksum: bool,
}

enum State {
    /// A frame may begin.
    Between,
    /// In a skippable frame, of which this much is left.
    Skip(u64),
    /// A block or the end mark follows.
    Blocks(Frame),
}

struct Unlz4 {
    inner: FrameDecoder<Parts>,
    /// The header or block so far.
    part: Vec<u8>,
    state: State,
    /// Bytes of text that the decoder still holds.
    left: usize,
    frames: u64,
}

impl Unlz4 {
    /// Gives the collected part to the decoder and takes what text comes of it.
    fn decode(&mut self, out: &mut Vec<u8>, most: usize) -> Result<()> {
        self.inner.get_mut().set(&self.part);
        self.part.clear();
        self.left = self.inner.fill_buf().map_err(|e| corrupt("lz4", e))?.len();
        self.drain(out, most)
    }

    fn drain(&mut self, out: &mut Vec<u8>, most: usize) -> Result<()> {
        let some = self.left.min(most.saturating_sub(out.len()));
        if some > 0 {
            let text = self.inner.fill_buf().map_err(|e| corrupt("lz4", e))?;
            out.extend_from_slice(&text[..some]);
            self.inner.consume(some);
            self.left -= some;
        }
        Ok(())
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

impl Decompressor for Unlz4 {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<usize> {
        let mut rest = input;
        self.drain(out, most)?;
        while self.left == 0 && out.len() < most {
            match self.state {
                State::Between => {
                    if !collect(&mut self.part, 4, &mut rest) {
                        break;
                    }
                    match u32_at(&self.part, 0) {
                        MAGIC => {}
                        0x184d_2a50..=0x184d_2a5f => {
                            if !collect(&mut self.part, 8, &mut rest) {
                                break;
                            }
                            self.state = State::Skip(u64::from(u32_at(&self.part, 4)));
                            self.part.clear();
                            continue;
                        }
                        LEGACY_MAGIC => {
                            return Err(corrupt("lz4", "frames of the legacy format are not read"));
                        }
                        _ => return Err(corrupt("lz4", "a frame does not begin with its magic number")),
                    }
                    if !collect(&mut self.part, 7, &mut rest) {
                        break;
                    }
                    let (flags, block) = (self.part[4], self.part[5]);
                    let len = 7 + usize::from(flags & 8 != 0) * 8 + usize::from(flags & 1 != 0) * 4;
                    if !collect(&mut self.part, len, &mut rest) {
                        break;
                    }
                    let max_block = match block >> 4 & 7 {
                        size @ 4..=7 => 1 << (8 + 2 * size),
                        _ => return Err(corrupt("lz4", "a frame has a block size that does not exist")),
                    };
                    let (block_checksums, content_checksum) = (flags & 0x10 != 0, flags & 4 != 0);
                    self.state = State::Blocks(Frame { max_block, block_checksums, content_checksum });
                    // The decoder reads a header only together with the block behind it.
                    self.inner.get_mut().set(&self.part);
                    self.part.clear();
                }
                State::Skip(left) => {
                    let some = left.min(rest.len() as u64);
                    rest = &rest[some as usize..];
                    if some < left {
                        self.state = State::Skip(left - some);
                        break;
                    }
                    self.frames += 1;
                    self.state = State::Between;
                }
                State::Blocks(frame) => {
                    if !collect(&mut self.part, 4, &mut rest) {
                        break;
                    }
                    let word = u32_at(&self.part, 0);
                    let size = (word & 0x7fff_ffff) as usize;
                    if size > frame.max_block {
                        return Err(corrupt("lz4", "a block is longer than its frame allows"));
                    }
                    let checksum = if word == 0 { frame.content_checksum } else { frame.block_checksums };
                    if !collect(&mut self.part, 4 + size + 4 * usize::from(checksum), &mut rest) {
                        break;
                    }
                    self.decode(out, most)?;
                    if word == 0 {
                        self.frames += 1;
                        self.state = State::Between;
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
