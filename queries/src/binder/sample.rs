//! TABLESAMPLE, in the form that `parse/samples.rs` gives it.
//!
//! A share by BERNOULLI keeps each row on its own. A number of rows, or an exact share, keeps those that come first in a
//! random order. With REPEATABLE what stands for randomness is a digest of the row's number and the seed.

use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use sqlparser::ast::{
    TableFactor, TableSample, TableSampleKind, TableSampleMethod, TableSampleQuantity, TableSampleUnit,
};

use arrow_schema::DataType;

use super::query::{Range, mapped, sorted};
use super::{Binder, literal};
use crate::algebra::{Expr, Filter, Rel, SortKey};
use crate::error::{Error, Result};
use crate::parse::calls;

/// The sample that an item of FROM is.
pub(super) fn of(factor: &TableFactor) -> Option<&TableSample> {
    match factor {
        TableFactor::Table { sample: Some(sample), .. }
        | TableFactor::Derived { sample: Some(sample), .. } => {
            let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) =
                sample;
            Some(sample)
        }
        _ => None,
    }
}

impl Binder<'_> {
    /// A sample of the rows.
    ///
    /// # Errors
    /// The share is none.
    pub(super) fn sampled(&mut self, rel: Rel, sample: &TableSample) -> Result<Rel> {
        let TableSample { name, quantity: Some(TableSampleQuantity { value, unit, .. }), seed, .. } = sample
        else {
            return Err(Error::Unsupported("this form of TABLESAMPLE".into()));
        };
        let Some(digits) = calls::digits(value) else {
            return Err(Error::Invalid("TABLESAMPLE takes a number".into()));
        };
        let is_share = *unit == Some(TableSampleUnit::Percent);
        let percent = digits.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
        if is_share && percent.is_none() {
            return Err(Error::Invalid(format!(
                "TABLESAMPLE takes a share from 0 to 100 %, and not {digits}"
            )));
        }
        let (rel, chance) = match seed {
            None => (rel, self.call_named("random", vec![])?),
            Some(seed) => {
                let help = "leave REPEATABLE out";
                let (rel, row) = self.numbered(rel, "REPEATABLE", help)?;
                let row = self.types.cast(self.columns.read(row), &DataType::Utf8View, false)?;
                let seed = literal::text(&format!(":{}", seed.value));
                let text = self.types.binary(row, Operator::StringConcat, seed)?;
                (rel, self.call_named("md5", vec![text])?)
            }
        };
        let id = self.columns.add("chance", chance.data_type.clone());
        let rel = mapped(rel, vec![(id, chance)]);
        let chance = self.columns.read(id);
        if let (Some(TableSampleMethod::Bernoulli), Some(percent)) = (name, percent) {
            if percent == 100.0 {
                return Ok(rel);
            }
            let bound = match seed {
                None => Expr::literal(ScalarValue::Float64(Some(percent / 100.0))),
                // The first 64 bits of a digest are as those of a number, in digits of the base 16.
                Some(_) => literal::text(&format!("{:016x}", (percent / 100.0 * 2.0_f64.powi(64)) as u64)),
            };
            let predicates = vec![self.types.binary(chance, Operator::Lt, bound)?];
            return Ok(Rel::Filter(Filter { input: Box::new(rel), predicates }));
        }
        let range = match (is_share, percent) {
            (true, percent) => Range { percent, ..Range::default() },
            (false, _) => {
                let Ok(rows) = digits.parse::<usize>() else {
                    let message = format!("TABLESAMPLE takes a whole number of rows, and not {digits}");
                    return Err(Error::Invalid(message));
                };
                Range { fetch: Some(rows), ..Range::default() }
            }
        };
        let key = SortKey { expr: chance, descending: false, nulls_first: false };
        self.limited(sorted(rel, vec![key]), range)
    }
}
