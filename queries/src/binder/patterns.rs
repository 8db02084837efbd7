//! Patterns: LIKE with an escape character, GLOB and SIMILAR TO, as those that are compiled.

use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use sqlparser::ast::{Expr as Ast, Spanned, Value, ValueWithSpan};

use super::scope::Env;
use super::{Binder, literal};
use crate::algebra::Expr;
use crate::error::{Error, Result};

impl Binder<'_> {
    /// The pattern of LIKE, in which `\\` is the escape character.
    ///
    /// # Errors
    /// The escape character is several, or the pattern can't be rewritten.
    pub(super) fn like_pattern(
        &mut self,
        written: &Ast,
        escape: Option<&ValueWithSpan>,
        env: &Env<'_>,
    ) -> Result<Expr> {
        let pattern = self.expr(written, env)?;
        let Some(escape) = escape else { return Ok(pattern) };
        let several =
            || Error::Invalid("ESCAPE takes one character, or none: ESCAPE '!'".into()).at(escape.span());
        let Value::SingleQuotedString(text) = &escape.value else { return Err(several()) };
        let mut characters = text.chars();
        let (escape, rest) = (characters.next(), characters.next());
        if rest.is_some() {
            return Err(several());
        }
        if escape == Some('\\') {
            return Ok(pattern);
        }
        match text_of(&pattern) {
            Some(Some(text)) => match with_backslashes(text, escape) {
                Some(text) => Ok(literal::text(&text)),
                None => {
                    let message = "the pattern of LIKE ends with the escape character";
                    Err(Error::Invalid(message.into()).at(written.span()))
                }
            },
            Some(None) => Ok(pattern),
            None => Err(Error::Unsupported(
                "ESCAPE with another character than \\ beside a pattern that is computed".into(),
            )
            .at(written.span())),
        }
    }

    /// `text GLOB pattern`, as in a shell: `*`, `?` and characters in brackets.
    ///
    /// # Errors
    /// The pattern is computed.
    pub(super) fn glob(&mut self, text: Expr, pattern: Expr) -> Result<Expr> {
        let pattern = match text_of(&pattern) {
            Some(Some(glob)) => match regex_of_glob(glob) {
                Some(regex) => literal::text(&regex),
                // It can't be matched.
                None => literal::text("[^\\s\\S]"),
            },
            Some(None) => pattern,
            None => return Err(Error::Unsupported("GLOB with a pattern that is computed".into())),
        };
        self.types.binary(text, Operator::RegexMatch, pattern)
    }

    /// `text SIMILAR TO pattern`: a regular expression that all of the text matches, as in DuckDB.
    ///
    /// # Errors
    /// The operands are no texts.
    pub(super) fn similar(&mut self, text: Expr, pattern: Expr) -> Result<Expr> {
        self.call_named("regexp_full_match", vec![text, pattern])
    }
}

/// The text that a constant is; `Some(None)` for NULL, `None` for what is no constant text.
fn text_of(e: &Expr) -> Option<Option<&str>> {
    match e.as_literal()? {
        ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => {
            Some(text.as_deref())
        }
        ScalarValue::Null => Some(None),
        _ => None,
    }
}

/// A pattern of LIKE with `\\` in the place of another escape character; `None` if it ends with that.
fn with_backslashes(pattern: &str, escape: Option<char>) -> Option<String> {
    let mut out = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        if Some(c) == escape {
            out.push('\\');
            out.push(characters.next()?);
        } else {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
        }
    }
    Some(out)
}

/// The regular expression of a pattern of GLOB; `None` if nothing matches it, because brackets or a character behind `\\`
/// are missing.
fn regex_of_glob(glob: &str) -> Option<String> {
    let mut out = String::from("(?s)^");
    let mut characters = glob.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '[' => {
                out.push('[');
                if characters.next_if_eq(&'!').is_some() {
                    out.push('^');
                }
                // A bracket that stands first is a character.
                let mut c = characters.next()?;
                loop {
                    let to = match characters.peek() {
                        Some('-') => {
                            let mut ahead = characters.clone();
                            ahead.next();
                            ahead.next_if(|c| *c != ']')
                        }
                        _ => None,
                    };
                    push_escaped(&mut out, c);
                    if let Some(to) = to {
                        characters.nth(1);
                        out.push('-');
                        push_escaped(&mut out, to);
                    }
                    c = characters.next()?;
                    if c == ']' {
                        break;
                    }
                }
                out.push(']');
            }
            '\\' => push_escaped(&mut out, characters.next()?),
            c => push_escaped(&mut out, c),
        }
    }
    out.push('$');
    Some(out)
}

/// A character that stands for itself, within brackets too.
fn push_escaped(out: &mut String, c: char) {
    if c.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(c);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_regular_expressions() {
        for (glob, regex) in [
            ("a*?", "(?s)^a.*.$"),
            ("a.b", "(?s)^a\\.b$"),
            ("[a-c][!x]", "(?s)^[a-c][^x]$"),
            ("[]a]", "(?s)^[\\]a]$"),
            ("[a-]", "(?s)^[a\\-]$"),
            ("[^b]", "(?s)^[\\^b]$"),
            ("\\*", "(?s)^\\*$"),
        ] {
            assert_eq!(regex_of_glob(glob).as_deref(), Some(regex), "{glob}");
        }
        for glob in ["[a", "[", "[!", "a\\", "[]"] {
            assert_eq!(regex_of_glob(glob), None, "{glob}");
        }
    }

    #[test]
    fn another_escape_character_becomes_a_backslash() {
        assert_eq!(with_backslashes("a!%b_!!\\", Some('!')).as_deref(), Some("a\\%b_\\!\\\\"));
        assert_eq!(with_backslashes("a!", Some('!')), None);
        assert_eq!(with_backslashes("a\\%", None).as_deref(), Some("a\\\\%"));
    }
}
