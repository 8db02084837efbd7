//! Columns that are copies of others.
//!
//! A column that a [`Map`] makes of another one, unchanged, is that one. Where it is read the other can be read, and
//! the copy goes. Both are NULL in the same rows, since no operator gives the one without the other. A relation gives
//! all columns of its inputs, and keys and columns of unions are replaced as well. So is a column that a stage gives
//! twice: its readers read it once.
//!
//! The columns of the result keep their numbers, and so their names: a copy that the result has is made at the top again.

use std::collections::BTreeMap;

use super::simplify::nodes::taken;
use super::unread;
use crate::algebra::{ColumnId, Expr, Map, Rel, Stage, Statement};

/// Takes copies away.
pub fn remove(statement: &mut Statement) {
    let mut copies = BTreeMap::new();
    for stage in &mut statement.stages {
        take(&mut stage.root, &mut copies);
    }
    take(&mut statement.root, &mut copies);
    let kept = repeated(statement, &mut copies);
    if copies.is_empty() {
        return;
    }
    unread::narrow(statement, &kept);
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

/// Adds the copies that readers of a stage have of a column that the stage gives twice. Says which columns of each stage are
/// none of them.
fn repeated(statement: &Statement, copies: &mut BTreeMap<ColumnId, ColumnId>) -> Vec<Vec<bool>> {
    let mut kept: Vec<Vec<bool>> =
        statement.stages.iter().map(|stage| vec![true; stage.columns.len()]).collect();
    let mut origins = resolved(copies);
    // Columns that are equal in the first rows of a recursion, or in those of a round, need not be so in all.
    let is_whole = |stage: &Stage| stage.is_shared() && !stage.is_recursive();
    for (number, stage) in statement.stages.iter().enumerate().filter(|(_, stage)| is_whole(stage)) {
        let mut first: BTreeMap<ColumnId, usize> = BTreeMap::new();
        let mut places: Vec<(usize, usize)> = Vec::new();
        for (place, id) in stage.columns.iter().enumerate() {
            let origin = origins.get(id).copied().unwrap_or(*id);
            let first = *first.entry(origin).or_insert(place);
            if first < place {
                places.push((place, first));
                kept[number][place] = false;
            }
        }
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
        origins = resolved(copies);
    }
    kept
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
    use crate::algebra::{JoinKind, Shared, Stage, StageOutput};
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

    #[test]
    fn what_a_stage_gives_twice_is_read_once() {
        let mut sample = Sample::default();
        let (t, [x, y]) = sample.table("t", ["x", "y"]);
        let columns = [&x, &y, &x].map(id).to_vec();
        let stage = Stage { root: t, columns, gives: StageOutput::Rows { is_asked: true } };
        let [a, b, c] = ["a", "b", "c"].map(|name| sample.number(name));
        let columns = [&a, &b, &c].map(id).to_vec();
        let reader = Rel::Shared(Shared { stage: 0, columns, fetch: None, facts: None });
        let statement = sample.statement(filter(reader, vec![eq(&b, &c)]), &[&a, &c]);
        let mut statement = Statement { stages: vec![stage], ..statement };
        remove(&mut statement);
        assert_eq!(statement.stages[0].columns, [id(&x), id(&y)]);
        // The result keeps both of its names.
        assert_eq!(
            statement.columns.show_rel(&statement.root),
            "map c#4 := a#2\n  filter (b#3 = a#2)\n    shared 0 a#2, b#3\n"
        );
    }
}
