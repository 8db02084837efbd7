//! csv text as rows of optional values.

/// The rows of csv text; a bare empty field is `None`, `""` the empty string.
pub fn csv_rows(text: &str) -> Result<Vec<Vec<Option<String>>>, String> {
    let mut rows = Vec::new();
    let mut row = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (field, after) = field(rest).ok_or_else(|| format!("a broken csv field at {:.40}", rest))?;
        row.push(field);
        let (end, next) = match after.strip_prefix(',') {
            Some(next) => (false, next),
            None => (true, after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n')).unwrap_or(after)),
        };
        if end {
            if next.len() == after.len() && !after.is_empty() {
                return Err(format!("text behind a closing quote at {:.40}", after));
            }
            rows.push(std::mem::take(&mut row));
        } else if next.is_empty() {
            return Err("the text ends behind a comma".into());
        }
        rest = next;
    }
    Ok(rows)
}

/// The field at the start of `text`, and what follows it.
fn field(text: &str) -> Option<(Option<String>, &str)> {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find([',', '\n', '\r']).unwrap_or(text.len());
        let (value, after) = text.split_at(end);
        return Some(((!value.is_empty()).then(|| value.to_owned()), after));
    };
    let mut value = String::new();
    loop {
        let (part, after) = rest.split_once('"')?;
        value.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => {
                value.push('"');
                rest = more;
            }
            None => return Some((Some(value), after)),
        }
    }
}
