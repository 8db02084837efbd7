//! Hexadecimal bytes.

/// Bytes from `\x` and pairs of hexadecimal digits; `None` if the text is anything else.
pub fn hex(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let digits = text.strip_prefix(br"\x")?;
    if digits.len() % 2 != 0 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let nibble = |b: u8| if b.is_ascii_digit() { b - b'0' } else { (b | 0x20) - b'a' + 10 };
    out.extend(digits.chunks_exact(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_whole_pairs() {
        let mut out = Vec::new();
        assert!(hex(br"\x00fFA0", &mut out).is_some());
        assert_eq!(out, [0, 255, 160]);
        assert!(hex(br"\x0", &mut out).is_none());
        assert!(hex(b"00", &mut out).is_none());
    }
}
