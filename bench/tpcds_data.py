"""Data and queries of TPC-DS, of DuckDB's extension: run by bench/tpcds.py in the extension's own environment.

`tpcds_data.py data DIRECTORY SCALE` writes a Parquet file for each table, and `tpcds_data.py queries` prints the
queries as JSON, text by number.
"""

import importlib.util
import json
import sys
from pathlib import Path

import duckdb


def connect():
    """A connection with the extension, which is loaded from its package: nothing is fetched."""
    package = Path(importlib.util.find_spec("duckdb_extension_tpcds").origin).parent
    connection = duckdb.connect()
    connection.execute(f"LOAD '{package}/extensions/v{duckdb.__version__}/tpcds.duckdb_extension'")
    return connection


def make_data(directory, scale):
    """Writes the tables. The directory is there only when all of them are."""
    temporary = directory.with_name(f"{directory.name}.partial")
    temporary.mkdir(parents=True, exist_ok=True)
    with connect() as connection:
        connection.execute(f"CALL dsdgen(sf = {scale})")
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            connection.execute(f"COPY {table} TO '{temporary / table}.parquet' (FORMAT parquet)")
    temporary.rename(directory)


def main():
    match sys.argv[1:]:
        case ["data", directory, scale]:
            make_data(Path(directory), float(scale))
        case ["queries"]:
            rows = connect().execute("SELECT query_nr, query FROM tpcds_queries()").fetchall()
            json.dump(dict(rows), sys.stdout)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
