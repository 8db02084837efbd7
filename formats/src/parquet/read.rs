//! The reader of a run of row groups.
//!
//! The crate's push decoder names the column chunks of one row group after the other and decodes them page by page.
//! Where columns of lists are among them, [`super::row_groups`] does it. Text is decoded into views that point into the decompressed pages, which are not copied.

use std::ops::Range;

use arrow_schema::DataType;
use bytes::Bytes;
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use parquet::basic::Compression;

use super::footer::Footer;
use super::row_groups::{Decoded, Groups};
use super::{bad, interval, levels, pages, select};
use crate::columns::adapt::Adapter;
use crate::columns::guard::guarded;
use crate::columns::tail::cut_short;
use crate::error::Result;
use crate::format::ScanOptions;
use crate::reader::{FileReader, Next};

/// Reads row groups of one file.
pub struct Reader {
    decoder: Decoder,
    adapter: Adapter,
    /// Where the column chunks lie, and their compressions.
    chunks: Vec<(Range<u64>, Compression)>,
    /// The places among the columns read of those that hold intervals, and their types.
    intervals: Vec<(usize, DataType)>,
}

/// What decodes the columns.
enum Decoder {
    /// The crate.
    Crate(ParquetPushDecoder),
    /// This module, where some of them are lists.
    Lists(Box<Groups>),
}

impl Decoder {
    fn decode(&mut self) -> Result<Decoded> {
        match self {
            Decoder::Crate(decoder) => Ok(match decoder.try_decode().map_err(bad)? {
                DecodeResult::NeedsData(ranges) => Decoded::Needs(ranges),
                DecodeResult::Data(batch) => Decoded::Rows(batch.columns().to_vec(), batch.num_rows()),
                DecodeResult::Finished => Decoded::Nothing,
            }),
            Decoder::Lists(groups) => groups.decode(),
        }
    }

    /// The bytes that are made of a value before it is decoded.
    fn bytes_a_value(&self) -> i64 {
        match self {
            Decoder::Crate(_) => 0,
            Decoder::Lists(_) => levels::BYTES,
        }
    }

    fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()> {
        match self {
            Decoder::Crate(decoder) => decoder.push_range(range, bytes).map_err(bad),
            Decoder::Lists(groups) => {
                groups.give(range, bytes);
                Ok(())
            }
        }
    }
}

impl Reader {
    /// Prepares reading these row groups.
    pub fn new(footer: &Footer, groups: Range<usize>, scan: &ScanOptions) -> Result<Reader> {
        let adapter = Adapter::new(footer.decoded(), scan)?;
        let chunks = footer.parquet().row_groups().get(groups.clone()).unwrap_or_default().iter();
        let chunks = chunks.flat_map(|group| group.columns()).map(|chunk| {
            let (start, length) = chunk.byte_range();
            (start..start + length, chunk.compression())
        });
        let chunks = chunks.collect();
        let filter = select::filter(footer, &groups, scan);
        let lists = match &filter {
            None => Groups::new(footer, groups.clone(), adapter.read(), scan.batch_rows),
            Some(_) => None,
        };
        let decoder = match lists {
            Some(groups) => Decoder::Lists(Box::new(groups)),
            None => {
                let mask =
                    ProjectionMask::roots(footer.arrow().parquet_schema(), adapter.read().iter().copied());
                let mut decoder = ParquetPushDecoderBuilder::new_with_metadata(footer.arrow().clone())
                    .with_batch_size(scan.batch_rows)
                    .with_row_groups(groups.collect())
                    .with_projection(mask);
                if let Some(filter) = filter {
                    decoder = decoder.with_row_filter(filter);
                }
                Decoder::Crate(decoder.build().map_err(bad)?)
            }
        };
        let places = adapter.read().iter().enumerate();
        let intervals = places.filter(|(_, c)| footer.intervals().contains(c));
        let intervals = intervals.map(|(i, c)| (i, footer.decoded().field(*c).data_type().clone())).collect();
        Ok(Reader { decoder, adapter, chunks, intervals })
    }
}

impl FileReader for Reader {
    fn next(&mut self) -> Result<Next> {
        let Reader { decoder, adapter, intervals, .. } = self;
        guarded(|| match decoder.decode()? {
            Decoded::Needs(ranges) => Ok(Next::Need(ranges)),
            Decoded::Rows(mut columns, rows) => {
                for (place, to) in intervals.iter() {
                    columns[*place] = interval::of_bytes(&columns[*place], to)?;
                }
                Ok(Next::Batch(adapter.adapt(&columns, rows)?))
            }
            Decoded::Nothing => Ok(Next::Done),
        })
    }

    fn give(&mut self, range: Range<u64>, bytes: Bytes) -> Result<()> {
        let end = range.start + bytes.len() as u64;
        if end != range.end {
            return Err(cut_short(end));
        }
        // A part of a chunk, told by a page index, is a run of whole pages as well.
        let holds = |chunk: &Range<u64>| chunk.start <= range.start && range.end <= chunk.end;
        if let Some((_, compression)) = self.chunks.iter().find(|(chunk, _)| holds(chunk)) {
            pages::check(*compression, self.decoder.bytes_a_value(), &bytes)?;
        }
        guarded(|| self.decoder.give(range, bytes))
    }
}
