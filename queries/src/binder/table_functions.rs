//! Table functions that make their rows.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use datafusion_common::ScalarValue;
use schema::bdb::{Kind, Sizes};
use schema::{Source, Table, TableEstimates};

use crate::error::{Error, Result};

/// `range(end)`, `range(start, end)`, `range(start, end, step)`; `generate_series` includes the end.
pub(super) fn range(name: &str, args: &[ScalarValue], inclusive: bool) -> Result<Table> {
    let whole = |v: &ScalarValue, n: &ScalarValue| {
        v.data_type().is_integer() || n.cast_to(&v.data_type()).is_ok_and(|same| same == *v)
    };
    let number = |v: &ScalarValue| match v.cast_to(&DataType::Int64) {
        Ok(n @ ScalarValue::Int64(Some(number))) if whole(v, &n) => Ok(number),
        _ => Err(Error::Invalid(format!("{name}() takes 64-bit integers"))),
    };
    let (start, end, step) = match args {
        [end] => (0, number(end)?, 1),
        [start, end] => (number(start)?, number(end)?, 1),
        [start, end, step] => (number(start)?, number(end)?, number(step)?),
        _ => {
            return Err(Error::Invalid(format!(
                "{name}() takes one to three numbers: an end; a start and an end; and a step"
            )));
        }
    };
    if step == 0 {
        return Err(Error::Invalid(format!("the step of {name}() must not be 0")));
    }
    let end = match inclusive {
        true => match end.checked_add(step.signum()) {
            Some(end) => end,
            None => return Err(Error::Invalid(format!("the end of {name}() is out of range"))),
        },
        false => end,
    };
    let distance = (i128::from(end) - i128::from(start)) * i128::from(step.signum());
    let rows = if distance <= 0 { 0 } else { (distance - 1) / i128::from(step).abs() + 1 };
    let column = if inclusive { "generate_series" } else { "range" };
    Ok(Table {
        name: name.to_string(),
        schema: Arc::new(Schema::new(vec![Field::new(column, DataType::Int64, false)])),
        source: Source::Range { start, end, step },
        rows: Some(rows as u64),
        spans: vec![Some((start.min(end) as f64, start.max(end) as f64))],
        guesses: TableEstimates::default(),
    })
}

/// `bdb('uservisits', 'tiny')` or `bdb('uservisits', rankings, uservisits)`, with documents' bytes and a seed behind
/// them: a table of the benchmark, made while it is read.
pub(super) fn bdb(args: &[ScalarValue]) -> Result<Table> {
    let usage = || {
        Error::Invalid(
            "bdb() takes a table (rankings, uservisits, documents) and a set (tiny, 1node, 5nodes), or the rows of \
             rankings and of uservisits, the bytes of documents and a seed"
                .into(),
        )
    };
    let text = |i: usize| args.get(i).and_then(|v| v.try_as_str().flatten());
    let number = |i: usize, default: u64| match args.get(i).map(|v| v.cast_to(&DataType::UInt64)) {
        None => Ok(default),
        Some(Ok(ScalarValue::UInt64(Some(n)))) => Ok(n),
        Some(_) => Err(usage()),
    };
    let kind = text(0).and_then(Kind::parse).ok_or_else(usage)?;
    let spec = match text(1) {
        Some(set) => Sizes::of_set(set).ok_or_else(usage)?.table(kind, number(2, 0)?),
        None => {
            let sizes = Sizes {
                rankings: number(1, 1_200)?,
                uservisits: number(2, 10_000)?,
                documents_bytes: number(3, 6_800_000)?,
            };
            sizes.table(kind, number(4, 0)?)
        }
    };
    spec.check().map_err(Error::Invalid)?;
    Ok(Table {
        name: kind.name().to_string(),
        schema: spec.schema(),
        source: Source::Generated(spec),
        rows: spec.rows(),
        spans: vec![],
        guesses: TableEstimates::default(),
    })
}
