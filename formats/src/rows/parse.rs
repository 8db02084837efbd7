//! Text to values: integers, floats, booleans, decimals, dates and timestamps, straight from bytes.
//!
//! Every function takes the whole text of a value and gives `None` if it is not one; none of them panics. Spaces
//! around the text are the caller's business.

use arrow_schema::TimeUnit;

/// Integers that text is read into.
pub trait Integer: Sized {
    /// The value from a sign and a magnitude; `None` out of range.
    fn from_parts(negative: bool, magnitude: u64) -> Option<Self>;
}

macro_rules! signed {
    ($($t:ty),*) => {$(
        impl Integer for $t {
            #[inline]
            fn from_parts(negative: bool, magnitude: u64) -> Option<$t> {
                if negative {
                    if magnitude <= 1 << 63 { <$t>::try_from((magnitude as i64).wrapping_neg()).ok() } else { None }
                } else {
                    <$t>::try_from(magnitude).ok()
                }
            }
        }
    )*};
}

macro_rules! unsigned {
    ($($t:ty),*) => {$(
        impl Integer for $t {
            #[inline]
            fn from_parts(negative: bool, magnitude: u64) -> Option<$t> {
                if negative && magnitude != 0 { None } else { <$t>::try_from(magnitude).ok() }
            }
        }
    )*};
}

signed!(i8, i16, i32, i64);
unsigned!(u8, u16, u32, u64);

/// The digits of `text` as a number; `None` if it is empty, holds anything else or exceeds 64 bits.
#[inline]
fn magnitude(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut value: u64 = 0;
    if text.len() <= 19 {
        // 19 digits are below 2^64, so nothing here can overflow.
        for &byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + u64::from(digit);
        }
    } else {
        for &byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        }
    }
    Some(value)
}

/// Splits a leading sign off: whether it was a minus, and the rest.
#[inline]
fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// An integer in decimal digits with an optional sign.
#[inline]
pub fn integer<T: Integer>(text: &[u8]) -> Option<T> {
    let (negative, digits) = sign(text);
    T::from_parts(negative, magnitude(digits)?)
}

/// Floats that text is read into.
pub trait Float: fast_float2::FastFloat {
    /// `mantissa` / 10^`places`, correctly rounded, if that is easy to tell.
    fn easy(mantissa: u64, places: usize) -> Option<Self>;

    /// The value with the other sign.
    fn negated(self) -> Self;
}

/// The powers of ten that are exact in 64 bits.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

impl Float for f64 {
    #[inline(always)]
    fn easy(mantissa: u64, places: usize) -> Option<f64> {
        // One rounding of two exact numbers (W. Clinger, "How to read floating point numbers accurately", 1990).
        let power = POWERS.get(places)?;
        if mantissa <= 1 << 53 { Some(mantissa as f64 / power) } else { None }
    }

    #[inline(always)]
    fn negated(self) -> f64 {
        -self
    }
}

impl Float for f32 {
    #[inline(always)]
    fn easy(mantissa: u64, places: usize) -> Option<f32> {
        let wide = f64::easy(mantissa, places)?;
        // Rounding twice errs only if the first result lies half-way between two values of 32 bits.
        if wide.to_bits() << 35 == 1 << 63 { None } else { Some(wide as f32) }
    }

    #[inline(always)]
    fn negated(self) -> f32 {
        -self
    }
}

/// A float: digits with fraction and exponent, `NaN`, `inf`, `Infinity` in any case, correctly rounded.
#[inline]
pub fn float<T: Float>(text: &[u8]) -> Option<T> {
    let (negative, digits) = sign(text);
    let (mut mantissa, mut point) = (0u64, None);
    // 19 digits are below 2^64; with the point that is 20 bytes.
    if digits.len() <= 20 {
        for (i, &byte) in digits.iter().enumerate() {
            let digit = byte.wrapping_sub(b'0');
            if digit <= 9 {
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
            } else if byte == b'.' && point.is_none() {
                point = Some(i);
            } else {
                return fast_float2::parse(text).ok();
            }
        }
        let places = point.map_or(0, |point| digits.len() - point - 1);
        let count = digits.len() - usize::from(point.is_some());
        if (1..=19).contains(&count)
            && let Some(value) = T::easy(mantissa, places)
        {
            return Some(if negative { value.negated() } else { value });
        }
    }
    fast_float2::parse(text).ok()
}

/// `true`, `t`, `yes`, `y`, `1` and their opposites, in any case.
pub fn boolean(text: &[u8]) -> Option<bool> {
    let is = |words: [&str; 5]| words.iter().any(|w| text.eq_ignore_ascii_case(w.as_bytes()));
    if is(["true", "t", "yes", "y", "1"]) {
        Some(true)
    } else if is(["false", "f", "no", "n", "0"]) {
        Some(false)
    } else {
        None
    }
}

/// The greatest exponent that is considered in a decimal; beyond it only zero fits anyway.
const MAX_EXPONENT: i64 = 1000;

/// A decimal of at most `precision` digits, `scale` of them behind the point: the value times 10^`scale`.
///
/// Digits that the scale has no room for must be zeros: data is not rounded in silence.
pub fn decimal(text: &[u8], precision: u8, scale: i8) -> Option<i128> {
    let (negative, text) = sign(text);
    let (digits, exponent) = match text.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(at) => {
            let exponent = integer::<i64>(&text[at + 1..])?;
            (&text[..at], exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT))
        }
        None => (text, 0),
    };
    let mut value: i128 = 0;
    let mut seen = 0usize;
    // How many digits behind the point `value` has.
    let mut fraction: i64 = 0;
    let mut point = false;
    // Zeros are held back until a digit follows, so that trailing ones never overflow.
    let mut zeros: u32 = 0;
    for &byte in digits {
        match byte {
            b'0' => {
                seen += 1;
                zeros += 1;
                fraction += i64::from(point);
            }
            b'1'..=b'9' => {
                seen += 1;
                fraction += i64::from(point);
                if value != 0 {
                    value = value.checked_mul(10i128.checked_pow(zeros)?)?;
                }
                zeros = 0;
                value = value.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
            }
            b'.' if !point => point = true,
            _ => return None,
        }
    }
    if seen == 0 {
        return None;
    }
    if value == 0 {
        return Some(0);
    }
    // The value is `value * 10^zeros * 10^(exponent - fraction)`, and `10^scale` of it is wanted.
    let shift = i64::from(zeros) + exponent - fraction + i64::from(scale);
    let value = if shift >= 0 {
        value.checked_mul(10i128.checked_pow(u32::try_from(shift).ok()?)?)?
    } else {
        let divisor = 10i128.checked_pow(u32::try_from(-shift).ok()?)?;
        if value % divisor != 0 {
            return None;
        }
        value / divisor
    };
    (value < 10i128.checked_pow(u32::from(precision))?).then_some(if negative { -value } else { value })
}

/// Days since 1970-01-01 of a day of the proleptic Gregorian calendar; `None` if there is no such day.
fn days(year: i64, month: u32, day: u32) -> Option<i64> {
    // The calendar repeats every 400 years, which have 146,097 days.
    let days = days_of_era(year.rem_euclid(400) as u32, month, day)?;
    Some(year.div_euclid(400) * 146_097 + i64::from(days))
}

/// The same for the years 0 to 9999.
#[inline(always)]
fn days_of_era(year: u32, month: u32, day: u32) -> Option<i32> {
    const LENGTHS: [u32; 13] = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let leap =
        month == 2 && year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = *LENGTHS.get(month as usize)? + u32::from(leap);
    if day.wrapping_sub(1) >= length {
        return None;
    }
    // Years that begin in March put the leap day at the end (H. Hinnant, "chrono-compatible low-level date
    // algorithms", days_from_civil); 400 years more make all of them positive.
    let year = year + 400 - u32::from(month <= 2);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let since_march = year * 365 + year / 4 - year / 100 + year / 400 + of_year;
    Some(since_march as i32 - 146_097 - 719_468)
}

/// Two digits.
#[inline]
fn two(text: &[u8]) -> Option<u32> {
    let (tens, ones) = (text.first()?.wrapping_sub(b'0'), text.get(1)?.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then(|| u32::from(tens) * 10 + u32::from(ones))
}

/// The year and month of `YYYY-MM-`, all eight bytes at once.
#[inline(always)]
fn year_month(text: [u8; 8]) -> Option<(u32, u32)> {
    // A digit becomes its value and a dash becomes 0; adding 6 carries every value above 9 into the upper four bits.
    let values = u64::from_le_bytes(text) ^ u64::from_le_bytes(*b"0000-00-");
    let above = values.wrapping_add(0x0006_0600_0606_0606);
    if (values | above) & 0xfff0_f0ff_f0f0_f0f0 != 0 {
        return None;
    }
    let [y1, y2, y3, y4, _, m1, m2, _] = values.to_le_bytes().map(u32::from);
    Some((y1 * 1000 + y2 * 100 + y3 * 10 + y4, m1 * 10 + m2))
}

/// The day that a text begins with, and what follows it.
#[inline]
fn leading_date(text: &[u8]) -> Option<(i64, &[u8])> {
    if let Some((head, [d1, d2, rest @ ..])) = text.split_first_chunk::<8>()
        && let Some((year, month)) = year_month(*head)
        && let Some(day) = two(&[*d1, *d2])
    {
        return Some((i64::from(days_of_era(year, month, day)?), rest));
    }
    // Years of other lengths carry a sign or more digits; months and days may lack the leading zero.
    let (negative, unsigned) = sign(text);
    let first = unsigned.iter().position(|&b| b == b'-')?;
    let second = first + 1 + unsigned[first + 1..].iter().position(|&b| b == b'-')?;
    let digits = unsigned[second + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
    if !(4..=12).contains(&first) || digits > 2 {
        return None;
    }
    let year = i64::try_from(magnitude(&unsigned[..first])?).ok()?;
    let month = u32::try_from(magnitude(&unsigned[first + 1..second])?).ok()?;
    let day = u32::try_from(magnitude(&unsigned[second + 1..second + 1 + digits])?).ok()?;
    let days = days(if negative { -year } else { year }, month, day)?;
    Some((days, &unsigned[second + 1 + digits..]))
}

/// A date `YYYY-MM-DD` in days since 1970-01-01. Years beyond 9999 and before 0 carry a sign.
#[inline]
pub fn date(text: &[u8]) -> Option<i32> {
    let (days, rest) = leading_date(text)?;
    if rest.is_empty() { i32::try_from(days).ok() } else { None }
}

/// The time of day that a text begins with, in seconds and nanoseconds, and what follows it.
fn leading_time(text: &[u8]) -> Option<(i64, i64, &[u8])> {
    let (hour, minute) = (two(text)?, two(text.get(3..)?)?);
    if text[2] != b':' || hour > 23 || minute > 59 {
        return None;
    }
    let mut rest = &text[5..];
    let mut second = 0;
    let mut nanos = 0;
    if let [b':', tail @ ..] = rest {
        second = two(tail)?;
        rest = &tail[2..];
        if second > 59 {
            return None;
        }
        if let [b'.' | b',', fraction @ ..] = rest {
            let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
            if digits == 0 || fraction[..digits].iter().skip(9).any(|&b| b != b'0') {
                return None;
            }
            let padded = fraction[..digits].iter().copied().chain(std::iter::repeat(b'0'));
            nanos = padded.take(9).fold(0, |nanos, digit| nanos * 10 + i64::from(digit - b'0'));
            rest = &fraction[digits..];
        }
    }
    Some((i64::from(hour * 3600 + minute * 60 + second), nanos, rest))
}

/// A zone: `Z` or `±HH`, `±HHMM`, `±HH:MM`, in seconds east of Greenwich.
fn zone(text: &[u8]) -> Option<i64> {
    let (east, digits) = match text {
        [b'Z' | b'z'] => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let minutes = match digits {
        [_, _] => 0,
        [_, _, b':', minutes @ ..] | [_, _, minutes @ ..] if minutes.len() == 2 => two(minutes)?,
        _ => return None,
    };
    let hours = two(digits)?;
    (hours <= 23 && minutes <= 59).then(|| east * i64::from(hours * 3600 + minutes * 60))
}

/// The number of these units in a second.
pub fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// What a text of a timestamp holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instant {
    /// The day since 1970-01-01.
    pub days: i64,
    /// Seconds of that day in UTC (in local time where there is no zone); a zone may carry them beyond the day.
    pub seconds: i64,
    /// Nanoseconds of the second.
    pub nanos: i64,
    /// Whether the text names a zone.
    pub zoned: bool,
}

/// A date, or a date and a time `HH:MM[:SS[.fraction]]` behind a `T` or a space, with an optional zone.
pub fn instant(text: &[u8]) -> Option<Instant> {
    let (days, rest) = leading_date(text)?;
    let [b'T' | b't' | b' ', time @ ..] = rest else {
        return rest.is_empty().then_some(Instant { days, seconds: 0, nanos: 0, zoned: false });
    };
    let (seconds, nanos, rest) = leading_time(time)?;
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let offset = if rest.is_empty() { 0 } else { zone(rest)? };
    Some(Instant { days, seconds: seconds - offset, nanos, zoned: !rest.is_empty() })
}

/// A timestamp in `unit`s since 1970-01-01 UTC. Digits finer than the unit must be zeros.
pub fn timestamp(text: &[u8], unit: TimeUnit) -> Option<i64> {
    let at = instant(text)?;
    let per_second = per_second(unit);
    let nanos_per_unit = 1_000_000_000 / per_second;
    if at.nanos % nanos_per_unit != 0 {
        return None;
    }
    // In 128 bits, because the earliest timestamps that fit begin on a day whose midnight does not.
    let seconds = i128::from(at.days) * 86_400 + i128::from(at.seconds);
    let value = seconds * i128::from(per_second) + i128::from(at.nanos / nanos_per_unit);
    i64::try_from(value).ok()
}

/// Bytes from `\x` and pairs of hexadecimal digits; `None` if the text is anything else.
pub fn hex(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let digits = text.strip_prefix(br"\x")?;
    if digits.len() % 2 != 0 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let nibble = |b: u8| if b.is_ascii_digit() { b - b'0' } else { (b | 0x20) - b'a' + 10 };
    out.extend(digits.chunks_exact(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_at_their_limits() {
        assert_eq!(integer::<i8>(b"-128"), Some(-128));
        assert_eq!(integer::<i8>(b"128"), None);
        assert_eq!(integer::<i64>(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(integer::<i64>(b"-9223372036854775809"), None);
        assert_eq!(integer::<u64>(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(integer::<u64>(b"18446744073709551616"), None);
        assert_eq!(integer::<u64>(b"-0"), Some(0));
        assert_eq!(integer::<u8>(b"-1"), None);
        assert_eq!(integer::<i32>(b"+0000000000000000000000007"), Some(7));
        for bad in ["", "-", "+", "1 ", "1.0", "0x1", "--1", "١"] {
            assert_eq!(integer::<i64>(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn floats_are_rounded_as_the_standard_library_does() {
        let mut seed = 3u64;
        let mut next = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            seed >> 20
        };
        let mut texts: Vec<String> =
            ["0", "-0", "0.", ".5", "1e400", "-1e-400", "16777217", "16777217.0000000001"]
                .map(str::to_string)
                .into();
        for _ in 0..20_000 {
            let (whole, part) =
                (next() % 10u64.pow((next() % 9) as u32), next() % 10u64.pow((next() % 12) as u32));
            let zeros = "0".repeat((next() % 4) as usize);
            texts.push(format!("{whole}.{zeros}{part}"));
            texts.push(format!("-{}", f32::from_bits(next() as u32 & 0x7f7f_ffff)));
            // Half-way between two values of 32 bits, and near it.
            let half = f64::from(f32::from_bits(0x3f80_0000 + (next() as u32 & 0xffff))) + 2f64.powi(-24);
            texts.push(format!("{half}"));
            texts.push(format!("{}", f64::from_bits(half.to_bits() + next() % 3 - 1)));
        }
        for text in texts {
            assert_eq!(
                float::<f32>(text.as_bytes()).map(f32::to_bits),
                Some(text.parse::<f32>().unwrap().to_bits())
            );
            assert_eq!(
                float::<f64>(text.as_bytes()).map(f64::to_bits),
                Some(text.parse::<f64>().unwrap().to_bits())
            );
        }
        for bad in ["", ".", "-", "+", "1.2.3", "1e", "0x1", "1 ", "--1", "e5"] {
            assert_eq!(float::<f64>(bad.as_bytes()), None, "{bad}");
        }
        assert!(float::<f64>(b"nAn").unwrap().is_nan());
        assert_eq!(float::<f32>(b"-Infinity"), Some(f32::NEG_INFINITY));
    }

    #[test]
    fn decimals_keep_every_digit_or_fail() {
        assert_eq!(decimal(b"12.5", 10, 2), Some(1250));
        assert_eq!(decimal(b"-0.01", 10, 2), Some(-1));
        assert_eq!(decimal(b"12.500", 10, 2), Some(1250));
        assert_eq!(decimal(b"12.505", 10, 2), None);
        assert_eq!(decimal(b"99999999.99", 10, 2), Some(9_999_999_999));
        assert_eq!(decimal(b"100000000", 10, 2), None);
        assert_eq!(decimal(b"1.5e3", 10, 2), Some(150_000));
        assert_eq!(decimal(b"15E-1", 10, 2), Some(150));
        assert_eq!(decimal(b"0e999999999999", 10, 2), Some(0));
        assert_eq!(decimal(b"1200", 4, -2), Some(12));
        assert_eq!(decimal(b".5", 4, 1), Some(5));
        assert_eq!(decimal(b"5.", 4, 1), Some(50));
        let nines = "9".repeat(38);
        assert_eq!(decimal(nines.as_bytes(), 38, 0), Some(10i128.pow(38) - 1));
        assert_eq!(decimal(format!("{nines}9").as_bytes(), 38, 0), None);
        for bad in ["", ".", "-", "1.2.3", "1e", "e5", "NaN"] {
            assert_eq!(decimal(bad.as_bytes(), 10, 2), None, "{bad}");
        }
    }

    #[test]
    fn dates_exist_or_fail() {
        assert_eq!(date(b"1970-01-01"), Some(0));
        assert_eq!(date(b"1969-12-31"), Some(-1));
        assert_eq!(date(b"2000-02-29"), Some(11_016));
        assert_eq!(date(b"1900-02-29"), None);
        assert_eq!(date(b"2023-13-01"), None);
        assert_eq!(date(b"2023-04-31"), None);
        assert_eq!(date(b"2023-4-3"), date(b"2023-04-03"));
        assert_eq!(date(b"+10000-01-01"), Some(2_932_897));
        assert_eq!(date(b"-0001-12-31"), Some(-719_529));
        assert_eq!(date(b"+5881580-07-11"), Some(i32::MAX));
        assert_eq!(date(b"+5881580-07-12"), None);
        for bad in ["", "2023", "2023-01", "2023-01-01x", "2023-01-011", "20230101", "23-01-01", "----"] {
            assert_eq!(date(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn timestamps_with_and_without_zone() {
        let us = |text: &str| timestamp(text.as_bytes(), TimeUnit::Microsecond);
        assert_eq!(us("1970-01-01T00:00:01"), Some(1_000_000));
        assert_eq!(us("1970-01-01 00:00:01.5"), Some(1_500_000));
        assert_eq!(us("1969-12-31 23:59:59.999999"), Some(-1));
        assert_eq!(us("1970-01-01 01:00+01:00"), Some(0));
        assert_eq!(us("1970-01-01 00:00:00 -0130"), Some(5_400_000_000));
        assert_eq!(us("1970-01-02"), Some(86_400_000_000));
        assert_eq!(us("1970-01-01T00:00:00.0000001"), None);
        assert_eq!(timestamp(b"1970-01-01T00:00:00.0000001", TimeUnit::Nanosecond), Some(100));
        assert_eq!(timestamp(b"1677-09-21T00:12:43.145224192", TimeUnit::Nanosecond), Some(i64::MIN));
        assert_eq!(timestamp(b"2262-04-11T23:47:16.854775808", TimeUnit::Nanosecond), None);
        for bad in ["1970-01-01T", "1970-01-01T24:00", "1970-01-01T1:00", "1970-01-01T00:00:60", "x"] {
            assert_eq!(us(bad), None, "{bad}");
        }
    }

    #[test]
    fn hex_is_whole_pairs() {
        let mut out = Vec::new();
        assert!(hex(br"\x00fFA0", &mut out).is_some());
        assert_eq!(out, [0, 255, 160]);
        assert!(hex(br"\x0", &mut out).is_none());
        assert!(hex(b"00", &mut out).is_none());
    }
}
