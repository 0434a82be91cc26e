/** Our own requests: asked to stop, and answered, are two things. */
import { assert, describe, it } from "@effect/vitest"
import { AcpError } from "@quiesce/acp"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { client, error, result, settled } from "./support/driver.ts"

describe("a request of ours", () => {
  it.effect("is answered by the peer's result or error", () =>
    Effect.gen(function*() {
      const { connection: { peer }, driver } = yield* client({})
      const asked = yield* Effect.forkScoped(
        Effect.all([peer.request("_a", { x: 1 }), Effect.flip(peer.request("_b", {}))], { concurrency: 2 })
      )
      yield* settled
      assert.deepStrictEqual(driver.received, [
        { jsonrpc: "2.0", id: 0, method: "_a", params: { x: 1 } },
        { jsonrpc: "2.0", id: 1, method: "_b", params: {} }
      ])
      yield* driver.send(error(1, -32800, "Cancelled"), result(0, { y: 2 }))
      const [a, b] = yield* Fiber.join(asked)
      assert.deepStrictEqual(a, { y: 2 })
      assert.instanceOf(b, AcpError.RequestFailed)
      assert.isTrue(AcpError.isCancelled(b))
    }))

  it.effect(
    cites("that is interrupted sends one notification, and waits for the answer", "ACP-07"),
    () =>
      Effect.gen(function*() {
        const { connection: { peer }, driver } = yield* client({})
        const asked = yield* Effect.forkScoped(peer.request("_a", {}))
        yield* settled
        const stopping = yield* Effect.forkScoped(
          Effect.all([Fiber.interrupt(asked), Fiber.interrupt(asked)], { concurrency: 2 })
        )
        yield* settled
        assert.deepStrictEqual(driver.received.slice(1), [
          { jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 0 } }
        ])
        assert.isUndefined(stopping.pollUnsafe())
        yield* driver.send(result(0, "late"))
        yield* Fiber.join(stopping)
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(asked)))
        yield* settled
        assert.strictEqual(driver.received.length, 2)
      })
  )

  it.effect(
    cites("that is interrupted and not answered is left when the grace is over", "ACP-07", "ACP-04"),
    () =>
      Effect.gen(function*() {
        const { connection: { peer }, driver } = yield* client({}, {}, { grace: "2 seconds" })
        const asked = yield* Effect.forkScoped(peer.request("_a", {}))
        yield* settled
        const stopping = yield* Effect.forkScoped(Fiber.interrupt(asked))
        yield* TestClock.adjust("1999 millis")
        yield* settled
        assert.isUndefined(stopping.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        yield* Fiber.join(stopping)
        // Its late answer is nobody's.
        yield* driver.send(result(0, "late"))
        const next = yield* Effect.forkScoped(peer.request("_b", {}))
        yield* settled
        yield* driver.send(result(1, "next"))
        assert.strictEqual(yield* Fiber.join(next), "next")
      })
  )

  it.effect(
    cites("can be left when it is interrupted: its late answer is dropped", "ACP-07"),
    () =>
      Effect.gen(function*() {
        const { connection: { peer }, driver } = yield* client({})
        const asked = yield* Effect.forkScoped(peer.request("_a", {}, { whenCancelled: "leave" }))
        yield* settled
        yield* Fiber.interrupt(asked)
        yield* settled
        assert.deepStrictEqual(driver.told("$/cancel_request").length, 1)
        yield* driver.send(result(0, "late"), error(0, -1, "later"))
        yield* settled
        assert.strictEqual(driver.received.length, 2)
      })
  )

  it.effect(cites("for clean-up is finished, whoever is interrupted", "ACP-07"), () =>
    Effect.gen(function*() {
      const { connection: { peer }, driver } = yield* client({})
      const asked = yield* Effect.forkScoped(peer.request("_a", {}, { whenCancelled: "finish" }))
      yield* settled
      const stopping = yield* Effect.forkScoped(Fiber.interrupt(asked))
      yield* settled
      assert.isUndefined(stopping.pollUnsafe())
      yield* driver.send(result(0, "done"))
      yield* Fiber.join(stopping)
      assert.strictEqual(driver.received.length, 1)
    }))

  it.effect(cites("that was answered is not cancelled any more", "ACP-07"), () =>
    Effect.gen(function*() {
      const { connection: { peer }, driver } = yield* client({})
      const asked = yield* peer.start("_a", {})
      yield* settled
      yield* driver.send(result(0, "done"))
      yield* settled
      yield* asked.cancel
      yield* settled
      assert.strictEqual(yield* asked.answer, "done")
      assert.strictEqual(driver.received.length, 1)
    }))

  it.effect(
    cites("that was started can be cancelled without giving up its answer", "ACP-07"),
    () =>
      Effect.gen(function*() {
        const { connection: { peer }, driver } = yield* client({})
        const asked = yield* peer.start("_a", {})
        yield* asked.cancel
        yield* asked.cancel
        yield* settled
        assert.deepStrictEqual(driver.told("$/cancel_request").length, 1)
        yield* driver.send(result(0, "made"))
        assert.strictEqual(yield* asked.answer, "made")
      })
  )

  it.effect(cites("is not sent by a fiber that is interrupted already", "ACP-07"), () =>
    Effect.gen(function*() {
      const { connection: { peer }, driver } = yield* client({})
      const asked = yield* Effect.forkScoped(
        Effect.andThen(Effect.uninterruptible(Effect.sleep("1 second")), peer.request("_a", {}))
      )
      yield* settled
      const stopping = yield* Effect.forkScoped(Fiber.interrupt(asked))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stopping)
      yield* settled
      assert.deepStrictEqual(driver.received, [])
    }))

  it.effect(cites("waits at the peer's pace", "ACP-08"), () =>
    Effect.gen(function*() {
      const { connection: { peer }, driver } = yield* client({})
      const text = "x".repeat(100_000)
      yield* Effect.forEach(Array.from({ length: 50 }), () => peer.notify("_note", { text }), { discard: true })
      yield* settled
      assert.strictEqual(driver.told("_note").length, 50)
    }))
})
