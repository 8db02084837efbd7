//! Repairs of the syntax tree, where the planner would read it wrongly or refuse it.
//!
//! - [`using`]: joins by the names of columns.
//! - [`replaced`]: columns that `*` gives another value.
//! - [`multiset`]: `INTERSECT ALL` and `EXCEPT ALL`.
//! - [`literals`]: numbers with a point, and those that 64 bits don't hold.
//! - [`intervals`]: INTERVAL literals.
//! - [`casts`]: casts that show in names.
//! - [`chains`]: long chains of AND and OR.
//! - [`commas`]: joins whose condition reaches back over a comma.
//! - [`having`]: HAVING without a group.
//! - [`grouping`]: GROUP BY with tuples, ROLLUP, CUBE and GROUPING SETS.
//! - [`order_by`]: ORDER BY by places and by names.
//! - [`distinct`]: how far the right side of IS DISTINCT FROM reaches.
//! - [`quantified`]: ANY and ALL of lists.
//! - [`zone`]: AT TIME ZONE.
//!
//! and of the bound plan:
//! - [`dates`]: dates plus a number of days.
//! - [`numbers`]: the types of numbers.
//! - [`nulls`]: sums of NULL.
//! - [`repeated_keys`]: keys of an ORDER BY that stand twice.

pub mod casts;
pub mod chains;
pub mod commas;
pub mod dates;
pub mod distinct;
pub mod grouping;
pub mod having;
pub mod intervals;
pub mod literals;
pub mod multiset;
pub mod nulls;
pub mod numbers;
pub mod order_by;
pub mod quantified;
pub mod repeated_keys;
pub mod replaced;
pub mod using;
pub mod zone;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    JoinOperator, ObjectName, Query, Select, SelectFlavor, SelectItem, SetExpr, TableFactor, TableWithJoins,
    UnaryOperator, Value, VisitorMut, WildcardAdditionalOptions,
};

use crate::error::{Error, Result};
use crate::names::Names;
use crate::refused;
use crate::visits;

/// Rewrites a query whose names are resolved.
pub fn rewrite(query: &mut Query, names: &Names) -> Result<()> {
    // Before equal expressions are told apart.
    visits::change_expressions(query, &mut casts::collapse);
    order_by::name_places(query);
    match visits::change(query, &mut Rewrite { names }) {
        ControlFlow::Break(e) => Err(e),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Rewrite<'a> {
    names: &'a Names,
}

impl VisitorMut for Rewrite<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        refused::query(query)?;
        multiset::mark(&mut query.body)?;
        order_by::columns(query)?;
        match query.body.as_mut() {
            SetExpr::Select(select) => using::rewrite(select, query.order_by.as_mut(), self.names),
            other => joins_of_set_operation(other, self.names),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        refused::table_factor(factor)
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        refused::expr(expr)?;
        if let Expr::Subquery(query)
        | Expr::InSubquery { subquery: query, .. }
        | Expr::Exists { subquery: query, .. } = expr
        {
            order_by::name_places(query);
        }
        chains::balance(expr);
        intervals::keep_sign_outside(expr);
        literals::of_interval(expr);
        intervals::normalise(expr)?;
        literals::exact(expr)
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        refused::select(select)?;
        commas::reach_back(&mut select.from);
        having::make_one_group(select);
        select.from.iter_mut().try_for_each(joins)?;
        if select.flavor == SelectFlavor::FromFirstNoSelect {
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        grouping::rewrite(&mut select.group_by, &select.projection)?;
        distinct_names(&mut select.projection);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        quantified::rewrite(expr)?;
        zone::rewrite(expr)?;
        distinct::rotate(expr);
        blob(expr);
        casts::wrap(expr);
        ControlFlow::Continue(())
    }
}

fn has_subquery(e: &Expr) -> bool {
    visits::any_expression(e, &mut |e| {
        matches!(e, Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. })
    })
}

fn is_wildcard(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

/// `BLOB` is `BYTEA` to the planner.
fn blob(expr: &mut Expr) {
    if let Expr::Cast { data_type: data_type @ DataType::Blob(_), .. } = expr {
        *data_type = DataType::Bytea;
    }
}

/// The SELECTs between which a set operation stands have no ORDER BY of their own.
fn joins_of_set_operation(body: &mut SetExpr, names: &Names) -> ControlFlow<Error> {
    match body {
        SetExpr::Select(select) => using::rewrite(select, None, names),
        SetExpr::SetOperation { left, right, .. } => {
            joins_of_set_operation(left, names)?;
            joins_of_set_operation(right, names)
        }
        _ => ControlFlow::Continue(()),
    }
}

/// `SEMI JOIN` and `ANTI JOIN` keep rows of the left side.
fn joins(item: &mut TableWithJoins) -> ControlFlow<Error> {
    let mut left = alias(&item.relation).cloned();
    for join in &mut item.joins {
        refused::join(join, left.as_ref())?;
        left = alias(&join.relation).cloned();
        join.join_operator = match std::mem::replace(&mut join.join_operator, JoinOperator::CrossApply) {
            JoinOperator::Semi(on) => JoinOperator::LeftSemi(on),
            JoinOperator::Anti(on) => JoinOperator::LeftAnti(on),
            other => other,
        };
        if let TableFactor::NestedJoin { table_with_joins, .. } = &mut join.relation {
            joins(table_with_joins)?;
        }
    }
    match &mut item.relation {
        TableFactor::NestedJoin { table_with_joins, .. } => joins(table_with_joins),
        _ => ControlFlow::Continue(()),
    }
}

/// The alias of an item of FROM.
fn alias(factor: &TableFactor) -> Option<&Ident> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref().map(|a| &a.name),
        _ => None,
    }
}

/// A call of a function.
pub(crate) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let args = arguments.into_iter().map(|e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e))).collect();
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::with_quote('"', name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}

/// An expression's text, with one text for all spellings of a float: the planner names it by its value. Numbers with an
/// exponent are floats.
fn name_of(e: &Expr) -> String {
    let mut e = e.clone();
    visits::change_expressions(&mut e, &mut |e| {
        *e = unsigned(e).clone();
        if let Expr::Value(v) = e
            && let Value::Number(text, _) = &mut v.value
            && text.contains(['e', 'E'])
            && let Ok(float) = text.parse::<f64>()
        {
            *text = format!("{float:e}");
        }
    });
    e.to_string()
}

/// Gives a second select item of the same name a name of its own (`name:1`), for the planner refuses two of one name.
/// Parentheses and signs `+` do not count: the planner's names have none. The result has the names of the query.
fn distinct_names(items: &mut [SelectItem]) {
    let wildcard = items.iter().any(is_wildcard);
    let mut seen = BTreeSet::new();
    // A column may be selected with its table before it and without.
    let (mut bare, mut qualified) = (BTreeSet::new(), BTreeSet::new());
    for item in items {
        let name = match &*item {
            SelectItem::UnnamedExpr(e) => name_of(e),
            SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
            _ => continue,
        };
        let key: String =
            name.chars().filter(|c| !matches!(c, '(' | ')' | ' ')).collect::<String>().to_lowercase();
        let (column, twice) = match &*item {
            SelectItem::UnnamedExpr(e) => match unsigned(e) {
                Expr::Identifier(_) => {
                    bare.insert(key.clone());
                    (true, qualified.contains(&key))
                }
                Expr::CompoundIdentifier(parts) => {
                    let last = parts.last().map(|part| part.value.to_lowercase()).unwrap_or_default();
                    let twice = bare.contains(&last);
                    qualified.insert(last);
                    (true, twice)
                }
                _ => (false, false),
            },
            _ => (false, qualified.contains(&key)),
        };
        let first = seen.insert(key) && !twice;
        let alias = match &*item {
            // To the planner all subqueries have one name.
            SelectItem::UnnamedExpr(e) if first && has_subquery(e) => Some(name),
            _ if first && !(wildcard && column) => continue,
            _ => (1..).map(|n| format!("{name}:{n}")).find(|n| seen.insert(n.to_lowercase())),
        };
        let alias = Ident::with_quote('"', alias.unwrap_or_default());
        let nothing = SelectItem::UnnamedExpr(Expr::Identifier(Ident::new("")));
        *item = match std::mem::replace(item, nothing) {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                SelectItem::ExprWithAlias { expr, alias }
            }
            other => other,
        };
    }
}

/// An expression without parentheses around it and signs `+` before it.
fn unsigned(mut e: &Expr) -> &Expr {
    while let Expr::UnaryOp { op: UnaryOperator::Plus, expr: inner } | Expr::Nested(inner) = e {
        e = inner;
    }
    e
}
