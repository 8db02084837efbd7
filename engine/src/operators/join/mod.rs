//! Hash join: one side is kept in a table, the other streams past it.
//!
//! - [`semantics`]: which rows a join gives.
//! - [`heavy_hitters`]: build rows of heavy keys on other workers; [`hot_keys`]: which rows stay.
//! - [`shared`]: complete build sides, of one worker or of all workers of a process.
//! - [`table`]: the table of the build side.

pub mod heavy_hitters;
pub mod hot_keys;
mod semantics;
pub mod shared;
pub mod table;

use std::rc::Rc;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::take::take;
use datafusion_common::NullEquality;
use queries::plan::{Expr, Join as Plan, Side};

use super::{Ready, evaluate, evaluate_all, rows_of};
use crate::context::memory;
use crate::dataflow::batch::{BATCH_ROWS, ExchangeBatch, batch_bytes, batch_of, compact};
use crate::dataflow::operator::{BuildBarrier, Operator, Pull, Wake};
use crate::error::Result;
use crate::state::hash::comparable;
use heavy_hitters::Replicas;
use semantics::JoinSemantics;
use shared::{Builds, Built, Picked, ROW_BYTES, part_of};
use table::{Keys, Table};

/// A hash join.
pub struct Join {
    plan: Plan,
    gives: JoinSemantics,
    schema: SchemaRef,
    build_keys: Vec<Expr>,
    probe_keys: Vec<Expr>,
    build_schema: SchemaRef,
    collected: Vec<RecordBatch>,
    bytes: usize,
    builds: Arc<Builds>,
    part: usize,
    /// Where probe rows of heavy keys stay with the worker that has them.
    replicas: Option<Arc<Replicas>>,
    index: usize,
    /// Which build rows of this worker have met their like, if that matters.
    matched: Vec<bool>,
    probing: Option<Probing>,
    ended: Option<usize>,
    latch: Option<Rc<BuildBarrier>>,
    wake: Wake,
    ready: Ready,
}

/// Where a join is: its worker's part of the build side, and what waits for all of it.
pub struct Placement {
    /// The parts of the build side.
    pub builds: Arc<Builds>,
    /// The part that is built here.
    pub part: usize,
    /// What its process has of the build rows of heavy keys, if they are replicated.
    pub replicas: Option<Arc<Replicas>>,
    /// Its worker.
    pub index: usize,
    /// Opened once the build side is complete.
    pub latch: Rc<BuildBarrier>,
    /// Wakes this join.
    pub wake: Wake,
}

/// A probe batch, and how far it has got.
struct Probing {
    batch: RecordBatch,
    keys: Keys,
    hashes: Vec<u64>,
    built: Rc<[Arc<Built>]>,
    /// The part of `built` that each row meets, if not the one that its hash says.
    parts: Option<Vec<u32>>,
    row: usize,
    candidate: Option<u32>,
    matched: Vec<bool>,
    null_keys: Option<Vec<bool>>,
}

impl Join {
    /// Joins batches of `left` and `right`.
    pub fn new(plan: &Plan, left: SchemaRef, right: SchemaRef, schema: SchemaRef, at: Placement) -> Join {
        let (left_keys, right_keys): (Vec<_>, Vec<_>) = plan.on.iter().cloned().unzip();
        let (build_keys, probe_keys, build_schema) = match plan.build {
            Side::Left => (left_keys, right_keys, left),
            Side::Right => (right_keys, left_keys, right),
        };
        Join {
            gives: JoinSemantics::new(plan.kind, plan.build),
            plan: plan.clone(),
            schema,
            build_keys,
            probe_keys,
            build_schema,
            collected: Vec::new(),
            bytes: 0,
            builds: at.builds,
            part: at.part,
            replicas: at.replicas,
            index: at.index,
            matched: Vec::new(),
            probing: None,
            ended: None,
            latch: Some(at.latch),
            wake: at.wake,
            ready: Ready::default(),
        }
    }

    fn build_port(&self) -> usize {
        usize::from(self.plan.build == Side::Right)
    }

    fn build(&mut self) -> Result<()> {
        if self.opened() {
            // It was made in an earlier round of a recursion.
            return Ok(());
        }
        let rows: usize = self.collected.iter().map(RecordBatch::num_rows).sum();
        // The rows once more, and what each takes in the table.
        memory::check(self.bytes + rows * ROW_BYTES, || "join (build side)".into())?;
        let rows = concat_batches(&self.build_schema, &self.collected)?;
        self.collected.clear();
        let columns: Vec<ArrayRef> =
            evaluate_all(&self.build_keys, &rows)?.into_iter().map(comparable).collect();
        let has_null = columns.iter().any(|c| c.logical_null_count() > 0);
        let equal_nulls = self.plan.null_equality == NullEquality::NullEqualsNull;
        let table = Table::new(columns, rows.num_rows(), equal_nulls)?;
        if self.gives.build_rows() {
            self.matched = vec![false; rows.num_rows()];
        }
        self.builds.add(self.part, Built { rows, table, has_null });
        if let (Some(replicas), Some([own])) = (&self.replicas, self.builds.get()) {
            replicas.publish(self.index, own)?;
        }
        if !self.opened() {
            self.builds.wake(self.wake.sync());
        }
        Ok(())
    }

    /// Whether all of the build side is there; what waits for it is let go.
    fn opened(&mut self) -> bool {
        let complete = self.builds.get().is_some();
        if complete && let Some(latch) = self.latch.take() {
            latch.open();
        }
        complete
    }

    fn probe(&mut self, batch: RecordBatch) -> Result<()> {
        let builds = self.builds.get().expect("the probe port is not wanted before");
        let columns: Vec<ArrayRef> =
            evaluate_all(&self.probe_keys, &batch)?.into_iter().map(comparable).collect();
        let null_keys = self.plan.null_aware.then(|| {
            (0..batch.num_rows())
                .map(|i| columns.iter().any(|c| c.logical_nulls().is_some_and(|n| n.is_null(i))))
                .collect()
        });
        let mut hashes = Vec::new();
        let keys = builds[0].table.probe_keys(columns, batch.num_rows(), &mut hashes)?;
        let (built, parts) = match &self.replicas {
            Some(replicas) => replicas.parts(&builds[0], self.index, &hashes)?,
            None => (builds.to_vec(), None),
        };
        let (built, matched) = (built.into(), vec![false; batch.num_rows()]);
        let (row, candidate) = (0, None);
        let probing = Probing { batch, keys, hashes, built, parts, row, candidate, matched, null_keys };
        self.probing = Some(probing);
        Ok(())
    }

    /// The next pairs of rows whose keys are equal and for which the filter is true, at most a batch of them; sets the
    /// marks. `false` once the probe batch is through.
    fn pairs(&mut self) -> Result<bool> {
        let Some(p) = &mut self.probing else { return Ok(false) };
        let built = &*p.built.clone();
        let first_only = !self.gives.pairs && !self.gives.build_rows() && self.plan.filter.is_none();
        let (mut parts, mut build, mut probe): (Vec<u32>, Vec<u32>, Vec<u32>) = Default::default();
        while p.row < p.hashes.len() && build.len() < BATCH_ROWS {
            let hash = p.hashes[p.row];
            let part = match &p.parts {
                Some(parts) => parts[p.row] as usize,
                None => part_of(hash, built.len()),
            };
            let table = &built[part].table;
            let candidate = match p.candidate {
                None => table.first(&p.keys, p.row, hash),
                Some(after) => table.next(after, &p.keys, p.row, hash),
            };
            match candidate {
                Some(b) => {
                    parts.push(part as u32);
                    build.push(b);
                    probe.push(p.row as u32);
                    p.candidate = Some(b);
                }
                None => p.candidate = None,
            }
            if candidate.is_none() || first_only {
                p.candidate = None;
                p.row += 1;
            }
        }
        if build.is_empty() {
            return Ok(p.row < p.hashes.len());
        }
        let (mut build, mut probe) = (Picked::new(parts, build, built.len()), UInt32Array::from(probe));
        if let Some(filter) = &self.plan.filter {
            let columns = self.plan.filter_columns.iter().map(|(side, i)| match *side == self.plan.build {
                true => build.column(built, *i),
                false => Ok(take(p.batch.column(*i), &probe, None)?),
            });
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(build.count()));
            let rows = RecordBatch::try_new_with_options(self.plan.filter_schema.clone(), columns, &options)?;
            let mask = evaluate(filter, &rows)?;
            let mask = mask.as_boolean();
            let keep = |a: &UInt32Array| -> Result<UInt32Array> {
                Ok(arrow_select::filter::filter(a, mask)?.as_primitive().clone())
            };
            (build, probe) = (build.filtered(keep)?, keep(&probe)?);
        }
        if self.gives.build_rows() {
            // Those of heavy keys, in other parts, were marked where they are.
            build.of_first().for_each(|b| self.matched[b] = true);
        }
        for row in probe.values() {
            p.matched[*row as usize] = true;
        }
        if self.gives.pairs {
            let probe_rows = p.batch.clone();
            self.give(built, &build, &probe_rows, &probe, None)?;
        }
        Ok(true)
    }

    /// What the probe batch gives beside pairs, once it is through.
    fn finish_probe(&mut self) -> Result<()> {
        let Some(p) = self.probing.take() else { return Ok(()) };
        let built = &*p.built;
        let gives = self.gives;
        if !(gives.probe_unmatched || gives.probe_matched || gives.probe_marked) {
            return Ok(());
        }
        let any_build = built.iter().any(|b| b.rows.num_rows() > 0);
        let wanted = |row: usize| match () {
            () if gives.probe_marked => true,
            () if gives.probe_matched => p.matched[row],
            () => {
                let by_null = any_build
                    && p.null_keys
                        .as_ref()
                        .is_some_and(|nulls| nulls[row] || built.iter().any(|b| b.has_null));
                !p.matched[row] && !by_null
            }
        };
        let probe: UInt32Array = (0..p.batch.num_rows()).filter(|r| wanted(*r)).map(|r| r as u32).collect();
        let mark = gives.probe_marked.then(|| BooleanArray::from(p.matched.clone()));
        self.give(built, &Picked::nothing(probe.len()), &p.batch, &probe, mark)
    }

    /// The next rows that the build side gives at the end. `false` once all are given.
    fn finish_build(&mut self) -> Result<bool> {
        let builds = self.builds.clone();
        let (Some(built), Some(from)) = (builds.get(), self.ended) else { return Ok(false) };
        let total = self.matched.len();
        if from >= total || !self.gives.build_rows() {
            return Ok(false);
        }
        let to = (from + BATCH_ROWS).min(total);
        self.ended = Some(to);
        let gives = self.gives;
        let wanted = |row: &usize| gives.build_marked || self.matched[*row] == gives.build_matched;
        let build: Vec<u32> = (from..to).filter(wanted).map(|r| r as u32).collect();
        let mark = gives.build_marked.then(|| BooleanArray::from(self.matched[from..to].to_vec()));
        let probe = UInt32Array::new_null(build.len());
        let build = Picked::new(vec![], build, 1);
        let no_rows = RecordBatch::new_empty(Arc::new(arrow_schema::Schema::empty()));
        self.give(built, &build, &no_rows, &probe, mark)?;
        Ok(true)
    }

    /// Gives the rows at these places; a NULL place, or a side without rows, gives NULLs.
    fn give(
        &mut self,
        built: &[Arc<Built>],
        build: &Picked,
        probe_rows: &RecordBatch,
        probe: &UInt32Array,
        mark: Option<BooleanArray>,
    ) -> Result<()> {
        let count = build.count();
        if count == 0 {
            return Ok(());
        }
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for (position, (side, i)) in self.plan.output.iter().enumerate() {
            let from_build = *side == self.plan.build;
            let nulls = if from_build { build.rows().null_count() } else { probe.null_count() };
            columns.push(match from_build {
                _ if nulls == count => {
                    arrow_array::new_null_array(self.schema.field(position).data_type(), count)
                }
                true => build.column(built, *i)?,
                false => take(probe_rows.column(*i), probe, None)?,
            });
        }
        if let Some(mark) = mark {
            columns.push(Arc::new(mark));
        }
        self.ready.add(batch_of(&self.schema, columns, count)?);
        Ok(())
    }
}

impl Operator for Join {
    fn push(&mut self, port: usize, given: ExchangeBatch) -> Result<()> {
        let batch = rows_of(&given);
        if port != self.build_port() {
            return self.probe(batch.clone());
        }
        let batch = compact(batch);
        self.bytes += batch_bytes(&batch);
        self.collected.push(batch);
        Ok(())
    }

    fn end(&mut self, port: usize) -> Result<()> {
        if port == self.build_port() {
            return self.build();
        }
        self.ended = Some(0);
        if let Some(replicas) = &self.replicas {
            if let (true, Some([own])) = (self.gives.build_rows(), self.builds.get()) {
                replicas.met(own, self.index).for_each(|b| self.matched[b as usize] = true);
            }
            replicas.leave();
        }
        Ok(())
    }

    fn kept(&self) -> usize {
        self.bytes + self.replicas.as_ref().map_or(0, |replicas| replicas.kept())
    }

    fn pull(&mut self) -> Result<Pull> {
        self.opened();
        while self.ready.is_empty() {
            if self.probing.is_some() {
                if !self.pairs()? {
                    self.finish_probe()?;
                }
            } else if !self.finish_build()? {
                break;
            }
        }
        Ok(self.ready.pull())
    }

    fn wants(&self, port: usize) -> bool {
        port == self.build_port() || self.builds.get().is_some()
    }
}
