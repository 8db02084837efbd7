//! `palais node`, and `palais cluster status` and `cancel`.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use cluster::node::config::{self, Config, LogFormat, LogLevel};
use cluster::node::serve::Settings;
use cluster::node::{Ask, Reply, Status, serve as daemon};
use schema::instants::UTC;

use crate::args;
use crate::placement::{VERSION, client};
use crate::print;
use crate::say::Log;

/// How long a node may take to tell what runs on all nodes.
const PATIENCE: Duration = Duration::from_secs(5);

/// `palais node`.
pub fn serve(n: &args::Node) -> anyhow::Result<()> {
    let file = match (&n.config, &n.new_token) {
        (_, Some(file)) => return new_token(file),
        (Some(file), None) => file,
        (None, None) => return Err(crate::Usage("--config says where a node listens".into()).into()),
    };
    let config = Config::read(file)?;
    let memory_limit = config.memory()?;
    // Relative paths of the file begin where palais was started. Those of queries begin where the file says.
    let path = std::path::absolute(file).context("there is no working directory")?;
    let program = std::env::current_exe().context("cannot find the program that runs")?;
    log(&config);
    daemon::serve(Settings { config, path, version: VERSION.into(), program, memory_limit }, |host| {
        tracing::info!(host, version = VERSION, "palais serves");
    })?;
    Ok(())
}

/// Draws a token, and prints it or writes it into a file that its owner alone can read.
fn new_token(file: &Path) -> anyhow::Result<()> {
    let token = config::new_token()? + "\n";
    if file == Path::new("-") {
        return Ok(print::text(&token)?);
    }
    let new = File::options().write(true).create_new(true).mode(0o600).open(file);
    let written = new.and_then(|mut new| new.write_all(token.as_bytes()).and_then(|()| new.sync_all()));
    written.with_context(|| format!("{}: the token can't be written", file.display()))
}

/// Has events of the node written to standard error.
fn log(config: &Config) {
    let level = match config.log_level {
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
    };
    let log = tracing_subscriber::fmt().with_max_level(level).with_target(false).with_writer(|| Log);
    match config.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

/// `palais cluster status`: a row for each process of a query, and one for each node where none runs.
pub fn status(at: &args::At) -> anyhow::Result<()> {
    let Reply::Overview(nodes) = client(at, PATIENCE)?.ask(&Ask::Overview)? else {
        anyhow::bail!("{}: it answered something else", at.cluster);
    };
    let mut rows: Vec<Row> = Vec::new();
    for (node, status) in nodes {
        match status {
            Ok(status) => of_node(&node, &status, &mut rows),
            Err(why) => rows.push(Row {
                node,
                state: why.lines().next().unwrap_or_default().into(),
                ..Row::default()
            }),
        }
    }
    let text =
        |of: fn(&Row) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(of))) };
    let maybe =
        |of: fn(&Row) -> Option<&str>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<StringArray>()) };
    let seconds: Float64Array = rows.iter().map(|row| row.seconds).collect();
    let memory: UInt64Array = rows.iter().map(|row| row.memory).collect();
    let columns = [
        ("node", text(|row| &row.node)),
        ("state", text(|row| &row.state)),
        ("version", maybe(|row| row.version.as_deref())),
        ("query", maybe(|row| row.query.as_deref())),
        ("seconds", Arc::new(seconds)),
        ("memory_bytes", Arc::new(memory)),
        ("statement", maybe(|row| row.statement.as_deref())),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))?;
    let mut writer = print::writer(None, None, UTC)?;
    writer.begin(&batch.schema())?;
    writer.batch(&batch)?;
    Ok(writer.end()?)
}

/// A row of `palais cluster status`.
#[derive(Default)]
struct Row {
    node: String,
    state: String,
    version: Option<String>,
    query: Option<String>,
    seconds: Option<f64>,
    memory: Option<u64>,
    statement: Option<String>,
}

fn of_node(node: &str, status: &Status, rows: &mut Vec<Row>) {
    let row = |state: String| Row {
        node: node.into(),
        state,
        version: Some(status.version.clone()),
        ..Row::default()
    };
    let runs = status.running.iter().filter(|process| !process.leads).count();
    let waiting = if status.waiting > 0 { format!(", {} waiting", status.waiting) } else { String::new() };
    rows.push(row(format!("{runs} of {} queries{waiting}", status.most)));
    for process in &status.running {
        rows.push(Row {
            query: Some(process.query.clone()),
            seconds: Some(process.time.as_secs_f64()),
            memory: Some(process.memory),
            statement: Some(process.statement.split_whitespace().collect::<Vec<_>>().join(" ")),
            ..row(if process.leads { "leads" } else { "runs" }.into())
        });
    }
}

/// `palais cluster cancel`.
pub fn cancel(at: &args::At, query: &str) -> anyhow::Result<()> {
    match client(at, PATIENCE)?.ask(&Ask::Cancel { query: query.into() })? {
        Reply::Ended(0) => anyhow::bail!(
            "{}: no query {query} runs\n  help: palais cluster status shows those that do",
            at.cluster
        ),
        _ => Ok(()),
    }
}
