//! Detects the encoding and compression of a file: by its name, and by its content if the name says nothing or is
//! wrong.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use memchr::memmem;
use schema::FileEntry;

use super::sniff;
use crate::compress::head::first_bytes;
use crate::compress::{compression, compressions, sniff as sniff_compression};
use crate::error::{Error, Result};
use crate::format::Format;
use crate::registry::{format, formats};
use crate::store::input::Input;

/// Suffixes that stand for csv with another delimiter.
const DELIMITED: &[(&str, u8)] = &[("tsv", b'\t'), ("tab", b'\t'), ("psv", b'|')];

/// The bytes of a file's decompressed beginning that are looked at.
const HEAD: usize = 64 << 10;

/// The facts that the name of a file tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Named {
    /// The encoding.
    pub encoding: Option<&'static str>,
    /// The compression around the file.
    pub compression: Option<&'static str>,
    /// csv: the byte between fields.
    pub delimiter: Option<u8>,
}

/// The encoding and compression of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// The encoding.
    pub encoding: &'static str,
    /// The compression around the file.
    pub compression: &'static str,
    /// csv: the byte between fields, if the name or the content tells it.
    pub delimiter: Option<u8>,
}

/// The suffixes of a file's name, behind the first point. [`by_name`] looks at nothing else.
pub fn suffixes(path: &Path) -> &[u8] {
    let path = path.as_os_str().as_bytes();
    let name = &path[memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1)..];
    memchr::memchr(b'.', name).map_or(&[], |point| &name[point + 1..])
}

/// Looks at the suffixes of a name, from the right: `logs.csv.gz`, `access.log.1`, `access.log-20260131.gz`.
pub fn by_name(path: &Path) -> Named {
    let mut named = Named::default();
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    for suffix in name.split('.').skip(1).collect::<Vec<_>>().into_iter().rev() {
        let rotated = suffix.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_'));
        if let Some(&(_, delimiter)) = DELIMITED.iter().find(|(s, _)| *s == suffix) {
            return Named { encoding: Some("csv"), delimiter: Some(delimiter), ..named };
        }
        let encoding =
            formats().iter().find(|f| f.extensions().iter().any(|e| *e == suffix || *e == rotated));
        if let Some(encoding) = encoding {
            return Named { encoding: Some(encoding.name()), ..named };
        }
        let compression = compressions().iter().find(|c| c.extensions().contains(&suffix));
        match (compression, named.compression) {
            (Some(compression), None) => named.compression = Some(compression.name()),
            _ if rotated.is_empty() => {}
            _ => break,
        }
    }
    named
}

/// The name of a file up to its first point: the name of a table.
pub fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().filter(|s| !s.is_empty()).unwrap_or(&name).to_string()
}

/// Detects the encoding and compression of a file that is not empty, by its content. An encoding or compression that an
/// option gives is taken as it is. `has_charset` says that an option gives the character encoding too.
pub fn by_content(
    file: &FileEntry,
    encoding: Option<&str>,
    given_compression: Option<&str>,
    has_charset: bool,
) -> Result<Detected> {
    let path = file.path.as_path();
    let named = by_name(path);
    let input = Input::of(file)?;
    let start = input.read_range(&(0..64))?;
    let compression = match given_compression {
        Some(name) => compression(name)?.name(),
        None => {
            match (sniff_compression(&start), named.compression) {
                (Some(found), _) => found.name(),
                // The file was decompressed, and kept its old name.
                (None, Some(_)) if is_text(&start) || magic(&start).is_some() => "none",
                (None, Some(named)) => named,
                (None, None) => "none",
            }
        }
    };
    let delimiter = named.delimiter;
    if let Some(name) = encoding {
        let detected = Detected { encoding: format(name)?.name(), compression, delimiter };
        let detected = checked(path, detected)?;
        // UTF-16 is an error here, because the error of the decoder would only name its first bytes.
        if !format(name)?.compresses_inside() && !has_charset {
            let head = first_bytes(file, compression, 64)?;
            refuse_utf16(path, &head)?;
            refuse_unmarked_utf16(path, detected.encoding, &head)?;
        }
        return Ok(detected);
    }
    let head = first_bytes(file, compression, HEAD)?;
    if !has_charset {
        refuse_utf16(path, &head)?;
    }
    // A csv file may begin with the letters PAR1. A Parquet file ends with them too.
    let magic = match magic(&head) {
        None if compression == "none" => archive(&input, &head)?,
        Some("parquet") if compression == "none" && !ends_with(&input, b"PAR1")? && is_text(&head) => None,
        magic => magic,
    };
    let (encoding, delimiter) = match (magic, named.encoding) {
        (Some(magic), _) => (magic, None),
        // If the name is of a column format and the content is not, the format reports the error.
        (None, Some(named)) => (named, delimiter),
        (None, None) => match sniff::text_kind(&head) {
            Some((encoding, delimiter)) => (encoding, delimiter),
            None if let Some((compression, unpack)) = unread_compression(path, &head) => {
                let message = format!("files of {compression} are not unpacked here");
                let file = path.display();
                let help = format!("unpack it: {unpack} '{file}' | palais query \"SELECT * FROM '-'\"");
                return Err(Error::location(file, message, Some(help)));
            }
            None => {
                let names: Vec<_> = formats().iter().map(|f| f.name()).collect();
                let help = format!("name it with --from ({})", names.join(", "));
                let message = "neither its name nor its content tells its encoding";
                return Err(Error::location(path.display(), message, Some(help)));
            }
        },
    };
    if !has_charset {
        refuse_unmarked_utf16(path, encoding, &head)?;
    }
    checked(path, Detected { encoding, compression, delimiter })
}

/// Refuses a file of text whose every second byte is 0, as in ASCII letters in UTF-16.
fn refuse_unmarked_utf16(path: &Path, encoding: &str, head: &[u8]) -> Result<()> {
    let format = format(encoding)?;
    let is_text = format.is_delimited() || format.is_json() || encoding == "text";
    let pairs: Vec<[u8; 2]> = head.chunks_exact(2).take(32).map(|pair| [pair[0], pair[1]]).collect();
    let name = match pairs.as_slice() {
        pairs if !is_text || pairs.len() < 4 => return Ok(()),
        pairs if pairs.iter().all(|pair| pair[0] != 0 && pair[1] == 0) => "utf-16le",
        pairs if pairs.iter().all(|pair| pair[0] == 0 && pair[1] != 0) => "utf-16be",
        _ => return Ok(()),
    };
    let help = format!("--encoding {name} reads it");
    Err(Error::location(path.display(), "the text is UTF-16, and not UTF-8", Some(help)))
}

/// The compression that this is not able to read whose files begin with these bytes, or have such a suffix, and how they
/// are unpacked.
fn unread_compression(path: &Path, head: &[u8]) -> Option<(&'static str, &'static str)> {
    let suffix = path.extension().map(|suffix| suffix.to_string_lossy().to_lowercase());
    match suffix.as_deref() {
        _ if head.starts_with(b"\xfd7zXZ\0") => Some(("xz", "xz -dc")),
        _ if head.starts_with(b"7z\xbc\xaf\x27\x1c") => Some(("7z", "7z x -so")),
        _ if head.starts_with(b"PK\x03\x04") => Some(("zip", "unzip -p")),
        Some("br") => Some(("brotli", "brotli -dc")),
        Some("lzma") => Some(("lzma", "xz -dc")),
        Some("z") => Some(("compress", "uncompress -c")),
        _ => None,
    }
}

/// The encoding whose files begin with these bytes.
fn magic(head: &[u8]) -> Option<&'static str> {
    let begins = |f: &&&dyn Format| f.magic().iter().any(|magic| head.starts_with(magic));
    formats().iter().find(begins).map(|f| f.name())
}

/// The encoding whose files are zip archives with such a file in them as this one. The names of an archive's files stand
/// before each of them, and again at its end.
fn archive(input: &Input, head: &[u8]) -> Result<Option<&'static str>> {
    if !head.starts_with(b"PK\x03\x04") {
        return Ok(None);
    }
    let len = input.len()?;
    let tail = input.read_range(&(len.saturating_sub(HEAD as u64)..len))?;
    let is_in = |name: &str| [head, &tail].iter().any(|part| memmem::find(part, name.as_bytes()).is_some());
    Ok(formats().iter().find(|f| f.in_archive().is_some_and(is_in)).map(|f| f.name()))
}

/// Refuses text that begins with a byte order mark of UTF-16. No binary format begins so.
fn refuse_utf16(path: &Path, head: &[u8]) -> Result<()> {
    if !head.starts_with(b"\xff\xfe") && !head.starts_with(b"\xfe\xff") {
        return Ok(());
    }
    let help = "--encoding utf-16 reads it".to_string();
    Err(Error::location(path.display(), "the text is UTF-16, and not UTF-8", Some(help)))
}

/// Refuses a compression around a file of an encoding that compresses inside.
fn checked(path: &Path, detected: Detected) -> Result<Detected> {
    let inside = format(detected.encoding)?.compresses_inside();
    if inside && detected.compression != "none" {
        let Detected { encoding, compression, .. } = detected;
        let message = format!("a {encoding} file inside of {compression} can't be read");
        let help = format!("unpack it; {encoding} compresses inside of the file");
        return Err(Error::location(path.display(), message, Some(help)));
    }
    Ok(detected)
}

fn ends_with(input: &Input, magic: &[u8]) -> Result<bool> {
    if input.is_pipe() {
        return Ok(true);
    }
    let len = input.len()?;
    Ok(input.read_range(&(len.saturating_sub(magic.len() as u64)..len))? == magic)
}

/// Whether bytes look like text: UTF-8 without control characters. The last character may be cut.
pub fn is_text(bytes: &[u8]) -> bool {
    let whole = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(e) => e.error_len().is_none(),
    };
    whole && !bytes.iter().any(|b| b.is_ascii_control() && !matches!(b, b'\n' | b'\r' | b'\t' | 0x0c | 0x1b))
}
