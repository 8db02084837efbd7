//! The logical algebra: a query as a tree of relations whose columns are numbers.
//!
//! A name is looked at once, by the binder. From there on a column is a [`ColumnId`], which no other column of the
//! statement has. Two instances of one table have different ones, and no rule can confuse them. A relation gives the
//! columns that its operator computes and those of its inputs; which of them are needed is decided when it is lowered.
//!
//! - [`expr`]: typed expressions over columns.
//! - [`window`]: functions over windows.
//! - [`copy`]: copies of relations, with columns of their own.
//! - [`walk`]: the columns of relations, what is read and given, and how trees are looked at and changed.
//! - [`holds`]: where values have JSON in them.
//! - [`facts`]: what is known of rows before they are read.
//! - [`stages`]: what is computed before the rest, and who reads it.
//! - [`print`]: relations and expressions as text.

pub mod copy;
pub mod expr;
pub mod facts;
pub mod holds;
pub mod print;
pub mod stages;
pub mod walk;
pub mod window;

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_expr::AggregateUDF;
use expressions::functions::json::Holds;
use schema::Table;

pub use expr::{Expr, Kind, Subquery, SubqueryKind};
pub use facts::{Facts, Number, Spread};
pub use stages::{Rounds, Shared, Stage, StageOutput};
pub use window::{Window, WindowCall, WindowFunction};

/// A column of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId(pub u32);

/// What is known of a column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name, for EXPLAIN and errors alone.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Where its values have JSON in them, as far as the binder knows.
    pub holds: Holds,
}

/// The columns of a statement, by their numbers.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    all: Vec<Column>,
    /// Columns of relations that are computed wherever they are read (`NOT MATERIALIZED`), in ascending ranges.
    apart: Vec<Range<u32>>,
}

impl Columns {
    /// A new column.
    pub fn add(&mut self, name: impl Into<String>, data_type: DataType) -> ColumnId {
        let id = ColumnId(self.all.len() as u32);
        self.all.push(Column { name: name.into(), data_type, holds: Holds::Nothing });
        id
    }

    /// Notes where the values of a column have JSON in them.
    pub fn mark(&mut self, id: ColumnId, holds: Holds) {
        self.all[id.0 as usize].holds = holds;
    }

    /// The column of this number.
    pub fn get(&self, id: ColumnId) -> &Column {
        &self.all[id.0 as usize]
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks whether there is none")]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Notes that relations with the columns from number `first` on are computed wherever they are read.
    pub fn keep_apart(&mut self, first: usize) {
        self.apart.push(first as u32..self.all.len() as u32);
    }

    /// Whether a column is one of those.
    pub fn is_apart(&self, id: ColumnId) -> bool {
        self.apart.iter().any(|range| range.contains(&id.0))
    }

    /// An expression that reads the column.
    pub fn read(&self, id: ColumnId) -> Expr {
        Expr { kind: Kind::Column(id), data_type: self.get(id).data_type.clone() }
    }
}

/// A bound statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// All columns.
    pub columns: Columns,
    /// What is computed before the rest, in the order in which it is run: each stage may use what those before it give.
    pub stages: Vec<Stage>,
    /// The rows of the result.
    pub root: Rel,
    /// The columns of the result, in their order.
    pub output: Vec<ColumnId>,
}

/// A relation: an operator over its inputs.
#[derive(Debug, Clone, PartialEq)]
pub enum Rel {
    /// Reads a table.
    Scan(Scan),
    /// Rows of expressions without columns of this relation.
    Values(Values),
    /// Keeps the rows for which each predicate is true. Predicates that can fail are evaluated in their order, each on
    /// the rows that those before it leave.
    Filter(Filter),
    /// Computes columns beside those of its input.
    Map(Map),
    /// Joins two inputs.
    Join(Join),
    /// Groups and aggregates: gives the keys and the results.
    Aggregate(Aggregate),
    /// Computes functions over windows beside the columns of its input.
    Window(Window),
    /// Gives each row once for each grouping set.
    Expand(Expand),
    /// Sorts.
    Sort(Sort),
    /// Keeps a range of rows.
    Limit(Limit),
    /// All rows of all inputs.
    Union(Union),
    /// Gives each row as often as a column says.
    Repeat(Repeat),
    /// Gives each row once for each item of lists.
    Unnest(Unnest),
    /// Reads the rows of a stage.
    Shared(Shared),
}

/// A user's command that reads lines and prints tab-separated rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Transform {
    /// The command, run by `sh -c`.
    pub command: String,
    /// The columns that it prints.
    pub schema: SchemaRef,
}

/// Reads a table.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The table.
    pub table: Arc<Table>,
    /// The command that the lines of its files are streamed through.
    pub transform: Option<Transform>,
    /// The number of each column, by its position in the table, or in what the command prints.
    pub columns: Vec<ColumnId>,
    /// Necessary conditions that are evaluated above, for zone maps.
    pub bounds: Vec<Expr>,
    /// At most this many rows are wanted.
    pub fetch: Option<usize>,
}

impl PartialEq for Scan {
    /// Numbers of columns tell instances of a table apart.
    fn eq(&self, other: &Self) -> bool {
        self.columns == other.columns
            && self.bounds == other.bounds
            && self.fetch == other.fetch
            && self.transform == other.transform
            && Arc::ptr_eq(&self.table, &other.table)
    }
}

/// Rows of expressions.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    /// The columns.
    pub columns: Vec<ColumnId>,
    /// For each row an expression a column, of the column's type.
    pub rows: Vec<Vec<Expr>>,
}

impl Values {
    /// One row without columns.
    pub fn one() -> Rel {
        Rel::Values(Values { columns: vec![], rows: vec![vec![]] })
    }

    /// No row of these columns.
    pub fn none(columns: Vec<ColumnId>) -> Rel {
        Rel::Values(Values { columns, rows: vec![] })
    }
}

/// Keeps rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// Where the rows come from.
    pub input: Box<Rel>,
    /// The conditions, in the order of evaluation. NULL counts as false.
    pub predicates: Vec<Expr>,
}

/// Computes columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    /// Where the rows come from.
    pub input: Box<Rel>,
    /// The columns computed. None reads another one of the same list.
    pub exprs: Vec<(ColumnId, Expr)>,
}

/// Which rows a join gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and each left row without one beside NULLs.
    Left,
    /// Pairs, and the rows of both sides without one beside NULLs.
    Full,
    /// Left rows with a match.
    Semi,
    /// Left rows without a match.
    Anti,
    /// Left rows without a match, as of `NOT IN`. There are none if a key of the right side is NULL and a left row has
    /// no match. There are none either if a key of the left row is NULL and the right side has rows. The predicates are
    /// one equality.
    AntiNullAware,
    /// Each left row once, with whether it has a match: true or false.
    Mark(ColumnId),
    /// Each left row once, beside the only match or NULLs. Several matches are an error.
    Single,
}

impl JoinKind {
    /// Whether the columns of the right side are given.
    pub fn gives_right(self) -> bool {
        matches!(self, JoinKind::Inner | JoinKind::Left | JoinKind::Full | JoinKind::Single)
    }
}

/// Joins two inputs. The right one may read columns of the left one: such a join is *dependent*, and a rule takes it apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// Which rows are given.
    pub kind: JoinKind,
    /// The left input.
    pub left: Box<Rel>,
    /// The right input.
    pub right: Box<Rel>,
    /// What makes two rows a match: each must be true. In the order of evaluation.
    pub predicates: Vec<Expr>,
}

/// Groups and aggregates.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// Where the rows come from.
    pub input: Box<Rel>,
    /// The keys, columns of the input. Without any there is one group, of no rows too.
    pub keys: Vec<ColumnId>,
    /// What is computed for each group.
    pub calls: Vec<(ColumnId, Call)>,
    /// The values of the keys of groups that are given for no rows too: those of empty grouping sets.
    pub totals: Vec<Vec<ScalarValue>>,
}

/// A call of an aggregate.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The function.
    pub function: Arc<AggregateUDF>,
    /// Its arguments, of the types that it takes.
    pub args: Vec<Expr>,
    /// Whether it is given each value once.
    pub distinct: bool,
    /// Only rows for which this is true count.
    pub filter: Option<Expr>,
    /// The order in which it is given the rows.
    pub order_by: Vec<SortKey>,
    /// Whether NULLs are passed over; `None` where the function decides.
    pub ignore_nulls: Option<bool>,
}

/// A key of an order.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    /// The value.
    pub expr: Expr,
    /// Whether the greatest comes first.
    pub descending: bool,
    /// Whether NULLs come first.
    pub nulls_first: bool,
}

/// Gives each row once for each grouping set.
#[derive(Debug, Clone, PartialEq)]
pub struct Expand {
    /// Where the rows come from.
    pub input: Box<Rel>,
    /// The keys: a new column that is NULL where the set leaves the key out, and the column of the input.
    pub keys: Vec<(ColumnId, ColumnId)>,
    /// For each set the positions of its keys.
    pub sets: Vec<Vec<usize>>,
    /// What tells the sets apart, a 64-bit unsigned integer. It has a bit for each key, the first key's the most
    /// significant, 1 where it is left out. Above them is the number of earlier sets with the same bits.
    pub id: ColumnId,
}

/// Sorts.
#[derive(Debug, Clone, PartialEq)]
pub struct Sort {
    /// Where the rows come from.
    pub input: Box<Rel>,
    /// The keys, the most significant first.
    pub keys: Vec<SortKey>,
    /// The rows wanted.
    pub fetch: Option<usize>,
}

/// Keeps a range of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Where the rows come from.
    pub input: Box<Rel>,
    /// Rows passed over.
    pub skip: usize,
    /// The rows wanted behind them.
    pub fetch: Option<usize>,
}

/// All rows of all inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Union {
    /// The columns given.
    pub columns: Vec<ColumnId>,
    /// Each input, and which of its columns are the ones given, of the same types.
    pub inputs: Vec<(Rel, Vec<ColumnId>)>,
}

/// Gives each row as often as a column says.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeat {
    /// Where the rows come from.
    pub input: Box<Rel>,
    /// A 64-bit integer above 0.
    pub times: ColumnId,
}

/// Gives each row once for each item of lists.
#[derive(Debug, Clone, PartialEq)]
pub struct Unnest {
    /// Where the rows come from.
    pub input: Box<Rel>,
    /// The lists, which are taken apart side by side, each with the column of its items. The items of a list that is
    /// shorter than another one, or NULL, are NULL from there on.
    pub lists: Vec<(ColumnId, Expr)>,
    /// The column of the items' place, a 64-bit integer from 1 on.
    pub place: Option<ColumnId>,
    /// Whether a row of which no list has an item is given once, with NULLs.
    pub keeps: bool,
}

impl Unnest {
    /// The columns that it makes.
    pub fn made(&self) -> impl Iterator<Item = ColumnId> {
        self.lists.iter().map(|(id, _)| *id).chain(self.place)
    }
}
