//! The arguments that functions take, as a user reads them: `round(DOUBLE, BIGINT)`.

use arrow_schema::DataType;
use datafusion_expr::{TypeSignature, TypeSignatureClass};
use expressions::functions::own;
use expressions::text::shown;

use super::json;
use crate::error::Error;
use crate::functions::standing::{STANDING, Standing};

/// The most signatures that a message lists.
const MOST: usize = 4;

/// What stands for the arguments that follow, as many as there are.
const MORE: &str = "…";

/// The arguments of functions that tell nothing of them.
const UNTOLD: [(&str, &[&str]); 32] = [
    ("arg_max", &["value", "value"]),
    ("arg_max_null", &["value", "value"]),
    ("arg_max_nulls_last", &["value", "value"]),
    ("arg_min", &["value", "value"]),
    ("arg_min_null", &["value", "value"]),
    ("arg_min_nulls_last", &["value", "value"]),
    ("coalesce", &["value", MORE]),
    ("concat", &["value", MORE]),
    ("concat_ws", &["VARCHAR", "value", MORE]),
    ("entropy", &["value"]),
    ("favg", &["DOUBLE"]),
    ("fsum", &["DOUBLE"]),
    ("gcd", &["BIGINT", "BIGINT"]),
    ("geomean", &["DOUBLE"]),
    ("greatest", &["value", MORE]),
    ("histogram", &["value"]),
    ("kurtosis", &["DOUBLE"]),
    ("kurtosis_pop", &["DOUBLE"]),
    ("lcm", &["BIGINT", "BIGINT"]),
    ("least", &["value", MORE]),
    ("mad", &["number"]),
    ("max", &["value"]),
    ("min", &["value"]),
    ("mode", &["value"]),
    ("nullif", &["value", "value"]),
    ("nvl", &["value", "value"]),
    ("nvl2", &["value", "value", "value"]),
    ("product", &["DOUBLE"]),
    ("quantile_disc", &["value", "DOUBLE"]),
    ("sem", &["DOUBLE"]),
    ("skewness", &["DOUBLE"]),
    ("weighted_avg", &["DOUBLE", "DOUBLE"]),
];

/// The arguments of a call.
type Arguments = Vec<String>;

/// No function of this name takes arguments of these types. `name` is as it is written, `function` what the function is
/// called.
pub fn no_function(name: &str, function: &str, signature: &TypeSignature, given: &[DataType]) -> Error {
    let types: Vec<String> = given.iter().map(shown).collect();
    let message = format!("there is no function {name}({})", types.join(", "));
    Error::Name { message, help: help(name, function, signature, given.len()) }
}

/// No function that only stands for another expression takes arguments of these types.
pub fn no_standing(name: &str, given: &[DataType]) -> Error {
    no_function(name, name, &TypeSignature::UserDefined, given)
}

fn help(name: &str, function: &str, signature: &TypeSignature, given: usize) -> Option<String> {
    let mut all: Vec<Arguments> = Vec::new();
    let untold = UNTOLD.iter().find(|(of, _)| *of == function);
    let untold = untold.map(|(_, arguments)| arguments.iter().map(|a| a.to_string()).collect());
    // A NULL is taken wherever a value is.
    let null = shown(&DataType::Null);
    let own = own::find(function).map(own::Own::shown).unwrap_or_default();
    let stands = standing_arguments(function).into_iter().chain(json::arguments(function));
    for arguments in told(signature).into_iter().chain(untold).chain(own).chain(stands) {
        if !all.contains(&arguments) && !arguments.contains(&null) {
            all.push(arguments);
        }
    }
    // Of other types those of as many arguments are the nearest.
    all.sort_by_key(|arguments| !takes(arguments, given));
    let cast = "a CAST may help";
    let is_near = all.first().is_some_and(|arguments| takes(arguments, given));
    match all.as_slice() {
        [] => (given > 0).then(|| cast.to_string()),
        all => {
            let shown: Vec<String> =
                all.iter().take(MOST).map(|arguments| format!("{name}({})", arguments.join(", "))).collect();
            let verb = if shown.len() == 1 { "is" } else { "are" };
            let more = if all.len() > MOST { " and more" } else { "" };
            let cast = if is_near && given > 0 { format!("; {cast}") } else { String::new() };
            Some(format!("there {verb} {}{more}{cast}", shown.join(", ")))
        }
    }
}

/// The arguments of a function that stands for another expression.
fn standing_arguments(name: &str) -> Vec<Arguments> {
    let named = STANDING.iter().filter(|(names, ..)| names.contains(&name));
    let arguments = named.map(|(_, count, of)| match of {
        Standing::Part(_) | Standing::AgeOfToday => vec!["TIMESTAMP".into()],
        Standing::Bytes | Standing::Setting => vec!["VARCHAR".into()],
        Standing::TextOfBytes => vec!["BLOB".into()],
        Standing::InZone => {
            let parts = ["BIGINT"; 5].into_iter().chain(["DOUBLE", "VARCHAR"]);
            parts.map(str::to_string).collect()
        }
        Standing::If => vec!["BOOLEAN".into(), "value".into(), "value".into()],
        Standing::Operation(_) | Standing::TypeOf | Standing::LocalTimestamp => vec!["value".into(); *count],
    });
    arguments.collect()
}

/// Whether a call may have so many arguments.
fn takes(arguments: &Arguments, given: usize) -> bool {
    match arguments.split_last() {
        Some((last, before)) if last == MORE => given >= before.len(),
        _ => arguments.len() == given,
    }
}

/// The lists of arguments that a signature tells.
fn told(signature: &TypeSignature) -> Vec<Arguments> {
    let times = |what: String, count: usize| vec![what; count];
    match signature {
        TypeSignature::Nullary => vec![vec![]],
        TypeSignature::Exact(types) => vec![types.iter().map(named).collect()],
        TypeSignature::Uniform(count, types) => types.iter().map(|t| times(named(t), *count)).collect(),
        TypeSignature::Variadic(types) => types.iter().map(|t| vec![named(t), MORE.into()]).collect(),
        TypeSignature::VariadicAny => vec![vec!["value".into(), MORE.into()]],
        TypeSignature::Any(count) | TypeSignature::Comparable(count) => vec![times("value".into(), *count)],
        TypeSignature::Numeric(count) => vec![times("number".into(), *count)],
        TypeSignature::String(count) => vec![times("VARCHAR".into(), *count)],
        TypeSignature::Coercible(all) => vec![all.iter().map(|one| of_class(one.desired_type())).collect()],
        TypeSignature::OneOf(several) => several.iter().flat_map(told).collect(),
        TypeSignature::UserDefined | TypeSignature::ArraySignature(_) => vec![],
    }
}

/// A type without the digits that it may have.
fn named(data_type: &DataType) -> String {
    let class = match data_type {
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => TypeSignatureClass::Decimal,
        DataType::Timestamp(..) => TypeSignatureClass::Timestamp,
        DataType::Time32(_) | DataType::Time64(_) => TypeSignatureClass::Time,
        DataType::Interval(_) => TypeSignatureClass::Interval,
        DataType::Duration(_) => TypeSignatureClass::Duration,
        DataType::Date64 => return shown(&DataType::Date32),
        other => return shown(other),
    };
    of_class(&class)
}

fn of_class(class: &TypeSignatureClass) -> String {
    let name = match class {
        TypeSignatureClass::Any => "value",
        TypeSignatureClass::Timestamp => "TIMESTAMP",
        TypeSignatureClass::Time => "TIME",
        TypeSignatureClass::Interval => "INTERVAL",
        TypeSignatureClass::Duration => "DURATION",
        TypeSignatureClass::Integer => "BIGINT",
        TypeSignatureClass::Float => "DOUBLE",
        TypeSignatureClass::Decimal => "DECIMAL",
        TypeSignatureClass::Numeric => "number",
        TypeSignatureClass::Binary => "BLOB",
        // Any type is cast to the one that is wanted.
        TypeSignatureClass::Native(wanted) => {
            return match wanted.default_cast_for(&DataType::Null) {
                Ok(data_type) => named(&data_type),
                Err(_) => "value".into(),
            };
        }
    };
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::Functions;

    fn said(name: &str, given: &[DataType]) -> String {
        let functions = Functions::all();
        let (function, signature) = match (functions.scalar(name), functions.aggregate(name)) {
            (Some(f), _) => (f.name().to_string(), f.signature().clone()),
            (None, Some(f)) => (f.name().to_string(), f.signature().clone()),
            (None, None) => return no_standing(name, given).to_string(),
        };
        no_function(name, &function, &signature.type_signature, given).to_string()
    }

    #[test]
    fn each_signature_stands_once() {
        for (name, given, expected) in [
            (
                "string_agg",
                &[DataType::Utf8View][..],
                "there is no function string_agg(VARCHAR)\n  help: there is string_agg(VARCHAR, VARCHAR)",
            ),
            ("upper", &[], "there is no function upper()\n  help: there is upper(VARCHAR)"),
            ("now", &[DataType::Int64], "there is no function now(BIGINT)\n  help: there is now()"),
            (
                "coalesce",
                &[DataType::Int64, DataType::Date32],
                "there is no function coalesce(BIGINT, DATE)\n  help: there is coalesce(value, …); a CAST may help",
            ),
            ("greatest", &[], "there is no function greatest()\n  help: there is greatest(value, …)"),
            // As it is written, and not what the function is called.
            (
                "instr",
                &[DataType::Int64],
                "there is no function instr(BIGINT)\n  help: there is instr(VARCHAR, VARCHAR)",
            ),
            (
                "corr",
                &[DataType::Utf8View, DataType::Int64],
                "there is no function corr(VARCHAR, BIGINT)\n  help: there is corr(DOUBLE, DOUBLE); a CAST may help",
            ),
        ] {
            assert_eq!(said(name, given), expected);
        }
    }

    #[test]
    fn types_have_their_names_in_sql() {
        let functions = Functions::all();
        for name in functions.scalar_names().into_iter().chain(functions.aggregate_names()) {
            let said = said(&name, &vec![DataType::Boolean; 9]);
            for inside in
                ["Utf8", "Int", "Float", "Any", "(UserDefined", "Numeric", "Coercible", "/", "Native"]
            {
                assert!(!said.contains(inside), "{said}");
            }
            assert!(said.matches(&format!("{name}(")).count() <= 1 + MOST, "{said}");
        }
    }
}
