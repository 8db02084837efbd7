"""Holds the answers of docs/cookbook.md against DuckDB.

`python tests/oracle/cookbook.py` runs each statement of the page on DuckDB, in a copy of docs/cookbook, and fails
where an answer on the page has other names, other rows or another order. It also makes the files anew by
docs/cookbook/make.py, and fails where one differs from the file that is there. `--write PALAIS` first puts the
tables that this palais prints on the page; read the difference.

Numbers with a point are compared to 1e-9, all else by its text. `tests/cookbook.rs` holds palais against the page.
"""

import argparse
import math
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import date, datetime, timezone
from os import chdir
from pathlib import Path

import duckdb
import msgpack
import pyarrow
import pyarrow.parquet

ROOT = Path(__file__).resolve().parents[2]
PAGE, FILES = ROOT / "docs/cookbook.md", ROOT / "docs/cookbook"
LEAST = 60
TASK = re.compile(
    r"^### (.*)\n((?:(?!```|#).*\n)*)```sql\n((?:(?!```).*\n)*)```\n(?:```text\n((?:(?!```).*\n)*)```\n)?", re.M
)
# What DuckDB spells otherwise: a pattern, DuckDB's words, and why.
SPELLINGS = [
    (r"'access\.log'", "read_csv('access.log', columns = {'line': 'VARCHAR'}, delim = '\\x01', quote = '', "
     "header = false)", "DuckDB knows no files of lines by their suffix"),
    (r"'tickets\.msgpack'", "tickets", "DuckDB reads no MessagePack: this script does, into a table"),
    (r"\(OVERWRITE\)", "", "DuckDB replaces files without being told, and refuses the word"),
    (r"FROM 'out/orders'", "FROM 'out/orders/**/*.parquet'", "DuckDB reads no directories by their name"),
]


class Problem(Exception):
    pass


def tasks():
    """The question, the statements and the answer of each task of the page."""
    text = PAGE.read_text(encoding="utf-8")
    found = [(m[1], m[3], m[4]) for m in TASK.finditer(text)]
    if len(found) != text.count("\n### ") or len(found) != text.count("\n```sql"):
        raise Problem("a task is not a heading, some sentences, a block of sql and one of text")
    if len(found) < LEAST:
        raise Problem(f"{len(found)} tasks, and not {LEAST}")
    return found


def tables(text):
    """The names and rows of each table in an answer."""
    found = []
    for line in text.splitlines():
        if line.startswith("┌"):
            found.append([])
        elif line.startswith("│"):
            found[-1].append([cell.strip() for cell in line[1:-1].split("│")])
    # The second line has the types.
    return [(lines[0], lines[2:]) for lines in found]


def printed(value, inner=False):
    """A value as palais prints it in a table."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        if value.tzinfo:
            value = value.astimezone(timezone.utc).replace(tzinfo=None)
        return value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return f"[{', '.join(printed(item, True) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {printed(item, True)}' for key, item in value.items())}}}"
    return f"'{value}'" if inner and isinstance(value, str) else str(value)


def is_same(written, value):
    """Whether a cell of the page is a value of DuckDB."""
    text = printed(value)
    # A table has no spaces at the ends of its cells to tell from those of the values.
    if written == text.strip():
        return True
    if isinstance(value, float):
        try:
            return math.isclose(float(written), value, rel_tol=1e-9)
        except ValueError:
            return False
    return False


def connect():
    """DuckDB, which sees the tickets as a table."""
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    with open("tickets.msgpack", "rb") as file:
        rows = list(msgpack.Unpacker(file, timestamp=3))
    tickets = pyarrow.table({name: [row[name] for row in rows] for name in rows[0]})
    db.register("tickets", tickets)
    return db


def answers(sql):
    """The names and rows of each result that DuckDB gives."""
    for pattern, words, _ in SPELLINGS:
        sql = re.sub(pattern, lambda _: words, sql)
    db, found = connect(), []
    for statement in db.extract_statements(sql):
        db.execute(statement)
        if statement.type == duckdb.StatementType.SELECT or "PIVOT" in statement.query.split()[0]:
            found.append(([column[0] for column in db.description], db.fetchall()))
    return found


def compare(sql, answer):
    """Fails where the answer of the page is not DuckDB's."""
    if not answer:
        raise Problem("there is no answer")
    try:
        wanted = answers(sql)
    except duckdb.Error as error:
        raise Problem(f"DuckDB refuses it: {error}") from error
    got = tables(answer)
    if len(got) != len(wanted):
        raise Problem(f"{len(got)} tables, and DuckDB gives {len(wanted)}")
    for (names, rows), (duck_names, duck_rows) in zip(got, wanted):
        if names != duck_names:
            raise Problem(f"columns {names}, and DuckDB has {duck_names}")
        if not rows or len(rows) != len(duck_rows):
            raise Problem(f"{len(rows)} rows, and DuckDB gives {len(duck_rows)}: {duck_rows[:20]}")
        for row, duck_row in zip(rows, duck_rows):
            if len(row) != len(duck_row) or not all(map(is_same, row, duck_row)):
                raise Problem(f"{row}, and DuckDB gives {[printed(value) for value in duck_row]}")


def content(path):
    """What a file has: of Parquet its values, since other versions write other bytes."""
    return pyarrow.parquet.read_table(path).to_pylist() if path.suffix == ".parquet" else path.read_bytes()


def check_files():
    """Fails where the files are not those of make.py."""
    with tempfile.TemporaryDirectory() as made:
        subprocess.run([sys.executable, FILES / "make.py", made], check=True)
        for path in Path(made).iterdir():
            if not (FILES / path.name).exists() or content(path) != content(FILES / path.name):
                raise Problem(f"docs/cookbook/{path.name} is not what make.py makes")
        others = {path.name for path in FILES.iterdir()} - {path.name for path in Path(made).iterdir()}
        if others := others - {"make.py", "out", "__pycache__"}:
            raise Problem(f"make.py does not make {', '.join(sorted(others))}")


def write(palais):
    """Puts the answers of palais on the page."""

    def answered(match):
        done = subprocess.run([palais, "query", match[3], "--format", "table"], capture_output=True, encoding="utf-8")
        if done.returncode:
            print(f"{match[1]}\n    {done.stderr}", file=sys.stderr)
        return f"### {match[1]}\n{match[2]}```sql\n{match[3]}```\n```text\n{done.stdout}```\n"

    page = TASK.sub(answered, PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", metavar="PALAIS", type=Path, help="first put the answers of this palais on the page")
    args = parser.parse_args()
    palais = args.write and args.write.resolve()

    problems = 0
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "cookbook"
        shutil.copytree(FILES, copy, ignore=shutil.ignore_patterns("out"))
        chdir(copy)
        if palais:
            write(palais)
            shutil.rmtree("out", ignore_errors=True)
        Path("out").mkdir()
        try:
            check_files()
            found = tasks()
        except Problem as problem:
            found, problems = [], 1
            print(problem)
        for question, sql, answer in found:
            try:
                compare(sql, answer)
            except Problem as problem:
                problems += 1
                print(f"{question}\n    {problem}\n")
        chdir(ROOT)
    print(f"{len(found)} tasks of the cookbook, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
