//! The plan as text, and its fingerprint.

use std::fmt::Write;

use schema::{Cut, Source};

use crate::plan::{AggregateCall, AggregateFunction, Exchange, Expr, Gives, Node, Op, Plan, Side, SortKey};

/// One line of EXPLAIN.
#[derive(Debug, Clone)]
pub struct Line {
    /// The node, `None` for headings.
    pub node: Option<usize>,
    /// Indented text.
    pub text: String,
}

/// The plan, the operator that gives the result first.
pub fn explain(plan: &Plan) -> Vec<Line> {
    let mut lines = Vec::new();
    for stage in &plan.stages {
        let what = match stage.gives {
            Gives::Value => "scalar subquery",
            Gives::Rows => "shared rows",
        };
        lines.push(Line { node: None, text: format!("first: {what} {}", stage.number) });
        node(&stage.root, 1, &mut lines);
    }
    node(&plan.root, 0, &mut lines);
    lines
}

/// A number that is equal for equal plans over equal files, and hardly ever for others (FNV-1a, 64 bits).
pub fn fingerprint(plan: &Plan) -> u64 {
    let mut text = String::new();
    for line in explain(plan) {
        text.push_str(&line.text);
        text.push('\n');
    }
    let mut sources = Vec::new();
    plan.trees().for_each(|root| collect(root, &mut sources));
    for source in sources {
        let _ = writeln!(text, "{source}");
    }
    let _ = writeln!(text, "{:?}", plan.schema);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

/// What a plan reads, which its text does not have.
fn collect(node: &Node, sources: &mut Vec<String>) {
    match &node.op {
        Op::Scan(scan) => sources
            .push(format!("{:?} {:?} {:?} {:?}", scan.table, scan.bounds, scan.prefixes, scan.transform)),
        Op::Values(batches) => sources.push(format!("{batches:?}")),
        Op::Shared(shared) => sources.push(format!("{shared:?}")),
        _ => {}
    }
    node.inputs.iter().for_each(|n| collect(n, sources));
}

fn node(n: &Node, depth: usize, lines: &mut Vec<Line>) {
    let text = format!("{:indent$}{}  (about {} rows)", "", operator(n), count(n.rows), indent = depth * 2);
    lines.push(Line { node: Some(n.id), text });
    for input in &n.inputs {
        node(input, depth + 1, lines);
    }
}

/// What a node does, in one line.
pub fn operator(n: &Node) -> String {
    match &n.op {
        Op::Scan(scan) => {
            let mut text =
                format!("scan {} [{}] {}", scan.table.name, columns(n), source(&scan.table.source));
            if !scan.filters.is_empty() {
                let _ = write!(text, ", zone maps: {}", scan.filters.join(" and "));
            }
            for prefix in &scan.prefixes {
                let name = scan.table.schema.field(prefix.column).name();
                let _ = write!(text, ", of {name} the first {} characters", prefix.chars);
            }
            if let Some(fetch) = scan.fetch {
                let _ = write!(text, ", at most {fetch} rows");
            }
            if let Some(t) = &scan.transform {
                let _ = write!(text, ", through '{}'", t.command);
            }
            text
        }
        Op::Shared(shared) => {
            let mut text = format!("read shared rows {} [{}]", shared.stage, columns(n));
            if let Some(fetch) = shared.fetch {
                let _ = write!(text, ", at most {fetch} rows");
            }
            text
        }
        Op::Values(batches) => format!("values {}", batches.iter().map(|b| b.num_rows()).sum::<usize>()),
        Op::Filter { predicate } => format!("filter {predicate}"),
        Op::Project { exprs } => format!("project {}", list(exprs)),
        Op::Expand { sets } => format!("expand {} grouping sets", sets.len()),
        Op::Aggregate(a) => format!(
            "{} aggregate by [{}] {}, keys {}, about {} groups",
            match a.phase {
                crate::plan::Phase::Partial => "partial",
                crate::plan::Phase::Final => "final",
                crate::plan::Phase::Single => "single",
            },
            list(&a.keys),
            a.aggregates.iter().map(call).collect::<Vec<_>>().join(", "),
            format!("{:?}", a.layout).to_lowercase(),
            count(a.groups),
        ),
        Op::Join(j) => {
            let on: Vec<_> = j.on.iter().map(|(l, r)| format!("{l} = {r}")).collect();
            let mut text = format!("{} join on [{}]", j.kind.to_string().to_lowercase(), on.join(", "));
            let _ = write!(text, ", build {}", if j.build == Side::Left { "left" } else { "right" });
            if j.shared {
                text.push_str(", shared by the workers");
            }
            if j.replicates {
                text.push_str(", heavy keys replicated");
            }
            if let Some(f) = &j.filter {
                let _ = write!(text, ", if {f}");
            }
            if j.null_aware {
                text.push_str(", null aware");
            }
            text
        }
        Op::Sort { keys, fetch } => match fetch {
            Some(n) => format!("top {n} by {}", sort_keys(keys)),
            None => format!("sort by {}", sort_keys(keys)),
        },
        Op::Limit { skip, fetch } => match fetch {
            Some(n) => format!("limit {n} offset {skip}"),
            None => format!("offset {skip}"),
        },
        Op::Repeat => "repeat each row".into(),
        Op::Union => "union all".into(),
        Op::Exchange(e) => match e {
            Exchange::Hash(keys) => format!("exchange by hash of [{}]", list(keys)),
            Exchange::Broadcast => "broadcast".into(),
            Exchange::Gather => "gather on worker 0".into(),
            Exchange::InOrder => "gather on worker 0 in the table's order".into(),
            Exchange::Merge { keys, fetch: Some(n) } => {
                format!("merge on worker 0 by {}, first {n}", sort_keys(keys))
            }
            Exchange::Merge { keys, fetch: None } => format!("merge on worker 0 by {}", sort_keys(keys)),
        },
    }
}

/// The names of the columns of a node.
fn columns(n: &Node) -> String {
    n.schema.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>().join(", ")
}

fn source(source: &Source) -> String {
    match source {
        Source::Files(set) => {
            let compression = match set.format.compression.as_str() {
                "none" => String::new(),
                c => format!(" {c}"),
            };
            let cuts = [
                (Cut::Blocks, "in blocks by the manifest"),
                (Cut::Units, "in blocks by their headers"),
                (Cut::Turns, "in turns"),
            ];
            let files = set.files.len();
            let cut = cuts.iter().filter_map(|(cut, how)| {
                match set.files.iter().filter(|f| f.cut == *cut).count() {
                    0 => None,
                    all if all == files => Some(format!(", {how}")),
                    some => Some(format!(", {some} of them {how}")),
                }
            });
            let cut: String = cut.collect();
            format!("{files} {}{compression} file(s), {} bytes{cut}", set.format.encoding, set.bytes())
        }
        Source::Generated(spec) => format!("generated {spec:?}"),
        Source::Range { start, end, step } => format!("{start} to {end} by {step}"),
        Source::Memory(rows) => format!("{rows:?}"),
    }
}

fn call(c: &AggregateCall) -> String {
    let filter = c.filter.as_ref().map(|f| format!(" where {f}")).unwrap_or_default();
    match &c.function {
        AggregateFunction::Distinct { of, .. } => {
            format!("{}(distinct {}){filter}", function(of), list(&c.args))
        }
        f => format!("{}({}){filter}", function(f), list(&c.args)),
    }
}

fn function(f: &AggregateFunction) -> &str {
    match f {
        AggregateFunction::Count => "count",
        AggregateFunction::SumFloat
        | AggregateFunction::SumInt { .. }
        | AggregateFunction::SumInterval
        | AggregateFunction::SumDecimal { .. } => "sum",
        AggregateFunction::AvgFloat | AggregateFunction::AvgDecimal { .. } => "avg",
        AggregateFunction::Extreme { max: true, .. } => "max",
        AggregateFunction::Extreme { max: false, .. } => "min",
        AggregateFunction::Distinct { of, .. } => function(of),
        AggregateFunction::General(f) => f.name(),
    }
}

fn list(exprs: &[Expr]) -> String {
    exprs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn sort_keys(keys: &[SortKey]) -> String {
    keys.iter()
        .map(|k| {
            let direction = if k.options.descending { " desc" } else { "" };
            let nulls = if k.options.nulls_first { " nulls first" } else { "" };
            format!("{}{direction}{nulls}", k.expr)
        })
        .collect::<Vec<_>>()
        .join(", ")
}

/// A rough number for people.
fn count(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{:.1}G", n / 1e9),
        n if n >= 1e6 => format!("{:.1}M", n / 1e6),
        n if n >= 1e4 => format!("{:.0}k", n / 1e3),
        n => format!("{n:.0}"),
    }
}
