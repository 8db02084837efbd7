//! The functions that SQL can call, by name: those of DataFusion's packages, and in place of some of them those of
//! [`expressions`].
//!
//! - [`standing`]: functions that only stand for another expression.
//! - [`table`]: what a user reads of them.
//! - `index`: finds a row of that table by a name.

mod index;
pub mod standing;
pub mod table;

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

/// Aggregates that are computed by another one.
const BY_ANOTHER: [(&str, &str); 4] = [
    // What it counts is made of its condition where it is bound.
    ("count_if", "count"),
    // The texts of its values are put together.
    ("json_group_array", "string_agg"),
    ("json_group_object", "string_agg"),
    ("json_group_structure", "string_agg"),
];

/// All functions by name and alias.
///
/// Each process makes them before its first plan. There are hundreds, and maps of their names took 60 % of the
/// instructions of a short query. So the names are found by an index that is made when the program is compiled.
pub struct Functions {
    /// The scalar function of each row of [`table::ALL`].
    scalar: Vec<Option<Arc<ScalarUDF>>>,
    /// The aggregate of each row of [`table::ALL`].
    aggregate: Vec<Option<Arc<AggregateUDF>>>,
    /// Functions that are only syntax, which the table has not. Of several of a name the last one counts.
    syntax: Vec<(String, Arc<ScalarUDF>)>,
}

impl Functions {
    /// The functions, made once.
    pub fn all() -> &'static Functions {
        static ALL: LazyLock<Functions> = LazyLock::new(Functions::new);
        &ALL
    }

    /// Scalar functions and aggregates of DataFusion's packages, and in place of some of them palais' own, by the names
    /// that [`table`] has. What is syntax is there too.
    fn new() -> Functions {
        let rows = table::ALL.len();
        let mut all = Functions { scalar: vec![None; rows], aggregate: vec![None; rows], syntax: Vec::new() };
        datafusion_functions::all_default_functions().into_iter().for_each(|f| all.add_scalar(f));
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
        own_scalars.into_iter().for_each(|f| all.add_scalar(f));
        own::all().for_each(|f| all.add_scalar(f));
        lists::all().for_each(|f| all.add_scalar(f));
        quantified::functions().into_iter().for_each(|f| all.add_scalar(f));
        rounding::functions().into_iter().for_each(|f| all.add_scalar(f));
        let aggregates = datafusion_functions_aggregate::all_default_aggregate_functions();
        aggregates.into_iter().for_each(|f| all.add_aggregate(f));
        let own_aggregates = [average::avg(), percentile::percentile_cont(), percentile::mad(), sum::sum()];
        own_aggregates.into_iter().for_each(|f| all.add_aggregate(f));
        regression::all().into_iter().for_each(|f| all.add_aggregate(f));
        aggregates::all().into_iter().for_each(|f| all.add_aggregate(f));
        for (name, of) in BY_ANOTHER {
            if let Some(row) = index::row(name) {
                all.aggregate[row] = all.aggregate(of);
            }
        }
        all
    }

    /// Adds a scalar function by its name and its aliases. Of several of a name the last one counts.
    fn add_scalar(&mut self, f: Arc<ScalarUDF>) {
        for name in f.aliases() {
            self.name_scalar(name, &f);
        }
        self.name_scalar(f.name(), &f);
    }

    fn name_scalar(&mut self, name: &str, f: &Arc<ScalarUDF>) {
        match index::row(name) {
            Some(row) if table::ALL[row].name == name => self.scalar[row] = Some(f.clone()),
            // The table has the other names.
            Some(_) => {}
            None if name.contains(' ') || SYNTAX.contains(&name) => {
                self.syntax.push((name.to_string(), f.clone()));
            }
            None => {}
        }
    }

    /// Adds an aggregate by its name. Of several of a name the last one counts.
    fn add_aggregate(&mut self, f: Arc<AggregateUDF>) {
        if let Some(row) = index::row(f.name())
            && table::ALL[row].name == f.name()
        {
            self.aggregate[row] = Some(f);
        }
    }

    /// The scalar function of this name, in lower case.
    pub fn scalar(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        let described = index::row(name).and_then(|row| self.scalar[row].as_ref());
        let syntax = || self.syntax.iter().rev().find(|(known, _)| known == name).map(|(_, f)| f);
        described.or_else(syntax).cloned()
    }

    /// The aggregate of this name, in lower case.
    pub fn aggregate(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.aggregate[index::row(name)?].clone()
    }

    /// The names of all scalar functions, those that are [`made`] included.
    pub fn scalar_names(&self) -> Vec<String> {
        let syntax = self.syntax.iter().map(|(name, _)| name.clone());
        let mut names: Vec<String> = names(&self.scalar).chain(made()).map(str::to_string).collect();
        names.extend(syntax);
        names.sort();
        names.dedup();
        names
    }

    /// The names of all aggregates.
    pub fn aggregate_names(&self) -> Vec<String> {
        let mut names: Vec<String> = names(&self.aggregate).map(str::to_string).collect();
        names.sort();
        names
    }

    /// Whether this is the name of an aggregate, in lower case.
    pub fn is_aggregate(&self, name: &str) -> bool {
        index::row(name).is_some_and(|row| self.aggregate[row].is_some())
    }
}

/// The names of the functions that are there, of one for each row of [`table::ALL`].
fn names<F>(functions: &[Option<F>]) -> impl Iterator<Item = &'static str> {
    let there = table::ALL.iter().zip(functions).filter(|(_, f)| f.is_some());
    there.flat_map(|(described, _)| described.names())
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
