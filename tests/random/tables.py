"""Random small tables: kinds of columns, values, and the same rows for DuckDB, as files and as VALUES.

A kind is a letter: B boolean, I integer, F float, N decimal, T text, X bytes, D date, P timestamp, Z timestamp with a
zone, L list of integers, K list of texts, S struct, E list of structs that have a list, M map, Q text that is JSON, J what
is known to be JSON. There are no columns of J in files: a cast of Q is one.
"""

import subprocess

from tree import Node

KINDS = "BIFNTDPZ"
NESTED = "LKSEM"
#: Of columns.
ALL_KINDS = KINDS * 4 + "X" + "LLKSSEMQQ"

#: The SQL types of a kind.
TYPES = {
    "B": ["BOOLEAN"],
    "I": ["BIGINT", "BIGINT", "INTEGER", "INTEGER", "SMALLINT", "TINYINT", "UINTEGER"],
    "F": ["DOUBLE", "DOUBLE", "DOUBLE", "FLOAT"],
    "N": ["DECIMAL(9, 2)", "DECIMAL(18, 4)", "DECIMAL(5, 1)", "DECIMAL(30, 6)"],
    "T": ["VARCHAR"],
    "X": ["BLOB"],
    "L": ["BIGINT[]"],
    "K": ["VARCHAR[]"],
    "S": ["STRUCT(a BIGINT, b VARCHAR)"],
    "E": ["STRUCT(x DOUBLE, l VARCHAR[])[]"],
    "M": ["MAP(VARCHAR, BIGINT)"],
    "Q": ["VARCHAR"],
    "J": ["JSON"],
    "D": ["DATE"],
    "P": ["TIMESTAMP"],
    "Z": ["TIMESTAMP WITH TIME ZONE"],
}

#: What schemas of files call a type that DuckDB calls otherwise.
NAMES = {"UINTEGER": "INT UNSIGNED", "INTEGER": "INT"}

#: What stands in a statement for a type whose name is not the same in both systems.
IN_SQL = {"UINTEGER": "BIGINT"}

#: Values that are few, so that they meet. Sums of the floats are exact in any order.
VALUES = {
    "B": ["true", "false"],
    "I": ["0", "1", "2", "3", "4", "5", "7", "10", "12", "100"],
    "F": ["0.0", "0.5", "1.0", "2.25", "-1.5", "3.0", "-4.0", "7.0", "1024.5", "nan", "inf", "-inf"],
    "N": ["0.0", "0.1", "1.0", "1.5", "2.0", "2.5", "-3.5", "7.0", "99.9", "-0.1"],
    "T": ["", "a", "b", "ab", "A", "aa", "B", "x y", "a_b", "10%", "7", "10", " a ", "é", "NULL", "it's",
          "longer than twelve bytes", "longer than twelve bytes too", 'q"q', "a,b"],
    "D": ["1969-12-31", "1970-01-01", "1999-12-31", "2000-02-29", "2024-01-01", "2024-01-31", "2024-02-29", "2024-12-30"],
    "P": ["1969-12-31 23:59:59", "2024-01-01 00:00:00", "2024-01-01 12:30:00", "2024-02-29 23:59:59.5",
          "2024-02-29 00:00:00", "1999-12-31 00:00:00.000001", "2024-12-30 06:00:00"],
}
VALUES["X"] = ["", "a", "ab", "\\x00\\xFF", "b"]
VALUES["Q"] = ['{"a": 1, "b": [1, 2]}', '{"a": "x"}', '{"a": null, "b": {"a": 2}}', '{"a" : 1.50, "b": []}', "{}", "[]", "[1, 2, null]",
               '[{"a": 1}, {"a": "x", "b": [3]}]', '"x"', "7", "null", "true", '{"a": true, "b": "7"}', '{"b": [1, "x", null], "a": -3}']
VALUES["J"] = VALUES["Q"]
# These are expressions.
VALUES["L"] = ["[]", "[1]", "[1, 2]", "[2, 1]", "[NULL]", "[1, NULL]", "[3, 1, 2, 1]"]
VALUES["K"] = ["[]", "['a']", "['a', 'b']", "['b', NULL, 'a']", "[NULL]", "['', 'ab']"]
VALUES["S"] = ["{'a': 1, 'b': 'x'}", "{'a': 1, 'b': NULL}", "{'a': NULL, 'b': 'x'}", "{'a': 2, 'b': 'y'}", "{'a': NULL, 'b': NULL}"]
VALUES["E"] = ["[{'x': 0.5e0, 'l': ['a', NULL]}]", "[{'x': 0.5e0, 'l': ['a']}, NULL]", "[{'x': CAST('nan' AS DOUBLE), 'l': NULL}]",
               "[{'x': NULL, 'l': ['a']}, {'x': 2e0, 'l': ['b', 'a']}]", "([{'x': 0e0, 'l': ['a']}])[2:1]", "[{'x': 0.5e0, 'l': ['b']}]"]
VALUES["M"] = ["MAP {}", "MAP {'a': 1}", "MAP {'a': 1, 'b': 2}", "MAP {'b': 2, 'a': 1}", "MAP {'a': NULL}"]
VALUES["Z"] = [text + "+00:00" for text in VALUES["P"]]

#: Further values for types that hold them.
NEGATIVE = ["-1", "-2", "-7", "-100"]
LARGE = {"BIGINT": ["5000000000", "-4000000000"], "INTEGER": ["70000"], "DECIMAL(30, 6)": ["123456789012345.654321"],
         "DECIMAL(18, 4)": ["0.0001", "12345678.1234"]}


#: What is NULL of types with structs, which the systems spell differently.
NO_STRUCT = {"S": "CASE WHEN false THEN {'a': CAST(1 AS BIGINT), 'b': 'x'} END", "E": "CASE WHEN false THEN [{'x': 0e0, 'l': ['a']}] END"}


def literal(kind, value, sql_type=None):
    """A value as an expression of a type."""
    if kind in NO_STRUCT:
        return value or NO_STRUCT[kind]
    if kind in NESTED:
        return f"CAST({value or 'NULL'} AS {TYPES[kind][0]})"
    if value is None:
        return "NULL" if sql_type is None else f"CAST(NULL AS {IN_SQL.get(sql_type, sql_type)})"
    if kind in "BI" and sql_type is None:
        return f"({value})" if value.startswith("-") else value
    quoted = "'" + value.replace("'", "''") + "'"
    if kind in "TQ":
        return quoted
    return f"CAST({quoted} AS {IN_SQL.get(sql_type, sql_type) or TYPES[kind][0]})"


class Column:
    """A column of a table, and its values as text."""

    def __init__(self, name, kind, sql_type, values):
        self.name, self.kind, self.sql_type, self.values = name, kind, sql_type, values


class Table:
    """A table and its rows."""

    def __init__(self, name, columns):
        self.name, self.columns = name, columns

    def rows(self):
        return list(zip(*(column.values for column in self.columns)))

    def create(self):
        """The statements that make it in DuckDB."""
        columns = ", ".join(f"{c.name} {c.sql_type}" for c in self.columns)
        yield f"CREATE OR REPLACE TABLE {self.name} ({columns})"
        if rows := self.rows():
            kinds = [c.kind if c.kind in NESTED else "T" for c in self.columns]
            cells = ["(" + ", ".join("NULL" if v is None else literal(k, v) for k, v in zip(kinds, row)) + ")" for row in rows]
            yield f"INSERT INTO {self.name} VALUES {', '.join(cells)}"

    def schema(self):
        """The text of its schema for files that have none."""
        columns = ", ".join(f"{c.name} {NAMES.get(c.sql_type, c.sql_type)}" for c in self.columns)
        return f"CREATE TABLE {self.name} ({columns})\n"

    def inline(self):
        return Inline(self.name, self.columns)


class Inline(Node):
    """A table written into the statement; it is made smaller by rows and columns."""

    def __init__(self, name, columns):
        super().__init__("")
        self.name, self.columns = name, columns

    def __str__(self):
        names = ", ".join(c.name for c in self.columns)
        rows = list(zip(*(c.values for c in self.columns)))
        empty = "" if rows else " WHERE false"
        rows = rows or [tuple(None for _ in self.columns)]
        cells = [", ".join(literal(c.kind, v, c.sql_type) for c, v in zip(self.columns, row)) for row in rows]
        return f"{self.name}({names}) AS (SELECT * FROM (VALUES {', '.join(f'({row})' for row in cells)}){empty})"

    def alternatives(self):
        rows = len(self.columns[0].values)
        for keep in ([], range(rows // 2), range(rows // 2, rows), *([j for j in range(rows) if j != i] for i in range(rows))):
            if len(keep) < rows:
                yield Inline(self.name, [Column(c.name, c.kind, c.sql_type, [c.values[i] for i in keep]) for c in self.columns])
        if len(self.columns) > 1:
            for column in self.columns:
                yield Inline(self.name, [c for c in self.columns if c is not column])


def values_of(rng, kind, sql_type, rows):
    pool = list(VALUES[kind])
    if kind == "I" and not sql_type.startswith("U"):
        pool += NEGATIVE
    if rng.random() < 0.3:
        pool += LARGE.get(sql_type, [])
    # Most columns have few values, so that there are duplicates and matches.
    pool = rng.sample(pool, min(len(pool), rng.choice([2, 4, 6, 30])))
    nulls = rng.choice([0, 0, 0.1, 0.3, 0.3, 1 if rng.random() < 0.1 else 0.5])
    return [None if rng.random() < nulls else rng.choice(pool) for _ in range(rows)]


def random_tables(rng, kinds=""):
    """Some tables that share names of columns, most of them with the same kinds. Half of the other columns are of `kinds`,
    if there are any."""
    any_kind = lambda: rng.choice(kinds if kinds and rng.random() < 0.5 else ALL_KINDS)
    usual = {"k": "I", "a": "I", "b": "T"} | {name: any_kind() for name in "cdefg"}
    tables = []
    for name in ("t1", "t2", "t3", "t4"):
        rows = 0 if rng.random() < 0.08 else rng.choice([1, 2, 3, 5, 6, 8, 10, 12])
        names = ["k"] * (rng.random() < 0.8) + rng.sample("abcdefg", rng.choice([1, 2, 3, 4, 5]))
        columns = []
        for column in names:
            kind = usual[column] if rng.random() < 0.85 else any_kind()
            sql_type = rng.choice(TYPES[kind])
            columns.append(Column(column, kind, sql_type, values_of(rng, kind, sql_type, rows)))
        if all(c.kind in NESTED for c in columns):
            columns.append(Column("h", "I", "BIGINT", values_of(rng, "I", "BIGINT", rows)))
        tables.append(Table(name, columns))
    return tables


#: Encodings that tables are read from besides Parquet, and whether their files need a schema.
ENCODINGS = {"csv": True, "jsonl": True, "msgpack": True, "cbor": True, "buren": False, "arrow": False}

#: The kinds that an encoding has no form for.
LACKS = {"csv": NESTED, "buren": "M"}

#: What a table is written as that the drawn encoding can't hold.
INSTEAD = "jsonl"


def random_encoding(rng):
    """An encoding of the tables. Most sets have a table that csv can't hold, so that is left to `encoding_of`."""
    return rng.choice(list(ENCODINGS))


def encoding_of(table, drawn):
    """The drawn encoding if it can hold the table, or else one that can."""
    return INSTEAD if {c.kind for c in table.columns} & set(LACKS.get(drawn, "")) else drawn


def write(tables, db, directory, drawn, binary):
    """Writes tables of DuckDB as Parquet and, by `palais convert`, in the encoding that was drawn, as far as it can hold
    them; where they lie."""
    parquet, other = {}, {}
    for table in tables:
        path, encoding = directory / f"{table.name}.parquet", encoding_of(table, drawn)
        db.execute(f"COPY {table.name} TO '{path}' (FORMAT parquet)")
        parquet[table.name] = [str(path), None]
        converted = directory / f"{table.name}.{encoding}"
        subprocess.run([binary, "convert", path, converted, "--no-progress", "--overwrite"], check=True, capture_output=True, text=True)
        schema = None
        if ENCODINGS[encoding]:
            schema = directory / f"{table.name}.sql"
            schema.write_text(table.schema())
        other[table.name] = [str(converted), schema and str(schema)]
    return parquet, other
