//! The tables of the AMPLab Big Data Benchmark.

use serde::{Deserialize, Serialize};

/// Which rows of which table are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The seed; every row is a pure function of it and the row's number.
    pub seed: u64,
}
