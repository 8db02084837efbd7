//! The words of `CREATE TABLE` statements, each with its place.

use super::TextError;

/// A place in a text; both are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPosition {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

impl TextPosition {
    /// An error at this place.
    pub fn error(self, message: impl Into<String>) -> TextError {
        TextError::Ddl { line: self.line, column: self.column, message: message.into() }
    }
}

/// A word, number, string or sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A bare word.
    Word(String),
    /// A name in double quotes or backquotes, without them.
    Quoted(String),
    /// A string in single quotes, without them.
    Text(String),
    /// Digits.
    Number(String),
    /// Any other character.
    Sign(char),
    /// The end of the text.
    End,
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Word(word) | Token::Number(word) => write!(f, "'{word}'"),
            Token::Quoted(name) => write!(f, "\"{name}\""),
            Token::Text(text) => write!(f, "'{text}'"),
            Token::Sign(sign) => write!(f, "'{sign}'"),
            Token::End => write!(f, "the end of the text"),
        }
    }
}

/// Cuts a text into tokens. Blanks and comments (`-- …`, `/* … */`) stand between them. The last token is
/// [`Token::End`].
pub fn tokens(text: &str) -> Result<Vec<(Token, TextPosition)>, TextError> {
    let mut lexer = Lexer { rest: text.chars().peekable(), place: TextPosition { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    loop {
        let (token, place) = lexer.token()?;
        let end = token == Token::End;
        tokens.push((token, place));
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    place: TextPosition,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        if c == '\n' {
            self.place = TextPosition { line: self.place.line + 1, column: 1 };
        } else {
            self.place.column += 1;
        }
        Some(c)
    }

    fn token(&mut self) -> Result<(Token, TextPosition), TextError> {
        loop {
            let place = self.place;
            let Some(c) = self.next() else { return Ok((Token::End, place)) };
            let token = match c {
                c if c.is_whitespace() => continue,
                '-' if self.rest.peek() == Some(&'-') => {
                    while self.next().is_some_and(|c| c != '\n') {}
                    continue;
                }
                '/' if self.rest.peek() == Some(&'*') => {
                    self.next();
                    self.comment(place)?;
                    continue;
                }
                '\'' => Token::Text(self.until('\'', place)?),
                '"' | '`' => Token::Quoted(self.until(c, place)?),
                c if c.is_alphabetic() || c == '_' => {
                    Token::Word(self.run(c, |c| c.is_alphanumeric() || c == '_'))
                }
                c if c.is_ascii_digit() => Token::Number(self.run(c, |c| c.is_ascii_digit())),
                c => Token::Sign(c),
            };
            return Ok((token, place));
        }
    }

    fn run(&mut self, first: char, more: impl Fn(char) -> bool) -> String {
        let mut word = String::from(first);
        while let Some(&c) = self.rest.peek().filter(|&&c| more(c)) {
            word.push(c);
            self.next();
        }
        word
    }

    /// What stands before the next `quote`; two quotes in a row stand for one.
    fn until(&mut self, quote: char, start: TextPosition) -> Result<String, TextError> {
        let mut word = String::new();
        while let Some(c) = self.next() {
            if c != quote {
                word.push(c);
            } else if self.rest.peek() == Some(&quote) {
                word.push(quote);
                self.next();
            } else {
                return Ok(word);
            }
        }
        Err(start.error(format!("the quote {quote} that begins here is not closed")))
    }

    fn comment(&mut self, start: TextPosition) -> Result<(), TextError> {
        while let Some(c) = self.next() {
            if c == '*' && self.rest.peek() == Some(&'/') {
                self.next();
                return Ok(());
            }
        }
        Err(start.error("the comment that begins here is not closed"))
    }
}
