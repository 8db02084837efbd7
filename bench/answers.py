"""The ten benchmark queries on the large tables, over every encoding and several numbers of workers, against DuckDB's
answers (query 4: plain Python's): `make answers`, or `.venv/bin/python bench/answers.py --help`.

Prints a line for each query, encoding and number of workers. Fails at the first answer that differs.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import equal
import peers
import queries

ORACLE = peers.HOME / "tests" / "oracle" / "bdb.py"


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    peers.add_data_arguments(parser)
    parser.add_argument("--queries", default=",".join(queries.ALL))
    parser.add_argument("--encodings", default=",".join(peers.ENCODINGS))
    parser.add_argument("--workers", default="1,2,5")
    args = parser.parse_args()
    args.queries, args.encodings = args.queries.split(","), args.encodings.split(",")
    args.workers = [int(n) for n in args.workers.split(",")]
    return args


def expected_answers(data):
    """The directory of the oracle's answers, made from the csv files where it is missing."""
    answers = data / "answers"
    if not answers.exists():
        with tempfile.TemporaryDirectory(dir=data) as directory:
            print(f"{ORACLE.name} answers the queries", file=sys.stderr)
            subprocess.run([sys.executable, ORACLE, data / "csv", directory], check=True)
            answers.mkdir()
            for path in Path(directory).iterdir():
                path.rename(answers / path.name)
    return answers


def main():
    args = arguments()
    data = peers.make_data(args)
    answers = expected_answers(data)
    compared = 0
    with tempfile.TemporaryDirectory(dir=data) as directory:
        for encoding in args.encodings:
            for workers in args.workers:
                palais = peers.Palais(args.binary, data, workers)
                for query in args.queries:
                    path = Path(directory) / f"{query}-{encoding}-{workers}.parquet"
                    run = palais.run(query, encoding, keep=path)
                    problem = equal.difference(query, answers / f"{query}.csv", path)
                    path.unlink()
                    name = f"{query:>3}  {encoding:<8} {workers} worker{'s' if workers > 1 else ' '}"
                    if problem:
                        sys.exit(f"{name}: not the oracle's answer: {problem}")
                    print(f"{name} {run['rows']:>11,} rows  equal", flush=True)
                    compared += 1
    print(f"{compared} answers, all equal")


if __name__ == "__main__":
    main()
