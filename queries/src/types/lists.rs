//! Functions of lists, subscripts, and expressions over the items of lists.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field};
use datafusion_common::ScalarValue;
use datafusion_expr::type_coercion::binary::type_union_resolution;
use expressions::functions::lists::lambda::{self, Lambda, Makes};
use expressions::functions::lists::maps::{map_of, parts_of};
use expressions::functions::lists::{self, ListFunction, Takes, item_of, list_of, text};

use super::Types;
use super::mismatch::nothing_in_common;
use super::numbers::{self, Typed, Use, wider};
use super::{signatures, structs};
use crate::algebra::{ColumnId, Columns, Expr};
use crate::compile::{self, Layout, is_text};
use crate::error::{Error, Result};
use crate::functions::Functions;

/// What functions of texts are called where they are given a list.
const OF_BOTH: [(&str, &str); 6] = [
    ("length", "array_length"),
    ("len", "array_length"),
    ("repeat", "list_repeat"),
    ("contains", "list_contains"),
    ("reverse", "list_reverse"),
    ("concat", "list_concat"),
];

/// The function that a name stands for where it is given a list.
pub fn given_lists(name: &str, args: &[Expr]) -> Option<&'static ListFunction> {
    let (_, own) = OF_BOTH.iter().find(|(of, _)| *of == name)?;
    args.iter().any(|arg| matches!(arg.data_type, DataType::List(_))).then(|| lists::find(own)).flatten()
}

/// The function that a name of functions of lists stands for where it is given a text, which is a list of characters.
pub fn given_texts(name: &str, args: &[Expr]) -> Option<&'static ListFunction> {
    let own = match name {
        "list_extract" | "list_element" | "array_extract" => "text_extract",
        "list_slice" | "array_slice" => "text_slice",
        _ => return None,
    };
    args.first().is_some_and(|of| is_text(&of.data_type)).then(|| lists::find(own)).flatten()
}

/// Whether the last argument of a call says whether lists are put together up to the end of the shortest one.
pub fn zips_shortest(name: &str, args: &[Expr]) -> bool {
    matches!(name, "list_zip" | "array_zip")
        && args.len() > 1
        && args.last().is_some_and(|last| last.data_type == DataType::Boolean)
}

/// An expression over the items of a list, of columns that stand for the item and the like.
pub struct OverItems<'a> {
    /// What is made of its values.
    pub makes: Makes,
    /// How it is written.
    pub text: String,
    /// The list.
    pub list: Expr,
    /// The value to begin with, of [`Makes::One`].
    pub first: Option<Expr>,
    /// The columns that stand for the item, or the value so far and the item. Then comes the one of the item's place,
    /// as far as the expression has names for them.
    pub parameters: &'a [ColumnId],
    /// The expression.
    pub body: Expr,
}

impl Types {
    /// A call of a function of lists by a name that it is given. All of its items are brought to one type.
    ///
    /// # Errors
    /// It takes no such arguments.
    pub fn of_lists(&self, written: &str, function: &'static ListFunction, args: Vec<Expr>) -> Result<Expr> {
        let given: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
        if function.name == "list_concat" && !given.is_empty() && given.iter().all(DataType::is_null) {
            return Ok(Expr::literal(ScalarValue::Null));
        }
        let no_match = || signatures::no_standing(written, &given);
        let more = args.len().saturating_sub(function.takes.len());
        if args.len() < function.least || more > 0 && function.more.is_none() {
            return Err(no_match());
        }
        let takes = function.takes.iter().copied().chain(function.more.into_iter().cycle().take(more));
        let takes: Vec<Takes> = takes.take(args.len()).collect();
        let mut items = Vec::with_capacity(args.len());
        for (takes, arg) in takes.iter().zip(&args) {
            match (takes, &arg.data_type) {
                (Takes::List, DataType::List(field)) => items.push((None, field.data_type())),
                (Takes::Item, _) => items.push(numbers::typed(arg)),
                (Takes::List | Takes::Lists | Takes::Any | Takes::Vector, DataType::Null) => {}
                (Takes::Vector, DataType::List(field))
                    if field.data_type().is_numeric() || field.data_type().is_null() => {}
                (Takes::Lists, DataType::List(field))
                    if matches!(field.data_type(), DataType::List(_) | DataType::Null) => {}
                (Takes::Any | Takes::Integers | Takes::Conditions | Takes::Texts, DataType::List(_)) => {}
                (Takes::Integers | Takes::Conditions | Takes::Texts, DataType::Null) => {}
                (Takes::Integer, t) if t.is_integer() || t.is_null() => {}
                (Takes::Text, t) if is_text(t) || t.is_null() => {}
                _ => return Err(no_match()),
            }
        }
        let types: Vec<DataType> = items.iter().map(|(_, t)| (*t).clone()).collect();
        let item =
            self.in_common(&items).ok_or_else(|| nothing_in_common(&types, &format!("{written}()")))?;
        let has = |item: DataType| given.iter().any(|t| item_of(t) == item);
        let is_float = has(DataType::Float32) && !has(DataType::Float64);
        let number = if is_float { DataType::Float32 } else { DataType::Float64 };
        let arguments = takes.iter().zip(args).map(|(takes, arg)| {
            let to = match takes {
                Takes::Vector => list_of(&number),
                Takes::List => list_of(&item),
                Takes::Item => item.clone(),
                Takes::Lists => list_of(&list_of(&item_of(&item_of(&arg.data_type)))),
                Takes::Integers => list_of(&DataType::Int64),
                Takes::Conditions => list_of(&DataType::Boolean),
                Takes::Texts => list_of(&DataType::Utf8View),
                Takes::Integer => DataType::Int64,
                Takes::Text => DataType::Utf8View,
                Takes::Any => list_of(&item_of(&arg.data_type)),
            };
            self.as_type(arg, &to, false)
        });
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        self.list_of_typed(function.name, arguments)
    }

    /// `list_zip(a, b, shortest)`: where the condition is true, up to the end of the shortest list. A list that is NULL
    /// has no items.
    ///
    /// # Errors
    /// The others are no lists.
    pub fn zipped(&self, mut args: Vec<Expr>) -> Result<Expr> {
        let integer = |value: i64| Expr::literal(ScalarValue::Int64(Some(value)));
        let condition = args.pop().unwrap_or_else(|| Expr::boolean(None));
        let length = |list: &Expr| {
            if list.data_type.is_null() {
                return Ok(integer(0));
            }
            let length = self.list_call("array_length", vec![list.clone()])?;
            let length = self.cast(length, &DataType::Int64, false)?;
            self.case(None, vec![(list.clone().is_null(), integer(0))], Some(length))
        };
        let lengths = args.iter().map(length).collect::<Result<Vec<_>>>()?;
        let shortest = match <[Expr; 1]>::try_from(lengths) {
            Ok([only]) => only,
            Err(several) => self.list_of_typed("least", several)?,
        };
        let end = self.case(None, vec![(condition, shortest)], Some(integer(i64::MAX)))?;
        let zipped = self.list_call("list_zip", args)?;
        self.list_call("list_slice", vec![zipped, integer(1), end])
    }

    /// A call of a function of lists whose arguments have their types.
    pub(super) fn list_of_typed(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        match Functions::all().scalar(name) {
            Some(function) => self.typed_call(function, args),
            None => Err(Error::Invalid(format!("there is no function '{name}'"))),
        }
    }

    /// A call of a function of lists by its own name.
    ///
    /// # Errors
    /// It takes no such arguments.
    pub fn list_call(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        match lists::find(name) {
            Some(function) => self.of_lists(name, function, args),
            None => Err(Error::Invalid(format!("there is no function '{name}'"))),
        }
    }

    /// The type that values have in common: of lists item by item, of structs of the same names field by field.
    pub(super) fn in_common(&self, all: &[Typed]) -> Option<DataType> {
        // Constant texts beside dates and times are such.
        let has_times = all.iter().any(|(_, t)| t.is_temporal());
        let is_read = |(value, t): &&Typed| has_times && value.is_some() && is_text(t);
        let known: Vec<&Typed> = all.iter().filter(|one| !one.1.is_null() && !is_read(one)).collect();
        let Some((_, first)) = known.first() else { return Some(DataType::Null) };
        if known.iter().all(|(_, t)| matches!(t, DataType::List(_))) {
            let items: Vec<DataType> = known.iter().map(|(_, t)| item_of(t)).collect();
            return Some(list_of(&self.in_common(&items.iter().map(|t| (None, t)).collect::<Vec<_>>())?));
        }
        if known.iter().all(|(_, t)| matches!(t, DataType::Map(..))) {
            let parts: Vec<_> = known.iter().map(|(_, t)| parts_of(t)).collect::<Option<_>>()?;
            if known.iter().all(|(_, t)| *t == *first) {
                return Some((*first).clone());
            }
            let keys = self.in_common(&parts.iter().map(|(key, _)| (None, *key)).collect::<Vec<_>>())?;
            let values =
                self.in_common(&parts.iter().map(|(_, value)| (None, *value)).collect::<Vec<_>>())?;
            return Some(map_of(&keys, &values));
        }
        if let DataType::Struct(fields) = first {
            let mut common = Vec::with_capacity(fields.len());
            for (place, field) in fields.iter().enumerate() {
                let same: Option<Vec<Typed>> = known
                    .iter()
                    .map(|(_, t)| match t {
                        DataType::Struct(other) if other.len() == fields.len() => {
                            let other = &other[place];
                            (other.name() == field.name()).then(|| (None, other.data_type()))
                        }
                        _ => None,
                    })
                    .collect();
                common.push(Field::new(field.name(), self.in_common(&same?)?, true));
            }
            return Some(DataType::Struct(common.into()));
        }
        let typed: Vec<Typed> = known.iter().map(|(value, t)| (*value, *t)).collect();
        if let Some(common) = numbers::common(&typed, Use::Result) {
            return Some(common);
        }
        let mut types = known.iter().map(|(_, t)| *t);
        let first = types.next()?.clone();
        types.try_fold(first, |common, t| match common == *t {
            true => Some(common),
            false => wider(&common, t, Use::Result, |a, b| type_union_resolution(&[a.clone(), b.clone()])),
        })
    }

    /// An expression in a type, which may be that of lists. If it is `safe`, what can't be cast is NULL.
    pub(super) fn as_type(&self, e: Expr, to: &DataType, safe: bool) -> Result<Expr> {
        match (&e.data_type, to) {
            (from, to) if from == to => Ok(e),
            (DataType::Null, _) if e.as_literal().is_some() => Ok(Expr::null(to)),
            (DataType::List(from), DataType::List(item)) if from.data_type() != item.data_type() => {
                let list = self.items_as(e, item.data_type(), safe)?;
                Ok(self.cast_to(list, to, safe))
            }
            (DataType::Map(..), DataType::Map(..)) => self.map_as(e, to, safe),
            _ if safe => self.cast(e, to, true),
            _ => self.coerced(e, to),
        }
    }

    /// The type that two types, or more, have in common.
    pub fn in_common_of(&self, types: &[&DataType]) -> Option<DataType> {
        self.in_common(&types.iter().map(|t| (None, *t)).collect::<Vec<_>>())
    }

    /// An expression in a type that it can be brought to.
    ///
    /// # Errors
    /// There is no such cast.
    pub fn in_type(&self, e: Expr, to: &DataType) -> Result<Expr> {
        self.as_type(e, to, false)
    }

    /// The items of a list in another type.
    pub(super) fn items_as(&self, list: Expr, to: &DataType, safe: bool) -> Result<Expr> {
        let cast = if safe { "try_cast_items" } else { "cast_items" };
        let text = format!("{cast}({})", expressions::text::shown(to));
        self.of_each_item(list, text, &|item| match item.data_type {
            DataType::Null => Ok(Expr::null(to)),
            _ => self.cast(item, to, safe),
        })
    }

    /// What an expression gives for each item of a list.
    pub(super) fn of_each_item(
        &self,
        list: Expr,
        text: String,
        of: &dyn Fn(Expr) -> Result<Expr>,
    ) -> Result<Expr> {
        let mut columns = Columns::default();
        let item = columns.add("item", item_of(&list.data_type));
        let body = of(columns.read(item))?;
        let over = OverItems { makes: Makes::Lists, text, list, first: None, parameters: &[item], body };
        self.over_items(over, &columns)
    }

    /// A call of a lambda. What its expression reads besides its parameters is given to it behind the list.
    ///
    /// # Errors
    /// It can't be compiled.
    pub fn over_items(&self, over: OverItems<'_>, columns: &Columns) -> Result<Expr> {
        let OverItems { makes, text, list, first, parameters, mut body } = over;
        let holds = columns.holds(&body);
        let leading = if matches!(makes, Makes::One { .. }) { 2 } else { 1 };
        let mut own = Columns::default();
        let mut numbers: BTreeMap<ColumnId, ColumnId> = BTreeMap::new();
        for place in 0..leading {
            let (name, data_type) = match parameters.get(place) {
                Some(id) => (columns.get(*id).name.clone(), columns.get(*id).data_type.clone()),
                None => ("item".to_string(), item_of(&list.data_type)),
            };
            let id = own.add(name, data_type);
            parameters.get(place).map(|parameter| numbers.insert(*parameter, id));
        }
        let place = own.add("place", DataType::Int64);
        parameters.get(leading).map(|parameter| numbers.insert(*parameter, place));
        let mut args: Vec<Expr> = [list].into_iter().chain(first).collect();
        for id in body.columns() {
            numbers.entry(id).or_insert_with(|| {
                let column = columns.get(id);
                args.push(columns.read(id));
                own.add(&column.name, column.data_type.clone())
            });
        }
        body.renumber(&|id| numbers.get(&id).copied().unwrap_or(id));
        let layout = Layout::new((0..own.len() as u32).map(ColumnId).collect(), &own);
        let lambda = Lambda {
            makes,
            text,
            body: self.compiler.compile(&body, &layout)?,
            schema: Arc::clone(layout.schema()),
            fails: compile::fails(&body) || matches!(makes, Makes::One { from_value: false }),
            is_volatile: body.is_volatile(),
            gives: body.data_type.clone(),
            holds,
        };
        self.typed_call(lambda::function(lambda), args)
    }

    /// A list, struct or map as text.
    ///
    /// # Errors
    /// It has something that has no text.
    pub(super) fn nested_text(&self, e: Expr) -> Result<Expr> {
        let text = |text: &str| Expr::literal(ScalarValue::Utf8View(Some(text.into())));
        match e.data_type.clone() {
            DataType::List(_) => {
                let texts = self.of_each_item(e, "text_of_items".into(), &|item| self.text_within(item))?;
                self.list_call(text::LIST, vec![texts])
            }
            DataType::Struct(fields) => {
                let mut args = Vec::with_capacity(2 * fields.len());
                for field in &fields {
                    let Some(function) = Functions::all().scalar("get_field") else { continue };
                    let value = self.call(&function, vec![e.clone(), text(field.name())])?;
                    args.push(text(field.name()));
                    args.push(self.text_within(value)?);
                }
                let all = self.list_call(text::STRUCT, args)?;
                let null = Expr::null(&all.data_type);
                self.case(None, vec![(e.is_null(), null)], Some(all))
            }
            DataType::Map(..) => {
                let entries = self.of_maps("map_entries", vec![e])?;
                let texts = self.of_each_item(entries, "text_of_entries".into(), &|entry| {
                    let part = |name: &str| -> Result<Expr> {
                        let part = self
                            .structure("struct_extract", vec![(None, entry.clone()), (None, text(name))])?;
                        self.text_within(part)
                    };
                    self.list_call(text::ENTRY, vec![part("key")?, part("value")?])
                })?;
                self.list_call(text::MAP, vec![texts])
            }
            other => {
                Err(Error::Unsupported(format!("CAST from {} to VARCHAR", expressions::text::shown(&other))))
            }
        }
    }

    /// The text of what stands within a list or struct.
    fn text_within(&self, e: Expr) -> Result<Expr> {
        let is_nested = e.data_type.is_nested();
        let text = self.cast(e, &DataType::Utf8View, false)?;
        if is_nested { Ok(text) } else { self.list_call(text::QUOTED, vec![text]) }
    }

    /// `left || right`, which is NULL where one of them is.
    ///
    /// # Errors
    /// They are no lists, or their items have no type in common.
    pub fn lists_concatenated(&self, left: Expr, right: Expr) -> Result<Expr> {
        match lists::find("list_concat_known") {
            Some(function) => self.of_lists("||", function, vec![left, right]),
            None => Err(Error::Invalid("there is no function 'list_concat_known'".into())),
        }
    }

    /// `e IN of`: whether it is an item of a list, or a part of a text.
    ///
    /// # Errors
    /// They can't be compared, or it is neither.
    pub fn in_value(&self, e: Expr, of: Expr) -> Result<Expr> {
        match &of.data_type {
            DataType::Null => Ok(Expr::boolean(None)),
            DataType::List(_) => self.list_call("list_contains", vec![of, e]),
            DataType::Map(..) => self.of_maps("map_contains", vec![of, e]),
            t if is_text(t) && (is_text(&e.data_type) || e.data_type.is_null()) => {
                match Functions::all().scalar("contains") {
                    Some(function) => self.call(&function, vec![of, e]),
                    None => Err(Error::Invalid("there is no function 'contains'".into())),
                }
            }
            t => Err(Error::Invalid(format!(
                "IN of {}\n  help: write x IN (1, 2), or x IN list",
                expressions::text::shown(t)
            ))),
        }
    }

    /// `value[index]`: an item of a list, a character of a text.
    ///
    /// # Errors
    /// The value has none of these, or the index is no such thing.
    pub fn subscript(&self, value: Expr, index: Expr) -> Result<Expr> {
        match &value.data_type {
            DataType::Null => Ok(value),
            DataType::List(_) => self.list_call("list_extract", vec![value, index]),
            DataType::Map(..) => self.map_value(value, index),
            t if is_text(t) => self.list_call("text_extract", vec![value, index]),
            DataType::Struct(fields) if structs::is_tuple(fields) => {
                match index.as_literal().map(|index| index.cast_to(&DataType::Int64)) {
                    Some(Ok(ScalarValue::Int64(Some(at)))) => self.field_at(value, at),
                    _ => Err(Error::Invalid("the subscript of a struct without names is a constant".into())),
                }
            }
            t => Err(Error::Invalid(format!(
                "a subscript of {}\n  help: lists and texts have places, maps have keys, and structs have fields by their names in quotes",
                expressions::text::shown(t)
            ))),
        }
    }

    /// `value[from:to:step]` of a list or a text.
    ///
    /// # Errors
    /// The value is neither.
    pub fn slice(&self, value: Expr, bounds: [Option<Expr>; 2], step: Option<Expr>) -> Result<Expr> {
        let integer = |value: i64| Expr::literal(ScalarValue::Int64(Some(value)));
        let [from, to] = bounds;
        let bounds = [from.unwrap_or_else(|| integer(i64::MIN)), to.unwrap_or_else(|| integer(i64::MAX))];
        let name = match &value.data_type {
            DataType::Null => return Ok(value),
            DataType::List(_) => "list_slice",
            t if is_text(t) => "text_slice",
            t => {
                let shown = expressions::text::shown(t);
                return Err(Error::Invalid(format!("a part of {shown}, which is neither a list nor a text")));
            }
        };
        let args = [value].into_iter().chain(bounds).chain(step);
        self.list_call(name, args.collect())
    }
}
