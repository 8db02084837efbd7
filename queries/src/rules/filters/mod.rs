//! Filters down to where rows come from.
//!
//! Each predicate moves as far down as it keeps its meaning: below computed columns, into the sides of joins, below groups
//! and unions. On its way a cross join becomes a join with predicates, and an outer join one that leaves fewer NULLs.
//!
//! What can fail is evaluated behind what guards it (decision 6). Predicates that can't fail move by themselves. The
//! others move only if nothing that is evaluated before them stays above. Joins are an exception: a condition on one
//! table does not guard one on another, which may be evaluated before the join.
//!
//! - [`predicate`]: what is known of a predicate.
//! - [`origins`]: in which part of a tree a column is made.
//! - [`below`]: what moves below operators of one input.
//! - [`joins`]: what moves into joins.
//! - [`nulls`]: what predicates are where columns are NULL.
//! - [`facts`]: what equalities say of other columns.
//! - [`branches`]: what an OR over two tables says of one.
//! - [`bounds`]: what scans are told.

pub mod below;
pub mod bounds;
pub mod branches;
pub mod facts;
pub mod joins;
pub mod nulls;
pub mod origins;
pub mod predicate;

use std::collections::BTreeSet;

use super::simplify::Simplifier;
use crate::algebra::{ColumnId, Filter, Rel};
use crate::error::Result;
use facts::Facts;
use origins::Origins;
use predicate::Predicate;

/// Moves the predicates of a tree down.
///
/// # Errors
/// Those of simplifying expressions.
pub fn push(rel: Rel, simplifier: &Simplifier) -> Result<Rel> {
    let origins = Origins::of(&rel);
    let (required, facts) = (BTreeSet::new(), Facts::default());
    Push { origins: &origins, simplifier, required, facts }.push(rel, 0, vec![], false)
}

/// Moves predicates down a tree.
struct Push<'a> {
    /// Where columns of the tree are made, by the numbers of relations in a walk from the top.
    origins: &'a Origins,
    simplifier: &'a Simplifier<'a>,
    /// Columns that are not NULL in any row that matters to what is above.
    required: BTreeSet<ColumnId>,
    /// What is known of columns in the region at hand.
    facts: Facts,
}

impl Push<'_> {
    /// The relation with the number `at`, with predicates that hold above it put as far down as they can be.
    ///
    /// A *region* is what filters, computed columns and inner joins stand between, and the left sides of other joins.
    /// What is known of a row anywhere in it holds of all rows that come out at its top. `within` says whether the
    /// relation is a part of the region of the one above.
    fn push(&mut self, rel: Rel, at: usize, mut predicates: Vec<Predicate>, within: bool) -> Result<Rel> {
        if !within {
            let outer = std::mem::take(&mut self.facts);
            self.facts = Facts::of(&rel, &predicates);
            predicates.extend(self.facts.inferred());
            let pushed = self.push(rel, at, predicates, true);
            self.facts = outer;
            return pushed;
        }
        match rel {
            Rel::Filter(node) => {
                let own = node.predicates.into_iter().map(Predicate::new);
                let all = predicate::distinct(own.chain(predicates).collect());
                self.push(*node.input, at + 1, all, true)
            }
            Rel::Join(node) => self.join(node, at, predicates),
            other => self.below(other, at, predicates),
        }
    }

    /// The same of a relation whose rows are picked by what is above: nothing that holds there holds below.
    fn push_apart(&mut self, rel: Rel, at: usize) -> Result<Rel> {
        let required = std::mem::take(&mut self.required);
        let pushed = self.push(rel, at, vec![], false);
        self.required = required;
        pushed
    }
}

/// A relation with predicates above it.
fn filter(input: Rel, predicates: Vec<Predicate>) -> Rel {
    if predicates.is_empty() {
        return input;
    }
    let predicates = predicate::distinct(predicates).into_iter().map(|predicate| predicate.expr).collect();
    Rel::Filter(Filter { input: Box::new(input), predicates })
}
