//! `read_csv('path', delim = '|')` in FROM: the files of a path, and how they are read.
//!
//! The call becomes the name of a table, in one spelling ([`Reader::name`]). Whoever opens the table reads it back
//! ([`Reader::of_name`]), in other processes too.
//!
//! So do calls that tell something about files, such as `glob('*.csv')`, and about tables, such as `duckdb_tables()`.

use std::fmt::Write;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart,
    Spanned, TableFactor, TableFunctionArgs, UnaryOperator, Value, VisitorMut,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::table_name;
use crate::dialect::Palais;
use crate::error::{Error, Result};

/// What the names of these functions begin with. A format's name stands behind it.
const BEGIN: &str = "read_";

/// Another name of `read_parquet`.
const PARQUET_SCAN: &str = "parquet_scan";

/// Functions whose rows tell something about files.
const ABOUT_FILES: [&str; 5] =
    ["glob", "parquet_file_metadata", "parquet_metadata", "parquet_schema", "sniff_csv"];

/// Functions whose rows tell what tables there are. They take nothing, and the call is the name of the table.
const ABOUT_TABLES: [&str; 3] = ["duckdb_columns", "duckdb_tables", "duckdb_views"];

/// A call of a function that reads files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// The name of the function in lower case.
    pub function: String,
    /// The path, a glob, or several of them in braces.
    pub path: String,
    /// The options in the order in which they stand, with their names in lower case.
    pub options: Vec<(String, ReaderOption)>,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReaderOption {
    /// A text, a number, `true` or `false`.
    One(String),
    /// `['a', 'b']`.
    List(Vec<String>),
    /// `{'a': 'INT'}`.
    Pairs(Vec<(String, String)>),
}

impl Reader {
    /// Whether its rows tell something about files, and are not those of the files.
    pub fn is_about_files(&self) -> bool {
        ABOUT_FILES.contains(&self.function.as_str())
    }

    /// What the format is called in the name of the function.
    pub fn format(&self) -> &str {
        match self.function.strip_prefix(BEGIN) {
            Some(format) => format,
            None => "parquet",
        }
    }

    /// The name of the table: the call in one spelling.
    pub fn name(&self) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let mut name = format!("{}({}", self.function, quoted(&self.path));
        for (option, value) in &self.options {
            let value = match value {
                ReaderOption::One(text) => quoted(text),
                ReaderOption::List(items) => {
                    format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
                }
                ReaderOption::Pairs(pairs) => {
                    let pairs =
                        pairs.iter().map(|(key, value)| format!("{}: {}", quoted(key), quoted(value)));
                    format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
                }
            };
            // Writing to a text does not fail.
            let _ = write!(name, ", {option} = {value}");
        }
        name.push(')');
        name
    }

    /// The call that the name of a table is, if it is one.
    pub fn of_name(name: &str) -> Option<Reader> {
        let (function, _) = name.split_once('(')?;
        if !is_reader(function) {
            return None;
        }
        let tokens = Tokenizer::new(&Palais, name).tokenize_with_location().ok()?;
        let mut parser = Parser::new(&Palais).with_tokens_with_locations(tokens);
        let TableFactor::Table { name: function, args: Some(args), .. } = parser.parse_table_factor().ok()?
        else {
            return None;
        };
        let reader = reader(&function, &args).ok()?;
        (reader.name() == name).then_some(reader)
    }
}

/// Whether the tokens of a text may have such a call.
pub fn occurs(tokens: &[TokenWithSpan]) -> bool {
    let is_one =
        |name: &str| is_reader(name) || ABOUT_TABLES.iter().any(|one| name.eq_ignore_ascii_case(one));
    tokens.iter().any(|token| matches!(&token.token, Token::Word(word) if is_one(&word.value)))
}

/// Makes each such call in a query the name of a table.
pub struct Name;

impl VisitorMut for Name {
    type Break = Error;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let TableFactor::Table { name, args: args @ Some(_), .. } = factor else {
            return ControlFlow::Continue(());
        };
        let span = name.span();
        let function = table_name(name).to_lowercase();
        if ABOUT_TABLES.contains(&function.as_str()) && args.as_ref().is_some_and(|args| args.args.is_empty())
        {
            let ident = Ident::with_quote_and_span('"', span, format!("{function}()"));
            *name = ObjectName(vec![ObjectNamePart::Identifier(ident)]);
            *args = None;
            return ControlFlow::Continue(());
        }
        let Some(given) = args.as_ref().filter(|_| is_reader(&function)) else {
            return ControlFlow::Continue(());
        };
        match reader(name, given) {
            Ok(reader) => {
                let ident = Ident::with_quote_and_span('"', span, reader.name());
                *name = ObjectName(vec![ObjectNamePart::Identifier(ident)]);
                *args = None;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error.at(span)),
        }
    }
}

fn is_reader(function: &str) -> bool {
    let begins = function.get(..BEGIN.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(BEGIN));
    begins && function.len() > BEGIN.len()
        || function.eq_ignore_ascii_case(PARQUET_SCAN)
        || ABOUT_FILES.iter().any(|name| function.eq_ignore_ascii_case(name))
}

/// The call of a function that reads files.
fn reader(name: &ObjectName, args: &TableFunctionArgs) -> Result<Reader> {
    let function = table_name(name).to_lowercase();
    let mut path = None;
    let mut options: Vec<(String, ReaderOption)> = Vec::new();
    for arg in &args.args {
        let (option, value) = match arg {
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => (Some(name), value),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp {
                left,
                op: BinaryOperator::Eq,
                right,
            })) => match left.as_ref() {
                Expr::Identifier(name) => (Some(name), right.as_ref()),
                other => {
                    return Err(
                        Error::Invalid(format!("{other} is not the name of an option")).at(other.span())
                    );
                }
            },
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (None, value),
            other => {
                return Err(Error::Invalid(format!(
                    "{function}() takes a path and options, and {other} is none"
                )));
            }
        };
        let Some(option) = option else {
            if path.is_some() {
                let message = format!("{function}() takes one path; several stand in brackets: ['a', 'b']");
                return Err(Error::Invalid(message).at(value.span()));
            }
            path = Some(path_of(&function, value)?);
            continue;
        };
        let name = option.value.to_lowercase();
        if options.iter().any(|(other, _)| *other == name) {
            return Err(Error::Invalid(format!("the option {name} is given twice")).at(option.span));
        }
        options.push((name, option_of(&option.value, value)?));
    }
    match path {
        Some(path) => Ok(Reader { function, path, options }),
        None => Err(Error::Invalid(format!("{function}() takes a path: {function}('path')"))),
    }
}

fn path_of(function: &str, value: &Expr) -> Result<String> {
    let wrong = || Error::Invalid(format!("{function}() takes a path in single quotes")).at(value.span());
    match value {
        Expr::Array(array) => {
            let paths: Option<Vec<String>> = array.elem.iter().map(text_of).collect();
            match paths.ok_or_else(wrong)?.as_slice() {
                [] => Err(wrong()),
                [path] => Ok(path.clone()),
                // A list in braces has no way to write these.
                paths if paths.iter().any(|path| path.contains(['{', '}', ','])) => {
                    let message =
                        "a path with a brace or a comma beside others; UNION ALL puts them together";
                    Err(Error::Unsupported(message.into()).at(value.span()))
                }
                paths => Ok(format!("{{{}}}", paths.join(","))),
            }
        }
        other => text_of(other).ok_or_else(wrong),
    }
}

fn option_of(name: &str, value: &Expr) -> Result<ReaderOption> {
    let wrong = || {
        let takes = "a text, a number, true, false, a list ['a', 'b'] or pairs {'a': 'INT'}";
        Error::Invalid(format!("the option {name} takes a constant: {takes}")).at(value.span())
    };
    match value {
        Expr::Array(array) => {
            let items: Option<Vec<String>> = array.elem.iter().map(text_of).collect();
            items.map(ReaderOption::List).ok_or_else(wrong)
        }
        Expr::Dictionary(fields) => {
            let pairs = fields.iter().map(|field| Some((field.key.value.clone(), word_of(&field.value)?)));
            pairs.collect::<Option<Vec<_>>>().map(ReaderOption::Pairs).ok_or_else(wrong)
        }
        // Another way to write pairs: struct_pack(a := 'INT').
        Expr::Function(call) if table_name(&call.name).eq_ignore_ascii_case("struct_pack") => {
            let FunctionArguments::List(list) = &call.args else { return Err(wrong()) };
            let pairs = list.args.iter().map(|arg| match arg {
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                    Some((name.value.clone(), word_of(value)?))
                }
                _ => None,
            });
            pairs.collect::<Option<Vec<_>>>().map(ReaderOption::Pairs).ok_or_else(wrong)
        }
        other => text_of(other).map(ReaderOption::One).ok_or_else(wrong),
    }
}

/// A constant or a bare word as text: the name of a type may stand without quotes.
fn word_of(e: &Expr) -> Option<String> {
    match e {
        Expr::Identifier(word) => Some(word.value.clone()),
        other => text_of(other),
    }
}

/// A constant as text.
fn text_of(e: &Expr) -> Option<String> {
    match e {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(text.clone()),
            Value::DollarQuotedString(text) => Some(text.value.clone()),
            Value::Number(digits, _) => Some(digits.clone()),
            Value::Boolean(is) => Some(is.to_string()),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => text_of(expr).map(|digits| format!("-{digits}")),
        Expr::Nested(inner) => text_of(inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{Statement, parse, tables};

    fn read(sql: &str) -> Vec<String> {
        let Ok(Statement::Query(query)) = parse(sql) else { panic!("no query: {sql}") };
        tables(&query)
    }

    #[test]
    fn a_call_is_a_table_whose_name_is_the_call() {
        for (sql, name) in [
            ("FROM read_csv('a.csv')", "read_csv('a.csv')"),
            (
                "FROM READ_CSV('a.csv', Delim='|', header := true)",
                "read_csv('a.csv', delim = '|', header = 'true')",
            ),
            ("FROM read_json(['a', 'b''c'], sample_size => -1)", "read_json('{a,b''c}', sample_size = '-1')"),
            (
                "FROM read_csv('a', columns = {'a': 'INT', 'b': 'VARCHAR'}, x = ['p', 'q'])",
                "read_csv('a', columns = {'a': 'INT', 'b': 'VARCHAR'}, x = ['p', 'q'])",
            ),
            ("FROM parquet_scan('a')", "parquet_scan('a')"),
            (
                "FROM read_csv('a', columns = STRUCT_PACK(a := 'INT', b := date))",
                "read_csv('a', columns = {'a': 'INT', 'b': 'date'})",
            ),
            ("FROM read_csv('a', types = {a: INT})", "read_csv('a', types = {'a': 'INT'})"),
        ] {
            assert_eq!(read(sql), [name], "{sql}");
            let reader = Reader::of_name(name).expect("it is read back");
            assert_eq!(reader.name(), name);
        }
        assert_eq!(read("SELECT * FROM read_csv('a') x JOIN read_csv('b') y USING (k)").len(), 2);
        assert_eq!(read("FROM glob(['a', 'b*'])"), ["glob('{a,b*}')"]);
        assert!(Reader::of_name("glob('a')").is_some_and(|reader| reader.is_about_files()));
        assert_eq!(read("SELECT count(*) FROM DuckDB_Tables() t"), ["duckdb_tables()"]);
        assert_eq!(read("FROM duckdb_tables"), ["duckdb_tables"]);
        assert_eq!(read("FROM read_nothing"), ["read_nothing"]);
        for other in ["read_csv('a", "read_csv", "a.csv", "read_csv('a') ", "range(3)"] {
            assert_eq!(Reader::of_name(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_no_path_or_option_is_told() {
        for (sql, message) in [
            ("FROM read_csv()", "takes a path"),
            ("FROM read_csv('a', 'b')", "takes one path"),
            ("FROM read_csv(a)", "in single quotes"),
            ("FROM read_csv('a', header = x)", "the option header takes a constant"),
            ("FROM read_csv('a', header = true, HEADER = false)", "given twice"),
            ("FROM read_csv(['a,b', 'c'])", "a brace or a comma"),
        ] {
            let error = parse(sql).expect_err(sql).to_string();
            assert!(error.contains(message), "{sql}: {error}");
        }
    }
}
