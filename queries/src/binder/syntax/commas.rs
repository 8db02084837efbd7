//! `FROM a, b JOIN c ON a.x = c.x`: the comma binds weaker than JOIN, so that the condition can't see `a` in the
//! standard. In DuckDB it can. Where it does, the relations before the comma become part of the join. That gives the
//! same rows: for each row of `a` those of the join.

use sqlparser::ast::{Expr, Join, JoinConstraint, JoinOperator, TableFactor, TableWithJoins};

use crate::names::relations_of;
use crate::visitors;

/// Makes items of FROM one where a condition of a later one names a relation of an earlier one.
pub fn reach_back(from: &mut Vec<TableWithJoins>) {
    let mut at = 1;
    while at < from.len() {
        let Some(first) = (0..at).find(|&first| reaches(&from[at], &relations_of(&from[first]))) else {
            at += 1;
            continue;
        };
        let behind: Vec<TableWithJoins> = from.drain(first + 1..=at).collect();
        let last = behind.len() - 1;
        for (i, mut item) in behind.into_iter().enumerate() {
            let joins = if i == last { std::mem::take(&mut item.joins) } else { Vec::new() };
            let relation = match item.joins.is_empty() {
                true => item.relation,
                false => TableFactor::NestedJoin { table_with_joins: Box::new(item), alias: None },
            };
            let cross = JoinOperator::CrossJoin(JoinConstraint::None);
            from[first].joins.push(Join { relation, global: false, join_operator: cross });
            from[first].joins.extend(joins);
        }
        at = first + 1;
    }
}

/// Whether a condition of an item names one of these relations, and the item has none of that name.
fn reaches(item: &TableWithJoins, relations: &[String]) -> bool {
    let own = relations_of(item);
    let reaches = |e: &Expr| {
        let Expr::CompoundIdentifier(parts) = e else { return false };
        let Some(relation) = parts.len().checked_sub(2).and_then(|i| parts.get(i)) else { return false };
        let name = relation.value.to_lowercase();
        relations.contains(&name) && !own.contains(&name)
    };
    let conditions: Option<Vec<&Expr>> = item.joins.iter().map(condition).collect();
    conditions
        .is_some_and(|all| all.into_iter().any(|one| visitors::any_expression(one, &mut |e| reaches(e))))
}

/// The condition of a join that goes on with the rows to its left.
fn condition(join: &Join) -> Option<&Expr> {
    match &join.join_operator {
        JoinOperator::Join(JoinConstraint::On(condition))
        | JoinOperator::Inner(JoinConstraint::On(condition))
        | JoinOperator::Left(JoinConstraint::On(condition))
        | JoinOperator::LeftOuter(JoinConstraint::On(condition))
        | JoinOperator::Semi(JoinConstraint::On(condition))
        | JoinOperator::LeftSemi(JoinConstraint::On(condition))
        | JoinOperator::Anti(JoinConstraint::On(condition))
        | JoinOperator::LeftAnti(JoinConstraint::On(condition)) => Some(condition),
        _ => None,
    }
}
