//! Booleans, integers and floats.

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::Float16Type;

/// Integers that are read.
pub trait Integer: Sized {
    /// The value from a sign and a magnitude; `None` out of range.
    fn from_parts(negative: bool, magnitude: u64) -> Option<Self>;

    /// The value whose bytes these are, little endian; `None` if they are more or fewer than it has.
    fn read_le(bytes: &[u8]) -> Option<Self>;

    /// The value of 64 bits, in two's complement if it has a sign; `None` out of range.
    fn from_bits(bits: u64) -> Option<Self>;
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

            #[inline]
            fn read_le(bytes: &[u8]) -> Option<$t> {
                Some(<$t>::from_le_bytes(bytes.try_into().ok()?))
            }

            #[inline]
            fn from_bits(bits: u64) -> Option<$t> {
                <$t>::try_from(bits as i64).ok()
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

            #[inline]
            fn read_le(bytes: &[u8]) -> Option<$t> {
                Some(<$t>::from_le_bytes(bytes.try_into().ok()?))
            }

            #[inline]
            fn from_bits(bits: u64) -> Option<$t> {
                <$t>::try_from(bits).ok()
            }
        }
    )*};
}

signed!(i8, i16, i32, i64);
unsigned!(u8, u16, u32, u64);

/// The digits of `text` as a number; `None` if it is empty, holds anything else or exceeds 64 bits.
#[inline]
pub fn magnitude(text: &[u8]) -> Option<u64> {
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
pub fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// Whether a number begins as numbers are printed: with no `+`, and with no zeros before other digits. Phone numbers, zip
/// codes and article numbers do, and would not come back as they were.
#[inline]
pub fn is_printed(text: &[u8]) -> bool {
    !matches!(text, [b'+', ..] | [b'0', b'0'..=b'9', ..] | [b'-', b'0', b'0'..=b'9', ..])
}

/// An integer in decimal digits with an optional sign.
#[inline]
pub fn integer<T: Integer>(text: &[u8]) -> Option<T> {
    let (negative, digits) = sign(text);
    T::from_parts(negative, magnitude(digits)?)
}

/// Floats that are read.
pub trait Float: fast_float2::FastFloat {
    /// The value whose bytes these are, little endian; `None` if they are more or fewer than it has.
    fn read_le(bytes: &[u8]) -> Option<Self>;

    /// The nearest value to this one.
    fn from_f64(value: f64) -> Self;

    /// `mantissa` / 10^`places`, correctly rounded, if that is easy to tell.
    fn easy(mantissa: u64, places: usize) -> Option<Self>;

    /// The value with the other sign.
    fn negated(self) -> Self;

    /// Whether it is an infinity.
    fn is_beyond(self) -> bool;
}

/// The powers of ten that are exact in 64 bits.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

impl Float for f64 {
    #[inline(always)]
    fn read_le(bytes: &[u8]) -> Option<f64> {
        Some(f64::from_le_bytes(bytes.try_into().ok()?))
    }

    #[inline(always)]
    fn from_f64(value: f64) -> f64 {
        value
    }

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

    #[inline(always)]
    fn is_beyond(self) -> bool {
        self.is_infinite()
    }
}

impl Float for f32 {
    #[inline(always)]
    fn read_le(bytes: &[u8]) -> Option<f32> {
        Some(f32::from_le_bytes(bytes.try_into().ok()?))
    }

    #[inline(always)]
    fn from_f64(value: f64) -> f32 {
        value as f32
    }

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

    #[inline(always)]
    fn is_beyond(self) -> bool {
        self.is_infinite()
    }
}

/// A float as numbers are printed ([`is_printed`]). What is written in digits is no infinity.
#[inline(always)]
pub fn printed_float<T: Float>(text: &[u8]) -> Option<T> {
    let is_value = |float: &T| !float.is_beyond() || text.last().is_some_and(u8::is_ascii_alphabetic);
    if is_printed(text) { float(text).filter(is_value) } else { None }
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

/// Floats of 16 bits.
pub type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// A float of 16 bits, as [`float`].
pub fn half(text: &[u8]) -> Option<Half> {
    float::<f64>(text).map(Half::from_f64)
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
}
