"""Builds the programs of the tests, and ends with 1 if the compiler or clippy warns of anything: `python3 tests/build.py`.

Cargo tells the warnings of a package again each time, whether it compiles it or has done so before.
"""

import subprocess
import sys

from programs import BUILD


def main():
    warned = False
    with subprocess.Popen(BUILD, stderr=subprocess.PIPE, text=True) as cargo:
        for line in cargo.stderr:
            print(line, end="", flush=True)
            warned |= line.startswith("warning")
    if cargo.returncode == 0 and warned:
        print("error: there are warnings", flush=True)
    return 1 if cargo.returncode != 0 or warned else 0


if __name__ == "__main__":
    sys.exit(main())
