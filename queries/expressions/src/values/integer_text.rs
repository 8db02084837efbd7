//! Text to integers and decimals.
//!
//! ```text
//! integer  = decimal, or "0x" hex digits, or "0b" binary digits
//! decimal  = number, with spaces around it
//! number   = ("+" | "-")? (digits ("." digits?)? | "." digits) (("e" | "E") ("+" | "-")? digits)?
//! digits   = digit ("_"? digit)*
//! ```
//!
//! Digits that the type has no room for behind the point are rounded, halves away from zero.

/// An integer as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integer {
    /// Its value, which 64 bits may not hold.
    pub value: i128,
    /// Whether a number below zero is written, which may be zero once it is rounded.
    pub is_negative: bool,
}

impl Integer {
    /// The value as a signed type, or `None`.
    pub fn signed<T: TryFrom<i128>>(self) -> Option<T> {
        T::try_from(self.value).ok()
    }

    /// The value as an unsigned type, or `None`.
    pub fn unsigned<T: TryFrom<i128>>(self) -> Option<T> {
        if self.is_negative { None } else { self.signed() }
    }
}

/// The integer that a text says, or `None`.
pub fn integer(text: &str) -> Option<Integer> {
    if let Some(value) = plain(text.as_bytes()) {
        return Some(Integer { value, is_negative: value < 0 });
    }
    for (prefix, radix) in [("0x", 16), ("0b", 2)] {
        if text.get(..2).is_some_and(|start| start.eq_ignore_ascii_case(prefix)) {
            let (digits, rest) = digits(&text.as_bytes()[2..], radix)?;
            let value = whole(digits, radix)?;
            return rest.is_empty().then_some(Integer { value, is_negative: false });
        }
    }
    number(text.trim_matches(is_space).as_bytes(), 0)
}

/// The units of `10^-scale` that a text says, or `None` if it is no number, or has more than `precision` digits.
pub fn decimal(text: &str, precision: u8, scale: i8) -> Option<i128> {
    let units = match plain_decimal(text.as_bytes(), scale) {
        Some(units) => units,
        None => number(text.trim_matches(is_space).as_bytes(), i64::from(scale))?.value,
    };
    let most = 10_u128.checked_pow(u32::from(precision))?;
    (units.unsigned_abs() < most).then_some(units)
}

fn is_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ')
}

/// The value of a few digits with or without a minus, as most texts are.
fn plain(text: &[u8]) -> Option<i128> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0i64, |value, digit| value * 10 + i64::from(digit - b'0'));
    Some(i128::from(if negative { -value } else { value }))
}

/// The units of `10^-scale` of a few digits with or without a minus and a point, as most texts are. `None` if it is more
/// than that, or has digits that `scale` leaves out.
fn plain_decimal(text: &[u8], scale: i8) -> Option<i128> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    if text.len() > 18 {
        return None;
    }
    let (mut value, mut digits, mut behind) = (0i64, 0, None);
    for byte in text {
        match byte {
            b'0'..=b'9' => {
                value = value * 10 + i64::from(byte - b'0');
                digits += 1;
                behind = behind.map(|behind: i8| behind + 1);
            }
            b'.' if behind.is_none() => behind = Some(0),
            _ => return None,
        }
    }
    let more = scale.checked_sub(behind.unwrap_or(0)).filter(|more| *more >= 0)?;
    let value = i128::from(value).checked_mul(10_i128.checked_pow(u32::from(more.unsigned_abs()))?)?;
    (digits > 0).then_some(if negative { -value } else { value })
}

/// The units of `10^-scale` that a number has.
fn number(text: &[u8], scale: i64) -> Option<Integer> {
    let (sign, text) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        rest => (1, rest),
    };
    let (before, rest) = digits(text, 10).unwrap_or((&[], text));
    let (behind, rest) = match rest {
        [b'.', rest @ ..] => digits(rest, 10).unwrap_or((&[], rest)),
        rest => (&[][..], rest),
    };
    if before.is_empty() && behind.is_empty() {
        return None;
    }
    let exponent = match rest {
        [] => 0,
        [b'e' | b'E', rest @ ..] => exponent(rest)?,
        _ => return None,
    };
    let all = || before.iter().chain(behind).filter_map(|&digit| value_of(digit, 10));
    if all().all(|digit| digit == 0) {
        return Some(Integer { value: 0, is_negative: false });
    }
    let places = before.iter().filter(|&&digit| digit != b'_').count();
    // So many digits are before the point, once the exponent has moved it; zeros follow where there are fewer.
    let point = i64::try_from(places).ok()?.checked_add(exponent)?.checked_add(scale)?;
    let (mut value, mut rounds_up) = (0i128, false);
    if point >= 0 {
        let mut digits = all();
        for _ in 0..point {
            value = value.checked_mul(10)?.checked_add(digits.next().unwrap_or(0))?;
        }
        rounds_up = digits.next().unwrap_or(0) >= 5;
    }
    value = value.checked_add(i128::from(rounds_up))?;
    Some(Integer { value: sign * value, is_negative: sign < 0 })
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (sign, text) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        rest => (1, rest),
    };
    let (digits, rest) = digits(text, 10)?;
    let value = i64::try_from(whole(digits, 10)?).ok()?;
    rest.is_empty().then_some(sign * value)
}

/// The digits with which a text begins, with single underscores between them, and what is behind; `None` if there are
/// none.
fn digits(text: &[u8], radix: u32) -> Option<(&[u8], &[u8])> {
    let is_digit = |i: usize| text.get(i).is_some_and(|&c| value_of(c, radix).is_some());
    let mut end = 0;
    while is_digit(end) || end > 0 && text.get(end) == Some(&b'_') && is_digit(end + 1) {
        end += 1;
    }
    (end > 0).then(|| text.split_at(end))
}

fn value_of(digit: u8, radix: u32) -> Option<i128> {
    char::from(digit).to_digit(radix).map(i128::from)
}

fn whole(digits: &[u8], radix: u32) -> Option<i128> {
    let mut values = digits.iter().filter_map(|&digit| value_of(digit, radix));
    values.try_fold(0i128, |value, digit| value.checked_mul(i128::from(radix))?.checked_add(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<i128> {
        integer(text).map(|integer| integer.value)
    }

    #[test]
    fn digits_are_read_as_they_stand() {
        for (text, expected) in [
            ("0", 0),
            ("-7", -7),
            ("+5", 5),
            ("00012", 12),
            (" 12 ", 12),
            ("\t12\r\n", 12),
            ("1_000", 1000),
            ("0_1", 1),
            ("5.", 5),
            ("0x1F", 31),
            ("0X1_f", 31),
            ("0x1e2", 482),
            ("0b11", 3),
            ("9223372036854775807", i128::from(i64::MAX)),
            ("-9223372036854775808", i128::from(i64::MIN)),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_behind_the_point_is_rounded() {
        for (text, expected) in [
            ("0.5", 1),
            ("-0.5", -1),
            ("0.49999999999999999999999999999999999999999999", 0),
            ("2.5", 3),
            ("-2.5", -3),
            (".5", 1),
            ("-10.150", -10),
            ("1_0.5_0", 11),
            ("9223372036854775806.5", i128::from(i64::MAX)),
            ("9.2233720368547758064e18", 9_223_372_036_854_775_806),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn an_exponent_moves_the_point() {
        for (text, expected) in [
            ("1e2", 100),
            ("1.5E+1", 15),
            ("25e-1", 3),
            ("44.5e-1", 4),
            ("5e-1", 1),
            ("5e-2", 0),
            ("1e-400", 0),
            ("0e400", 0),
            ("1e0_2", 100),
            ("0.00000000000000000000000000005e29", 5),
            ("1e-9223372036854775807", 0),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_text_is_no_integer() {
        for text in [
            "",
            " ",
            "+",
            "-",
            ".",
            "-.",
            "e1",
            ".e1",
            "1e",
            "1e+",
            "1e2.5",
            "1.5.2",
            "1 2",
            "- 5",
            "--5",
            "1__0",
            "_1",
            "1_",
            "1_.5",
            "1._5",
            "1e_2",
            "0x",
            "0x_1",
            "0xG",
            "-0x1F",
            " 0x1F",
            "0b12",
            "0x1.8",
            "1e400",
            "inf",
            "nan",
            "true",
            "1,000",
            "12abc",
            "١",
            "é",
            "99999999999999999999999999999999999999999",
            "1e9223372036854775808",
            "1e9223372036854775807",
        ] {
            assert_eq!(value(text), None, "{text}");
        }
    }

    #[test]
    fn a_decimal_has_the_digits_of_its_type() {
        for (text, expected) in [
            ("1.5e2", Some(150_000)),
            ("1.5E+1", Some(15_000)),
            ("1.5e-1", Some(150)),
            ("5.e1", Some(50_000)),
            ("-.5e1", Some(-5_000)),
            ("+1_0.5e0_1", Some(105_000)),
            ("\t1.5e2\n", Some(150_000)),
            (" -7 ", Some(-7_000)),
            ("00000000000000000001.5", Some(1_500)),
            ("5.", Some(5_000)),
            (".5", Some(500)),
            ("-0", Some(0)),
            ("9999999.999", Some(9_999_999_999)),
            ("-9999999.999", Some(-9_999_999_999)),
            ("12345678.5e-1", Some(1_234_567_850)),
            ("0.1e7", Some(1_000_000_000)),
            // Halves away from zero, of all digits at once.
            ("0.0005", Some(1)),
            ("-5e-4", Some(-1)),
            ("4.9999999999999999999999999999999999999999999e-4", Some(0)),
            ("125e-5", Some(1)),
            ("1e-400", Some(0)),
            ("0e400", Some(0)),
            // One digit too many.
            ("9999999.9995", None),
            ("1e7", None),
            ("-1e7", None),
            ("10000000", None),
            ("1e400", None),
            ("1e99999999999999999999", None),
            ("1e9223372036854775807", None),
        ] {
            assert_eq!(decimal(text, 10, 3), expected, "{text}");
        }
        for text in [
            "", " ", ".", "-", "-.", "e1", "1e", "1e+", "1e1.5", "1.5 e2", "0x10", "1__0", "1_", "1._5",
            "--1", "inf", "1,0", "1.2.3", "٣",
        ] {
            assert_eq!(decimal(text, 10, 3), None, "{text}");
        }
        let nines = "9".repeat(38);
        assert_eq!(decimal(&nines, 38, 0), Some(10_i128.pow(38) - 1));
        assert_eq!(decimal(&format!("0.{nines}"), 38, 38), Some(10_i128.pow(38) - 1));
        assert_eq!(decimal(&format!("{nines}.4"), 38, 0), Some(10_i128.pow(38) - 1));
        assert_eq!(decimal(&format!("{nines}.5"), 38, 0), None);
        assert_eq!(decimal("1", 38, 38), None);
        assert_eq!(decimal("1e-38", 38, 38), Some(1));
    }

    #[test]
    fn no_unsigned_type_has_a_number_below_zero() {
        let unsigned = |text: &str| integer(text)?.unsigned::<u8>();
        assert_eq!(unsigned("-0"), Some(0));
        assert_eq!(unsigned("-0.4"), None);
        assert_eq!(unsigned("255.4"), Some(255));
        assert_eq!(unsigned("255.5"), None);
    }
}
