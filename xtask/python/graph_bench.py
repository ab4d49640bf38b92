"""The graph toolset's speed: beside server-memory at small sizes, call by call in turn, and alone at a large one.

Both servers run as they are shipped, over stdio, on the same made-up graph: three observations of nine words to each
entity and two relations, of 20,000 words whose frequencies fall as those of a language do, the commonest being in almost
every observation. A call is measured from the first byte written to the last byte read. The report is Markdown.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from line_client import Server

WORDS = 20_000
TYPES = ["person", "service", "decision", "file", "task"]
SYLLABLES = "ka lo mi ten sor vel dri po nu gar bel fin ros tu que han wi zor pla em".split()

Arguments = Callable[[int], dict[str, Any]]


def word(rank: int) -> str:
    rest, text = rank + 20, ""
    while rest > 0:
        text += SYLLABLES[rest % 20]
        rest //= 20
    return text


class Made:
    """A made-up graph and the calls on it; the same in every run."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.random = random.Random(size)
        self.words = [word(rank) for rank in range(WORDS)]
        self.entities = [self.entity(index) for index in range(size)]
        self.names = [entity["name"] for entity in self.entities]
        self.relations = {
            (self.random.choice(self.names), self.names[self.rank(size)], ["uses", "knows", "depends on"][index % 3]): None
            for index in range(size * 2)
        }

    def rank(self, of: int) -> int:
        """Low ranks far more often."""
        return min(int(of ** self.random.random()) - 1, of - 1)

    def sentence(self) -> str:
        return " ".join(self.words[self.rank(WORDS)] for _ in range(9))

    def entity(self, index: int) -> dict[str, Any]:
        return {
            "name": f"{self.words[self.rank(WORDS)]} {self.random.choice(self.words)} {index}",
            "entityType": self.random.choice(TYPES),
            "observations": [self.sentence() for _ in range(3)],
        }

    def write(self, file: Path) -> None:
        with file.open("w") as lines:
            lines.write("\n".join(json.dumps({"type": "entity", **entity}) for entity in self.entities) + "\n")
            lines.write(
                "\n".join(
                    json.dumps({"type": "relation", "from": start, "to": end, "relationType": kind})
                    for start, end, kind in self.relations
                )
            )

    def misspelt(self, rank: int) -> str:
        text = self.words[rank]
        return text[: len(text) // 2] + text[len(text) // 2 + 1 :]

    def writing(self) -> list[tuple[str, str, Arguments]]:
        fresh = iter(range(self.size, 1 << 40))
        some = lambda count: {"entities": [self.entity(next(fresh)) for _ in range(count)]}
        return [
            ("create one entity", "create_entities", lambda _: some(1)),
            ("create a hundred", "create_entities", lambda _: some(100)),
            (
                "add one observation",
                "add_observations",
                lambda n: {
                    "observations": [{"entityName": self.names[n * 3 % self.size], "contents": [self.sentence()]}]
                },
            ),
            (
                "create one relation",
                "create_relations",
                lambda n: {
                    "relations": [
                        {
                            "from": self.names[n * 17 % self.size],
                            "to": self.names[(n * 29 + 1) % self.size],
                            "relationType": "newly",
                        }
                    ]
                },
            ),
        ]

    def shared_reading(self) -> list[tuple[str, str, Arguments]]:
        query = lambda text: {"query": text}
        return [
            ("search: rare word", "search_nodes", lambda n: query(self.words[5_000 + n * 31 % 15_000])),
            ("search: the commonest words", "search_nodes", lambda n: query(self.words[n % 50])),
            (
                "search: the commonest words, the best 20 (there, all)",
                "search_nodes",
                lambda n: {**query(self.words[n % 50]), "limit": 20},
            ),
            ("search: exact name", "search_nodes", lambda n: query(self.names[n * 7 % self.size])),
            ("open one", "open_nodes", lambda _: {"names": [self.random.choice(self.names)]}),
            ("open one of the most connected", "open_nodes", lambda n: {"names": [self.names[n % 20]]}),
            ("read (a page; there, all)", "read_graph", lambda _: {}),
        ]

    def more_reading(self) -> list[tuple[str, str, Arguments]]:
        top = lambda text, **more: {"query": text, "limit": 20, **more}
        other = random.Random(7)
        return [
            ("search: rare word, top 20", "search_nodes", lambda n: top(self.words[5_000 + n * 31 % 15_000])),
            ("search: any word by frequency", "search_nodes", lambda _: top(self.words[self.rank(WORDS)])),
            ("search: two common words", "search_nodes", lambda n: top(f"{self.words[n % 20]} {self.words[20 + n % 30]}")),
            (
                "search: common and rare word",
                "search_nodes",
                lambda n: top(f"{self.words[n % 20]} {self.words[3_000 + n * 7 % 10_000]}"),
            ),
            (
                "search: six words, none with all",
                "search_nodes",
                lambda n: top(" ".join(self.words[(n * 5 + m * 90) % WORDS] for m in range(6))),
            ),
            ("search: part of a word", "search_nodes", lambda n: top(self.words[400 + n][1:5])),
            ("search: misspelt word", "search_nodes", lambda n: top(self.misspelt(1_000 + n * 3 % 10_000))),
            (
                "search: common word of one type",
                "search_nodes",
                lambda n: top(self.words[n % 50], entityTypes=["decision"]),
            ),
            ("search: a syllable", "search_nodes", lambda _: top(other.choice(SYLLABLES)[:2])),
        ]

    def past(self) -> list[tuple[str, str, Arguments]]:
        now = int(time.time() * 1000)
        today = time.strftime("%Y-%m-%d", time.gmtime())
        return [
            ("read what a day changed", "", lambda _: {"uri": f"memory://days/{today}"}),
            ("history of one", "get_entity_history", lambda n: {"entityName": self.names[n * 3 % self.size]}),
            ("graph at a time", "get_graph_at_time", lambda _: {"timestamp": now}),
        ]


class Peer:
    """A server and what was measured on it."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str]) -> None:
        self.name, self.command, self.environment = name, command, environment
        self.times: dict[str, list[float]] = {}
        self.starts: list[float] = []
        self.server: Server | None = None
        self.memory = 0.0

    def start(self, first: dict[str, Any]) -> None:
        """Starts it, and measures until the first answer from the store."""
        begin = time.perf_counter()
        self.server = Server(self.command, self.environment)
        self.server.call("open_nodes", first)
        self.starts.append((time.perf_counter() - begin) * 1e3)

    def stop(self) -> None:
        self.memory = max(self.memory, resident(self.server.process.pid))
        self.server.close()

    def time(self, what: str, tool: str, arguments: dict[str, Any]) -> None:
        """Times one call of a tool, or without one the reading of a resource."""
        server = self.server
        server.last += 1
        request = {"jsonrpc": "2.0", "id": server.last, "method": "tools/call" if tool else "resources/read"}
        params = {"name": tool, "arguments": arguments} if tool else arguments
        line = json.dumps({**request, "params": params}).encode() + b"\n"
        begin = time.perf_counter()
        server.send_bytes(line)
        answer = server.process.stdout.readline()
        taken = (time.perf_counter() - begin) * 1e3
        result = json.loads(answer)
        if result.get("id") != server.last or result.get("result", {}).get("isError", "result" not in result):
            raise RuntimeError(f"{self.name} failed to {what}: {answer[:500]!r}")
        self.times.setdefault(what, []).append(taken)

    def at(self, what: str, share: float) -> float:
        times = sorted(self.times[what])
        return times[min(int(len(times) * share), len(times) - 1)]


def resident(process: int) -> float:
    """The memory of a process in MB."""
    with open(f"/proc/{process}/status") as status:
        line = next(line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def shown(milliseconds: float) -> str:
    digits = 0 if milliseconds >= 100 else 1 if milliseconds >= 10 else 2
    return f"{milliseconds:,.{digits}f}"


def measure(peers: list[Peer], calls: list[tuple[str, str, Arguments]], rounds: int) -> None:
    for what, tool, arguments in calls:
        print(f"  {what}", file=sys.stderr)
        count = max(rounds // 10, 10) if "hundred" in what or "read" in what or "at a time" in what else rounds
        gc.collect()
        gc.disable()
        for turn in range(count):
            call = arguments(turn)
            # ABAB, then BABA: what drifts, drifts for both.
            for peer in peers if turn % 2 == 0 else reversed(peers):
                peer.time(what, tool, call)
        gc.enable()


def diptych(arguments: argparse.Namespace, folder: Path, source: Path) -> tuple[Peer, float]:
    """Diptych on a store of its own, filled from a file; and how long that took."""
    environment = {"DIPTYCH_GRAPH_DB": str(folder / "graph.db"), "DIPTYCH_PROJECT": "bench", "DIPTYCH_TOOLSETS": "graph"}
    begin = time.perf_counter()
    subprocess.run(
        [arguments.diptych, "graph", "import", str(source)],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
    )
    return Peer("Diptych", [arguments.diptych, "serve"], environment), time.perf_counter() - begin


def beside(arguments: argparse.Namespace, size: int, rounds: int) -> str:
    print(f"{size:,} entities, beside server-memory", file=sys.stderr)
    made = Made(size)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        file = folder / "memory.jsonl"
        made.write(file)
        ours, _ = diptych(arguments, folder, file)
        theirs = Peer("server-memory", [arguments.node, arguments.server_memory], {"MEMORY_FILE_PATH": str(file)})
        peers = [theirs, ours]
        for turn in range(5):
            for peer in peers:
                peer.start({"names": [made.names[turn]]})
                if turn < 4:
                    peer.stop()
        calls = made.shared_reading() + made.writing()
        measure(peers, calls, rounds)
        for peer in peers:
            peer.stop()
    lines = [
        f"\n## {size:,} entities, beside server-memory\n",
        "| call | server-memory p50 / p99 ms | Diptych p50 / p99 ms | times faster (p50) |",
        "|---|---:|---:|---:|",
    ]
    for what, _, _ in calls:
        both = [f"{shown(peer.at(what, 0.5))} / {shown(peer.at(what, 0.99))}" for peer in peers]
        lines.append(f"| {what} | {both[0]} | {both[1]} | {theirs.at(what, 0.5) / ours.at(what, 0.5):,.0f}× |")
    starts = [sorted(peer.starts)[len(peer.starts) // 2] for peer in peers]
    lines.append(f"| start to first answer | {shown(starts[0])} | {shown(starts[1])} | {starts[0] / starts[1]:,.0f}× |")
    memory = f"{theirs.memory:,.0f} MB | {ours.memory:,.0f} MB | {theirs.memory / ours.memory:,.1f}×"
    lines.append(f"| memory after it | {memory} less |")
    return "\n".join(lines) + "\n"


def alone(arguments: argparse.Namespace, size: int, rounds: int) -> str:
    print(f"{size:,} entities, alone", file=sys.stderr)
    made = Made(size)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        file = folder / "memory.jsonl"
        made.write(file)
        ours, filled = diptych(arguments, folder, file)
        disk = (folder / "graph.db").stat().st_size / 1e6
        for turn in range(10):
            ours.start({"names": [made.names[turn]]})
            if turn < 9:
                ours.stop()
        calls = made.more_reading() + made.shared_reading() + made.writing() + made.past()
        measure([ours], calls, rounds)
        ours.stop()
        begin = time.perf_counter()
        tidied = subprocess.run(
            [arguments.diptych, "graph", "tidy"],
            env={**os.environ, **ours.environment},
            stdin=subprocess.DEVNULL,
            check=True,
            capture_output=True,
        )
        tidy = f"{time.perf_counter() - begin:.1f} s, {len(tidied.stdout.splitlines()):,} lines"
    lines = [
        f"\n## {size:,} entities, alone\n",
        f"{size * 3:,} observations and {len(made.relations):,} relations, imported in {filled:.0f} s, {disk:,.0f} MB on disk.\n",
        "| call | p50 ms | p99 ms | slowest ms |",
        "|---|---:|---:|---:|",
    ]
    for what, _, _ in calls:
        lines.append("| " + " | ".join([what, *(shown(ours.at(what, share)) for share in (0.5, 0.99, 1.0))]) + " |")
    starts = sorted(ours.starts)
    lines.append(f"| start to first answer | {shown(starts[5])} | – | {shown(starts[-1])} |")
    lines.append(f"\nMemory after it: {ours.memory:,.0f} MB. `graph tidy`, which lists what it would merge: {tidy}.")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--diptych", required=True)
    parser.add_argument("--node", required=True)
    parser.add_argument("--server-memory", required=True)
    parser.add_argument("--beside", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--alone", type=int, nargs="*", default=[100_000])
    parser.add_argument("--rounds", type=int, default=40, help="calls of each kind beside server-memory")
    parser.add_argument("--rounds-alone", type=int, default=500)
    arguments = parser.parse_args()
    for size in arguments.beside:
        print(beside(arguments, size, arguments.rounds), flush=True)
    for size in arguments.alone:
        print(alone(arguments, size, arguments.rounds_alone), flush=True)


if __name__ == "__main__":
    main()
