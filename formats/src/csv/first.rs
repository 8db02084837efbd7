//! The first record of a file beside those of the others. All files of a table have a header or none has. Otherwise the
//! first record of one without it would be lost.

use arrow_schema::SchemaRef;
use schema::DeferredValidation;

use super::decode::{CsvSyntax, single_record};
use super::sniff::{IN_ORDER, header};
use crate::error::{DataError, Error, Result};
use crate::format::ScanOptions;
use crate::rows::Input;
use crate::rows::quotes::Marks;

/// Looks whether files begin as they are said to.
pub struct FirstRecord {
    /// The columns, if files are looked at.
    schema: Option<SchemaRef>,
    header: bool,
    marks: Marks,
    comment: Option<u8>,
    /// The one of the file at hand was looked at, or is not to be.
    passed: bool,
}

impl FirstRecord {
    /// For the files of a scan; `first` says that the data begins at the file's beginning.
    pub fn new(scan: &ScanOptions, marks: Marks, first: bool) -> FirstRecord {
        let schema = (scan.unseen == DeferredValidation::Header).then(|| scan.schema.clone());
        FirstRecord {
            passed: schema.is_none() || !first,
            schema,
            header: scan.format.header,
            marks,
            comment: scan.format.comment(),
        }
    }

    /// Another file begins.
    pub fn restart(&mut self) {
        self.passed = self.schema.is_none();
    }

    /// Looks at the first record of the file, if it is due and lies whole at `at` of the input or behind blank lines.
    #[inline]
    pub fn check(&mut self, input: &Input, at: usize) -> Result<()> {
        if self.passed { Ok(()) } else { self.look(input, at) }
    }

    #[inline(never)]
    fn look(&mut self, input: &Input, mut at: usize) -> Result<()> {
        let (bytes, syntax) = (input.block.as_slice(), CsvSyntax::new(self.marks));
        let Some(schema) = &self.schema else { return Ok(()) };
        let fields = loop {
            if at >= bytes.len() {
                return Ok(());
            }
            let most = schema.fields().len() + 1;
            let Some(record) = single_record(bytes, at, input.last, self.marks, most) else { return Ok(()) };
            // A blank line of one column is a row, unless it stands before the header.
            let row = schema.fields().len() == 1 && !self.header;
            let passed = record.is_comment(bytes, self.comment) || (!row && record.is_blank());
            if !passed {
                break record.fields;
            }
            at = record.end;
        };
        self.passed = true;
        // Of names, the first one is a name.
        let first = fields.first().map(|&field| syntax.text(bytes, field)).unwrap_or_default();
        let is_name = schema.fields().iter().any(|field| field.name().eq_ignore_ascii_case(first.trim()));
        let has = match is_name {
            true => {
                let record = fields.iter().map(|&field| syntax.text(bytes, field)).collect();
                header(&[record], Some(schema))
            }
            false => Ok(false),
        };
        let (message, help) = match has {
            Ok(has) if has == self.header => return Ok(()),
            Ok(has) => {
                let (here, there) = if has { ("holds", "does not") } else { ("does not hold", "does") };
                let message = format!(
                    "its first record {here} the names of the columns, that of the first file {there}"
                );
                (message, "say --header yes or --header no, or read the files apart")
            }
            Err(message) => (message.into(), IN_ORDER),
        };
        Err(Error::Data(Box::new(DataError { message, help: Some(help.into()), ..DataError::default() })))
    }
}
