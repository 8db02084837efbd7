//! gzip (RFC 1952): members one after another, each with a checksum.
//!
//! Every block is a member of its own. Its header holds an extra field `PA` of four bytes, the size of the whole
//! member, little endian. So a reader can hop from member to member without decompressing. It can do so too with the
//! field `BC` of bgzip, which holds the size less one in two bytes:
//!
//! ```text
//! 1f 8b 08 04  00 00 00 00  00 ff  08 00  'P' 'A' 04 00  size:u32  deflate…  crc32:u32  raw size:u32
//! ```

use flate2::{Compress, Compression as Level, Decompress, FlushCompress, FlushDecompress, Status};

use super::container::Concatenated;
use super::{
    BlockInfo, CompressedBlock, Compression, Container, Decompressor, Unit, corrupt, cut_short, refused,
    sized, u32_at,
};
use crate::error::Result;

/// The level of `gzip` itself.
pub const LEVEL: u32 = 6;

/// A header with the extra field and a size of 0.
const HEADER: [u8; 20] = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 8, 0, b'P', b'A', 4, 0, 0, 0, 0, 0];

/// Where the size stands in [`HEADER`].
const SIZE_AT: usize = 16;

/// What is said of bytes that can't be inflated: the library's own words differ from call to call.
pub const NO_DEFLATE: &str = "a block can't be decompressed";

const WRONG_SUM: &str = "a member's checksum or size does not match";

/// A header that is longer is taken for damage.
const MAX_HEADER: usize = 256 << 10;

/// gzip.
pub struct Gzip;

impl Compression for Gzip {
    fn name(&self) -> &'static str {
        "gzip"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["gz", "gzip"]
    }

    fn begins(&self, head: &[u8]) -> bool {
        head.starts_with(&[0x1f, 0x8b])
    }

    fn decompressor(&self) -> Result<Option<Box<dyn Decompressor>>> {
        Ok(Some(Box::new(Gunzip::new(0))))
    }

    fn resume(&self) -> Result<Option<Box<dyn Decompressor>>> {
        Ok(Some(Box::new(Gunzip::new(1))))
    }

    fn unit(&self, bytes: &[u8]) -> Unit {
        let packed = match bytes {
            [0x1f, 0x8b, 8, 4, _, _, _, _, _, _, 8, 0, b'P', b'A', 4, 0, s0, s1, s2, s3, ..] => {
                Some((u32::from_le_bytes([*s0, *s1, *s2, *s3]) as usize, true))
            }
            [0x1f, 0x8b, 8, 4, _, _, _, _, _, _, 6, 0, b'B', b'C', 2, 0, s0, s1, ..] => {
                Some((usize::from(u16::from_le_bytes([*s0, *s1])) + 1, false))
            }
            _ => None,
        };
        match packed {
            Some((packed, aligned)) if packed > HEADER.len() + 8 => match u32_at(bytes, packed - 4) {
                Some(raw) => Unit::Whole { packed, raw: raw as usize, aligned },
                None => Unit::Short,
            },
            _ => Unit::Unknown,
        }
    }

    fn expand(&self, packed: &[u8], raw: usize, _: bool, out: &mut Vec<u8>) -> Result<()> {
        let whole = out.len() + raw;
        let mut rest = packed;
        while !rest.is_empty() {
            let Unit::Whole { packed, raw, .. } = self.unit(rest) else {
                return Err(corrupt(
                    "gzip",
                    "a member does not begin as its manifest or the one before it says",
                ));
            };
            let (member, behind) = rest.split_at(packed);
            // Both kinds of members have no name and no comment, so that the header ends with the extra field.
            let body = 12 + usize::from(member[10]);
            let (Some(deflated), Some(crc)) = (member.get(body..packed - 8), u32_at(member, packed - 8))
            else {
                return Err(corrupt("gzip", "a member is shorter than its header"));
            };
            sized("gzip", raw <= whole.saturating_sub(out.len()))?;
            let from = out.len();
            inflate_whole(deflated, raw, out).ok_or_else(|| corrupt("gzip", NO_DEFLATE))?;
            if crc32fast::hash(&out[from..]) != crc {
                return Err(corrupt("gzip", WRONG_SUM));
            }
            rest = behind;
        }
        sized("gzip", out.len() == whole)
    }

    fn compress(&self, raw: Vec<u8>) -> Result<CompressedBlock> {
        let mut bytes = Vec::with_capacity(raw.len() / 2 + 64);
        bytes.extend_from_slice(&HEADER);
        deflate(&raw, &mut bytes, FlushCompress::Finish).map_err(|e| refused("gzip", e))?;
        bytes.extend_from_slice(&crc32fast::hash(&raw).to_le_bytes());
        bytes.extend_from_slice(&(raw.len() as u32).to_le_bytes());
        // A member of 4 GiB or more says 0, which is no size.
        let size = u32::try_from(bytes.len()).unwrap_or(0);
        bytes[SIZE_AT..SIZE_AT + 4].copy_from_slice(&size.to_le_bytes());
        Ok(CompressedBlock { bytes, about: BlockInfo::of(&raw) })
    }

    fn container(&self) -> Box<dyn Container> {
        let empty = self.compress(Vec::new()).map(|piece| piece.bytes).unwrap_or_default();
        Box::new(Concatenated::new(empty))
    }
}

/// Appends what a whole deflate stream holds, if that is exactly `raw` bytes. Bytes behind the stream are not looked at.
///
/// libdeflate takes 0.7 of the time of zlib-rs for it, but can't be given a stream piece by piece.
pub fn inflate_whole(deflated: &[u8], raw: usize, out: &mut Vec<u8>) -> Option<()> {
    let from = out.len();
    out.resize(from + raw, 0);
    let inflated = libdeflater::Decompressor::new().deflate_decompress(deflated, &mut out[from..]);
    (inflated == Ok(raw)).then_some(())
}

/// Appends the deflated form of `raw`, from a fresh compressor, ended by this flush.
pub fn deflate(raw: &[u8], out: &mut Vec<u8>, flush: FlushCompress) -> Result<(), flate2::CompressError> {
    let mut compress = Compress::new(Level::new(LEVEL), false);
    loop {
        if out.len() == out.capacity() {
            out.reserve(out.len() / 2 + 64);
        }
        let consumed = compress.total_in() as usize;
        let status = compress.compress_vec(&raw[consumed..], out, flush)?;
        // A sync flush is complete once room is left behind it.
        let done = compress.total_in() as usize == raw.len() && out.len() < out.capacity();
        if status == Status::StreamEnd || (done && flush == FlushCompress::Sync) {
            return Ok(());
        }
    }
}

enum State {
    /// The header so far.
    Header(Vec<u8>),
    Body,
    /// The trailer so far.
    Trailer(Vec<u8>),
    /// Zeros behind the last member, as tapes and some tools pad files.
    Padding,
}

struct Gunzip {
    state: State,
    inflate: Decompress,
    crc: crc32fast::Hasher,
    size: u32,
    members: u64,
}

impl Gunzip {
    /// At the beginning of a member before which there were so many.
    fn new(members: u64) -> Gunzip {
        Gunzip {
            state: State::Header(Vec::new()),
            inflate: Decompress::new(false),
            crc: crc32fast::Hasher::new(),
            size: 0,
            members,
        }
    }
}

impl Decompressor for Gunzip {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<usize> {
        let mut rest = input;
        loop {
            match &mut self.state {
                State::Header(head) => {
                    let Some((&byte, behind)) = rest.split_first() else { break };
                    if self.members > 0 && head.is_empty() && byte == 0 {
                        self.state = State::Padding;
                        continue;
                    }
                    head.push(byte);
                    rest = behind;
                    if header_is_whole(head)? {
                        self.state = State::Body;
                    }
                }
                State::Body => {
                    out.reserve(most.saturating_sub(out.len()));
                    let (from, before) = (out.len(), self.inflate.total_in());
                    let status = self
                        .inflate
                        .decompress_vec(rest, out, FlushDecompress::None)
                        .map_err(|_| corrupt("gzip", NO_DEFLATE))?;
                    rest = &rest[(self.inflate.total_in() - before) as usize..];
                    self.crc.update(&out[from..]);
                    self.size = self.size.wrapping_add((out.len() - from) as u32);
                    if status == Status::StreamEnd {
                        self.state = State::Trailer(Vec::with_capacity(8));
                    } else if rest.is_empty() || out.len() >= most {
                        break;
                    }
                }
                State::Trailer(trailer) => {
                    let Some((&byte, behind)) = rest.split_first() else { break };
                    trailer.push(byte);
                    rest = behind;
                    if let [c0, c1, c2, c3, s0, s1, s2, s3] = trailer[..] {
                        let crc = std::mem::take(&mut self.crc).finalize();
                        if (crc, self.size)
                            != (u32::from_le_bytes([c0, c1, c2, c3]), u32::from_le_bytes([s0, s1, s2, s3]))
                        {
                            return Err(corrupt("gzip", WRONG_SUM));
                        }
                        self.size = 0;
                        self.members += 1;
                        self.inflate.reset(false);
                        self.state = State::Header(Vec::new());
                    }
                }
                State::Padding => {
                    if rest.iter().any(|&byte| byte != 0) {
                        return Err(corrupt("gzip", "something other than a member follows the last one"));
                    }
                    rest = &[];
                    break;
                }
            }
            if out.len() >= most {
                break;
            }
        }
        Ok(input.len() - rest.len())
    }

    fn finish(&mut self) -> Result<()> {
        match &self.state {
            State::Header(head) if head.is_empty() && self.members > 0 => Ok(()),
            State::Padding => Ok(()),
            State::Header(_) => Err(cut_short("gzip", "a header")),
            State::Body => Err(cut_short("gzip", "a member")),
            State::Trailer(_) => Err(cut_short("gzip", "a checksum")),
        }
    }
}

/// Whether a member's header is complete; an error if it is none.
fn header_is_whole(head: &[u8]) -> Result<bool> {
    let magic = [0x1f, 0x8b, 8];
    let known = head.len().min(magic.len());
    if head[..known] != magic[..known] {
        return Err(corrupt("gzip", "a member does not begin as one"));
    }
    if head.len() > MAX_HEADER {
        return Err(corrupt("gzip", "a header is longer than any tool writes"));
    }
    let [_, _, _, flags, _, _, _, _, _, _, fields @ ..] = head else { return Ok(false) };
    if flags & 0xe0 != 0 {
        return Err(corrupt("gzip", "a header has flags that do not exist"));
    }
    let mut at = 0;
    if flags & 4 != 0 {
        let [low, high, ..] = fields else { return Ok(false) };
        at = 2 + usize::from(u16::from_le_bytes([*low, *high]));
    }
    // The name and the comment end with a zero byte.
    for flag in [8, 16] {
        if flags & flag != 0 {
            let Some(end) = fields.get(at..).and_then(|rest| memchr::memchr(0, rest)) else {
                return Ok(false);
            };
            at += end + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    Ok(fields.len() >= at)
}
