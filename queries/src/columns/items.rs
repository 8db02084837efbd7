//! What the items of a select list give.

use datafusion_sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, ObjectName, RenameSelectItem, SelectItem,
    SelectItemQualifiedWildcardKind, WildcardAdditionalOptions,
};

use super::{Columns, Relation, all, same};

/// The last part of a name.
pub fn last(name: &ObjectName) -> Option<&str> {
    Some(name.0.last()?.as_ident()?.value.as_str())
}

/// The names that an item of a select list gives.
pub fn selected(item: &SelectItem, relations: &[Relation]) -> Columns {
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(vec![name.value.clone()]),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => Some(vec![parts.last()?.value.clone()]),
        SelectItem::UnnamedExpr(expr) => Some(vec![expr.to_string()]),
        SelectItem::ExprWithAlias { alias, .. } => Some(vec![alias.value.clone()]),
        SelectItem::Wildcard(options) => shown(all(relations)?, options),
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
            let name = last(name)?;
            let is_meant = |relation: &&Relation| relation.name.as_ref().is_some_and(|n| same(n, name));
            shown(relations.iter().find(is_meant)?.columns.clone()?, options)
        }
        _ => None,
    }
}

/// Makes `*` and `t.*` lists of their columns where they stand beside another: that one may give the same columns.
pub fn expand(items: &mut Vec<SelectItem>, relations: &[Relation]) {
    let is_wildcard =
        |item: &&SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    if items.iter().filter(is_wildcard).count() < 2 {
        return;
    }
    let expanded = std::mem::take(items).into_iter().flat_map(|item| match listed(&item, relations) {
        Some(columns) => columns,
        None => vec![item],
    });
    *items = expanded.collect();
}

/// The columns of a `*` or `t.*`, each with its relation before it, where the text tells them.
fn listed(item: &SelectItem, relations: &[Relation]) -> Option<Vec<SelectItem>> {
    let (SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)) = item else {
        return None;
    };
    let plain = WildcardAdditionalOptions {
        wildcard_token: options.wildcard_token.clone(),
        opt_exclude: options.opt_exclude.clone(),
        ..WildcardAdditionalOptions::default()
    };
    if *options != plain {
        return None;
    }
    let column = |relation: &[Ident], column: &String| {
        let parts = relation.iter().cloned().chain([Ident::with_quote('"', column)]);
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts.collect()))
    };
    if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item {
        let parts = name.0.iter().filter_map(|part| part.as_ident());
        let relation: Vec<Ident> = parts.map(|part| Ident::with_quote('"', &part.value)).collect();
        return Some(selected(item, relations)?.iter().map(|name| column(&relation, name)).collect());
    }
    // A column that USING merges is of no relation.
    let mut columns = Vec::new();
    for relation in relations {
        let name = relation.name.as_ref().filter(|_| relation.merged.is_empty())?;
        let of_relation = shown(relation.columns.clone()?, options)?;
        columns.extend(of_relation.iter().map(|of| column(&[Ident::with_quote('"', name)], of)));
    }
    Some(columns)
}

/// The columns of a `*` with such options.
fn shown(mut columns: Vec<String>, options: &WildcardAdditionalOptions) -> Columns {
    if options.opt_ilike.is_some() || options.opt_alias.is_some() {
        return None;
    }
    let mut left_out: Vec<&str> = match &options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => vec![last(name)?],
        Some(ExcludeSelectItem::Multiple(names)) => names.iter().map(last).collect::<Option<_>>()?,
        None => Vec::new(),
    };
    if let Some(except) = &options.opt_except {
        left_out.push(&except.first_element.value);
        left_out.extend(except.additional_elements.iter().map(|name| name.value.as_str()));
    }
    columns.retain(|column| !left_out.iter().any(|name| same(name, column)));
    let renamed = match &options.opt_rename {
        Some(RenameSelectItem::Single(one)) => std::slice::from_ref(one),
        Some(RenameSelectItem::Multiple(all)) => all.as_slice(),
        None => &[],
    };
    for one in renamed {
        for column in columns.iter_mut().filter(|column| same(column, &one.ident.value)) {
            column.clone_from(&one.alias.value);
        }
    }
    Some(columns)
}
