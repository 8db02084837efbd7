//! Tests of values within messages: any other bytes are an error, or a value that can be sent on.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use engine::writing::dataset::{Begun, Parts};
use formats::discover::{OpenOptions, SchemaChoice};
use schema::bdb::{Kind, Sizes};
use schema::manifest::PartFile;
use schema::{
    ColumnEstimate, DeferredValidation, FileEntry, FileSet, FormatOptions, Source, Table, TableEstimates,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use session::{Conversion, Sources};

use crate::decode::decode;
use crate::leader::Request;
use crate::making::files::{Job, Of};
use crate::making::{GeneratedTable, Generation, Task};
use crate::query::{Asking, Look, Query};

/// Pseudorandom numbers that are always the same (xorshift64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    /// Changes some bytes, cuts the end off, or puts bytes in between.
    fn change(&mut self, whole: &[u8]) -> Vec<u8> {
        let mut bytes = whole.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(6) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at.min(bytes.len()), self.below(256) as u8),
                2 => {
                    // A length, or a number.
                    let number = [0, 1, 0xff, 1 << 31, u64::MAX >> 1, u64::MAX][self.below(6)];
                    let end = bytes.len().min(at + 8);
                    bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
                }
                _ if bytes.is_empty() => {}
                _ => bytes[at] = self.below(256) as u8,
            }
        }
        bytes
    }
}

/// Reads changed bytes of a value, and sends on what could be read.
fn check<T: Serialize + DeserializeOwned>(of: &T) {
    let whole = bincode::serialize(of).unwrap();
    assert_eq!(bincode::serialize(&decode::<T>(&whole).unwrap()).unwrap(), whole);
    let (mut chance, mut read) = (Chance(0x2545_f491_4f6c_dd1d), 0);
    for _ in 0..3000 {
        let Ok(other) = decode::<T>(&chance.change(&whole)) else { continue };
        let told = bincode::serialize(&other).unwrap();
        let again = decode::<T>(&told).unwrap();
        assert_eq!(bincode::serialize(&again).unwrap(), told);
        read += 1;
    }
    assert!(read > 0, "nothing else is read");
}

fn table() -> Table {
    let set = FileSet {
        files: vec![FileEntry::new("a/x.csv", 5, 7), FileEntry::new("a/y.csv", 9, 7)],
        format: FormatOptions::default(),
        file_columns: 2,
        layouts: vec![],
        unseen: DeferredValidation::Nothing,
    };
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
    let guess = ColumnEstimate { values: Some(2), is_counted: true, span: Some((1.0, 7.5)) };
    let fields = vec![Field::new("a", DataType::Utf8View, true), Field::new("b", list, false)];
    Table {
        name: "t".into(),
        schema: Arc::new(Schema::new(fields)),
        source: Source::Files(set),
        rows: None,
        spans: vec![],
        guesses: TableEstimates { rows: Some(3), columns: vec![guess; 2] },
    }
}

fn sources() -> Sources {
    Sources {
        directory: Some("d".into()),
        tables: vec![("t".into(), "a/*.csv".into())],
        schemas: vec![("t".into(), SchemaChoice::Bdb), ("u".into(), SchemaChoice::File("u.sql".into()))],
        open: OpenOptions { delimiter: Some(b';'), ..OpenOptions::default() },
    }
}

#[test]
fn what_is_asked_of_processes() {
    check(&Query {
        statement: "SELECT a FROM t".into(),
        is_summary: false,
        tables: vec![table()],
        planning: queries::Settings::default(),
        workers: 2,
        read_ahead: 3,
        memory_limit: Some(1 << 30),
        overwrite: true,
    });
    check(&Look::Tables(sources(), vec!["t".into()]));
    check(&Look::Names(sources()));
    check(&Look::Source(sources(), "a/*.csv".into()));
    check(&Job {
        of: Of::Table(table().into()),
        path: "out".into(),
        format: FormatOptions::default(),
        overwrite: false,
        verify: true,
        workers: 2,
    });
}

#[test]
fn what_processes_write_together() {
    // Its fields are private.
    let begun = bincode::serialize(&(PathBuf::from("/data/.out.partial-7"), 2_usize)).unwrap();
    check(&decode::<Begun>(&begun).unwrap());
    let part = PartFile { name: "part-0.csv".into(), rows: 1, bytes: 2, crc32: 3, blocks: vec![] };
    let parts: Parts = vec![(0, part)];
    check(&parts);
}

#[test]
fn what_callers_ask_nodes_for() {
    check(&Request::Rows(Asking {
        statement: "SELECT 1".into(),
        sources: sources(),
        workers: Some(1),
        memory_limit: None,
        broadcast_bytes: 7,
        integer_division: true,
        time_zone: "Europe/Berlin".into(),
        allow_scripts: false,
        read_ahead: 4,
        overwrite: false,
        retries: 1,
        local_parts: true,
    }));
    let conversion = Conversion {
        source: "a/*.csv".into(),
        sources: sources(),
        destination: "out".into(),
        to: Some("parquet".into()),
        compression: None,
        overwrite: false,
        header: true,
        arrays: false,
        verify: true,
    };
    check(&Request::Files { task: Task::Convert(conversion), workers: None, retries: 2 });
    let table =
        GeneratedTable { spec: Sizes::of_set("tiny").unwrap().table(Kind::Rankings, 1), parts: 3, bytes: 4 };
    let tables = vec![table, table];
    let format = FormatOptions::default();
    let generation = Generation { directory: "out".into(), tables, format, overwrite: true };
    check(&Request::Files { task: Task::Generate(generation), workers: Some(2), retries: 0 });
}
