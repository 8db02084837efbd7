"""Recursive queries by palais and by DuckDB: `.venv/bin/python bench/recursive.py`.

A chain of rounds of one row, the same with a join in each round, reachability over random edges in Parquet from one node, and
all pairs of a smaller graph. Each query reduces its rows to sums, which both must agree on. Prints a line a query: the
seconds of both and their quotient, of the fastest of several runs; and the seconds of processors, which say more on a busy
machine.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

HOME = Path(__file__).resolve().parent.parent

QUERIES = {
    "chain": "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t WHERE x < {rounds}) SELECT count(*), sum(x) FROM t",
    "chain, distinct": "WITH RECURSIVE t(x) AS (SELECT 1 UNION SELECT x + 1 FROM t WHERE x < {rounds}) SELECT count(*), sum(x) FROM t",
    "chain, join": "WITH RECURSIVE t(x) AS (SELECT 0 UNION ALL SELECT b FROM t JOIN '{chain}' c ON c.a = t.x) SELECT count(*), sum(x) FROM t",
    "reachability": "WITH RECURSIVE r(x) AS (SELECT 0 UNION SELECT b FROM r JOIN '{edges}' e ON e.a = r.x) SELECT count(*), sum(x) FROM r",
    "distances": "WITH RECURSIVE r(x, d) AS (SELECT 0, 0 UNION SELECT b, d + 1 FROM r JOIN '{edges}' e ON e.a = r.x WHERE d < 12) SELECT count(*), sum(d) FROM r",
    "all pairs": "WITH RECURSIVE r(x, y) AS (SELECT a, b FROM '{few}' UNION SELECT r.x, e.b FROM r JOIN '{few}' e ON e.a = r.y) SELECT count(*), sum(x) + sum(y) FROM r",
}


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--binary", type=Path, default=HOME / "target" / "release" / "palais")
    parser.add_argument("--queries", default=";".join(QUERIES))
    return parser.parse_args()


def by_palais(args, sql):
    """The answers, and seconds of the run and of processors."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [args.binary, "query", sql, "--workers", str(args.workers), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stderr}{sql}")
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    answers = [int(value) for value in json.loads(done.stdout)[0].values()]
    return answers, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_duckdb(db, sql):
    start, before = time.perf_counter(), time.process_time()
    (answers,) = db.execute(sql).fetchall()
    return [int(value) for value in answers], time.perf_counter() - start, time.process_time() - before


def main():
    args = arguments()
    with tempfile.TemporaryDirectory() as directory:
        paths = {name: Path(directory) / f"{name}.parquet" for name in ("edges", "few", "chain")}
        db = duckdb.connect(config={"threads": args.workers})
        edge = "CAST(hash(i) % {nodes} AS BIGINT) AS a, CAST(hash(i + {edges}) % {nodes} AS BIGINT) AS b"
        for name, edges, nodes in (("edges", args.edges, args.edges // 4), ("few", 3_000, 2_000)):
            columns = edge.format(nodes=nodes, edges=edges)
            db.execute(f"COPY (SELECT {columns} FROM range({edges}) t(i)) TO '{paths[name]}' (FORMAT parquet)")
        db.execute(
            f"COPY (SELECT i AS a, i + 1 AS b FROM range({args.rounds}) t(i)) TO '{paths['chain']}' (FORMAT parquet)"
        )
        print(f"{args.rounds:,} rounds, {args.edges:,} edges, {args.workers} workers")
        print(f"{'query':<18}{'palais':>9}{'DuckDB':>9}{'':>7}{'palais cpu':>12}{'DuckDB cpu':>12}{'':>7}")
        for query in args.queries.split(";"):
            sql = QUERIES[query].format(rounds=args.rounds, **paths)
            ours = [by_palais(args, sql) for _ in range(args.runs)]
            theirs = [by_duckdb(db, sql) for _ in range(args.runs)]
            if ours[0][0] != theirs[0][0]:
                sys.exit(f"palais gives {ours[0][0]}, DuckDB {theirs[0][0]}: {sql}")
            (s, t), (c, d) = ([min(run[i] for run in runs) for runs in (ours, theirs)] for i in (1, 2))
            print(f"{query:<18}{s:>9.2f}{t:>9.2f}{s / t:>7.2f}{c:>12.2f}{d:>12.2f}{c / d:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
