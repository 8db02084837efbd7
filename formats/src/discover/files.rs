//! Makes a table of files: finds their encoding and how it is read, on which they must agree.

use std::borrow::Cow;
use std::path::Path;

use arrow_schema::{Schema, SchemaRef};
use schema::{
    Comments, Dialect, FileEntry, FileSet, FormatOptions, RecordLayout, SheetChoice, Source, Table,
    TableEstimates,
};

use super::agreement::Opening;
use super::detect::{self, Detected, Named};
use super::layouts::Layouts;
use super::list::Found;
use super::{GivenSchema, OpenOptions, assemble, hive, styles};
use crate::compress::compression;
use crate::compress::head::first_bytes;
use crate::csv::style::Style;
use crate::csv::{comments, sniff};
use crate::error::{Error, Result};
use crate::format::Format;
use crate::jsonl;
use crate::parallel;
use crate::registry::format;
use crate::rows::quotes::Marks;
use crate::rows::rewrite::{charset, first_text, without_comments};
use crate::rows::samples;
use crate::rows::tagged::outer::LOOKED_AT;
use crate::store::input::Input;

/// The bytes of a csv file that are first looked at for its delimiter and header.
const SNIFF_BYTES: usize = 64 << 10;

/// Opens these files, in their order, as one table. `root` is the directory below which hive columns count.
pub fn open(
    location: &str,
    root: &Path,
    files: Vec<Found>,
    name: &str,
    options: &OpenOptions,
) -> Result<Table> {
    let mut files: Vec<FileEntry> = files.into_iter().map(FileEntry::from).collect();
    let detected = detect_all(location, &files, options)?;
    let given = options.schema.as_ref().map(|choice| choice.resolve(name, Path::new(location)));
    let given = given.transpose()?;
    let first = first_with_data(&files, &detected)?;
    let schema = given.as_ref().map(|given| given.schema.as_ref());
    let mut base = base_options(&files, &detected, first, schema, options)?;
    let given = given.map(|given| add_given(&mut base, given, location)).transpose()?;
    let encoding = format(&base.encoding)?;
    let opening = Opening { files: &files, detected: &detected, first, encoding, base: &base, options };
    let (schema, seen, unseen) = match given {
        Some(schema) => opening.with_schema(schema)?,
        None => opening.infer()?,
    };
    check_names(location, &schema)?;
    let file_columns = schema.fields().len();
    // This looks at the beginning of each compressed file.
    let cuts = parallel::each(files.len(), |i| encoding.cut(&files[i], &opening.options(i)))?;
    let mut rows = Some(0u64);
    let mut layouts = Layouts::beside(&base.compression);
    for (i, (file, seen)) in files.iter_mut().zip(seen).enumerate() {
        file.cut = cuts[i];
        file.rows = if is_empty(file)? { Some(0) } else { seen.rows };
        rows = rows.zip(file.rows).and_then(|(sum, n)| sum.checked_add(n));
        file.layout = layouts.of(&schema, &detected[i], seen.schema.as_deref());
    }
    let hive = if options.hive { hive::columns(root, &files)? } else { hive::Hive::default() };
    let layouts = layouts.all();
    let set = FileSet { files, format: base, file_columns, layouts, unseen };
    let (source, guesses) = (Source::Files(set), TableEstimates::default());
    let mut table = Table { name: name.to_string(), schema, source, rows, spans: vec![], guesses };
    assemble::add_hive_columns(&mut table, hive);
    if options.file_column {
        table = assemble::with_file_column(table)?;
    }
    Ok(table)
}

/// Adds to the options of reading what a schema says of records, and gives the schema.
///
/// # Errors
/// The schema is one of messages or structs, and the files hold none.
fn add_given(base: &mut FormatOptions, given: GivenSchema, location: &str) -> Result<SchemaRef> {
    let GivenSchema { schema, unsaid, record_layout } = given;
    let described = record_layout.as_deref().map(|layout| match layout {
        RecordLayout::Messages(_) => (
            ".proto",
            "protobuf",
            "--from protobuf reads files of other names as messages, each behind its length",
        ),
        RecordLayout::Structs(_) => (
            ".capnp",
            "capnproto",
            "--from capnproto reads files of other names, --from capnproto-packed packed ones",
        ),
    });
    let encoding = base.encoding.trim_end_matches("-packed");
    if let Some((file, of, from)) = described.filter(|(_, of, _)| *of != encoding) {
        let message = format!("the files are {}, and a {file} file is a schema of {of} alone", base.encoding);
        let help = format!("{from}; for other files write the schema as CREATE TABLE");
        return Err(Error::location(location, message, Some(help)));
    }
    base.record_layout = record_layout;
    if base.encoding == "protobuf" {
        base.unsaid = unsaid;
    }
    Ok(schema)
}

/// Whether a file has no bytes. The size of a pipe is not known, so that its first byte is read.
pub(super) fn is_empty(file: &FileEntry) -> Result<bool> {
    if file.bytes > 0 { Ok(false) } else { Input::of(file)?.is_empty() }
}

/// The first file that has data. A compressed file of some bytes may have none.
fn first_with_data(files: &[FileEntry], detected: &[Detected]) -> Result<Option<usize>> {
    for (i, (file, detected)) in files.iter().zip(detected).enumerate() {
        let plain = file.bytes > 0 && detected.compression == "none";
        let empty = match plain {
            true => is_empty(file)?,
            false => is_empty(file)? || first_bytes(file, detected.compression, 1)?.is_empty(),
        };
        if !empty {
            return Ok(Some(i));
        }
    }
    Ok(None)
}

/// Detects the encoding and compression of each file. The encoding must be the same for all.
fn detect_all(location: &str, files: &[FileEntry], options: &OpenOptions) -> Result<Vec<Detected>> {
    let mut looked = false;
    let mut before: Option<(&[u8], Named)> = None;
    let detected = files.iter().map(|file| {
        // Most files have the suffixes of the file before.
        let suffixes = detect::suffixes(&file.path);
        let known = before.filter(|(known, _)| *known == suffixes);
        let (_, named) = *before.insert(known.unwrap_or_else(|| (suffixes, detect::by_name(&file.path))));
        let detected = detect_one(file, named, &mut looked, options)?;
        let empty = is_empty(file)?;
        let empty = detected.as_ref().filter(|_| empty);
        let Some(Detected { encoding, compression, .. }) = empty else { return Ok(detected) };
        if *compression != "none" || format(encoding)?.compresses_inside() {
            let kind = if *compression != "none" { compression } else { encoding };
            let message = format!("the file is empty, and a {kind} file never is: it was cut short");
            return Err(Error::location(file.path.display(), message, None));
        }
        Ok(detected)
    });
    let detected = detected.collect::<Result<Vec<_>>>()?;
    let known = detected.iter().zip(files).filter_map(|(d, file)| Some((d.as_ref()?, file)));
    let Some((first, first_file)) = known.clone().next() else {
        let help = "name its encoding with --from".to_string();
        let message = "the file is empty, and its name does not tell its encoding";
        return Err(Error::location(files[0].path.display(), message, Some(help)));
    };
    if let Some((other, file)) = known.clone().find(|(d, _)| d.encoding != first.encoding) {
        let message = format!(
            "the files are in different encodings: {} is {}, {} is {}",
            first_file.path.display(),
            first.encoding,
            file.path.display(),
            other.encoding
        );
        let suffix = format(first.encoding)?.extensions().first().copied().unwrap_or(first.encoding);
        let help = format!("name those of one encoding with a glob, as in '*.{suffix}', or say --from");
        return Err(Error::location(location, message, Some(help)));
    }
    // Nothing tells the encoding of an empty file without a suffix. It gets the encoding of the others.
    let other = Detected { compression: "none", ..first.clone() };
    Ok(detected.into_iter().map(|d| d.unwrap_or_else(|| other.clone())).collect())
}

/// Detects the encoding and compression of a file. A name that tells the encoding is believed. Only the first file with
/// data, and a file whose name does not tell it, are looked into.
fn detect_one(
    file: &FileEntry,
    named: Named,
    looked: &mut bool,
    options: &OpenOptions,
) -> Result<Option<Detected>> {
    let encoding = match &options.encoding {
        Some(name) => Some(format(name)?.name()),
        None => named.encoding,
    };
    if !is_empty(file)? && (encoding.is_none() || !*looked) {
        *looked = true;
        let (encoding, compression) = (options.encoding.as_deref(), options.compression.as_deref());
        let named = options.dialect.charset.as_deref().map(charset).transpose()?;
        let has_charset = named.flatten().is_some();
        return Ok(Some(detect::by_content(file, encoding, compression, has_charset)?));
    }
    let compression = match &options.compression {
        Some(name) => compression(name)?.name(),
        None => named.compression.unwrap_or("none"),
    };
    Ok(encoding.map(|encoding| Detected { encoding, compression, delimiter: named.delimiter }))
}

/// The options by which every file is read, except for its compression. The first file with data tells them.
fn base_options(
    files: &[FileEntry],
    detected: &[Detected],
    first: Option<usize>,
    given: Option<&Schema>,
    options: &OpenOptions,
) -> Result<FormatOptions> {
    let (file, detected) = (&files[first.unwrap_or(0)], &detected[first.unwrap_or(0)]);
    let encoding = format(detected.encoding)?;
    let mut format = FormatOptions {
        encoding: detected.encoding.into(),
        compression: detected.compression.into(),
        quote: options.quote,
        on_error: options.on_bad_value(),
        rejects: options.rejects.clone(),
        max_record: options.max_record,
        ..FormatOptions::default()
    };
    if encoding.is_tagged() && first.is_some() {
        let head = first_bytes(file, detected.compression, LOOKED_AT)?;
        format.in_array = encoding.is_in_array(&head, head.len() < LOOKED_AT, given);
    }
    let mut dialect = dialect(encoding, options)?;
    format.set_dialect(&dialect);
    if encoding.is_json() {
        (format.inferred, format.open_keys) = (given.is_none(), given.is_none());
        if let Some(first) = first.filter(|_| dialect.json_path.is_none()) {
            dialect.json_path = rows_below(&files[first], &format, given)?;
            dialect.json_path_found = dialect.json_path.is_some();
            format.set_dialect(&dialect);
        }
    }
    if !encoding.is_delimited() {
        return Ok(format);
    }
    Style::new(&format)?;
    let delimiter = options.delimiter.or(detected.delimiter);
    let mut head = match first {
        Some(_) => csv_head(file, &mut format, delimiter)?,
        None => Vec::new(),
    };
    if given.is_none()
        && let Some(found) = besides_records(&head, delimiter, &format, &dialect, options.header)
    {
        (dialect.skip, dialect.comments) = (found.skip, found.comments);
        format.set_dialect(&dialect);
        head = csv_head(file, &mut format, Some(found.delimiter))?;
    }
    check_marks(&format)?;
    if sniff::has_lone_returns(&head, Marks { delimiter: format.delimiter, quote: format.quote }) {
        let message = "its lines end in carriage returns alone, and only newlines end a line";
        let help = "make newlines of them: tr '\\r' '\\n' < FILE".to_string();
        return Err(Error::location(file.path.display(), message, Some(help)));
    }
    format.inferred = given.is_none();
    format.header = match options.header {
        Some(header) => header,
        None => has_header(&file.path, &head, &format, given)?,
    };
    if given.is_none() && first.is_some() {
        let mut records = sniff::records(&head, format.delimiter, format.quote, usize::MAX);
        records.drain(..usize::from(format.header).min(records.len()));
        for lines in samples::lines(file, &format) {
            records.extend(sniff::records(&lines, format.delimiter, format.quote, usize::MAX));
        }
        styles::find(&records, format.delimiter, &mut dialect);
        format.set_dialect(&dialect);
    }
    Ok(format)
}

/// What stands in a csv file besides its records, and the delimiter of these.
struct Besides {
    skip: u64,
    comments: Comments,
    delimiter: u8,
}

/// Finds what stands in a csv file besides its records, as far as the options don't say it: lines before the header, or
/// comments. Where either would do, the lines are passed over, because a later value may begin as a comment does.
fn besides_records(
    head: &[u8],
    delimiter: Option<u8>,
    format: &FormatOptions,
    dialect: &Dialect,
    header: Option<bool>,
) -> Option<Besides> {
    // Records that may be short tell nothing by their number of fields.
    if dialect.comments.mark().is_some() || dialect.null_padding {
        return None;
    }
    let may_have_preamble = dialect.skip == 0 && header != Some(false);
    let preamble = may_have_preamble
        .then(|| sniff::preamble(head, delimiter, format.quote))
        .flatten()
        .map(|(skip, delimiter)| Besides { skip, comments: dialect.comments, delimiter });
    // What escapes decides which quotes end, and a comment may have any. Or it was said that there are no comments.
    if dialect.escape.is_some() || dialect.comments == Comments::None {
        return preamble;
    }
    let mut head = Cow::Borrowed(head);
    if head.len() < SNIFF_BYTES && !head.ends_with(b"\n") {
        // The file ends here, so that its last record is whole.
        head.to_mut().push(b'\n');
    }
    match comments::find(&head, delimiter, format.quote) {
        Some(found) if preamble.is_none() || found.between => Some(Besides {
            skip: dialect.skip,
            comments: Comments::Found { mark: comments::MARK, alone: found.alone, fields: found.fields },
            delimiter: found.delimiter,
        }),
        _ => preamble,
    }
}

/// Refuses a character that would mean two things.
fn check_marks(format: &FormatOptions) -> Result<()> {
    let marks = [("delimiter", format.delimiter), ("quote", format.quote)];
    for (option, mark) in [("escape", format.escape()), ("comment", format.comment())] {
        if let Some((other, _)) = marks.iter().find(|(_, other)| Some(*other) == mark) {
            let message =
                format!("{option} and {other} are the same character\n  help: say another one for {option}");
            return Err(Error::Unsupported(message));
        }
    }
    Ok(())
}

/// The path to the rows of a JSON file, if it is one object that holds an array of objects. A name like `x.jsonl` says
/// that the object is a row, and so does a schema with a column of the array's name.
///
/// # Errors
/// Several keys of the object hold arrays of objects.
fn rows_below(file: &FileEntry, format: &FormatOptions, given: Option<&Schema>) -> Result<Option<String>> {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if name.split('.').skip(1).any(|suffix| matches!(suffix, "jsonl" | "ndjson")) {
        return Ok(None);
    }
    let keys = jsonl::layout::keys_of_rows(file, format)?;
    if given.is_some_and(|given| keys.iter().any(|key| given.field_with_name(key).is_ok())) {
        return Ok(None);
    }
    match keys.as_slice() {
        [] => Ok(None),
        [key] => Ok(Some(jsonl::path::of_key(key))),
        [first, ..] => {
            let some: Vec<String> = keys.iter().take(5).map(|key| format!("'{key}'")).collect();
            let more = if keys.len() > some.len() { " and more" } else { "" };
            let message = format!(
                "its object holds arrays of objects below the keys {}{more}, and one of them has the rows",
                some.join(", ")
            );
            let help = format!(
                "say which: --json-path {}; --json-path $ makes a row of the object",
                jsonl::path::in_shell(&jsonl::path::of_key(first))
            );
            Err(Error::location(file.path.display(), message, Some(help)))
        }
    }
}

/// How the text of files of an encoding is written, as far as the options say it: other texts than csv have a character
/// encoding, and JSON a path, and nothing else.
///
/// # Errors
/// There is no such character encoding.
fn dialect(encoding: &dyn Format, options: &OpenOptions) -> Result<Dialect> {
    let named = options.dialect.charset.as_deref().map(charset).transpose()?.flatten();
    let charset = named.map(|charset| charset.name().to_string());
    if encoding.is_delimited() {
        // A quote that is doubled escapes itself.
        let escape = options.dialect.escape.filter(|escape| *escape != options.quote);
        let sheet = SheetChoice::default();
        return Ok(Dialect { charset, escape, json_path: None, sheet, ..options.dialect.as_ref().clone() });
    }
    let charset = charset.filter(|_| encoding.is_text());
    if encoding.is_json() {
        let Dialect { json_path, json_path_found, .. } = options.dialect.as_ref().clone();
        return Ok(Dialect { charset, json_path, json_path_found, ..Dialect::default() });
    }
    if encoding.is_sheet() {
        let sheet = SheetChoice { header: options.header, ..options.dialect.sheet.clone() };
        return Ok(Dialect { sheet, ..Dialect::default() });
    }
    Ok(Dialect { charset, ..Dialect::default() })
}

/// The beginning of a csv file, without its comments. It is so long that the first record is whole and another one
/// follows. The first record may have the names of very many columns. The delimiter is detected if it is not given.
pub(super) fn csv_head(
    file: &FileEntry,
    format: &mut FormatOptions,
    delimiter: Option<u8>,
) -> Result<Vec<u8>> {
    let mut most = SNIFF_BYTES;
    format.delimiter = delimiter.unwrap_or(format.delimiter);
    let mut head = first_text(file, format, most)?;
    if delimiter.is_none() && format.escape().is_some() {
        // What escapes stands within quotes, and the delimiter tells which of these open.
        for &tried in sniff::DELIMITERS {
            format.delimiter = tried;
            head = first_text(file, format, most)?;
            if sniff::is_even(&without_comments(&head, format.comment()), tried, format.quote) {
                break;
            }
        }
    } else if delimiter.is_none() {
        let records = without_comments(&head, format.comment());
        let found = match format.pads() {
            true => sniff::widest(&records, format.quote),
            false => sniff::delimiter(&records, format.quote),
        };
        if found != format.delimiter {
            // Which quotes open, and so which comments begin, is told by the delimiter.
            format.delimiter = found;
            head = first_text(file, format, most)?;
        }
    }
    let marks = Marks { delimiter: format.delimiter, quote: format.quote };
    // A record that is longer than the limit can't be read anyway.
    while head.len() == most
        && most <= format.max_record
        && !sniff::has_records(&without_comments(&head, format.comment()), marks)
    {
        most = most.saturating_mul(4);
        head = first_text(file, format, most)?;
    }
    Ok(without_comments(&head, format.comment()).into_owned())
}

/// Whether a csv file that begins with `head` has a header.
pub(super) fn has_header(
    path: &Path,
    head: &[u8],
    format: &FormatOptions,
    given: Option<&Schema>,
) -> Result<bool> {
    // The first record may have names. Without a schema, the other records tell whether it has.
    let most = if given.is_some() { 1 } else { sniff::RECORDS };
    let records = sniff::records(head, format.delimiter, format.quote, most);
    sniff::header(&records, given)
        .map_err(|message| Error::location(path.display(), message, Some(sniff::IN_ORDER.into())))
}

/// Refuses a table without columns, and a table with two columns of one name.
fn check_names(location: &str, schema: &Schema) -> Result<()> {
    if schema.fields().is_empty() {
        let message = "there are no columns in it";
        let help = "give the schema with --schema NAME=FILE".to_string();
        return Err(Error::location(location, message, Some(help)));
    }
    let mut names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let message = format!("two columns are called '{}'", pair[0]);
        let help = "give other names with --schema NAME=FILE; palais schema prints such a file".to_string();
        return Err(Error::location(location, message, Some(help)));
    }
    Ok(())
}
