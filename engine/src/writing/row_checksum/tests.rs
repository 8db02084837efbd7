use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    BinaryArray, BooleanArray, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int64Array,
    ListArray, NullArray, StringArray, StringViewArray, StructArray, TimestampMillisecondArray,
};
use arrow_schema::{Field, Fields};

use super::*;

fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
    let names = (0..columns.len()).map(|i| format!("c{i}"));
    RecordBatch::try_from_iter(names.zip(columns)).unwrap()
}

/// The checksum of one column, cut into batches of so many rows.
fn cut(column: &ArrayRef, rows: usize) -> RowChecksum {
    let whole = batch(vec![column.clone()]);
    let content = RowChecksum::new(&whole.schema()).unwrap();
    // From the last to the first: the order in which rows are added doesn't count.
    for first in (0..column.len()).step_by(rows).rev() {
        content.add(first as u64, &[whole.slice(first, rows.min(column.len() - first))]).unwrap();
    }
    content
}

fn differs(a: &ArrayRef, b: &ArrayRef) -> Option<String> {
    let schema = batch(vec![a.clone()]).schema();
    cut(a, a.len().max(1)).difference(&cut(b, b.len().max(1)), &schema)
}

fn floats(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn text(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringViewArray::from(values.to_vec()))
}

fn lists(values: &[Option<Vec<Option<i32>>>]) -> ArrayRef {
    Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(values.iter().cloned()))
}

#[test]
fn batches_and_the_order_of_adding_do_not_count() {
    let long = "a text that is longer than a view holds";
    let words: Vec<_> = (0..150_000).map(|i| Some(if i % 3 == 0 { long } else { "short" })).collect();
    let mut items = ListBuilder::new(Int32Builder::new());
    for i in 0..150_000 {
        (0..i % 4).for_each(|item| items.values().append_value(i * item));
        items.append(i % 7 != 0);
    }
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter((0..150_000).map(|i| (i % 5 > 0).then_some(i))));
    let decimals: ArrayRef = Arc::new(Decimal128Array::from_iter_values((0..150_000).map(|i| i << 60)));
    for column in [text(&words), Arc::new(items.finish()), numbers, decimals] {
        let (whole, schema) = (cut(&column, 150_000), batch(vec![column.clone()]).schema());
        for rows in [8_192, 65_536, 70_001, 777] {
            assert_eq!(whole.difference(&cut(&column, rows), &schema), None, "{}", column.data_type());
        }
    }
}

#[test]
fn every_value_and_its_place_count() {
    let pairs: [(ArrayRef, ArrayRef); 13] = [
        (floats(&[0.0]), floats(&[-0.0])),
        (floats(&[1.0, 2.0]), floats(&[2.0, 1.0])),
        (floats(&[f64::NAN]), floats(&[f64::INFINITY])),
        (Arc::new(Float32Array::from(vec![0.0])), Arc::new(Float32Array::from(vec![-0.0]))),
        (text(&[None]), text(&[Some("")])),
        (text(&[Some("a")]), text(&[Some("a\0")])),
        (text(&[Some("ab"), Some("c")]), text(&[Some("a"), Some("bc")])),
        (Arc::new(Int64Array::from(vec![None])), Arc::new(Int64Array::from(vec![0]))),
        (Arc::new(BooleanArray::from(vec![None])), Arc::new(BooleanArray::from(vec![false]))),
        (Arc::new(Decimal128Array::from(vec![1_i128 << 64])), Arc::new(Decimal128Array::from(vec![0_i128]))),
        (
            Arc::new(TimestampMillisecondArray::from(vec![1])),
            Arc::new(TimestampMillisecondArray::from(vec![1_000])),
        ),
        (lists(&[None]), lists(&[Some(vec![])])),
        (lists(&[Some(vec![]), Some(vec![Some(1)])]), lists(&[Some(vec![Some(1)]), Some(vec![])])),
    ];
    for (a, b) in pairs {
        assert!(differs(&a, &b).is_some(), "{a:?} {b:?}");
        assert_eq!(differs(&a, &a), None);
    }
    assert_eq!(differs(&lists(&[Some(vec![None])]), &lists(&[Some(vec![None])])), None);
    assert!(differs(&lists(&[Some(vec![None])]), &lists(&[Some(vec![Some(0)])])).is_some());
}

#[test]
fn what_has_the_same_value_has_the_same_hash() {
    let payload = f64::from_bits(f64::NAN.to_bits() | 5);
    assert_eq!(differs(&floats(&[f64::NAN]), &floats(&[payload])), None, "text has one NaN");
    let plain: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("longer than twelve")]));
    assert_eq!(differs(&plain, &text(&[Some("a"), None, Some("longer than twelve")])), None);
    let coded: DictionaryArray<Int32Type> =
        [Some("a"), None, Some("longer than twelve")].into_iter().collect();
    assert_eq!(differs(&plain, &(Arc::new(coded) as ArrayRef)), None);
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![Some(&b"a"[..]), None]));
    assert_eq!(differs(&bytes, &plain.slice(0, 2)), None);
    // The value under a NULL of a struct does not count.
    let inner = Fields::from(vec![Field::new("x", DataType::Int64, true)]);
    let of = |hidden: i64| -> ArrayRef {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![1, hidden]));
        Arc::new(StructArray::new(inner.clone(), vec![values], Some(vec![true, false].into())))
    };
    assert_eq!(differs(&of(2), &of(3)), None);
    let nothing: ArrayRef = Arc::new(NullArray::new(2));
    assert_eq!(differs(&nothing, &nothing), None);
}

#[test]
fn a_difference_tells_the_columns_and_the_first_rows() {
    let numbers = |changed: Option<usize>| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..200_000).map(|i| if Some(i) == changed { -1 } else { 5 })))
    };
    let content = |columns: Vec<ArrayRef>| {
        let batch = batch(columns);
        let content = RowChecksum::new(&batch.schema()).unwrap();
        content.add(0, std::slice::from_ref(&batch)).unwrap();
        (content, batch.schema())
    };
    let (same, schema) = content(vec![numbers(None), numbers(None), numbers(None)]);
    let (other, _) = content(vec![numbers(Some(199_999)), numbers(None), numbers(Some(70_000))]);
    let told = same.difference(&other, &schema).unwrap();
    assert!(told.ends_with("column 'c2' and one more, first in rows 65537 to 131072"), "{told}");
    let (other, _) = content(vec![numbers(None), numbers(Some(199_999)), numbers(None)]);
    let told = same.difference(&other, &schema).unwrap();
    assert!(told.ends_with("column 'c1', first in rows 196609 to 200000"), "{told}");
    let fewer: Vec<ArrayRef> = (0..3).map(|_| numbers(None).slice(0, 199_999)).collect();
    let told = same.difference(&content(fewer).0, &schema).unwrap();
    assert_eq!(told, "has 199999 rows, and the source 200000");
}
