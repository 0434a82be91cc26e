import { assert, describe, it } from "@effect/vitest"
import type { ToolCall } from "@quiesce/core"
import { type TaskFailed, WorkerTask } from "@quiesce/node"
import { Deferred, Effect, Exit, Fiber, Scheduler } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { alive, fingerprint } from "./support/world.ts"

const tasks = new URL("./support/tasks.ts", import.meta.url)

const pool = (options: Partial<WorkerTask.Options> = {}) =>
  WorkerTask.make({ module: tasks, size: 1, grace: "200 millis", ...options })

/** Runs a task in a fiber, and goes on once it says that it runs. */
const started = (workers: WorkerTask.WorkerTask, name: string, input: unknown = null) =>
  Effect.gen(function*() {
    const ready = yield* Deferred.make<void>()
    const fiber = yield* Effect.forkChild(
      workers.run(name, input, { onProgress: () => Deferred.doneUnsafe(ready, Effect.void) })
    )
    yield* Effect.raceFirst(Deferred.await(ready), Effect.andThen(Fiber.join(fiber), Effect.die("it ended early")))
    return fiber
  })

const reasonOf = (effect: Effect.Effect<unknown, TaskFailed.TaskFailed>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

const threadOf = (workers: WorkerTask.WorkerTask) =>
  Effect.map(workers.run("where", null), (where) => (where as { readonly thread: number }).thread)

describe("a task", () => {
  it.live("is a function of a module, run in a thread of the pool", () =>
    Effect.gen(function*() {
      const workers = yield* pool()
      assert.strictEqual(yield* workers.run("add", { a: 1, b: 2 }), 3)
      const where = (yield* workers.run("where", null)) as { readonly pid: number; readonly isMain: boolean }
      assert.deepStrictEqual([where.pid, where.isMain], [process.pid, false])
      const first = yield* threadOf(workers)
      assert.strictEqual(yield* threadOf(workers), first)
    }))

  it.live("tells how far it is", () =>
    Effect.gen(function*() {
      const steps: Array<ToolCall.Progress> = []
      const workers = yield* pool()
      assert.strictEqual(yield* workers.run("steps", null, { onProgress: (step) => void steps.push(step) }), "done")
      assert.deepStrictEqual(steps, [{ progress: 1, total: 2, message: "one" }, { progress: 2 }])
    }))

  it.live(
    cites("that fails says with what, and its thread runs the next one", "NODE-06"),
    () =>
      Effect.gen(function*() {
        const workers = yield* pool()
        const thread = yield* threadOf(workers)
        const { reason, thrown } = yield* Effect.flip(workers.run("fail", null))
        assert.strictEqual(reason, "Threw")
        assert.deepStrictEqual([thrown.name, thrown.message, thrown.code], ["RangeError", "no", "E_NO"])
        assert.strictEqual((yield* Effect.flip(workers.run("failStrangely", null))).reason, "Threw")
        assert.strictEqual(yield* threadOf(workers), thread)
      })
  )

  it.live("that is not there, or has no JSON to give, is told apart", () =>
    Effect.gen(function*() {
      const workers = yield* pool()
      assert.strictEqual(yield* reasonOf(workers.run("nothing", null)), "NotLoaded")
      assert.strictEqual(yield* reasonOf(workers.run("notAFunction", null)), "NotLoaded")
      const nowhere = yield* pool({ module: new URL("./nowhere.ts", import.meta.url) })
      assert.strictEqual(yield* reasonOf(nowhere.run("add", null)), "NotLoaded")
      const messages = new Map<string, string>()
      for (const kind of ["undefined", "cycle", "NaN", "date", "bigint", "deep"]) {
        const failed = yield* Effect.flip(workers.run("notJson", { kind }))
        assert.strictEqual(failed.reason, "NotJson")
        messages.set(kind, failed.thrown.message)
      }
      assert.strictEqual(messages.get("deep"), "the result.a[1].b is not JSON")
      assert.strictEqual(messages.get("cycle"), "the result.a[0] is not JSON")
      assert.strictEqual(yield* reasonOf(workers.run("echo", () => 1)), "NotJson")
    }))

  it.live(
    cites("whose thread crashes fails alone, and the thread is replaced", "NODE-06"),
    () =>
      Effect.gen(function*() {
        const workers = yield* pool()
        const thread = yield* threadOf(workers)
        assert.strictEqual(yield* reasonOf(workers.run("exit", null)), "Crashed")
        assert.notStrictEqual(yield* threadOf(workers), thread)
        assert.strictEqual(yield* workers.run("add", { a: 1, b: 2 }), 3)
      })
  )

  it.live(
    cites("whose thread ends by something thrown, whatever that is, fails alone", "NODE-06"),
    () =>
      Effect.gen(function*() {
        const workers = yield* pool()
        for (const kind of ["null", "undefined", "text", "nameless", "numbered", "foreign"]) {
          assert.strictEqual(yield* reasonOf(workers.run("explode", { kind })), "Crashed", kind)
          assert.strictEqual(yield* workers.run("add", { a: 1, b: 2 }), 3)
        }
        const { thrown } = yield* Effect.flip(workers.run("explode", { kind: "text" }))
        assert.strictEqual(thrown.message, "boom")
      }),
    // Eight threads start, one after the other.
    30_000
  )

  it.live(
    cites("whose listener throws is stopped, and dies of it", "NODE-06"),
    () =>
      Effect.gen(function*() {
        const shared = new SharedArrayBuffer(4)
        const workers = yield* pool({ grace: "10 seconds" })
        const thread = yield* threadOf(workers)
        const broken = new Error("the listener is broken")
        const exit = yield* Effect.exit(workers.run("polite", shared, {
          onProgress: () => {
            throw broken
          }
        }))
        assert.deepStrictEqual(exit, Exit.die(broken))
        assert.strictEqual(Atomics.load(new Int32Array(shared), 0), 1)
        assert.strictEqual(yield* threadOf(workers), thread)
      })
  )

  it.live("cannot settle by its progress", () =>
    Effect.gen(function*() {
      const workers = yield* pool()
      assert.strictEqual(yield* workers.run("pretend", null), "done")
    }))

  it.live(cites("that leaves a thread which ends later harms nobody", "NODE-06"), () =>
    Effect.gen(function*() {
      const workers = yield* pool()
      for (let round = 0; round < 4; round++) {
        assert.strictEqual(yield* workers.run("timebomb", null), "tick")
        for (let turn = 0; turn < round * 20; turn++) yield* Effect.yieldNow
        assert.strictEqual(yield* workers.run("add", { a: round, b: 1 }), round + 1)
      }
    }))

  it.live("sees the short list of variables and what the pool names, and prints to nobody", () =>
    Effect.gen(function*() {
      process.env["SECRET_OF_THE_HOST"] = "s"
      yield* Effect.addFinalizer(() => Effect.sync(() => delete process.env["SECRET_OF_THE_HOST"]))
      const workers = yield* pool()
      const environment = (yield* workers.run("environment", null)) as Record<string, string>
      assert.isUndefined(environment["SECRET_OF_THE_HOST"])
      assert.isDefined(environment["PATH"])
      const named = yield* pool({ inherit: ["SECRET_OF_THE_HOST"] })
      assert.strictEqual(((yield* named.run("environment", null)) as Record<string, string>)["SECRET_OF_THE_HOST"], "s")
      assert.strictEqual(yield* workers.run("noise", null), "quiet")
    }))
})

describe("a task that is interrupted", () => {
  it.live(
    cites("is asked to stop, is awaited, and its thread runs the next one", "NODE-06"),
    () =>
      Effect.gen(function*() {
        const shared = new SharedArrayBuffer(4)
        const workers = yield* pool({ grace: "10 seconds" })
        const thread = yield* threadOf(workers)
        const fiber = yield* started(workers, "polite", shared)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(Atomics.load(new Int32Array(shared), 0), 1)
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
        assert.strictEqual(yield* threadOf(workers), thread)
      })
  )

  it.live(
    cites("and loops for ever is ended after the grace: its counter does not move any more", "NODE-06", "NODE-07"),
    () =>
      Effect.gen(function*() {
        const shared = new SharedArrayBuffer(4)
        const count = new Int32Array(shared)
        const workers = yield* pool()
        const thread = yield* threadOf(workers)
        const fiber = yield* started(workers, "loop", shared)
        yield* Fiber.interrupt(fiber)
        const after = Atomics.load(count, 0)
        assert.isAbove(after, 0)
        // oxlint-disable-next-line quiesce/no-live-sleep -- a loop counts to a million in that time
        yield* Effect.sleep("30 millis")
        assert.strictEqual(Atomics.load(count, 0), after)
        assert.notStrictEqual(yield* threadOf(workers), thread)
      })
  )

  it.live(
    cites(
      "in a native call that blocks is awaited until the call returns, and not given up before",
      "NODE-06",
      "NODE-07"
    ),
    () =>
      Effect.gen(function*() {
        const workers = yield* pool({ grace: "20 millis" })
        // Nearly a second, and a text that no other process has in its command line.
        const mark = `0.9${fingerprint().replace(".", "")}`
        const fiber = yield* started(workers, "block", { mark })
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(alive(mark), [])
      })
  )

  it.live(cites("leaves the tasks of other threads alone", "NODE-06"), () =>
    Effect.gen(function*() {
      const workers = yield* pool({ size: 2 })
      const other = yield* started(workers, "late")
      const loop = yield* started(workers, "loop")
      yield* Fiber.interrupt(loop)
      assert.isUndefined(other.pollUnsafe())
      assert.strictEqual(yield* workers.run("add", { a: 1, b: 2 }), 3)
      yield* Fiber.interrupt(other)
    }))

  it.live("and then succeeds was interrupted; what it fails with by itself is kept", () =>
    Effect.gen(function*() {
      const workers = yield* pool({ grace: "10 seconds" })
      const late = yield* started(workers, "late")
      yield* Fiber.interrupt(late)
      assert.isTrue(Exit.isFailure(yield* Fiber.await(late)))
      const undo = yield* started(workers, "undo")
      yield* Fiber.interrupt(undo)
      const exit = yield* Fiber.await(undo)
      assert.isTrue(Exit.hasInterrupts(exit))
      const failure = Exit.findErrorOption(exit)
      assert.strictEqual(failure._tag === "Some" ? failure.value.thrown.message : undefined, "could not undo")
    }))

  it.live(
    cites("before its turn comes leaves the queue, and the others keep their places", "NODE-06"),
    () =>
      Effect.gen(function*() {
        const workers = yield* pool({ grace: "10 seconds" })
        const first = yield* started(workers, "late")
        const second = yield* Effect.forkChild(workers.run("add", { a: 1, b: 1 }), { startImmediately: true })
        const third = yield* Effect.forkChild(workers.run("add", { a: 1, b: 2 }), { startImmediately: true })
        yield* Fiber.interrupt(second)
        yield* Fiber.interrupt(first)
        assert.strictEqual(yield* Fiber.join(third), 3)
      })
  )

  it.live(
    cites("between any two operations of its host leaves nothing running", "NODE-06"),
    () =>
      Effect.gen(function*() {
        const shared = new SharedArrayBuffer(8)
        const counts = new Int32Array(shared)
        const workers = yield* pool({ grace: "10 seconds" })
        yield* threadOf(workers)
        for (let turns = 0; turns < 60; turns++) {
          const doomed = yield* Effect.forkChild(
            // It yields as often as it can, and can be interrupted wherever it does.
            Effect.provideService(workers.run("counted", shared), Scheduler.MaxOpsBeforeYield, 3),
            { startImmediately: true }
          )
          for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
          yield* Fiber.interrupt(doomed)
          // A task that was left there would have begun by the time that this one has run.
          yield* threadOf(workers)
          assert.strictEqual(Atomics.load(counts, 0), Atomics.load(counts, 1), `after ${turns} turns`)
        }
      })
  )

  it.live(cites("at any instant never has the next one ended for it", "NODE-06"), () =>
    Effect.gen(function*() {
      const workers = yield* pool({ size: 2, grace: "5 millis" })
      for (let round = 0; round < 16; round++) {
        const doomed = yield* Effect.forkChild(workers.run(round % 2 === 0 ? "late" : "loop", null))
        for (let turn = 0; turn < round * 10; turn++) yield* Effect.yieldNow
        const interrupting = yield* Effect.forkChild(Fiber.interrupt(doomed))
        const sums = yield* Effect.all(
          [workers.run("add", { a: round, b: 1 }), workers.run("add", { a: round, b: 2 })],
          {
            concurrency: 2
          }
        )
        assert.deepStrictEqual(sums, [round + 1, round + 2])
        yield* Fiber.join(interrupting)
      }
    }))
})

describe("a pool", () => {
  it.live(
    cites("whose scope closes has interrupted its tasks and ended its threads", "NODE-06"),
    () =>
      Effect.gen(function*() {
        const shared = new SharedArrayBuffer(4)
        const fiber = yield* Effect.scoped(Effect.gen(function*() {
          return yield* started(yield* pool({ size: 2 }), "loop", shared)
        }))
        const after = Atomics.load(new Int32Array(shared), 0)
        // oxlint-disable-next-line quiesce/no-live-sleep -- a loop counts to a million in that time
        yield* Effect.sleep("20 millis")
        assert.strictEqual(Atomics.load(new Int32Array(shared), 0), after)
        assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      })
  )

  it.live(cites("runs as many tasks at once as it has threads, and no more", "NODE-06"), () =>
    Effect.gen(function*() {
      const workers = yield* pool({ size: 2, grace: "10 seconds" })
      const one = yield* started(workers, "late")
      const two = yield* started(workers, "late")
      const three = yield* Effect.forkChild(workers.run("where", null), { startImmediately: true })
      // oxlint-disable-next-line quiesce/no-live-sleep -- a message goes to a thread and back in a hundredth of it
      yield* Effect.sleep("100 millis")
      assert.isUndefined(three.pollUnsafe())
      yield* Fiber.interrupt(one)
      yield* Fiber.join(three)
      yield* Fiber.interrupt(two)
    }))
})
