import { assert, describe, it } from "@effect/vitest"
import { cites } from "../../../../tests/conformance/cites.ts"
import type { Row } from "../../src/internal/lineage.ts"
import * as Signal from "../../src/internal/signal.ts"
import { VirtualHost } from "../support/VirtualHost.ts"

const machine = () => {
  const virtual = new VirtualHost()
  const leader = virtual.add({ pid: 200, ppid: 100 })
  const member = virtual.add({ pid: 201, ppid: 200, pgrp: 200, session: 200 })
  return { virtual, host: virtual.host(), leader: { ...leader }, member: { ...member } }
}

describe("a signal to a group", () => {
  it(cites("is sent while a living process of ours is in it", "NODE-04"), () => {
    const { host, leader, member, virtual } = machine()
    assert.strictEqual(Signal.toGroup(host, 200, [leader, member], "SIGTERM"), "Sent")
    assert.deepStrictEqual(virtual.kills, [[-200, "SIGTERM"]])
  })

  it(cites("is sent for the sake of a member when the leader was reaped", "NODE-04"), () => {
    const { host, leader, member, virtual } = machine()
    virtual.remove(200)
    assert.strictEqual(Signal.toGroup(host, 200, [leader, member], "SIGKILL"), "Sent")
    assert.deepStrictEqual(virtual.kills, [[-200, "SIGKILL"]])
  })

  const refused: ReadonlyArray<
    readonly [why: string, prepare: (m: ReturnType<typeof machine>) => readonly [number, ReadonlyArray<Row>]]
  > = [
    ["whose number is 0", ({ virtual }) => [0, [{ ...virtual.self, pgrp: 0 }]]],
    ["whose number is 1", ({ virtual }) => [1, [{ ...virtual.processes.get(1)! }]]],
    ["whose number is negative", ({ leader }) => [-200, [leader]]],
    ["whose number is none", ({ leader }) => [NaN, [leader]]],
    ["of this process", ({ member, virtual }) => {
      const stray = virtual.add({ ...member, pgrp: 100, session: 300 })
      return [100, [{ ...stray }]]
    }],
    ["in the session of this process", ({ member, virtual }) => {
      const stray = virtual.add({ ...member, session: 100 })
      return [200, [{ ...stray }]]
    }],
    ["that nobody is in any more", ({ leader, member, virtual }) => {
      virtual.remove(200)
      virtual.remove(201)
      return [200, [leader, member]]
    }],
    ["that only zombies are in", ({ leader, virtual }) => {
      virtual.remove(201)
      virtual.processes.get(200)!.state = "Z"
      return [200, [leader]]
    }],
    ["whose number has a new owner", ({ leader, member, virtual }) => {
      virtual.remove(200)
      virtual.remove(201)
      virtual.add({ pid: 200, started: 99 })
      return [200, [leader, member]]
    }],
    ["that the member has left", ({ member, virtual }) => {
      virtual.remove(200)
      virtual.processes.get(201)!.pgrp = 201
      virtual.add({ pid: 300, pgrp: 200, session: 300 })
      return [200, [member]]
    }],
    ["of which nobody is ours", () => [200, []]]
  ]

  for (const [why, prepare] of refused) {
    it(cites(`${why} is not sent`, "NODE-04"), () => {
      const m = machine()
      const [pgrp, members] = prepare(m)
      assert.strictEqual(Signal.toGroup(m.host, pgrp, members, "SIGKILL"), "Gone")
      assert.deepStrictEqual(m.virtual.kills, [])
    })
  }
})

describe("a signal to a process", () => {
  it("is sent to the process that is meant", () => {
    const { host, member, virtual } = machine()
    assert.strictEqual(Signal.toProcess(host, member, "SIGTERM"), "Sent")
    assert.deepStrictEqual(virtual.kills, [[201, "SIGTERM"]])
  })

  it(cites("whose number is 0, 1, -1 or our own, or has a new owner, is not sent", "NODE-04"), () => {
    const { host, member, virtual } = machine()
    virtual.add({ pid: 201, started: 99 })
    for (
      const row of [member, ...[0, 1, -1, 100].map((pid) => ({ ...virtual.self, ...virtual.processes.get(pid), pid }))]
    ) {
      assert.strictEqual(Signal.toProcess(host, row, "SIGKILL"), "Gone")
    }
    assert.deepStrictEqual(virtual.kills, [])
  })
})
