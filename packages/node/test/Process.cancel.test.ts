import { assert, describe, it } from "@effect/vitest"
import { assertTrue } from "@effect/vitest/utils"
import { Command, Outcome, Output, Process } from "@quiesce/node"
import { Duration, Effect, Exit, Fiber } from "effect"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { cites } from "../../../tests/conformance/cites.ts"
import { alive, fingerprint, startedUntil } from "./support/world.ts"

const stdout = (outcome: Outcome.Outcome): string => Output.toText(outcome.stdout)

describe("a command that is cancelled", () => {
  it.live(
    cites("every process of its group is asked with SIGTERM, and awaited", "NODE-01", "NODE-02"),
    () =>
      Effect.gen(function*() {
        const mark = fingerprint()
        const polite = (name: string) =>
          `trap 'echo ${name} ended; exit 0' TERM; while :; do sleep 0.01; done; : ${mark}`
        const script = `(${polite("child")}) & (${polite("other")}) & echo ready; ${polite("leader")}`
        const { cancel } = yield* startedUntil(Command.shell(script, { grace: "10 seconds" }), "ready")
        const outcome = yield* cancel
        assert.deepStrictEqual(alive(mark), [])
        assert.deepStrictEqual(stdout(outcome).trim().split("\n").sort(), [
          "child ended",
          "leader ended",
          "other ended",
          "ready"
        ])
        assert.isTrue(outcome.stdout.complete)
        assert.deepStrictEqual(outcome.residue, [])
      })
  )

  it.live(
    cites("a program that answers SIGTERM with exit code 0 was cancelled nevertheless", "NODE-05"),
    () =>
      Effect.gen(function*() {
        const script = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done"
        const outcome = yield* (yield* startedUntil(Command.shell(script), "ready")).cancel
        assert.strictEqual(outcome._tag, "Cancelled")
        assert.deepStrictEqual((outcome as Outcome.Cancelled).exit, { _tag: "Code", code: 0 })
        assert.isFalse(Outcome.isSuccess(outcome))
      })
  )

  it.live(
    cites("who ignores SIGTERM is killed after the grace and not before", "NODE-01"),
    () =>
      Effect.gen(function*() {
        const mark = fingerprint()
        const script = `trap '' TERM; sleep ${mark} & echo ready; while :; do sleep 0.01; done`
        const { cancel } = yield* startedUntil(Command.shell(script, { grace: "300 millis" }), "ready")
        const [elapsed, outcome] = yield* Effect.timed(cancel)
        assert.deepStrictEqual(alive(mark), [])
        assert.deepStrictEqual((outcome as Outcome.Cancelled).exit, { _tag: "Signal", signal: "SIGKILL" })
        assert.isAtLeast(Duration.toMillis(elapsed), 300)
      })
  )

  it.live(
    cites("a leader that obeys while its grandchild does not is escalated all the same", "NODE-01", "NODE-02"),
    () =>
      Effect.gen(function*() {
        const mark = fingerprint()
        const script = `sh -c "trap '' TERM; echo ready; while :; do sleep 0.01; done; : ${mark}" & wait`
        const { cancel } = yield* startedUntil(Command.shell(script, { grace: "200 millis" }), "ready")
        const outcome = yield* cancel
        assert.deepStrictEqual(alive(mark), [])
        assert.deepStrictEqual((outcome as Outcome.Cancelled).exit, { _tag: "Signal", signal: "SIGTERM" })
        assert.deepStrictEqual(outcome.residue, [])
      })
  )

  it.live(
    cites("a stopped process is continued, so that it can take SIGTERM", "NODE-01"),
    () =>
      Effect.gen(function*() {
        const script = "trap 'echo ended; exit 0' TERM; echo ready; kill -STOP $$; while :; do sleep 0.01; done"
        const { cancel } = yield* startedUntil(Command.shell(script, { grace: "10 seconds" }), "ready")
        const outcome = yield* cancel
        assert.include(stdout(outcome), "ended")
      })
  )

  it.live(
    cites("when the result is there, a pipeline and a background loop have written for the last time", "NODE-01"),
    () =>
      Effect.gen(function*() {
        const directory = mkdtempSync(join(tmpdir(), "quiesce-"))
        yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(directory, { recursive: true })))
        const beat = (name: string) => `while :; do echo . >> ${directory}/${name}; sleep 0.005; done`
        const script = `(${beat("loop")}) & (echo ready; ${beat("a")}) | (cat; ${beat("b")})`
        const { cancel } = yield* startedUntil(Command.shell(script), "ready")
        yield* cancel
        const sizes = () => ["loop", "a"].map((name) => readFileSync(join(directory, name)).length)
        const before = sizes()
        assert.deepStrictEqual(alive(directory), [])
        // oxlint-disable-next-line quiesce/no-live-sleep -- each would have written ten more times
        yield* Effect.sleep("50 millis")
        assert.deepStrictEqual(sizes(), before)
      })
  )

  it.live(cites("before its start was not started", "NODE-04"), () =>
    Effect.gen(function*() {
      const file = join(tmpdir(), `quiesce-${fingerprint()}`)
      let outcomes = 0
      const run = Process.run(Command.make("touch", [file]), { onOutcome: () => Effect.sync(() => outcomes++) })
      const exit = yield* Effect.exit(Effect.andThen(Effect.interrupt, run))
      assertTrue(Exit.isFailure(exit))
      assert.isFalse(existsSync(file))
      assert.strictEqual(outcomes, 0)
    }))

  it.live(cites("in the tick of its start has one outcome and leaves nobody", "NODE-04"), () =>
    Effect.gen(function*() {
      const mark = fingerprint()
      const outcomes: Array<Outcome.Outcome> = []
      const fiber = yield* Effect.forkChild(
        Process.run(Command.shell(`sleep ${mark} & sleep ${mark}`), {
          onOutcome: (outcome) => Effect.sync(() => outcomes.push(outcome))
        }),
        { startImmediately: true }
      )
      // The fiber has run synchronously up to its first wait, which is behind the start.
      yield* Effect.all([Fiber.interrupt(fiber), Fiber.interrupt(fiber)], { concurrency: 2 })
      assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag), ["Cancelled"])
      assert.deepStrictEqual(alive(mark), [])
    }))

  it.live(cites("twice, from two sides, has one outcome", "NODE-04"), () =>
    Effect.scoped(Effect.gen(function*() {
      const running = yield* Process.spawn(Command.shell("trap 'exit 0' TERM; while :; do sleep 0.01; done"))
      const [one, other] = yield* Effect.all([running.stop, running.stop], { concurrency: 2 })
      assert.strictEqual(one, other)
      assert.strictEqual(yield* running.outcome, one)
      assert.strictEqual(yield* running.stop, one)
    })))

  it.live(
    cites("after it had ended by itself stays what it was", "NODE-05"),
    () =>
      Effect.scoped(Effect.gen(function*() {
        const running = yield* Process.spawn(Command.shell("exit 7"))
        const outcome = yield* running.outcome
        assert.strictEqual(yield* running.stop, outcome)
        assert.strictEqual((outcome as Outcome.Exited).code, 7)
      }))
  )
})

describe("a command with a timeout", () => {
  it.live(
    cites("is told apart from one that was cancelled and from one that ended", "NODE-05"),
    () =>
      Effect.gen(function*() {
        const mark = fingerprint()
        const script = `trap 'echo late; exit 0' TERM; echo early; sleep ${mark} & while :; do sleep 0.01; done`
        const outcome = yield* Process.run(Command.shell(script, { timeout: "300 millis" }))
        assert.strictEqual(outcome._tag, "TimedOut")
        assert.deepStrictEqual((outcome as Outcome.TimedOut).exit, { _tag: "Code", code: 0 })
        assert.strictEqual(stdout(outcome), "early\nlate\n")
        assert.deepStrictEqual(alive(mark), [])
      })
  )

  it.live(cites("that it keeps leaves the host free to exit at once", "TIME-08"), () =>
    Effect.gen(function*() {
      const script = `
        const { Command, Process } = await import("@quiesce/node")
        const { Effect } = await import("effect")
        await Effect.runPromise(Process.run(Command.make("true", [], { timeout: "1 hour" })))`
      const node = Command.make(process.execPath, ["--input-type=module", "--eval", script], {
        cwd: import.meta.dirname,
        inherit: ["NODE_OPTIONS"],
        timeout: "15 seconds"
      })
      assert.strictEqual(yield* Process.text(node), "")
    }))
})

describe("a scope", () => {
  it.live(
    cites("that closes stops its command and waits until nobody is left", "NODE-01"),
    () =>
      Effect.gen(function*() {
        const mark = fingerprint()
        const running = yield* Effect.scoped(Effect.gen(function*() {
          const running = yield* Process.spawn(Command.shell(`sleep ${mark} & sleep ${mark}`))
          assert.isAtLeast(alive(mark).length, 1)
          return running
        }))
        assert.deepStrictEqual(alive(mark), [])
        assert.strictEqual((yield* running.outcome)._tag, "Cancelled")
      })
  )
})
