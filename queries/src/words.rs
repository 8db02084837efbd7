//! The sentences of the planner and of Arrow's kernels, in users' words.

use arrow_schema::DataType;
use schema::text::types::sql_name;
use strsim::osa_distance;

/// Of the planner's many lines about a call that fits no function, those that a user can use.
pub(crate) fn no_match(text: &str) -> String {
    if let Some(rest) = text.strip_prefix("Invalid function '") {
        let (name, near) = rest.split_once("'.").unwrap_or((rest, ""));
        let near = near.trim().trim_start_matches("Did you mean ").trim_end_matches('?');
        return format!("there is no function '{name}'\n  help: the nearest name is {near}");
    }
    let text = text.strip_prefix("[return_type] ").unwrap_or(text);
    let Some((_, call)) = text.split_once("No function matches the given name and argument types '") else {
        return text.to_string();
    };
    let Some((call, candidates)) = call.split_once('\'') else { return text.to_string() };
    // A function that checks its arguments itself tells the planner nothing of them.
    let tells = |candidate: &&str| !candidate.is_empty() && !candidate.contains("(UserDefined)");
    let candidates: Vec<&str> = candidates.lines().skip(2).map(str::trim).filter(tells).collect();
    let there_are = match candidates[..] {
        [] => String::new(),
        _ => format!("there are {}; ", candidates.join(", ")),
    };
    let numbers = |text: String| {
        text.replace("(NullAry())", "()")
            .replace("Numeric(1)", "number")
            .replace("Numeric(2)", "number, number")
            .replace("Comparable(2)", "value, value")
    };
    numbers(format!("there is no function {call}\n  help: {there_are}a CAST may help"))
}

/// The sentences of the planner and of Arrow that a user meets most, in plain words and with what would help.
pub fn plain(text: &str) -> String {
    let quoted = |text: &str, before: &str, after: &str| {
        let (_, rest) = text.split_once(before)?;
        Some(rest.split_once(after)?.0.to_string())
    };
    let text = without_layers(text);
    let no_cast = || text.strip_prefix("Cannot cast string '").or(text.strip_prefix("Cannot cast value '"));
    if let Some((value, kind)) = no_cast().and_then(|rest| rest.rsplit_once("' to value of ")) {
        let kind = kind.trim_end_matches(" type");
        return format!("cannot cast '{value}' to {}\n  help: TRY_CAST gives NULL instead", sql_types(kind));
    }
    if text.starts_with("Column in ")
        && text.contains(" must be in GROUP BY")
        && let Some(column) = quoted(text, "column \"", "\" must appear")
    {
        return format!(
            "column '{column}' is neither in GROUP BY nor in an aggregate\n  \
             help: add it to GROUP BY, or take one of its values with any_value()"
        );
    }
    if let Some(name) = quoted(text, "Invalid function '", "'") {
        let near = quoted(text, "Did you mean '", "'")
            .filter(|near| osa_distance(&name, near) <= 1.max(name.len() / 3));
        let help = near.map(|near| format!("\n  help: did you mean {near}?")).unwrap_or_default();
        return format!("there is no function '{name}'{help}");
    }
    if let Some(predicate) = quoted(text, "Cannot create filter with non-boolean predicate '", "' returning")
    {
        return format!(
            "a condition must be true or false, and {predicate} is no BOOLEAN\n  \
             help: compare it with something"
        );
    }
    if let Some(sentence) = told(text) {
        return sentence;
    }
    let text = sql_types(text.split("\nThis issue was likely caused by a bug").next().unwrap_or(text));
    for (before, after) in [
        ("Cannot coerce arithmetic expression ", " to valid types"),
        ("Cannot infer common string type for string concat operation ", ""),
        ("Cannot infer common argument type for comparison operation ", ""),
        ("Cannot infer common argument type for logical boolean operation ", ""),
    ] {
        if let Some(operation) = text.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)) {
            return format!("there is no operation {operation}\n  help: a CAST of one side may help");
        }
    }
    text
}

/// What the planner and Arrow put before their messages: the part of them that met the error.
fn without_layers(mut text: &str) -> &str {
    const LAYERS: [&str; 13] = [
        "failed to call 'regex_match_dyn_scalar' ",
        "Error during planning: ",
        "Execution error: ",
        "Arrow error: ",
        "Internal error: ",
        "Schema error: ",
        "External error: ",
        "Invalid argument error: ",
        "Compute error: ",
        "Cast error: ",
        "Parser error: ",
        "This feature is not implemented: ",
        "type_coercion\ncaused by\n",
    ];
    loop {
        let layer = LAYERS.iter().find_map(|layer| text.strip_prefix(layer));
        let rule = || text.strip_prefix("Optimizer rule '")?.split_once("failed\ncaused by\n");
        match layer.or_else(|| Some(rule()?.1)) {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

/// Sentences that name a part of the planner, or a type of Arrow's behind an apostrophe.
fn told(text: &str) -> Option<String> {
    let between = |before: &str, after: &str| Some(text.split_once(before)?.1.split_once(after)?.0);
    let cast = "a CAST of one of them may help";
    if let Some(operation) = between("Cannot get result type for temporal operation ", ": ") {
        return Some(format!(
            "there is no operation {}\n  help: a CAST of one side may help",
            sql_types(operation)
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
    if let Some(kind) = text.strip_prefix("Unary operator 'NOT' requires a boolean expression, got ") {
        return Some(format!(
            "NOT takes a BOOLEAN, and this is {}\n  help: compare it with something",
            sql_types(kind)
        ));
    }
    if text.starts_with("Unary operator '-' only supports") {
        let sentence = "- takes a signed number, an interval or a timestamp";
        return Some(format!("{sentence}\n  help: CAST it to BIGINT"));
    }
    if let Some(name) = between("Function '", "' user-defined coercion failed") {
        return Some(format!("{name}() has no type in common for its arguments\n  help: {cast}"));
    }
    if let Some((one, other)) =
        between("Incompatible inputs for Union: Previous inputs were of type ", " on column ")
            .and_then(|types| types.split_once(", but got incompatible type "))
    {
        let (one, other) = (sql_types(one), sql_types(other));
        return Some(format!(
            "a column of a UNION is {one} in one query and {other} in another\n  help: {cast}"
        ));
    }
    for (one, other) in [("case (", ") and when ("), ("then (", ") and else (")] {
        let Some(rest) = text.strip_prefix("Failed to coerce ").and_then(|rest| rest.strip_prefix(one))
        else {
            continue;
        };
        let (one, other) = rest.split_once(") to common types")?.0.split_once(other)?;
        let (one, other) = (sql_types(one), sql_types(other));
        return Some(format!("{one} and {other} in CASE have no type in common\n  help: {cast}"));
    }
    if let Some(types) = between("There isn't a common type to coerce ", " expression")
        && let Some((types, operator)) = types.rsplit_once(" in ")
    {
        let (one, other) = types.split_once(" and ")?;
        let (one, other) = (sql_types(one), sql_types(other));
        return Some(format!(
            "there is no operation {one} {operator} {other}\n  help: a CAST of one side may help"
        ));
    }
    if let Some(what) = between("HAVING clause references: ", " must appear in the GROUP BY clause") {
        let what = sql_types(what);
        return Some(format!("{what} in HAVING is neither in GROUP BY nor in an aggregate"));
    }
    if let Some(name) =
        between("Projections require unique expression names but the expression \"", "\" at position")
    {
        return Some(format!(
            "two columns of a SELECT are {}\n  help: give one of them a name of its own with AS",
            sql_types(name)
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
    if let Some(argument) = between("Argument ", " to grouping function is not in grouping columns") {
        let argument = sql_types(without_alias(argument));
        return Some(format!("grouping() takes keys of GROUP BY, and {argument} is none"));
    }
    let sentence = match text {
        _ if text.starts_with("Physical plan does not support logical expression Wildcard") => {
            "* stands for all columns in SELECT and in count(*) alone"
        }
        _ if text.starts_with("Substring without for/from is not valid") => {
            "substring() takes a place to start at: substr(text, start, length)"
        }
        _ if text.starts_with("Granularity of `date_trunc` must be") => {
            "the unit of date_trunc() must be a constant text, such as 'month'"
        }
        _ if text.ends_with("should satisfy `0 < precision <= 76`, and `scale <= precision`.") => {
            "a DECIMAL has 1 to 38 digits, and not more than that behind the point"
        }
        _ if text.starts_with("Recursive CTE") => "recursive CTEs (WITH RECURSIVE)",
        _ => return None,
    };
    Some(sentence.into())
}

/// An expression without the name that it has outside of all parentheses.
fn without_alias(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 && text[at..].starts_with(" AS ") => return &text[..at],
            _ => {}
        }
    }
    text
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

/// Takes the prefixes off that name the planner's own stages.
pub(crate) fn strip(text: &str) -> String {
    let mut text = text;
    for prefix in
        ["Error during planning: ", "Execution error: ", "Arrow error: ", "type_coercion\ncaused by\n"]
    {
        text = text.strip_prefix(prefix).unwrap_or(text);
    }
    arithmetic(text)
}

/// The kernels' messages on arithmetic, in words for users.
pub fn arithmetic(text: &str) -> String {
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
        let grouped = plain(
            "Column in SELECT must be in GROUP BY or an aggregate function: While expanding wildcard, column \
             \"t.name\" must appear in the GROUP BY clause",
        );
        assert!(grouped.starts_with("column 't.name' is neither in GROUP BY"), "{grouped}");
        assert_eq!(
            plain("Invalid function 'summ'.\nDid you mean 'sum'?"),
            "there is no function 'summ'\n  help: did you mean sum?"
        );
        assert_eq!(plain("Invalid function 'foobar'.\nDid you mean 'cos'?"), "there is no function 'foobar'");
        let grouping =
            "Argument CAST(t.a AS Int32) AS t.a to grouping function is not in grouping columns t.b";
        assert_eq!(plain(grouping), "grouping() takes keys of GROUP BY, and CAST(t.a AS INT) is none");
        assert_eq!(plain("anything else"), "anything else");
    }

    #[test]
    fn types_have_their_names_in_sql() {
        assert_eq!(
            plain("Cannot coerce arithmetic expression Utf8View + Decimal128(10, 2) to valid types"),
            "there is no operation VARCHAR + DECIMAL(10, 2)\n  help: a CAST of one side may help"
        );
        assert_eq!(sql_types("sum(Utf8View), 'Int64' é Int64(5) Date32 List(Int64)"), {
            "sum(VARCHAR), 'Int64' é 5 DATE BIGINT[]"
        });
        assert_eq!(sql_types("Timestamp(Nanosecond, None) (open"), "TIMESTAMP(9) (open");
        assert_eq!(sql_types("it's Int64"), "it's Int64");
    }
}
