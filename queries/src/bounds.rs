//! The bounds of a statement, so that planning it can't exhaust the stack.
//!
//! The parser, the binder and the rules walk trees with a call for each level. A chain such as `a + b + c` is as deep
//! as it has operators, whatever the parser's own bound on nesting is. So the depth is bounded on the tokens, which no
//! call is nested for. What may grow behind them is bounded on the tables and the plan. Time and memory of planning
//! have limits of their own, in the binary.
//!
//! - `tokens`: how deep the tokens of a statement can nest a tree.

mod tokens;

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;

use sqlparser::ast::{CastKind, DataType, Expr, Query, Select, TableFactor, Visitor};

use crate::error::{Error, Result};
use crate::names::table_name;
use crate::visitors;
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

/// The most casts and calls of functions within each other. The planner makes the name of each of them out of those inside
/// it, again and again: a time that grows with the third power.
pub const MOST_FUNCTIONS: usize = 200;

/// The most tables, subqueries and CTEs in FROM and WITH together.
pub const MOST_TABLES: usize = 2_000;

/// The most operators of a plan before it is optimised, where a CTE counts wherever it stands.
pub const MOST_OPERATORS: usize = 20_000;

/// The most words that all macros which a statement calls stand for, those of a macro as often as it is called.
pub const MOST_EXPANDED: usize = 10_000;

/// Checks the length of a statement.
///
/// # Errors
/// It is longer than [`MOST_BYTES`].
pub fn check_text(sql: &str) -> Result<()> {
    match sql.len() {
        bytes if bytes > MOST_BYTES => {
            let message = format!("it has {bytes} bytes, and may have {MOST_BYTES}");
            Err(Error::TooLarge { message })
        }
        _ => Ok(()),
    }
}

/// Checks how many tables a statement names, how large a plan its CTEs make, and how deep subqueries and functions lie
/// within each other.
///
/// # Errors
/// They are more than [`MOST_TABLES`] or [`MOST_OPERATORS`], or deeper than [`MOST_SUBQUERIES`] or [`MOST_FUNCTIONS`].
pub fn check_tree(query: &Query) -> Result<()> {
    let mut count = Count::default();
    let _ = visitors::look(query, &mut count);
    let Count { tables, largest, subqueries, functions, .. } = count;
    let message = if tables > MOST_TABLES {
        format!("it names {tables} tables, subqueries and CTEs, and may name {MOST_TABLES}")
    } else if subqueries.deepest > MOST_SUBQUERIES {
        format!("it has {} subqueries within each other, and may have {MOST_SUBQUERIES}", subqueries.deepest)
    } else if functions.deepest > MOST_FUNCTIONS {
        format!(
            "it has {} casts and functions within each other, and may have {MOST_FUNCTIONS}",
            functions.deepest
        )
    } else if largest > MOST_OPERATORS {
        many_operators()
    } else {
        return Ok(());
    };
    Err(Error::TooLarge { message })
}

/// Checks how deep expressions and queries lie within each other where macros have put them, which the check of the
/// tokens has not seen.
///
/// # Errors
/// They are deeper than [`DEEPEST`] or [`MOST_NESTED`].
pub fn check_depth(query: &Query) -> Result<()> {
    #[derive(Default)]
    struct Depths {
        expressions: Depth,
        queries: Depth,
    }

    impl Visitor for Depths {
        type Break = ();

        fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
            self.expressions.enter(true);
            ControlFlow::Continue(())
        }

        fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
            self.expressions.leave(true);
            ControlFlow::Continue(())
        }

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.queries.enter(true);
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.queries.leave(true);
            ControlFlow::Continue(())
        }
    }

    let mut depths = Depths::default();
    let _ = visitors::look(query, &mut depths);
    let message = if depths.expressions.deepest > DEEPEST {
        format!("with its macros it nests more than {DEEPEST} expressions")
    } else if depths.queries.deepest > MOST_NESTED {
        format!("with its macros it nests more than {MOST_NESTED} queries")
    } else {
        return Ok(());
    };
    Err(Error::TooLarge { message })
}

fn many_operators() -> String {
    format!("its plan has more than {MOST_OPERATORS} operators; a CTE counts wherever it is named")
}

#[derive(Default)]
struct Count {
    tables: usize,
    /// Those in expressions.
    subqueries: Depth,
    functions: Depth,
    /// The queries around what is at hand.
    open: Vec<Size>,
    /// The most operators of a query.
    largest: usize,
}

/// How many of a kind are around what is at hand, and were at most.
#[derive(Default)]
struct Depth {
    now: usize,
    deepest: usize,
}

/// How many operators the plan of a query has, about.
#[derive(Default)]
struct Size {
    operators: usize,
    /// Those of its CTEs, by their names in lower case.
    ctes: HashMap<String, usize>,
    /// The names of the CTEs that come next.
    next: VecDeque<String>,
}

impl Depth {
    fn enter(&mut self, is: bool) {
        self.now += usize::from(is);
        self.deepest = self.deepest.max(self.now);
    }

    fn leave(&mut self, is: bool) {
        self.now -= usize::from(is);
    }
}

impl Count {
    fn add(&mut self, operators: usize) {
        if let Some(size) = self.open.last_mut() {
            size.operators = size.operators.saturating_add(operators);
        }
    }
}

fn is_subquery(e: &Expr) -> bool {
    matches!(e, Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. })
}

/// Whether the planner makes a function of an expression. A cast in the same cast becomes one.
fn is_function(e: &Expr) -> bool {
    match e {
        Expr::Cast { .. } => !is_repeated(e),
        Expr::Function(_) | Expr::AtTimeZone { .. } | Expr::AnyOp { .. } | Expr::AllOp { .. } => true,
        _ => false,
    }
}

/// Whether a cast, perhaps in parentheses, is what another one is applied to, which changes nothing then.
fn is_repeated(expr: &Expr) -> bool {
    inner(expr).is_some_and(|(of, expr)| inner(expr).is_some_and(|(same, _)| of == same))
}

/// The kind and the type of a cast, and what is cast.
fn inner(expr: &Expr) -> Option<((&CastKind, &DataType), &Expr)> {
    match expr {
        Expr::Cast { kind, data_type, expr, format: None, .. } => {
            let mut expr = expr.as_ref();
            while let Expr::Nested(inner) = expr {
                expr = inner;
            }
            Some(((kind, data_type), expr))
        }
        _ => None,
    }
}

impl Visitor for Count {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        let next: VecDeque<String> = ctes.map(|cte| cte.alias.name.value.to_lowercase()).collect();
        self.tables += next.len();
        self.open.push(Size { next, ..Size::default() });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        let Some(ended) = self.open.pop() else { return ControlFlow::Continue(()) };
        self.largest = self.largest.max(ended.operators);
        // CTEs come before all else of a query, in their order.
        match self.open.last_mut().and_then(|around| Some((around.next.pop_front()?, around))) {
            Some((name, around)) => drop(around.ctes.insert(name, ended.operators)),
            None => self.add(ended.operators),
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, _: &Select) -> ControlFlow<()> {
        self.add(1);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.tables += 1;
        let cte = match factor {
            TableFactor::Table { name, args: None, .. } => {
                let name = table_name(name).to_lowercase();
                self.open.iter().rev().find_map(|size| size.ctes.get(&name).copied())
            }
            _ => None,
        };
        self.add(cte.unwrap_or_default().saturating_add(1));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
        self.subqueries.enter(is_subquery(e));
        self.functions.enter(is_function(e));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
        self.subqueries.leave(is_subquery(e));
        self.functions.leave(is_function(e));
        ControlFlow::Continue(())
    }
}
