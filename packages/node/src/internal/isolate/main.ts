/**
 * The program of an isolate: loads a module, runs what it exports, and reports. It knows nothing but Node, so that an
 * isolate is there soon.
 *
 * It runs one task at a time, in a worker or in a process. What the task does beside its promise is the task's: this
 * program neither waits for it nor ends it; the host does, by ending the isolate.
 */
import { Socket } from "node:net"
import { parentPort } from "node:worker_threads"
import * as Channel from "../channel.ts"
import type { Order, Report } from "./protocol.ts"
import { channelDescriptor } from "./protocol.ts"
import { describe } from "./thrown.ts"

const port = parentPort
const pipe = port === null ? new Socket({ fd: channelDescriptor }) : undefined
const channel = pipe === undefined ? undefined : Channel.over(pipe)

const send = (report: Report): void => {
  port?.postMessage(report)
  channel?.send(report)
}

const controllers = new Map<number, AbortController>()

const receive = (order: Order): void => {
  switch (order._tag) {
    case "Run":
      void run(order)
      break
    case "Cancel":
      controllers.get(order.task)?.abort(new DOMException("The task was cancelled", "AbortError"))
      break
  }
}

const run = async ({ input, module, name, task }: Order & { readonly _tag: "Run" }): Promise<void> => {
  const controller = new AbortController()
  controllers.set(task, controller)
  send({ _tag: "Started", task })
  send(await settle(task, controller.signal, module, name, input))
  controllers.delete(task)
}

const settle = async (
  task: number,
  signal: AbortSignal,
  module: string,
  name: string,
  input: unknown
): Promise<Report> => {
  let body: unknown
  try {
    body = ((await import(module)) as Record<string, unknown>)[name]
    if (typeof body !== "function") throw new TypeError(`${module} exports no function ${name}`)
  } catch (error) {
    return { _tag: "Failed", task, reason: "NotLoaded", thrown: describe(error) }
  }
  const progress = (step: { readonly progress: number; readonly total?: number; readonly message?: string }) =>
    send({ ...step, _tag: "Progress", task })
  let value: unknown
  try {
    value = await body(input, { signal, progress })
  } catch (error) {
    return { _tag: "Failed", task, reason: "Threw", thrown: describe(error) }
  }
  try {
    return { _tag: "Done", task, value: asJson(value, "the result", new Set()) }
  } catch (error) {
    return { _tag: "Failed", task, reason: "NotJson", thrown: describe(error) }
  }
}

/** A copy of a value that is JSON; what JSON would change or drop in silence is refused by its path. */
const asJson = (value: unknown, path: string, above: Set<unknown>): unknown => {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value
  if (typeof value === "number" && Number.isFinite(value)) return value
  if (typeof value !== "object" || above.has(value)) throw new TypeError(`${path} is not JSON`)
  const inner = new Set(above).add(value)
  if (Array.isArray(value)) return Array.from(value, (item, i) => asJson(item, `${path}[${i}]`, inner))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw new TypeError(`${path} is not JSON`)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asJson(item, `${path}.${key}`, inner)]))
}

const leave = () => process.exit()

port?.on("message", receive)
channel?.listen((order) => receive(order as Order), leave)
pipe?.on("error", () => {})
// The host is gone, and nobody else would end this process.
pipe?.on("close", leave)
send({ _tag: "Ready" })
