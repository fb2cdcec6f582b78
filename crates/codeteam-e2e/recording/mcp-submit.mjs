// The smallest MCP server with one tool, `submit`, for the recordings. Speaks JSON-RPC over stdio.
import { createInterface } from "node:readline";

const schema = {
  type: "object",
  properties: { summary: { type: "string" }, files: { type: "array", items: { type: "string" } } },
  required: ["summary", "files"],
  additionalProperties: false,
};
const answers = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "codeteam", version: "0.1.0" },
  }),
  "tools/list": () => ({
    tools: [{ name: "submit", description: "Hand in the answer.", inputSchema: schema }],
  }),
  "tools/call": () => ({ content: [{ type: "text", text: "accepted" }] }),
  ping: () => ({}),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  const said = answer
    ? { result: answer(params ?? {}) }
    : { error: { code: -32601, message: `no method ${method}` } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...said }) + "\n");
}
