//! GROUP BY with tuples, ROLLUP, CUBE and GROUPING SETS as one list of grouping sets.
//!
//! Each element of GROUP BY becomes a list of sets of keys. A key is one set of itself, a tuple one set of its keys.
//! ROLLUP is the prefixes of its list, CUBE the subsets. The sets of the whole clause are the cross product of those of
//! its elements, each a union of one set of every element. Equal sets are kept: each gives its groups once more.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Function, FunctionArguments, GroupByExpr, SelectItem};

use super::intervals::number;
use crate::error::Error;
use crate::parse::calls;

/// The most sets that a GROUP BY may have: the engine reads every row once for each.
const MOST_SETS: usize = 4096;

/// The most keys beside grouping sets: a bit each in the identifier of a set, with room to number equal sets.
const MOST_KEYS: usize = 48;

type Set = Vec<Expr>;
type Flow<T = ()> = ControlFlow<Error, T>;

/// Rewrites a GROUP BY that has more than plain keys.
pub fn rewrite(group_by: &mut GroupByExpr, selected: &[SelectItem]) -> Flow {
    let GroupByExpr::Expressions(elements, _) = group_by else { return ControlFlow::Continue(()) };
    if elements.iter().all(is_key) {
        return ControlFlow::Continue(());
    }
    let mut sets: Vec<Set> = vec![vec![]];
    for element in elements.iter() {
        let of_element = sets_of(element)?;
        limited(sets.len().saturating_mul(of_element.len()))?;
        let mut product = Vec::new();
        for (set, more) in sets.iter().flat_map(|set| of_element.iter().map(move |more| (set, more))) {
            product.push(distinct(set.clone(), more)?);
        }
        sets = product;
    }
    let mut keys: Vec<Expr> = Vec::new();
    let mut places: Vec<Vec<usize>> = Vec::new();
    for set in sets {
        let mut of_set = Vec::new();
        for key in set.into_iter().map(|key| at_place(key, selected)) {
            let place = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            });
            of_set.push(place);
        }
        of_set.sort_unstable();
        of_set.dedup();
        places.push(of_set);
    }
    few(&keys)?;
    let mut sets: Vec<Set> =
        places.iter().map(|set| set.iter().map(|place| keys[*place].clone()).collect()).collect();
    // One set of keys is a plain GROUP BY. One without keys stays a set: it has a group, even of no rows.
    let plain = sets.len() == 1 && !sets[0].is_empty();
    *elements = if plain { sets.swap_remove(0) } else { vec![Expr::GroupingSets(sets)] };
    ControlFlow::Continue(())
}

fn refuse<T>(what: String) -> Flow<T> {
    ControlFlow::Break(Error::Unsupported(what))
}

fn limited(sets: usize) -> Flow {
    match sets > MOST_SETS {
        true => refuse(format!("a GROUP BY of more than {MOST_SETS} grouping sets")),
        false => ControlFlow::Continue(()),
    }
}

fn few(keys: &[Expr]) -> Flow {
    match keys.len() > MOST_KEYS {
        true => refuse(format!("grouping sets of more than {MOST_KEYS} keys")),
        false => ControlFlow::Continue(()),
    }
}

/// A set with these keys too, each once.
fn distinct(mut set: Set, keys: &[Expr]) -> Flow<Set> {
    for key in keys {
        if !set.contains(key) {
            set.push(key.clone());
            few(&set)?;
        }
    }
    ControlFlow::Continue(set)
}

fn is_key(element: &Expr) -> bool {
    !matches!(element, Expr::Tuple(_) | Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_))
}

/// The sets of one element of GROUP BY or GROUPING SETS.
fn sets_of(element: &Expr) -> Flow<Vec<Set>> {
    match element {
        Expr::Tuple(keys) => ControlFlow::Continue(vec![distinct(vec![], &flat_all(keys))?]),
        Expr::Rollup(parts) => rollup(&parts.iter().map(|part| flat_all(part)).collect::<Vec<_>>()),
        Expr::Cube(parts) => cube(&parts.iter().map(|part| flat_all(part)).collect::<Vec<_>>()),
        Expr::GroupingSets(elements) => {
            let mut sets = Vec::new();
            for element in elements {
                match element.as_slice() {
                    [one] => sets.extend(sets_of(one)?),
                    keys => sets.push(distinct(vec![], &flat_all(keys))?),
                }
                limited(sets.len())?;
            }
            ControlFlow::Continue(sets)
        }
        Expr::Nested(element) => sets_of(element),
        // Inside GROUPING SETS the parser takes these for functions.
        Expr::Function(call) => match (call.name.to_string().to_lowercase().as_str(), arguments(call)) {
            ("rollup", Some(parts)) => rollup(&parts),
            ("cube", Some(parts)) => cube(&parts),
            _ => ControlFlow::Continue(vec![vec![element.clone()]]),
        },
        key => ControlFlow::Continue(vec![vec![key.clone()]]),
    }
}

fn rollup(parts: &[Set]) -> Flow<Vec<Set>> {
    limited(parts.len())?;
    let mut sets = vec![vec![]];
    for part in parts {
        sets.push(distinct(sets.last().cloned().unwrap_or_default(), part)?);
    }
    sets.reverse();
    ControlFlow::Continue(sets)
}

fn cube(parts: &[Set]) -> Flow<Vec<Set>> {
    let count = u32::try_from(parts.len()).ok().and_then(|n| 1_usize.checked_shl(n)).unwrap_or(usize::MAX);
    limited(count)?;
    let subset = |left_out: usize| -> Flow<Set> {
        let mut kept = parts.iter().enumerate().filter(|(i, _)| left_out >> (parts.len() - 1 - i) & 1 == 0);
        kept.try_fold(vec![], |set, (_, part)| distinct(set, part))
    };
    let mut sets = Vec::new();
    for left_out in 0..count {
        sets.push(subset(left_out)?);
    }
    ControlFlow::Continue(sets)
}

/// The keys of a tuple, of tuples inside it too.
fn flat(key: &Expr) -> Set {
    match key {
        Expr::Tuple(keys) => flat_all(keys),
        Expr::Nested(key) => flat(key),
        key => vec![key.clone()],
    }
}

fn flat_all(keys: &[Expr]) -> Set {
    keys.iter().flat_map(flat).collect()
}

/// The arguments of a call, each as the keys of a tuple.
fn arguments(call: &Function) -> Option<Vec<Set>> {
    let FunctionArguments::List(list) = &call.args else { return None };
    list.args.iter().map(|argument| calls::unnamed(argument).map(flat)).collect()
}

/// A number is the place of a selected expression, as it is in `GROUP BY 1, 2`.
fn at_place(key: Expr, selected: &[SelectItem]) -> Expr {
    let place = match &key {
        Expr::Value(v) => number(&v.value).and_then(|text| text.parse::<usize>().ok()),
        _ => None,
    };
    match place.and_then(|place| selected.get(place.checked_sub(1)?)) {
        Some(SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. }) => e.clone(),
        _ => key,
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::SetExpr;

    use super::*;
    use crate::parse::{Statement, parse};

    fn rewritten(group_by: &str) -> Option<String> {
        let text = format!("SELECT a, b, count(*) FROM t GROUP BY {group_by}");
        let Ok(Statement::Query(query)) = parse(&text) else { panic!("not a query: {text}") };
        let mut query = std::sync::Arc::unwrap_or_clone(query);
        let SetExpr::Select(select) = query.body.as_mut() else { panic!("not a SELECT: {text}") };
        match rewrite(&mut select.group_by, &select.projection) {
            ControlFlow::Continue(()) => Some(select.group_by.to_string().replacen("GROUP BY ", "", 1)),
            ControlFlow::Break(_) => None,
        }
    }

    #[test]
    fn elements_are_multiplied() {
        for (before, after) in [
            ("a, b", "a, b"),
            ("(a, b)", "a, b"),
            ("(a, b), (b, c)", "a, b, c"),
            ("()", "GROUPING SETS (())"),
            ("a, ()", "a"),
            ("GROUPING SETS (a, b), (a, b)", "GROUPING SETS ((a, b), (a, b))"),
            ("a, ROLLUP (b, c)", "GROUPING SETS ((a, b, c), (a, b), (a))"),
            ("ROLLUP ((a, b), c)", "GROUPING SETS ((a, b, c), (a, b), ())"),
            ("CUBE (a, b)", "GROUPING SETS ((a, b), (a), (b), ())"),
            ("ROLLUP (1, 2)", "GROUPING SETS ((a, b), (a), ())"),
            ("ROLLUP (a, a)", "GROUPING SETS ((a), (a), ())"),
            ("GROUPING SETS (ROLLUP (a, b), CUBE (c), ())", "GROUPING SETS ((a, b), (a), (), (c), (), ())"),
            ("GROUPING SETS ((a, b), (b, a))", "GROUPING SETS ((a, b), (a, b))"),
            ("ROLLUP (a), ROLLUP (b)", "GROUPING SETS ((a, b), (a), (b), ())"),
        ] {
            assert_eq!(rewritten(before).as_deref(), Some(after), "{before}");
        }
    }

    #[test]
    fn more_sets_than_the_limit_are_refused() {
        let keys = |n: usize| (0..n).map(|i| format!("k{i}")).collect::<Vec<_>>().join(", ");
        assert!(rewritten(&format!("CUBE ({})", keys(12))).is_some());
        assert!(rewritten(&format!("CUBE ({})", keys(13))).is_none());
        assert!(rewritten(&format!("CUBE ({})", keys(70))).is_none());
        assert!(rewritten(&format!("CUBE ({0}), CUBE ({0})", keys(7))).is_none());
    }

    #[test]
    fn more_keys_than_the_limit_are_refused_before_they_are_multiplied() {
        let keys = |n: usize| (0..n).map(|i| format!("k{i}")).collect::<Vec<_>>().join(", ");
        assert!(rewritten(&format!("ROLLUP ({})", keys(48))).is_some());
        assert!(rewritten(&format!("ROLLUP ({})", keys(4000))).is_none());
        assert!(rewritten(&format!("CUBE (({0}), ({0}))", keys(4000))).is_none());
        let repeated = vec!["a"; 4000].join(", ");
        let sets = rewritten(&format!("ROLLUP ({repeated})")).map_or(0, |sets| sets.matches("(a)").count());
        assert_eq!(sets, 4000);
    }
}
