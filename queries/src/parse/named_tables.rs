//! `TABLE name` in the place of a query: the parser leaves out two of the words that stand behind the name. Here it is
//! `SELECT * FROM name`, which is the same rows.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// The tokens of a text, with such a SELECT wherever TABLE begins a query.
pub fn selected(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let places = places(&tokens);
    if places.is_empty() {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len() + 4 * places.len());
    for (i, token) in tokens.into_iter().enumerate() {
        if places.binary_search(&i).is_err() {
            out.push(token);
            continue;
        }
        let span = token.span;
        let put = |token: Token| TokenWithSpan { token, span };
        let word = |text| put(Token::make_word(text, None));
        let space = || put(Token::Whitespace(Whitespace::Space));
        out.extend([word("SELECT"), space(), put(Token::Mul), space(), word("FROM")]);
    }
    out
}

/// Where TABLE stands that begins a query.
fn places(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let said: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let token = |at: usize| said.get(at).map(|at| &tokens[*at].token);
    let keyword = |at: usize| match token(at) {
        Some(Token::Word(word)) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    };
    let mut created = None;
    // For each parenthesis that is open, and for the one that was closed last, whether it stands behind AS.
    let (mut open, mut closed): (Vec<bool>, bool) = (vec![], false);
    let mut places = Vec::new();
    for (at, place) in said.iter().enumerate() {
        let before = at.checked_sub(1);
        let begins = before.is_none_or(|before| token(before) == Some(&Token::SemiColon));
        if begins {
            created = (keyword(at) == Some(Keyword::CREATE)).then(|| created_by(at, &keyword)).flatten();
        }
        match token(at) {
            Some(Token::LParen) => open.push(before.and_then(&keyword) == Some(Keyword::AS)),
            Some(Token::RParen) => closed = open.pop().unwrap_or(false),
            _ => {}
        }
        if keyword(at) != Some(Keyword::TABLE) || !is_name(token(at + 1)) {
            continue;
        }
        let begins = begins
            || before.is_some_and(|before| match (token(before), keyword(before)) {
                (Some(Token::LParen), _) => true,
                // Behind the last query of WITH.
                (Some(Token::RParen), _) => closed,
                // `AS TABLE` of a macro only says that a query comes.
                (_, Some(Keyword::AS)) => created.is_some_and(|word| !is_macro(word)),
                (_, Some(Keyword::TABLE)) => created.is_some_and(is_macro),
                (_, Some(word)) => BEFORE.contains(&word),
                _ => false,
            });
        if begins {
            places.push(*place);
        }
    }
    places
}

/// What the CREATE at this place creates.
fn created_by(at: usize, keyword: &impl Fn(usize) -> Option<Keyword>) -> Option<Keyword> {
    let options = [Keyword::OR, Keyword::REPLACE, Keyword::TEMP, Keyword::TEMPORARY];
    (at + 1..).map(keyword).find(|word| word.is_none_or(|word| !options.contains(&word))).flatten()
}

fn is_macro(word: Keyword) -> bool {
    matches!(word, Keyword::MACRO | Keyword::FUNCTION)
}

/// Keywords behind which a query may begin.
const BEFORE: [Keyword; 8] = [
    Keyword::UNION,
    Keyword::INTERSECT,
    Keyword::EXCEPT,
    Keyword::ALL,
    Keyword::DISTINCT,
    Keyword::NAME,
    Keyword::EXPLAIN,
    Keyword::ANALYZE,
];

/// Whether a name may begin with it.
fn is_name(token: Option<&Token>) -> bool {
    matches!(token, Some(Token::Word(_) | Token::SingleQuotedString(_) | Token::DoubleQuotedString(_)))
}

#[cfg(test)]
mod tests {
    use crate::macros::Body;
    use crate::parse::{Statement, parse};

    #[test]
    fn a_table_in_the_place_of_a_query_is_all_of_its_rows() {
        for (text, read) in [
            ("TABLE t LIMIT 1", "SELECT * FROM t LIMIT 1"),
            ("TABLE 'a.csv'", "SELECT * FROM 'a.csv'"),
            ("SELECT 1 UNION ALL TABLE t ORDER BY 1", "SELECT 1 UNION ALL SELECT * FROM t ORDER BY 1"),
            ("WITH t AS (TABLE u) TABLE t LIMIT 1", "WITH t AS (SELECT * FROM u) SELECT * FROM t LIMIT 1"),
            (
                "SELECT (TABLE t), a IN (TABLE t) FROM u",
                "SELECT (SELECT * FROM t), a IN (SELECT * FROM t) FROM u",
            ),
            ("SELECT 1 AS table", "SELECT 1 AS table"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read);
        }
        let Ok(Statement::CreateTable(made)) = parse("CREATE TEMP TABLE u AS TABLE t") else { panic!() };
        assert_eq!(made.query.to_string(), "SELECT * FROM t");
        for text in
            ["CREATE MACRO u(a) AS TABLE TABLE t", "CREATE OR REPLACE MACRO u(a) AS TABLE SELECT * FROM t"]
        {
            let Ok(Statement::CreateMacro(made)) = parse(text) else { panic!("no macro: {text}") };
            let [form] = made.of.forms.as_slice() else { panic!("one form: {text}") };
            assert!(matches!(&form.body, Body::Query(query) if query.to_string() == "SELECT * FROM t"));
        }
        assert!(matches!(parse("DESCRIBE TABLE t"), Ok(Statement::Describe(_))));
        assert!(matches!(parse("DROP TABLE t"), Ok(Statement::Drop { .. })));
    }
}
