//! Reads messages as a `.proto` file describes them.

use schema::messages::MessageLayout;

use super::decode::message_at;
use super::rewrite::{Rewriter, Room};
use crate::error::Error;
use crate::rows::described::{Record, Rewrite};
use crate::rows::walk::Wrong;

/// Rewrites messages of one layout.
pub struct MessageRewrite {
    layout: MessageLayout,
    room: Room,
}

impl MessageRewrite {
    /// What rewrites messages of a layout.
    pub fn new(layout: &MessageLayout) -> MessageRewrite {
        MessageRewrite { layout: layout.clone(), room: Room::default() }
    }
}

impl Rewrite for MessageRewrite {
    fn rewrite(&mut self, bytes: &[u8], at: usize, record: &mut Record) -> Result<Option<usize>, Wrong> {
        let Some((start, end)) = message_at(bytes, at)? else { return Ok(None) };
        match Rewriter::new(&bytes[start..end], &mut self.room, record).columns(&self.layout) {
            Ok(()) => Ok(Some(end)),
            Err(message) => Err(Wrong { message, next: Some(end) }),
        }
    }

    fn take_lack(&mut self) -> Option<Error> {
        self.room.take_lack()
    }
}
