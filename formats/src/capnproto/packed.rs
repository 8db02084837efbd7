//! Packed messages: some at a time are unpacked side by side, and parsed as plain ones while they are in the cache.

use arrow_buffer::Buffer;

use super::unpack::{ROOM, Window, unpack};
use crate::error::{Error, Result};
use crate::rows::batch::Batch;
use crate::rows::{Input, RecordParser};

/// So many bytes are unpacked before they are parsed.
const WINDOW_BYTES: usize = 64 << 10;

/// A parser of packed messages over one of plain messages.
pub struct PackedParser<P> {
    parser: P,
    max_record: usize,
    /// Memory for unpacked messages, of which no batch holds a view.
    room: Vec<u8>,
    /// Where each message ends, unpacked and packed.
    ends: Vec<(usize, usize)>,
}

impl<P: RecordParser> PackedParser<P> {
    /// A parser of messages that have at most `max_record` bytes when they are unpacked.
    pub fn new(parser: P, max_record: usize) -> PackedParser<P> {
        PackedParser { parser, max_record, room: Vec::new(), ends: Vec::new() }
    }

    /// Where the message that ends last at `unpacked` or before it ends as it is packed.
    fn packed_end(&self, begin: usize, unpacked: usize) -> usize {
        let whole = self.ends.partition_point(|end| end.0 <= unpacked);
        whole.checked_sub(1).map_or(begin, |last| self.ends[last].1)
    }
}

impl<P: RecordParser> RecordParser for PackedParser<P> {
    const IN_LINES: bool = P::IN_LINES;
    const NESTED: bool = P::NESTED;

    fn parse(&mut self, input: Input, batch: &mut Batch) -> Result<usize> {
        let bytes = input.block.as_slice();
        let limit = input.limit.min(bytes.len());
        let mut at = input.at;
        while at < limit && batch.room() > 0 {
            let (begin, most) = (at, batch.room());
            let mut room = std::mem::take(&mut self.room);
            room.resize(room.len().max(WINDOW_BYTES + ROOM), 0);
            self.ends.clear();
            let window = Window {
                room: &mut room,
                ends: &mut self.ends,
                bytes: WINDOW_BYTES,
                messages: most,
                max_record: self.max_record,
            };
            let unpacked = unpack(bytes, begin, limit, window);
            let end;
            (end, at) = self.ends.last().copied().unwrap_or((0, begin));
            room.truncate(end);
            let block = Buffer::from_vec(room);
            let messages = Input { block: &block, at: 0, limit: end, last: true, offset: 0 };
            let parsed = self.parser.parse(messages, batch).map_err(|mut error| {
                if let Error::Data(e) = &mut error {
                    // The place of its message.
                    let place = |unpacked| self.packed_end(begin, unpacked as usize) as u64;
                    e.offset = e.offset.map(|unpacked| input.offset + place(unpacked));
                }
                error
            })?;
            // That of a long message is not kept.
            self.room =
                block.into_vec().ok().filter(|room| room.len() <= 2 * WINDOW_BYTES).unwrap_or_default();
            if parsed < end {
                // The batch is full.
                at = self.packed_end(begin, parsed);
            } else if let Err(wrong) = unpacked {
                return Err(batch.lost(input.offset + at as u64, wrong.message));
            } else if at == begin {
                break;
            }
        }
        Ok(at - input.at)
    }

    fn restart(&mut self) {
        self.parser.restart();
    }
}
