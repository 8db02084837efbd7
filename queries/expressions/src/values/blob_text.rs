//! Bytes as text and back, as DuckDB has them: printable ASCII as it is, but for quotes and the backslash, and `\x` with
//! two hexadecimal digits for every other byte.

/// Appends the bytes that a text stands for, and gives whether it stands for any.
pub fn blob(text: &str, out: &mut Vec<u8>) -> bool {
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
        rest = match (first, behind) {
            (b'\\', [b'x', high, low, behind @ ..]) => {
                let (Some(high), Some(low)) = (digit(high), digit(low)) else { return false };
                out.push(high << 4 | low);
                behind
            }
            (b'\\', _) | (128.., _) => return false,
            _ => {
                out.push(first);
                behind
            }
        };
    }
    true
}

/// Appends the text of bytes.
pub fn push_blob(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        match byte {
            b'\\' | b'\'' | b'"' => push_digits(*byte, out),
            b' '..=b'~' => out.push(char::from(*byte)),
            _ => push_digits(*byte, out),
        }
    }
}

fn push_digits(byte: u8, out: &mut String) {
    out.push_str("\\x");
    for digit in [byte >> 4, byte & 15] {
        out.extend(char::from_digit(digit.into(), 16).map(|digit| digit.to_ascii_uppercase()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_come_back() {
        let all: Vec<u8> = (0..=255).collect();
        let (mut text, mut back) = (String::new(), Vec::new());
        push_blob(&all, &mut text);
        assert!(blob(&text, &mut back));
        assert_eq!(back, all);
        assert!(text.contains("\\x1F !\\x22#$") && text.contains("~\\x7F\\x80"));
    }

    #[test]
    fn what_stands_for_no_bytes_is_none() {
        for text in ["\\", "\\x", "\\xf", "\\xfg", "a\\n", "é"] {
            assert!(!blob(text, &mut Vec::new()), "{text}");
        }
    }
}
