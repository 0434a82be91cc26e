/** What a client can do for its agent: files and terminals, whose requests end with the call that made them. */
import { assert, describe, it } from "@effect/vitest"
import { ClientFiles, ClientTerminal } from "@quiesce/acp"
import { Tool } from "@quiesce/core"
import { Effect, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { agentWith, call, scripted, tool } from "./support/agent.ts"
import { error, result, settled } from "./support/driver.ts"

const shell = Tool.make("shell", {
  description: "",
  parameters: Schema.Struct({}),
  success: Schema.String,
  execute: (_, call) =>
    Effect.orDie(Effect.map(
      ClientTerminal.run({ command: "make", args: ["all"], env: { A: "1" } }, call),
      ({ exitCode, output }) => `${exitCode}: ${output}`
    ))
})

const running = Effect.gen(function*() {
  const setup = yield* agentWith({
    tools: [shell],
    turn: scripted([{ calls: [call("shell")] }]),
    limits: { grace: "3 seconds" }
  })
  const { driver, frames, prompt } = setup
  yield* driver.send(prompt(1))
  yield* settled
  return { ...setup, since: (frame: string) => frames().slice(frames().indexOf(frame) + 1) }
})

describe("a command in a terminal of the client", () => {
  it.effect("is run to its end, and its terminal released", () =>
    Effect.gen(function*() {
      const { driver, since } = yield* running
      const { params } = driver.told("terminal/create")[0]!
      assert.deepInclude(params, { command: "make", args: ["all"], env: [{ name: "A", value: "1" }], cwd: "/tmp" })
      yield* driver.send(result(0, { terminalId: "t" }))
      yield* settled
      yield* driver.send(result(1, { exitCode: 0 }))
      yield* settled
      yield* driver.send(result(2, { output: "made", truncated: false, exitStatus: { exitCode: 0 } }))
      yield* settled
      yield* driver.send(result(3, {}))
      yield* settled
      assert.deepStrictEqual(since("terminal/create 0"), [
        "terminal/wait_for_exit 1",
        "terminal/output 2",
        "terminal/release 3",
        "call_4 completed",
        "done",
        "1: end_turn"
      ])
      assert.deepStrictEqual(driver.faults, [])
    }))

  it.effect(
    cites("is killed and released when the turn is cancelled, and the wait for it cancelled", "ACP-04", "ACP-01"),
    () =>
      Effect.gen(function*() {
        const { driver, frames, sessionCancel, since } = yield* running
        yield* driver.send(result(0, { terminalId: "t" }))
        yield* settled
        yield* driver.send(sessionCancel)
        yield* settled
        assert.deepStrictEqual(since("terminal/create 0"), ["terminal/wait_for_exit 1", "cancel 1"])
        yield* driver.send(error(1, -32800, "Cancelled"))
        yield* settled
        assert.strictEqual(frames().at(-1), "terminal/kill 2")
        // A second cancel does not meet the clean-up.
        yield* driver.send(sessionCancel)
        yield* settled
        assert.strictEqual(frames().at(-1), "terminal/kill 2")
        yield* driver.send(result(2, {}))
        yield* settled
        assert.strictEqual(frames().at(-1), "terminal/release 3")
        yield* driver.send(result(3, {}))
        yield* settled
        assert.deepStrictEqual(frames().slice(-2), ["call_4 failed", "1: cancelled"])
        assert.deepStrictEqual(driver.faults, [])
      })
  )

  it.effect(
    cites("whose terminal comes after the cancel is taken away again", "ACP-04", "ACP-07"),
    () =>
      Effect.gen(function*() {
        const { driver, frames, sessionCancel } = yield* running
        yield* driver.send(sessionCancel)
        yield* settled
        assert.deepStrictEqual(frames().slice(-2), ["terminal/create 0", "cancel 0"])
        yield* driver.send(result(0, { terminalId: "late" }))
        yield* settled
        assert.deepStrictEqual(driver.told("terminal/release").map(({ params }) => params.terminalId), ["late"])
        yield* driver.send(result(1, {}))
        yield* settled
        assert.strictEqual(frames().at(-1), "1: cancelled")
      })
  )

  it.effect(
    cites("whose end the client does not confirm is residue of its call", "ACP-04"),
    () =>
      Effect.gen(function*() {
        const { driver, frames, sessionCancel } = yield* running
        yield* driver.send(result(0, { terminalId: "t" }))
        yield* settled
        yield* driver.send(sessionCancel)
        for (let wait = 0; wait < 3; wait++) {
          yield* settled
          yield* TestClock.adjust("3 seconds")
        }
        yield* settled
        assert.strictEqual(frames().at(-1), "1: cancelled")
        const { _meta } = driver.told("session/update").at(-1)!.params.update
        assert.deepStrictEqual(_meta.quiesce.residue, [
          { kind: "remote", detail: "terminal t: terminal/kill was not confirmed" },
          { kind: "remote", detail: "terminal t: terminal/release was not confirmed" }
        ])
      })
  )

  it.effect(
    cites("whose terminal is not known, since the client is gone, is residue of its call", "ACP-04", "ACP-06"),
    () =>
      Effect.gen(function*() {
        const { connection, driver, opened } = yield* running
        yield* driver.hangUp
        yield* connection.closed
        const entries = yield* Stream.runCollect(opened.log!.read())
        const residues = entries.flatMap(({ event }) => event._tag === "tool/result" ? event.result.residue : [])
        assert.deepStrictEqual(residues, [
          { kind: "remote", detail: "terminal/create was cancelled and not answered" }
        ])
      })
  )

  it.effect(cites("ends with a client that hangs up", "ACP-06"), () =>
    Effect.gen(function*() {
      const { connection, driver } = yield* running
      yield* driver.send(result(0, { terminalId: "t" }))
      yield* settled
      yield* driver.hangUp
      assert.deepStrictEqual(yield* connection.closed, { _tag: "EndOfInput" })
    }))
})

describe("a file of the client", () => {
  const reading = tool("read", Effect.orDie(ClientFiles.read({ path: "/a", line: 1, limit: 2 })))
  const writing = tool("write", Effect.orDie(Effect.as(ClientFiles.write({ path: "/a", content: "b" }), "written")))

  it.effect("is read and written", () =>
    Effect.gen(function*() {
      const { driver, frames, prompt } = yield* agentWith({
        tools: [reading, writing],
        turn: scripted([{ calls: [call("read")] }, { calls: [call("write")] }])
      })
      yield* driver.send(prompt(1))
      yield* settled
      yield* driver.send(result(0, { content: "text" }))
      yield* settled
      yield* driver.send(result(1, null))
      yield* settled
      const outputs = driver.told("session/update").map(({ params }) => params.update.rawOutput)
      assert.deepStrictEqual(outputs.filter((output) => output !== undefined), ["text", "written"])
      assert.deepStrictEqual(frames().slice(-2), ["done", "1: end_turn"])
      assert.deepInclude(driver.told("fs/read_text_file")[0]!.params, { path: "/a", line: 1, limit: 2 })
      assert.deepStrictEqual(driver.faults, [])
    }))

  it.effect("whose text the client does not give is an error of the call", () =>
    Effect.gen(function*() {
      for (const answer of [result(0, {}), result(0, null), error(0, -32002, "no such file")]) {
        const { driver, frames, prompt } = yield* agentWith({
          tools: [reading],
          turn: scripted([{ calls: [call("read")] }])
        })
        yield* driver.send(prompt(1))
        yield* settled
        yield* driver.send(answer)
        yield* settled
        assert.strictEqual(frames().at(-1), "1: end_turn")
        assert.strictEqual(driver.told("session/update").at(-2)!.params.update.status, "failed")
      }
    }))

  it.effect("is not asked for where the client cannot do it", () =>
    Effect.gen(function*() {
      const { driver, prompt } = yield* agentWith({
        tools: [reading, writing, shell],
        turn: scripted([{ calls: [call("read"), call("write"), call("shell")] }]),
        capabilities: {}
      })
      yield* driver.send(prompt(1))
      yield* settled
      const texts = driver.told("session/update").filter(({ params }) => params.update.status === "failed")
        .map(({ params }) => params.update.content[0].content.text)
      assert.deepStrictEqual(texts.length, 3)
      for (const text of texts) assert.match(text, /the client does not support (fs|terminal)\//)
    }))
})
