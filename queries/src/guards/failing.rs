//! What can fail on a row.

use crate::optimise::casts::widens;
use crate::tree;
use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType};
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::{Expr, ExprSchemable, Operator};
use expressions::exact::TO_FLOATS;
use expressions::text::TRY_READ_TEXT;

/// Functions of the planner that give a value for any arguments.
const NEVER: [&str; 4] = [super::NAME, TO_FLOATS[0], TO_FLOATS[1], TRY_READ_TEXT];

/// Functions that give a value for any arguments, if those after the first are constants.
const TOTAL: [&str; 26] = [
    "btrim",
    "character_length",
    "coalesce",
    "concat",
    "contains",
    "date_part",
    "date_trunc",
    "ends_with",
    "greatest",
    "isnan",
    "iszero",
    "least",
    "lower",
    "ltrim",
    "now",
    "nullif",
    "nvl",
    "nvl2",
    "octet_length",
    "regexp_like",
    "reverse",
    "rtrim",
    "starts_with",
    "strpos",
    "substr",
    "upper",
];

/// Whether evaluating an expression can fail on some row: overflow, division by zero, a value that can't be cast.
pub fn fails(e: &Expr, schema: &DFSchema) -> bool {
    tree::any_expr(e, &mut |e| fails_itself(e, schema))
}

fn fails_itself(e: &Expr, schema: &DFSchema) -> bool {
    let type_of = |e: &Expr| e.get_type(schema).ok();
    let float = |e: &Expr| type_of(e).is_some_and(|t| t.is_floating());
    let constant = |e: &Expr| matches!(e, Expr::Literal(v, _) if !v.is_null());
    match e {
        Expr::BinaryExpr(b) => match b.op {
            Operator::Plus | Operator::Minus | Operator::Multiply => {
                !(float(e) || has_room(b.op, type_of(&b.left), type_of(&b.right)))
            }
            Operator::Divide | Operator::Modulo => {
                let one = |v: &ScalarValue| v.cast_to(&DataType::Int64).ok();
                let safe = |v: ScalarValue| matches!(v, ScalarValue::Int64(Some(n)) if n != 0 && n != -1);
                let by = match b.right.as_ref() {
                    Expr::Literal(v, _) => one(v).is_some_and(safe),
                    _ => false,
                };
                !(float(e) || by && type_of(e).is_some_and(|t| t.is_integer()))
            }
            Operator::BitwiseShiftLeft | Operator::BitwiseShiftRight => true,
            Operator::RegexMatch
            | Operator::RegexIMatch
            | Operator::RegexNotMatch
            | Operator::RegexNotIMatch => !constant(&b.right),
            _ => false,
        },
        Expr::Negative(inner) => !float(inner),
        Expr::Cast(c) => match type_of(&c.expr) {
            Some(from) => !cast_is_total(&from, c.field.data_type()),
            None => true,
        },
        Expr::ScalarFunction(f) if NEVER.contains(&f.func.name()) => false,
        Expr::ScalarFunction(f) => {
            let name = f.func.name();
            let all =
                matches!(name, "coalesce" | "concat" | "greatest" | "least" | "nullif" | "nvl" | "nvl2");
            let constants = match name {
                "date_part" | "date_trunc" => f.args.first().is_none_or(constant),
                _ => f.args.iter().skip(1).all(constant),
            };
            !(TOTAL.contains(&name) && (all || constants))
        }
        _ => false,
    }
}

/// Whether the result of an operation on decimals has all the digits that it may need.
fn has_room(op: Operator, left: Option<DataType>, right: Option<DataType>) -> bool {
    let (Some(DataType::Decimal128(p1, s1)), Some(DataType::Decimal128(p2, s2))) = (left, right) else {
        return false;
    };
    let whole = |p: u8, s: i8| i16::from(p) - i16::from(s);
    let digits = match op {
        Operator::Multiply => i16::from(p1) + i16::from(p2) + 1,
        _ => whole(p1, s1).max(whole(p2, s2)) + i16::from(s1.max(s2)) + 1,
    };
    digits <= i16::from(DECIMAL128_MAX_PRECISION)
}

/// Whether every value of one type has one of the other.
fn cast_is_total(from: &DataType, to: &DataType) -> bool {
    use DataType::{Binary, BinaryView, Boolean, Date32, Float64, Null, Timestamp, Utf8, Utf8View};
    let width = |t: &DataType| t.primitive_width().unwrap_or(0);
    let text = |t: &DataType| matches!(t, Utf8 | Utf8View | DataType::LargeUtf8);
    from == to
        || matches!(from, Null)
        || text(to) && !matches!(from, Binary | BinaryView | DataType::LargeBinary)
        || to.is_floating()
            && (from.is_integer() || from.is_floating() || matches!(from, DataType::Decimal128(..)))
        || matches!((from, to), (Timestamp(..), Date32) | (Float64, Boolean))
        || widens(from, to)
        || from.is_integer() && to == &Boolean
        || from == &Boolean && to.is_integer()
        || from.is_integer()
            && to.is_integer()
            && width(from) < width(to)
            && (from.is_unsigned_integer() || to.is_signed_integer())
        || from.is_integer()
            && width(from) == width(to)
            && from.is_unsigned_integer() == to.is_unsigned_integer()
}
