//! The archive that a workbook is.

use std::io::{Cursor, Read};

use bytes::Bytes;
use calamine::{Reader as _, SheetType, Xlsx, XlsxError};
use memchr::memmem;
use schema::names::nearest;
use zip::ZipArchive;

use super::cells::Cells;
use crate::error::{DataError, Error, Result};
use crate::memory;

/// The most files of an archive, and the most characters of the name of a sheet. Excel's own limit of names is 31.
const MOST_FILES: usize = 100_000;
const MOST_NAME: usize = 255;
/// The most sheets that a message names.
const NAMED: usize = 10;
/// A byte of XML takes at most so many of memory where it is kept: an empty text between two tags.
const GROWTH: u64 = 8;
/// The bytes of a style besides its texts, about, and how many texts of a tag it may repeat.
const STYLE: u64 = 512;
const STYLE_TEXTS: u64 = 8;

/// A workbook whose parts were checked to unpack to what the archive says.
pub struct Book {
    inner: Xlsx<Cursor<Bytes>>,
    is_1904: bool,
}

impl Book {
    /// Opens a workbook with these bytes.
    ///
    /// # Errors
    /// It is none, or there is no memory for what it unpacks to.
    pub fn open(bytes: Bytes) -> Result<Book> {
        check(&bytes)?;
        let inner = Xlsx::new(Cursor::new(bytes)).map_err(bad)?;
        let is_1904 = inner.has_1904_epoch();
        Ok(Book { inner, is_1904 })
    }

    /// The names of the sheets with cells, in their order.
    pub fn sheets(&self) -> Vec<String> {
        let sheets = self.inner.sheets_metadata().iter();
        let with_cells = sheets.filter(|sheet| sheet.typ == SheetType::WorkSheet);
        with_cells.map(|sheet| sheet.name.clone()).filter(|name| name.chars().count() <= MOST_NAME).collect()
    }

    /// The cells of the first sheet that has any.
    pub fn first_cells(&mut self) -> Result<Cells> {
        for sheet in self.sheets() {
            let cells = self.cells(&sheet)?;
            if cells.columns.iter().any(|column| column.first().is_some()) {
                return Ok(cells);
            }
        }
        Err(Error::corrupt("the workbook has no sheet with cells"))
    }

    /// The sheet of this name, in any case of letters.
    pub fn sheet_named(&self, name: &str) -> Result<String> {
        let sheets = self.sheets();
        let is_it = |sheet: &&String| *sheet == name || sheet.to_lowercase() == name.to_lowercase();
        if let Some(sheet) = sheets.iter().find(|sheet| *sheet == name).or_else(|| sheets.iter().find(is_it))
        {
            return Ok(sheet.clone());
        }
        let near = nearest(name, sheets.iter().map(String::as_str));
        let shown: Vec<String> = match near.is_empty() {
            true => sheets.iter().take(NAMED).cloned().collect(),
            false => near,
        };
        let more = if shown.len() == NAMED && sheets.len() > NAMED { " and more" } else { "" };
        Err(Error::Data(Box::new(DataError {
            message: format!("the workbook has no sheet '{name}'"),
            help: Some(format!("it has '{}'{more}", shown.join("', '"))),
            ..DataError::default()
        })))
    }

    /// The cells of a sheet.
    pub fn cells(&mut self, sheet: &str) -> Result<Cells> {
        let reader = self.inner.worksheet_cells_reader(sheet).map_err(bad)?;
        Cells::read(reader, sheet, self.is_1904)
    }
}

/// What the calamine crate says of bytes that it can't read.
pub fn bad(error: XlsxError) -> Error {
    Error::corrupt(format!("not a valid Excel workbook: {error}"))
}

/// Checks the archive before calamine reads it. A part must unpack to as many bytes as the archive says, and there must
/// be memory for what is kept of it.
fn check(bytes: &Bytes) -> Result<()> {
    let broken = |e: &dyn std::fmt::Display| Error::corrupt(format!("not a valid Excel workbook: {e}"));
    let mut archive = ZipArchive::new(Cursor::new(bytes.clone())).map_err(|e| broken(&e))?;
    if archive.len() > MOST_FILES {
        return Err(Error::corrupt(format!("not a workbook: its archive has {} files", archive.len())));
    }
    for number in 0..archive.len() {
        let mut part = archive.by_index(number).map_err(|e| broken(&e))?;
        let name = part.name().map_err(|e| broken(&e))?.to_ascii_lowercase();
        let size = part.size();
        // These are read again bit by bit. An archive may call any part its workbook, so that all of them are looked at.
        let has_counts = name.ends_with("sharedstrings.xml") || name.ends_with("styles.xml");
        let is_sheet = name.contains("worksheets/") || !(name.ends_with(".xml") || name.ends_with(".rels"));
        let growth = if is_sheet && !has_counts { 1 } else { GROWTH };
        memory::ask(size.saturating_mul(growth), || format!("the {size} bytes of '{name}' in a workbook"))?;
        let wrong = |got: u64| {
            let of = if got > size { "more" } else { "fewer" };
            Error::corrupt(format!(
                "'{name}' in the archive unpacks to {of} bytes than the {size} that it says"
            ))
        };
        if !has_counts {
            let unpacked =
                std::io::copy(&mut part.by_ref().take(size.saturating_add(1)), &mut std::io::sink());
            match unpacked.map_err(|e| broken(&e))? {
                got if got == size => continue,
                got => return Err(wrong(got)),
            }
        }
        let mut text = Vec::new();
        part.by_ref().take(size.saturating_add(1)).read_to_end(&mut text).map_err(|e| broken(&e))?;
        if text.len() as u64 != size {
            return Err(wrong(text.len() as u64));
        }
        check_counts(&name, &text)?;
    }
    Ok(())
}

/// Checks what calamine allocates by numbers that a part says, or repeats for each style.
fn check_counts(name: &str, text: &[u8]) -> Result<()> {
    if name.ends_with("sharedstrings.xml")
        && let Some(count) = claimed_strings(text).filter(|count| *count > text.len() as u64)
    {
        return Err(Error::corrupt(format!(
            "the workbook says that it has {count} texts, in {} bytes",
            text.len()
        )));
    }
    if name.ends_with("styles.xml") {
        let styles = memmem::find_iter(text, "xf").count() as u64;
        let longest = text.split(|byte| *byte == b'>').map(<[u8]>::len).max().unwrap_or(0) as u64;
        let bytes = styles.saturating_mul(STYLE + longest.saturating_mul(STYLE_TEXTS));
        memory::ask(bytes, || format!("up to {styles} styles of cells"))?;
    }
    Ok(())
}

/// The greatest number of texts that a tag of shared strings claims. Text itself has no `<`.
fn claimed_strings(text: &[u8]) -> Option<u64> {
    let claims = memmem::find_iter(text, "uniqueCount").filter_map(|at| {
        let tag = memchr::memrchr2(b'<', b'>', &text[..at])?;
        if text[tag] != b'<' || memmem::find(&text[tag..at], b"sst").is_none() {
            return None;
        }
        let value = text[at + "uniqueCount".len()..].iter().skip_while(|byte| !byte.is_ascii_digit());
        let digits = value.take_while(|byte| byte.is_ascii_digit());
        Some(digits.fold(0_u64, |n, digit| n.saturating_mul(10).saturating_add(u64::from(digit - b'0'))))
    });
    claims.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_found_in_its_tag_alone() {
        assert_eq!(claimed_strings(br#"<?xml?><sst count="9" uniqueCount="12"><si/></sst>"#), Some(12));
        assert_eq!(claimed_strings(br#"<x:sst uniqueCount = '99999999999999999999999'/>"#), Some(u64::MAX));
        assert_eq!(claimed_strings(b"<sst><si><t>sst uniqueCount=\"7\"</t></si></sst>"), None);
        assert_eq!(claimed_strings(b"<sst></sst>"), None);
    }
}
