//! `palais query` and `palais bdb`: a statement to rows on the screen or in a file.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use queries::{Catalog, Plan, Statement};

use crate::Usage;
use crate::args;
use crate::settings::Settings;
use crate::signals;
use crate::stats::Stats;

/// `palais query`.
pub fn run(q: &args::Query) -> anyhow::Result<()> {
    let sql = match (&q.sql, &q.file) {
        (Some(sql), _) => sql.clone(),
        (None, Some(path)) => {
            std::fs::read_to_string(path).with_context(|| format!("{}: cannot read the statement", path.display()))?
        }
        (None, None) => {
            let mut sql = String::new();
            std::io::stdin().read_to_string(&mut sql).context("cannot read the statement from standard input")?;
            sql
        }
    };
    statement(&sql, &q.input, &q.run, q.plan_fingerprint)
}

/// `palais bdb`.
pub fn run_bdb(b: &args::Bdb) -> anyhow::Result<()> {
    let Some(sql) = queries::bdb::sql(&b.name, &b.script) else {
        let names = queries::bdb::NAMES.join(", ");
        return Err(Usage(format!("there is no benchmark query '{}'; there are {names}", b.name)).into());
    };
    statement(&sql, &b.input, &b.run, false)
}

fn statement(sql: &str, _input: &args::Input, run: &args::Run, fingerprint: bool) -> anyhow::Result<()> {
    let settings = Settings::resolve(run);
    engine::memory::set_limit(settings.memory_limit);
    let start = Instant::now();
    let query = match queries::parse(sql)? {
        Statement::Query(query) => query,
        Statement::Explain { analyze: false, query } => {
            let plan = queries::plan(&query, &Catalog::default(), &settings.planning)?;
            for line in queries::explain::explain(&plan) {
                println!("{}", line.text);
            }
            return Ok(());
        }
        _ => return Err(Usage("not yet".into()).into()),
    };
    let plan = queries::plan(&query, &Catalog::default(), &settings.planning)?;
    let mut stats = Stats { plan_seconds: start.elapsed().as_secs_f64(), workers: settings.workers, ..Stats::default() };
    if fingerprint {
        println!("{:016x}", queries::explain::fingerprint(&plan));
        return Ok(());
    }
    for _ in 0..run.repeat.unwrap_or(1).max(1) {
        let batches = execute(&plan, &settings, &mut stats)?;
        if run.repeat.is_none() {
            print(&batches)?;
        }
    }
    if let Some(path) = &run.stats {
        stats.write(path)?;
    }
    Ok(())
}

fn execute(plan: &Arc<Plan>, settings: &Settings, stats: &mut Stats) -> anyhow::Result<Vec<RecordBatch>> {
    let start = Instant::now();
    let mut results = engine::run(plan, &engine::Settings { workers: settings.workers })?;
    signals::cancel_on_interrupt(results.state());
    let batches = results.by_ref().collect::<engine::Result<Vec<_>>>()?;
    stats.execution_seconds.push(start.elapsed().as_secs_f64());
    stats.rows = batches.iter().map(|b| b.num_rows() as u64).sum();
    stats.take(plan, results.state());
    Ok(batches)
}

fn print(batches: &[RecordBatch]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let options = FormatOptions::default().with_null("NULL");
    for batch in batches {
        let columns =
            batch.columns().iter().map(|c| ArrayFormatter::try_new(c, &options)).collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let values: Vec<_> = columns.iter().map(|c| c.value(row).to_string()).collect();
            writeln!(out, "{}", values.join("\t"))?;
        }
    }
    Ok(())
}
