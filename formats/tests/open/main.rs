//! From locations to tables, with real files.

mod common;
mod content;
mod csv;
mod locations;
mod many;
mod schemas;
