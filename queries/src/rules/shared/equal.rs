//! Relations that stand several times in a statement become one stage, where that is less work.
//!
//! Filters have been moved down by now: what is equal is so with the filters of each place. A part of a tree of inner joins
//! is left in its place, where the order of joins may be another one.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{cost, describe};
use crate::algebra::{ColumnId, JoinKind, Rel, Shared, Stage, StageOutput, Statement};
use crate::rules::simplify::nodes::taken;

/// The most relations of a statement among which equal ones are looked for.
const MOST_RELATIONS: usize = 500;

/// Of so many relations equal ones are looked for, the first ones of a statement.
const MOST_SHAPES: usize = 200;

/// The most stages that are made.
const MOST_STAGES: usize = 20;

/// Makes stages of equal relations. Whether there are some.
pub fn share(statement: &mut Statement) -> bool {
    let before = statement.stages.len();
    if reads_again(statement) {
        for _ in 0..MOST_STAGES {
            let Some(shape) = most_work(statement) else { break };
            make_stage(statement, &shape);
            describe(statement);
        }
    }
    statement.stages.len() > before
}

/// Whether a statement reads something several times, and is not too large.
fn reads_again(statement: &Statement) -> bool {
    let (mut size, mut tables, mut stages) = (0, Vec::new(), Vec::new());
    trees(statement).for_each(|tree| {
        tree.look(&mut |node| {
            size += 1;
            match node {
                Rel::Scan(node) => tables.push(Arc::as_ptr(&node.table)),
                Rel::Shared(node) => stages.push(node.stage),
                _ => {}
            }
        });
    });
    let count = tables.len() + stages.len();
    tables.sort();
    tables.dedup();
    stages.sort();
    stages.dedup();
    size <= MOST_RELATIONS && tables.len() + stages.len() < count
}

fn trees(statement: &Statement) -> impl Iterator<Item = &Rel> {
    statement.stages.iter().map(|stage| &stage.root).chain([&statement.root])
}

/// A relation in the form in which equal ones are equal.
struct Shape {
    rel: Rel,
    relations: usize,
    places: usize,
    /// What is saved if it is computed once.
    saved: f64,
}

/// The relation that stands several times of which computing it once saves most.
fn most_work(statement: &Statement) -> Option<Shape> {
    let mut shapes: Vec<Shape> = Vec::new();
    let is_apart = |rel: &Rel| rel.columns().into_iter().any(|id| statement.columns.is_apart(id));
    for tree in trees(statement) {
        look(tree, false, &mut |rel| {
            if is_apart(rel) {
                return;
            }
            let relations = size(rel);
            let is_full = shapes.len() >= MOST_SHAPES;
            if is_full && shapes.iter().all(|shape| shape.relations != relations) {
                return;
            }
            let canonical = rel.canonical().0;
            if let Some(shape) = shapes.iter_mut().find(|shape| shape.rel == canonical) {
                shape.places += 1;
            } else if !is_full {
                shapes.push(Shape { rel: canonical, relations, places: 1, saved: 0.0 });
            }
        });
    }
    shapes.retain(|shape| shape.places > 1);
    if shapes.is_empty() {
        return None;
    }
    let read = read(statement);
    for tree in trees(statement) {
        look(tree, false, &mut |rel| {
            let Some(shape) = shapes.iter_mut().find(|shape| is_of(rel, shape)) else { return };
            let (once, estimate) = cost::of(rel);
            let types = given(rel).into_iter().filter(|id| read.contains(id));
            let types: Vec<_> = types.map(|id| statement.columns.get(id).data_type.clone()).collect();
            let kept = cost::of_keeping(estimate.rows, &types, shape.places);
            shape.saved = once * (shape.places - 1) as f64 - kept;
        });
    }
    shapes.into_iter().filter(|shape| shape.saved > 0.0).max_by(|a, b| a.saved.total_cmp(&b.saved))
}

fn is_of(rel: &Rel, shape: &Shape) -> bool {
    size(rel) == shape.relations && rel.canonical().0 == shape.rel
}

/// How many relations a tree has.
fn size(rel: &Rel) -> usize {
    let mut size = 0;
    rel.look(&mut |_| size += 1);
    size
}

/// Looks at the relations that may become stages, those above others first. `within` says whether a relation is a part of
/// a tree of inner joins, or only some of its rows are wanted.
fn look(rel: &Rel, within: bool, visit: &mut dyn FnMut(&Rel)) {
    if may_share(rel, within) {
        visit(rel);
    }
    for (place, input) in rel.inputs().into_iter().enumerate() {
        look(input, is_within(rel, within, place), visit);
    }
}

/// Whether a relation may become a stage: it stands by itself, is work, and gives the same rows each time.
fn may_share(rel: &Rel, within: bool) -> bool {
    let is_apart = match rel {
        Rel::Filter(_) | Rel::Map(_) | Rel::Join(_) => !within,
        Rel::Scan(_) | Rel::Values(_) | Rel::Shared(_) => false,
        _ => true,
    };
    is_apart && !super::is_cheap(rel) && !is_volatile(rel) && rel.free().is_empty()
}

fn is_volatile(rel: &Rel) -> bool {
    let mut is = false;
    rel.look(&mut |node| is |= node.exprs().into_iter().any(|e| e.is_volatile()));
    is
}

/// Whether an input is a part of a tree of inner joins, or only some of its rows are wanted.
fn is_within(rel: &Rel, within: bool, place: usize) -> bool {
    match rel {
        Rel::Filter(_) | Rel::Map(_) => within,
        Rel::Join(node) if node.kind == JoinKind::Inner => true,
        // It may be made before the joins to its left.
        Rel::Join(node) => place == 0 && !node.kind.gives_right(),
        Rel::Limit(node) => node.fetch.is_some(),
        _ => false,
    }
}

/// The columns that a relation gives, in an order that is the same for equal ones.
fn given(rel: &Rel) -> Vec<ColumnId> {
    let columns = rel.columns();
    let mut seen = BTreeSet::new();
    rel.made().into_iter().filter(|id| columns.contains(id) && seen.insert(*id)).collect()
}

/// The columns that something in a statement reads.
fn read(statement: &Statement) -> BTreeSet<ColumnId> {
    let mut read = BTreeSet::from_iter(statement.output.iter().copied());
    statement.stages.iter().for_each(|stage| read.extend(&stage.columns));
    trees(statement).for_each(|tree| tree.look(&mut |node| read.extend(node.reads())));
    read
}

/// Makes a stage of all relations of a shape.
fn make_stage(statement: &mut Statement, shape: &Shape) {
    let Statement { columns, stages, root, .. } = statement;
    // The stage comes before the first tree that reads it, and behind those that it reads, since that one reads them too.
    let is_reader = |tree: &Rel| {
        let mut is = false;
        look(tree, false, &mut |rel| is |= is_of(rel, shape));
        is
    };
    let at = stages.iter().position(|stage| is_reader(&stage.root)).unwrap_or(stages.len());
    let mut made: Option<Stage> = None;
    let mut make = |rel: &mut Rel| {
        let own = given(rel);
        let first = taken(rel);
        *rel = Rel::Shared(Shared { stage: at, columns: own.clone(), fetch: None, facts: None });
        if made.is_none() {
            let (root, numbers) = first.copied(columns);
            let given = own.iter().map(|id| numbers.get(id).copied().unwrap_or(*id)).collect();
            made = Some(Stage { root, columns: given, gives: StageOutput::Rows { is_asked: false } });
        }
    };
    let number = |old: usize| if old < at { old } else { old + 1 };
    stages.iter_mut().for_each(|stage| stage.renumber_stages(&number));
    root.renumber_stages(&number);
    for tree in stages.iter_mut().map(|stage| &mut stage.root).chain([root]) {
        replace(tree, false, shape, &mut make);
    }
    if let Some(stage) = made {
        stages.insert(at, stage);
    }
}

/// Puts something else in the places of all relations of a shape.
fn replace(rel: &mut Rel, within: bool, shape: &Shape, make: &mut dyn FnMut(&mut Rel)) {
    if may_share(rel, within) && is_of(rel, shape) {
        return make(rel);
    }
    let below: Vec<bool> = (0..rel.inputs().len()).map(|place| is_within(rel, within, place)).collect();
    for (input, within) in rel.inputs_mut().into_iter().zip(below) {
        replace(input, within, shape, make);
    }
}
