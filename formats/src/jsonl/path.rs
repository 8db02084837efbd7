//! The path to the rows of a file, as people write it: keys with points between them, such as `data` or
//! `result."a.b".items`. `$` in front stands for the file's object, and alone for no path.

use super::decode::name;
use super::frame::string_end;

/// The keys of a path, the outermost first; none of `$`. `None` if the text is no path.
pub fn keys(text: &str) -> Option<Vec<String>> {
    let mut rest = match text.strip_prefix('$') {
        Some("") => return Some(Vec::new()),
        Some(behind) => behind.strip_prefix('.')?,
        None => text,
    };
    let mut keys = Vec::new();
    loop {
        let end = match rest.starts_with('"') {
            true => string_end(rest.as_bytes(), 1).filter(|end| *end <= rest.len())?,
            false => rest.find('.').unwrap_or(rest.len()),
        };
        let (key, behind) = rest.split_at_checked(end)?;
        keys.push(match key.strip_prefix('"').and_then(|key| key.strip_suffix('"')) {
            Some(quoted) => String::from_utf8(name(quoted.as_bytes())?).ok()?,
            None if key.is_empty() || key.contains('"') => return None,
            None => key.to_string(),
        });
        if behind.is_empty() {
            return Some(keys);
        }
        rest = behind.strip_prefix('.')?;
    }
}

/// The path of one key.
pub fn of_key(key: &str) -> String {
    let is_plain = !key.is_empty() && !key.contains(['.', '"', '$']) && !key.contains(char::is_control);
    if is_plain { key.to_string() } else { serde_json::Value::from(key).to_string() }
}

/// A path as it is written in a shell.
pub fn in_shell(path: &str) -> String {
    let is_plain = path.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'));
    if is_plain { path.to_string() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_as_people_write_them() {
        for (text, expected) in [
            ("$", &[][..]),
            ("data", &["data"]),
            ("$.data", &["data"]),
            ("a.b", &["a", "b"]),
            ("\"a.b\".c", &["a.b", "c"]),
            ("a.\"\"", &["a", ""]),
            (r#""\"é\u0061""#, &["\"éa"]),
            ("a b", &["a b"]),
        ] {
            assert_eq!(keys(text).unwrap(), expected, "{text}");
        }
        for wrong in ["", "$.", "$a", "a.", ".a", "a..b", "\"a", "a\"b", "\"a\"b", "\"\\x\""] {
            assert_eq!(keys(wrong), None, "{wrong}");
        }
        for key in ["a", "", "a.b", "\"", "$", "\n", "é"] {
            assert_eq!(keys(&of_key(key)).unwrap(), [key], "{key:?}");
        }
        for (path, shown) in
            [("a.b-c_1", "a.b-c_1"), ("a b", "'a b'"), ("\"a.b\".it's", r#"'"a.b".it'\''s'"#)]
        {
            assert_eq!(in_shell(path), shown);
        }
    }
}
