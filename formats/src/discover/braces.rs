//! Expands braces: `{a,b}.csv` is `a.csv` and `b.csv`, as in a shell. Braces may be nested, and hold slashes and
//! wildcards, so that `{logs/*.csv,old.csv}` is a list of locations.

use crate::error::{Error, Result};

/// The most locations that braces may stand for, and the most bytes of a text with braces.
const MOST: usize = 10_000;
const MOST_BYTES: usize = 64 << 10;

/// The locations that a text with braces stands for. Empty if the text has no braces with a comma inside.
///
/// # Errors
/// There are more than [`MOST`] locations.
pub fn expand(location: &str) -> Result<Vec<String>> {
    if !location.contains('{') {
        return Ok(Vec::new());
    }
    let help = "use wildcards instead".to_string();
    if location.len() > MOST_BYTES {
        let message = format!("a location with braces has at most {MOST_BYTES} bytes");
        return Err(Error::location(&location[..location.floor_char_boundary(100)], message, Some(help)));
    }
    let mut all = vec![location.to_string()];
    let mut at = 0;
    while let Some(text) = all.get(at) {
        match first_group(text) {
            None => at += 1,
            Some((_, inner, _)) if all.len() + inner.len() > MOST => {
                let message = format!("its braces stand for more than {MOST} locations");
                return Err(Error::location(location, message, Some(help)));
            }
            Some((before, inner, behind)) => {
                let parts: Vec<String> =
                    inner.into_iter().map(|part| format!("{before}{part}{behind}")).collect();
                all.splice(at..=at, parts);
            }
        }
    }
    Ok(if at == 1 && all[0] == location { Vec::new() } else { all })
}

/// The directory that a location names before its first wildcard or brace.
pub fn root(location: &str) -> &str {
    let plain = location.find(['{', '*', '?', '[']).unwrap_or(location.len());
    location[..plain].rfind('/').map_or("", |slash| &location[..slash.max(1)])
}

/// The first braces with a comma in them: the text before, the alternatives, and the text behind.
fn first_group(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    for (open, _) in text.match_indices('{') {
        let (mut depth, mut commas) = (0_usize, Vec::new());
        for (at, c) in text[open..].char_indices().map(|(at, c)| (open + at, c)) {
            match c {
                '{' => depth += 1,
                '}' if depth == 1 => {
                    if commas.is_empty() {
                        break;
                    }
                    commas.push(at);
                    let mut from = open + 1;
                    let parts =
                        commas.iter().map(|&comma| &text[std::mem::replace(&mut from, comma + 1)..comma]);
                    return Some((&text[..open], parts.collect(), &text[at + 1..]));
                }
                '}' => depth -= 1,
                ',' if depth == 1 => commas.push(at),
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_those_of_a_shell() {
        for (text, all) in [
            ("a.csv", &[][..]),
            ("{a}.csv", &[]),
            ("a}b{c", &[]),
            ("{a,b", &[]),
            ("{a,b}.csv", &["a.csv", "b.csv"]),
            ("x{,.gz}", &["x", "x.gz"]),
            ("{a,b}{1,2}", &["a1", "a2", "b1", "b2"]),
            ("{a,{b,c}d}", &["a", "bd", "cd"]),
            ("{x}{a,b}", &["{x}a", "{x}b"]),
            ("{{a,b}}", &["{a}", "{b}"]),
            ("{d/*.csv,e/f.csv}", &["d/*.csv", "e/f.csv"]),
            ("é{ä,ö}", &["éä", "éö"]),
        ] {
            assert_eq!(expand(text).unwrap(), all, "{text}");
        }
        assert!(expand(&"{0,1}".repeat(64)).unwrap_err().to_string().contains("10000"));
    }

    #[test]
    fn the_root_ends_before_the_first_wildcard() {
        for (location, expected) in
            [("a/b/{c,d}/e", "a/b"), ("a/b*/{c,d}", "a"), ("{a,b}/c", ""), ("/x{a,b}", "/"), ("a/b", "a")]
        {
            assert_eq!(root(location), expected, "{location}");
        }
    }
}
