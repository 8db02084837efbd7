//! Functions over windows: for each row, what is computed of the rows of its partition.

use std::fmt;
use std::sync::Arc;

use datafusion_expr::AggregateUDF;

use super::{ColumnId, Expr, Rel, SortKey};

/// Computes functions over windows, as columns beside those of its input. The rows stay what they are.
///
/// All calls of a node have one partition, and the order of each begins that of the node: one sort serves all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Where the rows come from.
    pub input: Box<Rel>,
    /// Rows that are equal in these are a partition; all rows without any.
    pub partition: Vec<Expr>,
    /// The order of the rows of a partition.
    pub order: Vec<SortKey>,
    /// What is computed.
    pub calls: Vec<(ColumnId, WindowCall)>,
}

impl Window {
    /// Its expressions.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let order = self.order.iter().map(|key| &key.expr);
        self.partition.iter().chain(order).chain(self.calls.iter().flat_map(|(_, call)| call.exprs()))
    }

    /// Its expressions, to be changed.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let order = self.order.iter_mut().map(|key| &mut key.expr);
        let calls = self.calls.iter_mut().flat_map(|(_, call)| call.exprs_mut());
        self.partition.iter_mut().chain(order).chain(calls)
    }
}

/// A call of a function over a window.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// The function.
    pub function: WindowFunction,
    /// Its arguments, of the types that it takes.
    pub args: Vec<Expr>,
    /// How many keys of the node's order are its own. Rows that are equal in them are peers.
    pub order: usize,
    /// Which rows of the partition it sees.
    pub frame: Frame,
    /// Of an aggregate: only rows for which this is true count.
    pub filter: Option<Expr>,
    /// Of an aggregate: whether it is given each value once.
    pub distinct: bool,
    /// Whether NULLs are passed over.
    pub ignore_nulls: bool,
    /// Of an aggregate of values in an order, such as `percentile_cont`: whether the order of its first argument descends.
    pub within: Vec<bool>,
}

impl WindowCall {
    /// A function of all rows of the partition, of which `order` keys of the node's order are its own.
    pub fn new(function: WindowFunction, args: Vec<Expr>, order: usize) -> WindowCall {
        WindowCall {
            function,
            args,
            order,
            frame: Frame::whole(),
            filter: None,
            distinct: false,
            ignore_nulls: false,
            within: vec![],
        }
    }

    /// Its expressions.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.args.iter().chain(&self.filter).chain(self.frame.exprs())
    }

    /// Its expressions, to be changed.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.args.iter_mut().chain(&mut self.filter).chain(self.frame.exprs_mut())
    }
}

/// A function over a window.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowFunction {
    /// The number of the row in its partition, from 1.
    RowNumber,
    /// The number of the first of its peers.
    Rank,
    /// The number of its group of peers, from 1.
    DenseRank,
    /// `(rank - 1) / (rows - 1)`, 0 of a single row.
    PercentRank,
    /// Which part of the rows comes before or is a peer.
    CumeDist,
    /// The number of the row's bucket, of so many about equal ones.
    Ntile,
    /// The value some rows before: value, how many rows, and what is given where there is none.
    Lag,
    /// The value some rows behind, with the same arguments.
    Lead,
    /// The value of the frame's first row.
    FirstValue,
    /// The value of the frame's last row.
    LastValue,
    /// The value of the frame's row of this number, from 1.
    NthValue,
    /// An aggregate of the frame's rows.
    Aggregate(Arc<AggregateUDF>),
}

impl WindowFunction {
    /// The function of this name, in lower case, that is no aggregate.
    pub fn named(name: &str) -> Option<WindowFunction> {
        Some(match name {
            "row_number" => WindowFunction::RowNumber,
            "rank" => WindowFunction::Rank,
            "dense_rank" | "rank_dense" => WindowFunction::DenseRank,
            "percent_rank" => WindowFunction::PercentRank,
            "cume_dist" => WindowFunction::CumeDist,
            "ntile" => WindowFunction::Ntile,
            "lag" => WindowFunction::Lag,
            "lead" => WindowFunction::Lead,
            "first_value" | "first" => WindowFunction::FirstValue,
            "last_value" | "last" => WindowFunction::LastValue,
            "nth_value" => WindowFunction::NthValue,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            WindowFunction::RowNumber => "row_number",
            WindowFunction::Rank => "rank",
            WindowFunction::DenseRank => "dense_rank",
            WindowFunction::PercentRank => "percent_rank",
            WindowFunction::CumeDist => "cume_dist",
            WindowFunction::Ntile => "ntile",
            WindowFunction::Lag => "lag",
            WindowFunction::Lead => "lead",
            WindowFunction::FirstValue => "first_value",
            WindowFunction::LastValue => "last_value",
            WindowFunction::NthValue => "nth_value",
            WindowFunction::Aggregate(function) => function.name(),
        }
    }

    /// Whether it sees the rows of the frame, and not those of the whole partition.
    pub fn has_frame(&self) -> bool {
        matches!(
            self,
            WindowFunction::FirstValue
                | WindowFunction::LastValue
                | WindowFunction::NthValue
                | WindowFunction::Aggregate(_)
        )
    }
}

/// Which rows around a row a function sees.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// What the bounds count.
    pub units: Units,
    /// Where it begins.
    pub start: Bound,
    /// Where it ends; that row belongs to it.
    pub end: Bound,
    /// Which rows are left out.
    pub exclude: Exclude,
    /// What the values of [`Bound::Value`] are compared with: the key of the order, as a value of their type.
    pub key: Option<Expr>,
}

impl Frame {
    /// All rows of the partition.
    pub fn whole() -> Frame {
        let (start, end) = (Bound::First, Bound::Last);
        Frame { units: Units::Range, start, end, exclude: Exclude::Nothing, key: None }
    }

    /// Its expressions.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.key.iter().chain(self.start.value()).chain(self.end.value())
    }

    /// Its expressions, to be changed.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.key.iter_mut().chain(self.start.value_mut()).chain(self.end.value_mut())
    }

    /// Whether it is the whole partition for every row.
    pub fn is_whole(&self) -> bool {
        self.start == Bound::First && self.end == Bound::Last && self.exclude == Exclude::Nothing
    }
}

/// What the bounds of a frame count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Units {
    /// Rows.
    Rows,
    /// Differences of the only key of the order.
    Range,
    /// Groups of peers.
    Groups,
}

/// A bound of a frame.
#[derive(Debug, Clone, PartialEq)]
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
    /// Of RANGE: the first row, or the last one, whose key is not beyond this value.
    Value(Expr),
}

impl Bound {
    /// The value that keys are compared with.
    pub fn value(&self) -> Option<&Expr> {
        if let Bound::Value(value) = self { Some(value) } else { None }
    }

    fn value_mut(&mut self) -> Option<&mut Expr> {
        if let Bound::Value(value) = self { Some(value) } else { None }
    }
}

/// Which rows a frame leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclude {
    /// None (`NO OTHERS`).
    Nothing,
    /// The row itself.
    CurrentRow,
    /// The row and its peers.
    Group,
    /// The row's peers, and not itself.
    Ties,
}

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Units::Rows => "rows",
            Units::Range => "range",
            Units::Groups => "groups",
        })
    }
}

impl fmt::Display for Exclude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Exclude::Nothing => "",
            Exclude::CurrentRow => " exclude current row",
            Exclude::Group => " exclude group",
            Exclude::Ties => " exclude ties",
        })
    }
}
