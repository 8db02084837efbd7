//! FROM: tables, table functions, derived tables, joins.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion_expr::Operator;
use schema::{Source, Table};
use sqlparser::ast::{
    CteAsMaterialized, Expr as Ast, FunctionArg, FunctionArgExpr, Ident, Join as AstJoin, JoinConstraint,
    JoinOperator, Spanned, TableAlias, TableFactor, TableFunctionArgs, TableWithJoins,
};
use sqlparser::tokenizer::Span;

use super::query::mapped;
use super::scope::{BoundCte, Ctes, Env, Field, Relation, Scope};
use super::syntax::unsupported;
use super::unnest::UNNEST;
use super::{Binder, Bound, paths, sample, syntax};
use crate::algebra::{
    ColumnId, Expr, Join, JoinKind, Rel, Scan, Shared, Stage, StageOutput, Transform, Values,
};
use crate::error::{Error, Result};
use crate::names::{alias_of, same};
use crate::parse;
use crate::parse::described::{DESCRIBE, SUMMARIZE};
use crate::parse::joins::{ByOrder, by_order};

impl<'a> Binder<'a> {
    /// The relations of a FROM; one row without columns if there is none.
    pub(super) fn from(
        &mut self,
        items: &[TableWithJoins],
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<(Rel, Scope)> {
        let mut all: Option<(Rel, Scope)> = None;
        for item in items {
            all = Some(match all {
                None => self.item(item, outer, ctes)?,
                Some((left, mut scope)) => {
                    let (right, of_right) = {
                        // What stands behind LATERAL sees the items before.
                        let env = Env { outer, ctes, ..Env::of(&scope, "FROM") };
                        self.item_beside(item, outer, ctes, Some(&env))?
                    };
                    scope.append(of_right).map_err(|error| error.at(place(&item.relation)))?;
                    (joined(JoinKind::Inner, left, right, vec![]), scope)
                }
            });
        }
        Ok(all.unwrap_or_else(|| (Values::one(), Scope::default())))
    }

    fn item(
        &mut self,
        item: &TableWithJoins,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<(Rel, Scope)> {
        self.item_beside(item, outer, ctes, outer)
    }

    /// An item of FROM. `beside` is what LATERAL may name.
    fn item_beside(
        &mut self,
        item: &TableWithJoins,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
        beside: Option<&Env<'_>>,
    ) -> Result<(Rel, Scope)> {
        let mut all = self.factor(&item.relation, outer, ctes, beside)?;
        for join in &item.joins {
            let at = |error: Error| error.at(place(&join.relation));
            syntax::allowed(unsupported::join(join)).map_err(at)?;
            all = self.join(all, join, outer, ctes, beside).map_err(at)?;
        }
        Ok(all)
    }

    fn factor(
        &mut self,
        factor: &TableFactor,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
        beside: Option<&Env<'_>>,
    ) -> Result<(Rel, Scope)> {
        let all = self.factor_of(factor, outer, ctes, beside).map_err(|error| error.at(place(factor)))?;
        match sample::of(factor) {
            Some(sample) => {
                let rel = self.sampled(all.0, sample).map_err(|error| error.at(place(factor)))?;
                Ok((rel, all.1))
            }
            None => Ok(all),
        }
    }

    fn factor_of(
        &mut self,
        factor: &TableFactor,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
        beside: Option<&Env<'_>>,
    ) -> Result<(Rel, Scope)> {
        match factor {
            TableFactor::Table { name, alias, args: Some(args), .. } => {
                if let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Subquery(query)))] =
                    args.args.as_slice()
                {
                    let name = parse::table_name(name);
                    if same(&name, DESCRIBE) {
                        let described = self.described(query, outer, ctes)?;
                        return self.relation(described, Some(DESCRIBE), alias.as_ref());
                    }
                    if same(&name, SUMMARIZE) {
                        let summarized = self.summarized(query, outer, ctes)?;
                        return self.relation(summarized, Some(SUMMARIZE), alias.as_ref());
                    }
                }
                self.table_function(name, args, alias.as_ref(), beside)
            }
            TableFactor::Table { name, alias, .. } => {
                self.named(&parse::table_name(name), alias.as_ref(), ctes)
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let bound = self.query(subquery, if *lateral { beside } else { outer }, ctes)?;
                self.relation(bound, None, alias.as_ref())
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let (rel, scope) = self.item_beside(table_with_joins, outer, ctes, beside)?;
                if alias.is_none() {
                    return Ok((rel, scope));
                }
                let fields = scope.shown().iter().map(|shown| shown.field.clone()).collect();
                self.relation(Bound { rel, fields }, None, alias.as_ref())
            }
            TableFactor::UNNEST { alias, array_exprs, with_ordinality, with_offset: false, .. } => {
                self.unnest_table(array_exprs, *with_ordinality, alias.as_ref(), beside)
            }
            TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                let args = TableFunctionArgs { args: args.clone(), settings: None };
                match parse::table_name(name).to_ascii_lowercase() {
                    unnest if UNNEST.contains(&unnest.as_str()) => {
                        let lists = args.args.into_iter().map(|arg| match arg {
                            FunctionArg::Unnamed(FunctionArgExpr::Expr(list)) => Ok(list),
                            _ => Err(Error::Invalid("UNNEST takes lists".into())),
                        });
                        let lists = lists.collect::<Result<Vec<_>>>()?;
                        self.unnest_table(&lists, *with_ordinality, alias.as_ref(), beside)
                    }
                    _ => self.table_function(name, &args, alias.as_ref(), beside),
                }
            }
            other => Err(Error::Unsupported(format!("this kind of table in FROM: {other}"))),
        }
    }

    /// A table of the catalog or a name of WITH.
    pub(super) fn named(
        &mut self,
        name: &str,
        alias: Option<&TableAlias>,
        ctes: Option<&Ctes<'_>>,
    ) -> Result<(Rel, Scope)> {
        if let Some(cte) = Ctes::find(ctes, name) {
            let bound = self.cte(cte)?;
            return self.relation(bound, Some(cte.name), alias);
        }
        let table = self.catalog.table(name).map_err(|error| self.no_table(name, error))?.clone();
        let (known, is_file) = (table.name.clone(), matches!(table.source, Source::Files(_)));
        let with_paths = self.with_paths(&table);
        let has_paths = with_paths.is_some();
        let mut bound = self.scan(with_paths.unwrap_or(table), None);
        let path = if has_paths { bound.fields.pop() } else { None };
        let (rel, mut scope) = self.relation(bound, Some(&known), alias)?;
        if let Some(path) = path {
            scope = scope.with_path(path);
        }
        Ok((rel, if is_file && alias.is_none() { scope.with_stem(&known) } else { scope }))
    }

    /// A table of files with the column of paths, if the query names it. It is one table wherever it is read.
    fn with_paths(&mut self, table: &Arc<Table>) -> Option<Arc<Table>> {
        if !self.names_paths {
            return None;
        }
        if let Some(known) = self.with_paths.get(&table.name) {
            return Some(known.clone());
        }
        let with_paths = Arc::new(paths::table_with(table)?);
        self.with_paths.insert(table.name.clone(), with_paths.clone());
        Some(with_paths)
    }

    /// What a name of WITH stands for. Its rows become a stage, unless it names columns of queries around it, or the
    /// statement forbids it. Then it is bound anew wherever it is named. What is wrong in the query of a view has its
    /// place in the view's text.
    pub(super) fn cte(&mut self, cte: &Ctes<'_>) -> Result<Bound> {
        if let BoundCte::Shared { stage, fields } = &*cte.bound.borrow() {
            return Ok(self.reader(*stage, fields));
        }
        let columns_before = self.columns.len();
        let bound = match cte.is_recursive {
            true => self.recursive(cte),
            false => self.query(cte.query, cte.outer, cte.before),
        };
        let mut bound = if cte.is_view { bound.map_err(|error| error.in_view(cte.name)) } else { bound }?;
        if matches!(&*cte.bound.borrow(), BoundCte::Shared { .. }) {
            return Ok(bound);
        }
        rename(&mut bound.fields, &cte.columns, cte.name)?;
        let may_share = cte.materialized != Some(CteAsMaterialized::NotMaterialized)
            && !matches!(&*cte.bound.borrow(), BoundCte::Apart)
            && bound.rel.free().is_empty();
        if !may_share {
            if cte.materialized == Some(CteAsMaterialized::NotMaterialized) {
                self.columns.keep_apart(columns_before);
            }
            cte.bound.replace(BoundCte::Apart);
            return Ok(bound);
        }
        let Bound { rel, mut fields } = bound;
        let root = self.apart(rel, &mut fields);
        let (stage, columns) = (self.stages.len(), fields.iter().map(|field| field.id).collect());
        let is_asked = cte.materialized == Some(CteAsMaterialized::Materialized);
        self.stages.push(Stage { root, columns, gives: StageOutput::Rows { is_asked } });
        let reader = self.reader(stage, &fields);
        cte.bound.replace(BoundCte::Shared { stage, fields });
        Ok(reader)
    }

    /// Reads the rows of a stage, under columns of its own.
    pub(super) fn reader(&mut self, stage: usize, fields: &[Field]) -> Bound {
        let own = |field: &Field| {
            let id = self.columns.renamed(field.id, &field.name);
            Field { id, name: field.name.clone() }
        };
        let fields: Vec<Field> = fields.iter().map(own).collect();
        let columns = fields.iter().map(|field| field.id).collect();
        Bound { rel: Rel::Shared(Shared { stage, columns, fetch: None, facts: None }), fields }
    }

    pub(super) fn scan(&mut self, table: Arc<Table>, transform: Option<Transform>) -> Bound {
        let schema: SchemaRef = transform.as_ref().map_or(table.schema.clone(), |t| t.schema.clone());
        let fields: Vec<Field> = schema
            .fields()
            .iter()
            .map(|field| Field {
                id: self.columns.add(field.name(), field.data_type().clone()),
                name: field.name().clone(),
            })
            .collect();
        let columns = fields.iter().map(|field| field.id).collect();
        Bound { rel: Rel::Scan(Scan { table, transform, columns, bounds: vec![], fetch: None }), fields }
    }

    /// A relation under its alias or a name of its own. Equal names of columns are told apart.
    pub(super) fn relation(
        &mut self,
        bound: Bound,
        name: Option<&str>,
        alias: Option<&TableAlias>,
    ) -> Result<(Rel, Scope)> {
        let Bound { rel, mut fields } = bound;
        let hidden = name.filter(|_| alias.is_some()).map(str::to_string);
        let name = alias.map(|alias| alias.name.value.as_str()).or(name);
        if let Some(alias) = alias {
            if alias.at.is_some() || alias.columns.iter().any(|column| column.data_type.is_some()) {
                return Err(Error::Unsupported("types of columns in an alias".into()));
            }
            let columns: Vec<&Ident> = alias.columns.iter().map(|column| &column.name).collect();
            rename(&mut fields, &columns, &alias.name.value)?;
        }
        let mut seen = BTreeSet::new();
        // Names of a table that differ by case alone stay.
        let repeats = fields.iter().any(|field| !seen.insert(&field.name));
        if repeats
            && let Some(distinct) = schema::names::distinct(fields.iter().map(|field| field.name.as_str()))
        {
            fields.iter_mut().zip(distinct).for_each(|(field, name)| field.name = name);
        }
        let rel = self.apart(rel, &mut fields);
        Ok((rel, Scope::of(Relation::new(name.map(str::to_string), hidden, fields))))
    }

    /// Gives a column that a relation has twice another number each further time: each is one of its own to GROUP BY.
    pub(super) fn apart(&mut self, rel: Rel, fields: &mut [Field]) -> Rel {
        let (mut seen, mut again) = (BTreeSet::new(), Vec::new());
        for field in fields.iter_mut().filter(|field| !seen.insert(field.id)) {
            let read = self.columns.read(field.id);
            field.id = self.columns.add_of(&field.name, &read);
            again.push((field.id, read));
        }
        mapped(rel, again)
    }

    fn join(
        &mut self,
        (left, mut scope): (Rel, Scope),
        join: &AstJoin,
        outer: Option<&Env<'_>>,
        ctes: Option<&Ctes<'_>>,
        beside: Option<&Env<'_>>,
    ) -> Result<(Rel, Scope)> {
        let is_lateral = matches!(
            &join.relation,
            TableFactor::Derived { lateral: true, .. }
                | TableFactor::UNNEST { .. }
                | TableFactor::Function { .. }
                | TableFactor::Table { args: Some(_), .. }
        );
        let (right, mut of_right) = {
            let env = Env { outer: beside, ctes, ..Env::of(&scope, "FROM") };
            self.factor(&join.relation, outer, ctes, if is_lateral { Some(&env) } else { beside })?
        };
        let (kind, constraint) = kind_of(&join.join_operator)?;
        let by_order = by_order(join);
        if by_order == Some(ByOrder::Positional) {
            scope.append(of_right)?;
            return Ok((self.positional(left, right)?, scope));
        }
        let is_asof = by_order == Some(ByOrder::Nearest);
        if is_asof {
            check_asof(kind, constraint)?;
        }
        let is_swapped = matches!(kind, Joining::Right | Joining::RightSemi | Joining::RightAnti);
        let is_dependent = || right.free().into_iter().any(|id| scope.has(id));
        if is_lateral && (is_swapped || matches!(kind, Joining::Full)) && is_dependent() {
            return Err(Error::Invalid(
                "LATERAL needs the rows before it: INNER, LEFT, SEMI, ANTI or CROSS JOIN LATERAL".into(),
            ));
        }
        let algebra = match kind {
            Joining::Inner => JoinKind::Inner,
            Joining::Left | Joining::Right => JoinKind::Left,
            Joining::Full => JoinKind::Full,
            Joining::Semi | Joining::RightSemi => JoinKind::Semi,
            Joining::Anti | Joining::RightAnti => JoinKind::Anti,
        };
        let mut predicates = Vec::new();
        let mut computed = Vec::new();
        let scope = match constraint {
            Some(JoinConstraint::On(condition)) => {
                let border = scope.border();
                let alone = is_swapped.then(|| of_right.clone());
                scope.append(of_right)?;
                let env = Env { outer, ctes, ..Env::of(&scope, "ON") };
                predicates = self.condition(condition, &env)?.split();
                match (kind, alone) {
                    (Joining::RightSemi | Joining::RightAnti, Some(right)) => right,
                    (Joining::Semi | Joining::Anti, _) => {
                        scope.cut(&border);
                        scope
                    }
                    _ => scope,
                }
            }
            Some(JoinConstraint::Using(columns)) => {
                let names = columns.iter().map(|column| {
                    let name = column.0.last().and_then(|part| part.as_ident());
                    name.ok_or_else(|| {
                        Error::Invalid(format!("USING takes names of columns, and {column} is none"))
                    })
                });
                let names: Vec<&Ident> = names.collect::<Result<_>>()?;
                let last = if is_asof { Operator::GtEq } else { Operator::Eq };
                (predicates, computed) = self.using(&names, last, kind, &mut scope, &mut of_right)?;
                of_both(kind, scope, of_right)?
            }
            Some(JoinConstraint::Natural) => {
                let shown = scope.shown().iter().map(|shown| &shown.field.name);
                let both =
                    shown.filter(|name| of_right.shown().iter().any(|other| same(&other.field.name, name)));
                let names: Vec<Ident> = both.map(|name| Ident::with_quote('"', name)).collect();
                if names.is_empty() {
                    return Err(Error::Invalid(
                        "NATURAL JOIN of relations without a column of the same name\n  help: write CROSS JOIN".into(),
                    ));
                }
                let names: Vec<&Ident> = names.iter().collect();
                (predicates, computed) = self.using(&names, Operator::Eq, kind, &mut scope, &mut of_right)?;
                of_both(kind, scope, of_right)?
            }
            Some(JoinConstraint::None) | None => of_both(kind, scope, of_right)?,
        };
        let rel = match is_swapped {
            false if is_asof => self.nearest(algebra, left, right, predicates)?,
            true => joined(algebra, right, left, predicates),
            false => joined(algebra, left, right, predicates),
        };
        Ok((mapped(rel, computed), scope))
    }

    /// The predicates of USING, of which the last column has an operator of its own. And the columns that it computes
    /// of one of each side. The scopes show each column once.
    fn using(
        &mut self,
        names: &[&Ident],
        last: Operator,
        kind: Joining,
        left: &mut Scope,
        right: &mut Scope,
    ) -> Result<Using> {
        let (mut predicates, mut computed) = (Vec::new(), Vec::new());
        for (i, name) in names.iter().enumerate() {
            let (name, l, r) = self.same_column(name, left, right)?;
            let (read_l, read_r) = (self.columns.read(l.id), self.columns.read(r.id));
            let op = if i + 1 == names.len() { last } else { Operator::Eq };
            predicates.push(self.types.binary(read_l.clone(), op, read_r.clone())?);
            let id = match kind {
                Joining::Right => r.id,
                Joining::Full => {
                    let value = self.call_named("coalesce", vec![read_l, read_r])?;
                    let id = self.columns.add_of(&l.name, &value);
                    computed.push((id, value));
                    id
                }
                _ => l.id,
            };
            match kind {
                Joining::RightSemi | Joining::RightAnti => right.mark_merged(&name, r.id),
                Joining::Semi | Joining::Anti => left.mark_merged(&name, l.id),
                _ => {
                    left.mark_merged(&name, id);
                    right.hide(&name);
                }
            }
        }
        Ok((predicates, computed))
    }

    /// The columns of a name on both sides of a join.
    fn same_column(&self, name: &Ident, left: &Scope, right: &Scope) -> Result<(String, Field, Field)> {
        let find = |scope: &Scope| {
            let env = Env::of(scope, "USING");
            let parts = std::slice::from_ref(name);
            let found = env.find_path(parts)?.ok_or_else(|| env.no_column(parts, self.catalog))?;
            Ok::<Field, Error>(found.0)
        };
        let at = |error: Error| error.at(name.span);
        let (left, right) = (find(left).map_err(at)?, find(right).map_err(at)?);
        Ok((left.name.clone(), left, right))
    }
}

/// The scope of what a join gives.
fn of_both(kind: Joining, mut left: Scope, right: Scope) -> Result<Scope> {
    match kind {
        Joining::Semi | Joining::Anti => Ok(left),
        Joining::RightSemi | Joining::RightAnti => Ok(right),
        _ => {
            left.append(right)?;
            Ok(left)
        }
    }
}

/// Refuses an ASOF join that keeps right rows without a left one, or has no condition.
fn check_asof(kind: Joining, constraint: Option<&JoinConstraint>) -> Result<()> {
    if matches!(kind, Joining::Right | Joining::Full | Joining::RightSemi | Joining::RightAnti) {
        let message = "ASOF RIGHT JOIN and ASOF FULL JOIN\n  help: ASOF LEFT JOIN keeps the left rows";
        return Err(Error::Unsupported(message.into()));
    }
    match constraint {
        Some(JoinConstraint::On(_) | JoinConstraint::Using(_)) => Ok(()),
        _ => {
            let message = "ASOF JOIN needs ON a.key = b.key AND a.time >= b.time, or USING (key, time)";
            Err(Error::Invalid(message.into()))
        }
    }
}

/// A relation joined to another one.
fn joined(kind: JoinKind, left: Rel, right: Rel, predicates: Vec<Expr>) -> Rel {
    Rel::Join(Join { kind, left: Box::new(left), right: Box::new(right), predicates })
}

/// Gives the first columns other names.
pub(super) fn rename(fields: &mut [Field], names: &[&Ident], relation: &str) -> Result<()> {
    if let Some(first) = names.get(fields.len()) {
        return Err(Error::Invalid(format!(
            "'{relation}' has {} columns, and {} names are given",
            fields.len(),
            names.len()
        ))
        .at(first.span));
    }
    fields.iter_mut().zip(names).for_each(|(field, name)| field.name.clone_from(&name.value));
    Ok(())
}

/// Where an item of FROM stands: the name of its table, or else its alias.
fn place(factor: &TableFactor) -> Span {
    match (factor, alias_of(factor)) {
        (TableFactor::Table { name, .. } | TableFactor::Function { name, .. }, _) => name.span(),
        (_, Some(alias)) => alias.span,
        (other, None) => other.span(),
    }
}

/// The predicates of USING, and the columns that are computed behind the join.
type Using = (Vec<Expr>, Vec<(ColumnId, Expr)>);

/// The joins of the syntax.
#[derive(Clone, Copy)]
enum Joining {
    Inner,
    Left,
    Right,
    Full,
    Semi,
    RightSemi,
    Anti,
    RightAnti,
}

fn kind_of(operator: &JoinOperator) -> Result<(Joining, Option<&JoinConstraint>)> {
    Ok(match operator {
        JoinOperator::Join(on) | JoinOperator::Inner(on) => (Joining::Inner, Some(on)),
        JoinOperator::CrossJoin(on) => (Joining::Inner, Some(on)),
        JoinOperator::Left(on) | JoinOperator::LeftOuter(on) => (Joining::Left, Some(on)),
        JoinOperator::Right(on) | JoinOperator::RightOuter(on) => (Joining::Right, Some(on)),
        JoinOperator::FullOuter(on) => (Joining::Full, Some(on)),
        JoinOperator::Semi(on) | JoinOperator::LeftSemi(on) => (Joining::Semi, Some(on)),
        JoinOperator::RightSemi(on) => (Joining::RightSemi, Some(on)),
        JoinOperator::Anti(on) | JoinOperator::LeftAnti(on) => (Joining::Anti, Some(on)),
        JoinOperator::RightAnti(on) => (Joining::RightAnti, Some(on)),
        _ => return Err(Error::Unsupported("this kind of join".into())),
    })
}
