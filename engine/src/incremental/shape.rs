//! Which plans can be kept up to date, and their parts.

use arrow_schema::DataType;
use queries::Plan;
use queries::plan::{
    Aggregate, AggregateCall, AggregateFunction, Exchange, Node, Op, Phase, Scan, StageOutput,
};

use crate::error::{Error, Result};

/// A plan that can be kept up to date: a scan, steps on its rows, at most one aggregation, and steps on its groups.
#[derive(Debug, Clone)]
pub struct Shape {
    /// The scan.
    pub scan: Node,
    /// Filters and projections below the aggregation, the first one first.
    pub before: Vec<Node>,
    /// The aggregation: the node whose rows are its results, and the phase that sees rows.
    pub aggregate: Option<(Node, Aggregate)>,
    /// Filters and projections above it, the first one first.
    pub after: Vec<Node>,
}

fn refuse(what: &str) -> Error {
    Error::Unsupported(format!(
        "watch: {what}; a query that is kept up to date may filter, compute columns and GROUP BY with COUNT, SUM and AVG"
    ))
}

/// So many digits may decimals have that are summed: ten more are for their number, and all fit 128 bits.
const SUMMED_DIGITS: u8 = 28;

/// Whether an aggregate sums decimals of more digits than that.
fn sums_decimals_beyond(call: &AggregateCall, digits: u8, input: &Node) -> bool {
    let wide = |t| matches!(t, Ok(DataType::Decimal128(precision, _)) if precision > digits);
    matches!(call.function, AggregateFunction::SumDecimal { .. } | AggregateFunction::AvgDecimal { .. })
        && call.args.iter().any(|arg| wide(arg.data_type(&input.schema)))
}

impl Shape {
    /// Takes a plan apart.
    pub fn new(plan: &Plan) -> Result<Shape> {
        if let Some(stage) = plan.stages.first() {
            return Err(refuse(match stage.gives {
                StageOutput::Value => "a scalar subquery",
                StageOutput::Seed | StageOutput::Rounds(_) => "a recursion",
                StageOutput::Rows => "rows that are computed first and kept",
            }));
        }
        let mut steps = Vec::new();
        let mut node = &plan.root;
        let mut shape = Shape { scan: node.clone(), before: vec![], aggregate: None, after: vec![] };
        loop {
            match &node.op {
                Op::Scan(Scan { transform: None, .. }) => {
                    steps.reverse();
                    shape.before = steps;
                    shape.scan = node.clone();
                    return Ok(shape);
                }
                Op::Filter { .. } | Op::Project { .. } => steps.push(node.clone()),
                // Differential moves rows to where their group lies by itself.
                Op::Exchange(Exchange::Gather | Exchange::InOrder | Exchange::Hash(_)) => {}
                Op::Aggregate(a) if shape.aggregate.is_none() => {
                    let mut on_rows = a;
                    let mut below = node;
                    if a.phase == Phase::Final {
                        while !matches!(&below.op, Op::Aggregate(p) if p.phase == Phase::Partial) {
                            below = &below.inputs[0];
                        }
                        let Op::Aggregate(partial) = &below.op else { unreachable!("it was looked at") };
                        on_rows = partial;
                    }
                    if on_rows
                        .aggregates
                        .iter()
                        .any(|c| sums_decimals_beyond(c, SUMMED_DIGITS, &below.inputs[0]))
                    {
                        return Err(refuse("SUM and AVG of decimals of more than 28 digits"));
                    }
                    if on_rows.aggregates.iter().any(|c| {
                        matches!(
                            c.function,
                            AggregateFunction::General(_)
                                | AggregateFunction::Distinct { .. }
                                | AggregateFunction::Extreme { .. }
                                | AggregateFunction::SumInterval
                        )
                    }) {
                        return Err(refuse("an aggregate other than COUNT, SUM and AVG"));
                    }
                    shape.aggregate = Some((node.clone(), on_rows.clone()));
                    steps.reverse();
                    shape.after = std::mem::take(&mut steps);
                    node = below;
                }
                other => {
                    let name = match other {
                        Op::Aggregate(_) => "two aggregations",
                        Op::Join(_) => "a join",
                        Op::Sort { .. } => "ORDER BY",
                        Op::Limit { .. } => "LIMIT",
                        Op::Union => "UNION",
                        Op::Window(_) => "a window function",
                        _ => "this query",
                    };
                    return Err(refuse(name));
                }
            }
            node = &node.inputs[0];
        }
    }
}
