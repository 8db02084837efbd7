//! Numbers that differ by how they were added up.

/// Whether two numbers are equal at 1e-9 relative; NaN equals NaN.
pub fn close(left: f64, right: f64) -> bool {
    left == right
        || (left.is_nan() && right.is_nan())
        || (left.is_finite()
            && right.is_finite()
            && (left - right).abs() <= 1e-9 * left.abs().max(right.abs()))
}
