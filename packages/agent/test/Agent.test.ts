import { assert, describe, it } from "@effect/vitest"
import { Agent, Replay, type Turn } from "@quiesce/agent"
import { Approval, Policy, Tool } from "@quiesce/core"
import { getEventListeners } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { cites } from "../../../tests/conformance/cites.ts"
import { AnyJson, codes, step } from "./support/agent.ts"

const never = new AbortController().signal

const echo = Tool.fromPromise("echo", {
  description: "",
  parameters: AnyJson,
  success: AnyJson,
  execute: (json) => json
})

/** A tool that ends when it is aborted, and tells when it has begun. */
const stubborn = () => {
  const begun = Promise.withResolvers<void>()
  let quiet = false
  const tool = Tool.fromPromise("stubborn", {
    description: "",
    parameters: AnyJson,
    success: AnyJson,
    execute: async (_, { signal }) => {
      begun.resolve()
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()))
      await null
      quiet = true
      return null
    }
  })
  return { begun: begun.promise, isQuiet: () => quiet, tool }
}

describe("an agent without Effect", () => {
  it(
    cites("runs turns, tells their events and shows their history", "TURN-02", "TURN-06", "TURN-07"),
    async () => {
      await using agent = await Agent.open({
        tools: [echo],
        policy: Policy.fromPromise({ pre: () => Policy.ask() }),
        approval: Approval.fromPromise(() => Approval.allowedOnce)
      })
      const told: Array<string> = []
      const onEvent = (event: Turn.Event) => void told.push(event._tag)
      const { signal } = new AbortController()
      const { results } = await agent.turn({ signal, input: "go", onEvent }, (turn) => turn.step(step("echo")))
      assert.deepStrictEqual(codes(results), ["SUCCESS"])
      assert.deepStrictEqual(getEventListeners(signal, "abort"), [])
      assert.deepStrictEqual(
        Replay.toOpenAi(await agent.messages()).map(({ role }) => role),
        ["user", "assistant", "tool"]
      )
      assert.deepInclude(await agent.verify(), { violations: [], open: [], turn: undefined, calls: 1 })
      assert.includeMembers(told, ["Called", "Started", "Settled", "Committed"])
      assert.deepStrictEqual((await agent.schemas()).map(({ name }) => name), ["echo"])
    }
  )

  it(
    cites("cancels a turn by its signal, and settles when that is quiet", "TURN-03", "TURN-06"),
    async () => {
      const { begun, isQuiet, tool } = stubborn()
      await using agent = await Agent.open({ tools: [tool, echo] })
      const controller = new AbortController()
      let heard: unknown
      const turn = agent.turn({ signal: controller.signal }, async (turn) => {
        turn.signal.addEventListener("abort", () => heard = turn.signal.reason)
        return turn.step(step("stubborn"))
      })
      await begun
      controller.abort("why")
      const { cancelled, results } = await turn
      assert.isTrue(isQuiet())
      assert.strictEqual(cancelled, "user")
      assert.strictEqual(heard, "why")
      assert.deepStrictEqual(codes(results), ["ABORTED"])
      const late = await agent.turn({ signal: controller.signal }, (turn) => turn.step(step("echo")))
      assert.deepStrictEqual(codes(late.results), ["ABORTED_BEFORE_DISPATCH"])
      assert.deepInclude(await agent.verify(), { violations: [], open: [], turn: undefined })
    }
  )

  it(
    cites("closes when its turn is quiet, and begins no other; its file can be opened again", "TURN-06", "TURN-08"),
    async () => {
      const directory = mkdtempSync(join(tmpdir(), "quiesce-agent-"))
      try {
        const log = join(directory, "session.log")
        const { begun, isQuiet, tool } = stubborn()
        const agent = await Agent.open({ tools: [tool], log })
        const busy = await Agent.open({ tools: [], log }).then(() => undefined, (error) => error)
        assert.deepInclude(busy, { _tag: "LogBusy" })
        const turn = agent.turn({ signal: never }, (turn) => turn.step(step("stubborn")))
        await begun
        await agent.close()
        assert.isTrue(isQuiet())
        assert.strictEqual((await turn).cancelled, "disposed")
        const refused = await agent.turn({ signal: never }, async () => 1).then(() => undefined, (error) => error)
        assert.deepInclude(refused, { _tag: "LogFailed", reason: "Closed" })
        await using again = await Agent.open({ tools: [], log })
        assert.deepInclude(await again.verify(), { violations: [], open: [], turn: undefined, calls: 1 })
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    }
  )

  it(
    cites("rejects with what its own code threw, and the turn has failed", "TURN-06"),
    async () => {
      await using agent = await Agent.open({ tools: [echo] })
      const broken = { not: "even an error" }
      const thrown = await agent.turn({ signal: never }, () => Promise.reject(broken)).catch((error) => error)
      assert.strictEqual(thrown, broken)
      assert.deepInclude(await agent.verify(), { violations: [], open: [], turn: undefined })
    }
  )
})
