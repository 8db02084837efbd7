//! Reads and writes the escapes of JSON strings (RFC 8259, section 7).

/// Appends the text of the escaped string `raw` to `out`. Gives the number of halves of surrogate pairs that stood
/// alone and became U+FFFD. `None` if an escape does not exist.
pub fn unescape(raw: &[u8], out: &mut Vec<u8>) -> Option<u64> {
    let mut rest = raw;
    let mut replaced = 0;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let escape = *rest.get(at + 1)?;
        rest = &rest[at + 2..];
        let byte = match escape {
            b'"' | b'\\' | b'/' => escape,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let first = hex4(rest)?;
                rest = &rest[4..];
                let low =
                    rest.strip_prefix(b"\\u").and_then(hex4).filter(|low| (0xdc00..0xe000).contains(low));
                let code = match low {
                    Some(low) if (0xd800..0xdc00).contains(&first) => {
                        rest = &rest[6..];
                        0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00)
                    }
                    _ => first,
                };
                let c = char::from_u32(code).unwrap_or_else(|| {
                    replaced += 1;
                    char::REPLACEMENT_CHARACTER
                });
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            _ => return None,
        };
        out.push(byte);
    }
    out.extend_from_slice(rest);
    Some(replaced)
}

/// The number that four hexadecimal digits spell. `None` if they are no such digits.
pub fn hex4(text: &[u8]) -> Option<u32> {
    let digits = text.get(..4)?;
    digits.iter().try_fold(0, |value, &b| Some(value << 4 | char::from(b).to_digit(16)?))
}

/// Appends a string in quotes to `out`, with escapes.
pub fn string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut from = 0;
    for (at, &byte) in text.iter().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text[from..at]);
        from = at + 1;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(br"\n"),
            b'\r' => out.extend_from_slice(br"\r"),
            b'\t' => out.extend_from_slice(br"\t"),
            _ => {
                let digit = b"0123456789abcdef"[usize::from(byte & 15)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', b'0' + (byte >> 4), digit]);
            }
        }
    }
    out.extend_from_slice(&text[from..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        let text = |raw: &str| {
            let mut out = Vec::new();
            unescape(raw.as_bytes(), &mut out).map(|n| (String::from_utf8(out).unwrap(), n))
        };
        assert_eq!(text(r#"\"\\\/\b\f\n\r\t"#).unwrap(), ("\"\\/\u{8}\u{c}\n\r\t".into(), 0));
        assert_eq!(text(r"\u00e9\uD83E\uDD80x").unwrap(), ("é🦀x".into(), 0));
        assert_eq!(text(r"\ud83ex\udd80\ud83e\u0041").unwrap(), ("\u{fffd}x\u{fffd}\u{fffd}A".into(), 3));
        for bad in [r"\x", r"\u12", r"\u12g4", "\\"] {
            assert_eq!(text(bad), None, "{bad}");
        }
    }
}
