//! Paths into JSON that is made of a struct, or that another path gives.
//!
//! `s ->> '$.a.b'` asks for JSON of the struct `s`. What its keys lead to is a field, so that JSON is made of that field
//! alone, and of a text or an integer not at all. `j -> 'a' ->> 'b'` is one path, so that the text is read once.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use expressions::functions::json::made::Makes;
use expressions::functions::json::path::Path;
use expressions::functions::json::reads::{Asks, Target};
use expressions::functions::json::{Holds, OfJson};

use super::Types;
use super::json::call;
use crate::algebra::{Columns, Expr, Kind};
use crate::compile::is_text;
use crate::error::Result;

impl Types {
    /// What is asked of the value that a path leads to, with less work; none if there is no such way.
    ///
    /// At least one step stays, unless the field's value is the answer: of a field that is NULL the JSON is `null`, which
    /// only a path into its struct finds.
    ///
    /// # Errors
    /// A value has no JSON.
    pub(super) fn read_below(
        &self,
        written: &str,
        asks: Asks,
        json: &Expr,
        path: &Path,
        columns: &Columns,
    ) -> Result<Option<Expr>> {
        if !matches!(asks, Asks::Json | Asks::Text | Asks::Scalar) {
            return Ok(None);
        }
        let (mut value, mut path) = (json, path.clone());
        let mut is_changed = false;
        while let Some((inner, first)) = extracted(value) {
            (value, path, is_changed) = (inner, first.then(&path), true);
        }
        let mut value = made_of(value).unwrap_or(value).clone();
        // What a path is read in is JSON. A text in a struct is that only where it is known to be.
        let mut is_json = is_text(&value.data_type);
        while let Some(field) = self.first_field(&value, &path)? {
            if path.rest().is_empty() {
                let t = &field.data_type;
                let is_plain = t.is_integer() || *t == DataType::Boolean || is_text(t);
                if asks == Asks::Text && is_plain && columns.holds(&field) == Holds::Nothing {
                    return self.cast(field, &DataType::Utf8View, false).map(Some);
                }
                break;
            }
            (value, path, is_changed, is_json) = (field, path.rest(), true, false);
        }
        let Some(text) = path.written().filter(|_| is_changed) else { return Ok(None) };
        let json = match is_json {
            true => self.coerced(value, &DataType::Utf8View)?,
            false => self.to_json("to_json", Makes::Value, vec![value], columns)?,
        };
        let text = Expr::literal(ScalarValue::Utf8View(Some(text)));
        Ok(Some(call(written, OfJson::Read(asks, Target::At(path)), vec![json, text])))
    }

    /// The field of a struct that a path begins with.
    fn first_field(&self, value: &Expr, path: &Path) -> Result<Option<Expr>> {
        let (DataType::Struct(fields), Some(key)) = (&value.data_type, path.first_key()) else {
            return Ok(None);
        };
        match fields.iter().filter(|field| field.name() == key).count() {
            1 => self.get_field(value.clone(), key).map(Some),
            _ => Ok(None),
        }
    }
}

/// The JSON that a path is read in, if a value is what one path gives as JSON.
fn extracted(e: &Expr) -> Option<(&Expr, &Path)> {
    let Kind::Call { function, args } = &e.kind else { return None };
    match (OfJson::of(function)?, args.first()?) {
        (OfJson::Read(Asks::Json, Target::At(path)), json) => Some((json, path)),
        _ => None,
    }
}

/// The column of structs that JSON is made of.
fn made_of(e: &Expr) -> Option<&Expr> {
    let Kind::Call { function, args } = &e.kind else { return None };
    match (OfJson::of(function)?, args.as_slice()) {
        (OfJson::Make(Makes::Value, _), [value]) if value.as_column().is_some() => Some(value),
        _ => None,
    }
}
