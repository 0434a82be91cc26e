/**
 * Tasks of all kinds, for isolates. It is loaded by Node as it is.
 */
import { execFileSync, spawn } from "node:child_process"
import { writeSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { isMainThread, threadId } from "node:worker_threads"

interface Context {
  readonly signal: AbortSignal
  readonly progress: (step: { readonly progress: number; readonly total?: number; readonly message?: string }) => void
}

export const add = ({ a, b }: { readonly a: number; readonly b: number }) => a + b

export const where = () => ({ pid: process.pid, thread: threadId, isMain: isMainThread })

export const environment = () => ({ ...process.env })

export const echo = (input: unknown) => input

export const typesOf = (input: Record<string, unknown>) => ({
  got: Object.fromEntries(Object.entries(input).map(([key, value]) => [key, typeof value])),
  back: input
})

export const steps = (_: unknown, { progress }: Context) => {
  progress({ progress: 1, total: 2, message: "one" })
  progress({ progress: 2 })
  return "done"
}

/** Ends when it is asked to, and tells by `shared` that it did. */
export const polite = async (shared: SharedArrayBuffer | null, { progress, signal }: Context) => {
  progress({ progress: 0, message: String(process.pid) })
  try {
    await sleep(1_000_000, undefined, { signal })
  } finally {
    if (shared !== null) Atomics.add(new Int32Array(shared), 0, 1)
  }
}

/** Counts in `shared` that it began, and that it ended, which it does when it is asked to. */
export const counted = async (shared: SharedArrayBuffer, { signal }: Context) => {
  const counts = new Int32Array(shared)
  Atomics.add(counts, 0, 1)
  try {
    await sleep(1_000_000, undefined, { signal })
  } finally {
    Atomics.add(counts, 1, 1)
  }
}

/** Ends when it is asked to, by succeeding. */
export const late = (_: unknown, { progress, signal }: Context) =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve("late"))
    progress({ progress: 0 })
  })

/** Ends when it is asked to, by failing with something of its own. */
export const undo = (_: unknown, { progress, signal }: Context) =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new RangeError("could not undo")))
    progress({ progress: 0 })
  })

/** Never looks at its signal; counts in `shared` for as long as it runs. */
export const loop = (shared: SharedArrayBuffer | null, { progress }: Context) => {
  progress({ progress: 0, message: String(process.pid) })
  const count = shared === null ? new Int32Array(1) : new Int32Array(shared)
  while (true) Atomics.add(count, 0, 1)
}

/** Waits for ever, and ignores whoever asks it to stop, SIGTERM included. */
export const deaf = (_: unknown, { progress }: Context) => {
  process.on("SIGTERM", () => {})
  progress({ progress: 0, message: String(process.pid) })
  return sleep(1_000_000)
}

/** A native call that blocks its thread, and nothing in this process can end it but the end of the process. */
export const block = ({ mark }: { readonly mark: string }, { progress }: Context) => {
  progress({ progress: 0, message: String(process.pid) })
  return execFileSync("sleep", [mark]).toString()
}

/** Leaves a process behind. */
export const breed = ({ mark }: { readonly mark: string }) => {
  spawn("sleep", [mark], { detached: true, stdio: "ignore" }).unref()
  return "bred"
}

export const fail = () => {
  throw Object.assign(new RangeError("no"), { code: "E_NO" })
}

export const failStrangely = () => {
  throw new Proxy({}, {
    get: () => {
      throw new Error("do not look")
    }
  })
}

export const exit = () => process.exit(3)

/** Ends its isolate by what is thrown where nobody catches it. */
export const explode = ({ kind }: { readonly kind: string }) => {
  const thrown: Record<string, unknown> = {
    null: null,
    undefined: undefined,
    text: "boom",
    nameless: { name: { toString: null }, message: 1 },
    numbered: Object.assign(new Error("boom"), { code: 42 }),
    foreign: new DOMException("boom", "DataError")
  }
  setImmediate(() => {
    throw thrown[kind]
  })
  return sleep(1_000_000)
}

/** Says in its progress what only its program may say. */
export const pretend = (_: unknown, { progress }: Context) => {
  progress(Object.assign({ progress: 1 }, { _tag: "Done", value: "pretended", task: 1 }))
  return "done"
}

/** Writes to every file its process was given, and waits. */
export const babble = ({ text, times }: { readonly text: string; readonly times: number }) => {
  for (let fd = 3; fd < 10; fd++) {
    try {
      for (let count = 0; count < times; count++) for (let at = 0; at < text.length;) at += write(fd, text.slice(at))
    } catch {
      // It cannot be written to, or not any more.
    }
  }
  return sleep(1_000_000)
}

const write = (fd: number, text: string): number => {
  try {
    return writeSync(fd, text)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return 0
    throw error
  }
}

/** Ends its isolate a little after it has succeeded. */
export const timebomb = () => {
  setImmediate(() => process.exit(4))
  return "tick"
}

export const gorge = () => {
  const all: Array<unknown> = []
  while (true) all.push(new Array(1000).fill(all.length))
}

export const notJson = ({ kind }: { readonly kind: string }) => {
  const cycle: Record<string, unknown> = {}
  cycle["a"] = [cycle]
  return { undefined, cycle, NaN, date: new Date(0), bigint: 1n, deep: { a: [1, { b: () => 1 }] } }[kind]
}

export const noise = () => {
  console.log("noise on stdout")
  console.error("noise on stderr")
  return "quiet"
}

export const notAFunction = 1

export default add
