//! Time zones of columns.
//!
//! A timestamp with a time zone is an instant: a count since 1970-01-01T00:00:00Z. The zone in its type is a label that
//! other tools print it with, and two columns with different labels hold the same values. A query knows one label,
//! [`UTC`], so that comparisons, parts, dates and text of instants agree whatever file they are from.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};

/// The label of instants in a query.
pub const UTC: &str = "UTC";

/// The number of these units in a second.
pub fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// A type with the label [`UTC`] in place of any other, nested types included.
pub fn in_utc(data_type: &DataType) -> DataType {
    let field = |f: &FieldRef| Arc::new(f.as_ref().clone().with_data_type(in_utc(f.data_type())));
    match data_type {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some(UTC.into())),
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(field(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        other => other.clone(),
    }
}

/// A schema with the label [`UTC`] in place of any other.
pub fn schema_in_utc(schema: &SchemaRef) -> SchemaRef {
    let same = |f: &FieldRef| in_utc(f.data_type()) == *f.data_type();
    if schema.fields().iter().all(same) {
        return schema.clone();
    }
    let fields = schema.fields().iter().map(|f| f.as_ref().clone().with_data_type(in_utc(f.data_type())));
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}

/// Whether two types differ in the labels of instants at most, and the same value is the same bytes in both.
pub fn same_instants(a: &DataType, b: &DataType) -> bool {
    match (a, b) {
        (DataType::Timestamp(unit, zone), DataType::Timestamp(other, other_zone)) => {
            unit == other && zone.is_some() == other_zone.is_some()
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::TimeUnit::{Microsecond, Second};

    use super::*;

    #[test]
    fn labels_are_replaced_at_every_depth_and_nothing_else() {
        let instant = |zone: &str| DataType::Timestamp(Second, Some(zone.into()));
        let nested = |zone: &str| {
            let list = DataType::List(Arc::new(Field::new("item", instant(zone), true)));
            DataType::Struct(vec![Field::new("a", list, true), Field::new("b", DataType::Int8, false)].into())
        };
        assert_eq!(in_utc(&instant("Europe/Berlin")), instant(UTC));
        assert_eq!(in_utc(&nested("+02:00")), nested(UTC));
        for other in [DataType::Timestamp(Second, None), DataType::Date32, DataType::Utf8View] {
            assert_eq!(in_utc(&other), other);
        }
    }

    #[test]
    fn a_label_makes_no_other_values_but_a_unit_does() {
        let instant = |unit, zone: Option<&str>| DataType::Timestamp(unit, zone.map(Into::into));
        assert!(same_instants(&instant(Second, Some("+02:00")), &instant(Second, Some(UTC))));
        assert!(!same_instants(&instant(Second, Some("+02:00")), &instant(Microsecond, Some("+02:00"))));
        assert!(!same_instants(&instant(Second, None), &instant(Second, Some(UTC))));
    }
}
