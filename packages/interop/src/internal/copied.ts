/** Copies of what a host gave: it may go on with its own object, and the object may be anything. */
import type { Json } from "@quiesce/core/Json"

/** What the registry takes of arguments. A shared reference counts each time, so that no small graph unfolds to more. */
const maxNodes = 1_000_000
const maxDepth = 512

/** `value` as `JSON.stringify` writes it, `null` where it writes nothing, or too much. */
export const copied = (value: unknown): Json => {
  let nodes = 0
  try {
    const text = JSON.stringify(value, (_, part: unknown) => {
      if (++nodes > maxNodes) throw new RangeError("too many values")
      return part
    })
    return JSON.parse(text ?? "null") as Json
  } catch {
    return null
  }
}

/**
 * A copy that has lost nothing, or `undefined` where `value` is not plain JSON. Each property is read once, so the copy
 * is what whoever is given it sees, too.
 */
export const snapshot = (value: unknown): Json | undefined => {
  let nodes = 0
  const copy = (part: unknown, depth: number): Json => {
    if (++nodes > maxNodes) throw new RangeError("too many values")
    if (part === null || typeof part === "string" || typeof part === "boolean") return part
    if (typeof part === "number" && Number.isFinite(part) && !Object.is(part, -0)) return part
    if (typeof part !== "object" || depth >= maxDepth) throw new TypeError("not JSON")
    const keys = Object.keys(part)
    const names = Reflect.ownKeys(part).length
    if (Array.isArray(part)) {
      if (Object.getPrototypeOf(part) !== Array.prototype || keys.length !== part.length || names !== keys.length + 1) {
        throw new TypeError("no plain array")
      }
      return Array.from({ length: keys.length }, (_, at) => copy(part[at], depth + 1))
    }
    const prototype: unknown = Object.getPrototypeOf(part)
    if ((prototype !== Object.prototype && prototype !== null) || names !== keys.length) {
      throw new TypeError("no plain object")
    }
    return Object.fromEntries(keys.map((key) => [key, copy((part as Record<string, unknown>)[key], depth + 1)]))
  }
  try {
    return copy(value, 0)
  } catch {
    return undefined
  }
}
