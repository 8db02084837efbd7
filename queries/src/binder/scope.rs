//! What names mean: the relations of FROM, their columns, and the scopes around.
//!
//! Names match without regard to case. Two columns of one relation that differ by case alone are reached by their exact
//! spelling in quotes. A name that could mean both, or columns of two relations, is an error.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use schema::names::nearest;
use sqlparser::ast::{self, CteAsMaterialized, Ident, NamedWindowDefinition, Query};

use super::grouping::Group;
use super::unnest::Unnested;
use super::window::Windows;
use crate::algebra::ColumnId;
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::meant;
use crate::names::same;

/// A column of a relation.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name, in the spelling of whoever gave it.
    pub name: String,
    /// Its number.
    pub id: ColumnId,
}

/// A relation of FROM.
#[derive(Debug, Clone)]
pub struct Relation {
    /// Its alias, or the name of its table.
    pub name: Option<String>,
    /// The name of its table, where the alias takes its place.
    pub hidden: Option<String>,
    /// What a file may be called besides, if it has no alias.
    stem: Option<String>,
    /// Whether its row is its only value, as that of a series is; of others it is a struct.
    pub is_value: bool,
    /// Its columns.
    pub fields: Vec<Field>,
    /// A column that its name alone shows, where no other one has the name: that of paths.
    path: Option<Field>,
    /// The positions in `fields` of each lower-case name.
    by_name: BTreeMap<String, Vec<usize>>,
}

impl Relation {
    /// A relation with these columns.
    pub fn new(name: Option<String>, hidden: Option<String>, fields: Vec<Field>) -> Relation {
        let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, field) in fields.iter().enumerate() {
            by_name.entry(field.name.to_lowercase()).or_default().push(place);
        }
        Relation { name, hidden, stem: None, is_value: false, fields, path: None, by_name }
    }

    /// The columns of a name.
    fn named(&self, name: &str) -> Vec<&Field> {
        let places = self.by_name.get(&name.to_lowercase());
        places.into_iter().flatten().map(|place| &self.fields[*place]).collect()
    }
}

/// A column that a name without a relation's before it may mean, in the order of `*`.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The column.
    pub field: Field,
    /// Whether USING or NATURAL has made it of a column of each side.
    pub is_merged: bool,
    /// Another name that means it: that of the function whose values have the name of an alias.
    also: Option<String>,
}

impl Shown {
    fn names(&self) -> impl Iterator<Item = String> {
        [Some(&self.field.name), self.also.as_ref()].into_iter().flatten().map(|name| name.to_lowercase())
    }
}

/// The relations of a FROM.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    relations: Vec<Relation>,
    shown: Vec<Shown>,
    /// The positions in `shown` of each lower-case name.
    by_name: BTreeMap<String, Vec<usize>>,
    /// The columns of all relations.
    ids: BTreeSet<ColumnId>,
}

/// Where a scope ended.
pub struct Border {
    relations: usize,
    shown: usize,
}

/// What a name means in one scope.
enum Meaning {
    Nothing,
    Column(Field),
    /// Several spellings of one relation.
    Spellings(Vec<String>),
    Ambiguous,
}

impl Scope {
    /// The scope of one relation.
    pub fn of(relation: Relation) -> Scope {
        let mut scope = Scope::default();
        for field in &relation.fields {
            scope.ids.insert(field.id);
            scope.show(Shown { field: field.clone(), is_merged: false, also: None });
        }
        scope.relations.push(relation);
        scope
    }

    fn show(&mut self, shown: Shown) {
        let place = self.shown.len();
        for name in shown.names() {
            self.by_name.entry(name).or_default().push(place);
        }
        self.shown.push(shown);
    }

    /// Adds the relations of a scope to its right.
    ///
    /// # Errors
    /// Two relations have one name.
    pub fn append(&mut self, right: Scope) -> Result<()> {
        for relation in &right.relations {
            let Some(name) = &relation.name else { continue };
            if self.relations.iter().any(|other| other.name.as_ref().is_some_and(|n| same(n, name))) {
                return Err(Error::Name {
                    message: format!("two relations in FROM are called '{name}'"),
                    help: Some("give one of them another name with AS".into()),
                });
            }
        }
        self.relations.extend(right.relations);
        self.ids.extend(right.ids);
        right.shown.into_iter().for_each(|shown| self.show(shown));
        Ok(())
    }

    /// Where it ends, before another one is appended.
    pub fn border(&self) -> Border {
        Border { relations: self.relations.len(), shown: self.shown.len() }
    }

    /// Takes out what was appended behind a border.
    pub fn cut(&mut self, border: &Border) {
        for relation in self.relations.drain(border.relations..) {
            relation.fields.iter().chain(&relation.path).for_each(|field| {
                self.ids.remove(&field.id);
            });
        }
        for shown in self.shown.drain(border.shown..) {
            for name in shown.names() {
                if let Some(places) = self.by_name.get_mut(&name) {
                    places.retain(|place| *place < border.shown);
                }
            }
        }
    }

    /// Notes that a join by names has made one column of those of a name: it stands where the first one did.
    pub fn mark_merged(&mut self, name: &str, id: ColumnId) {
        if let Some(place) = self.by_name.get(&name.to_lowercase()).and_then(|places| places.first()) {
            let shown = &mut self.shown[*place];
            shown.field.id = id;
            shown.is_merged = true;
            self.ids.insert(id);
        }
    }

    /// Takes the columns of a name out of what is shown.
    pub fn hide(&mut self, name: &str) {
        let lower = name.to_lowercase();
        if self.by_name.remove(&lower).is_none() {
            return;
        }
        let shown = std::mem::take(&mut self.shown);
        self.by_name.clear();
        shown.into_iter().filter(|s| s.names().all(|name| name != lower)).for_each(|s| self.show(s));
    }

    /// Whether a name without a relation's before it is that of a column.
    pub fn shows(&self, name: &str) -> bool {
        self.by_name.get(&name.to_lowercase()).is_some_and(|places| !places.is_empty())
    }

    /// The columns of `*`.
    pub fn shown(&self) -> &[Shown] {
        &self.shown
    }

    /// Whether a column is one of its relations'.
    pub fn has(&self, id: ColumnId) -> bool {
        self.ids.contains(&id)
    }

    /// Its relations.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// The relation of this name.
    pub fn relation(&self, name: &str) -> Option<&Relation> {
        self.relations.iter().find(|relation| relation.name.as_ref().is_some_and(|n| same(n, name)))
    }

    /// Makes the row of its relation the only value.
    pub fn of_values(mut self) -> Scope {
        self.relations.iter_mut().for_each(|relation| relation.is_value = true);
        self
    }

    /// Gives the only column of its relation the name of the relation. The name of the function means it as well.
    pub fn named_by_alias(mut self, function: &str) -> Scope {
        let ([relation], [shown]) = (self.relations.as_mut_slice(), self.shown.as_slice()) else {
            return self;
        };
        let (Some(name), [field]) = (&relation.name, relation.fields.as_mut_slice()) else { return self };
        field.name.clone_from(name);
        for name in [name, function] {
            relation.by_name.insert(name.to_lowercase(), vec![0]);
        }
        let also = Some(function.to_string()).filter(|function| !same(function, name));
        let shown = Shown { field: field.clone(), also, ..shown.clone() };
        self.by_name.clear();
        self.shown.clear();
        self.show(shown);
        self
    }

    /// Gives its relation, a file, the name that its path has before the first point of its last part.
    pub fn with_stem(mut self, path: &str) -> Scope {
        if let [relation] = self.relations.as_mut_slice() {
            relation.stem = stem(path).map(str::to_string);
        }
        self
    }

    /// Gives its relation a column that `*` does not show.
    pub fn with_path(mut self, path: Field) -> Scope {
        if let [relation] = self.relations.as_mut_slice() {
            self.ids.insert(path.id);
            relation.path = Some(path);
        }
        self
    }

    /// What the name of a column that `*` does not show means.
    fn find_path_column(&self, name: &Ident) -> Meaning {
        let paths = self.relations.iter().filter_map(|relation| relation.path.as_ref());
        let mut paths = paths.filter(|path| same(&path.name, &name.value));
        match (paths.next(), paths.next()) {
            (None, _) => Meaning::Nothing,
            (Some(only), None) => Meaning::Column(only.clone()),
            _ => Meaning::Ambiguous,
        }
    }

    /// The only file without an alias whose path has this before the first point of its last part.
    fn file(&self, name: &str) -> Option<&Relation> {
        let is_called = |relation: &&Relation| relation.stem.as_ref().is_some_and(|stem| same(stem, name));
        let mut files = self.relations.iter().filter(is_called);
        files.next().filter(|_| files.next().is_none())
    }

    /// The relation of this name, or the file that is called so without its directory and suffix.
    pub fn relation_or_file(&self, name: &str) -> Option<&Relation> {
        self.relation(name).or_else(|| self.file(name))
    }

    /// What a name without a relation's before it means.
    fn find(&self, name: &Ident) -> Meaning {
        let places = self.by_name.get(&name.value.to_lowercase()).filter(|places| !places.is_empty());
        let Some(places) = places else { return Meaning::Nothing };
        let all: Vec<&Shown> = places.iter().map(|place| &self.shown[*place]).collect();
        // What USING has made one column goes before a column of the name in another relation.
        let merged: Vec<&Shown> = all.iter().copied().filter(|shown| shown.is_merged).collect();
        let all = if merged.is_empty() { all } else { merged };
        if let [only] = all.as_slice() {
            return Meaning::Column(only.field.clone());
        }
        one_spelling(name, all.into_iter().map(|shown| &shown.field))
    }

    /// The field of a relation that a name with the relation's before it means.
    fn find_in(relation: &Relation, name: &Ident) -> Meaning {
        let meant = relation.named(&name.value);
        match meant.as_slice() {
            [] => match relation.path.as_ref().filter(|path| same(&path.name, &name.value)) {
                Some(path) => Meaning::Column(path.clone()),
                None => Meaning::Nothing,
            },
            [only] => Meaning::Column((*only).clone()),
            _ => one_spelling(name, meant.into_iter()),
        }
    }
}

/// What a path has before the first point of its last part.
fn stem(path: &str) -> Option<&str> {
    let stem = path.trim_end_matches('/').rsplit('/').next()?.split('.').next()?;
    (!stem.is_empty()).then_some(stem)
}

/// Of several columns the one of exactly this spelling, if the name is quoted.
fn one_spelling<'a>(name: &Ident, fields: impl Iterator<Item = &'a Field>) -> Meaning {
    let fields: Vec<&Field> = fields.collect();
    let exact: Vec<&Field> = fields
        .iter()
        .copied()
        .filter(|field| name.quote_style.is_some() && field.name == name.value)
        .collect();
    if let [only] = exact.as_slice() {
        return Meaning::Column((*only).clone());
    }
    let spellings: BTreeSet<&String> = fields.iter().map(|field| &field.name).collect();
    let is_one_name = fields.iter().all(|field| same(&field.name, &name.value));
    match is_one_name && spellings.len() == fields.len() {
        true => Meaning::Spellings(spellings.into_iter().cloned().collect()),
        false => Meaning::Ambiguous,
    }
}

/// What the names of a clause may mean: the relations of a SELECT, and those around it.
#[derive(Clone, Copy)]
pub struct Env<'e> {
    /// The relations of the SELECT.
    pub scope: &'e Scope,
    /// Those of the query around.
    pub outer: Option<&'e Env<'e>>,
    /// The names of WITH.
    pub ctes: Option<&'e Ctes<'e>>,
    /// Where aggregates of the SELECT go; none where it can have none.
    pub group: Option<&'e RefCell<Group>>,
    /// Where calls over windows of the SELECT go; none where it can have none.
    pub windows: Option<&'e RefCell<Windows>>,
    /// Where lists that the SELECT takes apart go; none where it can have none.
    pub unnested: Option<&'e RefCell<Unnested>>,
    /// The windows that the SELECT gives names.
    pub named: &'e [NamedWindowDefinition],
    /// Why it can have none, for errors: the clause.
    pub clause: &'static str,
    /// Expressions that the SELECT gives a name, where no column has it.
    pub aliases: &'e [(String, &'e ast::Expr)],
    /// Those that the clause does not know, for errors.
    pub unseen: &'e [(String, &'e ast::Expr)],
    /// The macros around whose arguments name what is named here.
    pub macros: Option<&'e Marks<'e>>,
}

/// A macro that stands for what is at hand, and those around it at the same level of names.
pub struct Marks<'e> {
    /// The number of its call.
    pub number: &'e str,
    /// The one around.
    pub around: Option<&'e Marks<'e>>,
}

impl Marks<'_> {
    /// Whether the call of this number is among them.
    pub fn has(&self, number: &str) -> bool {
        std::iter::successors(Some(self), |marks| marks.around).any(|marks| marks.number == number)
    }
}

/// A name of WITH, and those before it.
pub struct Ctes<'e> {
    /// The name.
    pub name: &'e str,
    /// What it stands for.
    pub query: &'e Query,
    /// The names of its columns, where they are given.
    pub columns: Vec<&'e Ident>,
    /// Whether it is a view, whose text is not that of the statement.
    pub is_view: bool,
    /// What its query may name besides.
    pub outer: Option<&'e Env<'e>>,
    /// The names that it sees.
    pub before: Option<&'e Ctes<'e>>,
    /// Whether its query may name it.
    pub is_recursive: bool,
    /// What the statement says of whether its rows are kept.
    pub materialized: Option<CteAsMaterialized>,
    /// What has become of it.
    pub bound: RefCell<BoundCte>,
}

/// What has become of a name of WITH.
#[derive(Debug, Clone)]
pub enum BoundCte {
    /// Nothing has named it yet.
    Unread,
    /// It is bound anew wherever it is named.
    Apart,
    /// A stage has its rows.
    Shared {
        /// The number of the stage.
        stage: usize,
        /// Its columns; the stage has their numbers.
        fields: Vec<Field>,
    },
}

impl<'e> Ctes<'e> {
    /// The nearest of a name.
    pub fn find(ctes: Option<&'e Ctes<'e>>, name: &str) -> Option<&'e Ctes<'e>> {
        let mut ctes = ctes;
        while let Some(cte) = ctes {
            if same(cte.name, name) {
                return Some(cte);
            }
            ctes = cte.before;
        }
        None
    }
}

/// An expression that a SELECT gives a name, and what its own names may mean.
pub struct Alias<'e> {
    /// How it is written.
    pub expr: &'e ast::Expr,
    /// The names of the SELECT; among the aliases are those alone that stand before it.
    pub env: Env<'e>,
}

/// A name that was found.
pub enum Named<'e> {
    /// A column, and the parts of the name behind it: fields of a struct.
    Column(Field, Vec<&'e Ident>),
    /// An expression that a SELECT gives the name.
    Alias(Alias<'e>),
}

impl<'e> Env<'e> {
    /// The names of one scope in a clause that has no aggregates and no names of the SELECT.
    pub fn of(scope: &'e Scope, clause: &'static str) -> Env<'e> {
        Env {
            scope,
            outer: None,
            ctes: None,
            group: None,
            windows: None,
            unnested: None,
            named: &[],
            clause,
            aliases: &[],
            unseen: &[],
            macros: None,
        }
    }

    /// The scopes from the nearest to the outermost.
    pub fn levels(&self) -> impl Iterator<Item = &Env<'e>> {
        std::iter::successors(Some(self), |env| env.outer)
    }

    /// The relation whose row a name means: no column and no alias of its query, or of one within, has the name.
    pub fn relation_of(&self, name: &Ident) -> Option<&Relation> {
        for env in self.levels() {
            let is_alias = env.aliases.iter().any(|(alias, _)| same(alias, &name.value));
            if is_alias || !matches!(env.scope.find(name), Meaning::Nothing) {
                return None;
            }
            if let Some(relation) = env.scope.relation_or_file(&name.value) {
                return Some(relation);
            }
        }
        None
    }

    /// What a name means; `None` if it means nothing.
    ///
    /// # Errors
    /// It means several things.
    pub fn find(&self, name: &Ident) -> Result<Option<Named<'e>>> {
        for env in self.levels() {
            match env.scope.find(name) {
                Meaning::Column(field) => return Ok(Some(Named::Column(field, vec![]))),
                Meaning::Nothing => {}
                other => return Err(ambiguous(name, other)),
            }
            if let Some(place) = env.aliases.iter().position(|(alias, _)| same(alias, &name.value)) {
                let (_, expr) = &env.aliases[place];
                return Ok(Some(Named::Alias(Alias {
                    expr,
                    env: Env { aliases: &env.aliases[..place], ..*env },
                })));
            }
            match env.scope.find_path_column(name) {
                Meaning::Column(field) => return Ok(Some(Named::Column(field, vec![]))),
                Meaning::Nothing => {}
                other => return Err(ambiguous(name, other)),
            }
        }
        Ok(None)
    }

    /// What a name of several parts means: a relation and its column, or a column and its fields; `None` if it means
    /// nothing.
    ///
    /// # Errors
    /// It means several things.
    pub fn find_path<'n>(&self, parts: &'n [Ident]) -> Result<Option<(Field, &'n [Ident])>> {
        for env in self.levels() {
            // The name of a relation may have dots itself.
            for count in (1..parts.len()).rev() {
                let name =
                    parts[..count].iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
                let Some(relation) = env.scope.relation(&name) else { continue };
                match Scope::find_in(relation, &parts[count]) {
                    Meaning::Column(field) => return Ok(Some((field, &parts[count + 1..]))),
                    Meaning::Nothing if count + 1 == parts.len() => return Ok(None),
                    Meaning::Nothing => {}
                    other => return Err(ambiguous(&parts[count], other)),
                }
            }
            if let [first, second, rest @ ..] = parts
                && let Some(file) = env.scope.file(&first.value)
                && let Meaning::Column(field) = Scope::find_in(file, second)
            {
                return Ok(Some((field, rest)));
            }
            match env.scope.find(&parts[0]) {
                Meaning::Column(field) => return Ok(Some((field, &parts[1..]))),
                Meaning::Nothing => {}
                other => return Err(ambiguous(&parts[0], other)),
            }
        }
        Ok(None)
    }

    /// There is no column of this name, of one part or several.
    pub fn no_column(&self, parts: &[Ident], catalog: &Catalog) -> Error {
        let help = match parts {
            [] => None,
            [name] => self.instead(name, catalog),
            [before @ .., name] => self.instead_in(&path(before), &name.value),
        };
        Error::Name { message: format!("there is no column '{}'", path(parts)), help }
    }

    /// What may be meant by a name without a relation's before it.
    fn instead(&self, name: &Ident, catalog: &Catalog) -> Option<String> {
        let (name, is_quoted) = (name.value.as_str(), name.quote_style == Some('"'));
        let given = |env: &&Env<'_>| env.unseen.iter().any(|(alias, _)| same(alias, name));
        if let Some(Env { clause, .. }) = self.levels().find(given) {
            if *clause == "SELECT" {
                return Some("the select list gives this name further on; it is known behind that".into());
            }
            return Some(format!(
                "the select list gives this name, which {clause} does not know; \
                 repeat the expression, or give the name in a subquery"
            ));
        }
        let mut tables = catalog.tables();
        let has_it = |schema: &arrow_schema::Schema| schema.fields().iter().any(|f| same(f.name(), name));
        if let Some(table) = tables.find(|table| has_it(&table.schema)) {
            return Some(format!("the table '{}' has it, and FROM does not give it here", table.name));
        }
        meant::name_alone(
            name,
            is_quoted,
            self.levels().flat_map(|env| &env.scope.shown).map(|shown| &*shown.field.name),
        )
    }

    /// What to write for a column of a table that an alias gives another name.
    pub fn renamed(&self, table: &str, column: &str) -> Option<String> {
        let mut relations = self.levels().flat_map(|env| &env.scope.relations);
        let hidden = |other: &&Relation| other.hidden.as_ref().is_some_and(|name| same(name, table));
        let name = relations.find(hidden)?.name.as_ref()?;
        Some(format!("the table has another name here: write {name}.{column}"))
    }

    /// What may be meant by the name of a relation and a column.
    fn instead_in(&self, relation: &str, name: &str) -> Option<String> {
        let relations = || self.levels().flat_map(|env| &env.scope.relations);
        let has_it = |relation: &&Relation| !relation.named(name).is_empty();
        let found = relations().find(|other| other.name.as_ref().is_some_and(|n| same(n, relation)));
        if let Some(found) = found {
            if let Some(other) = relations().filter(has_it).find_map(|other| other.name.as_ref()) {
                return Some(format!("did you mean {other}.{name}?"));
            }
            return meant::column(name, found.fields.iter().map(|field| field.name.as_str()));
        }
        if let Some(instead) = self.renamed(relation, name) {
            return Some(instead);
        }
        let names = || relations().filter_map(|relation| relation.name.as_deref());
        match nearest(relation, names()).as_slice() {
            [] => {
                let names: Vec<&str> = names().collect();
                (!names.is_empty()).then(|| format!("FROM has {}, and no {relation}", names.join(", ")))
            }
            near => {
                let near: Vec<String> = near.iter().map(|near| format!("{near}.{name}")).collect();
                Some(format!("did you mean {}?", near.join(" or ")))
            }
        }
    }
}

/// A name as it is written.
fn path(parts: &[Ident]) -> String {
    parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".")
}

fn ambiguous(name: &Ident, meaning: Meaning) -> Error {
    match meaning {
        Meaning::Spellings(spellings) => {
            let list = spellings.iter().map(|s| format!("\"{s}\"")).collect::<Vec<_>>().join(", ");
            Error::Name {
                message: format!("column '{}' is ambiguous: the table has {list}", name.value),
                help: Some("write the one that you mean in double quotes".into()),
            }
        }
        _ => Error::ambiguous(&name.value),
    }
}
