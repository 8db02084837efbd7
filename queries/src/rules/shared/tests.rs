use super::*;
use crate::Settings;
use crate::algebra::{ColumnId, JoinKind, Limit, Shared, Sort, SortKey, Stage};
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
        self.stages.push(Stage { root, columns, gives: StageOutput::Rows { is_asked } });
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

/// Has the filters of readers decide, and gives the trees.
fn filtered(made: &Made, root: &Rel, output: &Expr) -> String {
    let types = Types::new(&Settings::default());
    let mut statement = made.statement(root.clone(), &[output]);
    super::filter::filter(&mut statement, &Simplifier::new(&types)).unwrap();
    statement.drop_unread_stages();
    shown(&statement)
}

#[test]
fn rows_that_no_reader_wants_are_not_kept() {
    let mut made = Made::default();
    let (t, [x, y]) = made.sample.table("t", ["x", "y"]);
    made.stage(group(t, vec![id(&x), id(&y)]), &[&x, &y], false);
    let ((left, [a, b]), (right, [c, d])) = (made.read(0, ["a", "b"]), made.read(0, ["c", "d"]));
    let (left, right) = (filter(left, vec![more(&b, &int(5))]), filter(right, vec![more(&c, &int(2))]));
    let root = join(JoinKind::Inner, left, right, vec![eq(&a, &d)]);
    let to = "stage 0 gives x#0, y#1\naggregate by x#0, y#1\n  filter ((y#1 > 5) OR (x#0 > 2))\n    scan t x#0, y#1\n";
    let shown = filtered(&made, &root, &a);
    assert!(shown.starts_with(to), "{shown}");
    // A third reader wants all.
    let (all, [e, _]) = made.read(0, ["e", "f"]);
    let root = join(JoinKind::Semi, root, all, vec![eq(&a, &e)]);
    let kept = filtered(&made, &root, &a);
    assert!(kept.starts_with("stage 0 gives x#0, y#1\naggregate by x#0, y#1\n  scan t"), "{kept}");
}

#[test]
fn what_selective_filters_make_small_is_computed_for_each() {
    for is_asked in [false, true] {
        let mut made = Made::default();
        let (t, [x, y]) = made.sample.table("t", ["x", "y"]);
        let (u, [z, w]) = made.sample.table("u", ["z", "w"]);
        made.stage(join(JoinKind::Inner, t, u, vec![more(&x, &z)]), &[&y, &w], is_asked);
        let ((left, [a, b]), (right, [c, d])) = (made.read(0, ["a", "b"]), made.read(0, ["c", "d"]));
        // One asks for rows of the first table, the other one for rows of the second.
        let (left, right) = (filter(left, vec![eq(&a, &int(5))]), filter(right, vec![eq(&d, &int(2))]));
        let root = join(JoinKind::Inner, left, right, vec![eq(&b, &c)]);
        let shown = filtered(&made, &root, &a);
        assert_eq!(shown.contains("stage 0"), is_asked, "{shown}");
        assert_eq!(shown.matches("scan t").count(), if is_asked { 1 } else { 2 }, "{shown}");
    }
}

#[test]
fn what_is_more_work_to_keep_is_computed_for_each() {
    for (columns, is_kept) in [(1, true), (60, false)] {
        let mut made = Made::default();
        let (t, of_t) = made.sample.table("t", ["x"; 60]);
        let (u, [z]) = made.sample.table("u", ["z"]);
        let given: Vec<&Expr> = of_t.iter().take(columns).collect();
        made.stage(join(JoinKind::Inner, t, u, vec![eq(&of_t[0], &z)]), &given, false);
        let mut reader = || {
            let read: Vec<Expr> = (0..columns).map(|_| made.sample.number("a")).collect();
            let columns = read.iter().map(id).collect();
            (Rel::Shared(Shared { stage: 0, columns, fetch: None, facts: None }), read[0].clone())
        };
        let ((left, a), (right, b)) = (reader(), reader());
        let shown = filtered(&made, &join(JoinKind::Semi, left, right, vec![eq(&a, &b)]), &a);
        assert_eq!(shown.contains("stage 0"), is_kept, "{shown}");
    }
}

#[test]
fn what_is_computed_for_each_counts_for_what_it_reads() {
    // Each stage reads the one before it twice.
    let mut made = Made::default();
    let (t, of_t) = made.sample.table("t", ["x"; 60]);
    let columns: Vec<&Expr> = of_t.iter().collect();
    made.stage(group(t, of_t.iter().map(id).collect()), &columns, false);
    for stage in 0..8 {
        let (left, of_left) = made.read(stage, ["a"; 60]);
        let (right, [b, ..]) = made.read(stage, ["b"; 60]);
        let columns: Vec<&Expr> = of_left.iter().collect();
        made.stage(join(JoinKind::Inner, left, right, vec![eq(&of_left[0], &b)]), &columns, false);
    }
    let (root, [a, ..]) = made.read(8, ["a"; 60]);
    let shown = filtered(&made, &root, &a);
    assert_eq!(shown.matches("scan t").count(), 1, "{shown}");
}

#[test]
fn a_stage_gives_no_more_rows_than_one_of_its_readers_wants() {
    let limit = |input, rows| Rel::Limit(Limit { input: Box::new(input), skip: 0, fetch: Some(rows) });
    for all_are_limited in [true, false] {
        let mut made = Made::default();
        let (t, [x]) = made.sample.table("t", ["x"]);
        made.stage(group(t, vec![id(&x)]), &[&x], false);
        let ((one, [a]), (other, [b])) = (made.read(0, ["a"]), made.read(0, ["b"]));
        let other = if all_are_limited { limit(other, 9) } else { other };
        let root = join(JoinKind::Semi, limit(one, 5), other, vec![eq(&a, &b)]);
        let mut statement = made.statement(root, &[&a]);
        limited::push(&mut statement);
        let shown = shown(&statement);
        assert_eq!(shown.starts_with("stage 0 gives x#0\nlimit 9 from 0\n"), all_are_limited, "{shown}");
        assert!(shown.contains("shared 0 a#1 fetch 5"), "{shown}");
    }
}

#[test]
fn what_is_not_the_same_each_time_is_computed_once() {
    let mut made = Made::default();
    let (t, [x, y]) = made.sample.table("t", ["x", "y"]);
    let first = Limit { input: Box::new(t), skip: 0, fetch: Some(900) };
    made.stage(Rel::Limit(first), &[&x, &y], false);
    let ((left, [a, b]), (right, [c, d])) = (made.read(0, ["a", "b"]), made.read(0, ["c", "d"]));
    let (left, right) = (filter(left, vec![eq(&a, &int(5))]), filter(right, vec![eq(&d, &int(2))]));
    let root = join(JoinKind::Inner, left, right, vec![eq(&b, &c)]);
    let shown = filtered(&made, &root, &a);
    assert!(
        shown.starts_with("stage 0 gives x#0, y#1\nfilter ((x#0 = 5) OR (y#1 = 2))\n  limit 900"),
        "{shown}"
    );
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

#[test]
fn what_stands_twice_is_computed_once() {
    let mut sample = Sample::default();
    let (t, [x, y]) = sample.table("t", ["x", "y"]);
    let (u, [z]) = sample.table("u", ["z"]);
    let joined = join(JoinKind::Inner, filter(t, vec![eq(&y, &int(1))]), u, vec![eq(&x, &z)]);
    let (again, numbers) = joined.copied(&mut sample.columns);
    let (a, b) = (x.clone(), sample.columns.read(numbers[&id(&x)]));
    let (left, right) = (group(joined.clone(), vec![id(&a)]), group(again.clone(), vec![id(&b)]));
    let root = join(JoinKind::Semi, left, filter(right, vec![more(&b, &int(7))]), vec![eq(&a, &b)]);
    let mut statement = sample.statement(root, &[&a]);
    equal::share(&mut statement);
    // The groups are the largest equal relations.
    let group_of = "aggregate by x#6\n  inner join (x#6 = z#8)\n    filter (y#7 = 1)\n      scan t x#6, y#7\n    scan u z#8\n";
    let readers = "semi join (x#0 = x#3)\n  shared 0 x#0\n  filter (x#3 > 7)\n    shared 0 x#3\n";
    assert_eq!(shown(&statement), format!("stage 0 gives x#6\n{group_of}{readers}"));
    // Parts of a tree of joins stay, whose order may be another one.
    let (v, [w]) = sample.table("v", ["w"]);
    let root =
        join(JoinKind::Inner, join(JoinKind::Inner, joined.clone(), v, vec![eq(&y, &w)]), again, vec![]);
    let mut statement = sample.statement(root, &[&a]);
    equal::share(&mut statement);
    assert!(statement.stages.is_empty(), "{}", shown(&statement));
}

#[test]
fn what_stands_in_stages_too_is_computed_before_them() {
    let mut sample = Sample::default();
    let (t, [x, y]) = sample.table("t", ["x", "y"]);
    let (u, [z]) = sample.table("u", ["z"]);
    let joined = join(JoinKind::Inner, t.clone(), u, vec![eq(&x, &z)]);
    let (again, numbers) = joined.copied(&mut sample.columns);
    let of_again = sample.columns.read(numbers[&id(&y)]);
    let (other, of_other) = t.copied(&mut sample.columns);
    let value = |root, column| Stage { root, columns: vec![column], gives: StageOutput::Value };
    let stage = |number| Expr { kind: crate::algebra::Kind::Stage(number), data_type: x.data_type.clone() };
    let stages = vec![
        value(other, of_other[&id(&x)]),
        value(filter(group(again, vec![id(&of_again)]), vec![more(&of_again, &stage(0))]), id(&of_again)),
    ];
    let root = filter(group(joined, vec![id(&x)]), vec![eq(&x, &stage(1))]);
    let mut statement = Statement { stages, ..sample.statement(root, &[&x]) };
    equal::share(&mut statement);
    let shown = shown(&statement);
    let order: Vec<&str> = shown.lines().filter(|line| line.starts_with("stage")).collect();
    assert_eq!(order, ["stage 0 gives x#6", "stage 1 gives x#8, y#9, z#10", "stage 2 gives y#4"], "{shown}");
    assert!(
        shown.contains("(y#4 > stage 0)")
            && shown.ends_with("filter (x#0 = stage 2)\n  aggregate by x#0\n    shared 1 x#0, y#1, z#2\n"),
        "{shown}"
    );
}
