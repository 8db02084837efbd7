//! Statements that describe a query or a table: EXPLAIN, DESCRIBE, SHOW TABLES and SUMMARIZE.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use engine::context::cancel::Cancel;
use engine::context::stack::{self, Deep};
use formats::rows::cells::Cells;
use queries::parse::{Query, select_all};
use queries::{Kind, Statement, summarize};

use crate::error::Result;
use crate::planned_query::PlannedQuery;
use crate::results::{Results, counted};
use crate::session::{Begun, Session};
use crate::system;

/// The names of columns.
const PLAN: &str = "plan";
const TABLE: &str = "table_name";
const NAME: &str = "column_name";
const TYPE: &str = "column_type";
const NULLABLE: &str = "nullable";

impl Session {
    /// The columns of the rows that a statement gives. Plans its query, and does not run it.
    ///
    /// # Errors
    /// Errors of planning.
    pub(crate) fn columns_of(&self, statement: &Statement, cancel: &Cancel) -> Result<SchemaRef> {
        let query = statement.query();
        let planned = query.map(|query| self.plan(&query, &self.planning(), cancel)).transpose()?;
        let texts = |names: &[&'static str]| fields(names.iter().map(|name| (*name, DataType::Utf8)));
        Ok(match (statement, planned) {
            (Statement::Query(_), Some(planned)) => planned.plan.schema.clone(),
            (Statement::Copy { .. } | Statement::CreateTable(_), _) => counted(),
            (Statement::Explain { .. }, _) => texts(&[PLAN]),
            (Statement::Summarize(_), _) => texts(&[&[NAME, TYPE], &summarize::FIGURES[..]].concat()),
            (Statement::Describe(_) | Statement::DescribeQuery(_), _) => {
                fields([(NAME, DataType::Utf8), (TYPE, DataType::Utf8), (NULLABLE, DataType::Boolean)])
            }
            (Statement::ShowTables, _) => texts(&[TABLE]),
            (Statement::ShowAllTables, _) => system::shown(),
            _ => fields([]),
        })
    }

    /// The plan of a query, one line for each operator.
    pub(crate) fn plan_lines(&self, query: &Arc<Query>, cancel: &Cancel) -> Result<Vec<String>> {
        let planned = self.plan(query, &self.planning(), cancel)?;
        let lines = || queries::explain::explain(&planned.plan).into_iter().map(|line| line.to_string());
        Ok(stack::deep(|| lines().collect())?)
    }

    pub(crate) fn explain(&self, query: &Arc<Query>, cancel: &Cancel) -> Result<Results> {
        let lines = self.plan_lines(query, cancel)?;
        Ok(Results::made(columns(&[(PLAN, Arc::new(StringArray::from(lines)))])?, None))
    }

    pub(crate) fn explain_analyze(
        &self,
        query: &Arc<Query>,
        text: Option<&Arc<str>>,
        cancel: &Cancel,
        begun: Begun<'_>,
    ) -> Result<Results> {
        let start = Instant::now();
        let planned = self.plan(query, &self.planning(), cancel)?;
        let planned = PlannedQuery { text: text.cloned(), ..planned };
        let mut results = self.start(&planned, start, cancel, begun)?;
        results.by_ref().try_for_each(|batch| batch.map(|_| ()))?;
        let run = results.into_run();
        let analyzed = run.as_ref().and_then(|run| Some((run.statistics(), run.plan.as_ref()?)));
        let lines = analyzed.map(|(statistics, plan)| stack::deep(|| statistics.analyzed(plan)));
        let lines = lines.transpose()?.unwrap_or_default();
        Ok(Results::made(columns(&[(PLAN, Arc::new(StringArray::from(lines)))])?, run))
    }

    pub(crate) fn describe(&self, name: &str, cancel: &Cancel) -> Result<Results> {
        let kind = self.tables().kind(name);
        let schema = match kind {
            Some(Kind::View) => {
                let all = Deep::from(select_all(name)?);
                self.plan(&all, &self.planning(), cancel)?.plan.schema.clone()
            }
            _ => self.open(&[name.to_string()], false, cancel)?.catalog.table(name)?.schema.clone(),
        };
        described(&schema)
    }

    /// The columns of a query. Plans the query, and does not run it.
    pub(crate) fn describe_query(&self, query: &Arc<Query>, cancel: &Cancel) -> Result<Results> {
        described(&self.plan(query, &self.planning(), cancel)?.plan.schema)
    }

    pub(crate) fn show_tables(&self) -> Result<Results> {
        let names = Arc::new(StringArray::from(self.table_names()?));
        Ok(Results::made(columns(&[(TABLE, names)])?, None))
    }

    pub(crate) fn summarize(
        &self,
        query: &Arc<Query>,
        text: Option<&Arc<str>>,
        cancel: &Cancel,
        begun: Begun<'_>,
    ) -> Result<Results> {
        let (start, planning) = (Instant::now(), self.planning());
        let source = self.plan(query, &planning, cancel)?.plan.schema.clone();
        let summary = Deep::from(stack::deep(|| summarize::query(query, &source))??);
        let planned = self.plan(&summary, &planning, cancel)?;
        let planned = PlannedQuery { text: text.cloned(), is_summary: true, ..planned };
        let mut results = self.start(&planned, start, cancel, begun)?;
        let mut row = None;
        for batch in results.by_ref() {
            row = Some(batch?).filter(|batch| batch.num_rows() > 0).or(row);
        }
        let clocks = self.settings().clocks();
        let value = |column: usize| -> Result<Option<String>> {
            let Some(column) = row.as_ref().map(|row| row.column(column)) else { return Ok(None) };
            if column.logical_nulls().is_some_and(|nulls| nulls.is_null(0)) {
                return Ok(None);
            }
            let mut text = Vec::new();
            Cells::new(column)?.in_zone(clocks).print(0, &mut text);
            Ok(Some(String::from_utf8_lossy(&text).into_owned()))
        };
        let mut shown = names_and_types(&source).to_vec();
        let width = summarize::FIGURES.len();
        for (figure, name) in summarize::FIGURES.iter().enumerate() {
            let values = (0..source.fields().len()).map(|column| value(column * width + figure));
            let values = values.collect::<Result<Vec<_>>>()?;
            shown.push((name, Arc::new(StringArray::from(values))));
        }
        Ok(Results::made(columns(&shown)?, results.into_run()))
    }
}

/// A result with a row for each column.
fn described(schema: &Schema) -> Result<Results> {
    let nullable = schema.fields().iter().map(|f| Some(f.is_nullable())).collect::<BooleanArray>();
    let [names, types] = names_and_types(schema);
    Ok(Results::made(columns(&[names, types, (NULLABLE, Arc::new(nullable))])?, None))
}

/// A column with its name.
pub(crate) type Named = (&'static str, ArrayRef);

fn names_and_types(schema: &Schema) -> [Named; 2] {
    let fields = schema.fields();
    let names = StringArray::from_iter_values(fields.iter().map(|f| f.name()));
    let types = StringArray::from_iter_values(fields.iter().map(|f| type_name(f.data_type())));
    [(NAME, Arc::new(names)), (TYPE, Arc::new(types))]
}

pub(crate) fn columns(columns: &[Named]) -> Result<RecordBatch> {
    let schema = fields(columns.iter().map(|(name, column)| (*name, column.data_type().clone())));
    let columns = columns.iter().map(|(_, column)| column.clone()).collect();
    Ok(RecordBatch::try_new(schema, columns).map_err(engine::Error::from)?)
}

pub(crate) fn fields(columns: impl IntoIterator<Item = (&'static str, DataType)>) -> SchemaRef {
    let fields = columns.into_iter().map(|(name, data_type)| Field::new(name, data_type, true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// A type as SQL names it, or as Arrow does where SQL has no name for it.
pub(crate) fn type_name(t: &DataType) -> String {
    schema::text::types::sql_name(t).unwrap_or_else(|| t.to_string())
}
