//! ORDER BY by the places and the names of columns.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Distinct, Expr, Ident, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr, Value, Visitor,
};

use super::{is_wildcard, unsigned};
use crate::error::{Error, Result};
use crate::visits;

/// Gives expressions that ORDER BY names by their place a name, by which the planner finds them behind an aggregation. The
/// result has the names of the query.
pub fn name_places(query: &mut Query) {
    let (SetExpr::Select(select), Some(order_by)) = (query.body.as_mut(), &query.order_by) else { return };
    let OrderByKind::Expressions(keys) = &order_by.kind else { return };
    if select.projection.iter().any(is_wildcard) {
        return;
    }
    for key in keys {
        let Expr::Value(value) = &key.expr else { continue };
        let Value::Number(place, _) = &value.value else { continue };
        let item =
            place.parse::<usize>().ok().and_then(|place| select.projection.get_mut(place.checked_sub(1)?));
        if let Some(item) = item
            && let SelectItem::UnnamedExpr(expr) = item
            && !matches!(unsigned(expr), Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        {
            let alias = Ident::with_quote('"', format!("order:{place}"));
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
}

/// The name that an item gives a column, and the column.
fn column_of(item: &SelectItem) -> Option<(&str, &Expr)> {
    match item {
        SelectItem::ExprWithAlias { expr, alias } => Some((&alias.value, expr)),
        SelectItem::UnnamedExpr(expr) => match unsigned(expr) {
            Expr::Identifier(name) => Some((&name.value, expr)),
            Expr::CompoundIdentifier(parts) => Some((&parts.last()?.value, expr)),
            _ => None,
        },
        _ => None,
    }
}

/// Refuses ORDER BY a name that two columns of the result have, one of which was given it. Names are those of the text: two
/// that differ by case are told apart.
pub fn refuse_names_of_two(query: &Query) -> Result<()> {
    struct Check(Result<()>);

    impl Visitor for Check {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let (SetExpr::Select(select), Some(order_by)) = (query.body.as_ref(), &query.order_by) else {
                return ControlFlow::Continue(());
            };
            let OrderByKind::Expressions(keys) = &order_by.kind else { return ControlFlow::Continue(()) };
            self.0 = keys.iter().try_for_each(|key| refuse_name_of_two(&select.projection, &key.expr));
            if self.0.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    let mut check = Check(Ok(()));
    let _ = visits::look(query, &mut check);
    check.0
}

fn refuse_name_of_two(items: &[SelectItem], key: &Expr) -> Result<()> {
    let Expr::Identifier(name) = key else { return Ok(()) };
    let is_meant = |item: &&SelectItem| column_of(item).is_some_and(|(known, _)| known == name.value);
    let meant: Vec<&SelectItem> = items.iter().filter(is_meant).collect();
    let column = |item: &SelectItem| column_of(item).map(|(_, column)| unsigned(column).clone());
    let differ = meant.windows(2).any(|two| column(two[0]) != column(two[1]));
    if differ && meant.iter().any(|item| matches!(item, SelectItem::ExprWithAlias { .. })) {
        return Err(Error::Name {
            message: format!("'{}' in ORDER BY is the name of two columns of the result", name.value),
            help: Some("give one of them another name, or order by its place (ORDER BY 1)".into()),
        });
    }
    Ok(())
}

/// Makes what ORDER BY says of the whole result, or repeats of a selected expression where DISTINCT needs it to be
/// selected, a place of the result.
pub fn columns(query: &mut Query) -> ControlFlow<Error> {
    let (SetExpr::Select(select), Some(order_by)) = (query.body.as_ref(), &mut query.order_by) else {
        return ControlFlow::Continue(());
    };
    let OrderByKind::Expressions(keys) = &mut order_by.kind else { return ControlFlow::Continue(()) };
    let place = |i: usize| Expr::Value(Value::Number((i + 1).to_string(), false).into());
    if let [key] = keys.as_slice()
        && matches!(&key.expr, Expr::Identifier(i) if i.quote_style.is_none() && i.value.eq_ignore_ascii_case("all"))
    {
        if select.projection.iter().any(is_wildcard) {
            return ControlFlow::Break(Error::Unsupported("ORDER BY ALL with *".into()));
        }
        let key = key.clone();
        *keys = (0..select.projection.len()).map(|i| OrderByExpr { expr: place(i), ..key.clone() }).collect();
        return ControlFlow::Continue(());
    }
    if !matches!(select.distinct, Some(Distinct::Distinct)) || select.projection.iter().any(is_wildcard) {
        return ControlFlow::Continue(());
    }
    for key in keys.iter_mut().filter(|k| !matches!(k.expr, Expr::Identifier(_) | Expr::Value(_))) {
        let selected = select.projection.iter().position(|item| match item {
            SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => *e == key.expr,
            _ => false,
        });
        if let Some(i) = selected {
            key.expr = place(i);
        }
    }
    ControlFlow::Continue(())
}
