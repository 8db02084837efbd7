//! What scans are told: the predicates of the filter above, which asks for nothing that can't be asked of a zone of rows.
//!
//! The filter stays. What a command prints has other columns than the files that it reads.

use crate::algebra::Rel;

/// Tells each scan what is asked of its rows.
pub fn set(rel: &mut Rel) {
    if let Rel::Filter(node) = rel
        && let Rel::Scan(scan) = &mut *node.input
        && scan.transform.is_none()
    {
        scan.bounds = node.predicates.clone();
    }
    rel.inputs_mut().into_iter().for_each(set);
}
