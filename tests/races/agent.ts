/** Turns and their log, at every order of starts, settlements, cancellations and commits: one result per call, always. */
import { Session, SessionLog, Turn } from "@quiesce/agent"
import { Tool, ToolRegistry } from "@quiesce/core"
import { Edge } from "@quiesce/testing"
import { Context, Effect, Fiber, Layer, Schema } from "effect"
import { memory } from "../../packages/agent/src/internal/storage.ts"
import type { Race, Subject } from "./Race.ts"

const parameters = Schema.Struct({})
const success = Schema.String

/** A tool that ends when the outside world says so, or at once when it is interrupted. */
const waiting = (name: string, mode: Tool.Mode = "parallel") =>
  Tool.make(name, {
    description: "",
    parameters,
    success,
    mode,
    execute: () => Effect.as(Edge.wait(`${name} ends`), name)
  })

const failing = (name: string) =>
  Tool.make(name, {
    description: "",
    parameters,
    success,
    execute: () => Effect.andThen(Edge.wait(`${name} fails`), Effect.fail(new Error("broken")))
  })

/** A registry and a log in memory, built before the races begin. */
const agentOf = (tools: ReadonlyArray<Tool.Tool<string, any, Edge.Edge>>) =>
  Edge.setup(Layer.build(
    Layer.merge(ToolRegistry.layer(tools), Layer.effect(SessionLog.SessionLog, Effect.orDie(SessionLog.make(memory()))))
  ))

const calls = (...names: ReadonlyArray<string>): Turn.Assistant => ({
  calls: names.map((name) => ({ callId: name, name, arguments: Turn.complete({}) }))
})

/** The log is balanced once the turn is over, and says of the calls what the turn says. */
const judge = Effect.fnUntraced(function*(log: SessionLog.Shape, { cancelled, results }: Turn.Outcome) {
  const report = yield* log.verify
  if (!SessionLog.isBalanced(report)) throw new Error(JSON.stringify(report))
  const codes = results.map((result) => result._tag === "Success" ? "Success" : result.error.code)
  return `${codes.join()}${cancelled === undefined ? "" : `, cancelled by ${cancelled}`}`
})

const step = (
  tools: ReadonlyArray<Tool.Tool<string, any, Edge.Edge>>,
  assistant: Turn.Assistant,
  options: Turn.Options,
  meanwhile: (turn: Turn.Turn) => Effect.Effect<unknown, never, Edge.Edge>
) =>
  Effect.gen(function*() {
    const context = yield* agentOf(tools)
    const log = Context.get(context, SessionLog.SessionLog)
    const outcome = yield* Effect.scoped(Effect.gen(function*() {
      const turn = yield* Edge.setup(Effect.provide(Turn.make(options), context))
      yield* meanwhile(turn)
      return yield* turn.step(assistant)
    }))
    return yield* judge(log, outcome)
  })

const acting = (label: string, act: Effect.Effect<unknown>) =>
  Edge.action(label, () => {
    Effect.runFork(act)
  })

/** A result and the cancellation of the turn, in any order: the turn's cause is told, and every call answered. */
const cancelTurn = step(
  [waiting("a"), waiting("b")],
  calls("a", "b"),
  { maxParallel: 1 },
  (turn) => acting("CANCEL", turn.cancel("user"))
)

const cancelOne = step(
  [waiting("a"), waiting("b")],
  calls("a", "b"),
  { maxParallel: 1 },
  // It writes a result, and so takes some steps of its own.
  (turn) => Effect.forkChild(Effect.andThen(Edge.wait("CANCEL b"), turn.cancelCall("b")))
)

const cancelAlone = step(
  [waiting("a")],
  calls("a"),
  {},
  (turn) => Effect.forkChild(Effect.andThen(Edge.wait("CANCEL a"), turn.cancelCall("a")))
)

const failFast = step([failing("a"), waiting("b")], calls("a", "b"), { onFailure: "cancel" }, () => Effect.void)

const exclusive = step(
  [waiting("a"), waiting("b", "exclusive")],
  calls("a", "b"),
  {},
  (turn) => acting("CANCEL", turn.cancel("user"))
)

/** Whoever runs the turn is interrupted: it is over when the calls are, and the log says so. */
const interrupted = Effect.gen(function*() {
  const context = yield* agentOf([waiting("a")])
  const log = Context.get(context, SessionLog.SessionLog)
  const fiber = yield* Effect.forkChild(Effect.provide(Turn.run(calls("a")), context))
  yield* Edge.action("INTERRUPT", () => fiber.interruptUnsafe())
  yield* Fiber.await(fiber)
  const report = yield* log.verify
  if (!SessionLog.isBalanced(report)) throw new Error(JSON.stringify(report))
  const registry = Context.get(context, ToolRegistry.ToolRegistry)
  if ((yield* registry.inFlight).length > 0) throw new Error("the turn is over, and a call is not")
  return `${report.calls} calls`
})

/** A session of two turns that is cancelled or disposed at any moment: each input hears how it ended. */
const session = (how: "cancel" | "dispose") =>
  Effect.gen(function*() {
    const context = yield* agentOf([waiting("a")])
    const log = Context.get(context, SessionLog.SessionLog)
    const told: Array<string> = []
    yield* Effect.scoped(Effect.gen(function*() {
      const session = yield* Effect.provide(Session.make((turn) => Effect.asVoid(turn.step(calls("a")))), context)
      const tickets = [yield* session.send("one"), yield* session.send("two")]
      const act = how === "cancel" ? session.cancel() : session.dispose
      const acting = yield* Effect.forkChild(Effect.andThen(Edge.wait(how.toUpperCase()), act))
      for (const { ended } of tickets) {
        const end = yield* Effect.result(ended)
        told.push(end._tag === "Failure" ? "refused" : end.success.cancelled ?? end.success.exit._tag)
      }
      yield* Fiber.join(acting)
      const registry = Context.get(context, ToolRegistry.ToolRegistry)
      if ((yield* registry.inFlight).length > 0) throw new Error("every turn is over, and a call is in flight")
    }))
    const report = yield* log.verify
    if (!SessionLog.isBalanced(report)) throw new Error(JSON.stringify(report))
    return told.join()
  })

/** Two writers of one line, and one that waits no longer: numbers without a gap, and each knows its own. */
const commits = Effect.gen(function*() {
  const log = yield* Edge.setup(Effect.orDie(SessionLog.make(memory())))
  yield* Edge.setup(log.append({ _tag: "turn/start" }))
  const say = (text: string) => log.append({ _tag: "input", turn: 1, text })
  const one = yield* Effect.forkChild(say("one"))
  const two = yield* Effect.forkChild(say("two"))
  yield* Edge.action("INTERRUPT", () => one.interruptUnsafe())
  yield* Fiber.await(one)
  const [entry] = yield* Fiber.join(two)
  const { events, violations } = yield* log.verify
  if (violations.length > 0 || entry === undefined) throw new Error(JSON.stringify(violations))
  return `${events} events`
})

const race = (name: string, program: Race["program"], ...clauses: Race["clauses"]): Race => ({
  name,
  clauses,
  program,
  // A turn is several fibers and some commits.
  preemptions: { ci: 0 }
})

export const agent: Subject = {
  subject: "turns and their log",
  races: [
    race("a turn that is cancelled while its calls run and wait", cancelTurn, "TURN-03", "TURN-07"),
    race("a call that is cancelled while it waits, starts or runs", cancelOne, "TURN-04", "TURN-07"),
    // Between the last look at a call that waits and its start there was once a place for a preemption.
    race("a call that is cancelled as it is started has one result", cancelAlone, "TURN-04"),
    race("a call that fails and takes the others with it", failFast, "TURN-04"),
    race("an exclusive call, and a turn that is cancelled", exclusive, "TURN-01", "TURN-03"),
    race("a turn whose fiber is interrupted", interrupted, "TURN-03", "TURN-06"),
    race("a session that is cancelled", session("cancel"), "TURN-06"),
    race("a session that is disposed", session("dispose"), "TURN-06"),
    {
      name: "two writers of one log, and one that is interrupted",
      clauses: ["TURN-07"],
      program: commits,
      preemptions: { ci: 1 }
    }
  ]
}
