//! The physical plan: a tree of operators in which every decision is taken. `engine` renders it without choices.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{SchemaRef, SortOptions};
use datafusion_common::{NullEquality, ScalarValue};
use datafusion_expr::physical_planning_context::ScalarSubqueryResults;
use schema::{ColumnBound, ColumnPrefix, Table};

pub use crate::algebra::Transform;
pub use crate::algebra::window::{Exclude, Units};
pub use datafusion_common::JoinType;
/// A compiled expression over the columns of one input.
pub use expressions::Expr;
pub use expressions::accumulators::AggregateFunction;

/// Identifies a node of a plan: its number in a walk over all of its trees, inputs first.
pub type NodeId = usize;

/// A query, planned.
#[derive(Debug)]
pub struct Plan {
    /// What is computed before the rest, in the order in which it is run: each stage may use what those before it give.
    pub stages: Vec<Stage>,
    /// What expressions that use the values of stages read, until a run puts the values in their place; it stays empty.
    pub values: ScalarSubqueryResults,
    /// The operator that gives the result; on worker 0, unless [`crate::Settings::spread_result`] lets it stay spread.
    pub root: Node,
    /// The result's columns, named as the query names them.
    pub schema: SchemaRef,
    /// One more than the greatest [`NodeId`] of all trees.
    pub nodes: usize,
}

impl Plan {
    /// The trees in the order in which they are run: those of the stages, and the one that gives the result.
    pub fn trees(&self) -> impl Iterator<Item = &Node> {
        self.stages.iter().map(|stage| &stage.root).chain([&self.root])
    }
}

/// What is computed before the rest: a tree of its own.
#[derive(Debug)]
pub struct Stage {
    /// Its number: its place in [`Plan::values`], and what [`Shared::stage`] names. Numbers grow, and may be left out.
    pub number: usize,
    /// What the others read of it.
    pub gives: StageOutput,
    /// The operator that gives its rows. The only row of a value lies on worker 0. Rows that several read stay on the
    /// workers where they are, unless they have an order.
    pub root: Node,
}

/// What is read of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageOutput {
    /// The value of a scalar subquery, a constant to the rest. There is at most one row of one column; more is an error.
    Value,
    /// Rows, which [`Op::Shared`] reads. Each process keeps those of its own workers until nothing reads them any more.
    Rows,
    /// The first rows of a recursion. [`Op::Shared`] reads those of the last round in their place.
    Seed,
    /// The rows of all rounds of a recursion.
    Rounds(Rounds),
}

/// A recursion: its stage is run in rounds, until a round gives no more rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rounds {
    /// The number of the stage that has the first rows.
    pub seed: usize,
    /// Whether a row that was given before is left out, and how the rows lie in the hash table that knows them then.
    pub distinct: Option<KeyLayout>,
    /// At most this many rows are wanted.
    pub fetch: Option<usize>,
    /// The numbers of other stages that are run in each round before it. An inner recursion runs its own.
    pub before: Vec<usize>,
}

impl Plan {
    /// The numbers of the stages that recursions run.
    pub fn run_in_rounds(&self) -> BTreeSet<usize> {
        let mut numbers = BTreeSet::new();
        for stage in &self.stages {
            if let StageOutput::Rounds(rounds) = &stage.gives {
                numbers.insert(rounds.seed);
                numbers.extend(&rounds.before);
            }
        }
        numbers
    }
}

/// An operator, its inputs and its output.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its number in the tree.
    pub id: NodeId,
    /// What it does.
    pub op: Op,
    /// The batches that it gives.
    pub schema: SchemaRef,
    /// Where its rows come from; a join has the left side first.
    pub inputs: Vec<Node>,
    /// About how many rows it gives.
    pub rows: f64,
    /// Whether its rows lie on worker 0 alone.
    pub single: bool,
}

impl Node {
    /// Whether it gives no row before all tables below it are read, as far as they are.
    pub fn reads_first(&self) -> bool {
        match &self.op {
            Op::Scan(_) => false,
            Op::Aggregate(aggregate) if aggregate.phase != Phase::Partial => true,
            Op::Sort { .. } => true,
            _ => self.inputs.iter().all(Node::reads_first),
        }
    }
}

/// What an operator does.
#[derive(Debug, Clone)]
pub enum Op {
    /// Reads a table.
    Scan(Scan),
    /// Gives these batches, on worker 0.
    Values(Vec<RecordBatch>),
    /// Reads the rows of a stage.
    Shared(Shared),
    /// Keeps the rows for which the predicate is true.
    Filter {
        /// A boolean expression.
        predicate: Expr,
    },
    /// Computes columns.
    Project {
        /// One expression a column.
        exprs: Vec<Expr>,
    },
    /// Gives each row once for each grouping set, followed by the set's keys and its identifier.
    Expand {
        /// For each set the keys (a literal NULL for one that the set leaves out) and the identifier.
        sets: Vec<Vec<Expr>>,
    },
    /// Groups and aggregates.
    Aggregate(Aggregate),
    /// Computes functions over windows, beside the columns of its input.
    Window(Window),
    /// Joins two inputs.
    Join(Join),
    /// Sorts; with `fetch` only the first rows are kept.
    Sort {
        /// The keys, the most significant first.
        keys: Vec<SortKey>,
        /// The rows wanted.
        fetch: Option<usize>,
    },
    /// Keeps a range of rows.
    Limit {
        /// Rows passed over.
        skip: usize,
        /// The rows wanted behind them.
        fetch: Option<usize>,
    },
    /// Gives each row as often as its last column says (`INTERSECT ALL`), without that column.
    Repeat,
    /// Gives each row once for each item of its last columns, which are lists, and the items in their place.
    Unnest(Unnest),
    /// All rows of all inputs.
    Union,
    /// Moves rows between workers.
    Exchange(Exchange),
}

/// Gives each row once for each item of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unnest {
    /// How many of the last columns are lists.
    pub lists: usize,
    /// Whether there is another column behind the items: their place, a 64-bit integer from 1 on.
    pub place: bool,
    /// Whether a row of which no list has an item is given once, with NULLs.
    pub keeps: bool,
}

/// Reads a table.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The table.
    pub table: Arc<Table>,
    /// The columns wanted, as positions in the table's schema.
    pub projection: Vec<usize>,
    /// Necessary conditions, for zone maps.
    pub bounds: Vec<ColumnBound>,
    /// Columns of which the beginnings of the texts are enough.
    pub prefixes: Vec<ColumnPrefix>,
    /// The predicates that the bounds come from, for EXPLAIN.
    pub filters: Vec<String>,
    /// At most this many rows are wanted of each worker.
    pub fetch: Option<usize>,
    /// Whether each worker says which piece of the table its rows come from, for [`Exchange::InOrder`].
    pub in_order: bool,
    /// The command that the lines of each file are streamed through.
    pub transform: Option<Transform>,
}

/// Reads the rows of a stage. Each process reads those that its own workers gave.
#[derive(Debug, Clone)]
pub struct Shared {
    /// The number of the stage.
    pub stage: usize,
    /// The columns wanted, as positions among those of the stage.
    pub projection: Vec<usize>,
    /// At most this many rows are wanted of each worker.
    pub fetch: Option<usize>,
    /// Whether each worker says which piece of the rows it gives, for [`Exchange::InOrder`].
    pub in_order: bool,
}

/// A sort key.
#[derive(Debug, Clone)]
pub struct SortKey {
    /// The value.
    pub expr: Expr,
    /// Its direction, and where NULLs go.
    pub options: SortOptions,
}

/// How rows move between workers.
#[derive(Debug, Clone)]
pub enum Exchange {
    /// Rows of equal keys to one worker.
    Hash(Vec<Expr>),
    /// Every row to every worker.
    Broadcast,
    /// All rows to worker 0; their order within each worker is kept.
    Gather,
    /// All rows of one scan to worker 0, in the order that they have in the table; in one process.
    InOrder,
    /// All rows to worker 0, where the sorted runs of the workers are merged.
    Merge {
        /// The keys by which each worker's rows are sorted.
        keys: Vec<SortKey>,
        /// The rows wanted.
        fetch: Option<usize>,
    },
}

/// A phase of an aggregation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Rows to states; a group may be given more than once.
    Partial,
    /// States to results; the input holds the keys, then the states.
    Final,
    /// Rows to results in one step.
    Single,
}

/// How group keys lie in the hash table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyLayout {
    /// No keys: one group.
    None,
    /// One column of at most 8 bytes.
    Word,
    /// One string column; strings of at most 12 bytes are a 16-byte integer, longer ones lie beside the table.
    View,
    /// Any columns, encoded as rows of bytes that compare like the values.
    Rows,
}

/// Groups and aggregates.
#[derive(Debug, Clone)]
pub struct Aggregate {
    /// Which phase it is.
    pub phase: Phase,
    /// The keys.
    pub keys: Vec<Expr>,
    /// How the keys lie in the hash table.
    pub layout: KeyLayout,
    /// What is computed for each group.
    pub aggregates: Vec<AggregateCall>,
    /// About how many groups there are, over all workers.
    pub groups: f64,
    /// Whether a group for no rows is given (no GROUP BY).
    pub global: bool,
    /// The keys of the empty grouping sets, whose groups are given for no rows too.
    pub totals: Vec<Vec<ScalarValue>>,
}

/// One aggregate of a group.
#[derive(Debug, Clone)]
pub struct AggregateCall {
    /// The accumulator that computes it.
    pub function: AggregateFunction,
    /// Arguments, over the input's columns (of the partial or single phase).
    pub args: Vec<Expr>,
    /// Only rows for which this is true count.
    pub filter: Option<Expr>,
    /// How many columns its state takes between the phases.
    pub state_columns: usize,
}

/// Computes functions over windows. The rows of a partition are given one behind the other, in the order of the window.
/// The results are columns behind those of the input.
#[derive(Debug, Clone)]
pub struct Window {
    /// The columns in which the rows of a partition are equal.
    pub partition: Vec<usize>,
    /// The columns of the order, the most significant first.
    pub order: Vec<(usize, SortOptions)>,
    /// What is computed.
    pub calls: Vec<WindowCall>,
}

/// A function over a window.
#[derive(Debug, Clone)]
pub struct WindowCall {
    /// The function.
    pub function: WindowFunction,
    /// Its arguments, over the columns of the input.
    pub args: Vec<Expr>,
    /// How many columns of the order make rows peers.
    pub order: usize,
    /// Which rows it sees.
    pub frame: Frame,
    /// Of an aggregate: only rows for which this is true count.
    pub filter: Option<Expr>,
    /// Whether NULLs are passed over.
    pub ignore_nulls: bool,
}

/// What is computed over a window.
#[derive(Debug, Clone)]
pub enum WindowFunction {
    /// The number of the row.
    RowNumber,
    /// The number of the first peer.
    Rank,
    /// The number of the group of peers.
    DenseRank,
    /// The rank as a part of the rows.
    PercentRank,
    /// The part of the rows up to the last peer.
    CumeDist,
    /// The number of the bucket; the argument is how many there are.
    Ntile,
    /// The value of another row (`lag`, `lead`); the last of three arguments is what is given where there is none.
    Shift(Shift),
    /// The value of the frame's first row.
    First,
    /// The value of the frame's last row.
    Last,
    /// The value of the frame's row of a number, the second argument.
    Nth,
    /// An aggregate of the rows of the frame.
    Aggregate(AggregateFunction),
}

/// Which other row it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shift {
    /// None: the number of rows is NULL.
    Nowhere,
    /// So many rows ahead, or behind where it is negative.
    Rows(i128),
    /// So many as the second argument says of the row.
    ByRow {
        /// Whether ahead.
        ahead: bool,
    },
}

/// Which rows around a row a function sees.
#[derive(Debug, Clone)]
pub struct Frame {
    /// What the bounds count.
    pub units: Units,
    /// Where it begins.
    pub start: Bound,
    /// Where it ends; that row belongs to it.
    pub end: Bound,
    /// Which rows are left out.
    pub exclude: Exclude,
    /// The column that the values of [`Bound::Value`] are compared with.
    pub key: Option<usize>,
}

/// A bound of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The partition's first row.
    First,
    /// So many rows or groups before.
    Before(u64),
    /// The row itself; of RANGE and GROUPS its peers.
    Current,
    /// So many rows or groups behind.
    After(u64),
    /// The partition's last row.
    Last,
    /// The first row, or the last one, whose key is not beyond the value in this column.
    Value(usize),
}

/// Which input of a join is kept in the hash table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first input.
    Left,
    /// The second input.
    Right,
}

/// Joins two inputs.
#[derive(Debug, Clone)]
pub struct Join {
    /// Which rows are given.
    pub kind: JoinType,
    /// The input that is kept in the hash table; the other one streams past it.
    pub build: Side,
    /// Whether the workers of a process probe each other's build sides. The build side's rows are spread by the hash of
    /// their keys, the probe side's are wherever they are.
    pub shared: bool,
    /// Whether a worker keeps probe rows of heavy keys, which it would send to another one. It then gets the build rows
    /// of these keys from there. Both sides are spread by the hash of their keys, which alone decide where build rows
    /// are given at the end.
    pub replicates: bool,
    /// Whether the build side is the same in all rounds of a recursion. It is made in the first one.
    pub repeats: bool,
    /// Keys that must be equal, over the left and the right input. Empty: every pair is looked at.
    pub on: Vec<(Expr, Expr)>,
    /// What must hold besides, over the columns that [`Join::filter_columns`] names.
    pub filter: Option<Expr>,
    /// The columns of the filter's input: side and position.
    pub filter_columns: Vec<(Side, usize)>,
    /// The schema of the filter's input.
    pub filter_schema: SchemaRef,
    /// Whether NULL keys are equal to each other.
    pub null_equality: NullEquality,
    /// `NOT IN`: a NULL key on the right side empties the result.
    pub null_aware: bool,
    /// The output's columns: side and position; the mark of a mark join is given behind them.
    pub output: Vec<(Side, usize)>,
}
