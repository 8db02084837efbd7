//! What lies in a file, for people: its blocks. They hold rows, and no columns of their own.

use std::sync::Arc;

use ::schema::FileEntry;

use super::blocks::{Block, Container};
use super::codec::Codec;
use crate::columns::types::read_schema;
use crate::error::Result;
use crate::inspect::{ChunkInspection, Inspection, PartInspection};

/// What is said without the values being read.
pub fn inspect(file: &FileEntry) -> Result<Inspection> {
    let container = Container::open(file)?;
    let codec = container.header.codec;
    Ok(Inspection {
        schema: Arc::new(read_schema(&container.header.schema)),
        rows: Some(container.rows()),
        distinct: Vec::new(),
        part: "block",
        names: Vec::new(),
        parts: container.blocks.iter().map(|block| part(block, codec)).collect(),
    })
}

fn part(block: &Block, codec: Codec) -> PartInspection {
    let stored_bytes = block.data.end - block.data.start;
    let chunk = ChunkInspection {
        column: "(all columns)".into(),
        raw_bytes: (codec == Codec::None).then_some(stored_bytes),
        stored_bytes,
        compression: codec.name().into(),
        encoding: "rows".into(),
        ..ChunkInspection::default()
    };
    PartInspection { rows: block.rows, chunks: vec![chunk] }
}
