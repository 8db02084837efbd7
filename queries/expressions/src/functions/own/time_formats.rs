//! Dates and times as text by a format, and back: `strftime` and `strptime`. Their formats are those of
//! [`schema::time_formats`].

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue, exec_datafusion_err};
use schema::instants::UTC;
use schema::time_formats::TimeFormat;

use super::arguments::{Call, DAY, Texts};
use super::calendar::date_of;
use super::{Own, ResultType, Takes};

const PARSED: &[&[Takes]] = &[&[Takes::OnlyText, Takes::OnlyText]];

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "strftime",
        takes: &[&[Takes::Instant, Takes::OnlyText], &[Takes::OnlyText, Takes::Instant]],
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: write,
    },
    Own {
        name: "strptime",
        takes: PARSED,
        more: None,
        gives: ResultType::Constants(parsed_type),
        total: false,
        compute: |call| read(call, false),
    },
    Own {
        name: "try_strptime",
        takes: PARSED,
        more: None,
        gives: ResultType::Constants(parsed_type),
        total: false,
        compute: |call| read(call, true),
    },
];

/// The formats of the rows.
struct Formats {
    /// The function.
    name: &'static str,
    texts: Texts,
    /// Of the row before.
    last: Option<(String, TimeFormat)>,
}

impl Formats {
    fn get(&mut self, row: usize) -> Result<Option<&TimeFormat>> {
        let Some(text) = self.texts.get(row) else { return Ok(None) };
        if self.last.as_ref().is_none_or(|(last, _)| last != text) {
            let format = TimeFormat::parse(text).map_err(|specifier| {
                exec_datafusion_err!("{}() has no specifier '{specifier}'", self.name)
            })?;
            self.last = Some((text.to_string(), format));
        }
        Ok(self.last.as_ref().map(|(_, format)| format))
    }
}

fn write(call: &Call) -> Result<ArrayRef> {
    let time = usize::from(!call.type_of(0).is_temporal());
    let zone = matches!(call.type_of(time), DataType::Timestamp(_, Some(_))).then_some((UTC, 0));
    let instants = call.instants(time)?;
    let mut formats = Formats { name: call.name, texts: call.text(1 - time)?, last: None };
    call.give_text(|row, out| {
        let Some(((day, nanos), format)) = instants.get(row).zip(formats.get(row)?) else { return Ok(false) };
        let date = date_of(call, day)?;
        format.write(date, nanos, zone, out);
        Ok(true)
    })
}

/// The type of what is read: an instant, if the format has a zone.
fn parsed_type(constants: &[Option<&ScalarValue>]) -> DataType {
    let format = constants.get(1).copied().flatten().and_then(|format| format.try_as_str().flatten());
    let zoned = format.is_some_and(|format| TimeFormat::parse(format).is_ok_and(|format| format.is_zoned()));
    if zoned { ResultType::Instant.of(&[], &[]) } else { ResultType::Timestamp.of(&[], &[]) }
}

fn read(call: &Call, safe: bool) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    let mut formats = Formats { name: call.name, texts: call.text(1)?, last: None };
    call.give_instants(|row| {
        let Some((text, format)) = texts.get(row).zip(formats.get(row)?) else { return Ok(None) };
        match format.read(text) {
            // What no timestamp can be is no error where none is wanted.
            Some(instant) if safe && !is_in_range(instant) => Ok(None),
            Some(instant) => Ok(Some(instant)),
            None if safe => Ok(None),
            None => {
                let format = formats.texts.get(row).unwrap_or_default();
                Err(exec_datafusion_err!("'{text}' is no date or time of the format '{format}'"))
            }
        }
    })
}

/// Whether a timestamp of nanoseconds holds an instant.
fn is_in_range((day, nanos): (i64, i64)) -> bool {
    i64::try_from(i128::from(day) * i128::from(DAY) + i128::from(nanos)).is_ok()
}
