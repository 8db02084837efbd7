//! bzip2, which is read and not written: streams one after another, of blocks with a checksum each.

use bzip2::{Decompress, Status};

use super::{CompressedBlock, Compression, Container, Decompressor, container, corrupt, cut_short, refused};
use crate::error::Result;

/// bzip2.
pub struct Bzip2;

impl Compression for Bzip2 {
    fn name(&self) -> &'static str {
        "bzip2"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["bz2", "bzip2"]
    }

    fn is_written(&self) -> bool {
        false
    }

    fn begins(&self, head: &[u8]) -> bool {
        // Behind the size of blocks stands the number of a block, or that of the end.
        let [b'B', b'Z', b'h', b'1'..=b'9', number @ ..] = head else { return false };
        number.starts_with(b"\x31\x41\x59\x26\x53\x59") || number.starts_with(b"\x17\x72\x45\x38\x50\x90")
    }

    fn decompressor(&self) -> Result<Option<Box<dyn Decompressor>>> {
        Ok(Some(Box::new(Bunzip { inner: Decompress::new(false), streams: 0, within: false })))
    }

    fn compress(&self, _: Vec<u8>) -> Result<CompressedBlock> {
        Err(refused("bzip2", "it is read and not written"))
    }

    fn container(&self) -> Box<dyn Container> {
        Box::new(container::Concatenated::new(Vec::new()))
    }
}

struct Bunzip {
    inner: Decompress,
    streams: u64,
    /// In a stream.
    within: bool,
}

impl Decompressor for Bunzip {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<usize> {
        let mut rest = input;
        while self.within || !rest.is_empty() {
            self.within = true;
            out.reserve(most.saturating_sub(out.len()));
            let (len, before) = (out.len(), self.inner.total_in());
            let status = self.inner.decompress_vec(rest, out).map_err(|e| corrupt("bzip2", e))?;
            let used = (self.inner.total_in() - before) as usize;
            rest = &rest[used..];
            if status == Status::StreamEnd {
                self.inner = Decompress::new(false);
                self.within = false;
                self.streams += 1;
            } else if out.len() == len && used == 0 {
                break;
            }
            if out.len() >= most {
                break;
            }
        }
        Ok(input.len() - rest.len())
    }

    fn finish(&mut self) -> Result<()> {
        match self.within || self.streams == 0 {
            true => Err(cut_short("bzip2", "a stream")),
            false => Ok(()),
        }
    }
}
