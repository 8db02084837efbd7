//! Which rows and values were passed over: where they lie, why, and what stood there.
//!
//! A reader keeps the first ones of its morsel, the query the first ones of all readers. So which are kept does not
//! depend on how many readers there are. A reader that begins inside a file does not know how many lines stand before
//! it. [`number_lines`] counts them afterwards, in one pass over each file that needs it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use schema::{FileEntry, FormatOptions, Source, Table};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::format::{Morsel, Part};
use crate::reader::{Driver, Skipped, Step};
use crate::rows::reader::RowReader;
use crate::rows::{Decoder, Input};

/// The longest part of a record that is kept, in bytes.
pub const TEXT_BYTES: usize = 1024;

/// What is wrong with a record or a value, in DuckDB's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RejectKind {
    /// The text is no value of its column's type.
    Cast,
    /// The record has fewer fields than there are columns.
    MissingColumns,
    /// The record has more fields than there are columns.
    TooManyColumns,
    /// The quotes of a field are not as they should be.
    UnquotedValue,
    /// The record is longer than one may be.
    TooLong,
    /// The bytes are not text in the file's encoding.
    InvalidEncoding,
    /// The record is not built as one of its format.
    InvalidState,
}

impl RejectKind {
    /// The name that DuckDB's `error_type` has for it.
    pub fn name(self) -> &'static str {
        match self {
            RejectKind::Cast => "CAST",
            RejectKind::MissingColumns => "MISSING COLUMNS",
            RejectKind::TooManyColumns => "TOO MANY COLUMNS",
            RejectKind::UnquotedValue => "UNQUOTED VALUE",
            RejectKind::TooLong => "LINE SIZE OVER MAXIMUM",
            RejectKind::InvalidEncoding => "INVALID ENCODING",
            RejectKind::InvalidState => "INVALID STATE",
        }
    }
}

/// The line of a file in which a record begins, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Line {
    /// It is this one.
    Known(u64),
    /// The reader began inside the file; [`number_lines`] finds it.
    Uncounted,
    /// The records of the format stand in no lines.
    None,
}

/// A row or a value that was passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reject {
    /// The file; empty until the driver, which knows it, fills it in.
    pub file: PathBuf,
    /// Where the record begins, in bytes of the decompressed file. In a workbook it is the number of the row.
    pub record: u64,
    /// Where the bad value begins, or what is bad of the record.
    pub value: u64,
    /// Whether these are bytes of the file: not in workbooks, and not in text that is rewritten before it is read.
    pub is_placed: bool,
    /// The line.
    pub line: Line,
    /// The position of the column in the file, counted from 0. `None` if the whole record is passed over.
    pub column: Option<usize>,
    /// The column's name, with the way to a value in it. `None` where there is no such column.
    pub name: Option<String>,
    /// What is wrong.
    pub kind: RejectKind,
    /// The same as a clause.
    pub message: String,
    /// The beginning of the record, see [`TEXT_BYTES`]. Bytes that are no text are shown in hexadecimal.
    pub text: String,
}

impl Reject {
    /// By this rejects are sorted. Readers of the same record give the same.
    fn key(&self) -> (&Path, u64, Option<usize>, u64, RejectKind, &str) {
        (&self.file, self.record, self.column, self.value, self.kind, &self.message)
    }
}

/// The first rows and values that were passed over, by file and place.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejects {
    limit: usize,
    kept: Vec<Reject>,
    /// How many there were, those that are not kept too.
    found: u64,
}

impl Rejects {
    /// None so far, of which at most so many will be kept.
    pub fn up_to(limit: usize) -> Rejects {
        Rejects { limit, ..Rejects::default() }
    }

    /// How many are kept at most.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Whether one that lies behind those that are kept would be kept.
    pub fn has_room(&self) -> bool {
        self.kept.len() < self.limit
    }

    /// Counts rejects that lie behind as many as are kept.
    pub fn count(&mut self, rejects: u64) {
        if self.limit > 0 {
            self.found += rejects;
        }
    }

    /// Adds one that was not counted.
    pub fn push(&mut self, reject: Reject) {
        self.count(1);
        self.insert(reject);
    }

    /// Adds one that was counted.
    pub fn insert(&mut self, reject: Reject) {
        if self.limit > 0 {
            self.kept.push(reject);
        }
    }

    /// Puts them in order, and drops those beyond the limit.
    pub fn settle(&mut self) {
        self.kept.sort_by(|a, b| a.key().cmp(&b.key()));
        // A query may read a file several times.
        self.kept.dedup_by(|a, b| a.key() == b.key());
        self.kept.truncate(self.limit);
    }

    /// Adds those of another reader.
    pub fn add(&mut self, other: &Rejects) {
        if other.limit == 0 {
            return;
        }
        self.limit = self.limit.max(other.limit);
        self.found += other.found;
        if !other.kept.is_empty() {
            self.kept.extend(other.kept.iter().cloned());
            self.settle();
        }
    }

    /// Fills in the file where it is missing.
    pub fn fill_in(&mut self, file: &Path) {
        for reject in self.kept.iter_mut().filter(|reject| reject.file.as_os_str().is_empty()) {
            reject.file = file.to_path_buf();
        }
    }

    /// Notes that the bytes that the reader saw are not those of the file.
    pub fn rewritten(&mut self) {
        self.kept.iter_mut().for_each(|reject| reject.is_placed = false);
    }

    /// Notes that the reader began inside the file.
    pub fn began_inside(&mut self) {
        for reject in &mut self.kept {
            if let Line::Known(_) = reject.line {
                reject.line = Line::Uncounted;
            }
        }
    }

    /// Those that are kept, in order.
    pub fn kept(&self) -> &[Reject] {
        &self.kept
    }

    /// About how much memory they take, in bytes.
    pub fn bytes(&self) -> usize {
        let of = |reject: &Reject| {
            let texts = [reject.text.len(), reject.message.len(), reject.file.as_os_str().len()];
            size_of::<Reject>() + texts.iter().sum::<usize>()
        };
        self.kept.iter().map(of).sum()
    }

    /// How many were found and are not kept. A file that a query reads twice counts twice here.
    pub fn beyond(&self) -> u64 {
        match self.kept.len() < self.limit {
            true => 0,
            false => self.found.saturating_sub(self.kept.len() as u64),
        }
    }
}

/// Finds the lines of the rejects in the files of this table. Of a file that can't be read again here, such as a pipe,
/// they stay unknown.
pub fn number_lines(rejects: &mut Rejects, table: &Table) {
    let Source::Files(set) = &table.source else { return };
    // Both are in order.
    for of_file in rejects.kept.chunk_by_mut(|a, b| a.file == b.file) {
        let is_uncounted = |reject: &&mut Reject| reject.line == Line::Uncounted;
        let mut uncounted: Vec<&mut Reject> = of_file.iter_mut().filter(is_uncounted).collect();
        let Some(file) = uncounted.first().and_then(|one| set.files.iter().find(|f| f.path == one.file))
        else {
            continue;
        };
        if file.bytes == 0 {
            continue;
        }
        let places = uncounted.iter().map(|reject| reject.record).collect();
        // Lines that are skipped before the header are no more in the text that is rewritten.
        let before = set.format.dialect.as_ref().map_or(0, |dialect| dialect.skip) + 1;
        // The rows of the query don't depend on it, and the place in bytes is known.
        let Ok(newlines) = newlines_before(file, &set.format, places) else { continue };
        for (reject, lines) in uncounted.iter_mut().zip(newlines) {
            reject.line = Line::Known(lines + before);
        }
    }
}

/// Counts the newlines before each of these places of the decompressed file, which ascend.
fn newlines_before(file: &FileEntry, format: &FormatOptions, places: Vec<u64>) -> Result<Vec<u64>> {
    let (wanted, counted) = (places.len(), Arc::new(Mutex::new(Vec::new())));
    let counter = NewlineCounter { places, counted: counted.clone(), newlines: 0 };
    let reader = RowReader::beginning(Box::new(counter), file, format, true)?;
    let morsel =
        Morsel { file: Arc::new(file.clone()), part: Part::Whole, bytes: file.bytes, shared: Arc::new(()) };
    let mut driver = Driver::open(&morsel, Box::new(reader))?;
    while !matches!(driver.step()?, Step::Batch(_) | Step::Done) {}
    let mut counted = std::mem::take(&mut *counted.lock().unwrap_or_else(PoisonError::into_inner));
    // None begins where the file ends, unless the file has changed meanwhile.
    let last = counted.last().copied().unwrap_or(0);
    counted.resize(wanted, last);
    Ok(counted)
}

/// Counts newlines up to some places, and ends with a batch without rows.
struct NewlineCounter {
    places: Vec<u64>,
    counted: Arc<Mutex<Vec<u64>>>,
    newlines: u64,
}

impl Decoder for NewlineCounter {
    fn decode(&mut self, input: Input) -> Result<usize> {
        let bytes = &input.block[input.at..];
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = 0;
        let first = input.offset + input.at as u64;
        while let Some(&place) = self.places.get(counted.len()) {
            let end = usize::try_from(place.saturating_sub(first)).unwrap_or(usize::MAX);
            let to = end.clamp(at, bytes.len());
            self.newlines += memchr::memchr_iter(b'\n', &bytes[at..to]).count() as u64;
            at = to;
            if end > bytes.len() {
                break;
            }
            counted.push(self.newlines);
        }
        Ok(bytes.len())
    }

    fn is_full(&self) -> bool {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).len() == self.places.len()
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.is_full().then(|| RecordBatch::new_empty(Arc::new(Schema::empty()))))
    }

    fn position(&self) -> (u64, Option<u64>) {
        (0, None)
    }

    fn skipped(&self) -> Skipped {
        Skipped::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reject(file: &str, record: u64, line: Line) -> Reject {
        Reject {
            file: file.into(),
            record,
            value: record,
            is_placed: true,
            line,
            column: None,
            name: None,
            kind: RejectKind::Cast,
            message: String::new(),
            text: String::new(),
        }
    }

    #[test]
    fn the_first_ones_are_kept_whichever_reader_ends_first() {
        let of = |places: &[u64]| {
            let mut rejects = Rejects::up_to(3);
            places.iter().for_each(|place| rejects.push(reject("f", *place, Line::Uncounted)));
            rejects.settle();
            rejects
        };
        let readers = [of(&[1, 2]), of(&[10, 11, 12, 13]), of(&[5])];
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
            let mut all = Rejects::default();
            order.iter().for_each(|reader| all.add(&readers[*reader]));
            let places: Vec<u64> = all.kept().iter().map(|reject| reject.record).collect();
            assert_eq!((places.as_slice(), all.beyond()), ([1, 2, 5].as_slice(), 4));
        }
    }

    #[test]
    fn a_file_that_is_read_twice_has_its_rejects_once() {
        let mut all = Rejects::default();
        for line in [Line::Known(3), Line::Uncounted] {
            let mut rejects = Rejects::up_to(3);
            rejects.push(reject("f", 7, line));
            all.add(&rejects);
        }
        assert_eq!((all.kept().len(), all.beyond()), (1, 0));
    }

    #[test]
    fn newlines_are_counted_across_blocks() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let path = directory.path().join("x.csv");
        let text = "a\n".repeat(3_000_000);
        std::fs::write(&path, &text).expect("it can be written");
        let file = FileEntry::new(&path, text.len() as u64, 0);
        let places = vec![0, 1, 2, 2_000_001, 5_999_998];
        let counted = newlines_before(&file, &FormatOptions::default(), places).expect("it can be read");
        assert_eq!(counted, [0, 0, 1, 1_000_000, 2_999_999]);
    }
}
