//! The type that values of one column have in common. They are those of the inputs of a set operation or the cells of
//! VALUES. Of a subquery's column it is the type in which it is compared.

use arrow_schema::DataType;
use datafusion_expr::Operator;
use datafusion_expr::type_coercion::binary::{type_union_coercion, type_union_resolution};
use expressions::functions::lists::maps::{map_of, parts_of};
use expressions::text::shown;

use super::Types;
use super::compared::compared_in;
use super::mismatch::nothing_in_common;
use super::narrow::normal;
use super::numbers::{self, Typed, Use, are_apart, typed, wider};
use crate::algebra::Expr;
use crate::compile::is_text;
use crate::error::{Error, Result};

/// The type of two cells of VALUES.
fn resolution(one: &DataType, other: &DataType) -> Option<DataType> {
    type_union_resolution(&[one.clone(), other.clone()])
}

/// The type of a column of a set operation that is text in one query: text, whatever it is in others.
fn of_text(one: &DataType, other: &DataType) -> Option<DataType> {
    let has_text = |t: &DataType| is_text(t) || t.is_temporal() || *t == DataType::Boolean;
    let is_one = is_text(one) || is_text(other);
    (one != other && is_one && has_text(one) && has_text(other)).then_some(DataType::Utf8View)
}

impl Types {
    /// The type of a column of a set operation whose inputs have these types.
    ///
    /// # Errors
    /// They have none in common.
    pub fn union(&self, types: &[DataType]) -> Result<DataType> {
        let typed: Vec<Typed> = types.iter().map(|t| (None, t)).collect();
        let differ = |one: &DataType, other: &DataType| {
            Error::Invalid(format!(
                "a column of a UNION is {} in one query and {} in another\n  help: a CAST of one of them may help",
                shown(one),
                shown(other)
            ))
        };
        let maps: Vec<&DataType> = types.iter().filter(|t| !t.is_null()).collect();
        if let (Some(first), Some(last)) = (maps.first(), maps.last())
            && maps.iter().all(|t| matches!(t, DataType::Map(..)))
        {
            if maps.iter().all(|t| t == first) {
                return Ok((*first).clone());
            }
            // Keys and values as columns of their own would have them.
            let parts = || maps.iter().filter_map(|t| parts_of(t));
            let keys: Vec<DataType> = parts().map(|(key, _)| key.clone()).collect();
            let values: Vec<DataType> = parts().map(|(_, value)| value.clone()).collect();
            return match (self.union(&keys), self.union(&values)) {
                (Ok(key), Ok(value)) => Ok(map_of(&key, &value)),
                _ => Err(differ(first, last)),
            };
        }
        let target = numbers::common(&typed, Use::Result);
        let mut types = types.iter().map(|t| match &target {
            Some(target) if !t.is_null() => target,
            _ => t,
        });
        let mut common = types.next().cloned().unwrap_or(DataType::Null);
        for t in types {
            common = of_text(&common, t)
                .or_else(|| wider(&common, t, Use::Result, type_union_coercion))
                .ok_or_else(|| differ(&common, t))?;
        }
        Ok(common)
    }

    /// The cells of a column of VALUES in one type.
    ///
    /// # Errors
    /// They have none in common: the first row, counted from 0, that does not go with those before.
    pub fn common(&self, mut exprs: Vec<Expr>) -> Result<Vec<Expr>, (usize, Error)> {
        self.align(&mut exprs.iter_mut().collect::<Vec<_>>(), Use::Result).map_err(|error| (0, error))?;
        let of_maps = self.of_maps_in_common(&exprs.iter().map(typed).collect::<Vec<_>>());
        if let Some(common) = of_maps {
            let cast = exprs.into_iter().map(|e| self.in_type(e, &common)).collect::<Result<_>>();
            return cast.map_err(|error| (0, error));
        }
        let mut common: Option<DataType> = None;
        for (row, t) in exprs.iter().map(|e| &e.data_type).enumerate() {
            common = match common {
                common if t.is_null() => common,
                None => Some(t.clone()),
                Some(common) if common == *t => Some(common),
                Some(common) => match wider(&common, t, Use::Result, resolution) {
                    Some(wider) => Some(wider),
                    None => {
                        let error = format!(
                            "the values of a column are {} and, in row {}, {}, which have no type in common",
                            shown(&common),
                            row + 1,
                            shown(t)
                        );
                        return Err((row, Error::Invalid(error)));
                    }
                },
            };
        }
        self.all_coerced(exprs, &common.unwrap_or(DataType::Null)).map_err(|error| (0, error))
    }

    /// A value that stands for one of another type at some `place`, in that type.
    ///
    /// # Errors
    /// It is no such value.
    pub fn in_place_of(&self, value: Expr, data_type: &DataType, place: &str) -> Result<Expr> {
        match are_apart(&value.data_type, data_type) {
            true => Err(nothing_in_common([data_type, &value.data_type], place)),
            false => self.cast(value, data_type, false),
        }
    }

    /// A value that is compared with a subquery's column, and the type in which both are compared: the value has it.
    ///
    /// # Errors
    /// There is no such type.
    pub fn comparable(&self, value: Expr, op: Operator, column: &DataType) -> Result<(Expr, DataType)> {
        let own = numbers::common(&[typed(&value), (None, column)], Use::Compared);
        let (common, _) = match own {
            Some(common) if column.is_null() || value.data_type.is_null() => (common.clone(), common),
            Some(common) => compared_in(&common, op, &common)?,
            None => compared_in(&value.data_type, op, column)?,
        };
        Ok((normal(self.coerced(value, &common)?), common))
    }
}
