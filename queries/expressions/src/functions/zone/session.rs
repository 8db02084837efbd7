//! What the time zone of a session needs besides AT TIME ZONE. Nobody types these functions: the planner calls them
//! where an expression on instants depends on the zone, which is the last argument of each, a constant.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType};
use arrow_array::{ArrayRef, Int64Array, IntervalMonthDayNanoArray, StringArray};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, IntervalUnit};
use chrono::{Months, NaiveDate};
use datafusion_common::{Result, ScalarValue, exec_datafusion_err, internal_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use schema::instants::per_second;
use schema::time_formats::TimeFormat;
use schema::zones::{Clocks, push_offset};

use super::{clocks, relabelled};
use crate::functions::parts::part_of;
use crate::text::shown;
use crate::values::printed;
use crate::values::time_text::timestamp;

const SECOND: i64 = 1_000_000_000;
const SECONDS_OF_DAY: i64 = 86_400;

/// What is made of an instant, or of two, in a time zone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum InZone {
    /// The text that a cast gives: `2024-01-01 11:00:00+01`.
    Text,
    /// The instant of this type that a text says. Without an offset, or the name of a zone, it is what clocks show.
    Read {
        /// The type.
        to: DataType,
        /// Whether a text that says none is NULL.
        safe: bool,
    },
    /// An interval later: months and days by the calendar, then the time.
    Plus,
    /// The whole days by the calendar from the second instant to the first, and the rest.
    Apart,
    /// Cut to an hour or less, whose name is the first argument.
    Cut,
    /// How many seconds clocks are before UTC.
    Offset,
    /// The text in the format that is the second argument.
    Format,
}

impl InZone {
    /// The function.
    pub fn function(self) -> Arc<ScalarUDF> {
        let arguments = match self {
            InZone::Text | InZone::Read { .. } | InZone::Offset => 2,
            InZone::Plus | InZone::Apart | InZone::Cut | InZone::Format => 3,
        };
        let signature = Signature::any(arguments, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Function { of: self, signature }))
    }
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    of: InZone,
    signature: Signature,
}

/// Counts since 1970, in so many units a second.
struct Instants {
    units: Int64Array,
    per_second: i64,
}

impl Instants {
    fn new(values: &ArrayRef) -> Result<Instants> {
        let DataType::Timestamp(unit, _) = values.data_type() else {
            return internal_err!("{} is no instant", values.data_type());
        };
        let units = cast(values, &DataType::Int64)?.as_primitive::<Int64Type>().clone();
        Ok(Instants { units, per_second: per_second(*unit) })
    }

    /// What is made of each.
    fn each<T>(&self, make: impl Fn(i64) -> T) -> impl Iterator<Item = Option<T>> {
        self.units.iter().map(move |units| units.map(&make))
    }
}

fn beyond() -> datafusion_common::DataFusionError {
    exec_datafusion_err!("overflow: the timestamp leaves the range of TIMESTAMP WITH TIME ZONE")
}

/// What clocks show at an instant, in its units, and by how many seconds they are before UTC.
fn shown_at(clocks: Clocks, units: i64, per_second: i64) -> Option<(i64, i64)> {
    let offset = clocks.offset_at(units.div_euclid(per_second))?;
    Some((units.checked_add(offset.checked_mul(per_second)?)?, offset))
}

/// Appends the text of an instant. One whose local time can't be counted has that of UTC.
fn push_text(clocks: Clocks, units: i64, per_second: i64, out: &mut String) {
    let (local, offset) = shown_at(clocks, units, per_second).unwrap_or((units, 0));
    printed::timestamp(local, per_second, false, out);
    push_offset(offset, false, out);
}

/// The instant that a text says, in so many units a second.
fn read(clocks: Clocks, text: &str, per_second: i64, to: &DataType, zone: &str) -> Option<i64> {
    let (written, of_name) = match (timestamp(text), text.trim_ascii().rsplit_once(' ')) {
        (Some(written), _) => (written, None),
        (None, Some((time, name))) if let (Some(time), Some(of)) = (timestamp(time), Clocks::of(name)) => {
            (time, Some(of))
        }
        _ => {
            // What is written otherwise Arrow may know.
            let DataType::Timestamp(unit, _) = to else { return None };
            let one: ArrayRef = Arc::new(StringArray::from(vec![text]));
            let in_zone = cast(&one, &DataType::Timestamp(*unit, Some(zone.into()))).ok()?;
            return cast(&in_zone, &DataType::Int64).ok()?.as_primitive::<Int64Type>().iter().next()?;
        }
    };
    let offset = match written.offset {
        Some(offset) => offset,
        None => of_name.unwrap_or(clocks).offset_shown(written.seconds)?,
    };
    let seconds = i128::from(written.seconds) - i128::from(offset);
    i64::try_from(seconds * i128::from(per_second) + i128::from(written.nanos / (SECOND / per_second))).ok()
}

/// An instant moved by an interval. A day later clocks show the same time, and with the same offset if they can.
pub fn plus(clocks: Clocks, units: i64, per_second: i64, by: IntervalMonthDayNano) -> Option<i64> {
    let mut moved = units;
    if by.months != 0 || by.days != 0 {
        let (local, offset) = shown_at(clocks, units, per_second)?;
        let day = SECONDS_OF_DAY * per_second;
        let date = NaiveDate::from_epoch_days(i32::try_from(local.div_euclid(day)).ok()?)?;
        let months = Months::new(by.months.unsigned_abs());
        let date = match by.months {
            0.. => date.checked_add_months(months)?,
            _ => date.checked_sub_months(months)?,
        };
        let days = i64::from(date.to_epoch_days()) + i64::from(by.days);
        let local = days.checked_mul(day)?.checked_add(local.rem_euclid(day))?;
        let seconds = local.div_euclid(per_second);
        let offset = match by.months {
            0 => clocks.offset_shown_like(seconds, offset)?,
            _ => clocks.offset_shown(seconds)?,
        };
        moved = local.checked_sub(offset * per_second)?;
    }
    moved.checked_add(by.nanoseconds.div_euclid(SECOND / per_second))
}

/// The days by the calendar, and the rest, from one instant to another, in nanoseconds since 1970.
fn apart(clocks: Clocks, later: i128, earlier: i128) -> Option<IntervalMonthDayNano> {
    if later < earlier {
        let back = apart(clocks, earlier, later)?;
        return Some(IntervalMonthDayNano::new(0, -back.days, -back.nanoseconds));
    }
    let second = i128::from(SECOND);
    let local = |instant: i128| {
        let seconds = i64::try_from(instant.div_euclid(second)).ok()?;
        let offset = clocks.offset_at(seconds)?;
        Some((seconds.checked_add(offset)?, offset))
    };
    let ((last, _), (first, offset)) = (local(later)?, local(earlier)?);
    let mut days = (last.div_euclid(SECONDS_OF_DAY) - first.div_euclid(SECONDS_OF_DAY)).max(0);
    loop {
        let seconds = first.checked_add(days.checked_mul(SECONDS_OF_DAY)?)?;
        let at = i128::from(seconds - clocks.offset_shown_like(seconds, offset)?) * second
            + earlier.rem_euclid(second);
        if at <= later || days == 0 {
            let rest = i64::try_from(later - at).ok()?;
            return Some(IntervalMonthDayNano::new(0, i32::try_from(days).ok()?, rest));
        }
        days -= 1;
    }
}

/// An instant cut to so many units, of what clocks show.
fn cut(clocks: Clocks, units: i64, per_second: i64, step: i64) -> Option<i64> {
    let (local, offset) = shown_at(clocks, units, per_second)?;
    let local = local.checked_sub(local.rem_euclid(step))?;
    let offset = clocks.offset_shown_like(local.div_euclid(per_second), offset)?;
    local.checked_sub(offset * per_second)
}

/// The nanoseconds of a part of a day.
pub fn nanoseconds_of(part: &str) -> Option<i64> {
    Some(match part {
        "hour" => 3_600 * SECOND,
        "minute" => 60 * SECOND,
        "second" => SECOND,
        "millisecond" => 1_000_000,
        "microsecond" => 1_000,
        _ => return None,
    })
}

impl Function {
    fn computed(&self, args: &[ArrayRef], zone: &str, part: Option<&ScalarValue>) -> Result<ArrayRef> {
        let clocks = clocks(zone)?;
        let Some(first) = args.first() else { return internal_err!("there is no instant") };
        Ok(match (&self.of, args) {
            (InZone::Read { to, safe }, _) => {
                let DataType::Timestamp(unit, _) = to else { return internal_err!("{to} is no instant") };
                let texts = cast(first, &DataType::Utf8View)?;
                let per_second = per_second(*unit);
                let one = |text: &str| match read(clocks, text, per_second, to, zone) {
                    None if !safe => Err(ArrowError::CastError(format!(
                        "Cannot cast string '{text}' to value of {} type",
                        shown(to)
                    ))),
                    units => Ok(units),
                };
                let all = texts.as_string_view().iter().map(|text| Ok(text.map(one).transpose()?.flatten()));
                let units: ArrayRef = Arc::new(all.collect::<Result<Int64Array, ArrowError>>()?);
                relabelled(&units, to.clone())?
            }
            (InZone::Text, _) => {
                let instants = Instants::new(first)?;
                let mut texts = StringViewBuilder::with_capacity(first.len());
                for text in instants.each(|units| {
                    let mut text = String::new();
                    push_text(clocks, units, instants.per_second, &mut text);
                    text
                }) {
                    texts.append_option(text);
                }
                Arc::new(texts.finish())
            }
            (InZone::Offset, _) => {
                let instants = Instants::new(first)?;
                let offset =
                    |units: i64| clocks.offset_at(units.div_euclid(instants.per_second)).ok_or_else(beyond);
                let all = instants.each(offset).map(Option::transpose);
                Arc::new(all.collect::<Result<Int64Array>>()?)
            }
            (InZone::Plus, [_, by]) => {
                let (instants, by) = (Instants::new(first)?, by.as_primitive::<IntervalMonthDayNanoType>());
                let both = instants.units.iter().zip(by).map(|(units, by)| {
                    let Some((units, by)) = units.zip(by) else { return Ok(None) };
                    plus(clocks, units, instants.per_second, by).map(Some).ok_or_else(beyond)
                });
                let moved: ArrayRef = Arc::new(both.collect::<Result<Int64Array>>()?);
                relabelled(&moved, first.data_type().clone())?
            }
            (InZone::Apart, [_, earlier]) => {
                let (later, earlier) = (Instants::new(first)?, Instants::new(earlier)?);
                let nanos = |units: i64, per_second: i64| i128::from(units) * i128::from(SECOND / per_second);
                let both = later.units.iter().zip(&earlier.units).map(|(a, b)| {
                    let Some((a, b)) = a.zip(b) else { return Ok(None) };
                    let (a, b) = (nanos(a, later.per_second), nanos(b, earlier.per_second));
                    apart(clocks, a, b).map(Some).ok_or_else(beyond)
                });
                Arc::new(both.collect::<Result<IntervalMonthDayNanoArray>>()?)
            }
            (InZone::Cut, _) => {
                let Some(nanos) = nanoseconds_of(&part_of(part)?) else {
                    return internal_err!("a day is not cut here");
                };
                let instants = Instants::new(first)?;
                // A unit may be longer than the part.
                let step = (nanos / (SECOND / instants.per_second)).max(1);
                let one = |units: i64| cut(clocks, units, instants.per_second, step).ok_or_else(beyond);
                let all = instants.each(one).map(Option::transpose);
                let cut: ArrayRef = Arc::new(all.collect::<Result<Int64Array>>()?);
                relabelled(&cut, first.data_type().clone())?
            }
            (InZone::Format, [_, formats]) => {
                let (instants, formats) = (Instants::new(first)?, cast(formats, &DataType::Utf8View)?);
                formatted(clocks, zone, &instants, &formats)?
            }
            _ => return internal_err!("{} has other arguments", self.name()),
        })
    }
}

/// Instants in formats. That of the row before is mostly that of the next.
fn formatted(clocks: Clocks, zone: &str, instants: &Instants, formats: &ArrayRef) -> Result<ArrayRef> {
    let mut last: Option<(&str, TimeFormat)> = None;
    let mut texts = StringViewBuilder::with_capacity(formats.len());
    for (units, text) in instants.units.iter().zip(formats.as_string_view()) {
        let Some((units, text)) = units.zip(text) else {
            texts.append_null();
            continue;
        };
        if last.as_ref().is_none_or(|(known, _)| *known != text) {
            let parsed = TimeFormat::parse(text)
                .map_err(|specifier| exec_datafusion_err!("strftime() has no specifier '{specifier}'"))?;
            last = Some((text, parsed));
        }
        let Some((_, format)) = &last else { continue };
        let (local, offset) = shown_at(clocks, units, instants.per_second).ok_or_else(beyond)?;
        let day = SECONDS_OF_DAY * instants.per_second;
        let date = i32::try_from(local.div_euclid(day)).ok().and_then(NaiveDate::from_epoch_days);
        let nanos = local.rem_euclid(day) * (SECOND / instants.per_second);
        let mut out = String::new();
        format.write(date.ok_or_else(beyond)?, nanos, Some((zone, offset)), &mut out);
        texts.append_value(out);
    }
    Ok(Arc::new(texts.finish()))
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        match self.of {
            InZone::Text => "text_of_instant",
            InZone::Read { safe: false, .. } => "instant_of_text",
            InZone::Read { safe: true, .. } => "try_instant_of_text",
            InZone::Plus => "instant_plus",
            InZone::Apart => "instants_apart",
            InZone::Cut => "date_trunc_in_zone",
            InZone::Offset => "zone_offset",
            InZone::Format => "strftime_in_zone",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let argument = |at: usize| types.get(at).cloned().unwrap_or(DataType::Null);
        Ok(match &self.of {
            InZone::Text | InZone::Format => DataType::Utf8View,
            InZone::Read { to, .. } => to.clone(),
            InZone::Plus => argument(0),
            InZone::Apart => DataType::Interval(IntervalUnit::MonthDayNano),
            InZone::Cut => argument(1),
            InZone::Offset => DataType::Int64,
        })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some((ColumnarValue::Scalar(zone), values)) = args.args.split_last() else {
            return internal_err!("the time zone is a constant");
        };
        let Some(zone) = zone.try_as_str().flatten() else {
            return internal_err!("the time zone is a text");
        };
        let (part, values) = match (&self.of, values) {
            (InZone::Cut, [ColumnarValue::Scalar(part), rest @ ..]) => (Some(part), rest),
            (_, values) => (None, values),
        };
        let arrays: Vec<ArrayRef> =
            values.iter().map(|value| value.to_array(args.number_rows)).collect::<Result<_>>()?;
        Ok(ColumnarValue::Array(self.computed(&arrays, zone, part)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BERLIN: &str = "Europe/Berlin";

    fn seconds(text: &str) -> i64 {
        let clocks = Clocks::of(BERLIN).expect("a zone");
        let to = DataType::Timestamp(arrow_schema::TimeUnit::Second, Some("UTC".into()));
        read(clocks, text, 1, &to, BERLIN).expect("an instant")
    }

    fn text(instant: i64) -> String {
        let mut out = String::new();
        push_text(Clocks::of(BERLIN).expect("a zone"), instant, 1, &mut out);
        out
    }

    #[test]
    fn texts_are_read_and_written_by_the_clocks_of_a_zone() {
        for (written, shown) in [
            ("2024-06-01 12:00", "2024-06-01 12:00:00+02"),
            ("2024-06-01 12:00Z", "2024-06-01 14:00:00+02"),
            ("2024-06-01 12:00 America/New_York", "2024-06-01 18:00:00+02"),
            ("2024-03-31 02:30", "2024-03-31 03:30:00+02"),
            ("2024-10-27 02:30", "2024-10-27 02:30:00+01"),
            ("2024-10-27 02:30+02", "2024-10-27 02:30:00+02"),
            ("1880-01-01 00:53:28+00:53:28", "1880-01-01 00:53:28+00:53:28"),
        ] {
            assert_eq!(text(seconds(written)), shown, "{written}");
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        let clocks = Clocks::of(BERLIN).expect("a zone");
        let moved = |from: &str, months, days, hours: i64| {
            let by = IntervalMonthDayNano::new(months, days, hours * 3_600 * SECOND);
            plus(clocks, seconds(from), 1, by).map(text)
        };
        for (from, (months, days, hours), to) in [
            ("2024-03-30 12:00", (0, 1, 0), "2024-03-31 12:00:00+02"),
            ("2024-03-30 12:00", (0, 0, 24), "2024-03-31 13:00:00+02"),
            ("2024-03-30 02:30", (0, 1, 1), "2024-03-31 04:30:00+02"),
            ("2024-04-01 02:30", (0, -1, 0), "2024-03-31 03:30:00+02"),
            ("2024-10-26 02:30", (0, 1, 0), "2024-10-27 02:30:00+02"),
            ("2024-10-28 02:30", (0, -1, 0), "2024-10-27 02:30:00+01"),
            ("2024-09-27 02:30", (1, 0, 0), "2024-10-27 02:30:00+01"),
            ("2024-01-31 12:00", (1, 0, 0), "2024-02-29 12:00:00+01"),
        ] {
            assert_eq!(moved(from, months, days, hours).as_deref(), Some(to), "{from}");
        }
        assert_eq!(plus(clocks, i64::MAX, 1, IntervalMonthDayNano::new(0, 1, 0)), None);
    }

    #[test]
    fn a_difference_has_the_days_of_the_calendar() {
        let clocks = Clocks::of(BERLIN).expect("a zone");
        let nanos = |text: &str| i128::from(seconds(text)) * i128::from(SECOND);
        for (later, earlier, days, hours) in [
            ("2024-10-28", "2024-10-27", 1, 0),
            ("2024-10-27 12:00", "2024-10-27", 0, 13),
            ("2024-10-27", "2024-10-27 12:00", 0, -13),
            ("2024-10-28", "2024-10-26 12:00", 1, 12),
            ("2024-10-27 02:10+01", "2024-10-27 02:10+02", 0, 1),
        ] {
            let expected = IntervalMonthDayNano::new(0, days, hours * 3_600 * SECOND);
            assert_eq!(apart(clocks, nanos(later), nanos(earlier)), Some(expected), "{later} {earlier}");
        }
    }
}
