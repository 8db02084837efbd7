//! `TABLESAMPLE` and `USING SAMPLE`, of which the parser reads one form. Here each is `TABLESAMPLE ROW (10 ROWS)`,
//! `TABLESAMPLE ROW (10 PERCENT)` or `TABLESAMPLE BERNOULLI (10 PERCENT)`, with `REPEATABLE (1)` behind it or not. ROW
//! stands for a number of rows that is exact (reservoir), BERNOULLI for each row on its own.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::said::Said;
use crate::error::{Error, Result};

/// What is sampled, in the order of the text.
struct Sample {
    /// The tokens that go, by their numbers among those that say something.
    from: usize,
    end: usize,
    /// Behind which token the sample is put.
    at: usize,
    number: Token,
    is_share: bool,
    is_exact: bool,
    seed: Option<Token>,
}

/// The tokens of a text with samples in this form.
///
/// # Errors
/// A sample is written in none of the forms that are read, or of several tables.
pub fn named(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    let said = Said::of(&tokens);
    let mut samples = Vec::new();
    for at in 1..said.len() {
        let begins_using = said.is(at, "USING") && said.is(at + 1, "SAMPLE") && said.token(at + 2).is_some();
        let is_name = said.is_behind(at, &["AS", "SELECT"])
            || matches!(said.token(at - 1), Some(Token::Comma | Token::Period));
        if said.is(at, "TABLESAMPLE") && !is_name {
            let sample = read(&said, at, at + 1)?;
            samples.push(Sample { at: at - 1, ..sample });
        } else if begins_using {
            let sample = read(&said, at, at + 2)?;
            samples.push(Sample { at: table_before(&said, at)?, ..sample });
        }
    }
    if samples.is_empty() {
        return Ok(tokens);
    }
    let mut out = Vec::with_capacity(tokens.len() + 8 * samples.len());
    for at in 0..said.len() {
        let span = said.span(at);
        if !samples.iter().any(|sample| (sample.from..sample.end).contains(&at)) {
            out.extend_from_slice(said.slice(at, at + 1));
        }
        for sample in samples.iter().filter(|sample| sample.at == at) {
            let word = |text| Token::make_word(text, None);
            let method = if sample.is_exact { "ROW" } else { "BERNOULLI" };
            let unit = if sample.is_share { "PERCENT" } else { "ROWS" };
            let mut made = vec![word("TABLESAMPLE"), word(method), Token::LParen, sample.number.clone()];
            made.extend([word(unit), Token::RParen]);
            if let Some(seed) = &sample.seed {
                made.extend([word("REPEATABLE"), Token::LParen, seed.clone(), Token::RParen]);
            }
            out.extend(made.into_iter().map(|token| TokenWithSpan { token, span }));
        }
    }
    Ok(out)
}

/// The sample that is written from `at` on, of a clause that begins at `begin`.
fn read(said: &Said<'_>, begin: usize, at: usize) -> Result<Sample> {
    let wrong = || {
        let message = "expected a sample: 10 ROWS, 10 %, reservoir(10 ROWS), bernoulli(10 PERCENT)";
        Err(Error::Syntax { message: message.into() }.at(said.span(begin)))
    };
    let (mut method, mut at) = (None, at);
    let is_inside =
        matches!(said.token(at), Some(Token::Word(_))) && said.token(at + 1) == Some(&Token::LParen);
    if is_inside {
        method = said.word(at).map(|word| word.value.to_lowercase());
        at += 2;
    }
    let is_nested = !is_inside && said.token(at) == Some(&Token::LParen);
    at += usize::from(is_nested);
    let Some(number @ Token::Number(..)) = said.token(at) else { return wrong() };
    at += 1;
    let is_share = said.token(at) == Some(&Token::Mod) || said.is(at, "PERCENT");
    at += usize::from(is_share || said.is(at, "ROWS"));
    if is_inside || is_nested {
        if said.token(at) != Some(&Token::RParen) {
            return wrong();
        }
        at += 1;
    }
    let mut seed = None;
    let is_seed = |token: Option<&Token>| matches!(token, Some(Token::Number(..)));
    // `10 % (bernoulli, 42)`
    if method.is_none()
        && said.token(at) == Some(&Token::LParen)
        && said.is_one(at + 1, &["bernoulli", "system", "reservoir"])
    {
        method = said.word(at + 1).map(|word| word.value.to_lowercase());
        at += 2;
        if said.token(at) == Some(&Token::Comma) && is_seed(said.token(at + 1)) {
            seed = said.token(at + 1).cloned();
            at += 2;
        }
        if said.token(at) != Some(&Token::RParen) {
            return wrong();
        }
        at += 1;
    }
    if said.is(at, "REPEATABLE") {
        let is_whole = said.token(at + 1) == Some(&Token::LParen)
            && is_seed(said.token(at + 2))
            && said.token(at + 3) == Some(&Token::RParen);
        if !is_whole {
            let message = "expected a number behind REPEATABLE: REPEATABLE (42)";
            return Err(Error::Syntax { message: message.into() }.at(said.span(at)));
        }
        seed = said.token(at + 2).cloned();
        at += 4;
    }
    let is_exact = match method.as_deref() {
        None => !is_share,
        Some("reservoir") => true,
        Some("bernoulli" | "system") if is_share => false,
        Some(method @ ("bernoulli" | "system")) => {
            let message =
                format!("{method} takes a share of the rows, as 10 %; reservoir takes a number of them");
            return Err(Error::Invalid(message).at(said.span(begin)));
        }
        Some(_) => return wrong(),
    };
    Ok(Sample { from: begin, end: at, at: begin, number: number.clone(), is_share, is_exact, seed })
}

/// The last token of the only table of the SELECT that ends at `at`.
fn table_before(said: &Said<'_>, at: usize) -> Result<usize> {
    let (mut begin, mut place) = (None, at);
    while let Some(before) = place.checked_sub(1) {
        place = match said.token(before) {
            Some(Token::RParen) => said.opening(before).unwrap_or(0),
            Some(Token::LParen | Token::SemiColon) => break,
            _ => before,
        };
        if said.is_from(place) {
            begin = Some(place + 1);
            break;
        }
    }
    let several = || {
        let message = "USING SAMPLE of several tables, or of none\n  \
                       help: FROM (SELECT … FROM a JOIN b …) USING SAMPLE 10 % is a sample of what they give";
        Err(Error::Unsupported(message.into()).at(said.span(at)))
    };
    let Some(begin) = begin else { return several() };
    let clauses = ["SELECT", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "USING"];
    let end = said.until(begin, &clauses);
    let is_join = said.find(begin, &|at| said.token(at) == Some(&Token::Comma) || said.is(at, "JOIN")) < end;
    match end.checked_sub(1).filter(|last| *last >= begin && !is_join) {
        Some(last) => Ok(last),
        None => several(),
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn each_form_is_one() {
        for (text, read) in [
            ("FROM t TABLESAMPLE 10", "FROM t TABLESAMPLE ROW (10 ROWS)"),
            ("FROM t u TABLESAMPLE 5%", "FROM t u TABLESAMPLE BERNOULLI (5 PERCENT)"),
            ("FROM t TABLESAMPLE reservoir(5 PERCENT)", "FROM t TABLESAMPLE ROW (5 PERCENT)"),
            (
                "FROM t TABLESAMPLE system(5%) REPEATABLE (7)",
                "FROM t TABLESAMPLE BERNOULLI (5 PERCENT) REPEATABLE (7)",
            ),
            (
                "SELECT a FROM (SELECT 1) t WHERE b USING SAMPLE 5 % (bernoulli, 3)",
                "SELECT a FROM (SELECT 1) t TABLESAMPLE BERNOULLI (5 PERCENT) REPEATABLE (3) WHERE b",
            ),
            ("FROM t JOIN sample USING (k)", "FROM t JOIN sample USING(k)"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read, "{text}");
        }
        for (wrong, message) in [
            ("FROM t TABLESAMPLE x", "expected a sample"),
            ("FROM t TABLESAMPLE bernoulli(5 ROWS)", "takes a share"),
            ("FROM t, u USING SAMPLE 5", "of several tables"),
            ("FROM t TABLESAMPLE 5 REPEATABLE", "behind REPEATABLE"),
        ] {
            let error = parse(wrong).expect_err(wrong).to_string();
            assert!(error.contains(message), "{wrong}: {error}");
        }
    }
}
