"""Queries by palais and by DuckDB in turn: their answers, seconds, and seconds of processors.

A run is the answers of one row as numbers, the seconds that passed, and those of processors. palais runs as a process of its
own, which opens and plans each time; DuckDB stays.
"""

import json
import resource
import statistics
import subprocess
import sys
import time

HEAD = f"{'palais':>9}{'DuckDB':>9}{'':>7}{'palais cpu':>12}{'DuckDB cpu':>12}{'':>7}"

#: The names of `figures`.
COLUMNS = ["palais_seconds", "duckdb_seconds", "ratio", "palais_cpu", "duckdb_cpu", "cpu_ratio"]


def by_palais(binary, workers, sql):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [binary, "query", sql, "--workers", str(workers), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stderr}{sql}")
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    answers = [float(value) for value in json.loads(done.stdout)[0].values()]
    return answers, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_duckdb(db, sql):
    start, before = time.perf_counter(), time.process_time()
    (answers,) = db.execute(sql).fetchall()
    return [float(value) for value in answers], time.perf_counter() - start, time.process_time() - before


def pairs(args, db, sql, runs):
    """Runs of both in turn, whose answers agree to a relative 1e-6."""
    found = [(by_palais(args.binary, args.workers, sql), by_duckdb(db, sql)) for _ in range(runs)]
    for ours, theirs in zip(*(run[0] for run in found[0]), strict=True):
        if abs(ours - theirs) > 1e-6 * abs(theirs):
            sys.exit(f"palais gives {ours}, DuckDB {theirs}: {sql}")
    return found


def figures(found):
    """The medians of seconds, palais' and DuckDB's, and of their quotients; and the same of processors."""
    of = []
    for i in (1, 2):
        of += [statistics.median(pair[by][i] for pair in found) for by in (0, 1)]
        of.append(statistics.median(ours[i] / theirs[i] for ours, theirs in found))
    return of


def line(name, of):
    s, t, u, c, d, e = of
    return f"{name}{s:>9.2f}{t:>9.2f}{u:>7.2f}{c:>12.2f}{d:>12.2f}{e:>7.2f}"
