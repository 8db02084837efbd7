//! Aggregates of floats whose states are a few floats. NULLs are passed over.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};
use datafusion_expr::function::AccumulatorArgs;
use datafusion_expr::{AggregateUDF, EmitTo};

use super::{Own, States, aggregate};

/// The aggregates.
pub(super) fn all() -> Vec<Arc<AggregateUDF>> {
    vec![
        of::<Product>("product", 1, |state| state.count.gt(&0.0).then_some(state.product)),
        of::<Exact>("fsum", 1, |state| state.count.gt(&0.0).then_some(state.sum())),
        of::<Exact>("favg", 1, |state| state.count.gt(&0.0).then(|| state.sum() / state.count)),
        of::<Logarithms>("geomean", 1, |state| state.count.gt(&0.0).then(|| (state.sum / state.count).exp())),
        of::<Weighted>("weighted_avg", 2, |state| state.count.gt(&0.0).then(|| state.sum / state.weights)),
        of::<Moments>("sem", 1, |state| {
            state.count.gt(&0.0).then(|| (state.squares / state.count).sqrt() / state.count.sqrt())
        }),
        of::<Moments>("skewness", 1, skewness),
        of::<Moments>("kurtosis", 1, |state| {
            let n = state.count;
            let plain = (n > 3.0).then(|| state.fourth())??;
            Some((n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * plain - 3.0 * (n - 1.0)))
        }),
        of::<Moments>("kurtosis_pop", 1, |state| {
            (state.count > 1.0).then(|| state.fourth()).flatten().map(|fourth| fourth - 3.0)
        }),
    ]
}

fn of<S: State>(name: &'static str, arguments: usize, value: fn(&S) -> Option<f64>) -> Arc<AggregateUDF> {
    aggregate(Statistic { name, arguments, value })
}

fn skewness(state: &Moments) -> Option<f64> {
    let n = state.count;
    if n <= 2.0 || state.squares == 0.0 {
        return None;
    }
    let plain = state.cubes / n / (state.squares / n).powf(1.5);
    Some((n * (n - 1.0)).sqrt() / (n - 2.0) * plain)
}

/// The state of a group: numbers that are added to, and merged.
trait State: Default + Clone + Send + Sync + 'static {
    /// The numbers.
    const COLUMNS: usize;
    /// Adds a value; the second one is the second argument, or 1.
    fn add(&mut self, value: f64, weight: f64);
    fn merge(&mut self, other: &Self);
    fn number(&self, column: usize) -> f64;
    fn set(&mut self, column: usize, number: f64);
}

/// A state of the numbers that are named.
macro_rules! state {
    ($(#[$doc:meta])* $name:ident { $($column:literal => $field:ident = $begin:literal),* }, $columns:literal, $add:item, $merge:item) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        struct $name {
            $($field: f64),*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $begin),* }
            }
        }

        impl State for $name {
            const COLUMNS: usize = $columns;
            $add
            $merge

            fn number(&self, column: usize) -> f64 {
                match column {
                    $($column => self.$field,)*
                    _ => f64::NAN,
                }
            }

            fn set(&mut self, column: usize, number: f64) {
                match column {
                    $($column => self.$field = number,)*
                    _ => {}
                }
            }
        }
    };
}

state!(
    /// A product.
    Product { 0 => count = 0.0, 1 => product = 1.0 },
    2,
    fn add(&mut self, value: f64, _: f64) {
        self.count += 1.0;
        self.product *= value;
    },
    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.product *= other.product;
    }
);

state!(
    /// A sum, and what was lost of it to rounding (Neumaier's variant of Kahan's sum).
    Exact { 0 => count = 0.0, 1 => total = 0.0, 2 => lost = 0.0 },
    3,
    fn add(&mut self, value: f64, _: f64) {
        self.count += 1.0;
        let total = self.total + value;
        let (large, small) =
            if self.total.abs() >= value.abs() { (self.total, value) } else { (value, self.total) };
        self.lost += large - total + small;
        self.total = total;
    },
    fn merge(&mut self, other: &Self) {
        let count = self.count + other.count;
        self.add(other.total, 1.0);
        self.lost += other.lost;
        self.count = count;
    }
);

impl Exact {
    fn sum(&self) -> f64 {
        // Of infinities nothing is lost that is a number.
        if self.total.is_finite() { self.total + self.lost } else { self.total }
    }
}

state!(
    /// A sum of logarithms.
    Logarithms { 0 => count = 0.0, 1 => sum = 0.0 },
    2,
    fn add(&mut self, value: f64, _: f64) {
        self.count += 1.0;
        self.sum += value.ln();
    },
    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
    }
);

state!(
    /// A sum of weighted values, and that of the weights.
    Weighted { 0 => count = 0.0, 1 => sum = 0.0, 2 => weights = 0.0 },
    3,
    fn add(&mut self, value: f64, weight: f64) {
        self.count += 1.0;
        self.sum += value * weight;
        self.weights += weight;
    },
    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.weights += other.weights;
    }
);

state!(
    /// The mean, and the sums of powers of the distances to it, by the formulas of Pébay (Sandia report 2008-6212).
    Moments { 0 => count = 0.0, 1 => mean = 0.0, 2 => squares = 0.0, 3 => cubes = 0.0, 4 => fourths = 0.0 },
    5,
    fn add(&mut self, value: f64, _: f64) {
        self.merge(&Moments { count: 1.0, mean: value, ..Moments::default() });
    },
    fn merge(&mut self, other: &Self) {
        let (a, b) = (self.count, other.count);
        if b == 0.0 {
            return;
        }
        if a == 0.0 {
            *self = other.clone();
            return;
        }
        let (n, far) = (a + b, other.mean - self.mean);
        let part = far / n;
        self.fourths += other.fourths
            + far * part * part * part * a * b * (a * a - a * b + b * b)
            + 6.0 * part * part * (a * a * other.squares + b * b * self.squares)
            + 4.0 * part * (a * other.cubes - b * self.cubes);
        self.cubes += other.cubes
            + far * part * part * a * b * (a - b)
            + 3.0 * part * (a * other.squares - b * self.squares);
        self.squares += other.squares + far * part * a * b;
        self.mean += part * b;
        self.count = n;
    }
);

impl Moments {
    /// The fourth moment in units of the square of the second.
    fn fourth(&self) -> Option<f64> {
        let squares = self.squares / self.count;
        (squares != 0.0).then(|| self.fourths / self.count / (squares * squares))
    }
}

/// An aggregate with such states.
struct Statistic<S> {
    name: &'static str,
    arguments: usize,
    value: fn(&S) -> Option<f64>,
}

impl<S: State> Own for Statistic<S> {
    type Groups = Groups<S>;

    fn name(&self) -> &'static str {
        self.name
    }

    fn taken(&self, given: &[DataType]) -> Option<Vec<DataType>> {
        let are_numbers = given.iter().all(|t| t.is_numeric() || t.is_null());
        (given.len() == self.arguments && are_numbers).then(|| vec![DataType::Float64; self.arguments])
    }

    fn gives(&self, _: &[DataType]) -> DataType {
        DataType::Float64
    }

    fn states(&self, _: &[DataType]) -> Vec<DataType> {
        vec![DataType::Float64; S::COLUMNS]
    }

    fn groups(&self, _: &[DataType], _: &AccumulatorArgs) -> Result<Groups<S>> {
        Ok(Groups { states: Vec::new(), value: self.value })
    }
}

/// The states of groups.
struct Groups<S> {
    states: Vec<S>,
    value: fn(&S) -> Option<f64>,
}

impl<S: State> States for Groups<S> {
    fn resize(&mut self, total: usize) {
        self.states.resize(total, S::default());
    }

    fn add(&mut self, args: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let [values, weights @ ..] = args else { return exec_err!("there is a value") };
        let values = values.as_primitive::<Float64Type>();
        let weights = weights.first().map(|weights| weights.as_primitive::<Float64Type>());
        for (row, group) in groups.iter().enumerate() {
            if values.is_valid(row) && weights.is_none_or(|weights| weights.is_valid(row)) {
                self.states[*group].add(values.value(row), weights.map_or(1.0, |weights| weights.value(row)));
            }
        }
        Ok(())
    }

    fn merge(&mut self, columns: &[ArrayRef], groups: &[usize]) -> Result<()> {
        if columns.len() != S::COLUMNS {
            return exec_err!("a state has {} columns, and not {}", S::COLUMNS, columns.len());
        }
        let columns: Vec<&Float64Array> = columns.iter().map(|c| c.as_primitive::<Float64Type>()).collect();
        for (row, group) in groups.iter().enumerate() {
            let mut state = S::default();
            for (at, column) in columns.iter().enumerate() {
                state.set(at, column.value(row));
            }
            self.states[*group].merge(&state);
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let states = emit.take_needed(&mut self.states);
        Ok(Arc::new(states.iter().map(self.value).collect::<Float64Array>()))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let states = emit.take_needed(&mut self.states);
        let column = |column: usize| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(states.iter().map(|state| state.number(column))))
        };
        Ok((0..S::COLUMNS).map(column).collect())
    }

    fn size(&self) -> usize {
        self.states.capacity() * size_of::<S>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_moments_are_those_of_all_values() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i * i % 37)).collect();
        let of = |values: &[f64]| {
            let mut state = Moments::default();
            values.iter().for_each(|value| state.add(*value, 1.0));
            state
        };
        let (whole, mut parts) = (of(&values), of(&values[..30]));
        parts.merge(&of(&values[30..31]));
        parts.merge(&of(&[]));
        parts.merge(&of(&values[31..]));
        for column in 0..Moments::COLUMNS {
            let (a, b) = (whole.number(column), parts.number(column));
            assert!((a - b).abs() <= 1e-9 * a.abs(), "{column}: {a} {b}");
        }
        assert_eq!(skewness(&of(&[5.0; 6])), None);
    }

    #[test]
    fn what_is_lost_to_rounding_is_kept() {
        let mut state = Exact::default();
        [1e100, 1.0, -1e100, 1.0].iter().for_each(|value| state.add(*value, 1.0));
        assert_eq!(state.sum(), 2.0);
    }
}
