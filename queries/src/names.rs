//! Identifiers to one spelling each, so that names match without regard to case.
//!
//! DataFusion lower-cases what is not quoted and then matches exactly, so that a column `sourceIP` of a file would
//! not be found. Here every identifier of the query (columns, aliases, names of tables and CTEs) is replaced by one
//! canonical spelling before it is bound: that of the catalog where a table has such a column, else the one in which
//! an alias is defined. The planner then matches exactly. Two columns of one table that differ by case alone are
//! reached by their exact spelling in quotes; anything else that could mean both is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, Join, JoinConstraint, ObjectName, ObjectNamePart, Query, Select,
    SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor, VisitorMut,
    WildcardAdditionalOptions,
};

use crate::catalog::Catalog;
use crate::columns;
use crate::error::{Error, Result};
use crate::parse;
use crate::rewrite::using::constraint;
use crate::visits;

/// The spellings that a query uses.
#[derive(Debug, Clone, Default)]
pub struct Names {
    canonical: BTreeMap<String, String>,
    /// Lower-case names that one table has in several spellings.
    ambiguous: BTreeMap<String, BTreeSet<String>>,
    /// The columns of each table in their canonical spellings, by the table's name.
    tables: BTreeMap<String, Vec<String>>,
    /// Tables whose names differ from another one's by case alone: files of such paths.
    exact: BTreeSet<String>,
    /// Lower-case names of CTEs, which may hide tables.
    ctes: BTreeSet<String>,
    /// The result's columns, where the text tells them.
    result: Option<Vec<String>>,
}

/// Replaces each identifier of `query` by its canonical spelling.
pub fn resolve(query: &Query, catalog: &Catalog) -> Result<(Query, Names)> {
    let mut names = Names::default();
    let mut tables = BTreeMap::new();
    for name in parse::tables(query)? {
        let table = catalog.table(&name)?;
        tables.insert(table.name.as_str(), table);
    }
    for table in tables.values() {
        let mut of_table: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for field in table.schema.fields() {
            of_table.entry(field.name().to_lowercase()).or_default().insert(field.name().clone());
            names.define(field.name());
        }
        names.ambiguous.extend(of_table.into_iter().filter(|(_, spellings)| spellings.len() > 1));
        names.define(&table.name);
    }
    for name in parse::columns_of_functions(query) {
        names.define(&name);
    }
    for table in tables.values() {
        let columns = names.schema(&table.schema).fields().iter().map(|f| f.name().clone()).collect();
        let lower = table.name.to_lowercase();
        let name = match tables.keys().filter(|name| name.to_lowercase() == lower).count() {
            1 => names.spelling(&table.name).to_string(),
            _ => {
                names.exact.insert(table.name.clone());
                table.name.clone()
            }
        };
        names.tables.insert(name, columns);
    }
    let mut query = query.clone();
    // It never breaks off.
    let _ = visits::change(&mut query, &mut Definitions { names: &mut names });
    rewrite(&mut query, &names)?;
    let (result, new) = columns::tell_apart(&mut query, &names)?;
    if !new.is_empty() {
        new.iter().for_each(|name| names.define(name));
        rewrite(&mut query, &names)?;
    }
    names.result = result;
    Ok((query, names))
}

/// Gives each identifier its canonical spelling.
fn rewrite(query: &mut Query, names: &Names) -> Result<()> {
    match visits::change(query, &mut Rewrite { names }) {
        ControlFlow::Break(e) => Err(e),
        ControlFlow::Continue(()) => Ok(()),
    }
}

impl Names {
    fn define(&mut self, name: &str) {
        self.canonical.entry(name.to_lowercase()).or_insert_with(|| name.to_string());
    }

    fn apply(&self, ident: &mut Ident) -> ControlFlow<Error> {
        if self.exact.contains(&ident.value) {
            return ControlFlow::Continue(());
        }
        let lower = ident.value.to_lowercase();
        if let Some(spellings) = self.ambiguous.get(&lower) {
            if ident.quote_style.is_some() && spellings.contains(&ident.value) {
                return ControlFlow::Continue(());
            }
            let list = spellings.iter().map(|s| format!("\"{s}\"")).collect::<Vec<_>>().join(", ");
            return ControlFlow::Break(Error::Name {
                message: format!("column '{}' is ambiguous: the table has {list}", ident.value),
                help: Some("write the one that you mean in double quotes".into()),
            });
        }
        if let Some(canonical) = self.canonical.get(&lower) {
            ident.value.clone_from(canonical);
        }
        ControlFlow::Continue(())
    }

    /// The canonical spelling of a name.
    pub fn spelling<'a>(&'a self, name: &'a str) -> &'a str {
        self.canonical.get(&name.to_lowercase()).map_or(name, String::as_str)
    }

    /// The columns of a table of the catalog.
    pub fn columns(&self, table: &str) -> Option<Vec<String>> {
        match self.ctes.contains(&table.to_lowercase()) {
            true => None,
            false => self.tables.get(table).cloned(),
        }
    }

    /// A table's schema in the spellings of the query.
    pub fn schema(&self, schema: &SchemaRef) -> SchemaRef {
        let fields: Vec<Field> = schema
            .fields()
            .iter()
            .map(|f| {
                let lower = f.name().to_lowercase();
                match self.canonical.get(&lower) {
                    Some(canonical) if !self.ambiguous.contains_key(&lower) => {
                        f.as_ref().clone().with_name(canonical)
                    }
                    _ => f.as_ref().clone(),
                }
            })
            .collect();
        Schema::new(fields).into()
    }

    /// The columns of a table of the catalog, even if a CTE of the query has its name.
    pub fn of_table(&self, table: &str) -> Option<Vec<String>> {
        self.tables.get(table).cloned()
    }

    /// The names of the result's columns, where the text tells them.
    pub fn result(&self) -> Option<&Vec<String>> {
        self.result.as_ref()
    }
}

/// First pass: the names that the query itself defines.
struct Definitions<'a> {
    names: &'a mut Names,
}

impl Definitions<'_> {
    fn alias(&mut self, alias: &TableAlias) {
        self.names.define(&alias.name.value);
        for column in &alias.columns {
            self.names.define(&column.name.value);
        }
    }
}

/// Names the columns of a subquery that have no alias by their text, as the query around it may do.
fn name_columns(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => name_items(select),
        SetExpr::Query(query) => name_columns(&mut query.body),
        SetExpr::SetOperation { left, .. } => name_columns(left),
        _ => {}
    }
}

fn name_items(select: &mut Select) {
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        {
            let alias = Ident::with_quote('"', expr.to_string());
            let expr = std::mem::replace(expr, Expr::Identifier(Ident::new("")));
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
}

impl VisitorMut for Definitions<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        for cte in query.with.iter_mut().flat_map(|w| &mut w.cte_tables) {
            self.alias(&cte.alias);
            self.names.ctes.insert(cte.alias.name.value.to_lowercase());
            name_columns(&mut cte.query.body);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        // The planner's own names would show beside those of `*`.
        let wildcard =
            |i: &SelectItem| matches!(i, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        if select.projection.iter().any(wildcard) {
            name_items(select);
        }
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.names.define(&alias.value);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        if let Some(alias) = alias_of(factor) {
            let alias = alias.clone();
            self.alias(&alias);
        }
        if let TableFactor::Derived { subquery, .. } = factor {
            name_columns(&mut subquery.body);
        }
        ControlFlow::Continue(())
    }
}

fn alias_of(factor: &mut TableFactor) -> Option<&mut TableAlias> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_mut(),
        _ => None,
    }
}

/// Second pass: every use and definition in the canonical spelling.
struct Rewrite<'a> {
    names: &'a Names,
}

impl Rewrite<'_> {
    fn object(&self, name: &mut ObjectName) -> ControlFlow<Error> {
        for part in &mut name.0 {
            if let ObjectNamePart::Identifier(ident) = part {
                self.names.apply(ident)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// The columns that `*` replaces or leaves out.
    fn wildcard(&self, options: &mut WildcardAdditionalOptions) -> ControlFlow<Error> {
        for element in options.opt_replace.iter_mut().flat_map(|r| &mut r.items) {
            self.names.apply(&mut element.column_name)?;
        }
        match &mut options.opt_exclude {
            Some(ExcludeSelectItem::Single(name)) => self.object(name),
            Some(ExcludeSelectItem::Multiple(names)) => {
                names.iter_mut().try_for_each(|name| self.object(name))
            }
            None => ControlFlow::Continue(()),
        }
    }

    fn using(&self, join: &mut Join) -> ControlFlow<Error> {
        match constraint(&mut join.join_operator) {
            Some(JoinConstraint::Using(columns)) => columns.iter_mut().try_for_each(|c| self.object(c)),
            _ => ControlFlow::Continue(()),
        }
    }

    fn alias(&self, alias: &mut TableAlias) -> ControlFlow<Error> {
        self.names.apply(&mut alias.name)?;
        for column in &mut alias.columns {
            self.names.apply(&mut column.name)?;
        }
        ControlFlow::Continue(())
    }
}

impl VisitorMut for Rewrite<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        for cte in query.with.iter_mut().flat_map(|w| &mut w.cte_tables) {
            self.alias(&mut cte.alias)?;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        for item in &mut select.projection {
            match item {
                SelectItem::ExprWithAlias { alias, .. } => self.names.apply(alias)?,
                SelectItem::QualifiedWildcard(kind, options) => {
                    if let SelectItemQualifiedWildcardKind::ObjectName(name) = kind {
                        self.object(name)?;
                    }
                    self.wildcard(options)?;
                }
                SelectItem::Wildcard(options) => self.wildcard(options)?,
                _ => {}
            }
        }
        for join in select.from.iter_mut().flat_map(|t| &mut t.joins) {
            self.using(join)?;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        if let Some(alias) = alias_of(factor) {
            self.alias(alias)?;
        }
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            table_with_joins.joins.iter_mut().try_for_each(|join| self.using(join))?;
        }
        if let TableFactor::Table { name, args: None, .. } = factor {
            let mut ident = Ident::with_quote('"', parse::table_name(name));
            self.names.apply(&mut ident)?;
            *name = ObjectName::from(vec![ident]);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        match expr {
            Expr::Identifier(ident) => self.names.apply(ident)?,
            Expr::CompoundIdentifier(parts) => {
                for part in parts {
                    self.names.apply(part)?;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
