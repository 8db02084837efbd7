//! The groups of an aggregation, and the states of their aggregates.

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use datafusion_expr::{EmitTo, GroupsAccumulator};
use queries::plan::Aggregate as Plan;

use super::accumulators;
use super::keys::{self, GroupKeys};
use super::radix_partitioner::SHARE;
use crate::context::memory;
use crate::dataflow::batch::BATCH_ROWS;
use crate::error::Result;

/// A table of no more groups than these is worth giving away only if they are large.
const FEW_GROUPS: usize = 1 << 12;
/// What is taken out together is copied so many times: by partition, to be a partition's own, and on its way to the disk.
const COPIES: usize = 3;
/// So many workers take groups out at the same time: they come to it together.
const TOGETHER: usize = 2;

/// Groups by their keys, and an accumulator for each aggregate.
pub struct Table {
    pub keys: Box<dyn GroupKeys>,
    pub accumulators: Vec<Box<dyn GroupsAccumulator>>,
    /// Of each row that was interned last.
    pub groups: Vec<usize>,
}

impl Table {
    /// An empty one.
    pub fn new(plan: &Plan, input: &SchemaRef) -> Result<Table> {
        let types =
            plan.keys.iter().map(|k| k.data_type(input)).collect::<std::result::Result<Vec<_>, _>>()?;
        let empty = plan.global || !plan.totals.is_empty();
        let accumulators = plan.aggregates.iter().map(|c| accumulators::accumulator(&c.function, empty));
        let accumulators = accumulators.collect::<Result<Vec<_>>>()?;
        Ok(Table { keys: keys::group_keys(plan.layout, &types)?, accumulators, groups: Vec::new() })
    }

    /// The groups of rows with these keys, in `groups`; gives how many there are now.
    pub fn intern(&mut self, keys: &[ArrayRef], rows: usize) -> Result<usize> {
        memory::check(self.keys.growth(rows), || "aggregate".into())?;
        self.keys.intern(keys, rows, &mut self.groups)?;
        Ok(self.keys.len())
    }

    /// Takes the groups out: keys, then states, and how many.
    pub fn take_states(&mut self) -> Result<(Vec<ArrayRef>, usize)> {
        let rows = self.keys.len();
        let mut columns = self.keys.take()?;
        for accumulator in &mut self.accumulators {
            columns.extend(accumulator.state(EmitTo::All)?);
        }
        Ok((columns, rows))
    }

    /// Whether the memory would be short if it grew, or while its groups are taken out, and it is worth that: a partial
    /// one is given away then, and in partitions the groups of another one can be put on disk. They are taken out `most`
    /// bytes together.
    pub fn makes_short(&self, most: usize) -> bool {
        if !memory::is_scarce() {
            return false;
        }
        let (groups, bytes) = (self.keys.len(), self.bytes());
        if groups <= FEW_GROUPS && (bytes as u64) < memory::limit() / SHARE {
            return false;
        }
        let more = TOGETHER * (bytes + COPIES * bytes.min(most));
        memory::is_short(self.keys.growth(BATCH_ROWS).max(more) as u64)
    }

    /// What it takes, about.
    pub fn bytes(&self) -> usize {
        self.keys.bytes() + self.accumulators.iter().map(|a| a.size()).sum::<usize>()
    }
}
