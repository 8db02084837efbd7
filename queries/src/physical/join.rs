//! Joins: build side, broadcast or exchange.

use std::sync::Arc;

use arrow_schema::{DataType, Schema, SchemaRef};
use datafusion_common::NullEquality;

use super::keys::{self, Key};
use super::{Lowered, Lowering};
use crate::algebra::{ColumnId, Expr, Join, JoinKind, Rel};
use crate::compile::Layout;
use crate::error::{Error, Result};
use crate::estimates::{self, kept};
use crate::plan::{self, Exchange, JoinType, Node, Op, Side};

impl Lowering<'_> {
    /// Lowers a join.
    pub fn join(&mut self, rel: &Rel, join: &Join, at: usize) -> Result<Lowered> {
        let (left_at, right_at) = (at + 1, self.reads.next(at + 1));
        let kind = match join.kind {
            // Each left row once: nobody asks whether it has a match.
            JoinKind::Mark(mark) if !self.reads.is_wanted(mark, at) => return self.rel(&join.left, left_at),
            JoinKind::Mark(_) => JoinType::LeftMark,
            JoinKind::Inner => JoinType::Inner,
            JoinKind::Left => JoinType::Left,
            JoinKind::Full => JoinType::Full,
            JoinKind::Semi => JoinType::LeftSemi,
            JoinKind::Anti | JoinKind::AntiNullAware => JoinType::LeftAnti,
            JoinKind::Single => {
                return Err(Error::Unsupported(
                    "this subquery, which could not be turned into a join".into(),
                ));
            }
        };
        let null_aware = join.kind == JoinKind::AntiNullAware;
        let left = self.rel(&join.left, left_at)?;
        let right = self.rel(&join.right, right_at)?;
        let estimate = estimates::of(rel, &[&left.estimate, &right.estimate]);

        let (keys, mut rest) = keys::split(&join.predicates, &left.layout, &right.layout, null_aware);
        if null_aware && (keys.len() != 1 || !rest.is_empty()) {
            return Err(Error::Unsupported("NOT IN of other than one value".into()));
        }
        let (null_equality, not_null) = null_equality(&keys);
        let right = match kind {
            // Rows that match nothing are given here, so that they can't be left out below.
            JoinType::Full => {
                rest.splice(0..0, not_null.iter().map(|i| keys[*i].left.clone().is_null().not()));
                right
            }
            _ if not_null.is_empty() => right,
            _ => {
                let found = not_null.iter().map(|i| keys[*i].right.clone().is_null().not());
                let rows = right.node.rows;
                self.filtered(right, &found.collect::<Vec<_>>(), rows)?
            }
        };

        let size = |rows: &Lowered, at| {
            let (count, single) = (rows.node.rows, rows.node.single);
            SideSize { rows: count, bytes: count * self.width(&self.wanted(rows, at)), single }
        };
        let sides = Sides {
            kind,
            null_aware,
            left_repeats: self.repeats(&join.left),
            right_repeats: self.repeats(&join.right),
            keyless: keys.is_empty(),
            has_filter: !rest.is_empty(),
            is_fixed: !keys.iter().any(|key| key.left.is_volatile() || key.right.is_volatile()),
            left: size(&left, left_at),
            right: size(&right, right_at),
        };
        let way = sides.distribute(self.settings);
        // Rows that stay where they are and stream past need not be narrow.
        let is_kept = |side, moves| way.build == side || moves != Move::Stay;
        let left = if is_kept(Side::Left, way.left) { self.narrowed(left, left_at)? } else { left };
        let right = if is_kept(Side::Right, way.right) { self.narrowed(right, right_at)? } else { right };

        let mut on = Vec::with_capacity(keys.len());
        for key in &keys {
            on.push((self.compile(&key.left, &left.layout)?, self.compile(&key.right, &right.layout)?));
        }
        let (filter, filter_columns, filter_schema) = self.residual(&rest, &left.layout, &right.layout)?;
        let (output, layout) = self.output(join.kind, &left, &right, at);
        let (left_keys, right_keys) = on.iter().cloned().unzip();
        let op = Op::Join(plan::Join {
            kind,
            build: way.build,
            shared: way.shared,
            replicates: way.replicates,
            repeats: sides.is_made_once(way.build),
            on,
            filter,
            filter_columns,
            filter_schema,
            null_equality,
            null_aware,
            output,
        });
        let inputs =
            vec![self.moved(left.node, way.left, left_keys), self.moved(right.node, way.right, right_keys)];
        let node = self.node(op, layout.schema().clone(), inputs, estimate.rows);
        Ok(Lowered { node, layout, estimate })
    }

    /// What must hold beside the keys, over those columns of both sides that it reads.
    fn residual(&mut self, rest: &[Expr], left: &Layout, right: &Layout) -> Result<Residual> {
        if rest.is_empty() {
            return Ok((None, vec![], Arc::new(Schema::empty())));
        }
        let mut read = std::collections::BTreeSet::new();
        rest.iter().for_each(|e| e.collect_columns(&mut read));
        let of = |side, layout: &Layout| {
            let places = layout.ids().iter().copied().enumerate();
            let places = places.filter(|(_, id)| read.contains(id));
            places.map(|(position, id)| (id, (side, position))).collect::<Vec<_>>()
        };
        let (ids, columns): (Vec<ColumnId>, Vec<(Side, usize)>) =
            of(Side::Left, left).into_iter().chain(of(Side::Right, right)).unzip();
        let input = Layout::new(ids, &self.columns);
        let filter = self.compile_filter(rest, &input, &kept::guess)?;
        Ok((Some(filter), columns, input.schema().clone()))
    }

    /// The columns that the join with number `at` gives.
    fn output(
        &self,
        kind: JoinKind,
        left: &Lowered,
        right: &Lowered,
        at: usize,
    ) -> (Vec<(Side, usize)>, Layout) {
        let mut given = Vec::new();
        for (side, rows) in [(Side::Left, left), (Side::Right, right)] {
            if side == Side::Left || kind.gives_right() {
                let columns = rows.layout.ids().iter().copied().enumerate();
                let wanted = columns.filter(|(_, id)| self.reads.is_wanted(*id, at));
                given.extend(wanted.map(|(position, id)| (id, (side, position))));
            }
        }
        self.reads.arrange(&mut given, |(id, _)| *id);
        let (mut ids, output): (Vec<ColumnId>, Vec<_>) = given.into_iter().unzip();
        if let JoinKind::Mark(mark) = kind {
            ids.push(mark);
        }
        (output, Layout::new(ids, &self.columns))
    }

    fn moved(&mut self, input: Node, moves: Move, keys: Vec<plan::Expr>) -> Node {
        match moves {
            Move::Stay => input,
            Move::Gather => self.exchange(Exchange::Gather, input),
            Move::Broadcast => self.exchange(Exchange::Broadcast, input),
            Move::Hash => self.exchange(Exchange::Hash(keys), input),
        }
    }

    /// About how many bytes a row of these columns takes.
    fn width(&self, ids: &[ColumnId]) -> f64 {
        let types: Vec<DataType> = ids.iter().map(|id| self.columns.get(*id).data_type.clone()).collect();
        estimates::width(&types)
    }
}

/// A join's filter, the columns of its input and the schema of that.
type Residual = (Option<plan::Expr>, Vec<(Side, usize)>, SchemaRef);

/// Whether NULL keys are equal, and of which keys, by their numbers, NULLs have to be kept out then.
fn null_equality(keys: &[Key]) -> (NullEquality, Vec<usize>) {
    if !keys.iter().any(|key| key.null_safe) {
        return (NullEquality::NullEqualsNothing, vec![]);
    }
    let plain = keys.iter().enumerate().filter(|(_, key)| !key.null_safe);
    (NullEquality::NullEqualsNull, plain.map(|(i, _)| i).collect())
}

/// Whether rows of the build side are given once the probe side has ended. Such a join can't have a copy of the build
/// side on each worker.
fn gives_build_rows(kind: JoinType, build: Side) -> bool {
    match kind {
        JoinType::Inner => false,
        JoinType::Full => true,
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => build == Side::Left,
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
            build == Side::Right
        }
    }
}

/// How the rows of an input of a join move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    Stay,
    Gather,
    Broadcast,
    Hash,
}

/// Which side a join keeps, and how rows that may match come to the same worker.
struct Way {
    build: Side,
    shared: bool,
    replicates: bool,
    left: Move,
    right: Move,
}

struct SideSize {
    rows: f64,
    bytes: f64,
    single: bool,
}

/// A row that is kept takes as long as so many bytes of it more than one that streams past. It is put into a table.
const KEPT_ROW: f64 = 64.0;

/// Workers of a process have a copy each of what takes no more than this to keep. Of more they probe each other's
/// parts, which are made once and are in the cache once.
const COPIED: f64 = (1 << 20) as f64;

impl SideSize {
    /// How much longer it takes to keep the rows than to let them pass, in bytes.
    fn keeping(&self) -> f64 {
        self.bytes + KEPT_ROW * self.rows
    }
}

/// What decides that.
struct Sides {
    kind: JoinType,
    null_aware: bool,
    keyless: bool,
    has_filter: bool,
    /// Whether the left side is the same in all rounds of a recursion.
    left_repeats: bool,
    /// Whether the right side is.
    right_repeats: bool,
    /// Whether each key has the same value wherever it is computed.
    is_fixed: bool,
    left: SideSize,
    right: SideSize,
}

impl Sides {
    /// Whether the table of a build side is the same in all rounds: rows that it gives at the end are marked anew.
    fn is_made_once(&self, build: Side) -> bool {
        let repeats = if build == Side::Left { self.left_repeats } else { self.right_repeats };
        repeats && !gives_build_rows(self.kind, build)
    }

    /// The input is kept that takes less to keep, unless the kind of join asks for a side. Without keys the build side is
    /// copied to every worker, so that it must be one whose rows are not given at the end.
    fn build(&self) -> Side {
        if self.null_aware {
            return Side::Right;
        }
        // A table that is made once is worth more than one that is made of fewer rows in each round.
        match (self.left_repeats, self.right_repeats) {
            (true, false) if !gives_build_rows(self.kind, Side::Left) => return Side::Left,
            (false, true) if !gives_build_rows(self.kind, Side::Right) => return Side::Right,
            _ => {}
        }
        let (smaller, larger) = match self.left.keeping() < self.right.keeping() {
            true => (Side::Left, Side::Right),
            false => (Side::Right, Side::Left),
        };
        if self.keyless && gives_build_rows(self.kind, smaller) { larger } else { smaller }
    }

    fn distribute(&self, settings: &crate::Settings) -> Way {
        let build = self.build();
        let (kept, probe) = match build {
            Side::Left => (&self.left, &self.right),
            Side::Right => (&self.right, &self.left),
        };
        // The moves of the build and of the probe side.
        let way = |of_build, of_probe| {
            let (left, right) = if build == Side::Left { (of_build, of_probe) } else { (of_probe, of_build) };
            Way { build, shared: false, replicates: false, left, right }
        };
        // A round of few rows runs on one worker, which must find all of what the first round has made.
        let is_made_once = self.is_made_once(build);
        if self.left.single && self.right.single && !is_made_once {
            return way(Move::Stay, Move::Stay);
        }
        let at_end = gives_build_rows(self.kind, build);
        if self.keyless && at_end {
            let moved = |side: &SideSize| if side.single { Move::Stay } else { Move::Gather };
            return way(moved(kept), moved(probe));
        }
        // Rows that the build side gives at the end are marked by one worker; a probe side on one worker is spread. A table
        // can't be probed from another process, but some of its rows can be sent there: marked, if their keys alone say
        // that they have met their like.
        let can_share = !at_end && (!probe.single || is_made_once) && settings.processes == 1;
        let is_better_shared = can_share && settings.workers > 1 && kept.keeping() > COPIED;
        let is_small = kept.bytes <= settings.broadcast_bytes as f64 && !is_better_shared;
        if self.keyless || self.null_aware || (is_small && !at_end) {
            return way(Move::Broadcast, Move::Stay);
        }
        let keys_decide = !at_end || !self.has_filter;
        let spreads = settings.workers > 1 && !probe.single && !can_share;
        let replicates = spreads && keys_decide && self.is_fixed && !is_made_once;
        let of_probe = if can_share { Move::Stay } else { Move::Hash };
        Way { shared: can_share, replicates, ..way(Move::Hash, of_probe) }
    }
}
