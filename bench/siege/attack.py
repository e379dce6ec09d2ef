"""One attack on a node: the attackers' processes, the client's calls meanwhile, and the recovery."""

import json
import pathlib
import subprocess
import sys
from typing import NamedTuple

from client import make_calls, wait_until_quiet
from node import Watch

PROCESSES = 2
ATTACK_S = 150  # at most; the attackers then end by themselves


class Plan(NamedTuple):
    """How an attack goes."""

    connections: dict  # how many of each kind
    calls: int         # of the client
    patience_s: float  # a call without an answer for so long is refused
    peers: int = 50    # addresses of the attackers: 127.0.0.2 and on
    seed: int = 0


class Outcome(NamedTuple):
    """What an attack did."""

    times_ms: list      # of the calls that were answered
    refusals: list      # why the others were refused
    ends: dict          # for each kind of hostile connection: how many answers, ends, open connections
    recovered_s: float
    connections: int    # most that the node had open
    resident_mb: float  # peak of the node's memory
    kernel_mb: float    # peak of the kernel's buffers for TCP


class Attackers:
    """Processes of attackers.py; they end when this process does."""

    def __init__(self, node, plan):
        self.processes = []
        script = pathlib.Path(__file__).with_name("attackers.py")
        for i in range(PROCESSES):
            share = {name: count * (i + 1) // PROCESSES - count * i // PROCESSES
                     for name, count in plan.connections.items()}
            process = subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True)
            self.processes.append(process)
            order = {"port": node.port, "seconds": ATTACK_S, "connections": share, "first_peer": 2,
                     "peers": plan.peers, "seed": plan.seed * PROCESSES + i, "tenants": node.tenants}
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()

    def wait_until_attacking(self):
        for process in self.processes:
            process.stdout.readline()

    def end(self):
        """What happened to the connections of each kind."""
        sums = {}
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            printed = process.stdout.read()
            process.wait()
            for name, counts in (json.loads(printed) if printed else {}).items():
                kind = sums.setdefault(name, {})
                for what, count in counts.items():
                    kind[what] = kind.get(what, 0) + count
        return sums


def attack(node, plan):
    """Attacks the node while the client makes its calls; returns when the node has recovered, or does not."""
    files = node.files()
    watch = Watch(node)
    attackers = Attackers(node, plan)
    try:
        attackers.wait_until_attacking()
        times, refusals = make_calls(node, plan.calls, plan.patience_s, ATTACK_S / 2)
    finally:
        ends = attackers.end()
    recovered = wait_until_quiet(node, files)
    watch.end()
    return Outcome(times, refusals, ends, recovered, watch.files - files, watch.resident_mb, watch.kernel_mb)
