"""make bench/memory: resident memory of a node after ten thousand lives, and after a million and 100,000 connections.

memory.py PROGRAM                          on SQLite
memory.py PROGRAM --postgres HELPER        on a PostgreSQL that private_postgres starts and ends
memory.py PROGRAM --store postgresql://... on one that is there, in an empty database
"""

import argparse
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile

BATCH = 1000
FEW = 10_000
MANY = 1_000_000
CONNECTIONS = 100_000


class Node:
    """`horae serve` on a store."""

    def __init__(self, program, store):
        self.process = subprocess.Popen(
            [program, "serve", "--store", store, "--http-listen", "127.0.0.1:0", "--slots-count", "0",
             "--log-level", "warn"],
            stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found.group(1))
                break
        self.http = http.client.HTTPConnection("127.0.0.1", self.port)

    def call(self, path, body):
        """The body of the response to a POST."""
        self.http.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = self.http.getresponse()
        data = answer.read()
        if answer.status >= 300:
            sys.exit(f"{path}: {answer.status} {data[:300]}")
        return json.loads(data)

    def live(self, count):
        """Runs `count` whole lives, in batches."""
        tasks = [{"queue": "bench", "spec": {"n": i}} for i in range(BATCH)]
        for _ in range(count // BATCH):
            self.call("/v1/tasks/batch", {"tasks": tasks})
            completed = 0
            while completed < BATCH:  # a claim may get fewer
                completed += self.complete_some()

    def complete_some(self):
        """Claims and completes a batch; returns its size."""
        claim = {"owner": "worker-m", "queues": ["bench"], "max": BATCH, "wait": "10s"}
        claimed = self.call("/v1/claim", claim)["tasks"]
        if not claimed:
            sys.exit("tasks that were submitted cannot be claimed")
        self.call("/v1/settle", {"settlements": [
            {"event": "complete", "id": task["id"], "number": task["number"], "attempt": task["attempt"],
             "owner": "worker-m"} for task in claimed]})
        return len(claimed)

    def connect(self, count):
        """Makes `count` connections with one request each, one at a time."""
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        for _ in range(count):
            with socket.create_connection(("127.0.0.1", self.port)) as connection:
                connection.sendall(request)
                while connection.recv(4096):
                    pass

    def resident(self):
        """Resident memory in megabytes."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self):
        """Stops the node by SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


@contextlib.contextmanager
def a_store(arguments):
    """The URL of a temporary store, or of the given one."""
    if arguments.store:
        yield arguments.store
    elif arguments.postgres:
        with subprocess.Popen([arguments.postgres], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            yield server.stdout.readline().strip()
            server.stdin.close()
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:{folder}/horae.db"


def read_arguments():
    """Of the command line; the numbers are smaller only to try the script itself."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--store")
    parser.add_argument("--postgres")
    parser.add_argument("--few", type=int, default=FEW)
    parser.add_argument("--many", type=int, default=MANY)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    return parser.parse_args()


def main():
    arguments = read_arguments()
    with a_store(arguments) as store:
        node = Node(arguments.program, store)
        try:
            node.live(arguments.few)
            few = node.resident()
            node.live(arguments.many - arguments.few)
            lived = node.resident()
            node.connect(arguments.connections)
            many = node.resident()
        finally:
            node.stop()
    name = "http.memory.pg" if store.startswith("postgres") else "http.memory"
    print(f"result {name}.after_10k_mb {few:.1f}")
    print(f"result {name}.after_1m_mb {lived:.1f}")
    print(f"result {name}.after_1m_and_100k_connections_mb {many:.1f}")
    print(f"result {name}.growth {many / few:.3f}")


main()
