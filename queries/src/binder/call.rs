//! Calls of functions and aggregates.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::AggregateUDF;
use expressions::functions::json::made::Makes;
use sqlparser::ast::{
    DuplicateTreatment, Expr as Ast, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator,
    FunctionArgumentClause, FunctionArguments, Ident, NullTreatment, ObjectName, OrderByExpr, Spanned,
};

use super::grouping::is_aggregated;
use super::scope::{Env, Marks};
use super::unnest::UNNEST;
use super::{Binder, literal, nested};
use crate::algebra::{Call, Expr, SortKey, WindowFunction};
use crate::error::{Error, Result};
use crate::functions::standing;
use crate::macros;
use crate::meant;
use crate::parse::{calls, stars};
use crate::types::json::{self, Named};
use crate::types::means::OfMicros;
use crate::types::{attempts, date_parts, groups, items, lists, maps, series, structs};

/// Aggregates that take an order of the values that they are given.
const ORDERED_SETS: [&str; 4] =
    ["percentile_cont", "quantile_disc", "approx_percentile_cont", "approx_percentile_cont_with_weight"];

/// Aggregates that take a list of places too.
const QUANTILES: [&str; 5] =
    ["quantile_cont", "percentile_cont", "quantile_disc", "percentile_disc", "quantile"];

/// Aggregates of several arguments of which DISTINCT concerns the first.
const DISTINCT_OF_THE_FIRST: [&str; 3] = ["string_agg", "percentile_cont", "quantile_disc"];

/// Aggregates that make JSON of the texts that `string_agg` puts together.
const GROUP_ARRAY: &str = "json_group_array";
const GROUP_OBJECT: &str = "json_group_object";
const GROUP_STRUCTURE: &str = "json_group_structure";

/// A call as it is written.
pub(super) struct Written<'q> {
    pub name: String,
    pub args: Vec<&'q FunctionArg>,
    pub distinct: bool,
    pub order_by: &'q [OrderByExpr],
    pub within_group: &'q [OrderByExpr],
    pub filter: Option<&'q Ast>,
    pub ignore_nulls: Option<bool>,
}

impl Written<'_> {
    /// Refuses what is said in aggregates alone.
    ///
    /// # Errors
    /// It stands here.
    pub(super) fn check_scalar(&self) -> Result<()> {
        let only_aggregates = [
            (self.distinct, "DISTINCT"),
            (!self.order_by.is_empty(), "ORDER BY"),
            (!self.within_group.is_empty(), "WITHIN GROUP"),
            (self.filter.is_some(), "FILTER"),
            (self.ignore_nulls.is_some(), "IGNORE NULLS"),
        ];
        match only_aggregates.into_iter().find(|(is, _)| *is) {
            Some((_, what)) => {
                Err(Error::Invalid(format!("{what} in {}(), which is no aggregate", self.name)))
            }
            None => Ok(()),
        }
    }
}

impl<'a> Binder<'a> {
    /// A call of a function of this name.
    pub(super) fn call_named(&mut self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        match self.functions.scalar(name) {
            Some(function) => self.types.call(&function, args),
            None => Err(self.no_function(name)),
        }
    }

    /// `quantile_cont(x, [0.25, 0.5])`: a list of the same for each place, and NULL of no values.
    fn quantiles(&mut self, function: &Function, env: &Env<'_>) -> Result<Option<Expr>> {
        let at = if function.within_group.is_empty() { 1 } else { 0 };
        let places = match &function.args {
            FunctionArguments::List(list) => match list.args.get(at) {
                Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Array(places)))) => &places.elem,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let mut quantiles = Vec::with_capacity(places.len());
        for place in places {
            let mut one = function.clone();
            if let FunctionArguments::List(list) = &mut one.args
                && let Some(arg) = list.args.get_mut(at)
            {
                *arg = FunctionArg::Unnamed(FunctionArgExpr::Expr(place.clone()));
            }
            quantiles.push(self.function(&one, env)?);
        }
        let Some(first) = quantiles.first().cloned() else {
            return Err(Error::Invalid(format!("{}() takes at least one place", function.name)));
        };
        let list = self.types.list_call("list_value", quantiles)?;
        let null = Expr::null(&list.data_type);
        self.types.case(None, vec![(first.is_null(), null)], Some(list)).map(Some)
    }

    /// What a macro stands for, or an argument in it, whose names are those of where the macro is called.
    fn of_macro(&mut self, function: &Function, env: &Env<'_>) -> Result<Option<Expr>> {
        let Some(name @ (macros::VALUE | macros::ARGUMENT)) = calls::name_of(function) else {
            return Ok(None);
        };
        let mut args = calls::args(function);
        let (Some(number), Some(e)) = (args.next().and_then(calls::digits), args.next()) else {
            return Ok(None);
        };
        if name == macros::VALUE {
            let marks = Marks { number, around: env.macros };
            return self.expr(e, &Env { macros: Some(&marks), ..*env }).map(Some);
        }
        match env.levels().find(|level| level.macros.is_some_and(|marks| marks.has(number))) {
            Some(level) => self.expr(e, level).map(Some),
            None => Err(Error::Invalid("an argument of a macro where its macro is not known".into())),
        }
    }

    pub(super) fn function(&mut self, function: &Function, env: &Env<'_>) -> Result<Expr> {
        if let FunctionArguments::Subquery(query) = &function.args
            && function.name.to_string().eq_ignore_ascii_case("array")
            && function.over.is_none()
        {
            return self.listed(query, env);
        }
        if let Some(value) = self.of_macro(function, env)? {
            return Ok(value);
        }
        if let Some(function) = of_column(function, env)? {
            return self.function(&function, env);
        }
        let written = written(function)?;
        let name = written.name.as_str();
        if QUANTILES.contains(&name)
            && let Some(quantiles) = self.quantiles(function, env)?
        {
            return Ok(quantiles);
        }
        if let Some(list) = self.top_values(function, env)? {
            return Ok(list);
        }
        let place = function.name.span();
        if let Some(over) = &function.over {
            return self.over(function, over, &written, env);
        }
        if let Some(makes) = nested::of_lambda(name) {
            return self.lambda_call(makes, &written, env);
        }
        if UNNEST.contains(&name) {
            return self.unnested(&written, env).map_err(|error| error.at(place));
        }
        if let Some(of_items) = items::of(name) {
            written.check_scalar()?;
            let args = self.args(&written, env)?;
            return self.types.aggregated(name, of_items, args);
        }
        if maps::is_one(name) {
            written.check_scalar()?;
            let args = self.args(&written, env)?;
            return self.types.of_maps(name, args);
        }
        if structs::is_one(name) {
            written.check_scalar()?;
            let args = self.named_args(&written, env)?;
            return self.types.structure(name, args);
        }
        if name == attempts::NAME {
            return self.attempted(&written, env).map_err(|error| error.at(place));
        }
        let scalar = self.functions.scalar(name);
        let stands = standing::of(name, written.args.len());
        let of_json = json::named(name);
        if scalar.is_some() || of_json.is_some() || standing::names().any(|known| known == name) {
            written.check_scalar()?;
            if let Some(of_json) = of_json {
                let args = self.args_with_rows(&written, env)?;
                return self.types.of_json(name, of_json, args, &self.columns);
            }
            let args = self.args(&written, env)?;
            if name == "contains" && args.first().is_some_and(|of| matches!(of.data_type, DataType::Map(..)))
            {
                return self.types.of_maps("map_contains", args);
            }
            if let Some(function) = series::of_times(name, &args) {
                return self.types.series(name, function, args);
            }
            if let Some(gives) = groups::named(name, &args) {
                return self.types.named_groups(gives, args);
            }
            if date_parts::has_names(name, &args) {
                return self.types.date_parts(args);
            }
            if lists::zips_shortest(name, &args) {
                return self.types.zipped(args);
            }
            let of_lists = lists::given_lists(name, &args).or_else(|| lists::given_texts(name, &args));
            if let Some(of_lists) = of_lists {
                return self.types.of_lists(name, of_lists, args);
            }
            return match (stands, scalar) {
                (Some(stands), _) => self.types.standing(name, stands, args),
                (None, Some(scalar)) => self.types.call_as(name, &scalar, args),
                (None, None) => Err(self.types.not_standing(name, &args)),
            };
        }
        if name == "grouping" {
            let args = written.args.iter().map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Ok(e.clone()),
                _ => Err(Error::Invalid("grouping() takes keys of GROUP BY".into())),
            });
            return self.grouping(&args.collect::<Result<Vec<_>>>()?, env);
        }
        match self.functions.aggregate(name) {
            Some(aggregate) => self.aggregate(aggregate, &written, env),
            None if WindowFunction::named(name).is_some() => {
                let message = format!("{name}() is a window function\n  help: write {name}() OVER (…)");
                Err(Error::Invalid(message).at(place))
            }
            None => Err(self.no_function(name).at(place)),
        }
    }

    /// `try(e)`.
    fn attempted(&mut self, written: &Written<'_>, env: &Env<'_>) -> Result<Expr> {
        written.check_scalar()?;
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(e))] = written.args.as_slice() else {
            return Err(Error::Invalid("try() takes one expression".into()));
        };
        // It is computed before, over many rows.
        if is_aggregated(e) {
            return Err(Error::Unsupported("an aggregate or a window function in try()".into()));
        }
        let value = self.expr(e, env)?;
        self.types.attempted(format!("try({e})"), value, &self.columns)
    }

    /// The arguments of a call.
    ///
    /// # Errors
    /// One can't be bound, or is `*` where that has no meaning.
    pub(super) fn args(&mut self, written: &Written<'_>, env: &Env<'_>) -> Result<Vec<Expr>> {
        written.args.iter().map(|arg| self.arg(arg, &written.name, env)).collect()
    }

    /// An argument of a function of this name.
    fn arg(&mut self, arg: &FunctionArg, name: &str, env: &Env<'_>) -> Result<Expr> {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => self.expr(e, env),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) if name == "count" => {
                Ok(Expr::literal(ScalarValue::Int64(Some(1))))
            }
            FunctionArg::Unnamed(_) => {
                Err(Error::Invalid("* stands for all columns in SELECT and in count(*) alone".into()))
            }
            _ => Err(Error::Unsupported(format!("names of arguments in {name}()"))),
        }
    }

    /// The arguments of a call, and the names that some have. To `struct_pack` a column is given by its own name.
    fn named_args(&mut self, written: &Written<'_>, env: &Env<'_>) -> Result<Vec<structs::Argument>> {
        let mut args = Vec::with_capacity(written.args.len());
        let mut has_names = false;
        for arg in &written.args {
            let (name, e) = match arg {
                FunctionArg::Named {
                    name,
                    arg: FunctionArgExpr::Expr(e),
                    operator: FunctionArgOperator::Assignment | FunctionArgOperator::RightArrow,
                } => {
                    has_names = true;
                    (Some(name.value.clone()), e)
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(_)) if has_names => {
                    let message =
                        format!("a value without a name stands behind a named one in {}()", written.name);
                    return Err(Error::Invalid(message));
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => {
                    let name = match e {
                        Ast::Identifier(name) => Some(name),
                        Ast::CompoundIdentifier(parts) => parts.last(),
                        _ => None,
                    };
                    (name.filter(|_| written.name == "struct_pack").map(|name| name.value.clone()), e)
                }
                other => {
                    return Err(Error::Invalid(format!("'{other}' is no argument of {}()", written.name)));
                }
            };
            args.push((name, self.expr(e, env)?));
        }
        Ok(args)
    }

    /// The arguments, of which the name of a relation stands for its row as a struct.
    fn args_with_rows(&mut self, written: &Written<'_>, env: &Env<'_>) -> Result<Vec<Expr>> {
        let mut args = Vec::with_capacity(written.args.len());
        for arg in &written.args {
            let row = match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Identifier(name))) => self.row(name, env)?,
                _ => None,
            };
            args.push(match row {
                Some(row) => row,
                None => self.arg(arg, &written.name, env)?,
            });
        }
        Ok(args)
    }

    /// The row of the relation of a name, if no column has it: a struct, or of a series its number.
    ///
    /// # Errors
    /// The name means several things, or a column is no key of a query with groups.
    pub(super) fn row(&mut self, name: &Ident, env: &Env<'_>) -> Result<Option<Expr>> {
        let Some(relation) = env.relation_of(name) else { return Ok(None) };
        let fields = relation.fields.clone();
        if let ([field], true) = (fields.as_slice(), relation.is_value) {
            let parts = [name.clone(), Ident::with_quote('"', &field.name)];
            return self.expr(&Ast::CompoundIdentifier(parts.into()), env).map(Some);
        }
        let mut args = Vec::with_capacity(2 * fields.len());
        for field in &fields {
            args.push(literal::text(&field.name));
            // As it is written: in a query with groups it has to be a key.
            let parts = [name.clone(), Ident::with_quote('"', &field.name)];
            args.push(self.expr(&Ast::CompoundIdentifier(parts.into()), env)?);
        }
        self.call_named("named_struct", args).map(Some)
    }

    fn aggregate(
        &mut self,
        function: Arc<AggregateUDF>,
        written: &Written<'_>,
        env: &Env<'_>,
    ) -> Result<Expr> {
        let name = written.name.as_str();
        // Aggregates of the select list may name what stands before them, those of other clauses may not.
        let (aliases, unseen): (&[_], &[_]) = match env.clause {
            "SELECT" => (env.aliases, env.unseen),
            _ => (&[], if env.aliases.is_empty() { env.unseen } else { env.aliases }),
        };
        let clause = "an aggregate";
        let inside = Env { group: None, windows: None, unnested: None, clause, aliases, unseen, ..*env };
        let (call, data_type, micros) = self.aggregate_call(function, written, &inside)?;
        // It belongs to the nearest query whose columns it reads.
        let columns: Vec<_> = call
            .args
            .iter()
            .chain(&call.filter)
            .chain(call.order_by.iter().map(|key| &key.expr))
            .flat_map(Expr::columns)
            .collect();
        let home = env.levels().find(|level| columns.iter().any(|id| level.scope.has(*id))).unwrap_or(env);
        let Some(group) = home.group else {
            return Err(Error::Invalid(format!(
                "{name}() is an aggregate, and can't stand in {}\n  help: HAVING has conditions on aggregates",
                home.clause
            )));
        };
        let holds = self.columns.holds_of_aggregate(&call);
        let columns = &mut self.columns;
        let id = group.borrow_mut().call(call, || columns.add(name, data_type));
        self.columns.mark(id, holds);
        let result = self.columns.read(id);
        self.made_of(name, result, micros.as_ref())
    }

    /// The result of an aggregate, or what is made of it: times of microseconds, and JSON of the texts that it puts
    /// together.
    pub(super) fn made_of(&self, name: &str, result: Expr, micros: Option<&OfMicros>) -> Result<Expr> {
        if let Some(micros) = micros {
            return self.types.from_micros(result, micros);
        }
        match name {
            GROUP_ARRAY => self.types.json_enclosed(result, "[", "]"),
            GROUP_OBJECT => self.types.json_enclosed(result, "{", "}"),
            GROUP_STRUCTURE => {
                let all = self.types.json_enclosed(result, "[", "]")?;
                let structure =
                    self.types.of_json("json_structure", Named::Structure, vec![all], &self.columns)?;
                let first = Expr::literal(ScalarValue::Int64(Some(0)));
                self.types.json_item(structure, first, &self.columns)
            }
            _ => Ok(result),
        }
    }

    /// The texts that an aggregate puts together of which JSON is made.
    fn parts_of_json(&mut self, written: &Written<'_>, env: &Env<'_>) -> Result<Option<Vec<Expr>>> {
        let name = written.name.as_str();
        let (makes, arguments) = match name {
            GROUP_ARRAY | GROUP_STRUCTURE => (Makes::Item, 1),
            GROUP_OBJECT => (Makes::Field, 2),
            _ => return Ok(None),
        };
        let mut args = self.args_with_rows(written, env)?;
        if args.len() != arguments {
            let wanted = if arguments == 1 { "a value" } else { "a key and a value" };
            return Err(Error::Invalid(format!("{name}() takes {wanted}")));
        }
        if let (Makes::Field, Some(key)) = (makes, args.first_mut()) {
            *key = self.types.cast(key.clone(), &DataType::Utf8View, false)?;
        }
        let part = self.types.to_json("to_json", makes, args, &self.columns)?;
        Ok(Some(vec![part, literal::text(",")]))
    }

    /// A call of an aggregate whose arguments `inside` knows, the type of its result, and the times that are made of that.
    pub(super) fn aggregate_call(
        &mut self,
        function: Arc<AggregateUDF>,
        written: &Written<'_>,
        inside: &Env<'_>,
    ) -> Result<(Call, DataType, Option<OfMicros>)> {
        let name = written.name.as_str();
        if written.ignore_nulls.is_some() && !function.supports_null_handling_clause() {
            return Err(Error::Invalid(format!("IGNORE NULLS and RESPECT NULLS are not for {name}()")));
        }
        let is_star = |arg: &&FunctionArg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Wildcard));
        if written.distinct && written.args.iter().any(is_star) {
            let message = format!(
                "{name}(DISTINCT *)\n  help: SELECT count(*) FROM (SELECT DISTINCT * FROM …) counts rows that differ"
            );
            return Err(Error::Unsupported(message));
        }
        let mut args = match self.parts_of_json(written, inside)? {
            Some(parts) => parts,
            None => {
                let args = self.args(written, inside)?;
                self.types.completed(name, &function, args)?
            }
        };
        let takes_order = function.supports_within_group_clause() || ORDERED_SETS.contains(&function.name());
        let mut order_by = self.keys(written.order_by, inside)?;
        let within = self.keys(written.within_group, inside)?;
        if !within.is_empty() && order_by.is_empty() && function.name() == "string_agg" {
            // `listagg(x, ', ') WITHIN GROUP (ORDER BY x)`, as Oracle and Snowflake have it.
            order_by = within;
        } else if function.name() == "mode" && args.is_empty() && within.len() == 1 && !within[0].descending {
            args.push(within[0].expr.clone());
        } else if !within.is_empty() {
            if !takes_order || !order_by.is_empty() || within.len() > 1 {
                return Err(Error::Invalid(format!("WITHIN GROUP (ORDER BY …) of this kind in {name}()")));
            }
            args.insert(0, within[0].expr.clone());
            order_by = within;
        } else if takes_order && !order_by.is_empty() {
            // `percentile_cont(value, 0.5 ORDER BY value)`.
            if order_by.len() > 1 {
                return Err(Error::Invalid(format!("{name}() takes one key of ORDER BY")));
            }
            if args.len() >= 2 {
                args.remove(0);
            }
            args.insert(0, order_by[0].expr.clone());
        }
        if function.name() == "count" && args.is_empty() {
            args.push(Expr::literal(ScalarValue::Int64(Some(1))));
        }
        if written.distinct && args.len() > 1 && !DISTINCT_OF_THE_FIRST.contains(&function.name()) {
            return Err(Error::Unsupported(format!(
                "DISTINCT in {name}(), which has several arguments; a subquery with SELECT DISTINCT may do"
            )));
        }
        let filter = match written.filter {
            Some(filter) => Some(self.condition(filter, inside)?),
            None => None,
        };
        let (distinct, mut ignore_nulls) = (written.distinct, written.ignore_nulls);
        let mut function = function;
        if function.name() == "any_value" && !order_by.is_empty() {
            // With an order it is the first one.
            let first = self.functions.aggregate("first_value");
            function = first.ok_or_else(|| Error::Invalid("there is no aggregate 'first_value'".into()))?;
            ignore_nulls = Some(true);
        }
        let micros = self.types.in_micros(&function, &mut args, &mut order_by)?;
        let call = Call { function, args, distinct, filter, order_by, ignore_nulls };
        let (call, data_type) = self.types.aggregate_as(name, call)?;
        Ok((call, data_type, micros))
    }

    /// The keys of an order, each once.
    pub(super) fn keys(&mut self, written: &[OrderByExpr], env: &Env<'_>) -> Result<Vec<SortKey>> {
        let mut keys: Vec<SortKey> = Vec::with_capacity(written.len());
        for key in written {
            let expr = self.expr(&key.expr, env)?;
            if !keys.iter().any(|other| other.expr == expr) {
                let (descending, nulls_first) =
                    (key.options.asc == Some(false), key.options.nulls_first == Some(true));
                keys.push(SortKey { expr, descending, nulls_first });
            }
        }
        Ok(keys)
    }

    pub(super) fn no_function(&self, name: &str) -> Error {
        if name.eq_ignore_ascii_case(stars::UNPACKED) {
            let message = "*COLUMNS(…) elsewhere than among arguments and items in SELECT and WHERE";
            return Error::Unsupported(message.into());
        }
        let help = meant::function(name, self.functions);
        Error::Name { message: format!("there is no function '{name}'"), help }
    }
}

/// `name.upper()`: the function of that name, with a column as its first argument.
fn of_column(function: &Function, env: &Env<'_>) -> Result<Option<Function>> {
    let (Some(parts), FunctionArguments::List(list)) = (idents(&function.name), &function.args) else {
        return Ok(None);
    };
    let Some((name, column)) = parts.split_last() else { return Ok(None) };
    let column = match column {
        [] => return Ok(None),
        [one] if env.find(one)?.is_none() => return Ok(None),
        [one] => Ast::Identifier(one.clone()),
        several => Ast::CompoundIdentifier(several.to_vec()),
    };
    let mut list = list.clone();
    list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(column)));
    let args = FunctionArguments::List(list);
    Ok(Some(Function { name: ObjectName::from(vec![name.clone()]), args, ..function.clone() }))
}

fn idents(name: &ObjectName) -> Option<Vec<Ident>> {
    name.0.iter().map(|part| part.as_ident().cloned()).collect()
}

/// The parts of a call.
pub(super) fn written(function: &Function) -> Result<Written<'_>> {
    let name = match function.name.0.as_slice() {
        [part] => part.as_ident().map(|ident| ident.value.to_ascii_lowercase()),
        _ => None,
    };
    let Some(name) = name else {
        return Err(
            Error::Invalid(format!("there is no function '{}'", function.name)).at(function.name.span())
        );
    };
    if !matches!(function.parameters, FunctionArguments::None) {
        return Err(Error::Unsupported(format!("parameters of {name}()")));
    }
    let mut nulls = function.null_treatment;
    let (mut args, mut distinct, mut order_by): (Vec<_>, _, &[OrderByExpr]) = (vec![], false, &[]);
    match &function.args {
        FunctionArguments::None => {}
        FunctionArguments::Subquery(_) => {
            return Err(Error::Unsupported(format!(
                "a subquery as the argument of {name}(); put it in parentheses"
            )));
        }
        FunctionArguments::List(list) => {
            args = list.args.iter().collect();
            distinct = matches!(list.duplicate_treatment, Some(DuplicateTreatment::Distinct));
            for clause in &list.clauses {
                match clause {
                    FunctionArgumentClause::IgnoreOrRespectNulls(treatment) => nulls = Some(*treatment),
                    FunctionArgumentClause::OrderBy(keys) => order_by = keys,
                    other => return Err(Error::Unsupported(format!("{other} in {name}()"))),
                }
            }
        }
    }
    Ok(Written {
        name,
        args,
        distinct,
        order_by,
        within_group: &function.within_group,
        filter: function.filter.as_deref(),
        ignore_nulls: nulls.map(|nulls| nulls == NullTreatment::IgnoreNulls),
    })
}
