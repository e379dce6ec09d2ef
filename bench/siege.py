"""make bench/siege: calls of one client while 10,000 hostile connections of every kind attack the node.

siege.py PROGRAM                      the whole siege: 1,000 calls, a memory limit of 512 MiB; about 70 s
siege.py PROGRAM --short              200 connections and 50 calls, judged without any duration (make test)
siege.py PROGRAM --only readyz=1000   one kind of attack, or several, with so many connections each

The node requires tokens. The attackers come from 127.0.0.2 and on. Part of them has the tokens of a tenant, for the
queues siege and siege-empty; the client has its own token, and one connection from 127.0.0.1, which it opens during the
attack. A call is refused if its answer has another status than 200 or 201, has the wrong content, or does not come.

Exits with 1 if a bar is missed: a call refused, the node ended or too large, and, in the whole siege, too slow.
"""

import argparse
import http.client
import json
import math
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

MEMORY_LIMIT = 512 << 20
PEERS = 50
PROCESSES = 2
CALLS_PER_SECOND = 25
BIG_TASKS = 40
BIG_SPEC = 250_000  # so that a page of all big tasks has 10 MB
ATTACK_S = 150      # at most; the attackers then end by themselves
CALL_S = 5          # a call without an answer for so long is refused
PATIENCE_S = 60     # the same in the short siege, which judges no duration
QUIET_S = 0.1       # a call takes less on a node that has recovered
RECOVERY_S = 60     # at most
WATCH_S = 0.05      # between two looks at the node
PAGE = os.sysconf("SC_PAGE_SIZE")
SPARE_FILES = 10    # that a recovered node may have open beyond those before the attack

WHOLE = {"unread_lists": 900, "unread_claims": 100, "unread_pages": 1000, "bodies": 750, "stranger_bodies": 750,
         "heads": 1000, "idle": 1500, "streams": 1000, "waits": 1000, "readyz": 1000, "guesses": 1000}
SHORT = {"unread_lists": 60, "unread_claims": 10, "unread_pages": 20, "bodies": 15, "stranger_bodies": 15,
         "heads": 15, "idle": 15, "streams": 15, "waits": 15, "readyz": 10, "guesses": 10}
BARS = {"siege.refused": 0, "siege.p99_ms": 1000, "siege.rss_mb": 256, "siege.recovered_s": 5}
WITHOUT_DURATION = ("siege.refused", "siege.rss_mb")


class Node:
    """`horae serve` on SQLite, with tokens, in a folder."""

    def __init__(self, program, folder):
        self.program = program
        self.data = f"{folder}/data"
        self.log = pathlib.Path(folder, "log")
        self.tokens = {"client": self.create_token("admin"),
                       "submit": self.create_token("submit", "--queues", "siege*"),
                       "work": self.create_token("work", "--queues", "siege*")}
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [program, "serve", "--data", self.data, "--http-listen", "127.0.0.1:0",
                 "--http-require-token", "true", "--log-level", "warn"],
                stdout=subprocess.PIPE, stderr=log, text=True)
        self.port = 0
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found.group(1))
                break
        if not self.port:
            sys.exit(f"the node does not start: {self.last_words()}")

    def create_token(self, role, *more):
        command = [self.program, "token", "create", "--offline", "--data", self.data, "--name", role, "--role", role]
        printed = subprocess.run([*command, *more], check=True, capture_output=True, text=True).stdout
        return re.search(r"horae_t\S+", printed).group(0)

    def limit_memory(self):
        """Lets the node allocate what a limit of resident memory would allow: it may not use its stacks as a whole."""
        size, resident = self.status("VmData"), self.status("VmRSS")
        limit = size - resident + MEMORY_LIMIT
        resource.prlimit(self.process.pid, resource.RLIMIT_DATA, (limit, limit))

    def status(self, name):
        """A size in bytes of /proc/PID/status; 0 after the end of the node."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
                found = re.search(rf"^{name}:\s+(\d+) kB", status.read(), re.MULTILINE)
                return int(found.group(1)) * 1024 if found else 0
        except OSError:
            return 0

    def files(self):
        try:
            return len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except OSError:
            return 0

    def is_alive(self):
        return self.process.poll() is None

    def last_words(self):
        return self.log.read_text(encoding="utf-8", errors="replace")[-1000:]

    def stop(self):
        if self.is_alive():
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def kernel_mb():
    """What the kernel holds for all TCP connections of the machine: the buffers of both sides."""
    with open("/proc/net/sockstat", encoding="ascii") as sockstat:
        return int(re.search(r"^TCP:.* mem (\d+)", sockstat.read(), re.MULTILINE).group(1)) * PAGE / 1e6


class Watch(threading.Thread):
    """Notes peaks while the node lives; after its end its memory cannot be read."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.node = node
        self.ending = threading.Event()
        self.resident_mb = self.kernel_mb = 0.0
        self.files = 0
        self.start()

    def run(self):
        while not self.ending.wait(WATCH_S):
            self.look()

    def look(self):
        self.resident_mb = max(self.resident_mb, self.node.status("VmHWM") / 1e6)
        self.kernel_mb = max(self.kernel_mb, kernel_mb())
        self.files = max(self.files, self.node.files())

    def end(self):
        self.ending.set()
        self.join()
        self.look()


class Refused(Exception):
    """A call without the answer that it should have."""


class Client:
    """Calls on one connection, which is opened again after a failure."""

    def __init__(self, port, token, timeout=CALL_S):
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def call(self, method, path, body=None):
        """The body of the answer."""
        headers = dict(self.headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            self.http.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self.http.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as raised:
            self.http.close()
            raise Refused(f"{method} {path.split('?')[0][:12]}: {type(raised).__name__}") from None
        if answer.status not in (200, 201):
            raise Refused(f"{method} {path.split('?')[0][:12]}: {answer.status} {data[:200].decode()}")
        return json.loads(data)


class Mix:
    """The calls of the client: each task is submitted, looked up, claimed, completed, and listed with the others."""

    def __init__(self, client):
        self.client = client
        self.task = {}
        self.steps = (self.submit, self.get, self.claim, self.settle, self.list)

    def make(self, number):
        """Makes the call of this number, from 0."""
        self.steps[number % len(self.steps)]()

    def submit(self):
        self.task = {}
        self.task = self.client.call("POST", "/v1/tasks", {"queue": "client", "spec": {"text": "x" * 200}})

    def get(self):
        require("id" in self.task, "no task was submitted that could be looked up")
        found = self.client.call("GET", f"/v1/tasks/{self.task['id']}")
        require(found.get("state") == "ready", f"a task that was submitted is {found.get('state')}")

    def claim(self):
        self.task = {}
        claimed = self.client.call("POST", "/v1/claim", {"owner": "worker-c", "queues": ["client"], "max": 1})["tasks"]
        require(len(claimed) == 1, "a claim got no task, although one is ready")
        self.task = claimed[0]

    def settle(self):
        require("attempt" in self.task, "no task was claimed that could be completed")
        wish = {"event": "complete", "owner": "worker-c",
                **{name: self.task[name] for name in ("id", "number", "attempt")}}
        outcomes = self.client.call("POST", "/v1/settle", {"settlements": [wish]})["outcomes"]
        require("problem" not in outcomes[0], f"a settlement got {outcomes[0]}")

    def list(self):
        listed = self.client.call("GET", "/v1/tasks?queue=client&limit=20")["tasks"]
        require(len(listed) > 0, "a list has none of the client's tasks")


def require(is_met, what):
    if not is_met:
        raise Refused(what)


class Attackers:
    """Processes of siege_attackers.py; they end when this process does."""

    def __init__(self, node, connections):
        self.processes = []
        script = pathlib.Path(__file__).with_name("siege_attackers.py")
        for i in range(PROCESSES):
            share = {name: count * (i + 1) // PROCESSES - count * i // PROCESSES for name, count in connections.items()}
            process = subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True)
            self.processes.append(process)
            plan = {"port": node.port, "seconds": ATTACK_S, "connections": share, "first_peer": 2, "peers": PEERS,
                    "tokens": node.tokens}
            process.stdin.write(json.dumps(plan) + "\n")
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
                for what, count in counts.items():
                    sums.setdefault(name, {}).setdefault(what, 0)
                    sums[name][what] += count
        return sums


def prepare(node):
    """Submits the big tasks for which the attackers ask, and tries the mix once."""
    client = Client(node.port, node.tokens["client"])
    for i in range(BIG_TASKS):
        client.call("POST", "/v1/tasks", {"queue": "siege", "spec": {"n": i, "text": "x" * BIG_SPEC}})
    mix = Mix(client)
    for i in range(len(mix.steps)):
        mix.make(i)
    client.http.close()


def make_calls(node, count, timeout):
    """Makes the calls at their pace. The times in ms of those that were answered, and why the others were refused."""
    mix = Mix(Client(node.port, node.tokens["client"], timeout))
    times, refusals = [], []
    begun = time.monotonic()
    for i in range(count):
        time.sleep(max(0.0, begun + i / CALLS_PER_SECOND - time.monotonic()))
        sent = time.monotonic()
        try:
            if sent - begun > ATTACK_S / 2:
                raise Refused("no time is left for this call")
            mix.make(i)
            times.append((time.monotonic() - sent) * 1000)
        except Refused as refused:
            refusals.append(str(refused))
    return times, refusals


def is_quiet(node, files):
    """Whether the node serves as before the attack, on new connections, and holds no others."""
    if node.files() > files + SPARE_FILES:
        return False
    for token, path in (("", "/readyz"), (node.tokens["client"], "/v1/tasks?queue=client&limit=1")):
        client = Client(node.port, token)
        sent = time.monotonic()
        try:
            client.call("GET", path)
        except Refused:
            return False
        finally:
            client.http.close()
        if time.monotonic() - sent > QUIET_S:
            return False
    return True


def wait_until_quiet(node, files):
    """The seconds until the node has recovered."""
    begun = time.monotonic()
    while time.monotonic() - begun < RECOVERY_S and node.is_alive() and not is_quiet(node, files):
        time.sleep(0.05)
    return time.monotonic() - begun if node.is_alive() else float(RECOVERY_S)


def percentile(times, share):
    return sorted(times)[math.ceil(len(times) * share) - 1] if times else float("inf")


def summary(counts):
    """`what count`, the most frequent first."""
    return ", ".join(f"{what} {count}" for what, count in sorted(counts.items(), key=lambda item: -item[1]))


def besiege(node, arguments):
    """Attacks the node; the figures by their names."""
    prepare(node)
    if arguments.memory_limit:
        node.limit_memory()
    files = node.files()
    watch = Watch(node)
    connections = arguments.only or (SHORT if arguments.short else WHOLE)
    attackers = Attackers(node, connections)
    try:
        attackers.wait_until_attacking()
        times, refusals = make_calls(node, arguments.calls, PATIENCE_S if arguments.short else CALL_S)
    finally:
        ends = attackers.end()
    recovered = wait_until_quiet(node, files)
    watch.end()
    for name, counts in ends.items():
        print(f"{name} {connections[name]}: {summary(counts)}")
    reasons = {}
    for reason in refusals:
        reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in reasons.items():
        print(f"{count} calls refused: {reason}")
    print(f"{sum(connections.values())} hostile connections, at most {watch.files - files} open at the node; "
          f"calls: p50 {percentile(times, 0.5):.1f} ms, longest {max(times, default=0):.1f} ms")
    if not node.is_alive():
        print(f"the node ended with {node.process.returncode}: {node.last_words()}")
    return {"siege.refused": len(refusals), "siege.p99_ms": percentile(times, 0.99),
            "siege.rss_mb": watch.resident_mb, "siege.recovered_s": recovered, "siege.kernel_mb": watch.kernel_mb}


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--calls", type=int)
    parser.add_argument("--only", type=lambda text: {name: int(count) for name, count in
                                                     (each.split("=") for each in text.split(","))})
    parser.add_argument("--no-memory-limit", dest="memory_limit", action="store_false",
                        help="for a program with a sanitizer, which needs more")
    arguments = parser.parse_args()
    arguments.calls = arguments.calls or (50 if arguments.short else 1000)
    return arguments


def main():
    arguments = read_arguments()
    with tempfile.TemporaryDirectory() as folder:
        node = Node(arguments.program, folder)
        try:
            figures = besiege(node, arguments)
            was_alive = node.is_alive()
        finally:
            node.stop()
    for name, value in figures.items():
        print(f"result {name} {value:.0f}" if name == "siege.refused" else f"result {name} {value:.2f}")
    bars = {name: bar for name, bar in BARS.items()
            if (name in WITHOUT_DURATION or not arguments.short)
            and (arguments.memory_limit or name != "siege.rss_mb")}
    missed = [name for name, bar in bars.items() if figures[name] > bar]
    if not was_alive:
        missed.insert(0, "the node ended")
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


main()
