//! Comparisons of the year of a date or timestamp, and of the date of a timestamp, with constants. They become ranges
//! of the column itself, which zone maps can be asked. Nothing is computed for each row.
//!
//! `extract(year FROM d) = 2024` holds where `d >= DATE '2024-01-01' AND d < DATE '2025-01-01'`, and both are NULL
//! where `d` is. A year and a date never decrease as the column grows, so that a value of theirs is a span of the
//! column's. Only columns are looked at, since anything else would be computed twice.

use arrow_schema::{DataType, TimeUnit};
use chrono::{Datelike, NaiveDate};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use expressions::functions::parts::part_of;

use crate::algebra::{Expr, Kind};

/// A comparison with a constant on its right side; none if it is no such one.
pub fn comparison(left: &Expr, op: Operator, right: &Expr) -> Option<Expr> {
    let (column, first, next) = span(left, right)?;
    let (first, next) = (|op| compare(column, op, &first), |op| compare(column, op, &next));
    Some(match op {
        Operator::Eq => Expr::and([first(Operator::GtEq), next(Operator::Lt)]),
        Operator::NotEq => Expr::or([first(Operator::Lt), next(Operator::GtEq)]),
        Operator::Lt => first(Operator::Lt),
        Operator::LtEq => next(Operator::Lt),
        Operator::Gt => next(Operator::GtEq),
        Operator::GtEq => first(Operator::GtEq),
        _ => return None,
    })
}

/// `e BETWEEN low AND high` of constants; none if it is no such one.
pub fn between(e: &Expr, low: &Expr, high: &Expr) -> Option<Expr> {
    let ((column, first, _), (_, _, next)) = (span(e, low)?, span(e, high)?);
    Some(Expr::and([compare(column, Operator::GtEq, &first), compare(column, Operator::Lt, &next)]))
}

fn compare(column: &Expr, op: Operator, bound: &ScalarValue) -> Expr {
    Expr::compare(column.clone(), op, Expr::literal(bound.clone()))
}

/// The column of which an expression gives the year or the date. With it come the first value for which that is a
/// constant, and the first one behind them.
fn span<'e>(e: &'e Expr, constant: &Expr) -> Option<(&'e Expr, ScalarValue, ScalarValue)> {
    let (column, first, next) = match (&e.kind, constant.as_literal()?) {
        (Kind::Call { function, args }, ScalarValue::Int64(Some(year))) if function.name() == "date_part" => {
            let [part, column] = args.as_slice() else { return None };
            if part_of(part.as_literal()).ok()? != "year" {
                return None;
            }
            let first_day = |year: i64| NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, 1, 1).map(days);
            (column, first_day(*year)?, first_day(year.checked_add(1)?)?)
        }
        (Kind::Cast { expr: column, .. }, ScalarValue::Date32(Some(date))) => {
            let is_date_of = matches!(column.data_type, DataType::Timestamp(..));
            (is_date_of.then_some(column)?.as_ref(), i64::from(*date), i64::from(*date) + 1)
        }
        _ => return None,
    };
    column.as_column()?;
    Some((column, start(first, &column.data_type)?, start(next, &column.data_type)?))
}

/// The days since 1970.
fn days(date: NaiveDate) -> i64 {
    i64::from(
        date.num_days_from_ce() - NaiveDate::from_ymd_opt(1970, 1, 1).unwrap_or_default().num_days_from_ce(),
    )
}

/// The first moment of a day in a type; none if the type has none for it.
fn start(day: i64, data_type: &DataType) -> Option<ScalarValue> {
    let of_second = |units: i64| day.checked_mul(86_400)?.checked_mul(units);
    Some(match data_type {
        DataType::Date32 => ScalarValue::Date32(Some(i32::try_from(day).ok()?)),
        DataType::Timestamp(unit, zone) => {
            let zone = zone.clone();
            match unit {
                TimeUnit::Second => ScalarValue::TimestampSecond(Some(of_second(1)?), zone),
                TimeUnit::Millisecond => ScalarValue::TimestampMillisecond(Some(of_second(1_000)?), zone),
                TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(Some(of_second(1_000_000)?), zone),
                TimeUnit::Nanosecond => {
                    ScalarValue::TimestampNanosecond(Some(of_second(1_000_000_000)?), zone)
                }
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use expressions::functions::parts::date_part;

    use super::*;
    use crate::rules::testing::{Sample, int};

    #[test]
    fn a_year_is_a_range_of_dates() {
        let mut sample = Sample::default();
        let d = sample.column("d", DataType::Date32);
        let year = Expr {
            kind: Kind::Call {
                function: date_part(),
                args: vec![Expr::literal(ScalarValue::from("YEAR")), d.clone()],
            },
            data_type: DataType::Int64,
        };
        let of = |op| Expr::compare(year.clone(), op, int(2024));
        sample.simplifies(of(Operator::Eq), "(d#0 >= 2024-01-01) AND (d#0 < 2025-01-01)");
        sample.simplifies(of(Operator::NotEq), "(d#0 < 2024-01-01) OR (d#0 >= 2025-01-01)");
        sample.simplifies(of(Operator::Lt), "d#0 < 2024-01-01");
        sample.simplifies(of(Operator::LtEq), "d#0 < 2025-01-01");
        sample.simplifies(of(Operator::Gt), "d#0 >= 2025-01-01");
        sample.simplifies(of(Operator::GtEq), "d#0 >= 2024-01-01");
        let (expr, low, high) = (Box::new(year), Box::new(int(2020)), Box::new(int(2022)));
        let between = Expr::condition(Kind::Between { expr, low, high, negated: false });
        sample.simplifies(between, "(d#0 >= 2020-01-01) AND (d#0 < 2023-01-01)");
    }

    #[test]
    fn the_date_of_a_timestamp_is_a_day() {
        let mut sample = Sample::default();
        let t = sample.column("t", DataType::Timestamp(TimeUnit::Second, None));
        let expr = Box::new(t);
        let date = Expr { kind: Kind::Cast { expr, safe: false }, data_type: DataType::Date32 };
        let before = Expr::literal(ScalarValue::Date32(Some(-1)));
        let range = comparison(&date, Operator::Eq, &before).expect("a range");
        let bound = |seconds| Expr::literal(ScalarValue::TimestampSecond(Some(seconds), None));
        let Kind::And(terms) = &range.kind else { panic!("{range:?}") };
        let bounds: Vec<_> = terms.iter().map(|term| term.children()[1].clone()).collect();
        assert_eq!(bounds, [bound(-86_400), bound(0)]);
    }

    #[test]
    fn what_no_type_holds_stays() {
        let mut sample = Sample::default();
        let t = sample.column("t", DataType::Timestamp(TimeUnit::Nanosecond, None));
        let date = Expr { kind: Kind::Cast { expr: Box::new(t), safe: false }, data_type: DataType::Date32 };
        let far = Expr::literal(ScalarValue::Date32(Some(1_000_000)));
        assert_eq!(comparison(&date, Operator::Eq, &far), None);
    }
}
