//! Zone maps against what a scan wants.
//!
//! A group of rows is passed over only if its zone map proves that no row can be wanted. Whatever is in doubt is
//! kept: types that do not agree, a missing least or greatest value, NaN.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

use crate::format::ScanOptions;

/// One value of a column, reduced to what its order needs. Values compare only within one column type.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Booleans, integers, dates, timestamps and the digits of decimals.
    Int(i128),
    /// Floats, ordered as numbers: -0 equals 0, and NaN has no place.
    Float(f64),
    /// Text and bytes, ordered by bytes.
    Bytes(Vec<u8>),
}

impl Value {
    /// The value in a row of an array; `None` for NULL, NaN, and types that zone maps do not cover.
    pub fn of(array: &dyn Array, row: usize) -> Option<Value> {
        if row >= array.len() || array.is_null(row) {
            return None;
        }
        fn int<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> Option<Value>
        where
            T::Native: Into<i128>,
        {
            Some(Value::Int(array.as_primitive::<T>().value(row).into()))
        }
        let float = |v: f64| (!v.is_nan()).then_some(Value::Float(v));
        match array.data_type() {
            DataType::Boolean => Some(Value::Int(array.as_boolean().value(row).into())),
            DataType::Int8 => int::<Int8Type>(array, row),
            DataType::Int16 => int::<Int16Type>(array, row),
            DataType::Int32 => int::<Int32Type>(array, row),
            DataType::Int64 => int::<Int64Type>(array, row),
            DataType::UInt8 => int::<UInt8Type>(array, row),
            DataType::UInt16 => int::<UInt16Type>(array, row),
            DataType::UInt32 => int::<UInt32Type>(array, row),
            DataType::UInt64 => int::<UInt64Type>(array, row),
            DataType::Date32 => int::<Date32Type>(array, row),
            DataType::Decimal128(..) => int::<Decimal128Type>(array, row),
            DataType::Timestamp(TimeUnit::Second, _) => int::<TimestampSecondType>(array, row),
            DataType::Timestamp(TimeUnit::Millisecond, _) => int::<TimestampMillisecondType>(array, row),
            DataType::Timestamp(TimeUnit::Microsecond, _) => int::<TimestampMicrosecondType>(array, row),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => int::<TimestampNanosecondType>(array, row),
            DataType::Float32 => float(array.as_primitive::<Float32Type>().value(row).into()),
            DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row)),
            DataType::Utf8View => Some(Value::Bytes(array.as_string_view().value(row).as_bytes().to_vec())),
            DataType::BinaryView => Some(Value::Bytes(array.as_binary_view().value(row).to_vec())),
            _ => None,
        }
    }

    /// The order of two values; `None` between values of unlike kinds.
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
            (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

/// What is known of the values of a column in a group of rows. A missing side is open.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Zone {
    /// No value is less.
    pub min: Option<Value>,
    /// No value is greater.
    pub max: Option<Value>,
}

/// A bound of a scan on a column, by its position in the scan's schema.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The column's position in [`ScanOptions::schema`].
    pub column: usize,
    /// The type of the bound; a zone of a column that is read as another type proves nothing.
    pub data_type: DataType,
    /// The least value wanted.
    pub min: Option<Value>,
    /// The greatest value wanted.
    pub max: Option<Value>,
}

impl Wanted {
    /// The bounds of a scan on columns that lie in the file.
    pub fn of(scan: &ScanOptions) -> Vec<Wanted> {
        let fields = scan.schema.fields();
        let typed = |array: &Option<ArrayRef>, data_type: &DataType| {
            array.as_ref().filter(|a| a.data_type() == data_type).and_then(|a| Value::of(a, 0))
        };
        scan.bounds
            .iter()
            .filter_map(|bound| {
                let data_type = fields.get(bound.column)?.data_type();
                let (min, max) = (typed(&bound.min, data_type), typed(&bound.max, data_type));
                (min.is_some() || max.is_some()).then(|| Wanted {
                    column: bound.column,
                    data_type: data_type.clone(),
                    min,
                    max,
                })
            })
            .collect()
    }

    /// Whether the zone proves that no row of it is wanted.
    pub fn excludes(&self, zone: &Zone) -> bool {
        let less = |a: &Option<Value>, b: &Option<Value>| match (a, b) {
            (Some(a), Some(b)) => a.compare(b) == Some(Ordering::Less),
            _ => false,
        };
        less(&zone.max, &self.min) || less(&self.max, &zone.min)
    }
}

/// One zone of the zones of all row groups. A side that one of them leaves open is open.
pub fn united(zones: impl IntoIterator<Item = Zone>) -> Zone {
    let keep = |a: Option<Value>, b: Option<Value>, wanted| {
        let (a, b) = (a?, b?);
        Some(if b.compare(&a)? == wanted { b } else { a })
    };
    let both = |a: Zone, b: Zone| Zone {
        min: keep(a.min, b.min, Ordering::Less),
        max: keep(a.max, b.max, Ordering::Greater),
    };
    zones.into_iter().reduce(both).unwrap_or_default()
}

/// About which part of the values of a zone the bounds on a column want, if values lie evenly between the least and the
/// greatest. `None` for values without distances, and where a side is not known.
pub fn share(wanted: &[Wanted], column: usize, zone: &Zone) -> Option<f64> {
    let (Some(Value::Int(least)), Some(Value::Int(greatest))) = (&zone.min, &zone.max) else { return None };
    let (mut from, mut to) = (*least, *greatest);
    for bound in wanted.iter().filter(|w| w.column == column) {
        if let Some(Value::Int(min)) = bound.min {
            from = from.max(min);
        }
        if let Some(Value::Int(max)) = bound.max {
            to = to.min(max);
        }
    }
    let length = |from: i128, to: i128| (to as f64 - from as f64 + 1.0).max(0.0);
    Some(length(from, to) / length(*least, *greatest).max(1.0))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int32Array, Int64Array, StringViewArray};
    use arrow_schema::{Field, Schema};
    use schema::{ColumnBound, FormatOptions};

    use super::*;

    fn scan(data_type: DataType, min: Option<ArrayRef>, max: Option<ArrayRef>) -> ScanOptions {
        ScanOptions {
            schema: Arc::new(Schema::new(vec![Field::new("c", data_type, true)])),
            projection: vec![0],
            bounds: vec![ColumnBound { column: 0, min, max }],
            prefixes: vec![],
            unseen: schema::DeferredValidation::Nothing,
            batch_rows: 8192,
            format: FormatOptions::default(),
        }
    }

    fn zone(min: Value, max: Value) -> Zone {
        Zone { min: Some(min), max: Some(max) }
    }

    #[test]
    fn integers_are_excluded_outside_and_kept_at_the_border() {
        let (five, nine) =
            (Arc::new(Int32Array::from(vec![5])) as _, Arc::new(Int32Array::from(vec![9])) as _);
        let wanted = &Wanted::of(&scan(DataType::Int32, Some(five), Some(nine)))[0];
        assert!(wanted.excludes(&zone(Value::Int(-3), Value::Int(4))));
        assert!(!wanted.excludes(&zone(Value::Int(-3), Value::Int(5))));
        assert!(!wanted.excludes(&zone(Value::Int(9), Value::Int(9))));
        assert!(wanted.excludes(&zone(Value::Int(10), Value::Int(11))));
        assert!(!wanted.excludes(&Zone { min: None, max: None }));
        assert!(!wanted.excludes(&Zone { min: Some(Value::Int(6)), max: None }));
    }

    #[test]
    fn shares_are_those_of_both_bounds_together() {
        let int = |v: i32| Some(Arc::new(Int32Array::from(vec![v])) as ArrayRef);
        let mut options = scan(DataType::Int32, int(10), None);
        options.bounds.push(ColumnBound { column: 0, min: None, max: int(19) });
        let wanted = Wanted::of(&options);
        assert_eq!(share(&wanted, 0, &zone(Value::Int(0), Value::Int(99))), Some(0.1));
        assert_eq!(share(&wanted, 0, &zone(Value::Int(15), Value::Int(24))), Some(0.5));
        assert_eq!(share(&wanted, 0, &zone(Value::Int(30), Value::Int(40))), Some(0.0));
        assert_eq!(
            share(&wanted, 0, &zone(Value::Int(i64::MIN.into()), Value::Int(i64::MAX.into()))),
            Some(10.0 / 2f64.powi(64))
        );
        assert_eq!(share(&wanted, 1, &zone(Value::Int(0), Value::Int(9))), Some(1.0));
        assert_eq!(share(&wanted, 0, &Zone { min: Some(Value::Int(0)), max: None }), None);
    }

    #[test]
    fn zeros_are_equal_and_nan_proves_nothing() {
        let bound = |v: f64| Some(Arc::new(Float64Array::from(vec![v])) as ArrayRef);
        let wanted = &Wanted::of(&scan(DataType::Float64, bound(0.0), None))[0];
        assert!(!wanted.excludes(&zone(Value::Float(-1.0), Value::Float(-0.0))));
        assert!(wanted.excludes(&zone(Value::Float(-2.0), Value::Float(-1.0))));
        assert!(!wanted.excludes(&zone(Value::Float(-2.0), Value::Float(f64::NAN))));
        assert!(Wanted::of(&scan(DataType::Float64, bound(f64::NAN), None)).is_empty());
    }

    #[test]
    fn bounds_of_another_type_or_of_no_column_are_dropped() {
        let long = Some(Arc::new(Int64Array::from(vec![5])) as ArrayRef);
        assert!(Wanted::of(&scan(DataType::Int32, long.clone(), None)).is_empty());
        let mut outside = scan(DataType::Int64, long, None);
        outside.bounds[0].column = 1;
        assert!(Wanted::of(&outside).is_empty());
    }

    #[test]
    fn text_is_ordered_by_bytes() {
        let text = Some(Arc::new(StringViewArray::from(vec!["é"])) as ArrayRef);
        let wanted = &Wanted::of(&scan(DataType::Utf8View, text, None))[0];
        assert!(wanted.excludes(&zone(Value::Bytes(b"a".to_vec()), Value::Bytes(b"z".to_vec()))));
        assert!(!wanted.excludes(&zone(Value::Bytes(b"a".to_vec()), Value::Bytes("ü".as_bytes().to_vec()))));
    }
}
