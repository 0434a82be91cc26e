/** The edge of one run: what the outside world may do becomes steps of its machine. */
import { getEventListeners } from "node:events"
import type * as Edge from "../Edge.ts"
import type { Machine } from "./machine.ts"

export class LiveEdge implements Edge.Shape {
  private readonly machine: Machine

  constructor(machine: Machine) {
    this.machine = machine
  }

  action(label: string, run: () => void, touches?: Edge.Touches): Edge.Action {
    const machine = this.machine
    if (machine.isOver) throw new Error(`"${label}" comes after its run: every run has an edge of its own`)
    const step = machine.makeStep(
      "outside",
      label,
      () => {
        machine.tracks.writes(itself)
        run()
      },
      touches && { reads: new Set(touches.reads), writes: new Set(touches.writes) }
    )
    // Taking an action back conflicts with its happening.
    const itself = `action ${step.seq}`
    machine.enabled.outside.push(step)
    return {
      withdraw: () => {
        machine.tracks.writes(itself)
        const { outside } = machine.enabled
        const index = outside.indexOf(step)
        if (index >= 0) outside.splice(index, 1)
      }
    }
  }

  promise<A>(label: string, settle: () => A): Promise<A> {
    const promise = new Promise<A>((resolve, reject) => {
      this.action(label, () => {
        try {
          resolve(settle())
        } catch (error) {
          reject(error)
        }
      })
    })
    // It may be rejected before the program looks at it; that nobody looked yet is no unhandled rejection.
    promise.then(undefined, () => {})
    return promise
  }

  controller(label: string, reason?: unknown): Edge.Controller {
    const controller = new AbortController()
    const { withdraw } = this.action(label, () => controller.abort(reason))
    return {
      signal: controller.signal,
      abort: (reason) => controller.abort(reason),
      listeners: () => getEventListeners(controller.signal, "abort").length,
      withdraw
    }
  }

  choose<const A>(label: string, values: ReadonlyArray<A>): A {
    if (values.length === 0) throw new Error(`"${label}" offers no value to choose`)
    return values[this.machine.value(label, values)]!
  }

  advance(millis: number): void {
    this.machine.clock.advance(millis)
  }

  timers(): number {
    return this.machine.clock.timers.length
  }

  always(statement: string, holds: () => boolean | void): void {
    this.machine.invariants.push({ statement, holds })
  }

  atQuiescence(statement: string, holds: () => boolean | void): void {
    this.machine.conclusions.push({ statement, holds })
  }

  touch(touches: Edge.Touches): void {
    for (const name of touches.reads ?? []) this.machine.tracks.reads(name)
    for (const name of touches.writes ?? []) this.machine.tracks.writes(name)
  }

  exploring(on: boolean): void {
    this.machine.isExploring = on
  }
}
