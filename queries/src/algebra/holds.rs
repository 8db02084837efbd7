//! Where the values of expressions have JSON in them. JSON is text; which texts are JSON decides what `to_json()` makes
//! of them, what a cast gives, and what they can be compared with.
//!
//! It is asked of expressions as the binder makes them. Rules do not ask, and columns that they make are not marked.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use expressions::functions::attempt;
use expressions::functions::json::{Holds, OfJson};
use expressions::functions::lists::{aggregated, item_of, lambda};
use expressions::functions::structs::{self, Part};

use super::{Call, Column, ColumnId, Columns, Expr, Kind, SubqueryKind};

/// Functions that give one of their arguments.
const CHOICES: [&str; 5] = ["coalesce", "nvl", "ifnull", "greatest", "least"];

/// Functions that give a list with items of lists among their arguments, and those whose arguments are items.
const OF_ITEMS: [&str; 20] = [
    "list_slice",
    "list_concat",
    "list_concat_known",
    "list_append",
    "list_prepend",
    "array_push_front",
    "array_pop_back",
    "array_pop_front",
    "list_reverse",
    "list_sort",
    "list_reverse_sort",
    "list_distinct",
    "list_intersect",
    "list_resize",
    "list_where",
    "list_select",
    "list_repeat",
    "list_value",
    "list_extract",
    "flatten",
];

/// Aggregates that give one of the values of their first argument.
const AGGREGATES: [&str; 16] = [
    "any_value",
    "arg_max",
    "arg_max_null",
    "arg_max_nulls_last",
    "arg_min",
    "arg_min_null",
    "arg_min_nulls_last",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "max",
    "min",
    "mode",
    "nth_value",
    "quantile_disc",
];

impl Columns {
    /// A new column of the values of an expression.
    pub fn add_of(&mut self, name: impl Into<String>, e: &Expr) -> ColumnId {
        let holds = self.holds(e);
        let id = self.add(name, e.data_type.clone());
        self.mark(id, holds);
        id
    }

    /// Another column like one.
    pub fn again(&mut self, id: ColumnId) -> ColumnId {
        let name = self.get(id).name.clone();
        self.renamed(id, name)
    }

    /// A new column of the same type, under another name.
    pub fn renamed(&mut self, id: ColumnId, name: impl Into<String>) -> ColumnId {
        let Column { data_type, holds, .. } = self.get(id).clone();
        let renamed = self.add(name, data_type);
        self.mark(renamed, holds);
        renamed
    }

    /// Whether the values of an expression are JSON.
    pub fn is_json(&self, e: &Expr) -> bool {
        self.holds(e) == Holds::Json
    }

    /// Where the values of an expression have JSON in them.
    pub fn holds(&self, e: &Expr) -> Holds {
        match &e.kind {
            Kind::Column(id) => self.get(*id).holds.clone(),
            Kind::Case { branches, otherwise, .. } => {
                self.one_of(branches.iter().map(|(_, then)| then).chain(otherwise.as_deref()))
            }
            Kind::Subquery(subquery) if subquery.kind == SubqueryKind::Scalar => {
                subquery.columns.first().map(|id| self.get(*id).holds.clone()).unwrap_or_default()
            }
            Kind::Call { function, args } => {
                if let Some(of_json) = OfJson::of(function) {
                    return of_json.holds();
                }
                if let Some(attempt) = attempt::of(function) {
                    return attempt.holds.clone();
                }
                if let Some(of_items) = lambda::of(function) {
                    return match of_items.makes {
                        lambda::Makes::Lists => of_items.holds.clone().in_lists(),
                        lambda::Makes::Chosen => {
                            args.first().map(|list| self.holds(list)).unwrap_or_default()
                        }
                        lambda::Makes::One { .. } => of_items.holds.clone(),
                    };
                }
                if let Some(of_items) = aggregated::of(function) {
                    let items = args.first().map(|list| self.holds(list).items().clone()).unwrap_or_default();
                    return of_results(&of_items.aggregate, items);
                }
                if let Some(made) = structs::of(function) {
                    let of = |(name, part): &(String, Part)| (name.clone(), self.of_part(*part, args));
                    return Holds::in_structs(made.fields.iter().map(of).collect());
                }
                self.of_call(function.name(), args)
            }
            _ => Holds::Nothing,
        }
    }

    /// Where a field that is made of arguments has it.
    fn of_part(&self, part: Part, args: &[Expr]) -> Holds {
        match part {
            Part::Argument(at) => args.get(at).map(|value| self.holds(value)).unwrap_or_default(),
            Part::Field { of, at } => {
                let Some(value) = args.get(of) else { return Holds::Nothing };
                let DataType::Struct(fields) = &value.data_type else { return Holds::Nothing };
                let name = fields.get(at).map(|field| field.name().as_str());
                name.map(|name| self.holds(value).field(name).clone()).unwrap_or_default()
            }
        }
    }

    fn of_call(&self, name: &str, args: &[Expr]) -> Holds {
        let text = |e: &Expr| e.as_literal().and_then(ScalarValue::try_as_str).flatten().map(str::to_string);
        match (name, args) {
            ("nullif", [value, ..]) => self.holds(value),
            ("get_field", [value, name]) => match text(name) {
                Some(name) => self.holds(value).field(&name).clone(),
                None => Holds::Nothing,
            },
            ("named_struct", args) => Holds::in_structs(
                args.chunks_exact(2)
                    .filter_map(|field| Some((text(&field[0])?, self.holds(&field[1]))))
                    .collect(),
            ),
            ("struct", args) => Holds::in_structs(
                args.iter()
                    .enumerate()
                    .map(|(place, value)| (format!("c{place}"), self.holds(value)))
                    .collect(),
            ),
            ("list_extract" | "flatten" | "map_extract_value", [list, ..]) => {
                self.holds(list).items().clone()
            }
            ("list_value", items) => self.one_of(items.iter()).in_lists(),
            ("map", [_, values]) | ("map_values" | "map_extract", [values, ..]) => self.holds(values),
            ("map_concat", maps) => self.one_of(maps.iter()),
            ("map_entries", [map]) => {
                let entries =
                    vec![("key".into(), Holds::Nothing), ("value".into(), self.holds(map).items().clone())];
                Holds::in_structs(entries).in_lists()
            }
            ("map_from_entries", [list]) => match item_of(&list.data_type) {
                DataType::Struct(fields) if fields.len() == 2 => {
                    self.holds(list).items().field(fields[1].name()).clone().in_lists()
                }
                _ => Holds::Nothing,
            },
            ("list_zip", lists) => {
                let fields = lists.iter().enumerate();
                let field =
                    |(place, list): (usize, &Expr)| (format!("c{place}"), self.holds(list).items().clone());
                Holds::in_structs(fields.map(field).collect()).in_lists()
            }
            (name, args) if CHOICES.contains(&name) => self.one_of(args.iter()),
            (name, args) if OF_ITEMS.contains(&name) => {
                let of = |arg: &Expr| match self.holds(arg) {
                    Holds::Json => Holds::Json.in_lists(),
                    holds => holds,
                };
                args.iter().map(of).fold(Holds::Nothing, Holds::or)
            }
            _ => Holds::Nothing,
        }
    }

    /// Where values have it of which each is that of one of some expressions.
    pub fn one_of<'e>(&self, all: impl Iterator<Item = &'e Expr>) -> Holds {
        all.map(|e| self.holds(e)).fold(Holds::Nothing, Holds::or)
    }

    /// Where the results of an aggregate have it, or those of a function over windows.
    pub fn holds_of_results(&self, name: &str, args: &[Expr]) -> Holds {
        let Some(first) = args.first() else { return Holds::Nothing };
        of_results(name, self.holds(first))
    }

    /// Where the results of a call of an aggregate have it.
    pub fn holds_of_aggregate(&self, call: &Call) -> Holds {
        self.holds_of_results(call.function.name(), &call.args)
    }
}

/// Where the results of an aggregate have it, of values that have it there.
fn of_results(name: &str, values: Holds) -> Holds {
    match name {
        "array_agg" => values.in_lists(),
        name if AGGREGATES.contains(&name) => values,
        _ => Holds::Nothing,
    }
}
