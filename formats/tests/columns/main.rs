//! The column formats: what is written comes back, and what is damaged is an error.

mod arrow;
mod buren;
mod common;
mod golden;
mod parquet;
mod properties;
mod repeated;
