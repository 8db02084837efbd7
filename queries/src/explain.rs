//! The plan as text, and its fingerprint.

use std::fmt::{self, Write};

use arrow_schema::SortOptions;
use schema::{Source, Splitting, Table};

use crate::plan::{
    AggregateCall, AggregateFunction, Bound, Exchange, Expr, Frame, Node, Op, Phase, Plan, Scan, Shift, Side,
    SortKey, StageOutput, WindowCall, WindowFunction,
};

/// An estimate is far from the truth if one of them is more than so many times the other.
pub const FAR: f64 = 10.0;

/// One line of EXPLAIN.
#[derive(Debug, Clone)]
pub struct Line {
    /// The node, `None` for headings.
    pub node: Option<usize>,
    /// What the operator does, indented; or the heading.
    pub text: String,
    /// About how many rows the operator gives.
    pub rows: Option<f64>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match self.rows {
            Some(rows) => {
                let rows = count(rows);
                write!(f, "  (about {rows} {})", if rows == "1" { "row" } else { "rows" })
            }
            None => Ok(()),
        }
    }
}

/// The plan, the operator that gives the result first.
pub fn explain(plan: &Plan) -> Vec<Line> {
    let mut lines = Vec::new();
    for stage in &plan.stages {
        let number = stage.number;
        let what = match &stage.gives {
            StageOutput::Value => format!("scalar subquery {number}"),
            StageOutput::Rows => format!("shared rows {number}"),
            StageOutput::Seed => format!("shared rows {number}, then those of the last round"),
            StageOutput::Rounds(rounds) => {
                let mut what = format!("shared rows {number}, in rounds behind shared rows {}", rounds.seed);
                if rounds.distinct.is_some() {
                    what.push_str(", each row once");
                }
                if let Some(fetch) = rounds.fetch {
                    let _ = write!(what, ", at least {fetch} rows");
                }
                if !rounds.before.is_empty() {
                    let before: Vec<String> = rounds.before.iter().map(usize::to_string).collect();
                    let _ = write!(what, ", each after {}", before.join(", "));
                }
                what
            }
        };
        lines.push(Line { node: None, text: format!("first: {what}"), rows: None });
        node(&stage.root, 1, &mut lines);
    }
    node(&plan.root, 0, &mut lines);
    lines
}

/// A number that is equal for equal plans over equal files, and hardly ever for others (FNV-1a, 64 bits). What is only
/// estimated has no part in it.
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
        Op::Scan(scan) => sources.push(read(scan)),
        Op::Values(batches) => sources.push(format!("{batches:?}")),
        Op::Shared(shared) => sources.push(format!("{shared:?}")),
        _ => {}
    }
    node.inputs.iter().for_each(|n| collect(n, sources));
}

/// What a scan reads.
fn read(scan: &Scan) -> String {
    let Scan { table, bounds, prefixes, transform, .. } = scan;
    let Table { name, schema, source, rows, spans: _, guesses: _ } = &**table;
    format!("{name} {schema:?} {source:?} {rows:?} {bounds:?} {prefixes:?} {transform:?}")
}

fn node(n: &Node, depth: usize, lines: &mut Vec<Line>) {
    let text = format!("{:indent$}{}", "", operator(n), indent = depth * 2);
    lines.push(Line { node: Some(n.id), text, rows: Some(n.rows) });
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
            "{} aggregate by [{}] {}, keys {}",
            match a.phase {
                Phase::Partial => "partial",
                Phase::Final => "final",
                Phase::Single => "single",
            },
            list(&a.keys),
            a.aggregates.iter().map(call).collect::<Vec<_>>().join(", "),
            format!("{:?}", a.layout).to_lowercase(),
        ),
        Op::Window(w) => {
            let name = |column: &usize| column_name(&n.inputs[0], *column);
            let partition: Vec<String> = w.partition.iter().map(name).collect();
            let order: Vec<String> = w
                .order
                .iter()
                .map(|(column, options)| format!("{}{}", name(column), direction(*options)))
                .collect();
            let calls: Vec<String> = w.calls.iter().map(|c| window_call(c, &n.inputs[0])).collect();
            format!("window by [{}] order [{}] {}", partition.join(", "), order.join(", "), calls.join(", "))
        }
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
        Op::Unnest(unnest) => format!(
            "unnest {}{}{}",
            if unnest.lists == 1 { "a list".into() } else { format!("{} lists", unnest.lists) },
            if unnest.place { ", with places" } else { "" },
            if unnest.keeps { ", keeping rows without items" } else { "" },
        ),
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

/// A column of a node as text.
fn column_name(n: &Node, column: usize) -> String {
    n.schema.fields().get(column).map_or_else(String::new, |field| format!("{}@{column}", field.name()))
}

fn window_call(c: &WindowCall, input: &Node) -> String {
    let name = match &c.function {
        WindowFunction::RowNumber => "row_number".to_string(),
        WindowFunction::Rank => "rank".into(),
        WindowFunction::DenseRank => "dense_rank".into(),
        WindowFunction::PercentRank => "percent_rank".into(),
        WindowFunction::CumeDist => "cume_dist".into(),
        WindowFunction::Ntile => "ntile".into(),
        WindowFunction::Shift(Shift::Nowhere) => "no row".into(),
        WindowFunction::Shift(Shift::Rows(rows)) => format!("row {rows:+}"),
        WindowFunction::Shift(Shift::ByRow { ahead: true }) => "lead".into(),
        WindowFunction::Shift(Shift::ByRow { ahead: false }) => "lag".into(),
        WindowFunction::First => "first_value".into(),
        WindowFunction::Last => "last_value".into(),
        WindowFunction::Nth => "nth_value".into(),
        WindowFunction::Aggregate(of) => match of {
            AggregateFunction::Distinct { of, .. } => format!("distinct {}", function(of)),
            of => function(of).to_string(),
        },
    };
    let mut text = format!("{name}({}", list(&c.args));
    text.push_str(if c.ignore_nulls { " ignore nulls)" } else { ")" });
    if let Some(filter) = &c.filter {
        let _ = write!(text, " if {filter}");
    }
    let has_frame = matches!(
        c.function,
        WindowFunction::First | WindowFunction::Last | WindowFunction::Nth | WindowFunction::Aggregate(_)
    );
    let Frame { units, start, end, exclude, .. } = &c.frame;
    if has_frame {
        let bound = |bound: &Bound| match bound {
            Bound::First => "first".to_string(),
            Bound::Before(n) => format!("{n} before"),
            Bound::Current => "current".into(),
            Bound::After(n) => format!("{n} after"),
            Bound::Last => "last".into(),
            Bound::Value(column) => column_name(input, *column),
        };
        let _ = write!(text, " {units} {} to {}{exclude}", bound(start), bound(end));
    }
    if c.order > 0 {
        let _ = write!(text, " of {} keys", c.order);
    }
    text
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
                (Splitting::Blocks, "in blocks by the manifest"),
                (Splitting::Units, "in blocks by their headers"),
                (Splitting::Sequential, "in turns"),
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
    keys.iter().map(|k| format!("{}{}", k.expr, direction(k.options))).collect::<Vec<_>>().join(", ")
}

fn direction(options: SortOptions) -> String {
    let direction = if options.descending { " desc" } else { "" };
    let nulls = if options.nulls_first { " nulls first" } else { "" };
    format!("{direction}{nulls}")
}

/// An estimated number for people. What is less than one and not nothing counts as one.
pub fn count(n: f64) -> String {
    match n {
        n if n >= 999.95e6 => format!("{:.1}G", n / 1e9),
        n if n >= 999.5e3 => format!("{:.1}M", n / 1e6),
        n if n >= 9999.5 => format!("{:.0}k", n / 1e3),
        n if n > 0.0 => format!("{:.0}", n.max(1.0)),
        _ => "0".into(),
    }
}

/// Whether so many rows are far from the estimate of an operator. `workers` are those that gave them.
///
/// Where each worker gives some of the rows that in the end are fewer, or the same ones, there may be as many times more.
/// `may_stop` says that nobody may have asked for all of them. Neither is a scan far from its estimate that passes over what
/// zone maps exclude.
pub fn is_far(node: &Node, rows: u64, workers: usize, may_stop: bool) -> bool {
    let (rows, estimate) = ((rows as f64).max(1.0), node.rows.max(1.0));
    let (copies, may_skip) = match &node.op {
        Op::Exchange(Exchange::Broadcast) => (workers, false),
        Op::Aggregate(aggregate) => (if aggregate.phase == Phase::Partial { workers } else { 1 }, false),
        Op::Sort { fetch, .. } | Op::Limit { fetch, .. } => {
            (if fetch.is_some() && !node.single { workers } else { 1 }, false)
        }
        Op::Scan(scan) => (if scan.fetch.is_some() { workers } else { 1 }, !scan.bounds.is_empty()),
        Op::Shared(shared) => (if shared.fetch.is_some() { workers } else { 1 }, false),
        _ => (1, false),
    };
    let is_more = rows > FAR * estimate * copies as f64;
    let is_less = estimate > FAR * rows && !may_stop && !may_skip;
    is_more || is_less
}

/// For each input of an operator whether it may be stopped before it has given all of its rows. `may_stop` says that
/// the operator itself may.
pub fn stops_inputs(node: &Node, may_stop: bool) -> Vec<bool> {
    let of = |input: usize| match &node.op {
        Op::Limit { fetch: Some(_), .. } => true,
        Op::Sort { .. } => false,
        Op::Aggregate(aggregate) if aggregate.phase != Phase::Partial => false,
        Op::Join(join) => may_stop && input != usize::from(join.build == Side::Right),
        _ => may_stop,
    };
    (0..node.inputs.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{DataType, Field, Schema};
    use schema::{DeferredValidation, FileEntry, FileSet, FormatOptions, TableEstimates};

    use super::*;
    use crate::Settings;

    #[test]
    fn numbers_are_short() {
        for (n, text) in [
            (0.0, "0"),
            (0.04, "1"),
            (7.4, "7"),
            (9999.0, "9999"),
            (9999.6, "10k"),
            (577_300.0, "577k"),
            (999_600.0, "1.0M"),
            (1_234_567.0, "1.2M"),
            (999_960_000.0, "1.0G"),
            (2.5e12, "2500.0G"),
        ] {
            assert_eq!(count(n), text);
        }
    }

    /// The plan of a filter over a table that is estimated to have so many rows.
    fn plan(rows: u64, bytes: u64) -> Arc<Plan> {
        let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, true)]));
        let set = FileSet {
            files: vec![FileEntry::new("/t.csv", bytes, 0)],
            format: FormatOptions::default(),
            file_columns: 1,
            layouts: vec![],
            unseen: DeferredValidation::Nothing,
        };
        let guesses = TableEstimates { rows: Some(rows), columns: vec![] };
        let (source, spans) = (Source::Files(set), vec![Some((0.0, rows as f64))]);
        let mut catalog = crate::Catalog::default();
        catalog.add(Table { name: "t".into(), schema, source, rows: None, spans, guesses });
        let Ok(crate::Statement::Query(query)) = crate::parse("SELECT x FROM t WHERE x > 7") else {
            panic!("a query")
        };
        let settings = Settings::default();
        crate::plan(&query, &catalog, &settings).unwrap()
    }

    #[test]
    fn a_fingerprint_is_that_of_what_is_done_and_not_of_estimates() {
        let text = |plan: &Plan| explain(plan).iter().map(Line::to_string).collect::<Vec<_>>().join("\n");
        let (few, many, other) = (plan(100, 5000), plan(1_000_000, 5000), plan(100, 5001));
        assert!(text(&few).contains("(about 100 rows)") && text(&many).contains("(about 1.0M rows)"));
        assert_eq!(fingerprint(&few), fingerprint(&many));
        assert_ne!(fingerprint(&few), fingerprint(&other));
    }

    #[test]
    fn an_operator_that_is_stopped_is_not_far_from_its_estimate() {
        let plan = plan(1000, 5000);
        assert!(is_far(&plan.root, 3, 1, false) && !is_far(&plan.root, 3, 1, true));
        assert!(is_far(&plan.root, 20_000, 1, true) && !is_far(&plan.root, 900, 1, false));
        let limit = Op::Limit { skip: 0, fetch: Some(3) };
        let limited = Node { op: limit, inputs: vec![plan.root.clone()], ..plan.root.clone() };
        assert_eq!(stops_inputs(&limited, false), [true]);
        assert_eq!(stops_inputs(&plan.root, true), [true]);
        let sort = Op::Sort { keys: vec![], fetch: None };
        let sorted = Node { op: sort, inputs: vec![plan.root.clone()], ..plan.root.clone() };
        assert_eq!(stops_inputs(&sorted, true), [false]);
    }

    #[test]
    fn one_row_is_no_rows() {
        let line = |rows| Line { node: Some(0), text: "  union all".into(), rows }.to_string();
        assert_eq!(line(Some(0.5)), "  union all  (about 1 row)");
        assert_eq!(line(Some(1.2e6)), "  union all  (about 1.2M rows)");
        assert_eq!(line(None), "  union all");
    }
}
