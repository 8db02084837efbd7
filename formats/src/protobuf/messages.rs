//! Reads messages as a `.proto` file describes them.

use schema::messages::MessageLayout;

use super::decode::message_at;
use super::rewrite::{Rewriter, Room};
use crate::error::Error;
use crate::rows::described::Rewrite;
use crate::rows::walk::{Span, Wrong};

/// Rewrites messages of one layout.
pub struct MessageRewrite {
    layout: MessageLayout,
    room: Room,
    max_record: usize,
}

impl MessageRewrite {
    /// What rewrites messages of a layout into records of at most so many bytes.
    pub fn new(layout: &MessageLayout, max_record: usize) -> MessageRewrite {
        MessageRewrite { layout: layout.clone(), room: Room::default(), max_record }
    }
}

impl Rewrite for MessageRewrite {
    fn rewrite(
        &mut self,
        bytes: &[u8],
        at: usize,
        slots: &[Option<usize>],
        found: &mut [Span],
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, Wrong> {
        let Some((start, end)) = message_at(bytes, at)? else { return Ok(None) };
        let mut rewriter = Rewriter::new(&bytes[start..end], &mut self.room, out, self.max_record);
        match rewriter.record(&self.layout, slots, found) {
            Ok(()) => Ok(Some(end)),
            Err(message) => Err(Wrong { message, next: Some(end) }),
        }
    }

    fn take_lack(&mut self) -> Option<Error> {
        self.room.take_lack()
    }
}
