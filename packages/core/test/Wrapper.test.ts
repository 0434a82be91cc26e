import { assert, describe, it } from "@effect/vitest"
import { type Json, Tool, type ToolResult, Wrapper } from "@quiesce/core"
import { Effect, Exit, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { getEventListeners } from "node:events"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { effectTool, promiseTool } from "./support/registry.ts"
import { assertAborted, codeOf, failureOf, issuesOf, valueOf } from "./support/results.ts"
import { watched } from "./support/watched.ts"

const immediately = { startImmediately: true }

/** A tool that promises a list of numbers, and shows their sum. */
const numbers = (body: () => ReadonlyArray<number>) =>
  Tool.make("numbers", {
    description: "",
    parameters: Schema.Struct({}),
    success: Schema.Array(Schema.Number),
    render: (value) => [{ type: "text", text: `sum ${value.reduce((sum, n) => sum + n, 0)}` }],
    execute: () => Effect.sync(body)
  })

describe("a wrapper that answers in place of the body", () => {
  it.effect(
    cites("its value is the call's, checked and shown like a body's, and nothing was dispatched", "CALL-14"),
    () =>
      Effect.gen(function*() {
        let bodies = 0
        const host = yield* Faces.start.open({
          tools: [numbers(() => [++bodies])],
          wrappers: [() => Effect.succeed([1, 2, 3])]
        })
        const result = yield* (yield* host.call("numbers")).result
        assert.deepStrictEqual(valueOf(result), [1, 2, 3])
        assert.deepStrictEqual(result.content, [{ type: "text", text: "sum 6" }])
        assert.isFalse(result.dispatched)
        assert.strictEqual(bodies, 0)
      })
  )

  it.effect.each(
    [
      ["what the schema refuses", ["one"], [[0]]],
      ["something of another shape", { not: "a list" }, [[]]],
      ["nothing at all", undefined, [[]]],
      ["a number that is not JSON", [Number.NaN], [[0]]],
      ["a value of a class", new (class extends Array<number> {})(), [[]]]
    ] as const
  )(
    cites("%s is INVALID_OUTPUT, and nothing was dispatched", "CALL-14", "CALL-20"),
    ([, value, paths]) =>
      Effect.gen(function*() {
        const host = yield* Faces.start.open({
          tools: [numbers(() => [])],
          wrappers: [() => Effect.succeed(value as unknown as Json)]
        })
        const result = yield* (yield* host.call("numbers")).result
        assert.strictEqual(codeOf(result), "INVALID_OUTPUT")
        assert.deepStrictEqual(issuesOf(result).map(({ path }) => path), paths as any)
        assert.isFalse(result.dispatched)
      })
  )

  it.effect(
    cites("a value it made of the body's is checked too, and the body was dispatched", "CALL-14"),
    () =>
      Effect.gen(function*() {
        for (
          const [map, code] of [
            [(json: Json): Json => [...json as ReadonlyArray<number>, 4], "Success"],
            [(json: Json): Json => ({ json }), "INVALID_OUTPUT"],
            [(json: Json): Json => json, "Success"]
          ] as const
        ) {
          const host = yield* Faces.start.open({
            tools: [numbers(() => [3])],
            wrappers: [(next) => Effect.map(next, map)]
          })
          const result = yield* (yield* host.call("numbers")).result
          assert.strictEqual(codeOf(result), code)
          assert.isTrue(result.dispatched)
        }
      })
  )

  it.effect(
    cites("`next` yields the value as JSON, frozen, and changing what the wrapper got changes nothing", "CALL-14"),
    () =>
      Effect.gen(function*() {
        const tool = Tool.make("dated", {
          description: "",
          parameters: Schema.Struct({}),
          success: Schema.Struct({ at: Schema.Date }),
          execute: () => Effect.succeed({ at: new Date(0) })
        })
        let seen: Json = null
        const host = yield* Faces.start.open({
          tools: [tool],
          wrappers: [(next) => Effect.tap(next, (json) => Effect.sync(() => void (seen = json)))]
        })
        const result = yield* (yield* host.call("dated")).result
        assert.deepStrictEqual(seen, { at: "1970-01-01T00:00:00.000Z" })
        assert.isTrue(Object.isFrozen(seen))
        assert.deepStrictEqual(valueOf(result), seen)
      })
  )

  it.effect(
    cites("cancelled before the body was invoked, its answer is ABORTED_BEFORE_DISPATCH", "CALL-14"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const gate = Gate.make()
          const host = yield* face.open(watched({ wrap: () => Effect.as(gate.hold, "mine") }))
          const call = yield* host.call("tool")
          yield* gate.reached
          yield* call.cancel
          yield* gate.open()
          assertAborted(yield* call.result, "ABORTED_BEFORE_DISPATCH", face.reason)
        }
      })
  )

  it.effect(
    cites("cancelled after the body was invoked, its answer is ABORTED", "CALL-14"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const gate = Gate.make()
          const host = yield* face.open(watched({ wrap: (next) => Effect.andThen(next, Effect.as(gate.hold, "mine")) }))
          const call = yield* host.call("tool")
          yield* gate.reached
          yield* call.cancel
          yield* gate.open()
          assertAborted(yield* call.result, "ABORTED", face.reason)
        }
      })
  )

  it.effect(cites("the answer of a promise function is treated alike", "CALL-14"), () =>
    Effect.gen(function*() {
      for (const face of Faces.allFaces) {
        for (const [value, code] of [[[1, 2], "Success"], ["text", "INVALID_OUTPUT"]] as const) {
          const host = yield* face.open({ tools: [numbers(() => [])], wrappers: [() => value as Json] })
          const result = yield* (yield* host.call("numbers")).result
          assert.strictEqual(codeOf(result), code)
          assert.isFalse(result.dispatched)
        }
      }
    }))
})

describe("running `next` again", () => {
  it.effect(
    cites("a retry runs the body again once its previous run is quiet", "CALL-15"),
    () =>
      Effect.gen(function*() {
        const cleaned: Array<number> = []
        let running = 0
        let runs = 0
        const host = yield* Faces.start.open(watched({
          body: () =>
            Effect.suspend(() => {
              assert.strictEqual(++running, 1, "bodies never overlap")
              const run = ++runs
              return (run < 3 ? Effect.fail("again") : Effect.succeed(run)).pipe(
                Effect.ensuring(Effect.andThen(
                  Effect.sleep("1 second"),
                  Effect.sync(() => {
                    running--
                    cleaned.push(run)
                  })
                ))
              )
            }),
          wrap: (next) => Effect.retry(next, Schedule.recurs(5))
        }))
        const call = yield* host.call("tool")
        yield* TestClock.adjust("3 seconds")
        assert.strictEqual(valueOf(yield* call.result), 3)
        assert.deepStrictEqual(cleaned, [1, 2, 3])
      })
  )

  it.effect(
    cites("after a timeout of its own the wrapper may run it again: the first has ended by then", "CALL-15"),
    () =>
      Effect.gen(function*() {
        yield* TestClock.adjust(0)
        let running = 0
        let runs = 0
        const host = yield* Faces.start.open(watched({
          body: () =>
            Effect.suspend(() => {
              assert.strictEqual(++running, 1, "bodies never overlap")
              const run = ++runs === 1
                ? Effect.ensuring(Effect.never, Effect.sleep("1 minute"))
                : Effect.succeed("second")
              return Effect.ensuring(run, Effect.sync(() => running--))
            }),
          wrap: (next) => Effect.retry(Effect.timeout(next, "1 second"), { times: 1 })
        }))
        const call = yield* host.call("tool")
        yield* TestClock.adjust("3 minutes")
        assert.strictEqual(valueOf(yield* call.result), "second")
      })
  )

  const overlapping: ReadonlyArray<readonly [what: string, wrap: (next: Wrapper.Next) => ReturnType<Wrapper.Wrapper>]> =
    [
      ["all at once", (next) => Effect.map(Effect.all([next, next], { concurrency: 2 }), ([first]) => first!)],
      ["in a race", (next) => Effect.race(next, next)],
      ["detached and again", (next) => Effect.andThen(Effect.forkDetach(next, immediately), next)],
      ["interrupted without waiting, and again", (next) =>
        Effect.gen(function*() {
          const fiber = yield* Effect.forkDetach(next, immediately)
          fiber.interruptUnsafe()
          return yield* next
        })],
      ["uninterruptibly", (next) => Effect.uninterruptible(Effect.andThen(Effect.forkDetach(next, immediately), next))]
    ]

  it.effect.each(overlapping)(
    cites("an overlapping run (%s) is refused once the first is quiet, naming the wrapper", "CALL-15"),
    ([what, wrap]) =>
      Effect.gen(function*() {
        let entered = 0
        const body = Gate.make<string>()
        const cleaning = Gate.make()
        const hedge: Wrapper.Wrapper = (next) => wrap(next)
        const host = yield* Faces.start.open({
          tools: [effectTool("tool", () => {
            entered++
            return Effect.ensuring(body.wait, cleaning.wait)
          })],
          wrappers: [hedge]
        })
        const call = yield* host.call("tool")
        yield* body.reached
        yield* TestClock.adjust("1 hour")
        assert.isFalse(call.isOver())
        if (what !== "interrupted without waiting, and again") {
          assert.strictEqual(body.counts.interruptions, 0, "the first run is let run")
          yield* body.open("first")
        }
        yield* cleaning.reached
        yield* TestClock.adjust("1 hour")
        assert.isFalse(call.isOver())
        yield* cleaning.open()
        const result = yield* call.result
        assert.strictEqual(entered, 1)
        // A race takes the first success: the refusal is then nobody's.
        if (what === "in a race") return assert.strictEqual(valueOf(result), "first")
        const { error } = failureOf(result)
        assert.strictEqual(error.code, "WRAPPER_FAILURE")
        assert.include(error.message, "hedge")
        assert.isTrue(result.dispatched)
      })
  )

  it.effect(cites("the same of promise functions", "CALL-15"), () =>
    Effect.gen(function*() {
      for (const face of Faces.allFaces) {
        let entered = 0
        const gate = Gate.make<string>()
        const host = yield* face.open({
          tools: [promiseTool("tool", () => {
            entered++
            return gate.promise()
          })],
          wrappers: [async function hedge(next, _, { signal }) {
            const [first] = await Promise.all([next(signal), next(signal)])
            return first
          }]
        })
        const call = yield* host.call("tool")
        yield* gate.reached
        yield* TestClock.adjust("1 hour")
        assert.isFalse(call.isOver())
        yield* gate.open("first")
        const { error } = failureOf(yield* call.result)
        assert.strictEqual(error.code, "WRAPPER_FAILURE")
        assert.include(error.message, "hedge")
        assert.strictEqual(entered, 1)
      }
    }))

  it.effect(
    cites("the refusal of one part of a composed wrapper names that part", "CALL-15"),
    () =>
      Effect.gen(function*() {
        const twice: Wrapper.Wrapper = (next) => Effect.andThen(Effect.forkDetach(next, immediately), next)
        const plain: Wrapper.Wrapper = (next) => next
        const host = yield* Faces.start.open({
          tools: [effectTool("tool", () => Effect.sleep("1 second").pipe(Effect.as("done")))],
          wrappers: [Wrapper.compose(plain, Wrapper.compose(twice, plain))]
        })
        const call = yield* host.call("tool")
        yield* TestClock.adjust("1 second")
        assert.include(failureOf(yield* call.result).error.message, "twice")
      })
  )

  it.effect(
    cites(
      "a `next` that an inner wrapper left running is quiet before the outer one runs it again",
      "CALL-07",
      "CALL-15"
    ),
    () =>
      Effect.gen(function*() {
        // The first sleep of a test clock can be interrupted also in a finalizer: this is it.
        yield* TestClock.adjust(0)
        let running = 0
        let runs = 0
        const host = yield* Faces.start.open({
          tools: [effectTool("tool", () =>
            Effect.suspend(() => {
              runs++
              assert.strictEqual(++running, 1, "bodies never overlap")
              return Effect.ensuring(
                Effect.never,
                Effect.andThen(Effect.sleep("1 second"), Effect.sync(() => running--))
              )
            }))],
          wrappers: [
            (next) => Effect.retry(next, { times: 2 }),
            (next) => Effect.andThen(Effect.forkDetach(next, immediately), Effect.fail("left it"))
          ]
        })
        const call = yield* host.call("tool")
        yield* TestClock.adjust("3 seconds")
        assert.strictEqual(failureOf(yield* call.result).error.message, "left it")
        assert.strictEqual(runs, 3)
        assert.strictEqual(running, 0)
      })
  )

  it.effect(
    cites("the outcome is that of the run the wrapper answered with", "CALL-14", "CALL-15"),
    () =>
      Effect.gen(function*() {
        let runs = 0
        const host = yield* Faces.start.open({
          tools: [numbers(() => [++runs])],
          wrappers: [(next) => Effect.flatMap(next, (first) => Effect.as(next, first))]
        })
        const result = yield* (yield* host.call("numbers")).result
        assert.strictEqual(runs, 2)
        assert.deepStrictEqual(valueOf(result), [1])
        assert.deepStrictEqual(result.content, [{ type: "text", text: "sum 1" }])
      })
  )

  it.effect(cites("a cancel of the call is not retried", "CALL-12", "CALL-15"), () =>
    Effect.gen(function*() {
      let runs = 0
      const host = yield* Faces.start.open(watched({
        body: () => Effect.suspend(() => (++runs, Effect.never)),
        wrap: (next) =>
          Effect.uninterruptible(
            Effect.flatMap(Effect.exit(next), (first) => Exit.isSuccess(first) ? first : next)
          )
      }))
      const call = yield* host.call("tool")
      yield* call.cancel
      assertAborted(yield* call.result, "ABORTED", "Caller")
      assert.strictEqual(runs, 1)
    }))
})

describe("a wrapper of promise functions", () => {
  it.effect(
    cites("sees the call's failure, may try again, and the last run counts", "CALL-15"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.allFaces) {
          let runs = 0
          const seen: Array<unknown> = []
          const host = yield* face.open({
            tools: [promiseTool("tool", async () => {
              if (++runs < 3) throw new Error(`run ${runs}`)
              return runs
            })],
            wrappers: [async (next, _, { signal }) => {
              for (;;) {
                try {
                  return await next(signal)
                } catch (error) {
                  seen.push([
                    (error as ToolResult.ToolCallFailed).code,
                    (error as ToolResult.ToolCallFailed).dispatched
                  ])
                }
              }
            }]
          })
          assert.strictEqual(valueOf(yield* (yield* host.call("tool")).result), 3)
          assert.deepStrictEqual(seen, [["TOOL_FAILURE", true], ["TOOL_FAILURE", true]])
        }
      })
  )

  it.effect(
    cites("passes the call's failure on as it is; any other error is a failure of its own", "CALL-21"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.allFaces) {
          for (
            const [translate, code, name] of [
              [(error: unknown) => error, "TOOL_FAILURE", "RangeError"],
              [(error: unknown) => new TypeError("mine", { cause: error }), "WRAPPER_FAILURE", "TypeError"],
              [() => undefined, "WRAPPER_FAILURE", "Error"]
            ] as const
          ) {
            const host = yield* face.open({
              tools: [promiseTool("tool", () => Promise.reject(new RangeError("x")))],
              wrappers: [(next, _, { signal }) => next(signal).catch((error) => Promise.reject(translate(error)))]
            })
            const { error } = failureOf(yield* (yield* host.call("tool")).result)
            assert.deepStrictEqual([error.code, error.name], [code, name])
          }
        }
      })
  )

  it.effect(cites("cannot run `next` once it has settled", "CALL-07", "CALL-15"), () =>
    Effect.gen(function*() {
      for (const face of Faces.allFaces) {
        let bodies = 0
        let late: () => Promise<Json> = () => Promise.resolve(null)
        const host = yield* face.open({
          tools: [promiseTool("tool", () => ++bodies)],
          wrappers: [(next, _, { signal }) => {
            late = () => next(signal)
            return "mine"
          }]
        })
        assert.strictEqual(valueOf(yield* (yield* host.call("tool")).result), "mine")
        const refused = yield* Effect.promise(() => late().then(() => "ran", (error) => String(error.message)))
        assert.include(refused, "after it had settled")
        assert.strictEqual(bodies, 0)
      }
    }))

  it.effect(
    cites("derives a signal without a listener once it has settled", "CALL-12", "CALL-16"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.allFaces) {
          const controller = new AbortController()
          let derive: (other: AbortSignal) => AbortSignal = (other) => other
          const host = yield* face.open({
            tools: [promiseTool("tool", () => "done")],
            wrappers: [(next, _, signals) => {
              derive = signals.derive
              return next(signals.signal)
            }]
          })
          assert.strictEqual(valueOf(yield* (yield* host.call("tool")).result), "done")
          const late = derive(controller.signal)
          assert.deepStrictEqual(getEventListeners(controller.signal, "abort"), [])
          controller.abort()
          assert.isFalse(late.aborted)
        }
      })
  )

  it.effect(
    cites("derives as many signals as it likes, each live, and none outlives it", "CALL-12", "CALL-16"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.allFaces) {
          const gate = Gate.make<string>()
          const others = [new AbortController(), new AbortController()]
          let derived: ReadonlyArray<AbortSignal> = []
          const host = yield* face.open({
            tools: [promiseTool("tool", gate.promise)],
            wrappers: [(next, _, { derive, signal }) => {
              derived = others.map((other) => derive(other.signal))
              return next(signal)
            }]
          })
          const call = yield* host.call("tool")
          yield* gate.reached
          others[0]!.abort("one of them")
          assert.deepStrictEqual(derived.map(({ aborted }) => aborted), [true, false])
          yield* call.cancel
          assert.deepStrictEqual(derived.map(({ aborted }) => aborted), [true, true])
          yield* gate.open("late")
          assertAborted(yield* call.result, "ABORTED", face.reason)
          assert.deepStrictEqual(others.flatMap(({ signal }) => getEventListeners(signal, "abort")), [])
        }
      })
  )
})

describe("compose", () => {
  it.effect(
    cites("the first wrapper is outermost, however they are grouped", "CALL-14", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const order: Array<string> = []
        const named = (name: string): Wrapper.Wrapper => (next) =>
          Effect.andThen(Effect.sync(() => void order.push(name)), next)
        const host = yield* Faces.start.open({
          tools: [effectTool("tool", () => Effect.sync(() => order.push("body")))],
          wrappers: [named("a"), Wrapper.compose(named("b"), Wrapper.compose(named("c"))), named("d")]
        })
        yield* (yield* host.call("tool")).result
        assert.deepStrictEqual(order, ["a", "b", "c", "d", "body"])
      })
  )
})
