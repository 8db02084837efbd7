//! The columns of a file or stream, made of the flatbuffer that says them.
//!
//! The arrow-ipc crate panics where it does not know a type. So columns are made one by one, and one that can't be is
//! refused by its name. Integers of 128 bits, which Polars writes and Arrow's specification does not have, lie in a
//! file as `DECIMAL(38, 0)` does, and are read as that. [`check_wide`] looks at their values.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_ipc::{Field as FlatField, Schema as FlatSchema, Type};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::bad;
use crate::columns::adapt::column_error;
use crate::columns::guard::guarded;
use crate::columns::types::check_readable;
use crate::error::{Error, Result};

/// What marks a field of 128-bit integers in its metadata: whether they are signed.
const WIDE: &str = "palais.wide_integer";
const SIGNED: &str = "signed";
const UNSIGNED: &str = "unsigned";
/// The type in which such integers are read, and the least that it does not hold.
const WIDE_TYPE: DataType = DataType::Decimal128(38, 0);
const TOO_WIDE: i128 = 10i128.pow(38);

/// The columns that a schema message or a footer says.
///
/// # Errors
/// The bytes are in big endian order, or a column is of a type that is not read.
pub fn read(flat: FlatSchema) -> Result<SchemaRef> {
    if !flat.endianness().equals_to_target_endianness() {
        return Err(Error::Unsupported("big endian Arrow can't be read".into()));
    }
    let fields = flat.fields().ok_or_else(|| bad("its schema has no list of columns"))?;
    let fields = fields.iter().map(field).collect::<Result<Vec<_>>>()?;
    let schema = Schema::new(fields);
    check_readable(&schema)?;
    Ok(Arc::new(schema))
}

fn field(flat: FlatField) -> Result<Field> {
    let name = flat.name().unwrap_or_default();
    if let Some(mark) = wide(&flat)
        && flat.dictionary().is_none()
    {
        let field = Field::new(name, WIDE_TYPE, flat.nullable());
        return Ok(field.with_metadata([(WIDE.into(), mark.into())].into()));
    }
    if has_wide(&flat) {
        return Err(refused(
            name,
            "has integers of 128 bits in lists, structs or a dictionary, which are read as plain columns alone; \
             cast them to BIGINT or to a decimal",
        ));
    }
    guarded(|| Ok(Field::from(flat)))
        .map_err(|_| refused(name, "is of a type that is not read; cast it to another one"))
}

/// Whether a field's own type is an integer of 128 bits, and which.
fn wide(flat: &FlatField) -> Option<&'static str> {
    let int = flat.type_as_int().filter(|int| flat.type_type() == Type::Int && int.bitWidth() == 128)?;
    Some(if int.is_signed() { SIGNED } else { UNSIGNED })
}

/// Whether a field or one within it is such. Flatbuffers are checked to be less than 64 tables deep.
fn has_wide(flat: &FlatField) -> bool {
    wide(flat).is_some()
        || flat.children().is_some_and(|children| children.iter().any(|child| has_wide(&child)))
}

fn refused(name: &str, what: &str) -> Error {
    let message = format!("column '{name}' {what} before it is written, or write the file without it");
    Error::Schema { path: PathBuf::new(), message }
}

/// Checks that a column of 128-bit integers has none with more digits than its type holds.
pub fn check_wide(column: &dyn Array, field: &Field) -> Result<()> {
    let Some(mark) = field.metadata().get(WIDE) else { return Ok(()) };
    let too_wide = |value: &i128| match mark == UNSIGNED {
        true => !(0..TOO_WIDE).contains(value),
        false => value.unsigned_abs() >= TOO_WIDE.unsigned_abs(),
    };
    match column.as_primitive::<Decimal128Type>().iter().flatten().any(|value| too_wide(&value)) {
        false => Ok(()),
        true => Err(column_error(
            field.name(),
            "an integer of 128 bits with more than 38 digits, and DECIMAL(38, 0) holds no more; cast the column \
             to text before it is written"
                .into(),
        )),
    }
}
