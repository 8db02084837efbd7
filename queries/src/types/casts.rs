//! Casts, those that are written and those that types ask for.

use arrow_cast::can_cast_types;
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_common::nested_struct::{requires_nested_struct_cast, validate_data_type_compatibility};
use datafusion_expr::Operator;
use expressions::text::{self, shown};

use super::Types;
use super::compared::is_bytes;
use super::mismatch::not_taken;
use super::numbers::is_decimal;
use super::zones::{crosses, has_instants, with_texts};
use crate::algebra::{Expr, Kind};
use crate::compile;
use crate::error::{Error, Result};

impl Types {
    /// `CAST(e AS to)`, or `TRY_CAST`, which is `safe`. A decimal that is not 0 is true.
    ///
    /// # Errors
    /// There is no such cast. Nothing but text is cast to lists, structs and maps, and no number to a date, a time, an
    /// interval or bytes, nor back: what Arrow makes of it depends on its units.
    pub fn cast(&self, e: Expr, to: &DataType, safe: bool) -> Result<Expr> {
        let from = &e.data_type;
        let is_null = e.as_literal().is_some_and(|value| value.is_null());
        if let Some(help) = no_number(from, to).filter(|_| !is_null) {
            let cast = if safe { "TRY_CAST" } else { "CAST" };
            return Err(Error::Unsupported(format!("{cast} from {} to {}{help}", shown(from), shown(to))));
        }
        if self.zone.is_some() && compile::is_text(from) && text::nested::is_made(to) && has_instants(to) {
            // The parts of the text, of which instants are made then.
            let texts = self.cast_to(e, &with_texts(to), safe);
            return self.cast(texts, to, safe);
        }
        if compile::is_text(from) && text::nested::is_made(to) {
            return Ok(self.cast_to(e, to, safe));
        }
        if to.is_nested() && !from.is_nested() && !from.is_null() {
            return Err(Error::Unsupported(format!("CAST from {} to {}", shown(from), shown(to))));
        }
        if let (DataType::List(items), DataType::List(wanted)) = (from, to)
            && items.data_type() != wanted.data_type()
        {
            // Lists of files may name their items otherwise.
            let list = self.items_as(e, wanted.data_type(), safe)?;
            return Ok(self.cast_to(list, to, safe));
        }
        match (from, to) {
            (DataType::Map(..), DataType::Map(..)) if from != to => return self.map_as(e, to, safe),
            (DataType::Map(..), DataType::Map(..)) => {}
            (DataType::Struct(_), DataType::Struct(wanted)) if from != to => {
                return self.struct_as(e, wanted, safe);
            }
            (DataType::Map(..), _) | (_, DataType::Map(..)) if from.is_nested() && to.is_nested() => {
                return Err(Error::Unsupported(format!("CAST from {} to {}", shown(from), shown(to))));
            }
            _ => {}
        }
        if matches!(from, DataType::List(_) | DataType::Struct(_) | DataType::Map(..)) && compile::is_text(to)
        {
            let text = self.nested_text(e)?;
            return self.written(text, to, safe);
        }
        match to {
            DataType::Boolean if is_decimal(from) => {
                self.binary(e, Operator::NotEq, Expr::literal(ScalarValue::Int64(Some(0))))
            }
            _ => self.written(e, to, safe),
        }
    }

    /// A cast that a user asks for.
    pub(super) fn written(&self, e: Expr, to: &DataType, safe: bool) -> Result<Expr> {
        let is_nested = e.data_type.is_nested() || to.is_nested();
        let is_refused = self.zone.is_some() && is_nested && crosses(&e.data_type, to);
        if is_refused || !can_cast(&e.data_type, to) {
            let cast = if safe { "TRY_CAST" } else { "CAST" };
            let (from, to) = (shown(&e.data_type), shown(to));
            return Err(Error::Unsupported(format!("{cast} from {from} to {to}")));
        }
        Ok(self.cast_to(e, to, safe))
    }

    /// An expression in the type that an operation takes.
    pub(super) fn coerced(&self, e: Expr, to: &DataType) -> Result<Expr> {
        let is_nested = e.data_type.is_nested() || to.is_nested();
        if self.zone.is_some() && is_nested && crosses(&e.data_type, to) {
            return self.cast(e, to, false);
        }
        if !can_cast(&e.data_type, to) {
            return Err(not_taken(&e.data_type, to));
        }
        Ok(self.cast_to(e, to, false))
    }

    /// The same for several.
    pub(super) fn all_coerced(&self, all: Vec<Expr>, to: &DataType) -> Result<Vec<Expr>> {
        all.into_iter().map(|e| self.coerced(e, to)).collect()
    }

    /// A cast that is known to exist.
    pub(super) fn cast_to(&self, e: Expr, to: &DataType, safe: bool) -> Expr {
        if e.data_type == *to {
            return e;
        }
        if e.data_type == DataType::Boolean && is_decimal(to) {
            // 1 of what is true.
            return self.cast_to(self.cast_to(e, &DataType::Int8, safe), to, safe);
        }
        if e.as_literal().is_some_and(|value| value.is_null()) {
            return Expr::null(to);
        }
        let e = match &self.zone {
            Some(zone) => match self.cast_in_zone(e, to, safe, zone) {
                Ok(cast) => return cast,
                Err(e) => e,
            },
            None => e,
        };
        self.plain_cast(e, to, safe)
    }

    /// The same whatever the time zone of the session: instants stay what they are.
    pub(super) fn plain_cast(&self, e: Expr, to: &DataType, safe: bool) -> Expr {
        self.folded(Expr { kind: Kind::Cast { expr: Box::new(e), safe }, data_type: to.clone() })
    }
}

/// What helps where a number would be cast to what is none, or back; `None` of other casts.
fn no_number(from: &DataType, to: &DataType) -> Option<&'static str> {
    match (from, to) {
        (from, DataType::Timestamp(..)) if from.is_numeric() => {
            Some("\n  help: to_timestamp(x) takes seconds, epoch_ms(x) milliseconds")
        }
        (from, DataType::Date32) if from.is_numeric() => Some("\n  help: DATE '1970-01-01' + x adds days"),
        (DataType::Timestamp(..), to) if to.is_numeric() => {
            Some("\n  help: epoch(x) gives seconds, epoch_ms(x) milliseconds")
        }
        (DataType::Date32, to) if to.is_numeric() => {
            Some("\n  help: x - DATE '1970-01-01' gives days, epoch(x) seconds")
        }
        (from, to) if from.is_numeric() && (to.is_temporal() || is_bytes(to)) => Some(""),
        (from, to) if (from.is_temporal() || is_bytes(from)) && to.is_numeric() => Some(""),
        _ => None,
    }
}

/// Whether values of one type can be cast to another. Fields of structs are found by their names.
fn can_cast(from: &DataType, to: &DataType) -> bool {
    from == to
        || *from == DataType::Boolean && is_decimal(to)
        || match requires_nested_struct_cast(from, to) {
            true => validate_data_type_compatibility("", from, to).is_ok(),
            false => can_cast_types(from, to),
        }
}
