//! Columns of values of one width under construction.

use std::sync::Arc;

use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::column::{Bad, Found, TextBlock};
use super::syntax::{Syntax, Token};

/// A column of values of one width.
#[derive(Default)]
pub struct Fixed<T> {
    values: Vec<T>,
    nulls: Vec<u32>,
    /// What a value is rewritten in.
    scratch: Vec<u8>,
}

impl<T: Copy + Default> Fixed<T> {
    /// Appends one value for each field of a stretch.
    #[inline(always)]
    pub fn extend<S: Syntax>(
        &mut self,
        syntax: S,
        stretch: &TextBlock,
        fields: impl Iterator<Item = (usize, usize)>,
        nullable: bool,
        found: &mut Found,
        parse: impl Fn(S, &[u8]) -> Option<T>,
    ) {
        let bytes = stretch.block.as_slice();
        for (record, (start, end)) in fields.enumerate() {
            let value = match syntax.token(bytes, start, end) {
                Token::Plain(from, to) => {
                    let value = &bytes[from..to];
                    parse(syntax, value).or_else(|| {
                        let value = if S::TEXT { value.trim_ascii() } else { return None };
                        parse(syntax, value)
                    })
                }
                Token::Null | Token::Empty if nullable => {
                    self.push_null();
                    continue;
                }
                Token::Escaped(from, to) => {
                    self.scratch.clear();
                    let replaced = syntax.unescape(&bytes[from..to], &mut self.scratch);
                    replaced.and_then(|_| {
                        let value = self.scratch.as_slice();
                        parse(syntax, if S::TEXT { value.trim_ascii() } else { value })
                    })
                }
                Token::Null | Token::Empty | Token::Broken => None,
            };
            match value {
                Some(value) => self.values.push(value),
                None => {
                    found.bad.push(Bad { record, start, end });
                    if stretch.fail_fast {
                        return;
                    }
                    self.push_null();
                }
            }
        }
    }

    /// The rows without a value.
    pub fn nulls(&self) -> &[u32] {
        &self.nulls
    }

    /// Appends a row without a value.
    pub fn push_null(&mut self) {
        self.nulls.push(self.values.len() as u32);
        self.values.push(T::default());
    }

    fn take(&mut self) -> (Vec<T>, Option<NullBuffer>) {
        let nulls = null_buffer(self.values.len(), &mut self.nulls);
        let capacity = self.values.len();
        (std::mem::replace(&mut self.values, Vec::with_capacity(capacity)), nulls)
    }

    /// The array of all values so far; the column is empty again.
    pub fn array<P: ArrowPrimitiveType<Native = T>>(&mut self, data_type: &DataType) -> ArrayRef
    where
        T: ArrowNativeType,
    {
        let (values, nulls) = self.take();
        Arc::new(
            PrimitiveArray::<P>::new(ScalarBuffer::from(values), nulls).with_data_type(data_type.clone()),
        )
    }
}

impl Fixed<bool> {
    /// The array of all values so far; the column is empty again.
    pub fn booleans(&mut self) -> ArrayRef {
        let (values, nulls) = self.take();
        Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls))
    }
}

/// The validity of `len` rows of which these are NULL.
pub fn null_buffer(len: usize, nulls: &mut Vec<u32>) -> Option<NullBuffer> {
    if nulls.is_empty() {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(len);
    valid.append_n(len, true);
    for row in nulls.drain(..) {
        valid.set_bit(row as usize, false);
    }
    Some(NullBuffer::new(valid.finish()))
}
