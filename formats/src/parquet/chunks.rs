//! The pages of column chunks that lie in memory.
//!
//! The crate reads the headers of pages, checks their sums, and decodes their values. In between pages of snappy are
//! unpacked here, into memory that the pages before have left: one of ten megabytes, as DuckDB writes them, costs as much
//! to clear and to map as to unpack. And pages of a list's items lose the levels of the list.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::buf::Reader;
use bytes::{Buf, Bytes};
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use snap::raw::{Decoder, decompress_len};

use super::levels::{Depth, Rows, take_apart};
use super::room::Room;
use crate::memory;

/// The leaves of a list below its top, and where its rows are gathered.
#[derive(Clone)]
pub struct Below {
    /// For each leaf its levels.
    pub depths: Vec<Depth>,
    /// The lists that the first leaf's pages tell of.
    pub rows: Arc<Mutex<Rows>>,
}

/// Column chunks of one row group that are decoded as columns of their own.
pub struct Chunks {
    pub metadata: Arc<ParquetMetaData>,
    pub group: usize,
    /// The first of the leaves.
    pub first: usize,
    /// The chunks from the first leaf on; those that are not decoded are missing.
    pub bytes: Vec<Option<Bytes>>,
    /// What the leaves are taken out of, if it is a list.
    pub below: Option<Below>,
}

impl RowGroups for Chunks {
    fn num_rows(&self) -> usize {
        self.metadata.row_group(self.group).num_rows() as usize
    }

    fn column_chunks(&self, i: usize) -> Result<Box<dyn PageIterator>> {
        let missing = || ParquetError::General(format!("chunk {} of row group {} is missing", i, self.group));
        let bytes = self.bytes.get(i).cloned().flatten().ok_or_else(missing)?;
        let metadata = self.metadata.row_group(self.group).column(self.first + i);
        let below = match &self.below {
            Some(below) => {
                Some((*below.depths.get(i).ok_or_else(missing)?, (i == 0).then(|| below.rows.clone())))
            }
            None => None,
        };
        Ok(Box::new(Once(Some(Pages::new(metadata, bytes, below)?))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.metadata.row_group(self.group)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The pages of the one chunk that a column has.
struct Once(Option<Pages>);

impl Iterator for Once {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|pages| Ok(Box::new(pages) as Box<dyn PageReader>))
    }
}

impl PageIterator for Once {}

/// The pages of a chunk.
struct Pages {
    /// As they lie in the file: packed, if `packed`.
    pages: SerializedPageReader<Chunk>,
    packed: bool,
    /// The levels of the list that they are taken out of, and where its rows are gathered.
    below: Option<(Depth, Option<Arc<Mutex<Rows>>>)>,
}

impl Pages {
    fn new(
        metadata: &ColumnChunkMetaData,
        bytes: Bytes,
        below: Option<(Depth, Option<Arc<Mutex<Rows>>>)>,
    ) -> Result<Pages> {
        let packed = metadata.compression() == Compression::SNAPPY;
        let chunk = Arc::new(Chunk { start: metadata.byte_range().0, bytes });
        let rows = usize::try_from(metadata.num_values())?;
        let pages = match packed {
            true => {
                let plain =
                    metadata.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
                SerializedPageReader::new(chunk, &plain, rows, None)?
            }
            false => SerializedPageReader::new(chunk, metadata, rows, None)?,
        };
        Ok(Pages { pages, packed, below })
    }

    /// What a page of a list holds of its items is known when it was read.
    fn in_order(&self) -> Result<()> {
        match self.below {
            None => Ok(()),
            Some(_) => Err(ParquetError::NYI("items of lists that are not read in order".into())),
        }
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        while let Some(page) = self.pages.get_next_page()? {
            let body = match self.packed {
                true => Body::unpacked(&page)?,
                false => Body::Given(page.buffer().clone()),
            };
            let page = match (&self.below, page.is_data_page()) {
                (Some((depth, rows)), true) => items_of(page, body, *depth, rows.as_deref())?,
                _ => with_body(page, body.freeze()),
            };
            // A page of lists without items has none.
            if !page.is_data_page() || page.num_values() > 0 {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.in_order()?;
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.in_order()?;
        self.pages.skip_next_page()
    }
}

/// What lies in a page.
enum Body {
    /// In memory of the crate's.
    Given(Bytes),
    /// The first bytes of memory that is used again.
    Own(Room, usize),
}

impl Body {
    /// The page's bytes without snappy. The levels of a page of version 2 lie before what is packed.
    fn unpacked(page: &Page) -> Result<Body> {
        let bytes = page.buffer();
        let plain = match page {
            Page::DataPageV2 { is_compressed: false, .. } => return Ok(Body::Given(bytes.clone())),
            Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
                (*def_levels_byte_len as usize).saturating_add(*rep_levels_byte_len as usize)
            }
            _ => 0,
        };
        let (levels, packed) =
            bytes.split_at_checked(plain).ok_or_else(|| damaged("a page shorter than its levels"))?;
        // A page without values has not even the length that snappy begins with.
        let len = if packed.is_empty() { 0 } else { decompress_len(packed).map_err(external)? };
        if len / MOST_TIMES > packed.len() {
            return Err(damaged("a page that claims to hold more than it can"));
        }
        memory::ask(len as u64, || format!("a page of {} bytes unpacks to {len}", bytes.len()))
            .map_err(external)?;
        let mut room = Room::of(plain + len);
        room.bytes()[..plain].copy_from_slice(levels);
        if !packed.is_empty() {
            Decoder::new().decompress(packed, &mut room.bytes()[plain..plain + len]).map_err(external)?;
        }
        Ok(Body::Own(room, plain + len))
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Body::Given(bytes) => bytes,
            Body::Own(room, len) => &room.as_ref()[..*len],
        }
    }

    fn freeze(self) -> Bytes {
        match self {
            Body::Given(bytes) => bytes,
            Body::Own(room, len) => Bytes::from_owner(room).slice(..len),
        }
    }

    /// The bytes from a place on, behind others.
    fn behind(self, before: &[u8], from: usize) -> Bytes {
        match (self, from.checked_sub(before.len())) {
            (Body::Own(mut room, len), Some(at)) => {
                room.bytes()[at..from].copy_from_slice(before);
                Bytes::from_owner(room).slice(at..len)
            }
            (body, _) if before.is_empty() => body.freeze().slice(from..),
            (body, _) => [before, &body.bytes()[from..]].concat().into(),
        }
    }
}

/// The most bytes that one of snappy's stands for, with room to spare.
const MOST_TIMES: usize = 64;

/// The page with another body, which is not packed.
fn with_body(mut page: Page, body: Bytes) -> Page {
    match &mut page {
        Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => *buf = body,
        Page::DataPageV2 { buf, is_compressed, .. } => (*buf, *is_compressed) = (body, false),
    }
    page
}

/// The page of a list's leaf as one of its items alone. Adds the lists to `rows`.
fn items_of(page: Page, body: Body, depth: Depth, rows: Option<&Mutex<Rows>>) -> Result<Page> {
    let short = || damaged("a page shorter than its levels");
    let bytes = body.bytes();
    let count = page.num_values() as usize;
    let (repetition, definition, values) = match &page {
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            let (repetition, rest) =
                bytes.split_at_checked(*rep_levels_byte_len as usize).ok_or_else(short)?;
            let (definition, rest) =
                rest.split_at_checked(*def_levels_byte_len as usize).ok_or_else(short)?;
            (repetition, definition, bytes.len() - rest.len())
        }
        Page::DataPage { def_level_encoding: Encoding::RLE, rep_level_encoding: Encoding::RLE, .. } => {
            let with_length = |bytes| {
                let (length, rest) = <[u8]>::split_first_chunk::<4>(bytes)?;
                rest.split_at_checked(u32::from_le_bytes(*length) as usize)
            };
            let (repetition, rest) = with_length(bytes).ok_or_else(short)?;
            let (definition, rest) = with_length(rest).ok_or_else(short)?;
            (repetition, definition, bytes.len() - rest.len())
        }
        _ => return Err(damaged("levels in an encoding that the footer does not name")),
    };
    let mut rows = rows.map(|rows| rows.lock().unwrap_or_else(PoisonError::into_inner));
    let items = take_apart(repetition, definition, count, depth, rows.as_deref_mut()).map_err(external)?;
    let count = u32::try_from(items.count)?;
    let length = u32::try_from(items.levels.len())?;
    let is_first_version = matches!(page, Page::DataPage { .. });
    let before = match is_first_version && length > 0 {
        true => [&length.to_le_bytes()[..], &items.levels].concat(),
        false => items.levels,
    };
    let mut page = with_body(page, body.behind(&before, values));
    match &mut page {
        Page::DataPage { num_values, .. } => *num_values = count,
        Page::DataPageV2 {
            num_values,
            num_nulls,
            num_rows,
            def_levels_byte_len,
            rep_levels_byte_len,
            ..
        } => {
            (*num_values, *num_rows) = (count, count);
            *num_nulls = u32::try_from(items.nulls)?;
            (*def_levels_byte_len, *rep_levels_byte_len) = (length, 0);
        }
        Page::DictionaryPage { .. } => {}
    }
    Ok(page)
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(format!("it has {what}"))
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// A column chunk at its place in the file.
struct Chunk {
    start: u64,
    bytes: Bytes,
}

impl Chunk {
    fn range(&self, start: u64, length: usize) -> Result<Range<usize>> {
        let start = start.checked_sub(self.start).and_then(|start| usize::try_from(start).ok());
        let range = start.and_then(|start| Some(start..start.checked_add(length)?));
        let range = range.filter(|range| range.end <= self.bytes.len());
        range.ok_or_else(|| damaged("a page that ends behind its chunk"))
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for Chunk {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Reader<Bytes>> {
        let from = self.range(start, 0)?.start;
        Ok(self.bytes.slice(from..).reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        Ok(self.bytes.slice(self.range(start, length)?))
    }
}
