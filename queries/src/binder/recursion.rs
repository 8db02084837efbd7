//! Names of WITH that read themselves: `WITH RECURSIVE t AS (seed UNION term)`.
//!
//! The rows of the seed are the first ones. The term is computed in rounds. In each of them the name stands for the
//! rows of the last round, until a round gives no more. `UNION` leaves out rows that were given before. The seed
//! decides the types of the columns, and the values of the term are cast to them.

use std::cell::RefCell;

use arrow_schema::DataType;
use sqlparser::ast::{Query, SetExpr, SetOperator, SetQuantifier};

use super::from::rename;
use super::query::{begin, is_by_name, mapped, united};
use super::scope::{BoundCte, Ctes, Field};
use super::{Binder, Bound};
use crate::algebra::{ColumnId, Rel, Rounds, Stage, StageOutput, Values};
use crate::error::{Error, Result};
use crate::names::same;

/// The two parts of a recursion, and whether equal rows stay.
struct Parts<'q> {
    seed: &'q SetExpr,
    term: &'q SetExpr,
    is_all: bool,
}

/// The parts of a query that is a UNION.
fn parts(body: &SetExpr) -> Option<Parts<'_>> {
    match body {
        SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right }
            if !is_by_name(*set_quantifier) =>
        {
            let is_all = *set_quantifier == SetQuantifier::All;
            Some(Parts { seed: left, term: right, is_all })
        }
        SetExpr::Query(query) if is_bare(query) => parts(&query.body),
        _ => None,
    }
}

/// Whether a recursion can be run.
fn may_recur(cte: &Ctes<'_>, is_free: bool) -> Result<()> {
    let name = cte.name;
    if !is_unordered(cte.query) {
        return Err(Error::Unsupported(format!(
            "ORDER BY or LIMIT behind the UNION of the recursive '{name}'\n  help: put it into the query that reads \
             '{name}'"
        )));
    }
    if is_free {
        return Err(Error::Unsupported(format!(
            "the recursive '{name}', which reads columns of the query around it\n  help: give '{name}' these values as \
             columns, and join it by them"
        )));
    }
    Ok(())
}

/// Whether a query is nothing but its body.
fn is_bare(query: &Query) -> bool {
    query.with.is_none() && is_unordered(query)
}

fn is_unordered(query: &Query) -> bool {
    query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none()
}

impl Binder<'_> {
    /// What a name of WITH RECURSIVE stands for. It is a recursion, and then has stages of its own, if its query is a UNION
    /// whose second part names it.
    pub(super) fn recursive(&mut self, cte: &Ctes<'_>) -> Result<Bound> {
        self.recursive.push(cte.name.to_string());
        let bound = match (parts(&cte.query.body), &cte.query.with) {
            (Some(parts), Some(with)) => self.with(with, 0, cte.outer, cte.before, &mut |binder, ctes| {
                binder.union_of_parts(cte, &parts, ctes)
            }),
            (Some(parts), None) => self.union_of_parts(cte, &parts, cte.before),
            (None, _) => self.query(cte.query, cte.outer, cte.before),
        };
        self.recursive.pop();
        bound
    }

    /// The error of a table that there is not: a name of WITH RECURSIVE may stand where it does not mean itself.
    pub(super) fn no_table(&self, name: &str, error: Error) -> Error {
        if !self.recursive.iter().any(|known| same(known, name)) {
            return error;
        }
        Error::Name {
            message: format!("'{name}' is read where it does not stand for its own rows"),
            help: Some(format!(
                "a name of WITH RECURSIVE may read itself in the second part of a UNION: \
                 WITH RECURSIVE {name} AS (SELECT … UNION ALL SELECT … FROM {name})"
            )),
        }
    }

    fn union_of_parts(
        &mut self,
        cte: &Ctes<'_>,
        parts: &Parts<'_>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<Bound> {
        let mut seed = self.set(parts.seed, cte.outer, ctes).map_err(|error| error.at(begin(parts.seed)))?;
        rename(&mut seed.fields, &cte.columns, cte.name)?;
        let root = self.apart(seed.rel, &mut seed.fields);
        let is_free = !root.free().is_empty();
        let (first, columns) = (self.stages.len(), ids(&seed.fields));
        self.stages.push(Stage { root, columns, gives: StageOutput::Seed });
        let own = Ctes {
            name: cte.name,
            query: cte.query,
            columns: vec![],
            is_view: false,
            outer: cte.outer,
            before: ctes,
            is_recursive: false,
            materialized: None,
            bound: RefCell::new(BoundCte::Shared { stage: first, fields: seed.fields.clone() }),
        };
        let at = |error: Error| error.at(begin(parts.term));
        let term = self.set(parts.term, cte.outer, Some(&own)).map_err(at)?;
        let reads = |rel: &Rel| rel.stages().contains(&first);
        if !reads(&term.rel) && !self.stages[first..].iter().any(|stage| reads(&stage.root)) {
            return self.plain(cte, parts, ctes, first, seed.fields, term);
        }
        let is_free = is_free || !term.rel.free().is_empty();
        may_recur(cte, is_free).map_err(|error| error.at(begin(parts.seed)))?;
        let (rel, mut fields) = self.as_seed(&seed.fields, term).map_err(at)?;
        let root = self.apart(rel, &mut fields);
        let (number, columns) = (self.stages.len(), ids(&fields));
        let rounds = Rounds { seed: first, distinct: !parts.is_all, fetch: None };
        self.stages.push(Stage { root, columns, gives: StageOutput::Rounds(rounds) });
        let reader = self.reader(number, &fields);
        cte.bound.replace(BoundCte::Shared { stage: number, fields });
        Ok(reader)
    }

    /// A UNION whose second part does not name it.
    fn plain(
        &mut self,
        cte: &Ctes<'_>,
        parts: &Parts<'_>,
        ctes: Option<&Ctes<'_>>,
        first: usize,
        fields: Vec<Field>,
        term: Bound,
    ) -> Result<Bound> {
        // Nothing reads the stage: the relation has a place of its own again.
        let gives = StageOutput::Rows { is_asked: false };
        let rel = match self.stages.get_mut(first) {
            Some(stage) => {
                std::mem::replace(stage, Stage { root: Values::one(), columns: vec![], gives }).root
            }
            None => Values::one(),
        };
        let sides = vec![Bound { rel, fields }, term];
        let aligned = self.aligned(SetOperator::Union, sides);
        let (inputs, fields) = aligned.map_err(|error| error.at(begin(parts.term)))?;
        let bound = united(inputs, fields, parts.is_all);
        let query = cte.query;
        let range = self.range(query.limit_clause.as_ref(), query.fetch.as_ref(), ctes)?;
        let rel = self.ordered(bound.rel, &bound.fields, query.order_by.as_ref(), cte.outer, ctes)?;
        Ok(Bound { rel: self.limited(rel, range)?, fields: bound.fields })
    }

    /// The term of a recursion with as many columns as the seed, of the same types, under the seed's names.
    fn as_seed(&mut self, seed: &[Field], term: Bound) -> Result<(Rel, Vec<Field>)> {
        if seed.len() != term.fields.len() {
            return Err(Error::Invalid(format!(
                "UNION of queries with {} and {} columns\n  help: both have to have as many columns",
                seed.len(),
                term.fields.len()
            )));
        }
        let (mut casts, mut fields) = (Vec::new(), Vec::with_capacity(seed.len()));
        for (field, given) in seed.iter().zip(&term.fields) {
            let (to, from) = (self.columns.get(field.id).data_type.clone(), self.columns.read(given.id));
            let mut id = given.id;
            if from.data_type != to {
                if to == DataType::Null {
                    return Err(Error::Invalid(format!(
                        "'{0}' is NULL in the first part of a recursion, which decides its type\n  help: give it a type: \
                         CAST(NULL AS BIGINT) AS {0}",
                        field.name
                    )));
                }
                let cast = self.types.cast(from, &to, false)?;
                id = self.columns.add(&field.name, to);
                casts.push((id, cast));
            }
            fields.push(Field { name: field.name.clone(), id });
        }
        Ok((mapped(term.rel, casts), fields))
    }
}

fn ids(fields: &[Field]) -> Vec<ColumnId> {
    fields.iter().map(|field| field.id).collect()
}
