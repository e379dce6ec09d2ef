"""A node under attack, and what can be seen of it from outside."""

import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import threading

signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that the node is stopped as well

MEMORY_LIMIT = 512 << 20
WATCH_S = 0.05  # between two looks at the node
PAGE = os.sysconf("SC_PAGE_SIZE")


class Node:
    """`horae serve` on SQLite, with tokens, in a folder."""

    def __init__(self, program, folder, tenants=1):
        self.program = program
        self.data = f"{folder}/data"
        self.log = pathlib.Path(folder, "log")
        self.client_token = self.create_token("admin")
        self.tenants = [{role: self.create_token(role, "--queues", "siege*") for role in ("submit", "work")}
                        for _ in range(tenants)]
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

    def limit_memory(self, limit=MEMORY_LIMIT):
        """Lets the node allocate what a limit of resident memory would allow: it may not use its stacks as a whole."""
        size, resident = self.status("VmData"), self.status("VmRSS")
        most = size - resident + limit
        resource.prlimit(self.process.pid, resource.RLIMIT_DATA, (most, most))

    def status(self, name):
        """A size in bytes of /proc/PID/status; 0 after the end of the node."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
                found = re.search(rf"^{name}:\s+(\d+) kB", status.read(), re.MULTILINE)
                return int(found.group(1)) * 1024 if found else 0
        except OSError:
            return 0

    def forget_peak(self):
        """Makes VmHWM the present resident memory."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w", encoding="ascii") as refs:
            refs.write("5")

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
        node.forget_peak()
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
