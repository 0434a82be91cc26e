import { assert, describe, it } from "@effect/vitest"
import { assertTrue } from "@effect/vitest/utils"
import { Command, Outcome, Output, Process } from "@quiesce/node"
import { Deferred, Duration, Effect, Exit, Fiber, Stream } from "effect"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { cites } from "../../../tests/conformance/cites.ts"
import { alive, fingerprint, startedUntil } from "./support/world.ts"

const stdout = (outcome: Outcome.Outcome): string => Output.toText(outcome.stdout)

describe("a command that ends by itself", () => {
  it.live(cites("is told with its code, its output and no residue", "NODE-05"), () =>
    Effect.gen(function*() {
      const outcome = yield* Process.run(Command.shell("echo out; echo err >&2; exit 3"))
      assert.strictEqual(outcome._tag, "Exited")
      assert.strictEqual((outcome as Outcome.Exited).code, 3)
      assert.strictEqual(stdout(outcome), "out\n")
      assert.strictEqual(Output.toText(outcome.stderr), "err\n")
      assert.isTrue(outcome.stdout.complete && outcome.stderr.complete)
      assert.deepStrictEqual(outcome.residue, [])
      assert.strictEqual(outcome.swept, 0)
    }))

  it.live(cites("by a signal of somebody else is told with that signal", "NODE-05"), () =>
    Effect.gen(function*() {
      const outcome = yield* Process.run(Command.shell("kill -USR1 $$"))
      assert.strictEqual(outcome._tag, "Signalled")
      assert.strictEqual((outcome as Outcome.Signalled).signal, "SIGUSR1")
    }))

  it.live("gets its arguments as they are, and no shell reads them", () =>
    Effect.gen(function*() {
      const strange = ["$HOME; `id`", "a b", "*", "", "ü\n"]
      const outcome = yield* Process.run(Command.make("printf", ["[%s]", ...strange]))
      assert.strictEqual(stdout(outcome), strange.map((arg) => `[${arg}]`).join(""))
    }))
})

describe("the child's surroundings", () => {
  it.live(
    cites("its environment holds the short list, what the command names, and nothing else", "NODE-05"),
    () =>
      Effect.gen(function*() {
        process.env["SECRET_OF_THE_HOST"] = "s"
        process.env["NAMED_BY_THE_COMMAND"] = "n"
        process.env["LC_TEST"] = "c"
        const outcome = yield* Process.run(
          Command.make("env", [], { inherit: ["NAMED_BY_THE_COMMAND"], env: { ADDED: "a", TERM: undefined } })
        ).pipe(Effect.ensuring(Effect.sync(() => {
          for (const name of ["SECRET_OF_THE_HOST", "NAMED_BY_THE_COMMAND", "LC_TEST"]) delete process.env[name]
        })))
        const names = stdout(outcome).trim().split("\n").map((line) => line.split("=")[0])
        assert.includeMembers(names, ["PATH", "NAMED_BY_THE_COMMAND", "ADDED", "LC_TEST"])
        const allowed = ["PATH", "HOME", "LANG", "TMPDIR", "USER", "NAMED_BY_THE_COMMAND", "ADDED", "QUIESCE_LINEAGE"]
        assert.deepStrictEqual(names.filter((name) => !allowed.includes(name!) && !name!.startsWith("LC_")), [])
      })
  )

  it.live(cites("its standard input is closed unless something is given", "NODE-05"), () =>
    Effect.gen(function*() {
      const outcome = yield* Process.run(Command.make("cat", [], { timeout: "10 seconds" }))
      assert.strictEqual(outcome._tag, "Exited")
      assert.strictEqual(stdout(outcome), "")
    }))

  it.live(cites("it leads a session and a group of its own", "NODE-01"), () =>
    Effect.gen(function*() {
      const outcome = yield* Process.run(Command.shell("cat /proc/$$/stat"))
      const [pid, , , , pgrp, session] = stdout(outcome).split(" ")
      assert.strictEqual(pgrp, pid)
      assert.strictEqual(session, pid)
      assert.notStrictEqual(pid, String(process.pid))
    }))
})

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

describe("a command that cannot be started", () => {
  const reasonOf = (command: Command.Command) =>
    Effect.map(Process.run(command), (outcome) => outcome._tag === "SpawnFailed" ? outcome.error.reason : outcome._tag)

  it.live(cites("says why", "NODE-04", "NODE-05"), () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* reasonOf(Command.make("no-such-program")), "NotFound")
      assert.strictEqual(yield* reasonOf(Command.make("ls", [], { cwd: "/no/such/directory" })), "NoDirectory")
      assert.strictEqual(yield* reasonOf(Command.make("/etc/passwd")), "NotPermitted")
      assert.strictEqual(yield* reasonOf(Command.make("/")), "NotPermitted")
      assert.strictEqual(yield* reasonOf(Command.make("echo", ["a\0b"])), "Invalid")
      assert.strictEqual(yield* reasonOf(Command.make("echo", ["a".repeat(4_000_000)])), "TooLarge")
      assert.strictEqual(yield* reasonOf(Command.make("")), "Invalid")
    }))

  it.live(
    cites("three hundred times at once fails three hundred times, and leaves no open file", "NODE-04"),
    () =>
      Effect.gen(function*() {
        const count = () => readdirSync("/proc/self/fd").length
        const before = count()
        const reasons = yield* Effect.forEach(
          Array.from({ length: 300 }),
          () => reasonOf(Command.make("no-such-program")),
          {
            concurrency: "unbounded"
          }
        )
        assert.deepStrictEqual([...new Set(reasons)], ["NotFound"])
        assert.strictEqual(count(), before)
      })
  )

  it.live("is an error where a started command is needed", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Process.spawn(Command.make("no-such-program"))))
      assert.strictEqual(error.message, "no-such-program could not be started: there is no such program (ENOENT)")
    }))
})

describe("text", () => {
  it.live("is what the program wrote, or fails with how it ended", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Process.text(Command.make("echo", ["hi"])), "hi\n")
      const failed = yield* Effect.flip(Process.text(Command.shell("echo why >&2; exit 1")))
      assert.strictEqual(failed.message, "/bin/sh exited with code 1: why")
    }))
})

describe("the stream of a command", () => {
  it.live(
    cites("that the consumer leaves stops the command and waits until nobody is left", "NODE-01"),
    () =>
      Effect.gen(function*() {
        const mark = fingerprint()
        const command = Command.shell(`sleep ${mark} & while :; do echo y; done`)
        const chunks = yield* Stream.runCollect(Stream.take(Process.stream(command), 2))
        assert.strictEqual(chunks.length, 2)
        assert.deepStrictEqual(alive(mark), [])
      })
  )

  it.live("fails behind the last piece if the program did", () =>
    Effect.gen(function*() {
      const pieces: Array<string> = []
      const failed = yield* Process.stream(Command.shell("echo a; exit 4")).pipe(
        Stream.runForEach(({ bytes }) => Effect.sync(() => pieces.push(new TextDecoder().decode(bytes)))),
        Effect.flip
      )
      assert.strictEqual(pieces.join(""), "a\n")
      assert.strictEqual(failed._tag, "CommandFailed")
    }))

  it.live("loses nothing, however slow its consumer", () =>
    Effect.gen(function*() {
      let bytes = 0
      yield* Process.stream(Command.shell("head -c 3000000 /dev/zero")).pipe(
        Stream.runForEach((chunk) => Effect.delay(Effect.sync(() => bytes += chunk.bytes.length), "1 millis"))
      )
      assert.strictEqual(bytes, 3_000_000)
    }))

  it.live("holds the program up while nobody takes", () =>
    Effect.scoped(Effect.gen(function*() {
      const running = yield* Process.open(Command.make("yes"))
      yield* Effect.sleep("300 millis")
      const { stdout: before } = yield* running.written
      yield* Effect.sleep("100 millis")
      const { stdout: after } = yield* running.written
      assert.strictEqual(after.bytes, before.bytes)
    })))
})

describe("standard input", () => {
  it.live("takes a text, bytes or a stream", () =>
    Effect.gen(function*() {
      const cat = Command.make("cat")
      assert.strictEqual(yield* Process.text(cat, { stdin: { text: "text" } }), "text")
      assert.strictEqual(yield* Process.text(cat, { stdin: new TextEncoder().encode("bytes") }), "bytes")
      const stream = Stream.map(Stream.make("a", "b"), (text) => new TextEncoder().encode(text))
      assert.strictEqual(yield* Process.text(cat, { stdin: stream }), "ab")
    }))

  it.live("that the program does not read is no failure", () =>
    Effect.gen(function*() {
      const outcome = yield* Process.run(Command.make("true"), { stdin: new Uint8Array(10_000_000) })
      assert.isTrue(Outcome.isSuccess(outcome))
    }))

  it.live("that never ends does not hold up the outcome", () =>
    Effect.gen(function*() {
      const ended = yield* Deferred.make<void>()
      const endless = Stream.fromEffect(Effect.never).pipe(Stream.ensuring(Deferred.succeed(ended, undefined)))
      const outcome = yield* Process.run(Command.make("true"), { stdin: endless })
      assert.isTrue(Outcome.isSuccess(outcome))
      yield* Deferred.await(ended)
    }))

  it.live("of an opened command is a conversation", () =>
    Effect.scoped(Effect.gen(function*() {
      const cat = yield* Process.open(Command.make("cat"))
      const heard = yield* Effect.forkChild(Stream.runCollect(Stream.decodeText(cat.stdout)))
      yield* cat.send("one ")
      yield* cat.send(new TextEncoder().encode("two"))
      yield* cat.endInput
      assert.strictEqual((yield* Fiber.join(heard)).join(""), "one two")
      assert.isTrue(Outcome.isSuccess(yield* cat.outcome))
      const closed = yield* Effect.flip(cat.send("three"))
      assert.strictEqual(closed._tag, "InputClosed")
    })))
})

describe("the eyes on a run", () => {
  it.live("see every piece, and their failure stops the command", () =>
    Effect.gen(function*() {
      const mark = fingerprint()
      const failed = yield* Effect.flip(
        Process.run(Command.shell(`echo a; sleep ${mark}`), { onOutput: () => Effect.fail("enough" as const) })
      )
      assert.strictEqual(failed, "enough")
      assert.deepStrictEqual(alive(mark), [])
    }))

  it.live("see the outcome of a run that could not start", () =>
    Effect.gen(function*() {
      const outcomes: Array<string> = []
      yield* Process.run(Command.make("no-such-program"), {
        onOutcome: ({ _tag }) => Effect.sync(() => outcomes.push(_tag))
      })
      assert.deepStrictEqual(outcomes, ["SpawnFailed"])
    }))
})
