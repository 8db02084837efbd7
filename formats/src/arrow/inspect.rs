//! What lies in a file, for people: what its footer says, and the metadata of its record batches.

use arrow_ipc::{CompressionType, RecordBatch};
use arrow_schema::DataType;

use schema::FileEntry;

use super::footer::Footer;
use super::sizes::buffers;
use super::{is_stream, message, stream};
use crate::columns::guard::guarded;
use crate::columns::tail::Tail;
use crate::error::Result;
use crate::inspect::{ChunkInspection, Inspection, PartInspection};

/// What is said without the values being read. Of a stream that is no more than its columns.
pub fn inspect(file: &FileEntry) -> Result<Inspection> {
    let path = &file.path;
    let (distinct, part) = (Vec::new(), "record batch");
    if is_stream(file)? {
        let schema = stream::infer(file)?;
        return Ok(Inspection { schema, rows: None, distinct, part, names: vec![], parts: vec![] });
    }
    let footer = Footer::open(file)?;
    let tail = Tail::open(file)?;
    let read = || {
        let mut parts = Vec::with_capacity(footer.batches.len());
        for (range, &metadata) in footer.batches.iter().zip(&footer.metadata) {
            let bytes = tail.bytes(path, range.start..range.start + metadata as u64)?;
            parts.push(inspect_batch(&message::batch(&message::message(&bytes)?)?, &footer)?);
        }
        Ok(parts)
    };
    let parts: Vec<PartInspection> = guarded(read).map_err(|e| e.at(path))?;
    let rows = parts.iter().fold(0_u64, |rows, part| rows.saturating_add(part.rows));
    Ok(Inspection { schema: footer.read_schema, rows: Some(rows), distinct, part, names: vec![], parts })
}

fn inspect_batch(batch: &RecordBatch, footer: &Footer) -> Result<PartInspection> {
    let compression = match batch.compression().map(|compression| compression.codec()) {
        None => "none",
        Some(CompressionType::LZ4_FRAME) => "lz4",
        Some(CompressionType::ZSTD) => "zstd",
        Some(_) => "unknown",
    };
    let mut variadic = batch.variadicBufferCounts().into_iter().flatten();
    let (mut node, mut buffer) = (0, 0);
    let chunks = footer.schema.fields().iter().map(|field| {
        let count = buffers(field.data_type(), &mut variadic);
        let own = batch.buffers().into_iter().flatten().skip(buffer).take(count);
        let stored = own.fold(0_u64, |sum, own| sum.saturating_add(u64::try_from(own.length()).unwrap_or(0)));
        let nulls = batch.nodes().and_then(|nodes| Some(nodes.iter().nth(node)?.null_count()));
        (node, buffer) = (node + nodes(field.data_type()), buffer.saturating_add(count));
        let dictionary = matches!(field.data_type(), DataType::Dictionary(..));
        ChunkInspection {
            column: field.name().clone(),
            raw_bytes: (compression == "none").then_some(stored),
            stored_bytes: stored,
            nulls: nulls.and_then(|nulls| u64::try_from(nulls).ok()),
            compression: compression.into(),
            encoding: if dictionary { "dictionary" } else { "plain" }.into(),
            ..ChunkInspection::default()
        }
    });
    Ok(PartInspection { chunks: chunks.collect(), rows: message::rows_of(batch)? as u64 })
}

/// How many arrays a column of this type is made of.
fn nodes(data_type: &DataType) -> usize {
    let within = match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => nodes(item.data_type()),
        DataType::Struct(fields) => fields.iter().map(|field| nodes(field.data_type())).sum(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| nodes(field.data_type())).sum(),
        DataType::RunEndEncoded(ends, values) => nodes(ends.data_type()) + nodes(values.data_type()),
        _ => 0,
    };
    1 + within
}
