//! Counts the rows and values that a reader skips, whichever code drives the reader and wherever it ends.

use std::ops::Range;
use std::sync::Arc;

use formats::format::Morsel;
use formats::reader::{Bytes, FileReader, Next, Skipped};

use crate::context::query::QueryState;

/// A reader that adds what it has skipped (`--on-error`, bytes that are not UTF-8) to the query's figures when it is dropped.
pub struct Counted {
    reader: Box<dyn FileReader>,
    state: Arc<QueryState>,
}

impl Counted {
    /// Counts for this query.
    pub fn new(reader: Box<dyn FileReader>, state: Arc<QueryState>) -> Counted {
        Counted { reader, state }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.state.add_skipped(self.reader.skipped());
    }
}

impl FileReader for Counted {
    fn next(&mut self) -> formats::Result<Next> {
        self.reader.next()
    }

    fn give(&mut self, range: Range<u64>, bytes: Bytes) -> formats::Result<()> {
        self.reader.give(range, bytes)
    }

    fn follow(&mut self, next: &Morsel) -> bool {
        self.reader.follow(next)
    }

    fn followed(&self) -> u64 {
        self.reader.followed()
    }

    fn skipped(&self) -> Skipped {
        self.reader.skipped()
    }
}
