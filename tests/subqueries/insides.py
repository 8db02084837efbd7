"""What stands inside a subquery.

Texts have `{k}`, `{v}` and `{s}` where they name columns of the query around. The rows that a subquery reads are those of
`b`, whose columns a subquery within it may name.
"""

from typing import NamedTuple


class Names(NamedTuple):
    """How the columns of a relation are written."""

    k: str
    v: str
    s: str

    @staticmethod
    def of(alias):
        return Names(*(f"{alias}.{column}" for column in Names._fields))


class Select(NamedTuple):
    """One SELECT. `key` is what stands before `value` where two columns are asked for."""

    value: str
    source: str
    where: str = ""
    tail: str = ""
    key: str = "b.k"
    select: str = "SELECT"


class Inside(NamedTuple):
    """A query without what a cell of the grid adds to it. `operator` is that of a set operation, with `other` on its right.
    `kind` is that of the value: I an integer, T text. `middle` are the columns of its rows; None if it has none that the
    query around has not. What is not `is_open` takes no further condition."""

    name: str
    first: Select
    operator: str = ""
    other: Select | None = None
    before: str = ""
    kind: str = "I"
    is_one: bool = False
    is_open: bool = True
    middle: Names | None = Names.of("b")


EQUAL = "b.k = {k}"


def rows(name, where, value="b.v", source="u b", tail="", **more):
    """Rows of `u`, or of other tables."""
    select = {field: more.pop(field) for field in ("key", "select") if field in more}
    return Inside(name, Select(value, source, where, tail, **select), **more)


def one(name, where, value, source="u b", tail="", key="{k}", **more):
    """An aggregate without keys: one row, whatever there is."""
    return rows(name, where, value, source, tail, key=key, is_one=True, **more)


FILTERS = [
    rows("equal", EQUAL),
    rows("equal_text", "b.s = {s}", "b.s", kind="T"),
    rows("equal_unique", "b.id = {k}", is_one=True),
    # As a scalar subquery an error, of more than one row.
    rows("equal_many", EQUAL, is_one=True),
    rows("equal_two", "b.k = {k} AND b.v = {v}"),
    rows("equal_expression", "b.k + 1 = {k} * 2 - 1"),
    rows("less", "b.k < {k}"),
    rows("not_equal", "b.k <> {k}"),
    rows("not_distinct", "b.k IS NOT DISTINCT FROM {k}"),
    rows("equal_and_greater", "b.k = {k} AND b.v > {v}"),
    rows("either", "(b.k = {k} OR b.v > {v})"),
    rows("outer_condition", "b.k = {k} AND {v} > 2"),
    rows("outer_condition_alone", "{v} > 2"),
    rows("never", "b.k = {k} AND false"),
    rows("uncorrelated", "b.v > 2"),
    rows("uncorrelated_nulls", ""),
    rows("empty", EQUAL, source="e b"),
    rows("empty_uncorrelated", "", source="e b"),
    rows("nulls", "b.k IS NOT DISTINCT FROM {k}", source="n b"),
    rows("nulls_less", "b.id <= {k}", source="n b"),
]

VALUES = [
    rows("outer_in_value", EQUAL, "b.v + {k}"),
    rows("outer_value", EQUAL, "{v}"),
    rows("outer_coalesce", "b.k >= {k}", "coalesce(b.v, {v}, 0)"),
    rows("outer_case", EQUAL, "CASE WHEN {k} > 1 THEN b.v ELSE {v} END"),
    rows("without_from", "{k} > 1", "{v}", "", key="{k}", is_one=True, middle=None),
    rows("without_where", "", "{v} + 1", "", key="{k}", is_one=True, middle=None),
    rows("values", "", source="(VALUES (1, {k}), (2, {v}), (NULL, 3)) b(k, v)", middle=Names("b.k", "b.v", "'a'")),
    rows("values_where", EQUAL, source="(VALUES (1, 3), (2, NULL), (NULL, 3), (1, 2)) b(k, v)", middle=Names("b.k", "b.v", "'a'")),
]

AGGREGATES = [
    one("count", EQUAL, "count(*)"),
    one("count_column", EQUAL, "count(b.v)"),
    one("count_less", "b.k < {k}", "count(*)"),
    one("count_distinct", EQUAL, "count(DISTINCT b.v)"),
    one("count_empty", EQUAL, "count(*)", "e b"),
    one("count_outer_condition", "{v} > 2", "count(*)"),
    one("sum", EQUAL, "sum(b.v)"),
    one("sum_or_zero", EQUAL, "coalesce(sum(b.v), 0) + 10 * count(*)"),
    one("min_less", "b.v < {v}", "min(b.k)"),
    one("max_uncorrelated", "", "max(b.v)"),
    one("text", EQUAL, "string_agg(b.s, ',' ORDER BY b.id)", kind="T"),
    one("having", EQUAL, "count(*)", tail="HAVING count(*) > 1"),
    one("having_outer", EQUAL, "sum(b.v)", tail="HAVING count(*) >= {v}"),
    one("outer_argument", EQUAL, "sum(b.v + {k})"),
    one("outer_argument_less", "b.k > {k}", "sum(b.v * {v})"),
    one("outer_filter", "", "count(*) FILTER (WHERE b.v > {v})"),
    one("outer_filter_equal", EQUAL, "count(*) FILTER (WHERE b.v > {v})"),
    rows("groups", EQUAL, "max(b.v)", tail="GROUP BY b.s", key="min(b.k)"),
    rows("groups_of_key", EQUAL, "count(*)", tail="GROUP BY b.k", is_one=True),
    rows("groups_outer_key", "b.v >= {v}", "count(*)", tail="GROUP BY b.k + {k}", key="min(b.k)"),
    rows("groups_having", "b.k >= {k}", "b.v", tail="GROUP BY b.v HAVING count(*) > 1", key="min(b.k)"),
    rows("groups_having_outer", EQUAL, "max(b.v)", tail="GROUP BY b.s HAVING count(*) < {v}", key="min(b.k)"),
    rows("grouping_sets", EQUAL, "sum(b.v)", tail="GROUP BY GROUPING SETS ((b.k), (b.s))"),
    rows("grouping_sets_empty", EQUAL, "count(*)", tail="GROUP BY GROUPING SETS ((b.k), ())"),
    rows("rollup", EQUAL, "count(*)", tail="GROUP BY ROLLUP (b.k, b.s)"),
    rows("distinct", EQUAL, select="SELECT DISTINCT"),
    rows("distinct_less", "b.k < {k}", select="SELECT DISTINCT"),
    rows("distinct_on", EQUAL, select="SELECT DISTINCT ON (b.s)", tail="ORDER BY b.s, b.id"),
]

LIMITS = [
    rows("first", EQUAL, tail="ORDER BY b.v DESC, b.id LIMIT 1", is_one=True),
    rows("first_less", "b.k < {k}", tail="ORDER BY b.id DESC LIMIT 1", is_one=True),
    rows("first_uncorrelated", "", tail="ORDER BY b.v, b.id LIMIT 1", is_one=True),
    rows("first_two", EQUAL, tail="ORDER BY b.id LIMIT 2"),
    rows("offset", EQUAL, tail="ORDER BY b.id OFFSET 1"),
    rows("second", "b.k >= {k}", tail="ORDER BY b.v, b.id LIMIT 1 OFFSET 1", is_one=True),
]

SETS = [
    rows("union", EQUAL, operator="UNION", other=Select("c.v", "w c", "c.k = {k}", key="c.k")),
    rows("union_all", "b.k < {k}", operator="UNION ALL", other=Select("c.v", "w c", "c.v > 2", key="c.k")),
    rows("union_outer", EQUAL, operator="UNION", other=Select("{v}", "", key="{k}")),
    rows("intersect", "b.v >= {v}", operator="INTERSECT", other=Select("c.v", "w c", "c.k >= {k}", key="c.k")),
    rows("except", "", operator="EXCEPT", other=Select("c.v", "w c", "c.k = {k}", key="c.k")),
    rows("except_all", EQUAL, operator="EXCEPT ALL", other=Select("c.v", "w c", "c.k = {k}", key="c.k")),
]

JOINS = [
    rows("join", EQUAL, "c.v", "u b JOIN w c ON c.k = b.v AND c.v >= {v}"),
    rows("join_two", "b.k = {k} AND c.k = {v}", "b.v + c.v", "u b, w c"),
    rows("left_join_right", "b.id < 6", "coalesce(c.v, -1)", "u b LEFT JOIN w c ON c.k = b.k AND c.v = {v}"),
    rows("left_join_left", "", "coalesce(c.v, -1)", "u b LEFT JOIN w c ON c.k = b.k AND b.v = {v}"),
    rows("left_join_outer", EQUAL, "c.v", "u b LEFT JOIN w c ON c.id = {v}"),
    rows("left_join_below", "", "coalesce(c.v, -1)", "u b LEFT JOIN (SELECT d.k, d.v FROM w d WHERE d.k = {k}) c ON c.v = b.v"),
    rows("left_join_where", "c.k = {k}", "b.v", "u b LEFT JOIN w c ON c.v = b.v"),
    rows("right_join", "", "coalesce(b.v, c.id)", "u b RIGHT JOIN w c ON c.k = b.k AND b.v = {v}"),
    rows("full_join", "", "coalesce(b.v, 10 * c.id)", "u b FULL JOIN w c ON c.k = b.k AND c.v = {v}"),
    rows("full_join_below", "", "coalesce(b.v, 10 + c.v)", "(SELECT * FROM u d WHERE d.k = {k}) b FULL JOIN (SELECT * FROM w d "
         "WHERE d.k = {k}) c ON c.v = b.v"),
    rows("semi_join", "", "b.v", "u b SEMI JOIN w c ON c.k = b.k AND c.v >= {v}"),
    rows("anti_join", EQUAL, "b.v", "u b ANTI JOIN w c ON c.v = b.v AND c.k = {k}"),
    rows("lateral", "", "c.v", "u b, LATERAL (SELECT d.v FROM w d WHERE d.k = b.k AND d.v >= {v}) c"),
]

DERIVED = [
    rows("derived", "", source="(SELECT c.id, c.k, c.v, c.s FROM u c WHERE c.k = {k}) b"),
    rows("derived_first", "b.v > 2", source="(SELECT * FROM u c WHERE c.k = {k} ORDER BY c.id LIMIT 2) b"),
    rows("derived_count", "b.n >= {v}", "b.n", "(SELECT count(*) AS n FROM u c WHERE c.k = {k}) b", key="{k}", is_one=True,
         middle=Names("b.n", "b.n", "'a'")),
    rows("derived_groups", EQUAL, "b.n", "(SELECT c.k, count(*) AS n FROM u c GROUP BY c.k) b", is_one=True,
         middle=Names("b.k", "b.n", "'a'")),
    one("derived_twice", "", "max(b.n)", "(SELECT count(*) AS n FROM u c WHERE c.k = {k} GROUP BY c.v) b",
        middle=Names("b.n", "b.n", "'a'")),
    rows("cte", "", source="b", before="WITH b AS (SELECT c.id, c.k, c.v, c.s FROM u c WHERE c.k = {k}) "),
    rows("cte_twice", "", "d.v", "b JOIN b AS d ON d.k = b.k AND d.id > b.id",
         before="WITH b AS (SELECT c.id, c.k, c.v, c.s FROM u c WHERE c.v >= {v}) "),
    rows("cte_uncorrelated", EQUAL, source="b", before="WITH b AS (SELECT * FROM u c WHERE c.v > 1) "),
]

#: `VALUES` is the query itself there.
BARE = Inside("bare_values", Select("", ""), is_open=False)

INSIDES = [*FILTERS, *VALUES, *AGGREGATES, *LIMITS, *SETS, *JOINS, *DERIVED, BARE]
