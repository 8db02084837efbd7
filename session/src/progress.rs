//! How far a query has come.

use std::sync::atomic::Ordering;

use engine::QueryState;
use queries::Plan;
use queries::plan::{Node, Op};
use schema::Source;

/// How far a query has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rows that scans have read so far.
    pub rows: u64,
    /// Bytes of files that were read so far.
    pub bytes: u64,
    /// How many of them there are; `None` if another process has planned the query.
    pub total: Option<Total>,
}

/// What a query reads if it reads all of its tables. It may read less, because of LIMIT or a condition, and more where a
/// recursion reads a table in each round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    /// Bytes of files, or of text that is generated. Rows that do not come from files are left out.
    Bytes(u64),
    /// Rows of a query without files, as far as they are known.
    Rows(u64),
}

impl Total {
    /// What a plan reads. Call it on a thread with a deep stack.
    pub fn of(plan: &Plan) -> Total {
        let (bytes, rows) = plan.trees().map(work).fold((0, 0), add);
        if bytes > 0 { Total::Bytes(bytes) } else { Total::Rows(rows) }
    }

    /// How many bytes or rows there are.
    pub fn count(&self) -> u64 {
        match *self {
            Total::Bytes(count) | Total::Rows(count) => count,
        }
    }
}

impl Progress {
    /// How far the query of this state has come.
    pub fn of(total: Option<Total>, state: &QueryState) -> Progress {
        let rows = state.rows_read.load(Ordering::Relaxed);
        Progress { rows, bytes: state.bytes_read.load(Ordering::Relaxed), total }
    }

    /// How many bytes or rows of the total are done; at most all of them.
    pub fn done(&self) -> u64 {
        match self.total {
            Some(Total::Bytes(all)) => self.bytes.min(all),
            Some(Total::Rows(all)) => self.rows.min(all),
            None => 0,
        }
    }
}

/// The bytes of the files below a node, and the rows of its other tables, as far as they are known.
fn work(node: &Node) -> (u64, u64) {
    let own = match &node.op {
        Op::Scan(scan) => match &scan.table.source {
            Source::Files(set) => (set.bytes(), 0),
            Source::Range { .. } | Source::Memory(_) => (0, scan.table.rows.unwrap_or(0)),
            Source::Generated(spec) => (0, spec.rows().or(scan.table.rows).unwrap_or(0)),
        },
        _ => (0, 0),
    };
    node.inputs.iter().map(work).fold(own, add)
}

fn add(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
}
