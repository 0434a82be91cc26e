/**
 * The end of a command in every order of its events: the exit, the timeout, the cancel, and what descendants do. The
 * machine is virtual; the state machines are the real ones.
 */
import { describe } from "@effect/vitest"
import { Command, type Outcome, Process } from "@quiesce/node"
import { Edge } from "@quiesce/testing"
import { it } from "@quiesce/testing/vitest"
import { Clock, Effect, Fiber } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { Host } from "../src/internal/host.ts"
import { VirtualHost } from "./support/VirtualHost.ts"

const must = (holds: boolean, statement: string): void => {
  if (!holds) throw new Error(statement)
}

/** What may be among the descendants of the leader. */
type Descendant = "none" | "obeys" | "ignores SIGTERM" | "left the session"

const program = (descendant: Descendant, leader: "obeys" | "ignores SIGTERM") =>
  Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const virtual = new VirtualHost()
    const outcomes: Array<Outcome.Outcome> = []
    const clock = yield* Clock.Clock
    let isCancelled = false
    /** How it stood when the exit was told. */
    let told: { readonly isSignalled: boolean; readonly isCancelled: boolean; readonly millis: number } | undefined

    virtual.onDeath = (pid) =>
      void edge.action("the exit is told", () => {
        const isSignalled = virtual.kills.some(([, signal]) => signal !== 0)
        told = { isSignalled, isCancelled, millis: clock.currentTimeMillisUnsafe() }
        virtual.tell(pid)
      })
    virtual.onStart = (pid) => {
      const started = virtual.processes.get(pid)!
      const { mark, pipe } = started
      if (leader === "ignores SIGTERM") started.answer = () => {}
      if (descendant === "obeys") virtual.add({ pid: pid + 1, ppid: pid, pgrp: pid, session: pid, mark, pipe })
      if (descendant === "ignores SIGTERM") {
        virtual.add({ pid: pid + 1, ppid: pid, pgrp: pid, session: pid, mark, pipe, answer: () => {} })
      }
      if (descendant === "left the session") virtual.add({ pid: pid + 1, ppid: 1, mark })
      edge.action("the program ends", () => virtual.die(pid, { _tag: "Code", code: 0 }))
    }

    const command = Command.make("program", [], { timeout: "1 second", grace: "20 millis", drain: "20 millis" })
    const fiber = yield* Process.run(command, { onOutcome: (outcome) => Effect.sync(() => outcomes.push(outcome)) })
      .pipe(
        Effect.provideService(Host, virtual.host()),
        Effect.forkChild
      )
    edge.action("CANCEL", () => {
      isCancelled = true
      fiber.interruptUnsafe()
    })
    edge.always(
      "no signal goes to 0, 1, -1 or our own group",
      () => virtual.kills.every(([target]) => Math.abs(target) >= 200)
    )
    yield* Fiber.await(fiber)

    const started = virtual.processes.size > 2 || told !== undefined
    must(outcomes.length === (started ? 1 : 0), `${outcomes.length} outcomes`)
    must(virtual.processes.size === 2, "somebody is left")
    const [outcome] = outcomes
    if (outcome === undefined) return "not started"
    must(outcome.residue.length === 0, "a residue, and nobody is left")
    switch (outcome._tag) {
      case "Exited":
        must(told?.isSignalled === false, "an exit of its own, and it was ended")
        break
      case "Cancelled":
        must(told?.isCancelled === true, "cancelled, and its exit was known by then")
        break
      case "TimedOut":
        must(told !== undefined && told.millis >= 1000, "timed out, and its exit was known by then")
        break
      default:
        must(false, `ended as ${outcome._tag}`)
    }
    return outcome._tag
  })

describe("in every interleaving of exit, timeout and cancel", () => {
  const clauses = ["NODE-01", "NODE-02", "NODE-04", "NODE-05"] as const
  for (const leader of ["obeys", "ignores SIGTERM"] as const) {
    for (const descendant of ["none", "obeys", "ignores SIGTERM", "left the session"] as const) {
      it.interleavings(
        cites(`there is one true outcome and nobody left: leader ${leader}, descendant: ${descendant}`, ...clauses),
        program(descendant, leader),
        { preemptions: 1, timers: 1, timeout: 60_000 }
      )
    }
  }
})
