//! Where columns lie in a struct: what the Cap'n Proto compiler computes for the schema that `palais schema` prints (see
//! [`schema::structs::places`]).

use arrow_schema::Schema;
use schema::structs::places::{Owner, Sections};
use schema::text::capnp::Kind;

use crate::error::{Error, Result};
use crate::rows::binary::check_flat;

/// Where a column lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnPlacement {
    /// The value lies in the data section.
    Data {
        /// Its bits: 1, 8, 16, 32 or 64.
        bits: u32,
        /// Where they begin, as a multiple of their number.
        offset: u32,
        /// Where the discriminant of a column that may be NULL begins, as a multiple of 16 bits.
        tag: Option<u32>,
    },
    /// The value is what a pointer of this number points to.
    Pointer {
        /// The pointer's number.
        number: u32,
        /// Whether it is text, which a NUL ends.
        text: bool,
    },
}

/// A struct.
#[derive(Debug)]
pub struct Layout {
    /// The columns, in their order.
    pub places: Vec<ColumnPlacement>,
    /// The words of the data section.
    pub data_words: u16,
    /// The pointers.
    pub pointers: u16,
}

/// The struct of a table.
pub fn layout(schema: &Schema) -> Result<Layout> {
    check_flat(schema)?;
    let (mut sections, mut numbers) = (Sections::default(), 0);
    let mut places = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let kind = Kind::of(field.data_type()).unwrap_or(Kind::Data);
        numbers += 1;
        places.push(match kind.bits() {
            None => {
                let number = sections.add_pointer(Owner::Struct);
                ColumnPlacement::Pointer { number, text: kind == Kind::Text }
            }
            Some(bits) if field.is_nullable() => {
                numbers += 1;
                let union = sections.union(Owner::Struct);
                let (null, value) = (sections.branch(union), sections.branch(union));
                sections.add_void(null);
                let offset = sections.add_data(value, bits.ilog2() as usize);
                ColumnPlacement::Data { bits, offset, tag: sections.discriminant(union) }
            }
            Some(bits) => {
                let offset = sections.add_data(Owner::Struct, bits.ilog2() as usize);
                ColumnPlacement::Data { bits, offset, tag: None }
            }
        });
    }
    // Below this the sections fit their counts of 16 bits too.
    if numbers > u32::from(u16::MAX) {
        return Err(Error::Unsupported(format!(
            "a Cap'n Proto struct has at most 65535 fields, and the columns need {numbers}; leave some out"
        )));
    }
    Ok(Layout { places, data_words: sections.words() as u16, pointers: sections.pointers() as u16 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{DataType, Field};

    #[test]
    fn holes_are_filled_in_the_order_of_the_fields() {
        let types = [
            (DataType::Int8, false),
            (DataType::Int64, false),
            (DataType::Boolean, false),
            (DataType::Int32, false),
            (DataType::Utf8View, true),
            (DataType::Boolean, true),
            (DataType::Float64, true),
            (DataType::BinaryView, false),
        ];
        let fields = types.map(|(data_type, nullable)| Field::new("c", data_type, nullable));
        let found = layout(&Schema::new(fields.to_vec())).unwrap();
        let data = |bits, offset, tag| ColumnPlacement::Data { bits, offset, tag };
        assert_eq!(
            found.places,
            [
                data(8, 0, None),
                data(64, 1, None),
                data(1, 8, None),
                data(32, 1, None),
                ColumnPlacement::Pointer { number: 0, text: true },
                // The 16 bits behind the two bytes, and the bit behind the first one.
                data(1, 9, Some(1)),
                data(64, 3, Some(8)),
                ColumnPlacement::Pointer { number: 1, text: false },
            ]
        );
        assert_eq!((found.data_words, found.pointers), (4, 2));
    }

    #[test]
    fn structs_have_an_end() {
        let of = |columns: usize| {
            layout(&Schema::new(vec![Field::new("c", DataType::Float64, true); columns]))
                .map(|l| l.data_words)
        };
        assert_eq!(of(32_767).unwrap(), 40_959);
        assert!(of(32_768).unwrap_err().to_string().contains("65536"));
    }
}
