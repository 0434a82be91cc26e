/**
 * Says what a thrown value is, whatever it is.
 *
 * Anything can be thrown: `undefined`, a string, a Proxy whose every trap throws. Nothing here throws, and what cannot
 * be read is left out.
 */
import * as Cause from "effect/Cause"
import type { Json } from "../Json.ts"
import { snapshot } from "./json.ts"

export interface Thrown {
  readonly name: string
  readonly message: string
  readonly detail: Json | undefined
}

const unreadable: Thrown = { name: "Error", message: "a value that cannot be inspected was thrown", detail: undefined }

export const describe = (value: unknown): Thrown => {
  try {
    // `Abortable.promise` wraps what a promise rejected with: the rejection is what a reader wants to see.
    const thrown = Cause.isUnknownError(value) ? value.cause : value
    return { ...title(thrown), detail: isObject(thrown) ? readDetail(thrown) : undefined }
  } catch {
    return unreadable
  }
}

/** The longest chain of causes that is searched: longer ones are built to hurt. */
const maxCauses = 8

/**
 * Whether a rejection is the abort itself and so no failure: after the signal aborted, the signal's own reason, or what
 * platforms name `AbortError` or code `ABORT_ERR`, also as the cause of another error.
 */
export const isAbort = (value: unknown, abortReason: unknown): boolean => {
  let current = value
  for (let depth = 0; depth <= maxCauses; depth++) {
    if (Object.is(current, abortReason)) return true
    if (!isObject(current)) return false
    if (read(current, "name") === "AbortError" || read(current, "code") === "ABORT_ERR") return true
    current = read(current, "cause")
    if (current === undefined) return false
  }
  return false
}

/** `value instanceof type`, also where asking throws. */
export const isA = <A>(value: unknown, type: abstract new(...args: never) => A): value is A => {
  try {
    return value instanceof type
  } catch {
    return false
  }
}

const title = (value: unknown): { readonly name: string; readonly message: string } => {
  if (!isObject(value)) return { name: "Error", message: String(value) }
  const name = firstText(read(value, "_tag"), read(value, "name")) ?? "Error"
  return { name, message: firstText(read(value, "message")) ?? (name === "Error" ? "an object was thrown" : name) }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  (typeof value === "object" && value !== null) || typeof value === "function"

const read = (from: Record<string, unknown>, key: string): unknown => {
  try {
    return from[key]
  } catch {
    return undefined
  }
}

const firstText = (...candidates: ReadonlyArray<unknown>): string | undefined =>
  candidates.find((candidate): candidate is string => typeof candidate === "string" && candidate !== "")

// The fields a caller may decide by: what is own, enumerable and JSON. `message` and `stack` are said elsewhere or noise.
const readDetail = (fields: Record<string, unknown>): Json | undefined => {
  const detail: Record<string, Json> = {}
  // `code` also where the error's class has it.
  for (const key of new Set(["code", ...Object.keys(fields)])) {
    if (key === "message" || key === "stack" || key === "cause" || key === "__proto__") continue
    try {
      detail[key] = snapshot(fields[key])
    } catch {
      // not JSON: it cannot cross a log or a wire
    }
  }
  const cause = read(fields, "cause")
  if (cause !== undefined) {
    const { message, name } = title(cause)
    detail["cause"] = `${name}: ${message}`
  }
  return Object.keys(detail).length === 0 ? undefined : Object.freeze(detail)
}
