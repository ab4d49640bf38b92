"""What the scripts share: how to reach a server, at which protocol version, and how a check is told.

Each check prints one line that begins with `ok` or `not ok`; `cargo xtask test` counts them.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp.client.session
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ElicitRequestParams, ElicitResult

MODERN = "2026-07-28"
FORMATS = ("markdown", "json", "both")

Answer = Callable[[ElicitRequestParams], ElicitResult]


class Checks:
    """Counts what held and what did not."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.failed = 0

    def check(self, what: str, holds: bool, detail: Any = "") -> None:
        if holds:
            print(f"ok {self.label}: {what}")
        else:
            self.failed += 1
            print(f"not ok {self.label}: {what}")
            print(f"  {detail}")


class Target:
    """A server, by command or by address, and the version to speak to it."""

    def __init__(self, protocol: str, command: list[str] | None, url: str | None) -> None:
        self.protocol = protocol
        self.command = command
        self.url = url

    @asynccontextmanager
    async def connect(self, answer: Answer | None = None):
        """A connected client; one that can be asked when `answer` is given."""
        server = self.url or StdioServerParameters(command=self.command[0], args=self.command[1:])

        async def callback(_context: Any, params: ElicitRequestParams) -> ElicitResult:
            return answer(params)

        modern = self.protocol == MODERN
        if not modern:
            # The client always offers its newest handshake version; an older client is made by lowering it.
            mcp.client.session.LATEST_HANDSHAKE_VERSION = self.protocol
        async with Client(
            server,
            # "auto" asks the server what it can do; pinning the version would leave its capabilities unknown.
            mode="auto" if modern else "legacy",
            elicitation_callback=callback if answer else None,
            read_timeout_seconds=30,
            cache=None,
        ) as client:
            yield client


def text_blocks(result: Any) -> list[str]:
    return [block.text for block in result.content if block.type == "text"]


def panels_agree(checks: Checks, what: str, shape: str, result: Any) -> None:
    """The contract's gating: which panels are blocks, and that the JSON block equals the structured content."""
    blocks = text_blocks(result)
    checks.check(f"{what} {shape}: has structured content", result.structured_content is not None, result)
    checks.check(f"{what} {shape}: content is not empty", len(result.content) > 0, result)
    mime_types = [(block.meta or {}).get("mimeType") for block in result.content if block.type == "text"]
    if shape in ("json", "both"):
        last = blocks[-1] if blocks else "null"
        try:
            same = json.loads(last) == result.structured_content
        except json.JSONDecodeError:
            same = False
        checks.check(f"{what} {shape}: the JSON block equals the structured content", same, result)
        checks.check(f"{what} {shape}: the JSON block names its type", mime_types[-1:] == ["application/json"], mime_types)
    if shape == "markdown" and not result.is_error:
        checks.check(f"{what} {shape}: no JSON block", "application/json" not in mime_types, mime_types)
        checks.check(f"{what} {shape}: a Markdown block", "text/markdown" in mime_types, mime_types)
    if shape == "both" and not result.is_error:
        checks.check(f"{what} {shape}: a Markdown block first", mime_types[:1] == ["text/markdown"], mime_types)


def main(script: Callable[[Target, Checks], Awaitable[None]]) -> None:
    """Reads the arguments, runs the script, and ends with 1 when a check failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--protocols", nargs="+", required=True)
    parser.add_argument("--url")
    parser.add_argument("--stdio", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if bool(arguments.url) == bool(arguments.stdio):
        parser.error("give either --url URL or --stdio COMMAND [ARGUMENT…]")
    failed = 0
    for protocol in arguments.protocols:
        target = Target(protocol, arguments.stdio, arguments.url)
        checks = Checks(f"{protocol} {'http' if arguments.url else 'stdio'}")
        run(script, target, checks)
        failed += checks.failed
    sys.exit(1 if failed else 0)


def run(script: Callable[[Target, Checks], Awaitable[None]], target: Target, checks: Checks) -> None:
    async def within_limit() -> None:
        with anyio.fail_after(300):
            await script(target, checks)

    try:
        anyio.run(within_limit)
    except BaseException:  # the client raises groups of exceptions; each of them is a failed check
        checks.check("the script runs to its end", False, traceback.format_exc())
