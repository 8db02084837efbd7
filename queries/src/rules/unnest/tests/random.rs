//! Random statements: unnested they give the rows that they give as they stand.
//!
//! `SEED` and `SEEDS` are the first statement and how many there are, `ROOM` how large they are. With `SHOW` what fails
//! only when unnested is printed, with `SIZES` how many operators they have.

use std::collections::BTreeSet;

use super::generate::Generate;
use super::interpret::{STAGE, rows};
use crate::algebra::{ColumnId, JoinKind, Rel, Statement};
use crate::error::Error;
use crate::rules::unnest::unnest;

/// Checks that a relation reads what its inputs give alone, and that no column is made twice.
fn check(rel: &Rel, made: &mut BTreeSet<ColumnId>) -> BTreeSet<ColumnId> {
    let mut given = BTreeSet::new();
    for (i, input) in rel.inputs().into_iter().enumerate() {
        let of_input = check(input, made);
        if let Rel::Union(node) = rel {
            assert!(node.inputs[i].1.iter().all(|id| of_input.contains(id)), "of a union");
        } else {
            given.extend(of_input);
        }
    }
    if !matches!(rel, Rel::Union(_) | Rel::Scan(_)) {
        let missing: Vec<_> = rel.reads().difference(&given).copied().collect();
        assert!(missing.is_empty(), "it reads {missing:?}");
    }
    for id in rel.made_here() {
        assert!(made.insert(id), "column {} is made twice", id.0);
    }
    if let Rel::Join(node) = rel {
        assert!(node.kind != JoinKind::Single);
    }
    assert!(!rel.exprs().into_iter().any(|e| e.has_subquery()), "a subquery is left");
    rel.columns()
}

fn show(statement: &Statement) -> String {
    let mut text = String::new();
    for (i, stage) in statement.stages.iter().enumerate() {
        text += &format!("stage {i}: {:?}\n{}", stage.columns, statement.columns.show_rel(&stage.root));
    }
    text += &statement.columns.show_rel(&statement.root);
    text + &nested(&statement.root, statement)
}

/// The relations of subqueries.
fn nested(rel: &Rel, statement: &Statement) -> String {
    let mut text = String::new();
    rel.look(&mut |node| {
        for e in node.exprs() {
            e.look(&mut |e| {
                if let crate::algebra::Kind::Subquery(subquery) = &e.kind {
                    text += &format!("subquery of {:?}\n", subquery.columns);
                    text += &statement.columns.show_rel(&subquery.rel);
                    text += &nested(&subquery.rel, statement);
                }
                true
            });
        }
    });
    text
}

/// Runs random statements. Few of them may be refused, and few may fail unnested alone.
fn run(seeds: std::ops::Range<u64>, can_fail: bool, rule: impl Fn(Statement) -> crate::Result<Statement>) {
    let (statements, shows_sizes) = (seeds.end - seeds.start, std::env::var("SIZES").is_ok());
    let (mut unsupported, mut failed, mut with_rows, mut wrong) = (0_u64, 0_u64, 0_u64, Vec::new());
    for seed in seeds {
        let mut generate = Generate::new(seed, can_fail);
        let tables: Vec<_> = (0..2).map(|_| generate.tables()).collect();
        let statement = generate.statement();
        let unnested = match rule(statement.clone()) {
            Ok(unnested) => unnested,
            Err(Error::Unsupported(what) | Error::TooLarge { message: what }) => {
                unsupported += 1;
                if std::env::var("SHOW").is_ok() {
                    println!("not supported: {what}");
                }
                continue;
            }
            Err(e) => panic!("seed {seed}: {e}\n{}", show(&statement)),
        };
        let both = || format!("seed {seed}\n{}\n{}", show(&statement), show(&unnested));
        if shows_sizes {
            let mut n = 0;
            unnested.root.look(&mut |_| n += 1);
            println!("size {n} of {}", show(&statement).lines().count());
            continue;
        }
        let mut made = BTreeSet::new();
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for stage in &unnested.stages {
                check(&stage.root, &mut made);
            }
            check(&unnested.root, &mut made)
        }));
        if checked.is_err() {
            wrong.push(format!("not well formed\n{}", both()));
            continue;
        }
        for tables in tables {
            let Ok(expected) = rows(&statement, &tables) else { continue };
            match rows(&unnested, &tables) {
                Ok(found) if found == expected => with_rows += u64::from(!found.is_empty()),
                Ok(found) => wrong.push(format!("{}\n{expected:?}\n{found:?}\n{tables:?}", both())),
                Err(e) if e == STAGE && can_fail => {}
                Err(e) if can_fail => {
                    failed += 1;
                    if std::env::var("SHOW").is_ok() {
                        println!("{e}\n{}\n{expected:?}\n{tables:?}", both());
                    }
                }
                Err(e) => wrong.push(format!("{e}\n{}\n{tables:?}", both())),
            }
        }
        if wrong.len() > 5 {
            break;
        }
    }
    println!("{with_rows} results have rows, {unsupported} not supported, {failed} failed");
    // The shortest says most.
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} are wrong, among them\n{}", wrong.len(), wrong[0]);
    let are_few = |n: u64| n <= 1 + statements / 100;
    assert!(are_few(unsupported) && are_few(failed), "{unsupported} not supported, {failed} failed");
    assert!(shows_sizes || with_rows >= statements / 2, "{with_rows} results have rows");
}

fn seeds(default: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let start = number("SEED").unwrap_or(0);
    start..start + number("SEEDS").unwrap_or(default)
}

#[test]
fn random_statements_keep_their_rows() {
    run(seeds(2_000), false, unnest);
}

#[test]
fn all_rules_keep_the_rows_of_random_statements() {
    let rules = |statement| crate::rules::apply(statement, &crate::Settings::default());
    run(seeds(2_000), true, rules);
    run(seeds(2_000), false, rules);
}

#[test]
fn what_can_fail_fails_hardly_more_often() {
    run(seeds(2_000), true, unnest);
}
