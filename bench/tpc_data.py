"""Data and queries of TPC-H and TPC-DS, of DuckDB's extensions: run by bench/tpc.py in their own environment.

`tpc_data.py tpch data DIRECTORY SCALE` writes a Parquet file for each table, and `tpc_data.py tpch queries` prints the queries
as JSON, text by number; `tpcds` for the other.
"""

import importlib.util
import json
import sys
from pathlib import Path

import duckdb


#: What makes the data.
MAKES = {"tpch": "dbgen", "tpcds": "dsdgen"}


def connect(name):
    """A connection with the extension, which is loaded from its package: nothing is fetched."""
    package = Path(importlib.util.find_spec(f"duckdb_extension_{name}").origin).parent
    connection = duckdb.connect()
    connection.execute(f"LOAD '{package}/extensions/v{duckdb.__version__}/{name}.duckdb_extension'")
    return connection


def make_data(name, directory, scale):
    """Writes the tables. The directory is there only when all of them are."""
    temporary = directory.with_name(f"{directory.name}.partial")
    temporary.mkdir(parents=True, exist_ok=True)
    with connect(name) as connection:
        connection.execute(f"CALL {MAKES[name]}(sf = {scale})")
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            connection.execute(f"COPY {table} TO '{temporary / table}.parquet' (FORMAT parquet)")
    temporary.rename(directory)


def main():
    match sys.argv[1:]:
        case [name, "data", directory, scale]:
            make_data(name, Path(directory), float(scale))
        case [name, "queries"]:
            rows = connect(name).execute(f"SELECT query_nr, query FROM {name}_queries()").fetchall()
            json.dump(dict(rows), sys.stdout)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
