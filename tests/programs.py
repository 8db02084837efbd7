"""The programs of the tests, which cargo has built or builds now.

`python3 tests/programs.py [NAME…]` prints a line for each, or for each of these names: its name, the directory that it runs
in, and the program.
"""

import json
import os
import subprocess
import sys

BUILD = ["cargo", "test", "--locked", "--release", "--workspace", "--no-run"]


def programs():
    """Name, directory and path of each program."""
    notes = subprocess.run([*BUILD, "--message-format=json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = []
    for note in map(json.loads, notes.splitlines()):
        if note["reason"] != "compiler-artifact" or not note["profile"]["test"] or not note["executable"]:
            continue
        target, place = note["target"], os.path.dirname(note["manifest_path"])
        name = target["name"] if "test" in target["kind"] else "unit"
        if place != os.getcwd():
            name = f"{os.path.basename(place)}-{name}"
        elif name == "unit":
            name = f"unit-{target['kind'][0]}"
        found.append((name, place, note["executable"]))
    return sorted(found)


if __name__ == "__main__":
    for program in programs():
        if not sys.argv[1:] or program[0] in sys.argv[1:]:
            print(*program, sep="\t")
