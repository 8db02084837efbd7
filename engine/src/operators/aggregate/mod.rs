//! Groups rows and aggregates them.
//!
//! - `table`: the groups, and the states of their aggregates.
//! - [`partitions`]: many groups, merged one partition at a time. `radix_partitioner` and `write_combining`: rows of
//!   fixed width by partition.
//! - [`accumulators`]: the accumulator of each call.
//! - `heavy_hitters`: keys that many rows have, for a partial phase that passes rows on.
//! - [`distinct`]: aggregates of the distinct values of a group.

pub mod accumulators;
pub mod distinct;
mod heavy_hitters;
pub mod partitions;
mod radix_partitioner;
mod table;
mod write_combining;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_expr::EmitTo;
use queries::accumulators::comparable;
use queries::plan::{Aggregate as Plan, AggregateCall, AggregateFunction, Expr, Phase};

use super::{Ready, evaluate, evaluate_all, rows_of, slices};
use crate::context::memory;
use crate::context::query::QueryState;
use crate::dataflow::batch::{ExchangeBatch, batch_of};
use crate::dataflow::operator::{Operator, Pull};
use crate::error::Result;
use crate::state::hash::{hash_columns, normalise, worker_of};
use heavy_hitters::HeavyHitters;
use partitions::Partitions;
use table::Table;

/// A partial phase gives its groups away when it has so many, and starts with an empty table. So the table stays in the
/// cache.
const PARTIAL_GROUPS: usize = 1 << 16;
/// A final or single phase goes on in partitions when it has more groups than this.
const FINAL_GROUPS: usize = 1 << 17;
/// A phase that passes rows on gives the states of heavy keys away when they take so many bytes. States of distinct
/// values may grow.
const HEAVY_BYTES: usize = 4 << 20;
/// A partial phase that has more groups than this part of its rows goes on in partitions, or stops combining if memory
/// is scarce. A state that it gives away costs several times what a row costs here.
const REDUCES: f64 = 0.4;

/// The groups of a partition may take so many times the bytes that it has on disk. The bytes are those of a
/// table, and of the rows that are made of it.
const ROOM: u64 = 3;

/// One phase of an aggregation.
pub struct Aggregate {
    phase: Phase,
    keys: Vec<Expr>,
    calls: Vec<AggregateCall>,
    global: bool,
    index: usize,
    peers: usize,
    spread: bool,
    schema: SchemaRef,
    table: Table,
    plan: Plan,
    input: SchemaRef,
    rows_in: usize,
    groups_out: usize,
    /// Watches for heavy keys, once the phase passes rows on.
    passing: Option<HeavyHitters>,
    partitions: Option<Partitions>,
    /// The number of groups of the partition that was combined last.
    groups_of_part: usize,
    /// The schema of the keys and states of groups. A final phase takes them and a partial phase gives them.
    states: SchemaRef,
    merging: bool,
    ready: Ready,
    state: Arc<QueryState>,
}

/// The place of an aggregation among the workers.
#[derive(Debug, Clone, Copy)]
pub struct Placement {
    /// The number of this worker.
    pub index: usize,
    /// The number of workers.
    pub peers: usize,
    /// Whether groups are spread over the workers by the hash of their keys. If not, all are on worker 0.
    pub spread: bool,
}

impl Aggregate {
    /// Aggregates batches of `input`. Spilled bytes are counted in `state`.
    pub fn new(
        plan: &Plan,
        input: SchemaRef,
        schema: SchemaRef,
        at: Placement,
        state: Arc<QueryState>,
    ) -> Result<Aggregate> {
        let states = if plan.phase == Phase::Final { input.clone() } else { schema.clone() };
        Ok(Aggregate {
            phase: plan.phase,
            keys: plan.keys.clone(),
            calls: plan.aggregates.clone(),
            global: plan.global,
            index: at.index,
            peers: at.peers,
            spread: at.spread,
            schema,
            table: Table::new(plan, &input)?,
            plan: plan.clone(),
            input,
            rows_in: 0,
            groups_out: 0,
            passing: None,
            partitions: None,
            groups_of_part: 0,
            states,
            merging: false,
            ready: Ready::default(),
            state,
        })
    }

    /// The arguments and the filter of a call.
    fn arguments(call: &AggregateCall, batch: &RecordBatch) -> Result<(Vec<ArrayRef>, Option<BooleanArray>)> {
        let filter = call.filter.as_ref().map(|f| evaluate(f, batch)).transpose()?;
        let mut args = evaluate_all(&call.args, batch)?;
        match &call.function {
            // Distinct knows which intervals are equal, and gives intervals as they came.
            AggregateFunction::Distinct { .. } => {
                args = args.into_iter().map(normalise).collect();
            }
            AggregateFunction::General(f) => args = comparable(f, args),
            _ => {}
        }
        Ok((args, filter.map(|f| f.as_boolean().clone())))
    }

    fn absorb(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.phase == Phase::Final {
            return self.absorb_states(batch);
        }
        let columns = self.key_columns(batch)?;
        let total = self.table.intern(&columns, batch.num_rows())?;
        let table = &mut self.table;
        for (call, accumulator) in self.calls.iter().zip(&mut table.accumulators) {
            let (args, filter) = Self::arguments(call, batch)?;
            accumulator.update_batch(&args, &table.groups, filter.as_ref(), total)?;
        }
        Ok(())
    }

    /// Evaluates the keys of rows.
    fn key_columns(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        Ok(evaluate_all(&self.keys, batch)?.into_iter().map(normalise).collect())
    }

    fn absorb_states(&mut self, batch: &RecordBatch) -> Result<()> {
        let (keys, mut states) = batch.columns().split_at(self.keys.len());
        let keys: Vec<ArrayRef> = keys.iter().cloned().map(normalise).collect();
        let total = self.table.intern(&keys, batch.num_rows())?;
        let table = &mut self.table;
        for (call, accumulator) in self.calls.iter().zip(&mut table.accumulators) {
            let (own, others) = states.split_at(call.state_columns);
            accumulator.merge_batch(own, &table.groups, total)?;
            states = others;
        }
        Ok(())
    }

    /// Makes a state of each row, without a look for equal keys.
    fn states_of(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let mut columns = self.key_columns(batch)?;
        for (call, accumulator) in self.calls.iter().zip(&self.table.accumulators) {
            let (args, filter) = Self::arguments(call, batch)?;
            columns.extend(accumulators::states_of(accumulator.as_ref(), &args, filter.as_ref(), rows)?);
        }
        batch_of(&self.states, columns, rows)
    }

    /// Adds the group of an empty grouping set, which exists without rows too. The worker that owns the key adds it.
    fn add_total(&mut self, key: &[ScalarValue]) -> Result<()> {
        let key = key.iter().map(|v| v.to_array_of_size(1)).collect::<std::result::Result<Vec<_>, _>>()?;
        let mut hashes = Vec::new();
        hash_columns(&key, 1, &mut hashes)?;
        let owner = if self.spread { worker_of(hashes[0], self.peers) } else { 0 };
        if owner != self.index {
            return Ok(());
        }
        self.table.keys.intern(&key, 1, &mut self.table.groups)?;
        self.absorb(&RecordBatch::new_empty(self.input.clone()))
    }

    /// Whether the input is states, or can be turned into states row by row.
    fn gives_states(&self) -> bool {
        self.phase == Phase::Final || accumulators::all_convert(&self.calls)
    }

    /// Whether groups can be kept as states alone. They can't if there are empty grouping sets.
    fn can_partition(&self) -> bool {
        self.plan.totals.is_empty()
    }

    /// Moves the groups into partitions as states. The phase goes on in partitions.
    fn partition(&mut self) -> Result<()> {
        let (columns, rows) = self.table.take_states()?;
        self.table = Table::new(&self.plan, &self.input)?;
        if self.phase == Phase::Single {
            let fields = columns.iter().enumerate();
            let fields = fields.map(|(i, c)| Field::new(i.to_string(), c.data_type().clone(), true));
            self.states = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        }
        let (schema, keys) = (&self.states, self.keys.len());
        let partitions =
            self.partitions.get_or_insert_with(|| Partitions::new(schema.clone(), keys, self.peers));
        let states = batch_of(schema, columns, rows)?;
        slices(states, partitions::most(self.peers)).try_for_each(|states| partitions.add(&states))
    }

    /// Makes a table for the groups of a partition. It has room for as many groups as the last partition had, and an
    /// eighth more: all partitions have about as many.
    fn begin_partition(&mut self) -> Result<()> {
        self.table = Table::new(&self.plan, &self.input)?;
        self.table.keys.reserve(self.groups_of_part + self.groups_of_part / 8);
        Ok(())
    }

    /// Combines the states of a partition that has many states.
    fn combine(&mut self) -> Result<()> {
        let Some((part, states)) = self.partitions.as_mut().and_then(Partitions::ripe) else { return Ok(()) };
        self.begin_partition()?;
        states.iter().try_for_each(|batch| self.absorb_states(batch))?;
        self.groups_of_part = self.table.keys.len();
        let (columns, rows) = self.table.take_states()?;
        let combined = batch_of(&self.states, columns, rows)?;
        let Some(partitions) = &mut self.partitions else { return Ok(()) };
        partitions.back(part, combined);
        Ok(())
    }

    /// Spills states if `more` bytes would make memory short. True if there may be more to spill. A partial phase gives
    /// its states away instead.
    fn spill(&mut self, more: u64) -> Result<bool> {
        let is_wanted = || self.phase != Phase::Partial && memory::is_short(more);
        let Some(partitions) = self.partitions.as_mut().filter(|_| is_wanted()) else { return Ok(false) };
        let spilled = partitions.spill()?;
        self.state.bytes_spilled.fetch_add(spilled, Ordering::Relaxed);
        Ok(spilled > 0 && !self.state.stopped())
    }

    /// Gives the states away that a partial phase has in partitions. From now on the phase passes rows on.
    fn pass_on(&mut self) -> Result<()> {
        let Some(mut partitions) = self.partitions.take() else { return Ok(()) };
        partitions.end()?;
        // The states of heavy keys have been combined.
        while partitions.advance()? {
            while let Some(states) = partitions.batch()? {
                self.ready.add(states);
            }
        }
        self.begin_to_pass()
    }

    /// Passes rows on from now on.
    fn begin_to_pass(&mut self) -> Result<()> {
        self.table = Table::new(&self.plan, &self.input)?;
        self.passing = Some(HeavyHitters::new(self.keys.len(), self.peers));
        Ok(())
    }

    /// Passes states on. The states of heavy keys are combined before.
    fn pass(&mut self, states: RecordBatch) -> Result<()> {
        let Some(passing) = &mut self.passing else { return Ok(()) };
        let (others, heavy) = passing.split(states)?;
        self.ready.add(others);
        let Some(heavy) = heavy else { return Ok(()) };
        self.absorb_states(&heavy)?;
        if self.table.bytes() > HEAVY_BYTES {
            self.emit()?;
            self.table = Table::new(&self.plan, &self.input)?;
        }
        Ok(())
    }

    /// Merges the next partition. `false` once there is none.
    fn merge_next(&mut self) -> Result<bool> {
        let Some(partitions) = self.partitions.as_ref().filter(|_| self.merging) else { return Ok(false) };
        // The states on disk need memory when they come back.
        let room = partitions.on_disk() * ROOM;
        while self.spill(room)? {}
        if !self.partitions.as_mut().map_or(Ok(false), Partitions::advance)? {
            return Ok(false);
        }
        self.begin_partition()?;
        while let Some(states) = self.partitions.as_mut().map_or(Ok(None), Partitions::batch)? {
            self.absorb_states(&states)?;
        }
        self.groups_of_part = self.table.keys.len();
        self.emit()?;
        Ok(true)
    }

    /// Gives all groups, and empties the table.
    fn emit(&mut self) -> Result<()> {
        let rows = self.table.keys.len();
        if rows == 0 {
            return Ok(());
        }
        self.groups_out += rows;
        memory::check(self.table.bytes() / 2, || "aggregate".into())?;
        let mut columns = self.table.keys.take()?;
        for accumulator in &mut self.table.accumulators {
            match self.phase {
                Phase::Partial => columns.extend(accumulator.state(EmitTo::All)?),
                Phase::Final | Phase::Single => columns.push(accumulator.evaluate(EmitTo::All)?),
            }
        }
        let groups = batch_of(&self.schema, columns, rows)?;
        slices(groups, partitions::most(self.peers)).for_each(|b| self.ready.add(b));
        Ok(())
    }
}

impl Operator for Aggregate {
    fn push(&mut self, _port: usize, given: ExchangeBatch) -> Result<()> {
        let batch = rows_of(&given);
        self.rows_in += batch.num_rows();
        if self.passing.is_some() {
            let states = self.states_of(batch)?;
            return self.pass(states);
        }
        if self.partitions.is_some() && self.gives_states() {
            let states = if self.phase == Phase::Final { batch.clone() } else { self.states_of(batch)? };
            if let Some(partitions) = &mut self.partitions {
                partitions.add(&states)?;
            }
            self.combine()?;
            self.spill(0)?;
            let combines = self.partitions.as_ref().is_some_and(Partitions::combines);
            if self.phase == Phase::Partial && (!combines || memory::is_scarce() || memory::is_short(0)) {
                self.pass_on()?;
            }
            return Ok(());
        }
        self.absorb(batch)?;
        let groups = self.table.keys.len();
        let is_short = || !self.plan.global && self.table.makes_short(partitions::most(self.peers));
        match self.phase {
            Phase::Final | Phase::Single
                if (groups > FINAL_GROUPS && self.gives_states() || is_short()) && self.can_partition() =>
            {
                self.partition()?;
                self.spill(0)?;
                Ok(())
            }
            Phase::Partial if groups >= PARTIAL_GROUPS || is_short() => {
                let reduces = (self.groups_out + groups) as f64 <= self.rows_in as f64 * REDUCES;
                if !reduces && !memory::is_scarce() && self.can_partition() && self.gives_states() {
                    return self.partition();
                }
                self.emit()?;
                if !reduces && accumulators::all_convert(&self.calls) {
                    return self.begin_to_pass();
                }
                self.table = Table::new(&self.plan, &self.input)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, _port: usize) -> Result<()> {
        if self.partitions.is_some() {
            if !self.table.keys.is_empty() {
                self.partition()?;
            }
            self.merging = true;
            return self.partitions.as_mut().map_or(Ok(()), Partitions::end);
        }
        if self.global {
            // COUNT(*) of no rows is 0: there is one group, whose result one worker gives.
            if self.phase != Phase::Partial && self.index != 0 {
                return Ok(());
            }
            self.absorb(&RecordBatch::new_empty(self.input.clone()))?;
        }
        if self.phase != Phase::Partial {
            self.plan.totals.clone().iter().try_for_each(|key| self.add_total(key))?;
        }
        self.emit()
    }

    fn kept(&self) -> usize {
        self.table.bytes() + self.partitions.as_ref().map_or(0, Partitions::bytes)
    }

    fn pull(&mut self) -> Result<Pull> {
        while self.ready.is_empty() && self.merge_next()? {}
        Ok(self.ready.pull())
    }
}
