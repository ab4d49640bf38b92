"""A client of nothing but the standard library, for comparing two servers over stdio call by call."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import Any


class Refused(Exception):
    """The server answered with an error."""


class Server:
    """A running server. Its notifications are kept in `notices`."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None, protocol: str = "2025-06-18") -> None:
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env={**os.environ, **(environment or {})},
        )
        self.last = 0
        self.notices: list[dict[str, Any]] = []
        who = {"name": "comparison", "version": "0"}
        self.request("initialize", {"protocolVersion": protocol, "capabilities": {}, "clientInfo": who})
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def send_bytes(self, line: bytes) -> None:
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise RuntimeError(f"the server ended: {self.log.read().decode(errors='replace')[-2000:]}")
        return json.loads(line)

    def request(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self.last += 1
        self.send({"id": self.last, "method": method, "params": parameters})
        while True:
            message = self.receive()
            if message.get("id") == self.last:
                if "error" in message:
                    raise Refused(message["error"]["message"])
                return message["result"]
            self.notices.append(message)

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The structured panel of an answer."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise Refused(result["content"][0]["text"])
        return result["structuredContent"]

    def close(self) -> None:
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it was killed
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
