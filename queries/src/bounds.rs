//! The bounds of a statement, so that planning it can't exhaust the stack.
//!
//! The parser, the planner and the optimiser walk trees with a call for each level. A chain such as `a + b + c` is as deep
//! as it has operators, whatever the parser's own bound on nesting is. So the depth is bounded on the tokens, which no call
//! is nested for, and what may grow behind them on the tables and the plan. Time and memory of planning have limits of their
//! own, in the binary.
//!
//! - `tokens`: how deep the tokens of a statement can nest a tree.

mod tokens;

use std::ops::ControlFlow;

use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_expr::LogicalPlan;
use datafusion_sql::sqlparser::ast::{Expr, Query, TableFactor, Visitor};

use crate::error::{Error, Result};
use crate::{tree, visits};
pub use tokens::check as check_tokens;

/// The most bytes of a statement.
pub const MOST_BYTES: usize = 16 << 20;

/// The most levels of operators: those of a chain, and of the parentheses around it.
pub const DEEPEST: usize = 10_000;

/// The most parentheses, brackets and CASEs that are open at once, with the signs and NOTs before them.
pub const MOST_NESTED: usize = 128;

/// The parser's own bound: it nests several calls for one parenthesis. It must not be reached, because the parser then tries
/// other readings of each level, which takes a time that doubles with each.
pub const MOST_CALLS: usize = 16 * MOST_NESTED;

/// The most subqueries within each other in expressions. The planner looks at each of them twice as often as at the one
/// around it.
pub const MOST_SUBQUERIES: usize = 20;

/// The most tables, subqueries and CTEs in FROM and WITH together.
pub const MOST_TABLES: usize = 2_000;

/// The most operators of a plan before it is optimised, where a CTE counts wherever it stands.
pub const MOST_OPERATORS: usize = 20_000;

/// Checks the length of a statement.
///
/// # Errors
/// It is longer than [`MOST_BYTES`].
pub fn check_text(sql: &str) -> Result<()> {
    match sql.len() {
        bytes if bytes > MOST_BYTES => {
            let message = format!("it has {bytes} bytes, and may have {MOST_BYTES}");
            Err(Error::TooLarge { message, line: 0, column: 0 })
        }
        _ => Ok(()),
    }
}

/// Checks how many tables a statement names, and how deep subqueries lie within each other.
///
/// # Errors
/// They are more than [`MOST_TABLES`], or deeper than [`MOST_SUBQUERIES`].
pub fn check_tree(query: &Query) -> Result<()> {
    let mut count = Count::default();
    let _ = visits::look(query, &mut count);
    let Count { tables, deepest, .. } = count;
    let message = if tables > MOST_TABLES {
        format!("it names {tables} tables, subqueries and CTEs, and may name {MOST_TABLES}")
    } else if deepest > MOST_SUBQUERIES {
        format!("it has {deepest} subqueries within each other, and may have {MOST_SUBQUERIES}")
    } else {
        return Ok(());
    };
    Err(Error::TooLarge { message, line: 0, column: 0 })
}

#[derive(Default)]
struct Count {
    tables: usize,
    /// The subqueries in expressions around what is at hand.
    depth: usize,
    deepest: usize,
}

fn is_subquery(e: &Expr) -> bool {
    matches!(e, Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. })
}

impl Visitor for Count {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.tables += query.with.as_ref().map_or(0, |with| with.cte_tables.len());
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<()> {
        self.tables += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
        self.depth += usize::from(is_subquery(e));
        self.deepest = self.deepest.max(self.depth);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
        self.depth -= usize::from(is_subquery(e));
        ControlFlow::Continue(())
    }
}

/// Checks how large a plan is. A CTE stands wherever it is named, so that a short statement can have a large one.
///
/// # Errors
/// It has more than [`MOST_OPERATORS`].
pub fn check_plan(plan: &LogicalPlan) -> Result<()> {
    let mut operators = 0;
    tree::look_at_plans(plan, &mut |_| {
        operators += 1;
        Ok(if operators > MOST_OPERATORS { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    match operators {
        operators if operators > MOST_OPERATORS => Err(Error::TooLarge {
            message: format!(
                "its plan has more than {MOST_OPERATORS} operators; a CTE counts wherever it is named"
            ),
            line: 0,
            column: 0,
        }),
        _ => Ok(()),
    }
}
