"""Runs random statements on palais and on DuckDB, and compares.

    python tests/random/run.py --statements 3000 --seed 1

A statement is made of the seed and its number alone, and the tables of the seed and a hundredth of the number, so that
`--only 1/1234` runs the statement 1234 of seed 1 again. Each runs with one worker on Parquet files and is compared with
DuckDB, and then in one drawn variant, which must agree with that: more workers, little memory, files of another encoding,
the program itself, two processes, the filter split in three, the filter as a count (`variants.py`).

Statements have joins of every kind, subqueries at every place, LATERAL and ASOF joins, grouping sets, windows, set
operations, lists, structs, maps, JSON, PIVOT, UNPIVOT and recursion. `--more json` makes more of one of these.

Modules in the order in which a statement passes through them:
- `tables`: random tables, in DuckDB, as files and as VALUES;
- `templates`, `nested`: what expressions are made of; `nested` has those over lists, structs, maps and JSON;
- `scope`, `expressions`, `subqueries`: expressions, a tree of text (`tree`);
- `relations`, `windows`, `recursion`, `queries`, `statement`: FROM, functions over windows, WITH RECURSIVE, and the rest;
- `systems`: what it runs on; `runner.rs` is palais in a process that stays;
- `compare`: answers in one form, and whether they are equal;
- `judge`: what is said of it; `variants`: the other ways to run it;
- `shrink`: makes what differs smaller, with the tables written into it.

The exit code is 1 if anything differs, but for `--tell`: what a new seed finds is seldom of the change that is tested,
and is told. What is refused is counted by the message; `--against` counts it for another runner on the same statements
too.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from judge import Judge, answer
from nested import KINDS_OF
from statement import random_statement
from systems import DuckDB, Failed, Program, Runner
from tables import random_encoding, random_tables, write
from variants import Variants

ROOT = Path(__file__).resolve().parents[2]

#: What statements can have more of than usual.
FAMILIES = [*KINDS_OF, "windows", "lateral", "asof", "pivots", "recursion"]

#: So many statements have the same tables.
TOGETHER = 100


class Batch:
    """The statements over one set of tables."""

    def __init__(self, args, seed, number):
        self.args, self.seed, self.number = args, seed, number
        rng = random.Random(f"{seed} tables {number}")
        self.tables = random_tables(rng, KINDS_OF.get(args.more, "").removeprefix("J"))
        self.encoding = random_encoding(rng)
        self.duckdb, self.runner = DuckDB(), Runner(args.runner)
        self.against = Runner(args.against) if args.against else None
        self.variants = Variants(self.runner, Program(args.program))
        self.judge = Judge(self.duckdb, self.runner, self.variants)
        self.count, self.found = Counter(), []
        #: A statement of each family of what one of the systems refuses.
        self.examples = {}

    def run(self, first, last):
        """Runs the statements `first..last`; what is counted, and what differs."""
        with tempfile.TemporaryDirectory(prefix="random-") as directory:
            self.duckdb.make(self.tables)
            parquet, other = write(self.tables, self.duckdb.db, Path(directory), self.encoding, self.args.program)
            self.runner.open("base", parquet)
            self.runner.open("other", other)
            self.variants.tables = parquet
            if self.against:
                self.against.open("base", parquet)
            try:
                for number in range(first, last):
                    self.one(number)
            finally:
                self.runner.stop()
                if self.against:
                    self.against.stop()
        return self.count, self.found, self.examples

    def one(self, number):
        seed = f"{self.seed}/{number}"
        statement = random_statement(seed, self.tables, self.args.more)
        said = self.judge.judge(seed, statement)
        self.count[said.kind, said.how if said.kind in ("refused", "unasked", "explained") else ""] += 1
        sql = str(statement)
        if said.kind in ("refused", "unasked") and len(sql) < len(self.examples.get(said.how, (sql + " ", ""))[0]):
            self.examples[said.how] = sql, seed
        if self.against and said.kind != "unasked":
            before = answer(self.against, sql)
            was_refused = isinstance(before, Failed) and before.at == "plan"
            self.count["against", "refused" if was_refused else "answered"] += 1
            if said.kind == "refused" and not was_refused:
                self.found.append((seed, f"newly refused: {said.how}", said.text, sql, None))
        if said.kind == "differ":
            small = None
            if len(self.found) < self.args.shrink:
                small = self.judge.smaller(said, statement, self.tables)
            self.found.append((seed, said.how, f"tables as {self.encoding}: {said.text}", sql, small))


def run_batch(args, seed, number, first, last):
    return Batch(args, seed, number).run(first, last)


def tell(found):
    for seed, how, text, sql, small in found:
        print(f"== {seed}: {how}\n{sql}\n{text}\n" + (f"-- smaller\n{small}\n" if small else ""), flush=True)


def run_all(args, seed):
    """All statements of a seed."""
    start, count, found, examples = time.monotonic(), Counter(), 0, {}
    borders = [(n // TOGETHER, n, min(n + TOGETHER, args.statements)) for n in range(0, args.statements, TOGETHER)]
    with ProcessPoolExecutor(args.jobs) as pool:
        for done in as_completed([pool.submit(run_batch, args, seed, *border) for border in borders]):
            counted, differing, refused = done.result()
            count += counted
            for how, example in refused.items():
                examples[how] = min(example, examples.get(how, example), key=lambda e: len(e[0]))
            tell(differing)
            found += sum(not how.startswith("newly refused") for _, how, *_ in differing)
    report(args, seed, count, examples, time.monotonic() - start)
    return found


def report(args, seed, count, examples, seconds):
    total = Counter()
    for (kind, _), n in count.items():
        total[kind] += n
    asked = args.statements - total["unasked"]
    if args.families:
        for (kind, how), n in count.most_common():
            if how and kind != "against":
                print(f"{n:6} {kind}: {how}" + (f"\n       {' '.join(reversed(examples[how]))}" if how in examples else ""))
    print(f"seed {seed}: {args.statements} statements, {total['agree']} agree, {total['differ']} differ, "
          f"{total['refused']} refused ({100 * total['refused'] / max(asked, 1):.1f} %), {total['explained']} explained, "
          f"{total['unasked']} that DuckDB refuses; {seconds:.0f} s, {1000 * seconds / args.statements:.1f} ms each", flush=True)
    if args.against:
        before = count["against", "refused"]
        print(f"  the other runner refuses {before} of them ({100 * before / max(asked, 1):.1f} %)")


def run_one(args):
    seed, _, number = args.only.rpartition("/")
    number = int(number)
    batch = Batch(args, seed, number // TOGETHER)
    for table in batch.tables:
        print(*table.create(), sep=";\n", end=";\n")
    count, found, _ = batch.run(number, number + 1)
    print(random_statement(args.only, batch.tables, args.more))
    tell(found)
    print(*(f"{kind} {how}" for kind, how in count))
    return len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--statements", type=int, default=1000, help="how many of each seed")
    parser.add_argument("--seed", nargs="*", default=[], help="seeds; `new` for one that was never used")
    parser.add_argument("--only", metavar="SEED/NUMBER", help="one statement")
    parser.add_argument("--more", choices=FAMILIES, help="what the statements shall have more of than usual")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--shrink", type=int, default=2, help="how many that differ are made smaller, of each hundred")
    parser.add_argument("--families", action="store_true", help="tell what was refused, by message")
    parser.add_argument("--runner", type=Path, default=ROOT / "target/release/examples/random_runner")
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/palais")
    parser.add_argument("--against", type=Path, help="another runner, such as that of an older commit")
    parser.add_argument("--tell", action="store_true", help="what differs is told and is no failure")
    args = parser.parse_args()
    if args.only:
        return 1 if run_one(args) else 0
    seeds = [str(random.SystemRandom().randrange(10**9)) if seed == "new" else seed for seed in args.seed or ["new"]]
    return 1 if sum(run_all(args, seed) for seed in seeds) and not args.tell else 0


if __name__ == "__main__":
    sys.exit(main())
