//! The parser's visits to the nodes of a statement, compiled once for all visitors. An instance of them has code for
//! every kind of node, and those of ten visitors took long to compile.

use std::ops::ControlFlow;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Expr, ObjectName, ObjectNamePart, Query, Select, SelectItem, Statement, TableFactor, ValueWithSpan,
    Visit, VisitMut, Visitor, VisitorMut,
};
use sqlparser::tokenizer::{Span, TokenWithSpan};

use crate::error::{Error, Result};

/// Any visitor that changes nodes.
struct Changing<'a>(&'a mut dyn VisitorMut<Break = Error>);

/// Any visitor that looks at nodes.
struct Looking<'a>(&'a mut dyn Visitor<Break = ()>);

macro_rules! forward {
    ($of:ty; $($name:ident: $node:ty,)*) => {
        $(fn $name(&mut self, node: $node) -> ControlFlow<$of> {
            self.0.$name(node)
        })*
    };
}

impl VisitorMut for Changing<'_> {
    type Break = Error;

    forward! { Error;
        pre_visit_query: &mut Query,
        post_visit_query: &mut Query,
        pre_visit_select: &mut Select,
        post_visit_select: &mut Select,
        pre_visit_relation: &mut ObjectName,
        post_visit_relation: &mut ObjectName,
        pre_visit_table_factor: &mut TableFactor,
        post_visit_table_factor: &mut TableFactor,
        pre_visit_expr: &mut Expr,
        post_visit_expr: &mut Expr,
        pre_visit_statement: &mut Statement,
        post_visit_statement: &mut Statement,
        pre_visit_value: &mut ValueWithSpan,
        post_visit_value: &mut ValueWithSpan,
    }
}

impl Visitor for Looking<'_> {
    type Break = ();

    forward! { ();
        pre_visit_query: &Query,
        post_visit_query: &Query,
        pre_visit_select: &Select,
        post_visit_select: &Select,
        pre_visit_relation: &ObjectName,
        post_visit_relation: &ObjectName,
        pre_visit_table_factor: &TableFactor,
        post_visit_table_factor: &TableFactor,
        pre_visit_expr: &Expr,
        post_visit_expr: &Expr,
        pre_visit_statement: &Statement,
        post_visit_statement: &Statement,
        pre_visit_value: &ValueWithSpan,
        post_visit_value: &ValueWithSpan,
    }
}

/// Has a visitor change a node and those below it.
pub fn change(node: &mut impl VisitMut, visitor: &mut dyn VisitorMut<Break = Error>) -> ControlFlow<Error> {
    node.visit(&mut Changing(visitor))
}

/// Has a visitor look at a node and those below it.
pub fn look(node: &impl Visit, visitor: &mut dyn Visitor<Break = ()>) -> ControlFlow<()> {
    node.visit(&mut Looking(visitor))
}

/// Changes each expression of a node, those within others first.
#[cfg(test)]
pub fn change_expressions(node: &mut impl VisitMut, change_one: &mut dyn FnMut(&mut Expr)) {
    struct Each<'a>(&'a mut dyn FnMut(&mut Expr));

    impl VisitorMut for Each<'_> {
        type Break = Error;

        fn post_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<Error> {
            (self.0)(e);
            ControlFlow::Continue(())
        }
    }

    // It never breaks off.
    let _ = change(node, &mut Each(change_one));
}

/// Changes each expression of a node that is not within a subquery, those within others first.
pub fn change_outside_subqueries(node: &mut impl VisitMut, change_one: &mut dyn FnMut(&mut Expr)) {
    // It never breaks off.
    let _ = try_outside_subqueries(node, &mut |e| {
        change_one(e);
        Ok(())
    });
}

/// The same where a change may fail.
///
/// # Errors
/// That of the first change that fails.
pub fn try_outside_subqueries(
    node: &mut impl VisitMut,
    change_one: &mut dyn FnMut(&mut Expr) -> Result<()>,
) -> Result<()> {
    struct Outside<'a> {
        change: &'a mut dyn FnMut(&mut Expr) -> Result<()>,
        /// How many queries are around.
        depth: usize,
    }

    impl VisitorMut for Outside<'_> {
        type Break = Error;

        fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
            self.depth += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }

        fn post_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<Error> {
            match self.depth {
                0 => (self.change)(e).map_or_else(ControlFlow::Break, ControlFlow::Continue),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    match change(node, &mut Outside { change: change_one, depth: 0 }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Gives all that a node says one place in the text, since it is written in another form there, or nowhere.
pub fn place_all(node: &mut impl VisitMut, place: Span) {
    struct Placing(Span);

    impl VisitorMut for Placing {
        type Break = Error;

        fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
            let word = TokenWithSpan { span: self.0, ..select.select_token.0.clone() };
            select.select_token = AttachedToken(word);
            for item in &mut select.projection {
                if let SelectItem::Wildcard(options) = item {
                    let star = TokenWithSpan { span: self.0, ..options.wildcard_token.0.clone() };
                    options.wildcard_token = AttachedToken(star);
                }
            }
            ControlFlow::Continue(())
        }

        fn pre_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<Error> {
            self.name(name);
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<Error> {
            match e {
                Expr::Identifier(name) => name.span = self.0,
                Expr::CompoundIdentifier(parts) => parts.iter_mut().for_each(|part| part.span = self.0),
                Expr::Function(function) => self.name(&mut function.name),
                _ => {}
            }
            ControlFlow::Continue(())
        }

        fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<Error> {
            value.span = self.0;
            ControlFlow::Continue(())
        }
    }

    impl Placing {
        fn name(&self, name: &mut ObjectName) {
            for part in &mut name.0 {
                if let ObjectNamePart::Identifier(part) = part {
                    part.span = self.0;
                }
            }
        }
    }

    // It never breaks off.
    let _ = change(node, &mut Placing(place));
}

/// Whether an expression of a node is such, those around others first.
pub fn any_expression(node: &impl Visit, is: &mut dyn FnMut(&Expr) -> bool) -> bool {
    struct Any<'a>(&'a mut dyn FnMut(&Expr) -> bool);

    impl Visitor for Any<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
            if (self.0)(e) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    look(node, &mut Any(is)).is_break()
}
