import { assert, describe, it } from "@effect/vitest"
import { type Tool, ToolRegistry, type ToolResult } from "@quiesce/core"
import { Isolated } from "@quiesce/node"
import { Deferred, Duration, Effect, Schema } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { alive, fingerprint } from "./support/world.ts"

const module = new URL("./support/tasks.ts", import.meta.url)
const kinds = ["worker", "process"] as const

const tool = (name: string, place: Isolated.Place, options: { readonly grace?: Duration.Input } = {}) =>
  Isolated.make(name, {
    description: name,
    parameters: Schema.Json,
    success: Schema.Json,
    module,
    name,
    ...place,
    ...options
  })

const call = (used: Tool.AnyNoServices, input: Schema.Json = null) =>
  Effect.gen(function*() {
    const registry = yield* ToolRegistry.ToolRegistry
    return yield* registry.execute({ callId: "1", name: used.name, arguments: input })
  }).pipe(Effect.provide(ToolRegistry.layer([used])))

/** Starts a call, waits until its body says that it runs, and cancels it. */
const cancelled = (used: Tool.AnyNoServices, input: Schema.Json = null) =>
  Effect.gen(function*() {
    const running = yield* Deferred.make<number>()
    const registry = yield* ToolRegistry.ToolRegistry
    yield* registry.observe({
      progress: (_, { message }) => Deferred.succeed(running, Number(message))
    })
    const { cancel, result } = yield* registry.start({ callId: "1", name: used.name, arguments: input })
    const pid = yield* Effect.raceFirst(Deferred.await(running), Effect.flatMap(result, (early) => Effect.die(early)))
    const [elapsed, settled] = yield* Effect.timed(Effect.andThen(cancel(), result))
    return { settled, elapsed: Duration.toMillis(elapsed), pid }
  }).pipe(Effect.provide(ToolRegistry.layer([used])), Effect.scoped)

const failureOf = (result: ToolResult.ToolResult) => result._tag === "Failure" ? result.error : undefined
const detailOf = (result: ToolResult.ToolResult) => ({ ...Object(failureOf(result)?.detail) })

for (const isolate of kinds) {
  const place = { isolate } as const

  describe(`a tool whose body runs in a ${isolate}`, () => {
    it.live("answers like any other", () =>
      Effect.gen(function*() {
        const sum = Isolated.make("add", {
          description: "adds",
          parameters: Schema.Struct({ a: Schema.Number, b: Schema.Number }),
          success: Schema.Number,
          module,
          ...place
        })
        const three = Effect.flatMap(ToolRegistry.ToolRegistry, (registry) => registry.call(sum, { a: 1, b: 2 }))
        assert.strictEqual(yield* Effect.provide(three, ToolRegistry.layer([sum])), 3)
      }))

    it.live("gets and gives what the schemas encode to", () =>
      Effect.gen(function*() {
        const later = Isolated.make("echo", {
          description: "echoes",
          parameters: Schema.Struct({ at: Schema.DateFromString }),
          success: Schema.Struct({ at: Schema.DateFromString }),
          module,
          name: "echo",
          ...place
        })
        const at = "2026-01-01T00:00:00.000Z"
        const result = yield* call(later, { at })
        assert.deepStrictEqual(result._tag === "Success" ? result.value : result.error, { at })
      }))

    it.live("gets and gives as JSON what its schemas encode to something else", () =>
      Effect.gen(function*() {
        const shape = Schema.Struct({ at: Schema.Date, big: Schema.BigInt, note: Schema.optional(Schema.String) })
        const exact = Isolated.make("typesOf", {
          description: "tells what it gets",
          parameters: shape,
          success: Schema.Struct({ got: Schema.Json, back: shape }),
          module,
          ...place,
          name: "typesOf"
        })
        const input = { at: "2026-01-01T00:00:00.000Z", big: "12345678901234567890" }
        const result = yield* call(exact, input)
        assert.deepStrictEqual(
          result._tag === "Success" ? result.value : result.error,
          { got: { at: "string", big: "string" }, back: input }
        )
      }))

    it.live("fails under its own name, or says what became of its isolate", () =>
      Effect.gen(function*() {
        const result = yield* call(tool("fail", place))
        const failed = failureOf(result)
        assert.deepStrictEqual([failed?.code, failed?.name, failed?.message], ["TOOL_FAILURE", "RangeError", "no"])
        assert.strictEqual(detailOf(result).code, "E_NO")
        for (const [name, reason] of [["exit", "Crashed"], ["nothing", "NotLoaded"], ["notJson", "NotJson"]] as const) {
          const result = yield* call(tool(name, place), { kind: "NaN" })
          const failed = failureOf(result)
          assert.deepStrictEqual([failed?.code, failed?.name], ["TOOL_FAILURE", "TaskFailed"])
          assert.strictEqual(detailOf(result).reason, reason)
        }
      }))

    it.live("that gives something else than its schema says has an invalid output", () =>
      Effect.gen(function*() {
        const wrong = Isolated.make("where", {
          description: "where",
          parameters: Schema.Json,
          success: Schema.Struct({ pid: Schema.String }),
          module,
          name: "where",
          ...place
        })
        assert.strictEqual(failureOf(yield* call(wrong))?.code, "INVALID_OUTPUT")
      }))

    it.live(
      cites("and ends when it is asked to is cancelled within its grace", "NODE-07"),
      () =>
        Effect.gen(function*() {
          const { elapsed, settled } = yield* cancelled(tool("polite", place, { grace: "30 seconds" }))
          assert.strictEqual(failureOf(settled)?.code, "ABORTED")
          assert.deepStrictEqual(settled.residue, [])
          assert.isBelow(elapsed, 10_000)
        })
    )

    it.live(cites("and loops for ever is quiet within its bound", "NODE-07"), () =>
      Effect.gen(function*() {
        const options = { grace: "100 millis" } as const
        const { elapsed, pid, settled } = yield* cancelled(tool("loop", place, options))
        assert.strictEqual(failureOf(settled)?.code, "ABORTED")
        assert.deepStrictEqual(settled.residue, [])
        assert.isAtLeast(elapsed, 100)
        assert.isBelow(elapsed, 5000)
        if (isolate === "process") assert.throws(() => process.kill(pid, 0))
      }))

    it.live("and does not look at its signal settles with its own failure where it fails with one", () =>
      Effect.gen(function*() {
        const { settled } = yield* cancelled(tool("undo", place, { grace: "10 seconds" }))
        assert.deepStrictEqual([failureOf(settled)?.code, failureOf(settled)?.name], ["TOOL_FAILURE", "RangeError"])
      }))
  })
}

describe("a tool whose body runs in a process", () => {
  const place = { isolate: "process" } as const

  it.live(
    cites("and blocks in a native call is quiet within its bound, with what that call started", "NODE-07"),
    () =>
      Effect.gen(function*() {
        const mark = fingerprint()
        const { pid, settled } = yield* cancelled(tool("block", place, { grace: "100 millis" }), { mark })
        assert.strictEqual(failureOf(settled)?.code, "ABORTED")
        assert.deepStrictEqual(settled.residue, [])
        assert.throws(() => process.kill(pid, 0))
        assert.deepStrictEqual(alive(mark), [])
      })
  )

  it.live(cites("and ignores SIGTERM is quiet within its bound", "NODE-07"), () =>
    Effect.gen(function*() {
      const { pid } = yield* cancelled(tool("deaf", place, { grace: "100 millis" }))
      assert.throws(() => process.kill(pid, 0))
    }))

  it.live(cites("leaves nobody behind when it succeeds either", "NODE-07"), () =>
    Effect.gen(function*() {
      const mark = fingerprint()
      const result = yield* call(tool("breed", place), { mark })
      assert.strictEqual(result._tag, "Success")
      assert.deepStrictEqual(alive(mark), [])
    }))

  it.live(
    cites("and writes to every file it has fails alone, and is ended", "NODE-07"),
    () =>
      Effect.gen(function*() {
        const endless = { text: "x".repeat(1024 * 1024), times: 100 }
        for (const input of [{ text: "no message\n", times: 1 }, { text: "\n", times: 1 }, endless]) {
          const result = yield* call(tool("babble", place), input)
          assert.strictEqual(detailOf(result).reason, "Crashed")
          assert.deepStrictEqual(result.residue, [])
        }
      }),
    // A hundred megabytes go through a pipe.
    30_000
  )

  it.live("takes and gives what is large", () =>
    Effect.gen(function*() {
      const text = "ü".repeat(3_000_000)
      const result = yield* call(tool("echo", place), { text })
      assert.strictEqual(result._tag, "Success")
      if (result._tag === "Success") assert.deepStrictEqual(result.value, { text })
    }))

  it.live(cites("and takes all the memory it may fails alone", "NODE-07"), () =>
    Effect.gen(function*() {
      const result = yield* call(tool("gorge", { ...place, memory: 32 }))
      assert.strictEqual(detailOf(result).reason, "OutOfMemory")
    }))
})

it("the bound of an isolate is its grace and what it takes to end it", () => {
  assert.strictEqual(Duration.toMillis(Isolated.bound({ isolate: "worker", grace: 100 })), 600)
  assert.strictEqual(Duration.toMillis(Isolated.bound({ isolate: "process", grace: 100 })), 1100)
})
