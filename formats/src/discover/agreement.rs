//! The schema of the files of a table: inferred from the first one with data, with which the others must agree, or given.

use std::borrow::Cow;

use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use schema::{DeferredValidation, FileEntry, FormatOptions};

use super::OpenOptions;
use super::detect::Detected;
use super::files::{csv_head, has_header, is_empty};
use super::unify::{Match, Unified};
use crate::columns::adapt::find;
use crate::error::{Error, Result};
use crate::format::Format;
use crate::jsonl;
use crate::parallel;
use crate::rows::reader::BYTE_ORDER_MARK;
use crate::rows::rewrite::first_text;
use crate::rows::samples;
use crate::rows::schema_probe::{Like, SchemaProbe};

/// The number of records that are looked at in every file but the first. Of JSON, where any record may have other keys,
/// it is that of many files; of few, all together have as many records looked at as the first.
const CHECK_ROWS: usize = 10;

/// The bytes of a file that are first looked at to see whether its records have the known schema, and the most bytes.
const LOOK_BYTES: usize = 2 << 10;
const MOST_LOOKED: usize = 32 << 10;

/// If a table has at least so many files, each of at most so many bytes, workers compare the files when they read them.
/// One worker reads such a file whole. So many of the files are looked at before.
const LATE_FILES: usize = 256;
const LATE_BYTES: u64 = 512 << 10;
const LATE_SAMPLE: usize = 16;

/// The facts that a look at a file gave.
#[derive(Debug, Default, Clone)]
pub(super) struct Seen {
    /// The columns of the file, in its order, if they can differ from the table's.
    pub(super) schema: Option<SchemaRef>,
    pub(super) rows: Option<u64>,
}

pub(super) struct Opening<'a> {
    pub(super) files: &'a [FileEntry],
    pub(super) detected: &'a [Detected],
    /// The first file that has data.
    pub(super) first: Option<usize>,
    pub(super) encoding: &'static dyn Format,
    pub(super) base: &'a FormatOptions,
    pub(super) options: &'a OpenOptions,
}

impl Opening<'_> {
    fn matching(&self) -> Match {
        match self.encoding {
            encoding if encoding.is_delimited() => Match::Place,
            encoding if encoding.is_json() => Match::Json,
            encoding if encoding.is_sheet() => Match::Place,
            encoding if encoding.compresses_inside() => Match::Name,
            _ => Match::Key,
        }
    }

    pub(super) fn options(&self, file: usize) -> Cow<'_, FormatOptions> {
        match self.detected[file].compression {
            compression if compression == self.base.compression => Cow::Borrowed(self.base),
            compression => Cow::Owned(FormatOptions { compression: compression.into(), ..self.base.clone() }),
        }
    }

    fn infer_one(&self, file: usize, rows: usize) -> Result<SchemaRef> {
        let entry = &self.files[file];
        self.encoding.infer(entry, &self.options(file), rows).map_err(|e| e.at(&entry.path))
    }

    /// Refuses a csv file whose first record is a row, although the first record of the first file has names. It would
    /// be taken for new names. And one whose first record has names, although that of the first file is a row: they would
    /// be taken for texts.
    fn check_header(&self, file: usize, schema: &Schema, known: &Schema) -> Result<()> {
        if !self.encoding.is_delimited() || self.options.header.is_some() {
            return Ok(());
        }
        let is_known = |field: &FieldRef| known.field_with_name(field.name()).is_ok();
        let is_text = |field: &FieldRef| field.data_type() == &DataType::Utf8View;
        let looks_otherwise = match self.base.header {
            // Without --union-by-name other names are an error anyway, which names both files.
            true => self.options.union_by_name && !schema.fields().iter().all(is_known),
            false => {
                schema.fields().iter().zip(known.fields()).any(|(own, known)| is_text(own) && !is_text(known))
            }
        };
        if !looks_otherwise {
            return Ok(());
        }
        let entry = &self.files[file];
        let mut format = self.options(file).into_owned();
        let head = csv_head(entry, &mut format, Some(self.base.delimiter))?;
        let (here, there) = match (has_header(&entry.path, &head, self.base, None)?, self.base.header) {
            (true, false) => ("has names", "is a row"),
            (false, true) => ("is a row", "has names"),
            _ => return Ok(()),
        };
        let help = "say --header yes or --header no, or read the files apart".to_string();
        let message = format!("its first record {here}, and that of the first file {there}");
        Err(Error::location(entry.path.display(), message, Some(help)))
    }

    /// Whether a quick look shows for certain that the first records of a file have the known schema.
    fn begins_like_known(&self, probe: &mut dyn SchemaProbe, file: usize) -> bool {
        let format = self.options(file);
        let mut most = LOOK_BYTES;
        // The full look at a file reports a record that is too long.
        while self.files[file].bytes > 0 && most <= MOST_LOOKED.min(self.base.max_record) {
            let Ok(head) = first_text(&self.files[file], &format, most) else { return false };
            let whole = head.len() < most;
            match probe.look(head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&head), whole) {
                Like::Same => return true,
                Like::Unsure => return false,
                Like::Short => most *= 4,
            }
        }
        false
    }

    /// The columns, inferred from so many records unless the file states them, and the number of rows, if the encoding
    /// has it at the end of the file.
    fn look(&self, file: usize, rows: usize) -> Result<(SchemaRef, Option<u64>)> {
        let entry = &self.files[file];
        match self.matching() {
            Match::Name => self.encoding.stated(entry, &self.options(file)).map_err(|e| e.at(&entry.path)),
            _ => Ok((self.infer_one(file, rows)?, None)),
        }
    }

    /// Infers a schema from the first file that has data, and takes a short look at the others.
    pub(super) fn infer(&self) -> Result<(SchemaRef, Vec<Seen>, DeferredValidation)> {
        let first = match self.first {
            Some(first) => first,
            None if self.encoding.name() == "text" => 0,
            None => {
                let message = match self.files.len() {
                    1 => "the file is empty, so that no schema can be inferred".to_string(),
                    n => format!("all {n} files from this on are empty, so that no schema can be inferred"),
                };
                let help = "give the schema with --schema NAME=FILE".to_string();
                return Err(Error::location(self.files[0].path.display(), message, Some(help)));
            }
        };
        let (known, rows_of_first) = self.look(first, self.options.infer_rows)?;
        let rows = match self.matching() {
            Match::Json => (self.options.infer_rows / self.files.len()).max(CHECK_ROWS),
            _ => CHECK_ROWS,
        };
        let rows = self.options.infer_rows.min(rows);
        let mut unified =
            Unified::new(&self.files[first].path, &known, self.matching(), self.options.union_by_name);
        if self.may_wait(first, &known, rows) {
            return Ok((
                unified.finish(),
                vec![Seen::default(); self.files.len()],
                DeferredValidation::Records { known, rows },
            ));
        }
        let make = || self.encoding.probe(self.base, rows, &known);
        let seen = parallel::each_with(self.files.len(), make, |probe, file| {
            if file == first {
                return Ok(Seen { schema: None, rows: rows_of_first });
            }
            if is_empty(&self.files[file])? {
                return Ok(Seen::default());
            }
            // Of large files other places than the beginning are looked at.
            let is_quick = rows < jsonl::LOOKED_AT_ELSEWHERE || self.files[file].bytes < samples::LARGE;
            let is_like = |probe: &mut Box<dyn SchemaProbe>| self.begins_like_known(probe.as_mut(), file);
            if is_quick && probe.as_mut().is_some_and(is_like) {
                return Ok(Seen::default());
            }
            let (schema, rows) = self.look(file, rows)?;
            self.check_header(file, &schema, &known)?;
            // Nearly all of many thousand files have the same columns. Only other schemas are kept.
            Ok(Seen { schema: (schema != known).then_some(schema), rows })
        })?;
        for (file, seen) in self.files.iter().zip(&seen) {
            match &seen.schema {
                // A compressed file that holds nothing.
                Some(schema) if schema.fields().is_empty() => {}
                Some(schema) => unified.add(&file.path, schema)?,
                None => {}
            }
        }
        let schema = unified.finish();
        let by_place = self.encoding.is_delimited() && self.options.union_by_name;
        let own =
            |seen: Seen| Seen { schema: by_place.then(|| seen.schema.unwrap_or(known.clone())), ..seen };
        Ok((schema, seen.into_iter().map(own).collect(), DeferredValidation::Nothing))
    }

    /// Whether workers can compare the files when they read them. The files must be many and small, and some of them
    /// must have the schema of the first file with data.
    fn may_wait(&self, first: usize, known: &Schema, rows: usize) -> bool {
        let Some(mut probe) = self.encoding.probe(self.base, rows, known) else { return false };
        let count = self.files.len();
        let small = |file: &FileEntry| file.bytes <= LATE_BYTES;
        let some = (0..LATE_SAMPLE).map(|i| i * (count - 1) / (LATE_SAMPLE - 1)).chain([first]);
        self.options.late
            && count >= LATE_FILES
            && self.files.iter().all(small)
            && some
                .filter(|&file| self.files[file].bytes > 0)
                .all(|file| self.begins_like_known(probe.as_mut(), file))
    }

    /// Takes a given schema. If the encoding states the columns of a file, each file must have all columns of the schema,
    /// or with `union_by_name` some file each column.
    pub(super) fn with_schema(
        &self,
        schema: SchemaRef,
    ) -> Result<(SchemaRef, Vec<Seen>, DeferredValidation)> {
        let first = self.first.unwrap_or(0);
        let path = &self.files[first].path;
        let text = schema.fields().len() == 1 && *schema.field(0).data_type() == DataType::Utf8View;
        if self.encoding.name() == "text" && !text {
            let message = "a text file has one column, its lines, and the schema that is given is another";
            return Err(Error::location(
                path.display(),
                message,
                Some("name its encoding with --from".into()),
            ));
        }
        let seen = match self.matching() == Match::Name || self.encoding.is_sheet() {
            true => self.check_columns(first, &schema)?,
            false => vec![Seen::default(); self.files.len()],
        };
        // An inferred header has names, which are compared with those of the first file.
        let header = self.encoding.is_delimited() && self.files.len() > 1 && self.options.header.is_none();
        Ok((schema, seen, if header { DeferredValidation::Header } else { DeferredValidation::Nothing }))
    }

    /// Refuses a given schema with a column that a file lacks: it would read as NULL. Gives what was seen of the files.
    fn check_columns(&self, first: usize, schema: &Schema) -> Result<Vec<Seen>> {
        let looks = parallel::each(self.files.len(), |i| {
            // Of an empty sheet there are no names.
            if i != first && is_empty(&self.files[i])? {
                return Ok((None, None));
            }
            let (stated, rows) = self.look(i, 0)?;
            Ok((Some(stated), rows))
        })?;
        let has = |i: usize, column: usize| match &looks[i].0 {
            Some(stated) => find(stated, schema, column).is_some(),
            None => true,
        };
        let files = 0..self.files.len();
        let is_stated = |column: usize| files.clone().any(|i| looks[i].0.is_some() && has(i, column));
        let union_by_name = self.options.union_by_name;
        let columns = || (0..schema.fields().len()).filter(|&column| !union_by_name || !is_stated(column));
        // The first file is told of first.
        let order = std::iter::once(first).chain(files.clone());
        let lacking = order.flat_map(|i| columns().map(move |column| (i, column))).find(|&(i, c)| !has(i, c));
        let Some((file, column)) = lacking else {
            return Ok(looks.into_iter().map(|(_, rows)| Seen { schema: None, rows }).collect());
        };
        let name = schema.field(column).name();
        let stated = looks[file].0.as_ref().map(|stated| stated.fields().clone()).unwrap_or_default();
        let names: Vec<&str> = stated.iter().map(|f| f.name().as_str()).collect();
        let near = schema::names::nearest(name, names.iter().copied());
        let near = if near.is_empty() { names.join(", ") } else { near.join(", ") };
        let help = match union_by_name || file == first {
            true => format!("it has {near}"),
            false => format!("it has {near}; --union-by-name reads NULL where a file lacks a column"),
        };
        let message = format!("it has no column '{name}', which the schema names");
        Err(Error::location(self.files[file].path.display(), message, Some(help)))
    }
}
