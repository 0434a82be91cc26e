import { assert, describe, it } from "@effect/vitest"
import { type LogEvent, Replay, Session, type Turn } from "@quiesce/agent"
import { Deferred, Effect, Exit, Fiber, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { type Agent, assertBalanced, held, instant, makeAgent, settled, step } from "./support/agent.ts"
import { disk, full } from "./support/logs.ts"

const tags = (agent: Agent) =>
  Effect.map(Stream.runCollect(agent.log.read()), (entries) => entries.map(({ event }) => event))
const inputs = (agent: Agent) =>
  Effect.map(tags(agent), (events) => events.flatMap((event) => event._tag === "input" ? [event.text] : []))
const endings = (agent: Agent) =>
  Effect.map(tags(agent), (events) => events.flatMap((event) => event._tag === "turn/end" ? [event.ending] : []))

/** A model that says these things, one after the other, and then nothing more. */
const scripted = (...script: ReadonlyArray<Turn.Assistant>) => {
  const said = [...script]
  return () => Effect.sync((): Turn.Assistant => said.shift() ?? { text: "done", calls: [] })
}

const open = <E>(agent: Agent, body: (turn: Session.Running) => Effect.Effect<void, E, Scope.Scope>) =>
  Effect.provide(Session.make(body), agent.context)

describe("a session", () => {
  it.effect(
    cites("asks the model until it calls nothing, and tells how the turn ended", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const a = instant("a")
        const agent = yield* makeAgent([a.tool])
        const session = yield* open(agent, Session.loop(scripted(step("a", "a"), step("a"))))
        const { ended } = yield* session.send("go")
        assert.deepStrictEqual(yield* ended, { seq: 1, cancelled: undefined, exit: Exit.void })
        assert.strictEqual(a.runs.length, 3)
        assert.deepStrictEqual((yield* tags(agent)).filter(({ _tag }) => _tag === "assistant").length, 3)
        yield* assertBalanced(agent.log)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("ends a turn that a call concludes, and one that does not end", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const agent = yield* makeAgent([a.tool])
        const session = yield* open(agent, Session.loop(() => Effect.succeed(step("a")), { maxSteps: 3 }))
        const first = yield* session.send("conclude")
        const run = yield* a.next
        run.call.concludeTurn()
        run.end(1)
        assert.isTrue(Exit.isSuccess((yield* first.ended).exit))
        const second = yield* session.send("go on")
        for (let index = 0; index < 3; index++) (yield* a.next).end(index)
        const { exit } = yield* second.ended
        assert(Exit.isFailure(exit) && exit.cause.reasons[0]?._tag === "Fail")
        assert.deepInclude(exit.cause.reasons[0].error, { _tag: "TooManySteps", steps: 3 })
        assert.deepStrictEqual(yield* endings(agent), ["completed", "failed"])
        yield* assertBalanced(agent.log)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("has one turn at a time: the next one begins when the one before is quiet", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const a = held("a", { stopsIn: "300 millis" })
        const agent = yield* makeAgent([a.tool])
        const session = yield* open(agent, Session.loop(scripted(step("a"))))
        const first = yield* session.send("one")
        const second = yield* session.send("two")
        const run = yield* a.next
        yield* session.cancel()
        yield* settled
        assert.isTrue(run.interrupted)
        assert.deepStrictEqual(yield* inputs(agent), ["one"])
        yield* TestClock.adjust("300 millis")
        assert.strictEqual((yield* first.ended).cancelled, "user")
        assert.isTrue(run.quiet)
        const ended = yield* second.ended
        assert.deepInclude(ended, { cancelled: undefined, exit: Exit.void })
        assert.deepStrictEqual(yield* inputs(agent), ["one", "two"])
        assert.deepStrictEqual(yield* endings(agent), ["cancelled", "completed"])
        yield* assertBalanced(agent.log)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("that is idle is not cancelled, nor is the turn that comes next", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const agent = yield* makeAgent([instant("a").tool])
        const session = yield* open(agent, Session.loop(scripted(step("a"))))
        yield* session.cancel()
        yield* session.cancel("parent")
        const first = yield* session.send("one")
        assert.isUndefined((yield* first.ended).cancelled)
        yield* session.whenIdle
        yield* session.cancel()
        assert.isUndefined((yield* (yield* session.send("two")).ended).cancelled)
        assert.deepStrictEqual(yield* endings(agent), ["completed", "completed"])
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("interrupts a model that is asked, and a turn that is only beginning", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const storage = disk()
        const agent = yield* makeAgent([], [], storage)
        let interrupted = 0
        const model = () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
        const session = yield* open(agent, Session.loop(model))
        const first = yield* session.send("one")
        yield* settled
        yield* session.cancel()
        assert.strictEqual((yield* first.ended).cancelled, "user")
        assert.strictEqual(interrupted, 1)
        // The log takes its time with the beginning of the turn.
        const gate = yield* Deferred.make<void>()
        storage.gates.push(gate)
        const second = yield* session.send("two")
        yield* settled
        yield* session.cancel()
        yield* Deferred.succeed(gate, undefined)
        assert.strictEqual((yield* second.ended).cancelled, "user")
        yield* assertBalanced(agent.log)
        assert.deepStrictEqual(yield* endings(agent), ["cancelled", "cancelled"])
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("that is disposed refuses what waits and what comes, and waits until the turn is quiet", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const a = held("a", { stopsIn: "1 second" })
        const agent = yield* makeAgent([a.tool])
        const session = yield* open(agent, Session.loop(scripted(step("a"))))
        const first = yield* session.send("one")
        const second = yield* session.send("two")
        const run = yield* a.next
        yield* session.cancel()
        const disposing = yield* Effect.forkChild(session.dispose, { startImmediately: true })
        assert.deepInclude(yield* Effect.flip(second.ended), { _tag: "SessionDisposed", text: "two" })
        assert.strictEqual((yield* Effect.flip(session.send("three")))._tag, "SessionDisposed")
        yield* settled
        assert.isUndefined(disposing.pollUnsafe())
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(disposing)
        assert.isTrue(run.quiet)
        // It outranks the cause before it.
        assert.strictEqual((yield* first.ended).cancelled, "disposed")
        assert.isFalse(yield* session.steer("four"))
        yield* assertBalanced(agent.log)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("is disposed with its scope", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const agent = yield* makeAgent([a.tool])
        const scope = yield* Scope.make()
        const session = yield* Scope.provide(open(agent, Session.loop(scripted(step("a")))), scope)
        const { ended } = yield* session.send("one")
        const run = yield* a.next
        yield* Scope.close(scope, Exit.void)
        assert.isTrue(run.quiet)
        assert.strictEqual((yield* ended).cancelled, "disposed")
        yield* assertBalanced(agent.log)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("gives each turn a scope of its own, closed before the next one begins", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const agent = yield* makeAgent([])
        const order: Array<string> = []
        const session = yield* open(agent, ({ text }) =>
          Effect.gen(function*() {
            order.push(`begin ${text}`)
            yield* Effect.addFinalizer(() => Effect.sync(() => order.push(`end ${text}`)))
          }))
        yield* session.send("one")
        yield* session.send("two")
        yield* session.whenIdle
        assert.deepStrictEqual(order, ["begin one", "end one", "begin two", "end two"])
      }).pipe(Effect.scoped)
  )
})

describe("steering", () => {
  it.effect(
    cites("is stored behind the results of the step that runs, and the model is asked again", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const agent = yield* makeAgent([a.tool])
        const session = yield* open(agent, Session.loop(scripted(step("a"))))
        const { ended } = yield* session.send("one")
        const run = yield* a.next
        const steering = yield* Effect.forkChild(session.steer("rather this"), { startImmediately: true })
        yield* settled
        assert.isUndefined(steering.pollUnsafe())
        run.end(1)
        assert.isTrue(yield* Fiber.join(steering))
        yield* ended
        assert.deepStrictEqual(
          (yield* tags(agent)).map(({ _tag }) => _tag),
          [
            "turn/start",
            "input",
            "assistant",
            "tool/call",
            "tool/dispatched",
            "tool/result",
            "input",
            "assistant",
            "turn/end"
          ]
        )
        yield* assertBalanced(agent.log)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("that nobody listened to is told so, and so is that of an idle session", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const agent = yield* makeAgent([])
        const gate = yield* Deferred.make<void>()
        const session = yield* open(agent, () => Deferred.await(gate))
        assert.isFalse(yield* session.steer("too early"))
        yield* session.send("one")
        yield* settled
        const steering = yield* Effect.forkChild(session.steer("never heard"), { startImmediately: true })
        yield* Deferred.succeed(gate, undefined)
        assert.isFalse(yield* Fiber.join(steering))
        assert.deepStrictEqual(yield* inputs(agent), ["one"])
      }).pipe(Effect.scoped)
  )
})

describe("a session whose log fails", () => {
  it.effect(
    cites("tells whoever sent the input, and goes on with the next", "TURN-05"),
    () =>
      Effect.gen(function*() {
        const storage = disk()
        const agent = yield* makeAgent([instant("a").tool], [], storage)
        const session = yield* open(agent, Session.loop(scripted(step("a"))))
        storage.failures.push(full)
        const first = yield* session.send("one")
        const second = yield* session.send("two")
        const { exit, seq } = yield* first.ended
        assert.isUndefined(seq)
        assert(Exit.isFailure(exit) && exit.cause.reasons[0]?._tag === "Fail")
        assert.deepInclude(exit.cause.reasons[0].error, { _tag: "LogFailed", reason: "Full" })
        assert.isTrue(Exit.isSuccess((yield* second.ended).exit))
        yield* assertBalanced(agent.log)
      }).pipe(Effect.scoped)
  )
})

describe("the history", () => {
  const entries = (...events: ReadonlyArray<LogEvent.LogEvent>): ReadonlyArray<LogEvent.Entry> =>
    events.map((event, index) => ({ seq: index + 1, atMillis: 0, event }))
  const call = (callId: string, json: unknown): LogEvent.LogEvent => ({
    _tag: "tool/call",
    turn: 1,
    callId,
    name: "tool",
    arguments: json === undefined ? { _tag: "Incomplete", text: `{"a` } : { _tag: "Complete", json: json as never }
  })
  const result = (
    seq: number,
    callId: string,
    text: string,
    contexts: ReadonlyArray<string> = []
  ): LogEvent.LogEvent => ({
    _tag: "tool/result",
    call: seq,
    result: {
      _tag: "Success",
      callId,
      name: "tool",
      dispatched: true,
      value: null,
      content: [{ type: "text", text }],
      contexts,
      residue: [],
      concludesTurn: false
    }
  })
  /** Results out of order, one that a crash took, a label twice, blank texts, an input behind. */
  const log = entries(
    { _tag: "turn/start" },
    { _tag: "input", turn: 1, text: "go" },
    { _tag: "input", turn: 1, text: "  " },
    { _tag: "assistant", turn: 1, text: "I will" },
    call("a", { n: 1 }),
    call("a", [1]),
    call("no such/label", undefined),
    { _tag: "tool/dispatched", call: 6 },
    { _tag: "tool/dispatched", call: 5 },
    result(6, "a", "second", ["beside"]),
    result(5, "a", "first", ["before"]),
    { _tag: "input", turn: 1, text: "and" },
    { _tag: "assistant", turn: 1, text: "" },
    { _tag: "assistant", turn: 1, text: "" },
    call("b", null),
    { _tag: "tool/dispatched", call: 15 }
  )
  const aborted = "Error: tool call aborted before dispatch"

  it("has the results of a step in the model's order, next to their calls [TURN-02, TURN-07]", () => {
    const messages = Replay.messages(log)
    assert.deepStrictEqual(messages, [
      { role: "user", text: "go" },
      {
        role: "assistant",
        text: "I will",
        calls: [
          { id: "a", name: "tool", input: { n: 1 }, text: "first", isError: false },
          { id: "call_6", name: "tool", input: { arguments: [1] }, text: "second", isError: false },
          { id: "call_7", name: "tool", input: {}, text: aborted, isError: true }
        ],
        contexts: ["before", "beside"]
      },
      { role: "user", text: "and" },
      {
        role: "assistant",
        text: "",
        calls: [{ id: "b", name: "tool", input: { arguments: null }, text: "Error: tool call aborted", isError: true }],
        contexts: []
      }
    ])
  })

  it("takes the shape of each provider, balanced in all of them [TURN-07]", () => {
    const messages = Replay.messages(log)
    assert.deepStrictEqual(Replay.toAnthropic(messages), [
      { role: "user", content: [{ type: "text", text: "go" }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I will" },
          { type: "tool_use", id: "a", name: "tool", input: { n: 1 } },
          { type: "tool_use", id: "call_6", name: "tool", input: { arguments: [1] } },
          { type: "tool_use", id: "call_7", name: "tool", input: {} }
        ]
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: "first", is_error: false },
          { type: "tool_result", tool_use_id: "call_6", content: "second", is_error: false },
          { type: "tool_result", tool_use_id: "call_7", content: aborted, is_error: true },
          { type: "text", text: "before" },
          { type: "text", text: "beside" }
        ]
      },
      { role: "user", content: [{ type: "text", text: "and" }] },
      { role: "assistant", content: [{ type: "tool_use", id: "b", name: "tool", input: { arguments: null } }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "b", content: "Error: tool call aborted", is_error: true }
        ]
      }
    ])
    const openAi = Replay.toOpenAi(messages)
    assert.deepStrictEqual(openAi.map(({ role }) => role), [
      "user",
      "assistant",
      "tool",
      "tool",
      "tool",
      "user",
      "user",
      "user",
      "assistant",
      "tool"
    ])
    assert.deepInclude(openAi[8], { content: null })
    assert.deepStrictEqual(openAi[3], { role: "tool", tool_call_id: "call_6", content: "second" })
    const aiSdk = Replay.toAiSdk(messages)
    assert.deepStrictEqual(aiSdk.map(({ role }) => role), [
      "user",
      "assistant",
      "tool",
      "user",
      "user",
      "assistant",
      "tool"
    ])
    assert.deepStrictEqual(aiSdk[6], {
      role: "tool",
      content: [{
        type: "tool-result",
        toolCallId: "b",
        toolName: "tool",
        output: { type: "error-text", value: "Error: tool call aborted" }
      }]
    })
  })
})
