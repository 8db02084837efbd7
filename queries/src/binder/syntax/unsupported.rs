//! Clauses that the parser reads and palais does not run. They are refused by name.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, GroupByExpr, Join, JoinConstraint, JoinOperator, LimitClause, Query, Select, SelectItem, Spanned,
    TableFactor, WildcardAdditionalOptions,
};

use crate::error::Error;
use crate::parse::joins::by_order;
use crate::visitors;

type Flow = ControlFlow<Error>;

/// Refuses what was found. `word` is a word of the text at which it stands, since the syntax tree has no place for clauses;
/// none where it has one.
fn refuse_if(found: bool, word: &str, what: &str) -> Flow {
    match found {
        true if word.is_empty() => ControlFlow::Break(Error::Unsupported(what.into())),
        true => ControlFlow::Break(Error::Unsupported(what.into()).at_word(word)),
        false => ControlFlow::Continue(()),
    }
}

/// Clauses around a query.
pub fn query(q: &Query) -> Flow {
    if let Some(fetch) = &q.fetch {
        refuse_if(fetch.with_ties, "TIES", "FETCH FIRST … WITH TIES")?;
        refuse_if(fetch.percent, "PERCENT", "FETCH FIRST … PERCENT")?;
        fetch.quantity.iter().try_for_each(constant_limit)?;
    }
    refuse_if(q.settings.is_some(), "SETTINGS", "SETTINGS")?;
    refuse_if(q.format_clause.is_some(), "FORMAT", "FORMAT; the flag --format says how a result is printed")?;
    refuse_if(!q.locks.is_empty(), "FOR", "FOR UPDATE")?;
    refuse_if(
        q.for_clause.is_some(),
        "FOR",
        "FOR XML and FOR JSON; the flag --format says how a result is printed",
    )?;
    refuse_if(!q.pipe_operators.is_empty(), "|>", "pipe operators (|>)")?;
    match &q.limit_clause {
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
            refuse_if(!limit_by.is_empty(), "LIMIT", "LIMIT … BY")?;
            limit.iter().try_for_each(constant_limit)?;
            offset.iter().try_for_each(|o| constant_limit(&o.value))
        }
        Some(LimitClause::OffsetCommaLimit { .. }) => {
            refuse_if(true, "LIMIT", "LIMIT offset, count; write LIMIT count OFFSET offset")
        }
        None => ControlFlow::Continue(()),
    }
}

/// A LIMIT says how many rows are wanted, and depends on none of them. A subquery sees none.
fn constant_limit(e: &Expr) -> Flow {
    let mut column = false;
    visitors::change_outside_subqueries(&mut e.clone(), &mut |e| {
        column |= matches!(e, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    });
    refuse_if(column, "", "a LIMIT or OFFSET that is not constant").map_break(|error| error.at(e.span()))
}

/// Joins.
pub fn join(join: &Join) -> Flow {
    match &join.join_operator {
        JoinOperator::AsOf { .. } => refuse_if(true, "", "MATCH_CONDITION of ASOF JOIN"),
        JoinOperator::CrossApply | JoinOperator::OuterApply => refuse_if(true, "", "APPLY"),
        JoinOperator::StraightJoin(_) => refuse_if(true, "", "STRAIGHT_JOIN; write JOIN"),
        JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin => {
            refuse_if(true, "", "ARRAY JOIN")
        }
        JoinOperator::CrossJoin(condition) => refuse_if(
            !matches!(condition, JoinConstraint::None),
            "",
            "CROSS JOIN with a condition; write JOIN",
        ),
        JoinOperator::Join(condition)
        | JoinOperator::Inner(condition)
        | JoinOperator::Left(condition)
        | JoinOperator::LeftOuter(condition)
        | JoinOperator::Right(condition)
        | JoinOperator::RightOuter(condition)
        | JoinOperator::FullOuter(condition)
        | JoinOperator::Semi(condition)
        | JoinOperator::LeftSemi(condition)
        | JoinOperator::RightSemi(condition)
        | JoinOperator::Anti(condition)
        | JoinOperator::LeftAnti(condition)
        | JoinOperator::RightAnti(condition) => refuse_if(
            // What an ASOF join needs is told by itself.
            matches!(condition, JoinConstraint::None) && by_order(join).is_none(),
            "",
            "JOIN without ON or USING; write CROSS JOIN for every pair of rows",
        ),
    }
}

/// Clauses of a SELECT.
pub fn select(s: &Select) -> Flow {
    refuse_if(s.top.is_some(), "TOP", "TOP; write LIMIT")?;
    refuse_if(s.into.is_some(), "INTO", "SELECT INTO; use COPY (query) TO 'path'")?;
    refuse_if(s.prewhere.is_some(), "PREWHERE", "PREWHERE; write WHERE")?;
    refuse_if(!s.connect_by.is_empty(), "CONNECT", "CONNECT BY")?;
    refuse_if(!s.lateral_views.is_empty(), "LATERAL", "LATERAL VIEW")?;
    refuse_if(
        !s.cluster_by.is_empty() || !s.distribute_by.is_empty() || !s.sort_by.is_empty(),
        "",
        "CLUSTER BY, DISTRIBUTE BY and SORT BY",
    )?;
    let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = &s.group_by;
    refuse_if(
        !modifiers.is_empty(),
        "GROUP",
        "GROUP BY … WITH ROLLUP, CUBE or TOTALS; write GROUP BY ROLLUP (…)",
    )?;
    s.projection.iter().try_for_each(|item| match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => wildcard(options),
        SelectItem::ExprWithAlias { expr: Expr::Value(_), alias } if alias.quote_style.is_none() => {
            refuse_if(
                alias.value.starts_with('_') && alias.value[1..].starts_with(|c: char| c.is_ascii_digit()),
                "",
                "underscores in numbers",
            )
            .map_break(|error| error.at(alias.span))
        }
        _ => ControlFlow::Continue(()),
    })
}

fn wildcard(options: &WildcardAdditionalOptions) -> Flow {
    refuse_if(options.opt_alias.is_some(), "", "an alias of *")
}

/// Clauses of a table in FROM.
pub fn table_factor(t: &TableFactor) -> Flow {
    match t {
        TableFactor::Table { with_ordinality, with_hints, version, partitions, .. } => {
            refuse_if(*with_ordinality, "ORDINALITY", "WITH ORDINALITY")?;
            refuse_if(!with_hints.is_empty(), "WITH", "table hints (WITH)")?;
            refuse_if(version.is_some(), "FOR", "table versions (FOR SYSTEM_TIME)")?;
            refuse_if(!partitions.is_empty(), "PARTITION", "PARTITION of a table")
        }
        TableFactor::UNNEST { with_offset, .. } => refuse_if(*with_offset, "OFFSET", "WITH OFFSET"),
        TableFactor::Pivot { .. } | TableFactor::Unpivot { .. } => {
            refuse_if(true, "", "this form of PIVOT and UNPIVOT")
        }
        TableFactor::MatchRecognize { .. } => refuse_if(true, "MATCH_RECOGNIZE", "MATCH_RECOGNIZE"),
        TableFactor::JsonTable { .. } | TableFactor::OpenJsonTable { .. } | TableFactor::XmlTable { .. } => {
            refuse_if(true, "", "JSON_TABLE and XMLTABLE")
        }
        _ => ControlFlow::Continue(()),
    }
}

/// Expressions.
pub fn expr(e: &Expr) -> Flow {
    match e {
        Expr::Collate { .. } => refuse_if(
            true,
            "COLLATE",
            "COLLATE but for NOCASE of an operand of a comparison or a key of ORDER BY; lower(x) makes texts alike",
        ),
        Expr::Convert { .. } => refuse_if(true, "", "CONVERT; write CAST"),
        _ => ControlFlow::Continue(()),
    }
}
