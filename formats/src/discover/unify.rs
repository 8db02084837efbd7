//! Finds one schema for many files.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use schema::text::types::sql_name;

use crate::error::{Error, Result};
use crate::rows::infer::too_many_columns;
use crate::rows::shape::MOST_COLUMNS;
use crate::rows::wider::{Widening, combined, nested, wider};

/// How the columns of a file match those of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// By their place: csv and workbooks. The names and their order must be the same. Types are inferred, of csv from a
    /// few records, and widen.
    Place,
    /// By their names, and a record may lack any of them. Types are inferred, and widen.
    Key,
    /// The same of JSON: any file may have more columns, and values of any two types are text.
    Json,
    /// By their names, with types that the file states: Parquet, Arrow, buren. The types must be the same.
    Name,
}

/// The schema of a table, which grows as the schemas of its files are added.
#[derive(Debug)]
pub struct Unified<'a> {
    first: &'a Path,
    fields: Vec<Field>,
    /// The place of the first field of each name.
    places: HashMap<String, usize>,
    /// The same without regard to case.
    alike: HashMap<String, usize>,
    matching: Match,
    by_name: bool,
}

impl<'a> Unified<'a> {
    /// Begins with the schema of the first file. With `by_name`, the table also has columns that are not in every file,
    /// and types widen if no value is lost.
    pub fn new(first: &'a Path, schema: &Schema, matching: Match, by_name: bool) -> Unified<'a> {
        let (places, alike) = (HashMap::new(), HashMap::new());
        let by_name = by_name || matching == Match::Json;
        let mut unified = Unified { first, fields: Vec::new(), places, alike, matching, by_name };
        schema.fields().iter().for_each(|field| unified.push(field.as_ref().clone()));
        unified
    }

    /// Puts a field behind the others.
    fn push(&mut self, field: Field) {
        let place = self.fields.len();
        self.places.entry(field.name().clone()).or_insert(place);
        self.alike.entry(field.name().to_ascii_lowercase()).or_insert(place);
        self.fields.push(field);
    }

    /// Adds the schema of another file.
    ///
    /// # Errors
    /// The differences, if the schemas do not agree, and more columns than a table may have.
    pub fn add(&mut self, file: &Path, schema: &Schema) -> Result<()> {
        let mut differences = Vec::new();
        let mut names = HashSet::with_capacity(schema.fields().len());
        for field in schema.fields() {
            if !names.insert(field.name().as_str()) {
                differences.push(format!("column '{}' is twice here", field.name()));
            }
        }
        let guessed = self.matching != Match::Name;
        let to_text = self.matching == Match::Json;
        let how = Widening { guessed, widens: guessed || self.by_name, to_text };
        // Whether two types have no common wider type.
        let mut apart = false;
        if self.matching == Match::Place && !self.by_name {
            self.compare_names(schema, &mut differences);
        }
        let same_names = differences.is_empty();
        // Keys of records match letter by letter.
        let is_caseless = self.matching == Match::Name || (self.matching == Match::Place && self.by_name);
        let mut taken = HashSet::new();
        for field in schema.fields().iter().filter(|_| same_names) {
            let alike = self.alike.get(&field.name().to_ascii_lowercase()).copied();
            let is_free = |place: &usize| {
                !taken.contains(place) && !names.contains(self.fields[*place].name().as_str())
            };
            let caseless = alike.filter(|place| is_caseless && is_free(place));
            match self.places.get(field.name()).copied().or(caseless) {
                Some(place) => {
                    taken.insert(place);
                    let known = &mut self.fields[place];
                    let nullable = known.is_nullable() || field.is_nullable();
                    match combined(known.data_type(), field.data_type(), how) {
                        Some(data_type) => *known = Field::new(known.name(), data_type, nullable),
                        None => {
                            apart |= wider(known.data_type(), field.data_type()).is_none();
                            differences.push(format!(
                                "column '{}' is {} here and {} there",
                                field.name(),
                                name(field.data_type()),
                                name(known.data_type())
                            ));
                        }
                    }
                }
                None if !self.by_name => {
                    differences.push(format!(
                        "column '{}' ({}) is only here",
                        field.name(),
                        name(field.data_type())
                    ));
                }
                None => match alike {
                    Some(like) => differences.push(format!(
                        "column '{}' is called '{}' there, and SQL does not tell them apart",
                        field.name(),
                        self.fields[like].name()
                    )),
                    None if self.fields.len() >= MOST_COLUMNS => return Err(too_many_columns().at(file)),
                    None => self.push(field.as_ref().clone().with_nullable(true)),
                },
            }
        }
        for (place, field) in self.fields.iter_mut().enumerate() {
            if names.contains(field.name().as_str()) || taken.contains(&place) {
                continue;
            }
            match self.matching {
                Match::Key | Match::Json => field.set_nullable(true),
                _ if self.by_name => field.set_nullable(true),
                Match::Name => {
                    differences.push(format!(
                        "column '{}' ({}) is only there",
                        field.name(),
                        name(field.data_type())
                    ));
                }
                // The comparison of names has reported them.
                Match::Place => {}
            }
        }
        if differences.is_empty() { Ok(()) } else { Err(self.differs(file, differences, apart)) }
    }

    /// Compares the names of a csv file with those of the first file, by place.
    fn compare_names(&self, schema: &Schema, differences: &mut Vec<String>) {
        let (here, there) = (schema.fields().len(), self.fields.len());
        for (i, (field, known)) in schema.fields().iter().zip(&self.fields).enumerate() {
            if field.name() != known.name() {
                let place = i + 1;
                differences.push(format!(
                    "column {place} is '{}' ({}) here and '{}' ({}) there",
                    field.name(),
                    name(field.data_type()),
                    known.name(),
                    name(known.data_type())
                ));
            }
        }
        // A column of both files in other places has been told of.
        let known = |name: &String| self.places.contains_key(name);
        for field in schema.fields().iter().skip(there).filter(|f| !known(f.name())) {
            differences.push(format!("column '{}' ({}) is only here", field.name(), name(field.data_type())));
        }
        let has = |name: &String| schema.fields().iter().any(|f| f.name() == name);
        for field in self.fields.iter().skip(here).filter(|f| !has(f.name())) {
            differences.push(format!(
                "column '{}' ({}) is only there",
                field.name(),
                name(field.data_type())
            ));
        }
    }

    fn differs(&self, file: &Path, mut differences: Vec<String>, apart: bool) -> Error {
        let more = differences.len().saturating_sub(5);
        differences.truncate(5);
        if more > 0 {
            differences.push(format!("and {more} more"));
        }
        let message =
            format!("its columns differ from those of {}: {}", self.first.display(), differences.join("; "));
        let types = "give the types with --schema NAME=FILE (palais schema prints such a file)";
        let help = match self.by_name || apart {
            true => types.to_string(),
            false => format!(
                "--union-by-name reads the files as one table, with NULL where a file lacks a column; or {types}"
            ),
        };
        Error::location(file.display(), message, Some(help))
    }

    /// The schema. A column, or a field in it, is text if it has no value in the records that were looked at.
    pub fn finish(self) -> SchemaRef {
        let guessed = self.matching != Match::Name;
        let fields = self.fields.into_iter().map(|field| match guessed {
            true => nested::settled(&field),
            false => field,
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}

/// The name of a type in messages.
pub fn name(data_type: &DataType) -> String {
    sql_name(data_type).unwrap_or_else(|| data_type.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType as T;
    use arrow_schema::TimeUnit;

    fn schema(columns: &[(&str, DataType)]) -> Schema {
        Schema::new(columns.iter().map(|(n, t)| Field::new(*n, t.clone(), false)).collect::<Vec<_>>())
    }

    fn unite(matching: Match, by_name: bool, schemas: &[&[(&str, DataType)]]) -> Result<SchemaRef> {
        let first = schema(schemas[0]);
        let mut unified = Unified::new(Path::new("a.csv"), &first, matching, by_name);
        for other in &schemas[1..] {
            unified.add(Path::new("b.csv"), &schema(other))?;
        }
        Ok(unified.finish())
    }

    fn columns(schema: &Schema) -> Vec<(&str, DataType, bool)> {
        schema.fields().iter().map(|f| (f.name().as_str(), f.data_type().clone(), f.is_nullable())).collect()
    }

    #[test]
    fn guessed_types_widen() {
        let united = unite(
            Match::Place,
            false,
            &[
                &[("a", T::Int64), ("b", T::Null), ("c", T::Utf8View), ("d", T::Date32), ("e", T::Null)],
                &[
                    ("a", T::Float64),
                    ("b", T::Boolean),
                    ("c", T::Int64),
                    ("d", T::Timestamp(TimeUnit::Microsecond, None)),
                    ("e", T::Null),
                ],
            ],
        );
        let types: Vec<_> = united.unwrap().fields().iter().map(|f| f.data_type().clone()).collect();
        let timestamp = T::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(types, [T::Float64, T::Boolean, T::Utf8View, timestamp, T::Utf8View]);
    }

    #[test]
    fn csv_files_that_differ_are_named_with_columns_and_types() {
        let first: &[_] = &[("id", T::Int64), ("name", T::Utf8View)];
        let error =
            |other: &[(&str, DataType)]| unite(Match::Place, false, &[first, other]).unwrap_err().to_string();
        let said = error(&[("id", T::Int64), ("title", T::Utf8View)]);
        assert!(said.starts_with(
            "b.csv: its columns differ from those of a.csv: column 2 is 'title' (VARCHAR) here and 'name' (VARCHAR) \
             there"
        ), "{said}");
        assert!(said.contains("--union-by-name"));
        assert!(error(&[("id", T::Int64)]).contains("column 'name' (VARCHAR) is only there"));
        assert!(
            error(&[("id", T::Int64), ("name", T::Utf8View), ("x", T::Date32)])
                .contains("'x' (DATE) is only here")
        );
        assert!(
            error(&[("id", T::Utf8View), ("name", T::Utf8View)])
                .contains("column 'id' is VARCHAR here and BIGINT there")
        );
        assert!(error(&[("name", T::Utf8View), ("id", T::Int64)]).contains("column 1 is 'name'"));
        let many: Vec<_> = ["p", "q", "r", "s", "t", "u", "v"].map(|n| (n, T::Int64)).to_vec();
        assert!(error(&many).contains("and 2 more"));
    }

    #[test]
    fn stated_types_must_be_the_same_and_order_need_not() {
        let first: &[_] = &[("a", T::Int32), ("b", T::Float64)];
        assert_eq!(
            columns(&unite(Match::Name, false, &[first, &[("b", T::Float64), ("a", T::Int32)]]).unwrap())
                .len(),
            2
        );
        let error = unite(Match::Name, false, &[first, &[("b", T::Float64), ("a", T::Int64)]]).unwrap_err();
        assert!(error.to_string().contains("column 'a' is BIGINT here and INT there"));
        let error = unite(Match::Name, false, &[first, &[("b", T::Float64)]]).unwrap_err();
        assert!(error.to_string().contains("column 'a' (INT) is only there"));
    }

    #[test]
    fn records_may_lack_keys_but_not_have_others() {
        let first: &[_] = &[("a", T::Int64), ("b", T::Float64)];
        let united = unite(Match::Key, false, &[first, &[("b", T::Float64)]]).unwrap();
        assert_eq!(columns(&united), [("a", T::Int64, true), ("b", T::Float64, false)]);
        assert!(
            unite(Match::Key, false, &[first, &[("c", T::Float64)]])
                .unwrap_err()
                .to_string()
                .contains("only here")
        );
    }

    #[test]
    fn json_files_have_the_columns_of_all() {
        let first: &[_] = &[("a", T::Int64), ("b", T::Float64)];
        let united = unite(Match::Json, false, &[first, &[("c", T::Float64), ("a", T::Utf8View)]]).unwrap();
        assert_eq!(
            columns(&united),
            [("a", T::Utf8View, false), ("b", T::Float64, true), ("c", T::Float64, true)]
        );
        let error = unite(Match::Json, false, &[first, &[("A", T::Int64)]]).unwrap_err().to_string();
        assert!(error.contains("does not tell them apart"), "{error}");
    }

    #[test]
    fn by_name_columns_join_and_widen() {
        let first: &[_] = &[("a", T::Int32), ("b", T::Utf8View)];
        let united = unite(Match::Name, true, &[first, &[("c", T::Date32), ("a", T::Float32)]]).unwrap();
        assert_eq!(
            columns(&united),
            [("a", T::Float64, false), ("b", T::Utf8View, true), ("c", T::Date32, true)]
        );
        let united = unite(Match::Name, true, &[first, &[("A", T::Int64)]]).unwrap();
        assert_eq!(columns(&united), [("a", T::Int64, false), ("b", T::Utf8View, true)]);
        let error =
            unite(Match::Name, true, &[first, &[("a", T::Int32), ("A", T::Int32)]]).unwrap_err().to_string();
        assert!(error.contains("does not tell them apart"), "{error}");
        let error = unite(Match::Name, true, &[first, &[("b", T::Int32)]]).unwrap_err().to_string();
        assert!(
            error.contains("column 'b' is INT here and VARCHAR there") && !error.contains("--union-by-name"),
            "{error}"
        );
    }

    #[test]
    fn a_name_that_is_twice_in_a_file_is_no_column() {
        let first: &[_] = &[("a", T::Int64), ("b", T::Int64)];
        for (matching, by_name) in [(Match::Place, true), (Match::Name, true), (Match::Name, false)] {
            let error =
                unite(matching, by_name, &[first, &[("a", T::Int64), ("b", T::Int64), ("a", T::Int64)]]);
            assert!(error.unwrap_err().to_string().contains("column 'a' is twice here"));
        }
    }
}
