//! PIVOT without a list of values: a query asks for those of each column before the statement is planned.

use std::sync::Arc;

use arrow_array::Array;
use engine::context::cancel::Cancel;
use engine::context::stack::Deep;
use formats::rows::cells::Cells;
use queries::parse::{Query, pivots, tables};

use crate::error::Result;
use crate::limits::within_limits;
use crate::session::Session;

impl Session {
    /// The query with the values of its PIVOTs, and the tables that it names.
    ///
    /// # Errors
    /// Errors of the queries of values, or there are too many.
    pub(crate) fn listed(&self, query: Deep<Query>, cancel: &Cancel) -> Result<(Deep<Query>, Vec<String>)> {
        let mut query = query;
        loop {
            let looked_at = query.clone();
            let (names, values) = within_limits(cancel, move || {
                let values = pivots::next_unlisted(&looked_at)?;
                Ok::<_, queries::Error>((tables(&looked_at), values.map(Deep::from)))
            })??;
            let Some(values) = values else { return Ok((query, names)) };
            if self.runner().processes() > 1 {
                let what = "PIVOT without its values where several processes run the queries\n  \
                            help: list them: ON column IN ('a', 'b')";
                return Err(queries::Error::Unsupported(what.into()).at_word("PIVOT").into());
            }
            let texts = self.texts_of(&values, cancel)?;
            if texts.len() > pivots::MOST_VALUES {
                let message = format!(
                    "a column of PIVOT has more than {} values\n  help: list those that are wanted: ON column IN \
                     ('a', 'b'), or turn a coarser expression: ON year(day)",
                    pivots::MOST_VALUES
                );
                return Err(queries::Error::Invalid(message).at_word("PIVOT").into());
            }
            query = within_limits(cancel, move || {
                let mut listed: Arc<Query> = (*query).clone();
                pivots::list(Arc::make_mut(&mut listed), &texts);
                Deep::from(listed)
            })?;
        }
    }

    /// The texts that the only column of a query has.
    fn texts_of(&self, query: &Arc<Query>, cancel: &Cancel) -> Result<Vec<String>> {
        let clocks = self.settings().clocks();
        let mut texts = Vec::new();
        for batch in self.rows(query, None, cancel, &mut |_, _| ())? {
            let batch = batch?;
            let Some(column) = batch.columns().first() else { continue };
            let cells = Cells::new(column)?.in_zone(clocks);
            for row in 0..column.len() {
                let mut text = Vec::new();
                cells.print(row, &mut text);
                texts.push(String::from_utf8_lossy(&text).into_owned());
            }
        }
        Ok(texts)
    }
}

/// Whether a PIVOT of a query has no list of values.
///
/// # Errors
/// Errors of looking at it.
pub(crate) fn is_unlisted(query: &Deep<Query>, cancel: &Cancel) -> Result<bool> {
    let query = query.clone();
    Ok(within_limits(cancel, move || pivots::next_unlisted(&query).map(|values| values.map(Deep::from)))??
        .is_some())
}
