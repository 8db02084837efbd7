//! Logical plan to physical plan. Every decision is taken here.
//!
//! - [`aggregate`]: accumulators, key layouts, one phase or two.
//! - [`join`]: build side, broadcast or exchange.
//! - [`scan`]: projection, zone-map bounds.
//! - `order`: which rows come in the order of their table.
//! - [`estimate`]: row counts and widths, from the catalog alone.

pub mod aggregate;
pub mod estimate;
pub mod join;
mod order;
pub mod scan;

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{DFSchema, HashMap, ScalarValue};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::logical_plan::{Distinct, Subquery as LogicalSubquery};
use datafusion_expr::physical_planning_context::{
    PhysicalPlanningContext, ScalarSubqueryResults, SubqueryIndex,
};
use datafusion_expr::{Expr as LogicalExpr, FetchType, LogicalPlan, SkipType, SortExpr};
use datafusion_physical_expr::expressions::Column;

use crate::Settings;
use crate::error::{Error, Result};
use crate::expr::Compiler;
use crate::guards;
use crate::optimise;
use crate::plan::{Exchange, Expr, Gives, Node, Op, Plan, SortKey, Stage};
use crate::rewrite::multiset::Repeat;
use crate::tree;

/// Lowers an optimised plan; `names` are the result's columns as the query has them.
pub fn lower(logical: &LogicalPlan, names: Option<&Vec<String>>, settings: &Settings) -> Result<Plan> {
    let mut stages = Vec::new();
    collect_subqueries(logical, &mut stages)?;
    let results = ScalarSubqueryResults::new(stages.len());
    let indexes: HashMap<LogicalSubquery, SubqueryIndex> =
        stages.iter().enumerate().map(|(i, s)| (s.clone(), SubqueryIndex::new(i))).collect();
    let props = ExecutionProps::new().with_query_execution_start_time(optimise::now(settings));
    let compiler = Compiler { props, context: PhysicalPlanningContext::new(indexes, results.clone()) };

    let mut before = Vec::new();
    let mut lowering = Lowering { compiler: &compiler, settings, next_id: 0 };
    for (number, stage) in stages.iter().enumerate() {
        let root = lowering.root(&stage.subquery)?;
        before.push(Stage { number, gives: Gives::Value, root });
    }
    let root = if settings.spread_result { lowering.lower(logical)? } else { lowering.root(logical)? };
    let schema = output_schema(&root.schema, names);
    Ok(Plan { stages: before, values: results, root, schema, nodes: lowering.next_id })
}

/// The scalar subqueries of a plan, those inside others first.
fn collect_subqueries(plan: &LogicalPlan, found: &mut Vec<LogicalSubquery>) -> Result<()> {
    let mut failed = None;
    tree::look_at_plan(plan, &mut |node| {
        node.apply_expressions(|expr| {
            tree::look_at_expr(expr, &mut |e| {
                match e {
                    LogicalExpr::ScalarSubquery(s) if s.outer_ref_columns.is_empty() => {
                        if let Err(e) = collect_subqueries(&s.subquery, found) {
                            failed = Some(e);
                            return Ok(TreeNodeRecursion::Stop);
                        }
                        if !found.contains(s) {
                            found.push(s.clone());
                        }
                    }
                    LogicalExpr::ScalarSubquery(_) | LogicalExpr::Exists(_) | LogicalExpr::InSubquery(_) => {
                        failed = Some(Error::Unsupported(format!(
                            "this subquery, which the optimiser could not turn into a join: {e}"
                        )));
                        return Ok(TreeNodeRecursion::Stop);
                    }
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    failed.map_or(Ok(()), Err)
}

/// The result's schema with the query's own names.
fn output_schema(schema: &SchemaRef, names: Option<&Vec<String>>) -> SchemaRef {
    let names = names.filter(|n| n.len() == schema.fields().len());
    let fields: Vec<Field> = schema
        .fields()
        .iter()
        .enumerate()
        .map(|(i, f)| match &names {
            Some(names) => f.as_ref().clone().with_name(&names[i]),
            None => f.as_ref().clone(),
        })
        .collect();
    Arc::new(Schema::new(fields))
}

/// The schema of a node's batches. Every column may hold NULL: whether it can is not tracked through the plan.
pub(crate) fn batch_schema(schema: &DFSchema) -> SchemaRef {
    nullable(schema.as_arrow())
}

/// The same columns, each of which may hold NULL.
pub(crate) fn nullable(schema: &Schema) -> SchemaRef {
    let fields: Vec<Field> =
        schema.fields().iter().map(|f| Field::new(f.name(), f.data_type().clone(), true)).collect();
    Arc::new(Schema::new(fields))
}

pub(crate) struct Lowering<'a> {
    pub compiler: &'a Compiler,
    pub settings: &'a Settings,
    pub next_id: usize,
}

impl Lowering<'_> {
    /// A node above `inputs`; its rows lie where the inputs' rows lie.
    pub fn node(&mut self, op: Op, schema: SchemaRef, inputs: Vec<Node>, rows: f64) -> Node {
        let id = self.next_id;
        self.next_id += 1;
        let single = inputs.iter().all(|n| n.single);
        Node { id, op, schema, inputs, rows, single }
    }

    /// Moves the rows of a node.
    pub fn exchange(&mut self, exchange: Exchange, input: Node) -> Node {
        let single = !matches!(exchange, Exchange::Hash(_) | Exchange::Broadcast);
        let (schema, rows) = (input.schema.clone(), input.rows);
        let mut node = self.node(Op::Exchange(exchange), schema, vec![input], rows);
        node.single = single;
        node
    }

    fn root(&mut self, plan: &LogicalPlan) -> Result<Node> {
        let node = self.lower(plan)?;
        Ok(if node.single { node } else { self.gather(node, false) })
    }

    /// Brings rows to worker 0: in the order of the table that they come from if that has a cost that is not felt, or if
    /// only some are wanted, which are the first ones then.
    fn gather(&mut self, mut node: Node, limited: bool) -> Node {
        let in_order = self.settings.processes == 1 && order::keep(&mut node, limited);
        self.exchange(if in_order { Exchange::InOrder } else { Exchange::Gather }, node)
    }

    /// Lowers a subtree. Columns of the node are those of the logical plan, by position.
    pub fn lower(&mut self, plan: &LogicalPlan) -> Result<Node> {
        let schema = batch_schema(plan.schema());
        match plan {
            LogicalPlan::Projection(p) => {
                let input = self.lower_below(&p.input, &p.expr)?;
                let exprs = self.compiler.compile_all(&p.expr, p.input.schema())?;
                let (input, exprs) = join::narrow_output(input, exprs)?;
                let rows = input.rows;
                Ok(self.node(Op::Project { exprs }, schema, vec![input], rows))
            }
            LogicalPlan::Filter(f) => {
                let input = self.lower(&f.input)?;
                let predicate = self.compiler.compile_filter(&f.predicate, f.input.schema())?;
                let rows = input.rows * estimate::kept(&guards::unmarked(f.predicate.clone())?, &f.input);
                Ok(self.node(Op::Filter { predicate }, schema, vec![input], rows))
            }
            LogicalPlan::Aggregate(a) => aggregate::lower(self, a),
            LogicalPlan::Distinct(Distinct::All(input)) => aggregate::distinct(self, input),
            LogicalPlan::Join(j) => join::lower(self, j),
            LogicalPlan::TableScan(scan) => scan::lower(self, scan, None),
            LogicalPlan::SubqueryAlias(a) => self.lower(&a.input),
            LogicalPlan::Repartition(r) => self.lower(&r.input),
            LogicalPlan::Sort(s) => {
                let input = self.lower(&s.input)?;
                let keys = self.sort_keys(&s.expr, s.input.schema())?;
                self.sort(input, keys, s.fetch)
            }
            LogicalPlan::Limit(l) => {
                let input = self.lower(&l.input)?;
                let skip = match l.get_skip_type()? {
                    SkipType::Literal(n) => n,
                    SkipType::UnsupportedExpr => {
                        return Err(Error::Unsupported("an OFFSET that is not a number".into()));
                    }
                };
                let fetch = match l.get_fetch_type()? {
                    FetchType::Literal(n) => n,
                    FetchType::UnsupportedExpr => {
                        return Err(Error::Unsupported("a LIMIT that is not a number".into()));
                    }
                };
                Ok(self.limit(input, skip, fetch))
            }
            LogicalPlan::Union(u) => {
                let inputs = u.inputs.iter().map(|i| self.lower(i)).collect::<Result<Vec<_>>>()?;
                let rows = inputs.iter().map(|n| n.rows).sum();
                Ok(self.node(Op::Union, schema, inputs, rows))
            }
            LogicalPlan::Extension(e) if e.node.as_any().is::<Repeat>() => {
                let inputs =
                    e.node.inputs().into_iter().map(|i| self.lower(i)).collect::<Result<Vec<_>>>()?;
                let rows = inputs.iter().map(|n| n.rows).sum();
                Ok(self.node(Op::Repeat, schema, inputs, rows))
            }
            LogicalPlan::Values(v) => {
                let empty = DFSchema::empty();
                let columns = (0..schema.fields().len())
                    .map(|c| {
                        let values = v.values.iter().map(|row| self.constant(&row[c], &empty));
                        let array = ScalarValue::iter_to_array(values.collect::<Result<Vec<_>>>()?)?;
                        arrow_cast::cast(&array, schema.field(c).data_type()).map_err(invalid)
                    })
                    .collect::<Result<Vec<_>>>()?;
                let batch = RecordBatch::try_new(schema.clone(), columns).map_err(invalid)?;
                Ok(self.values(schema, vec![batch]))
            }
            LogicalPlan::EmptyRelation(e) => {
                let options = RecordBatchOptions::new().with_row_count(Some(1));
                let batches = match e.produce_one_row {
                    true => vec![
                        RecordBatch::try_new_with_options(schema.clone(), vec![], &options)
                            .map_err(invalid)?,
                    ],
                    false => vec![],
                };
                Ok(self.values(schema, batches))
            }
            other => {
                let text = other.display().to_string();
                let name = text.split([':', ' ']).next().unwrap_or_default().to_string();
                Err(Error::Unsupported(name))
            }
        }
    }

    /// Lowers the input of expressions, of which nothing is seen but through them.
    pub fn lower_below(&mut self, input: &LogicalPlan, exprs: &[LogicalExpr]) -> Result<Node> {
        match input {
            LogicalPlan::TableScan(scan) => scan::lower(self, scan, Some(exprs)),
            LogicalPlan::SubqueryAlias(alias) => self.lower_below(&alias.input, exprs),
            other => self.lower(other),
        }
    }

    fn values(&mut self, schema: SchemaRef, batches: Vec<RecordBatch>) -> Node {
        let rows = batches.iter().map(RecordBatch::num_rows).sum::<usize>() as f64;
        let mut node = self.node(Op::Values(batches), schema, vec![], rows);
        node.single = true;
        node
    }

    fn constant(&self, e: &LogicalExpr, empty: &DFSchema) -> Result<ScalarValue> {
        let compiled = self.compiler.compile(e, empty)?;
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let one = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)
            .map_err(invalid)?;
        let array = compiled.evaluate(&one)?.into_array(1)?;
        Ok(ScalarValue::try_from_array(&array, 0)?)
    }

    pub fn sort_keys(&self, exprs: &[SortExpr], schema: &DFSchema) -> Result<Vec<SortKey>> {
        exprs
            .iter()
            .map(|s| {
                let options = arrow_schema::SortOptions { descending: !s.asc, nulls_first: s.nulls_first };
                Ok(SortKey { expr: self.compiler.compile(&s.expr, schema)?, options })
            })
            .collect()
    }

    /// Sorts on each worker, then merges the runs on worker 0. A key that has to be computed is made a column first,
    /// so that it is computed once (and a random one keeps its value), and dropped at the end.
    pub fn sort(&mut self, mut input: Node, mut keys: Vec<SortKey>, fetch: Option<usize>) -> Result<Node> {
        let (given, total) = (input.schema.clone(), input.rows);
        let width = given.fields().len();
        let mut exprs = columns(&given, 0, width);
        let mut fields: Vec<Field> = given.fields().iter().map(|f| f.as_ref().clone()).collect();
        for key in keys.iter_mut().filter(|k| !k.expr.is::<Column>()) {
            let name = format!("key {}", exprs.len() - width);
            fields.push(Field::new(&name, key.expr.data_type(&given)?, true));
            let column = Arc::new(Column::new(&name, exprs.len()));
            exprs.push(std::mem::replace(&mut key.expr, column));
        }
        let computed = exprs.len() > width;
        if computed {
            input = self.node(Op::Project { exprs }, Arc::new(Schema::new(fields)), vec![input], total);
        }
        let rows = fetch.map_or(total, |n| total.min(n as f64));
        let (schema, single) = (input.schema.clone(), input.single);
        let mut sorted = self.node(Op::Sort { keys: keys.clone(), fetch }, schema, vec![input], rows);
        if !single {
            sorted = self.exchange(Exchange::Merge { keys, fetch }, sorted);
        }
        if computed {
            let exprs = columns(&given, 0, width);
            sorted = self.node(Op::Project { exprs }, given, vec![sorted], rows);
        }
        Ok(sorted)
    }

    fn limit(&mut self, input: Node, skip: usize, fetch: Option<usize>) -> Node {
        let schema = input.schema.clone();
        let mut input = input;
        if !input.single {
            if let Some(n) = fetch {
                let enough = n.saturating_add(skip);
                let rows = input.rows.min(enough as f64);
                input =
                    self.node(Op::Limit { skip: 0, fetch: Some(enough) }, schema.clone(), vec![input], rows);
            }
            input = self.gather(input, fetch.is_some());
        }
        let rows = fetch.map_or(input.rows, |n| input.rows.min(n as f64));
        self.node(Op::Limit { skip, fetch }, schema, vec![input], rows)
    }
}

/// The columns `from..to` of a schema as expressions.
pub(crate) fn columns(schema: &Schema, from: usize, to: usize) -> Vec<Expr> {
    (from..to).map(|i| Arc::new(Column::new(schema.field(i).name(), i)) as Expr).collect()
}

pub(crate) fn invalid(e: arrow_schema::ArrowError) -> Error {
    Error::Invalid(e.to_string())
}
