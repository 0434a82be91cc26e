import { assert, describe, it } from "@effect/vitest"
import { Command, type Outcome, Output, Process } from "@quiesce/node"
import { Effect } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { alive, fingerprint } from "./support/world.ts"

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
