/** Every outcome on the wire: what the guide's table says is what is sent. */
import { assert, describe, it } from "@effect/vitest"
import { Updates } from "@quiesce/acp"
import { ToolResult } from "@quiesce/core"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { cites } from "../../../tests/conformance/cites.ts"
import { agent, request, settled } from "./support/driver.ts"

const page = readFileSync(new URL("../../../docs/guide/acp.md", import.meta.url), "utf8")

/** The rows of the table of outcomes: what decided the call, its status, and what a handler that fails with it answers. */
const rows = Array.from(
  page.matchAll(/^\| (?:`(\w+)`|a success) +\| `(\w+)` +\| (?:the value|`(-\d+)`) +\|/gm),
  ([, code, status, answer]) => ({ code, status, answer: answer === undefined ? undefined : Number(answer) })
)

const failure = (code: ToolResult.Code): ToolResult.Failure => ({
  _tag: "Failure",
  callId: "1",
  name: "tool",
  dispatched: true,
  error: { code, name: "Error", message: "it failed" },
  content: [{ type: "text", text: "Error: it failed" }],
  contexts: [],
  residue: [{ kind: "process", detail: "pid 7" }]
})

const success: ToolResult.Success = {
  _tag: "Success",
  callId: "1",
  name: "tool",
  dispatched: true,
  value: { a: 1 },
  content: [{ type: "text", text: "a is 1" }],
  contexts: [],
  residue: [],
  concludesTurn: false
}

describe("the table of outcomes", () => {
  it("has a row for every code, and one for success", () => {
    assert.deepStrictEqual(rows.map(({ code }) => code), [undefined, ...ToolResult.Code.literals])
  })

  for (const { answer, code, status } of rows) {
    it.effect(cites(`is true of ${code ?? "a success"}`, "ACP-03"), () =>
      Effect.gen(function*() {
        const result = code === undefined ? success : failure(code as ToolResult.Code)
        assert.strictEqual(Updates.ofResult(result).status, status)
        const { driver } = yield* agent({ _call: () => ToolResult.toEffect(result) })
        yield* driver.send(request(1, "_call"))
        yield* settled
        const [message] = driver.answers(1)
        if (answer === undefined) assert.deepStrictEqual(message?.result, { a: 1 })
        else assert.strictEqual(message?.error?.code, answer)
      }))
  }

  it("tells programs more than its status can", () => {
    assert.deepStrictEqual(Updates.ofResult(failure("ABORTED")), {
      status: "failed",
      content: [{ type: "content", content: { type: "text", text: "Error: it failed" } }],
      _meta: { quiesce: { code: "ABORTED", dispatched: true, residue: [{ kind: "process", detail: "pid 7" }] } }
    })
    assert.deepStrictEqual(Updates.ofResult(success), {
      status: "completed",
      content: [{ type: "content", content: { type: "text", text: "a is 1" } }],
      rawOutput: { a: 1 },
      _meta: { quiesce: { dispatched: true } }
    })
  })
})

describe("a prompt as text", () => {
  it("has links and embedded texts with their addresses, and says what it leaves out", () => {
    assert.strictEqual(
      Updates.textOf([
        { type: "text", text: "Look at" },
        { type: "resource_link", uri: "file:///a", name: "a" },
        { type: "resource", resource: { uri: "file:///b", text: "b" } },
        { type: "resource", resource: { uri: "file:///c", blob: "" } },
        { type: "image", data: "", mimeType: "image/png" }
      ]),
      "Look at\n[a](file:///a)\nfile:///b:\nb\n[file:///c]\n[image]"
    )
  })
})
