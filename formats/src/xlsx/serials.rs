//! Numbers that stand for dates and times: days since the epoch of the workbook, with the time of day as a fraction.
//!
//! There are two epochs. The one of 1900 counts a 29 February 1900 that was none. Its days before are one less than the
//! formula says, and the false day itself (60) is read as the day before, as openpyxl does.

use super::cells::Cell;

/// Days from the zero of each epoch to 1970.
const ZERO_1900: i64 = 25_569;
const ZERO_1904: i64 = 24_107;
/// The day behind 9999-12-31, the last that Excel has, as days since 1970.
const END: i64 = 2_932_897;
const DAY_MS: f64 = 86_400_000.0;
const DAY_US: i64 = 86_400_000_000;

/// What a format of numbers shows of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// A date, and maybe a time of day.
    Date,
    /// A time of day alone.
    Time,
}

/// What a format that calamine takes for one of dates shows.
pub fn shows(format: &str) -> Shows {
    let (mut letters, mut chars) = (String::new(), format.chars());
    while let Some(c) = chars.next() {
        match c {
            '"' => _ = chars.by_ref().find(|c| *c == '"'),
            '[' => _ = chars.by_ref().find(|c| *c == ']'),
            '\\' | '_' | '*' => _ = chars.next(),
            ';' => break,
            c => letters.extend(c.to_lowercase()),
        }
    }
    let letters = letters.replace("am/pm", "").replace("a/p", "");
    let has_time = letters.contains(['h', 's']);
    // Beside hours and seconds `m` and `mm` are minutes; `mmm` is a month.
    let is_date = letters.contains(['y', 'd', 'e']) || letters.contains("mmm") || !has_time;
    if is_date { Shows::Date } else { Shows::Time }
}

/// The date, timestamp or time that a number stands for; the number itself if it stands for none.
pub fn moment(serial: f64, shows: Shows, is_1904: bool) -> Cell {
    if !serial.is_finite() || serial < 0.0 || serial > (END + ZERO_1900) as f64 {
        return Cell::Number(serial);
    }
    let ms = (serial * DAY_MS).round() as i64;
    let (day, time) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000) * 1000);
    // There is no day 0 in the epoch of 1900.
    if day == 0 && (shows == Shows::Time || !is_1904) {
        return Cell::Time(time);
    }
    let date = match is_1904 {
        true => day - ZERO_1904,
        false => day - ZERO_1900 + i64::from(day < 60),
    };
    match time {
        _ if date >= END => Cell::Number(serial),
        0 if shows == Shows::Date => Cell::Date(date as i32),
        time => Cell::Timestamp(date * DAY_US + time),
    }
}

/// An elapsed time as text: hours, minutes and seconds, and thousandths if there are any.
pub fn elapsed(serial: f64) -> Option<String> {
    let ms = (serial * DAY_MS).round();
    if !ms.is_finite() || ms.abs() > 1e15 {
        return None;
    }
    let sign = if ms < 0.0 { "-" } else { "" };
    let ms = ms.abs() as u64;
    let (seconds, thousandths) = (ms / 1000, ms % 1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = if thousandths == 0 { String::new() } else { format!(".{thousandths:03}") };
    Some(format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_tell_dates_from_times() {
        for format in
            ["yyyy-mm-dd", "mm-dd-yy", "d-mmm", "mmm-yy", "m/d/yy h:mm", "\"h\" mmmm", "[$-407]d. mmmm"]
        {
            assert_eq!(shows(format), Shows::Date, "{format}");
        }
        for format in ["h:mm", "h:mm:ss AM/PM", "mm:ss", "hh:mm:ss.000", "[$-409]h:mm A/P;@", "h \"day\""] {
            assert_eq!(shows(format), Shows::Time, "{format}");
        }
    }

    #[test]
    fn both_epochs_and_the_false_day() {
        let date = |serial, is_1904| moment(serial, Shows::Date, is_1904);
        assert_eq!(date(25_569.0, false), Cell::Date(0));
        assert_eq!(date(24_107.0, true), Cell::Date(0));
        // 1900-01-01, 1900-02-28, the false 29 February, 1900-03-01.
        assert_eq!(
            [1.0, 59.0, 60.0, 61.0].map(|serial| date(serial, false)),
            [-25_567, -25_509, -25_509, -25_508].map(Cell::Date)
        );
        assert_eq!(date(0.0, true), Cell::Date(-24_107));
        assert_eq!(date(0.5, false), Cell::Time(DAY_US / 2));
        assert_eq!(date(25_569.5, false), Cell::Timestamp(DAY_US / 2));
        assert_eq!(moment(25_570.0, Shows::Time, false), Cell::Timestamp(DAY_US));
        // What rounds to midnight is midnight.
        assert_eq!(date(25_569.999_999_999, false), Cell::Date(1));
        assert_eq!(date(2_958_465.0, false), Cell::Date((END - 1) as i32));
        for none in [-1.0, 2_958_466.0, f64::INFINITY] {
            assert_eq!(date(none, false), Cell::Number(none));
        }
    }

    #[test]
    fn elapsed_times_pass_a_day() {
        assert_eq!(elapsed(1.5).as_deref(), Some("36:00:00"));
        assert_eq!(elapsed(-0.25).as_deref(), Some("-06:00:00"));
        assert_eq!(elapsed(1.5 / 86_400.0).as_deref(), Some("00:00:01.500"));
        assert_eq!(elapsed(1e300), None);
    }
}
