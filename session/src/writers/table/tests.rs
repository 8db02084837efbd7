use super::*;
use crate::writers::output::tests::Memory;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatchOptions, StringArray};
use arrow_schema::{Field, Schema};

const WIDE: TableOptions = TableOptions { width: None, max_rows: 40, color: false, unicode: true };

fn shown(options: TableOptions, columns: Vec<(&str, ArrayRef)>, cut: usize) -> String {
    let fields: Vec<_> = columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let count = if columns.is_empty() { Some(3) } else { None };
    let arrays = columns.into_iter().map(|(_, a)| a).collect();
    let counted = RecordBatchOptions::new().with_row_count(count);
    let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &counted).unwrap();
    let memory = Memory::default();
    let mut writer = TableWriter::new(Box::new(memory.clone()), options, None);
    writer.begin(&schema).unwrap();
    for start in (0..batch.num_rows()).step_by(cut) {
        writer.batch(&batch.slice(start, cut.min(batch.num_rows() - start))).unwrap();
    }
    writer.end().unwrap();
    assert!(memory.finished());
    memory.text()
}

fn numbers(range: std::ops::Range<i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(range))
}

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn numbers_stand_at_the_right_and_null_is_not_the_word() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(-300)]));
    let columns = vec![("n", numbers), ("word", texts(&[Some("NULL"), None, Some("日本")]))];
    let expected = "\
┌────────┬─────────┐
│      n │ word    │
│ bigint │ varchar │
├────────┼─────────┤
│      1 │ 'NULL'  │
│   NULL │ NULL    │
│   -300 │ 日本    │
└────────┴─────────┘
";
    assert_eq!(shown(WIDE, columns.clone(), 10), expected);
    let ascii = shown(TableOptions { unicode: false, ..WIDE }, columns.clone(), 10);
    assert!(ascii.starts_with("+--------+---------+\n|      n | word    |\n"), "{ascii}");
    let color = shown(TableOptions { color: true, ..WIDE }, columns, 10);
    assert!(
        color.contains("│ \x1b[2mNULL\x1b[0m    │") && color.contains("│      \x1b[1mn\x1b[0m │"),
        "{color}"
    );
}

#[test]
fn rows_in_the_middle_are_counted() {
    for cut in [1, 3, 7, 5000] {
        let text = shown(TableOptions { max_rows: 5, ..WIDE }, vec![("n", numbers(0..4321))], cut);
        let expected = "\
┌───────────────────┐
│                 n │
│            bigint │
├───────────────────┤
│                 0 │
│                 1 │
│                 2 │
│ … 4,316 more rows │
│              4319 │
│              4320 │
└───────────────────┘
";
        assert_eq!(text, expected, "in batches of {cut}");
    }
    let text = shown(TableOptions { max_rows: 5, ..WIDE }, vec![("n", numbers(0..5))], 2);
    assert!(!text.contains('…') && text.lines().count() == 10, "{text}");
    let wide: Vec<_> = (0..3).map(|_| ("a long name", numbers(0..7))).collect();
    let text = shown(TableOptions { max_rows: 6, ..WIDE }, wide, 2);
    assert!(text.contains("│ … 1 more row                            │"), "{text}");
    let text = shown(TableOptions { max_rows: 0, ..WIDE }, vec![("many columns", numbers(0..7))], 2);
    assert!(text.contains("│ … 7 more rows │"), "{text}");
}

#[test]
fn wide_tables_fit_the_terminal() {
    let long = "x".repeat(300);
    let width = |text: &str| text.lines().map(UnicodeWidthStr::width).max().unwrap();
    let text = shown(
        TableOptions { width: Some(60), ..WIDE },
        vec![("a", numbers(0..1)), ("b", texts(&[Some(&long)]))],
        1,
    );
    assert!(width(&text) <= 60 && text.contains("xxx… │"), "{text}");
    let cjk = "日本語".repeat(50);
    let text = shown(TableOptions { width: Some(41), ..WIDE }, vec![("a", texts(&[Some(&cjk)]))], 1);
    assert!(text.lines().all(|l| l.width() == text.lines().next().unwrap().width()), "{text}");
    assert!(width(&text) <= 41);
    let many: Vec<_> = (0..30).map(|_| ("name", numbers(1_000_000..1_000_001))).collect();
    let text = shown(TableOptions { width: Some(60), ..WIDE }, many, 1);
    assert!(width(&text) <= 60, "{text}");
    assert!(
        text.contains("│ … │") && text.ends_with("30 columns, 5 shown; --format csv gives all\n"),
        "{text}"
    );
}

#[test]
fn a_result_without_rows_shows_its_columns() {
    let text = shown(WIDE, vec![("n", numbers(0..0))], 1);
    assert_eq!(text.lines().count(), 5);
    assert_eq!(shown(WIDE, vec![], 1), "");
}

#[test]
fn thousands() {
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(999), "999");
    assert_eq!(grouped(1_234_567), "1,234,567");
}
