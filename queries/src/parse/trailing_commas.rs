//! `[1, 2,]` and `{'a': 1,}`: a comma behind the last item of a list or struct, which the parser reads behind select lists
//! alone.

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
    let places: Vec<usize> = (0..said.len()).filter(is_last).map(|at| said.before(at).len()).collect();
    let mut tokens = tokens;
    for place in places.into_iter().rev() {
        tokens.remove(place);
    }
    tokens
}
