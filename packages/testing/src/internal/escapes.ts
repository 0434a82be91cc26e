/**
 * Sees what a program does outside the explorer's control, and who did it.
 *
 * A native timer, an immediate or a piece of I/O goes on by itself, so an exploration in which one was made has not
 * shown every interleaving. Node reports the making of every such resource, whatever reference it was made through;
 * the async context tells those made by the explored program from those of everybody else in the process. The few
 * functions of the engine that go on by themselves and make no resource are trapped.
 */
import { AsyncLocalStorage, asyncWrapProviders, createHook, executionAsyncId } from "node:async_hooks"
import { promiseHooks } from "node:v8"
import { capture, originOf } from "./origin.ts"

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

/** A watch over one exploration. */
export interface Watch {
  /** To be called when all reactions and ticks have run: what could not be told at once is told now. */
  readonly drained: () => void
  readonly end: () => void
}

const watchers = new AsyncLocalStorage<Watcher>()

/** Whether an explored program is running here. */
export const isExplored = (): boolean => watchers.getStore() !== undefined

/** Runs `f` as part of the exploration of `watcher`, together with everything that follows from it. */
export const runWatched = (watcher: Watcher, f: () => void): void => watchers.run(watcher, f)

// Work that Node keeps for itself.
const harmless = new Set(["NONE", "PROMISE", "ELDHISTOGRAM", "HEAPSNAPSHOT", "SIGINTWATCHDOG"])
const escaping = new Set([...Object.keys(asyncWrapProviders), "Timeout", "Immediate"].filter((it) => !harmless.has(it)))

/** Jobs of cryptography and compression: most are over when the call that made them returns. */
const isJob = (type: string): boolean => type === "ZLIB" || type.endsWith("REQUEST") && !type.startsWith("HTTP")

/** Only a job that is done later has somebody to call when it is: known once the call that made it has returned. */
const goesOn = (job: object): boolean => "ondone" in job || "cb" in job

/** Watches until it is ended. One at a time: hooks, traps and the listeners of the process have one owner. */
export const watch = (watcher: Watcher): Watch => {
  const jobs: Array<{ readonly job: object; readonly escape: Escape }> = []
  const ticks: Ticks = new Map()
  /** What escaped, by its resource: what follows from it needs no name of its own. */
  const escaped = new Set<number>()
  const options = {
    init(id: number, type: string, trigger: number, resource: object) {
      if (type === "effect/Fiber" || watchers.getStore() !== watcher || watcher.isDriving) return
      // Drained with the promise reactions, before the next decision.
      if (type === "Microtask") return watcher.moved()
      if (type === "TickObject") {
        ticks.set(id, { made: capture(), within: executionAsyncId() })
        return watcher.moved()
      }
      if (!escaping.has(type)) return
      const known = escaped.has(trigger) || escaped.has(executionAsyncId())
      escaped.add(id)
      if (known) return
      const escape = locate(type, ticks)
      if (!isJob(type) || escape.what.startsWith("SubtleCrypto")) return watcher.escaped(escape)
      escaped.delete(id)
      jobs.push({ job: resource, escape })
      watcher.moved()
    },
    // Promises are watched below, at a fraction of the price; Node 22 does not know the option and pays it.
    trackPromises: false
  }
  const resources = createHook(options).enable()
  const unhookPromises = promiseHooks.createHook({ init: watcher.moved, settled: watcher.moved })
  const unhandled = (watcher: Watcher, error: unknown) => watcher.unhandled(error)
  const giveBack = [
    trap(watcher, Atomics, "waitAsync"),
    ...["compile", "compileStreaming", "instantiate", "instantiateStreaming"].map((name) =>
      trap(watcher, WebAssembly, name)
    ),
    takeOver("unhandledRejection", unhandled),
    takeOver("uncaughtException", unhandled),
    // It has failed its interleaving already; Node would warn about each.
    takeOver("rejectionHandled", () => {})
  ]
  return {
    drained: () => {
      ticks.clear()
      for (const { escape, job } of jobs.splice(0)) if (goesOn(job)) watcher.escaped(escape)
    },
    end: () => {
      resources.disable()
      unhookPromises()
      for (const restore of giveBack) restore()
    }
  }
}

/** Where the ticks of this drain were asked for, and within which other one. */
type Ticks = Map<number, { readonly made: Error; readonly within: number }>

const locate = (type: string, ticks: Ticks): Escape => {
  const { called, where } = originOf(capture())
  let outer = where
  for (let tick = ticks.get(executionAsyncId()); outer === undefined && tick !== undefined;) {
    outer = originOf(tick.made).where
    tick = ticks.get(tick.within)
  }
  return { what: called ?? type, where: outer ?? "a later turn of the event loop" }
}

/** Tells of each call that the explored program makes of a function that nothing else tells of. */
const trap = (watcher: Watcher, namespace: object, name: string): () => void => {
  const original: unknown = Reflect.get(namespace, name)
  if (typeof original !== "function") return () => {}
  const trapped = function(this: unknown, ...args: ReadonlyArray<unknown>): unknown {
    if (watchers.getStore() === watcher) {
      const { where } = originOf(capture())
      watcher.escaped({
        what: `${Object.prototype.toString.call(namespace).slice(8, -1)}.${name}`,
        where: where ?? "a later turn of the event loop"
      })
    }
    return Reflect.apply(original, this, args)
  }
  Reflect.set(namespace, name, trapped)
  return () => {
    Reflect.set(namespace, name, original)
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
