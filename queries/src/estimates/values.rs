//! How many values columns have, and from which to which they go.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_expr::Operator;

use super::kept::number;
use crate::algebra::{ColumnId, Expr, Kind};
pub use crate::algebra::{Number, Spread};

impl Spread {
    /// So many values, of which nothing else is known.
    pub fn of_values(whole: f64) -> Spread {
        let most = f64::INFINITY;
        Spread { whole, number: Number::OfRows, kept: 1.0, span: None, is_sampled: false, most }
    }

    /// About how many values are left.
    pub fn values(&self) -> f64 {
        (self.whole * self.kept).min(self.most)
    }

    /// The same of no more than so many rows.
    pub fn at_most(self, rows: f64) -> Spread {
        Spread { whole: self.whole.min(rows), ..self }
    }

    /// The values of both.
    pub fn or(self, other: Spread) -> Spread {
        Spread {
            whole: self.values() + other.values(),
            // The same values may be in both.
            number: self.number.min(other.number).min(Number::Most),
            kept: 1.0,
            span: self.span.zip(other.span).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))),
            is_sampled: self.is_sampled || other.is_sampled,
            most: self.most + other.most,
        }
    }

    /// About how many values two columns have whose equality is a join's key.
    ///
    /// All values of one side are taken to be on the other one, so that the larger number decides which pairs match. Where
    /// it is not known of both the smaller one does: that of a foreign key is then mostly the number of its rows. Filters on
    /// both sides leave the same values, since each is put on both.
    pub fn shared(self, other: Spread) -> f64 {
        (self.shared_whole(other) * self.kept.max(other.kept)).max(1.0)
    }

    /// The same where nothing is filtered.
    pub fn shared_whole(self, other: Spread) -> f64 {
        match self.number.min(other.number) {
            Number::Counted => self.whole.max(other.whole),
            _ => self.whole.min(other.whole),
        }
    }
}

/// What is known of the columns of a relation. Copies share what they have in common, so that a chain of joins costs a step
/// for each.
#[derive(Debug, Clone, Default)]
pub struct Spreads(Option<Arc<Layer>>);

#[derive(Debug)]
struct Layer {
    /// The least and the greatest column that stands here or below.
    range: (ColumnId, ColumnId),
    /// Columns in their order. They hide those below.
    own: Vec<(ColumnId, Spread)>,
    below: [Spreads; 2],
    /// How many rows there are.
    most: f64,
}

impl Spreads {
    /// These columns.
    pub fn of(own: Vec<(ColumnId, Spread)>) -> Spreads {
        Spreads::default().with(own)
    }

    /// Columns of which each has as many values as there are rows.
    pub fn all(columns: impl Iterator<Item = ColumnId>, rows: f64) -> Spreads {
        Spreads::of(columns.map(|id| (id, Spread::of_values(rows))).collect())
    }

    /// With other columns beside and in place of these.
    pub fn with(&self, own: Vec<(ColumnId, Spread)>) -> Spreads {
        if own.is_empty() { self.clone() } else { self.of_rows(own, f64::INFINITY) }
    }

    /// The same of so many rows, which may be fewer than before.
    pub fn of_rows(&self, mut own: Vec<(ColumnId, Spread)>, rows: f64) -> Spreads {
        own.sort_by_key(|(id, _)| *id);
        Spreads::layer(own, [self.clone(), Spreads::default()], rows)
    }

    /// The columns of both, of so many rows.
    pub fn both(left: &Spreads, right: &Spreads, rows: f64) -> Spreads {
        Spreads::layer(vec![], [left.clone(), right.clone()], rows)
    }

    fn layer(own: Vec<(ColumnId, Spread)>, below: [Spreads; 2], most: f64) -> Spreads {
        let ends = own.first().zip(own.last()).map(|(first, last)| (first.0, last.0));
        let ranges = below.iter().filter_map(|spreads| Some(spreads.0.as_ref()?.range)).chain(ends);
        let range = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        Spreads(range.map(|range| Arc::new(Layer { range, own, below, most })))
    }

    /// What is known of a column; `None` of one that is not there.
    pub fn get(&self, id: ColumnId) -> Option<Spread> {
        let layer = self.0.as_ref().filter(|layer| (layer.range.0..=layer.range.1).contains(&id))?;
        let found = match layer.own.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(at) => layer.own.get(at).map(|(_, spread)| *spread)?,
            Err(_) => layer.below.iter().find_map(|below| below.get(id))?,
        };
        Some(Spread { most: found.most.min(layer.most), ..found })
    }

    /// What is known of the values of an expression.
    pub fn of_expr(&self, e: &Expr) -> Option<Spread> {
        match &e.kind {
            Kind::Column(id) => self.get(*id),
            Kind::Literal(_) => Some(Spread::of_values(1.0)),
            Kind::Cast { expr, .. } => Some(Spread { span: None, ..self.of_expr(expr)? }),
            Kind::Binary(Operator::Plus | Operator::Minus, left, right) => {
                let moved = match (left.as_literal(), right.as_literal()) {
                    (None, Some(_)) => left,
                    (Some(_), None) => right,
                    _ => return None,
                };
                Some(Spread { span: None, ..self.of_expr(moved)? })
            }
            Kind::Binary(Operator::Modulo, of, by) if of.data_type.is_integer() => {
                let most = number(by.as_literal()?)?.abs().max(1.0);
                let values = self.of_expr(of).map_or(most, |of| of.values().min(most));
                Some(Spread { number: Number::Most, ..Spread::of_values(values) })
            }
            Kind::Call { function, args } if function.name() == "date_part" => match args.as_slice() {
                [part, of] => self.of_date_part(part, of),
                _ => None,
            },
            _ if e.data_type == DataType::Boolean => {
                Some(Spread { number: Number::Most, ..Spread::of_values(2.0) })
            }
            _ => None,
        }
    }

    /// What is known of a part of dates.
    fn of_date_part(&self, part: &Expr, of: &Expr) -> Option<Spread> {
        let part = part.as_literal()?.try_as_str()??.to_ascii_lowercase();
        let most = match part.as_str() {
            "year" => match (&of.data_type, self.of_expr(of)?.span?) {
                (DataType::Date32, (from, to)) => ((to - from).max(0.0) / DAYS_OF_YEAR).floor() + 1.0,
                _ => return None,
            },
            "quarter" => 4.0,
            "month" => 12.0,
            "week" => 53.0,
            "day" => 31.0,
            "dow" | "isodow" => 7.0,
            "doy" => 366.0,
            "hour" => 24.0,
            _ => return None,
        };
        Some(Spread { number: Number::Most, ..Spread::of_values(most) })
    }
}

/// The days of a year.
const DAYS_OF_YEAR: f64 = 365.25;

#[cfg(test)]
mod tests {
    use datafusion_common::ScalarValue;

    use super::*;
    use crate::functions::Functions;

    #[test]
    fn a_column_is_found_in_the_layer_above_all() {
        let spreads = |from: u32, values: f64| Spreads::all((from..from + 3).map(ColumnId), values);
        let both = Spreads::both(&spreads(0, 10.0), &spreads(10, 20.0), 100.0);
        let changed =
            both.with(vec![(ColumnId(1), Spread::of_values(5.0)), (ColumnId(20), Spread::of_values(7.0))]);
        let values = |id: u32| changed.get(ColumnId(id)).map(|spread| spread.values());
        assert_eq!([0, 1, 2, 11, 20].map(values), [10.0, 5.0, 10.0, 20.0, 7.0].map(Some));
        assert_eq!([3, 13, 21].map(values), [None; 3]);
        let fewer = changed.of_rows(vec![(ColumnId(0), Spread::of_values(3.0))], 6.0);
        let more = Spreads::both(&fewer, &Spreads::default(), 50.0);
        let values = |id: u32| more.get(ColumnId(id)).map(|spread| spread.values());
        assert_eq!([0, 1, 2, 11, 20].map(values), [3.0, 5.0, 6.0, 6.0, 6.0].map(Some));
    }

    #[test]
    fn there_are_as_many_years_as_lie_between_two_dates() {
        let date = ColumnId(0);
        let of = |span| Spreads::of(vec![(date, Spread { span, ..Spread::of_values(2526.0) })]);
        let part = |part: &str| {
            let of = Expr { kind: Kind::Column(date), data_type: DataType::Date32 };
            let function = Functions::all().scalar("date_part").unwrap();
            let args = vec![Expr::literal(ScalarValue::Utf8(Some(part.into()))), of];
            Expr { kind: Kind::Call { function, args }, data_type: DataType::Int64 }
        };
        let values = |spreads: Spreads, e: &Expr| spreads.of_expr(e).map(|spread| spread.whole);
        assert_eq!(values(of(Some((8035.0, 10561.0))), &part("YEAR")), Some(7.0));
        assert_eq!(values(of(None), &part("YEAR")), None);
        assert_eq!(values(of(None), &part("month")), Some(12.0));
        assert_eq!(values(of(None), &part("epoch")), None);
    }

    #[test]
    fn a_remainder_has_fewer_values_than_its_divisor_says() {
        let column = |data_type| Expr { kind: Kind::Column(ColumnId(0)), data_type };
        let spreads = Spreads::all([ColumnId(0)].into_iter(), 1000.0);
        let values = |e: &Expr| spreads.of_expr(e).map(|spread| spread.values());
        let remainder = |by: i64| {
            let by = Box::new(Expr::literal(ScalarValue::Int64(Some(by))));
            let kind = Kind::Binary(Operator::Modulo, Box::new(column(DataType::Int64)), by);
            Expr { kind, data_type: DataType::Int64 }
        };
        assert_eq!([7, -7, 5000, 0].map(|by| values(&remainder(by))), [7.0, 7.0, 1000.0, 1.0].map(Some));
        let is_null = Kind::IsNull(Box::new(column(DataType::Int64)));
        assert_eq!(values(&Expr { kind: is_null, data_type: DataType::Boolean }), Some(2.0));
    }

    #[test]
    fn a_filter_on_one_side_alone_leaves_rows_of_the_other_without_a_match() {
        let key = |kept| Spread { kept, ..Spread::of_values(100.0) };
        assert_eq!(key(1.0).shared(key(0.1)), 100.0);
        assert_eq!(key(0.1).shared(key(0.1)), 10.0);
    }

    #[test]
    fn the_larger_number_of_values_counts_where_both_are_known() {
        let key = |whole, number| Spread { number, ..Spread::of_values(whole) };
        let customers = key(1e6, Number::Counted);
        assert_eq!(key(1e4, Number::Counted).shared(customers), 1e6);
        assert_eq!(key(1e7, Number::Most).shared(customers), 1e6);
        assert_eq!(key(1e7, Number::OfRows).shared(customers), 1e6);
    }
}
