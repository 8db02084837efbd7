//! Results as csv, compared up to the order of their rows and the rounding of floats.

use super::cells::csv_rows;
use super::close::close;

/// Rows in order, whatever order they came in.
pub fn sorted(csv: &str) -> Vec<Vec<Option<String>>> {
    let mut rows = csv_rows(csv).expect("palais writes csv");
    rows.remove(0);
    rows.sort();
    rows
}

/// Whether rows are the same.
pub fn same(got: &[Vec<Option<String>>], want: &[Vec<Option<String>>]) -> bool {
    let is_same = |got: &Option<String>, want: &Option<String>| match (got, want) {
        (Some(got), Some(want)) if got != want => {
            matches!((got.parse(), want.parse()), (Ok(got), Ok(want)) if close(got, want))
        }
        _ => got == want,
    };
    got.len() == want.len()
        && got.iter().flatten().zip(want.iter().flatten()).all(|(got, want)| is_same(got, want))
}
