//! The sockets of timely's channels, which may compress their bytes.
//!
//! If all processes were told [`Compression::Auto`] or [`Compression::Lz4`], a socket carries a sequence of blocks, and
//! bare bytes otherwise. A block begins with its length in four bytes, little-endian. The highest bit of the length
//! says that the block is compressed. So many bytes follow. They are plain bytes, or the number of plain bytes (four
//! bytes) and an LZ4 block (lz4_Block_format.md). No block holds more than `BLOCK` plain bytes.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use timely::communication::allocator::zero_copy::stream::Stream;

use crate::compression::Compression;
use crate::socket::Socket;

/// The most plain bytes of a block.
const BLOCK: usize = 256 << 10;
/// Fewer bytes are not worth compressing.
const SMALL: usize = 512;
/// The bit of a length that says that the block is compressed.
const COMPRESSED: u32 = 1 << 31;
/// The plain bytes of a stretch. After each stretch a [`Pace`] decides which way is quicker.
const STRETCH: u64 = 1 << 20;
/// A connection that takes more bytes a second is quicker than LZ4 on any machine.
const FAST: f64 = 1e9;
/// The stretches after which a [`Pace`] tries the other way again. Each time that compression was slower they are
/// doubled, up to [`LONGEST`].
const SHORTEST: u32 = 16;
const LONGEST: u32 = 256;

/// Counts of bytes that have gone over sockets, compressed ones as they went.
#[derive(Debug, Default)]
pub struct Carried {
    /// Bytes from this process.
    pub sent: AtomicU64,
    /// Bytes to this process.
    pub received: AtomicU64,
}

impl Carried {
    /// Sets both counts to 0.
    pub fn clear(&self) {
        self.sent.store(0, Ordering::Relaxed);
        self.received.store(0, Ordering::Relaxed);
    }
}

/// A socket that compresses, and counts the bytes that it carries.
pub struct Link {
    socket: Socket,
    compression: Compression,
    carried: Arc<Carried>,
    out: Out,
    taken: Taken,
}

/// The state of writing.
#[derive(Default)]
struct Out {
    block: Vec<u8>,
    pace: Pace,
}

/// The block that is being read.
#[derive(Default)]
struct Taken {
    sealed: Vec<u8>,
    plain: Vec<u8>,
    at: usize,
}

impl Link {
    /// A link over `socket`; `carried` counts the bytes that go over it.
    pub fn new(socket: Socket, compression: Compression, carried: Arc<Carried>) -> Link {
        Link { socket, compression, carried, out: Out::default(), taken: Taken::default() }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.compression == Compression::None {
            let written = self.socket.write(bytes)?;
            self.carried.sent.fetch_add(written as u64, Ordering::Relaxed);
            return Ok(written);
        }
        let plain = &bytes[..bytes.len().min(BLOCK)];
        let Out { block, pace } = &mut self.out;
        let compresses = match self.compression {
            Compression::Lz4 => true,
            _ => pace.compresses,
        };
        let begun = Instant::now();
        seal(plain, compresses && plain.len() >= SMALL, block);
        self.socket.write_all(block)?;
        self.carried.sent.fetch_add(block.len() as u64, Ordering::Relaxed);
        pace.take(plain.len(), begun.elapsed());
        Ok(plain.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Read for Link {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.compression == Compression::None {
            let read = self.socket.read(into)?;
            self.carried.received.fetch_add(read as u64, Ordering::Relaxed);
            return Ok(read);
        }
        let taken = &mut self.taken;
        while taken.at == taken.plain.len() {
            let read = taken.next(&mut self.socket)?;
            if read == 0 {
                return Ok(0);
            }
            self.carried.received.fetch_add(read as u64, Ordering::Relaxed);
        }
        let given = into.len().min(taken.plain.len() - taken.at);
        into[..given].copy_from_slice(&taken.plain[taken.at..taken.at + given]);
        taken.at += given;
        Ok(given)
    }
}

impl Stream for Link {
    fn try_clone(&self) -> io::Result<Self> {
        // One copy writes and another one reads, so each has its own state.
        Ok(Link::new(self.socket.try_clone()?, self.compression, self.carried.clone()))
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.socket.shutdown(how)
    }
}

/// Puts plain bytes, at most [`BLOCK`] of them, into a block.
fn seal(plain: &[u8], compresses: bool, block: &mut Vec<u8>) {
    block.clear();
    block.extend([0; 4]);
    let mut flag = 0;
    if compresses {
        block.extend((plain.len() as u32).to_le_bytes());
        block.resize(8 + get_maximum_output_size(plain.len()), 0);
        match compress_into(plain, &mut block[8..]) {
            Ok(length) if length + 4 < plain.len() => {
                block.truncate(8 + length);
                flag = COMPRESSED;
            }
            // Bytes that do not get shorter go as they are.
            _ => block.truncate(4),
        }
    }
    if flag == 0 {
        block.extend(plain);
    }
    let length = (block.len() - 4) as u32 | flag;
    block[..4].copy_from_slice(&length.to_le_bytes());
}

impl Taken {
    /// Reads the next block. Gives how many bytes it took on the socket, or 0 if there was none.
    fn next(&mut self, from: &mut impl Read) -> io::Result<usize> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, "what was sent is no block");
        let mut length = [0; 4];
        let first = loop {
            match from.read(&mut length) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if first == 0 {
            return Ok(0);
        }
        from.read_exact(&mut length[first..])?;
        let length = u32::from_le_bytes(length);
        let (is_compressed, length) = (length & COMPRESSED != 0, (length & !COMPRESSED) as usize);
        self.at = 0;
        self.plain.clear();
        if !is_compressed {
            if length > BLOCK {
                return Err(wrong());
            }
            self.plain.resize(length, 0);
            from.read_exact(&mut self.plain)?;
            return Ok(4 + length);
        }
        // A compressed block is shorter than the bytes that it holds.
        if !(4..BLOCK).contains(&length) {
            return Err(wrong());
        }
        self.sealed.resize(length, 0);
        from.read_exact(&mut self.sealed)?;
        let (plain, sealed) = self.sealed.split_at(4);
        let plain = u32::from_le_bytes([plain[0], plain[1], plain[2], plain[3]]) as usize;
        if plain > BLOCK {
            return Err(wrong());
        }
        self.plain.resize(plain, 0);
        match decompress_into(sealed, &mut self.plain) {
            Ok(opened) if opened == plain => Ok(4 + length),
            _ => Err(wrong()),
        }
    }
}

/// Decides whether to compress, by the rates of past stretches. The first stretch goes plain. If it was slower than
/// [`FAST`], the next one goes compressed. Then all stretches go the quicker way, until the other way is tried again.
#[derive(Debug)]
struct Pace {
    compresses: bool,
    /// Bytes of the stretch that is on its way.
    bytes: u64,
    time: Duration,
    /// Plain bytes a second of the last stretch without compression.
    plain: f64,
    /// Stretches until the other way is tried.
    left: u32,
    /// Stretches to wait after the next trial.
    pause: u32,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { compresses: false, bytes: 0, time: Duration::ZERO, plain: FAST, left: 0, pause: SHORTEST }
    }
}

impl Pace {
    /// Notes that `bytes` plain bytes were sent in `time`.
    fn take(&mut self, bytes: usize, time: Duration) {
        self.bytes += bytes as u64;
        self.time += time;
        if self.bytes < STRETCH {
            return;
        }
        let rate = self.bytes as f64 / self.time.as_secs_f64().max(1e-9);
        (self.bytes, self.time) = (0, Duration::ZERO);
        self.left = self.left.saturating_sub(1);
        if !self.compresses {
            self.plain = rate;
            if self.left == 0 && rate < FAST {
                (self.compresses, self.left) = (true, self.pause);
            }
        } else if rate < self.plain {
            // Compression was no gain.
            (self.compresses, self.left) = (false, self.pause);
            self.pause = (self.pause * 2).min(LONGEST);
        } else if self.left == 0 {
            // Tries the rate without compression again: the next stretch measures it.
            (self.compresses, self.pause) = (false, SHORTEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that get shorter, and some that do not.
    fn texts() -> Vec<Vec<u8>> {
        let words: Vec<u8> =
            (0..50_000).flat_map(|i: u32| format!("row {} of many ", i % 777).into_bytes()).collect();
        let mut state = 1_u64;
        let noise = (0..BLOCK + 5).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        });
        vec![b"a".to_vec(), words, noise.collect(), vec![0; SMALL], vec![7; BLOCK]]
    }

    #[test]
    fn what_is_sent_arrives() {
        for compression in [Compression::None, Compression::Auto, Compression::Lz4] {
            let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
            let [sent, received] = [(); 2].map(|()| Arc::<Carried>::default());
            let mut from = Link::new(Socket::Pair(one), compression, sent.clone());
            let mut to = Link::new(Socket::Pair(other), compression, received.clone());
            let written =
                std::thread::spawn(move || texts().iter().for_each(|text| from.write_all(text).unwrap()));
            let mut all = Vec::new();
            to.read_to_end(&mut all).unwrap();
            written.join().unwrap();
            let texts = texts().concat();
            assert!(all == texts);
            let sent = sent.sent.load(Ordering::Relaxed) as usize;
            assert_eq!(received.received.load(Ordering::Relaxed) as usize, sent);
            match compression {
                Compression::Lz4 => assert!(sent < texts.len() / 2, "{sent} of {}", texts.len()),
                // How quick the machine is decides, and it may be busy.
                Compression::Auto => {}
                Compression::None => assert!(sent >= texts.len()),
            }
        }
    }

    #[test]
    fn what_is_no_block_is_refused() {
        let mut whole = Vec::new();
        seal(&[5; 3000], true, &mut whole);
        assert!(whole.len() < 100);
        let changed = |at: usize, byte: u8| {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            bytes
        };
        // A length beyond all blocks, plain and compressed; other lengths of what is in it; bytes that are missing.
        for bytes in [
            vec![0xff; 50],
            vec![0, 0, 16, 0, 1],
            changed(4, 0),
            changed(7, 9),
            changed(8, 0xff),
            whole[..9].to_vec(),
        ] {
            assert!(Taken::default().next(&mut &bytes[..]).is_err(), "{bytes:?}");
        }
        assert_eq!(Taken::default().next(&mut &whole[..]).unwrap(), whole.len());
        assert_eq!(Taken::default().next(&mut &[][..]).unwrap(), 0);
    }

    /// Sends some MiB over something that takes so many plain bytes a second, and so many compressed; how many go compressed.
    fn compressed(plain: f64, compressed: f64, stretches: u32) -> u32 {
        let mut pace = Pace::default();
        let one = |pace: &mut Pace| {
            let compresses = pace.compresses;
            let rate = if compresses { compressed } else { plain };
            pace.take(STRETCH as usize, Duration::from_secs_f64(STRETCH as f64 / rate));
            u32::from(compresses)
        };
        (0..stretches).map(|_| one(&mut pace)).sum()
    }

    #[test]
    fn the_quicker_way_is_taken() {
        assert!(compressed(1e8, 1.5e8, 1000) > 900);
        assert!(compressed(1e8, 0.9e8, 1000) < 20);
        assert_eq!(compressed(2e9, 3e9, 1000), 0);
    }
}
