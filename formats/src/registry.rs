//! The table of encodings. A new encoding is a folder and a line here.

use crate::error::{Error, Result};
use crate::format::Format;

/// All encodings.
pub fn formats() -> &'static [&'static dyn Format] {
    static FORMATS: &[&dyn Format] = &[
        &crate::text::TEXT,
        &crate::csv::CSV,
        &crate::jsonl::JSONL,
        &crate::bincode::BINCODE,
        &crate::msgpack::MSGPACK,
        &crate::cbor::CBOR,
        &crate::protobuf::PROTOBUF,
        &crate::capnproto::CAPNPROTO,
        &crate::capnproto::PACKED,
        &crate::parquet::Parquet,
        &crate::arrow::Arrow,
        &crate::avro::Avro,
        &crate::buren::Buren,
        &crate::xlsx::Xlsx,
    ];
    FORMATS
}

/// The encodings that can be written.
pub fn written() -> impl Iterator<Item = &'static dyn Format> {
    formats().iter().copied().filter(|format| format.is_written())
}

/// The error of writing files that are only read, of an encoding with this title.
pub fn not_written(title: &str) -> Error {
    let names: Vec<_> = written().map(|f| f.name()).collect();
    Error::Unsupported(format!("files of {title} are read and not written; written are {}", names.join(", ")))
}

/// Finds an encoding by its name, or by a suffix of its files (`ndjson`, `pq`).
pub fn format(name: &str) -> Result<&'static dyn Format> {
    let is_it = |f: &&dyn Format| f.name() == name || f.extensions().contains(&name);
    formats().iter().copied().find(is_it).ok_or_else(|| {
        let names: Vec<_> = formats().iter().map(|f| f.name()).collect();
        Error::Unsupported(format!("there is no encoding '{name}'; there are {}", names.join(", ")))
    })
}
