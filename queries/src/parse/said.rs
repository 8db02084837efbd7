//! The tokens of a text without spaces and comments, for what looks at clauses before the parser reads them.

use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

/// Words that stand behind the tables of a FROM.
pub const BEHIND_TABLES: [&str; 12] = [
    "WHERE",
    "GROUP",
    "HAVING",
    "WINDOW",
    "QUALIFY",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "UNION",
    "INTERSECT",
    "EXCEPT",
];

/// What the commas stand between that are outside of further parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// Those of SELECT.
    Items,
    /// Tables, behind FROM.
    Tables,
    /// Anything else.
    Other,
}

/// The tokens that say something, by their numbers.
pub struct Said<'t> {
    tokens: &'t [TokenWithSpan],
    places: Vec<usize>,
}

impl<'t> Said<'t> {
    /// Those of a text.
    pub fn of(tokens: &'t [TokenWithSpan]) -> Said<'t> {
        let is_said = |at: &usize| !matches!(tokens[*at].token, Token::Whitespace(_));
        Said { tokens, places: (0..tokens.len()).filter(is_said).collect() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// A token; none behind the end.
    pub fn token(&self, at: usize) -> Option<&'t Token> {
        self.places.get(at).map(|place| &self.tokens[*place].token)
    }

    /// Where a token stands; behind the end, where the last one does.
    pub fn span(&self, at: usize) -> Span {
        let place = self.places.get(at).or(self.places.last());
        place.map_or(Span::empty(), |place| self.tokens[*place].span)
    }

    /// A word without quotes.
    pub fn word(&self, at: usize) -> Option<&'t Word> {
        match self.token(at) {
            Some(Token::Word(word)) if word.quote_style.is_none() => Some(word),
            _ => None,
        }
    }

    /// Whether a token is this word, without quotes.
    pub fn is(&self, at: usize, text: &str) -> bool {
        self.is_one(at, &[text])
    }

    /// Whether a token is one of these words, without quotes.
    pub fn is_one(&self, at: usize, texts: &[&str]) -> bool {
        self.word(at).is_some_and(|word| texts.iter().any(|text| word.value.eq_ignore_ascii_case(text)))
    }

    /// Whether the token before this one is one of these words, without quotes.
    pub fn is_behind(&self, at: usize, texts: &[&str]) -> bool {
        at.checked_sub(1).is_some_and(|before| self.is_one(before, texts))
    }

    /// Whether a token begins the tables of a query, and is not a word of `IS DISTINCT FROM`.
    pub fn is_from(&self, at: usize) -> bool {
        self.is(at, "FROM") && !self.is_behind(at, &["DISTINCT"])
    }

    /// The list that each token stands in.
    pub fn lists(&self) -> Vec<List> {
        let mut around = vec![List::Other];
        let mut lists = Vec::with_capacity(self.len());
        for at in 0..self.len() {
            let list = around.last().copied().unwrap_or(List::Other);
            lists.push(list);
            match self.token(at) {
                Some(Token::LParen) if list == List::Tables && !self.is_call(at) => around.push(list),
                Some(token) if opens(token) => around.push(List::Other),
                Some(token) if closes(token) && around.len() > 1 => {
                    around.pop();
                }
                Some(Token::SemiColon) => around = vec![List::Other],
                Some(Token::Word(_)) => {
                    let begun = match () {
                        () if self.is(at, "SELECT") => List::Items,
                        () if self.is_from(at) => List::Tables,
                        () if self.is_one(at, &BEHIND_TABLES) => List::Other,
                        () => list,
                    };
                    around.pop();
                    around.push(begun);
                }
                _ => {}
            }
        }
        lists
    }

    /// Whether a parenthesis stands behind a name: it has arguments, or names of columns.
    fn is_call(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.token(before));
        matches!(before, Some(Token::Word(_))) && !self.is_behind(at, &["FROM", "JOIN", "LATERAL"])
    }

    /// Where the parenthesis or bracket closes that opens at `at`.
    pub fn closing(&self, at: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for place in at..self.len() {
            match self.token(place) {
                Some(token) if opens(token) => depth += 1,
                Some(token) if closes(token) => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return Some(place);
            }
        }
        None
    }

    /// Where the parenthesis or bracket opens that closes at `at`.
    pub fn opening(&self, at: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for place in (0..=at).rev() {
            match self.token(place) {
                Some(token) if closes(token) => depth += 1,
                Some(token) if opens(token) => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return Some(place);
            }
        }
        None
    }

    /// The first place from `from` on that is one of these words outside of parentheses, or ends the query that stands there.
    pub fn until(&self, from: usize, words: &[&str]) -> usize {
        self.find(from, &|at| self.is_one(at, words))
    }

    /// The first place from `from` on outside of parentheses that is such, or ends the query that stands there.
    pub fn find(&self, from: usize, is: &dyn Fn(usize) -> bool) -> usize {
        let mut at = from;
        while let Some(token) = self.token(at) {
            if closes(token) || *token == Token::SemiColon || is(at) {
                return at;
            }
            at = match opens(token) {
                true => match self.closing(at) {
                    Some(end) => end + 1,
                    None => return self.len(),
                },
                false => at + 1,
            };
        }
        at
    }

    /// The parts of `from..end` between commas outside of parentheses.
    pub fn parts(&self, from: usize, end: usize) -> Vec<(usize, usize)> {
        let (mut parts, mut begin) = (Vec::new(), from);
        loop {
            let comma = self.find(begin, &|at| self.token(at) == Some(&Token::Comma)).min(end);
            parts.push((begin, comma));
            if comma >= end {
                return parts;
            }
            begin = comma + 1;
        }
    }

    /// The tokens of `from..end`, with the spaces between them.
    pub fn slice(&self, from: usize, end: usize) -> &'t [TokenWithSpan] {
        match (self.places.get(from), end.checked_sub(1).and_then(|last| self.places.get(last))) {
            (Some(first), Some(last)) if first <= last => &self.tokens[*first..=*last],
            _ => &[],
        }
    }

    /// What stands before the token `at`.
    pub fn before(&self, at: usize) -> &'t [TokenWithSpan] {
        &self.tokens[..self.places.get(at).copied().unwrap_or(self.tokens.len())]
    }

    /// What stands from the token `at` on.
    pub fn from(&self, at: usize) -> &'t [TokenWithSpan] {
        &self.tokens[self.places.get(at).copied().unwrap_or(self.tokens.len())..]
    }
}

fn opens(token: &Token) -> bool {
    matches!(token, Token::LParen | Token::LBracket | Token::LBrace)
}

fn closes(token: &Token) -> bool {
    matches!(token, Token::RParen | Token::RBracket | Token::RBrace)
}
