//! The groups of an aggregation, and the states of their aggregates.

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use datafusion_expr::{EmitTo, GroupsAccumulator};
use queries::plan::Aggregate as Plan;

use super::accumulators;
use super::radix_partitioner::SHARE;
use crate::context::memory;
use crate::dataflow::batch::BATCH_ROWS;
use crate::error::Result;
use crate::state::group_keys::{GroupKeys, group_keys};

/// A table of at most so many groups is worth taking out only if its groups are large.
const FEW_GROUPS: usize = 1 << 12;
/// States that are taken out together are copied so many times: by partition, into the partition's own memory, and on
/// their way to the disk.
const COPIES: usize = 3;
/// The number of workers that take groups out at the same time, because they reach that point together.
const TOGETHER: usize = 2;

/// The groups by their keys, and an accumulator for each aggregate.
pub struct Table {
    pub keys: Box<dyn GroupKeys>,
    pub accumulators: Vec<Box<dyn GroupsAccumulator>>,
    /// The group number of each row of the last [`Table::intern`].
    pub groups: Vec<usize>,
}

impl Table {
    /// An empty table.
    pub fn new(plan: &Plan, input: &SchemaRef) -> Result<Table> {
        let types =
            plan.keys.iter().map(|k| k.data_type(input)).collect::<std::result::Result<Vec<_>, _>>()?;
        let empty = plan.global || !plan.totals.is_empty();
        let accumulators = plan.aggregates.iter().map(|c| accumulators::accumulator(&c.function, empty));
        let accumulators = accumulators.collect::<Result<Vec<_>>>()?;
        Ok(Table { keys: group_keys(plan.layout, &types)?, accumulators, groups: Vec::new() })
    }

    /// Writes the group numbers of rows with these keys to `groups`. Gives the number of groups.
    pub fn intern(&mut self, keys: &[ArrayRef], rows: usize) -> Result<usize> {
        memory::check(self.keys.growth(rows), || "aggregate".into())?;
        self.keys.intern(keys, rows, &mut self.groups)?;
        Ok(self.keys.len())
    }

    /// Takes the groups out: the columns of keys, then those of states, and the number of groups.
    pub fn take_states(&mut self) -> Result<(Vec<ArrayRef>, usize)> {
        let rows = self.keys.len();
        let mut columns = self.keys.take()?;
        for accumulator in &mut self.accumulators {
            columns.extend(accumulator.state(EmitTo::All)?);
        }
        Ok((columns, rows))
    }

    /// Whether memory would be short if the table grew, or while its groups are taken out, `most` bytes together. False
    /// if the table is too small to be worth that.
    ///
    /// If true, a partial phase gives its groups away. Another phase moves its groups into partitions, which it can
    /// spill.
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

    /// The bytes in use, about.
    pub fn bytes(&self) -> usize {
        self.keys.bytes() + self.accumulators.iter().map(|a| a.size()).sum::<usize>()
    }
}
