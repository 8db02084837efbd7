//! Runs statements in this process, one after another, for the tests of random statements (`tests/random/*.py`).
//!
//! Orders come as lines of JSON on standard input, and each is answered by a line on standard output:
//! - `{"open": {"t1": ["t1.csv", "t1.sql"], "t2": ["t2.parquet", null]}, "as": "csv"}`: a set of tables, each with its
//!   place and the file of its schema, if it needs one; a set that was open as that is no more. Answer: `{}`.
//! - `{"sql": "SELECT …", "over": "csv", "workers": 2, "broadcast": 0, "tight": true}`: a statement
//!   over a set; all but these two may be left out. Answer: `{"types": […], "rows": [[…], …]}`, where each value is text or null.
//!
//! What fails is answered by `{"error": "…", "at": "open|plan|run"}`. A panic ends the process, as it does in `palais`.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::LazyLock;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType};
use engine::context::cancel::Cancel;
use engine::context::memory::Peak;
use formats::discover::{OpenOptions, SchemaChoice, open};
use queries::{Catalog, Statement};
use schema::Table;
use serde::Deserialize;
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: engine::context::memory::Counting<mimalloc::MiMalloc> =
    engine::context::memory::Counting(mimalloc::MiMalloc);

/// The stack of the thread that plans, as `palais` has it.
const STACK: usize = 512 << 20;

/// What is held while memory is tight, and never touched: the more of a limit is in use, the sooner operators put rows
/// on disk.
const BALLAST: usize = 512 << 20;

/// What is left of the limit then, above the most that was in use.
const LEFT: u64 = 32 << 20;

/// The most that was in use since the process began.
static PEAK: LazyLock<Peak> = LazyLock::new(Peak::begin);

/// What is asked for.
#[derive(Deserialize)]
#[serde(untagged)]
enum Order {
    Open {
        open: BTreeMap<String, (String, Option<String>)>,
        #[serde(rename = "as")]
        name: String,
    },
    Run(Run),
}

/// A statement and how it is run.
#[derive(Deserialize)]
struct Run {
    sql: String,
    over: String,
    workers: Option<usize>,
    broadcast: Option<u64>,
    #[serde(default)]
    tight: bool,
}

fn main() {
    LazyLock::force(&PEAK);
    std::panic::set_hook(Box::new(|info| {
        // A library's panic on the bytes of a file, which `formats` catches and turns into an error.
        if !formats::panics::is_caught(info) {
            eprintln!("internal error: {info}");
            std::process::exit(70);
        }
    }));
    let serving = std::thread::Builder::new().stack_size(STACK).spawn(serve);
    let served = serving.expect("a thread can be started").join();
    served.expect("a panic has ended the process").expect("the streams can be read and written");
}

fn serve() -> std::io::Result<()> {
    let mut sets: BTreeMap<String, Vec<Table>> = BTreeMap::new();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(Order::Open { open, name }) => match open_all(open) {
                Ok(tables) => {
                    sets.insert(name, tables);
                    json!({})
                }
                Err(e) => failed("open", &e),
            },
            Ok(Order::Run(order)) => match sets.get(&order.over) {
                Some(tables) => run(&order, tables).unwrap_or_else(|(at, e)| failed(at, &e)),
                None => failed("open", "there is no such set of tables"),
            },
            Err(e) => failed("open", &e.to_string()),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn failed(at: &str, error: &str) -> Value {
    json!({"error": error, "at": at})
}

fn open_all(places: BTreeMap<String, (String, Option<String>)>) -> Result<Vec<Table>, String> {
    let open = |(name, (place, schema)): (String, (String, Option<String>))| {
        let schema = schema.as_deref().map(SchemaChoice::parse);
        let options = OpenOptions { schema, header: Some(true), ..OpenOptions::default() };
        let mut table = open(&place, &name, &options).map_err(|e| e.to_string())?;
        table.name = name;
        Ok(table)
    };
    places.into_iter().map(open).collect()
}

/// An error, and in which step it came.
type Failed = (&'static str, String);

fn run(order: &Run, tables: &[Table]) -> Result<Value, Failed> {
    let planning = |e: queries::Error| ("plan", e.to_string());
    let Statement::Query(query) = queries::parse(&order.sql).map_err(planning)? else {
        return Err(("plan", "not a query".into()));
    };
    let usual = queries::Settings::default();
    let settings = queries::Settings {
        workers: order.workers.unwrap_or(usual.workers),
        broadcast_bytes: order.broadcast.unwrap_or(usual.broadcast_bytes),
        ..usual
    };
    let mut catalog = Catalog::default();
    tables.iter().for_each(|table| catalog.add(table.clone()));
    let plan = queries::plan(&query, &catalog, &settings).map_err(planning)?;
    let tight = order.tight.then(Tight::begin);
    let batches = engine::run(&plan, &engine::Settings::new(settings.workers), &Cancel::default())
        .and_then(|results| results.collect::<engine::Result<Vec<RecordBatch>>>());
    drop(tight);
    let batches = batches.map_err(|e| ("run", e.to_string()))?;
    let types = plan.schema.fields().iter().map(|field| format!("{:?}", field.data_type()));
    let types: Vec<String> = types.collect();
    let rows: Result<Vec<Vec<Vec<Value>>>, ArrowError> = batches.iter().map(rows).collect();
    let rows = rows.map_err(|e| ("run", e.to_string()))?;
    Ok(json!({"types": types, "rows": rows.concat()}))
}

/// The rows of a batch as text. Timestamps and durations are numbers of their unit, so that no zone has to be known; 32-bit floats
/// have the digits of the 64-bit ones that are equal to them.
fn rows(batch: &RecordBatch) -> Result<Vec<Vec<Value>>, ArrowError> {
    let plain = |column: &ArrayRef| match column.data_type() {
        DataType::Float32 => arrow_cast::cast(column, &DataType::Float64),
        DataType::Timestamp(_, _) | DataType::Duration(_) => arrow_cast::cast(column, &DataType::Int64),
        _ => Ok(column.clone()),
    };
    let columns: Vec<ArrayRef> = batch.columns().iter().map(plain).collect::<Result<_, _>>()?;
    let options = FormatOptions::new().with_null("NULL");
    let formatters = columns.iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options));
    let formatters: Vec<ArrayFormatter> = formatters.collect::<Result<_, _>>()?;
    let cell = |row: usize, column: usize| match columns[column].is_null(row) {
        true => Ok(Value::Null),
        false => formatters[column].value(row).try_to_string().map(Value::String),
    };
    let rows = 0..batch.num_rows();
    rows.map(|row| (0..columns.len()).map(|column| cell(row, column)).collect()).collect()
}

/// While it lives most of the limit of memory is taken.
struct Tight(*mut u8);

impl Tight {
    const LAYOUT: Layout = match Layout::from_size_align(BALLAST, 16) {
        Ok(layout) => layout,
        Err(_) => panic!("a power of two"),
    };

    fn begin() -> Tight {
        // SAFETY: the layout is not of size 0.
        let ballast = unsafe { alloc(Tight::LAYOUT) };
        assert!(!ballast.is_null(), "there are addresses for what is never touched");
        engine::context::memory::set_limit(PEAK.bytes() + LEFT);
        Tight(ballast)
    }
}

impl Drop for Tight {
    fn drop(&mut self) {
        engine::context::memory::set_limit(u64::MAX);
        // SAFETY: it was allocated with this layout, and nobody else has it.
        unsafe { dealloc(self.0, Tight::LAYOUT) };
    }
}
