//! How the values of a csv file are written, from examples: formats of dates and timestamps, and what stands in numbers.
//!
//! A way of writing is taken where all values of a column have it and no other way reads them all. Then no other column
//! may have another one. `01/02/2024` may be in January or in February, and stays text where no value of the file
//! tells. `1,234` may be above a thousand or just above one.

use std::collections::BTreeSet;

use schema::Dialect;

use crate::csv::style::{Numbers, Pattern};

/// Formats of dates that are tried, beside that of ISO 8601, which is always read.
const DATES: [&str; 7] = ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%m-%d-%Y", "%d-%m-%Y", "%Y.%m.%d"];

/// Times behind them, which make them formats of timestamps.
const TIMES: [&str; 4] = ["%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p"];

/// `1.234,56`
const CONTINENTAL: Numbers = Numbers { decimal: b',', thousands: Some(b'.') };

/// `1,234.56`
const ENGLISH: Numbers = Numbers { decimal: b'.', thousands: Some(b',') };

/// Puts what the records tell into the dialect, where that says nothing of it. Records of another number of fields than
/// the first are passed over. Numbers with a decimal comma are looked for where the delimiter is a semicolon. They are
/// also looked for where days stand before months with points between them, or points between groups of digits.
pub fn find(records: &[Vec<String>], delimiter: u8, dialect: &mut Dialect) {
    let width = records.first().map_or(0, Vec::len);
    let columns: Vec<Vec<&str>> = (0..width)
        .map(|column| {
            let records = records.iter().filter(|record| record.len() == width);
            let values = records.map(|record| record[column].trim());
            values
                .filter(|value| !value.is_empty() && !dialect.nulls.iter().any(|null| null == value))
                .collect()
        })
        .collect();
    let (mut dates, mut timestamps) = (BTreeSet::new(), BTreeSet::new());
    for values in &columns {
        match time_format(values) {
            Some((format, false)) => dates.insert(format),
            Some((format, true)) => timestamps.insert(format),
            None => false,
        };
    }
    let is_continental =
        dates.contains("%d.%m.%Y") || timestamps.iter().any(|format| format.starts_with("%d.%m.%Y"));
    let only = |mut formats: BTreeSet<String>| if formats.len() == 1 { formats.pop_first() } else { None };
    dialect.date_format = dialect.date_format.take().or_else(|| only(dates));
    dialect.timestamp_format = dialect.timestamp_format.take().or_else(|| only(timestamps));
    if dialect.decimal_separator == b'.'
        && dialect.thousands.is_none()
        && let Some(numbers) = numbers(&columns, is_continental)
        && (numbers.decimal == b'.' || numbers.thousands.is_some() || is_continental || delimiter == b';')
    {
        (dialect.decimal_separator, dialect.thousands) = (numbers.decimal, numbers.thousands);
    }
}

/// The only format of dates or timestamps that reads all values, and whether it is one of timestamps.
fn time_format(values: &[&str]) -> Option<(String, bool)> {
    let first = values.first().filter(|first| first.starts_with(|c: char| c.is_ascii_digit()))?;
    let reads = |format: &str, value: &str| {
        Pattern::new("", format).is_ok_and(|pattern| pattern.read(value.as_bytes()).is_some())
    };
    let with_times = DATES.iter().flat_map(|date| TIMES.map(|time| format!("{date} {time}")));
    let all =
        DATES.iter().map(|date| (date.to_string(), false)).chain(with_times.map(|format| (format, true)));
    let of_first = all.filter(|(format, _)| reads(format, first));
    let mut left = of_first.filter(|(format, _)| {
        Pattern::new("", format)
            .is_ok_and(|pattern| values.iter().all(|value| pattern.read(value.as_bytes()).is_some()))
    });
    let only = left.next()?;
    if left.next().is_none() { Some(only) } else { None }
}

/// What stands in the numbers of these columns, if it is other than what palais writes. It is given if they can be nothing else:
/// groups of digits alone may be addresses, and a comma may stand between two numbers.
fn numbers(columns: &[Vec<&str>], is_continental: bool) -> Option<Numbers> {
    let reads = |numbers: Numbers, value: &str| numbers.is_number(value.as_bytes());
    let has = |values: &[&str], byte: char| values.iter().any(|value| value.contains(byte));
    let is_of = |numbers: Numbers, other: Numbers, values: &[&str]| {
        let is_clear = |value: &&str| value.contains(',') && !reads(other, value);
        values.iter().any(is_clear) && values.iter().all(|value| reads(numbers, value))
    };
    let is_grouped = |value: &&str| value.contains('.') && value.contains(',');
    let continental: Vec<_> = columns.iter().filter(|values| is_of(CONTINENTAL, ENGLISH, values)).collect();
    let english = columns.iter().any(|values| is_of(ENGLISH, CONTINENTAL, values) && has(values, '.'));
    let found = match (continental.is_empty(), english) {
        (true, true) => ENGLISH,
        (false, false) => {
            let is_marked = is_continental || continental.iter().any(|values| values.iter().any(is_grouped));
            if !is_marked && !continental.iter().all(|values| have_equal_decimals(values)) {
                return None;
            }
            let thousands = continental.iter().any(|values| has(values, '.')).then_some(b'.');
            Numbers { decimal: b',', thousands }
        }
        _ => return None,
    };
    // A separator is one thing in all columns of numbers, and no column has groups alone.
    let plain = Numbers { decimal: b'.', thousands: None };
    let group = found.thousands.map(char::from);
    let is_other = |values: &Vec<&str>| {
        let is_read = values.iter().all(|value| reads(found, value));
        let is_plain = has(values, '.') && values.iter().all(|value| reads(plain, value));
        let has_groups_alone =
            group.is_some_and(|group| has(values, group)) && !has(values, char::from(found.decimal));
        if is_read { has_groups_alone } else { is_plain }
    };
    (!columns.iter().any(is_other)).then_some(found)
}

/// Whether all values with a decimal comma have as many digits behind it.
fn have_equal_decimals(values: &[&str]) -> bool {
    let decimals: BTreeSet<usize> =
        values.iter().filter_map(|value| Some(value.len() - value.rfind(',')?)).collect();
    decimals.len() < 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found of columns whose values stand in lines, with a bar between columns.
    fn found(text: &str) -> (Option<String>, Option<String>, char, Option<char>) {
        let records: Vec<Vec<String>> =
            text.lines().map(|line| line.split('|').map(String::from).collect()).collect();
        let mut dialect = Dialect::default();
        find(&records, b';', &mut dialect);
        let Dialect { date_format, timestamp_format, decimal_separator, thousands, .. } = dialect;
        (date_format, timestamp_format, char::from(decimal_separator), thousands.map(char::from))
    }

    #[test]
    fn dates_that_only_one_format_reads() {
        for (text, date, timestamp) in [
            ("31.12.2024\n1.1.2024", Some("%d.%m.%Y"), None),
            ("12/31/2024\n01/02/2024", Some("%m/%d/%Y"), None),
            ("01/02/2024\n31/12/2024\n", Some("%d/%m/%Y"), None),
            ("2024/12/31", Some("%Y/%m/%d"), None),
            ("01/02/2024\n03/04/2024", None, None),
            ("01/02/2024\n12/31/2024\n31/12/2024", None, None),
            ("12/31/2024|01/02/2024", Some("%m/%d/%Y"), None),
            ("12/31/2024|31/12/2024", None, None),
            ("31.12.2024|31.12.2024 10:00", Some("%d.%m.%Y"), Some("%d.%m.%Y %H:%M")),
            ("12/31/2024 10:00:01 PM", None, Some("%m/%d/%Y %I:%M:%S %p")),
            ("31.12.2024\nx", None, None),
            ("31.12.2024\n", Some("%d.%m.%Y"), None),
            ("1.2.3\n10.11.12", None, None),
            ("31.12.24", None, None),
            ("2024-12-31", None, None),
            ("10.0.0.1", None, None),
            ("", None, None),
        ] {
            let (found_date, found_timestamp, ..) = found(text);
            assert_eq!((found_date.as_deref(), found_timestamp.as_deref()), (date, timestamp), "{text}");
        }
    }

    #[test]
    fn numbers_that_can_be_nothing_else() {
        for (text, expected) in [
            ("1,5\n2", (',', None)),
            ("1.234,56\n1", (',', Some('.'))),
            ("1.234,56|1.234", ('.', None)),
            ("1.234,56|192.168.100.101", ('.', None)),
            ("1.234,56\n1.234", (',', Some('.'))),
            ("1,1\n1,10", ('.', None)),
            ("1,1|31.12.2024\n1,10|1.1.2024", (',', None)),
            ("1,234.5|1,234", ('.', None)),
            ("1.234,56|1.5", ('.', None)),
            ("1,5|1.5", ('.', None)),
            ("1,5|1.234", ('.', None)),
            ("0,123", (',', None)),
            ("1,234", ('.', None)),
            ("1,234.5", ('.', Some(','))),
            ("1,234,567", ('.', None)),
            ("1,234.5|1,5", ('.', None)),
            ("1,5\nx", ('.', None)),
            ("1,2,3", ('.', None)),
            ("1.5", ('.', None)),
            ("-1.234,5\n+1", ('.', None)),
            (",5\n-,5", (',', None)),
        ] {
            let (_, _, decimal, thousands) = found(text);
            assert_eq!((decimal, thousands), expected, "{text}");
        }
    }
}
