"""The nine tools that Diptych shares with server-memory: the same calls on both, and the answers compared.

The calls are made up at random, the same in every run. Every structured field that server-memory answers with must be
in Diptych's answer with the same value; fields that it does not have are Diptych's own. Beyond that the two differ in
the ways listed here and in no other. At the end, Diptych alone is put to the tests that its users' files did not survive
elsewhere.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from line_client import Refused, Server

# What may differ, and why. Each has a check of its own below, so that the list stays true.
DIFFERENCES = {
    "text": "text blocks are Markdown, for a model to read; server-memory repeats its JSON (not compared)",
    "ends": "a relation's ends must exist; server-memory keeps relations that lead nowhere",
    "pages": "a graph over the size budget comes in pages; server-memory sends all of it at once",
    "rules": "names and types have 1 to 200 characters, observations 1 to 5,000; server-memory takes anything",
    "twice": "what a batch names twice is made once; server-memory makes two entities of one name",
    "search": "results are ranked and found by words, their forms and parts, so there may be more of them",
}

NAMES = ["Ada", "Bo", "Eve Long", "f_g", "Zoë", "日本 語", "עברית", 'say "hi"', "a/b?c#d", "constructor", "__proto__", "*", "🌳"]
TYPES = ["person", "tree", "Größe", "a type | with a pipe"]
OBSERVATIONS = [
    "likes trees",
    "has a ladder",
    "Two words\nand a line",
    "```rust\nfn main() {}\n```",
    "# no heading\n> no quote | no cell",
    "\u0007 bell, \u001b[31m escape, \u202e turned",
    "  spaces around  ",
    "שלום עולם",
    "x" * 5000,
]
RELATIONS = ["knows", "helps", "is part of"]
QUERIES = ["Ada", "tree", "person", "ladder", "words", "LADDER", "adder", "zzzz", "", "likes trees", "日本", "Größe", "Zoë", "🌳", "שלום"]


class Calls:
    """Makes up calls."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def some(self, pool: list[str], most: int) -> list[str]:
        return self.random.sample(pool, self.random.randint(0, min(most, len(pool))))

    def observations(self) -> list[str]:
        # Now and then the same one twice.
        return self.random.choices(OBSERVATIONS, k=self.random.randint(0, 3))

    def relations(self) -> list[dict[str, str]]:
        keys = {
            (self.random.choice(NAMES), self.random.choice(NAMES), self.random.choice(RELATIONS))
            for _ in range(self.random.randint(0, 3))
        }
        return [{"from": start, "to": end, "relationType": kind} for start, end, kind in sorted(keys)]

    def next(self) -> tuple[str, dict[str, Any]]:
        tool = self.random.choice(list(COMPARED))
        arguments = {
            "create_entities": lambda: {
                "entities": [
                    {"name": name, "entityType": self.random.choice(TYPES), "observations": self.observations()}
                    for name in self.some(NAMES, 4)
                ]
            },
            "create_relations": lambda: {"relations": self.relations()},
            "add_observations": lambda: {
                "observations": [
                    {"entityName": name, "contents": self.observations()} for name in self.random.choices(NAMES, k=2)
                ]
            },
            "delete_entities": lambda: {"entityNames": self.some(NAMES, 1)},
            "delete_observations": lambda: {
                "deletions": [
                    {"entityName": name, "observations": self.observations()} for name in self.some(NAMES, 2)
                ]
            },
            "delete_relations": lambda: {"relations": self.relations()},
            "read_graph": lambda: {},
            "search_nodes": lambda: {"query": self.random.choice(QUERIES)},
            "open_nodes": lambda: {"names": self.random.choices(NAMES, k=self.random.randint(0, 3))},
        }[tool]()
        return tool, arguments


def within(theirs: Any, ours: Any, path: str = "") -> str | None:
    """The first place at which something of theirs is missing in ours or differs."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key, value in theirs.items():
            if key not in ours:
                return f"{path}.{key} is missing"
            if problem := within(value, ours[key], f"{path}.{key}"):
                return problem
        return None
    if isinstance(theirs, list) and isinstance(ours, list):
        if len(theirs) != len(ours):
            return f"{path} has {len(theirs)} there and {len(ours)} here"
        problems = (within(one, other, f"{path}[{index}]") for index, (one, other) in enumerate(zip(theirs, ours)))
        return next((problem for problem in problems if problem), None)
    # True and 1 are equal to Python, and not to a client.
    if type(theirs) is not type(ours) or theirs != ours:
        return f"{path} is {theirs!r} there and {ours!r} here"
    return None


def key_of(record: dict[str, Any]) -> str:
    return json.dumps([record.get(field) for field in ("name", "from", "to", "relationType")])


def found_too(theirs: Any, ours: Any) -> str | None:
    """The difference `search`: whatever they find is found, in any order, among other things."""
    for field in ("entities", "relations"):
        found = {key_of(record): record for record in ours[field]}
        for record in theirs[field]:
            if key_of(record) not in found:
                return f".{field} lacks {key_of(record)}"
            if problem := within(record, found[key_of(record)], f".{field}"):
                return problem
    return None


COMPARED = {
    "create_entities": within,
    "create_relations": within,
    "add_observations": within,
    "delete_entities": within,
    "delete_observations": within,
    "delete_relations": within,
    "read_graph": within,
    "search_nodes": found_too,
    "open_nodes": within,
}


class Comparison:
    """Both servers, on files of their own."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.diptych = arguments.diptych
        self.file = folder / "memory.jsonl"
        self.folder = folder
        self.theirs = Server([arguments.node, arguments.server_memory], {"MEMORY_FILE_PATH": str(self.file)})
        self.ours = Server([self.diptych, "serve", "--toolsets", "graph", *self.store("graph.db")])
        self.failed = 0

    def store(self, name: str) -> list[str]:
        return ["--graph-db", str(self.folder / name), "--project", "comparison"]

    def close(self) -> None:
        self.theirs.close()
        self.ours.close()

    def check(self, what: str, problem: str | None) -> None:
        if problem is None:
            print(f"ok {what}")
        else:
            self.failed += 1
            print(f"not ok {what}\n  {problem[:2000]}")

    def both(self, tool: str, arguments: dict[str, Any]) -> tuple[Any, Any]:
        return attempt(self.theirs, tool, arguments), attempt(self.ours, tool, arguments)

    def have(self) -> set[str]:
        return {entity["name"] for entity in self.theirs.call("read_graph", {})["entities"]}

    def random_calls(self, seed: int, count: int) -> None:
        calls = Calls(seed)
        problems: dict[str, str] = {}
        made: Counter[str] = Counter()
        refused = 0
        for _ in range(count):
            tool, arguments = calls.next()
            if tool == "create_relations":
                # The difference `ends`.
                have = self.have()
                arguments["relations"] = [one for one in arguments["relations"] if {one["from"], one["to"]} <= have]
            theirs, ours = self.both(tool, arguments)
            made[tool] += 1
            if isinstance(theirs, Refused) and isinstance(ours, Refused):
                refused += 1
                continue
            if isinstance(theirs, Refused) or isinstance(ours, Refused):
                problem = f"{theirs!r} there, {ours!r} here"
            else:
                problem = COMPARED[tool](theirs, ours)
            if problem:
                problems.setdefault(tool, f"{problem}\n  {json.dumps(arguments)}")
        for tool in COMPARED:
            problem = problems.get(tool) or (None if made[tool] >= count // 30 else "it was hardly called")
            self.check(f"seed {seed}: {tool}, {made[tool]} calls alike", problem)
        missed = None if refused else "no call was refused, so refusals were not compared"
        self.check(f"seed {seed}: {refused} calls refused by both", missed)
        self.check(f"seed {seed}: the graphs at the end are alike", within(*self.both("read_graph", {})))

    def refusals(self) -> None:
        for tool, arguments in [
            ("create_entities", {}),
            ("create_entities", {"entities": [{"name": "no type"}]}),
            ("create_relations", {"relations": [{"from": "Ada"}]}),
            ("add_observations", {"observations": [{"entityName": "nobody at all", "contents": ["x"]}]}),
            ("open_nodes", {}),
            ("search_nodes", {}),
        ]:
            answers = self.both(tool, arguments)
            refused = all(isinstance(answer, Refused) for answer in answers)
            self.check(f"both refuse {tool} {json.dumps(arguments)}", None if refused else repr(answers))
        self.check("what was refused changed nothing", within(*self.both("read_graph", {})))

    def resource(self) -> None:
        uri = "memory://knowledge-graph"
        texts = [server.request("resources/read", {"uri": uri})["contents"][0] for server in (self.theirs, self.ours)]
        theirs, ours = (json.loads(text["text"]) for text in texts)
        self.check("the resource is alike", within(theirs, ours))
        self.check("the resource has the same address and type", within(*({**text, "text": ""} for text in texts)))
        heard = []
        for server in (self.theirs, self.ours):
            server.request("resources/subscribe", {"uri": uri})
            server.notices.clear()
            server.call("create_entities", {"entities": [{"name": "Heard", "entityType": "test", "observations": []}]})
            # An answer may come before the notice; asking for something else waits for both.
            server.request("ping", {})
            heard.append([(one["method"], one["params"]) for one in server.notices if "method" in one])
            server.request("resources/unsubscribe", {"uri": uri})
        self.check("a subscriber hears the same", None if heard[0] == heard[1] and heard[0] else repr(heard))

    def differences(self) -> None:
        before = self.ours.call("read_graph", {})
        answer = attempt(self.ours, "create_relations", {"relations": [{"from": "Heard", "to": "Herd", "relationType": "is"}]})
        told = isinstance(answer, Refused) and '"Herd"' in str(answer) and '"Heard"' in str(answer)
        self.check(f"ends: {DIFFERENCES['ends']}", None if told else repr(answer))

        long = {"name": "n" * 201, "entityType": "", "observations": ["o" * 5001, ""]}
        answer = attempt(self.ours, "create_entities", {"entities": [long]})
        told = isinstance(answer, Refused) and str(answer).startswith("Invalid input: ")
        self.check(f"rules: {DIFFERENCES['rules']}", None if told else repr(answer))
        self.check("rules and ends: nothing was stored", within(before, self.ours.call("read_graph", {})))

        twin = {"name": "Twin", "entityType": "test", "observations": []}
        answer = attempt(self.ours, "create_entities", {"entities": [twin, twin]})
        once = isinstance(answer, dict) and answer["created"] == 1 and answer["skipped"] == ["Twin"]
        self.check(f"twice: {DIFFERENCES['twice']}", None if once else repr(answer))
        self.theirs.call("create_entities", {"entities": [twin]})

        answer = attempt(self.ours, "search_nodes", {"query": "Twins Herad"})
        more = isinstance(answer, dict) and len(answer["entities"]) > 0
        self.check(f"search: {DIFFERENCES['search']}", None if more else repr(answer))

        many = [{"name": f"leaf {n}", "entityType": "leaf", "observations": ["green " * 60]} for n in range(600)]
        for server in (self.theirs, self.ours):
            server.call("create_entities", {"entities": many})
            server.call(
                "create_relations",
                {"relations": [{"from": f"leaf {n}", "to": "Twin", "relationType": "hangs on"} for n in range(600)]},
            )
        whole: dict[str, list[Any]] = {"entities": [], "relations": []}
        pages, cursor = 0, None
        while pages < 100:
            page = self.ours.call("read_graph", {"cursor": cursor} if cursor else {})
            pages += 1
            whole["entities"] += page["entities"]
            whole["relations"] += page["relations"]
            cursor = page.get("truncated", {}).get("nextCursor")
            if not cursor:
                break
        self.check(f"pages: {DIFFERENCES['pages']}", None if pages > 1 else "one page held it all")
        self.check(f"pages: {pages} of them together are the graph", within(self.theirs.call("read_graph", {}), whole))

    def takes_over(self) -> None:
        """Their file, imported, exported again."""
        run = lambda *words: subprocess.run([self.diptych, "graph", *words], capture_output=True, text=True)
        imported = run("import", str(self.file), *self.store("imported.db"))
        self.check("their file is imported", None if imported.returncode == 0 else imported.stderr)
        again = run("import", str(self.file), *self.store("imported.db"))
        nothing = "0 entities and 0 relations are new" in again.stderr
        self.check("importing it again adds nothing", None if nothing else again.stderr)
        exported = run("export", *self.store("imported.db"))
        lines = [[json.loads(line) for line in text.splitlines() if line] for text in (self.file.read_text(), exported.stdout)]
        self.check("what is exported is what was imported", within(*lines))


class Durability:
    """Acknowledged means kept: real servers on one file, many at once, and ended without warning."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.diptych = comparison.diptych

    def serve(self, store: str) -> Server:
        return Server([self.diptych, "serve", "--toolsets", "graph", *self.comparison.store(store)])

    def kept(self, store: str) -> set[str]:
        words = [self.diptych, "graph", "export", *self.comparison.store(store)]
        lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
        names = [json.loads(line)["name"] for line in lines]
        assert len(names) == len(set(names)), "something was kept twice"
        return set(names)

    def sound(self, store: str) -> bool:
        words = [self.diptych, "graph", "check", *self.comparison.store(store)]
        return subprocess.run(words, capture_output=True).returncode == 0

    def check(self, what: str, store: str, acknowledged: set[str], exactly: int | None) -> None:
        kept = self.kept(store)
        lost = acknowledged - kept
        problem = None
        if lost:
            problem = f"{len(lost)} were lost, such as {sorted(lost)[:3]}"
        elif exactly is not None and len(kept) != exactly:
            problem = f"{len(kept)} were kept"
        elif not self.sound(store):
            problem = "the file is damaged"
        self.comparison.check(what, problem)

    @staticmethod
    def create(server: Server, name: str) -> int:
        server.last += 1
        entity = {"name": name, "entityType": "test", "observations": ["x"]}
        call = {"name": "create_entities", "arguments": {"entities": [entity]}}
        server.send({"id": server.last, "method": "tools/call", "params": call})
        return server.last

    def in_flight(self) -> None:
        with self.serve("flight.db") as server:
            names = {self.create(server, f"n{number}"): f"n{number}" for number in range(100)}
            answers = (server.receive() for _ in range(100))
            done = {names[one["id"]] for one in answers if one["result"]["structuredContent"].get("created") == 1}
        self.check("100 creates in flight are kept", "flight.db", done, 100)

    def processes(self, count: int) -> None:
        store = f"{count}.db"
        acknowledged: set[str] = set()
        failures: list[str] = []

        def work(place: int) -> None:
            try:
                with self.serve(store) as server:
                    for number in range(200):
                        entity = {"name": f"p{place} n{number}", "entityType": "test", "observations": []}
                        server.call("create_entities", {"entities": [entity]})
                        acknowledged.add(entity["name"])
            except Exception:
                failures.append(traceback.format_exc())

        threads = [threading.Thread(target=work, args=(place,)) for place in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            self.comparison.check(f"{count} servers on one file answer", failures[0])
        self.check(f"{count} servers × 200 creates on one file lose nothing", store, acknowledged, count * 200)

    def kills(self, rounds: int) -> None:
        acknowledged: set[str] = set()
        chance = random.Random(9)
        for turn in range(rounds):
            server = self.serve("killed.db")
            names = {self.create(server, f"k{turn} n{number}"): f"k{turn} n{number}" for number in range(60)}
            for _ in range(chance.randint(1, 50)):
                acknowledged.add(names[server.receive()["id"]])
            server.process.kill()
            server.close()
        self.check(f"what was acknowledged survives {rounds} kills", "killed.db", acknowledged, None)


def attempt(server: Server, tool: str, arguments: dict[str, Any]) -> Any:
    try:
        return server.call(tool, arguments)
    except Refused as refused:
        return refused


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--diptych", required=True)
    parser.add_argument("--node", required=True)
    parser.add_argument("--server-memory", required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--calls", type=int, default=400)
    arguments = parser.parse_args()
    failed = 0
    for seed in arguments.seeds:
        with tempfile.TemporaryDirectory() as folder:
            comparison = Comparison(arguments, Path(folder))
            try:
                comparison.random_calls(seed, arguments.calls)
                if seed == arguments.seeds[0]:
                    comparison.refusals()
                    comparison.resource()
                    comparison.differences()
                    comparison.takes_over()
                    durability = Durability(comparison)
                    durability.in_flight()
                    durability.processes(2)
                    durability.processes(8)
                    durability.kills(20)
            except Exception:
                comparison.check(f"seed {seed} runs to its end", traceback.format_exc())
            finally:
                comparison.close()
            failed += comparison.failed
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
