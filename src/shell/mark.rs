//! The place of an error in what was typed.

use std::ops::Range;

use queries::Error;
use queries::tokens::{self, TokenKind, Tokens};
use session::writers::escape::escaped;
use unicode_width::UnicodeWidthStr;

/// The most characters of a line that are shown before the place, and behind it.
const AROUND: usize = 30;

/// The line of the text in which the error lies, and below it a mark; nothing if it is not known where.
pub fn mark(error: &anyhow::Error, text: &str) -> Option<String> {
    let place = place(crate::cause(error)?, text)?;
    let begin = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[place.start..].find('\n').map_or(text.len(), |at| place.start + at);
    let place = place.start..place.end.min(end);
    let from = text[begin..place.start].char_indices().rev().nth(AROUND).map_or(begin, |(at, _)| begin + at);
    let to = text[place.end..end].char_indices().nth(AROUND).map_or(end, |(at, _)| place.end + at);
    let shown = |range: Range<usize>| escaped(&text[range].replace('\t', " "), |_| false).into_owned();
    let (before, wrong, behind) = (shown(from..place.start), shown(place.clone()), shown(place.end..to));
    let dots = |is_cut: bool| if is_cut { "…" } else { "" };
    let (left, right) = (dots(from > begin), dots(to < end));
    let (space, marks) = (left.width() + before.width(), wrong.width().max(1));
    Some(format!("  {left}{before}{wrong}{behind}{right}\n  {}{}", " ".repeat(space), "^".repeat(marks)))
}

/// The bytes that an error is about.
fn place(error: &Error, text: &str) -> Option<Range<usize>> {
    let tokens = Tokens::of(text).tokens;
    match error {
        Error::Syntax { line: 0, .. } => None,
        Error::Syntax { line, column, .. } => {
            let byte = tokens::byte(text, *line, *column);
            let token = tokens.into_iter().find(|(_, range)| range.start == byte);
            Some(token.map_or(byte..byte, |(_, range)| range))
        }
        Error::Name { message, .. } => {
            // The name stands in quotes, with that of its table before it.
            let name = message.split('\'').nth(1)?;
            let name = name.rsplit('.').next().unwrap_or(name).trim_matches('"');
            let is_it = |range: &Range<usize>| {
                text[range.clone()].trim_matches(['"', '\'']).eq_ignore_ascii_case(name)
            };
            let is_word =
                |kind: &TokenKind| matches!(kind, TokenKind::Name | TokenKind::Keyword | TokenKind::Text);
            let mut found = tokens.into_iter().filter(|(kind, range)| is_word(kind) && is_it(range));
            let (_, range) = found.next()?;
            // Of several nobody knows which one is meant.
            found.next().is_none().then_some(range)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> Option<String> {
        let session = session::Session::new(session::Settings::default());
        let rows = session.execute(text).and_then(|rows| rows.collect::<session::Result<Vec<_>>>());
        let error = rows.expect_err("it is wrong");
        mark(&error.into(), text)
    }

    #[test]
    fn the_place_has_a_mark() {
        let t = "FROM (VALUES (1)) t(größe)";
        let expected = format!("  SELECT größe + nme {t}\n                 ^^^");
        assert_eq!(marked(&format!("SELECT größe + nme {t}")), Some(expected));
        assert_eq!(marked("SELECT 1\n\tSELEC 2").unwrap(), "   SELEC 2\n         ^");
        assert_eq!(marked("SELECT t.nme FROM (VALUES (1)) t(a), range(nme)"), None);
        assert_eq!(marked("SELECT 1 / 0"), None);
        let long = format!("SELECT {} nme {t} WHERE größe > 1 AND größe > 2", "1 + ".repeat(40));
        let lines = marked(&long).unwrap();
        let (line, mark) = lines.split_once('\n').unwrap();
        assert!(line.starts_with("  …") && line.ends_with('…'), "{lines}");
        assert_eq!(mark.find('^').unwrap(), line.split("nme").next().unwrap().width());
    }
}
