//! Functions of maps, whose arguments are brought to the types of the map's keys and values.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use expressions::functions::lists::maps::{map_of, parts_of};
use expressions::functions::lists::{item_of, list_of};
use expressions::text::shown;

use super::mismatch::nothing_in_common;
use super::numbers::{Typed, typed};
use super::{Types, signatures};
use crate::algebra::Expr;
use crate::error::{Error, Result};
use crate::functions::Functions;

/// The functions.
const NAMES: [&str; 13] = [
    "cardinality",
    "element_at",
    "map",
    "map_concat",
    "map_contains",
    "map_contains_entry",
    "map_contains_value",
    "map_entries",
    "map_extract",
    "map_extract_value",
    "map_from_entries",
    "map_keys",
    "map_values",
];

/// Whether this is the name, in lower case, of a function of maps.
pub fn is_one(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The names of the functions.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

impl Types {
    /// A call of a function of maps.
    ///
    /// # Errors
    /// It takes no such arguments.
    pub fn of_maps(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        let given: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
        let no_match = || signatures::no_standing(name, &given);
        if name == "map_concat" {
            return self.maps_concatenated(args).and_then(|call| call.ok_or_else(no_match));
        }
        let mut args = args.into_iter();
        let (first, second, third) = (args.next(), args.next(), args.next());
        if args.next().is_some() {
            return Err(no_match());
        }
        if name == "map" {
            let lists = match (first, second, third) {
                (None, None, None) => {
                    [self.list_call("list_value", vec![])?, self.list_call("list_value", vec![])?]
                }
                (Some(keys), Some(values), None) => [keys, values],
                _ => return Err(no_match()),
            };
            let lists = lists.map(|list| match list.data_type {
                DataType::List(_) => Ok(list),
                DataType::Null => self.in_type(list, &list_of(&DataType::Null)),
                _ => Err(no_match()),
            });
            return self.map_call("map", lists.into_iter().collect::<Result<_>>()?);
        }
        let first = first.ok_or_else(no_match)?;
        if name == "map_from_entries" {
            let (None, None) = (second, third) else { return Err(no_match()) };
            return match &first.data_type {
                DataType::Null => Ok(first),
                list @ DataType::List(_) => match item_of(list) {
                    DataType::Null => self.map_call(name, vec![first]),
                    DataType::Struct(fields) if fields.len() == 2 => self.map_call(name, vec![first]),
                    _ => Err(no_match()),
                },
                _ => Err(no_match()),
            };
        }
        if name == "cardinality" && matches!(first.data_type, DataType::List(_)) {
            return match second {
                None => self.list_call("array_length", vec![first]),
                Some(_) => Err(no_match()),
            };
        }
        let map = match &first.data_type {
            DataType::Map(..) => first,
            DataType::Null => self.in_type(first, &map_of(&DataType::Null, &DataType::Null))?,
            _ => return Err(no_match()),
        };
        match (name, second, third) {
            ("map_keys" | "map_values" | "map_entries", None, None) => self.map_call(name, vec![map]),
            ("cardinality", None, None) => {
                let keys = self.map_call("map_keys", vec![map])?;
                self.list_call("array_length", vec![keys])
            }
            ("map_contains", Some(key), None) => {
                let keys = self.map_call("map_keys", vec![map])?;
                self.list_call("list_contains", vec![keys, key])
            }
            ("map_contains_value", Some(value), None) => {
                let values = self.map_call("map_values", vec![map])?;
                self.list_call("list_contains", vec![values, value])
            }
            ("map_contains_entry", Some(key), Some(value)) => {
                let named = |name: &str, value| (Some(name.to_string()), value);
                let entry = self.structure("struct_pack", vec![named("key", key), named("value", value)])?;
                let entries = self.map_call("map_entries", vec![map])?;
                self.list_call("list_contains", vec![entries, entry])
            }
            ("map_extract" | "element_at", Some(key), None) => {
                let args = self.with_key(map, key)?;
                self.map_call("map_extract", args)
            }
            ("map_extract_value", Some(key), None) => {
                let args = self.with_key(map, key)?;
                self.map_call(name, args)
            }
            _ => Err(no_match()),
        }
    }

    /// The value of a map's key: `map['key']`.
    ///
    /// # Errors
    /// The key is of another type than those of the map.
    pub fn map_value(&self, map: Expr, key: Expr) -> Result<Expr> {
        self.of_maps("map_extract_value", vec![map, key])
    }

    /// A call of a function of maps whose arguments have their types.
    fn map_call(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        match Functions::all().scalar(name) {
            Some(function) => self.typed_call(function, args),
            None => Err(Error::Invalid(format!("there is no function '{name}'"))),
        }
    }

    /// A map and a key, in the type of its keys or in the one that both have in common.
    fn with_key(&self, map: Expr, key: Expr) -> Result<Vec<Expr>> {
        let Some((of_map, value)) = parts_of(&map.data_type) else {
            return Err(Error::Invalid(format!("{} is no map", shown(&map.data_type))));
        };
        let common = self.in_common(&[(None, of_map), typed(&key)]);
        let Some(common) = common else {
            return Err(nothing_in_common([of_map, &key.data_type], "a map and its key"));
        };
        let to = map_of(&common, value);
        let map = if common == *of_map { map } else { self.map_as(map, &to, false)? };
        Ok(vec![map, self.in_type(key, &common)?])
    }

    /// The type that maps, and NULLs, have in common; `None` if these are none, or have none.
    pub(super) fn of_maps_in_common(&self, all: &[Typed]) -> Option<DataType> {
        let is_map = |t: &DataType| matches!(t, DataType::Map(..));
        let are_maps =
            all.iter().all(|(_, t)| is_map(t) || t.is_null()) && all.iter().any(|(_, t)| is_map(t));
        are_maps.then(|| self.in_common(all)).flatten()
    }

    /// A map with keys and values of other types.
    ///
    /// # Errors
    /// There is no such cast; one that gives NULL for what can't be cast has keys of the same type.
    pub(super) fn map_as(&self, map: Expr, to: &DataType, safe: bool) -> Result<Expr> {
        let refused = || {
            let cast = if safe { "TRY_CAST" } else { "CAST" };
            Error::Unsupported(format!("{cast} from {} to {}", shown(&map.data_type), shown(to)))
        };
        let (Some((from_key, _)), Some((key, value))) = (parts_of(&map.data_type), parts_of(to)) else {
            return Err(refused());
        };
        if safe && from_key != key {
            return Err(refused());
        }
        let (key, value) = (key.clone(), value.clone());
        let text = format!("cast_entries({}, {})", shown(&key), shown(&value));
        let entries = self.map_call("map_entries", vec![map])?;
        let entries = self.of_each_item(entries, text, &|entry| {
            let part = |name: &str, to: &DataType| -> Result<(Option<String>, Expr)> {
                let field = vec![(None, entry.clone()), (None, Expr::literal(ScalarValue::from(name)))];
                let part = self.structure("struct_extract", field)?;
                let cast = if part.data_type == *to { part } else { self.cast(part, to, safe)? };
                Ok((Some(name.to_string()), cast))
            };
            self.structure("struct_pack", vec![part("key", &key)?, part("value", &value)?])
        })?;
        self.map_call("map_from_entries", vec![entries])
    }

    /// The entries of two maps or more; `None` if these are none.
    fn maps_concatenated(&self, args: Vec<Expr>) -> Result<Option<Expr>> {
        let are_maps = args.iter().all(|arg| matches!(arg.data_type, DataType::Map(..) | DataType::Null));
        if args.len() < 2 || !are_maps {
            return Ok(None);
        }
        let types: Vec<&DataType> = args.iter().map(|arg| &arg.data_type).collect();
        let Some(common) = self.in_common_of(&types) else {
            return Err(nothing_in_common(types, "map_concat()"));
        };
        if common.is_null() {
            return Ok(Some(Expr::null(&common)));
        }
        let args = args.into_iter().map(|arg| self.in_type(arg, &common)).collect::<Result<_>>()?;
        self.map_call("map_concat", args).map(Some)
    }
}
