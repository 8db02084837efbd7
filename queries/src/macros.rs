//! Macros: names of expressions and queries with parameters. A query that calls some gets what they stand for in the
//! place of the calls, before any name in it is looked up. So a name in a macro means what it means where the macro is
//! called.
//!
//! An argument that names columns may come to stand in a subquery or a lambda of the macro, whose own names it must not
//! mean. There it is the call of [`ARGUMENT`], and around all that the macro stands for is one of [`VALUE`]. Both have
//! the same number. The binder looks for the names of the argument where the latter stands.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Query,
    Select, SelectItem, Spanned, Subscript, TableAlias, TableFactor, Value, Visit, Visitor, VisitorMut,
};
use sqlparser::tokenizer::Span;

use crate::bounds::{self, MOST_EXPANDED};
use crate::error::{Error, Result};
use crate::names::{relations_of, table_name};
use crate::parse::{calls, readers};
use crate::visitors;

/// A macro.
#[derive(Debug, Clone)]
pub struct Macro {
    /// Its name.
    pub name: String,
    /// Whether it stands in FROM.
    pub is_table: bool,
    /// What calls stand for, by their arguments: the first that takes these counts.
    pub forms: Vec<Form>,
}

/// What calls with some arguments stand for.
#[derive(Debug, Clone)]
pub struct Form {
    /// The parameters. Those without a default come first.
    pub parameters: Vec<Parameter>,
    /// The expression or query.
    pub body: Body,
    /// The tokens of the body, which is at most as deep.
    pub size: usize,
}

/// A parameter of a macro.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it is where a call gives nothing.
    pub default: Option<Expr>,
}

/// What a call of a macro becomes.
#[derive(Debug, Clone)]
pub enum Body {
    /// A value.
    Expr(Box<Expr>),
    /// A relation.
    Query(Box<Query>),
}

/// The call that an argument within a subquery or lambda is: of a number and the argument.
pub(crate) const ARGUMENT: &str = "macro argument";
/// The call that is around what a macro with such arguments stands for: of the number and that.
pub(crate) const VALUE: &str = "macro value";

/// Macros by their names in lower case: those that stand in FROM apart from the others.
#[derive(Debug, Clone, Default)]
pub struct Macros {
    scalar: BTreeMap<String, Arc<Macro>>,
    table: BTreeMap<String, Arc<Macro>>,
}

impl Macros {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.scalar.is_empty() && self.table.is_empty()
    }

    /// The macro of this name.
    pub fn get(&self, name: &str, is_table: bool) -> Option<&Arc<Macro>> {
        self.of(is_table).get(&name.to_lowercase())
    }

    /// Adds a macro, or replaces the one of this name.
    ///
    /// # Errors
    /// It calls itself, by way of others perhaps, or a parameter is wrong.
    pub fn insert(&mut self, one: Macro) -> Result<()> {
        one.forms.iter().try_for_each(|form| form.check(&one.name))?;
        let (key, is_table) = (one.name.to_lowercase(), one.is_table);
        let before = self.of_mut(is_table).insert(key.clone(), Arc::new(one));
        if !self.calls_itself(&key, is_table) {
            return Ok(());
        }
        let added = match before {
            Some(before) => self.of_mut(is_table).insert(key, before),
            None => self.of_mut(is_table).remove(&key),
        };
        let name = added.map_or_else(String::new, |added| added.name.clone());
        Err(Error::Invalid(format!("the macro '{name}' would call itself")))
    }

    /// Forgets the macro of this name; false if there is none.
    pub fn remove(&mut self, name: &str, is_table: bool) -> bool {
        self.of_mut(is_table).remove(&name.to_lowercase()).is_some()
    }

    /// The query with what macros stand for in the place of their calls.
    ///
    /// # Errors
    /// A call does not have the arguments of its macro, or the query is too large then.
    pub fn expand(&self, query: &Arc<Query>) -> Result<Arc<Query>> {
        if self.is_empty() || !self.occur_in(query) {
            return Ok(query.clone());
        }
        let mut query = Query::clone(query);
        let mut calls = Calls { macros: self, expanded: 0, numbers: BTreeMap::new() };
        if let ControlFlow::Break(error) = visitors::change(&mut query, &mut calls) {
            return Err(error);
        }
        // A path may have been an argument.
        if let ControlFlow::Break(error) = visitors::change(&mut query, &mut readers::Name) {
            return Err(error);
        }
        bounds::check_depth(&query)?;
        bounds::check_tree(&query)?;
        Ok(Arc::new(query))
    }

    fn of(&self, is_table: bool) -> &BTreeMap<String, Arc<Macro>> {
        if is_table { &self.table } else { &self.scalar }
    }

    fn of_mut(&mut self, is_table: bool) -> &mut BTreeMap<String, Arc<Macro>> {
        if is_table { &mut self.table } else { &mut self.scalar }
    }

    /// The macro that an expression calls.
    fn called(&self, e: &Expr) -> Option<&Arc<Macro>> {
        let Expr::Function(function) = e else { return None };
        let name = function.name.0.last()?.as_ident()?;
        self.scalar.get(&name.value.to_lowercase())
    }

    /// The macro that a relation in FROM calls.
    fn called_in_from(&self, factor: &TableFactor) -> Option<&Arc<Macro>> {
        let TableFactor::Table { name, args: Some(_), .. } = factor else { return None };
        self.table.get(&table_name(name).to_lowercase())
    }

    fn occur_in(&self, query: &Query) -> bool {
        !self.calls_of(query).is_empty()
    }

    /// The keys of the macros that a node calls, and whether they stand in FROM.
    fn calls_of(&self, node: &impl Visit) -> Vec<(String, bool)> {
        struct Found<'a>(&'a Macros, Vec<(String, bool)>);

        impl Visitor for Found<'_> {
            type Break = ();

            fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
                self.1.extend(self.0.called(e).map(|one| (one.name.to_lowercase(), false)));
                ControlFlow::Continue(())
            }

            fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
                self.1.extend(self.0.called_in_from(factor).map(|one| (one.name.to_lowercase(), true)));
                ControlFlow::Continue(())
            }
        }

        let mut found = Found(self, Vec::new());
        // It never breaks off.
        let _ = visitors::look(node, &mut found);
        found.1
    }

    fn calls_itself(&self, key: &str, is_table: bool) -> bool {
        let (mut open, mut done) = (vec![(key.to_string(), is_table)], Vec::new());
        while let Some(one) = open.pop() {
            let Some(called) = self.of(one.1).get(&one.0) else { continue };
            let calls = called.forms.iter().flat_map(|form| {
                let mut calls = match &form.body {
                    Body::Expr(e) => self.calls_of(e.as_ref()),
                    Body::Query(query) => self.calls_of(query.as_ref()),
                };
                let defaults = form.parameters.iter().filter_map(|parameter| parameter.default.as_ref());
                calls.extend(defaults.flat_map(|e| self.calls_of(e)));
                calls
            });
            for next in calls {
                if next.0 == key && next.1 == is_table {
                    return true;
                }
                if !done.contains(&next) {
                    done.push(next.clone());
                    open.push(next);
                }
            }
        }
        false
    }
}

impl Form {
    /// Checks the parameters.
    fn check(&self, of: &str) -> Result<()> {
        let names: Vec<String> = self.parameters.iter().map(|one| one.name.to_lowercase()).collect();
        if let Some(i) = (0..names.len()).find(|&i| names[..i].contains(&names[i])) {
            let name = &self.parameters[i].name;
            return Err(Error::Invalid(format!("the macro '{of}' has two parameters '{name}'")));
        }
        let optional = self.parameters.iter().skip_while(|one| one.default.is_none());
        if let Some(one) = optional.into_iter().find(|one| one.default.is_none()) {
            let message = format!(
                "the parameter '{}' of the macro '{of}' has no default, and one before it has",
                one.name
            );
            return Err(Error::Invalid(message));
        }
        Ok(())
    }

    /// For each parameter what a call gives for it; `None` if the call has other arguments.
    fn given(&self, given: &[Given]) -> Option<BTreeMap<String, Argument>> {
        let mut values = BTreeMap::new();
        let places = given.iter().take_while(|one| one.name.is_none()).count();
        for (i, one) in given.iter().enumerate() {
            let parameter = match &one.name {
                Some(name) => self.parameters.iter().find(|of| of.is(&name.value)),
                None if i < places => self.parameters.get(i),
                None => None,
            };
            let argument = Argument { e: one.value.clone(), uses: 0 };
            if values.insert(parameter?.name.to_lowercase(), argument).is_some() {
                return None;
            }
        }
        for parameter in &self.parameters {
            if let Entry::Vacant(entry) = values.entry(parameter.name.to_lowercase()) {
                entry.insert(Argument { e: parameter.default.clone()?, uses: 1 });
            }
        }
        Some(values)
    }
}

impl Parameter {
    /// Whether a call that says this name means it.
    fn is(&self, name: &str) -> bool {
        self.name.to_lowercase() == name.to_lowercase()
    }
}

/// What a parameter is in a call.
struct Argument {
    e: Expr,
    /// How often it was put; a default, which no statement has yet, counts as put once.
    uses: usize,
}

/// An argument of a call.
struct Given {
    name: Option<Ident>,
    value: Expr,
}

/// The arguments of a call; `None` if one is no expression.
fn given(args: &[FunctionArg]) -> Option<Vec<Given>> {
    let one = |arg: &FunctionArg| {
        let (name, value) = match arg {
            FunctionArg::Unnamed(value) => (None, value),
            FunctionArg::Named { name, arg, .. } => (Some(name.clone()), arg),
            FunctionArg::ExprNamed { name: Expr::Identifier(name), arg, .. } => (Some(name.clone()), arg),
            FunctionArg::ExprNamed { .. } => return None,
        };
        match value {
            FunctionArgExpr::Expr(value) => Some(Given { name, value: value.clone() }),
            _ => None,
        }
    };
    args.iter().map(one).collect()
}

/// The name of a function that is called by a name of one part.
fn plain_name(function: &Function) -> Option<&str> {
    match function.name.0.as_slice() {
        [part] => part.as_ident().map(|name| name.value.as_str()),
        _ => None,
    }
}

/// The column before the point of `x.m()`, which is the first argument.
fn before_point(name: &ObjectName) -> Option<Expr> {
    let parts: Option<Vec<Ident>> = name.0.iter().map(|part| part.as_ident().cloned()).collect();
    match parts?.as_slice() {
        [] | [_] => None,
        [column, _] => Some(Expr::Identifier(column.clone())),
        [path @ .., _] => Some(Expr::CompoundIdentifier(path.to_vec())),
    }
}

/// Puts what macros stand for in the place of calls, from the outside in.
struct Calls<'a> {
    macros: &'a Macros,
    /// The sizes of what was put into the query.
    expanded: usize,
    /// The numbers of calls, by their texts: what is called twice in one way is one expression, as GROUP BY wants it. No
    /// call is within what it stands for itself.
    numbers: BTreeMap<String, usize>,
}

impl VisitorMut for Calls<'_> {
    type Break = Error;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        // PIVOT makes names of its own.
        let is_marked = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(Expr::Function(f)) if calls::is_made(f));
        if select.projection.iter().any(is_marked) {
            return ControlFlow::Continue(());
        }
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(e) = item
                && visitors::any_expression(e, &mut |e| self.macros.called(e).is_some())
            {
                // The column has the name of what is written.
                let alias = Ident::with_quote_and_span('"', e.span(), e.to_string());
                *item = SelectItem::ExprWithAlias { expr: e.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<Error> {
        while let Some(called) = self.macros.called(e).cloned() {
            let Expr::Function(function) = &*e else { break };
            match self.value(function, &called) {
                Ok(value) => *e = value,
                Err(error) => return ControlFlow::Break(error.at(function.name.span())),
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let Some(called) = self.macros.called_in_from(factor).cloned() else {
            return ControlFlow::Continue(());
        };
        let TableFactor::Table { name, alias, args: Some(args), sample, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let span = name.span();
        match self.body(&called, &args.args, span) {
            Ok(Body::Query(subquery)) => {
                let own = TableAlias {
                    explicit: false,
                    name: Ident::with_quote_and_span('"', span, called.name.clone()),
                    columns: Vec::new(),
                    at: None,
                };
                let alias = Some(alias.take().unwrap_or(own));
                *factor = TableFactor::Derived { lateral: false, subquery, alias, sample: sample.take() };
                ControlFlow::Continue(())
            }
            Ok(Body::Expr(_)) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error.at(span)),
        }
    }
}

impl Calls<'_> {
    /// What a call in an expression stands for.
    fn value(&mut self, call: &Function, called: &Macro) -> Result<Expr> {
        let none = || {
            let what = "DISTINCT, ORDER BY, FILTER or OVER of the macro";
            Error::Unsupported(format!("{what} '{}', which is no function alone", called.name))
        };
        let Function { name, parameters, args, filter, null_treatment, over, within_group, .. } = call;
        let is_bare = matches!(parameters, FunctionArguments::None)
            && filter.is_none()
            && null_treatment.is_none()
            && within_group.is_empty();
        match args {
            FunctionArguments::List(list)
                if is_bare && list.clauses.is_empty() && list.duplicate_treatment.is_none() =>
            {
                let mut args = Cow::Borrowed(list.args.as_slice());
                if let Some(first) = before_point(name) {
                    args.to_mut().insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(first)));
                }
                match (self.body(called, &args, name.span())?, over) {
                    (Body::Expr(value), None) => Ok(Expr::Nested(value)),
                    (Body::Query(query), None) => Ok(Expr::Subquery(query)),
                    // It is that of the one function that the macro stands for.
                    (Body::Expr(value), Some(over)) => match *value {
                        Expr::Function(function)
                            if function.over.is_none() && plain_name(&function) != Some(VALUE) =>
                        {
                            Ok(Expr::Function(Function { over: Some(over.clone()), ..function }))
                        }
                        _ => Err(none()),
                    },
                    (Body::Query(_), Some(_)) => Err(none()),
                }
            }
            _ => Err(none()),
        }
    }

    /// Counts what is put into the query.
    fn count(&mut self, size: usize) -> Result<()> {
        self.expanded = self.expanded.saturating_add(size);
        if self.expanded <= MOST_EXPANDED {
            return Ok(());
        }
        let message =
            format!("its macros stand for more than {MOST_EXPANDED} words, and may stand for so many");
        Err(Error::TooLarge { message })
    }

    /// The number of a call.
    fn number(&mut self, called: &Macro, args: &[FunctionArg]) -> usize {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let next = self.numbers.len();
        *self.numbers.entry(format!("{}({})", called.name, args.join(", "))).or_insert(next)
    }

    /// What a call with these arguments stands for, all of it at the place of the call.
    fn body(&mut self, called: &Macro, args: &[FunctionArg], place: Span) -> Result<Body> {
        let found = given(args).and_then(|given| {
            called.forms.iter().find_map(|form| form.given(&given).map(|values| (form, values)))
        });
        let Some((form, values)) = found else {
            let forms: Vec<String> = called.forms.iter().map(|form| form.shown(&called.name)).collect();
            let message = format!(
                "the macro '{}' takes other arguments\n  help: it is called as {}",
                called.name,
                forms.join(" or ")
            );
            return Err(Error::Invalid(message));
        };
        self.count(form.size.max(1))?;
        let mut body = form.body.clone();
        let call = (!called.is_table).then_some((called, args));
        let mut put =
            Put { calls: self, call, values, number: None, depth: 0, shadows: vec![], tables: vec![] };
        let done = match &mut body {
            Body::Expr(e) => {
                visitors::place_all(e.as_mut(), place);
                visitors::change(e.as_mut(), &mut put)
            }
            Body::Query(query) => {
                visitors::place_all(query.as_mut(), place);
                visitors::change(query.as_mut(), &mut put)
            }
        };
        if let ControlFlow::Break(error) = done {
            return Err(error);
        }
        Ok(match (body, put.number) {
            (Body::Expr(e), Some(number)) => Body::Expr(Box::new(made(VALUE, number, *e, place))),
            (body, _) => body,
        })
    }
}

/// The call of [`ARGUMENT`] or [`VALUE`].
fn made(name: &str, number: usize, of: Expr, place: Span) -> Expr {
    let number = Expr::Value(Value::Number(number.to_string(), false).with_span(place));
    calls::of(name, vec![number, of], place)
}

impl Form {
    /// How it is called: `m(a, b := 1)`.
    fn shown(&self, name: &str) -> String {
        let parameters = self.parameters.iter().map(|one| match &one.default {
            Some(default) => format!("{} := {default}", one.name),
            None => one.name.clone(),
        });
        format!("{name}({})", parameters.collect::<Vec<_>>().join(", "))
    }
}

/// Puts arguments in the place of parameters, from the inside out: what was put is not looked at again.
struct Put<'a, 'b> {
    calls: &'a mut Calls<'b>,
    /// The arguments by the names of their parameters, in lower case.
    values: BTreeMap<String, Argument>,
    /// The macro that is called and its arguments; nothing if they are put as they are.
    call: Option<(&'a Macro, &'a [FunctionArg])>,
    /// The number of the call, as soon as an argument has it.
    number: Option<usize>,
    /// How many queries and lambdas are around what is at hand.
    depth: usize,
    /// The parameters of the lambdas around, in lower case.
    shadows: Vec<Vec<String>>,
    /// The tables of the queries around, in lower case. `t.a` is a column of theirs and no field of a parameter `t`.
    tables: Vec<Vec<String>>,
}

impl Put<'_, '_> {
    /// What stands in the place of a name, if it is that of a parameter.
    fn value(&mut self, name: &Ident) -> Result<Option<Expr>> {
        let key = name.value.to_lowercase();
        if self.shadows.iter().any(|names| names.contains(&key)) {
            return Ok(None);
        }
        let Some(argument) = self.values.get_mut(&key) else { return Ok(None) };
        if argument.uses > 0 {
            let mut size = 0;
            visitors::any_expression(&argument.e, &mut |_| {
                size += 1;
                false
            });
            self.calls.count(size)?;
        }
        argument.uses += 1;
        let value = argument.e.clone();
        let names = &mut |e: &Expr| matches!(e, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        Ok(Some(match self.call {
            Some((called, args)) if self.depth > 0 && visitors::any_expression(&value, names) => {
                let number = match self.number {
                    Some(number) => number,
                    None => self.calls.number(called, args),
                };
                self.number = Some(number);
                made(ARGUMENT, number, value, name.span)
            }
            _ if is_whole(&value) => value,
            _ => Expr::Nested(Box::new(value)),
        }))
    }
}

/// The tables of a SELECT.
fn tables(select: &Select) -> Vec<String> {
    select.from.iter().flat_map(relations_of).collect()
}

/// Whether no operator beside an expression can take a part of it alone.
fn is_whole(e: &Expr) -> bool {
    matches!(e, Expr::Value(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Nested(_))
}

impl VisitorMut for Put<'_, '_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.depth += 1;
        // ORDER BY stands behind the SELECT, and has its tables.
        self.tables.push(query.body.as_select().map_or_else(Vec::new, tables));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        self.tables.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.tables.push(tables(select));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Error> {
        self.tables.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Lambda(lambda) = e {
            self.depth += 1;
            self.shadows.push(lambda.params.iter().map(|one| one.name.value.to_lowercase()).collect());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<Error> {
        match e {
            Expr::Lambda(_) => {
                self.depth -= 1;
                self.shadows.pop();
            }
            Expr::Identifier(name) => match self.value(&name.clone()) {
                Ok(Some(value)) => *e = value,
                Ok(None) => {}
                Err(error) => return ControlFlow::Break(error),
            },
            // A field of a parameter.
            Expr::CompoundIdentifier(parts) => {
                let [first, fields @ ..] = parts.as_slice() else { return ControlFlow::Continue(()) };
                let key = first.value.to_lowercase();
                if self.tables.iter().any(|names| names.contains(&key)) {
                    return ControlFlow::Continue(());
                }
                let value = match self.value(first) {
                    Ok(value) => value,
                    Err(error) => return ControlFlow::Break(error),
                };
                if let Some(value) = value {
                    let field = |name: &Ident| {
                        let text = Value::SingleQuotedString(name.value.clone()).with_span(name.span);
                        AccessExpr::Subscript(Subscript::Index { index: Expr::Value(text) })
                    };
                    *e = Expr::CompoundFieldAccess {
                        root: Box::new(value),
                        access_chain: fields.iter().map(field).collect(),
                    };
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
