//! Joins by an order: ASOF, which gives each left row the nearest right one, and POSITIONAL.
//!
//! ASOF is a window over the rows of both sides. They are sorted within a partition of equal keys, right rows before
//! left ones of an equal instant (behind them if the inequality is strict). Each left row takes what the last right row
//! before it has:
//!
//! ```text
//! filter   left rows, of an inner join those that have a right one
//!   window   last_value(x IGNORE NULLS), and whether the last x is NULL, for each column x of the right side
//!     union
//!       left rows, NULL as x
//!       right rows that can be found, NULL as columns of the left side
//! ```
//!
//! The sort is the one that a merge of both sides would need, and nothing of a partition is kept.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;

use super::Binder;
use super::query::mapped;
use crate::algebra::window::{Bound, Exclude, Frame, Units};
use crate::algebra::{
    ColumnId, Expr, Filter, Join, JoinKind, Kind, Rel, SortKey, Union, Window, WindowCall, WindowFunction,
};
use crate::error::{Error, Result};

/// The condition of an ASOF join, taken apart.
#[derive(Default)]
struct Nearest {
    /// What must be equal, of the left and of the right side, and whether NULL equals NULL.
    keys: Vec<(Expr, Expr, bool)>,
    /// What is ordered, of both sides.
    order: Option<(Expr, Expr)>,
    /// Whether the right row is the next one, and not the last one before.
    is_next: bool,
    /// Whether an equal value does not count.
    is_strict: bool,
    /// Conditions on the left row alone.
    of_left: Vec<Expr>,
    /// Conditions on the right row alone.
    of_right: Vec<Expr>,
}

impl Nearest {
    /// The expressions over the rows of one side that are evaluated below, to be changed.
    fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let keys = self.keys.iter_mut().flat_map(|(left, right, _)| [left, right]);
        keys.chain(self.order.iter_mut().flat_map(|(left, right)| [left, right])).chain(&mut self.of_right)
    }
}

/// Rows of both sides as those of one relation.
#[derive(Default)]
struct Sides {
    /// The columns that it gives.
    columns: Vec<ColumnId>,
    /// Those of the left rows and of the right ones that become them.
    from: [Vec<ColumnId>; 2],
    /// What is computed for that on either side.
    made: [Vec<(ColumnId, Expr)>; 2],
}

impl Binder<'_> {
    /// Each left row beside the right row that is nearest to it, of those for which the predicates are true.
    ///
    /// # Errors
    /// The predicates are none of an ASOF join.
    pub(super) fn nearest(
        &mut self,
        kind: JoinKind,
        left: Rel,
        right: Rel,
        predicates: Vec<Expr>,
    ) -> Result<Rel> {
        // A condition that is never true leaves nothing of the others.
        let is_never =
            |e: &Expr| e.as_literal().is_some_and(|value| *value != ScalarValue::Boolean(Some(true)));
        let is_plain = predicates.iter().any(is_never);
        let mut found = match is_plain {
            true => Nearest::default(),
            false => self.taken_apart(&left, &right, &predicates)?,
        };
        if is_plain || matches!(kind, JoinKind::Semi | JoinKind::Anti) {
            // Whether there is a nearest one is whether there is any.
            let (left, right) = (Box::new(left), Box::new(right));
            return Ok(Rel::Join(Join { kind, left, right, predicates }));
        }
        let (of_left, of_right) = (left.columns(), right.columns());
        // The columns are given under their numbers above, so that the inputs have others.
        let (left, mut numbers) = left.copied(&mut self.columns);
        let (right, of_right_side) = right.copied(&mut self.columns);
        numbers.extend(of_right_side);
        let own = |id: ColumnId| numbers.get(&id).copied().unwrap_or(id);
        found.exprs_mut().for_each(|e| e.renumber(&own));
        let mut sides = Sides::default();
        for id in of_left {
            let data_type = self.columns.get(id).data_type.clone();
            self.side(&mut sides, id, self.columns.read(own(id)), Expr::null(&data_type));
        }
        let mut values = Vec::with_capacity(of_right.len());
        for id in of_right {
            let value = self.columns.again(id);
            let data_type = self.columns.get(id).data_type.clone();
            self.side(&mut sides, value, Expr::null(&data_type), self.columns.read(own(id)));
            values.push((id, value));
        }
        let mut found_right = found.of_right;
        let mut partition = Vec::with_capacity(found.keys.len());
        for (of_left, of_right, takes_null) in found.keys {
            if !takes_null {
                found_right.push(self.types.is_null(of_right.clone(), true));
            }
            let id = self.columns.add("key", of_left.data_type.clone());
            self.side(&mut sides, id, of_left, of_right);
            partition.push(self.columns.read(id));
        }
        let Some((time_left, time_right)) = found.order else { return Err(no_inequality()) };
        found_right.push(self.types.is_null(time_right.clone(), true));
        let time = self.columns.add("order", time_left.data_type.clone());
        self.side(&mut sides, time, time_left, time_right);
        let is_left = self.columns.add("is left", DataType::Boolean);
        self.side(&mut sides, is_left, Expr::boolean(true), Expr::boolean(false));
        let right = Rel::Filter(Filter { input: Box::new(right), predicates: found_right });
        let Sides { columns, from: [from_left, from_right], made: [made_left, made_right] } = sides;
        let inputs = vec![(mapped(left, made_left), from_left), (mapped(right, made_right), from_right)];
        let all = Rel::Union(Union { columns, inputs });

        // What a right row has is not NULL, and that of left rows is passed over.
        let (is_left, mut marks) = (self.columns.read(is_left), Vec::new());
        let mark = |binder: &mut Self, name: &str, e: Expr, marks: &mut Vec<(ColumnId, Expr)>| {
            let e = binder.types.case(None, vec![(is_left.clone(), Expr::boolean(None))], Some(e))?;
            let id = binder.columns.add(name, DataType::Boolean);
            marks.push((id, e));
            Ok::<_, Error>(id)
        };
        let has_one = mark(self, "has one", Expr::boolean(true), &mut marks)?;
        let mut calls = Vec::with_capacity(2 * values.len() + 1);
        let has_one = self.last(has_one, &mut calls);
        let mut taken = Vec::with_capacity(values.len());
        for (id, value) in values {
            let is_null = mark(self, "is null", self.columns.read(value).is_null(), &mut marks)?;
            taken.push((id, self.last(value, &mut calls), self.last(is_null, &mut calls)));
        }
        let key = |expr: Expr, descending| SortKey { expr, descending, nulls_first: true };
        // A left row without an instant comes before all right ones, and finds none.
        let order = vec![key(self.columns.read(time), found.is_next), key(is_left.clone(), found.is_strict)];
        let window = Rel::Window(Window { input: Box::new(mapped(all, marks)), partition, order, calls });

        let mut kept = vec![is_left];
        let mut is_found = found.of_left;
        if kind == JoinKind::Inner {
            kept.push(self.types.is_null(self.columns.read(has_one), true));
            kept.append(&mut is_found);
        }
        let rows = Rel::Filter(Filter { input: Box::new(window), predicates: kept });
        let mut exprs = Vec::with_capacity(taken.len());
        for (id, value, is_null) in taken {
            let is_there = self.types.not(self.columns.read(is_null))?;
            let is_taken = Expr::and(is_found.iter().cloned().chain([is_there]));
            let branches = vec![(is_taken, self.columns.read(value))];
            let data_type = self.columns.get(id).data_type.clone();
            let kind = Kind::Case { operand: None, branches, otherwise: None };
            exprs.push((id, Expr { kind, data_type }));
        }
        Ok(mapped(rows, exprs))
    }

    /// Adds a column of both sides.
    fn side(&mut self, sides: &mut Sides, id: ColumnId, left: Expr, right: Expr) {
        sides.columns.push(id);
        for (at, e) in [left, right].into_iter().enumerate() {
            let from = match e.as_column() {
                Some(column) => column,
                None => {
                    let made = self.columns.again(id);
                    sides.made[at].push((made, e));
                    made
                }
            };
            sides.from[at].push(from);
        }
    }

    /// The last value of a column that is not NULL, up to the row.
    fn last(&mut self, id: ColumnId, calls: &mut Vec<(ColumnId, WindowCall)>) -> ColumnId {
        let (start, end) = (Bound::First, Bound::Current);
        let frame = Frame { units: Units::Rows, start, end, exclude: Exclude::Nothing, key: None };
        let args = vec![self.columns.read(id)];
        let call =
            WindowCall { frame, ignore_nulls: true, ..WindowCall::new(WindowFunction::LastValue, args, 2) };
        let last = self.columns.again(id);
        calls.push((last, call));
        last
    }

    /// The condition of an ASOF join by its parts.
    fn taken_apart(&self, left: &Rel, right: &Rel, predicates: &[Expr]) -> Result<Nearest> {
        let (of_left, of_right) = (left.columns(), right.columns());
        if !right.free().is_disjoint(&of_left) {
            return Err(Error::Unsupported("ASOF JOIN LATERAL".into()));
        }
        let reads_left = |e: &Expr| !e.columns().is_disjoint(&of_left);
        let reads_right = |e: &Expr| !e.columns().is_disjoint(&of_right);
        let (mut keys, mut order) = (Vec::new(), None);
        let (mut only_left, mut only_right) = (Vec::new(), Vec::new());
        for e in predicates {
            match (reads_left(e), reads_right(e)) {
                (_, false) => only_left.push(e.clone()),
                (false, true) => only_right.push(e.clone()),
                (true, true) => {
                    let Kind::Binary(op, one, other) = &e.kind else { return Err(compares_both()) };
                    let is_swapped = reads_right(one);
                    let (l, r) = if is_swapped { (other, one) } else { (one, other) };
                    if reads_right(l) || reads_left(r) {
                        return Err(compares_both());
                    }
                    let (l, r) = self.of_one_type(l, r)?;
                    let op = if is_swapped { op.swap().unwrap_or(*op) } else { *op };
                    match op {
                        Operator::Eq => keys.push((l, r, false)),
                        Operator::IsNotDistinctFrom => keys.push((l, r, true)),
                        Operator::Gt | Operator::GtEq | Operator::Lt | Operator::LtEq => {
                            if order.replace((l, r, op)).is_some() {
                                let message = "two inequalities of both sides in ASOF JOIN, which takes one\n  help: others may stand in WHERE";
                                return Err(Error::Invalid(message.into()));
                            }
                        }
                        _ => return Err(compares_both()),
                    }
                }
            }
        }
        let Some((l, r, op)) = order else { return Err(no_inequality()) };
        Ok(Nearest {
            keys,
            order: Some((l, r)),
            is_next: matches!(op, Operator::Lt | Operator::LtEq),
            is_strict: matches!(op, Operator::Lt | Operator::Gt),
            of_left: only_left,
            of_right: only_right,
        })
    }

    fn of_one_type(&self, left: &Expr, right: &Expr) -> Result<(Expr, Expr)> {
        let (left, right) = (left.clone(), right.clone());
        if left.data_type == right.data_type {
            return Ok((left, right));
        }
        let common = self.types.union(&[left.data_type.clone(), right.data_type.clone()])?;
        Ok((self.types.cast(left, &common, false)?, self.types.cast(right, &common, false)?))
    }

    /// The rows of both sides by their numbers, in the order in which they come.
    ///
    /// # Errors
    /// Rows have no order.
    pub(super) fn positional(&mut self, left: Rel, right: Rel) -> Result<Rel> {
        let help = "number the rows of both sides by row_number() OVER (ORDER BY …), and join by that";
        let (left, of_left) = self.numbered(left, "POSITIONAL JOIN", help)?;
        let (right, of_right) = self.numbered(right, "POSITIONAL JOIN", help)?;
        let is_same = Expr::compare(self.columns.read(of_left), Operator::Eq, self.columns.read(of_right));
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(Rel::Join(Join { kind: JoinKind::Full, left, right, predicates: vec![is_same] }))
    }

    /// Rows and their numbers, from 1, in the order in which they come.
    ///
    /// # Errors
    /// Several processes read them, each its own part: `what` asks for an order that is not there.
    pub(super) fn numbered(&mut self, rel: Rel, what: &str, help: &str) -> Result<(Rel, ColumnId)> {
        if self.settings.processes > 1 {
            let message = format!("{what} in several processes, where rows have no order\n  help: {help}");
            return Err(Error::Unsupported(message));
        }
        let id = self.columns.add("row", DataType::Int64);
        let calls = vec![(id, WindowCall::new(WindowFunction::RowNumber, vec![], 0))];
        Ok((Rel::Window(Window { input: Box::new(rel), partition: vec![], order: vec![], calls }), id))
    }
}

fn no_inequality() -> Error {
    let message = "ASOF JOIN needs an inequality of both sides: ON a.key = b.key AND a.time >= b.time";
    Error::Invalid(message.into())
}

fn compares_both() -> Error {
    let message = "a condition of ASOF JOIN that compares both sides otherwise than by =, >=, >, <= or <\n  \
                   help: conditions on the rows of one side may stand there, others in WHERE";
    Error::Unsupported(message.into())
}
