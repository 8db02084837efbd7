//! Functions of numbers.

use arrow_array::ArrayRef;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_schema::DataType;
use datafusion_common::{Result, exec_datafusion_err, exec_err};

use super::arguments::{Call, known};
use super::{Own, ResultType, Takes};

const DOUBLE: &[&[Takes]] = &[&[Takes::Double]];
const INTEGERS: &[&[Takes]] = &[&[Takes::Integer, Takes::Integer]];

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "even",
        takes: DOUBLE,
        more: None,
        gives: ResultType::Double,
        total: true,
        compute: |call| doubles(call, even),
    },
    Own {
        name: "gamma",
        takes: DOUBLE,
        more: None,
        gives: ResultType::Double,
        total: true,
        compute: |call| doubles(call, gamma),
    },
    Own {
        name: "lgamma",
        takes: DOUBLE,
        more: None,
        gives: ResultType::Double,
        total: true,
        compute: |call| doubles(call, libm::lgamma),
    },
    Own {
        name: "isfinite",
        takes: &[&[Takes::Double], &[Takes::Instant]],
        more: None,
        gives: ResultType::Boolean,
        total: true,
        compute: |call| conditions(call, f64::is_finite, true),
    },
    Own {
        name: "isinf",
        takes: &[&[Takes::Double], &[Takes::Instant]],
        more: None,
        gives: ResultType::Boolean,
        total: true,
        compute: |call| conditions(call, f64::is_infinite, false),
    },
    Own {
        name: "signbit",
        takes: DOUBLE,
        more: None,
        gives: ResultType::Boolean,
        total: true,
        compute: |call| conditions(call, f64::is_sign_negative, false),
    },
    Own {
        name: "fdiv",
        takes: &[&[Takes::Double, Takes::Double]],
        more: None,
        gives: ResultType::Double,
        total: true,
        compute: |call| pairs(call, |a, b| (a / b).floor()),
    },
    Own {
        name: "fmod",
        takes: &[&[Takes::Double, Takes::Double]],
        more: None,
        gives: ResultType::Double,
        total: true,
        compute: |call| pairs(call, |a, b| a - b * (a / b).floor()),
    },
    Own {
        name: "nextafter",
        takes: &[&[Takes::Float, Takes::Float], &[Takes::Double, Takes::Double]],
        more: None,
        gives: ResultType::Argument(0),
        total: true,
        compute: next_after,
    },
    Own {
        name: "round_even",
        takes: &[&[Takes::Double, Takes::Integer]],
        more: None,
        gives: ResultType::Double,
        total: true,
        compute: round_even,
    },
    Own {
        name: "bit_count",
        takes: &[&[Takes::AnyInteger]],
        more: None,
        gives: ResultType::Integer,
        total: true,
        compute: bit_count,
    },
    Own {
        name: "binom",
        takes: INTEGERS,
        more: None,
        gives: ResultType::Integer,
        total: false,
        compute: binom,
    },
    Own {
        name: "to_base",
        takes: &[&[Takes::Integer, Takes::Integer], &[Takes::Integer, Takes::Integer, Takes::Integer]],
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: to_base,
    },
];

fn doubles(call: &Call, of: fn(f64) -> f64) -> Result<ArrayRef> {
    let values = call.numbers::<Float64Type>(0)?;
    call.give::<Float64Type>(|row| Ok(values.get(row).map(of)))
}

fn pairs(call: &Call, of: fn(f64, f64) -> f64) -> Result<ArrayRef> {
    let (left, right) = (call.numbers::<Float64Type>(0)?, call.numbers::<Float64Type>(1)?);
    call.give::<Float64Type>(|row| Ok(Some(of(known!(left.get(row)), known!(right.get(row))))))
}

/// A condition on floats; of each date and timestamp it is `of_instants`.
fn conditions(call: &Call, of: fn(f64) -> bool, of_instants: bool) -> Result<ArrayRef> {
    if call.type_of(0).is_temporal() {
        let instants = call.instants(0)?;
        return call.give_booleans(|row| Ok(instants.get(row).map(|_| of_instants)));
    }
    let values = call.numbers::<Float64Type>(0)?;
    call.give_booleans(|row| Ok(values.get(row).map(of)))
}

/// The next even number, away from zero.
fn even(value: f64) -> f64 {
    let whole = value.abs().ceil();
    let even = if whole % 2.0 == 0.0 || !whole.is_finite() { whole } else { whole + 1.0 };
    even.copysign(value)
}

/// The gamma function; of a negative whole number there is none.
fn gamma(value: f64) -> f64 {
    if value < 0.0 && value.fract() == 0.0 { f64::NAN } else { libm::tgamma(value) }
}

fn next_after(call: &Call) -> Result<ArrayRef> {
    if call.type_of(0) == DataType::Float32 {
        let (from, to) = (call.numbers::<Float32Type>(0)?, call.numbers::<Float32Type>(1)?);
        return call.give::<Float32Type>(|row| {
            Ok(Some(libm::nextafterf(known!(from.get(row)), known!(to.get(row)))))
        });
    }
    let (from, to) = (call.numbers::<Float64Type>(0)?, call.numbers::<Float64Type>(1)?);
    call.give::<Float64Type>(|row| Ok(Some(libm::nextafter(known!(from.get(row)), known!(to.get(row))))))
}

/// Rounds to a number of digits; halves go to the even neighbour.
fn round_even(call: &Call) -> Result<ArrayRef> {
    let (values, digits) = (call.numbers::<Float64Type>(0)?, call.integers(1)?);
    call.give::<Float64Type>(|row| {
        let (value, digits) = (known!(values.get(row)), known!(digits.get(row)));
        let power = 10_f64.powi(digits.unsigned_abs().min(400) as i32);
        let rounded = match digits {
            _ if !value.is_finite() => value,
            0 => value.round_ties_even(),
            ..0 if power.is_finite() => (value / power).round_ties_even() * power,
            ..0 => 0.0,
            // It has no digits behind those.
            _ if !(value * power).is_finite() => value,
            _ => (value * power).round_ties_even() / power,
        };
        Ok(Some(rounded))
    })
}

/// The bits that are set, of an integer in its own width.
fn bit_count(call: &Call) -> Result<ArrayRef> {
    use arrow_array::types::{
        Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    };
    macro_rules! counted {
        ($type:ty) => {{
            let values = call.numbers::<$type>(0)?;
            call.give::<Int64Type>(|row| Ok(values.get(row).map(|value| i64::from(value.count_ones()))))
        }};
    }
    match call.type_of(0) {
        DataType::Int8 => counted!(Int8Type),
        DataType::Int16 => counted!(Int16Type),
        DataType::Int32 => counted!(Int32Type),
        DataType::UInt8 => counted!(UInt8Type),
        DataType::UInt16 => counted!(UInt16Type),
        DataType::UInt32 => counted!(UInt32Type),
        DataType::UInt64 => counted!(UInt64Type),
        _ => counted!(Int64Type),
    }
}

/// In how many ways some of several things can be chosen.
fn binom(call: &Call) -> Result<ArrayRef> {
    let (all, chosen) = (call.integers(0)?, call.integers(1)?);
    call.give_integers(|row| {
        let (all, chosen) = (known!(all.get(row)), known!(chosen.get(row)));
        if all < 0 || chosen < 0 {
            return exec_err!("binom() takes no negative numbers");
        }
        if chosen > all {
            return Ok(Some(0));
        }
        let beyond = || exec_datafusion_err!("the result of binom({all}, {chosen}) is out of range");
        let mut ways = 1_i128;
        for i in 0..i128::from(chosen.min(all - chosen)) {
            // The product of so many neighbours can be divided by as many.
            ways = ways.checked_mul(i128::from(all) - i).ok_or_else(beyond)? / (i + 1);
            if ways > i128::from(i64::MAX) {
                return Err(beyond());
            }
        }
        Ok(i64::try_from(ways).ok())
    })
}

/// An integer in the digits of a base, with zeros before it.
fn to_base(call: &Call) -> Result<ArrayRef> {
    const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let (numbers, bases) = (call.integers(0)?, call.integers(1)?);
    let widths = (call.given() > 2).then(|| call.integers(2)).transpose()?;
    call.give_text(|row, out| {
        let width = match &widths {
            Some(widths) => widths.get(row),
            None => Some(0),
        };
        let (Some(mut number), Some(base), Some(width)) = (numbers.get(row), bases.get(row), width) else {
            return Ok(false);
        };
        if number < 0 {
            return exec_err!("to_base() takes no negative number");
        }
        if !(2..=36).contains(&base) {
            return exec_err!("the base of to_base() is between 2 and 36");
        }
        if !(0..=64).contains(&width) {
            return exec_err!("the digits of to_base() are at most 64");
        }
        let mut digits = Vec::new();
        while number > 0 || digits.is_empty() {
            digits.push(DIGITS[(number % base) as usize]);
            number /= base;
        }
        (digits.len()..width as usize).for_each(|_| out.push('0'));
        out.extend(digits.iter().rev().map(|digit| char::from(*digit)));
        Ok(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_numbers_are_away_from_zero() {
        for (value, expected) in [(2.9, 4.0), (2.0, 2.0), (-2.1, -4.0), (0.0, 0.0), (1e300, 1e300)] {
            assert_eq!(even(value), expected);
        }
        assert!(even(f64::NAN).is_nan());
        assert!(gamma(-1.0).is_nan());
    }
}
