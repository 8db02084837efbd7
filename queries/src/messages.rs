//! What DataFusion's functions and Arrow's kernels say of values, in users' words.

use arrow_schema::DataType;
use schema::text::types::sql_name;

/// The sentences that a user meets most, in plain words and with what would help.
pub fn plain(text: &str) -> String {
    let text = without_layers(text);
    let text = told(text).unwrap_or_else(|| sql_types(text));
    arithmetic(&text)
}

/// What DataFusion and Arrow put before their messages: the part of them that met the error.
fn without_layers(mut text: &str) -> &str {
    const LAYERS: [&str; 11] = [
        "Internal error: ",
        "failed to call 'regex_match_dyn_scalar' ",
        "Error during planning: ",
        "Execution error: ",
        "Arrow error: ",
        "External error: ",
        "Invalid argument error: ",
        "Compute error: ",
        "Cast error: ",
        "Parser error: ",
        "This feature is not implemented: ",
    ];
    // DataFusion takes a pattern that is wrong for an error of its own.
    text = text.split("\nThis issue was likely caused by a bug").next().unwrap_or(text);
    while let Some(rest) = LAYERS.iter().find_map(|layer| text.strip_prefix(layer)) {
        text = rest;
    }
    text
}

/// Sentences about values.
fn told(text: &str) -> Option<String> {
    let no_cast = || text.strip_prefix("Cannot cast string '").or(text.strip_prefix("Cannot cast value '"));
    if let Some((value, kind)) = no_cast().and_then(|rest| rest.rsplit_once("' to value of ")) {
        let kind = kind.trim_end_matches(" type");
        return Some(format!(
            "cannot cast '{value}' to {}\n  help: TRY_CAST gives NULL instead",
            sql_types(kind)
        ));
    }
    if let Some((value, kind)) =
        text.strip_prefix("Can't cast value ").and_then(|rest| rest.rsplit_once(" to type "))
    {
        return Some(format!(
            "cannot cast {value} to {}: it is out of range\n  help: TRY_CAST gives NULL instead",
            sql_types(kind)
        ));
    }
    for (edge, most) in
        [(" is too large to store in a Decimal", "most"), (" is too small to store in a Decimal", "least")]
    {
        let Some((value, rest)) = text.split_once(edge) else { continue };
        let (_, rest) = rest.split_once(" of precision ")?;
        let (digits, bound) = rest.split_once(". M")?;
        let bound = bound.split_once(" is ")?.1;
        return Some(format!(
            "{value} does not fit a DECIMAL of {digits} digits, in which the {most} is {bound}"
        ));
    }
    if let Some((what, _)) = text.split_once(" overflow on ")
        && let Some(kind) = what.strip_suffix("Array")
    {
        let call = &text[what.len() + " overflow on ".len()..];
        return Some(format!(
            "overflow: {call} does not fit {}\n  help: cast to a wider type",
            sql_types(kind)
        ));
    }
    text.starts_with("Granularity of `date_trunc` must be")
        .then(|| "the unit of date_trunc() must be a constant text, such as 'month'".into())
}

/// Arrow's names of types as those of SQL, and literals without their types (`Int64(5)`). What stands in single quotes
/// is the user's and stays.
fn sql_types(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            c if c.is_alphanumeric() || c == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                let (word, behind) = rest.split_at(end);
                let arguments = parenthesised(behind);
                if let Some(name) = type_name(&rest[..end + arguments]) {
                    out.push_str(&name);
                    rest = &behind[arguments..];
                    continue;
                }
                if let Some(name) = type_name(word) {
                    match arguments {
                        0 => out.push_str(&name),
                        _ => out.push_str(&behind[1..arguments - 1]),
                    }
                    rest = &behind[arguments..];
                    continue;
                }
                end
            }
            c => c.len_utf8(),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}

/// The bytes of the parentheses that a text begins with, or 0.
fn parenthesised(text: &str) -> usize {
    if !text.starts_with('(') {
        return 0;
    }
    let mut depth = 0usize;
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    0
}

fn type_name(text: &str) -> Option<String> {
    // Words of users and of sentences are no types: only the spellings of Arrow begin so and have no space.
    match text {
        "String" => Some("VARCHAR".into()),
        "Decimal" | "Duration" | "Interval" | "Timestamp" => Some(text.to_uppercase()),
        _ if text.starts_with(|c: char| c.is_ascii_uppercase()) => sql_name(&text.parse::<DataType>().ok()?),
        _ => None,
    }
}

/// The kernels' messages on arithmetic, in words for users.
fn arithmetic(text: &str) -> String {
    let Some(overflow) = text.strip_prefix("Arithmetic overflow: ") else {
        return text.replace("Divide by zero error", "division by zero");
    };
    let what = overflow.trim_start_matches("Overflow happened on: ");
    format!("overflow: {what}\n  help: cast to a wider type, such as DECIMAL(38, 0) or DOUBLE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_others_become_plain() {
        assert_eq!(
            plain("Cast error: Cannot cast string 'it's' to value of Int64 type"),
            "cannot cast 'it's' to BIGINT\n  help: TRY_CAST gives NULL instead"
        );
        for (text, said) in [
            (
                "Invalid argument error: 123.45 is too large to store in a Decimal128 of precision 4. Max is 99.99",
                "123.45 does not fit a DECIMAL of 4 digits, in which the most is 99.99",
            ),
            (
                "Cast error: Can't cast value 300 to type Int8",
                "cannot cast 300 to TINYINT: it is out of range\n  help: TRY_CAST gives NULL instead",
            ),
            (
                "Int64Array overflow on abs(-9223372036854775808)",
                "overflow: abs(-9223372036854775808) does not fit BIGINT\n  help: cast to a wider type",
            ),
            (
                "Execution error: Granularity of `date_trunc` must be non-null scalar Utf8",
                "the unit of date_trunc() must be a constant text, such as 'month'",
            ),
            (
                "Internal error: failed to call 'regex_match_dyn_scalar' Compute error: a.\nThis issue was likely caused \
                 by a bug in DataFusion's code.",
                "a.",
            ),
            ("Arrow error: Divide by zero error", "division by zero"),
            (
                "Arithmetic overflow: Overflow happened on: 1 + 2",
                "overflow: 1 + 2\n  help: cast to a wider type, such as DECIMAL(38, 0) or DOUBLE",
            ),
        ] {
            assert_eq!(plain(text), said);
        }
        assert_eq!(plain("anything else"), "anything else");
    }

    #[test]
    fn types_have_their_names_in_sql() {
        assert_eq!(sql_types("sum(Utf8View), 'Int64' é Int64(5) Date32 List(Int64)"), {
            "sum(VARCHAR), 'Int64' é 5 DATE BIGINT[]"
        });
        assert_eq!(sql_types("Timestamp(Nanosecond, None) (open"), "TIMESTAMP(9) (open");
        assert_eq!(sql_types("it's Int64"), "it's Int64");
    }
}
