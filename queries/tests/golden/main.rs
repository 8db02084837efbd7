//! Plans of whole queries, as EXPLAIN prints them: those of TPC-H at scale 1 and of the Big Data Benchmark. The catalogs are
//! made here, with fixed row counts and spans, and no file is read.
//!
//! `tpch/*.sql` are the queries and `*/*.plan` their plans. `PALAIS_WRITE_GOLDEN=1 cargo test --release -p queries --test
//! golden` writes the plans that changed; the difference is then for `git diff`, and to be read.
//!
//! - [`catalogs`]: the tables.
//! - [`differences`]: what is printed of a plan that changed.

mod catalogs;
mod differences;

use std::fs;
use std::path::{Path, PathBuf};

use queries::{Catalog, Settings, Statement, bdb};

/// A query's name and text.
type Named = (String, String);

fn directory(set: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(set)
}

/// The plan in one process and in several.
fn plans(sql: &str, catalog: &Catalog) -> String {
    let settings = Settings { workers: 4, allow_scripts: true, ..Settings::default() };
    let one = explained(sql, catalog, &settings);
    let several = explained(sql, catalog, &Settings { workers: 20, processes: 5, ..settings });
    format!("4 workers\n{one}\n5 processes of 4 workers\n{several}")
}

fn explained(sql: &str, catalog: &Catalog, settings: &Settings) -> String {
    let Ok(Statement::Query(query)) = queries::parse(sql) else { panic!("not a query: {sql}") };
    let plan = queries::plan(&query, catalog, settings).unwrap_or_else(|e| panic!("{e}: {sql}"));
    queries::explain::explain(&plan).iter().map(|line| format!("{line}\n")).collect()
}

/// Fails with the difference if a plan is not the one in the file; or writes it.
fn check(set: &str, queries: &[Named], catalog: &Catalog) {
    let mut changed = String::new();
    for (name, sql) in queries {
        let path = directory(set).join(format!("{name}.plan"));
        let (before, after) = (fs::read_to_string(&path).unwrap_or_default(), plans(sql, catalog));
        if before == after {
            continue;
        }
        if std::env::var_os("PALAIS_WRITE_GOLDEN").is_some() {
            fs::create_dir_all(directory(set)).unwrap();
            fs::write(&path, after).unwrap();
            continue;
        }
        changed += &format!("{set}/{name}.plan\n{}\n", differences::of_lines(&before, &after));
    }
    assert!(changed.is_empty(), "plans have changed; PALAIS_WRITE_GOLDEN=1 writes them\n{changed}");
}

#[test]
fn tpch() {
    let names = (1..=22).map(|number| format!("q{number:02}"));
    let text = |name: &str| fs::read_to_string(directory("tpch").join(format!("{name}.sql"))).unwrap();
    let queries: Vec<Named> = names.map(|name| (name.clone(), text(&name))).collect();
    check("tpch", &queries, &catalogs::tpch());
}

#[test]
fn big_data_benchmark() {
    let query = |name: &&str| (name.to_string(), bdb::sql(name, "url-count").unwrap());
    let queries: Vec<Named> = bdb::NAMES.iter().map(query).collect();
    check("bdb", &queries, &catalogs::bdb());
}
