//! Sequences of integers of 8 to 64 bits: columns of fixed width, and whatever in the encodings of others is a number.
//!
//! ```text
//! integers(n) = 0 constant    value                         one value, n times
//!             | 1 plain       buffer                        n values
//!             | 2 packed      buffer heads  buffer data     see `packed`
//!             | 3 runs        count: u32  integers of 32 bits(count): lengths  integers(count): values
//!             | 4 dictionary  count: u32  integers of 16 bits(n): places  integers(count): values
//! ```
//!
//! Signed numbers are in two's complement. What lies in a row that is NULL means nothing.
//!
//! - [`packed`]: frame of reference and delta with bit packing, block by block.
//! - [`choose`]: which of them fits values best.
//! - [`encode`]: values to bytes.
//! - [`decode`]: bytes to values, any range of them.
//! - [`select`]: which values lie within bounds.

pub mod choose;
pub mod decode;
pub mod encode;
pub mod packed;
pub mod select;

/// Tags of the encodings of integers.
pub(super) mod tag {
    pub const CONSTANT: u8 = 0;
    pub const PLAIN: u8 = 1;
    pub const PACKED: u8 = 2;
    pub const RUNS: u8 = 3;
    pub const DICTIONARY: u8 = 4;
}
