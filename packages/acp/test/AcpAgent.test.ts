/** Sessions: a prompt is a turn, and what becomes of one is said of the other. */
import { assert, describe, it } from "@effect/vitest"
import { type AcpAgent, AcpSession, type Peer } from "@quiesce/acp"
import { Session, SessionLog } from "@quiesce/agent"
import { Policy } from "@quiesce/core"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { agentWith, call, type Opened, scripted, tool } from "./support/agent.ts"
import { cancelRequest, error, request, result, settled, until } from "./support/driver.ts"

const never = tool("never", Effect.never)
const quick = tool("quick", Effect.succeed("ok"))

const asking: Policy.Policy = { pre: () => Effect.succeed(Policy.ask("is it right?")) }

describe("a prompt", () => {
  it.effect("is a turn: its client is told of it in order, and then that it has ended", () =>
    Effect.gen(function*() {
      const { driver, frames, prompt } = yield* agentWith({
        tools: [quick],
        turn: scripted([{ text: "Let me see.", calls: [call("quick", { a: 1 })] }, { text: "There.", calls: [] }])
      })
      yield* driver.send(prompt(1))
      yield* settled
      assert.deepStrictEqual(frames(), [
        "Let me see.",
        "call_4 pending",
        "call_4 in_progress",
        "call_4 completed",
        "There.",
        "1: end_turn"
      ])
      assert.deepStrictEqual(driver.told("session/update")[1]?.params.update, {
        sessionUpdate: "tool_call",
        toolCallId: "call_4",
        status: "pending",
        title: "quick",
        rawInput: { a: 1 }
      })
      assert.deepStrictEqual(driver.faults, [])
    }))

  it.effect("shows what the model streams once", () =>
    Effect.gen(function*() {
      const { driver, frames, prompt } = yield* agentWith({
        turn: (turn) =>
          Effect.gen(function*() {
            yield* turn.think("Hm.")
            yield* turn.say("One, ")
            yield* turn.say("two, ")
            yield* turn.step({ text: "One, two, three.", calls: [] })
            yield* turn.step({ text: "Four.", calls: [] })
          })
      })
      yield* driver.send(prompt(1))
      yield* settled
      assert.deepStrictEqual(frames(), ["Hm.", "One, ", "two, ", "three.", "Four.", "1: end_turn"])
      assert.deepStrictEqual(driver.faults, [])
    }))

  it.effect("says why it stopped", () =>
    Effect.gen(function*() {
      const { driver, frames, prompt } = yield* agentWith({
        tools: [quick],
        turn: (turn) => {
          switch (turn.text) {
            case "refuse":
              return Effect.succeed("refusal" as const)
            case "loop":
              return Session.loop(() => Effect.succeed({ calls: [call("quick")] }), { maxSteps: 2 })(turn)
            case "cancel":
              return Effect.andThen(turn.cancel("user"), Effect.void)
            default:
              return Effect.fail(new Error("the model is gone"))
          }
        }
      })
      for (const text of ["refuse", "loop", "cancel", "fail"]) {
        yield* driver.send(prompt(text, text))
        yield* settled
      }
      const answers = frames().filter((frame) => frame.includes(": "))
      assert.deepStrictEqual(answers, [
        "refuse: refusal",
        "loop: max_turn_requests",
        "cancel: cancelled",
        "fail: -32603"
      ])
      assert.deepStrictEqual(driver.answers("fail")[0]?.error?.data, { details: "the model is gone" })
    }))

  it.effect(
    cites("goes on beside extensions, which are cancelled like any request", "ACP-01", "ACP-09"),
    () =>
      Effect.gen(function*() {
        const { driver, frames, prompt } = yield* agentWith({
          turn: scripted([]),
          handlers: {
            _wait: (_: unknown, { peer }: { readonly peer: Peer.Client }) =>
              Effect.andThen(peer.notify("_waits", {}), Effect.never),
            // Not theirs.
            "session/prompt": () => Effect.die("not asked")
          } as AcpAgent.Handlers
        })
        yield* driver.send(request(1, "_wait"), prompt(2))
        yield* settled
        yield* driver.send(cancelRequest(1))
        yield* settled
        assert.deepStrictEqual(frames(), ["_waits undefined", "done", "2: end_turn", "1: -32800"])
      })
  )

  it.effect("of a session that is not there is refused", () =>
    Effect.gen(function*() {
      const { driver } = yield* agentWith({})
      yield* driver.send(request(1, "session/prompt", { sessionId: "other", prompt: [] }))
      yield* settled
      assert.deepStrictEqual(driver.answers(1).map(({ error }) => error?.code), [-32002])
    }))
})

describe("session/cancel", () => {
  it.effect(
    cites("stops the turn, sends its updates, and then answers the prompt as cancelled", "ACP-04"),
    () =>
      Effect.gen(function*() {
        const slow = tool("slow", Effect.onInterrupt(Effect.never, () => Effect.sleep("2 seconds")))
        const { driver, frames, opened, prompt, sessionCancel } = yield* agentWith({
          tools: [slow, quick],
          turn: scripted([{ calls: [call("slow"), call("quick")] }])
        })
        yield* driver.send(prompt(1))
        yield* settled
        yield* driver.send(sessionCancel)
        yield* TestClock.adjust("1999 millis")
        yield* settled
        assert.isFalse(frames().includes("1: cancelled"))
        yield* TestClock.adjust("1 millis")
        yield* settled
        assert.deepStrictEqual(frames().slice(-2), ["call_4 failed", "1: cancelled"])
        assert.include(frames(), "call_5 completed")
        const told = driver.told("session/update").map(({ params }) => params.update)
        assert.deepStrictEqual(told.find(({ status }) => status === "failed"), {
          sessionUpdate: "tool_call_update",
          toolCallId: "call_4",
          status: "failed",
          content: [{ type: "content", content: { type: "text", text: "Error: tool call aborted" } }],
          _meta: { quiesce: { code: "ABORTED", dispatched: true } }
        })
        assert.deepStrictEqual(driver.faults, [])
        assert.isTrue(SessionLog.isBalanced(yield* opened.log!.verify))
      })
  )

  it.effect(
    cites("and $/cancel_request together give one answer, in either order", "ACP-04", "ACP-02"),
    () =>
      Effect.gen(function*() {
        for (const order of [0, 1]) {
          const { driver, frames, prompt, sessionCancel } = yield* agentWith({
            tools: [never],
            turn: scripted([{ calls: [call("never")] }])
          })
          yield* driver.send(prompt(1))
          yield* settled
          yield* driver.send(...(order === 0 ? [sessionCancel, cancelRequest(1)] : [cancelRequest(1), sessionCancel]))
          yield* settled
          yield* driver.send(cancelRequest(1), sessionCancel)
          yield* settled
          assert.deepStrictEqual(frames().filter((frame) => frame.startsWith("1:")), ["1: cancelled"])
        }
      })
  )

  it.effect(
    cites("interrupts a model that is being asked, and answers no error of it", "ACP-04"),
    () =>
      Effect.gen(function*() {
        const { driver, frames, prompt, sessionCancel } = yield* agentWith({
          turn: () => Effect.onInterrupt(Effect.never, () => Effect.die(new DOMException("aborted", "AbortError")))
        })
        yield* driver.send(prompt(1))
        yield* settled
        yield* driver.send(sessionCancel)
        yield* settled
        assert.deepStrictEqual(frames(), ["1: cancelled"])
      })
  )

  it.effect(
    cites("resolves a pending permission here, without waiting for the client", "ACP-04", "ACP-06"),
    () =>
      Effect.gen(function*() {
        let ran = false
        const touchy = tool(
          "touchy",
          Effect.sync(() => {
            ran = true
            return "ok"
          })
        )
        const { driver, frames, opened, prompt, sessionCancel } = yield* agentWith({
          tools: [touchy],
          policy: asking,
          turn: scripted([{ calls: [call("touchy"), call("touchy", {}, "second")] }])
        })
        yield* driver.send(prompt(1))
        yield* settled
        // One question at a time: the second call waits until the first is past its approval.
        assert.deepStrictEqual(driver.told("session/request_permission").map(({ id }) => id), [0])
        yield* driver.send(sessionCancel)
        yield* settled
        assert.deepStrictEqual(frames().slice(-4).sort(), [
          "1: cancelled",
          "call_4 failed",
          "call_5 failed",
          "cancel 0"
        ])
        // The late answer allows nothing.
        yield* driver.send(result(0, { outcome: { outcome: "selected", optionId: "allow_once" } }))
        yield* settled
        assert.isFalse(ran)
        assert.strictEqual(frames().at(-1), "1: cancelled")
        const results = driver.told("session/update").map(({ params }) => params.update._meta?.quiesce.code)
        assert.deepStrictEqual(results.filter((code) => code !== undefined), [
          "ABORTED_BEFORE_DISPATCH",
          "ABORTED_BEFORE_DISPATCH"
        ])
        assert.isTrue(SessionLog.isBalanced(yield* opened.log!.verify))
        assert.deepStrictEqual(driver.faults, [])
      })
  )

  it.effect(cites("reaches a permission that is just being asked for", "ACP-04"), () =>
    Effect.gen(function*() {
      // At each turn of the machine between the prompt and the question, and some after.
      const outcomes = new Set<string>()
      for (let turns = 0; turns < 60; turns += 3) {
        const { driver, frames, leave, prompt, sessionCancel } = yield* agentWith({
          tools: [quick],
          policy: asking,
          turn: scripted([{ calls: [call("quick")] }])
        })
        yield* driver.send(prompt(1))
        for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
        yield* driver.send(sessionCancel)
        yield* settled
        assert.deepStrictEqual(frames().filter((frame) => frame.startsWith("1:")), ["1: cancelled"])
        assert.strictEqual(frames().at(-1), "1: cancelled")
        const asked = driver.told("session/request_permission").length
        assert.strictEqual(driver.told("$/cancel_request").length, asked)
        outcomes.add(asked === 0 ? "not asked" : "asked")
        yield* driver.hangUp
        yield* leave
      }
      assert.deepStrictEqual([...outcomes].sort(), ["asked", "not asked"])
    }), 20_000)

  it.effect(
    cites("cascades to what the turn asked of the client, and waits for the answers", "ACP-04"),
    () =>
      Effect.gen(function*() {
        const read = tool(
          "read",
          Effect.flatMap(
            AcpSession.AcpSession,
            ({ client, sessionId }) =>
              Effect.map(client.request("fs/read_text_file", { sessionId, path: "/a" }), ({ content }) => content)
          )
        )
        const { driver, frames, prompt, sessionCancel } = yield* agentWith({
          tools: [read],
          turn: scripted([{ calls: [call("read")] }])
        })
        yield* driver.send(prompt(1))
        yield* settled
        assert.deepStrictEqual(frames(), ["call_4 pending", "call_4 in_progress", "fs/read_text_file 0"])
        yield* driver.send(sessionCancel)
        yield* settled
        assert.strictEqual(frames().at(-1), "cancel 0")
        yield* driver.send(error(0, -32800, "Cancelled"))
        yield* settled
        assert.deepStrictEqual(frames().slice(-2), ["call_4 failed", "1: cancelled"])
      })
  )

  it.effect(
    cites("waits for a client that does not answer as long as the grace, and then reports it", "ACP-04"),
    () =>
      Effect.gen(function*() {
        const read = tool(
          "read",
          Effect.flatMap(
            AcpSession.AcpSession,
            ({ client, sessionId }) =>
              Effect.map(client.request("fs/read_text_file", { sessionId, path: "/a" }), ({ content }) => content)
          )
        )
        const { driver, frames, prompt, sessionCancel } = yield* agentWith({
          tools: [read],
          turn: scripted([{ calls: [call("read")] }]),
          limits: { grace: "3 seconds" }
        })
        yield* driver.send(prompt(1))
        yield* settled
        yield* driver.send(sessionCancel)
        yield* TestClock.adjust("2999 millis")
        yield* settled
        assert.strictEqual(frames().at(-1), "cancel 0")
        yield* TestClock.adjust("1 millis")
        yield* settled
        assert.strictEqual(frames().at(-1), "1: cancelled")
      })
  )

  it.effect(
    cites("cascades to a request of the session that no turn asked, but for clean-up", "ACP-04"),
    () =>
      Effect.gen(function*() {
        const { connection, driver, frames, sessionCancel, sessionId } = yield* agentWith({})
        const ask = (path: string, id: string, whenCancelled?: "finish") =>
          Effect.forkScoped(connection.peer.request("fs/read_text_file", { sessionId: id, path }, { whenCancelled }))
        yield* ask("/a", sessionId)
        yield* ask("/b", sessionId, "finish")
        yield* ask("/c", "another")
        yield* settled
        yield* driver.send(sessionCancel)
        yield* settled
        assert.deepStrictEqual(frames().filter((frame) => frame.startsWith("cancel")), ["cancel 0"])
        yield* driver.hangUp
      })
  )

  it.effect(cites("of another session, or of none, changes nothing", "ACP-04"), () =>
    Effect.gen(function*() {
      const { driver, frames, prompt, sessionId } = yield* agentWith({
        tools: [never],
        turn: scripted([{ calls: [call("never")] }])
      })
      yield* driver.send(prompt(1))
      yield* settled
      for (const params of [{ sessionId: sessionId + "0" }, {}, { sessionId: null }, { sessionId: [sessionId] }]) {
        yield* driver.send({ jsonrpc: "2.0", method: "session/cancel", params })
      }
      yield* settled
      assert.isUndefined(frames().find((frame) => frame.startsWith("1:")))
    }))
})

describe("a prompt right behind a cancel", () => {
  it.effect(
    cites("runs when the turn before it is quiet, of which nothing comes after its answer", "ACP-08"),
    () =>
      Effect.gen(function*() {
        const slow = tool("slow", Effect.onInterrupt(Effect.never, () => Effect.sleep("2 seconds")))
        const { driver, frames, prompt, sessionCancel } = yield* agentWith({
          tools: [slow, quick],
          turn: scripted([{ text: "first", calls: [call("slow")] }], [{ text: "second", calls: [call("quick")] }])
        })
        yield* driver.send(prompt(1))
        yield* settled
        yield* driver.send(sessionCancel, prompt(2))
        yield* settled
        assert.notInclude(frames(), "second")
        yield* TestClock.adjust("2 seconds")
        yield* settled
        const shown = frames().filter((frame) => !frame.includes("in_progress"))
        assert.deepStrictEqual(shown.slice(shown.indexOf("call_4 failed")), [
          "call_4 failed",
          "1: cancelled",
          "second",
          "call_11 pending",
          "call_11 completed",
          "done",
          "2: end_turn"
        ])
      })
  )

  it.effect(
    cites("can be cancelled while it waits, and then never begins", "ACP-08", "ACP-04"),
    () =>
      Effect.gen(function*() {
        const begun: Array<string> = []
        const { driver, frames, prompt, sessionCancel } = yield* agentWith({
          turn: ({ text }) => Effect.andThen(Effect.sync(() => begun.push(text)), Effect.never)
        })
        yield* driver.send(prompt(1, "a"), prompt(2, "b"), prompt(3, "c"))
        yield* settled
        yield* driver.send(cancelRequest(2))
        yield* settled
        assert.deepStrictEqual(frames(), ["2: cancelled"])
        yield* driver.send(sessionCancel)
        yield* settled
        assert.deepStrictEqual(frames().slice().sort(), ["1: cancelled", "2: cancelled", "3: cancelled"])
        assert.deepStrictEqual(begun, ["a"])
      })
  )

  it.effect(cites("is met by no cancel that was read before it", "ACP-10", "ACP-08"), () =>
    Effect.gen(function*() {
      const begun: Array<string> = []
      const { driver, frames, prompt, sessionCancel } = yield* agentWith({
        turn: ({ text }) => Effect.sync(() => void begun.push(text))
      })
      yield* driver.send(prompt(1, "a"), sessionCancel, prompt(2, "b"))
      yield* settled
      assert.deepStrictEqual(frames(), ["1: cancelled", "2: end_turn"])
      assert.deepStrictEqual(begun, ["b"])
    }))
})

describe("permission", () => {
  const allowing = Effect.fnUntraced(function*(answer: unknown, times = 1) {
    const { driver, frames, prompt } = yield* agentWith({
      tools: [quick],
      policy: asking,
      turn: scripted(...Array.from({ length: times }, () => [{ calls: [call("quick", { a: 1 })] }]))
    })
    let answered = 0
    for (let turn = 0; turn < times; turn++) {
      yield* driver.send(prompt(`turn ${turn}`))
      yield* settled
      for (const { id } of driver.told("session/request_permission").slice(answered)) {
        answered++
        yield* driver.send(
          typeof answer === "number" ? error(id as number, answer, "no") : result(id as number, answer)
        )
      }
      yield* settled
    }
    assert.deepStrictEqual(driver.faults, [])
    const ends = driver.told("session/update").map(({ params: { update } }) => update)
      .filter(({ status }) => status === "completed" || status === "failed")
      .map(({ _meta, status }) => status === "completed" ? status : _meta.quiesce.code)
    return { driver, frames: frames(), ends, questions: answered }
  })
  const selected = (optionId: string) => ({ outcome: { outcome: "selected", optionId } })

  it.effect("is asked for with the call it is about, of which the client was told before", () =>
    Effect.gen(function*() {
      const { driver, frames } = yield* allowing(selected("allow_once"))
      assert.deepStrictEqual(frames.slice(0, 2), ["call_4 pending", "session/request_permission 0"])
      const { params } = driver.told("session/request_permission")[0]!
      assert.deepStrictEqual(params.toolCall, {
        toolCallId: "call_4",
        status: "pending",
        title: "quick: is it right?",
        rawInput: { a: 1 }
      })
    }))

  it.effect("is asked for a call that a body makes, of which the client knows nothing else", () =>
    Effect.gen(function*() {
      let registry: Opened["registry"]
      const inner = { callId: "inner", name: "quick", arguments: {} }
      const outer = tool(
        "outer",
        Effect.suspend(() => Effect.map(registry!.execute(inner), ({ _tag }): string => _tag))
      )
      const { driver, frames, opened, prompt } = yield* agentWith({
        tools: [outer, quick],
        policy: { pre: ({ name }) => Effect.succeed(name === "quick" ? Policy.ask() : Policy.allow) },
        turn: scripted([{ calls: [call("outer")] }])
      })
      registry = opened.registry
      yield* driver.send(prompt(1))
      yield* settled
      assert.deepStrictEqual(
        driver.told("session/request_permission").map(({ params }) => params.toolCall.toolCallId),
        [
          "inner"
        ]
      )
      yield* driver.send(result(0, selected("allow_once")))
      yield* settled
      assert.deepStrictEqual(frames().slice(-3), ["call_4 completed", "done", "1: end_turn"])
      assert.deepStrictEqual(driver.faults, [])
    }))

  it.effect("that is given once is asked for again, always is remembered by the session", () =>
    Effect.gen(function*() {
      const outcome = ({ ends, questions }: { readonly ends: ReadonlyArray<string>; readonly questions: number }) => [
        questions,
        ...ends
      ]
      assert.deepStrictEqual(outcome(yield* allowing(selected("allow_once"), 2)), [2, "completed", "completed"])
      assert.deepStrictEqual(outcome(yield* allowing(selected("allow_always"), 2)), [1, "completed", "completed"])
      assert.deepStrictEqual(outcome(yield* allowing(selected("reject_once"), 2)), [2, "DENIED", "DENIED"])
      assert.deepStrictEqual(outcome(yield* allowing(selected("reject_always"), 2)), [1, "DENIED", "DENIED"])
    }))

  const refused: ReadonlyArray<readonly [what: string, answer: unknown, code: string]> = [
    ["by an option it was not given", selected("whatever"), "DENIED"],
    ["by nothing", {}, "DENIED"],
    ["by no object", null, "DENIED"],
    ["by another outcome", { outcome: { outcome: "granted", optionId: "allow_once" } }, "DENIED"],
    ["by an error", -32601, "DENIED"],
    ["as cancelled", { outcome: { outcome: "cancelled" } }, "ABORTED_BEFORE_DISPATCH"],
    ["by the error for cancellation", -32800, "ABORTED_BEFORE_DISPATCH"]
  ]
  for (const [what, answer, code] of refused) {
    it.effect(`that is answered ${what} is not given`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual((yield* allowing(answer)).ends, [code])
      }))
  }
})

describe("a session", () => {
  it.effect(
    cites("whose request is cancelled while it is made is closed again", "ACP-02"),
    () =>
      Effect.gen(function*() {
        const made: Array<string> = []
        const { driver } = yield* agentWith({
          tools: [],
          making: Effect.acquireRelease(
            Effect.andThen(Effect.sync(() => made.push("begun")), Effect.repeat(Effect.yieldNow, { times: 50 })),
            () => Effect.sync(() => made.push("released"))
          )
        })
        const before = made.length
        yield* driver.send(request("second", "session/new", { cwd: "/", mcpServers: [] }))
        yield* until("it is being made", () => made.length > before)
        yield* driver.send(cancelRequest("second"))
        yield* settled
        assert.deepStrictEqual(driver.answers("second").map(({ error }) => error?.code), [-32800])
        assert.deepStrictEqual(made.slice(before), ["begun", "released"])
      })
  )

  it.effect(
    cites("that is closed ends its turn first, and answers its prompts as cancelled", "ACP-02", "ACP-06"),
    () =>
      Effect.gen(function*() {
        const { driver, frames, prompt, sessionId } = yield* agentWith({
          tools: [never],
          turn: scripted([{ calls: [call("never")] }])
        })
        yield* driver.send(prompt(1), prompt(2))
        yield* settled
        yield* driver.send(request(3, "session/close", { sessionId }))
        yield* settled
        assert.deepStrictEqual(frames().filter((frame) => frame.includes(": ")).sort(), [
          "1: cancelled",
          "2: cancelled",
          "3: {}"
        ])
        yield* driver.send(prompt(4))
        yield* settled
        assert.strictEqual(frames().at(-1), "4: -32002")
        assert.deepStrictEqual(driver.faults, [])
      })
  )

  it.effect(
    cites("ends with the connection, when its turn is quiet: the log is balanced", "ACP-06", "ACP-02"),
    () =>
      Effect.gen(function*() {
        const slow = tool("slow", Effect.onInterrupt(Effect.never, () => Effect.sleep("2 seconds")))
        const { connection, driver, frames, opened, prompt } = yield* agentWith({
          tools: [slow],
          turn: scripted([{ calls: [call("slow")] }])
        })
        yield* driver.send(prompt(1))
        yield* settled
        const closing = yield* Effect.forkScoped(connection.close)
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.join(closing)
        yield* settled
        assert.deepStrictEqual(frames().slice(-2), ["call_4 failed", "1: cancelled"])
        assert.isTrue(SessionLog.isBalanced(yield* opened.log!.verify))
      })
  )

  it.effect(cites("whose client does not read ends all the same", "ACP-06"), () =>
    Effect.gen(function*() {
      const flood = "x".repeat(2_000_000)
      const { connection, driver, opened, prompt } = yield* agentWith({
        tools: [quick],
        turn: scripted([{ calls: [call("quick", { flood })] }])
      })
      yield* driver.deaf
      yield* driver.send(prompt(1))
      yield* settled
      // Its client is being told of the call, and reads nothing.
      assert.deepStrictEqual((yield* connection.live).map(({ id }) => id), [1])
      const closing = yield* Effect.forkScoped(connection.close)
      yield* settled
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(closing)
      assert.isTrue(SessionLog.isBalanced(yield* opened.log!.verify))
    }))
})
