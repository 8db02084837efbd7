//! CBOR (RFC 8949): a sequence (RFC 8742) of rows, each an array of its values in the order of the columns. Rows that
//! are maps from names to values are read as well.
//!
//! - `value`: the bytes of values.
//! - `encode`: rows to bytes.

mod encode;
mod value;

use crate::rows::format::{Kind, RowFormat};
use crate::rows::split::Border;
use crate::rows::tagged;
use crate::rows::tagged::outer;
use crate::rows::tagged::write::TaggedWriter;
pub use value::Cbor;

/// CBOR.
pub static CBOR: RowFormat = RowFormat {
    name: "cbor",
    title: "CBOR",
    extensions: &["cbor"],
    kind: Kind::Tagged { is_in_array: |head, whole, given| outer::is_in_array(Cbor, head, whole, given) },
    border: Border::Unmarked,
    splits: |head, _| outer::splits(Cbor, head),
    decoder: |scan, first| tagged::walk::decoder(Cbor, scan, first),
    infer: |file, options, rows| tagged::infer::infer(Cbor, file, options, rows),
    probe: |_, _, _| None,
    writer: |schema, options| Ok(Box::new(TaggedWriter::<Cbor>::new(schema, options.row_arrays)?)),
};
