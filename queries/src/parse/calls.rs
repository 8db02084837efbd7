//! Calls of functions with names that no text can have, two words without quotes. They hold what a clause says that the
//! parser does not know, where the binder finds it.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectNamePart, SelectItem, Value,
};
use sqlparser::tokenizer::Span;

/// A call at this place of the text.
pub fn of(name: &str, args: Vec<Expr>, place: Span) -> Expr {
    let args = args.into_iter().map(|e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e))).collect();
    Expr::Function(Function {
        name: Ident::with_span(place, name).into(),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// The call of one of these names that an item of a select list is.
pub fn call<'q>(item: &'q SelectItem, names: &[&str]) -> Option<&'q Function> {
    match item {
        SelectItem::UnnamedExpr(Expr::Function(function)) => {
            name_of(function).filter(|name| names.contains(name)).map(|_| function)
        }
        _ => None,
    }
}

/// The name of a call, without quotes.
pub fn name_of(function: &Function) -> Option<&str> {
    match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(name)] if name.quote_style.is_none() => Some(&name.value),
        _ => None,
    }
}

/// Whether a call has such a name.
pub fn is_made(function: &Function) -> bool {
    name_of(function).is_some_and(|name| name.contains(' '))
}

/// The arguments of a call that are expressions without names.
pub fn args(function: &Function) -> impl Iterator<Item = &Expr> {
    let list = match &function.args {
        FunctionArguments::List(list) => list.args.as_slice(),
        _ => &[],
    };
    list.iter().filter_map(unnamed)
}

/// The expression that an argument is, if it has no name.
pub fn unnamed(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Some(e),
        _ => None,
    }
}

/// The digits of an expression that is a number.
pub fn digits(value: &Expr) -> Option<&str> {
    match value {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => Some(digits),
            _ => None,
        },
        _ => None,
    }
}
