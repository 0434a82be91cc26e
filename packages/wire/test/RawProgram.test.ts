/** A raw peer, and a program on its other side. */
import { assert, describe, it } from "@effect/vitest"
import { RawPeer, RawProgram } from "@quiesce/wire"

const patience = 60_000

/** A program that says what `source` makes of each line that it reads. */
const program = (source: string) => {
  const peer = new RawPeer.RawPeer()
  const loop = `for await (const line of require("node:readline").createInterface(process.stdin)) { ${source} }`
  return { peer, program: RawProgram.start(process.execPath, ["-e", `void (async () => { ${loop} })()`], peer) }
}

const echo = program.bind(undefined, "console.log(line)")

const fault = (promise: Promise<unknown>): Promise<string> =>
  promise.then(() => "no fault", (error) => error instanceof RawPeer.Fault ? error.message : `${error}`)

describe("a raw program", () => {
  it("is sent messages and texts as they are, and keeps what comes", async () => {
    const { peer, program } = echo()
    program.send({ id: 0, result: "none" }, { id: "0", result: "text" }, "{\"id\":null,", { method: "_told" })
    await peer.message(({ method }) => method === "_told", "the last", patience)
    assert.deepStrictEqual(peer.received, [
      { id: 0, result: "none" },
      { id: "0", result: "text" },
      { error: { code: 0, message: "a line that is no JSON" } },
      { method: "_told" }
    ])
    assert.strictEqual((await peer.answer("0")).result, "text")
    assert.strictEqual(peer.answers(0).length, 1)
    assert.strictEqual(peer.told("_told").length, 1)
    program.child.stdin!.end()
    assert.strictEqual(await program.exited, 0)
  }, patience)

  it("is killed when it is closed, and waited for", async () => {
    const { program } = echo()
    await program.close()
    assert.strictEqual(program.child.signalCode, "SIGKILL")
  }, patience)

  it("that cannot be started has failed, and closes all the same", async () => {
    const peer = new RawPeer.RawPeer()
    const program = RawProgram.start("/nowhere/to/be/found", [], peer)
    assert.match(await fault(program.exited), /ENOENT/)
    // Nobody waits for what it would have said.
    assert.match(await fault(peer.answer(1, patience)), /the answer to 1 did not come: .*ENOENT/)
    await program.close()
  })

  it("that ends has nobody wait for what it did not say, and has said what it said", async () => {
    const { peer, program } = echo()
    const waiting = fault(peer.answer(2, patience))
    program.send({ id: 1, result: "said" })
    program.child.stdin!.end()
    assert.strictEqual(await waiting, "the answer to 2 did not come: the program has ended with 0")
    assert.strictEqual((await peer.answer(1)).result, "said")
  }, patience)
})

describe("a raw peer", () => {
  it("that waits in vain says what did not come", async () => {
    const peer = new RawPeer.RawPeer()
    peer.came({ id: 1, method: "_asked" })
    assert.strictEqual(await fault(peer.answer(1, 1)), "the answer to 1 did not come within 1 ms")
  })
})
