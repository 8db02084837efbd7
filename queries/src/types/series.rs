//! `range()` and `generate_series()` of timestamps: lists in which each is an interval behind the one before.

use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion_common::ScalarValue;

use super::zones::is_instant;
use super::{Types, signatures};
use crate::algebra::Expr;
use crate::compile::is_text;
use crate::error::Result;

/// Whether a type is that of a date or a timestamp.
fn is_time(t: &DataType) -> bool {
    matches!(t, DataType::Date32 | DataType::Timestamp(..))
}

/// The function that a name stands for where it is given dates or timestamps.
pub fn of_times(name: &str, args: &[Expr]) -> Option<&'static str> {
    let is_one = args.first().is_some_and(|first| is_time(&first.data_type));
    match name {
        "range" if is_one => Some("range_of_times"),
        "generate_series" if is_one => Some("generate_series_of_times"),
        _ => None,
    }
}

/// Whether a function, by its name, gives the list of a series.
pub(super) fn is_one(name: &str) -> bool {
    matches!(name, "range_of_times" | "generate_series_of_times")
}

impl Types {
    /// The list of timestamps from one to another; `function` as of [`of_times`].
    ///
    /// # Errors
    /// The arguments are not two dates or timestamps and an interval.
    pub fn series(&self, written: &str, function: &str, args: Vec<Expr>) -> Result<Expr> {
        let given: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
        let takes = match given.as_slice() {
            [begin, end, step] => {
                is_time(begin)
                    && (is_time(end) || end.is_null() || is_text(end))
                    && (matches!(step, DataType::Interval(_)) || step.is_null() || is_text(step))
            }
            _ => false,
        };
        if !takes {
            return Err(signatures::no_standing(written, &given));
        }
        let zone = given.iter().take(2).find_map(|given| match given {
            DataType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        });
        let time = DataType::Timestamp(TimeUnit::Nanosecond, zone);
        let step = DataType::Interval(IntervalUnit::MonthDayNano);
        let types = [&time, &time, &step];
        let args = args.into_iter().zip(types).map(|(arg, to)| match is_text(&arg.data_type) {
            true => self.cast(arg, to, false),
            false => self.as_type(arg, to, false),
        });
        let mut args = args.collect::<Result<Vec<_>>>()?;
        if let Some(zone) = self.zone.as_deref().filter(|_| is_instant(&time)) {
            // Its days are those of the calendar there.
            args.push(Expr::literal(ScalarValue::Utf8View(Some(zone.into()))));
        }
        self.list_of_typed(function, args)
    }
}
