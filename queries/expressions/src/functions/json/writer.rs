//! JSON text in its normal form, as DuckDB writes it. It has no white space, strings with the escapes that they need,
//! floats with the fewest digits that give them. Integers, and numbers that no `DOUBLE` holds, keep their digits.

use std::fmt::Write;

use super::reader::Kind;
use super::scalars::{special, unit};

/// Adds a value of a text that is no malformed one.
pub fn normal(value: &str, out: &mut String) {
    let bytes = value.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at + 1);
                string(&value[at + 1..end], out);
                at = end + 1;
            }
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            // A comma behind the last member goes.
            b',' => {
                at += 1;
                let next = bytes[at..].iter().find(|byte| !byte.is_ascii_whitespace());
                if !matches!(next, Some(b']' | b'}')) {
                    out.push(',');
                }
            }
            b'{' | b'}' | b'[' | b']' | b':' => {
                out.push(char::from(*byte));
                at += 1;
            }
            _ => {
                let end = scalar_end(bytes, at);
                match Kind::of(&bytes[at..end]) {
                    Kind::Number => number(&value[at..end], out),
                    _ => out.push_str(&value[at..end]),
                }
                at = end;
            }
        }
    }
}

/// Whether a value of a text that is no malformed one is in its normal form. It may be, and `false` be said.
pub fn is_normal(value: &str) -> bool {
    let bytes = value.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => match special(bytes, at + 1) {
                end if bytes.get(end) == Some(&b'"') => at = end + 1,
                _ => return false,
            },
            b',' if matches!(bytes.get(at + 1), Some(b']' | b'}')) => return false,
            b',' | b':' | b'{' | b'}' | b'[' | b']' => at += 1,
            b'-' | b'0'..=b'9' => {
                let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                let end = at + 1 + digits;
                let is_other = matches!(bytes.get(end), Some(b'.' | b'e' | b'E' | b'n' | b'N' | b'i' | b'I'));
                if is_other || bytes[at..end] == *b"-0" {
                    return false;
                }
                at = end;
            }
            b't' | b'f' | b'n' => at = scalar_end(bytes, at),
            _ => return false,
        }
    }
    true
}

/// The quote that ends a string, of which a byte behind the first one is given.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match bytes.get(at) {
            Some(b'"') | None => return at.min(bytes.len()),
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

/// Where a number or a word ends.
fn scalar_end(bytes: &[u8], at: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' | b']' | b'}');
    bytes[at..].iter().position(ends).map_or(bytes.len(), |length| at + length)
}

/// Whether a number has neither a point nor an exponent, and is no infinity and not NaN.
pub fn is_integer(number: &str) -> bool {
    number.bytes().all(|byte| matches!(byte, b'-' | b'0'..=b'9'))
}

/// The float that a number with a point or an exponent is, unless it is too large.
pub fn finite(number: &str) -> Option<f64> {
    number.parse().ok().filter(|float: &f64| float.is_finite())
}

/// Adds a number.
fn number(number: &str, out: &mut String) {
    match is_integer(number) {
        true if number == "-0" => out.push('0'),
        true => out.push_str(number),
        false => match finite(number) {
            Some(value) => float(value, out),
            None => out.push_str(number),
        },
    }
}

/// Adds a float with the fewest digits that give it: as JavaScript does, but with `.0` behind whole numbers.
pub fn float(value: f64, out: &mut String) {
    if value.is_nan() {
        return out.push_str("NaN");
    }
    if value.is_infinite() {
        return out.push_str(if value < 0.0 { "-Infinity" } else { "Infinity" });
    }
    // Writing to a text does not fail.
    let begin = out.len();
    let _ = write!(out, "{value:e}");
    let exponent = out[begin..].rsplit_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    if exponent.is_some_and(|exponent| (-6..=20).contains(&exponent)) {
        out.truncate(begin);
        let _ = write!(out, "{value}");
        if value.fract() == 0.0 {
            out.push_str(".0");
        }
    }
}

/// Adds a string that is written with escapes, in quotes.
fn string(written: &str, out: &mut String) {
    if !written.contains('\\') {
        out.push('"');
        out.push_str(written);
        out.push('"');
        return;
    }
    let mut text = String::with_capacity(written.len());
    unescaped(written, &mut text);
    quoted(&text, out);
}

/// Adds the text that a string stands for.
pub fn unescaped(written: &str, out: &mut String) {
    let mut rest = written;
    while let Some(place) = rest.find('\\') {
        out.push_str(&rest[..place]);
        let bytes = rest.as_bytes();
        let (c, length) = match bytes.get(place + 1) {
            Some(b'b') => ('\u{8}', 2),
            Some(b'f') => ('\u{c}', 2),
            Some(b'n') => ('\n', 2),
            Some(b'r') => ('\r', 2),
            Some(b't') => ('\t', 2),
            Some(b'u') => {
                let first = unit(bytes, place).unwrap_or(0xfffd);
                match unit(bytes, place + 6) {
                    Some(second) if (0xd800..0xdc00).contains(&first) => {
                        let code = 0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff);
                        (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
                    }
                    _ => (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6),
                }
            }
            Some(byte) => (char::from(*byte), 2),
            None => return,
        };
        out.push(c);
        rest = rest.get(place + length..).unwrap_or_default();
    }
    out.push_str(rest);
}

/// Adds the key of a field of the object whose fields begin at `begin`, with the comma before it and the colon behind.
pub fn field(key: &str, begin: usize, out: &mut String) {
    out.push_str(if out.len() == begin { "" } else { "," });
    quoted(key, out);
    out.push(':');
}

/// Adds a text as a string.
pub fn quoted(text: &str, out: &mut String) {
    out.push('"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !matches!(byte, b'"' | b'\\' | 0..0x20) {
            continue;
        }
        out.push_str(&text[from..at]);
        from = at + 1;
        match byte {
            b'\x08' => out.push_str("\\b"),
            b'\x0c' => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0..0x20 => {
                let _ = write!(out, "\\u{byte:04X}");
            }
            _ => out.extend(['\\', char::from(byte)]),
        }
    }
    out.push_str(&text[from..]);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &str) -> String {
        let mut out = String::new();
        normal(value, &mut out);
        out
    }

    #[test]
    fn floats_have_the_fewest_digits() {
        for (value, expected) in [
            ("1.50", "1.5"),
            ("1e2", "100.0"),
            ("1.0", "1.0"),
            ("-0", "0"),
            ("-0.0", "-0.0"),
            ("1E+05", "100000.0"),
            ("0.1", "0.1"),
            ("1e-7", "1e-7"),
            ("0.000001", "0.000001"),
            ("-1E-5", "-0.00001"),
            ("123456789.123", "123456789.123"),
            ("1e22", "1e22"),
            ("1e21", "1e21"),
            ("1e20", "100000000000000000000.0"),
            ("1234567.0e15", "1.234567e21"),
            ("-1.5e300", "-1.5e300"),
            ("0e0", "0.0"),
            ("-0e0", "-0.0"),
            ("1e-400", "0.0"),
            ("9007199254740993.0", "9007199254740992.0"),
            ("5e-324", "5e-324"),
            ("1e400", "1e400"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("0.1234567890123456789012345", "0.12345678901234568"),
            ("NaN", "NaN"),
            ("-inf", "-inf"),
            ("infinity", "infinity"),
        ] {
            assert_eq!(written(value), expected, "{value}");
        }
    }

    #[test]
    fn what_is_normal_is_seen() {
        for (value, is) in [
            ("[1,-2,{\"b\":[],\"c\":{}},\"\",true,null]", true),
            ("0", true),
            ("\"é\"", true),
            ("-0", false),
            ("[-0]", false),
            ("-05", true),
            ("1.0", false),
            ("[1,]", false),
            ("\"\\n\"", false),
            ("[1, 2]", false),
            ("-inf", false),
        ] {
            assert_eq!(is_normal(value), is, "{value}");
        }
    }

    #[test]
    fn white_space_and_escapes_go() {
        for (value, expected) in [
            ("[1, 2 , {\"b\" : [ ] , \"c\":{ }, }, ]", "[1,2,{\"b\":[],\"c\":{}}]"),
            ("\"x\\u00e9\\/\\n\\t\\u0001\\\"\\\\ \\u007f\"", "\"xé/\\n\\t\\u0001\\\"\\\\ \u{7f}\""),
            ("\"\\ud83d\\ude00\"", "\"😀\""),
            ("\"a\\u0000b\\u001f\"", "\"a\\u0000b\\u001F\""),
            ("{\"a , b\" : \"c : d\"}", "{\"a , b\":\"c : d\"}"),
            ("{\"a\\\"\":true , \"b\":null}", "{\"a\\\"\":true,\"b\":null}"),
        ] {
            assert_eq!(written(value), expected, "{value}");
            assert_eq!(written(expected), expected);
            assert!(!is_normal(value));
        }
    }
}
