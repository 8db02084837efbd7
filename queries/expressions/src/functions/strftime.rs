//! `strftime(time, format)` with DuckDB's format specifiers, which are those of C and fractions of a second: `%g` has three
//! digits, `%f` six and `%n` nine. `to_char` has those of Rust's `chrono`, by which both are computed.

use std::sync::Arc;

use arrow_array::StringArray;
use arrow_array::cast::AsArray;
use arrow_cast::cast;
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue, exec_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature};

/// The function.
pub fn strftime() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Strftime { general: datafusion_functions::datetime::to_char() }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Strftime {
    general: Arc<ScalarUDF>,
}

/// A format in the specifiers of `chrono`.
fn translated(format: &str, zoned: bool) -> Result<String> {
    let mut out = String::with_capacity(format.len());
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let specifier = chars.next();
        match specifier {
            Some('f') => out.push_str("%6f"),
            Some('g') => out.push_str("%3f"),
            Some('n') => out.push_str("%9f"),
            Some('x') => out.push_str("%Y-%m-%d"),
            Some('X') => out.push_str("%H:%M:%S"),
            Some('c') => out.push_str("%Y-%m-%d %H:%M:%S"),
            Some('z') => out.push_str("+00"),
            Some('Z') => out.push_str(if zoned { "UTC" } else { "" }),
            Some('-') => match chars.next() {
                Some(c @ ('d' | 'm' | 'y' | 'H' | 'I' | 'M' | 'S' | 'j')) => out.extend(['%', '-', c]),
                other => return refused('-', other),
            },
            Some(
                c @ ('a' | 'A' | 'b' | 'B' | 'd' | 'G' | 'H' | 'I' | 'j' | 'm' | 'M' | 'p' | 'S' | 'u' | 'U'
                | 'V' | 'w' | 'W' | 'y' | 'Y' | '%'),
            ) => out.extend(['%', c]),
            other => return refused('%', other),
        }
    }
    Ok(out)
}

fn refused(before: char, specifier: Option<char>) -> Result<String> {
    let shown = specifier.map(String::from).unwrap_or_default();
    let percent = if before == '-' { "%-" } else { "%" };
    exec_err!("strftime() has no specifier '{percent}{shown}'")
}

impl ScalarUDFImpl for Strftime {
    fn name(&self) -> &str {
        "strftime"
    }

    fn signature(&self) -> &Signature {
        self.general.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.general.return_type(types)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let zoned =
            matches!(args.args.first().map(ColumnarValue::data_type), Some(DataType::Timestamp(_, Some(_))));
        if let Some(format) = args.args.get_mut(1) {
            *format = match &*format {
                ColumnarValue::Scalar(value) => match value.try_as_str().flatten() {
                    Some(text) => ColumnarValue::Scalar(ScalarValue::Utf8(Some(translated(text, zoned)?))),
                    None => ColumnarValue::Scalar(ScalarValue::Utf8(None)),
                },
                ColumnarValue::Array(formats) => {
                    let formats = cast(formats, &DataType::Utf8)?;
                    let each = formats.as_string::<i32>().iter();
                    let each = each.map(|format| format.map(|format| translated(format, zoned)).transpose());
                    ColumnarValue::Array(Arc::new(each.collect::<Result<StringArray>>()?))
                }
            };
        }
        self.general.invoke_with_args(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_have_as_many_digits_as_their_specifier_says() {
        assert_eq!(translated("%H:%M %f %g %n %%f", false).unwrap(), "%H:%M %6f %3f %9f %%f");
        assert_eq!(translated("%-d.%-m. %Z%z", true).unwrap(), "%-d.%-m. UTC+00");
        assert!(translated("%e", false).is_err());
        assert!(translated("100%", false).is_err());
    }
}
