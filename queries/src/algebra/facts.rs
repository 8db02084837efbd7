//! What is known of rows before they are read; [`crate::estimates`] makes it.

/// What is known of the rows of a stage before it is run.
#[derive(Debug)]
pub struct Facts {
    /// About how many there are.
    pub rows: f64,
    /// About how many there would be if no filter was below.
    pub whole: f64,
    /// Whether the numbers of rows of all tables below are known, or guessed from their first records.
    pub is_known: bool,
    /// What is known of each column.
    pub columns: Vec<Spread>,
    /// The places of columns of which no two rows have the same values; none if there is one row at most. `None` where it
    /// is not known.
    pub keys: Option<Vec<usize>>,
}

/// What is known of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// About how many there are where nothing is filtered. That is no more than rows, and of whole numbers no more than
    /// lie between the least and the greatest one.
    pub whole: f64,
    /// What that number is.
    pub number: Number,
    /// Which part of them filters on the column have left.
    pub kept: f64,
    /// From which to which they go, where that is known; in the unit of [`schema::Table::spans`].
    pub span: Option<(f64, f64)>,
    /// Whether that is the span of a sample, outside of which values may lie.
    pub is_sampled: bool,
    /// No more rows than these have had them, at any place below.
    pub most: f64,
}

/// What a number of values is, the least that is known of it first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Number {
    /// That of the rows: nothing is known of the values.
    OfRows,
    /// The most that there may be, from a span or a sample.
    Most,
    /// About how many there are: a footer tells it, or values that repeat.
    Counted,
}
