"""Window functions over a table of random rows in Parquet, by palais and by DuckDB: `.venv/bin/python bench/windows.py`.

The table has keys of 10, of 100,000 and of as many values as rows, an order without ties, and values. Each query reduces its
windows to sums, which both must agree on. Prints a line for each window and number of partitions: the seconds of both and
their quotient, medians of several pairs of runs in turn; and the seconds of processors, which say more on a busy machine.
`--output FILE` writes them as csv.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import duckdb

from pairs import COLUMNS, HEAD, figures, line, pairs

HOME = Path(__file__).resolve().parent.parent

WINDOWS = {
    "row_number": "sum(row_number() OVER ({by} ORDER BY o))",
    "rank": "sum(rank() OVER ({by} ORDER BY v))",
    "running sum": "max(sum(v) OVER ({by} ORDER BY o))",
    "moving average": "sum(avg(x) OVER ({by} ORDER BY o ROWS 9 PRECEDING))",
    "moving maximum": "sum(max(v) OVER ({by} ORDER BY o ROWS 99 PRECEDING))",
    "lag": "sum(lag(v) OVER ({by} ORDER BY o))",
    "whole sum": "max(sum(v) OVER ({by}))",
}


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--binary", type=Path, default=HOME / "target" / "release" / "palais")
    parser.add_argument("--windows", default=",".join(WINDOWS))
    parser.add_argument("--partitions", default="one,few,many,most", help="the columns of keys; one is none")
    parser.add_argument("--output", type=Path, help="a csv file")
    return parser.parse_args()


def statement(window, key, path):
    """The windows as columns of a subquery, and their sum."""
    outer, inner = WINDOWS[window].format(by="" if key == "one" else f"PARTITION BY {key}").split("(", 1)
    return f"SELECT {outer}(w) FROM (SELECT {inner[:-1]} AS w FROM '{path}')"


def main():
    args = arguments()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "rows.parquet"
        db = duckdb.connect(config={"threads": args.workers})
        db.execute(
            f"COPY (SELECT hash(i) % 10 AS few, hash(i + 1) % 100000 AS many, hash(i + 2) % {args.rows} AS most, "
            f"CAST(hash(i) // 4 AS BIGINT) AS o, CAST(hash(i + 3) % 1000 AS BIGINT) AS v, (hash(i + 4) % 4096) / 4 AS x "
            f"FROM range({args.rows}) t(i)) TO '{path}' (FORMAT parquet)"
        )
        print(f"{args.rows:,} rows, {args.workers} workers\n{'window':<16}{'by':<6}{HEAD}")
        lines = []
        for window in args.windows.split(","):
            for key in args.partitions.split(","):
                sql = statement(window, key, path)
                of = figures(pairs(args, db, sql, args.runs))
                print(line(f"{window:<16}{key:<6}", of), flush=True)
                lines.append([window, key, *(f"{figure:.3f}" for figure in of)])
        if args.output:
            with args.output.open("w", newline="") as file:
                csv.writer(file).writerows([["window", "partitions", *COLUMNS], *lines])


if __name__ == "__main__":
    main()
