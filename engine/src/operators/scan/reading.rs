//! What a scan reads of the files of one layout, and where its columns come from.

use arrow_schema::SchemaRef;
use formats::format::ScanOptions;
use queries::plan::Scan as Plan;
use schema::{ColumnPrefix, FileSet};

use crate::dataflow::batch::BATCH_ROWS;

/// How the files of one layout are read.
pub struct Reading {
    /// What is read of each.
    pub options: ScanOptions,
    /// Where each column of the scan comes from.
    pub columns: Vec<Column>,
}

/// Where a column of a scan comes from.
#[derive(Debug, Clone, Copy)]
pub enum Column {
    /// What is read, the column of this number.
    Read(usize),
    /// The constants of the file, the one of this number.
    Constant(usize),
    /// Nowhere: the file does not have it.
    Null,
}

impl Reading {
    /// That of a layout whose columns lie in these `places`, if it is not the table's own.
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
