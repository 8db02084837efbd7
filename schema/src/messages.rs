//! How the messages of a Protocol Buffers file lie, as its `.proto` file says: which field each column is.
//!
//! A layout goes with a schema of the same shape. Its fields stand in the order of the columns; those of an embedded
//! message stand in the order of the struct's fields.

use serde::{Deserialize, Serialize};

/// The fields of a message that are columns, or members of a struct.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageLayout {
    /// The fields, in the order of the columns.
    pub fields: Vec<FieldLayout>,
    /// The numbers of the fields, ascending, with their places in `fields`.
    numbers: Vec<(u32, u32)>,
    /// How many `oneof` there are.
    pub oneofs: u32,
    /// How many values a row of this message has in all columns within one another, lists not counted.
    pub leaves: usize,
}

/// A field of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldLayout {
    /// Its name, for errors.
    pub name: String,
    /// Its number.
    pub number: u32,
    /// How often it is there, and what it means if it is not.
    pub label: Label,
    /// What its values are.
    pub kind: FieldKind,
    /// The `oneof` that it is a member of: of these only the last one in a message counts.
    pub oneof: Option<u32>,
}

/// How often a field is there, and what it means if it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Label {
    /// At most once; it is 0, false or empty if it is not there.
    Implicit,
    /// At most once; it is NULL if it is not there.
    Explicit,
    /// Once; a message without it is an error.
    Required,
    /// Any number of times: a list.
    Repeated,
    /// Any number of times: each is an entry of a map, a message of a key and a value.
    Map,
}

/// What the values of a field are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FieldKind {
    /// `bool`.
    Bool,
    /// `int32`.
    Int32,
    /// `int64`.
    Int64,
    /// `uint32`.
    UInt32,
    /// `uint64`.
    UInt64,
    /// `sint32`.
    SInt32,
    /// `sint64`.
    SInt64,
    /// `fixed32`.
    Fixed32,
    /// `fixed64`.
    Fixed64,
    /// `sfixed32`.
    SFixed32,
    /// `sfixed64`.
    SFixed64,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// `string`.
    Text,
    /// `bytes`.
    Bytes,
    /// An enum: its numbers, ascending, with their names, and the number of its first value.
    Enum(Vec<(i32, String)>, i32),
    /// A message: a struct, or the entry of a map.
    Message(Box<MessageLayout>),
    /// A message around one field, which stands for the value of that field.
    Wrapper(Box<MessageLayout>),
    /// `google.protobuf.Timestamp`, with the layout of its seconds and nanoseconds.
    Moment(Box<MessageLayout>),
}

impl FieldKind {
    /// The layout of its messages, if its values are messages.
    pub fn message(&self) -> Option<&MessageLayout> {
        match self {
            FieldKind::Message(layout) | FieldKind::Wrapper(layout) | FieldKind::Moment(layout) => {
                Some(layout)
            }
            _ => None,
        }
    }
}

impl FieldLayout {
    /// How many values it has in a row, in all columns within it, lists not counted.
    pub fn leaves(&self) -> usize {
        match &self.kind {
            FieldKind::Message(layout) => layout.leaves,
            _ => 1,
        }
    }
}

impl MessageLayout {
    /// The layout of a message with these fields, whose numbers differ.
    pub fn new(fields: Vec<FieldLayout>, oneofs: u32) -> MessageLayout {
        let mut numbers: Vec<(u32, u32)> = fields.iter().map(|field| field.number).zip(0..).collect();
        numbers.sort_unstable();
        let leaves = fields.iter().map(FieldLayout::leaves).sum();
        MessageLayout { fields, numbers, oneofs, leaves }
    }

    /// The place of the field with this number.
    #[inline]
    pub fn place(&self, number: u32) -> Option<usize> {
        // Most messages number their fields from 1 on.
        let near = (number as usize).checked_sub(1).and_then(|near| self.numbers.get(near));
        match near {
            Some(&(found, place)) if found == number => Some(place as usize),
            _ => {
                let found = self.numbers.binary_search_by_key(&number, |&(number, _)| number).ok()?;
                Some(self.numbers[found].1 as usize)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_numbers() {
        let field = |number| FieldLayout {
            name: format!("f{number}"),
            number,
            label: Label::Implicit,
            kind: FieldKind::Bool,
            oneof: None,
        };
        for numbers in [vec![1, 2, 3], vec![7, 1, 536_870_911, 2], vec![5], vec![]] {
            let layout = MessageLayout::new(numbers.iter().map(|&number| field(number)).collect(), 0);
            assert_eq!(layout.leaves, numbers.len());
            for number in (0..10).chain([536_870_911]) {
                let place = numbers.iter().position(|&known| known == number);
                assert_eq!(layout.place(number), place, "{number} of {numbers:?}");
            }
        }
    }
}
