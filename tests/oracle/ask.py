"""What DuckDB answers: `python tests/oracle/ask.py STATEMENT…` prints the rows of each as csv without a head, NULL as nothing.

A line with the record separator (U+001E) alone ends the rows of a statement.
"""

import csv
import sys

import duckdb

writer = csv.writer(sys.stdout, lineterminator="\n")
for statement in sys.argv[1:]:
    for row in duckdb.sql(statement).fetchall():
        writer.writerow(str(cell).lower() if isinstance(cell, bool) else cell for cell in row)
    print("\x1e")
