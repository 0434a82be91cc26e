/** What a caller is told, and when: each peer against a body that ignores its signal. */
import { getEventListeners } from "node:events"
import { floors } from "../floors/all.ts"
import { gate } from "../floors/bodies.ts"
import { naive } from "../floors/promises.ts"
import type { Host } from "../Host.ts"
import { parameters, trivialBody } from "../Host.ts"
import * as Ours from "../ours.ts"
import { peers } from "../peers/all.ts"
import type { Facts, Kind } from "../Report.ts"
import type { Observations } from "../Table.ts"

const listeners = (signal: AbortSignal) => getEventListeners(signal, "abort").length

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Long enough for every message a host may exchange after an abort, in memory. */
const patienceMillis = 50

/** Aborts a call whose body goes on, watches whether the call settles, then lets the body succeed. */
const afterAbort = async (host: Host) => {
  const held = gate()
  const { call, close } = await host.open(held.body)
  const controller = new AbortController()
  let settled = false
  const outcome = call(parameters, controller.signal).then(
    (value) => JSON.stringify(value).includes("late") ? "handed out" : "refused",
    () => "refused"
  ).finally(() => settled = true)
  while (held.waiting() === 0) await turn()
  controller.abort(new Error("enough"))
  await new Promise((resolve) => setTimeout(resolve, patienceMillis))
  const early = settled
  held.open()
  const late = await outcome
  await close()
  return early ? ["returns before the body ended", "never seen"] : ["waits", late]
}

const leftAfter = async (host: Host, calls: number) => {
  const { call, close } = await host.open(trivialBody)
  const { signal } = new AbortController()
  for (let i = 0; i < calls; i++) await call(parameters, signal)
  const left = listeners(signal)
  await close()
  return left
}

const heldBy = async (host: Host, calls: number) => {
  const held = gate()
  const { call, close } = await host.open(held.body)
  const { signal } = new AbortController()
  const running = Array.from({ length: calls }, () => call(parameters, signal))
  while (held.waiting() < calls) await turn()
  const holds = listeners(signal)
  held.open()
  await Promise.all(running)
  await close()
  return holds
}

const observe = async (kind: Kind, host: Host): Promise<Facts["rows"][number]> => ({
  name: host.name,
  kind,
  cells: [...(await afterAbort(host)), String(await leftAfter(host, 200)), String(await heldBy(host, 1000))]
})

export const table: Observations = {
  _tag: "Observations",
  title: "What a caller is told",
  about: "A body that ignores its signal is aborted and then succeeds; 200 calls are made one after the other; 1,000 " +
    "calls are held at once on one signal. Listeners are those on the caller's signal.",
  columns: ["after an abort", "late success", "listeners after 200 calls", "listeners at 1,000 calls"],
  observe: async () => {
    const rows: Array<Facts["rows"][number]> = []
    rows.push(await observe("ours", Ours.host(Ours.full)))
    for (const host of [...floors, naive]) rows.push(await observe("floor", host))
    for (const host of peers) rows.push(await observe("peer", host))
    return rows
  }
}
