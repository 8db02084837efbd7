"""UNNEST over lists in Parquet and paths of JSON over lines, by palais and by DuckDB: `.venv/bin/python bench/nested.py`.

The Parquet file has 20 million elements in lists of ten, of numbers and of structs. The lines are one gigabyte of events with
objects in them. Each query reduces its rows to numbers, which both must agree on. Prints a line a query: the seconds of both
and their quotient, medians of several pairs of runs in turn; and the seconds of processors, which say more on a busy
machine. `--output FILE` writes them as csv.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import duckdb

from pairs import COLUMNS, HEAD, figures, line, pairs

HOME = Path(__file__).resolve().parent.parent

QUERIES = {
    "unnest": "SELECT count(*), sum(x) FROM (SELECT UNNEST(l) AS x FROM '{lists}')",
    "unnest beside a key": "SELECT sum(x * (k % 7)) FROM (SELECT k, UNNEST(l) AS x FROM '{lists}')",
    "unnest, grouped": "SELECT count(*), sum(n * n) FROM (SELECT x % 1000, count(*) AS n FROM (SELECT UNNEST(l) AS x FROM '{lists}') GROUP BY 1)",
    "unnest of structs": "SELECT sum(e.a * e.b) FROM (SELECT UNNEST(s) AS e FROM '{lists}')",
    "path, number": "SELECT count(*), sum((payload ->> '$.size')::BIGINT) FROM read_json('{lines}')",
    "path, two deep": "SELECT count(*), sum(n * n) FROM (SELECT payload ->> '$.user.name', count(*) AS n FROM read_json('{lines}') GROUP BY 1)",
    "fields": "SELECT sum(payload.size), count(DISTINCT payload.user.name) FROM read_json('{lines}')",
    "JSON column": "SELECT sum((payload ->> '$.size')::BIGINT), count(DISTINCT payload ->> '$.user.name') FROM read_json('{lines}', columns = {{'id': 'BIGINT', 'payload': 'JSON'}})",
    "path in a list": "SELECT sum((tags -> 0 ->> 'weight')::BIGINT) FROM read_json('{lines}', columns = {{'tags': 'JSON'}})",
}


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--elements", type=int, default=20_000_000)
    parser.add_argument("--megabytes", type=int, default=1000, help="of JSON lines")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--binary", type=Path, default=HOME / "target" / "release" / "palais")
    parser.add_argument("--queries", default=";".join(QUERIES))
    parser.add_argument("--output", type=Path, help="a csv file")
    return parser.parse_args()


def make(args, db, lists, lines):
    db.execute(
        f"COPY (SELECT i AS k, [CAST(hash(i * 10 + j) % 100000 AS BIGINT) FOR j IN range(10)] AS l, "
        f"[{{'a': CAST(hash(i * 10 + j) % 1000 AS BIGINT), 'b': j}} FOR j IN range(10)] AS s "
        f"FROM range({args.elements // 10}) t(i)) TO '{lists}' (FORMAT parquet)"
    )
    event = (
        "i AS id, TIMESTAMP '2026-01-01' + to_seconds(i) AS at, 'click' AS kind, "
        "{'size': hash(i) % 100000, 'user': {'name': 'user ' || hash(i) % 5000, 'country': 'de'}, "
        "'agent': 'Mozilla/5.0 (X11; Linux x86_64)'} AS payload, "
        "[{'name': 'a', 'weight': hash(i + 1) % 100}, {'name': 'b', 'weight': 2}] AS tags, "
        "'https://example.com/path/' || hash(i + 2) AS url"
    )
    some = Path(f"{lines}.some")
    db.execute(f"COPY (SELECT {event} FROM range(10000) t(i)) TO '{some}' (FORMAT json)")
    count = args.megabytes * 1_000_000 * 10_000 // some.stat().st_size
    some.unlink()
    db.execute(f"COPY (SELECT {event} FROM range({count}) t(i)) TO '{lines}' (FORMAT json)")
    return count


def main():
    args = arguments()
    with tempfile.TemporaryDirectory() as directory:
        lists, lines = Path(directory) / "lists.parquet", Path(directory) / "lines.jsonl"
        db = duckdb.connect(config={"threads": args.workers})
        count = make(args, db, lists, lines)
        print(f"{args.elements:,} elements, {count:,} lines of {lines.stat().st_size:,} bytes, {args.workers} workers")
        print(f"{'query':<22}{HEAD}")
        rows = []
        for name in args.queries.split(";"):
            of = figures(pairs(args, db, QUERIES[name].format(lists=lists, lines=lines), args.runs))
            print(line(f"{name:<22}", of), flush=True)
            rows.append([name, *(f"{figure:.3f}" for figure in of)])
        if args.output:
            with args.output.open("w", newline="") as file:
                csv.writer(file).writerows([["query", *COLUMNS], *rows])


if __name__ == "__main__":
    main()
