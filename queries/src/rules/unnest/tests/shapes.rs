//! What becomes of subqueries that are asked often.

use datafusion_expr::Operator;
use datafusion_functions_aggregate::average::avg_udaf;
use datafusion_functions_aggregate::count::count_udaf;
use datafusion_functions_aggregate::min_max::min_udaf;

use super::build::{Build, exists, filter, inner, limit, lines, number};
use crate::algebra::{Expr, Join, JoinKind, Rel, Union, Values};

fn check(shape: String, expected: &str) {
    let expected = lines(expected);
    assert!(shape == expected, "{shape}\nand not\n{expected}");
}

#[test]
fn exists_is_a_semi_join() {
    // TPC-H q4, q21: both kinds, and a condition that is no equality.
    let mut b = Build::default();
    let (l1, [order, supplier]) = b.scan("l", ["order", "supplier"]);
    let (l2, [order2, supplier2]) = b.scan("l", ["order", "supplier"]);
    let (l3, [order3, late]) = b.scan("l", ["order", "late"]);
    let other = b.compare(supplier2, Operator::NotEq, supplier);
    let first = exists(filter(l2, vec![b.eq(order2, order), other]));
    let second = exists(filter(l3, vec![b.eq(order3, order), b.read(late).is_null().not()])).not();
    check(
        b.shape(filter(l1, vec![first, second]), &[order]),
        "
        anti join (order#4 = order#0)
          semi join (order#2 = order#0) AND (supplier#3 != supplier#1)
            scan l order#0, supplier#1
            scan l order#2, supplier#3
          filter (NOT (late#5 IS NULL))
            scan l order#4, late#5
        ",
    );
}

#[test]
fn in_is_a_semi_join() {
    let mut b = Build::default();
    let (t, [a, k]) = b.scan("t", ["a", "k"]);
    let (u, [x]) = b.scan("u", ["x"]);
    let (v, [y]) = b.scan("v", ["y"]);
    let (w, [z, j]) = b.scan("w", ["z", "j"]);
    let yes = b.any(a, Operator::Eq, u, x);
    let no = b.any(a, Operator::Eq, v, y).not();
    let none = b.any(a, Operator::Eq, filter(w, vec![b.eq(j, k)]), z).not();
    check(
        b.shape(filter(t, vec![yes, no, none]), &[a]),
        "
        anti join (j#5 = k#1) AND ((a#0 = z#4) OR (a#0 IS NULL) OR (z#4 IS NULL))
          anti null-aware join (a#0 = y#3)
            semi join (a#0 = x#2)
              scan t a#0, k#1
              scan u x#2
            scan v y#3
          scan w z#4, j#5
        ",
    );
}

#[test]
fn a_correlated_aggregate_is_grouped_by_what_it_is_compared_with() {
    // TPC-H q17: what is computed from the row is computed above the join.
    let mut b = Build::default();
    let (l, [part, quantity]) = b.scan("l", ["part", "quantity"]);
    let (l2, [part2, quantity2]) = b.scan("l", ["part", "quantity"]);
    let arg = b.read(quantity2);
    let (group, mean) = b.group(filter(l2, vec![b.eq(part2, part)]), &[], avg_udaf(), arg);
    let fifth = Expr::compare(b.read(mean), Operator::IsDistinctFrom, number(5));
    let (group, fifth) = b.map(group, "fifth", fifth);
    let e = Expr::compare(b.read(quantity), Operator::Lt, b.scalar(group, fifth));
    check(
        b.shape(filter(l, vec![e]), &[quantity]),
        "
        filter (quantity#1 < (avg#4 IS DISTINCT FROM 5))
          left join (part#0 = part#2)
            scan l part#0, quantity#1
            aggregate by part#2; avg#4 := avg(quantity#3)
              scan l part#2, quantity#3
        ",
    );
}

#[test]
fn a_count_of_nothing_is_0() {
    let mut b = Build::default();
    let (t, [k]) = b.scan("t", ["k"]);
    let (u, [j]) = b.scan("u", ["j"]);
    let (group, count) = b.group(filter(u, vec![b.eq(j, k)]), &[], count_udaf(), number(1));
    let e = b.scalar(group, count);
    let (root, out) = b.map(t, "n", e);
    check(
        b.shape(root, &[out]),
        "
        map n#3 := count#2
          map count#2 := CASE WHEN count#4 IS NULL THEN 0 ELSE count#4 END
            left join (k#0 = j#1)
              scan t k#0
              aggregate by j#1; count#4 := count(1)
                scan u j#1
        ",
    );
}

#[test]
fn conditions_pass_the_joins_of_a_subquery() {
    // TPC-H q2, q20: a subquery in a subquery, and joins inside.
    let mut b = Build::default();
    let (supplier, [key]) = b.scan("supplier", ["key"]);
    let (partsupp, [part, supp, available]) = b.scan("partsupp", ["part", "supp", "available"]);
    let (p, [p_part]) = b.scan("part", ["part"]);
    let (l, [l_part, l_supp, quantity]) = b.scan("lineitem", ["part", "supp", "quantity"]);
    let (n, [nation]) = b.scan("nation", ["nation"]);
    let on = vec![b.eq(l_part, part), b.eq(l_supp, supp), b.eq(nation, quantity)];
    let arg = b.read(quantity);
    let (group, least) = b.group(filter(inner(l, n), on), &[], min_udaf(), arg);
    let least = b.scalar(group, least);
    let terms =
        vec![b.any(part, Operator::Eq, p, p_part), Expr::compare(b.read(available), Operator::Gt, least)];
    let e = b.any(key, Operator::Eq, filter(partsupp, terms), supp);
    check(
        b.shape(filter(supplier, vec![e]), &[key]),
        "
        semi join (key#0 = supp#2)
          scan supplier key#0
          filter (available#3 > min#9)
            left join (part#1 = part#5) AND (supp#2 = supp#6)
              semi join (part#1 = part#4)
                scan partsupp part#1, supp#2, available#3
                scan part part#4
              aggregate by part#5, supp#6; min#9 := min(quantity#7)
                filter (nation#8 = quantity#7)
                  inner join 
                    scan lineitem part#5, supp#6, quantity#7
                    scan nation nation#8
        ",
    );
}

#[test]
fn equal_uncorrelated_values_are_one_stage() {
    // TPC-H q22.
    let mut b = Build::default();
    let (t, [a]) = b.scan("t", ["a"]);
    let (u, [x]) = b.scan("u", ["x"]);
    let arg = b.read(x);
    let (group, mean) = b.group(u.clone(), &[], avg_udaf(), arg);
    let (copy, numbers) = group.copied(&mut b.columns);
    let first = Expr::compare(b.read(a), Operator::Gt, b.scalar(group, mean));
    let second = Expr::compare(b.read(a), Operator::NotEq, b.scalar(copy, numbers[&mean]));
    let third = exists(u);
    check(
        b.shape(filter(t, vec![first, second, third]), &[a]),
        "
        aggregate by ; avg#2 := avg(x#1)
          scan u x#1
        --
        aggregate by ; rows#5 := count(1)
          limit 1 from 0
            scan u x#1
        --
        filter (a#0 > stage 0) AND (a#0 != stage 0) AND (stage 1 > 0)
          scan t a#0
        ",
    );
}

#[test]
fn a_condition_that_is_no_equality_takes_the_combinations() {
    let mut b = Build::default();
    let (t, [k, a]) = b.scan("t", ["k", "a"]);
    let (u, [j]) = b.scan("u", ["j"]);
    let less = b.compare(j, Operator::Lt, k);
    let (group, count) = b.group(filter(u, vec![less]), &[], count_udaf(), number(1));
    let e = Expr::compare(b.read(a), Operator::Eq, b.scalar(group, count));
    let first = Expr::compare(b.read(k), Operator::Gt, number(5));
    check(
        b.shape(filter(t, vec![first, e]), &[a]),
        "
        filter (a#1 = count#3)
          map count#3 := CASE WHEN count#4 IS NULL THEN 0 ELSE count#4 END
            left join (k#0 IS NOT DISTINCT FROM k#5)
              filter (k#0 > 5)
                scan t k#0, a#1
              aggregate by k#5; count#4 := count(1)
                inner join (j#2 < k#5)
                  aggregate by k#5
                    filter (k#5 > 5)
                      scan t k#5, a#6
                  scan u j#2
        ",
    );
}

#[test]
fn a_limit_takes_the_first_values_of_a_group() {
    let shape = |skip, fetch| {
        let mut b = Build::default();
        let (t, [k]) = b.scan("t", ["k"]);
        let (u, [j, x]) = b.scan("u", ["j", "x"]);
        let rows = limit(b.sort(filter(u, vec![b.eq(j, k)]), x), skip, fetch);
        let e = b.any(k, Operator::Eq, rows, x);
        b.shape(filter(t, vec![e]), &[k])
    };
    check(
        shape(0, Some(1)),
        "
        semi join (k#0 = j#3) AND (k#0 = x#2)
          scan t k#0
          aggregate by j#3; x#2 := first_value(x#4 ORDER BY x#4)
            scan u j#3, x#4
        ",
    );
    check(
        shape(1, Some(2)),
        "
        semi join (k#0 = j#3) AND (k#0 = x#2)
          scan t k#0
          map x#2 := CASE place#6 WHEN 2 THEN x#7 WHEN 3 THEN x#8 END
            inner join (rows#5 >= place#6)
              aggregate by j#3; rows#5 := count(1); x#7 := nth_value(x#4, 2 ORDER BY x#4); x#8 := nth_value(x#4, 3 ORDER BY x#4)
                scan u j#3, x#4
              values of 2 rows place#6
        ",
    );
    check(
        shape(1, None),
        "
        semi join (k#0 = j#1) AND (k#0 = x#2)
          scan t k#0
          repeat wanted#9
            filter (wanted#9 > 0)
              map wanted#9 := (start#8 + times#3) - (CASE WHEN start#8 < 1 THEN 1 ELSE start#8 END)
                map start#8 := CASE WHEN before#7 IS NULL THEN 0 ELSE before#7 END
                  aggregate by j#1, x#2, times#3; before#7 := sum(times#4)
                    left join (j#1 = j#5) AND ((x#6 < x#2) OR ((x#2 IS NULL) AND (NOT (x#6 IS NULL))))
                      aggregate by j#1, x#2; times#3 := count(1)
                        scan u j#1, x#2
                      aggregate by j#5, x#6; times#4 := count(1)
                        scan u j#5, x#6
        ",
    );
}

#[test]
fn a_union_carries_what_it_is_compared_with() {
    let mut b = Build::default();
    let (t, [k]) = b.scan("t", ["k"]);
    let (u, [j]) = b.scan("u", ["j"]);
    let (v, [i]) = b.scan("v", ["i"]);
    let inputs = vec![(filter(u, vec![b.eq(j, k)]), vec![]), (filter(v, vec![b.eq(k, i)]), vec![])];
    let e = exists(Rel::Union(Union { columns: vec![], inputs }));
    check(
        b.shape(filter(t, vec![e]), &[k]),
        "
        semi join (k#0 = k#3)
          scan t k#0
          union k#3 of j#1 of i#2
            scan u j#1
            scan v i#2
        ",
    );
}

#[test]
fn a_value_of_three_outcomes_is_exact_only_where_it_has_to_be() {
    let mut b = Build::default();
    let (t, [a]) = b.scan("t", ["a"]);
    let (u, [x]) = b.scan("u", ["x"]);
    let (copy, numbers) = u.copied(&mut b.columns);
    let found = b.any(a, Operator::Eq, u, x);
    let exact = b.any(a, Operator::Eq, copy, numbers[&x]);
    let small = Expr::compare(b.read(a), Operator::Lt, number(0));
    let (root, out) = b.map(filter(t, vec![Expr::or([small, found])]), "m", exact);
    check(
        b.shape(root, &[out]),
        "
        map nulls#8 := CASE WHEN rows#6 > values#7 THEN 2 WHEN rows#6 > 0 THEN 1 ELSE 0 END
          aggregate by ; rows#6 := count(1); values#7 := count(x#5)
            scan u x#5
        --
        map m#3 := CASE WHEN mark#9 THEN true WHEN (stage 0 = 2) OR ((a#0 IS NULL) AND (stage 0 > 0)) THEN NULL ELSE false END
          mark join mark#9 (a#0 = x#2)
            filter ((a#0 < 0) OR mark#4)
              mark join mark#4 (a#0 = x#1)
                scan t a#0
                scan u x#1
            scan u x#2
        ",
    );
}

#[test]
fn what_a_lateral_table_computes_is_computed_above_the_join() {
    let shape = |kind| {
        let mut b = Build::default();
        let (t, [k, a]) = b.scan("t", ["k", "a"]);
        let (u, [j, x]) = b.scan("u", ["j", "x"]);
        let same = b.compare(x, Operator::IsDistinctFrom, a);
        let (rows, d) = b.map(filter(u, vec![b.eq(j, k)]), "d", same);
        let rows = filter(rows, vec![b.read(d)]);
        b.shape(
            Rel::Join(Join { kind, left: Box::new(t), right: Box::new(rows), predicates: vec![] }),
            &[k, d],
        )
    };
    check(
        shape(JoinKind::Inner),
        "
        filter d#4
          map d#4 := x#3 IS DISTINCT FROM a#1
            inner join (j#2 = k#0)
              scan t k#0, a#1
              scan u j#2, x#3
        ",
    );
    check(
        shape(JoinKind::Left),
        "
        map d#4 := CASE WHEN matched#5 THEN x#3 IS DISTINCT FROM a#1 ELSE NULL END
          left join (j#2 = k#0) AND (x#3 IS DISTINCT FROM a#1)
            scan t k#0, a#1
            map matched#5 := true
              scan u j#2, x#3
        ",
    );
}

#[test]
fn a_value_without_a_table_is_no_join() {
    let mut b = Build::default();
    let (t, [k]) = b.scan("t", ["k"]);
    let e = b.read(k).is_null();
    let (one, is) = b.map(Values::one(), "is", e);
    let e = b.scalar(one, is);
    let (root, out) = b.map(t, "m", e);
    check(
        b.shape(root, &[out]),
        "
        map m#2 := is#1
          map is#1 := k#0 IS NULL
            scan t k#0
        ",
    );
}
