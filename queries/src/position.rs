//! Where in a text something stands, and the line of the text with a mark below it.
//!
//! The binder knows lines and columns from the syntax tree, and not the text. Who has the text has the line found
//! (`Error::in_text`).

use std::fmt;
use std::ops::Range;

use sqlparser::tokenizer::{Location, Span};
use unicode_width::UnicodeWidthChar;

use crate::tokens::{TokenKind, Tokens, byte};

/// The most columns of a terminal that a line of the text takes.
const WIDTH: usize = 76;

/// Where something stands in the text of a statement, or in that of a view.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatementPosition {
    /// The view in whose text it stands; `None` for the statement itself.
    view: Option<String>,
    /// Its begin and its end.
    span: Option<Span>,
    /// A word that stands at the place, from the begin of `span` on, where the syntax tree has no place for it.
    word: Option<String>,
    /// The line with the mark, once it was found.
    line: Option<String>,
}

impl StatementPosition {
    /// The place of a part of the syntax tree; `None` if the tree does not know it.
    pub(crate) fn of(span: Span) -> Option<StatementPosition> {
        (span != Span::empty())
            .then(|| StatementPosition { span: Some(span), ..StatementPosition::default() })
    }

    /// The place of a word, which is looked for in the text.
    pub(crate) fn of_word(word: &str) -> StatementPosition {
        StatementPosition { word: Some(word.to_string()), ..StatementPosition::default() }
    }

    /// Somewhere in the text of a view.
    pub(crate) fn in_view(view: &str) -> StatementPosition {
        StatementPosition { view: Some(view.to_string()), ..StatementPosition::default() }
    }

    /// The view in whose text it stands.
    pub fn view(&self) -> Option<&str> {
        self.view.as_deref()
    }

    /// The line and the column where it begins, counted from 1, if they are known.
    pub fn start(&self) -> Option<(u64, u64)> {
        self.span.map(|span| (span.start.line, span.start.column))
    }

    /// Whether nothing is known but a word.
    pub(crate) fn is_open(&self) -> bool {
        self.span.is_none() && self.view.is_none()
    }

    /// From where on the word is looked for.
    pub(crate) fn begin(&mut self, span: Span) {
        self.span = StatementPosition::of(span).and_then(|place| place.span);
    }

    /// Says that it stands in the text of a view, unless it is known to stand in that of another one.
    pub(crate) fn move_into(&mut self, view: &str) {
        self.view.get_or_insert_with(|| view.to_string());
    }

    /// Says that the text of this view is that of the statement.
    pub(crate) fn move_out_of(&mut self, view: &str) {
        self.view.take_if(|other| other.eq_ignore_ascii_case(view));
    }

    /// Finds the line of the text, if it is not known.
    pub(crate) fn find(&mut self, text: &str) {
        if self.line.is_some() {
            return;
        }
        let tokens = Tokens::of(text).tokens;
        let Some(range) = self.range(text, &tokens) else { return };
        let range = balanced(text, &tokens, range);
        let begin = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let line = text[..begin].matches('\n').count() as u64 + 1;
        let column = text[begin..range.start].chars().count() as u64 + 1;
        let start = Location::new(line, column);
        self.span = Some(Span::new(start, self.span.map_or(start, |span| span.end.max(start))));
        self.line = Some(shown(text, range));
    }

    /// The bytes of the text.
    fn range(&self, text: &str, tokens: &[(TokenKind, Range<usize>)]) -> Option<Range<usize>> {
        let Some(Span { start, end }) = self.span else { return named(text, tokens, self.word.as_deref()?) };
        let (start, end) = (byte(text, start.line, start.column), byte(text, end.line, end.column));
        let behind = |word: &String| {
            let mut behind = tokens.iter().filter(|(_, range)| range.start >= start);
            behind.find(|(_, range)| text[range.clone()].eq_ignore_ascii_case(word)).map(|(_, r)| r.clone())
        };
        if let Some(found) = self.word.as_ref().and_then(behind) {
            return Some(found);
        }
        if start < end {
            return Some(start..end);
        }
        // Of a point the token.
        let token = tokens.iter().find(|(_, range)| range.start == start);
        Some(token.map_or(start..start, |(_, range)| range.clone()))
    }
}

impl fmt::Display for StatementPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(view) = &self.view {
            write!(f, "\n  in the view '{view}'")?;
        }
        let Some(Span { start, .. }) = self.span else { return Ok(()) };
        f.write_str(if self.view.is_some() { ", " } else { "\n  " })?;
        write!(f, "line {}, column {}", start.line, start.column)?;
        self.line.as_ref().map_or(Ok(()), |line| write!(f, "\n{line}"))
    }
}

/// Where the name of a table or of a setting stands, quoted or not. Of several places the first one behind a word that
/// such a name follows, or else behind a comma.
fn named(text: &str, tokens: &[(TokenKind, Range<usize>)], name: &str) -> Option<Range<usize>> {
    const BEFORE: [&str; 11] =
        ["FROM", "JOIN", "TABLE", "VIEW", "DESCRIBE", "DESC", "SUMMARIZE", "COPY", "SET", "RESET", "EXISTS"];
    let is_there = |(i, (kind, range)): (usize, &(TokenKind, Range<usize>))| {
        let is_name = matches!(kind, TokenKind::Name | TokenKind::Keyword | TokenKind::Text);
        let quoted = text[range.clone()].trim_matches(['"', '\'']);
        if is_name && quoted.eq_ignore_ascii_case(name) {
            return Some((i, range.clone()));
        }
        // A name of several parts.
        let end = range.start + name.len();
        let is_long = text.get(range.start..end).is_some_and(|part| part.eq_ignore_ascii_case(name));
        let ends = || tokens[i..].iter().any(|(_, range)| range.end == end);
        (is_name && is_long && ends()).then_some((i, range.start..end))
    };
    let found: Vec<(usize, Range<usize>)> = tokens.iter().enumerate().filter_map(is_there).collect();
    if let [(_, only)] = found.as_slice() {
        return Some(only.clone());
    }
    let follows = |i: usize, words: &[&str]| {
        let before = i.checked_sub(1).map(|before| &text[tokens[before].1.clone()]);
        before.is_some_and(|before| words.iter().any(|word| before.eq_ignore_ascii_case(word)))
    };
    let behind = |words| found.iter().find(|(i, _)| follows(*i, words)).map(|(_, range)| range.clone());
    behind(&BEFORE).or_else(|| behind(&[","]))
}

/// A range of the text with the parentheses that belong to those within it: the syntax tree has no places for them.
fn balanced(text: &str, tokens: &[(TokenKind, Range<usize>)], range: Range<usize>) -> Range<usize> {
    let first = tokens.partition_point(|(_, token)| token.start < range.start);
    let behind = tokens.partition_point(|(_, token)| token.start < range.end);
    if behind <= first + 1 {
        // A parenthesis alone is what is wrong.
        return range;
    }
    let (mut open, mut missing) = (0_usize, 0_usize);
    for (_, token) in &tokens[first..behind] {
        match &text[token.clone()] {
            "(" => open += 1,
            ")" if open == 0 => missing += 1,
            ")" => open -= 1,
            _ => {}
        }
    }
    let (mut start, mut end) = (range.start, range.end);
    for (_, token) in &tokens[behind..] {
        match &text[token.clone()] {
            _ if open == 0 => break,
            "(" => open += 1,
            ")" => open -= 1,
            _ => continue,
        }
        end = token.end;
    }
    for (_, token) in tokens[..first].iter().rev() {
        match &text[token.clone()] {
            _ if missing == 0 => break,
            ")" => missing += 1,
            "(" => missing -= 1,
            _ => continue,
        }
        start = token.start;
    }
    // The word of a CAST, which has no place of its own either.
    let word = tokens[..first].iter().rfind(|(_, token)| token.end <= start);
    if let Some((TokenKind::Keyword | TokenKind::Name, word)) = word
        && start < range.start
        && word.end == start
    {
        start = word.start;
    }
    start..end
}

/// The line of the text in which a range begins, as far as a terminal has room for it, and below it a mark.
fn shown(text: &str, range: Range<usize>) -> String {
    let begin = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.start..].find('\n').map_or(text.len(), |at| range.start + at);
    let indent = text[begin..range.start].len() - text[begin..range.start].trim_start().len();
    let (begin, end) = (begin + indent, range.start.max(begin + text[begin..end].trim_end().len()));
    let width = |text: &str| text.chars().map(|c| seen(c).1).sum::<usize>();
    let (before, total) = (width(&text[begin..range.start]), width(&text[begin..end]));
    let marked = width(text[range.start..range.end.clamp(range.start, end)].trim_end()).max(1);
    // The columns that are shown. Where the line goes on, the last one on that side has dots.
    let (from, to) = match total <= WIDTH {
        true => (0, total),
        false => {
            let around = WIDTH.saturating_sub(marked).max(2) / 2;
            let from = before.saturating_sub(around).min(total.saturating_sub(WIDTH));
            (from, from + WIDTH)
        }
    };
    let (first, last) = (from + usize::from(from > 0), to - usize::from(to < total));
    let (mut line, mut column, mut drawn) = (String::from(if from > 0 { "…" } else { "" }), 0, first);
    for (c, width) in text[begin..end].chars().map(seen) {
        let next = column + width;
        if column >= first && next <= last {
            line.extend(std::iter::repeat_n(' ', column - drawn));
            line.push(c);
            drawn = next;
        }
        column = next;
    }
    if to < total {
        line.extend(std::iter::repeat_n(' ', last - drawn));
        line.push('…');
    }
    let marks = marked.min(last.saturating_sub(before).max(1));
    format!("    {line}\n    {}{}", " ".repeat(before - from), "^".repeat(marks))
}

/// A character as it is shown, and the columns that it takes: none that a terminal would obey.
fn seen(c: char) -> (char, usize) {
    match c.width() {
        _ if c == '\t' => (' ', 1),
        Some(width) if !is_unseen(c) => (c, width),
        _ => (char::REPLACEMENT_CHARACTER, 1),
    }
}

/// Whether a terminal would not show a character, or would obey it: control characters, marks of direction, and those
/// without width.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, place: Option<StatementPosition>) -> String {
        let mut place = place.unwrap();
        place.find(text);
        place.to_string()
    }

    /// The place of what stands between `[` and `]`, which are no part of the text.
    fn marked(text: &str) -> String {
        let (before, rest) = text.split_once('[').unwrap();
        let (wrong, behind) = rest.split_once(']').unwrap();
        let at = |text: &str| {
            let line = text.rsplit('\n').next().unwrap_or(text);
            Location::new(text.matches('\n').count() as u64 + 1, line.chars().count() as u64 + 1)
        };
        let span = Span::new(at(before), at(&format!("{before}{wrong}")));
        found(&format!("{before}{wrong}{behind}"), StatementPosition::of(span))
    }

    #[test]
    fn the_line_has_a_mark_below_the_place() {
        for (text, shown) in [
            ("SELECT [nme] FROM t", "line 1, column 8\n    SELECT nme FROM t\n           ^^^"),
            ("SELECT a\nFROM t\n\t WHERE [x] = 5  \n", "line 3, column 9\n    WHERE x = 5\n          ^"),
            ("\r\nSELECT\t[größe]\t+ 1\r\n", "line 2, column 8\n    SELECT größe + 1\n           ^^^^^"),
            (
                "SELECT '日本', [名前] FROM t",
                "line 1, column 14\n    SELECT '日本', 名前 FROM t\n                   ^^^^",
            ),
            ("SELECT [a +\n  b] FROM t", "line 1, column 8\n    SELECT a +\n           ^^^"),
            ("SELECT '\u{1b}[0m[x]'", "line 1, column 10\n"),
        ] {
            let text = text.replace("\u{1b}[0m", "\u{1b}");
            let said = marked(&text);
            assert!(said.starts_with(&format!("\n  {shown}")), "{said}");
            assert!(!said.contains(['\u{1b}', '\t', '\r']), "{said}");
        }
    }

    #[test]
    fn parentheses_belong_to_what_is_marked() {
        for (text, line) in [
            ("SELECT [sum(a, (b]) * 2) + 1", "           ^^^^^^^^^^^^^^^"),
            ("SELECT 1 - ([a) * (b] + 1)", "               ^^^^^^^^^^^^^"),
            ("SELECT 1 - CAST([a AS INT) * (b] + 1)", "               ^^^^^^^^^^^^^^^^^^^^^^^^"),
            ("SELECT ([a]) + ')'", "            ^"),
            ("SELECT [f(')'] , b)", "           ^^^^^^^^^^"),
            ("SELECT a [(] b, c)", "             ^"),
            ("SELECT (a, b[)] + 1", "                ^"),
        ] {
            assert_eq!(marked(text).lines().last(), Some(line), "{text}");
        }
        // Nothing belongs to a parenthesis that is never closed.
        assert_eq!(marked("SELECT [f(a] ").lines().last(), Some("           ^^^"));
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let many = "1 + ".repeat(60);
        for (text, begins, ends) in [
            (format!("SELECT [nme] + {many}"), false, true),
            (format!("SELECT {many}[nme] + {many} 1"), true, true),
            (format!("SELECT {many}[nme]"), true, false),
            (format!("SELECT {many}[nme] + 日本日本日本日本日本日本日本日本日本日本日本日本"), true, true),
            (format!("SELECT '日{many}' + [nme] + '日{many}'"), true, true),
        ] {
            let said = marked(&text);
            let lines: Vec<&str> = said.lines().collect();
            let [_, _, line, mark] = lines[..] else { panic!("{said}") };
            let width = |text: &str| text.chars().map(|c| seen(c).1).sum::<usize>();
            assert!(width(line) <= WIDTH + 4, "{said}");
            assert_eq!((line.starts_with("    …"), line.ends_with('…')), (begins, ends), "{said}");
            let before = line.split("nme").next().unwrap();
            assert_eq!(mark, format!("{}^^^", " ".repeat(width(before))), "{said}");
        }
        // What is wrong may be longer than the window itself.
        let said = marked(&format!("SELECT a, [{many}b] FROM t"));
        let lines: Vec<&str> = said.lines().skip(2).collect();
        assert!(lines[0].starts_with("    …") && lines[0].ends_with('…'), "{said}");
        assert_eq!(lines[1].trim().len(), WIDTH - 2, "{said}");
    }

    #[test]
    fn a_point_is_the_token_there_or_the_end() {
        let point = |line, column| {
            let point = Location::new(line, column);
            StatementPosition::of(Span::new(point, point))
        };
        let text = "SELECT 1\n  SELECT 2";
        assert!(found(text, point(2, 3)).ends_with("    SELECT 2\n    ^^^^^^"));
        assert!(found(text, point(2, 11)).ends_with("line 2, column 11\n    SELECT 2\n            ^"));
        assert!(found("", point(1, 1)).ends_with("line 1, column 1\n    \n    ^"));
        assert_eq!(StatementPosition::of(Span::empty()), None);
    }

    #[test]
    fn a_word_is_found_in_the_text() {
        let text = "SELECT a, t FROM \"T\" JOIN s.\"x.csv\" ON u.v = 1 -- t";
        for (name, mark) in [
            ("t", Some("                     ^^^")),
            ("x.csv", Some("                                ^^^^^^^")),
            ("u.v", Some("                                           ^^^")),
            ("nothing", None),
        ] {
            let said = found(text, Some(StatementPosition::of_word(name)));
            assert_eq!(said.lines().last(), mark, "{name}: {said}");
        }
        let mut behind = StatementPosition::of_word("huge");
        behind.begin(Span::new(Location::new(1, 13), Location::new(1, 14)));
        assert!(found("SELECT HUGE(a AS HUGE)", Some(behind)).ends_with("\n                     ^^^^"));
    }

    #[test]
    fn views_have_a_text_of_their_own() {
        let mut place = StatementPosition::of(Span::new(Location::new(1, 8), Location::new(1, 9))).unwrap();
        place.move_into("v");
        place.move_into("w");
        assert_eq!(place.to_string(), "\n  in the view 'v', line 1, column 8");
        place.find("SELECT x");
        assert!(place.to_string().ends_with("column 8\n    SELECT x\n           ^"));
        place.move_out_of("V");
        assert!(place.to_string().starts_with("\n  line 1"));
        assert_eq!(StatementPosition::in_view("v").to_string(), "\n  in the view 'v'");
        assert_eq!(StatementPosition::of_word("v").to_string(), "");
    }
}
