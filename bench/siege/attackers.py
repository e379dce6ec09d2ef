"""The attackers of a siege: thousands of hostile connections from one process, without threads.

Reads its plan, a line of JSON, from its input; prints "attacking" once each connection was made or refused; attacks
until its input ends or its time is over; then prints what happened to each kind of connection as a line of JSON. A
connection that the node closes is opened again after a second.
"""

import collections
import errno
import json
import os
import random
import select
import socket
import sys
import time
from typing import Callable, NamedTuple

IP_BIND_ADDRESS_NO_PORT = 24  # of <linux/in.h>: the port is chosen when the connection is made
RETRY_S = 1.0
OPENED_PER_SECOND = 1000
TICK_S = 0.02
MOST_EVENTS = 1000  # between two looks at the clock
WARM_UP_S = 20.0  # at most, until it prints that it attacks: the node may leave connections in the kernel's backlog
LIFE_S = (20.0, 40.0)  # of a connection that does not read: it may not notice that the node has closed it
SMALL_BUFFER = 4096    # of a connection that does not read
BODY = b'{"queue":"siege","spec":{"text":"' + b"x" * 200_000  # of a million bytes that are announced
NAMES = ("unread_lists", "unread_claims", "unread_pages", "bodies", "stranger_bodies", "heads", "idle", "streams",
         "waits", "readyz", "guesses", "chunks", "garbage")


class Kind(NamedTuple):
    """What one kind of hostile connection sends, and what it does with the answers."""

    request: Callable[[], bytes]
    reads: bool
    repeats: bool  # sends the next request after each answer


def get(path, token=""):
    """A request without a body."""
    access = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{access}\r\n".encode()


def post(path, body, token="", length=None):
    """A request with a body, which may be announced longer than it is."""
    access = f"Authorization: Bearer {token}\r\n" if token else ""
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{access}Content-Type: application/json\r\n"
            f"Content-Length: {len(body) if length is None else length}\r\n\r\n").encode() + body


def chunked(path, body, token):
    """A request of which the last chunk is missing."""
    chunks = b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n"
                      for part in (body[i:i + 1000] for i in range(0, len(body), 1000)))
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n").encode() + chunks


def kinds_of(tokens):
    """All kinds, by name. `tokens` are those of a hostile tenant: one that submits, one that works."""
    submit, work = tokens["submit"], tokens["work"]

    def fixed(request, reads=False, repeats=False):
        return Kind(lambda: request, reads, repeats)

    def guess():
        return get("/v1/tasks", f"horae_t-{random.getrandbits(60):x}_{random.getrandbits(160):x}")

    def garbage():
        start = random.choice((b"", b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nHost: localhost\r\n", b"\x16\x03\x01"))
        return start + random.randbytes(random.randint(1, 3000))

    claim = json.dumps({"owner": "worker-s", "queues": ["siege"], "max": 1000, "lease": "1s"}).encode()
    wait = json.dumps({"owner": "worker-s", "queues": ["siege-empty"], "max": 1, "wait": "30s"}).encode()
    kinds = {
        "unread_lists": fixed(get("/v1/tasks?queue=siege&limit=1000", submit) * 4),
        "unread_claims": fixed(post("/v1/claim", claim, work) * 4),
        "unread_pages": fixed(get("/openapi.json") * 20),
        "bodies": fixed(post("/v1/tasks", BODY, submit, length=1_000_000), reads=True),
        "stranger_bodies": fixed(post("/v1/tasks", BODY, length=1_000_000), reads=True),
        "heads": fixed(b"GET /v1/tasks HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", reads=True),
        "idle": fixed(b"", reads=True),
        "streams": fixed(get("/v1/events", submit)),
        "waits": fixed(post("/v1/claim", wait, work), reads=True, repeats=True),
        "readyz": fixed(get("/readyz"), reads=True, repeats=True),
        "guesses": Kind(guess, reads=True, repeats=True),
        "chunks": fixed(chunked("/v1/tasks", BODY, submit), reads=True),
        "garbage": Kind(garbage, reads=True, repeats=False),
    }
    assert tuple(kinds) == NAMES
    return kinds


class Connection:
    """One connection, which is opened again whenever it ends."""

    def __init__(self, name, kind, source):
        self.name = name
        self.kind = kind
        self.source = source
        self.socket = None
        self.unsent = memoryview(b"")
        self.was_tried = False  # the first attempt to connect has ended


class Attack:
    """Drives all connections with one epoll."""

    def __init__(self, plan):
        self.address = ("127.0.0.1", plan["port"])
        self.end = time.monotonic() + plan["seconds"]
        self.counts = collections.defaultdict(collections.Counter)
        self.epoll = select.epoll()
        self.by_file = {}
        self.budget = 0.0  # connections that may be opened now
        self.due = collections.deque()    # connections to open, with the time, in this order
        self.lives = collections.deque()  # connections that do not read, with the time to end them, about in order
        tenants = [kinds_of(tokens) for tokens in plan["tenants"]]
        for name, count in plan["connections"].items():
            for i in range(count):
                source = f"127.0.0.{plan['first_peer'] + i % plan['peers']}"
                self.due.append((0.0, Connection(name, tenants[i % len(tenants)][name], source)))
        random.shuffle(self.due)
        self.untried = len(self.due)

    def run(self):
        """Until the end of the input, or of the time."""
        self.epoll.register(sys.stdin.fileno(), select.EPOLLIN | select.EPOLLHUP)
        begun = now = time.monotonic()
        is_announced = False
        while now < self.end:
            for file, events in self.epoll.poll(TICK_S, MOST_EVENTS):
                if file == sys.stdin.fileno():
                    return
                if file in self.by_file:
                    self.on_event(self.by_file[file], events)
            now, before = time.monotonic(), now
            self.open_due(now, now - before)
            self.end_lives(now)
            if not is_announced and (self.untried == 0 or now > begun + WARM_UP_S):
                is_announced = True
                print("attacking", flush=True)

    def open_due(self, now, passed):
        """Opens the connections that are due, as many as the rate allows for the time that passed."""
        self.budget = min(self.budget + passed * OPENED_PER_SECOND, OPENED_PER_SECOND / 5)
        while self.due and self.due[0][0] <= now and self.budget >= 1:
            self.budget -= 1
            self.open(self.due.popleft()[1])

    def end_lives(self, now):
        while self.lives and self.lives[0][0] <= now:
            _, connection, its_socket = self.lives.popleft()
            if connection.socket is its_socket:
                self.ended(connection, "given_up")

    def open(self, connection):
        kind = connection.kind
        made = connection.socket = socket.socket()
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not kind.reads:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        connection.unsent = memoryview(kind.request())
        self.by_file[made.fileno()] = connection
        self.epoll.register(made.fileno(), select.EPOLLOUT | select.EPOLLRDHUP)
        try:
            made.bind((connection.source, 0))
            error = made.connect_ex(self.address)
        except OSError as raised:
            error = raised.errno
        if error not in (0, errno.EINPROGRESS):
            return self.ended(connection, errno.errorcode[error])
        if not kind.reads:
            self.lives.append((time.monotonic() + random.uniform(*LIFE_S), connection, made))
        return None

    def tried(self, connection):
        if not connection.was_tried:
            connection.was_tried = True
            self.untried -= 1

    def ended(self, connection, why):
        self.tried(connection)
        self.counts[connection.name][why] += 1
        del self.by_file[connection.socket.fileno()]
        connection.socket.close()
        connection.socket = None
        self.due.append((time.monotonic() + RETRY_S, connection))

    def on_event(self, connection, events):
        try:
            if events & select.EPOLLIN and not self.receive(connection):
                return self.ended(connection, "closed")
            if events & (select.EPOLLHUP | select.EPOLLERR | select.EPOLLRDHUP):
                return self.ended(connection, "closed")
            if events & select.EPOLLOUT:
                self.send(connection)
        except OSError as raised:
            return self.ended(connection, errno.errorcode.get(raised.errno, "error"))
        return None

    def send(self, connection):
        if connection.unsent:
            connection.unsent = connection.unsent[connection.socket.send(connection.unsent):]
        self.tried(connection)
        self.watch(connection)

    def watch(self, connection):
        events = select.EPOLLRDHUP | (select.EPOLLIN if connection.kind.reads else 0)
        if connection.unsent:
            events |= select.EPOLLOUT
        self.epoll.modify(connection.socket.fileno(), events)

    def receive(self, connection):
        """False at the end of the connection. Answers are small, so each comes in one piece."""
        data = connection.socket.recv(65536)
        if data.startswith(b"HTTP/1.1 "):
            self.counts[connection.name][data[9:12].decode()] += 1
            if connection.kind.repeats:
                connection.unsent = memoryview(connection.kind.request())
                self.send(connection)
        return bool(data)

    def report(self):
        """What happened, by kind: answers by status, ends by reason, and the connections that are open."""
        for connection in self.by_file.values():
            self.counts[connection.name]["open"] += 1
        return {name: dict(counts) for name, counts in self.counts.items()}


def main():
    os.nice(10)  # the attackers of a real siege have processors of their own
    plan = json.loads(sys.stdin.readline())
    random.seed(plan["seed"])
    attack = Attack(plan)
    attack.run()
    print(json.dumps(attack.report()), flush=True)
    os._exit(0)  # the kernel closes the connections faster than Python


if __name__ == "__main__":
    main()
