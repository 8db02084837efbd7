//! Traits of what the binary writes in several processes: the rows of a query, or files that are made without a query.

use std::sync::Arc;

use engine::QueryState;
use engine::writing::dataset::Written;

use super::{Process, Running};
use crate::locked;
use crate::message::{Done, Failure, Raw};

/// Files that processes write together, and that appear together.
pub trait Together {
    /// Begins the files, in process 0. Gives the bytes that the other processes need to join.
    ///
    /// # Errors
    /// The files can't be written there.
    fn begin(&mut self, processes: usize) -> Result<Vec<u8>, Failure>;

    /// Joins the files that process 0 has begun, in each other process.
    ///
    /// # Errors
    /// The files can't be written there.
    fn join(&mut self, begun: &[u8], process: usize, processes: usize) -> Result<(), Failure>;

    /// Makes the files of all processes appear, in process 0. `written` has the bytes of each process.
    ///
    /// # Errors
    /// The files can't appear.
    fn finish(&mut self, written: Vec<Vec<u8>>) -> Result<Written, Failure>;
}

/// Writes the rows of a query.
pub trait Writer: Together {
    /// Writes the rows of this process. Gives the bytes that [`Together::finish`] needs of it.
    ///
    /// # Errors
    /// Errors of the query and of writing.
    fn write(&mut self, results: engine::Results) -> engine::Result<Vec<u8>>;
}

/// Makes files without a query.
pub trait Maker: Together {
    /// Looks at its own share, in each process. Gives the bytes that the other processes need to know of it.
    ///
    /// # Errors
    /// The share can't be read.
    fn look(&mut self) -> Result<Vec<u8>, Failure>;

    /// Makes the share of this process; `told` has the bytes that [`Maker::look`] gave in each process. Gives the bytes
    /// that [`Together::finish`] needs of it.
    ///
    /// # Errors
    /// Errors of reading and of writing.
    fn make(&mut self, told: Vec<Vec<u8>>, state: &Arc<QueryState>) -> engine::Result<Vec<u8>>;
}

impl Process {
    /// Makes this process's share of files.
    pub(super) fn make(&self, maker: &mut dyn Maker, told: Vec<Raw>) -> engine::Result<Done> {
        engine::context::pages::large();
        let state = Arc::new(QueryState::default());
        *locked(&self.shared.running) = Running { state: Some(state.clone()), ..Running::default() };
        self.shared.carried.clear();
        let written = maker.make(told.into_iter().map(|Raw(bytes)| bytes).collect(), &state)?;
        Ok(Done {
            figures: self.shared.figures(),
            nodes: Vec::new(),
            skipped: state.skipped(),
            written: Some(Raw(written)),
        })
    }
}
