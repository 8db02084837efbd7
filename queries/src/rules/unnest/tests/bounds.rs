//! What is read twice must be the same, and what is nested deeply stays small.

use std::time::Instant;

use arrow_schema::DataType;
use datafusion_expr::Operator;
use datafusion_functions_aggregate::count::count_udaf;

use super::build::{Build, exists, filter, limit, number};
use crate::algebra::{ColumnId, Expr, Kind, Rel};

/// The number of rows of u for which a condition on a column of the relation around is true.
fn counted(b: &mut Build, condition: impl FnOnce(&Build, ColumnId) -> Expr) -> Expr {
    let (u, [j]) = b.scan("u", ["j"]);
    let e = condition(b, j);
    let (group, count) = b.group(filter(u, vec![e]), &[], count_udaf(), number(1));
    b.scalar(group, count)
}

#[test]
fn a_limit_of_the_left_side_gets_an_order_without_equal_rows() {
    let mut b = Build::default();
    let (t, [k, a]) = b.scan("t", ["k", "a"]);
    let e = counted(&mut b, |b, j| b.compare(j, Operator::Lt, k));
    let (root, out) = b.map(limit(b.sort(t, a), 0, Some(3)), "n", e);
    let shape = b.shape(root, &[out]);
    assert_eq!(shape.matches("sort a#1, k#0\n").count(), 1, "{shape}");
    assert_eq!(shape.matches("limit 3 from 0\n").count(), 2, "{shape}");
}

#[test]
fn random_values_are_not_read_twice() {
    let mut b = Build::default();
    let (t, [_]) = b.scan("t", ["k"]);
    let random = Kind::Call { function: datafusion_functions::math::random(), args: vec![] };
    let (t, r) = b.map(t, "r", Expr { kind: random, data_type: DataType::Float64 });
    let e = counted(&mut b, |b, j| b.compare(j, Operator::Lt, r));
    let (root, out) = b.map(t, "n", e);
    let shape = b.shape(root, &[out]);
    assert!(shape.starts_with("not supported: this correlated subquery over rows that"), "{shape}");
}

#[test]
fn sums_of_floats_are_not_compared() {
    let mut b = Build::default();
    let (t, [k, a]) = b.scan("t", ["k", "a"]);
    let float = Kind::Cast { expr: Box::new(b.read(a)), safe: true };
    let float = Expr { kind: float, data_type: DataType::Float64 };
    let (t, s) = b.group(t, &[k], expressions::functions::sum::sum(), float);
    let e = counted(&mut b, |b, j| b.compare(j, Operator::Lt, s));
    let (root, out) = b.map(t, "n", e);
    let shape = b.shape(root, &[out]);
    assert!(shape.contains("left join (k#0 IS NOT DISTINCT FROM k#"), "{shape}");
    assert!(!shape.contains("sum#2 IS NOT DISTINCT FROM"), "{shape}");
}

/// Subqueries within each other, each of which names the columns of all around it.
fn nested(b: &mut Build, depth: usize, around: &[ColumnId]) -> Expr {
    let (u, [j]) = b.scan("u", ["j"]);
    let mut terms: Vec<Expr> = around.iter().map(|k| b.compare(j, Operator::Lt, *k)).collect();
    if depth > 0 {
        let around = [around, &[j]].concat();
        let inner = nested(b, depth - 1, &around);
        terms.push(Expr::compare(b.read(j), Operator::Lt, inner));
    }
    let (group, count) = b.group(filter(u, terms), &[], count_udaf(), number(1));
    b.scalar(group, count)
}

fn nodes(rel: &Rel) -> usize {
    let mut count = 0;
    rel.look(&mut |_| count += 1);
    count
}

#[test]
fn depth_costs_no_more_than_breadth() {
    let mut b = Build::default();
    let (t, [k]) = b.scan("t", ["k"]);
    let e = nested(&mut b, 18, &[k]);
    let (root, out) = b.map(t, "n", e);
    let start = Instant::now();
    let statement = b.unnested(root, &[out]).unwrap();
    assert!(nodes(&statement.root) < 3_000, "{} operators", nodes(&statement.root));
    println!("{} operators in {:?}", nodes(&statement.root), start.elapsed());
}

#[test]
fn many_subqueries_take_a_time_of_their_number() {
    // Plans are made on a stack of many more bytes than a test has.
    let thread = std::thread::Builder::new().stack_size(256 << 20);
    thread.spawn(many).unwrap().join().unwrap();
}

fn many() {
    for is_term in [true, false] {
        let mut b = Build::default();
        let (t, [k]) = b.scan("t", ["k"]);
        let mut terms = Vec::new();
        for i in 0..if is_term { 1_000 } else { 200 } {
            if is_term {
                let (u, [j, x]) = b.scan("u", ["j", "x"]);
                terms.push(exists(filter(u, vec![b.compare(j, Operator::Lt, k), b.eq(x, k)])));
            } else {
                let e = counted(&mut b, |b, j| b.compare(j, Operator::Lt, k));
                terms.push(Expr::compare(e, Operator::Gt, number(i)));
            }
        }
        let start = Instant::now();
        let statement = b.unnested(filter(t, terms), &[k]).unwrap();
        assert!(nodes(&statement.root) < 3_000, "{} operators", nodes(&statement.root));
        println!("{} operators in {:?}", nodes(&statement.root), start.elapsed());
    }
}
