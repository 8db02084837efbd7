//! Views: names of queries. A query that reads some is given them as CTEs, before its own. So a view sees none of the
//! CTEs of the query that reads it.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{Cte, Ident, SetExpr, TableAlias, TableAliasColumnDef, With};
use sqlparser::tokenizer::Span;

use crate::bounds;
use crate::error::{Error, Result};
use crate::parse::{Query, tables};

/// A view.
#[derive(Debug, Clone)]
pub struct View {
    /// Its name.
    pub name: String,
    /// Other names for its first columns.
    pub columns: Vec<String>,
    /// The query.
    pub query: Arc<Query>,
    /// The text that defines it, for errors in it.
    pub text: Option<Arc<str>>,
}

/// Views by their names in lower case. None reads itself.
#[derive(Debug, Clone, Default)]
pub struct Views(BTreeMap<String, View>);

impl Views {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The view of this name.
    pub fn get(&self, name: &str) -> Option<&View> {
        self.0.get(&name.to_lowercase())
    }

    /// The names of all, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(|view| view.name.as_str())
    }

    /// Adds a view, or replaces the one of this name.
    ///
    /// # Errors
    /// It reads itself, by way of others perhaps.
    pub fn insert(&mut self, view: View) -> Result<()> {
        let key = view.name.to_lowercase();
        if self.read_by(&view.query).contains(&key) {
            return Err(Error::Invalid(format!("the view '{}' would read itself", view.name)));
        }
        self.0.insert(key, view);
        Ok(())
    }

    /// Forgets the view of this name; false if there is none.
    pub fn remove(&mut self, name: &str) -> bool {
        self.0.remove(&name.to_lowercase()).is_some()
    }

    /// The query with the views that it reads.
    ///
    /// # Errors
    /// It names a CTE as a view that it reads, or is too large with its views.
    pub fn expand(&self, query: &Arc<Query>) -> Result<Arc<Query>> {
        if self.0.is_empty() {
            return Ok(query.clone());
        }
        let mut ctes = Vec::new();
        for name in self.read_by(query) {
            ctes.extend(self.0.get(&name).map(cte));
        }
        if ctes.is_empty() {
            return Ok(query.clone());
        }
        let mut query = Query::clone(query);
        let none = || With { with_token: AttachedToken::empty(), recursive: false, cte_tables: Vec::new() };
        let with = query.with.get_or_insert_with(none);
        let name = |cte: &Cte| cte.alias.name.value.to_lowercase();
        if let Some(own) = with.cte_tables.iter().find(|own| ctes.iter().any(|view| name(view) == name(own)))
        {
            return Err(Error::Unsupported(format!(
                "a CTE that is called '{0}' as a view that the statement reads\n  help: give the CTE another name",
                own.alias.name.value
            ))
            .at(own.alias.name.span));
        }
        if with.recursive {
            // The query of a view may name a table as a name of WITH RECURSIVE, which all of its queries see.
            let inner = query;
            query = Query {
                with: Some(With { cte_tables: ctes, ..none() }),
                body: Box::new(SetExpr::Query(Box::new(inner))),
                order_by: None,
                limit_clause: None,
                fetch: None,
                locks: vec![],
                for_clause: None,
                settings: None,
                format_clause: None,
                pipe_operators: vec![],
            };
        } else {
            ctes.append(&mut with.cte_tables);
            with.cte_tables = ctes;
        }
        bounds::check_tree(&query)?;
        Ok(Arc::new(query))
    }

    /// The keys of what a query reads by way of views, those that others read before them: views, and names that become
    /// views later.
    fn read_by(&self, query: &Query) -> Vec<String> {
        let lower =
            |query: &Query| -> Vec<String> { tables(query).iter().map(|name| name.to_lowercase()).collect() };
        let (mut done, mut open) = (Vec::new(), vec![(String::new(), lower(query))]);
        while let Some((name, reads)) = open.last_mut() {
            match reads.pop() {
                Some(next) if done.contains(&next) => {}
                Some(next) => {
                    let reads = self.0.get(&next).map_or(Vec::new(), |view| lower(&view.query));
                    open.push((next, reads));
                }
                None => {
                    done.push(std::mem::take(name));
                    open.pop();
                }
            }
        }
        // The query itself has no name.
        done.pop();
        done
    }
}

/// Whether a CTE of a query with its views is a view: it stands nowhere in the text of the query.
pub(crate) fn is_view(cte: &Cte) -> bool {
    cte.alias.name.span == Span::empty()
}

/// A view as a CTE.
fn cte(view: &View) -> Cte {
    let quoted = |name: &String| Ident::with_quote('"', name);
    let column = |name: &String| TableAliasColumnDef { name: quoted(name), data_type: None };
    Cte {
        alias: TableAlias {
            explicit: false,
            name: quoted(&view.name),
            columns: view.columns.iter().map(column).collect(),
            at: None,
        },
        query: Box::new(Query::clone(&view.query)),
        from: None,
        materialized: None,
        closing_paren_token: AttachedToken::empty(),
    }
}
