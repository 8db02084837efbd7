//! What footers say of the values of columns, for estimates.

use std::cmp::Ordering;

use arrow_schema::FieldRef;

use super::bounds::Zone;

/// What the footer of a file says of the values of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnFacts {
    /// The column, as it is read.
    pub field: FieldRef,
    /// From which value to which they go.
    pub zone: Zone,
    /// About how many different ones there are.
    pub values: Option<f64>,
}

/// What is known of the values of a column in a part of a table: a file, or a row group.
#[derive(Debug, Clone)]
pub struct RowsPart {
    /// How many rows the part has.
    pub rows: f64,
    /// About how many different values there are in it.
    pub values: f64,
    /// From which value to which they go.
    pub zone: Zone,
}

/// A part of which so many of the rows differ is one of a key.
const KEY: f64 = 0.99;

/// How often the bounds of a number of values are halved: to a ten thousandth of it.
const HALVINGS: usize = 40;

/// About how many different values a column has in `rows` rows of which these are parts. `None` without parts.
///
/// Parts whose values follow one another, as in a table that is sorted, have none in common. Else each part is taken
/// for rows that have any of the values, all of them equally likely. Of D values, r rows then show D (1 − e^(−r / D)).
pub fn values_of(parts: &[RowsPart], rows: f64) -> Option<f64> {
    let seen: f64 = parts.iter().map(|part| part.rows).sum();
    let values: f64 = parts.iter().map(|part| part.values).sum();
    if seen <= 0.0 {
        return None;
    }
    let all = match parts {
        [whole] if whole.rows >= rows => whole.values,
        _ if follow(parts) => values * rows / seen,
        _ => {
            let count = parts.len() as f64;
            let each = (values / count, seen / count);
            if each.0 >= KEY * each.1 { rows } else { shown(drawn_from(each.0, each.1), rows) }
        }
    };
    // A forged footer may say any number.
    Some(all.max(values / parts.len() as f64).min(rows.max(1.0)))
}

/// How many of so many values rows show that have each of them by chance.
fn shown(values: f64, rows: f64) -> f64 {
    -values * (-rows / values).exp_m1()
}

/// How many values there are if rows show this many.
fn drawn_from(seen: f64, rows: f64) -> f64 {
    // A hundred times as many values as rows show more than `KEY` of the rows.
    let (mut least, mut most) = (seen, rows * 100.0);
    for _ in 0..HALVINGS {
        let middle = (least + most) / 2.0;
        if shown(middle, rows) < seen { least = middle } else { most = middle }
    }
    most
}

/// Whether the values of each part lie behind those of another one.
fn follow(parts: &[RowsPart]) -> bool {
    let zones: Option<Vec<_>> =
        parts.iter().map(|part| part.zone.min.as_ref().zip(part.zone.max.as_ref())).collect();
    let Some(mut zones) = zones.filter(|zones| zones.len() > 1) else { return false };
    zones.sort_by(|(a, _), (b, _)| a.compare(b).unwrap_or(Ordering::Equal));
    zones.windows(2).all(|pair| match pair[0].1.compare(pair[1].0) {
        Some(Ordering::Less) => true,
        // A part may begin with the value with which the one before it ends.
        Some(Ordering::Equal) => pair.iter().all(|(min, max)| min != max),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::bounds::Value;

    fn part(rows: f64, values: f64, zone: Option<(i128, i128)>) -> RowsPart {
        let (min, max) = zone.map(|(min, max)| (Value::Int(min), Value::Int(max))).unzip();
        RowsPart { rows, values, zone: Zone { min, max } }
    }

    fn about(parts: &[RowsPart], rows: f64) -> f64 {
        values_of(parts, rows).unwrap().round()
    }

    #[test]
    fn a_part_that_is_all_tells_all() {
        assert_eq!(about(&[part(1000.0, 940.0, None)], 1000.0), 940.0);
        assert_eq!(values_of(&[], 10.0), None);
        assert_eq!(values_of(&[part(0.0, 0.0, None)], 10.0), None);
    }

    #[test]
    fn parts_that_follow_one_another_have_no_values_in_common() {
        let sorted: Vec<RowsPart> =
            (0..4).map(|i| part(1000.0, 250.0, Some((i * 250, i * 250 + 250)))).collect();
        assert_eq!(about(&sorted, 4000.0), 1000.0);
        assert_eq!(about(&sorted, 40_000.0), 10_000.0);
        let constant = vec![part(1000.0, 1.0, Some((7, 7))); 4];
        assert_eq!(about(&constant, 4000.0), 1.0);
    }

    #[test]
    fn parts_show_some_of_the_values_of_all() {
        let few = vec![part(1000.0, 3.0, Some((1, 3))); 4];
        assert_eq!(about(&few, 40_000.0), 3.0);
        // Of 1,000 values, 1,000 rows show 632.
        let some = vec![part(1000.0, 632.0, Some((0, 999))); 4];
        assert!((about(&some, 40_000.0) - 1000.0).abs() < 2.0, "{}", about(&some, 40_000.0));
        let keys = vec![part(1000.0, 995.0, Some((0, 100_000))); 4];
        assert_eq!(about(&keys, 40_000.0), 40_000.0);
    }
}
