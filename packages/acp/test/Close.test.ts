/** The end of a connection: whoever ends it, it is over when it is quiet. */
import { assert, describe, it } from "@effect/vitest"
import { AcpError, AgentSide, Handler, Transport } from "@quiesce/acp"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { agent, error, notification, request, result, settled } from "./support/driver.ts"

const cancelled = { code: -32800, message: "Request cancelled" }

describe("a connection", () => {
  for (const how of ["the input ends", "it is closed", "its scope closes"] as const) {
    it.effect(
      cites(`with 100 live requests ends when all are quiet and answered, where ${how}`, "ACP-06"),
      () =>
        Effect.gen(function*() {
          let alive = 0
          const { connection, driver, leave } = yield* agent({
            _slow: () =>
              Effect.andThen(
                Effect.sync(() => alive++),
                Effect.onInterrupt(
                  Effect.never,
                  () => Effect.andThen(Effect.sleep("3 seconds"), Effect.sync(() => alive--))
                )
              )
          })
          yield* driver.send(...Array.from({ length: 100 }, (_, id) => request(id, "_slow")))
          yield* settled
          assert.strictEqual(alive, 100)
          const ending = yield* Effect.forkScoped(
            how === "the input ends" ? driver.hangUp : how === "it is closed" ? connection.close : leave
          )
          const closed = yield* Effect.forkScoped(connection.closed)
          yield* TestClock.adjust("2999 millis")
          yield* settled
          assert.isUndefined(closed.pollUnsafe())
          assert.isTrue((yield* connection.live).every(({ cancelling }) => cancelling))
          yield* TestClock.adjust("1 millis")
          assert.strictEqual((yield* Fiber.join(closed))._tag, how === "the input ends" ? "EndOfInput" : "Closed")
          assert.strictEqual(alive, 0)
          yield* Fiber.join(ending)
          yield* settled
          if (how !== "the input ends") assert.isTrue(driver.ended())
          // Who hangs up reads nothing any more.
          const expected = how === "the input ends" ? [] : Array.from({ length: 100 }, () => cancelled)
          assert.deepStrictEqual(driver.received.map(({ error }) => error), expected as never)
          assert.deepStrictEqual(yield* connection.live, [])
        })
    )
  }

  it.effect(
    cites("answers what it was asked by somebody who only stopped asking", "ACP-06", "ACP-02"),
    () =>
      Effect.gen(function*() {
        const written: Array<string> = []
        const input = [request(1, "session/prompt", { sessionId: "s", prompt: [] })]
          .map((message) => new TextEncoder().encode(JSON.stringify(message) + "\n"))
        const asked = yield* Deferred.make<void>()
        const transport: Transport.Shape = {
          read: Effect.suspend(() =>
            input.length > 0 ? Effect.succeed(input.shift()) : Effect.as(Deferred.await(asked), undefined)
          ),
          write: (bytes) => Effect.sync(() => written.push(new TextDecoder().decode(bytes))),
          close: Effect.void
        }
        const connection = yield* Effect.provideService(
          AgentSide.connect({
            "session/prompt": () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
          }),
          Transport.Transport,
          transport
        )
        assert.deepStrictEqual(yield* connection.closed, { _tag: "EndOfInput" })
        assert.deepStrictEqual(written, [`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}\n`])
      })
  )

  it.effect(cites("that ends lets handlers know why", "ACP-06", "ACP-09"), () =>
    Effect.gen(function*() {
      for (const how of ["end of input", "close"] as const) {
        let reason: unknown
        const { connection, driver } = yield* agent({
          _wait: Handler.fromPromise((_, { signal }) =>
            new Promise((_, reject) => {
              signal.addEventListener("abort", () => {
                reason = signal.reason
                reject(signal.reason)
              })
            })
          )
        })
        yield* driver.send(request(1, "_wait"))
        yield* settled
        yield* how === "close" ? connection.close : driver.hangUp
        yield* connection.closed
        assert.instanceOf(reason, AcpError.RequestCancelled)
        assert.strictEqual(reason.by, how)
      }
    }))

  it.effect(cites("whose client hangs up does not wait for its answers", "ACP-06"), () =>
    Effect.gen(function*() {
      const failures: Array<string> = []
      const { connection, driver } = yield* agent({
        _ask: (_, { peer }) =>
          Effect.uninterruptible(Effect.map(
            Effect.flip(peer.request("_question", {})),
            ({ message }) => failures.push(message)
          ))
      })
      yield* driver.send(request(1, "_ask"))
      yield* settled
      yield* driver.hangUp
      yield* connection.closed
      assert.deepStrictEqual(failures, ["_question: the connection is closed"])
      assert.strictEqual((yield* Effect.flip(connection.peer.request("_question", {}))).message, failures[0])
    }))

  it.effect(cites("that was closed refuses a late permission answer", "ACP-06"), () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const outcomes: Array<unknown> = []
      const { connection, driver } = yield* agent({
        _ask: (_, { peer }) =>
          Effect.onExit(peer.request("_permission", {}, { whenCancelled: "leave" }), (exit) =>
            Effect.andThen(
              Effect.sync(() => outcomes.push(Exit.isSuccess(exit) ? exit.value : "cancelled")),
              Deferred.await(asked)
            ))
      })
      yield* driver.send(request(1, "_ask"))
      yield* settled
      const closing = yield* Effect.forkScoped(connection.close)
      yield* settled
      yield* driver.send(result(0, "allowed"))
      yield* settled
      yield* Deferred.succeed(asked, undefined)
      yield* Fiber.join(closing)
      assert.deepStrictEqual(outcomes, ["cancelled"])
      yield* settled
      assert.deepStrictEqual(driver.answers(1).map(({ error }) => error), [cancelled])
    }))

  it.effect(
    cites("that closes still takes the answers to what it cancelled", "ACP-06", "ACP-07"),
    () =>
      Effect.gen(function*() {
        const { connection, driver } = yield* agent({ _ask: (_, { peer }) => peer.request("_question", {}) })
        yield* driver.send(request(1, "_ask"))
        yield* settled
        const closing = yield* Effect.forkScoped(connection.close)
        yield* settled
        assert.deepStrictEqual(driver.told("$/cancel_request").map(({ params }) => params.requestId), [0])
        assert.isUndefined(closing.pollUnsafe())
        yield* driver.send(error(0, -32800, "Cancelled"))
        yield* Fiber.join(closing)
      })
  )

  it.effect(
    cites("that nobody reads from ends all the same, once its grace is over", "ACP-06"),
    () =>
      Effect.gen(function*() {
        const transport: Transport.Shape = { read: Effect.never, write: () => Effect.never, close: Effect.void }
        const connection = yield* Effect.provideService(AgentSide.connect({}), Transport.Transport, transport)
        yield* connection.peer.notify("_note", {})
        yield* settled
        const closing = yield* Effect.forkScoped(connection.close)
        yield* TestClock.adjust("4999 millis")
        yield* settled
        assert.isUndefined(closing.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        yield* Fiber.join(closing)
      })
  )

  it.effect(cites("that cannot be written to ends, and says why", "ACP-06"), () =>
    Effect.gen(function*() {
      const failed = new Transport.TransportFailed({ operation: "write", cause: new Error("EPIPE") })
      const transport: Transport.Shape = { read: Effect.never, write: () => Effect.fail(failed), close: Effect.void }
      const connection = yield* Effect.provideService(AgentSide.connect({}), Transport.Transport, transport)
      yield* connection.peer.notify("_note", {})
      const ending = yield* connection.closed
      assert.deepStrictEqual(ending, { _tag: "Failed", error: failed })
      assert.strictEqual(failed.message, "the write failed: EPIPE")
    }))

  for (
    const [what, read] of [
      ["fails", Effect.fail(new Transport.TransportFailed({ operation: "read", cause: new Error("EIO") }))],
      ["dies", Effect.die(new Error("EIO"))],
      ["fails late", Effect.andThen(Effect.sleep(1), Effect.die(new Error("EIO")))]
    ] as const
  ) {
    it.effect(cites(`whose transport ${what} ends, and says why`, "ACP-06"), () =>
      Effect.gen(function*() {
        const transport: Transport.Shape = { read, write: () => Effect.void, close: Effect.void }
        const connection = yield* Effect.provideService(AgentSide.connect({}), Transport.Transport, transport)
        const closed = yield* Effect.forkScoped(connection.closed)
        yield* settled
        yield* TestClock.adjust(1)
        yield* settled
        const exit = closed.pollUnsafe()
        assert.isTrue(exit !== undefined && Exit.isSuccess(exit) && exit.value._tag === "Failed")
        if (exit?._tag !== "Success" || exit.value._tag !== "Failed") return
        assert.strictEqual(exit.value.error.message, "the read failed: EIO")
      }))
  }

  it.effect(
    cites("that closes does not wait for a peer that is silent", "ACP-06", "ACP-07"),
    () =>
      Effect.gen(function*() {
        const outcomes: Array<string> = []
        const { connection, driver } = yield* agent({
          // Clean-up that asks twice: the second time has a grace of its own.
          _ask: (_, { peer }) => {
            const ask = (method: "_question" | "_release") =>
              Effect.map(Effect.exit(peer.request(method, {}, { whenCancelled: "finish" })), (exit) =>
                outcomes.push(exit._tag))
            return Effect.onInterrupt(Effect.never, () =>
              Effect.andThen(ask("_question"), ask("_release")))
          }
        })
        yield* driver.send(request(1, "_ask"))
        yield* settled
        const closing = yield* Effect.forkScoped(connection.close)
        yield* TestClock.adjust("4999 millis")
        yield* settled
        assert.deepStrictEqual(driver.received.map(({ method }) => method), ["_question"])
        yield* TestClock.adjust("1 millis")
        yield* settled
        assert.deepStrictEqual(driver.received.map(({ method }) => method), ["_question", "_release"])
        yield* driver.send(result(1, {}))
        yield* settled
        yield* Fiber.join(closing)
        assert.deepStrictEqual(outcomes, ["Failure", "Success"])
        assert.deepStrictEqual(driver.answers(1).map(({ error }) => error), [cancelled])
      })
  )

  it.effect(cites("that ends is not heard any more", "ACP-06"), () =>
    Effect.gen(function*() {
      const release = yield* Deferred.make<void>()
      const heard: Array<unknown> = []
      const { connection, driver } = yield* agent(
        { _slow: () => Effect.onInterrupt(Effect.never, () => Deferred.await(release)) },
        { _note: (params) => Effect.andThen(Effect.sync(() => heard.push(params)), Effect.never) }
      )
      yield* driver.send(request(1, "_slow"), notification("_note", { n: 1 }))
      yield* settled
      const closing = yield* Effect.forkScoped(connection.close)
      yield* driver.send(notification("_note", { n: 2 }))
      yield* settled
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(closing)
      assert.deepStrictEqual(heard, [{ n: 1 }])
    }))

  it.effect(cites("as a layer ends with it, before what its handlers use", "ACP-06"), () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const [ours, theirs] = yield* Transport.memory
      const scope = yield* Scope.make()
      const layer = AgentSide.layer({
        _wait: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => order.push("handler")))
      }).pipe(Layer.provide(Layer.mergeAll(
        Layer.succeed(Transport.Transport, ours),
        Layer.effectDiscard(Effect.acquireRelease(Effect.void, () => Effect.sync(() => order.push("service"))))
      )))
      yield* Layer.buildWithScope(layer, scope)
      yield* theirs.write(new TextEncoder().encode(JSON.stringify(request(1, "_wait")) + "\n"))
      yield* settled
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(order, ["handler", "service"])
    }))
})
