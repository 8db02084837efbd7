//! Small statements, and the plans that they become.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use datafusion_common::ScalarValue;
use datafusion_expr::{AggregateUDF, Operator};
use datafusion_functions_aggregate::count::count_udaf;
use datafusion_functions_aggregate::string_agg::string_agg_udaf;
use datafusion_functions_aggregate::sum::sum_udaf;
use schema::{Source, Table, TableEstimates};

use super::*;
use crate::algebra::{
    Aggregate, Call, Expand, Join, JoinKind, Limit, Map, Repeat, Scan, Sort, SortKey, Stage, StageOutput,
    Union, Values,
};
use crate::explain::explain;

/// A statement that is being made.
#[derive(Default)]
struct Made {
    columns: Columns,
    stages: Vec<Stage>,
    settings: Settings,
}

fn boxed(rel: Rel) -> Box<Rel> {
    Box::new(rel)
}

fn int(value: i64) -> Expr {
    Expr::literal(ScalarValue::Int64(Some(value)))
}

impl Made {
    /// A scan of a table with so many rows and these columns, `name` or `name text`.
    fn scan(&mut self, table: &str, rows: u64, names: &[&str]) -> (Rel, Vec<ColumnId>) {
        let field = |name: &&str| match name.strip_suffix(" text") {
            Some(name) => Field::new(name, DataType::Utf8View, true),
            None => Field::new(*name, DataType::Int64, true),
        };
        let schema = Arc::new(Schema::new(names.iter().map(field).collect::<Vec<_>>()));
        let spans = vec![None; names.len()];
        let source = Source::Range { start: 0, end: rows as i64, step: 1 };
        let columns: Vec<ColumnId> =
            schema.fields().iter().map(|f| self.columns.add(f.name(), f.data_type().clone())).collect();
        let table = Arc::new(Table {
            name: table.into(),
            schema,
            source,
            rows: Some(rows),
            spans,
            guesses: TableEstimates::default(),
        });
        let scan = Scan { table, transform: None, columns: columns.clone(), bounds: vec![], fetch: None };
        (Rel::Scan(scan), columns)
    }

    fn read(&self, id: ColumnId) -> Expr {
        self.columns.read(id)
    }

    fn compare(&self, left: ColumnId, op: Operator, right: ColumnId) -> Expr {
        Expr::compare(self.read(left), op, self.read(right))
    }

    fn plus(&self, left: Expr, right: Expr) -> Expr {
        let kind = Kind::Binary(Operator::Plus, Box::new(left), Box::new(right));
        Expr { kind, data_type: DataType::Int64 }
    }

    fn map(&mut self, input: Rel, name: &str, e: Expr) -> (Rel, ColumnId) {
        let id = self.columns.add(name, e.data_type.clone());
        (Rel::Map(Map { input: boxed(input), exprs: vec![(id, e)] }), id)
    }

    fn join(kind: JoinKind, left: Rel, right: Rel, predicates: Vec<Expr>) -> Rel {
        Rel::Join(Join { kind, left: boxed(left), right: boxed(right), predicates })
    }

    fn call(&mut self, function: Arc<AggregateUDF>, arg: Expr) -> (ColumnId, Call) {
        let id = self.columns.add(function.name(), DataType::Int64);
        let (distinct, filter, order_by, ignore_nulls) = (false, None, vec![], None);
        (id, Call { function, args: vec![arg], distinct, filter, order_by, ignore_nulls })
    }

    fn aggregate(input: Rel, keys: Vec<ColumnId>, calls: Vec<(ColumnId, Call)>) -> Rel {
        Rel::Aggregate(Aggregate { input: boxed(input), keys, calls, totals: vec![] })
    }

    fn sort(input: Rel, expr: Expr, fetch: Option<usize>) -> Rel {
        let keys = vec![SortKey { expr, descending: false, nulls_first: false }];
        Rel::Sort(Sort { input: boxed(input), keys, fetch })
    }

    fn plan(&self, root: Rel, output: &[ColumnId]) -> Result<Plan> {
        let (columns, stages) = (self.columns.clone(), self.stages.clone());
        let statement = Statement { columns, stages, root, output: output.to_vec() };
        let plan = lower(&statement, None, &self.settings)?;
        assert_eq!(plan.root.schema.fields().len(), plan.schema.fields().len());
        Ok(plan)
    }

    /// The plan as text, without rows and without where tables come from.
    fn explain(&self, root: Rel, output: &[ColumnId]) -> Vec<String> {
        let plan = self.plan(root, output).unwrap();
        let text = |line: crate::explain::Line| {
            let text = line.text;
            let scanned = text.split_once("] ").filter(|_| text.trim_start().starts_with("scan"));
            match scanned {
                Some((scan, source)) => {
                    let rest = source.split_once(',').map(|(_, rest)| format!(",{rest}"));
                    format!("{scan}]{}", rest.unwrap_or_default())
                }
                None => text,
            }
        };
        explain(&plan).into_iter().map(text).collect()
    }
}

#[test]
fn a_scan_gives_what_is_read() {
    let mut made = Made::default();
    let (t, columns) = made.scan("t", 10, &["a", "b", "c"]);
    assert_eq!(made.explain(t.clone(), &[columns[1]]), ["gather on worker 0", "  scan t [b]"].map(in_order));
    // In another order, and twice.
    let output = [columns[2], columns[0], columns[2]];
    let expected = ["gather on worker 0", "  project c@1, a@0, c@1", "    scan t [a, c]"].map(in_order);
    assert_eq!(made.explain(t, &output), expected);
}

/// Rows of one process's tables are gathered in their order.
fn in_order(line: &str) -> String {
    line.replace("gather on worker 0", "gather on worker 0 in the table's order")
}

#[test]
fn rows_without_columns_are_counted() {
    let mut made = Made::default();
    made.settings.workers = 2;
    let (t, _) = made.scan("t", 10, &["a", "b"]);
    let count = made.call(count_udaf(), int(1));
    let id = count.0;
    let expected = [
        "final aggregate by [] count(), keys none",
        "  gather on worker 0",
        "    partial aggregate by [] count(), keys none",
        "      scan t []",
    ];
    assert_eq!(made.explain(Made::aggregate(t, vec![], vec![count]), &[id]), expected);

    let values = Rel::Values(Values { columns: vec![], rows: vec![vec![]; 3] });
    let count = made.call(count_udaf(), int(1));
    let id = count.0;
    let plan = made.plan(Made::aggregate(values, vec![], vec![count]), &[id]).unwrap();
    let Op::Values(batches) = &plan.root.inputs[0].op else { panic!("values") };
    assert_eq!((batches[0].num_rows(), batches[0].num_columns()), (3, 0));
}

#[test]
fn maps_compute_what_is_read_and_vanish() {
    let mut made = Made::default();
    let (t, t_columns) = made.scan("t", 10, &["a", "b", "c"]);
    let (a, b) = (t_columns[0], t_columns[1]);
    let (map, sum) = made.map(t, "sum", made.plus(made.read(a), int(1)));
    let (map, other) = made.map(map, "other", made.plus(made.read(b), int(1)));
    assert_eq!(made.explain(map.clone(), &[a]), ["gather on worker 0", "  scan t [a]"].map(in_order));
    let lines = made.explain(map, &[other, a, sum]);
    assert_eq!(lines.len(), 3);
    assert!(lines[1].starts_with("  project ") && lines[1].contains(", a@0, "), "{lines:?}");
    assert_eq!(lines[2], "    scan t [a, b]");
}

#[test]
fn a_new_number_of_a_column_costs_nothing() {
    let mut made = Made::default();
    let (t, columns) = made.scan("t", 10, &["a", "b"]);
    let (map, renamed) = made.map(t, "renamed", made.read(columns[1]));
    assert_eq!(made.explain(map.clone(), &[renamed]), ["gather on worker 0", "  scan t [b]"].map(in_order));
    // Both numbers are wanted.
    let lines = made.explain(map, &[columns[1], renamed]);
    assert_eq!(lines, ["gather on worker 0", "  project b@0, b@0", "    scan t [b]"].map(in_order));
}

#[test]
fn keys_and_arguments_are_computed_by_the_aggregation() {
    let mut made = Made::default();
    let (t, columns) = made.scan("t", 1000, &["a", "b"]);
    let (map, key) = made.map(t, "key", made.plus(made.read(columns[0]), int(1)));
    let sum = made.call(sum_udaf(), made.read(columns[1]));
    let id = sum.0;
    let lines = made.explain(Made::aggregate(map, vec![key], vec![sum]), &[id, key]);
    assert_eq!(lines[0], in_order("gather on worker 0").replace(" in the table's order", ""));
    assert!(lines[1].starts_with("  project sum@1, key@0"), "{lines:?}");
    assert!(lines[2].starts_with("    single aggregate by [a@0 + 1] sum(b@1), keys word"), "{lines:?}");
    assert_eq!(lines[3], "      scan t [a, b]");
}

#[test]
fn the_smaller_side_of_a_join_is_kept() {
    let mut made = Made::default();
    let (t, a) = made.scan("t", 1_000_000, &["a", "b", "c"]);
    let (u, x) = made.scan("u", 100, &["x", "y", "z"]);
    let on = made.compare(x[0], Operator::Eq, a[0]);
    let above = made.compare(a[1], Operator::Lt, x[1]);
    let join = Made::join(JoinKind::Inner, t.clone(), u.clone(), vec![on.clone(), above]);
    let expected = [
        "gather on worker 0",
        "  inner join on [a@0 = x@0], build right, if b@0 < y@1",
        "    scan t [a, b, c]",
        "    broadcast",
        "      scan u [x, y, z]",
    ];
    assert_eq!(made.explain(join, &[x[2], a[2]]), expected);

    // In one process several workers keep it once, unless it is tiny.
    let shown = |made: &mut Made, workers, processes, rows| {
        (made.settings.workers, made.settings.processes) = (workers, processes);
        let (t, a) = made.scan("t", 1_000_000, &["a"]);
        let (u, x) = made.scan("u", rows, &["x"]);
        let on = vec![made.compare(x[0], Operator::Eq, a[0])];
        let shown = made.explain(Made::join(JoinKind::Inner, t, u, on), &[x[0], a[0]]).join("\n");
        (shown.contains("shared by the workers"), shown.contains("broadcast"))
    };
    assert_eq!(shown(&mut made, 2, 1, 100_000), (true, false));
    for (workers, processes, rows) in [(2, 1, 1000), (1, 1, 100_000), (4, 2, 100_000)] {
        assert_eq!(shown(&mut made, workers, processes, rows), (false, true), "{workers} {processes} {rows}");
    }
    made.settings = Settings::default();

    // Rows of the build side that are given at the end can't be copied.
    made.settings.broadcast_bytes = 0;
    let join = Made::join(JoinKind::Left, u.clone(), t.clone(), vec![on.clone()]);
    let expected = [
        "gather on worker 0",
        "  left join on [x@0 = a@0], build left",
        "    exchange by hash of [x@0]",
        "      scan u [x]",
        "    exchange by hash of [a@0]",
        "      scan t [a, b]",
    ];
    assert_eq!(made.explain(join, &[x[0], a[1]]), expected);

    let join = Made::join(JoinKind::Semi, t, u, vec![on]);
    let expected = [
        "gather on worker 0",
        "  leftsemi join on [a@0 = x@0], build right, shared by the workers",
        "    scan t [a]",
        "    exchange by hash of [x@0]",
        "      scan u [x]",
    ];
    assert_eq!(made.explain(join, &[a[0]]), expected);
}

#[test]
fn a_mark_is_the_last_column() {
    let mut made = Made::default();
    let (t, a) = made.scan("t", 100, &["a", "b"]);
    let (u, x) = made.scan("u", 100, &["x"]);
    let on = made.compare(a[0], Operator::Eq, x[0]);
    let mark = made.columns.add("mark", DataType::Boolean);
    let join = Made::join(JoinKind::Mark(mark), t, u, vec![on]);
    let plan = made.plan(join.clone(), &[mark, a[1]]).unwrap();
    let project = &plan.root.inputs[0];
    assert!(matches!(project.op, Op::Project { .. }));
    let names: Vec<_> = project.inputs[0].schema.fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["b", "mark"]);
    // Nobody reads it: the left side alone is left.
    assert_eq!(made.explain(join, &[a[1]]), ["gather on worker 0", "  scan t [b]"].map(in_order));
}

#[test]
fn nulls_are_equal_where_all_keys_say_so() {
    let mut made = Made::default();
    let (t, a) = made.scan("t", 100, &["a", "b"]);
    let (u, x) = made.scan("u", 100, &["x", "y"]);
    let safe = made.compare(a[0], Operator::IsNotDistinctFrom, x[0]);
    let plain = made.compare(a[1], Operator::Eq, x[1]);
    let joined = |plan: &Plan| match &plan.root.inputs[0].op {
        Op::Join(join) => join.clone(),
        _ => panic!("a join"),
    };
    let join = Made::join(JoinKind::Left, t.clone(), u.clone(), vec![safe.clone()]);
    let plan = made.plan(join, &[a[0]]).unwrap();
    assert_eq!(joined(&plan).null_equality, datafusion_common::NullEquality::NullEqualsNull);
    let both = vec![safe, plain];
    let lines = made.explain(Made::join(JoinKind::Left, t.clone(), u.clone(), both.clone()), &[a[0]]);
    assert_eq!(lines[1], "  left join on [a@0 = x@0, b@1 = y@1], build right");
    assert!(lines[4].trim_start().starts_with("filter ") && lines[4].contains("y@1"), "{lines:?}");
    // All rows of a full join are given: what is NULL is kept apart as pairs are.
    let plan = made.plan(Made::join(JoinKind::Full, t, u, both), &[a[0]]).unwrap();
    let full = joined(&plan);
    assert!(full.filter.is_some() && full.filter_columns == [(plan::Side::Left, 1)]);
}

#[test]
fn a_key_that_can_fail_is_guarded_by_its_side() {
    let mut made = Made::default();
    let (t, a) = made.scan("t", 100, &["a"]);
    let (u, x) = made.scan("u", 100, &["x"]);
    let kind = Kind::Binary(Operator::Divide, Box::new(int(9)), Box::new(made.read(a[0])));
    let key = Expr::compare(Expr { kind, data_type: DataType::Int64 }, Operator::Eq, made.read(x[0]));
    let guard = Expr::compare(made.read(a[0]), Operator::NotEq, int(0));
    let lines = made.explain(Made::join(JoinKind::Left, t, u, vec![guard, key]), &[a[0]]);
    assert!(lines[1].contains("CASE WHEN a@0 != 0 THEN ") && lines[1].contains(" = x@0]"), "{lines:?}");
    assert!(lines[1].contains(", if a@0 != 0"), "{lines:?}");
}

#[test]
fn orders_are_by_columns() {
    let mut made = Made::default();
    made.settings.workers = 2;
    let (t, a) = made.scan("t", 100, &["a", "b", "c"]);
    let sorted = Made::sort(t, made.plus(made.read(a[0]), made.read(a[1])), Some(3));
    let limit = Rel::Limit(Limit { input: boxed(sorted), skip: 1, fetch: Some(2) });
    let expected = [
        "project c@0",
        "  limit 2 offset 1",
        "    merge on worker 0 by key 0@1, first 3",
        "      top 3 by key 0@1",
        "        project c@2, a@0 + b@1",
        "          scan t [a, b, c]",
    ];
    assert_eq!(made.explain(limit, &[a[2]]), expected);
    let (t, a) = made.scan("t", 100, &["a"]);
    let limit = Rel::Limit(Limit { input: boxed(t), skip: 1, fetch: Some(2) });
    let expected = [
        "limit 2 offset 1",
        "  gather on worker 0 in the table's order",
        "    limit 3 offset 0",
        "      scan t [a]",
    ];
    assert_eq!(made.explain(limit, &[a[0]]), expected);
}

#[test]
fn rows_in_an_order_go_to_an_aggregate_that_asks_for_it() {
    let mut made = Made::default();
    made.settings.workers = 2;
    let (t, a) = made.scan("t", 100, &["a", "b text", "c", "d"]);
    let ordered = |made: &mut Made, by: ColumnId| {
        let (id, mut call) = made.call(string_agg_udaf(), made.read(a[1]));
        call.args.push(Expr::literal(ScalarValue::Utf8View(Some(",".into()))));
        call.order_by = vec![SortKey { expr: made.read(by), descending: true, nulls_first: true }];
        (id, call)
    };
    let (one, other) = (ordered(&mut made, a[2]), ordered(&mut made, a[0]));
    let ids = [one.0, other.0];
    let lines = made.explain(Made::aggregate(t.clone(), vec![a[0]], vec![one.clone()]), &ids[..1]);
    assert!(lines.iter().any(|l| l.trim() == "sort by c@2 desc nulls first"), "{lines:?}");
    assert!(lines.iter().any(|l| l.trim() == "exchange by hash of [a@0]"), "{lines:?}");
    let both = made.plan(Made::aggregate(t, vec![a[0]], vec![one, other]), &ids);
    assert!(both.is_err_and(|e| e.to_string().contains("different ORDER BY")));
}

#[test]
fn sets_have_numbers() {
    let mut made = Made::default();
    let (t, a) = made.scan("t", 100, &["a", "b", "c"]);
    let keys = [a[0], a[1]].map(|from| (made.columns.add("key", DataType::Int64), from)).to_vec();
    let id = made.columns.add("set", DataType::UInt64);
    let sets = vec![vec![0, 1], vec![0], vec![], vec![]];
    let expand = Rel::Expand(Expand { input: boxed(t), keys: keys.clone(), sets, id });
    let plan = made.plan(expand, &[keys[0].0, id]).unwrap();
    let Op::Expand { sets } = &plan.root.inputs[0].op else { panic!("grouping sets") };
    let shown: Vec<_> =
        sets.iter().map(|set| set.iter().map(ToString::to_string).collect::<Vec<_>>()).collect();
    assert_eq!(shown, [["a@0", "0"], ["a@0", "1"], ["NULL", "3"], ["NULL", "7"]]);
}

#[test]
fn unions_and_repeated_rows_have_one_order() {
    let mut made = Made::default();
    let (t, a) = made.scan("t", 100, &["a", "b"]);
    let (u, x) = made.scan("u", 100, &["x", "y"]);
    let columns = ["p", "q"].map(|name| made.columns.add(name, DataType::Int64)).to_vec();
    let inputs = vec![(t, vec![a[1], a[0]]), (u, vec![x[0], x[0]])];
    let union = Rel::Union(Union { columns: columns.clone(), inputs });
    let expected = [
        "gather on worker 0",
        "  union all",
        "    project b@1, a@0",
        "      scan t [a, b]",
        "    project x@0, x@0",
        "      scan u [x]",
    ];
    assert_eq!(made.explain(union, &columns), expected);

    let (t, a) = made.scan("t", 100, &["a", "times"]);
    let repeat = Rel::Repeat(Repeat { input: boxed(t), times: a[1] });
    let expected = ["gather on worker 0", "  repeat each row", "    scan t [a, times]"];
    assert_eq!(made.explain(repeat, &[a[0]]), expected);
}

#[test]
fn scans_have_bounds_and_prefixes() {
    let mut made = Made::default();
    let (t, a) = made.scan("t", 100, &["a", "b text"]);
    let Rel::Scan(mut scan) = t else { panic!("a scan") };
    scan.bounds = vec![Expr::compare(int(5), Operator::Lt, made.read(a[0]))];
    let args = vec![made.read(a[1]), int(1), int(8)];
    let kind = Kind::Call { function: datafusion_functions::unicode::substr(), args };
    let (map, start) = made.map(Rel::Scan(scan), "start", Expr { kind, data_type: DataType::Utf8View });
    let lines = made.explain(map, &[start]);
    assert_eq!(lines[2], "    scan t [b], zone maps: 5 < a, of b the first 8 characters");
}

#[test]
fn stages_that_are_read_are_run() {
    let mut made = Made::default();
    for _ in 0..2 {
        let (t, columns) = made.scan("t", 100, &["a"]);
        made.stages.push(Stage { root: t, columns: vec![columns[0]], gives: StageOutput::Value });
    }
    let (t, columns) = made.scan("t", 100, &["a"]);
    let stage = Expr { kind: Kind::Stage(1), data_type: DataType::Int64 };
    let predicates = vec![Expr::compare(made.read(columns[0]), Operator::Gt, stage)];
    let plan = made.plan(Rel::Filter(Filter { input: boxed(t), predicates }), &columns).unwrap();
    let numbers: Vec<usize> = plan.stages.iter().map(|stage| stage.number).collect();
    assert_eq!(numbers, [1]);
}
