//! Which rows the frame of a row has.

use std::cmp::Ordering;
use std::ops::Range;

use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::SortOptions;
use queries::plan::{Bound, Exclude, Frame, Units};

use super::Inputs;
use super::block::Block;
use crate::error::Result;
use crate::state::hash::comparable;

/// What the frames of a call are.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Their bounds.
    pub frame: Frame,
    /// How many keys of the order make rows peers.
    pub keys: usize,
    /// The direction of the first key.
    pub options: SortOptions,
}

impl Spec {
    /// Whether frames are rows without a gap.
    pub fn is_whole(&self) -> bool {
        self.frame.exclude == Exclude::Nothing
    }

    fn needs_peers(&self) -> bool {
        self.frame.units != Units::Rows || matches!(self.frame.exclude, Exclude::Group | Exclude::Ties)
    }
}

/// The rows of a frame: those of a range, without those of a gap within it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The range.
    pub rows: Range<usize>,
    /// The gap, within the range.
    pub gap: Range<usize>,
    /// A row of the gap that belongs to the frame.
    pub kept: Option<usize>,
}

impl Span {
    /// The rows in their order, as ranges of which some may be empty.
    pub fn parts(&self) -> [Range<usize>; 3] {
        let Range { start, end } = self.rows;
        if self.gap.is_empty() {
            return [start..end, end..end, end..end];
        }
        let kept = self.kept.map_or(self.gap.end..self.gap.end, |row| row..row + 1);
        [start..self.gap.start, kept, self.gap.end..end]
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len() - self.gap.len() + usize::from(self.kept.is_some())
    }
}

/// Compares the keys of a block with the values of a bound, in the order of the window.
type Compare = Option<DynComparator>;

/// The frames of the rows of one block. Bounds move on with the rows, so that each is found in constant time.
#[derive(Default)]
pub struct Frames {
    start: Compare,
    end: Compare,
    /// The partition at hand, and where the bounds of values are in it.
    partition: Range<usize>,
    at: (usize, usize),
}

impl Frames {
    /// The frames of a block.
    pub fn new(spec: &Spec, inputs: &Inputs, block: &Block) -> Result<Frames> {
        let column = |place: usize| comparable(block.inputs[place].clone());
        let compare = |bound: Option<usize>| -> Result<Compare> {
            let (Some(key), Some(bound)) = (inputs.key, bound) else { return Ok(None) };
            Ok(Some(make_comparator(&column(key), &column(bound), spec.options)?))
        };
        let (start, end) = (compare(inputs.start)?, compare(inputs.end)?);
        Ok(Frames { start, end, partition: 0..0, at: (0, 0) })
    }

    /// Calls `visit` with the frame of each of the rows.
    pub fn each(
        &mut self,
        spec: &Spec,
        block: &Block,
        rows: Range<usize>,
        mut visit: impl FnMut(usize, &Span) -> Result<()>,
    ) -> Result<()> {
        for (partition, rows) in block.segments(rows) {
            if self.partition != partition {
                self.at = (partition.start, partition.start);
                self.partition = partition.clone();
            }
            let (mut group, peers) = match spec.needs_peers() {
                true => block.group(spec.keys, rows.start),
                false => (0, [].as_slice()),
            };
            let first_group = peers.partition_point(|start| (*start as usize) < partition.start);
            let mut own = if spec.needs_peers() { block.rows_of(peers, group) } else { 0..0 };
            for row in rows {
                if spec.needs_peers() && row >= own.end {
                    group += 1;
                    own = block.rows_of(peers, group);
                }
                let groups = Groups { block, peers, group, first: first_group, own: &own };
                let span = self.span(spec, row, &partition, &groups);
                visit(row, &span)?;
            }
        }
        Ok(())
    }

    fn span(&mut self, spec: &Spec, row: usize, partition: &Range<usize>, groups: &Groups) -> Span {
        let start = match &spec.frame.start {
            Bound::First => partition.start,
            Bound::Last => partition.end,
            Bound::Value(_) => self.first_not_before(row, partition),
            bound if spec.frame.units == Units::Rows => counted(bound, row, partition),
            Bound::Current => groups.own.start,
            Bound::Before(n) => groups.before(*n).map_or(partition.start, |rows| rows.start),
            Bound::After(n) => groups.behind(*n, partition).map_or(partition.end, |rows| rows.start),
        };
        let end = match &spec.frame.end {
            Bound::First => partition.start,
            Bound::Last => partition.end,
            Bound::Value(_) => self.first_behind(row, partition),
            bound if spec.frame.units == Units::Rows => match bound {
                Bound::Before(n) if *n > (row - partition.start) as u64 => partition.start,
                bound => (counted(bound, row, partition) + 1).min(partition.end),
            },
            Bound::Current => groups.own.end,
            Bound::Before(n) => groups.before(*n).map_or(partition.start, |rows| rows.end),
            Bound::After(n) => groups.behind(*n, partition).map_or(partition.end, |rows| rows.end),
        };
        let rows = start..end.max(start);
        let within = |gap: Range<usize>| {
            let gap = gap.start.max(rows.start)..gap.end.min(rows.end);
            if gap.is_empty() { rows.end..rows.end } else { gap }
        };
        let (gap, kept) = match spec.frame.exclude {
            Exclude::Nothing => (rows.end..rows.end, None),
            Exclude::CurrentRow => (within(row..row + 1), None),
            Exclude::Group => (within(groups.own.clone()), None),
            Exclude::Ties => (within(groups.own.clone()), Some(row).filter(|row| rows.contains(row))),
        };
        Span { rows, gap, kept }
    }

    /// The first row of the partition whose key is not before the value of the start.
    fn first_not_before(&mut self, row: usize, partition: &Range<usize>) -> usize {
        if let Some(compare) = &self.start {
            while self.at.0 < partition.end && compare(self.at.0, row) == Ordering::Less {
                self.at.0 += 1;
            }
        }
        self.at.0
    }

    /// The first row of the partition whose key is behind the value of the end.
    fn first_behind(&mut self, row: usize, partition: &Range<usize>) -> usize {
        if let Some(compare) = &self.end {
            while self.at.1 < partition.end && compare(self.at.1, row) != Ordering::Greater {
                self.at.1 += 1;
            }
        }
        self.at.1
    }
}

/// The row that a bound of ROWS counts to; the partition's end if it is behind that.
fn counted(bound: &Bound, row: usize, partition: &Range<usize>) -> usize {
    let far = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    match bound {
        Bound::Before(n) => row.saturating_sub(far(*n)).max(partition.start),
        Bound::After(n) => row.saturating_add(far(*n)).min(partition.end),
        _ => row,
    }
}

/// The groups of peers of a partition.
struct Groups<'a> {
    block: &'a Block,
    peers: &'a [u32],
    /// The row's own.
    group: usize,
    /// The partition's first one.
    first: usize,
    /// The rows of the row's own.
    own: &'a Range<usize>,
}

impl Groups<'_> {
    /// The group so many before.
    fn before(&self, n: u64) -> Option<Range<usize>> {
        let group = self.group.checked_sub(usize::try_from(n).ok()?)?;
        (group >= self.first).then(|| self.block.rows_of(self.peers, group))
    }

    /// The group so many behind.
    fn behind(&self, n: u64, partition: &Range<usize>) -> Option<Range<usize>> {
        let group = self.group.checked_add(usize::try_from(n).ok()?)?;
        let rows = self.block.rows_of(self.peers, group);
        (group < self.peers.len() && rows.start < partition.end).then_some(rows)
    }
}
