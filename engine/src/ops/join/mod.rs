//! Hash join: one side is kept in a table, the other streams past it.
//!
//! - [`table`]: the table of the build side.

pub mod table;

use std::rc::Rc;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::take::take;
use datafusion_common::NullEquality;
use queries::plan::{Expr, Join as Plan, JoinType, Side};

use super::{Ready, batch_of, evaluate, evaluate_all, rows_of};
use crate::batch::{BATCH_ROWS, Parcel, batch_bytes, compact};
use crate::error::Result;
use crate::hash::normalise;
use crate::memory;
use crate::operator::{Latch, Operator, Pull};
use table::{Keys, Table};

/// Which rows a join gives, said of the build and the probe side.
#[derive(Debug, Clone, Copy, Default)]
struct Gives {
    pairs: bool,
    probe_unmatched: bool,
    build_unmatched: bool,
    probe_matched: bool,
    build_matched: bool,
    probe_marked: bool,
    build_marked: bool,
}

impl Gives {
    fn new(kind: JoinType, build: Side) -> Gives {
        let left_builds = build == Side::Left;
        let none = Gives::default();
        match kind {
            JoinType::Inner => Gives { pairs: true, ..none },
            JoinType::Full => Gives { pairs: true, probe_unmatched: true, build_unmatched: true, ..none },
            JoinType::Left => {
                Gives { pairs: true, build_unmatched: left_builds, probe_unmatched: !left_builds, ..none }
            }
            JoinType::Right => {
                Gives { pairs: true, build_unmatched: !left_builds, probe_unmatched: left_builds, ..none }
            }
            JoinType::LeftSemi => Gives { build_matched: left_builds, probe_matched: !left_builds, ..none },
            JoinType::RightSemi => Gives { build_matched: !left_builds, probe_matched: left_builds, ..none },
            JoinType::LeftAnti => {
                Gives { build_unmatched: left_builds, probe_unmatched: !left_builds, ..none }
            }
            JoinType::RightAnti => {
                Gives { build_unmatched: !left_builds, probe_unmatched: left_builds, ..none }
            }
            JoinType::LeftMark => Gives { build_marked: left_builds, probe_marked: !left_builds, ..none },
            JoinType::RightMark => Gives { build_marked: !left_builds, probe_marked: left_builds, ..none },
        }
    }

    fn build_rows(self) -> bool {
        self.build_unmatched || self.build_matched || self.build_marked
    }
}

/// A hash join.
pub struct Join {
    plan: Plan,
    gives: Gives,
    schema: SchemaRef,
    build_keys: Vec<Expr>,
    probe_keys: Vec<Expr>,
    build_schema: SchemaRef,
    collected: Vec<RecordBatch>,
    bytes: usize,
    built: Option<Built>,
    probing: Option<Probing>,
    ended: Option<usize>,
    latch: Rc<Latch>,
    ready: Ready,
}

struct Built {
    rows: RecordBatch,
    table: Table,
    matched: Vec<bool>,
    has_null: bool,
}

/// A probe batch, and how far it has got.
struct Probing {
    batch: RecordBatch,
    keys: Keys,
    hashes: Vec<u64>,
    row: usize,
    candidate: Option<u32>,
    matched: Vec<bool>,
    null_keys: Option<Vec<bool>>,
}

impl Join {
    /// Joins batches of `left` and `right`; `latch` is opened once the build side is complete.
    pub fn new(plan: &Plan, left: SchemaRef, right: SchemaRef, schema: SchemaRef, latch: Rc<Latch>) -> Join {
        let (left_keys, right_keys): (Vec<_>, Vec<_>) = plan.on.iter().cloned().unzip();
        let (build_keys, probe_keys, build_schema) = match plan.build {
            Side::Left => (left_keys, right_keys, left),
            Side::Right => (right_keys, left_keys, right),
        };
        Join {
            gives: Gives::new(plan.kind, plan.build),
            plan: plan.clone(),
            schema,
            build_keys,
            probe_keys,
            build_schema,
            collected: Vec::new(),
            bytes: 0,
            built: None,
            probing: None,
            ended: None,
            latch,
            ready: Ready::default(),
        }
    }

    fn build_port(&self) -> usize {
        usize::from(self.plan.build == Side::Right)
    }

    fn build(&mut self) -> Result<()> {
        let rows: usize = self.collected.iter().map(RecordBatch::num_rows).sum();
        memory::check(self.bytes + rows * 24, || "join (build side)".into())?;
        let rows = concat_batches(&self.build_schema, &self.collected)?;
        self.collected.clear();
        let columns: Vec<ArrayRef> =
            evaluate_all(&self.build_keys, &rows)?.into_iter().map(normalise).collect();
        let has_null = columns.iter().any(|c| c.logical_null_count() > 0);
        let equal_nulls = self.plan.null_equality == NullEquality::NullEqualsNull;
        let table = Table::new(columns, rows.num_rows(), equal_nulls)?;
        let matched = if self.gives.build_rows() { vec![false; rows.num_rows()] } else { vec![] };
        self.built = Some(Built { rows, table, matched, has_null });
        self.latch.open();
        Ok(())
    }

    fn probe(&mut self, batch: RecordBatch) -> Result<()> {
        let built = self.built.as_ref().expect("the probe port is not wanted before");
        let columns: Vec<ArrayRef> =
            evaluate_all(&self.probe_keys, &batch)?.into_iter().map(normalise).collect();
        let null_keys = self.plan.null_aware.then(|| {
            (0..batch.num_rows())
                .map(|i| columns.iter().any(|c| c.logical_nulls().is_some_and(|n| n.is_null(i))))
                .collect()
        });
        let mut hashes = Vec::new();
        let keys = built.table.probe_keys(columns, batch.num_rows(), &mut hashes)?;
        let matched = vec![false; batch.num_rows()];
        self.probing = Some(Probing { batch, keys, hashes, row: 0, candidate: None, matched, null_keys });
        Ok(())
    }

    /// The next pairs of rows whose keys are equal and for which the filter is true, at most a batch of them; sets the
    /// marks. `false` once the probe batch is through.
    fn pairs(&mut self) -> Result<bool> {
        let (Some(built), Some(p)) = (&mut self.built, &mut self.probing) else { return Ok(false) };
        let first_only = !self.gives.pairs && !self.gives.build_rows() && self.plan.filter.is_none();
        let (mut build, mut probe): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        while p.row < p.hashes.len() && build.len() < BATCH_ROWS {
            let candidate = match p.candidate {
                None => built.table.first(&p.keys, p.row, p.hashes[p.row]),
                Some(after) => built.table.next(after, &p.keys, p.row, p.hashes[p.row]),
            };
            match candidate {
                Some(b) => {
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
        let (mut build, mut probe) = (UInt32Array::from(build), UInt32Array::from(probe));
        if let Some(filter) = &self.plan.filter {
            let columns = self.plan.filter_columns.iter().map(|(side, i)| {
                let build_side = *side == self.plan.build;
                let (rows, indices) = if build_side { (&built.rows, &build) } else { (&p.batch, &probe) };
                take(rows.column(*i), indices, None)
            });
            let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(build.len()));
            let rows = RecordBatch::try_new_with_options(self.plan.filter_schema.clone(), columns, &options)?;
            let mask = evaluate(filter, &rows)?;
            let mask = mask.as_boolean();
            let keep = |a: &UInt32Array| -> Result<UInt32Array> {
                Ok(arrow_select::filter::filter(a, mask)?.as_primitive().clone())
            };
            (build, probe) = (keep(&build)?, keep(&probe)?);
        }
        for b in build.values().iter().filter(|_| self.gives.build_rows()) {
            built.matched[*b as usize] = true;
        }
        for row in probe.values() {
            p.matched[*row as usize] = true;
        }
        if self.gives.pairs {
            let (probe_rows, build_rows) = (p.batch.clone(), built.rows.clone());
            self.give(&build_rows, &build, &probe_rows, &probe, None)?;
        }
        Ok(true)
    }

    /// What the probe batch gives beside pairs, once it is through.
    fn finish_probe(&mut self) -> Result<()> {
        let (Some(built), Some(p)) = (&self.built, self.probing.take()) else { return Ok(()) };
        let gives = self.gives;
        if !(gives.probe_unmatched || gives.probe_matched || gives.probe_marked) {
            return Ok(());
        }
        let wanted = |row: usize| match () {
            () if gives.probe_marked => true,
            () if gives.probe_matched => p.matched[row],
            () => {
                let by_null = built.rows.num_rows() > 0
                    && p.null_keys.as_ref().is_some_and(|nulls| built.has_null || nulls[row]);
                !p.matched[row] && !by_null
            }
        };
        let probe: UInt32Array = (0..p.batch.num_rows()).filter(|r| wanted(*r)).map(|r| r as u32).collect();
        let mark = gives.probe_marked.then(|| BooleanArray::from(p.matched.clone()));
        let build = UInt32Array::new_null(probe.len());
        let rows = built.rows.clone();
        self.give(&rows, &build, &p.batch, &probe, mark)
    }

    /// The next rows that the build side gives at the end. `false` once all are given.
    fn finish_build(&mut self) -> Result<bool> {
        let (Some(built), Some(from)) = (&self.built, self.ended) else { return Ok(false) };
        let total = built.rows.num_rows();
        if from >= total || !self.gives.build_rows() {
            return Ok(false);
        }
        let to = (from + BATCH_ROWS).min(total);
        self.ended = Some(to);
        let gives = self.gives;
        let wanted = |row: &usize| gives.build_marked || built.matched[*row] == gives.build_matched;
        let build: UInt32Array = (from..to).filter(wanted).map(|r| r as u32).collect();
        let mark = gives.build_marked.then(|| BooleanArray::from(built.matched[from..to].to_vec()));
        let probe = UInt32Array::new_null(build.len());
        let rows = built.rows.clone();
        let no_rows = RecordBatch::new_empty(Arc::new(arrow_schema::Schema::empty()));
        self.give(&rows, &build, &no_rows, &probe, mark)?;
        Ok(true)
    }

    /// Gives the rows at these places; a NULL place, or a side without rows, gives NULLs.
    fn give(
        &mut self,
        build_rows: &RecordBatch,
        build: &UInt32Array,
        probe_rows: &RecordBatch,
        probe: &UInt32Array,
        mark: Option<BooleanArray>,
    ) -> Result<()> {
        let count = build.len();
        if count == 0 {
            return Ok(());
        }
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for (position, (side, i)) in self.plan.output.iter().enumerate() {
            let (rows, indices) =
                if *side == self.plan.build { (build_rows, build) } else { (probe_rows, probe) };
            let nothing = indices.null_count() == count;
            columns.push(if nothing {
                arrow_array::new_null_array(self.schema.field(position).data_type(), count)
            } else {
                take(rows.column(*i), indices, None)?
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
    fn push(&mut self, port: usize, parcel: Parcel) -> Result<()> {
        let batch = rows_of(&parcel);
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
        Ok(())
    }

    fn kept(&self) -> usize {
        self.bytes
    }

    fn pull(&mut self) -> Result<Pull> {
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
        port == self.build_port() || self.built.is_some()
    }
}
