"""The same statement without correlation with the outermost query, for what DuckDB can't answer or answers wrongly.

The subquery is written once for each combination of values that the outer columns have, with these values in it, and a
CASE chooses.
"""

from itertools import product

from data import TABLES, literal
from insides import Names

#: Of which table an alias is.
ALIASES = {"a": "t", "j": "w"}
TYPES = {"k": "INTEGER", "v": "INTEGER", "s": "VARCHAR"}
#: Where each column stands in a row.
PLACES = {"k": 1, "v": 2, "s": 3}


def outer_rows(outer):
    """The values that the outer columns may have together, as texts of constants."""
    columns = {alias: [c for c in Names._fields if getattr(outer, c).startswith(f"{alias}.")] for alias in ALIASES}
    of_sides = [rows_of(alias, names) for alias, names in columns.items() if names]
    for sides in product(*of_sides):
        yield Names(**{name: value for side in sides for name, value in side})


def rows_of(alias, names):
    """The rows of one table, each a list of names with values. Of an outer join all of them are NULL, of ROLLUP the last
    ones."""
    values = [tuple(row[PLACES[name]] for name in names) for row in TABLES[ALIASES[alias]]]
    values += [row[:kept] + (None,) * (len(names) - kept) for kept in range(len(names)) for row in values]
    return [list(zip(names, map(constant, names, row))) for row in dict.fromkeys(values)]


def constant(name, value):
    return f"CAST({literal(value)} AS {TYPES[name]})" if value is None else literal(value)


def choose(outer, write):
    """An expression that is `write(names)` with the values of the row in the place of the names. Columns that the text does
    not have make no difference."""
    choices = {}
    for row in outer_rows(outer):
        choices.setdefault(write(row), []).append(matches(outer, row))
    if len(choices) == 1:
        return next(iter(choices))
    return f"CASE {' '.join(f'WHEN {any_of(rows)} THEN {text}' for text, rows in choices.items())} END"


def choose_rows(outer, write):
    """A query that is `write(names)` likewise."""
    choices = {}
    for row in outer_rows(outer):
        choices.setdefault(write(row), []).append(matches(outer, row))
    return " UNION ALL ".join(f"SELECT z.x FROM ({text}) z(x) WHERE {any_of(rows)}" for text, rows in choices.items())


def matches(outer, row):
    return " AND ".join(f"{name} IS NOT DISTINCT FROM {value}" for name, value in zip(outer, row))


def any_of(conditions):
    return f"({' OR '.join(conditions)})"
