//! Joins by the names of columns (`USING`, `NATURAL`).
//!
//! The planner reads the column of such a join as that of the left side in any case, and lists in `*` that of the
//! relation whose name comes first in the alphabet. Here a name that is not qualified becomes what the standard says:
//! the left side's column, for `RIGHT JOIN` the right side's, for `FULL JOIN` that of the side that has the row. `*`
//! becomes a list of relations, of which each leaves out the columns that stand in the list already.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, ExcludeSelectItem, Expr, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator,
    ObjectName, OrderBy, OrderByKind, Query, ReplaceSelectElement, ReplaceSelectItem, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableAlias, TableFactor, TableWithJoins, VisitorMut,
    WildcardAdditionalOptions,
};

use super::{call, replaced};
use crate::error::Error;
use crate::names::Names;
use crate::visits;

type Flow<T = ()> = ControlFlow<Error, T>;

fn refuse<T>(what: impl Into<String>) -> Flow<T> {
    ControlFlow::Break(Error::Unsupported(what.into()))
}

/// Rewrites the joins of a SELECT by the names of columns, and the uses of those.
pub fn rewrite(select: &mut Select, order_by: Option<&mut OrderBy>, names: &Names) -> Flow {
    if !select.from.iter_mut().any(joins_by_name) {
        replaced::check(&mut select.projection);
        return ControlFlow::Continue(());
    }
    let mut scope = Scope { names, relations: Vec::new(), merged: BTreeMap::new(), fresh: 0 };
    for item in &mut select.from {
        let mut first = scope.relations.len();
        scope.item(item, &mut first)?;
    }
    let in_result = output_names(select);
    let mut merge = Merge { merged: &scope.merged, depth: 0 };
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(Expr::Identifier(name)) = item
            && let Some(column) = scope.merged.get(&name.value)
        {
            *item = SelectItem::ExprWithAlias { expr: column.value.clone(), alias: name.clone() };
        } else if !matches!(item, SelectItem::Wildcard(_)) {
            visits::change(item, &mut merge)?;
        }
    }
    if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
        visits::change(keys, &mut merge)?;
    }
    for clause in [&mut select.selection, &mut select.having] {
        visits::change(clause, &mut merge)?;
    }
    for item in &mut select.from {
        for join in &mut item.joins {
            if let Some(JoinConstraint::On(condition)) = constraint(&mut join.join_operator) {
                visits::change(condition, &mut merge)?;
            }
        }
    }
    if let Some(OrderBy { kind: OrderByKind::Expressions(keys), .. }) = order_by {
        for key in keys {
            let named = matches!(&key.expr, Expr::Identifier(name) if in_result.contains(&name.value));
            if !named {
                visits::change(&mut key.expr, &mut merge)?;
            }
        }
    }
    scope.expand(&mut select.projection);
    ControlFlow::Continue(())
}

fn joins_by_name(item: &mut TableWithJoins) -> bool {
    let nested = |t: &mut TableFactor| match t {
        TableFactor::NestedJoin { table_with_joins, .. } => joins_by_name(table_with_joins),
        _ => false,
    };
    nested(&mut item.relation)
        || item.joins.iter_mut().any(|j| nested(&mut j.relation) || is_by_name(&mut j.join_operator))
}

fn is_by_name(operator: &mut JoinOperator) -> bool {
    matches!(constraint(operator), Some(JoinConstraint::Using(_) | JoinConstraint::Natural))
}

/// What a join asks of its two sides.
pub fn constraint(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(c)
        | JoinOperator::Inner(c)
        | JoinOperator::Left(c)
        | JoinOperator::LeftOuter(c)
        | JoinOperator::Right(c)
        | JoinOperator::RightOuter(c)
        | JoinOperator::FullOuter(c)
        | JoinOperator::Semi(c)
        | JoinOperator::LeftSemi(c)
        | JoinOperator::RightSemi(c)
        | JoinOperator::Anti(c)
        | JoinOperator::LeftAnti(c)
        | JoinOperator::RightAnti(c) => Some(c),
        _ => None,
    }
}

/// The names of the result that ORDER BY may mean.
fn output_names(select: &Select) -> BTreeSet<String> {
    let name = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.value.clone()),
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        _ => None,
    };
    select.projection.iter().filter_map(name).collect()
}

/// A relation of FROM.
struct Relation {
    qualifier: Ident,
    /// Its columns, where they are known.
    columns: Option<Vec<String>>,
    /// Columns that `*` leaves out, because a relation before it has them.
    left_out: Vec<Ident>,
    /// Columns that `*` gives another value.
    replaced: BTreeMap<String, Expr>,
}

/// A column that a join has merged.
struct Merged {
    value: Expr,
    /// Whether the planner would read it as another one.
    differs: bool,
}

struct Scope<'a> {
    names: &'a Names,
    relations: Vec<Relation>,
    merged: BTreeMap<String, Merged>,
    fresh: usize,
}

fn column(qualifier: &Ident, name: &Ident) -> Expr {
    Expr::CompoundIdentifier(vec![qualifier.clone(), name.clone()])
}

fn equal(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::Eq, right: Box::new(right) }
}

impl Scope<'_> {
    /// An item of FROM, whose relations begin at `first`.
    fn item(&mut self, item: &mut TableWithJoins, first: &mut usize) -> Flow {
        match &mut item.relation {
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                self.item(table_with_joins, first)?
            }
            other => {
                let relation = self.relation(other)?;
                self.relations.push(relation);
            }
        }
        item.joins.iter_mut().try_for_each(|join| self.join(join, first))
    }

    fn relation(&mut self, factor: &mut TableFactor) -> Flow<Relation> {
        let (alias, own) = match factor {
            TableFactor::Table { alias, name, .. } => {
                (alias, name.0.last().and_then(|part| part.as_ident()).cloned())
            }
            TableFactor::Derived { alias, .. } => (alias, None),
            TableFactor::NestedJoin { .. } => return refuse("USING or NATURAL beside joins in parentheses"),
            _ => return refuse("USING or NATURAL beside this kind of table"),
        };
        let columns = match (&alias, &own) {
            (Some(a), _) if !a.columns.is_empty() => {
                Some(a.columns.iter().map(|c| c.name.value.clone()).collect())
            }
            (_, Some(name)) => self.names.columns(&name.value),
            _ => None,
        };
        let qualifier = match (&alias, own) {
            (Some(a), _) => a.name.clone(),
            (None, Some(name)) => name,
            (None, None) => {
                self.fresh += 1;
                Ident::with_quote('"', format!("subquery {}", self.fresh))
            }
        };
        if alias.is_none() {
            let name = qualifier.clone();
            *alias = Some(TableAlias { explicit: true, name, columns: vec![], at: None });
        }
        ControlFlow::Continue(Relation { qualifier, columns, left_out: vec![], replaced: BTreeMap::new() })
    }

    fn join(&mut self, join: &mut Join, first: &mut usize) -> Flow {
        if let TableFactor::NestedJoin { table_with_joins, alias: None } = &mut join.relation
            && !is_by_name(&mut join.join_operator)
        {
            let mut start = self.relations.len();
            return self.item(table_with_joins, &mut start);
        }
        let mut right = self.relation(&mut join.relation)?;
        self.name_columns(join, &right, *first)?;
        if let Some(JoinConstraint::Using(columns)) = constraint(&mut join.join_operator) {
            let columns: Vec<Ident> =
                columns.iter().filter_map(|c| c.0.last()?.as_ident().cloned()).collect();
            self.merge(join, &columns, &right.qualifier, *first)?;
            right.left_out = columns;
        }
        match &join.join_operator {
            JoinOperator::Semi(_)
            | JoinOperator::LeftSemi(_)
            | JoinOperator::Anti(_)
            | JoinOperator::LeftAnti(_) => {}
            JoinOperator::RightSemi(_) | JoinOperator::RightAnti(_) => {
                self.relations.truncate(*first);
                self.merged.clear();
                right.left_out.clear();
                self.relations.push(right);
            }
            _ => self.relations.push(right),
        }
        ControlFlow::Continue(())
    }

    /// Makes NATURAL the USING that it means, where the columns of all relations are known.
    fn name_columns(&self, join: &mut Join, right: &Relation, first: usize) -> Flow {
        let outer = !matches!(join.join_operator, JoinOperator::Join(_) | JoinOperator::Inner(_));
        let Some(constraint) = constraint(&mut join.join_operator) else { return ControlFlow::Continue(()) };
        if !matches!(constraint, JoinConstraint::Natural) {
            return ControlFlow::Continue(());
        }
        let left: Option<Vec<&Vec<String>>> =
            self.relations[first..].iter().map(|r| r.columns.as_ref()).collect();
        match (left, &right.columns) {
            (Some(left), Some(right)) => {
                let both = right.iter().filter(|c| left.iter().any(|l| l.contains(c)));
                let using: Vec<ObjectName> =
                    both.map(|c| ObjectName::from(vec![Ident::with_quote('"', c)])).collect();
                if !using.is_empty() {
                    *constraint = JoinConstraint::Using(using);
                }
                ControlFlow::Continue(())
            }
            _ if outer => refuse("NATURAL outer joins with a subquery; write USING (…)"),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Notes what the columns of a join mean behind it.
    fn merge(&mut self, join: &mut Join, columns: &[Ident], right: &Ident, first: usize) -> Flow {
        let left: Vec<Option<Expr>> = columns
            .iter()
            .map(|name| match (self.merged.get(&name.value), &self.relations[first..]) {
                (Some(merged), _) => Some(merged.value.clone()),
                (None, [only]) => Some(column(&only.qualifier, name)),
                _ => None,
            })
            .collect();
        let differs = |name: &Ident| self.merged.get(&name.value).is_some_and(|m| m.differs);
        if columns.iter().any(differs) || columns.iter().any(|c| self.merged.contains_key(&c.value)) {
            let conditions: Option<Vec<Expr>> = columns
                .iter()
                .zip(&left)
                .map(|(name, left)| Some(equal(left.clone()?, column(right, name))))
                .collect();
            let and =
                |a, b| Expr::BinaryOp { left: Box::new(a), op: BinaryOperator::And, right: Box::new(b) };
            match (
                conditions.and_then(|all| all.into_iter().reduce(and)),
                constraint(&mut join.join_operator),
            ) {
                (Some(condition), Some(c)) => *c = JoinConstraint::On(condition),
                _ => return refuse("several USING of this kind; write ON"),
            }
        }
        for (name, left) in columns.iter().zip(left) {
            let value = match &join.join_operator {
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) => Some(column(right, name)),
                JoinOperator::FullOuter(_) => match left {
                    Some(left) => Some(call("coalesce", vec![left, column(right, name)])),
                    None => {
                        return refuse(format!(
                            "FULL JOIN … USING ({name}) behind several tables; write FULL JOIN … ON, and coalesce()"
                        ));
                    }
                },
                _ => {
                    if let Some(value) = left {
                        self.merged.entry(name.value.clone()).or_insert(Merged { value, differs: false });
                    }
                    None
                }
            };
            let Some(value) = value else { continue };
            for relation in &mut self.relations[first..] {
                relation.replaced.insert(name.value.clone(), value.clone());
            }
            self.merged.insert(name.value.clone(), Merged { value, differs: true });
        }
        ControlFlow::Continue(())
    }

    /// Makes `*` a list of relations.
    fn expand(&self, projection: &mut Vec<SelectItem>) {
        let items = std::mem::take(projection);
        for item in items {
            let SelectItem::Wildcard(options) = item else {
                projection.push(item);
                continue;
            };
            let plain = WildcardAdditionalOptions {
                wildcard_token: options.wildcard_token.clone(),
                ..WildcardAdditionalOptions::default()
            };
            if options != plain {
                projection.push(SelectItem::Wildcard(self.with_merged(options)));
                continue;
            }
            projection.extend(self.relations.iter().map(|relation| {
                let mut options = plain.clone();
                if !relation.left_out.is_empty() {
                    let names = relation.left_out.iter().map(|i| ObjectName::from(vec![i.clone()])).collect();
                    options.opt_exclude = Some(ExcludeSelectItem::Multiple(names));
                }
                let kept = relation.replaced.iter();
                let kept = kept.filter(|(name, _)| !relation.left_out.iter().any(|i| &i.value == *name));
                replace(&mut options, kept.map(|(name, value)| (name.clone(), value.clone())).collect());
                let name = ObjectName::from(vec![relation.qualifier.clone()]);
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
            }));
        }
    }

    /// The options of a `*` that has some of its own, so that merged columns have their values.
    fn with_merged(&self, mut options: WildcardAdditionalOptions) -> WildcardAdditionalOptions {
        let own: Vec<String> = options
            .opt_replace
            .iter()
            .flat_map(|r| r.items.iter().map(|i| i.column_name.value.clone()))
            .collect();
        for element in options.opt_replace.iter_mut().flat_map(|r| &mut r.items) {
            if !self.merged.contains_key(&element.column_name.value) {
                replaced::check_element(element, None);
            }
        }
        let merged = self.merged.iter().filter(|(name, _)| !own.contains(name));
        replace(&mut options, merged.map(|(name, m)| (name.clone(), m.value.clone())).collect());
        options
    }
}

/// Adds values to the options of a `*`.
fn replace(options: &mut WildcardAdditionalOptions, values: Vec<(String, Expr)>) {
    if values.is_empty() {
        return;
    }
    let elements = values.into_iter().map(|(name, expr)| {
        let column_name = Ident::with_quote('"', name);
        Box::new(ReplaceSelectElement { expr, column_name, as_keyword: true })
    });
    let own = options.opt_replace.take().map_or(vec![], |r| r.items);
    options.opt_replace = Some(ReplaceSelectItem { items: own.into_iter().chain(elements).collect() });
}

/// Puts values in for the names of merged columns.
struct Merge<'a> {
    merged: &'a BTreeMap<String, Merged>,
    /// How many subqueries deep: names there may be those of the subquery's own tables.
    depth: usize,
}

impl VisitorMut for Merge<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut Query) -> Flow {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> Flow {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> Flow {
        let Expr::Identifier(name) = &*expr else { return ControlFlow::Continue(()) };
        let Some(merged) = self.merged.get(&name.value) else { return ControlFlow::Continue(()) };
        if self.depth == 0 {
            *expr = merged.value.clone();
        } else if merged.differs {
            return refuse(format!(
                "the column '{}' of a RIGHT or FULL JOIN … USING in a subquery without a table's name before it",
                name.value
            ));
        }
        ControlFlow::Continue(())
    }
}
