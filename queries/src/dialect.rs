//! The dialect that the parser reads. It is sqlparser's generic one, with `||` and `^` where DuckDB and PostgreSQL have
//! them. It has `->` and `->>` where DuckDB has them, GLOB, and IN of a list.

use std::any::TypeId;

use sqlparser::ast::{BinaryOperator, Expr, Ident, UnaryOperator};
use sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The name of the operator GLOB in the syntax tree.
pub const GLOB: &str = "GLOB";

/// The name of the operator IN in the syntax tree where what stands behind it has no parentheses: `x IN list`.
pub const IN: &str = "IN";

/// The dialect of palais.
#[derive(Debug)]
pub struct Palais;

/// The precedence of `->`: less than that of OR.
const ARROW: u8 = 1;

/// Answers as the generic dialect does.
macro_rules! as_generic {
    ($($name:ident),* $(,)?) => {
        $(fn $name(&self) -> bool {
            GenericDialect.$name()
        })*
    };
}

impl Palais {
    /// The precedence of `^`.
    fn power(&self) -> u8 {
        self.prec_value(Precedence::MulDivModOp) + 1
    }
}

/// Whether the token behind so many others is a word, without quotes.
fn is_word(parser: &Parser, n: usize, word: &str) -> bool {
    matches!(&parser.peek_nth_token_ref(n).token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
}

/// Whether the next operator is the one of this name (`false`), or that with NOT before it (`true`).
fn follows(parser: &Parser, name: &str) -> Option<bool> {
    match is_word(parser, 0, "NOT") {
        true => is_word(parser, 1, name).then_some(true),
        false => is_word(parser, 0, name).then_some(false),
    }
}

/// The next operator that the parser does not read, and whether NOT stands before it: GLOB, and IN before a value without
/// parentheses.
fn own_follows(parser: &Parser) -> Option<(&'static str, bool)> {
    if let Some(negated) = follows(parser, GLOB) {
        return Some((GLOB, negated));
    }
    let negated = follows(parser, IN)?;
    let behind = 1 + usize::from(negated);
    let is_read =
        parser.peek_nth_token_ref(behind).token == Token::LParen || is_word(parser, behind, "UNNEST");
    (!is_read).then_some((IN, negated))
}

/// Whether the next word is ISNULL (`true`) or NOTNULL (`false`), PostgreSQL's short forms.
fn null_test(parser: &Parser) -> Option<bool> {
    let is = |word: &str| is_word(parser, 0, word);
    if is("ISNULL") { Some(true) } else { is("NOTNULL").then_some(false) }
}

/// Reads a name, which may stand in parentheses, before an arrow: the parser would read a lambda.
fn before_arrow(parser: &mut Parser) -> Option<Expr> {
    let name = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) if !matches!(word.keyword, Keyword::NULL | Keyword::TRUE | Keyword::FALSE) => {
            Some(word.to_ident(token.span))
        }
        _ => None,
    };
    let is = |parser: &Parser, n: usize, token: Token| parser.peek_nth_token_ref(n).token == token;
    // Of `ELSE a END -> b` it would read a parameter of the type END.
    if is(parser, 1, Token::Arrow) || (is_word(parser, 1, "END") && is(parser, 2, Token::Arrow)) {
        let name = name(parser.peek_token_ref())?;
        parser.advance_token();
        return Some(Expr::Identifier(name));
    }
    if !(is(parser, 0, Token::LParen) && is(parser, 2, Token::RParen) && is(parser, 3, Token::Arrow)) {
        return None;
    }
    let name: Ident = name(parser.peek_nth_token_ref(1))?;
    (0..3).for_each(|_| parser.advance_token());
    Some(Expr::Nested(Box::new(Expr::Identifier(name))))
}

impl Dialect for Palais {
    /// The parser asks in many places whether it reads the generic dialect.
    fn dialect(&self) -> TypeId {
        GenericDialect.dialect()
    }

    /// `||`, `->>` and `<->` bind less tightly than arithmetic, and more tightly than comparisons. `^` binds more tightly than
    /// `*`, GLOB as LIKE, and `->` less tightly than all others.
    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        match &parser.peek_token_ref().token {
            Token::StringConcat | Token::LongArrow | Token::CustomBinaryOperator(_) => {
                Some(Ok(self.prec_value(Precedence::Pipe)))
            }
            Token::Arrow => Some(Ok(ARROW)),
            Token::Caret => Some(Ok(self.power())),
            Token::Word(_) if follows(parser, GLOB).is_some() => Some(Ok(self.prec_value(Precedence::Like))),
            Token::Word(_) if null_test(parser).is_some() => Some(Ok(self.prec_value(Precedence::Is))),
            _ => None,
        }
    }

    /// A sign binds more tightly than `^`: `-2 ^ 2` is 4.
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        if let Some(name) = before_arrow(parser) {
            return Some(Ok(name));
        }
        let op = match parser.peek_token_ref().token {
            Token::Minus => UnaryOperator::Minus,
            Token::Plus => UnaryOperator::Plus,
            _ => return None,
        };
        parser.advance_token();
        let operand = parser.parse_subexpr(self.power());
        Some(operand.map(|e| Expr::UnaryOp { op, expr: Box::new(e) }))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        left: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if let Some(is_null) = null_test(parser) {
            parser.advance_token();
            let e = Box::new(left.clone());
            return Some(Ok(if is_null { Expr::IsNull(e) } else { Expr::IsNotNull(e) }));
        }
        let (name, negated) = own_follows(parser)?;
        (0..=usize::from(negated)).for_each(|_| parser.advance_token());
        let matched = parser.parse_subexpr(precedence).map(|right| Expr::BinaryOp {
            left: Box::new(left.clone()),
            op: BinaryOperator::Custom(name.into()),
            right: Box::new(right),
        });
        Some(match negated {
            true => matched
                .map(|e| Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(Expr::Nested(Box::new(e))) }),
            false => matched,
        })
    }

    /// Words that are no names of columns where what begins with them can't be read. INTERVAL, EXISTS and STRUCT may be.
    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        matches!(keyword, Keyword::CASE | Keyword::CAST | Keyword::TRIM)
    }

    /// `lambda x: x + 1`.
    fn supports_lambda_functions(&self) -> bool {
        true
    }

    /// `1_000`.
    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_identifier_start(ch) || is_symbol(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        GenericDialect.is_identifier_part(ch) || is_symbol(ch)
    }

    as_generic! {
        allow_extract_custom, allow_extract_single_quotes, support_map_literal_syntax,
        supports_array_join_syntax, supports_array_typedef_with_brackets,
        supports_asc_desc_in_column_definition, supports_bitwise_shift_operators,
        supports_comma_separated_set_assignments, supports_comma_separated_trim, supports_comment_on,
        supports_comment_optimizer_hint, supports_connect_by, supports_constraint_keyword_without_name,
        supports_create_index_with_clause, supports_create_view_comment_syntax, supports_cte_without_as,
        supports_data_type_signed_suffix, supports_detach, supports_dictionary_syntax,
        supports_empty_projections, supports_explain_with_utility_options, supports_extract_comma_syntax,
        supports_filter_during_aggregation, supports_from_first_select, supports_group_by_expr,
        supports_group_by_with_modifier, supports_install, supports_interpolate, supports_interval_options,
        supports_key_column_option, supports_left_associative_joins_without_parens, supports_limit_by,
        supports_limit_comma, supports_load_extension, supports_match_against, supports_match_recognize,
        supports_multiline_comment_hints, supports_named_fn_args_with_assignment_operator,
        supports_nested_comments, supports_optimize_table, supports_parens_around_table_factor,
        supports_parenthesized_set_variables, supports_partition_by_after_order_by, supports_pipe_operator,
        supports_prewhere, supports_projection_trailing_commas, supports_quote_delimited_string,
        supports_select_format, supports_select_item_multi_column_alias, supports_select_wildcard_except,
        supports_select_wildcard_exclude, supports_select_wildcard_ilike, supports_select_wildcard_rename,
        supports_select_wildcard_replace, supports_set_names, supports_settings,
        supports_start_transaction_modifier, supports_string_escape_constant, supports_struct_literal,
        supports_try_convert, supports_unicode_string_literal, supports_update_order_by,
        supports_user_host_grantee, supports_values_as_table_factor,
        supports_window_clause_named_window_reference, supports_window_function_null_treatment_arg,
        supports_with_fill, supports_xml_expressions,
    }
}

/// Whether a character outside of ASCII may stand in a name without quotes, as in PostgreSQL and DuckDB:
/// `SELECT 🦆 FROM t`.
fn is_symbol(ch: char) -> bool {
    !ch.is_ascii() && !ch.is_whitespace() && !ch.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of an expression with parentheses around each operation.
    fn nested(sql: &str) -> String {
        use sqlparser::ast::Expr;
        fn shown(e: &Expr) -> String {
            match e {
                Expr::BinaryOp { left, op, right } => format!("({} {op} {})", shown(left), shown(right)),
                other => other.to_string(),
            }
        }
        shown(&Parser::new(&Palais).try_with_sql(sql).unwrap().parse_expr().unwrap())
    }

    #[test]
    fn concatenation_binds_between_arithmetic_and_comparisons() {
        assert_eq!(nested("a || b % c"), "(a || (b % c))");
        assert_eq!(nested("a * b || c + d"), "((a * b) || (c + d))");
        assert_eq!(nested("a || b || c = d || e"), "(((a || b) || c) = (d || e))");
        assert_eq!(nested("a || b AND c"), "((a || b) AND c)");
        assert_eq!(nested("a & b || c"), "((a & b) || c)");
        assert_eq!(nested("a || b << c"), "(a || (b << c))");
    }

    #[test]
    fn the_power_binds_more_tightly_than_a_product_and_less_than_a_sign() {
        assert_eq!(nested("a * b ^ c"), "(a * (b ^ c))");
        assert_eq!(nested("a ^ b ^ c * d"), "(((a ^ b) ^ c) * d)");
        assert_eq!(nested("-a ^ b"), "(-a ^ b)");
        assert_eq!(nested("a ^ -b * c"), "((a ^ -b) * c)");
        assert_eq!(nested("- a::INT * b"), "(-a::INT * b)");
        assert_eq!(nested("a ^ b::INT"), "(a ^ b::INT)");
    }

    #[test]
    fn arrows_bind_as_duckdb_has_them() {
        assert_eq!(nested("a -> b -> c"), "((a -> b) -> c)");
        assert_eq!(nested("a -> b = c OR d"), "(a -> ((b = c) OR d))");
        assert_eq!(nested("a = b -> c"), "((a = b) -> c)");
        assert_eq!(nested("(a) -> b + c"), "((a) -> (b + c))");
        assert_eq!(nested("a ->> b = c AND d"), "(((a ->> b) = c) AND d)");
        assert_eq!(nested("a ->> b || c + d"), "((a ->> b) || (c + d))");
        assert_eq!(nested("a || b ->> c"), "((a || b) ->> c)");
        assert_eq!(nested("a -> b ->> c"), "(a -> (b ->> c))");
        assert_eq!(nested("t.a -> b::INT"), "(t.a -> b::INT)");
        assert_eq!(nested("(x, i) -> x + i"), "(x, i) -> x + i");
        assert_eq!(nested("CASE WHEN a THEN b ELSE c END -> d"), "(CASE WHEN a THEN b ELSE c END -> d)");
        assert_eq!(nested("CASE a WHEN b THEN c END -> d"), "(CASE a WHEN b THEN c END -> d)");
    }

    #[test]
    fn glob_binds_as_like() {
        assert_eq!(nested("a GLOB b || c"), "(a GLOB (b || c))");
        assert_eq!(nested("a AND b glob c"), "(a AND (b GLOB c))");
        assert_eq!(nested("a NOT GLOB b"), "NOT (a GLOB b)");
        assert_eq!(nested("glob + 1"), "(glob + 1)");
    }

    #[test]
    fn in_reads_a_value_without_parentheses() {
        assert_eq!(nested("a IN b || c AND d"), "((a IN (b || c)) AND d)");
        assert_eq!(nested("a + 1 NOT IN b"), "NOT (a + 1 IN b)");
        assert_eq!(nested("a IN [1, 2] = b"), "((a IN [1, 2]) = b)");
        assert_eq!(nested("a IN (1, 2)"), "a IN (1, 2)");
        assert_eq!(nested("position(a IN b)"), "POSITION(a IN b)");
    }

    #[test]
    fn what_the_generic_dialect_reads_is_read() {
        for sql in [
            "SELECT * EXCLUDE (a) FROM t GROUP BY GROUPING SETS ((a), ())",
            "FROM t",
            "SELECT count(*) FILTER (WHERE a) FROM t, (VALUES (1)) v",
            "SELECT E'a\\n', \"a b\", extract(year FROM d), [1, 2], MAP {'a': 1}",
        ] {
            let ours = Parser::parse_sql(&Palais, sql).unwrap();
            assert_eq!(ours, Parser::parse_sql(&GenericDialect, sql).unwrap(), "{sql}");
        }
    }
}
