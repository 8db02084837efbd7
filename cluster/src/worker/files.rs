//! What the binary writes in several processes: the rows of a query, or files that are made without one.

use std::sync::Arc;

use engine::QueryState;
use engine::writing::dataset::Written;

use super::{Process, Running};
use crate::locked;
use crate::message::{Done, Failure, Raw};

/// Files that processes write together, and that appear together.
pub trait Together {
    /// Begins, in process 0; gives what the others need to take part.
    ///
    /// # Errors
    /// What keeps it from being written there.
    fn begin(&mut self, processes: usize) -> Result<Vec<u8>, Failure>;

    /// Takes part, in other processes.
    ///
    /// # Errors
    /// What keeps it from being written there.
    fn join(&mut self, begun: &[u8], process: usize, processes: usize) -> Result<(), Failure>;

    /// Makes appear what all processes have written, in process 0.
    ///
    /// # Errors
    /// What keeps it from appearing.
    fn finish(&mut self, written: Vec<Vec<u8>>) -> Result<Written, Failure>;
}

/// Writes the rows of a query.
pub trait Writer: Together {
    /// Writes the rows of this process; gives what [`Together::finish`] needs to know of them.
    ///
    /// # Errors
    /// The query's own, and those of writing.
    fn write(&mut self, results: engine::Results) -> engine::Result<Vec<u8>>;
}

/// Makes files without a query.
pub trait Maker: Together {
    /// Looks at what other processes need to know of the share of this one, in all of them.
    ///
    /// # Errors
    /// Those of looking at it.
    fn look(&mut self) -> Result<Vec<u8>, Failure>;

    /// Makes the share of this process, once `told` is what all of them have seen; gives what [`Together::finish`] needs to
    /// know of it.
    ///
    /// # Errors
    /// Those of reading and of writing.
    fn make(&mut self, told: Vec<Vec<u8>>, state: &Arc<QueryState>) -> engine::Result<Vec<u8>>;
}

impl Process {
    /// Has this process make its share of files.
    pub(super) fn make(&self, maker: &mut dyn Maker, told: Vec<Raw>) -> engine::Result<Done> {
        engine::context::pages::large();
        let state = Arc::new(QueryState::default());
        *locked(&self.shared.running) = Running { state: Some(state.clone()), ..Running::default() };
        self.shared.carried.clear();
        let written = maker.make(told.into_iter().map(|Raw(bytes)| bytes).collect(), &state)?;
        let skipped = state.skipped();
        Ok(Done {
            figures: self.shared.figures(),
            nodes: Vec::new(),
            skipped: [skipped.rows, skipped.values, skipped.replaced],
            written: Some(Raw(written)),
        })
    }
}
