"""palais bench formats on the large uservisits, every answer compared with DuckDB's: `make formats`, or
`.venv/bin/python bench/formats.py --help`. What follows `--` goes to palais.

Writes bench/results/formats.{csv,json,svg}.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

import peers

QUERY = "SELECT SUBSTR(sourceIP, 1, 8), SUM(adRevenue) FROM t GROUP BY SUBSTR(sourceIP, 1, 8)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    peers.add_data_arguments(parser)
    parser.add_argument("--results", type=Path, default=peers.HOME / "bench" / "results")
    args, palais = parser.parse_known_args()
    palais = [word for word in palais if word != "--"]
    data = peers.make_data(args)
    with tempfile.TemporaryDirectory(dir=data) as directory:
        scratch = Path(directory).resolve()
        expected, figures = scratch / "expected.parquet", scratch / "figures"
        visits = f"read_parquet('{data / 'parquet' / 'uservisits'}/*.parquet')"
        query = QUERY.replace("FROM t", f"FROM {visits}")
        duckdb.sql(f"COPY ({query}) TO '{expected}' (FORMAT parquet)")
        command = [args.binary.resolve(), "bench", "formats", "buren/uservisits", "--expect", expected]
        command += ["--scratch", scratch, "--output", figures, *palais]
        subprocess.run(command, check=True, cwd=data)
        args.results.mkdir(parents=True, exist_ok=True)
        for figure in figures.iterdir():
            shutil.copy(figure, args.results / figure.name)


if __name__ == "__main__":
    main()
