"""Holds the SQL tests against DuckDB.

`python tests/oracle/slt.py --check` runs every statement of `tests/slt/*.slt` on DuckDB and fails where a file does
not hold DuckDB's answer; `--write` puts DuckDB's answers into the files; `--differences` lists the intended
differences.

A record is one of

    query ITR rowsort          types and order; `--write` fills in the types
    SELECT ...                 in `tests/slt/scripts` several statements with semicolons between them
    ----
    1<tab>x<tab>0.5            one line a row, cells between tabs

    statement error <regex>    both systems refuse it; the regex is for the message of palais
    SELECT ...

and comment lines directly above it may say

    # duckdb: SELECT ...       DuckDB's spelling of the same question
    # difference: reason       an intended difference: the expected result is written by hand, and DuckDB must
                               really answer something else

Types: I integer (compared exactly), R float (1e-9 relative), N decimal (exactly, but for zeros at the end), B boolean,
D date, P timestamp, T everything else (exactly). Cells: NULL, `(empty)` for the empty string, text with `\\\\`, `\\t`,
`\\n`, `\\r`, `\\s` (a space at the border) escaped, and a backslash before a text that reads NULL or (empty).
A result of several rows needs an ORDER BY or `rowsort`; floats are not sorted as text, so that `rowsort` with R is
refused. `tests/slt.rs` reads the same files by the same rules.
"""

import argparse
import math
import re
import sys
from pathlib import Path

import duckdb
import numpy

from slt_data import DATA, HEADERLESS, INFERRED

SLT = DATA.parent
INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
            "UHUGEINT"}
MARK = re.compile(r"# (duckdb|difference): (.*)")


class Record:
    """A query or a statement of a file: the lines `start..end`, and what they say."""

    def __init__(self, path, start, marks):
        self.path, self.start, self.marks = path, start, marks
        self.header, self.sql, self.expected, self.end = "", "", [], 0

    def place(self):
        return f"{self.path.relative_to(SLT.parent.parent)}:{self.start + 1}"

    def words(self):
        return self.header.split()

    def is_error(self):
        return self.words()[1:2] == ["error"]

    def rowsort(self):
        return "rowsort" in self.words()

    def types(self):
        return next((w for w in self.words()[1:] if w != "rowsort"), "")


def records(path):
    """The records of a file and its lines."""
    lines = path.read_text(encoding="utf-8").split("\n")
    found, marks, i = [], {}, 0
    while i < len(lines):
        line = lines[i]
        if mark := MARK.fullmatch(line):
            marks[mark[1]] = mark[2]
        elif line.startswith(("query", "statement")):
            record = Record(path, i, marks)
            record.header = line
            body = i + 1
            while i + 1 < len(lines) and lines[i + 1] not in ("", "----"):
                i += 1
            record.sql = "\n".join(lines[body : i + 1])
            if i + 1 < len(lines) and lines[i + 1] == "----":
                i += 1
                while i + 1 < len(lines) and lines[i + 1] != "":
                    i += 1
                    record.expected.append(lines[i])
            record.end = i + 1
            found.append(record)
            marks = {}
        elif not line.startswith("#"):
            marks = {}
        i += 1
    return found, lines


def connect():
    """DuckDB with the tables of the tests."""
    db = duckdb.connect(config={"threads": 1})
    db.execute("SET TimeZone = 'UTC'")
    for path in sorted(DATA.glob("*.csv")):
        name = path.stem
        schema = path.with_suffix(".sql")
        if schema.exists():
            db.execute(schema.read_text())
        else:
            db.execute(f"CREATE TABLE {name} ({INFERRED[name]})")
        header = str(name not in HEADERLESS).lower()
        db.execute(
            f"COPY {name} FROM '{path}' (FORMAT csv, HEADER {header}, NULLSTR '', ALLOW_QUOTED_NULLS false, "
            "DELIMITER ',', QUOTE '\"', ESCAPE '\"', AUTO_DETECT false, NEW_LINE '\\n')"
        )
    for path in sorted(DATA.glob("*.parquet")):
        db.execute(f"CREATE TABLE {path.stem} AS FROM '{path}'")
    return db


def letter(duck_type):
    """The type letter of a DuckDB type."""
    name = str(duck_type)
    if name == "BOOLEAN":
        return "B"
    if name in INTEGERS:
        return "I"
    if name in ("FLOAT", "DOUBLE") or name.startswith("DECIMAL"):
        return "R"
    if name == "DATE":
        return "D"
    return "P" if name.startswith("TIMESTAMP") else "T"


def cell(value, duck_type):
    """The text of one value."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return repr(value) if str(duck_type) != "FLOAT" else str(numpy.float32(value))
    if hasattr(value, "hour") and hasattr(value, "year"):
        return re.sub(r"\.?0*$", "", value.isoformat(" ", "microseconds"))
    return escape(str(value)) if isinstance(value, str) else str(value)


def escape(text):
    """The text of a string."""
    if text == "":
        return "(empty)"
    if text in ("NULL", "(empty)"):
        return "\\" + text
    for raw, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(raw, written)
    if text.startswith(" "):
        text = "\\s" + text[1:]
    return text[:-1] + "\\s" if text.endswith(" ") else text


def answer(db, record):
    """DuckDB's types and rows for a record. What its statements define is forgotten."""
    db.begin()
    try:
        return rows_of(db, record)
    finally:
        db.rollback()
        db.execute("SET TimeZone = 'UTC'")


def rows_of(db, record):
    """DuckDB's types and rows for a record; of several statements those of the last one."""
    result = db.execute(record.marks.get("duckdb", record.sql))
    duck_types = [column[1] for column in result.description]
    rows = [[cell(v, t) for v, t in zip(row, duck_types)] for row in result.fetchall()]
    types = "".join(letter(t) for t in duck_types)
    written = record.types()
    if len(written) == len(types):
        types = "".join("N" if w == "N" and t in "RI" else t for w, t in zip(written, types))
    if record.rowsort():
        rows.sort()
    return types, rows


def same_cell(kind, left, right):
    """Whether two cells of a type are equal."""
    if left == right:
        return True
    if "NULL" in (left, right):
        return False
    try:
        if kind == "R":
            return math.isclose(float(left), float(right), rel_tol=1e-9, abs_tol=1e-300)
        if kind == "N":
            return trim_zeros(left) == trim_zeros(right)
    except ValueError:
        return False
    return False


def trim_zeros(number):
    return number.rstrip("0").rstrip(".") if "." in number else number


def same_rows(types, rows, expected):
    """Whether rows of cells equal the lines of a file."""
    lines = [line.split("\t") for line in expected]
    return len(rows) == len(lines) and all(
        len(row) == len(line) == len(types) and all(map(same_cell, types, row, line)) for row, line in zip(rows, lines)
    )


def unclear(record, types, rows):
    """Why the order of a result is not defined, if so."""
    if len(rows) < 2:
        return None
    if record.rowsort():
        return "rowsort with a float column: use ORDER BY" if "R" in types else None
    return None if "ORDER BY" in record.sql.upper() else "several rows without ORDER BY or rowsort"


def judge(db, record, write):
    """What is wrong with a record (or None), and its new header and result if it is to be written."""
    difference = "difference" in record.marks
    try:
        types, rows = answer(db, record)
    except duckdb.Error as error:
        if record.is_error() != difference:
            return None, None
        reason = "DuckDB refuses it too: not a difference" if difference else f"DuckDB refuses it: {error}"
        return reason, None
    if record.is_error():
        return (None if difference else "DuckDB answers it"), None
    if problem := unclear(record, types, rows):
        return problem, None
    agrees = types == record.types() and same_rows(types, rows, record.expected)
    if difference:
        return ("DuckDB gives the same: not a difference" if agrees else None), None
    if agrees:
        return None, None
    got = "\n".join("    " + "\t".join(row) for row in rows)
    new = [f"query {types}" + (" rowsort" if record.rowsort() else "")], ["\t".join(row) for row in rows]
    return (None if write else f"DuckDB gives {types}\n{got}"), new


def rewrite(path, lines, news):
    """Puts new headers and results into a file, the last one first."""
    for record, (header, rows) in reversed(news):
        lines[record.start : record.end] = header + record.sql.split("\n") + ["----"] + rows
    path.write_text("\n".join(lines), encoding="utf-8", newline="")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true", help="fail where a file does not hold DuckDB's answer")
    mode.add_argument("--write", action="store_true", help="put DuckDB's answers into the files")
    mode.add_argument("--differences", action="store_true", help="list the intended differences")
    parser.add_argument("files", nargs="*", type=Path, help="the files (default: all of tests/slt)")
    args = parser.parse_args()

    db = None if args.differences else connect()
    count, differences, problems = 0, 0, 0
    for path in [p.resolve() for p in args.files] or sorted(SLT.rglob("*.slt")):
        found, lines = records(path)
        news = []
        for record in found:
            count += 1
            differences += "difference" in record.marks
            if args.differences:
                if "difference" in record.marks:
                    print(f"{record.place()}: {record.marks['difference']}\n    {record.sql}")
                continue
            problem, new = judge(db, record, args.write)
            if problem:
                problems += 1
                print(f"{record.place()}: {problem}\n    {record.sql}")
            elif new:
                news.append((record, new))
        if args.write and news:
            rewrite(path, lines, news)
    print(f"{count} statements, {differences} intended differences, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
