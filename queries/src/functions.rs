//! The functions that SQL can call, by name: those of DataFusion's packages, and in place of some of them those of
//! [`expressions`].
//!
//! - [`standing`]: functions that only stand for another expression.
//! - [`table`]: what a user reads of them.

pub mod standing;
pub mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use datafusion_expr::{AggregateUDF, ScalarUDF};
use expressions::functions::{
    aggregates, average, encode, field, ifnull, lists, nullif, own, parts, percentile, quantified,
    regression, rounding, substring, sum, truncate, zone,
};

use crate::binder::nested;
use crate::compile;
use crate::types::{attempts, items, json, maps, structs};

/// Functions that are only syntax: `AT TIME ZONE`, subscripts of texts, lists of timestamps, and casts of lists, structs
/// and maps to text.
const SYNTAX: [&str; 11] = [
    zone::NAME,
    "text_extract",
    "text_slice",
    "list_concat_known",
    "range_of_times",
    "generate_series_of_times",
    lists::text::QUOTED,
    lists::text::LIST,
    lists::text::STRUCT,
    lists::text::ENTRY,
    lists::text::MAP,
];

/// The names of functions that are registered nowhere. They stand for another expression, take a lambda or an expression
/// whose errors are NULL, compute an aggregate of items, or are of structs or maps.
pub fn made() -> impl Iterator<Item = &'static str> {
    let made = standing::names().chain(items::names()).chain(nested::lambda_names());
    let made = made.chain(structs::names()).chain(maps::names()).chain(json::names());
    made.chain([attempts::NAME])
}

/// All functions by name and alias.
pub struct Functions {
    scalar: BTreeMap<String, Arc<ScalarUDF>>,
    aggregate: BTreeMap<String, Arc<AggregateUDF>>,
}

impl Functions {
    /// The functions, made once: there are hundreds, and planning a short query took a quarter of its time for them.
    pub fn all() -> &'static Functions {
        static ALL: LazyLock<Functions> = LazyLock::new(Functions::new);
        &ALL
    }

    /// Scalar functions and aggregates of DataFusion's packages, and in place of some of them palais' own, by the names
    /// that [`table`] has. What is syntax is there too.
    fn new() -> Functions {
        let own_scalars = [
            substring::substr(),
            parts::date_part(),
            truncate::date_trunc(),
            encode::encode(),
            field::get_field(),
            ifnull::ifnull(),
            nullif::nullif(),
            zone::at_time_zone(),
            // An instant, as it is not without a time zone in the options.
            datafusion_functions::datetime::now(&compile::options()),
        ];
        let scalars = datafusion_functions::all_default_functions().into_iter().chain(own_scalars);
        let scalars = scalars
            .chain(own::all())
            .chain(lists::all())
            .chain(quantified::functions())
            .chain(rounding::functions());
        // Of several of a name the last one counts.
        let mut named: BTreeMap<String, Arc<ScalarUDF>> = BTreeMap::new();
        for f in scalars {
            named.extend(f.aliases().iter().map(|name| (name.clone(), f.clone())));
            named.insert(f.name().to_string(), f);
        }
        let own_aggregates = [average::avg(), percentile::percentile_cont(), percentile::mad(), sum::sum()];
        let aggregates = datafusion_functions_aggregate::all_default_aggregate_functions().into_iter();
        let aggregates = aggregates.chain(own_aggregates).chain(regression::all()).chain(aggregates::all());
        let aggregates: BTreeMap<String, Arc<AggregateUDF>> =
            aggregates.map(|f| (f.name().to_string(), f)).collect();
        let (mut scalar, mut aggregate) = (BTreeMap::new(), BTreeMap::new());
        let syntax = named.iter().filter(|(name, _)| name.contains(' ') || SYNTAX.contains(&name.as_str()));
        scalar.extend(syntax.map(|(name, f)| (name.clone(), f.clone())));
        for described in table::ALL {
            // What it counts is made of its condition where it is bound.
            let of = match described.name {
                "count_if" => "count",
                // The texts of its values are put together.
                "json_group_array" | "json_group_object" | "json_group_structure" => "string_agg",
                name => name,
            };
            for name in described.names() {
                if let Some(f) = named.get(described.name) {
                    scalar.insert(name.to_string(), f.clone());
                }
                if let Some(f) = aggregates.get(of) {
                    aggregate.insert(name.to_string(), f.clone());
                }
            }
        }
        Functions { scalar, aggregate }
    }

    /// The scalar function of this name, in lower case.
    pub fn scalar(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.scalar.get(name).cloned()
    }

    /// The aggregate of this name, in lower case.
    pub fn aggregate(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.aggregate.get(name).cloned()
    }

    /// The names of all scalar functions, those that are [`made`] included.
    pub fn scalar_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.scalar.keys().cloned().collect();
        names.extend(made().map(str::to_string));
        names.sort();
        names.dedup();
        names
    }

    /// The names of all aggregates.
    pub fn aggregate_names(&self) -> Vec<String> {
        self.aggregate.keys().cloned().collect()
    }

    /// Whether this is the name of an aggregate, in lower case.
    pub fn is_aggregate(&self, name: &str) -> bool {
        self.aggregate.contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_described_function_is_there_and_stands_once() {
        let functions = Functions::all();
        let mut seen = BTreeSet::new();
        for described in table::ALL.iter().filter(|described| described.group != table::TABLES) {
            for name in described.names() {
                assert!(seen.insert(name), "{name} stands twice");
                let is_aggregate = described.group == table::AGGREGATES;
                let is_syntax = name == "grouping";
                let is_there = match is_aggregate {
                    true => functions.aggregate(name).is_some(),
                    false => functions.scalar(name).is_some() || made().any(|known| known == name),
                };
                assert!(is_there || is_syntax, "{name} is described and not there");
            }
            assert!(described.text.ends_with('.') && !described.example.is_empty(), "{}", described.name);
        }
        let made: Vec<&str> = made().filter(|name| !seen.contains(name)).collect();
        assert!(made.is_empty(), "not described: {made:?}");
        let own: Vec<&str> =
            own::names().filter(|name| !name.contains(' ') && !seen.contains(name)).collect();
        assert!(own.is_empty(), "not described: {own:?}");
    }
}
