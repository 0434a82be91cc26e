/** From a cancel to the moment nobody is left: commands and isolated bodies. */
import type * as Tool from "@quiesce/core/Tool"
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Command from "@quiesce/node/Command"
import * as Isolated from "@quiesce/node/Isolated"
import * as Process from "@quiesce/node/Process"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import type { Subject } from "../Measure.ts"
import type { Key } from "../Report.ts"
import type { Figures } from "../Table.ts"

const graceMillis = 100

const obedient = "sleep 1000 & echo ready; wait"
const stubborn = "trap '' TERM; sleep 1000 & echo ready; while :; do sleep 0.02; done"
const strayed = "setsid sleep 1000 & echo ready; wait"

const subject = (
  name: string,
  kind: Subject["kind"],
  against: Key,
  lacks: string,
  measure: () => Promise<number>
): Subject => ({ name, kind, unit: "ms", lacks, against, open: async () => ({ measure, close: async () => {} }) })

/** Signals the group, and waits for the child's exit: what a careful program does by hand. */
const byHand = (script: string) => async () => {
  const child = spawn("/bin/sh", ["-c", script], { detached: true, stdio: ["ignore", "pipe", "inherit"] })
  await once(child.stdout, "data")
  const start = performance.now()
  const exited = once(child, "exit")
  process.kill(-child.pid!, "SIGTERM")
  const timer = setTimeout(() => process.kill(-child.pid!, "SIGKILL"), graceMillis)
  await exited
  clearTimeout(timer)
  return performance.now() - start
}

const byProcess = (script: string) => () =>
  Effect.runPromise(Effect.gen(function*() {
    const ready = yield* Deferred.make<void>()
    const run = Process.run(Command.shell(script, { grace: graceMillis }), {
      onOutput: () => Deferred.succeed(ready, undefined)
    })
    const fiber = yield* Effect.forkChild(run)
    yield* Deferred.await(ready)
    const start = performance.now()
    yield* Fiber.interrupt(fiber)
    return performance.now() - start
  }))

const loop = "(_, { progress }) => { progress({ progress: 0 }); for (;;); }"

const terminated = async () => {
  const worker = new Worker(
    `(${loop})(null, { progress: () => require("node:worker_threads").parentPort.postMessage(0) })`,
    { eval: true }
  )
  await once(worker, "message")
  const start = performance.now()
  await worker.terminate()
  return performance.now() - start
}

const isolated = (place: Isolated.Place) => {
  const used = Isolated.make("loop", {
    description: "Loops for ever",
    parameters: Schema.Json,
    success: Schema.Json,
    module: new URL(`data:text/javascript,export default ${loop}`),
    grace: graceMillis,
    ...place
  })
  return () => Effect.runPromise(cancelled(used).pipe(Effect.provide(ToolRegistry.layer([used])), Effect.scoped))
}

const cancelled = (used: Tool.AnyNoServices) =>
  Effect.gen(function*() {
    const registry = yield* ToolRegistry.ToolRegistry
    const running = yield* Deferred.make<void>()
    yield* registry.observe({ progress: () => Deferred.succeed(running, undefined) })
    const { cancel, result } = yield* registry.start({ callId: "1", name: used.name, arguments: null })
    yield* Deferred.await(running)
    const start = performance.now()
    yield* cancel()
    yield* result
    return performance.now() - start
  })

const command = { name: "a command that obeys, by hand" }
const killed = { name: "a command that ignores SIGTERM, by hand" }
const thread = { name: "an endless loop in a worker, terminate()" }
const handLacks =
  "descendants that obey less than their leader or left its group, proofs before signals, output, an outcome"

export const table: Figures = {
  _tag: "Figures",
  title: "Stopping",
  about: `From the cancel to the outcome, which comes when nobody is left; the grace is ${graceMillis} ms. By hand ` +
    "means: SIGTERM to the group, SIGKILL after the grace, and the child's exit. Most of what ours takes longer is two " +
    "looks at the process table: the first to know whom to ask, the second to know that nobody is left.",
  claim: 1,
  processes: 1,
  plan: { rounds: 20, warmUpMillis: 0 },
  subjects: async () => [
    subject(command.name, "floor", command, handLacks, byHand(obedient)),
    subject("a command that obeys", "ours", command, "", byProcess(obedient)),
    subject("a command, one process in a session of its own", "ours", command, "", byProcess(strayed)),
    subject(killed.name, "floor", killed, handLacks, byHand(stubborn)),
    subject("a command that ignores SIGTERM", "ours", killed, "", byProcess(stubborn)),
    subject(thread.name, "floor", thread, "a grace in which it may end by itself, a result", terminated),
    subject("an endless loop in a worker", "ours", thread, "", isolated({ isolate: "worker" })),
    subject("an endless loop in a process", "ours", thread, "", isolated({ isolate: "process" }))
  ]
}
