/**
 * The order of exit, stop and timeout, where the real world cannot be asked to be slow at the right moment.
 */
import { assert, describe, it } from "@effect/vitest"
import { Command, Process } from "@quiesce/node"
import { Clock, Deferred, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { Host } from "../src/internal/host.ts"
import { VirtualHost } from "./support/VirtualHost.ts"

/** A machine whose process table opens only when a test lets it: the outcome waits behind the exit. */
const gated = Effect.gen(function*() {
  const host = yield* Host
  const reached = yield* Deferred.make<void>()
  const gate = yield* Deferred.make<void>()
  const table: Host["table"] = (lineage) =>
    Effect.andThen(Deferred.succeed(reached, undefined), Effect.andThen(Deferred.await(gate), host.table(lineage)))
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
    cites("a timeout is given up with the exit, though the outcome is still to come", "NODE-05"),
    () =>
      Effect.gen(function*() {
        const { host, open, reached } = yield* gated
        const clock = yield* Clock.Clock
        const pending = new Set<number>()
        const watched: Clock.Clock = {
          ...clock,
          sleep: (duration) =>
            Effect.suspend(() => {
              const millis = Duration.toMillis(duration)
              pending.add(millis)
              return Effect.ensuring(clock.sleep(duration), Effect.sync(() => pending.delete(millis)))
            })
        }
        const running = yield* Process.open(Command.shell("read line; exit 7", { timeout: "1 hour" })).pipe(
          Effect.provideService(Host, host),
          Effect.provideService(Clock.Clock, watched)
        )
        assert.isTrue(pending.has(3_600_000))
        yield* running.send("line\n")
        yield* reached
        assert.isFalse(pending.has(3_600_000))
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

describe("a virtual machine", () => {
  it.effect(
    cites("on a machine that cannot be looked at the wait is bounded, and the outcome says so", "NODE-02"),
    () =>
      Effect.gen(function*() {
        const virtual = new VirtualHost()
        virtual.onStart = () => {
          virtual.isReadable = false
        }
        const fiber = yield* Effect.forkChild(
          Process.run(Command.make("program", [], { timeout: "1 second", grace: "1 second" })).pipe(
            Effect.provideService(Host, virtual.host())
          )
        )
        yield* TestClock.adjust("8 seconds")
        const outcome = yield* Fiber.join(fiber)
        assert.strictEqual(outcome._tag === "TimedOut" ? outcome.exit : outcome._tag, undefined)
        assert.deepStrictEqual(outcome.residue, [{ kind: "process", detail: "the process table could not be read" }])
        assert.isFalse(virtual.kills.some(([, signal]) => signal !== 0))
      })
  )
})
