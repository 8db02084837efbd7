//! Aggregates over the items of a list: `list_sum(list)`, and `list_aggregate(list, 'sum')` for any of them.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::AggregateUDF;
use expressions::accumulators::AggregateFunction;
use expressions::functions::lists::aggregated::{self, Aggregated};
use expressions::functions::lists::{item_of, list_of};

use super::{Types, signatures};
use crate::algebra::{Call, Columns, Expr};
use crate::compile::{self, Layout};
use crate::error::{Error, Result};
use crate::functions::Functions;
use crate::meant;
use crate::physical::accumulators;

/// The functions that are given the name of an aggregate.
const OF_A_NAME: [&str; 4] = ["list_aggregate", "list_aggr", "array_aggregate", "array_aggr"];

/// Functions of one list, and the aggregate of each.
const OF_ONE: [(&str, &str); 29] = [
    ("list_any_value", "any_value"),
    ("list_approx_count_distinct", "approx_count_distinct"),
    ("list_avg", "avg"),
    ("list_bit_and", "bit_and"),
    ("list_bit_or", "bit_or"),
    ("list_bit_xor", "bit_xor"),
    ("list_bool_and", "bool_and"),
    ("list_bool_or", "bool_or"),
    ("list_count", "count"),
    ("list_entropy", "entropy"),
    ("list_first", "first"),
    ("list_histogram", "histogram"),
    ("list_kurtosis", "kurtosis"),
    ("list_kurtosis_pop", "kurtosis_pop"),
    ("list_last", "last"),
    ("list_mad", "mad"),
    ("list_max", "max"),
    ("list_median", "median"),
    ("list_min", "min"),
    ("list_mode", "mode"),
    ("list_product", "product"),
    ("list_sem", "sem"),
    ("list_skewness", "skewness"),
    ("list_stddev_pop", "stddev_pop"),
    ("list_stddev_samp", "stddev_samp"),
    ("list_string_agg", "string_agg"),
    ("list_sum", "sum"),
    ("list_var_pop", "var_pop"),
    ("list_var_samp", "var_samp"),
];

/// Aggregates of rows, of which lists have none.
const OF_ROWS: [&str; 2] = ["count_star", "grouping"];

/// Which aggregate of items a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfItems {
    /// This one.
    Aggregate(&'static str),
    /// The one that its second argument names.
    Named,
}

/// Which aggregate of items a function of a name, in lower case, is, if it is one.
pub fn of(name: &str) -> Option<OfItems> {
    if OF_A_NAME.contains(&name) {
        return Some(OfItems::Named);
    }
    OF_ONE.iter().find(|(known, _)| *known == name).map(|(_, aggregate)| OfItems::Aggregate(aggregate))
}

/// The names of the functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    OF_A_NAME.into_iter().chain(OF_ONE.iter().map(|(name, _)| *name))
}

impl Types {
    /// A call of an aggregate of the items of a list, by a name that it is given. Its arguments behind the list are
    /// constants.
    ///
    /// # Errors
    /// There is no such aggregate, or it takes no such arguments.
    pub fn aggregated(&self, written: &str, of: OfItems, args: Vec<Expr>) -> Result<Expr> {
        let given: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
        let no_match = || signatures::no_standing(written, &given);
        let mut args = args.into_iter();
        let list = args.next().ok_or_else(no_match)?;
        let aggregate = match of {
            OfItems::Aggregate(name) => name.to_string(),
            OfItems::Named => {
                let name = args.next().ok_or_else(no_match)?;
                let text = name.as_literal().and_then(|name| name.try_as_str().flatten());
                let usage = || {
                    Error::Invalid(format!(
                        "{written}() takes a list and the name of an aggregate: {written}(list, 'sum')"
                    ))
                };
                text.ok_or_else(usage)?.to_ascii_lowercase()
            }
        };
        let more: Vec<Expr> = args.collect();
        if !more.is_empty() && of != OfItems::Named {
            return Err(no_match());
        }
        let constants: Option<Vec<&ScalarValue>> = more.iter().map(Expr::as_literal).collect();
        let Some(constants) = constants else {
            return Err(Error::Invalid(format!(
                "what stands behind the name of the aggregate in {written}() is a constant"
            )));
        };
        let behind: String = constants.iter().map(|value| format!(", {value}")).collect();
        let item = match &list.data_type {
            DataType::Null => return Ok(list),
            list @ DataType::List(_) => item_of(list),
            _ => return Err(no_match()),
        };
        let functions = Functions::all();
        let named = Some(aggregate.as_str()).filter(|name| !OF_ROWS.contains(name));
        // Of items, which have an order, any value is the first one.
        let is_any = aggregate == "any_value";
        let named = named.map(|name| if is_any { "first_value" } else { name });
        let Some(function) = named.and_then(|name| functions.aggregate(name)) else {
            let message = format!("there is no aggregate '{aggregate}' of the items of a list");
            let is_of_rows = OF_ROWS.contains(&aggregate.as_str());
            let help = if is_of_rows { None } else { meant::function(&aggregate, functions) };
            return Err(Error::Name { message, help });
        };
        let text = format!("list_aggregate('{aggregate}'{behind})");
        let ignore_nulls = is_any.then_some(true);
        // Of a list of nothing but NULLs the items have any type, and not each aggregate takes NULLs without one.
        let of_null = [DataType::Null, DataType::Int64, DataType::Boolean, DataType::Utf8View];
        let tried = if item.is_null() { of_null.as_slice() } else { std::slice::from_ref(&item) };
        let mut refused = None;
        for item in tried {
            let mut columns = Columns::default();
            let id = columns.add("item", item.clone());
            let args = [columns.read(id)].into_iter().chain(more.iter().cloned()).collect();
            let function = function.clone();
            let call = self.completed(&aggregate, &function, args).and_then(|args| {
                let call =
                    Call { function, args, distinct: false, filter: None, order_by: vec![], ignore_nulls };
                self.aggregate_as(&aggregate, call)
            });
            let (call, gives) = match call {
                Ok(typed) => typed,
                Err(error) => {
                    refused.get_or_insert(error);
                    continue;
                }
            };
            let list = self.in_type(list, &list_of(item))?;
            return self.compiled_aggregate(text, &call, gives, &Layout::new(vec![id], &columns), list);
        }
        Err(refused.unwrap_or_else(no_match))
    }

    /// The function of a typed call over a column of items, applied to a list of them.
    fn compiled_aggregate(
        &self,
        text: String,
        call: &Call,
        gives: DataType,
        items: &Layout,
        list: Expr,
    ) -> Result<Expr> {
        let (function, ..) = self.compiler.aggregate(call, items, &text)?;
        let compiled = accumulators::call(function, None, items.schema())?;
        let is_total = matches!(
            compiled.function,
            AggregateFunction::Count
                | AggregateFunction::SumFloat
                | AggregateFunction::AvgFloat
                | AggregateFunction::Extreme { .. }
        );
        let aggregated = Aggregated {
            text,
            aggregate: call.function.name().to_string(),
            function: compiled.function,
            args: compiled.args,
            schema: items.schema().clone(),
            gives,
            fails: !is_total || call.args.iter().any(compile::fails),
        };
        self.typed_call(aggregated::function(aggregated), vec![list])
    }

    /// The arguments of an aggregate with those that may be left out: the separator of texts is a comma. What `count_if`
    /// counts stands in the place of its condition. A sum of conditions counts those that are true.
    ///
    /// # Errors
    /// `count_if` is given no condition.
    pub fn completed(
        &self,
        written: &str,
        function: &AggregateUDF,
        mut args: Vec<Expr>,
    ) -> Result<Vec<Expr>> {
        if function.name() == "string_agg" && args.len() == 1 {
            args.push(Expr::literal(ScalarValue::Utf8View(Some(",".into()))));
        }
        if function.name() == "sum"
            && let [value] = args.as_mut_slice()
            && value.data_type == DataType::Boolean
        {
            *value = self.cast(value.clone(), &DataType::Int64, false)?;
        }
        if matches!(written, "count_if" | "countif") {
            let condition = <[Expr; 1]>::try_from(args);
            let [condition] =
                condition.map_err(|_| Error::Invalid(format!("{written}() takes a condition")))?;
            args = vec![self.counted_if(condition)?];
        }
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_an_aggregate() {
        for name in names() {
            match of(name) {
                Some(OfItems::Aggregate(aggregate)) => {
                    assert!(Functions::all().aggregate(aggregate).is_some(), "{name}");
                    assert_eq!(name.strip_prefix("list_"), Some(aggregate));
                }
                Some(OfItems::Named) => {}
                None => panic!("{name} is no function"),
            }
        }
        assert_eq!(of("list_stddev"), None);
    }
}
