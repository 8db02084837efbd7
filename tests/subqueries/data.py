"""The tables: few rows, with NULLs, duplicates and keys that have no partner.

All have the columns `id`, which differs from row to row, the key `k`, the value `v` and the text `s`. `e` has no rows, and
`n` nothing but NULLs beside its `id`.
"""

COLUMNS = "id INTEGER, k INTEGER, v INTEGER, s VARCHAR"

TABLES = {
    "t": [(1, 1, 3, "a"), (2, 1, None, "b"), (3, 2, 2, "a"), (4, 2, 2, "a"), (5, None, 4, "c"), (6, 3, 1, None), (7, 0, 5, "d"),
          (8, None, None, None), (9, 5, 3, "")],
    "u": [(1, 1, 3, "a"), (2, 1, 3, "b"), (3, 1, None, "a"), (4, 2, 2, "c"), (5, 2, 4, None), (6, 3, None, "a"), (7, None, 1, "b"),
          (8, None, None, "a"), (9, 4, 5, "d"), (10, 2, 2, "a"), (11, 5, 0, "")],
    "w": [(1, 1, 2, "a"), (2, 2, 2, "b"), (3, 2, None, "a"), (4, None, 3, "c"), (5, 5, 3, "b"), (6, 3, 4, None), (7, 4, 1, "a")],
    "n": [(1, None, None, None), (2, None, None, None)],
    "e": [],
}


def create(name):
    """The statements that make a table in DuckDB."""
    rows = ", ".join(f"({', '.join(map(literal, row))})" for row in TABLES[name])
    return [f"CREATE TABLE {name} ({COLUMNS})"] + ([f"INSERT INTO {name} VALUES {rows}"] if rows else [])


def literal(value):
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(value)


class Table:
    """A table, as `systems.DuckDB` makes it."""

    def __init__(self, name):
        self.name = name

    def create(self):
        return create(self.name)


def write(db, directory):
    """Writes the tables as Parquet; where they lie, as `systems.Runner` opens them."""
    places = {}
    for name in TABLES:
        path = directory / f"{name}.parquet"
        db.execute(f"COPY {name} TO '{path}' (FORMAT parquet)")
        places[name] = [str(path), None]
    return places
