//! Makes the plan of a query.

use std::sync::Arc;

use engine::context::cancel::Cancel;
use engine::context::stack::Deep;
use queries::parse::Query;
use queries::{Catalog, Plan};

use crate::error::Result;
use crate::kept::Kept;
use crate::limits::within_limits;
use crate::parsed::{Parsed, no_text};
use crate::progress::Total;
use crate::tables::Opened;

/// A query with its plan, and all that other processes need to make the same plan.
#[derive(Debug, Clone)]
pub struct PlannedQuery {
    /// The plan.
    pub plan: Deep<Plan>,
    /// The text of the statement, which other processes read; `None` if it has values in the place of its parameters.
    pub text: Option<Arc<str>>,
    /// Whether the plan is that of a SUMMARIZE, which is made from the plan of the statement.
    pub is_summary: bool,
    /// Its tables.
    pub catalog: Catalog,
    /// What the plan reads.
    pub total: Total,
    /// The settings of planning.
    pub planning: queries::Settings,
    /// Whether the query may be planned and run anew while it has given no row, because not all files were looked at.
    pub may_run_anew: bool,
    /// Rows of the session that the query reads. They stay as long as it runs.
    pub(crate) kept: Vec<Arc<Kept>>,
}

impl PlannedQuery {
    /// Plans a query over these tables.
    ///
    /// # Errors
    /// The statement is wrong, planning takes too long, or the query is cancelled.
    pub fn new(
        query: &Arc<Query>,
        catalog: Catalog,
        planning: &queries::Settings,
        cancel: &Cancel,
    ) -> Result<PlannedQuery> {
        let (query, tables, settings) = (query.clone(), catalog.clone(), planning.clone());
        let plan = move || queries::plan(&query, &tables, &settings).map(|plan| (Total::of(&plan), plan));
        let (total, plan) = within_limits(cancel, plan)??;
        let (plan, planning) = (plan.into(), planning.clone());
        let (is_summary, may_run_anew, kept) = (false, false, Vec::new());
        Ok(PlannedQuery { plan, text: None, is_summary, catalog, total, planning, may_run_anew, kept })
    }

    /// The same query with the text of this statement.
    pub fn of(self, statement: &Parsed) -> PlannedQuery {
        PlannedQuery { text: statement.written().cloned(), ..self }
    }

    /// The text of the statement, for other processes.
    ///
    /// # Errors
    /// The statement has values in the place of its parameters, or is not known ([`PlannedQuery::of`]).
    pub fn text(&self) -> Result<&str> {
        self.text.as_deref().ok_or_else(no_text)
    }

    /// Plans a query over tables of a session.
    pub(crate) fn over(
        query: &Arc<Query>,
        opened: Opened,
        planning: &queries::Settings,
        cancel: &Cancel,
    ) -> Result<PlannedQuery> {
        let Opened { catalog, kept } = opened;
        Ok(PlannedQuery { kept, ..PlannedQuery::new(query, catalog, planning, cancel)? })
    }
}
