//! How deep the tokens of a statement can nest a tree: found before the parser nests calls for it.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{DEEPEST, MOST_NESTED};
use crate::error::{Error, Result};

/// Checks the tokens of a statement.
///
/// # Errors
/// They chain more than [`DEEPEST`] operators, or nest more than [`MOST_NESTED`] parentheses.
pub fn check(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut found = Found { open: vec![Level::default()], operators: 0, nested: 0 };
    let mut tokens = tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).peekable();
    while let Some(token) = tokens.next() {
        let is_call = tokens.peek().is_some_and(|next| next.token == Token::LParen);
        found.take(&token.token, is_call);
        let Level { within, signs, .. } = *found.level();
        let message = if found.operators + within > DEEPEST {
            format!("it chains or nests more than {DEEPEST} operators")
        } else if found.nested + signs > MOST_NESTED {
            format!("it nests more than {MOST_NESTED} parentheses, brackets, CASEs, signs or NOTs")
        } else {
            continue;
        };
        return Err(Error::TooLarge { message }.at(token.span));
    }
    Ok(())
}

struct Found {
    /// The level of the whole statement, and one for each parenthesis, bracket and CASE that is open.
    open: Vec<Level>,
    /// The operators of what is at hand in all levels.
    operators: usize,
    /// What is nested around what is at hand.
    nested: usize,
}

/// What is at hand between two commas of a level.
#[derive(Default)]
struct Level {
    /// What joins parts of it that have all other operators in them: AND, OR and sets.
    joins: usize,
    /// The operators of the part at hand.
    operators: usize,
    /// The most operators of a part, or of a level in one, that is closed.
    within: usize,
    /// Signs and NOTs right before what comes now: the parser nests a call for each.
    signs: usize,
    /// Whether what came last is a value, so that an operator stands between two.
    is_behind_value: bool,
    /// How much it nests.
    nests: usize,
}

impl Found {
    fn level(&mut self) -> &mut Level {
        if self.open.is_empty() {
            self.open.push(Level::default());
        }
        let last = self.open.len() - 1;
        &mut self.open[last]
    }

    fn take(&mut self, token: &Token, is_call: bool) {
        match token {
            // `a[1][2]` and `BIGINT[][]` are chains.
            Token::LBracket if self.level().is_behind_value => {
                self.operator();
                self.open();
            }
            Token::LParen | Token::LBracket | Token::LBrace => self.open(),
            Token::RParen | Token::RBracket | Token::RBrace => self.close(),
            Token::Comma => {
                // The next item of a list begins.
                let level = self.level();
                let ended = std::mem::take(level);
                level.nests = ended.nests;
                self.operators -= ended.operators + ended.joins;
            }
            Token::Word(word) if word.quote_style.is_none() => match word.keyword {
                Keyword::CASE => self.open(),
                Keyword::END => self.close(),
                keyword if is_join(keyword) => self.join(),
                keyword if is_operator(keyword) => self.operator(),
                Keyword::NoKeyword => self.level().is_behind_value = true,
                // A function.
                _ if is_call => {}
                _ => {
                    let level = self.level();
                    (level.signs, level.is_behind_value) = (0, false);
                }
            },
            token if is_value(token) => self.level().is_behind_value = true,
            Token::Period | Token::SemiColon | Token::EOF => {}
            _ => self.operator(),
        }
    }

    fn open(&mut self) {
        let nests = 1 + self.level().signs;
        self.nested += nests;
        self.operators += 1;
        self.open.push(Level { operators: 1, nests, ..Level::default() });
    }

    /// Closes a level. One too many the parser tells.
    fn close(&mut self) {
        if self.open.len() < 2 {
            return;
        }
        let closed = self.open.pop().unwrap_or_default();
        self.operators -= closed.operators + closed.joins;
        self.nested -= closed.nests;
        let around = self.level();
        // A call of many arguments has levels beside each other.
        around.within = around.within.max(closed.operators + closed.joins + closed.within);
        (around.signs, around.is_behind_value) = (0, true);
    }

    /// An operator that binds less than those beside it: its parts are as deep as the deepest.
    fn join(&mut self) {
        let level = self.level();
        let part = std::mem::take(&mut level.operators);
        level.within = level.within.max(part);
        level.joins += 1;
        (level.signs, level.is_behind_value) = (0, false);
        self.operators += 1;
        self.operators -= part;
    }

    fn operator(&mut self) {
        self.operators += 1;
        let level = self.level();
        level.operators += 1;
        level.signs = if level.is_behind_value { 0 } else { level.signs + 1 };
        level.is_behind_value = false;
    }
}

/// Whether a word joins parts that hold all operators beside it.
fn is_join(word: Keyword) -> bool {
    matches!(
        word,
        Keyword::AND | Keyword::OR | Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::MINUS
    )
}

/// Whether another word can make a tree deeper.
fn is_operator(word: Keyword) -> bool {
    matches!(
        word,
        Keyword::XOR
            | Keyword::NOT
            | Keyword::IS
            | Keyword::NOTNULL
            | Keyword::IN
            | Keyword::LIKE
            | Keyword::ILIKE
            | Keyword::RLIKE
            | Keyword::REGEXP
            | Keyword::SIMILAR
            | Keyword::BETWEEN
            | Keyword::OVERLAPS
            | Keyword::COLLATE
            | Keyword::AT
            | Keyword::DIV
            | Keyword::OPERATOR
            | Keyword::INTERVAL
            | Keyword::EXISTS
            | Keyword::PRIOR
    )
}

fn is_value(token: &Token) -> bool {
    matches!(
        token,
        Token::Word(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::TripleSingleQuotedString(_)
            | Token::TripleDoubleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::NationalStringLiteral(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::Placeholder(_)
    )
}

#[cfg(test)]
mod tests {
    use sqlparser::tokenizer::Tokenizer;

    use super::*;
    use crate::dialect::Palais;

    fn check_text(sql: &str) -> Result<()> {
        check(&Tokenizer::new(&Palais, sql).tokenize_with_location().unwrap())
    }

    #[test]
    fn chains_count_and_lists_do_not() {
        let of = |sep: &str, item: &str, n: usize| format!("SELECT {}", vec![item; n].join(sep));
        let chains = [
            ("+", "1"),
            (" OR ", "a"),
            (" OR NOT ", "a"),
            ("::", "BIGINT"),
            (" UNION ALL SELECT ", "1"),
            ("", "[]"),
        ];
        for (sep, item) in chains {
            assert!(check_text(&of(sep, item, DEEPEST / 3)).is_ok(), "{sep}");
            assert!(check_text(&of(sep, item, DEEPEST + 2)).is_err(), "{sep}");
        }
        assert!(check_text(&of(", ", "1", 10 * DEEPEST)).is_ok());
        assert!(check_text(&of(", ", "(1 + -1)", 10 * DEEPEST)).is_ok());
        let error = check_text(&of("+", "1", DEEPEST + 2)).unwrap_err().to_string();
        let place = "operators\n  line 1, column 20009";
        assert_eq!(
            error,
            format!("the statement is too large: it chains or nests more than {DEEPEST} {place}")
        );
    }

    #[test]
    fn chains_in_parentheses_add_to_those_around() {
        let half = vec!["1"; DEEPEST / 2 + 1].join("+");
        assert!(check_text(&format!("SELECT {half}, {half}")).is_ok());
        assert!(check_text(&format!("SELECT f({half}) , {half}")).is_ok());
        assert!(check_text(&format!("SELECT ({half})+{half}")).is_err());
        assert!(check_text(&format!("SELECT {half}+f(2, {half})")).is_err());
        let ors = vec!["a = 1 + 2"; DEEPEST - 5].join(" OR ");
        assert!(check_text(&format!("SELECT {ors}")).is_ok());
        assert!(check_text(&format!("SELECT {ors} OR {half}")).is_err());
        assert!(check_text(")))) END ] 1 + 1").is_ok(), "the parser tells");
    }

    #[test]
    fn what_is_nested_is_counted() {
        let nested = |open: &str, close: &str, n: usize| {
            check_text(&format!("SELECT {}1{}", open.repeat(n), close.repeat(n))).is_ok()
        };
        let all = [
            ("(", ")"),
            ("abs(", ")"),
            ("CASE WHEN 1 = 1 THEN 2 ELSE ", " END"),
            ("NOT ", ""),
            ("- ", ""),
            ("[", "]"),
        ];
        for (open, close) in all {
            assert!(nested(open, close, MOST_NESTED), "{open}");
            assert!(!nested(open, close, MOST_NESTED + 1), "{open}");
        }
        for (open, close) in [("(NOT ", ")"), ("-abs(", ")"), ("- CAST(", " AS INT)")] {
            assert!(nested(open, close, MOST_NESTED / 2), "{open}");
            assert!(!nested(open, close, MOST_NESTED / 2 + 1), "{open}");
        }
        for chain in [" AND NOT a", " + -a", " OR -abs(a) < 1", " WHEN -a THEN -a", ", NOT (NOT (a))"] {
            assert!(check_text(&format!("SELECT a{}", chain.repeat(300))).is_ok(), "{chain}");
        }
    }
}
