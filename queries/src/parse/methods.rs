//! `'abc'.upper()`: a function behind the value that is its first argument. The parser reads it as the name of a field.
//! Here it is `upper('abc')`.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart, VisitMut,
    VisitorMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::said::Said;
use crate::error::Error;
use crate::names::same;
use crate::visitors;

/// The tokens of a text in which names of functions behind a point are names like any other: `x.substr(1, 2)`.
pub fn named(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = Said::of(&tokens);
    let is_called = |at: usize| {
        said.token(at - 1) == Some(&Token::Period)
            && said.token(at + 1) == Some(&Token::LParen)
            && said.word(at).is_some_and(|word| word.keyword != Keyword::NoKeyword)
    };
    let places: Vec<usize> =
        (1..said.len()).filter(|at| is_called(*at)).map(|at| said.before(at).len()).collect();
    for place in places {
        if let Token::Word(word) = &mut tokens[place].token {
            word.keyword = Keyword::NoKeyword;
        }
    }
    tokens
}

/// Makes plain calls of those that stand behind their first argument: a value, or one of these parameters of a macro.
pub fn called(node: &mut impl VisitMut, parameters: &[String]) -> ControlFlow<Error> {
    visitors::change(node, &mut Methods { parameters })
}

struct Methods<'a> {
    parameters: &'a [String],
}

impl VisitorMut for Methods<'_> {
    type Break = Error;

    fn post_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Function(function) = e
            && let [ObjectNamePart::Identifier(first), _, ..] = function.name.0.as_slice()
            && self.parameters.iter().any(|parameter| same(parameter, &first.value))
        {
            let (parameter, mut function) = (Expr::Identifier(first.clone()), function.clone());
            function.name.0.remove(0);
            let access_chain = vec![AccessExpr::Dot(Expr::Function(function))];
            *e = Expr::CompoundFieldAccess { root: Box::new(parameter), access_chain };
        }
        let is_call = |access: &AccessExpr| matches!(access, AccessExpr::Dot(Expr::Function(_)));
        let Expr::CompoundFieldAccess { root, access_chain } = e else { return ControlFlow::Continue(()) };
        if !access_chain.iter().any(is_call) {
            return ControlFlow::Continue(());
        }
        let null = || Expr::Value(sqlparser::ast::Value::Null.into());
        let mut value = std::mem::replace(root.as_mut(), null());
        let mut fields = Vec::new();
        for access in std::mem::take(access_chain) {
            match access {
                AccessExpr::Dot(Expr::Function(mut function)) => {
                    // Names before that of the function are fields.
                    let before = function.name.0.len().saturating_sub(1);
                    let names = function.name.0.drain(..before);
                    let names = names.filter_map(|part| part.as_ident().cloned());
                    fields.extend(names.map(|name| AccessExpr::Dot(Expr::Identifier(name))));
                    value = of(function, with_fields(value, std::mem::take(&mut fields)));
                }
                field => fields.push(field),
            }
        }
        *e = with_fields(value, fields);
        ControlFlow::Continue(())
    }
}

fn with_fields(value: Expr, access_chain: Vec<AccessExpr>) -> Expr {
    match access_chain.is_empty() {
        true => value,
        false => Expr::CompoundFieldAccess { root: Box::new(value), access_chain },
    }
}

/// A call with one more argument, before the others. A subquery keeps its parentheses, others need none.
fn of(mut function: Function, first: Expr) -> Expr {
    let first = match first {
        Expr::Nested(inner) => *inner,
        other => other,
    };
    if let FunctionArguments::List(list) = &mut function.args {
        list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(first)));
    }
    Expr::Function(function)
}

#[cfg(test)]
mod tests {
    use crate::parse::{Statement, parse};

    #[test]
    fn a_call_behind_a_value_has_it_as_first_argument() {
        for (text, read) in [
            ("SELECT 'abc'.upper().substr(1, 2)", "SELECT substr(upper('abc'), 1, 2)"),
            ("SELECT ('a' || b).substr(1)", "SELECT substr('a' || b, 1)"),
            ("SELECT (SELECT 1).abs()", "SELECT abs((SELECT 1))"),
            ("SELECT [3, 1].list_sort()[1]", "SELECT list_sort([3, 1])[1]"),
            ("SELECT x.upper().lower()", "SELECT lower(upper(x))"),
            ("SELECT (x).a.sum() OVER ()", "SELECT sum((x).a) OVER ()"),
            ("SELECT {'a': 1}.a.abs()", "SELECT abs({'a': 1}.a)"),
            ("SELECT (x).a[1]", "SELECT (x).a[1]"),
        ] {
            let Ok(Statement::Query(query)) = parse(text) else { panic!("no query: {text}") };
            assert_eq!(query.to_string(), read, "{text}");
        }
    }
}
