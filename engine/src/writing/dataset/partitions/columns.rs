//! Finds the columns that name directories.

use arrow_schema::{DataType, Schema};
use schema::names::nearest;
use schema::text::types::sql_name;

use crate::error::PartitionError;

/// The most bytes of a name, on all file systems of Linux.
pub const NAME_BYTES: usize = 255;

/// Finds the columns of these names, and gives their numbers in this order. A name matches as in a query: exactly, or
/// without regard to case if only one column matches.
///
/// # Errors
/// There is no such column, or several. A column is named twice. Its values can't name a directory. No other column is
/// left.
pub fn partition_columns(schema: &Schema, names: &[String]) -> Result<Vec<usize>, PartitionError> {
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let column = find(schema, name)?;
        let field = schema.field(column);
        if columns.contains(&column) {
            return Err(PartitionError::Twice { name: field.name().clone() });
        }
        if let Some(help) = instead(field.data_type()) {
            let data_type = sql_name(field.data_type()).unwrap_or_else(|| field.data_type().to_string());
            return Err(PartitionError::Type { name: field.name().clone(), data_type, help });
        }
        columns.push(column);
    }
    match columns.len() {
        0 => Err(PartitionError::Nothing),
        n if n == schema.fields().len() => Err(PartitionError::All),
        _ => Ok(columns),
    }
}

fn find(schema: &Schema, name: &str) -> Result<usize, PartitionError> {
    let of = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let fields = schema.fields().iter().enumerate();
        fields.filter(|(_, field)| is(field.name())).map(|(column, _)| column).collect()
    };
    let exact = of(&|other| other == name);
    let found =
        if exact.is_empty() { of(&|other| other.to_lowercase() == name.to_lowercase()) } else { exact };
    match found.as_slice() {
        [column] => Ok(*column),
        [] => {
            let names = || schema.fields().iter().map(|field| field.name().as_str());
            let help = match nearest(name, names()).as_slice() {
                [] => format!("it has {}", names().take(20).collect::<Vec<_>>().join(", ")),
                near => format!("did you mean {}?", near.join(" or ")),
            };
            Err(PartitionError::Unknown { name: name.into(), help })
        }
        _ => Err(PartitionError::Ambiguous { name: name.into() }),
    }
}

/// The help for a type whose values can't name directories. `None` if they can.
fn instead(data_type: &DataType) -> Option<&'static str> {
    match data_type {
        t if t.is_nested() => Some("partition by a field of it, or by its text: CAST(… AS VARCHAR)"),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Some("partition by its text: encode(…, 'hex')")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::Field;

    #[test]
    fn names_are_found_as_a_query_finds_them() {
        let int = |name: &str| Field::new(name, DataType::Int64, true);
        let list = DataType::new_list(DataType::Int64, true);
        let schema = Schema::new(vec![
            int("Year"),
            int("a"),
            int("A"),
            int("twin"),
            int("twin"),
            Field::new("l", list, true),
            Field::new("b", DataType::BinaryView, true),
        ]);
        let columns = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            partition_columns(&schema, &names)
        };
        assert_eq!(columns(&["A", "year"]), Ok(vec![2, 0]));
        let said = |names: &[&str]| columns(names).unwrap_err().to_string();
        assert!(
            said(&["yeer"]).contains("no column 'yeer'\n  help: did you mean Year?"),
            "{}",
            said(&["yeer"])
        );
        assert!(said(&["zzz"]).contains("it has Year, a, A"), "{}", said(&["zzz"]));
        assert_eq!(columns(&["twin"]), Err(PartitionError::Ambiguous { name: "twin".into() }));
        assert_eq!(columns(&["YEAR", "year"]), Err(PartitionError::Twice { name: "Year".into() }));
        assert!(said(&["l"]).contains("is a BIGINT[]"), "{}", said(&["l"]));
        assert!(said(&["b"]).contains("is a BLOB"), "{}", said(&["b"]));
        assert_eq!(columns(&[]), Err(PartitionError::Nothing));
        let one = Schema::new(vec![int("x")]);
        assert_eq!(partition_columns(&one, &["x".into()]), Err(PartitionError::All));
    }
}
