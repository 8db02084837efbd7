//! The `_manifest.json` of a dataset, a directory of part files.
//!
//! It is a JSON object:
//!
//! | key | value |
//! |---|---|
//! | `version` | 1 |
//! | `table` | the table's name, or null |
//! | `schema` | the columns in Arrow's JSON form, see [`crate::text::json`] |
//! | `format` | [`FormatOptions`] |
//! | `files` | a list in the order of rows: `name`, `rows`, `bytes`, `crc32` of all bytes, and `blocks` |
//!
//! `blocks` is a list of `[offset, rows, raw, crc32]`: at this byte of the file begins a block of so many rows. It can
//! be read without what lies before it. What the block holds has `raw` bytes before compression. Its checksum is that
//! of the file's bytes from here to the next block or, for the last one, to the end. That of the first one begins with
//! the file, and so does its raw size, where something (a csv header) lies before it. So the blocks cover the file. The
//! list may be empty. Pairs `[offset, rows]`, which were written before, tell how many rows there are and no more.
//!
//! In a directory here the manifest is written after all files, and in a store before them. A file that it lists and
//! that is missing is an error for the reader of the dataset. So half of one is never taken for the whole.

use std::collections::HashSet;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use crate::FormatOptions;

/// The file's name in the directory.
pub const FILE_NAME: &str = "_manifest.json";

/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// A larger manifest is refused rather than read into memory; its blocks would describe some 50 TB.
const MAX_BYTES: u64 = 1 << 30;

/// What is wrong with a manifest.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The system refused an operation on the file.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The manifest.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not the JSON of a manifest.
    #[error("{}: this is not a manifest: {source}; make the dataset again, or remove the file to read the directory without it", path.display())]
    Json {
        /// The manifest.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The schema has a type that a manifest has no name for.
    #[error("{}: cannot write the manifest: {source}; cast the column to another type", path.display())]
    Unwritable {
        /// The manifest.
        path: PathBuf,
        /// Which column and type.
        source: serde_json::Error,
    },
    /// The file was written by another version of palais.
    #[error("{}: the manifest has version {found}, this palais reads version {VERSION}; make the dataset again", path.display())]
    Version {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// The values contradict one another.
    #[error("{}: {message}; make the dataset again, or remove the file to read the directory without it", path.display())]
    Invalid {
        /// The manifest.
        path: PathBuf,
        /// What can't be.
        message: String,
    },
}

/// What a dataset holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`VERSION`].
    pub version: u32,
    /// The table's name, if it has one.
    pub table: Option<String>,
    /// The columns of every file.
    #[serde(with = "schema_as_json")]
    pub schema: SchemaRef,
    /// How the files are to be read.
    pub format: FormatOptions,
    /// The files in the order of the table's rows.
    pub files: Vec<PartFile>,
}

/// One file of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartFile {
    /// Its name in the directory of the manifest.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The CRC-32 (IEEE) of its bytes.
    pub crc32: u32,
    /// Where blocks begin, in the order of the file; may be empty.
    pub blocks: Vec<BlockStart>,
}

/// Where a block begins: a list of four numbers in JSON, or of the first two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct BlockStart {
    /// The offset in the file, compressed as it is.
    pub offset: u64,
    /// The rows of the block.
    pub rows: u64,
    /// What else is known of it.
    pub content: Option<BlockChecksum>,
}

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockChecksum {
    /// The bytes before compression; those before the first block count to it.
    pub raw: u64,
    /// The CRC-32 (IEEE) of the file's bytes up to the next block or the end; the first block's from byte 0 on.
    pub crc32: u32,
}

impl TryFrom<Vec<u64>> for BlockStart {
    type Error = &'static str;

    fn try_from(listed: Vec<u64>) -> Result<Self, Self::Error> {
        let (offset, rows, content) = match *listed {
            [offset, rows] => (offset, rows, None),
            [offset, rows, raw, crc32] => {
                let crc32 = u32::try_from(crc32).map_err(|_| "the CRC-32 of a block has 32 bits")?;
                (offset, rows, Some(BlockChecksum { raw, crc32 }))
            }
            _ => return Err("a block is a list of two or four numbers"),
        };
        Ok(BlockStart { offset, rows, content })
    }
}

impl From<BlockStart> for Vec<u64> {
    fn from(block: BlockStart) -> Self {
        match block.content {
            Some(BlockChecksum { raw, crc32 }) => vec![block.offset, block.rows, raw, crc32.into()],
            None => vec![block.offset, block.rows],
        }
    }
}

impl Manifest {
    /// A manifest of files that were written.
    pub fn new(
        table: Option<String>,
        schema: SchemaRef,
        format: FormatOptions,
        files: Vec<PartFile>,
    ) -> Manifest {
        Manifest { version: VERSION, table, schema, format, files }
    }

    /// The rows of all files.
    pub fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }

    /// The manifest of a directory, or nothing if it has none.
    pub fn read(directory: &Path) -> Result<Option<Manifest>, ManifestError> {
        Manifest::read_with(directory, |path| File::open(path))
    }

    /// The manifest of a directory, which `open` opens, or nothing if it has none.
    pub fn read_with<R: Read>(
        directory: &Path,
        open: impl FnOnce(&Path) -> std::io::Result<R>,
    ) -> Result<Option<Manifest>, ManifestError> {
        let path = directory.join(FILE_NAME);
        let io = |action, source| ManifestError::Io { path: path.clone(), action, source };
        let file = match open(&path) {
            Ok(file) => file,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(e) => return Err(io("open", e)),
        };
        let mut text = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(|e| io("read", e))?;
        if text.len() as u64 > MAX_BYTES {
            let message = format!("a manifest has at most {MAX_BYTES} bytes");
            return Err(ManifestError::Invalid { path, message });
        }
        Manifest::parse(&text, &path).map(Some)
    }

    /// The manifest that these bytes are; `path` is for errors.
    pub fn parse(text: &[u8], path: &Path) -> Result<Manifest, ManifestError> {
        /// Read first: another version may differ in everything else.
        #[derive(Deserialize)]
        struct Version {
            version: u64,
        }
        let json = |source| ManifestError::Json { path: path.into(), source };
        let Version { version } = serde_json::from_slice(text).map_err(json)?;
        if version != VERSION as u64 {
            return Err(ManifestError::Version { path: path.into(), found: version });
        }
        let manifest: Manifest = serde_json::from_slice(text).map_err(json)?;
        match manifest.contradiction() {
            None => Ok(manifest),
            Some(message) => Err(ManifestError::Invalid { path: path.into(), message }),
        }
    }

    /// The bytes of the manifest; `path` is for errors. To be tried before files are written, with an empty list of
    /// files: there are types that a schema in a manifest can't have.
    pub fn print(&self, path: &Path) -> Result<Vec<u8>, ManifestError> {
        if let Some(message) = self.contradiction() {
            return Err(ManifestError::Invalid { path: path.into(), message });
        }
        let mut text = serde_json::to_vec(self)
            .map_err(|source| ManifestError::Unwritable { path: path.into(), source })?;
        text.push(b'\n');
        Ok(text)
    }

    /// Writes the manifest of a directory: to a temporary file, synced, renamed. A manifest that is there is replaced.
    pub fn write(&self, directory: &Path) -> Result<(), ManifestError> {
        let path = directory.join(FILE_NAME);
        let io = |action| {
            let path = path.clone();
            move |source| ManifestError::Io { path, action, source }
        };
        let text = self.print(&path)?;
        let aside = directory.join(format!(".{FILE_NAME}.partial-{}", std::process::id()));
        // Nothing is waited for, nor followed, that lies there already.
        let written = File::create_new(&aside).map_err(io("create")).and_then(|mut file| {
            file.write_all(&text).map_err(io("write"))?;
            file.sync_all().map_err(io("sync"))?;
            std::fs::rename(&aside, &path).map_err(io("rename"))?;
            let directory = File::open(directory).map_err(io("open the directory of"))?;
            directory.sync_all().map_err(io("sync the directory of"))
        });
        if written.is_err() {
            // What failed is reported; that the remains can't be removed either adds nothing.
            let _ = std::fs::remove_file(&aside);
        }
        written
    }

    /// What in this manifest can't be true, whoever wrote it.
    fn contradiction(&self) -> Option<String> {
        let mut names = HashSet::new();
        let mut total = 0u64;
        for file in &self.files {
            let name = &file.name;
            let mut parts = Path::new(name).components();
            if !matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name.as_str())
                || name.contains('\0')
            {
                return Some(format!("'{name}' is not the name of a file of the directory"));
            }
            if !names.insert(name) {
                return Some(format!("file '{name}' is listed twice"));
            }
            match total.checked_add(file.rows) {
                Some(sum) => total = sum,
                None => return Some("the files have more rows than can be counted".into()),
            }
            if !file.blocks.windows(2).all(|pair| pair[0].offset < pair[1].offset)
                || file.blocks.last().is_some_and(|last| last.offset >= file.bytes)
            {
                return Some(format!(
                    "the blocks of file '{name}' do not ascend inside of its {} bytes",
                    file.bytes
                ));
            }
            let rows = file.blocks.iter().try_fold(0u64, |sum, block| sum.checked_add(block.rows));
            if !file.blocks.is_empty() && rows != Some(file.rows) {
                return Some(format!("the blocks of file '{name}' do not have its {} rows", file.rows));
            }
        }
        None
    }
}

/// A schema as a value of JSON, in the form that does not change with a version of arrow-rs.
mod schema_as_json {
    use std::sync::Arc;

    use arrow_schema::SchemaRef;
    use serde::de::{Deserialize, Deserializer, Error as _};
    use serde::ser::{Error as _, Serialize, Serializer};
    use serde_json::Value;

    use crate::text::json;

    pub fn serialize<S: Serializer>(schema: &SchemaRef, serializer: S) -> Result<S::Ok, S::Error> {
        let text = json::print(schema).map_err(S::Error::custom)?;
        serde_json::from_str::<Value>(&text).map_err(S::Error::custom)?.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SchemaRef, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Arc::new(json::parse(&value.to_string()).map_err(D::Error::custom)?))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{DataType, Field, Schema};
    use serde_json::{Value, json};

    use super::*;

    fn example() -> Manifest {
        let schema = Schema::new(vec![
            Field::new("when", DataType::Date32, false),
            Field::new("text, with \"quotes\" é", DataType::Utf8View, true),
            Field::new("sum", DataType::Decimal128(38, 10), true),
        ]);
        let file = |name: &str, rows, blocks: &[(u64, u64)]| PartFile {
            name: name.into(),
            rows,
            bytes: 1_000,
            crc32: u32::MAX,
            blocks: blocks
                .iter()
                .map(|&(offset, rows)| BlockStart {
                    offset,
                    rows,
                    content: (offset > 0).then_some(BlockChecksum { raw: 4_000, crc32: 7 }),
                })
                .collect(),
        };
        let files =
            vec![file("part-00000.csv.gz", 30, &[(0, 20), (500, 10)]), file("part-00001.csv.gz", 0, &[])];
        Manifest::new(Some("uservisits".into()), Arc::new(schema), FormatOptions::default(), files)
    }

    #[test]
    fn what_is_written_is_read() {
        let directory = tempdir();
        assert!(Manifest::read(&directory).unwrap().is_none());
        assert!(Manifest::read(&directory.join("missing")).unwrap().is_none());
        example().write(&directory).unwrap();
        example().write(&directory).unwrap();
        assert_eq!(Manifest::read(&directory).unwrap(), Some(example()));
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "nothing is left beside it");
        std::fs::remove_dir_all(&directory).unwrap();
    }

    /// A new directory; this package needs no other temporary files that would pay for a dependency.
    fn tempdir() -> PathBuf {
        let path = std::env::temp_dir().join(format!("palais-manifest-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn every_prefix_is_an_error() {
        let text = serde_json::to_vec(&example()).unwrap();
        for end in 0..text.len() {
            assert!(Manifest::parse(&text[..end], Path::new("m")).is_err());
        }
    }

    #[test]
    fn contradictions_are_errors_that_say_what() {
        let refused = |change: &dyn Fn(&mut Value)| {
            let mut json = serde_json::to_value(example()).unwrap();
            change(&mut json);
            Manifest::parse(json.to_string().as_bytes(), Path::new("dir/_manifest.json"))
                .unwrap_err()
                .to_string()
        };
        for name in ["../x", "/etc/passwd", "", ".", "..", "a/b", "a/", "./a", "a\0b"] {
            let error = refused(&|json| json["files"][0]["name"] = name.into());
            assert!(error.contains("not the name of a file"), "{name}: {error}");
        }
        let twice = refused(&|json| json["files"][1]["name"] = json["files"][0]["name"].clone());
        assert!(twice.contains("listed twice") && twice.contains("dir/_manifest.json"));
        let many = refused(&|json| json["files"][1]["rows"] = json!(u64::MAX));
        assert!(many.contains("counted"), "{many}");
        for blocks in [json!([[0, 20], [0, 10]]), json!([[0, 30], [1_000, 0]])] {
            assert!(refused(&|json| json["files"][0]["blocks"] = blocks.clone()).contains("do not ascend"));
        }
        for blocks in [json!([[0, 20], [5, 11]]), json!([[0, u64::MAX], [5, 31]])] {
            assert!(refused(&|json| json["files"][0]["blocks"] = blocks.clone()).contains("30 rows"));
        }
        assert!(refused(&|json| json["version"] = 2.into()).contains("version 2"));
        assert!(refused(&|json| json["files"] = 2.into()).contains("not a manifest"));
        let decimal = refused(&|json| json["schema"]["fields"][2]["type"]["precision"] = 200.into());
        assert!(decimal.contains("fields[2].type.precision"), "{decimal}");
    }

    #[test]
    fn a_manifest_of_the_first_version_is_read() {
        let text = r#"{"version":1,"table":"t","schema":{"fields":[{"children":[],"name":"a","nullable":false,
            "type":{"bitWidth":32,"isSigned":true,"name":"int"}}]},"format":{"encoding":"csv","compression":"none",
            "delimiter":44,"quote":34,"header":false,"on_error":"fail","max_record":67108864},
            "files":[{"name":"part-00000.csv","rows":2,"bytes":4,"crc32":7,"blocks":[[0,2,4,7]]}]}"#;
        let read = Manifest::parse(text.as_bytes(), Path::new("m")).unwrap();
        assert_eq!((read.format, read.files[0].rows), (FormatOptions::default(), 2));
    }
}
