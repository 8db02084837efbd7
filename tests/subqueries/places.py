"""Where a subquery stands.

A place is a statement over `t a` with `{value}`, `{predicate}` or `{number}` where the subquery goes. Where DuckDB has no
such statement, `duckdb` asks the same in another way.
"""

from typing import NamedTuple

from insides import Names

A, J = Names.of("a"), Names.of("j")
#: The key of one side, and the value of the other.
BOTH = Names("a.k", "j.v", "a.s")


class Place(NamedTuple):
    """A statement around a subquery. `outer` are the columns that it may name. The rows of `is_ordered` have an order."""

    name: str
    sql: str
    outer: Names = A
    is_ordered: bool = False
    duckdb: str = ""


EXPRESSIONS = [
    Place("select", "SELECT a.id, {value} AS x FROM t a"),
    Place("where", "SELECT a.id FROM t a WHERE {predicate}"),
    Place("and", "SELECT a.id FROM t a WHERE a.v < 5 AND {predicate} AND a.id <> 3"),
    Place("or", "SELECT a.id FROM t a WHERE a.k = 2 OR {predicate}"),
    Place("not", "SELECT a.id FROM t a WHERE NOT ({predicate})"),
    Place("is_null", "SELECT a.id FROM t a WHERE ({value}) IS NULL"),
    Place("case_when", "SELECT a.id, CASE WHEN a.k IS NULL THEN -1 WHEN {predicate} THEN 1 ELSE 0 END AS x FROM t a"),
    Place("case_then", "SELECT a.id, CASE WHEN a.k > 1 THEN {value} END AS x FROM t a"),
    Place("case_operand", "SELECT a.id, CASE {number} WHEN 1 THEN 'one' WHEN a.v THEN 'v' ELSE 'other' END AS x FROM t a"),
    Place("argument", "SELECT a.id, coalesce({number}, a.v, -1) AS x FROM t a"),
    Place("arithmetic", "SELECT a.id, {number} * 2 - a.v AS x, {number} + 1 AS y FROM t a"),
    Place("in_list", "SELECT a.id FROM t a WHERE a.v IN (1, {number}, a.k)"),
    Place("not_in_list", "SELECT a.id, a.v NOT IN (1, {number}) AS x FROM t a"),
    Place("between", "SELECT a.id FROM t a WHERE a.v BETWEEN {number} AND 4"),
    Place("left_of_in", "SELECT a.id, {number} IN (SELECT r.v FROM w r WHERE r.k = a.k) AS x FROM t a"),
]

CLAUSES = [
    Place("having", "SELECT a.k, a.v, a.s, count(*) AS n FROM t a GROUP BY a.k, a.v, a.s HAVING {predicate}"),
    Place("having_or", "SELECT a.k, a.v, a.s FROM t a GROUP BY a.k, a.v, a.s HAVING count(*) > 1 OR {predicate}"),
    Place("group_key", "SELECT {value} AS x, count(*) AS n, min(a.id) AS i FROM t a GROUP BY 1"),
    Place("of_group", "SELECT a.k, a.v, a.s, {value} AS x, sum(a.id) AS n FROM t a GROUP BY a.k, a.v, a.s"),
    Place("of_rollup", "SELECT a.k, a.v, a.s, {value} AS x, count(*) AS n FROM t a GROUP BY ROLLUP (a.k, a.v, a.s)"),
    Place("aggregate", "SELECT sum({number}) AS n FROM t a"),
    Place("aggregate_keys", "SELECT a.k, count({value}) AS n, max({number}) AS m FROM t a GROUP BY a.k"),
    Place("filter", "SELECT a.k, count(*) FILTER (WHERE {predicate}) AS n, sum(a.v) AS m FROM t a GROUP BY a.k"),
    Place("distinct", "SELECT DISTINCT {value} AS x FROM t a"),
    Place("order_by", "SELECT a.id FROM t a ORDER BY {value}, a.id", is_ordered=True),
    Place("order_desc", "SELECT a.id FROM t a ORDER BY {value} DESC NULLS FIRST, a.id", is_ordered=True),
    Place("limit", "SELECT a.id FROM t a WHERE {predicate} ORDER BY a.id DESC LIMIT 2", is_ordered=True),
]

RELATIONS = [
    Place("values", "SELECT a.id, q.x FROM t a, LATERAL (VALUES ({number}), (a.id)) q(x)"),
    Place("lateral_select", "SELECT a.id, q.x FROM t a, LATERAL (SELECT {value} AS x) q"),
    Place("lateral_where", "SELECT a.id, q.id FROM t a, LATERAL (SELECT r.id FROM w r WHERE r.k >= a.k AND {predicate}) q"),
    Place("derived", "SELECT q.x, count(*) AS n FROM (SELECT a.id, {value} AS x FROM t a) q WHERE q.id > 2 GROUP BY q.x"),
    Place("derived_where", "SELECT q.id FROM (SELECT a.id, {predicate} AS p FROM t a) q WHERE q.p"),
    Place("cte", "WITH q AS (SELECT a.id, a.k, {value} AS x FROM t a) SELECT l.id, r.x FROM q l JOIN q r ON l.id = r.k"),
    Place("union", "SELECT a.id, {number} AS x FROM t a UNION SELECT w.id, w.v FROM w"),
    Place("union_all", "SELECT w.id FROM w UNION ALL SELECT a.id FROM t a WHERE {predicate}"),
    Place("intersect", "SELECT a.v FROM t a WHERE {predicate} INTERSECT SELECT w.v FROM w"),
    Place("except", "SELECT u.v FROM u EXCEPT SELECT a.v FROM t a WHERE {predicate}"),
    Place("null_side", "SELECT j.id, a.id AS i FROM w j LEFT JOIN t a ON a.k = j.v WHERE {predicate}"),
    Place("null_side_select", "SELECT j.id, a.id AS i, {value} AS x FROM w j LEFT JOIN t a ON a.k = j.v"),
    Place("two_tables", "SELECT a.id, j.id AS i FROM t a, w j WHERE a.id = j.k AND {predicate}", BOTH),
    Place("two_tables_select", "SELECT a.id, j.id AS i, {value} AS x FROM t a JOIN w j ON a.k = j.k", BOTH),
]


def on(name, join, outer, *parts):
    """A join with a subquery in its ON; DuckDB is asked by the rows that match, and the others with NULL, which are `parts`
    of: the left side's, the right side's."""
    condition = "a.k <= j.v AND {predicate}"
    sql = f"SELECT a.id, j.id AS i FROM t a {join} JOIN w j ON {condition}"
    unmatched = {
        "left": f"SELECT a.id, NULL FROM t a WHERE NOT EXISTS (SELECT 1 FROM w j WHERE {condition})",
        "right": f"SELECT NULL, j.id FROM w j WHERE NOT EXISTS (SELECT 1 FROM t a WHERE {condition})",
    }
    matched = f"SELECT a.id, j.id AS i FROM t a, w j WHERE {condition}"
    return Place(name, sql, outer, duckdb=" UNION ALL ".join([matched, *(unmatched[part] for part in parts)]))


def half(name, join, outer, kept="t a", other="w j"):
    condition = "a.k <= j.v AND {predicate}"
    column = f"{kept[-1]}.id"
    duckdb = f"SELECT {column} FROM {kept} WHERE {'NOT ' * ('ANTI' in join)}EXISTS (SELECT 1 FROM {other} WHERE {condition})"
    return Place(name, f"SELECT {column} FROM t a {join} JOIN w j ON {condition}", outer, duckdb=duckdb)


SIDES = [("left", A), ("right", J), ("both", BOTH)]
JOINS = [
    *(on(f"on_inner_{side}", "INNER", outer) for side, outer in SIDES),
    *(on(f"on_left_{side}", "LEFT", outer, "left") for side, outer in SIDES),
    *(on(f"on_right_{side}", "RIGHT", outer, "right") for side, outer in SIDES),
    *(on(f"on_full_{side}", "FULL", outer, "left", "right") for side, outer in SIDES),
    *(half(f"on_semi_{side}", "SEMI", outer) for side, outer in SIDES),
    *(half(f"on_anti_{side}", "ANTI", outer) for side, outer in SIDES),
    half("on_right_semi", "RIGHT SEMI", BOTH, "w j", "t a"),
    half("on_right_anti", "RIGHT ANTI", BOTH, "w j", "t a"),
]

#: Of the kind `table` alone.
LATERAL = [
    Place("lateral", "SELECT a.id, q.x FROM t a, LATERAL ({query}) q(x)"),
    Place("lateral_left", "SELECT a.id, q.x FROM t a LEFT JOIN LATERAL ({query}) q(x) ON true"),
    Place("lateral_left_on", "SELECT a.id, q.x FROM t a LEFT JOIN LATERAL ({query}) q(x) ON q.x <= {operand}"),
    Place("lateral_on", "SELECT a.id, q.x FROM t a JOIN LATERAL ({query}) q(x) ON q.x >= {operand} WHERE a.id > 1"),
    Place("lateral_groups", "SELECT a.k, count(q.x) AS n, min(q.x) AS m FROM t a LEFT JOIN LATERAL ({query}) q(x) ON true GROUP BY a.k"),
    Place("lateral_two", "SELECT a.id, j.id AS i, q.x FROM t a JOIN w j ON j.k = a.k, LATERAL ({query}) q(x)", BOTH),
]

PLACES = [*EXPRESSIONS, *CLAUSES, *RELATIONS, *JOINS, *LATERAL]
