"""The example `asks`: its tool `plan_trip` asks for a city and then for the days. All ways of asking, one script."""

from __future__ import annotations

from harness import Checks, Target, main, panels_agree, text_blocks
from mcp_types import ElicitRequestParams, ElicitResult

ANSWERS = {"city": "Lisbon", "days": 3}


class Person:
    """Answers what it is asked from a script, and remembers what that was."""

    def __init__(self, refuse: str | None = None, how: str = "decline") -> None:
        self.asked: list[list[str]] = []
        self.refuse = refuse
        self.how = how

    def __call__(self, params: ElicitRequestParams) -> ElicitResult:
        schema = params.requested_schema
        fields = list(schema["properties"])
        self.asked.append(fields)
        if self.refuse in fields:
            return ElicitResult(action=self.how)
        return ElicitResult(action="accept", content={field: ANSWERS[field] for field in fields})


async def script(target: Target, checks: Checks) -> None:
    person = Person()
    async with target.connect(person) as client:
        result = await client.call_tool("plan_trip", {})
        checks.check("asked twice, in order", person.asked == [["city"], ["days"]], person.asked)
        checks.check("the answers reach the tool", "Lisbon" in "".join(text_blocks(result)), result)
        checks.check("it is no error", not result.is_error, result)
        panels_agree(checks, "plan_trip, asked", "markdown", result)

        person.asked.clear()
        result = await client.call_tool("plan_trip", {"city": "Porto"})
        checks.check("what is known is not asked", person.asked == [["days"]], person.asked)
        checks.check("given and asked arguments come together", "Porto" in "".join(text_blocks(result)), result)

        person.asked.clear()
        for shape in ("json", "both"):
            result = await client.call_tool("plan_trip", {"format": shape})
            checks.check(f"a program ({shape}) is not asked", person.asked == [], person.asked)
            expect_payload(checks, f"{shape}, client that can be asked", result, "city")
            panels_agree(checks, "plan_trip, payload", shape, result)

    for how in ("decline", "cancel"):
        person = Person(refuse="days", how=how)
        async with target.connect(person) as client:
            result = await client.call_tool("plan_trip", {})
            checks.check(f"{how}: was asked for both", person.asked == [["city"], ["days"]], person.asked)
            expect_payload(checks, how, result, "days")

    async with target.connect() as client:
        for shape in ("markdown", "json", "both"):
            result = await client.call_tool("plan_trip", {"format": shape})
            expect_payload(checks, f"{shape}, client that cannot be asked", result, "city")
        result = await client.call_tool("plan_trip", {"city": "Lisbon", "days": 3, "format": "both"})
        checks.check("a full call needs no asking", "Lisbon" in text_blocks(result)[0], result)
        panels_agree(checks, "plan_trip, full", "both", result)


def expect_payload(checks: Checks, what: str, result, field: str) -> None:
    payload = result.structured_content or {}
    checks.check(f"{what}: the payload says what is needed", payload.get("kind") == "needsInput:v1", payload)
    fields = payload.get("needsInput", {}).get("fields", [])
    checks.check(f"{what}: it names {field}", field in str(fields), payload)


main(script)
