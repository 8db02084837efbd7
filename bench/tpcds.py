"""TPC-DS: the 99 queries by palais and by DuckDB, over the same Parquet files: `make tpcds TPCDS="--only 14,64"`.

Data and queries are those of DuckDB's extension (tpc.py); the data are made once below target/tpc. A line tells of each
query whether the answers are equal (ok, or empty where neither has a row), or palais differs, has refused it, or failed:
by a crash or the timeout.

Rows have to come as ORDER BY says; rows with equal keys in any order, and of those that LIMIT cuts any. Integers,
decimals, dates and texts are equal exactly, doubles to a relative 1e-9.
"""

import argparse
import copy
import itertools
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import duckdb
import pyarrow

from tpc import KEPT, extension

HOME = Path(__file__).resolve().parent.parent


class Failure(Exception):
    """What palais says instead of an answer; `kind` is "refused" or "failed"."""

    def __init__(self, kind, reason):
        super().__init__(reason)
        self.kind = kind


def run(args, data, query):
    """palais' rows, and the seconds of the whole process."""
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory) / "answer.arrow"
        command = [args.program, "query", "--data", data, "--output", output, "--workers", args.workers, query]
        begun = time.perf_counter()
        try:
            process = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=args.timeout)
        except subprocess.TimeoutExpired:
            raise Failure("failed", f"no answer in {args.timeout:g} s") from None
        seconds = time.perf_counter() - begun
        if process.returncode:
            kind = "failed" if process.returncode < 0 or "panicked" in process.stderr else "refused"
            raise Failure(kind, " ".join(process.stderr.split()) or f"it ended with {process.returncode}")
        table = pyarrow.ipc.open_file(output).read_all()
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns)), seconds


def expected(connection, query, names):
    """All rows that the query has without LIMIT, in order, and the keys of that order, row by row.

    `names` are those of the answer's columns.
    """
    parsed = json.loads(connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()[0])
    node = parsed["statements"][0]["node"]
    orders = [order for modifier in node["modifiers"] for order in modifier.get("orders", ())]
    node["modifiers"] = [modifier for modifier in node["modifiers"] if modifier["type"] != "LIMIT_MODIFIER"]
    places, width = [], len(names)
    for order in orders:
        key = order["expression"]
        if key["class"] == "CONSTANT":
            places.append(int(key["literal"]["text"]) - 1)
        elif key["class"] == "COLUMN_REF" and names.count(key["column_names"][-1]) == 1:
            places.append(names.index(key["column_names"][-1]))
        else:  # A key of its own, behind the columns of the answer.
            places.append(width)
            node["select_list"].append(copy.deepcopy(key) | {"alias": f"key_{width}"})
            width += 1
    text = connection.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(parsed)]).fetchone()[0]
    rows = connection.execute(text).fetchall()
    return [row[: len(names)] for row in rows], [tuple(row[place] for place in places) for row in rows]


def equal(left, right):
    """Whether two values, or all those of two tuples, are equal."""
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9) or (math.isnan(left) and math.isnan(right))
    return isinstance(left, float) == isinstance(right, float) and left == right


def exact(row):
    """What is equal of rows that are: all but the doubles."""
    return tuple(None if isinstance(value, float) else value for value in row)


def difference(answer, rows, keys):
    """What is wrong with an answer, given what `expected` returns; None if it is right."""
    begin = 0
    while begin < len(answer):
        end = begin + 1
        while end < len(rows) and equal(keys[end - 1], keys[end]):
            end += 1
        peers = defaultdict(list)
        for row in rows[begin:end]:
            peers[exact(row)].append(row)
        for place, row in enumerate(answer[begin:end], begin):
            alike = peers[exact(row)]
            found = next((index for index, peer in enumerate(alike) if equal(row, peer)), None)
            if found is None:
                left = list(itertools.chain.from_iterable(peers.values()))
                return f"row {place + 1} is {row}, and {left[0] if left else 'none'} is expected"
            del alike[found]
        begin = end
    return None


def compare(args, connection, data, query):
    """What a line says of a query: the verdict, the seconds of palais and of DuckDB, and a reason or the rows."""
    begun = time.perf_counter()
    own = connection.execute(query).fetchall()
    names = [column[0] for column in connection.description]
    theirs = time.perf_counter() - begun
    rows, keys = expected(connection, query, names)
    if reason := difference(own, rows, keys):
        raise SystemExit(f"DuckDB does not agree with itself: {reason}\n{query}")
    try:
        answer, ours = run(args, data, query)
    except Failure as failure:
        return failure.kind, None, theirs, str(failure)
    if len(answer) != len(own):
        return "differs", ours, theirs, f"{len(answer)} rows, {len(own)} are expected"
    if reason := difference(answer, rows, keys):
        return "differs", ours, theirs, reason
    return ("ok" if own else "empty"), ours, theirs, f"{len(own)} rows"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", type=Path, default=HOME / "target" / "release" / "palais")
    parser.add_argument("--scale", type=float, default=0.01, help="scale factor of the data")
    parser.add_argument("--only", help="numbers of queries, such as 14,64")
    parser.add_argument("--times", action="store_true", help="print the seconds of palais and of DuckDB too")
    parser.add_argument("--timeout", type=float, default=300, help="seconds that palais may take for a query")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    data = KEPT / f"tpcds-{args.scale:g}"
    if not data.exists():
        extension("tpcds", "data", data, args.scale)
    queries = {int(number): text for number, text in json.loads(extension("tpcds", "queries")).items()}
    chosen = [int(number) for number in args.only.split(",")] if args.only else sorted(queries)
    connection = duckdb.connect(config={"threads": args.workers})
    for file in data.glob("*.parquet"):
        connection.execute(f"CREATE VIEW {file.stem} AS FROM '{file}'")
    verdicts, ratios, all_seconds = Counter(), {}, []
    for number in chosen:
        verdict, ours, theirs, told = compare(args, connection, data, queries[number])
        verdicts[verdict] += 1
        line = [f"{number:2}", f"{verdict:7}"]
        if args.times:
            line.append(f"{ours or math.nan:8.3f} {theirs:8.3f}")
        print(*line, told, flush=True)
        if ours:
            all_seconds.append(ours)
            ratios[number] = ours / theirs
    print(f"{len(chosen)} queries:", ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))
    if args.times and ratios:
        slowest = max(ratios, key=ratios.get)
        print(
            f"median {statistics.median(all_seconds):.3f} s, most {max(all_seconds):.3f} s; of DuckDB's time "
            f"{statistics.geometric_mean(ratios.values()):.2f} as geometric mean, {ratios[slowest]:.2f} at most "
            f"(query {slowest})"
        )
    sys.exit(any(verdict not in ("ok", "empty") for verdict in verdicts))


if __name__ == "__main__":
    main()
