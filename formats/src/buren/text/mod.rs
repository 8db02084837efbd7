//! Sequences of texts or runs of bytes.
//!
//! ```text
//! texts(n) = 0 constant    buffer                                            one value, n times
//!          | 1 plain       integers of 32 bits(n): lengths  buffer           value after value
//!          | 2 letters     see `letters`                                     symbols of a small alphabet
//!          | 3 addresses   integers of 32 bits(n)                            see `addresses`
//!          | 4 symbols     see `symbols`                                     FSST
//!          | 5 dictionary  count: u32  integers of 16 bits(n): places  texts(count)
//!          | 6 runs        count: u32  integers of 32 bits(count): lengths  texts(count)
//!          | 7 frequent    count: u32  rest: u32  integers of 16 bits(n): places  texts(count)  texts(rest)
//! ```
//!
//! In `frequent`, the value of a row is the entry of its place; the place `count` stands for the next value of the rest.
//! That is a dictionary of the values that occur again, without those that occur once.
//!
//! - [`views`]: lengths and bytes to Arrow's string views.
//! - [`letters`], [`addresses`], [`symbols`]: values to fewer bytes and back.
//! - [`dictionary`]: the distinct values, and how often each occurs.
//! - [`encode`]: which encoding fits, and values to bytes.
//! - [`decode`]: bytes to views, any range of rows or chosen ones.
//! - [`select`]: which values lie within bounds.

pub mod addresses;
pub mod decode;
pub mod dictionary;
pub mod encode;
pub mod letters;
pub mod select;
pub mod symbols;
pub mod views;

/// Tags of the encodings of text.
pub(super) mod tag {
    pub const CONSTANT: u8 = 0;
    pub const PLAIN: u8 = 1;
    pub const LETTERS: u8 = 2;
    pub const ADDRESSES: u8 = 3;
    pub const SYMBOLS: u8 = 4;
    pub const DICTIONARY: u8 = 5;
    pub const RUNS: u8 = 6;
    pub const FREQUENT: u8 = 7;
}
