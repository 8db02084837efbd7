"""43 queries over the table `hits` by palais and by DuckDB: `make clickbench CLICKBENCH=1000000`, or
`.venv/bin/python bench/clickbench.py --help`.

The table has the 105 columns of ClickBench, and `clickbench/generate.py` makes its rows. The queries are those of
`clickbench/queries.sql`; `--queries` runs the published ones from a copy of their text. Every encoding and number of workers
is checked against DuckDB over the Parquet file.

**What counts as equal.** DuckDB gives its rows without LIMIT and OFFSET, with the keys of ORDER BY as further columns. Rows
with equal keys are a tie, and a tie has its places in the answer. palais has to have as many rows, and the rows at the places
of a tie have to be rows of that tie, none more often than it is there. So an order is checked as far as it is stated; without
ORDER BY all rows are one tie. Floats are equal within 1e-9.

With `--times` palais and DuckDB run each query over the same file in random order, round by round. Printed are the medians
of the seconds and of the processor's seconds, and the median over the rounds of palais by DuckDB. palais starts a process a
run; DuckDB stays. The last line has the geometric means.
"""

import argparse
import csv
import functools
import itertools
import math
import random
import re
import statistics
import sys
import time
import zlib
from collections import defaultdict
from pathlib import Path

import duckdb

import tpch

sys.path += [str(tpch.HOME / "tests" / "random"), str(tpch.HOME / "bench" / "clickbench")]

import compare  # noqa: E402
import generate  # noqa: E402
import systems  # noqa: E402

HOME = Path(generate.__file__).parent
ENCODINGS = ("parquet", "csv", "jsonl")
#: How DuckDB reads each encoding, with the types of the table.
READERS = {
    "parquet": "read_parquet('{path}')",
    "csv": "read_csv('{path}', allow_quoted_nulls = false, columns = {columns})",
    "jsonl": "read_json('{path}', columns = {columns})",
}
#: The parts of a statement without subqueries.
PARTS = re.compile(r"(.*?)(?:\sORDER BY\s(.*?))?(?:\sLIMIT (\d+))?(?:\sOFFSET (\d+))?", re.I)
#: What a statement says about how many rows there are.
SIZES = re.compile(r"(HAVING COUNT\(\*\) > |OFFSET )(\d+)", re.I)


def statements(path, divide):
    """The statements of a file: comments begin a line, and a semicolon ends one."""
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("--"))
    found = [" ".join(part.split()) for part in re.split(r";\s*(?:\n|$)", text) if part.strip()]
    return [SIZES.sub(lambda size: f"{size[1]}{int(size[2]) // divide}", statement) for statement in found]


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("size", type=int, help="rows")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=tpch.HOME / "bench" / "data", help="where the table is made and kept")
    parser.add_argument("--program", type=Path, default=tpch.HOME / "target" / "release" / "palais")
    parser.add_argument("--queries", type=Path, default=HOME / "queries.sql")
    parser.add_argument("--divide", type=int, default=1, help="the numbers of HAVING COUNT(*) > and OFFSET, for small tables")
    parser.add_argument("--only", default="", help="numbers of queries, with commas")
    parser.add_argument("--encodings", default=",".join(ENCODINGS))
    parser.add_argument("--workers", default="1,3")
    parser.add_argument("--patience", type=int, default=120, help="seconds after which a query counts as hanging")
    parser.add_argument("--times", action="store_true", help="measure, after the check")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--results", type=Path, help="a csv file for what --times measures")
    args = parser.parse_args()
    args.encodings, args.workers = args.encodings.split(","), [int(n) for n in args.workers.split(",")]
    args.only = [int(n) for n in args.only.split(",") if n]
    return args


def make_data(args):
    """The directory of the table. Another generator or other laws make another directory."""
    laws = b"".join((HOME / name).read_bytes() for name in ("generate.py", "columns.csv"))
    directory = args.data / f"clickbench-{args.size}-{args.seed}-{zlib.crc32(laws):08x}"
    missing = [e for e in {"parquet", *args.encodings} if not paths(directory)[e].exists()]
    if missing:
        generate.generate(args.size, directory, args.seed, missing)
    return directory


def paths(directory):
    return {encoding: directory / encoding / f"hits.{encoding}" for encoding in ENCODINGS}


def schema(directory, encoding):
    """The file with the types of the table, for palais; None for Parquet, which states them.

    Without it, texts of csv that hold nothing but numbers would be read as numbers.
    """
    if encoding == "parquet":
        return None
    path = directory / "hits.sql"
    path.write_text(f"CREATE TABLE hits ({', '.join(f'{name} {kind} NOT NULL' for name, kind, _ in generate.columns())})\n")
    return path


# The check


def keyed(statement):
    """A statement without LIMIT and OFFSET and with its keys behind its columns; the number of keys, the offset, the limit."""
    body, order, limit, offset = PARTS.fullmatch(statement).groups()
    keys = split(order) if order else []
    texts = [re.sub(r"\s(ASC|DESC)$", "", key, flags=re.I) for key in keys]
    if any(text.isdigit() for text in texts):
        raise SystemExit(f"a key is the number of a column: {statement}")
    head, tail = body.split(" FROM hits", 1)
    for number, text in enumerate(texts):
        head += f", {text} AS key_{number}"
    sql = f"{head} FROM hits{tail}" + (f" ORDER BY {', '.join(keys)}" if keys else "")
    return sql, len(keys), int(offset or 0), int(limit) if limit else math.inf


def split(keys):
    """The keys of an ORDER BY: commas inside of parentheses separate arguments."""
    return [key.strip() for key in re.split(r",(?![^()]*\))", keys)]


class Expected:
    """DuckDB's rows, tie by tie."""

    def __init__(self, db, statement):
        sql, self.keys, self.offset, self.limit = keyed(statement)
        self.result = db.execute(sql)
        kinds = [str(column[1]) for column in self.result.description]
        self.all_classes = [compare.duckdb_class(kind) for kind in kinds]
        self.width = len(kinds) - self.keys
        self.classes = self.all_classes[: self.width]
        #: The columns whose values are the same to the last digit.
        self.exact = [i for i, kind in enumerate(kinds[: self.width]) if kind not in ("DOUBLE", "FLOAT")]

    def key(self, row):
        """A key by which equal rows come together."""
        return tuple(row[i] for i in self.exact)

    def ties(self, wanted):
        """The place behind each tie, and its rows whose key is wanted."""
        last, place, kept = None, 0, []
        while rows := self.result.fetchmany(4096):
            for row in rows:
                values = [compare.duckdb_value(v, c) for v, c in zip(row, self.all_classes)]
                row, keys = values[: self.width], values[self.width :]
                if place and not compare.same_row(last, keys):
                    yield place, kept
                    kept = []
                last, place = keys, place + 1
                if self.key(row) in wanted:
                    kept.append(row)
        yield place, kept

    def difference(self, ours):
        """How rows of palais differ from these, as text, or None."""
        if ours and len(ours[0]) != self.width:
            return f"{len(ours[0])} columns in place of {self.width}"
        end, begin = self.offset + self.limit, 0
        for place, rows in self.ties({self.key(row) for row in ours}):
            mine = ours[max(0, begin - self.offset) : max(0, min(place, end) - self.offset)]
            places = max(0, min(place, end) - max(begin, self.offset))
            if len(mine) != places:
                return f"{len(ours)} rows, which end inside of a tie of {place - begin} rows from {begin}"
            if other := self.unmatched(mine, rows):
                return f"a row that is not in its tie of {place - begin} rows from {begin}: {other}"
            begin = place
            if begin >= end:
                break
        expected = max(0, min(begin, end) - self.offset)
        return None if len(ours) == expected else f"{len(ours)} rows in place of {expected}"

    def unmatched(self, mine, rows):
        """The first row that is not in others, of which each stands for one."""
        by_key = defaultdict(list)
        for row in rows:
            by_key[self.key(row)].append(row)
        for row in mine:
            others = by_key[self.key(row)]
            found = next((i for i, other in enumerate(others) if compare.same_row(row, other)), None)
            if found is None:
                return row
            others.pop(found)
        return None


def check(args, db, queries, directory):
    """Prints what differs; how many answers did."""
    program, wrong = systems.Program(args.program), 0
    for encoding in args.encodings:
        tables = {"hits": (paths(directory)[encoding], schema(directory, encoding))}
        for workers in args.workers:
            equal, empty = 0, 0
            for number, statement in queries.items():
                expected = Expected(db, statement)
                like = compare.Result(expected.classes, [])
                command = ("query", "--workers", str(workers))
                try:
                    answer = program.run(statement, tables, like, *command)
                    problem, empty = expected.difference(answer.rows), empty + (not answer.rows)
                except systems.Failed as failure:
                    problem = f"it failed: {failure.message}"
                if problem:
                    print(f"query {number}, {encoding}, {workers} workers: {problem}\n  {statement}", flush=True)
                equal += not problem
            wrong += len(queries) - equal
            without = f", {empty} without rows" if empty else ""
            print(f"{encoding}, {workers} workers: {equal} of {len(queries)} equal DuckDB{without}", flush=True)
    return wrong


# The times


def of_duckdb(db, statement):
    """The seconds that passed and those of the processor."""
    begun, used = time.perf_counter(), time.process_time()
    db.execute(statement).fetchall()
    return time.perf_counter() - begun, time.process_time() - used


def rounds(args, sides):
    """What each side takes in each round: {name: [(seconds, seconds of the processor)]}."""
    taken = {name: [] for name in sides}
    for _ in range(args.rounds):
        for name in random.sample(list(sides), len(sides)):
            taken[name].append(sides[name]())
    return taken


def measure(args, queries, directory):
    """Prints a line a query, encoding and number of workers."""
    form = "{:>6}{:>10}{:>9}" + "{:>12}" * 6
    titles = ["query", "encoding", "workers", "palais", "duckdb", "ratio", "palais_cpu", "duckdb_cpu", "cpu_ratio"]
    print(form.format(*titles), flush=True)
    lines = [titles]
    for encoding, workers in itertools.product(args.encodings, args.workers):
        path, types = paths(directory)[encoding], schema(directory, encoding)
        more = ("--schema", f"hits={types}") if types else ()
        ratios = [], []
        with duckdb.connect(config={"threads": workers}) as db:
            columns = {name: kind for name, kind, _ in generate.columns()}
            db.execute(f"CREATE VIEW hits AS FROM {READERS[encoding].format(path=path, columns=columns)}")
            for number, statement in queries.items():
                palais = functools.partial(tpch.run, args.program, path.parent, statement, workers, *more)
                taken = rounds(args, {"palais": lambda: palais()[1:], "duckdb": lambda: of_duckdb(db, statement)})
                line = [number, encoding, workers]
                for i, found in enumerate(ratios):
                    ours, theirs = ([run[i] for run in runs] for runs in taken.values())
                    found.append(statistics.median(a / b for a, b in zip(ours, theirs)))
                    line += [f"{statistics.median(ours):.3f}", f"{statistics.median(theirs):.3f}", f"{found[-1]:.2f}"]
                print(form.format(*line), flush=True)
                lines.append(line)
        time_mean, cpu_mean = (math.exp(statistics.fmean(map(math.log, found))) for found in ratios)
        print(f"{encoding}, {workers} workers: {time_mean:.3f} of the time, {cpu_mean:.3f} of the processor's", flush=True)
    if args.results:
        with open(args.results, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)


def main():
    args = arguments()
    systems.PATIENCE = args.patience
    directory = make_data(args)
    queries = {n: s for n, s in enumerate(statements(args.queries, args.divide), 1) if not args.only or n in args.only}
    with duckdb.connect(config={"threads": max(args.workers)}) as db:
        db.execute(f"CREATE VIEW hits AS FROM {READERS['parquet'].format(path=paths(directory)['parquet'])}")
        wrong = check(args, db, queries, directory)
    if wrong:
        sys.exit(f"{wrong} answers are not DuckDB's")
    if args.times:
        measure(args, queries, directory)


if __name__ == "__main__":
    main()
