//! Types of expressions, and values of constants.

use arrow_schema::DataType::{self, *};
use arrow_schema::{IntervalUnit, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;

use super::Types;
use crate::Settings;
use crate::algebra::{Call, Columns, Expr, Kind};
use crate::functions::Functions;

const TIMESTAMP: DataType = Timestamp(TimeUnit::Nanosecond, None);

fn types() -> Types {
    Types::new(&Settings { now_ns: 86_400_000_000_000, ..Settings::default() })
}

/// A column of a type.
fn column(data_type: &DataType) -> Expr {
    let mut columns = Columns::default();
    let id = columns.add("x", data_type.clone());
    columns.read(id)
}

fn int(value: i64) -> Expr {
    Expr::literal(ScalarValue::Int64(Some(value)))
}

fn text(value: &str) -> Expr {
    Expr::literal(ScalarValue::Utf8View(Some(value.into())))
}

/// 2.5
fn decimal() -> Expr {
    Expr::literal(ScalarValue::Decimal128(Some(25), 2, 1))
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    let function = Functions::all().scalar(name).expect("there is such a function");
    types().call(&function, args).expect("it takes such arguments")
}

fn shown(e: &Expr) -> String {
    Columns::default().show(e)
}

#[test]
fn arithmetic_has_the_type_that_holds_its_results() {
    use Operator::{Divide, Minus, Modulo, Multiply, Plus};
    let interval = Interval(IntervalUnit::MonthDayNano);
    for (left, op, right, result) in [
        (Int8, Plus, Int8, Int8),
        (Int32, Plus, Int64, Int64),
        (UInt32, Plus, Int32, Int64),
        (UInt64, Plus, Int64, Decimal128(21, 0)),
        (UInt64, Divide, Int64, Float64),
        (Int8, Divide, Int32, Float64),
        (Null, Divide, Int64, Float64),
        (Int64, Multiply, Float32, Float32),
        (Decimal128(10, 2), Plus, Float64, Float64),
        (Decimal128(10, 2), Plus, Float32, Float32),
        (Decimal128(10, 2), Plus, Int64, Decimal128(22, 2)),
        (Decimal128(10, 2), Multiply, Decimal128(10, 2), Decimal128(21, 4)),
        (Decimal128(10, 2), Divide, Int64, Float64),
        (Decimal128(10, 2), Modulo, Int8, Decimal128(5, 2)),
        (Int64, Plus, Null, Int64),
        (Date32, Plus, Int64, Date32),
        (Int8, Plus, Date32, Date32),
        (Date32, Minus, Date32, Int64),
        (Date32, Plus, interval.clone(), Date32),
        (TIMESTAMP, Minus, TIMESTAMP, Duration(TimeUnit::Nanosecond)),
        (Date32, Plus, Time64(TimeUnit::Nanosecond), TIMESTAMP),
    ] {
        let e = types().binary(column(&left), op, column(&right));
        assert_eq!(e.map(|e| e.data_type).ok(), Some(result), "{left} {op} {right}");
    }
    for (left, op, right) in
        [(Int64, Plus, Utf8View), (Date32, Plus, Float64), (Boolean, Plus, Int64), (Int64, Minus, Date32)]
    {
        assert!(types().binary(column(&left), op, column(&right)).is_err(), "{left} {op} {right}");
    }
}

#[test]
fn the_quotient_of_integers_is_one_where_it_is_asked_for() {
    let cuts = Types::new(&Settings { integer_division: true, ..Settings::default() });
    for (left, right, result) in
        [(Int8, Int8, Int8), (Int32, Int64, Int64), (UInt64, Int64, Decimal128(24, 0)), (Null, Int64, Int64)]
    {
        let (l, r) = (column(&left), column(&right));
        let quotient = types().integer_quotient(l.clone(), r.clone()).expect("both are integers");
        assert_eq!(quotient.data_type, result, "{left} // {right}");
        assert_eq!(cuts.binary(l, Operator::Divide, r).ok(), Some(quotient), "{left} / {right}");
    }
    let of_nulls = types().integer_quotient(column(&Null), column(&Null)).expect("it is NULL");
    assert_eq!(of_nulls.data_type, Int64);
    for (left, right) in [(Float64, Int64), (Int64, Decimal128(3, 1))] {
        assert!(types().integer_quotient(column(&left), column(&right)).is_err(), "{left} // {right}");
    }
}

#[test]
fn values_are_compared_in_a_type_that_holds_both() {
    for (left, right, compared) in [
        (Int32, Int64, Int64),
        (Int64, Float64, Float64),
        (Int64, Utf8View, Int64),
        (Date32, Utf8View, Date32),
        (TIMESTAMP, Date32, TIMESTAMP),
        (Decimal128(10, 2), Int64, Decimal128(21, 2)),
        (Decimal128(10, 2), Float32, Float32),
        (Decimal128(38, 30), Int64, Decimal256(49, 30)),
    ] {
        let e = types().binary(column(&left), Operator::Lt, column(&right)).expect("they are compared");
        let Kind::Binary(_, l, r) = &e.kind else { panic!("{e:?}") };
        assert_eq!((&l.data_type, &r.data_type), (&compared, &compared), "{left} {right}");
        let (value, of_column) =
            types().comparable(column(&left), Operator::Lt, &right).expect("they are compared");
        assert_eq!((value.data_type, of_column), (compared.clone(), compared), "{left} {right}");
    }
    assert!(types().binary(column(&Boolean), Operator::Plus, text("true")).is_err());
}

#[test]
fn a_constant_gets_the_type_of_the_column() {
    use Operator::{Eq, Gt, Lt, NotEq};
    for (t, op, constant, result) in [
        (Int32, Eq, int(5), "x#0 = 5"),
        (Int32, Gt, decimal(), "x#0 > 2"),
        (Int32, Lt, decimal(), "x#0 <= 2"),
        (Int32, Eq, int(1 << 40), "CAST(x#0 AS Int64) = 1099511627776"),
        (Decimal128(5, 2), NotEq, int(7), "x#0 != 7.00"),
        (Date32, Eq, text("2024-02-03"), "x#0 = 2024-02-03"),
        (Int64, Eq, text("12"), "x#0 = 12"),
    ] {
        let mut columns = Columns::default();
        let id = columns.add("x", t.clone());
        let e = types().binary(columns.read(id), op, constant.clone()).expect("they are compared");
        assert_eq!(columns.show(&e), result);
        let swapped = op.swap().expect("a comparison");
        let turned = types().binary(constant, swapped, columns.read(id)).expect("they are compared");
        assert_eq!(columns.show(&turned), result);
    }
    let mut columns = Columns::default();
    let x = columns.add("x", Int32);
    let list = types().in_list(columns.read(x), vec![decimal(), int(1), int(2)], true).expect("numbers");
    assert_eq!(columns.show(&list), "x#0 NOT IN (1, 2)");
    let one = types().in_list(columns.read(x), vec![decimal(), int(1)], false).expect("numbers");
    assert_eq!(columns.show(&one), "x#0 = 1");
    let range = types().between(columns.read(x), decimal(), decimal(), false).expect("numbers");
    assert_eq!(columns.show(&range), "x#0 BETWEEN 3 AND 2");
    let float = Expr::literal(ScalarValue::Float64(Some(-0.0)));
    let zero = types().binary(column(&Float64), Eq, float).expect("floats");
    let Kind::Binary(_, _, zero) = zero.kind else { panic!("a comparison") };
    assert_eq!(zero.as_literal().map(ToString::to_string), Some("0".into()));
}

#[test]
fn constants_are_computed_and_what_fails_stays() {
    let types = types();
    let seven = types.binary(int(3), Operator::Plus, int(4)).expect("integers");
    assert_eq!(seven, int(7));
    let overflow = types.binary(int(i64::MAX), Operator::Plus, int(1)).expect("integers");
    assert!(overflow.as_literal().is_none());
    let null = types.binary(column(&Int64), Operator::Multiply, Expr::null(&Null)).expect("integers");
    assert_eq!(null, Expr::null(&Int64));
    let cast = |value: &str| types.cast(text(value), &Int64, false).expect("a cast of text");
    assert_eq!(cast(" 2.5"), int(3));
    assert!(cast("x").as_literal().is_none());
    assert_eq!(types.cast(text("x"), &Int64, true).ok(), Some(Expr::null(&Int64)));
    assert_eq!(call("current_date", vec![]), Expr::literal(ScalarValue::Date32(Some(1))));
    assert!(call("random", vec![]).as_literal().is_none());
    assert_eq!(call("upper", vec![text("ß")]), text("SS"));
}

#[test]
fn conditions_without_a_choice_are_decided() {
    let (types, x) = (types(), || column(&Boolean));
    let and = |terms| types.and(terms).expect("conditions");
    assert_eq!(and(vec![Expr::boolean(true), x()]), x());
    assert_eq!(and(vec![x(), Expr::boolean(false)]), Expr::boolean(false));
    assert_eq!(and(vec![Expr::boolean(None), Expr::boolean(true)]), Expr::boolean(None));
    assert_eq!(types.or(vec![x(), Expr::null(&Null), Expr::boolean(true)]).ok(), Some(Expr::boolean(true)));
    assert!(types.and(vec![x(), int(1)]).is_err());
    assert!(types.condition(int(1)).is_err());
    let overflow = types.binary(int(i64::MAX), Operator::Plus, int(1)).expect("integers");
    let case = types.case(None, vec![(Expr::boolean(false), overflow)], Some(decimal()));
    assert_eq!(case.ok().map(|e| shown(&e)), Some("2.5".into()));
    let nulls = types.case(None, vec![(x(), Expr::null(&Null))], None).expect("NULLs");
    assert_eq!(nulls.data_type, Null);
}

#[test]
fn values_of_one_column_have_one_type() {
    let types = types();
    assert_eq!(types.union(&[Int32, Decimal128(5, 2)]).ok(), Some(Decimal128(12, 2)));
    assert_eq!(types.union(&[Decimal128(5, 2), Null, Float64]).ok(), Some(Float64));
    assert_eq!(types.union(&[UInt64, Int64, Float64]).ok(), Some(Float64));
    assert_eq!(types.union(&[Int64, Utf8View]).ok(), Some(Utf8View));
    assert_eq!(types.union(&[Decimal128(38, 1), Decimal128(38, 30)]).ok(), Some(Decimal128(38, 30)));
    assert_eq!(types.union(&[Int64, Boolean]).ok(), Some(Int64));
    assert_eq!(types.union(&[Date32, Utf8View]).ok(), Some(Utf8View));
    assert!(types.union(&[Int64, Date32]).is_err());
    let cells = types.common(vec![int(1), Expr::null(&Null), decimal()]).expect("numbers");
    assert_eq!(cells.iter().map(shown).collect::<Vec<_>>(), ["1.0", "NULL", "2.5"]);
    assert!(cells.iter().all(|cell| cell.data_type == Decimal128(2, 1)));
    let first = call("coalesce", vec![column(&Int64), Expr::null(&Null), decimal(), int(7)]);
    assert_eq!((first.children().len(), first.data_type), (2, Decimal128(20, 1)));
}

#[test]
fn functions_give_decimals_or_floats() {
    let of = |name, args| call(name, args).data_type;
    assert_eq!(of("sqrt", vec![column(&Decimal128(10, 2))]), Float64);
    assert_eq!(of("abs", vec![column(&Decimal128(10, 2))]), Decimal128(10, 2));
    assert_eq!(of("round", vec![column(&Decimal128(10, 2)), int(1)]), Decimal128(10, 1));
    assert_eq!(of("nullif", vec![column(&Int64), decimal()]), Int64);
    assert_eq!(of("greatest", vec![column(&Int32), decimal()]), Decimal128(11, 1));
    let aggregate = |name: &str, t: &DataType| {
        let function = Functions::all().aggregate(name).expect("there is such an aggregate");
        let args = vec![column(t)];
        let (distinct, filter, order_by, ignore_nulls) = (false, None, vec![], None);
        let call = Call { function, args, distinct, filter, order_by, ignore_nulls };
        types().aggregate(call).map(|(_, t)| t).ok()
    };
    assert_eq!(aggregate("sum", &Int32), Some(Int64));
    assert_eq!(aggregate("sum", &Null), Some(Int64));
    assert_eq!(aggregate("sum", &Decimal128(10, 2)), Some(Decimal128(20, 2)));
    assert_eq!(aggregate("avg", &Decimal128(10, 2)), Some(Float64));
    assert_eq!(aggregate("stddev", &Decimal128(10, 2)), Some(Float64));
    assert_eq!(aggregate("sum", &Utf8View), None);
}
