"""palais against DuckDB, Polars and DataFusion on the Big Data Benchmark: `make bench`, or
`.venv/bin/python bench/peers.py --help`.

Each peer is a process that stays and has run the query before. palais is a process a run: it runs the query twice, and
the second of its `execution_seconds` is compared; the first, that of a process just started, is kept beside it. All
have the same number of threads, on the same cores, read the same files from the page cache and leave their result in
memory as Arrow. A first run of everything keeps the results, which must be equal. Then come the rounds: in each, every
engine runs a query once, in an order that turns from round to round. A ratio is palais' time by a peer's in the same
round; what is printed is the median over the rounds.
"""

import argparse
import csv
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import chart
import equal
import queries

HOME = Path(__file__).resolve().parent.parent
PEERS = ["duckdb", "polars", "datafusion"]
ENCODINGS = ["parquet", "buren", "csv"]
# The queries that are measured on csv too.
ON_CSV = ["2a"]


class Peer:
    """A peer's process."""

    def __init__(self, name, data, threads):
        self.name = name
        command = [sys.executable, HOME / "bench" / "worker.py", name, data, str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = f"{name} {self.ask('')['version']}"

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.name} ended while it was asked: {line}")
        return json.loads(answer)

    def run(self, query, encoding, keep=None):
        return self.ask(json.dumps({"query": query, "encoding": encoding, "keep": keep and str(keep)}))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Palais:
    """The binary, a process a run."""

    def __init__(self, binary, data, threads):
        self.name, self.binary, self.data, self.threads = "palais", binary, data, threads
        self.version = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.strip()

    def run(self, query, encoding, keep=None):
        with tempfile.NamedTemporaryFile(suffix=".json") as stats:
            command = [self.binary, "bdb", query, "--data", self.data / encoding, "--workers", str(self.threads)]
            command += ["--stats", stats.name]
            # With --repeat the results stay in memory.
            command += ["--format", "parquet", "--output", keep] if keep else ["--repeat", "2"]
            command += ["--allow-scripts"] if query == "4" else []
            done = subprocess.run(command, capture_output=True, text=True, cwd=HOME)
            if done.returncode:
                sys.exit(f"palais failed on {query} over {encoding}: {done.stderr}")
            figures = json.load(stats)
        first, seconds = figures["execution_seconds"][0], figures["execution_seconds"][-1]
        return {"seconds": seconds, "first": first, "rows": figures["rows"], "memory": figures["peak_resident_bytes"]}

    def close(self):
        pass


def add_data_arguments(parser):
    """What the tables are made by."""
    parser.add_argument("--rankings", type=int, default=2_000_000, help="rows")
    parser.add_argument("--uservisits", type=int, default=20_000_000, help="rows")
    parser.add_argument("--documents", type=int, default=100_000_000, help="bytes")
    parser.add_argument("--parts", type=int, default=16, help="files a table")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=HOME / "bench" / "data", help="where the tables are made and kept")
    parser.add_argument("--binary", type=Path, default=HOME / "target" / "release" / "palais")


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    add_data_arguments(parser)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2, help="of every engine")
    parser.add_argument("--queries", default=",".join(queries.ALL))
    parser.add_argument("--engines", default=",".join(["palais", *PEERS]))
    parser.add_argument("--encodings", default=",".join(ENCODINGS), help="that palais reads")
    parser.add_argument("--results", type=Path, default=HOME / "bench" / "results")
    args = parser.parse_args()
    args.queries, args.engines, args.encodings = (v.split(",") for v in (args.queries, args.engines, args.encodings))
    return args


def make_data(args):
    """The tables as csv, Parquet and buren, made where they are missing; their directory."""
    data = args.data / f"{args.rankings}-{args.uservisits}-{args.documents}-{args.parts}-{args.seed}"
    tables = [*queries.TABLES, "documents"]

    def palais(*words):
        print("palais", *words, file=sys.stderr)
        subprocess.run([args.binary, *words], check=True)

    if not all((data / "csv" / table / "_manifest.json").exists() for table in tables):
        palais("generate", data / "csv", "--rankings", str(args.rankings), "--uservisits", str(args.uservisits),
               "--documents", str(args.documents), "--to", "csv", "--compression", "none", "--parts", str(args.parts),
               "--seed", str(args.seed))  # fmt: skip
    for encoding in ("parquet", "buren"):
        for table in tables:
            if not (data / encoding / table / "_manifest.json").exists():
                compression = "snappy" if encoding == "parquet" else "none"
                palais("convert", data / "csv" / table, data / encoding / table, "--to", encoding, "--compression",
                       compression)  # fmt: skip
    return data


def variants(query, engines, args):
    """Who answers a query on what: (engine, encoding) pairs, by the encoding in which they are compared."""
    pairs = []
    for engine in engines:
        encodings = args.encodings if engine.name == "palais" else ["parquet", "csv"]
        for encoding in encodings:
            if encoding == "csv" and (query not in ON_CSV or "csv" not in args.encodings):
                continue
            if query == "4" and engine.name != "palais":
                continue
            pairs.append((engine, encoding))
    return pairs


def label(engine, encoding):
    return f"{engine.name} {encoding}" if engine.name == "palais" or encoding == "csv" else engine.name


def check(query, pairs, directory):
    """Runs everything once, and fails where two results differ."""
    first = None
    for engine, encoding in pairs:
        path = directory / f"{query}-{engine.name}-{encoding}.parquet"
        rows = engine.run(query, encoding, keep=path)["rows"]
        if first is None:
            first = path
            print(f"{query}: {rows} rows", file=sys.stderr)
            continue
        problem = equal.difference(query, first, path)
        path.unlink()
        if problem:
            sys.exit(f"{query}: {first.stem} and {path.stem} differ: {problem}")
    if first:
        first.unlink()


def measure(query, pairs, rounds):
    """The runs of a query: {label: [answer of each round]}."""
    runs = {label(*pair): [] for pair in pairs}
    for number in range(rounds):
        turn = number % len(pairs)
        for engine, encoding in pairs[turn:] + pairs[:turn]:
            runs[label(engine, encoding)].append(engine.run(query, encoding))
    return runs


def ratios(runs, ours, peers):
    """Medians of the paired ratios of `ours` to each peer and to the fastest of each round."""
    seconds = {name: [run["seconds"] for run in answers] for name, answers in runs.items()}
    mine = seconds[ours]
    found = {peer: statistics.median(a / b for a, b in zip(mine, seconds[peer])) for peer in peers}
    if peers:
        fastest = [min(times) for times in zip(*(seconds[peer] for peer in peers))]
        found["fastest"] = statistics.median(a / b for a, b in zip(mine, fastest))
    return found


def report(query, runs):
    """Prints the medians of a query, and palais' ratios."""
    for name, answers in runs.items():
        line = f"{query:>3}  {name:<15} {statistics.median(a['seconds'] for a in answers):8.3f} s"
        if name.startswith("palais"):
            peers = [n for n in runs if not n.startswith("palais") and n.endswith(" csv") == name.endswith(" csv")]
            found = ratios(runs, name, peers)
            line += "".join(f"   {r:5.2f} × {peer.removesuffix(' csv')}" for peer, r in found.items())
            if memory := max(a.get("memory") or 0 for a in answers):
                line += f"   {memory / (1 << 20):.0f} MiB"
        print(line, flush=True)


def machine():
    """Lines that say what ran where."""
    def first(path, key):
        with open(path) as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith(key)), "unknown")

    git = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=HOME)
    memory = int(first("/proc/meminfo", "MemTotal").split()[0]) / (1 << 20)
    return [
        f"commit {git.stdout.strip() or 'unknown'}",
        f"{first('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
    ]


def write(args, header, all_runs):
    """The raw figures and the chart."""
    args.results.mkdir(parents=True, exist_ok=True)
    with open(args.results / "peers.csv", "w", newline="") as file:
        file.writelines(f"# {line}\n" for line in header)
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["query", "engine", "round", "seconds", "first_seconds", "rows", "peak_resident_bytes"])
        for query, runs in all_runs.items():
            for name, answers in runs.items():
                for number, a in enumerate(answers, 1):
                    first = f"{a['first']:.6f}" if "first" in a else ""
                    out.writerow([query, name, number, f"{a['seconds']:.6f}", first, a["rows"], a.get("memory") or ""])
    groups = []
    for query, runs in all_runs.items():
        bars = [(name, statistics.median(a["seconds"] for a in answers)) for name, answers in runs.items()]
        groups.append((query.upper(), sorted(bars, key=lambda bar: bar[0].endswith(" csv"))))
    title = f"Big Data Benchmark, {args.uservisits:,} visits, {args.rankings:,} pages, {args.threads} threads"
    svg = chart.chart(title, "seconds, median; " + "; ".join(header[:2]), groups)
    (args.results / "peers.svg").write_text(svg, encoding="utf-8")


def main():
    args = arguments()
    cores = sorted(os.sched_getaffinity(0))[: args.threads]
    os.sched_setaffinity(0, cores)
    data = make_data(args) if "palais" in args.engines else args.data
    engines = [
        Palais(args.binary, data, args.threads) if name == "palais" else Peer(name, data, args.threads)
        for name in args.engines
    ]
    header = [
        *machine(),
        "; ".join(engine.version for engine in engines),
        f"{args.rankings} rankings, {args.uservisits} uservisits, {args.documents} bytes of documents, "
        f"{args.parts} parts, seed {args.seed}; {args.threads} threads; {args.rounds} rounds",
    ]
    print("\n".join(header), flush=True)
    all_runs = {}
    for query in args.queries:
        pairs = variants(query, engines, args)
        with tempfile.TemporaryDirectory(dir=data) as directory:
            check(query, pairs, Path(directory))
        if pairs:
            all_runs[query] = measure(query, pairs, args.rounds)
            report(query, all_runs[query])
    for engine in engines:
        engine.close()
    write(args, header, all_runs)


if __name__ == "__main__":
    main()
