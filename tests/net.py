"""Three hosts on this machine for soak.py: network namespaces on a bridge, which root can make."""

import fcntl
import os
import subprocess
import tempfile
from pathlib import Path

# Tells them from those of others, in names of devices.
NAME = "plsoak"
HOSTS = (1, 2, 3)


def shell(command):
    """Whether it succeeds, and what it says if not."""
    done = subprocess.run(["sh", "-ec", command], capture_output=True, text=True)
    return done.returncode == 0, done.stderr.strip()


def address(host):
    return f"10.79.0.{host}"


class Net:
    """The hosts h1 to h3. `missing` says why there are none, where they can't be made."""

    def __init__(self, home):
        self.missing, self.turn = "it needs root", None
        if os.geteuid() != 0:
            return
        # Of several runs one has the names of the machine at a time.
        self.turn = open(Path(tempfile.gettempdir()) / f"{NAME}.lock", "w")
        fcntl.flock(self.turn, fcntl.LOCK_EX)
        self.clear()
        made = f"""
            ip link add {NAME} type bridge
            ip addr add {address(254)}/24 dev {NAME}
            ip link set {NAME} up
            for i in 1 2 3; do
              ip netns add {NAME}-$i
              ip link add {NAME}v$i type veth peer name eth0 netns {NAME}-$i
              ip link set {NAME}v$i master {NAME} up
              ip -n {NAME}-$i addr add 10.79.0.$i/24 dev eth0
              ip -n {NAME}-$i link set eth0 up
              ip -n {NAME}-$i link set lo up
            done
            ip netns exec {NAME}-1 ping -c 1 -W 5 {address(2)} > /dev/null || true
            {self.dropping(1, [])}
            {self.passing(1)}"""
        done, why = shell(made)
        self.missing = None if done else why.splitlines()[-1] if why else "it failed without a word"
        self.file = home / "net.toml"
        launch = lambda host: f'launch = ["ip", "netns", "exec", "{NAME}-{host}"]'
        entries = [f'[[host]]\nname = "h{host}"\naddress = "{address(host)}"\n{launch(host)}\n' for host in HOSTS]
        self.file.write_text("workers = 1\n" + "".join(entries))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.turn:
            self.clear()
            self.turn.close()

    def clear(self):
        """Removes them, and what a run before this one may have left."""
        hosts = f"for i in 1 2 3; do ip netns del {NAME}-$i || true; ip link del {NAME}v$i || true; done"
        shell(f"{hosts}; ip link del {NAME} || true")

    def dropping(self, host, rules):
        """The command by which nftables drop packets of a host."""
        rules = "\n".join(f"add rule inet palais {rule} drop" for rule in rules)
        return f"""ip netns exec {NAME}-{host} nft -f - <<'rules'
add table inet palais
add chain inet palais in {{ type filter hook input priority 0; }}
add chain inet palais out {{ type filter hook output priority 0; }}
{rules}
rules
"""

    def passing(self, host):
        """The command by which they drop none any more."""
        return f"ip netns exec {NAME}-{host} nft delete table inet palais"

    def cut(self, chance):
        """A link that goes down; what does it, and what undoes it."""
        host = chance.choice(HOSTS)
        return f"ip link set {NAME}v{host} down", f"ip link set {NAME}v{host} up"

    def drop(self, chance):
        """Packets that are dropped: all of a host, those from another one, or those to it."""
        host, other = chance.sample(HOSTS, 2)
        rules = chance.choice(
            [
                ["in iifname eth0", "out oifname eth0"],
                [f"in ip saddr {address(other)}"],
                [f"out ip daddr {address(other)}"],
            ]
        )
        return self.dropping(host, rules), self.passing(host)

    def lose(self, chance):
        """One packet in fifty of a host, which only makes it slower."""
        host = chance.choice(HOSTS)
        return self.dropping(host, ["in iifname eth0 numgen random mod 50 == 0"]), self.passing(host)
