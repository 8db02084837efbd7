//! Statements that change what a session knows: CREATE VIEW, CREATE TEMP TABLE, CREATE MACRO, DROP, SET and RESET.

use std::sync::Arc;

use engine::context::cancel::Cancel;
use engine::context::stack::Deep;
use queries::macros::Macro;
use queries::parse::definitions::MacroDefinition;
use queries::parse::select_all;
use queries::{Definition, Existing, Kind, View};

use crate::error::{Error, Result};
use crate::kept::Kept;
use crate::limits::within_limits;
use crate::rejects::locked;
use crate::results::Results;
use crate::session::{Begun, Session};
use crate::tables::Tables;

/// The rows of one temporary table take at most the memory of a query divided by this. More rows go to disk.
const PART_FOR_A_TABLE: u64 = 4;

impl Session {
    /// Creates a view. Plans its query, so that errors are told now.
    pub(crate) fn create_view(
        &self,
        definition: &Definition,
        text: &Arc<str>,
        cancel: &Cancel,
    ) -> Result<Results> {
        let Definition { name, columns, query, existing } = definition;
        self.runner().check_is_here("CREATE VIEW")?;
        if self.tables().may_define(name, Kind::View, *existing)? {
            // Macros are those of now, as the columns are.
            let (macros, query) = (self.tables().macros().clone(), query.clone());
            let query = within_limits(cancel, move || macros.expand(&query).map(Deep::from))??;
            let (query, text) = (Arc::clone(&query), Some(text.clone()));
            let view = View { name: name.clone(), columns: columns.clone(), query, text };
            let mut tables = self.tables().clone();
            tables.add_view(view.clone())?;
            let all = Deep::from(select_all(name)?);
            self.plan_over(&tables, &all, cancel).map_err(|error| match error {
                // The text of the view is that of this statement.
                Error::Statement(error) => Error::Statement(error.outside_of(name).at_word(name)),
                error => error,
            })?;
            let mut tables = self.tables_mut();
            if tables.may_define(name, Kind::View, *existing)? {
                tables.add_view(view)?;
            }
        }
        Ok(Results::nothing())
    }

    /// Creates a temporary table from the rows that a query has now.
    pub(crate) fn create_table(
        &self,
        definition: &Definition,
        cancel: &Cancel,
        begun: Begun<'_>,
    ) -> Result<Results> {
        let Definition { name, columns, query, existing } = definition;
        self.runner().check_is_here("CREATE TEMP TABLE")?;
        if !self.tables().may_define(name, Kind::Table, *existing)? {
            return Results::counted(None, Vec::new());
        }
        let mut results = self.rows(query, None, cancel, begun)?;
        let given = results.schema().fields().len();
        if columns.len() > given {
            let message = format!(
                "the table '{name}' is given {} names of columns, and its query has {given}",
                columns.len()
            );
            return Err(wrong(name, message));
        }
        let settings = self.settings();
        let memory = settings.memory_limit.min(engine::context::memory::limit()) / PART_FOR_A_TABLE;
        let kept = Kept::of(&mut results, columns, memory, settings.workers)?;
        let mut tables = self.tables_mut();
        let is_new = tables.may_define(name, Kind::Table, *existing)?;
        if is_new {
            tables.add_kept(name, kept);
        }
        drop(tables);
        if is_new {
            locked(self.kept_rejects()).forget(name);
        }
        let warnings = results.warnings().to_vec();
        Results::counted(results.into_run(), warnings)
    }

    /// Removes views or temporary tables: all of `names`, or none if one is wrong.
    pub(crate) fn drop_names(&self, kind: Kind, names: &[String], if_exists: bool) -> Result<Results> {
        let mut tables = self.tables_mut();
        for name in names {
            match tables.kind(name) {
                None if if_exists => {}
                None => return Err(wrong(name, format!("there is no {} '{name}'", word(kind)))),
                Some(other) if other != kind => {
                    let other = word(other);
                    let help = format!("DROP {} {name}", other.to_uppercase());
                    return Err(wrong(name, format!("'{name}' is a {other}\n  help: {help}")));
                }
                Some(Kind::Table) if !tables.is_kept(name) => {
                    return Err(wrong(name, format!("the table '{name}' is a file, which is not removed")));
                }
                Some(_) => {}
            }
        }
        for name in names {
            match kind {
                Kind::View => tables.remove_view(name),
                Kind::Table => tables.remove(name),
            };
        }
        drop(tables);
        names.iter().for_each(|name| locked(self.kept_rejects()).forget(name));
        Ok(Results::nothing())
    }

    /// Creates a macro. What it stands for is looked at where it is called.
    pub(crate) fn create_macro(&self, definition: &MacroDefinition) -> Result<Results> {
        let MacroDefinition { of, existing } = definition;
        self.runner().check_is_here("CREATE MACRO")?;
        let mut tables = self.tables_mut();
        if tables.macros().get(&of.name, of.is_table).is_some() {
            match existing {
                Existing::Keep => return Ok(Results::nothing()),
                Existing::Replace => {}
                Existing::Refuse => {
                    let message = format!(
                        "there is a macro '{}' already\n  help: CREATE OR REPLACE replaces it",
                        of.name
                    );
                    return Err(wrong(&of.name, message));
                }
            }
        }
        tables.add_macro(Macro::clone(of)).map_err(|error| match error {
            Error::Statement(error) => Error::Statement(error.at_word(&of.name)),
            error => error,
        })?;
        Ok(Results::nothing())
    }

    /// Removes macros: all of `names`, or none if one is unknown.
    pub(crate) fn drop_macros(&self, is_table: bool, names: &[String], if_exists: bool) -> Result<Results> {
        let mut tables = self.tables_mut();
        let has = |name: &str, is_table: bool| tables.macros().get(name, is_table).is_some();
        let unknown = names.iter().find(|name| !has(name, true) && (is_table || !has(name, false)));
        if let Some(name) = unknown.filter(|_| !if_exists) {
            let help = match has(name, false) {
                true => format!("\n  help: it stands for a value: DROP MACRO {name}"),
                false => String::new(),
            };
            return Err(wrong(name, format!("there is no macro '{name}'{help}")));
        }
        for name in names {
            // Of one that stands for a value and one that stands for a table the former goes.
            if is_table || !tables.remove_macro(name, false) {
                tables.remove_macro(name, true);
            }
        }
        Ok(Results::nothing())
    }

    /// Changes a setting; without a value the setting gets its first value back.
    pub(crate) fn set(&self, name: &str, value: Option<&str>) -> Result<Results> {
        self.runner().check_is_here("SET")?;
        match value {
            Some(value) => self.settings_mut().set(name, value)?,
            None => self.settings_mut().reset(name, self.first_settings())?,
        }
        Ok(Results::nothing())
    }
}

impl Tables {
    /// Whether a name may be defined; `false` if it is defined already and is to stay.
    fn may_define(&self, name: &str, kind: Kind, existing: Existing) -> Result<bool> {
        let Some(there) = self.kind(name) else { return Ok(true) };
        let is_file = there == Kind::Table && !self.is_kept(name);
        let is_alike = there == kind && !is_file;
        let what = if is_file { "file" } else { word(there) };
        match existing {
            Existing::Keep => Ok(false),
            Existing::Replace if is_alike => Ok(true),
            Existing::Replace => {
                Err(wrong(name, format!("'{name}' is a {what}, which a {} does not replace", word(kind))))
            }
            Existing::Refuse => {
                let help = match is_alike {
                    true => "CREATE OR REPLACE replaces it",
                    false => "give the new one another name",
                };
                Err(wrong(name, format!("there is a {what} '{name}' already\n  help: {help}")))
            }
        }
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::View => "view",
        Kind::Table => "table",
    }
}

/// An error about a name in the statement.
fn wrong(name: &str, message: String) -> Error {
    queries::Error::Invalid(message).at_word(name).into()
}
