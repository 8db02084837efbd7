//! What `*` stands for.

use sqlparser::ast::{
    ExcludeSelectItem, Expr as Ast, Ident, ObjectName, RenameSelectItem, SelectItemQualifiedWildcardKind,
    WildcardAdditionalOptions,
};

use datafusion_common::ScalarValue;

use super::scope::{Env, Field, same};
use super::{Binder, literal};
use crate::error::{Error, Result};
use crate::meant;
use crate::parse::stars;

/// A column that `*` gives: the column, or what REPLACE says.
pub enum Given<'q> {
    /// A column under its name, or under another one.
    Column(Field),
    /// An expression under the name of a column.
    Replaced(String, &'q Ast),
}

impl Given<'_> {
    fn name(&self) -> &str {
        match self {
            Given::Column(field) => &field.name,
            Given::Replaced(name, _) => name,
        }
    }
}

impl Binder<'_> {
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
    given(fields, options)
}

/// The columns of `relation.*`.
///
/// # Errors
/// There is no such relation, or a column that is left out or replaced is not among them.
pub fn of_relation<'q>(
    kind: &SelectItemQualifiedWildcardKind,
    options: &'q WildcardAdditionalOptions,
    env: &Env<'_>,
) -> Result<Vec<Given<'q>>> {
    let SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
        return Err(Error::Unsupported("the fields of an expression (expression.*)".into()));
    };
    let name = crate::parse::table_name(name);
    let relation = env.levels().find_map(|level| level.scope.relation(&name));
    let Some(relation) = relation else {
        let known: Vec<&str> =
            env.scope.relations().iter().filter_map(|relation| relation.name.as_deref()).collect();
        let help = (!known.is_empty()).then(|| format!("there are: {}", known.join(", ")));
        return Err(Error::Name { message: format!("there is no table '{name}' in FROM"), help });
    };
    given(relation.fields.clone(), options)
}

fn given<'q>(mut fields: Vec<Field>, options: &'q WildcardAdditionalOptions) -> Result<Vec<Given<'q>>> {
    let left_out: Vec<&Ident> = match &options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => vec![last(name)?],
        Some(ExcludeSelectItem::Multiple(names)) => names.iter().map(last).collect::<Result<_>>()?,
        None => Vec::new(),
    };
    let except = options
        .opt_except
        .iter()
        .flat_map(|e| std::iter::once(&e.first_element).chain(&e.additional_elements));
    for name in left_out.into_iter().chain(except) {
        let before = fields.len();
        fields.retain(|field| !same(&field.name, &name.value));
        if fields.len() == before {
            return Err(missing(name, "EXCLUDE"));
        }
    }
    let renamed = match &options.opt_rename {
        Some(RenameSelectItem::Single(one)) => std::slice::from_ref(one),
        Some(RenameSelectItem::Multiple(all)) => all.as_slice(),
        None => &[],
    };
    let mut names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
    for one in renamed {
        let mut found = false;
        for (_, name) in
            fields.iter().zip(&mut names).filter(|(field, _)| same(&field.name, &one.ident.value))
        {
            name.clone_from(&one.alias.value);
            found = true;
        }
        if !found {
            return Err(missing(&one.ident, "RENAME"));
        }
    }
    let replaced = || options.opt_replace.iter().flat_map(|replace| &replace.items);
    for element in replaced() {
        if !fields.iter().any(|field| same(&field.name, &element.column_name.value)) {
            return Err(missing(&element.column_name, "REPLACE"));
        }
    }
    let columns = fields.into_iter().zip(names).map(|(field, name)| {
        match replaced().find(|element| same(&element.column_name.value, &field.name)) {
            Some(element) => Given::Replaced(name, &element.expr),
            None => Given::Column(Field { name, id: field.id }),
        }
    });
    Ok(columns.collect())
}

fn missing(name: &Ident, clause: &str) -> Error {
    Error::Name {
        message: format!("there is no column '{}' for {clause}", name.value),
        help: Some("it names columns that * has".into()),
    }
    .at(name.span)
}

fn last(name: &ObjectName) -> Result<&Ident> {
    name.0
        .last()
        .and_then(|part| part.as_ident())
        .ok_or_else(|| Error::Invalid(format!("EXCLUDE takes names of columns, and {name} is none")))
}
