//! Text to values, straight from bytes.
//!
//! Every function takes the whole text of a value and gives `None` if it is not one; none of them panics. Spaces
//! around the text are the caller's business.
//! - `number`: booleans, integers, floats and decimals.
//! - `time`: dates, timestamps and times of day.
//! - `bytes`: hexadecimal bytes.

mod bytes;
mod number;
mod time;

pub use bytes::hex;
pub use number::{Decimal, Float, Half, Integer, boolean, decimal, float, half, integer};
pub use time::{Instant, date, instant, per_second, time_of_day, timestamp};
