//! Refuses flags that a statement has no use for: the user would wait for their effect.

use std::path::Path;

use queries::Statement;

use crate::Usage;
use crate::args;

/// Checks the flags of a run of several statements.
pub fn check_several(run: &args::Run) -> Result<(), Usage> {
    let for_one = [
        (run.output.is_some(), "--output"),
        (run.repeat.is_some(), "--repeat"),
        (run.stats.is_some(), "--stats"),
        (run.profile.is_some(), "--profile"),
    ];
    match for_one.iter().find(|(given, _)| *given) {
        Some((_, flag)) => Err(Usage(format!("{flag} takes one statement, and there are several"))),
        None => Ok(()),
    }
}

/// Checks the flags of a run against the statement.
pub fn check(run: &args::Run, statement: &Statement) -> Result<(), Usage> {
    if run.output.as_deref() == Some(Path::new("-")) {
        let of_files =
            [(run.compression.is_some(), "--compression"), (run.partition_by.is_some(), "--partition-by")];
        if let Some((_, flag)) = of_files.iter().find(|(given, _)| *given) {
            return Err(Usage(format!("{flag} is for files, and --output - is standard output")));
        }
    }
    let (name, executes) = match statement {
        Statement::Query(_) => return Ok(()),
        Statement::Copy { .. } => ("COPY", true),
        Statement::Summarize(_) => ("SUMMARIZE", true),
        Statement::Explain { analyze: true, .. } => ("EXPLAIN ANALYZE", true),
        Statement::Explain { .. } => ("EXPLAIN", false),
        Statement::Describe(_) | Statement::DescribeQuery(_) => ("DESCRIBE", false),
        Statement::ShowTables => ("SHOW TABLES", false),
        Statement::ShowAllTables => ("SHOW ALL TABLES", false),
        Statement::CreateView(_) => ("CREATE VIEW", false),
        Statement::CreateTable(_) => ("CREATE TEMP TABLE", true),
        Statement::CreateMacro(_) => ("CREATE MACRO", false),
        Statement::Drop { .. } | Statement::DropMacros { .. } => ("DROP", false),
        Statement::Set { .. } => ("SET", false),
    };
    let copies = matches!(statement, Statement::Copy { .. });
    let shows = statement.gives_rows() || copies;
    let useless = [
        (run.repeat.is_some(), "--repeat", "it runs queries"),
        (run.stats.is_some() && !executes, "--stats", "no rows are read"),
        (run.profile.is_some() && !executes, "--profile", "no rows are read"),
        (run.rejects.is_some() && !executes, "--rejects", "no rows are read"),
        (run.output.is_some() && copies, "--output", "the statement names the file"),
        (run.format.is_some() && copies, "--format", "the statement has FORMAT"),
        (run.partition_by.is_some() && copies, "--partition-by", "the statement has PARTITION_BY"),
        (run.output.is_some() && !shows, "--output", "it gives no rows"),
        (run.partition_by.is_some(), "--partition-by", "it goes with a query and --output"),
    ];
    match useless.iter().find(|(given, ..)| *given) {
        Some((_, flag, why)) => Err(Usage(format!("{flag} has no use for {name}: {why}"))),
        None => Ok(()),
    }
}
