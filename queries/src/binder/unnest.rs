//! UNNEST: lists that are taken apart, in FROM and in the select list.

use arrow_schema::DataType;
use expressions::functions::lists::{item_of, list_of};
use expressions::text::shown;
use sqlparser::ast::{
    Expr as Ast, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator, Spanned, TableAlias,
};

use super::call::{Written, written};
use super::grouping::Group;
use super::query::mapped;
use super::scope::{Env, Field, Scope};
use super::{Binder, Bound, names};
use crate::algebra::{ColumnId, Expr, Rel, Unnest, Values};
use crate::error::{Error, Result};

/// The names of the function.
pub(super) const UNNEST: [&str; 2] = ["unnest", "unlist"];

/// The lists that a SELECT takes apart, beside each other.
#[derive(Debug, Default)]
pub struct Unnested {
    lists: Vec<(ColumnId, Expr)>,
    /// Lists that are the items of one of them, or of one before, each to be taken apart after it.
    inner: Vec<(ColumnId, ColumnId)>,
    /// Lists that are taken apart before rows are grouped: keys of GROUP BY have their items.
    below: Vec<(ColumnId, Expr)>,
}

impl Unnested {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Those of a SELECT whose keys of GROUP BY take some apart.
    pub fn above(keys: &Unnested) -> Unnested {
        Unnested { below: keys.lists.clone(), ..Unnested::default() }
    }

    /// Whether lists within lists are taken apart.
    pub fn has_inner(&self) -> bool {
        !self.inner.is_empty()
    }

    /// The column of the items of a list: that of an equal one, if its value is the same each time.
    fn add(&mut self, list: Expr, id: impl FnOnce() -> ColumnId) -> ColumnId {
        let known =
            self.lists.iter().chain(&self.below).find(|(_, known)| *known == list && !list.is_volatile());
        if let Some((id, _)) = known {
            return *id;
        }
        let id = id();
        self.lists.push((id, list));
        id
    }
}

/// How far a list is taken apart.
struct Depth {
    levels: usize,
    /// Whether structs among the items are taken apart too.
    structs: bool,
}

impl<'a> Binder<'a> {
    /// UNNEST in FROM, of what `env` knows.
    pub(super) fn unnest_table(
        &mut self,
        lists: &[Ast],
        with_ordinality: bool,
        alias: Option<&TableAlias>,
        env: Option<&Env<'_>>,
    ) -> Result<(Rel, Scope)> {
        let none = Scope::default();
        let alone = Env::of(&none, "FROM");
        let env =
            Env { group: None, windows: None, unnested: None, clause: "FROM", ..*env.unwrap_or(&alone) };
        let mut exprs = Vec::with_capacity(lists.len());
        for list in lists {
            let bound = self.expr(list, &env)?;
            exprs.push(self.list(bound).map_err(|error| error.at(list.span()))?);
        }
        self.unnest_rows(exprs, "unnest", with_ordinality, alias)
    }

    /// The items of lists as a relation.
    pub(super) fn unnest_rows(
        &mut self,
        lists: Vec<Expr>,
        name: &str,
        with_ordinality: bool,
        alias: Option<&TableAlias>,
    ) -> Result<(Rel, Scope)> {
        // A relation of one column is called as that.
        let only = alias.filter(|alias| alias.columns.is_empty() && lists.len() == 1);
        let called = only.map_or(name, |alias| alias.name.value.as_str()).to_string();
        let mut fields = Vec::with_capacity(lists.len() + 1);
        let mut items = Vec::with_capacity(lists.len());
        for list in lists {
            let id = self.column_of_items(&called, &list);
            fields.push(Field { id, name: called.clone() });
            items.push((id, list));
        }
        let place = with_ordinality.then(|| self.columns.add("ordinality", DataType::Int64));
        fields.extend(place.map(|id| Field { id, name: "ordinality".into() }));
        let rel = self.apart_lists(Values::one(), items, place);
        self.relation(Bound { rel, fields }, Some(name), alias)
    }

    /// A column for the items of a list.
    pub(super) fn column_of_items(&mut self, name: &str, list: &Expr) -> ColumnId {
        let holds = self.columns.holds(list).items().clone();
        let id = self.columns.add(name, item_of(&list.data_type));
        self.columns.mark(id, holds);
        id
    }

    /// What UNNEST takes apart.
    fn list(&mut self, value: Expr) -> Result<Expr> {
        match &value.data_type {
            DataType::List(_) => Ok(value),
            DataType::Null => self.types.cast(value, &list_of(&DataType::Null), false),
            t => Err(Error::Invalid(format!(
                "UNNEST takes lists, and structs in the select list, and no {}",
                shown(t)
            ))),
        }
    }

    /// Rows once for each item of lists. What has a subquery is computed below.
    pub(super) fn apart_lists(
        &mut self,
        rel: Rel,
        mut lists: Vec<(ColumnId, Expr)>,
        place: Option<ColumnId>,
    ) -> Rel {
        let mut computed = Vec::new();
        for (_, list) in lists.iter_mut().filter(|(_, list)| list.has_subquery()) {
            let id = self.columns.add_of("list", list);
            let value = std::mem::replace(list, self.columns.read(id));
            computed.push((id, value));
        }
        Rel::Unnest(Unnest { input: Box::new(mapped(rel, computed)), lists, place, keeps: false })
    }

    /// UNNEST in an expression of the select list: the column of the items.
    pub(super) fn unnested(&mut self, written: &Written<'_>, env: &Env<'_>) -> Result<Expr> {
        let (value, depth) = self.unnest_call(written, env)?;
        self.items_of(value, &depth, env)
    }

    fn items_of(&mut self, value: Expr, depth: &Depth, env: &Env<'_>) -> Result<Expr> {
        let Some(unnested) = env.unnested else { return Err(misplaced(env.clause)) };
        let list = self.list(value)?;
        let mut item = item_of(&list.data_type);
        let columns = &mut self.columns;
        let mut unnested = unnested.borrow_mut();
        let others = unnested.lists.len();
        let has_deeper = !unnested.inner.is_empty();
        let mut holds = columns.holds(&list).items().clone();
        let mut id = unnested.add(list, || columns.add("unnest", item.clone()));
        columns.mark(id, holds.clone());
        let mut level = 1;
        while let DataType::List(inner) = &item
            && level < depth.levels
        {
            if others > 0 {
                return Err(Error::Unsupported(
                    "UNNEST of several levels beside another UNNEST\n  help: take one of them apart in a subquery".into(),
                ));
            }
            let inner = inner.data_type().clone();
            let next = columns.add("unnest", inner.clone());
            holds = holds.items().clone();
            columns.mark(next, holds.clone());
            unnested.inner.push((next, id));
            (id, item, level) = (next, inner, level + 1);
        }
        if has_deeper {
            return Err(Error::Unsupported(
                "UNNEST beside one of several levels\n  help: take one of them apart in a subquery".into(),
            ));
        }
        Ok(columns.read(id))
    }

    /// UNNEST as an item of the select list, of which a struct becomes a column for each field. `None`: it is none.
    pub(super) fn unnested_item(
        &mut self,
        function: &Function,
        env: &Env<'_>,
    ) -> Result<Option<Vec<(String, Expr)>>> {
        let is_unnest = function.over.is_none()
            && matches!(function.name.0.as_slice(), [part] if part.as_ident().is_some_and(|name| UNNEST.contains(&name.value.to_ascii_lowercase().as_str())));
        if !is_unnest {
            return Ok(None);
        }
        let place = function.name.span();
        let written = written(function)?;
        let (value, depth) = self.unnest_call(&written, env).map_err(|error| error.at(place))?;
        let is_struct = matches!(value.data_type, DataType::Struct(_));
        let value = match is_struct {
            true => value,
            false => self.items_of(value, &depth, env).map_err(|error| error.at(place))?,
        };
        let mut all = Vec::new();
        if is_struct || depth.structs && matches!(value.data_type, DataType::Struct(_)) {
            self.fields_of(value, depth.structs, &mut all, env)?;
        } else {
            all.push((names::of(&Ast::Function(function.clone()), env), value));
        }
        Ok(Some(all))
    }

    /// The fields of a struct, and those of its structs.
    fn fields_of(
        &mut self,
        value: Expr,
        all_levels: bool,
        into: &mut Vec<(String, Expr)>,
        env: &Env<'_>,
    ) -> Result<()> {
        let DataType::Struct(fields) = value.data_type.clone() else { return Ok(()) };
        for field in &fields {
            let part = self.field(value.clone(), "the struct", field.name(), env)?;
            match part.data_type {
                DataType::Struct(_) if all_levels => self.fields_of(part, true, into, env)?,
                _ => into.push((field.name().clone(), part)),
            }
        }
        Ok(())
    }

    /// The argument of UNNEST, and how far it is taken apart.
    fn unnest_call(&mut self, written: &Written<'_>, env: &Env<'_>) -> Result<(Expr, Depth)> {
        let usage = || {
            Error::Invalid(
                "UNNEST takes a list: unnest(list), unnest(list, recursive := true), unnest(list, max_depth := 2)".into(),
            )
        };
        if env.unnested.is_none() {
            return Err(misplaced(env.clause));
        }
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(list)), options @ ..] = written.args.as_slice()
        else {
            return Err(usage());
        };
        let mut depth = Depth { levels: 1, structs: false };
        for option in options {
            let FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(value),
                operator: FunctionArgOperator::Assignment | FunctionArgOperator::RightArrow,
            } = option
            else {
                return Err(usage());
            };
            let value = self.expr(value, env)?;
            let value = value.as_literal().ok_or_else(usage)?;
            match (name.value.to_ascii_lowercase().as_str(), value.cast_to(&DataType::Int64)) {
                ("recursive", Ok(is)) => {
                    let is_deep = is == datafusion_common::ScalarValue::Int64(Some(1));
                    depth = if is_deep { Depth { levels: usize::MAX, structs: true } } else { depth };
                }
                ("max_depth", Ok(datafusion_common::ScalarValue::Int64(Some(levels @ 1..)))) => {
                    depth.levels = usize::try_from(levels).unwrap_or(usize::MAX);
                }
                _ => return Err(usage()),
            }
        }
        let inside = Env { unnested: None, clause: "UNNEST", ..*env };
        Ok((self.expr(list, &inside)?, depth))
    }

    /// The rows of a SELECT once for each item of its lists. Of groups the lists are computed above them.
    pub(super) fn unnest_above(
        &mut self,
        rel: Rel,
        unnested: Unnested,
        grouped: Option<(&Scope, &Group)>,
    ) -> Result<Rel> {
        let Unnested { mut lists, inner, .. } = unnested;
        if let Some((scope, group)) = grouped {
            for (_, list) in &mut lists {
                group.above(list);
                self.check_above(list, scope, group, " in UNNEST", None)?;
            }
        }
        let mut rel = self.apart_lists(rel, lists, None);
        for (id, of) in inner {
            let lists = vec![(id, self.columns.read(of))];
            rel = Rel::Unnest(Unnest { input: Box::new(rel), lists, place: None, keeps: false });
        }
        Ok(rel)
    }
}

fn misplaced(clause: &str) -> Error {
    let message = match clause {
        "UNNEST" => "UNNEST within UNNEST\n  help: write unnest(list, recursive := true)".into(),
        clause => format!(
            "UNNEST can't stand in {clause}\n  help: write FROM t, UNNEST(t.list) AS u(x), which gives a row for each item"
        ),
    };
    Error::Invalid(message)
}
