//! One SELECT with the ORDER BY and LIMIT of its query.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use sqlparser::ast::{Distinct, Expr as Ast, OrderBy, Select, SelectFlavor, SelectItem, Spanned};

use super::query::{OrderKey, Range, distinct, keys_of, mapped, place, sorted};
use super::scope::{Ctes, Env, Field, Scope};
use super::syntax::commas;
use super::unnest::Unnested;
use super::wildcard::{self, Given};
use super::{Binder, Bound, names, pivot, window};
use crate::algebra::{Aggregate, Call, ColumnId, Expr, Filter, Kind, Rel, SortKey};
use crate::error::{Error, Result};
use crate::rules::hash::hash;
use crate::rules::unique;

/// A column of the result.
struct Item<'q> {
    name: String,
    expr: Expr,
    /// How it is written; `None` of a column of `*`.
    written: Option<&'q Ast>,
}

/// The places of the columns of a result: by their lower-case names, and by the hashes of their expressions.
struct Places {
    by_name: BTreeMap<String, Vec<usize>>,
    by_expr: BTreeMap<u64, Vec<usize>>,
}

impl Places {
    fn of(items: &[Item<'_>]) -> Places {
        let mut places = Places { by_name: BTreeMap::new(), by_expr: BTreeMap::new() };
        for (place, item) in items.iter().enumerate() {
            places.by_name.entry(item.name.to_lowercase()).or_default().push(place);
            places.by_expr.entry(hash(&item.expr)).or_default().push(place);
        }
        places
    }
}

/// What a key of ORDER BY or DISTINCT ON means.
enum OrderTarget {
    /// A column of the result.
    Item(usize),
    /// An expression over what the select list reads.
    Expr(Expr),
}

/// A key of ORDER BY.
struct Ordering<'q> {
    target: OrderTarget,
    /// How it is written.
    written: &'q Ast,
    descending: bool,
    nulls_first: bool,
}

impl<'a> Binder<'a> {
    /// One SELECT. What is wrong with it as a whole has the place of its first word.
    pub(super) fn select(
        &mut self,
        select: &Select,
        order_by: Option<&OrderBy>,
        range: Range,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Bound> {
        let bound = self.select_of(select, order_by, range, outer, ctes);
        bound.map_err(|error| error.at(select.select_token.0.span))
    }

    fn select_of(
        &mut self,
        select: &Select,
        order_by: Option<&OrderBy>,
        range: Range,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Bound> {
        refuse(select)?;
        let mut from = Cow::Borrowed(&select.from);
        if from.len() > 1 {
            commas::reach_back(from.to_mut());
        }
        let (rel, scope) = self.from(&from, outer, ctes)?;
        if let Some(turning) = pivot::of(select) {
            return self.turned(select, turning, rel, scope, outer, ctes);
        }
        self.select_over(select, rel, scope, order_by, range, outer, ctes)
    }

    /// A SELECT whose FROM is there.
    #[expect(clippy::too_many_arguments, reason = "the parts of a SELECT, each once")]
    pub(super) fn select_over(
        &mut self,
        select: &Select,
        mut rel: Rel,
        scope: Scope,
        order_by: Option<&OrderBy>,
        range: Range,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Bound> {
        let selected = self.selected(select, &Env { outer, ..Env::of(&scope, "SELECT") })?;
        let aliases: Vec<(String, &Ast)> = selected.iter().filter_map(alias).collect();
        let rows = Env { outer, ctes, unseen: &aliases, ..Env::of(&scope, "WHERE") };
        if let Some(condition) = &select.selection {
            let named = Env { aliases: &aliases, unseen: &[], ..rows };
            let mut predicates = Vec::new();
            match self.expanded(condition, &named)? {
                // All of them have to hold.
                Some(expanded) => {
                    for column in expanded {
                        predicates.extend(self.condition(&column.expr, &named)?.split());
                    }
                }
                None => predicates = self.condition(condition, &named)?.split(),
            }
            rel = Rel::Filter(Filter { input: Box::new(rel), predicates });
        }
        let of_keys = RefCell::<Unnested>::default();
        let keys =
            Env { clause: "GROUP BY", aliases: &aliases, unseen: &[], unnested: Some(&of_keys), ..rows };
        let group = RefCell::new(self.group_by(&select.group_by, &selected, &keys)?);
        let of_keys = of_keys.into_inner();
        if of_keys.has_inner() {
            let message = "UNNEST of several levels in GROUP BY\n  help: take the lists apart in a subquery";
            return Err(Error::Unsupported(message.into()).at(select.group_by.span()));
        }
        let unnested = RefCell::new(Unnested::above(&of_keys));
        if !of_keys.is_empty() {
            rel = self.unnest_above(rel, of_keys, None)?;
        }
        if select.having.is_some() {
            group.borrow_mut().make_one();
        }
        window::check_names(&select.named_window)?;
        let windows = window::Noted::default();
        let named = select.named_window.as_slice();
        let grouped = Env { group: Some(&group), named, aliases: &aliases, unseen: &[], ..rows };
        let above = Env { windows: Some(&windows), ..grouped };
        let listed =
            Env { clause: "SELECT", unnested: Some(&unnested), aliases: &[], unseen: &aliases, ..above };
        let mut items = self.items(select.flavor, &selected, &aliases, &listed)?;
        let having = match &select.having {
            Some(having) => Some(self.condition(having, &Env { clause: "HAVING", ..grouped })?),
            None => None,
        };
        let mut qualify = match &select.qualify {
            Some(condition) => Some(self.condition(condition, &Env { clause: "QUALIFY", ..above })?),
            None => None,
        };
        let places = Places::of(&items);
        let on = match &select.distinct {
            Some(Distinct::On(keys)) => {
                let keys = keys.iter().map(|key| {
                    let place = place(key, items.len(), "DISTINCT ON")?;
                    self.order_target(key, place, (&items, &places), &above)
                });
                Some(keys.collect::<Result<Vec<_>>>()?)
            }
            _ => None,
        };
        let mut order = Vec::new();
        if let Some(order_by) = order_by {
            for OrderKey { expr, place, descending, nulls_first } in keys_of(order_by, items.len())? {
                let env = Env { clause: "ORDER BY", unnested: Some(&unnested), ..above };
                let target = self.order_target(expr, place, (&items, &places), &env)?;
                order.push(Ordering { target, written: expr, descending, nulls_first });
            }
        }
        let (group, mut windows, unnested) =
            (group.into_inner(), windows.into_inner(), unnested.into_inner());
        if qualify.is_some() && windows.is_empty() {
            let message = "QUALIFY needs a window function, in its condition or in the select list\n  \
                           help: WHERE has conditions on rows, and HAVING on groups";
            return Err(Error::Invalid(message.into()).at_word("QUALIFY"));
        }
        let mut on = on;
        if group.is_grouped() {
            rel = self.grouped(rel, &group)?;
            let check = |e: &mut Expr, clause: &str, written: Option<&Ast>| {
                group.above(e);
                self.check_above(e, &scope, &group, clause, written)
            };
            items.iter_mut().try_for_each(|item| check(&mut item.expr, "", item.written))?;
            let keys = order.iter_mut().map(|key| (&mut key.target, Some(key.written)));
            for (target, written) in keys.chain(on.iter_mut().flatten().map(|target| (target, None))) {
                if let OrderTarget::Expr(e) = target {
                    check(e, " in ORDER BY", written)?;
                }
            }
            self.windows_above(&mut windows, &scope, &group)?;
            if let Some(qualify) = &mut qualify {
                check(qualify, " in QUALIFY", select.qualify.as_ref())?;
            }
            if let Some(mut having) = having {
                check(&mut having, " in HAVING", select.having.as_ref())?;
                rel = Rel::Filter(Filter { input: Box::new(rel), predicates: having.split() });
            }
        }
        if !windows.is_empty() {
            rel = self.windowed(rel, windows);
        }
        if let Some(qualify) = qualify {
            rel = Rel::Filter(Filter { input: Box::new(rel), predicates: qualify.split() });
        }
        if !unnested.is_empty() {
            rel = self.unnest_above(rel, unnested, group.is_grouped().then_some((&scope, &group)))?;
        }
        self.result(rel, items, &scope, outer.is_some(), select.distinct.as_ref(), on, order, range)
    }

    /// The columns of the select list. Each may name those before it by their aliases.
    fn items<'q>(
        &mut self,
        flavor: SelectFlavor,
        selected: &'q [SelectItem],
        aliases: &[(String, &Ast)],
        env: &Env<'_>,
    ) -> Result<Vec<Item<'q>>> {
        let mut items = Vec::with_capacity(selected.len());
        if selected.is_empty() {
            if flavor != SelectFlavor::FromFirstNoSelect {
                return Err(Error::Invalid("SELECT needs something to select".into()));
            }
            for shown in env.scope.shown() {
                let Field { name, id } = shown.field.clone();
                items.push(Item { name, expr: self.columns.read(id), written: None });
            }
        }
        let mut named = 0;
        for item in selected {
            let env = &Env { aliases: &aliases[..named], unseen: &aliases[named..], ..*env };
            named += usize::from(alias(item).is_some());
            if let SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } = item
                && let Ast::Function(function) = e
                && let Some(columns) = self.unnested_item(function, env)?
            {
                let is_one = columns.len() == 1;
                for (name, expr) in columns {
                    let name = alias(item).filter(|_| is_one).map_or(name, |(alias, _)| alias);
                    items.push(Item { name, expr, written: Some(e) });
                }
                continue;
            }
            let given = match item {
                SelectItem::UnnamedExpr(e) => {
                    let expr = self.selected_item(e, env)?;
                    items.push(Item { name: names::of(e, env), expr, written: Some(e) });
                    continue;
                }
                SelectItem::ExprWithAlias { expr: e, alias } => {
                    let expr = self.selected_item(e, env)?;
                    items.push(Item { name: alias.value.clone(), expr, written: Some(e) });
                    continue;
                }
                SelectItem::Wildcard(options) => wildcard::all(options, env)
                    .and_then(|given| self.liked(given, options))
                    .map_err(|error| error.at(options.wildcard_token.0.span))?,
                SelectItem::QualifiedWildcard(kind, options) => self
                    .of_name(kind, options, env)
                    .and_then(|given| self.liked(given, options))
                    .map_err(|error| error.at(kind.span()))?,
                SelectItem::ExprWithAliases { .. } => {
                    return Err(Error::Unsupported("several names for one expression".into()).at(item.span()));
                }
            };
            for column in given {
                items.push(match column {
                    Given::Column(Field { name, id }) => {
                        Item { name, expr: self.columns.read(id), written: None }
                    }
                    Given::Replaced(name, e) => Item { name, expr: self.expr(e, env)?, written: Some(e) },
                    Given::Part(name, e) => Item { name, expr: self.expr(&e, env)?, written: None },
                });
            }
        }
        Ok(items)
    }

    /// What a key means: a place, the name of a column of the result, one of its expressions, or another one.
    fn order_target(
        &mut self,
        e: &Ast,
        place: Option<usize>,
        (items, places): (&[Item<'_>], &Places),
        env: &Env<'_>,
    ) -> Result<OrderTarget> {
        if let Some(place) = place {
            return Ok(OrderTarget::Item(place));
        }
        if let Ast::Identifier(name) = e {
            let mut named = places.by_name.get(&name.value.to_lowercase()).cloned().unwrap_or_default();
            if named.iter().any(|i| items[*i].name == name.value) {
                named.retain(|i| items[*i].name == name.value);
            }
            match named.as_slice() {
                [] => {}
                [first, rest @ ..] if rest.iter().all(|i| items[*i].expr == items[*first].expr) => {
                    return Ok(OrderTarget::Item(*first));
                }
                _ => {
                    return Err(Error::Name {
                        message: format!(
                            "'{}' in ORDER BY is the name of two columns of the result",
                            name.value
                        ),
                        help: Some(
                            "give one of them another name, or order by its place (ORDER BY 1)".into(),
                        ),
                    }
                    .at(name.span));
                }
            }
        }
        let expr = self.expr(e, env)?;
        let mut alike = places.by_expr.get(&hash(&expr)).into_iter().flatten();
        Ok(match alike.find(|place| items[**place].expr == expr && !expr.is_volatile()) {
            Some(place) => OrderTarget::Item(*place),
            None => OrderTarget::Expr(expr),
        })
    }

    /// The result of a SELECT whose rows or groups are there.
    #[expect(clippy::too_many_arguments, reason = "the clauses of a SELECT, each once")]
    fn result(
        &mut self,
        rel: Rel,
        items: Vec<Item<'_>>,
        scope: &Scope,
        is_inner: bool,
        distinction: Option<&Distinct>,
        on: Option<Vec<OrderTarget>>,
        mut order: Vec<Ordering<'_>>,
        range: Range,
    ) -> Result<Bound> {
        let mut computed = Vec::new();
        let mut fields = Vec::with_capacity(items.len());
        // A column of a query around is one of this query's only if it is computed: an outer join may make NULL of it.
        let given = is_inner.then(|| rel.columns());
        for Item { name, expr, .. } in items {
            let id = match expr.as_column() {
                Some(id) if given.as_ref().is_none_or(|given| given.contains(&id)) => id,
                _ => {
                    let id = self.columns.add_of(&name, &expr);
                    computed.push((id, expr));
                    id
                }
            };
            fields.push(Field { name, id });
        }
        let parts = match distinction {
            Some(Distinct::Distinct) => parts_of(&computed),
            _ => BTreeMap::new(),
        };
        let mut rel = mapped(rel, computed);
        if let Some(on) = on {
            return self.distinct_on(rel, fields, on, order, range);
        }
        if matches!(distinction, Some(Distinct::Distinct)) {
            self.order_distinct(&mut order, &rel, &parts, &fields, scope)?;
            rel = distinct(rel, fields.iter().map(|field| field.id).collect());
        }
        let keys = self.sort_keys(order, &fields);
        Ok(Bound { rel: self.limited(sorted(rel, keys), range)?, fields })
    }

    /// Lets the keys of ORDER BY read what SELECT DISTINCT gives. `parts` are the columns that it computes.
    ///
    /// # Errors
    /// A key reads something else.
    fn order_distinct(
        &self,
        order: &mut [Ordering<'_>],
        rel: &Rel,
        parts: &BTreeMap<u64, Vec<(ColumnId, Expr)>>,
        fields: &[Field],
        scope: &Scope,
    ) -> Result<()> {
        let given: BTreeSet<ColumnId> = fields.iter().map(|field| field.id).collect();
        // Rows that these columns tell apart stay as they are, with their aggregates too.
        let is_distinct = unique::keys(rel).is_some_and(|keys| keys.iter().all(|key| given.contains(key)));
        let made = if is_distinct { window::made(rel) } else { rel.columns() };
        for key in order {
            let OrderTarget::Expr(e) = &mut key.target else { continue };
            read_parts(e, parts);
            let mut read = e.columns().into_iter();
            if let Some(id) = read.find(|id| (scope.has(*id) || made.contains(id)) && !given.contains(id)) {
                return Err(Error::Invalid(format!(
                    "ORDER BY of SELECT DISTINCT reads '{}', which is not selected",
                    self.name_of(id, scope)
                ))
                .at(key.written.span()));
            }
        }
        Ok(())
    }

    fn sort_keys(&self, order: Vec<Ordering<'_>>, fields: &[Field]) -> Vec<SortKey> {
        let keys = order.into_iter().map(|Ordering { target, descending, nulls_first, .. }| {
            let expr = match target {
                OrderTarget::Item(place) => self.columns.read(fields[place].id),
                OrderTarget::Expr(e) => e,
            };
            SortKey { expr, descending, nulls_first }
        });
        keys.collect()
    }

    /// DISTINCT ON: of each group the first row in the query's order.
    fn distinct_on(
        &mut self,
        rel: Rel,
        fields: Vec<Field>,
        on: Vec<OrderTarget>,
        order: Vec<Ordering<'_>>,
        range: Range,
    ) -> Result<Bound> {
        let Some(first_value) = self.functions.aggregate("first_value") else {
            return Err(Error::Invalid("there is no aggregate 'first_value'".into()));
        };
        let mut computed = Vec::new();
        let mut column = |binder: &mut Self, e: Expr| match e.as_column() {
            Some(id) => id,
            None => {
                let id = binder.columns.add_of("key", &e);
                computed.push((id, e));
                id
            }
        };
        let mut keys: Vec<ColumnId> = Vec::with_capacity(on.len());
        for target in on {
            let id = match target {
                OrderTarget::Item(place) => fields[place].id,
                OrderTarget::Expr(e) => column(self, e),
            };
            if !keys.contains(&id) {
                keys.push(id);
            }
        }
        let mut order = self.sort_keys(order, &fields);
        for key in &mut order {
            let id = column(self, key.expr.clone());
            key.expr = self.columns.read(id);
        }
        let mut once: Vec<SortKey> = Vec::new();
        for key in order {
            if !once.iter().any(|other| other.expr == key.expr) {
                once.push(key);
            }
        }
        let mut calls: Vec<(ColumnId, Call)> = Vec::new();
        let mut firsts: Vec<(ColumnId, ColumnId)> = Vec::new();
        let wanted =
            fields.iter().map(|field| field.id).chain(once.iter().filter_map(|key| key.expr.as_column()));
        for id in wanted.collect::<Vec<_>>() {
            if keys.contains(&id) || firsts.iter().any(|(of, _)| *of == id) {
                continue;
            }
            let call = Call {
                function: first_value.clone(),
                args: vec![self.columns.read(id)],
                distinct: false,
                filter: None,
                order_by: once.clone(),
                ignore_nulls: None,
            };
            let (call, _) = self.types.aggregate(call)?;
            let first = self.columns.again(id);
            calls.push((first, call));
            firsts.push((id, first));
        }
        let first = |id: ColumnId| firsts.iter().find(|(of, _)| *of == id).map_or(id, |(_, first)| *first);
        let input = Box::new(mapped(rel, computed));
        let rel = Rel::Aggregate(Aggregate { input, keys, calls, totals: vec![] });
        let fields: Vec<Field> =
            fields.into_iter().map(|field| Field { id: first(field.id), name: field.name }).collect();
        let order = once.into_iter().map(|key| SortKey {
            expr: key.expr.as_column().map_or_else(|| key.expr.clone(), |id| self.columns.read(first(id))),
            ..key
        });
        let order: Vec<SortKey> = order.collect();
        Ok(Bound { rel: self.limited(sorted(rel, order), range)?, fields })
    }
}

/// The computed columns that may stand for a part of a key of ORDER BY, by the hashes of their expressions.
fn parts_of(computed: &[(ColumnId, Expr)]) -> BTreeMap<u64, Vec<(ColumnId, Expr)>> {
    let mut parts: BTreeMap<u64, Vec<(ColumnId, Expr)>> = BTreeMap::new();
    for (id, e) in computed.iter().filter(|(_, e)| !e.columns().is_empty() && !e.is_volatile()) {
        parts.entry(hash(e)).or_default().push((*id, e.clone()));
    }
    parts
}

/// Puts columns in the place of the parts of an expression that they have computed.
fn read_parts(e: &mut Expr, parts: &BTreeMap<u64, Vec<(ColumnId, Expr)>>) {
    if parts.is_empty() {
        return;
    }
    let alike = parts.get(&hash(e)).into_iter().flatten();
    let computed = alike.into_iter().find(|(_, part)| *part == *e).map(|(id, _)| *id);
    match computed {
        Some(id) => e.kind = Kind::Column(id),
        None => e.children_mut().into_iter().for_each(|child| read_parts(child, parts)),
    }
}

/// The name that an item gives its expression.
fn alias(item: &SelectItem) -> Option<(String, &Ast)> {
    match item {
        SelectItem::ExprWithAlias { expr, alias } => Some((alias.value.clone(), expr)),
        _ => None,
    }
}

/// Clauses that nothing else would look at.
fn refuse(select: &Select) -> Result<()> {
    for (found, word, what) in [
        (select.exclude.is_some(), "EXCLUDE", "EXCLUDE behind a select list"),
        (select.value_table_mode.is_some(), "AS", "SELECT AS VALUE and SELECT AS STRUCT"),
        (select.select_modifiers.is_some(), "SELECT", "modifiers of SELECT"),
    ] {
        if found {
            return Err(Error::Unsupported(what.into()).at_word(word));
        }
    }
    Ok(())
}
