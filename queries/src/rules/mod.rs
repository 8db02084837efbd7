//! Rules that change the algebra and keep its meaning.

pub mod unnest;
