/**
 * Sees what a program does outside the explorer's control, and who did it.
 *
 * A native timer, an immediate or a piece of I/O goes on by itself, so an exploration in which one was made has not
 * shown every interleaving. Node reports the making of every such resource, whatever reference it was made through;
 * the async context tells those made by the explored program from those of everybody else in the process.
 */
import { AsyncLocalStorage, asyncWrapProviders, createHook } from "node:async_hooks"
import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { promiseHooks } from "node:v8"

/** Something the explored program made that goes on by itself. */
export interface Escape {
  /** What it is: `setTimeout`, `AbortSignal.timeout`, `readFile`, … */
  readonly what: string
  /** The line of the program that made it. */
  readonly where: string
}

/** Who is told. */
export interface Watcher {
  /** Set while the explorer itself makes something. */
  readonly isDriving: boolean
  /** Native promises, microtasks or ticks moved. */
  readonly moved: () => void
  readonly escaped: (escape: Escape) => void
  readonly unhandled: (error: unknown) => void
}

const watchers = new AsyncLocalStorage<Watcher>()

/** Whether an explored program is running here. */
export const isExplored = (): boolean => watchers.getStore() !== undefined

/** Runs `f` as part of the exploration of `watcher`, together with everything that follows from it. */
export const runWatched = (watcher: Watcher, f: () => void): void => watchers.run(watcher, f)

// Work that Node keeps for itself, or that is over when the call that made it returns.
const harmless = new Set(["NONE", "PROMISE", "ZLIB", "ELDHISTOGRAM", "HEAPSNAPSHOT", "SIGINTWATCHDOG"])
const escaping = new Set([...Object.keys(asyncWrapProviders), "Timeout", "Immediate"].filter((it) => !harmless.has(it)))

/** Watches until the returned function is called. One at a time: the listeners of the process have one owner. */
export const watch = (watcher: Watcher): () => void => {
  const options = {
    init(_id: number, type: string) {
      if (type === "effect/Fiber" || watchers.getStore() !== watcher || watcher.isDriving) return
      // Drained with the promise reactions, before the next decision.
      if (type === "TickObject" || type === "Microtask") watcher.moved()
      else if (escaping.has(type)) watcher.escaped(locate(type))
    },
    // Promises are watched below, at a fraction of the price; Node 22 does not know the option and pays it.
    trackPromises: false
  }
  const resources = createHook(options).enable()
  const unhookPromises = promiseHooks.createHook({ init: watcher.moved, settled: watcher.moved })
  const unhandled = (watcher: Watcher, error: unknown) => watcher.unhandled(error)
  const giveBack = [
    takeOver("unhandledRejection", unhandled),
    takeOver("uncaughtException", unhandled),
    // It has failed its interleaving already; Node would warn about each.
    takeOver("rejectionHandled", () => {})
  ]
  return () => {
    resources.disable()
    unhookPromises()
    for (const listeners of giveBack) listeners()
  }
}

type Event = "unhandledRejection" | "uncaughtException" | "rejectionHandled"
type Listener = (...args: ReadonlyArray<unknown>) => void

/** Sends what the explored program causes to `explored`, and everything else to those who listened before. */
const takeOver = (event: Event, explored: (watcher: Watcher, error: unknown) => void): () => void => {
  const before = process.rawListeners(event) as Array<Listener>
  const listener: Listener = (error, ...rest) => {
    const watcher = watchers.getStore()
    if (watcher !== undefined) return explored(watcher, error)
    // Nobody listens to errors: let them end the process, as they would have.
    if (before.length === 0 && event !== "rejectionHandled") throw error
    for (const listener of before) listener.call(process, error, ...rest)
  }
  process.removeAllListeners(event)
  process.on(event, listener)
  return () => {
    process.removeListener(event, listener)
    for (const listener of before) process.on(event, listener)
  }
}

const kit = fileURLToPath(new URL("..", import.meta.url))

/** Deep enough to reach the program below the frames of Node and of the fiber that runs it. */
const stackDepth = 60

const locate = (type: string): Escape => {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = stackDepth
  const frames = (new Error().stack ?? "").split("\n").slice(1)
  Error.stackTraceLimit = limit
  const isNode = (frame: string) => frame.includes("(node:") || frame.includes("at node:")
  // First come this function and the hook, then Node, then whoever called Node.
  const node = frames.findIndex(isNode)
  const caller = frames.findIndex((frame, i) => i > node && !isNode(frame))
  const program = frames.findIndex((frame, i) =>
    i >= caller && !isNode(frame) && !frame.includes("/node_modules/effect/") && !frame.includes(kit)
  )
  const called = frames[caller - 1]?.match(/at (?:async )?([\w.$ ]+) \(node:/)?.[1]
  return { what: called ?? type, where: place(frames[program === -1 ? caller : program]) }
}

const place = (frame: string | undefined): string => {
  const location = frame?.match(/\(?((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*:\d+:\d+)\)?$/)?.[1]
  if (location === undefined) return frame?.trim() ?? "a later turn of the event loop"
  const path = location.startsWith("file:") ? fileURLToPath(location.replace(/:\d+:\d+$/, "")) : undefined
  return relative(process.cwd(), path === undefined ? location : path + location.match(/:\d+:\d+$/)![0])
}
