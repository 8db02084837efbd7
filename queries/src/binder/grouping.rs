//! GROUP BY and what may stand above it: keys, aggregates, and expressions of both.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use sqlparser::ast::{Expr as Ast, Function, GroupByExpr, Query, SelectItem, Spanned, Value, Visitor};
use sqlparser::tokenizer::Span;

use super::query::mapped;
use super::scope::{Env, Named, Scope};
use super::{Binder, names, syntax};
use crate::algebra::{Aggregate, Call, ColumnId, Expand, Expr, Kind, Rel};
use crate::error::{Error, Result};
use crate::functions::Functions;
use crate::names::same;
use crate::rules::hash::{hash, hash_all};
use crate::visitors;

/// A key of GROUP BY.
#[derive(Debug, Clone)]
pub struct Key {
    /// How it is written ([`names::resolved`]), by which it is found again. Two instances of a subquery have different
    /// columns, and two keys of grouping sets may have one value.
    ast: Option<Ast>,
    /// Its value, over the columns of FROM.
    expr: Expr,
    /// The column below the aggregate that has the value.
    from: ColumnId,
    /// The key above the aggregate.
    id: ColumnId,
}

/// What is known of a SELECT's groups while its expressions are bound.
#[derive(Debug, Default)]
pub struct Group {
    keys: Vec<Key>,
    /// The places of keys that are known by how they are written.
    written_keys: Vec<usize>,
    /// Those of the others, by the hash of the expression.
    by_expr: BTreeMap<u64, Vec<usize>>,
    /// For each grouping set the positions of its keys; none where GROUP BY has plain keys.
    sets: Option<Vec<Vec<usize>>>,
    /// What tells the sets apart.
    set_id: Option<ColumnId>,
    /// Aggregates, in the order in which they were met.
    calls: Vec<(ColumnId, Call)>,
    /// Their places, by the hash of their arguments.
    by_args: BTreeMap<u64, Vec<usize>>,
    /// Whether there is a GROUP BY or HAVING.
    is_grouped: bool,
}

impl Group {
    /// Whether the SELECT gives groups and not rows.
    pub fn is_grouped(&self) -> bool {
        self.is_grouped || !self.calls.is_empty()
    }

    /// HAVING without a key makes one group of all rows.
    pub fn make_one(&mut self) {
        self.is_grouped = true;
    }

    /// The place of the key that is an expression, but for those that are known by how they are written.
    fn key_of(&self, expr: &Expr) -> Option<usize> {
        let places = self.by_expr.get(&hash(expr))?;
        places.iter().copied().find(|place| self.keys[*place].expr == *expr)
    }

    /// The result of an aggregate.
    pub fn call(&mut self, call: Call, id: impl FnOnce() -> ColumnId) -> ColumnId {
        let is_volatile = call.args.iter().chain(&call.filter).any(Expr::is_volatile);
        let places = self.by_args.entry(hash_all(&call.args)).or_default();
        let mut known = places.iter().map(|place| &self.calls[*place]);
        if !is_volatile && let Some((id, _)) = known.find(|(_, known)| *known == call) {
            return *id;
        }
        let id = id();
        places.push(self.calls.len());
        self.calls.push((id, call));
        id
    }

    /// The key that is written like this, where a key is known by that.
    pub fn written(&self, e: &Ast, env: &Env<'_>) -> Option<ColumnId> {
        if self.keys.iter().all(|key| key.ast.is_none()) {
            return None;
        }
        let e = names::resolved(e, env);
        self.keys.iter().find(|key| key.ast.as_ref() == Some(&e)).map(|key| key.id)
    }

    /// An expression over the columns of FROM as one over keys and aggregates.
    pub fn above(&self, e: &mut Expr) {
        let plain = |key: &&Key| key.expr.as_column() == Some(key.from);
        let columns: BTreeMap<ColumnId, &Key> =
            self.keys.iter().filter(plain).map(|key| (key.from, key)).collect();
        let computed: Vec<&Key> = self.keys.iter().filter(|key| !plain(key)).collect();
        self.replace(e, &columns, &computed);
    }

    fn replace(&self, e: &mut Expr, columns: &BTreeMap<ColumnId, &Key>, computed: &[&Key]) {
        // A constant key of grouping sets is NULL in some rows, and another constant of its value is not.
        let is_constant = |key: &Key| key.ast.is_some() && key.expr.as_literal().is_some();
        let key = match &e.kind {
            Kind::Column(id) if columns.contains_key(id) => columns.get(id),
            _ => computed.iter().find(|key| key.expr == *e && !is_constant(key)),
        };
        if let Some(key) = key {
            e.kind = Kind::Column(key.id);
            return;
        }
        if let Kind::Subquery(subquery) = &mut e.kind {
            self.replace_in(&mut subquery.rel, columns, computed);
        }
        e.children_mut().into_iter().for_each(|child| self.replace(child, columns, computed));
    }

    fn replace_in(&self, rel: &mut Rel, columns: &BTreeMap<ColumnId, &Key>, computed: &[&Key]) {
        rel.exprs_mut().into_iter().for_each(|e| self.replace(e, columns, computed));
        rel.inputs_mut().into_iter().for_each(|input| self.replace_in(input, columns, computed));
    }
}

impl<'a> Binder<'a> {
    /// Binds the keys of a GROUP BY.
    pub(super) fn group_by(
        &mut self,
        group_by: &GroupByExpr,
        selected: &[SelectItem],
        env: &Env<'_>,
    ) -> Result<Group> {
        let mut group = Group::default();
        let mut sets = group_by.clone();
        syntax::allowed(syntax::grouping::rewrite(&mut sets, selected))
            .map_err(|error| error.at(group_by.span()))?;
        let GroupByExpr::Expressions(elements, _) = &sets else {
            // GROUP BY ALL: everything that is selected and has no aggregate.
            group.is_grouped = true;
            for item in selected {
                let (SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. }) = item else {
                    return Err(Error::Unsupported("GROUP BY ALL with *".into()).at(item.span()));
                };
                if !is_aggregated(e) {
                    self.key(e, false, env, &mut group)?;
                }
            }
            return Ok(group);
        };
        group.is_grouped = !elements.is_empty();
        if let [Ast::GroupingSets(sets)] = elements.as_slice() {
            let mut places = Vec::with_capacity(sets.len());
            for set in sets {
                let mut of_set = Vec::with_capacity(set.len());
                for e in set {
                    let written = self.alias_of(e, selected, env);
                    of_set.push(self.key(written, true, env, &mut group)?);
                }
                of_set.sort_unstable();
                of_set.dedup();
                places.push(of_set);
            }
            for key in &mut group.keys {
                key.id = self.columns.again(key.from);
            }
            group.sets = Some(places);
            group.set_id = Some(self.columns.add("grouping set", DataType::UInt64));
            return Ok(group);
        }
        for e in elements {
            let written = match at_place(e, selected)? {
                Some(item) => item,
                None => self.alias_of(e, selected, env),
            };
            self.key(written, false, env, &mut group)?;
        }
        Ok(group)
    }

    /// Adds a key. Gives its position. In grouping sets two computed keys are one if they are written alike, whatever
    /// their values are.
    fn key(&mut self, written: &Ast, in_sets: bool, env: &Env<'_>, group: &mut Group) -> Result<usize> {
        let resolved = names::resolved(written, env);
        let mut written_so = group.written_keys.iter();
        if let Some(place) = written_so.find(|place| group.keys[**place].ast.as_ref() == Some(&resolved)) {
            return Ok(*place);
        }
        let expr = self.expr(written, env)?;
        let is_column = matches!(resolved, Ast::Identifier(_)) && expr.as_column().is_some();
        if (is_column || !in_sets)
            && let Some(place) = group.key_of(&expr)
        {
            return Ok(place);
        }
        let ast = (in_sets && !is_column || expr.has_subquery()).then_some(resolved);
        let from = match expr.as_column() {
            Some(id) if env.scope.has(id) && (is_column || !in_sets) => id,
            _ => self.columns.add_of(written.to_string(), &expr),
        };
        let place = group.keys.len();
        match ast.is_some() {
            true => group.written_keys.push(place),
            false => group.by_expr.entry(hash(&expr)).or_default().push(place),
        }
        group.keys.push(Key { ast, expr, from, id: from });
        Ok(place)
    }

    /// What the select list gives the name that a key is, if no column has it; else the key.
    fn alias_of<'q>(&self, e: &'q Ast, selected: &'q [SelectItem], env: &Env<'_>) -> &'q Ast {
        let Ast::Identifier(name) = e else { return e };
        if env.scope.shows(&name.value) {
            return e;
        }
        let alias = selected.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if same(&alias.value, &name.value) => Some(expr),
            _ => None,
        });
        alias.unwrap_or(e)
    }

    /// `grouping(a, b)`: for each key a bit, the first one's the most significant, 1 where the set leaves it out.
    pub(super) fn grouping(&mut self, args: &[Ast], env: &Env<'_>) -> Result<Expr> {
        let none = || Error::Invalid("grouping() takes keys of GROUP BY".into());
        let Some(cell) = env.group else { return Err(none()) };
        // GROUP BY knows all names that the select list gives, also those that stand behind this call.
        let aliases: Vec<(String, &Ast)> = env.aliases.iter().chain(env.unseen).cloned().collect();
        let inside =
            Env { group: None, unnested: None, clause: "grouping()", aliases: &aliases, unseen: &[], ..*env };
        let mut bound = Vec::with_capacity(args.len());
        for arg in args {
            bound.push((arg, self.expr(arg, &inside)?));
        }
        let group = cell.borrow();
        if !group.is_grouped || args.is_empty() {
            return Err(none());
        }
        let count = group.keys.len();
        let number = |n: u64| Expr::literal(ScalarValue::UInt64(Some(n)));
        let mut bits = number(0);
        for (i, (arg, e)) in bound.iter().enumerate() {
            let mut written: &Ast = arg;
            while let Ast::Nested(e) = written {
                written = e;
            }
            if let Ast::Identifier(name) = written
                && let Ok(Some(Named::Alias(alias))) = inside.find(name)
            {
                written = alias.expr;
            }
            let written = names::resolved(written, &inside);
            let is_found = |key: &Key| key.ast.as_ref().map_or(key.expr == *e, |ast| *ast == written);
            let found = group.keys.iter().position(is_found);
            let Some(place) = found else {
                return Err(Error::Invalid(format!("grouping() takes keys of GROUP BY, and {arg} is none")));
            };
            let Some(id) = group.set_id else { continue };
            let shift = number((count - 1 - place) as u64);
            let bit = self.types.binary(self.columns.read(id), Operator::BitwiseShiftRight, shift)?;
            let bit = self.types.binary(bit, Operator::BitwiseAnd, number(1))?;
            let place = number((args.len() - 1 - i) as u64);
            let bit = self.types.binary(bit, Operator::BitwiseShiftLeft, place)?;
            bits = self.types.binary(bits, Operator::BitwiseOr, bit)?;
        }
        self.types.cast(bits, &DataType::Int32, false)
    }

    /// The groups of the rows of a relation.
    pub(super) fn grouped(&mut self, rel: Rel, group: &Group) -> Result<Rel> {
        let computed = group.keys.iter().filter(|key| key.expr.as_column() != Some(key.from));
        let rel = mapped(rel, computed.map(|key| (key.from, key.expr.clone())).collect());
        let (mut rel, mut keys) = (rel, group.keys.iter().map(|key| key.id).collect::<Vec<_>>());
        let mut totals = Vec::new();
        if let (Some(sets), Some(id)) = (&group.sets, group.set_id) {
            totals = self.totals(group, sets)?;
            keys.push(id);
            rel = Rel::Expand(Expand {
                input: Box::new(rel),
                keys: group.keys.iter().map(|key| (key.id, key.from)).collect(),
                sets: sets.clone(),
                id,
            });
        }
        Ok(self.aggregated(Aggregate { input: Box::new(rel), keys, calls: group.calls.clone(), totals }))
    }

    /// The keys of the empty sets, which have a group of no rows too.
    fn totals(&self, group: &Group, sets: &[Vec<usize>]) -> Result<Vec<Vec<ScalarValue>>> {
        let count = group.keys.len();
        let mut totals = Vec::new();
        for (earlier, _) in sets.iter().filter(|set| set.is_empty()).enumerate() {
            let mut values = Vec::with_capacity(count + 1);
            for key in &group.keys {
                values.push(ScalarValue::try_from(&self.columns.get(key.id).data_type)?);
            }
            let all = (1_u64 << count) - 1;
            values.push(ScalarValue::UInt64(Some(((earlier as u64) << count) | all)));
            totals.push(values);
        }
        Ok(totals)
    }

    /// Whether an expression above groups reads keys and aggregates alone, of the columns of FROM.
    /// `written` is how it is written.
    pub(super) fn check_above(
        &self,
        e: &Expr,
        scope: &Scope,
        group: &Group,
        clause: &str,
        written: Option<&Ast>,
    ) -> Result<()> {
        for id in e.columns() {
            if scope.has(id) && !group.keys.iter().any(|key| key.id == id) {
                let name = self.name_of(id, scope);
                return Err(Error::Invalid(format!(
                    "column '{name}'{clause} is neither in GROUP BY nor in an aggregate\n  \
                     help: add it to GROUP BY, or take one of its values with any_value()"
                ))
                .at(written.map_or(Span::empty(), |e| self.place_of(name, e))));
            }
        }
        Ok(())
    }
}

impl Binder<'_> {
    /// What a scope calls a column.
    pub(super) fn name_of<'e>(&'e self, id: ColumnId, scope: &'e Scope) -> &'e str {
        let shown = scope.shown().iter().find(|shown| shown.field.id == id);
        shown.map_or(&self.columns.get(id).name, |shown| &shown.field.name)
    }

    /// Where an expression names a column outside of aggregates and subqueries.
    fn place_of(&self, column: &str, e: &Ast) -> Span {
        let mut place = Mention { column, functions: self.functions, inside: 0, found: None };
        let _ = visitors::look(e, &mut place);
        place.found.unwrap_or_else(|| e.span())
    }
}

/// Looks for the first mention of a column outside of aggregates and subqueries.
struct Mention<'a> {
    column: &'a str,
    functions: &'a Functions,
    /// How many of them are around.
    inside: usize,
    found: Option<Span>,
}

impl Mention<'_> {
    fn is_aggregate(&self, e: &Ast) -> bool {
        matches!(e, Ast::Function(f) if f.over.is_none()
            && self.functions.is_aggregate(&f.name.to_string().to_lowercase()))
    }
}

impl Visitor for Mention<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.inside += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.inside -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, e: &Ast) -> ControlFlow<()> {
        self.inside += usize::from(self.is_aggregate(e));
        let name = match e {
            Ast::Identifier(name) => Some(name),
            Ast::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        if self.inside == 0 && name.is_some_and(|name| same(&name.value, self.column)) {
            self.found = Some(e.span());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, e: &Ast) -> ControlFlow<()> {
        self.inside -= usize::from(self.is_aggregate(e));
        ControlFlow::Continue(())
    }
}

/// The item of the select list at the place that a key is.
fn at_place<'q>(e: &Ast, selected: &'q [SelectItem]) -> Result<Option<&'q Ast>> {
    let Ast::Value(value) = e else { return Ok(None) };
    let Value::Number(text, _) = &value.value else { return Ok(None) };
    let Ok(place) = text.parse::<usize>() else { return Ok(None) };
    match place.checked_sub(1).and_then(|place| selected.get(place)) {
        Some(SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. }) => Ok(Some(e)),
        Some(_) => Err(Error::Unsupported(format!("GROUP BY {place}, which is *")).at(value.span)),
        None => Err(Error::Invalid(format!(
            "GROUP BY {place} is out of range: the select list has {} expressions, counted from 1",
            selected.len()
        ))
        .at(value.span)),
    }
}

/// Whether a call is that of an aggregate or over a window.
fn is_aggregate(function: &Function) -> bool {
    if function.over.is_some() {
        return true;
    }
    let name = function.name.0.last().and_then(|part| part.as_ident());
    name.is_some_and(|name| Functions::all().is_aggregate(&name.value.to_lowercase()))
}

/// Whether an aggregate or a window function stands in an expression. Those of its subqueries are theirs.
pub(super) fn is_aggregated(expr: &Ast) -> bool {
    struct Search(usize);

    impl Visitor for Search {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, e: &Ast) -> ControlFlow<()> {
            match e {
                Ast::Function(function) if self.0 == 0 && is_aggregate(function) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    visitors::look(expr, &mut Search(0)).is_break()
}
