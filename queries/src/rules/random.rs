//! Random statements, run before and after the rules: both give the same rows.
//!
//! A relation is run as its definition says, row by row. Values are small whole numbers, so that sums don't fail, which
//! count as what can fail all the same. Numbers of rows are made up, so that joins change their order.
//!
//! Statements without inner and outer joins divide as well. What does not fail before the rules does not fail after them.

use std::cell::Cell;
use std::collections::BTreeMap;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_functions_aggregate::count::count_udaf;
use datafusion_functions_aggregate::min_max::max_udaf;

use super::apply;
use super::testing::{Sample, eq, filter, id, int, join, map, union};
use crate::Settings;
use crate::algebra::window::{Bound, Frame};
use crate::algebra::{
    Aggregate, Call, ColumnId, Expand, Expr, JoinKind, Kind, Limit, Rel, Repeat, Shared, Sort, SortKey,
    Stage, StageOutput, Statement, Window, WindowCall, WindowFunction,
};
use crate::compile::fails;

/// NULL, a number, or a boolean as one.
pub type Value = Option<i64>;
pub type Row = BTreeMap<ColumnId, Value>;

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }

    pub fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// The rows of a table.
fn rows_of(name: &str, columns: &[ColumnId]) -> Vec<Row> {
    let mut random = Random(name.bytes().map(u64::from).sum());
    let rows = random.below(6);
    let mut value = || random.of(&[None, Some(0), Some(1), Some(2), Some(2), Some(3)]);
    (0..rows).map(|_| columns.iter().map(|id| (*id, value())).collect()).collect()
}

fn truth(value: bool) -> Value {
    Some(i64::from(value))
}

fn not(value: Value) -> Value {
    value.map(|v| 1 - v)
}

fn conjunction(values: impl Iterator<Item = Value>) -> Value {
    let mut has_null = false;
    for value in values {
        match value {
            Some(0) => return Some(0),
            Some(_) => {}
            None => has_null = true,
        }
    }
    if has_null { None } else { Some(1) }
}

fn compared(left: Value, op: Operator, right: Value) -> Value {
    match op {
        Operator::IsNotDistinctFrom => return truth(left == right),
        Operator::IsDistinctFrom => return truth(left != right),
        _ => {}
    }
    let (left, right) = (left?, right?);
    match op {
        Operator::Eq => truth(left == right),
        Operator::NotEq => truth(left != right),
        Operator::Lt => truth(left < right),
        Operator::LtEq => truth(left <= right),
        Operator::Gt => truth(left > right),
        Operator::GtEq => truth(left >= right),
        Operator::Plus => Some(left + right),
        Operator::Minus => Some(left - right),
        other => panic!("{other}"),
    }
}

/// What runs relations.
#[derive(Default)]
pub struct Run {
    /// For each stage its rows, with the columns that it gives.
    stages: Vec<Vec<Vec<Value>>>,
    /// Whether something was divided by zero.
    has_failed: Cell<bool>,
}

impl Run {
    fn value(&self, e: &Expr, row: &Row) -> Value {
        self.value_in(e, row, false)
    }

    /// Terms of AND or OR in their order of evaluation, until the value is known. `filter`: whether NULL counts as false.
    fn terms(&self, terms: &[Expr], row: &Row, is_and: bool, filter: bool) -> Value {
        let mut all = Some(1);
        for e in terms.iter().filter(|e| !fails(e)).chain(terms.iter().filter(|e| fails(e))) {
            let is_known = all == Some(0) || is_and && filter && all.is_none();
            if is_known && fails(e) {
                break;
            }
            let value = self.value_in(e, row, filter);
            all = conjunction([all, if is_and { value } else { not(value) }].into_iter());
        }
        if is_and { all } else { not(all) }
    }

    fn value_in(&self, e: &Expr, row: &Row, filter: bool) -> Value {
        let of = |e: &Expr| self.value(e, row);
        match &e.kind {
            Kind::Column(id) => *row.get(id).unwrap_or_else(|| panic!("column {} is not there", id.0)),
            Kind::Literal(value) => match value {
                ScalarValue::Int64(v) => *v,
                ScalarValue::Boolean(v) => v.map(i64::from),
                ScalarValue::UInt64(v) => v.map(|v| v as i64),
                other => panic!("{other:?}"),
            },
            Kind::Binary(Operator::Divide, left, right) => {
                let (left, right) = (of(left), of(right));
                self.has_failed.set(self.has_failed.get() || left.is_some() && right == Some(0));
                left?.checked_div(right?)
            }
            Kind::Binary(op, left, right) => compared(of(left), *op, of(right)),
            Kind::And(terms) => self.terms(terms, row, true, filter),
            Kind::Or(terms) => self.terms(terms, row, false, filter),
            Kind::Not(inner) => not(of(inner)),
            Kind::IsNull(inner) => truth(of(inner).is_none()),
            Kind::Case { operand: None, branches, otherwise } => {
                let taken = branches
                    .iter()
                    .find(|(when, _)| self.value_in(when, row, true) == Some(1))
                    .map(|(_, then)| then);
                taken.or(otherwise.as_deref()).and_then(of)
            }
            Kind::InList { expr, list, negated } => {
                let is_in =
                    not(conjunction(list.iter().map(|item| not(compared(of(expr), Operator::Eq, of(item))))));
                if *negated { not(is_in) } else { is_in }
            }
            Kind::Between { expr, low, high, negated } => {
                let sides = [(Operator::GtEq, low), (Operator::LtEq, high)];
                let is_in =
                    conjunction(sides.into_iter().map(|(op, bound)| compared(of(expr), op, of(bound))));
                if *negated { not(is_in) } else { is_in }
            }
            Kind::Stage(number) => self.stages[*number].first().and_then(|row| row[0]),
            other => panic!("{other:?}"),
        }
    }

    fn holds(&self, predicates: &[Expr], row: &Row) -> bool {
        self.terms(predicates, row, true, true) == Some(1)
    }

    pub fn rows(&self, rel: &Rel) -> Vec<Row> {
        match rel {
            Rel::Scan(node) => {
                let mut rows = rows_of(&node.table.name, &node.columns);
                rows.truncate(node.fetch.unwrap_or(usize::MAX));
                rows
            }
            Rel::Shared(node) => {
                let rows = self.stages[node.stage].iter().take(node.fetch.unwrap_or(usize::MAX));
                let row = |row: &Vec<Value>| node.columns.iter().copied().zip(row.iter().copied()).collect();
                rows.map(row).collect()
            }
            Rel::Values(node) => {
                let row = |row: &Vec<Expr>| {
                    node.columns.iter().zip(row).map(|(id, e)| (*id, self.value(e, &Row::new()))).collect()
                };
                node.rows.iter().map(row).collect()
            }
            Rel::Filter(node) => {
                self.rows(&node.input).into_iter().filter(|row| self.holds(&node.predicates, row)).collect()
            }
            Rel::Map(node) => {
                let mut rows = self.rows(&node.input);
                for row in &mut rows {
                    let made: Vec<_> = node.exprs.iter().map(|(id, e)| (*id, self.value(e, row))).collect();
                    row.extend(made);
                }
                rows
            }
            Rel::Join(node) => self.join(node),
            Rel::Aggregate(node) => self.aggregate(node),
            Rel::Window(node) => self.window(node),
            Rel::Expand(node) => {
                let mut all = Vec::new();
                for row in self.rows(&node.input) {
                    for (number, set) in node.sets.iter().enumerate() {
                        let mut row = row.clone();
                        for (place, (id, from)) in node.keys.iter().enumerate() {
                            row.insert(*id, if set.contains(&place) { row[from] } else { None });
                        }
                        row.insert(node.id, Some(number as i64));
                        all.push(row);
                    }
                }
                all
            }
            Rel::Sort(node) => {
                let mut rows = self.rows(&node.input);
                self.sort(&mut rows, &node.keys);
                rows.truncate(node.fetch.unwrap_or(usize::MAX));
                rows
            }
            Rel::Limit(node) => {
                let rows = self.rows(&node.input).into_iter();
                rows.skip(node.skip).take(node.fetch.unwrap_or(usize::MAX)).collect()
            }
            Rel::Union(node) => {
                let mut all = Vec::new();
                for (input, from) in &node.inputs {
                    let renamed = |row: &Row| {
                        node.columns.iter().zip(from).map(|(id, from)| (*id, row[from])).collect()
                    };
                    all.extend(self.rows(input).iter().map(renamed));
                }
                all
            }
            Rel::Unnest(_) => panic!("random trees have no lists"),
            Rel::Repeat(node) => {
                let times = |row: &Row| row[&node.times].unwrap_or(0) as usize;
                self.rows(&node.input).into_iter().flat_map(|row| vec![row.clone(); times(&row)]).collect()
            }
        }
    }

    fn sort(&self, rows: &mut [Row], keys: &[SortKey]) {
        rows.sort_by(|a, b| {
            for key in keys {
                let of = |row: &Row| self.value(&key.expr, row).map(|v| if key.descending { -v } else { v });
                let order = match (of(a), of(b)) {
                    (None, None) => continue,
                    (None, _) => std::cmp::Ordering::Greater,
                    (_, None) => std::cmp::Ordering::Less,
                    (a, b) => a.cmp(&b),
                };
                if order.is_ne() {
                    return order;
                }
            }
            std::cmp::Ordering::Equal
        });
    }

    fn join(&self, node: &crate::algebra::Join) -> Vec<Row> {
        let (left, right) = (self.rows(&node.left), self.rows(&node.right));
        let both = |l: &Row, r: &Row| -> Row { l.iter().chain(r).map(|(id, v)| (*id, *v)).collect() };
        let matches = |l: &Row, r: &Row| self.holds(&node.predicates, &both(l, r));
        let nulls = |rel: &Rel| -> Row { rel.columns().into_iter().map(|id| (id, None)).collect() };
        let mut all = Vec::new();
        for l in &left {
            let own: Vec<&Row> = right.iter().filter(|r| matches(l, r)).collect();
            let unknown = |r: &&Row| self.value(&node.predicates[0], &both(l, r)) != Some(0);
            match node.kind {
                JoinKind::Inner => all.extend(own.iter().map(|r| both(l, r))),
                JoinKind::Left | JoinKind::Full if own.is_empty() => all.push(both(l, &nulls(&node.right))),
                JoinKind::Left | JoinKind::Full => all.extend(own.iter().map(|r| both(l, r))),
                JoinKind::Semi => all.extend((!own.is_empty()).then(|| l.clone())),
                JoinKind::Anti => all.extend(own.is_empty().then(|| l.clone())),
                JoinKind::AntiNullAware => {
                    all.extend((!right.iter().any(|r| unknown(&r))).then(|| l.clone()))
                }
                JoinKind::Mark(mark) => {
                    let mut row = l.clone();
                    row.insert(mark, truth(!own.is_empty()));
                    all.push(row);
                }
                JoinKind::Single => panic!("rules take it apart"),
            }
        }
        if node.kind == JoinKind::Full {
            let alone = right.iter().filter(|r| !left.iter().any(|l| matches(l, r)));
            all.extend(alone.map(|r| both(&nulls(&node.left), r)));
        }
        all
    }

    /// Counts and greatest values of all rows of the partition, or of those up to the last peer.
    fn window(&self, node: &Window) -> Vec<Row> {
        let rows = self.rows(&node.input);
        let is_same = |a: &Row, b: &Row| node.partition.iter().all(|e| self.value(e, a) == self.value(e, b));
        let result = |call: &WindowCall, row: &Row| {
            let keys = &node.order[..call.order];
            let key = |row: &Row| -> Vec<(bool, Value)> {
                keys.iter()
                    .map(|key| self.value(&key.expr, row))
                    .map(|value| (value.is_none(), value))
                    .collect()
            };
            let sees = |other: &&Row| call.frame.is_whole() || key(other) <= key(row);
            let counts = |other: &&Row| call.filter.as_ref().is_none_or(|e| self.value(e, other) == Some(1));
            let seen = rows.iter().filter(|other| is_same(row, other)).filter(sees).filter(counts);
            let values = seen.filter_map(|other| self.value(&call.args[0], other));
            if call.function.name() == "count" { Some(values.count() as i64) } else { values.max() }
        };
        let with = |row: &Row| {
            let made = node.calls.iter().map(|(id, call)| (*id, result(call, row)));
            row.iter().map(|(id, value)| (*id, *value)).chain(made).collect()
        };
        rows.iter().map(with).collect()
    }

    fn aggregate(&self, node: &Aggregate) -> Vec<Row> {
        let mut groups: BTreeMap<Vec<Value>, Vec<Row>> = BTreeMap::new();
        let number = |value: &ScalarValue| match value {
            ScalarValue::Int64(v) => *v,
            ScalarValue::UInt64(v) => v.map(|v| v as i64),
            other => panic!("{other:?}"),
        };
        for total in &node.totals {
            groups.entry(total.iter().map(number).collect()).or_default();
        }
        if node.keys.is_empty() {
            groups.entry(vec![]).or_default();
        }
        for row in self.rows(&node.input) {
            groups.entry(node.keys.iter().map(|key| row[key]).collect()).or_default().push(row);
        }
        let result = |call: &Call, rows: &[Row]| {
            let counted =
                rows.iter().filter(|row| call.filter.as_ref().is_none_or(|e| self.value(e, row) == Some(1)));
            let values = counted.filter_map(|row| self.value(&call.args[0], row));
            if call.function.name() == "count" { Some(values.count() as i64) } else { values.max() }
        };
        let group = |(keys, rows): (Vec<Value>, Vec<Row>)| {
            let keys = node.keys.iter().copied().zip(keys);
            keys.chain(node.calls.iter().map(|(id, call)| (*id, result(call, &rows)))).collect()
        };
        groups.into_iter().map(group).collect()
    }
}

/// The rows of a statement, and whether something failed.
fn run(statement: &Statement) -> (Vec<Vec<Value>>, bool) {
    let mut run = Run::default();
    for stage in &statement.stages {
        let rows = run.rows(&stage.root);
        let given = |row: &Row| stage.columns.iter().map(|id| row[id]).collect();
        run.stages.push(rows.iter().map(given).collect());
    }
    let rows = run.rows(&statement.root);
    let mut rows: Vec<Vec<Value>> =
        rows.iter().map(|row| statement.output.iter().map(|id| row[id]).collect()).collect();
    rows.sort();
    (rows, run.has_failed.get())
}

/// Makes random statements.
struct Make {
    sample: Sample,
    random: Random,
    /// Whether numbers are divided, and there are no inner and outer joins.
    divides: bool,
    stages: Vec<Stage>,
}

impl Make {
    /// A value over columns.
    fn number(&mut self, columns: &[Expr]) -> Expr {
        match self.random.below(12) {
            0..7 if !columns.is_empty() => self.random.of(columns),
            0..9 => int(self.random.below(4) as i64),
            9 => Expr::null(&DataType::Int64),
            10 => {
                let (left, right) = (self.number(columns), self.number(columns));
                let op = if self.divides { Operator::Divide } else { Operator::Plus };
                let kind = Kind::Binary(op, Box::new(left), Box::new(right));
                Expr { kind, data_type: DataType::Int64 }
            }
            _ => {
                let branches = vec![(self.condition(columns, 1), self.number(columns))];
                let otherwise = Some(Box::new(self.number(columns)));
                Expr { kind: Kind::Case { operand: None, branches, otherwise }, data_type: DataType::Int64 }
            }
        }
    }

    fn condition(&mut self, columns: &[Expr], depth: usize) -> Expr {
        let choice = if depth == 0 { self.random.below(7) } else { self.random.below(13) };
        match choice {
            0..4 => {
                let op = self.random.of(&[
                    Operator::Eq,
                    Operator::Eq,
                    Operator::Lt,
                    Operator::GtEq,
                    Operator::NotEq,
                ]);
                Expr::compare(self.number(columns), op, self.number(columns))
            }
            4 => self.number(columns).is_null(),
            5 => {
                let list = (0..2).map(|_| self.number(&[])).collect();
                let negated = self.random.below(3) == 0;
                Expr::condition(Kind::InList { expr: Box::new(self.number(columns)), list, negated })
            }
            6 => {
                let op = self.random.of(&[Operator::IsDistinctFrom, Operator::IsNotDistinctFrom]);
                Expr::compare(self.number(columns), op, self.number(columns))
            }
            7 | 8 => {
                let same = self.condition(columns, 0);
                let mut branch = || Expr::and([same.clone(), self.condition(columns, depth - 1)]);
                Expr::or([branch(), branch()])
            }
            9 => Expr::or([self.condition(columns, depth - 1), self.condition(columns, depth - 1)]),
            10 => self.condition(columns, depth - 1).not(),
            11 => {
                Expr::and([self.condition(columns, depth - 1), self.condition(columns, depth - 1)]).is_null()
            }
            _ => Expr::boolean(self.random.of(&[Some(true), Some(false), None])),
        }
    }

    fn conditions(&mut self, columns: &[Expr]) -> Vec<Expr> {
        (0..self.random.below(3) + 1).map(|_| self.condition(columns, 2)).collect()
    }

    fn table(&mut self) -> (Rel, Vec<Expr>) {
        if !self.stages.is_empty() && self.random.below(3) == 0 {
            return self.reader();
        }
        let name = format!("t{}", self.random.below(1_000));
        let rows = self.random.of(&[10, 1_000, 100_000]);
        let rows = self.random.of(&[Some(rows), Some(rows), Some(rows), None]);
        let (rel, columns) = self.sample.sized(&name, ["x", "y"], rows);
        (rel, columns.to_vec())
    }

    /// A reader of one of the stages.
    fn reader(&mut self) -> (Rel, Vec<Expr>) {
        let stage = self.random.below(self.stages.len());
        let given: Vec<Expr> =
            self.stages[stage].columns.iter().map(|_| self.sample.number("shared")).collect();
        let columns = given.iter().map(id).collect();
        (Rel::Shared(Shared { stage, columns, fetch: None, facts: None }), given)
    }

    /// A relation and columns that it gives.
    fn relation(&mut self, depth: usize) -> (Rel, Vec<Expr>) {
        if depth == 0 {
            return self.table();
        }
        match self.random.below(20) {
            16 | 17 if !self.divides => self.listed(),
            18 | 19 => self.windowed(depth),
            0..3 => {
                let (input, columns) = self.relation(depth - 1);
                let predicates = self.conditions(&columns);
                (filter(input, predicates), columns)
            }
            3 | 4 => {
                let (input, mut columns) = self.relation(depth - 1);
                let exprs: Vec<(ColumnId, Expr)> = (0..self.random.below(2) + 1)
                    .map(|_| (id(&self.sample.number("m")), self.number(&columns)))
                    .collect();
                columns.extend(exprs.iter().map(|(id, _)| self.sample.columns.read(*id)));
                (map(input, exprs), columns)
            }
            5..11 => self.joined(depth),
            11 => {
                let ((a, of_a), (b, of_b)) = (self.relation(depth - 1), self.relation(depth - 1));
                let columns: Vec<Expr> = (0..2).map(|_| self.sample.number("u")).collect();
                let mut from = |of: &[Expr]| (0..2).map(|_| id(&self.random.of(of))).collect();
                let inputs = vec![(a, from(&of_a)), (b, from(&of_b))];
                (union(columns.iter().map(id).collect(), inputs), columns)
            }
            12 => self.sorted(depth),
            13 => {
                let (input, mut columns) = self.relation(depth - 1);
                let times = self.sample.number("times");
                let counted = map(input, vec![(id(&times), int(2))]);
                columns.push(times.clone());
                (Rel::Repeat(Repeat { input: Box::new(counted), times: id(&times) }), columns)
            }
            _ => self.grouped(depth),
        }
    }

    fn windowed(&mut self, depth: usize) -> (Rel, Vec<Expr>) {
        let (input, mut columns) = self.relation(depth - 1);
        let partition: Vec<Expr> = (0..self.random.below(3)).map(|_| self.random.of(&columns)).collect();
        let order: Vec<SortKey> = (0..self.random.below(2))
            .map(|_| SortKey { expr: self.random.of(&columns), descending: false, nulls_first: false })
            .collect();
        let mut calls = Vec::new();
        for _ in 0..self.random.below(2) + 1 {
            let function = WindowFunction::Aggregate(self.random.of(&[count_udaf(), max_udaf()]));
            let filter = (self.random.below(3) == 0).then(|| self.condition(&columns, 1));
            let frame = match self.random.below(2) {
                0 => Frame::whole(),
                _ => Frame { end: Bound::Current, ..Frame::whole() },
            };
            let args = vec![self.number(&columns)];
            let (distinct, ignore_nulls, within, keys) = (false, false, vec![], order.len());
            let call =
                WindowCall { function, args, order: keys, frame, filter, distinct, ignore_nulls, within };
            calls.push((id(&self.sample.number("w")), call));
        }
        columns.extend(calls.iter().map(|(id, _)| self.sample.columns.read(*id)));
        (Rel::Window(Window { input: Box::new(input), partition, order, calls }), columns)
    }

    fn joined(&mut self, depth: usize) -> (Rel, Vec<Expr>) {
        let ((left, mut columns), (right, of_right)) = (self.relation(depth - 1), self.relation(depth - 1));
        let mark = self.sample.condition("mark");
        let kinds = [
            JoinKind::Inner,
            JoinKind::Inner,
            JoinKind::Inner,
            JoinKind::Left,
            JoinKind::Left,
            JoinKind::Full,
            JoinKind::Semi,
            JoinKind::Anti,
            JoinKind::AntiNullAware,
            JoinKind::Mark(id(&mark)),
        ];
        let first = if self.divides { 6 } else { 0 };
        let kind = self.random.of(&kinds[first..]);
        let key = eq(&self.random.of(&columns), &self.random.of(&of_right));
        if kind == JoinKind::AntiNullAware {
            return (join(kind, left, right, vec![key]), columns);
        }
        let both: Vec<Expr> = columns.iter().chain(&of_right).cloned().collect();
        let mut on = if self.random.below(5) > 0 { vec![key] } else { vec![] };
        if self.random.below(6) == 0 {
            on.push(eq(&self.random.of(&columns), &self.random.of(&of_right)));
        }
        if self.random.below(3) == 0 {
            on.push(self.condition(&both, 1));
        }
        if kind.gives_right() {
            columns = both;
        }
        let mut rel = join(kind, left, right, on);
        if let JoinKind::Mark(_) = kind {
            let asked = [mark.clone(), mark.clone().not(), Expr::or([mark, self.condition(&columns, 0)])];
            rel = filter(rel, vec![self.random.of(&asked)]);
        }
        (rel, columns)
    }

    fn sorted(&mut self, depth: usize) -> (Rel, Vec<Expr>) {
        let (input, columns) = self.relation(depth - 1);
        // By all columns, so that it is known which rows are first.
        let key = |id: ColumnId| SortKey {
            expr: self.sample.columns.read(id),
            descending: false,
            nulls_first: false,
        };
        let keys = input.columns().into_iter().map(key).collect();
        let sorted = Rel::Sort(Sort { input: Box::new(input), keys, fetch: None });
        if self.random.below(2) == 0 {
            return (sorted, columns);
        }
        let (skip, fetch) = (self.random.below(2), Some(self.random.below(4)));
        let limited = Rel::Limit(Limit { input: Box::new(sorted), skip, fetch });
        let asked = Expr::compare(self.random.of(&columns), Operator::Eq, int(self.random.below(3) as i64));
        (if self.random.below(2) == 0 { limited } else { filter(limited, vec![asked]) }, columns)
    }

    /// Tables with commas between them, and what is asked of them all.
    fn listed(&mut self) -> (Rel, Vec<Expr>) {
        let (mut rel, mut columns) = self.table();
        for _ in 0..self.random.below(3) + 1 {
            let (other, more) = if self.random.below(4) == 0 { self.relation(1) } else { self.table() };
            rel = join(JoinKind::Inner, rel, other, vec![]);
            columns.extend(more);
        }
        let mut asked: Vec<Expr> = (0..self.random.below(4) + 1)
            .map(|_| eq(&self.random.of(&columns), &self.random.of(&columns)))
            .collect();
        if self.random.below(3) == 0 {
            asked.push(self.condition(&columns, 1));
        }
        (filter(rel, asked), columns)
    }

    fn grouped(&mut self, depth: usize) -> (Rel, Vec<Expr>) {
        let (mut input, columns) = self.relation(depth - 1);
        let keys = (0..self.random.below(3)).map(|_| id(&self.random.of(&columns)));
        let mut keys = std::collections::BTreeSet::from_iter(keys).into_iter().collect::<Vec<_>>();
        let mut totals = vec![];
        if keys.len() == 1 && self.random.below(3) == 0 {
            let (key, set) = (id(&self.sample.number("k")), id(&self.sample.column("set", DataType::UInt64)));
            let (from, sets) = (keys[0], vec![vec![0], vec![]]);
            input = Rel::Expand(Expand { input: Box::new(input), keys: vec![(key, from)], sets, id: set });
            keys = vec![key, set];
            totals = vec![vec![ScalarValue::Int64(None), ScalarValue::UInt64(Some(1))]];
        }
        let calls: Vec<(ColumnId, Call)> = (0..self.random.below(3))
            .map(|_| {
                let function = self.random.of(&[count_udaf(), max_udaf()]);
                let args = vec![self.number(&columns)];
                let filter = (self.random.below(3) == 0).then(|| self.condition(&columns, 1));
                let call =
                    Call { function, args, distinct: false, filter, order_by: vec![], ignore_nulls: None };
                (id(&self.sample.number("r")), call)
            })
            .collect();
        let given = keys.iter().copied().chain(calls.iter().map(|(id, _)| *id));
        let mut given: Vec<Expr> = given.map(|id| self.sample.columns.read(id)).collect();
        given.retain(|e| e.data_type == DataType::Int64);
        let rel = Rel::Aggregate(Aggregate { input: Box::new(input), keys, calls, totals });
        if !given.is_empty() {
            return (rel, given);
        }
        // Something has to be given.
        let one = self.sample.number("one");
        (map(rel, vec![(id(&one), int(1))]), vec![one])
    }

    fn statement(&mut self) -> Statement {
        for _ in 0..self.random.below(3) {
            let (root, given) = self.relation(1);
            let (columns, is_asked) = (given.iter().map(id).collect(), self.random.below(4) == 0);
            self.stages.push(Stage { root, columns, gives: StageOutput::Rows { is_asked } });
        }
        let (mut root, columns) = self.relation(4);
        if self.random.below(4) == 0 {
            let (input, of_stage) = self.relation(2);
            let (column, value) = (id(&self.sample.number("s")), self.random.of(&of_stage));
            let args = vec![value];
            let call = Call {
                function: max_udaf(),
                args,
                distinct: false,
                filter: None,
                order_by: vec![],
                ignore_nulls: None,
            };
            let calls = vec![(column, call)];
            let root_of =
                Rel::Aggregate(Aggregate { input: Box::new(input), keys: vec![], calls, totals: vec![] });
            let stage = Expr { kind: Kind::Stage(self.stages.len()), data_type: DataType::Int64 };
            self.stages.push(Stage { root: root_of, columns: vec![column], gives: StageOutput::Value });
            root = filter(root, vec![Expr::compare(self.random.of(&columns), Operator::LtEq, stage)]);
        }
        let output: Vec<ColumnId> =
            (0..self.random.below(3) + 1).map(|_| id(&self.random.of(&columns))).collect();
        Statement { columns: self.sample.columns.clone(), stages: self.stages.clone(), root, output }
    }
}

fn check(seed: u64) {
    let divides = seed.is_multiple_of(4);
    let mut make = Make { sample: Sample::default(), random: Random(seed), divides, stages: vec![] };
    // The first numbers of seeds that follow each other are alike.
    for _ in 0..10 {
        make.random.below(2);
    }
    let statement = make.statement();
    let (before, failed) = run(&statement);
    let shown = |statement: &Statement| {
        let stages = statement.stages.iter().map(|stage| &stage.root);
        let trees = stages.chain([&statement.root]).map(|root| statement.columns.show_rel(root));
        trees.collect::<Vec<_>>().join("\n")
    };
    let text = shown(&statement);
    let statement = apply(statement, &Settings::default()).unwrap();
    let (after, fails) = run(&statement);
    assert!(failed || !fails, "seed {seed} fails\n{text}\n{}", shown(&statement));
    assert!(failed || before == after, "seed {seed}\n{text}\n{}\n{before:?}\n{after:?}", shown(&statement));
}

#[test]
fn rules_keep_the_rows_of_a_statement() {
    let count = std::env::var("PALAIS_RANDOM_STATEMENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    (0..count).for_each(check);
}
