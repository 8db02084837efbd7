"""Runs the tests: `python3 tests/run.py [LANES]`.

Programs of tests wait a lot, for time to pass and for processes. So several run at a time, 3 if not said otherwise, and
what each prints is shown when it ends. Tests of documentation come last. The exit code is 1 if a test failed.
"""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from programs import programs

#: Those that take longest begin first, so that none runs alone at the end.
LONG = ["slt", "spill", "skew", "limits", "roundtrip", "hosts", "fingerprint", "cluster", "cluster_faults", "queries-unit"]


def run(program):
    """Name, exit code and output of a program, and the seconds that it took: of time, and of processors."""
    name, place, path = program
    begin = time.monotonic()
    environment = {**os.environ, "CARGO_MANIFEST_DIR": place}
    # A pipe would stay open as long as any process that the program has left behind.
    with tempfile.TemporaryFile() as output:
        runs = subprocess.Popen(
            [path], cwd=place, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        # What the program and those that it has waited for have used.
        _, status, used = os.wait4(runs.pid, 0)
        runs.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return name, runs.returncode, text, time.monotonic() - begin, used.ru_utime + used.ru_stime


def main():
    lanes = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    begins = {name: place for place, name in enumerate(LONG)}
    all_of_them = sorted(programs(), key=lambda program: begins.get(program[0], len(LONG)))
    if not all_of_them:
        print("error: cargo has built no program of tests", flush=True)
        return 1
    failed = []
    with ThreadPoolExecutor(lanes) as pool:
        for ended in as_completed([pool.submit(run, program) for program in all_of_them]):
            name, code, output, seconds, processor = ended.result()
            print(f"     Running {name}, which took {seconds:.1f} s, and {processor:.1f} s of processors\n{output}", flush=True)
            if code != 0:
                failed.append(f"{name} (exit code {code})")
    documented = subprocess.run(["cargo", "test", "--locked", "--release", "--workspace", "--doc", "--quiet"])
    if documented.returncode != 0:
        failed.append("tests of documentation")
    for name in failed:
        print(f"error: tests failed: {name}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
