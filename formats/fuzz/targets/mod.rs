//! What is fuzzed: for each decoder, each decompressor and each text that is parsed, a function that is given any bytes.
//! It panics if they are handled wrongly: if the same bytes, come whole or in pieces, have different outcomes, if a batch
//! is not valid, or if more memory is kept than so few bytes can be worth.
//!
//! - [`memory`]: an allocator that counts, and the bound on it.
//! - [`records`]: row encodings. [`columns`]: column formats. [`packed`]: decompressors.
//! - [`texts`]: schemas, manifests, and what is found out about a file that nobody named.
//!
//! Two programs call them: `tests/fuzz` of this package with the bytes that are kept in `seeds/` and some seconds of
//! changes to them, and the targets of `cargo fuzz` for as long as somebody has time.

pub mod columns;
pub mod memory;
pub mod packed;
pub mod records;
pub mod texts;

pub use memory::Target;

/// What a target may keep at once: some decompressors have windows of many megabytes, whatever the input's size.
const MOST: isize = 192 << 20;

/// All targets. Each is a `[[bin]]` of the package `fuzz` too, and may have a directory in `seeds/`.
pub const TARGETS: &[Target] = &[
    ("text", |bytes| records::check("text", bytes)),
    ("csv", |bytes| records::check("csv", bytes)),
    ("jsonl", |bytes| records::check("jsonl", bytes)),
    ("jsonarray", |bytes| records::check("jsonl", &[b"[", bytes].concat())),
    ("jsonbelow", records::check_below),
    ("bincode", |bytes| records::check("bincode", bytes)),
    ("msgpack", |bytes| records::check("msgpack", bytes)),
    ("cbor", |bytes| records::check("cbor", bytes)),
    ("protobuf", |bytes| records::check("protobuf", bytes)),
    ("protobuf-messages", records::check_messages),
    ("capnproto", |bytes| records::check("capnproto", bytes)),
    ("capnproto-packed", |bytes| records::check("capnproto-packed", bytes)),
    ("capnproto-structs", |bytes| records::check_structs("capnproto", bytes)),
    ("capnproto-structs-packed", |bytes| records::check_structs("capnproto-packed", bytes)),
    ("buren", |bytes| columns::check("buren", bytes)),
    ("parquet", |bytes| columns::check("parquet", bytes)),
    ("arrow", |bytes| columns::check("arrow", bytes)),
    ("avro", |bytes| columns::check("avro", bytes)),
    ("xlsx", |bytes| columns::check("xlsx", bytes)),
    ("gzip", |bytes| packed::check("gzip", bytes)),
    ("zlib", |bytes| packed::check("zlib", bytes)),
    ("deflate", packed::deflate),
    ("bzip2", |bytes| packed::check("bzip2", bytes)),
    ("snappy", |bytes| packed::check("snappy", bytes)),
    ("lz4", |bytes| packed::check("lz4", bytes)),
    ("zstd", |bytes| packed::check("zstd", bytes)),
    ("inference", texts::inference),
    ("beginnings", texts::beginnings),
    ("manifest", texts::manifest),
    ("schema", texts::schema),
    ("proto", texts::proto),
    ("capnp", texts::capnp),
];

/// Runs a target with its bound on memory.
pub fn run(name: &str, bytes: &[u8]) {
    memory::run(TARGETS, MOST, name, bytes);
}

/// A number that depends on the bytes alone: of the ways in which they can be read, it chooses one.
fn choice(bytes: &[u8], of: usize) -> usize {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) as usize % of
}
