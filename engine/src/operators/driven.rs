//! Scan, aggregate and exchange, driven by `push`, `end` and `pull` as the glue drives them, without a dataflow.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use formats::discover::{OpenOptions, open};
use queries::plan::{Exchange, Op, Phase};
use queries::{Catalog, Plan, Settings, Statement};
use schema::OnError;

use super::aggregate::{Aggregate, Placement};
use super::exchange::{At, Receive, Send};
use super::scan::Scan;
use super::scan::source::ScanSource;
use crate::context::query::QueryState;
use crate::dataflow::batch::{BATCH_ROWS, ExchangeBatch};
use crate::dataflow::credit::Pool;
use crate::dataflow::operator::{BuildBarrier, Operator, Pull, Wake};
use crate::distributed::processes::Topology;

/// A query over the table `t` for so many workers.
fn planned(sql: &str, catalog: &Catalog, workers: usize) -> Arc<Plan> {
    let Statement::Query(query) = queries::parse(sql).unwrap() else { panic!("{sql} is a query") };
    queries::plan(&query, catalog, &Settings { workers, ..Settings::default() }).unwrap()
}

/// The first node, from the root down, for which the operator is the wanted one.
fn node<'a>(node: &'a queries::plan::Node, wanted: &dyn Fn(&Op) -> bool) -> Option<&'a queries::plan::Node> {
    if wanted(&node.op) {
        return Some(node);
    }
    node.inputs.iter().find_map(|input| self::node(input, wanted))
}

/// Files of these names and texts as the table `t`.
fn table(home: &Path, files: &[(&str, String)], options: &OpenOptions) -> Catalog {
    files.iter().for_each(|(name, text)| std::fs::write(home.join(name), text).unwrap());
    let mut catalog = Catalog::default();
    catalog.add(open(home.to_str().unwrap(), "t", options).unwrap());
    catalog
}

/// csv with the numbers of a range in the column `a`, and `a` modulo 10 in `b`.
fn numbers(range: std::ops::Range<i64>) -> String {
    let line = |a: i64| format!("{a},{}\n", a % 10);
    std::iter::once("a,b\n".to_string()).chain(range.map(line)).collect()
}

/// Pulls until the operator has no more, or waits.
fn pulled(operator: &mut dyn Operator) -> (Vec<ExchangeBatch>, bool) {
    let mut all = Vec::new();
    loop {
        match operator.pull().unwrap() {
            Pull::Batch(given) => all.push(given),
            Pull::Empty => return (all, true),
            Pull::Blocked => return (all, false),
        }
    }
}

/// All that an operator gives for these batches on its only port.
fn driven(operator: &mut dyn Operator, batches: &[RecordBatch]) -> Vec<ExchangeBatch> {
    let (mut all, _) = pulled(operator);
    for batch in batches {
        operator.push(0, ExchangeBatch::from(batch.clone())).unwrap();
        all.extend(pulled(operator).0);
    }
    operator.end(0).unwrap();
    let (last, is_empty) = pulled(operator);
    assert!(is_empty, "after the last end an operator gives all that it has");
    all.extend(last);
    all
}

fn rows(given: &[ExchangeBatch]) -> Vec<RecordBatch> {
    given.iter().filter_map(|given| given.batch.clone()).filter(|batch| batch.num_rows() > 0).collect()
}

/// The integers of a column.
fn integers(batches: &[RecordBatch], column: usize) -> Vec<Option<i64>> {
    let of =
        |batch: &RecordBatch| batch.column(column).as_primitive::<Int64Type>().iter().collect::<Vec<_>>();
    batches.iter().flat_map(of).collect()
}

fn batch(columns: &[(&str, Vec<i64>)]) -> RecordBatch {
    let fields: Vec<Field> =
        columns.iter().map(|(name, _)| Field::new(*name, DataType::Int64, true)).collect();
    let arrays = columns.iter().map(|(_, values)| Arc::new(Int64Array::from(values.clone())) as ArrayRef);
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays.collect()).unwrap()
}

mod scan {
    use super::*;

    /// The source of the scan of a query, and the state of the query.
    fn source(sql: &str, catalog: &Catalog) -> (Arc<ScanSource>, Arc<QueryState>) {
        let plan = planned(sql, catalog, 2);
        let scan = node(&plan.root, &|op| matches!(op, Op::Scan(_))).unwrap();
        let Op::Scan(op) = &scan.op else { unreachable!("it was looked for") };
        let source = ScanSource::new(op, scan.schema.clone()).unwrap();
        (Arc::new(source), Arc::new(QueryState::new(plan.nodes, 2)))
    }

    fn scan(source: &Arc<ScanSource>, state: &Arc<QueryState>, barriers: Vec<Rc<BuildBarrier>>) -> Scan {
        Scan::new(source.clone(), state.clone(), barriers, Wake::of_no_dataflow(), 0)
    }

    #[test]
    fn two_scans_of_one_source_give_each_row_once() {
        let home = tempfile::tempdir().unwrap();
        let parts = (0..20).map(|part| (part * 1000, format!("{part:02}.csv")));
        let files: Vec<_> = parts.map(|(from, name)| (name, numbers(from..from + 1000))).collect();
        let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
        let catalog = table(home.path(), &files, &OpenOptions::default());
        let (source, state) = source("SELECT sum(a) FROM t", &catalog);
        let (mut one, mut other) = (scan(&source, &state, vec![]), scan(&source, &state, vec![]));
        let mut all = Vec::new();
        // In turns, until neither has more.
        let mut left = [true, true];
        while left != [false, false] {
            for (scan, left) in [&mut one, &mut other].into_iter().zip(&mut left) {
                match scan.pull().unwrap() {
                    Pull::Batch(given) => all.push(given),
                    Pull::Empty => *left = false,
                    Pull::Blocked => {}
                }
            }
        }
        let mut values: Vec<i64> = integers(&rows(&all), 0).into_iter().flatten().collect();
        values.sort_unstable();
        assert_eq!(values, (0..20_000).collect::<Vec<_>>());
        assert_eq!(state.rows_read.load(Ordering::Relaxed), 20_000);
        let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
        assert_eq!(state.bytes_read.load(Ordering::Relaxed), bytes as u64);
    }

    #[test]
    fn a_scan_waits_for_its_barriers() {
        let home = tempfile::tempdir().unwrap();
        let catalog = table(home.path(), &[("x.csv", numbers(0..10))], &OpenOptions::default());
        let (source, state) = source("SELECT sum(a) FROM t", &catalog);
        let barriers = [Rc::new(BuildBarrier::default()), Rc::new(BuildBarrier::default())];
        let mut scan = scan(&source, &state, barriers.to_vec());
        for barrier in barriers {
            assert!(matches!(scan.pull().unwrap(), Pull::Blocked));
            barrier.open();
        }
        let (all, is_empty) = pulled(&mut scan);
        assert_eq!((rows(&all)[0].num_rows(), is_empty), (10, true));
    }

    #[test]
    fn a_limited_scan_stops_early_and_a_stopped_one_at_once() {
        let home = tempfile::tempdir().unwrap();
        let catalog = table(home.path(), &[("x.csv", numbers(0..300_000))], &OpenOptions::default());
        let (limited, state) = source("SELECT a FROM t LIMIT 10", &catalog);
        let (all, _) = pulled(&mut scan(&limited, &state, vec![]));
        let read: usize = rows(&all).iter().map(RecordBatch::num_rows).sum();
        assert!((10..=BATCH_ROWS).contains(&read), "{read}");
        let (whole, state) = source("SELECT sum(a) FROM t", &catalog);
        let mut scan = scan(&whole, &state, vec![]);
        assert!(matches!(scan.pull().unwrap(), Pull::Batch(_)));
        state.cancel();
        let (rest, is_empty) = pulled(&mut scan);
        assert!(is_empty && rest.is_empty(), "{} batches more", rest.len());
    }

    #[test]
    fn what_readers_skip_is_counted_when_the_scan_is_done() {
        let home = tempfile::tempdir().unwrap();
        let bad = "a,b\n1,1\nx,2\n3,3\n".to_string();
        let options = OpenOptions { on_error: OnError::Skip, infer_rows: 1, ..OpenOptions::default() };
        let catalog = table(home.path(), &[("x.csv", bad.clone()), ("y.csv", bad)], &options);
        let (source, state) = source("SELECT sum(a) FROM t", &catalog);
        let (all, _) = pulled(&mut scan(&source, &state, vec![]));
        assert_eq!(integers(&rows(&all), 0), [1, 3, 1, 3].map(Some));
        assert_eq!(state.skipped().rows, 2);
    }
}

mod aggregate {
    use super::*;

    /// The phases of the aggregation of a query over `range`, from the partial one on, with their input schemas.
    fn phases(sql: &str) -> Vec<(queries::plan::Aggregate, SchemaRef, SchemaRef)> {
        let plan = planned(sql, &Catalog::default(), 2);
        let (mut all, mut next) = (Vec::new(), Some(&plan.root));
        while let Some(at) = next {
            if let Op::Aggregate(op) = &at.op {
                all.push((op.clone(), at.inputs[0].schema.clone(), at.schema.clone()));
            }
            next = at.inputs.first();
        }
        all.reverse();
        all
    }

    fn operator(
        (plan, input, schema): &(queries::plan::Aggregate, SchemaRef, SchemaRef),
        index: usize,
    ) -> Aggregate {
        let at = Placement { index, peers: 2, spread: true };
        Aggregate::new(plan, input.clone(), schema.clone(), at, Arc::new(QueryState::default())).unwrap()
    }

    /// Batches of the columns that an aggregation takes: `key` and `value`, in its order.
    fn inputs(schema: &SchemaRef, rows: impl Iterator<Item = (i64, i64)>) -> Vec<RecordBatch> {
        let rows: Vec<(i64, i64)> = rows.collect();
        let parts = rows.chunks(BATCH_ROWS).map(|rows| {
            let columns = schema.fields().iter().enumerate().map(|(i, _)| {
                let value = |row: &(i64, i64)| if i == 0 { row.0 } else { row.1 };
                Arc::new(Int64Array::from_iter_values(rows.iter().map(value))) as ArrayRef
            });
            RecordBatch::try_new(schema.clone(), columns.collect()).unwrap()
        });
        parts.collect()
    }

    const SQL: &str = "SELECT k, sum(v), count(*), min(v) FROM (SELECT a.range AS k, b.range AS v \
                       FROM range(10) a JOIN range(10) b ON a.range = b.range) GROUP BY k";

    #[test]
    fn states_of_two_partial_phases_make_the_groups_of_all_rows() {
        let phases = phases(SQL);
        let [partial, last] = phases.as_slice() else { panic!("two phases, and not {}", phases.len()) };
        assert_eq!((partial.0.phase, last.0.phase), (Phase::Partial, Phase::Final));
        // Few groups; and so many that a partial phase passes rows on.
        for groups in [7, 200_000] {
            let row = |i: i64| (i * 7919 % groups, i);
            let halves = [0..150_000, 150_000..300_000]
                .map(|half| rows(&driven(&mut operator(partial, 0), &inputs(&partial.1, half.map(row)))));
            let states: Vec<RecordBatch> = halves.concat();
            let made = rows(&driven(&mut operator(last, 0), &states));
            let mut expected: BTreeMap<i64, (i64, i64, i64)> = BTreeMap::new();
            for (key, value) in (0..300_000).map(row) {
                let group = expected.entry(key).or_insert((0, 0, i64::MAX));
                *group = (group.0 + value, group.1 + 1, group.2.min(value));
            }
            let columns: Vec<_> = (0..4).map(|column| integers(&made, column)).collect();
            let found: BTreeMap<i64, (i64, i64, i64)> = (0..columns[0].len())
                .map(|row| {
                    let at = |column: usize| columns[column][row].unwrap();
                    (at(0), (at(1), at(2), at(3)))
                })
                .collect();
            assert_eq!(columns[0].len(), expected.len(), "each group once");
            assert!(found == expected);
        }
    }

    #[test]
    fn without_rows_and_keys_worker_0_alone_gives_a_row() {
        let phases = phases("SELECT sum(range), count(*) FROM range(5)");
        let last = phases.last().unwrap();
        let of = |index| rows(&driven(&mut operator(last, index), &[]));
        assert_eq!((integers(&of(0), 0), integers(&of(0), 1)), (vec![None], vec![Some(0)]));
        assert!(of(1).is_empty());
    }
}

mod exchange {
    use super::*;

    const PEERS: usize = 4;

    fn send(exchange: &Exchange, schema: &SchemaRef, pool: &Arc<Pool>) -> Send {
        let at = At { index: 1, here: 0..PEERS, peers: PEERS, processes: None };
        Send::new(exchange, schema, at, pool.clone(), Wake::of_no_dataflow())
    }

    /// The exchange by hash of a plan.
    fn by_hash() -> Exchange {
        let plan = planned(
            "SELECT range % 100 AS k, count(*) FROM range(100000) GROUP BY 1",
            &Catalog::default(),
            PEERS,
        );
        let found = node(&plan.root, &|op| matches!(op, Op::Exchange(Exchange::Hash(_)))).unwrap();
        let Op::Exchange(exchange) = &found.op else { unreachable!("it was looked for") };
        exchange.clone()
    }

    #[test]
    fn rows_of_one_key_go_to_one_worker_and_none_is_lost() {
        let pool = Pool::new(1 << 20);
        let batches: Vec<_> = (0..30)
            .map(|i| {
                let keys: Vec<i64> = (0..BATCH_ROWS as i64).map(|row| row * 31 % 100).collect();
                batch(&[("k", keys), ("n", (0..BATCH_ROWS as i64).map(|row| i * 10_000 + row).collect())])
            })
            .collect();
        let mut sender = send(&by_hash(), &batches[0].schema(), &pool);
        let (mut workers, mut values) = (BTreeMap::<i64, BTreeSet<u32>>::new(), Vec::new());
        let mut take = |given: &ExchangeBatch| {
            assert!(given.credit.is_some() && given.source == 1);
            let batch = [given.batch.clone().unwrap()];
            for key in integers(&batch, 0).into_iter().flatten() {
                workers.entry(key).or_default().insert(given.target);
            }
            values.extend(integers(&batch, 1).into_iter().flatten());
        };
        // What was taken is dropped, so that its credit comes back.
        for batch in &batches {
            sender.push(0, ExchangeBatch::from(batch.clone())).unwrap();
            pulled(&mut sender).0.iter().for_each(&mut take);
        }
        sender.end(0).unwrap();
        let (last, is_empty) = pulled(&mut sender);
        last.iter().for_each(take);
        assert!(is_empty && workers.len() == 100);
        assert!(workers.values().all(|targets| targets.len() == 1), "{workers:?}");
        assert!(workers.values().flatten().collect::<BTreeSet<_>>().len() > 1);
        values.sort_unstable();
        let mut expected: Vec<i64> =
            (0..30).flat_map(|i| (0..BATCH_ROWS as i64).map(move |row| i * 10_000 + row)).collect();
        expected.sort_unstable();
        assert!(values == expected);
    }

    #[test]
    fn a_sender_without_credit_waits_until_a_batch_is_dropped() {
        let rows = batch(&[("k", (0..BATCH_ROWS as i64).collect())]);
        // One batch is always allowed.
        let pool = Pool::new(1);
        let mut sender = send(&Exchange::Gather, &rows.schema(), &pool);
        for _ in 0..3 {
            sender.push(0, ExchangeBatch::from(rows.clone())).unwrap();
        }
        for left in [2, 1, 0] {
            let (given, is_empty) = pulled(&mut sender);
            assert_eq!((given.len(), is_empty), (1, left == 0));
            assert_eq!(given[0].target, 0);
        }
    }

    #[test]
    fn a_broadcast_reaches_every_worker() {
        let rows = batch(&[("k", vec![1, 2, 3])]);
        let given = driven(
            &mut send(&Exchange::Broadcast, &rows.schema(), &Pool::new(1 << 20)),
            std::slice::from_ref(&rows),
        );
        assert_eq!(given.iter().map(|given| given.target).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert!(given.iter().all(|given| given.batch.as_ref() == Some(&rows)));
    }

    #[test]
    fn a_sender_to_whoever_merges_tells_its_end() {
        let rows = batch(&[("k", vec![1, 2, 3])]);
        let given = driven(&mut send(&Exchange::InOrder, &rows.schema(), &Pool::new(1 << 20)), &[rows]);
        assert_eq!(
            given.iter().map(|given| (given.target, given.last)).collect::<Vec<_>>(),
            [(0, false), (0, true)]
        );
    }

    #[test]
    fn a_receiver_cuts_many_rows_without_columns() {
        let schema: SchemaRef = Arc::new(Schema::empty());
        let options = RecordBatchOptions::new().with_row_count(Some(2 * BATCH_ROWS + 5));
        let rows = RecordBatch::try_new_with_options(schema.clone(), vec![], &options).unwrap();
        let mut receiver = Receive::new(schema, Topology::alone(PEERS));
        let given = driven(&mut receiver, &[rows]);
        let counts: Vec<_> = given.iter().map(|given| given.batch.as_ref().unwrap().num_rows()).collect();
        assert_eq!(counts, [BATCH_ROWS, BATCH_ROWS, 5]);
    }
}
