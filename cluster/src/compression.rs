//! Whether processes compress what they send each other.

use serde::{Deserialize, Serialize};

/// Whether processes compress the bytes that they send each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Where that is quicker, and only if some processes are on other machines.
    #[default]
    Auto,
    /// Never.
    None,
    /// Always.
    Lz4,
}

impl Compression {
    /// What the choice means for a group of processes; `is_far` says that some of them are on other machines.
    pub fn among(self, is_far: bool) -> Compression {
        match self {
            Compression::Auto if !is_far => Compression::None,
            other => other,
        }
    }
}
