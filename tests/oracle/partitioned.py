"""Reads a hive tree with DuckDB and compares its rows with those of a query.

usage: partitioned.py GLOB FORMAT SQL
Prints how many rows there are, how many of the query's are missing and how many others there are. The columns of SQL are
looked for by their names.
"""

import sys

import duckdb

glob, encoding, sql = sys.argv[1:]
reader = {"csv": "read_csv", "jsonl": "read_json", "parquet": "read_parquet"}[encoding]
options = ", allow_quoted_nulls=false" if encoding == "csv" else ""
table = f"{reader}('{glob}', hive_partitioning=true{options})"
columns = ", ".join(f'"{row[0]}"' for row in duckdb.sql(f"DESCRIBE {sql}").fetchall())
(rows,), (missing,), (others,) = (
    duckdb.sql(f"SELECT count(*) FROM ({rows})").fetchall()[0]
    for rows in (
        f"SELECT {columns} FROM {table}",
        f"({sql}) EXCEPT ALL SELECT {columns} FROM {table}",
        f"SELECT {columns} FROM {table} EXCEPT ALL ({sql})",
    )
)
print(rows, missing, others)
