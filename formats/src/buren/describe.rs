//! The description of a chunk, for people.

use arrow_schema::DataType;

use super::bytes::Input;
use super::compress::Codec;
use super::encode::{CONSTANT, NARROW, PLAIN, validity};
use super::floats;
use super::types::width;
use super::{integers, text};
use crate::error::{Error, Result};

/// The most nodes below one another that are described; readers refuse more.
const DEEPEST: usize = 16;

/// What a chunk's description says: a tree of encodings as text, and the bytes of its buffers.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Description {
    /// The encodings, as `runs(packed, letters of 26(packed, packed))`: a node's parts stand behind it in brackets.
    pub encoding: String,
    /// The bytes of all buffers when decompressed.
    pub decompressed: u64,
    /// The bytes of all buffers as stored.
    pub stored: u64,
    /// The compression of those that are compressed, `none` if no buffer is.
    pub compression: &'static str,
}

/// Describes a chunk by its description, the bytes of which are given, for a column of this type.
pub fn describe(description: &[u8], data_type: &DataType) -> Result<Description> {
    let mut walk =
        Walk { input: Input::new(description, "column chunk"), found: Description::default(), depth: 0 };
    walk.found.compression = "none";
    let encoding = walk.column(data_type)?;
    Ok(Description { encoding, ..walk.found })
}

struct Walk<'a> {
    input: Input<'a>,
    found: Description,
    depth: usize,
}

impl Walk<'_> {
    fn unknown(&self, tag: u8) -> Error {
        self.input.damaged(format_args!("there is no encoding {tag}"))
    }

    fn buffer(&mut self) -> Result<()> {
        let codec = Codec::from_tag(self.input.u8()?)?;
        self.found.decompressed += u64::from(self.input.u32()?);
        self.found.stored += u64::from(self.input.u32()?);
        if codec != Codec::None {
            self.found.compression = codec.name();
        }
        Ok(())
    }

    fn below(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.input.damaged("its encodings are nested too deep"));
        }
        Ok(())
    }

    fn column(&mut self, data_type: &DataType) -> Result<String> {
        let nulls = match self.input.u8()? {
            validity::ALL => "",
            validity::NONE => return Ok("nothing".into()),
            validity::BITS => {
                self.buffer()?;
                ", NULLs as bits"
            }
            validity::PLACES => {
                self.input.u32()?;
                self.integers(4)?;
                ", NULLs as places"
            }
            other => return Err(self.unknown(other)),
        };
        let mut encoding = match (data_type, width(data_type)) {
            (DataType::List(item), _) => {
                self.below()?;
                self.input.u32()?;
                let found = format!("lists({}, {})", self.integers(4)?, self.column(item.data_type())?);
                self.depth -= 1;
                found
            }
            (DataType::Struct(fields), _) => {
                self.below()?;
                let columns =
                    fields.iter().map(|f| self.column(f.data_type())).collect::<Result<Vec<_>>>()?;
                self.depth -= 1;
                format!("structs({})", columns.join(", "))
            }
            (DataType::Boolean, _) => self.simple(1, 0)?,
            (DataType::Float32, _) => self.floats(4)?,
            (DataType::Float64, _) => self.floats(8)?,
            (_, None) => self.texts()?,
            (_, Some(width @ (1 | 2 | 4 | 8))) => self.integers(width)?,
            (_, Some(width)) => self.simple(width, 8)?,
        };
        encoding.push_str(nulls);
        Ok(encoding)
    }

    /// Booleans and wide values: constant, plain, or integers of `narrow` bytes.
    fn simple(&mut self, value: usize, narrow: usize) -> Result<String> {
        match self.input.u8()? {
            CONSTANT => self.input.take(value).map(|_| "constant".into()),
            PLAIN => self.buffer().map(|()| "plain".into()),
            NARROW if narrow > 0 => Ok(format!("narrow({})", self.integers(narrow)?)),
            other => Err(self.unknown(other)),
        }
    }

    fn integers(&mut self, value: usize) -> Result<String> {
        use integers::tag;
        self.below()?;
        let found = match self.input.u8()? {
            tag::CONSTANT => {
                self.input.take(value)?;
                "constant".into()
            }
            tag::PLAIN => {
                self.buffer()?;
                "plain".into()
            }
            tag::PACKED => {
                self.buffer()?;
                self.buffer()?;
                "packed".into()
            }
            tag::RUNS => {
                let count = self.input.u32()?;
                format!("{count} runs({}, {})", self.integers(4)?, self.integers(value)?)
            }
            tag::DICTIONARY => {
                let count = self.input.u32()?;
                format!("dictionary of {count}({}, {})", self.integers(2)?, self.integers(value)?)
            }
            other => return Err(self.unknown(other)),
        };
        self.depth -= 1;
        Ok(found)
    }

    fn floats(&mut self, value: usize) -> Result<String> {
        let name = match self.input.peek() {
            Some(floats::DECIMAL) => "decimal",
            Some(floats::BINARY) => "binary",
            Some(floats::SPLIT) => "split",
            _ => return self.integers(value),
        };
        self.input.u8()?;
        let parameter = self.input.u8()?;
        if name == "split" {
            return Ok(format!("split at {parameter}({}, {})", self.integers(2)?, self.integers(value)?));
        }
        let digits = self.integers(value)?;
        let count = self.input.u32()?;
        let (rows, bits) = (self.integers(4)?, self.integers(value)?);
        let exceptions =
            if count == 0 { String::new() } else { format!(", {count} exceptions({rows}, {bits})") };
        Ok(format!("{name} {parameter}({digits}{exceptions})"))
    }

    fn texts(&mut self) -> Result<String> {
        use text::tag;
        self.below()?;
        let found = match self.input.u8()? {
            tag::CONSTANT => {
                self.buffer()?;
                "constant".into()
            }
            tag::PLAIN => {
                let lengths = self.integers(4)?;
                self.buffer()?;
                format!("plain({lengths})")
            }
            tag::LETTERS => {
                let count = self.input.u8()?;
                self.input.take(count.into())?;
                format!("letters of {count}({}, {})", self.integers(4)?, self.integers(4)?)
            }
            tag::ADDRESSES => format!("addresses({})", self.integers(4)?),
            tag::SYMBOLS => {
                let count = self.input.u8()?;
                let lengths = self.input.take(count.into())?;
                self.input.take(lengths.iter().map(|length| usize::from(*length)).sum())?;
                let lengths = self.integers(4)?;
                self.buffer()?;
                format!("symbols of {count}({lengths})")
            }
            tag::DICTIONARY => {
                let count = self.input.u32()?;
                format!("dictionary of {count}({}, {})", self.integers(2)?, self.texts()?)
            }
            tag::RUNS => {
                let count = self.input.u32()?;
                format!("{count} runs({}, {})", self.integers(4)?, self.texts()?)
            }
            tag::FREQUENT => {
                let (count, rest) = (self.input.u32()?, self.input.u32()?);
                let (places, entries) = (self.integers(2)?, self.texts()?);
                format!("frequent {count}({places}, {entries}, rest of {rest} {})", self.texts()?)
            }
            other => return Err(self.unknown(other)),
        };
        self.depth -= 1;
        Ok(found)
    }
}
