//! Algebra to physical plan. Every decision is taken here.
//!
//! - `reads`: which columns each operator has to give.
//! - `scan`: projection, and of which texts the beginnings are enough; `bounds`: what zone maps are asked. Readers of
//!   stages.
//! - `project`: computed columns, and columns put in order.
//! - `join`: build side, broadcast or exchange; `keys`: which predicates are keys.
//! - `aggregate`: one phase or two; `accumulators`: what computes each aggregate; `expand`: grouping sets.
//! - `sort`: orders and limits; `order`: which rows come in the order of their table.
//! - `window`: functions over windows.
//! - `rows`: constants, unions and repeated rows.
//! - `unnest`: lists.

pub(crate) mod accumulators;
mod aggregate;
pub(crate) mod bounds;
mod expand;
mod join;
mod keys;
mod order;
mod project;
mod reads;
mod rows;
mod scan;
mod sort;
#[cfg(test)]
mod tests;
mod unnest;
mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_expr::physical_planning_context::ScalarSubqueryResults;
use datafusion_physical_expr::expressions::Column;

use crate::Settings;
use crate::algebra::{ColumnId, Columns, Expr, Filter, Kind, Rel, Rounds, StageOutput, Statement};
use crate::compile::{Compiler, Layout};
use crate::error::Result;
use crate::estimates::{self, Estimate, kept};
use crate::plan::{self, Exchange, Node, Op, Plan, Stage};
use reads::Reads;

/// Lowers a statement of which the rules have taken subqueries and dependent joins out. `names` are the result's columns
/// as the query has them.
///
/// # Errors
/// What palais does not run, and expressions that can't be compiled.
pub fn lower(statement: &Statement, names: Option<&Vec<String>>, settings: &Settings) -> Result<Plan> {
    let results = ScalarSubqueryResults::new(statement.stages.len());
    let compiler = Compiler::new(settings, results.clone());
    let mut lowering = Lowering {
        compiler: &compiler,
        settings,
        columns: statement.columns.clone(),
        reads: Reads::new(statement.columns.len()),
        stages: BTreeSet::new(),
        changing: BTreeSet::new(),
        next_id: 0,
    };
    let changing = statement.changing();
    // A recursion runs in the first process, which has all rows that it reads.
    let alone =
        Settings { processes: 1, workers: settings.workers / settings.processes.max(1), ..settings.clone() };
    let is_in_rounds =
        |number: usize| statement.stages[number].is_recursive() || !changing[number].is_empty();
    let in_rounds = (0..statement.stages.len()).filter(|number| is_in_rounds(*number));
    let read_in_rounds: BTreeSet<usize> =
        in_rounds.flat_map(|number| statement.stages[number].needs()).collect();
    let root = lowering.tree(&statement.root, &statement.output, settings.spread_result)?;
    // The last stage first: a stage is run if a later one or the query itself reads it.
    let mut stages = Vec::new();
    for (number, stage) in statement.stages.iter().enumerate().rev() {
        if lowering.stages.contains(&number) {
            lowering.changing.clone_from(&changing[number]);
            lowering.settings = if is_in_rounds(number) { &alone } else { settings };
            let is_gathered = lowering.settings.processes > 1 && read_in_rounds.contains(&number);
            let (gives, root) = match stage.gives {
                StageOutput::Value => {
                    (plan::StageOutput::Value, lowering.tree(&stage.root, &stage.columns, false)?)
                }
                StageOutput::Rows { .. } if is_gathered => {
                    (plan::StageOutput::Rows, lowering.tree(&stage.root, &stage.columns, false)?)
                }
                StageOutput::Rows { .. } => {
                    (plan::StageOutput::Rows, lowering.kept(&stage.root, &stage.columns)?)
                }
                StageOutput::Seed => (plan::StageOutput::Seed, lowering.spread(&stage.root, &stage.columns)?),
                StageOutput::Rounds(rounds) => {
                    // What the name stands for is wanted, whether or not a round still reads it.
                    lowering.stages.insert(rounds.seed);
                    let root = lowering.spread(&stage.root, &stage.columns)?;
                    (plan::StageOutput::Rounds(lowering.rounds(statement, number, rounds)), root)
                }
            };
            stages.push(Stage { number, gives, root });
        }
    }
    stages.reverse();
    set_before(&mut stages, &changing);
    let schema = output_schema(&statement.output, names, &statement.columns);
    Ok(Plan { stages, values: results, root, schema, nodes: lowering.next_id })
}

/// Tells recursions which stages they run in each round.
fn set_before(stages: &mut [Stage], changing: &[BTreeSet<usize>]) {
    // An inner recursion comes before those around it.
    let mut of_inner: BTreeSet<usize> = BTreeSet::new();
    let mut before: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for stage in stages.iter() {
        let plan::StageOutput::Rounds(rounds) = &stage.gives else { continue };
        let anew = stages.iter().filter(|other| {
            let is_between = rounds.seed < other.number && other.number < stage.number;
            is_between
                && other.gives != plan::StageOutput::Seed
                && changing[other.number].contains(&rounds.seed)
                && !of_inner.contains(&other.number)
        });
        let anew: Vec<usize> = anew.map(|other| other.number).collect();
        of_inner.extend(&anew);
        before.insert(stage.number, anew);
    }
    for stage in stages.iter_mut() {
        if let plan::StageOutput::Rounds(rounds) = &mut stage.gives {
            rounds.before = before.remove(&stage.number).unwrap_or_default();
        }
    }
}

/// The result's schema with the query's own names.
fn output_schema(output: &[ColumnId], names: Option<&Vec<String>>, columns: &Columns) -> SchemaRef {
    let names = names.filter(|names| names.len() == output.len());
    let field = |(i, id): (usize, &ColumnId)| {
        let column = columns.get(*id);
        Field::new(names.map_or(&column.name, |names| &names[i]), column.data_type.clone(), true)
    };
    Arc::new(Schema::new(output.iter().enumerate().map(field).collect::<Vec<_>>()))
}

/// A relation as an operator.
struct Lowered {
    node: Node,
    /// Its columns; those that are wanted above are among them.
    layout: Layout,
    estimate: Estimate,
}

struct Lowering<'a> {
    compiler: &'a Compiler,
    settings: &'a Settings,
    /// Those of the statement, and those that operators compute for themselves.
    columns: Columns,
    reads: Reads,
    /// The stages that are read.
    stages: BTreeSet<usize>,
    /// The stages that change from round to round, where the tree at hand is run in rounds.
    changing: BTreeSet<usize>,
    next_id: usize,
}

impl Lowering<'_> {
    /// Lowers a tree of its own, which gives these columns.
    fn tree(&mut self, root: &Rel, output: &[ColumnId], spread: bool) -> Result<Node> {
        let node = self.spread(root, output)?;
        Ok(if spread || node.single { node } else { self.gather(node, false) })
    }

    /// Lowers a tree whose rows are kept: where they are, unless they have the order of a table.
    fn kept(&mut self, root: &Rel, output: &[ColumnId]) -> Result<Node> {
        let mut node = self.spread(root, output)?;
        let in_order = !node.single && self.settings.processes == 1 && order::keep(&mut node, false);
        Ok(if in_order { self.exchange(Exchange::InOrder, node) } else { node })
    }

    /// A recursion whose rows the stage of this number gives.
    fn rounds(&self, statement: &Statement, number: usize, rounds: Rounds) -> plan::Rounds {
        let Rounds { seed, distinct, fetch } = rounds;
        let keys: Vec<Expr> =
            statement.stages[number].columns.iter().map(|id| self.columns.read(*id)).collect();
        plan::Rounds { seed, distinct: distinct.then(|| aggregate::layout(&keys)), fetch, before: vec![] }
    }

    /// Whether a relation gives the same rows in all rounds in which the tree at hand is run.
    fn repeats(&self, rel: &Rel) -> bool {
        if self.changing.is_empty() {
            return false;
        }
        let mut is_volatile = false;
        rel.look(&mut |node| is_volatile |= node.exprs().into_iter().any(Expr::is_volatile));
        !is_volatile && rel.stages().is_disjoint(&self.changing)
    }

    /// Lowers a tree of its own. Its rows stay where they are.
    fn spread(&mut self, root: &Rel, output: &[ColumnId]) -> Result<Node> {
        let at = self.reads.add(root, output);
        let rows = self.rel(root, at)?;
        Ok(self.arranged(rows, output)?.node)
    }

    /// Lowers the relation with number `at`.
    fn rel(&mut self, rel: &Rel, at: usize) -> Result<Lowered> {
        match rel {
            Rel::Scan(node) => self.scan(rel, node, at, vec![]),
            Rel::Values(node) => self.values(rel, node, at),
            Rel::Filter(node) => self.filter(rel, node, at),
            Rel::Map(node) => self.map(rel, node, at),
            Rel::Join(node) => self.join(rel, node, at),
            Rel::Aggregate(node) => self.aggregate(rel, node, at),
            Rel::Window(node) => self.window(rel, node, at),
            Rel::Expand(node) => self.expand(rel, node, at),
            Rel::Sort(node) => self.sort(rel, node, at),
            Rel::Limit(node) => self.limit(rel, node, at),
            Rel::Union(node) => self.union(rel, node, at),
            Rel::Repeat(node) => self.repeat(rel, node, at),
            Rel::Unnest(node) => self.unnest(rel, node, at),
            Rel::Shared(node) => self.shared(rel, node, at),
        }
    }

    fn filter(&mut self, rel: &Rel, filter: &Filter, at: usize) -> Result<Lowered> {
        let input = self.rel(&filter.input, at + 1)?;
        let estimate = estimates::of(rel, &[&input.estimate]);
        if filter.predicates.is_empty() {
            return Ok(Lowered { estimate, ..input });
        }
        let Lowered { node, layout, .. } = self.filtered(input, &filter.predicates, estimate.rows)?;
        Ok(Lowered { node, layout, estimate })
    }

    /// Keeps the rows for which all predicates are true.
    fn filtered(&mut self, input: Lowered, predicates: &[Expr], rows: f64) -> Result<Lowered> {
        let kept = |e: &Expr| kept::part(e, &input.estimate);
        let predicate = self.compile_filter(predicates, &input.layout, &kept)?;
        let schema = input.layout.schema().clone();
        let node = self.node(Op::Filter { predicate }, schema, vec![input.node], rows);
        Ok(Lowered { node, ..input })
    }

    /// A node above `inputs`; its rows lie where the inputs' rows lie.
    fn node(&mut self, op: Op, schema: SchemaRef, inputs: Vec<Node>, rows: f64) -> Node {
        let id = self.next_id;
        self.next_id += 1;
        let single = inputs.iter().all(|n| n.single);
        Node { id, op, schema, inputs, rows, single }
    }

    /// Moves the rows of a node.
    fn exchange(&mut self, exchange: Exchange, input: Node) -> Node {
        let single = !matches!(exchange, Exchange::Hash(_) | Exchange::Broadcast);
        let (schema, rows) = (input.schema.clone(), input.rows);
        let mut node = self.node(Op::Exchange(exchange), schema, vec![input], rows);
        node.single = single;
        node
    }

    /// Brings rows to worker 0. They come in the order of their table if that has a cost that is not felt. They also do
    /// if only some are wanted, which are the first ones then.
    fn gather(&mut self, mut node: Node, limited: bool) -> Node {
        let in_order = self.settings.processes == 1 && order::keep(&mut node, limited);
        self.exchange(if in_order { Exchange::InOrder } else { Exchange::Gather }, node)
    }

    fn compile(&mut self, e: &Expr, input: &Layout) -> Result<plan::Expr> {
        self.note_stages(e);
        self.compiler.compile(e, input)
    }

    fn compile_filter(
        &mut self,
        predicates: &[Expr],
        input: &Layout,
        kept: &dyn Fn(&Expr) -> f64,
    ) -> Result<plan::Expr> {
        predicates.iter().for_each(|e| self.note_stages(e));
        self.compiler.compile_filter(predicates, input, kept)
    }

    /// Notes whose values an expression reads.
    fn note_stages(&mut self, e: &Expr) {
        e.look(&mut |e| {
            if let Kind::Stage(stage) = e.kind {
                self.stages.insert(stage);
            }
            true
        });
    }
}

/// The column at a position as an expression.
fn column(schema: &Schema, position: usize) -> plan::Expr {
    Arc::new(Column::new(schema.field(position).name(), position))
}

fn invalid(e: arrow_schema::ArrowError) -> crate::Error {
    crate::Error::Invalid(e.to_string())
}
