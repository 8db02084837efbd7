//! Texts for people, of a length that logs and lists can hold.

/// The longest, in bytes.
const LONGEST: usize = 4 << 10;

/// What the end of a text takes that was cut, in bytes.
const CUT: usize = 40;

/// The text, or its beginning and how long it is: not longer than a text that is left as it is, so that who gets it
/// changes nothing.
pub fn brief(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_string();
    }
    let end = text.floor_char_boundary(LONGEST - CUT);
    format!("{}… ({} bytes)", &text[..end], text.len())
}

/// The lines of what comes piece by piece, each of them cut where it is too long for [`brief`].
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
    /// How long the line is that has begun.
    length: usize,
}

impl Lines {
    /// Takes the next piece, and gives each line that ends in it.
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

    /// Gives the line that has begun, if one has.
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
