//! The forms of results, by their names and by the suffixes of files.

use std::path::Path;

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
    /// Parquet.
    Parquet,
    /// Arrow IPC.
    Arrow,
    /// buren, the column format of palais.
    Buren,
    /// bincode, version 1.
    Bincode,
    /// MessagePack.
    Msgpack,
    /// CBOR.
    Cbor,
    /// Protocol Buffers.
    Protobuf,
    /// Cap'n Proto.
    Capnproto,
    /// Cap'n Proto, packed.
    CapnprotoPacked,
}

impl ResultFormat {
    /// All forms, with their names and what each is.
    pub const ALL: [(ResultFormat, &str, &str); 15] = [
        (ResultFormat::Table, "table", "A table in a frame"),
        (ResultFormat::Csv, "csv", "Comma-separated values with a header (RFC 4180)"),
        (ResultFormat::Tsv, "tsv", "The same with tabs"),
        (ResultFormat::Json, "json", "One array of objects"),
        (ResultFormat::Jsonl, "jsonl", "One object a line"),
        (ResultFormat::Markdown, "markdown", "A table in markdown"),
        (ResultFormat::Parquet, "parquet", "Parquet"),
        (ResultFormat::Arrow, "arrow", "Arrow IPC"),
        (ResultFormat::Buren, "buren", "buren, the column format of palais"),
        (ResultFormat::Bincode, "bincode", "bincode, version 1"),
        (ResultFormat::Msgpack, "msgpack", "MessagePack"),
        (ResultFormat::Cbor, "cbor", "CBOR"),
        (ResultFormat::Protobuf, "protobuf", "Protocol Buffers"),
        (ResultFormat::Capnproto, "capnproto", "Cap'n Proto"),
        (ResultFormat::CapnprotoPacked, "capnproto-packed", "Cap'n Proto, packed"),
    ];

    /// Other names of forms.
    pub const ALIASES: [(&str, ResultFormat); 6] = [
        ("ndjson", ResultFormat::Jsonl),
        ("md", ResultFormat::Markdown),
        ("pq", ResultFormat::Parquet),
        ("ipc", ResultFormat::Arrow),
        ("feather", ResultFormat::Arrow),
        ("pb", ResultFormat::Protobuf),
    ];

    /// The form of this name, in capitals or not.
    pub fn named(name: &str) -> Option<ResultFormat> {
        let names = ResultFormat::ALL.into_iter().map(|(format, known, _)| (known, format));
        let mut all = names.chain(ResultFormat::ALIASES);
        all.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, format)| format)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let of_self = ResultFormat::ALL.into_iter().find(|(format, ..)| *format == self);
        of_self.map_or("", |(_, name, _)| name)
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
        assert_eq!(of("a.parquet"), Some(ResultFormat::Parquet));
        assert_eq!(of("a.capnproto-packed.zst"), Some(ResultFormat::CapnprotoPacked));
        assert_eq!(of("a.xlsx"), None);
    }

    #[test]
    fn each_form_has_its_name() {
        for (format, name, _) in ResultFormat::ALL {
            assert_eq!((ResultFormat::named(name), format.name()), (Some(format), name));
        }
        assert_eq!(ResultFormat::named("CSV"), Some(ResultFormat::Csv));
        assert_eq!(ResultFormat::named("ndjson"), Some(ResultFormat::Jsonl));
        assert_eq!(ResultFormat::named("xls"), None);
    }
}
