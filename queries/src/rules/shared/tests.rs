use super::*;
use crate::Settings;
use crate::algebra::{ColumnId, JoinKind, Shared, Sort, SortKey, Stage};
use crate::rules::simplify::Simplifier;
use crate::rules::testing::{Sample, eq, filter, group, id, int, join, map, more, union};
use crate::rules::{aliases, sorts, unread};
use crate::types::Types;

/// Statements with stages whose rows are read.
#[derive(Default)]
struct Made {
    sample: Sample,
    stages: Vec<Stage>,
}

impl Made {
    fn stage(&mut self, root: Rel, columns: &[&Expr], is_asked: bool) {
        let columns = columns.iter().map(|e| id(e)).collect();
        self.stages.push(Stage { root, columns, gives: Gives::Rows { is_asked } });
    }

    /// A reader of a stage, and its columns.
    fn read<const N: usize>(&mut self, stage: usize, names: [&str; N]) -> (Rel, [Expr; N]) {
        let read = names.map(|name| self.sample.number(name));
        let columns = read.iter().map(id).collect();
        (Rel::Shared(Shared { stage, columns, fetch: None, facts: None }), read)
    }

    fn statement(&self, root: Rel, output: &[&Expr]) -> Statement {
        Statement { stages: self.stages.clone(), ..self.sample.statement(root, output) }
    }
}

/// The trees of a statement, those of stages first.
fn shown(statement: &Statement) -> String {
    let mut text = String::new();
    for (number, stage) in statement.stages.iter().enumerate() {
        let given: Vec<String> = stage.columns.iter().map(|id| name(statement, *id)).collect();
        text += &format!("stage {number} gives {}\n", given.join(", "));
        text += &statement.columns.show_rel(&stage.root);
    }
    text + &statement.columns.show_rel(&statement.root)
}

fn name(statement: &Statement, id: ColumnId) -> String {
    statement.columns.show(&statement.columns.read(id))
}

#[test]
fn a_relation_with_one_reader_takes_its_place() {
    let mut made = Made::default();
    let (t, [x, y]) = made.sample.table("t", ["x", "y"]);
    made.stage(group(t, vec![id(&x), id(&y)]), &[&x], false);
    let (inner, [a]) = made.read(0, ["a"]);
    made.stage(filter(inner, vec![eq(&a, &int(1))]), &[&a], false);
    let (outer, [b]) = made.read(1, ["b"]);
    let mut statement = made.statement(outer, &[&b]);
    assert!(settle(&mut statement));
    assert_eq!(shown(&statement), "filter (x#0 = 1)\n  aggregate by x#0, y#1\n    scan t x#0, y#1\n");
    assert_eq!(statement.output, [id(&x)]);
}

#[test]
fn what_is_cheap_is_read_again_and_what_is_not_is_computed_once() {
    let mut made = Made::default();
    let (t, [x]) = made.sample.table("t", ["x"]);
    made.stage(group(t, vec![id(&x)]), &[&x], false);
    let (inner, [a]) = made.read(0, ["a"]);
    made.stage(filter(inner, vec![more(&a, &int(1))]), &[&a], false);
    let ((left, [l]), (right, [r])) = (made.read(1, ["l"]), made.read(1, ["r"]));
    let mut statement = made.statement(join(JoinKind::Inner, left, right, vec![eq(&l, &r)]), &[&l]);
    assert!(settle(&mut statement));
    // The second reader has the relation itself, the first one a copy.
    let to = "stage 0 gives x#0\naggregate by x#0\n  scan t x#0\ninner join (a#4 = a#1)\n  filter (a#4 > 1)\n    shared 0 a#4\n  filter (a#1 > 1)\n    shared 0 a#1\n";
    assert_eq!(shown(&statement), to);
    assert!(!settle(&mut statement), "it is settled");
}

#[test]
fn what_is_asked_for_stays_and_what_nothing_reads_goes() {
    let mut made = Made::default();
    let (t, [x]) = made.sample.table("t", ["x"]);
    let (u, [y]) = made.sample.table("u", ["y"]);
    made.stage(group(u, vec![id(&y)]), &[&y], true);
    made.stage(t, &[&x], true);
    let (reader, [a]) = made.read(1, ["a"]);
    let mut statement = made.statement(reader, &[&a]);
    assert!(!settle(&mut statement));
    assert_eq!(shown(&statement), "stage 0 gives x#0\nscan t x#0\nshared 0 a#2\n");
}

#[test]
fn columns_that_no_reader_reads_are_not_kept() {
    let mut made = Made::default();
    let (t, [x, y, z]) = made.sample.table("t", ["x", "y", "z"]);
    let same = made.sample.number("same");
    let grouped = map(group(t, vec![id(&x), id(&y), id(&z)]), vec![(id(&same), x.clone())]);
    made.stage(grouped, &[&x, &y, &z, &same], false);
    let (left, [a, _, c, _]) = made.read(0, ["a", "b", "c", "d"]);
    let (right, [_, _, _, h]) = made.read(0, ["e", "f", "g", "h"]);
    let root = join(JoinKind::Semi, left, right, vec![eq(&a, &h)]);
    let mut statement = made.statement(root, &[&c]);
    aliases::remove(&mut statement);
    unread::remove(&mut statement);
    // What is given twice is kept once: h is what e is.
    let to = "stage 0 gives x#0, z#2\naggregate by x#0, y#1, z#2\n  scan t x#0, y#1, z#2\nsemi join (a#4 = e#8)\n  shared 0 a#4, c#6\n  shared 0 e#8, g#10\n";
    assert_eq!(shown(&statement), to);
}

#[test]
fn rows_that_no_reader_wants_are_not_kept() {
    let mut made = Made::default();
    let (t, [x, y]) = made.sample.table("t", ["x", "y"]);
    made.stage(group(t, vec![id(&x), id(&y)]), &[&x, &y], false);
    let ((left, [a, b]), (right, [c, d])) = (made.read(0, ["a", "b"]), made.read(0, ["c", "d"]));
    let left = filter(left, vec![eq(&a, &int(1)), more(&b, &int(5))]);
    let root = join(JoinKind::Inner, left, filter(right.clone(), vec![eq(&c, &int(2))]), vec![eq(&b, &d)]);
    let types = Types::new(&Settings::default());
    let simplifier = Simplifier::new(&types);
    let mut statement = made.statement(root.clone(), &[&a]);
    assert!(super::filter::filter(&mut statement, &simplifier).unwrap());
    let stage = statement.columns.show_rel(&statement.stages[0].root);
    assert_eq!(
        stage,
        "aggregate by x#0, y#1\n  filter (((x#0 = 1) AND (y#1 > 5)) OR (x#0 = 2))\n    scan t x#0, y#1\n"
    );
    // A third reader wants all.
    let (all, [e, _]) = made.read(0, ["e", "f"]);
    let root = join(JoinKind::Semi, root, all, vec![eq(&a, &e)]);
    let mut statement = made.statement(root, &[&a]);
    assert!(!super::filter::filter(&mut statement, &simplifier).unwrap());
}

#[test]
fn an_order_stays_that_a_reader_sees() {
    let mut made = Made::default();
    let (t, [x]) = made.sample.table("t", ["x"]);
    let keys = vec![SortKey { expr: x.clone(), descending: false, nulls_first: false }];
    let sorted = Rel::Sort(Sort { input: Box::new(t), keys, fetch: None });
    made.stage(sorted, &[&x], true);
    let ((one, [a]), (other, [b])) = (made.read(0, ["a"]), made.read(0, ["b"]));
    let u = made.sample.number("u");
    let unordered = union(vec![id(&u)], vec![(one.clone(), vec![id(&a)]), (other.clone(), vec![id(&b)])]);
    for (root, output, to) in [(unordered, &u, "scan t x#0\n"), (one, &a, "sort x#0\n  scan t x#0\n")] {
        let mut statement = made.statement(root, &[output]);
        sorts::remove(&mut statement);
        assert_eq!(statement.columns.show_rel(&statement.stages[0].root), to);
    }
}

#[test]
fn readers_know_what_tells_rows_apart() {
    let mut made = Made::default();
    let (t, [x, y]) = made.sample.table("t", ["x", "y"]);
    made.stage(group(t, vec![id(&x)]), &[&x], false);
    let ((left, [a]), (right, [b])) = (made.read(0, ["a"]), made.read(0, ["b"]));
    let joined = join(JoinKind::Left, group(left, vec![id(&a)]), right, vec![eq(&a, &b)]);
    let mut statement = made.statement(joined, &[&a]);
    describe(&mut statement);
    // The left join gives each row once, and the groups are groups already.
    unread::remove(&mut statement);
    describe(&mut statement);
    unique::drop_distinct(&mut statement.root);
    assert_eq!(statement.columns.show_rel(&statement.root), "shared 0 a#2\n");
    let _ = y;
}
