//! The values of columns that do not lie in files: each file has one, and all are known.

use std::collections::BTreeSet;

use schema::{ColumnEstimate, FileSet};

/// Guesses of the columns behind those that lie in the files, of which there are so many.
pub fn of(set: &FileSet, columns: usize) -> Vec<ColumnEstimate> {
    (0..columns)
        .map(|column| {
            let texts = set.files.iter().filter_map(|file| file.constants.get(column)?.as_deref());
            let texts: BTreeSet<&str> = texts.collect();
            let numbers: Option<Vec<i64>> = texts.iter().map(|text| text.parse().ok()).collect();
            let numbers = numbers.unwrap_or_default();
            let ends = numbers.iter().min().zip(numbers.iter().max());
            ColumnEstimate {
                values: Some(texts.len() as u64),
                is_counted: true,
                span: ends.map(|(least, most)| (*least as f64, *most as f64)),
            }
        })
        .collect()
}
