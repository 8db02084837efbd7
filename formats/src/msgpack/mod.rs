//! MessagePack: a sequence of rows, each an array of its values in the order of the columns. Rows that are maps from
//! names to values are read as well.
//!
//! - `value`: the bytes of values.
//! - `encode`: rows to bytes.

pub mod encode;
mod value;

use crate::rows::format::{Kind, RowFormat};
use crate::rows::split::Border;
use crate::rows::tagged;
use crate::rows::tagged::outer;
use crate::rows::tagged::write::TaggedWriter;
pub use value::Msgpack;

/// MessagePack.
pub static MSGPACK: RowFormat = RowFormat {
    name: "msgpack",
    title: "MessagePack",
    extensions: &["msgpack", "mpk"],
    kind: Kind::Tagged { is_in_array: |head, whole, given| outer::is_in_array(Msgpack, head, whole, given) },
    border: Border::Unmarked,
    splits: |head, _| outer::splits(Msgpack, head),
    decoder: |scan, first| tagged::walk::decoder(Msgpack, scan, first),
    infer: |file, options, rows| tagged::infer::infer(Msgpack, file, options, rows),
    probe: |_, _, _| None,
    writer: |schema, options| Ok(Box::new(TaggedWriter::<Msgpack>::new(schema, options.row_arrays)?)),
};
