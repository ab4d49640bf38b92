"""The binary `diptych`: its toolsets on their defaults, asked natively, and remembering from one client to the next."""

from __future__ import annotations

from harness import Checks, Target, main, panels_agree, text_blocks
from mcp_types import ElicitRequestParams, ElicitResult


async def script(target: Target, checks: Checks) -> None:
    asked: list[list[str]] = []

    def answer(params: ElicitRequestParams) -> ElicitResult:
        asked.append(list(params.requested_schema["properties"]))
        return ElicitResult(action="accept", content={"q": "run effects in parallel"})

    async with target.connect(answer) as client:
        result = await client.call_tool("search_patterns", {})
        checks.check("asked for what to search for", asked == [["q"]], asked)
        checks.check("the answer is searched for", "effect-all" in "".join(text_blocks(result)), result)
        panels_agree(checks, "search_patterns, asked", "markdown", result)

    # Each transport and version has a thing of its own in the store that they share.
    name = f"Visit by {'http' if target.url else 'stdio'} {target.protocol}"
    async with target.connect() as client:
        entity = {"name": name, "entityType": "visit", "observations": ["came by at noon"]}
        result = await client.call_tool("create_entities", {"entities": [entity], "format": "both"})
        checks.check("remembers", result.structured_content.get("created") == 1, result)
        panels_agree(checks, "create_entities", "both", result)
    async with target.connect() as client:
        result = await client.call_tool("open_nodes", {"names": [name], "format": "json"})
        found = [entity["name"] for entity in result.structured_content.get("entities", [])]
        checks.check("another client knows", found == [name], result)
        result = await client.call_tool("get_relation", {"from": name, "to": "nobody", "relationType": "met"})
        checks.check("what is not there is an error", result.is_error is True, result)
        checks.check("which says so", result.structured_content.get("code") == "NOT_FOUND", result)


main(script)
