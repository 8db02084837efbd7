//! Text that is not yet as the decoders read it, rewritten on its way. Another character encoding becomes UTF-8, lines
//! before the header go, and comments and escapes of csv become what RFC 4180 has.
//!
//! ```text
//! bytes ─ decompress ─ decode ─ skip lines ─ comments, escapes ─▶ text as the decoders read it
//! ```
//!
//! What is rewritten can't be cut anywhere. So such a file is read as a compressed one is. One worker at a time
//! rewrites the next piece, and then parses it while another worker rewrites
//! ([`sequential_splits`](super::sequential_splits)).
//!
//! The lines of the file stay lines, so that errors name the right one. Of a line that is a comment the first character
//! is left, and the decoder passes it. Skipped lines are counted by the decoder. The offsets of bytes are not kept, and
//! errors about values of such a file have none.

use std::borrow::Cow;

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8};
use schema::{Comments, Dialect, FileEntry, FormatOptions};

use super::quotes::Marks;
use super::reader::BYTE_ORDER_MARK;
use crate::compress::head::first_of;
use crate::compress::{self, Decompressor};
use crate::error::{DataError, Error, Result};

/// Bytes that are rewritten at once.
const CHUNK: usize = 64 << 10;

/// What decompresses and rewrites the bytes of a file; `None` if they are as they should be.
pub fn decompressor(format: &FormatOptions) -> Result<Option<Box<dyn Decompressor>>> {
    let packed = compress::compression(&format.compression)?.decompressor()?;
    Ok(match &format.dialect {
        Some(dialect) if dialect.rewrites() => {
            let marks = Marks { delimiter: format.delimiter, quote: format.quote };
            Some(Box::new(Rewriter::new(packed, dialect, marks)?))
        }
        _ => packed,
    })
}

/// The first `most` bytes of the text of a file. Fewer only if the file has no more.
pub fn first_text(file: &FileEntry, format: &FormatOptions, most: usize) -> Result<Vec<u8>> {
    first_of(file, decompressor(format)?, most)
}

/// The character encoding of this name; `None` of UTF-8, which is not decoded.
///
/// # Errors
/// There is none.
pub fn charset(name: &str) -> Result<Option<&'static Encoding>> {
    let label = match name.to_ascii_lowercase().as_str() {
        "latin-1" => "latin1".to_string(),
        label => label.to_string(),
    };
    match Encoding::for_label_no_replacement(label.as_bytes()) {
        Some(encoding) => Ok(Some(encoding).filter(|encoding| *encoding != UTF_8)),
        None => Err(Error::Unsupported(format!(
            "there is no encoding '{name}'; there are utf-8, latin-1, windows-1252, utf-16 (utf-16le, utf-16be), and the \
             others of the web, such as shift_jis, gbk, koi8-r and iso-8859-15"
        ))),
    }
}

/// A csv text with its comments rewritten: of a line that is one, what it begins with is left. `alone` says that no
/// comment stands behind a record.
pub fn with_comments_rewritten(text: &[u8], mark: u8, alone: bool, marks: Marks) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let comments = Comments::Found { mark, alone, fields: None };
    // Only a comment that could be a record is an error, and without a number of fields none could.
    let rewritten = Rewriting::new(marks, comments, None).rewrite(text, &mut out);
    debug_assert!(rewritten.is_ok());
    out
}

/// Text without the lines of which nothing is left but what a comment begins with.
pub fn without_comments(text: &[u8], comment: Option<u8>) -> Cow<'_, [u8]> {
    let Some(comment) = comment else { return Cow::Borrowed(text) };
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    Cow::Owned(lines.filter(|line| line.trim_ascii() != [comment]).flatten().copied().collect())
}

/// Rewrites text, as a decompressor behind another one.
struct Rewriter {
    packed: Option<Box<dyn Decompressor>>,
    /// Decompressed bytes at hand.
    raw: Vec<u8>,
    charset: Option<Charset>,
    /// Decoded text at hand.
    text: Vec<u8>,
    /// How many bytes of a byte order mark were seen, if there may be one.
    mark: Option<usize>,
    /// Lines that are still to be skipped.
    skip: u64,
    syntax: Option<Rewriting>,
}

/// What decodes a character encoding.
struct Charset {
    decoder: Decoder,
    /// The bytes that were decoded.
    at: u64,
}

impl Rewriter {
    fn new(packed: Option<Box<dyn Decompressor>>, dialect: &Dialect, marks: Marks) -> Result<Rewriter> {
        let encoding = dialect.charset.as_deref().map(charset).transpose()?.flatten();
        let syntax = (dialect.comments.mark().is_some() || dialect.escape.is_some())
            .then(|| Rewriting::new(marks, dialect.comments, dialect.escape));
        Ok(Rewriter {
            packed,
            raw: Vec::new(),
            charset: encoding.map(|encoding| Charset { decoder: encoding.new_decoder(), at: 0 }),
            text: Vec::new(),
            mark: Some(0),
            skip: dialect.skip,
            syntax,
        })
    }

    /// Rewrites bytes that are decompressed.
    fn rewrite(&mut self, raw: &[u8], last: bool, out: &mut Vec<u8>) -> Result<()> {
        match &mut self.charset {
            None => self.pass(raw, out)?,
            Some(charset) => {
                let mut text = std::mem::take(&mut self.text);
                text.clear();
                let decoded = charset.decode(raw, last, &mut text);
                let passed = self.pass(&text, out);
                self.text = text;
                return decoded.and(passed);
            }
        }
        Ok(())
    }

    /// Passes text on: without a byte order mark, without the lines that are skipped, and with its syntax rewritten.
    fn pass(&mut self, mut text: &[u8], out: &mut Vec<u8>) -> Result<()> {
        while let (Some(seen), Some(first)) = (self.mark, text.first()) {
            if BYTE_ORDER_MARK.get(seen) == Some(first) {
                (self.mark, text) = (Some(seen + 1), &text[1..]);
                continue;
            }
            self.mark = None;
            if seen < BYTE_ORDER_MARK.len() {
                self.lines(&BYTE_ORDER_MARK[..seen], out)?;
            }
        }
        self.lines(text, out)
    }

    fn lines(&mut self, mut text: &[u8], out: &mut Vec<u8>) -> Result<()> {
        while self.skip > 0 {
            let Some(newline) = memchr::memchr(b'\n', text) else { return Ok(()) };
            (self.skip, text) = (self.skip - 1, &text[newline + 1..]);
        }
        match &mut self.syntax {
            None => {
                out.extend_from_slice(text);
                Ok(())
            }
            Some(syntax) => syntax.rewrite(text, out),
        }
    }
}

impl Decompressor for Rewriter {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>, most: usize) -> Result<usize> {
        let mut consumed = 0;
        while out.len() < most {
            let rest = &input[consumed..];
            let Some(packed) = &mut self.packed else {
                let chunk = &rest[..rest.len().min(CHUNK)];
                if chunk.is_empty() {
                    break;
                }
                consumed += chunk.len();
                self.rewrite(chunk, false, out)?;
                continue;
            };
            let mut raw = std::mem::take(&mut self.raw);
            raw.clear();
            consumed += packed.push(rest, &mut raw, CHUNK)?;
            let is_over = raw.is_empty() && consumed == input.len();
            let rewritten = self.rewrite(&raw, false, out);
            self.raw = raw;
            rewritten?;
            if is_over {
                break;
            }
        }
        Ok(consumed)
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(packed) = &mut self.packed {
            packed.finish()?;
        }
        // Only a character that is cut short is left, which is an error.
        let ended = self.rewrite(&[], true, &mut Vec::new());
        self.charset = None;
        match &mut self.syntax {
            Some(syntax) if syntax.state == State::Comment => ended.and(syntax.check_comment()),
            _ => ended,
        }
    }
}

impl Charset {
    /// Appends decoded bytes.
    fn decode(&mut self, mut raw: &[u8], last: bool, text: &mut Vec<u8>) -> Result<()> {
        loop {
            let len = text.len();
            let most = self.decoder.max_utf8_buffer_length_without_replacement(raw.len());
            text.resize(len + most.unwrap_or(raw.len() * 3), 0);
            let (result, read, written) =
                self.decoder.decode_to_utf8_without_replacement(raw, &mut text[len..], last);
            text.truncate(len + written);
            self.at += read as u64;
            raw = &raw[read..];
            match result {
                DecoderResult::InputEmpty => return Ok(()),
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(bad, behind) => {
                    let at = self.at.saturating_sub(u64::from(bad) + u64::from(behind));
                    return Err(self.malformed(at));
                }
            }
        }
    }

    fn malformed(&self, at: u64) -> Error {
        let name = self.decoder.encoding().name();
        Error::Data(Box::new(DataError {
            offset: Some(at),
            message: format!("the bytes here are no text in {name}"),
            help: Some("--encoding NAME says which encoding the file has".into()),
            ..DataError::default()
        }))
    }
}

/// Rewrites comments and escapes.
struct Rewriting {
    marks: Marks,
    /// What comments begin with.
    comment: Option<u8>,
    /// Comments are whole lines.
    alone: bool,
    /// The delimiters of a comment that could be a record.
    doubtful: Option<usize>,
    escape: Option<u8>,
    state: State,
    /// The comment that the state is in, as far as a message would show it, and its delimiters.
    shown: Vec<u8>,
    delimiters: usize,
}

/// The bytes of a comment that a message shows.
const SHOWN: usize = 60;

/// Where the next byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the first byte of a line.
    Line,
    /// In a line of which nothing but spaces was seen.
    Indent,
    /// At the first byte of a field.
    Field,
    /// In a field, outside quotes.
    Unquoted,
    /// Inside quotes.
    Quoted,
    /// Behind a quote inside quotes.
    QuoteInQuoted,
    /// Behind an escape inside quotes.
    Escaped,
    /// In a line that is a comment.
    Comment,
    /// In a comment behind a record.
    BehindRecord,
}

impl Rewriting {
    fn new(marks: Marks, comments: Comments, escape: Option<u8>) -> Rewriting {
        let (alone, fields) = match comments {
            Comments::Found { alone, fields, .. } => (alone, fields),
            _ => (false, None),
        };
        Rewriting {
            marks,
            comment: comments.mark(),
            alone,
            doubtful: fields.map(|fields| fields.saturating_sub(1)),
            escape,
            state: State::Line,
            shown: Vec::new(),
            delimiters: 0,
        }
    }

    /// # Errors
    /// A comment that was not named could be a record.
    fn rewrite(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let Marks { delimiter, quote } = self.marks;
        // Where nothing escapes or begins a comment, a byte is looked for that is looked for anyway.
        let behind_records = self.comment.filter(|_| !self.alone);
        let (comment, escape) = (behind_records.unwrap_or(b'\n'), self.escape.unwrap_or(quote));
        let mut rest = text;
        while !rest.is_empty() {
            let run = match self.state {
                State::Quoted => memchr::memchr2(quote, escape, rest),
                State::Unquoted => memchr::memchr3(delimiter, b'\n', comment, rest),
                State::Comment | State::BehindRecord => memchr::memchr(b'\n', rest),
                _ => Some(0),
            };
            let (passed, found) = rest.split_at(run.unwrap_or(rest.len()));
            match self.state {
                State::Comment => self.pass_over(passed),
                State::BehindRecord => {}
                _ => out.extend_from_slice(passed),
            }
            let Some((&byte, behind)) = found.split_first() else { break };
            if self.state == State::Comment {
                self.check_comment()?;
            }
            self.step(byte, out);
            rest = behind;
        }
        Ok(())
    }

    /// Takes bytes of a comment.
    fn pass_over(&mut self, bytes: &[u8]) {
        if self.doubtful.is_some() {
            let more = SHOWN.saturating_sub(self.shown.len()).min(bytes.len());
            self.shown.extend_from_slice(&bytes[..more]);
            self.delimiters += memchr::memchr_iter(self.marks.delimiter, bytes).count();
        }
    }

    /// Refuses a comment, which ends here, if it could be a record.
    fn check_comment(&mut self) -> Result<()> {
        let shown = std::mem::take(&mut self.shown);
        let delimiters = std::mem::take(&mut self.delimiters);
        if self.doubtful != Some(delimiters) || shown.first().is_none_or(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let mark = char::from(self.comment.unwrap_or_default());
        Err(Error::Data(Box::new(DataError {
            value: Some(format!("{mark}{}", String::from_utf8_lossy(&shown))),
            message: format!(
                "a line that begins with {mark}, as the comments of the table do, has the fields of a record"
            ),
            help: Some(format!(
                "--comment '{mark}' (in SQL comment = '{mark}') passes over such lines, and --comment '' (comment = '') \
                 makes records of all"
            )),
            ..DataError::default()
        })))
    }

    /// Takes one byte.
    fn step(&mut self, byte: u8, out: &mut Vec<u8>) {
        let Marks { delimiter, quote } = self.marks;
        let is_comment = self.comment == Some(byte);
        let (next, writes) = match self.state {
            State::Quoted if self.escape == Some(byte) => (State::Escaped, false),
            State::Quoted if byte == quote => (State::QuoteInQuoted, true),
            State::Quoted => (State::Quoted, true),
            State::Escaped => {
                if byte == quote {
                    out.push(quote);
                }
                (State::Quoted, true)
            }
            State::Comment | State::BehindRecord if byte == b'\n' => (State::Line, true),
            State::Comment | State::BehindRecord => (self.state, false),
            // The character is left of a line that is a comment.
            State::Line | State::Indent if is_comment => (State::Comment, true),
            _ if is_comment && !self.alone => (State::BehindRecord, false),
            State::Line | State::Indent if byte == b' ' && delimiter != b' ' => (State::Indent, true),
            State::Line | State::Field | State::QuoteInQuoted if byte == quote => (State::Quoted, true),
            _ if byte == b'\n' => (State::Line, true),
            _ if byte == delimiter => (State::Field, true),
            _ => (State::Unquoted, true),
        };
        if writes {
            out.push(byte);
        }
        self.state = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of bytes that are pushed in pieces of so many.
    fn rewritten(bytes: &[u8], dialect: &Dialect, step: usize) -> Result<Vec<u8>> {
        let marks = Marks { delimiter: b',', quote: b'"' };
        let mut rewriter = Rewriter::new(None, dialect, marks)?;
        let mut out = Vec::new();
        for piece in bytes.chunks(step) {
            let mut rest = piece;
            while !rest.is_empty() {
                // Hardly any room, so that each call gives little.
                let most = out.len() + 1;
                let used = rewriter.push(rest, &mut out, most)?;
                rest = &rest[used..];
            }
        }
        rewriter.finish()?;
        Ok(out)
    }

    #[test]
    fn lines_comments_and_escapes() {
        let dialect = Dialect { comments: Comments::From(b'#'), escape: Some(b'\\'), ..Dialect::default() };
        for (text, expected) in [
            ("a,b\n1,2\n", "a,b\n1,2\n"),
            ("# x \"\n  #y\r\na#b\n", "#\n  #\na\n"),
            ("1,\"#\n#\",#\n", "1,\"#\n#\",\n"),
            (" \"#\n", " \"\n"),
            ("x\"#\n", "x\"\n"),
            ("\"a\\\"#b\",c\\d\n", "\"a\"\"#b\",c\\d\n"),
            ("\"\\\\\"#\n", "\"\\\"\n"),
            ("\"a\"\"#\"#\n", "\"a\"\"#\"\n"),
            ("\"\\n\"", "\"n\""),
            ("\u{feff}#c\nx", "#\nx"),
            ("\u{feff}\u{feff}", "\u{feff}"),
        ] {
            for step in [1, 2, 3, 100] {
                let found = rewritten(text.as_bytes(), &dialect, step).unwrap();
                assert_eq!(String::from_utf8(found).unwrap(), expected, "{text:?} by {step}");
            }
        }
        let comments = Comments::Found { mark: b'#', alone: true, fields: Some(3) };
        let lines = Dialect { comments, ..Dialect::default() };
        for (text, expected) in [
            ("# x \"\n  #y\r\na#b,#c\n", "#\n  #\na#b,#c\n"),
            ("1,\"#\n#\",#\n", "1,\"#\n#\",#\n"),
            ("x\"#\n\"y\"#\n", "x\"#\n\"y\"#\n"),
        ] {
            for step in [1, 2, 3, 100] {
                let found = rewritten(text.as_bytes(), &lines, step).unwrap();
                assert_eq!(String::from_utf8(found).unwrap(), expected, "{text:?} by {step}");
            }
        }
        for text in ["a,b,c\n#1,2,3\n", "a,b,c\n #1,2,3\n#", "a,b,c\n#1,2,3"] {
            for step in [1, 2, 3, 100] {
                let error = rewritten(text.as_bytes(), &lines, step).unwrap_err().to_string();
                assert!(error.contains("'#1,2,3'"), "{error}");
            }
        }
        for text in ["a,b,c\n# 1,2,3\n", "#1,2\na,b,c\n", "1,#1,2,3\n"] {
            assert!(rewritten(text.as_bytes(), &lines, 2).is_ok(), "{text:?}");
        }
        let skip = Dialect { skip: 2, ..Dialect::default() };
        for (text, expected) in [("a\n\"\nb\nc\n", "b\nc\n"), ("a\n", ""), ("a\nb", ""), ("", "")] {
            for step in [1, 2, 100] {
                assert_eq!(rewritten(text.as_bytes(), &skip, step).unwrap(), expected.as_bytes());
            }
        }
    }

    #[test]
    fn character_encodings() {
        let of = |name: &str| Dialect { charset: Some(name.into()), ..Dialect::default() };
        let text = "Größe €,🦀\n".repeat(40_000);
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for step in [1, 2, 3, 1000, 1 << 20] {
            assert_eq!(rewritten(&wide, &of("utf-16"), step).unwrap(), text.as_bytes(), "{step}");
        }
        assert_eq!(rewritten(b"\xfe\xff\0a\0\xe4", &of("utf-16"), 1).unwrap(), "aä".as_bytes());
        assert_eq!(rewritten(b"5 \x80\xe4", &of("Latin-1"), 1).unwrap(), "5 €ä".as_bytes());
        for (bytes, name, at) in [
            (&b"a\0\0\xdcb\0"[..], "utf-16le", 2),
            (b"a\0b", "utf-16le", 2),
            (b"ab\x81", "shift_jis", 2),
            (b"a\xff\xff", "gbk", 1),
        ] {
            for step in [1, 100] {
                let error = rewritten(bytes, &of(name), step).unwrap_err().to_string();
                assert!(error.contains(&format!("byte {at}:")), "{name}: {error}");
            }
        }
        assert!(charset("utf-8").unwrap().is_none());
        assert!(charset("utf-17").is_err() && charset("replacement").is_err());
    }
}
