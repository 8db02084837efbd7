//! Functions of text that count what a reader sees as one character, such as a letter with its accents.

use arrow_array::ArrayRef;
use datafusion_common::Result;
use unicode_segmentation::UnicodeSegmentation;

use super::arguments::{Call, known};
use super::{Own, ResultType, Takes};
use crate::functions::substring::places;

const PART: &[&[Takes]] = &[&[Takes::Text, Takes::Integer]];

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "length_grapheme",
        takes: &[&[Takes::Text]],
        more: None,
        gives: ResultType::Integer,
        total: true,
        compute: length,
    },
    Own {
        name: "reverse",
        takes: &[&[Takes::Text]],
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: reverse,
    },
    Own {
        name: "left_grapheme",
        takes: PART,
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: |call| end(call, true),
    },
    Own {
        name: "right_grapheme",
        takes: PART,
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: |call| end(call, false),
    },
    Own {
        name: "substring_grapheme",
        takes: &[&[Takes::Text, Takes::Integer], &[Takes::Text, Takes::Integer, Takes::Integer]],
        more: None,
        gives: ResultType::Text,
        total: true,
        compute: substring,
    },
];

fn length(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_integers(|row| Ok(Some(known!(texts.get(row)).graphemes(true).count() as i64)))
}

fn reverse(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    call.give_text(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        match text.is_ascii() {
            true => out.extend(text.chars().rev()),
            false => out.extend(text.graphemes(true).rev()),
        }
        Ok(true)
    })
}

/// So many at the begin or the end; all but so many at the other one, if their number is negative.
fn end(call: &Call, left: bool) -> Result<ArrayRef> {
    let (texts, numbers) = (call.text(0)?, call.integers(1)?);
    call.give_text(|row, out| {
        let (Some(text), Some(number)) = (texts.get(row), numbers.get(row)) else { return Ok(false) };
        let all: Vec<&str> = text.graphemes(true).collect();
        let size = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX).min(all.len());
        let kept = if number < 0 { all.len() - size } else { size };
        let range = if left { 0..kept } else { all.len() - kept..all.len() };
        out.extend(all[range].iter().copied());
        Ok(true)
    })
}

/// A part as `substr` has it.
fn substring(call: &Call) -> Result<ArrayRef> {
    let (texts, starts) = (call.text(0)?, call.integers(1)?);
    let sizes = (call.given() > 2).then(|| call.integers(2)).transpose()?;
    call.give_text(|row, out| {
        let size = match &sizes {
            Some(sizes) => sizes.get(row).map(Some),
            None => Some(None),
        };
        let (Some(text), Some(start), Some(size)) = (texts.get(row), starts.get(row), size) else {
            return Ok(false);
        };
        let all: Vec<&str> = text.graphemes(true).collect();
        out.extend(all[places(all.len(), start, size)].iter().copied());
        Ok(true)
    })
}
