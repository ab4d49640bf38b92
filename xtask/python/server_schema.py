"""Validates a server.json against the published schema that it names, as the pinned linter carries it."""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path

import jsonschema

NEWEST = "v2025_12_11"


def main() -> int:
    server = json.loads(Path(sys.argv[1]).read_text())
    schema = json.loads((resources.files("skillsaw") / "schemas/mcp_registry" / NEWEST / "server.schema.json").read_text())
    problems = [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(server)]
    if server.get("$schema") != schema["$id"]:
        problems.append(f"it names the schema {server.get('$schema')}, not {schema['$id']}")
    # What the registry asks for beyond its schema.
    if len(server.get("name", "").split("/")) != 2:
        problems.append("its name must have one slash")
    print("\n".join(problems) or "valid")
    return 1 if problems else 0


sys.exit(main())
