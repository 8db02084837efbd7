//! How a scan reads the files of one layout: which columns of a file it decodes, and where each column of the scan comes from.

use arrow_schema::SchemaRef;
use formats::format::ScanOptions;
use queries::plan::Scan as Plan;
use schema::{ColumnPrefix, FileSet};

use crate::dataflow::batch::BATCH_ROWS;

/// How the files of one layout are read.
pub struct Reading {
    /// What the readers of these files get.
    pub options: ScanOptions,
    /// Where each column of the scan comes from.
    pub columns: Vec<Column>,
}

/// Where a column of a scan comes from.
#[derive(Debug, Clone, Copy)]
pub enum Column {
    /// The column of this number in the reader's batches.
    Read(usize),
    /// The constant of this number of the file (a hive column).
    Constant(usize),
    /// NULL: the file does not have the column.
    Null,
}

impl Reading {
    /// Of files with this schema. `places` says for each column of the table where a file has it; `None` if the layout is the
    /// table's own.
    pub fn new(
        plan: &Plan,
        set: &FileSet,
        schema: SchemaRef,
        places: Option<&[Option<usize>]>,
        compression: &str,
    ) -> Reading {
        let mut projection: Vec<usize> = Vec::new();
        let mut columns = Vec::new();
        let wanted: &[usize] = if plan.transform.is_some() { &[] } else { &plan.projection };
        for column in wanted {
            if *column >= set.file_columns {
                columns.push(Column::Constant(*column - set.file_columns));
                continue;
            }
            let Some(place) = places.map_or(Some(*column), |p| p[*column]) else {
                columns.push(Column::Null);
                continue;
            };
            let read = projection.iter().position(|p| *p == place).unwrap_or_else(|| {
                projection.push(place);
                projection.len() - 1
            });
            columns.push(Column::Read(read));
        }
        // Bounds name columns of the table; files of another layout are read without.
        let bounds = match places {
            None => plan.bounds.iter().filter(|b| b.column < set.file_columns).cloned().collect(),
            Some(_) => Vec::new(),
        };
        let prefixes = plan.prefixes.iter().filter_map(|prefix| {
            let column = places.map_or(Some(prefix.column), |places| *places.get(prefix.column)?)?;
            (prefix.column < set.file_columns).then_some(ColumnPrefix { column, ..*prefix })
        });
        let prefixes = prefixes.collect();
        let mut format = set.format.clone();
        format.compression = compression.to_string();
        Reading {
            options: ScanOptions {
                schema,
                projection,
                bounds,
                prefixes,
                unseen: set.unseen.clone(),
                batch_rows: BATCH_ROWS,
                format,
            },
            columns,
        }
    }
}
