"""TPC-H by two binaries, one of them older: `make tpch TPCH="--before OLD"`, or `python3 bench/tpch.py --help`.

Every answer is compared with DuckDB's. The binaries take turns in random order; a ratio is the median over the pairs of
runs, of the seconds that passed and of the processor's seconds of the whole process.
"""

import argparse
import csv
import io
import math
import os
import random
import statistics
import subprocess
import time
from pathlib import Path

import duckdb

from tpc import extension

HOME = Path(__file__).resolve().parent.parent
QUERIES = HOME / "queries" / "tests" / "golden" / "tpch"
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
# The others join tables.
OF_ONE_TABLE = (1, 6)


def run(binary, data, query, workers, *more):
    """The answer, the seconds that passed and those of the processor; `more` are further arguments."""
    command = [str(binary), "query", "--data", str(data), "--workers", str(workers), "--format", "csv", *more, query]
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    answer = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{binary} failed")
    return answer.decode(), seconds, usage.ru_utime + usage.ru_stime


def plain(value):
    """A value as text; numbers to some digits, for floats are added in any order."""
    if value is None:
        return ""
    try:
        return f"{float(str(value)):.6g}"
    except ValueError:
        return str(value)


def rows(answer):
    """The rows of an answer, in one order: ties of an order are given in any."""
    _names, *rows = csv.reader(io.StringIO(answer))
    return sorted([plain(value) for value in row] for row in rows)


def expected(connection, query):
    """The same of DuckDB."""
    return sorted([plain(value) for value in row] for row in connection.execute(query).fetchall())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--before", type=Path, required=True, help="the older binary")
    parser.add_argument("--after", type=Path, default=HOME / "target" / "release" / "palais")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--data", type=Path, help="Parquet files of the tables, made if there are none")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("queries", type=int, nargs="*", default=range(1, 23), help="all if none is given")
    args = parser.parse_args()
    data = args.data or HOME / "bench" / "data" / f"tpch-{args.scale:g}"
    if not data.exists():
        extension("tpch", "data", data, args.scale)
    connection = duckdb.connect()
    for table in TABLES:
        connection.execute(f"CREATE VIEW {table} AS FROM '{data / table}.parquet'")
    print("query,before_seconds,after_seconds,ratio,before_cpu,after_cpu,cpu_ratio", flush=True)
    ratios, cpu_ratios = [], []
    for number in args.queries:
        query = (QUERIES / f"q{number:02}.sql").read_text()
        answer = expected(connection, query)
        binaries = [args.before, args.after]
        seconds, cpu = {binary: [] for binary in binaries}, {binary: [] for binary in binaries}
        for _ in range(args.rounds):
            for binary in random.sample(binaries, len(binaries)):
                text, elapsed, used = run(binary, data, query, args.workers)
                if rows(text) != answer:
                    raise SystemExit(f"query {number}: {binary} does not answer as DuckDB")
                seconds[binary].append(elapsed)
                cpu[binary].append(used)
        line = [str(number)]
        for times, all_ratios in ((seconds, ratios), (cpu, cpu_ratios)):
            before, after = (times[binary] for binary in binaries)
            ratio = statistics.median(b / a for a, b in zip(before, after))
            line += [f"{statistics.median(before):.3f}", f"{statistics.median(after):.3f}", f"{ratio:.2f}"]
            if number not in OF_ONE_TABLE:
                all_ratios.append(ratio)
        print(",".join(line), flush=True)
    means = [math.exp(statistics.fmean(math.log(ratio) for ratio in all)) for all in (ratios, cpu_ratios)]
    print(f"geometric mean of those with joins: {means[0]:.3f} of the time, {means[1]:.3f} of the processor's")


if __name__ == "__main__":
    main()
