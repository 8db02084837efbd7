//! The forms of results, by their names and by the suffixes of files.

use std::path::Path;

use formats::format::Format;
use formats::registry::written;

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFormat {
    /// A table in a frame.
    Table,
    /// Comma-separated values with a header (RFC 4180).
    Csv,
    /// The same with tabs.
    Tsv,
    /// One array of objects.
    Json,
    /// One object a line.
    Jsonl,
    /// A table in markdown.
    Markdown,
    /// The encoding of this name, which is no text.
    Binary(&'static str),
}

/// The forms that are text, with a description.
const TEXTS: [(ResultFormat, &str); 6] = [
    (ResultFormat::Table, "A table in a frame"),
    (ResultFormat::Csv, "Comma-separated values with a header (RFC 4180)"),
    (ResultFormat::Tsv, "The same with tabs"),
    (ResultFormat::Json, "One array of objects"),
    (ResultFormat::Jsonl, "One object a line"),
    (ResultFormat::Markdown, "A table in markdown"),
];

/// The encodings that are no text. Each is a form of results.
fn binaries() -> impl Iterator<Item = &'static dyn Format> {
    written().filter(|format| !format.is_text())
}

impl ResultFormat {
    /// All forms, with a description.
    pub fn all() -> Vec<(ResultFormat, &'static str)> {
        let binaries = binaries().map(|format| (ResultFormat::Binary(format.name()), format.title()));
        TEXTS.into_iter().chain(binaries).collect()
    }

    /// Other names of the form.
    pub fn aliases(self) -> Vec<&'static str> {
        match self {
            ResultFormat::Jsonl => vec!["ndjson"],
            ResultFormat::Markdown => vec!["md"],
            ResultFormat::Binary(name) => {
                let extensions = binaries().find(|f| f.name() == name).map_or(&[][..], Format::extensions);
                extensions.iter().copied().filter(|extension| *extension != name).collect()
            }
            ResultFormat::Table | ResultFormat::Csv | ResultFormat::Tsv | ResultFormat::Json => vec![],
        }
    }

    /// The form of this name, in capitals or not.
    pub fn named(name: &str) -> Option<ResultFormat> {
        let is_it = |format: &ResultFormat| {
            let mut names = format.aliases().into_iter().chain([format.name()]);
            names.any(|known| known.eq_ignore_ascii_case(name))
        };
        ResultFormat::all().into_iter().map(|(format, _)| format).find(is_it)
    }

    /// The name of the form.
    pub fn name(self) -> &'static str {
        match self {
            ResultFormat::Table => "table",
            ResultFormat::Csv => "csv",
            ResultFormat::Tsv => "tsv",
            ResultFormat::Json => "json",
            ResultFormat::Jsonl => "jsonl",
            ResultFormat::Markdown => "markdown",
            ResultFormat::Binary(name) => name,
        }
    }

    /// The form that the suffix of a file's name asks for (`out.csv.gz`, `out.md`).
    pub fn by_suffix(path: &Path) -> Option<ResultFormat> {
        let suffix = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match suffix.as_str() {
            "json" => return Some(ResultFormat::Json),
            "md" | "markdown" => return Some(ResultFormat::Markdown),
            _ => {}
        }
        let named = formats::discover::by_name(path);
        match (named.encoding?, named.delimiter) {
            ("csv", Some(b'\t')) => Some(ResultFormat::Tsv),
            ("csv", Some(_)) => None,
            (encoding, _) => ResultFormat::named(encoding),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_tells_the_form() {
        let of = |name: &str| ResultFormat::by_suffix(Path::new(name));
        assert_eq!(of("a.csv.gz"), Some(ResultFormat::Csv));
        assert_eq!(of("a.tsv"), Some(ResultFormat::Tsv));
        assert_eq!(of("a.json"), Some(ResultFormat::Json));
        assert_eq!(of("a.jsonl.zst"), Some(ResultFormat::Jsonl));
        assert_eq!(of("A.MD"), Some(ResultFormat::Markdown));
        assert_eq!(of("a.parquet"), Some(ResultFormat::Binary("parquet")));
        assert_eq!(of("a.capnproto-packed.zst"), Some(ResultFormat::Binary("capnproto-packed")));
        assert_eq!(of("a.xlsx"), None);
    }

    #[test]
    fn each_form_has_its_names_alone() {
        let all = ResultFormat::all();
        for (format, _) in &all {
            assert_eq!(ResultFormat::named(format.name()), Some(*format));
            for alias in format.aliases() {
                assert_eq!(ResultFormat::named(alias), Some(*format), "{alias}");
            }
        }
        // Every encoding can be printed in but text, of which a table with one column is.
        let encodings = written().map(|format| format.name()).filter(|name| *name != "text");
        encodings.for_each(|name| assert!(ResultFormat::named(name).is_some(), "{name}"));
        assert_eq!(ResultFormat::named("CSV"), Some(ResultFormat::Csv));
        assert_eq!(ResultFormat::named("pq"), Some(ResultFormat::Binary("parquet")));
        assert_eq!(ResultFormat::named("xls"), None);
    }
}
