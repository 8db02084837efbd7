//! Conversions between decimals and floats. A decimal is a whole number of units of `10^-scale`.

use arrow_buffer::i256;

/// Whole numbers below it are floats.
const EXACT: u128 = 1 << 53;

/// The largest number of digits of a decimal.
const DIGITS: u8 = 38;

/// `10^exponent`; of an exponent beyond 38 the largest power.
fn power(exponent: u8) -> i128 {
    10_i128.pow(u32::from(exponent.min(DIGITS)))
}

/// The float nearest to a decimal, of two that are equally near the even one.
pub fn to_f64(scale: i8) -> impl Fn(i128) -> f64 {
    // Powers up to the 22nd are floats: one division of floats rounds once.
    let by = (0..=22).contains(&scale).then(|| power(scale.unsigned_abs()) as f64);
    move |units| match by {
        Some(by) if units.unsigned_abs() < EXACT => units as f64 / by,
        _ => average(units, scale, 1),
    }
}

/// As [`to_f64`], of 32 bits.
pub fn to_f32(scale: i8) -> impl Fn(i128) -> f32 {
    let to_double = to_f64(scale);
    move |units| {
        let double = to_double(units);
        // Rounded twice, a value that the first rounding has put in the middle between two floats may be the wrong one.
        if double.to_bits() & 0x1FFF_FFFF == 0x1000_0000 { nearest_f32(units, scale) } else { double as f32 }
    }
}

fn nearest_f32(units: i128, scale: i8) -> f32 {
    let (bits, shift) = quotient(units.unsigned_abs(), scale, 1);
    let size = (f64::from(bits as f32) * power_of_two(shift)) as f32;
    if units < 0 { -size } else { size }
}

/// The float nearest to a decimal divided by a count, which is not 0.
pub fn average(units: i128, scale: i8, count: u64) -> f64 {
    let size = units.unsigned_abs();
    let by = (0..=15).contains(&scale).then(|| power(scale as u8) as u128 * u128::from(count));
    let size = match by {
        // Both are floats, and one division rounds once.
        Some(by) if size < EXACT && by < EXACT => size as f64 / by as f64,
        _ => {
            let (bits, shift) = quotient(size, scale, count);
            bits as f64 * power_of_two(shift)
        }
    };
    if units < 0 { -size } else { size }
}

/// `size / (10^scale * count)` times `2^shift`, with at least 64 binary digits, of which the last one also says whether
/// more follow.
fn quotient(size: u128, scale: i8, count: u64) -> (u128, u32) {
    let (above, below) = if scale < 0 { (power(scale.unsigned_abs()), 1) } else { (1, power(scale as u8)) };
    let value = i256::from_parts(size, 0).wrapping_mul(i256::from_i128(above));
    let by = i256::from_i128(below).wrapping_mul(i256::from_parts(u128::from(count), 0));
    let digits = |v: i256| 256 - v.leading_zeros();
    let shift = (64 + digits(by)).saturating_sub(digits(value)).min(255 - digits(value));
    let value = value << (shift as u8);
    let whole = value.wrapping_div(by);
    let more = value.wrapping_rem(by) != i256::ZERO;
    // A number of more than 128 binary digits is one of a negative scale.
    let whole = whole.to_i128().map_or(u128::MAX, |whole| whole as u128);
    (whole | u128::from(more), shift)
}

/// `2^-shift`.
fn power_of_two(shift: u32) -> f64 {
    f64::from_bits(u64::from(1023 - shift) << 52)
}

/// The units of the decimal nearest to a float, halves away from zero; none for one that has no 38 digits.
///
/// Up to 2^53 units that is the product as floats compute it. Beyond, where the product has digits that the float
/// never had, the float's value is the one it is printed as.
pub fn from_f64(value: f64, scale: i8) -> Option<i128> {
    if !value.is_finite() {
        return None;
    }
    let product = value * 10_f64.powi(i32::from(scale));
    if product.abs() < EXACT as f64 {
        return Some(product.round() as i128);
    }
    let text = format!("{:e}", value.abs());
    let (mantissa, exponent) = text.split_once('e')?;
    let (first, others) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{first}{others}").parse().ok()?;
    let exponent = exponent.parse::<i32>().ok()? - i32::try_from(others.len()).ok()? + i32::from(scale);
    let units = match u32::try_from(exponent) {
        Ok(more) => digits.checked_mul(10_i128.checked_pow(more)?)?,
        Err(_) => {
            let by = 10_i128.checked_pow(exponent.unsigned_abs())?;
            (digits + by / 2) / by
        }
    };
    (units < power(DIGITS)).then_some(if value < 0.0 { -units } else { units })
}

/// Where a number between two whole ones goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest, of two that are equally near away from zero.
    Nearest,
    /// Toward zero.
    Cut,
    /// To the greater one.
    Up,
    /// To the lesser one.
    Down,
}

impl Rounding {
    /// Units divided by `10^digits`, as a whole number.
    pub fn divide(self, units: i128, digits: u32) -> i128 {
        let Some(by) = 10_i128.checked_pow(digits) else {
            // Less than half of it.
            return match self {
                Rounding::Up => i128::from(units > 0),
                Rounding::Down => -i128::from(units < 0),
                Rounding::Nearest | Rounding::Cut => 0,
            };
        };
        let (cut, rest) = (units / by, units % by);
        let is_half = rest.unsigned_abs() >= by.unsigned_abs() - rest.unsigned_abs();
        match self {
            Rounding::Nearest => cut + if is_half { rest.signum() } else { 0 },
            Rounding::Cut => cut,
            Rounding::Up => cut + i128::from(rest > 0),
            Rounding::Down => cut - i128::from(rest < 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the standard library reads from the decimal's text.
    fn read(units: i128, scale: i8) -> f64 {
        format!("{units}e{}", -i32::from(scale)).parse().unwrap_or(f64::NAN)
    }

    #[test]
    fn a_decimal_becomes_the_nearest_float() {
        let mut seed = 7_u128;
        for i in 0..200_000_u32 {
            seed = seed.wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645).wrapping_add(99);
            let units = (seed as i128 >> (i % 127)).clamp(1 - power(38), power(38) - 1);
            for scale in [0, (i % 39) as i8, 38] {
                assert_eq!(to_f64(scale)(units), read(units, scale), "{units}e-{scale}");
                let single: f32 = format!("{units}e-{scale}").parse().unwrap_or(f32::NAN);
                let normal = single == 0.0 || single.abs() > 2e-38;
                assert!(!normal || to_f32(scale)(units) == single, "{units}e-{scale} as f32");
            }
        }
        assert_eq!(to_f64(8)(99_999_999_999_999_999_999_999), 1e15);
        assert_eq!(to_f64(-3)(5), 5000.0);
        assert_eq!(to_f64(10)(0), 0.0);
    }

    #[test]
    fn an_average_is_rounded_once() {
        assert_eq!(average(3, 1, 3), 0.1);
        assert_eq!(average(10, 0, 3), 10.0 / 3.0);
        assert_eq!(average(10_i128.pow(30), 2, 1 << 40), 1e28 / (1_u64 << 40) as f64);
        assert_eq!(average(-1, 2, 4), -0.0025);
    }

    #[test]
    fn a_float_becomes_the_nearest_decimal() {
        assert_eq!(from_f64(1.115, 2), Some(112));
        assert_eq!(from_f64(-2.5, 0), Some(-3));
        assert_eq!(from_f64(1e22, 10), Some(power(32)));
        assert_eq!(from_f64(123456.789, 20), Some(12_345_678_900_000_000_000_000_000));
        assert_eq!(from_f64(1e38, 0), None);
        assert_eq!(from_f64(-1e37, 0), Some(-power(37)));
        assert_eq!(from_f64(f64::NAN, 2), None);
        assert_eq!(from_f64(f64::INFINITY, 2), None);
        assert_eq!(from_f64(1e-40, 38), Some(0));
        assert_eq!(from_f64(12345.0, -2), Some(123));
    }

    #[test]
    fn decimals_are_rounded_to_whole_numbers() {
        use Rounding::{Cut, Down, Nearest, Up};
        for (units, nearest, cut, up, down) in
            [(25, 3, 2, 3, 2), (-25, -3, -2, -2, -3), (24, 2, 2, 3, 2), (-1, 0, 0, 0, -1), (30, 3, 3, 3, 3)]
        {
            assert_eq!(Nearest.divide(units, 1), nearest, "{units}");
            assert_eq!(Cut.divide(units, 1), cut, "{units}");
            assert_eq!(Up.divide(units, 1), up, "{units}");
            assert_eq!(Down.divide(units, 1), down, "{units}");
        }
        assert_eq!(Nearest.divide(7, 0), 7);
        assert_eq!(Nearest.divide(power(38) - 1, 38), 1);
        assert_eq!(Nearest.divide(power(38) - 1, 39), 0);
        assert_eq!(Up.divide(1, 100), 1);
        assert_eq!(Down.divide(-1, 100), -1);
    }
}
