"""make siege/soak: one node, attack after attack of random kinds and sizes for MINUTES; prints the seeds that hurt.

soak.py PROGRAM --minutes 30             attacks of random seeds
soak.py PROGRAM --seed 42 --rounds 1     the attack of this seed again; others of the seeds after it

After each attack the node must be as before: alive, every call of the client answered, recovered in time, its memory
below the bar. A node that ended is started again, so that further attacks are tried. Exits with 1 after a failure.
"""

import argparse
import random
import sys
import tempfile
import time

from attack import Plan, attack
from attackers import NAMES
from client import CALL_S, prepare
from node import Node

MOST_CONNECTIONS = 10_000
MOST_PEERS = 250
CALLS = 250
MOST_MB = 256
MOST_RECOVERY_S = 5
SLOW_MS = 1000


def plan_of(seed):
    """Up to five kinds at a time, in any proportion; a third of the attacks come from a few addresses."""
    chance = random.Random(seed)
    names = chance.sample(NAMES, chance.randint(1, 5))
    weights = [chance.random() ** 2 + 0.01 for _ in names]
    total = chance.choice((200, 1000, 3000, MOST_CONNECTIONS))
    connections = {name: max(1, int(total * weight / sum(weights))) for name, weight in zip(names, weights)}
    peers = chance.randint(1, 5) if chance.random() < 1 / 3 else chance.randint(6, MOST_PEERS)
    return Plan(connections=connections, calls=CALLS, patience_s=CALL_S, peers=peers, seed=seed)


def faults_of(node, outcome):
    """What broke, as short texts."""
    faults = [] if node.is_alive() else [f"the node ended with {node.process.returncode}"]
    for reason in sorted(set(outcome.refusals)):
        faults.append(f"{outcome.refusals.count(reason)} calls refused: {reason}")
    slow = sum(1 for each in outcome.times_ms if each > SLOW_MS)
    if slow > len(outcome.times_ms) / 100:
        faults.append(f"{slow} calls took more than {SLOW_MS} ms")
    if outcome.recovered_s > MOST_RECOVERY_S:
        faults.append(f"recovered after {outcome.recovered_s:.1f} s")
    if outcome.resident_mb > MOST_MB:
        faults.append(f"{outcome.resident_mb:.0f} MB resident")
    return faults


class Soak:
    """Attacks of one seed after the other."""

    def __init__(self, program):
        self.program = program
        self.failed = []
        self.ended = 0
        self.rounds = 0
        self.resident_mb = []  # after each attack

    def run(self, seed, end, rounds):
        while time.monotonic() < end and self.rounds < rounds:
            with tempfile.TemporaryDirectory() as folder:
                node = Node(self.program, folder)
                try:
                    prepare(node)
                    node.limit_memory()
                    while node.is_alive() and time.monotonic() < end and self.rounds < rounds:
                        self.attack(node, seed + self.rounds)
                finally:
                    node.stop()

    def attack(self, node, seed):
        plan = plan_of(seed)
        outcome = attack(node, plan)
        self.rounds += 1
        left = node.status("VmRSS") / 1e6
        self.resident_mb.append(left)
        kinds = ", ".join(f"{name} {count}" for name, count in plan.connections.items())
        print(f"seed {seed}: {kinds}, from {plan.peers} addresses: peak {outcome.resident_mb:.0f} MB, then {left:.0f} MB",
              flush=True)
        faults = faults_of(node, outcome)
        if faults:
            self.failed.append(seed)
        if not node.is_alive():
            self.ended += 1
            faults.append(node.last_words())
        for fault in faults:
            print(f"  FAILED {fault}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    arguments = parser.parse_args()
    seed = random.randrange(1_000_000) if arguments.seed is None else arguments.seed
    soak = Soak(arguments.program)
    soak.run(seed, time.monotonic() + arguments.minutes * 60, arguments.rounds)
    print(f"result siege.soak.attacks {soak.rounds}")
    print(f"result siege.soak.failed {len(soak.failed)}")
    print(f"result siege.soak.node_ended {soak.ended}")
    print(f"result siege.soak.rss_mb_at_the_end {soak.resident_mb[-1] if soak.resident_mb else 0:.1f}")
    if soak.failed:
        sys.exit(f"failed: seeds {', '.join(map(str, soak.failed))}")


main()
