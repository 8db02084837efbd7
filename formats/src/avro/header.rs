//! The header of a file: its metadata, and the marker that stands behind each block.

use std::path::Path;

use ::schema::FileEntry;
use arrow_schema::Schema;

use super::codec::Codec;
use super::schema::{Field, Kind, arrow_schema, parse};
use super::{MAGIC, long};
use crate::columns::tail::cut_short;
use crate::error::{Error, Result};
use crate::memory;
use crate::store::input::Input;

/// The length of a sync marker.
pub const SYNC: usize = 16;

/// What is read at first, in the hope that the header lies in it; then twice as much, and so on.
const FIRST: u64 = 16 << 10;
/// The most bytes that a header may have. Schemas are some KiB long.
const LONGEST: u64 = 64 << 20;

/// What the beginning of a file says.
#[derive(Debug)]
pub struct Header {
    /// The fields of a row.
    pub fields: Vec<Field>,
    /// The columns as they are decoded.
    pub schema: Schema,
    /// The compression of the blocks.
    pub codec: Codec,
    /// What stands behind each block.
    pub sync: [u8; SYNC],
    /// The length of the header in bytes: the first block begins there.
    pub len: u64,
}

impl Header {
    /// Reads the header of a file.
    pub fn open(file: &FileEntry) -> Result<Header> {
        Header::read(&Input::of(file)?, &file.path)
    }

    /// Reads the header of a file that is open.
    pub fn read(input: &Input, path: &Path) -> Result<Header> {
        let _reading = memory::read(path);
        let read = || {
            let mut most = FIRST;
            loop {
                memory::ask(most, || format!("its header of {most} bytes or more"))?;
                let bytes = input.read_range(&(0..most))?;
                if let Some(header) = Header::parse(&bytes)? {
                    return Ok(header);
                }
                if (bytes.len() as u64) < most {
                    return Err(cut_short(bytes.len() as u64));
                }
                if most >= LONGEST {
                    return Err(Error::data(0, format!("its header is longer than {LONGEST} bytes")));
                }
                most *= 2;
            }
        };
        read().map_err(|e: Error| e.at(path))
    }

    /// The header that bytes begin with; `None` if they end within it.
    fn parse(bytes: &[u8]) -> Result<Option<Header>> {
        if !MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]) {
            return Err(Error::data(0, "not an Avro file: it does not begin with 'Obj' and a byte 1"));
        }
        let mut at = MAGIC.len();
        let (mut schema, mut codec) = (None, None);
        loop {
            let begin = at;
            let impossible = || Error::data(begin as u64, "metadata that can't be: the file is damaged");
            // What ends early is read again with more bytes behind it.
            let number = |at: &mut usize| match long(bytes, at) {
                None if bytes.len() >= at.saturating_add(10) => Err(impossible()),
                number => Ok(number),
            };
            let Some(entries) = number(&mut at)? else { return Ok(None) };
            if entries == 0 {
                break;
            }
            // A negative number is followed by the size of the entries in bytes.
            if entries < 0 && number(&mut at)?.is_none() {
                return Ok(None);
            }
            for _ in 0..entries.unsigned_abs() {
                let text = |at: &mut usize| {
                    let Some(length) = number(at)? else { return Ok(None) };
                    let length = usize::try_from(length).map_err(|_| impossible())?;
                    let end = at.checked_add(length).ok_or_else(impossible)?;
                    let text = bytes.get(*at..end);
                    *at = end;
                    Ok::<_, Error>(text)
                };
                let Some(key) = text(&mut at)? else { return Ok(None) };
                let Some(value) = text(&mut at)? else { return Ok(None) };
                match key {
                    b"avro.schema" => schema = Some(value),
                    b"avro.codec" => codec = Some(value),
                    _ => {}
                }
            }
        }
        let Some(sync) = bytes.get(at..).and_then(|rest| rest.first_chunk::<SYNC>()) else { return Ok(None) };
        let schema = schema.ok_or_else(|| Error::data(0, "its metadata has no 'avro.schema'"))?;
        let fields = parse(schema)?;
        Ok(Some(Header {
            schema: arrow_schema(&fields),
            fields,
            codec: Codec::named(codec)?,
            sync: *sync,
            len: (at + SYNC) as u64,
        }))
    }

    /// Whether any of these columns has bytes in the rows: those of the type `null` have none.
    pub fn has_bytes(&self, columns: &[usize]) -> bool {
        columns.iter().any(|&column| !matches!(self.fields[column].data_type.kind, Kind::Null))
    }

    /// The number of types of a row.
    pub fn types(&self) -> u64 {
        self.fields.iter().map(|field| field.data_type.types()).sum()
    }

    /// The least bytes that a row takes: one for each column that is not `null`.
    pub fn least_bytes(&self) -> u64 {
        self.fields.iter().map(|field| field.data_type.least_bytes()).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::super::put_long;
    use super::*;

    fn header(schema: &str, codec: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        put_long(-2, &mut bytes);
        put_long(0, &mut bytes);
        for text in ["avro.schema", schema, "avro.codec", codec] {
            put_long(text.len() as i64, &mut bytes);
            bytes.extend(text.as_bytes());
        }
        bytes.push(0);
        bytes.extend([7; SYNC]);
        bytes
    }

    #[test]
    fn a_header_is_read_once_all_of_it_is_there() {
        let schema = r#"{"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}"#;
        let bytes = header(schema, "null");
        for end in 0..bytes.len() {
            assert!(Header::parse(&bytes[..end]).unwrap().is_none(), "{end} bytes");
        }
        let read = Header::parse(&bytes).unwrap().unwrap();
        assert_eq!((read.len, read.sync, read.least_bytes()), (bytes.len() as u64, [7; SYNC], 1));
    }

    #[test]
    fn impossible_metadata_and_unknown_codecs_are_errors() {
        let schema = r#"{"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}"#;
        assert!(Header::parse(&header(schema, "xz")).unwrap_err().to_string().contains("'xz'"));
        assert!(Header::parse(b"Objx").is_err());
        let mut bytes = MAGIC.to_vec();
        put_long(1, &mut bytes);
        put_long(-5, &mut bytes);
        assert!(Header::parse(&bytes).is_err());
    }
}
