//! From locations to tables, with real files.

mod common;
mod csv;
mod detection;
mod estimates;
mod locations;
mod many;
mod schemas;
