//! Unions of one input, and unions within unions.
//!
//! `a UNION ALL b UNION ALL c` is one union of three. A union of one input is that input, whose columns are given the
//! union's numbers.

use std::collections::BTreeMap;

use super::simplify::nodes::taken;
use crate::algebra::{ColumnId, Columns, Map, Rel, Union};

/// Makes one union of unions within each other.
pub fn flatten(rel: &mut Rel, columns: &Columns) {
    if let Rel::Union(node) = rel {
        if node.inputs.iter().any(|(input, _)| matches!(input, Rel::Union(_))) {
            let mut all = Vec::new();
            for (input, from) in std::mem::take(&mut node.inputs) {
                collect(input, from, &mut all);
            }
            node.inputs = all;
        }
        if node.inputs.len() == 1 {
            *rel = alone(node, columns);
            return flatten(rel, columns);
        }
    }
    rel.inputs_mut().into_iter().for_each(|input| flatten(input, columns));
}

/// The only input of a union as the union.
pub fn alone(union: &mut Union, columns: &Columns) -> Rel {
    let Some((mut input, from)) = union.inputs.pop() else { return Rel::Union(union.clone()) };
    let exprs = union.columns.iter().zip(&from).map(|(id, from)| (*id, columns.read(*from))).collect();
    Rel::Map(Map { input: Box::new(taken(&mut input)), exprs })
}

/// The inputs of a union, those of unions among them in their places, each with the columns that it has for `wanted`.
fn collect(rel: Rel, wanted: Vec<ColumnId>, all: &mut Vec<(Rel, Vec<ColumnId>)>) {
    let union = match rel {
        Rel::Union(union) => union,
        other => return all.push((other, wanted)),
    };
    let places: BTreeMap<ColumnId, usize> =
        union.columns.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    for (input, from) in union.inputs {
        let place = |id: &ColumnId| places.get(id).and_then(|at| from.get(*at)).copied();
        match wanted.iter().map(place).collect() {
            Some(columns) => collect(input, columns, all),
            // No column of a union is read that it does not give.
            None => all.push((input, from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{Sample, id, union};

    #[test]
    fn unions_within_unions_are_one() {
        let mut sample = Sample::default();
        let (a, [x, y]) = sample.table("a", ["x", "y"]);
        let (b, [z]) = sample.table("b", ["z"]);
        let (c, [w]) = sample.table("c", ["w"]);
        let [p, q, r] = ["p", "q", "r"].map(|name| sample.number(name));
        let inner = union(vec![id(&p), id(&q)], vec![(a, vec![id(&x), id(&y)]), (b, vec![id(&z), id(&z)])]);
        let outer = union(vec![id(&r)], vec![(inner, vec![id(&q)]), (c, vec![id(&w)])]);
        let columns = sample.columns.clone();
        sample.becomes(
            |statement| flatten(&mut statement.root, &columns),
            outer,
            &[&r],
            "union r#6 of y#1 of z#2 of w#3\n  scan a x#0, y#1\n  scan b z#2\n  scan c w#3\n",
        );
    }
}
