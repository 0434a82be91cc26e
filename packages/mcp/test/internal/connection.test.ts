import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { cites } from "../../../../tests/conformance/cites.ts"
import { Connection } from "../../src/internal/connection.ts"
import { call, cancel, type Frame } from "../support/peer.ts"

type Wire = ConstructorParameters<typeof Connection>[0]

/** A connection whose other side is no SDK: a server that does as it likes with what it gets. */
const open = async () => {
  const sent: Array<Frame> = []
  const got: Array<Frame> = []
  const wire: Wire = {
    start: async () => undefined,
    send: async (frame) => void sent.push(frame as Frame),
    close: async () => wire.onclose?.()
  }
  const connection = new Connection(wire)
  connection.onmessage = (frame) => void got.push(frame as Frame)
  await connection.start()
  const receive = (frame: object) => wire.onmessage?.(frame as never)
  return { connection, got, sent, receive }
}

describe("a connection", () => {
  it(
    cites("sends no answer and no error of a server that does not care for a cancel", "MCP-01", "MCP-05"),
    async () => {
      const { connection, got, receive, sent } = await open()
      for (const id of [1, "1"]) receive(call("2025-11-25", id, "any"))
      const [first, second] = got
      receive(cancel(1))
      await connection.send({ jsonrpc: "2.0", id: first!.id!, error: { code: -32603, message: "late" } })
      await connection.send({ jsonrpc: "2.0", id: first!.id!, result: {} })
      await connection.send({ jsonrpc: "2.0", id: second!.id!, result: {} })
      // And of what is answered, nothing more.
      await connection.send({ jsonrpc: "2.0", id: second!.id!, result: {} })
      assert.deepStrictEqual(sent.map(({ id }) => id), ["1"])
    }
  )

  it(cites("sends nothing once it is closed, and takes nothing up", "MCP-03"), async () => {
    const { connection, got, receive, sent } = await open()
    receive(call("2025-11-25", 1, "any"))
    await connection.shut(new Error("the end"))
    receive(call("2025-11-25", 2, "any"))
    await connection.send({ jsonrpc: "2.0", id: got[0]!.id!, result: {} })
    await connection.send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })
    await Effect.runPromise(connection.inFlight.whenQuiet)
    assert.deepStrictEqual([got.length, sent.length, connection.inFlight.size], [1, 0, 0])
  })
})
