//! Zone-map bounds: from which value to which a column goes in the rows that a scan is to find.

use std::collections::BTreeMap;

use arrow_schema::Schema;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use schema::ColumnBound;

use crate::algebra::{ColumnId, Expr, Kind, Scan};

/// The bounds that follow from a scan's conditions: comparisons of a column with a constant of its type.
pub(super) fn bounds(scan: &Scan) -> Vec<ColumnBound> {
    if scan.transform.is_some() || scan.bounds.is_empty() {
        return vec![];
    }
    let positions = scan.columns.iter().enumerate().map(|(position, id)| (*id, position)).collect();
    let mut found = Found { scan, positions, bounds: vec![] };
    scan.bounds.iter().for_each(|e| found.collect(e));
    found.bounds
}

struct Found<'a> {
    scan: &'a Scan,
    positions: BTreeMap<ColumnId, usize>,
    bounds: Vec<ColumnBound>,
}

impl Found<'_> {
    fn collect(&mut self, e: &Expr) {
        match &e.kind {
            Kind::And(terms) => terms.iter().for_each(|term| self.collect(term)),
            Kind::Binary(op, left, right) => {
                self.compared(left, *op, right);
                if let Some(swapped) = op.swap() {
                    self.compared(right, swapped, left);
                }
            }
            Kind::Between { expr, low, high, negated: false } => {
                self.compared(expr, Operator::GtEq, low);
                self.compared(expr, Operator::LtEq, high);
            }
            Kind::Like { expr, pattern, negated: false, case_insensitive: false } => {
                let pattern = pattern.as_literal().and_then(|pattern| pattern.try_as_str().flatten());
                let Some(prefix) = pattern.and_then(prefix) else { return };
                let text = |text: String| ScalarValue::Utf8View(Some(text));
                self.add(expr, Operator::GtEq, &text(prefix.to_string()));
                if let Some(after) = following(prefix) {
                    self.add(expr, Operator::LtEq, &text(after));
                }
            }
            _ => {}
        }
    }

    fn compared(&mut self, column: &Expr, op: Operator, value: &Expr) {
        if let Some(value) = value.as_literal() {
            self.add(column, op, value);
        }
    }

    fn add(&mut self, column: &Expr, op: Operator, value: &ScalarValue) {
        let position = column.as_column().and_then(|id| self.positions.get(&id));
        let bound = position.and_then(|position| bound(&self.scan.table.schema, *position, op, value));
        self.bounds.extend(bound);
    }
}

/// The bound that a comparison of the column at a position with a constant is; `None` if it is none.
pub(crate) fn bound(
    schema: &Schema,
    column: usize,
    op: Operator,
    value: &ScalarValue,
) -> Option<ColumnBound> {
    let field = schema.fields().get(column)?;
    if *field.data_type() != value.data_type() || value.is_null() {
        return None;
    }
    let array = value.to_array_of_size(1).ok()?;
    let (min, max) = match op {
        Operator::Eq => (Some(array.clone()), Some(array)),
        Operator::Lt | Operator::LtEq => (None, Some(array)),
        Operator::Gt | Operator::GtEq => (Some(array), None),
        _ => return None,
    };
    Some(ColumnBound { column, min, max })
}

/// What every text that is like a pattern begins with; `None` if that is nothing.
pub(crate) fn prefix(pattern: &str) -> Option<&str> {
    let end = pattern.find(['%', '_', '\\']).unwrap_or(pattern.len());
    Some(&pattern[..end]).filter(|prefix| !prefix.is_empty())
}

/// A text that is greater than every text with this beginning, by bytes.
pub(crate) fn following(prefix: &str) -> Option<String> {
    let last = prefix.chars().next_back()?;
    // The characters between are not characters: `char::MAX` has none behind it.
    let next = char::from_u32(u32::from(last) + 1).or((last == '\u{D7FF}').then_some('\u{E000}'))?;
    Some(format!("{}{next}", &prefix[..prefix.len() - last.len_utf8()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pattern_begins_with_has_bounds() {
        assert_eq!(prefix("http://a%b_"), Some("http://a"));
        assert_eq!(prefix("a_b"), Some("a"));
        assert_eq!(prefix("10\\%"), Some("10"));
        assert_eq!(prefix("%a"), None);
        assert_eq!(following("ab").as_deref(), Some("ac"));
        assert_eq!(following("a\u{D7FF}").as_deref(), Some("a\u{E000}"));
        assert_eq!(following("a\u{10FFFF}"), None);
        for text in ["ab", "ab\u{10FFFF}z", "abzzz"] {
            assert!(("ab".."ac").contains(&text));
        }
    }
}
