//! Escapes text so that a terminal shows it and does not obey it.
//!
//! Names of columns and files, values and statements come from elsewhere. They may hold sequences that move the cursor,
//! recolour or rename the terminal, or hide text behind them.

use std::borrow::Cow;
use std::fmt::Write as _;

pub use queries::position::is_unseen;

/// Appends such a character as people read it: `\n`, `\r`, `\t`, or `\u001b` as in JSON.
pub fn push_escaped(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c => write!(out, "\\u{:04x}", u32::from(c)).expect("a string takes what is written"),
    }
}

/// The text with all invisible characters escaped, but for those that `kept` says.
pub fn escaped(text: &str, kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |c: char| is_unseen(c) && !kept(c);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_escaped(c) {
            true => push_escaped(c, &mut out),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        for (text, shown) in [
            ("größe 日本", "größe 日本"),
            ("a\nb", "a\nb"),
            ("\u{1b}]0;x\u{7}", "\\u001b]0;x\\u0007"),
            ("\r\t\u{7f}\u{9b}2J", "\\r\\t\\u007f\\u009b2J"),
            ("\u{202e}x\u{200b}", "\\u202ex\\u200b"),
        ] {
            assert_eq!(escaped(text, |c| c == '\n'), shown);
        }
        assert_eq!(escaped("a\nb", |_| false), "a\\nb");
    }
}
