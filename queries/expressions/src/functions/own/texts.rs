//! Functions of text.

use arrow_array::ArrayRef;
use arrow_array::types::Float64Type;
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};

use super::arguments::{Call, known};
use super::{Own, ResultType, Takes};

const TEXT: &[&[Takes]] = &[&[Takes::Text]];

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "octet_length",
        takes: &[&[Takes::Bytes], &[Takes::Text]],
        more: None,
        gives: ResultType::Integer,
        total: true,
        compute: octet_length,
    },
    Own {
        name: "unicode",
        takes: TEXT,
        more: None,
        gives: ResultType::Integer,
        total: true,
        compute: unicode,
    },
    Own {
        name: "bar",
        takes: &[
            &[Takes::Double, Takes::Double, Takes::Double],
            &[Takes::Double, Takes::Double, Takes::Double, Takes::Double],
        ],
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: bar,
    },
    Own {
        name: "url_encode",
        takes: TEXT,
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: url_encode,
    },
    Own {
        name: "url_decode",
        takes: TEXT,
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: url_decode,
    },
    Own {
        name: "like_escape",
        takes: &[&[Takes::Text, Takes::Text, Takes::Text]],
        more: None,
        gives: ResultType::Boolean,
        total: false,
        compute: |call| like(call, false, false),
    },
    Own {
        name: "not_like_escape",
        takes: &[&[Takes::Text, Takes::Text, Takes::Text]],
        more: None,
        gives: ResultType::Boolean,
        total: false,
        compute: |call| like(call, false, true),
    },
    Own {
        name: "ilike_escape",
        takes: &[&[Takes::Text, Takes::Text, Takes::Text]],
        more: None,
        gives: ResultType::Boolean,
        total: false,
        compute: |call| like(call, true, false),
    },
    Own {
        name: "not_ilike_escape",
        takes: &[&[Takes::Text, Takes::Text, Takes::Text]],
        more: None,
        gives: ResultType::Boolean,
        total: false,
        compute: |call| like(call, true, true),
    },
];

fn octet_length(call: &Call) -> Result<ArrayRef> {
    if matches!(call.type_of(0), DataType::Binary) {
        let bytes = call.bytes(0)?;
        return call.give_integers(|row| Ok(Some(known!(bytes.get(row)).len() as i64)));
    }
    let texts = call.text(0)?;
    call.give_integers(|row| Ok(Some(known!(texts.get(row)).len() as i64)))
}

/// The code of the first character, -1 if there is none.
fn unicode(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_integers(|row| {
        let first = known!(texts.get(row)).chars().next();
        Ok(Some(first.map_or(-1, |c| i64::from(u32::from(c)))))
    })
}

/// A bar as long as a value is far between two others, in eighths of a character.
fn bar(call: &Call) -> Result<ArrayRef> {
    const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    const WIDTH: f64 = 80.0;
    let numbers = |at: usize| call.numbers::<Float64Type>(at);
    let (values, lows, highs) = (numbers(0)?, numbers(1)?, numbers(2)?);
    let widths = (call.given() > 3).then(|| numbers(3)).transpose()?;
    call.give_text(|row, out| {
        let width = match &widths {
            Some(widths) => widths.get(row),
            None => Some(WIDTH),
        };
        let (Some(value), Some(low), Some(high), Some(width)) =
            (values.get(row), lows.get(row), highs.get(row), width)
        else {
            return Ok(false);
        };
        if !(1.0..=1000.0).contains(&width) {
            return exec_err!("the width of bar() is between 1 and 1000");
        }
        let long = if value >= high && value > low {
            width
        } else if value > low {
            width * (value - low) / (high - low)
        } else {
            0.0
        };
        let eighths = (long * 8.0) as usize;
        let width = width as usize;
        let used = eighths / 8;
        (0..used).for_each(|_| out.push('█'));
        let rest = eighths % 8;
        out.extend((rest > 0).then_some(PARTS[rest]));
        (used + usize::from(rest > 0)..width).for_each(|_| out.push(' '));
        Ok(true)
    })
}

/// Text as a part of a URL: what is no letter, digit, `-`, `.`, `_` or `~` as `%` and two digits a byte.
fn url_encode(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_text(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        for byte in text.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    out.push(byte.into());
                }
                _ => out.push_str(&format!("%{byte:02X}")),
            }
        }
        Ok(true)
    })
}

/// What a part of a URL stands for. A `%` that no two digits follow is one.
fn url_decode(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_text(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((first, behind)) = rest.split_first() {
            let digit = |at: usize| behind.get(at).and_then(|b| char::from(*b).to_digit(16));
            match (first, digit(0), digit(1)) {
                (b'%', Some(high), Some(low)) => {
                    bytes.push((high * 16 + low) as u8);
                    rest = &behind[2..];
                }
                _ => {
                    bytes.push(*first);
                    rest = behind;
                }
            }
        }
        match std::str::from_utf8(&bytes) {
            Ok(decoded) => out.push_str(decoded),
            Err(_) => return exec_err!("what '{text}' stands for is no UTF-8"),
        }
        Ok(true)
    })
}

/// `LIKE` with an escape character, without regard to case if `folds`.
fn like(call: &Call, folds: bool, negated: bool) -> Result<ArrayRef> {
    let (texts, patterns, escapes) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let folded = |text: &str| -> Vec<char> {
        if folds { text.to_lowercase().chars().collect() } else { text.chars().collect() }
    };
    call.give_booleans(|row| {
        let escape = known!(escapes.get(row));
        let mut characters = escape.chars();
        let (escape, None) = (characters.next(), characters.next()) else {
            return exec_err!("the escape of {}() is one character or none", call.name);
        };
        let (text, pattern) = (known!(texts.get(row)), known!(patterns.get(row)));
        let pattern =
            pieces(&folded(pattern), escape.map(|c| if folds { c.to_ascii_lowercase() } else { c }));
        let Some(pattern) = pattern else {
            return exec_err!("behind the escape of a pattern stands a character");
        };
        Ok(Some(matches(&folded(text), &pattern) != negated))
    })
}

/// A part of a pattern of `LIKE`.
enum Piece {
    One(char),
    AnyOne,
    AnyMany,
}

/// The parts of a pattern, none if nothing follows its last escape.
fn pieces(pattern: &[char], escape: Option<char>) -> Option<Vec<Piece>> {
    let mut pieces = Vec::with_capacity(pattern.len());
    let mut characters = pattern.iter();
    while let Some(c) = characters.next() {
        pieces.push(match *c {
            c if Some(c) == escape => Piece::One(*characters.next()?),
            '%' => Piece::AnyMany,
            '_' => Piece::AnyOne,
            c => Piece::One(c),
        });
    }
    Some(pieces)
}

/// Whether a text is one of a pattern. Of several `%` only the last one is tried again.
fn matches(text: &[char], pattern: &[Piece]) -> bool {
    let (mut at, mut piece) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(piece) {
            Some(Piece::AnyMany) => {
                again = Some((at, piece));
                piece += 1;
                continue;
            }
            Some(Piece::AnyOne) => {}
            Some(Piece::One(c)) if *c == text[at] => {}
            _ => match &mut again {
                Some((from, many)) => {
                    *from += 1;
                    (at, piece) = (*from, *many + 1);
                    continue;
                }
                None => return false,
            },
        }
        (at, piece) = (at + 1, piece + 1);
    }
    pattern[piece..].iter().all(|piece| matches!(piece, Piece::AnyMany))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_match_any_text() {
        for (text, pattern, expected) in [
            ("abc", "a%", true),
            ("abc", "%b%c", true),
            ("abcbd", "%b_", true),
            ("a%c", "a$%c", true),
            ("abc", "a$%c", false),
            ("", "%", true),
            ("", "_", false),
            ("aaab", "%ab", true),
        ] {
            let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
            let pieces = pieces(&pattern, Some('$')).unwrap();
            assert_eq!(matches(&text, &pieces), expected);
        }
        assert!(pieces(&['a', '$'], Some('$')).is_none());
    }
}
