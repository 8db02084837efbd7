//! Loops over the values of columns.
//!
//! - [`blob_text`]: text to bytes, and back.
//! - [`decimals`]: conversions between decimals and floats.
//! - [`floats`]: comparisons of floats.
//! - [`integer_text`], [`interval_text`], [`time_text`]: text to integers and decimals, intervals, and times of day.
//! - [`normal`]: one representation for equal values.
//! - [`prefix`]: prefixes of strings.
//! - [`printed`]: timestamps and floats to text.

pub mod blob_text;
pub mod decimals;
pub mod floats;
pub mod integer_text;
pub mod interval_text;
pub mod normal;
pub mod prefix;
pub mod printed;
pub mod time_text;
