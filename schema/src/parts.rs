//! One table of parts that lie on several hosts.

use arrow_schema::SchemaRef;

use crate::estimates::{self, TableEstimates};
use crate::{FileLayout, FileSet, Source, Table};

/// Why two hosts' parts are no table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The number of the host whose part differs from the first one's.
    pub host: usize,
    /// What differs, as a clause.
    pub what: String,
}

/// The table of all files that hosts have under one name; those of `tables[i]` are read by process `i` alone. What is no
/// file is the first one's.
///
/// # Errors
/// The columns of two hosts differ, or how their files are to be read.
pub fn join(tables: Vec<Table>) -> Result<Option<Table>, Mismatch> {
    let mut joined: Option<Table> = None;
    for (host, mut table) in tables.into_iter().enumerate() {
        if let Source::Files(set) = &mut table.source {
            set.files.iter_mut().for_each(|file| file.process = Some(host as u32));
        }
        let Some(all) = &mut joined else {
            joined = Some(table);
            continue;
        };
        let guesses = joined_guesses(all, &table);
        let (Source::Files(set), Source::Files(more)) = (&mut all.source, table.source) else { continue };
        let wrong = |what: String| Err(Mismatch { host, what });
        if all.schema != table.schema {
            let columns = |table: &SchemaRef| {
                let columns = table.fields().iter().map(|f| format!("{} {}", f.name(), f.data_type()));
                columns.collect::<Vec<_>>().join(", ")
            };
            return wrong(format!(
                "has the columns {}, and not {}",
                columns(&table.schema),
                columns(&all.schema)
            ));
        }
        if (&set.format, set.file_columns) != (&more.format, more.file_columns) {
            let read =
                |set: &FileSet| format!("{}, compression {}", set.format.encoding, set.format.compression);
            return wrong(format!("has files to be read as {}, and not as {}", read(&more), read(set)));
        }
        add(set, more);
        all.rows = all.rows.zip(table.rows).map(|(rows, more)| rows + more);
        all.guesses = guesses;
        for (span, more) in all.spans.iter_mut().zip(table.spans) {
            *span = span.zip(more).map(|((least, most), (a, b))| (least.min(a), most.max(b)));
        }
    }
    Ok(joined)
}

/// What is guessed of the table of both.
fn joined_guesses(a: &Table, b: &Table) -> TableEstimates {
    let rows = a.about_rows().zip(b.about_rows()).map(|(rows, more)| rows.saturating_add(more));
    let of = |table: &Table| table.about_rows().unwrap_or(0) as f64;
    TableEstimates {
        rows: rows.filter(|_| a.rows.is_none() || b.rows.is_none()),
        columns: estimates::join((&a.guesses.columns, of(a)), (&b.guesses.columns, of(b))),
    }
}

fn add(set: &mut FileSet, more: FileSet) {
    let known = set.layouts.len();
    let layouts: Vec<FileLayout> = more.layouts;
    set.layouts.extend(layouts);
    set.files.extend(more.files.into_iter().map(|mut file| {
        file.layout = file.layout.map(|layout| known + layout);
        file
    }));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::{ColumnEstimate, DeferredValidation, FileEntry, FormatOptions};

    fn table(names: &[&str], column: &str) -> Table {
        let schema = Arc::new(Schema::new(vec![Field::new(column, DataType::Int64, true)]));
        let layout =
            FileLayout { compression: "gzip".into(), schema: schema.clone(), columns: vec![Some(0)] };
        let entry = |(i, name): (usize, &&str)| FileEntry {
            layout: (i > 0).then_some(0),
            ..FileEntry::new(*name, 7, 0)
        };
        let files = FileSet {
            files: names.iter().enumerate().map(entry).collect(),
            format: FormatOptions::default(),
            file_columns: 1,
            layouts: vec![layout],
            unseen: DeferredValidation::Nothing,
        };
        Table {
            name: "t".into(),
            schema,
            source: Source::Files(files),
            rows: Some(5),
            spans: vec![Some((1.0, 2.0))],
            guesses: TableEstimates::default(),
        }
    }

    #[test]
    fn files_belong_to_their_hosts() {
        let joined = join(vec![table(&["a", "b"], "x"), table(&["a", "c"], "x")]).unwrap().unwrap();
        let Source::Files(set) = &joined.source else { panic!("files") };
        let files: Vec<_> =
            set.files.iter().map(|f| (f.path.to_str().unwrap(), f.process, f.layout)).collect();
        let expected =
            [("a", Some(0), None), ("b", Some(0), Some(0)), ("a", Some(1), None), ("c", Some(1), Some(1))];
        assert_eq!(files, expected);
        assert_eq!((joined.rows, set.layouts.len()), (Some(10), 2));
        assert!(join(Vec::new()).unwrap().is_none());
    }

    #[test]
    fn guesses_are_those_of_all_parts() {
        let part = |rows, values, span| {
            let columns = vec![ColumnEstimate { values: Some(values), is_counted: true, span: Some(span) }];
            let guesses = TableEstimates { rows: Some(rows), columns };
            Table { rows: None, guesses, ..table(&["a"], "x") }
        };
        let joined = |a, b| join(vec![a, b]).unwrap().unwrap();
        let few = joined(part(100, 5, (1.0, 2.0)), part(300, 7, (2.0, 9.0)));
        let guess = ColumnEstimate { values: Some(7), is_counted: true, span: Some((1.0, 9.0)) };
        assert_eq!((few.rows, few.guesses), (None, TableEstimates { rows: Some(400), columns: vec![guess] }));
        let keys = joined(part(100, 100, (1.0, 2.0)), part(300, 290, (2.0, 9.0))).guesses;
        assert_eq!(keys.columns[0].values, Some(390));
        let counted = Table { rows: Some(50), ..part(100, 5, (1.0, 2.0)) };
        let mixed = joined(counted.clone(), part(300, 7, (2.0, 9.0)));
        assert_eq!((mixed.rows, mixed.guesses.rows), (None, Some(350)), "a guess makes the sum one");
        assert_eq!(joined(counted.clone(), counted).guesses.rows, None);
    }

    #[test]
    fn what_differs_is_told() {
        let wrong = join(vec![table(&["a"], "x"), table(&["a"], "x"), table(&["a"], "y")]).unwrap_err();
        assert_eq!(wrong.host, 2);
        assert!(wrong.what.contains("y Int64, and not x Int64"), "{}", wrong.what);
        let mut other = table(&["a"], "x");
        if let Source::Files(set) = &mut other.source {
            set.format.encoding = "jsonl".into();
        }
        assert!(join(vec![table(&["a"], "x"), other]).unwrap_err().what.contains("jsonl"));
    }
}
