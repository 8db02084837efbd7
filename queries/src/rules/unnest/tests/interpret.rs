//! Computes a statement row by row, dependent joins and subqueries as they stand.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use datafusion_common::ScalarValue;
use datafusion_expr::Operator;

use crate::algebra::{
    Aggregate, Call, ColumnId, Expr, Join, JoinKind, Kind, Rel, SortKey, Stage, Statement, Subquery,
    SubqueryKind,
};
use crate::rules::unnest::failing::fails;

/// An integer, a boolean as 0 or 1, or NULL.
pub(super) type Value = Option<i64>;
type Row = BTreeMap<ColumnId, Value>;
type Result<T> = std::result::Result<T, String>;

/// The rows of tables, by their names.
pub(super) type Tables = BTreeMap<String, Vec<Vec<Value>>>;

/// What is wrong if a stage fails: it is run whether a row asks for its value or not.
pub(super) const STAGE: &str = "a stage fails";

struct Run<'a> {
    tables: &'a Tables,
    stages: &'a [Stage],
    /// The values of stages, once they are asked for.
    values: RefCell<Vec<Option<Result<Value>>>>,
}

/// The rows of the result, in an order of their own.
pub(super) fn rows(statement: &Statement, tables: &Tables) -> Result<Vec<Vec<Value>>> {
    let values = RefCell::new(vec![None; statement.stages.len()]);
    let run = Run { tables, stages: &statement.stages, values };
    let rows = run.rel(&statement.root, &Row::new())?;
    let output = |row: &Row| statement.output.iter().map(|id| get(row, *id)).collect::<Result<Vec<_>>>();
    let mut rows = rows.iter().map(output).collect::<Result<Vec<_>>>()?;
    rows.sort();
    Ok(rows)
}

/// NULLs in the place of a row. A key of an aggregate that is an outer column stays.
fn nulls(rel: &Rel) -> Row {
    rel.columns().difference(&rel.free()).map(|id| (*id, None)).collect()
}

fn get(row: &Row, id: ColumnId) -> Result<Value> {
    row.get(&id).copied().ok_or_else(|| panic!("column {} is not there", id.0))
}

fn with(env: &Row, row: &Row) -> Row {
    let mut both = env.clone();
    both.extend(row.iter().map(|(id, value)| (*id, *value)));
    both
}

fn scalar(value: &ScalarValue) -> Value {
    match value {
        ScalarValue::Int64(v) => *v,
        ScalarValue::UInt64(v) => v.map(|v| v as i64),
        ScalarValue::Boolean(v) => v.map(i64::from),
        ScalarValue::Null => None,
        other => panic!("a literal {other}"),
    }
}

fn truth(b: bool) -> Value {
    Some(i64::from(b))
}

impl Run<'_> {
    fn rel(&self, rel: &Rel, env: &Row) -> Result<Vec<Row>> {
        match rel {
            Rel::Unnest(_) => panic!("the trees here have no lists"),
            Rel::Scan(node) => {
                let rows = self.tables[&node.table.name].iter();
                Ok(rows.map(|row| node.columns.iter().copied().zip(row.iter().copied()).collect()).collect())
            }
            Rel::Shared(node) => {
                let stage = &self.stages[node.stage];
                let rows = self.rel(&stage.root, &Row::new()).map_err(|_| STAGE.to_string())?;
                let own = |row: &Row| {
                    let pairs = node.columns.iter().zip(&stage.columns);
                    pairs.map(|(id, from)| Ok((*id, get(row, *from)?))).collect()
                };
                rows.iter().map(own).collect()
            }
            Rel::Values(node) => {
                let row = |row: &Vec<Expr>| {
                    let cells = node.columns.iter().zip(row);
                    cells.map(|(id, e)| Ok((*id, self.expr(e, env)?))).collect()
                };
                node.rows.iter().map(row).collect()
            }
            Rel::Filter(node) => {
                let mut kept = Vec::new();
                for row in self.rel(&node.input, env)? {
                    if self.all(&node.predicates, &with(env, &row))? {
                        kept.push(row);
                    }
                }
                Ok(kept)
            }
            Rel::Map(node) => {
                let mut rows = self.rel(&node.input, env)?;
                for row in &mut rows {
                    let all = with(env, row);
                    for (id, e) in &node.exprs {
                        row.insert(*id, self.expr(e, &all)?);
                    }
                }
                Ok(rows)
            }
            Rel::Join(node) => self.join(node, env),
            Rel::Aggregate(node) => self.aggregate(node, env),
            Rel::Window(_) => panic!("no window is generated"),
            Rel::Expand(node) => {
                let mut rows = Vec::new();
                for row in self.rel(&node.input, env)? {
                    let mut seen: Vec<u64> = Vec::new();
                    for set in &node.sets {
                        let mut expanded = row.clone();
                        let mut bits = 0_u64;
                        for (i, (id, from)) in node.keys.iter().enumerate() {
                            let is_in = set.contains(&i);
                            bits = bits << 1 | u64::from(!is_in);
                            let value = get(&with(env, &row), *from)?;
                            expanded.insert(*id, if is_in { value } else { None });
                        }
                        let before = seen.iter().filter(|b| **b == bits).count() as u64;
                        seen.push(bits);
                        expanded.insert(node.id, Some((before << node.keys.len() | bits) as i64));
                        rows.push(expanded);
                    }
                }
                Ok(rows)
            }
            Rel::Sort(node) => {
                let rows = self.sorted(self.rel(&node.input, env)?, &node.keys, env)?;
                Ok(rows.into_iter().take(node.fetch.unwrap_or(usize::MAX)).collect())
            }
            Rel::Limit(node) => {
                let rows = self.rel(&node.input, env)?.into_iter().skip(node.skip);
                Ok(rows.take(node.fetch.unwrap_or(usize::MAX)).collect())
            }
            Rel::Union(node) => {
                let mut rows = Vec::new();
                for (input, from) in &node.inputs {
                    for row in self.rel(input, env)? {
                        let row = with(env, &row);
                        let cells = node.columns.iter().zip(from);
                        rows.push(
                            cells.map(|(id, from)| Ok((*id, get(&row, *from)?))).collect::<Result<_>>()?,
                        );
                    }
                }
                Ok(rows)
            }
            Rel::Repeat(node) => {
                let mut rows = Vec::new();
                for row in self.rel(&node.input, env)? {
                    let times = get(&with(env, &row), node.times)?.unwrap_or(0).max(0) as usize;
                    rows.extend(std::iter::repeat_n(row, times));
                }
                Ok(rows)
            }
        }
    }

    fn join(&self, node: &Join, env: &Row) -> Result<Vec<Row>> {
        let left = self.rel(&node.left, env)?;
        let given = node.left.columns();
        let once = match node.right.free().is_disjoint(&given) {
            true if !left.is_empty() || node.kind == JoinKind::Full => Some(self.rel(&node.right, env)?),
            _ => None,
        };
        let null = nulls(&node.right);
        let mut rows = Vec::new();
        let mut right_found: Vec<bool> = once.iter().flatten().map(|_| false).collect();
        for row in left {
            let outer = with(env, &row);
            let own;
            let right = match &once {
                Some(right) => right,
                None => {
                    own = self.rel(&node.right, &outer)?;
                    &own
                }
            };
            let mut matches = Vec::new();
            let mut maybe = false;
            for (i, other) in right.iter().enumerate() {
                let both = with(&outer, other);
                if node.kind == JoinKind::AntiNullAware {
                    let values =
                        node.predicates.iter().map(|e| self.expr(e, &both)).collect::<Result<Vec<_>>>()?;
                    maybe |= values.iter().all(|v| *v != Some(0));
                } else if self.all(&node.predicates, &both)? {
                    if let Some(found) = right_found.get_mut(i) {
                        *found = true;
                    }
                    matches.push(other);
                }
            }
            match node.kind {
                JoinKind::Inner => rows.extend(matches.into_iter().map(|other| with(&row, other))),
                JoinKind::Left | JoinKind::Full | JoinKind::Single => {
                    if node.kind == JoinKind::Single && matches.len() > 1 {
                        return Err("several rows".into());
                    }
                    if matches.is_empty() {
                        rows.push(with(&row, &null));
                    }
                    rows.extend(matches.into_iter().map(|other| with(&row, other)));
                }
                JoinKind::Semi if !matches.is_empty() => rows.push(row),
                JoinKind::Anti if matches.is_empty() => rows.push(row),
                JoinKind::AntiNullAware if !maybe => rows.push(row),
                JoinKind::Mark(mark) => {
                    let mut row = row;
                    row.insert(mark, truth(!matches.is_empty()));
                    rows.push(row);
                }
                _ => {}
            }
        }
        if node.kind == JoinKind::Full {
            let null = nulls(&node.left);
            for (other, found) in once.iter().flatten().zip(right_found) {
                if !found {
                    rows.push(with(&null, other));
                }
            }
        }
        Ok(rows)
    }

    fn aggregate(&self, node: &Aggregate, env: &Row) -> Result<Vec<Row>> {
        let mut groups: BTreeMap<Vec<Value>, Vec<Row>> = BTreeMap::new();
        for row in self.rel(&node.input, env)? {
            let row = with(env, &row);
            let key = node.keys.iter().map(|id| get(&row, *id)).collect::<Result<Vec<_>>>()?;
            groups.entry(key).or_default().push(row);
        }
        if node.keys.is_empty() {
            groups.entry(vec![]).or_default();
        }
        for total in &node.totals {
            groups.entry(total.iter().map(scalar).collect()).or_default();
        }
        let mut rows = Vec::new();
        for (key, group) in groups {
            let mut row: Row = node.keys.iter().copied().zip(key).collect();
            for (id, call) in &node.calls {
                row.insert(*id, self.call(call, &group, env)?);
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn call(&self, call: &Call, group: &[Row], env: &Row) -> Result<Value> {
        let mut rows = Vec::new();
        for row in group {
            let row = with(env, row);
            let passes = match &call.filter {
                Some(filter) => self.expr(filter, &row)? == Some(1),
                None => true,
            };
            if passes {
                rows.push(row);
            }
        }
        let rows = self.sorted(rows, &call.order_by, env)?;
        let mut values = Vec::new();
        for row in &rows {
            values.push(self.expr(&call.args[0], row)?);
        }
        if call.distinct {
            values.sort();
            values.dedup();
        }
        let some = values.iter().copied().flatten();
        Ok(match call.function.name() {
            "count" => Some(some.count() as i64),
            "sum" => some.clone().next().map(|_| some.sum()),
            "min" => some.min(),
            "max" => some.max(),
            "first_value" => values.first().copied().flatten(),
            "nth_value" => {
                let place = self.expr(&call.args[1], &Row::new())?.unwrap_or(1) as usize;
                values.get(place - 1).copied().flatten()
            }
            other => panic!("the aggregate {other}"),
        })
    }

    fn sorted(&self, rows: Vec<Row>, keys: &[SortKey], env: &Row) -> Result<Vec<Row>> {
        let mut keyed = Vec::with_capacity(rows.len());
        for row in rows {
            let all = with(env, &row);
            let key = keys.iter().map(|key| self.expr(&key.expr, &all)).collect::<Result<Vec<_>>>()?;
            keyed.push((key, row));
        }
        keyed.sort_by(|(a, _), (b, _)| {
            let pairs = a.iter().zip(b).zip(keys);
            pairs.fold(Ordering::Equal, |order, ((a, b), key)| order.then_with(|| compare(*a, *b, key)))
        });
        Ok(keyed.into_iter().map(|(_, row)| row).collect())
    }

    /// Whether all conditions are true. Those that can't fail and have no subquery are looked at first.
    fn all(&self, predicates: &[Expr], row: &Row) -> Result<bool> {
        for can_fail in [false, true] {
            for e in predicates.iter().filter(|e| (fails(e) || e.has_subquery()) == can_fail) {
                if self.expr(e, row)? != Some(1) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn expr(&self, e: &Expr, row: &Row) -> Result<Value> {
        Ok(match &e.kind {
            Kind::Column(id) => get(row, *id)?,
            Kind::Literal(value) => scalar(value),
            Kind::Binary(op, left, right) => {
                let (l, r) = (self.expr(left, row)?, self.expr(right, row)?);
                return binary(*op, l, r);
            }
            Kind::And(terms) => return self.connected(terms, row, 0),
            Kind::Or(terms) => return self.connected(terms, row, 1),
            Kind::Not(inner) => self.expr(inner, row)?.map(|v| 1 - v),
            Kind::IsNull(inner) => truth(self.expr(inner, row)?.is_none()),
            Kind::Negative(inner) => self.expr(inner, row)?.map(|v| -v),
            Kind::Case { operand, branches, otherwise } => {
                let operand = operand.as_ref().map(|e| self.expr(e, row)).transpose()?;
                for (when, then) in branches {
                    let when = self.expr(when, row)?;
                    let taken = match operand {
                        Some(operand) => operand.is_some() && operand == when,
                        None => when == Some(1),
                    };
                    if taken {
                        return self.expr(then, row);
                    }
                }
                otherwise.as_ref().map(|e| self.expr(e, row)).transpose()?.flatten()
            }
            Kind::Stage(number) => {
                let known = self.values.borrow()[*number].clone();
                let value = known.unwrap_or_else(|| {
                    let stage = &self.stages[*number];
                    self.rel(&stage.root, &Row::new()).and_then(|rows| only(&rows, stage.columns[0]))
                });
                self.values.borrow_mut()[*number] = Some(value.clone());
                value.map_err(|_| STAGE.to_string())?
            }
            Kind::InList { expr, list, negated } => {
                let value = self.expr(expr, row)?;
                let mut is_in = Some(0);
                for item in list {
                    match binary(Operator::Eq, value, self.expr(item, row)?)? {
                        Some(1) => {
                            is_in = Some(1);
                            break;
                        }
                        None => is_in = None,
                        _ => {}
                    }
                }
                if *negated { is_in.map(|v| 1 - v) } else { is_in }
            }
            Kind::Subquery(subquery) => self.subquery(subquery, row)?,
            Kind::Call { function, args } if function.name() == crate::rules::unnest::single::NAME => {
                if self.expr(&args[1], row)?.unwrap_or(0) > 1 {
                    return Err("several rows".into());
                }
                self.expr(&args[0], row)?
            }
            other => panic!("{other:?}"),
        })
    }

    /// AND, which a 0 decides, or OR, which a 1 decides.
    fn connected(&self, terms: &[Expr], row: &Row, decides: i64) -> Result<Value> {
        let mut result = Some(1 - decides);
        for can_fail in [false, true] {
            for e in terms.iter().filter(|e| (fails(e) || e.has_subquery()) == can_fail) {
                match self.expr(e, row)? {
                    Some(v) if v == decides => return Ok(Some(decides)),
                    None => result = None,
                    _ => {}
                }
            }
        }
        Ok(result)
    }

    fn subquery(&self, subquery: &Subquery, row: &Row) -> Result<Value> {
        let rows = self.rel(&subquery.rel, row)?;
        let (op, values, all) = match &subquery.kind {
            SubqueryKind::Scalar => {
                let rows: Vec<Row> = rows.iter().map(|inner| with(row, inner)).collect();
                return only(&rows, subquery.columns[0]);
            }
            SubqueryKind::Exists => return Ok(truth(!rows.is_empty())),
            SubqueryKind::Any { op, values } => (*op, values, false),
            SubqueryKind::All { op, values } => (*op, values, true),
        };
        let values = values.iter().map(|e| self.expr(e, row)).collect::<Result<Vec<_>>>()?;
        let decides = i64::from(!all);
        let mut result = Some(1 - decides);
        for inner in &rows {
            let inner = with(row, inner);
            let others = subquery.columns.iter().map(|id| get(&inner, *id)).collect::<Result<Vec<_>>>()?;
            match tuples(op, &values, &others)? {
                Some(v) if v == decides => return Ok(Some(decides)),
                None => result = None,
                _ => {}
            }
        }
        Ok(result)
    }
}

/// A comparison of rows: the first values that differ decide.
fn tuples(op: Operator, left: &[Value], right: &[Value]) -> Result<Value> {
    let and = |a: Value, b: Value| match (a, b) {
        (Some(0), _) | (_, Some(0)) => Some(0),
        (Some(1), Some(1)) => Some(1),
        _ => None,
    };
    let or = |a: Value, b: Value| and(a.map(|v| 1 - v), b.map(|v| 1 - v)).map(|v| 1 - v);
    let pairs = || left.iter().zip(right);
    match op {
        Operator::Eq => pairs().try_fold(Some(1), |all, (l, r)| Ok(and(all, binary(op, *l, *r)?))),
        Operator::NotEq => pairs().try_fold(Some(0), |all, (l, r)| Ok(or(all, binary(op, *l, *r)?))),
        op if left.len() == 1 => binary(op, left[0], right[0]),
        op => {
            let strict =
                if matches!(op, Operator::Lt | Operator::LtEq) { Operator::Lt } else { Operator::Gt };
            let first = binary(strict, left[0], right[0])?;
            let same = binary(Operator::Eq, left[0], right[0])?;
            Ok(or(first, and(same, tuples(op, &left[1..], &right[1..])?)))
        }
    }
}

fn only(rows: &[Row], column: ColumnId) -> Result<Value> {
    match rows {
        [] => Ok(None),
        [row] => get(row, column),
        _ => Err("several rows".into()),
    }
}

fn binary(op: Operator, left: Value, right: Value) -> Result<Value> {
    match op {
        Operator::IsDistinctFrom => return Ok(truth(left != right)),
        Operator::IsNotDistinctFrom => return Ok(truth(left == right)),
        _ => {}
    }
    let (Some(l), Some(r)) = (left, right) else { return Ok(None) };
    Ok(match op {
        Operator::Eq => truth(l == r),
        Operator::NotEq => truth(l != r),
        Operator::Lt => truth(l < r),
        Operator::LtEq => truth(l <= r),
        Operator::Gt => truth(l > r),
        Operator::GtEq => truth(l >= r),
        Operator::Plus => Some(l + r),
        Operator::Minus => Some(l - r),
        Operator::Divide if r == 0 => return Err("division by zero".into()),
        Operator::Divide => Some(l / r),
        other => panic!("the operator {other}"),
    })
}

fn compare(a: Value, b: Value, key: &SortKey) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, _) => {
            if key.nulls_first {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (_, None) => {
            if key.nulls_first {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (Some(a), Some(b)) => {
            if key.descending {
                b.cmp(&a)
            } else {
                a.cmp(&b)
            }
        }
    }
}
