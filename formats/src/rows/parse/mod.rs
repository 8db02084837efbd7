//! Text to values, straight from bytes.
//!
//! Every function takes the whole text of a value and gives `None` if it is not one; none of them panics. Spaces
//! around the text are the caller's business.
//! - `number`: booleans, integers and floats.
//! - `decimal`: decimals.
//! - `time`: dates, timestamps and times of day.
//! - `bytes`: hexadecimal bytes.

mod bytes;
mod decimal;
mod number;
mod time;

pub use bytes::hex;
pub use decimal::{Decimal, decimal};
pub use number::{Float, Half, Integer, boolean, float, half, integer, is_printed, printed_float};
pub use schema::instants::per_second;
pub use time::{Instant, date, instant, moment, time_of_day, timestamp};
