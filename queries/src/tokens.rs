//! The tokens of a statement's text, for programs that show it while it is typed.

use std::ops::Range;

use sqlparser::tokenizer::{Location, Token, Tokenizer, TokenizerError, Whitespace, Word};

use crate::dialect::Palais;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A word of [`KEYWORDS`].
    Keyword,
    /// A name, in double quotes or without.
    Name,
    /// A text in quotes, of any kind.
    Text,
    /// A number.
    Number,
    /// A comment.
    Comment,
    /// A semicolon between statements.
    Semicolon,
    /// An operator, a comma or the like.
    Sign,
}

/// The tokens of a text in their order, white space left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Each with its bytes.
    pub tokens: Vec<(TokenKind, Range<usize>)>,
    /// Where something begins that has no end: a quote that is not closed, or a comment.
    pub open: Option<usize>,
    /// Whether there is no token where they end, whatever follows.
    pub is_wrong: bool,
}

impl Tokens {
    /// Takes a text apart.
    pub fn of(text: &str) -> Tokens {
        let mut found = Vec::new();
        let ended = Tokenizer::new(&Palais, text).tokenize_with_location_into_buf(&mut found);
        let (mut places, mut kinds, mut end) = (Places::new(text), Vec::new(), 0);
        for token in found {
            let range = places.byte(token.span.start)..places.byte(token.span.end);
            end = range.end;
            if let Some(kind) = kind(&token.token) {
                kinds.push((kind, range));
            }
        }
        let Err(error) = ended else { return Tokens { tokens: kinds, open: None, is_wrong: false } };
        let is_open = can_go_on(text, &error);
        let open = is_open.then(|| text.len() - text[end..].trim_start().len());
        Tokens { tokens: kinds, open, is_wrong: !is_open }
    }

    /// Whether there are no statements: nothing but comments and semicolons.
    pub fn is_empty(&self) -> bool {
        let is_aside = |kind| matches!(kind, TokenKind::Comment | TokenKind::Semicolon);
        self.open.is_none() && !self.is_wrong && self.tokens.iter().all(|(kind, _)| is_aside(*kind))
    }
}

/// Whether a text ends with a semicolon behind the last statement, comments aside, or has nothing. One that is wrong is
/// whole with a semicolon at its end: the parser tells what is wrong with it.
pub fn is_whole(text: &str) -> bool {
    let tokens = Tokens::of(text);
    let last = tokens.tokens.iter().rev().find(|(kind, _)| *kind != TokenKind::Comment);
    match tokens.is_wrong {
        true => text.trim_end().ends_with(';'),
        false => tokens.open.is_none() && last.is_none_or(|(kind, _)| *kind == TokenKind::Semicolon),
    }
}

/// Whether more text can end what is wrong with this one: a quote or a comment is to be closed.
fn can_go_on(text: &str, error: &TokenizerError) -> bool {
    let ends = |end: &str| {
        let longer = format!("{text}{end}");
        Tokenizer::new(&Palais, &longer).tokenize().is_ok()
    };
    error.message.contains("dollar-quoted") || ["'", "\"", "*/", "*/*/"].iter().any(|end| ends(end))
}

/// What a token is; nothing if it is white space.
fn kind(token: &Token) -> Option<TokenKind> {
    Some(match token {
        Token::Whitespace(Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_)) => {
            TokenKind::Comment
        }
        Token::Whitespace(_) | Token::EOF => return None,
        Token::Word(Word { value, quote_style: None, .. }) if is_keyword(value) => TokenKind::Keyword,
        Token::Word(_) => TokenKind::Name,
        Token::Number(..) => TokenKind::Number,
        Token::SemiColon => TokenKind::Semicolon,
        Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::EscapedStringLiteral(_)
        | Token::UnicodeStringLiteral(_)
        | Token::NationalStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::DollarQuotedString(_) => TokenKind::Text,
        _ => TokenKind::Sign,
    })
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS.binary_search(&word.to_ascii_uppercase().as_str()).is_ok()
}

/// Bytes of places that lie one behind another.
struct Places<'a> {
    rest: std::str::CharIndices<'a>,
    line: u64,
    column: u64,
}

impl<'a> Places<'a> {
    fn new(text: &'a str) -> Places<'a> {
        Places { rest: text.char_indices(), line: 1, column: 1 }
    }

    /// The byte at which this place begins, which lies behind that of the call before.
    fn byte(&mut self, place: Location) -> usize {
        while (self.line, self.column) < (place.line, place.column) {
            match self.rest.next() {
                Some((_, '\n')) => (self.line, self.column) = (self.line + 1, 1),
                Some(_) => self.column += 1,
                None => break,
            }
        }
        self.rest.offset()
    }
}

/// The byte of a text at which a line and a column lie, as errors of syntax tell them, both counted from 1.
pub fn byte(text: &str, line: u64, column: u64) -> usize {
    Places::new(text).byte(Location { line, column })
}

/// The words that a statement is made of, in their order, for those who type one.
pub const KEYWORDS: &[&str] = &[
    "ALL",
    "ANALYZE",
    "AND",
    "ANTI",
    "ANY",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COPY",
    "CREATE",
    "CROSS",
    "CUBE",
    "DATE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "ESCAPE",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "FALSE",
    "FILTER",
    "FIRST",
    "FROM",
    "FULL",
    "GROUP",
    "GROUPING",
    "HAVING",
    "IF",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "INTERVAL",
    "IS",
    "JOIN",
    "LAST",
    "LATERAL",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NATURAL",
    "NOT",
    "NULL",
    "NULLS",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "REPLACE",
    "RESET",
    "RIGHT",
    "ROLLUP",
    "SELECT",
    "SEMI",
    "SET",
    "SETS",
    "SHOW",
    "SUMMARIZE",
    "TABLE",
    "TABLES",
    "TEMP",
    "THEN",
    "TIMESTAMP",
    "TO",
    "TRUE",
    "TRY_CAST",
    "UNION",
    "USING",
    "VALUES",
    "VIEW",
    "WHEN",
    "WHERE",
    "WITH",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<(TokenKind, &str)> {
        Tokens::of(text).tokens.into_iter().map(|(kind, range)| (kind, &text[range])).collect()
    }

    #[test]
    fn each_token_has_its_bytes() {
        let text = "-- größe\nselect \"größe\" + 1.5e3, E'a\\'b' /* ; */ FROM '日本.csv';";
        let expected = [
            (TokenKind::Comment, "-- größe\n"),
            (TokenKind::Keyword, "select"),
            (TokenKind::Name, "\"größe\""),
            (TokenKind::Sign, "+"),
            (TokenKind::Number, "1.5e3"),
            (TokenKind::Sign, ","),
            (TokenKind::Text, "E'a\\'b'"),
            (TokenKind::Comment, "/* ; */"),
            (TokenKind::Keyword, "FROM"),
            (TokenKind::Text, "'日本.csv'"),
            (TokenKind::Semicolon, ";"),
        ];
        assert_eq!(tokens(text), expected);
        assert_eq!(byte(text, 2, 8), text.find('"').unwrap());
        assert_eq!(byte(text, 9, 9), text.len());
    }

    #[test]
    fn a_text_is_whole_behind_a_semicolon() {
        for (text, is_whole) in [
            ("", true),
            ("  -- nothing\n", true),
            ("SELECT 1;", true),
            ("SELECT 1; -- one\n ", true),
            ("SELECT 1; SELECT", false),
            ("SELECT 1", false),
            ("SELECT ';", false),
            ("SELECT ';'", false),
            ("SELECT \"a;", false),
            ("SELECT 1 /* ;", false),
            ("SELECT $$ ; $$;", true),
            ("SELECT $$ ;", false),
            ("SELECT E'a;", false),
            ("SELECT E'C:\\Users\\x';", true),
            ("SELECT E'C:\\Users\\x'", false),
            ("/* /* ;", false),
            ("SELECT t ._x FROM t;", true),
        ] {
            assert_eq!(super::is_whole(text), is_whole, "{text}");
        }
        for (text, is_empty) in [("", true), (" ; -- x", true), ("/* x", false), ("\"x", false), ("1", false)]
        {
            assert_eq!(Tokens::of(text).is_empty(), is_empty, "{text}");
        }
        let open = "SELECT 'a', \"b;";
        assert_eq!(Tokens::of(open).open, open.find('"'));
        assert_eq!(tokens(open).len(), 3);
    }

    #[test]
    fn keywords_have_an_order() {
        assert!(KEYWORDS.is_sorted());
    }
}
