"""What several processes cost, by their number: `make scaling`, or `python3 bench/scaling.py --help`.

A query in 1, 2, 4, 8 and 16 processes of one worker each, all on this machine: seconds of execution, processor seconds
of all processes together, bytes between them, and timely's messages about progress. Writes bench/results/scaling.csv;
docs/scaling.md fits a model to it.
"""

import argparse
import csv
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
QUERIES = {
    "none": "SELECT 1",
    "2A": "SELECT SUBSTR(sourceIP, 1, 8), SUM(adRevenue) FROM uservisits GROUP BY 1",
    "2C": "SELECT SUBSTR(sourceIP, 1, 12), SUM(adRevenue) FROM uservisits GROUP BY 1",
    "sum": "SELECT COUNT(*), SUM(adRevenue) FROM uservisits",
}


def used():
    of_children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return of_children.ru_utime + of_children.ru_stime


def run(args, query, processes, stats):
    """Seconds of execution, processor seconds, bytes sent, messages about progress."""
    command = [args.binary, "cluster", "run", "--local", processes, "--workers", 1, "--sockets-only", "--data", args.data]
    command += [QUERIES[query], "--output", "/dev/null", "--format", "csv", "--stats", stats]
    before = used()
    subprocess.run([str(word) for word in command], check=True)
    told = json.loads(stats.read_text())
    seconds = told["execution_seconds"][-1]
    return seconds, used() - before, told["bytes_sent"], told["progress_messages"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--binary", type=Path, default=HOME / "target" / "release" / "palais")
    parser.add_argument("--data", type=Path, required=True, help="a directory with the table uservisits")
    parser.add_argument("--processes", default="1,2,4,8,16")
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=HOME / "bench" / "results")
    args = parser.parse_args()
    turns = [(query, int(count)) for query in args.queries.split(",") for count in args.processes.split(",")]
    measured = {turn: [] for turn in turns}
    with tempfile.TemporaryDirectory() as home:
        for _ in range(args.rounds):
            random.shuffle(turns)
            for query, count in turns:
                measured[query, count].append(run(args, query, count, Path(home) / "stats.json"))
    args.results.mkdir(parents=True, exist_ok=True)
    with (args.results / "scaling.csv").open("w") as file:
        for out in (csv.writer(file), csv.writer(sys.stdout)):
            out.writerow(["query", "processes", "seconds", "processor_seconds", "bytes_sent", "progress_messages"])
            for (query, count), runs in measured.items():
                seconds, processor, sent, progress = (statistics.median(column) for column in zip(*runs))
                out.writerow([query, count, f"{seconds:.4f}", f"{processor:.3f}", int(sent), int(progress)])


if __name__ == "__main__":
    main()
