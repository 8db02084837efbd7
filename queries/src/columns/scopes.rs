//! Names of columns without a table's before them, in subqueries.
//!
//! The planner looks for such a name in the FROM of the SELECT where it stands, and if more than one table there has it,
//! in the queries around: `(SELECT max(b) FROM t, v)` takes an outer `b` where it is ambiguous, and where USING or
//! NATURAL has made one column of two. It also takes an outer column for an alias of the SELECT. Here each name is
//! given the table that has it, or the expression that the alias names, or is refused as ambiguous.

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, ObjectName, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, Value,
    ValueWithSpan,
};

use super::{Columns, Ctes, Naming, Relation, all};
use crate::rewrite::having::is_aggregate;
use crate::visits;

/// The expressions that a SELECT gives a name, which its GROUP BY, HAVING and ORDER BY can use.
pub type Aliases = Vec<(String, Expr)>;

/// The aliases of a select list.
pub fn aliases(select: &Select) -> Aliases {
    let alias = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { expr, alias } => Some((alias.value.clone(), expr.clone())),
        _ => None,
    };
    select.projection.iter().filter_map(alias).collect()
}

/// Makes NATURAL the USING that it means, where all columns are known.
pub fn by_name(constraint: &mut JoinConstraint, left: &[Relation], right: &[Relation]) {
    if !matches!(constraint, JoinConstraint::Natural) {
        return;
    }
    let (Some(left), Some(right)) = (all(left), all(right)) else { return };
    let both = right.iter().filter(|name| left.contains(name));
    let using: Vec<ObjectName> =
        both.map(|name| ObjectName::from(vec![Ident::with_quote('"', name)])).collect();
    if !using.is_empty() {
        *constraint = JoinConstraint::Using(using);
    }
}

/// The relations of a scope that have a column.
struct Found<'a> {
    /// Those of which it is not merged with the column of a relation before.
    shown: Vec<&'a Relation>,
    /// How many there are in all.
    all: usize,
    /// Whether what has been merged is not always the first one's value.
    differs: bool,
}

/// Who has a column; `None` if not all columns are known.
fn find<'a>(scope: &'a [Relation], name: &str) -> Option<Found<'a>> {
    let mut found = Found { shown: Vec::new(), all: 0, differs: false };
    for relation in scope {
        if !relation.columns.as_ref()?.iter().any(|column| column == name) {
            continue;
        }
        found.all += 1;
        let lower = name.to_lowercase();
        found.differs |= relation.differs.contains(&lower);
        if !relation.merged.contains(&lower) {
            found.shown.push(relation);
        }
    }
    // What USING has made one column goes before a column of the name in another relation.
    let is_first = |relation: &&Relation| relation.first.contains(&name.to_lowercase());
    if found.shown.iter().any(is_first) {
        found.shown.retain(is_first);
    }
    Some(found)
}

impl Naming<'_> {
    /// Settles what an expression means that is a name without a table's before it.
    pub fn settle(&mut self, expr: &mut Expr, aliases: &Aliases) {
        let Expr::Identifier(name) = &*expr else { return };
        let is_nested = self.scopes.len() > 1;
        let mut inner: Vec<&str> = Vec::new();
        for (level, scope) in self.scopes.iter().rev().enumerate() {
            let Some(found) = find(scope, &name.value) else { return };
            match found.shown.as_slice() {
                [] if level == 0 && is_nested => {
                    if let Some((_, named)) = aliases.iter().find(|(alias, _)| *alias == name.value) {
                        *expr = Expr::Nested(Box::new(named.clone()));
                        return;
                    }
                }
                [] => {}
                [_] if found.all == 1 || found.differs => return,
                [only] => {
                    match &only.name {
                        Some(table) if !inner.contains(&table.as_str()) => {
                            let table = Ident::with_quote('"', table);
                            *expr = Expr::CompoundIdentifier(vec![table, name.clone()]);
                        }
                        _ if level == 0 => {}
                        _ => self.ambiguous = Some(name.value.clone()),
                    }
                    return;
                }
                // Where nothing is around, the planner says it.
                _ if is_nested => {
                    self.ambiguous = Some(name.value.clone());
                    return;
                }
                _ => return,
            }
            inner.extend(scope.iter().filter_map(|relation| relation.name.as_deref()));
        }
    }

    /// The ORDER BY of a query whose body gives these columns.
    pub fn order_by(&mut self, query: &mut Query, columns: &Columns, ctes: &Ctes) {
        let Some(order_by) = &mut query.order_by else { return };
        if let (SetExpr::Select(select), Some(relations)) = (query.body.as_ref(), &self.last) {
            qualify_in_aggregates(order_by, &aliases(select), relations);
        }
        if self.scopes.is_empty() {
            self.inside(order_by, ctes);
            return;
        }
        places(order_by, columns);
        match (query.body.as_ref(), self.last.take()) {
            (SetExpr::Select(select), Some(relations)) => {
                let aliases = aliases(select);
                self.scopes.push(relations);
                self.clause(order_by, ctes, aliases);
                self.scopes.pop();
            }
            _ => self.inside(order_by, ctes),
        }
    }
}

/// Puts the table before a name in the argument of an aggregate that a column and an alias have: it is the column, since
/// what the alias names may be an aggregate itself.
fn qualify_in_aggregates(order_by: &mut OrderBy, aliases: &Aliases, relations: &[Relation]) {
    let OrderByKind::Expressions(keys) = &mut order_by.kind else { return };
    if aliases.is_empty() {
        return;
    }
    let mut qualify = |expr: &mut Expr| {
        let Expr::Identifier(name) = &*expr else { return };
        if !aliases.iter().any(|(alias, _)| *alias == name.value) {
            return;
        }
        let table = find(relations, &name.value).and_then(|found| match found.shown.as_slice() {
            [only] if found.all == 1 => only.name.clone(),
            _ => None,
        });
        if let Some(table) = table {
            *expr = Expr::CompoundIdentifier(vec![Ident::with_quote('"', table), name.clone()]);
        }
    };
    for key in keys {
        visits::change_expressions(&mut key.expr, &mut |expr| {
            if matches!(expr, Expr::Function(function) if is_aggregate(function)) {
                visits::change_expressions(expr, &mut qualify);
            }
        });
    }
}

/// Names of the result's columns as their places: the planner would look for the names among the tables too.
fn places(order_by: &mut OrderBy, columns: &Columns) {
    let (OrderByKind::Expressions(keys), Some(columns)) = (&mut order_by.kind, columns) else { return };
    for key in keys {
        let Expr::Identifier(name) = &key.expr else { continue };
        let mut places = columns.iter().enumerate().filter(|(_, column)| **column == name.value);
        if let (Some((place, _)), None) = (places.next(), places.next()) {
            let number = Value::Number((place + 1).to_string(), false);
            key.expr = Expr::Value(ValueWithSpan { value: number, span: name.span });
        }
    }
}
