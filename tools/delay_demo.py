#!/usr/bin/env python3
"""Shows a delay queue: Kafka, PostgreSQL and two nodes, of which one is killed after a while.

    tools/delay_demo.py BUILD [SECONDS]     BUILD is build/release; runs until Ctrl-C, or for so many seconds

`make demo/delay` builds what it needs. Everything is in a temporary folder and on loopback addresses, and is removed at the end.
"""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import datetime, timedelta, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KAFKA = str(ROOT / "tools/kafka/kafka.sh")
QUEUE = "demo"
KILL_AFTER_S = 20
PER_SECOND = 4  # messages that the demo sends itself


class Node:
    def __init__(self, build: Path, config: Path, store: str):
        command = [str(build / "src/cli/horae"), "serve", "--config", str(config), "--store", store, "--http-listen", "127.0.0.1:0"]
        self.log = open(config.parent / f"node-{config.stem}.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.url = ""
        for line in self.process.stdout:
            found = re.search(r"http://[0-9.:]+", line)
            if found:
                self.url = found[0]
            if "Stop with" in line:
                break
        self.last = {}

    def figures(self) -> dict[str, float]:
        """The latest figures; those of a node that is gone stay."""
        try:
            with urllib.request.urlopen(self.url + "/metrics", timeout=2) as answer:
                text = answer.read().decode()
        except OSError:
            return self.last
        found = re.findall(r"^horae_delay_(\w+)\{[^}]*\} ([-+.\de]+)$", text, re.MULTILINE)
        self.last = {name: float(value) for name, value in found}
        return self.last


def send(address: str, message_id: str, delay_s: float) -> None:
    deadline = (datetime.now(timezone.utc) + timedelta(seconds=delay_s)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    subprocess.run(["kcat", "-P", "-b", address, "-t", "demo.in", "-k", message_id, "-H", f"chronosMessageId={message_id}", "-H",
                    f"chronosDeadline={deadline}"], input=f"due at {deadline}", text=True, check=True, stderr=subprocess.DEVNULL)


def lines_to_copy(address: str) -> str:
    return f"""Receive:
  kcat -C -b {address} -t demo.out -f '%T %k: %s\\n'
Send a message that arrives in 10 seconds:
  echo hello | kcat -P -b {address} -t demo.in -H chronosMessageId=$RANDOM -H chronosDeadline=$(date -u -d '+10 seconds' +%FT%T.%3NZ)
"""


def counts(psql: list[str]) -> tuple[str, str]:
    query = f"select count(*) filter (where readied_at is null), count(readied_at) from message where delay_queue = '{QUEUE}'"
    answer = subprocess.run(psql + ["-Atc", query], capture_output=True, text=True, check=False).stdout.strip()
    waiting, _, ready = answer.partition("|")
    return waiting or "?", ready or "?"


def show(nodes: list[Node], psql: list[str], sent: int) -> None:
    figures = [node.figures() for node in nodes]
    fired = [int(each.get("fired_total", 0)) for each in figures]
    count = sum(each.get("lateness_seconds_count", 0) for each in figures)
    late_ms = 1000 * sum(each.get("lateness_seconds_sum", 0) for each in figures) / count if count else 0
    taken_over = int(sum(each.get("suspected_total", 0) for each in figures))
    waiting, ready = counts(psql)
    print(f"{time.strftime('%T')}  sent {sent:5}  waiting {waiting:>4}  ready {ready:>3}  fired {fired[0]:5} + {fired[1]:<5}"
          f"  late {late_ms:6.1f} ms on average  taken over {taken_over}", flush=True)


def run(build: Path, folder: Path, seconds: float) -> None:
    subprocess.run([KAFKA, "start", str(folder / "kafka")], check=True)
    postgres = subprocess.Popen([str(build / "bench/private_postgres")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    nodes: list[Node] = []
    try:
        address = subprocess.run([KAFKA, "address", str(folder / "kafka")], check=True, capture_output=True, text=True).stdout.strip()
        for topic in ("demo.in", "demo.out"):
            subprocess.run([KAFKA, "topic", address, topic, "4"], check=True, stdout=subprocess.DEVNULL)
        store = postgres.stdout.readline().strip()
        for number in (1, 2):
            config = folder / f"{number}.toml"
            config.write_text(f'data = "{folder}/data-{number}"\n[kafka]\n"bootstrap.servers" = "{address}"\n'
                              f'[delay.{QUEUE}]\ninput = "demo.in"\noutput = "demo.out"\ntiming_advance = "auto"\n')
            nodes.append(Node(build, config, store))
        print(f"Two nodes: {nodes[0].url} and {nodes[1].url}. The first one is killed after {KILL_AFTER_S} s.\n\n{lines_to_copy(address)}")
        watch(nodes, ["psql", "-X", store], address, seconds)
    finally:
        for node in nodes:
            node.process.send_signal(signal.SIGTERM)
        for node in nodes:
            node.process.wait(30)
        postgres.stdin.close()
        postgres.wait(30)
        subprocess.run([KAFKA, "destroy", str(folder / "kafka")], check=True)


def watch(nodes: list[Node], psql: list[str], address: str, seconds: float) -> None:
    begin = time.monotonic()
    sent = 0
    is_killed = False
    while time.monotonic() - begin < seconds:
        for _ in range(PER_SECOND):
            sent += 1
            send(address, f"demo-{os.getpid()}-{sent}", random.uniform(1, 8))
        time.sleep(0.8)
        if not is_killed and time.monotonic() - begin > KILL_AFTER_S:
            is_killed = True
            nodes[0].process.kill()
            print(f"kill -9 of {nodes[0].url}: the other node takes over its partitions after 6 s, and what it held after 5.5 s")
        show(nodes, psql, sent)


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    build = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="horae-demo-") as folder:
        try:
            run(build, Path(folder), float(sys.argv[2]) if len(sys.argv) > 2 else float("inf"))
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
