//! The row encodings and the compressions around them: what is written comes back, and what does not fit is an error.

mod alike;
mod capnproto;
mod common;
mod compress;
mod csv;
mod csv_errors;
mod infer;
mod lines;
mod nested;
mod nested_tables;
mod properties;
mod protobuf;
mod roundtrip;
mod sequential_splits;
mod structs;
mod tagged;
