import { assert, it } from "@effect/vitest"
import { Command, Guardian, Process } from "@quiesce/node"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Watch from "../src/internal/guardian/watch.ts"
import * as Procfs from "../src/internal/procfs.ts"
import { alive, fingerprint } from "./support/world.ts"

/** Runs a program of Node that uses this package, and goes on once it has printed `ready`. */
const host = (source: string) =>
  Effect.gen(function*() {
    const ready = yield* Deferred.make<void>()
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, ["--input-type=module", "--eval", source], {
          cwd: import.meta.dirname,
          stdio: ["ignore", "pipe", "inherit"]
        })
      ),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    child.stdout.on("data", (chunk) => {
      if (String(chunk).includes("ready")) Deferred.doneUnsafe(ready, Effect.void)
    })
    child.on("exit", () => Deferred.doneUnsafe(ready, Effect.void))
    yield* Deferred.await(ready)
    return child
  })

const exited = (child: ChildProcess) =>
  Effect.callback<void>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.on("exit", () => resume(Effect.void))
  })

/** Waits until processes that are no children of this one are gone. */
const gone = (pids: ReadonlyArray<number>) =>
  Effect.callback<void>((resume) => {
    execFile("tail", [...pids.map((pid) => `--pid=${pid}`), "-f", "/dev/null"], () => resume(Effect.void))
  })

const running = (mark: string, layer: string) => `
  const { Command, Guardian, Process } = await import("@quiesce/node")
  const { Effect, Layer } = await import("effect")
  const run = Process.run(
    Command.shell("trap '' TERM; sleep ${mark} & setsid sleep ${mark} & echo ready; while :; do sleep 0.05; done; : ${mark}"),
    { onOutput: ({ bytes }) => Effect.sync(() => process.stdout.write(bytes)) }
  )
  await Effect.runPromise(Effect.provide(run, ${layer}))`

it.live(
  cites("the commands of a process that is killed are ended by its guardian", "NODE-01", "NODE-02"),
  () =>
    Effect.gen(function*() {
      const mark = fingerprint()
      const child = yield* host(running(mark, "Guardian.layer"))
      const left = alive(mark).filter((pid) => pid !== child.pid)
      assert.isAtLeast(left.length, 3)
      child.kill("SIGKILL")
      yield* exited(child)
      yield* gone(left)
      assert.deepStrictEqual(alive(mark), [])
    }),
  // Three programs of Node start one after the other, each with effect to load.
  30_000
)

it.live(
  cites("a guardian hears of a command before it starts, and once more when it is over", "NODE-01", "NODE-02"),
  () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const watch: Watch.Watch = {
        announce: () => void heard.push("announce"),
        begin: () => void heard.push("begin"),
        end: () => void heard.push("end")
      }
      for (const program of ["true", "/no such program"]) {
        yield* Effect.provideService(Process.run(Command.make(program)), Watch.Watch, watch)
      }
      assert.deepStrictEqual(heard, ["announce", "begin", "end", "announce", "end"])
    })
)

it.live("a guardian does not keep its process alive, and ends with its layer", () =>
  Effect.gen(function*() {
    const child = yield* host(`
      const { Command, Guardian, Process } = await import("@quiesce/node")
      const { Effect, Layer, Scope } = await import("effect")
      const scope = Effect.runSync(Scope.make())
      await Effect.runPromise(Layer.buildWithScope(Guardian.layer, scope))
      console.log("ready")`)
    yield* exited(child)
    assert.strictEqual(child.exitCode, 0)
    assert.strictEqual(yield* Effect.provide(Process.text(Command.make("echo", ["hi"])), Guardian.layer), "hi\n")
  }), 30_000)

it.live(
  cites("a command that was announced and not yet told of is ended too, by its mark", "NODE-01", "NODE-02"),
  () =>
    Effect.gen(function*() {
      const program = new URL("../src/internal/guardian/main.ts", import.meta.url)
      const guardian = yield* Effect.acquireRelease(
        Effect.sync(() => spawn(process.execPath, [program.pathname], { stdio: ["pipe", "ignore", "inherit"] })),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      const length = fingerprint()
      const mark = randomUUID()
      guardian.stdin.write(`${JSON.stringify({ _tag: "Announce", mark })}\n`)
      guardian.stdin.write(`${JSON.stringify({ _tag: "Announce", mark: randomUUID() })}\n`)
      const child = spawn("sh", ["-c", `trap '' TERM; sleep ${length} & sleep ${length}; :`], {
        detached: true,
        env: { ...process.env, QUIESCE_LINEAGE: `another:${mark}` },
        stdio: "ignore"
      })
      yield* Effect.addFinalizer(() => Effect.sync(() => alive(length).forEach((pid) => process.kill(pid, "SIGKILL"))))
      // Its host was killed in the middle of a notice.
      guardian.stdin.end(`{"_tag":"Begin","mark":"${mark}","lead`)
      yield* exited(guardian)
      yield* exited(child)
      assert.strictEqual(child.signalCode, "SIGKILL")
      assert.deepStrictEqual(alive(length), [])
    }),
  30_000
)

it.effect("a guardian that does not end is not waited for any longer than it may take", () =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    yield* Layer.buildWithScope(Guardian.layer, scope)
    const [pid] = alive("guardian/main").filter((pid) => Procfs.row(pid)?.ppid === process.pid)
    process.kill(pid!, "SIGSTOP")
    const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
    yield* TestClock.adjust(Duration.seconds(10))
    yield* Fiber.join(closing)
    assert.throws(() => process.kill(pid!, 0))
  }))
