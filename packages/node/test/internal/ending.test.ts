import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../../tests/conformance/cites.ts"
import * as Ending from "../../src/internal/ending.ts"
import * as Lineage from "../../src/internal/lineage.ts"
import { VirtualHost } from "../support/VirtualHost.ts"

const grace = Duration.seconds(2)

/** A leader 200, and a member 201 that ignores SIGTERM unless told otherwise. */
const machine = (answer?: (virtual: VirtualHost, signal: NodeJS.Signals) => void) => {
  const virtual = new VirtualHost()
  const leader = virtual.add({ pid: 200, ppid: 100 })
  virtual.add({
    pid: 201,
    ppid: 200,
    pgrp: 200,
    session: 200,
    answer: (signal) => answer?.(virtual, signal)
  })
  const lineage = Lineage.make({ ...leader }, "mark")
  const end = (options: Partial<Ending.Options> = {}) =>
    Ending.end(virtual.host(), lineage, {
      grace,
      table: virtual.host().everybody,
      carries: (row) => virtual.host().carriesMark(row, "mark"),
      spares: () => false,
      ...options
    })
  return { virtual, lineage, end }
}

const sent = (virtual: VirtualHost) => virtual.kills.map(([target, signal]) => `${signal} ${target}`)

describe("ending", () => {
  it.effect(
    cites("asks the group once, waits the grace, kills the group, and looks again", "NODE-01"),
    () =>
      Effect.gen(function*() {
        const { end, virtual } = machine()
        const fiber = yield* Effect.forkChild(end())
        yield* TestClock.adjust("1999 millis")
        assert.deepStrictEqual(sent(virtual), ["SIGTERM -200"])
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("30 millis")
        assert.deepStrictEqual(sent(virtual), ["SIGTERM -200", "SIGKILL -200"])
        assert.deepStrictEqual(yield* Fiber.join(fiber), { swept: 1, survivors: [], suspects: [], isProved: true })
      })
  )

  it.effect(cites("does not wait longer than the last one lives", "NODE-01"), () =>
    Effect.gen(function*() {
      const { end, virtual } = machine()
      const fiber = yield* Effect.forkChild(end())
      yield* TestClock.adjust("500 millis")
      virtual.remove(201)
      yield* TestClock.adjust("25 millis")
      assert.isDefined(fiber.pollUnsafe())
      assert.deepStrictEqual(sent(virtual), ["SIGTERM -200"])
    }))

  it.effect(
    cites("takes a group of zombies for empty: the signal 0 would reach them for ever", "NODE-02"),
    () =>
      Effect.gen(function*() {
        const { end, virtual } = machine()
        for (const pid of [200, 201]) virtual.processes.get(pid)!.state = "Z"
        assert.deepStrictEqual(yield* end(), { swept: 0, survivors: [], suspects: [], isProved: true })
        assert.deepStrictEqual(virtual.kills, [])
      })
  )

  it.effect(
    cites("asks a newcomer in a new group too, and kills a newcomer in an old one", "NODE-01", "NODE-02"),
    () =>
      Effect.gen(function*() {
        const { end, virtual } = machine()
        const fiber = yield* Effect.forkChild(end())
        yield* TestClock.adjust("100 millis")
        virtual.add({ pid: 202, ppid: 201, pgrp: 200, session: 200, answer: () => {} })
        virtual.add({ pid: 203, ppid: 201, answer: () => {} })
        yield* TestClock.adjust("300 millis")
        assert.deepStrictEqual(sent(virtual), ["SIGTERM -200", "SIGTERM -203"])
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual(sent(virtual), ["SIGTERM -200", "SIGTERM -203", "SIGKILL -200", "SIGKILL -203"])
        assert.strictEqual((yield* Fiber.join(fiber)).swept, 3)
      })
  )

  it.effect(
    cites("kills as often as somebody is found, for a bounded time", "NODE-01", "NODE-02"),
    () =>
      Effect.gen(function*() {
        const { end, virtual } = machine()
        // A storm: whoever is killed has just been replaced.
        const storm = (pid: number) => {
          virtual.add({ pid, ppid: 1, pgrp: pid, mark: "mark" })
          const remove = virtual.remove.bind(virtual)
          virtual.remove = (dead) => {
            remove(dead)
            if (dead === pid && pid < 250) storm(pid + 1)
          }
        }
        storm(210)
        const fiber = yield* Effect.forkChild(end({ grace: Duration.zero }))
        yield* TestClock.adjust("6 seconds")
        assert.deepStrictEqual((yield* Fiber.join(fiber)).survivors, [])
        assert.deepStrictEqual([...virtual.processes.keys()], [1, 100])
      })
  )

  it.effect(
    cites("names who survives SIGKILL, who is another user's, and who is spared", "NODE-02"),
    () =>
      Effect.gen(function*() {
        const { end, virtual } = machine()
        const stuck = virtual.add({ pid: 210, ppid: 200, state: "D" })
        virtual.add({ pid: 211, ppid: 200, owner: "other" })
        virtual.add({ pid: 212, ppid: 200, name: "spared" })
        const remove = virtual.remove.bind(virtual)
        virtual.remove = (pid) => pid === stuck.pid ? undefined : remove(pid)
        const fiber = yield* Effect.forkChild(end({ spares: (row) => row.name === "spared" }))
        yield* TestClock.adjust("6900 millis")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("200 millis")
        const { survivors } = yield* Fiber.join(fiber)
        assert.deepStrictEqual(survivors.map(({ row, why }) => [row.pid, why]), [
          [210, "Unkillable"],
          [211, "Denied"],
          [212, "Spared"]
        ])
        assert.isFalse(virtual.kills.some(([target, signal]) => signal !== 0 && Math.abs(target) === 212))
      })
  )

  it.effect(cites("continues a stopped process behind the SIGTERM", "NODE-01"), () =>
    Effect.gen(function*() {
      const { end, virtual } = machine((virtual, signal) => {
        if (signal === "SIGCONT") virtual.remove(201)
      })
      virtual.processes.get(201)!.state = "T"
      const fiber = yield* Effect.forkChild(end())
      yield* TestClock.adjust("25 millis")
      assert.isDefined(fiber.pollUnsafe())
      assert.deepStrictEqual(sent(virtual), ["SIGTERM -200", "SIGCONT -200"])
    }))

  it.effect(
    cites("signals one by one where the child leads no group: this process survives", "NODE-04"),
    () =>
      Effect.gen(function*() {
        const { end, virtual } = machine()
        for (const pid of [200, 201]) Object.assign(virtual.processes.get(pid)!, { pgrp: 100, session: 100 })
        const fiber = yield* Effect.forkChild(end())
        yield* TestClock.adjust("3 seconds")
        assert.deepStrictEqual((yield* Fiber.join(fiber)).survivors, [])
        assert.isTrue(virtual.processes.has(100))
        assert.isTrue(virtual.kills.every(([target]) => target === 200 || target === 201))
      })
  )

  it.effect(cites("does not take a table it cannot read for an empty one", "NODE-02"), () =>
    Effect.gen(function*() {
      const { end, virtual } = machine()
      virtual.isReadable = false
      const fiber = yield* Effect.forkChild(end())
      yield* TestClock.adjust("1 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      virtual.isReadable = true
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* Fiber.join(fiber), { swept: 1, survivors: [], suspects: [], isProved: true })

      virtual.isReadable = false
      const blind = yield* Effect.forkChild(end())
      yield* TestClock.adjust("8 seconds")
      assert.isFalse((yield* Fiber.join(blind)).isProved)
    }))

  it.effect("leaves them in peace first, where it is told to", () =>
    Effect.gen(function*() {
      const { end, virtual } = machine()
      const fiber = yield* Effect.forkChild(end({ patience: Effect.sleep("1 second") }))
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(virtual.kills, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(sent(virtual), ["SIGTERM -200"])
      yield* Fiber.interrupt(fiber)
    }))
})
