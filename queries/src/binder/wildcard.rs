//! What `*` stands for.

use arrow_schema::DataType;
use sqlparser::ast::{
    AccessExpr, ExcludeSelectItem, Expr as Ast, Ident, ObjectName, RenameSelectItem,
    SelectItemQualifiedWildcardKind, WildcardAdditionalOptions,
};

use datafusion_common::ScalarValue;

use super::scope::{Env, Field};
use super::{Binder, literal};
use crate::error::{Error, Result};
use crate::meant;
use crate::names::same;
use crate::parse::stars;

/// A column that `*` gives: the column, or what REPLACE says.
pub enum Given<'q> {
    /// A column under its name, or under another one.
    Column(Field),
    /// An expression under the name of a column.
    Replaced(String, &'q Ast),
    /// A field of a struct, under its name or under another one.
    Part(String, Box<Ast>),
}

impl Given<'_> {
    fn name(&self) -> &str {
        match self {
            Given::Column(field) => &field.name,
            Given::Replaced(name, _) | Given::Part(name, _) => name,
        }
    }
}

impl Binder<'_> {
    /// The columns of `relation.*`, or the fields of `struct.*`.
    ///
    /// # Errors
    /// There is no such relation or struct, or a column that is left out or replaced is not among them.
    pub(super) fn of_name<'q>(
        &mut self,
        kind: &SelectItemQualifiedWildcardKind,
        options: &'q WildcardAdditionalOptions,
        env: &Env<'_>,
    ) -> Result<Vec<Given<'q>>> {
        let SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
            return Err(Error::Unsupported("the fields of an expression (expression.*)".into()));
        };
        let relation = crate::parse::table_name(name);
        let parts: Option<Vec<Ident>> = name.0.iter().map(|part| part.as_ident().cloned()).collect();
        let is_relation = env.levels().any(|level| level.scope.relation_or_file(&relation).is_some());
        let parts = parts.filter(|_| !is_relation).unwrap_or_default();
        if parts.is_empty() || env.find_path(&parts)?.is_none() {
            return of_relation(&relation, options, env);
        }
        let of = Ast::CompoundIdentifier(parts);
        let value = self.expr(&of, env)?;
        let of_name = relation.clone();
        let DataType::Struct(fields) = &value.data_type else {
            let shown = expressions::text::shown(&value.data_type);
            let message =
                format!("'{relation}' is a {shown}, and has no fields that {relation}.* could stand for");
            return Err(Error::Invalid(message));
        };
        let names = fields.iter().map(|field| field.name().clone()).collect();
        let is_of = |relation: &str, _: usize| same(relation, &of_name);
        let parts = chosen(names, options, &is_of)?.into_iter().map(|column| match column.replaced {
            Some(e) => Given::Replaced(column.name, e),
            None => {
                let name = Ast::Identifier(Ident::with_quote('"', fields[column.at].name()));
                let access_chain = vec![AccessExpr::Dot(name)];
                let root = Box::new(of.clone());
                Given::Part(column.name, Box::new(Ast::CompoundFieldAccess { root, access_chain }))
            }
        });
        Ok(parts.collect())
    }

    /// Of the columns of `* LIKE 'a%'` those with such names.
    ///
    /// # Errors
    /// There is none, or the pattern is wrong.
    pub(super) fn liked<'q>(
        &mut self,
        given: Vec<Given<'q>>,
        options: &WildcardAdditionalOptions,
    ) -> Result<Vec<Given<'q>>> {
        let Some(like) = &options.opt_ilike else { return Ok(given) };
        let (operator, negated, pattern) = stars::split(&like.pattern);
        let names: Vec<String> = given.iter().map(|column| column.name().to_string()).collect();
        let mut liked = Vec::new();
        for column in given {
            let (name, pattern) = (literal::text(column.name()), literal::text(pattern));
            let matched = match operator {
                "LIKE" => self.types.like(name, pattern, false, false)?,
                "GLOB" => self.glob(name, pattern)?,
                "SIMILAR" => self.similar(name, pattern)?,
                _ => self.types.like(name, pattern, false, true)?,
            };
            if (self.types.constant(&matched)? == ScalarValue::Boolean(Some(true))) != negated {
                liked.push(column);
            }
        }
        match liked.is_empty() {
            true => Err(Error::Name {
                message: format!("no name of a column is as '{pattern}' says"),
                help: meant::column(pattern, names.iter().map(String::as_str)),
            }),
            false => Ok(liked),
        }
    }
}

/// The columns of `*`.
///
/// # Errors
/// There are none, or one that is left out or replaced is not among them.
pub fn all<'q>(options: &'q WildcardAdditionalOptions, env: &Env<'_>) -> Result<Vec<Given<'q>>> {
    let fields: Vec<Field> = env.scope.shown().iter().map(|shown| shown.field.clone()).collect();
    if env.scope.relations().is_empty() {
        return Err(Error::Invalid("* stands for the columns of FROM, and there is no FROM".into()));
    }
    given(fields, options, env, true)
}

/// The columns of `relation.*`.
fn of_relation<'q>(
    name: &str,
    options: &'q WildcardAdditionalOptions,
    env: &Env<'_>,
) -> Result<Vec<Given<'q>>> {
    let relation = env.levels().find_map(|level| level.scope.relation_or_file(name));
    let Some(relation) = relation else {
        let known: Vec<&str> =
            env.scope.relations().iter().filter_map(|relation| relation.name.as_deref()).collect();
        let help = (!known.is_empty()).then(|| format!("there are: {}", known.join(", ")));
        return Err(Error::Name { message: format!("there is no table '{name}' in FROM"), help });
    };
    given(relation.fields.clone(), options, env, false)
}

fn given<'q>(
    fields: Vec<Field>,
    options: &'q WildcardAdditionalOptions,
    env: &Env<'_>,
    is_all: bool,
) -> Result<Vec<Given<'q>>> {
    let names = fields.iter().map(|field| field.name.clone()).collect();
    let is_of = |relation: &str, at: usize| {
        // What USING has made of a column of each side is that of neither.
        let mut shown = env.scope.shown().iter();
        if is_all && shown.any(|shown| shown.is_merged && shown.field.id == fields[at].id) {
            return false;
        }
        let relation = env.levels().find_map(|level| level.scope.relation_or_file(relation));
        relation.is_some_and(|relation| relation.fields.iter().any(|field| field.id == fields[at].id))
    };
    let columns = chosen(names, options, &is_of)?.into_iter().map(|column| match column.replaced {
        Some(e) => Given::Replaced(column.name, e),
        None => Given::Column(Field { name: column.name, id: fields[column.at].id }),
    });
    Ok(columns.collect())
}

/// What is given in the place of a name that a star stands for.
struct Chosen<'q> {
    /// The place of the name.
    at: usize,
    /// The name that it is given.
    name: String,
    /// The expression that is given instead.
    replaced: Option<&'q Ast>,
}

/// Of names those that are not left out. `is_of` says whether a relation has the column at a place.
fn chosen<'q>(
    names: Vec<String>,
    options: &'q WildcardAdditionalOptions,
    is_of: &dyn Fn(&str, usize) -> bool,
) -> Result<Vec<Chosen<'q>>> {
    let left_out: Vec<(Option<&Ident>, &Ident)> = match &options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => vec![excluded(name)?],
        Some(ExcludeSelectItem::Multiple(names)) => names.iter().map(excluded).collect::<Result<_>>()?,
        None => Vec::new(),
    };
    let except = options
        .opt_except
        .iter()
        .flat_map(|e| std::iter::once(&e.first_element).chain(&e.additional_elements))
        .map(|name| (None, name));
    let mut columns: Vec<(usize, String)> = names.into_iter().enumerate().collect();
    for (relation, name) in left_out.into_iter().chain(except) {
        let before = columns.len();
        let is_meant = |at: usize| relation.is_none_or(|relation| is_of(&relation.value, at));
        columns.retain(|(at, known)| !(same(known, &name.value) && is_meant(*at)));
        if columns.len() == before {
            return Err(missing(name, "EXCLUDE"));
        }
    }
    let renamed = match &options.opt_rename {
        Some(RenameSelectItem::Single(one)) => std::slice::from_ref(one),
        Some(RenameSelectItem::Multiple(all)) => all.as_slice(),
        None => &[],
    };
    for one in renamed {
        if !columns.iter().any(|(_, known)| same(known, &one.ident.value)) {
            return Err(missing(&one.ident, "RENAME"));
        }
    }
    once(renamed.iter().map(|one| &one.ident), "RENAME")?;
    let replaced = || options.opt_replace.iter().flat_map(|replace| &replace.items);
    for element in replaced() {
        if !columns.iter().any(|(_, known)| same(known, &element.column_name.value)) {
            return Err(missing(&element.column_name, "REPLACE"));
        }
    }
    once(replaced().map(|element| &element.column_name), "REPLACE")?;
    let columns = columns.into_iter().map(|(at, known)| {
        let element = replaced().find(|element| same(&element.column_name.value, &known));
        let alias = renamed.iter().find(|one| same(&one.ident.value, &known));
        let name = alias.map_or(known, |one| one.alias.value.clone());
        Chosen { at, name, replaced: element.map(|element| &element.expr) }
    });
    Ok(columns.collect())
}

/// A clause that gives a column two values or two names is refused: one of them would be dropped in silence.
fn once<'n>(names: impl Iterator<Item = &'n Ident>, clause: &str) -> Result<()> {
    let mut seen: Vec<&Ident> = Vec::new();
    for name in names {
        if seen.iter().any(|earlier| same(&earlier.value, &name.value)) {
            let message = format!("{clause} names the column '{}' twice", name.value);
            return Err(Error::Name { message, help: Some("it names each column once".into()) }.at(name.span));
        }
        seen.push(name);
    }
    Ok(())
}

fn missing(name: &Ident, clause: &str) -> Error {
    Error::Name {
        message: format!("there is no column '{}' for {clause}", name.value),
        help: Some("it names columns that * has".into()),
    }
    .at(name.span)
}

/// The column that EXCLUDE names, and the relation that stands before it.
fn excluded(name: &ObjectName) -> Result<(Option<&Ident>, &Ident)> {
    let parts: Option<Vec<&Ident>> = name.0.iter().map(|part| part.as_ident()).collect();
    match parts.as_deref() {
        Some([column]) => Ok((None, *column)),
        Some([relation, column]) => Ok((Some(*relation), *column)),
        _ => Err(Error::Invalid(format!("EXCLUDE takes names of columns, and {name} is none"))),
    }
}
