//! Which rows come in the order of their table though no ORDER BY asks for it.
//!
//! Workers take pieces of a table in turn. So what they give lies in the order of the table but for the pieces of the
//! others. Where each says which piece its rows come from, worker 0 puts them in order again, and nothing is sorted.

use schema::{Source, Table};

use crate::plan::{Node, Op};

/// Smaller files share batches, whichever of them a worker has; batches of their own would cost more than an order is worth.
const SMALL_FILE: u64 = 1 << 20;

/// Has the scan below a node say where its rows come from, if each row of the node is made of one of the scan's. It is
/// done if it costs little or the rows are `limited`.
pub(super) fn keep(node: &mut Node, limited: bool) -> bool {
    match &mut node.op {
        Op::Scan(scan) => {
            scan.in_order = scan.transform.is_none() && (limited || has_large_pieces(&scan.table));
            scan.in_order
        }
        Op::Shared(shared) => {
            shared.in_order = true;
            true
        }
        Op::Filter { .. } | Op::Project { .. } | Op::Limit { .. } | Op::Unnest(_) => {
            node.inputs.first_mut().is_some_and(|input| keep(input, limited))
        }
        _ => false,
    }
}

fn has_large_pieces(table: &Table) -> bool {
    match &table.source {
        Source::Files(set) => set.files.len() < 2 || set.bytes() / set.files.len() as u64 >= SMALL_FILE,
        Source::Range { .. } | Source::Generated(_) | Source::Memory(_) => true,
    }
}
