//! Random statements over small tables of integers.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_functions_aggregate::count::count_udaf;
use datafusion_functions_aggregate::min_max::{max_udaf, min_udaf};
use schema::Table;

use super::interpret::{Tables, Value};
use super::{scan, table};
use crate::algebra::{
    Aggregate, Call, ColumnId, Columns, Expand, Expr, Filter, Join, JoinKind, Kind, Limit, Map, Rel, Repeat,
    Shared, Sort, SortKey, Stage, StageOutput, Statement, Subquery, SubqueryKind, Union, Values,
};

/// Makes statements.
pub(super) struct Generate {
    state: u64,
    columns: Columns,
    tables: Vec<Arc<Table>>,
    /// Whether something may fail: a division, a scalar subquery of several rows.
    can_fail: bool,
    /// How many more relations may be made.
    room: usize,
    /// Relations that others read.
    stages: Vec<Stage>,
}

/// The columns that an expression may name.
#[derive(Clone, Copy)]
struct Scope<'a> {
    own: &'a [ColumnId],
    outer: &'a [ColumnId],
}

impl Generate {
    pub(super) fn new(seed: u64, can_fail: bool) -> Generate {
        let tables = (0..3).map(|i| table(&format!("t{i}"), &["a", "b"])).collect();
        let room = std::env::var("ROOM").ok().and_then(|n| n.parse().ok()).unwrap_or(14);
        let state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF1;
        Generate { state, columns: Columns::default(), tables, can_fail, room, stages: vec![] }
    }

    fn below(&mut self, n: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n.max(1)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn tables(&mut self) -> Tables {
        let mut tables = Tables::new();
        for i in 0..3 {
            let rows = (0..self.below(6)).map(|_| vec![self.cell(), self.cell()]).collect();
            tables.insert(format!("t{i}"), rows);
        }
        tables
    }

    fn cell(&mut self) -> Value {
        if self.one_in(5) { None } else { Some(self.below(3) as i64) }
    }

    pub(super) fn statement(mut self) -> Statement {
        if self.one_in(3) {
            let (root, columns) = self.relation(1, &[]);
            self.stages.push(Stage { root, columns, gives: StageOutput::Rows { is_asked: false } });
        }
        let (root, output) = match self.one_in(2) {
            true => self.relation(2 + self.room / 7, &[]),
            // Columns computed by subqueries.
            false => self.mapped(1 + self.room / 7, &[]),
        };
        Statement { columns: self.columns, stages: self.stages, root, output }
    }

    fn column(&mut self, name: &str) -> ColumnId {
        self.columns.add(name, DataType::Int64)
    }

    fn literal(&mut self) -> Expr {
        match self.cell() {
            Some(v) => Expr::literal(ScalarValue::Int64(Some(v))),
            None if self.one_in(3) => Expr::null(&DataType::Int64),
            None => Expr::literal(ScalarValue::Int64(Some(1))),
        }
    }

    fn name(&mut self, scope: Scope) -> Option<Expr> {
        let from = match scope.outer.is_empty() || !scope.own.is_empty() && self.below(3) > 0 {
            true => scope.own,
            // Mostly of the query around it.
            false if self.below(2) > 0 => &scope.outer[scope.outer.len().saturating_sub(3)..],
            false => scope.outer,
        };
        if from.is_empty() {
            return None;
        }
        let id = from[self.below(from.len())];
        Some(self.columns.read(id))
    }

    /// An integer.
    fn value(&mut self, depth: usize, scope: Scope) -> Expr {
        if depth > 0 && self.room > 0 {
            match self.below(16) {
                0 | 1 => return self.scalar(depth - 1, scope),
                2 => {
                    let (when, then) = (self.condition(depth - 1, scope), self.value(depth - 1, scope));
                    let otherwise = self.value(depth - 1, scope);
                    return super::super::case(vec![(when, then)], otherwise);
                }
                3 if self.can_fail => {
                    let (left, right) = (self.value(depth - 1, scope), self.value(depth - 1, scope));
                    let kind = Kind::Binary(Operator::Divide, Box::new(left), Box::new(right));
                    return Expr { kind, data_type: DataType::Int64 };
                }
                _ => {}
            }
        }
        if self.one_in(5) {
            return self.literal();
        }
        match self.name(scope) {
            Some(e) => e,
            None => self.literal(),
        }
    }

    fn scalar(&mut self, depth: usize, scope: Scope) -> Expr {
        let outer = [scope.outer, scope.own].concat();
        let (rel, columns) = self.relation(depth, &outer);
        let (rel, column) = match self.below(4) {
            0 if self.can_fail => (rel, columns[0]),
            1 => (self.limited(rel, &columns, &outer, 0, 1), columns[self.below(columns.len())]),
            _ => {
                let (rel, columns) = self.aggregated(rel, &columns, &outer, depth, true);
                let column = columns[self.below(columns.len())];
                if self.one_in(3) {
                    let scope = Scope { own: &columns, outer: &outer };
                    let id = self.column("m");
                    let e = self.value(depth.min(1), scope);
                    let rel = Rel::Map(Map { input: Box::new(rel), exprs: vec![(id, e)] });
                    (self.maybe_filtered(rel, &columns, &outer, 0), id)
                } else {
                    (self.maybe_filtered(rel, &columns, &outer, 0), column)
                }
            }
        };
        let subquery = Subquery { kind: SubqueryKind::Scalar, rel, columns: vec![column] };
        Expr { kind: Kind::Subquery(Box::new(subquery)), data_type: DataType::Int64 }
    }

    fn op(&mut self) -> Operator {
        let ops = [
            Operator::Eq,
            Operator::Eq,
            Operator::Eq,
            Operator::Eq,
            Operator::NotEq,
            Operator::Lt,
            Operator::LtEq,
            Operator::Gt,
            Operator::GtEq,
            Operator::IsNotDistinctFrom,
            Operator::IsDistinctFrom,
        ];
        ops[self.below(ops.len())]
    }

    fn condition(&mut self, depth: usize, scope: Scope) -> Expr {
        if depth > 0 {
            match self.below(10) {
                0 => return Expr::and([self.condition(depth - 1, scope), self.condition(depth - 1, scope)]),
                1 => return Expr::or([self.condition(depth - 1, scope), self.condition(depth - 1, scope)]),
                2 => return self.condition(depth - 1, scope).not(),
                3..=5 if self.room > 0 => return self.quantified(depth - 1, scope),
                _ => {}
            }
        }
        if self.one_in(8) {
            return self.value(depth, scope).is_null();
        }
        let (left, op) = (self.value(depth, scope), self.op());
        let right = self.value(depth, scope);
        Expr::compare(left, op, right)
    }

    fn quantified(&mut self, depth: usize, scope: Scope) -> Expr {
        let outer = [scope.outer, scope.own].concat();
        let (rel, columns) = self.relation(depth, &outer);
        let kind = self.below(5);
        let width = if columns.len() > 1 && self.one_in(4) { 2 } else { 1 };
        let op = match self.op() {
            Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => Operator::Eq,
            op => op,
        };
        let values = (0..width).map(|_| self.value(depth.min(1), scope)).collect();
        let (kind, columns) = match kind {
            0 | 1 => (SubqueryKind::Exists, columns),
            2 | 3 => (SubqueryKind::Any { op, values }, columns[..width].to_vec()),
            _ => (SubqueryKind::All { op, values }, columns[..width].to_vec()),
        };
        let e = Expr::condition(Kind::Subquery(Box::new(Subquery { kind, rel, columns })));
        if self.one_in(3) { e.not() } else { e }
    }

    /// A relation, and the columns of it that may be named above it.
    fn relation(&mut self, depth: usize, outer: &[ColumnId]) -> (Rel, Vec<ColumnId>) {
        self.room = self.room.saturating_sub(1);
        let (rel, columns) = if depth == 0 || self.room == 0 || self.one_in(3) {
            match self.one_in(8) {
                true => self.constants(outer),
                false if !self.stages.is_empty() && self.one_in(3) => self.reader(),
                false => {
                    let at = self.below(self.tables.len());
                    let table = self.tables[at].clone();
                    scan(&table, &mut self.columns)
                }
            }
        } else {
            match self.below(16) {
                0..=5 => self.joined(depth - 1, outer),
                6 | 7 => {
                    let (rel, columns) = self.relation(depth - 1, outer);
                    let is_global = self.one_in(3);
                    self.aggregated(rel, &columns, outer, depth - 1, is_global)
                }
                8 => self.grouping_sets(depth - 1, outer),
                9 => self.union(depth - 1, outer),
                10 => {
                    let (rel, columns) = self.relation(depth - 1, outer);
                    let (skip, fetch) = (self.below(3), self.below(4));
                    (self.limited(rel, &columns, outer, skip, fetch), columns)
                }
                11 | 12 => self.mapped(depth - 1, outer),
                13 => self.repeated(depth - 1, outer),
                _ => self.relation(depth - 1, outer),
            }
        };
        (self.maybe_filtered(rel, &columns, outer, depth), columns)
    }

    fn maybe_filtered(&mut self, rel: Rel, columns: &[ColumnId], outer: &[ColumnId], depth: usize) -> Rel {
        if self.below(5) > 1 && (outer.is_empty() || self.one_in(3)) {
            return rel;
        }
        let scope = Scope { own: columns, outer };
        let count = if self.one_in(3) { 2 } else { usize::from(self.one_in(2)) };
        let mut predicates: Vec<Expr> = (0..count).map(|_| self.condition(depth.min(2), scope)).collect();
        if !outer.is_empty() && self.below(3) > 0 {
            let inner = self.name(Scope { own: columns, outer: &[] });
            let other = self.name(Scope { own: &[], outer });
            if let (Some(inner), Some(other)) = (inner, other) {
                let op = if self.one_in(4) { self.op() } else { Operator::Eq };
                predicates.push(Expr::compare(inner, op, other));
            }
        }
        if predicates.is_empty() {
            return rel;
        }
        Rel::Filter(Filter { input: Box::new(rel), predicates })
    }

    fn constants(&mut self, outer: &[ColumnId]) -> (Rel, Vec<ColumnId>) {
        let columns = vec![self.column("v"), self.column("w")];
        let scope = Scope { own: &[], outer };
        let rows = (0..self.below(3)).map(|_| vec![self.value(1, scope), self.value(0, scope)]).collect();
        (Rel::Values(Values { columns: columns.clone(), rows }), columns)
    }

    fn reader(&mut self) -> (Rel, Vec<ColumnId>) {
        let columns: Vec<ColumnId> = (0..self.stages[0].columns.len()).map(|_| self.column("s")).collect();
        (Rel::Shared(Shared { stage: 0, columns: columns.clone(), fetch: None, facts: None }), columns)
    }

    fn joined(&mut self, depth: usize, outer: &[ColumnId]) -> (Rel, Vec<ColumnId>) {
        let (left, of_left) = self.relation(depth, outer);
        let kinds = [
            JoinKind::Inner,
            JoinKind::Inner,
            JoinKind::Left,
            JoinKind::Left,
            JoinKind::Full,
            JoinKind::Semi,
            JoinKind::Anti,
            JoinKind::AntiNullAware,
            JoinKind::Single,
        ];
        let mut kind = kinds[self.below(kinds.len())];
        if kind == JoinKind::Single && !self.can_fail {
            kind = JoinKind::Left;
        }
        let lateral = matches!(kind, JoinKind::Inner | JoinKind::Left) && self.one_in(3);
        let around = if lateral { [outer, &of_left].concat() } else { outer.to_vec() };
        let (right, of_right) = self.relation(depth, &around);
        let both = [of_left.clone(), of_right.clone()].concat();
        let scope = Scope { own: &both, outer };
        let predicates = match kind {
            JoinKind::AntiNullAware => {
                let x = self.value(1, Scope { own: &of_left, outer });
                let y = self.columns.read(of_right[0]);
                vec![Expr::compare(x, Operator::Eq, y)]
            }
            _ => (0..self.below(3)).map(|_| self.condition(depth.min(2), scope)).collect(),
        };
        let columns = if kind.gives_right() { both } else { of_left };
        let rel = Rel::Join(Join { kind, left: Box::new(left), right: Box::new(right), predicates });
        (rel, columns)
    }

    fn call(&mut self, scope: Scope, depth: usize) -> Call {
        let functions = [count_udaf(), max_udaf(), min_udaf(), expressions::functions::sum::sum()];
        let function = functions[self.below(4)].clone();
        let args = match function.name() {
            "count" if self.one_in(2) => vec![Expr::literal(ScalarValue::Int64(Some(1)))],
            _ => vec![self.value(depth.min(1), scope)],
        };
        let filter = if self.one_in(4) { Some(self.condition(depth.min(1), scope)) } else { None };
        let distinct = self.one_in(6);
        Call { function, args, distinct, filter, order_by: vec![], ignore_nulls: None }
    }

    fn aggregated(
        &mut self,
        rel: Rel,
        columns: &[ColumnId],
        outer: &[ColumnId],
        depth: usize,
        is_global: bool,
    ) -> (Rel, Vec<ColumnId>) {
        let scope = Scope { own: columns, outer };
        let mut keys = vec![];
        if !is_global {
            keys.push(columns[self.below(columns.len())]);
            if self.one_in(3) {
                let key = self.name(scope).and_then(|e| e.as_column()).unwrap_or(columns[0]);
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        let count = if is_global { 1 + self.below(2) } else { self.below(3) };
        let calls: Vec<_> = (0..count).map(|_| (self.column("c"), self.call(scope, depth))).collect();
        let given = keys.iter().copied().chain(calls.iter().map(|(id, _)| *id)).collect();
        let rel = Rel::Aggregate(Aggregate { input: Box::new(rel), keys, calls, totals: vec![] });
        (rel, given)
    }

    fn grouping_sets(&mut self, depth: usize, outer: &[ColumnId]) -> (Rel, Vec<ColumnId>) {
        let (rel, columns) = self.relation(depth, outer);
        let from = [columns[self.below(columns.len())], columns[self.below(columns.len())]];
        let keys: Vec<_> = from.into_iter().map(|from| (self.column("g"), from)).collect();
        let all: [&[usize]; 5] = [&[], &[0], &[1], &[0, 1], &[]];
        let sets: Vec<Vec<usize>> = (0..1 + self.below(3)).map(|_| all[self.below(5)].to_vec()).collect();
        let id = self.columns.add("id", DataType::UInt64);
        let mut totals = Vec::new();
        for (i, set) in sets.iter().enumerate() {
            if set.is_empty() {
                let before = sets[..i].iter().filter(|set| set.is_empty()).count() as u64;
                let null = ScalarValue::Int64(None);
                totals.push(vec![null.clone(), null, ScalarValue::UInt64(Some(before << 2 | 3))]);
            }
        }
        let mut given: Vec<ColumnId> = keys.iter().map(|(id, _)| *id).collect();
        let rel = Rel::Expand(Expand { input: Box::new(rel), keys: keys.clone(), sets, id });
        let scope = Scope { own: &columns, outer };
        let calls: Vec<_> =
            (0..1 + self.below(2)).map(|_| (self.column("c"), self.call(scope, depth))).collect();
        let keys = keys.into_iter().map(|(id, _)| id).chain([id]).collect();
        given.extend(calls.iter().map(|(id, _)| *id));
        (Rel::Aggregate(Aggregate { input: Box::new(rel), keys, calls, totals }), given)
    }

    fn union(&mut self, depth: usize, outer: &[ColumnId]) -> (Rel, Vec<ColumnId>) {
        let columns = vec![self.column("u"), self.column("u")];
        let mut inputs = Vec::new();
        for _ in 0..2 {
            let (rel, given) = self.relation(depth, outer);
            let mut from = vec![given[self.below(given.len())], given[self.below(given.len())]];
            if !outer.is_empty() && self.one_in(6) {
                from[0] = outer[self.below(outer.len())];
            }
            inputs.push((rel, from));
        }
        (Rel::Union(Union { columns: columns.clone(), inputs }), columns)
    }

    /// Some rows by an order without equal ones.
    fn limited(
        &mut self,
        rel: Rel,
        columns: &[ColumnId],
        outer: &[ColumnId],
        skip: usize,
        fetch: usize,
    ) -> Rel {
        let mut keys = Vec::new();
        if self.one_in(3) {
            keys.push(self.value(1, Scope { own: columns, outer }));
        }
        let mut rest = columns.to_vec();
        while !rest.is_empty() {
            let id = rest.swap_remove(self.below(rest.len()));
            keys.push(self.columns.read(id));
        }
        let keys = keys
            .into_iter()
            .map(|expr| SortKey { expr, descending: self.one_in(2), nulls_first: self.one_in(2) })
            .collect();
        let sort = Sort { input: Box::new(rel), keys, fetch: None };
        if skip == 0 && self.one_in(3) {
            return Rel::Sort(Sort { fetch: Some(fetch), ..sort });
        }
        // One row is asked for where there may be no more.
        let fetch = if fetch != 1 && self.one_in(4) { None } else { Some(fetch) };
        Rel::Limit(Limit { input: Box::new(Rel::Sort(sort)), skip, fetch })
    }

    fn mapped(&mut self, depth: usize, outer: &[ColumnId]) -> (Rel, Vec<ColumnId>) {
        let (rel, mut columns) = self.relation(depth, outer);
        let id = self.column("m");
        let e = self.value(depth, Scope { own: &columns, outer });
        let e = if self.one_in(3) {
            let condition = self.condition(depth, Scope { own: &columns, outer });
            let otherwise = super::super::case(
                vec![(condition.clone().not(), Expr::literal(ScalarValue::Int64(Some(0))))],
                Expr::null(&DataType::Int64),
            );
            // The condition with its three outcomes.
            let condition = if condition.has_subquery() { self.once(condition) } else { condition };
            super::super::case(vec![(condition, e)], otherwise)
        } else {
            e
        };
        columns.push(id);
        (Rel::Map(Map { input: Box::new(rel), exprs: vec![(id, e)] }), columns)
    }

    /// The same subqueries with columns of their own.
    fn once(&mut self, e: Expr) -> Expr {
        let rel = Rel::Filter(Filter { input: Box::new(Values::one()), predicates: vec![e] });
        match rel.copied(&mut self.columns).0 {
            Rel::Filter(mut node) => node.predicates.swap_remove(0),
            _ => Expr::boolean(None),
        }
    }

    fn repeated(&mut self, depth: usize, outer: &[ColumnId]) -> (Rel, Vec<ColumnId>) {
        let (rel, columns) = self.relation(depth, outer);
        let times = self.column("times");
        let when = self.condition(0, Scope { own: &columns, outer });
        let number = |n: i64| Expr::literal(ScalarValue::Int64(Some(n)));
        let e = super::super::case(vec![(when, number(2))], number(1));
        let rel = Rel::Map(Map { input: Box::new(rel), exprs: vec![(times, e)] });
        (Rel::Repeat(Repeat { input: Box::new(rel), times }), columns)
    }
}
