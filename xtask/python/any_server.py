"""Holds any Diptych server to the contract, without knowing its tools.

The client itself validates each answer's structured content against the tool's output schema and fails the call when
they differ; errors are validated here.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from harness import FORMATS, Checks, Target, main, panels_agree, text_blocks
from mcp_types import PromptReference, ResourceTemplateReference

SAMPLE = "sample"


def sample(schema: dict[str, Any]) -> Any:
    """A value that the schema of one argument admits."""
    if "default" in schema:
        return schema["default"]
    if schema.get("examples"):
        return schema["examples"][0]
    if schema.get("enum"):
        return schema["enum"][0]
    match schema.get("type"):
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "array":
            return [sample(schema.get("items", {}))]
        case "object":
            properties = schema.get("properties", {})
            return {name: sample(properties[name]) for name in schema.get("required", [])}
        case _:
            return SAMPLE


async def suggested(client: Any, reference: PromptReference | ResourceTemplateReference, name: str) -> str:
    """A value that the server itself suggests for an argument, where it does."""
    if client.server_capabilities.completions is None:
        return SAMPLE
    completed = await client.complete(reference, {"name": name, "value": ""})
    return (completed.completion.values or [SAMPLE])[0]


def error_code(error: Exception) -> int | None:
    """The JSON-RPC code of an error: the client's own error class has moved between its versions."""
    return getattr(getattr(error, "error", None), "code", None)


async def script(target: Target, checks: Checks) -> None:
    async with target.connect() as client:
        checks.check("speaks the version it was asked for", client.protocol_version == target.protocol, client.protocol_version)
        tools = (await client.list_tools()).tools
        checks.check("lists tools", len(tools) > 0)
        for tool in tools:
            name, schema = tool.name, tool.input_schema
            checks.check(f"{name}: input schema is an object", schema.get("type") == "object", schema)
            formats = schema.get("properties", {}).get("format", {}).get("enum", [])
            checks.check(f"{name}: takes a format", sorted(formats) == sorted(FORMATS), schema)
            output = tool.output_schema or {}
            checks.check(f"{name}: output schema is an object", output.get("type") == "object", output)
            arguments = {key: sample(schema["properties"][key]) for key in schema.get("required", [])}
            for shape in FORMATS:
                panels_agree(checks, name, shape, await client.call_tool(name, {**arguments, "format": shape}))

            wrong = await client.call_tool(name, {**arguments, "format": "html"})
            checks.check(f"{name}: a wrong argument is a tool error", wrong.is_error is True, wrong)
            # The client validates successes by itself; our errors keep to the schema as well.
            await client.session.validate_tool_result(name, wrong)
            payload = wrong.structured_content or {}
            checks.check(f"{name}: the error is a toolError", payload.get("kind") == "toolError:v1", payload)
            checks.check(f"{name}: the error says what is invalid", "Invalid input: " in "".join(text_blocks(wrong)), wrong)
            violations = payload.get("details", {}).get("violations", [])
            checks.check(f"{name}: the error names the argument", any("format" in v["path"] for v in violations), payload)

        try:
            await client.call_tool("no_such_tool", {})
            checks.check("an unknown tool is a protocol error", False)
        except Exception as error:
            checks.check("an unknown tool is a protocol error", error_code(error) == -32602, repr(error))

        capabilities = client.server_capabilities
        if capabilities.prompts:
            prompts = (await client.list_prompts()).prompts
            checks.check("lists prompts", all(prompt.description for prompt in prompts), prompts)
            for prompt in prompts:
                reference = PromptReference(type="ref/prompt", name=prompt.name)
                given = {one.name: await suggested(client, reference, one.name) for one in prompt.arguments or []}
                try:
                    got = await client.get_prompt(prompt.name, given)
                    checks.check(f"prompt {prompt.name}: has messages", len(got.messages) > 0, got)
                except Exception as error:
                    # Where the server suggests nothing, what we made up need not be there.
                    refused = SAMPLE in given.values() and error_code(error) == -32602
                    checks.check(f"prompt {prompt.name}: refuses only what was made up", refused, repr(error))
        if capabilities.resources:
            for resource in (await client.list_resources()).resources:
                read = await client.read_resource(resource.uri)
                checks.check(f"resource {resource.uri}: has contents", len(read.contents) > 0, read)
            for template in (await client.list_resource_templates()).resource_templates:
                variables = re.findall(r"\{(\w+)\}", template.uri_template)
                reference = ResourceTemplateReference(type="ref/resource", uri=template.uri_template)
                given = {name: await suggested(client, reference, name) for name in variables}
                # A template whose variables nobody suggests values for cannot be tried.
                if given and SAMPLE not in given.values():
                    uri = template.uri_template
                    for name, value in given.items():
                        uri = uri.replace(f"{{{name}}}", quote(value, safe=""))
                    read = await client.read_resource(uri)
                    checks.check(f"template {template.uri_template}: has contents", len(read.contents) > 0, read)


main(script)
