//! Calls of functions: the types of arguments and results, and functions that only stand for another expression.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::simplify::ExprSimplifyResult;
use datafusion_expr::type_coercion::functions::{UDFCoercionExt, fields_with_udf};
use datafusion_expr::{Expr as LogicalExpr, Operator, ReturnFieldArgs, ScalarUDF, Volatility};
use expressions::functions::own::bytes::BYTES_OF_TEXT;
use expressions::functions::{decimal_rounding, lists, nullif, own, zone};
use schema::instants::UTC;

use super::Types;
use super::compared::is_bytes;
use super::mismatch::of_nested;
use super::numbers::{Use, are_apart, is_decimal, is_time};
use super::{signatures, zones};
use crate::algebra::{Expr, Kind};
use crate::compile::is_text;
use crate::error::{Error, Result};
use crate::functions::Functions;

/// Functions that take lists, structs and maps as they are. Others would be given their text.
const OF_NESTED: [&str; 13] = [
    "get_field",
    "greatest",
    "hash",
    "least",
    "coalesce",
    "nvl",
    "nvl2",
    "ifnull",
    "nullif",
    "arrow_typeof",
    "arrow_cast",
    "struct",
    "named_struct",
];

/// Functions whose arguments are brought to one type.
const OF_ONE_TYPE: [&str; 5] = ["coalesce", "greatest", "least", "nvl", "ifnull"];

/// Functions of floats.
const OF_FLOATS: [&str; 31] = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "cot",
    "degrees",
    "exp",
    "isnan",
    "iszero",
    "ln",
    "log",
    "log10",
    "log2",
    "nanvl",
    "pow",
    "power",
    "radians",
    "signum",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "factorial",
    "erf",
];

impl Types {
    /// A call of a function. What only stands for another expression, such as `arrow_cast`, becomes that, and `now()` a
    /// literal.
    ///
    /// # Errors
    /// The function takes no such arguments.
    pub fn call(&self, function: &Arc<ScalarUDF>, args: Vec<Expr>) -> Result<Expr> {
        self.call_as(function.name(), function, args)
    }

    /// A call of a function by a name that it is given, which may be one of several.
    ///
    /// # Errors
    /// As of [`Types::call`], with that name.
    pub fn call_as(&self, written: &str, function: &Arc<ScalarUDF>, args: Vec<Expr>) -> Result<Expr> {
        let name = function.name();
        // `= any` takes a list.
        if let Some(of_lists) = lists::find(name) {
            return self.of_lists(written, of_lists, args);
        }
        let mut args = args;
        if let Some(zone) = &self.zone {
            args = match self.call_in_zone(name, args, zone)? {
                Ok(value) => return Ok(value),
                Err(args) => args,
            };
        }
        if name == zone::NAME
            && let Some(last) = args.pop()
        {
            args.push(zones::spelled(last)?);
        }
        let takes_nested = OF_NESTED.contains(&name) || name.contains(' ');
        if !takes_nested && args.iter().any(|arg| arg.data_type.is_nested()) {
            return Err(of_nested(&format!("{name}()")));
        }
        if let Some(value) = self.of_the_query(function, &args)? {
            return Ok(value);
        }
        match (name, args.as_slice()) {
            ("trunc", [value, digits @ ..]) if value.data_type.is_integer() => {
                return match digits.is_empty() {
                    true => Ok(args.swap_remove(0)),
                    false => self.cut_integer(written, function, args),
                };
            }
            ("to_timestamp", [seconds]) if seconds.data_type.is_floating() => {
                return self.moment(args.swap_remove(0));
            }
            ("nvl2", [_, _, _]) => {
                let (otherwise, then) = (args.pop(), args.pop());
                let known = args.pop().map(|test| self.is_null(test, true));
                return self.case(None, known.zip(then).into_iter().collect(), otherwise);
            }
            _ if OF_ONE_TYPE.contains(&name) => args = self.texts_as_times(args)?,
            _ => {}
        }
        if own::find(name).is_some() && fields_with_udf(&fields_of(&args), function.as_ref()).is_err() {
            args = args.into_iter().map(|arg| self.text_as_time(arg)).collect();
        }
        let alike = match name {
            name if OF_ONE_TYPE.contains(&name) || name == nullif::NAME => args.as_slice(),
            _ => &[],
        };
        let first = alike.iter().find(|arg| !arg.data_type.is_null());
        if first.is_some_and(|first| alike.iter().any(|arg| are_apart(&first.data_type, &arg.data_type))) {
            return Err(no_match(written, function.as_ref(), &args));
        }
        if OF_ONE_TYPE.contains(&name) {
            args = self.alike(args, is_bytes, &DataType::BinaryView)?;
            args = self.alike(args, is_time, &DataType::Time64(TimeUnit::Nanosecond))?;
        }
        let (function, args) = self.of_decimals(written, function.clone(), args)?;
        let args = match <[Expr; 2]>::try_from(args) {
            Ok([value, other]) if name == nullif::NAME && differ(&value, &other) => {
                return self.null_if(value, other);
            }
            Ok(pair) => pair.into(),
            Err(args) => args,
        };
        let mut args = self.arguments(written, function.as_ref(), args)?;
        self.check_zone(written, name, &args)?;
        match (name, args.as_slice()) {
            ("coalesce" | "nvl", [first, ..]) => {
                let data_type = first.data_type.clone();
                return Ok(self.first_known(function, args, data_type));
            }
            (nullif::NAME, [value, other]) if value.data_type != other.data_type => {
                let other = args.pop().unwrap_or_else(|| Expr::boolean(None));
                return self.null_if(args.swap_remove(0), other);
            }
            ("arrow_cast" | "arrow_try_cast" | "cast_to_type" | "try_cast_to_type", [_, _]) => {
                let to = result_of(&function, &args)?;
                self.check_arrow_cast(name, &args[0].data_type, &to)?;
                return self.written(args.swap_remove(0), &to, name.contains("try"));
            }
            ("to_char", [_, format]) => check_specifiers(format)?,
            // Seconds since 1970 are a moment, whatever the zone.
            ("to_timestamp", [seconds]) if seconds.data_type.is_numeric() => {
                let moment = self.typed_call(function, args)?;
                let DataType::Timestamp(unit, _) = moment.data_type else { return Ok(moment) };
                return Ok(self.plain_cast(moment, &DataType::Timestamp(unit, Some(UTC.into())), false));
            }
            ("starts_with", [text, start]) if is_text(&text.data_type) => {
                if let Some(Some(start)) = start.as_literal().map(|start| start.try_as_str().flatten()) {
                    let pattern = ScalarValue::from(beginning(start)).cast_to(&text.data_type)?;
                    return self.like(args.swap_remove(0), Expr::literal(pattern), false, false);
                }
            }
            _ => {}
        }
        self.typed_call(function, args)
    }

    /// `trunc` of an integer before the point, by way of decimals: floats do not hold all integers.
    fn cut_integer(&self, written: &str, function: &Arc<ScalarUDF>, mut args: Vec<Expr>) -> Result<Expr> {
        let Some(value) = args.first_mut() else { return Err(no_match(written, function.as_ref(), &args)) };
        let data_type = value.data_type.clone();
        let integer = std::mem::replace(value, Expr::boolean(None));
        *value = self.coerced(integer, &DataType::Decimal128(20, 0))?;
        Ok(self.plain_cast(self.call_as(written, function, args)?, &data_type, false))
    }

    /// The moment of seconds since 1970 that are a float, to the microsecond. DataFusion's function gives the last
    /// moment that there is for what is beyond, and 1970 for what is no number.
    fn moment(&self, seconds: Expr) -> Result<Expr> {
        let micros = self.binary(seconds, Operator::Multiply, Expr::literal(ScalarValue::from(1e6)))?;
        let micros = self.coerced(micros, &DataType::Int64)?;
        let moments = |unit| DataType::Timestamp(unit, Some(UTC.into()));
        let moment = self.plain_cast(micros, &moments(TimeUnit::Microsecond), false);
        Ok(self.plain_cast(moment, &moments(TimeUnit::Nanosecond), false))
    }

    /// A constant text that is a date or a timestamp as that; others as they are.
    pub(super) fn text_as_time(&self, e: Expr) -> Expr {
        let Some(text) = e.as_literal().and_then(|value| value.try_as_str().flatten()) else { return e };
        let to = match text.trim_ascii().contains([' ', 'T']) {
            true => DataType::Timestamp(TimeUnit::Nanosecond, None),
            false => DataType::Date32,
        };
        let time = self.cast_to(e.clone(), &to, true);
        if time.as_literal().is_some_and(|value| !value.is_null()) { time } else { e }
    }

    /// Constant texts beside dates or times as values of their type.
    fn texts_as_times(&self, args: Vec<Expr>) -> Result<Vec<Expr>> {
        let time = args.iter().map(|arg| &arg.data_type).find(|t| t.is_temporal()).cloned();
        let Some(time) = time else { return Ok(args) };
        let read = |arg: Expr| match is_text(&arg.data_type) && arg.as_literal().is_some() {
            true => self.coerced(arg, &time),
            false => Ok(arg),
        };
        args.into_iter().map(read).collect()
    }

    /// A call of a function whose arguments have the types that it takes.
    pub(super) fn typed_call(&self, function: Arc<ScalarUDF>, args: Vec<Expr>) -> Result<Expr> {
        let data_type = result_of(&function, &args)?;
        Ok(self.folded(Expr { kind: Kind::Call { function, args }, data_type }))
    }

    /// `current_date`, `now()` and the like, which have one value for the query. Functions know it only where they are
    /// simplified.
    fn of_the_query(&self, function: &ScalarUDF, args: &[Expr]) -> Result<Option<Expr>> {
        if !args.is_empty() || function.signature().volatility != Volatility::Stable {
            return Ok(None);
        }
        Ok(match function.simplify(vec![], &self.context)? {
            ExprSimplifyResult::Simplified(LogicalExpr::Literal(value, _)) => Some(Expr::literal(value)),
            _ => None,
        })
    }

    /// Values among which those of a kind, such as bytes, have one type.
    fn alike(&self, args: Vec<Expr>, is: fn(&DataType) -> bool, to: &DataType) -> Result<Vec<Expr>> {
        let types = || args.iter().map(|arg| &arg.data_type).filter(|t| is(t));
        if types().next().is_none_or(|first| types().all(|t| t == first)) {
            return Ok(args);
        }
        let alike = |arg: Expr| if is(&arg.data_type) { self.coerced(arg, to) } else { Ok(arg) };
        args.into_iter().map(alike).collect()
    }

    /// The rules for decimals, before those of the function.
    fn of_decimals(
        &self,
        written: &str,
        function: Arc<ScalarUDF>,
        mut args: Vec<Expr>,
    ) -> Result<(Arc<ScalarUDF>, Vec<Expr>)> {
        let name = function.name();
        if OF_ONE_TYPE.contains(&name) {
            self.align(&mut args.iter_mut().collect::<Vec<_>>(), Use::Result)?;
        } else if let Some(kind) = decimal_rounding::of_function(name)
            && args.first().is_some_and(|value| matches!(value.data_type, DataType::Decimal128(..)))
        {
            fields_with_udf(&fields_of(&args), function.as_ref())
                .map_err(|_| no_match(written, function.as_ref(), &args))?;
            // The type depends on the number of digits that is wanted.
            let digits = match args.get(1) {
                None => Some(0),
                Some(digits) => digits.as_literal().and_then(whole),
            };
            if digits.is_some() {
                args.truncate(1);
            }
            return Ok((decimal_rounding::function(kind, digits), args));
        } else if OF_FLOATS.contains(&name) {
            args = self.doubles(args)?;
        }
        Ok((function, args))
    }

    /// Arguments in the types that a function takes.
    pub(super) fn arguments<F: UDFCoercionExt>(
        &self,
        written: &str,
        function: &F,
        args: Vec<Expr>,
    ) -> Result<Vec<Expr>> {
        let taken = fields_with_udf(&fields_of(&args), function);
        let taken = taken.map_err(|_| no_match(written, function, &args))?;
        args.into_iter().zip(taken).map(|(arg, field)| self.argument(arg, field.data_type())).collect()
    }

    /// An argument in the type that a function takes. A text is its bytes to a function of bytes: a cast would read
    /// `\x00` as one of them.
    fn argument(&self, arg: Expr, to: &DataType) -> Result<Expr> {
        match is_text(&arg.data_type) && is_bytes(to) {
            true => self.coerced(self.bytes_of(arg)?, to),
            false => self.coerced(arg, to),
        }
    }

    /// The bytes of a text as they stand.
    pub(super) fn bytes_of(&self, text: Expr) -> Result<Expr> {
        match Functions::all().scalar(BYTES_OF_TEXT) {
            Some(function) => self.typed_call(function, vec![self.coerced(text, &DataType::Utf8View)?]),
            None => Err(Error::Invalid(format!("there is no function '{BYTES_OF_TEXT}'"))),
        }
    }
}

/// Whether two numbers of different types, of which one is a decimal or a truth value, are compared in `nullif`.
fn differ(value: &Expr, other: &Expr) -> bool {
    let (left, right) = (&value.data_type, &other.data_type);
    let is_number = |t: &DataType| t.is_numeric() || *t == DataType::Boolean;
    let has = |is: fn(&DataType) -> bool| is(left) || is(right);
    let are_numbers = is_number(left) && is_number(right);
    left != right && are_numbers && (has(is_decimal) || has(|t| *t == DataType::Boolean))
}

fn whole(value: &ScalarValue) -> Option<i64> {
    match value.cast_to(&DataType::Int64) {
        Ok(ScalarValue::Int64(value)) => value,
        _ => None,
    }
}

/// The pattern of LIKE for texts that begin with one.
fn beginning(start: &str) -> String {
    let mut pattern = String::with_capacity(start.len() + 1);
    for c in start.chars() {
        if matches!(c, '\\' | '%' | '_') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

/// Arguments as fields.
pub(super) fn fields_of(args: &[Expr]) -> Vec<FieldRef> {
    let field = |arg: &Expr| {
        let is_known = arg.as_literal().is_some_and(|value| !value.is_null());
        Arc::new(Field::new("argument", arg.data_type.clone(), !is_known))
    };
    args.iter().map(field).collect()
}

/// The type of a call whose arguments have their types.
fn result_of(function: &ScalarUDF, args: &[Expr]) -> Result<DataType> {
    let fields = fields_of(args);
    let constants: Vec<Option<&ScalarValue>> = args.iter().map(Expr::as_literal).collect();
    let field = function
        .return_field_from_args(ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &constants })?;
    Ok(field.data_type().clone())
}

impl Types {
    /// No function that stands for another expression takes so many arguments.
    pub(crate) fn not_standing(&self, name: &str, args: &[Expr]) -> Error {
        let given: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
        signatures::no_standing(name, &given)
    }
}

/// No function of the name takes such arguments.
fn no_match<F: UDFCoercionExt>(written: &str, function: &F, args: &[Expr]) -> Error {
    let types: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
    signatures::no_function(written, function.name(), &function.signature().type_signature, &types)
}

/// Refuses formats such as `YYYY-MM-DD`, of which each value would be that text.
fn check_specifiers(format: &Expr) -> Result<()> {
    match format.as_literal().and_then(|format| format.try_as_str().flatten()) {
        Some(text) if !text.contains('%') && text.contains(char::is_alphabetic) => {
            let message = format!(
                "the format '{text}' of to_char() has no specifier\n  help: specifiers begin with %: \
                 to_char(x, '%Y-%m-%d %H:%M:%S')"
            );
            Err(Error::Invalid(message))
        }
        _ => Ok(()),
    }
}
