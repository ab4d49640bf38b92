// The same two tools with the official TypeScript SDK, as its documentation shows: schemas in, structured content out.
// MCP_SDK names the folder whose node_modules hold the SDK.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

const require = createRequire(`${process.env.MCP_SDK}/package.json`)
const { McpServer } = require("@modelcontextprotocol/sdk/server/mcp.js")
const { StdioServerTransport } = require("@modelcontextprotocol/sdk/server/stdio.js")
const { z } = require("zod")

const records = JSON.parse(readFileSync(new URL("../records.json", import.meta.url), "utf8"))
const record = z.object({
  id: z.string(), title: z.string(), url: z.string(), score: z.number(), views: z.number(),
  tags: z.array(z.string()), published: z.boolean(), snippet: z.string(),
})
const answer = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value })

const server = new McpServer({ name: "bench", version: "1.0.0" })
server.registerTool(
  "echo",
  { description: "Returns the message unchanged", inputSchema: { message: z.string() }, outputSchema: { message: z.string() } },
  async ({ message }) => answer({ message }),
)
server.registerTool(
  "search",
  {
    description: "Returns the first records",
    inputSchema: { q: z.string(), limit: z.number() },
    outputSchema: { query: z.string(), total: z.number(), hits: z.array(record) },
  },
  async ({ q, limit }) => {
    const hits = records.slice(0, limit)
    return answer({ query: q, total: hits.length, hits })
  },
)
await server.connect(new StdioServerTransport())
