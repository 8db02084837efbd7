//! Types of nested values from examples: what was seen of a column, of the items of its lists and of the fields of its
//! objects.
//!
//! | seen | type |
//! |---|---|
//! | lists alone | a list of what holds all items |
//! | objects alone | a struct of all fields that occurred |
//! | objects alone, of more than [`MOST_FIELDS`] fields in all | a map from text to what holds all values |
//! | objects without any field, or anything beside lists or objects | text |

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};

use super::infer::{Digits, Kinds};

/// Objects of more fields than that are maps: their keys are data. As many as in DuckDB.
pub const MOST_FIELDS: usize = 200;

/// A file with more columns than that is refused: its names are data, or it is no table.
pub const MOST_COLUMNS: usize = 100_000;

/// What was seen of a column.
#[derive(Debug, Default)]
pub struct Shape {
    kinds: Kinds,
    /// Those of decimals.
    digits: Digits,
    /// What was seen of the items of lists.
    items: Option<Box<Shape>>,
    /// What was seen of the fields of objects.
    members: Members,
}

/// What was seen of named values, in the order in which the names appeared.
#[derive(Debug, Default)]
pub struct Members {
    of: Vec<(String, Shape)>,
    by_name: HashMap<Vec<u8>, usize>,
    /// The place behind the one that was named last: names mostly come in the same order.
    next: usize,
    /// Whether the names were too many. Then there is one shape for all of an object's, and what a file's columns have
    /// come to be is nothing.
    many: bool,
}

impl Members {
    /// What was seen of the value with this name. Beyond [`MOST_COLUMNS`] names it is anything's ([`Members::many`]).
    pub fn named(&mut self, name: &[u8]) -> &mut Shape {
        // What is no text is called as readers look for it.
        let name = &*String::from_utf8_lossy(name);
        let expected = self.of.get(self.next).filter(|(known, _)| known == name);
        let place = match expected.map(|_| self.next).or_else(|| self.by_name.get(name.as_bytes()).copied()) {
            Some(place) => place,
            None if self.of.len() == MOST_COLUMNS => {
                self.many = true;
                0
            }
            None => {
                self.by_name.insert(name.as_bytes().to_vec(), self.of.len());
                self.of.push((name.to_string(), Shape::default()));
                self.of.len() - 1
            }
        };
        self.next = place + 1;
        &mut self.of[place].1
    }

    /// The same for a field of a nested object, of which there can be too many.
    fn of_object(&mut self, name: &[u8]) -> &mut Shape {
        if !self.many && self.of.len() == MOST_FIELDS && !self.by_name.contains_key(name) {
            self.join();
        }
        if self.many { &mut self.of[0].1 } else { self.named(name) }
    }

    /// Makes one shape of all.
    fn join(&mut self) {
        let mut all = Shape::default();
        self.of.drain(..).for_each(|(_, shape)| all.merge(shape));
        self.by_name.clear();
        self.of.push((String::new(), all));
        self.many = true;
    }

    /// Puts a column with nothing seen of it behind the others, whatever it is called.
    pub fn push(&mut self, name: String) {
        self.by_name.insert(name.clone().into_bytes(), self.of.len());
        self.of.push((name, Shape::default()));
    }

    /// Whether the names were too many.
    pub fn many(&self) -> bool {
        self.many
    }

    /// What was seen, in order.
    pub fn shapes_mut(&mut self) -> impl Iterator<Item = &mut Shape> {
        self.of.iter_mut().map(|(_, shape)| shape)
    }

    /// The columns; all may be NULL, and one without values has the type `Null`.
    pub fn fields(&self) -> Fields {
        self.of.iter().map(|(name, shape)| Field::new(name, shape.data_type(), true)).collect()
    }
}

impl Shape {
    /// A value of these kinds was seen.
    pub fn add(&mut self, kinds: Kinds) {
        self.kinds.add(kinds);
    }

    /// Nothing but values of these kinds was seen.
    pub fn set(&mut self, kinds: Kinds) {
        self.kinds = kinds;
    }

    /// A decimal of so many digits was seen.
    pub fn decimal(&mut self, digits: Digits) {
        self.kinds.add(Kinds::DECIMAL.and(Kinds::TYPED));
        self.digits = self.digits.most(digits);
    }

    /// Whether something was seen that is nothing but text.
    pub fn is_text(&self) -> bool {
        self.kinds.is_text()
    }

    /// A list was seen: gives what was seen of the items.
    pub fn list(&mut self) -> &mut Shape {
        self.kinds.add(Kinds::LIST);
        self.items.get_or_insert_default()
    }

    /// An object was seen.
    pub fn object(&mut self) {
        self.kinds.add(Kinds::OBJECT);
    }

    /// What was seen of a field of objects.
    pub fn field(&mut self, name: &[u8]) -> &mut Shape {
        self.members.of_object(name)
    }

    fn merge(&mut self, other: Shape) {
        self.kinds.add(other.kinds);
        self.digits = self.digits.most(other.digits);
        if let Some(items) = other.items {
            self.items.get_or_insert_default().merge(*items);
        }
        if other.members.many && !self.members.many {
            self.members.join();
        }
        for (name, shape) in other.members.of {
            self.members.of_object(name.as_bytes()).merge(shape);
        }
    }

    /// The type that holds all that was seen; `Null`, in nested types too, if nothing was.
    pub fn data_type(&self) -> DataType {
        let (flat, list, object) = self.kinds.split();
        match (list, object) {
            (false, false) => flat.data_type(self.digits),
            (true, false) if flat == Kinds::default() => {
                let item = self.items.as_ref().map_or(DataType::Null, |items| items.data_type());
                DataType::List(Arc::new(Field::new_list_field(item, true)))
            }
            (false, true) if flat == Kinds::default() && self.members.many => {
                let value = self.members.of[0].1.data_type();
                let entry =
                    vec![Field::new("key", DataType::Utf8View, false), Field::new("value", value, true)];
                let entries = Field::new("entries", DataType::Struct(entry.into()), false);
                DataType::Map(Arc::new(entries), false)
            }
            (false, true) if flat == Kinds::default() && !self.members.of.is_empty() => {
                DataType::Struct(self.members.fields())
            }
            _ => DataType::Utf8View,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(item: DataType) -> DataType {
        DataType::List(Arc::new(Field::new_list_field(item, true)))
    }

    fn object(fields: &[(&str, DataType)]) -> DataType {
        DataType::Struct(fields.iter().map(|(n, t)| Field::new(*n, t.clone(), true)).collect())
    }

    #[test]
    fn lists_and_objects_alone_have_types() {
        let mut shape = Shape::default();
        shape.list();
        assert_eq!(shape.data_type(), list(DataType::Null));
        shape.list().add(Kinds::INT);
        shape.list().add(Kinds::FLOAT);
        assert_eq!(shape.data_type(), list(DataType::Float64));
        shape.add(Kinds::INT);
        assert_eq!(shape.data_type(), DataType::Utf8View);
        let mut shape = Shape::default();
        shape.object();
        assert_eq!(shape.data_type(), DataType::Utf8View, "an object that never has a field");
        shape.field(b"b").add(Kinds::BOOL);
        shape.field(b"a").object();
        shape.field(b"a").field(b"x").list().list();
        let inner = object(&[("x", list(list(DataType::Null)))]);
        assert_eq!(shape.data_type(), object(&[("b", DataType::Boolean), ("a", inner)]));
        shape.list();
        assert_eq!(shape.data_type(), DataType::Utf8View);
    }

    #[test]
    fn objects_of_many_fields_are_maps() {
        let fields = |shape: &mut Shape, count: usize| {
            shape.object();
            (0..count).for_each(|i| shape.field(i.to_string().as_bytes()).list().add(Kinds::INT));
        };
        let map = |value: DataType| match object(&[("value", value)]) {
            DataType::Struct(value) => {
                let key = Arc::new(Field::new("key", DataType::Utf8View, false));
                let entry = DataType::Struct([key, value[0].clone()].into_iter().collect());
                DataType::Map(Arc::new(Field::new("entries", entry, false)), false)
            }
            other => other,
        };
        let mut shape = Shape::default();
        fields(&mut shape, MOST_FIELDS);
        assert!(matches!(shape.data_type(), DataType::Struct(of) if of.len() == MOST_FIELDS));
        fields(&mut shape, MOST_FIELDS + 1);
        assert_eq!(shape.data_type(), map(list(DataType::Int64)));
        shape.field(b"7").add(Kinds::INT);
        assert_eq!(shape.data_type(), map(DataType::Utf8View), "values of mixed kinds");
        // Maps in the values of what becomes a map, too.
        let mut outer = Shape::default();
        outer.object();
        for i in 0..=MOST_FIELDS {
            fields(outer.field(i.to_string().as_bytes()), if i == 3 { MOST_FIELDS + 1 } else { 2 });
        }
        assert_eq!(outer.data_type(), map(map(list(DataType::Int64))));
    }
}
