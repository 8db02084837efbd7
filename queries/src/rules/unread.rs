//! What nobody reads is not computed.
//!
//! Columns have numbers that no other column has, and what reads one stands above what makes it. So one walk from the top
//! knows at each operator which of its columns are read.
//!
//! - Entries of a [`Map`](Rel::Map), calls of an aggregate and over windows, columns of unions and of VALUES.
//! - The join that only says whether there is a match, where nobody asks. And a left join whose right side is not read
//!   and has one match at most for each row.
//! - An aggregate without keys, of which no result is read, is one row.
//! - Lists that UNNEST takes apart beside others of the same length.
//! - Columns of stages that none of their readers reads, and stages that nothing reads.

use std::collections::BTreeSet;

use expressions::functions::json::OfJson;

use super::simplify::nodes::taken;
use super::unique;
use crate::algebra::{
    ColumnId, Expr, Join, JoinKind, Kind, Rel, StageOutput, Statement, Union, Unnest, Values,
};

/// Takes away what is not read.
pub fn remove(statement: &mut Statement) {
    let mut read = BTreeSet::from_iter(statement.output.iter().copied());
    prune(&mut statement.root, &mut read);
    let mut kept: Vec<Vec<bool>> =
        statement.stages.iter().map(|stage| vec![false; stage.columns.len()]).collect();
    note_read(&statement.root, &read, &mut kept);
    // A stage reads those before it.
    for number in (0..statement.stages.len()).rev() {
        let stage = &mut statement.stages[number];
        // Which rows a recursion gives may depend on each of its columns.
        if stage.gives == StageOutput::Value || stage.is_recursive() {
            kept[number].fill(true);
        }
        let kept_columns = stage.columns.iter().zip(&kept[number]).filter(|(_, is_kept)| **is_kept);
        read.extend(kept_columns.map(|(id, _)| id));
        prune(&mut stage.root, &mut read);
        note_read(&stage.root, &read, &mut kept);
    }
    narrow(statement, &kept);
    statement.drop_unread_stages();
}

/// Notes which columns of stages the readers in a tree read.
fn note_read(tree: &Rel, read: &BTreeSet<ColumnId>, kept: &mut [Vec<bool>]) {
    tree.look_at_readers(&mut |reader| {
        for (is_kept, id) in kept[reader.stage].iter_mut().zip(&reader.columns) {
            *is_kept |= read.contains(id);
        }
    });
}

/// Has stages give the columns that are kept alone, and their readers read no more.
pub fn narrow(statement: &mut Statement, kept: &[Vec<bool>]) {
    let is_narrower = |kept: &Vec<bool>| kept.contains(&false);
    if !kept.iter().any(is_narrower) {
        return;
    }
    let Statement { stages, root, .. } = statement;
    stages.iter_mut().zip(kept).for_each(|(stage, kept)| keep(&mut stage.columns, kept));
    for tree in stages.iter_mut().map(|stage| &mut stage.root).chain([root]) {
        tree.change_readers(&mut |reader| {
            if let Some(kept) = kept.get(reader.stage).filter(|kept| is_narrower(kept)) {
                keep(&mut reader.columns, kept);
                // Places of columns have changed.
                reader.facts = None;
            }
            None
        });
    }
}

fn prune(rel: &mut Rel, read: &mut BTreeSet<ColumnId>) {
    match rel {
        Rel::Map(node) => {
            node.exprs.retain(|(id, _)| read.contains(id));
            if node.exprs.is_empty() {
                *rel = taken(&mut node.input);
                return prune(rel, read);
            }
        }
        Rel::Aggregate(node) => {
            node.calls.retain(|(id, _)| read.contains(id));
            if node.totals.is_empty() {
                let mut seen = BTreeSet::new();
                node.keys.retain(|key| seen.insert(*key));
                if node.keys.is_empty() && node.calls.is_empty() {
                    *rel = Values::one();
                }
            }
        }
        Rel::Window(node) => {
            node.calls.retain(|(id, _)| read.contains(id));
            if node.calls.is_empty() {
                *rel = taken(&mut node.input);
                return prune(rel, read);
            }
        }
        Rel::Join(node) if is_unasked(node, read) => {
            *rel = taken(&mut node.left);
            return prune(rel, read);
        }
        Rel::Union(node) => prune_union(node, read),
        Rel::Unnest(node) => prune_lists(node, read),
        Rel::Values(node) => {
            let kept: Vec<bool> = node.columns.iter().map(|id| read.contains(id)).collect();
            if kept.contains(&false) {
                keep(&mut node.columns, &kept);
                node.rows.iter_mut().for_each(|row| keep(row, &kept));
            }
        }
        _ => {}
    }
    read.extend(rel.reads());
    rel.inputs_mut().into_iter().for_each(|input| prune(input, read));
}

/// Whether a join gives each left row once, and nothing besides that is read.
fn is_unasked(node: &Join, read: &BTreeSet<ColumnId>) -> bool {
    match node.kind {
        JoinKind::Mark(mark) => !read.contains(&mark),
        JoinKind::Left => unique::matches_once(node).is_some_and(|right| right.is_disjoint(read)),
        _ => false,
    }
}

/// Takes away lists that are not read, and as long as another one.
fn prune_lists(node: &mut Unnest, read: &BTreeSet<ColumnId>) {
    for place in (0..node.lists.len()).rev() {
        let (id, list) = &node.lists[place];
        let others = node.lists.iter().enumerate().filter(|(other, _)| *other != place);
        let is_as_long = others.map(|(_, (_, other))| other).any(|other| has_length_of(list, other));
        if !read.contains(id) && is_as_long {
            node.lists.remove(place);
        }
    }
}

/// Whether two lists have the same number of items in each row.
fn has_length_of(list: &Expr, other: &Expr) -> bool {
    let (Kind::Call { function: one, args: of_one }, Kind::Call { function: two, args: of_two }) =
        (&list.kind, &other.kind)
    else {
        return false;
    };
    let same = OfJson::of(one).zip(OfJson::of(two)).is_some_and(|(one, two)| one.has_length_of(two));
    same && of_one == of_two
}

fn prune_union(node: &mut Union, read: &BTreeSet<ColumnId>) {
    let kept: Vec<bool> = node.columns.iter().map(|id| read.contains(id)).collect();
    if !kept.contains(&false) {
        return;
    }
    keep(&mut node.columns, &kept);
    node.inputs.iter_mut().for_each(|(_, from)| keep(from, &kept));
}

/// Keeps the items at the places that are kept.
fn keep<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next().copied().unwrap_or(true));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Stage;
    use crate::rules::testing::{Sample, eq, filter, group, id, int, join, map, union};

    #[test]
    fn what_is_not_read_is_not_computed() {
        let mut sample = Sample::default();
        let (t, [x, y]) = sample.table("t", ["x", "y"]);
        let [a, b, c] = ["a", "b", "c"].map(|name| sample.number(name));
        let computed = map(t, vec![(id(&a), eq(&x, &y)), (id(&b), eq(&y, &x))]);
        let rel = map(computed, vec![(id(&c), a.clone())]);
        sample.becomes(remove, rel.clone(), &[&x], "scan t x#0, y#1\n");
        let (u, [z]) = sample.table("u", ["z"]);
        let [p, q] = ["p", "q"].map(|name| sample.number(name));
        let all = union(vec![id(&p), id(&q)], vec![(rel, vec![id(&c), id(&b)]), (u, vec![id(&z), id(&z)])]);
        sample.becomes(
            remove,
            all,
            &[&q],
            "union q#7 of b#3 of z#5\n  map b#3 := y#1 = x#0\n    scan t x#0, y#1\n  scan u z#5\n",
        );
    }

    #[test]
    fn a_join_that_is_not_read_goes() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let (u, [y]) = sample.table("u", ["y"]);
        let m = sample.condition("m");
        let mark = join(JoinKind::Mark(id(&m)), t.clone(), u.clone(), vec![eq(&x, &y)]);
        sample.becomes(remove, mark, &[&x], "scan t x#0\n");
        let left = join(JoinKind::Left, t, group(u, vec![id(&y)]), vec![eq(&x, &y)]);
        sample.becomes(remove, left.clone(), &[&x], "scan t x#0\n");
        let kept = sample.columns.show_rel(&left);
        sample.becomes(remove, left, &[&x, &y], &kept);
    }

    #[test]
    fn stages_that_are_read_keep_their_order() {
        let mut sample = Sample::default();
        let (t, [x]) = sample.table("t", ["x"]);
        let (u, [y]) = sample.table("u", ["y"]);
        let stage = |number| Expr { kind: Kind::Stage(number), data_type: x.data_type.clone() };
        let stages = [
            filter(u.clone(), vec![eq(&y, &int(0))]),
            filter(u.clone(), vec![eq(&y, &int(1))]),
            filter(u, vec![eq(&y, &stage(0))]),
        ];
        let root = filter(t, vec![eq(&x, &stage(2))]);
        let mut statement = sample.statement(root, &[&x]);
        let value = |root| Stage { root, columns: vec![id(&y)], gives: StageOutput::Value };
        statement.stages = stages.into_iter().map(value).collect();
        remove(&mut statement);
        let shown: Vec<String> =
            statement.stages.iter().map(|stage| statement.columns.show_rel(&stage.root)).collect();
        let scan = "\n  scan u y#1\n";
        assert_eq!(shown, [format!("filter (y#1 = 0){scan}"), format!("filter (y#1 = stage 0){scan}")]);
        assert_eq!(statement.columns.show_rel(&statement.root), "filter (x#0 = stage 1)\n  scan t x#0\n");
    }
}
