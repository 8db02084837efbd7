//! Bytes that are read, of which others are made by changing them: the first ones of `seeds/`.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, Int64Array, LargeListArray, ListArray, MapArray,
    NullArray, RecordBatch, RecordBatchOptions, StringArray, StringViewArray, StructArray, make_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;
use cluster::compression::Compression;
use cluster::handshake::Channel;
use cluster::locality::MarkAddress;
use cluster::message::{self, Begin, Done, Failure, Figures, Job, Order, Raw, Report};
use cluster::node::{Ask, Fate, HELLO, Reply, Running, Status};
use cluster::ports::Ports;
use cluster::{handshake, mesh, remote};
use engine::context::query::Skipped;
use engine::dataflow::batch::{ExchangeBatch, Wire, WireBytes};
use engine::distributed::processes::Note;
use engine::distributed::wire;
use engine::writing::dataset::Written;
use serde::Serialize;
use timely::dataflow::channels::ContainerBytes;

use crate::targets::rows::schemas;

/// The files of a target.
pub fn files(target: &str) -> Vec<Vec<u8>> {
    let of_each = |made: fn(&RecordBatch) -> Vec<u8>| {
        let tables = schemas().len();
        (0..tables).map(|number| [vec![number as u8], made(&table(number, 5))].concat()).collect()
    };
    match target {
        "rows" => of_each(|batch| wire::encode(batch).expect("it can be encoded")),
        "transfer" => {
            (0..schemas().len()).map(|number| [vec![number as u8], lent(number)].concat()).collect()
        }
        "exchange_batch" => of_each(given),
        "stream" => (0..schemas().len()).map(|number| with_schema(&table(number, 4))).collect(),
        "value" => of_each(|batch| match batch.num_columns() {
            0 => Vec::new(),
            _ => with_schema(&batch.project(&[0]).expect("it is there").slice(1, 1)),
        }),
        "version_exchange" => vec![b"palais process 0.1.0 (c68be9eb0a2d)\nwhat follows".to_vec()],
        "order" => vec![orders()],
        "report" => vec![reports()],
        "note" => vec![notes()],
        "request" => vec![told(&[remote::Word::Request(Raw(b"request".into())), remote::Word::Alive])],
        "result" => vec![results()],
        // As a letter is written: its fields are not to be seen.
        "letter" => vec![told(&[("0.1.0".to_string(), Raw(b"text".into()))])],
        "ask" => vec![asks()],
        "reply" => vec![replies()],
        "handshake" => vec![hello()],
        "metrics" => ["/metrics", "/"]
            .map(|path| format!("GET {path} HTTP/1.1\r\nHost: one:9700\r\nAccept: */*\r\n\r\n").into_bytes())
            .to_vec(),
        _ => panic!("there is no target {target}"),
    }
}

/// So many rows of the columns of this number, some of them NULL where they may be.
fn table(number: usize, rows: usize) -> RecordBatch {
    let schema = schemas().swap_remove(number);
    let columns = schema.fields().iter().map(|field| column(field.data_type(), field.is_nullable(), rows));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns.collect(), &options)
        .expect("the columns are of these types")
}

fn column(t: &DataType, nullable: bool, rows: usize) -> ArrayRef {
    let some = move |row: usize| !nullable || !row.is_multiple_of(3);
    let numbers = Int64Array::from_iter((0..rows).map(|row| some(row).then_some(row as i64 * 1003)));
    let texts = StringViewArray::from_iter(
        (0..rows).map(|row| some(row).then(|| ["", "é", "a text that is not short"][row % 3])),
    );
    match t {
        DataType::Null => Arc::new(NullArray::new(rows)),
        DataType::Boolean => {
            Arc::new(BooleanArray::from_iter((0..rows).map(|row| some(row).then_some(row % 2 == 0))))
        }
        DataType::Utf8View => Arc::new(texts),
        DataType::BinaryView => Arc::new(texts.to_binary_view()),
        DataType::Utf8 => Arc::new(StringArray::from_iter(texts.iter())),
        DataType::FixedSizeBinary(width) => {
            let values = (0..rows).map(|row| some(row).then(|| vec![row as u8; *width as usize]));
            let values = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, *width);
            Arc::new(values.expect("all are so wide"))
        }
        DataType::List(field) => Arc::new(ListArray::new(
            field.clone(),
            OffsetBuffer::from_repeated_length(2, rows),
            column(field.data_type(), field.is_nullable(), 2 * rows),
            numbers.nulls().cloned(),
        )),
        DataType::LargeList(field) => Arc::new(LargeListArray::new(
            field.clone(),
            OffsetBuffer::from_repeated_length(1, rows),
            column(field.data_type(), field.is_nullable(), rows),
            numbers.nulls().cloned(),
        )),
        DataType::Struct(fields) => {
            let columns = fields.iter().map(|field| column(field.data_type(), field.is_nullable(), rows));
            let nulls = numbers.nulls().cloned();
            Arc::new(StructArray::new(fields.clone(), columns.collect(), nulls))
        }
        DataType::Map(field, sorted) => {
            let entries = column(field.data_type(), false, rows).as_struct().clone();
            let offsets = OffsetBuffer::from_repeated_length(1, rows);
            Arc::new(MapArray::new(field.clone(), offsets, entries, numbers.nulls().cloned(), *sorted))
        }
        t => {
            // A number of the type's width, whatever it means.
            let width = t.primitive_width().expect("it is a number");
            let bytes: Vec<u8> = numbers
                .values()
                .iter()
                .flat_map(|number| [number.to_le_bytes(), [0; 8]].concat()[..width].to_vec())
                .collect();
            let data = ArrayData::builder(t.clone()).len(rows).add_buffer(bytes.into());
            let data = data.nulls(numbers.nulls().cloned()).align_buffers(true);
            make_array(data.build().expect("any number will do"))
        }
    }
}

/// Rows that are lent: how many, the kind and place of each column, and values.
fn lent(number: usize) -> Vec<u8> {
    let schema = schemas().swap_remove(number);
    let kind = |t: &DataType| if matches!(t, DataType::Utf8View | DataType::BinaryView) { 2 } else { 0 };
    let columns = schema.fields().iter().flat_map(|field| [kind(field.data_type()), 0, 0]);
    let views = StringViewArray::from_iter_values(["", "a", "twelve bytes"]);
    let values = views.views().iter().flat_map(|view| view.to_le_bytes());
    [3, 0].into_iter().chain(columns).chain(values).collect()
}

fn with_schema(batch: &RecordBatch) -> Vec<u8> {
    wire::encode_with_schema(batch).expect("it can be encoded")
}

fn given(batch: &RecordBatch) -> Vec<u8> {
    let bytes = WireBytes::Made(Arc::new(wire::encode(batch).expect("it can be encoded")));
    let wire = Some(Wire { rows: batch.num_rows() as u32, owed: 100, bytes });
    let mut written = Vec::new();
    ExchangeBatch { source: 3, wire, ..ExchangeBatch::default() }.into_bytes(&mut written);
    written
}

/// The bytes of messages, one behind the other.
fn told<M: Serialize>(messages: &[M]) -> Vec<u8> {
    let mut bytes = Vec::new();
    messages.iter().for_each(|m| message::write(&mut bytes, m).expect("memory can be written"));
    bytes
}

fn orders() -> Vec<u8> {
    let tls = "certificate = \"c.pem\"\nkey = \"c.key\"\nauthority = \"a.pem\"\nname = \"palais\"";
    let tls = toml::from_str(tls).expect("it names files");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 7400));
    told(&[
        Order::Begin(Begin {
            incarnation: [1; 16],
            token: [2; 32],
            process: 1,
            processes: 3,
            address: address.ip(),
            ports: Ports::range([7400, 7499]).expect("it is one"),
            directory: Some("/mnt/data".into()),
            sharing: 2,
            far: true,
            compression: Compression::Auto,
            tls: Some(tls),
            patience: Duration::from_millis(8500),
        }),
        Order::Open(Raw(b"tables".into())),
        Order::Plan(Job {
            run: 1,
            query: Raw(b"query".into()),
            fingerprint: 77,
            writes: false,
            addresses: vec![address, (Ipv6Addr::LOCALHOST, 1).into()],
            places: vec![None, Some(PLACE)],
            lends: true,
        }),
        Order::Run { begun: Some(Raw(b"begun".into())), lends: vec![true, false] },
        Order::Returned(vec![1, 2]),
        Order::Make(Raw(b"job".into())),
        Order::Join(Raw(b"begun".into())),
        Order::Write(vec![Raw(b"told".into())]),
        Order::Finish(vec![Raw(b"written".into()), Raw(Vec::new())]),
        Order::Stop,
        Order::Alive,
    ])
}

const FIGURES: Figures = Figures {
    bytes_read: 1,
    rows_read: 2,
    bytes_sent: 3,
    bytes_received: 6,
    bytes_spilled: 7,
    bytes_lent: 5,
    progress_sent: 4,
    peak_memory: 8,
    peak_resident: 9,
};

const PLACE: MarkAddress = MarkAddress { process: 7, address: 4096, mark: [5; 32] };

fn reports() -> Vec<u8> {
    let address = (Ipv4Addr::LOCALHOST, 7400).into();
    let rows = message::rows(&table(0, 3)).expect("it can be encoded");
    let failure = Failure { message: "overflow".into(), code: 1 };
    let before = [
        Report::Listening { address, workers: 2, place: Some(PLACE) },
        Report::Opened(Raw(b"tables".into())),
        Report::Planned { begun: None, reads: vec![false, true] },
    ];
    let behind = [
        Report::Alive(FIGURES),
        Report::Lost { peer: 1, reason: "it was closed".into() },
        Report::Failed(failure),
        Report::Done(Done {
            figures: FIGURES,
            nodes: vec![vec![[1, 2, 3, 4, 5]; 2]; 2],
            skipped: skipped(),
            written: Some(Raw(b"written".into())),
        }),
        Report::Joined(Raw(b"told".into())),
        Report::Finished(Written { files: 1, rows: 5, bytes: 70 }),
    ];
    [told(&before), rows, told(&behind)].concat()
}

fn skipped() -> Skipped {
    Skipped { rows: 1, values: 2, unknown: 3, unknown_key: Some("a".into()), ..Skipped::default() }
}

fn notes() -> Vec<u8> {
    let (stage, node, file) = (1, 2, 3);
    told(&[
        mesh::Word::Alive,
        mesh::Word::Note(Note::Absorbed { stage, node, source: 4, bytes: 5, loan: None }),
        mesh::Word::Returned(vec![1, 2]),
        mesh::Word::Note(Note::Quotes { stage, node, file, morsel: 4, states: [0, 1, 2, 3, 4] }),
        mesh::Word::Note(Note::Abandoned { stage, node, file }),
        mesh::Word::Note(Note::Enough { stage, node }),
        mesh::Word::Note(Note::Wants { stage, node, worker: 3, before: Some(5) }),
        mesh::Word::Note(Note::Assigned { stage, node, worker: 3, part: Some(4) }),
        mesh::Word::Note(Note::Idle { stage, node, process: 1 }),
        mesh::Word::Note(Note::Given { stage, node, start: 5, end: 6 }),
        mesh::Word::Note(Note::Wanted { stage, node, hash: 6, key: Raw(vec![1, 0, 0, 0]), process: 1 }),
        mesh::Word::Note(Note::Replica { stage, node, hash: 6, rows: Raw(vec![1, 0, 0, 0]) }),
        mesh::Word::Value(1, Raw(with_schema(&table(6, 1)))),
        mesh::Word::Goodbye,
    ])
}

fn results() -> Vec<u8> {
    let rows = message::rows(&table(1, 3)).expect("it can be encoded");
    let before =
        [remote::Response::Columns(Raw(with_schema(&table(1, 0)))), remote::Response::Alive(FIGURES)];
    let behind = [
        remote::Response::Warning("one row left out".into()),
        remote::Response::Done(FIGURES, skipped()),
        remote::Response::Failed(Failure { message: "overflow".into(), code: 1 }),
        remote::Response::Work(1 << 20),
        remote::Response::Note("rankings: 10 rows".into()),
    ];
    [told(&before), rows, told(&behind)].concat()
}

fn asks() -> Vec<u8> {
    let (query, statement) = (|| "5c0fb4a1".to_string(), || "SELECT 1".to_string());
    told(&[
        Ask::Query { statement: statement() },
        Ask::Process { query: query(), statement: statement() },
        Ask::Fate { query: query(), led: true },
        Ask::Status,
        Ask::Overview,
        Ask::Done { query: query(), figures: FIGURES },
        Ask::End { query: query(), led: true },
        Ask::Cancel { query: query() },
    ])
}

fn replies() -> Vec<u8> {
    let query = "5c0fb4a1".to_string();
    let running = Running {
        query: query.clone(),
        statement: "SELECT 1".into(),
        leads: true,
        time: Duration::from_millis(1500),
        memory: 1 << 20,
    };
    let status = Status {
        version: "0.1.0".into(),
        most: 4,
        memory_limit: 1 << 30,
        waiting: 1,
        running: vec![running],
    };
    let nodes = vec![("one:7700".into(), Ok(status.clone())), ("two:7700".into(), Err("it is away".into()))];
    told(&[
        Reply::Waiting,
        Reply::Taken { query },
        Reply::Refused("it is of another version".into()),
        Reply::Fate(Some(Fate { how: "it was killed".into(), stderr: "a line".into(), cancelled: false })),
        Reply::Status(status),
        Reply::Overview(nodes),
        Reply::Ended(2),
    ])
}

/// What somebody says who connects, and then does not have the token.
fn hello() -> Vec<u8> {
    let mut said = Vec::new();
    let mut socket = Said(&mut said);
    handshake::connect(&mut socket, Channel::Plain, &HELLO, &[1; 32]).expect_err("nobody answers");
    said.extend_from_slice(&[9; 32]);
    said
}

/// A socket at whose other end nobody is.
struct Said<'a>(&'a mut Vec<u8>);

impl Read for Said<'_> {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }
}

impl Write for Said<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
