"""make bench/siege: calls of one client while 10,000 hostile connections of every kind attack the node.

siege.py PROGRAM                      the whole siege: 1,000 calls, a memory limit of 512 MiB; about 80 s
siege.py PROGRAM --short              200 connections and 50 calls, judged without any duration (make test)
siege.py PROGRAM --only readyz=1000   one kind of attack, or several, with so many connections each

The node requires tokens. The attackers come from 127.0.0.2 and on. Part of them has the tokens of a tenant, for the
queues siege and siege-empty; the client has its own token, and one connection from 127.0.0.1, which it opens during the
attack. A call is refused if its answer has another status than 200 or 201, has the wrong content, or does not come.

Exits with 1 if a bar is missed: a call refused, the node ended or too large, and, in the whole siege, too slow.
"""

import argparse
import math
import sys
import tempfile

from attack import Plan, attack
from client import CALL_S, prepare
from node import MEMORY_LIMIT, Node

WHOLE = {"unread_lists": 900, "unread_claims": 100, "unread_pages": 1000, "bodies": 750, "stranger_bodies": 750,
         "heads": 1000, "idle": 1500, "streams": 1000, "waits": 1000, "readyz": 1000, "guesses": 1000}
SHORT = {"unread_lists": 60, "unread_claims": 10, "unread_pages": 20, "bodies": 15, "stranger_bodies": 15,
         "heads": 15, "idle": 15, "streams": 15, "waits": 15, "readyz": 10, "guesses": 10}
WHOLE_CALLS = 1000
SHORT_CALLS = 50
PATIENCE_S = 60  # for a call in the short siege, which judges no duration
BARS = {"siege.refused": 0, "siege.p99_ms": 1000, "siege.rss_mb": 256, "siege.recovered_s": 5}
DURATIONS = ("siege.p99_ms", "siege.recovered_s")


def percentile(times, share):
    return sorted(times)[math.ceil(len(times) * share) - 1] if times else float("inf")


def summary(counts):
    """`what count`, the most frequent first."""
    return ", ".join(f"{what} {count}" for what, count in sorted(counts.items(), key=lambda item: -item[1]))


def describe(plan, outcome):
    """Prints what happened to the attackers and to the client."""
    for name, counts in outcome.ends.items():
        print(f"{name} {plan.connections[name]}: {summary(counts)}")
    for reason in sorted(set(outcome.refusals)):
        print(f"{outcome.refusals.count(reason)} calls refused: {reason}")
    times = outcome.times_ms
    print(f"{sum(plan.connections.values())} hostile connections, at most {outcome.connections} open at the node; "
          f"calls: p50 {percentile(times, 0.5):.1f} ms, longest {max(times, default=0):.1f} ms")


def besiege(node, plan, memory_limit):
    """Attacks the node; the figures by their names. A limit of 0 is none."""
    prepare(node)
    if memory_limit:
        node.limit_memory(memory_limit)
    outcome = attack(node, plan)
    describe(plan, outcome)
    if not node.is_alive():
        print(f"the node ended with {node.process.returncode}: {node.last_words()}")
    return {"siege.refused": len(outcome.refusals), "siege.p99_ms": percentile(outcome.times_ms, 0.99),
            "siege.rss_mb": outcome.resident_mb, "siege.recovered_s": outcome.recovered_s,
            "siege.kernel_mb": outcome.kernel_mb}


def numbers(text):
    """{"readyz": 100, "idle": 10} of readyz=100,idle=10."""
    return {name: int(count) for name, count in (each.split("=") for each in text.split(","))}


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", type=numbers)
    parser.add_argument("--calls", type=int)
    parser.add_argument("--peers", type=int, default=Plan._field_defaults["peers"])
    parser.add_argument("--tenants", type=int, default=1, help="among which the hostile connections with a token divide")
    parser.add_argument("--memory-mib", type=int, default=MEMORY_LIMIT >> 20,
                        help="a small limit makes allocations fail; 0, for a program with a sanitizer, is none, and then "
                             "its memory is not judged")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    plan = Plan(connections=arguments.only or (SHORT if arguments.short else WHOLE),
                calls=arguments.calls or (SHORT_CALLS if arguments.short else WHOLE_CALLS),
                patience_s=PATIENCE_S if arguments.short else CALL_S,
                peers=arguments.peers)
    with tempfile.TemporaryDirectory() as folder:
        node = Node(arguments.program, folder, arguments.tenants)
        try:
            figures = besiege(node, plan, arguments.memory_mib << 20)
            was_alive = node.is_alive()
        finally:
            node.stop()
    for name, value in figures.items():
        print(f"result {name} {value:.0f}" if name == "siege.refused" else f"result {name} {value:.2f}")
    judged = [name for name in BARS if not (arguments.short and name in DURATIONS)
              and (arguments.memory_mib or name != "siege.rss_mb")]
    missed = ([] if was_alive else ["the node ended"]) + [name for name in judged if figures[name] > BARS[name]]
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


main()
