"""What DuckDB answers: `python tests/oracle/ask.py STATEMENT` prints the rows as csv without a head, NULL as nothing."""

import csv
import sys

import duckdb

writer = csv.writer(sys.stdout, lineterminator="\n")
for row in duckdb.sql(sys.argv[1]).fetchall():
    writer.writerow(str(cell).lower() if isinstance(cell, bool) else cell for cell in row)
