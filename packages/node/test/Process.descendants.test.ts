/**
 * Descendants that outlive their command or leave its group, its session, its environment or its pipes.
 */
import { assert, describe, it } from "@effect/vitest"
import { Command, Output, Process } from "@quiesce/node"
import { Duration, Effect, Option, Stream } from "effect"
import { spawn } from "node:child_process"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Child from "../src/internal/child.ts"
import { Host } from "../src/internal/host.ts"
import { hostNode } from "../src/internal/hostNode.ts"
import { alive, fingerprint, startedUntil } from "./support/world.ts"

const end = (pid: number) => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It ended by itself.
  }
}

/** Runs a script that leaves a process behind, and shows what became of it. */
const leaving = (script: (sleep: string) => string, options?: Command.Options) =>
  Effect.gen(function*() {
    const mark = fingerprint()
    const outcome = yield* Process.run(Command.shell(script(`sleep ${mark}`), options))
    return { outcome, left: alive(mark) }
  })

describe("what outlives a program that ended by itself", () => {
  it.live(cites("is ended before the outcome is told", "NODE-01", "NODE-02"), () =>
    Effect.gen(function*() {
      const { left, outcome } = yield* leaving((sleep) => `${sleep} >/dev/null 2>&1 & echo done`)
      assert.deepStrictEqual(left, [])
      assert.strictEqual(outcome._tag, "Exited")
      assert.strictEqual(Output.toText(outcome.stdout), "done\n")
      assert.strictEqual(outcome.swept, 1)
      assert.deepStrictEqual(outcome.residue, [])
    }))

  it.live(cites("also when it ignores SIGTERM", "NODE-01", "NODE-02"), () =>
    Effect.gen(function*() {
      const { left, outcome } = yield* leaving(
        (sleep) => `(trap '' TERM; exec ${sleep}) >/dev/null 2>&1 & echo done`,
        { grace: "100 millis" }
      )
      assert.deepStrictEqual(left, [])
      assert.deepStrictEqual(outcome.residue, [])
    }))

  it.live(
    cites("also when it cleared its environment: whoever is in the session is known by that", "NODE-02", "NODE-04"),
    () =>
      Effect.gen(function*() {
        const { left, outcome } = yield* leaving((sleep) =>
          `env -i ${sleep} >/dev/null 2>&1 3>&- 4>&- & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; exit 0`
        )
        assert.deepStrictEqual(left, [])
        assert.strictEqual(outcome.swept, 1)
      })
  )

  it.live(
    cites("may write to the end what the program gave it, for a bounded time", "NODE-03"),
    () =>
      Effect.gen(function*() {
        const outcome = yield* Process.run(
          Command.shell("(sleep 0.5; echo late) & echo early", { drain: "10 seconds" })
        )
        assert.strictEqual(Output.toText(outcome.stdout), "early\nlate\n")
        assert.isTrue(outcome.stdout.complete)
        assert.strictEqual(outcome.swept, 0)
      })
  )

  it.live(cites("cannot stretch the wait by holding the output", "NODE-03"), () =>
    Effect.gen(function*() {
      const [elapsed, { left, outcome }] = yield* Effect.timed(leaving((sleep) => `${sleep} & echo done`))
      assert.deepStrictEqual(left, [])
      assert.strictEqual(Output.toText(outcome.stdout), "done\n")
      assert.isBelow(Duration.toMillis(elapsed), 10_000)
    }))
})

describe("a descendant that left", () => {
  const escapes: ReadonlyArray<readonly [how: string, script: (sleep: string) => string]> = [
    ["the group", (sleep) => `set -m; ${sleep} & echo ready; wait`],
    ["the session", (sleep) => `setsid ${sleep} & echo ready; wait`],
    ["its parent and the session", (sleep) => `(setsid ${sleep} &) ; echo ready; sleep 1000`],
    [
      "its parent, the session and its output",
      (sleep) => `(setsid ${sleep} >/dev/null 2>&1 &) ; echo ready; sleep 1000`
    ],
    ["the session and its environment", (sleep) => `setsid env -i ${sleep} & echo ready; wait`],
    [
      "its parent, the session, its environment and its output",
      (sleep) => `(env -i setsid ${sleep} >/dev/null 2>&1 &) ; echo ready; sleep 1000`
    ],
    [
      "its parent, the session and every file, but not its environment",
      (sleep) => `(setsid ${sleep} >/dev/null 2>&1 3>&- 4>&- &) ; echo ready; sleep 1000`
    ],
    [
      "the session, its environment and every file, but not its parent",
      (sleep) => `env -i setsid ${sleep} >/dev/null 2>&1 3>&- 4>&- & echo ready; wait`
    ],
    [
      "the session, with children of its own",
      (sleep) => `setsid sh -c '${sleep} & (setsid ${sleep} &) ; ${sleep}' & echo ready; wait`
    ]
  ]

  for (const [how, script] of escapes) {
    it.live(cites(`${how} is found and ended when the command is cancelled`, "NODE-02"), () =>
      Effect.gen(function*() {
        const mark = fingerprint()
        const { cancel } = yield* startedUntil(Command.shell(script(`sleep ${mark}`)), "ready")
        const outcome = yield* cancel
        assert.deepStrictEqual(alive(mark), [])
        assert.deepStrictEqual(outcome.residue, [])
      }))
  }

  it.live(
    cites("cleared its environment, and whose program was gone before its pipes were read, is found", "NODE-02"),
    () =>
      Effect.gen(function*() {
        const seen = { ...hostNode(), pipes: () => new Set<string>() }
        const hasty: Host = { ...seen, start: (command, options) => Child.start(seen, command, options) }
        const { left, outcome } = yield* leaving((sleep) =>
          `env -i setsid ${sleep} >/dev/null 2>&1 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; exit 0`
        ).pipe(Effect.provideService(Host, hasty))
        assert.deepStrictEqual(left, [])
        assert.deepStrictEqual(outcome.residue, [])
      })
  )

  it.live(cites("and ignores SIGTERM is killed after the grace", "NODE-01", "NODE-02"), () =>
    Effect.gen(function*() {
      const mark = fingerprint()
      const script = `setsid sh -c "trap '' TERM; echo ready; while :; do sleep 0.01; done; : ${mark}" & wait`
      const { cancel } = yield* startedUntil(Command.shell(script, { grace: "100 millis" }), "ready")
      const outcome = yield* cancel
      assert.deepStrictEqual(alive(mark), [])
      assert.deepStrictEqual(outcome.residue, [])
    }))

  it.live(
    cites("runs on and is named in the residue where it is not to be ended", "NODE-02", "NODE-03"),
    () =>
      Effect.gen(function*() {
        const { left, outcome } = yield* leaving((sleep) => `setsid ${sleep} & sleep 0.1; echo done`, {
          strays: "report"
        })
        yield* Effect.addFinalizer(() => Effect.sync(() => left.forEach(end)))
        assert.strictEqual(left.length, 1)
        assert.deepStrictEqual(outcome.residue, [{
          kind: "process",
          pid: left[0]!,
          detail: `process ${left[0]} (sleep) runs on in a session of its own`
        }])
        assert.strictEqual(Output.toText(outcome.stdout), "done\n")
        assert.isFalse(outcome.stdout.complete)
        assert.strictEqual(outcome._tag, "Exited")
      })
  )

  it.live(cites("and cannot be found is reported, for it holds the pipes", "NODE-02"), () =>
    Effect.gen(function*() {
      const host = yield* Host
      // A machine on which neither environments nor open files of others can be read.
      const blind: Host = { ...host, carriesMark: () => "Lacks", holds: () => "Lacks" }
      const { left, outcome } = yield* leaving((sleep) => `(setsid ${sleep} >/dev/null 2>&1 &) ; sleep 0.1`).pipe(
        Effect.provideService(Host, blind)
      )
      yield* Effect.addFinalizer(() => Effect.sync(() => left.forEach(end)))
      assert.strictEqual(left.length, 1)
      assert.deepStrictEqual(outcome.residue, [
        { kind: "process", detail: "a process that cannot be found still holds the command's pipes" }
      ])
    }))
})

describe("strangers", () => {
  it.live(
    cites("are not touched by the end of a command, also other children of this process", "NODE-04"),
    () =>
      Effect.gen(function*() {
        const mark = fingerprint()
        const grouped = spawn("sleep", [mark], { stdio: "ignore" })
        const alone = spawn("sleep", [mark], { stdio: "ignore", detached: true })
        yield* Effect.addFinalizer(() => Effect.sync(() => [grouped, alone].forEach((child) => child.kill("SIGKILL"))))
        const { cancel } = yield* startedUntil(Command.shell(`setsid sleep 1000 & echo ready; wait`), "ready")
        yield* cancel
        assert.deepStrictEqual([...alive(mark)].sort(), [grouped.pid!, alone.pid!].sort())
      })
  )

  it.live(
    cites(
      "that carry the mark of the command, but descend from somebody else, are not signalled",
      "NODE-02",
      "NODE-04"
    ),
    () =>
      Effect.gen(function*() {
        const mark = fingerprint()
        // It is there before the command, and starts what it is told in the environment it is told, as a job queue does.
        const service = yield* Process.open(Command.shell("while read -r job; do eval \"$job\"; done"))
        // A process table counts in hundredths of a second: started in the same one, the service could be the command's.
        yield* Process.run(Command.make("sleep", ["0.05"]))
        const command = yield* Process.open(Command.shell("echo $QUIESCE_LINEAGE; sleep 1000"))
        const lineage = yield* firstLine(command.stdout)
        yield* service.send(`QUIESCE_LINEAGE=${lineage} sleep ${mark} & echo started\n`)
        assert.strictEqual(yield* firstLine(service.stdout), "started")

        const outcome = yield* command.stop
        const left = alive(mark)
        assert.strictEqual(left.length, 1)
        assert.deepStrictEqual(outcome.residue, [])

        yield* service.stop
        assert.deepStrictEqual(alive(mark), [])
      })
  )
})

const firstLine = (stream: Stream.Stream<Uint8Array>) =>
  Effect.map(Stream.runHead(Stream.splitLines(Stream.decodeText(stream))), Option.getOrThrow)
