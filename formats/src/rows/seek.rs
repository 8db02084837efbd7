//! How a [`RowReader`] finds the first record of its morsel.

use super::blocks::Refill;
use super::quotes::{State, Transition, first_record};
use super::reader::{BYTE_ORDER_MARK, Phase, RowReader};
use super::source::Popped;
use crate::error::Result;
use crate::reader::Next;

impl RowReader {
    /// Looks at the quotes of the whole morsel, for the morsels behind it.
    pub(super) fn gather(&mut self) -> Option<Next> {
        let Phase::Gather { shared, morsel, asked } = &mut self.phase else { return None };
        if !std::mem::replace(asked, true) {
            return Some(Next::Need(self.blocks.source.need_all()));
        }
        let mut transition = Transition::identity();
        for (offset, piece) in self.blocks.source.pieces() {
            let skip =
                if *offset == 0 && piece.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
            transition.extend(&piece[skip..], self.marks);
        }
        shared.quotes.publish(*morsel, transition);
        self.phase = Phase::Await { shared: shared.clone(), morsel: *morsel };
        None
    }

    /// Waits for the state in which the morsel begins.
    pub(super) fn wait(&mut self) -> Option<Next> {
        let Phase::Await { shared, morsel } = &self.phase else { return None };
        let Some(state) = shared.quotes.start(*morsel) else { return Some(Next::Wait) };
        self.phase = if self.start == 0 { Phase::Mark } else { Phase::Seek(state) };
        None
    }

    /// Drops what belongs to a record that began earlier.
    pub(super) fn seek(&mut self, state: State) -> Result<Option<Next>> {
        let Some(Popped { offset, bytes: piece, .. }) = self.blocks.source.pop()? else {
            match self.blocks.source.need() {
                Some(range) if range.start < self.limit => return Ok(Some(Next::Need(vec![range]))),
                _ => {
                    self.guess.iter_mut().for_each(|guess| guess.found_none(state));
                    self.phase = Phase::Done;
                }
            }
            return Ok(None);
        };
        if let (Some(guess), Some(first)) = (&mut self.guess, piece.first().filter(|_| offset < self.start)) {
            guess.see(*first, self.marks);
        }
        match first_record(state, &piece, self.marks) {
            Ok(at) => {
                self.phase = if offset + at as u64 >= self.limit { Phase::Done } else { Phase::Read };
                self.blocks.begin(offset, piece, at);
            }
            Err(state) => self.phase = Phase::Seek(state),
        }
        Ok(None)
    }

    /// Has the reader begin behind the record in which its bytes begin, if they don't begin with one.
    pub fn pass_to_record(&mut self, state: State) {
        if state != State::RecordStart {
            self.phase = Phase::SeekText(state);
        }
    }

    /// As [`RowReader::seek`], of bytes that are decompressed on the way.
    pub(super) fn seek_text(&mut self, state: State) -> Result<Option<Next>> {
        let (rest, _) = self.blocks.rest();
        let len = rest.len();
        match first_record(state, rest, self.marks) {
            Ok(at) => {
                self.blocks.pass(at);
                self.phase = Phase::Read;
                return Ok(None);
            }
            Err(state) => self.phase = Phase::SeekText(state),
        }
        self.blocks.pass(len);
        if !self.blocks.is_before(self.limit) {
            self.phase = Phase::Read;
            return Ok(None);
        }
        match self.blocks.refill()? {
            Refill::Need(range) => return Ok(Some(Next::Need(vec![range]))),
            Refill::Ready => {}
            // Rows that stand before a record that was passed over may have to be flushed.
            Refill::TooLong | Refill::Ended => self.phase = Phase::Read,
        }
        Ok(None)
    }
}
