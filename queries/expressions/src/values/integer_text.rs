//! Text to integers.
//!
//! ```text
//! integer  = number, with spaces around it, or "0x" hex digits, or "0b" binary digits
//! number   = ("+" | "-")? (digits ("." digits?)? | "." digits) (("e" | "E") ("+" | "-")? digits)?
//! digits   = digit ("_"? digit)*
//! ```
//!
//! What is behind the point is rounded, halves away from zero.

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
    number(text.trim_matches(is_space).as_bytes())
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

fn number(text: &[u8]) -> Option<Integer> {
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
    let point = i64::try_from(places).ok()?.checked_add(exponent)?;
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
    fn no_unsigned_type_has_a_number_below_zero() {
        let unsigned = |text: &str| integer(text)?.unsigned::<u8>();
        assert_eq!(unsigned("-0"), Some(0));
        assert_eq!(unsigned("-0.4"), None);
        assert_eq!(unsigned("255.4"), Some(255));
        assert_eq!(unsigned("255.5"), None);
    }
}
