//! `substr`: a part of a text by its first character and a number of characters.
//!
//! Grouping by a prefix is common enough to have a kernel of its own. A start or a number below 0, which DataFusion takes
//! otherwise than DuckDB, has one too.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_cast::cast;
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::own::arguments::Call;
use super::{of_general, type_of_general};
use crate::values::prefix::prefixes;

/// `substr`, with kernels of its own. What begins at a constant place from 1 on, and has a constant count from 0 on, is
/// DataFusion's.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Substr {
    general: Arc<ScalarUDF>,
}

/// The function.
pub fn substr() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Substr { general: datafusion_functions::unicode::substr() }))
}

impl ScalarUDFImpl for Substr {
    of_general!();
    type_of_general!();

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let [
            ColumnarValue::Array(strings),
            ColumnarValue::Scalar(ScalarValue::Int64(Some(1))),
            ColumnarValue::Scalar(ScalarValue::Int64(Some(chars))),
        ] = args.args.as_slice()
            && strings.data_type() == &DataType::Utf8View
            && let Ok(chars) = usize::try_from(*chars)
        {
            let prefixes: ArrayRef = Arc::new(prefixes(strings.as_string_view(), chars));
            return Ok(ColumnarValue::Array(prefixes));
        }
        let is_at_least = |value: &ColumnarValue, least: i64| match value {
            ColumnarValue::Scalar(ScalarValue::Int64(Some(n))) => *n >= least,
            _ => false,
        };
        match args.args.as_slice() {
            [_, start] if is_at_least(start, 1) => self.general.invoke_with_args(args),
            [_, start, count] if is_at_least(start, 1) && is_at_least(count, 0) => {
                self.general.invoke_with_args(args)
            }
            _ => parts(&args),
        }
    }
}

/// The parts of texts, each with a start and a count of its own.
fn parts(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let of_constants = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
    let rows = if of_constants { 1 } else { args.number_rows };
    let call = Call::new("substr", &args.args, rows, args.return_field.data_type().clone());
    let (texts, starts) = (call.text(0)?, call.integers(1)?);
    let counts = (call.given() > 2).then(|| call.integers(2)).transpose()?;
    let parts = call.give_text(|row, out| {
        let count = match &counts {
            Some(counts) => counts.get(row).map(Some),
            None => Some(None),
        };
        let (Some(text), Some(start), Some(count)) = (texts.get(row), starts.get(row), count) else {
            return Ok(false);
        };
        out.push_str(part(text, start, count));
        Ok(true)
    })?;
    let parts = cast(&parts, &call.gives)?;
    Ok(match of_constants {
        true => ColumnarValue::Scalar(ScalarValue::try_from_array(&parts, 0)?),
        false => ColumnarValue::Array(parts),
    })
}

/// The characters from a place on, counted from 1, or from the end if it is negative. A negative count takes those
/// before it. Places before the first one are there and hold nothing.
fn part(text: &str, start: i64, count: Option<i64>) -> &str {
    if text.is_ascii() {
        return text.get(places(text.len(), start, count)).unwrap_or_default();
    }
    let places = places(text.chars().count(), start, count);
    let byte = |place: usize| text.char_indices().nth(place).map_or(text.len(), |(byte, _)| byte);
    text.get(byte(places.start)..byte(places.end)).unwrap_or_default()
}

/// The places of the part from `start` on of so many characters, in DuckDB's sense: from the end if `start` is negative,
/// and before it if `count` is.
pub fn places(chars: usize, start: i64, count: Option<i64>) -> Range<usize> {
    let chars = chars as i128;
    let start = if start > 0 {
        i128::from(start) - 1
    } else if start == 0 {
        -1
    } else {
        chars + i128::from(start)
    };
    let (first, end) = match count.map(i128::from) {
        None => (start, chars),
        Some(count) if count < 0 => (start + count, start),
        Some(count) => (start, start + count),
    };
    first.clamp(0, chars) as usize..end.clamp(0, chars) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_reference() {
        for (start, count, expected) in [
            (2, Some(3), "é🦀l"),
            (0, Some(2), "h"),
            (0, None, "hé🦀lo"),
            (-2, Some(2), "lo"),
            (-2, None, "lo"),
            (-7, Some(4), "hé"),
            (4, Some(-2), "é🦀"),
            (0, Some(-2), ""),
            (9, Some(-5), "lo"),
            (i64::MIN, Some(i64::MAX), "hé🦀l"),
            (i64::MAX, Some(i64::MIN), "hé🦀lo"),
        ] {
            assert_eq!(part("hé🦀lo", start, count), expected, "{start}, {count:?}");
        }
        assert_eq!(part("hello", -3, Some(2)), "ll");
    }
}
