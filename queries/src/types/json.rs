//! Functions of JSON, its casts, and what it is compared with.
//!
//! A path that is constant is compiled here, once; whether it has wildcards decides whether there is a list of values.

use std::collections::HashSet;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field};
use datafusion_common::ScalarValue;
use expressions::functions::json::changed::{self, Change};
use expressions::functions::json::made::{Form, Makes};
use expressions::functions::json::merged::Nulls;
use expressions::functions::json::path::Path;
use expressions::functions::json::reader::Kind as JsonKind;
use expressions::functions::json::reads::{Asks, Target};
use expressions::functions::json::rows::Part;
use expressions::functions::json::tape::Tape;
use expressions::functions::json::transform::{self, Strictness};
use expressions::functions::json::{Holds, OfJson};
use expressions::functions::lists::list_of;
use expressions::text::shown;

use super::zones::{has_instants, with_texts};
use super::{Types, signatures};
use crate::algebra::{Columns, Expr, Kind};
use crate::compile::is_text;
use crate::error::{Error, Result};
use crate::functions::Functions;

/// A function of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// What is asked of JSON, or of what a path leads to in it.
    Read(Asks),
    /// `json_valid`.
    IsValid,
    /// `json_contains`.
    Contains,
    /// `to_json`.
    Value,
    /// `to_json` of lists alone.
    List,
    /// `to_json` of structs alone.
    Struct,
    /// `json_array`.
    Array,
    /// `json_object`.
    Object,
    /// `json_transform`, or its strict form.
    Transform(Strictness),
    /// `json_merge_patch`, or `json_deep_merge`.
    MergePatch(Nulls),
    /// `json_merge_patch_diff`.
    Diff,
    /// `json_set` and the like.
    Change(Change),
    /// `json_normalize`.
    Normalize,
    /// `json_strip_nulls`.
    StripNulls,
    /// `json_structure`.
    Structure,
    /// `json_pretty`.
    Pretty,
}

/// The names of a function, its lists of arguments, and which one it is.
type Row = (&'static [&'static str], &'static [&'static [&'static str]], Named);

/// The functions: the names of each, its arguments as a user reads them, and what it is.
const NAMED: [Row; 28] = [
    (
        &["json_extract", "json_extract_path"],
        &[&["JSON", "VARCHAR"], &["JSON", "BIGINT"], &["JSON", "VARCHAR[]"]],
        Named::Read(Asks::Json),
    ),
    (
        &["json_extract_string", "json_extract_path_text"],
        &[&["JSON", "VARCHAR"], &["JSON", "BIGINT"], &["JSON", "VARCHAR[]"]],
        Named::Read(Asks::Text),
    ),
    (
        &["json_value"],
        &[&["JSON", "VARCHAR"], &["JSON", "BIGINT"], &["JSON", "VARCHAR[]"]],
        Named::Read(Asks::Scalar),
    ),
    (&["json_exists"], &[&["JSON", "VARCHAR"], &["JSON", "VARCHAR[]"]], Named::Read(Asks::Exists)),
    (&["json_type"], &[&["JSON"], &["JSON", "VARCHAR"], &["JSON", "VARCHAR[]"]], Named::Read(Asks::Type)),
    (&["json_keys"], &[&["JSON"], &["JSON", "VARCHAR"], &["JSON", "VARCHAR[]"]], Named::Read(Asks::Keys)),
    (
        &["json_array_length"],
        &[&["JSON"], &["JSON", "VARCHAR"], &["JSON", "VARCHAR[]"]],
        Named::Read(Asks::Length),
    ),
    (&["json"], &[&["JSON"]], Named::Read(Asks::Json)),
    (&["json_valid"], &[&["JSON"]], Named::IsValid),
    (&["json_contains"], &[&["JSON", "JSON"]], Named::Contains),
    (&["to_json", "json_quote"], &[&["value"]], Named::Value),
    (&["array_to_json"], &[&["value[]"]], Named::List),
    (&["row_to_json"], &[&["STRUCT"]], Named::Struct),
    (&["json_array"], &[&["value", "…"]], Named::Array),
    (&["json_object"], &[&["VARCHAR", "value", "…"]], Named::Object),
    (&["json_transform", "from_json"], &[&["JSON", "VARCHAR"]], Named::Transform(Strictness::NONE)),
    (
        &["json_transform_strict", "from_json_strict"],
        &[&["JSON", "VARCHAR"]],
        Named::Transform(Strictness::STRICT),
    ),
    (&["json_merge_patch"], &[&["JSON", "JSON", "…"]], Named::MergePatch(Nulls::Remove)),
    (&["json_deep_merge"], &[&["JSON", "JSON", "…"]], Named::MergePatch(Nulls::Keep)),
    (&["json_merge_patch_diff"], &[&["JSON", "JSON"]], Named::Diff),
    (&["json_set"], &[&["JSON", "VARCHAR", "value"]], Named::Change(Change::Set)),
    (&["json_insert"], &[&["JSON", "VARCHAR", "value"]], Named::Change(Change::Insert)),
    (&["json_replace"], &[&["JSON", "VARCHAR", "value"]], Named::Change(Change::Replace)),
    (&["json_remove"], &[&["JSON", "VARCHAR"]], Named::Change(Change::Remove)),
    (&["json_normalize"], &[&["JSON"]], Named::Normalize),
    (&["json_strip_nulls"], &[&["JSON"]], Named::StripNulls),
    (&["json_structure"], &[&["JSON"]], Named::Structure),
    (&["json_pretty"], &[&["JSON"]], Named::Pretty),
];

/// The function of a name, in lower case.
pub fn named(name: &str) -> Option<Named> {
    NAMED.iter().find(|(names, ..)| names.contains(&name)).map(|(.., named)| *named)
}

/// The names of all functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMED.iter().flat_map(|(names, ..)| names.iter().copied())
}

/// The arguments that a function takes, as a user reads them.
pub fn arguments(name: &str) -> Vec<Vec<String>> {
    let found = NAMED.iter().find(|(names, ..)| names.contains(&name));
    let lists = found.map_or(&[][..], |(_, arguments, _)| arguments);
    lists.iter().map(|arguments| arguments.iter().map(|argument| argument.to_string()).collect()).collect()
}

/// The name under which the call of a function is shown.
fn shown_name(name: &str) -> &'static str {
    names().find(|known| *known == name).unwrap_or("json")
}

/// A call, which is not computed here even if its arguments are constants: what is made of it may depend on that it is
/// JSON.
pub(super) fn call(name: &str, of: OfJson, args: Vec<Expr>) -> Expr {
    let data_type = of.gives();
    Expr { kind: Kind::Call { function: of.function(shown_name(name)), args }, data_type }
}

fn text_of(e: &Expr) -> Option<&str> {
    e.as_literal().and_then(ScalarValue::try_as_str).flatten()
}

fn is_null(e: &Expr) -> bool {
    e.data_type.is_null() || e.as_literal().is_some_and(ScalarValue::is_null)
}

impl Types {
    /// A call of a function of JSON by a name that it is given.
    ///
    /// # Errors
    /// It takes no such arguments, or a path or structure is none.
    pub fn of_json(&self, written: &str, of: Named, args: Vec<Expr>, columns: &Columns) -> Result<Expr> {
        let given: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
        let wrong = || signatures::no_standing(written, &given);
        let text = |e: Expr| self.json_text(e, columns, &wrong);
        let only = |mut args: Vec<Expr>| match args.len() {
            1 => Ok(args.swap_remove(0)),
            _ => Err(wrong()),
        };
        Ok(match of {
            Named::Read(asks) => {
                let mut args = args.into_iter();
                let takes_whole = matches!(asks, Asks::Type | Asks::Keys | Asks::Length) || written == "json";
                match (args.next(), args.next(), args.next()) {
                    (Some(json), None, None) if takes_whole => {
                        call(written, OfJson::Read(asks, Target::Whole), vec![text(json)?])
                    }
                    (Some(json), Some(path), None) if written != "json" => {
                        self.read_at(written, asks, (json, path), columns, &wrong)?
                    }
                    _ => return Err(wrong()),
                }
            }
            Named::IsValid => call(written, OfJson::IsValid, vec![text(only(args)?)?]),
            Named::Structure => call(written, OfJson::Structure, vec![text(only(args)?)?]),
            Named::Pretty => call(written, OfJson::Pretty, vec![text(only(args)?)?]),
            Named::Contains if args.len() == 2 => {
                call(written, OfJson::Contains, args.into_iter().map(text).collect::<Result<_>>()?)
            }
            Named::MergePatch(nulls) if args.len() > 1 => {
                call(written, OfJson::MergePatch(nulls), args.into_iter().map(text).collect::<Result<_>>()?)
            }
            Named::Diff if args.len() == 2 => {
                call(written, OfJson::Diff, args.into_iter().map(text).collect::<Result<_>>()?)
            }
            Named::Normalize => call(written, OfJson::Normalize, vec![text(only(args)?)?]),
            Named::StripNulls => call(written, OfJson::StripNulls, vec![text(only(args)?)?]),
            Named::Change(change) => self.json_changed(written, change, args, columns, &wrong)?,
            Named::Contains | Named::MergePatch(_) | Named::Diff => return Err(wrong()),
            Named::Value => self.to_json(written, Makes::Value, vec![only(args)?], columns)?,
            Named::List => match only(args)? {
                list if matches!(list.data_type, DataType::List(_) | DataType::Null) => {
                    self.to_json(written, Makes::Value, vec![list], columns)?
                }
                _ => return Err(wrong()),
            },
            Named::Struct => match only(args)? {
                row if matches!(row.data_type, DataType::Struct(_) | DataType::Null) => {
                    self.to_json(written, Makes::Value, vec![row], columns)?
                }
                _ => return Err(wrong()),
            },
            Named::Array => self.to_json(written, Makes::Array, args, columns)?,
            Named::Object => {
                if !args.len().is_multiple_of(2) {
                    return Err(Error::Invalid("json_object() takes keys and values in turn".into()));
                }
                if let Some(key) = args.iter().step_by(2).find(|key| !is_text(&key.data_type)) {
                    return Err(Error::Invalid(format!(
                        "a key of json_object() is a VARCHAR, and this is {}\n  help: CAST it to VARCHAR",
                        shown(&key.data_type)
                    )));
                }
                self.to_json(written, Makes::Object, args, columns)?
            }
            Named::Transform(strictness) => {
                let [json, structure] = <[Expr; 2]>::try_from(args).map_err(|_| wrong())?;
                let json = text(json)?;
                if is_null(&structure) {
                    return Ok(Expr::null(&DataType::Null));
                }
                let (to, holds) = self.types_of_structure(written, &structure)?;
                self.transformed(written, json, &to, holds, strictness)?
            }
        })
    }

    /// JSON of an argument: text, or what `to_json()` makes of a list, struct or map.
    fn json_text(&self, e: Expr, columns: &Columns, wrong: &dyn Fn() -> Error) -> Result<Expr> {
        match &e.data_type {
            t if is_text(t) || t.is_null() => self.coerced(e, &DataType::Utf8View),
            t if t.is_nested() => self.to_json("to_json", Makes::Value, vec![e], columns),
            _ => Err(wrong()),
        }
    }

    /// JSON with another value where a path leads to: text is JSON there, and anything else is made JSON.
    fn json_changed(
        &self,
        written: &str,
        change: Change,
        args: Vec<Expr>,
        columns: &Columns,
        wrong: &dyn Fn() -> Error,
    ) -> Result<Expr> {
        let mut args = args.into_iter();
        let (Some(json), Some(path)) = (args.next(), args.next()) else { return Err(wrong()) };
        if !(is_text(&path.data_type) || is_null(&path)) {
            return Err(wrong());
        }
        if let Some(text) = text_of(&path) {
            changed::check(written, &Path::of(text)?)?;
        }
        let mut taken = vec![self.json_text(json, columns, wrong)?, self.coerced(path, &DataType::Utf8View)?];
        match (change, args.next(), args.next()) {
            (Change::Remove, None, None) => {}
            (Change::Set | Change::Insert | Change::Replace, Some(new), None) => {
                let is_json = is_text(&new.data_type) || new.data_type.is_null();
                taken.push(match is_json {
                    true => self.coerced(new, &DataType::Utf8View)?,
                    false => self.to_json("to_json", Makes::Value, vec![new], columns)?,
                });
            }
            _ => return Err(wrong()),
        }
        Ok(call(written, OfJson::Change(change), taken))
    }

    /// What is asked of the values that a path leads to.
    fn read_at(
        &self,
        written: &str,
        asks: Asks,
        (json, path): (Expr, Expr),
        columns: &Columns,
        wrong: &dyn Fn() -> Error,
    ) -> Result<Expr> {
        let text = self.json_text(json.clone(), columns, wrong)?;
        let takes_places = matches!(asks, Asks::Json | Asks::Text | Asks::Scalar);
        let place = match (&path.data_type, path.as_literal()) {
            _ if is_null(&path) => return Ok(Expr::null(&asks.gives())),
            (DataType::List(item), Some(ScalarValue::List(list)))
                if is_text(item.data_type()) || item.data_type().is_null() =>
            {
                Target::Each(paths(list.values(), list.value_offsets())?)
            }
            (DataType::List(item), None) if is_text(item.data_type()) => {
                return Err(Error::Invalid(format!("the list of paths of {written}() is constant")));
            }
            (t, Some(place)) if t.is_integer() && takes_places => match place.cast_to(&DataType::Int64)? {
                ScalarValue::Int64(Some(place)) => Target::At(Path::item(place)),
                _ => return Err(wrong()),
            },
            (t, Some(_)) if is_text(t) => {
                let path = Path::of(text_of(&path).unwrap_or_default())?;
                if path.is_wild() { Target::All(path) } else { Target::At(path) }
            }
            (t, None) if is_text(t) || t.is_integer() && takes_places => Target::Column,
            _ => return Err(wrong()),
        };
        if let Target::At(path) = &place
            && let Some(read) = self.read_below(written, asks, &json, path, columns)?
        {
            return Ok(read);
        }
        let path = match (&place, path.data_type.is_integer()) {
            (Target::Column, true) => self.coerced(path, &DataType::Int64)?,
            (Target::Column, false) => self.coerced(path, &DataType::Utf8View)?,
            _ => path,
        };
        Ok(call(written, OfJson::Read(asks, place), vec![text, path]))
    }

    /// The member of JSON that has a key, whatever is in that.
    ///
    /// # Errors
    /// As [`Types::of_json`].
    pub fn json_field(&self, json: Expr, key: &str, columns: &Columns) -> Result<Expr> {
        let (name, path) = ("json_extract", Path::key(key));
        if let Some(read) = self.read_below(name, Asks::Json, &json, &path, columns)? {
            return Ok(read);
        }
        let key = Expr::literal(ScalarValue::Utf8View(Some(key.into())));
        Ok(call(name, OfJson::Read(Asks::Json, Target::At(path)), vec![json, key]))
    }

    /// The item of JSON at a place, from 0 on.
    ///
    /// # Errors
    /// The place is no integer.
    pub fn json_item(&self, json: Expr, place: Expr, columns: &Columns) -> Result<Expr> {
        match place.data_type.is_integer() {
            true => self.of_json("json_extract", Named::Read(Asks::Json), vec![json, place], columns),
            false => Err(Error::Invalid(format!(
                "a subscript of JSON is the place of an item, or a key in quotes, and this is {}",
                shown(&place.data_type)
            ))),
        }
    }

    /// What `->` gives (`as_text`: `->>`).
    ///
    /// # Errors
    /// There is no such operation on these operands.
    pub fn json_arrow(&self, json: Expr, path: Expr, as_text: bool, columns: &Columns) -> Result<Expr> {
        let (name, asks, op) = match as_text {
            true => ("json_extract_string", Asks::Text, "->>"),
            false => ("json_extract", Asks::Json, "->"),
        };
        let is_condition = |e: &Expr| e.data_type == DataType::Boolean;
        if is_condition(&json) || is_condition(&path) {
            let why = match as_text {
                true => "->> takes JSON and a path, and this is a BOOLEAN",
                false => {
                    "-> takes JSON and a path, and this is a BOOLEAN: -> binds less tightly than all other operators"
                }
            };
            return Err(Error::Invalid(format!("{why}\n  help: put it in parentheses: (a {op} 'b') = 'c'")));
        }
        self.of_json(name, Named::Read(asks), vec![json, path], columns)
    }

    /// JSON of values.
    ///
    /// # Errors
    /// A value has no JSON.
    pub fn to_json(&self, written: &str, makes: Makes, args: Vec<Expr>, columns: &Columns) -> Result<Expr> {
        let is_key = |place: usize| matches!(makes, Makes::Object | Makes::Field) && place.is_multiple_of(2);
        let holds = args.iter().enumerate().map(|(place, arg)| match is_key(place) {
            true => Holds::Nothing,
            false => columns.holds(arg),
        });
        let holds = holds.collect();
        self.json_of(written, makes, args, holds)
    }

    /// JSON of values which have JSON in them at these places.
    fn json_of(&self, written: &str, makes: Makes, args: Vec<Expr>, holds: Vec<Holds>) -> Result<Expr> {
        let (mut values, mut forms) = (Vec::with_capacity(args.len()), Vec::with_capacity(args.len()));
        for (arg, holds) in args.into_iter().zip(holds) {
            let value = self.with_json(arg)?;
            let Some(form) = Form::of(&value.data_type, &holds) else {
                return Err(Error::Unsupported(format!("{written}() of {}", shown(&value.data_type))));
            };
            values.push(value);
            forms.push(form);
        }
        Ok(call(written, OfJson::Make(makes, forms), values))
    }

    /// A value whose parts have JSON, or text where they have none.
    fn with_json(&self, e: Expr) -> Result<Expr> {
        if Form::of(&e.data_type, &Holds::Nothing).is_some() {
            return Ok(e);
        }
        match e.data_type.clone() {
            DataType::List(_) => self.of_each_item(e, "json_items".into(), &|item| self.with_json(item)),
            DataType::Struct(fields) => {
                let names = fields.iter().map(|field| field.name().as_str());
                self.each_field(e, names, &|value, _| self.with_json(value))
            }
            _ => self.cast(e, &DataType::Utf8View, false),
        }
    }

    /// A struct of what is made of the fields of another one.
    fn each_field<'n>(
        &self,
        e: Expr,
        names: impl Iterator<Item = &'n str>,
        of: &dyn Fn(Expr, &str) -> Result<Expr>,
    ) -> Result<Expr> {
        let mut args = Vec::new();
        for name in names {
            let value = self.get_field(e.clone(), name)?;
            args.extend([Expr::literal(ScalarValue::Utf8View(Some(name.into()))), of(value, name)?]);
        }
        let named_struct = Functions::all().scalar("named_struct");
        let named_struct =
            named_struct.ok_or_else(|| Error::Invalid("there is no function 'named_struct'".into()))?;
        let all = self.call(&named_struct, args)?;
        let null = Expr::null(&all.data_type);
        self.case(None, vec![(e.is_null(), null)], Some(all))
    }

    /// The type that a constant structure says: `{"a": "INTEGER", "b": ["VARCHAR"]}`.
    fn types_of_structure(&self, written: &str, structure: &Expr) -> Result<(DataType, Holds)> {
        if !structure.columns().is_empty() || structure.has_subquery() || structure.is_volatile() {
            return Err(Error::Invalid(format!("the structure of {written}() is constant")));
        }
        let value = self.constant(structure)?;
        let Some(text) = value.try_as_str().flatten() else {
            return Err(Error::Invalid(format!("the structure of {written}() is a text")));
        };
        let tape = Tape::of(text).map_err(|wrong| wrong.error(text))?;
        structured(&tape, 0)
    }

    /// Values of a type of JSON.
    fn transformed(
        &self,
        written: &str,
        json: Expr,
        to: &DataType,
        holds: Holds,
        strictness: Strictness,
    ) -> Result<Expr> {
        if self.zone.is_some() && has_instants(to) {
            // The texts of the JSON, of which instants are made then.
            let texts = self.transformed(written, json, &with_texts(to), holds, strictness)?;
            return self.cast(texts, to, !strictness.values);
        }
        if !transform::is_made(to) {
            return Err(Error::Unsupported(format!("JSON as {}", shown(to))));
        }
        Ok(call(written, OfJson::Transform(to.clone(), holds, strictness), vec![json]))
    }

    /// `CAST(e AS to)`, or `TRY_CAST`, which is `safe`, where there may be JSON in the value, or in the type.
    ///
    /// # Errors
    /// As of [`Types::cast`].
    pub fn cast_json(
        &self,
        e: Expr,
        (to, holds): (&DataType, &Holds),
        safe: bool,
        columns: &Columns,
    ) -> Result<Expr> {
        let from = columns.holds(&e);
        self.cast_holding(e, &from, to, holds, safe)
    }

    fn cast_holding(&self, e: Expr, from: &Holds, to: &DataType, holds: &Holds, safe: bool) -> Result<Expr> {
        let is_json = *from == Holds::Json;
        match (&e.data_type, to) {
            _ if *from == Holds::Nothing && *holds == Holds::Nothing => self.cast(e, to, safe),
            (DataType::Null, _) => Ok(Expr::null(to)),
            _ if *holds == Holds::Json && is_json => Ok(e),
            (t, _) if *holds == Holds::Json && is_text(t) => {
                let text = self.coerced(e, &DataType::Utf8View)?;
                Ok(call("json", OfJson::Checked { safe }, vec![text]))
            }
            _ if *holds == Holds::Json => self.json_of("to_json", Makes::Value, vec![e], vec![from.clone()]),
            // It is text from here on.
            (_, to) if is_json && is_text(to) => {
                Ok(Expr { kind: Kind::Cast { expr: Box::new(e), safe }, data_type: to.clone() })
            }
            _ if is_json => {
                let strictness = if safe { Strictness::TRY } else { Strictness::CAST };
                self.transformed("json_transform", e, to, holds.clone(), strictness)
            }
            (DataType::List(_), DataType::List(item)) => {
                let text = format!("cast_json({})", shown(item.data_type()));
                let (from, holds) = (from.items(), holds.items());
                self.of_each_item(e, text, &|value| {
                    self.cast_holding(value, from, item.data_type(), holds, safe)
                })
            }
            (DataType::Struct(fields), DataType::Struct(wanted)) if fields.len() == wanted.len() => {
                let names = wanted.iter().map(|field| field.name().as_str());
                if let Some(other) = names.clone().find(|name| !fields.iter().any(|f| f.name() == name)) {
                    return Err(Error::Invalid(format!("the struct has no field '{other}'")));
                }
                self.each_field(e, names, &|value, name| {
                    let to = wanted.iter().find(|field| field.name() == name).map(|field| field.data_type());
                    let to = to.unwrap_or(&DataType::Null);
                    self.cast_holding(value, from.field(name), to, holds.field(name), safe)
                })
            }
            // Text with JSON in it is JSON throughout: in a text of a list quotes would be left out.
            (t, to) if is_text(t) && to.is_nested() => self.cast_holding(e, &Holds::Json, to, holds, safe),
            (_, DataType::Map(..)) if holds == from && e.data_type == *to => Ok(e),
            (_, DataType::Map(..)) if *holds != Holds::Nothing => {
                Err(Error::Unsupported("CAST to a map with JSON in it".into()))
            }
            _ => self.cast(e, to, safe),
        }
    }

    /// Values that are compared with each other, of which some are JSON. What is compared with text is compared as
    /// JSON, and JSON beside anything else becomes that.
    ///
    /// # Errors
    /// A constant text is no JSON.
    pub fn compared_json<const N: usize>(
        &self,
        mut all: [Expr; N],
        mut more: Vec<Expr>,
        columns: &Columns,
    ) -> Result<([Expr; N], Vec<Expr>)> {
        let values = || all.iter().chain(&more);
        let is_json: Vec<bool> = values().map(|e| columns.is_json(e)).collect();
        if !is_json.contains(&true) {
            return Ok((all, more));
        }
        let others: Vec<&DataType> = values()
            .zip(&is_json)
            .filter(|(e, is_json)| !**is_json && !is_null(e))
            .map(|(e, _)| &e.data_type)
            .collect();
        let common = if others.iter().any(|t| is_text(t)) { None } else { self.in_common_of(&others) };
        let to = common.filter(|t| !t.is_null() && !t.is_nested());
        for (e, is_json) in all.iter_mut().chain(&mut more).zip(is_json) {
            match &to {
                Some(to) if is_json => {
                    let json = std::mem::replace(e, Expr::boolean(None));
                    *e = self.transformed("json_transform", json, to, Holds::Nothing, Strictness::CAST)?;
                }
                None if !is_json && is_text(&e.data_type) && !is_null(e) => {
                    if let Some(text) = text_of(e)
                        && let Err(wrong) = Tape::of(text)
                    {
                        let what = wrong.error(text).to_string();
                        let what = what.strip_prefix("Execution error: ").unwrap_or(&what);
                        return Err(Error::Invalid(format!(
                            "JSON is compared with a text that is none: {what}\n  help: ->> gives text, which can be compared \
                             with any"
                        )));
                    }
                    let text =
                        self.coerced(std::mem::replace(e, Expr::boolean(None)), &DataType::Utf8View)?;
                    *e = call("json", OfJson::Checked { safe: false }, vec![text]);
                }
                _ => {}
            }
        }
        Ok((all, more))
    }

    /// The lists of `json_each`, or `json_tree`: a column after the other, with their names.
    ///
    /// # Errors
    /// It takes no such arguments, or the path is none.
    pub fn json_rows(
        &self,
        written: &str,
        args: Vec<Expr>,
        columns: &Columns,
    ) -> Result<Vec<(&'static str, Expr)>> {
        let given: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
        let types: Vec<String> = given.iter().map(shown).collect();
        let wrong = || Error::Name {
            message: format!("there is no table function {written}({})", types.join(", ")),
            help: Some(format!("there are {written}(JSON), {written}(JSON, VARCHAR)")),
        };
        if !(1..=2).contains(&args.len()) {
            return Err(wrong());
        }
        let mut args = args.into_iter();
        let mut taken =
            vec![self.json_text(args.next().unwrap_or_else(|| Expr::boolean(None)), columns, &wrong)?];
        if let Some(path) = args.next() {
            if !(is_text(&path.data_type) || is_null(&path)) {
                return Err(wrong());
            }
            if let Some(text) = text_of(&path) {
                let steps = Path::of(text)?;
                if steps.is_wild() {
                    return Err(Error::Unsupported(format!("wildcards in a path of {written}()")));
                }
            }
            taken.push(self.coerced(path, &DataType::Utf8View)?);
        }
        let is_tree = written == "json_tree";
        let list = |(name, part): (&'static str, Part)| {
            let of = OfJson::Rows { part, is_tree };
            let data_type = of.gives();
            let function = of.function(part.function(is_tree));
            (name, Expr { kind: Kind::Call { function, args: taken.clone() }, data_type })
        };
        Ok(Part::ALL.into_iter().map(list).collect())
    }

    /// A text between two others as JSON: what `json_group_array()` makes of its items.
    ///
    /// # Errors
    /// It is no text.
    pub fn json_enclosed(&self, e: Expr, begin: &'static str, end: &'static str) -> Result<Expr> {
        let text = self.coerced(e, &DataType::Utf8View)?;
        Ok(call("json", OfJson::Enclosed(begin, end), vec![text]))
    }
}

/// The paths of a list.
fn paths(values: &arrow_array::ArrayRef, offsets: &[i32]) -> Result<Vec<Path>> {
    if offsets[0] == offsets[1] {
        return Ok(vec![]);
    }
    let texts =
        arrow_cast::cast(values, &DataType::Utf8View).map_err(datafusion_common::DataFusionError::from)?;
    let texts = texts.as_string_view();
    let mut paths = Vec::new();
    for at in offsets[0] as usize..offsets[1] as usize {
        if texts.is_null(at) {
            return Err(Error::Invalid("a path of a list of JSON paths is NULL".into()));
        }
        let path = Path::of(texts.value(at))?;
        if path.is_wild() {
            return Err(Error::Invalid(format!(
                "the JSON path '{}' has a wildcard, which none of several paths may have",
                texts.value(at)
            )));
        }
        paths.push(path);
    }
    Ok(paths)
}

/// The type that a part of a structure says.
fn structured(tape: &Tape<'_>, value: usize) -> Result<(DataType, Holds)> {
    let wrong = |what: &str| Err(Error::Invalid(format!("{what} in a JSON structure: {}", tape.text(value))));
    match tape.kind(value) {
        JsonKind::String => match tape.string(value) {
            name if name.eq_ignore_ascii_case("NULL") => Ok((DataType::Null, Holds::Nothing)),
            name => crate::binder::type_with_json(&name),
        },
        JsonKind::Array => match tape.members(value).collect::<Vec<_>>().as_slice() {
            [(_, item)] => {
                let (item, holds) = structured(tape, *item)?;
                Ok((list_of(&item), holds.in_lists()))
            }
            _ => wrong("a list has one type"),
        },
        JsonKind::Object if tape.length(value) == 0 => wrong("an object without fields"),
        JsonKind::Object => {
            let (mut fields, mut holds, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
            for (key, member) in tape.members(value) {
                let key = key.map(|key| tape.key(key).into_owned()).unwrap_or_default();
                if key.is_empty() {
                    return wrong("a field without a name");
                }
                if !seen.insert(key.to_lowercase()) {
                    return wrong("a field that stands twice");
                }
                let (data_type, of_field) = structured(tape, member)?;
                fields.push(Field::new(key.clone(), data_type, true));
                holds.push((key, of_field));
            }
            Ok((DataType::Struct(fields.into()), Holds::in_structs(holds)))
        }
        _ => wrong("what is no name of a type, no list and no object"),
    }
}
