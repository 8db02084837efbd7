//! What compressed buffers unpack to, asked for before they are unpacked.

use arrow_ipc::RecordBatch;
use arrow_schema::{DataType, Schema, UnionMode};

use crate::error::Result;
use crate::memory;

/// Asks for what the columns of these positions, ascending, unpack to.
pub fn ask(batch: &RecordBatch, body: &[u8], schema: &Schema, positions: &[usize]) -> Result<()> {
    if batch.compression().is_none() {
        return Ok(());
    }
    let mut at = 0;
    let mut variadic = batch.variadicBufferCounts().into_iter().flatten();
    let mut bytes = 0_u64;
    for (position, field) in schema.fields().iter().enumerate() {
        let buffers = buffers(field.data_type(), &mut variadic);
        if positions.binary_search(&position).is_ok() {
            bytes = bytes.saturating_add(claimed(batch, body, at, buffers));
        }
        at = at.saturating_add(buffers);
    }
    ask_for(bytes, "columns of a record batch unpack")
}

/// Asks for what all buffers, those of a dictionary, unpack to.
pub fn ask_for_all(batch: &RecordBatch, body: &[u8]) -> Result<()> {
    match batch.compression() {
        Some(_) => ask_for(claimed(batch, body, 0, usize::MAX), "a dictionary unpacks"),
        None => Ok(()),
    }
}

fn ask_for(bytes: u64, what: &str) -> Result<()> {
    memory::ask(bytes, || format!("{what} to {bytes} bytes"))
}

/// What some buffers claim to hold: a compressed one begins with that, -1 if it is as it is.
fn claimed(batch: &RecordBatch, body: &[u8], first: usize, count: usize) -> u64 {
    let buffers = batch.buffers().into_iter().flatten().skip(first).take(count);
    let claims = buffers.filter_map(|buffer| {
        let claim = body.get(usize::try_from(buffer.offset()).ok()?..)?.first_chunk::<8>()?;
        u64::try_from(i64::from_le_bytes(*claim)).ok().filter(|_| buffer.length() > 0)
    });
    claims.fold(0, u64::saturating_add)
}

/// How many buffers a column of this type has. Those of views have any number, which the message tells.
pub fn buffers(data_type: &DataType, variadic: &mut impl Iterator<Item = i64>) -> usize {
    let own = match data_type {
        DataType::Null | DataType::RunEndEncoded(..) => 0,
        DataType::FixedSizeList(..) | DataType::Struct(_) | DataType::Union(_, UnionMode::Sparse) => 1,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => 3,
        DataType::ListView(_) | DataType::LargeListView(_) => 3,
        DataType::Utf8View | DataType::BinaryView => {
            2_usize.saturating_add(variadic.next().and_then(|n| usize::try_from(n).ok()).unwrap_or(0))
        }
        _ => 2,
    };
    let within: usize = match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => buffers(item.data_type(), variadic),
        DataType::Struct(fields) => fields.iter().map(|f| buffers(f.data_type(), &mut *variadic)).sum(),
        DataType::RunEndEncoded(ends, values) => {
            buffers(ends.data_type(), &mut *variadic) + buffers(values.data_type(), variadic)
        }
        _ => 0,
    };
    own.saturating_add(within)
}
