//! Reads messages as a `.proto` file describes them.

use std::ops::Range;

use arrow_buffer::Buffer;
use schema::messages::MessageLayout;

use super::decode::message_at;
use super::rewrite::{Rewriter, Room};
use crate::error::Result;
use crate::format::ScanOptions;
use crate::msgpack::Msgpack;
use crate::rows::batch::{Batch, Records};
use crate::rows::keys::ColumnSlots;
use crate::rows::tagged::TaggedSyntax;
use crate::rows::walk::{Span, Wrong, missing, spans};
use crate::rows::{Input, RecordParser};

/// The bytes of messages that are rewritten before columns are filled, and those of what is written.
const WINDOW_BYTES: usize = 64 << 10;

/// A parser of messages of one layout.
pub struct MessageParser {
    layout: MessageLayout,
    slots: ColumnSlots,
    /// The values found, `slots.count` for each message.
    found: Vec<Span>,
    room: Room,
    max_record: usize,
}

impl MessageParser {
    /// A parser of the columns that the scan wants, whose schema goes with the layout.
    pub fn new(layout: &MessageLayout, slots: ColumnSlots, scan: &ScanOptions) -> MessageParser {
        let max_record = scan.format.max_record;
        MessageParser { layout: layout.clone(), slots, found: Vec::new(), room: Room::default(), max_record }
    }

    /// Rewrites the message that begins at `at`, and tells where it ends; `None` if it goes on behind the bytes at hand.
    fn rewrite(&mut self, bytes: &[u8], at: usize, out: &mut Vec<u8>) -> Result<Option<usize>, Wrong> {
        // No record is looked at further than it may be long, so that what is wrong with it does not depend on how many
        // bytes are at hand.
        let within = bytes.len().min(at.saturating_add(self.max_record));
        let Some((start, end)) = message_at(&bytes[..within], at)? else { return Ok(None) };
        let (written, first) = (out.len(), self.found.len());
        self.found.resize(first + self.slots.count, missing(0));
        let mut rewriter = Rewriter::new(&bytes[start..end], &mut self.room, out, self.max_record);
        match rewriter.record(&self.layout, &self.slots.of_schema, &mut self.found[first..]) {
            Ok(()) => Ok(Some(end)),
            Err(message) => {
                out.truncate(written);
                self.found.truncate(first);
                Err(Wrong { message, next: Some(end) })
            }
        }
    }
}

impl RecordParser for MessageParser {
    const IN_LINES: bool = false;
    const NESTED: bool = true;

    fn parse(&mut self, input: Input, batch: &mut Batch) -> Result<usize> {
        let bytes = input.block.as_slice();
        let limit = input.limit.min(bytes.len());
        let mut at = input.at;
        while at < limit && batch.room() > 0 {
            let (start, room) = (at, batch.room());
            let (mut count, mut wrong, mut out) = (0, None, Vec::with_capacity(WINDOW_BYTES));
            self.found.clear();
            // Where each message lies here, and where it lies in `out`.
            let mut written: Vec<(Range<usize>, Range<usize>)> = Vec::new();
            while at < limit && at - start < WINDOW_BYTES && out.len() < WINDOW_BYTES && count < room {
                let from = out.len();
                match self.rewrite(bytes, at, &mut out) {
                    Ok(Some(end)) => {
                        written.push((at..end, from..out.len()));
                        (at, count) = (end, count + 1);
                    }
                    Ok(None) => break,
                    Err(error) => {
                        wrong = Some(error);
                        break;
                    }
                }
            }
            if let Some(lack) = self.room.take_lack() {
                return Err(lack);
            }
            if count > 0 {
                let block = Buffer::from_vec(out);
                let offset = input.offset + start as u64;
                let borders = |record: usize| (written[record].1.start, written[record].1.end);
                let places = |place: u64| {
                    let before =
                        written.partition_point(|(_, to)| to.start as u64 <= place.saturating_sub(offset));
                    input.offset + written[before.saturating_sub(1)].0.start as u64
                };
                let originals = |record: usize| &bytes[written[record].0.clone()];
                let records = Records {
                    block: &block,
                    offset,
                    start: 0,
                    end: block.len(),
                    count,
                    lines: 0,
                    borders: Some(&borders),
                    places: Some(&places),
                    originals: Some(&originals),
                };
                let (found, slots, each) = (&self.found, &self.slots.of_batch, self.slots.count);
                batch.append(records, TaggedSyntax(Msgpack), |column| spans(found, slots[column], each))?;
            }
            match wrong {
                Some(wrong) => at = wrong.pass(&input, at, batch)?,
                None if at == start => break,
                None => {}
            }
        }
        Ok(at - input.at)
    }
}
