/**
 * Copies a value as JSON, deeply frozen, or says where it is not JSON.
 *
 * The copy is lossless: whatever `JSON.stringify` would drop or change (an `undefined`, a Date, a `-0`, a symbol key, a
 * `toJSON` method) is refused instead. Every property is read once, so a getter or a Proxy cannot show one value to the
 * check and another to the copy.
 */
import type { Json } from "../Json.ts"

/** Deeper than any honest argument, shallow enough for every later recursive reader (and it ends cycles). */
const maxDepth = 512
/** About the size of a 20 MB document; a shared reference counts each time, so a small graph cannot unfold to more. */
const maxNodes = 1_000_000

export class NotJson extends Error {
  override readonly name = "NotJson"
  readonly path: ReadonlyArray<string | number>
  readonly problem: string

  constructor(path: ReadonlyArray<string | number>, problem: string) {
    super(`not JSON at ${formatPath(path)}: ${problem}`)
    this.path = path
    this.problem = problem
  }
}

/** Throws `NotJson`, and whatever a getter or a Proxy trap of `value` throws. */
export const snapshot = (value: unknown): Json => copy(value, { nodes: 0, path: [], absent: false })

/**
 * The same of what a schema has made: a key whose value is `undefined` counts as absent. Such is an optional field to
 * whoever writes TypeScript, and the schema has allowed it.
 */
export const snapshotOfEncoded = (value: unknown): Json => copy(value, { nodes: 0, path: [], absent: true })

/** `$` is the value itself: `$.items[2]["a key"]`. */
export const formatPath = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`
    return typeof key === "string" && /^[A-Za-z_$][\w$]*$/.test(key)
      ? `${text}.${key}`
      : `${text}[${typeof key === "string" ? JSON.stringify(key) : String(key)}]`
  }, "$")

interface Walk {
  nodes: number
  readonly path: Array<string | number>
  /** Whether a key whose value is `undefined` is absent. */
  readonly absent: boolean
}

const copy = (value: unknown, walk: Walk): Json => {
  if (++walk.nodes > maxNodes) throw new NotJson([], `more than ${maxNodes} values`)
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      if (!Number.isFinite(value)) return refuse(walk, `the number ${value}`)
      return Object.is(value, -0) ? refuse(walk, "the number -0") : value
    case "object":
      if (value === null) return null
      if (walk.path.length >= maxDepth) return refuse(walk, `deeper than ${maxDepth} levels, or a cycle`)
      return Array.isArray(value) ? copyArray(value, walk) : copyObject(value, walk)
    default:
      return refuse(walk, `a value of type ${typeof value}`)
  }
}

const copyArray = (value: ReadonlyArray<unknown>, walk: Walk): Json => {
  if (!isArrayPrototype(Object.getPrototypeOf(value))) return refuse(walk, "an array of a class")
  const { length } = value
  if (length > maxNodes) throw new NotJson([], `more than ${maxNodes} values`)
  // The keys of a dense array are its indices and `length`; a hole hides an extra key, but then reads as `undefined`.
  if (countKeys(value) !== length + 1) return refuse(walk, "an array with holes or extra keys")
  const result: Array<Json> = new Array(length)
  for (let index = 0; index < length; index++) {
    if (!Object.hasOwn(value, index)) return refuse(walk, "an array with holes or extra keys")
    walk.path.push(index)
    result[index] = copy(value[index], walk)
    walk.path.pop()
  }
  return Object.freeze(result)
}

const copyObject = (value: object, walk: Walk): Json => {
  if (!isObjectPrototype(Object.getPrototypeOf(value))) return refuse(walk, "an object of a class")
  const keys = Object.keys(value)
  if (countKeys(value) !== keys.length) return refuse(walk, "a symbol or non-enumerable key")
  const result: Record<string, Json> = {}
  for (const key of keys) {
    const given = (value as Record<string, unknown>)[key]
    if (given === undefined && walk.absent) continue
    walk.path.push(key)
    const child = copy(given, walk)
    walk.path.pop()
    if (key === "__proto__") Object.defineProperty(result, key, { value: child, enumerable: true })
    else result[key] = child
  }
  return Object.freeze(result)
}

/** All of its own. Asked for one kind at a time: `Reflect.ownKeys` takes more than twice as long. */
const countKeys = (value: object): number =>
  Object.getOwnPropertyNames(value).length + Object.getOwnPropertySymbols(value).length

const refuse = (walk: Walk, problem: string): never => {
  throw new NotJson([...walk.path], problem)
}

const isObjectPrototype = (prototype: object | null): boolean =>
  prototype === Object.prototype || prototype === null ||
  (Object.getPrototypeOf(prototype) === null && isIntrinsic(prototype, Object))

const isArrayPrototype = (prototype: object | null): boolean =>
  prototype === Array.prototype ||
  (Array.isArray(prototype) && isIntrinsic(prototype, Array))

/**
 * A plain object of another realm (a vm context, an iframe) is plain, too: its prototype belongs to the constructor of that
 * realm. No function but such a constructor has its text, and nobody can give it another prototype.
 */
const isIntrinsic = (prototype: object, own: Function): boolean => {
  const constructor: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value
  return typeof constructor === "function" && constructor.prototype === prototype && textOf(constructor) === textOf(own)
}

// Not its own `toString`, which can say anything.
const textOf = (f: Function): string => Function.prototype.toString.call(f)
