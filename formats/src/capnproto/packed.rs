//! Packed messages: some at a time are unpacked side by side, and their columns filled while they are in the cache.

use arrow_buffer::Buffer;

use super::decode::{MessageWalker, Values};
use super::header::Header;
use super::pieces::ROOM;
use super::unpack::{Window, unpack};
use crate::error::{Error, Result};
use crate::rejects::RejectKind;
use crate::rows::batch::{Batch, Records};
use crate::rows::keys::ColumnSlots;
use crate::rows::walk::{Span, spans};
use crate::rows::{Input, RecordParser};

/// So many bytes are unpacked before columns are filled.
const WINDOW_BYTES: usize = 64 << 10;

/// A parser of packed messages.
pub struct PackedParser {
    walker: MessageWalker,
    header: Header,
    slots: ColumnSlots,
    max_record: usize,
    /// Memory for unpacked messages, of which no batch holds a view.
    room: Vec<u8>,
    /// Where each message ends, unpacked and packed.
    ends: Vec<(usize, usize)>,
    /// The values found, `slots.count` for each message, and more behind them.
    found: Vec<Span>,
}

impl PackedParser {
    /// A parser of messages that have at most `max_record` bytes when they are unpacked.
    pub fn new(walker: MessageWalker, slots: ColumnSlots, max_record: usize) -> PackedParser {
        let (header, room, ends, found) = (Header::default(), Vec::new(), Vec::new(), Vec::new());
        PackedParser { walker, header, slots, max_record, room, ends, found }
    }

    /// Where the message that ends last at `unpacked` or before it ends as it is packed.
    fn packed_end(&self, begin: usize, unpacked: usize) -> usize {
        let whole = self.ends.partition_point(|end| end.0 <= unpacked);
        whole.checked_sub(1).map_or(begin, |last| self.ends[last].1)
    }
}

impl RecordParser for PackedParser {
    const IN_LINES: bool = false;
    const NESTED: bool = false;

    fn parse(&mut self, input: Input, batch: &mut Batch) -> Result<usize> {
        let bytes = input.block.as_slice();
        let limit = input.limit.min(bytes.len());
        let mut at = input.at;
        while at < limit && batch.room() > 0 {
            let begin = at;
            let mut room = std::mem::take(&mut self.room);
            room.resize(room.len().max(WINDOW_BYTES + ROOM), 0);
            self.ends.clear();
            let window = Window {
                room: &mut room,
                ends: &mut self.ends,
                found: &mut self.found,
                each: self.slots.count,
                walker: &mut self.walker,
                header: &mut self.header,
                bytes: WINDOW_BYTES,
                messages: batch.room(),
                max_record: self.max_record,
            };
            let wrong = unpack(bytes, begin, limit, window).err();
            let malformed = wrong.as_ref().is_some_and(|wrong| wrong.next.is_some());
            let whole = self.ends.len() - usize::from(malformed);
            let last = self.ends.last().copied().unwrap_or((0, begin));
            let end = whole.checked_sub(1).map_or((0, begin), |last| self.ends[last]);
            // The last message may have been passed over beyond the room.
            room.resize(last.0, 0);
            let block = Buffer::from_vec(room);
            let messages = Input { block: &block, at: 0, limit: last.0, last: true, offset: 0 };
            let placed = |mut error| {
                if let Error::Data(e) = &mut error {
                    // The place of its message.
                    let place = |unpacked| self.packed_end(begin, unpacked as usize) as u64;
                    e.offset = e.offset.map(|unpacked| input.offset + place(unpacked));
                }
                error
            };
            let (found, slots) = (&self.found[..whole * self.slots.count], &self.slots);
            let fields = |column: usize| spans(found, slots.of_batch[column], slots.count);
            let borders = |record: usize| {
                (record.checked_sub(1).map_or(0, |last| self.ends[last].0), self.ends[record].0)
            };
            let places = |unpacked: u64| input.offset + self.packed_end(begin, unpacked as usize) as u64;
            let records = Records::of(&messages, 0..end.0, whole, 0).with_borders(&borders).placed(&places);
            batch.append(records, Values, fields).map_err(placed)?;
            at = last.1;
            match wrong {
                Some(wrong) if malformed => {
                    let width = batch.width() as u64;
                    let record = Records::of(&messages, end.0..last.0, 1, 0).placed(&places);
                    let kind = RejectKind::InvalidState;
                    batch.malformed(record, kind, wrong.message, width).map_err(placed)?;
                }
                Some(wrong) => return Err(batch.lost(input.offset + at as u64, wrong.message)),
                None if at == begin => break,
                None => {}
            }
            // That of a long message is not kept.
            self.room =
                block.into_vec().ok().filter(|room| room.len() <= 2 * WINDOW_BYTES).unwrap_or_default();
        }
        Ok(at - input.at)
    }
}
