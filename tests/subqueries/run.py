"""Runs a grid of subqueries on palais and on DuckDB, and compares.

    python tests/subqueries/run.py
    python tests/subqueries/run.py --only 'on_left_*/scalar' --only '*/*/union' --show
    python tests/subqueries/run.py --expect-all

A statement is a cell of the grid, `place/kind/inside/nesting`, and is made of that name alone; the same ones each time.
The usual grid has some 7,000 of them: every place with everything that stands inside, every place with every kind and
nesting, every kind with everything inside. `--whole` is the product of all, 40 times as many. The same statement runs
with one worker on Parquet files, or with more (`--workers`), and on DuckDB. Where DuckDB has no such statement, fails or
gives something else, it is asked the same in other ways: joins and tuples that it has not are written otherwise, then it
runs without its optimiser, and at last without correlation, with the values of each outer row written into the subquery.
Rows are compared without their order unless the statement has an ORDER BY.

Modules in the order in which a cell passes through them:
- `data`: the tables;
- `insides`, `kinds`, `places`: the parts of a statement; `rowwise`: the same without correlation;
- `grid`: the cells;
- `systems`, `compare` and `judge` of `tests/random`: the answers, and what is said of them.

What is told: how many agree, differ, are refused by palais (by the message), by DuckDB alone, or by both; and what differs.
With `--expect-all` the exit code is 1 if anything differs or palais refuses what DuckDB answers, else 0.
"""

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/random"))

import data
import grid
from judge import family, verdict
from kinds import DUCKDB, ROWWISE
from systems import DuckDB, Failed, Runner

#: So many statements are one process's at a time.
TOGETHER = 100


class Outcome:
    """What came of a cell. `kind` is `agree`, `differ`, `refused` (by palais), `unasked` (by DuckDB) or `both`."""

    def __init__(self, cell, kind, how, text, sql):
        self.cell, self.kind, self.how, self.text, self.sql = cell, kind, how, text, sql


def outcomes(cells, args, places):
    """Asks both systems."""
    duckdb, runner = DuckDB(), Runner(args.runner)
    duckdb.make([data.Table(name) for name in data.TABLES])
    runner.open("base", places)
    settings = {"workers": args.workers, "broadcast": 0} if args.workers > 1 else {}
    try:
        return [outcome(cell, duckdb, runner, settings) for cell in cells]
    finally:
        runner.stop()


def outcome(cell, duckdb, runner, settings):
    sql = cell.statement()
    ours = answered_by(partial(runner.run, sql, **settings))
    kind, how, text = "", "", ""
    for asked, ask in ways(cell, duckdb):
        theirs = answered_by(ask)
        said = verdict(ours, theirs, cell.is_ordered())
        if said.kind == "unasked":
            now = "both" if isinstance(ours, Failed) else "unasked", family(theirs.message), ""
        else:
            # Nothing here overflows or has to be explained otherwise.
            now = "differ" if said.kind == "explained" else said.kind, said.how, said.text
        # An answer is better than none, and of two answers of DuckDB's that differ one is wrong.
        if not kind or now[0] == "agree" or (kind in ("unasked", "both") and said.kind != "unasked"):
            kind, how, text = now
            how = f"{how} {asked}".strip() if kind == "agree" else how
        if kind in ("agree", "refused"):
            break
    return Outcome(cell, kind, how, text, sql)


def ways(cell, duckdb):
    """How DuckDB is asked, until it answers and agrees: as it is; without its optimiser, which loses rows now and then, and
    can't bind what it made itself; without correlation."""
    direct = cell.statement(DUCKDB)
    yield "", partial(duckdb.run, direct)
    yield "without DuckDB's optimiser", partial(duckdb.plainly, direct)
    yield "with DuckDB row by row", partial(duckdb.run, cell.statement(ROWWISE))


def answered_by(ask):
    """The result, or why there is none."""
    try:
        return ask()
    except Failed as failed:
        return failed


def chosen(args):
    """The cells to run: of the usual grid, or of the whole one if that has none of them."""
    fit = lambda cells: [cell for cell in cells if not args.only or any(cell.fits(pattern) for pattern in args.only)]
    cells = [] if args.whole else fit(grid.usual())
    return (cells or fit(grid.whole()))[:: args.every]


def run(cells, args):
    """The outcome of each cell, in their order."""
    with tempfile.TemporaryDirectory(prefix="subqueries-") as directory:
        duckdb = DuckDB()
        duckdb.make([data.Table(name) for name in data.TABLES])
        places = data.write(duckdb.db, Path(directory))
        parts = [cells[i : i + TOGETHER] for i in range(0, len(cells), TOGETHER)]
        with ProcessPoolExecutor(args.jobs) as pool:
            for part in pool.map(partial(outcomes, args=args, places=places), parts):
                yield from part


def tell(found, args):
    """Prints what is worth it of an outcome."""
    if args.show or found.kind == "differ":
        print(f"== {found.cell}: {found.kind} {found.how}\n{found.sql}\n{found.text}\n", flush=True)


def report(count, examples, parts):
    """The numbers: of all, by message, and of what differs or is refused by the parts of the grid."""
    for (kind, how), number in count.most_common():
        if how:
            print(f"{number:6} {kind}: {how}\n       {examples[kind, how]}")
    for (part, name, kind), number in sorted(parts.items(), key=lambda item: (item[0][0], -item[1])):
        print(f"{number:6} {kind} of {part} {name}")
    total = Counter()
    for (kind, _), number in count.items():
        total[kind] += number
    print(f"{sum(total.values())} statements: {total['agree']} agree, {total['differ']} differ, {total['refused']} are refused by "
          f"palais, {total['unasked']} by DuckDB, {total['both']} by both", flush=True)
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", metavar="PLACE/KIND/INSIDE/NESTING", action="append", help="cells that a pattern names; again for more")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth of these")
    parser.add_argument("--whole", action="store_true", help="the product of all parts, instead of the usual grid")
    parser.add_argument("--expect-all", action="store_true", help="fail if anything differs, or only palais refuses it")
    parser.add_argument("--list", action="store_true", help="print the statements, and run none")
    parser.add_argument("--show", action="store_true", help="tell of every statement, not of what differs alone")
    parser.add_argument("--parts", action="store_true", help="count what differs and is refused by place, kind, inside and nesting")
    parser.add_argument("--workers", type=int, default=1, help="workers of palais; if several, joins spread both sides over them")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--runner", type=Path, default=ROOT / "target/release/examples/random_runner",
                        help="built by `cargo build --locked --release --example random_runner`")
    args = parser.parse_args()
    cells = chosen(args)
    if not cells:
        parser.error("no cell fits")
    if args.list:
        for cell in cells:
            print(f"-- {cell}", cell.statement(), sep="\n", end=";\n")
        return 0
    count, examples, parts = Counter(), {}, Counter()
    for found in run(cells, args):
        count[found.kind, found.how] += 1
        examples.setdefault((found.kind, found.how), found.cell)
        if args.parts and found.kind in ("differ", "refused"):
            parts.update((part, name, found.kind) for part, name in found.cell._asdict().items())
        tell(found, args)
    total = report(count, examples, parts)
    return 1 if args.expect_all and total["differ"] + total["refused"] else 0


if __name__ == "__main__":
    sys.exit(main())
