/**
 * The order of exit, stop and timeout, where the real world cannot be asked to be slow at the right moment.
 */
import { assert, describe, it } from "@effect/vitest"
import { Command, Process } from "@quiesce/node"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { Host } from "../src/internal/host.ts"

/** A machine whose process table opens only when a test lets it: the outcome waits behind the exit. */
const gated = Effect.gen(function*() {
  const host = yield* Host
  const reached = yield* Deferred.make<void>()
  const gate = yield* Deferred.make<void>()
  const table = Effect.andThen(Deferred.succeed(reached, undefined), Effect.andThen(Deferred.await(gate), host.table))
  return {
    host: { ...host, table } satisfies Host,
    reached: Deferred.await(reached),
    open: Deferred.succeed(gate, undefined)
  }
})

describe("what came first decides", () => {
  it.live(
    cites("a stop that comes after the exit and before the outcome changes nothing", "NODE-05"),
    () =>
      Effect.gen(function*() {
        const { host, open, reached } = yield* gated
        const running = yield* Process.spawn(Command.shell("exit 7")).pipe(Effect.provideService(Host, host))
        yield* reached
        yield* Effect.forkChild(running.stop, { startImmediately: true })
        yield* open
        const outcome = yield* running.outcome
        assert.strictEqual(outcome._tag === "Exited" ? outcome.code : outcome._tag, 7)
      })
  )

  it.live(
    cites("a timeout that passes after the exit and before the outcome changes nothing", "NODE-05"),
    () =>
      Effect.gen(function*() {
        const { host, open, reached } = yield* gated
        const running = yield* Process.spawn(Command.shell("exit 7", { timeout: "500 millis" })).pipe(
          Effect.provideService(Host, host)
        )
        yield* reached
        yield* TestClock.adjust("1 hour")
        yield* open
        assert.strictEqual((yield* running.outcome)._tag, "Exited")
      })
  )

  it.live(cites("an exit that comes after a stop does not undo it", "NODE-05"), () =>
    Effect.gen(function*() {
      const { host, open, reached } = yield* gated
      const running = yield* Process.open(Command.shell("read line; exit 0")).pipe(Effect.provideService(Host, host))
      yield* Effect.forkChild(running.stop, { startImmediately: true })
      yield* reached
      yield* running.send("line\n")
      yield* open
      assert.strictEqual((yield* running.outcome)._tag, "Cancelled")
    }))
})
