//! `format(text, …)`, whose fields are in braces (`{}`, `{0}`, `{:>8.2f}`), and `printf(text, …)`, whose fields begin with
//! a percent sign (`%8.2f`).
//!
//! ```text
//! format field = "{" number? (":" (fill? align)? sign? "#"? "0"? width? ("." digits)? separator? kind?)? "}"
//! printf field = "%" ("-" | "+" | " " | "#" | "0")* width? ("." digits)? separator? kind
//! align        = "<" | ">" | "^" | "="          separator = "," | "'" | "_" | "t" character
//! kind         = integers: d i u x X o b B c    floats: e E f F g G    text: s
//! ```
//!
//! The separator stands between groups of three digits before the point.

use arrow_array::ArrayRef;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type, UInt64Type};
use arrow_schema::DataType;
use datafusion_common::{Result, exec_datafusion_err, exec_err};

use super::arguments::{Booleans, Call, Numbers, Texts};
use super::{Own, ResultType, Takes};

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "format",
        takes: &[&[Takes::OnlyText]],
        more: Some(Takes::Printed),
        gives: ResultType::Text,
        total: false,
        compute: |call| print(call, braces),
    },
    Own {
        name: "printf",
        takes: &[&[Takes::OnlyText]],
        more: Some(Takes::Printed),
        gives: ResultType::Text,
        total: false,
        compute: |call| print(call, percents),
    },
];

/// The widest that a field may be.
const WIDEST: usize = 1_000_000;
/// The most digits behind a point.
const MOST_DIGITS: usize = 1_000;

/// A value that is printed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value<'a> {
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Text(&'a str),
}

/// An argument.
enum Argument {
    Integers(Numbers<Int64Type>),
    Large(Numbers<UInt64Type>),
    Huge(Numbers<Decimal128Type>),
    Floats(Numbers<Float64Type>),
    Booleans(Booleans),
    Texts(Texts),
}

impl Argument {
    fn of(call: &Call, at: usize) -> Result<Argument> {
        Ok(match call.type_of(at) {
            DataType::Int64 => Argument::Integers(call.integers(at)?),
            DataType::UInt64 => Argument::Large(call.numbers(at)?),
            DataType::Decimal128(..) => Argument::Huge(call.large_integers(at)?),
            DataType::Float64 => Argument::Floats(call.numbers(at)?),
            DataType::Boolean => Argument::Booleans(call.booleans(at)?),
            _ => Argument::Texts(call.text(at)?),
        })
    }

    fn get(&self, row: usize) -> Option<Value<'_>> {
        Some(match self {
            Argument::Integers(values) => Value::Integer(values.get(row)?.into()),
            Argument::Large(values) => Value::Integer(values.get(row)?.into()),
            Argument::Huge(values) => Value::Integer(values.get(row)?),
            Argument::Floats(values) => Value::Float(values.get(row)?),
            Argument::Booleans(values) => Value::Boolean(values.get(row)?),
            Argument::Texts(values) => Value::Text(values.get(row)?),
        })
    }
}

/// Prints a row by its format; where any argument is NULL the result is NULL.
fn print(call: &Call, by: fn(&str, &[Value<'_>], &mut String) -> Result<()>) -> Result<ArrayRef> {
    let formats = call.text(0)?;
    let arguments = (1..call.given()).map(|at| Argument::of(call, at)).collect::<Result<Vec<_>>>()?;
    call.give_text(|row, out| {
        let Some(format) = formats.get(row) else { return Ok(false) };
        let values: Option<Vec<Value<'_>>> = arguments.iter().map(|argument| argument.get(row)).collect();
        let Some(values) = values else { return Ok(false) };
        by(format, &values, out)?;
        Ok(true)
    })
}

/// How a value is printed.
#[derive(Debug, Clone, Default)]
struct Field {
    fill: Option<char>,
    align: Option<char>,
    /// What stands before a number that is not negative: `+` or a space.
    sign: Option<char>,
    alternate: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    separator: Option<char>,
    kind: Option<char>,
}

/// The characters of a format that are left.
struct Rest<'a>(std::iter::Peekable<std::str::Chars<'a>>);

impl Rest<'_> {
    fn take(&mut self, wanted: impl Fn(char) -> bool) -> Option<char> {
        self.0.next_if(|c| wanted(*c))
    }

    /// A number of at most `most`, if one stands there.
    fn number(&mut self, most: usize) -> Result<Option<usize>> {
        let mut number = None;
        while let Some(digit) = self.0.peek().and_then(|c| c.to_digit(10)) {
            self.0.next();
            let next = number.unwrap_or(0) * 10 + digit as usize;
            if next > most {
                return exec_err!("a number in a format is at most {most}");
            }
            number = Some(next);
        }
        Ok(number)
    }

    /// What may stand between groups of digits.
    fn separator(&mut self) -> Option<char> {
        match self.take(|c| matches!(c, ',' | '\'' | '_' | 't')) {
            Some('t') => self.0.next(),
            other => other,
        }
    }
}

/// Which arguments the next fields print.
#[derive(Default)]
struct Places {
    next: usize,
    by_number: Option<bool>,
}

impl Places {
    fn get<'a>(&mut self, number: Option<usize>, values: &[Value<'a>]) -> Result<Value<'a>> {
        if self.by_number.is_some_and(|by_number| by_number != number.is_some()) {
            return exec_err!("the fields of a format have numbers, or none of them has");
        }
        self.by_number = Some(number.is_some());
        let place = number.unwrap_or(self.next);
        self.next += 1;
        let there = values.len();
        values.get(place).copied().ok_or_else(|| {
            exec_datafusion_err!("the format has a field for argument {}, and there are {there}", place + 1)
        })
    }
}

/// Text with fields in braces.
fn braces(format: &str, values: &[Value<'_>], out: &mut String) -> Result<()> {
    let mut rest = Rest(format.chars().peekable());
    let mut places = Places::default();
    while let Some(c) = rest.0.next() {
        match c {
            '{' if rest.take(|c| c == '{').is_some() => out.push('{'),
            '}' if rest.take(|c| c == '}').is_some() => out.push('}'),
            '}' => {
                return exec_err!("a brace of '{format}' is closed that is not open; write }}}} for a brace");
            }
            '{' => {
                let number = rest.number(MOST_DIGITS)?;
                let value = places.get(number, values)?;
                let field = match rest.take(|c| c == ':') {
                    Some(_) => field(&mut rest, &mut places, values)?,
                    None => Field::default(),
                };
                if rest.take(|c| c == '}').is_none() {
                    return exec_err!("'{format}' has a field that is no field, or is not closed");
                }
                print_one(&field, value, out)?;
            }
            c => out.push(c),
        }
    }
    Ok(())
}

/// What stands behind the colon of a field.
fn field(rest: &mut Rest<'_>, places: &mut Places, values: &[Value<'_>]) -> Result<Field> {
    let mut field = Field::default();
    let is_align = |c: char| matches!(c, '<' | '>' | '^' | '=');
    let mut ahead = rest.0.clone();
    let (first, second) = (ahead.next(), ahead.next());
    if second.is_some_and(is_align) && first.is_some_and(|c| c != '{' && c != '}') {
        (field.fill, field.align) = (rest.0.next(), rest.0.next());
    } else {
        field.align = rest.take(is_align);
    }
    field.sign = rest.take(|c| matches!(c, '+' | '-' | ' ')).filter(|c| *c != '-');
    field.alternate = rest.take(|c| c == '#').is_some();
    field.zeros = rest.take(|c| c == '0').is_some();
    field.width = match rest.take(|c| c == '{') {
        Some(_) => {
            let number = rest.number(MOST_DIGITS)?;
            let width = places.get(number, values)?;
            let (Value::Integer(width), Some(_)) = (width, rest.take(|c| c == '}')) else {
                return exec_err!("the width of a field is an integer");
            };
            match usize::try_from(width) {
                Ok(width) if width <= WIDEST => width,
                _ => return exec_err!("the width of a field is between 0 and {WIDEST}"),
            }
        }
        None => rest.number(WIDEST)?.unwrap_or(0),
    };
    if rest.take(|c| c == '.').is_some() {
        field.precision = Some(rest.number(MOST_DIGITS)?.unwrap_or(0));
    }
    field.separator = rest.separator();
    // DuckDB has the precision behind the separator.
    if field.separator.is_some() && rest.take(|c| c == '.').is_some() {
        field.precision = Some(rest.number(MOST_DIGITS)?.unwrap_or(0));
    }
    field.kind = rest.take(|c| c.is_ascii_alphabetic());
    Ok(field)
}

/// Text with fields that begin with a percent sign.
fn percents(format: &str, values: &[Value<'_>], out: &mut String) -> Result<()> {
    let mut rest = Rest(format.chars().peekable());
    let mut places = Places::default();
    while let Some(c) = rest.0.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if rest.take(|c| c == '%').is_some() {
            out.push('%');
            continue;
        }
        let mut field = Field { align: Some('>'), ..Field::default() };
        while let Some(flag) = rest.take(|c| matches!(c, '-' | '+' | ' ' | '#' | '0')) {
            match flag {
                '-' => field.align = Some('<'),
                '#' => field.alternate = true,
                '0' => field.zeros = true,
                sign => field.sign = Some(sign),
            }
        }
        field.zeros &= field.align == Some('>');
        field.width = rest.number(WIDEST)?.unwrap_or(0);
        field.separator = rest.separator();
        if rest.take(|c| c == '.').is_some() {
            field.precision = Some(rest.number(MOST_DIGITS)?.unwrap_or(0));
        }
        field.kind = rest.take(|c| c.is_ascii_alphabetic());
        if field.kind.is_none() {
            return exec_err!(
                "a field of '{format}' has no kind, such as %d, %s or %f; write %% for a percent sign"
            );
        }
        print_one(&field, places.get(None, values)?, out)?;
    }
    Ok(())
}

/// Prints a value as a field says.
fn print_one(field: &Field, value: Value<'_>, out: &mut String) -> Result<()> {
    let wrong = |what: &str| match field.kind {
        Some(kind) => exec_err!("a field of the kind '{kind}' prints no {what}"),
        None => exec_err!("a field of this form prints no {what}"),
    };
    match value {
        Value::Text(text) => match field.kind {
            None | Some('s') => padded(field, "", text_of(field, text), false, out),
            _ => return wrong("text"),
        },
        Value::Boolean(value) => match field.kind {
            None | Some('s') => padded(field, "", if value { "true" } else { "false" }, false, out),
            _ => print_one(field, Value::Integer(value.into()), out)?,
        },
        Value::Integer(number) => {
            let digits = match field.kind {
                None | Some('d' | 'i' | 'u') => grouped(&number.unsigned_abs().to_string(), field.separator),
                Some('s') => {
                    padded(field, "", text_of(field, &number.to_string()), false, out);
                    return Ok(());
                }
                Some('x') => format!("{:x}", number.unsigned_abs()),
                Some('X') => format!("{:X}", number.unsigned_abs()),
                Some('o') => format!("{:o}", number.unsigned_abs()),
                Some('b' | 'B') => format!("{:b}", number.unsigned_abs()),
                Some('c') => {
                    let code = u32::try_from(number).ok().and_then(char::from_u32);
                    let Some(character) = code else {
                        return exec_err!("{number} is no code of a character");
                    };
                    padded(field, "", &character.to_string(), false, out);
                    return Ok(());
                }
                // Kinds of floats.
                Some('e' | 'E' | 'f' | 'F' | 'g' | 'G') => {
                    return print_one(field, Value::Float(number as f64), out);
                }
                _ => return wrong("integer"),
            };
            let mut before = sign(field, number < 0).to_string();
            if field.alternate {
                before.push_str(match field.kind {
                    Some('x') => "0x",
                    Some('X') => "0X",
                    Some('b') => "0b",
                    Some('B') => "0B",
                    Some('o') => "0",
                    _ => "",
                });
            }
            padded(field, &before, &digits, true, out);
        }
        Value::Float(number) => {
            if field.kind == Some('s') {
                let text = float(&Field { kind: None, precision: None, ..field.clone() }, number)?;
                padded(field, sign(field, number.is_sign_negative()), &text, false, out);
                return Ok(());
            }
            let digits = match float(field, number) {
                Ok(digits) => digits,
                Err(_) => return wrong("float"),
            };
            // Zeros before `inf` would make it no number.
            let field = Field { zeros: field.zeros && number.is_finite(), ..field.clone() };
            padded(&field, sign(&field, number.is_sign_negative() && !number.is_nan()), &digits, true, out);
        }
    }
    Ok(())
}

/// As many characters of a text as the precision says.
fn text_of<'t>(field: &Field, text: &'t str) -> &'t str {
    let end = field.precision.and_then(|most| text.char_indices().nth(most));
    end.map_or(text, |(end, _)| &text[..end])
}

fn sign(field: &Field, negative: bool) -> &'static str {
    match field.sign {
        _ if negative => "-",
        Some('+') => "+",
        Some(_) => " ",
        None => "",
    }
}

/// Digits in groups of three, of those before a point.
fn grouped(digits: &str, separator: Option<char>) -> String {
    let Some(separator) = separator else { return digits.to_string() };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits[..end].char_indices() {
        if place > 0 && (end - place) % 3 == 0 {
            out.push(separator);
        }
        out.push(digit);
    }
    out.push_str(&digits[end..]);
    out
}

/// A float without its sign.
fn float(field: &Field, number: f64) -> Result<String> {
    let size = number.abs();
    let upper = field.kind.is_some_and(|kind| kind.is_ascii_uppercase());
    let digits = if size.is_nan() {
        "nan".to_string()
    } else if size.is_infinite() {
        "inf".to_string()
    } else {
        let precision = field.precision.unwrap_or(6);
        match field.kind {
            None if field.precision.is_none() => shortest(size),
            None => general(size, precision, true),
            Some('f' | 'F') => format!("{size:.precision$}"),
            Some('e' | 'E') => exponent(&format!("{size:.precision$e}")),
            Some('g' | 'G') => general(size, precision, field.alternate),
            Some(_) => return exec_err!("no kind of floats"),
        }
    };
    let digits = grouped(&digits, field.separator);
    Ok(if upper { digits.to_ascii_uppercase() } else { digits })
}

/// With a sign and two digits at least in the exponent.
fn exponent(text: &str) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text.to_string() };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

/// The fewest digits that give the same float back, with a point or an exponent.
fn shortest(size: f64) -> String {
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        return exponent(&format!("{size:e}"));
    }
    let text = format!("{size}");
    if text.contains('.') { text } else { text + ".0" }
}

/// So many digits in all. Zeros at the end are left out, unless they are kept. Then those of a number below 1 are left
/// out all the same, as DuckDB does, and a whole number has a point.
fn general(size: f64, precision: usize, keeps: bool) -> String {
    let precision = precision.max(1);
    let scientific = format!("{size:.*e}", precision - 1);
    let power: i64 = scientific.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if power < -4 || power >= precision as i64 {
        let (digits, _) = scientific.split_once('e').unwrap_or((&scientific, ""));
        let digits = if keeps { digits.to_string() } else { trimmed(digits) };
        return exponent(&format!("{digits}e{power}"));
    }
    let behind = (precision as i64 - 1 - power).max(0) as usize;
    let text = format!("{size:.behind$}");
    match keeps && (size >= 1.0 || size == 0.0) {
        true if text.contains('.') => text,
        true => text + ".0",
        false => trimmed(&text),
    }
}

/// A value with what fills it up to the width of its field.
fn padded(field: &Field, before: &str, text: &str, is_number: bool, out: &mut String) {
    let missing = field.width.saturating_sub(before.chars().count() + text.chars().count());
    let align = field.align.unwrap_or(if is_number { '>' } else { '<' });
    let zeros = field.zeros
        && is_number
        && (field.align.is_none() || field.align == Some('>') && field.fill.is_none());
    let fill = |count: usize, with: char, out: &mut String| (0..count).for_each(|_| out.push(with));
    if zeros {
        out.push_str(before);
        fill(missing, '0', out);
        out.push_str(text);
        return;
    }
    let with = field.fill.unwrap_or(' ');
    let left = match align {
        '<' => 0,
        '^' => missing / 2,
        _ => missing,
    };
    if align == '=' {
        out.push_str(before);
        fill(missing, with, out);
        out.push_str(text);
        return;
    }
    fill(left, with, out);
    out.push_str(before);
    out.push_str(text);
    fill(missing - left, with, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(
        by: fn(&str, &[Value<'_>], &mut String) -> Result<()>,
        format: &str,
        values: &[Value<'_>],
    ) -> Result<String> {
        let mut out = String::new();
        by(format, values, &mut out)?;
        Ok(out)
    }

    #[test]
    fn fields_are_printed_as_duckdb_does() {
        use Value::{Boolean, Float, Integer, Text};
        for (format, value, expected) in [
            ("{}", Float(1e15), "1000000000000000.0"),
            ("{}", Float(1e16), "1e+16"),
            ("{}", Float(1e-5), "1e-05"),
            ("{:.3}", Float(2.0), "2.00"),
            ("{:.3}", Float(100.0), "100.0"),
            ("{:.3}", Float(0.5), "0.5"),
            ("{:.3}", Float(1.5e-5), "1.50e-05"),
            ("{:.3}", Float(1.23456), "1.23"),
            ("{:,.2f}", Float(1234567.891), "1,234,567.89"),
            ("{:08.3f}", Float(-1.23456), "-001.235"),
            ("{:t_}", Integer(1234567), "1_234_567"),
            ("{:,}", Integer(-1234567), "-1,234,567"),
            ("{:#x}", Integer(255), "0xff"),
            ("{:=8}|", Integer(5), "       5|"),
            ("{:^5}|", Text("é"), "  é  |"),
            ("{:.3}", Text("abcdef"), "abc"),
            ("{:<6}|", Boolean(true), "true  |"),
            ("{:g}", Float(1e20), "1e+20"),
            ("{{{}}}", Integer(1), "{1}"),
        ] {
            assert_eq!(printed(braces, format, &[value]).unwrap(), expected, "{format}");
        }
        for (format, value, expected) in [
            ("%5d|", Integer(7), "    7|"),
            ("%-5d|", Integer(7), "7    |"),
            ("%05d", Integer(-7), "-0007"),
            ("%,d", Integer(1234567), "1,234,567"),
            ("%+.1e", Float(12345.678), "+1.2e+04"),
            ("%.2s%%", Text("abc"), "ab%"),
            ("%c", Integer(65), "A"),
        ] {
            assert_eq!(printed(percents, format, &[value]).unwrap(), expected, "{format}");
        }
        for (format, value) in [
            ("{", Integer(1)),
            ("}", Integer(1)),
            ("{:d}", Text("a")),
            ("{} {}", Integer(1)),
            ("{} {0}", Integer(1)),
        ] {
            assert!(printed(braces, format, &[value]).is_err(), "{format}");
        }
        assert!(printed(percents, "%", &[]).is_err());
        assert!(printed(percents, "%d", &[Text("a")]).is_err());
    }
}
