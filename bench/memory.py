"""make bench/memory: resident memory of a node after ten thousand lives, and after a million and 100,000 connections."""

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
    """`horae serve` on SQLite in a folder of its own."""

    def __init__(self, program, folder):
        self.process = subprocess.Popen(
            [program, "serve", "--data", folder, "--http-listen", "127.0.0.1:0", "--slots-count", "0",
             "--log-level", "warn"],
            stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found.group(1))
                break
        self.http = http.client.HTTPConnection("127.0.0.1", self.port)

    def call(self, path, body):
        """The answer to a POST."""
        self.http.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = self.http.getresponse()
        data = answer.read()
        if answer.status >= 300:
            sys.exit(f"{path}: {answer.status} {data[:300]}")
        return json.loads(data)

    def live(self, count):
        """Whole lives, by batches."""
        tasks = [{"queue": "bench", "spec": {"n": i}} for i in range(BATCH)]
        for _ in range(count // BATCH):
            self.call("/v1/tasks/batch", {"tasks": tasks})
            claimed = self.call("/v1/claim", {"owner": "worker-m", "queues": ["bench"], "max": BATCH})["tasks"]
            self.call("/v1/settle", {"settlements": [
                {"event": "complete", "id": task["id"], "number": task["number"], "attempt": task["attempt"],
                 "owner": "worker-m"} for task in claimed]})

    def connect(self, count):
        """So many connections, each with one request, one after the other."""
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        for _ in range(count):
            with socket.create_connection(("127.0.0.1", self.port)) as connection:
                connection.sendall(request)
                while connection.recv(4096):
                    pass

    def resident(self):
        """Megabytes."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self):
        """By SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def main():
    with tempfile.TemporaryDirectory() as folder:
        node = Node(sys.argv[1], folder)
        try:
            node.live(FEW)
            few = node.resident()
            node.live(MANY - FEW)
            lived = node.resident()
            node.connect(CONNECTIONS)
            many = node.resident()
        finally:
            node.stop()
    print(f"result http.memory.after_10k_mb {few:.1f}")
    print(f"result http.memory.after_1m_mb {lived:.1f}")
    print(f"result http.memory.after_1m_and_100k_connections_mb {many:.1f}")
    print(f"result http.memory.growth {many / few:.3f}")


main()
