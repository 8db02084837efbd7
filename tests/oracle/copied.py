"""Reads a dataset or a file with DuckDB and prints a line for each check: rows, order, and a sum over all values.

usage: copied.py GLOB FORMAT
The rows must be those of `SELECT range AS a, md5(CAST(range AS VARCHAR)) AS b FROM range(N)`, in any order.
"""

import sys

import duckdb

glob, encoding = sys.argv[1:]
reader = {"csv": "read_csv", "jsonl": "read_json", "parquet": "read_parquet"}[encoding]
table = f"{reader}('{glob}')"
rows, distinct, wrong = duckdb.sql(
    f"SELECT count(*), count(DISTINCT a), count(*) FILTER (b IS DISTINCT FROM md5(CAST(a AS VARCHAR))) FROM {table}"
).fetchall()[0]
print(rows, distinct, wrong)
