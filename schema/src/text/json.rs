//! The JSON form of Arrow's specification ("Integration Testing: JSON test data format"): a schema is an object
//! `{"fields": […]}`, a field is `{"name", "nullable", "type": {"name", …}, "children": […]}`.
//!
//! Metadata is neither printed nor read. Dictionary and run-end encoded columns and unions have no form here: a table
//! has the columns' values.

use std::sync::Arc;

use arrow_schema::{DataType, Field, IntervalUnit, Schema, TimeUnit};
use serde_json::{Map, Value, json};

use super::TextError;

/// Prints a schema, indented. [`parse`] gives the same schema back, its metadata aside.
pub fn print(schema: &Schema) -> Result<String, TextError> {
    let fields: Result<Vec<Value>, TextError> = schema.fields().iter().map(|f| field_value(f)).collect();
    Ok(format!("{:#}\n", json!({ "fields": fields? })))
}

fn field_value(field: &Field) -> Result<Value, TextError> {
    use DataType as T;
    let children: Vec<&Field> = match field.data_type() {
        T::List(f)
        | T::LargeList(f)
        | T::FixedSizeList(f, _)
        | T::ListView(f)
        | T::LargeListView(f)
        | T::Map(f, _) => {
            vec![f]
        }
        T::Struct(fields) => fields.iter().map(|f| f.as_ref()).collect(),
        _ => Vec::new(),
    };
    let children: Result<Vec<Value>, TextError> = children.into_iter().map(field_value).collect();
    let data_type = type_value(field.data_type()).ok_or_else(|| TextError::Type {
        column: field.name().clone(),
        data_type: field.data_type().to_string(),
        form: "Arrow's JSON form",
    })?;
    Ok(json!({
        "name": field.name(), "nullable": field.is_nullable(), "type": data_type, "children": children?
    }))
}

fn type_value(data_type: &DataType) -> Option<Value> {
    use DataType as T;
    let int = |width: u8, signed: bool| json!({ "name": "int", "bitWidth": width, "isSigned": signed });
    let float = |precision: &str| json!({ "name": "floatingpoint", "precision": precision });
    let decimal = |width: u16, precision: &u8, scale: &i8| json!({ "name": "decimal", "precision": precision, "scale": scale, "bitWidth": width });
    Some(match data_type {
        T::Null => json!({ "name": "null" }),
        T::Boolean => json!({ "name": "bool" }),
        T::Int8 => int(8, true),
        T::Int16 => int(16, true),
        T::Int32 => int(32, true),
        T::Int64 => int(64, true),
        T::UInt8 => int(8, false),
        T::UInt16 => int(16, false),
        T::UInt32 => int(32, false),
        T::UInt64 => int(64, false),
        T::Float16 => float("HALF"),
        T::Float32 => float("SINGLE"),
        T::Float64 => float("DOUBLE"),
        T::Utf8 => json!({ "name": "utf8" }),
        T::LargeUtf8 => json!({ "name": "largeutf8" }),
        T::Utf8View => json!({ "name": "utf8view" }),
        T::Binary => json!({ "name": "binary" }),
        T::LargeBinary => json!({ "name": "largebinary" }),
        T::BinaryView => json!({ "name": "binaryview" }),
        T::FixedSizeBinary(n) => json!({ "name": "fixedsizebinary", "byteWidth": n }),
        T::Decimal32(p, s) => decimal(32, p, s),
        T::Decimal64(p, s) => decimal(64, p, s),
        T::Decimal128(p, s) => decimal(128, p, s),
        T::Decimal256(p, s) => decimal(256, p, s),
        T::Date32 => json!({ "name": "date", "unit": "DAY" }),
        T::Date64 => json!({ "name": "date", "unit": "MILLISECOND" }),
        T::Time32(unit) => json!({ "name": "time", "unit": unit_name(*unit), "bitWidth": 32 }),
        T::Time64(unit) => json!({ "name": "time", "unit": unit_name(*unit), "bitWidth": 64 }),
        T::Timestamp(unit, None) => json!({ "name": "timestamp", "unit": unit_name(*unit) }),
        T::Timestamp(unit, Some(zone)) => {
            json!({ "name": "timestamp", "unit": unit_name(*unit), "timezone": zone.as_ref() })
        }
        T::Duration(unit) => json!({ "name": "duration", "unit": unit_name(*unit) }),
        T::Interval(IntervalUnit::YearMonth) => json!({ "name": "interval", "unit": "YEAR_MONTH" }),
        T::Interval(IntervalUnit::DayTime) => json!({ "name": "interval", "unit": "DAY_TIME" }),
        T::Interval(IntervalUnit::MonthDayNano) => json!({ "name": "interval", "unit": "MONTH_DAY_NANO" }),
        T::List(_) => json!({ "name": "list" }),
        T::LargeList(_) => json!({ "name": "largelist" }),
        T::ListView(_) => json!({ "name": "listview" }),
        T::LargeListView(_) => json!({ "name": "largelistview" }),
        T::FixedSizeList(_, n) => json!({ "name": "fixedsizelist", "listSize": n }),
        T::Struct(_) => json!({ "name": "struct" }),
        T::Map(_, sorted) => json!({ "name": "map", "keysSorted": sorted }),
        T::Dictionary(_, _) | T::RunEndEncoded(_, _) | T::Union(_, _) => return None,
    })
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "SECOND",
        TimeUnit::Millisecond => "MILLISECOND",
        TimeUnit::Microsecond => "MICROSECOND",
        TimeUnit::Nanosecond => "NANOSECOND",
    }
}

/// Reads a schema: the object with `fields`, or an object that holds it as `schema`.
pub fn parse(text: &str) -> Result<Schema, TextError> {
    let root: Value = serde_json::from_str(text)?;
    let (schema, path) = match root.get("schema") {
        Some(schema) => (schema, "schema.fields"),
        None => (&root, "fields"),
    };
    let fields = parse_fields(schema.get("fields"), path)?;
    if fields.is_empty() {
        return Err(wrong(path, "a table has at least one column"));
    }
    for (i, field) in fields.iter().enumerate() {
        if fields[..i].iter().any(|f| f.name() == field.name()) {
            return Err(wrong(
                &format!("{path}[{i}]"),
                format!("there are two columns called '{}'", field.name()),
            ));
        }
    }
    Ok(Schema::new(fields))
}

fn wrong(path: &str, message: impl Into<String>) -> TextError {
    TextError::Json { path: path.into(), message: message.into() }
}

fn parse_fields(value: Option<&Value>, path: &str) -> Result<Vec<Field>, TextError> {
    let fields = value.and_then(Value::as_array).ok_or_else(|| wrong(path, "expected a list of fields"))?;
    fields.iter().enumerate().map(|(i, field)| parse_field(field, &format!("{path}[{i}]"))).collect()
}

fn parse_field(value: &Value, path: &str) -> Result<Field, TextError> {
    let object = value.as_object().ok_or_else(|| wrong(path, "expected an object that describes a field"))?;
    let name = text(object, "name", path)?;
    let nullable = match object.get("nullable") {
        None => true,
        Some(value) => {
            value.as_bool().ok_or_else(|| wrong(&format!("{path}.nullable"), "expected true or false"))?
        }
    };
    if object.get("dictionary").is_some_and(|d| !d.is_null()) {
        return Err(wrong(path, "a dictionary is no part of a table's schema; give the type of its values"));
    }
    let children = match object.get("children") {
        None => Vec::new(),
        children => parse_fields(children, &format!("{path}.children"))?,
    };
    let data_type = object.get("type").and_then(Value::as_object);
    let path = format!("{path}.type");
    let data_type = data_type.ok_or_else(|| wrong(&path, "expected an object that describes a type"))?;
    Ok(Field::new(name, parse_type(data_type, children, &path)?, nullable))
}

fn parse_type(object: &Map<String, Value>, children: Vec<Field>, path: &str) -> Result<DataType, TextError> {
    use DataType as T;
    let count = children.len();
    let one = |children: Vec<Field>| -> Result<Arc<Field>, TextError> {
        let [child] = <[Field; 1]>::try_from(children).map_err(|_| wrong(path, "expected one child"))?;
        Ok(Arc::new(child))
    };
    let name = text(object, "name", path)?;
    let nested =
        ["list", "largelist", "listview", "largelistview", "fixedsizelist", "struct", "map"].contains(&name);
    if !nested && count > 0 {
        return Err(wrong(path, format!("the type '{name}' has no children")));
    }
    Ok(match name {
        "null" => T::Null,
        "bool" => T::Boolean,
        "int" => {
            let signed = object.get("isSigned").and_then(Value::as_bool);
            match (number(object, "bitWidth", 8, 64, path)?, signed) {
                (8, Some(true)) => T::Int8,
                (16, Some(true)) => T::Int16,
                (32, Some(true)) => T::Int32,
                (64, Some(true)) => T::Int64,
                (8, Some(false)) => T::UInt8,
                (16, Some(false)) => T::UInt16,
                (32, Some(false)) => T::UInt32,
                (64, Some(false)) => T::UInt64,
                _ => return Err(wrong(path, "expected bitWidth 8, 16, 32 or 64 and isSigned true or false")),
            }
        }
        "floatingpoint" => match text(object, "precision", path)? {
            "HALF" => T::Float16,
            "SINGLE" => T::Float32,
            "DOUBLE" => T::Float64,
            _ => return Err(wrong(path, "expected the precision HALF, SINGLE or DOUBLE")),
        },
        "utf8" => T::Utf8,
        "largeutf8" => T::LargeUtf8,
        "utf8view" => T::Utf8View,
        "binary" => T::Binary,
        "largebinary" => T::LargeBinary,
        "binaryview" => T::BinaryView,
        "fixedsizebinary" => {
            T::FixedSizeBinary(number(object, "byteWidth", 0, i32::MAX as i64, path)? as i32)
        }
        "decimal" => {
            let width = if object.contains_key("bitWidth") {
                number(object, "bitWidth", 32, 256, path)?
            } else {
                128
            };
            let most = match width {
                32 => 9,
                64 => 18,
                128 => 38,
                256 => 76,
                _ => return Err(wrong(path, "expected bitWidth 32, 64, 128 or 256")),
            };
            let precision = number(object, "precision", 1, most, path)?;
            let scale = number(object, "scale", -precision, precision, path)? as i8;
            match (width, precision as u8) {
                (32, precision) => T::Decimal32(precision, scale),
                (64, precision) => T::Decimal64(precision, scale),
                (128, precision) => T::Decimal128(precision, scale),
                (_, precision) => T::Decimal256(precision, scale),
            }
        }
        "date" => match text(object, "unit", path)? {
            "DAY" => T::Date32,
            "MILLISECOND" => T::Date64,
            _ => return Err(wrong(path, "expected the unit DAY or MILLISECOND")),
        },
        "time" => match unit(object, path)? {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => T::Time32(unit),
            unit => T::Time64(unit),
        },
        "timestamp" => match object.get("timezone") {
            None | Some(Value::Null) => T::Timestamp(unit(object, path)?, None),
            Some(_) => T::Timestamp(unit(object, path)?, Some(text(object, "timezone", path)?.into())),
        },
        "duration" => T::Duration(unit(object, path)?),
        "interval" => match text(object, "unit", path)? {
            "YEAR_MONTH" => T::Interval(IntervalUnit::YearMonth),
            "DAY_TIME" => T::Interval(IntervalUnit::DayTime),
            "MONTH_DAY_NANO" => T::Interval(IntervalUnit::MonthDayNano),
            _ => return Err(wrong(path, "expected the unit YEAR_MONTH, DAY_TIME or MONTH_DAY_NANO")),
        },
        "list" => T::List(one(children)?),
        "largelist" => T::LargeList(one(children)?),
        "listview" => T::ListView(one(children)?),
        "largelistview" => T::LargeListView(one(children)?),
        "fixedsizelist" => {
            T::FixedSizeList(one(children)?, number(object, "listSize", 0, i32::MAX as i64, path)? as i32)
        }
        "struct" => T::Struct(children.into()),
        "map" => {
            let entries = one(children)?;
            if !matches!(entries.data_type(), T::Struct(fields) if fields.len() == 2) {
                return Err(wrong(path, "expected one child of type struct, with a key and a value"));
            }
            T::Map(entries, object.get("keysSorted").and_then(Value::as_bool).unwrap_or(false))
        }
        other => return Err(wrong(path, format!("there is no type '{other}'"))),
    })
}

fn text<'a>(object: &'a Map<String, Value>, key: &str, path: &str) -> Result<&'a str, TextError> {
    let value = object.get(key).and_then(Value::as_str);
    value.ok_or_else(|| wrong(&format!("{path}.{key}"), "expected a string"))
}

fn number(
    object: &Map<String, Value>,
    key: &str,
    least: i64,
    most: i64,
    path: &str,
) -> Result<i64, TextError> {
    let value = object.get(key).and_then(Value::as_i64).filter(|n| (least..=most).contains(n));
    value.ok_or_else(|| wrong(&format!("{path}.{key}"), format!("expected a number from {least} to {most}")))
}

fn unit(object: &Map<String, Value>, path: &str) -> Result<TimeUnit, TextError> {
    Ok(match text(object, "unit", path)? {
        "SECOND" => TimeUnit::Second,
        "MILLISECOND" => TimeUnit::Millisecond,
        "MICROSECOND" => TimeUnit::Microsecond,
        "NANOSECOND" => TimeUnit::Nanosecond,
        _ => return Err(wrong(path, "expected the unit SECOND, MILLISECOND, MICROSECOND or NANOSECOND")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::types::flat_types;

    fn list(item: DataType) -> DataType {
        DataType::List(Arc::new(Field::new_list_field(item, false)))
    }

    #[test]
    fn every_type_comes_back() {
        use DataType as T;
        let mut types = flat_types();
        types.extend([T::Utf8, T::LargeUtf8, T::Binary, T::LargeBinary, list(list(T::Int8))]);
        types.push(T::FixedSizeList(Arc::new(Field::new("x", T::Int8, true)), 3));
        let entry = vec![Field::new("k", T::Utf8View, false), Field::new("v", list(T::Date32), true)];
        types.push(T::Struct(entry.clone().into()));
        types.push(T::Map(Arc::new(Field::new("entries", T::Struct(entry.into()), false)), true));
        let fields = types.into_iter().enumerate().map(|(i, t)| Field::new(format!("c{i}"), t, i % 3 == 0));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let text = print(&schema).unwrap();
        assert_eq!(parse(&text).unwrap(), schema, "{text}");
        assert_eq!(parse(&format!("{{\"schema\": {text}}}")).unwrap(), schema);
    }

    #[test]
    fn the_form_is_the_one_of_the_specification() {
        let schema = Schema::new(vec![Field::new("n", DataType::Int32, false)]);
        let value: Value = serde_json::from_str(&print(&schema).unwrap()).unwrap();
        let field = json!({
            "name": "n", "nullable": false, "children": [], "type": { "name": "int", "bitWidth": 32, "isSigned": true }
        });
        assert_eq!(value, json!({ "fields": [field] }));
    }

    #[test]
    fn errors_tell_the_place() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert!(error("{\"fields\": [}").starts_with("not JSON"));
        assert_eq!(error("{}"), "fields: expected a list of fields");
        assert_eq!(error("{\"fields\": []}"), "fields: a table has at least one column");
        assert_eq!(
            error(r#"{"fields": [{"name": "a", "type": {"name": "int", "bitWidth": 7}}]}"#),
            "fields[0].type.bitWidth: expected a number from 8 to 64"
        );
        assert_eq!(
            error(r#"{"fields": [{"name": "a", "type": {"name": "list"}, "children": []}]}"#),
            "fields[0].type: expected one child"
        );
        assert_eq!(
            error(r#"{"fields": [{"name": "a", "type": {"name": "text"}}]}"#),
            "fields[0].type: there is no type 'text'"
        );
        let twice = r#"{"name": "a", "type": {"name": "bool"}}"#;
        assert!(error(&format!("{{\"fields\": [{twice}, {twice}]}}")).contains("two columns called 'a'"));
    }
}
