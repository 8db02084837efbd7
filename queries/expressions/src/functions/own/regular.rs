//! Regular expressions, in the syntax of Rust's `regex`. Letters behind them say how they are read. `c` is with and `i`
//! without regard to case, `l` as plain text, `s` with a dot that matches the end of a line too. `m`, `n` and `p` are
//! with one that does not, and `g` in `regexp_replace` all matches.

use std::borrow::Cow;
use std::collections::HashMap;

use arrow_array::ArrayRef;
use datafusion_common::{Result, exec_datafusion_err, exec_err};
use regex::{Regex, RegexBuilder};

use super::arguments::{Call, Texts};
use super::{Own, ResultType, Takes};

const MATCHED: &[&[Takes]] =
    &[&[Takes::Text, Takes::OnlyText], &[Takes::Text, Takes::OnlyText, Takes::OnlyText]];

/// The most expressions that are kept for the next rows.
const MOST_KEPT: usize = 256;

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "regexp_matches",
        takes: MATCHED,
        more: None,
        gives: ResultType::Boolean,
        total: false,
        compute: |call| matches(call, false),
    },
    Own {
        name: "regexp_full_match",
        takes: MATCHED,
        more: None,
        gives: ResultType::Boolean,
        total: false,
        compute: |call| matches(call, true),
    },
    Own {
        name: "regexp_extract",
        takes: &[
            &[Takes::Text, Takes::OnlyText],
            &[Takes::Text, Takes::OnlyText, Takes::Integer],
            &[Takes::Text, Takes::OnlyText, Takes::Integer, Takes::OnlyText],
        ],
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: extract,
    },
    Own {
        name: "regexp_replace",
        takes: &[
            &[Takes::Text, Takes::OnlyText, Takes::Text],
            &[Takes::Text, Takes::OnlyText, Takes::Text, Takes::OnlyText],
        ],
        more: None,
        gives: ResultType::Text,
        total: false,
        compute: replace,
    },
    Own {
        name: "regexp_escape",
        takes: &[&[Takes::Text]],
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: escape,
    },
];

/// An expression with its pattern and its options, and whether all matches are meant.
#[derive(Clone)]
struct Known {
    pattern: String,
    options: String,
    expression: Regex,
    global: bool,
}

/// Expressions with their options.
pub struct Expressions {
    name: &'static str,
    whole: bool,
    patterns: Texts,
    options: Option<Texts>,
    /// That of the row before.
    last: Option<Known>,
    /// Those of the rows before, by pattern and options.
    known: HashMap<(String, String), Known>,
}

impl Expressions {
    fn new(call: &Call, options: usize, whole: bool) -> Result<Expressions> {
        let options = (call.given() > options).then(|| call.text(options)).transpose()?;
        Ok(Expressions { whole, ..Expressions::of(call.name, call.text(1)?, options) })
    }

    /// Those of the function of this name; without options none are meant.
    pub fn of(name: &'static str, patterns: Texts, options: Option<Texts>) -> Expressions {
        Expressions { name, whole: false, patterns, options, last: None, known: HashMap::new() }
    }

    /// The expression of a row; none where its pattern or its options are NULL.
    ///
    /// # Errors
    /// It is none, or there is no such option.
    pub fn expression(&mut self, row: usize) -> Result<Option<&Regex>> {
        Ok(self.get(row)?.map(|known| &known.expression))
    }

    /// The expression of a row.
    fn get(&mut self, row: usize) -> Result<Option<&Known>> {
        let Some(pattern) = self.patterns.get(row) else { return Ok(None) };
        let options = match &self.options {
            Some(options) => match options.get(row) {
                Some(options) => options,
                None => return Ok(None),
            },
            None => "",
        };
        let is_last = |last: &Known| last.pattern == pattern && last.options == options;
        if !self.last.as_ref().is_some_and(is_last) {
            let key = (pattern.to_string(), options.to_string());
            let known = match self.known.get(&key) {
                Some(known) => known.clone(),
                None => {
                    let (expression, global) = expression(self.name, pattern, options, self.whole)?;
                    let (pattern, options) = key.clone();
                    Known { pattern, options, expression, global }
                }
            };
            if self.known.len() == MOST_KEPT {
                self.known.clear();
            }
            self.known.insert(key, known.clone());
            self.last = Some(known);
        }
        Ok(self.last.as_ref())
    }
}

/// An expression by its options, and whether all matches are meant.
///
/// # Errors
/// It is none, or there is no such option.
pub fn expression(name: &str, pattern: &str, options: &str, whole: bool) -> Result<(Regex, bool)> {
    let (mut folds, mut literal, mut all_lines, mut global) = (false, false, false, false);
    for option in options.chars() {
        match option {
            'c' => folds = false,
            'i' => folds = true,
            'l' => literal = true,
            's' => all_lines = true,
            'm' | 'n' | 'p' => all_lines = false,
            'g' if name == "regexp_replace" => global = true,
            c if c.is_whitespace() => {}
            other => return exec_err!("{name}() has no option '{other}'; there are c, i, l, m, n, p, s"),
        }
    }
    let mut pattern: Cow<'_, str> = if literal { regex::escape(pattern).into() } else { pattern.into() };
    if whole {
        pattern = format!(r"\A(?:{pattern})\z").into();
    }
    let built = RegexBuilder::new(&pattern).case_insensitive(folds).dot_matches_new_line(all_lines).build();
    let built = built.map_err(|e| exec_datafusion_err!("no regular expression: {}", said(&e)))?;
    Ok((built, global))
}

/// What is wrong with an expression, in one line.
fn said(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string()
}

fn matches(call: &Call, whole: bool) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    let mut expressions = Expressions::new(call, 2, whole)?;
    call.give_booleans(|row| {
        let found = expressions.get(row)?.zip(texts.get(row));
        Ok(found.map(|(known, text)| known.expression.is_match(text)))
    })
}

/// What a group of the first match has matched; empty text if there is no match.
fn extract(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    let groups = (call.given() > 2).then(|| call.integers(2)).transpose()?;
    let mut expressions = Expressions::new(call, 3, false)?;
    call.give_text(|row, out| {
        let group = match &groups {
            // Without a number it is the whole match.
            Some(groups) => groups.get(row).unwrap_or(0),
            None => 0,
        };
        let Some((text, known)) = texts.get(row).zip(expressions.get(row)?) else { return Ok(false) };
        let Some(group) = usize::try_from(group).ok().filter(|group| *group < 10) else {
            return exec_err!("groups of regexp_extract() have numbers between 0 and 9");
        };
        let found = match group {
            0 => known.expression.find(text),
            _ => known.expression.captures(text).and_then(|groups| groups.get(group)),
        };
        out.push_str(found.map_or("", |found| found.as_str()));
        Ok(true)
    })
}

/// A part of a replacement.
enum Part<'a> {
    Text(&'a str),
    Group(usize),
}

/// The parts of a replacement, in which `\1` is what the first group has matched, `\0` the whole match and `\\` a
/// backslash.
fn parts<'a>(replacement: &'a str, expression: &Regex) -> Result<Vec<Part<'a>>> {
    let mut parts = Vec::new();
    let mut rest = replacement;
    while let Some(at) = rest.find('\\') {
        parts.push(Part::Text(&rest[..at]));
        let behind = &rest[at + 1..];
        match behind.chars().next() {
            Some('\\') => parts.push(Part::Text(&behind[..1])),
            Some(digit @ '0'..='9') => {
                let group = digit as usize - '0' as usize;
                if group >= expression.captures_len() {
                    let there = expression.captures_len() - 1;
                    return exec_err!(
                        "the replacement '{replacement}' names group {group}, and there are {there}"
                    );
                }
                parts.push(Part::Group(group));
            }
            _ => {
                return exec_err!(
                    "'{replacement}' is no replacement of regexp_replace(): behind a backslash stands a digit or a \
                     backslash"
                );
            }
        }
        rest = &behind[1..];
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

fn replace(call: &Call) -> Result<ArrayRef> {
    let (texts, replacements) = (call.text(0)?, call.text(2)?);
    let mut expressions = Expressions::new(call, 3, false)?;
    call.give_text(|row, out| {
        let (Some(text), Some(replacement)) = (texts.get(row), replacements.get(row)) else {
            return Ok(false);
        };
        let Some(known) = expressions.get(row)? else { return Ok(false) };
        let parts = parts(replacement, &known.expression)?;
        let mut from = 0;
        for groups in known.expression.captures_iter(text).take(if known.global { usize::MAX } else { 1 }) {
            let Some(all) = groups.get(0) else { break };
            out.push_str(&text[from..all.start()]);
            for part in &parts {
                match part {
                    Part::Text(text) => out.push_str(text),
                    Part::Group(group) => out.push_str(groups.get(*group).map_or("", |group| group.as_str())),
                }
            }
            from = all.end();
        }
        out.push_str(&text[from..]);
        Ok(true)
    })
}

/// A text as an expression that matches it: a backslash before each character but letters, digits, `_` and those beyond
/// ASCII.
fn escape(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_text(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        for c in text.chars() {
            match c {
                '\0' => out.push_str("\\x00"),
                c if c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii() => out.push(c),
                c => out.extend(['\\', c]),
            }
        }
        Ok(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_names_a_group() {
        let expression = Regex::new("(a)(b)").unwrap();
        let written = |replacement| -> Result<String> {
            let parts = parts(replacement, &expression)?;
            let text = |part| match part {
                Part::Text(text) => String::from(text),
                Part::Group(group) => format!("<{group}>"),
            };
            Ok(parts.into_iter().map(text).collect())
        };
        for (replacement, expected) in [
            ("x", "x"),
            ("$0", "$0"),
            (r"[\1]", "[<1>]"),
            (r"\10", "<1>0"),
            (r"a\\b", r"a\b"),
            (r"\\1", r"\1"),
            ("", ""),
        ] {
            assert_eq!(written(replacement).unwrap(), expected);
        }
        for replacement in [r"\", r"\x", r"\3"] {
            assert!(written(replacement).is_err(), "{replacement}");
        }
    }

    #[test]
    fn options_are_letters() {
        assert!(expression("regexp_matches", "B", "i", false).unwrap().0.is_match("abc"));
        assert!(!expression("regexp_matches", "b", "", true).unwrap().0.is_match("abc"));
        assert!(expression("regexp_replace", ".", "lg", false).unwrap().1);
        assert!(expression("regexp_matches", "b", "g", false).is_err());
        assert!(expression("regexp_matches", "(", "", false).is_err());
    }
}
