//! Single values to text.

use arrow_schema::TimeUnit;
use schema::zones::{Clocks, push_offset};

use crate::rows::parse::per_second;

/// The text of a float that is no number.
pub fn not_finite(value: f64) -> &'static [u8] {
    if value.is_nan() {
        b"NaN"
    } else if value > 0.0 {
        b"Infinity"
    } else {
        b"-Infinity"
    }
}

/// Appends a float of 32 bits.
pub fn float32(value: f32, out: &mut Vec<u8>) {
    if value.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
    } else {
        out.extend_from_slice(not_finite(value.into()));
    }
}

/// Appends `value` of at least `width` digits, with leading zeros.
fn padded(value: u64, width: usize, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value).as_bytes();
    out.extend(std::iter::repeat_n(b'0', width.saturating_sub(digits.len())));
    out.extend_from_slice(digits);
}

fn two(value: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'0' + value / 10, b'0' + value % 10]);
}

/// Appends a decimal of this scale.
pub fn decimal(value: i128, scale: i8, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    point(value < 0, buffer.format(value.unsigned_abs()).as_bytes(), scale, out);
}

/// Appends digits, the last `scale` of them behind the point.
pub fn point(negative: bool, digits: &[u8], scale: i8, out: &mut Vec<u8>) {
    if negative {
        out.push(b'-');
    }
    if scale <= 0 {
        out.extend_from_slice(digits);
        if digits != b"0" {
            out.extend(std::iter::repeat_n(b'0', usize::from(scale.unsigned_abs())));
        }
        return;
    }
    let scale = usize::from(scale.unsigned_abs());
    if digits.len() > scale {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        out.extend_from_slice(whole);
        out.push(b'.');
        out.extend_from_slice(fraction);
    } else {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', scale - digits.len()));
        out.extend_from_slice(digits);
    }
}

/// Appends the day `days` after 1970-01-01 as `YYYY-MM-DD`, with a sign where the year is not of four digits.
pub fn date(days: i64, out: &mut Vec<u8>) {
    // H. Hinnant, "chrono-compatible low-level date algorithms", civil_from_days: days since a 1st of March at the
    // beginning of 400 years, which are always the same.
    let shifted = days + 719_468;
    let (era, of_era) = match u32::try_from(shifted) {
        Ok(shifted) => (i64::from(shifted / 146_097), shifted % 146_097),
        Err(_) => (shifted.div_euclid(146_097), shifted.rem_euclid(146_097) as u32),
    };
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * from_march + 2) / 5 + 1) as u8;
    let month = (if from_march < 10 { from_march + 3 } else { from_march - 9 }) as u8;
    let year = era * 400 + i64::from(year_of_era) + i64::from(month <= 2);
    match u16::try_from(year) {
        Ok(year @ 0..=9999) => {
            two((year / 100) as u8, out);
            two((year % 100) as u8, out);
        }
        _ => {
            out.push(if year < 0 { b'-' } else { b'+' });
            padded(year.unsigned_abs(), 4, out);
        }
    }
    out.push(b'-');
    two(month, out);
    out.push(b'-');
    two(day, out);
}

/// Appends `YYYY-MM-DDTHH:MM:SS`, a fraction of the unit's digits if it is not zero, and `Z` where there is a zone.
pub fn timestamp(value: i64, unit: TimeUnit, zoned: bool, out: &mut Vec<u8>) {
    let per_second = per_second(unit);
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    date(seconds.div_euclid(86_400), out);
    out.push(b'T');
    clock(seconds.rem_euclid(86_400) as u64, fraction as u64, per_second, out);
    if zoned {
        out.push(b'Z');
    }
}

/// Appends an instant with what clocks show and how far they are from UTC: `2024-01-01T11:00:00+01:00`. One whose local
/// time can't be counted is one of UTC.
pub fn local(value: i64, unit: TimeUnit, clocks: Clocks, out: &mut Vec<u8>) {
    let per_second = per_second(unit);
    let shown = clocks.offset_at(value.div_euclid(per_second)).and_then(|offset| {
        let local = value.checked_add(offset.checked_mul(per_second)?)?;
        Some((local, offset))
    });
    let Some((local, offset)) = shown else { return timestamp(value, unit, true, out) };
    timestamp(local, unit, false, out);
    let mut text = String::new();
    push_offset(offset, true, &mut text);
    out.extend_from_slice(text.as_bytes());
}

/// Appends `HH:MM:SS` and a fraction of the unit's digits if it is not zero. What is no time of day shows as such, with
/// a sign or more hours than there are.
pub fn time(value: i64, unit: TimeUnit, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let per_second = per_second(unit);
    let whole = per_second.unsigned_abs();
    clock(value.unsigned_abs() / whole, value.unsigned_abs() % whole, per_second, out);
}

/// Appends `HH:MM:SS` and a fraction if it is not zero.
fn clock(seconds: u64, fraction: u64, per_second: i64, out: &mut Vec<u8>) {
    match u8::try_from(seconds / 3600) {
        Ok(hours @ 0..100) => two(hours, out),
        _ => padded(seconds / 3600, 2, out),
    }
    out.push(b':');
    two((seconds / 60 % 60) as u8, out);
    out.push(b':');
    two((seconds % 60) as u8, out);
    if fraction != 0 {
        out.push(b'.');
        padded(fraction, per_second.ilog10() as usize, out);
    }
}

/// Appends `\x` and two lower-case hexadecimal digits a byte.
pub fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(br"\x");
    for byte in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::parse;

    fn text(print: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        print(&mut out);
        String::from_utf8(out).expect("printed text is ASCII")
    }

    #[test]
    fn dates_read_back() {
        for days in (-800_000..3_000_000).step_by(37).chain([i32::MIN, i32::MAX, -1, 0, 59, 60]) {
            let text = text(|out| date(i64::from(days), out));
            assert_eq!(parse::date(text.as_bytes()), Some(days), "{text}");
        }
        assert_eq!(text(|out| date(11_016, out)), "2000-02-29");
    }

    #[test]
    fn timestamps_read_back() {
        for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
            for value in [0, 1, -1, 999, 1_000_000_007, -62_135_596_800, i64::MAX, i64::MIN] {
                // A year beyond 12 digits is not read; only seconds reach that far.
                for zoned in [false, true] {
                    let text = text(|out| timestamp(value, unit, zoned, out));
                    assert_eq!(parse::timestamp(text.as_bytes(), unit, true), Some(value), "{text}");
                }
            }
        }
        assert_eq!(text(|out| timestamp(-1, TimeUnit::Millisecond, true, out)), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn decimals_read_back() {
        for (value, scale, printed) in [
            (1250, 2, "12.50"),
            (-1, 2, "-0.01"),
            (0, 2, "0.00"),
            (12, -2, "1200"),
            (0, -2, "0"),
            (7, 0, "7"),
        ] {
            let text = text(|out| decimal(value, scale, out));
            assert_eq!(text, printed);
            assert_eq!(parse::decimal(text.as_bytes(), 38, scale), Some(value));
        }
    }

    #[test]
    fn times_read_back_and_what_is_none_does_not() {
        let show = |value, unit| text(|out| time(value, unit, out));
        assert_eq!(show(0, TimeUnit::Second), "00:00:00");
        assert_eq!(show(86_399_999_999, TimeUnit::Microsecond), "23:59:59.999999");
        assert_eq!(show(3_600_000_000_001, TimeUnit::Nanosecond), "01:00:00.000000001");
        for (value, unit) in
            [(86_399, TimeUnit::Second), (1, TimeUnit::Millisecond), (7, TimeUnit::Nanosecond)]
        {
            assert_eq!(parse::time_of_day(show(value, unit).as_bytes(), unit), Some(value));
        }
        for value in [-1, i64::MIN, i64::MAX, 86_400_000_000] {
            assert_eq!(
                parse::time_of_day(show(value, TimeUnit::Microsecond).as_bytes(), TimeUnit::Microsecond),
                None
            );
        }
    }
}
