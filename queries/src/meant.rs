//! What a user may have meant by a name that nothing has: names that are spelled alike, and what other systems call
//! differently.
//!
//! - `other_systems`: functions and types of other systems, and what to write instead.

mod other_systems;

use schema::names::nearest;

use crate::functions::Functions;

/// The names of the table functions.
const TABLE_FUNCTIONS: [&str; 8] =
    ["range", "generate_series", "json_each", "json_tree", "functions", "glob", "bdb", "transform"];

/// The most names that are listed where none is near.
const MOST_LISTED: usize = 20;

/// The letters that a word in a name has at least, to be what was meant.
const WORD: usize = 3;

/// The help for a column that there is not, among those that there are.
pub fn column<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    near(name, &known).or_else(|| listed(&known))
}

/// The help for a name alone that is no column: it may be a word of another system, and in double quotes a text.
pub fn name_alone<'a>(
    name: &str,
    is_quoted: bool,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    let word = || other_systems::word(name).map(|instead| format!("write {instead}"));
    let text = || is_quoted.then(|| format!("text stands in single quotes: '{name}'"));
    near(name, &known).or_else(word).or_else(text).or_else(|| listed(&known))
}

/// Columns whose names are near.
fn near(name: &str, known: &[&str]) -> Option<String> {
    if name.eq_ignore_ascii_case("_file") {
        return Some("--file-column adds the column _file, the path of each row's file".into());
    }
    let mut near = nearest(name, known.iter().copied());
    if near.is_empty() {
        near = with_words(name, known);
    }
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}

/// The first of the columns that there are.
fn listed(known: &[&str]) -> Option<String> {
    let mut all: Vec<&str> = Vec::new();
    for name in known {
        if !all.contains(name) {
            all.push(name);
        }
        if all.len() > MOST_LISTED {
            break;
        }
    }
    let more = if all.len() > MOST_LISTED { " and more" } else { "" };
    all.truncate(MOST_LISTED);
    (!all.is_empty()).then(|| format!("there are: {}{more}", all.join(", ")))
}

/// The names of which a part between underscores is this one, or that are such a part of it: `price` and `unit_price`.
fn with_words(name: &str, known: &[&str]) -> Vec<String> {
    let has = |long: &str, short: &str| {
        short.chars().count() >= WORD && long.split(['_', '-', ' ', '.']).any(|word| word == short)
    };
    let wanted = name.to_lowercase();
    let mut near: Vec<String> = Vec::new();
    for candidate in known {
        let lower = candidate.to_lowercase();
        let is_near = has(&lower, &wanted) || has(&wanted, &lower);
        if is_near && near.len() < 3 && !near.iter().any(|other| other == candidate) {
            near.push(candidate.to_string());
        }
    }
    near
}

/// The help for a function that there is not, if anything is near in meaning or in spelling.
pub fn function(name: &str, functions: &Functions) -> Option<String> {
    if let Some(instead) = other_systems::function(name) {
        return Some(instead);
    }
    let known: Vec<String> = functions
        .scalar_names()
        .into_iter()
        .chain(functions.aggregate_names())
        .filter(|n| is_name(n))
        .collect();
    let near = nearest(name, known.iter().map(String::as_str));
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}

/// Whether a function can be called by its name: `= any` is what an operator becomes.
fn is_name(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The help for a table function that there is not.
pub fn table_function(name: &str) -> String {
    if other_systems::reads_files(name) {
        return "write FROM 'path'; CREATE VIEW and --table NAME=PATH give it a name".into();
    }
    let near = nearest(name, TABLE_FUNCTIONS);
    match near.is_empty() {
        true => format!("there are: {}", TABLE_FUNCTIONS.join(", ")),
        false => format!("did you mean {}?", near.join(" or ")),
    }
}

/// The help for a type that there is not.
pub fn data_type(name: &str) -> Option<String> {
    let name = name.to_uppercase();
    if let Some(instead) = other_systems::data_type(&name) {
        return Some(format!("write {instead}"));
    }
    let near = nearest(&name, other_systems::TYPES);
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_near_by_their_letters_or_their_words() {
        let known = ["month", "Month_name", "unit_price", "price_total", "id", "a"];
        for (name, help) in [
            ("mont", Some("did you mean month?")),
            ("PRICE", Some("did you mean unit_price or price_total?")),
            ("paid_in_the_month", Some("did you mean month?")),
            ("cosh", Some("there are: month, Month_name, unit_price, price_total, id, a")),
            ("x", Some("there are: month, Month_name, unit_price, price_total, id, a")),
            ("_file", Some("--file-column adds the column _file, the path of each row's file")),
        ] {
            assert_eq!(column(name, known).as_deref(), help, "{name}");
        }
        assert_eq!(column("x", []), None);
        let many: Vec<String> = (0..30).map(|i| format!("column{i}")).collect();
        let said = column("x", many.iter().map(String::as_str)).unwrap();
        assert!(said.ends_with("column18, column19 and more"), "{said}");
        assert_eq!(column("x", ["a", "a"]).as_deref(), Some("there are: a"));
    }

    #[test]
    fn functions_are_near_by_their_meaning_or_their_letters() {
        let help = |name: &str| function(name, Functions::all());
        for (name, said) in [
            ("tomonth", Some("write month(date)")),
            ("lengthb", Some("write octet_length(text)")),
            ("summ", Some("did you mean sum?")),
            ("uper", Some("did you mean upper?")),
            ("cost", Some("did you mean cos or cosh or cot?")),
            ("nosuch", None),
            ("moth", Some("did you mean month?")),
            ("x", None),
        ] {
            assert_eq!(help(name).as_deref(), said, "{name}");
        }
    }

    #[test]
    fn table_functions_are_near_by_their_meaning_or_their_letters() {
        for (name, said) in [
            ("ranges", "did you mean range?"),
            ("csv_scan", "write FROM 'path'; CREATE VIEW and --table NAME=PATH give it a name"),
            (
                "pages",
                "there are: range, generate_series, json_each, json_tree, functions, glob, bdb, transform",
            ),
        ] {
            assert_eq!(table_function(name), said, "{name}");
        }
    }

    #[test]
    fn types_are_near_by_their_meaning_or_their_letters() {
        for (name, said) in
            [("bigserial", Some("write BIGINT")), ("varchr", Some("did you mean VARCHAR?")), ("FOO", None)]
        {
            assert_eq!(data_type(name).as_deref(), said, "{name}");
        }
    }
}
