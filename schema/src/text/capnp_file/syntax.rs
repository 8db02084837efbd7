//! The language of `.capnp` files, as far as it says how structs lie: structs, enums, names of types and defaults.
//! Interfaces, constants and annotations are passed over.

use crate::text::TextError;
use crate::text::described::check_name;
use crate::text::lexer::TextPosition;
use crate::text::types::DEEPEST;

/// What a file declares, or a struct within it.
#[derive(Debug)]
pub struct Declaration {
    pub name: String,
    pub kind: Kind,
    /// What is declared within it.
    pub nested: Vec<Declaration>,
}

/// What a declaration is of.
#[derive(Debug)]
pub enum Kind {
    Struct {
        /// The names of its type parameters.
        parameters: Vec<String>,
        members: Vec<Member>,
    },
    /// The names of its values by their numbers.
    Enum(Vec<String>),
    /// Another name of a type, or of a file.
    Alias(TypeName),
    Interface,
}

/// A field, group or union.
#[derive(Debug)]
pub struct Member {
    /// Empty for a union without a name.
    pub name: String,
    pub kind: MemberKind,
}

#[derive(Debug)]
pub enum MemberKind {
    Field { number: u16, type_name: TypeName, default: Option<Value> },
    Group(Vec<Member>),
    Union { number: Option<u16>, members: Vec<Member> },
}

/// The name of a type.
#[derive(Debug, Clone)]
pub struct TypeName {
    pub place: TextPosition,
    pub start: Start,
    pub steps: Vec<Step>,
}

/// Where the name of a type is looked up.
#[derive(Debug, Clone)]
pub enum Start {
    /// From the innermost declaration outwards.
    Here,
    /// In the file.
    File,
    /// In another file.
    Import(String),
}

/// A name, with what stands for the parameters of its type.
#[derive(Debug, Clone)]
pub struct Step {
    pub name: String,
    pub arguments: Vec<TypeName>,
}

/// A default.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number as it is written, with its sign.
    Number(String),
    /// A name, such as `true` or one of an enum, with the sign of `-inf`.
    Name(String),
    Text(Vec<u8>),
    Data(Vec<u8>),
    /// A list, a struct, a constant, a file.
    Other,
}

/// The declarations of a file.
pub fn parse(text: &str) -> Result<Vec<Declaration>, TextError> {
    let mut parser = Parser { lexer: Lexer::new(text), token: Token::End, place: START, depth: 0 };
    parser.next()?;
    let mut declarations = Vec::new();
    loop {
        match &parser.token {
            Token::End => return Ok(declarations),
            // The number of the file, and what is said of it.
            Token::Sign('@') => {
                parser.next()?;
                parser.number("the number of the file")?;
                parser.sign(';')?;
            }
            Token::Sign('$') => {
                parser.annotation()?;
                parser.sign(';')?;
            }
            Token::Sign(';') => parser.next()?,
            _ => match parser.declaration()? {
                Some(declaration) => declarations.extend(declaration),
                None => return Err(parser.unexpected("a declaration, such as 'struct Name { … }'")),
            },
        }
    }
}

/// The words that begin a declaration.
const DECLARING: [&str; 6] = ["struct", "enum", "interface", "using", "const", "annotation"];

const START: TextPosition = TextPosition { line: 1, column: 1 };

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Number(String),
    Text(Vec<u8>),
    Sign(char),
    End,
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Name(word) | Token::Number(word) => write!(f, "'{word}'"),
            Token::Text(_) => write!(f, "a text"),
            Token::Sign(sign) => write!(f, "'{sign}'"),
            Token::End => write!(f, "the end of the file"),
        }
    }
}

struct Lexer<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    place: TextPosition,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Lexer<'a> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Lexer { rest: text.chars().peekable(), place: START }
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        self.place = match c {
            '\n' => TextPosition { line: self.place.line + 1, column: 1 },
            _ => TextPosition { column: self.place.column + 1, ..self.place },
        };
        Some(c)
    }

    fn token(&mut self) -> Result<(Token, TextPosition), TextError> {
        loop {
            let place = self.place;
            let Some(c) = self.bump() else { return Ok((Token::End, place)) };
            let token = match c {
                c if c.is_whitespace() => continue,
                '#' => {
                    while self.bump().is_some_and(|c| c != '\n') {}
                    continue;
                }
                '"' => Token::Text(self.text(place)?),
                c if c.is_ascii_alphabetic() || c == '_' => {
                    Token::Name(self.run(c, |_, c| c.is_ascii_alphanumeric() || c == '_'))
                }
                c if c.is_ascii_digit() => Token::Number(self.run(c, |before, c| {
                    let exponent = matches!(c, '+' | '-') && before.ends_with(['e', 'E']);
                    c.is_ascii_alphanumeric() || c == '.' || exponent && !before.starts_with("0x")
                })),
                c => Token::Sign(c),
            };
            return Ok((token, place));
        }
    }

    fn run(&mut self, first: char, more: impl Fn(&str, char) -> bool) -> String {
        let mut word = String::from(first);
        while let Some(&c) = self.rest.peek().filter(|&&c| more(&word, c)) {
            word.push(c);
            self.bump();
        }
        word
    }

    /// The rest of a text in double quotes, as in C.
    fn text(&mut self, start: TextPosition) -> Result<Vec<u8>, TextError> {
        let open = || wrong(start, "the text that begins here is not closed");
        let mut bytes = Vec::new();
        loop {
            let c = match self.bump().filter(|&c| c != '\n').ok_or_else(open)? {
                '"' => return Ok(bytes),
                '\\' => match self.bump().ok_or_else(open)? {
                    'x' => {
                        let digits: String = (0..2).filter_map(|_| self.bump()).collect();
                        let byte = u8::from_str_radix(&digits, 16);
                        bytes.push(byte.map_err(|_| wrong(start, "two digits from 0 to f follow \\x"))?);
                        continue;
                    }
                    c @ '0'..='7' => {
                        let mut digits = String::from(c);
                        while let Some(&c @ '0'..='7') = self.rest.peek().filter(|_| digits.len() < 3) {
                            digits.push(c);
                            self.bump();
                        }
                        let byte = u8::from_str_radix(&digits, 8);
                        bytes.push(byte.map_err(|_| wrong(start, "a byte is at most \\377"))?);
                        continue;
                    }
                    'a' => '\x07',
                    'b' => '\x08',
                    'f' => '\x0c',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'v' => '\x0b',
                    c => c,
                },
                c => c,
            };
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

fn wrong(place: TextPosition, message: impl Into<String>) -> TextError {
    TextError::File { line: place.line, column: place.column, message: message.into() }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The token at hand.
    token: Token,
    place: TextPosition,
    /// In how many declarations, groups and lists of arguments it lies.
    depth: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Result<(), TextError> {
        (self.token, self.place) = self.lexer.token()?;
        Ok(())
    }

    fn unexpected(&self, expected: &str) -> TextError {
        wrong(self.place, format!("expected {expected}, found {}", self.token))
    }

    fn is_sign(&self, sign: char) -> bool {
        self.token == Token::Sign(sign)
    }

    fn sign(&mut self, sign: char) -> Result<(), TextError> {
        if !self.is_sign(sign) {
            return Err(self.unexpected(&format!("'{sign}'")));
        }
        self.next()
    }

    /// Passes this sign, if it is at hand.
    fn take(&mut self, sign: char) -> Result<bool, TextError> {
        let is_there = self.is_sign(sign);
        if is_there {
            self.next()?;
        }
        Ok(is_there)
    }

    fn name(&mut self, what: &str) -> Result<String, TextError> {
        match std::mem::replace(&mut self.token, Token::End) {
            Token::Name(name) => {
                check_name(&name)?;
                self.next()?;
                Ok(name)
            }
            other => {
                self.token = other;
                Err(self.unexpected(what))
            }
        }
    }

    fn number(&mut self, what: &str) -> Result<u64, TextError> {
        let number = match &self.token {
            Token::Number(digits) => whole(digits),
            _ => None,
        };
        let number = number.ok_or_else(|| self.unexpected(what))?;
        self.next()?;
        Ok(number)
    }

    /// The number of a field or of an enum's value, behind its `@`.
    fn field_number(&mut self) -> Result<u16, TextError> {
        let place = self.place;
        let number = self.number("a number")?;
        u16::try_from(number).map_err(|_| wrong(place, "a number is at most 65535"))
    }

    /// Goes one level deeper.
    fn within<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, TextError>) -> Result<T, TextError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(wrong(self.place, format!("more than {DEEPEST} levels lie within one another")));
        }
        let parsed = parse(self)?;
        self.depth -= 1;
        Ok(parsed)
    }

    /// A declaration, if one begins here; one that is passed over gives nothing.
    fn declaration(&mut self) -> Result<Option<Option<Declaration>>, TextError> {
        let Token::Name(keyword) = &self.token else { return Ok(None) };
        if !DECLARING.contains(&keyword.as_str()) {
            return Ok(None);
        }
        let keyword = keyword.clone();
        self.next()?;
        self.declared(&keyword).map(Some)
    }

    /// What a keyword declares that was passed already; see [`Parser::declaration`].
    fn declared(&mut self, keyword: &str) -> Result<Option<Declaration>, TextError> {
        match keyword {
            "using" => self.alias().map(Some),
            "const" | "annotation" => {
                self.pass(&[';'])?;
                self.sign(';')?;
                Ok(None)
            }
            _ => {
                let name = self.name("a name")?;
                let parameters = self.heading()?;
                let (kind, nested) = self.within(|parser| parser.body(keyword, parameters))?;
                Ok(Some(Declaration { name, kind, nested }))
            }
        }
    }

    /// What stands between the name and the body of a declaration; gives the names of its parameters.
    fn heading(&mut self) -> Result<Vec<String>, TextError> {
        let mut parameters = Vec::new();
        loop {
            match &self.token {
                Token::Sign('@') => {
                    self.next()?;
                    self.number("a number")?;
                }
                Token::Sign('$') => self.annotation()?,
                Token::Sign('(') => {
                    self.next()?;
                    parameters.push(self.name("the name of a parameter")?);
                    while self.take(',')? {
                        parameters.push(self.name("the name of a parameter")?);
                    }
                    self.sign(')')?;
                }
                // The interfaces that one extends.
                Token::Name(extends) if extends == "extends" => {
                    self.next()?;
                    self.round()?;
                }
                _ => return Ok(parameters),
            }
        }
    }

    fn body(
        &mut self,
        keyword: &str,
        parameters: Vec<String>,
    ) -> Result<(Kind, Vec<Declaration>), TextError> {
        self.sign('{')?;
        let mut nested = Vec::new();
        let kind = match keyword {
            "struct" => Kind::Struct { parameters, members: self.members(Some(&mut nested))? },
            "enum" => Kind::Enum(self.enumerants()?),
            _ => {
                while !self.is_sign('}') {
                    match self.declaration()? {
                        Some(declaration) => nested.extend(declaration),
                        None => {
                            self.pass(&[';'])?;
                            self.sign(';')?;
                        }
                    }
                }
                Kind::Interface
            }
        };
        self.sign('}')?;
        Ok((kind, nested))
    }

    fn enumerants(&mut self) -> Result<Vec<String>, TextError> {
        let mut values: Vec<(u16, String, TextPosition)> = Vec::new();
        while !self.is_sign('}') {
            let place = self.place;
            let name = self.name("the name of a value")?;
            self.sign('@')?;
            let number = self.field_number()?;
            while self.is_sign('$') {
                self.annotation()?;
            }
            self.sign(';')?;
            values.push((number, name, place));
        }
        values.sort_by_key(|&(number, ..)| number);
        for (expected, (number, name, place)) in values.iter().enumerate() {
            if expected != usize::from(*number) {
                let message = format!("'{name}' has the number {number}, where {expected} is the next one");
                return Err(wrong(*place, message));
            }
        }
        Ok(values.into_iter().map(|(_, name, _)| name).collect())
    }

    /// The members of a struct, a group or a union, and what is declared among those of a struct.
    fn members(&mut self, mut nested: Option<&mut Vec<Declaration>>) -> Result<Vec<Member>, TextError> {
        let mut members = Vec::new();
        while !self.is_sign('}') {
            if self.take(';')? {
                continue;
            }
            let place = self.place;
            let name = self.name("a field")?;
            // Names of fields may be keywords; those that declare have another name behind them.
            let declares = DECLARING.contains(&name.as_str())
                && (matches!(self.token, Token::Name(_)) || name == "using" && self.is_sign('.'));
            if declares && let Some(nested) = nested.as_deref_mut() {
                nested.extend(self.declared(&name)?);
                continue;
            }
            members.push(self.member(name, place)?);
        }
        Ok(members)
    }

    fn member(&mut self, name: String, place: TextPosition) -> Result<Member, TextError> {
        let number = match self.take('@')? {
            true => Some(self.field_number()?),
            false => None,
        };
        // A union of old files has a number, which is meant if this stands behind it.
        self.take('!')?;
        while self.is_sign('$') {
            self.annotation()?;
        }
        if name == "union" && number.is_none() && self.is_sign('{') {
            let members = self.block()?;
            return Ok(Member { name: String::new(), kind: MemberKind::Union { number, members } });
        }
        self.sign(':')?;
        let keyword = match &self.token {
            Token::Name(word) if word == "union" || word == "group" => Some(word.clone()),
            _ => None,
        };
        if let Some(keyword) = keyword {
            self.next()?;
            while self.is_sign('$') {
                self.annotation()?;
            }
            let members = self.block()?;
            let kind = match keyword.as_str() {
                "union" => MemberKind::Union { number, members },
                _ => MemberKind::Group(members),
            };
            return Ok(Member { name, kind });
        }
        let Some(number) = number else {
            return Err(wrong(place, format!("the field '{name}' has no number")));
        };
        let type_name = self.type_name()?;
        let default = match self.take('=')? {
            true => Some(self.value()?),
            false => None,
        };
        while self.is_sign('$') {
            self.annotation()?;
        }
        self.sign(';')?;
        Ok(Member { name, kind: MemberKind::Field { number, type_name, default } })
    }

    fn block(&mut self) -> Result<Vec<Member>, TextError> {
        self.within(|parser| {
            parser.sign('{')?;
            let members = parser.members(None)?;
            parser.sign('}')?;
            Ok(members)
        })
    }

    /// What follows `using`.
    fn alias(&mut self) -> Result<Declaration, TextError> {
        let mut type_name = self.type_name()?;
        let name = match (type_name.steps.as_slice(), &type_name.start) {
            ([Step { name, .. }], Start::Here) if self.is_sign('=') => {
                let name = name.clone();
                self.next()?;
                type_name = self.type_name()?;
                name
            }
            ([.., last], _) => last.name.clone(),
            ([], _) => return Err(self.unexpected("'.' and a name of that file")),
        };
        self.sign(';')?;
        Ok(Declaration { name, kind: Kind::Alias(type_name), nested: Vec::new() })
    }

    fn type_name(&mut self) -> Result<TypeName, TextError> {
        let place = self.place;
        let mut start = Start::Here;
        let mut steps = Vec::new();
        if self.take('.')? {
            start = Start::File;
            steps.push(self.step()?);
        } else {
            let step = self.step()?;
            match &self.token {
                Token::Text(file) if step.name == "import" => {
                    start = Start::Import(String::from_utf8_lossy(file).into_owned());
                    self.next()?;
                }
                _ => steps.push(step),
            }
        }
        while self.take('.')? {
            steps.push(self.step()?);
        }
        Ok(TypeName { place, start, steps })
    }

    fn step(&mut self) -> Result<Step, TextError> {
        let name = self.name("the name of a type")?;
        let mut arguments = Vec::new();
        if self.take('(')? {
            self.within(|parser| {
                arguments.push(parser.type_name()?);
                while parser.take(',')? {
                    arguments.push(parser.type_name()?);
                }
                parser.sign(')')
            })?;
        }
        Ok(Step { name, arguments })
    }

    fn value(&mut self) -> Result<Value, TextError> {
        let sign = if self.take('-')? { "-" } else { "" };
        let value = match &self.token {
            Token::Number(digits) => Value::Number(format!("{sign}{digits}")),
            Token::Name(name) if name != "embed" && name != "import" => Value::Name(format!("{sign}{name}")),
            Token::Text(bytes) => Value::Text(bytes.clone()),
            _ => {
                self.pass(&[';', '$'])?;
                return Ok(Value::Other);
            }
        };
        self.next()?;
        match (value, &self.token) {
            // Bytes as hexadecimal digits.
            (Value::Number(prefix), Token::Text(digits)) if prefix == "0x" => {
                let digits = String::from_utf8_lossy(digits).into_owned();
                let bytes =
                    bytes_of(&digits).ok_or_else(|| self.unexpected("pairs of digits from 0 to f"))?;
                self.next()?;
                Ok(Value::Data(bytes))
            }
            (value, Token::Sign(';' | '$')) => Ok(value),
            _ => {
                self.pass(&[';', '$'])?;
                Ok(Value::Other)
            }
        }
    }

    /// Passes an annotation.
    fn annotation(&mut self) -> Result<(), TextError> {
        self.sign('$')?;
        loop {
            match &self.token {
                Token::Name(_) | Token::Text(_) | Token::Sign('.') => self.next()?,
                Token::Sign('(') => self.round()?,
                _ => return Ok(()),
            }
        }
    }

    /// Passes what stands in round brackets.
    fn round(&mut self) -> Result<(), TextError> {
        self.sign('(')?;
        self.pass(&[')'])?;
        self.sign(')')
    }

    /// Passes all up to one of these signs outside of brackets.
    fn pass(&mut self, ends: &[char]) -> Result<(), TextError> {
        let mut open = Vec::new();
        loop {
            match &self.token {
                Token::Sign(sign) if open.is_empty() && ends.contains(sign) => return Ok(()),
                Token::Sign('(') => open.push(')'),
                Token::Sign('[') => open.push(']'),
                Token::Sign('{') => open.push('}'),
                Token::Sign(sign @ (')' | ']' | '}')) if open.pop() != Some(*sign) => {
                    return Err(self.unexpected(&format!("'{}'", ends[0])));
                }
                Token::End => return Err(self.unexpected(&format!("'{}'", ends[0]))),
                _ => {}
            }
            self.next()?;
        }
    }
}

/// A whole number as it is written: decimal, hexadecimal or octal.
pub fn whole(digits: &str) -> Option<u64> {
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok(),
        None => digits.parse().ok(),
    }
}

/// The bytes of hexadecimal digits, between which blanks may stand.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = digits
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16))
        .collect::<Option<Vec<u32>>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|&[high, low]| (high << 4 | low) as u8).collect())
}
