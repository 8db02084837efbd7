//! Lists of numbers as vectors: their distances and products. Those of FLOAT are computed in FLOAT, as DuckDB does.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_cast::cast;
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};

use super::picks::Lists;
use super::{Given, ListFunction, Takes, item_of};

pub(super) const FUNCTIONS: &[ListFunction] = &[
    of("list_distance", |given| vectors(given, Measure::Distance)),
    of("list_cosine_similarity", |given| vectors(given, Measure::Similarity)),
    of("list_cosine_distance", |given| vectors(given, Measure::CosineDistance)),
    of("list_inner_product", |given| vectors(given, Measure::InnerProduct)),
    of("list_negative_inner_product", |given| vectors(given, Measure::NegativeInnerProduct)),
];

const fn of(name: &'static str, compute: fn(&Given) -> Result<ArrayRef>) -> ListFunction {
    let takes = &[Takes::Vector, Takes::Vector];
    ListFunction {
        name,
        takes,
        least: 2,
        more: None,
        gives: |types| item_of(&types[0]),
        total: false,
        compute,
    }
}

/// What is measured of two vectors.
#[derive(Debug, Clone, Copy)]
enum Measure {
    /// The Euclidean distance.
    Distance,
    /// The cosine of the angle between them. Of vectors without numbers it is NULL.
    Similarity,
    /// One less that cosine.
    CosineDistance,
    InnerProduct,
    NegativeInnerProduct,
}

fn vectors(given: &Given, measure: Measure) -> Result<ArrayRef> {
    let (left, right) = (Lists::of(given.arg(0)?)?, Lists::of(given.arg(1)?)?);
    let (ours, theirs) =
        (cast(left.values(), &DataType::Float64)?, cast(right.values(), &DataType::Float64)?);
    let (ours, theirs) = (ours.as_primitive::<Float64Type>(), theirs.as_primitive::<Float64Type>());
    // What each step gives of two FLOAT is the same number in DOUBLE, rounded.
    let rounded: fn(f64) -> f64 = match given.gives {
        DataType::Float32 => |value| f64::from(value as f32),
        _ => |value| value,
    };
    let values = (0..given.rows).map(|row| {
        let (Some(a), Some(b)) = (left.get(row), right.get(row)) else { return Ok(None) };
        if a.len() != b.len() {
            return exec_err!("the distance of a list of {} numbers and one of {}: both must have as many", a.len(), b.len());
        }
        if a.clone().any(|i| ours.is_null(i)) || b.clone().any(|i| theirs.is_null(i)) {
            return exec_err!(
                "the distance of lists of which one has NULL\n  help: coalesce in list_transform puts a number in its place"
            );
        }
        Ok(one(&ours.values()[a], &theirs.values()[b], measure, rounded))
    });
    let values: ArrayRef = Arc::new(values.collect::<Result<Float64Array>>()?);
    Ok(cast(&values, given.gives)?)
}

fn one(a: &[f64], b: &[f64], measure: Measure, rounded: fn(f64) -> f64) -> Option<f64> {
    let sum =
        |of: fn(f64, f64) -> f64| a.iter().zip(b).fold(0.0, |sum, (a, b)| rounded(sum + rounded(of(*a, *b))));
    let product = || sum(|a, b| a * b);
    let cosine = || {
        let norms = rounded(rounded(sum(|a, _| a * a) * sum(|_, b| b * b)).sqrt());
        (!a.is_empty()).then(|| rounded(product() / norms).clamp(-1.0, 1.0))
    };
    match measure {
        Measure::Distance => {
            let squares = a.iter().zip(b).fold(0.0, |sum, (a, b)| {
                let apart = rounded(a - b);
                rounded(sum + rounded(apart * apart))
            });
            Some(rounded(squares.sqrt()))
        }
        Measure::Similarity => cosine(),
        Measure::CosineDistance => cosine().map(|cosine| rounded(1.0 - cosine)),
        Measure::InnerProduct => Some(product()),
        Measure::NegativeInnerProduct => Some(-product()),
    }
}
