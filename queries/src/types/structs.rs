//! Functions of structs: `struct_pack(a := 1)`, `struct_insert(s, b := 2)` and the like. A struct without names of its own,
//! such as `row(1, 2)`, has fields called `c0`, `c1` and so on; here it is a tuple.

use std::collections::BTreeSet;

use arrow_schema::{DataType, Field, FieldRef, Fields};
use datafusion_common::ScalarValue;
use expressions::functions::lists::list_of;
use expressions::functions::structs::{self, Made, Part};
use expressions::text::shown;

use super::{Types, signatures};
use crate::algebra::Expr;
use crate::error::{Error, Result};
use crate::functions::Functions;
use crate::meant;
use crate::names::same;

/// The functions.
const NAMES: [&str; 8] = [
    "struct_concat",
    "struct_extract",
    "struct_extract_at",
    "struct_insert",
    "struct_keys",
    "struct_pack",
    "struct_update",
    "struct_values",
];

/// Whether this is the name, in lower case, of a function of structs.
pub fn is_one(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The names of the functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

/// An argument, with the name that it may have.
pub type Argument = (Option<String>, Expr);

/// The field of a name: the one that is spelled so, or else the only one that differs by case alone.
pub fn field_named<'f>(fields: &'f Fields, name: &str) -> Option<&'f Field> {
    if let Some((_, field)) = fields.find(name) {
        return Some(field.as_ref());
    }
    let mut alike = fields.iter().filter(|field| same(field.name(), name));
    alike.next().filter(|_| alike.next().is_none()).map(AsRef::as_ref)
}

/// The name of a tuple's field.
fn place(at: usize) -> String {
    format!("c{at}")
}

/// Whether the fields of a struct have no names of their own.
pub fn is_tuple(fields: &Fields) -> bool {
    fields.iter().enumerate().all(|(at, field)| *field.name() == place(at))
}

/// The fields of a struct.
fn fields_of(e: &Expr) -> Option<&Fields> {
    match &e.data_type {
        DataType::Struct(fields) => Some(fields),
        _ => None,
    }
}

/// Refuses two fields of one name.
pub fn check_names<'n>(function: &str, names: impl IntoIterator<Item = &'n String>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name.to_lowercase()) {
            return Err(Error::Invalid(format!("{function}() would give two fields of the name '{name}'")));
        }
    }
    Ok(())
}

impl Types {
    /// A call of a function of structs.
    ///
    /// # Errors
    /// It takes no such arguments, two fields would have one name, or a field is not there.
    pub fn structure(&self, function: &str, args: Vec<Argument>) -> Result<Expr> {
        if matches!(function, "struct_pack" | "struct_insert" | "struct_update") {
            return self.with_fields(function, args);
        }
        if args.iter().any(|(name, _)| name.is_some()) {
            return Err(Error::Unsupported(format!("names of arguments in {function}()")));
        }
        let args: Vec<Expr> = args.into_iter().map(|(_, value)| value).collect();
        let given: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
        let no_match = || signatures::no_standing(function, &given);
        if function == "struct_concat" {
            return self.concatenated_structs(args);
        }
        let mut args = args.into_iter();
        match (function, args.next(), args.next(), args.next()) {
            ("struct_keys", Some(of), None, None) => {
                let null = Expr::null(&list_of(&DataType::Utf8View));
                let Some(fields) = fields_of(&of).filter(|fields| !is_tuple(fields)) else {
                    return if of.data_type.is_null() { Ok(null) } else { Err(no_match()) };
                };
                let text = |name: &String| Expr::literal(ScalarValue::Utf8View(Some(name.clone())));
                let names = fields.iter().map(|field| text(field.name())).collect();
                let names = self.list_call("list_value", names)?;
                self.case(None, vec![(of.is_null(), null)], Some(names))
            }
            ("struct_values", Some(of), None, None) => {
                let Some(fields) = fields_of(&of) else {
                    return if of.data_type.is_null() { Ok(of) } else { Err(no_match()) };
                };
                let part = |at| (place(at), Part::Field { of: 0, at });
                let fields = (0..fields.len()).map(part).collect();
                let made = Made { name: function.into(), fields, is_null_with_first: true };
                self.typed_call(structs::function(made), vec![of])
            }
            ("struct_extract" | "struct_extract_at", Some(of), Some(field), None) => {
                let Some(field) = field.as_literal() else {
                    return Err(Error::Invalid(format!("the field in {function}() is a constant")));
                };
                match (fields_of(&of), field.try_as_str().flatten(), field.cast_to(&DataType::Int64)) {
                    (None, ..) if of.data_type.is_null() => Ok(of),
                    (Some(_), ..) if field.is_null() => Ok(Expr::null(&DataType::Null)),
                    (Some(_), Some(name), _) if function == "struct_extract" => self.field_of(of, name),
                    (Some(fields), None, Ok(ScalarValue::Int64(Some(at)))) => {
                        if function == "struct_extract" && !is_tuple(fields) {
                            return Err(Error::Invalid(
                                "struct_extract() takes the name of a field\n  help: struct_extract_at(struct, 1) \
                                 is the first field"
                                    .into(),
                            ));
                        }
                        self.field_at(of, at)
                    }
                    _ => Err(no_match()),
                }
            }
            _ => Err(no_match()),
        }
    }

    /// A field of a struct by its name.
    ///
    /// # Errors
    /// There is none.
    fn field_of(&self, of: Expr, name: &str) -> Result<Expr> {
        let Some(fields) = fields_of(&of) else { return Err(Error::Invalid("no struct".into())) };
        let Some(field) = field_named(fields, name) else {
            let help = meant::column(name, fields.iter().map(|field| field.name().as_str()));
            return Err(Error::Name { message: format!("the struct has no field '{name}'"), help });
        };
        let name = field.name().clone();
        self.get_field(of, &name)
    }

    /// The field of a struct that has exactly this name.
    pub(super) fn get_field(&self, of: Expr, name: &str) -> Result<Expr> {
        let name = Expr::literal(ScalarValue::Utf8View(Some(name.into())));
        match Functions::all().scalar("get_field") {
            Some(function) => self.call(&function, vec![of, name]),
            None => Err(Error::Invalid("there is no function 'get_field'".into())),
        }
    }

    /// A field of a struct by its place, from 1 on.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn field_at(&self, of: Expr, at: i64) -> Result<Expr> {
        let fields = fields_of(&of).map_or(0, |fields| fields.len());
        let place = usize::try_from(at).ok().and_then(|at| at.checked_sub(1)).filter(|at| *at < fields);
        match place.and_then(|at| Some(fields_of(&of)?[at].name().clone())) {
            Some(name) => self.field_of(of, &name),
            None => Err(Error::Invalid(format!("the struct has fields 1 to {fields}, and no field {at}"))),
        }
    }

    /// A struct as another one: of the fields with its names, and NULL where there is none. Those of a tuple are taken by
    /// their places.
    ///
    /// # Errors
    /// It has none of the fields, or there is no cast of one.
    pub(super) fn struct_as(&self, e: Expr, wanted: &Fields, safe: bool) -> Result<Expr> {
        let Some(fields) = fields_of(&e).cloned() else { return Err(Error::Invalid("no struct".into())) };
        let by_place = is_tuple(&fields) && fields.len() == wanted.len();
        let found = |at: usize, name: &str| match by_place {
            true => fields.get(at).map(AsRef::as_ref),
            false => field_named(&fields, name),
        };
        if !wanted.iter().enumerate().any(|(at, field)| found(at, field.name()).is_some()) {
            let cast = if safe { "TRY_CAST" } else { "CAST" };
            let (from, to) = (shown(&e.data_type), shown(&DataType::Struct(wanted.clone())));
            return Err(Error::Unsupported(format!(
                "{cast} from {from} to {to}, which have no field in common"
            )));
        }
        let mut args = vec![e.clone()];
        for (at, field) in wanted.iter().enumerate() {
            let to = field.data_type();
            args.push(match found(at, field.name()) {
                None => Expr::null(to),
                Some(found) => match self.field_of(e.clone(), found.name())? {
                    value if value.data_type == *to => value,
                    value if value.data_type.is_null() => Expr::null(to),
                    value => self.cast(value, to, safe)?,
                },
            });
        }
        let part = |(at, field): (usize, &FieldRef)| (field.name().clone(), Part::Argument(at + 1));
        let fields = wanted.iter().enumerate().map(part).collect();
        let made = Made { name: "cast_struct".into(), fields, is_null_with_first: true };
        self.typed_call(structs::function(made), args)
    }

    /// A struct of named values, or one with fields that are added, or put in the place of those of their names.
    fn with_fields(&self, function: &str, args: Vec<Argument>) -> Result<Expr> {
        let packs = function == "struct_pack";
        let usage = || {
            let help = if packs { "a := 1, b := 2" } else { "s, a := 1" };
            let what =
                if packs { "fields with their names" } else { "a struct, and fields with their names" };
            Error::Invalid(format!("{function}() takes {what}: {function}({help})"))
        };
        let mut names: Vec<String> = Vec::with_capacity(args.len());
        let mut values: Vec<Expr> = Vec::with_capacity(args.len());
        let mut args = args.into_iter();
        let mut fields: Vec<(String, Part)> = Vec::new();
        if !packs {
            let Some((None, of)) = args.next() else { return Err(usage()) };
            let Some(before) = fields_of(&of) else { return Err(usage()) };
            let part = |at: usize| Part::Field { of: 0, at };
            fields = before.iter().enumerate().map(|(at, field)| (field.name().clone(), part(at))).collect();
            values.push(of);
        }
        for (name, value) in args {
            let name = name.ok_or_else(usage)?;
            let part = Part::Argument(values.len());
            values.push(value);
            let known =
                fields.iter_mut().find(|(known, _)| function == "struct_update" && same(known, &name));
            names.push(name.clone());
            match known {
                Some(field) => *field = (name, part),
                None => fields.push((name, part)),
            }
        }
        if names.is_empty() {
            return Err(usage());
        }
        check_names(function, &names)?;
        check_names(function, fields.iter().map(|(name, _)| name))?;
        let made = Made { name: function.into(), fields, is_null_with_first: false };
        self.typed_call(structs::function(made), values)
    }

    /// The fields of several structs as one struct, or those of tuples as one tuple.
    fn concatenated_structs(&self, args: Vec<Expr>) -> Result<Expr> {
        let function = "struct_concat";
        let mut fields = Vec::new();
        let are_tuples = args.iter().filter_map(fields_of).all(is_tuple);
        for (of, arg) in args.iter().enumerate() {
            let Some(own) = fields_of(arg) else {
                let message = format!("{function}() takes structs, and no {}", shown(&arg.data_type));
                return Err(Error::Invalid(message));
            };
            if !are_tuples && is_tuple(own) {
                let message =
                    format!("{function}() takes structs with names of fields, or without, and not both");
                return Err(Error::Invalid(message));
            }
            for (at, field) in own.iter().enumerate() {
                let name = if are_tuples { place(fields.len()) } else { field.name().clone() };
                fields.push((name, Part::Field { of, at }));
            }
        }
        if fields.is_empty() {
            return Err(Error::Invalid(format!("{function}() takes structs")));
        }
        check_names(function, fields.iter().map(|(name, _)| name))?;
        let made = Made { name: function.into(), fields, is_null_with_first: false };
        self.typed_call(structs::function(made), args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_spelling_or_without_regard_to_case() {
        let field = |name: &str| Field::new(name, DataType::Int64, true);
        let fields: Fields = [field("a"), field("B"), field("x"), field("X")].into_iter().collect();
        let found = |name: &str| field_named(&fields, name).map(|field| field.name().as_str());
        assert_eq!([found("a"), found("A"), found("b")], [Some("a"), Some("a"), Some("B")]);
        assert_eq!([found("x"), found("X"), found("c")], [Some("x"), Some("X"), None]);
        let both: Fields = [field("ab"), field("AB")].into_iter().collect();
        assert!(field_named(&both, "Ab").is_none());
    }

    #[test]
    fn tuples_have_no_names_of_their_own() {
        let of = |names: &[&str]| {
            is_tuple(&names.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect())
        };
        assert!(of(&["c0", "c1"]) && !of(&["c1", "c0"]) && !of(&["a"]));
    }
}
