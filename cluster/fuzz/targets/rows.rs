//! Rows: batches that are valid and come back as they are, however their bytes came.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use engine::dataflow::batch::{BATCH_ROWS, ExchangeBatch};
use engine::dataflow::operator::{Operator, Pull};
use engine::distributed::processes::Topology;
use engine::distributed::wire;
use engine::distributed::wire::memory::Memory;
use engine::distributed::wire::transfer;
use engine::operators::exchange::Receive;
use timely::bytes::arc::BytesMut;
use timely::dataflow::channels::ContainerBytes;

/// The columns that rows may have: all kinds of `engine::distributed::wire`, and types that differ within one.
pub fn schemas() -> Vec<SchemaRef> {
    let some = |data_type| Field::new("some", data_type, true);
    let all = |data_type| Field::new("all", data_type, false);
    let item = |data_type| Arc::new(Field::new_list_field(data_type, true));
    let entries =
        vec![Field::new("keys", DataType::Utf8, false), Field::new("values", DataType::Int64, true)];
    let entries = Field::new("entries", DataType::Struct(entries.into()), false);
    let columns = [
        vec![
            some(DataType::Boolean),
            all(DataType::Int64),
            some(DataType::Float64),
            some(DataType::Decimal128(38, 4)),
            some(DataType::Timestamp(TimeUnit::Nanosecond, None)),
        ],
        vec![some(DataType::Utf8View), all(DataType::Int32)],
        vec![some(DataType::BinaryView), all(DataType::Utf8View), all(DataType::Boolean)],
        vec![some(DataType::List(item(DataType::Utf8View))), all(DataType::LargeList(item(DataType::Int16)))],
        vec![
            some(DataType::Struct(
                vec![all(DataType::Int64), some(DataType::List(item(DataType::Boolean)))].into(),
            )),
            some(DataType::List(item(DataType::Null))),
        ],
        vec![some(DataType::FixedSizeBinary(3)), some(DataType::Map(Arc::new(entries), false))],
        vec![some(DataType::Null)],
        vec![],
    ];
    columns.map(|columns| Arc::new(Schema::new(columns))).into()
}

/// The first byte says which columns the others are rows of.
fn split(bytes: &[u8]) -> Option<(SchemaRef, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let schemas = schemas();
    Some((schemas[usize::from(*first) % schemas.len()].clone(), rest))
}

fn assert_valid(batch: &RecordBatch) {
    for column in batch.columns() {
        column.to_data().validate_full().expect("batches are valid");
    }
}

/// Reads a batch.
pub fn batch(bytes: &[u8]) {
    let Some((schema, bytes)) = split(bytes) else { return };
    let Ok(batch) = wire::decode(bytes, &schema) else { return };
    assert_valid(&batch);
    let encoded = wire::encode(&batch).expect("what was read can be written");
    assert!(wire::size(&batch).is_none_or(|size| size == encoded.len()), "it is of another size");
    assert!(wire::decode(&encoded, &schema).expect("it was written") == batch, "another batch came back");
}

/// Reads a batch that is lent, by a loan whose addresses are anywhere, and by one whose addresses are those of the bytes
/// behind it: two bytes of rows, then for each column a kind and a place of two bytes.
pub fn transfer(bytes: &[u8]) {
    let Some((schema, bytes)) = split(bytes) else { return };
    let mark = [7; 32];
    let Some(memory) = Memory::of(std::process::id(), mark.as_ptr() as u64, mark) else { return };
    // What lies there is any memory of this process.
    if let Ok(batch) = transfer::read(bytes, &schema, &memory) {
        assert_valid(&batch);
    }
    let Some((rows, rest)) = bytes.split_first_chunk::<2>() else { return };
    let Some((columns, values)) = rest.split_at_checked(3 * schema.fields().len()) else { return };
    let mut made = (u32::from(u16::from_le_bytes(*rows)) | 1 << 31).to_le_bytes().to_vec();
    made.extend(5_u64.to_le_bytes());
    for column in columns.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([column[1], column[2]])) % values.len().max(1);
        made.push(column[0]);
        made.extend((values.as_ptr() as u64 + place as u64).to_le_bytes());
    }
    assert!(transfer::number(&made) == Some(5), "it is a loan");
    if let Ok(batch) = transfer::read(&made, &schema, &memory) {
        assert!(batch.num_rows() == usize::from(u16::from_le_bytes(*rows)), "it has other rows");
        assert_valid(&batch);
    }
}

/// Takes a exchange batch out of timely's buffer, sends it on, and has it received.
pub fn exchange_batch(bytes: &[u8]) {
    let Some((schema, bytes)) = split(bytes) else { return };
    let given = ExchangeBatch::from_bytes(BytesMut::from(bytes.to_vec()).freeze());
    let mut sent = Vec::new();
    given.into_bytes(&mut sent);
    assert!(sent.len() == given.length_in_bytes(), "its bytes are not as many as it says");
    let again = ExchangeBatch::from_bytes(BytesMut::from(sent).freeze());
    assert!(again.source == given.source && again.last == given.last, "it is another one");
    let wire = given.wire.as_ref().expect("it came as bytes").clone();
    assert!(again.wire.is_some_and(|again| again.bytes() == wire.bytes()), "it has other rows");
    let last = given.last && wire.rows == 0;
    let mut receive = Receive::new(schema.clone(), Topology::alone(1));
    if receive.push(0, given).is_err() {
        return;
    }
    let mut rows = 0;
    while let Ok(Pull::Batch(given)) = receive.pull() {
        let batch = given.batch.expect("what was received is rows");
        assert!(batch.num_rows() <= BATCH_ROWS && batch.schema() == schema, "{} rows", batch.num_rows());
        rows += batch.num_rows();
    }
    let expected = wire::decode(wire.bytes(), &schema).map_or(0, |batch| batch.num_rows());
    assert!(last || rows == expected, "{rows} rows, not {expected}");
}

/// Reads a batch with its schema.
pub fn stream(bytes: &[u8]) {
    if let Ok(batch) = wire::decode_with_schema(bytes) {
        assert_valid(&batch);
    }
}

/// Reads the value of a subquery.
pub fn value(bytes: &[u8]) {
    let Some((schema, bytes)) = split(bytes) else { return };
    let Some(field) = schema.fields().first() else { return };
    if let Ok(value) = wire::decode_value(bytes, field.data_type()) {
        assert!(value.data_type() == *field.data_type(), "it is of another type");
        let written = wire::encode_value(&value).expect("what was read can be written");
        let again = wire::decode_value(&written, field.data_type()).expect("it was written");
        assert!(value == again, "{value:?}, but {again:?} when read again");
    }
}
