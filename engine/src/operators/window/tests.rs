//! The operator, driven by `push`, `end` and `pull`, beside what the definitions of the functions say.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, SortOptions};
use datafusion_physical_expr::expressions::Column;
use queries::plan::{
    AggregateFunction, Bound, Exclude, Expr, Frame, Shift, Units, Window as Plan, WindowCall, WindowFunction,
};

use super::Window;
use crate::dataflow::batch::ExchangeBatch;
use crate::dataflow::operator::{Operator, Pull};

/// A row: its partition, its key and its value.
#[derive(Debug, Clone, Copy)]
struct Row {
    partition: i64,
    key: i64,
    value: Option<i64>,
}

/// Rows of partitions of different sizes, with ties and NULLs, made by a multiplication modulo a prime.
fn rows(sizes: &[usize]) -> Vec<Row> {
    let mut next = 1_u64;
    let mut random = |below: u64| {
        next = next * 48_271 % 2_147_483_647;
        next % below
    };
    let mut rows = Vec::new();
    for (partition, size) in sizes.iter().enumerate() {
        let mut key = 0;
        for _ in 0..*size {
            key += random(3) as i64;
            let value = (random(5) > 0).then(|| random(100) as i64 - 50);
            rows.push(Row { partition: partition as i64, key, value });
        }
    }
    rows
}

fn schema() -> SchemaRef {
    let types =
        [("g", DataType::Int64), ("k", DataType::Int64), ("v", DataType::Int64), ("x", DataType::Float64)];
    Arc::new(Schema::new(types.map(|(name, data_type)| Field::new(name, data_type, true)).to_vec()))
}

fn batch(rows: &[Row]) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.partition))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.key))),
        Arc::new(rows.iter().map(|row| row.value).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.value.map(|v| v as f64 / 4.0)).collect::<Float64Array>()),
    ];
    RecordBatch::try_new(schema(), columns).expect("the columns fit")
}

fn column(place: usize) -> Expr {
    Arc::new(Column::new(schema().field(place).name(), place))
}

fn call(function: WindowFunction, args: &[usize], frame: Frame) -> WindowCall {
    let args = args.iter().map(|place| column(*place)).collect();
    WindowCall { function, args, order: 1, frame, filter: None, ignore_nulls: false }
}

fn frame(units: Units, start: Bound, end: Bound) -> Frame {
    Frame { units, start, end, exclude: Exclude::Nothing, key: None }
}

/// The operator of a plan with one call, whose result is of this type.
fn operator(plan: &Plan, data_type: DataType) -> Window {
    let mut fields = schema().fields().to_vec();
    fields.push(Arc::new(Field::new("w", data_type, true)));
    Window::new(plan, &schema(), Arc::new(Schema::new(fields))).expect("there is an accumulator")
}

/// The results of a call, with rows that come in batches of so many.
fn results(call: WindowCall, data_type: DataType, rows: &[Row], size: usize) -> Vec<Option<f64>> {
    let plan = Plan { partition: vec![0], order: vec![(1, SortOptions::default())], calls: vec![call] };
    let mut window = operator(&plan, data_type);
    let (mut results, mut count) = (Vec::new(), 0);
    let mut pull = |window: &mut Window| {
        while let Pull::Batch(given) = window.pull().expect("nothing fails") {
            let batch = given.batch.expect("rows are at hand");
            count += batch.num_rows();
            let column = batch.column(4);
            match column.data_type() {
                DataType::Float64 => results.extend(column.as_primitive::<Float64Type>().iter()),
                _ => results.extend(column.as_primitive::<Int64Type>().iter().map(|v| v.map(|v| v as f64))),
            }
        }
    };
    for rows in rows.chunks(size) {
        window.push(0, ExchangeBatch::from(batch(rows))).expect("nothing fails");
        pull(&mut window);
    }
    window.end(0).expect("nothing fails");
    pull(&mut window);
    assert_eq!(count, rows.len(), "each row is given once");
    assert_eq!(window.kept(), 0, "nothing is kept at the end");
    results
}

/// The rows of the frame of a row, by definition.
fn seen(rows: &[Row], at: usize, frame: &Frame) -> Vec<usize> {
    let own = rows[at];
    let partition: Vec<usize> = (0..rows.len()).filter(|row| rows[*row].partition == own.partition).collect();
    let mut groups: Vec<i64> = partition.iter().map(|row| rows[*row].key).collect();
    groups.dedup();
    let place = |row: usize| match frame.units {
        Units::Rows => row as i64,
        Units::Range | Units::Groups => {
            groups.iter().position(|key| *key == rows[row].key).unwrap_or(0) as i64
        }
    };
    let bound = |bound: &Bound| match bound {
        Bound::First => i64::MIN,
        Bound::Before(n) => place(at) - *n as i64,
        Bound::Current => place(at),
        Bound::After(n) => place(at) + *n as i64,
        Bound::Last => i64::MAX,
        Bound::Value(_) => unreachable!("no test asks for it"),
    };
    let (start, end) = (bound(&frame.start), bound(&frame.end));
    let is_peer = |row: usize| rows[row].key == own.key;
    let is_left_out = |row: usize| match frame.exclude {
        Exclude::Nothing => false,
        Exclude::CurrentRow => row == at,
        Exclude::Group => is_peer(row),
        Exclude::Ties => is_peer(row) && row != at,
    };
    partition.into_iter().filter(|row| (start..=end).contains(&place(*row)) && !is_left_out(*row)).collect()
}

/// What an aggregate gives for these rows, by definition.
fn aggregated(function: &AggregateFunction, rows: &[Row], seen: &[usize]) -> Option<f64> {
    let values: Vec<i64> = seen.iter().filter_map(|row| rows[*row].value).collect();
    let some = |value: f64| (!values.is_empty()).then_some(value);
    let sum = values.iter().sum::<i64>() as f64;
    match function {
        AggregateFunction::Count => Some(values.len() as f64),
        AggregateFunction::SumInt { .. } => some(sum),
        AggregateFunction::SumFloat => some(sum / 4.0),
        AggregateFunction::AvgFloat => some(sum / 4.0 / values.len() as f64),
        AggregateFunction::Extreme { max: true, .. } => values.iter().max().map(|v| *v as f64),
        AggregateFunction::Extreme { max: false, .. } => values.iter().min().map(|v| *v as f64),
        AggregateFunction::Distinct { .. } => {
            let mut distinct = values.clone();
            distinct.sort_unstable();
            distinct.dedup();
            (!distinct.is_empty()).then(|| distinct.iter().sum::<i64>() as f64)
        }
        other => unreachable!("no test asks for {other:?}"),
    }
}

/// Sizes of partitions: of one row, of a few, and of more than a block.
const SIZES: [&[usize]; 3] = [&[1, 2, 7, 1, 30], &[300], &[40, 1, 1, 90, 3, 260]];

#[test]
fn aggregates_are_those_of_their_frames() {
    let functions = [
        (AggregateFunction::Count, 2, DataType::Int64),
        (AggregateFunction::SumInt { unsigned: false }, 2, DataType::Int64),
        (AggregateFunction::SumFloat, 3, DataType::Float64),
        (AggregateFunction::AvgFloat, 3, DataType::Float64),
        (AggregateFunction::Extreme { max: true, data_type: DataType::Int64 }, 2, DataType::Int64),
        (AggregateFunction::Extreme { max: false, data_type: DataType::Int64 }, 2, DataType::Int64),
        (
            AggregateFunction::Distinct {
                of: Box::new(AggregateFunction::SumInt { unsigned: false }),
                data_type: DataType::Int64,
            },
            2,
            DataType::Int64,
        ),
    ];
    let bounds = [
        (Bound::First, Bound::Current),
        (Bound::First, Bound::Last),
        (Bound::Before(2), Bound::Current),
        (Bound::Before(40), Bound::After(40)),
        (Bound::Before(3), Bound::Before(1)),
        (Bound::After(1), Bound::After(5)),
        (Bound::Current, Bound::Last),
        (Bound::First, Bound::Before(1)),
        (Bound::Before(1), Bound::Before(2)),
    ];
    for sizes in SIZES {
        let rows = rows(sizes);
        for units in [Units::Rows, Units::Groups] {
            for (start, end) in bounds {
                for exclude in [Exclude::Nothing, Exclude::CurrentRow, Exclude::Group, Exclude::Ties] {
                    let frame = Frame { exclude, ..frame(units, start, end) };
                    let frames: Vec<_> = (0..rows.len()).map(|row| seen(&rows, row, &frame)).collect();
                    for (function, arg, data_type) in &functions {
                        let expected: Vec<_> =
                            frames.iter().map(|seen| aggregated(function, &rows, seen)).collect();
                        for size in [1, 17, 1_000] {
                            let own =
                                call(WindowFunction::Aggregate(function.clone()), &[*arg], frame.clone());
                            let given = results(own, data_type.clone(), &rows, size);
                            assert_eq!(given, expected, "{function:?} {frame:?} {sizes:?} by {size}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn partitions_are_evaluated_block_by_block() {
    let rows = rows(&[5_000, 1, 12_000, 300, 9_000, 17_000, 2, 2, 4_000]);
    let (whole, sum) =
        (frame(Units::Range, Bound::First, Bound::Last), AggregateFunction::SumInt { unsigned: false });
    let mut sums = std::collections::BTreeMap::<i64, i64>::new();
    for row in &rows {
        if let Some(value) = row.value {
            *sums.entry(row.partition).or_default() += value;
        }
    }
    let expected: Vec<_> = rows.iter().map(|row| sums.get(&row.partition).map(|sum| *sum as f64)).collect();
    for size in [700, 8_192] {
        let call = call(WindowFunction::Aggregate(sum.clone()), &[2], whole.clone());
        assert_eq!(results(call, DataType::Int64, &rows, size), expected, "by {size}");
    }
    // Beside what looks back.
    let lag = call(WindowFunction::Shift(Shift::Rows(-9_000)), &[2], whole.clone());
    let before = |row: usize| {
        let other = rows.get(row.checked_sub(9_000)?)?;
        other.value.filter(|_| other.partition == rows[row].partition).map(|v| v as f64)
    };
    let lagged: Vec<_> = (0..rows.len()).map(before).collect();
    let calls = vec![call(WindowFunction::Aggregate(sum), &[2], whole), lag];
    let plan = Plan { partition: vec![0], order: vec![(1, SortOptions::default())], calls };
    let mut fields = schema().fields().to_vec();
    fields.extend(["s", "l"].map(|name| Arc::new(Field::new(name, DataType::Int64, true))));
    let mut window =
        Window::new(&plan, &schema(), Arc::new(Schema::new(fields))).expect("there are accumulators");
    let mut given = (Vec::new(), Vec::new());
    let mut pull = |window: &mut Window| {
        while let Pull::Batch(batch) = window.pull().expect("nothing fails") {
            let batch = batch.batch.expect("rows are at hand");
            let numbers = |place: usize| batch.column(place).as_primitive::<Int64Type>().clone();
            given.0.extend(numbers(4).iter().map(|v| v.map(|v| v as f64)));
            given.1.extend(numbers(5).iter().map(|v| v.map(|v| v as f64)));
        }
    };
    for rows in rows.chunks(3_000) {
        window.push(0, ExchangeBatch::from(batch(rows))).expect("nothing fails");
        pull(&mut window);
    }
    window.end(0).expect("nothing fails");
    pull(&mut window);
    assert_eq!(given, (expected, lagged));
}

#[test]
fn ranks_and_other_rows_are_found() {
    let whole = frame(Units::Range, Bound::First, Bound::Last);
    for sizes in SIZES {
        let rows = rows(sizes);
        let of = |function: &WindowFunction, at: usize| -> Option<f64> {
            let partition: Vec<usize> =
                (0..rows.len()).filter(|row| rows[*row].partition == rows[at].partition).collect();
            let before: Vec<&usize> = partition.iter().filter(|row| rows[**row].key < rows[at].key).collect();
            let mut keys: Vec<i64> = before.iter().map(|row| rows[**row].key).collect();
            keys.dedup();
            let up_to = partition.iter().filter(|row| rows[**row].key <= rows[at].key).count();
            let first = partition[0];
            match function {
                WindowFunction::RowNumber => Some((at - first + 1) as f64),
                WindowFunction::Rank => Some(before.len() as f64 + 1.0),
                WindowFunction::DenseRank => Some(keys.len() as f64 + 1.0),
                WindowFunction::PercentRank if partition.len() == 1 => Some(0.0),
                WindowFunction::PercentRank => Some(before.len() as f64 / (partition.len() - 1) as f64),
                WindowFunction::CumeDist => Some(up_to as f64 / partition.len() as f64),
                WindowFunction::Shift(Shift::Rows(by)) => {
                    let other = usize::try_from(at as i128 + by).ok()?;
                    rows[*partition.iter().find(|row| **row == other)?].value.map(|v| v as f64)
                }
                other => unreachable!("no test asks for {other:?}"),
            }
        };
        for (function, args, data_type) in [
            (WindowFunction::RowNumber, [].as_slice(), DataType::Int64),
            (WindowFunction::Rank, &[], DataType::Int64),
            (WindowFunction::DenseRank, &[], DataType::Int64),
            (WindowFunction::PercentRank, &[], DataType::Float64),
            (WindowFunction::CumeDist, &[], DataType::Float64),
            (WindowFunction::Shift(Shift::Rows(-1)), &[2], DataType::Int64),
            (WindowFunction::Shift(Shift::Rows(-45)), &[2], DataType::Int64),
            (WindowFunction::Shift(Shift::Rows(2)), &[2], DataType::Int64),
            (WindowFunction::Shift(Shift::Rows(1_000)), &[2], DataType::Int64),
        ] {
            let expected: Vec<_> = (0..rows.len()).map(|row| of(&function, row)).collect();
            for size in [1, 17, 1_000] {
                let given =
                    results(call(function.clone(), args, whole.clone()), data_type.clone(), &rows, size);
                assert_eq!(given, expected, "{function:?} {sizes:?} by {size}");
            }
        }
    }
}

#[test]
fn what_is_seen_of_a_few_rows_keeps_a_few_rows() {
    let rows = rows(&[200_000]);
    let running = frame(Units::Range, Bound::First, Bound::Current);
    let moving = frame(Units::Rows, Bound::Before(100), Bound::After(100));
    let sum = || WindowFunction::Aggregate(AggregateFunction::SumInt { unsigned: false });
    for (call, is_whole) in [
        (call(WindowFunction::RowNumber, &[], running.clone()), false),
        (call(WindowFunction::Shift(Shift::Rows(-3)), &[2], running.clone()), false),
        (call(sum(), &[2], running.clone()), false),
        (call(sum(), &[2], moving), false),
        (call(WindowFunction::CumeDist, &[], running), true),
    ] {
        let data_type = if matches!(call.function, WindowFunction::CumeDist) {
            DataType::Float64
        } else {
            DataType::Int64
        };
        let plan = Plan { partition: vec![0], order: vec![(1, SortOptions::default())], calls: vec![call] };
        let mut window = operator(&plan, data_type);
        let (mut most, mut count) = (0, 0);
        for rows in rows.chunks(8_192) {
            window.push(0, ExchangeBatch::from(batch(rows))).expect("nothing fails");
            while let Pull::Batch(given) = window.pull().expect("nothing fails") {
                count += given.batch.map_or(0, |batch| batch.num_rows());
            }
            most = most.max(window.kept());
        }
        let one = crate::dataflow::batch::batch_bytes(&batch(&rows[..8_192]));
        assert_eq!(most > 3 * one, is_whole, "{most} of {one} bytes a batch: {:?}", plan.calls);
        assert_eq!(count == 0, is_whole);
    }
}
