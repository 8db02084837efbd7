//! What scans are told: the predicates of the filter above, which asks for nothing that can't be asked of a zone of rows.
//!
//! The filter stays. Of a list of constants, zones are asked for what lies between the least and the greatest one. What a
//! command prints has other columns than the files that it reads.

use std::cmp::Ordering;

use datafusion_common::ScalarValue;
use expressions::compare::is_ambiguous;

use crate::algebra::{Expr, Kind, Rel};

/// Tells each scan what is asked of its rows.
pub fn set(rel: &mut Rel) {
    if let Rel::Filter(node) = rel
        && let Rel::Scan(scan) = &mut *node.input
        && scan.transform.is_none()
    {
        scan.bounds = node.predicates.iter().map(|e| range(e).unwrap_or_else(|| e.clone())).collect();
    }
    rel.inputs_mut().into_iter().for_each(set);
}

/// From which constant of a list to which the value goes.
fn range(e: &Expr) -> Option<Expr> {
    let Kind::InList { expr, list, negated: false } = &e.kind else { return None };
    expr.as_column().filter(|_| !is_ambiguous(&expr.data_type))?;
    let mut ends: Option<(&ScalarValue, &ScalarValue)> = None;
    for item in list {
        let item = item.as_literal().filter(|item| !item.is_null() && item.data_type() == expr.data_type)?;
        let (least, most) = ends.unwrap_or((item, item));
        let least = if item.partial_cmp(least)? == Ordering::Less { item } else { least };
        ends = Some((least, if item.partial_cmp(most)? == Ordering::Greater { item } else { most }));
    }
    let (low, high) = ends?;
    let end = |value: &ScalarValue| Box::new(Expr::literal(value.clone()));
    let (low, high) = (end(low), end(high));
    Some(Expr::condition(Kind::Between { expr: expr.clone(), low, high, negated: false }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{Sample, filter, int};

    #[test]
    fn a_scan_is_told_from_where_to_where_a_list_goes() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let list = vec![int(5), int(2), int(9)];
        let list = Expr::condition(Kind::InList { expr: Box::new(x.clone()), list, negated: false });
        sample.becomes(
            |statement| set(&mut statement.root),
            filter(t, vec![list]),
            &[&x],
            "filter (x#0 IN (5, 2, 9))\n  scan t x#0 bounds (x#0 BETWEEN 2 AND 9)\n",
        );
    }
}
