//! `regexp_replace(text, pattern, replacement)`, in whose replacement `\1` is what the first group matched, `\0` the whole
//! match and `\\` a backslash. A `$` is a `$`: to DataFusion it would begin the name of a group.

use std::sync::Arc;

use arrow_array::StringArray;
use arrow_array::cast::AsArray;
use arrow_cast::cast;
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue, exec_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::{of_general, type_of_general};

/// The function.
pub fn regexp_replace() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(RegexpReplace {
        general: datafusion_functions::regex::regexp_replace(),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RegexpReplace {
    general: Arc<ScalarUDF>,
}

/// A replacement as the `regex` crate writes it.
fn translated(replacement: &str) -> Result<String> {
    let mut out = String::with_capacity(replacement.len());
    let mut chars = replacement.chars();
    while let Some(c) = chars.next() {
        match c {
            '$' => out.push_str("$$"),
            '\\' => match chars.next() {
                Some(digit @ '0'..='9') => out.extend(['$', '{', digit, '}']),
                Some('\\') => {
                    // A digit behind it DataFusion would take for the number of a group.
                    if chars.clone().next().is_some_and(|c| c.is_ascii_digit()) {
                        return exec_err!(
                            "a backslash and a digit can't be a replacement of regexp_replace()"
                        );
                    }
                    out.push('\\');
                }
                _ => {
                    return exec_err!(
                        "'{replacement}' is no replacement of regexp_replace(): behind a backslash stands a digit or a \
                         backslash"
                    );
                }
            },
            c => out.push(c),
        }
    }
    Ok(out)
}

impl ScalarUDFImpl for RegexpReplace {
    of_general!();
    type_of_general!();

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(replacement) = args.args.get_mut(2) {
            let data_type = replacement.data_type();
            *replacement = match &*replacement {
                ColumnarValue::Scalar(value) => match value.try_as_str().flatten() {
                    Some(text) => {
                        let text = ScalarValue::Utf8(Some(translated(text)?));
                        ColumnarValue::Scalar(text.cast_to(&data_type)?)
                    }
                    None => replacement.clone(),
                },
                ColumnarValue::Array(texts) => {
                    let texts = cast(texts, &DataType::Utf8)?;
                    let each = texts.as_string::<i32>().iter().map(|text| text.map(translated).transpose());
                    ColumnarValue::Array(cast(&each.collect::<Result<StringArray>>()?, &data_type)?)
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
    fn a_dollar_is_one_and_a_backslash_names_a_group() {
        for (replacement, expected) in
            [("x", "x"), ("$0", "$$0"), (r"[\1]", "[${1}]"), (r"\10", "${1}0"), (r"a\\b", r"a\b"), ("", "")]
        {
            assert_eq!(translated(replacement).unwrap(), expected);
        }
        for replacement in [r"\", r"\x", r"\\1"] {
            assert!(translated(replacement).is_err(), "{replacement}");
        }
    }
}
