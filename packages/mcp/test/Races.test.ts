import { assert, describe, it } from "@effect/vitest"
import { Server } from "@modelcontextprotocol/server"
import { Abortable, Tool, ToolRegistry } from "@quiesce/core"
import { Edge, Explore, Report } from "@quiesce/testing"
import { Context, Effect, Layer, Schema } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Cancelled from "../src/Cancelled.ts"
import { bind, guarded } from "../src/internal/bind.ts"
import { Connection } from "../src/internal/connection.ts"
import * as Tools from "../src/internal/tools.ts"
import { call, cancel, type Frame, initialize, type Revision } from "./support/peer.ts"

type Wire = ConstructorParameters<typeof Connection>[0]

/** What a run of a program has to do with. */
interface Run {
  /** What the client says. */
  readonly receive: (frame: object) => void
  /** The client goes. */
  readonly leave: () => void
}

/**
 * A call that is in flight behind the official SDK's server, while whatever `meanwhile` makes possible happens, and the
 * server is closed: at every order of them all.
 */
const exchange = (
  revision: Revision,
  ending: "wait" | "ignore",
  meanwhile: (run: Run) => Effect.Effect<unknown, never, Edge.Edge>
) =>
  Effect.gen(function*() {
    const bodies = { entered: 0, ended: 0 }
    const body = Effect.acquireUseRelease(
      Effect.sync(() => void bodies.entered++),
      () => Edge.wait("THE BODY ENDS"),
      () => Effect.sync(() => void bodies.ended++)
    )
    const tool = Tool.make("tool", {
      description: "",
      parameters: Schema.Struct({}),
      success: Schema.String,
      execute: (_, { callId }) => Effect.as(ending === "wait" ? body : Effect.uninterruptible(body), callId)
    })
    const context = yield* Edge.setup(Layer.build(ToolRegistry.layer([tool])))
    const registry = Context.get(context, ToolRegistry.ToolRegistry)
    const frames: Array<Frame> = []
    /** How many frames there were when the request with id 1 was cancelled. */
    let cancelledAt: number | undefined
    let closedAt: number | undefined
    yield* Effect.scoped(Effect.gen(function*() {
      const wire: Wire = {
        start: async () => undefined,
        send: async (frame) => void frames.push(frame as Frame),
        close: async () => wire.onclose?.()
      }
      const connection = new Connection(wire)
      yield* Edge.setup(Effect.gen(function*() {
        const tools = yield* Effect.provide(Tools.make(undefined), context)
        const server = new Server({ name: "", version: "" })
        bind(server, tools, guarded(connection))
        yield* Abortable.promise(() => server.connect(connection))
        if (revision === "2025-11-25") wire.onmessage?.(initialize() as never)
      }))
      const run: Run = {
        receive: (frame) => {
          // What was answered before is over, and its cancel is ignored.
          if ((frame as Frame).method === "notifications/cancelled" && answers(frames).length === 0) {
            cancelledAt ??= frames.length
          }
          wire.onmessage?.(frame as never)
        },
        leave: () => {
          closedAt ??= frames.length
          wire.onclose?.()
        }
      }
      run.receive(call(revision, 1, "tool"))
      yield* meanwhile(run)
      yield* Edge.wait("CLOSE")
      yield* Effect.ignore(Abortable.promise(() => {
        closedAt ??= frames.length
        return connection.shut(Cancelled.serverClosed())
      }))
      yield* connection.inFlight.whenQuiet
      const holds = (what: boolean, problem: string) => {
        if (!what) throw new Error(`${problem}: ${JSON.stringify({ ...bodies, cancelledAt, closedAt, frames })}`)
      }
      holds(bodies.entered === bodies.ended, "the server is closed and a body is not quiet")
      holds(connection.inFlight.size === 0, "a request is left")
      holds(connection.inFlight.working.length === 0, "a call is left")
      // A call that was cancelled before it could begin may be on its way through the SDK: it must not have begun.
      holds((yield* registry.inFlight).every(({ stage }) => stage !== "body"), "a body runs")
      holds(frames.slice(closedAt).length === 0, "something was sent after the end")
      const answered = answers(frames)
      holds(new Set(answered).size === answered.length, "a call was answered twice")
      holds(cancelledAt === undefined || !answered.includes("mcp-1"), "a cancelled request was answered")
    }))
    return `${bodies.entered} began, answered: ${answers(frames).join()}`
  })

/** The calls that were answered with what their bodies say: each its own id. */
const answers = (frames: ReadonlyArray<Frame>): ReadonlyArray<string> =>
  frames.flatMap(({ id, result }) => id === 1 && result !== undefined ? [JSON.parse(result.content[0].text)] : [])

const acting = (label: string, act: () => void) => Edge.action(label, act)

/** With the preemptions that a minute of tests has room for: each costs a factor of some hundred. */
const races: ReadonlyArray<
  readonly [name: string, preemptions: number, program: Explore.Program<unknown, unknown>]
> = [
  [
    "a call that is cancelled, answered and cut off",
    1,
    exchange("2025-11-25", "wait", ({ receive }) => acting("CANCEL", () => receive(cancel(1))))
  ],
  [
    "a call whose body ignores it, and a client that goes",
    0,
    exchange(
      "2025-11-25",
      "ignore",
      ({ leave, receive }) => Effect.andThen(acting("CANCEL", () => receive(cancel(1))), acting("LEAVE", leave))
    )
  ],
  [
    "an id that comes again behind its cancel, in an old revision",
    0,
    exchange("2025-11-25", "ignore", ({ receive }) =>
      acting("CANCEL AND AGAIN", () => {
        receive(cancel(1))
        receive(call("2025-11-25", 1, "tool"))
      }))
  ],
  [
    "an id that comes again behind its cancel, in a stateless one",
    0,
    exchange("2026-07-28", "wait", ({ receive }) =>
      acting("CANCEL AND AGAIN", () => {
        receive(cancel(1))
        receive(call("2026-07-28", 1, "tool"))
      }))
  ]
]

describe("the requests in flight, at every order of events", () => {
  for (const [name, preemptions, program] of races) {
    it.live(cites(name, "MCP-01", "MCP-02", "MCP-03"), () =>
      Effect.gen(function*() {
        const report = yield* Explore.check(program, { name, preemptions, timers: 0 })
        assert.strictEqual(report.coverage._tag, "Exhaustive", Report.summary(report))
        assert.isAbove(report.explored, 4)
      }), 60_000)
  }
})
