"""Kinds of subqueries, and subqueries within them."""

from typing import Callable, NamedTuple

import rowwise
from insides import BARE


class Kind(NamedTuple):
    """What is asked of a query. `form` makes the expression of the query and of the value, or the values, on its left;
    `duckdb` another one that means the same."""

    name: str
    form: Callable
    columns: int = 1
    is_one: bool = False
    duckdb: Callable | None = None


def quantified(name, operator):
    return Kind(name, lambda query, left: f"{left} {operator} ({query})")


def tuples(name, not_):
    """DuckDB has these without correlation alone."""
    return Kind(
        name,
        lambda query, left: f"({', '.join(left)}) {not_}IN ({query})",
        columns=2,
        duckdb=lambda query, left: f"{not_}(SELECT CASE WHEN bool_or({pair_is(left)}) THEN true WHEN bool_or(({pair_is(left)}) IS NULL) "
        f"THEN NULL ELSE false END FROM ({query}) y(k, v))",
    )


def pair_is(left):
    return f"y.k = {left[0]} AND y.v = {left[1]}"


KINDS = [
    Kind("scalar", lambda query, left: f"({query})", is_one=True),
    Kind("exists", lambda query, left: f"EXISTS ({query})"),
    Kind("not_exists", lambda query, left: f"NOT EXISTS ({query})"),
    quantified("in", "IN"),
    quantified("not_in", "NOT IN"),
    quantified("equal_any", "= ANY"),
    quantified("less_any", "< ANY"),
    quantified("greater_all", "> ALL"),
    quantified("not_equal_all", "<> ALL"),
    tuples("tuple_in", ""),
    tuples("tuple_not_in", "NOT "),
    # In FROM, behind LATERAL.
    Kind("table", lambda query, left: query),
]

#: What the subquery within the subquery names: nothing (there is none); the rows of the middle query; the outermost query,
#: in a condition and in the select list; all, three levels deep.
NESTINGS = ["one", "middle", "outermost", "select", "three"]

#: `{k}`, `{v}` and `{s}` are columns of the outermost query, `{m.k}` and so on those of the middle one.
CONDITIONS = {
    "middle": [
        "EXISTS (SELECT 1 FROM w f WHERE f.k = {m.k})",
        "{m.v} >= (SELECT min(f.v) FROM w f WHERE f.k = {m.k})",
        "{m.v} NOT IN (SELECT f.v FROM w f WHERE f.k = {m.k})",
        "((SELECT count(*) FROM w f WHERE f.k = {m.k}) = 0 OR {m.v} > 2)",
    ],
    "outermost": [
        "EXISTS (SELECT 1 FROM w f WHERE f.k = {m.k} AND f.v >= {v})",
        "{m.v} <= (SELECT max(f.v) FROM w f WHERE f.k = {k})",
        "{m.v} IN (SELECT f.v FROM w f WHERE f.v >= {k})",
        "(NOT EXISTS (SELECT 1 FROM w f WHERE f.k = {k}) OR {m.v} > 2)",
    ],
    "three": [
        "EXISTS (SELECT 1 FROM w f WHERE f.k = {m.k} AND f.v <= (SELECT count(*) FROM u g WHERE g.k = {k}))",
        "{m.v} IN (SELECT f.v FROM w f WHERE EXISTS (SELECT 1 FROM u g WHERE g.k = f.k AND g.v >= {m.v} AND g.id > {k}))",
        "(SELECT count(*) FROM w f WHERE f.k = {m.k} AND f.v NOT IN (SELECT g.v FROM u g WHERE g.k = {k})) < 2",
    ],
}

#: Behind a value of the select list, by its kind.
IN_SELECT = {
    "I": " + (SELECT count(*) FROM w f WHERE f.k = {k})",
    "T": " || coalesce((SELECT max(f.s) FROM w f WHERE f.k = {k}), '')",
}

#: Aggregates that make one row of several.
OF_ONE = {"I": ["min", "max", "sum", "count"], "T": ["min", "max"]}


class Subquery(NamedTuple):
    """A subquery as what a place takes. `value` has any type, `predicate` is BOOLEAN, `number` an integer."""

    query: str
    operand: str
    value: str
    predicate: str
    number: str


class Spelling(NamedTuple):
    """How a subquery is written: the form of its kind, and the texts of an expression and of a query, each made of columns
    and of a function from columns to text."""

    form: Callable
    value: Callable
    query: Callable


def plainly(outer, write):
    return write(outer)


PALAIS = Spelling(lambda kind: kind.form, plainly, plainly)
DUCKDB = Spelling(lambda kind: kind.duckdb or kind.form, plainly, plainly)
ROWWISE = Spelling(DUCKDB.form, rowwise.choose, rowwise.choose_rows)


def subquery(kind, inside, nesting, outer, spelling, turn):
    """A subquery under a query with the columns `outer`; `turn(list)` chooses one of several forms."""
    value_kind, function = inside.kind, ""
    if kind.is_one and not inside.is_one:
        function = turn(OF_ONE[value_kind])
        value_kind = "I" if function == "count" else value_kind

    def query_of(names):
        query = text(inside, nesting, names, kind.columns, turn)
        return f"SELECT {function}(y.x) FROM ({query}) y(x)" if function else query

    def operand_of(names):
        return names.v if value_kind == "I" else names.s

    def value_of(names):
        left = operand_of(names) if kind.columns == 1 else (names.k, operand_of(names))
        return spelling.form(kind)(query_of(names), left)

    value, operand = spelling.value(outer, value_of), operand_of(outer)
    predicate = f"{operand} <= {value}" if kind.is_one else value
    number = f"CAST({value} AS INTEGER)" if not kind.is_one else value if value_kind == "I" else f"length({value})"
    return Subquery(spelling.query(outer, query_of), operand, value, predicate, number)


def text(inside, nesting, outer, columns, turn):
    """The text of the query."""
    if inside is BARE:
        pairs = [(outer.k, outer.v), (outer.v, "2"), ("3", outer.k)]
        return "VALUES " + ", ".join(f"({', '.join(pair[-columns:])})" for pair in pairs)
    further = turn(CONDITIONS[nesting]).format(m=inside.middle or outer, **outer._asdict()) if nesting in CONDITIONS else ""
    behind = IN_SELECT[inside.kind] if nesting == "select" else ""
    query = inside.before + select(inside.first, columns, behind, further)
    if inside.other:
        query += f" {inside.operator} {select(inside.other, columns, behind, '')}"
    return fill(query, outer, further)


def select(s, columns, behind, further):
    """The text of one SELECT; `further` stands for a condition that is put in at last, as it may hold braces."""
    values = f"{s.value}{behind}" if columns == 1 else f"{s.key}, {s.value}{behind}"
    where = " AND ".join(filter(None, [s.where, further and FURTHER]))
    parts = [s.select, values, s.source and f"FROM {s.source}", where and f"WHERE {where}", s.tail]
    return " ".join(filter(None, parts))


FURTHER = "{further}"


def fill(query, outer, further):
    return query.format(further=further, **outer._asdict())
