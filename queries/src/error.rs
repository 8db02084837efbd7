//! What can be wrong with a statement.

use std::fmt;

use datafusion_common::DataFusionError;
use sqlparser::tokenizer::{Location, Span};

use crate::messages::plain;
use crate::position::StatementPosition;

/// The result of this package's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is wrong with a statement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is not SQL.
    #[error("SQL syntax: {message}")]
    Syntax {
        /// What was expected and what was found.
        message: String,
    },
    /// A name that means nothing, or several things.
    #[error("{message}{}", hint(.help))]
    Name {
        /// Which name, and what is wrong with it.
        message: String,
        /// What would help.
        help: Option<String>,
    },
    /// It passes a bound ([`crate::bounds`]).
    #[error("the statement is too large: {message}")]
    TooLarge {
        /// Which bound.
        message: String,
    },
    /// A construct that palais does not run.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// Types or clauses that do not go together.
    #[error("{0}")]
    Invalid(String),
    /// One of the others, and where.
    #[error("{0}")]
    At(Box<Located>),
}

/// An error and its place. It is shown in this form:
///
/// ```text
/// there is no column 'mont'
///   line 3, column 7
///     WHERE mont = 5
///           ^^^^
///   help: did you mean month?
/// ```
#[derive(Debug)]
pub struct Located {
    error: Error,
    place: StatementPosition,
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.error.to_string();
        let (what, help) = text.split_at(text.find(HELP).unwrap_or(text.len()));
        write!(f, "{what}{}{help}", self.place)
    }
}

/// What the help of a message begins with.
const HELP: &str = "\n  help: ";

fn hint(help: &Option<String>) -> String {
    help.as_ref().map(|h| format!("{HELP}{h}")).unwrap_or_default()
}

impl From<DataFusionError> for Error {
    fn from(e: DataFusionError) -> Self {
        match e {
            DataFusionError::Context(_, inner) => Error::from(*inner),
            DataFusionError::NotImplemented(what) => Error::Unsupported(plain(&what)),
            other => Error::Invalid(plain(&other.to_string())),
        }
    }
}

impl Error {
    /// A column of a name that more than one relation has.
    pub(crate) fn ambiguous(name: &str) -> Error {
        Error::Name {
            message: format!("column '{name}' is ambiguous: more than one table has it"),
            help: Some("put the table's name or alias and a dot before it".into()),
        }
    }

    /// What is wrong, without the place.
    pub fn what(&self) -> &Error {
        match self {
            Error::At(located) => &located.error,
            other => other,
        }
    }

    /// Where it is, if that is known.
    pub fn place(&self) -> Option<&StatementPosition> {
        match self {
            Error::At(located) => Some(&located.place),
            _ => None,
        }
    }

    /// Whether it has a place, so that the syntax around what is wrong has none to add.
    pub(crate) fn is_placed(&self) -> bool {
        self.place().is_some_and(|place| !place.is_open())
    }

    /// With the place of a part of the syntax tree, unless it has a place.
    pub(crate) fn at(self, span: Span) -> Error {
        match self {
            Error::At(mut located) => {
                if located.place.is_open() {
                    located.place.begin(span);
                }
                Error::At(located)
            }
            error => match StatementPosition::of(span) {
                Some(place) => Error::At(Box::new(Located { error, place })),
                None => error,
            },
        }
    }

    /// With the place of a token that begins there.
    pub(crate) fn at_point(self, point: Location) -> Error {
        self.at(Span::new(point, point))
    }

    /// At a word, where the syntax tree has no place. It is looked for in the text, from the begin of the place on that
    /// [`Error::at`] gives.
    pub fn at_word(self, word: &str) -> Error {
        match self {
            Error::At(_) => self,
            error => Error::At(Box::new(Located { error, place: StatementPosition::of_word(word) })),
        }
    }

    /// In the text of a view, which has other lines than that of the statement.
    pub(crate) fn in_view(self, view: &str) -> Error {
        match self {
            Error::At(mut located) => {
                located.place.move_into(view);
                Error::At(located)
            }
            error => Error::At(Box::new(Located { error, place: StatementPosition::in_view(view) })),
        }
    }

    /// In the text of the statement that defines a view, and not in that of the view.
    pub fn outside_of(mut self, view: &str) -> Error {
        if let Error::At(located) = &mut self {
            located.place.move_out_of(view);
        }
        self
    }

    /// With the line of the text, which is that of its view if it has one.
    pub fn in_text(mut self, text: &str) -> Error {
        if let Error::At(located) = &mut self {
            located.place.find(text);
        }
        self
    }
}

/// Makes a syntax error of the parser's message, which ends in "at Line: L, Column: C" where the place is known.
pub(crate) fn syntax(text: &str) -> Error {
    let text = text.trim_start_matches("sql parser error: ").trim_matches('"');
    let text = text.strip_prefix("ParserError(\"").unwrap_or(text);
    let Some((message, rest)) = text.split_once(" at Line: ") else {
        return Error::Syntax { message: text.to_string() };
    };
    let digits =
        |s: &str| s.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
    let column = rest.split_once("Column: ").map_or(0, |(_, column)| digits(column));
    Error::Syntax { message: message.to_string() }.at_point(Location::new(digits(rest), column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_stands_between_what_is_wrong_and_what_helps() {
        let wrong = || Error::Name { message: "there is no column 'a'".into(), help: Some("b".into()) };
        let span = Span::new(Location::new(2, 3), Location::new(2, 4));
        let said = wrong().at(span).in_text("x\n  a").to_string();
        assert_eq!(said, "there is no column 'a'\n  line 2, column 3\n    a\n    ^\n  help: b");
        // The first place is the smallest.
        let around = Span::new(Location::new(1, 1), Location::new(2, 4));
        assert_eq!(wrong().at(span).at(around).to_string(), wrong().at(span).to_string());
        assert_eq!(wrong().at(Span::empty()).to_string(), wrong().to_string());
        assert_eq!(wrong().at_word("a").to_string(), wrong().to_string());
        assert!(wrong().at_word("c").at(around).to_string().contains("line 1, column 1\n  help"));
        assert!(matches!(wrong().at(span).what(), Error::Name { .. }));
        let viewed = wrong().in_view("v").at(span);
        assert_eq!(viewed.to_string(), "there is no column 'a'\n  in the view 'v'\n  help: b");
        assert_eq!(viewed.place().and_then(StatementPosition::view), Some("v"));
    }

    #[test]
    fn the_parser_tells_the_place_in_its_message() {
        let said = syntax("sql parser error: Expected: x, found: y at Line: 3, Column: 12").to_string();
        assert_eq!(said, "SQL syntax: Expected: x, found: y\n  line 3, column 12");
        assert_eq!(syntax("sql parser error: Expected: x").to_string(), "SQL syntax: Expected: x");
    }
}
