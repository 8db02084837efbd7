"""Recursive queries by palais and by DuckDB: `.venv/bin/python bench/recursive.py`.

A chain of rounds of one row, the same with a join in each round, reachability over random edges in Parquet from one node, and
all pairs of a smaller graph. Each query reduces its rows to sums, which both must agree on. Prints a line a query: the
seconds of both and their quotient, medians of several pairs of runs in turn; and the seconds of processors, which say more on
a busy machine.
"""

import argparse
import tempfile
from pathlib import Path

import duckdb

from pairs import HEAD, figures, line, pairs

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
        print(f"{'query':<18}{HEAD}")
        for query in args.queries.split(";"):
            sql = QUERIES[query].format(rounds=args.rounds, **paths)
            print(line(f"{query:<18}", figures(pairs(args, db, sql, args.runs))), flush=True)


if __name__ == "__main__":
    main()
