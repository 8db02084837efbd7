//! Sums as differences: a group's counts and sums are what differential accumulates.

use differential_dataflow::difference::{IsZero, Semigroup};
use serde::{Deserialize, Serialize};

/// One accumulated value of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Sum {
    /// A sum of integers, exact within 128 bits, and how many values it has.
    Int(i128, i64),
    /// A sum of floats, and how many values it has.
    Float(f64, i64),
}

/// How many rows a group has, and its sums.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// Rows; a group without rows is gone.
    pub rows: i64,
    /// One for each aggregate.
    pub values: Vec<Sum>,
}

impl Eq for Sums {}

impl PartialOrd for Sums {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Any total order will do: differential sorts by it, nothing else looks at it.
impl Ord for Sums {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |s: &Sum| match s {
            Sum::Int(v, n) => (0, *v, *n),
            Sum::Float(v, n) => (1, i128::from(v.to_bits()), *n),
        };
        self.rows.cmp(&other.rows).then_with(|| self.values.iter().map(key).cmp(other.values.iter().map(key)))
    }
}

impl IsZero for Sums {
    fn is_zero(&self) -> bool {
        self.rows == 0
    }
}

impl Semigroup for Sums {
    fn plus_equals(&mut self, other: &Self) {
        self.rows += other.rows;
        for (a, b) in self.values.iter_mut().zip(&other.values) {
            match (a, b) {
                (Sum::Int(a, n), Sum::Int(b, m)) => {
                    // Beyond 128 bits no count of 64-bit values can get.
                    *a = a.wrapping_add(*b);
                    *n += m;
                }
                (Sum::Float(a, n), Sum::Float(b, m)) => {
                    *a += b;
                    *n += m;
                }
                _ => debug_assert!(false, "a place holds one kind of sum"),
            }
        }
    }
}
