//! Cuts texts for people to a length that logs and lists can hold.

/// The longest text, in bytes.
const LONGEST: usize = 4 << 10;

/// The bytes that the end of a cut text takes.
const CUT: usize = 40;

/// The text, or its beginning and its length. The result is never longer than a text that stays as it is, so cutting a
/// text twice changes nothing.
pub fn brief(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_string();
    }
    let end = text.floor_char_boundary(LONGEST - CUT);
    format!("{}… ({} bytes)", &text[..end], text.len())
}

/// Puts lines together of text that comes piece by piece. A line that is too long for [`brief`] is cut.
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
    /// The bytes of the line that has begun, also those that were cut.
    length: usize,
}

impl Lines {
    /// Takes the next piece, and passes each line that ends in it to `line`.
    pub fn take(&mut self, bytes: &[u8], mut line: impl FnMut(&str)) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let kept = text.len().min(LONGEST.saturating_sub(self.begun.len()));
            self.begun.extend_from_slice(&text[..kept]);
            self.length += text.len();
            if text.len() < piece.len() {
                self.end(&mut line);
            }
        }
    }

    /// Passes the line that has begun to `line`, if there is one.
    pub fn finish(mut self, mut line: impl FnMut(&str)) {
        if self.length > 0 {
            self.end(&mut line);
        }
    }

    fn end(&mut self, line: &mut impl FnMut(&str)) {
        let mut text = String::from_utf8_lossy(&self.begun).into_owned();
        if self.length > self.begun.len() {
            text += &format!("… ({} bytes)", self.length);
        }
        line(&text);
        self.begun.clear();
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(brief("short"), "short");
        let long = "é".repeat(LONGEST);
        let cut = brief(&format!("x{long}"));
        assert!(cut.len() <= LONGEST && cut.ends_with("é… (8193 bytes)"), "{cut}");
        assert_eq!(brief(&cut), cut);
    }

    #[test]
    fn lines_are_whole_however_they_come() {
        let long = "y".repeat(3 * LONGEST);
        let text = format!("one\n\n{long}\nlast");
        let expected = [
            "one".to_string(),
            String::new(),
            format!("{}… ({} bytes)", &long[..LONGEST], long.len()),
            "last".into(),
        ];
        for step in [1, 7, 5000, text.len()] {
            let (mut lines, mut told) = (Lines::default(), Vec::new());
            text.as_bytes()
                .chunks(step)
                .for_each(|bytes| lines.take(bytes, |line| told.push(line.to_string())));
            lines.finish(|line| told.push(line.to_string()));
            assert_eq!(told, expected, "{step}");
        }
    }
}
