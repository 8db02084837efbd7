//! The time zone of the session, where it is not UTC.
//!
//! What an expression on instants needs of the zone is made explicit here: the cast of an instant to a date is that of
//! what clocks show, `x AT TIME ZONE 'zone'`. So functions are computed without knowing of the zone, plans show it, and
//! where the zone is UTC nothing of this is in them.
//!
//! Functions that take instants are of four kinds:
//! - Some depend on the instant alone, and stay: [`ZONE_FREE`].
//! - Some are given what clocks show: [`OF_CLOCKS`].
//! - Some have rules of their own: [`Types::call_in_zone`].
//! - All others are refused.

use std::sync::Arc;

use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use expressions::functions::parts::part_of;
use expressions::functions::zone;
use expressions::functions::zone::session::{InZone, nanoseconds_of};
use expressions::text::shown;
use schema::instants::UTC;
use schema::zones::{self, Clocks};

use super::Types;
use crate::algebra::{Expr, Kind};
use crate::compile::is_text;
use crate::error::{Error, Result};
use crate::functions::Functions;

/// Functions that depend on the instant alone.
const ZONE_FREE: [&str; 24] = [
    zone::NAME,
    "arrow_cast",
    "arrow_try_cast",
    "arrow_typeof",
    "cast_to_type",
    "coalesce",
    "date_bin",
    "date_part",
    "date_sub",
    "epoch_ms",
    "epoch_ns",
    "epoch_us",
    "get_field",
    "greatest",
    "ifnull",
    "least",
    "named_struct",
    "nullif",
    "nvl",
    "nvl2",
    "struct",
    "time_bucket",
    "to_unixtime",
    "try_cast_to_type",
];

/// Functions of the date and time that clocks show.
const OF_CLOCKS: [&str; 7] =
    ["age", "dayname", "days_in_month", "julian", "last_day", "monthname", "to_local_time"];

/// Whether values of a type are instants.
pub(super) fn is_instant(t: &DataType) -> bool {
    matches!(t, DataType::Timestamp(_, Some(_)))
}

/// The type of the items of lists of any kind, or of the entries of maps.
fn item_of(t: &DataType) -> Option<&DataType> {
    match t {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => Some(item.data_type()),
        _ => None,
    }
}

/// Whether there are instants in values of a type.
pub(super) fn has_instants(t: &DataType) -> bool {
    match (t, item_of(t)) {
        (_, Some(item)) => has_instants(item),
        (DataType::Struct(fields), _) => fields.iter().any(|field| has_instants(field.data_type())),
        _ => is_instant(t),
    }
}

/// Whether a cast makes something else of instants, or instants of something else.
pub(super) fn crosses(from: &DataType, to: &DataType) -> bool {
    if from == to || from.is_null() {
        return false;
    }
    match (item_of(from), item_of(to)) {
        (Some(from), Some(to)) => return crosses(from, to),
        (None, None) if !from.is_nested() && !to.is_nested() => return is_instant(from) != is_instant(to),
        _ => {}
    }
    match (from, to) {
        (DataType::Struct(fields), DataType::Struct(wanted)) if fields.len() == wanted.len() => {
            fields.iter().zip(wanted).any(|(from, to)| crosses(from.data_type(), to.data_type()))
        }
        _ => has_instants(from) || has_instants(to),
    }
}

/// A type with text in place of instants.
pub(super) fn with_texts(t: &DataType) -> DataType {
    let field = |field: &Arc<arrow_schema::Field>| {
        Arc::new(field.as_ref().clone().with_data_type(with_texts(field.data_type())))
    };
    match t {
        DataType::List(item) => DataType::List(field(item)),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        t if is_instant(t) => DataType::Utf8View,
        other => other.clone(),
    }
}

fn instants(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some(UTC.into()))
}

fn text(text: &str) -> Expr {
    Expr::literal(ScalarValue::Utf8View(Some(text.into())))
}

impl Types {
    /// A call of a function of [`InZone`]; the zone is put behind the arguments.
    fn of_zone(&self, of: InZone, mut args: Vec<Expr>, zone: &str, data_type: DataType) -> Expr {
        args.push(text(zone));
        self.folded(Expr { kind: Kind::Call { function: of.function(), args }, data_type })
    }

    /// What clocks show at an instant, or the instant at which they show a timestamp.
    fn at_zone(&self, e: Expr, zone: &str, safe: bool) -> Expr {
        let data_type = match &e.data_type {
            DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, None),
            DataType::Timestamp(unit, None) => instants(*unit),
            other => other.clone(),
        };
        let args = vec![e, Expr::literal(ScalarValue::from(zone))];
        self.folded(Expr { kind: Kind::Call { function: zone::function(safe), args }, data_type })
    }

    /// A cast in a time zone. The expression, if the zone does not matter.
    pub(super) fn cast_in_zone(
        &self,
        e: Expr,
        to: &DataType,
        safe: bool,
        zone: &str,
    ) -> std::result::Result<Expr, Expr> {
        use DataType::{Date32, Date64, Time32, Time64, Timestamp};
        match (&e.data_type, to) {
            (Timestamp(_, Some(_)), Timestamp(_, None) | Date32 | Date64 | Time32(_) | Time64(_)) => {
                Ok(self.cast_to(self.at_zone(e, zone, safe), to, safe))
            }
            (Timestamp(_, Some(_)), to) if is_text(to) => {
                Ok(self.cast_to(self.of_zone(InZone::Text, vec![e], zone, DataType::Utf8View), to, safe))
            }
            (Timestamp(_, None) | Date32 | Date64, Timestamp(unit, Some(label))) if **label == *UTC => {
                let local = self.cast_to(e, &Timestamp(*unit, None), safe);
                Ok(self.at_zone(local, zone, safe))
            }
            (from, Timestamp(_, Some(label))) if is_text(from) && **label == *UTC => {
                Ok(self.of_zone(InZone::Read { to: to.clone(), safe }, vec![e], zone, to.clone()))
            }
            _ => Err(e),
        }
    }

    /// A sum or difference in a time zone. The operands, if the zone does not matter.
    pub(super) fn sum_in_zone(
        &self,
        left: Expr,
        op: Operator,
        right: Expr,
        zone: &str,
    ) -> Result<std::result::Result<Expr, (Expr, Expr)>> {
        let interval = DataType::Interval(IntervalUnit::MonthDayNano);
        let is_interval = |e: &Expr| matches!(e.data_type, DataType::Interval(_));
        let is_time = |e: &Expr| matches!(e.data_type, DataType::Timestamp(..) | DataType::Date32);
        let (of_left, of_right) = (is_instant(&left.data_type), is_instant(&right.data_type));
        match op {
            Operator::Minus if (of_left || of_right) && is_time(&left) && is_time(&right) => {
                let args = self.all_instants(vec![left, right])?;
                Ok(Ok(self.of_zone(InZone::Apart, args, zone, interval)))
            }
            Operator::Plus if is_interval(&left) && of_right => self.sum_in_zone(right, op, left, zone),
            Operator::Plus | Operator::Minus if of_left && is_interval(&right) => {
                if let Some(ScalarValue::IntervalMonthDayNano(Some(by))) = right.as_literal()
                    && by.months == 0
                    && by.days == 0
                {
                    return Ok(Err((left, right)));
                }
                let by = self.coerced(right, &interval)?;
                let by = if op == Operator::Minus { self.negative(by)? } else { by };
                let data_type = left.data_type.clone();
                Ok(Ok(self.of_zone(InZone::Plus, vec![left, by], zone, data_type)))
            }
            _ => Ok(Err((left, right))),
        }
    }

    /// Dates and timestamps as instants; others as they are.
    fn all_instants(&self, all: Vec<Expr>) -> Result<Vec<Expr>> {
        let one = |e: Expr| match &e.data_type {
            DataType::Timestamp(unit, None) => {
                let to = instants(*unit);
                self.coerced(e, &to)
            }
            DataType::Date32 => self.coerced(e, &instants(TimeUnit::Nanosecond)),
            _ => Ok(e),
        };
        all.into_iter().map(one).collect()
    }

    /// Instants as what clocks show; others as they are.
    fn all_shown(&self, all: Vec<Expr>, zone: &str) -> Vec<Expr> {
        let one = |e: Expr| if is_instant(&e.data_type) { self.at_zone(e, zone, false) } else { e };
        all.into_iter().map(one).collect()
    }

    /// A call in a time zone. Its arguments, as they are to be taken, if the call is one as in UTC from there on.
    ///
    /// # Errors
    /// What is computed depends on the zone, and on a part or unit that is not constant.
    pub(super) fn call_in_zone(
        &self,
        name: &str,
        args: Vec<Expr>,
        zone: &str,
    ) -> Result<std::result::Result<Expr, Vec<Expr>>> {
        let call = |name: &str, args: Vec<Expr>| match Functions::all().scalar(name) {
            Some(function) => self.call(&function, args),
            None => Err(Error::Invalid(format!("there is no function '{name}'"))),
        };
        match (name, args.len()) {
            ("current_date", 0) => return Ok(Ok(self.cast_to(call("now", args)?, &DataType::Date32, false))),
            ("current_time", 0) => {
                let time = DataType::Time64(TimeUnit::Nanosecond);
                return Ok(Ok(self.cast_to(call("now", args)?, &time, false)));
            }
            ("make_timestamptz", 6) => {
                return Ok(Ok(self.at_zone(call("make_timestamp", args)?, zone, false)));
            }
            _ => {}
        }
        if !args.iter().any(|arg| is_instant(&arg.data_type)) {
            return Ok(Err(args));
        }
        if OF_CLOCKS.contains(&name) {
            return Ok(Err(self.all_shown(args, zone)));
        }
        Ok(match (name, args.as_slice()) {
            ("date_part", [part, _]) => match self.part_in_zone(name, part, zone)? {
                Some(part) if part == "epoch" => Err(args),
                Some(part) if part.starts_with("timezone") => Ok(self.offset(args, &part, zone)?),
                _ => Err(self.all_shown(args, zone)),
            },
            ("date_trunc", [part, _]) => match self.part_in_zone(name, part, zone)? {
                Some(part) if nanoseconds_of(&part).is_some() => Ok(self.cut(&part, args, zone)),
                _ => Ok(self.at_zone(call(name, self.all_shown(args, zone))?, zone, false)),
            },
            ("date_diff" | "date_sub", [unit, _, _]) => {
                let Some(unit) = self.part_in_zone(name, unit, zone)? else { return Ok(Err(args)) };
                let unit = if unit == "epoch" { "second" } else { unit.as_str() };
                match nanoseconds_of(unit) {
                    Some(_) if name == "date_diff" => {
                        let cuts = self.all_instants(args)?.into_iter().skip(1);
                        let cuts = cuts.map(|e| self.cut(unit, vec![text(unit), e], zone));
                        Ok(call("date_sub", [text(unit)].into_iter().chain(cuts).collect())?)
                    }
                    None if unit != "nanosecond" => Err(self.all_shown(args, zone)),
                    _ => Err(self.all_instants(args)?),
                }
            }
            ("time_bucket" | "date_bin", _) => Err(self.all_instants(args)?),
            ("coalesce" | "ifnull" | "nvl" | "greatest" | "least", _) => Err(self.all_instants(args)?),
            ("strftime", [first, second]) if is_text(&first.data_type) || is_text(&second.data_type) => {
                let (times, mut texts): (Vec<Expr>, Vec<Expr>) =
                    args.into_iter().partition(|arg| is_instant(&arg.data_type));
                texts.splice(0..0, times);
                Ok(self.of_zone(InZone::Format, texts, zone, DataType::Utf8View))
            }
            ("to_char", [_, _]) => {
                // Its formatter knows the clocks of a type's zone.
                let labelled = |e: Expr| match &e.data_type {
                    DataType::Timestamp(unit, Some(_)) => {
                        let to = DataType::Timestamp(*unit, Some(zone.into()));
                        self.plain_cast(e, &to, false)
                    }
                    _ => e,
                };
                Err(args.into_iter().map(labelled).collect())
            }
            _ => Err(args),
        })
    }

    /// The part of a date that a constant names; `None` for NULL.
    fn part_in_zone(&self, name: &str, part: &Expr, zone: &str) -> Result<Option<String>> {
        match part.as_literal() {
            Some(part) if part.is_null() => Ok(None),
            Some(part) => Ok(Some(part_of(Some(part))?)),
            None => Err(Error::Unsupported(format!(
                "{name}() of a part that is not constant, and of a TIMESTAMP WITH TIME ZONE in the time zone {zone}\n  \
                 help: x AT TIME ZONE '{zone}' is a TIMESTAMP, of which it is known"
            ))),
        }
    }

    /// How far clocks are from UTC: in seconds, or the hours or minutes of that.
    fn offset(&self, args: Vec<Expr>, part: &str, zone: &str) -> Result<Expr> {
        let instant = args.into_iter().skip(1).collect();
        let seconds = self.of_zone(InZone::Offset, instant, zone, DataType::Int64);
        let number = |n: i64| Expr::literal(ScalarValue::Int64(Some(n)));
        match part {
            "timezone_hour" => self.integer_quotient(seconds, number(3_600)),
            "timezone_minute" => {
                let minutes = self.integer_quotient(seconds, number(60))?;
                self.binary(minutes, Operator::Modulo, number(60))
            }
            _ => Ok(seconds),
        }
    }

    /// An instant, the second argument, cut to a part of a day.
    fn cut(&self, part: &str, args: Vec<Expr>, zone: &str) -> Expr {
        let args: Vec<Expr> = [text(part)].into_iter().chain(args.into_iter().skip(1)).collect();
        let data_type = args.last().map_or(DataType::Null, |e| e.data_type.clone());
        self.of_zone(InZone::Cut, args, zone, data_type)
    }

    /// Refuses a function that is given instants, and of which it is not known what the zone means to it.
    ///
    /// # Errors
    /// It is such a function.
    pub(super) fn check_zone(&self, written: &str, name: &str, args: &[Expr]) -> Result<()> {
        let Some(zone) = &self.zone else { return Ok(()) };
        let is_labelled = |e: &Expr| match &e.data_type {
            DataType::Timestamp(_, Some(label)) => name == "to_char" && label == zone,
            _ => false,
        };
        let is_known = ZONE_FREE.contains(&name) || name.contains(' ');
        match args.iter().find(|arg| has_instants(&arg.data_type) && !is_labelled(arg)) {
            Some(arg) if !is_known => Err(Error::Unsupported(format!(
                "{written}() of a {} in the time zone {zone}\n  help: x AT TIME ZONE '{zone}' is what clocks there \
                 show; SET TimeZone = 'UTC' gives what they show in UTC",
                shown(&arg.data_type)
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses a cast by a type of Arrow's, whose label of a zone would say something else than the session's.
    ///
    /// # Errors
    /// It is such a cast.
    pub(super) fn check_arrow_cast(&self, name: &str, from: &DataType, to: &DataType) -> Result<()> {
        match &self.zone {
            Some(zone) if name.starts_with("arrow") && crosses(from, to) => Err(Error::Unsupported(format!(
                "{name}() from {from} to {to} in the time zone {zone}\n  help: CAST(… AS …), or SET TimeZone = 'UTC'"
            ))),
            _ => Ok(()),
        }
    }

    /// A setting of the session, as `current_setting` gives it.
    ///
    /// # Errors
    /// The name is not constant, or that of none that is known here.
    pub(super) fn setting(&self, name: &Expr) -> Result<Expr> {
        let name = name.as_literal().and_then(|name| name.try_as_str().flatten());
        match name.map(str::to_lowercase).as_deref() {
            Some("timezone" | "time_zone") => Ok(text(&self.zone_name)),
            Some(other) => Err(Error::Name {
                message: format!("current_setting() knows no setting '{other}'"),
                help: Some("it knows 'TimeZone'".into()),
            }),
            None => Err(Error::Invalid("current_setting() takes the name of a setting: 'TimeZone'".into())),
        }
    }
}

/// The constant zone of AT TIME ZONE as it is spelled in the database.
///
/// # Errors
/// There is no such zone.
pub(super) fn spelled(zone: Expr) -> Result<Expr> {
    match zone.as_literal().and_then(|zone| zone.try_as_str().flatten()) {
        Some(name) if Clocks::of(name).is_none() => match zones::named(name) {
            Ok(known) => Ok(text(known)),
            Err(message) => Err(Error::Invalid(message)),
        },
        _ => Ok(zone),
    }
}
