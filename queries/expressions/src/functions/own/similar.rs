//! How alike two texts are. Characters are counted, and not bytes.

use std::collections::BTreeSet;

use arrow_array::ArrayRef;
use arrow_array::types::Float64Type;
use datafusion_common::{Result, exec_err};

use super::arguments::{Call, known};
use super::{Own, ResultType, Takes};

const PAIR: &[&[Takes]] = &[&[Takes::Text, Takes::Text]];
const PAIR_AND_LEAST: &[&[Takes]] =
    &[&[Takes::Text, Takes::Text], &[Takes::Text, Takes::Text, Takes::Double]];

pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "damerau_levenshtein",
        takes: PAIR,
        more: None,
        gives: ResultType::Integer,
        total: true,
        compute: damerau_levenshtein,
    },
    Own {
        name: "hamming",
        takes: PAIR,
        more: None,
        gives: ResultType::Integer,
        total: false,
        compute: hamming,
    },
    Own {
        name: "jaccard",
        takes: PAIR,
        more: None,
        gives: ResultType::Double,
        total: false,
        compute: jaccard,
    },
    Own {
        name: "jaro_similarity",
        takes: PAIR_AND_LEAST,
        more: None,
        gives: ResultType::Double,
        total: true,
        compute: |call| jaro(call, strsim::jaro),
    },
    Own {
        name: "jaro_winkler_similarity",
        takes: PAIR_AND_LEAST,
        more: None,
        gives: ResultType::Double,
        total: true,
        compute: |call| jaro(call, strsim::jaro_winkler),
    },
];

fn damerau_levenshtein(call: &Call) -> Result<ArrayRef> {
    let (left, right) = (call.text(0)?, call.text(1)?);
    call.give_integers(|row| {
        Ok(Some(strsim::damerau_levenshtein(known!(left.get(row)), known!(right.get(row))) as i64))
    })
}

fn hamming(call: &Call) -> Result<ArrayRef> {
    let (left, right) = (call.text(0)?, call.text(1)?);
    call.give_integers(|row| match strsim::hamming(known!(left.get(row)), known!(right.get(row))) {
        Ok(distance) => Ok(Some(distance as i64)),
        Err(_) => exec_err!("the texts of {}() have as many characters each", call.name),
    })
}

/// The characters that both have, among those that one has.
fn jaccard(call: &Call) -> Result<ArrayRef> {
    let (left, right) = (call.text(0)?, call.text(1)?);
    call.give::<Float64Type>(|row| {
        let (left, right) = (known!(left.get(row)), known!(right.get(row)));
        if left.is_empty() || right.is_empty() {
            return exec_err!("the texts of jaccard() are not empty");
        }
        let (left, right): (BTreeSet<char>, BTreeSet<char>) =
            (left.chars().collect(), right.chars().collect());
        Ok(Some(left.intersection(&right).count() as f64 / left.union(&right).count() as f64))
    })
}

/// A similarity between 0 and 1; below the least one that is asked for it is 0.
fn jaro(call: &Call, of: fn(&str, &str) -> f64) -> Result<ArrayRef> {
    let (left, right) = (call.text(0)?, call.text(1)?);
    let least = (call.given() > 2).then(|| call.numbers::<Float64Type>(2)).transpose()?;
    call.give::<Float64Type>(|row| {
        let least = match &least {
            Some(least) => known!(least.get(row)),
            None => 0.0,
        };
        let (left, right) = (known!(left.get(row)), known!(right.get(row)));
        // Of two empty texts nothing is alike.
        let similar = if left.is_empty() && right.is_empty() { 0.0 } else { of(left, right) };
        Ok(Some(if similar < least { 0.0 } else { similar }))
    })
}
