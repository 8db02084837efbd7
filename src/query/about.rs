//! Statements that tell something of a query or a table.

use std::sync::Arc;

use anyhow::Context;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use formats::rows::cells::Cells;
use queries::{parse, summarize};

use super::{Memory, Prepared, Session};
use crate::print::{self, ResultWriter};

/// Where rows go that nobody wants to see.
struct Nowhere;

impl ResultWriter for Nowhere {
    fn begin(&mut self, _schema: &SchemaRef) -> print::Result<()> {
        Ok(())
    }

    fn batch(&mut self, _batch: &RecordBatch) -> print::Result<()> {
        Ok(())
    }

    fn end(&mut self) -> print::Result<()> {
        Ok(())
    }
}

impl Session<'_> {
    pub(super) fn explain(&self, query: &parse::Query, analyze: bool) -> anyhow::Result<()> {
        let prepared = self.prepare(query, &self.settings.planning)?;
        let mut lines: Vec<String> =
            queries::explain::explain(&prepared.plan).into_iter().map(|l| l.text).collect();
        if analyze {
            let mut stats = self.stats();
            self.show_rows(&prepared, &mut stats, &mut Nowhere)?;
            lines = stats.analyzed(&prepared.plan);
            self.run.stats.as_ref().map_or(Ok(()), |path| stats.write(path))?;
        }
        self.show(&[("plan", Arc::new(StringArray::from(lines)))])
    }

    pub(super) fn describe(&self, name: &str) -> anyhow::Result<()> {
        let catalog = self.catalog(&[name.to_string()])?;
        let schema = catalog.table(name)?.schema.clone();
        let fields = schema.fields();
        self.show(&[
            ("column_name", Arc::new(StringArray::from_iter_values(fields.iter().map(|f| f.name())))),
            (
                "column_type",
                Arc::new(StringArray::from_iter_values(fields.iter().map(|f| type_name(f.data_type())))),
            ),
            ("nullable", Arc::new(fields.iter().map(|f| Some(f.is_nullable())).collect::<BooleanArray>())),
        ])
    }

    pub(super) fn summarize(&self, query: &parse::Query) -> anyhow::Result<()> {
        let columns = self.prepare(query, &self.settings.planning)?.plan.schema.clone();
        let summary = summarize::query(query, &columns)?;
        let prepared = Prepared { is_summary: true, ..self.prepare(&summary, &self.settings.planning)? };
        let mut row = Memory::default();
        let mut stats = self.stats();
        self.show_rows(&prepared, &mut stats, &mut row)?;
        self.run.stats.as_ref().map_or(Ok(()), |path| stats.write(path))?;
        let batch = row.batches.first().context("an aggregation without GROUP BY gives a row")?;
        let value = |i: usize| -> anyhow::Result<Option<String>> {
            let column = batch.column(i);
            if column.logical_nulls().is_some_and(|nulls| nulls.is_null(0)) {
                return Ok(None);
            }
            let mut text = Vec::new();
            Cells::new(column)?.print(0, &mut text);
            Ok(Some(String::from_utf8(text)?))
        };
        let fields = columns.fields();
        let mut shown: Vec<(&str, ArrayRef)> = vec![
            ("column_name", Arc::new(StringArray::from_iter_values(fields.iter().map(|f| f.name())))),
            (
                "column_type",
                Arc::new(StringArray::from_iter_values(fields.iter().map(|f| type_name(f.data_type())))),
            ),
        ];
        let width = summarize::FIGURES.len();
        for (f, name) in summarize::FIGURES.iter().enumerate() {
            let values =
                (0..fields.len()).map(|c| value(c * width + f)).collect::<anyhow::Result<Vec<_>>>()?;
            shown.push((name, Arc::new(StringArray::from(values))));
        }
        self.show(&shown)
    }

    /// Prints columns that were made here.
    pub(super) fn show(&self, columns: &[(&str, ArrayRef)]) -> anyhow::Result<()> {
        let fields: Vec<Field> =
            columns.iter().map(|(n, c)| Field::new(*n, c.data_type().clone(), true)).collect();
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), columns.iter().map(|(_, c)| c.clone()).collect())?;
        let mut writer = self.writer()?;
        writer.begin(&schema)?;
        writer.batch(&batch)?;
        Ok(writer.end()?)
    }
}

/// A type as SQL names it, or as Arrow does where SQL has no name for it.
fn type_name(t: &DataType) -> String {
    schema::text::types::sql_name(t).unwrap_or_else(|| t.to_string())
}
