"""make bench/slots: how a node's own slots share work, serve what is urgent, and how many empty tasks they run.

slots.py PROGRAM --postgres HELPER                   HELPER is private_postgres
slots.py PROGRAM --postgres HELPER --before PROGRAM  the same of another build, in turns, as slots.before.*
slots.py ... --short                                 shorter tasks, and fewer
"""

import argparse
import contextlib
import datetime
import http.client
import json
import re
import signal
import subprocess
import sys
import tempfile
import time

BATCH = 1000
SLOTS = 8


class Node:
    """`horae serve` on a store."""

    def __init__(self, program, store):
        self.process = subprocess.Popen(
            [program, "serve", "--store", store, "--http-listen", "127.0.0.1:0", "--slots-count", str(SLOTS),
             "--postgres-allow-unsafe", "fsync,full_page_writes,synchronous_commit", "--log-level", "warn"],
            stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                self.http = http.client.HTTPConnection("127.0.0.1", int(found.group(1)))
                return
        sys.exit("the node does not start")

    def call(self, method, path, body=None):
        """The body of a response."""
        self.http.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        answer = self.http.getresponse()
        data = answer.read()
        if answer.status >= 300:
            sys.exit(f"{path}: {answer.status} {data[:300]}")
        return json.loads(data)

    def submit(self, count, length, priority=50):
        """Submits tasks that sleep; returns their ids."""
        task = {"queue": "demo", "priority": priority, "spec": {"run": "sleep", "for": length}}
        outcomes = self.call("POST", "/v1/tasks/batch", {"tasks": [task] * count})["outcomes"]
        return [outcome["id"] for outcome in outcomes]

    def wait_for(self, ids):
        """Waits until the tasks are completed, and returns the seconds from the first submit to the last end."""
        tasks = []
        while len(tasks) < len(ids):
            task = self.call("GET", f"/v1/tasks/{ids[len(tasks)]}")
            if task["state"] == "completed":
                tasks.append(task)
            else:
                time.sleep(0.02)
        return max(at(task["updated_at"]) for task in tasks) - min(at(task["created_at"]) for task in tasks)

    def completed(self):
        """How many tasks were completed."""
        return self.call("GET", "/v1/queues/demo")["completed"]

    def stop(self):
        """Stops the node by SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def at(text):
    """Seconds since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


@contextlib.contextmanager
def nodes(program, count, store):
    """Nodes that have settled down."""
    running = [Node(program, store) for _ in range(count)]
    try:
        time.sleep(2)  # they look for one another once a second
        yield running
    finally:
        for node in running:
            node.stop()


@contextlib.contextmanager
def sqlite():
    """The URL of an empty database."""
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:{folder}/horae.db"


@contextlib.contextmanager
def postgres(helper):
    """The URL of an empty database on a server of its own."""
    with subprocess.Popen([helper], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().strip()
        server.stdin.close()


def makespan_ratio(program, helper, seconds):
    """As many tasks as two nodes have slots: their time together against that of one."""
    with postgres(helper) as store, nodes(program, 2, store) as both:
        return both[0].wait_for(both[0].submit(2 * SLOTS, f"{seconds}s")) / seconds


def urgent_wait(program, seconds):
    """How long an urgent task waits while low ones fill the slots, and as many wait. In milliseconds."""
    with sqlite() as store, nodes(program, 1, store) as (node,):
        node.submit(2 * SLOTS, f"{seconds}s", priority=10)
        time.sleep(seconds / 4)
        return 1000 * node.wait_for(node.submit(1, "0s", priority=255))


def sleep0_rate(program, store, count):
    """Empty tasks that one node runs in a second."""
    with nodes(program, 1, store) as (node,):
        node.call("POST", "/v1/scheduler/stop")
        for _ in range(count // BATCH):
            node.submit(BATCH, "0s")
        begun = time.monotonic()
        node.call("POST", "/v1/scheduler/start")
        while node.completed() < count:
            time.sleep(0.02)
        return count / (time.monotonic() - begun)


def measure(program, arguments, name):
    """Prints the results of one program."""
    seconds = 1 if arguments.short else 4
    count = 4 * BATCH if arguments.short else 20 * BATCH
    print(f"result {name}.two_nodes.makespan_ratio {makespan_ratio(program, arguments.postgres, seconds):.3f}")
    print(f"result {name}.urgent_wait_ms {urgent_wait(program, seconds):.0f}")
    print(f"result {name}.urgent_limit_ms {1000 * seconds + 100}")
    with sqlite() as store:
        print(f"result {name}.sleep0_per_s {sleep0_rate(program, store, count):.0f}")
    with postgres(arguments.postgres) as store:
        print(f"result {name}.pg.sleep0_per_s {sleep0_rate(program, store, count):.0f}", flush=True)


def main():
    """Measures the program, and the one to compare with."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--postgres", required=True)
    parser.add_argument("--before")
    parser.add_argument("--short", action="store_true")
    arguments = parser.parse_args()
    measure(arguments.program, arguments, "slots")
    if arguments.before:
        measure(arguments.before, arguments, "slots.before")


main()
