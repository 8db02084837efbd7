//! Lists of timestamps that are an interval apart. Each is the one before and the interval: from the 31st of January on,
//! a month at a time, comes the 28th of each month.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, TimestampNanosecondBuilder};
use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::types::{IntervalMonthDayNano, IntervalMonthDayNanoType, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{DataType, Field};
use datafusion_common::{Result, exec_err};
use schema::zones::Clocks;

use super::{Given, ListFunction, item_of, list_of};
use crate::functions::zone::session::plus;

/// Units of these timestamps in a second.
const NANOSECONDS: i64 = 1_000_000_000;

/// The most timestamps of the lists of a batch.
const MOST: usize = 1 << 27;

/// The arguments of these functions have their types already: see `types::series` of the planner.
const fn of(name: &'static str, compute: fn(&Given) -> Result<ArrayRef>) -> ListFunction {
    let gives = |given: &[DataType]| list_of(given.first().unwrap_or(&DataType::Null));
    ListFunction { name, takes: &[], least: 0, more: None, gives, total: false, compute }
}

pub(super) const FUNCTIONS: &[ListFunction] = &[
    of("range_of_times", |given| times(given, false)),
    of("generate_series_of_times", |given| times(given, true)),
];

/// Whether an interval goes forward, as all its parts do, or back.
fn is_forward(step: IntervalMonthDayNano) -> Result<bool> {
    let parts = [i64::from(step.months), i64::from(step.days), step.nanoseconds];
    match (parts.iter().any(|part| *part > 0), parts.iter().any(|part| *part < 0)) {
        (true, true) => exec_err!("a step has parts that go forward and back"),
        (true, false) => Ok(true),
        (false, true) => Ok(false),
        (false, false) => exec_err!("a step must not be 0"),
    }
}

/// The clocks by whose calendar months and days are counted: those of the zone that is the fourth argument.
fn zone(given: &Given) -> Result<Option<Clocks>> {
    let Some(zones) = given.args().get(3) else { return Ok(None) };
    let zones = cast(zones, &DataType::Utf8View)?;
    // It is a constant. There may be no row.
    Ok(zones.as_string_view().iter().flatten().next().and_then(Clocks::of))
}

fn times(given: &Given, with_end: bool) -> Result<ArrayRef> {
    let (begins, ends) = (
        given.arg(0)?.as_primitive::<TimestampNanosecondType>(),
        given.arg(1)?.as_primitive::<TimestampNanosecondType>(),
    );
    let steps = given.arg(2)?.as_primitive::<IntervalMonthDayNanoType>();
    let (utc, clocks): (Tz, Option<Clocks>) = ("+00:00".parse()?, zone(given)?);
    let item = item_of(given.gives);
    let values = TimestampNanosecondBuilder::new().with_data_type(item.clone());
    let mut lists = ListBuilder::new(values).with_field(Field::new_list_field(item, true));
    let mut count = 0;
    for row in 0..given.rows {
        if begins.is_null(row) || ends.is_null(row) || steps.is_null(row) {
            lists.append_null();
            continue;
        }
        let (mut time, end, step) = (begins.value(row), ends.value(row), steps.value(row));
        let forward = is_forward(step)?;
        while (if forward { time < end } else { time > end }) || with_end && time == end {
            count += 1;
            if count > MOST {
                return exec_err!("lists of more than {MOST} timestamps beside each other");
            }
            lists.values().append_value(time);
            // What is beyond all timestamps is beyond the end.
            let next = match clocks {
                Some(clocks) => plus(clocks, time, NANOSECONDS, step),
                None => TimestampNanosecondType::add_month_day_nano(time, step, utc),
            };
            let Some(next) = next else { break };
            time = next;
        }
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}
