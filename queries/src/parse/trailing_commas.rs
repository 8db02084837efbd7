//! `[1, 2,]` and `{'a': 1,}`: a comma behind the last item of a list or struct, which the parser reads behind select
//! lists alone.

use std::collections::BTreeSet;

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::said::Said;

/// The tokens of a text without such commas.
pub fn taken_out(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = Said::of(&tokens);
    let is_last = |at: &usize| {
        said.token(*at) == Some(&Token::Comma)
            && matches!(said.token(*at + 1), Some(Token::RBracket | Token::RBrace))
            && *at > 0
            && !matches!(said.token(*at - 1), Some(Token::LBracket | Token::LBrace | Token::Comma))
    };
    let places: BTreeSet<usize> = (0..said.len()).filter(is_last).map(|at| said.before(at).len()).collect();
    if places.is_empty() {
        return tokens;
    }
    let kept = tokens.into_iter().enumerate().filter(|(place, _)| !places.contains(place));
    kept.map(|(_, token)| token).collect()
}
