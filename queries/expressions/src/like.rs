//! LIKE with `%` between texts, which are looked for one behind the other. Arrow makes a regular expression of such a
//! pattern, anew for each batch.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Schema};
use datafusion_common::{Result, ScalarValue, internal_datafusion_err};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use memchr::memmem::Finder;

use crate::Expr;

/// `value [NOT] LIKE pattern`, of texts of the type `Utf8View`. `None` if the pattern has other wildcards than `%`, or
/// if these are at its ends alone, where Arrow is as quick.
pub fn like(value: Expr, pattern: &str, negated: bool) -> Option<Expr> {
    let parts: Vec<&str> = pattern.split('%').collect();
    let [first, middle @ .., last] = parts.as_slice() else { return None };
    let is_plain = !pattern.contains(['_', '\\']);
    let texts = parts.iter().filter(|part| !part.is_empty()).count();
    if !is_plain || texts < 2 {
        return None;
    }
    let middle = middle.iter().filter(|part| !part.is_empty()).map(|part| Finder::new(part).into_owned());
    let pattern = Pattern {
        text: pattern.to_string(),
        first: first.to_string(),
        middle: middle.collect(),
        last: last.to_string(),
    };
    Some(Arc::new(Like { value, pattern: Arc::new(pattern), negated }))
}

/// A pattern, taken apart.
#[derive(Debug)]
struct Pattern {
    text: String,
    /// What a text begins with.
    first: String,
    /// What comes behind that, in this order.
    middle: Vec<Finder<'static>>,
    /// What it ends with.
    last: String,
}

impl Pattern {
    fn matches(&self, text: &[u8]) -> bool {
        let mut rest = text;
        // To compare nothing takes a while where the texts are not in the cache.
        if !self.first.is_empty() {
            let Some(behind) = rest.strip_prefix(self.first.as_bytes()) else { return false };
            rest = behind;
        }
        if !self.last.is_empty() {
            let Some(before) = rest.strip_suffix(self.last.as_bytes()) else { return false };
            rest = before;
        }
        for part in &self.middle {
            let Some(behind) = part.find(rest).and_then(|at| rest.get(at + part.needle().len()..)) else {
                return false;
            };
            rest = behind;
        }
        true
    }
}

#[derive(Debug)]
struct Like {
    value: Expr,
    pattern: Arc<Pattern>,
    negated: bool,
}

// Derived, these would move out of the shared pointer.
impl PartialEq for Like {
    fn eq(&self, other: &Self) -> bool {
        self.value.eq(&other.value)
            && self.pattern.text == other.pattern.text
            && self.negated == other.negated
    }
}

impl Eq for Like {}

impl Hash for Like {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
        (&self.pattern.text, self.negated).hash(state);
    }
}

impl fmt::Display for Like {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.negated { "NOT " } else { "" };
        write!(f, "{} {not}LIKE {}", self.value, self.pattern.text)
    }
}

impl PhysicalExpr for Like {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.value.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let is_like = |text: &str| self.pattern.matches(text.as_bytes()) != self.negated;
        Ok(match self.value.evaluate(batch)? {
            ColumnarValue::Scalar(value) => {
                let text = value.try_as_str().flatten();
                ColumnarValue::Scalar(ScalarValue::Boolean(text.map(is_like)))
            }
            ColumnarValue::Array(values) => {
                let texts = values
                    .as_string_view_opt()
                    .ok_or_else(|| internal_datafusion_err!("LIKE of {}", values.data_type()))?;
                let found = BooleanBuffer::collect_bool(texts.len(), |row| is_like(texts.value(row)));
                ColumnarValue::Array(Arc::new(BooleanArray::new(found, texts.nulls().cloned())))
            }
        })
    }

    fn children(&self) -> Vec<&Expr> {
        vec![&self.value]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Expr>) -> Result<Expr> {
        let value = children.swap_remove(0);
        Ok(Arc::new(Like { value, pattern: self.pattern.clone(), negated: self.negated }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, StringViewArray};
    use arrow_schema::Field;
    use datafusion_physical_expr::expressions::{Column, Literal, like as general};

    use super::*;

    #[test]
    fn texts_are_those_that_arrow_finds() {
        let texts = [
            "", "a", "ab", "abc", "aXbYc", "aXbYcZ", "ZaXbYc", "abab", "a\nb\nc", "ä%b_c", "acb", "aab",
            "abcabc",
        ];
        let array: StringViewArray = texts.into_iter().map(Some).chain([None]).collect();
        let schema = Schema::new(vec![Field::new("t", DataType::Utf8View, true)]);
        let rows = array.len();
        let batch = RecordBatch::try_new(Arc::new(schema.clone()), vec![Arc::new(array)]).expect("a column");
        let column = || -> Expr { Arc::new(Column::new("t", 0)) };
        let values = |e: Expr| -> ArrayRef {
            e.evaluate(&batch).and_then(|value| value.into_array(rows)).expect("it is computed")
        };
        for pattern in ["a%c", "%a%b%", "a%b%c", "%a%c", "ab%ab", "a%%b", "%b%b%", "a%b%b", "ä%c", "%a%b%c%"]
        {
            for negated in [false, true] {
                let own = like(column(), pattern, negated).expect("it is of this kind");
                let literal = Arc::new(Literal::new(ScalarValue::Utf8View(Some(pattern.into()))));
                let other = general(negated, false, column(), literal, &schema).expect("types agree");
                assert_eq!(own.to_string(), other.to_string());
                assert_eq!(&values(own), &values(other), "{pattern}");
            }
        }
        for pattern in ["a", "a%", "%a", "%a%", "a_%b", "a\\%%b", "%", ""] {
            assert!(like(column(), pattern, false).is_none(), "{pattern}");
        }
    }
}
