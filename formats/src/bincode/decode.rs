//! Reads bincode: a record is walked by the widths of its columns' types.

use arrow_schema::{DataType, TimeUnit};

use crate::error::Result;
use crate::format::ScanOptions;
use crate::rows::binary::{self, within_precision};
use crate::rows::keys::ColumnSlots;
use crate::rows::parse::{Decimal, Float, Half, Integer};
use crate::rows::syntax::Syntax;
use crate::rows::walk::{Span, Walked, Walker, Wrong};

/// Values as their bytes lie in memory.
#[derive(Clone, Copy)]
pub struct Bincode;

impl Syntax for Bincode {
    const TEXT: bool = false;

    fn boolean(&self, value: &[u8]) -> Option<bool> {
        match value {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    #[inline(always)]
    fn integer<T: Integer>(&self, value: &[u8]) -> Option<T> {
        T::read_le(value)
    }

    fn half(&self, value: &[u8]) -> Option<Half> {
        Some(Half::from_le_bytes(value.try_into().ok()?))
    }

    #[inline(always)]
    fn float<T: Float>(&self, value: &[u8]) -> Option<T> {
        T::read_le(value)
    }

    fn decimal<T: Decimal>(&self, value: &[u8], precision: u8, _: i8) -> Option<T> {
        within_precision(T::read_le(value)?, precision)
    }

    #[inline(always)]
    fn date(&self, value: &[u8]) -> Option<i32> {
        i32::read_le(value)
    }

    #[inline(always)]
    fn timestamp(&self, value: &[u8], _: TimeUnit, _: bool) -> Option<i64> {
        i64::read_le(value)
    }

    fn time_of_day(&self, value: &[u8], unit: TimeUnit) -> Option<i64> {
        let time = i32::read_le(value).map(i64::from).or_else(|| i64::read_le(value))?;
        binary::within_day(time, unit)
    }
}

/// How many bytes a value has.
enum Width {
    Fixed(usize),
    /// As many as the 8 bytes before it say.
    Counted,
}

/// A column on the way over a record.
struct Step {
    name: String,
    width: Width,
    nullable: bool,
    slot: Option<usize>,
}

/// Walks over records by the widths of columns.
pub struct BincodeWalker {
    steps: Vec<Step>,
    max_record: usize,
}

impl BincodeWalker {
    /// A walker over the columns of the scan's schema.
    pub fn new(scan: &ScanOptions, slots: &ColumnSlots) -> Result<BincodeWalker> {
        binary::check_flat(&scan.schema)?;
        let steps = scan.schema.fields().iter().zip(&slots.of_schema).map(|(field, &slot)| Step {
            name: field.name().clone(),
            width: match field.data_type() {
                DataType::Boolean => Width::Fixed(1),
                DataType::FixedSizeBinary(size) => Width::Fixed(*size as usize),
                other => other.primitive_width().map_or(Width::Counted, Width::Fixed),
            },
            nullable: field.is_nullable(),
            slot,
        });
        Ok(BincodeWalker { steps: steps.collect(), max_record: scan.format.max_record })
    }
}

impl Walker for BincodeWalker {
    fn walk(&mut self, bytes: &[u8], at: usize, found: &mut [Span]) -> Result<Walked, Wrong> {
        let mut at = at;
        for step in &self.steps {
            if step.nullable {
                match bytes.get(at) {
                    None => return Ok(Walked::Short),
                    Some(0) => {
                        at += 1;
                        continue;
                    }
                    Some(1) => at += 1,
                    Some(other) => {
                        return Err(Wrong::fatal(format!(
                            "column {} begins with byte {other}, and not with the 0 of a NULL or the 1 of a value; \
                             the columns are others than those of the schema",
                            step.name
                        )));
                    }
                }
            }
            let width = match step.width {
                Width::Fixed(width) => width,
                Width::Counted => {
                    let Some(length) = bytes.get(at..at + 8).and_then(u64::read_le) else {
                        return Ok(Walked::Short);
                    };
                    at += 8;
                    match usize::try_from(length).ok().filter(|&length| length <= self.max_record) {
                        Some(length) => length,
                        None => {
                            return Err(Wrong::fatal(format!(
                                "column {} is said to have {length} bytes, of which a record may have {}; either the \
                                 columns are others than those of the schema, or --max-record is too low",
                                step.name, self.max_record
                            )));
                        }
                    }
                }
            };
            let end = at + width;
            if end > bytes.len() {
                return Ok(Walked::Short);
            }
            if let Some(slot) = step.slot {
                found[slot] = (at, end);
            }
            at = end;
        }
        Ok(Walked::Whole(at))
    }
}
