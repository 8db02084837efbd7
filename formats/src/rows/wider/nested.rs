//! Inferred types of lists, structs and maps for many files.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};

use super::Widening;

/// The type of a column that has these guessed types, both nested, in two files: a struct has the fields of both.
pub fn combined(a: &DataType, b: &DataType, how: Widening) -> Option<DataType> {
    let both = |a: &FieldRef, b: &FieldRef| {
        let data_type = super::combined(a.data_type(), b.data_type(), how)?;
        Some(Arc::new(a.as_ref().clone().with_data_type(data_type)))
    };
    match (a, b) {
        (DataType::List(a), DataType::List(b)) => Some(DataType::List(both(a, b)?)),
        (DataType::Struct(a), DataType::Struct(b)) => {
            let more = b.iter().filter(|field| named(a, field.name()).is_none());
            let fields = a.iter().map(|field| match named(b, field.name()) {
                Some(other) => both(field, other),
                None => Some(field.clone()),
            });
            Some(DataType::Struct(
                fields.chain(more.map(|field| Some(field.clone()))).collect::<Option<_>>()?,
            ))
        }
        (DataType::Map(a, sorted), DataType::Map(b, _)) => {
            let (DataType::Struct(of_a), DataType::Struct(of_b)) = (a.data_type(), b.data_type()) else {
                return None;
            };
            let entry = of_a.iter().zip(of_b).map(|(a, b)| both(a, b)).collect::<Option<Fields>>()?;
            let entries = a.as_ref().clone().with_data_type(DataType::Struct(entry));
            Some(DataType::Map(Arc::new(entries), *sorted))
        }
        // What are few fields here are many there: all of them are keys.
        (DataType::Struct(fields), map @ DataType::Map(..))
        | (map @ DataType::Map(..), DataType::Struct(fields)) => {
            let DataType::Map(entries, sorted) = map else { return None };
            let DataType::Struct(entry) = entries.data_type() else { return None };
            let [key, value] = entry.as_ref() else { return None };
            let value = fields.iter().try_fold(value.clone(), |value, field| both(&value, field))?;
            let entry = DataType::Struct([key.clone(), value].into_iter().collect());
            Some(DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(entry)), *sorted))
        }
        _ => None,
    }
}

fn named<'a>(fields: &'a Fields, name: &str) -> Option<&'a FieldRef> {
    fields.iter().find(|field| field.name() == name)
}

/// A field with text in place of every type of which nothing was seen.
pub fn settled(field: &Field) -> Field {
    let inner = |field: &FieldRef| Arc::new(settled(field));
    field.clone().with_data_type(match field.data_type() {
        DataType::Null => DataType::Utf8View,
        DataType::List(item) => DataType::List(inner(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType as T;

    fn list(item: DataType) -> DataType {
        T::List(Arc::new(Field::new_list_field(item, true)))
    }

    fn object(fields: &[(&str, DataType)]) -> DataType {
        T::Struct(fields.iter().map(|(n, t)| Field::new(*n, t.clone(), true)).collect())
    }

    fn map(value: DataType) -> DataType {
        let entry = vec![Field::new("key", T::Utf8View, false), Field::new("value", value, true)];
        T::Map(Arc::new(Field::new("entries", T::Struct(entry.into()), false)), false)
    }

    #[test]
    fn nested_types_hold_the_values_of_both() {
        let few = object(&[("a", T::Int64), ("b", T::Null)]);
        for (a, b, both) in [
            (list(T::Null), list(T::Int64), Some(list(T::Int64))),
            (list(T::Int64), list(T::Float64), Some(list(T::Float64))),
            (list(T::Int64), list(T::Boolean), None),
            (
                few.clone(),
                object(&[("b", list(T::Date32)), ("c", T::Boolean)]),
                Some(object(&[("a", T::Int64), ("b", list(T::Date32)), ("c", T::Boolean)])),
            ),
            (map(T::Int64), map(T::Float64), Some(map(T::Float64))),
            (few.clone(), map(T::Float64), Some(map(T::Float64))),
            (map(T::Boolean), few.clone(), None),
            (list(T::Int64), few, None),
        ] {
            assert_eq!(combined(&a, &b, Widening::GUESSED), both, "{a} and {b}");
        }
    }

    #[test]
    fn values_of_json_are_text_where_nothing_else_holds_them() {
        let to_text = Widening { to_text: true, ..Widening::GUESSED };
        let few = object(&[("a", T::Int64)]);
        for (a, b, both) in [
            (T::Int64, T::Utf8View, T::Utf8View),
            (T::Int64, T::Float64, T::Float64),
            (T::Int64, few.clone(), T::Utf8View),
            (T::Null, few.clone(), few.clone()),
            (list(T::Int64), list(T::Boolean), list(T::Utf8View)),
            (list(T::Int64), few.clone(), T::Utf8View),
            (few.clone(), object(&[("a", T::Date32)]), object(&[("a", T::Utf8View)])),
            (few, map(T::Boolean), map(T::Utf8View)),
        ] {
            assert_eq!(super::super::combined(&a, &b, to_text), Some(both), "{a} and {b}");
        }
    }

    #[test]
    fn what_was_never_seen_is_text() {
        let seen = |unknown: DataType| {
            Field::new("c", object(&[("l", list(unknown.clone())), ("m", map(unknown))]), true)
        };
        assert_eq!(settled(&seen(T::Null)), seen(T::Utf8View));
        assert_eq!(settled(&seen(T::Int64)), seen(T::Int64));
    }
}
