/** `$/cancel_request`: which request it meets, and what that is answered. */
import { RequestError } from "@agentclientprotocol/sdk"
import { assert, describe, it } from "@effect/vitest"
import { Handler } from "@quiesce/acp"
import { Deadline } from "@quiesce/core"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { agent, cancelRequest, request, settled } from "./support/driver.ts"

const cancelled = { code: -32800, message: "Request cancelled" }

/** A method that waits until it is cancelled, and says which of its runs have ended. */
const waiting = () => {
  const started: Array<unknown> = []
  const ended: Array<unknown> = []
  return {
    started,
    ended,
    handlers: {
      _wait: (_: unknown, { id }: { readonly id: unknown }) =>
        Effect.onExit(
          Effect.andThen(Effect.sync(() => started.push(id)), Effect.never),
          () => Effect.sync(() => ended.push(id))
        )
    }
  }
}

describe("$/cancel_request", () => {
  it.effect(cites("cancels the request it names and no other", "ACP-01"), () =>
    Effect.gen(function*() {
      const { ended, handlers } = waiting()
      const { driver } = yield* agent(handlers)
      yield* driver.send(request(1, "_wait"), request(2, "_wait"))
      yield* settled
      yield* driver.send(cancelRequest(1))
      yield* settled
      assert.deepStrictEqual(ended, [1])
      assert.deepStrictEqual(driver.answers(1).map(({ error }) => error), [cancelled])
      assert.deepStrictEqual(driver.answers(2), [])
      assert.deepStrictEqual(driver.faults, [])
    }))

  it.effect(
    cites("tells ids of different types apart, and takes those that look like nothing", "ACP-01"),
    () =>
      Effect.gen(function*() {
        const ids = [0, "0", 1, "1", "", "null", null]
        for (const id of ids) {
          const { ended, handlers } = waiting()
          const { driver, leave } = yield* agent(handlers)
          yield* driver.send(...ids.map((id) => request(id, "_wait")))
          yield* settled
          yield* driver.send(cancelRequest(id))
          yield* settled
          assert.deepStrictEqual(ended, [id])
          assert.deepStrictEqual(driver.received.map(({ error, id }) => ({ id, error })), [{ id, error: cancelled }])
          yield* leave
        }
      })
  )

  it.effect(
    cites("is ignored where its id is unknown, finished or no id, or missing", "ACP-01"),
    () =>
      Effect.gen(function*() {
        const { ended, handlers } = waiting()
        const { driver } = yield* agent({ ...handlers, _now: () => Effect.succeed("done") })
        yield* driver.send(request(1, "_wait"), request(2, "_now"))
        yield* settled
        for (const id of [2, 3, "1", 1.5, true, [1], { id: 1 }, undefined]) yield* driver.send(cancelRequest(id))
        yield* driver.raw(`{"jsonrpc":"2.0","method":"$/cancel_request"}\n`)
        yield* driver.raw(`{"jsonrpc":"2.0","method":"$/cancel_request","params":null}\n`)
        yield* driver.raw(`{"jsonrpc":"2.0","method":"$/cancel_request","params":[1]}\n`)
        yield* settled
        assert.deepStrictEqual(ended, [])
        assert.deepStrictEqual(driver.received.map(({ id, result }) => ({ id, result })), [{ id: 2, result: "done" }])
      })
  )

  it.effect(
    cites("is per direction: it does not meet a request of ours that has the same id", "ACP-01"),
    () =>
      Effect.gen(function*() {
        const { driver } = yield* agent({
          _ask: (_, { peer }) => peer.request("_question", {})
        })
        yield* driver.send(request(7, "_ask"))
        yield* settled
        const [question] = driver.told("_question")
        assert.strictEqual(question?.id, 0)
        yield* driver.send(cancelRequest(0))
        yield* settled
        assert.deepStrictEqual(driver.answers(7), [])
        yield* driver.send({ jsonrpc: "2.0", id: 0, result: "yes" })
        yield* settled
        assert.deepStrictEqual(driver.answers(7).map(({ result }) => result), ["yes"])
      })
  )

  it.effect(
    cites("cancels what is nested under the request: what it asks the client is cancelled too", "ACP-01"),
    () =>
      Effect.gen(function*() {
        const { driver } = yield* agent({
          _ask: (_, { peer }) =>
            Effect.all([peer.request("_question", { n: 1 }), peer.request("_question", { n: 2 })], {
              concurrency: "unbounded"
            })
        })
        yield* driver.send(request("outer", "_ask"))
        yield* settled
        yield* driver.send(cancelRequest("outer"))
        yield* settled
        assert.deepStrictEqual(driver.told("$/cancel_request").map(({ params }) => params.requestId).sort(), [0, 1])
        // Neither has been answered: the outer one is not quiet.
        assert.deepStrictEqual(driver.answers("outer"), [])
        yield* driver.send({ jsonrpc: "2.0", id: 0, error: cancelled }, { jsonrpc: "2.0", id: 1, result: {} })
        yield* settled
        assert.deepStrictEqual(driver.answers("outer").map(({ error }) => error), [cancelled])
      })
  )
})

describe("a cancelled request", () => {
  it.effect(
    cites("is answered once, however often it is cancelled, and not before its handler has ended", "ACP-02"),
    () =>
      Effect.gen(function*() {
        const { driver } = yield* agent({
          _slow: () => Effect.onInterrupt(Effect.never, () => Effect.sleep("2 seconds"))
        })
        yield* driver.send(request(1, "_slow"))
        yield* settled
        yield* driver.send(cancelRequest(1), cancelRequest(1))
        yield* TestClock.adjust("1999 millis")
        yield* driver.send(cancelRequest(1))
        yield* settled
        assert.deepStrictEqual(driver.answers(1), [])
        yield* TestClock.adjust("1 millis")
        yield* settled
        yield* driver.send(cancelRequest(1))
        yield* settled
        assert.deepStrictEqual(driver.answers(1).map(({ error }) => error), [cancelled])
      })
  )

  it.effect(
    cites("is answered as cancelled whatever its handler fails with then", "ACP-02"),
    () =>
      Effect.gen(function*() {
        const failing = (fail: Effect.Effect<never, unknown>) => () =>
          Effect.onInterrupt(Effect.never, () => Effect.orDie(fail))
        const { driver } = yield* agent({
          _0: failing(Effect.fail(new Error("broken"))),
          _1: failing(Effect.fail(new RequestError(-32000, "no"))),
          _2: failing(Effect.die("a defect")),
          _3: Handler.fromPromise((_, { signal }) =>
            new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("late"))))
          ),
          _4: Handler.fromPromise((_, { signal }) =>
            new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
          )
        })
        for (let id = 0; id < 5; id++) yield* driver.send(request(id, `_${id}`))
        yield* settled
        for (let id = 0; id < 5; id++) yield* driver.send(cancelRequest(id))
        yield* settled
        for (let id = 0; id < 5; id++) assert.deepStrictEqual(driver.answers(id).map(({ error }) => error), [cancelled])
      })
  )

  it.effect(cites("that had finished gets its normal answer", "ACP-02"), () =>
    Effect.gen(function*() {
      const { driver } = yield* agent({ _now: () => Effect.succeed(1), _fails: () => Effect.fail(new Error("x")) })
      yield* driver.send(request(1, "_now"), request(2, "_fails"))
      yield* settled
      yield* driver.send(cancelRequest(1), cancelRequest(2))
      yield* settled
      assert.deepStrictEqual(driver.received.map(({ id }) => id), [1, 2])
      assert.strictEqual(driver.answers(1)[0]?.result, 1)
      assert.strictEqual(driver.answers(2)[0]?.error?.code, -32603)
    }))

  it.effect(
    cites("of `session/prompt` says so by its stop reason, whoever wrote the handler", "ACP-02"),
    () =>
      Effect.gen(function*() {
        const { driver } = yield* agent({
          "session/prompt": () => Effect.never
        })
        yield* driver.send(request(1, "session/prompt", { sessionId: "s", prompt: [] }))
        yield* settled
        yield* driver.send(cancelRequest(1))
        yield* settled
        assert.deepStrictEqual(driver.answers(1).map(({ result }) => result), [{ stopReason: "cancelled" }])
        assert.deepStrictEqual(driver.faults, [])
      })
  )
})

describe("a request that we cancel ourselves", () => {
  it.effect(cites("is answered as one that the client cancelled", "ACP-03"), () =>
    Effect.gen(function*() {
      const { driver } = yield* agent({
        _deadline: () => Deadline.within(Effect.never, { timeout: "1 second", code: "SLOW" }),
        _timeout: () => Effect.timeout(Effect.never, "1 second"),
        _interrupted: () => Effect.interrupt,
        _aborted: Handler.fromPromise(() => {
          throw new DOMException("the operation was aborted", "AbortError")
        }),
        _timedout: Handler.fromPromise(() => {
          throw new DOMException("the operation timed out", "TimeoutError")
        })
      })
      const methods = ["_deadline", "_timeout", "_interrupted", "_aborted", "_timedout"]
      yield* driver.send(...methods.map((method, id) => request(id, method)))
      yield* TestClock.adjust("1 second")
      yield* settled
      for (const id of methods.keys()) {
        assert.deepInclude(driver.answers(id)[0]?.error, cancelled, methods[id])
        assert.strictEqual(driver.answers(id).length, 1)
      }
    }))

  it.effect(
    cites("since there are too many does not start, and harms no other", "ACP-03"),
    () =>
      Effect.gen(function*() {
        const { handlers, started } = waiting()
        const { driver } = yield* agent(handlers, {}, { maxRequests: 2 })
        yield* driver.send(...[1, 2, 3].map((id) => request(id, "_wait")))
        yield* settled
        assert.deepStrictEqual(started, [1, 2])
        assert.deepStrictEqual(driver.received, [{ jsonrpc: "2.0", id: 3, error: cancelled }])
        yield* driver.send(cancelRequest(1))
        yield* settled
        yield* driver.send(request(4, "_wait"))
        yield* settled
        assert.deepStrictEqual(started, [1, 2, 4])
      })
  )

  it.effect(cites("since the connection closes, as is one that comes then", "ACP-03"), () =>
    Effect.gen(function*() {
      const release = yield* Deferred.make<void>()
      const { connection, driver, leave } = yield* agent({
        _slow: () => Effect.onInterrupt(Effect.never, () => Deferred.await(release)),
        _now: () => Effect.succeed(1)
      })
      yield* driver.send(request(1, "_slow"))
      yield* settled
      yield* Effect.forkScoped(leave)
      yield* settled
      yield* driver.send(request(2, "_now"))
      yield* settled
      assert.deepStrictEqual(driver.received, [{ jsonrpc: "2.0", id: 2, error: cancelled }])
      yield* Deferred.succeed(release, undefined)
      assert.deepStrictEqual(yield* connection.closed, { _tag: "Closed" })
      yield* settled
      assert.deepStrictEqual(driver.answers(1).map(({ error }) => error), [cancelled])
    }))
})

describe("a cancel in the chunk of its request", () => {
  it.effect(
    cites("keeps the handler from starting, and the request is answered", "ACP-10"),
    () =>
      Effect.gen(function*() {
        const { handlers, started } = waiting()
        const { driver } = yield* agent({
          ...handlers,
          "session/prompt": () => Effect.sync(() => started.push("prompt")) as never
        })
        yield* driver.send(
          request(1, "_wait"),
          request(2, "session/prompt", { sessionId: "s", prompt: [] }),
          cancelRequest(2),
          cancelRequest(1)
        )
        yield* settled
        assert.deepStrictEqual(started, [])
        assert.deepStrictEqual(driver.answers(1).map(({ error }) => error), [cancelled])
        assert.deepStrictEqual(driver.answers(2).map(({ result }) => result), [{ stopReason: "cancelled" }])
        // An id that was answered can be used again.
        yield* driver.send(request(1, "_wait"))
        yield* settled
        assert.deepStrictEqual(started, [1])
      })
  )
})
