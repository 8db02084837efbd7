//! Rules: a bound statement as one that gives the same rows with less work.
//!
//! Each rule is a module that says what it matches, what it gives, and why that is right. They are applied in one
//! order, a bounded number of times. Each takes a time that is nearly linear in the size of the statement:
//!
//! 1. [`unnest`]: subqueries in expressions become joins and stages. Before and after it, [`shared`]: relations that are
//!    computed once, or wherever they are read.
//! 2. [`simplify`]: expressions that say the same with less.
//! 3. [`empty`]: relations without rows, and operators that do nothing.
//! 4. [`unions`]: unions within unions.
//! 5. [`aliases`]: columns that are copies of others.
//! 6. [`unread`]: what nobody reads.
//! 7. [`unique`]: DISTINCT over rows that are distinct.
//! 8. [`filters`]: filters down to where rows come from; then 2 to 7 again, for what has become constant. Once more where
//!    [`shared`] has found equal relations, or readers have told which rows they want.
//! 9. [`sorts`]: sorts whose order nobody sees.
//! 10. [`distinct`]: aggregates of distinct values as groups. [`sums`]: sums of a column plus constants as one.
//! 11. [`limits`]: how many rows are wanted, of stages too.
//! 12. [`joins`]: the groups that joins ask for, the order of joins, and groups before them.
//! 13. [`repeated`]: expressions that are computed once.
//!
//! What all of them keep: three-valued logic, and the rows on which what can fail is evaluated (decision 6). They keep
//! too that the same statement becomes the same one in every process.

pub mod aliases;
pub mod distinct;
pub mod empty;
pub mod filters;
pub mod hash;
pub mod joins;
pub mod limits;
#[cfg(test)]
mod random;
pub mod repeated;
pub mod shared;
pub mod simplify;
pub mod sorts;
pub mod sums;
#[cfg(test)]
mod testing;
pub mod unions;
pub mod unique;
pub mod unnest;
pub mod unread;

use crate::Settings;
use crate::algebra::{Columns, Rel, Statement};
use crate::error::Result;
use crate::types::Types;
use simplify::Simplifier;
use simplify::nodes::taken;

/// How often filters are moved. What the first time makes constant, or an inner join, lets the second one move more.
const ROUNDS: usize = 2;

/// Applies all rules.
///
/// # Errors
/// What no rule can take apart: some subqueries.
pub fn apply(mut statement: Statement, settings: &Settings) -> Result<Statement> {
    shared::settle(&mut statement);
    let mut statement = unnest::unnest(statement)?;
    shared::settle(&mut statement);
    let types = Types::new(settings);
    let simplifier = Simplifier::new(&types);
    for _ in 0..ROUNDS {
        move_filters(&mut statement, &simplifier)?;
    }
    clean(&mut statement, &simplifier)?;
    let mut is_changed = shared::equal::share(&mut statement);
    is_changed |= shared::filter::filter(&mut statement, &simplifier)?;
    is_changed |= shared::settle(&mut statement);
    if is_changed {
        move_filters(&mut statement, &simplifier)?;
        clean(&mut statement, &simplifier)?;
    }
    sorts::remove(&mut statement);
    each(&mut statement, &mut |rel, columns| {
        distinct::group(rel, columns);
        sums::factor(rel, columns);
        Ok(())
    })?;
    shared::limited::push(&mut statement);
    shared::describe(&mut statement);
    each(&mut statement, &mut |rel, columns| {
        joins::reduced::reduce(rel, columns);
        joins::eager_groups::group(rel, columns, &types)?;
        *rel = joins::order(taken(rel));
        joins::early::group(rel, columns, &types)?;
        filters::bounds::set(rel);
        repeated::share(rel, columns);
        Ok(())
    })?;
    Ok(statement)
}

/// Takes away what is not needed, and moves filters down.
fn move_filters(statement: &mut Statement, simplifier: &Simplifier) -> Result<()> {
    clean(statement, simplifier)?;
    each(statement, &mut |rel, _| {
        *rel = filters::push(taken(rel), simplifier)?;
        Ok(())
    })
}

/// Applies the rules that take something away.
fn clean(statement: &mut Statement, simplifier: &Simplifier) -> Result<()> {
    each(statement, &mut |rel, columns| {
        simplifier.relation(rel)?;
        empty::remove(rel, columns);
        unions::flatten(rel, columns);
        Ok(())
    })?;
    aliases::remove(statement);
    unread::remove(statement);
    shared::describe(statement);
    each(statement, &mut |rel, _| {
        unique::drop_distinct(rel);
        Ok(())
    })
}

/// Changes each tree of a statement.
fn each(
    statement: &mut Statement,
    change: &mut dyn FnMut(&mut Rel, &mut Columns) -> Result<()>,
) -> Result<()> {
    let Statement { columns, stages, root, .. } = statement;
    stages.iter_mut().map(|stage| &mut stage.root).chain([root]).try_for_each(|rel| change(rel, columns))
}
