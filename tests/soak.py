"""Faults at random moments of queries in several processes: the right answer or an error that says what happened, soon, and
nothing left behind.

soak.py PALAIS [--runs 200] [--seed 1]

Each run makes one fault in a query of three processes of this machine, and then runs the query again without one. Links
are cut and packets dropped between three network namespaces, which root can make; its output says so where they are left
out. It ends with code 1 at the first broken promise, and prints a table of faults and outcomes.
"""

import argparse
import collections
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from net import Net, shell

# Seconds of --timeout; what is lost has to be told of within it and a few seconds more.
TIMEOUT = 2
SOON = TIMEOUT + 4

GROUPS = "SELECT substr(sourceIP, 1, 9) AS ip, count(*), sum(duration) FROM uservisits GROUP BY 1"
SQL = f"{GROUPS} ORDER BY 1"


class Broken(Exception):
    """A promise that was not kept."""


class Run:
    """A query in three processes, told from others by a word in their environment."""

    number = 0

    def __init__(self, palais, data, sql=SQL, more=(), hosts=None):
        Run.number += 1
        self.mark = f"PALAIS_SOAK={os.getpid()}-{Run.number}"
        name, value = self.mark.split("=")
        where = ["--hosts", hosts] if hosts else ["--local", "3", "--workers", "1"]
        command = [palais, "cluster", "run", *where, "--timeout", str(TIMEOUT), sql, *more]
        self.coordinator = subprocess.Popen(
            [*command, "--data", data],
            env=os.environ | {name: value},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def processes(self):
        """Those that were started, without the coordinator."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != self.coordinator.pid:
                try:
                    if self.mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
                except OSError:
                    pass
        return sorted(found)

    def members(self):
        """Those that take part in the query, without one that waits to remove what they leave."""

        def takes_part(process):
            try:
                return b"process" in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            except OSError:
                return False

        return [process for process in self.processes() if takes_part(process)]

    def finish(self, within):
        """Code, output and message; it may take so many seconds."""
        try:
            out, err = self.coordinator.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            self.coordinator.kill()
            raise Broken(f"it hangs for {within} seconds") from None
        deadline = time.monotonic() + SOON
        while self.processes():
            if time.monotonic() > deadline:
                raise Broken(f"processes are left: {self.processes()}")
            time.sleep(0.01)
        return self.coordinator.returncode, out, err


def to_process(name):
    def harm(run, chance):
        members = run.members()
        if members:
            send(chance.choice(members), name)

    return harm


def to_coordinator(name):
    return lambda run, chance: send(run.coordinator.pid, name)


def stopped_then_orphaned(run, chance):
    """One process is stopped, and the coordinator killed."""
    to_process("SIGSTOP")(run, chance)
    send(run.coordinator.pid, "SIGKILL")


def all_processes(run, chance):
    for process in run.members():
        send(process, "SIGKILL")


def send(process, name):
    try:
        os.kill(process, getattr(signal, name))
    except ProcessLookupError:
        pass


# What is done, and the codes that a query may end with that was not done before.
FAULTS = {
    "a process is killed": (to_process("SIGKILL"), {1}),
    "a process crashes": (to_process("SIGABRT"), {1}),
    "a process is asked to end": (to_process("SIGTERM"), {1}),
    "a process is stopped": (to_process("SIGSTOP"), {1}),
    "all processes are killed": (all_processes, {1}),
    # Before it has begun, the signal itself ends it.
    "the coordinator is interrupted": (to_coordinator("SIGINT"), {130, -2}),
    "the coordinator is killed": (to_coordinator("SIGKILL"), {-9}),
    "a process is stopped, the coordinator killed": (stopped_then_orphaned, {-9}),
}


def faulty(palais, data, expected, name, chance, longest):
    """One run with a fault; its outcome in a word."""
    harm, codes = FAULTS[name]
    run = Run(palais, data)
    time.sleep(chance.uniform(0, longest))
    harm(run, chance)
    code, out, err = run.finish(longest * 5 + SOON + 5)
    if code == 0:
        if out != expected:
            raise Broken("code 0 and another answer")
        return "right answer"
    if code not in codes or not expected.startswith(out):
        raise Broken(f"exit code {code}, and {len(out)} bytes of an answer: {err}")
    if code == 1 and not err.startswith("error: local-"):
        raise Broken(f"no host is named: {err}")
    return "error that names the process" if code == 1 else "ended"


def without_memory(palais, data, expected, chance):
    """Less memory than the query needs, or about as much."""
    code, out, err = Run(palais, data, more=["--memory-limit", f"{chance.randrange(16, 100)}MiB"]).finish(60)
    if code == 0 and out == expected:
        return "right answer"
    if code != 1 or "out of memory" not in err or "host: local-" not in err or not expected.startswith(out):
        raise Broken(f"exit code {code}, and {len(out)} bytes of an answer: {err}")
    return "error that names the process"


def without_a_file(palais, data, home, chance):
    """A file is gone, or cut short, when it is to be read; the query has its own copy."""
    mine = home / f"copy{Run.number}"
    subprocess.run(["cp", "-r", data, mine], check=True)
    run = Run(palais, mine)
    time.sleep(chance.uniform(0, 0.1))
    for file in sorted((mine / "uservisits").glob("*.csv"))[-2:]:
        os.truncate(file, chance.randrange(file.stat().st_size))
    code, out, err = run.finish(60)
    subprocess.run(["rm", "-r", mine], check=True)
    # A file that shrank before it was looked at is whole.
    if code == 0:
        return "answer over what was there when it began"
    if code != 1 or not err.startswith("error: ") or out:
        raise Broken(f"exit code {code}, and {len(out)} bytes of an answer: {err}")
    return "error"


def copied(palais, data, home, chance, longest, groups, harm):
    """Some are killed while all processes write a dataset."""
    out = home / f"out{Run.number}"
    out.mkdir()
    run = Run(palais, data, f"COPY ({GROUPS}) TO '{out}/made/' (FORMAT csv)")
    time.sleep(chance.uniform(0, longest / 2))
    harm(run, chance)
    code, _, err = run.finish(longest * 5 + SOON + 5)
    left = [entry.name for entry in out.iterdir()]
    # Where the first process is lost while files appear, or nobody tells, they may be there, whole.
    perhaps = code == 1 and "error: local-0" in err and "look whether the files are there" in err or code == -9
    if left and (code == 0 or perhaps):
        count = [palais, "query", f"SELECT count(*) FROM '{out}/made'", "--format", "csv"]
        done = subprocess.run(count, capture_output=True, text=True)
        if left != ["made"] or done.stdout.split() != ["count(*)", str(groups)]:
            raise Broken(f"exit code {code}, {left} and {done.stdout}: {err}")
    elif left or code != -9 and (code != 1 or not err.startswith("error: local-")):
        raise Broken(f"exit code {code}, {left} is left: {err}")
    shutil.rmtree(out)
    if code == -9:
        return "all of it was written" if left else "nothing written"
    if perhaps:
        return "error that says where to look"
    return "all of it was written" if code == 0 else "error that names the process, nothing written"


def on_a_full_disk(palais, data, home, chance):
    """The disk on which all of them write is full."""
    out = home / "full"
    out.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={chance.randrange(100, 1000)}k", "palais-soak", out]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        return "not done: a file system can't be mounted here"
    try:
        code, _, err = Run(palais, data, f"COPY ({GROUPS}) TO '{out}/made/' (FORMAT csv)").finish(60)
        left = list(out.iterdir())
    finally:
        subprocess.run(["umount", out], check=True)
    if code != 1 or "No space left on device" not in err or "host: local-" not in err or left:
        raise Broken(f"exit code {code}, {left} is left: {err}")
    return "error that names the process, nothing written"


def retried(palais, data, expected, chance, longest):
    """A process is killed, and the query may be run again."""
    run = Run(palais, data, more=["--retries", "2"])
    time.sleep(chance.uniform(0, longest))
    to_process("SIGKILL")(run, chance)
    code, out, err = run.finish(longest * 5 + SOON + 5)
    if code != 0 or out != expected:
        # Rows that were printed can't be taken back.
        if code == 1 and out and err.startswith("error: local-"):
            return "error that names the process, after rows were printed"
        raise Broken(f"exit code {code}: {err}")
    return "right answer, run again" if "is run again" in err else "right answer"


def free_port(chance):
    """A port that is free, and that no connection of somebody else gets meanwhile."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = chance.randrange(first // 2, first)
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def started_twice(palais, data, home, expected, chance):
    """Two queries at once whose processes are to listen at the same ports."""
    hosts = home / "hosts.toml"
    port = free_port(chance)
    hosts.write_text(f'workers = 1\n[[host]]\naddress = "127.0.0.1"\nname = "local-0"\nport = {port}\n')
    runs = [Run(palais, data, hosts=hosts) for _ in range(2)]
    outcomes = [run.finish(60) for run in runs]
    for code, out, err in outcomes:
        if code == 0 and out != expected or code != 0 and (code != 1 or "local-0" not in err):
            raise Broken(f"exit code {code}: {err}")
    codes = [code for code, _, _ in outcomes]
    if 0 not in codes:
        raise Broken(f"neither has an answer: {outcomes}")
    return "one has the answer, the other an error" if 1 in codes else "right answers, one after the other"


def over_the_network(palais, data, expected, net, fault, chance, longest):
    """Something happens to the network between three hosts, and is undone when the query has ended."""
    harm, heal = fault(chance)
    run = Run(palais, data, hosts=net.file)
    time.sleep(chance.uniform(0, longest))
    try:
        done, why = shell(harm)
        if not done:
            raise Broken(f"the fault can't be made: {why}")
        code, out, err = run.finish(longest * 5 + SOON + 5)
    finally:
        shell(heal)
    if code == 0:
        if out != expected:
            raise Broken("code 0 and another answer")
        return "right answer"
    if code != 1 or not err.startswith("error: h") or not expected.startswith(out):
        raise Broken(f"exit code {code}, and {len(out)} bytes of an answer: {err}")
    if fault == net.lose:
        raise Broken(f"some packets are too many: {err}")
    return "error that names the host"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("palais")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    palais, chance = str(Path(args.palais).resolve()), random.Random(args.seed)
    with tempfile.TemporaryDirectory() as home, Net(Path(home)) as net:
        home = Path(home)
        data = home / "data"
        made = [palais, "generate", data, "--rankings", "30000", "--uservisits", "600000", "--to", "csv", "--parts", "6"]
        subprocess.run(made, check=True, stderr=subprocess.DEVNULL)
        start = time.monotonic()
        code, expected, err = Run(palais, data).finish(60)
        longest = time.monotonic() - start
        alone = subprocess.run([palais, "query", SQL, "--data", data], capture_output=True, text=True, check=True)
        if code != 0 or expected != alone.stdout:
            raise Broken(f"without a fault: exit code {code}: {err}")
        groups = len(expected.splitlines()) - 1
        others = {
            "there is too little memory": lambda: without_memory(palais, data, expected, chance),
            "files are cut short": lambda: without_a_file(palais, data, home, chance),
            "the disk is full": lambda: on_a_full_disk(palais, data, home, chance),
            "a process is killed, with --retries": lambda: retried(palais, data, expected, chance, longest),
            "a process is started twice": lambda: started_twice(palais, data, home, expected, chance),
        }
        killed = {
            "a process is killed": to_process("SIGKILL"),
            "all processes are killed": all_processes,
            "the coordinator is killed": to_coordinator("SIGKILL"),
        }
        for name, harm in killed.items():
            others[f"{name} while all write"] = lambda harm=harm: copied(
                palais, data, home, chance, longest, groups, harm
            )
        faults = {"a link is cut": net.cut, "packets are dropped": net.drop, "some packets are lost": net.lose}
        for name, fault in faults.items():
            if net.missing:
                print(f"left out: {name}: hosts can't be made here: {net.missing}")
            else:
                others[name] = lambda fault=fault: over_the_network(
                    palais, data, expected, net, fault, chance, longest * 1.1
                )
        outcomes = collections.Counter()
        for number in range(args.runs):
            name = chance.choice([*FAULTS, *others])
            try:
                if name in others:
                    outcome = others[name]()
                else:
                    outcome = faulty(palais, data, expected, name, chance, longest * 1.1)
                if number % 10 == 0:
                    code, out, err = Run(palais, data).finish(60)
                    if code != 0 or out != expected:
                        raise Broken(f"the query after it: exit code {code}: {err}")
            except Broken as broken:
                sys.exit(f"run {number}, {name}: {broken}")
            outcomes[name, outcome] += 1
        for (name, outcome), count in sorted(outcomes.items()):
            print(f"{count:4} {name}: {outcome}")
        print(f"{args.runs} of {args.runs} runs as promised; without a fault the query takes {longest:.2f} s")


if __name__ == "__main__":
    main()
