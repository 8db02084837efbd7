use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    BinaryViewArray, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int64Array, ListArray, NullArray,
    StringViewArray, StructArray,
};
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_ipc::{
    CompressionType, FieldBuilder, MessageBuilder, MessageHeader, MetadataVersion, NullBuilder,
    SchemaBuilder, Type,
};
use arrow_schema::{Field, Schema};
use datafusion_common::ScalarValue;
use flatbuffers::FlatBufferBuilder;

use super::*;

fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
    let fields = columns.iter().enumerate();
    let fields = fields.map(|(i, c)| Field::new(format!("c{i}"), c.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns).expect("the columns are of one length")
}

/// Columns of every kind, so many rows, every third value NULL.
fn columns(rows: usize) -> Vec<ArrayRef> {
    let some = |row: usize| !row.is_multiple_of(3);
    let numbers = (0..rows).map(|row| some(row).then_some(row as i64 * 1_000_003));
    let texts = |length: usize| (0..rows).map(move |row| some(row).then(|| "é".repeat(row % length)));
    let lists = (0..rows).map(|row| some(row).then(|| vec![Some(row as i32), None]));
    let numbers: Int64Array = numbers.collect();
    let inner: ArrayRef = Arc::new(numbers.clone());
    let field = Arc::new(Field::new("a", DataType::Int64, true));
    vec![
        Arc::new((0..rows).map(|row| some(row).then_some(row % 2 == 0)).collect::<BooleanArray>()),
        Arc::new(numbers.reinterpret_cast::<arrow_array::types::TimestampNanosecondType>()),
        Arc::new(numbers),
        Arc::new(Float64Array::from_iter_values((0..rows).map(|row| row as f64 / 3.0))),
        Arc::new(Decimal128Array::from_iter_values((0..rows).map(|row| row as i128 * i128::from(i64::MAX)))),
        Arc::new(StringViewArray::from_iter(texts(5))),
        Arc::new(StringViewArray::from_iter(texts(400))),
        Arc::new(BinaryViewArray::from_iter(texts(40).map(|t| t.map(String::into_bytes)))),
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)),
        Arc::new(StructArray::from(vec![(field, inner)])),
        Arc::new(NullArray::new(rows)),
        Arc::new(FixedSizeBinaryArray::try_from_iter((0..=rows).map(|_| [7; 3])).unwrap().slice(0, rows)),
    ]
}

#[test]
fn every_kind_of_column_comes_back() {
    for rows in [0, 1, 8, 9, 3000] {
        for batch in [batch(columns(rows)), batch(columns(rows + 20)).slice(7, rows)] {
            let encoded = encode(&batch).unwrap();
            assert_eq!(decode(&encoded, &batch.schema()).unwrap(), batch, "{rows}");
            for (i, column) in batch.columns().iter().enumerate() {
                let alone = batch.project(&[i]).unwrap();
                let known = size(&alone).unwrap_or(0);
                let nested = matches!(kind_of(column.data_type()), LISTS | STRUCTS | ARROW);
                assert_eq!(known, if nested { 0 } else { encode(&alone).unwrap().len() }, "{rows} {i}");
            }
        }
    }
}

#[test]
fn texts_of_any_length_come_back() {
    let texts: Vec<String> =
        (0..30_usize).map(|length| "abcdefghij".repeat(3)[..length].to_string()).collect();
    for longest in [1, 12, 13, 30] {
        let some = &texts[..longest];
        for texts in [
            some.to_vec(),
            some.iter().rev().cloned().collect(),
            some.iter().cycle().take(300).cloned().collect(),
        ] {
            let all = batch(vec![
                Arc::new(StringViewArray::from_iter_values(&texts)),
                Arc::new(BinaryViewArray::from_iter_values(
                    texts.iter().map(|text| text.replace('a', "\u{e9}")),
                )),
                Arc::new(BinaryViewArray::from_iter_values(texts.iter().map(|_| [0xff, 0]))),
                Arc::new(StringViewArray::from_iter(texts.iter().map(|t| (t.len() % 2 == 0).then_some(t)))),
            ]);
            assert_eq!(decode(&encode(&all).unwrap(), &all.schema()).unwrap(), all, "{texts:?}");
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_errors() {
    let text = Arc::new(Schema::new(vec![Field::new("a", DataType::Utf8View, true)]));
    for wrong in [&b"\xff"[..], b"caf\xc3", b"a text that is not short \xc3(", b"\xa9"] {
        let bytes = encode(&batch(vec![Arc::new(BinaryViewArray::from_iter_values([wrong]))])).unwrap();
        assert!(decode(&bytes, &text).is_err(), "{wrong:?}");
    }
    // A character that two values share is in none of them.
    let halves =
        encode(&batch(vec![Arc::new(BinaryViewArray::from_iter_values([b"\xc3", b"\xa9"]))])).unwrap();
    assert!(decode(&halves, &text).is_err());
}

#[test]
fn a_group_of_a_short_key_and_a_sum_takes_few_bytes() {
    let keys: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..1000).map(|i| format!("10.{i:05}"))));
    let sums: ArrayRef = Arc::new(Float64Array::from_iter_values((0..1000).map(f64::from)));
    let bytes = encode(&batch(vec![keys, sums])).unwrap().len();
    assert!(bytes <= 17 * 1000 + 16, "{bytes}");
}

#[test]
fn a_slice_sends_its_own_rows_alone() {
    let lists = (0..8000_i64).map(|i| Some(vec![Some(i); 10]));
    let all = batch(vec![
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)),
        Arc::new(StringViewArray::from_iter_values(
            (0..8000).map(|i| format!("a text that is not short {i}")),
        )),
    ]);
    let bytes = encode(&all.slice(4000, 10)).unwrap().len();
    assert!(bytes < 3000, "{bytes}");
}

#[test]
fn rows_without_columns() {
    let none = Arc::new(Schema::empty());
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(5));
    let batch = RecordBatch::try_new_with_options(none.clone(), vec![], &options).unwrap();
    assert_eq!(decode(&encode(&batch).unwrap(), &none).unwrap(), batch);
}

#[test]
fn other_bytes_are_errors() {
    let batch = batch(columns(50));
    let bytes = encode(&batch).unwrap();
    for length in 0..bytes.len() {
        assert!(decode(&bytes[..length], &batch.schema()).is_err(), "{length}");
    }
    assert!(decode(&[&bytes[..], b"x"].concat(), &batch.schema()).is_err());
    // The flipped bit may be in a value. Decoding must not panic, and must not allocate memory that a length claims.
    for place in 0..bytes.len() {
        for bit in [1, 0x10, 0x80] {
            let mut flipped = bytes.clone();
            flipped[place] ^= bit;
            let _ = decode(&flipped, &batch.schema());
        }
    }
    let other = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
    assert!(decode(&bytes, &other).is_err());
    assert!(decode(&encode(&batch.slice(0, 0)).unwrap(), &other).is_err());
}

/// A stream without a batch: a schema, whose fields all have this one name, and the length of a body that is not there.
fn stream_of_fields(fields: usize, name: &str, body: i64) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let name = builder.create_string(name);
    let fields: Vec<_> = (0..fields)
        .map(|_| {
            let none = NullBuilder::new(&mut builder).finish().as_union_value();
            let mut field = FieldBuilder::new(&mut builder);
            field.add_name(name);
            field.add_type_type(Type::Null);
            field.add_type_(none);
            field.finish()
        })
        .collect();
    let fields = builder.create_vector(&fields);
    let mut schema = SchemaBuilder::new(&mut builder);
    schema.add_fields(fields);
    let schema = schema.finish().as_union_value();
    let mut message = MessageBuilder::new(&mut builder);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::Schema);
    message.add_header(schema);
    message.add_bodyLength(body);
    let message = message.finish();
    builder.finish(message, None);
    let metadata = builder.finished_data();
    [&[0xff; 4], &(metadata.len() as u32).to_le_bytes()[..], metadata, &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]]
        .concat()
}

#[test]
fn streams_come_back() {
    let wide = batch((0..1000).map(|_| Arc::new(BooleanArray::from(vec![true])) as ArrayRef).collect());
    for batch in [batch(columns(20)), wide] {
        let stream = encode_with_schema(&batch).unwrap();
        assert_eq!(decode_with_schema(&stream).unwrap(), batch);
        for length in (0..stream.len()).step_by(stream.len() / 500) {
            assert!(decode_with_schema(&stream[..length]).is_err(), "{length}");
        }
    }
}

#[test]
fn streams_that_claim_more_than_they_hold_are_errors() {
    let why = |stream: &[u8]| decode_with_schema(stream).unwrap_err().to_string();
    let fine = stream_of_fields(1, "a", 0);
    assert!(why(&fine).contains("no batch"), "{}", why(&fine));
    let mut long = fine.clone();
    long[4..8].copy_from_slice(&i32::MAX.to_le_bytes());
    for long in [long, stream_of_fields(1, "a", 1 << 46), stream_of_fields(1, "a", -1)] {
        assert!(why(&long).contains("it ends too early"), "{}", why(&long));
    }
    let many = stream_of_fields(2000, &"a name that all of them have ".repeat(1000), 0);
    assert!(why(&many).contains("pparent size"), "{}", why(&many));
    let rows = batch(vec![Arc::new(Int64Array::from(vec![0; 1000]))]);
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME)).unwrap();
    let mut packed = Vec::new();
    let mut writer = StreamWriter::try_new_with_options(&mut packed, &rows.schema(), options).unwrap();
    writer.write(&rows).and_then(|()| writer.finish()).unwrap();
    drop(writer);
    assert!(why(&packed).contains("a compressed batch"), "{}", why(&packed));
}

#[test]
fn values_come_back_as_one_of_their_type() {
    let value = ScalarValue::Decimal128(Some(7), 9, 2);
    let bytes = encode_value(&value).unwrap();
    assert_eq!(decode_value(&bytes, &value.data_type()).unwrap(), value);
    assert!(decode_value(&bytes, &DataType::Int64).is_err());
    let two = batch(vec![Arc::new(Int64Array::from(vec![1, 2]))]);
    for other in [&two, &two.slice(0, 0), &two.project(&[]).unwrap()] {
        assert!(decode_value(&encode_with_schema(other).unwrap(), &DataType::Int64).is_err());
    }
}
