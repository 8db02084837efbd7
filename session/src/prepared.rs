//! A statement that is parsed once, and run with values in the place of its parameters.

use arrow_schema::SchemaRef;
use engine::context::cancel::Cancel;
use engine::context::stack;
use queries::parameters::{self, Parameter, Values};

use crate::error::{Error, Result};
use crate::parsed::{Parsed, parse};
use crate::results::Results;
use crate::session::Session;

/// A statement of a session. It may be run several times, also at once. Each run plans it over the files as they are
/// then.
#[derive(Clone)]
pub struct Prepared<'a> {
    session: &'a Session,
    statement: Parsed,
}

impl Session {
    /// Parses a statement, with or without parameters: `?`, `$1` or `$name`.
    ///
    /// ```
    /// use session::{Session, Settings, Values};
    ///
    /// # fn main() -> session::Result<()> {
    /// let session = Session::new(Settings::default());
    /// let between = session.prepare("SELECT count(*) FROM range(100) WHERE range BETWEEN ? AND ?")?;
    /// for batch in between.bind(&Values::of([5.into(), 7.into()]))?.execute()? {
    ///     println!("{:?}", batch?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The statement is wrong, or too large.
    pub fn prepare(&self, sql: &str) -> Result<Prepared<'_>> {
        Ok(Prepared { session: self, statement: parse(sql)? })
    }
}

impl<'a> Prepared<'a> {
    /// The parameters, each once.
    ///
    /// # Errors
    /// `?` is used beside `$1`, or a parameter is neither a number nor a name.
    pub fn parameters(&self) -> Result<Vec<Parameter>> {
        let parameters = stack::deep(|| parameters::parameters(&self.statement))?;
        parameters.map_err(|error| self.statement.shown(error.into()))
    }

    /// The statement with these values.
    ///
    /// # Errors
    /// A parameter has no value, a value has no parameter, or a value is of a type that has no literal.
    pub fn bind(&self, values: &Values) -> Result<Prepared<'a>> {
        let bound = stack::deep(|| parameters::bind(&self.statement, values))?;
        let bound = bound.map_err(|error| self.statement.shown(error.into()))?;
        let statement = match self.parameters()?.is_empty() {
            true => self.statement.clone(),
            false => self.statement.with_values(bound),
        };
        Ok(Prepared { session: self.session, statement })
    }

    /// The columns of the result. Plans the query, and does not run it.
    ///
    /// # Errors
    /// Errors of planning.
    pub fn schema(&self) -> Result<SchemaRef> {
        self.schema_until(&Cancel::default())
    }

    /// As [`Prepared::schema`], with cancel.
    ///
    /// # Errors
    /// As [`Prepared::schema`], and the cancel.
    pub fn schema_until(&self, cancel: &Cancel) -> Result<SchemaRef> {
        self.session.placed(&self.statement, self.session.columns_of(&self.statement, cancel))
    }

    /// The plan of the query, one line for each operator, as EXPLAIN shows it.
    ///
    /// # Errors
    /// Errors of planning, and a statement without a query.
    pub fn explain(&self) -> Result<Vec<String>> {
        let none = || Error::Settings("the statement has no query, and so no plan".into());
        let query = self.statement.query().ok_or_else(none)?;
        self.session.placed(&self.statement, self.session.plan_lines(&query, &Cancel::default()))
    }

    /// Runs the statement.
    ///
    /// # Errors
    /// As [`Session::execute`].
    pub fn execute(&self) -> Result<Results> {
        self.execute_until(&Cancel::default())
    }

    /// Runs the statement until its end or a cancel.
    ///
    /// # Errors
    /// As [`Session::execute_until`].
    pub fn execute_until(&self, cancel: &Cancel) -> Result<Results> {
        self.session.run(&self.statement, cancel, &mut |_, _| ())
    }
}
