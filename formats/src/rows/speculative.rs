//! Speculative parsing: a [`RowReader`] counts the records of a morsel of quoted text in one pass.
//!
//! Where a morsel's first record begins depends on all quotes before it. A reader of columns looks at the quotes of its
//! morsel first, see [`seek`](super::seek), which costs little beside decoding. Beside counting it costs half as much
//! again, so that a reader of no columns begins at once. If all morsels before are done, it begins in the known state,
//! else as if the morsel began outside quotes.
//!
//! In the second case the reader holds what it finds until the state is known. If the assumption was wrong, it drops
//! that and reads the morsel again. (Ge, Li, Eilebrecht, Chandramouli, Kossmann: Speculative distributed csv data
//! parsing for big data analytics, 2019.) Their assumption is better, and their pieces are larger.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::blocks::{Blocks, Unpacking};
use super::quotes::{Marks, State, Transition};
use super::reader::{Phase, RowReader};
use super::source::Source;
use super::split::SharedBorders;
use crate::error::{Error, Result};
use crate::reader::Next;

/// The bytes that are read at once. They stay in a core's cache, and a megabyte would not.
const STEP_BYTES: u64 = 256 << 10;

/// The state of speculative parsing of one morsel.
pub(super) struct Speculative {
    shared: Arc<SharedBorders>,
    morsel: usize,
    /// The assumed state at the morsel's first byte, until it is compared with the real one.
    assumed: Option<State>,
    /// The state at the morsel's end, if no record begins in it.
    behind: Option<State>,
    published: bool,
    held: VecDeque<RecordBatch>,
    error: Option<Error>,
}

impl Speculative {
    pub(super) fn new(shared: Arc<SharedBorders>, morsel: usize) -> Speculative {
        let (assumed, behind, error) = (None, None, None);
        Speculative { shared, morsel, assumed, behind, published: false, held: VecDeque::new(), error }
    }

    /// Updates the assumed state by the byte before the morsel, once that byte is there.
    pub(super) fn see(&mut self, first: u8, marks: Marks) {
        self.assumed = self.assumed.map(|_| State::Unquoted.step(first, marks));
    }

    /// Whether rows must be held, because the state is assumed.
    pub(super) fn is_open(&self) -> bool {
        self.assumed.is_some()
    }

    /// Holds a batch until the state is known.
    pub(super) fn hold(&mut self, batch: RecordBatch) {
        self.held.push_back(batch);
    }

    /// Holds the error that ended reading, until the state is known.
    pub(super) fn fail(&mut self, error: Error) {
        self.error = Some(error);
    }

    /// Notes that no record begins in the morsel, and the state at its end.
    pub(super) fn found_none(&mut self, behind: State) {
        self.behind = Some(behind);
    }
}

impl Drop for Speculative {
    fn drop(&mut self) {
        if !self.published {
            self.shared.quotes.abandon();
        }
    }
}

impl RowReader {
    /// Begins to read the morsel in the known state, or in the assumed one.
    pub(super) fn begin_guess(&mut self) {
        let Some(guess) = &mut self.guess else { return };
        let (start, limit) = (self.start, self.limit);
        let known = guess.shared.quotes.start(guess.morsel);
        let from = match known {
            Some(_) if start == 0 => {
                self.phase = Phase::Mark;
                start
            }
            Some(state) => {
                self.phase = Phase::Seek(state);
                start
            }
            None => {
                // A record begins behind a newline. That may be the last byte of the morsel before.
                self.phase = Phase::Seek(State::Unquoted);
                start - 1
            }
        };
        guess.assumed = if known.is_none() { Some(State::Unquoted) } else { None };
        self.blocks.source = Source::new(from, limit, self.size).in_steps(STEP_BYTES);
    }

    /// Ends the morsel: compares the assumed state with the real one, publishes the state behind the morsel, and gives
    /// the held batches.
    pub(super) fn settle(&mut self) -> Result<Option<Next>> {
        let Some(guess) = &mut self.guess else { return Ok(Some(Next::Done)) };
        if let Some(assumed) = guess.assumed {
            let quotes = &guess.shared.quotes;
            match quotes.start(guess.morsel) {
                Some(real) if real == assumed => guess.assumed = None,
                Some(real) => return self.read_again(real),
                None if !quotes.is_abandoned() => return Ok(Some(Next::Wait)),
                None => {
                    self.guess = None;
                    return Ok(Some(Next::Done));
                }
            }
        }
        if !guess.published && guess.error.is_none() {
            let behind = match guess.behind {
                Some(state) => state,
                None if self.blocks.place() > self.limit => self.decoder.state_at_limit(),
                None => State::RecordStart,
            };
            guess.shared.quotes.publish(guess.morsel, Transition::to(behind));
            guess.published = true;
        }
        if let Some(batch) = guess.held.pop_front() {
            return Ok(Some(Next::Batch(batch)));
        }
        let error = guess.error.take();
        self.guess = None;
        match error {
            Some(error) => self.locate(error).map(|()| None),
            None => Ok(Some(Next::Done)),
        }
    }

    /// Drops the held batches, and reads the morsel again in the real state.
    fn read_again(&mut self, real: State) -> Result<Option<Next>> {
        let (Some(guess), Some((make, scan, _))) = (&mut self.guess, &self.again) else { return Ok(None) };
        guess.held.clear();
        (guess.assumed, guess.behind, guess.error) = (None, None, None);
        self.decoder = make(scan, false)?;
        let source = Source::new(self.start, self.limit, self.size).in_steps(STEP_BYTES);
        self.blocks = Blocks::new(source, self.start, Unpacking::Plain, self.max_record);
        self.phase = Phase::Seek(real);
        Ok(None)
    }
}
