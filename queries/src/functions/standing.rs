//! Functions that only stand for another expression: `year(x)` for `date_part('year', x)`, `mod(a, b)` for `a % b`. The
//! expressions are made by [`Types::standing`](crate::types::Types::standing).

use datafusion_expr::Operator;

/// What a function stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Standing {
    /// A part of a date or a time.
    Part(&'static str),
    /// An operation on two values.
    Operation(Operator),
    /// `CASE WHEN condition THEN a ELSE b END`.
    If,
    /// The name of the argument's type.
    TypeOf,
    /// The time since a date or timestamp up to midnight of today.
    AgeOfToday,
    /// `now()` without its time zone.
    LocalTimestamp,
    /// The setting of the session that its argument names.
    Setting,
    /// The bytes of text.
    Bytes,
    /// The text that bytes are in UTF-8.
    TextOfBytes,
    /// The instant at which the clocks of a zone show a timestamp by its parts.
    InZone,
}

/// The functions: the names of each, and what it stands for where it has so many arguments.
pub const STANDING: [(&[&str], usize, Standing); 40] = [
    (&["year"], 1, Standing::Part("year")),
    (&["month"], 1, Standing::Part("month")),
    (&["day", "dayofmonth"], 1, Standing::Part("day")),
    (&["hour"], 1, Standing::Part("hour")),
    (&["minute"], 1, Standing::Part("minute")),
    (&["second"], 1, Standing::Part("second")),
    (&["millisecond"], 1, Standing::Part("millisecond")),
    (&["microsecond"], 1, Standing::Part("microsecond")),
    (&["nanosecond"], 1, Standing::Part("nanosecond")),
    (&["quarter"], 1, Standing::Part("quarter")),
    (&["week", "weekofyear"], 1, Standing::Part("week")),
    (&["yearweek"], 1, Standing::Part("yearweek")),
    (&["isoyear"], 1, Standing::Part("isoyear")),
    (&["dayofweek", "weekday"], 1, Standing::Part("dow")),
    (&["isodow"], 1, Standing::Part("isodow")),
    (&["dayofyear"], 1, Standing::Part("doy")),
    (&["decade"], 1, Standing::Part("decade")),
    (&["century"], 1, Standing::Part("century")),
    (&["millennium"], 1, Standing::Part("millennium")),
    (&["era"], 1, Standing::Part("era")),
    (&["epoch"], 1, Standing::Part("epoch")),
    (&["timezone"], 1, Standing::Part("timezone")),
    (&["timezone_hour"], 1, Standing::Part("timezone_hour")),
    (&["timezone_minute"], 1, Standing::Part("timezone_minute")),
    (&["date_add"], 2, Standing::Operation(Operator::Plus)),
    (&["add"], 2, Standing::Operation(Operator::Plus)),
    (&["subtract"], 2, Standing::Operation(Operator::Minus)),
    (&["multiply"], 2, Standing::Operation(Operator::Multiply)),
    (&["divide"], 2, Standing::Operation(Operator::Divide)),
    (&["mod"], 2, Standing::Operation(Operator::Modulo)),
    (&["xor"], 2, Standing::Operation(Operator::BitwiseXor)),
    (&["if", "ifelse"], 3, Standing::If),
    (&["typeof"], 1, Standing::TypeOf),
    (&["age"], 1, Standing::AgeOfToday),
    (&["current_localtimestamp"], 0, Standing::LocalTimestamp),
    (&["localtimestamp"], 0, Standing::LocalTimestamp),
    (&["current_setting"], 1, Standing::Setting),
    (&["encode"], 1, Standing::Bytes),
    (&["decode"], 1, Standing::TextOfBytes),
    (&["make_timestamptz"], 7, Standing::InZone),
];

/// What a function of a name, in lower case, stands for where it has so many arguments.
pub fn of(name: &str, arguments: usize) -> Option<Standing> {
    let all = STANDING.iter();
    all.filter(|(names, count, _)| names.contains(&name) && *count == arguments).map(|(.., of)| *of).next()
}

/// The function of each name, for what knows functions by their names alone.
pub fn names() -> impl Iterator<Item = &'static str> {
    STANDING.iter().flat_map(|(names, ..)| names.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_for_one_expression() {
        let all: Vec<(&str, usize)> =
            STANDING.iter().flat_map(|(names, count, _)| names.iter().map(|name| (*name, *count))).collect();
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one), "{one:?} stands twice");
        }
        assert_eq!(of("year", 1), Some(Standing::Part("year")));
        assert_eq!(of("year", 2), None);
    }
}
