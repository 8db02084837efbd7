//! What a session knows of its tables as tables: `information_schema.tables`, `information_schema.columns`,
//! `duckdb_tables()`, `duckdb_views()`, `duckdb_columns()`, and SHOW ALL TABLES.
//!
//! They are made when a statement reads them. For the columns each table is opened and each view planned; one that
//! can't be is there without columns. A view that reads these tables itself is planned over tables without rows.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, new_null_array};
use arrow_schema::{DataType, Field, SchemaRef};
use engine::context::cancel::Cancel;
use engine::context::stack::Deep;
use formats::discover::open_batches;
use queries::Kind;
use queries::parse::readers::Reader;
use queries::parse::select_all;
use schema::Table;

use crate::error::{Error, Result};
use crate::introspection::{columns, fields, type_name};
use crate::planned_query::PlannedQuery;
use crate::results::Results;
use crate::session::Session;
use crate::tables::Opened;

/// The name of what has all tables, and of the schema that they are in.
const CATALOG: &str = "palais";
const SCHEMA: &str = "main";

/// A table that is made of what the session knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum System {
    Tables,
    Columns,
    /// `duckdb_tables()`.
    TablesAlone,
    /// `duckdb_views()`.
    Views,
    /// `duckdb_columns()`.
    ColumnsOfAll,
}

/// The columns of `information_schema.tables`: all are texts.
const OF_TABLES: [&str; 5] =
    ["table_catalog", "table_schema", "table_name", "table_type", "is_insertable_into"];

/// Those of `information_schema.columns`, and whether they are texts and not integers.
const OF_COLUMNS: [(&str, bool); 13] = [
    ("table_catalog", true),
    ("table_schema", true),
    ("table_name", true),
    ("column_name", true),
    ("ordinal_position", false),
    ("column_default", true),
    ("is_nullable", true),
    ("data_type", true),
    ("character_maximum_length", false),
    ("numeric_precision", false),
    ("numeric_precision_radix", false),
    ("numeric_scale", false),
    ("datetime_precision", false),
];

/// The columns of `duckdb_columns()`.
const OF_ALL: [(&str, DataType); 12] = [
    ("database_name", DataType::Utf8),
    ("schema_name", DataType::Utf8),
    ("table_name", DataType::Utf8),
    ("column_name", DataType::Utf8),
    ("column_index", DataType::Int32),
    ("internal", DataType::Boolean),
    ("column_default", DataType::Utf8),
    ("is_nullable", DataType::Boolean),
    ("data_type", DataType::Utf8),
    ("numeric_precision", DataType::Int32),
    ("numeric_precision_radix", DataType::Int32),
    ("numeric_scale", DataType::Int32),
];

/// Those of `duckdb_tables()` and `duckdb_views()`, which call the name differently.
fn of_relations(name: &'static str) -> [(&'static str, DataType); 6] {
    [
        ("database_name", DataType::Utf8),
        ("schema_name", DataType::Utf8),
        (name, DataType::Utf8),
        ("internal", DataType::Boolean),
        ("temporary", DataType::Boolean),
        ("column_count", DataType::Int64),
    ]
}

impl System {
    /// The table of this name.
    pub fn of(name: &str) -> Option<System> {
        match name.to_lowercase().as_str() {
            "information_schema.tables" => Some(System::Tables),
            "information_schema.columns" => Some(System::Columns),
            "duckdb_tables()" => Some(System::TablesAlone),
            "duckdb_views()" => Some(System::Views),
            "duckdb_columns()" => Some(System::ColumnsOfAll),
            _ => None,
        }
    }

    fn schema(self) -> SchemaRef {
        let text = |name| (name, DataType::Utf8);
        match self {
            System::TablesAlone => fields(of_relations("table_name")),
            System::Views => fields(of_relations("view_name")),
            System::ColumnsOfAll => fields(OF_ALL),
            System::Tables => fields(OF_TABLES.map(text)),
            System::Columns => fields(OF_COLUMNS.map(|(name, is_text)| match is_text {
                true => text(name),
                false => (name, DataType::Int32),
            })),
        }
    }
}

/// A table or view, and its columns where they are known.
struct Known {
    name: String,
    kind: Kind,
    is_kept: bool,
    schema: Option<SchemaRef>,
}

impl Session {
    /// Opens the tables of these names: those that `open` knows, and those of the session. With `rows` the latter have
    /// their rows.
    pub(crate) fn opened(
        &self,
        names: &[String],
        rows: bool,
        cancel: &Cancel,
        open: impl FnOnce(&[String]) -> Result<Opened>,
    ) -> Result<Opened> {
        for (name, reader) in names.iter().filter_map(|name| Some((name, Reader::of_name(name)?))) {
            if reader.is_about_files() {
                self.runner().check_is_here(name)?;
            }
            // Tables come to the coordinator without what is said of rejects.
            if reader.options.iter().any(|(option, _)| option == "store_rejects") {
                self.runner().check_is_here("store_rejects")?;
            }
        }
        let own = |name: &String| System::of(name).filter(|_| self.kind(name).is_none());
        if !names.iter().any(|name| own(name).is_some()) {
            return open(names);
        }
        let others: Vec<String> = names.iter().filter(|name| own(name).is_none()).cloned().collect();
        let mut opened = open(&others)?;
        for name in names {
            let Some(system) = own(name) else { continue };
            self.runner().check_is_here(name)?;
            opened.catalog.add(self.system_table(name, system, rows, cancel)?);
        }
        Ok(opened)
    }

    fn system_table(&self, name: &str, system: System, rows: bool, cancel: &Cancel) -> Result<Table> {
        let schema = system.schema();
        let batch = match (rows, system) {
            (false, _) => RecordBatch::new_empty(schema.clone()),
            (true, System::Tables) => tables_of(&schema, &self.known(None, false, cancel)?)?,
            (true, System::Columns) => columns_of(&schema, &self.known(None, true, cancel)?)?,
            (true, System::ColumnsOfAll) => columns_of_all(&schema, &self.known(None, true, cancel)?)?,
            (true, System::TablesAlone) => relations(&schema, &self.known(Some(Kind::Table), true, cancel)?)?,
            (true, System::Views) => relations(&schema, &self.known(Some(Kind::View), true, cancel)?)?,
        };
        Ok(open_batches(name, &schema, &[batch])?)
    }

    /// The tables and views, or those of one kind, in the order of their names.
    fn known(&self, of: Option<Kind>, with_columns: bool, cancel: &Cancel) -> Result<Vec<Known>> {
        let mut all = Vec::new();
        for name in self.table_names()? {
            let kind = self.kind(&name).unwrap_or(Kind::Table);
            if of.is_some_and(|of| of != kind) {
                continue;
            }
            let is_kept = self.tables().is_kept(&name);
            let schema = match with_columns {
                true => self.known_schema(&name, kind, cancel),
                false => None,
            };
            cancel.check()?;
            all.push(Known { name, kind, is_kept, schema });
        }
        Ok(all)
    }

    /// The columns of a table or view, if it can be opened.
    fn known_schema(&self, name: &str, kind: Kind, cancel: &Cancel) -> Option<SchemaRef> {
        match kind {
            Kind::Table => {
                let opened = self.open(&[name.to_string()], true, cancel).ok()?;
                opened.catalog.table(name).ok().map(|table| table.schema.clone())
            }
            Kind::View => self.view_schema(name, cancel).ok(),
        }
    }

    fn view_schema(&self, name: &str, cancel: &Cancel) -> Result<SchemaRef> {
        let all = Deep::from(select_all(name)?);
        let (query, names) = self.expanded_and_named(&all, cancel)?;
        let opened =
            self.opened(&names, false, cancel, |names| self.runner().open(self, names, true, cancel))?;
        Ok(PlannedQuery::over(&query, opened, &self.planning(), cancel)?.plan.schema.clone())
    }

    /// SHOW ALL TABLES.
    pub(crate) fn show_all_tables(&self, cancel: &Cancel) -> Result<Results> {
        let known = self.known(None, true, cancel)?;
        let text = |text: &'static str| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(known.iter().map(|_| text)))
        };
        let list = |of: &dyn Fn(&Field) -> String| -> ArrayRef {
            let mut lists = ListBuilder::new(StringBuilder::new());
            for one in &known {
                let columns = one.schema.iter().flat_map(|schema| schema.fields());
                columns.for_each(|field| lists.values().append_value(of(field)));
                lists.append(true);
            }
            Arc::new(lists.finish())
        };
        let names = StringArray::from_iter_values(known.iter().map(|one| &one.name));
        let temporary = known.iter().map(|one| Some(one.is_kept)).collect::<BooleanArray>();
        let shown: [(&'static str, ArrayRef); 6] = [
            ("database", text(CATALOG)),
            ("schema", text(SCHEMA)),
            ("name", Arc::new(names)),
            ("column_names", list(&|field| field.name().clone())),
            ("column_types", list(&|field| type_name(field.data_type()))),
            ("temporary", Arc::new(temporary)),
        ];
        Ok(Results::made(columns(&shown)?, None))
    }
}

/// The columns of SHOW ALL TABLES.
pub(crate) fn shown() -> SchemaRef {
    let texts = || DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)));
    fields([
        ("database", DataType::Utf8),
        ("schema", DataType::Utf8),
        ("name", DataType::Utf8),
        ("column_names", texts()),
        ("column_types", texts()),
        ("temporary", DataType::Boolean),
    ])
}

fn tables_of(schema: &SchemaRef, known: &[Known]) -> Result<RecordBatch> {
    let mut rows: [StringBuilder; OF_TABLES.len()] = Default::default();
    for one in known {
        let table_type = match one.kind {
            Kind::View => "VIEW",
            Kind::Table if one.is_kept => "LOCAL TEMPORARY",
            Kind::Table => "BASE TABLE",
        };
        let row = [CATALOG, SCHEMA, one.name.as_str(), table_type, "NO"];
        rows.iter_mut().zip(row).for_each(|(column, text)| column.append_value(text));
    }
    let columns = rows.into_iter().map(|mut column| Arc::new(column.finish()) as ArrayRef).collect();
    batch(schema, columns)
}

fn columns_of(schema: &SchemaRef, known: &[Known]) -> Result<RecordBatch> {
    let mut texts: Vec<StringBuilder> = OF_COLUMNS.iter().map(|_| StringBuilder::new()).collect();
    let mut numbers: Vec<Int32Builder> = OF_COLUMNS.iter().map(|_| Int32Builder::new()).collect();
    for one in known {
        for (i, field) in one.schema.iter().flat_map(|schema| schema.fields()).enumerate() {
            let Digits { precision, radix, scale } = digits(field.data_type());
            let data_type = type_name(field.data_type());
            for ((name, _), (text, number)) in OF_COLUMNS.iter().zip(texts.iter_mut().zip(&mut numbers)) {
                match *name {
                    "table_catalog" => text.append_value(CATALOG),
                    "table_schema" => text.append_value(SCHEMA),
                    "table_name" => text.append_value(&one.name),
                    "column_name" => text.append_value(field.name()),
                    "is_nullable" => text.append_value(if field.is_nullable() { "YES" } else { "NO" }),
                    "data_type" => text.append_value(&data_type),
                    "ordinal_position" => number.append_option(i32::try_from(i + 1).ok()),
                    "numeric_precision" => number.append_option(precision),
                    "numeric_precision_radix" => number.append_option(radix),
                    "numeric_scale" => number.append_option(scale),
                    "column_default" => text.append_null(),
                    _ => number.append_null(),
                }
            }
        }
    }
    let built = OF_COLUMNS.iter().zip(texts.iter_mut().zip(&mut numbers));
    let columns = built.map(|((_, is_text), (text, number))| -> ArrayRef {
        match is_text {
            true => Arc::new(text.finish()),
            false => Arc::new(number.finish()),
        }
    });
    batch(schema, columns.collect())
}

fn relations(schema: &SchemaRef, known: &[Known]) -> Result<RecordBatch> {
    let text = |text: fn(&Known) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(known.iter().map(text)))
    };
    let truth = |is: fn(&Known) -> bool| -> ArrayRef {
        Arc::new(known.iter().map(|one| Some(is(one))).collect::<BooleanArray>())
    };
    let count = |one: &Known| i64::try_from(one.schema.as_ref()?.fields().len()).ok();
    batch(
        schema,
        vec![
            text(|_| CATALOG),
            text(|_| SCHEMA),
            text(|one| &one.name),
            truth(|_| false),
            // Nothing that a statement has named outlasts the process.
            truth(|one| one.is_kept || one.kind == Kind::View),
            Arc::new(known.iter().map(count).collect::<Int64Array>()),
        ],
    )
}

fn columns_of_all(schema: &SchemaRef, known: &[Known]) -> Result<RecordBatch> {
    let of_one = |one: &Known| {
        let fields: Vec<_> = one.schema.iter().flat_map(|schema| schema.fields()).cloned().collect();
        let name = one.name.clone();
        fields.into_iter().enumerate().map(move |(i, field)| (name.clone(), i, field))
    };
    let all: Vec<_> = known.iter().flat_map(of_one).collect();
    let text = |text: &dyn Fn(&Field) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(all.iter().map(|(_, _, field)| text(field))))
    };
    let digit = |digit: fn(Digits) -> Option<i32>| -> ArrayRef {
        Arc::new(all.iter().map(|(_, _, field)| digit(digits(field.data_type()))).collect::<Int32Array>())
    };
    let index = |i: usize| i32::try_from(i + 1).ok();
    batch(
        schema,
        vec![
            text(&|_| CATALOG.into()),
            text(&|_| SCHEMA.into()),
            Arc::new(StringArray::from_iter_values(all.iter().map(|(name, _, _)| name))),
            text(&|field| field.name().clone()),
            Arc::new(all.iter().map(|(_, i, _)| index(*i)).collect::<Int32Array>()),
            Arc::new(all.iter().map(|_| Some(false)).collect::<BooleanArray>()),
            new_null_array(&DataType::Utf8, all.len()),
            Arc::new(all.iter().map(|(_, _, field)| Some(field.is_nullable())).collect::<BooleanArray>()),
            text(&|field| type_name(field.data_type())),
            digit(|digits| digits.precision),
            digit(|digits| digits.radix),
            digit(|digits| digits.scale),
        ],
    )
}

fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    RecordBatch::try_new(schema.clone(), columns).map_err(|error| Error::from(engine::Error::from(error)))
}

/// The digits of a number's type, as DuckDB has them. There are none of unsigned numbers.
#[derive(Debug, Clone, Copy, Default)]
struct Digits {
    precision: Option<i32>,
    /// The base in which they are counted.
    radix: Option<i32>,
    /// How many stand behind the point.
    scale: Option<i32>,
}

fn digits(data_type: &DataType) -> Digits {
    let of = |precision, radix, scale| Digits {
        precision: Some(precision),
        radix: Some(radix),
        scale: Some(scale),
    };
    match data_type {
        DataType::Int8 => of(8, 2, 0),
        DataType::Int16 => of(16, 2, 0),
        DataType::Int32 => of(32, 2, 0),
        DataType::Int64 => of(64, 2, 0),
        DataType::Float32 => of(24, 2, 0),
        DataType::Float64 => of(53, 2, 0),
        DataType::Decimal128(precision, scale) => of((*precision).into(), 10, (*scale).into()),
        _ => Digits::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_without_regard_to_case() {
        assert_eq!(System::of("INFORMATION_SCHEMA.Tables"), Some(System::Tables));
        assert_eq!(System::of("information_schema.columns"), Some(System::Columns));
        assert_eq!(System::of("information_schema.views"), None);
        assert_eq!(System::Columns.schema().field(4), &Field::new("ordinal_position", DataType::Int32, true));
    }
}
