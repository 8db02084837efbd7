//! Decimals.

use arrow_array::ArrowNativeTypeOp;
use arrow_buffer::i256;

use super::number::{integer, sign};

/// Decimals that are read: whole numbers, the value times a power of ten.
pub trait Decimal: ArrowNativeTypeOp {
    /// The number whose bytes these are, little endian; `None` if they are more or fewer than it has.
    fn read_le(bytes: &[u8]) -> Option<Self>;
}

impl Decimal for i128 {
    fn read_le(bytes: &[u8]) -> Option<i128> {
        Some(i128::from_le_bytes(bytes.try_into().ok()?))
    }
}

impl Decimal for i256 {
    fn read_le(bytes: &[u8]) -> Option<i256> {
        Some(i256::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// The greatest exponent that is considered in a decimal; beyond it only zero fits anyway.
const MAX_EXPONENT: i64 = 1000;

/// A decimal of at most `precision` digits, `scale` of them behind the point: the value times 10^`scale`.
///
/// Digits that the scale has no room for must be zeros: data is not rounded in silence.
pub fn decimal<T: ArrowNativeTypeOp>(text: &[u8], precision: u8, scale: i8) -> Option<T> {
    let (negative, text) = sign(text);
    let (digits, exponent) = match text.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(at) => {
            let exponent = integer::<i64>(&text[at + 1..])?;
            (&text[..at], exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT))
        }
        None => (text, 0),
    };
    let ten = T::usize_as(10);
    let power = |exponent: u32| ten.pow_checked(exponent).ok();
    let mut value = T::ZERO;
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
                if !value.is_zero() && zeros > 0 {
                    value = value.mul_checked(power(zeros)?).ok()?;
                }
                zeros = 0;
                value =
                    value.mul_checked(ten).ok()?.add_checked(T::usize_as(usize::from(byte - b'0'))).ok()?;
            }
            b'.' if !point => point = true,
            _ => return None,
        }
    }
    if seen == 0 {
        return None;
    }
    if value.is_zero() {
        return Some(value);
    }
    // The value is `value * 10^zeros * 10^(exponent - fraction)`, and `10^scale` of it is wanted.
    let shift = i64::from(zeros) + exponent - fraction + i64::from(scale);
    let value = if shift >= 0 {
        value.mul_checked(power(u32::try_from(shift).ok()?)?).ok()?
    } else {
        let divisor = power(u32::try_from(-shift).ok()?)?;
        if !value.mod_wrapping(divisor).is_zero() {
            return None;
        }
        value.div_wrapping(divisor)
    };
    let fits = value.is_lt(power(u32::from(precision))?);
    fits.then(|| if negative { value.neg_wrapping() } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_256_bits() {
        let nines = "9".repeat(76);
        let most: Option<i256> = decimal(nines.as_bytes(), 76, 0);
        assert_eq!(most.map(|v| v.to_string()), Some(nines.clone()));
        assert_eq!(decimal::<i256>(format!("-{nines}").as_bytes(), 76, 0), most.map(|v| -v));
        assert_eq!(decimal::<i256>(format!("{nines}9").as_bytes(), 76, 0), None);
        let half = decimal::<i256>(b"0.5", 76, 75).map(|v| v.to_string());
        assert_eq!(half, Some(format!("5{}", "0".repeat(74))));
    }

    #[test]
    fn decimals_keep_every_digit_or_fail() {
        fn decimal(text: &[u8], precision: u8, scale: i8) -> Option<i128> {
            let wide: Option<i256> = super::decimal(text, precision, scale);
            let narrow = super::decimal(text, precision, scale);
            assert_eq!(wide, narrow.map(i256::from_i128));
            narrow
        }
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
}
