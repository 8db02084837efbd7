//! The reader of a stream, from its first byte to its last.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_ipc::MessageHeader;
use arrow_schema::SchemaRef;
use bytes::Bytes;

use schema::FileEntry;

use super::message::{self, CONTINUATION};
use super::{Slices, bad, schema as columns};
use crate::columns::adapt::Adapter;
use crate::columns::guard::guarded;
use crate::columns::types::read_schema;
use crate::error::{Error, Result};
use crate::format::ScanOptions;
use crate::reader::{FileReader, Next};
use crate::store::input::Input;

/// The least and the most that is asked for at a time: a message may claim any length.
const LEAST: u64 = 1 << 20;
const MOST: u64 = 64 << 20;

/// The schema of a stream, which comes first in it.
pub fn infer(file: &FileEntry) -> Result<SchemaRef> {
    let path = &file.path;
    first_schema(&Input::of(file)?).map_err(|e| e.at(path))
}

fn first_schema(input: &Input) -> Result<SchemaRef> {
    let mut messages = Messages::default();
    loop {
        match guarded(|| messages.next())? {
            Framed::Message { metadata, .. } => {
                let schema = guarded(|| schema(&metadata))?;
                return Ok(Arc::new(read_schema(&schema)));
            }
            Framed::Need(range) => {
                let bytes = input.read_range(&range)?;
                messages.give(range, bytes);
            }
            Framed::End => return Err(no_schema(messages.at)),
        }
    }
}

fn schema(metadata: &[u8]) -> Result<SchemaRef> {
    let message = message::message(metadata)?;
    let schema = message.header_as_schema().ok_or_else(|| bad("its first message is no schema"))?;
    columns::read(schema)
}

fn no_schema(at: u64) -> Error {
    Error::data(at, "neither an Arrow file nor an Arrow stream: it ends before a schema")
}

/// Cuts a stream into messages.
#[derive(Default)]
struct Messages {
    /// The bytes that are read but not yet part of a message that was given out.
    pending: Bytes,
    /// The place behind them.
    at: u64,
    ended: bool,
}

enum Framed {
    /// A message, its mark and length included.
    Message { metadata: Bytes, body: Bytes },
    /// More bytes are needed.
    Need(Range<u64>),
    /// The stream is over.
    End,
}

impl Messages {
    fn next(&mut self) -> Result<Framed> {
        let prefix = if self.pending.starts_with(&CONTINUATION) { 8 } else { 4 };
        let Some(length) = self.pending.get(prefix - 4..).and_then(|b| b.first_chunk::<4>()) else {
            if self.ended && self.pending.is_empty() {
                return Ok(Framed::End);
            }
            return self.need(prefix as u64);
        };
        let length = i32::from_le_bytes(*length);
        if length == 0 {
            return Ok(Framed::End);
        }
        let metadata = prefix as u64 + u64::try_from(length).map_err(|_| self.not_a_message())?;
        if (self.pending.len() as u64) < metadata {
            return self.need(metadata);
        }
        let metadata = metadata as usize;
        let body =
            message::message(&self.pending[..metadata]).map_err(|_| self.not_a_message())?.bodyLength();
        let body = u64::try_from(body).map_err(|_| self.not_a_message())?;
        let whole = (metadata as u64).saturating_add(body);
        if (self.pending.len() as u64) < whole {
            return self.need(whole);
        }
        let metadata = self.pending.split_to(metadata);
        let body = self.pending.split_to(body as usize);
        Ok(Framed::Message { metadata, body })
    }

    /// Asks for what is missing of `bytes` bytes.
    fn need(&self, bytes: u64) -> Result<Framed> {
        if self.ended {
            return Err(Error::data(self.at, "an Arrow stream that ends in a message: it was cut short"));
        }
        let missing = bytes.saturating_sub(self.pending.len() as u64);
        Ok(Framed::Need(self.at..self.at + missing.clamp(LEAST, MOST)))
    }

    fn give(&mut self, range: Range<u64>, bytes: Bytes) {
        self.at = range.start + bytes.len() as u64;
        self.ended = self.at < range.end;
        if self.pending.is_empty() {
            self.pending = bytes;
        } else {
            let mut joined = Vec::with_capacity(self.pending.len() + bytes.len());
            joined.extend_from_slice(&self.pending);
            joined.extend_from_slice(&bytes);
            self.pending = joined.into();
        }
    }

    fn not_a_message(&self) -> Error {
        Error::data(
            self.at - self.pending.len() as u64,
            "not an Arrow file, nor the message of an Arrow stream",
        )
    }
}

/// Reads a stream.
pub struct Reader {
    scan: ScanOptions,
    messages: Messages,
    opened: Option<(SchemaRef, Adapter)>,
    dictionaries: HashMap<i64, ArrayRef>,
    slices: Option<Slices>,
}

impl Reader {
    /// Reads from the first byte on. The stream's schema is met later.
    pub fn new(scan: &ScanOptions) -> Reader {
        Reader {
            scan: scan.clone(),
            messages: Messages::default(),
            opened: None,
            dictionaries: HashMap::new(),
            slices: None,
        }
    }

    fn take(&mut self, metadata: &[u8], body: Bytes) -> Result<()> {
        let Some((schema, adapter)) = &self.opened else {
            let schema = schema(metadata)?;
            let adapter = Adapter::new(&schema, &self.scan)?;
            self.opened = Some((schema, adapter));
            return Ok(());
        };
        let message = message::message(metadata)?;
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let slices = message::columns(&message, body, schema, &self.dictionaries, adapter.read())?;
                self.slices = Some(slices);
            }
            MessageHeader::DictionaryBatch => {
                message::dictionary(&message, body, schema, &mut self.dictionaries)?;
            }
            MessageHeader::NONE => {}
            other => return Err(bad(format_args!("a message of kind {other:?} among record batches"))),
        }
        Ok(())
    }
}

impl FileReader for Reader {
    fn next(&mut self) -> Result<Next> {
        loop {
            if let (Some(slices), Some((_, adapter))) = (&mut self.slices, &self.opened) {
                if let Some(batch) = slices.next(self.scan.batch_rows, adapter)? {
                    return Ok(Next::Batch(batch));
                }
                self.slices = None;
            }
            match guarded(|| self.messages.next())? {
                Framed::Message { metadata, body } => guarded(|| self.take(&metadata, body))?,
                Framed::Need(range) => return Ok(Next::Need(vec![range])),
                Framed::End if self.opened.is_none() => return Err(no_schema(self.messages.at)),
                Framed::End => return Ok(Next::Done),
            }
        }
    }

    fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()> {
        self.messages.give(range, bytes);
        Ok(())
    }
}
