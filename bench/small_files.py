"""One query over many small files and over one file of the same bytes: `make small-files`, or
`python3 bench/small_files.py --help`.

The runs are in random order with random pauses between them: on a virtual machine memory that was not used for a
second or two may have gone back to the host, and in a fixed order the same runs would pay for it each time.
"""

import argparse
import math
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
QUERY = "SELECT SUBSTR({0}, 1, 8) AS prefix, SUM({1}) FROM t GROUP BY 1"
SCHEMA = (
    "CREATE TABLE t (sourceIP VARCHAR, destURL VARCHAR, visitDate DATE, adRevenue FLOAT, userAgent VARCHAR,"
    " countryCode VARCHAR, languageCode VARCHAR, searchWord VARCHAR, duration INT)"
)


def make_data(args, directory, encoding):
    """Files of about 10 KB, and all of them in one: the paths of both."""
    command = [args.binary, "generate", directory, "--uservisits", args.files * 125 // 2]
    command += ["--rankings", 1000, "--documents", "1MB", "--to", encoding, "--parts", args.files]
    subprocess.run([str(word) for word in command], check=True, stderr=subprocess.DEVNULL)
    for table in ("rankings", "documents"):
        shutil.rmtree(directory / table)
    # The same as somebody's own files: nothing beside them says what they hold.
    (directory / "uservisits" / "_manifest.json").unlink()
    one = directory / f"one.{encoding}"
    with one.open("wb") as whole:
        for part in sorted((directory / "uservisits").iterdir()):
            whole.write(part.read_bytes())
    # What is still to be written would be written while it is measured.
    os.sync()
    return directory / "uservisits" / f"*.{encoding}", one


def run(args, files, columns, schema, output):
    """Elapsed seconds of the whole process."""
    command = [args.binary, "query", QUERY.format(*columns), "--table", f"t={files}", "--workers", args.workers]
    command += ["--format", "csv", "--output", output, "--overwrite"] + (["--schema", f"t={schema}"] if schema else [])
    begun = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True)
    return time.perf_counter() - begun


def rows(path):
    """The answer's sums by their prefixes."""
    lines = (line.rsplit(",", 1) for line in path.read_text().splitlines()[1:])
    return {prefix: float(total) for prefix, total in lines}


def alike(a, b):
    """Whether two answers are the same but for the order of adding."""
    return a.keys() == b.keys() and all(math.isclose(total, b[prefix]) for prefix, total in a.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--binary", type=Path, default=HOME / "target" / "release" / "palais")
    parser.add_argument("--data", type=Path, default=HOME / "bench" / "data", help="made below it, and removed")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--encodings", default="csv,jsonl")
    args = parser.parse_args()
    args.data.mkdir(parents=True, exist_ok=True)
    print("encoding,schema,bytes,files,one_seconds,many_seconds,ratio", flush=True)
    for encoding in args.encodings.split(","):
        with tempfile.TemporaryDirectory(dir=args.data) as name:
            directory = Path(name)
            many, one = make_data(args, directory, encoding)
            declared = directory / "schema.sql"
            declared.write_text(SCHEMA)
            by_place = ("column1", "column4") if encoding == "csv" else ("sourceIP", "adRevenue")
            ways = {"none": (by_place, None), "given": (("sourceIP", "adRevenue"), declared)}
            answers = {}
            for files in (many, one):
                for way, (columns, schema) in ways.items():
                    run(args, files, columns, schema, directory / "answer.csv")
                    answers[files, way] = rows(directory / "answer.csv")
            if not all(alike(answers[many, way], answers[one, way]) for way in ways):
                raise SystemExit(f"the answers over {encoding} are not the same")
            turns = [(files, way) for files in (many, one) for way in ways]
            seconds = {turn: [] for turn in turns}
            for _ in range(args.rounds):
                random.shuffle(turns)
                for files, way in turns:
                    columns, schema = ways[way]
                    seconds[files, way].append(run(args, files, columns, schema, "/dev/null"))
                    time.sleep(random.uniform(0, 0.5))
            for way in ways:
                alone, among = (statistics.median(seconds[files, way]) for files in (one, many))
                size = one.stat().st_size
                print(f"{encoding},{way},{size},{args.files},{alone:.3f},{among:.3f},{among / alone:.2f}", flush=True)


if __name__ == "__main__":
    main()
