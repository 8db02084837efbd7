//! The names of the columns that queries and relations give, told from the text and the catalog.
//!
//! Two columns of a result may have one name. In a relation they may not, since nobody could tell them apart: of
//! `(SELECT 1 AS a, 2 AS a) t` the second column is `a_1`, as in DuckDB. The planner has names of its own for it, which
//! no query could know; here such a relation is given a list of its columns' names.
//!
//! What is known of the relations also says what a name without a table's before it means ([`scopes`]), which columns
//! `*` stands for ([`items`]), and what NATURAL joins.

mod items;
mod scopes;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, Join, JoinConstraint, JoinOperator, Query, Select, SelectFlavor, SetExpr, TableAlias,
    TableAliasColumnDef, TableFactor, TableFunctionArgs, TableWithJoins, VisitMut, VisitorMut,
};

use crate::error::{Error, Result};
use crate::names::Names;
use crate::parse;
use crate::rewrite::using::constraint;
use crate::visits;
use crate::words::relation_name;
use items::{expand, last, selected};
use scopes::{Aliases, aliases, by_name};

/// The names of columns, where the text tells them.
type Columns = Option<Vec<String>>;

/// The columns of the CTEs that a query sees, by their lower-case names.
type Ctes = BTreeMap<String, Columns>;

/// Tells equal columns of each relation apart. Gives the names of the result's columns, and the names that are new.
pub fn tell_apart(query: &mut Query, names: &Names) -> Result<(Columns, Vec<String>)> {
    let mut naming =
        Naming { names, new: Vec::new(), relations: 0, scopes: Vec::new(), last: None, ambiguous: None };
    let columns = naming.query(query, &Ctes::new());
    match naming.ambiguous {
        None => Ok((columns, naming.new)),
        Some(name) => Err(Error::ambiguous(&name)),
    }
}

struct Naming<'a> {
    names: &'a Names,
    /// Names that were given to columns.
    new: Vec<String>,
    /// How many relations without an alias were given one.
    relations: usize,
    /// The relations of the SELECTs around, the outermost first.
    scopes: Vec<Vec<Relation>>,
    /// Those of the SELECT that was the last to be left.
    last: Option<Vec<Relation>>,
    /// A name that more than one relation has.
    ambiguous: Option<String>,
}

/// A relation of FROM.
struct Relation {
    name: Option<String>,
    columns: Columns,
    /// Columns that `*` leaves out, because a relation before it has them.
    merged: BTreeSet<String>,
    /// Columns with which columns of later relations have been merged.
    first: BTreeSet<String>,
    /// Columns of which `*` gives another value than that of the first relation: RIGHT and FULL joins have merged them.
    differs: BTreeSet<String>,
}

impl Relation {
    /// A relation of which nothing is known.
    fn unknown() -> Relation {
        Relation {
            name: None,
            columns: None,
            merged: BTreeSet::new(),
            first: BTreeSet::new(),
            differs: BTreeSet::new(),
        }
    }

    /// What `*` gives of it.
    fn shown(&self) -> Columns {
        let columns = self.columns.as_ref()?.iter();
        Some(columns.filter(|c| !self.merged.contains(&c.to_lowercase())).cloned().collect())
    }
}

/// What `*` gives of relations.
fn all(relations: &[Relation]) -> Columns {
    relations.iter().map(Relation::shown).collect::<Option<Vec<_>>>().map(|columns| columns.concat())
}

impl Naming<'_> {
    fn query(&mut self, query: &mut Query, ctes: &Ctes) -> Columns {
        let mut ctes = ctes.clone();
        for cte in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            let columns = self.query(&mut cte.query, &ctes);
            let columns = self.aliased(&mut cte.alias, columns);
            ctes.insert(cte.alias.name.value.to_lowercase(), columns);
        }
        let columns = self.body(&mut query.body, &ctes);
        self.order_by(query, &columns, &ctes);
        columns
    }

    fn body(&mut self, body: &mut SetExpr, ctes: &Ctes) -> Columns {
        match body {
            SetExpr::Select(select) => self.select(select, ctes),
            SetExpr::Query(query) => self.query(query, ctes),
            SetExpr::SetOperation { left, right, .. } => {
                let columns = self.body(left, ctes);
                self.body(right, ctes);
                columns
            }
            SetExpr::Values(values) => {
                self.inside(values, ctes);
                let width = values.rows.first()?.len();
                Some((1..=width).map(|i| format!("column{i}")).collect())
            }
            _ => None,
        }
    }

    fn select(&mut self, select: &mut Select, ctes: &Ctes) -> Columns {
        let mut relations = Vec::new();
        for item in &mut select.from {
            relations.extend(self.item(item, ctes));
        }
        self.scopes.push(relations);
        self.clause(&mut select.distinct, ctes, Aliases::new());
        self.clause(&mut select.projection, ctes, Aliases::new());
        self.clause(&mut select.selection, ctes, Aliases::new());
        let named = aliases(select);
        self.clause(&mut select.group_by, ctes, named.clone());
        self.clause(&mut select.having, ctes, named);
        let relations = self.scopes.pop().unwrap_or_default();
        let columns = match select.flavor {
            SelectFlavor::FromFirstNoSelect => all(&relations),
            _ => {
                expand(&mut select.projection, &relations);
                let columns = select.projection.iter().map(|item| selected(item, &relations));
                columns.collect::<Option<Vec<_>>>().map(|columns| columns.concat())
            }
        };
        self.last = Some(relations);
        columns
    }

    /// The subqueries of a clause that names no columns of a scope of its own.
    fn inside(&mut self, clause: &mut impl VisitMut, ctes: &Ctes) {
        // It never breaks off.
        let _ = visits::change(clause, &mut Subqueries { naming: self, ctes, aliases: None, depth: 0 });
    }

    /// The subqueries of a clause, and the names in it, which are those of the innermost scope or such aliases.
    fn clause(&mut self, clause: &mut impl VisitMut, ctes: &Ctes, aliases: Aliases) {
        // It never breaks off.
        let _ =
            visits::change(clause, &mut Subqueries { naming: self, ctes, aliases: Some(aliases), depth: 0 });
    }

    /// The relations of an item of FROM.
    fn item(&mut self, item: &mut TableWithJoins, ctes: &Ctes) -> Vec<Relation> {
        let mut relations = self.factor(&mut item.relation, ctes);
        for join in &mut item.joins {
            self.join(join, &mut relations, ctes);
        }
        relations
    }

    /// Adds the relations of a join to those that stand before it.
    fn join(&mut self, join: &mut Join, left: &mut Vec<Relation>, ctes: &Ctes) {
        let mut right = self.factor(&mut join.relation, ctes);
        let differs = matches!(
            join.join_operator,
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) | JoinOperator::FullOuter(_)
        );
        let mut constraint = constraint(&mut join.join_operator);
        if let Some(constraint) = &mut constraint {
            by_name(constraint, left, &right);
        }
        match constraint {
            Some(JoinConstraint::On(condition)) => {
                let border = left.len();
                let mut both = std::mem::take(left);
                both.append(&mut right);
                self.scopes.push(both);
                self.clause(condition, ctes, Aliases::new());
                *left = self.scopes.pop().unwrap_or_default();
                right = left.split_off(border);
            }
            Some(JoinConstraint::Using(columns)) => {
                let merged = columns.iter().filter_map(|column| Some(last(column)?.to_lowercase()));
                let merged: BTreeSet<String> = merged.collect();
                for relation in left.iter_mut() {
                    let of_it = relation.shown().unwrap_or_default();
                    relation
                        .first
                        .extend(of_it.iter().map(|c| c.to_lowercase()).filter(|c| merged.contains(c)));
                }
                for relation in &mut right {
                    relation.merged.extend(merged.clone());
                    if differs {
                        relation.differs.extend(merged.clone());
                    }
                }
            }
            Some(JoinConstraint::Natural) if all(left).is_none() || all(&right).is_none() => {
                right.iter_mut().for_each(|relation| relation.columns = None);
            }
            _ => {}
        }
        match &join.join_operator {
            JoinOperator::Semi(_)
            | JoinOperator::LeftSemi(_)
            | JoinOperator::Anti(_)
            | JoinOperator::LeftAnti(_) => {}
            JoinOperator::RightSemi(_) | JoinOperator::RightAnti(_) => {
                right.iter_mut().for_each(|relation| relation.merged.clear());
                *left = right;
            }
            _ => left.append(&mut right),
        }
    }

    fn factor(&mut self, factor: &mut TableFactor, ctes: &Ctes) -> Vec<Relation> {
        match factor {
            TableFactor::Table { name, alias, args, .. } => {
                let table = parse::table_name(name);
                let columns = match (args, ctes.get(&table.to_lowercase())) {
                    (Some(args), _) => self.function(&table, args),
                    (None, Some(columns)) => columns.clone(),
                    (None, None) => self.names.of_table(&table),
                };
                vec![self.relation(alias, Some(table), columns)]
            }
            TableFactor::Derived { subquery, alias, lateral, .. } => {
                if *lateral {
                    self.scopes.push(vec![Relation::unknown()]);
                }
                let columns = self.query(subquery, ctes);
                if *lateral {
                    self.scopes.pop();
                }
                vec![self.relation(alias, None, columns)]
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let relations = self.item(table_with_joins, ctes);
                match alias {
                    None => relations,
                    alias => {
                        let columns = all(&relations);
                        vec![self.relation(alias, None, columns)]
                    }
                }
            }
            // What is not known is left as it is.
            _ => vec![Relation::unknown()],
        }
    }

    /// What a table function gives.
    fn function(&self, name: &str, args: &TableFunctionArgs) -> Columns {
        let columns = parse::function_columns(name, args)?;
        Some(columns.iter().map(|column| self.names.spelling(column).to_string()).collect())
    }

    /// A relation with its alias, which it is given if it has no name: the planner would know its columns by their own names
    /// alone, which other relations may have too.
    fn relation(
        &mut self,
        alias: &mut Option<TableAlias>,
        name: Option<String>,
        columns: Columns,
    ) -> Relation {
        if alias.is_none() && name.is_none() {
            self.relations += 1;
            let name = Ident::with_quote('"', relation_name(self.relations));
            *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
        }
        let (name, columns) = match alias {
            Some(alias) => (Some(alias.name.value.clone()), self.aliased(alias, columns)),
            None => (name, columns),
        };
        Relation { name, columns, ..Relation::unknown() }
    }

    /// The columns of a relation under an alias, which may name the first of them.
    fn aliased(&mut self, alias: &mut TableAlias, columns: Columns) -> Columns {
        let named = || alias.columns.iter().map(|column| column.name.value.clone());
        let Some(columns) = columns else {
            return if alias.columns.is_empty() { None } else { Some(named().collect()) };
        };
        if alias.columns.len() > columns.len() {
            // The planner says it.
            return Some(columns);
        }
        let mut columns: Vec<String> =
            named().chain(columns.iter().skip(alias.columns.len()).cloned()).collect();
        let told_apart = match repeats(&columns) {
            true => schema::names::distinct(columns.iter().map(String::as_str)),
            false => None,
        };
        if let Some(told_apart) = told_apart {
            let new = told_apart.iter().zip(&columns).filter(|(new, old)| new != old);
            self.new.extend(new.map(|(new, _)| new.clone()));
            columns = told_apart;
        } else if alias.columns.is_empty() {
            return Some(columns);
        }
        let defined = alias.columns.iter().map(|column| column.data_type.clone());
        let defined: Vec<_> = defined.chain(std::iter::repeat(None)).take(columns.len()).collect();
        alias.columns = columns
            .iter()
            .zip(defined)
            .map(|(name, data_type)| TableAliasColumnDef { name: Ident::with_quote('"', name), data_type })
            .collect();
        Some(columns)
    }
}

/// Whether two names are the same to a query.
fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// Whether two names are equal. Names that differ by case alone are told apart by it.
fn repeats(names: &[String]) -> bool {
    let mut seen = BTreeSet::new();
    names.iter().any(|name| !seen.insert(name))
}

/// The outermost subqueries of a clause, and the names outside of them.
struct Subqueries<'a, 'b> {
    naming: &'a mut Naming<'b>,
    ctes: &'a Ctes,
    /// The aliases that the clause may name; none if names are left as they are.
    aliases: Option<Aliases>,
    depth: usize,
}

impl VisitorMut for Subqueries<'_, '_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if self.depth == 0 {
            self.naming.query(query, self.ctes);
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if self.depth == 0
            && let Some(aliases) = &self.aliases
        {
            self.naming.settle(expr, aliases);
        }
        ControlFlow::Continue(())
    }
}
