//! The functions that SQL can call, by name: those of DataFusion's packages, and in place of some of them those of
//! [`expressions`].

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use datafusion_expr::{AggregateUDF, ScalarUDF};
use expressions::functions::{
    average, encode, field, ifnull, nullif, parts, percentile, prefix, quantified, regexp_replace,
    regression, rounding, strftime, sum, truncate, zone,
};

use crate::compile;

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

    /// Scalar functions and aggregates of DataFusion's packages.
    fn new() -> Functions {
        let mut scalar = BTreeMap::new();
        for f in datafusion_functions::all_default_functions() {
            for name in f.aliases() {
                scalar.insert(name.clone(), f.clone());
            }
            scalar.insert(f.name().to_string(), f);
        }
        let own = [
            prefix::substr(),
            parts::date_part(),
            truncate::date_trunc(),
            strftime::strftime(),
            regexp_replace::regexp_replace(),
            encode::encode(),
            field::get_field(),
            ifnull::ifnull(),
            nullif::nullif(),
            zone::at_time_zone(),
            // An instant, as it is not without a time zone in the options.
            datafusion_functions::datetime::now(&compile::options()),
        ];
        for f in own.into_iter().chain(quantified::functions()).chain(rounding::functions()) {
            for name in f.aliases().iter().map(String::as_str).chain([f.name()]) {
                scalar.insert(name.to_string(), f.clone());
            }
        }
        let mut aggregate = BTreeMap::new();
        let own = [average::avg(), percentile::percentile_cont()].into_iter().chain(regression::all());
        for f in datafusion_functions_aggregate::all_default_aggregate_functions().into_iter().chain(own) {
            for name in f.aliases() {
                aggregate.insert(name.clone(), f.clone());
            }
            aggregate.insert(f.name().to_string(), f);
        }
        // Names that other systems have for the same.
        if let Some(f) = scalar.get("signum").cloned() {
            scalar.insert("sign".to_string(), f);
        }
        aggregate.insert("sum".to_string(), sum::sum());
        if let Some(f) = aggregate.get("var_samp").cloned() {
            aggregate.insert("variance".to_string(), f);
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

    /// The names of all scalar functions.
    pub fn scalar_names(&self) -> Vec<String> {
        self.scalar.keys().cloned().collect()
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
