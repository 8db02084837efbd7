//! Columns that are copies of others.
//!
//! A column that a [`Map`] makes of another one, unchanged, is that one: where it is read the other can be read, and the
//! copy goes. Both are NULL in the same rows, since no operator gives the one without the other: a relation gives all
//! columns of its inputs, and keys and columns of unions are replaced as well.
//!
//! The columns of the result keep their numbers, and so their names: a copy that the result has is made at the top again.

use std::collections::BTreeMap;

use super::simplify::nodes::taken;
use crate::algebra::{ColumnId, Expr, Map, Rel, Statement};

/// Takes copies away.
pub fn remove(statement: &mut Statement) {
    let mut copies = BTreeMap::new();
    for stage in &mut statement.stages {
        take(&mut stage.root, &mut copies);
    }
    take(&mut statement.root, &mut copies);
    if copies.is_empty() {
        return;
    }
    repeated(statement, &mut copies);
    let copies = resolved(&copies);
    for stage in &mut statement.stages {
        replace(&mut stage.root, &copies);
        for column in &mut stage.columns {
            *column = copies.get(column).copied().unwrap_or(*column);
        }
    }
    replace(&mut statement.root, &copies);
    let mut made: Vec<(ColumnId, Expr)> = Vec::new();
    for id in &statement.output {
        if let Some(from) = copies.get(id)
            && made.iter().all(|(made, _)| made != id)
        {
            made.push((*id, statement.columns.read(*from)));
        }
    }
    if !made.is_empty() {
        let input = Box::new(taken(&mut statement.root));
        statement.root = Rel::Map(Map { input, exprs: made });
    }
}

/// Takes copies out of a tree.
fn take(rel: &mut Rel, copies: &mut BTreeMap<ColumnId, ColumnId>) {
    if let Rel::Map(node) = rel {
        node.exprs.retain(|(id, e)| match e.as_column() {
            Some(from) => {
                copies.insert(*id, from);
                false
            }
            None => true,
        });
        if node.exprs.is_empty() {
            *rel = taken(&mut node.input);
            return take(rel, copies);
        }
    }
    rel.inputs_mut().into_iter().for_each(|input| take(input, copies));
}

/// Adds the copies that readers of a stage have of a column that the stage gives twice.
fn repeated(statement: &Statement, copies: &mut BTreeMap<ColumnId, ColumnId>) {
    for (number, stage) in statement.stages.iter().enumerate().filter(|(_, stage)| stage.is_shared()) {
        let origins = resolved(copies);
        let origin = |id: &ColumnId| origins.get(id).copied().unwrap_or(*id);
        let given: Vec<ColumnId> = stage.columns.iter().map(origin).collect();
        let first = |id: &ColumnId| given.iter().position(|other| other == id);
        let places: Vec<(usize, usize)> = given
            .iter()
            .enumerate()
            .filter_map(|(place, id)| Some((place, first(id)?)).filter(|(place, first)| first < place))
            .collect();
        if places.is_empty() {
            continue;
        }
        let later = statement.stages[number + 1..].iter().map(|stage| &stage.root);
        for tree in later.chain([&statement.root]) {
            tree.look_at_readers(&mut |reader| {
                if reader.stage == number {
                    let own = |place: usize| reader.columns.get(place).copied();
                    let pairs = places.iter().filter_map(|(again, first)| Some((own(*again)?, own(*first)?)));
                    copies.extend(pairs);
                }
            });
        }
    }
}

/// Each copy with the column that is no copy itself.
fn resolved(copies: &BTreeMap<ColumnId, ColumnId>) -> BTreeMap<ColumnId, ColumnId> {
    let mut all: BTreeMap<ColumnId, ColumnId> = BTreeMap::new();
    for id in copies.keys() {
        let (mut path, mut at) = (vec![], *id);
        while let Some(from) = copies.get(&at).filter(|_| !all.contains_key(&at)) {
            path.push(at);
            at = *from;
        }
        let origin = all.get(&at).copied().unwrap_or(at);
        all.extend(path.into_iter().map(|id| (id, origin)));
    }
    all
}

fn replace(rel: &mut Rel, copies: &BTreeMap<ColumnId, ColumnId>) {
    let column = |id: &mut ColumnId| {
        if let Some(from) = copies.get(id) {
            *id = *from;
        }
    };
    match rel {
        Rel::Aggregate(node) => {
            node.keys.iter_mut().for_each(column);
            if node.totals.is_empty() {
                let mut seen = std::collections::BTreeSet::new();
                node.keys.retain(|key| seen.insert(*key));
            }
        }
        Rel::Expand(node) => node.keys.iter_mut().for_each(|(_, from)| column(from)),
        Rel::Union(node) => node.inputs.iter_mut().flat_map(|(_, from)| from).for_each(column),
        Rel::Repeat(node) => column(&mut node.times),
        _ => {}
    }
    for e in rel.exprs_mut() {
        e.change(&mut |e| {
            if let crate::algebra::Kind::Column(id) = &mut e.kind {
                column(id);
            }
        });
    }
    rel.inputs_mut().into_iter().for_each(|input| replace(input, copies));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::JoinKind;
    use crate::rules::testing::{Sample, eq, filter, group, id, int, join, map};

    #[test]
    fn a_copy_of_a_copy_is_the_column() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let (u, [y]) = sample.table("u", ["y"]);
        let (a, b) = (sample.number("a"), sample.number("b"));
        let copied = map(map(t, vec![(id(&a), x.clone())]), vec![(id(&b), a.clone())]);
        let rel = join(JoinKind::Left, u, group(copied, vec![id(&a), id(&b)]), vec![eq(&y, &b)]);
        let rel = filter(rel, vec![eq(&a, &int(1))]);
        sample.becomes(
            remove,
            rel,
            &[&y, &b],
            "map b#3 := x#0\n  filter (x#0 = 1)\n    left join (y#1 = x#0)\n      scan u y#1\n      \
             aggregate by x#0\n        scan t x#0\n",
        );
    }
}
