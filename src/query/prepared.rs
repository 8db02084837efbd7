//! From a query to its plan.

use std::sync::Arc;

use queries::{Catalog, Plan, parse};

use super::Session;
use crate::planning::within_limits;

/// A query with its plan, and what other processes need to make the same one.
pub struct Prepared {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Whether it is that of a SUMMARIZE, which is made of the statement's own.
    pub is_summary: bool,
    /// Its tables.
    pub catalog: Catalog,
    /// What planning depended on besides.
    pub planning: queries::Settings,
}

impl Prepared {
    /// Plans a query over these tables.
    pub fn new(
        query: &parse::Query,
        catalog: Catalog,
        planning: &queries::Settings,
    ) -> queries::Result<Prepared> {
        let plan = within_limits(|| queries::plan(query, &catalog, planning))?;
        Ok(Prepared { plan, is_summary: false, catalog, planning: planning.clone() })
    }
}

impl Session<'_> {
    /// The tables of these names, all of whose files were looked at.
    pub(super) fn catalog(&self, names: &[String]) -> anyhow::Result<Catalog> {
        match &self.runner {
            Some(runner) => runner.catalog(names),
            None => self.tables.catalog(names, false),
        }
    }

    /// Plans a query.
    pub(super) fn prepare(
        &self,
        query: &parse::Query,
        planning: &queries::Settings,
    ) -> anyhow::Result<Prepared> {
        Ok(Prepared::new(query, self.catalog(&parse::tables(query)?)?, planning)?)
    }
}
