//! The workers of a query that is kept up to date, and how rounds reach them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Decimal128Array, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::SchemaRef;
use differential_dataflow::input::{Input, InputSession};
use differential_dataflow::operators::CountTotal;
use queries::Plan;
use queries::decimals::average;
use queries::plan::{AggregateCall, AggregateFunction, Node, Op};
use schema::Table;
use timely::dataflow::ProbeHandle;
use timely::worker::Worker;

use super::shape::Shape;
use super::sums::{Sum, Sums};
use crate::context::cancel::Cancel;
use crate::context::memory::{self, Account, Holder};
use crate::context::panics;
use crate::context::query::{QueryState, Skipped};
use crate::context::stack;
use crate::dataflow::batch::{batch_bytes, batch_of};
use crate::dataflow::operator::panics_for_a_test;
use crate::error::{Error, Result};
use crate::execution::run::Settings;
use crate::execution::workers::{Build, PARK, Workers, channels_here, run_thread, start_workers};
use crate::operators::scan::source::ScanSource;
use crate::operators::{evaluate, evaluate_all};
use crate::state::hash::normalise;

/// Rows of the result that came or went: one of `diffs` a row, positive for rows that came.
#[derive(Debug, Clone)]
pub struct Change {
    /// The rows.
    pub rows: RecordBatch,
    /// How often each came; negative if it went.
    pub diffs: Vec<i64>,
}

/// A query that is kept up to date.
pub struct Watch {
    shape: Arc<Shape>,
    schema: SchemaRef,
    state: Arc<QueryState>,
    rounds: Vec<Sender<Arc<ScanSource>>>,
    changes: Receiver<Result<Option<Change>>>,
    workers: Option<Workers>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Workers end where they are: those that wait for a round, and those that are in one.
        self.state.break_off(Error::Cancelled);
        self.rounds.clear();
        // What they panicked of was told by the round.
        self.workers.take().into_iter().for_each(|workers| drop(workers.join()));
    }
}

impl Watch {
    /// Starts workers; nothing is read before [`Watch::round`]. `cancel` can stop the watch.
    pub fn start(plan: &Plan, settings: &Settings, cancel: &Cancel) -> Result<Watch> {
        let workers = settings.workers;
        let shape = Arc::new(Shape::new(plan)?);
        let (send_change, changes) = channel();
        let (rounds, ends): (Vec<_>, Vec<_>) = (0..workers).map(|_| channel::<Arc<ScanSource>>()).unzip();
        let ends = Mutex::new(ends.into_iter().map(Some).collect::<Vec<_>>());
        let (of_workers, send_change) = (shape.clone(), Mutex::new(send_change));
        let state = Arc::new(QueryState::default());
        cancel.stops(&state);
        let (counts, account) = (state.clone(), Account::new(settings.memory_limit));
        let work = move |build: Build| {
            stack::mark_deep();
            let _entered = account.enter();
            let run = |worker: &mut Worker| {
                let rounds = ends.lock().expect("nothing panics with this lock")[worker.index()].take();
                let changes = send_change.lock().expect("nothing panics with this lock").clone();
                let rounds = rounds.expect("each worker takes its own");
                if let Err(e) = run_worker(worker, &of_workers, &counts, &rounds, &changes) {
                    counts.break_off(e);
                }
            };
            run_thread(build, &counts, false, run);
        };
        let workers = Some(start_workers(channels_here(workers)?, work, &state)?);
        Ok(Watch { shape, schema: plan.schema.clone(), state, rounds, changes, workers })
    }

    /// Takes in the rows of `table`, which has the files that are new, and gives the changes of the result.
    ///
    /// # Errors
    /// Those of reading and of computing, and the cancel. A worker that panics ends the watch, and so does the cancel: all
    /// further rounds are errors.
    pub fn round(&mut self, table: &Table) -> Result<Vec<Change>> {
        let Op::Scan(scan) = &self.shape.scan.op else { unreachable!("a shape begins with a scan") };
        let scan = queries::plan::Scan { table: Arc::new(table.clone()), ..scan.clone() };
        let work = Arc::new(ScanSource::new(&scan, self.shape.scan.schema.clone())?);
        for worker in &self.rounds {
            worker.send(work.clone()).map_err(|_| self.ended())?;
        }
        let mut all = Vec::new();
        let mut left = self.rounds.len();
        while left > 0 {
            let told = match self.changes.recv_timeout(PARK) {
                Ok(told) => told?,
                // The others wait for the next round.
                Err(RecvTimeoutError::Timeout) if !self.state.stopped() => continue,
                Err(_) => return Err(self.ended()),
            };
            match told {
                Some(change) => all.push(Change {
                    rows: batch_of(&self.schema, change.rows.columns().to_vec(), change.rows.num_rows())?,
                    diffs: change.diffs,
                }),
                None => left -= 1,
            }
        }
        Ok(all)
    }

    /// Why the workers have ended.
    fn ended(&self) -> Error {
        self.state.take_error().unwrap_or_else(|| Error::Start("the workers of the watch have ended".into()))
    }

    /// What readers passed over since this was asked last.
    pub fn skipped(&self) -> Skipped {
        self.state.take_skipped()
    }
}

type Changes = Rc<RefCell<Vec<(Vec<u8>, Sums, i64)>>>;

/// What a worker of a watch keeps: its groups, and what a round has read and not yet given.
struct Keeping {
    holder: Arc<Holder>,
    groups: Rc<Cell<usize>>,
    of_round: usize,
}

impl Keeping {
    fn new() -> Keeping {
        let help = "watch fewer groups, or add files of fewer rows at once";
        Keeping { holder: Holder::new("watch".into(), help), groups: Rc::default(), of_round: 0 }
    }

    /// Notes that a round has read so many bytes more.
    fn add(&mut self, bytes: usize) -> Result<()> {
        self.of_round += bytes;
        self.check()
    }

    /// Notes that a round is given.
    fn end_round(&mut self) -> Result<()> {
        self.of_round = 0;
        self.check()
    }

    fn check(&self) -> Result<()> {
        self.holder.keeps(self.groups.get() + self.of_round);
        memory::check(0, || "the watch".into())
    }
}

/// About the bytes that a group takes: in the collection and in its count.
fn bytes_of(key: &[u8], sums: &Sums) -> usize {
    2 * (key.len() + size_of::<Vec<u8>>() + size_of::<Sums>() + sums.values.len() * size_of::<Sum>())
}

/// Serves rounds until the watch is dropped or cancelled, or another worker has panicked.
fn run_worker(
    worker: &mut Worker,
    shape: &Shape,
    state: &Arc<QueryState>,
    rounds: &Receiver<Arc<ScanSource>>,
    changes: &Sender<Result<Option<Change>>>,
) -> Result<()> {
    state.register_thread();
    let probe = ProbeHandle::new();
    let seen: Changes = Rc::default();
    let mut keeping = Keeping::new();
    // One of them: the others must not wait for it.
    let panics = worker.index() + 1 == worker.peers() && panics_for_a_test("watch");
    let mut input = worker.dataflow(|scope| {
        let (input, rows) = scope.new_collection::<Vec<u8>, Sums>();
        let (seen, groups) = (seen.clone(), keeping.groups.clone());
        rows.count_total()
            .inspect(move |((key, sums), _, diff)| {
                assert!(!panics, "a test asks for this");
                let bytes = bytes_of(key, sums);
                groups.set(match *diff > 0 {
                    true => groups.get() + bytes,
                    false => groups.get().saturating_sub(bytes),
                });
                seen.borrow_mut().push((key.clone(), sums.clone(), *diff as i64))
            })
            .probe_with(&probe);
        input
    });
    if worker.index() == 0
        && let Some((_, aggregate)) = &shape.aggregate
        && aggregate.global
    {
        // Without GROUP BY the group is there from the start, rows or not.
        input.update(Vec::new(), Sums { rows: 1, values: aggregate.aggregates.iter().map(zero).collect() });
    }
    // The senders end when the watch is dropped.
    while let Ok(work) = rounds.recv() {
        // A panic is caught here, so that the input is not dropped, which tells timely, while one unwinds.
        let outcome =
            match panics::catch(|| read_round(shape, state, &work, &mut input, (changes, &mut keeping))) {
                Err(e @ Error::Panic { .. }) => return Err(e),
                outcome => outcome,
            };
        let next = *input.time() + 1;
        input.advance_to(next);
        input.flush();
        while probe.less_than(input.time()) {
            if state.stopped() {
                return Ok(());
            }
            panics::catch(|| {
                worker.step_or_park(Some(PARK));
                Ok(())
            })?;
        }
        let outcome = outcome.and_then(|()| {
            keeping.check()?;
            match results(shape, &mut seen.borrow_mut())? {
                Some(change) => give(changes, change),
                None => Ok(()),
            }
        });
        let outcome = outcome.and_then(|()| keeping.end_round());
        // Whoever has dropped the receiver wants no more.
        let _ = changes.send(outcome.map(|()| None));
    }
    Ok(())
}

fn give(changes: &Sender<Result<Option<Change>>>, change: Change) -> Result<()> {
    changes.send(Ok(Some(change))).map_err(|_| Error::Cancelled)
}

/// Reads a worker's share of a round; rows of a query without aggregation are given at once.
fn read_round(
    shape: &Shape,
    state: &Arc<QueryState>,
    work: &ScanSource,
    input: &mut InputSession<u64, Vec<u8>, Sums>,
    (changes, keeping): (&Sender<Result<Option<Change>>>, &mut Keeping),
) -> Result<()> {
    work.read_all(state, &mut |batch| {
        if state.stopped() {
            return Err(Error::Cancelled);
        }
        let diffs = vec![1; batch.num_rows()];
        let change = steps(&shape.before, Change { rows: batch, diffs })?;
        if change.rows.num_rows() == 0 {
            return Ok(());
        }
        let Some((_, aggregate)) = &shape.aggregate else {
            // The round has all of them together.
            keeping.add(batch_bytes(&change.rows))?;
            return give(changes, change);
        };
        let keys: Vec<ArrayRef> =
            evaluate_all(&aggregate.keys, &change.rows)?.into_iter().map(normalise).collect();
        let mut groups: HashMap<Vec<u8>, Sums> = HashMap::new();
        let encoded = match keys.is_empty() {
            true => None,
            false => Some(converter(&keys)?.convert_columns(&keys)?),
        };
        let values =
            aggregate.aggregates.iter().map(|c| sums_of(c, &change.rows)).collect::<Result<Vec<_>>>()?;
        for row in 0..change.rows.num_rows() {
            let key = encoded.as_ref().map_or_else(Vec::new, |rows| rows.row(row).as_ref().to_vec());
            let one = Sums { rows: 1, values: values.iter().map(|v| v[row]).collect() };
            match groups.get_mut(&key) {
                Some(sums) => differential_dataflow::difference::Semigroup::plus_equals(sums, &one),
                None => drop(groups.insert(key, one)),
            }
        }
        keeping.add(groups.iter().map(|(key, sums)| bytes_of(key, sums)).sum())?;
        groups.into_iter().for_each(|(key, sums)| input.update(key, sums));
        Ok(())
    })
}

fn converter(columns: &[ArrayRef]) -> Result<RowConverter> {
    Ok(RowConverter::new(columns.iter().map(|c| SortField::new(c.data_type().clone())).collect())?)
}

fn zero(call: &AggregateCall) -> Sum {
    match call.function {
        AggregateFunction::SumFloat | AggregateFunction::AvgFloat => Sum::Float(0.0, 0),
        _ => Sum::Int(0, 0),
    }
}

/// What each row adds to an aggregate.
fn sums_of(call: &AggregateCall, batch: &RecordBatch) -> Result<Vec<Sum>> {
    let arg = call.args.first().map(|a| evaluate(a, batch)).transpose()?;
    let filter = call.filter.as_ref().map(|f| evaluate(f, batch)).transpose()?;
    let nulls = arg.as_ref().and_then(|a| a.logical_nulls());
    let one = |row: usize| {
        let passes = filter.as_ref().is_none_or(|f| f.is_valid(row) && f.as_boolean().value(row));
        if !passes || nulls.as_ref().is_some_and(|n| n.is_null(row)) {
            return zero(call);
        }
        match (&call.function, &arg) {
            (AggregateFunction::SumFloat | AggregateFunction::AvgFloat, Some(a)) => {
                Sum::Float(a.as_primitive::<Float64Type>().value(row), 1)
            }
            (AggregateFunction::SumInt { unsigned: true }, Some(a)) => {
                Sum::Int(i128::from(a.as_primitive::<UInt64Type>().value(row)), 1)
            }
            (AggregateFunction::SumInt { unsigned: false }, Some(a)) => {
                Sum::Int(i128::from(a.as_primitive::<Int64Type>().value(row)), 1)
            }
            (AggregateFunction::SumDecimal { .. } | AggregateFunction::AvgDecimal { .. }, Some(a)) => {
                Sum::Int(a.as_primitive::<Decimal128Type>().value(row), 1)
            }
            _ => Sum::Int(1, 1),
        }
    };
    Ok((0..batch.num_rows()).map(one).collect())
}

/// The changes of a round as rows of the result.
fn results(shape: &Shape, seen: &mut Vec<(Vec<u8>, Sums, i64)>) -> Result<Option<Change>> {
    let Some((node, aggregate)) = &shape.aggregate else { return Ok(None) };
    let seen = std::mem::take(seen);
    if seen.is_empty() {
        return Ok(None);
    }
    let mut columns = Vec::new();
    if !aggregate.keys.is_empty() {
        let types = aggregate.keys.iter().map(|k| k.data_type(&below(shape).schema));
        let fields = types.map(|t| t.map(SortField::new)).collect::<std::result::Result<Vec<_>, _>>()?;
        let converter = RowConverter::new(fields)?;
        let parser = converter.parser();
        columns.extend(converter.convert_rows(seen.iter().map(|(key, _, _)| parser.parse(key)))?);
    }
    for (i, call) in aggregate.aggregates.iter().enumerate() {
        columns.push(result(call, seen.iter().map(|(_, sums, _)| sums.values[i]))?);
    }
    let rows = batch_of(&node.schema, columns, seen.len())?;
    let change = steps(&shape.after, Change { rows, diffs: seen.iter().map(|(_, _, d)| *d).collect() })?;
    consolidate(change)
}

/// The node whose rows the aggregation sees.
fn below(shape: &Shape) -> &Node {
    shape.before.last().unwrap_or(&shape.scan)
}

fn result(call: &AggregateCall, sums: impl Iterator<Item = Sum>) -> Result<ArrayRef> {
    let overflow = || Error::Compute("integer overflow: SUM does not fit into 64 bits".into());
    let int = |s: Sum| match s {
        Sum::Int(v, n) => (v, n),
        Sum::Float(_, n) => (0, n),
    };
    let float = |s: Sum| match s {
        Sum::Float(v, n) => (v, n),
        Sum::Int(_, n) => (0.0, n),
    };
    Ok(match &call.function {
        AggregateFunction::SumFloat => {
            Arc::new(sums.map(float).map(|(v, n)| (n > 0).then_some(v)).collect::<Float64Array>())
        }
        AggregateFunction::AvgFloat => {
            Arc::new(sums.map(float).map(|(v, n)| (n > 0).then(|| v / n as f64)).collect::<Float64Array>())
        }
        AggregateFunction::SumInt { unsigned: true } => Arc::new(
            sums.map(int)
                .map(|(v, n)| (n > 0).then(|| u64::try_from(v).map_err(|_| overflow())).transpose())
                .collect::<Result<UInt64Array>>()?,
        ),
        AggregateFunction::SumInt { unsigned: false } => Arc::new(
            sums.map(int)
                .map(|(v, n)| (n > 0).then(|| i64::try_from(v).map_err(|_| overflow())).transpose())
                .collect::<Result<Int64Array>>()?,
        ),
        AggregateFunction::SumDecimal { precision, scale } => {
            let sums = sums.map(int).map(|(v, n)| (n > 0).then_some(v)).collect::<Decimal128Array>();
            let sums = sums.with_precision_and_scale(*precision, *scale)?;
            sums.validate_decimal_precision(*precision).map_err(|_| {
                Error::Compute(format!("overflow: SUM does not fit DECIMAL({precision}, {scale})"))
            })?;
            Arc::new(sums)
        }
        AggregateFunction::AvgDecimal { scale } => Arc::new(
            sums.map(int)
                .map(|(v, n)| Some(average(v, *scale, u64::try_from(n).ok().filter(|n| *n > 0)?)))
                .collect::<Float64Array>(),
        ),
        _ => Arc::new(sums.map(int).map(|(_, n)| n).collect::<Int64Array>()),
    })
}

/// Filters and projections, with the differences of the rows.
fn steps(nodes: &[Node], mut change: Change) -> Result<Change> {
    for node in nodes {
        match &node.op {
            Op::Filter { predicate } => {
                let mask = evaluate(predicate, &change.rows)?;
                let mask = mask.as_boolean();
                let kept = |row: usize| mask.is_valid(row) && mask.value(row);
                change.diffs =
                    change.diffs.iter().enumerate().filter(|(i, _)| kept(*i)).map(|(_, d)| *d).collect();
                change.rows = arrow_select::filter::filter_record_batch(&change.rows, mask)?;
            }
            Op::Project { exprs } => {
                let columns = evaluate_all(exprs, &change.rows)?;
                change.rows = batch_of(&node.schema, columns, change.rows.num_rows())?;
            }
            _ => unreachable!("a shape has no other steps"),
        }
    }
    Ok(change)
}

/// A row that went and came again did not change.
fn consolidate(change: Change) -> Result<Option<Change>> {
    if change.rows.num_rows() == 0 || change.rows.num_columns() == 0 {
        return Ok(None);
    }
    let converter = converter(change.rows.columns())?;
    let rows = converter.convert_columns(change.rows.columns())?;
    let mut sums: HashMap<&[u8], (usize, i64)> = HashMap::new();
    for (i, diff) in change.diffs.iter().enumerate() {
        sums.entry(rows.row(i).data()).or_insert((i, 0)).1 += diff;
    }
    // What went is told before what came.
    let mut kept: Vec<(usize, i64)> = sums.into_values().filter(|(_, d)| *d != 0).collect();
    kept.sort_unstable_by_key(|(i, d)| (*d > 0, *i));
    let indices: arrow_array::UInt32Array = kept.iter().map(|(i, _)| *i as u32).collect();
    let rows = arrow_select::take::take_record_batch(&change.rows, &indices)?;
    Ok((rows.num_rows() > 0).then(|| Change { rows, diffs: kept.iter().map(|(_, d)| *d).collect() }))
}
