//! What stands around a SELECT: WITH, set operations, VALUES, ORDER BY and LIMIT.

use std::cell::RefCell;

use datafusion_common::ScalarValue;
use sqlparser::ast::{
    self, Expr as Ast, Fetch, LimitClause, OrderBy, OrderByExpr, OrderByKind, Query, SetExpr, SetOperator,
    SetQuantifier, Spanned, With,
};
use sqlparser::tokenizer::Span;

use super::scope::{BoundCte, Ctes, Env, Field, Relation, Scope};
use super::{Binder, Bound};
use crate::algebra::{
    Aggregate, Call, ColumnId, Expr, Filter, Join, JoinKind, Limit, Map, Rel, Repeat, Sort, SortKey, Union,
    Values, Window, WindowCall, WindowFunction,
};
use crate::error::{Error, Result};
use crate::names::same;
use crate::parse::limits;
use crate::rules::hash;
use crate::views;
use arrow_schema::DataType;
use datafusion_expr::Operator;
use expressions::functions::json::Holds;

/// The inputs of a set operation, and which of their columns are those of the result.
pub(super) type Inputs = Vec<(Rel, Vec<ColumnId>)>;

/// The rows wanted of a query.
#[derive(Debug, Clone, Default)]
pub(super) struct Range {
    pub skip: usize,
    pub fetch: Option<usize>,
    /// In the place of `fetch`: so many of a hundred rows.
    pub percent: Option<f64>,
    /// In the place of `skip`: a number that a subquery gives.
    pub skip_of: Option<Expr>,
    /// In the place of `fetch`: a number that a subquery gives.
    pub fetch_of: Option<Expr>,
}

/// The rows that a LIMIT or an OFFSET says.
enum Count {
    /// A constant; `None` for NULL.
    Constant(Option<usize>),
    /// What a subquery gives: no number below 0, and never NULL.
    Computed(Expr),
}

impl Count {
    /// The constant, or else the expression.
    fn parts(self) -> (Option<usize>, Option<Expr>) {
        match self {
            Count::Constant(number) => (number, None),
            Count::Computed(e) => (None, Some(e)),
        }
    }
}

impl<'a> Binder<'a> {
    /// A query that may name columns of `outer`, and the names of WITH in `ctes`.
    pub(super) fn query(
        &mut self,
        query: &Query,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Bound> {
        match &query.with {
            Some(with) => {
                self.with(with, 0, outer, ctes, &mut |binder, ctes| binder.body(query, outer, ctes))
            }
            None => self.body(query, outer, ctes),
        }
    }

    /// The names of WITH from `number` on, each of which sees those before it, and `then` what sees all of them.
    pub(super) fn with(
        &mut self,
        with: &With,
        number: usize,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
        then: &mut dyn FnMut(&mut Self, Option<&Ctes<'_>>) -> Result<Bound>,
    ) -> Result<Bound> {
        let rest = with.cte_tables.get(number..).unwrap_or_default();
        let Some((first, rest)) = rest.split_first() else { return then(self, ctes) };
        let name = &first.alias.name.value;
        if rest.iter().any(|other| same(&other.alias.name.value, name)) {
            return Err(Error::Invalid(format!("WITH has the name '{name}' twice")).at(first.alias.name.span));
        }
        let columns = first.alias.columns.iter().map(|column| &column.name).collect();
        let cte = Ctes {
            name,
            query: &first.query,
            columns,
            is_view: views::is_view(first),
            is_recursive: with.recursive && !views::is_view(first),
            outer,
            before: ctes,
            materialized: first.materialized,
            bound: RefCell::new(BoundCte::Unread),
        };
        let bound = self.with(with, number + 1, outer, Some(&cte), then)?;
        if matches!(&*cte.bound.borrow(), BoundCte::Unread) {
            // What nothing reads is wrong all the same if it is.
            self.cte(&cte)?;
        }
        Ok(bound)
    }

    fn body(&mut self, query: &Query, outer: Option<&Env<'_>>, ctes: Option<&Ctes<'_>>) -> Result<Bound> {
        self.body_of(query, outer, ctes).map_err(|error| error.at(begin(&query.body)))
    }

    fn body_of(&mut self, query: &Query, outer: Option<&Env<'_>>, ctes: Option<&Ctes<'_>>) -> Result<Bound> {
        let range = self.range(query.limit_clause.as_ref(), query.fetch.as_ref(), ctes)?;
        let order_by = query.order_by.as_ref();
        if let SetExpr::Select(select) = query.body.as_ref() {
            return self.select(select, order_by, range, outer, ctes);
        }
        let bound = self.set(&query.body, outer, ctes)?;
        let rel = self.ordered(bound.rel, &bound.fields, order_by, outer, ctes)?;
        Ok(Bound { rel: self.limited(rel, range)?, fields: bound.fields })
    }

    /// The operand of a set operation, or what stands in the place of a SELECT.
    pub(super) fn set(
        &mut self,
        body: &SetExpr,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Bound> {
        match body {
            SetExpr::Select(select) => self.select(select, None, Range::default(), outer, ctes),
            SetExpr::Query(query) => self.query(query, outer, ctes),
            SetExpr::Values(values) => self.values(values, outer, ctes),
            SetExpr::SetOperation { op, set_quantifier, left, right } => {
                self.set_operation(*op, *set_quantifier, left, right, outer, ctes)
            }
            // The parser leaves out two of the words that stand behind the name: a LIMIT, for one.
            SetExpr::Table(_) => {
                let message = "TABLE in the place of a query\n  help: write SELECT * FROM name";
                Err(Error::Unsupported(message.into()).at_word("TABLE"))
            }
            _ => Err(Error::Unsupported("a statement that changes data, within a query".into())),
        }
    }

    /// ORDER BY of what is not one SELECT: keys are columns of the result, by name or place, or computed of them.
    pub(super) fn ordered(
        &mut self,
        rel: Rel,
        fields: &[Field],
        order_by: Option<&OrderBy>,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Rel> {
        let Some(order_by) = order_by else { return Ok(rel) };
        let scope = Scope::of(Relation::new(None, None, fields.to_vec()));
        let env = Env { outer, ctes, ..Env::of(&scope, "ORDER BY of a set operation") };
        let mut keys = Vec::new();
        for key in keys_of(order_by, fields.len())? {
            let expr = match key.place {
                Some(place) => self.columns.read(fields[place].id),
                None => self.expr(key.expr, &env)?,
            };
            keys.push(SortKey { expr, descending: key.descending, nulls_first: key.nulls_first });
        }
        Ok(sorted(rel, keys))
    }

    /// The rows that LIMIT, or FETCH FIRST, and OFFSET leave.
    pub(super) fn range(
        &mut self,
        clause: Option<&LimitClause>,
        first: Option<&Fetch>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Range> {
        let (limit, offset) = match clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => (limit.as_ref(), offset.as_ref()),
            _ => (None, None),
        };
        let (skip, skip_of) = match offset {
            Some(offset) => self.count(&offset.value, "OFFSET", 0, ctes)?.parts(),
            None => (None, None),
        };
        let skip = skip.unwrap_or(0);
        if let (Some(share), None) = (limit.and_then(limits::share), first) {
            let percent = share.and_then(|digits| digits.parse::<f64>().ok());
            let percent = percent.filter(|percent| (0.0..=100.0).contains(percent)).ok_or_else(|| {
                Error::Invalid("LIMIT … % takes a number from 0 to 100".into()).at_word("LIMIT")
            })?;
            return Ok(Range { skip, skip_of, percent: Some(percent), ..Range::default() });
        }
        let mut count = |e: &Ast, clause| self.count(e, clause, i64::MAX, ctes).map(Count::parts);
        let (fetch, fetch_of) = match (limit, first) {
            (Some(_), Some(_)) => {
                return Err(Error::Invalid("LIMIT and FETCH FIRST in one query".into()).at_word("FETCH"));
            }
            (Some(limit), None) => count(limit, "LIMIT")?,
            (None, Some(Fetch { quantity: Some(quantity), .. })) => count(quantity, "FETCH FIRST")?,
            (None, Some(Fetch { quantity: None, .. })) => (Some(1), None),
            (None, None) => (None, None),
        };
        Ok(Range { skip, fetch, skip_of, fetch_of, percent: None })
    }

    /// A range of the rows.
    pub(super) fn limited(&mut self, rel: Rel, range: Range) -> Result<Rel> {
        let Range { skip, fetch, percent, skip_of, fetch_of } = range;
        if percent.is_none() && skip_of.is_none() && fetch_of.is_none() {
            return Ok(match (skip, fetch) {
                (0, None) => rel,
                (skip, fetch) => Rel::Limit(Limit { input: Box::new(rel), skip, fetch }),
            });
        }
        // Rows are numbered in their order, and counted for a share of them.
        let (input, keys) = match rel {
            Rel::Sort(Sort { input, keys, fetch: None }) => (input, keys),
            other => (Box::new(other), vec![]),
        };
        let Some(count) = self.functions.aggregate("count") else {
            return Err(Error::Invalid("there is no aggregate 'count'".into()));
        };
        let one = Expr::literal(ScalarValue::Int64(Some(1)));
        let call = |function, args| WindowCall::new(function, args, keys.len());
        let number = |n: i64| Expr::literal(ScalarValue::Int64(Some(n)));
        let constant = |n: usize| number(i64::try_from(n).unwrap_or(i64::MAX));
        let row = self.columns.add("row", DataType::Int64);
        let mut calls = vec![(row, call(WindowFunction::RowNumber, vec![]))];
        let wanted = match percent {
            Some(percent) => {
                let all = self.columns.add("rows", DataType::Int64);
                calls.push((all, call(WindowFunction::Aggregate(count), vec![one])));
                let share = Expr::literal(ScalarValue::Float64(Some(percent / 100.0)));
                let wanted = self.types.binary(self.columns.read(all), Operator::Multiply, share)?;
                let wanted = self.call_named("floor", vec![wanted])?;
                Some(self.types.cast(wanted, &DataType::Int64, false)?)
            }
            None => fetch_of.or(fetch.map(constant)),
        };
        let window = Rel::Window(Window { input, partition: vec![], order: keys.clone(), calls });
        let skip = skip_of.unwrap_or(constant(skip));
        let place = self.types.binary(self.columns.read(row), Operator::Minus, skip)?;
        // Both conditions ask for it, and a subquery stands in one place.
        let behind = self.columns.add_of("place", &place);
        let numbered = mapped(window, vec![(behind, place)]);
        let mut predicates = vec![self.types.binary(self.columns.read(behind), Operator::Gt, number(0))?];
        if let Some(wanted) = wanted {
            predicates.push(self.types.binary(self.columns.read(behind), Operator::LtEq, wanted)?);
        }
        Ok(sorted(Rel::Filter(Filter { input: Box::new(numbered), predicates }), keys))
    }

    /// A number of rows. A NULL that a subquery gives counts as `of_null`.
    fn count(
        &mut self,
        e: &Ast,
        clause: &'static str,
        of_null: i64,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Count> {
        let scope = Scope::default();
        let value = self.expr(e, &Env { ctes, ..Env::of(&scope, clause) })?;
        if !value.has_subquery() {
            return count(&value, e, clause).map(Count::Constant).map_err(|error| error.at(e.span()));
        }
        if !value.data_type.is_integer() && !value.data_type.is_null() {
            let shown = expressions::text::shown(&value.data_type);
            let message =
                format!("{clause} takes a whole number, and {e} is a {shown}\n  help: a CAST may help");
            return Err(Error::Invalid(message).at(e.span()));
        }
        // A number below 0 is an error of the first cast.
        let number = self.types.cast(value, &DataType::UInt64, false)?;
        let number = self.types.cast(number, &DataType::Int64, false)?;
        let of_null = Expr::literal(ScalarValue::Int64(Some(of_null)));
        self.call_named("coalesce", vec![number, of_null]).map(Count::Computed)
    }

    fn values(
        &mut self,
        values: &ast::Values,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Bound> {
        let scope = Scope::default();
        let env = Env { outer, ctes, ..Env::of(&scope, "VALUES") };
        let width = values.rows.first().map_or(0, |row| row.content.len());
        let mut cells: Vec<Vec<Expr>> = vec![Vec::with_capacity(values.rows.len()); width];
        for (i, row) in values.rows.iter().enumerate() {
            if row.content.len() != width {
                return Err(Error::Invalid(format!(
                    "the rows of VALUES have different numbers of columns: the first has {width}, row {} has {}",
                    i + 1,
                    row.content.len()
                ))
                .at(row.content.first().map_or(Span::empty(), Spanned::span)));
            }
            for (cell, column) in row.content.iter().zip(&mut cells) {
                column.push(self.expr(cell, &env)?);
            }
        }
        let mut fields = Vec::with_capacity(width);
        let mut rows: Vec<Vec<Expr>> = vec![Vec::with_capacity(width); values.rows.len()];
        for (i, column) in cells.into_iter().enumerate() {
            let column = self.types.common(column).map_err(|(row, error)| {
                let cell = values.rows.get(row).and_then(|row| row.content.get(i));
                error.at(cell.map_or(Span::empty(), Spanned::span))
            })?;
            let data_type = column.first().map_or(DataType::Null, |e| e.data_type.clone());
            let name = format!("column{}", i + 1);
            let id = self.columns.add(&name, data_type);
            self.columns.mark(id, self.columns.one_of(column.iter()));
            fields.push(Field { id, name });
            column.into_iter().zip(&mut rows).for_each(|(e, row)| row.push(e));
        }
        let columns = fields.iter().map(|field| field.id).collect();
        Ok(Bound { rel: Rel::Values(Values { columns, rows }), fields })
    }

    fn set_operation(
        &mut self,
        op: SetOperator,
        quantifier: SetQuantifier,
        left: &SetExpr,
        right: &SetExpr,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Bound> {
        // A chain of one operation hangs to the left: thousands of them are one operator, and no deep tree.
        let mut operands = vec![right];
        let mut first = left;
        if op == SetOperator::Union {
            while let SetExpr::SetOperation { op: inner, set_quantifier, left, right } = first
                && *inner == op
                && *set_quantifier == quantifier
                && !is_by_name(quantifier)
            {
                operands.push(right);
                first = left;
            }
        }
        operands.push(first);
        operands.reverse();
        let bound =
            operands.into_iter().map(|operand| self.set(operand, outer, ctes)).collect::<Result<Vec<_>>>()?;
        let sides = match is_by_name(quantifier) {
            true if op == SetOperator::Union => self.by_name(bound)?,
            true => return Err(Error::Unsupported(format!("{op} {quantifier}"))),
            false => bound,
        };
        // The columns of both sides don't go together: the second one is marked.
        let at = |error: Error| error.at(begin(right));
        let is_all = matches!(quantifier, SetQuantifier::All | SetQuantifier::AllByName);
        let (inputs, fields) = self.aligned(op, sides).map_err(at)?;
        match op {
            SetOperator::Union => Ok(united(inputs, fields, is_all)),
            SetOperator::Intersect | SetOperator::Except | SetOperator::Minus => {
                let is_intersection = op == SetOperator::Intersect;
                match is_all {
                    true => self.counted(inputs, fields, is_intersection),
                    false => self.filtered(inputs, fields, is_intersection),
                }
            }
        }
    }

    /// Sides whose columns are those of all, in the order in which they appear; NULL where a side has none.
    fn by_name(&mut self, sides: Vec<Bound>) -> Result<Vec<Bound>> {
        let mut names: Vec<String> = Vec::new();
        for side in &sides {
            for (i, field) in side.fields.iter().enumerate() {
                if side.fields[..i].iter().any(|other| same(&other.name, &field.name)) {
                    return Err(Error::Invalid(format!(
                        "UNION BY NAME of a query with two columns '{}'",
                        field.name
                    )));
                }
                if !names.iter().any(|name| same(name, &field.name)) {
                    names.push(field.name.clone());
                }
            }
        }
        let mut named = Vec::with_capacity(sides.len());
        for side in sides {
            let mut missing = Vec::new();
            let mut fields = Vec::with_capacity(names.len());
            for name in &names {
                let known = side.fields.iter().find(|field| same(&field.name, name));
                let id = known.map(|field| field.id).unwrap_or_else(|| {
                    let id = self.columns.add(name, DataType::Null);
                    missing.push((id, Expr::null(&DataType::Null)));
                    id
                });
                fields.push(Field { name: name.clone(), id });
            }
            named.push(Bound { rel: mapped(side.rel, missing), fields });
        }
        Ok(named)
    }

    /// The inputs of a set operation with columns of the same types, and the columns that it gives.
    pub(super) fn aligned(&mut self, op: SetOperator, sides: Vec<Bound>) -> Result<(Inputs, Vec<Field>)> {
        let width = sides.first().map_or(0, |side| side.fields.len());
        if let Some(other) = sides.iter().find(|side| side.fields.len() != width) {
            return Err(Error::Invalid(format!(
                "{op} of queries with {width} and {} columns\n  help: both have to have as many columns",
                other.fields.len()
            )));
        }
        let mut types = Vec::with_capacity(width);
        for column in 0..width {
            let of_sides: Vec<DataType> =
                sides.iter().map(|side| self.columns.get(side.fields[column].id).data_type.clone()).collect();
            types.push(self.types.union(&of_sides)?);
        }
        let first = sides.first().map_or(&[] as &[Field], |side| &side.fields);
        let fields: Vec<Field> = first
            .iter()
            .zip(&types)
            .map(|(field, t)| Field {
                id: self.columns.add(&field.name, t.clone()),
                name: field.name.clone(),
            })
            .collect();
        let mut inputs = Vec::with_capacity(sides.len());
        for (place, field) in fields.iter().enumerate() {
            let of_sides = sides.iter().map(|side| self.columns.get(side.fields[place].id).holds.clone());
            let holds = of_sides.fold(Holds::Nothing, Holds::or);
            self.columns.mark(field.id, holds);
        }
        for side in sides {
            let (mut casts, mut ids) = (Vec::new(), Vec::with_capacity(width));
            for (field, t) in side.fields.iter().zip(&types) {
                if self.columns.get(field.id).data_type == *t {
                    ids.push(field.id);
                    continue;
                }
                let cast = self.types.cast(self.columns.read(field.id), t, false)?;
                let id = self.columns.add(&field.name, t.clone());
                casts.push((id, cast));
                ids.push(id);
            }
            inputs.push((mapped(side.rel, casts), ids));
        }
        Ok((inputs, fields))
    }

    /// INTERSECT and EXCEPT of distinct rows: those of the left side that have, or have not, an equal one.
    fn filtered(&mut self, inputs: Inputs, fields: Vec<Field>, is_intersection: bool) -> Result<Bound> {
        let mut inputs = inputs.into_iter();
        let (Some((left, of_left)), Some((right, of_right))) = (inputs.next(), inputs.next()) else {
            return Err(Error::Invalid("a set operation has two sides".into()));
        };
        // Under columns of its own: the names of the result may stand twice in a side.
        let columns: Vec<ColumnId> = fields.iter().map(|field| field.id).collect();
        let renamed = fields.iter().zip(&of_left).map(|(field, id)| (field.id, self.columns.read(*id)));
        let left = distinct(mapped(left, renamed.collect()), columns.clone());
        let predicates = columns.iter().zip(&of_right).map(|(l, r)| {
            Expr::compare(self.columns.read(*l), Operator::IsNotDistinctFrom, self.columns.read(*r))
        });
        let join = Join {
            kind: if is_intersection { JoinKind::Semi } else { JoinKind::Anti },
            predicates: predicates.collect(),
            left: Box::new(left),
            right: Box::new(right),
        };
        Ok(Bound { rel: Rel::Join(join), fields })
    }

    /// INTERSECT ALL and EXCEPT ALL: rows are counted on both sides, and each is given min(l, r) or l - r times.
    fn counted(&mut self, inputs: Inputs, fields: Vec<Field>, is_intersection: bool) -> Result<Bound> {
        let one = |n: i64| Expr::literal(ScalarValue::Int64(Some(n)));
        let mut sides = Vec::with_capacity(2);
        for (i, (rel, mut ids)) in inputs.into_iter().enumerate() {
            let marks = ["in left", "in right"].map(|name| self.columns.add(name, DataType::Int64));
            let exprs = marks.iter().enumerate().map(|(side, id)| (*id, one(i64::from(side == i)))).collect();
            ids.extend(marks);
            sides.push((mapped(rel, exprs), ids));
        }
        let keys: Vec<ColumnId> = fields.iter().map(|field| field.id).collect();
        let marks = ["in left", "in right"].map(|name| self.columns.add(name, DataType::Int64));
        let union = Rel::Union(Union { columns: keys.iter().copied().chain(marks).collect(), inputs: sides });
        let Some(sum) = self.functions.aggregate("sum") else {
            return Err(Error::Invalid("there is no aggregate 'sum'".into()));
        };
        let mut calls = Vec::with_capacity(2);
        for mark in marks {
            let call = Call {
                function: sum.clone(),
                args: vec![self.columns.read(mark)],
                distinct: false,
                filter: None,
                order_by: vec![],
                ignore_nulls: None,
            };
            let (call, data_type) = self.types.aggregate(call)?;
            calls.push((self.columns.add("count", data_type), call));
        }
        let (left, right) = (self.columns.read(calls[0].0), self.columns.read(calls[1].0));
        let grouped = Rel::Aggregate(Aggregate { input: Box::new(union), keys, calls, totals: vec![] });
        let times = match is_intersection {
            true => {
                let is_less = self.types.binary(left.clone(), Operator::Lt, right.clone())?;
                self.types.case(None, vec![(is_less, left)], Some(right))?
            }
            false => self.types.binary(left, Operator::Minus, right)?,
        };
        let id = self.columns.add("times", times.data_type.clone());
        let is_given = self.types.binary(self.columns.read(id), Operator::Gt, one(0))?;
        let input = Rel::Filter(Filter {
            input: Box::new(mapped(grouped, vec![(id, times)])),
            predicates: vec![is_given],
        });
        Ok(Bound { rel: Rel::Repeat(Repeat { input: Box::new(input), times: id }), fields })
    }
}

/// UNION of inputs with columns of the same types.
pub(super) fn united(inputs: Inputs, fields: Vec<Field>, is_all: bool) -> Bound {
    let columns: Vec<ColumnId> = fields.iter().map(|field| field.id).collect();
    let rel = Rel::Union(Union { columns: columns.clone(), inputs });
    Bound { rel: if is_all { rel } else { distinct(rel, columns) }, fields }
}

/// A constant number of rows that an expression is; `None` for NULL.
fn count(value: &Expr, e: &Ast, clause: &str) -> Result<Option<usize>> {
    let number = match value.as_literal() {
        Some(value) if value.is_null() => return Ok(None),
        Some(value) if value.data_type().is_integer() => value.cast_to(&DataType::Int64).ok(),
        Some(_) => None,
        None => return Err(Error::Unsupported(format!("a {clause} that is not a number"))),
    };
    match number {
        Some(ScalarValue::Int64(Some(n))) => match usize::try_from(n) {
            Ok(n) => Ok(Some(n)),
            Err(_) => Err(Error::Invalid(format!("{clause} must not be negative, {n} was given"))),
        },
        _ => Err(Error::Invalid(format!("{clause} takes a number of rows, and {e} is none"))),
    }
}

/// Where a side of a set operation begins.
pub(super) fn begin(side: &SetExpr) -> Span {
    match side {
        SetExpr::Select(select) => select.select_token.0.span,
        SetExpr::Query(query) => begin(&query.body),
        SetExpr::SetOperation { left, .. } => begin(left),
        other => other.span(),
    }
}

pub(super) fn is_by_name(quantifier: SetQuantifier) -> bool {
    matches!(quantifier, SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName)
}

/// A key of ORDER BY as it is written.
pub(super) struct OrderKey<'q> {
    pub expr: &'q Ast,
    /// The place of the result's column that it means.
    pub place: Option<usize>,
    pub descending: bool,
    pub nulls_first: bool,
}

/// The keys of an ORDER BY over a result of so many columns.
///
/// # Errors
/// A place is out of range, or a clause is not supported.
pub(super) fn keys_of(order_by: &OrderBy, width: usize) -> Result<Vec<OrderKey<'_>>> {
    if order_by.interpolate.is_some() {
        return Err(Error::Unsupported("ORDER BY … INTERPOLATE".into()));
    }
    let keys = match &order_by.kind {
        OrderByKind::Expressions(keys) => keys,
        OrderByKind::All(_) => return Err(Error::Unsupported("this ORDER BY ALL".into())),
    };
    let direction = |key: &OrderByExpr| {
        let descending = key.options.asc == Some(false);
        (descending, key.options.nulls_first == Some(true))
    };
    if let [key] = keys.as_slice()
        && matches!(&key.expr, Ast::Identifier(i) if i.quote_style.is_none() && i.value.eq_ignore_ascii_case("all"))
    {
        let (descending, nulls_first) = direction(key);
        let all =
            (0..width).map(|place| OrderKey { expr: &key.expr, place: Some(place), descending, nulls_first });
        return Ok(all.collect());
    }
    let key = |key: &'_ OrderByExpr| (direction(key), place(&key.expr, width, "ORDER BY"));
    keys.iter()
        .map(|written| {
            if written.with_fill.is_some() {
                return Err(Error::Unsupported("ORDER BY … WITH FILL".into()));
            }
            let ((descending, nulls_first), place) = key(written);
            Ok(OrderKey { expr: &written.expr, place: place?, descending, nulls_first })
        })
        .collect()
}

/// The place that an expression in a clause is, counted from 0.
pub(super) fn place(e: &Ast, width: usize, clause: &str) -> Result<Option<usize>> {
    let Ast::Value(value) = e else { return Ok(None) };
    let ast::Value::Number(text, _) = &value.value else { return Ok(None) };
    let Ok(place) = text.parse::<usize>() else { return Ok(None) };
    match place.checked_sub(1).filter(|place| *place < width) {
        Some(place) => Ok(Some(place)),
        None => Err(Error::Invalid(format!(
            "{clause} {place} is out of range: the result has {width} columns, counted from 1"
        ))
        .at(value.span)),
    }
}

/// A relation that computes these columns too.
pub(super) fn mapped(rel: Rel, exprs: Vec<(ColumnId, Expr)>) -> Rel {
    if exprs.is_empty() { rel } else { Rel::Map(Map { input: Box::new(rel), exprs }) }
}

/// The distinct combinations of columns.
pub(super) fn distinct(rel: Rel, columns: Vec<ColumnId>) -> Rel {
    let mut keys = columns;
    let mut seen = std::collections::BTreeSet::new();
    keys.retain(|key| seen.insert(*key));
    Rel::Aggregate(Aggregate { input: Box::new(rel), keys, calls: vec![], totals: vec![] })
}

/// Sorted by keys, of which those that stand before again decide nothing.
pub(super) fn sorted(rel: Rel, keys: Vec<SortKey>) -> Rel {
    let once = hash::distinct_by(keys, |key| &key.expr);
    if once.is_empty() { rel } else { Rel::Sort(Sort { input: Box::new(rel), keys: once, fetch: None }) }
}
