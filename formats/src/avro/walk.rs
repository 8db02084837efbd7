//! The check of a block's values, before columns are made of them: each lies in the block, the block ends behind its last
//! row, and items are no more than there are bytes for. It also tells what the columns will take.

use super::long;
use super::schema::{Field, Kind, Nulls, Type};

/// What is wrong with a block.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The row in the block, counted from 0.
    pub row: u64,
    /// The column, unless it is the end of the block.
    pub column: Option<String>,
    /// The place in the unpacked data.
    pub at: usize,
    /// What is wrong.
    pub message: &'static str,
}

/// Checks the rows of a block. Gives about the bytes that columns of them take.
///
/// # Errors
/// The first value that can't be.
pub fn check(data: &[u8], rows: u64, fields: &[Field]) -> Result<u64, Wrong> {
    let mut walk = Walk { data, at: 0, memory: 0 };
    for row in 0..rows {
        for field in fields {
            walk.value(&field.data_type).map_err(|message| Wrong {
                row,
                column: Some(field.name.clone()),
                at: walk.at,
                message,
            })?;
        }
    }
    match walk.at == data.len() {
        true => Ok(walk.memory),
        false => {
            let message = "bytes behind the last row of a block";
            Err(Wrong { row: rows, column: None, at: walk.at, message })
        }
    }
}

struct Walk<'a> {
    data: &'a [u8],
    at: usize,
    memory: u64,
}

const CUT_SHORT: &str = "a value that ends behind its block";

impl Walk<'_> {
    fn value(&mut self, data_type: &Type) -> Result<(), &'static str> {
        let null = match data_type.nulls {
            Nulls::Never => None,
            Nulls::First => Some(0),
            Nulls::Last => Some(1),
        };
        if let Some(null) = null {
            match self.long()? {
                branch if branch == null => {
                    self.memory = self.memory.saturating_add(data_type.null_width);
                    return Ok(());
                }
                0 | 1 => {}
                _ => return Err("a union has no such branch"),
            }
        }
        self.memory = self.memory.saturating_add(data_type.width);
        match &data_type.kind {
            Kind::Null => Ok(()),
            Kind::Boolean => self.skip(1),
            Kind::Int => self.int().map(|_| ()),
            Kind::Long => self.long().map(|_| ()),
            Kind::Float => self.skip(4),
            Kind::Double => self.skip(8),
            Kind::Bytes | Kind::String => {
                let length = usize::try_from(self.long()?).map_err(|_| "a negative length")?;
                self.skip(length)?;
                self.memory = self.memory.saturating_add(2 * length as u64);
                Ok(())
            }
            Kind::Fixed(size) => self.skip(*size),
            Kind::Enum(symbols) => match usize::try_from(self.int()?) {
                Ok(symbol) if symbol < symbols.len() => Ok(()),
                _ => Err("an enum has no such symbol"),
            },
            Kind::Array(items) => self.items(|walk| walk.value(items)),
            Kind::Map(values) => self.items(|walk| {
                let length = usize::try_from(walk.long()?).map_err(|_| "a negative length")?;
                walk.skip(length)?;
                walk.memory = walk.memory.saturating_add(32 + 2 * length as u64);
                walk.value(values)
            }),
            Kind::Record(fields) => {
                let mut fields = fields.iter();
                fields.try_for_each(|field| self.value(&field.data_type))
            }
        }
    }

    /// The items of an array or a map, in blocks of their own, up to one without any.
    fn items(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        loop {
            let count = self.long()?;
            // A negative number is followed by the size of the items in bytes.
            let size = if count < 0 { Some(self.long()?) } else { None };
            let begin = self.at;
            // Each item takes a byte or more.
            if count.unsigned_abs() > (self.data.len() - begin) as u64 {
                return Err("more items than there are bytes for");
            }
            for _ in 0..count.unsigned_abs() {
                item(self)?;
            }
            if size.is_some_and(|size| size != (self.at - begin) as i64) {
                return Err("items that don't have the size that is said");
            }
            if count == 0 {
                return Ok(());
            }
        }
    }

    fn skip(&mut self, bytes: usize) -> Result<(), &'static str> {
        match self.data.len() - self.at >= bytes {
            true => self.at += bytes,
            false => return Err(CUT_SHORT),
        }
        Ok(())
    }

    fn long(&mut self) -> Result<i64, &'static str> {
        long(self.data, &mut self.at).ok_or("a number that ends behind its block or has more than 64 bits")
    }

    fn int(&mut self) -> Result<i32, &'static str> {
        i32::try_from(self.long()?).map_err(|_| "a number of more than 32 bits")
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::parse;
    use super::*;

    fn fields() -> Vec<Field> {
        let schema = r#"{"type": "record", "name": "r", "fields": [
            {"name": "a", "type": ["int", "null"]},
            {"name": "b", "type": {"type": "array", "items": "boolean"}},
            {"name": "c", "type": {"type": "enum", "name": "e", "symbols": ["X", "Y"]}}]}"#;
        parse(schema.as_bytes()).unwrap()
    }

    #[test]
    fn rows_end_where_their_block_ends() {
        // 5, [true, false] and Y; NULL, [] and X.
        let data = [0, 10, 4, 1, 0, 0, 2, 2, 0, 0];
        assert!(check(&data, 2, &fields()).is_ok());
        let behind = check(&data, 1, &fields()).unwrap_err();
        assert_eq!((behind.row, behind.at, behind.column), (1, 7, None));
        let missing = check(&data, 3, &fields()).unwrap_err();
        assert_eq!((missing.row, missing.column.as_deref()), (2, Some("a")));
        // The same items in a block that says its size, and in one that says another.
        assert!(check(&[0, 10, 3, 4, 1, 0, 0, 2], 1, &fields()).is_ok());
        assert!(check(&[0, 10, 3, 6, 1, 0, 0, 2], 1, &fields()).is_err());
    }

    #[test]
    fn what_can_not_be_is_told_with_its_column() {
        let column = |data: &[u8]| check(data, 1, &fields()).unwrap_err().column;
        assert_eq!(column(&[4, 0, 0, 0]).as_deref(), Some("a"), "a branch");
        assert_eq!(column(&[2, 0x80, 0x80, 0x80, 1, 0, 0]).as_deref(), Some("b"), "items without bytes");
        assert_eq!(column(&[2, 0, 4]).as_deref(), Some("c"), "a symbol");
        assert_eq!(column(&[0, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0, 0]).as_deref(), Some("a"), "35 bits");
    }
}
