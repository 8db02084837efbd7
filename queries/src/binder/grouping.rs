//! GROUP BY and what may stand above it: keys, aggregates, and expressions of both.

use std::collections::BTreeMap;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_sql::sqlparser::ast::{Expr as Ast, GroupByExpr, SelectItem};

use super::Binder;
use super::query::mapped;
use super::scope::{Env, Named, Scope};
use crate::algebra::{Aggregate, Call, ColumnId, Expand, Expr, Kind, Rel};
use crate::error::{Error, Result};

/// A key of GROUP BY.
#[derive(Debug, Clone)]
pub struct Key {
    /// How it is written, if it has a subquery, by which it is found again: two instances have different columns.
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
    /// For each grouping set the positions of its keys; none where GROUP BY has plain keys.
    sets: Option<Vec<Vec<usize>>>,
    /// What tells the sets apart.
    set_id: Option<ColumnId>,
    /// Aggregates, in the order in which they were met.
    calls: Vec<(ColumnId, Call)>,
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

    /// The result of an aggregate.
    pub fn call(&mut self, call: Call, id: impl FnOnce() -> ColumnId) -> ColumnId {
        let is_volatile = call.args.iter().chain(&call.filter).any(Expr::is_volatile);
        if !is_volatile && let Some((id, _)) = self.calls.iter().find(|(_, known)| *known == call) {
            return *id;
        }
        let id = id();
        self.calls.push((id, call));
        id
    }

    /// The key that is written like this and has a subquery.
    pub fn written(&self, e: &Ast) -> Option<ColumnId> {
        self.keys.iter().find(|key| key.ast.as_ref() == Some(e)).map(|key| key.id)
    }

    /// An expression over the columns of FROM as one over keys and aggregates.
    pub fn above(&self, e: &mut Expr) {
        let columns: BTreeMap<ColumnId, &Key> =
            self.keys.iter().filter_map(|key| Some((key.expr.as_column()?, key))).collect();
        let computed: Vec<&Key> = self.keys.iter().filter(|key| key.expr.as_column().is_none()).collect();
        self.replace(e, &columns, &computed);
    }

    fn replace(&self, e: &mut Expr, columns: &BTreeMap<ColumnId, &Key>, computed: &[&Key]) {
        if let Some(key) = computed.iter().find(|key| key.expr == *e) {
            e.kind = Kind::Column(key.id);
            return;
        }
        match &mut e.kind {
            Kind::Column(id) => {
                if let Some(key) = columns.get(id) {
                    *id = key.id;
                }
            }
            Kind::Subquery(subquery) => self.replace_in(&mut subquery.rel, columns, computed),
            _ => {}
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
        let GroupByExpr::Expressions(elements, _) = group_by else {
            // GROUP BY ALL: everything that is selected and has no aggregate.
            group.is_grouped = true;
            for item in selected {
                let (SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. }) = item else {
                    return Err(Error::Unsupported("GROUP BY ALL with *".into()));
                };
                if !crate::rewrite::having::is_aggregated(e) {
                    self.key(e, selected, env, &mut group)?;
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
                    of_set.push(self.key(e, selected, env, &mut group)?);
                }
                of_set.sort_unstable();
                of_set.dedup();
                places.push(of_set);
            }
            for key in &mut group.keys {
                let column = self.columns.get(key.from).clone();
                key.id = self.columns.add(column.name, column.data_type);
            }
            group.sets = Some(places);
            group.set_id = Some(self.columns.add("grouping set", DataType::UInt64));
            return Ok(group);
        }
        for e in elements {
            self.key(e, selected, env, &mut group)?;
        }
        Ok(group)
    }

    /// Adds a key, which may be a place or an alias of the select list. Gives its position.
    fn key(&mut self, e: &Ast, selected: &[SelectItem], env: &Env<'_>, group: &mut Group) -> Result<usize> {
        let written = self.key_written(e, selected, env)?;
        if let Some(place) = group.keys.iter().position(|key| key.ast.as_ref() == Some(written)) {
            return Ok(place);
        }
        let expr = self.expr(written, env)?;
        if let Some(place) = group.keys.iter().position(|key| key.expr == expr) {
            return Ok(place);
        }
        let ast = expr.has_subquery().then(|| written.clone());
        let from = match expr.as_column() {
            Some(id) => id,
            None => self.columns.add(written.to_string(), expr.data_type.clone()),
        };
        group.keys.push(Key { ast, expr, from, id: from });
        Ok(group.keys.len() - 1)
    }

    /// The expression that a key means.
    fn key_written<'q>(&self, e: &'q Ast, selected: &'q [SelectItem], env: &Env<'_>) -> Result<&'q Ast> {
        let item = |item: &'q SelectItem| match item {
            SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => Some(e),
            _ => None,
        };
        if let Ast::Value(value) = e
            && let datafusion_sql::sqlparser::ast::Value::Number(text, _) = &value.value
            && let Ok(place) = text.parse::<usize>()
        {
            let found = place.checked_sub(1).and_then(|place| selected.get(place)).and_then(item);
            return found.ok_or_else(|| {
                Error::Invalid(format!(
                    "GROUP BY {place} is out of range: the select list has {} expressions, counted from 1",
                    selected.len()
                ))
            });
        }
        let Ast::Identifier(name) = e else { return Ok(e) };
        let is_column = matches!(env.find(name), Ok(Named::Column(..)))
            && env.scope.shown().iter().any(|shown| super::scope::same(&shown.field.name, &name.value));
        if is_column {
            return Ok(e);
        }
        let alias = selected.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if super::scope::same(&alias.value, &name.value) => {
                Some(expr)
            }
            _ => None,
        });
        Ok(alias.unwrap_or(e))
    }

    /// `grouping(a, b)`: for each key a bit, the first one's the most significant, 1 where the set leaves it out.
    pub(super) fn grouping(&mut self, args: &[Ast], env: &Env<'_>) -> Result<Expr> {
        let none = || Error::Invalid("grouping() takes keys of GROUP BY".into());
        let Some(cell) = env.group else { return Err(none()) };
        let inside = Env { group: None, clause: "grouping()", ..*env };
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
            let found = group.keys.iter().position(|key| key.expr == *e || key.ast.as_ref() == Some(*arg));
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
        let computed = group.keys.iter().filter(|key| key.expr.as_column().is_none());
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
        Ok(Rel::Aggregate(Aggregate { input: Box::new(rel), keys, calls: group.calls.clone(), totals }))
    }

    /// The keys of the empty sets, which have a group of no rows too.
    fn totals(&self, group: &Group, sets: &[Vec<usize>]) -> Result<Vec<Vec<ScalarValue>>> {
        let count = group.keys.len();
        let mut earlier = 0;
        let mut totals = Vec::new();
        for _ in sets.iter().filter(|set| set.is_empty()) {
            let mut values = Vec::with_capacity(count + 1);
            for key in &group.keys {
                values.push(ScalarValue::try_from(&self.columns.get(key.id).data_type)?);
            }
            let all = (1_u64 << count) - 1;
            values.push(ScalarValue::UInt64(Some((earlier << count) | all)));
            earlier += 1;
            totals.push(values);
        }
        Ok(totals)
    }

    /// Whether an expression above groups reads keys and aggregates alone, of the columns of FROM.
    pub(super) fn check_above(&self, e: &Expr, scope: &Scope, group: &Group, clause: &str) -> Result<()> {
        for id in e.columns() {
            if scope.has(id) && !group.keys.iter().any(|key| key.id == id) {
                let name = &self.columns.get(id).name;
                return Err(Error::Invalid(format!(
                    "column '{name}'{clause} is neither in GROUP BY nor in an aggregate\n  \
                     help: add it to GROUP BY, or take one of its values with any_value()"
                )));
            }
        }
        Ok(())
    }
}
