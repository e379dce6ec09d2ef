"""The client of a node under attack: its calls, and whether it finds the node as before."""

import http.client
import json
import time

CALLS_PER_SECOND = 25
CALL_S = 5          # a call without an answer for so long is refused
QUIET_S = 0.1       # a call takes less on a node that has recovered
RECOVERY_S = 60     # at most
SPARE_FILES = 10    # that a recovered node may have open beyond those before the attack
BIG_TASKS = 40
BIG_SPEC = 250_000  # so that a page of all big tasks has 10 MB


class Refused(Exception):
    """A call without the answer that it should have."""


def detail_of(problem):
    """The `detail` of a problem document, which is the same for each call of a kind."""
    try:
        return json.loads(problem)["detail"]
    except (ValueError, KeyError, TypeError):
        return repr(problem[:200])


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
            raise Refused(f"{method} {path.split('?')[0][:12]}: {answer.status} {detail_of(data)}")
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


def prepare(node):
    """Submits the big tasks for which the attackers ask, and tries the mix once."""
    client = Client(node.port, node.client_token)
    for i in range(BIG_TASKS):
        client.call("POST", "/v1/tasks", {"queue": "siege", "spec": {"n": i, "text": "x" * BIG_SPEC}})
    mix = Mix(client)
    for i in range(len(mix.steps)):
        mix.make(i)
    client.http.close()


def make_calls(node, count, patience_s, limit_s):
    """Makes the calls at their pace, for at most `limit_s`; each may take `patience_s`.

    Returns the times in ms of those that were answered, and why the others were refused.
    """
    mix = Mix(Client(node.port, node.client_token, patience_s))
    times, refusals = [], []
    begun = time.monotonic()
    for i in range(count):
        time.sleep(max(0.0, begun + i / CALLS_PER_SECOND - time.monotonic()))
        sent = time.monotonic()
        try:
            if sent - begun > limit_s:
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
    for token, path in (("", "/readyz"), (node.client_token, "/v1/tasks?queue=client&limit=1")):
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
